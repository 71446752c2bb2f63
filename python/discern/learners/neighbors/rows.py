"""Rows in which the nearest ones are found exactly: by cosine, by Euclidean distance, by differing bits.

Neighbors are ranked by distance and then by row, whatever the number of threads. The result is that of comparing each
query with every row; query i leaves the row ``without[i]`` out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse

import discern._native as _native
from discern.data.encode import is_sparse
from discern.data.threads import default_threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Nearest = tuple[NDArray[np.float64], NDArray[np.int64]]
    """Distances and places of the nearest rows, a row a query."""


_QUERIES, _BLOCK = 512, 1024
"""Queries and rows in one matrix product: its values stay in the cache."""
_TREE_COLUMNS, _TREE_ROWS, _TREE_SHARE = 8, 64, 16
"""Rows of at most this many columns are searched through a tree if there are at least this many for each corner of a
cell, and if at most one in this many is a neighbor."""
_DENSE_SHARE, _DENSE_COLUMNS = 0.4, 1 << 12
"""Rows with this share of numbers that are not zero, and at most this many columns, are compared as dense ones."""
MOST_WEIGHT = 1 + 1e-6
"""No number of a row of unit length is greater, but for rounding."""
_UNIT = 2.0**-24
"""The relative rounding error of a 32-bit number."""
_MOST_EMPTY = 1 << 22
"""Columns that rows in a file may have, whether there are values in them or not."""


class _Stored:
    """Keeps what is derived, such as an index, out of copies and pickles."""

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


# --------------------------------------------------------------------------------------------------- cosine


def _compressed(table: NDArray[Any]) -> Any:
    """Return dense rows as compressed sparse ones; where no number is zero, no place need be looked for."""
    count, columns = table.shape
    if table.all() and table.size <= np.iinfo(np.int32).max:
        starts, terms = (
            np.arange(count + 1, dtype=np.int32) * columns,
            np.tile(np.arange(columns, dtype=np.int32), count),
        )
        return scipy.sparse.csr_array((table.astype(np.float64).ravel(), terms, starts), shape=table.shape)
    return scipy.sparse.csr_array(table, dtype=np.float64)


def _unit_rows(table: Any) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """Return the rows of a matrix, each of unit length: where they start, their columns and their numbers."""
    matrix = _compressed(table) if isinstance(table, np.ndarray) else scipy.sparse.csr_array(table, dtype=np.float64)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    starts, terms = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32, copy=False)
    weights = np.array(matrix.data)
    _native.weigh(starts, terms, weights, False, None, False, "l2", default_threads())
    return starts, terms, weights


@dataclass(frozen=True, eq=False)
class CosineRows(_Stored):
    """Rows of unit length, compared through an inverted index: rows that share no term are never looked at.

    Where few numbers are zero, blocked matrix products of 32-bit numbers find candidates, as for dense rows.

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
    n_features: int

    @classmethod
    def of(cls, table: Any) -> CosineRows:
        """Bring the rows of a matrix to unit length when they are first needed; a row of zeros stays."""
        if table.shape[1] > np.iinfo(np.int32).max:
            raise ValueError(f"{table.shape[1]:,} columns are more than the index can hold")
        rows = object.__new__(cls)
        rows.__dict__.update(n_features=table.shape[1], _given=table)
        return rows

    def __getattr__(self, name: str) -> Any:
        """Scale the rows that were given when one of the three arrays is asked for that are not there yet."""
        table = self.__dict__.get("_given")
        if table is not None and name in ("starts", "terms", "weights"):
            self.__dict__.update(zip(("starts", "terms", "weights"), _unit_rows(table), strict=True))
            self.__dict__["_given"] = None
        if name not in self.__dict__:  # it is there if another thread has just scaled the rows
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return self.__dict__[name]

    def __len__(self) -> int:
        table = self.__dict__.get("_given")
        return len(self.starts) - 1 if table is None else int(table.shape[0])

    @cached_property
    def _index(self) -> _native.InvertedIndex:
        return _native.InvertedIndex(self.starts, self.terms, self.weights, self.n_features)

    @cached_property
    def _table(self) -> NDArray[np.float64] | None:
        """The rows as a dense table; None if most numbers are zero."""
        cells = len(self) * self.n_features
        if self.n_features > _DENSE_COLUMNS or len(self.terms) < _DENSE_SHARE * max(cells, 1):
            return None
        return np.asarray(self.matrix().toarray())

    @cached_property
    def _rounded(self) -> NDArray[np.float32]:
        return np.asarray(self._table, np.float32)

    def nearest(self, queries: CosineRows, count: int, without: NDArray[np.int64] | None = None) -> Nearest:
        """Return distances, one minus the cosine, and places of the nearest rows to each query."""
        if self._table is not None and len(self) > 0:
            return _in_parts(self._nearest_dense, queries.matrix(), count, without)
        return self._index.nearest(queries.starts, queries.terms, queries.weights, count, without, default_threads())

    def _nearest_dense(self, queries: Any, count: int, without: NDArray[np.int64] | None) -> Nearest:
        """Find candidates by blocked matrix products, of which the values are −q·x."""
        assert self._table is not None
        asked = np.asarray(queries.toarray())
        # Inputs, products and sums are each rounded: (columns + 4) units, of rows of unit length.
        slack = np.full(len(asked), 1.1 * _UNIT * (self.n_features + 6), np.float32)
        rounded, screen = -asked.astype(np.float32), _native.Screen(count, slack, without)
        for start in range(0, len(self), _BLOCK):
            screen.add(rounded @ self._rounded[start : start + _BLOCK].T, start)
        return screen.nearest(self._table, asked, count, True, default_threads())

    def __add__(self, other: CosineRows) -> CosineRows:
        check_n_features(self.n_features, other.n_features)
        return CosineRows(
            np.concatenate([self.starts, other.starts[1:] + self.starts[-1]]),
            np.concatenate([self.terms, other.terms]),
            np.concatenate([self.weights, other.weights]),
            self.n_features,
        )

    def take(self, places: NDArray[Any]) -> CosineRows:
        """Return some rows."""
        rows = self.matrix()[places]
        return CosineRows(rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data, self.n_features)

    def matrix(self) -> Any:
        """Return the rows as a sparse matrix of scipy."""
        starts = self.starts if len(self.terms) > np.iinfo(np.int32).max else self.starts.astype(np.int32)
        return scipy.sparse.csr_array((self.weights, self.terms, starts), (len(self), self.n_features))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything as arrays, for the model file."""
        _check_columns(self.n_features, len(self.terms))
        return {"rows.starts": self.starts, "rows.terms": self.terms, "rows.weights": self.weights}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], n_features: int) -> CosineRows:
        """Make rows of what :meth:`arrays` gave; raises ValueError if they do not fit together."""
        starts, terms = (
            whole_numbers(arrays[name], kind) for name, kind in (("rows.starts", np.int64), ("rows.terms", np.int32))
        )
        _check_columns(n_features, len(terms))
        weights = _real(arrays["rows.weights"], 1)
        if bool(np.abs(weights).max(initial=0.0) > MOST_WEIGHT):
            raise ValueError("the rows are not of unit length")
        rows = cls(starts, terms, weights, n_features)
        _ = rows._index  # which checks
        return rows


# ------------------------------------------------------------------------------------------------ Euclidean


@dataclass(frozen=True)
class _Approximate:
    """Rows moved to their center, scaled and rounded to 32 bits, each with its squared length behind."""

    center: NDArray[np.float64]
    scale: float
    table: NDArray[np.float32]
    longest: float

    @classmethod
    def of(cls, table: NDArray[np.float64]) -> _Approximate:
        with np.errstate(over="ignore", invalid="ignore"):
            center = table.mean(axis=0)
            reach = np.maximum(table.max(axis=0) - center, center - table.min(axis=0)).max()
            scale = float(reach) if reach > 0 else 1.0
            rounded = np.empty((len(table), table.shape[1] + 1), np.float32)
            longest = 0.0
            for start in range(0, len(table), 1 << 14):
                part = (table[start : start + (1 << 14)] - center) / scale
                squares = np.einsum("ij,ij->i", part, part)
                rounded[start : start + len(part), :-1], rounded[start : start + len(part), -1] = part, squares
                longest = max(longest, float(squares.max()) ** 0.5)
        return cls(center, scale, rounded, longest)

    def queries(self, table: NDArray[np.float64]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return queries q as (−2q, 1), whose product with a row is |x|² − 2qx, and a bound of its rounding."""
        rounded = np.ones((len(table), table.shape[1] + 1), np.float32)
        with np.errstate(over="ignore", invalid="ignore"):
            moved = (table - self.center) / self.scale
            rounded[:, :-1] = -2.0 * moved
            length = np.sqrt(np.einsum("ij,ij->i", moved, moved))
            # Inputs, products and sums are each rounded: (columns + 4) units of 2‖q‖‖x‖ + ‖x‖².
            error = 1.1 * _UNIT * (table.shape[1] + 6) * (2 * length * self.longest + self.longest**2)
            # Where 32 bits do not reach, nothing is bounded, and every row is compared.
            error = np.where(error < 1e24, error, np.inf)
        return rounded, error.astype(np.float32)


@dataclass(frozen=True, eq=False)
class EuclideanRows(_Stored):
    """Dense rows. Those of few columns are searched through a k-d tree, which is built for the first query.

    For others, blocked matrix products of 32-bit numbers find candidates, with a bound on their rounding. The
    distances of the candidates are then computed with 64-bit numbers, column by column.

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
        return cls(np.ascontiguousarray(_dense(table), np.float64))

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return int(self.table.shape[1])

    def __len__(self) -> int:
        return len(self.table)

    @cached_property
    def _approximate(self) -> _Approximate:
        return _Approximate.of(self.table)

    @cached_property
    def _tree(self) -> _native.Tree:
        return _native.Tree(self.table)

    def nearest(self, queries: EuclideanRows, count: int, without: NDArray[np.int64] | None = None) -> Nearest:
        """Return distances and places of the nearest rows to each query."""
        least = max(_TREE_ROWS << min(self.n_features, _TREE_COLUMNS), _TREE_SHARE * count)
        if 0 < self.n_features <= _TREE_COLUMNS and len(self) >= least:
            check_n_features(self.n_features, queries.n_features)
            return self._tree.nearest(queries.table, count, without, default_threads())
        return _in_parts(self._nearest, queries.table, count, without)

    def _nearest(self, queries: NDArray[np.float64], count: int, without: NDArray[np.int64] | None) -> Nearest:
        approximate = self._approximate
        rounded, slack = approximate.queries(queries)
        screen = _native.Screen(count, slack, without)
        with np.errstate(over="ignore", invalid="ignore"):
            for start in range(0, len(self), _BLOCK):
                screen.add(rounded @ approximate.table[start : start + _BLOCK].T, start)
        return screen.nearest(self.table, queries, count, False, default_threads())

    def __add__(self, other: EuclideanRows) -> EuclideanRows:
        check_n_features(self.n_features, other.n_features)
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
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], n_features: int) -> EuclideanRows:
        """Make rows of what :meth:`arrays` gave; raises ValueError if they do not fit together."""
        table = _real(arrays["rows.table"], 2)
        check_n_features(table.shape[1], n_features)
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
    n_features: int

    @classmethod
    def of(cls, table: Any) -> HammingRows:
        """Pack the rows of a matrix of zeros and ones."""
        table = _dense(table)
        bits = table != 0
        if not np.array_equal(bits, table):
            raise ValueError("Hamming distances are of zeros and ones; make the table binary first")
        rows, n_features = table.shape
        bytes_ = np.zeros((rows, max(-(-n_features // 64), 1) * 8), np.uint8)
        packed = np.packbits(bits, axis=1)
        bytes_[:, : packed.shape[1]] = packed
        return cls(bytes_.view(np.uint64), n_features)

    def __len__(self) -> int:
        return len(self.words)

    def nearest(self, queries: HammingRows, count: int, without: NDArray[np.int64] | None = None) -> Nearest:
        """Return distances and places of the nearest rows to each query."""
        return _native.hamming_neighbors(self.words, queries.words, self.n_features, count, without, default_threads())

    def __add__(self, other: HammingRows) -> HammingRows:
        check_n_features(self.n_features, other.n_features)
        return HammingRows(np.concatenate([self.words, other.words]), self.n_features)

    def take(self, places: NDArray[Any]) -> HammingRows:
        """Return some rows."""
        return HammingRows(self.words[places], self.n_features)

    def matrix(self) -> NDArray[np.uint8]:
        """Return the rows as a matrix of zeros and ones."""
        return np.unpackbits(self.words.view(np.uint8), axis=1)[:, : self.n_features]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything as arrays, for the model file."""
        return {"rows.words": self.words}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], n_features: int) -> HammingRows:
        """Make rows of what :meth:`arrays` gave; raises ValueError if they do not fit together."""
        words = arrays["rows.words"]
        if words.ndim != 2 or words.dtype.kind != "u" or words.shape[1] != max(-(-n_features // 64), 1):
            raise ValueError("the words of bits do not match the columns")
        return cls(words.astype(np.uint64, copy=False), n_features)


METRICS: dict[str, type[CosineRows] | type[EuclideanRows] | type[HammingRows]] = {
    kind.metric: kind for kind in (CosineRows, EuclideanRows, HammingRows)
}


def _in_parts(find: Callable[..., Nearest], queries: Any, count: int, without: NDArray[np.int64] | None) -> Nearest:
    """Find the nearest rows to some queries at a time."""
    parts = [
        find(queries[start : start + _QUERIES], count, _part(without, start))
        for start in range(0, queries.shape[0], _QUERIES)
    ]
    none = (np.zeros((0, count)), np.zeros((0, count), np.int64))
    distances, places = zip(*(parts or [none]), strict=True)
    return np.concatenate(distances), np.concatenate(places)


def _part(without: NDArray[np.int64] | None, start: int) -> NDArray[np.int64] | None:
    return None if without is None else without[start : start + _QUERIES]


def check_n_features(mine: int, other: int) -> None:
    """Refuse rows with another number of columns."""
    if mine != other:
        raise ValueError(f"the rows have {mine} columns, the others {other}")


def _check_columns(n_features: int, values: int) -> None:
    """Refuse columns without end: the index has a place for each, and a small file must not ask for much memory."""
    if n_features > max(_MOST_EMPTY, values):
        raise ValueError(
            f"{n_features:,} columns are too many for a file of {values:,} values; use at most {_MOST_EMPTY:,}"
        )


def whole_numbers(array: NDArray[Any], kind: Any) -> NDArray[Any]:
    """Return an array of whole numbers as another type; refuse what does not fit."""
    if array.ndim != 1 or array.dtype.kind not in "iu" or int(array.max(initial=0)) > np.iinfo(kind).max:
        raise ValueError("the rows are not lists of whole numbers")
    return array.astype(kind, copy=False)


def _real(array: NDArray[Any], dimensions: int) -> NDArray[np.float64]:
    if array.ndim != dimensions or array.dtype != np.float64 or not np.isfinite(array).all():
        raise ValueError("the rows are not finite numbers")
    return np.ascontiguousarray(array)


def _dense(table: Any) -> NDArray[Any]:
    """Return a matrix as an array: sparse queries are compared with dense rows."""
    return np.asarray(table.toarray() if is_sparse(table) else table)
