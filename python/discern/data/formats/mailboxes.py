"""Mail: mailboxes (mbox) and single messages (eml) as rows with the columns of a mail.

``discern.data.message`` is imported when the first mail is read: the standard library's ``email`` takes 20 ms.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from discern.data.batch import Batch
from discern.data.buffer import ReadBuffer, leading_bytes
from discern.data.formats import FORMATS, Format
from discern.data.source import Reading, compression_of, in_parts, open_file
from discern.data.strings import DataError

ENVELOPE = re.compile(rb"\n\r?\n(?=From [^\n]{0,400}\d:\d\d)")
"""Between two messages of an mbox: a blank line, then the line that begins a message, which holds a time."""
MAX_ENVELOPE = 512
"""The limit on the bytes of such a separator."""
MAILS_AT_ONCE = 200
BYTES_AT_ONCE = 1 << 22


def read_mbox(stream: BinaryIO, source: str, reading: Reading) -> Iterator[Batch]:
    """Return the messages of an mbox as rows, a few at a time."""
    from discern.data.message import as_mails

    row = 1
    for contents in in_parts(_messages(stream, source, reading), len, MAILS_AT_ONCE, BYTES_AT_ONCE):
        yield as_mails(contents, source, row, reading.given_encoding)
        row += len(contents)


def read_message(stream: BinaryIO, source: str, reading: Reading) -> Iterator[Batch]:
    """Return a single message as a row; none for an empty file."""
    from discern.data.message import MAX_BYTES, as_mails

    content = leading_bytes(stream, source, reading, MAX_BYTES, raw=True)
    if content:
        yield as_mails([content], source, fallback=reading.given_encoding)


def _messages(stream: BinaryIO, source: str, reading: Reading) -> Iterator[bytes]:
    """Split an mbox into messages, each cut to ``MAX_BYTES``."""
    from discern.data.message import MAX_BYTES

    buffer = ReadBuffer(stream, source, reading, raw=True)
    pending, head, searched, is_new, follows = bytearray(), b"", 0, True, True
    while follows:
        follows = buffer.fill()
        pending += buffer.content.tobytes()
        buffer.consume(len(buffer.content))
        if is_new and follows and len(pending) < MAX_ENVELOPE:
            continue
        if is_new:
            _check_start(pending, source)
            is_new = False
        start = 0
        for found in ENVELOPE.finditer(pending, searched):
            yield head or bytes(pending[start : found.start() + 1])
            head, start = b"", found.end()
        del pending[:start]
        if len(pending) > MAX_BYTES + MAX_ENVELOPE:
            head = head or bytes(pending[:MAX_BYTES])
            del pending[:-MAX_ENVELOPE]
        searched = max(0, len(pending) - MAX_ENVELOPE)
    if head or pending:
        yield head or bytes(pending)


def _check_start(pending: bytearray, source: str) -> None:
    """Remove leading blank lines; raises ``DataError`` if the file does not start like an mbox."""
    del pending[: len(pending) - len(pending.lstrip(b"\r\n"))]
    if pending and not pending.startswith(b"From "):
        raise DataError(f"{source} is not an mbox: its first line should begin with 'From '")


def read_columns(path: Path, reading: Reading) -> dict[str, str]:
    """Return the columns of the message in a file."""
    from discern.data.message import MAX_BYTES, columns_of

    if not path.is_file():
        raise DataError(f"{str(path)!r} is not a file that can be read as a mail")
    with open_file(path, compression_of(path)) as stream:
        content = leading_bytes(stream, str(path), reading, MAX_BYTES, raw=True)
    return columns_of(content, reading.given_encoding)


FORMATS.add(
    Format(
        name="mbox",
        position=7,
        title="mbox",
        suffixes=(".mbox",),
        about="The [columns of a mail](mail.md), a message in each row.",
        read=read_mbox,
    )
)
FORMATS.add(
    Format(
        name="eml",
        position=8,
        title="eml",
        suffixes=(".eml",),
        about="The columns of a mail, of a single message.",
        read=read_message,
        is_table=False,
    )
)
