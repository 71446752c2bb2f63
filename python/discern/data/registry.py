"""Tables of what there is to choose from: models, file formats, event models. One row each, in one place."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib import import_module
from typing import Any, Generic, Protocol, TypeVar


class Named(Protocol):
    """A row of a table."""

    @property
    def name(self) -> str:
        """The name that users choose it by."""


Row = TypeVar("Row", bound=Named)
_LOCK = threading.RLock()
"""Held while rows are added, so that no other thread sees half a table."""


class Registry(Generic[Row]):
    """Rows by name, in the order in which they were added.

    Modules listed in the environment variable ``DISCERN_EXTENSIONS`` (separated by commas) are imported before the
    first look-up, and may add rows of their own.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> colors = Registry("color", [SimpleNamespace(name="red")])
    >>> colors.add(SimpleNamespace(name="blue"))
    >>> colors.names()
    ('red', 'blue')
    >>> colors["bleu"]
    Traceback (most recent call last):
    ValueError: unknown color 'bleu'; did you mean 'blue'? Choose one of: 'red', 'blue'
    """

    def __init__(
        self,
        kind: str,
        rows: Iterable[Row] = (),
        fill: Callable[[], None] | None = None,
        order: Callable[[Row], Any] | None = None,
    ) -> None:
        """``fill`` adds rows before the first look-up; ``order`` is the key by which rows are listed."""
        self._kind, self._rows = kind, {row.name: row for row in rows}
        self._fill, self._order = fill, order

    def add(self, row: Row) -> None:
        """Add a row; its name must be new."""
        if row.name in self._rows:
            raise ValueError(f"There is already a {self._kind} {row.name!r}")
        self._rows[row.name] = row

    def _ready(self) -> dict[str, Row]:
        with _LOCK:
            fill, self._fill = self._fill, None
            if fill is not None:
                fill()
            load_extensions()
        return self._rows

    def __iter__(self) -> Iterator[Row]:
        rows = tuple(self._ready().values())
        return iter(rows if self._order is None else sorted(rows, key=self._order))

    def __contains__(self, name: object) -> bool:
        return name in self._ready()

    def __getitem__(self, name: str) -> Row:
        """Return the row of a name; raises ValueError with the names there are."""
        if name in self:
            return self._rows[name]
        from discern.data.batch import did_you_mean

        raise ValueError(f"unknown {self._kind} {name!r}{did_you_mean(name, self.names())}")

    def names(self) -> tuple[str, ...]:
        """Return all names."""
        return tuple(row.name for row in self)


@cache
def load_extensions() -> None:
    """Import the modules that the environment names, once."""
    for module in filter(None, map(str.strip, os.environ.get("DISCERN_EXTENSIONS", "").split(","))):
        try:
            import_module(module)
        except ImportError as error:
            raise ValueError(f"cannot import {module!r}, which DISCERN_EXTENSIONS names: {error}") from error


@cache
def imported(place: str) -> Any:
    """Return what ``module:name`` names: rows of a table name code that is only imported when it is used.

    Examples
    --------
    >>> imported("math:sqrt")(4)
    2.0
    """
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
