"""Naive Bayes on tables of numbers and of categories, with scikit-learn's parameters and attributes."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import assert_all_finite, check_is_fitted, check_non_negative, validate_data

import discern._native as _native
from discern.data.encode import Numbered
from discern.data.threads import default_threads
from discern.estimators.bayes import Array, _CountingNB, _NaiveBayes, checked_weights, remaining
from discern.estimators.checks import numbered, refuse_huge
from discern.statistics.moments import Moments


class GaussianNB(_NaiveBayes):
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
    _moments: Moments
    _unweighted: Moments | None = None
    """The sums of all rows as if each had the weight 1, once some have another; else they are those of ``_moments``."""
    class_count_: Array

    def __init__(self, *, priors: Any = None, var_smoothing: float = 1e-9) -> None:
        self.priors = priors
        self.var_smoothing = var_smoothing

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows, forgetting everything learned before."""
        self._validate_params()
        with self._all_or_nothing():
            self.__dict__.pop("classes_", None)
            self.__dict__.pop("_unweighted", None)
            return self._learn(X, y, sample_weight, None)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows. Labels that are new grow the model; ``classes`` may name some before they come."""
        self._validate_params()
        with self._all_or_nothing():
            return self._learn(X, y, sample_weight, classes)

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Take rows back: the model is then, to rounding, the one that never saw them."""
        check_is_fitted(self)
        X, y = self._validated(X, y, sample_weight, reset=False)
        moments, class_count = self._sums(X, self._known(y), self.classes_, sample_weight)
        unweighted = self._spread() - _unweighted(X, moments, sample_weight)
        rest, left = self._moments - moments, self.class_count_ - class_count
        kept = remaining(float(self.class_count_.max()), left)
        with self._all_or_nothing():
            self.classes_, self.class_count_ = self.classes_[kept], left[kept]
            self._moments = rest.of_classes(kept)
            if self._unweighted is not None or sample_weight is not None:
                self._unweighted = unweighted
            self._solve()
        return self

    def merge(self, other: Self) -> Self:
        """Return a new model that has learned the rows of both."""
        merged = self._merged(other)
        for part in (self, other):
            merged._add(part._moments, part.class_count_, part.classes_)
        if self._unweighted is not None or other._unweighted is not None:
            merged._unweighted = self._spread() + other._spread()
        merged._solve()
        return merged

    def _rows(self, X: Any) -> Array:
        check_is_fitted(self)
        return np.ascontiguousarray(validate_data(self, X, reset=False, dtype=np.float64))

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

    def _sums(self, X: Array, labels: Numbered, classes: Array, sample_weight: Any) -> tuple[Moments, Array]:
        weights = checked_weights(sample_weight, X)
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


class CategoricalNB(_CountingNB):
    """Naive Bayes on categories, given as numbers from 0, with scikit-learn's parameters and attributes.

    What differs: a category that was never seen in training is left out of its row's sum instead of raising an
    ``IndexError``; categories and classes that come later grow the model; models can ``merge`` and ``forget``.

    Examples
    --------
    >>> model = CategoricalNB().fit([[0, 1], [1, 0]], ["spam", "ham"])
    >>> model.predict([[0, 7]]).tolist()
    ['spam']
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **_CountingNB._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="left")],
        "min_categories": [None, "array-like", Interval(Integral, 1, None, closed="left")],
    }
    min_categories: Any
    category_count_: list[Array]

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        min_categories: Any = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.min_categories = min_categories

    def _validated(self, X: Any, *y: Any, reset: bool = True) -> Any:
        if isinstance(X, np.ndarray) and X.dtype.kind == "f":
            refuse_huge(X, most=2.0**53)  # what is no longer a whole number is no category
        return validate_data(self, X, *y, dtype="int", reset=reset)

    def _prepared(self, X: Any) -> Array:
        return np.ascontiguousarray(X, np.int64)  # negative numbers are found when they are counted

    def _grow(self, classes: Array, features: int) -> None:
        """Make room for more classes, keeping what was counted."""
        class_count = np.zeros(len(classes))
        known = self.__dict__.get("category_count_", [np.zeros((0, 0))] * features)
        counts = [np.zeros((len(classes), columns.shape[1])) for columns in known]
        if hasattr(self, "class_count_"):
            places = np.searchsorted(classes, self.classes_)
            class_count[places] = self.class_count_
            for count, columns in zip(counts, known, strict=True):
                count[places] = columns
        self.classes_, self.class_count_, self.category_count_ = classes, class_count, counts

    def _add(self, X: Array, labels: Numbered, sample_weight: Any, sign: int) -> None:
        weights = checked_weights(sample_weight, X)
        numbers, width = labels.within(self.classes_), len(self.classes_)
        added, negative = _native.category_counts(X, numbers, width, weights, default_threads())
        if negative:
            check_non_negative(X, f"{type(self).__name__} (input X)")
        least = self._least_levels(X.shape[1])
        counts = [
            _padded(mine, max(len(new), int(levels))) + sign * _padded(new.T, mine.shape[1], int(levels))
            for mine, new, levels in zip(self.category_count_, added, least, strict=True)
        ]
        class_count = self.class_count_ + sign * labels.class_counts(self.classes_, weights)
        if sign < 0:
            counts, class_count = self._without_zeros(counts, class_count)
        self.category_count_, self.class_count_ = counts, class_count
        self._solve()

    def _without_zeros(self, counts: list[Array], class_count: Array) -> tuple[list[Array], Array]:
        """Drop the classes and the last levels that have gone to zero; refuse what has gone below."""
        kept = remaining(float(self.class_count_.max(initial=0.0)), class_count, *counts)
        self.classes_ = self.classes_[kept]
        shorter = []
        for count, fewest in zip(counts, self._least_levels(len(counts)), strict=True):
            used = np.flatnonzero(count[kept].sum(axis=0) > 1e-9)
            levels = max(int(used[-1]) + 1 if len(used) else 0, int(fewest))
            shorter.append(np.maximum(count[kept][:, :levels], 0.0))
        return shorter, class_count[kept]

    def _least_levels(self, columns: int) -> Array:
        if self.min_categories is None:
            return np.zeros(columns, np.int64)
        least = np.asarray(self.min_categories)
        if not np.issubdtype(least.dtype, np.signedinteger):
            raise ValueError(f"'min_categories' should have integral type. Got {least.dtype} instead.")
        if least.ndim and least.shape != (columns,):
            raise ValueError(
                f"'min_categories' should have shape ({columns},) when an array-like is provided. "
                f"Got {least.shape} instead."
            )
        return np.broadcast_to(least, columns).astype(np.int64)

    def merge(self, other: Self) -> Self:
        """Return a new model that has learned the rows of both."""
        merged = self._merged(other)
        merged._grow(np.union1d(self.classes_, other.classes_), self.n_features_in_)
        for part in (self, other):
            places = np.searchsorted(merged.classes_, part.classes_)
            merged.class_count_[places] += part.class_count_
            for column, count in enumerate(part.category_count_):
                wide = _padded(merged.category_count_[column], count.shape[1])
                wide[places, : count.shape[1]] += count
                merged.category_count_[column] = wide
        merged._solve()
        return merged

    @property
    def n_categories_(self) -> Array:
        """The number of categories of each column."""
        return np.array([count.shape[1] for count in self.category_count_])

    def _solve_features(self, alpha: Any) -> None:
        self.feature_log_prob_ = [
            np.log(count + alpha) - np.log((count + alpha).sum(axis=1, keepdims=True)) for count in self.category_count_
        ]

    def _rows(self, X: Any) -> Array:
        rows: Array = super()._rows(X)
        check_non_negative(rows, f"{type(self).__name__} (input X)")
        return rows

    def _joint(self, X: Array, probabilities: bool = False) -> Array:
        weights = np.concatenate([table.T.ravel() for table in self.feature_log_prob_])
        levels = self.n_categories_.tolist()
        return _native.category_scores(X, levels, weights, self.class_log_prior_, default_threads(), probabilities)

    def _posterior(self, X: Array) -> Array:
        return self._joint(X, probabilities=True)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.sparse = False
        return tags


def _padded(count: Array, *levels: int) -> Array:
    """Return a copy of a table of counts with at least so many levels."""
    wide = np.zeros((count.shape[0], max(count.shape[1], *levels)))
    wide[:, : count.shape[1]] = count
    return wide
