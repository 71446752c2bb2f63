"""A dict of terms and columns that knows whether it was edited."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Vocabulary(dict[str, int]):
    """A mapping of terms to columns. ``edited`` is set by whatever changes it.

    Examples
    --------
    >>> vocabulary = Vocabulary({"fish": 0})
    >>> vocabulary.edited
    False
    >>> vocabulary["bird"] = 1
    >>> vocabulary.edited, vocabulary
    (True, {'fish': 0, 'bird': 1})
    """

    edited: bool = False


def _noting(name: str) -> Callable[..., Any]:
    change = getattr(dict, name)

    def changed(self: Vocabulary, *arguments: Any, **named: Any) -> Any:
        self.edited = True
        return change(self, *arguments, **named)

    changed.__name__ = name
    return changed


for _name in ("__setitem__", "__delitem__", "__ior__", "clear", "pop", "popitem", "setdefault", "update"):
    setattr(Vocabulary, _name, _noting(_name))
