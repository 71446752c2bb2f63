"""One family in a process of its own: ``python -m benchmarks.sweep.worker FAMILY FOLDER THREADS PACE OUTPUT ONLY``.

Writes a line of JSON before each case and after each cell, so that a crash costs one case.
"""

import gc
import json
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.sweep.cells import Case, StopCellError, wanted
from benchmarks.sweep.collected import collected
from benchmarks.sweep.timing import BRIEF, FULL, Pace, TimingBench

Write = Callable[[dict[str, Any]], None]


def run(case: Case, folder: Path, threads: int, pace: Pace, only: str | None, write: Write) -> None:
    """Measure the wanted cells of a case; an error is the result of all cells that it leaves without one."""
    left = [operation for operation in case.operations if wanted(f"{case.name}/{operation}", only)]

    def report(operation: str, row: dict[str, Any]) -> None:
        if operation in left:
            left.remove(operation)
        write({**about(case, operation), **row})

    reason = "an operation before it has no result"
    try:
        case.run(TimingBench(folder, threads, report, lambda operation: operation in left, pace))
    except StopCellError:
        pass
    except Exception as error:
        traceback.print_exception(error)
        reason = f"{type(error).__name__} while the case was prepared"
    for operation in left[:]:
        report(operation, {"status": "failed", "reason": reason})


def about(case: Case, operation: str) -> dict[str, Any]:
    names = {"family": case.family, "subject": case.subject, "shape": case.shape, "operation": operation}
    return {"cell": f"{case.name}/{operation}", **names}


def main(family: str, folder: str, threads: str, pace: str, output: str, only: str) -> None:
    warnings.simplefilter("ignore")
    done = finished(Path(output))
    with open(output, "a", encoding="utf-8") as file:

        def write(row: dict[str, Any]) -> None:
            file.write(json.dumps(row) + "\n")
            file.flush()

        cases = [case for case in collected() if case.family == family and (threads == "1" or case.main)]
        gc.freeze()  # what is imported need not be looked through again
        for case in cases:
            if case.name in done or not any(wanted(cell, only) for cell in case.cells):
                continue
            write({"case": case.name})
            start = time.process_time()
            run(case, Path(folder), int(threads), BRIEF if pace == "brief" else FULL, only, write)
            write({"ended": case.name, "seconds": time.process_time() - start})


def finished(output: Path) -> set[str]:
    """Return the cases that an earlier process began: the last of them crashed it."""
    if not output.exists():
        return set()
    return {row["case"] for row in map(json.loads, output.read_text("utf-8").splitlines()) if "case" in row}


if __name__ == "__main__":
    main(*sys.argv[1:])
