"""Maps from scores to probabilities: what they minimize is minimal, and what others give."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.calibration import _SigmoidCalibration
from sklearn.isotonic import IsotonicRegression

from discern.evaluation.calibration import (
    METHODS,
    GaussianMap,
    IsotonicMap,
    LogisticMap,
    OneAgainstRest,
    Temperature,
    calibrate,
    calibration_from_json,
)
from discern.evaluation.scaling import USUAL, EvidenceScaling, Scale
from discern.learners.bayes import posterior


def overlapping(rows, seed=0, scale=1.0):
    random = np.random.default_rng(seed)
    positive = random.random(rows) < 0.4
    return scale * (random.normal(0.0, 1.0, rows) + np.where(positive, 1.0, -0.5)), positive


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("weighted", [False, True])
def test_logistic_equals_the_reference(scale, weighted):
    scores, positive = overlapping(500, scale=scale)
    weights = np.random.default_rng(1).integers(1, 4, 500).astype(float) if weighted else None
    ours = LogisticMap.fit(scores, positive, weights)
    theirs = _SigmoidCalibration().fit(scores, positive.astype(int), weights)
    np.testing.assert_allclose(ours(scores), theirs.predict(scores), atol=1e-4)
    # Theirs stops early; at the minimum the gradient is zero.
    weights = np.ones(500) if weights is None else weights
    plus, minus = weights[positive].sum(), weights[~positive].sum()
    residual = weights * (ours(scores) - np.where(positive, (plus + 1) / (plus + 2), 1 / (minus + 2)))
    assert abs(residual.sum()) < 1e-9 * weights.sum()
    assert abs(residual @ scores) < 1e-9 * weights.sum() * scale


def test_separable_scores_have_a_finite_logistic_map():
    fitted = LogisticMap.fit(np.array([-1.0, 1.0] * 50), np.array([False, True] * 50))
    np.testing.assert_allclose(fitted(np.array([-1.0, 1.0])), [1 / 52, 51 / 52], rtol=1e-9)


@pytest.mark.parametrize("ties", [False, True])
def test_isotonic_equals_the_reference(ties):
    scores, positive = overlapping(400)
    scores = np.round(scores, 1) if ties else scores
    weights = np.random.default_rng(2).random(400)
    ours = IsotonicMap.fit(scores, positive, weights)
    theirs = IsotonicRegression(out_of_bounds="clip").fit(scores, positive, weights)
    places = np.linspace(-4, 4, 333)
    np.testing.assert_allclose(ours(places), theirs.predict(places), atol=1e-12)


def test_gaussian_is_bayes_rule():
    scores, positive = overlapping(300)
    fitted = GaussianMap.fit(scores, positive)
    places = np.linspace(-3, 3, 13)

    def joint(of_class):
        mean, variance = scores[of_class].mean(), scores[of_class].var()
        return of_class.mean() * np.exp(-((places - mean) ** 2) / (2 * variance)) / np.sqrt(variance)

    np.testing.assert_allclose(fitted(places), joint(positive) / (joint(positive) + joint(~positive)), rtol=1e-12)


PRIOR = np.log([0.6, 0.2, 0.15, 0.05])


def many_classes(rows, seed=0, factor=1.0, power=0.0, fading=0.0):
    """Evidence that is right when divided by factor · length^power, beside a prior divided by 1 + fading · length."""
    random = np.random.default_rng(seed)
    lengths = random.integers(1, 300, rows)
    evidence = random.normal(0.0, 2.0, (rows, 4))
    chances = np.exp(log_softmax(PRIOR / (1 + fading * lengths)[:, None] + evidence, axis=1))
    classes = (chances.cumsum(axis=1) < random.random((rows, 1))).sum(axis=1).clip(0, 3)
    return evidence * factor * (lengths**power)[:, None], classes, lengths


def fit_one(evidence, classes, lengths):
    scaling = EvidenceScaling.fit(PRIOR, [evidence], [lengths], classes)
    [scale] = scaling.scales
    return scaling, scale


@pytest.mark.parametrize(("factor", "power"), [(1.0, 0.1), (0.02, 0.3), (40.0, 0.5), (3.0, 0.9)])
@pytest.mark.parametrize("fading", [0.002, 0.05, 0.3])
def test_temperature_power_and_fading_are_recovered(factor, power, fading):
    _, scale = fit_one(*many_classes(20_000, factor=factor, power=power, fading=fading))
    assert scale.power == pytest.approx(power, abs=0.04)
    assert np.log(scale.temperature * 100**scale.power) == pytest.approx(np.log(factor * 100**power), abs=0.05)
    # How much of the prior is left is what can be seen in the rows.
    lengths = np.array([3, 30, 100, 300])
    np.testing.assert_allclose(1 / (1 + scale.fading * lengths), 1 / (1 + fading * lengths), atol=0.08)


@pytest.mark.parametrize("factor", [1e-3, 1.0, 1e3])
def test_the_scaling_of_evidence_minimizes_the_log_loss(factor):
    evidence, classes, lengths = many_classes(500, 3, factor, 0.5, 0.02)
    other, more = many_classes(500, 4, 1.0, 0.2)[0], np.random.default_rng(5).integers(0, 5, 500)
    scaling = EvidenceScaling.fit(PRIOR, [evidence, other], [lengths, more], classes)
    wrong = 1 / 502
    targets = np.full(evidence.shape, wrong / 3)
    targets[np.arange(500), classes] = 1 - wrong

    def loss(parameters):
        scales = tuple(
            Scale(np.exp(level), 1 / (1 + np.exp(-power)), np.exp(fading)) for level, power, fading in parameters
        )
        scores = EvidenceScaling(scales)(PRIOR, [evidence, other], [lengths, more])
        penalty = 0.5 / 500 * ((parameters - np.array(USUAL)) ** 2).sum()
        return -(targets * log_softmax(scores, axis=1)).sum(axis=1).mean() + penalty

    found = np.array(
        [
            [np.log(one.temperature), np.log(one.power) - np.log1p(-one.power), np.log(one.fading)]
            for one in scaling.scales
        ]
    )
    best = minimize(
        lambda flat: loss(flat.reshape(2, 3)), found.ravel(), method="Nelder-Mead", options={"maxfev": 4000}
    )
    assert loss(found) <= best.fun + 1e-6


def test_a_power_outside_its_bounds_stops_there():
    _, scale = fit_one(*many_classes(3000, factor=1.0, power=1.4))
    assert 0.97 < scale.power <= 1.0
    _, scale = fit_one(*many_classes(3000, factor=1.0, power=-0.4))
    assert 0.0 <= scale.power < 0.03


@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.integers(1, 40), st.integers(1, 3))
def test_no_evidence_gives_the_prior(seed, width, rows, groups):
    random = np.random.default_rng(seed)
    prior = np.log(random.dirichlet(np.ones(width)))
    evidence = [random.normal(0.0, 10.0 ** random.integers(-3, 4), (rows, width)) for _ in range(groups)]
    lengths = [random.integers(0, 50, rows) for _ in range(groups)]
    scaling = EvidenceScaling.fit(prior, evidence, lengths, random.integers(0, width, rows))
    nothing = scaling(prior, [np.zeros((1, width))] * groups, [np.zeros(1)] * groups)
    np.testing.assert_allclose(posterior(nothing)[0], np.exp(prior), atol=1e-9)
    assert np.isfinite(scaling(prior, evidence, lengths)).all()
    assert EvidenceScaling.from_json(json.loads(json.dumps(scaling.to_json()))) == scaling


def test_scales_are_checked():
    for wrong in ((0.0, 0.5, 0.0), (1.0, 1.5, 0.0), (1.0, 0.5, -1.0), (float("nan"), 0.5, 0.0)):
        with pytest.raises(ValueError, match="temperature must be above 0"):
            Scale(*wrong)


@pytest.mark.parametrize("factor", [1e-3, 1.0, 1e3])
def test_temperature_minimizes_the_log_loss(factor):
    scores, classes, _ = many_classes(500, 3, factor, 0.0)
    wrong = 1 / 502
    targets = np.full(scores.shape, wrong / 3)
    targets[np.arange(500), classes] = 1 - wrong
    fitted = Temperature.fit(scores, classes)

    def loss(step):
        return -(targets * log_softmax(scores / (fitted.temperature * np.exp(step)), axis=1)).sum(axis=1).mean()

    line = [loss(step) for step in (-1e-3, 0.0, 1e-3)]
    assert line[1] == min(line)


def test_scores_that_are_always_right_do_not_become_certainty():
    classes = np.arange(100) % 2
    fitted = Temperature.fit(np.where(classes == 1, 5.0, -5.0), classes)
    np.testing.assert_allclose(fitted(np.array([5.0]))[0, 1], 1 - 1 / 102, rtol=1e-6)


def test_impossible_classes_stay_impossible():
    scores = np.array([[0.0, -np.inf], [-1.0, 0.0], [0.0, -3.0], [-np.inf, -np.inf]])
    fitted = Temperature.fit(scores, np.array([0, 1, 1, 0]))
    assert fitted(scores)[[0, 3]].tolist() == [[1.0, 0.0], [0.5, 0.5]]


@pytest.mark.parametrize("method", METHODS)
@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.integers(1, 40))
def test_probabilities_add_up_and_survive_a_file(method, seed, width, rows):
    random = np.random.default_rng(seed)
    scores = random.normal(0.0, 1.0, (rows, width)) * 10.0 ** random.integers(-9, 9)
    classes = random.integers(0, width, rows)
    fitted = calibrate(method, scores, classes, random.random(rows) + 0.1)
    chances = fitted(np.vstack([scores, 100 * scores]))
    np.testing.assert_allclose(chances.sum(axis=1), 1.0, rtol=1e-9)
    assert chances.min() >= 0
    again = calibration_from_json(json.loads(json.dumps(fitted.to_json())))
    assert again == fitted
    np.testing.assert_array_equal(again(scores), fitted(scores))


@pytest.mark.parametrize("method", METHODS)
def test_weights_are_repetitions(method):
    scores, positive = overlapping(60)
    weights = np.arange(60) % 3
    repeated = calibrate(method, scores.repeat(weights), positive.repeat(weights))
    weighted = calibrate(method, scores, positive, weights.astype(float))
    np.testing.assert_allclose(weighted(scores), repeated(scores), atol=1e-9)


def test_where_every_class_gets_nothing_all_get_the_same():
    fitted = OneAgainstRest(tuple(IsotonicMap((0.0, 1.0), (0.0, 1.0)) for _ in range(3)))
    assert fitted(np.zeros((1, 3))).tolist() == [[1 / 3] * 3]


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="a class each"):
        calibrate("logistic", np.zeros(3), np.zeros(2))
    with pytest.raises(ValueError, match="not a number"):
        calibrate("temperature", np.array([np.nan]), np.array([0]))
    with pytest.raises(ValueError, match="from 0 to 1"):
        Temperature.fit(np.zeros((2, 2)), np.array([0, 2]))
    with pytest.raises(ValueError, match="not all 0"):
        calibrate("isotonic", np.zeros(2), np.array([0, 1]), np.zeros(2))
    with pytest.raises(ValueError, match="one of gaussian"):
        calibrate("sigmoid", np.zeros(2), np.array([0, 1]))
    with pytest.raises(ValueError, match="from 1e-131"):
        Temperature.from_json({"temperature": float("nan")})
    with pytest.raises(ValueError, match="one number"):
        Temperature.from_json({"temperature": 1.0, "power": 0.5})
    with pytest.raises(ValueError, match="unknown calibration"):
        calibration_from_json({"kind": "one-against-rest", "maps": [{"kind": "other"}]})
