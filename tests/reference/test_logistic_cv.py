"""LogisticRegressionCV against scikit-learn's at a tight tolerance, and against plain fits of each fold."""

import warnings

import hypothesis.strategies as st
import numpy as np
import pytest
import scipy.sparse
import sklearn.linear_model as theirs
from hypothesis import given, settings
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold, cross_val_score

import discern
from discern import LogisticRegression, LogisticRegressionCV

CS = [0.01, 1.0, 100.0]
QUIET = {"scoring": "neg_log_loss", "use_legacy_attributes": False, "l1_ratios": (0.0,)}


def problem(rows=240, columns=5, classes=2, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(rows, columns)) * random.lognormal(size=columns) + random.normal(size=columns)
    scores = X @ random.normal(size=(columns, classes)) + random.gumbel(size=(rows, classes))
    return X, np.array(["ham", "spam", "tea", "x"])[scores.argmax(axis=1)]


def both(X, y, weights=None, solver="newton-cholesky", tol=1e-10, **options):
    given = {**QUIET, "Cs": CS, **options}
    peer = theirs.LogisticRegressionCV(solver=solver, tol=tol, max_iter=20_000, **given).fit(X, y, weights)
    return LogisticRegressionCV(**{**given, **({"solver": "liblinear"} if solver == "liblinear" else {})}).fit(
        X, y, weights
    ), peer


# ------------------------------------------------------------------------------------------------ the same as theirs


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"fit_intercept": False},
        {"cv": 3, "scoring": "accuracy"},
        {"class_weight": "balanced"},
        {"refit": False},
        {"use_legacy_attributes": True},
        {"Cs": [100.0, 0.1, 1.0]},
    ],
    ids=str,
)
def test_equals_scikit_learn(classes, options):
    X, y = problem(classes=classes)
    model, peer = both(X, y, **options)
    np.testing.assert_allclose(model.coef_, peer.coef_, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(model.intercept_, peer.intercept_, rtol=1e-3, atol=1e-4)
    np.testing.assert_array_equal(model.C_, peer.C_)
    np.testing.assert_array_equal(model.l1_ratio_, peer.l1_ratio_)
    assert type(model.C_) is type(peer.C_)
    if options.get("use_legacy_attributes"):
        assert model.scores_.keys() == peer.scores_.keys()
        assert model.coefs_paths_.keys() == peer.coefs_paths_.keys()
        for label, scores in peer.scores_.items():
            np.testing.assert_allclose(model.scores_[label], scores, rtol=1e-4)
            np.testing.assert_allclose(model.coefs_paths_[label], peer.coefs_paths_[label], rtol=1e-2, atol=1e-3)
    else:
        np.testing.assert_allclose(model.scores_, peer.scores_, rtol=1e-4)
        np.testing.assert_allclose(model.coefs_paths_, peer.coefs_paths_, rtol=1e-2, atol=1e-3)
    assert model.n_iter_.shape == peer.n_iter_.shape


@pytest.mark.parametrize("solver", ["saga", "liblinear"])
def test_lasso_equals_scikit_learn(solver):
    X, y = problem()
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    # With a stronger penalty SAGA stops before the intercept is right.
    model, peer = both(X, y, solver=solver, tol=1e-6, l1_ratios=(1.0,), Cs=[0.1, 1.0])
    np.testing.assert_allclose(model.coef_, peer.coef_, rtol=1e-2, atol=1e-3)
    np.testing.assert_allclose(model.scores_, peer.scores_, rtol=1e-3)
    assert model.C_ == peer.C_


def test_a_grid_of_both_equals_scikit_learn():
    X, y = problem(classes=3)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model, peer = both(X, y, solver="saga", tol=1e-5, l1_ratios=(0.2, 0.8), Cs=[0.1, 1.0])
    np.testing.assert_allclose(model.scores_, peer.scores_, rtol=1e-3)
    np.testing.assert_allclose(model.coef_, peer.coef_, rtol=2e-2, atol=2e-3)
    assert (model.C_, model.l1_ratio_) == (peer.C_, peer.l1_ratio_)
    assert model.coefs_paths_.shape == peer.coefs_paths_.shape == (5, 2, 2, 3, 6)


def test_weights_of_rows():
    X, y = problem()
    weights = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    model, peer = both(X, y, weights)
    np.testing.assert_allclose(model.coef_, peer.coef_, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(model.scores_, peer.scores_, rtol=1e-4)


# ------------------------------------------------------------------------------------------- the same as plain fits


@settings(max_examples=15, deadline=None)
@given(
    st.integers(30, 120),
    st.integers(1, 40),
    st.integers(2, 4),
    st.integers(0, 2**16),
    st.sampled_from([0.0, 0.4, 1.0]),
    st.booleans(),
)
def test_each_fold_is_a_plain_fit(rows, columns, classes, seed, share, sparse):
    X, y = problem(rows, columns, classes, seed)
    X = X / np.abs(X).max()
    table = scipy.sparse.csr_matrix(X) if sparse else X
    folds = list(StratifiedKFold(3).split(X, np.arange(rows) % 2))
    if any(len(set(y[train])) < len(set(y)) for train, _ in folds):
        return
    options = {"Cs": [0.1, 10.0], "cv": folds, "max_iter": 1000}
    model = LogisticRegressionCV(**{**QUIET, "l1_ratios": (share,), **options}).fit(table, y)
    for place, (train, test) in enumerate(folds):
        for strength, C in enumerate([0.1, 10.0]):
            plain = LogisticRegression(C=C, l1_ratio=share, max_iter=1000).fit(table[train], y[train])
            found = differences(model.coefs_paths_[place, 0, strength, :, :-1])
            expected = differences(plain.coef_)
            np.testing.assert_allclose(found, expected, atol=2e-3 * max(1.0, np.abs(expected).max()))
            score = cross_val_score(
                LogisticRegression(C=C, l1_ratio=share, max_iter=1000),
                table,
                y,
                cv=[(train, test)],
                scoring=labeled(model.classes_),
            )[0]
            assert model.scores_[place, 0, strength] == pytest.approx(score, rel=1e-3, abs=1e-4)


def differences(coefficients):
    """Of several classes, an L1 penalty leaves open what is added to all of them."""
    return coefficients if len(coefficients) == 1 else coefficients - coefficients.mean(axis=0)


def labeled(classes):
    from sklearn.metrics import log_loss, make_scorer

    return make_scorer(log_loss, greater_is_better=False, response_method="predict_proba", labels=classes)


def test_quasi_newton_steps_with_the_hessian_of_all_rows():
    X, y = problem(6_000, 30)
    y = (y == "spam").astype(int)
    model = LogisticRegressionCV(**{**QUIET, "Cs": CS}).fit(X, y)
    for place, (train, _) in enumerate(StratifiedKFold(5).split(X, y)):
        plain = LogisticRegression(C=100.0, tol=1e-10).fit(X[train], y[train])
        np.testing.assert_allclose(model.coefs_paths_[place, 0, 2, 0, :-1], plain.coef_[0], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(model.coef_, LogisticRegression(C=model.C_).fit(X, y).coef_, rtol=1e-6)


def test_columns_far_from_zero():
    X, y = problem(2_000, 12)
    near = LogisticRegressionCV(**{**QUIET, "Cs": CS}).fit(X, y)
    far = LogisticRegressionCV(**{**QUIET, "Cs": CS}).fit(X + 1e5, y)
    np.testing.assert_allclose(far.coef_, near.coef_, rtol=1e-4)
    np.testing.assert_allclose(far.scores_, near.scores_, rtol=1e-5)


def test_a_loose_tolerance_leaves_no_fold_at_the_coefficients_of_all_rows():
    X, y = problem(60, 10)
    loose = LogisticRegressionCV(**{**QUIET, "Cs": CS}, tol=0.5).fit(X, y)
    tight = LogisticRegressionCV(**{**QUIET, "Cs": CS}, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(loose.scores_, tight.scores_, rtol=1e-3)


def test_containers_threads_and_order():
    X, y = problem()
    first = LogisticRegressionCV(**QUIET).fit(X, y)
    for other in (scipy.sparse.csr_matrix(X), np.asfortranarray(X), X.tolist()):
        np.testing.assert_allclose(LogisticRegressionCV(**QUIET).fit(other, y).coef_, first.coef_, rtol=1e-5)
    np.testing.assert_array_equal(LogisticRegressionCV(**QUIET, n_jobs=2).fit(X, y).scores_, first.scores_)
    assert LogisticRegressionCV(**QUIET).fit(X.astype(np.float32), y).coef_.dtype == np.float64


# ---------------------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"Cs": [0.0, 1.0]}, "above 0"),
        ({"l1_ratios": (0.5, 2.0)}, "between 0 and 1"),
        ({"l1_ratios": (1.0,), "solver": "lbfgs"}, "supports only 'l2'"),
        ({"dual": True}, "supports only dual=False"),
        ({"class_weight": {"coffee": 2.0}}, "class labels as keys"),
    ],
    ids=str,
)
def test_refusals(options, message):
    X, y = problem()
    with pytest.raises(ValueError, match=message):
        LogisticRegressionCV(**{**QUIET, **options}).fit(X, y)


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="at least 2 classes"):
        LogisticRegressionCV(**QUIET).fit(problem()[0], ["ham"] * 240)


def test_fits_that_stop_early_are_counted():
    X, y = problem()
    with pytest.warns(ConvergenceWarning) as found:
        LogisticRegressionCV(**QUIET, max_iter=1).fit(X, y)
    assert any("of 50 fits stopped early" in str(one.message) for one in found)


def test_defaults_that_scikit_learn_changes_warn_as_there():
    X, y = problem()
    with warnings.catch_warnings(record=True) as ours:
        warnings.simplefilter("always")
        discern.LogisticRegressionCV().fit(X, y)
    with warnings.catch_warnings(record=True) as others:
        warnings.simplefilter("always")
        theirs.LogisticRegressionCV().fit(X, y)
    named = [{name for name in ("l1_ratios", "scoring", "use_legacy") if name in str(one.message)} for one in ours]
    assert len(ours) == len([one for one in others if one.category is FutureWarning]) == 3
    assert named == [{"l1_ratios"}, {"scoring"}, {"use_legacy"}]
