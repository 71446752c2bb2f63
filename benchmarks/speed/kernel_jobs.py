"""Jobs of kernel machines and online learners."""

import bz2
from pathlib import Path
from typing import Any

import numpy as np

import discern
from benchmarks.harness.data import REVIEWS, read, real_folder
from benchmarks.harness.job import SCIKIT_LEARN, Goal, Inputs, Job, Peer
from benchmarks.harness.measure import LeftOutError, cpu, require

EQUAL = 1e-6
"""How close the optima must be, relatively, to be called equal."""


def prepare_gaussian(folder: Path, quick: bool) -> Inputs:
    random = np.random.default_rng(0)
    rows = 2_000 if quick else 10_000
    X = random.normal(size=(rows, 20))
    noisy = X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * random.normal(size=rows)
    return Inputs(X=X, y=(noisy > 0).astype(int), options={})


def prepare_adult(folder: Path, quick: bool) -> Inputs:
    from sklearn.datasets import load_svmlight_file

    data = real_folder()
    path = data / "libsvm" / "a9a.bz2" if data else None
    if path is None or not path.exists():
        raise LeftOutError("there is no libsvm/a9a.bz2 in DISCERN_DATA")
    with bz2.open(path) as file:
        X, y = load_svmlight_file(file, n_features=123)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # all that the peer takes
    rows = 3_000 if quick else len(y)
    return Inputs(X=X[:rows], y=y[:rows], options={})


def fit_svc(inputs: Inputs) -> Any:
    return discern.SVC(**inputs.options).fit(inputs.X, inputs.y)


def fit_svc_scikit_learn(inputs: Inputs) -> Any:
    from sklearn.svm import SVC

    return SVC(**inputs.options).fit(inputs.X, inputs.y)


def dual_value(inputs: Inputs, model: Any) -> float:
    """Σ|β| − ½ Σ β (f(x) − b) over the support vectors: what both maximize."""
    coefficients = model.dual_coef_.toarray() if hasattr(model.dual_coef_, "toarray") else model.dual_coef_
    outputs = model.decision_function(inputs.X[model.support_]) - model.intercept_
    return float(np.abs(coefficients).sum() - 0.5 * coefficients.ravel() @ outputs)


def same_machine(inputs: Inputs, ours: Any, theirs: Any) -> None:
    mine, other = dual_value(inputs, ours), dual_value(inputs, theirs)
    require(abs(mine - other) <= EQUAL * other, f"the optimum is {mine:.10g}, theirs {other:.10g}")
    some = slice(0, 2_000)
    mine, other = ours.decision_function(inputs.X[some]), theirs.decision_function(inputs.X[some])
    most = float(np.abs(mine - other).max())
    require(most < 1e-2, f"the decision function differs by {most:.1e}")
    require(ours.duality_gap_.max() <= 1e-4, f"the duality gap is {ours.duality_gap_.max():.1e}")


def prepare_perceptron(folder: Path, quick: bool) -> Inputs:
    from sklearn.feature_extraction.text import TfidfVectorizer

    table = read(REVIEWS, folder)
    X = TfidfVectorizer(sublinear_tf=True).fit_transform(table["text"].to_pylist())
    return Inputs(X=X, y=np.array(table["label"].to_pylist()), options={"max_iter": 10, "tol": None})


def fit_perceptron(inputs: Inputs) -> Any:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ten epochs are meant
        return discern.Perceptron(**inputs.options).fit(inputs.X, inputs.y)


def fit_perceptron_scikit_learn(inputs: Inputs) -> Any:
    from sklearn.linear_model import Perceptron

    return Perceptron(**inputs.options).fit(inputs.X, inputs.y)


def as_accurate(inputs: Inputs, ours: Any, theirs: Any) -> None:
    # Each shuffles in its own way, so that only the work and the outcome are compared.
    require(ours.n_iter_ == theirs.n_iter_, "the numbers of epochs differ")
    mine, other = ours.score(inputs.X, inputs.y), theirs.score(inputs.X, inputs.y)
    require(mine > other - 0.01, f"the accuracy on its rows is {mine:.4f}, not {other:.4f}")


JOBS = (
    Job(
        "svc-gaussian",
        "SVC() with a Gaussian kernel, 10,000 rows of 20 numbers",
        None,
        prepare_gaussian,
        cpu(fit_svc),
        (Peer(SCIKIT_LEARN, Goal("faster", 1.5), same_machine, cpu(fit_svc_scikit_learn)),),
        repeats=3,
        quick_repeats=1,
    ),
    Job(
        "svc-a9a",
        "SVC() with a Gaussian kernel on a9a, 32,561 sparse rows",
        None,
        prepare_adult,
        cpu(fit_svc),
        (Peer(SCIKIT_LEARN, Goal("faster", 1.5), same_machine, cpu(fit_svc_scikit_learn)),),
        repeats=1,
        quick_repeats=1,
    ),
    Job(
        "perceptron",
        "Perceptron, ten epochs on tf–idf of the reviews",
        REVIEWS,
        prepare_perceptron,
        cpu(fit_perceptron),
        (Peer(SCIKIT_LEARN, Goal("faster", 2), as_accurate, cpu(fit_perceptron_scikit_learn)),),
        repeats=15,
    ),
)
