"""JSON lines: an object on each line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np

from discern.data.batch import Batch
from discern.data.buffer import ReadBuffer, last_line_end
from discern.data.formats import FORMATS, Format
from discern.data.source import Reading, without_gaps
from discern.data.vectors.column import packed


def read_jsonl(stream: BinaryIO, source: str, reading: Reading) -> Iterator[Batch]:
    """Return the rows of a file with a JSON object on each line."""
    buffer, row = ReadBuffer(stream, source, reading), 1
    names: dict[str, None] = {}  # also those of earlier blocks: a block may lack a column
    while buffer.fill_row(row):
        block = buffer.content
        end = last_line_end(block) if buffer.follows else len(block)
        lines = [line for line in block[:end].tobytes().split(b"\n") if line.strip()]
        numbered = [(row + place, _json_row(line, source, row + place, reading)) for place, line in enumerate(lines)]
        rows = [(number, values) for number, values in numbered if values is not None]
        names.update(dict.fromkeys(name for _, values in rows for name in values))
        columns = {name: packed([values.get(name) for _, values in rows]) for name in names}
        yield from without_gaps(columns, np.array([number for number, _ in rows], np.int64), source)
        buffer.consume(end)
        row += len(lines)


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
