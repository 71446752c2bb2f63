"""Model files of earlier versions are read, and decide as they did: to the bit."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discern.classifier import load
from discern.estimators.neighbors import KNeighborsClassifier
from discern.models.registry import public_models
from tests.golden.make import DECISIONS, FOLDER, kinds, neighbor_predictions, neighbors, predictions, processor

EVERY = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
EXPECTED = {name: expected for name, expected in EVERY.items() if "labels" in expected}
NUMBERS = ("probabilities", "raw", "log_odds")


def numbers(values: Any) -> np.ndarray:
    return np.array([[float.fromhex(one) for one in np.atleast_1d(row)] for row in values])


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_old_files_decide_as_they_did(name: str) -> None:
    found, expected = predictions(load(FOLDER / f"{name}.discern")), dict(EXPECTED[name])
    if expected.pop("processor") == processor():
        assert found == expected
    for part in ("labels", "decisions"):
        assert found[part] == expected[part]
    for part in NUMBERS:
        np.testing.assert_allclose(numbers(found[part]), numbers(expected[part]), rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("name", [name for name in sorted(EXPECTED) if load(FOLDER / f"{name}.discern").fitted.is_sum])
def test_old_files_are_written_again_as_they_were(name: str, tmp_path: Path) -> None:
    before = FOLDER / f"{name}.discern"
    model = load(before)
    model.save(tmp_path / "again.discern", slim=name.endswith("-slim"))
    assert predictions(load(tmp_path / "again.discern")) == predictions(model)


@pytest.mark.parametrize("name", sorted(EVERY.keys() - EXPECTED.keys()))
def test_old_files_of_neighbors_decide_as_they_did(name: str, tmp_path: Path) -> None:
    model, expected = KNeighborsClassifier.load(FOLDER / f"{name}.discern"), dict(EVERY[name])
    found = neighbor_predictions(model)
    if expected.pop("processor") == processor():
        assert found == expected
    assert (found["classes"], found["places"]) == (expected["classes"], expected["places"])
    for part in ("distances", "shares"):
        np.testing.assert_allclose(numbers(found[part]), numbers(expected[part]), rtol=1e-12, atol=1e-300)
    model.save(tmp_path / "again.discern")
    assert neighbor_predictions(KNeighborsClassifier.load(tmp_path / "again.discern")) == found


@pytest.mark.parametrize("name", sorted(DECISIONS))
def test_a_kept_decision_is_not_the_most_probable_label(name: str) -> None:
    model = load(FOLDER / f"{name}.discern")
    assert model.decision == DECISIONS[name]
    shares = numbers(EXPECTED[name]["probabilities"])
    likeliest = [EXPECTED[name]["labels"][place] for place in shares.argmax(axis=1)]
    assert EXPECTED[name]["decisions"] != likeliest


def test_every_kind_of_model_has_its_files() -> None:
    assert {path.stem for path in FOLDER.glob("*.discern")} == set(EVERY) >= {*kinds(), *neighbors()}
    models = {load(FOLDER / f"{name}.discern").model for name in EXPECTED}
    assert models == {*public_models()} - {"best"}


def test_an_old_model_learns_and_forgets() -> None:
    model = load(FOLDER / "naive-bayes-text.discern")
    before, rows = model.checksum(), [{"label": "ham", "text": "entirely new words"}]
    model.learn(rows)
    assert model.checksum() != before
    assert model.forget(rows) == before
