"""The sweep: everything public has cells, cells are measured and compared, and what is recorded becomes a page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import discern
from benchmarks.harness.measure import WrongAnswerError
from benchmarks.sweep import __main__ as runner
from benchmarks.sweep import record, timing
from benchmarks.sweep.agreement import Agreement, logistic, nothing, same_values
from benchmarks.sweep.cases import entries as table_of_entries
from benchmarks.sweep.cases.entries import entries
from benchmarks.sweep.cases.shapes import Shape, table
from benchmarks.sweep.cells import Case, StopCellError, chosen, wanted
from benchmarks.sweep.collected import collected
from benchmarks.sweep.heatmap import heatmap
from benchmarks.sweep.memory import forked, in_child, is_measurable, measured
from benchmarks.sweep.page import page
from benchmarks.sweep.public import NOT_MEASURED, estimators
from benchmarks.sweep.timing import BRIEF, Best, Pace, Stopwatch, TimingBench
from benchmarks.sweep.worker import run

TINY = "MultinomialNB/150x5-3classes"


def covered() -> set[str]:
    return {name for case in collected() for name in case.covers}


def row(cell: str, ratio: float, **more: Any) -> dict[str, Any]:
    family, subject, shape, operation = cell.split("/")
    names = {"family": family, "subject": subject, "shape": shape, "operation": operation}
    return {
        "cell": cell,
        **names,
        "status": "measured",
        "ours": 1.0,
        "theirs": ratio,
        "ratio": ratio,
        "runs": 3,
        **more,
    }


# ------------------------------------------------------------------------------------------------- what is measured


def test_every_public_estimator_has_cells() -> None:
    assert [name for name in estimators() if name not in covered()] == []


def test_every_other_public_name_has_cells_or_a_reason() -> None:
    assert [name for name in discern.__all__ if name not in covered() | set(NOT_MEASURED)] == []
    assert set(NOT_MEASURED) <= set(discern.__all__)
    assert not set(NOT_MEASURED) & covered()


def test_a_new_public_estimator_enters_with_its_namesake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_of_entries, "estimators", lambda: (*estimators(), "BaggingClassifier", "Unheard"))
    assert "BaggingClassifier" in {entry.name for entry in entries()}
    assert "Unheard" not in {entry.name for entry in entries()}  # so that the test above would fail


def test_there_are_at_least_600_cells_of_different_names() -> None:
    names = [cell for case in collected() for cell in case.cells]
    assert len(names) >= 600
    assert len(set(names)) == len(names)


def test_cells_of_two_threads_and_of_memory_are_there() -> None:
    families = {case.family for case in collected()}
    assert {case.family for case in collected() if case.main} == families - {"analysis"}
    assert sum(case.warm_up is not None for case in collected()) >= 15


@pytest.mark.parametrize(
    ("only", "is_wanted"),
    [
        ("counts", True),
        ("MultinomialNB", True),
        ("150x5-3classes", True),
        ("fit", True),
        (TINY, True),
        ("*/fit", True),
        ("Multinomial*", True),
        ("Multinomial", False),
        ("predict", False),
        (None, True),
    ],
)
def test_cells_are_chosen_by_family_name_or_glob(only: str | None, is_wanted: bool) -> None:
    assert wanted(f"counts/{TINY}/fit", only) is is_wanted


def test_a_subject_is_meant_without_its_options() -> None:
    assert wanted("margins/LinearSVC(C=0.01)/150x4-3classes/fit", "LinearSVC")


def test_an_unknown_name_is_an_error_that_names_the_families() -> None:
    with pytest.raises(SystemExit, match=r"no cell matches 'nothing': name a family \(text, "):
        chosen(list(collected()), "nothing")


# ------------------------------------------------------------------------------------------------------------- data


@pytest.mark.parametrize("container", ["numpy", "list", "pandas", "polars", "arrow"])
def test_containers_hold_the_same_table(container: str) -> None:
    data = table(Shape(40, 3, 2, container=container))
    assert np.allclose(np.asarray(data.X), table(Shape(40, 3, 2)).plain)
    assert len(data.head(7)) == 7


def test_orders_and_types_are_as_named() -> None:
    assert table(Shape(40, 3, 2, order="F")).X.flags.f_contiguous
    strided = table(Shape(40, 3, 2, order="strided")).X
    assert not strided.flags.c_contiguous
    assert not strided.flags.f_contiguous
    assert table(Shape(40, 3, 2, dtype="float32")).X.dtype == np.float32
    assert table(Shape(40, 300, 4, "weights", 5)).X.format == "csr"
    assert table(Shape(40, 300, 4, "counts", 5, container="csc")).X.format == "csc"
    assert set(table(Shape(40, 3, 4, labels="string")).y) == {f"class {number:04d}" for number in range(4)}


def test_every_class_has_a_row() -> None:
    for kind in ("numbers", "counts", "categories"):
        assert len(np.unique(table(Shape(60, 3, 50, kind)).y)) == 50


# ---------------------------------------------------------------------------------------------------------- timing


def bench_of(rows: list[dict[str, Any]], pace: Pace = BRIEF) -> TimingBench:
    return TimingBench(Path(), 1, lambda operation, found: rows.append({"operation": operation, **found}), pace=pace)


def agree(ours: Any, theirs: Any) -> None:
    if ours != theirs:
        raise WrongAnswerError(f"{ours} is not {theirs}")


def test_a_cell_has_the_times_of_both_sides() -> None:
    rows: list[dict[str, Any]] = []
    outcome = bench_of(rows, Pace(0.05)).measure("fit", lambda: sum(range(100)), lambda: sum(range(100)), agree)
    assert outcome == (4950, 4950)
    [found] = rows
    assert found["status"] == "measured"
    assert found["ratio"] == pytest.approx(found["theirs"] / found["ours"])
    assert found["runs"] >= 1


def test_results_that_differ_are_reported() -> None:
    rows: list[dict[str, Any]] = []
    bench_of(rows).measure("fit", lambda: 1, lambda: 2, agree)
    assert (rows[0]["status"], rows[0]["reason"]) == ("wrong", "1 is not 2")


@pytest.mark.parametrize("side", ["ours", "the peer"])
def test_an_error_of_a_side_is_reported(side: str) -> None:
    def fails() -> int:
        raise ValueError("too few rows\nat all")

    rows: list[dict[str, Any]] = []
    sides = (fails, int) if side == "ours" else (int, fails)
    with pytest.raises(StopCellError):
        bench_of(rows).measure("fit", *sides, agree)
    assert (rows[0]["status"], rows[0]["reason"]) == ("failed", f"{side}: ValueError: too few rows")


def test_a_side_that_takes_far_longer_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "LEAST_LIMIT", 0.05)

    def forever() -> None:
        while True:
            pass

    rows: list[dict[str, Any]] = []
    with pytest.raises(StopCellError):
        bench_of(rows).measure("fit", forever, int, agree)
    assert rows[0]["status"] == "slow"
    assert rows[0]["ratio"] <= 0.05


def test_a_side_that_takes_long_is_not_run_again() -> None:
    calls = {"ours": 0, "theirs": 0}

    def count(side: str) -> None:
        calls[side] += 1

    first = Best(timing.ALONE + 1, 0.001)
    found = timing.alternated(Stopwatch(1), lambda: count("ours"), lambda: count("theirs"), first, Pace())
    assert calls == {"ours": 0, "theirs": 1}
    assert found.ours == first.ours
    assert found.theirs < 0.001


def test_operations_after_one_without_a_result_fail(tmp_path: Path) -> None:
    def work(bench: Any) -> None:
        bench.measure("fit", lambda: 1 / 0, int, agree)

    case = Case("a", "b", ("b",), "c", ("fit", "predict"), work)
    rows: list[dict[str, Any]] = []
    run(case, tmp_path, 1, BRIEF, None, rows.append)
    assert [(found["cell"], found["reason"]) for found in rows] == [
        ("a/b/c/fit", "ours: ZeroDivisionError: division by zero"),
        ("a/b/c/predict", "an operation before it has no result"),
    ]


@pytest.mark.skipif(not is_measurable(), reason="the system does not tell the peak of a process")
def test_memory_is_what_a_child_needs_beside_its_data() -> None:
    data = np.ones(20_000_000 // 8)
    small, large = in_child(lambda: data.sum()), in_child(lambda: [data + 1, data + 2])
    assert small is not None
    assert large is not None
    assert small < 5_000_000
    assert 38_000_000 < large < 50_000_000


@pytest.mark.skipif(not is_measurable(), reason="the system does not tell the peak of a process")
def test_the_memory_of_a_case_is_that_of_its_first_cell(tmp_path: Path) -> None:
    def work(bench: Any, rows: int = 2_000_000) -> None:
        bench.measure("fit", lambda: np.ones(rows), lambda: np.ones(2 * rows), nothing)
        raise AssertionError("only the fit is measured")

    def warm_up(bench: Any) -> None:
        bench.measure("fit", lambda: np.ones(10), lambda: np.ones(10), nothing)

    case = Case("a", "b", ("b",), "c", ("fit",), work, warm_up)
    found = forked(lambda: measured(case, tmp_path))
    assert 15_000_000 < found["ours"] < 20_000_000
    assert 31_000_000 < found["theirs"] < 36_000_000
    assert forked(lambda: 1 / 0) is None


# ------------------------------------------------------------------------------------------------------- agreement


def test_labels_and_probabilities_beyond_the_tolerance_are_wrong() -> None:
    agreement = Agreement(labels=0.9, probabilities=0.01)
    agreement.of_labels(["a"] * 9 + ["b"], ["a"] * 10, None)
    with pytest.raises(WrongAnswerError, match="80"):
        agreement.of_labels(["a"] * 8 + ["b"] * 2, ["a"] * 10, None)
    agreement.of_probabilities([[0.501, 0.499]], [[0.5, 0.5]])
    with pytest.raises(WrongAnswerError, match=r"differ by 2\.0e-02"):
        agreement.of_probabilities([[0.52, 0.48]], [[0.5, 0.5]])
    with pytest.raises(WrongAnswerError, match="not finite"):
        agreement.of_probabilities([[np.nan, 0.5]], [[0.5, 0.5]])


def test_a_lower_accuracy_is_wrong() -> None:
    with pytest.raises(WrongAnswerError, match=r"accuracy is 0\.5000, theirs 1\.0000"):
        Agreement(None, accuracy=0.1).of_labels(["a", "b"], ["a", "a"], ["a", "a"])


def test_a_worse_objective_is_wrong() -> None:
    from sklearn.linear_model import LogisticRegression

    data = table(Shape(60, 3, 3))
    good, bad = LogisticRegression().fit(data.X, data.y), LogisticRegression().fit(data.X, data.y)
    bad.coef_ = bad.coef_ * 2
    agreement = Agreement(None, objective=logistic)
    agreement.of_models(good, bad, data.X, data.X, data.y, {})
    with pytest.raises(WrongAnswerError, match="the objective is"):
        agreement.of_models(bad, good, data.X, data.X, data.y, {})


def test_values_are_compared_dense_and_sparse() -> None:
    from scipy import sparse

    some = np.array([[1.0, 0.0], [0.0, 2.0]])
    for made in (np.array, sparse.csr_matrix):
        same_values(made(some), made(some + 1e-12 * (some > 0)), 1e-9)
        with pytest.raises(WrongAnswerError, match="values differ"):
            same_values(made(some), made(some * 1.1), 1e-9)
        with pytest.raises(WrongAnswerError, match="shape"):
            same_values(made(some[:1]), made(some), 1e-9)


# ----------------------------------------------------------------------------------------------------- a tiny sweep


def test_a_tiny_sweep_runs_and_writes_its_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "sweep.json"
    runner.main(["--only", TINY, "--brief", "--json", str(output)])
    rows = json.loads(output.read_text("utf-8"))["rows"]
    assert {found["cell"] for found in rows} == {
        cell for case in collected() if TINY in case.name for cell in case.cells
    }
    assert {found["status"] for found in rows} == {"measured"}
    assert "cells pass. The geometric mean of 5 ratios" in capsys.readouterr().out


def test_two_threads_measure_the_main_cells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "sweep.json"
    runner.main(["--only", "BernoulliNB/*/fit", "--threads", "2", "--brief", "--json", str(output)])
    found = json.loads(output.read_text("utf-8"))
    assert found["threads"] == "2"
    main = {
        case.cells[0] for case in collected() if case.main and "/BernoulliNB/" in case.name and "fit" in case.operations
    }
    assert {row["cell"] for row in found["rows"]} == main


def test_cells_that_two_threads_do_not_measure_are_an_error() -> None:
    with pytest.raises(SystemExit, match="no cell matches 'chi2'"):
        runner.main(["--only", "chi2", "--threads", "2"])


def test_a_recorded_sweep_becomes_a_page_and_a_picture(tmp_path: Path) -> None:
    rows = [
        row("a/One/150x4-3classes/fit", 4.0, memory={"ours": 30_000_000, "theirs": 10_000_000}),
        row("a/One/150x4-3classes/predict", 1.0),
        row("b/Two/300x2000-2classes/fit", 0.25),
        {**row("b/Two/300x2000-2classes/predict", 9), "status": "wrong", "reason": "1 is not 2"},
    ]
    path = tmp_path / "sweep.json"
    results = {"machine": {"cores": 2}, "threads": "1", "rows": rows, "part": False}
    assert record.record(results, path) == "recorded in sweep.json"
    known = json.loads(path.read_text("utf-8"))
    text = page(known, {})
    assert "1 of 4 cells pass. The geometric mean of 3 ratios is **1.00×**." in text
    assert "| fit cells | 2 | 1.00 |" in text
    assert "| `b/Two/300x2000-2classes/predict` | wrong | 1 is not 2 |" in text
    assert "| 30.0 MB | 10.0 MB | 3.00 |" in text
    assert text.index("`b/Two/300x2000-2classes/fit`") < text.index("`a/One/150x4-3classes/predict`")
    shown = [element.text for element in ElementTree.fromstring(heatmap(rows)).iter() if element.text]
    assert {"One fit", "Two fit", "tiny", "wide", "4.0", "0.25"} <= set(shown)
    assert heatmap(rows) == heatmap(list(rows)) != heatmap(rows[:2])


def test_a_part_takes_the_place_of_the_same_cells(tmp_path: Path) -> None:
    path = tmp_path / "sweep.json"
    cells = ["a/One/150x4-3classes/fit", "a/One/150x4-3classes/predict"]
    about = {"machine": {"cores": 2}, "threads": "1"}
    record.record({**about, "rows": [row(cell, 1.0) for cell in cells], "part": False}, path)
    record.record({**about, "rows": [row(cells[0], 2.0), row("b/Two/9x9-2classes/fit", 3.0)], "part": True}, path)
    record.record({**about, "threads": "2", "rows": [row(cells[0], 5.0)], "part": True}, path)
    runs = json.loads(path.read_text("utf-8"))["runs"]
    assert [found["ratio"] for found in runs["1"]["rows"]] == [2.0, 1.0, 3.0]
    assert [found["ratio"] for found in runs["2"]["rows"]] == [5.0]
    refused = record.record({**about, "machine": {"cores": 4}, "rows": [row(cells[0], 9.0)], "part": True}, path)
    assert refused.startswith("not recorded")


def test_the_pages_are_those_of_the_recorded_sweep() -> None:
    """Until a sweep is recorded there are no pages."""
    known = json.loads(record.RECORDED.read_text("utf-8")) if record.RECORDED.exists() else None
    pages = {} if known is None else record.pages(known, runner.accepted())
    assert (record.RECORDED.parent / "SWEEP.md").exists() == (known is not None)
    for path, text in pages.items():
        assert path.read_text("utf-8") == text, "run: python -m benchmarks.sweep --write"
