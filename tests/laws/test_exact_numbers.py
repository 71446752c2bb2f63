"""Whatever is done to a model of mixed columns, its file has the bytes of a fresh fit of the rows that it should hold."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discern.classifier import Classifier, load
from discern.data.strings import DataError

Bytes = Callable[[Classifier], bytes]
Row = dict[str, Any]

SETTINGS = {"text": "text", "category": "kind", "number": ["size", "age"], "numbers": "gaussian", "smoothing": 1.0}
LABELS = ("a", "b", "c")
THREADS = (1, 2, 7)
WALKS, LONG_WALKS, STEPS = 40, 10_000, 12
FAR = (1e300, -1e300, 1e-300, 1.7e308, -1.7e308, 5e-324, -3e-310, 1e8, 0.0, -0.0)


def drawn(source: random.Random) -> Row:
    """Return a row with numbers of all sizes, equal ones among them, and with missing values."""

    def number() -> float | None:
        kind = source.random()
        if kind < 0.1:
            return None
        if kind < 0.3:
            return source.choice(FAR)
        return source.gauss(5, 2) if kind < 0.6 else source.randint(-20, 20) / 4

    words = " ".join(source.choices(["win", "prize", "lunch", "noon", "née"], k=source.randint(0, 4)))
    kind = source.choice(["x", "y", None])
    return {"label": source.choice(LABELS), "text": words, "kind": kind, "size": number(), "age": number()}


def fitted(rows: list[Row], threads: int = 1) -> Classifier:
    return Classifier(**SETTINGS, threads=threads).fit(rows)


def step(model: Classifier, rows: list[Row], source: random.Random, path: Path) -> tuple[Classifier, list[Row]]:
    """Do one thing with a model; return it, and the rows that it should hold then."""
    more = [drawn(source) for _ in range(source.randint(1, 4))]
    some = source.sample(rows, source.randint(0, len(rows) - 1))
    rest = [row for row in rows if not any(row is one for one in some)]
    what = source.randrange(6)
    if what == 0:
        return model.learn(more), [*rows, *more]
    if what == 1:
        model.forget(some)
        return model, rest
    if what == 2:
        other = fitted(more, source.choice(THREADS))
        return (model.merge(other) if source.random() < 0.5 else other.merge(model)), [*rows, *more]
    if what == 3:  # relabeled: forgotten and learned in one step, as the service does
        changed = [{**row, "label": source.choice(LABELS)} for row in some]
        return model.changed(some, changed), [*rest, *changed]
    if what == 4:
        model.save(path)
        return load(path), rows
    with pytest.raises(DataError, match="cannot forget"):
        model.forget([{**drawn(source), "size": 123.456}] * (len(rows) + 1))
    return model, rows


def walk(seed: int, path: Path) -> None:
    source = random.Random(seed)
    rows = [drawn(source) for _ in range(source.randint(2, 12))]
    model = fitted(rows, source.choice(THREADS))
    for _ in range(STEPS):
        model, rows = step(model, rows, source, path)
    fresh = fitted(source.sample(rows, len(rows)), source.choice(THREADS))
    assert model.checksum() == fresh.checksum(), f"seed {seed}"
    asked = [drawn(source) for _ in range(3)]
    shares = model.predict_proba(asked)
    assert np.array_equal(shares, fresh.predict_proba(asked))
    assert np.isfinite(shares).all()


def test_random_sequences(tmp_path: Path) -> None:
    for seed in range(WALKS):
        walk(seed, tmp_path / "m.discern")


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_ten_thousand_random_sequences(tmp_path: Path) -> None:
    for seed in range(LONG_WALKS):
        walk(seed, tmp_path / "m.discern")


NUMBERS = st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.integers(-9, 9).map(float), st.none())
DRAWN = st.lists(st.fixed_dictionaries({"label": st.sampled_from(LABELS), "size": NUMBERS}), min_size=1, max_size=8)


@given(DRAWN, DRAWN, st.randoms())
def test_learn_merge_and_forget(model_bytes: Bytes, rows: list[Row], more: list[Row], source: Any) -> None:
    def of(some: list[Row]) -> Classifier:
        return Classifier(number="size", numbers="gaussian", smoothing=1.0).fit(some)

    one, both = of(rows), of([*rows, *more])
    assert model_bytes(of(rows).learn(more)) == model_bytes(of(rows).merge(of(more))) == model_bytes(both)
    assert model_bytes(of(source.sample([*rows, *more], len(rows) + len(more)))) == model_bytes(both)
    both.forget(more)
    assert model_bytes(both) == model_bytes(one)


def test_many_rows_in_batches_and_on_threads(model_bytes: Bytes) -> None:
    generator = np.random.default_rng(0)
    size = generator.normal(size=300_000) * 10.0 ** generator.integers(-3, 4, 300_000)
    label = np.array(LABELS)[generator.integers(0, 3, len(size))]

    def of(part: slice, threads: int = 1) -> Classifier:
        rows = {"label": label[part].tolist(), "size": size[part]}
        return Classifier(number="size", numbers="gaussian", smoothing=1.0, threads=threads).fit(rows)

    whole = model_bytes(of(slice(None)))
    assert all(model_bytes(of(slice(None), threads)) == whole for threads in THREADS)
    assert model_bytes(of(slice(None, None, -1))) == whole
    parts = [of(slice(part, None, 5)) for part in range(5)]
    assert model_bytes(parts[3].merge(parts[1]).merge(parts[4].merge(parts[0]).merge(parts[2]))) == whole


def test_a_forgotten_outlier_changes_no_answer() -> None:
    rows = [{"label": "small", "size": 1.0 + i / 7} for i in range(5)]
    rows += [{"label": "large", "size": 2.0 + i / 7} for i in range(5)]
    model, asked = fitted_sizes(rows), [{"size": value} for value in (1.2, 1.9, 3.1)]
    before = model.predict_proba(asked)
    for outlier in (1e8, 1e300, -1e-320, 5e-324, 1.7976931348623157e308):
        more = [{"label": "large", "size": outlier}]
        model.learn(more)
        assert np.isfinite(model.predict_proba(asked)).all()
        model.forget(rows[:1])  # what was learned before an outlier is not refused after it
        model.learn(rows[:1]).forget(more)
        assert np.array_equal(model.predict_proba(asked), before)


def fitted_sizes(rows: list[Row]) -> Classifier:
    return Classifier(number="size", numbers="gaussian", smoothing=1.0).fit(rows)
