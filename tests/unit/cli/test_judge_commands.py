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


# ------------------------------------------------------------------------------------------------------- novelty


def test_unusual_rows_are_unsure(files: tuple[Path, Path], tmp_path: Path) -> None:
    model, strange = tmp_path / "m.discern", "quantum flux telemetry"
    model.write_bytes(files[0].read_bytes())
    rows = [json.loads(line) for line in call("predict", model, files[1], "--novelty", "--json").stdout.splitlines()]
    assert all(0 <= row["novelty"] <= 1 and row["known terms"] >= 0 for row in rows)
    [row] = call("predict", model, "--message", strange, "--novelty", "--to", "csv").stdout.splitlines()[1:]
    label, probability, novelty, known = row.split(",")
    assert (label, known) == ("ham", "0")
    assert float(novelty) > 0.95 > float(probability)
    assert "The model knows none of the words" in call("explain", model, strange).stdout
    assert call("decide", model, "--max-false-alarms", "0.1").exit_code == 0
    decided = call("predict", model, files[1]).stdout.splitlines()[1:]
    unsure = [line.startswith("unsure,") for line in decided]
    assert unsure == [row["novelty"] > 0.9 for row in rows]
    assert call("predict", model, "--message", strange).stdout.splitlines()[1].startswith("unsure,")
    table = json.loads(call("evaluate", model, files[1], "--json").stdout)
    assert sum(table["confusion"][2]) == sum(unsure)
    assert evaluated(files, "--max-false-alarms", 0.1)["confusion"] == table["confusion"]


def test_novelty_is_evaluated_on_unknown_labels(files: tuple[Path, Path], tmp_path: Path) -> None:
    strange = [{"label": "sport", "text": f"goal team{i} keeper offside"} for i in range(40)]
    with (tmp_path / "rows.jsonl").open("w") as rows:
        rows.write(files[1].read_text() + "".join(json.dumps(row) + "\n" for row in strange))
    found = json.loads(call("evaluate", files[0], tmp_path / "rows.jsonl", "--novelty", 0.1, "--json").stdout)
    assert (found["unknown"], found["level"]) == (40, 0.1)
    assert found["auroc"] > 0.9
    assert "AUROC" in call("evaluate", files[0], tmp_path / "rows.jsonl", "--novelty", 0.1).stdout
    nobody = call("evaluate", *files, "--novelty", 0.1)
    assert "no such rows" in nobody.stdout
    assert json.loads(call("evaluate", *files, "--novelty", 0.1, "--json").stdout)["auroc"] is None


def test_what_has_no_novelty(tmp_path: Path, files: tuple[Path, Path]) -> None:
    Classifier(smoothing=1.0).fit([{"label": "a", "text": "x"}, {"label": "b", "text": "y"}]).save(tmp_path / "m")
    for command in (
        ["predict", tmp_path / "m", "--message", "x", "--novelty"],
        ["decide", tmp_path / "m", "--max-false-alarms", 0.1],
        ["evaluate", tmp_path / "m", files[1], "--novelty", 0.1],
    ):
        refused = call(*command)
        assert refused.exit_code == 1
        assert "this model has no novelty: train naive Bayes on at least 100 rows" in refused.stderr
    for share in ("0", "1", "-1", "nan"):
        assert call("decide", files[0], "--max-false-alarms", share).exit_code == 2
