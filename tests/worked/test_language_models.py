"""The probability of a string under unigram models with given word probabilities."""

import numpy as np
import pytest

from discern.bayes import LinearScores
from discern.columns import Feature
from discern.data import Strings
from discern.mixed import TextColumn
from discern.text import TextSettings


def language_models(**probabilities: dict[str, float]) -> TextColumn:
    words = sorted(next(iter(probabilities.values())))
    weights = np.log([[model[word] for model in probabilities.values()] for word in words])
    bias = np.zeros(len(probabilities))
    text = TextSettings(shortest=1)
    feature = Feature("text", "text")
    return TextColumn(feature, tuple(probabilities), Strings.of(words), LinearScores(bias, weights), text)


def probability(models: TextColumn, text: str, rows: int) -> list[float]:
    said = models.of_texts([text] * rows, rows, 1)
    assert not said.unknown.any()
    return np.exp(said.scores[-1]).tolist()


@pytest.mark.parametrize("rows", [1, 100])  # by search, and by table
def test_the_man_likes_the_woman(rows: int) -> None:
    words = {"the": 0.2, "a": 0.1, "man": 0.01, "woman": 0.01, "said": 0.03, "likes": 0.02}
    found = probability(language_models(m=words), "the man likes the woman", rows)
    assert found == pytest.approx([8e-8], rel=1e-12)


@pytest.mark.parametrize("rows", [1, 100])
def test_two_models_of_one_string(rows: int) -> None:
    first = {"the": 0.2, "class": 0.01, "pleaseth": 0.0001, "yon": 0.0001, "maiden": 0.0005}
    second = {"the": 0.2, "class": 0.0001, "pleaseth": 0.02, "yon": 0.1, "maiden": 0.01}
    found = probability(language_models(m1=first, m2=second), "the class pleaseth yon maiden", rows)
    assert found == pytest.approx([1e-14, 4e-10], rel=1e-12)
