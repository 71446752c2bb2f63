"""The accuracy table: methods are trained and judged on the same rows, and the goals say what is there."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

import benchmarks.accuracy.several as several
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


WORDS = {"corn": ["corn", "maize", "silo", "bushel"], "oil": ["oil", "barrel", "crude", "opec"]}


def topics(rows: int) -> tuple[list[str], list[list[str]]]:
    """Return texts that tell their labels."""
    draw = random.Random(0)
    labels = [[label for label in WORDS if draw.random() < 0.5] for _ in range(rows)]
    words = [[draw.choice(WORDS[label]) for label in own for _ in range(3)] for own in labels]
    return [
        " ".join([*own, *draw.choices(["the", "price", "rose", "today", "at", "noon"], k=3)]) for own in words
    ], labels


@pytest.mark.parametrize(
    "method", [method for method in several.METHODS if "best" not in method.name], ids=lambda method: method.name
)
def test_a_method_learns_several_labels_a_row(method: several.Method) -> None:
    split = several.Split("topics", topics(200), topics(40))
    found = several.cell(method, split)
    assert min(found["micro F1"], found["macro F1"], found["exact match"]) > 0.9
    one = several.figures(several.Split("topics", ([], []), (["a", "b"], [["corn", "oil"], ["oil"]])), [["oil"], []])
    assert one == {"micro F1": 0.5, "macro F1": pytest.approx(1 / 3), "exact match": 0}


def test_the_page_has_a_table_of_several_labels() -> None:
    about = {"set": "topics", "seconds": 1.0, "bayes": True, "macro F1": 0.5, "exact match": 0.6}
    ours = {**about, "method": "discern default, several labels", "peer": "", "micro F1": 0.9}
    theirs = {**about, "method": "OneVsRest, MultinomialNB", "peer": "scikit-learn", "micro F1": 0.8}
    sets = {"topics": {"train": 10, "test": 5, "labels": 2, "texts": None, "several": True}}
    scores = Scores({}, sets, [ours, theirs])
    assert scores._several_labels()[-2:] == [
        "| discern default | 90.0 | 50.0 | 60.0 | 1.00 |",
        "| OneVsRest, MultinomialNB (scikit-learn) | 80.0 | 50.0 | 60.0 | 1.00 |",
    ]
    assert scores._leads_of_sets("discern default", True)[0][1:] == (
        "90.00 against 80.00 (OneVsRest, MultinomialNB)", True
    )  # fmt: skip


def test_figures_are_those_of_the_answers() -> None:
    half = np.full((20, 2), [0.75, 0.25])
    found = figures(SPLIT, Answers(["ham"] * 20, half, ["ham", "spam"]))
    assert found["accuracy"] == 0.5
    assert found["calibration error"] == pytest.approx(0.25)
    assert figures(SPLIT, Answers(["ham"] * 20)) == {"accuracy": 0.5, "calibration error": None}


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
