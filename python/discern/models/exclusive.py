"""One change of an object at a time, whichever thread or forked process makes it."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

T = TypeVar("T")


class Exclusive:
    """An object with a lock, which whoever changes it holds as long as that takes."""

    def make_lock(self) -> None:
        """Make a lock that nobody holds."""
        self._lock = threading.RLock()
        _ALIVE.add(self)


_ALIVE: weakref.WeakSet[Exclusive] = weakref.WeakSet()


def _renew_locks() -> None:
    """Renew all locks in a forked process: the thread that held one is not there to release it."""
    for one in _ALIVE:
        one.make_lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks)


def one_at_a_time(method: Callable[..., T]) -> Callable[..., T]:
    """Let one thread at a time change an object, from reading its state to replacing it."""

    @wraps(method)
    def alone(self: Exclusive, *arguments: Any, **named: Any) -> T:
        with self._lock:
            return method(self, *arguments, **named)

    return alone
