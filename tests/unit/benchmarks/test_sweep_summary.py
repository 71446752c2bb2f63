"""The figures of a sweep, and the list of cells that may be slower."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from benchmarks.sweep import accepted, summary
from benchmarks.sweep.collected import collected


def row(ratio: float, status: str = "measured", operation: str = "fit", **more: Any) -> dict[str, Any]:
    names = {"family": "a", "subject": "One", "shape": "150x4-3classes", "operation": operation}
    return {"cell": f"a/One/150x4-3classes/{operation}", **names, "status": status, "ratio": ratio, **more}


def test_the_mean_is_geometric_and_of_cells_that_agree() -> None:
    rows = [row(0.5), row(2.0), row(8.0), row(100.0, "wrong"), row(1.0, "failed")]
    found = summary.figures(rows)
    assert found == {"cells": 3, "mean": pytest.approx(2.0), "median": 2.0, "least": 0.5, "slower": 1}
    assert math.isnan(summary.figures([])["mean"])


def test_a_cell_that_was_stopped_counts() -> None:
    assert summary.figures([row(0.05, "slow"), row(1.0)])["least"] == 0.05


def test_groups_are_those_of_operations_and_families() -> None:
    rows = [
        row(1.0),
        row(2.0, operation="predict"),
        row(3.0, operation="predict_proba"),
        row(4.0, operation="transform"),
    ]
    found = summary.groups(rows, lambda one: summary.kind(one["operation"]))
    assert {name: len(cells) for name, cells in found.items()} == {"fit": 1, "predict": 2, "other": 1}


def test_every_ratio_is_in_one_range() -> None:
    rows = [row(value) for value in (0.05, 0.1, 0.89, 0.9, 1.0, 1.1, 3.0, 20.0, 500.0)]
    counts = dict(summary.spread(rows))
    assert sum(counts.values()) == len(rows)
    assert counts["< 0.1"] == 1
    assert counts["0.1 – 0.5"] == 1
    assert counts["0.9 – 1.1"] == 2
    assert counts["≥ 20"] == 2


def test_memory_is_a_ratio_and_the_hungriest_come_first() -> None:
    rows = [
        row(1.0, memory={"ours": 3e6, "theirs": 2e6}),
        row(1.0, memory={"ours": 0, "theirs": 5}),
        row(1.0, memory={"ours": 9e6, "theirs": 1e6}),
        row(1.0),
    ]
    assert [summary.memory_ratio(found) for found in summary.with_memory(rows)] == [9.0, 1.5, 1.0]


@pytest.mark.parametrize(
    ("shape", "size"),
    [
        ("150x4-3classes", "tiny"),
        ("300x2000-3classes", "wide"),
        ("200000x20-2classes", "tall"),
        ("100000x3-2classes", "few columns"),
        ("20000x100-2classes", "many columns"),
        ("10000x20-100classes", "many classes"),
        ("30000x20-3classes-float32-F", "float32"),
        ("30000x20-3classes-pandas", "pandas"),
        ("5000x20000-2classes-50counts", "sparse"),
        ("200x50-3classes-batches10", "batches"),
        ("20000x3numbers-2categories-2classes-jsonl", "jsonl"),
    ],
)
def test_a_shape_belongs_to_one_column_of_the_picture(shape: str, size: str) -> None:
    assert summary.size(shape) == size


def test_all_shapes_have_a_column() -> None:
    columns = {summary.size(case.shape) for case in collected()}
    assert {"tiny", "wide", "tall", "sparse", "csv", "pandas", "batches"} <= columns
    assert len(columns) < 30


# ------------------------------------------------------------------------------------------------- accepted cells


def listed(folder: Path, text: str) -> dict[str, str]:
    path = folder / "accepted.toml"
    path.write_text(text, encoding="utf-8")
    return accepted.accepted(path)


def test_the_list_is_read(tmp_path: Path) -> None:
    assert listed(tmp_path, '[[cell]]\nname = "a/b/c/fit"\nreason = "a wall"\n') == {"a/b/c/fit": "a wall"}
    assert listed(tmp_path, "# nothing\n") == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[cell]]\nname = "a"\n', r"accepted\.toml, cell 1: write a name and a reason"),
        ('[[cell]]\nname = "a"\nreason = " "\n', "cell 1: write a name and a reason"),
        ('[[cell]]\nname = "a"\nreason = "b"\n' * 2, "cell 2: 'a' is there twice"),
        ("".join(f'[[cell]]\nname = "{number}"\nreason = "b"\n' for number in range(11)), "has 11 cells, at most 10"),
    ],
)
def test_a_list_that_is_wrong_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(accepted.ListError, match=message):
        listed(tmp_path, text)


def test_the_list_of_the_project_names_cells_of_the_sweep() -> None:
    names = [cell for case in collected() for cell in case.cells]
    assert accepted.unknown(names, accepted.accepted()) == []
    assert accepted.unknown(names, {"no/such/cell/fit": "why"}) == ["no/such/cell/fit"]


@pytest.mark.parametrize(
    ("ratio", "is_listed", "fails"), [(0.95, False, False), (0.8, False, True), (0.8, True, False), (0.6, True, True)]
)
def test_a_slow_cell_fails_unless_it_is_listed(ratio: float, is_listed: bool, fails: bool) -> None:
    found = row(ratio)
    names = {found["cell"]: "a wall"} if is_listed else {}
    assert (found["cell"] in accepted.failures([found], names)) is fails


def test_wrong_results_and_much_memory_fail() -> None:
    assert accepted.failure(row(5.0, "wrong", reason="1 is not 2"), {}) == "wrong: 1 is not 2"
    hungry = row(5.0, memory={"ours": 33e6, "theirs": 20e6})
    assert accepted.failure(hungry, {}) == "needs 33 MB, the peer 20 MB"
    assert accepted.failure(row(5.0, memory={"ours": 31e6, "theirs": 20e6}), {}) is None


def test_a_listed_cell_that_is_fast_by_now_is_told() -> None:
    names = {row(1.0)["cell"]: "a wall"}
    assert accepted.unneeded([row(1.0)], names) == list(names)
    assert accepted.unneeded([row(0.8)], names) == []
