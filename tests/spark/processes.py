"""What a test does to processes, and what it sees of them: in /proc, on Linux."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from discern.spark.parquet import read_splits


def parent(pid: int) -> int:
    """The process that started another."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def name(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()


def descendants(pid: int) -> list[int]:
    """A process and all that it and those have started."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                parents[int(entry.name)] = parent(int(entry.name))
            except OSError:
                continue  # it has ended meanwhile
    found = [pid]
    for one in found:
        found += [child for child, above in parents.items() if above == one]
    return found


def listening(pid: int) -> set[str]:
    """The addresses that a process and its descendants listen on, as the kernel writes them."""
    addresses = {}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A":  # LISTEN
                addresses[f"socket:[{fields[9]}]"] = fields[1].partition(":")[0]
    found = set()
    for one in descendants(pid):
        try:
            opened = [os.readlink(entry) for entry in Path(f"/proc/{one}/fd").iterdir()]
        except OSError:
            continue
        found |= {addresses[link] for link in opened if link in addresses}
    return found


LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}
"""127.0.0.1, the same in IPv6, and ::1, in the byte order of the kernel's tables."""


def dies_once(marker: str, whole_executor: bool, batches: Iterator[Any]) -> Iterator[Any]:
    """Pass rows on; the first task that comes here kills its process, or the executor, in the midst of its rows."""
    for number, batch in enumerate(batches):
        yield batch
        if number == 0:
            try:
                os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                continue
            victim = os.getpid()
            while whole_executor and name(victim) != "java":
                victim = parent(victim)
            os.kill(victim, signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)


def reads_after_dying_once(
    marker: str, splits: list[Any], columns: list[str], work: Any, batches: Iterator[Any]
) -> Iterator[Any]:
    """Work on the rows of splits, in a process that dies the first time."""
    yield from read_splits(splits, columns, work, dies_once(marker, False, batches))
