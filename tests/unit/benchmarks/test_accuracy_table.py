"""The accuracy table: methods are trained and judged on the same rows, and the goals say what is there."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from benchmarks.accuracy.methods import METHODS, Answers, Split
from benchmarks.accuracy.scores import Scores
from benchmarks.accuracy.table import cell, figures

TABLE = pa.table({"label": ["spam", "ham"] * 60, "text": ["win a free prize now", "lunch at noon tomorrow"] * 60})
SPLIT = Split("messages", "label", TABLE, TABLE[:20])
INSTALLED = ("", "scikit-learn")
"""Peers that tests have."""


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "method",
    [method for method in METHODS if method.peer in INSTALLED and method.suits(SPLIT)],
    ids=lambda method: method.name,
)
def test_a_method_learns_what_is_easy(method: object) -> None:
    found = cell(method, SPLIT)  # type: ignore[arg-type]
    assert found["accuracy"] == 1
    assert found["seconds"] >= 0
    assert found["calibration error"] is None or 0 <= found["calibration error"] < 0.5


def test_figures_are_those_of_the_answers() -> None:
    half = np.full((20, 2), [0.75, 0.25])
    found = figures(SPLIT, Answers(["ham"] * 20, half, ["ham", "spam"]))
    assert found["accuracy"] == 0.5
    assert found["calibration error"] == pytest.approx(0.25)
    assert figures(SPLIT, Answers(["ham"] * 20)) == {"accuracy": 0.5, "calibration error": None, "log loss": None}


def test_methods_have_their_kinds_of_rows() -> None:
    rows = Split("rows", "risk", pa.table({"risk": ["good"], "age": ["3"]}), pa.table({"risk": ["good"], "age": ["3"]}))
    suited = {method.name for method in METHODS if method.suits(rows)}
    assert {"discern default", "GaussianNB"} <= suited
    assert "fastText" not in suited
    assert len({method.name for method in METHODS}) == len(METHODS)


def test_a_goal_is_missed_when_a_peer_is_better() -> None:
    about = {"set": "a", "bayes": True, "seconds": 1.0, "calibration error": 0.1}
    ours = {**about, "method": "discern default", "peer": "", "accuracy": 0.8}
    theirs = {**about, "method": "MultinomialNB", "peer": "scikit-learn", "accuracy": 0.9}
    other = {**theirs, "method": "LinearSVC", "bayes": False, "accuracy": 0.95, "calibration error": None}
    missed = Scores({}, {"a": {"texts": True}}, [ours, theirs, other]).goals()
    assert missed[0] == (
        "a: discern default at or above every naive Bayes of a peer",
        "80.00 against 90.00 (MultinomialNB)",
        False,
    )
    assert Scores({}, {"a": {"texts": True}}, [{**ours, "accuracy": 0.91}, theirs, other]).goals()[0][2]
