"""Columns of several kinds: their evidence, and what validation chooses for them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discern.classifier import Classifier, load
from discern.data.roles import Feature
from tests.unit.classifier.test_mixed import DISCRETE, EXPECTED, ROLES, Bytes, mixed

# ------------------------------------------------------------------------------------------------ evidence


def many(rows: int = 200) -> list[dict[str, Any]]:
    random = np.random.default_rng(5)
    found = []
    for _ in range(rows):
        kind = int(random.integers(2))
        words = [f"word{int(random.integers(30)) + 10 * kind}" for _ in range(int(random.integers(1, 15)))]
        found.append(
            {
                "label": ["ham", "spam"][kind],
                "subject": " ".join(words[:3]),
                "body": " ".join(words),
                "size": None if random.random() < 0.1 else float(random.normal() + kind),
                "country": ["fr", "de", "it", None][int(random.integers(4)) if random.random() < 0.6 else kind],
                "paid": ["yes", "no"][int(random.random() < 0.3 + 0.4 * kind)],
            }
        )
    return found


@pytest.mark.parametrize(
    "settings", [{"smoothing": 1.0}, {"smoothing": 1.0, "numbers": "mdl"}, {}, {"model": "bernoulli", "smoothing": 0.5}]
)
def test_evidence_adds_up_to_the_log_odds(settings: dict[str, Any]) -> None:
    rows = many()
    model = Classifier(**ROLES, **settings).fit(rows)
    for row in rows[:30]:
        evidence = model.explain(row)
        shares = dict(zip(model.labels, model.predict_proba([row])[0], strict=True))
        assert evidence.probabilities == pytest.approx(shares, rel=1e-9)
        odds = np.log(shares[evidence.label]) - np.log(shares[evidence.against])
        assert evidence.log_odds == pytest.approx(odds, rel=1e-6, abs=1e-9)
        assert evidence.label == model.predict([row])[0]
        assert {term.column for term in evidence.terms} <= set(EXPECTED)
        for term in evidence.terms:
            assert term.odds == pytest.approx(np.exp(term.weight))
        removed = evidence.flip
        if removed is None:
            continue
        rest = evidence.log_odds - sum(term.weight for term in removed)
        assert rest < 0
        assert rest + min(term.weight for term in removed) >= 0
    described = json.loads(json.dumps(model.explain(rows[0]).to_dict()))
    assert {"term", "count", "weight", "odds", "column"} <= set(described["terms"][0])


def test_the_least_change_that_flips() -> None:
    model = mixed()
    row = {"subject": "win win", "body": "noon", "size": None, "country": "fr", "paid": "no"}
    evidence = model.explain(row)
    assert evidence.label == "spam"
    removed = evidence.flip
    assert removed is not None
    changed = dict(row)
    for term in removed:
        changed[term.column] = (
            None if term.column in ("country", "paid") else changed[term.column].replace(term.term, "")
        )
    assert model.predict([changed])[0] == "ham"
    text = str(evidence)
    assert "country: fr" in text
    assert "subject: win ×2" in text


def test_weights_for_and_against() -> None:
    model = mixed()
    favor, against = model.weights("spam", top=8), model.weights("spam", top=-8)
    bounds = [term.bound for term in model.strongest("spam", 8)]
    assert bounds == sorted(bounds, reverse=True)
    bounds = [term.bound for term in model.strongest("spam", -8)]
    assert bounds == sorted(bounds)
    assert favor[0][1] > 0 > against[0][1]
    names = dict(model.weights("spam", top=1000))
    assert names["country=fr"] == pytest.approx(np.log((2 + 1) / (3 + 3)) - np.log((0 + 1) / (2 + 3)))
    assert names["paid=no"] == pytest.approx(np.log((2 + 1) / (3 + 2)) - np.log((0 + 1) / (2 + 2)))
    assert names["body: noon"] == pytest.approx(np.log((0 + 1) / (6 + 13)) - np.log((2 + 1) / (9 + 13)))
    assert names["subject: noon"] != names["body: noon"]
    assert "noon" in dict(mixed(text="body", ignore="*").weights("spam", top=-8))
    assert dict(model.weights("ham", top=-1000)) == pytest.approx({name: -weight for name, weight in names.items()})


# ------------------------------------------------------------------------------------- choice and calibration


def test_below_100_rows_nothing_is_chosen(model_bytes: Bytes) -> None:
    rows = many(99)
    auto, plain = Classifier(**ROLES).fit(rows), Classifier(model="multinomial", smoothing=1.0, **ROLES).fit(rows)
    assert auto.resolved.chosen is None
    assert auto.resolved.calibration is None
    assert auto.features == plain.features
    assert auto.resolved.naive_bayes == plain.resolved.naive_bayes
    assert np.array_equal(auto.log_joint(rows), plain.log_joint(rows))
    assert np.array_equal(auto.predict_proba(rows), auto.predict_proba(rows, raw=True))


def test_calibrated_and_raw_probabilities() -> None:
    rows = many(400)
    model = Classifier(**ROLES).fit(rows)
    assert model.resolved.chosen is not None
    calibrated, raw = model.predict_proba(rows), model.predict_proba(rows, raw=True)
    assert not np.allclose(calibrated, raw)
    assert raw == pytest.approx(Classifier(**ROLES, calibrate=False).fit(rows).predict_proba(rows), rel=1e-12)
    assert calibrated.sum(axis=1) == pytest.approx(np.ones(len(rows)))
    given = Classifier(**ROLES, smoothing=1.0, numbers="gaussian", calibrate=True).fit(rows)
    assert given.resolved.calibration is not None
    assert given.resolved.naive_bayes.smoothing.alpha == 1.0
    uncalibrated = Classifier(**ROLES, smoothing=1.0, numbers="gaussian").fit(rows)
    assert uncalibrated.resolved.calibration is None
    assert np.array_equal(given.log_joint(rows), uncalibrated.log_joint(rows))


def test_what_was_chosen_is_saved(tmp_path: Path) -> None:
    rows = many(300)
    model = Classifier(**ROLES).fit(rows)
    for slim in (False, True):
        model.save(tmp_path / "m.discern", slim=slim)
        loaded = load(tmp_path / "m.discern")
        assert loaded.resolved.chosen == model.resolved.chosen
        assert loaded.resolved.calibration == model.resolved.calibration
        assert np.array_equal(loaded.predict_proba(rows), model.predict_proba(rows))


def test_chosen_models_merge() -> None:
    rows = many(600)
    settings = DISCRETE
    larger, smaller = (Classifier(**settings, ngrams=(1, 1)).fit(part) for part in (rows[:400], rows[400:]))
    merged = smaller.merge(larger)
    assert merged.rows == 600
    assert merged.resolved.naive_bayes == larger.resolved.naive_bayes
    assert merged.resolved.calibration == larger.resolved.calibration
    again = Classifier(**settings, ngrams=(1, 1)).fit(rows[:400]).learn(rows[400:])
    assert np.array_equal(merged.log_joint(rows), again.log_joint(rows))


def test_learning_keeps_the_choice() -> None:
    rows = many(300)
    model = Classifier(**ROLES).fit(rows[:200])
    chosen, calibration = model.resolved.chosen, model.resolved.calibration
    model.learn(rows[200:])
    assert (model.resolved.chosen, model.resolved.calibration) == (chosen, calibration)
    assert model.rows == 300


def test_bins_know_their_names() -> None:
    assert Feature("size", "number", (0.0, 1.5, 4.0, 9.0)).bins() == ["below 1.5", "1.5 to 4", "4 or more"]
    assert Feature("size", "number", (float("-inf"), float("inf"))).bins() == ["any"]
    day = [1_700_000_000.0 + 86_400 * place for place in range(6)]
    assert len(set(Feature("when", "number", tuple(day)).bins())) == 5
    rows = [{"label": "ab"[place // 3], "when": moment} for place, moment in enumerate(day)] * 5
    model = Classifier(number="when", numbers="quantile", smoothing=0.01, ignore="*").fit(rows)
    assert model.predict(rows).tolist() == [row["label"] for row in rows]
    for wrong in (
        lambda: Feature("size", "number", (1.0, 1.0)),
        lambda: Feature("size", "category", (0.0, 1.0)),
        lambda: Feature("size", "size"),
    ):
        with pytest.raises(ValueError, match="of 'size' must"):
            wrong()
