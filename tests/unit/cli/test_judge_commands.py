"""``discern evaluate`` by thresholds and costs, and decisions from files that nobody should trust."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from discern.classifier import Classifier
from discern.cli.demo import sample, split
from discern.cli.main import app
from discern.evaluation.decisions import Decision


def call(*arguments: Any) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("judge")
    learned, held_out = split(sample())
    Classifier().fit(learned).save(folder / "m.discern")
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in held_out), "utf-8")
    return folder / "m.discern", folder / "rows.jsonl"


def evaluated(files: tuple[Path, Path], *options: Any) -> Any:
    result = call("evaluate", *files, *options, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_thresholds_move_the_confusion_matrix(files: tuple[Path, Path]) -> None:
    plain = evaluated(files)
    assert evaluated(files, "--threshold", 0.5)["confusion"] == plain["confusion"]
    every = evaluated(files, "--threshold", 0, "--positive", "spam")
    assert every["confusion"][0] == [0, 0]
    none = evaluated(files, "--threshold", 1.1, "--positive", "ham")
    assert none["confusion"][0] == [0, 0]
    assert (none["positive"], every["positive"]) == ("ham", "spam")
    assert none["log_loss"] == plain["log_loss"]


def test_costs_and_unsure(files: tuple[Path, Path]) -> None:
    plain, dear = evaluated(files, "--cost", "ham:spam=1"), evaluated(files, "--cost", "ham:spam=1e6")
    assert plain["cost"] == pytest.approx(plain["error"])
    assert dear["confusion"][1][0] <= plain["confusion"][1][0]
    unsure = evaluated(files, "--cost", "ham:spam=9", "--cost", "unsure=0.1")
    assert unsure["labels"] == ["ham", "spam", "unsure"]
    table = np.array(unsure["confusion"])
    expected = 9 * table[1, 0] + table[0, 1] + 0.1 * table[2].sum()
    assert unsure["cost"] == pytest.approx(expected / table.sum())
    assert "unsure" in call("evaluate", *files, "--cost", "unsure=0.001").stdout


@pytest.mark.parametrize(
    "options",
    [
        ["--threshold", "0.5", "--cost", "ham:spam=2"],
        ["--positive", "egg"],
        ["--cost", "ham:egg=2"],
        ["--cost", "ham:spam"],
        ["--cost", "ham:spam=much"],
        ["--cost", "ham:spam=inf"],
        ["--threshold", "-1"],
    ],
)
def test_wrong_options(files: tuple[Path, Path], options: list[str]) -> None:
    result = call("evaluate", *files, *options)
    assert result.exit_code == 2, result.output
    assert not result.stdout


plain_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(sorted(Decision.__dataclass_fields__)) | st.text(max_size=4), plain_values))
def test_any_json_is_a_decision_or_refused(values: dict[str, Any]) -> None:
    try:
        decision = Decision.from_json(values)
    except ValueError:
        return
    assert Decision.from_json(decision.to_json()) == decision
