"""Words added to a message do not talk the guard out of its judgment; labels that lie are found."""

import random

import numpy as np
import pandas
import polars
import pyarrow
import pytest

from discern.analysis.defense import Guard, doubtful
from discern.classifier import Classifier
from discern.data.strings import DataError

HAM = [f"ham{i}" for i in range(400)]
SPAM = [f"spam{i}" for i in range(60)]
BOTH = [f"both{i}" for i in range(300)]


def message(source: random.Random, label: str) -> dict[str, str]:
    own = SPAM if label == "spam" else HAM
    words = source.choices(own, k=source.randrange(3, 9)) + source.choices(BOTH, k=source.randrange(3, 20))
    return {"label": label, "text": " ".join(source.sample(words, len(words)))}


def messages(count: int, seed: int = 1) -> list[dict[str, str]]:
    source = random.Random(seed)
    return [message(source, "spam" if source.random() < 0.3 else "ham") for _ in range(count)]


def test_good_words_do_not_change_the_guard() -> None:
    train, test = messages(600), messages(300, 2)
    model, guard = Classifier(text="text").fit(train), Guard.fit(train, "spam")
    good = " ".join(word for word, _ in model.weights("ham", 150) if " " not in word)
    spam = [row["text"] for row in test if row["label"] == "spam"]
    attacked = [f"{text} {good}" for text in spam]
    assert np.mean(model.predict(spam) == "spam") > 0.95
    assert np.mean(model.predict(attacked) == "spam") < 0.2
    np.testing.assert_allclose(guard.scores(attacked), guard.scores(spam), rtol=1e-12)
    assert guard.catches(attacked).mean() > 0.9


def test_the_share_of_others_that_are_caught() -> None:
    train, test = messages(900), messages(900, 3)
    ham = [row["text"] for row in test if row["label"] == "ham"]
    caught = [Guard.fit(train, "spam", most_caught=share).catches(ham).mean() for share in (0.01, 0.2)]
    assert caught[0] <= 0.03
    assert caught[0] <= caught[1] <= 0.3


def test_a_guard_takes_frames_and_columns_of_every_kind() -> None:
    rows = messages(200)
    expected = Guard.fit(rows, "spam")
    texts = [row["text"] for row in rows[:20]]
    for frame in (pandas.DataFrame(rows), polars.DataFrame(rows), pyarrow.Table.from_pylist(rows)):
        guard = Guard.fit(frame, "spam")
        assert guard.threshold == expected.threshold
    for column in (pandas.Series(texts), polars.Series(texts), pyarrow.array(texts), np.array(texts)):
        np.testing.assert_array_equal(expected.scores(column), expected.scores(texts))


def test_lying_labels_are_found() -> None:
    rows, source = messages(500), random.Random(4)
    lies = set(source.sample(range(500), 8))
    told = [
        {**row, "label": "ham" if row["label"] == "spam" else "spam"} if i in lies else row
        for i, row in enumerate(rows)
    ]
    found = set(np.flatnonzero(doubtful(told, 0.02)).tolist())
    assert len(found) <= 10
    assert len(found & lies) >= 7
    assert not doubtful(rows, 0.02)[[i for i in range(500) if i not in found]].all()
    assert doubtful(rows, 0.0).sum() == 0


def test_bad_settings_and_rows_are_refused() -> None:
    for share in (0.0, 1.0, -1.0, float("nan")):
        with pytest.raises(ValueError, match="most_caught must be a share"):
            Guard.fit(messages(50), "spam", most_caught=share)
    with pytest.raises(ValueError, match="share must be"):
        doubtful(messages(50), 0.5)
    with pytest.raises(DataError, match="no rows"):
        Guard.fit([], "spam")
    with pytest.raises(DataError, match="too few rows of other labels"):
        Guard.fit([{"label": "spam", "text": f"win {i}"} for i in range(50)], "spam")
    with pytest.raises(ValueError, match="ham2"):
        Guard.fit(messages(50), "ham2")
    assert doubtful([]).tolist() == []
    assert doubtful([{"label": "a", "text": "x"}] * 5).tolist() == [False] * 5
