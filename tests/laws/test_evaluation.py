"""What holds of every evaluation: parts add up, areas count pairs, curves rise, argmax is the 0–1 cost."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discern.evaluation.curves import Ranking
from discern.evaluation.decisions import Decision, LeastCost, MostRecall, reweight
from discern.evaluation.evaluation import Evaluation

shares = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 1.0]) | st.floats(0, 1, allow_subnormal=False)
scored = st.lists(st.tuples(shares, st.booleans()), min_size=2, max_size=60).filter(
    lambda rows: len({truth for _, truth in rows}) == 2
)


@st.composite
def judged_rows(draw, least=0, labels="abcd"):
    rows = draw(st.integers(least, 30))
    weights = draw(st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=rows, max_size=rows))
    counts = np.array(weights, float).reshape(rows, 3) + 1e-3
    true = draw(st.lists(st.sampled_from(labels), min_size=rows, max_size=rows))
    decided = draw(st.lists(st.sampled_from("abc"), min_size=rows, max_size=rows))
    return true, decided, counts / counts.sum(axis=1, keepdims=True)


def evaluated(rows, chosen=slice(None)):
    true, decided, probabilities = rows
    return Evaluation.of(true[chosen], decided[chosen], probabilities[chosen], "abc")


@given(scored)
def test_the_area_counts_pairs(rows):
    scores, truth = (np.array(column) for column in zip(*rows, strict=True))
    positive, negative = scores[truth][:, None], scores[~truth]
    pairs = 2 * (positive > negative).sum() + (positive == negative).sum()
    assert Ranking.of(scores, truth).auc == pairs / (2 * positive.size * negative.size)
    assert Ranking.of(scores - 0.5, truth).auc == Ranking.of(np.unique(scores - 0.5, return_inverse=True)[1], truth).auc


@given(scored)
def test_curves_rise_from_corner_to_corner(rows):
    ranking = Ranking.of(*zip(*rows, strict=True))
    roc, hull = ranking.roc(), ranking.hull()
    for curve in (roc, hull, roc.thinned()):
        assert (curve.x[0], curve.y[0], curve.x[-1], curve.y[-1]) == (0, 0, 1, 1)
        assert (np.diff(curve.x) >= 0).all()
        assert (np.diff(curve.y) >= 0).all()
        assert (np.diff(curve.thresholds) < 0).all()
    assert np.trapezoid(roc.y, roc.x) == pytest.approx(ranking.auc)
    assert np.trapezoid(hull.y, hull.x) >= ranking.auc - 1e-12
    assert (np.interp(roc.x, hull.x, hull.y) >= roc.y - 1e-12)[np.append(np.diff(roc.x) > 0, True)].all()


@given(judged_rows(), st.data())
def test_parts_add_up_to_the_whole(rows, data):
    whole = evaluated(rows)
    numbers = data.draw(st.permutations(range(whole.rows)))
    cut = data.draw(st.integers(0, whole.rows))
    first, second = (np.array(part, int) for part in (numbers[:cut], numbers[cut:]))
    parts = [
        Evaluation.of(
            [rows[0][i] for i in part],
            [rows[1][i] for i in part],
            rows[2][part][:, ::-1],
            "cba",
        )
        for part in (first, second)
    ]
    total = parts[0] + parts[1]
    if whole.labels == total.labels:
        assert total == whole
    assert json.dumps(total.to_dict()["per_label"]) == json.dumps(whole.to_dict()["per_label"])
    if whole.rows and len(set(rows[0])) > 1:
        assert total.to_dict() == whole.to_dict()
        assert total.at(0.3, "a") == whole.at(0.3, "a")


@given(judged_rows(), st.integers(1, 4))
def test_summing_in_any_grouping_gives_the_same(rows, step):
    parts = [evaluated(rows, slice(start, start + step)) for start in range(0, len(rows[0]), step)] or [evaluated(rows)]
    left = parts[0]
    for part in parts[1:]:
        left = left + part
    right = parts[-1]
    for part in reversed(parts[:-1]):
        right = part + right
    assert left == right == evaluated(rows)


@given(judged_rows())
def test_argmax_is_the_zero_one_cost(rows):
    zero_one = Decision.of_costs(1 - np.eye(3), "abc")
    probabilities = rows[2]
    expected = ["abc"[place] for place in probabilities.argmax(axis=1)]
    assert zero_one(probabilities, "abc").tolist() == expected
    assert Decision.argmax()(probabilities, "abc").tolist() == expected


@given(judged_rows(), st.lists(st.integers(0, 9), min_size=9, max_size=9), st.none() | st.integers(0, 5))
def test_costs_and_unsure_agree_with_enumeration(rows, costs, unsure):
    table = np.array(costs).reshape(3, 3)
    decision = Decision.of_costs(table, "abc", unsure=unsure)
    again = Decision.from_json(json.loads(json.dumps(decision.to_json())))
    assert again == decision
    for shares, label in zip(rows[2], decision(rows[2], "abc"), strict=True):
        every = {"abc"[j]: sum(shares[i] * table[i][j] for i in range(3)) for j in range(3)}
        if unsure is not None:
            every["unsure"] = unsure
        assert every[label] <= min(every.values()) + 1e-12
    shuffled = decision(rows[2][:, [2, 0, 1]], "cab")
    assert [str(label) for label in shuffled] == [str(label) for label in again(rows[2], "abc")] or len(set(costs)) < 9


@given(scored, st.floats(0, 1))
def test_constraints_hold_on_the_rows_they_were_chosen_on(rows, most):
    ranking = Ranking.of(*zip(*rows, strict=True))
    caught, alarms = ranking.at(MostRecall(false_positive_rate=most)(ranking))
    assert alarms <= most * ranking.negative_rows
    allowed = [
        int(tp)
        for tp, fp in zip(ranking.true_positives, ranking.false_positives, strict=True)
        if fp <= most * ranking.negative_rows
    ]
    assert caught == max(allowed, default=0)
    caught, alarms = ranking.at(MostRecall(precision=most)(ranking))
    assert caught >= most * (caught + alarms)


@given(scored, st.integers(0, 9), st.integers(0, 9))
def test_least_cost_is_least(rows, alarm, miss):
    ranking = Ranking.of(*zip(*rows, strict=True))
    caught, alarms = ranking.at([LeastCost(alarm, miss)(ranking), *ranking.scores, 2.0])
    costs = alarm * alarms + miss * (ranking.positive_rows - caught)
    assert costs[0] == costs.min()


@given(judged_rows(), st.lists(st.floats(0.1, 1), min_size=3, max_size=3))
def test_reweighting_there_and_back(rows, new):
    old = np.array([0.2, 0.3, 0.5])
    there = reweight(rows[2], old, new)
    np.testing.assert_allclose(reweight(there, new, old), rows[2], rtol=1e-9)
    decision = Decision.argmax().with_priors(dict(zip("abc", old, strict=True)), dict(zip("abc", new, strict=True)))
    np.testing.assert_allclose(decision.adjusted(rows[2], "abc"), there, rtol=1e-9)
