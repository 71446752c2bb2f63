"""Rows with named columns: their texts, numbers, labels and values, from any container."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

import discern._native as _native
from discern.data.strings import DataError, Strings
from discern.data.values import canonical, doubles, folded_moment, is_missing, merged, separator_hint, written
from discern.data.vectors.column import Vectors, lengths_of

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray


T = TypeVar("T")
Column = Any
"""``Strings``, ``Vectors``, a list of values, or an array of NumPy or Arrow."""


@dataclass(frozen=True)
class Batch:
    """Rows with named columns; ``start`` is the number of the first row in its source, from 1."""

    columns: Mapping[str, Column]
    rows: int
    source: str = "the rows"
    start: int = 1
    is_partial: bool = False
    """Whether the rows are records, which need not have every column of a model."""
    min_word_length: ClassVar[int] = 2
    """The default for the shortest word of such rows, in characters."""

    def column(self, name: str) -> Column:
        """Return a column; raises ``DataError`` with the names of all columns if there is none of this name."""
        if name in self.columns:
            return self.columns[name]
        raise DataError(f"{self.source_has} no column {name!r}{did_you_mean(name, self.columns)}")

    @property
    def source_has(self) -> str:
        """The source and "has" or "have", for messages."""
        return f"{self.source} {'have' if self.source == 'the rows' else 'has'}"

    def is_text(self, name: str) -> bool:
        """Return whether a column is known to hold text, whatever its values look like."""
        return name == "text"

    def texts(self, name: str) -> Any:
        """Return a text column as the native code takes it; missing texts are empty."""
        if name not in self._texts:
            self._texts[name] = self._as_texts(name)
        return self._texts[name]

    def _as_texts(self, name: str, **how: Any) -> Any:
        return as_texts(self.column(name), f"column {name!r} of {self.source}", self.start, **how)

    def read_texts(self, name: str, read: Callable[[Any, bool], T]) -> T:
        """Call ``read`` with a text column, and with whether it must raise ``UnicodeError`` for invalid UTF-8.

        Texts of Arrow may be invalid. To check them first takes as long as to fetch them from memory, so a function
        that reads them all should check them on the way.
        """
        if name in self._texts or not is_arrow(self.column(name)):
            return read(self.texts(name), False)
        texts = self._as_texts(name, checked=False)
        try:
            result = read(texts, True)
        except UnicodeError:
            self.texts(name)  # raises DataError with the number of the row
            raise
        self._texts[name] = texts
        return result

    @cached_property
    def _texts(self) -> dict[str, Any]:
        """The text columns that have been checked."""
        return {}

    def vectors(self, name: str, n_axes: int | None = None) -> Vectors:
        """Return a column of vectors, each of ``n_axes`` numbers if that is known; raises ``DataError`` for others."""
        found = self._vectors.get(name)
        if found is None or n_axes not in (None, found.n_axes):
            found = Vectors.of(self.column(name), lambda place: self.place_of(place, name), n_axes)
            self._vectors[name] = found
        return found

    @cached_property
    def _vectors(self) -> dict[str, Vectors]:
        """The columns of vectors that have been read."""
        return {}

    def place_of(self, place: int, name: str) -> str:
        """Return the row and the column of a value, for messages."""
        return f"row {self.start + place} of {self.source}, column {name!r}"

    def labels(self, name: str) -> tuple[NDArray[np.int32], list[str]]:
        """Return the code of each row's label and the distinct labels; raises ``DataError`` for a missing label."""
        self._refuse_sets(name)
        numbers, offsets, data = _native.distinct(self._as_texts(name, missing="label"))
        numbers, labels = merged(numbers, map(canonical, Strings(offsets, data).to_list()))
        for number, label in enumerate(labels):
            if not label or "\0" in label:
                fault = f"has {'a NUL in its' if label else 'no'} label in column {name!r}; add one or remove the row"
                row = self.start + int(np.flatnonzero(numbers == number)[0])
                raise DataError(f"row {row} of {self.source} {fault}{separator_hint(labels, numbers)}")
        return numbers, labels

    def _refuse_sets(self, name: str) -> None:
        column = self.column(name)
        if lengths_of(column) is not None or (
            isinstance(column, list) and not {set, frozenset}.isdisjoint(map(type, column))
        ):
            raise DataError(
                f"column {name!r} of {self.source} holds lists of labels, and the model has one label a row; pass one "
                "label for each row, or train a model on lists"
            )

    @property
    def size(self) -> int:
        """The approximate size of the rows in bytes."""
        return sum(_size(column) for column in self.columns.values())

    def take(self, keep: NDArray[np.bool_]) -> Batch:
        """Return the rows where ``keep`` is true."""
        places = np.flatnonzero(keep)
        columns = {name: _taken(column, places) for name, column in self.columns.items()}
        return replace(self, columns=columns, rows=len(places))

    def repeated(self, times: NDArray[np.integer[Any]]) -> Batch:
        """Return each row as often as ``times`` tells."""
        places = np.repeat(np.arange(self.rows), times)
        columns = {name: _taken(column, places) for name, column in self.columns.items()}
        return replace(self, columns=columns, rows=len(places))

    def first(self, rows: int) -> Batch:
        """Return the first rows, without a copy."""
        if rows >= self.rows:
            return self
        return replace(
            self, columns={name: part_of(column, 0, rows) for name, column in self.columns.items()}, rows=rows
        )

    def row(self, place: int) -> dict[str, Any]:
        """Return one row as a mapping of column to value."""
        return {name: _value(column, place) for name, column in self.columns.items()}


SHORT = 32
"""A text of at most this many bytes has the size of a number: numbers, dates and truth values are not longer."""


def row_sizes(batch: Batch) -> NDArray[np.int64]:
    """Return the approximate size of each row in bytes, which is the same in every container.

    Examples
    --------
    >>> row_sizes(Batch({"text": ["win " * 10, ""], "size": [1.5, "2"]}, 2)).tolist()
    [64, 32]
    """
    sizes = np.zeros(batch.rows, np.int64)
    for column in batch.columns.values():
        sizes += _value_sizes(column)
    return sizes


def _value_sizes(column: Column) -> NDArray[np.int64] | int:
    """Return the approximate size of each value in bytes."""
    if type(column) is np.ndarray and column.dtype == np.float64 and column.ndim == 1:
        return 16
    listed = None if isinstance(column, Strings) else lengths_of(column)
    if listed is not None:
        return 8 + 4 * listed
    lengths = _lengths(column)
    return 16 if lengths is None else 8 + np.where(lengths > SHORT, lengths, 8)


def _size(column: Column) -> int:
    sizes = _value_sizes(column)
    return sizes * len(column) if isinstance(sizes, int) else int(sizes.sum())


def _lengths(column: Column) -> NDArray[np.int64] | None:
    """Return the length of each text in bytes, 0 if it is missing; None if the column does not hold text."""
    if isinstance(column, Strings):
        return column.lengths
    if is_arrow(column):
        return _arrow_lengths(column)
    if isinstance(column, np.ndarray) and column.dtype.kind in "biufMm":
        return None
    column = column.tolist() if isinstance(column, np.ndarray) else column  # NumPy's texts are slow one by one
    if {*map(type, column)} == {str} and all(map(str.isascii, column)):
        return np.fromiter(map(len, column), np.int64, len(column))
    texts = (value if isinstance(value, str | bytes) else "" for value in column)
    return np.array([len(text) if text.isascii() else _length(text) for text in texts], np.int64)


def _length(text: str | bytes) -> int:
    return len(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))


def _arrow_lengths(column: Any) -> NDArray[np.int64] | None:
    import pyarrow as pa
    import pyarrow.compute as pc

    array = _arrow(column)
    if not _is_kind(_value_type(array.type), STRINGS | BYTES):
        return None
    lengths = pc.fill_null(pc.binary_length(_text_array(array).cast(pa.large_string())), 0)
    return np.asarray(lengths.to_numpy(zero_copy_only=False), np.int64) if len(array) else np.zeros(0, np.int64)


def _taken(column: Column, places: NDArray[np.int64]) -> Column:
    if isinstance(column, Strings | Vectors):
        return column.take(places)
    if isinstance(column, np.ndarray):
        return column.take(places, axis=0)
    if is_arrow(column):
        array = _arrow(column)
        # Arrow cannot take from views of strings, which polars has.
        return (array.cast("large_string") if str(array.type) == "string_view" else array).take(places)
    values = list(column)
    return [values[place] for place in places.tolist()]


def values_of(column: Column) -> list[Any]:
    """Return the values of a column as Python objects, None for Arrow's nulls; see :mod:`discern.data.values`."""
    if isinstance(column, Strings | Vectors):
        return column.to_list()
    if is_arrow(column):
        return _arrow_values(_arrow(column))
    if isinstance(column, np.ndarray):
        kind = "M" if column.ndim > 1 else column.dtype.kind
        return doubles(column).tolist() if kind == "f" else list(column) if kind in "Mm" else column.tolist()
    return list(column)


def _value(column: Column, place: int) -> Any:
    return values_of(part_of(column, place, place + 1))[0]


def part_of(column: Column, start: int, end: int) -> Column:
    """Return the values of a column from ``start`` to ``end``, without a copy."""
    return column.rows(start, end) if isinstance(column, Strings) else column[start:end]


def without_index(table: Any, only_unnamed: bool = False) -> Any:
    """Drop the index of a pandas frame, which numbers the rows and is not a predictor.

    Files keep an index that has a name, because it may have been written on purpose.
    """
    try:
        described = table.schema.pandas_metadata or {}
    except ValueError:  # the metadata of pandas are not JSON
        return table
    index = described.get("index_columns") if isinstance(described, dict) else None
    listed = index if isinstance(index, list) else []
    hidden = {name for name in listed if isinstance(name, str)} & {*table.schema.names}
    return table.drop_columns([name for name in hidden if not only_unnamed or name.startswith("__index_level_")])


def named_columns(names: Sequence[str], columns: Sequence[Column], source: str) -> dict[str, Column]:
    """Return columns by name; raises ``DataError`` if two have the same name."""
    named = dict(zip(names, columns, strict=True))
    if len(named) < len(columns):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise DataError(f"{source} has the column {twice!r} twice; rename one")
    return named


MOST_NAMES = 16
"""The most names that an error lists."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown name: the closest known name, and a list of them."""
    from difflib import get_close_matches

    names = list(known)
    if not names:
        return ""
    close = get_close_matches(name, names, n=1, cutoff=0.6)
    listed = ", ".join(map(repr, names[:MOST_NAMES])) + (", …" if len(names) > MOST_NAMES else "")
    return f"; did you mean {close[0]!r}? Choose one of: {listed}" if close else f"; choose one of: {listed}"


def as_texts(column: Column, place: str, start: int = 1, missing: str = "", checked: bool = True) -> Any:
    """Return a column as the native code takes it: a list of ``str``, or a tuple of Arrow buffers.

    Other values become texts as in a CSV file. With ``missing``, the name of what is missing, a missing value raises
    ``DataError``. Unless ``checked``, texts of Arrow may be invalid UTF-8.
    """
    if isinstance(column, Strings):
        return column.native()
    if is_arrow(column):
        return _arrow_texts(column, place, start, missing, checked)
    if isinstance(column, Vectors) or getattr(column, "ndim", 1) > 1:
        raise DataError(f"{place} holds vectors, which cannot be read as text; use it as a vector")
    values = values_of(column)
    if set(map(type, values)) == {str}:
        return values
    return [_text(value, f"row {start + index} of {place}", missing) for index, value in enumerate(values)]


def _text(value: Any, place: str, missing: str) -> str:
    try:
        text = written(value)
    except UnicodeDecodeError:
        raise DataError(f"{place} is not UTF-8; convert the column first") from None
    if text is None and missing:
        raise DataError(f"{place} has no {missing}; add one or remove the row")
    return text or ""


def typed_numbers(column: Column, truth: bool = True) -> NDArray[np.float64] | None:
    """Return a column of numbers, NaN where one is missing; None if the column holds anything else.

    With ``truth``, Boolean values are numbers too.

    Examples
    --------
    >>> typed_numbers([1, 2.5, None]).tolist(), typed_numbers(["1"])
    ([1.0, 2.5, nan], None)
    """
    if type(column) is np.ndarray and column.dtype == np.float64 and column.ndim == 1:  # quick, for wide tables
        return column
    if isinstance(column, Strings | Vectors) or getattr(column, "ndim", 1) > 1:
        return None
    if is_arrow(column):
        return _arrow_numbers(_arrow(column), truth)
    if isinstance(column, np.ndarray):
        return doubles(column) if column.dtype.kind in ("biuf" if truth else "iuf") else None
    if not set(map(type, column)) <= ({int, float, type(None), bool} if truth else {int, float, type(None)}):
        return None
    try:
        return np.array(column, np.float64)
    except OverflowError:
        return None


# --------------------------------------------------------------------------------------------------------- Arrow

STRINGS = frozenset({"string", "large_string", "string_view"})
BYTES = frozenset({"binary", "large_binary", "binary_view", "fixed_size_binary"})


def is_arrow(column: Column) -> bool:
    """Return whether a column is an Arrow array of any library."""
    return hasattr(column, "__arrow_c_array__") or hasattr(column, "__arrow_c_stream__")


def as_column(column: Any) -> Column:
    """Return a column of any library as an Arrow or NumPy array, or as a list."""
    if isinstance(column, Strings | Vectors | list | np.ndarray):
        return column
    if is_arrow(column):
        import pyarrow as pa

        with suppress(pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):  # values of several types
            array = _arrow(column)
            if not is_guessed(column, array.type):
                return array
    return column.to_numpy() if hasattr(column, "to_numpy") else list(column)


def is_guessed(column: Any, kind: Any) -> bool:
    """Return whether Arrow converted a pandas column of mixed types to one type, such as integers to dates."""
    if str(getattr(column, "dtype", "")) != "object" or _is_kind(kind, STRINGS):
        return False
    return len(set(map(type, column))) > 1 and len({type(value) for value in column if not is_missing(value)}) > 1


def _arrow(column: Any) -> Any:
    """Return an Arrow column as a pyarrow array."""
    import pyarrow as pa

    if isinstance(column, pa.Array | pa.ChunkedArray):
        return column
    return pa.chunked_array(column) if hasattr(column, "__arrow_c_stream__") else pa.array(column)


def _is_kind(kind: Any, names: frozenset[str]) -> bool:
    return str(kind).partition("[")[0] in names


def _value_type(kind: Any) -> Any:
    import pyarrow as pa

    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _arrow_numbers(array: Any, truth: bool) -> NDArray[np.float64] | None:
    import pyarrow as pa

    if pa.types.is_floating(array.type):
        return doubles(array.to_numpy(zero_copy_only=False)) if len(array) else np.zeros(0)
    if pa.types.is_integer(array.type) or (truth and pa.types.is_boolean(array.type)):
        return np.asarray(array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), np.float64)
    return None


def _arrow_values(array: Any) -> list[Any]:
    """Return the values of an Arrow array; times as texts, because Python's times have too few digits."""
    import pyarrow as pa

    if pa.types.is_floating(array.type):
        numbers = doubles(array.to_numpy(zero_copy_only=False)) if len(array) else np.zeros(0)
        return [None if number != number else number for number in numbers.tolist()]
    if pa.types.is_timestamp(array.type):
        zone = "" if array.type.tz is None else "Z"
        texts = np.datetime_as_string(array.to_numpy(zero_copy_only=False)).tolist() if len(array) else []
        return [None if text == "NaT" else folded_moment(text + zone) for text in texts]
    if pa.types.is_duration(array.type):
        return list(array.to_numpy(zero_copy_only=False))
    return list(array.to_pylist())


def _text_array(array: Any) -> Any:
    """Return an Arrow array of any type as strings; each distinct value is converted once."""
    import pyarrow as pa

    if isinstance(array, pa.ChunkedArray):
        if _is_kind(array.type, STRINGS):
            return array
        return pa.chunked_array([_text_array(part) for part in array.chunks], pa.large_string())
    if _is_kind(array.type, STRINGS):
        return array
    if _is_kind(array.type, BYTES):
        return array.cast(pa.large_binary()).view(pa.large_string())
    encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    values = encoded.dictionary
    if _is_kind(values.type, STRINGS | BYTES):
        texts = _text_array(values).cast(pa.large_string())  # Arrow cannot take from views, which polars has
    else:
        texts = pa.array([written(value) for value in _arrow_values(values)], pa.large_string())
    return texts.take(encoded.indices)


def _arrow_texts(column: Any, place: str, start: int, missing: str, checked: bool) -> Any:
    import pyarrow as pa

    array = _arrow(column)
    try:
        array = _text_array(array)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise DataError(f"{place} is of type {array.type}, which cannot be read as text; convert it first") from error
    if isinstance(array, pa.ChunkedArray):
        if array.num_chunks > 1:
            array = array.cast(pa.large_string())  # has room for all chunks; views cannot always be joined
        array = array.chunk(0) if array.num_chunks == 1 else array.combine_chunks()
    if array.null_count and missing:
        row = start + array.is_null().to_pylist().index(True)
        raise DataError(f"row {row} of {place} has no {missing}; add one or remove the row")
    if array.null_count:
        array = (array.cast(pa.large_string()) if pa.types.is_string_view(array.type) else array).fill_null("")
    if checked:
        _refuse_bad_strings(array, place, start)
    return _arrow_views(array) if pa.types.is_string_view(array.type) else _arrow_strings(array).native()


def _refuse_bad_strings(array: pa.Array[Any], place: str, start: int) -> None:
    import pyarrow as pa

    def sound(part: pa.Array[Any]) -> bool:
        try:
            part.validate(full=True)
        except pa.ArrowInvalid:
            return False
        return True

    if not sound(array):
        row = next((row for row in range(len(array)) if not sound(array.slice(row, 1))), 0)
        raise DataError(f"row {start + row} of {place} is not UTF-8; convert the column first")


def _arrow_strings(array: pa.Array[Any]) -> Strings:
    import pyarrow as pa

    kind = np.int64 if pa.types.is_large_string(array.type) else np.int32
    _, offsets, data = array.buffers()
    if offsets is None or not len(array):
        return Strings(np.zeros(1, np.int64), np.zeros(0, np.uint8))
    places = np.frombuffer(offsets, kind)[array.offset : array.offset + len(array) + 1]
    content = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(0, np.uint8)
    return Strings(places.astype(np.int64, copy=False), content)


def _arrow_views(array: pa.Array[Any]) -> Any:
    buffers = array.buffers()
    if not len(array):
        return Strings.of([]).native()
    views = np.frombuffer(buffers[1], np.uint8)[16 * array.offset : 16 * (array.offset + len(array))]
    return ("views", views, [np.frombuffer(buffer, np.uint8) for buffer in buffers[2:] if buffer is not None])
