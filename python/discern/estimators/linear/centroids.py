"""The basic linear classifier: the nearest centroid, as a scikit-learn classifier."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from discern.data.encode import is_sparse
from discern.estimators.base import NOTHING_LEFT, Array, BaseClassifier, begin_merge
from discern.estimators.checks import refuse_huge, row_weights
from discern.estimators.rows import check_fitted, checked_rows
from discern.learners.centers import Centers, KernelCenters
from discern.learners.kernels.machines import Kernel


@dataclass(eq=False, repr=False, kw_only=True)
class BasicLinearClassifier(BaseClassifier):
    """A class is the center of its rows; a row belongs to the nearest center.

    For two classes this is linear: w = p − n, t = (‖p‖² − ‖n‖²)/2, and a row with w·x ≥ t is of the second. Ties
    between more classes go to the first. Models merge and forget: without a kernel in sums, with one in rows.

    Parameters
    ----------
    kernel : {"linear", "poly", "rbf", "sigmoid"} or None
        Centers in the space of the kernel; all rows are kept for it.
    gamma, degree, coef0
        Numbers of the kernel; ``gamma`` None is 1/columns.

    Attributes
    ----------
    centroids_ : array of classes × columns, without a kernel
    coef_, intercept_ : weights and −t; of each class for more than two
    class_count_ : rows of each class, by weight

    Examples
    --------
    >>> model = BasicLinearClassifier().fit([[0, 0], [2, 0], [5, 5]], ["low", "low", "high"])
    >>> model.centroids_.tolist(), model.predict([[1, 1]]).tolist()
    ([[5.0, 5.0], [1.0, 0.0]], ['low'])
    >>> model.forget([[2, 0]], ["low"]).centroids_.tolist()
    [[5.0, 5.0], [0.0, 0.0]]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kernel": [StrOptions({"linear", "poly", "rbf", "sigmoid"}), None],
        "gamma": [Interval(Real, 0.0, None, closed="neither"), None],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
    }
    _input_tags: ClassVar[dict[str, bool]] = {"sparse": True}
    _statistics: Centers | KernelCenters = field(init=False)

    kernel: str | None = None
    gamma: float | None = None
    degree: int = 3
    coef0: float = 0.0

    # ------------------------------------------------------------------------------------------------- learn

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows, forgetting everything learned before."""
        self.__dict__.pop("classes_", None)
        return self.partial_fit(X, y, sample_weight=sample_weight)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows. New labels are accepted; ``classes`` may announce some beforehand."""
        self._validate_params()
        first = not hasattr(self, "classes_")
        X, y = self._validated(X, y, reset=first)
        check_classification_targets(y)
        named = np.unique(y) if classes is None else np.union1d(classes, y)
        every = named if first else np.union1d(self.classes_, named)
        added = self._sums(X, y, every, sample_weight)
        total: Any = added if first else self._on(self._statistics, self.classes_, every) + added
        return self._solve(total, every)

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget rows. Up to rounding, the model equals one that never saw them."""
        check_is_fitted(self)
        X, y = self._validated(X, y, reset=False)
        self._check_known(y)
        left: Any = self._statistics - self._sums(X, y, self.classes_, sample_weight)  # type: ignore[operator]
        present = self._counts(left) > 0
        if not present.any():
            raise ValueError(NOTHING_LEFT)
        return self._solve(self._on(left, self.classes_, self.classes_[present]), self.classes_[present])

    def merge(self, other: Self) -> Self:
        """Return a new model that has learned the rows of both."""
        merged: Self = begin_merge(self, other)
        every = np.union1d(self.classes_, other.classes_)
        parts: Any = [part._on(part._statistics, part.classes_, every) for part in (self, other)]
        return merged._solve(parts[0] + parts[1], every)

    def _validated(self, X: Any, *y: Any, reset: bool = True) -> Any:
        rules: dict[str, Any] = {"accept_sparse": "csr", "dtype": np.float64}
        checked = validate_data(self, X, *y, reset=reset, **rules) if y or reset else checked_rows(self, X, **rules)
        refuse_huge(checked[0] if y else checked)
        return checked

    def _sums(self, X: Any, y: Array, classes: Array, sample_weight: Any) -> Centers | KernelCenters:
        given = row_weights(sample_weight, X, ensure_non_negative=True)
        weights = np.ones(len(y)) if given is None else given
        numbers = np.searchsorted(classes, y)
        if self.kernel is None:
            return Centers.of(X, numbers, len(classes), weights)
        used = weights > 0
        return KernelCenters(X[used], numbers[used], weights[used])

    def _on(self, statistics: Any, classes: Array, every: Array) -> Any:
        """Return the statistics with their classes numbered as in ``every``."""
        if isinstance(statistics, KernelCenters):
            numbers = np.searchsorted(every, classes[statistics.classes])
            return KernelCenters(statistics.table, numbers, statistics.weights)
        known = np.isin(classes, every)
        left = Centers(statistics.counts[known], statistics.sums[known])
        return left.with_classes(np.searchsorted(every, classes[known]), len(every))

    def _counts(self, statistics: Centers | KernelCenters) -> Array:
        if isinstance(statistics, Centers):
            return statistics.counts
        return np.bincount(statistics.classes, statistics.weights, len(self.classes_))

    # ------------------------------------------------------------------------------------------------- solve

    @property
    def _kernel(self) -> Kernel:
        gamma = 1.0 / self.n_features_in_ if self.gamma is None else self.gamma
        return Kernel(self.kernel or "linear", gamma, self.coef0, self.degree)

    def _solve(self, statistics: Centers | KernelCenters, classes: Array) -> Self:
        self._statistics, self.classes_ = statistics, classes
        self.class_count_ = self._counts(statistics)
        if isinstance(statistics, Centers):
            self.centroids_, bias = statistics.linear()
            self.coef_, self.intercept_ = self.centroids_, bias
            if len(classes) == 2 and np.isfinite(bias).all():
                self.coef_, self.intercept_ = self.centroids_[1:] - self.centroids_[:1], bias[1:] - bias[:1]
        else:
            self._coefficients, self._biases = statistics.linear(len(classes), self._kernel)
        return self

    def _class_scores(self, X: Any) -> Array:
        if isinstance(self._statistics, Centers):
            weights, bias = self._statistics.linear()
            return np.asarray(X @ weights.T + bias)
        rows = self._statistics.table
        if is_sparse(X) != is_sparse(rows):
            X = X.toarray() if is_sparse(X) else scipy.sparse.csr_array(X)
        return np.asarray(self._kernel.sums(X, rows, self._coefficients) + self._biases)

    def decision_function(self, X: Any) -> Array:
        """Return w·x − t for two classes; for more, the score φ(x)·c − ½‖c‖² of each, largest for the nearest."""
        check_fitted(self)
        scores = self._class_scores(self._validated(X, reset=False))
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict(self, X: Any) -> Array:
        """Return the class of the nearest center."""
        scores = self.decision_function(X)
        numbers = (scores >= 0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[numbers])
