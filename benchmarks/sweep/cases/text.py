"""The cases of vectorizers and of classifiers of texts."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

import discern
from benchmarks.harness.measure import require
from benchmarks.sweep.agreement import Agreement, same_values
from benchmarks.sweep.cases.texts import texts
from benchmarks.sweep.cells import Bench, Case, each


@dataclass(frozen=True)
class TextShape:
    """Documents: how many, how long, of how many classes, and in what they come."""

    rows: int
    length: int
    classes: int = 2
    container: str = "list"
    main: bool = False
    memory: bool = False

    @property
    def name(self) -> str:
        return f"{self.rows}x{self.length}words-{self.classes}classes-{self.container}"

    def data(self) -> tuple[Any, Any]:
        documents, labels = texts(self.rows, self.length, self.classes)
        return _held(documents, self.container), np.array(labels)


def _held(documents: list[str], container: str) -> Any:
    if container == "pandas":
        import pandas

        return pandas.Series(documents)
    if container == "polars":
        import polars

        return polars.Series(documents)
    if container == "arrow":
        import pyarrow

        return pyarrow.array(documents)
    return np.array(documents, dtype=object) if container == "numpy" else documents


def listed(documents: Any) -> Any:
    """Return documents as the peer takes them: it knows no columns of Arrow."""
    return documents.to_pylist() if hasattr(documents, "to_pylist") else documents


SHAPES = (
    TextShape(20, 8, main=True),
    TextShape(4_000, 10, main=True),
    TextShape(1_000, 200, main=True, memory=True),
    TextShape(8, 20_000),
    TextShape(10_000, 15, 50),
    *(TextShape(2_000, 40, container=container) for container in ("numpy", "pandas", "polars", "arrow")),
)


@dataclass(frozen=True)
class Vectorizer:
    """A vectorizer with options; the peer is its namesake."""

    name: str
    options: dict[str, Any] = field(default_factory=dict)
    values: float | None = 1e-9

    @property
    def subject(self) -> str:
        words = ",".join(f"{name}={value}" for name, value in self.options.items())
        return f"{self.name}({words})".replace(" ", "") if words else self.name

    def ours(self) -> Any:
        return getattr(discern, self.name)(**self.options)

    def theirs(self) -> Any:
        import sklearn.feature_extraction.text as peers

        return getattr(peers, self.name)(**self.options)


PAIRS, WITHIN = {"ngram_range": (1, 2)}, {"analyzer": "char_wb", "ngram_range": (2, 4)}
VECTORIZERS = (
    Vectorizer("CountVectorizer"),
    Vectorizer("CountVectorizer", PAIRS),
    Vectorizer("CountVectorizer", WITHIN),
    Vectorizer("CountVectorizer", {"min_df": 3, "binary": True}),
    Vectorizer("CountVectorizer", {"max_features": 1_000}),
    Vectorizer("CountVectorizer", {"stop_words": "english", "strip_accents": "unicode"}),
    Vectorizer("TfidfVectorizer"),
    Vectorizer("TfidfVectorizer", {"sublinear_tf": True, **PAIRS}),
    Vectorizer("HashingVectorizer", values=None),
    Vectorizer("HashingVectorizer", PAIRS, values=None),
)
"""Hashes have another key than the peer's: their numbers are compared by the length of the rows."""


TOLERANCES = (
    ("`CountVectorizer`, `TfidfVectorizer`, `TfidfTransformer`", "text", "values within 1e-9"),
    ("`HashingVectorizer`", "text", "shape, and lengths of rows within 1e-6 (it hashes with another key)"),
    ("`UnigramLanguageModel`", "text", "accuracy at most 0.02 lower (words that no model has seen are skipped)"),
    ("`OnlineTextClassifier`", "text", "accuracy at most 0.1 lower (another rule)"),
)


def cases() -> Iterator[Case]:
    for vectorizer in VECTORIZERS:
        for shape in SHAPES if not vectorizer.options else SHAPES[:3]:
            yield vectorizer_case(vectorizer, shape)
    for subject in CLASSIFIERS:
        for shape in SHAPES:
            yield classifier_case(subject, shape)
    for shape in SHAPES[:5]:
        yield weighting_case(shape)


def vectorizer_case(vectorizer: Vectorizer, shape: TextShape) -> Case:
    def run(bench: Bench, shape: TextShape = shape) -> None:
        documents, _ = shape.data()
        measured(bench, vectorizer, documents)

    def warm_up(bench: Bench) -> None:
        run(bench, TextShape(20, 8))

    operations = ("fit_transform", "transform", "transform-one-row")
    return Case(
        "text",
        vectorizer.subject,
        (vectorizer.name,),
        shape.name,
        operations,
        run,
        warm_up if shape.memory and not vectorizer.options else None,
        shape.main,
    )


def measured(bench: Bench, vectorizer: Vectorizer, documents: Any) -> None:
    ours, theirs = vectorizer.ours(), vectorizer.theirs()

    def same(mine: Any, other: Any) -> None:
        if vectorizer.values is not None:
            same_values(mine, other, vectorizer.values)
            return
        require(mine.shape == other.shape, "the shape differs")
        lengths = (np.sqrt(found.multiply(found).sum(axis=1)) for found in (mine, other))
        same_values(*map(np.asarray, lengths), 1e-6)

    fits = (lambda: ours.fit_transform(documents), lambda: theirs.fit_transform(listed(documents)))
    bench.measure("fit_transform", *fits, same)
    one = [str(documents[0])]

    def use(operation: str, given: Any) -> None:
        bench.measure(operation, lambda: ours.transform(given), lambda: theirs.transform(listed(given)), same)

    each([partial(use, "transform", documents), partial(use, "transform-one-row", one)])


def weighting_case(shape: TextShape) -> Case:
    def run(bench: Bench) -> None:
        from sklearn.feature_extraction.text import TfidfTransformer

        counts = discern.CountVectorizer().fit_transform(shape.data()[0])
        ours, theirs = discern.TfidfTransformer().fit(counts), TfidfTransformer().fit(counts)
        transformers = (discern.TfidfTransformer, TfidfTransformer)

        def same(mine: Any, other: Any) -> None:
            same_values(mine.idf_, other.idf_, 1e-9)

        def weighted(mine: Any, other: Any) -> None:
            same_values(mine, other, 1e-9)

        fits = (partial(_fitted, made, counts) for made in transformers)
        each(
            [
                partial(bench.measure, "fit", *fits, same),
                partial(
                    bench.measure, "transform", *(partial(one.transform, counts) for one in (ours, theirs)), weighted
                ),
            ]
        )

    return Case(
        "text", "TfidfTransformer", ("TfidfTransformer",), shape.name, ("fit", "transform"), run, None, shape.main
    )


def _fitted(made: Callable[[], Any], *data: Any) -> Any:
    return made().fit(*data)


# ------------------------------------------------------------------------------------------ classifiers of texts


def words_of_language_model() -> Any:
    """The peer of the language model: multinomial naive Bayes on counts, with equal priors."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.naive_bayes import MultinomialNB
    from sklearn.pipeline import make_pipeline

    return make_pipeline(CountVectorizer(token_pattern=r"(?u)\b\w+\b"), MultinomialNB(fit_prior=False))


def online_on_hashes() -> Any:
    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.linear_model import SGDClassifier
    from sklearn.pipeline import make_pipeline

    return make_pipeline(HashingVectorizer(), SGDClassifier(loss="log_loss", random_state=0))


@dataclass(frozen=True)
class TextSubject:
    """A classifier of texts, its peer, and how their labels are compared."""

    name: str
    ours: Callable[[], Any]
    theirs: Callable[[], Any]
    agreement: Agreement


CLASSIFIERS = (
    TextSubject(
        "UnigramLanguageModel",
        lambda: discern.UnigramLanguageModel(smoothing=1.0),
        words_of_language_model,
        Agreement(None, None, accuracy=0.02, why="a word that no model has seen is skipped"),
    ),
    TextSubject(
        "OnlineTextClassifier",
        discern.OnlineTextClassifier,
        online_on_hashes,
        Agreement(None, None, accuracy=0.1, why="another rule"),
    ),
)


def classifier_case(subject: TextSubject, shape: TextShape) -> Case:
    def run(bench: Bench, shape: TextShape = shape) -> None:
        documents, y = shape.data()

        def check(mine: Any, other: Any) -> None:
            few = listed(documents[:1000])
            subject.agreement.of_labels(mine.predict(few), other.predict(few), y)

        models = bench.measure(
            "fit",
            partial(_fitted, subject.ours, documents, y),
            lambda: subject.theirs().fit(listed(documents), y),
            check,
        )

        def use(operation: str, given: Any) -> None:
            name = operation.removesuffix("-one-row")
            same = subject.agreement.of_probabilities if name == "predict_proba" else partial(_labels, subject, y)
            ours, theirs = (getattr(model, name) for model in models)
            bench.measure(operation, lambda: ours(given), lambda: theirs(listed(given)), same)

        one = [str(documents[0])]
        each(partial(use, name, one if name.endswith("row") else documents) for name in operations[1:])

    operations = ("fit", "predict", "predict_proba", "predict-one-row")
    return Case("text", subject.name, (subject.name,), shape.name, operations, run, None, shape.main)


def _labels(subject: TextSubject, y: Any, mine: Any, other: Any) -> None:
    if len(mine) > 1:
        subject.agreement.of_labels(mine, other, y)
