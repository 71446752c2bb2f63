"""Fits of the same rows with several penalties at once, against plain fits."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

from discern import LogisticRegression, LogisticRegressionCV
from discern.learners.logistic.fitting import fit_logistic
from discern.learners.logistic.objective import PenalizedLoss
from discern.learners.logistic.rows import LabeledRows
from discern.learners.logistic.sums import sums_of
from discern.learners.logistic.together import fit_together, sums_together
from discern.learners.newton import Inverse

QUIET = {"scoring": "neg_log_loss", "use_legacy_attributes": False, "l1_ratios": (0.0,)}


def labeled(rows: int, columns: int, classes: int, seed: int = 0) -> LabeledRows:
    random = np.random.default_rng(seed)
    X = random.standard_normal((rows, columns))
    y = (X @ random.standard_normal((columns, classes)) + random.gumbel(size=(rows, classes))).argmax(axis=1)
    y[:classes] = np.arange(classes)
    return LabeledRows(X, y.astype(np.int32), classes)


@pytest.mark.parametrize("classes", [2, 3, 10])
@pytest.mark.parametrize("form", ["rows", "columns", "narrow"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_sums_at_several_points_are_those_at_each(classes, form, weighted, intercept):
    rows = labeled(700, 30, classes)
    random = np.random.default_rng(1)
    table = {"rows": rows.table, "columns": np.asfortranarray(rows.table), "narrow": rows.table.astype(np.float32)}[
        form
    ]
    weights = random.integers(0, 3, 700).astype(float) if weighted else None
    rows = replace(rows, table=table, weights=weights, intercept=intercept)
    points = random.standard_normal((4, rows.outputs, rows.columns))
    losses, gradients = sums_together(rows, points)
    for place, point in enumerate(points):
        alone = sums_of(rows, point, hessian=False)
        np.testing.assert_allclose(losses[place], alone.loss, rtol=1e-12)
        np.testing.assert_allclose(gradients[place], alone.gradient, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("classes", [2, 4])
def test_fits_together_are_the_fits_alone_or_say_that_they_are_not(classes):
    rows = labeled(400, 8, classes)
    ridges = [np.append(np.full(8, strength), 0.0) for strength in (0.1, 1.0, 100.0)]
    alone = [fit_logistic(rows, ridge, tol=1e-10).coefficients for ridge in ridges]
    inverses = [
        Inverse.of(PenalizedLoss(rows, ridge).at(at).hessian, rows.outputs)
        for ridge, at in zip(ridges, alone, strict=True)
    ]
    near = [lambda right, own=own: own.solve(right.ravel()).reshape(right.shape) for own in inverses]
    scale = PenalizedLoss(rows, np.zeros(9)).scale
    moves = np.random.default_rng(0).normal(0, 0.05, alone[0].shape)
    starts = [at + moves - moves.mean(axis=0) * (classes > 2) for at in alone]
    for fit, expected in zip(fit_together(rows, ridges, starts, near, scale, 1e-8), alone, strict=True):
        assert fit.convergence.converged
        found = fit.coefficients - fit.coefficients.mean(axis=0) * (classes > 2)
        np.testing.assert_allclose(found[:, -1], (expected - expected.mean(axis=0) * (classes > 2))[:, -1], atol=1e-5)
        np.testing.assert_allclose(fit.coefficients[:, :-1], expected[:, :-1], atol=1e-5)
    wild = [lambda right: 10.0 * right] * 3
    assert not any(fit.convergence.converged for fit in fit_together(rows, ridges, starts, wild, scale, 1e-8))


@pytest.mark.parametrize(("rows", "columns", "classes"), [(3000, 40, 2), (600, 150, 2), (1500, 30, 6)])
def test_folds_reach_the_optimum_for_weak_and_strong_penalties(rows, columns, classes):
    data = labeled(rows, columns, classes, seed=2)
    X, y = data.table * 10.0 ** np.linspace(-1, 1, columns), data.classes
    model = LogisticRegressionCV(**{**QUIET, "Cs": [1e-4, 1e-2, 1.0, 1e2, 1e4], "scoring": "neg_log_loss"}).fit(X, y)
    for fold, (train, test) in enumerate(StratifiedKFold(5).split(X, y)):
        for place, C in enumerate(model.Cs_):
            plain = LogisticRegression(C=C, tol=1e-9).fit(X[train], y[train])
            expected = -log_loss(y[test], plain.predict_proba(X[test]), labels=plain.classes_)
            # Separated rows are nearly without curvature there: a small gradient is still far from the optimum.
            accuracy = 1e-4 if C < 1e4 else 2e-3
            np.testing.assert_allclose(model.scores_[fold, 0, place], expected, rtol=accuracy)
