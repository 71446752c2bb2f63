"""However rows come, the model file has the same bytes."""

from collections.abc import Callable
from functools import reduce
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discern.classifier import Classifier, load
from discern.data.strings import DataError
from tests.laws.strategies import row, rows, some_rows, text_settings

Bytes = Callable[[Classifier], bytes]


def fitted(data: list[dict[str, str]], **settings: object) -> Classifier:
    return Classifier(text="text", **settings).fit(data)


@given(some_rows, text_settings, st.randoms())
def test_order_of_rows(model_bytes: Bytes, data: list, settings: dict, random) -> None:
    shuffled = random.sample(data, len(data))
    assert model_bytes(fitted(shuffled, **settings)) == model_bytes(fitted(data, **settings))


@pytest.mark.parametrize("parts", [1, 2, 7, 64])
@given(data=some_rows, settings=text_settings)
def test_shards_merged(model_bytes: Bytes, parts: int, data: list, settings: dict) -> None:
    shards = [data[part::parts] for part in range(parts)]
    models = [fitted(shard, **settings) for shard in shards if shard]
    assert model_bytes(reduce(Classifier.merge, models)) == model_bytes(fitted(data, **settings))


@pytest.mark.parametrize("parts", [1, 2, 7, 64])
def test_large_shards_merged(model_bytes: Bytes, parts: int) -> None:
    data = [{"label": f"l{i % 5}", "text": f"word{i % 97} w{i * i % 1009} common"} for i in range(5000)]
    models = [fitted(data[part::parts], ngrams=(1, 2), smoothing=1.0) for part in range(parts)]
    assert model_bytes(reduce(Classifier.merge, models)) == model_bytes(fitted(data, ngrams=(1, 2), smoothing=1.0))


@given(some_rows, text_settings)
def test_threads(model_bytes: Bytes, data: list, settings: dict) -> None:
    assert model_bytes(fitted(data, threads=1, **settings)) == model_bytes(fitted(data, threads=2, **settings))


@pytest.mark.parametrize(
    "settings", [{}, {"ngrams": (1, 2)}, {"analyzer": "char", "ngrams": (2, 3)}, {"stem": "english"}]
)
def test_threads_on_much_text(model_bytes: Bytes, settings: dict) -> None:
    # More than the native code does at once: several portions, shared out among threads.
    data = [
        {"label": f"l{i % 3}", "text": " ".join(f"walking{(i * j) % 5003} é{j % 11}" for j in range(60))}
        for i in range(2000)
    ]
    assert sum(len(entry["text"].encode()) for entry in data) > 1 << 20
    one = model_bytes(fitted(data, threads=1, **settings))
    assert model_bytes(fitted(data, threads=2, **settings)) == one
    assert model_bytes(fitted(data, threads=3, **settings)) == one


@pytest.mark.parametrize("labels", [64, 65, 300])
def test_many_labels(model_bytes: Bytes, labels: int) -> None:
    data = [{"label": f"l{i % labels}", "text": f"word{i % 7} number{i % 50}"} for i in range(3 * labels)]
    batches = [data[start : start + 100] for start in range(0, len(data), 100)]
    whole = model_bytes(fitted(data))
    assert model_bytes(fitted(iter(batches))) == whole
    assert model_bytes(fitted(list(reversed(data)))) == whole


@given(some_rows, st.lists(row, min_size=1, max_size=6), text_settings)
def test_learn_then_forget(model_bytes: Bytes, data: list, more: list, settings: dict) -> None:
    model = fitted(data, **settings)
    before = model_bytes(model)
    model.learn(more)
    assert model_bytes(model) == model_bytes(fitted(data + more, **settings))
    model.forget(more)
    assert model_bytes(model) == before


@given(some_rows, text_settings, st.booleans())
def test_save_and_load(model_bytes: Bytes, tmp_path: Path, data: list, settings: dict, slim: bool) -> None:
    model = fitted(data, **settings)
    path, again = tmp_path / "m.discern", tmp_path / "again.discern"
    checksum = model.save(path, slim=slim)
    loaded = load(path)
    assert loaded.save(again, slim=slim) == checksum
    assert again.read_bytes() == path.read_bytes()
    asked = [entry["text"] for entry in data]
    assert loaded.predict(asked).tolist() == model.predict(asked).tolist()
    assert (loaded.predict_proba(asked) == model.predict_proba(asked)).all()
    if not slim:
        assert path.read_bytes() == model_bytes(model)
        loaded.learn(data)
        assert model_bytes(loaded) == model_bytes(fitted(data + data, **settings))


@given(rows, some_rows, text_settings)
def test_one_row_at_a_time(model_bytes: Bytes, data: list, more: list, settings: dict) -> None:
    model = Classifier(text="text", **settings)
    for entry in data + more:
        model.learn([entry])
    assert model_bytes(model) == model_bytes(fitted(data + more, **settings))


@given(some_rows)
def test_settings_of_the_learner_do_not_change_the_statistics(model_bytes: Bytes, data: list) -> None:
    models = [fitted(data), fitted(data, model="bernoulli", smoothing=0.1), fitted(data, priors="uniform")]
    assert models[0].statistics == models[1].statistics == models[2].statistics


@given(some_rows, st.lists(row, min_size=1, max_size=3))
def test_forgetting_what_was_never_learned(model_bytes: Bytes, data: list, others: list) -> None:
    model = fitted(data)
    before = model_bytes(model)
    strange = [*others, {"label": "spam", "text": "neverseenbefore"}]
    with pytest.raises(DataError, match=r"cannot (be forgotten|forget).*nothing was changed"):
        model.forget(strange)
    assert model_bytes(model) == before
    with pytest.raises(DataError, match=r"cannot (be forgotten|forget)"):
        model.forget([{"label": "an unknown label", "text": ""}])
    assert model_bytes(model) == before
    assert model.predict_one("win prize") == fitted(data).predict_one("win prize")


@given(some_rows)
def test_a_new_label_is_learned_and_disappears(model_bytes: Bytes, data: list) -> None:
    model = fitted(data)
    before, labels = model_bytes(model), model.labels
    news = [
        {"label": "news", "text": "unheardof unheardof unheardof event"},
        {"label": "news", "text": "win"},
    ]
    model.learn(news)
    assert model.labels == tuple(sorted({*labels, "news"}))
    assert model.predict_one("unheardof " * 12) == "news"
    model.forget(news)
    assert model.labels == labels
    assert model_bytes(model) == before
    assert b"unheardof" not in model_bytes(model)


@given(some_rows)
def test_not_everything_can_be_forgotten(model_bytes: Bytes, data: list) -> None:
    model = fitted(data)
    before = model_bytes(model)
    with pytest.raises(DataError, match="cannot forget all rows"):
        model.forget(data)
    assert model_bytes(model) == before


@given(some_rows, st.randoms())
def test_order_of_words(model_bytes: Bytes, data: list, random) -> None:
    def permuted(text: str) -> str:
        words = text.split(" ")
        return " ".join(random.sample(words, len(words)))

    shuffled = [{**entry, "text": permuted(entry["text"])} for entry in data]
    assert model_bytes(fitted(shuffled)) == model_bytes(fitted(data))
