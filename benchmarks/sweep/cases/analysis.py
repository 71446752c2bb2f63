"""The cases of functions and of what evaluates: scores of columns, figures, folds, matrices, similar texts."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import discern
from benchmarks.harness.measure import require
from benchmarks.sweep.agreement import same_values
from benchmarks.sweep.cases.catalog import SHAPES
from benchmarks.sweep.cases.shapes import Shape, table
from benchmarks.sweep.cases.texts import mixed, text_frame, texts
from benchmarks.sweep.cells import Bench, Case

Run = Callable[[Bench], None]


TOLERANCES = (
    ("`chi2`, `mutual_information`", "analysis", "values within 1e-8"),
    ("`Evaluation`, `MultilabelEvaluation`, `estimate_priors`", "analysis", "figures within 1e-6"),
    ("`cross_validate`", "analysis", "accuracy within 0.03 (folds are drawn in another way)"),
    ("`TermDocumentMatrix`", "analysis", "shape and sum of the counts"),
    ("`similar`", "analysis", "the text itself is the most similar"),
    (
        "`choose_threshold`",
        "analysis",
        "the cost at the threshold is not above the peer's; without the interval, which the peer does not have",
    ),
    ("`choose_thresholds`", "analysis", "micro F1 on other rows is at least the peer's, less 0.01"),
)


def cases() -> Iterator[Case]:
    for shape in (*SHAPES["counts"], *SHAPES["sparse"]):
        yield _case(
            "chi2",
            shape.name,
            partial(run_chi2, shape),
            memory=partial(run_chi2, shape.small()) if shape.memory else None,
        )
    for shape in (SHAPES["counts"][0], SHAPES["counts"][1], *SHAPES["sparse"][:2]):
        small = Shape(shape.rows, min(shape.columns, 300), shape.classes, shape.kind, shape.nonzeros)
        yield _case("mutual_information", small.name, partial(run_mutual_information, small))
    for rows, classes in ((100, 2), (100_000, 2), (100_000, 20), (20_000, 200)):
        yield _case("Evaluation", f"{rows}-{classes}classes", partial(run_evaluation, rows, classes), "figures")
    for rows, labels in ((100, 5), (5_000, 90), (100_000, 10), (2_000, 1_000)):
        shape = f"{rows}-{labels}labels"
        yield _case("MultilabelEvaluation", shape, partial(run_label_sets, rows, labels), "figures")
        yield _case("choose_thresholds", shape, partial(run_thresholds, rows, labels))
    for rows in (100, 100_000):
        yield _case("choose_threshold", f"{rows}-2classes", partial(run_threshold, rows))
    for rows, length in ((20, 8), (5_000, 10), (2_000, 100)):
        yield _case("TermDocumentMatrix", f"{rows}x{length}words", partial(run_matrix, rows, length))
        yield _case("similar", f"{rows}x{length}words", partial(run_similar, rows, length))
    for rows in (500, 10_000):
        yield _case("cross_validate", f"{rows}x20words", partial(run_folds_of_texts, rows))
        yield _case("cross_validate", f"{rows}x5numbers", partial(run_folds_of_numbers, rows))
    for rows, classes in ((1_000, 2), (100_000, 3)):
        yield _case("estimate_priors", f"{rows}-{classes}classes", partial(run_priors, rows, classes))


def _case(name: str, shape: str, run: Run, operation: str = "run", memory: Run | None = None) -> Case:
    return Case("analysis", name, (name,), shape, (operation,), run, memory)


def run_chi2(shape: Shape, bench: Bench) -> None:
    from sklearn.feature_selection import chi2

    data = table(shape)

    def same(ours: Any, theirs: Any) -> None:
        same_values(ours, theirs, 1e-8)

    bench.measure("run", partial(discern.chi2, data.X, data.y), partial(chi2, data.X, data.y), same)


def run_mutual_information(shape: Shape, bench: Bench) -> None:
    from sklearn.feature_selection import mutual_info_classif

    data = table(shape)

    def theirs() -> Any:
        return mutual_info_classif(data.X != 0, data.y, discrete_features=True)

    def same(mine: Any, other: Any) -> None:
        same_values(mine, other, 1e-9)

    bench.measure("run", partial(discern.mutual_information, data.X, data.y), theirs, same)


def _shares(rows: int, classes: int) -> tuple[Any, Any, list[str]]:
    """Return labels, probabilities that tell something about them, and the names of the classes."""
    random = np.random.default_rng(0)
    numbers = random.integers(0, classes, rows)
    numbers[:classes] = np.arange(classes)
    scores = random.normal(size=(rows, classes))
    scores[np.arange(rows), numbers] += 1.5
    shares = np.exp(scores)
    names = [f"label {number:03d}" for number in range(classes)]
    return np.array(names)[numbers], shares / shares.sum(axis=1, keepdims=True), names


def run_evaluation(rows: int, classes: int, bench: Bench) -> None:
    from sklearn.metrics import accuracy_score, confusion_matrix, f1_score, log_loss, roc_auc_score

    true, shares, names = _shares(rows, classes)
    predicted = np.array(names)[shares.argmax(axis=1)]

    def ours() -> Any:
        found = discern.Evaluation.of(true, predicted, shares, names)
        return found.accuracy, found.log_loss, found.f1("macro"), found.auc(), found.matrix("true-predicted")

    def theirs() -> Any:
        given = shares[:, 1] if classes == 2 else shares
        auc = roc_auc_score(true, given, multi_class="ovr", labels=names)
        matrix = confusion_matrix(true, predicted)
        return (
            accuracy_score(true, predicted),
            log_loss(true, shares),
            f1_score(true, predicted, average="macro"),
            auc,
            matrix,
        )

    def same(mine: Any, other: Any) -> None:
        same_values(mine, other, 1e-6)

    bench.measure("figures", ours, theirs, same)


def run_threshold(rows: int, bench: Bench) -> None:
    from sklearn.metrics import roc_curve

    true, shares, names = _shares(rows, 2)

    def ours() -> Any:
        return discern.choose_threshold(true, shares, names, names[1], discern.LeastCost(1, 5), samples=0)

    def theirs() -> Any:
        wrong, right, thresholds = roc_curve(true == names[1], shares[:, 1])
        positive = int((true == names[1]).sum())
        costs = wrong * (len(true) - positive) * 1 + (1 - right) * positive * 5
        return thresholds[costs.argmin()]

    def cost(threshold: float) -> int:
        positive, called = true == names[1], shares[:, 1] >= threshold
        return int((called & ~positive).sum() + 5 * (positive & ~called).sum())

    def check(mine: Any, other: Any) -> None:
        ours, theirs = cost(mine.threshold), cost(other)
        require(ours <= theirs, f"the threshold costs {ours}, theirs {theirs}")

    bench.measure("run", ours, theirs, check)


def _label_sets(rows: int, labels: int) -> tuple[Any, Any, list[str]]:
    """Return which rows have which labels, most of them rare, their probabilities, and the names of the labels."""
    random = np.random.default_rng(0)
    shares = random.random((rows, labels)) ** (4 * np.arange(1, labels + 1) ** 0.5)
    return random.random((rows, labels)) < shares, shares, [f"label {number:04d}" for number in range(labels)]


def run_label_sets(rows: int, labels: int, bench: Bench) -> None:
    from sklearn import metrics

    truth, shares, names = _label_sets(rows, labels)
    decided = shares >= 0.4

    def ours() -> Any:
        found = discern.MultilabelEvaluation.of(truth, decided, shares, names)
        figures = (found.exact_match, found.hamming_loss, found.ranking_precision, found.coverage)
        return np.array([found.f1(), found.f1("macro"), *figures])

    def theirs() -> Any:
        both = [metrics.f1_score(truth, decided, average=average, zero_division=0) for average in ("micro", "macro")]
        figures = metrics.accuracy_score(truth, decided), metrics.hamming_loss(truth, decided)
        ranking = metrics.label_ranking_average_precision_score(truth, shares)
        return np.array([*both, *figures, ranking, metrics.coverage_error(truth, shares)])

    def same(mine: Any, other: Any) -> None:
        same_values(mine, other, 1e-6)

    bench.measure("figures", ours, theirs, same)


def run_thresholds(rows: int, labels: int, bench: Bench) -> None:
    from sklearn.metrics import precision_recall_curve

    truth, shares, names = _label_sets(2 * rows, labels)
    truth[:rows][0] = True  # each label has a row
    new = slice(rows, None)

    def best(label: int) -> float:
        precision, recall, thresholds = precision_recall_curve(truth[:rows, label], shares[:rows, label])
        values = 2 * precision * recall / np.maximum(precision + recall, 1e-12)
        return float(thresholds[values[:-1].argmax()])

    def f1(decided: Any) -> float:
        return discern.MultilabelEvaluation.of(truth[new], decided, shares[new], names).f1()

    def check(mine: Any, other: Any) -> None:
        ours, theirs = f1(mine(shares[new], names)), f1(shares[new] >= other)
        require(ours >= theirs - 0.01, f"micro F1 is {ours:.4f}, theirs {theirs:.4f}")

    ours = partial(discern.choose_thresholds, shares[:rows], truth[:rows], names)
    bench.measure("run", ours, lambda: np.array([best(label) for label in range(labels)]), check)


def run_matrix(rows: int, length: int, bench: Bench) -> None:
    from sklearn.feature_extraction.text import CountVectorizer

    documents, _ = texts(rows, length)

    def ours() -> Any:
        return discern.TermDocumentMatrix.of(documents).to_scipy()

    def same(mine: Any, other: Any) -> None:
        require(mine.shape == other.shape[::-1] or mine.shape == other.shape, f"the shape is {mine.shape}")
        require(mine.sum() == other.sum(), "the sums of the counts differ")

    bench.measure("run", ours, lambda: CountVectorizer().fit_transform(documents), same)


def run_similar(rows: int, length: int, bench: Bench) -> None:
    """Find the nearest text, against neighbors by cosine of tf–idf."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.neighbors import NearestNeighbors

    frame = text_frame(rows, length)
    model = discern.Classifier(model="knn", min_df=1, ngrams=(1, 1)).fit(frame)
    vectorizer = TfidfVectorizer(sublinear_tf=True)
    neighbors = NearestNeighbors(n_neighbors=1, metric="cosine").fit(vectorizer.fit_transform(frame["text"]))
    question = frame["text"][rows // 2]

    def check(mine: Any, other: Any) -> None:
        require(mine[0].similarity > 0.999, "the text itself is not the nearest")

    bench.measure(
        "run",
        lambda: discern.similar(model, question, top=1),
        lambda: neighbors.kneighbors(vectorizer.transform([question])),
        check,
    )


def run_folds_of_texts(rows: int, bench: Bench) -> None:
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.naive_bayes import MultinomialNB
    from sklearn.pipeline import make_pipeline

    frame = text_frame(rows, 20)
    model = discern.Classifier(smoothing=1.0)
    _run_folds(bench, model, frame, make_pipeline(CountVectorizer(), MultinomialNB()), frame["text"])


def run_folds_of_numbers(rows: int, bench: Bench) -> None:
    from sklearn.naive_bayes import GaussianNB

    frame = mixed(rows, 5, 0)
    model = discern.Classifier(smoothing=1.0, numbers="gaussian")
    _run_folds(bench, model, frame, GaussianNB(), frame.drop(columns="label").to_numpy())


def _run_folds(bench: Bench, model: Any, frame: Any, peer: Any, X: Any) -> None:
    from sklearn.model_selection import cross_validate

    def check(mine: Any, other: Any) -> None:
        accuracy = float(np.mean(other["test_score"]))
        require(abs(mine.accuracy - accuracy) < 0.03, f"the accuracy is {mine.accuracy:.4f}, theirs {accuracy:.4f}")

    ours = partial(discern.cross_validate, model, frame, folds=5)
    bench.measure("run", ours, partial(cross_validate, peer, X, frame["label"], cv=5, n_jobs=bench.threads), check)


def run_priors(rows: int, classes: int, bench: Bench) -> None:
    """Estimate new priors, against the iteration of Saerens in numpy."""
    _, shares, _ = _shares(rows, classes)
    trained = np.full(classes, 1 / classes)

    def theirs() -> Any:
        priors = trained
        for _ in range(10_000):
            weighted = shares * (priors / trained)
            new = (weighted / weighted.sum(axis=1, keepdims=True)).mean(axis=0)
            if np.abs(new - priors).max() < 1e-9:
                return new
            priors = new
        return priors

    def same(mine: Any, other: Any) -> None:
        same_values(mine, other, 1e-6)

    bench.measure("run", partial(discern.estimate_priors, shares, trained), theirs, same)
