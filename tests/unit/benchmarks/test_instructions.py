"""The guard of speed: it speaks when more instructions are needed, and what it runs is the work it tells of."""

from __future__ import annotations

import json

import pytest

import discern
from benchmarks.harness import instructions


def test_the_kept_numbers_are_of_all_code_paths() -> None:
    kept = json.loads(instructions.KEPT.read_text("utf-8"))
    assert set(kept["instructions"]) == set(instructions.PATHS)
    assert kept["instructions"]["avx2"] < kept["instructions"]["plain"]


@pytest.mark.parametrize(("found", "told"), [(1029, 0), (1031, 1), (500, 0)])
def test_it_speaks_above_three_percent(found: int, told: int) -> None:
    assert len(instructions.verdict({"plain": 1000}, {"plain": found})) == told


def test_the_work_is_the_same_each_time_and_runs_on_the_path_it_names() -> None:
    assert instructions.texts() == instructions.texts()
    assert any("naïve" in text for text in instructions.texts())
    assert instructions.work(1) == discern.code_path()


def test_a_regression_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    known = {"compiler": "rustc 1", "instructions": {"plain": 1000}}
    assert instructions.compare(known, {"plain": 1000}) == 0
    assert instructions.compare(known, {"plain": 1100}) == 1
    assert "10.0% more than the 1,000 kept" in capsys.readouterr().out
