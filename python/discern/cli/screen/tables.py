"""Tables that fit the terminal: numbers are never cut. Names are, and columns are dropped in a stated order."""

from __future__ import annotations

import copy
import re
import sys
from collections.abc import Iterator
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

PIPE_WIDTH = 1000
"""Wide enough that nothing is wrapped or cut where there is no terminal."""
LEAST_NAME = 12
"""The characters of a name that stay when a table is too wide."""
LEAST_WRAPPED = 24
"""The characters of a line in a column that goes on in the next line."""
GAP = 3
"""The characters between two columns."""
INDENT = 2
NO_BREAK = "\u00a0"
"""A space that keeps the words beside it on one line of a column that wraps."""


def console(stderr: bool = False) -> Console:
    """Return a console on stdout, or on stderr."""
    stream = sys.stderr if stderr else sys.stdout
    return Console(file=stream, highlight=False, emoji=False, width=None if stream.isatty() else PIPE_WIDTH)


class FittedTable(Table):
    """A table that fits its place.

    If it is too wide, columns in ``drop`` are left out, in this order, until the rest fits with names cut to
    ``LEAST_NAME`` characters; a line below tells which. Then the columns in ``names`` are cut, the widest first. If
    even that is too wide, lines are longer than the terminal: a cut number would be a wrong one.
    """

    names: frozenset[int] = frozenset()
    """The columns whose content may be cut, by place."""
    drop: tuple[int, ...] = ()
    """The columns that may be left out, by place, the first one first."""
    wraps: frozenset[int] = frozenset()
    """The columns whose content goes on in the next line."""
    cut_heads: bool = False
    """Whether the heads of numbers may be cut too, because they are names."""

    def natural(self, screen: Console) -> dict[int, int]:
        """Return the characters that each column needs."""
        return {place: self._longest(screen, place, head=True) for place in range(len(self.columns))}

    def least(self, screen: Console) -> dict[int, int]:
        """Return the characters of each column when its names are cut."""
        natural = self.natural(screen)
        least = {place: self._least(place, size) for place, size in natural.items()}
        if self.cut_heads:
            heads = {place: max(self._longest(screen, place, head=False), LEAST_NAME // 2) for place in natural}
            least |= {place: min(least[place], heads[place]) for place in natural if place not in self.names}
        return least

    def _least(self, place: int, size: int) -> int:
        return min(size, LEAST_WRAPPED if place in self.wraps else LEAST_NAME if place in self.names else size)

    def _longest(self, screen: Console, place: int, head: bool) -> int:
        column = self.columns[place]
        cells: list[RenderableType] = [*([column.header] if head else []), *column.cells]
        return max((Measurement.get(screen, screen.options, cell).maximum for cell in cells), default=0)

    def needs(self, screen: Console) -> int:
        """Return the characters of a line with all columns and the names cut."""
        return _total(self.least(screen))

    def dropped(self, screen: Console, room: int) -> list[int]:
        """Return the columns to leave out so that the others fit."""
        left, gone = self.least(screen), list[int]()
        for place in self.drop:
            if _total(left) <= room:
                break
            if any(str(cell) for cell in self.columns[place].cells):
                gone.append(place)
            del left[place]
        return gone

    def __rich_console__(self, screen: Console, options: ConsoleOptions) -> Iterator[Any]:
        """Render the table within the room there is."""
        gone = self.dropped(screen, options.max_width)
        natural, least = self.natural(screen), self.least(screen)
        places = [place for place in natural if place not in gone]
        sizes = _shrunk({place: natural[place] for place in places}, least, options.max_width)
        table = copy.copy(self)
        table.columns = [copy.copy(self.columns[place]) for place in places]
        for index, (column, place) in enumerate(zip(table.columns, places, strict=True)):
            column._index = index
            column.width, column.no_wrap = sizes[place], place not in self.wraps
            if place in self.wraps:
                column._cells = [folded(cell, sizes[place]) for cell in column._cells]
        yield from Table.__rich_console__(table, screen, options.update(width=max(options.max_width, _total(sizes))))
        names = [str(self.columns[place].header) for place in gone if str(self.columns[place].header)]
        if names:
            yield Text(f"left out to fit {screen.width} columns: {', '.join(names)}", "dim")


def folded(cell: Any, width: int) -> Text:
    """Return a text in lines of at most this width, broken only at plain spaces: no-break spaces keep parts together.

    Examples
    --------
    >>> folded(f"free{NO_BREAK}+2.1 to{NO_BREAK}win{NO_BREAK}+1.9", 12).plain.splitlines()
    ['free +2.1', 'to win +1.9']
    """
    text = cell if isinstance(cell, Text) else Text(str(cell))
    start, end, lines = 0, 0, list[Text]()
    for word in re.finditer("[^ ]+", text.plain):
        if word.end() - start > width and end > start:
            lines.append(text[start:end])
            start = word.start()
        end = word.end()
    whole = Text("\n").join([*lines, text[start:]])
    whole.plain = whole.plain.replace(NO_BREAK, " ")
    return whole


def _total(sizes: dict[int, int]) -> int:
    return sum(sizes.values()) + GAP * (len(sizes) - 1)


def _shrunk(sizes: dict[int, int], least: dict[int, int], room: int) -> dict[int, int]:
    """Return sizes that fit, as far as ``least`` allows: the widest columns shrink first.

    Examples
    --------
    >>> _shrunk({0: 30, 1: 20, 2: 7}, {0: 12, 1: 12, 2: 7}, 49)
    {0: 18, 1: 18, 2: 7}
    """
    found = dict(sizes)
    while _total(found) > room:
        widest = max(found, key=lambda place: (found[place] - least[place] > 0, found[place]))
        if found[widest] <= least[widest]:
            break
        found[widest] -= 1
    return found


def plain_table(
    *columns: str,
    left: int = 1,
    names: tuple[str, ...] = (),
    wraps: tuple[str, ...] = (),
    drop: tuple[str, ...] = (),
    cut_heads: bool = False,
) -> FittedTable:
    """Return an empty table: the first ``left`` columns and ``names`` hold names, the others numbers.

    ``drop`` are the columns to leave out where the table is too wide, the first one first. Those in ``wraps`` go on in
    the next line.
    """
    table = FittedTable(box=SIMPLE_HEAD, header_style="dim", pad_edge=False, show_edge=False)
    words = {*columns[:left], *names, *wraps}
    for name in columns:
        overflow: Any = "fold" if name in wraps else "ellipsis"
        table.add_column(name, justify="left" if name in words else "right", overflow=overflow)
    table.names = frozenset(place for place, name in enumerate(columns) if name in words)
    table.wraps = frozenset(map(columns.index, wraps))
    table.drop, table.cut_heads = tuple(columns.index(name) for name in drop if name in columns), cut_heads
    return table


def show(screen: Console, *parts: Any) -> None:
    """Print parts, indented, each followed by an empty line."""
    for part in parts:
        with screen.capture() as captured:
            screen.print(part, width=screen.width - INDENT, crop=False, no_wrap=False)
        lines = (" " * INDENT + line.rstrip() for line in captured.get().splitlines())
        screen.file.write("\n".join(lines).rstrip() + "\n\n")
