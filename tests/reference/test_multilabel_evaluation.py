"""Evaluations of several labels a row against scikit-learn."""

import numpy as np
import pytest
import scipy.sparse
import sklearn.metrics as reference
from hypothesis import given
from hypothesis import strategies as st

from discern.evaluation.several.evaluation import MultilabelEvaluation

AVERAGES = ("micro", "macro", "weighted")


@st.composite
def tables(draw):
    """Return truth, predictions and probabilities; some labels never occur, some rows are empty, scores have ties."""
    rows, labels = draw(st.integers(1, 12)), draw(st.integers(2, 6))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    share = draw(st.sampled_from([0.05, 0.3, 0.7]))
    truth, decided = random.random((2, rows, labels)) < share
    shares = random.random((rows, labels))
    if draw(st.booleans()):
        shares = np.round(shares * 4) / 4
    truth[:, draw(st.integers(0, labels - 1))] &= draw(st.booleans())
    return truth, decided, shares


def of(truth, decided, shares):
    return MultilabelEvaluation.of(truth, decided, shares, [f"l{place}" for place in range(truth.shape[1])])


@given(tables(), st.booleans())
def test_figures_equal_the_reference(rows, sparse):
    truth, decided, shares = rows
    pack = scipy.sparse.csr_array if sparse else np.asarray
    evaluation = of(pack(truth), pack(decided), pack(shares))
    for average in AVERAGES:
        precision, recall, f1, _ = reference.precision_recall_fscore_support(
            truth, decided, average=average, zero_division=0.0
        )
        assert evaluation.precision(average) == pytest.approx(precision)
        assert evaluation.recall(average) == pytest.approx(recall)
        assert evaluation.f1(average) == pytest.approx(f1)
    assert evaluation.exact_match == pytest.approx(reference.accuracy_score(truth, decided))
    assert evaluation.hamming_loss == pytest.approx(reference.hamming_loss(truth, decided))
    assert evaluation.ranking_precision == pytest.approx(reference.label_ranking_average_precision_score(truth, shares))
    assert evaluation.coverage == pytest.approx(reference.coverage_error(truth, shares))


@given(tables())
def test_figures_of_labels_equal_the_reference(rows):
    truth, decided, shares = rows
    evaluation = of(truth, decided, np.clip(shares, 1e-6, 1 - 1e-6))
    table = reference.precision_recall_fscore_support(truth, decided, zero_division=0.0)
    for place, found in enumerate(evaluation.per_label().values()):
        expected = [column[place] for column in table]
        assert [found[name] for name in ("precision", "recall", "f1", "rows")] == pytest.approx(expected)
        loss = reference.log_loss(truth[:, place], np.clip(shares[:, place], 1e-6, 1 - 1e-6), labels=[False, True])
        assert found["log_loss"] == pytest.approx(loss)
    losses = [found["log_loss"] for found in evaluation.per_label().values()]
    assert evaluation.log_loss == pytest.approx(np.mean(losses))


def test_rankings_equal_the_reference():
    random = np.random.default_rng(3)
    shares = random.random((300, 4))
    truth = random.random((300, 4)) < shares
    for table in (shares, scipy.sparse.csr_array(shares)):
        evaluation = of(truth, shares >= 0.5, table)
        areas = reference.roc_auc_score(truth, shares, average=None)
        assert [evaluation.auc(label) for label in evaluation.labels] == pytest.approx(areas)
        assert evaluation.auc() == pytest.approx(np.mean(areas))
        assert evaluation.ranking("l2").average_precision == pytest.approx(
            reference.average_precision_score(truth[:, 2], shares[:, 2])
        )


def test_the_calibration_error_is_that_of_each_label():
    random = np.random.default_rng(4)
    shares = random.random((500, 3))
    truth = random.random((500, 3)) < shares**2
    evaluation = of(truth, shares >= 0.5, shares)
    for place, figures in enumerate(evaluation.per_label().values()):
        own, bins = shares[:, place], np.clip((shares[:, place] * 15).astype(int), 0, 14)
        gaps = [abs(truth[bins == b, place].sum() - own[bins == b].sum()) for b in range(15)]
        assert figures["calibration_error"] == pytest.approx(sum(gaps) / 500)
    assert evaluation.calibration("l1").error == pytest.approx(evaluation.per_label()["l1"]["calibration_error"])


def test_intervals_agree_with_the_bootstrap():
    random = np.random.default_rng(5)
    weights = random.random((400, 1)) * 2
    shares = np.clip(random.random((400, 5)) * weights, 0, 1)
    truth = random.random((400, 5)) < shares
    evaluation = of(truth, shares >= 0.4, np.clip(shares, 0.01, 0.99))
    for name in ("f1", "precision", "recall", "hamming_loss", "log_loss", "exact_match"):
        value = getattr(evaluation, name)
        drawn = evaluation.bootstrap(lambda part, name=name: _value(part, name), samples=400)
        mine = evaluation.intervals()[name]
        assert (value() if callable(value) else value) in mine
        assert mine.high - mine.low == pytest.approx(drawn.high - drawn.low, rel=0.2)


def _value(evaluation, name):
    value = getattr(evaluation, name)
    return value() if callable(value) else value
