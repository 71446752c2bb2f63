"""Every method and peer of the accuracy table: how each is trained and tested on the same rows."""

import contextlib
import ctypes
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import discern
from benchmarks.accuracy import tables
from benchmarks.accuracy.accuracy_jobs import numeric_columns

WORD = re.compile(r"\w+|[^\w\s]")
SCIKIT_LEARN = "scikit-learn"
PERTURB = -6
"""M_PERTURB of malloc.h."""


@dataclass(frozen=True)
class Split:
    """Training rows in random order, and test rows; ``label`` names the column."""

    name: str
    label: str
    train: pa.Table
    test: pa.Table

    @property
    def is_text(self) -> bool:
        return self.train.column_names == ["label", "text"]

    @property
    def labels(self) -> list[str]:
        return sorted(set(self.train[self.label].to_pylist()))

    def columns(self, part: pa.Table) -> pa.Table:
        return part.drop_columns([self.label])


@dataclass(frozen=True)
class Answers:
    """The predictions for the test rows; the probabilities in the order of ``labels``, if there are any."""

    decided: Sequence[str]
    probabilities: Any = None
    labels: Sequence[str] = ()


@dataclass(frozen=True)
class Method:
    """A way to train: ``prepare`` (a format of its own) is not measured, ``fit`` is, ``ask`` predicts.

    ``few``: only for up to this many rows, because it is slow; ``only``: only for these sets.
    """

    name: str
    fit: Callable[[Split, Any], Any]
    ask: Callable[[Split, Any], Answers]
    peer: str = ""
    bayes: bool = False
    tables: bool = False
    texts: bool = True
    prepare: Callable[[Split, Path], Any] = lambda split, folder: None
    few: int | None = None
    only: tuple[str, ...] = ()

    def suits(self, split: Split) -> bool:
        kind = self.texts if split.is_text else self.tables
        return (
            kind and (self.few is None or len(split.train) <= self.few) and (not self.only or split.name in self.only)
        )


# ------------------------------------------------------------------------------------------------------------ ours


def ask_ours(split: Split, model: Any) -> Answers:
    probabilities = model.predict_proba(split.columns(split.test))
    return Answers(np.asarray(model.labels)[probabilities.argmax(axis=1)].tolist(), probabilities, model.labels)


def ours(name: str, bayes: bool = False, tables: bool = True, texts: bool = True, **settings: Any) -> Method:
    def fit(split: Split, prepared: None) -> Any:
        return discern.Classifier(split.label, threads=1, **settings).fit(split.train)

    return Method(name, fit, ask_ours, bayes=bayes, tables=tables, texts=texts)


# ---------------------------------------------------------------------------------------------------- scikit-learn


def texts_of(split: Split, part: pa.Table) -> Any:
    return part["text"].to_pylist() if split.is_text else split.columns(part).to_pandas()


def ask_scikit_learn(split: Split, model: Any) -> Answers:
    texts = texts_of(split, split.test)
    if not hasattr(model, "predict_proba"):
        return Answers(model.predict(texts).tolist())
    probabilities = model.predict_proba(texts)
    return Answers(model.classes_[probabilities.argmax(axis=1)].tolist(), probabilities, model.classes_.tolist())


def scikit_learn(name: str, make: Callable[[Any], Any], bayes: bool = False, **kind: Any) -> Method:
    """``make`` returns the pipeline for a training frame."""

    def prepare(split: Split, folder: Path) -> tuple[Any, list[str]]:
        return texts_of(split, split.train), split.train[split.label].to_pylist()

    def fit(split: Split, prepared: tuple[Any, list[str]]) -> Any:
        return make(prepared[0]).fit(*prepared)

    return Method(name, fit, ask_scikit_learn, SCIKIT_LEARN, bayes, prepare=prepare, **kind)


def counted(classifier: str) -> Callable[[Any], Any]:
    def make(texts: Any) -> Any:
        from sklearn import naive_bayes
        from sklearn.feature_extraction.text import CountVectorizer
        from sklearn.pipeline import make_pipeline

        return make_pipeline(CountVectorizer(), getattr(naive_bayes, classifier)())

    return make


def weighted(classifier: str, **terms: Any) -> Callable[[Any], Any]:
    def make(texts: Any) -> Any:
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.pipeline import make_pipeline

        return make_pipeline(TfidfVectorizer(**terms), _scikit_learn_classifier(classifier))

    return make


def _scikit_learn_classifier(name: str) -> Any:
    from sklearn import linear_model, naive_bayes, svm

    if name == "LogisticRegression":
        return linear_model.LogisticRegression(max_iter=1000)
    return getattr(svm if name == "LinearSVC" else naive_bayes, name)()


def encoded(classifier: str) -> Callable[[Any], Any]:
    """Categories as axes, numbers standardized."""

    def make(frame: Any) -> Any:
        from sklearn.compose import make_column_transformer
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

        numeric = numeric_columns(frame)
        others = [name for name in frame.columns if name not in numeric]
        numbers = make_pipeline(FunctionTransformer(_as_numbers), StandardScaler())
        columns = make_column_transformer((numbers, numeric), (OneHotEncoder(handle_unknown="ignore"), others))
        return make_pipeline(columns, _scikit_learn_classifier(classifier))

    return make


def _as_numbers(X: Any) -> Any:
    return X.astype(float)


def tabular_bayes(name: str) -> Callable[[Any], Any]:
    def make(frame: Any) -> Any:
        from benchmarks.accuracy.accuracy_jobs import scikit_learn_models

        return scikit_learn_models(frame)[name]

    return make


# -------------------------------------------------------------------------------------------------------- fastText


def one_line(text: str) -> str:
    """Cut as fastText's own tutorial does: lower case, punctuation apart."""
    return " ".join(WORD.findall(text.lower()))


def prepare_fasttext(split: Split, folder: Path) -> str:
    numbers = {label: number for number, label in enumerate(split.labels)}
    path = folder / "train.fasttext"
    with path.open("w", encoding="utf-8") as file:
        for row in split.train.to_pylist():
            file.write(f"__label__{numbers[row['label']]} {one_line(row['text'])}\n")
    return str(path)


@contextlib.contextmanager
def cleared_memory() -> Iterator[None]:
    """Let glibc clear what it hands out: fastText uses memory it never set, and then may end with "Encountered NaN"."""
    option = getattr(ctypes.CDLL(None), "mallopt", lambda name, value: None)
    option(PERTURB, 255)  # new memory is filled with the complement of this byte
    try:
        yield
    finally:
        option(PERTURB, 0)


def train_fasttext(path: str, **settings: Any) -> Any:
    from fasttext import train_supervised

    with cleared_memory():
        return train_supervised(path, thread=1, verbose=0, seed=0, **settings)


def fasttext(name: str, **settings: Any) -> Method:
    def fit(split: Split, path: str) -> Any:
        return train_fasttext(path, **settings)

    return Method(name, fit, ask_fasttext, "fastText", prepare=prepare_fasttext)


def ask_fasttext(split: Split, model: Any) -> Answers:
    labels = split.labels
    probabilities = np.zeros((len(split.test), len(labels)))
    for row, text in enumerate(split.test["text"].to_pylist()):
        # Its method for lists does not work with NumPy 2.
        for probability, label in model.f.predict(one_line(text) + "\n", -1, 0.0, "strict"):
            probabilities[row, int(label.removeprefix("__label__"))] = probability
    probabilities /= np.maximum(probabilities.sum(axis=1, keepdims=True), 1e-12)
    return Answers([labels[column] for column in probabilities.argmax(axis=1)], probabilities, labels)


# --------------------------------------------------------------------------------------------------- Vowpal Wabbit


def vowpal_line(text: str) -> str:
    return "| " + " ".join(re.findall(r"\w+", text.lower()))


def prepare_vowpal_wabbit(split: Split, folder: Path) -> str:
    numbers = {label: number + 1 for number, label in enumerate(split.labels)}
    path = folder / "train.vw"
    with path.open("w", encoding="utf-8") as file:
        for row in split.train.to_pylist():
            file.write(f"{numbers[row['label']]} {vowpal_line(row['text'])}\n")
    return str(path)


def fit_vowpal_wabbit(split: Split, path: str) -> Any:
    from vowpalwabbit import Workspace

    model = ["--oaa", str(len(split.labels)), "--loss_function", "logistic", "--probabilities", "-b", "22"]
    passes = ["--passes", "5", "--cache_file", f"{path}.cache", "-k", "--holdout_off"]
    return Workspace(arg_list=[*model, *passes, "--ngram", "2", "--data", path, "--quiet"])


def ask_vowpal_wabbit(split: Split, model: Any) -> Answers:
    labels = split.labels
    lines = (vowpal_line(text) for text in split.test["text"].to_pylist())
    probabilities = np.array([model.predict(line) for line in lines], dtype=float)
    return Answers([labels[column] for column in probabilities.argmax(axis=1)], probabilities, labels)


# --------------------------------------------------------------------------------------------------- river and NLTK


def fit_river(split: Split, prepared: None) -> Any:
    from river import feature_extraction, naive_bayes

    model = feature_extraction.BagOfWords(lowercase=True) | naive_bayes.MultinomialNB()
    for row in split.train.to_pylist():
        model.learn_one(row["text"], row["label"])
    return model


def ask_river(split: Split, model: Any) -> Answers:
    labels = split.labels
    predicted = [model.predict_proba_one(text) for text in split.test["text"].to_pylist()]
    probabilities = np.array([[row.get(label, 0.0) for label in labels] for row in predicted])
    return Answers([labels[column] for column in probabilities.argmax(axis=1)], probabilities, labels)


def word_features(text: str) -> dict[str, bool]:
    """The features of NLTK's own book: which words are there."""
    return dict.fromkeys(WORD.findall(text.lower()), True)


def fit_nltk(split: Split, prepared: None) -> Any:
    from nltk import NaiveBayesClassifier

    return NaiveBayesClassifier.train([(word_features(row["text"]), row["label"]) for row in split.train.to_pylist()])


def ask_nltk(split: Split, model: Any) -> Answers:
    labels = split.labels
    predicted = [model.prob_classify(word_features(text)) for text in split.test["text"].to_pylist()]
    probabilities = np.array([[row.prob(label) for label in labels] for row in predicted])
    return Answers([labels[column] for column in probabilities.argmax(axis=1)], probabilities, labels)


SCRIPTS = ("zh_waimai", "th_wisesight")
"""Texts without spaces between words, where peers are given characters too."""

TABLE_BUDGET = 10.0
"""Seconds of the search on tables."""

METHODS = (
    ours("discern default", bayes=True),
    ours("discern multinomial", bayes=True, tables=False, model="multinomial"),
    ours("discern binary", bayes=True, tables=False, model="binary"),
    ours("discern Bernoulli", bayes=True, tables=False, model="bernoulli"),
    ours("discern complement", bayes=True, tables=False, model="complement"),
    ours("discern NBSVM", model="nbsvm"),
    ours("discern ridge", model="ridge"),
    ours("discern logistic", model="logistic"),
    ours("discern linear SVM", model="linear-svm"),
    ours("discern kNN", model="knn"),
    ours("discern best", texts=False, model="best", budget=TABLE_BUDGET),
    ours("discern LDA", texts=False, model="lda"),
    ours("discern QDA", texts=False, model="qda"),
    ours("discern logistic, normal quantiles", texts=False, model="logistic", basis="normal"),
    ours("discern logistic, bins", texts=False, model="logistic", basis="bins"),
    ours("discern logistic, products", texts=False, model="logistic", basis="quadratic"),
    ours("discern logistic, bumps", texts=False, model="logistic", basis="bumps"),
    replace(scikit_learn("LightGBM", tables.lightgbm, tables=True, texts=False), peer="LightGBM"),
    scikit_learn("HistGradientBoosting", tables.boosting, tables=True, texts=False),
    scikit_learn("RandomForest", tables.forest, tables=True, texts=False),
    scikit_learn("MultinomialNB", counted("MultinomialNB"), bayes=True),
    scikit_learn("ComplementNB", counted("ComplementNB"), bayes=True),
    scikit_learn("BernoulliNB", counted("BernoulliNB"), bayes=True),
    scikit_learn("MultinomialNB, tf–idf", weighted("MultinomialNB"), bayes=True),
    scikit_learn("ComplementNB, tf–idf", weighted("ComplementNB"), bayes=True),
    scikit_learn("LogisticRegression", weighted("LogisticRegression")),
    scikit_learn("LinearSVC", weighted("LinearSVC")),
    scikit_learn("LinearSVC, pairs", weighted("LinearSVC", ngram_range=(1, 2), sublinear_tf=True)),
    scikit_learn(
        "LinearSVC, characters",
        weighted("LinearSVC", analyzer="char_wb", ngram_range=(1, 3), sublinear_tf=True),
        only=SCRIPTS,
    ),
    scikit_learn("GaussianNB", tabular_bayes("GaussianNB"), bayes=True, tables=True, texts=False),
    scikit_learn("CategoricalNB", tabular_bayes("CategoricalNB"), bayes=True, tables=True, texts=False),
    scikit_learn("LogisticRegression, encoded", encoded("LogisticRegression"), tables=True, texts=False),
    scikit_learn("LinearSVC, encoded", encoded("LinearSVC"), tables=True, texts=False),
    fasttext("fastText"),
    fasttext("fastText, tuned", lr=0.5, epoch=25, wordNgrams=2, dim=50, bucket=200_000),
    Method("Vowpal Wabbit", fit_vowpal_wabbit, ask_vowpal_wabbit, "Vowpal Wabbit", prepare=prepare_vowpal_wabbit),
    Method("river MultinomialNB", fit_river, ask_river, "river", bayes=True, few=12_000),
    Method("NLTK NaiveBayes", fit_nltk, ask_nltk, "NLTK", bayes=True, few=8_000),
)
