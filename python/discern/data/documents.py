"""Documents: one a line, or one a file in folders that are the labels."""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from discern.data.batch import Batch, Column
from discern.data.source import Reading, Window, compression_of, last_line_end, open_file, runs, settled, whole
from discern.data.strings import DataError, Strings

if TYPE_CHECKING:
    from numpy.typing import NDArray

DOCUMENTS_AT_ONCE = 1000
BYTES_AT_ONCE = 1 << 22
LONGEST_DOCUMENT = 1 << 30
PIECE = 1 << 20
LINE_BREAK, RETURN = ord("\n"), ord("\r")


# -------------------------------------------------------------------------------------------- a document a line


def read_lines(stream: BinaryIO, source: str, reading: Reading) -> Iterator[Batch]:
    """Return the lines of a file as rows with a column ``text``; a blank line is an empty text."""
    row = 1
    for lines in lines_of(stream, source, reading):
        columns, numbers = {"text": lines}, np.arange(row, row + len(lines), dtype=np.int64)
        row += len(lines)
        if not _is_utf8(lines):
            columns, numbers = settled(columns, numbers, source, reading)
        yield from runs(columns, numbers, source)


def lines_of(stream: BinaryIO, source: str, reading: Reading) -> Iterator[Strings]:
    r"""Return the lines of a file, block by block; they end with \n or \r\n and nothing else."""
    window, row = Window(stream, source, reading), 1
    while window.more_rows(row):
        end = last_line_end(window.content) if window.follows else len(window.content)
        lines = _cut(window.content[:end])
        yield lines
        row += len(lines)
        window.drop(end)


def _cut(block: NDArray[np.uint8]) -> Strings:
    """Cut a block into lines, without what ends them."""
    ends = np.flatnonzero(block == LINE_BREAK)
    starts = np.concatenate([[0], ends + 1])
    if len(ends) and ends[-1] == len(block) - 1:
        starts = starts[:-1]
    else:
        ends = np.append(ends, len(block))  # the last line has no line break
    returns = (ends < len(block)) & (ends > starts) & (block[np.maximum(ends, 1) - 1] == RETURN)
    return Strings(starts, block, ends - returns)


def _is_utf8(lines: Strings) -> bool:
    """Return whether all lines are UTF-8: they are if the block is, because what ends a line is ASCII."""
    decoder, size = codecs.getincrementaldecoder("utf-8")(), len(lines.data)
    try:
        for start in range(0, size, PIECE):  # a line may be very long
            decoder.decode(lines.data[start : start + PIECE].tobytes(), start + PIECE >= size)
    except UnicodeDecodeError:
        return False
    return True


# ------------------------------------------------------------------------------------------- a document a file


def read_folder(folder: Path, reading: Reading) -> Iterator[Batch]:
    """Return the files of a folder as rows; if it has sub-folders, they are the labels.

    Files that are mails (a Maildir, names that end in .eml, or the format ``"eml"``) become columns of mail; all others
    are documents with a column ``text``.
    """
    from discern.data.mailboxes import Mails, is_maildir, mail_columns, maildir_files

    reading.begin(str(folder))
    if is_maildir(folder):
        found: Any = (("", path, True) for path in maildir_files(folder))
    else:
        found = _documents(folder, reading)
    rows: list[dict[str, str]] = []
    numbers: list[int] = []
    size, kinds = 0, set()
    for number, (label, path, mail) in enumerate(found, 1):
        kinds.add(mail)
        if len(kinds) > 1:
            raise DataError(f"{str(folder)!r} has mails and other documents, such as {str(path)!r}; give --format")
        values = mail_columns(path, reading) if mail else _document(path, str(folder), reading)
        if values is None:
            continue
        rows.append({"label": label, **values} if label else values)
        numbers.append(number)
        size += sum(map(len, values.values()))
        if len(rows) == DOCUMENTS_AT_ONCE or size > BYTES_AT_ONCE:
            yield from _as_batches(rows, numbers, str(folder), Mails if mail else Batch)
            rows, numbers, size = [], [], 0
    if rows:
        yield from _as_batches(rows, numbers, str(folder), Mails if mail else Batch)


def _as_batches(rows: list[dict[str, str]], numbers: list[int], source: str, kind: type[Batch]) -> Iterator[Batch]:
    columns: dict[str, Column] = {name: Strings.of([row[name] for row in rows]) for name in rows[0]}
    for batch in runs(columns, np.array(numbers, np.int64), source):
        yield kind(batch.columns, batch.rows, batch.source, batch.start)


def _documents(folder: Path, reading: Reading) -> Iterator[tuple[str, Path, bool]]:
    """Return label, file and whether it is a mail, in order of names."""
    from discern.data.mailboxes import is_maildir, maildir_files

    if reading.format not in (None, "text", "eml"):
        raise DataError(f"{str(folder)!r} is a folder; give the files in it, for example '{folder}/*.{reading.format}'")
    inside = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    folders, files = [entry for entry in inside if entry.is_dir()], [entry for entry in inside if not entry.is_dir()]
    if not inside:
        raise DataError(
            f"{str(folder)!r} is a folder without files; give a file, or a folder with sub-folders as labels"
        )
    if folders and files:
        raise DataError(f"{str(folder)!r} is a folder with files beside its sub-folders, such as {files[0].name!r}")
    table = next((path for path in files if _is_table(path)), None)
    if table is not None and reading.format is None:
        raise DataError(f"{str(folder)!r} is a folder with tables; give them, for example '{folder}/*{table.suffix}'")
    for path in files:
        yield "", path, _is_mail(path, reading)
    for sub_folder in folders:
        if is_maildir(sub_folder):
            yield from ((sub_folder.name, path, True) for path in maildir_files(sub_folder))
        else:
            yield from ((sub_folder.name, path, _is_mail(path, reading)) for path in _files_below(sub_folder))


def _files_below(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            if not name.startswith("."):
                yield Path(place) / name


def _is_table(path: Path) -> bool:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    return any(suffix in (".csv", ".tsv", ".jsonl", ".parquet", ".arrow", ".feather") for suffix in suffixes[-2:])


def _is_mail(path: Path, reading: Reading) -> bool:
    return reading.format == "eml" or (reading.format is None and ".eml" in path.name.lower())


def _document(path: Path, folder: str, reading: Reading) -> dict[str, str] | None:
    """Return the text of a file, or None for one to leave out."""
    if not path.is_file():
        raise DataError(f"{str(path)!r} is no file that can be read as a document")
    with open_file(path, compression_of(path)) as stream:
        content = whole(stream, str(path), reading, LONGEST_DOCUMENT)
    try:
        return {"text": content.decode("utf-8")}
    except UnicodeDecodeError:
        reading.fault(folder, f"{str(path)!r} {reading.not_decoded}")
        return {"text": content.decode("utf-8", "replace")} if reading.keeps else None
