"""Mailboxes: mbox, Maildir and single messages as rows with the columns of a mail."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

from discern.data.batch import Batch, Column, did_you_mean
from discern.data.message import COLUMNS, MOST_BYTES, columns_of
from discern.data.source import Reading, Window, compression_of, open_file, whole
from discern.data.strings import DataError, Strings

ENVELOPE = re.compile(rb"\n\r?\n(?=From [^\n]{0,400}\d:\d\d)")
"""Between two messages of an mbox: a blank line, then the line that begins a message, which holds a time."""
SEPARATOR = 512
"""No separator has more bytes."""
MAILS_AT_ONCE = 200
BYTES_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class Mails(Batch):
    """Rows with the columns of a mail; a model of a single ``text`` is given subject and body."""

    min_word_length: ClassVar[int] = 1
    """Pairs with the single letters and digits of prices, numbers and names tell spam from good mail."""

    def is_text(self, name: str) -> bool:
        """Return whether a column is a text: all of a mail's are."""
        return name in COLUMNS

    def column(self, name: str) -> Column:
        """Return a column; ``text`` is all of subject, body and html."""
        if name in self.columns:
            return self.columns[name]
        if name != "text":
            raise DataError(f"{self.source_has} no column {name!r}{did_you_mean(name, [*self.columns, 'text'])}")
        parts = [self.columns[part].to_list() for part in ("subject", "body", "html")]
        return Strings.of(["\n".join(filter(None, values)) for values in zip(*parts, strict=True)])


def read_mbox(stream: BinaryIO, source: str, reading: Reading) -> Iterator[Batch]:
    """Return the messages of an mbox as rows, a few at a time."""
    contents: list[bytes] = []
    row, size = 1, 0
    for content in messages_of(stream, source, reading):
        contents.append(content)
        size += len(content)
        if len(contents) == MAILS_AT_ONCE or size > BYTES_AT_ONCE:
            yield of_messages(contents, source, row, reading)
            row, contents, size = row + len(contents), [], 0
    if contents:
        yield of_messages(contents, source, row, reading)


def read_message(stream: BinaryIO, source: str, reading: Reading) -> Iterator[Batch]:
    """Return a single message as a row."""
    content = whole(stream, source, reading, MOST_BYTES, raw=True)
    if content:
        yield of_messages([content], source, 1, reading)


def of_messages(contents: list[bytes], source: str, row: int = 1, reading: Reading | None = None) -> Mails:
    """Return messages as rows."""
    fallback = reading.given if reading is not None else None
    found = [columns_of(content, fallback) for content in contents]
    columns = {name: Strings.of([values[name] for values in found]) for name in COLUMNS}
    return Mails(columns, len(found), source, row)


def messages_of(stream: BinaryIO, source: str, reading: Reading) -> Iterator[bytes]:
    """Cut an mbox into messages; of a very long one the beginning is given."""
    window = Window(stream, source, reading, raw=True)
    pending, head, searched, new, follows = bytearray(), b"", 0, True, True
    while follows:
        follows = window.more()
        pending += window.content.tobytes()
        window.drop(len(window.content))
        if new and follows and len(pending) < SEPARATOR:
            continue
        if new:
            _refuse_other(pending, source)
            new = False
        start = 0
        for found in ENVELOPE.finditer(pending, searched):
            yield head or bytes(pending[start : found.start() + 1])
            head, start = b"", found.end()
        del pending[:start]
        if len(pending) > MOST_BYTES + SEPARATOR:
            head = head or bytes(pending[:MOST_BYTES])
            del pending[:-SEPARATOR]
        searched = max(0, len(pending) - SEPARATOR)
    if head or pending:
        yield head or bytes(pending)


def _refuse_other(begun: bytearray, source: str) -> None:
    """Pass over blank lines, and refuse what does not begin as an mbox does."""
    del begun[: len(begun) - len(begun.lstrip(b"\r\n"))]
    if begun and not begun.startswith(b"From "):
        raise DataError(f"{source} is not an mbox: its first line should begin with 'From '")


# ----------------------------------------------------------------------------------------------------- Maildir


def is_maildir(folder: Path) -> bool:
    """Return whether a folder is a Maildir."""
    return (folder / "cur").is_dir() and (folder / "new").is_dir()


def maildir_files(folder: Path) -> Iterator[Path]:
    """Return the messages of a Maildir, in order of names."""
    for part in ("cur", "new"):
        yield from sorted(path for path in (folder / part).iterdir() if not path.name.startswith("."))


def mail_columns(path: Path, reading: Reading) -> dict[str, Any]:
    """Return the columns of the message in a file."""
    if not path.is_file():
        raise DataError(f"{str(path)!r} is no file that can be read as a mail")
    with open_file(path, compression_of(path)) as stream:
        return columns_of(whole(stream, str(path), reading, MOST_BYTES, raw=True), reading.given)
