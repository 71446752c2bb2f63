"""What the sweep measures: a case is a subject on a shape, and each of its operations is a cell."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Protocol

Work = Callable[[], Any]


class Bench(Protocol):
    """Measures cells: the time of both sides, their memory, or only that they run."""

    folder: Path
    """Where a case may write the files that it reads."""
    threads: int

    def measure(self, operation: str, ours: Work, theirs: Work, check: Callable[[Any, Any], None]) -> tuple[Any, Any]:
        """Measure both sides after a check of what they return, and return both outcomes.

        Raises StopCellError, after the cell is reported, if it has no outcomes.
        """


class StopCellError(Exception):
    """A cell has no outcomes that others could work with."""


def each(steps: Iterable[Work]) -> None:
    """Run the steps of a case that do not need each other: one that stops does not stop the others."""
    for step in steps:
        with suppress(StopCellError):
            step()


@dataclass(frozen=True)
class Case:
    """A subject on a shape: ``run`` makes the data, and has the bench measure each operation."""

    family: str
    subject: str
    """The public name, with the options that differ from the defaults in parentheses."""
    covers: tuple[str, ...]
    """The public names that the case measures."""
    shape: str
    operations: tuple[str, ...]
    run: Callable[[Bench], None]
    warm_up: Callable[[Bench], None] | None = None
    """The same on little data: run before memory is measured, so that imports are not counted."""
    main: bool = False
    """Whether it is measured with two threads, too."""

    @property
    def name(self) -> str:
        return f"{self.family}/{self.subject}/{self.shape}"

    @property
    def cells(self) -> tuple[str, ...]:
        return tuple(f"{self.name}/{operation}" for operation in self.operations)


def wanted(name: str, only: str | None) -> bool:
    """Return whether a cell is meant by a family, a subject, a part of the name in its order, or a glob."""
    if not only:
        return True
    if any(mark in only for mark in "*?["):
        return fnmatchcase(name, only) or fnmatchcase(name, f"*/{only}")
    return f"/{only.strip('/')}/" in f"/{name}/" or only in [part.split("(")[0] for part in name.split("/")]


def chosen(cases: list[Case], only: str | None) -> list[Case]:
    """Return the cases that have a wanted cell."""
    found = [case for case in cases if any(wanted(cell, only) for cell in case.cells)]
    if not found:
        families = ", ".join(dict.fromkeys(case.family for case in cases))
        raise SystemExit(f"no cell matches {only!r}: name a family ({families}), a public name or a glob")
    return found
