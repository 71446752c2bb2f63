"""Bad and odd input to the learner of texts: one sentence, and no half of a model."""

import os
import signal
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

import discern
from discern import _native
from discern.data.strings import DataError
from discern.data.text import TextSettings

TEXTS, LABELS = ["win a prize", "see you at lunch"], ["spam", "ham"]


def test_one_class_no_words_and_labels_of_another_kind_are_refused():
    with pytest.raises(ValueError, match=r"only one class, .*'spam'.*; at least two"):
        discern.OnlineTextClassifier().fit(TEXTS, ["spam", "spam"])
    with pytest.raises(ValueError, match="no words"):
        discern.OnlineTextClassifier().fit(["", "?"], LABELS)
    model = discern.OnlineTextClassifier().fit(TEXTS, LABELS)
    with pytest.raises(ValueError, match="of another kind"):
        model.partial_fit(["win"], [3])
    assert model.classes_.tolist() == ["ham", "spam"]


@pytest.mark.parametrize("lengths", [(1,), (1, 2.5), (2, 1), (0, 1)])
def test_bad_lengths_of_ngrams_are_refused(lengths):
    with pytest.raises(ValueError, match=r"ngram_range must be two whole numbers|must rise from at least 1"):
        discern.OnlineTextClassifier(ngram_range=lengths).fit(TEXTS, LABELS)


def test_rows_that_can_be_read_once_are_not_read_twice():
    rows = ({"text": text, "label": label} for text, label in zip(TEXTS, LABELS, strict=True))
    with pytest.raises(DataError, match="only once, not 2 times"):
        discern.OnlineTextClassifier(passes=2).fit_rows(rows)
    with pytest.raises(DataError, match="no column 'text'"):
        discern.OnlineTextClassifier().fit_rows([{"body": "win", "label": "spam"}])
    with pytest.raises(DataError, match="has no label"):
        discern.OnlineTextClassifier().fit_rows([{"text": "win", "label": ""}])


def test_one_class_so_far_is_what_is_predicted():
    model = discern.OnlineTextClassifier().partial_fit(["win a prize"], ["spam"])
    assert model.predict(TEXTS).tolist() == ["spam", "spam"]
    assert model.predict_proba(TEXTS).tolist() == [[1.0], [1.0]]
    assert model.explain("win").label == "spam"


@pytest.mark.parametrize("rate", [1e-30, 1e6])
def test_rates_at_the_ends_keep_weights_finite(rate):
    texts, labels = ["good " * 70_000, "bad", "good bad " * 5, ""] * 20, ["up", "down", "up", "down"] * 20
    model = discern.OnlineTextClassifier(learning_rate=rate).fit(texts, labels)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.predict_proba(texts)).all()


def test_the_native_learner_refuses_what_does_not_fit():
    text = TextSettings().native
    for rate in (0.0, -1.0, float("nan"), float("inf"), 2e6):
        with pytest.raises(ValueError, match="the rate must be"):
            _native.TextLearner(text, rate)
    learner = _native.TextLearner(text, 2.0)
    with pytest.raises(ValueError, match="nothing was learned"):
        learner.scores(TEXTS, 1)
    for classes in ([0], [0, 2], [-1, 0]):
        with pytest.raises(ValueError, match="do not match the rows"):
            learner.learn(TEXTS, np.array(classes, np.int32), 2, 0)
    with pytest.raises(ValueError, match="too many to learn"):
        learner.learn(TEXTS, np.array([0, 1], np.int32), 2, 1 << 20)


def test_a_broken_state_is_refused():
    learner = _native.TextLearner(TextSettings().native, 2.0)
    learner.learn(TEXTS, np.array([0, 1], np.int32), 2, 0)
    offsets, data, weights, squares = learner.state()
    text, restored = TextSettings().native, _native.TextLearner.restored
    assert len(restored(text, 2.0, 2, offsets, data, weights, squares)) == len(offsets) - 1
    broken = [
        (3, offsets, data, weights, squares),
        (2, offsets[:-1], data, weights, squares),
        (2, offsets, data[:-1], weights, squares),
        (2, offsets, data, weights * np.float32(np.inf), squares),
        (2, offsets, data, weights, squares * 0),
        (2, np.zeros_like(offsets), data, weights, squares),
    ]
    for state in broken:
        with pytest.raises(ValueError, match="do not"):
            restored(text, 2.0, *state)


def learn_for_ever(learner, texts, labels):
    while True:
        learner.learn(texts, labels, 40, 0)


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Ctrl-C raises, also where tests run in the background, in which case shells let it be ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.alone
@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_ends_learning_and_the_half_learned_model_says_so():
    texts = [" ".join(f"word{number % 5000}" for number in range(row, row + 400)) for row in range(3_000)]
    labels = np.arange(len(texts), dtype=np.int32) % 40
    learner = _native.TextLearner(TextSettings().native, 2.0)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        learn_for_ever(learner, texts, labels)
    assert time.monotonic() - start < 10
    with pytest.raises(RuntimeError, match="was interrupted"):
        learner.scores(["word1"], 1)
