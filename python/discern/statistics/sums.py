"""Sums over rows of several columns: the rows of each label, and the statistic of each column."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.statistics.counts import Counts
from discern.statistics.statistic import MOST_COUNTED, Statistic, arrays_of, whole_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Sums:
    """Sums over rows of several columns: the rows of each label, and the statistic of each column.

    Counts know only the labels that have values in their column; other statistics have a place for each label.

    Examples
    --------
    >>> one = Sums(("a",), np.array([2]), (Counts.of(["x1", "x2"], ["a", "a"]),))
    >>> (one + one).rows, (one + one - one) == one
    (4, True)
    """

    labels: tuple[str, ...] = ()
    class_rows: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    columns: tuple[Statistic, ...] = ()

    @property
    def rows(self) -> int:
        """The number of rows summed."""
        return int(self.class_rows.sum())

    @property
    def counts(self) -> dict[int, Counts]:
        """The columns that are counted term by term, by their place."""
        return {place: column for place, column in enumerate(self.columns) if isinstance(column, Counts)}

    def with_counts(self, counts: Mapping[int, Counts]) -> Sums:
        """Return the sums with other counts of the columns at some places."""
        return replace(self, columns=tuple(counts.get(place, column) for place, column in enumerate(self.columns)))

    def __add__(self, other: Sums) -> Sums:
        if not other.labels:
            return self
        return _added([self, other]) if self.labels or self.columns else other

    def __sub__(self, other: Sums) -> Sums:
        """Subtract; raises ValueError if something was never counted."""
        if not other.labels:
            return self
        if not self.labels and not self.columns:
            raise _never_learned(other.labels[0])
        mine, theirs = _together([self, other])
        class_rows = _rows_left(mine.labels, mine.class_rows - theirs.class_rows)
        columns = tuple(left.minus(right) for left, right in _by_column([mine, theirs]))
        return Sums(mine.labels, class_rows, columns).without_zeros()

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
        return _added(listed) if listed else cls()

    def decayed(self, factor: float) -> Sums:
        """Return all sums times a factor from 0 to 1, counts rounded to whole numbers; what becomes zero is gone."""
        if not 0 < factor <= 1:
            raise ValueError(f"the factor must be above 0 and at most 1, not {factor!r}")
        class_rows = np.maximum(np.rint(self.class_rows * factor), 1).astype(np.int64)
        return Sums(self.labels, class_rows, tuple(column.decayed(factor) for column in self.columns))

    def _over(self, labels: tuple[str, ...]) -> Sums:
        """Return the sums with a place for each of ``labels``."""
        place = {label: number for number, label in enumerate(labels)}
        places = np.array([place[label] for label in self.labels], np.int64)
        class_rows = np.zeros(len(labels), np.int64)
        class_rows[places] = self.class_rows
        return Sums(labels, class_rows, tuple(column.with_classes(places, len(labels)) for column in self.columns))

    def without_zeros(self) -> Sums:
        """Return the sums of the labels that have rows; raises ValueError for what was never learned."""
        _rows_left(self.labels, self.class_rows)
        columns = tuple(column.of_rows(self.class_rows) for column in self.columns)
        kept = self.class_rows > 0
        labels = tuple(label for label, keep in zip(self.labels, kept, strict=True) if keep)
        return Sums(labels, self.class_rows[kept], columns)

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
        for place, column in enumerate(self.columns):
            arrays.update({f"{place}.{name}": array for name, array in column.arrays(self.labels).items()})
        return arrays

    def renamed(self, new: Mapping[str, str]) -> Sums:
        """Return the sums with other names of the labels, in the same order."""
        columns = tuple(column.renamed(new) for column in self.columns)
        return replace(self, labels=tuple(new[label] for label in self.labels), columns=columns)

    @classmethod
    def from_arrays(
        cls, labels: Sequence[str], arrays: Mapping[str, NDArray[Any]], kinds: Sequence[type[Statistic]]
    ) -> Sums:
        """Make sums from what :meth:`arrays` returned and the kind of each column's statistic; raises ValueError."""
        class_rows = whole_numbers(arrays["class_rows"])
        if len(class_rows) != len(labels) or bool(np.any(class_rows < 1)) or list(labels) != sorted(set(labels)):
            raise ValueError("the rows do not match the labels")
        if float(class_rows.sum(dtype=np.float64)) >= MOST_COUNTED:
            raise ValueError("there are too many rows")
        columns = (kind.from_arrays(labels, arrays_of(arrays, place), class_rows) for place, kind in enumerate(kinds))
        return cls(tuple(labels), class_rows, tuple(columns))


def _together(parts: Sequence[Sums]) -> list[Sums]:
    """Return several sums with a place for each label of all of them."""
    labels = tuple(sorted({label for part in parts for label in part.labels}))
    return [part._over(labels) for part in parts]


def _added(parts: Sequence[Sums]) -> Sums:
    parts = _together(parts)
    class_rows = np.sum([part.class_rows for part in parts], axis=0)
    return Sums(parts[0].labels, class_rows, tuple(type(column[0]).total(column) for column in _by_column(parts)))


def _by_column(parts: Sequence[Sums]) -> Iterator[tuple[Statistic, ...]]:
    """Return the statistics of each column of several sums; raises ValueError if they do not add up."""
    for column in zip(*(part.columns for part in parts), strict=True):
        if len({type(one) for one in column}) > 1:
            raise ValueError("the columns have different roles")
        yield column


def _rows_left(labels: Sequence[str], class_rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rows that are left of each label; raises ValueError if more were taken than learned."""
    short = np.flatnonzero(class_rows < 0)
    if len(short):
        raise _never_learned(labels[short[0]])
    return class_rows


def _never_learned(label: str) -> ValueError:
    return ValueError(f"cannot forget these rows: the model has fewer rows of label {label!r} than you asked to forget")
