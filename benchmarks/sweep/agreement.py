"""How results of both sides are compared before their times count, each with a stated tolerance."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import log_softmax

from benchmarks.harness.measure import require

ROWS = 2_000
"""Fitted models are compared by what they predict for this many rows."""

SINGLE = 1e-4
"""What probabilities and values of float32 data may differ by."""

Objective = Callable[[Any, Any, Any, dict[str, Any]], float]


@dataclass(frozen=True)
class Agreement:
    """What must agree; None: it is not compared, for the reason that ``why`` states."""

    labels: float | None = 1.0
    """The least share of rows with the same label."""
    probabilities: float | None = 1e-6
    """The greatest difference of probabilities."""
    accuracy: float | None = None
    """How much less accurate than the peer we may be, on training rows."""
    objective: Objective | None = None
    excess: float = 1e-6
    """How far above the peer's objective ours may be, relatively."""
    distances: float | None = None
    """The greatest difference of distances to the nearest neighbors."""
    values: float | None = 1e-6
    """The greatest relative difference of what ``transform`` returns."""
    why: str = ""

    def described(self) -> str:
        """Return the tolerances in a sentence."""
        parts = []
        if self.objective is not None:
            parts.append(f"objective at most {self.excess:g} above the peer's, relatively")
        if self.distances is not None:
            parts.append(f"distances of neighbors within {self.distances:g}")
        if self.labels is not None:
            parts.append(f"{100 * self.labels:g}% of labels equal")
        if self.probabilities is not None:
            parts.append(f"probabilities within {self.probabilities:g}")
        if self.accuracy is not None:
            parts.append(f"accuracy at most {self.accuracy:g} lower")
        if not parts:
            parts = ["shape" if self.values is None else f"values within {self.values:g}"]
        return "; ".join(parts) + (f" ({self.why})" if self.why else "")

    def of_precision(self, dtype: str) -> "Agreement":
        """Return the tolerances for numbers of a type: a side may calculate in float32 if that is what it gets."""
        if dtype != "float32":
            return self
        probabilities, values = (
            None if found is None else max(found, SINGLE) for found in (self.probabilities, self.values)
        )
        return replace(self, probabilities=probabilities, values=values)

    # ---------------------------------------------------------------------------------------------- checks

    def of_labels(self, ours: Any, theirs: Any, y: Any) -> None:
        ours, theirs = np.asarray(ours), np.asarray(theirs)
        require(ours.shape == theirs.shape, f"labels have the shape {ours.shape}, not {theirs.shape}")
        if self.labels is not None:
            share = float(np.mean(ours == theirs))
            require(share >= self.labels, f"{share:.4%} of labels are equal")
        if self.accuracy is not None:
            mine, other = (float(np.mean(found == np.asarray(y)[: len(found)])) for found in (ours, theirs))
            require(mine >= other - self.accuracy, f"the accuracy is {mine:.4f}, theirs {other:.4f}")

    def of_probabilities(self, ours: Any, theirs: Any) -> None:
        ours, theirs = np.asarray(ours), np.asarray(theirs)
        require(ours.shape == theirs.shape, f"probabilities have the shape {ours.shape}, not {theirs.shape}")
        require(np.isfinite(ours).all(), "a probability is not finite")
        if self.probabilities is not None:
            most = float(np.abs(ours - theirs).max(initial=0))
            require(most <= self.probabilities, f"probabilities differ by {most:.1e}")

    def of_values(self, ours: Any, theirs: Any) -> None:
        if self.values is not None:
            same_values(ours, theirs, self.values)

    def of_models(self, ours: Any, theirs: Any, rows: Any, X: Any, y: Any, options: dict[str, Any]) -> None:
        """Compare fitted classifiers by their labels for some rows, and by the objective on all."""
        require(list(ours.classes_) == list(theirs.classes_), "the classes differ")
        self.of_labels(ours.predict(rows), theirs.predict(rows), y)
        if self.distances is not None:
            mine, other = (model.kneighbors(rows)[0] for model in (ours, theirs))
            same_values(mine, other, self.distances)
        if self.objective is not None:
            mine, other = (self.objective(model, X, y, options) for model in (ours, theirs))
            most = other + self.excess * max(abs(other), 1e-12)
            require(mine <= most, f"the objective is {mine:.8g}, theirs {other:.8g}")


EXACT = Agreement()


def same_values(ours: Any, theirs: Any, tolerance: float) -> None:
    """Compare matrices, dense or sparse, or tuples of them."""
    if isinstance(theirs, tuple):
        for mine, other in zip(ours, theirs, strict=True):
            same_values(mine, other, tolerance)
        return
    if sparse.issparse(theirs):
        require(ours.shape == theirs.shape, f"the shape is {ours.shape}, not {theirs.shape}")
        difference = abs(sparse.csr_matrix(ours) - sparse.csr_matrix(theirs))
        most = difference.max() if difference.nnz else 0.0
        scale = abs(theirs).max() if theirs.nnz else 1.0
    else:
        ours, theirs = np.asarray(ours, float), np.asarray(theirs, float)
        require(ours.shape == theirs.shape, f"the shape is {ours.shape}, not {theirs.shape}")
        known = ~np.isnan(theirs)
        require((known == ~np.isnan(ours)).all(), "other values are missing")
        most = float(np.abs(ours - theirs)[known].max(initial=0))
        scale = float(np.abs(theirs[known]).max(initial=0))
    require(most <= tolerance * max(scale, 1.0), f"values differ by {most:.1e}")


def nothing(ours: Any, theirs: Any) -> None:
    """Compare nothing: what is returned was compared elsewhere."""


# ------------------------------------------------------------------------------------------------- objectives


def _numbers(model: Any, y: Any) -> Any:
    return np.searchsorted(model.classes_, y)


def _scores(model: Any, X: Any) -> Any:
    """Return a column of scores for each class; two classes have the scores −f/2 and f/2."""
    scores = np.asarray(X @ np.asarray(model.coef_, float).T + model.intercept_)
    scores = scores.reshape(len(scores), -1)
    return np.column_stack([-scores / 2, scores / 2]) if scores.shape[1] == 1 else scores


def logistic(model: Any, X: Any, y: Any, options: dict[str, Any]) -> float:
    """C times the log loss, plus half the squared length of the coefficients."""
    losses = -log_softmax(_scores(model, X), axis=1)[np.arange(len(y)), _numbers(model, y)]
    strength = options.get("C", 1.0)
    return float(losses.sum() if np.isinf(strength) else strength * losses.sum() + 0.5 * np.sum(model.coef_**2))


def _signs(model: Any, y: Any) -> Any:
    """Return −1 or 1 for each row and machine."""
    numbers = _numbers(model, y)
    machines = len(model.classes_) if len(model.classes_) > 2 else 1
    positive = numbers[:, None] == (np.arange(machines) if machines > 1 else 1)
    return np.where(positive, 1.0, -1.0)


def squared_hinge(model: Any, X: Any, y: Any, options: dict[str, Any]) -> float:
    """The objective of LIBLINEAR, summed over machines: the intercept is penalized, too."""
    scores = np.asarray(X @ model.coef_.T + model.intercept_).reshape(len(y), -1)
    slack = np.maximum(0, 1 - _signs(model, y) * scores)
    if options.get("loss", "squared_hinge") == "squared_hinge":
        slack = slack**2
    return float(
        0.5 * (np.sum(model.coef_**2) + np.sum(np.square(model.intercept_))) + options.get("C", 1) * slack.sum()
    )


def least_squares(model: Any, X: Any, y: Any, options: dict[str, Any]) -> float:
    """The objective of a ridge classifier."""
    coefficients = np.atleast_2d(model.coef_)
    scores = np.asarray(X @ coefficients.T + model.intercept_).reshape(len(y), -1)
    return float(np.sum((_signs(model, y) - scores) ** 2) + options.get("alpha", 1.0) * np.sum(coefficients**2))
