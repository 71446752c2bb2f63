"""The instruction counts: an increase is an error, and the work that is counted is the library's."""

from __future__ import annotations

import json

import pytest

import discern
from benchmarks.harness import instructions


def test_the_recorded_numbers_are_of_all_code_paths() -> None:
    recorded = json.loads(instructions.RECORDED.read_text("utf-8"))
    assert set(recorded["instructions"]) == set(instructions.PATHS)
    assert recorded["instructions"]["avx2"] < recorded["instructions"]["plain"]


@pytest.mark.parametrize(("found", "reports"), [(1029, 0), (1031, 1), (500, 0)])
def test_an_increase_above_three_percent_is_reported(found: int, reports: int) -> None:
    assert len(instructions.verdict({"plain": 1000}, {"plain": found})) == reports


def test_the_work_is_the_same_each_time_and_runs_on_the_path_it_names() -> None:
    assert instructions.texts() == instructions.texts()
    assert any("naïve" in text for text in instructions.texts())
    assert instructions.work(1) == discern.code_path()


def test_a_regression_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    known = {"compiler": "rustc 1", "instructions": {"plain": 1000}}
    assert instructions.compare(known, {"plain": 1000}) == 0
    assert instructions.compare(known, {"plain": 1100}) == 1
    assert "10.0% more than the 1,000 recorded" in capsys.readouterr().out
