"""The model file: a safetensors container with a checksum. Numbers and plain text; nothing in it is ever run."""

from __future__ import annotations

import errno
import json
import math
import mmap
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

import discern._native as _native

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

FORMAT = "discern-model"
VERSION = 2
_HOLE = "0" * 64
_TYPES = {"U8": "<u1", "U16": "<u2", "U32": "<u4", "U64": "<u8", "I64": "<i8", "F64": "<f8"}


class ModelFileError(ValueError):
    """A model file that cannot be used. The message states the reason.

    Examples
    --------
    >>> try:
    ...     load("missing.discern")
    ... except ModelFileError as error:
    ...     print(error)
    cannot read the model 'missing.discern': No such file or directory
    """


Check = Callable[[dict[str, "NDArray[Any]"], dict[str, Any]], None]
"""Raises ValueError if the arrays and metadata that were read back are not those that should have been written."""


def save(
    path: str | os.PathLike[str],
    arrays: Mapping[str, NDArray[Any]],
    metadata: Mapping[str, Any],
    check: Check | None = None,
) -> str:
    """Write a model file whole or not at all, and return its checksum.

    The file is written beside its place, forced to disk, read back, checked and renamed. If it cannot be read back, the
    old file stays and ModelFileError is raised. Whoever has the old file open keeps it. A symbolic link is followed:
    the file that it points to is replaced.
    """
    from discern.data.lock import temporary_file

    target = place_of(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "cannot save the model: no such folder", str(target.parent))
    content, digest = encode(arrays, metadata)
    with temporary_file(target) as (handle, temporary):
        with os.fdopen(handle, "wb", closefd=False) as file:
            file.write(content)
            file.flush()
            os.fsync(handle)
        _read_back(str(temporary), target, check)
        os.chmod(temporary, _mode(target))
        os.replace(temporary, target)
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    return digest


def place_of(path: str | os.PathLike[str]) -> Path:
    """Return where a model file really is: symbolic links are followed. Refuses what cannot hold a model."""
    import stat
    from pathlib import Path

    target = Path(path).resolve()
    if target.exists() and not stat.S_ISREG(target.stat().st_mode):
        raise ModelFileError(f"{str(path)!r} is {_kind(target.stat().st_mode)}, not a file; pass the name of a file")
    return target


def _kind(mode: int) -> str:
    import stat

    kinds = {
        stat.S_IFDIR: "a folder",
        stat.S_IFIFO: "a named pipe",
        stat.S_IFSOCK: "a socket",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
    }
    return kinds.get(stat.S_IFMT(mode), "something else")


def _read_back(temporary: str, target: Path, check: Check | None) -> None:
    """Read a file that is about to take its place; raises ModelFileError if it could not be used."""
    try:
        arrays, metadata = load(temporary)
        if check is not None:
            check(arrays, metadata)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise ModelFileError(
            f"the model was not written to {str(target)!r}, because it could not be read back ({error}); the "
            "file that was there is unchanged"
        ) from error


def _mode(target: Path) -> int:
    """Return the mode of the file to be replaced, or of a new file."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def encode(arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, Any]) -> tuple[bytearray, str]:
    """Return the bytes of a model file and its checksum; the same content gives the same bytes."""
    import safetensors.numpy

    head = {"format": FORMAT, "version": VERSION, "checksum": _HOLE, **metadata}
    described = {"discern": json.dumps(head, sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False)}
    tensors = {name: np.ascontiguousarray(narrow(array)) for name, array in arrays.items()}
    content = bytearray(safetensors.numpy.save(tensors, described))
    start = content.index(_HOLE.encode())
    digest = _native.checksum(np.frombuffer(content, np.uint8), start, start + len(_HOLE))
    content[start : start + len(_HOLE)] = digest.encode()
    return content, digest


def narrow(array: NDArray[Any]) -> NDArray[Any]:
    """Return integers in the smallest unsigned type that holds them."""
    if array.dtype.kind not in "iu" or array.dtype == np.uint8:
        return array
    most = int(array.max(initial=0))
    if int(array.min(initial=0)) < 0:
        return array.astype(np.int64)
    kind = next(kind for kind in (np.uint8, np.uint16, np.uint32, np.uint64) if most <= np.iinfo(kind).max)
    return array.astype(kind)


def load(path: str | os.PathLike[str]) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Read a model file, check it and give its arrays and metadata."""
    content = _read(os.fspath(path))
    try:
        texts, tensors = _native.layout(content)
        metadata = json.loads(texts["discern"], parse_constant=_finite, parse_float=_finite)
        if not isinstance(metadata, dict) or metadata.get("format") != FORMAT:
            raise ValueError("it is not a model of discern")
    except (KeyError, ValueError, RecursionError) as error:
        raise ModelFileError(f"{str(path)!r} is not a discern model, or it is damaged: {error}") from error
    if metadata.get("version") != VERSION:
        version = metadata.get("version")
        remedy = "train the model again" if isinstance(version, int) and version < VERSION else "upgrade discern"
        raise ModelFileError(
            f"{str(path)!r} has format version {version!r}; this discern reads version {VERSION}: {remedy}"
        )
    _verify(content, metadata, str(path))
    arrays = {name: _array(content, kind, shape, start, end) for name, kind, shape, start, end in tensors}
    return arrays, metadata


def _finite(number: str) -> float:
    """Read a number of a file; refuse what is none: it could not be saved again."""
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(f"{number} is not a number")
    return value


def _read(path: str) -> NDArray[np.uint8]:
    """Read a file into memory: a map of it would end the process if another program cut the file off in its place."""
    import stat

    try:
        # A named pipe without a writer would keep us waiting for ever.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with open(handle, "rb") as file:
            mode = os.fstat(handle).st_mode
            if not stat.S_ISREG(mode):
                raise ModelFileError(f"{path!r} is {_kind(mode)}, not a model file; pass the name of a file")
            size = os.fstat(file.fileno()).st_size
            if size < 8:
                raise ModelFileError(f"{path!r} is not a discern model: it is too short")
            memory = _memory(size)
            if file.readinto(memory) != size:
                raise ModelFileError(f"{path!r} was cut off while it was read; read it again")
    except OSError as error:
        if error.errno == errno.ENOMEM:
            raise ModelFileError(f"cannot read the model {path!r}: it is larger than the memory there is") from error
        raise ModelFileError(f"cannot read the model {path!r}: {error.strerror}") from error
    content = np.frombuffer(memory, np.uint8)
    content.flags.writeable = False
    if content[8:9].tobytes() != b"{":  # every safetensors file has a JSON object after the length of it
        raise ModelFileError(f"{path!r} is not a discern model; pass a file that Classifier.save or discern fit wrote")
    return content


def _memory(size: int) -> mmap.mmap:
    """Return memory that is no part of the heap, faulted in at once: it is faster, and the heap stays as it is."""
    kinds = ("MAP_PRIVATE", "MAP_ANONYMOUS", "MAP_POPULATE")
    flags = sum(getattr(mmap, kind, 0) for kind in kinds)
    return mmap.mmap(-1, size, flags=flags) if flags else mmap.mmap(-1, size)


def _verify(content: NDArray[np.uint8], metadata: dict[str, Any], path: str) -> None:
    expected = str(metadata.get("checksum")).encode("utf-8", "replace")
    head = content[: 8 + int.from_bytes(content[:8].tobytes(), "little")].tobytes()
    start = head.find(expected)
    if len(expected) != len(_HOLE) or start < 0 or head.find(expected, start + 1) >= 0:
        raise ModelFileError(f"{path!r} has no checksum: it is damaged")
    if _native.checksum(content, start, start + len(_HOLE)).encode() != expected:
        raise ModelFileError(f"{path!r} was altered or cut off: its checksum does not match; use a good copy")


def _array(content: NDArray[np.uint8], kind: str, shape: list[int], start: int, end: int) -> NDArray[Any]:
    if kind not in _TYPES:
        raise ModelFileError(f"the model holds numbers of type {kind}, which discern does not use")
    return content[start:end].view(_TYPES[kind]).reshape(shape)
