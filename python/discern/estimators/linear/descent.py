"""Stochastic gradient descent, with scikit-learn's parameters and attributes."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import linear_model as sklearn_linear
from sklearn.utils import check_random_state

import discern._native as _native
from discern.data.encode import is_sparse, native_table
from discern.data.threads import default_threads
from discern.estimators.base import Array
from discern.estimators.checks import check_class_weight, squares_fit
from discern.estimators.linear.prediction import LinearPrediction

LOSSES = ("hinge", "squared_hinge", "log_loss", "modified_huber", "perceptron")
RATES = ("constant", "optimal", "invscaling", "adaptive")
SPARSE_INTERCEPT_DECAY = 0.01
"""scikit-learn's: with sparse rows the intercept would change far more often than any weight."""
LARGEST_SEED = np.iinfo(np.int32).max


class SGDClassifier(LinearPrediction, sklearn_linear.SGDClassifier):
    """Linear classification by stochastic gradient descent, as scikit-learn's ``SGDClassifier`` does, but faster.

    All parameters and attributes are scikit-learn's, and results are the same to rounding: rows come in the same order.
    One thing differs: the penalty in the objective, which decides when to stop, is that of all weights; scikit-learn
    takes those of the last row's columns, which is less for sparse rows. And ``partial_fit`` with an average goes on
    from the intercept where it stopped. Left to scikit-learn are 32-bit rows, early stopping, losses of regression, and
    ``verbose``. ``n_jobs`` has no effect; several classes are learned on all cores.

    Examples
    --------
    >>> model = SGDClassifier(random_state=0).fit([[-2.0], [-1.0], [1.0], [2.0]], ["no", "no", "yes", "yes"])
    >>> model.predict([[-3.0], [3.0]]).tolist()
    ['no', 'yes']
    """

    coef_: Array
    intercept_: Array
    _standard_coef: Array
    _standard_intercept: Array

    def _fit_binary(self, X: Any, y: Any, alpha: Any, sample_weight: Any, learning_rate: Any, max_iter: Any) -> None:
        if not self._is_native(X, learning_rate):
            super()._fit_binary(X, y, alpha, sample_weight, learning_rate, max_iter)
            return
        self._allocate_average(self.coef_.shape)
        weights = self._expanded_class_weight
        average = self.average > 0
        coef = self._standard_coef if average else self.coef_
        intercept = self._standard_intercept if average else self.intercept_
        states = [_state(coef, intercept, self._averages(), 0)]
        [found] = self._descend(
            X, y, alpha, sample_weight, learning_rate, max_iter, [1], [(weights[0], weights[1])],
            [_seed(self.random_state)], states,
        )  # fmt: skip
        coef, intercept = found[0].reshape(1, -1), np.array([found[2]])
        if average:
            self._standard_coef, self._standard_intercept = coef, intercept
            self._average_coef, self._average_intercept = found[1].reshape(1, -1), np.array([found[3]])
        self._finish(coef, intercept, found[4], X.shape[0])

    def _fit_multiclass(
        self, X: Any, y: Any, alpha: Any, learning_rate: Any, sample_weight: Any, max_iter: Any
    ) -> None:
        if not self._is_native(X, learning_rate):
            super()._fit_multiclass(X, y, alpha, learning_rate, sample_weight, max_iter)
            return
        self._allocate_average(self.coef_.shape)
        count, average = len(self.classes_), self.average > 0
        coef = self._standard_coef if average else self.coef_
        intercept = self._standard_intercept if average else self.intercept_
        seeds = check_random_state(self.random_state).randint(LARGEST_SEED, size=count)
        learned = self._descend(
            X, y, alpha, sample_weight, learning_rate, max_iter, list(range(count)),
            [(1.0, weight) for weight in self._expanded_class_weight], [_seed(seed) for seed in seeds],
            [_state(coef, intercept, self._averages(), place) for place in range(count)],
        )  # fmt: skip
        coef, intercept = np.stack([found[0] for found in learned]), np.array([found[2] for found in learned])
        if average:
            self._standard_coef, self._standard_intercept = coef, intercept
            self._average_coef = np.stack([found[1] for found in learned])
            self._average_intercept = np.array([found[3] for found in learned])
        self._finish(coef, intercept, max(found[4] for found in learned), X.shape[0])

    # ------------------------------------------------------------------------------------------------ the descent

    def _is_native(self, X: Any, learning_rate: str) -> bool:
        known = self.loss in LOSSES and learning_rate in RATES
        return known and X.dtype == np.float64 and not self.early_stopping and not self.verbose

    def _allocate_average(self, shape: tuple[int, int]) -> None:
        """Make room for averages where scikit-learn keeps them flat, or has none yet."""
        if self.average > 0:
            for name in ("_standard_coef", "_average_coef"):
                setattr(self, name, np.reshape(getattr(self, name), shape))

    def _averages(self) -> tuple[Array, Array] | None:
        return (self._average_coef, self._average_intercept) if self.average > 0 else None

    def _descend(
        self,
        X: Any,
        y: Any,
        alpha: float,
        sample_weight: Array,
        learning_rate: str,
        max_iter: int,
        positives: list[int],
        factors: list[tuple[float, float]],
        seeds: list[int],
        states: list[Any],
    ) -> list[Any]:
        ratios = {None: -1.0, "l2": 0.0, "l1": 1.0, "elasticnet": self.l1_ratio or 0.0}
        power = float(self.power_t)
        objective = (self.loss, float(alpha), float(ratios[self.penalty]), learning_rate, float(self.eta0), power)
        decay = SPARSE_INTERCEPT_DECAY if is_sparse(X) else 1.0
        tol = -np.inf if self.tol is None else float(self.tol)
        course = (
            bool(self.fit_intercept), decay, bool(self.shuffle), int(max_iter), tol, int(self.n_iter_no_change),
            int(self.average), float(self.t_),
        )  # fmt: skip
        check_class_weight(self.class_weight)
        if not squares_fit(X):
            raise _overflow(1)
        numbers = np.searchsorted(self.classes_, y).astype(np.int32)
        weights = np.ascontiguousarray(sample_weight, np.float64)
        learned = _native.descend(
            native_table(X, any_order=True), weights, numbers, positives,
            [(float(low), float(high)) for low, high in factors], objective, course, seeds, states, default_threads(),
        )  # fmt: skip
        over = [found[4] for found in learned if found[5]]
        if over:
            raise _overflow(over[0])
        return learned

    def _finish(self, coef: Array, intercept: Array, epochs: int, rows: int) -> None:
        """Name what was found as scikit-learn does."""
        self.t_ += epochs * rows
        self.n_iter_ = epochs
        averaged = 0 < self.average <= self.t_ - 1
        self.coef_ = self._average_coef if averaged else coef
        self.intercept_ = self._average_intercept if averaged else intercept


def _overflow(epoch: int) -> ValueError:
    return ValueError(
        f"Floating-point under-/overflow occurred at epoch #{epoch}. Scaling input data with StandardScaler or "
        "MinMaxScaler might help."
    )


def _seed(random_state: Any) -> int:
    """Return the seed that scikit-learn shuffles with: its data set draws a number of its own before."""
    generator = check_random_state(random_state)
    generator.randint(1, LARGEST_SEED)
    return int(generator.randint(LARGEST_SEED))


def _state(coef: Array, intercept: Array, averages: tuple[Array, Array] | None, place: int) -> tuple[Any, ...]:
    flat = np.ascontiguousarray(np.atleast_2d(coef)[place], np.float64)
    if averages is None:
        return flat, np.empty(0), float(intercept[place]), 0.0
    own = np.ascontiguousarray(np.atleast_2d(averages[0])[place], np.float64)
    return flat, own, float(intercept[place]), float(averages[1][place])
