"""Sums of numbers by class: counts, means and variances that can be added and subtracted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

import discern._native as _native
from discern.data.threads import default_threads
from discern.statistics.statistic import MOST_COUNTED, Statistic

if TYPE_CHECKING:
    from numpy.typing import NDArray


ROUNDING = 1e-14
"""A variance of a smaller share of the mean square is none."""
FORGETTING = 1e-9
"""A sum of squares may be off by this share after subtractions; by more, and something was never summed."""
MOST_MOMENTS = (1e101, MOST_COUNTED, 1e120, 1e240)
"""Pivots, counts, sums and sums of squares are below these."""


@dataclass(frozen=True)
class Moments(Statistic):
    """Sums of numbers by class: how many, Σ(x − c) and Σ(x − c)² about a pivot c, for each class and column.

    About zero, the difference of the sums loses all digits when numbers are far from it; about a pivot near the data
    it does not. Sums about different pivots are moved to one algebraically. Results are exact to rounding.

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

    @classmethod
    def empty(cls) -> Moments:
        """Return the sums of no numbers, of no classes and one column."""
        return cls(np.zeros(1), *(np.zeros((0, 1)) for _ in range(3)))

    @classmethod
    def total(cls, parts: Sequence[Moments]) -> Moments:
        """Add the sums of one part or more, of the same classes."""
        return reduce(cls.__add__, parts)

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

    def minus(self, other: Moments) -> Moments:
        """Subtract; refuse what was never summed, as far as sums of squares tell; leave no rounding behind."""
        rest = self - other
        if bool(np.any(rest.counts < 0)):
            raise ValueError("cannot forget these rows: they have more numbers than the model's rows")
        empty = rest.counts == 0
        squares = rest.second - rest.first**2 / np.maximum(rest.counts, 1)
        slack = FORGETTING * self.second + self.counts * (ROUNDING * np.abs(self.pivot)) ** 2
        if bool(np.any((squares < -slack) | (empty & (np.abs(rest.second) > slack)))):
            raise ValueError("cannot forget these rows: their numbers are not among those learned")
        first = np.where(empty, 0.0, rest.first)
        least = first**2 / np.maximum(rest.counts, 1)
        return Moments(rest.pivot, rest.counts, first, np.where(empty, 0.0, np.maximum(rest.second, least)))

    def decayed(self, factor: float) -> Moments:
        """Return the sums times a factor; numbers are counted in whole numbers, so that they are rounded."""
        counts = np.rint(self.counts * factor)
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.where(self.counts > 0, counts / self.counts, 0.0)
        return Moments(self.pivot, counts, self.first * share, self.second * share)

    def of_classes(self, keep: NDArray[Any]) -> Moments:
        """Return the sums of some classes only."""
        return Moments(self.pivot, self.counts[keep], self.first[keep], self.second[keep])

    def of_column(self, place: int) -> Moments:
        """Return the sums of one column only."""
        keep = slice(place, place + 1)
        return Moments(self.pivot[keep], *(sums[:, keep] for sums in (self.counts, self.first, self.second)))

    def of_rows(self, class_rows: NDArray[np.int64]) -> Moments:
        """Return the sums of the classes that have rows; refuse more numbers than rows."""
        if bool(np.any(self.counts > class_rows[:, None])):
            raise ValueError("cannot forget these rows: more of them lack a number than of the model's rows")
        return self.of_classes(class_rows > 0)

    def arrays(self, labels: Sequence[str] = ()) -> dict[str, NDArray[np.float64]]:
        """Return the sums as arrays, for the model file."""
        return {"pivot": self.pivot, "counts": self.counts, "first": self.first, "second": self.second}

    @classmethod
    def from_arrays(
        cls, labels: Sequence[str], arrays: Mapping[str, NDArray[Any]], class_rows: NDArray[np.int64]
    ) -> Moments:
        """Make the sums from what :meth:`arrays` returned; raises ValueError if they do not fit together."""
        numbers = pivot, *sums = [arrays[name] for name in ("pivot", "counts", "first", "second")]
        if any(array.dtype != np.float64 or not bool(np.all(np.isfinite(array))) for array in numbers):
            raise ValueError("the moments are not numbers")
        if pivot.shape != (1,) or any(array.shape != (len(labels), 1) for array in sums):
            raise ValueError("the moments do not match the labels")
        counts, first, second = sums
        whole = bool(np.all((counts >= 0) & (counts == np.floor(counts)) & (counts <= class_rows[:, None])))
        moderate = all(bool(np.all(np.abs(array) < most)) for array, most in zip(numbers, MOST_MOMENTS, strict=True))
        # Cauchy and Schwarz: (Σx)² ≤ n Σx².
        if not whole or not moderate or bool(np.any(first**2 > (1 + 1e-6) * counts * second)):
            raise ValueError("the moments do not match each other")
        return cls(*(np.require(array, np.float64, ["C", "A"]) for array in numbers))

    def pooled(self) -> Moments:
        """Return the sums over all classes, as one class."""
        parts = (sums.sum(axis=0, keepdims=True) for sums in (self.counts, self.first, self.second))
        return Moments(self.pivot, *parts)

    def location(self) -> tuple[float, float, float]:
        """Return the mean and the standard deviation of the first column over all classes, and its mean magnitude."""
        pooled = self.pooled()
        mean, deviation = (float(np.nan_to_num(value[0, 0])) for value in (pooled.means(), np.sqrt(pooled.variances())))
        return mean, deviation, abs(mean)

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
