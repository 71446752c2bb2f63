"""Hard margins solved by hand, and proofs that there is none."""

import numpy as np
import pytest
import scipy.sparse

import discern
from discern.learners.margins import MarginSettings, common_mixture, fit_margins

# Rows, labels, and the widest separator with a free intercept: w·x + b.
BY_HAND = {
    # Between two points it is their perpendicular bisector: w = 2(p − n)/‖p − n‖².
    "two points": ([[0, 0], [2, 0]], [0, 1], [1, 0], -1),
    # The third point lies behind: only the nearest of each class matter.
    "three points, one behind": ([[0, 0], [2, 0], [5, 3]], [0, 1, 1], [1, 0], -1),
    # n = (0, 0) against the segment from (2, 0) to (0, 2), whose nearest point is (1, 1).
    "three points, a segment": ([[0, 0], [2, 0], [0, 2]], [0, 1, 1], [1, 1], -1),
    # (0, 0) against (1, 2), (2, 1): nearest point (1.5, 1.5), w = 2p/‖p‖² = (2/3, 2/3).
    "three points, thirds": ([[0, 0], [1, 2], [2, 1]], [0, 1, 1], [2 / 3, 2 / 3], -1),
    # A square, left against right.
    "four points, a square": ([[0, 0], [0, 1], [2, 0], [2, 1]], [0, 0, 1, 1], [1, 0], -1),
    # Two parallel segments at distance √2.
    "four points, diagonal": ([[0, 0], [1, 1], [1, -1], [2, 0]], [0, 0, 1, 1], [1, -1], -1),
    # (3, 1), (3, −1) against (1, 0) and (0, 1): x = 2 half way between (1, 0) and (3, 0); the last is not on the margin.
    "four points, one not needed": ([[3, 1], [3, -1], [1, 0], [0, 1]], [1, 1, 0, 0], [1, 0], -2),
    # In three dimensions: the origin against the triangle of the unit vectors, nearest point (1, 1, 1)/3.
    "four points, a triangle": ([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [0, 1, 1, 1], [2, 2, 2], -1),
}


@pytest.mark.parametrize("name", BY_HAND)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("sparse", [False, True])
def test_hard_margin(name, loss, sparse):
    rows, labels, coef, intercept = BY_HAND[name]
    X = scipy.sparse.csr_array(np.array(rows, float)) if sparse else np.array(rows, float)
    model = discern.LinearSVC(loss=loss, C=float("inf"), penalize_intercept=False).fit(X, labels)
    np.testing.assert_allclose(model.coef_[0], coef, atol=1e-8)
    np.testing.assert_allclose(model.intercept_, intercept, atol=1e-8)
    assert model.certificate_.primal[0] == pytest.approx(0.5 * np.dot(coef, coef), rel=1e-9)
    assert model.certificate_.gap[0] < 1e-9


def test_hard_margin_with_a_penalized_intercept_and_without_one():
    # x = 1 and x = 3 with a constant feature of 1: minimize w² + b² with 3w + b ≥ 1 and −w − b ≥ 1: w = 1, b = −2.
    model = discern.LinearSVC(C=float("inf")).fit([[1.0], [3.0]], [0, 1])
    np.testing.assert_allclose([model.coef_[0, 0], model.intercept_[0]], [1, -2], atol=1e-8)
    # Through the origin: (1, 1) above, (1, −1) below: w = (0, 1).
    model = discern.LinearSVC(C=float("inf"), fit_intercept=False).fit([[1.0, 1.0], [1.0, -1.0]], [1, 0])
    np.testing.assert_allclose(model.coef_, [[0, 1]], atol=1e-8)
    assert model.intercept_ == 0


def test_hard_margin_one_against_the_rest():
    X = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
    model = discern.LinearSVC(C=float("inf"), penalize_intercept=False).fit(X, ["o", "x", "y"])
    np.testing.assert_allclose(model.coef_, [[-0.5, -0.5], [0.5, 0], [0, 0.5]], atol=1e-8)
    np.testing.assert_allclose(model.intercept_, [1, -1, -1], atol=1e-8)


@pytest.mark.parametrize("intercept", [True, False])
def test_points_that_no_line_separates_are_proved_so(intercept):
    square = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    labels = np.array([0, 0, 1, 1])
    options = {"penalize_intercept": False} if intercept else {"fit_intercept": False}
    with pytest.raises(discern.NotSeparableError, match=r"no hyperplane separates class 1 .*finite C") as caught:
        discern.LinearSVC(C=float("inf"), **options).fit(square, labels)
    mixture, signs = caught.value.mixture, np.where(labels == 1, 1, -1)
    assert (mixture >= 0).all()
    assert mixture.sum() == pytest.approx(1)
    np.testing.assert_allclose((mixture * signs) @ square, 0, atol=1e-12)
    if intercept:
        assert (mixture * signs).sum() == pytest.approx(0, abs=1e-12)


def test_a_proof_exists_exactly_when_no_separator_does():
    random = np.random.default_rng(1)
    seen = set()
    for _ in range(40):
        X, signs = random.standard_normal((12, 5)), random.choice([-1.0, 1.0], 12)
        mixture = common_mixture(X, signs, intercept=True)
        seen.add(mixture is None)
        settings = MarginSettings(cost=np.inf, intercept="free", passes=100_000)
        if mixture is None:
            found = fit_margins(X, (signs > 0).astype(int), 2, settings)
            assert (signs * (X @ found.coef[0] + found.intercept[0])).min() >= 1 - 1e-9
        else:
            np.testing.assert_allclose((mixture * signs) @ np.column_stack([X, np.ones(12)]), 0, atol=1e-9)
            with pytest.raises(ValueError, match="no hyperplane"):
                fit_margins(X, (signs > 0).astype(int), 2, settings)
    assert seen == {True, False}


def test_soft_margin_by_hand():
    # One row x = 1 of each class at ±1, no intercept: both have margin w. Hinge with C = 0.3: w = min(1, 2C) = 0.6;
    # squared: w = 4C(1 − w), w = 4C/(1 + 4C) = 6/11.
    X, y = [[1.0], [-1.0]], [1, 0]
    for loss, expected in (("hinge", 0.6), ("squared_hinge", 6 / 11)):
        model = discern.LinearSVC(loss=loss, C=0.3, fit_intercept=False, tol=1e-14).fit(X, y)
        assert model.coef_[0, 0] == pytest.approx(expected, rel=1e-7)
