"""Least squares on ±1 gives what scikit-learn gives, adds up, and chooses its penalty as leaving rows out would."""

import numpy as np
import pytest
import scipy.sparse
import sklearn.linear_model as reference
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.utils.estimator_checks import parametrize_with_checks

import discern
from discern.learners import ridge
from discern.statistics.scatter import Scatter

RIDGE = discern.RidgeClassifier


def problem(seed=0, rows=120, columns=5, classes=3):
    random = np.random.default_rng(seed)
    y = np.concatenate([np.arange(classes), random.integers(0, classes, rows - classes)])
    return random.standard_normal((rows, columns)) + random.normal(0, 1, (classes, columns))[y], y


OPTIONS = [
    {},
    {"alpha": 30.0},
    {"alpha": 0.0},
    {"fit_intercept": False},
    {"class_weight": "balanced"},
    {"class_weight": {0: 3.0, 1: 0.5}},
    {"positive": True},
]


@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_equals_the_reference(load, options):
    X, y = load(return_X_y=True)
    X = X / X.std(axis=0)
    exact = {"solver": "lbfgs", "tol": 1e-12, "max_iter": 100_000} if "positive" in options else {"solver": "svd"}
    ours, theirs = RIDGE(**options).fit(X, y), reference.RidgeClassifier(**options, **exact).fit(X, y)
    assert ours.coef_.shape == theirs.coef_.shape
    near = 1e-5 if "positive" in options else 1e-9
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=near, atol=near)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=near, atol=near)
    assert (ours.predict(X) == theirs.predict(X)).all()


def test_columns_of_very_different_scales_are_solved():
    X, y = load_breast_cancer(return_X_y=True)
    X = X * np.logspace(-4, 4, X.shape[1])
    theirs = reference.RidgeClassifier(1e-9, solver="svd").fit(X / X.std(axis=0), y)  # as good as none
    ours = RIDGE(0.0).fit(X, y)
    np.testing.assert_allclose(ours.coef_ * X.std(axis=0), theirs.coef_, rtol=1e-5, atol=1e-7)


def test_penalties_for_each_target():
    X, y = problem()
    alpha = np.array([1.0, 10.0, 0.1])
    theirs = reference.RidgeClassifier(alpha, solver="svd").fit(X, y)
    np.testing.assert_allclose(RIDGE(alpha).fit(X, y).coef_, theirs.coef_, rtol=1e-9)
    with pytest.raises(ValueError, match="2 penalties for 3 targets"):
        RIDGE(alpha[:2]).fit(X, y)


@pytest.mark.parametrize("options", [{}, {"class_weight": "balanced"}, {"alpha": "auto"}], ids=str)
def test_sparse_rows_are_as_dense_ones(options):
    X, y = load_digits(return_X_y=True)
    dense, sparse = RIDGE(**options).fit(X, y), RIDGE(**options).fit(scipy.sparse.csr_array(X), y)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, rtol=1e-6, atol=1e-8)
    assert (sparse.predict(scipy.sparse.csr_matrix(X)) == dense.predict(X)).all()


@pytest.mark.parametrize("options", [{}, {"class_weight": "balanced"}, {"fit_intercept": False}], ids=str)
def test_batches_merging_and_forgetting_give_what_fit_gives(options):
    X, y = problem(2)
    whole, stream = RIDGE(**options).fit(X, y), RIDGE(**options)
    for part in np.array_split(np.random.default_rng(1).permutation(len(X)), 4):
        stream.partial_fit(X[part], y[part])
    merged = RIDGE(**options).fit(X[:50], y[:50]).merge(RIDGE(**options).fit(X[50:], y[50:]))
    more = X[:30] + 20
    longer = RIDGE(**options).fit(np.vstack([X, more]), [*y, *[9] * 30]).forget(more, [9] * 30)
    for other in (stream, merged, longer):
        np.testing.assert_allclose(other.coef_, whole.coef_, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(other.intercept_, whole.intercept_, rtol=1e-8, atol=1e-10)


@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.booleans())
def test_the_penalty_is_the_one_that_leaving_each_row_out_chooses(seed, classes, intercept):
    X, y = problem(seed, 24, 6, classes)
    weights = np.random.default_rng(seed).integers(1, 4, 24).astype(float)
    model = RIDGE("auto", fit_intercept=intercept).fit(X, y, weights)
    aims = ridge.targets(classes)[y]
    errors = []
    for row in range(24):
        less = weights - (np.arange(24) == row)  # a weight counts as repetitions, of which one is left out
        left = reference.Ridge(model.alpha_, fit_intercept=intercept, solver="svd").fit(X, aims, less)
        errors.append(weights[row] * np.mean((aims[row] - left.predict(X[[row]]).reshape(-1)) ** 2))
    np.testing.assert_allclose(-model.best_score_, sum(errors) / weights.sum(), rtol=1e-7)


def test_the_chosen_penalty_is_better_than_others():
    X, y = problem(4, 150, 60, 2)
    normal = ridge.normal_equations(Scatter.of(X, y, 2))
    rows = ridge.TargetRows.of(X, y)
    level = np.linalg.eigvalsh(normal.products).mean()
    alphas = ridge.PENALTIES * level
    theirs = reference.RidgeClassifierCV(alphas).fit(X, y)
    chosen = ridge.choose_penalty(normal, rows)
    np.testing.assert_allclose(chosen.penalty, theirs.alpha_)
    np.testing.assert_allclose(chosen.error, -theirs.best_score_, rtol=1e-8)
    assert 0.3 < ridge.choose_penalty(normal).penalty / chosen.penalty < 4  # the sums alone choose nearly the same


def test_the_penalty_is_chosen_again_from_the_sums_as_rows_come():
    X, y = problem(5, 400, 60, 2)
    model = RIDGE("auto").partial_fit(X[:100], y[:100])
    few = model.alpha_
    model.partial_fit(X[100:], y[100:])
    assert model.alpha_ != few
    assert model.score(X, y) > 0.9


def test_more_columns_than_products_can_be_summed_of(monkeypatch):
    X, y = load_iris(return_X_y=True)
    direct = RIDGE(class_weight="balanced").fit(X, y)
    monkeypatch.setattr("discern.estimators.linear.ridge.MOST_COLUMNS", 3)
    model = RIDGE(class_weight="balanced", tol=1e-10).fit(scipy.sparse.csr_array(X), y)
    np.testing.assert_allclose(model.coef_, direct.coef_, rtol=1e-6)
    np.testing.assert_allclose(model.intercept_, direct.intercept_, rtol=1e-6)
    for refused in (lambda: model.partial_fit(X, y), lambda: model.forget(X[:1], y[:1]), lambda: model.merge(model)):
        with pytest.raises(ValueError, match="no sums to add to"):
            refused()
    with pytest.raises(ValueError, match="select columns first"):
        RIDGE("auto").fit(X, y)


@pytest.mark.parametrize("options", [{}, {"class_weight": "balanced"}, {"fit_intercept": False}], ids=str)
def test_few_sparse_rows_of_very_many_columns(options):
    random = np.random.default_rng(4)
    X = scipy.sparse.random_array((600, 40_000), density=0.0002, rng=random, format="csr")
    y, weights = random.integers(0, 3, 600), random.integers(0, 3, 600)
    model = RIDGE(tol=1e-8, **options).fit(X, y, weights)
    assert model.solver_ == "sparse_cg"  # faster than a factor of the products of the rows
    exact = RIDGE(max_iter=1000, **options).fit(X, y, weights)
    assert exact.solver_ == "cholesky"
    np.testing.assert_allclose(model.coef_, exact.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(model.intercept_, exact.intercept_, rtol=1e-6, atol=1e-9)
    assert model.n_iter_.shape == (3,)


def test_a_column_twice_has_the_shortest_solution():
    X, y = problem(6, classes=2)
    twice = RIDGE(0.0).fit(np.column_stack([X, X[:, 0]]), y)
    once = RIDGE(0.0).fit(X, y)
    np.testing.assert_allclose(twice.coef_[[0, 5]], once.coef_[0] / 2, rtol=1e-7)


def as_in_scikit_learn(estimator):
    """Return the checks that scikit-learn's own classifier does not pass either, and why."""
    if estimator.class_weight is None:
        return {}
    why = "balanced weights count rows and not what they weigh, so that a weight is not a repetition"
    return {f"check_sample_weight_equivalence_on_{kind}_data": why for kind in ("dense", "sparse")}


@parametrize_with_checks([RIDGE("auto"), RIDGE(class_weight="balanced")], expected_failed_checks=as_in_scikit_learn)
@pytest.mark.filterwarnings("ignore")
def test_conformance(estimator, check):
    check(estimator)
