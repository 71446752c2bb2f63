"""Results to stdout or to a file, messages to stderr."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import typer

if TYPE_CHECKING:
    from discern.data.source import Reading

LEAST = 1 << 23
"""Smaller inputs are read before a progress bar could be seen."""


def say(message: str, quiet: bool = False) -> None:
    """Tell people something, on stderr."""
    if not quiet:
        typer.echo(message, err=True)


def to_json(value: Any) -> str:
    """Return a value as one line of JSON."""
    return json.dumps(value, ensure_ascii=False)


def visible(text: str) -> str:
    """Replace what a terminal would obey instead of show; every character keeps its place.

    Examples
    --------
    >>> visible("a" + chr(27) + "[31mb")
    'a�[31mb'
    """
    return "".join(character if character.isprintable() or character in "\n\t" else "�" for character in text)


def counted(number: int, name: str) -> str:
    """Return a number of things.

    Examples
    --------
    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{number:,} {name}" + ("s" if number != 1 else "")


def in_bytes(size: float) -> str:
    """Return a size for people.

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
    """Return a share for people: what is below one never looks like one.

    Examples
    --------
    >>> percent(0.5), percent(0.999999), percent(1.0)
    ('50.00%', '>99.99%', '100.00%')
    """
    return ">99.99%" if 0.99995 <= share < 1 else f"{share:.2%}"


@contextmanager
def writing(path: Path | None) -> Iterator[TextIO]:
    """Return stdout, or a file that appears when it is complete."""
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
    """Return a place to write a file at; it gets its name when it is complete."""
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
    """Complain now about a file that could not be written later."""
    if path.is_dir():
        raise ValueError(f"{str(path)!r} is a folder; give the name of a file")
    if not path.parent.is_dir():
        raise ValueError(f"there is no folder {str(path.parent)!r} to write {path.name!r} in")
    if not os.access(path.parent, os.W_OK):
        raise ValueError(f"the folder {str(path.parent)!r} cannot be written to")


@contextmanager
def reading(
    sources: Sequence[str],
    given: str | None,
    quiet: bool,
    busy: bool = False,
    encoding: str | None = None,
    on_error: str = "stop",
    at_once: bool = False,
) -> Iterator[Reading]:
    """Return how to read the sources, with a progress bar on a terminal; ``busy`` if results go there too.

    At the end it is said how many rows could not be read.
    """
    from discern.data.formats import FORMATS
    from discern.data.readers import total_size
    from discern.data.source import Reading

    how = Reading(given, encoding=encoding, on_error=on_error, at_once=at_once)

    total = total_size(sources, given)
    if given is not None and FORMATS[given].needs_path and "-" in sources:
        raise typer.BadParameter(f"{FORMATS[given].title} cannot be read from stdin; give a file")
    if quiet or busy or not sys.stderr.isatty() or (total is not None and total < LEAST):
        yield how
        _tell_faults(how, quiet)
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn, TransferSpeedColumn

    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=total)
        how.progress = lambda size: bar.advance(task, size)
        yield how
    _tell_faults(how, quiet)


def _tell_faults(how: Reading, quiet: bool) -> None:
    for source, encoding in how.guessed.items():
        say(f"{source} is not UTF-8: it was read as {encoding}", quiet)
    count = sum(how.faults.values())
    if count:
        done = "kept as far as readable" if how.keeps_bad_rows else "left out"
        say(f"{counted(count, 'bad row')} {done}: {how.first_fault}", quiet)
