"""JSON lines: an object on each line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

import discern._native as _native
from discern.data.batch import Batch, Column
from discern.data.buffer import ReadBuffer, last_line_end
from discern.data.formats import FORMATS, Format
from discern.data.source import Reading, without_gaps
from discern.data.strings import Strings
from discern.data.vectors.column import Vectors, packed, packed_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Found = tuple[NDArray[np.int64], dict[str, Column], int]
    """The places of the rows that were read among the lines of a block, their columns, and the number of lines."""


NULL, TRUTH, INTEGER, FLOAT, TEXT, NUMBERS = (1 << place for place in range(6))
"""What a value is, as the native code tells it."""


def read_jsonl(stream: BinaryIO, source: str, reading: Reading) -> Iterator[Batch]:
    """Return the rows of a file with a JSON object on each line."""
    buffer, row = ReadBuffer(stream, source, reading), 1
    names: dict[str, None] = {}  # also those of earlier blocks: a block may lack a column
    while buffer.fill_row(row):
        block = buffer.content
        end = last_line_end(block) if buffer.follows else len(block)
        found = _read_at_once(block[:end])
        if found is None:
            found = _read_line_by_line(block[:end], source, row, reading)
        numbers, columns, lines = found
        names.update(dict.fromkeys(columns))
        whole = {name: columns[name] if name in columns else [None] * len(numbers) for name in names}
        yield from without_gaps(whole, numbers + row, source)
        buffer.consume(end)
        row += lines


def _read_at_once(block: NDArray[np.uint8]) -> Found | None:
    """Read a block by the native code; None if it has a row that is rare or no object."""
    parsed = _native.parse_json_lines(block)
    if parsed is None:
        return None
    rows, found = parsed
    columns = {column.name: _column(column, block, rows) for column in found}
    if any(column is None for column in columns.values()):
        return None
    return np.arange(rows), columns, rows


def _column(found: _native.JsonColumn, block: NDArray[np.uint8], rows: int) -> Column | None:
    """Return a column in the form that takes the least time later; None if a value cannot be read."""
    kinds = found.kinds & ~NULL
    if not kinds:
        return [None] * rows
    if kinds == TEXT:
        return _texts(found, block)
    if kinds in (INTEGER, FLOAT, TRUTH):
        return _typed(found, {INTEGER: np.int64, FLOAT: np.float64, TRUTH: np.bool_}[kinds])
    if kinds == INTEGER | FLOAT:
        return _mixed_numbers(found)
    if kinds == NUMBERS:
        vectors = _vectors(found)
        if vectors is not None:
            return vectors
    return _values(found, block)


def _texts(found: _native.JsonColumn, block: NDArray[np.uint8]) -> Column:
    strings = Strings(found.spans()[0], block, found.spans()[1])
    if not found.kinds & NULL:
        return strings
    import pyarrow as pa

    packed, missing = strings.packed(), found.row_kinds() != TEXT
    validity = pa.py_buffer(np.packbits(~missing, bitorder="little"))
    buffers = [validity, pa.py_buffer(packed.offsets), pa.py_buffer(packed.data)]
    return pa.Array.from_buffers(pa.large_string(), len(packed), buffers)


def _typed(found: _native.JsonColumn, kind: Any) -> Column:
    numbers = found.numbers()
    if not found.kinds & NULL:
        return numbers.astype(kind, copy=False)
    import pyarrow as pa

    missing = np.isnan(numbers)
    return pa.array(np.where(missing, 0, numbers).astype(kind), mask=missing)


def _mixed_numbers(found: _native.JsonColumn) -> Column:
    """Return Python's numbers: as a text or level, 1 is not 1.0."""
    kinds, values = found.row_kinds(), found.numbers().astype(object)
    whole = kinds == INTEGER
    values[whole] = found.numbers()[whole].astype(np.int64)
    values[kinds <= NULL] = None
    return values.tolist()


def _vectors(found: _native.JsonColumn) -> Vectors | None:
    """Return arrays of numbers as vectors, as :func:`packed` does."""
    numbers, ends = found.arrays()
    lengths = np.diff(ends, prepend=0)
    if lengths[0] < 2 or np.any(lengths != lengths[0]):
        return None
    present = found.row_kinds() == NUMBERS
    values = packed_rows(numbers.reshape(len(lengths), -1), present)
    return values


def _values(found: _native.JsonColumn, block: NDArray[np.uint8]) -> Column | None:
    """Return the values of a column of several kinds; None if one is not JSON."""
    content, (starts, ends) = block.tobytes(), found.spans()
    try:
        values = [
            json.loads(content[start:end]) if end else None
            for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
        ]
    except (ValueError, RecursionError):
        return None
    return packed(values)


def _read_line_by_line(block: NDArray[np.uint8], source: str, row: int, reading: Reading) -> Found:
    """Read a block by Python's JSON, which names the fault of a row."""
    lines = [line for line in block.tobytes().split(b"\n") if line.strip()]
    numbered = [(place, _json_row(line, source, row + place, reading)) for place, line in enumerate(lines)]
    rows = [(place, values) for place, values in numbered if values is not None]
    names = dict.fromkeys(name for _, values in rows for name in values)
    columns = {name: packed([values.get(name) for _, values in rows]) for name in names}
    return np.array([place for place, _ in rows], np.int64), columns, len(lines)


def _json_row(line: bytes, source: str, row: int, reading: Reading) -> dict[str, Any] | None:
    """Return a row, or None for one to leave out."""
    try:
        values = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError:
        fault = reading.encoding_fault
        if reading.keeps_bad_rows:
            reading.report_fault(source, f"row {row} of {source} {fault}")
            return _json_row(line.decode("utf-8", "replace").encode(), source, row, reading)
    except (ValueError, RecursionError) as error:
        fault = f"is not JSON: {error}"
    else:
        if isinstance(values, dict):
            return values
        fault = f"is a JSON {type(values).__name__}; each line must be an object"
    reading.report_fault(source, f"row {row} of {source} {fault}")
    return {} if reading.keeps_bad_rows else None


FORMATS.add(
    Format(
        name="jsonl",
        position=2,
        title="JSON lines",
        suffixes=(".jsonl", ".ndjson"),
        about="An object on each line. Blank lines are skipped.",
        read=read_jsonl,
        spark={"format": "json", "mode": "FAILFAST", "encoding": "UTF-8"},
    )
)
