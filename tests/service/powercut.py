"""The disk as a power cut leaves it: from the journal of ``powercut.c``, with what was not synced dropped."""

from __future__ import annotations

import os
import random
import shutil
import struct
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

HEAD = struct.Struct("<cIqQ")
Record = tuple[str, str, int, bytes]


def compiled(folder: Path) -> Path:
    """Compile the library to preload."""
    source, library = Path(__file__).with_suffix(".c"), folder / "powercut.so"
    compiler = shutil.which("cc") or shutil.which("gcc")
    assert compiler, "a C compiler is needed"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    return library


def environment(library: Path, folder: Path, journal: Path, failing: Path | None = None) -> dict[str, str]:
    """Return the environment of a process whose writes to a folder are to be noted."""
    own = {"LD_PRELOAD": str(library), "POWERCUT_FOLDER": str(folder.resolve()), "POWERCUT_JOURNAL": str(journal)}
    return {**os.environ, **own, **({"POWERCUT_FAILING": str(failing)} if failing is not None else {})}


def records(journal: bytes) -> Iterator[tuple[int, Record]]:
    """Return what happened, each with the place in the journal after it."""
    place = 0
    while place < len(journal):
        kind, name, offset, length = HEAD.unpack_from(journal, place)
        start = place + HEAD.size + name
        size = length if kind in (b"w", b"r") else 0
        yield (
            start + size,
            (kind.decode(), journal[place + HEAD.size : start].decode(), offset, journal[start : start + size]),
        )
        place = start + size


@dataclass
class Disk:
    """What has reached the disk, and what is still on its way."""

    files: dict[str, bytearray] = field(default_factory=dict)
    pending: dict[str, list[Record]] = field(default_factory=dict)
    renames: list[Record] = field(default_factory=list)

    def happen(self, record: Record) -> None:
        """Take in what a process did."""
        kind, name, _, _ = record
        if kind in "wt":
            self.pending.setdefault(name, []).append(record)
        elif kind == "r":
            self.renames.append(record)
        elif kind == "u":
            self.files.pop(name, None)
            self.pending.pop(name, None)
        elif any(Path(rename[1]).parent == Path(name) for rename in self.renames):
            for rename in self.renames:  # the folder was synced
                self._move(rename)
            self.renames = []
        else:
            for one in self.pending.pop(name, ()):
                self._apply(self.files, one)
            self.files.setdefault(name, bytearray())

    def _move(self, rename: Record) -> None:
        source, target = rename[1], rename[3].decode()
        self.files[target] = self.files.pop(source, bytearray())
        self.pending.pop(target, None)

    @staticmethod
    def _apply(files: dict[str, bytearray], record: Record) -> None:
        kind, name, offset, data = record
        content = files.setdefault(name, bytearray())
        if kind == "t":
            del content[offset:]
            content.extend(bytes(offset - len(content)))
            return
        content.extend(bytes(max(0, offset + len(data) - len(content))))
        content[offset : offset + len(data)] = data

    def cut(self, folder: Path, chance: random.Random) -> None:
        """Write the files as a cut leaves them: of what is on its way nothing arrives, or some of it, in any order."""
        files = {name: bytearray(content) for name, content in self.files.items()}
        if chance.random() < 0.5:
            for waiting in self.pending.values():
                for record in chance.sample(waiting, chance.randrange(len(waiting) + 1)):
                    self._apply(files, record)
        for name, content in files.items():
            if not name.endswith(("-shm", ".lock")):
                (folder / Path(name).name).write_bytes(content)
