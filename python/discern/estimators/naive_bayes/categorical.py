"""Naive Bayes on tables of categories, with scikit-learn's parameters and attributes."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_non_negative, validate_data

import discern._native as _native
from discern.data.encode import EncodedLabels
from discern.data.threads import default_threads
from discern.estimators.base import Array, begin_merge
from discern.estimators.checks import refuse_huge, summable_weights
from discern.estimators.naive_bayes.base import remaining
from discern.estimators.naive_bayes.counts import CountingNB
from discern.estimators.rows import checked_rows
from discern.learners.linear import best_of_rows


@dataclass(eq=False, repr=False, kw_only=True)
class CategoricalNB(CountingNB):
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
        **CountingNB._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="left")],
        "min_categories": [None, "array-like", Interval(Integral, 1, None, closed="left")],
    }
    _input_tags: ClassVar[dict[str, bool]] = {"categorical": True, "positive_only": True}

    min_categories: Any = None

    def _validated(self, X: Any, *y: Any, reset: bool = True) -> Any:
        if isinstance(X, np.ndarray) and X.dtype.kind == "f":
            refuse_huge(X, most=2.0**53)  # what is no longer a whole number is no category
        if not y and not reset:
            return checked_rows(self, X, dtype="int")
        return validate_data(self, X, *y, dtype="int", reset=reset)

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

    def _add(self, X: Array, labels: EncodedLabels, sample_weight: Any) -> None:
        counts, class_count = self._counted(X, labels, sample_weight, 1)
        alpha, log_prior = self._checked_alpha(), self._log_prior(class_count)
        self.category_count_, self.class_count_ = counts, class_count
        self._begin_solving(log_prior, alpha)

    def _subtract(self, X: Array, labels: EncodedLabels, sample_weight: Any) -> None:
        counts, class_count = self._counted(X, labels, sample_weight, -1)
        self.category_count_, self.class_count_ = self._without_zeros(counts, class_count)
        self._solve()

    def _counted(self, X: Array, labels: EncodedLabels, sample_weight: Any, sign: int) -> tuple[list[Array], Array]:
        """Return the counts of categories and classes with some rows added, or taken off."""
        weights = summable_weights(sample_weight, X)
        numbers, n_classes = labels.within(self.classes_), len(self.classes_)
        table = np.ascontiguousarray(X, np.int64)
        added, negative = _native.category_counts(table, numbers, n_classes, weights, default_threads())
        if negative:
            check_non_negative(X, f"{type(self).__name__} (input X)")
        least = self._least_levels(X.shape[1])
        counts = [
            _padded(mine, max(len(new), int(levels))) + sign * _padded(new.T, mine.shape[1], int(levels))
            for mine, new, levels in zip(self.category_count_, added, least, strict=True)
        ]
        return counts, self.class_count_ + sign * labels.class_counts(self.classes_, weights)

    def _without_zeros(self, counts: list[Array], class_count: Array) -> tuple[list[Array], Array]:
        """Drop the classes and the last levels that have gone to zero; refuse what has gone below."""
        present = remaining(float(self.class_count_.max(initial=0.0)), class_count, *counts)
        self.classes_ = self.classes_[present]
        shorter = []
        for count, fewest in zip(counts, self._least_levels(len(counts)), strict=True):
            used = np.flatnonzero(count[present].sum(axis=0) > 1e-9)
            levels = max(int(used[-1]) + 1 if len(used) else 0, int(fewest))
            shorter.append(np.maximum(count[present][:, :levels], 0.0))
        return shorter, class_count[present]

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
        merged: Self = begin_merge(self, other)
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

    def _solution(self, alpha: Any, **settings: Any) -> dict[str, Any]:
        counts = self.category_count_
        logs = [np.log(count + alpha) - np.log((count + alpha).sum(axis=1, keepdims=True)) for count in counts]
        return {"feature_log_prob_": logs}

    def _rows(self, X: Any) -> Array:
        return np.ascontiguousarray(super()._rows(X), np.int64)

    def _joint(self, X: Array, probabilities: bool = False) -> Array:
        weights = np.concatenate([table.T.ravel() for table in self.feature_log_prob_])
        levels = self.n_categories_.tolist()
        return _native.category_scores(X, levels, weights, self.class_log_prior_, default_threads(), probabilities)

    def _best(self, X: Array) -> Array:
        return best_of_rows(self._joint(X))

    def _posterior(self, X: Array) -> Array:
        return self._joint(X, probabilities=True)


def _padded(count: Array, *levels: int) -> Array:
    """Return a copy of a table of counts with at least the given number of levels."""
    wide = np.zeros((count.shape[0], max(count.shape[1], *levels)))
    wide[:, : count.shape[1]] = count
    return wide
