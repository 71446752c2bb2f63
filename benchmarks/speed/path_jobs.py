"""L1, cross-validated penalties and stochastic gradients, against scikit-learn where both do the same work."""

from pathlib import Path
from typing import Any

import numpy as np

import discern
from benchmarks.harness.data import REVIEWS
from benchmarks.harness.job import Goal, Inputs, Job, Peer
from benchmarks.harness.measure import cpu, require
from benchmarks.speed.logistic_jobs import prepare_table, prepare_text

FEW_ROWS, FEW_TEXTS = 20_000, 5_000
EQUAL = 1e-8
"""How far above the peer's an objective may be, relatively."""
CROSS_VALIDATION = {"Cs": 10, "cv": 5, "l1_ratios": (0.0,), "scoring": "neg_log_loss", "use_legacy_attributes": False}
CLOSE_SCORES = 1e-4
"""How far the mean scores of a penalty may differ: where a peer at its tolerance differs more, it has done less."""


# ---------------------------------------------------------------------------------------------------------- lasso


def prepare_lasso(folder: Path, quick: bool) -> Inputs:
    return prepare_text(folder, quick)


def lasso_objective(inputs: Inputs, model: Any) -> float:
    scores = inputs.X @ model.coef_[0]
    return float(np.abs(model.coef_).sum() + np.logaddexp(0, np.where(inputs.y, -scores, scores)).sum())


def lasso_ours(inputs: Inputs) -> Any:
    return discern.LogisticRegression(l1_ratio=1.0, fit_intercept=False).fit(inputs.X, inputs.y)


def lasso_liblinear(inputs: Inputs) -> Any:
    from sklearn.linear_model import LogisticRegression

    options: dict[str, Any] = {"l1_ratio": 1.0, "fit_intercept": False, "tol": 1e-8, "random_state": 0}
    return LogisticRegression(solver="liblinear", max_iter=10_000, **options).fit(inputs.X, inputs.y)


def lasso_saga(inputs: Inputs) -> Any:
    from sklearn.linear_model import LogisticRegression

    # Its own default tolerance: at a tighter one it takes minutes.
    options: dict[str, Any] = {"l1_ratio": 1.0, "fit_intercept": False, "random_state": 0}
    return LogisticRegression(solver="saga", max_iter=1000, **options).fit(inputs.X, inputs.y)


def as_low(inputs: Inputs, ours: Any, theirs: Any) -> None:
    excess = lasso_objective(inputs, ours) / lasso_objective(inputs, theirs) - 1
    require(excess <= EQUAL, f"the fit ends {excess:.1e} above the peer's objective")


# ----------------------------------------------------------------------------------------------- cross-validation


def prepare_few_rows(folder: Path, quick: bool) -> Inputs:
    return _some(prepare_table(folder, True), FEW_ROWS, peer_tol=1e-6)


def prepare_few_texts(folder: Path, quick: bool) -> Inputs:
    return _some(prepare_text(folder, quick), FEW_TEXTS, peer_tol=1e-7)


def _some(inputs: Inputs, rows: int, peer_tol: float) -> Inputs:
    chosen = np.linspace(0, inputs.X.shape[0] - 1, min(rows, inputs.X.shape[0])).astype(int)
    return Inputs(X=inputs.X[chosen], y=inputs.y[chosen], peer_tol=peer_tol)


def cross_validated_ours(inputs: Inputs) -> Any:
    return discern.LogisticRegressionCV(**CROSS_VALIDATION).fit(inputs.X, inputs.y)


def cross_validated_theirs(inputs: Inputs) -> Any:
    from sklearn.linear_model import LogisticRegressionCV

    return LogisticRegressionCV(tol=inputs.peer_tol, max_iter=10_000, **CROSS_VALIDATION).fit(inputs.X, inputs.y)


def same_choice(inputs: Inputs, ours: Any, theirs: Any) -> None:
    require(ours.C_ == theirs.C_, f"ours chooses C={ours.C_:g}, theirs {theirs.C_:g}")
    means = (model.scores_.mean(axis=(0, 1)) for model in (ours, theirs))
    apart = np.abs(np.subtract(*means)).max()
    require(apart <= CLOSE_SCORES, f"mean scores differ by {apart:.1e}")


# ------------------------------------------------------------------------------------------- stochastic gradients


def descent(library: Any) -> Any:
    return cpu(lambda inputs: library().fit(inputs.X, inputs.y))


def their_descent() -> Any:
    from sklearn.linear_model import SGDClassifier

    return SGDClassifier(random_state=0)


def our_descent() -> Any:
    return discern.SGDClassifier(random_state=0)


def same_accuracy(inputs: Inputs, ours: Any, theirs: Any) -> None:
    mine, other = (model.score(inputs.X, inputs.y) for model in (ours, theirs))
    require(mine >= other - 0.01, f"the accuracy is {mine:.4f}, theirs {other:.4f}")


def their_choice(goal: float) -> tuple[Peer, ...]:
    return (
        Peer("scikit-learn lbfgs", Goal("faster", goal, informative=True), same_choice, cpu(cross_validated_theirs)),
    )


JOBS = (
    Job(
        "lasso-text",
        "LogisticRegression(l1_ratio=1).fit on sparse tf–idf of single words, to the same objective",
        REVIEWS,
        prepare_lasso,
        cpu(lasso_ours),
        (
            Peer("scikit-learn liblinear", Goal("faster", 2), as_low, cpu(lasso_liblinear)),
            Peer("scikit-learn saga", Goal("faster", 3), as_low, cpu(lasso_saga)),
        ),
        repeats=1,
        quick_repeats=1,
    ),
    Job(
        "logistic-cv/table",
        f"LogisticRegressionCV().fit, 10 penalties and 5 folds, on {FEW_ROWS:,} × 20 numbers, to the same scores",
        None,
        prepare_few_rows,
        cpu(cross_validated_ours),
        their_choice(8),
        repeats=3,
        quick_repeats=1,
    ),
    Job(
        "logistic-cv/text",
        f"LogisticRegressionCV().fit, 10 penalties and 5 folds, on tf–idf of {FEW_TEXTS:,} texts, to the same scores",
        REVIEWS,
        prepare_few_texts,
        cpu(cross_validated_ours),
        their_choice(8),
        repeats=1,
        quick_repeats=1,
    ),
    Job(
        "descent-text",
        "SGDClassifier().fit on sparse tf–idf of single words",
        REVIEWS,
        prepare_text,
        descent(our_descent),
        (Peer("scikit-learn", Goal("faster", 2), same_accuracy, descent(their_descent)),),
        repeats=5,
    ),
)
