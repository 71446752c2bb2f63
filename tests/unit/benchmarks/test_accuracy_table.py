"""The accuracy table: methods are trained and judged on the same rows, and the goals say what is there."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

import benchmarks.accuracy.several as several
from benchmarks.accuracy import tables
from benchmarks.accuracy.methods import METHODS, Answers, Split
from benchmarks.accuracy.scores import Scores
from benchmarks.accuracy.table import cell, figures, named
from benchmarks.harness.report import merged_accuracy, mixed_sets

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


def test_the_figures_that_are_wanted_with_several_labels_are_goals() -> None:
    cell = {"set": "reuters_modapte", "method": "discern linear SVM, several labels", "micro F1": 0.9, "macro F1": 0.4}
    assert Scores({}, {}, [cell])._bars_of_sets() == [
        ("reuters_modapte: micro F1 of discern linear SVM at least 87.5", "90.00", True),
        ("reuters_modapte: macro F1 of discern linear SVM at least 50", "40.00", False),
    ]


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


@pytest.mark.parametrize("name", [*tables.BUILT_IN, *tables.GENERATED])
def test_tables_that_need_no_file_are_split_by_label(name: str) -> None:
    pairs = tables.splits(name)
    rows = tables.whole(name)
    assert len(pairs) == (tables.SPLITS if len(rows) < tables.FEW else 1)
    for train, test in pairs:
        assert len(train) + len(test) == len(rows)
        assert set(test["label"].to_pylist()) == set(rows["label"].to_pylist())
    best = tables.bayes_accuracy(name)
    assert (best is None) == (name in tables.BUILT_IN)
    assert best is None or 0.5 < best < 1


@pytest.mark.parametrize("make", [tables.boosting, tables.forest])
def test_trees_learn_numbers_and_categories(make: object) -> None:
    import pandas as pd

    frame = pd.DataFrame({"x": [f"{i % 10}" for i in range(80)], "kind": ["ab"[i // 40] for i in range(80)]})
    labels = ["yes" if i % 10 > 4 and i < 40 else "no" for i in range(80)]
    model = make(frame).fit(frame, labels)  # type: ignore[operator]
    unknown = pd.DataFrame({"x": ["7"], "kind": ["never seen"]})
    assert np.mean(model.classes_[model.predict_proba(frame).argmax(axis=1)] == np.array(labels)) == 1
    assert model.predict_proba(unknown).shape == (1, 2)


def test_goals_of_tables_are_of_their_means() -> None:
    about = {"set": "digits", "bayes": False, "seconds": 1.0, "calibration error": 0.03, "log loss": 0.1}
    best = {**about, "method": "discern best", "peer": "", "accuracy": 0.99}
    trees = {**about, "method": "LightGBM", "peer": "LightGBM", "accuracy": 0.98, "log loss": 0.2}
    words = {"set": "a", "bayes": True, "seconds": 1.0, "calibration error": 0.1, "accuracy": 0.9}
    texts = [
        {**words, "method": "discern default", "peer": ""},
        {**words, "method": "MultinomialNB", "peer": "scikit-learn"},
    ]
    sets = {"digits": {"texts": False}, "a": {"texts": True}}
    reached = {wanted: reached for wanted, _, reached in Scores({}, sets, [best, trees, *texts]).goals()}
    assert reached["digits: discern best at least 98.3"]
    assert reached["tables: mean accuracy of discern best at or above every peer's"]
    assert reached["tables: mean log loss of discern best at or below LightGBM's"]
    worse = {**best, "accuracy": 0.97, "log loss": 0.3, "calibration error": 0.05}
    missed = {wanted: reached for wanted, _, reached in Scores({}, sets, [worse, trees, *texts]).goals()}
    assert not any(missed[wanted] for wanted in missed if "discern best" in wanted)


def recorded(machine: str, sets: dict[str, list[str]]) -> dict[str, object]:
    cells = [{"set": name, "method": method, "accuracy": 0.5} for name, methods in sets.items() for method in methods]
    about = {name: {"train": 1, "texts": False} for name in sets}
    return {"machine": {"processor": machine}, "revision": f"of {machine}", "sets": about, "cells": cells}


def test_sets_that_are_measured_again_replace_their_cells_and_name_their_machine() -> None:
    known = recorded("old", {"a": ["one", "gone"], "b": ["one"]})
    merged = merged_accuracy(known, recorded("new", {"a": ["one", "two"], "c": ["one"]}))
    assert [(cell["set"], cell["method"]) for cell in merged["cells"]] == [
        ("a", "one"), ("a", "two"), ("b", "one"), ("c", "one")
    ]  # fmt: skip
    assert merged["machine"] == {"processor": "old"}
    assert merged["sets"]["a"] == {"train": 1, "texts": False, "machine": {"processor": "new"}, "revision": "of new"}
    assert "machine" not in merged["sets"]["b"]


def test_one_method_is_not_mixed_with_cells_of_another_machine() -> None:
    known = recorded("old", {"a": ["one", "two"], "b": ["one"]})
    assert mixed_sets(known, recorded("new", {"a": ["one"]})) == ["a"]
    assert mixed_sets(known, recorded("new", {"c": ["one"]})) == []
    again = merged_accuracy(known, recorded("old", {"a": ["one"]}), "one")
    assert [cell["method"] for cell in again["cells"] if cell["set"] == "a"] == ["two", "one"]


def test_the_page_names_the_machine_of_each_set() -> None:
    merged = merged_accuracy(recorded("old", {"a": ["one"]}), recorded("new", {"c": ["one"]}))
    assert Scores(merged["machine"], merged["sets"], merged["cells"])._machines() == [
        "Machine: processor old.",
        "",
        "Measured later, with other versions or on another machine: c. Machine: processor new.",
    ]


def test_groups_of_sets_can_be_measured_alone() -> None:
    assert named("tables") == tables.NAMES
    assert named("iris") == ("iris",)
    with pytest.raises(SystemExit, match="there is no set 'iriss'"):
        named("iriss")
