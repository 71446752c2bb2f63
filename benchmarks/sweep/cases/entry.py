"""What the sweep knows about an estimator: its family, its peer, its data and the tolerance."""

import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import discern
from benchmarks.sweep.agreement import EXACT, Agreement

MANY = 10**9


@dataclass(frozen=True)
class Entry:
    """An estimator with options: its family, its peer, and what both are given."""

    name: str
    family: str
    peer: str = ""
    """``module:name`` of a class, or of a function that makes an estimator; empty: the class of the same name."""
    options: dict[str, Any] = field(default_factory=dict)
    """Of both sides."""
    our_options: dict[str, Any] = field(default_factory=dict)
    peer_options: dict[str, Any] = field(default_factory=dict)
    data: tuple[str, ...] = ("numbers",)
    """The lists of shapes in ``benchmarks.sweep.cases.catalog`` that it is measured on."""
    agreement: Agreement = EXACT
    most_rows: int = MANY
    most_classes: int = MANY
    most_columns: int = MANY
    queries: int = MANY
    """The greatest number of rows that are predicted."""
    leave_out: tuple[str, ...] = ()
    """Operations that have no peer."""

    @property
    def subject(self) -> str:
        given = {**self.options, **self.our_options}
        words = ",".join(f"{name}={_short(value)}" for name, value in given.items() if name not in QUIET)
        return f"{self.name}({words})" if words else self.name

    def ours(self, threads: int = 1) -> Any:
        return _made(getattr(discern, self.name), {**self.options, **self.our_options}, threads)

    def theirs(self, threads: int = 1) -> Any:
        return _made(self.peer_class(), {**self.options, **self.peer_options}, threads)

    def peer_class(self) -> Callable[..., Any]:
        if not self.peer:
            return namesakes()[self.name]
        module, name = self.peer.split(":")
        found: Callable[..., Any] = getattr(importlib.import_module(module), name)
        return found

    def has(self, operation: str) -> bool:
        """Return whether both sides have an operation."""
        if operation in self.leave_out:
            return False
        return hasattr(self.ours(), operation) and hasattr(self.theirs(), operation)


QUIET = ("estimator", "random_state", "max_iter", "tol", "threads")
"""Options that the name of a subject does not show."""


def _short(value: Any) -> str:
    return getattr(value, "__name__", None) or str(value).replace("/", "-").replace(" ", "")


def _made(made: Callable[..., Any], options: dict[str, Any], threads: int) -> Any:
    """Make an estimator; one that takes a number of jobs gets as many as there are threads."""
    given = {name: value() if inspect.isclass(value) else value for name, value in options.items()}
    if threads > 1 and "n_jobs" in _parameters(made):
        given["n_jobs"] = threads
    return made(**given)


@cache
def _parameters(made: Callable[..., Any]) -> frozenset[str]:
    return frozenset(inspect.signature(made).parameters)


@cache
def namesakes() -> dict[str, Any]:
    """Return the estimators of scikit-learn by name."""
    from sklearn.utils import all_estimators

    return dict(all_estimators())
