"""Perceptron and Winnow, with scikit-learn's parameters and attributes where it has them."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import binarize
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Hidden, Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from discern.data.encode import each_column_once, is_sparse
from discern.estimators.checks import class_weights, classes_of, refuse_unfit
from discern.estimators.kernel import gamma_of
from discern.learners.kernel import Kernel
from discern.learners.perceptron import (
    BalancedWinnowRule,
    Lesson,
    OnlineSettings,
    Outcome,
    PerceptronRule,
    Rule,
    State,
    WinnowRule,
    achieved_margin,
    learn,
    learn_with_kernel,
    novikoff_bound,
)

Array = NDArray[Any]
SPARSE_BIAS_RATE = 0.01
"""Numbers in sparse rows are small and few: beside them a bias that learned as fast would swing."""


class _Online(ClassifierMixin, BaseEstimator):
    """What learners that see one row after another share: classes, one against the rest, epochs and batches."""

    max_iter: int
    tol: float | None
    shuffle: bool
    random_state: Any
    n_iter_no_change: int
    error_share: float
    classes_: Array
    _states: list[State]
    _dtype: ClassVar[Any] = np.float64

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left"), None],
        "shuffle": ["boolean"],
        "random_state": ["random_state"],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "error_share": [Interval(Real, 0, 1, closed="both")],
    }

    # ------------------------------------------------------------------------------------------------- learn

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows, forgetting everything learned before."""
        return self._fit(X, y, sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: Any, start: Any = None) -> Self:
        self._validate_params()
        X, y = self._validated(X, y)
        classes = classes_of(y)
        weights = _weights(sample_weight, X)
        self.classes_ = classes
        self._begin(X, weights)
        if start is not None:
            self._states = start
        self._learn(X, y, weights, self._settings())
        self._report(X, y, weights)
        if not self.converged_.all():
            warnings.warn(
                "Maximum number of iteration reached before convergence. Consider increasing max_iter to improve the "
                "fit.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Show these rows once more or for the first time; all classes must be known by the first batch.

        What is learned depends on the order of the batches, and within one only if ``shuffle`` is off.
        """
        self._validate_params()
        first = not hasattr(self, "classes_")
        X, y = self._validated(X, y, reset=first)
        present = classes_of(y)
        weights = _weights(sample_weight, X)
        if first:
            self.classes_ = present if classes is None else np.unique(classes)
            self._begin(X, weights)
        elif classes is not None and not np.array_equal(self.classes_, np.unique(classes)):
            raise ValueError(f"`classes={classes!r}` is not the same as on last call to partial_fit")
        unknown = np.setdiff1d(present, self.classes_)
        if len(unknown):
            raise ValueError(f"the label {unknown[0]!r} is new: name all classes in the first partial_fit")
        self._learn(X, y, weights, self._settings(epochs=1))
        return self

    def _settings(self, epochs: int | None = None) -> OnlineSettings:
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        batches = getattr(self, "_batches", 0)  # another order for each batch
        return OnlineSettings(
            epochs or self.max_iter,
            self.tol,
            self.n_iter_no_change,
            self.error_share,
            self.shuffle,
            seed + (batches << 32),
        )

    def _lesson(self, X: Any, y: Array, weights: Array | None, own: Array) -> Lesson:
        width = len(self.classes_)
        positives = [1] if width == 2 else list(range(width))
        mean = [float(np.delete(own, positive).mean()) if width == 2 else 1.0 for positive in positives]
        factors = [(other, float(own[positive])) for other, positive in zip(mean, positives, strict=True)]
        return Lesson(X, np.searchsorted(self.classes_, y), weights, positives, factors)

    def _begin(self, X: Any, weights: Array | None) -> None:
        rule = self._rule(X.shape[1])
        self._batches = 0
        self._states = [rule.start(X.shape[1]) for _ in range(self._learners)]
        self._outcomes = [Outcome(0, 0, 0, 1.0, False)] * self._learners

    @property
    def _learners(self) -> int:
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _learn(self, X: Any, y: Array, weights: Array | None, settings: OnlineSettings) -> None:
        rule = self._rule(X.shape[1])
        lesson = self._lesson(X, y, weights, self._class_weights(y, weights))
        try:
            learned = learn(lesson, rule, self._states, settings)
        except ValueError:
            refuse_unfit(X, self)  # says more
            raise
        self._states = [state for state, _ in learned]
        lines = [rule.linear(state) for state in self._states]
        self.coef_ = np.array([weights for weights, _ in lines])
        self.intercept_ = np.array([bias for _, bias in lines])
        self._count([outcome for _, outcome in learned])

    def _count(self, outcomes: list[Outcome]) -> None:
        before = self._outcomes
        pairs = list(zip(before, outcomes, strict=True))
        self._outcomes = [
            Outcome(old.promotions + new.promotions, old.demotions + new.demotions, *_rest(old, new))
            for old, new in pairs
        ]
        self._batches += 1
        self.n_updates_ = np.array([outcome.updates for outcome in self._outcomes])
        self.n_promotions_ = np.array([outcome.promotions for outcome in self._outcomes])
        self.n_demotions_ = np.array([outcome.demotions for outcome in self._outcomes])
        self.n_iter_ = max(outcome.epochs for outcome in self._outcomes)
        self.error_share_ = np.array([outcome.error_share for outcome in self._outcomes])
        self.converged_ = np.array([outcome.converged for outcome in self._outcomes])

    def _class_weights(self, y: Array, weights: Array | None) -> Array:
        return np.ones(len(self.classes_))

    def _validated(self, X: Any, *y: Any, reset: bool = True) -> Any:
        checked = validate_data(
            self, X, *y, accept_sparse="csr", dtype=self._dtype, reset=reset, ensure_all_finite=False
        )
        if not (is_sparse(X) and self._checks_when_learning and y):
            refuse_unfit(checked[0] if y else checked, self)
        return checked

    @property
    def _checks_when_learning(self) -> bool:
        """Return whether the numbers of sparse rows need no check before those of the learner itself."""
        return False

    def _rule(self, columns: int) -> Rule:
        raise TypeError("each learner has its own rule")

    def _report(self, X: Any, y: Array, weights: Array | None) -> None:
        """Describe what was found; nothing by default."""

    # ----------------------------------------------------------------------------------------------- predict

    def decision_function(self, X: Any) -> Array:
        """Return the score of each class, or of the second of two."""
        check_is_fitted(self)
        scores = self._scores(self._validated(X, reset=False))
        return scores.ravel() if self._learners == 1 and len(self.classes_) == 2 else scores

    def _scores(self, X: Any) -> Array:
        return np.asarray(X @ self.coef_.T + self.intercept_)

    def predict(self, X: Any) -> Array:
        """Return the class of each row: of two the second if the score is at least 0, of more the first of the best."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.asarray(self.classes_[(scores >= 0).astype(np.int64)])
        return np.asarray(self.classes_[scores.argmax(axis=1)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _weights(sample_weight: Any, X: Any) -> Array | None:
    if sample_weight is None:
        return None
    return np.asarray(_check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True))


def _rest(old: Outcome, new: Outcome) -> tuple[int, float, bool]:
    return old.epochs + new.epochs, new.error_share, new.converged


class Perceptron(_Online):
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
        **_Online._parameter_constraints,
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

    def __init__(
        self,
        *,
        penalty: str | None = None,
        alpha: float = 0.0001,
        l1_ratio: float = 0.15,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        verbose: int = 0,
        eta0: float = 1.0,
        n_jobs: int | None = None,
        random_state: Any = 0,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        class_weight: Any = None,
        warm_start: bool = False,
        error_share: float = 0.0,
        average: bool = False,
        kernel: str | None = None,
        gamma: str | float = "scale",
        degree: int = 3,
        coef0: float = 0.0,
    ) -> None:
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.verbose = verbose
        self.eta0 = eta0
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.error_share = error_share
        self.average = average
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0

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
        """Stop when rows kept apart are not judged better for some epochs."""
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


class _Multiplying(_Online):
    """What Winnow and balanced Winnow share: features that are there or not."""

    factor: float
    threshold: float | None
    binarize: float | None
    _dtype = "numeric"  # counts need not become other numbers

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **_Online._parameter_constraints,
        "factor": [Interval(Real, 1, None, closed="neither")],
        "threshold": [Interval(Real, None, None, closed="neither"), None],
        "binarize": [Interval(Real, None, None, closed="neither"), None],
    }

    def _validated(self, X: Any, *y: Any, reset: bool = True) -> Any:
        checked = super()._validated(X, *y, reset=reset)
        table, rest = (checked[0], checked[1:]) if y else (checked, ())
        table = each_column_once(table) if is_sparse(table) else table
        if self.binarize is not None:
            table = _cut(table, self.binarize)
        elif not np.isin(table.data if is_sparse(table) else table, (0.0, 1.0)).all():
            raise ValueError("Winnow takes features that are 0 or 1: give `binarize` to cut others")
        return (table, *rest) if y else table

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags


def _cut(table: Any, threshold: float) -> Any:
    """Return 1 for values above a threshold, 0 for others; sparse rows without others need not be searched again."""
    if is_sparse(table) and threshold >= 0 and (table.data > threshold).all():
        return type(table)((np.ones(len(table.data)), table.indices, table.indptr), shape=table.shape)
    return binarize(table, threshold=threshold)


class Winnow(_Multiplying):
    """Winnow (Littlestone 1988) on features that are 0 or 1: weights from 1, doubled or halved on a mistake.

    Learns a disjunction of k features out of n with a number of mistakes that grows as k log n: at most
    4 + 3k(1 + log₂(n/2)) with the factor 2 and the threshold n/2. A score, Σ w − threshold, of 0 is a mistake in
    training; in prediction it is the second class. More classes are learned one against the rest; ties go to the first.

    The order: with ``shuffle`` (the default) the result depends on the rows and on ``random_state``, and not on the
    order in which rows are given; without it they are shown as given. Batches of ``partial_fit`` depend on their order.
    A row of weight 3 is shown three times in a row.

    Parameters
    ----------
    factor : float
        By how much weights are multiplied on a missed positive, divided on a false positive.
    threshold : float or None
        By default half the number of features.
    binarize : float or None
        Values above this are 1, the others 0; None requires that they are 0 or 1.
    error_share : float
        Stop after an epoch with at most this share of mistakes.
    tol, n_iter_no_change
        Stop when the share of mistakes has not fallen by ``tol`` for so many epochs.

    Attributes
    ----------
    n_updates_, n_promotions_, n_demotions_ : arrays
        Mistakes in training; those on positives, those on negatives.

    Examples
    --------
    >>> X, y = [[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 1]], [0, 1, 1, 1]
    >>> model = Winnow().fit(X, y)
    >>> model.predict(X).tolist(), model.coef_.tolist()
    ([0, 1, 1, 1], [[2.0, 2.0, 1.0]])
    """

    def __init__(
        self,
        *,
        factor: float = 2.0,
        threshold: float | None = None,
        binarize: float | None = 0.0,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        n_iter_no_change: int = 5,
        error_share: float = 0.0,
        shuffle: bool = True,
        random_state: Any = 0,
    ) -> None:
        self.factor = factor
        self.threshold = threshold
        self.binarize = binarize
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.error_share = error_share
        self.shuffle = shuffle
        self.random_state = random_state

    def _rule(self, columns: int) -> WinnowRule:
        return WinnowRule(self.factor, columns / 2 if self.threshold is None else self.threshold)


class BalancedWinnow(_Multiplying):
    """Winnow with two weights a feature, w⁺ and w⁻, moved in opposite directions: it can speak against a class too.

    The score is Σ (w⁺ − w⁻) − threshold over the features present. ``fit_intercept`` adds one that is always there.
    Parameters, attributes and what is said of the order are those of :class:`Winnow`.

    Examples
    --------
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [1, 1, 1, 0]
    >>> BalancedWinnow().fit(X, y).predict(X).tolist()
    [1, 1, 1, 0]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **_Multiplying._parameter_constraints,
        "fit_intercept": ["boolean"],
    }

    def __init__(
        self,
        *,
        factor: float = 1.5,
        threshold: float | None = 1.0,
        fit_intercept: bool = True,
        binarize: float | None = 0.0,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        n_iter_no_change: int = 5,
        error_share: float = 0.0,
        shuffle: bool = True,
        random_state: Any = 0,
    ) -> None:
        self.factor = factor
        self.threshold = threshold
        self.fit_intercept = fit_intercept
        self.binarize = binarize
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.error_share = error_share
        self.shuffle = shuffle
        self.random_state = random_state

    def _rule(self, columns: int) -> BalancedWinnowRule:
        return BalancedWinnowRule(self.factor, 1.0 if self.threshold is None else self.threshold, self.fit_intercept)
