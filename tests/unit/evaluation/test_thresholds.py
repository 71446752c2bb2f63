"""Thresholds of several labels: choosing them, what becomes of them when labels change, and what is refused."""

import numpy as np
import pytest
import scipy.sparse

from discern.evaluation.curves import Ranking
from discern.evaluation.decisions import LeastCost, MostRecall
from discern.evaluation.several import choosing
from discern.evaluation.several.choosing import MostF1, MostPrecision, choose_thresholds
from discern.evaluation.several.evaluation import MultilabelEvaluation
from discern.evaluation.several.rows import MultilabelRows, label_sets
from discern.evaluation.several.thresholds import Thresholds


def skewed_rows(seed, rows=600, labels=40):
    """Return truth and overconfident probabilities of labels, few of which are frequent."""
    random = np.random.default_rng(seed)
    frequency = 0.3 / np.arange(1, labels + 1) ** 1.2
    truth = random.random((rows, labels)) < frequency
    scores = np.log(frequency / (1 - frequency)) + random.normal(size=truth.shape) * 1.2 + truth * 3.5
    return truth, 1 / (1 + np.exp(-(1.3 * scores + random.normal(size=labels) * 0.5 + 0.5)))


def test_thresholds_generalize_better_than_the_best_of_each_label():
    raw, chosen, calibrated = [], [], []
    for seed in range(12):
        truth, shares = skewed_rows(seed, rows=4600)
        names = [str(place) for place in range(truth.shape[1])]
        held, new = slice(600), slice(600, None)
        for found, borrowed in ((raw, 0.0), (chosen, None), (calibrated, np.inf)):
            decision = choose_thresholds(shares[held], truth[held], names, borrowed=borrowed)
            evaluation = MultilabelEvaluation.of(truth[new], decision(shares[new], names), shares[new], names)
            found.append((evaluation.f1(), evaluation.f1("macro")))
    raw, chosen, calibrated = (np.array(found).mean(axis=0) for found in (raw, chosen, calibrated))
    assert (chosen > raw + 0.01).all()
    assert (chosen > calibrated + 0.01).all()


def test_all_labels_at_once_are_as_one_after_the_other(monkeypatch):
    truth, shares = skewed_rows(1)
    names = [str(place) for place in range(truth.shape[1])]
    goal = MostF1()
    at_once = choose_thresholds(shares, truth, names, goal)
    monkeypatch.setattr(
        choosing,
        "_f1_bins",
        lambda counts: np.array([choosing._bin_from(goal, counts[:, label]) for label in range(counts.shape[1])]),
    )
    assert choose_thresholds(shares, truth, names, goal) == at_once


def test_order_blocks_and_sparse_tables_do_not_matter(monkeypatch):
    truth, shares = skewed_rows(2, labels=30)
    shares = np.where(shares < 0.01, 0.0, shares)
    names, folds = [str(place) for place in range(30)], np.arange(600) % 4
    first = choose_thresholds(shares, truth, names, folds=folds)
    order = np.random.default_rng(0).permutation(600)
    assert choose_thresholds(shares[order], truth[order], names, folds=folds[order]) == first
    packed = scipy.sparse.csr_array(shares), scipy.sparse.csr_array(truth)
    assert choose_thresholds(*packed, names, folds=folds) == first
    monkeypatch.setattr(choosing, "MOST_LABELS", 7)
    monkeypatch.setattr(choosing, "MOST_CELLS", 1)
    assert choose_thresholds(*packed, names, folds=folds) == first


@pytest.mark.parametrize("borrowed", [0.0, 8.0, None])
def test_goals_are_met_on_the_rows(borrowed):
    truth, shares = skewed_rows(3, labels=4)
    names = list("abcd")

    def per_label(goal):
        decision = choose_thresholds(shares, truth, names, goal, borrowed=borrowed)
        evaluation = MultilabelEvaluation.of(truth, decision(shares, names), shares, names)
        return evaluation, [evaluation.per_label()[name] for name in names]

    _, cheap_alarms = per_label(LeastCost(1, 20))
    _, cheap_misses = per_label(LeastCost(20, 1))
    assert all(one["recall"] > two["recall"] for one, two in zip(cheap_alarms, cheap_misses, strict=True))
    precise, figures = per_label(MostRecall(precision=0.9))
    assert precise.precision() >= 0.85
    caught, figures = per_label(MostPrecision(0.9))
    assert caught.recall() >= 0.85
    if borrowed == 0.0:
        assert all(one["recall"] >= 0.9 for one in figures)


def test_labels_without_rows_have_a_defined_threshold():
    truth, shares = skewed_rows(4, labels=5)
    truth[:, 4] = False
    names = list("abcde")
    raw = choose_thresholds(shares, truth, names, borrowed=0.0)
    assert raw.of("e").tolist() == [raw.common]
    assert 0 < choose_thresholds(shares, truth, names).of("e")[0] <= choosing.NEVER
    one = choose_thresholds([[0.9, 0.1]], [[1, 0]], ["a", "b"])
    assert one([[0.9, 0.1]], ["a", "b"]).tolist() == [[True, False]]
    with pytest.raises(ValueError, match="no row has any of the labels"):
        choose_thresholds(shares, np.zeros_like(truth), names)


def test_labels_come_and_go():
    decision = Thresholds(("a", "b"), (0.2, 0.7), common=0.4, at_most=2)
    assert decision.of(["a", "new", "b"]).tolist() == [0.2, 0.4, 0.7]
    assert decision.defaults(["a", "new"]) == ["new"]
    assert Thresholds(common=0.4).defaults(["a", "new"]) == []
    assert decision.for_labels(["b", "new"], gone=["a"]) == Thresholds(("b",), (0.7,), 0.4, at_most=2)
    assert decision.for_labels(["a", "b", "new"]) == decision
    assert decision.renamed({"a": "b"}) == Thresholds(("b",), (0.7,), 0.4, at_most=2)
    assert decision.renamed({"a": "b", "b": "a"}).of(["a", "b"]).tolist() == [0.7, 0.2]
    assert decision.renamed({"a": "c", "b": "c"}).labels == ("c",)
    assert "2 labels with thresholds from 0.2 to 0.7" in str(decision)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"labels": ["a", "a"], "thresholds": [0.1, 0.2]}, "distinct"),
        ({"labels": ["a"], "thresholds": []}, "0 thresholds for 1 labels"),
        ({"common": float("nan")}, "at least 0"),
        ({"common": "0.5"}, "at least 0"),
        ({"common": True}, "at least 0"),
        ({"labels": ["a"], "thresholds": [-0.1]}, "at least 0"),
        ({"at_most": 0}, "at_most"),
        ({"at_most": 1.5}, "at_most"),
        ({"at_least_one": 1}, "at_least_one"),
        ({"labels": [1], "thresholds": [0.1]}, "must be texts"),
        ({"labels": 1}, "not valid"),
        ({"other": 1}, "have no 'other'"),
    ],
)
def test_invalid_thresholds_are_refused(values, message):
    with pytest.raises(ValueError, match=message):
        Thresholds.from_json(values)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["a"], [["a"]], [[0.5]], ["a"]), "row 1 has 'a' where a list of labels"),
        (([["a"]], [["a"], []], [[0.5]], ["a"]), "1 rows of true labels, 2 of predictions and 1 of probabilities"),
        (([[0, 2]], [[0, 1]], [[0.5, 0.5]], "ab"), "only 0 and 1"),
        ((np.ones((1, 3)), np.ones((1, 3)), [[0.5, 0.5]], "ab"), "pass a column for each label"),
        (([["a"]], [["a"]], [[1.5, 0.5]], "ab"), "row 1 has a probability"),
        (([[], []], [[], []], scipy.sparse.csr_array([[0.5, 0], [0, -0.5]]), "ab"), "row 2 has a probability"),
        (([["a"]], [["a"]], [[np.nan, 0.5]], "ab"), "row 1 has a probability"),
        (([["a"]], [["a"]], [[0.5]], "ab"), "do not match 2 labels"),
        (([["a"]], [["a"]], [[0.5, 0.5]], "aa"), "must be distinct"),
    ],
)
def test_bad_rows_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        MultilabelEvaluation.of(*arguments)


def test_rows_may_be_empty_and_labels_may_never_occur():
    none = MultilabelEvaluation.of([], [], np.zeros((0, 2)), "ab")
    assert (none.f1(), none.exact_match, none.hamming_loss, none.log_loss, none.coverage) == (0, 0, 0, 0, 0)
    assert "micro F1" in str(none)
    assert none.to_dict()["rows"] == 0
    empty = MultilabelEvaluation.of([[], []], [[], []], np.full((2, 2), 0.25), "ab")
    assert (empty.exact_match, empty.f1("macro"), empty.ranking_precision, empty.coverage) == (1, 0, 1, 0)
    assert (none + empty) == empty
    with pytest.raises(ValueError, match="rows that have a label"):
        empty.auc()


def test_labels_that_the_model_does_not_know_count_as_missed():
    evaluation = MultilabelEvaluation.of([["a", "x"], ["b"]], [["a"], ["b"]], [[0.9, 0.2], [0.1, 0.8]], "ab")
    assert evaluation.labels == ("a", "b", "x")
    assert (evaluation.by_row.unseen, evaluation.recall("x"), evaluation.f1("x")) == (1, 0, 0)
    assert evaluation.known_log_loss < 0.2 < 100 < evaluation.log_loss
    assert "do not know" in str(evaluation) or "does not know" in str(evaluation)
    with pytest.raises(ValueError, match="does not know the label 'x'"):
        evaluation.ranking("x")
    with pytest.raises(ValueError, match="unknown label 'y'"):
        evaluation.f1("y")


def test_too_many_rows_are_not_kept(monkeypatch):
    monkeypatch.setattr("discern.evaluation.several.evaluation.MOST_KEPT", 5)
    part = MultilabelEvaluation.of([["a"], ["b"]], [["a"], ["b"]], [[0.9, 0.2], [0.1, 0.8]], "ab")
    both = part + part
    assert both.parts is None
    assert both.f1() == 1.0
    assert both.intervals().keys() == part.intervals().keys()
    with pytest.raises(ValueError, match="evaluate fewer rows"):
        both.at(0.5)


def test_a_label_may_have_the_name_of_an_average():
    evaluation = MultilabelEvaluation.of([["micro"], []], [[], []], [[0.9], [0.1]], ["micro"])
    assert (evaluation.f1("micro"), evaluation.recall("macro")) == (0, 0)


def test_tables_are_shown():
    truth = np.eye(40, dtype=bool)
    evaluation = MultilabelEvaluation.of(truth, truth, truth * 0.9, [f"<l{place}>" for place in range(40)])
    assert "and 10 more labels" in str(evaluation)
    shown = evaluation._repr_html_()
    assert "&lt;l1&gt;" in shown
    assert "<l1>" not in shown


def test_sets_of_labels():
    names, table = label_sets([[1.0, True, "a"], ["a", "a"], []])
    assert names == ("1", "a", "true")
    assert table.sum(axis=1).tolist() == [3, 1, 0]
    rows = MultilabelRows.of([[1, 0], [0, 1]], [[1, 0], [1, 1]], [[0.5, 0.4], [0.1, 0.9]], ["z", "a"])
    assert rows.true.toarray().tolist() == [[False, True], [True, False]]
    assert rows.probabilities.tolist() == [[0.4, 0.5], [0.9, 0.1]]
    assert Ranking.of([0.5], [True]).positive_rows == 1


def test_a_label_that_no_row_has_gets_the_threshold_of_all():
    """The most F1 of a label that is hardly ever true would be to predict it of every row."""
    random = np.random.default_rng(0)
    shares = np.hstack([random.random((1000, 2)), random.random((1000, 1)) / 1000])
    truth = np.hstack([random.random((1000, 2)) < shares[:, :2], np.zeros((1000, 1), bool)])
    found = choose_thresholds(shares, truth, ["often", "too", "never"])
    assert "never" not in found.labels
    assert not found(shares, ["often", "too", "never"])[:, 2].any()
