"""Text: a document on each line."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from discern.data.batch import Batch
from discern.data.buffer import ReadBuffer, last_line_end
from discern.data.formats import FORMATS, Format
from discern.data.source import Reading, decodable, without_gaps
from discern.data.strings import Strings

if TYPE_CHECKING:
    from numpy.typing import NDArray

BYTES_AT_ONCE = 1 << 20
LINE_BREAK, RETURN = ord("\n"), ord("\r")


def read_lines(stream: BinaryIO, source: str, reading: Reading) -> Iterator[Batch]:
    """Return the lines of a file as rows with a column ``text``; a blank line is an empty text."""
    row = 1
    for lines in lines_of(stream, source, reading):
        columns, numbers = {"text": lines}, np.arange(row, row + len(lines), dtype=np.int64)
        row += len(lines)
        if not _is_utf8(lines):
            columns, numbers = decodable(columns, numbers, source, reading)
        yield from without_gaps(columns, numbers, source)


def lines_of(stream: BinaryIO, source: str, reading: Reading) -> Iterator[Strings]:
    r"""Return the lines of a file, block by block; they end with \n or \r\n and nothing else."""
    buffer, row = ReadBuffer(stream, source, reading), 1
    while buffer.fill_row(row):
        end = last_line_end(buffer.content) if buffer.follows else len(buffer.content)
        lines = _split_lines(buffer.content[:end])
        yield lines
        row += len(lines)
        buffer.consume(end)


def _split_lines(block: NDArray[np.uint8]) -> Strings:
    """Return the lines of a block without their line breaks."""
    ends = np.flatnonzero(block == LINE_BREAK)
    starts = np.concatenate([[0], ends + 1])
    if len(ends) and ends[-1] == len(block) - 1:
        starts = starts[:-1]
    else:
        ends = np.append(ends, len(block))  # the last line has no line break
    returns = (ends < len(block)) & (ends > starts) & (block[np.maximum(ends, 1) - 1] == RETURN)
    return Strings(starts, block, ends - returns)


def _is_utf8(lines: Strings) -> bool:
    """Return whether all lines are UTF-8: they are if the block is, because line breaks are ASCII."""
    decoder, size = codecs.getincrementaldecoder("utf-8")(), len(lines.data)
    try:
        for start in range(0, size, BYTES_AT_ONCE):  # a line may be very long
            decoder.decode(lines.data[start : start + BYTES_AT_ONCE].tobytes(), start + BYTES_AT_ONCE >= size)
    except UnicodeDecodeError:
        return False
    return True


FORMATS.add(
    Format(
        name="text",
        position=6,
        title="text",
        suffixes=(".txt",),
        about="A column `text`: a document on each line, also on blank ones.",
        read=read_lines,
        is_table=False,
    )
)
