"""Least squares on targets of ±1, with scikit-learn's parameters and attributes."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from discern.estimators.base import Array, ScatterClassifier
from discern.estimators.checks import class_weights
from discern.estimators.linear.label_sets import TargetSolution, checked_sets, is_label_sets
from discern.estimators.linear.prediction import LinearDecision
from discern.estimators.rows import check_fitted
from discern.learners.discriminants import gathered, linear_blocks
from discern.learners.ridge import (
    MOST_COLUMNS,
    NEARLY,
    Choice,
    TargetRows,
    choose_penalty,
    is_iterated,
    normal_equations,
    solve,
    solve_positive,
    solve_rows,
    steps_of_a_factor,
)
from discern.learners.wide.ridge import solve_ridge_wide
from discern.statistics.scatter import Scatter

MOST_ROWS = 1 << 11
"""Up to this many rows, with more columns than can be summed, are solved directly, too."""
FEWEST_STEPS = 8
"""Where fewer steps of conjugate gradients than this take the time of the direct solution, they are not tried."""
SOLVERS = {"auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs"}


@dataclass(eq=False, repr=False)
class RidgeClassifier(LinearDecision, ScatterClassifier):
    """Least squares on targets of ±1 with a ridge penalty.

    Parameters and attributes are scikit-learn's. What differs: the model comes from the sums that
    :class:`LinearDiscriminantAnalysis` uses, so that it can ``partial_fit``, ``merge`` and ``forget``; and the penalty
    can be chosen. Sparse rows are taken as they are. Targets may be sets of labels, a row of zeros and ones each; such
    a model cannot learn more, merge or forget.

    Parameters
    ----------
    alpha : float, list or array of one for each target, or "auto"
        ``"auto"`` chooses the penalty by leave-one-out in closed form where the rows are at hand (``fit``), and by
        generalized cross-validation, from the sums alone, after ``partial_fit``, ``merge`` and ``forget``.
    fit_intercept : bool
    copy_X, solver, random_state
        Without effect: the rows are not changed, and the equations are solved directly.
    max_iter, tol
        Only for more than 16,384 columns: too many for sums of products, they are solved iteratively, and such a model
        cannot learn more, merge or forget.
    class_weight : dict, "balanced" or None
        Multiplied with the weight of each row. "balanced" is by the number of rows of each class, whatever they weigh.
    positive : bool
        Allow no weight below zero.

    Examples
    --------
    >>> X, y = [[0.0, 1.0], [1.0, 1.5], [3.0, 0.5], [4.0, 1.0]], ["low", "low", "top", "top"]
    >>> model = RidgeClassifier(alpha="auto").fit(X, y)
    >>> model.predict([[0.5, 1.0]]).tolist()
    ['low']
    >>> model.partial_fit([[9.0, 1.0]], ["mid"]).classes_.tolist()
    ['low', 'mid', 'top']
    """

    _input_tags: ClassVar[dict[str, bool]] = {"sparse": True}
    _as_rows: ClassVar[tuple[str, ...]] = ("coef_", "intercept_")
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like", StrOptions({"auto"})],
        "fit_intercept": ["boolean"],
        "copy_X": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "solver": [StrOptions(SOLVERS)],
        "positive": ["boolean"],
        "random_state": ["random_state"],
    }
    coef_: Array = field(init=False)
    intercept_: Array = field(init=False)
    alpha_: float = field(init=False)

    alpha: Any = 1.0
    _: KW_ONLY
    fit_intercept: bool = True
    copy_X: bool = True  # noqa: N815 (the name that scikit-learn gives it)
    max_iter: int | None = None
    tol: float = 1e-4
    class_weight: Any = None
    solver: str = "auto"
    positive: bool = False
    random_state: Any = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows, forgetting everything learned before. Weights count as repetitions of rows."""
        if not isinstance(self.alpha, str) and np.ndim(self.alpha) and np.min(self.alpha) < 0:
            raise ValueError("alpha has a penalty below 0: pass penalties of 0 or more")
        self._label_sets = is_label_sets(y)
        return self._fit_sets(X, y, sample_weight) if self._label_sets else super().fit(X, y, sample_weight)

    def _fit_sets(self, X: Any, y: Any, sample_weight: Any) -> Self:
        self._validate_params()
        X, sets = checked_sets(self, X, y)
        found, intercepts, choice, steps = TargetSolution(self, X, 2.0 * sets - 1.0, sample_weight, sets).solved()
        for sums in ("_kept_sums", "_kept_rows"):
            self.__dict__.pop(sums, None)
        self.classes_ = np.arange(sets.shape[1])
        self._take(_attributes(found, intercepts, choice, steps, "cholesky"), (X,))
        return self

    def decision_function(self, X: Any) -> Array:
        """Return the fitted target of each class, or label, for each row; of two classes, that of the second."""
        return self._usual_decision(X) if self.__dict__.get("_label_sets") else super().decision_function(X)

    def _usual_decision(self, X: Any) -> Array:
        check_fitted(self)
        X = self._validated(X, reset=False, finite=False)
        scores = self._watched(linear_blocks(X, np.atleast_2d(self.coef_), self.intercept_), X)
        if self.__dict__.get("_label_sets"):
            return np.concatenate([part for _, part in scores]) if X.shape[0] else np.empty((0, len(self.classes_)))
        return gathered(scores, X.shape[0], len(self.classes_))

    def predict(self, X: Any) -> Array:
        """Return the class of each row, or its set of labels: a row of zeros and ones."""
        if not self.__dict__.get("_label_sets"):
            return super().predict(X)
        return (self.decision_function(X) > 0).astype(np.int64)

    def _rows_to_score(self, X: Any) -> Any:
        return self._validated(X, reset=False, finite=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    # ------------------------------------------------------------------------------------------------- sums

    def merge(self, other: Self) -> Self:
        """Return a new model that has learned the rows of both."""
        self._check_sums()
        other._check_sums()
        return super().merge(other)

    def _check_sums(self) -> None:
        check_is_fitted(self)
        if not {"_kept_sums", "_kept_rows"} & self.__dict__.keys():
            why = "sets of labels" if self.__dict__.get("_label_sets") else f"more than {MOST_COLUMNS:,} columns"
            raise ValueError(f"a model of {why} has no sums to add to; use fit")

    def _validated(self, X: Any, *y: Any, reset: bool, finite: bool = True) -> Any:
        if y and not reset:
            self._check_sums()
        return super()._validated(X, *y, reset=reset, finite=finite)

    def _learn(self, X: Any, classes: Array, numbers: Array, weights: Array | None) -> None:
        if X.shape[1] <= MOST_COLUMNS:
            iterated = not self.positive and self._is_iterated(X, len(classes))
            if iterated and self._learn_wide(X, classes, numbers, weights):
                return None
            return super()._learn(X, classes, numbers, weights)
        if X.shape[0] < min(X.shape[1], MOST_ROWS) and self._learn_very_wide(X, classes, numbers, weights):
            return None
        if self.positive or not isinstance(self.alpha, Real):
            raise ValueError(
                f"there are {X.shape[1]:,} columns: only up to {MOST_COLUMNS:,}, alpha can be chosen or given for each "
                "target and weights be kept positive; select columns first, or pass one number for alpha"
            )
        self._iterate(X, classes, numbers, weights, self.max_iter)

    def _learn_very_wide(self, X: Any, classes: Array, numbers: Array, weights: Array | None) -> bool:
        """Learn from few rows of more columns than sums are kept of: by conjugate gradients, or if slower, exactly."""
        most = steps_of_a_factor(X, 1 if len(classes) == 2 else len(classes))
        is_plain = not self.positive and isinstance(self.alpha, Real) and float(self.alpha) > 0
        may_iterate = is_plain and self.max_iter is None and most >= FEWEST_STEPS
        if may_iterate and self._iterate(X, classes, numbers, weights, most) < most:
            return True
        if not self._learn_wide(X, classes, numbers, weights):
            return False
        del self._kept_rows
        return True

    def _iterate(self, X: Any, classes: Array, numbers: Array, weights: Array | None, most: int | None) -> int:
        """Learn by conjugate gradients, with at most ``most`` steps for each target; return the most that one took."""
        rows = TargetRows.of(X, numbers, weights, self._factors(classes, np.bincount(numbers, minlength=len(classes))))
        found, intercepts, steps = solve_rows(rows, float(self.alpha), self.fit_intercept, self.tol, most)
        self.__dict__.pop("_kept_sums", None)
        self.__dict__.pop("_kept_rows", None)
        self.classes_ = classes
        self._take(_attributes(found, intercepts, Choice(self.alpha, np.nan), steps, "sparse_cg"), (X,))
        return int(steps.max())

    def _is_iterated(self, X: Any, targets: int) -> bool:
        return isinstance(self.alpha, Real) and float(self.alpha) > 0 and is_iterated(X, targets)

    def _summed(self) -> dict[str, bool]:
        return {"pooled": self.class_weight is None}

    def _factors(self, classes: Array, rows: Array) -> Array | None:
        """Return the weight of each class; "balanced" counts its rows, whatever they weigh, as scikit-learn does."""
        if self.class_weight is None:
            return None
        return np.asarray(class_weights(self.class_weight, classes, rows))

    def _solve_wide(self, classes: Array, rows: tuple[Any, Array, Any]) -> dict[str, Any] | None:
        X, numbers, weights = rows
        exact = hasattr(X, "tocsr") and not isinstance(self.alpha, str) and np.min(self.alpha) <= 0
        if self.positive or exact:  # without a ridge, sums of sparse rows about zero have too few digits
            return None
        factors = self._factors(classes, np.bincount(numbers, minlength=len(classes)))
        targets = TargetRows.of(X, numbers, weights, factors)
        self._check_penalties(self.alpha, targets.aims.shape[1])
        if self._is_iterated(X, targets.aims.shape[1]):
            solved, intercepts, steps = solve_rows(
                targets, float(self.alpha), self.fit_intercept, NEARLY, self.max_iter
            )
            return _attributes(solved, intercepts, Choice(self.alpha, np.nan), steps, "sparse_cg")
        found = solve_ridge_wide(targets, self.alpha, self.fit_intercept)
        return _attributes(found.weights, found.intercepts, found.choice, 1, "cholesky")

    def _check_penalties(self, alpha: Any, size: int) -> None:
        if np.ndim(alpha) and len(alpha) != size:
            raise ValueError(f"alpha has {np.size(alpha)} penalties for {size} targets; pass one for each")

    def _solve(self, classes: Array, scatter: Scatter, rows: Any = None) -> dict[str, Any]:
        factors = self._factors(classes, scatter.class_rows)
        normal = normal_equations(scatter, factors, self.fit_intercept)
        choice = Choice(self.alpha, np.nan)
        if isinstance(self.alpha, str):
            choice = choose_penalty(normal, None if rows is None else TargetRows.of(rows[0], rows[1], rows[2], factors))
        alpha, size = choice.penalty, normal.cross.shape[1]
        self._check_penalties(alpha, size)
        found = (solve_positive if self.positive else solve)(normal, alpha)
        return _attributes(found, normal.intercepts(found), choice, 1, "cholesky")


def _attributes(found: Array, intercepts: Array, choice: Choice, steps: Any, solver: str) -> dict[str, Any]:
    """Name what was found; as in scikit-learn, a single target has flat weights."""
    single = found.shape[1] == 1
    return {
        "coef_": found[:, 0] if single else np.ascontiguousarray(found).T,  # by columns, for one sparse row
        "intercept_": intercepts,
        "alpha_": choice.penalty,
        "best_score_": -choice.error,
        "n_iter_": np.full(found.shape[1], steps),
        "solver_": solver,
    }
