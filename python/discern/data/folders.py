"""Folders: a document or mail in each file, with subfolders as labels, and Maildirs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from discern.data.batch import Batch
from discern.data.buffer import leading_bytes
from discern.data.formats import FORMATS
from discern.data.source import Reading, compression_of, in_parts, open_file, without_gaps
from discern.data.strings import DataError, Strings

DOCUMENTS_AT_ONCE = 1000
BYTES_AT_ONCE = 1 << 22
LONGEST_DOCUMENT = 1 << 30

Row = tuple[int, dict[str, str]]
"""The number of a file in its folder, and its columns."""


def read_folder(folder: Path, reading: Reading) -> Iterator[Batch]:
    """Return the files of a folder as rows; if it has subfolders, their names are the labels.

    Files that are mails (a Maildir, names that end in .eml, or the format ``"eml"``) get the columns of a mail. All
    others are documents with a column ``text``.
    """
    from discern.data.message import Mails

    reading.start(str(folder))
    for part in in_parts(_rows(folder, reading), _size, DOCUMENTS_AT_ONCE, BYTES_AT_ONCE):
        numbers, rows = zip(*part, strict=True)
        kind = Batch if "text" in rows[0] else Mails
        columns = {name: Strings.of([row[name] for row in rows]) for name in rows[0]}
        for batch in without_gaps(columns, np.array(numbers, np.int64), str(folder)):
            yield kind(batch.columns, batch.rows, batch.source, batch.start)


def _size(row: Row) -> int:
    return sum(map(len, row[1].values()))


def _rows(folder: Path, reading: Reading) -> Iterator[Row]:
    from discern.data.formats.mailboxes import read_columns

    kinds = set()
    for number, (label, path, is_mail) in enumerate(_files(folder, reading), 1):
        kinds.add(is_mail)
        if len(kinds) > 1:
            raise DataError(f"{str(folder)!r} has mails and other documents, such as {str(path)!r}; pass --format")
        values = read_columns(path, reading) if is_mail else _document(path, str(folder), reading)
        if values is not None:
            yield number, {"label": label, **values} if label else values


def _files(folder: Path, reading: Reading) -> Iterator[tuple[str, Path, bool]]:
    """Return the label of each file, its path and whether it is a mail, in order of names."""
    if _is_maildir(folder):
        yield from (("", path, True) for path in _maildir_files(folder))
        return
    if reading.format is not None and FORMATS[reading.format].is_table:
        raise DataError(f"{str(folder)!r} is a folder; pass the files in it, for example '{folder}/*.{reading.format}'")
    inside = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    folders, files = [entry for entry in inside if entry.is_dir()], [entry for entry in inside if not entry.is_dir()]
    if not inside:
        raise DataError(
            f"{str(folder)!r} is a folder without files; pass a file, or a folder with subfolders as labels"
        )
    if folders and files:
        raise DataError(
            f"{str(folder)!r} is a folder with files beside its subfolders, such as {files[0].name!r}; "
            "pass the files, or remove them so that the subfolders are the labels"
        )
    table = next((path for path in files if _is_table(path)), None)
    if table is not None and reading.format is None:
        raise DataError(f"{str(folder)!r} is a folder with tables; pass them, for example '{folder}/*{table.suffix}'")
    for path in files:
        yield "", path, _is_mail(path, reading)
    for sub_folder in folders:
        if _is_maildir(sub_folder):
            yield from ((sub_folder.name, path, True) for path in _maildir_files(sub_folder))
        else:
            yield from ((sub_folder.name, path, _is_mail(path, reading)) for path in _files_below(sub_folder))


def _files_below(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            if not name.startswith("."):
                yield Path(place) / name


def _is_table(path: Path) -> bool:
    tables = {suffix for form in FORMATS if form.is_table for suffix in form.suffixes}
    return any(suffix.lower() in tables for suffix in path.suffixes[-2:])


def _is_mail(path: Path, reading: Reading) -> bool:
    return reading.format == "eml" or (reading.format is None and ".eml" in path.name.lower())


def _document(path: Path, folder: str, reading: Reading) -> dict[str, str] | None:
    """Return the text of a file, or None if it is to be left out."""
    if not path.is_file():
        raise DataError(f"{str(path)!r} is not a file that can be read as a document")
    with open_file(path, compression_of(path)) as stream:
        content = leading_bytes(stream, str(path), reading, LONGEST_DOCUMENT)
    try:
        return {"text": content.decode("utf-8")}
    except UnicodeDecodeError:
        reading.report_fault(folder, f"{str(path)!r} {reading.encoding_fault}")
        return {"text": content.decode("utf-8", "replace")} if reading.keeps_bad_rows else None


# ----------------------------------------------------------------------------------------------------- Maildir


def _is_maildir(folder: Path) -> bool:
    return (folder / "cur").is_dir() and (folder / "new").is_dir()


def _maildir_files(folder: Path) -> Iterator[Path]:
    for part in ("cur", "new"):
        yield from sorted(path for path in (folder / part).iterdir() if not path.name.startswith("."))
