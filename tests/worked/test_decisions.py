"""Decisions and their figures, computed by hand or printed in a textbook."""

import math

import numpy as np
import pytest

import discern
from discern.decide import Decision
from discern.evaluate import Evaluation

# ISLR Tables 4.4 and 4.5: how many "No" and "Yes" rows have a probability below 0.2, below 0.5, and above.
ROWS = {"No": {0.1: 9432, 0.3: 212, 0.7: 23}, "Yes": {0.1: 138, 0.3: 114, 0.7: 81}}


@pytest.fixture
def defaults() -> Evaluation:
    true = [label for label, rows in ROWS.items() for count in rows.values() for _ in range(count)]
    scores = np.array([score for rows in ROWS.values() for score, count in rows.items() for _ in range(count)])
    decided = np.where(scores >= 0.5, "Yes", "No")
    return Evaluation.of(true, decided, np.column_stack([1 - scores, scores]), ["No", "Yes"])


def test_threshold_of_one_half(defaults):
    assert defaults.confusion.tolist() == [[9644, 252], [23, 81]]
    assert defaults.error == pytest.approx(0.0275)
    assert round(defaults.sensitivity("Yes"), 3) == 0.243
    assert round(defaults.specificity("Yes"), 3) == 0.998
    assert defaults.matrix("true-predicted").tolist() == [[9644, 23], [252, 81]]


def test_threshold_of_one_fifth(defaults):
    moved = defaults.at(0.2, "Yes")
    assert moved.confusion.tolist() == [[9432, 138], [235, 195]]
    assert moved.error == pytest.approx(0.0373)
    assert round(moved.false_negative_rate("Yes"), 3) == 0.414
    assert moved.log_loss == defaults.log_loss


def test_a_loss_of_five_moves_the_threshold_to_one_sixth():
    decision = Decision.of_costs([[0, 5], [1, 0]], ["bad", "good"])
    bad = np.array([1 / 6 - 1e-9, 1 / 6 + 1e-9])
    assert decision(np.column_stack([bad, 1 - bad]), ["bad", "good"]).tolist() == ["good", "bad"]


def test_three_classes_with_unsure():
    costs = [[0, 1, 4], [2, 0, 2], [8, 1, 0]]
    decision = Decision.of_costs(costs, "abc", unsure=0.6)
    shares = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.1, 0.0, 0.9], [0.9, 0.1, 0.0]])
    expected = [[1.2, 0.8, 3.2, 0.6], [2.4, 0.2, 2.0, 0.6], [7.2, 1.0, 0.4, 0.6], [0.2, 0.9, 3.8, 0.6]]
    np.testing.assert_allclose(decision.expected_costs(shares, "abc"), expected)
    assert decision(shares, "abc").tolist() == ["unsure", "b", "c", "a"]
    judged = Evaluation.of(list("abca"), decision(shares, "abc"), shares, "abc")
    assert judged.cost_of(decision) == pytest.approx(0.6 / 4)


def test_most_spam_at_no_ham_lost():
    true = ["ham"] * 1000 + ["spam"] * 10
    spam = np.concatenate([np.linspace(0, 0.5, 998), [0.8, 0.9], np.linspace(0.55, 1, 10)])
    shares = np.column_stack([1 - spam, spam])
    strict = discern.choose_threshold(
        true, shares, ["ham", "spam"], "spam", discern.MostRecall(false_positive_rate=0.001)
    )
    assert strict.false_positive_rate == 0.001
    assert strict.recall == 0.4  # 0.85, 0.9, 0.95 and 1: one ham of a thousand may be as high, not the one at 0.8
    assert 0.8 < strict.threshold <= 0.85


def test_prior_shift_by_hand():
    # One to one in training, nine to one now: odds of 1/3 become 9 × 1/3 = 3.
    np.testing.assert_allclose(discern.reweight([[0.25, 0.75]], [0.5, 0.5], [0.9, 0.1]), [[0.75, 0.25]])
    decision = Decision.argmax().with_priors({"a": 0.5, "b": 0.5}, {"a": 0.9, "b": 0.1})
    assert decision([[0.25, 0.75]], "ab").tolist() == ["a"]
    # Perfectly sure probabilities: EM finds the shares at once.
    assert discern.estimate_priors([[1.0, 0.0]] * 3 + [[0.0, 1.0]], [0.5, 0.5]).tolist() == [0.75, 0.25]


def test_hand_computed_area_and_losses():
    evaluation = Evaluation.of("abba", "abba", [[0.8, 0.2], [0.4, 0.6], [0.7, 0.3], [0.9, 0.1]], "ab")
    assert evaluation.auc() == 1.0
    assert evaluation.log_loss == pytest.approx(-(math.log(0.8) + math.log(0.6) + math.log(0.3) + math.log(0.9)) / 4)
    assert evaluation.brier == pytest.approx((0.08 + 0.32 + 0.98 + 0.02) / 4)
    assert evaluation.cost([[0, 3], [7, 0]]) == 0.0
    assert evaluation.at(0.7, "b").cost([[0, 3], [7, 0]]) == pytest.approx(14 / 4)
