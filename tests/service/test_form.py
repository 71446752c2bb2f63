"""The values that the form of the page offers: what the model knows of columns, and nothing of rows that are forgotten."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest

from discern.classifier import Classifier
from discern.service.form import form
from discern.service.state import State
from tests.service.running import LEARNED

CHANCE = random.Random(3)
ROWS = [
    {
        "label": "ab"[n % 2],
        "note": f"{'win' if n % 2 else 'lunch'} today",
        "size": CHANCE.gauss(5 + 3 * (n % 2), 1),
        "kind": "xyz"[n % 3] if n % 2 else "x",
        "paid": n % 4 == 1,
    }
    for n in range(120)
]
MIXED: dict[str, Any] = {"text": "note", "number": "size", "category": "kind", "flag": "paid"}


def offered(model: Classifier) -> dict[str, Any]:
    return form(State(model, "", 0))


@pytest.mark.parametrize(
    "settings",
    [
        {"numbers": "gaussian"},
        {"numbers": "quantile"},
        {"model": "logistic"},
        {"model": "lda"},
        {"model": "nbsvm"},
        {"model": "ridge"},
    ],
    ids=str,
)
def test_every_model_offers_levels_and_ranges_and_examples_that_it_labels_so(settings: dict[str, Any]) -> None:
    model = Classifier(**MIXED, **settings).fit(ROWS)
    found = offered(model)
    fields = {one["name"]: one for one in found["fields"]}
    assert [one["role"] for one in found["fields"]] == ["text", "number", "category", "flag"]
    assert fields["kind"]["levels"] == ["x", "y", "z"]
    low, high, step = fields["size"]["range"]
    assert -4 <= low < 5 < 8 < high <= 16
    assert 0 < step <= (high - low) / 50
    assert [one["label"] for one in found["examples"]] == ["a", "b"]
    for one in found["examples"]:
        assert model.predict([one["row"]]).tolist() == [one["label"]]


def test_what_is_forgotten_is_not_offered() -> None:
    model = Classifier(**MIXED, numbers="gaussian", smoothing=1.0).fit(ROWS)
    before = offered(model)
    secret = [{"label": "a", "note": "confidential", "size": 98765.0, "kind": "rare", "paid": True}]
    model.learn(secret)
    assert "rare" in json.dumps(offered(model))
    model.forget(secret)
    assert offered(model) == before


def test_no_number_of_a_row_is_offered_by_bins() -> None:
    rows = [{"label": row["label"], "size": row["size"]} for row in ROWS]
    model = Classifier(number="size", numbers="quantile", smoothing=1.0).fit(rows)
    [field] = offered(model)["fields"]
    assert not {*field["range"]} & {row["size"] for row in ROWS}


@pytest.mark.parametrize(
    "rows",
    [
        [{"label": "a", "size": 3}, {"label": "b", "size": 3}],
        [{"label": "a", "size": None}, {"label": "b", "size": None}],
        [{"label": "a", "size": -1e300}, {"label": "b", "size": 1e300}],
        [{"label": "a", "size": -1.7e308}, {"label": "b", "size": 1.7e308}, {"label": "b", "size": 0}],
        [{"label": "a", "size": 5e-324}, {"label": "b", "size": 0.0}],
        [{"label": "a", "size": 1e15}, {"label": "b", "size": 1e15 + 1}],
    ],
    ids=str,
)
@pytest.mark.parametrize("numbers", ["gaussian", "quantile"])
def test_ranges_at_the_edge_are_finite_and_rise(rows: list[dict[str, Any]], numbers: str) -> None:
    model = Classifier(number="size", numbers=numbers, smoothing=1.0).fit(rows)
    [field] = offered(model)["fields"]
    if "range" in field:
        low, high, step = field["range"]
        assert np.isfinite([low, high, step]).all()
        assert low < high
        assert step > 0


def test_examples_of_words_in_every_script() -> None:
    rows = [{"label": "pos", "text": "यह खाना अच्छा है"}, {"label": "neg", "text": "सेवा बहुत धीमी थी"}]
    found = offered(Classifier().fit(rows))["examples"]
    assert [one["label"] for one in found] == ["neg", "pos"]
    assert "धीमी" in found[0]["row"]["text"]


def test_models_without_terms_and_columns_of_vectors_have_a_form() -> None:
    assert offered(Classifier(model="knn").fit(LEARNED))["examples"] == []
    vectors = {"label": np.array(["a", "b"] * 20), "v": np.random.default_rng(0).normal(size=(40, 3))}
    assert offered(Classifier().fit(vectors))["fields"] == [{"name": "v", "role": "vector", "n_axes": 3}]
