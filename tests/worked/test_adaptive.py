"""Three documents learned one after the other, calculated by hand from the equations."""

import math

import numpy as np
import pytest

import discern

TEXTS, LABELS = ["good good", "bad", "good film"], ["up", "down", "up"]
LOG = 1 + math.log(2)
"""The value of a word that comes twice."""


def root(margin, reach):
    """The share a of a whole step: a = 1 / (1 + e^(margin + a·reach)), found by halving."""
    low, high = 0.0, 1.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if middle < 1 / (1 + math.exp(margin + middle * reach)) else (low, middle)
    return low


def by_hand():
    """The weights of good, bad, film and the bias; rate 2, "up" positive, every square sum from 1e-12."""
    # 1. x = (LOG, bias 1) / √(LOG² + 1); the score is 0, g = 1/2: Gⱼ = xⱼ²/4, rⱼ = 2/√Gⱼ = 4/xⱼ, v = 4 Σ xⱼ.
    length = math.sqrt(LOG**2 + 1)
    good, bias = LOG / length, 1 / length
    step = 4 * root(0, 4 * (good + bias))
    weights = {"good": step, "bad": 0.0, "film": 0.0, "bias": step}
    squares = {"good": good**2 / 4, "bias": bias**2 / 4}
    # 2. x = (1, bias 1) / √2; the score for "up" is bias/√2, and "down" is right: the margin is its negative.
    share = 1 / math.sqrt(2)
    margin = -weights["bias"] * share
    gradient = 1 / (1 + math.exp(margin))
    squares["bad"] = (gradient * share) ** 2
    squares["bias"] += (gradient * share) ** 2
    rates = {name: 2 / math.sqrt(squares[name]) for name in ("bad", "bias")}
    step = root(margin, share**2 * (rates["bad"] + rates["bias"]))
    for name in ("bad", "bias"):
        weights[name] -= step * rates[name] * share
    # 3. x = (1, 1, bias 1) / √3, "up".
    share = 1 / math.sqrt(3)
    margin = (weights["good"] + weights["bias"]) * share
    gradient = 1 / (1 + math.exp(margin))
    names = ("good", "film", "bias")
    for name in names:
        squares[name] = squares.get(name, 0.0) + (gradient * share) ** 2
    rates = {name: 2 / math.sqrt(squares[name]) for name in names}
    step = root(margin, share**2 * sum(rates.values()))
    for name in names:
        weights[name] += step * rates[name] * share
    return weights


def test_three_documents_give_the_weights_calculated_by_hand():
    model = discern.OnlineTextClassifier().fit(TEXTS, LABELS)
    weights = by_hand()
    assert model.classes_.tolist() == ["down", "up"]
    assert model.vocabulary_ == ["good", "bad", "film"]
    assert model.coef_[0] == pytest.approx([weights["good"], weights["bad"], weights["film"]], rel=1e-6)
    assert model.intercept_ == pytest.approx([weights["bias"]], rel=1e-6)
    assert weights["good"] > 0 > weights["bad"]


def test_scores_probabilities_and_evidence_are_those_of_the_weights():
    model = discern.OnlineTextClassifier().fit(TEXTS, LABELS)
    weights = by_hand()
    score = (weights["bad"] + LOG * weights["film"] + weights["bias"]) / math.sqrt(1 + LOG**2 + 1)
    text = "film bad film unheard"
    assert model.decision_function([text]) == pytest.approx([score], rel=1e-5)
    assert model.predict_proba([text])[0] == pytest.approx([1 / (1 + math.exp(score)), 1 / (1 + math.exp(-score))])
    evidence = model.explain(text)
    sign = 1 if evidence.label == "up" else -1
    assert evidence.log_odds == pytest.approx(sign * score, rel=1e-5)
    assert {(term.term, term.count) for term in evidence.terms} == {("film", 2), ("bad", 1)}
    assert evidence.unknown == 1
    assert evidence.probability == pytest.approx(model.predict_proba([text]).max())
    stemmed = discern.OnlineTextClassifier(stem="english").fit(TEXTS, LABELS)
    assert [(term.term, term.shown) for term in stemmed.explain("Films").terms] == [("film", "films")]


def test_a_row_that_is_right_already_changes_nothing():
    texts, labels = ["good", "bad"] * 4000, ["up", "down"] * 4000
    model = discern.OnlineTextClassifier().fit(texts, labels)
    assert model.predict_proba(["good"])[0, 1] > 0.995
    before = model.coef_.copy()
    model.partial_fit(["good", "bad"], ["up", "down"])
    assert np.array_equal(model.coef_, before)
