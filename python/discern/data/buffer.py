"""A buffer that reads a stream in blocks, decodes it to UTF-8, and holds whole rows."""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from discern.data.source import GUESS, Reading
from discern.data.strings import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

BLOCK = 1 << 20
"""Bytes of a file to read at once."""
MAX_SPARE_BUFFERS = 2
"""Buffers to keep for reuse: the caller still holds the last batch while the next one is made."""
BYTE_ORDER_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16, whose mark it starts with
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_LINE_BREAK = re.compile(rb"\n")


def _read_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions of reading and unpacking a file."""
    import lzma
    import zlib

    return (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError)


def _read_into(stream: Any, room: Any, at_once: bool) -> int:
    """Fill the room; or, with ``at_once``, read what has arrived, and at least a byte."""
    return int((getattr(stream, "readinto1", stream.readinto) if at_once else stream.readinto)(room))


def _new_buffer(size: int) -> bytearray:
    """Return a buffer that can grow by a byte without being moved, see ``_is_free``."""
    buffer = bytearray(size + 1)
    buffer.pop()
    return buffer


def _is_free(buffer: bytearray) -> bool:
    """Return whether nothing refers to a buffer: one that is exported cannot change its size."""
    try:
        buffer.append(0)
    except BufferError:
        return False
    buffer.pop()
    return True


class _Decoded:
    """A stream in another encoding, as UTF-8. Bytes that are not in the encoding stay, and are reported later."""

    def __init__(self, stream: Any, encoding: str, source: str, start: bytes, at_once: bool) -> None:
        self._stream, self._encoding, self._source, self._start = stream, encoding, source, start
        self._decoder = codecs.getincrementaldecoder(encoding)("surrogateescape")
        self._ready, self._at_once = memoryview(b""), at_once
        self._block = bytearray(max(BLOCK, 4))
        self._ended = False

    def readinto(self, room: memoryview) -> int:
        while not self._ready and not self._ended:
            self._ready = memoryview(self._more())
        count = min(len(room), len(self._ready))
        room[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def _more(self) -> bytes:
        content, self._start = self._start, b""
        if not content:
            count = _read_into(self._stream, self._block, self._at_once)
            content, self._ended = bytes(self._block[:count]), not count
        try:
            return self._decoder.decode(content, self._ended).encode("utf-8", "surrogateescape")
        except UnicodeError as error:
            raise DataError(f"{self._source} is not {self._encoding.upper()}: {error}; set its encoding") from error


def guess_encoding(start: bytes) -> str | None:
    """Guess the encoding of a text from its start: None is UTF-8.

    Examples
    --------
    >>> [guess_encoding("café".encode(name)) for name in ("utf-8", "cp1252", "utf-16-le")]
    [None, 'cp1252', 'utf-16-le']
    """
    pairs = max(1, len(start) // 2)
    zeros = [start[first::2].count(0) / pairs for first in (0, 1)]
    if max(zeros) > 0.4 and min(zeros) < 0.05:  # most of a Latin text in UTF-16
        return "utf-16-be" if zeros[0] > zeros[1] else "utf-16-le"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start, len(start) < BLOCK)  # else it may end in a character
    except UnicodeDecodeError:
        return "cp1252"
    return None


class RowEnds(Protocol):
    """Search for the end of the first row in a buffer, which goes on where it stopped when more bytes have arrived."""

    def find(self, content: Any) -> int:
        """Return the bytes of the first row with its line break, or 0 if the row does not end in the content."""

    def restart(self) -> None:
        """Search from the start again, for the end of another row."""


class LineEnds:
    r"""Search for the end of a line, which is \n."""

    def __init__(self) -> None:
        self._searched = 0

    def find(self, content: Any) -> int:
        """Return the bytes of the first line with its line break, or 0 if the line does not end in the content."""
        found = _LINE_BREAK.search(content, self._searched)
        self._searched = len(content) if found is None else found.start()
        return 0 if found is None else found.end()

    def restart(self) -> None:
        """Search from the start again, for the end of another line."""
        self._searched = 0


def last_line_end(content: NDArray[np.uint8]) -> int:
    """Return the bytes up to and with the last line break, or 0 if there is none."""
    for end in range(len(content), 0, -BLOCK):  # from the end: most lines are short
        start = max(0, end - BLOCK)
        found = content[start:end].tobytes().rfind(b"\n")
        if found >= 0:
            return start + found + 1
    return 0


class ReadBuffer:
    """The unread part of a stream in memory: ``fill`` appends a block, ``consume`` drops bytes at the front.

    Arrays that ``content`` returned stay valid and unchanged. A buffer is reused only when no array refers to it. A row
    may arrive in any number of small pieces: each byte is copied and searched only a few times, because pieces are
    appended in place and ``ends`` searches for the end of a row from where it stopped.
    """

    def __init__(
        self, stream: Any, source: str, reading: Reading, ends: RowEnds | None = None, *, raw: bool = False
    ) -> None:
        self._stream, self._source, self._reading = stream, source, reading
        self._ends = ends or LineEnds()
        self._min_size = max(BLOCK, 4)  # a byte order mark must fit
        self._block = max(min(self._min_size, reading.longest_row), 4)
        self._buffer = _new_buffer(self._min_size)
        self._spare: list[bytearray] = []
        self._start = self._end = 0
        self._at_start = not raw
        self.follows = True
        """Whether the stream may have more bytes."""

    def fill(self) -> bool:
        """Read a block; returns False when the stream has ended and no bytes are left."""
        if not self.follows:
            return False
        left = self._end - self._start
        self._reading.unfinished = left
        is_large = len(self._buffer) > self._min_size and 2 * left <= self._min_size
        if self._end == len(self._buffer) or is_large:
            self._reallocate(left)
        self._end += self._read(self._end)
        if self._at_start:
            self._detect_encoding()
        return self.follows or self._end > self._start

    def fill_row(self, row: int) -> bool:
        """Read until a whole row has arrived or the stream has ended; returns False when no bytes are left.

        ``row`` is the number of the first row in the buffer. Raises ``DataError`` if the row is too long.
        """
        self._ends.restart()
        while self.fill():
            content = self.content
            size = self._ends.find(content)
            if (size or len(content)) > self._reading.longest_row:
                raise DataError(
                    f"{f'row {row}' if row else 'the first line'} of {self._source} has more than "
                    f"{self._reading.longest_row:,} bytes; split it, or add the line break or quote that is missing"
                )
            if size or not self.follows:
                return True
        return False

    def _reallocate(self, left: int) -> None:
        """Move the unread bytes to a buffer that nothing refers to.

        At least half of it is free then, unless the row is about to be refused, so that bytes are seldom copied.
        """
        size = self._min_size
        while size < 2 * left:
            size *= 2
        size = min(size, self._reading.longest_row + 2 * self._min_size)
        known = [buffer for buffer in (self._buffer, *self._spare) if len(buffer) == size]
        free = next((buffer for buffer in known if buffer is not self._buffer and _is_free(buffer)), None)
        chosen = _new_buffer(size) if free is None else free
        with memoryview(self._buffer) as view:
            chosen[:left] = view[self._start : self._end]
        self._spare = [buffer for buffer in known if buffer is not chosen][:MAX_SPARE_BUFFERS]
        self._buffer, self._start, self._end = chosen, 0, left

    def _detect_encoding(self) -> None:
        """Find the encoding, decode the stream if it is not UTF-8, and skip a byte order mark."""
        self._at_start, start = False, self._peek(4)
        marked = next((encoding for mark, encoding in BYTE_ORDER_MARKS.items() if start.startswith(mark)), None)
        encoding = self._reading.given_encoding or marked or self._guess()
        if encoding not in (None, "utf-8", "utf-8-sig"):
            self._stream = _Decoded(
                self._stream, str(encoding), self._source, bytes(self._buffer[: self._end]), self._reading.at_once
            )
            self._end, self.follows = 0, True
            start = self._peek(3)
        self._start = 3 if start.startswith(codecs.BOM_UTF8) else 0

    def _guess(self) -> str | None:
        """Guess the encoding from the bytes read so far, if the user asks for it; None is UTF-8."""
        if self._reading.encoding != GUESS:
            return None
        found = guess_encoding(bytes(self._buffer[: self._end]))
        if found is not None:
            self._reading.guessed[self._source] = found
        return found

    def _peek(self, count: int) -> bytes:
        while self.follows and self._end < count:
            self._end += self._read(self._end)
        return bytes(self._buffer[: min(self._end, count)])

    def _read(self, position: int) -> int:
        try:
            with memoryview(self._buffer) as view, view[position : position + self._block] as room:
                count = _read_into(self._stream, room, self._reading.at_once)
        except DataError:
            raise
        except _read_errors() as error:
            raise DataError(f"cannot read {self._source}: {error}") from error
        self.follows = bool(count)
        self._reading.advance(count)
        return int(count)

    @property
    def content(self) -> NDArray[np.uint8]:
        """The unread bytes in memory; the caller may change them."""
        return np.frombuffer(self._buffer, np.uint8)[self._start : self._end]

    def consume(self, count: int) -> None:
        """Drop the first ``count`` bytes."""
        self._start += count


def leading_bytes(stream: Any, source: str, reading: Reading, size: int, *, raw: bool = False) -> bytes:
    """Read a whole stream and return its first ``size`` bytes, decoded to UTF-8 unless ``raw``."""
    buffer, parts, left = ReadBuffer(stream, source, reading, raw=raw), [], size
    while buffer.fill():
        content = buffer.content[:left].tobytes()
        parts.append(content)
        left -= len(content)
        buffer.consume(len(buffer.content))
    return b"".join(parts)
