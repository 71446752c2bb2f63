"""One process at a time may change a model file."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Wait until no other process changes this file, and keep others out; whoever dies lets go.

    The lock is a file beside it that is there only as long as it is needed.
    """
    target = path.resolve()
    place = target.with_name(f".{target.name}.lock")
    handle = _wait(place)
    try:
        yield
    finally:
        # First the name, then the lock: whoever has waited sees that the file is gone, and makes a new one.
        place.unlink(missing_ok=True)
        os.close(handle)


def _wait(place: Path) -> int:
    while True:
        handle = os.open(place, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _lock(handle)
            if _is_still(handle, place):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _lock(handle: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(handle, msvcrt.LK_LOCK, 1)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX)


def _is_still(handle: int, place: Path) -> bool:
    """Say whether the file that was locked is the one that has the name now."""
    try:
        there = place.stat()
    except FileNotFoundError:
        return False
    mine = os.fstat(handle)
    return (there.st_dev, there.st_ino) == (mine.st_dev, mine.st_ino)
