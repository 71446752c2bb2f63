"""Decisions and their figures, computed by hand or printed in a textbook."""

import math

import numpy as np
import pytest

import discern
from discern.evaluation.curves import Ranking
from discern.evaluation.decisions import (
    Decision,
    LeastCost,
    MostRecall,
    best_labels,
    choose_threshold,
    probability_given,
)
from discern.evaluation.evaluation import Evaluation

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


# ---------------------------------------------------------------------------------------------- at the edges


def test_of_equal_probabilities_the_first_wins_with_few_columns_and_many():
    for width in (2, 3, 16, 17, 40):
        shares = np.full((2, width), 0.1)
        shares[1, 1:] = 0.2
        places, highest = best_labels(shares)
        assert places.tolist() == [0, 1]
        assert highest.tolist() == [0.1, 0.2]


def test_no_rows_give_no_labels():
    none = np.zeros((0, 2))
    for decision in (Decision.argmax(), Decision.at(0.5, "a"), Decision.argmax(unsure=0.2)):
        assert decision(none, "ab").shape == (0,)


def test_a_threshold_is_reached_by_an_equal_probability():
    decision = Decision.at(0.25, "b")
    assert decision([[0.75, 0.25], [0.76, 0.24]], "ab").tolist() == ["b", "a"]
    assert Decision.at(0.9, "a")([[1.0], [0.5]], "a").tolist() == ["a", "a"]  # there is no other label to give
    many = [[0.1, 0.5, 0.4], [0.3, 0.1, 0.6], [0.2, 0.2, 0.6]]
    assert Decision.at(0.5, "b")(many, "abc").tolist() == ["b", "c", "c"]
    assert Decision.at(0, "a").threshold == 0.0


def test_expected_costs_without_unsure():
    shares = [[0.7, 0.3], [0.2, 0.8]]
    np.testing.assert_allclose(Decision.argmax().expected_costs(shares, "ab"), [[0.3, 0.7], [0.8, 0.2]])
    dear = Decision.of_costs([[0, 5], [1, 0]], "ab")
    np.testing.assert_allclose(dear.expected_costs(shares, "ab"), [[0.3, 3.5], [0.8, 1.0]])
    np.testing.assert_allclose(dear.expected_costs([[0.3, 0.7]], "ba"), [[3.5, 0.3]])


def test_unsure_is_said_where_every_label_is_dearer():
    decision = Decision.argmax(unsure=0.3)
    assert decision([[0.75, 0.25], [0.6, 0.4], [0.1, 0.9]], "ab").tolist() == ["a", "unsure", "b"]
    free = Decision.argmax(unsure=0.0)
    assert free([[1.0, 0.0], [0.9, 0.1]], "ab").tolist() == ["a", "unsure"]


def test_a_new_mix_of_labels():
    decision = Decision.argmax().with_priors({"b": 0.5, "a": 0.5}, {"a": 0.0, "b": 1.0})
    assert (decision.labels, decision.weights) == (("a", "b"), (0.0, 2.0))
    np.testing.assert_allclose(decision.adjusted(np.array([[0.9, 0.1]]), "ab"), [[0.0, 1.0]])
    # A row that the new mix rules out altogether stays as it is.
    assert decision.adjusted(np.array([[1.0, 0.0]]), "ab").tolist() == [[1.0, 0.0]]
    assert decision([[0.9, 0.1]], "ab").tolist() == ["b"]
    assert decision([[0.1, 0.9]], "ba").tolist() == ["b"]


def test_a_decision_in_words_and_as_plain_values():
    assert str(Decision.argmax()) == "the most probable label"
    assert str(Decision.at(0.25, "b")) == "b from probability 0.25 on"
    costly = Decision.of_costs([[0, 5], [1, 0]], "ab", unsure=0.5).with_priors(
        {"a": 0.5, "b": 0.5}, {"a": 0.2, "b": 0.8}
    )
    assert str(costly) == "the label of least expected cost, unsure at a cost of 0.5, for new class priors"
    assert Decision.at(0.25, "b").to_json() == {"threshold": 0.25, "positive": "b", "unsure_label": "unsure"}
    assert costly.to_json()["costs"] == [[0.0, 5.0], [1.0, 0.0]]
    assert costly.to_json()["weights"] == [0.4, 1.6]
    assert Decision.from_json(costly.to_json()) == costly
    numbers = Decision.of_costs([[0, 5], [1, 0]], np.array([3, 4]))
    assert [type(label) for label in numbers.labels] == [int, int]
    assert numbers([[0.5, 0.5]], np.array([3, 4])).tolist() == [3]


def test_the_probability_that_goes_with_a_decision():
    shares = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]])
    assert probability_given(np.array(["b", "unsure", "b"]), shares, ["a", "b"]) == [0.1, 0.6, 0.8]


def test_thresholds_lie_halfway_between_scores():
    # Nothing may be called positive: halfway from the highest score to 1, or just above it.
    assert MostRecall(false_positive_rate=0.0)(Ranking.of([0.9, 0.5], [False, True])) == pytest.approx(0.95)
    assert MostRecall(false_positive_rate=0.0)(Ranking.of([1.0, 0.5], [False, True])) == np.nextafter(1.0, 2.0)
    # All may be: halfway from the lowest score to 0.
    assert MostRecall(precision=0.4)(Ranking.of([0.9, 0.5], [False, True])) == 0.25
    # Where no number lies between two scores, the upper one.
    upper = np.nextafter(0.5, 1.0)
    assert MostRecall(false_positive_rate=0.0)(Ranking.of([upper, 0.5], [True, False])) == upper
    # Half of the negative rows may be called positive; so may exactly this share, and no more.
    ranking = Ranking.of([0.9, 0.8, 0.6, 0.4, 0.2], [True, False, True, False, True])
    assert MostRecall(false_positive_rate=0.5)(ranking) == pytest.approx(0.5)
    assert MostRecall(precision=2 / 3)(ranking) == pytest.approx(0.5)
    assert MostRecall(precision=0.75)(ranking) == pytest.approx(0.85)


def test_the_least_cost_weighs_both_errors():
    ranking = Ranking.of([0.9, 0.8, 0.6, 0.2], [True, False, True, False])
    assert LeastCost(10, 1)(ranking) == pytest.approx(0.85)
    assert LeastCost(1, 10)(ranking) == pytest.approx(0.4)
    assert LeastCost(1, 0)(Ranking.of([0.9, 0.8], [False, True])) == pytest.approx(0.95)  # nothing is called
    # Of three places of equal cost, the middle one.
    assert LeastCost(1, 1)(Ranking.of([0.9, 0.8, 0.6, 0.2], [False, True, False, True])) == pytest.approx(0.7)


def test_what_a_chosen_threshold_reaches():
    true, shares = list("bbaab"), np.array([[0.1, 0.9], [0.4, 0.6], [0.5, 0.5], [0.8, 0.2], [0.9, 0.1]])
    chosen = choose_threshold(true, shares, "ab", "b", MostRecall(false_positive_rate=0.5))
    assert chosen.threshold == pytest.approx(0.35)
    assert (chosen.recall, chosen.precision, chosen.false_positive_rate) == (2 / 3, 2 / 3, 0.5)
    assert chosen.decision == Decision.at(chosen.threshold, "b")
    assert chosen.interval is not None
    assert chosen.interval.low <= chosen.threshold <= chosen.interval.high
    assert choose_threshold(true, shares, "ab", "b", MostRecall(precision=0.9), samples=0).interval is None
    # A threshold that calls nothing has made no mistake.
    nothing = choose_threshold(list("ab"), [[0.1, 0.9], [0.9, 0.1]], "ab", "b", MostRecall(precision=1.0), samples=0)
    assert (nothing.recall, nothing.precision, nothing.false_positive_rate) == (0.0, 1.0, 0.0)


def test_the_interval_of_a_threshold_is_that_of_thresholds_of_redrawn_rows():
    random = np.random.default_rng(5)
    truth = np.arange(40) % 2 == 1
    scores = np.clip(random.normal(0.4 + 0.2 * truth, 0.2), 0, 1)
    shares, rule = np.column_stack([1 - scores, scores]), LeastCost(1, 2)
    true = np.where(truth, "b", "a")
    draws, found = np.random.default_rng(0), []
    for _ in range(200):
        rows = draws.integers(0, 40, 40)
        found.append(rule(Ranking.of(scores[rows], truth[rows])))
    chosen = choose_threshold(true, shares, "ab", "b", rule)
    assert [chosen.interval.low, chosen.interval.high] == np.quantile(found, [0.025, 0.975]).tolist()
    assert chosen.interval.level == 0.95
    other = choose_threshold(true, shares, "ab", "b", rule, samples=50, level=0.5, random_state=3)
    draws, found = np.random.default_rng(3), []
    for _ in range(50):
        rows = draws.integers(0, 40, 40)
        found.append(rule(Ranking.of(scores[rows], truth[rows])))
    assert [other.interval.low, other.interval.high] == np.quantile(found, [0.25, 0.75]).tolist()


def test_estimated_shares_start_from_those_of_training_and_settle():
    shares = [[0.9, 0.1]] * 3 + [[0.1, 0.9]]
    assert discern.estimate_priors(shares, [2, 6], max_iter=0).tolist() == [0.25, 0.75]
    once = discern.estimate_priors(shares, [0.5, 0.5], max_iter=1)
    np.testing.assert_allclose(once, [0.7, 0.3])
    settled = discern.estimate_priors(shares, [0.5, 0.5])
    following = discern.reweight(shares, [0.5, 0.5], settled).mean(axis=0)
    np.testing.assert_allclose(following, settled, atol=1e-8)
    rough = discern.estimate_priors(shares, [0.5, 0.5], tol=0.1)
    np.testing.assert_allclose(rough, discern.estimate_priors(shares, [0.5, 0.5], max_iter=2))
