"""The recorded sweep: ``benchmarks/sweep.json``, and the page and the picture that are made of it."""

import json
from pathlib import Path
from typing import Any

from benchmarks.harness.report import HERE, fits, write_json
from benchmarks.sweep.heatmap import heatmap
from benchmarks.sweep.page import page

RECORDED = HERE / "sweep.json"
PAGE = HERE / "SWEEP.md"
PICTURE = HERE.parent / "docs" / "_static" / "sweep.svg"
SITE = HERE.parent / "docs" / "sweep.md"
INCLUDED = """\
```{image} _static/sweep.svg
:alt: Times faster than the peer, by operation and kind of shape
:width: 100%
```

```{include} ../benchmarks/SWEEP.md
```
"""
"""The page of the site: it is there as soon as a sweep is recorded."""


def record(results: dict[str, Any], path: Path = RECORDED) -> str:
    """Keep the rows of a run; those of a part take the place of the same cells."""
    known = json.loads(path.read_text("utf-8")) if path.exists() else {"machine": results["machine"], "runs": {}}
    same = fits(known["machine"], results["machine"])
    if results["part"] and not same:
        return "not recorded: the recorded sweep is of other versions or another machine; run all cells"
    runs = known["runs"] if same else {}
    rows = results["rows"]
    if results["part"] and results["threads"] in runs:
        new = {row["cell"]: row for row in rows}
        old = runs[results["threads"]]["rows"]
        there = {row["cell"] for row in old}
        rows = [new.get(row["cell"], row) for row in old] + [row for row in rows if row["cell"] not in there]
    runs = {**runs, results["threads"]: {"rows": rows}}
    write_json(path, {"machine": results["machine"], "runs": runs})
    return f"recorded in {path.name}"


def pages(results: dict[str, Any], listed: dict[str, str]) -> dict[Path, str]:
    """Return what is made of the recorded sweep."""
    first = results["runs"].get("1", {"rows": []})
    return {PAGE: page(results, listed), PICTURE: heatmap(first["rows"]), SITE: INCLUDED}


def write_pages(listed: dict[str, str], path: Path = RECORDED) -> str:
    """Write the pages and the picture."""
    if not path.exists():
        return f"no sweep is recorded in {path.name}: run make sweep"
    for target, text in pages(json.loads(path.read_text("utf-8")), listed).items():
        target.write_text(text, encoding="utf-8")
    return f"wrote {PAGE.name}, {PICTURE.name} and docs/{SITE.name}"
