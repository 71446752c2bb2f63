"""The learner that reads texts against a plain implementation of the same equations."""

import math
import random
from collections import Counter

import numpy as np
import pytest

import discern
from discern.data.text import TextSettings

NEGLIGIBLE = 0.005


def learn(values, sign, rate, weights, squares):
    margin = sign * sum(weights.get(term, 0.0) * value for term, value in values.items())
    gradient = 1 / (1 + math.exp(margin))
    if gradient <= NEGLIGIBLE:
        return
    for term, value in values.items():
        squares[term] = squares.get(term, 1e-12) + (gradient * value) ** 2
    steps = {term: rate * value / math.sqrt(squares[term]) for term, value in values.items()}
    reach = sum(steps[term] * value for term, value in values.items())
    low, high = 0.0, 1.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if middle < 1 / (1 + math.exp(margin + middle * reach)) else (low, middle)
    for term in values:
        weights[term] = weights.get(term, 0.0) + sign * low * steps[term]


def drawn(rows, classes, seed):
    """Random texts whose words lean to their class."""
    generator = random.Random(seed)
    texts, labels = [], []
    for _ in range(rows):
        label = generator.randrange(classes)
        words = [f"w{min(int(generator.expovariate(0.1)), 99)}" for _ in range(generator.randrange(0, 30))]
        words += [f"c{label}{generator.randrange(20)}" for _ in range(generator.randrange(3))]
        generator.shuffle(words)
        texts.append(" ".join(words))
        labels.append(label)
    return texts, labels


@pytest.mark.parametrize("ngrams", [(1, 1), (1, 2)])
@pytest.mark.parametrize("rate", [0.3, 2.0])
def test_two_classes_are_as_in_plain_code(rate, ngrams):
    texts, labels = drawn(200, 2, 5)
    model = discern.OnlineTextClassifier(learning_rate=rate, ngram_range=ngrams).fit(texts, labels)
    weights, squares = {}, {}
    for text, label in zip(texts, labels, strict=True):
        learn(vector(text, TextSettings(ngrams=ngrams)), 1 if label == 1 else -1, rate, weights, squares)
    found = dict(zip(model.vocabulary_, model.coef_[0], strict=True))
    assert found.keys() == weights.keys() - {None}
    # Ours are numbers of 32 bits: of 200 rows the last digits differ.
    np.testing.assert_allclose([found[term] for term in found], [weights[term] for term in found], rtol=0, atol=2e-5)
    np.testing.assert_allclose(model.intercept_, [weights[None]], atol=2e-5)


def test_more_classes_are_each_against_the_rest_from_their_first_row_on():
    texts, labels = drawn(300, 4, 6)
    model = discern.OnlineTextClassifier().fit(texts, labels)
    firsts = [labels.index(label) for label in range(4)]
    first_two = sorted(firsts)[1]
    for label in range(4):
        # Up to two classes one learner learns, with the first class as negative from the first row on.
        start = 0 if firsts[label] <= first_two else firsts[label]
        weights, squares = {}, {}
        for text, other in list(zip(texts, labels, strict=True))[start:]:
            learn(vector(text, TextSettings()), 1 if other == label else -1, 2.0, weights, squares)
        found = dict(zip(model.vocabulary_, model.coef_[label], strict=True))
        expected = [weights.get(term, 0.0) for term in found]
        np.testing.assert_allclose(list(found.values()), expected, rtol=0, atol=2e-5)


def vector(text, settings):
    values = {term: 1 + math.log(count) for term, count in Counter(settings.terms(text)).items()}
    values[None] = 1.0  # the bias
    length = math.sqrt(sum(value**2 for value in values.values()))
    return {term: value / length for term, value in values.items()}
