"""The results as a table, as JSON and as Markdown."""

import importlib.metadata
import json
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

import discern

HERE = Path(__file__).parents[1]
LIBRARIES = (
    "numpy", "scipy", "pyarrow", "scikit-learn", "scikit-learn-intelex", "pandas", "polars", "vowpalwabbit",
    "fasttext", "liblinear-official", "river", "nltk",
)  # fmt: skip
HEAD = ("job", "data", "ours", "peer", "peer's", "ratio", "goal", "result")
BUSY = 0.1
"""Cores that other processes may use without disturbing."""

METHOD = """\
Ours and the peer alternate, each job in its own process, on one thread, after a run that is not measured
and whose results are compared: what a process does only once, imports too, is not in the figures unless the
job says so. Medians of CPU time unless the job says otherwise; the least and the most in brackets.
Ratio: how many times faster than the peer (goal ≥), or which share of what the peer needs (goal ≤)."""


def machine() -> dict[str, Any]:
    """Describe what the figures depend on."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "processor": _processor(),
        "cores": cores,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "discern": discern.__version__,
        "code path": discern.code_path(),
        **{name: _version(name) for name in LIBRARIES},
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def revision() -> str | None:
    """Return the commit that was measured, if git tells."""
    call = ["git", "describe", "--always", "--dirty", "--exclude", "*"]
    try:
        return subprocess.run(call, cwd=HERE, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


# ----------------------------------------------------------------------------------------------------- tables


def quantity(value: float, unit: str) -> str:
    if unit not in ("bytes", "seconds", "CPU seconds"):
        return f"{value:.4g}"
    if unit == "bytes":
        return f"{value / 1e6:.0f} MB"
    for size, name in ((1, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= size or name == "µs":
            return f"{value / size:.3g} {name}"
    raise AssertionError


def spread(measured: dict[str, Any] | None, unit: str) -> str:
    if measured is None:
        return "—"
    least, most = (quantity(measured[name], unit) for name in ("least", "most"))
    return f"{quantity(measured['median'], unit)} ({least} – {most})"


def ratio(row: dict[str, Any]) -> str:
    if row["kind"] == "lead":
        return f"{row['figure']:.3g} less"
    return "—" if row["kind"] == "limit" else f"{row['figure']:.3g}×"


def wanted(row: dict[str, Any]) -> str:
    shown = {"faster": f"≥ {row['goal']:g}×", "share": f"≤ {row['goal']:g}×", "lead": f"≥ {row['goal']:g} less"}
    return shown.get(row["kind"]) or f"≤ {quantity(row['goal'], row['unit'])}"


def cells(row: dict[str, Any]) -> tuple[str, ...]:
    start = (row["job"], row["data"] or "—")
    if "ours" not in row:
        return (*start, "—", row["peer"] or "—", "—", "—", "—", f"{row['status']}: {row['reason']}")
    unit = row["unit"]
    result = f"({row['status']})" if row["informative"] else row["status"]
    ours, theirs = spread(row["ours"], unit), spread(row["theirs"], unit)
    return (*start, ours, row["peer"] or "—", theirs, ratio(row), wanted(row), result)


def plain_table(rows: list[dict[str, Any]]) -> str:
    lines = [HEAD, *map(cells, rows)]
    # The last column may hold a long reason.
    widths = [max(len(line[place]) for line in lines) for place in range(len(HEAD) - 1)]
    padded = [[*(line[place].ljust(width) for place, width in enumerate(widths)), line[-1]] for line in lines]
    return "\n".join("  ".join(line) for line in padded)


def disturbed(rows: list[dict[str, Any]]) -> str:
    """Report during which jobs other processes used the machine."""
    jobs = list(dict.fromkeys(row["job"] for row in rows if row["others"] > BUSY))
    return f"Other processes used the machine during: {', '.join(jobs)}. Measure again." if jobs else ""


def markdown(results: dict[str, Any]) -> str:
    facts = ", ".join(f"{name} {value}" for name, value in results["machine"].items() if value is not None)
    rows = results["rows"]
    about = {row["job"]: row["about"] + ("" if row["unit"] != "seconds" else " (wall time)") for row in rows}
    table = ["| " + " | ".join(line) + " |" for line in (HEAD, ("---",) * len(HEAD), *map(cells, rows))]
    notes = [f"- {name}: {text}" for name, text in about.items()]
    warning = ["", disturbed(rows)] if disturbed(rows) else []
    parts = ["# Benchmarks", "", "Written by `make bench`. A result in brackets is informative.", ""]
    return "\n".join([*parts, *table, *warning, "", f"Machine: {facts}.", "", METHOD, "", *notes, ""])


# ------------------------------------------------------------------------------------------------------ files


def write_json(path: Path, results: dict[str, Any]) -> None:
    path.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def fits(known: dict[str, Any], now: dict[str, Any]) -> bool:
    """Return whether what is recorded was measured on this machine, with these versions; a new peer changes nothing."""
    return all(now[name] == value for name, value in known.items() if name in now)


def record(results: dict[str, Any]) -> str:
    """Merge the results into the recorded ones if those are of the same machine; return a line about what was done."""
    path, rows = HERE / "results.json", results["rows"]
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
    if known and results["part"]:
        if not fits(known["machine"], results["machine"]):
            return "not recorded: the recorded results are of other versions or another machine; run all jobs"
        again = {row["job"] for row in rows}
        rows = [*(row for row in known["rows"] if row["job"] not in again), *rows]
        rows.sort(key=lambda row: results["order"].index(row["job"]))
    merged = {"machine": results["machine"], "jobs": results["order"], "rows": rows}
    write_json(path, merged)
    (HERE / "RESULTS.md").write_text(markdown(merged), encoding="utf-8")
    return "recorded in benchmarks/results.json and benchmarks/RESULTS.md"


def record_accuracy(results: dict[str, Any], part: bool, method: str | None = None) -> str:
    """Keep the table of accuracies; with ``part``, the cells of its sets take the place of those that are recorded.

    A set that was measured on another machine or with other versions than the table has its own machine. The figures
    of one method alone are kept only if the others of the set are of the same machine and versions.
    """
    path = HERE / "accuracy.json"
    if part and path.exists():
        known = json.loads(path.read_text(encoding="utf-8"))
        if method is not None and (mixed := mixed_sets(known, results)):
            return f"not recorded: {mixed[0]} was measured with other versions or on another machine; run all methods"
        results = merged_accuracy(known, results, method)
    write_json(path, results)
    return "recorded in benchmarks/accuracy.json"


def mixed_sets(known: dict[str, Any], results: dict[str, Any]) -> list[str]:
    """Return the sets that were recorded on another machine or with other versions than results."""
    recorded = {name: about.get("machine", known["machine"]) for name, about in known["sets"].items()}
    return [name for name in results["sets"] if name in recorded and not fits(recorded[name], results["machine"])]


def merged_accuracy(known: dict[str, Any], results: dict[str, Any], method: str | None = None) -> dict[str, Any]:
    """Return the recorded table with results in place of the cells of their sets, or of one method on them."""
    own = {} if fits(known["machine"], results["machine"]) else {"machine": results["machine"]}
    stamp = {**own, "revision": results["revision"]}
    sets = {**known["sets"], **{name: {**about, **stamp} for name, about in results["sets"].items()}}
    kept = [one for one in known["cells"] if one["set"] not in results["sets"] or method not in (None, one["method"])]
    order = list(sets)
    cells = sorted([*kept, *results["cells"]], key=lambda cell: order.index(cell["set"]))
    return {**known, "sets": sets, "cells": cells}
