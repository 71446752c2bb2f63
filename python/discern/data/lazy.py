"""Names of a package that are imported when they are first used."""

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def from_homes(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package: each name is in the module that ``homes`` says.

    Examples
    --------
    >>> from_homes("discern", {"load": "discern.classifier"})("lode")
    Traceback (most recent call last):
    AttributeError: module 'discern' has no attribute 'lode'
    """

    def found(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(home), name)
        setattr(sys.modules[package], name, value)  # the next time it is there
        return value

    return found
