"""Exact sums of numbers by class: counts, Σx and Σx² as whole numbers, which add and subtract without rounding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

import numpy as np

import discern._native as _native
from discern.statistics.statistic import Statistic, whole_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Integers = NDArray[np.object_]

LOWEST = -1074
"""The smallest double is 2 to this power; all doubles are whole multiples of it."""
GREATEST = ((1 << 53) - 1) << (971 - LOWEST)
"""The greatest double in units of the smallest."""
MOST_UNIT, MOST_DIGITS = 1024 + 64, (280, 540)
"""Limits on what a file may hold: the unit, and the bytes of an integer of Σx and of Σx²."""
ALL_ZERO = 1 << 20
"""The number of lowest bits of zero that are zero: more than any sum has."""
DECAYED_BITS = 80
"""Sums that decay are rounded this number of bits below the size of their numbers."""


@dataclass(frozen=True, eq=False)
class ExactMoments(Statistic):
    """Sums of numbers by class without rounding: how many, Σx in units of 2^unit and Σx² in units of 4^unit.

    The integers are Python's, one for each class, so that they hold every sum of doubles, from the smallest to the
    greatest. The order of the rows and the way they are divided do not matter, and what is subtracted leaves nothing
    behind. Arrays have the largest unit in which all sums are whole, so that equal sums have equal arrays.

    Examples
    --------
    >>> parts = [ExactMoments.of(np.array([0.1, 1e300, 0.3]), np.array([0, 0, 1]), 2) for _ in range(2)]
    >>> outlier = ExactMoments.of(np.array([1e300]), np.array([0]), 2)
    >>> rest = (parts[0] + parts[1]).minus(outlier).minus(outlier)
    >>> rest.counts.tolist(), rest.means().tolist(), rest.deviations().tolist()
    ([2, 2], [0.1, 0.3], [0.0, 0.0])
    """

    unit: int
    counts: NDArray[np.int64]
    first: Integers
    second: Integers

    @classmethod
    def of(cls, values: Array, classes: NDArray[Any], n_classes: int) -> ExactMoments:
        """Sum numbers, the class of each given as a number below ``n_classes``; NaN is missing."""
        total = ExactTotal(n_classes)
        total.add(values, classes, n_classes)
        return total.moments()

    @classmethod
    def empty(cls) -> ExactMoments:
        """Return the sums of no numbers, of no classes."""
        return cls(0, np.zeros(0, np.int64), _zeros(0), _zeros(0))

    @classmethod
    def total(cls, parts: Sequence[ExactMoments]) -> ExactMoments:
        """Add the sums of one part or more, of the same classes."""
        return reduce(cls.__add__, parts)

    def _in(self, unit: int) -> tuple[Integers, Integers]:
        """Return the integers in units that are not larger."""
        shift = self.unit - unit
        return (self.first << shift, self.second << 2 * shift) if shift else (self.first, self.second)

    def __add__(self, other: ExactMoments) -> ExactMoments:
        unit = min(self.unit, other.unit)
        (first, second), (more_first, more_second) = self._in(unit), other._in(unit)
        return ExactMoments(unit, self.counts + other.counts, first + more_first, second + more_second)

    def __sub__(self, other: ExactMoments) -> ExactMoments:
        """Subtract without a check, for sums over some of the same rows."""
        unit = min(self.unit, other.unit)
        (first, second), (less_first, less_second) = self._in(unit), other._in(unit)
        return ExactMoments(unit, self.counts - other.counts, first - less_first, second - less_second)

    def minus(self, other: ExactMoments) -> ExactMoments:
        """Subtract; refuse what was never summed, as far as the sums tell. What was summed is never refused."""
        rest = self - other
        if bool(np.any(rest.counts < 0)):
            raise ValueError("cannot forget these rows: they have more numbers than the model's rows")
        if not rest._is_possible():
            raise ValueError("cannot forget these rows: their numbers are not among those learned")
        return rest

    def _is_possible(self) -> bool:
        """Return whether there are numbers of these counts with these sums, as far as the sums tell."""
        # Cauchy and Schwarz: (Σx)² ≤ n Σx².
        fits = self.first * self.first <= self.counts.astype(object) * self.second
        return bool(np.all(fits & ((self.counts > 0) | (self.second == 0))))

    def decayed(self, factor: float) -> ExactMoments:
        """Return the sums times a factor. Counts are rounded to whole numbers; the sums follow them, finely rounded."""
        counts = np.rint(self.counts * factor).astype(np.int64)
        size = max((value.bit_length() for value in self.second.tolist()), default=0) // 2
        unit = max(min(self.unit, self.unit + size - DECAYED_BITS), LOWEST)
        first, second = self._in(unit)
        new, old = counts.astype(object), np.maximum(self.counts, 1).astype(object)
        # Σx is rounded towards zero and Σx² up: there remain numbers with these sums.
        shrunk = abs(first) * new // old
        return ExactMoments(unit, counts, np.where(first < 0, -shrunk, shrunk), -(-second * new // old))

    def with_classes(self, places: NDArray[Any], n_classes: int) -> ExactMoments:
        """Return the sums of ``n_classes`` classes, those here at ``places``, the others empty."""
        counts, first, second = np.zeros(n_classes, np.int64), _zeros(n_classes), _zeros(n_classes)
        counts[places], first[places], second[places] = self.counts, self.first, self.second
        return ExactMoments(self.unit, counts, first, second)

    def of_classes(self, keep: NDArray[Any]) -> ExactMoments:
        """Return the sums of some classes, in this order."""
        return ExactMoments(self.unit, self.counts[keep], self.first[keep], self.second[keep])

    def of_rows(self, class_rows: NDArray[np.int64]) -> ExactMoments:
        """Return the sums of the classes that have rows; refuse more numbers than rows."""
        if bool(np.any(self.counts > class_rows)):
            raise ValueError("cannot forget these rows: more of them lack a number than of the model's rows")
        return self.of_classes(class_rows > 0)

    def pooled(self) -> ExactMoments:
        """Return the sums over all classes, as one class."""
        first, second = (_objects([sum(sums.tolist())]) for sums in (self.first, self.second))
        return ExactMoments(self.unit, self.counts.sum(keepdims=True), first, second)

    # ------------------------------------------------------------------------------------------------ arrays

    def arrays(self, labels: Sequence[str] = ()) -> dict[str, NDArray[Any]]:
        """Return the sums as arrays, for the model file: the unit from the lowest on, and the bytes of the integers."""
        shift = min(_zero_bits(self.first), _zero_bits(self.second) // 2)
        unit = LOWEST if shift == ALL_ZERO // 2 else self.unit + shift
        return {
            "unit": np.array([unit - LOWEST], np.int64),
            "counts": self.counts,
            "first": _digits(self.first >> shift),
            "second": _digits(self.second >> 2 * shift),
        }

    @classmethod
    def from_arrays(
        cls, labels: Sequence[str], arrays: Mapping[str, NDArray[Any]], class_rows: NDArray[np.int64]
    ) -> ExactMoments:
        """Make the sums from what :meth:`arrays` returned; raises ValueError if they do not match."""
        counts, unit = whole_numbers(arrays["counts"]), whole_numbers(arrays["unit"])
        if counts.shape != (len(labels),) or unit.shape != (1,) or not 0 <= unit[0] <= MOST_UNIT - LOWEST:
            raise ValueError("the sums of numbers do not match the labels")
        if bool(np.any((counts < 0) | (counts > class_rows))):
            raise ValueError("there are more numbers than rows")
        for name, most in zip(("first", "second"), MOST_DIGITS, strict=True):
            digits = arrays[name]
            if digits.dtype != np.uint8 or digits.ndim != 2 or len(digits) != len(labels) or digits.shape[1] > most:
                raise ValueError("the sums of numbers are not integers of the labels")
        found = cls(int(unit[0]) + LOWEST, counts, _integers(arrays["first"]), _integers(arrays["second"]))
        limits = (counts.astype(object) * GREATEST, counts.astype(object) * GREATEST**2)
        moderate = all(np.all(abs(sums) <= most) for sums, most in zip(found._in(LOWEST), limits, strict=True))
        if not moderate or not found._is_possible():
            raise ValueError("the sums of numbers do not match each other")
        again = found.arrays()
        if not all(np.array_equal(again[name], arrays[name]) for name in again):
            raise ValueError("the sums of numbers are not in their shortest form")
        return found

    # ----------------------------------------------------------------------------------- means and deviations

    def means(self) -> Array:
        """Return the mean of each class, rounded once; NaN where there is nothing."""
        sums = zip(self.counts.tolist(), self.first.tolist(), strict=True)
        up, down = max(self.unit, 0), max(-self.unit, 0)
        return np.array([(one << up) / (count << down) if count else np.nan for count, one in sums], np.float64)

    def deviations(self) -> Array:
        """Return the standard deviation of each class, divided by the number of values; NaN where there is nothing.

        The variance has no cancellation: (n Σx² − (Σx)²) / n² is a ratio of two integers. It is not returned itself,
        because the squares of numbers beyond 1e154 are no doubles.
        """
        ratios, halves = [], []
        for count, one, two in zip(self.counts.tolist(), self.first.tolist(), self.second.tolist(), strict=True):
            above, below = count * two - one * one, count * count
            half = (above.bit_length() - below.bit_length()) // 2  # the ratio times 4^−half is near one
            ratios.append((above << max(-2 * half, 0)) / (below << max(2 * half, 0)) if count else np.nan)
            halves.append(half + self.unit)
        return np.asarray(np.ldexp(np.sqrt(np.array(ratios, np.float64)), np.array(halves, np.int64)))

    def location(self) -> tuple[float, float, float]:
        """Return the mean and the standard deviation over all classes, and the magnitude of the mean."""
        pooled = self.pooled()
        mean, deviation = (float(np.nan_to_num(value[0])) for value in (pooled.means(), pooled.deviations()))
        return mean, deviation, abs(mean)


class ExactTotal:
    """Sums numbers batch by batch; later batches may have more classes.

    Examples
    --------
    >>> total = ExactTotal()
    >>> total.add(np.array([0.1, 2.0]), np.array([0, 0]), 1)
    >>> total.add(np.array([3.0]), np.array([1]), 2)
    >>> total.moments().counts.tolist()
    [2, 1]
    """

    def __init__(self, n_classes: int = 0) -> None:
        self._total = _native.ExactTotal(n_classes)

    def add(self, values: Array, classes: NDArray[Any], n_classes: int) -> None:
        """Add numbers, the class of each given as a number below ``n_classes``; NaN is missing."""
        self._total.add(np.ascontiguousarray(values, np.float64), np.ascontiguousarray(classes, np.int32), n_classes)

    def moments(self) -> ExactMoments:
        """End the sum and return it."""
        counts, unit, first, second = self._total.sums()
        return ExactMoments(unit, counts, _integers(first), _integers(second))


def moments_without(
    values: Array,
    classes: NDArray[np.int32],
    n_classes: int,
    order: NDArray[np.int64],
    numbers: NDArray[np.int64],
    n_folds: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], Array, Array, Array, Array]:
    """Return the moments of numbers without each fold, as exact sums give them.

    ``order`` are the rows held out, and ``numbers`` the fold of each, from 0. The results are the class and the fold of
    each pair for which rows are held out, the means and the standard deviations of the class without them, and the
    means and the standard deviations of all classes together without each fold.

    Examples
    --------
    >>> numbers, classes = np.array([1.0, 3.0, 8.0]), np.array([0, 0, 1], np.int32)
    >>> found = moments_without(numbers, classes, 2, np.array([0, 2]), np.array([0, 1]), 2)
    >>> [part.tolist() for part in found[:3]], found[4].tolist()
    ([[0, 1], [0, 1], [3.0, nan]], [5.5, 2.0])
    """
    quick = _native.moments_without(np.ascontiguousarray(values), classes, n_classes, order, numbers, n_folds)
    if quick is not None:
        in_classes, in_folds, of_cells, of_folds = quick
        return in_classes, in_folds, *of_cells, *of_folds
    held_out, total = values[order], ExactMoments.of(values, classes, n_classes)
    own = numbers * np.int64(n_classes) + classes[order]
    cells, places = np.unique(own, return_inverse=True)
    in_folds, in_classes = np.divmod(cells, n_classes)
    rest = total.of_classes(in_classes) - ExactMoments.of(held_out, places, len(cells))
    every = total.pooled().of_classes(np.zeros(n_folds, np.int64)) - ExactMoments.of(held_out, numbers, n_folds)
    return in_classes, in_folds, rest.means(), rest.deviations(), every.means(), every.deviations()


# ------------------------------------------------------------------------------------------------ long integers


def _zeros(size: int) -> Integers:
    return _objects([0] * size)


def _objects(values: Sequence[int]) -> Integers:
    """Return Python's integers as an array."""
    found = np.empty(len(values), object)
    found[:] = values
    return found


def _zero_bits(integers: Integers) -> int:
    """Return how many of the lowest bits are zero in all integers."""
    every = reduce(or_, integers.tolist(), 0)
    return (every & -every).bit_length() - 1 if every else ALL_ZERO


def _digits(integers: Integers) -> NDArray[np.uint8]:
    """Return integers as rows of bytes in two's complement, the lowest first, as few as hold all of them."""
    values = integers.tolist()
    length = max((value.bit_length() for value in values), default=0) // 8 + 1
    content = b"".join(value.to_bytes(length, "little", signed=True) for value in values)
    return np.frombuffer(content, np.uint8).reshape(len(values), length)


def _integers(digits: NDArray[np.uint8]) -> Integers:
    """Return the integers of rows of bytes."""
    length, content = digits.shape[1], np.ascontiguousarray(digits).tobytes()
    starts = range(0, len(digits) * length, length) if length else [0] * len(digits)
    return _objects([int.from_bytes(content[start : start + length], "little", signed=True) for start in starts])
