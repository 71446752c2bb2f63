"""Lazy imports: names of a package that are imported on first use."""

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def from_homes(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package; ``homes`` maps each name to the module that defines it.

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
        setattr(sys.modules[package], name, value)  # so that this function is called once a name
        return value

    return found
