"""Discriminants, least squares and centroids: however rows are learned, the bytes are those of a fresh fit."""

import os
import re
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from discern import Classifier, DataError
from discern.classifier import load
from discern.data.readers import batches
from discern.models.columns.number import NumberAxes
from discern.models.fitted import Fitted
from discern.models.registry import MODELS
from discern.models.summing import sum_rows

Row = dict[str, Any]
MODELS_TRIED = tuple(kind.name for kind in MODELS if kind.statistic)
BENT = ("qda:common", "lda:normal", "qda:normal", "ridge:bins", "centroids:quadratic", "lda:quadratic", "ridge:bumps")
"""Models whose numbers have another basis."""
SUMS = (*MODELS_TRIED, "naive-bayes", "bernoulli", "complement")
"""All models that are sums: naive Bayes beside those in a space."""
COLUMNS: dict[str, Any] = {"text": "text", "category": "kind", "flag": "paid", "number": ["size", "age"], "vector": "e"}
OUTLIERS = [1e300, -1e300, 1e-300, 5e-324, -0.0, 0.1, 1e9]
SINGLE = [3e38, -3e38, 1e-45, -0.0, 0.1, 1e5]
WORDS = ["win", "prize", "lunch", "noon", "free", "cash", "née", "你好"]
LABELS = ["ham", "spam", "news", "new"]


def a_row(random: Random) -> Row:
    def number() -> float | None:
        drawn = random.choice([random.gauss(0, 1), random.choice(OUTLIERS), None])
        return drawn

    vector = [random.choice([random.gauss(0, 1), random.choice(SINGLE)]) for _ in range(3)]
    return {
        "label": random.choice(LABELS),
        "text": " ".join(random.choices(WORDS, k=random.randint(0, 5))),
        "kind": random.choice(["x", "y", "never seen", None]),
        "paid": random.choice(["yes", "no", None]),
        "size": number(),
        "age": number(),
        "e": random.choice([vector, None]),
    }


START: list[Row] = [
    {
        "label": LABELS[i % 3],
        "text": f"{WORDS[i % 5]} {WORDS[(i * i) % 7]} {WORDS[i % 3]}",
        "kind": "xyz"[i * i % 3],
        "paid": ["yes", "no"][i % 3 % 2],
        "size": float(i % 7) + i % 3,
        "age": None if i % 5 == 0 else 30.0 + i,
        "e": [i % 3 + 0.1 * (i % 4), -0.5 * i, 0.25 * (i % 6)],
    }
    for i in range(24)
]


def asked(name: str) -> dict[str, Any]:
    """Return the settings of a model, with its basis if it is named."""
    model, _, basis = name.partition(":")
    return {"model": model, "basis": basis or "auto", **COLUMNS}


def started(model: str, **settings: Any) -> Classifier:
    return Classifier(**{**asked(model), **settings}).fit(START)


def fresh(model: Classifier, rows: list[Row], threads: int = 1) -> Fitted:
    """Return what a fit of rows with the settings of a model returns."""
    sums, _ = sum_rows(batches(rows), model.fitted.resolved, "label", threads)
    return replace(model.fitted, sums=sums)


def of(fitted: Fitted) -> Classifier:
    return Classifier.of(fitted.settings, fitted)


def walk(name: str, seed: int, steps: int) -> None:
    """Learn, forget, relabel, merge, save and load at random, and compare with a fresh fit."""
    random = Random(f"{name} {seed}")
    model, rows = started(name, threads=random.choice([1, 2, 7])), list(START)
    for _ in range(steps):
        step = random.choice(["learn", "forget", "relabel", "merge", "load"])
        if step == "learn":
            new = [a_row(random) for _ in range(random.randint(1, 4))]
            rows += new
            model.learn(new)
        elif step == "forget" and len(rows) > 6:
            gone = random.sample(range(len(rows)), random.randint(1, min(len(rows) - 1, 12)))
            model.forget([rows[place] for place in gone])
            rows = [one for place, one in enumerate(rows) if place not in gone]
        elif step == "relabel":
            place = random.randrange(len(rows))
            changed = {**rows[place], "label": random.choice(LABELS)}
            model.relabel([rows[place]], [changed])
            rows[place] = changed
        elif step == "merge":
            new = [a_row(random) for _ in range(random.randint(1, 4))]
            rows += new
            model = model.merge(of(fresh(model, new)))
        else:
            model = of(Fitted.from_content(*model.fitted.content()))
    shuffled = random.sample(rows, len(rows))
    expected = of(fresh(model, shuffled, random.choice([1, 2, 7])))
    assert model.checksum() == expected.checksum()
    rows = [{**a_row(random), "label": None} for _ in range(3)]
    shares = model.predict_proba(rows)
    assert np.array_equal(shares, expected.predict_proba(rows))
    assert np.allclose(shares.sum(axis=1), 1.0)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", BENT)
def test_any_sequence_has_the_bytes_of_a_fresh_fit_in_a_bent_space(name: str, seed: int) -> None:
    walk(name, seed, 3 + 2 * seed)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("name", SUMS)
def test_any_sequence_has_the_bytes_of_a_fresh_fit(name: str, seed: int) -> None:
    walk(name, seed, 1 + seed)


@pytest.mark.soak
def test_many_sequences_have_the_bytes_of_a_fresh_fit() -> None:
    for seed in range(int(os.environ.get("DISCERN_SEQUENCES", "10000")) // len(SUMS)):
        for name in SUMS:
            walk(name, 1000 + seed, 4)


@pytest.mark.parametrize("name", [*MODELS_TRIED, *BENT])
def test_threads_order_and_shards(name: str) -> None:
    random = Random(1)
    rows = [*START, *(a_row(random) for _ in range(200))]
    models = [Classifier(**asked(name), threads=threads).fit(rows) for threads in (1, 2, 7)]
    assert len({model.checksum() for model in models}) == 1
    model = models[0]
    shuffled = random.sample(rows, len(rows))
    again = Classifier(**asked(name)).fit(shuffled)
    assert of(fresh(model, shuffled)).checksum() == model.checksum()
    assert again.resolved == model.resolved
    assert again.checksum() == model.checksum()
    shards = [of(fresh(model, rows[part::7])) for part in range(7)]
    total = shards[0]
    for shard in shards[1:]:
        total = total.merge(shard)
    assert total.checksum() == model.checksum()


@pytest.mark.parametrize("name", [*MODELS_TRIED, *BENT])
def test_forgetting_an_outlier_restores_every_answer(name: str) -> None:
    model, rows = started(name), [{**one, "label": None} for one in START]
    before, checksum = model.predict_proba(rows), model.checksum()
    outlier = {**START[0], "size": 1e300, "age": -1e300, "e": [3e38, -3e38, 1e-45]}
    model.learn([outlier])
    assert model.checksum() != checksum
    assert np.isfinite(model.predict_proba(rows)).all()
    assert model.forget([outlier]) == checksum
    assert np.array_equal(model.predict_proba(rows), before)


@pytest.mark.parametrize("name", MODELS_TRIED)
def test_labels_come_and_go(name: str) -> None:
    model = started(name)
    checksum, one = model.checksum(), {**START[0], "label": "other"}
    model.learn([one])
    assert model.labels == ("ham", "news", "other", "spam")
    assert model.forget([one]) == checksum
    for label in ("news", "spam"):
        gone = [row for row in START if row["label"] == label]
        model.forget(gone)
    assert model.labels == ("ham",)
    assert model.predict([START[0]]).tolist() == ["ham"]
    model.learn([row for row in START if row["label"] != "ham"])
    assert model.checksum() == checksum


@pytest.mark.parametrize("name", MODELS_TRIED)
def test_what_was_never_learned_is_refused(name: str) -> None:
    model = started(name)
    checksum = model.checksum()
    with pytest.raises(DataError, match=r"fewer rows of label 'other'.*nothing was changed"):
        model.forget([{**START[0], "label": "other"}])
    if MODELS[name].statistic != "Means":  # means alone cannot tell
        with pytest.raises(DataError, match="not among those learned; nothing was changed"):
            model.forget([{**START[0], "size": 1e9}])
    assert model.checksum() == checksum


@pytest.mark.parametrize("name", MODELS_TRIED)
def test_a_ledger_knows_the_rows(name: str) -> None:
    model = started(name, ledger="00112233445566778899aabbccddeeff")
    with pytest.raises(DataError, match="row 1 of the rows cannot be forgotten"):
        model.forget([{**START[0], "size": 0.5}])
    assert model.forget([START[0]]).proven


def test_models_in_other_spaces_are_not_merged() -> None:
    model, other = started("lda"), Classifier(model="lda", calibrate=False, **COLUMNS).fit(START[:9])
    with pytest.raises(ValueError, match="cannot merge models with different"):
        model.merge(other)


@pytest.mark.parametrize("name", [name for name in MODELS_TRIED if MODELS[name].has_priors])
def test_given_priors_follow_their_labels(name: str) -> None:
    model = started(name, priors={"ham": 0.5, "news": 0.25, "spam": 0.25})
    gone = [row for row in START if row["label"] == "news"]
    model.forget(gone)
    assert b"news" not in bytes(repr(model.fitted.content()[1]), "utf-8")
    assert model.resolved.pipeline is not None
    assert dict(model.resolved.pipeline.priors).keys() == {"ham", "spam"}  # type: ignore[arg-type]


# --------------------------------------------------------------------------------------------------------- privacy

CANARIES = {"size": 73.1058597564697, "age": 46.2117156532707, "e": [0.7310585, -0.4621171, 0.9051482]}


def traces(model: Classifier) -> list[bytes]:
    """Return how the canaries would be written: as text, in single and double precision, and in units of the grid."""
    space = model.resolved.space
    assert space is not None
    found = []
    for axes in space.columns:
        if (value := CANARIES.get(axes.feature.name)) is None:
            continue
        values = np.array([value], np.float32 if isinstance(value, list) else np.float64).reshape(1, -1)
        for number in values[0]:
            found += [np.float32(number).tobytes(), np.float64(number).tobytes(), str(number)[:8].encode()]
        if axes.is_joined and not isinstance(axes, NumberAxes):
            continue  # sums of a bent axis are of quantiles or bins
        for unit in axes.grid.units(values)[0, : values.shape[1]]:
            found += [np.int64(unit).tobytes()[:4], np.int64(-unit).tobytes()[:4]]
    return found


@pytest.mark.parametrize("slim", [False, True])
@pytest.mark.parametrize("name", [*MODELS_TRIED, *BENT])
def test_a_forgotten_number_is_in_no_byte_of_the_file(tmp_path: Path, name: str, slim: bool) -> None:
    path, secret = tmp_path / "m.discern", {**START[0], "label": "only", **CANARIES}
    model = Classifier(**asked(name)).fit([*START, secret])  # it takes part in laying out the space
    known = traces(model)
    model.save(path)
    assert any(trace in path.read_bytes() for trace in known)  # the only row of its label is its sum
    model.forget([secret])
    model.save(path, slim=slim)
    content = path.read_bytes()
    assert not [trace for trace in known if trace in content]
    assert b"only" not in re.sub(rb'"only"\s*:', b"", content)
    assert load(path).predict(START).tolist() == model.predict(START).tolist()
