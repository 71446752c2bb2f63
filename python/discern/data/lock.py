"""One process at a time may change a model file."""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Lock a file against other processes, after waiting for those that hold the lock.

    The lock is a file beside it, which is removed afterwards. The operating system frees it if the process dies.
    """
    with _holding(path, wait=True):
        yield


@contextmanager
def held(path: Path) -> Iterator[bool]:
    """Lock a file without waiting. The value is False if another process holds the lock."""
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
            # First the name, then the lock: a process that has waited sees that the file is gone, and makes a new one.
            place.unlink(missing_ok=True)
            os.close(handle)


@contextmanager
def temporary_file(target: Path) -> Iterator[tuple[int, Path]]:
    """Open a file that will replace another one in the same folder; it is removed unless it was renamed.

    The process that writes such a file locks it. Files without a lock were left behind by a process that was killed.
    They are removed, because they may contain rows that the model has forgotten since.
    """
    import tempfile

    _remove_abandoned(target)
    while True:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
        path = Path(name)
        try:
            _lock(handle, wait=True)
            if _is_still(handle, path):  # else another process removed it as abandoned before it was locked
                yield handle, path
                return
        finally:
            path.unlink(missing_ok=True)
            os.close(handle)


def _remove_abandoned(target: Path) -> None:
    for path in target.parent.glob(f".{glob.escape(target.name)}.*.part"):
        try:
            handle = os.open(path, os.O_RDWR)
        except OSError:  # it is gone, or not ours
            continue
        try:
            _lock(handle, wait=False)
            if _is_still(handle, path):
                path.unlink(missing_ok=True)
        except BlockingIOError:
            pass  # it is being written
        finally:
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
    """Return whether the locked file still has this name."""
    try:
        there = place.stat()
    except FileNotFoundError:
        return False
    mine = os.fstat(handle)
    return (there.st_dev, there.st_ino) == (mine.st_dev, mine.st_ino)
