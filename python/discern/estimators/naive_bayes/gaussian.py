"""Naive Bayes on tables of numbers, with scikit-learn's parameters and attributes."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import assert_all_finite, check_is_fitted, validate_data

import discern._native as _native
from discern.data.encode import EncodedLabels
from discern.data.threads import default_threads
from discern.estimators.base import Array, begin_merge
from discern.estimators.checks import numbered, refuse_huge, summable_weights
from discern.estimators.naive_bayes.base import NaiveBayesClassifier, remaining
from discern.estimators.rows import check_fitted, checked_rows
from discern.statistics.moments import Moments


@dataclass(eq=False, repr=False, kw_only=True)
class GaussianNB(NaiveBayesClassifier):
    """Gaussian naive Bayes: a normal density for each class and column.

    Parameters and attributes are scikit-learn's. What differs: the variances come from sums about a pivot, so that
    ``partial_fit`` in any batches gives what ``fit`` gives, and models can ``merge`` and ``forget``; and the floor
    ``epsilon_`` follows all data seen, not the last batch. As in scikit-learn, it is a share of the largest variance of
    a column over the rows, whatever they weigh. Take rows back with the weights with which they were learned.

    Examples
    --------
    >>> model = GaussianNB().fit([[1.0], [2.0], [8.0], [9.0]], ["low", "low", "high", "high"])
    >>> model.predict([[3.0]]).tolist()
    ['low']
    >>> model.forget([[9.0]], ["high"]).theta_.tolist()
    [[8.0], [1.5]]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "priors": ["array-like", None],
        "var_smoothing": [Interval(Real, 0, None, closed="left")],
    }
    priors: Any = None
    var_smoothing: float = 1e-9
    _moments: Moments = field(init=False)
    _unweighted: Moments | None = field(init=False, default=None)
    """The sums of all rows as if each had the weight 1, once some have another; else they are those of ``_moments``."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows, forgetting everything learned before."""
        self._validate_params()
        with self._all_or_nothing():
            self.__dict__.pop("classes_", None)
            self.__dict__.pop("_unweighted", None)
            return self._learn(X, y, sample_weight, None)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows. New labels are accepted; ``classes`` may announce some beforehand."""
        self._validate_params()
        with self._all_or_nothing():
            return self._learn(X, y, sample_weight, classes)

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget rows. Up to rounding, the model equals one that never saw them."""
        check_is_fitted(self)
        X, y = self._validated(X, y, sample_weight, reset=False)
        moments, class_count = self._sums(X, self._known(y), self.classes_, sample_weight)
        unweighted = self._spread() - _unweighted(X, moments, sample_weight)
        rest, left = self._moments - moments, self.class_count_ - class_count
        present = remaining(float(self.class_count_.max()), left)
        with self._all_or_nothing():
            self.classes_, self.class_count_ = self.classes_[present], left[present]
            self._moments = rest.of_classes(present)
            if self._unweighted is not None or sample_weight is not None:
                self._unweighted = unweighted
            self._solve()
        return self

    def merge(self, other: Self) -> Self:
        """Return a new model that has learned the rows of both."""
        merged: Self = begin_merge(self, other)
        for part in (self, other):
            merged._add(part._moments, part.class_count_, part.classes_)
        if self._unweighted is not None or other._unweighted is not None:
            merged._unweighted = self._spread() + other._spread()
        merged._solve()
        return merged

    def _rows(self, X: Any) -> Array:
        check_fitted(self)
        return np.ascontiguousarray(checked_rows(self, X, dtype=np.float64))

    def _joint(self, X: Array, probabilities: bool = False) -> Array:
        scales = 0.5 / self.var_
        levels = -0.5 * np.log(2.0 * np.pi * self.var_)
        with np.errstate(divide="ignore"):  # a class may have been named before it came
            bias = np.log(self.class_prior_)
        means = np.ascontiguousarray(self.theta_)
        return _native.normal_scores(X, means, scales, levels, bias, default_threads(), probabilities)

    def _posterior(self, X: Array) -> Array:
        return self._joint(X, probabilities=True)

    # ------------------------------------------------------------------------------------------------ sums

    def _learn(self, X: Any, y: Any, sample_weight: Any, named: Any) -> Self:
        X, y = self._validated(X, y, sample_weight, reset=not hasattr(self, "classes_"))
        labels = numbered(y)
        sums = self._sums(X, labels, labels.distinct, sample_weight)
        if self._unweighted is not None or sample_weight is not None:
            added = _unweighted(X, sums[0], sample_weight)
            self._unweighted = self._spread() + added if hasattr(self, "classes_") else added
        if named is not None:
            self._add(None, np.zeros(len(np.unique(named))), np.unique(named))
        self._add(*sums, labels.distinct)
        self._solve()
        return self

    def _validated(self, X: Any, y: Any, sample_weight: Any, reset: bool) -> Any:
        # Without weights, the sums show whether every number is finite: the table is read once and not twice.
        finite = sample_weight is not None
        return validate_data(self, X, y, reset=reset, dtype=np.float64, ensure_all_finite=finite)

    def _sums(self, X: Array, labels: EncodedLabels, classes: Array, sample_weight: Any) -> tuple[Moments, Array]:
        weights = summable_weights(sample_weight, X)
        class_count = labels.class_counts(classes, weights)
        with np.errstate(invalid="ignore", over="ignore"):  # infinities are looked for below
            moments = Moments.of(X, labels.within(classes), len(classes), weights)
        complete = weights is not None or bool((moments.counts == class_count[:, None]).all())
        if not (complete and np.isfinite(moments.second).all()):
            assert_all_finite(X, estimator_name=type(self).__name__, input_name="X")
            refuse_huge(X)
        return moments, class_count

    def _add(self, moments: Moments | None, class_count: Array, classes: Array) -> None:
        if not hasattr(self, "classes_"):
            self.classes_, self.class_count_ = classes[:0], class_count[:0]
        every = np.union1d(self.classes_, classes) if len(self.classes_) else classes
        mine, theirs = np.searchsorted(every, self.classes_), np.searchsorted(every, classes)
        total = np.zeros(len(every))
        total[mine] += self.class_count_
        total[theirs] += class_count
        if moments is None:
            moments = Moments(
                *(np.zeros(shape) for shape in [self.n_features_in_, *[(len(classes), self.n_features_in_)] * 3])
            )
        added = moments.with_classes(theirs, len(every))
        known = self.__dict__.get("_moments") if len(self.classes_) else None
        has_values = known is not None and bool(known.counts.any())
        self._moments = known.with_classes(mine, len(every)) + added if known is not None and has_values else added
        self.classes_, self.class_count_ = every, total

    def _spread(self) -> Moments:
        """Return the sums of all rows, whatever they weigh."""
        return self._moments.pooled() if self._unweighted is None else self._unweighted

    def _solve(self) -> None:
        self.epsilon_ = self.var_smoothing * float(np.nan_to_num(self._spread().variances()).max(initial=0.0))
        self.theta_ = np.nan_to_num(self._moments.means())
        self.var_ = np.nan_to_num(self._moments.variances()) + self.epsilon_
        # Where all columns are constant there is nothing to tell classes apart by, and nothing to divide by.
        self.var_[self.var_ == 0] = 1.0
        if self.priors is None:
            self.class_prior_ = self.class_count_ / self.class_count_.sum()
            return
        priors = np.asarray(self.priors, np.float64)
        if len(priors) != len(self.classes_):
            raise ValueError("Number of priors must match number of classes.")
        if not np.isclose(priors.sum(), 1.0):
            raise ValueError("The sum of the priors should be 1.")
        if (priors < 0).any():
            raise ValueError("Priors must be non-negative.")
        self.class_prior_ = priors


def _unweighted(X: Array, moments: Moments, sample_weight: Any) -> Moments:
    """Return the sums of rows as if each had the weight 1, as one class."""
    return moments.pooled() if sample_weight is None else Moments.of(X, np.zeros(len(X), np.int32), 1)
