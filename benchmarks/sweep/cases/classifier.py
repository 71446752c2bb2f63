"""The cases of ``Classifier``: every container and model, against pandas and pipelines."""

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

import discern
from benchmarks.harness.measure import require
from benchmarks.sweep.cases.entry import Entry
from benchmarks.sweep.cases.texts import contained, mixed, read_by_pandas, text_frame, texts
from benchmarks.sweep.cases.validated import chosen, chosen_texts
from benchmarks.sweep.cells import Bench, Case, each

HELD_OUT = 2_000
LESS_ACCURATE = 0.03
"""How much lower than the peer's our accuracy on held-out rows may be."""
DOUBT = 4.0
"""It may also be lower by this many standard errors: on data that tell little, chance decides."""


@dataclass(frozen=True)
class Rows:
    """A table of numbers and categories, or texts if it has a length."""

    rows: int
    numbers: int = 0
    categories: int = 0
    length: int = 0
    classes: int = 2
    container: str = "pandas"
    main: bool = False
    memory: bool = False

    @property
    def name(self) -> str:
        held = f"{self.length}words" if self.length else f"{self.numbers}numbers-{self.categories}categories"
        return f"{self.rows}x{held}-{self.classes}classes-{self.container}"

    def frames(self) -> tuple[Any, Any]:
        """Return rows to learn from, and others."""
        if self.length:
            whole = text_frame(self.rows + HELD_OUT, self.length, self.classes)
        else:
            whole = mixed(self.rows + HELD_OUT, self.numbers, self.categories, self.classes)
        return whole.iloc[: self.rows], whole.iloc[self.rows :]

    def small(self) -> "Rows":
        return Rows(60, min(self.numbers, 3), min(self.categories, 2), min(self.length, 10), 2, "csv")


@dataclass(frozen=True)
class Model:
    """Settings of a classifier, and the last step of the peer's pipeline: for tables, and for texts."""

    subject: str
    table_peer: str = "sklearn.linear_model:LogisticRegression"
    text_peer: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    is_chosen: bool = True
    """Whether our fit chooses settings on held-out rows and calibrates: then the peer's does, too."""

    def ours(self, threads: int) -> Any:
        return discern.Classifier(**self.settings, threads=threads)

    def theirs(self, rows: Rows, threads: int) -> Any:
        from sklearn.pipeline import make_pipeline

        if self.subject == "Classifier" and rows.length:
            return chosen_texts(threads)
        steps = text_steps(self.subject) if rows.length else [columns_step(rows, is_dense=self in DISCRIMINANTS)]
        last = _estimator(self.text_peer if rows.length else self.table_peer, threads)
        return make_pipeline(*steps, chosen(last, self.subject, threads) if self.is_chosen else last)


def _estimator(peer: str, threads: int) -> Any:
    return Entry("Classifier", "", peer).theirs(threads)


def columns_step(rows: Rows, is_dense: bool) -> Any:
    """Return the step that scales numbers and encodes categories; discriminants take no sparse or dependent axes."""
    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numbers, categories = (
        [f"x{place}" for place in range(rows.numbers)],
        [f"c{place}" for place in range(rows.categories)],
    )
    encoder = OneHotEncoder(handle_unknown="ignore", drop="first" if is_dense else None)
    steps = ((StandardScaler(), numbers), (encoder, categories))
    return make_column_transformer(*steps, sparse_threshold=0 if is_dense else 0.3)


def text_steps(subject: str) -> list[Any]:
    """Return the peer's vectorizer: what our model in a vector space makes of texts, or plain counts."""
    from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
    from sklearn.feature_selection import SelectKBest, chi2

    if "model=" not in subject:
        return [CountVectorizer()]
    if "nbsvm" in subject:
        return [CountVectorizer(ngram_range=(1, 2), binary=True)]
    tfidf = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2), min_df=2)
    return [tfidf, SelectKBest(chi2, k=1_000)] if "ridge" in subject else [tfidf]


NAIVE_BAYES = "sklearn.naive_bayes:MultinomialNB"
DEFAULT = Model("Classifier", text_peer=NAIVE_BAYES)
PLAIN = Model("Classifier(smoothing=1)", text_peer=NAIVE_BAYES, settings={"smoothing": 1.0}, is_chosen=False)


def _space(name: str, table_peer: str, **settings: Any) -> Model:
    return Model(f"Classifier(model={name})", table_peer, table_peer, {"model": name, **settings})


SPACES = (
    _space("logistic", "sklearn.linear_model:LogisticRegression"),
    _space("linear-svm", "sklearn.svm:LinearSVC"),
    _space("ridge", "sklearn.linear_model:RidgeClassifier", max_terms=1_000),
    _space("knn", "sklearn.neighbors:KNeighborsClassifier"),
)
DISCRIMINANTS = (
    _space("lda", "sklearn.discriminant_analysis:LinearDiscriminantAnalysis"),
    _space("qda", "sklearn.discriminant_analysis:QuadraticDiscriminantAnalysis"),
)
NBSVM = _space("nbsvm", "sklearn.svm:LinearSVC")

FILES = ("csv", "parquet", "jsonl")
CONTAINERS = (*FILES, "rows", "pandas", "polars", "arrow")
TABLES = (
    *(Rows(20_000, 3, 2, container=container) for container in CONTAINERS),
    Rows(60, 3, 2, container="csv"),
    Rows(1_000, 5, 0, classes=10, container="csv"),
    Rows(5_000, 100, 0, container="csv"),
    Rows(5_000, 100, 0, container="pandas"),
    Rows(500, 500, 0, container="csv"),
    Rows(10_000, 3, 0, classes=200, container="csv"),
    Rows(10_000, 0, 20, container="csv"),
    Rows(200_000, 3, 2, container="csv", main=True, memory=True),
    Rows(200_000, 3, 2, container="parquet", memory=True),
    Rows(50_000, 3, 2, container="jsonl", memory=True),
)
TEXTS = (
    *(Rows(3_000, length=40, container=container) for container in CONTAINERS),
    Rows(60, length=10, container="csv"),
    Rows(20_000, length=10, container="csv", main=True, memory=True),
    Rows(1_000, length=500, container="csv"),
    Rows(5_000, length=20, classes=20, container="csv"),
    Rows(10_000, length=10, classes=300, container="csv"),
)
FEW_TABLES = (Rows(1_000, 5, 0, classes=10), Rows(10_000, 3, 2), Rows(3_000, 50, 0))
FEW_TEXTS = (
    Rows(2_000, length=40),
    Rows(10_000, length=10, container="csv", main=True),
    Rows(3_000, length=20, classes=20),
)


TOLERANCES = (
    (
        "`Classifier`",
        "classifier",
        f"accuracy on held-out rows at most {LESS_ACCURATE:g} lower; unless settings are given, the peer chooses its "
        "own on held-out rows and calibrates, as ours does",
    ),
)


def cases() -> Iterator[Case]:
    for model, shapes in (
        (DEFAULT, (*TABLES, *TEXTS)),
        (PLAIN, (*TABLES[:3], *TABLES[8:10], *TABLES[-3:], *TEXTS)),
        *((model, (*FEW_TABLES, *FEW_TEXTS)) for model in SPACES),
        *((model, FEW_TABLES) for model in DISCRIMINANTS),
        (NBSVM, FEW_TEXTS),
    ):
        for rows in shapes:
            yield case(model, rows)
    for rows in (2_000, 20_000):
        yield learning_case(rows)


def case(model: Model, rows: Rows) -> Case:
    operations = ["fit", "predict", "predict_proba", "predict-one-row", "evaluate"]
    if "LogisticRegression" not in model.table_peer or model.subject.startswith("Classifier(model"):
        operations = operations[:2] + operations[3:4]
    if rows.container not in ("csv", "pandas"):
        operations = operations[:2]
    warm_up = partial(run, model, rows.small(), ("fit",)) if rows.memory else None
    names, chosen = ("Classifier",), tuple(operations)
    return Case(
        "classifier", model.subject, names, rows.name, chosen, partial(run, model, rows, chosen), warm_up, rows.main
    )


def run(model: Model, rows: Rows, operations: tuple[str, ...], bench: Bench) -> None:
    train, test = rows.frames()
    data = contained(train, rows.container, bench.folder, rows.name)
    feature = "text" if rows.length else [name for name in train.columns if name != "label"]

    def read() -> tuple[Any, Any]:
        frame = read_by_pandas(data, rows.container)
        return frame[feature], frame["label"]

    models = bench.measure(
        "fit",
        lambda: model.ours(bench.threads).fit(data),
        lambda: model.theirs(rows, bench.threads).fit(*read()),
        partial(as_accurate, test, feature),
    )
    one = {name: value for name, value in train.iloc[0].to_dict().items() if name != "label"}
    uses = {
        "predict": (partial(models[0].predict, data), lambda: models[1].predict(read()[0]), same_rows),
        "predict-one-row": (lambda: models[0].predict([one]), lambda: models[1].predict(one_row(one, rows)), same_rows),
        "evaluate": (partial(our_figures, models[0], data), lambda: their_figures(models[1], *read()), same_rows),
    }
    if "predict_proba" in operations:
        proba = partial(models[0].predict_proba, data)
        uses["predict_proba"] = (proba, lambda: models[1].predict_proba(read()[0]), same_rows)
    each(partial(bench.measure, name, *uses[name]) for name in operations[1:])


def one_row(row: dict[str, Any], rows: Rows) -> Any:
    """Return one row as the peer's pipeline takes it."""
    import pandas

    return [row["text"]] if rows.length else pandas.DataFrame([row])


def as_accurate(test: Any, feature: Any, ours: Any, theirs: Any) -> None:
    truth = test["label"].to_numpy()
    mine, other = ours.predict(test.drop(columns="label")) == truth, theirs.predict(test[feature]) == truth
    losses = other.astype(float) - mine.astype(float)
    chance = DOUBT * float(losses.std()) / len(losses) ** 0.5
    told = f"the accuracy on held-out rows is {mine.mean():.4f}, theirs {other.mean():.4f}"
    require(float(losses.mean()) <= max(LESS_ACCURATE, chance), told)


def same_rows(ours: Any, theirs: Any) -> None:
    require(np.shape(ours) == np.shape(theirs), f"the shape is {np.shape(ours)}, not {np.shape(theirs)}")


def our_figures(model: Any, data: Any) -> list[float]:
    found = model.evaluate(data)
    return [found.accuracy, found.log_loss, found.f1("macro")]


def their_figures(model: Any, X: Any, y: Any) -> list[float]:
    from sklearn.metrics import accuracy_score, f1_score, log_loss

    shares = model.predict_proba(X)
    predicted = model.classes_[shares.argmax(axis=1)]
    return [accuracy_score(y, predicted), log_loss(y, shares), f1_score(y, predicted, average="macro")]


def learning_case(rows: int) -> Case:
    """Learn more texts, against naive Bayes on hashed words; both start from the same model each time."""

    def work(bench: Bench) -> None:
        from sklearn.feature_extraction.text import HashingVectorizer
        from sklearn.naive_bayes import MultinomialNB

        documents, labels = texts(rows, 20)
        half = rows // 2
        first, rest = ({"text": documents[part], "label": labels[part]} for part in (slice(half), slice(half, rows)))
        ours = PLAIN.ours(bench.threads).fit(first)
        hashing = HashingVectorizer(alternate_sign=False, norm=None)
        theirs = MultinomialNB().fit(hashing.transform(first["text"]), first["label"])

        def learned() -> Any:
            known = copy.deepcopy(theirs)
            return known.partial_fit(hashing.transform(rest["text"]), rest["label"])

        def check(mine: Any, other: Any) -> None:
            require(mine.rows == rows, f"{mine.rows} rows were learned")

        bench.measure("learn", lambda: ours.copy().learn(rest), learned, check)

    name = f"{rows}x20words-2classes"
    return Case("classifier", PLAIN.subject, ("Classifier",), name, ("learn",), work)
