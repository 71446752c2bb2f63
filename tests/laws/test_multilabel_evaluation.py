"""What holds of evaluations of several labels a row: parts add up, dense is sparse, order does not matter."""

import json

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from discern.evaluation.several import sums
from discern.evaluation.several.evaluation import MultilabelEvaluation
from discern.evaluation.several.thresholds import Thresholds

NAMES = ["a", "b", "c", "d"]
shares = st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]) | st.floats(0, 1, allow_subnormal=False)
sets = st.sets(st.sampled_from([*NAMES, "unseen", "zebra"]))


@st.composite
def predicted_rows(draw, least=0):
    rows = draw(st.integers(least, 12))
    table = draw(st.lists(st.lists(shares, min_size=4, max_size=4), min_size=rows, max_size=rows))
    true, decided = (draw(st.lists(sets, min_size=rows, max_size=rows)) for _ in range(2))
    return true, [row - {"unseen", "zebra"} for row in decided], np.array(table).reshape(rows, 4)


def evaluated(rows, chosen=None, columns=(0, 1, 2, 3)):
    true, decided, table = rows
    places = range(len(true)) if chosen is None else chosen
    columns = list(columns)
    return MultilabelEvaluation.of(
        [true[place] for place in places],
        [decided[place] for place in places],
        table[np.ix_(list(places), columns)],
        [NAMES[column] for column in columns],
    )


@given(predicted_rows(), st.data())
def test_parts_in_any_order_add_up_to_the_whole(rows, data):
    whole = evaluated(rows)
    numbers = data.draw(st.permutations(range(whole.rows)))
    cut = data.draw(st.integers(0, whole.rows))
    total = evaluated(rows, numbers[:cut]) + evaluated(rows, numbers[cut:], (3, 1, 0, 2))
    assert total == whole
    assert json.dumps(total.to_dict()) == json.dumps(whole.to_dict())
    if whole.size:
        assert total.at(0.3) == whole.at(0.3)


@given(predicted_rows(), st.integers(1, 4))
def test_parts_of_models_with_other_labels_add_up(rows, cut):
    """A label that a model does not know has probability 0, as if it were a column of zeros."""
    true, decided, table = rows
    table = np.where(np.arange(4) < 3, table, 0.0)
    narrow = [row - {"d"} for row in decided]
    first, last = range(min(cut, len(true))), range(min(cut, len(true)), len(true))
    parts = evaluated((true, narrow, table), first, (0, 1, 2)) + evaluated((true, narrow, table), last)
    whole = evaluated((true, narrow, table))
    assert parts.by_label == whole.by_label
    for name in ("ranking_precision", "coverage", "log_loss", "hamming_loss", "exact_match"):
        assert getattr(parts, name) == getattr(whole, name)


@given(predicted_rows())
def test_sparse_tables_are_the_same(rows):
    true, decided, table = rows
    known = [row & set(NAMES) for row in true]
    truth, guess = (
        np.array([[name in row for name in NAMES] for row in side]).reshape(-1, 4) for side in (known, decided)
    )
    dense = MultilabelEvaluation.of(truth, guess, table, NAMES)
    packed = [scipy.sparse.csr_array(each) for each in (truth, guess, table)]
    assert MultilabelEvaluation.of(*packed, NAMES) == dense == evaluated((known, decided, table))
    assert MultilabelEvaluation.of(packed[0].tocsc(), packed[1].astype(int), packed[2].tocoo(), NAMES) == dense


@given(predicted_rows(least=1))
def test_blocks_do_not_matter(rows):
    whole = evaluated(rows)
    known = [row & set(NAMES) for row in rows[0]]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sums, "MOST_CELLS", 3)
        assert evaluated(rows) == whole
        patch.setattr(sums, "MANY_LABELS", 0)
        assert evaluated(rows) == whole
        truth = np.array([[name in row for name in NAMES] for row in known])
        packed = MultilabelEvaluation.of(truth, rows[1], scipy.sparse.csr_array(rows[2]), NAMES)
    assert packed == evaluated((known, rows[1], rows[2]))


@given(predicted_rows(), st.floats(0.01, 1), st.floats(0.01, 1), st.booleans(), st.none() | st.integers(1, 4))
def test_thresholds_decide_as_a_loop_does(rows, one, common, least, most):
    table = rows[2]
    decision = Thresholds(("b",), (one,), common, least, most)
    decided = decision(table, NAMES)
    for shares_of, found in zip(table.tolist(), decided.tolist(), strict=True):
        order = sorted(range(4), key=lambda place: (-shares_of[place], place))
        reached = [place for place in order if shares_of[place] >= (one if place == 1 else common)][:most]
        if least and not reached:
            reached = order[:1]
        assert {place for place in range(4) if found[place]} == set(reached)
    packed = decision(scipy.sparse.csr_array(table), NAMES)
    assert packed.toarray().tolist() == decided.tolist()
    assert Thresholds.from_json(json.loads(json.dumps(decision.to_json()))) == decision


def test_many_labels_stay_sparse():
    random = np.random.default_rng(0)
    rows, labels = 100_000, 10_000
    starts = np.arange(0, 3 * rows + 1, 3)

    def table(values):
        columns = (random.integers(0, labels // 3, 3 * rows) * 3 + np.tile(np.arange(3), rows)).astype(np.int64)
        made = scipy.sparse.csr_array((values, columns, starts), (rows, labels))
        made.sort_indices()
        return made

    names = [f"{place:05}" for place in range(labels)]
    truth, shared = table(np.ones(3 * rows, bool)), table(random.random(3 * rows))
    evaluation = MultilabelEvaluation.of(truth, truth, shared, names)
    assert (evaluation.f1(), evaluation.exact_match, evaluation.rows) == (1.0, 1.0, rows)
    assert evaluation.ranking_precision == pytest.approx(
        np.mean([_precision(truth, shared, row) for row in range(200)]), abs=0.01
    )


def _precision(truth, shared, row):
    own, table = truth[[row]].toarray()[0], shared[[row]].toarray()[0]
    ranks = [(table >= share).sum() for share in table[own]]
    fellows = [(table[own] >= share).sum() for share in table[own]]
    return np.mean(np.array(fellows) / ranks)
