"""Discriminants small enough to compute by hand."""

import numpy as np
import pytest

from discern import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis, RidgeClassifier


def test_linear_by_hand():
    # Means 2 and 8, pooled variance (2 + 2) / (4 − 2) = 2: log odds 3x − (64 − 4)/4 = 3x − 15.
    model = LinearDiscriminantAnalysis().fit([[1], [3], [7], [9]], ["a", "a", "b", "b"])
    assert model.covariance_.tolist() == [[2.0]]
    assert model.coef_.ravel().tolist() == pytest.approx([3.0])
    assert model.intercept_.tolist() == pytest.approx([-15.0])
    assert model.predict_proba([[4]])[0, 1] == pytest.approx(1 / (1 + np.exp(3)))
    # By maximum likelihood the variance is 4/4 = 1, and the log odds are doubled.
    likely = LinearDiscriminantAnalysis(divisor="likelihood").fit([[1], [3], [7], [9]], ["a", "a", "b", "b"])
    assert likely.decision_function([[4]]).tolist() == pytest.approx([-6.0])
    # Priors of 0.8 and 0.2 add log 1/4.
    tilted = LinearDiscriminantAnalysis(priors=[0.8, 0.2]).fit([[1], [3], [7], [9]], ["a", "a", "b", "b"])
    assert tilted.decision_function([[4]]).tolist() == pytest.approx([-3.0 + np.log(0.25)])


def test_quadratic_by_hand():
    # Means 2 and 7, variances 2 and 8: log odds −½ log 4 − (x−7)²/16 + (x−2)²/4.
    model = QuadraticDiscriminantAnalysis().fit([[1], [3], [5], [9]], ["a", "a", "b", "b"])
    assert [covariance.tolist() for covariance in model.covariance_] == [[[2.0]], [[8.0]]]
    assert model.decision_function([[3]]).tolist() == pytest.approx([-np.log(2) - 1 + 0.25])


def test_canonical_variates_by_hand():
    # Three means on a line, and noise across it: one direction holds all, and variates have variance 1 within classes.
    rows = np.array([[mean + one, other] for mean in (0, 4, 8) for one in (-1, 1) for other in (-2, 2)], float)
    model = LinearDiscriminantAnalysis().fit(rows, np.arange(12) // 4)
    assert model.explained_variance_ratio_.tolist() == pytest.approx([1.0, 0.0], abs=1e-12)
    # The variance along is 12 / (12 − 3) = 4/3: neighboring means are 4 / √(4/3) = √12 apart.
    means = model.transform(rows)[:, 0].reshape(3, 4).mean(axis=1)
    assert np.abs(np.diff(means)).tolist() == pytest.approx([np.sqrt(12)] * 2)


def test_least_squares_by_hand():
    # Targets −1, −1, 1, 1 on 0, 1, 3, 4: slope Σ(x−2)y / (Σ(x−2)² + α) = 6 / (10 + α), through (2, 0).
    for alpha in (0.0, 2.0):
        model = RidgeClassifier(alpha).fit([[0], [1], [3], [4]], ["a", "a", "b", "b"])
        assert model.coef_.tolist() == pytest.approx([6 / (10 + alpha)])
        assert model.intercept_.tolist() == pytest.approx([-12 / (10 + alpha)])
