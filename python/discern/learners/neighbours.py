"""Nearest neighbours, exactly: by cosine, by Euclidean distance, by differing bits.

The rows are the statistics: they can be added, and taken back by id. Neighbours are ranked by distance and then by
row, whatever the number of threads; the answer is that of comparing each query with every row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np
import scipy.sparse

import discern._native as _native
from discern.data.threads import default_threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

Array = Any
MOST_NEIGHBOURS = 50
"""The largest number of neighbours that :func:`choose_count` tries."""


class Rows(Protocol):
    """Rows to compare with, prepared for one distance."""

    metric: ClassVar[str]

    @classmethod
    def of(cls, table: Any) -> Self:
        """Prepare the rows of a matrix."""

    @property
    def width(self) -> int:
        """The number of columns."""

    def __len__(self) -> int: ...

    def nearest(
        self, queries: Self, count: int, without: NDArray[np.int64] | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return distances and places of the nearest rows to each query; query i leaves the row ``without[i]`` out."""

    def __add__(self, other: Self) -> Self: ...

    def take(self, places: NDArray[Any]) -> Self:
        """Return some rows."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything as arrays, for the model file."""

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], width: int) -> Self:
        """Make rows of what :meth:`arrays` gave; raises ValueError if they do not fit together."""


class _Stored:
    """Keeps what is derived, such as an index, out of copies and pickles."""

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


# --------------------------------------------------------------------------------------------------- cosine


@dataclass(frozen=True, eq=False)
class CosineRows(_Stored):
    """Sparse rows of unit length, compared through an inverted index: rows that share no term are never looked at.

    Examples
    --------
    >>> rows = CosineRows.of(np.array([[1.0, 0.0], [3.0, 4.0], [0.0, 2.0]]))
    >>> distances, places = rows.nearest(CosineRows.of(np.array([[0.0, 1.0]])), 2)
    >>> distances.tolist(), places.tolist()
    ([[0.0, 0.2]], [[2, 1]])
    """

    metric: ClassVar[str] = "cosine"
    starts: NDArray[np.int64]
    terms: NDArray[np.int32]
    weights: NDArray[np.float64]
    width: int

    @classmethod
    def of(cls, table: Any) -> CosineRows:
        """Bring the rows of a matrix to unit length; a row of zeros stays."""
        matrix = scipy.sparse.csr_array(table, dtype=np.float64)
        if not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        if matrix.shape[1] > np.iinfo(np.int32).max:
            raise ValueError(f"{matrix.shape[1]:,} columns are more than the index can hold")
        starts, terms = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32, copy=False)
        weights = np.array(matrix.data)
        _native.weigh(starts, terms, weights, False, None, False, "l2", default_threads())
        return cls(starts, terms, weights, matrix.shape[1])

    def __len__(self) -> int:
        return len(self.starts) - 1

    @cached_property
    def _index(self) -> _native.InvertedIndex:
        return _native.InvertedIndex(self.starts, self.terms, self.weights, self.width)

    def nearest(
        self, queries: CosineRows, count: int, without: NDArray[np.int64] | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return distances, one minus the cosine, and places of the nearest rows to each query."""
        return self._index.nearest(queries.starts, queries.terms, queries.weights, count, without, default_threads())

    def __add__(self, other: CosineRows) -> CosineRows:
        _check_width(self.width, other.width)
        return CosineRows(
            np.concatenate([self.starts, other.starts[1:] + self.starts[-1]]),
            np.concatenate([self.terms, other.terms]),
            np.concatenate([self.weights, other.weights]),
            self.width,
        )

    def take(self, places: NDArray[Any]) -> CosineRows:
        """Return some rows."""
        rows = scipy.sparse.csr_array((self.weights, self.terms, self.starts), (len(self), self.width))[places]
        return CosineRows(rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data, self.width)

    def matrix(self) -> Any:
        """Return the rows as a sparse matrix of scipy."""
        return scipy.sparse.csr_array((self.weights, self.terms, self.starts), (len(self), self.width))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything as arrays, for the model file."""
        _check_columns(self.width, len(self.terms))
        return {"rows.starts": self.starts, "rows.terms": self.terms, "rows.weights": self.weights}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], width: int) -> CosineRows:
        """Make rows of what :meth:`arrays` gave; raises ValueError if they do not fit together."""
        starts, terms = (
            _whole(arrays[name], kind) for name, kind in (("rows.starts", np.int64), ("rows.terms", np.int32))
        )
        _check_columns(width, len(terms))
        rows = cls(starts, terms, _real(arrays["rows.weights"], 1), width)
        _ = rows._index  # which checks
        return rows


# ------------------------------------------------------------------------------------------------ Euclidean

_QUERIES, _BLOCK = 512, 1024
"""Queries and rows in one matrix product: its values stay in the cache."""
_UNIT = 2.0**-24


@dataclass(frozen=True)
class _Approximate:
    """Rows moved to their centre, scaled and rounded to 32 bits, each with its squared length behind."""

    centre: NDArray[np.float64]
    scale: float
    table: NDArray[np.float32]
    longest: float

    @classmethod
    def of(cls, table: NDArray[np.float64]) -> _Approximate:
        with np.errstate(over="ignore", invalid="ignore"):
            centre = table.mean(axis=0)
            reach = np.maximum(table.max(axis=0) - centre, centre - table.min(axis=0)).max()
            scale = float(reach) if reach > 0 else 1.0
            rounded = np.empty((len(table), table.shape[1] + 1), np.float32)
            longest = 0.0
            for start in range(0, len(table), 1 << 14):
                part = (table[start : start + (1 << 14)] - centre) / scale
                squares = np.einsum("ij,ij->i", part, part)
                rounded[start : start + len(part), :-1], rounded[start : start + len(part), -1] = part, squares
                longest = max(longest, float(squares.max()) ** 0.5)
        return cls(centre, scale, rounded, longest)

    def queries(self, table: NDArray[np.float64]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return queries q as (−2q, 1), whose product with a row is |x|² − 2qx, and a bound of its rounding."""
        rounded = np.ones((len(table), table.shape[1] + 1), np.float32)
        with np.errstate(over="ignore", invalid="ignore"):
            moved = (table - self.centre) / self.scale
            rounded[:, :-1] = -2.0 * moved
            length = np.sqrt(np.einsum("ij,ij->i", moved, moved))
            # Inputs, products and sums are each rounded: (columns + 4) units of 2‖q‖‖x‖ + ‖x‖².
            error = 1.1 * _UNIT * (table.shape[1] + 6) * (2 * length * self.longest + self.longest**2)
            # Where 32 bits do not reach, nothing is bounded, and every row is compared.
            error = np.where(error < 1e24, error, np.inf)
        return rounded, error.astype(np.float32)


@dataclass(frozen=True, eq=False)
class EuclideanRows(_Stored):
    """Dense rows. Blocked matrix products of 32-bit numbers find candidates, with a bound on their rounding.

    The distances of the candidates are then computed with 64-bit numbers, column by column.

    Examples
    --------
    >>> rows = EuclideanRows.of(np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 2.0]]))
    >>> distances, places = rows.nearest(EuclideanRows.of(np.array([[0.0, 0.0]])), 2)
    >>> distances.tolist(), places.tolist()
    ([[0.0, 2.0]], [[0, 2]])
    """

    metric: ClassVar[str] = "euclidean"
    table: NDArray[np.float64]

    @classmethod
    def of(cls, table: Any) -> EuclideanRows:
        """Take the rows of a matrix."""
        return cls(np.ascontiguousarray(table, np.float64))

    @property
    def width(self) -> int:
        """The number of columns."""
        return int(self.table.shape[1])

    def __len__(self) -> int:
        return len(self.table)

    @cached_property
    def _approximate(self) -> _Approximate:
        return _Approximate.of(self.table)

    def nearest(
        self, queries: EuclideanRows, count: int, without: NDArray[np.int64] | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return distances and places of the nearest rows to each query."""
        parts = [
            self._nearest(queries.table[start : start + _QUERIES], count, _part(without, start))
            for start in range(0, len(queries), _QUERIES)
        ]
        none = (np.zeros((0, count)), np.zeros((0, count), np.int64))
        distances, places = zip(*(parts or [none]), strict=True)
        return np.concatenate(distances), np.concatenate(places)

    def _nearest(
        self, queries: NDArray[np.float64], count: int, without: NDArray[np.int64] | None
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        approximate = self._approximate
        rounded, slack = approximate.queries(queries)
        screen = _native.Screen(count, slack, without)
        with np.errstate(over="ignore", invalid="ignore"):
            for start in range(0, len(self), _BLOCK):
                screen.add(rounded @ approximate.table[start : start + _BLOCK].T, start)
        return screen.nearest(self.table, queries, count, default_threads())

    def __add__(self, other: EuclideanRows) -> EuclideanRows:
        _check_width(self.width, other.width)
        return EuclideanRows(np.concatenate([self.table, other.table]))

    def take(self, places: NDArray[Any]) -> EuclideanRows:
        """Return some rows."""
        return EuclideanRows(self.table[places])

    def matrix(self) -> NDArray[np.float64]:
        """Return the rows as a matrix."""
        return self.table

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything as arrays, for the model file."""
        return {"rows.table": self.table}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], width: int) -> EuclideanRows:
        """Make rows of what :meth:`arrays` gave; raises ValueError if they do not fit together."""
        table = _real(arrays["rows.table"], 2)
        _check_width(table.shape[1], width)
        return cls(table)


# -------------------------------------------------------------------------------------------------- Hamming


@dataclass(frozen=True, eq=False)
class HammingRows(_Stored):
    """Rows of zeros and ones, packed 64 to a word; the distance is the share of columns that differ.

    Examples
    --------
    >>> rows = HammingRows.of(np.array([[0, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 1]]))
    >>> distances, places = rows.nearest(HammingRows.of(np.array([[1, 0, 0, 0]])), 2)
    >>> distances.tolist(), places.tolist()
    ([[0.25, 0.25]], [[0, 1]])
    """

    metric: ClassVar[str] = "hamming"
    words: NDArray[np.uint64]
    width: int

    @classmethod
    def of(cls, table: Any) -> HammingRows:
        """Pack the rows of a matrix of zeros and ones."""
        table = np.asarray(table)
        bits = table != 0
        if not np.array_equal(bits, table):
            raise ValueError("Hamming distances are of zeros and ones; make the table binary first")
        rows, width = table.shape
        bytes_ = np.zeros((rows, max(-(-width // 64), 1) * 8), np.uint8)
        packed = np.packbits(bits, axis=1)
        bytes_[:, : packed.shape[1]] = packed
        return cls(bytes_.view(np.uint64), width)

    def __len__(self) -> int:
        return len(self.words)

    def nearest(
        self, queries: HammingRows, count: int, without: NDArray[np.int64] | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return distances and places of the nearest rows to each query."""
        return _native.hamming_neighbours(self.words, queries.words, self.width, count, without, default_threads())

    def __add__(self, other: HammingRows) -> HammingRows:
        _check_width(self.width, other.width)
        return HammingRows(np.concatenate([self.words, other.words]), self.width)

    def take(self, places: NDArray[Any]) -> HammingRows:
        """Return some rows."""
        return HammingRows(self.words[places], self.width)

    def matrix(self) -> NDArray[np.uint8]:
        """Return the rows as a matrix of zeros and ones."""
        return np.unpackbits(self.words.view(np.uint8), axis=1)[:, : self.width]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything as arrays, for the model file."""
        return {"rows.words": self.words}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], width: int) -> HammingRows:
        """Make rows of what :meth:`arrays` gave; raises ValueError if they do not fit together."""
        words = arrays["rows.words"]
        if words.ndim != 2 or words.dtype.kind != "u" or words.shape[1] != max(-(-width // 64), 1):
            raise ValueError("the words of bits do not fit the columns")
        return cls(words.astype(np.uint64, copy=False), width)


METRICS: dict[str, type[CosineRows] | type[EuclideanRows] | type[HammingRows]] = {
    kind.metric: kind for kind in (CosineRows, EuclideanRows, HammingRows)
}


def _part(without: NDArray[np.int64] | None, start: int) -> NDArray[np.int64] | None:
    return None if without is None else without[start : start + _QUERIES]


_MOST_EMPTY = 1 << 22
"""Columns that rows in a file may have, whether there are values in them or not."""


def _check_width(mine: int, other: int) -> None:
    if mine != other:
        raise ValueError(f"the rows have {mine} columns, the others {other}")


def _check_columns(width: int, values: int) -> None:
    """Refuse columns without end: the index has a place for each, and a small file must not ask for much memory."""
    if width > max(_MOST_EMPTY, values):
        raise ValueError(f"{width:,} columns are too many for a file of {values:,} values; use at most {_MOST_EMPTY:,}")


def _whole(array: NDArray[Any], kind: Any) -> NDArray[Any]:
    if array.ndim != 1 or array.dtype.kind not in "iu" or int(array.max(initial=0)) > np.iinfo(kind).max:
        raise ValueError("the rows are not lists of whole numbers")
    return array.astype(kind, copy=False)


def _real(array: NDArray[Any], dimensions: int) -> NDArray[np.float64]:
    if array.ndim != dimensions or array.dtype != np.float64 or not np.isfinite(array).all():
        raise ValueError("the rows are not finite numbers")
    return np.ascontiguousarray(array)


# ---------------------------------------------------------------------------------------------------- votes


def distance_weights(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weigh neighbours by 1 / distance; those at distance zero, if there are some, alone.

    Examples
    --------
    >>> distance_weights(np.array([[0.5, 2.0], [0.0, 1.0]])).tolist()
    [[2.0, 0.5], [1.0, 0.0]]
    """
    at_zero = distances == 0
    with np.errstate(divide="ignore"):
        weights = 1.0 / distances
    return np.where(at_zero.any(axis=1, keepdims=True), at_zero, weights)


def vote_shares(
    classes: NDArray[np.int64], width: int, weights: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return the share of the votes of each of ``width`` classes, from the classes of each query's neighbours.

    The decision is the class with the largest share; of equal shares, the first class.

    Examples
    --------
    >>> vote_shares(np.array([[0, 1, 1], [2, 2, 2]]), 3).tolist()
    [[0.333333, 0.666667, 0.0], [0.0, 0.0, 1.0]]
    """
    places = classes + np.arange(len(classes))[:, None] * width
    given = None if weights is None else weights.ravel()
    votes = np.bincount(places.ravel(), given, len(classes) * width).reshape(len(classes), width)
    return np.asarray(votes / votes.sum(axis=1, keepdims=True))


def choose_count(
    neighbour_classes: NDArray[np.int64],
    classes: NDArray[np.int64],
    width: int,
    weights: NDArray[np.float64] | None = None,
) -> tuple[int, NDArray[np.float64]]:
    """Choose the number of neighbours that decides the rows best, each by its neighbours among the others.

    One pass over the neighbours of each row, nearest first, gives the accuracy of every number of them. Of equally
    good numbers the smallest is chosen.

    Examples
    --------
    >>> choose_count(np.array([[1, 0, 0], [0, 0, 1], [0, 0, 0]]), np.array([0, 0, 0]), 2)
    (2, array([0.66666667, 1. , 1. ]))
    """
    votes = np.zeros((len(classes), width))
    every = np.arange(len(classes))
    accuracies = np.zeros(neighbour_classes.shape[1])
    for place in range(neighbour_classes.shape[1]):
        votes[every, neighbour_classes[:, place]] += 1.0 if weights is None else weights[:, place]
        accuracies[place] = np.mean(votes.argmax(axis=1) == classes)
    return int(accuracies.argmax()) + 1, accuracies


# ---------------------------------------------------------------------------------------------------- model


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Rows with a class number and an id each: the statistics of a neighbour classifier.

    Adding and taking back give new objects; after taking rows back, nothing of them is left.

    Examples
    --------
    >>> table = np.array([[0.0], [1.0], [5.0]])
    >>> known = Neighbours.of("euclidean", table, np.array([0, 0, 1]))
    >>> known.without([1]).ids.tolist()
    [0, 2]
    >>> known.with_rows(np.array([[4.0]]), np.array([1])).ids.tolist()
    [0, 1, 2, 3]
    """

    rows: Any
    classes: NDArray[np.int64]
    ids: NDArray[np.int64]

    @classmethod
    def of(cls, metric: str, table: Any, classes: NDArray[Any], ids: Any = None) -> Neighbours:
        """Take the rows of a matrix, each with its class number; ids are 0, 1, … if not given."""
        rows = METRICS[metric].of(table)
        known = cls(rows, np.asarray(classes, np.int64), np.arange(len(rows)))
        return known if ids is None else known.with_ids(ids)

    def __len__(self) -> int:
        return len(self.ids)

    def with_rows(self, table: Any, classes: NDArray[Any], ids: Any = None) -> Neighbours:
        """Return these rows and more; new ids go on from the largest if not given."""
        return self._joined(type(self.rows).of(table), classes, ids)

    def _joined(self, rows: Any, classes: NDArray[Any], ids: Any) -> Neighbours:
        first = int(self.ids.max(initial=-1)) + 1
        added = np.arange(first, first + len(rows)) if ids is None else np.asarray(ids)
        if added.shape != (len(rows),) or len(classes) != len(rows) or added.dtype.kind not in "iu":
            raise ValueError(f"{len(rows)} rows need as many classes and whole numbers as ids")
        every = np.concatenate([self.ids, added.astype(np.int64)])
        if len(np.unique(every)) < len(every):
            values, counts = np.unique(every, return_counts=True)
            raise ValueError(f"the id {values[counts > 1][0]} is given twice; each row needs its own")
        return Neighbours(self.rows + rows, np.concatenate([self.classes, np.asarray(classes, np.int64)]), every)

    def with_ids(self, ids: Any) -> Neighbours:
        """Return the same rows with other ids."""
        return replace(self.without(self.ids)._joined(self.rows, self.classes, ids), rows=self.rows)

    def without(self, ids: Any) -> Neighbours:
        """Return these rows without those of some ids; raises ValueError for an id that is not there."""
        given = np.atleast_1d(np.asarray(ids))
        unknown = given[~np.isin(given, self.ids)]
        if len(unknown):
            raise ValueError(f"there is no row with the id {unknown[0]}; nothing was changed")
        kept = np.flatnonzero(~np.isin(self.ids, given))
        return Neighbours(self.rows.take(kept), self.classes[kept], self.ids[kept])

    def nearest(self, table: Any, count: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return distances and places of the nearest rows to each row of a matrix."""
        queries = type(self.rows).of(table)
        _check_width(self.rows.width, queries.width)
        distances, places = self.rows.nearest(queries, count)
        return distances, places

    def nearest_others(self, count: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return distances and places of the nearest other rows to each of the rows here."""
        distances, places = self.rows.nearest(self.rows, count, np.arange(len(self)))
        return distances, places

    def best_count(self, width: int, weighted: bool = False) -> int:
        """Choose the number of neighbours by leaving each row out, in one pass; up to ``MOST_NEIGHBOURS``."""
        if len(self) < 2:
            return 1
        distances, places = self.nearest_others(min(MOST_NEIGHBOURS, len(self) - 1))
        weights = distance_weights(distances) if weighted else None
        return choose_count(self.classes[places], self.classes, width, weights)[0]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything as arrays, for the model file."""
        return {"classes": self.classes, "ids": self.ids, **self.rows.arrays()}

    @classmethod
    def from_arrays(cls, metric: str, width: int, arrays: Mapping[str, NDArray[Any]], classes: int) -> Neighbours:
        """Make neighbours of what :meth:`arrays` gave; raises ValueError if they do not fit together."""
        if metric not in METRICS:
            raise ValueError(f"{metric!r} is not a distance; there are {', '.join(METRICS)}")
        rows = METRICS[metric].from_arrays(arrays, width)
        found = cls(rows, _whole(arrays["classes"], np.int64), _whole(arrays["ids"], np.int64))
        if not len(found.classes) == len(found.ids) == len(rows) or int(found.classes.max(initial=-1)) >= classes:
            raise ValueError("the rows, classes and ids do not fit together")
        return found
