"""Sums over rows of several columns: the rows of each label, and the counts or moments of each column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.statistics.counts import MOST_COUNTED, Counts
from discern.statistics.moments import ROUNDING, Moments

if TYPE_CHECKING:
    from numpy.typing import NDArray


MOST_MOMENTS = (1e101, MOST_COUNTED, 1e120, 1e240)
"""Pivots, counts, sums and sums of squares are below these."""


FORGETTING = 1e-9
"""A sum of squares may be off by this share after subtractions; by more, and something was never summed."""


@dataclass(frozen=True)
class Sums:
    """Sums over rows of several columns: the rows of each label, and for each column its counts or moments.

    A column's counts know only the labels that have values there; its moments have a row for each label.

    Examples
    --------
    >>> one = Sums(("a",), np.array([2]), (Counts.of(["x1", "x2"], ["a", "a"]),))
    >>> (one + one).rows, (one + one - one) == one
    (4, True)
    """

    labels: tuple[str, ...] = ()
    class_rows: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    columns: tuple[Counts | Moments, ...] = ()

    @property
    def rows(self) -> int:
        """The number of rows summed."""
        return int(self.class_rows.sum())

    def __add__(self, other: Sums) -> Sums:
        return self._combined(other, 1)

    def __sub__(self, other: Sums) -> Sums:
        """Subtract; raises ValueError if something was never counted."""
        return self._combined(other, -1)

    def _combined(self, other: Sums, sign: int) -> Sums:
        if not other.labels:
            return self
        labels = tuple(sorted({*self.labels, *other.labels}))
        mine, theirs = self._over(labels), other._over(labels)
        columns = mine.columns or tuple(_nothing_like(column) for column in theirs.columns)
        sums = Sums(
            labels,
            mine.class_rows + sign * theirs.class_rows,
            tuple(_joined(left, right, sign) for left, right in zip(columns, theirs.columns, strict=True)),
        )
        return sums._without_zeros() if sign < 0 else sums

    @classmethod
    def total(cls, parts: Iterable[Sums]) -> Sums:
        """Add the sums of any number of parts: faster than one by one.

        Examples
        --------
        >>> one = Sums(("a",), np.array([2]), (Counts.of(["x1", "x2"], ["a", "a"]),))
        >>> Sums.total([one, one, one]) == one + one + one
        True
        """
        listed = [part for part in parts if part.labels]
        labels = tuple(sorted({label for part in listed for label in part.labels}))
        over = [part._over(labels) for part in listed]
        class_rows = np.zeros(len(labels), np.int64)
        for part in over:
            class_rows += part.class_rows
        columns = zip(*(part.columns for part in over), strict=True)
        return cls(labels, class_rows, tuple(_totalled(column) for column in columns))

    def decayed(self, factor: float) -> Sums:
        """Return all sums times a factor from 0 to 1, counts rounded to whole numbers; what becomes zero is gone."""
        if not 0 < factor <= 1:
            raise ValueError(f"the factor must be above 0 and at most 1, not {factor!r}")
        class_rows = np.maximum(np.rint(self.class_rows * factor), 1).astype(np.int64)
        return Sums(self.labels, class_rows, tuple(column.decayed(factor) for column in self.columns))

    def _over(self, labels: tuple[str, ...]) -> Sums:
        """Return the sums with a place for each of ``labels``."""
        places = np.array([labels.index(label) for label in self.labels], np.int64)
        class_rows = np.zeros(len(labels), np.int64)
        class_rows[places] = self.class_rows
        columns = (
            column.with_classes(places, len(labels)) if isinstance(column, Moments) else column
            for column in self.columns
        )
        return Sums(labels, class_rows, tuple(columns))

    def _without_zeros(self) -> Sums:
        short = np.flatnonzero(self.class_rows < 0)
        if len(short):
            raise ValueError(f"these rows were never learned: there are not so many of label {self.labels[short[0]]!r}")
        for column in self.columns:
            if isinstance(column, Moments) and bool(np.any(column.counts > self.class_rows[:, None])):
                raise ValueError("these rows were never learned: there are not so many without a number")
        kept = self.class_rows > 0
        columns = (column.of_classes(kept) if isinstance(column, Moments) else column for column in self.columns)
        labels = tuple(label for label, keep in zip(self.labels, kept, strict=True) if keep)
        return Sums(labels, self.class_rows[kept], tuple(columns))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sums):
            return NotImplemented
        mine, theirs = self.arrays(), other.arrays()
        return (
            self.labels == other.labels
            and mine.keys() == theirs.keys()
            and all(np.array_equal(mine[name], theirs[name]) for name in mine)
        )

    __hash__ = None  # type: ignore[assignment]

    # ------------------------------------------------------------------------------------------------ arrays

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything but the labels as arrays, for the model file."""
        arrays: dict[str, NDArray[Any]] = {"class_rows": self.class_rows}
        for number, column in enumerate(self.columns):
            named = dict(column.arrays())
            if isinstance(column, Counts):
                named["classes"] = np.array([self.labels.index(label) for label in column.labels], np.int64)
            arrays.update({f"{number}.{name}": array for name, array in named.items()})
        return arrays

    def renamed(self, new: Mapping[str, str]) -> Sums:
        """Return the sums with other names of the labels, in the same order."""
        columns = (
            replace(column, labels=tuple(new[label] for label in column.labels))
            if isinstance(column, Counts)
            else column
            for column in self.columns
        )
        return replace(self, labels=tuple(new[label] for label in self.labels), columns=tuple(columns))

    @classmethod
    def from_arrays(cls, labels: Sequence[str], arrays: Mapping[str, NDArray[Any]], normal: Sequence[bool]) -> Sums:
        """Make sums of what :meth:`arrays` gave; ``normal`` says which columns are moments; raises ValueError."""
        class_rows = _whole(arrays["class_rows"])
        if len(class_rows) != len(labels) or bool(np.any(class_rows < 1)) or list(labels) != sorted(set(labels)):
            raise ValueError("the rows do not fit the labels")
        if float(class_rows.sum(dtype=np.float64)) >= MOST_COUNTED:
            raise ValueError("there are too many rows")
        columns = []
        for number, is_moments in enumerate(normal):
            start = f"{number}."
            own = {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}
            columns.append(_moments(own, class_rows) if is_moments else _counts(own, labels, class_rows))
        return cls(tuple(labels), class_rows, tuple(columns))


def _nothing_like(column: Counts | Moments) -> Counts | Moments:
    if isinstance(column, Counts):
        return Counts.empty()
    return Moments(column.pivot, *(np.zeros_like(column.counts) for _ in range(3)))


def _joined(left: Counts | Moments, right: Counts | Moments, sign: int) -> Counts | Moments:
    if isinstance(left, Counts) and isinstance(right, Counts):
        return left + right if sign > 0 else left - right
    if isinstance(left, Moments) and isinstance(right, Moments):
        return left + right if sign > 0 else _less(left, right)
    raise ValueError("the columns have different roles")


def _totalled(parts: Sequence[Counts | Moments]) -> Counts | Moments:
    counts = [part for part in parts if isinstance(part, Counts)]
    if len(counts) == len(parts):
        return Counts.total(counts)
    moments = [part for part in parts if isinstance(part, Moments)]
    if len(moments) < len(parts):
        raise ValueError("the columns have different roles")
    return reduce(Moments.__add__, moments)


def _less(left: Moments, right: Moments) -> Moments:
    """Subtract moments; refuse what was never summed, as far as sums of squares tell; leave no rounding behind."""
    rest = left - right
    if bool(np.any(rest.counts < 0)):
        raise ValueError("these rows were never learned: there are not so many numbers")
    empty = rest.counts == 0
    squares = rest.second - rest.first**2 / np.maximum(rest.counts, 1)
    slack = FORGETTING * left.second + left.counts * (ROUNDING * np.abs(left.pivot)) ** 2
    if bool(np.any((squares < -slack) | (empty & (np.abs(rest.second) > slack)))):
        raise ValueError("these rows were never learned: their numbers are not among those learned")
    first = np.where(empty, 0.0, rest.first)
    least = first**2 / np.maximum(rest.counts, 1)
    return Moments(rest.pivot, rest.counts, first, np.where(empty, 0.0, np.maximum(rest.second, least)))


def _whole(array: NDArray[Any]) -> NDArray[np.int64]:
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise ValueError("the counts are not lists of whole numbers")
    return array.astype(np.int64)


def _counts(arrays: Mapping[str, NDArray[Any]], labels: Sequence[str], class_rows: NDArray[np.int64]) -> Counts:
    places = _whole(arrays["classes"])
    if bool(np.any((places < 0) | (places >= len(labels)))) or bool(np.any(np.diff(places) < 1)):
        raise ValueError("the classes of a column do not fit the labels")
    counts = Counts.from_arrays([labels[place] for place in places], arrays)
    if bool(np.any(counts.class_documents > class_rows[places])):
        raise ValueError("a column has more values than there are rows")
    return counts


def _moments(arrays: Mapping[str, NDArray[Any]], class_rows: NDArray[np.int64]) -> Moments:
    pivot, *sums = (arrays[name] for name in ("pivot", "counts", "first", "second"))
    numbers = (pivot, *sums)
    if any(array.dtype != np.float64 or not bool(np.all(np.isfinite(array))) for array in numbers):
        raise ValueError("the moments are not numbers")
    if pivot.shape != (1,) or any(array.shape != (len(class_rows), 1) for array in sums):
        raise ValueError("the moments do not fit the labels")
    counts = sums[0]
    whole = bool(np.all((counts >= 0) & (counts == np.floor(counts)) & (counts <= class_rows[:, None])))
    moderate = all(bool(np.all(np.abs(array) < most)) for array, most in zip(numbers, MOST_MOMENTS, strict=True))
    # Cauchy and Schwarz: (Σx)² ≤ n Σx².
    if not whole or not moderate or bool(np.any(sums[1] ** 2 > (1 + 1e-6) * counts * sums[2])):
        raise ValueError("the moments do not fit together")
    return Moments(*(np.require(array, np.float64, ["C", "A"]) for array in numbers))
