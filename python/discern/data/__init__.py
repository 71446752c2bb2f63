"""Files, frames and rows as batches of named columns: the only reader."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import numpy as np

import discern._native as _native

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

BLOCK = 1 << 20
"""Bytes of a file read at once."""
LONGEST_HEADER = 1 << 20
"""Bytes within which the first line of a CSV file must end."""


class DataError(ValueError):
    """Bad input: the message says what is wrong, where, and what to do."""


@dataclass(frozen=True)
class Strings:
    """A column of strings as Arrow keeps it: value i is ``data[offsets[i]:offsets[i + 1]]``, in UTF-8.

    Examples
    --------
    >>> strings = Strings.of(["spam", "ham"])
    >>> len(strings), strings[1], strings.to_list()
    (2, 'ham', ['spam', 'ham'])
    """

    offsets: NDArray[np.int64]
    data: NDArray[np.uint8]

    @classmethod
    def of(cls, values: Sequence[str]) -> Strings:
        """Pack strings; lone surrogates are kept."""
        encoded = [value.encode("utf-8", "surrogatepass") for value in values]
        offsets = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(value) for value in encoded], out=offsets[1:])
        return cls(offsets, np.frombuffer(b"".join(encoded), np.uint8))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> str:
        start, end = int(self.offsets[index]), int(self.offsets[index + 1])
        return self.data[start:end].tobytes().decode("utf-8", "surrogatepass")

    def rows(self, start: int, end: int | None = None) -> Strings:
        """Give the values from ``start`` to ``end``, without a copy."""
        return Strings(self.offsets[start : len(self) + 1 if end is None else end + 1], self.data)

    def take(self, keep: NDArray[Any]) -> Strings:
        """Give the values where ``keep`` is true, or at the places it lists."""
        places = np.flatnonzero(keep) if keep.dtype == bool else keep
        lengths = (self.offsets[1:] - self.offsets[:-1])[places]
        offsets = np.zeros(len(places) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        # Byte j of the result comes from the start of its value plus its distance from there.
        sources = np.repeat(self.offsets[:-1][places] - offsets[:-1], lengths)
        return Strings(offsets, self.data[sources + np.arange(offsets[-1])])

    def to_list(self) -> list[str]:
        """Give all values as Python strings."""
        data, offsets = self.data.tobytes(), self.offsets.tolist()
        return [data[start:end].decode("utf-8", "surrogatepass") for start, end in pairwise(offsets)]

    def native(self) -> tuple[str, NDArray[np.int64], NDArray[np.uint8]]:
        """Give the column as the native code takes it."""
        return ("offsets", np.ascontiguousarray(self.offsets), self.data)


Column = Any
"""``Strings``, a list of values, or an Arrow array."""


@dataclass(frozen=True)
class Batch:
    """Rows with named columns; ``start`` is the number of the first row in its source, from 1."""

    columns: Mapping[str, Column]
    rows: int
    source: str = "the rows"
    start: int = 1

    def column(self, name: str) -> Column:
        """Give a column, or say which ones there are."""
        if name in self.columns:
            return self.columns[name]
        raise DataError(f"{self.source} has no column {name!r}{did_you_mean(name, self.columns)}")

    def texts(self, name: str) -> Any:
        """Give a text column as the native code takes it; a missing text is an empty one."""
        return as_texts(self.column(name), f"column {name!r} of {self.source}", self.start)

    def labels(self, name: str) -> tuple[NDArray[np.int32], list[str]]:
        """Give the number of each row's label and the distinct labels; a missing label is an error."""
        column = as_texts(self.column(name), f"column {name!r} of {self.source}", self.start, missing="label")
        numbers, offsets, data = _native.distinct(column)
        labels = Strings(offsets, data).to_list()
        for number, label in enumerate(labels):
            if not label or "\0" in label:
                fault = "has a NUL in its label" if label else "has no label"
                row = self.start + int(np.flatnonzero(numbers == number)[0])
                raise DataError(f"row {row} of {self.source} {fault} in column {name!r}; give it one or leave it out")
        return numbers, labels

    @property
    def size(self) -> int:
        """About how many bytes the rows take."""
        return sum(_size(column) for column in self.columns.values())

    def take(self, keep: NDArray[np.bool_]) -> Batch:
        """Give the rows where ``keep`` is true."""
        places = np.flatnonzero(keep)
        columns = {name: _taken(column, places) for name, column in self.columns.items()}
        return Batch(columns, len(places), self.source, self.start)

    def row(self, place: int) -> dict[str, Any]:
        """Give one row as a mapping of column to value."""
        return {name: _value(column, place) for name, column in self.columns.items()}


def _size(column: Column) -> int:
    if isinstance(column, Strings):
        return int(column.offsets[-1] - column.offsets[0]) + 8 * len(column)
    if hasattr(column, "nbytes"):
        return int(column.nbytes)
    return sum(len(value) if isinstance(value, str) else 8 for value in column)


def _taken(column: Column, places: NDArray[np.int64]) -> Column:
    if isinstance(column, Strings | np.ndarray) or hasattr(column, "to_pylist"):
        return column.take(places)
    values = list(column)
    return [values[place] for place in places.tolist()]


def _value(column: Column, place: int) -> Any:
    value = column[place] if not hasattr(column, "iloc") else column.iloc[place]
    return value.as_py() if hasattr(value, "as_py") else value


def can_be_read_again(source: Any) -> bool:
    """Say whether :func:`batches` gives the same rows when called once more."""
    if isinstance(source, str | os.PathLike):
        return str(source) != "-" and Path(source).is_file()
    if isinstance(source, Sources):
        return all(can_be_read_again(part) for part in source)
    # A frame has a length; a stream has none.
    return isinstance(source, Batch | Mapping | Sequence) or hasattr(source, "__len__")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Say which known names there are, the closest first."""
    names = list(known)
    close = get_close_matches(name, names, n=1, cutoff=0.6)
    listed = ", ".join(map(repr, names[:12])) + (", …" if len(names) > 12 else "")
    return f"; did you mean {close[0]!r}? There are {listed}" if close else f"; there are {listed}"


def as_texts(column: Column, place: str, start: int = 1, missing: str = "") -> Any:
    """Turn a column into what the native code takes: a list of ``str``, or a tuple of Arrow buffers."""
    if isinstance(column, Strings):
        return column.native()
    if hasattr(column, "__arrow_c_array__") or hasattr(column, "__arrow_c_stream__"):
        return _arrow_texts(column, place, start, missing)
    values = column.tolist() if isinstance(column, np.ndarray) else list(column)
    for index, value in enumerate(values):
        if is_missing(value):
            if missing:
                raise DataError(f"row {start + index} of {place} has no {missing}; give it one or leave it out")
            values[index] = ""
        elif not isinstance(value, str):
            values[index] = str(value)
    return values


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, or what pandas has for them."""
    if isinstance(value, str):
        return False
    not_a_number = isinstance(value, float | np.floating) and value != value
    return value is None or not_a_number or type(value).__name__ in ("NAType", "NaTType")


def _arrow_texts(column: Any, place: str, start: int, missing: str) -> Any:
    import pyarrow as pa

    array = pa.chunked_array(column) if hasattr(column, "__arrow_c_stream__") else pa.array(column)
    if isinstance(array, pa.ChunkedArray):
        if array.num_chunks > 1 and (pa.types.is_string(array.type) or pa.types.is_string_view(array.type)):
            array = array.cast(pa.large_string())  # has room for all chunks; views cannot always be joined
        array = array.chunk(0) if array.num_chunks == 1 else array.combine_chunks()
    if array.null_count and missing:
        row = start + array.is_null().to_pylist().index(True)
        raise DataError(f"row {row} of {place} has no {missing}; give it one or leave it out")
    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    if not any(kind(array.type) for kind in kinds) or (array.null_count and pa.types.is_string_view(array.type)):
        try:
            if isinstance(array, pa.DictionaryArray):
                array = array.dictionary.cast(pa.large_string()).take(array.indices)
            array = array.cast(pa.large_string())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise DataError(
                f"{place} is of type {array.type}, which cannot be read as text; convert it first"
            ) from error
    if array.null_count:
        array = array.fill_null("")
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


# ---------------------------------------------------------------------------------------------- sources


@dataclass
class Reading:
    """How files are read, and what is told while reading.

    ``format`` is ``"csv"``, ``"tsv"``, ``"jsonl"`` or ``"parquet"``; by default the name of the file tells.
    ``progress`` is called with the number of bytes read.
    """

    format: str | None = None
    progress: Callable[[int], None] = field(default=lambda _: None)


@dataclass(frozen=True)
class Sources:
    """Several sources, read one after the other."""

    parts: tuple[Any, ...]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.parts)


def batches(source: Any, reading: Reading | None = None) -> Iterator[Batch]:
    """Give the rows of a path, frame, Arrow table, list of rows or iterable of batches, batch by batch.

    Examples
    --------
    >>> [batch] = batches([{"label": "spam", "text": "win"}, {"label": "ham", "text": "hello"}])
    >>> batch.rows, list(batch.columns)
    (2, ['label', 'text'])
    """
    reading = reading or Reading()
    if isinstance(source, Batch):
        yield source
    elif isinstance(source, str | os.PathLike):
        yield from _file(Path(source), reading)
    elif isinstance(source, Mapping):
        yield _from_mapping(source)
    elif hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__"):
        yield from _from_arrow(source)
    elif isinstance(source, Sequence):
        yield _from_rows(source)
    elif isinstance(source, Iterable):
        for part in source:
            yield from batches(part, reading)
    else:
        kind = type(source).__name__
        raise DataError(f"cannot read rows from a {kind}; give a path, a data frame, an Arrow table or a list of rows")


def _from_mapping(source: Mapping[str, Any]) -> Batch:
    lengths = {str(name): len(column) for name, column in source.items()}
    if len(set(lengths.values())) > 1:
        raise DataError(f"the columns have different lengths: {lengths}")
    columns = {str(name): _encoded(column) for name, column in source.items()}
    return Batch(columns, next(iter(lengths.values()), 0))


def _encoded(column: Any) -> Column:
    return column if hasattr(column, "__len__") and not isinstance(column, str) else list(column)


def _from_rows(rows: Sequence[Any]) -> Batch:
    if all(isinstance(row, str) for row in rows):
        return Batch({"text": list(rows)}, len(rows))
    for index, row in enumerate(rows):
        if not isinstance(row, Mapping):
            kind = type(row).__name__
            raise DataError(f"row {index + 1} is a {kind}; each row must be a string or a mapping of column to value")
    names = list(dict.fromkeys(str(name) for row in rows for name in row))
    return Batch({name: [row.get(name) for row in rows] for name in names}, len(rows))


def _from_arrow(source: Any) -> Iterator[Batch]:
    import pyarrow as pa

    try:
        table = pa.table(source)
    except (TypeError, ValueError) as fault:
        try:
            array = pa.chunked_array(source) if hasattr(source, "__arrow_c_stream__") else pa.array(source)
        except (TypeError, ValueError):
            raise DataError(f"cannot read rows from a {type(source).__name__}: {fault}") from fault
        yield Batch({"text": array}, len(array))
        return
    start = 1
    for part in table.to_batches() or [table]:  # in chunks, as they lie in memory
        yield Batch(_columns(table.column_names, part.columns, "the table"), part.num_rows, "the table", start)
        start += part.num_rows


def _columns(names: Sequence[str], columns: Sequence[Column], source: str) -> dict[str, Column]:
    """Put names to columns, each name once."""
    named = dict(zip(names, columns, strict=True))
    if len(named) < len(columns):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise DataError(f"{source} has the column {twice!r} twice; rename one")
    return named


FORMATS = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}
COMPRESSIONS = (".gz", ".bz2", ".zst")


def _file(path: Path, reading: Reading) -> Iterator[Batch]:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    compression = suffixes.pop() if suffixes and suffixes[-1] in COMPRESSIONS else ""
    name = reading.format or (FORMATS.get(suffixes[-1]) if suffixes else None)
    if str(path) == "-":
        name = name or "csv"
    if name not in set(FORMATS.values()):
        known = ", ".join(sorted(FORMATS))
        raise DataError(
            f"cannot tell the format of {str(path)!r}; name it {known} (also .gz, .bz2, .zst) or give the format"
        )
    if name == "parquet":
        yield from _parquet(path, reading)
        return
    source = "standard input" if str(path) == "-" else str(path)
    with _open(path, compression) as stream:
        yield from _csv(stream, source, name, reading) if name != "jsonl" else _jsonl(stream, source, reading)


def _open(path: Path, compression: str) -> BinaryIO:
    if str(path) == "-":
        return cast(BinaryIO, sys.stdin.buffer)
    if not path.exists():
        siblings = [str(other) for other in path.parent.iterdir()] if path.parent.is_dir() else []
        close = get_close_matches(str(path), siblings, n=1)
        raise DataError(f"there is no file {str(path)!r}" + (f"; did you mean {close[0]!r}?" if close else ""))
    if path.is_dir():
        raise DataError(f"{str(path)!r} is a folder; give a file")
    if compression == ".gz":
        import gzip

        return cast(BinaryIO, gzip.open(path, "rb"))
    if compression == ".bz2":
        import bz2

        return cast(BinaryIO, bz2.open(path, "rb"))
    if compression == ".zst":
        import pyarrow as pa

        return cast(BinaryIO, pa.CompressedInputStream(pa.OSFile(str(path), "rb"), "zstd"))
    return path.open("rb", buffering=0)


class _Window:
    """A part of a file in memory: it is filled from behind and emptied from the front, without copying more."""

    def __init__(self, stream: BinaryIO, source: str, reading: Reading) -> None:
        self._stream, self._source, self._reading = stream, source, reading
        self._buffer = bytearray(max(BLOCK, 4))  # room for a byte order mark
        self._start = self._end = 0
        self._new = self.follows = True

    def more(self) -> bool:
        """Read on; false when the file has ended and nothing is left."""
        if not self.follows:
            return False
        left = self._end - self._start
        if left == len(self._buffer):
            self._buffer.extend(bytes(len(self._buffer)))
        else:
            self._buffer[:left] = self._buffer[self._start : self._end]
        self._start, self._end = 0, left + self._read(left)
        if self._new:
            self._begin()
        return self.follows or self._end > self._start

    def _begin(self) -> None:
        """Pass over a byte order mark."""
        while self.follows and self._end < 3:
            self._end += self._read(self._end)
        self._new, mark = False, bytes(self._buffer[: min(self._end, 3)])
        if mark[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise DataError(f"{self._source} is UTF-16; convert it to UTF-8, for example with iconv -f utf-16 -t utf-8")
        self._start = 3 if mark == b"\xef\xbb\xbf" else 0

    def _read(self, position: int) -> int:
        import zlib

        try:
            with memoryview(self._buffer) as view, view[position:] as room:
                count = self._stream.readinto(room)  # type: ignore[attr-defined]
        except (OSError, EOFError, ValueError, zlib.error) as error:
            raise DataError(f"cannot read {self._source}: {error}") from error
        self.follows = bool(count)
        self._reading.progress(count)
        return int(count)

    @property
    def content(self) -> NDArray[np.uint8]:
        """What is in memory."""
        return np.frombuffer(self._buffer, np.uint8)[self._start : self._end]

    def drop(self, count: int) -> None:
        """Let go of so many bytes at the front."""
        self._start += count


def _csv(stream: BinaryIO, source: str, name: str, reading: Reading) -> Iterator[Batch]:
    header: list[str] = []
    window, row, delimiter = _Window(stream, source, reading), 0, "\t" if name == "tsv" else ","
    while window.more():
        if not header:
            start = window.content[: LONGEST_HEADER + 1].tobytes()
            header, delimiter = _csv_header(start, delimiter, window.follows, source)
            if not header:
                continue  # the first line goes on
        parsed = _native.parse_csv(
            window.content, [True] * len(header), delimiter=ord(delimiter), follows=window.follows
        )
        _refuse_bad_rows(parsed, header, source, row)
        window.drop(parsed.consumed)
        first = 1 if row == 0 and parsed.rows else 0  # the header is parsed as a row, row 0
        columns = {name: Strings(*column).rows(first) for name, column in zip(header, parsed.columns, strict=True)}
        if parsed.rows > first:
            yield Batch(columns, parsed.rows - first, source, row + first)
        row += parsed.rows
    if not header:
        raise DataError(f"{source} is empty; it should begin with a line of column names")


def _csv_header(content: bytes, delimiter: str, follows: bool, source: str) -> tuple[list[str], str]:
    """Give the column names and the delimiter; no names if the first line goes on behind ``content``."""
    given, start = delimiter, content[:LONGEST_HEADER]
    line = start.split(b"\n", 1)[0].decode("utf-8", "replace")
    if delimiter == "," and "," not in line:
        delimiter = next((other for other in ";\t|" if other in line), ",")

    def parse(wanted: int) -> _native.Parsed:
        goes_on = follows or len(content) > len(start)
        block = np.frombuffer(start, np.uint8)
        return _native.parse_csv(block, [True] * wanted, delimiter=ord(delimiter), follows=goes_on)

    rows = parse(0).ragged  # no row has no fields: all of them
    if not rows and len(content) < LONGEST_HEADER:
        return [], given
    if not rows:
        raise DataError(f"the first line of {source} does not end; it should have the column names")
    parsed = parse(rows[0][1])
    if parsed.invalid is not None and parsed.invalid[1] == 0:
        raise DataError(
            f"the first line of {source} is not UTF-8; convert the file, for example with iconv -f latin1 -t utf-8"
        )
    names = [Strings(*column)[0] for column in parsed.columns]
    if names == [""]:
        raise DataError(f"the first line of {source} is blank; it should have the column names")
    if any("\r" in name for name in names):
        raise DataError(f"the first line of {source} has a carriage return in it; lines must end with \\n or \\r\\n")
    return list(_columns(names, names, source)), delimiter


def _refuse_bad_rows(parsed: _native.Parsed, header: list[str], source: str, row: int) -> None:
    if parsed.ragged and (parsed.unclosed is None or parsed.ragged[0][0] < parsed.unclosed):
        place, fields = parsed.ragged[0]
        raise DataError(
            f"row {row + place} of {source} has {fields} fields, but there are {len(header)} columns; "
            "put quotes around fields that hold the delimiter or a line break"
        )
    if parsed.unclosed is not None:
        raise DataError(f"row {row + parsed.unclosed} of {source} has a quote that is never closed; close or double it")
    if parsed.invalid is not None:
        column, place = parsed.invalid
        raise DataError(
            f"row {row + place} of {source}, column {header[column]!r}, is not UTF-8; "
            "convert the file, for example with iconv -f latin1 -t utf-8"
        )


def _jsonl(stream: BinaryIO, source: str, reading: Reading) -> Iterator[Batch]:
    window, row = _Window(stream, source, reading), 1
    names: dict[str, None] = {}  # those of earlier blocks too: a block may lack a column
    while window.more():
        content = window.content.tobytes()
        whole = content[: content.rfind(b"\n") + 1] if window.follows else content
        window.drop(len(whole))
        lines = [line for line in whole.split(b"\n") if line.strip()]
        rows = [_json_row(line, source, row + index) for index, line in enumerate(lines)]
        if rows:
            names.update(dict.fromkeys(name for values in rows for name in values))
            yield Batch({name: [values.get(name) for values in rows] for name in names}, len(rows), source, row)
        row += len(rows)


def _json_row(line: bytes, source: str, row: int) -> dict[str, Any]:
    try:
        values = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise DataError(f"row {row} of {source} is not UTF-8; convert the file first") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"row {row} of {source} is not JSON: {error}") from error
    if not isinstance(values, dict):
        raise DataError(f"row {row} of {source} is a JSON {type(values).__name__}; each line must be an object")
    return values


def _parquet(path: Path, reading: Reading) -> Iterator[Batch]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    _open(path, "").close()
    row = 1
    try:
        file = pq.ParquetFile(path)
        for batch in file.iter_batches(batch_size=1 << 15):
            reading.progress(batch.nbytes)
            yield Batch(_columns(batch.schema.names, batch.columns, str(path)), batch.num_rows, str(path), row)
            row += batch.num_rows
    except (pa.ArrowException, UnicodeDecodeError, OSError) as error:
        raise DataError(f"cannot read {str(path)!r} as Parquet: {error}") from error


def size_of(source: Any) -> int | None:
    """Give the size of an uncompressed file in bytes, if that is known."""
    if isinstance(source, str | os.PathLike) and Path(source).is_file() and Path(source).suffix not in COMPRESSIONS:
        return Path(source).stat().st_size
    return None
