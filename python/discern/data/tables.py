"""Tables: CSV, JSON lines, Parquet, Arrow and svmlight."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

import discern._native as _native
from discern.data.batch import Batch, Column, named_columns, without_index
from discern.data.source import LineEnds, Reading, Window, last_line_end, open_file, refuse_pipe, runs, settled
from discern.data.strings import DataError, Strings

if TYPE_CHECKING:
    from numpy.typing import NDArray

LONGEST_HEADER = 1 << 20
"""Bytes within which the first line of a CSV file must end."""
SHORT_HEADER = 1 << 12
"""Bytes within which it mostly does."""
MOST_INDICES = 4096
"""Different indices that an svmlight file may have: each is a column."""
ROWS_AT_ONCE = 1 << 15
_QUOTED = re.compile(rb'[^"]*+(?:""[^"]*+)*+')
"""What stands between an opening and a closing quote."""


# --------------------------------------------------------------------------------------------------------- CSV


def read_csv(stream: BinaryIO, source: str, name: str, reading: Reading) -> Iterator[Batch]:
    """Return the rows of a CSV or TSV file."""
    header: list[str] = []
    delimiter = "\t" if name == "tsv" else ","
    ends = CsvRowEnds(delimiter)
    window, row = Window(stream, source, reading, ends), 0
    while window.more_rows(row):
        block = window.content
        if not header:
            start = block[: LONGEST_HEADER + 1].tobytes()
            header, delimiter = _csv_header(start, delimiter, window.follows, source, reading)
            ends.pass_header(delimiter)
        parsed = _native.parse_csv(block, [True] * len(header), delimiter=ord(delimiter), follows=window.follows)
        if parsed.unclosed is None and not parsed.ragged and parsed.invalid is None:
            first = 1 if row == 0 and parsed.rows else 0  # the header is parsed as a row, row 0
            if parsed.rows > first:
                columns = zip(header, _fields(parsed, block, first), strict=True)
                yield Batch(dict(columns), parsed.rows - first, source, row + first)
        else:
            yield from _with_faults(parsed, block, header, delimiter, source, row, reading)
        window.drop(parsed.consumed)
        row += parsed.rows + len(parsed.ragged)
    if not header:
        raise DataError(f"{source} is empty; it should begin with a line of column names")


class CsvRowEnds:
    r"""Finds where a CSV row ends, as the parser does: a line break within quotes belongs to its field.

    It begins with the header: the first line tells the delimiter, and may have ``LONGEST_HEADER`` bytes.

    Examples
    --------
    >>> ends = CsvRowEnds(",")
    >>> ends.find(b'a,"b'), ends.find(b'a,"b\nc"\nd'), CsvRowEnds(",").find(b'a;"b\nc"\nd')
    (0, 8, 8)
    """

    def __init__(self, delimiter: str) -> None:
        self._delimiter, self._in_header = delimiter, True
        self._line, self._unquoted, self._fields = LineEnds(), _QUOTED, _QUOTED
        self._is_known = False
        self.restart()

    def pass_header(self, delimiter: str) -> None:
        """Look for the ends of rows from now on."""
        self._set(delimiter)
        self._in_header = False

    def _set(self, delimiter: str) -> None:
        character = re.escape(delimiter).encode()
        rest = rb"[^\n" + character + rb"]*+"
        self._unquoted = re.compile(rest)
        self._fields = re.compile(rb'(?:(?:"' + _QUOTED.pattern + rb'"|(?!"))' + rest + character + rb")*+")
        self._is_known = True

    def restart(self) -> None:
        """Look from the start again: the first row is another one."""
        self._position, self._inside = 0, ""

    def find(self, content: Any) -> int:
        """Return how many bytes the first row has, with its line break; 0 if it goes on behind the content."""
        if not self._is_known and (end := self._line.find(content)):
            self._set(_delimiter(bytes(content[:end]), self._delimiter))
        found = self._find(content) if self._is_known else 0
        return len(content) if not found and self._in_header and len(content) > LONGEST_HEADER else found

    def _find(self, content: Any) -> int:
        while self._position < len(content):
            if not self._inside:
                self._position = _passed(self._fields, content, self._position)
                if self._position == len(content):
                    return 0
                is_quoted = bytes(content[self._position : self._position + 1]) == b'"'
                self._inside = "quotes" if is_quoted else "field"
                self._position += is_quoted
            elif self._inside == "quotes":
                self._position = _passed(_QUOTED, content, self._position)
                if len(content) - self._position < 2:  # a quote may follow, and then the first one closes nothing
                    return 0
                self._position, self._inside = self._position + 1, "field"
            else:
                self._position = _passed(self._unquoted, content, self._position) + 1
                if self._position > len(content):
                    self._position -= 1
                    return 0
                if bytes(content[self._position - 1 : self._position]) == b"\n":
                    return self._position
                self._inside = ""
        return 0


def _passed(pattern: re.Pattern[bytes], content: Any, position: int) -> int:
    """Return where a pattern that always matches ends."""
    found = pattern.match(content, position)
    assert found is not None
    return found.end()


def _fields(parsed: _native.Parsed, block: NDArray[np.uint8], first: int = 0) -> Iterator[Strings]:
    """Return the columns of a block, from its row ``first`` on."""
    return (Strings(starts[first:], block, ends[first:]) for starts, ends in parsed.columns)


def _with_faults(
    parsed: _native.Parsed,
    block: NDArray[np.uint8],
    header: list[str],
    delimiter: str,
    source: str,
    row: int,
    reading: Reading,
) -> Iterator[Batch]:
    """Return the rows of a block in which some cannot be read: without them, or with what can be read of them."""
    ragged = [place for place, *_ in parsed.ragged]
    places = np.setdiff1d(np.arange(parsed.rows + len(ragged)), ragged)
    columns = dict(zip(header, _fields(parsed, block), strict=True))
    for place, fields, *_ in parsed.ragged:
        if parsed.unclosed is None or place < parsed.unclosed:
            reading.fault(source, _ragged(row + place, source, fields, len(header)))
    if parsed.unclosed is not None:  # where rows begin and end is not known any more: never passed over
        raise DataError(f"row {row + parsed.unclosed} of {source} has a quote that is never closed; close or double it")
    if ragged and reading.keeps:
        spans = [(fields, block[start:end]) for _, fields, start, end in parsed.ragged]
        found = [_fitted(line, fields, len(header), delimiter) for fields, line in spans]
        order = np.argsort(np.concatenate([places, ragged]), kind="stable")
        columns = {
            name: columns[name].joined(Strings.of_bytes([values[place] for values in found])).take(order)
            for place, name in enumerate(header)
        }
        places = np.arange(parsed.rows + len(ragged))
    numbers = places + row
    if len(numbers) and numbers[0] == 0:  # the header
        columns, numbers = {name: column.rows(1) for name, column in columns.items()}, numbers[1:]
    yield from runs(*settled(columns, numbers, source, reading), source)


def _fitted(line: NDArray[np.uint8], count: int, width: int, delimiter: str) -> list[bytes]:
    """Return a row with too few or too many fields as a row of ``width`` fields, filled up or cut."""
    parsed = _native.parse_csv(line, [True] * count, delimiter=ord(delimiter), follows=False)
    values = [column.bytes_at(0) for column in _fields(parsed, line)]
    return (values + [b""] * width)[:width]


def _delimiter(content: bytes, given: str) -> str:
    """Return the delimiter that the first line has, if a comma was expected and the line has none."""
    line = content[: max(content.find(b"\n"), 0) or LONGEST_HEADER]
    if given != "," or b"," in line:
        return given
    return next((other for other in ";\t|" if other.encode() in line), ",")


def _csv_header(content: bytes, delimiter: str, follows: bool, source: str, reading: Reading) -> tuple[list[str], str]:
    """Return the column names and the delimiter."""
    delimiter = _delimiter(content, delimiter)
    for most in (SHORT_HEADER, LONGEST_HEADER):
        block = np.frombuffer(bytearray(content[:most]), np.uint8)
        goes_on = follows or len(content) > most
        # No row has no fields: all rows are said to be others.
        rows = _native.parse_csv(block, [], delimiter=ord(delimiter), follows=goes_on).ragged
        if rows:
            break
    if not rows:
        raise DataError(f"the first line of {source} does not end; it should have the column names")
    _, count, start, end = rows[0]
    first = block[start:end]
    parsed = _native.parse_csv(first, [True] * count, delimiter=ord(delimiter), follows=False)
    if parsed.invalid is not None:
        raise DataError(f"the first line of {source} {reading.not_decoded}")
    names = [column[0] for column in _fields(parsed, first)]
    if names == [""]:
        raise DataError(f"the first line of {source} is blank; it should have the column names")
    if any("\r" in name for name in names):
        raise DataError(f"the first line of {source} has a carriage return in it; lines must end with \\n or \\r\\n")
    return list(named_columns(names, names, source)), delimiter


def _ragged(row: int, source: str, fields: int, columns: int) -> str:
    return (
        f"row {row} of {source} has {fields} fields, but there are {columns} columns; "
        "put quotes around fields that hold the delimiter or a line break"
    )


# -------------------------------------------------------------------------------------------------- JSON lines


def read_jsonl(stream: BinaryIO, source: str, reading: Reading) -> Iterator[Batch]:
    """Return the rows of a file of JSON objects, one a line."""
    window, row = Window(stream, source, reading), 1
    names: dict[str, None] = {}  # those of earlier blocks too: a block may lack a column
    while window.more_rows(row):
        block = window.content
        end = last_line_end(block) if window.follows else len(block)
        lines = [line for line in block[:end].tobytes().split(b"\n") if line.strip()]
        numbered = [(row + place, _json_row(line, source, row + place, reading)) for place, line in enumerate(lines)]
        rows = [(number, values) for number, values in numbered if values is not None]
        names.update(dict.fromkeys(name for _, values in rows for name in values))
        columns = {name: [values.get(name) for _, values in rows] for name in names}
        yield from runs(columns, np.array([number for number, _ in rows], np.int64), source)
        window.drop(end)
        row += len(lines)


def _json_row(line: bytes, source: str, row: int, reading: Reading) -> dict[str, Any] | None:
    """Return a row, or None for one to leave out."""
    try:
        values = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError:
        fault = reading.not_decoded
        if reading.keeps:
            reading.fault(source, f"row {row} of {source} {fault}")
            return _json_row(line.decode("utf-8", "replace").encode(), source, row, reading)
    except (ValueError, RecursionError) as error:
        fault = f"is not JSON: {error}"
    else:
        if isinstance(values, dict):
            return values
        fault = f"is a JSON {type(values).__name__}; each line must be an object"
    reading.fault(source, f"row {row} of {source} {fault}")
    return {} if reading.keeps else None


# --------------------------------------------------------------------------------------------- Parquet, Arrow


def read_parquet(path: Path, reading: Reading) -> Iterator[Batch]:
    """Return the rows of a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    refuse_pipe(path, "Parquet")
    try:
        yield from _arrow_batches(pq.ParquetFile(path).iter_batches(batch_size=ROWS_AT_ONCE), str(path), reading)
    except (pa.ArrowException, UnicodeDecodeError, OSError) as error:
        raise DataError(f"cannot read {str(path)!r} as Parquet: {error}") from error


def read_arrow(path: Path, reading: Reading) -> Iterator[Batch]:
    """Return the rows of an Arrow file, stream or Feather file."""
    import pyarrow as pa

    refuse_pipe(path, "Arrow")
    try:
        with closing(pa.memory_map(str(path))) as file:
            yield from _arrow_batches(_record_batches(file), str(path), reading)
    except (pa.ArrowException, UnicodeDecodeError, OSError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"cannot read {str(path)!r} as Arrow: {error}") from error


def _record_batches(file: Any) -> Iterator[Any]:
    """Return the batches of an Arrow file, or of a stream, in parts of not too many rows."""
    import pyarrow as pa

    begins = file.read(6)
    file.seek(0)
    if begins == b"ARROW1":
        reader = pa.ipc.open_file(file)
        found = (reader.get_batch(place) for place in range(reader.num_record_batches))
    else:
        found = iter(pa.ipc.open_stream(file))
    for batch in found:
        batch.validate(full=True)
        for start in range(0, batch.num_rows, ROWS_AT_ONCE):
            yield batch.slice(start, ROWS_AT_ONCE)


def _arrow_batches(found: Iterator[Any], source: str, reading: Reading) -> Iterator[Batch]:
    row = 1
    for batch in found:
        reading.tell(batch.nbytes)
        batch = without_index(batch, only_unnamed=True)
        yield Batch(named_columns(batch.schema.names, batch.columns, source), batch.num_rows, source, row)
        row += batch.num_rows


# ---------------------------------------------------------------------------------------------------- svmlight


def read_svmlight(path: Path, compression: str, reading: Reading) -> Iterator[Batch]:
    """Return the rows of an svmlight file: a column ``label``, and a column of numbers for each index.

    A column is called as the index is written, and holds 0 where a row does not have it. The file is read twice: which
    indices there are is known only at its end.
    """
    source = str(path)
    refuse_pipe(path, "svmlight")  # it is read twice
    indices: set[int] = set()
    for _, _, values in _svmlight_rows(path, compression, Reading(encoding=reading.encoding, on_error="skip")):
        indices.update(values)
        if len(indices) > MOST_INDICES:
            raise DataError(
                f"{source} has more than {MOST_INDICES:,} indices, too many for columns; "
                "read it with sklearn.datasets.load_svmlight_file and use an estimator"
            )
    reading.begin(source)
    places = {index: place for place, index in enumerate(sorted(indices))}
    rows: list[tuple[int, str, dict[int, float]]] = []
    most = max(1, (1 << 20) // max(1, len(places)))
    for row in _svmlight_rows(path, compression, reading):
        rows.append(row)
        if len(rows) == most:
            yield from _svmlight_batches(rows, places, source)
            rows = []
    yield from _svmlight_batches(rows, places, source)


def _svmlight_batches(
    rows: list[tuple[int, str, dict[int, float]]], places: dict[int, int], source: str
) -> Iterator[Batch]:
    table = np.zeros((len(places), len(rows)))
    for place, (_, _, values) in enumerate(rows):
        for index, value in values.items():
            table[places[index], place] = value
    columns: dict[str, Column] = {"label": [label for _, label, _ in rows]}
    columns.update({str(index): table[place] for index, place in places.items()})
    yield from runs(columns, np.array([number for number, _, _ in rows], np.int64), source)


def _svmlight_rows(path: Path, compression: str, reading: Reading) -> Iterator[tuple[int, str, dict[int, float]]]:
    from discern.data.documents import lines_of

    row = 0
    with open_file(path, compression) as stream:
        for lines in lines_of(stream, str(path), reading):
            for place in range(len(lines)):
                line = lines.bytes_at(place).split(b"#", 1)[0]
                if not line.strip():
                    continue  # blank, or a comment
                row += 1
                fault = None
                try:
                    yield row, *_svmlight_row(line)
                except ValueError as error:
                    fault = f"row {row} of {path}: {error}; it should be a label and index:value pairs"
                if fault is not None:
                    reading.fault(str(path), fault)
                    if reading.keeps:
                        yield row, line.split()[0].decode("utf-8", "replace").removeprefix("+"), {}


def _svmlight_row(line: bytes) -> tuple[str, dict[int, float]]:
    label, *pairs = line.split()
    values = {}
    for pair in pairs:
        index, colon, value = pair.partition(b":")
        if index == b"qid" and colon:
            continue  # groups rows for ranking
        if not (index.isdigit() and len(index) <= 18) or not colon:
            raise ValueError(f"{pair.decode('utf-8', 'replace')[:40]!r} is no pair of index and value")
        try:
            values[int(index)] = float(value)
        except ValueError:
            raise ValueError(f"the value of column {index.decode()!r} is no number") from None
    return label.decode("utf-8", "replace").removeprefix("+"), values
