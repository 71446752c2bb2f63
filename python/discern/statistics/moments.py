"""Weighted sums of tables of numbers by class, in floating point, for the estimators: counts, means and variances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import discern._native as _native
from discern.data.threads import default_threads

if TYPE_CHECKING:
    from numpy.typing import NDArray


ROUNDING = 1e-14
"""A variance of a smaller share of the mean square is none."""


@dataclass(frozen=True)
class Moments:
    """Sums of numbers by class: how many, Σ(x − c) and Σ(x − c)² about a pivot c, for each class and column.

    About zero, the difference of the sums loses all digits when numbers are far from it; about a pivot near the data
    it does not. Sums about different pivots are moved to one algebraically. Results are exact to rounding; models that
    forget exactly have :class:`discern.statistics.exact.ExactMoments`.

    Examples
    --------
    >>> parts = [Moments.of(np.array([[1e9], [1e9 + 2]]), np.array([0, 0]), 1) for _ in range(2)]
    >>> both = parts[0] + parts[1]
    >>> both.variances().tolist(), (both - parts[1]).counts.tolist()
    ([[1.0]], [[2.0]])
    """

    pivot: NDArray[np.float64]
    counts: NDArray[np.float64]
    first: NDArray[np.float64]
    second: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        table: NDArray[np.float64],
        classes: NDArray[Any],
        n_classes: int,
        weights: NDArray[np.float64] | None = None,
        threads: int | None = None,
    ) -> Moments:
        """Sum the rows of a table, the class of each given as a number below ``n_classes``; NaN is missing."""
        table = np.ascontiguousarray(table, np.float64)
        pivot = _pivot(table)
        numbers = np.ascontiguousarray(classes, np.int32)
        sums = _native.moments(table, numbers, n_classes, pivot, weights, threads or default_threads())
        return cls(pivot, *sums)

    def about(self, pivot: NDArray[np.float64]) -> Moments:
        """Return the same sums about another pivot."""
        step = self.pivot - pivot
        first = self.first + self.counts * step
        return Moments(pivot, self.counts, first, self.second + step * (self.first + first))

    def with_classes(self, places: NDArray[Any], n_classes: int) -> Moments:
        """Return the sums of ``n_classes`` classes, those here at ``places``, the others empty."""

        def spread(sums: NDArray[np.float64]) -> NDArray[np.float64]:
            wide = np.zeros((n_classes, sums.shape[1]))
            wide[places] = sums
            return wide

        return Moments(self.pivot, spread(self.counts), spread(self.first), spread(self.second))

    def __add__(self, other: Moments) -> Moments:
        moved = other.about(self.pivot)
        return Moments(self.pivot, self.counts + moved.counts, self.first + moved.first, self.second + moved.second)

    def __sub__(self, other: Moments) -> Moments:
        moved = other.about(self.pivot)
        return Moments(self.pivot, self.counts - moved.counts, self.first - moved.first, self.second - moved.second)

    def of_classes(self, keep: NDArray[Any]) -> Moments:
        """Return the sums of some classes only."""
        return Moments(self.pivot, self.counts[keep], self.first[keep], self.second[keep])

    def pooled(self) -> Moments:
        """Return the sums over all classes, as one class."""
        parts = (sums.sum(axis=0, keepdims=True) for sums in (self.counts, self.first, self.second))
        return Moments(self.pivot, *parts)

    def means(self) -> NDArray[np.float64]:
        """Return the mean of each class and column; NaN where there is nothing."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self.pivot + self.first / self.counts)

    def variances(self) -> NDArray[np.float64]:
        """Return the variance of each class and column, divided by the number of values (maximum likelihood)."""
        with np.errstate(invalid="ignore", divide="ignore"):
            square, shift = self.second / self.counts, self.first / self.counts
            difference = square - shift**2
            # Numbers that are all alike have no variance but the rounding of this difference.
            return np.asarray(np.where(difference < ROUNDING * square, 0.0, difference))


def _pivot(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of the first rows, a number near the data, or 0 where all are missing."""
    some = table[: 1 << 10]
    present = ~np.isnan(some)
    number = present.sum(axis=0)
    return np.asarray(np.where(present, some, 0.0).sum(axis=0) / np.maximum(number, 1))
