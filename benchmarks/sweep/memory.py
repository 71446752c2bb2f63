"""Peak memory of fits, measured in child processes: ``python -m benchmarks.sweep.memory FOLDER NAMES``.

A child for each case makes the data and warms both sides up on little of it; each side then runs in a child of its own,
which starts from the same pages. What counts is by how much that child's memory grows.
"""

import contextlib
import ctypes
import gc
import json
import os
import sys
import traceback
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.sweep.cells import Case, StopCellError, Work

STATUS, REFERENCES = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def is_measurable() -> bool:
    """Return whether this system tells the peak of a process, and lets it be reset."""
    return hasattr(os, "fork") and os.access(REFERENCES, os.W_OK)


def _status(name: str) -> int:
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(f"{name}:"))
    return int(line.split()[1]) * 1024


def grown(work: Work) -> int:
    """Return by how many bytes the memory of this process grows at most while it works."""
    gc.collect()
    _return_free_pages()
    REFERENCES.write_text("5")  # the peak begins anew
    before = _status("VmRSS")
    outcome = work()
    peak = _status("VmHWM")
    del outcome
    return max(peak - before, 0)


def _return_free_pages() -> None:
    """Return freed memory to the system, where the C library can: work would otherwise reuse it unseen."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError):
        return


def forked(work: Work) -> Any:
    """Return what a forked child returns, as JSON holds it, or None if the child fails."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.write(write, json.dumps(work()).encode())
            code = 0
        except Exception as error:
            traceback.print_exception(error)
        finally:
            os._exit(code)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        told = pipe.read()
    _, status = os.waitpid(child, 0)
    return json.loads(told) if os.waitstatus_to_exitcode(status) == 0 else None


def in_child(work: Work) -> int | None:
    """Return by how much the memory of a forked child grows, or None if the child fails."""
    found: int | None = forked(partial(grown, work))
    return found


class OnceBench:
    """Runs both sides of each cell once."""

    def __init__(self, folder: Path, threads: int = 1) -> None:
        self.folder, self.threads = folder, threads

    def measure(self, operation: str, ours: Work, theirs: Work, check: Callable[[Any, Any], None]) -> tuple[Any, Any]:
        return ours(), theirs()


class MemoryBench(OnceBench):
    """Measures the memory of the first cell of a case, which is fitting, and stops."""

    def __init__(self, folder: Path, threads: int = 1) -> None:
        super().__init__(folder, threads)
        self.found: dict[str, Any] = {}

    def measure(self, operation: str, ours: Work, theirs: Work, check: Callable[[Any, Any], None]) -> tuple[Any, Any]:
        self.found = {"ours": in_child(ours), "theirs": in_child(theirs)}
        raise StopCellError


def measured(case: Case, folder: Path) -> dict[str, Any]:
    """Return what both sides of a case need to fit."""
    assert case.warm_up is not None
    case.warm_up(OnceBench(folder))
    bench = MemoryBench(folder)
    with contextlib.suppress(StopCellError):
        case.run(bench)
    return bench.found


def main(folder: str, file: str) -> None:
    from benchmarks.sweep.collected import collected

    warnings.simplefilter("ignore")
    names = set(Path(file).read_text("utf-8").splitlines())
    cases = [case for case in collected() if case.name in names]
    print(json.dumps({case.name: forked(partial(measured, case, Path(folder))) for case in cases}))


if __name__ == "__main__":
    main(*sys.argv[1:])
