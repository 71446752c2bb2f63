"""Files to read: how to read them, opening and unpacking them, and the rows that cannot be read."""

from __future__ import annotations

import codecs
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar, cast

import numpy as np

from discern.data.batch import Batch, Column, part_of
from discern.data.strings import DataError, Strings

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

Item = TypeVar("Item")

LONGEST_ROW = 1 << 30
"""The default limit on the bytes of one row."""
COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst")
ON_ERROR = ("stop", "skip", "keep")
GUESS = "auto"
"""The value of ``encoding`` that asks to guess it."""


@dataclass
class Reading:
    """How to read files, and what happened while reading them.

    Parameters
    ----------
    format : str or None
        The name of a format in ``discern.data.formats.FORMATS``. By default the name of the file tells it.
    progress : callable
        Called with the number of bytes after each block.
    encoding : str or None
        The encoding of the files. By default UTF-8, unless a byte order mark names another. With ``"auto"`` a file
        that is neither is read as UTF-16 or Windows-1252.
    on_error : {"stop", "skip", "keep"}
        What to do with a row that cannot be read: refuse the file, leave the row out, or keep what can be read of it.
    at_once : bool
        Return rows as soon as they arrive instead of waiting for a full block.
    longest_row : int
        Refuse a row with more bytes as soon as that many have arrived.
    vectors : mapping of column to array
        Columns of vectors beside the rows, in their order over all files.

    Attributes
    ----------
    faults : dict
        The number of rows of each file that could not be read.
    first_fault : str
        The message about the first of them.
    guessed : dict
        The encoding of each file for which it was guessed.
    bytes_read : int
        Bytes read so far, unpacked. A file that is read twice counts twice.
    unfinished : int
        Bytes in memory of a row whose end has not arrived yet.
    """

    format: str | None = None
    progress: Callable[[int], None] = field(default=lambda _: None)
    encoding: str | None = None
    on_error: str = "stop"
    at_once: bool = False
    longest_row: int = LONGEST_ROW
    vectors: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    faults: dict[str, int] = field(default_factory=dict)
    first_fault: str = ""
    guessed: dict[str, str] = field(default_factory=dict)
    bytes_read: int = 0
    unfinished: int = 0

    def __post_init__(self) -> None:
        if self.on_error not in ON_ERROR:
            raise ValueError(f"on_error must be one of {', '.join(ON_ERROR)}, not {self.on_error!r}")
        if self.encoding not in (None, GUESS):
            self.encoding = _normalized(self.encoding)

    @property
    def keeps_bad_rows(self) -> bool:
        """Whether to keep what can be read of a bad row."""
        return self.on_error == "keep"

    @property
    def given_encoding(self) -> str | None:
        """The encoding that was given; None if it is the default or must be guessed."""
        return None if self.encoding == GUESS else self.encoding

    @property
    def encoding_fault(self) -> str:
        """The end of a message about bytes that are not in the encoding."""
        name = (self.given_encoding or "utf-8").upper()
        return f"is not {name}; set its encoding, for example --encoding latin-1, or convert it to UTF-8"

    def advance(self, count: int) -> None:
        """Count bytes that were read."""
        self.bytes_read += count
        self.progress(count)

    def start(self, source: str) -> None:
        """Start to read a file: its faults are counted anew, because it may have been read before."""
        self.faults[source] = 0

    def report_fault(self, source: str, message: str) -> None:
        """Raise ``DataError`` for a row that cannot be read, or count it."""
        if self.on_error == "stop":
            raise DataError(message)
        self.faults[source] = self.faults.get(source, 0) + 1
        self.first_fault = self.first_fault or message


def _normalized(encoding: str) -> str:
    """Return the usual name of a text encoding; raises ``DataError`` for an unknown one."""
    try:
        b"a".decode(encoding)
    except UnicodeDecodeError:
        pass  # a known encoding, in which a single byte is not a character
    except (LookupError, UnicodeError, ValueError) as error:
        raise DataError(f"unknown encoding {encoding!r}; use utf-8, latin-1, cp1252, …") from error
    return codecs.lookup(encoding).name


def open_file(path: Path, compression: str = "") -> BinaryIO:
    """Open a file for reading and unpack it; ``-`` is stdin. A pipe is opened when a program writes to it."""
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
    """Raise ``DataError`` for a file that does not exist."""
    from difflib import get_close_matches

    if not path.exists():
        siblings = [str(other) for other in path.parent.iterdir()] if path.parent.is_dir() else []
        close = get_close_matches(str(path), siblings, n=1)
        is_text = " " in path.name and not path.suffix
        hint = f"; did you mean {close[0]!r}?" if close else "; if it is a text, pass it in a list" if is_text else ""
        raise DataError(f"no such file: {str(path)!r}{hint}")


def _refuse_other(path: Path) -> None:
    """Raise ``DataError`` for a path without data, or with data that never end."""
    refuse_missing(path)
    about = os.stat(path)
    if stat.S_ISREG(about.st_mode) or stat.S_ISFIFO(about.st_mode) or _is_null(about):
        return
    if stat.S_ISDIR(about.st_mode):
        raise DataError(f"{str(path)!r} is a folder; pass a file")
    kind = "socket" if stat.S_ISSOCK(about.st_mode) else "device"
    raise DataError(f"{str(path)!r} is a {kind}; pass a file, or - to read standard input")


def _is_null(about: os.stat_result) -> bool:
    """Return whether a path is the null device, which is an empty file."""
    return stat.S_ISCHR(about.st_mode) and about.st_rdev == os.stat(os.devnull).st_rdev


def refuse_pipe(path: Path, name: str) -> None:
    """Raise ``DataError`` for anything but a regular file, for formats that must seek in it."""
    if str(path) == "-":
        raise DataError(f"{name} cannot be read from standard input; pass a file")
    _refuse_other(path)
    if not path.is_file():
        raise DataError(f"{name} cannot be read from {str(path)!r}, which is not a regular file; pass a file on disk")


def compression_of(path: Path) -> str:
    """Return the last suffix of a name if it tells a compression, or an empty text."""
    return path.suffix.lower() if path.suffix.lower() in COMPRESSIONS else ""


def in_parts(items: Iterable[Item], size: Callable[[Item], int], most: int, max_size: int) -> Iterator[list[Item]]:
    """Collect items into lists of at most ``most`` items, and of hardly more than ``max_size`` in sum.

    Examples
    --------
    >>> list(in_parts(["a", "long", "b", "c", "d"], len, most=3, max_size=4))
    [['a', 'long'], ['b', 'c', 'd']]
    """
    part: list[Item] = []
    total = 0
    for item in items:
        part.append(item)
        total += size(item)
        if len(part) == most or total > max_size:
            yield part
            part, total = [], 0
    if part:
        yield part


# ------------------------------------------------------------------------------------- rows that cannot be read


def without_gaps(columns: dict[str, Column], numbers: NDArray[np.int64], source: str) -> Iterator[Batch]:
    """Return rows with the given numbers as batches, a new one after each row that was left out."""
    edges = [0, *(np.flatnonzero(np.diff(numbers) != 1) + 1).tolist(), len(numbers)]
    for start, end in pairwise(edges):
        if end > start:
            part = {name: part_of(column, start, end) for name, column in columns.items()}
            yield Batch(part, end - start, source, int(numbers[start]))


def decodable(
    columns: dict[str, Strings], numbers: NDArray[np.int64], source: str, reading: Reading
) -> tuple[dict[str, Strings], NDArray[np.int64]]:
    """Report the rows that are not UTF-8; leave them out, or replace their bad bytes by U+FFFD.

    Returns the columns and the numbers of the remaining rows.
    """
    bad: dict[int, str] = {}
    replaced = {}
    for name, column in columns.items():
        values = [column.bytes_at(place) for place in range(len(column))]
        bad = {place: name for place, value in enumerate(values) if not _is_utf8(value)} | bad
        replaced[name] = Strings.of([value.decode("utf-8", "replace") for value in values])
    for place in sorted(bad):
        message = f"row {numbers[place]} of {source}, column {bad[place]!r}, {reading.encoding_fault}"
        reading.report_fault(source, message)
    if reading.keeps_bad_rows:
        return replaced, numbers
    is_sound = np.ones(len(numbers), bool)
    is_sound[list(bad)] = False
    sound = np.flatnonzero(is_sound)
    return {name: column.take(sound) for name, column in columns.items()}, numbers[sound]


def _is_utf8(value: bytes) -> bool:
    try:
        value.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
