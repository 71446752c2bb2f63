"""The perceptron, with scikit-learn's parameters and attributes where it has them."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse
from sklearn.model_selection import train_test_split
from sklearn.utils._param_validation import Hidden, Interval, StrOptions

from discern.data.encode import is_sparse
from discern.estimators.base import Array
from discern.estimators.checks import class_weights
from discern.estimators.kernel import gamma_of
from discern.estimators.linear.online import OnlineClassifier
from discern.learners.kernels.machines import Kernel
from discern.learners.perceptron import (
    OnlineSettings,
    PerceptronRule,
    State,
    achieved_margin,
    learn_with_kernel,
    novikoff_bound,
)

SPARSE_BIAS_RATE = 0.01
"""Numbers in sparse rows are small and few: beside them a bias that learned as fast would swing."""


@dataclass(eq=False, repr=False, kw_only=True)
class Perceptron(OnlineClassifier):
    """The perceptron: w ← w + rate·y·x on every mistake; averaged, or with a kernel, if so wished.

    Parameters and attributes are scikit-learn's, with these additions and differences.

    The order: with ``shuffle`` (the default) the result depends on the rows and on ``random_state``, and not at all on
    the order in which the rows are given. Without it rows are shown as given, and dense rows give scikit-learn's
    weights. Batches of ``partial_fit`` always depend on their order.

    Weights: a row of weight 3 is shown three times in a row, so that weights are repetitions; scikit-learn makes one
    step of three times the length.

    The intercept of sparse rows moves a hundred times slower than the weights, as scikit-learn has it: it is the weight
    of a column of 0.1, that of dense rows the weight of a column of 1.

    A score of 0 is a mistake in training; in prediction it is the second class.

    Parameters
    ----------
    eta0 : float
        The rate r.
    error_share : float
        Stop after an epoch with at most this share of mistakes (γ).
    average : bool
        Use the mean of the weights after each row shown, not the last ones.
    kernel : {"linear", "poly", "rbf", "sigmoid"} or None
        Score by Σ coefficient κ(x, s) over the rows s on which mistakes were made. Without intercept.
    gamma, degree, coef0
        Numbers of the kernel, as for ``SVC``.

    Attributes
    ----------
    n_updates_ : array
        The mistakes made in training, of each learner: one for two classes, else one a class against the rest.
    margin_ : array
        If the learner separates all rows, the distance of the nearest from the boundary (bias folded in), else NaN.
    update_bound_ : array
        Novikoff's bound (R/γ)² on ``n_updates_``, from that margin; NaN without one.
    error_share_ : array
        The share of mistakes in the last epoch.
    converged_ : array
        Whether it stopped by itself and not at ``max_iter``.

    Examples
    --------
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    >>> Perceptron(kernel="poly", degree=2, coef0=1.0, gamma=1.0).fit(X, y).predict(X).tolist()
    [0, 1, 1, 0]
    >>> model = Perceptron(eta0=0.1).fit(X, [0, 1, 1, 1])
    >>> model.predict(X).tolist(), bool(model.n_updates_[0] <= model.update_bound_[0])
    ([0, 1, 1, 1], True)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **OnlineClassifier._parameter_constraints,
        "penalty": [StrOptions({"l2", "l1", "elasticnet"}), None],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
        "fit_intercept": ["boolean"],
        "verbose": [Interval(Integral, 0, None, closed="left"), Hidden("boolean")],
        "eta0": [Interval(Real, 0, None, closed="neither")],
        "n_jobs": [Integral, None],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "warm_start": ["boolean"],
        "average": ["boolean"],
        "kernel": [StrOptions({"linear", "poly", "rbf", "sigmoid"}), None],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="left")],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
    }

    penalty: str | None = None
    alpha: float = 0.0001
    l1_ratio: float = 0.15
    fit_intercept: bool = True
    verbose: int = 0
    eta0: float = 1.0
    n_jobs: int | None = None
    early_stopping: bool = False
    validation_fraction: float = 0.1
    class_weight: Any = None
    warm_start: bool = False
    average: bool = False
    kernel: str | None = None
    gamma: str | float = "scale"
    degree: int = 3
    coef0: float = 0.0

    def fit(  # type: ignore[override]
        self, X: Any, y: Any, coef_init: Any = None, intercept_init: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn from rows; from given weights, if there are any."""
        if self.average and self.penalty is not None:
            raise ValueError("average=True and a penalty cannot be combined: choose one of them")
        if self.kernel is not None and (self.average or self.penalty is not None or self.early_stopping):
            raise ValueError("a kernel cannot be combined with average, penalty or early_stopping")
        warm = self.warm_start and self.kernel is None and hasattr(self, "coef_") and coef_init is None
        coef, intercept = (self.coef_, self.intercept_) if warm else (coef_init, intercept_init)
        return self._fit(X, y, sample_weight, self._start(coef, intercept))

    def _start(self, coef: Any, intercept: Any) -> list[State] | None:
        if coef is None:
            return None
        lines = np.atleast_2d(np.asarray(coef, np.float64))
        biases = np.zeros(len(lines)) if intercept is None else np.atleast_1d(np.asarray(intercept, np.float64))
        empty = np.zeros(lines.shape[1] if self.average else 0)
        return [State(line, float(bias), empty) for line, bias in zip(lines, biases, strict=True)]

    def _rule(self, columns: int) -> PerceptronRule:
        l1 = {None: 0.0, "l2": 0.0, "l1": 1.0, "elasticnet": self.l1_ratio}[self.penalty]
        strength = 0.0 if self.penalty is None else self.eta0 * self.alpha
        return PerceptronRule(self.eta0, self._bias_rate, self.average, (1 - l1) * strength, l1 * strength)

    def _class_weights(self, y: Array, weights: Array | None) -> Array:
        if self.class_weight is None:
            return np.ones(len(self.classes_))
        masses = np.bincount(np.searchsorted(self.classes_, y), weights, len(self.classes_))
        return np.asarray(class_weights(self.class_weight, self.classes_, masses))

    def _begin(self, X: Any, weights: Array | None) -> None:
        self._bias_rate = (SPARSE_BIAS_RATE if is_sparse(X) else 1.0) if self.fit_intercept else 0.0
        super()._begin(X, weights)
        if self.kernel is not None:
            self._gamma = gamma_of(self.gamma, X, weights)
            self.support_vectors_ = X[:0]
            self.dual_coef_ = np.zeros((self._learners, 0))

    # ------------------------------------------------------------------------------------------------- learn

    @property
    def _checks_when_learning(self) -> bool:
        return self.kernel is None and not self.early_stopping

    def _learn(self, X: Any, y: Array, weights: Array | None, settings: OnlineSettings) -> None:
        if self.kernel is not None:
            self._learn_with_kernel(X, y, weights, settings)
        elif self.early_stopping and settings.epochs > 1:
            self._learn_until_no_better(X, y, weights, settings)
        else:
            super()._learn(X, y, weights, settings)

    def _learn_until_no_better(self, X: Any, y: Array, weights: Array | None, settings: OnlineSettings) -> None:
        """Stop when validation rows are not classified better for some epochs."""
        rows = np.arange(len(y))
        train, test = train_test_split(
            rows, test_size=self.validation_fraction, stratify=y, random_state=settings.seed % 2**31
        )
        best, stale = -np.inf, 0
        for _ in range(settings.epochs):
            super()._learn(X[train], y[train], None if weights is None else weights[train], self._settings(1))
            score = float((self.predict(X[test]) == y[test]).mean())
            stale = stale + 1 if score <= best + (self.tol or 0.0) else 0
            best = max(best, score)
            if stale >= self.n_iter_no_change:
                self.converged_[:] = True
                return

    @property
    def _kernel(self) -> Kernel:
        return Kernel(self.kernel or "linear", getattr(self, "_gamma", 1.0), self.coef0, self.degree)

    def _learn_with_kernel(self, X: Any, y: Array, weights: Array | None, settings: OnlineSettings) -> None:
        lesson = self._lesson(X, y, weights, self._class_weights(y, weights))
        starts = self._scores(X).T
        learned = learn_with_kernel(lesson, self.eta0, self._kernel, [start.copy() for start in starts], settings)
        lines = np.array([coefficients for coefficients, _ in learned])
        used = lines.any(axis=0)
        both = [self.support_vectors_, X[used]]
        self.support_vectors_ = scipy.sparse.csr_array(scipy.sparse.vstack(both)) if is_sparse(X) else np.vstack(both)
        self.dual_coef_ = np.hstack([self.dual_coef_, lines[:, used]])
        self._count([outcome for _, outcome in learned])

    def _rows_to_score(self, X: Any) -> Any:
        return super()._rows_to_score(X) if self.kernel is None else None

    def _scores(self, X: Any) -> Array:
        if self.kernel is None:
            return super()._scores(X)
        support = self.support_vectors_
        if is_sparse(X) != is_sparse(support):
            X = X.toarray() if is_sparse(X) else scipy.sparse.csr_array(X)
        return self._kernel.sums(X, support, self.dual_coef_)

    # ------------------------------------------------------------------------------------------------ report

    def _report(self, X: Any, y: Array, weights: Array | None) -> None:
        """Measure the margins of learners that separate all rows, and Novikoff's bound."""
        self.margin_ = np.full(self._learners, np.nan)
        self.update_bound_ = self.margin_.copy()
        if self.error_share_.min() > 0:  # after an epoch with mistakes there is no separator to measure
            return
        counted = slice(None) if weights is None else weights > 0
        scores = self._scores(X)[counted]
        classes = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        signs = np.where(y[counted][:, None] == classes, 1.0, -1.0)
        longest = float(np.sqrt((self._kernel.diagonal(X)[counted] + self._folded).max()))
        self.margin_ = np.array(
            [achieved_margin(scores[:, k], signs[:, k], norm) for k, norm in enumerate(self._norms())]
        )
        self.update_bound_ = novikoff_bound(longest, self.margin_)

    @property
    def _folded(self) -> float:
        """What the column of the bias adds to the square of a row's length."""
        return self._bias_rate if self.kernel is None else 0.0

    def _norms(self) -> Array:
        if self.kernel is None:
            return np.asarray(np.sqrt((self.coef_**2).sum(axis=1) + self.intercept_**2 / (self._bias_rate or 1.0)))
        outputs = self._kernel.sums(self.support_vectors_, self.support_vectors_, self.dual_coef_)
        return np.asarray(np.sqrt(np.maximum(np.einsum("ks,sk->k", self.dual_coef_, outputs), 0.0)))
