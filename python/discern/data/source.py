"""Files as bytes in UTF-8: opening, unpacking, encodings, and a part of a file in memory."""

from __future__ import annotations

import codecs
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, cast

import numpy as np

from discern.data.batch import Batch, Column
from discern.data.strings import DataError, Strings

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

BLOCK = 1 << 20
"""Bytes of a file read at once."""
LONGEST_ROW = 1 << 30
"""Bytes of one row of a table or a text, unless a reader is told otherwise."""
MOST_BUFFERS = 2
"""Buffers that are kept besides the one in use: whoever reads has the last batch while the next one is made."""
COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst")
MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16, whose mark is its beginning
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
ON_ERROR = ("stop", "skip", "keep")
_LINE_BREAK = re.compile(rb"\n")
GUESS = "auto"
"""The encoding that says: find out."""


@dataclass
class Reading:
    """How files are read, and what is told while reading.

    ``format`` is ``"csv"``, ``"tsv"``, ``"jsonl"``, ``"parquet"``, ``"arrow"``, ``"svmlight"``, ``"text"`` (a document
    a line), ``"mbox"`` or ``"eml"``; by default the name of the file tells. ``progress`` is called with the number of
    bytes read. ``encoding`` is that of the files; by default UTF-8, or what a byte order mark says; with ``"auto"`` a
    file that is neither is taken for UTF-16 or Windows-1252, and ``guessed`` tells which were. ``on_error`` says
    what becomes of a row that cannot be read: ``"stop"`` refuses the file, ``"skip"`` leaves the row out, ``"keep"``
    keeps what can be read of it. ``faults`` counts such rows by file, and ``first`` describes the first one. With
    ``at_once`` rows are given as soon as they have come, and not when there are many. A row of more than
    ``longest_row`` bytes is refused as soon as that many have come.
    """

    format: str | None = None
    progress: Callable[[int], None] = field(default=lambda _: None)
    encoding: str | None = None
    on_error: str = "stop"
    at_once: bool = False
    longest_row: int = LONGEST_ROW
    faults: dict[str, int] = field(default_factory=dict)
    first: str = ""
    guessed: dict[str, str] = field(default_factory=dict)
    read: int = 0
    """The bytes read so far, unpacked; a file that is read twice counts twice."""
    unfinished: int = 0
    """The bytes in memory of the row whose end has not come yet."""

    def __post_init__(self) -> None:
        if self.on_error not in ON_ERROR:
            raise ValueError(f"on_error must be one of {', '.join(ON_ERROR)}, not {self.on_error!r}")
        if self.encoding not in (None, GUESS):
            self.encoding = _known(self.encoding)

    @property
    def keeps(self) -> bool:
        """Whether rows that cannot be read are kept."""
        return self.on_error == "keep"

    @property
    def charset(self) -> str:
        """The encoding, in words."""
        return (self.given or "utf-8").upper()

    @property
    def given(self) -> str | None:
        """The encoding that was given, if any."""
        return None if self.encoding == GUESS else self.encoding

    @property
    def not_decoded(self) -> str:
        """What is said of bytes that are not in the encoding."""
        return f"is not {self.charset}; give its encoding, for example --encoding latin-1, or convert it to UTF-8"

    def tell(self, count: int) -> None:
        """Count bytes, and let others see it."""
        self.read += count
        self.progress(count)

    def begin(self, source: str) -> None:
        """Count the faults of a file from the start: it may be read again."""
        self.faults[source] = 0

    def fault(self, source: str, message: str) -> None:
        """Refuse a row, or count it."""
        if self.on_error == "stop":
            raise DataError(message)
        self.faults[source] = self.faults.get(source, 0) + 1
        self.first = self.first or message


def _known(encoding: str) -> str:
    """Return the usual name of an encoding of texts, or refuse it."""
    try:
        b"a".decode(encoding)
    except UnicodeDecodeError:
        pass  # it is one, in which a single byte is no text
    except (LookupError, UnicodeError, ValueError) as error:
        raise DataError(f"there is no encoding {encoding!r}; there are utf-8, latin-1, cp1252, …") from error
    return codecs.lookup(encoding).name


def open_file(path: Path, compression: str = "") -> BinaryIO:
    """Open a file for reading, unpacked; ``-`` is stdin. A pipe is waited for until somebody writes to it."""
    if str(path) == "-":
        return cast(BinaryIO, sys.stdin.buffer)
    _refuse_other(path)
    if compression == ".zst":
        import pyarrow as pa

        return cast(BinaryIO, pa.CompressedInputStream(pa.OSFile(str(path), "rb"), "zstd"))
    if compression:
        import importlib

        module = importlib.import_module({".gz": "gzip", ".bz2": "bz2", ".xz": "lzma"}[compression])
        return cast(BinaryIO, module.open(path, "rb"))
    return path.open("rb", buffering=0)


def refuse_missing(path: Path) -> None:
    """Complain about a file that is not there."""
    from difflib import get_close_matches

    if not path.exists():
        siblings = [str(other) for other in path.parent.iterdir()] if path.parent.is_dir() else []
        close = get_close_matches(str(path), siblings, n=1)
        raise DataError(f"there is no file {str(path)!r}" + (f"; did you mean {close[0]!r}?" if close else ""))


def _refuse_other(path: Path) -> None:
    """Complain about a path that has no data, or data without an end."""
    refuse_missing(path)
    about = os.stat(path)
    if stat.S_ISREG(about.st_mode) or stat.S_ISFIFO(about.st_mode) or _is_null(about):
        return
    if stat.S_ISDIR(about.st_mode):
        raise DataError(f"{str(path)!r} is a folder; give a file")
    kind = "socket" if stat.S_ISSOCK(about.st_mode) else "device"
    raise DataError(f"{str(path)!r} is a {kind}; give a file, or - to read standard input")


def _is_null(about: os.stat_result) -> bool:
    """Whether a path is the null device, which is an empty file."""
    return stat.S_ISCHR(about.st_mode) and about.st_rdev == os.stat(os.devnull).st_rdev


def refuse_pipe(path: Path, name: str) -> None:
    """Complain about what can be read only once and from its beginning, where that is not enough."""
    if str(path) == "-":
        raise DataError(f"{name} cannot be read from standard input; give a file")
    _refuse_other(path)
    if not path.is_file():
        raise DataError(f"{name} cannot be read from {str(path)!r}, which is not a regular file; give a file on disk")


def compression_of(path: Path) -> str:
    """Return the last suffix of a name if it is that of a compression."""
    return path.suffix.lower() if path.suffix.lower() in COMPRESSIONS else ""


def faults_of_reading() -> tuple[type[Exception], ...]:
    """Return what may go wrong while a file is unpacked."""
    import lzma
    import zlib

    return (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError)


def _read_into(stream: Any, room: Any, at_once: bool) -> int:
    """Read what fits; or just what is there, and at least a byte."""
    return int((getattr(stream, "readinto1", stream.readinto) if at_once else stream.readinto)(room))


def _room(size: int) -> bytearray:
    """Return a buffer that could be longer by one, which is how one finds out whether it is free."""
    buffer = bytearray(size + 1)
    buffer.pop()
    return buffer


def _is_free(buffer: bytearray) -> bool:
    """Whether nobody looks at a buffer: one that is looked at cannot change its size."""
    try:
        buffer.append(0)
    except BufferError:
        return False
    buffer.pop()
    return True


class _Decoded:
    """A stream in another encoding, as UTF-8; bytes that are not in the encoding stay, and are found later."""

    def __init__(self, stream: Any, encoding: str, source: str, begun: bytes, at_once: bool) -> None:
        self._stream, self._encoding, self._source, self._begun = stream, encoding, source, begun
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
        begun, self._begun = self._begun, b""
        if not begun:
            count = _read_into(self._stream, self._block, self._at_once)
            begun, self._ended = bytes(self._block[:count]), not count
        try:
            return self._decoder.decode(begun, self._ended).encode("utf-8", "surrogateescape")
        except UnicodeError as error:
            raise DataError(f"{self._source} is not {self._encoding.upper()}: {error}; give its encoding") from error


def guess(begun: bytes) -> str | None:
    """Guess the encoding of a text by its beginning: None is UTF-8.

    Examples
    --------
    >>> guess("café".encode()), guess("café".encode("cp1252")), guess("café".encode("utf-16-le"))
    (None, 'cp1252', 'utf-16-le')
    """
    pairs = max(1, len(begun) // 2)
    zeros = [begun[start::2].count(0) / pairs for start in (0, 1)]
    if max(zeros) > 0.4 and min(zeros) < 0.05:  # most of a Latin text in UTF-16
        return "utf-16-be" if zeros[0] > zeros[1] else "utf-16-le"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(begun, len(begun) < BLOCK)  # else it may end within a character
    except UnicodeDecodeError:
        return "cp1252"
    return None


class RowEnds(Protocol):
    """Finds where the first row of a window ends, and remembers how far it has looked."""

    def find(self, content: Any) -> int:
        """Return how many bytes the first row has, with its line break; 0 if it goes on behind the content."""

    def restart(self) -> None:
        """Look from the start again: the first row is another one."""


class LineEnds:
    r"""Finds where a line ends: at \n."""

    def __init__(self) -> None:
        self._searched = 0

    def find(self, content: Any) -> int:
        """Return how many bytes the first line has, with its line break; 0 if it goes on behind the content."""
        found = _LINE_BREAK.search(content, self._searched)
        self._searched = len(content) if found is None else found.start()
        return 0 if found is None else found.end()

    def restart(self) -> None:
        """Look from the start again: the first line is another one."""
        self._searched = 0


def last_line_end(content: NDArray[np.uint8]) -> int:
    """Return how many bytes there are up to the last line break, with it; 0 if there is none."""
    for end in range(len(content), 0, -BLOCK):  # from behind: most lines are short
        start = max(0, end - BLOCK)
        found = content[start:end].tobytes().rfind(b"\n")
        if found >= 0:
            return start + found + 1
    return 0


class Window:
    """A part of a file in memory: it is filled from behind and emptied from the front.

    What was given stays as it is while anybody looks at it; the memory is used again afterwards. However small the
    pieces are in which a row arrives, each byte is copied and searched only a few times: a piece is added behind the
    ones before it, and the search for the end of the row (``ends``) goes on where it stopped.
    """

    def __init__(
        self, stream: Any, source: str, reading: Reading, ends: RowEnds | None = None, *, raw: bool = False
    ) -> None:
        self._stream, self._source, self._reading = stream, source, reading
        self._ends = ends or LineEnds()
        self._least = max(BLOCK, 4)  # a byte order mark must fit
        self._at_once = max(min(self._least, reading.longest_row), 4)
        self._buffer = _room(self._least)
        self._earlier: list[bytearray] = []
        self._start = self._end = 0
        self._new, self.follows = not raw, True

    def more(self) -> bool:
        """Read on; false when the file has ended and nothing is left."""
        if not self.follows:
            return False
        left = self._end - self._start
        self._reading.unfinished = left
        is_large = len(self._buffer) > self._least and 2 * left <= self._least
        if self._end == len(self._buffer) or is_large:
            self._change(left)
        self._end += self._read(self._end)
        if self._new:
            self._begin()
        return self.follows or self._end > self._start

    def more_rows(self, row: int) -> bool:
        """Read on until a whole row is there, or the file has ended; false when nothing is left.

        ``row`` is the number of the first row in the window, which is refused if it is too long.
        """
        self._ends.restart()
        while self.more():
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

    def _change(self, left: int) -> None:
        """Take a buffer that nobody looks at, and put there what is left of the one before.

        At least half of it is free then, unless the row is about to be refused: a byte is seldom copied.
        """
        size = self._least
        while size < 2 * left:
            size *= 2
        size = min(size, self._reading.longest_row + 2 * self._least)
        known = [buffer for buffer in (self._buffer, *self._earlier) if len(buffer) == size]
        free = next((buffer for buffer in known if buffer is not self._buffer and _is_free(buffer)), None)
        chosen = _room(size) if free is None else free
        with memoryview(self._buffer) as view:
            chosen[:left] = view[self._start : self._end]
        self._earlier = [buffer for buffer in known if buffer is not chosen][:MOST_BUFFERS]
        self._buffer, self._start, self._end = chosen, 0, left

    def _begin(self) -> None:
        """Find the encoding and pass over a byte order mark."""
        self._new, begun = False, self._first(4)
        marked = next((encoding for mark, encoding in MARKS.items() if begun.startswith(mark)), None)
        encoding = self._reading.given or marked or self._guess()
        if encoding not in (None, "utf-8", "utf-8-sig"):
            self._stream = _Decoded(
                self._stream, str(encoding), self._source, bytes(self._buffer[: self._end]), self._reading.at_once
            )
            self._end, self.follows = 0, True
            begun = self._first(3)
        self._start = 3 if begun.startswith(codecs.BOM_UTF8) else 0

    def _guess(self) -> str | None:
        """Find out the encoding by the bytes that are here, if that is wished; None if they are UTF-8."""
        if self._reading.encoding != GUESS:
            return None
        found = guess(bytes(self._buffer[: self._end]))
        if found is not None:
            self._reading.guessed[self._source] = found
        return found

    def _first(self, count: int) -> bytes:
        while self.follows and self._end < count:
            self._end += self._read(self._end)
        return bytes(self._buffer[: min(self._end, count)])

    def _read(self, position: int) -> int:
        try:
            with memoryview(self._buffer) as view, view[position : position + self._at_once] as room:
                count = _read_into(self._stream, room, self._reading.at_once)
        except DataError:
            raise
        except faults_of_reading() as error:
            raise DataError(f"cannot read {self._source}: {error}") from error
        self.follows = bool(count)
        self._reading.tell(count)
        return int(count)

    @property
    def content(self) -> NDArray[np.uint8]:
        """What is in memory, to read or to change."""
        return np.frombuffer(self._buffer, np.uint8)[self._start : self._end]

    def drop(self, count: int) -> None:
        """Let go of so many bytes at the front."""
        self._start += count


def whole(stream: Any, source: str, reading: Reading, most: int, *, raw: bool = False) -> bytes:
    """Return the first ``most`` bytes of a file; the rest is passed over."""
    window, parts, left = Window(stream, source, reading, raw=raw), [], most
    while window.more():
        content = window.content[:left].tobytes()
        parts.append(content)
        left -= len(content)
        window.drop(len(window.content))
    return b"".join(parts)


# ------------------------------------------------------------------------------------- rows that cannot be read


def runs(columns: dict[str, Column], numbers: NDArray[np.int64], source: str) -> Iterator[Batch]:
    """Return rows as batches in which the numbers of the rows have no gap."""
    edges = [0, *(np.flatnonzero(np.diff(numbers) != 1) + 1).tolist(), len(numbers)]
    for start, end in pairwise(edges):
        if end > start:
            part = {name: _part(column, start, end) for name, column in columns.items()}
            yield Batch(part, end - start, source, int(numbers[start]))


def _part(column: Column, start: int, end: int) -> Column:
    return column.rows(start, end) if isinstance(column, Strings) else column[start:end]


def settled(
    columns: dict[str, Strings], numbers: NDArray[np.int64], source: str, reading: Reading
) -> tuple[dict[str, Strings], NDArray[np.int64]]:
    """Leave out the rows that are not UTF-8, or put U+FFFD in place of what is not; the first may be refused."""
    bad: dict[int, str] = {}
    replaced = {}
    for name, column in columns.items():
        values = [column.bytes_at(place) for place in range(len(column))]
        texts = [_decoded(value) for value in values]
        bad.update({place: name for place, text in enumerate(texts) if text is None and place not in bad})
        replaced[name] = Strings.of(
            [
                text if text is not None else value.decode("utf-8", "replace")
                for text, value in zip(texts, values, strict=True)
            ]
        )
    for place in sorted(bad):
        message = f"row {numbers[place]} of {source}, column {bad[place]!r}, {reading.not_decoded}"
        reading.fault(source, message)
    if reading.keeps:
        return replaced, numbers
    sound = np.setdiff1d(np.arange(len(numbers)), list(bad))
    return {name: column.take(sound) for name, column in columns.items()}, numbers[sound]


def _decoded(value: bytes) -> str | None:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return None
