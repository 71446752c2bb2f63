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
    with _holding(path, wait=True):
        yield


@contextmanager
def held(path: Path) -> Iterator[bool]:
    """Keep others out, and say true; say false if others keep us out."""
    with _holding(path, wait=False) as handle:
        yield handle is not None


@contextmanager
def _holding(path: Path, *, wait: bool) -> Iterator[int | None]:
    target = path.resolve()
    place = target.with_name(f".{target.name}.lock")
    handle = _taken(place, wait=wait)
    try:
        yield handle
    finally:
        if handle is not None:
            # First the name, then the lock: whoever has waited sees that the file is gone, and makes a new one.
            place.unlink(missing_ok=True)
            os.close(handle)


def _taken(place: Path, *, wait: bool) -> int | None:
    while True:
        handle = os.open(place, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _lock(handle, wait=wait)
            if _is_still(handle, place):
                return handle
        except BlockingIOError:
            os.close(handle)
            return None
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _lock(handle: int, *, wait: bool) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(handle, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


def _is_still(handle: int, place: Path) -> bool:
    """Say whether the file that was locked is the one that has the name now."""
    try:
        there = place.stat()
    except FileNotFoundError:
        return False
    mine = os.fstat(handle)
    return (there.st_dev, there.st_ino) == (mine.st_dev, mine.st_ino)
