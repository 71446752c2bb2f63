"""The figures of a sweep: geometric means, over all cells and over groups of them, and how ratios are spread."""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

Row = dict[str, Any]

BOUNDS = (0.1, 0.5, 0.9, 1.1, 2.0, 5.0, 20.0)
FITS = ("fit", "fit_transform", "partial_fit", "learn")
PREDICTIONS = ("predict", "predict_proba", "predict-one-row", "predict_proba-one-row")


def compared(rows: list[Row]) -> list[Row]:
    """Return the cells with a ratio that means something: both sides ran, and what they return agrees."""
    return [row for row in rows if row["status"] in ("measured", "slow")]


def geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean; NaN of nothing."""
    return math.exp(math.fsum(map(math.log, values)) / len(values)) if values else math.nan


def ratios(rows: list[Row]) -> list[float]:
    return [max(row["ratio"], 1e-6) for row in rows]


def groups(rows: list[Row], key: Callable[[Row], str]) -> dict[str, list[Row]]:
    """Return the cells by group, in the order in which groups first come."""
    found: dict[str, list[Row]] = {}
    for row in compared(rows):
        found.setdefault(key(row), []).append(row)
    return found


def figures(rows: list[Row]) -> Row:
    """Return number, geometric mean, median, least, and cells below the goal."""
    found = sorted(ratios(compared(rows)))
    if not found:
        return {"cells": 0, "mean": math.nan, "median": math.nan, "least": math.nan, "slower": 0}
    return {
        "cells": len(found),
        "mean": geometric_mean(found),
        "median": found[len(found) // 2],
        "least": found[0],
        "slower": sum(value < 0.9 for value in found),
    }


def kind(operation: str) -> str:
    """Return whether an operation fits, predicts, or does something else."""
    return "fit" if operation in FITS else "predict" if operation in PREDICTIONS else "other"


def spread(rows: list[Row]) -> list[tuple[str, int]]:
    """Return how many cells lie between the bounds."""
    found = ratios(compared(rows))
    edges = [0.0, *BOUNDS, math.inf]
    names = [f"< {BOUNDS[0]:g}", *(f"{low:g} – {high:g}" for low, high in pairwise(BOUNDS))]
    names.append(f"≥ {BOUNDS[-1]:g}")
    counts = [sum(low <= value < high for value in found) for low, high in pairwise(edges)]
    return list(zip(names, counts, strict=True))


def memory_ratio(row: Row) -> float:
    """Return our growth of memory in times the peer's; what is less than a megabyte counts as one."""
    return max(row["memory"]["ours"], 1e6) / max(row["memory"]["theirs"], 1e6)


def with_memory(rows: list[Row]) -> list[Row]:
    """Return the cells whose memory was measured, the hungriest first."""
    found = [row for row in rows if row.get("memory")]
    return sorted(found, key=memory_ratio, reverse=True)


def shape_group(row: Row) -> str:
    """Return the column of the heat map that a cell belongs to: what is special about its shape, and the operation."""
    return f"{size(row['shape'])} {kind(row['operation'])}"


def size(shape: str) -> str:
    """Return what a shape is about, by its name."""
    parts = shape.split("-")
    rows, _, columns = parts[0].partition("x")
    special = {"F": "F order", "strided": "strided", "float32": "float32", "int64": "whole", "int32": "whole"}
    for mark in ("pandas", "polars", "arrow", "list", "rows", "csv", "parquet", "jsonl", "csc", "coo", "string"):
        special[mark] = mark
    for part in parts[1:]:
        if part in special:
            return special[part]
        if part.startswith("batches"):
            return "batches"
    if any(part.endswith(("counts", "weights")) and part[0].isdigit() for part in parts[1:]):
        return "sparse"
    digits = "".join(letter for letter in columns if letter.isdigit())
    classes = next((int(part.removesuffix("classes")) for part in parts if part.endswith("classes")), 2)
    return _by_size(int(rows), int(digits or 1), classes)


def _by_size(rows: int, columns: int, classes: int) -> str:
    if rows <= 500 and columns <= 100:
        return "tiny"
    if columns > rows:
        return "wide"
    if classes >= 50:
        return "many classes"
    if columns <= 5:
        return "few columns"
    return "many columns" if columns >= 100 else "tall" if rows >= 50_000 else "medium"
