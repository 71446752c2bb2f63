"""One process at a time may change a model file."""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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
            _remove_open(handle, place)


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
            _remove_open(handle, path)


def replace_file(temporary: Path, handle: int, target: Path) -> None:
    """Rename a temporary file, which is open, to another one, and force the folder to disk."""
    if sys.platform == "win32":  # which renames no open file; the handle stays valid for whoever closes it
        with open(os.devnull, "rb") as nothing:
            os.dup2(nothing.fileno(), handle)
    os.replace(temporary, target)
    sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """Force the names of the files of a folder to disk; Windows does that by itself."""
    if sys.platform == "win32":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _remove_open(handle: int, path: Path) -> None:
    """Remove a locked file and close it."""
    if sys.platform == "win32":  # which removes no open file
        os.close(handle)
        with suppress(PermissionError):  # another process has opened it meanwhile
            path.unlink(missing_ok=True)
    else:
        # First the name, then the lock: a process that has waited sees that the file is gone, and makes a new one.
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
            is_abandoned = _is_still(handle, path)
        except BlockingIOError:  # it is being written
            is_abandoned = False
        if is_abandoned:
            _remove_open(handle, path)
        else:
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
        _lock_on_windows(handle, wait=wait)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


def _lock_on_windows(handle: int, *, wait: bool) -> None:
    """Lock a byte far behind the end, because Windows lets no other process read what is locked."""
    import msvcrt
    import time

    place = os.lseek(handle, 0, os.SEEK_CUR)
    while True:
        os.lseek(handle, 1 << 40, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
            return
        except PermissionError as error:
            if not wait:
                raise BlockingIOError(*error.args) from error
        finally:
            os.lseek(handle, place, os.SEEK_SET)
        time.sleep(0.05)


def _is_still(handle: int, place: Path) -> bool:
    """Return whether the locked file still has this name."""
    try:
        there = place.stat()
    except FileNotFoundError:
        return False
    mine = os.fstat(handle)
    return (there.st_dev, there.st_ino) == (mine.st_dev, mine.st_ino)
