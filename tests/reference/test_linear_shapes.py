"""Linear classifiers on rows of every shape: orders, precisions, classes, one row, more columns than rows."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import sklearn.discriminant_analysis
import sklearn.linear_model
import sklearn.svm
from scipy.special import logsumexp, softmax

import discern
from discern.estimators.base import ScatterClassifier
from discern.learners.logistic.fitting import fit_logistic
from discern.learners.logistic.rows import LabeledRows
from discern.learners.logistic.separation import find_separation
from discern.learners.logistic.sums import sums_of
from discern.statistics.scatter import Scatter

LINEAR, RIDGE = discern.LinearDiscriminantAnalysis, discern.RidgeClassifier
ORDERS = {
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "every second row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "every second column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "backward": lambda X: np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
}


def problem(rows: int, columns: int, classes: int, seed: int = 0) -> tuple[Any, Any]:
    """Return rows of several scales, with a constant column, and classes that depend on them."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((rows, columns)) * random.uniform(0.3, 2.0, columns)
    if columns > 2:
        X[:, 1] = 0.5
    scores = X @ random.standard_normal((columns, classes)) + random.gumbel(size=(rows, classes))
    y = scores.argmax(axis=1)
    y[:classes] = np.arange(classes)
    return X, y


# ---------------------------------------------------------------------------------------------- logistic regression


def plain_sums(X: Any, y: Any, w: Any, coefficients: Any) -> tuple[float, Any, Any]:
    """Compute loss, gradient and Hessian row by row."""
    table = np.hstack([X, np.ones((len(X), 1))])
    single = len(coefficients) == 1
    both = np.vstack([np.zeros_like(coefficients), coefficients]) if single else coefficients
    scores = table @ both.T
    shares = softmax(scores, axis=1)
    loss = w @ (logsumexp(scores, axis=1) - scores[np.arange(len(y)), y])
    residuals = w[:, None] * (shares - np.eye(len(both))[y])
    spread = shares[:, :, None] * (np.eye(len(both)) - shares[:, None, :])
    hessian = np.einsum("i,ikl,ia,ib->kalb", w, spread, table, table)
    if single:
        return loss, (residuals.T @ table)[1:], hessian[1, :, 1]
    return loss, residuals.T @ table, hessian.reshape((len(both) * table.shape[1],) * 2)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("classes", [2, 3, 10])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [False, True])
def test_loss_gradient_and_hessian_are_those_of_single_rows(order: str, classes: int, kind: Any, weighted: bool):
    X, y = problem(317, 7, classes)
    X = ORDERS[order](X.astype(kind))
    w = np.random.default_rng(1).integers(0, 4, len(X)).astype(float) if weighted else np.ones(len(X))
    point = np.random.default_rng(2).standard_normal((1 if classes == 2 else classes, 8))
    loss, gradient, hessian = plain_sums(X.astype(float), y, w, point)
    rows = LabeledRows(X, y.astype(np.int32), classes, w if weighted else None)
    for table in (rows, LabeledRows(scipy.sparse.csr_array(X), rows.classes, classes, rows.weights)):
        sums = sums_of(table, point)
        np.testing.assert_allclose(sums.loss, loss, rtol=1e-12)
        np.testing.assert_allclose(sums.gradient, gradient, rtol=0, atol=1e-11 * np.abs(gradient).max())
        np.testing.assert_allclose(sums.hessian, hessian, rtol=0, atol=1e-11 * np.abs(hessian).max())
        np.testing.assert_allclose(sums_of(table, point, hessian=False).gradient, sums.gradient, atol=1e-10)


@pytest.mark.parametrize(("rows", "columns", "classes"), [(400, 6, 2), (3000, 30, 2), (900, 12, 3), (40, 90, 3)])
@pytest.mark.parametrize("strength", [1.0, 1e-3])
def test_every_solver_reaches_the_same_optimum(rows: int, columns: int, classes: int, strength: float):
    X, y = problem(rows, columns, classes)
    penalty = np.append(np.full(columns, strength), 0.0)
    table = LabeledRows(X, y.astype(np.int32), classes)
    names = ("newton", "quasi-newton", "truncated newton")
    found = [fit_logistic(table, penalty, solver=name, tol=1e-12) for name in names]
    assert all(one.convergence.converged for one in found)
    for one in found[1:]:
        np.testing.assert_allclose(one.coefficients, found[0].coefficients, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("correlation", [0.0, 0.999])
def test_correlated_columns_of_many_rows(correlation: float):
    random = np.random.default_rng(0)
    X = random.standard_normal((30_000, 12))
    X[:, 1:] = correlation * X[:, :1] + np.sqrt(1 - correlation**2) * X[:, 1:] + 3.0
    for classes in (2, 4):
        y = (X @ random.standard_normal((12, classes)) + random.gumbel(size=(len(X), classes))).argmax(axis=1)
        model = discern.LogisticRegression().fit(X, y)
        assert model.convergence_.solver == "quasi-newton"
        assert model.convergence_.converged
        peer = sklearn.linear_model.LogisticRegression(tol=1e-10, solver="newton-cholesky").fit(X, y)
        np.testing.assert_allclose(model.coef_, peer.coef_, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("classes", [2, 3])
def test_order_and_precision_do_not_change_the_model(order: str, classes: int):
    X, y = problem(700, 9, classes)
    expected = discern.LogisticRegression().fit(X, y)
    model = discern.LogisticRegression().fit(ORDERS[order](X), y)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-6, atol=1e-7)
    narrow = discern.LogisticRegression().fit(ORDERS[order](X.astype(np.float32)), y)
    assert narrow.coef_.dtype == narrow.intercept_.dtype == np.float32
    np.testing.assert_allclose(narrow.coef_, expected.coef_, rtol=1e-4, atol=1e-5)
    assert narrow.predict_proba(X[:3].astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("classes", [2, 3, 100])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_probabilities_of_rows_in_every_order(order: str, classes: int, kind: Any):
    X, y = problem(2000, 5, classes)
    model = discern.LogisticRegression(max_iter=20, tol=1e-2).fit(X, y)
    for rows in (X[:1], X[:77], X):
        given = ORDERS[order](rows.astype(kind))
        scores = np.asarray(given, float) @ model.coef_.T + model.intercept_
        expected = softmax(np.hstack([np.zeros_like(scores), scores]) if classes == 2 else scores, axis=1)
        accuracy = {"rtol": 1e-12} if kind is np.float64 else {"atol": 1e-6}
        np.testing.assert_allclose(model.predict_proba(given), expected, **accuracy)
    broken = X[:3].copy()
    broken[1, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.predict_proba(ORDERS[order](broken))


def test_probabilities_of_large_scores_are_not_lost():
    model = discern.LogisticRegression().fit([[0.0], [1.0], [2.0]], [0, 1, 2])
    model.coef_, model.intercept_ = np.array([[1e4], [0.0], [-1e4]]), np.zeros(3)
    assert model.predict_proba([[1.0], [-1.0]]).round(6).tolist() == [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]


@pytest.mark.parametrize("make", [discern.LogisticRegression, discern.LinearSVC, discern.NBSVM, RIDGE])
def test_one_sparse_row_is_multiplied_without_turning_the_coefficients(make: Any):
    random = np.random.default_rng(0)
    X = scipy.sparse.random_array((60, 300), density=0.1, rng=random, format="csr")
    y = np.arange(60) % 5
    model = make().fit(X, y)
    assert model.coef_.T.flags.c_contiguous
    np.testing.assert_allclose(model.decision_function(X[:1]), model.decision_function(X)[:1])


# ------------------------------------------------------------------------------------------------------- separation


@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("columns", [4, 60])
def test_a_fit_that_separates_is_noticed_at_once(classes: int, columns: int):
    random = np.random.default_rng(3)
    X = random.standard_normal((300, columns))
    y = (X @ random.standard_normal((columns, classes))).argmax(axis=1)
    with pytest.warns(discern.SeparationWarning, match="complete separation: 300 rows"):
        model = discern.LogisticRegression(penalty=None).fit(X, y)
    direction = model.separation_.direction
    both = np.vstack([np.zeros_like(direction), direction]) if classes == 2 else direction
    scores = np.hstack([X, np.ones((len(X), 1))]) @ both.T
    assert np.array_equal(scores.argmax(axis=1), y)


def test_one_column_that_separates_several_classes_is_named():
    random = np.random.default_rng(0)
    X = random.standard_normal((500, 40))
    y = random.integers(0, 4, 500)
    X[:, 17] = np.array([3.0, -2.0, 9.0, 0.0])[y] + random.random(500)
    for table in (X, scipy.sparse.csr_array(X)):
        found = find_separation(table, y, 4)
        assert found is not None
        assert (found.kind, found.columns, found.rows) == ("complete", (17,), 500)
        scores = np.hstack([X, np.ones((500, 1))]) @ found.direction.T
        assert np.array_equal(scores.argmax(axis=1), y)


# ---------------------------------------------------------------------------------------------------- sums of products


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("pooled", [False, True])
def test_scatter_does_not_depend_on_the_order_in_memory(order: str, kind: Any, pooled: bool):
    X, y = problem(500, 6, 3)
    X = X.astype(kind)
    expected = Scatter.of(X, y, 3, pooled=pooled)
    found = Scatter.of(ORDERS[order](X), y, 3, pooled=pooled)
    assert np.array_equal(found.first, expected.first)
    assert np.array_equal(found.second, expected.second)
    assert np.array_equal(found.second, found.second.transpose(0, 2, 1))


# ---------------------------------------------------------------------------------------------- more columns than rows


def by_sums(fit: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Fit from the products of the columns."""
    with monkeypatch.context() as patched:
        patched.setattr(ScatterClassifier, "_learn_wide", lambda *_: False)
        return fit()


WIDE = [(40, 60, 2), (30, 31, 3), (12, 60, 5)]
SETTINGS: list[dict[str, Any]] = [
    {},
    {"shrinkage": 0.3},
    {"shrinkage": "auto"},
    {"shrinkage": "auto", "divisor": "likelihood"},
    {"divisor": "likelihood", "priors": True},
    {"priors": True},
]


@pytest.mark.filterwarnings("ignore::discern.SingularCovarianceWarning")
@pytest.mark.parametrize(("rows", "columns", "classes"), WIDE)
@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("solver", ["svd", "lsqr", "eigen"])
@pytest.mark.parametrize("weighted", [False, True])
def test_wide_discriminants_equal_those_from_sums(
    rows: int, columns: int, classes: int, settings: dict[str, Any], solver: str, weighted: bool, monkeypatch: Any
):
    X, y = problem(rows, columns, classes)
    X = X * 3.0 + 5.0
    w = np.random.default_rng(1).integers(1, 4, rows).astype(float) if weighted else None
    options = {**settings, "solver": solver}
    if "priors" in settings:
        options["priors"] = np.arange(1.0, classes + 1) / np.arange(1.0, classes + 1).sum()
    model = LINEAR(**options).fit(X, y, w)
    expected = by_sums(lambda: LINEAR(**options).fit(X, y, w), monkeypatch)
    assert "_kept_sums" not in vars(model)
    scores = expected.decision_function(X)
    np.testing.assert_allclose(model.decision_function(X), scores, rtol=1e-8, atol=1e-8 * np.abs(scores).max())
    for name in ("coef_", "means_", "explained_variance_ratio_", "covariance_", "shrinkage_", "priors_"):
        wanted = getattr(expected, name)
        np.testing.assert_allclose(getattr(model, name), wanted, rtol=1e-8, atol=1e-8 * np.max(np.abs(wanted)))
    variates = np.abs(expected.transform(X))  # directions have no sign
    np.testing.assert_allclose(np.abs(model.transform(X)), variates, atol=1e-7 * variates.max())


@pytest.mark.filterwarnings("ignore::discern.SingularCovarianceWarning")
def test_wide_models_learn_on_merge_and_forget():
    X, y = problem(50, 80, 3)
    for make in (LINEAR, RIDGE):
        whole = make().fit(X, y)
        parts = make().fit(X[:30], y[:30])
        given = X[:30].copy()
        kept = make().fit(given, y[:30])
        given[:] = 0.0  # a model does not change with the array it has learned from
        for model in (parts.partial_fit(X[30:], y[30:]), kept.merge(make().fit(X[30:], y[30:]))):
            np.testing.assert_allclose(model.decision_function(X), whole.decision_function(X), atol=1e-7)
        less = make().fit(X, y).forget(X[30:], y[30:])
        np.testing.assert_allclose(
            less.decision_function(X), make().fit(X[:30], y[:30]).decision_function(X), atol=1e-6
        )
        small = make().fit(X, y).fit(X[:, :5], y)
        np.testing.assert_allclose(
            small.decision_function(X[:, :5]), make().fit(X[:, :5], y).decision_function(X[:, :5])
        )


RIDGES: list[dict[str, Any]] = [
    {},
    {"alpha": 0.0},
    {"alpha": 1e-2},
    {"alpha": "auto"},
    {"alpha": "auto", "fit_intercept": False},
    {"fit_intercept": False},
    {"class_weight": "balanced"},
    {"alpha": "several"},
]


@pytest.mark.parametrize(("rows", "columns", "classes"), WIDE)
@pytest.mark.parametrize("settings", RIDGES)
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_wide_ridge_equals_that_from_sums(
    rows: int, columns: int, classes: int, settings: dict[str, Any], sparse: bool, weighted: bool, monkeypatch: Any
):
    X, y = problem(rows, columns, classes)
    w = np.random.default_rng(1).integers(0, 4, rows).astype(float) if weighted else None
    if w is not None:
        w[:classes] = 1.0
    several = np.arange(1.0, (classes if classes > 2 else 1) + 1)
    options = {**settings, "alpha": several} if settings.get("alpha") == "several" else settings
    table = scipy.sparse.csr_array(X) if sparse else X
    model = RIDGE(**options).fit(table, y, w)
    expected = by_sums(lambda: RIDGE(**options).fit(table, y, w), monkeypatch)
    for name in ("coef_", "intercept_", "alpha_", "best_score_"):
        wanted = getattr(expected, name)
        np.testing.assert_allclose(getattr(model, name), wanted, rtol=1e-6, atol=1e-6 * np.max(np.abs(expected.coef_)))


def test_wide_ridge_equals_scikit_learns():
    X, y = problem(40, 200, 3)
    for sample_weight in (None, np.arange(40.0)):
        ours, theirs = RIDGE().fit(X, y, sample_weight), sklearn.linear_model.RidgeClassifier().fit(X, y, sample_weight)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-8)


@pytest.mark.parametrize("solver", ["lsqr", "eigen"])
@pytest.mark.parametrize("shrinkage", [0.2, "auto"])
def test_wide_shrunken_discriminants_decide_as_scikit_learns(solver: str, shrinkage: Any):
    X, y = problem(60, 150, 3)
    ours = LINEAR(solver=solver, shrinkage=shrinkage, divisor="likelihood").fit(X, y)
    theirs = sklearn.discriminant_analysis.LinearDiscriminantAnalysis(solver=solver, shrinkage=shrinkage).fit(X, y)
    # Constant columns add the same to the scores of all classes there, and nothing here.
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-6, atol=1e-9)


# ------------------------------------------------------------------------------------------------------- large margins


def objective(model: Any, X: Any, y: Any, cost: float, loss: str) -> float:
    """Return the sum of the objectives of the decision functions, intercepts penalized."""
    coefficients, intercepts = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    total = 0.0
    for place, (weights, intercept) in enumerate(zip(coefficients, intercepts, strict=True)):
        positive = model.classes_[1 if len(coefficients) == 1 else place]
        slack = np.maximum(0.0, 1.0 - np.where(y == positive, 1.0, -1.0) * (X @ weights + intercept))
        size = 0.5 * (weights @ weights + intercept**2)
        total += size + cost * float((slack**2 if loss == "squared_hinge" else slack).sum())
    return total


SMALL = list(itertools.product((20, 60, 300), (2, 40), (2, 4), (0.1, 10.0), ("squared_hinge", "hinge")))


def test_default_objective_is_not_above_liblinears():
    above = []
    for rows, columns, classes, cost, loss in SMALL:
        X, y = problem(rows, columns, classes, seed=rows + columns)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ours = discern.LinearSVC(C=cost, loss=loss).fit(X, y)
            theirs = sklearn.svm.LinearSVC(C=cost, loss=loss).fit(X, y)
        mine, other = (objective(model, X, y, cost, loss) for model in (ours, theirs))
        if mine > other * (1 + 1e-9):
            above.append((rows, columns, classes, cost, loss, mine / other - 1))
    assert not above
