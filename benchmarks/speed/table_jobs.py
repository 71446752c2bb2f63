"""Jobs about tables: naive Bayes on a million rows of numbers and half a million of categories."""

from pathlib import Path
from typing import Any

import numpy as np

import discern
from benchmarks.harness.job import SCIKIT_LEARN, Goal, Inputs, Job, Peer
from benchmarks.harness.measure import cpu, require


def _rows(rows: int, quick: bool) -> tuple[np.random.Generator, int]:
    return np.random.default_rng(0), rows // 100 if quick else rows


def prepare_numbers(folder: Path, quick: bool) -> Inputs:
    """Make 20 columns, the first five of which tell two classes apart."""
    from sklearn.naive_bayes import GaussianNB

    random, rows = _rows(1_000_000, quick)
    y = random.integers(0, 2, rows)
    X = random.standard_normal((rows, 20))
    X[:, :5] += 0.7 * y[:, None]
    kinds = (discern.GaussianNB, GaussianNB)
    return Inputs(X=X, y=y, ours=kinds[0]().fit(X, y), theirs=kinds[1]().fit(X, y), kinds=kinds)


def prepare_categories(folder: Path, quick: bool) -> Inputs:
    """Make 10 columns of 8 levels, the first five of which tell two classes apart."""
    from sklearn.naive_bayes import CategoricalNB

    random, rows = _rows(500_000, quick)
    y = random.integers(0, 2, rows)
    X = random.integers(0, 8, (rows, 10))
    X[:, :5] = np.minimum(X[:, :5], 6) + (random.random((rows, 5)) < 0.3 * y[:, None])
    kinds = (discern.CategoricalNB, CategoricalNB)
    return Inputs(X=X, y=y, ours=kinds[0]().fit(X, y), theirs=kinds[1]().fit(X, y), kinds=kinds)


def fit_ours(inputs: Inputs) -> Any:
    return inputs.kinds[0]().fit(inputs.X, inputs.y)


def fit_scikit_learn(inputs: Inputs) -> Any:
    return inputs.kinds[1]().fit(inputs.X, inputs.y)


def probabilities_ours(inputs: Inputs) -> Any:
    return inputs.ours.predict_proba(inputs.X)


def probabilities_scikit_learn(inputs: Inputs) -> Any:
    return inputs.theirs.predict_proba(inputs.X)


def same_densities(inputs: Inputs, ours: Any, theirs: Any) -> None:
    for name in ("theta_", "var_", "class_prior_", "epsilon_"):
        agrees = np.allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-10, atol=1e-12)
        require(agrees, f"{name} differs")


def same_levels(inputs: Inputs, ours: Any, theirs: Any) -> None:
    for mine, other in zip(ours.category_count_, theirs.category_count_, strict=True):
        require(np.array_equal(mine, other), "the counts differ")
    for mine, other in zip(ours.feature_log_prob_, theirs.feature_log_prob_, strict=True):
        require(np.allclose(mine, other, rtol=1e-12, atol=1e-12), "feature_log_prob differs")


def same_probabilities(inputs: Inputs, ours: Any, theirs: Any) -> None:
    most = float(np.max(np.abs(ours - theirs)))
    require(most <= 1e-10, f"the probabilities differ by {most:.1e}")


JOBS = (
    Job(
        "gaussian/fit",
        "GaussianNB().fit of 1,000,000 × 20 numbers, 2 classes",
        None,
        prepare_numbers,
        cpu(fit_ours),
        (Peer(SCIKIT_LEARN, Goal("faster", 15), same_densities, cpu(fit_scikit_learn)),),
    ),
    Job(
        "gaussian/probabilities",
        "predict_proba of the same",
        None,
        prepare_numbers,
        cpu(probabilities_ours),
        (Peer(SCIKIT_LEARN, Goal("faster", 6), same_probabilities, cpu(probabilities_scikit_learn)),),
    ),
    Job(
        "categorical/fit",
        "CategoricalNB().fit of 500,000 × 10 categories, 2 classes",
        None,
        prepare_categories,
        cpu(fit_ours),
        (Peer(SCIKIT_LEARN, Goal("faster", 25), same_levels, cpu(fit_scikit_learn)),),
    ),
    Job(
        "categorical/probabilities",
        "predict_proba of the same",
        None,
        prepare_categories,
        cpu(probabilities_ours),
        (Peer(SCIKIT_LEARN, Goal("faster", 3), same_probabilities, cpu(probabilities_scikit_learn)),),
    ),
)
