"""The page of a sweep, SWEEP.md: summary, groups, tolerances, memory, the slowest cells."""

from typing import Any

from benchmarks.harness.report import quantity
from benchmarks.sweep import summary
from benchmarks.sweep.accepted import GOAL, MEMORY_GOAL, MEMORY_ROOM, failures
from benchmarks.sweep.agreement import SINGLE
from benchmarks.sweep.cases import analysis, classifier, text
from benchmarks.sweep.cases.entries import entries

WORST = 40
Row = dict[str, Any]

METHOD = f"""\
Written by `make sweep`. A cell is an operation of an estimator on a shape of data. Both sides alternate in one process,
after a run whose results are compared, with one thread each; the best of a few runs counts, in CPU time. The ratio is
the peer's time divided by ours: above 1 discern is faster. A cell below {GOAL:g} fails unless
`benchmarks/sweep/accepted.toml` has a reason for it. The peer is scikit-learn's class of the same name unless
`benchmarks/sweep/cases/entries.py` names another. Data are synthetic, and the same each time."""


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    """Return the lines of a Markdown table."""
    return ["| " + " | ".join(line) + " |" for line in (head, ("---",) * len(head), *rows)]


def page(results: dict[str, Any], listed: dict[str, str]) -> str:
    """Return the page of recorded results."""
    runs = results["runs"]
    facts = ", ".join(f"{name} {value}" for name, value in results["machine"].items() if value is not None)
    parts = ["# The sweep over shapes", "", METHOD, "", f"Machine: {facts}.", ""]
    for threads in sorted(runs, key=int):
        title = "One thread" if threads == "1" else f"{threads} threads each, wall time"
        parts += [f"## {title}", "", *section(runs[threads]["rows"], listed), ""]
    return "\n".join([*parts, "## What is compared", "", *tolerances(), ""])


def section(rows: list[Row], listed: dict[str, str]) -> list[str]:
    """Return the tables of one run."""
    wrong = [row for row in rows if row["status"] not in ("measured", "slow")]
    failing = failures(rows, listed)
    parts = [verdict(rows, failing), "", *table(GROUP, [group("all cells", rows), *kinds(rows), *families(rows)]), ""]
    parts += table(("ratio", "cells"), [(name, str(count)) for name, count in summary.spread(rows)])
    parts += ["", f"### The {WORST} slowest cells", "", *table(CELL, [cell(row, listed) for row in slowest(rows)]), ""]
    if wrong:
        lines = [(f"`{row['cell']}`", row["status"], row.get("reason", "")) for row in wrong]
        parts += ["### Cells without a ratio", "", *table(("cell", "status", "reason"), lines), ""]
    return [*parts, *memory(rows)]


GROUP = ("group", "cells", "geometric mean", "median", "least", f"below {GOAL:g}")
CELL = ("cell", "ours", "peer", "ratio", "")


def verdict(rows: list[Row], failing: dict[str, str]) -> str:
    found = summary.figures(rows)
    passed = len(rows) - len(failing)
    mean = f"The geometric mean of {found['cells']:,} ratios is **{found['mean']:.2f}×**."
    return f"{passed:,} of {len(rows):,} cells pass. {mean}"


def group(name: str, rows: list[Row]) -> tuple[str, ...]:
    found = summary.figures(rows)
    means = (f"{found[key]:.2f}" for key in ("mean", "median"))
    return (name, str(found["cells"]), *means, f"{found['least']:.3f}", str(found["slower"]))


def kinds(rows: list[Row]) -> list[tuple[str, ...]]:
    found = summary.groups(rows, lambda row: summary.kind(row["operation"]))
    return [group(f"{name} cells", found[name]) for name in ("fit", "predict", "other") if name in found]


def families(rows: list[Row]) -> list[tuple[str, ...]]:
    return [group(f"`{name}`", found) for name, found in summary.groups(rows, lambda row: row["family"]).items()]


def slowest(rows: list[Row]) -> list[Row]:
    return sorted(summary.compared(rows), key=lambda row: row["ratio"])[:WORST]


def cell(row: Row, listed: dict[str, str]) -> tuple[str, ...]:
    note = listed.get(row["cell"], row.get("reason", ""))
    ours, theirs = (quantity(row[side], "seconds") if side in row else "—" for side in ("ours", "theirs"))
    return (f"`{row['cell']}`", ours, theirs, f"{row['ratio']:.3g}", note)


def memory(rows: list[Row]) -> list[str]:
    """Return the table of what fits need beside their data."""
    found = summary.with_memory(rows)
    if not found:
        return []
    lines = [
        (
            f"`{row['cell']}`",
            *(f"{row['memory'][side] / 1e6:.1f} MB" for side in ("ours", "theirs")),
            f"{summary.memory_ratio(row):.2f}",
        )
        for row in found
    ]
    limit = f"More than {MEMORY_GOAL:g} times the peer's, and {MEMORY_ROOM / 1e6:.0f} MB, fails."
    about = f"How much the memory of a process grows at most while it fits. {limit}"
    return ["### Peak memory of fits", "", about, "", *table(("cell", "ours", "peer", "ratio"), lines), ""]


def tolerances() -> list[str]:
    """Return how the results of each estimator are compared."""
    lines = [(f"`{entry.subject}`", entry.family, entry.agreement.described()) for entry in entries()]
    lines += [line for module in (text, classifier, analysis) for line in module.TOLERANCES]
    note = f"Probabilities and values of float32 data may differ by {SINGLE:g}."
    return [*table(("estimator", "family", "must agree"), lines), "", note]
