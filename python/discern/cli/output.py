"""Results go to stdout or to a file, messages to stderr; models are loaded and saved."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import typer

if TYPE_CHECKING:
    from discern.classifier import Classifier
    from discern.data.source import Reading


def say(message: str) -> None:
    """Print a message to stderr."""
    typer.echo(message, err=True)


def warn(message: str, quiet: bool) -> None:
    """Print a warning to stderr."""
    if not quiet:
        typer.echo(f"warning: {message}", err=True)


def to_json(value: Any) -> str:
    """Return a value as one line of JSON."""
    return json.dumps(value, ensure_ascii=False)


def print_json(value: Any) -> None:
    """Print a value to stdout as one line of JSON."""
    typer.echo(to_json(value))


def visible(text: str) -> str:
    """Replace control characters, which a terminal would obey; every other character keeps its place.

    Examples
    --------
    >>> visible("a" + chr(27) + "[31mb")
    'a�[31mb'
    """
    return "".join(character if character.isprintable() or character in "\n\t" else "�" for character in text)


def counted(number: int, name: str) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{number:,} {name}" + ("s" if number != 1 else "")


def in_bytes(size: float) -> str:
    """Return a size in bytes as text.

    Examples
    --------
    >>> in_bytes(999), in_bytes(12345)
    ('999 B', '12.3 kB')
    """
    units = ["B", "kB", "MB", "GB", "TB"]
    while size >= 1000 and len(units) > 1:
        size, units = size / 1000, units[1:]
    return f"{size:.0f} B" if units[0] == "B" else f"{size:.1f} {units[0]}"


def percent(share: float) -> str:
    """Return a share as text; a share below one never looks like one.

    Examples
    --------
    >>> percent(0.5), percent(0.999999), percent(1.0)
    ('50.00%', '>99.99%', '100.00%')
    """
    return ">99.99%" if 0.99995 <= share < 1 else f"{share:.2%}"


@contextmanager
def writing(path: Path | None) -> Iterator[TextIO]:
    """Open stdout, or a file that appears when it is complete."""
    if path is None or str(path) == "-":
        yield sys.stdout
        return
    refuse_bad_place(path)
    with (
        whole_or_not(path) as place,
        place.open("w", encoding="utf-8", errors="backslashreplace", newline="") as stream,
    ):
        yield stream


@contextmanager
def whole_or_not(path: Path) -> Iterator[Path]:
    """Return a temporary path to write to; the file gets its name when it is complete."""
    target = path.resolve()
    special = target.exists() and not target.is_file()  # a device or a named pipe cannot be replaced
    place = target if special else target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        yield place
        if not special:
            place.replace(target)
    except BaseException:
        if not special:
            place.unlink(missing_ok=True)
        raise


def refuse_bad_place(path: Path) -> None:
    """Raise now what writing the file would raise later."""
    if path.is_dir():
        raise ValueError(f"{str(path)!r} is a folder; pass the name of a file")
    if not path.parent.is_dir():
        raise ValueError(f"cannot write {path.name!r}: no such folder: {str(path.parent)!r}")
    if not os.access(path.parent, os.W_OK):
        raise ValueError(f"the folder {str(path.parent)!r} cannot be written to")


def loaded(
    path: Path,
    text: str | None = None,
    threads: int | None = None,
    label: str | None = None,
    embed: Path | None = None,
) -> Classifier:
    """Load a model, with some of its settings changed."""
    from discern.classifier import Classifier
    from discern.data.source import refuse_missing

    refuse_missing(path)
    classifier = Classifier.load(path, embed=embed)
    if text is not None:
        classifier.read_text_from(text)
    if label is not None:
        classifier.read_labels_from(label)
    classifier.threads = threads
    return classifier


def saved(classifier: Classifier, path: Path, slim: bool = False) -> dict[str, Any]:
    """Save a model and return its path, size and checksum."""
    checksum = classifier.save(path, slim=slim)
    return {"file": str(path), "bytes": path.stat().st_size, "checksum": checksum}


@contextmanager
def progress_bar(how: Reading, total: int | None) -> Iterator[None]:
    """Show on stderr how much has been read of ``total`` bytes."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn, TransferSpeedColumn

    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=total)
        how.progress = lambda size: bar.advance(task, size)
        yield
