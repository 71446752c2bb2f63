"""The runner: ``python -m benchmarks.sweep [--only NAME] [--threads N] [--brief] [--json FILE]``, or ``--write``."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.__main__ import THREADS
from benchmarks.harness.report import machine, revision, write_json
from benchmarks.sweep.accepted import accepted, failures, unknown, unneeded
from benchmarks.sweep.cells import Case, chosen, wanted
from benchmarks.sweep.collected import collected
from benchmarks.sweep.memory import is_measurable
from benchmarks.sweep.page import section
from benchmarks.sweep.record import RECORDED, record, write_pages
from benchmarks.sweep.worker import about

ROOT = Path(__file__).parents[2]
TRIES = 5
"""How often a family goes on after a crash of its process."""


def environment(threads: int) -> dict[str, str]:
    return {**os.environ, **dict.fromkeys(THREADS, str(threads)), "PYTHONHASHSEED": "0"}


def run_family(family: str, folder: Path, given: argparse.Namespace) -> list[dict[str, Any]]:
    """Run a family in a fresh process, and after a crash the rest of it in another."""
    output = folder / f"{family}.jsonl"
    words = [family, str(folder), str(given.threads), "brief" if given.brief else "full", str(output), given.only or ""]
    call = [sys.executable, "-m", "benchmarks.sweep.worker", *words]
    rows: list[dict[str, Any]] = []
    for _ in range(TRIES):
        ended = subprocess.run(call, cwd=ROOT, env=environment(given.threads))
        if ended.returncode == 0:
            break
        with open(output, "a", encoding="utf-8") as file:
            file.write(json.dumps({"crashed": ended.returncode}) + "\n")
    if output.exists():
        rows = [json.loads(line) for line in output.read_text("utf-8").splitlines()]
    return rows


def crashed(rows: list[dict[str, Any]], cases: list[Case], only: str | None) -> list[dict[str, Any]]:
    """Return a failed row for each wanted cell that has none, because its process ended."""
    there = {row["cell"] for row in rows if "cell" in row}
    codes = [row["crashed"] for row in rows if "crashed" in row]
    why = {"status": "failed", "reason": f"its process ended with {codes[-1] if codes else 'no result'}"}
    found = (about(case, operation) for case in cases for operation in case.operations)
    return [{**row, **why} for row in found if row["cell"] not in there and wanted(row["cell"], only)]


def measure_memory(cases: list[Case], rows: list[dict[str, Any]], folder: Path) -> None:
    """Add the memory of the first cell of the cases that are meant for it."""
    measured = {row["cell"]: row for row in rows if row["status"] == "measured"}
    by_case = {case.name: measured[case.cells[0]] for case in cases if case.warm_up and case.cells[0] in measured}
    if not by_case:
        return
    names = folder / "memory.txt"
    names.write_text("\n".join(by_case), encoding="utf-8")
    call = [sys.executable, "-m", "benchmarks.sweep.memory", str(folder), str(names)]
    ended = subprocess.run(call, cwd=ROOT, env=environment(1), stdout=subprocess.PIPE, text=True)
    found = json.loads(ended.stdout.splitlines()[-1]) if ended.returncode == 0 else {}
    for name, memory in found.items():
        if memory and None not in memory.values():
            by_case[name]["memory"] = memory


def run(cases: list[Case], given: argparse.Namespace) -> list[dict[str, Any]]:
    """Run the families of the cases, one after another."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="discern-sweep-") as name:
        folder = Path(name)
        for family in dict.fromkeys(case.family for case in cases):
            own = [case for case in cases if case.family == family]
            start = time.perf_counter()
            raw = run_family(family, folder, given)
            found = [row for row in raw if "cell" in row] + crashed(raw, own, given.only)
            timed = time.perf_counter()
            if given.threads == 1 and not given.no_memory and is_measurable():
                measure_memory(own, found, folder)
            spent = sum(row.get("seconds", 0) for row in raw)
            print(progress(family, found, timed - start, spent, time.perf_counter() - timed), flush=True)
            rows += found
    return rows


def progress(family: str, rows: list[dict[str, Any]], seconds: float, spent: float, memory: float) -> str:
    unlucky = sum(row["status"] != "measured" for row in rows)
    times = f"{seconds:.0f} s ({spent:.0f} s of CPU), memory {memory:.0f} s"
    return f"{family}: {len(rows)} cells, {unlucky} without a ratio, {times}"


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sweep", description="Measure many shapes.")
    parser.add_argument("--only", metavar="NAME", help="a family, a public name, a shape, an operation, or a glob")
    parser.add_argument("--threads", type=int, default=1, help="threads of each side; above 1: main cells, wall time")
    parser.add_argument("--brief", action="store_true", help="one run of each side: shows only that results agree")
    parser.add_argument("--no-memory", action="store_true", help="do not measure memory")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the rows to this file instead")
    parser.add_argument("--list", action="store_true", help="only print the names of the cells")
    parser.add_argument("--write", action="store_true", help="only write the pages from what is recorded")
    return parser.parse_args(words)


def listing(cases: list[Case], only: str | None) -> str:
    return "\n".join(cell for case in cases for cell in case.cells if wanted(cell, only))


def main(words: list[str] | None = None) -> int:
    """Measure, record, write the pages, and return 1 if a cell fails."""
    given, listed = arguments(words), accepted()
    if given.write:
        print(write_pages(listed))
        return 0
    cases = chosen([case for case in collected() if given.threads == 1 or case.main], given.only)
    if given.list:
        print(listing(cases, given.only))
        return 0
    rows = run(cases, given)
    stamp = {"date": datetime.now(UTC).date().isoformat(), "revision": revision()}
    results = {"machine": machine(), "threads": str(given.threads), "rows": [{**row, **stamp} for row in rows]}
    print("", *section(rows, listed), sep="\n")
    if given.json:
        write_json(given.json, results)
    elif given.brief:
        print("not recorded: these are brief runs")
    else:
        print(record({**results, "part": given.only is not None}))
        print(write_pages(listed) if RECORDED.exists() else "")
    return verdict(rows, listed, given.only is None)


def verdict(rows: list[dict[str, Any]], listed: dict[str, str], is_whole: bool) -> int:
    """Print what fails and what is wrong with the list of accepted cells; return the exit code."""
    failing = failures(rows, listed)
    print(*(f"FAILED {cell}: {reason}" for cell, reason in failing.items()), sep="\n")
    print(*(f"take off the list, it is fast: {cell}" for cell in unneeded(rows, listed)), sep="\n")
    strangers = unknown((cell for case in collected() for cell in case.cells), listed) if is_whole else []
    print(*(f"FAILED list: unknown cell {cell}" for cell in strangers), sep="\n")
    return int(bool(failing or strangers))


if __name__ == "__main__":
    sys.exit(main())
