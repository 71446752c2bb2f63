"""Draws the speed chart from the benchmark results, and the demo as it looks, for site and README: ``make docs``."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RESULTS = HERE.parent / "benchmarks" / "results.json"
CHART = HERE / "_static" / "speed.svg"
DEMO = HERE / "pictures" / "demo.svg"
PEER = "scikit-learn"
WIDE = 100


def ratios() -> dict[str, float]:
    """Give how many times faster than scikit-learn each job is, the greatest first; of several settings the fastest."""
    rows: list[dict[str, Any]] = json.loads(RESULTS.read_text("utf-8"))["rows"]
    found: dict[str, float] = {}
    for row in rows:
        if row.get("kind") == "faster" and PEER in row["peer"] and row.get("figure") is not None:
            found[row["job"]] = min(row["figure"], found.get(row["job"], row["figure"]))
    return dict(sorted(found.items(), key=lambda pair: -pair[1]))


def draw(place: Path = CHART) -> None:
    """Write the chart; the same results give the same bytes."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    shown = ratios()
    with mpl.rc_context({"svg.hashsalt": "discern", "svg.fonttype": "none", "font.family": "sans-serif"}):
        figure = Figure(figsize=(7.2, 0.27 * len(shown) + 0.9), layout="constrained")
        ax = figure.subplots()
        bars = ax.barh(list(shown), list(shown.values()), color="#1f5f8b", height=0.7)
        ax.bar_label(
            bars,
            [f"{value:.0f}×" if value >= 9.95 else f"{value:.1f}×" for value in shown.values()],
            padding=3,
            fontsize=8,
        )
        ax.set(
            xscale="log",
            xlim=(1, max(shown.values()) * 2),
            xlabel="times faster than scikit-learn (CPU time, one thread)",
        )
        ticks = [1, 3, 10, 30, 100, 300, 1000, 3000]
        ax.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
        ax.tick_params(axis="y", labelsize=8, length=0)
        ax.invert_yaxis()
        ax.margins(y=0.01)
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
        figure.savefig(place, metadata={"Date": None}, facecolor="white")


def draw_demo(place: Path = DEMO) -> None:
    """Write what ``discern demo`` shows of its first message, as a picture of a terminal."""
    import io
    import subprocess
    import sys
    import tempfile

    from rich.console import Console
    from rich.text import Text

    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "discern.cli", "demo", "-o", f"{folder}/demo.discern"]
        colours = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": str(WIDE)}
        shown = subprocess.run(command, capture_output=True, check=True, env=colours).stdout.decode()
    first = shown.split("Why one of those is ham")[0].rstrip().rstrip("\x1b[1m").rstrip()
    console = Console(record=True, width=WIDE, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi("$ discern demo\n\n" + first))
    picture = console.export_svg(title="discern demo", unique_id="demo")
    bare = re.sub(r"@font-face \{.*?\}\s*|<!--.*?-->\s*", "", picture, flags=re.DOTALL)  # no font of the network
    place.write_text(bare, "utf-8")


if __name__ == "__main__":
    draw()
    draw_demo()
    print(f"wrote {CHART.name}, {DEMO.name}")
