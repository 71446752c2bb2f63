"""CSV and TSV."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

import discern._native as _native
from discern.data.batch import Batch, named_columns
from discern.data.buffer import LineEnds, ReadBuffer
from discern.data.formats import FORMATS, Format
from discern.data.source import Reading, decodable, without_gaps
from discern.data.strings import DataError, Strings

if TYPE_CHECKING:
    from numpy.typing import NDArray

LONGEST_HEADER = 1 << 20
"""The limit on the bytes of the first line."""
SHORT_HEADER = 1 << 12
"""The bytes of the first line of most files, tried first."""
_QUOTED = re.compile(rb'[^"]*+(?:""[^"]*+)*+')
"""The content between an opening and a closing quote."""


def read_csv(stream: BinaryIO, source: str, reading: Reading, delimiter: str = ",") -> Iterator[Batch]:
    """Return the rows of a CSV file; a comma as delimiter means that the first line may tell another one."""
    header: list[str] = []
    ends = CsvRowEnds(delimiter)
    buffer, row = ReadBuffer(stream, source, reading, ends), 0
    while buffer.fill_row(row):
        block = buffer.content
        if not header:
            start = block[: LONGEST_HEADER + 1].tobytes()
            header, delimiter = _header(start, delimiter, buffer.follows, source, reading)
            ends.pass_header(delimiter)
        parsed = _native.parse_csv(block, [True] * len(header), delimiter=ord(delimiter), follows=buffer.follows)
        if parsed.unclosed is None and not parsed.ragged and parsed.invalid is None:
            first = 1 if row == 0 and parsed.rows else 0  # the header is parsed as a row, row 0
            if parsed.rows > first:
                columns = zip(header, _fields(parsed, block, first), strict=True)
                yield Batch(dict(columns), parsed.rows - first, source, row + first)
        else:
            yield from _with_faults(parsed, block, header, delimiter, source, row, reading)
        buffer.consume(parsed.consumed)
        row += parsed.rows + len(parsed.ragged)
    if not header:
        raise DataError(f"{source} is empty; it should begin with a line of column names")


class CsvRowEnds:
    r"""Search for the end of a CSV row, as the parser does: a line break within quotes belongs to its field.

    The first row is the header, which tells the delimiter and may have ``LONGEST_HEADER`` bytes.

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
        """Search for the ends of rows from now on, with this delimiter."""
        self._set(delimiter)
        self._in_header = False

    def _set(self, delimiter: str) -> None:
        character = re.escape(delimiter).encode()
        rest = rb"[^\n" + character + rb"]*+"
        self._unquoted = re.compile(rest)
        self._fields = re.compile(rb'(?:(?:"' + _QUOTED.pattern + rb'"|(?!"))' + rest + character + rb")*+")
        self._is_known = True

    def restart(self) -> None:
        """Search from the start again, for the end of another row."""
        self._position, self._inside = 0, ""

    def find(self, content: Any) -> int:
        """Return the bytes of the first row with its line break, or 0 if the row does not end in the content."""
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
    """Return the end of the match of a pattern that always matches."""
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
    """Return the rows of a block with bad rows: without these, or with what can be read of them."""
    ragged = [place for place, *_ in parsed.ragged]
    fits = np.ones(parsed.rows + len(ragged), bool)
    fits[ragged] = False
    places = np.flatnonzero(fits)
    columns = dict(zip(header, _fields(parsed, block), strict=True))
    for place, fields, *_ in parsed.ragged:
        if parsed.unclosed is None or place < parsed.unclosed:
            reading.report_fault(source, _ragged(row + place, source, fields, len(header)))
    if parsed.unclosed is not None:  # nobody knows where the next row begins: never skipped
        raise DataError(f"row {row + parsed.unclosed} of {source} has a quote that is never closed; close or double it")
    if ragged and reading.keeps_bad_rows:
        spans = [(fields, block[start:end]) for _, fields, start, end in parsed.ragged]
        found = [_fitted(line, fields, len(header), delimiter) for fields, line in spans]
        order = np.argsort(np.concatenate([places, ragged]), kind="stable")
        columns = {
            name: Strings.total([columns[name], Strings.of_bytes([values[place] for values in found])]).take(order)
            for place, name in enumerate(header)
        }
        places = np.arange(parsed.rows + len(ragged))
    numbers = places + row
    if len(numbers) and numbers[0] == 0:  # the header
        columns, numbers = {name: column.rows(1) for name, column in columns.items()}, numbers[1:]
    yield from without_gaps(*decodable(columns, numbers, source, reading), source)


def _fitted(line: NDArray[np.uint8], count: int, n_columns: int, delimiter: str) -> list[bytes]:
    """Return the fields of a row with ``count`` fields, filled up with empty ones or cut to ``n_columns``."""
    parsed = _native.parse_csv(line, [True] * count, delimiter=ord(delimiter), follows=False)
    values = [column.bytes_at(0) for column in _fields(parsed, line)]
    return (values + [b""] * n_columns)[:n_columns]


def _delimiter(content: bytes, given: str) -> str:
    """Return the delimiter of the first line, if a comma was expected and the line has none."""
    line = content[: max(content.find(b"\n"), 0) or LONGEST_HEADER]
    if given != "," or b"," in line:
        return given
    return next((other for other in ";\t|" if other.encode() in line), ",")


def _header(content: bytes, delimiter: str, follows: bool, source: str, reading: Reading) -> tuple[list[str], str]:
    """Return the column names and the delimiter."""
    delimiter = _delimiter(content, delimiter)
    for most in (SHORT_HEADER, LONGEST_HEADER):
        block = np.frombuffer(bytearray(content[:most]), np.uint8)
        goes_on = follows or len(content) > most
        # No row has zero fields: the parser reports every row as ragged, with its place.
        rows = _native.parse_csv(block, [], delimiter=ord(delimiter), follows=goes_on).ragged
        if rows:
            break
    if not rows:
        raise DataError(f"the first line of {source} does not end; it should have the column names")
    _, count, start, end = rows[0]
    first = block[start:end]
    parsed = _native.parse_csv(first, [True] * count, delimiter=ord(delimiter), follows=False)
    if parsed.invalid is not None:
        raise DataError(f"the first line of {source} {reading.encoding_fault}")
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


_SPARK = {"format": "csv", "header": True, "multiLine": True, "escape": '"', "mode": "FAILFAST", "encoding": "UTF-8"}
"""Refuse rows that do not fit, and take a line break within quotes as part of its value."""
FORMATS.add(
    Format(
        name="csv",
        position=0,
        title="CSV",
        suffixes=(".csv",),
        about="The first line names the columns (RFC 4180). `;`, tab and `|` are recognized as delimiters. Blank lines "
        "are skipped.",
        read=read_csv,
        spark={**_SPARK, "sep": ","},
    )
)
FORMATS.add(
    Format(
        name="tsv",
        position=1,
        title="TSV",
        suffixes=(".tsv", ".tab"),
        about="As `csv`, with a tab as delimiter.",
        read=partial(read_csv, delimiter="\t"),
        spark={**_SPARK, "sep": "\t"},
    )
)
