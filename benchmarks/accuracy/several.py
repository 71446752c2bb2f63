"""The part of the accuracy table with several labels a row: how each method is trained, and its figures.

Thresholds and everything else are chosen on training rows.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

import discern
from benchmarks.accuracy.accuracy_jobs import read_table

SETS = ("reuters_modapte",)
SEPARATOR = "|"
SCIKIT_LEARN = "scikit-learn"
FIGURES = ("micro F1", "macro F1", "exact match")


@dataclass(frozen=True)
class Split:
    """Training and test rows: texts, and the list of labels of each."""

    name: str
    train: tuple[list[str], list[list[str]]]
    test: tuple[list[str], list[list[str]]]

    @classmethod
    def read(cls, name: str, quick: bool) -> "Split":
        parts = [rows_of(read_table(name, part), 400 if quick else None) for part in ("train", "test")]
        return cls(name, *parts)

    @property
    def labels(self) -> list[str]:
        return sorted({label for labels in (*self.train[1], *self.test[1]) for label in labels})


def rows_of(table: pa.Table, most: int | None = None) -> tuple[list[str], list[list[str]]]:
    texts, labels = table["text"].to_pylist()[:most], table["label"].to_pylist()[:most]
    return texts, [[label for label in (one or "").split(SEPARATOR) if label] for one in labels]


@dataclass(frozen=True)
class Method:
    """A way to train on texts and lists of labels; ``ask`` returns the labels of texts."""

    name: str
    fit: Callable[[list[str], list[list[str]]], Any]
    ask: Callable[[Any, list[str]], list[list[str]]]
    peer: str = ""
    bayes: bool = False


def ours(name: str, bayes: bool = False, **settings: Any) -> Method:
    def fit(texts: list[str], labels: list[list[str]]) -> Any:
        return discern.Classifier(threads=1, **settings).fit({"text": texts, "label": labels})

    def ask(model: Any, texts: list[str]) -> list[list[str]]:
        return model.predict({"text": texts}).tolist()

    return Method(name, fit, ask, bayes=bayes)


def one_against_rest(name: str, bayes: bool, pipeline: Callable[[], tuple[Any, Any]]) -> Method:
    """Return scikit-learn's OneVsRestClassifier around a vectorizer and a classifier."""

    def fit(texts: list[str], labels: list[list[str]]) -> Any:
        from sklearn.multiclass import OneVsRestClassifier
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import MultiLabelBinarizer

        vectorizer, classifier = pipeline()
        binarizer = MultiLabelBinarizer()
        model = make_pipeline(vectorizer, OneVsRestClassifier(classifier)).fit(texts, binarizer.fit_transform(labels))
        return model, binarizer

    def ask(fitted: Any, texts: list[str]) -> list[list[str]]:
        model, binarizer = fitted
        return [list(labels) for labels in binarizer.inverse_transform(model.predict(texts))]

    return Method(name, fit, ask, SCIKIT_LEARN, bayes)


def _svm(**terms: Any) -> tuple[Any, Any]:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.svm import LinearSVC

    return TfidfVectorizer(sublinear_tf=True, **terms), LinearSVC()


def _bayes() -> tuple[Any, Any]:
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.naive_bayes import MultinomialNB

    return CountVectorizer(), MultinomialNB()


def _logistic() -> tuple[Any, Any]:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    return TfidfVectorizer(sublinear_tf=True), LogisticRegression(max_iter=1000)


METHODS = (
    ours("discern default, several labels", bayes=True),
    ours("discern linear SVM, several labels", model="linear-svm"),
    ours("discern best, several labels", model="best"),
    one_against_rest("OneVsRest, MultinomialNB", True, _bayes),
    one_against_rest("OneVsRest, LogisticRegression", False, _logistic),
    one_against_rest("OneVsRest, LinearSVC", False, _svm),
    one_against_rest("OneVsRest, LinearSVC, pairs", False, lambda: _svm(ngram_range=(1, 2))),
)


def cell(method: Method, split: Split) -> dict[str, float]:
    """Train and test a method; seconds are of training from raw text."""
    start = time.process_time()
    model = method.fit(*split.train)
    trained = time.process_time()
    decided = method.ask(model, split.test[0])
    seconds = {"seconds": trained - start, "answering": time.process_time() - trained}
    return {**figures(split, decided), **seconds}


def figures(split: Split, decided: list[list[str]]) -> dict[str, float]:
    """Return F1 and the share of exact matches on the test rows, over all labels of the data set."""
    labels = split.labels
    nothing = np.zeros((len(decided), len(labels)))
    found = discern.MultilabelEvaluation.of(split.test[1], decided, nothing, labels)
    return dict(zip(FIGURES, (found.f1(), found.f1("macro"), found.exact_match), strict=True))
