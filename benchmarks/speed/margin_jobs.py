"""Jobs of the linear classifiers of large margin: speed at an equal objective, growth, threads, accuracy."""

import bz2
import io
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv

import discern
from benchmarks.harness.data import REVIEWS, real_folder
from benchmarks.harness.job import Goal, Inputs, Job, Peer, nothing_to_check
from benchmarks.harness.measure import LeftOutError, Sample, Side, cpu, require, task, wall, with_threads
from benchmarks.speed.text_jobs import prepare_reviews, prepare_vowpal_wabbit

EQUAL = 1e-6
"""How close objectives must be, relatively, to be called equal."""
TOKENS = r"\w+|[^\w\s]"
"""Words and punctuation."""


# ------------------------------------------------------------------------------------------------- objectives


def prepare_weighted_reviews(folder: Path, quick: bool) -> Inputs:
    from sklearn.feature_extraction.text import TfidfTransformer

    inputs = prepare_reviews(folder, quick)
    half = len(inputs.texts) // 2  # the training part, if they are real
    inputs.X = TfidfTransformer().fit_transform(discern.CountVectorizer().fit_transform(inputs.texts[:half]))
    inputs.y = np.array(inputs.labels[:half])
    inputs.loss = "squared_hinge"
    return inputs


def prepare_known(name: str, loss: str) -> Callable[[Path, bool], Inputs]:
    def prepare(folder: Path, quick: bool) -> Inputs:
        from sklearn.datasets import load_svmlight_file

        X, y = load_svmlight_file(str(real_file(f"libsvm/{name}.bz2")))
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # as LIBLINEAR wants them
        return Inputs(X=X, y=y, loss=loss)

    return prepare


def real_file(name: str) -> Path:
    folder = real_folder()
    if folder is None or not (folder / name).exists():
        raise LeftOutError(f"there is no {name}")
    return folder / name


def fit_ours(inputs: Inputs) -> Any:
    return discern.LinearSVC(loss=inputs.loss, tol=EQUAL, max_iter=100_000).fit(inputs.X, inputs.y)


def fit_liblinear(inputs: Inputs) -> Any:
    from sklearn.svm import LinearSVC

    return LinearSVC(loss=inputs.loss, max_iter=100_000).fit(inputs.X, inputs.y)


def objective(inputs: Inputs, model: Any) -> float:
    signs = np.where(inputs.y == model.classes_[1], 1.0, -1.0)
    slack = np.maximum(0, 1 - signs * model.decision_function(inputs.X))
    penalty = np.sum(model.coef_**2) + np.sum(model.intercept_**2)
    return float(0.5 * penalty + np.sum(slack if inputs.loss == "hinge" else slack**2))


def same_objective(inputs: Inputs, ours: Any, theirs: Any) -> None:
    mine, other = objective(inputs, ours), objective(inputs, theirs)
    require(mine <= other * (1 + EQUAL), f"the objective is {mine:.10g}, theirs {other:.10g}")
    require(ours.certificate_.gap.max() <= EQUAL, "the gap is larger than asked for")


# -------------------------------------------------------------------------------------------- threads and growth


def prepare_classes(folder: Path, quick: bool) -> Inputs:
    """Eight classes: the label and the quarter of the lengths."""
    inputs = prepare_weighted_reviews(folder, quick)
    lengths = np.diff(inputs.X.indptr)
    quarters = np.searchsorted(np.quantile(lengths, [0.25, 0.5, 0.75]), lengths)
    inputs.y = np.char.add(inputs.y.astype(str), quarters.astype(str))
    return inputs


def fit_classes(inputs: Inputs) -> Any:
    return discern.LinearSVC().fit(inputs.X, inputs.y)


def same_weights(inputs: Inputs, ours: Any, theirs: Any) -> None:
    require(np.array_equal(ours.coef_, theirs.coef_), "the weights differ")


def prepare_growth(folder: Path, quick: bool) -> Inputs:
    inputs = prepare_reviews(folder, quick)
    order = np.random.default_rng(1).permutation(len(inputs.texts))  # the files are sorted by class
    counts = discern.CountVectorizer().fit_transform(inputs.texts)[order]
    inputs.counts, inputs.y = counts, np.array(inputs.labels)[order]
    return inputs


def fit_share(make: Callable[[], Any], share: float) -> Callable[[Inputs], Any]:
    def fit(inputs: Inputs) -> Any:
        rows = int(inputs.counts.shape[0] * share)
        X = inputs.counts[:rows]
        if isinstance(model := make(), discern.LinearSVC | discern.Perceptron):
            from sklearn.preprocessing import normalize

            X = normalize(X.astype(np.float64))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # where ten epochs are meant
            return model.fit(X, inputs.y[:rows])

    return fit


def ten_epochs(learner: Callable[..., Any]) -> Callable[[], Any]:
    """Return learners that would see each row more often, the more rows there are: the epochs are the same."""
    return lambda: learner(max_iter=10, tol=None)


# ----------------------------------------------------------------------------------------------- texts to a model


def prepare_raw_reviews(folder: Path, quick: bool) -> Inputs:
    """Write the training part as CSV and as the peer's format, words cut and lowered: less work for it than for us."""
    inputs = prepare_vowpal_wabbit(folder, quick)
    half = len(inputs.texts) // 2
    inputs.raw_folder = str(folder)
    for part, rows in (("train", slice(0, half)), ("test", slice(half, None))):
        table = inputs.table.slice(rows.start, None if rows.stop is None else half)
        lines = Path(inputs.vowpal_path).read_text(encoding="utf-8").splitlines(keepends=True)[rows]
        order = np.random.default_rng(0).permutation(len(lines))  # it learns in the order of the file: sorted by class
        pyarrow.csv.write_csv(table.take(order), folder / f"{part}.csv")
        (folder / f"{part}.vw").write_text("".join(lines[place] for place in order), encoding="utf-8")
    return inputs


def at_least_as_accurate(inputs: Inputs, ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    mine, other = ours["accuracy"], theirs["accuracy"]
    require(mine >= other, f"the accuracy on the test part is {mine:.4f}, theirs {other:.4f}")


# --------------------------------------------------------------------------------------------------- accuracy


def errors_on_reviews(ngrams: int) -> Side:
    """The share of wrong decisions, in percent, on the official test part."""

    def side(inputs: Inputs) -> Sample:
        half = len(inputs.texts) // 2
        vectorizer = discern.CountVectorizer(ngram_range=(1, ngrams), token_pattern=TOKENS, binary=True)
        model = discern.NBSVM().fit(vectorizer.fit_transform(inputs.texts[:half]), inputs.labels[:half])
        right = model.predict(vectorizer.transform(inputs.texts[half:])) == np.array(inputs.labels[half:])
        return Sample(100 * (1 - float(right.mean())), None)

    return side


def prepare_official_reviews(folder: Path, quick: bool) -> Inputs:
    real_file("imdb/train.csv.bz2")
    return prepare_reviews(folder, quick)


def prepare_folds(name: str) -> Callable[[Path, bool], Inputs]:
    def prepare(folder: Path, quick: bool) -> Inputs:
        stream = io.BytesIO(bz2.decompress(real_file(f"{name}/all.csv.bz2").read_bytes()))
        options = pyarrow.csv.ParseOptions(newlines_in_values=True)
        table = pyarrow.csv.read_csv(stream, parse_options=options)
        return Inputs(texts=np.array(table["text"].to_pylist(), object), y=np.array(table["label"].to_pylist()))

    return prepare


def errors_over_folds(inputs: Inputs) -> Sample:
    """The share of wrong decisions, in percent, over ten folds; each chooses its settings on its own training part."""
    from sklearn.model_selection import GridSearchCV, StratifiedKFold

    wrong = 0
    for train, test in StratifiedKFold(10, shuffle=True, random_state=0).split(inputs.y, inputs.y):
        vectorizer = discern.CountVectorizer(ngram_range=(1, 2), token_pattern=TOKENS, binary=True)
        search = GridSearchCV(discern.NBSVM(), {"alpha": [0.1, 0.3, 1.0], "beta": [0.1, 0.25]}, cv=3)
        model = search.fit(vectorizer.fit_transform(inputs.texts[train]), inputs.y[train])
        wrong += int((model.predict(vectorizer.transform(inputs.texts[test])) != inputs.y[test]).sum())
    return Sample(100 * wrong / len(inputs.y), None)


def accuracy_job(name: str, about: str, prepare: Any, side: Side, limit: float, texts: Any = None) -> Job:
    peers = (Peer("", Goal("limit", limit), nothing_to_check),)
    return Job(f"margin/{name}", about, texts, prepare, side, peers, unit="% wrong", repeats=1, quick_repeats=1)


def objective_job(name: str, about: str, prepare: Any, goal: Goal, texts: Any = None) -> Job:
    peer = Peer("scikit-learn (LIBLINEAR)", goal, same_objective, cpu(fit_liblinear))
    return Job(f"margin/{name}", about, texts, prepare, cpu(fit_ours), (peer,), repeats=5, quick_repeats=1)


def growth_job(name: str, make: Callable[[], Any]) -> Job:
    peer = Peer("ours on a tenth", Goal("share", 12.0), nothing_to_check, cpu(fit_share(make, 0.1)))
    about = f"{name} on all reviews"
    ours = cpu(fit_share(make, 1.0))
    return Job(f"margin/growth/{name}", about, REVIEWS, prepare_growth, ours, (peer,), repeats=3, quick_repeats=1)


JOBS = (
    objective_job(
        "imdb",
        "LinearSVC on tf-idf rows of reviews, at an equal objective",
        prepare_weighted_reviews,
        Goal("faster", 2.5),
        REVIEWS,
    ),
    *(
        objective_job(
            f"{name}/{loss}",
            f"LinearSVC ({loss}) on {name}, at an equal objective",
            prepare_known(name, loss),
            Goal("faster", 1.0, informative=True),
        )
        for name in ("a9a", "w8a")
        for loss in ("squared_hinge", "hinge")
    ),
    Job(
        "margin/two-threads",
        "LinearSVC on reviews of eight classes, two threads; the peer is ours with one",
        REVIEWS,
        prepare_classes,
        wall(with_threads(fit_classes, 2)),
        (Peer("one thread", Goal("faster", 1.6, informative=True), same_weights, wall(with_threads(fit_classes, 1))),),
        unit="seconds",
        repeats=5,
    ),
    growth_job("LinearSVC", discern.LinearSVC),
    growth_job("NBSVM", discern.NBSVM),
    growth_job("Perceptron", ten_epochs(discern.Perceptron)),
    growth_job("Winnow", ten_epochs(discern.Winnow)),
    Job(
        "margin/raw-text",
        "CSV file of reviews to an OnlineTextClassifier, one pass; the peer learns one pass from its own text format",
        REVIEWS,
        prepare_raw_reviews,
        task("fit-linear-ours", lambda inputs: inputs.raw_folder),
        (
            Peer(
                "Vowpal Wabbit",
                Goal("faster", 3),
                at_least_as_accurate,
                task("fit-linear-vowpal-wabbit", lambda inputs: inputs.raw_folder),
            ),
        ),
        repeats=5,
        quick_repeats=1,
    ),
    accuracy_job(
        "nbsvm/bigrams", "NBSVM on imdb, official test", prepare_official_reviews, errors_on_reviews(2), 8.8, REVIEWS
    ),
    accuracy_job(
        "nbsvm/trigrams", "the same with trigrams", prepare_official_reviews, errors_on_reviews(3), 8.2, REVIEWS
    ),
    accuracy_job(
        "nbsvm/mr", "NBSVM on mr_rt_polarity, ten folds", prepare_folds("mr_rt_polarity"), errors_over_folds, 20.62
    ),
    accuracy_job("nbsvm/subj", "NBSVM on subj, ten folds", prepare_folds("subj"), errors_over_folds, 6.44),
)
