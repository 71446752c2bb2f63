"""Logistic regression with an L1 penalty: the optimum of scikit-learn's solvers, and the conditions of optimality."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
import sklearn.linear_model
import sklearn.svm
from scipy.special import logsumexp, softmax

import discern


def problem(rows: int, columns: int, classes: int) -> tuple[Any, Any]:
    random = np.random.default_rng(rows + columns)
    X = random.standard_normal((rows, columns)) * random.uniform(0.5, 2.0, columns)
    y = (X[:, :5] @ random.standard_normal((5, classes)) + random.gumbel(size=(rows, classes))).argmax(axis=1)
    y[:classes] = np.arange(classes)
    return X, y


def scores(model: Any, X: Any) -> Any:
    found = np.asarray(X @ model.coef_.T) + model.intercept_
    return np.hstack([np.zeros_like(found), found]) if len(model.coef_) == 1 else found


def objective(model: Any, X: Any, y: Any, w: Any, cost: float, ratio: float, intercept: float = 0.0) -> float:
    """Return the objective; ``intercept`` is the share of the L1 penalty of the intercept."""
    own = scores(model, X)
    loss = w @ (logsumexp(own, axis=1) - own[np.arange(len(y)), y])
    size = ratio * np.abs(model.coef_).sum() + 0.5 * (1 - ratio) * (model.coef_**2).sum()
    return float(cost * loss + size + intercept * np.abs(model.intercept_).sum())


def violation(model: Any, X: Any, y: Any, w: Any, cost: float, ratio: float) -> float:
    """Return the largest violation of the conditions of optimality."""
    residuals = cost * w[:, None] * (softmax(scores(model, X), axis=1) - np.eye(len(model.classes_))[y])
    residuals = residuals[:, -len(model.coef_) :]
    gradient = np.asarray(X.T @ residuals).T + (1 - ratio) * model.coef_
    rest = np.where(
        model.coef_ != 0, np.abs(gradient + ratio * np.sign(model.coef_)), np.maximum(np.abs(gradient) - ratio, 0)
    )
    return float(max(rest.max(), np.abs(residuals.sum(axis=0)).max()))


@pytest.mark.parametrize("classes", [2, 3, 6])
@pytest.mark.parametrize("ratio", [1.0, 0.5])
@pytest.mark.parametrize("cost", [0.05, 1.0])
@pytest.mark.parametrize("form", ["rows", "columns", "narrow", "sparse"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_conditions_of_optimality_hold(classes: int, ratio: float, cost: float, form: str, weighted: bool):
    X, y = problem(150, 40, classes)
    X = X.astype(np.float32).astype(float)
    make: dict[str, Any] = {
        "rows": np.ascontiguousarray,
        "columns": np.asfortranarray,
        "narrow": lambda table: table.astype(np.float32),
        "sparse": scipy.sparse.csr_matrix,
    }
    w = np.random.default_rng(0).integers(0, 3, len(y)).astype(float) if weighted else np.ones(len(y))
    model = discern.LogisticRegression(penalty="elasticnet", l1_ratio=ratio, C=cost)
    model.fit(make[form](X), y, w if weighted else None)
    assert model.convergence_.converged
    accuracy = 1e-4 if form == "narrow" else 1e-6
    assert violation(model, X, y, w, cost, ratio) < accuracy * cost * 150
    assert (model.coef_ == 0).any()


@pytest.mark.parametrize(("rows", "columns"), [(200, 30), (50, 200)])
@pytest.mark.parametrize("cost", [0.1, 1.0, 10.0])
def test_liblinears_optimum(rows: int, columns: int, cost: float):
    X, y = problem(rows, columns, 2)
    peer = sklearn.linear_model.LogisticRegression(
        l1_ratio=1.0, C=cost, solver="liblinear", tol=1e-8, max_iter=10_000, random_state=0
    ).fit(X, y)
    for table in (X, scipy.sparse.csr_matrix(X)):
        model = discern.LogisticRegression(penalty="l1", C=cost, solver="liblinear").fit(table, y)
        mine, theirs = (objective(one, X, y, np.ones(rows), cost, 1.0, intercept=1.0) for one in (model, peer))
        assert mine <= theirs * (1 + 1e-7)
        assert np.array_equal(model.coef_ != 0, peer.coef_ != 0)
        np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-4 * np.abs(peer.coef_).max())


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("ratio", [1.0, 0.3])
def test_sagas_optimum(classes: int, ratio: float):
    X, y = problem(300, 12, classes)
    peer = sklearn.linear_model.LogisticRegression(
        l1_ratio=ratio, solver="saga", tol=1e-7, max_iter=20_000, random_state=0
    ).fit(X, y)
    model = discern.LogisticRegression(l1_ratio=ratio, solver="saga").fit(X, y)
    mine, theirs = (objective(one, X, y, np.ones(300), 1.0, ratio) for one in (model, peer))
    assert mine <= theirs * (1 + 1e-9)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-3)


def test_a_strong_penalty_leaves_the_base_rates():
    X, y = problem(200, 10, 3)
    model = discern.LogisticRegression(penalty="l1", C=1e-6).fit(X, y)
    assert not model.coef_.any()
    np.testing.assert_allclose(model.predict_proba(X[:1])[0], np.bincount(y) / len(y), atol=1e-6)
    with pytest.raises(ValueError, match="no standard errors"):
        model.summary()


def test_a_warm_start_takes_less():
    X, y = problem(300, 60, 2)
    model = discern.LogisticRegression(penalty="l1", C=0.1, warm_start=True).fit(X, y)
    first = model.coef_.copy()
    assert model.fit(X, y).convergence_.iterations <= 1
    np.testing.assert_allclose(model.coef_, first, atol=1e-6)


def test_columns_without_numbers_and_one_row_a_class():
    X = np.array([[0.0, 1.0, 5.0], [0.0, -1.0, 5.0]])
    model = discern.LogisticRegression(penalty="l1", C=10.0).fit(X, [0, 1])
    assert model.coef_[0, 0] == 0
    assert model.predict(X).tolist() == [0, 1]


# ------------------------------------------------------------------------------------------------- squared hinge


def margin_objective(model: Any, X: Any, y: Any, cost: float) -> float:
    total = 0.0
    for place, (weights, intercept) in enumerate(zip(model.coef_, model.intercept_, strict=True)):
        targets = np.where(y == (1 if len(model.coef_) == 1 else place), 1.0, -1.0)
        slack = np.maximum(0.0, 1.0 - targets * (X @ weights + intercept))
        total += float(np.abs(weights).sum() + abs(intercept) + cost * (slack**2).sum())
    return total


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("cost", [0.05, 1.0])
@pytest.mark.parametrize(("rows", "columns"), [(200, 30), (50, 150)])
def test_linear_svc_with_an_l1_penalty(classes: int, cost: float, rows: int, columns: int):
    X, y = problem(rows, columns, classes)
    peer = sklearn.svm.LinearSVC(penalty="l1", dual=False, C=cost, tol=1e-8, max_iter=100_000, random_state=0).fit(X, y)
    for table in (X, scipy.sparse.csr_matrix(X)):
        model = discern.LinearSVC(penalty="l1", C=cost).fit(table, y)
        assert model.certificate_.converged
        mine, theirs = (margin_objective(one, X, y, cost) for one in (model, peer))
        assert mine <= theirs * (1 + 1e-9)
        np.testing.assert_allclose(model.certificate_.primal.sum(), mine, rtol=1e-9)
        np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-4 * max(np.abs(peer.coef_).max(), 1e-3))


def test_linear_svc_with_an_l1_penalty_takes_weights_as_repetitions():
    X, y = problem(60, 20, 2)
    w = np.random.default_rng(0).integers(0, 3, 60)
    for options in ({}, {"fit_intercept": False}, {"penalize_intercept": False}, {"intercept_scaling": 10.0}):
        weighted = discern.LinearSVC(penalty="l1", **options).fit(X, y, w.astype(float))
        repeated = discern.LinearSVC(penalty="l1", **options).fit(X.repeat(w, axis=0), y.repeat(w))
        assert weighted.certificate_.converged
        np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-5)


@pytest.mark.parametrize(
    "options", [{"loss": "hinge"}, {"dual": True}, {"multi_class": "crammer_singer"}, {"C": np.inf}]
)
def test_linear_svc_refuses_what_an_l1_penalty_does_not_go_with(options: dict[str, Any]):
    with pytest.raises(ValueError, match="Unsupported set of arguments: penalty='l1' needs"):
        discern.LinearSVC(penalty="l1", **options).fit([[0.0], [1.0]], [0, 1])


# -------------------------------------------------------------------------------------------------- hard problems


def words(rows: int, columns: int) -> tuple[Any, Any]:
    """Return sparse rows like those of tf–idf, whose columns are there from almost always to almost never."""
    random = np.random.default_rng(columns)
    shares = np.minimum(0.9, 2.0 / np.arange(1, columns + 1) ** 0.7)
    X = (random.random((rows, columns)) < shares) * random.lognormal(0.0, 0.5, (rows, columns))
    X /= np.maximum(np.linalg.norm(X, axis=1), 1e-12)[:, None]
    y = (X @ random.laplace(0, 4.0, columns) + random.logistic(size=rows) > 0).astype(int)
    y[:2] = [0, 1]
    return scipy.sparse.csr_matrix(X), y


@pytest.mark.parametrize("cost", [0.01, 1.0, 30.0, 1000.0, 1e6])
@pytest.mark.parametrize(("rows", "columns"), [(300, 40), (120, 900), (1500, 1500)])
@pytest.mark.parametrize("ratio", [1.0, 0.5])
def test_any_strength_reaches_the_optimum(rows: int, columns: int, cost: float, ratio: float):
    X, y = words(rows, columns)
    weights = np.random.default_rng(0).uniform(0.0, 2.0, rows)
    model = discern.LogisticRegression(l1_ratio=ratio, C=cost, max_iter=1000).fit(X, y, weights)
    assert model.convergence_.converged
    at_zero = cost * np.abs(X.T @ (weights * (0.5 - y))).sum()
    assert violation(model, X, y, weights, cost, ratio) <= 1e-7 * max(at_zero, 1.0)


@pytest.mark.parametrize("cost", [0.1, 10.0, 1000.0])
def test_columns_of_very_different_scale(cost: float):
    X, y = problem(400, 12, 2)
    scales = 10.0 ** np.arange(-6, 6)
    penalty = {"penalty": "l1", "C": cost, "tol": 1e-10, "max_iter": 1000}
    model = discern.LogisticRegression(**penalty).fit(X * scales, y)
    assert model.convergence_.converged
    # A column of great numbers has a small weight, which the penalty hardly feels.
    free = discern.LogisticRegression(penalty=None).fit(X[:, 9:], y)
    assert model.score(X * scales, y) >= free.score(X[:, 9:], y) - 0.01
    gradient = (X * scales).T @ (model.predict_proba(X * scales)[:, 1] - y) * cost
    rest = np.where(model.coef_[0] != 0, gradient + np.sign(model.coef_[0]), np.maximum(np.abs(gradient) - 1, 0))
    assert np.abs(rest / np.maximum(scales, 1.0)).max() < 1e-3 * cost


def test_separated_rows_and_one_wrong_label():
    X = np.linspace(-2, 2, 200)[:, None] + 0.01
    y = (X[:, 0] > 0).astype(int)
    for labels in (y, np.where(np.arange(200) == 3, 1, y)):
        model = discern.LogisticRegression(penalty="l1", C=1e5).fit(X, labels)
        assert model.convergence_.converged
        assert violation(model, X, labels, np.ones(200), 1e5, 1.0) < 1e-7 * 1e5 * 100
        assert model.score(X, labels) >= 0.99


def test_the_steps_are_shown_one_after_the_other():
    from discern.learners.logistic.fitting import fit_lasso
    from discern.learners.logistic.lasso import Penalties
    from discern.learners.logistic.rows import LabeledRows

    X, y = words(200, 300)
    rows, seen = LabeledRows(X, y.astype(np.int32), 2), []
    penalties = Penalties(np.append(np.full(300, 0.1), 0.0), np.zeros(301))
    alone = fit_lasso(rows, penalties)
    shown = fit_lasso(rows, penalties, observe=seen.append)
    assert len(seen) == shown.convergence.iterations > 1
    np.testing.assert_array_equal(seen[-1], shown.coefficients)
    np.testing.assert_allclose(shown.coefficients, alone.coefficients, atol=1e-4)
    stopped = fit_lasso(rows, penalties, max_iter=2)
    assert stopped.convergence.iterations == 2
    assert not stopped.convergence.converged
