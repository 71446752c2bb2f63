"""File formats: one module each, which defines a reader and adds a row to the registry."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from discern.data.batch import Batch
from discern.data.registry import Registry
from discern.data.source import Reading


@dataclass(frozen=True)
class Format:
    """A file format.

    Parameters
    ----------
    name : str
        The name that users choose it by, as in ``--format jsonl``.
    title : str
        The name in sentences, such as "JSON lines".
    suffixes : tuple of str
        The endings of its files in lower case, without those of compressed files, such as ``(".jsonl", ".ndjson")``.
        If two formats have the same suffix, the one that was added last gets it.
    about : str
        What is a row and what is a column, for the documentation.
    read : callable
        ``read(stream, source, reading)`` returns the rows in batches. ``stream`` is a binary file, already unpacked, or
        standard input. ``source`` is its name for messages. ``reading`` has the options, counts the bytes that were
        read, and decides what happens to rows that cannot be read.
    needs_path : bool
        Whether ``read`` is called with the path of a regular file instead of a stream, so that it can seek. Standard
        input and pipes are refused.
    compresses : bool
        Whether the format compresses its content by itself, so that the size of a file does not tell how much there
        is to read.
    is_table : bool
        Whether a file is a table of rows. A folder of documents must not contain tables.
    position : int
        Where the format stands in lists. Formats of extensions come last.
    spark : mapping or None
        The arguments with which ``spark.read.load`` reads such files. An argument ``encoding`` is replaced by the
        encoding that the user gives. By default Spark cannot read them.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    about: str
    read: Callable[[Any, str, Reading], Iterator[Batch]]
    needs_path: bool = False
    compresses: bool = False
    is_table: bool = True
    spark: Mapping[str, Any] | None = None
    position: int = 100


def _import_all() -> None:
    """Import the modules of this folder: each adds its rows."""
    from pkgutil import iter_modules

    for module in iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")


FORMATS: Registry[Format] = Registry("format", fill=_import_all, order=lambda row: row.position)
"""All file formats by name: one row from each module of this folder, and those of extensions."""
