"""The figures and pictures of README and site are those of the recorded results, and stand nowhere else."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks.accuracy.scores import Point, Scores
from benchmarks.harness import figures, pictures
from benchmarks.harness.report import markdown

ROOT = Path(__file__).resolve().parents[2]
MADE = sorted(figures.pages())


@pytest.mark.parametrize("path", MADE, ids=lambda path: path.name)
def test_a_page_has_the_figures_of_the_results(path: Path) -> None:
    assert path.read_text("utf-8") == figures.pages()[path], "run: python -m benchmarks --figures"


def test_the_table_of_results_is_that_of_the_recorded_ones() -> None:
    recorded = json.loads((ROOT / "benchmarks" / "results.json").read_text("utf-8"))
    assert (ROOT / "benchmarks" / "RESULTS.md").read_text("utf-8") == markdown(recorded)


@pytest.mark.parametrize("name", ["README.md", "docs/performance.md", "docs/index.md", "docs/start.md"])
def test_no_figure_is_written_by_hand(name: str) -> None:
    page = (ROOT / name).read_text("utf-8")
    rest = re.sub(r"<!-- (\w+): .*?<!-- end of \1 -->", "", page, flags=re.DOTALL)
    assert re.findall(r"\d[\d.,]*\s?(?:×(?! \d)|times (?:as|faster)|% (?:right|accura))", rest) == []


def test_another_result_gives_other_figures() -> None:
    rows = figures.recorded()["rows"]
    [row] = [row for row in rows if row["job"] == "count-vectorizer"]
    changed = [{**row, "figure": row["figure"] + 1} if other is row else other for other in rows]
    results = figures.recorded()
    assert figures.speed({**results, "rows": changed}) != figures.speed(results)
    assert pictures.speed(changed) != pictures.speed(rows)


def test_a_page_without_markers_is_an_error() -> None:
    with pytest.raises(ValueError, match="no markers of 'speed'"):
        figures.replaced("no markers", "speed", "")


def test_pictures_are_well_formed_and_name_every_method() -> None:
    points = Scores.recorded().points()
    shown = [element.text for element in ElementTree.fromstring(pictures.accuracy(points)).iter() if element.text]
    assert [point.method for point in points if point.method not in shown] == []


def test_only_methods_that_nothing_beats_are_on_the_line() -> None:
    points = [
        Point("fast", "", 1, 0.8),
        Point("slow", "", 9, 0.9),
        Point("worse", "", 5, 0.8),
        Point("same", "", 9, 0.9),
    ]
    assert [point.method for point in pictures.frontier(points)] == ["fast", "slow"]


def test_means_are_over_sets_that_all_compared_methods_have() -> None:
    about = {"peer": "", "bayes": True, "seconds": 1.0, "calibration error": 0.1}
    sets = {name: {"texts": True} for name in "abcde"}
    cells = [{**about, "set": name, "method": "whole", "accuracy": 0.5} for name in sets]
    cells += [{**about, "set": name, "method": "most", "accuracy": 0.9} for name in "abcd"]
    cells += [{**about, "set": "a", "method": "one", "accuracy": 1.0}, {"set": "b", "method": "one", "left out": "why"}]
    assert Scores({}, sets, cells).compared() == (["whole", "most"], ["a", "b", "c", "d"])


def test_jobs_without_results_are_named() -> None:
    results = figures.recorded()
    without = [row for row in results["rows"] if row["job"] != "arrow-to-model"]
    assert "arrow-to-model" in figures.speed({**results, "rows": without}).split("Not among these results:")[1]
