"""Evaluations against scikit-learn and SciPy."""

import numpy as np
import pytest
import scipy.stats
import sklearn.metrics as reference

from discern.evaluation.curves import Ranking
from discern.evaluation.evaluation import BINS, Evaluation
from discern.evaluation.significance import bootstrap, corrected_resampled_t, mcnemar, wilson


def scored_rows(classes, rows=400, seed=3, ties=False):
    random = np.random.default_rng(seed)
    scores = random.normal(size=(rows, classes))
    true = (scores + random.normal(size=scores.shape)).argmax(axis=1)
    shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    shares = np.round(shares, 1) + 0.01 if ties else shares
    return true, shares / shares.sum(axis=1, keepdims=True)


@pytest.fixture(params=[(2, False), (2, True), (5, False), (5, True)], ids=str)
def rows(request):
    true, shares = scored_rows(request.param[0], ties=request.param[1])
    return true, shares, Evaluation.of(true, shares.argmax(axis=1), shares, range(shares.shape[1]))


def test_figures_equal_the_reference(rows):
    true, shares, evaluation = rows
    decided = shares.argmax(axis=1)
    assert evaluation.matrix("true-predicted").tolist() == reference.confusion_matrix(true, decided).tolist()
    assert evaluation.accuracy == pytest.approx(reference.accuracy_score(true, decided))
    assert evaluation.log_loss == pytest.approx(reference.log_loss(true, shares), rel=1e-12)
    assert evaluation.mcc == pytest.approx(reference.matthews_corrcoef(true, decided))
    brier = reference.brier_score_loss(true, shares, scale_by_half=False)
    assert evaluation.brier == pytest.approx(brier, rel=1e-12)
    for average in ("macro", "micro", "weighted"):
        theirs = reference.precision_recall_fscore_support(true, decided, average=average)[:3]
        assert [evaluation.precision(average), evaluation.recall(average), evaluation.f1(average)] == pytest.approx(
            theirs
        )
    every = reference.precision_recall_fscore_support(true, decided)
    for index, figures in enumerate(evaluation.per_label().values()):
        assert [figures[name] for name in ("precision", "recall", "f1", "rows")] == pytest.approx(
            [row[index] for row in every]
        )
        assert figures["false_negative_rate"] == pytest.approx(1 - figures["recall"])
        others = true != index
        assert figures["false_positive_rate"] == pytest.approx((decided[others] == index).mean())
        assert figures["specificity"] == pytest.approx((decided[others] != index).mean())


def test_areas_equal_the_reference(rows):
    true, shares, evaluation = rows
    if shares.shape[1] == 2:
        assert evaluation.auc() == pytest.approx(reference.roc_auc_score(true, shares[:, 1]), rel=1e-12)
    assert evaluation.auc("rest") == pytest.approx(
        np.mean([reference.roc_auc_score(true == label, shares[:, label]) for label in range(shares.shape[1])])
    )
    if shares.shape[1] > 2:
        theirs = reference.roc_auc_score(true, shares, multi_class="ovo")
        assert evaluation.auc("hand-till") == pytest.approx(theirs, rel=1e-12)
    for label in range(shares.shape[1]):
        theirs = reference.average_precision_score(true == label, shares[:, label])
        assert evaluation.ranking(str(label)).average_precision == pytest.approx(theirs)


def test_curves_equal_the_reference(rows):
    true, shares, evaluation = rows
    for label in range(shares.shape[1]):
        truth, scores = true == label, shares[:, label]
        roc = evaluation.roc(str(label))
        for ours, theirs in zip(
            (roc.x, roc.y, roc.thresholds), reference.roc_curve(truth, scores, drop_intermediate=False), strict=True
        ):
            np.testing.assert_allclose(ours, theirs)
        curve = evaluation.precision_recall(str(label))
        precision, recall, thresholds = reference.precision_recall_curve(truth, scores)
        np.testing.assert_allclose(curve.y[::-1], precision[:-1])
        np.testing.assert_allclose(curve.x[::-1], recall[:-1])
        np.testing.assert_allclose(curve.thresholds[::-1], thresholds)
        missed = evaluation.detection_error(str(label))
        fpr, fnr, thresholds = reference.det_curve(truth, scores)
        lookup = {
            float(threshold): (x, y) for threshold, x, y in zip(missed.thresholds, missed.x, missed.y, strict=True)
        }
        finite = np.isfinite(thresholds)
        np.testing.assert_allclose([lookup[float(t)] for t in thresholds[finite]], np.column_stack([fpr, fnr])[finite])


def test_cost_curve_is_the_lower_envelope(rows):
    evaluation = rows[2]
    roc, curve = evaluation.roc("1"), evaluation.cost_curve("1")
    every = (1 - roc.y) * curve.x[:, None] + roc.x * (1 - curve.x[:, None])
    np.testing.assert_allclose(curve.y, every.min(axis=1), atol=1e-12)


def test_calibration_by_hand(rows):
    true, shares, evaluation = rows
    confidence, right = shares.max(axis=1), shares.argmax(axis=1) == true
    place = np.minimum((confidence * BINS).astype(int), BINS - 1)
    expected = sum(
        abs(right[place == b].mean() - confidence[place == b].mean()) * (place == b).mean() for b in np.unique(place)
    )
    assert evaluation.calibration_error == pytest.approx(expected)
    assert evaluation.calibration(10).rows.sum() == len(true)


def test_wilson_equals_scipy():
    for part, whole in [(0, 5), (3, 7), (999, 1000), (7, 7)]:
        ours, theirs = wilson(part, whole), scipy.stats.binomtest(part, whole).proportion_ci(method="wilson")
        assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high))


def test_delong_by_its_definition():
    true, shares = scored_rows(2, rows=80, ties=True)
    positive, negative = shares[true == 1, 1][:, None], shares[true == 0, 1]
    kernel = (positive > negative) + 0.5 * (positive == negative)
    expected = kernel.mean(axis=1).var(ddof=1) / len(positive) + kernel.mean(axis=0).var(ddof=1) / len(negative)
    ranking = Ranking.of(shares[:, 1], true == 1)
    assert ranking.auc_variance == pytest.approx(expected)
    interval = ranking.auc_interval()
    assert interval.high - interval.low == pytest.approx(2 * 1.959964 * expected**0.5, rel=1e-6)


def test_mcnemar_equals_the_binomial_test():
    random = np.random.default_rng(1)
    true, first, second = random.integers(0, 2, (3, 200))
    only_first = int(((first == true) & (second != true)).sum())
    differing = int((first != second).sum())
    assert mcnemar(true, first, second).p_value == pytest.approx(scipy.stats.binomtest(only_first, differing).pvalue)
    plain = mcnemar(true, first, second, exact=False)
    corrected = (abs(2 * only_first - differing) - 1) ** 2 / differing
    assert plain.p_value == pytest.approx(scipy.stats.chi2(1).sf(corrected))


def test_corrected_t_widens_the_plain_one():
    differences = [0.01, 0.03, -0.01, 0.02, 0.04, 0.0]
    plain = scipy.stats.ttest_1samp(differences, 0)
    corrected = corrected_resampled_t(differences, 90, 10)
    assert corrected.statistic == pytest.approx(plain.statistic * np.sqrt((1 / 6) / (1 / 6 + 1 / 9)))
    assert corrected.p_value == pytest.approx(2 * scipy.stats.t(5).sf(abs(corrected.statistic)))


def test_bootstrap_of_a_mean_is_near_the_normal_interval():
    values = np.random.default_rng(0).normal(size=300)
    interval = bootstrap(300, lambda chosen: values[chosen].mean())
    reach = 1.96 * values.std() / np.sqrt(300)
    assert (interval.low, interval.high) == pytest.approx((values.mean() - reach, values.mean() + reach), abs=0.02)


def test_intervals_cover(rows):
    true, shares, evaluation = rows
    intervals = evaluation.intervals()
    for name, interval in intervals.items():
        value = {"auc": evaluation.auc()}.get(name)
        value = getattr(evaluation, name) if value is None else value
        assert (value() if callable(value) else value) in interval
    losses = -np.log(shares[np.arange(len(true)), true])
    reach = 1.959964 * losses.std(ddof=1) / np.sqrt(len(true))
    assert intervals["log_loss"].high == pytest.approx(losses.mean() + reach)


def test_texts_lists_and_arrays_are_the_same():
    true, shares = scored_rows(2)
    names = np.array(["ham", "spam"])
    forms = [names[true], names[true].tolist(), names[true].astype(object), [np.str_(name) for name in names[true]]]
    first = Evaluation.of(forms[0], forms[0], shares, names)
    assert all(Evaluation.of(form, form, shares, names) == first for form in forms)
    truth = Evaluation.of(true == 1, true == 1, shares, [False, True])
    assert truth.labels == ("false", "true")
    assert Evaluation.of((true * 70000).tolist(), true * 70000, shares, [0, 70000]).labels == ("0", "70000")


def test_too_many_rows_are_not_kept(monkeypatch):
    monkeypatch.setattr("discern.evaluation.evaluation.MOST_KEPT", 20)
    true, shares = scored_rows(2, rows=8)
    small = Evaluation.of(true, true, shares, range(2))
    both = small + small
    assert both.parts is None
    assert both == Evaluation.of(np.tile(true, 2), np.tile(true, 2), np.tile(shares, (2, 1)), range(2))
    assert both.to_dict()["auc"] is None
    assert both.log_loss == small.log_loss
    with pytest.raises(ValueError, match="evaluate fewer rows"):
        both.roc()


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="do not match"):
        Evaluation.of(["a"], ["a", "b"], [[1.0, 0.0]], "ab")
    for wrong in (float("nan"), -0.1, 1.5, float("inf")):
        with pytest.raises(ValueError, match="row 2 has a probability"):
            Evaluation.of("ab", "ab", [[0.5, 0.5], [wrong, 0.5]], "ab")
    one = Evaluation.of(["a", "a"], ["a", "a"], [[1.0, 0.0], [0.5, 0.5]], "ab")
    with pytest.raises(ValueError, match="one kind is missing"):
        one.roc("a")
    with pytest.raises(ValueError, match="unknown label"):
        one.roc("x")
    with pytest.raises(ValueError, match="is NaN"):
        Ranking.of([float("nan"), 1.0], [True, False])
    with pytest.raises(ValueError, match="orientation"):
        one.matrix("sideways")
    assert one.to_dict()["auc"] is None
    assert one.cost([[0, 1], [5, 0]]) == 0
