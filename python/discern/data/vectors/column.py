"""A column of vectors in single precision, and reading one from arrays, Arrow, lists and texts.

Embeddings are made in single or half precision, so a vector is read in single precision wherever it comes from: the
same vector from Parquet, JSON and NumPy is then the same number by number.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.data.strings import DataError
from discern.data.values import is_missing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Where = Callable[[int], str]
    """Tells the row and the column of a place in a column, for messages."""

MOST_AXES = 4096
"""The limit on the numbers of a vector: sums of products take their square."""
MOST_SINGLE = 3.4e38
"""The limit on the numbers of a vector, a little below that of single precision."""
SINGLE = {str, bytes, int, float, bool, type(None)}
"""Types of values that are no vectors; looked at first, because most values are of these."""
MISSING = ("", "?", "NA", "N/A", "null", "None")
"""Texts that stand for no vector."""


@dataclass(frozen=True)
class Vectors:
    """A column of vectors: rows × axes, zeros where there is none.

    Examples
    --------
    >>> column = Vectors.of([[1.0, 0.5], None])
    >>> column.values.tolist(), column.present.tolist(), column[1:].to_list()
    ([[1.0, 0.5], [0.0, 0.0]], [True, False], [None])
    """

    values: NDArray[np.float32]
    present: NDArray[np.bool_]

    @classmethod
    def of(cls, column: Any, where: Where | None = None, n_axes: int | None = None) -> Vectors:
        """Read a column of any container; all vectors must have ``n_axes`` numbers, or as many as the first.

        Raises ``DataError`` for anything else. ``where`` tells the row and the column of a place.
        """
        return read(column, where or (lambda place: f"row {place + 1}"), n_axes)

    def __len__(self) -> int:
        return len(self.present)

    def __getitem__(self, part: slice) -> Vectors:
        return Vectors(self.values[part], self.present[part])

    def take(self, places: NDArray[Any]) -> Vectors:
        """Return the vectors at some places."""
        return Vectors(self.values[places], self.present[places])

    def to_list(self) -> list[NDArray[np.float32] | None]:
        """Return the vectors one by one, None where there is none."""
        return [row if there else None for row, there in zip(self.values, self.present.tolist(), strict=True)]

    @property
    def n_axes(self) -> int:
        """The numbers of a vector."""
        return int(self.values.shape[1])


def is_sequence(value: Any) -> bool:
    """Return whether a value is a list, a tuple or an array of one dimension, of any library.

    Examples
    --------
    >>> [is_sequence(value) for value in ([0.5], np.zeros(2), "ab", 1.0, np.float32(1))]
    [True, True, False, False, False]
    """
    if isinstance(value, list | tuple):
        return True
    return getattr(value, "ndim", 0) == 1 or type(value).__name__ in ("Series", "array", "memoryview")


def lengths_of(column: Any) -> NDArray[np.int64] | None:
    """Return the length of each list of a column, 0 where there is none; None if it does not hold lists."""
    if isinstance(column, Vectors):
        return np.where(column.present, column.n_axes, 0)
    if isinstance(column, np.ndarray):
        if column.ndim == 2:
            return np.full(len(column), column.shape[1], np.int64)
        if column.dtype != object:
            return None
    elif _is_arrow(column):
        return _arrow_lengths(column)
    elif not isinstance(column, list | np.ndarray):
        return None
    types = {*map(type, column)}
    if types and types <= {list, tuple}:
        return np.fromiter(map(len, column), np.int64, len(column))
    if types <= SINGLE or not any(is_sequence(value) for value in column):
        return None
    return np.array([len(value) if is_sequence(value) else 0 for value in column], np.int64)


def seems_vectors(column: Any) -> bool:
    """Return whether a column holds lists of numbers, all of one length from 2.

    Examples
    --------
    >>> [seems_vectors(column) for column in ([[0.5, 1], None], [[0.5, 1], [1.0]], [["a", "b"]], ["[1, 2]", ""])]
    [True, False, False, True]
    """
    try:
        found = read(column, str, None)
    except DataError:
        return False
    return found.n_axes >= 2 and bool(found.present.any())


def packed(values: list[Any]) -> Any:
    """Return a list of values as a column of vectors if all are, for the memory they take; else as it is."""
    first = next((value for value in values if value is not None), None)
    if not isinstance(first, list) or len(first) < 2 or type(first[0]) not in (float, int):
        return values
    try:
        found = Vectors.of(values)
    except DataError:
        return values
    return found if all(value is None or isinstance(value, list) for value in values) else values


def packed_rows(rows: NDArray[np.float64], present: NDArray[np.bool_]) -> Vectors | None:
    """Return the vectors of the rows that are present, given as an array; None if one holds no vector's numbers."""
    try:
        return _of_rows(rows, present, str, None)
    except DataError:
        return None


# ------------------------------------------------------------------------------------------------------- reading


def read(column: Any, where: Where, n_axes: int | None) -> Vectors:
    """Return a column of any container as vectors of ``n_axes`` numbers, or of as many as the first has."""
    if isinstance(column, Vectors):
        _check_length(column.n_axes, n_axes, where(_first(column.present)))
        return column
    if isinstance(column, np.ndarray) and column.ndim == 2:
        return _of_rows(column, np.ones(len(column), bool), where, n_axes)
    if _is_arrow(column):
        return _of_arrow(_storage(column), where, n_axes)
    if isinstance(column, np.ndarray) and column.dtype != object and len(column):
        raise DataError(f"{where(0)}: a vector is missing; the array must have two dimensions: rows and numbers")
    return _of_values(list(column), where, n_axes)


def _first(present: NDArray[np.bool_]) -> int:
    return int(present.argmax()) if len(present) else 0


def _check_length(length: int, n_axes: int | None, place: str) -> None:
    """Refuse vectors of another length than the model has learned, or of one that is too long or empty."""
    if n_axes is not None and length != n_axes:
        raise DataError(
            f"{place}: the vector has {length} numbers and the vectors learned have {n_axes}; make it in the same way"
        )
    if not 1 <= length <= MOST_AXES:
        raise DataError(f"{place}: the vector has {length} numbers; a vector has from 1 to {MOST_AXES:,}")


def _of_rows(rows: NDArray[Any], present: NDArray[np.bool_], where: Where, n_axes: int | None) -> Vectors:
    """Return the vectors of the rows that are present, given as an array."""
    places = np.flatnonzero(present)
    if not len(places):
        return Vectors(np.zeros((len(present), n_axes or 0), np.float32), present)
    _check_length(int(rows.shape[1]), n_axes, where(int(places[0])))
    if rows.dtype.kind not in "iuf":
        raise DataError(f"{where(int(places[0]))}: the vector does not hold numbers; pass one of numbers, or none")
    with np.errstate(over="ignore"):
        found = rows.astype(np.float32, copy=False)
    if not (found.min() >= -MOST_SINGLE and found.max() <= MOST_SINGLE):  # so is NaN
        _refuse(found, rows, places, where)
    if len(places) == len(present):
        return Vectors(found, present)
    wide = np.zeros((len(present), found.shape[1]), np.float32)
    wide[places] = found
    return Vectors(wide, present)


def _refuse(found: NDArray[np.float32], given: NDArray[Any], places: NDArray[np.int64], where: Where) -> None:
    """Name the first vector that holds NaN, infinity, or a number beyond single precision."""
    row, axis = (int(place) for place in np.argwhere(~(np.abs(found) <= MOST_SINGLE))[0])
    number = float(given[row, axis])
    place = where(int(places[row]))
    if np.isfinite(number):
        raise DataError(
            f"{place}: {number:g} is too large for a vector; the numbers of a vector are up to {MOST_SINGLE:g}"
        )
    raise DataError(
        f"{place}: number {axis + 1} of the vector is {number:g}; correct it, or leave the whole vector out if it is "
        "missing"
    )


def _of_values(values: list[Any], where: Where, n_axes: int | None) -> Vectors:
    """Return the vectors of a list of values: sequences, texts such as ``[0.5, 1]``, or missing values."""
    if any(isinstance(value, str) for value in values):
        values = [
            _parsed(value, where, place) if isinstance(value, str) else value for place, value in enumerate(values)
        ]
    present = np.array([is_sequence(value) or not is_missing(value) for value in values], bool)
    some = [values[place] for place in np.flatnonzero(present).tolist()]
    try:
        rows = np.array([np.asarray(value) for value in some] if _has_arrays(some) else some)
    except (ValueError, TypeError, OverflowError):
        rows = np.zeros(0, object)
    if some and (rows.ndim != 2 or rows.dtype.kind not in "iuf"):
        rows = _one_by_one(some, np.flatnonzero(present), where, n_axes)
    return _of_rows(rows.reshape(len(some), -1) if some else rows, present, where, n_axes)


def _has_arrays(values: Sequence[Any]) -> bool:
    return any(not isinstance(value, list | tuple) for value in values)


def _parsed(text: str, where: Where, place: int) -> Any:
    """Return the list that a text holds, None if it stands for a missing vector."""
    if text.strip() in MISSING:
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list):
        raise DataError(f"{where(place)}: {text[:40]!r} is not a vector; write [0.1, 0.2, …], or leave it empty")
    return found


def _one_by_one(
    values: Sequence[Any], places: NDArray[np.int64], where: Where, n_axes: int | None
) -> NDArray[np.float64]:
    """Read vectors that are no table of numbers: find the one at fault, or convert number by number."""
    rows: list[list[float]] = []
    for value, place in zip(values, places.tolist(), strict=True):
        if not is_sequence(value):
            raise DataError(f"{where(place)}: {str(value)[:40]!r} is not a vector; pass a list of numbers, or none")
        row = [_number(one, where(place), axis) for axis, one in enumerate(value)]
        _check_length(len(row), n_axes, where(place))
        if rows and len(row) != len(rows[0]):
            raise DataError(
                f"{where(place)}: the vector has {len(row)} numbers and that of {where(int(places[0]))} has "
                f"{len(rows[0])}; all vectors of a column must have the same length"
            )
        rows.append(row)
    return np.array(rows, np.float64)


def _number(value: Any, place: str, axis: int) -> float:
    is_number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not is_number:
        shown = "missing" if value is None else f"{str(value)[:40]!r}, not a number"
        raise DataError(f"{place}: number {axis + 1} of the vector is {shown}; correct it, or leave the vector out")
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


# --------------------------------------------------------------------------------------------------------- Arrow


def _is_arrow(column: Any) -> bool:
    return hasattr(column, "__arrow_c_array__") or hasattr(column, "__arrow_c_stream__")


def _storage(column: Any) -> Any:
    """Return an Arrow column as one pyarrow array, without an extension type."""
    import pyarrow as pa

    if not isinstance(column, pa.Array | pa.ChunkedArray):
        column = pa.chunked_array(column) if hasattr(column, "__arrow_c_stream__") else pa.array(column)
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return column.storage if hasattr(column, "storage") else column


def _is_list(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _is_numeric(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind))


def _arrow_lengths(column: Any) -> NDArray[np.int64] | None:
    import pyarrow.compute as pc

    array = _storage(column)
    if not _is_list(array.type) or not _is_numeric(array.type.value_type):
        return None
    lengths = pc.fill_null(pc.list_value_length(array), 0)
    return np.asarray(lengths.to_numpy(zero_copy_only=False), np.int64)


def _of_arrow(array: Any, where: Where, n_axes: int | None) -> Vectors:
    import pyarrow.compute as pc

    if not _is_list(array.type):
        return _of_values(array.to_pylist(), where, n_axes)
    present = np.asarray(array.is_valid().to_numpy(zero_copy_only=False), bool)
    places = np.flatnonzero(present)
    if not len(places):
        return _of_rows(np.zeros((0, 0)), present, where, n_axes)
    flat = array.flatten()  # without what lies behind missing lists
    lengths = pc.list_value_length(array).to_numpy(zero_copy_only=False)[places]
    if not _is_numeric(flat.type) or flat.null_count or lengths.min() != lengths.max():
        some = [array[place].as_py() for place in places.tolist()]
        return _of_rows(_one_by_one(some, places, where, n_axes), present, where, n_axes)
    return _of_rows(flat.to_numpy(zero_copy_only=False).reshape(len(places), -1), present, where, n_axes)
