"""Rows with texts, categories, numbers and vectors: however they are learned, the bytes are those of a fresh fit."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discern import Classifier, DataError
from discern.classifier import load
from discern.data.readers import batches
from discern.models.fitted import Fitted
from discern.models.summing import sum_rows

Row = dict[str, Any]
numbers = st.one_of(
    st.sampled_from([0.0, -0.0, 0.1, 1.0, -2.5, 1e-38, -1e-45, 3e38, -3e38, 1e5]),
    st.floats(-10, 10, width=32),
)
vectors = st.one_of(st.none(), st.lists(numbers, min_size=3, max_size=3))
row = st.fixed_dictionaries(
    {
        "label": st.sampled_from("abc"),
        "text": st.sampled_from(["win a prize", "lunch at noon", ""]),
        "kind": st.sampled_from(["x", "y", None]),
        "size": st.sampled_from([1.5, -3.0, 1e9, None]),
        "e": vectors,
    }
)
START: list[Row] = [
    {"label": "ab"[i % 2], "text": "win lunch", "kind": "xy"[i % 2], "size": float(i), "e": [i % 3, -0.5 * i, 0.1]}
    for i in range(12)
]


def started(**settings: Any) -> Classifier:
    given = {"text": "text", "category": "kind", "number": "size", "vector": "e", "numbers": "quantile", **settings}
    return Classifier(**given).fit(START)


def fresh(model: Classifier, rows: list[Row]) -> Fitted:
    """Return what a fit of rows with the settings of a model returns."""
    fitted = model.fitted
    sums, _ = sum_rows(batches(rows), fitted.resolved, "label", 1)
    return replace(fitted, sums=sums)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_sequence_has_the_bytes_of_a_fresh_fit(data: Any) -> None:
    model, rows = started(), list(START)
    for _ in range(data.draw(st.integers(1, 5))):
        step = data.draw(st.sampled_from(["learn", "forget", "merge", "relabel", "load"]))
        if step == "learn":
            new = data.draw(st.lists(row, max_size=4))
            rows += new
            model.learn(new) if new else None
        elif step == "forget" and len(rows) > 2:
            gone = data.draw(st.lists(st.integers(0, len(rows) - 1), unique=True, max_size=len(rows) - 1))
            model.forget([rows[place] for place in gone]) if gone else None
            rows = [one for place, one in enumerate(rows) if place not in gone]
        elif step == "merge":
            new = data.draw(st.lists(row, min_size=1, max_size=4))
            other = Classifier(text="text").fit(START)
            other.take(fresh(model, new))
            rows += new
            model = model.merge(other)
        elif step == "relabel":
            place = data.draw(st.integers(0, len(rows) - 1))
            changed = {**rows[place], "label": data.draw(st.sampled_from("abc"))}
            model.relabel([rows[place]], [changed])
            rows[place] = changed
        elif step == "load":
            other = Classifier(text="text").fit(START)
            other.take(Fitted.from_content(*model.fitted.content()))
            model = other
    assert model.checksum() == fresh(model, data.draw(st.permutations(rows))).checksum()


@pytest.mark.parametrize("name", ["naive-bayes", "best"])
def test_threads(name: str) -> None:
    draw = np.random.default_rng(0)
    labels = np.array(["a", "b", "c"])[draw.integers(0, 3, 400)]
    rows = {"label": labels, "e": draw.normal(size=(400, 9)) + (labels == "a")[:, None]}
    found = {Classifier(threads=threads, model=name).fit(rows).checksum() for threads in (1, 2, 7)}
    assert len(found) == 1 or name == "best"  # what is tried in a minute depends on the machine


@pytest.mark.parametrize("parts", [2, 7])
def test_order_and_shards(parts: int) -> None:
    draw = np.random.default_rng(1)
    points = (draw.normal(size=(500, 5)) * 10.0 ** draw.integers(-30, 30, (500, 1))).astype(np.float32)
    labels = draw.integers(0, 3, 500).astype(str)
    model = Classifier().fit({"label": labels, "e": points})
    expected = model.checksum()
    order = draw.permutation(500)
    model.take(fresh(model, {"label": labels[order], "e": points[order]}))  # type: ignore[arg-type]
    assert model.checksum() == expected
    shards = [fresh(model, {"label": labels[p::parts], "e": points[p::parts]}) for p in range(parts)]  # type: ignore[arg-type]
    total = shards[0]
    for shard in shards[1:]:
        total = total.merged(shard)
    assert total.checksum() == expected


def test_forgetting_an_outlier_restores_every_answer() -> None:
    model, asked = started(), [{**one, "label": None} for one in START]
    before, checksum = model.predict_proba(asked), model.checksum()
    outlier = {**START[0], "e": [3e38, -3e38, 1e-45]}
    assert model.learn([outlier]).checksum() != checksum
    assert model.forget([outlier]) == checksum
    assert np.array_equal(model.predict_proba(asked), before)


def test_what_was_never_learned_is_refused() -> None:
    model = started()
    checksum = model.checksum()
    for wrong in ({**START[0], "e": [100.0, 5.0, 5.0]}, {**START[0], "label": "c"}):
        with pytest.raises(DataError, match="nothing was changed"):
            model.forget([wrong])
    with pytest.raises(DataError, match="has 2 numbers and the vectors learned have 3"):
        model.learn([{**START[0], "e": [1.0, 2.0]}])
    assert model.checksum() == checksum


def test_a_ledger_knows_vectors() -> None:
    model = started(ledger="00112233445566778899aabbccddeeff")
    with pytest.raises(DataError, match="row 1 of the rows cannot be forgotten"):
        model.forget([{**START[0], "e": [0.0, -0.0, 0.1000001]}])
    assert model.forget([START[0]]).proven


CANARY = [0.7310585975646973, -0.4621171653270721, 0.9051482081413269]


@pytest.mark.parametrize("slim", [False, True])
def test_a_forgotten_vector_is_in_no_byte_of_the_file(tmp_path: Path, slim: bool) -> None:
    model, path = started(), tmp_path / "m.discern"
    secret = {**START[0], "label": "only", "e": CANARY}
    grid = model.features[-1].grid
    assert grid is not None
    units = grid.units(np.array([CANARY], np.float32))[0]
    traces = [np.float32(x).tobytes() for x in CANARY] + [np.float64(np.float32(x)).tobytes() for x in CANARY]
    traces += [str(x)[:9].encode() for x in CANARY] + [np.int32(x).tobytes() for x in units]
    model.learn([secret]).save(path)
    assert any(trace in path.read_bytes() for trace in traces)  # the only vector of its label is its sum
    model.forget([secret])
    model.save(path, slim=slim)
    assert not any(trace in path.read_bytes() for trace in traces)
    assert load(path).features[-1].n_axes == 3


@pytest.mark.parametrize("model", ["naive-bayes", "lda"])
@pytest.mark.parametrize("rows", [1, 2, 30])
def test_vectors_that_are_almost_equal_leave_no_trace(tmp_path: Path, model: str, rows: int) -> None:
    """The origin of the grid has fewer digits than any of them."""
    near = np.nextafter(np.float32(CANARY), np.float32(9))
    start = [{"label": "ab"[i % 2], "e": near.tolist()} for i in range(rows)]
    secret = {"label": "a", "e": CANARY}
    fitted = Classifier(model=model, vector="e").fit([*start, secret, secret])
    fitted.forget([secret, secret])
    fitted.save(tmp_path / "m.discern")
    content = (tmp_path / "m.discern").read_bytes()
    singles = [np.float32(x) for x in CANARY]
    assert not [x for x in singles if x.tobytes() in content or np.float64(x).tobytes() in content]
    assert not [x for x in singles if str(float(x))[:7].encode() in content]
    assert fitted.learn([secret]).rows == rows + 1
