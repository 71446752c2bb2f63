"""Logistic regression gives what statsmodels and scikit-learn give, and says how sure it is."""

import numpy as np
import pytest
import scipy.sparse
import sklearn.linear_model as reference
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import parametrize_with_checks

import discern
from discern.learners.logistic.fitting import fit_logistic
from discern.learners.logistic.objective import PenalizedLoss
from discern.learners.logistic.rows import LabeledRows
from discern.learners.logistic.sums import statistics


def problem(seed, rows=300, columns=4, classes=2):
    random = np.random.default_rng(seed)
    X = random.standard_normal((rows, columns)) * random.uniform(0.1, 10, columns) + random.uniform(-3, 3, columns)
    scores = scale(X) @ random.normal(0, 0.7, (columns, classes)) + random.gumbel(size=(rows, classes))
    return X, scores.argmax(axis=1)


def relative(ours, theirs):
    return np.max(np.abs(ours - theirs) / np.maximum(np.abs(theirs), 1e-3))


@pytest.mark.parametrize("seed", range(8))
def test_two_classes_equal_statsmodels(seed):
    X, y = problem(seed, columns=1 + seed)
    ours = discern.LogisticRegression(penalty=None).fit(X, y)
    theirs = sm.Logit(y, sm.add_constant(X)).fit(disp=0, method="newton", tol=1e-14, maxiter=100)
    summary = ours.summary()
    assert relative(summary.coefficients, theirs.params) < 1e-8
    assert relative(summary.standard_errors, theirs.bse) < 1e-8
    assert relative(summary.z_values, theirs.tvalues) < 1e-8
    assert np.max(np.abs(summary.p_values - theirs.pvalues)) < 1e-8
    assert relative(np.stack([summary.lower, summary.upper], axis=1), theirs.conf_int()) < 1e-8
    assert ours.log_likelihood_ == pytest.approx(theirs.llf, rel=1e-8)
    assert ours.null_log_likelihood_ == pytest.approx(theirs.llnull, rel=1e-8)
    assert ours.aic_ == pytest.approx(theirs.aic, rel=1e-8)
    assert ours.bic_ == pytest.approx(theirs.bic, rel=1e-8)


@pytest.mark.parametrize("seed", range(4))
def test_more_classes_equal_statsmodels(seed):
    X, y = problem(seed, rows=600, columns=3, classes=3 + seed % 2)
    ours = discern.LogisticRegression(C=np.inf).fit(X, y)
    theirs = sm.MNLogit(y, sm.add_constant(X)).fit(disp=0, method="newton", tol=1e-14, maxiter=100)
    summary = ours.summary()
    assert relative(summary.coefficients, theirs.params.T.ravel()) < 1e-8
    assert relative(summary.standard_errors, theirs.bse.T.ravel()) < 1e-8
    assert ours.log_likelihood_ == pytest.approx(theirs.llf, rel=1e-8)


def test_weights_are_repetitions():
    X, y = problem(3)
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    ours = discern.LogisticRegression(penalty=None).fit(X, y, sample_weight=weights)
    repeated = sm.Logit(np.repeat(y, weights), sm.add_constant(np.repeat(X, weights, axis=0)))
    theirs = repeated.fit(disp=0, method="newton", tol=1e-14)
    assert relative(ours.summary().coefficients, theirs.params) < 1e-8
    assert relative(ours.summary().standard_errors, theirs.bse) < 1e-8


DATA = [load_iris, load_wine, load_breast_cancer]


def objective_of(model, X, y, C):
    targets = np.searchsorted(model.classes_, y)
    w = np.hstack([model.coef_, model.intercept_[:, None]])
    return statistics(X, targets, w, hessian=False).loss + 0.5 / C * np.sum(model.coef_**2)


@pytest.mark.parametrize("load", DATA)
@pytest.mark.parametrize("C", [0.01, 1.0])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("solver", ["auto", "newton-cg", "lbfgs"])
def test_ridge_equals_scikit_learn(load, C, sparse, solver):
    X, y = load(return_X_y=True)
    X = scale(X)
    given = scipy.sparse.csr_array(X) if sparse else X
    ours = discern.LogisticRegression(C=C, solver=solver, max_iter=2000, tol=1e-7).fit(given, y)
    theirs = reference.LogisticRegression(C=C, solver="newton-cholesky", tol=1e-9).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-5)
    np.testing.assert_allclose(ours.predict_proba(given), theirs.predict_proba(X), atol=2e-5)
    np.testing.assert_allclose(ours.predict_log_proba(given), theirs.predict_log_proba(X), atol=2e-4)
    np.testing.assert_array_equal(ours.predict(given), theirs.predict(X))
    assert objective_of(ours, X, y, C) <= objective_of(theirs, X, y, C) * (1 + 1e-10)


@pytest.mark.parametrize("weight", ["balanced", {0: 3.0, 1: 0.5}])
def test_class_weights_equal_scikit_learn(weight):
    X, y = problem(5, classes=2)
    weights = np.random.default_rng(1).uniform(0.1, 2, len(y))
    ours = discern.LogisticRegression(class_weight=weight).fit(X, y, weights)
    theirs = reference.LogisticRegression(class_weight=weight, solver="newton-cholesky", tol=1e-10).fit(X, y, weights)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6, atol=1e-8)


def test_liblinear_penalizes_the_intercept():
    X, y = problem(6)
    options = {"solver": "liblinear", "C": 0.1, "intercept_scaling": 2.0}
    ours = discern.LogisticRegression(**options).fit(X, y)
    theirs = reference.LogisticRegression(**options, tol=1e-12, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-5)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-5)


def text_like(rows=400, columns=900, seed=0):
    random = np.random.default_rng(seed)
    X = scipy.sparse.random_array((rows, columns), density=0.03, rng=random, format="csr")
    w = random.standard_normal(columns)
    return X, (X @ w + 0.3 * random.standard_normal(rows) > 0.2).astype(int)


@pytest.mark.parametrize("C", [0.1, 1.0, 30.0, 1e6])
@pytest.mark.parametrize("intercept", [True, False])
def test_the_dual_finds_the_optimum(C, intercept):
    X, y = text_like()
    ours = discern.LogisticRegression(C=C, fit_intercept=intercept).fit(X, y)
    assert ours.convergence_.solver == ("dual descent" if C < 1e3 else "truncated newton")
    assert ours.convergence_.gradient_norm <= 1e-8
    other = discern.LogisticRegression(C=C, fit_intercept=intercept, solver="newton-cg").fit(X, y)
    assert ours.convergence_.objective == pytest.approx(other.convergence_.objective, rel=1e-12)
    np.testing.assert_allclose(ours.coef_, other.coef_, rtol=1e-4, atol=1e-5)


def test_the_dual_knows_weights():
    X, y = text_like(seed=1)
    weights = np.random.default_rng(2).integers(0, 3, len(y)).astype(float)
    ours = discern.LogisticRegression().fit(X, y, weights)
    places = np.repeat(np.arange(len(y)), weights.astype(int))
    repeated = discern.LogisticRegression(solver="newton-cg").fit(X[places], y[places])
    np.testing.assert_allclose(ours.coef_, repeated.coef_, atol=1e-7)
    np.testing.assert_allclose(ours.intercept_, repeated.intercept_, atol=1e-7)


def test_many_rows_use_a_sample_and_reach_the_same_optimum():
    random = np.random.default_rng(4)
    X = random.standard_normal((300_000, 3)) * [1, 10, 0.1]
    y = (random.random(300_000) < 1 / (1 + np.exp(-X @ [0.5, -0.1, 3]))).astype(int)
    for penalty in ("l2", None):
        ours = discern.LogisticRegression(penalty=penalty).fit(X, y)
        assert ours.convergence_.solver == "quasi-newton"
        assert ours.convergence_.gradient_norm <= 1e-8
        other = discern.LogisticRegression(penalty=penalty, solver="newton-cholesky", tol=1e-10).fit(X, y)
        np.testing.assert_allclose(ours.coef_, other.coef_, rtol=1e-7)
        assert relative(ours.summary().standard_errors, other.summary().standard_errors) < (
            1e-7 if not penalty else 0.05
        )


def test_columns_far_from_zero():
    random = np.random.default_rng(7)
    X = random.standard_normal((500, 2))
    y = (random.random(500) < 1 / (1 + np.exp(-X @ [1, -1]))).astype(int)
    near = discern.LogisticRegression(penalty=None).fit(X, y)
    far = discern.LogisticRegression(penalty=None).fit(X + np.array([1e6, -1e5]), y)
    np.testing.assert_allclose(far.coef_, near.coef_, rtol=1e-8)
    np.testing.assert_allclose(far.summary().standard_errors[1:], near.summary().standard_errors[1:], rtol=1e-6)


# ------------------------------------------------------------------------------------------------------- sums


@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.booleans(), st.booleans())
@settings(max_examples=30)
def test_statistics_add_up_and_are_derivatives(seed, classes, intercept, weighted):
    random = np.random.default_rng(seed)
    X, y = random.standard_normal((40, 3)), random.integers(0, classes, 40)
    weights = random.uniform(0, 2, 40) if weighted else None
    w = random.standard_normal((1 if classes == 2 else classes, 3 + intercept))
    options = {"intercept": intercept}
    whole = statistics(X, y, w, weights=weights, **options)
    cut = random.integers(1, 40)
    parts = [
        statistics(X[p], y[p], w, weights=None if weights is None else weights[p], **options)
        for p in (slice(cut), slice(cut, 40))
    ]
    both = parts[0] + parts[1]
    assert both.loss == pytest.approx(whole.loss, rel=1e-12)
    np.testing.assert_allclose(both.gradient, whole.gradient, atol=1e-10)
    np.testing.assert_allclose(both.hessian, whole.hessian, atol=1e-10)
    assert both.weight == pytest.approx(whole.weight)
    sparse = statistics(scipy.sparse.csr_array(X), y, w, weights=weights, **options)
    np.testing.assert_allclose(sparse.hessian, whole.hessian, atol=1e-10)
    direction = random.standard_normal(w.shape)
    ahead, behind = (statistics(X, y, w + h * direction, weights=weights, **options) for h in (1e-5, -1e-5))
    slope = np.sum(whole.gradient * direction)
    assert (ahead.loss - behind.loss) / 2e-5 == pytest.approx(slope, rel=1e-5, abs=1e-5)
    bend = (whole.hessian @ direction.ravel()).reshape(w.shape)
    np.testing.assert_allclose((ahead.gradient - behind.gradient) / 2e-5, bend, rtol=1e-4, atol=1e-4)


@given(st.integers(0, 2**32 - 1), st.integers(2, 4))
@settings(max_examples=30)
def test_observed_and_expected_sums_agree_at_the_maximum(seed, classes):
    X, y = problem(seed, rows=400, classes=classes)
    model = discern.LogisticRegression(penalty=None).fit(X, y)
    expected, observed = model.predict_proba(X).sum(axis=0), np.bincount(y, minlength=classes)[model.classes_]
    np.testing.assert_allclose(expected, observed, rtol=1e-8)
    assert model.convergence_.converged
    assert model.convergence_.gradient_norm <= 1e-8
    targets = np.searchsorted(model.classes_, y)
    w = np.hstack([model.coef_, model.intercept_[:, None]])
    rows = LabeledRows(X, targets.astype(np.int32), len(model.classes_))
    gradient = statistics(X, targets, w).gradient
    assert PenalizedLoss(rows, np.zeros(rows.columns)).relative_norm(gradient) <= 1e-8


@pytest.mark.parametrize("threads", ["1", "2", "3"])
def test_threads_do_not_change_a_bit(monkeypatch, threads):
    random = np.random.default_rng(8)
    X, y = random.standard_normal((70_000, 5)), random.integers(0, 2, 70_000)
    w = random.standard_normal((1, 6))
    monkeypatch.setenv("DISCERN_THREADS", "1")
    expected = statistics(X, y, w)
    monkeypatch.setenv("DISCERN_THREADS", threads)
    got = statistics(X, y, w)
    assert got.loss == expected.loss
    assert got.hessian.tobytes() == expected.hessian.tobytes()


# ------------------------------------------------------------------------------------------------------- rest


def test_too_few_iterations_are_reported():
    X, y = problem(9)
    with pytest.warns(ConvergenceWarning, match="did NOT converge after 1 iterations"):
        model = discern.LogisticRegression(max_iter=1).fit(X, y)
    assert not model.convergence_.converged


def test_warm_start_begins_where_the_last_ended():
    X, y = problem(10)
    model = discern.LogisticRegression(warm_start=True).fit(X, y)
    first = model.coef_.copy()
    assert model.fit(X, y).convergence_.iterations == 0
    np.testing.assert_allclose(model.coef_, first, rtol=1e-8)


def test_dependent_columns_are_named():
    X, y = problem(11)
    with pytest.warns(UserWarning, match="not determined: [013]; leave"):
        discern.LogisticRegression(penalty=None).fit(np.hstack([X, X[:, :1] - 2 * X[:, 1:2]])[:, [0, 1, 2, 4]], y)


REFUSED = [
    {"penalty": "l1", "solver": "lbfgs"},
    {"l1_ratio": 0.5, "solver": "liblinear"},
    {"l1_ratio": 0.5, "solver": "newton-cg"},
    {"penalty": "elasticnet", "l1_ratio": None},
    {"dual": True},
]


@pytest.mark.parametrize("options", REFUSED)
def test_what_cannot_be_fitted_is_refused(options):
    with pytest.raises(
        ValueError,
        match=r"supports only 'l2'|Only 'saga'|l1_ratio|dual=False|not supported for the liblinear|multiclass",
    ):
        discern.LogisticRegression(**options).fit([[0.0], [1.0]], [0, 1])


def test_numbers_that_are_none_are_refused_in_prediction():
    model = discern.LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    for wrong in (np.nan, np.inf):
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            model.predict_proba(np.array([[wrong]]))


def test_a_table_for_people():
    X, y = problem(12, classes=3)
    model = discern.LogisticRegression(penalty=None).fit(X, np.array(["<a>", "b", "c"])[y])
    text, html = str(model.summary()), model.summary()._repr_html_()
    assert "b: x0" in text
    assert "std err" in text
    assert "&lt;a&gt;" in html
    assert "<a>" not in html
    assert len({len(line) for line in text.splitlines() if set(line) <= {"="}}) == 1


def test_the_evidence_is_an_integral():
    # One coefficient: the integral over it can be done by quadrature, and Laplace's value is near.
    from scipy.integrate import quad

    from discern.learners.logistic.inference import laplace

    random = np.random.default_rng(13)
    X = random.standard_normal((60, 1))
    y = (random.random(60) < 1 / (1 + np.exp(-X[:, 0]))).astype(np.int32)
    rows = LabeledRows(X, y, 2, intercept=False)
    for width in (0.3, 1.0, 3.0):

        def joint(w, width=width):
            loss = statistics(X, y, np.array([[w]]), intercept=False, hessian=False).loss
            return np.exp(-loss - 0.5 * (w / width) ** 2) / (width * np.sqrt(2 * np.pi))

        exact = np.log(quad(joint, -10, 10, epsabs=0, epsrel=1e-10)[0])
        assert laplace(rows, width).log_evidence == pytest.approx(exact, abs=0.02)


def test_the_prior_is_chosen_by_evidence():
    X, y = problem(14, columns=6)
    best = discern.BayesianLogisticRegression().fit(X, y)
    for factor in (0.5, 2.0):
        other = discern.BayesianLogisticRegression(prior_scale=best.prior_scale_ * factor).fit(X, y)
        assert other.log_evidence_ < best.log_evidence_


@pytest.mark.parametrize("classes", [2, 3])
def test_averaged_probabilities(classes):
    X, y = problem(15, rows=80, classes=classes)
    sampled = discern.BayesianLogisticRegression(1.0, predictive="sampling", draws=4000, random_state=0).fit(X, y)
    probit = discern.BayesianLogisticRegression(1.0).fit(X, y)
    far = X * 5
    plain = discern.LogisticRegression(C=1.0, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(probit.coef_, plain.coef_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(sampled.predict_proba(X), probit.predict_proba(X), atol=0.05)
    assert probit.predict_proba(far).max(axis=1).mean() < plain.predict_proba(far).max(axis=1).mean()
    np.testing.assert_array_equal(sampled.predict_proba(X), sampled.predict_proba(X))


CHECKED = [
    discern.LogisticRegression(penalty=None),
    discern.LogisticRegression(penalty="firth"),
    discern.LogisticRegression(solver="newton-cg"),
    discern.BayesianLogisticRegression(prior_scale=1.0, predictive="sampling", draws=200),
]


@parametrize_with_checks(CHECKED)
@pytest.mark.filterwarnings("ignore")
def test_conformance(estimator, check):
    check(estimator)


def test_the_conformance_suite_is_not_empty():
    from sklearn.utils.estimator_checks import estimator_checks_generator

    assert all(len(list(estimator_checks_generator(estimator))) > 40 for estimator in CHECKED)


def test_fit_refuses_nothing_silently():
    rows = LabeledRows(np.array([[0.0], [1.0]]), np.array([0, 1], np.int32), 2)
    assert fit_logistic(rows, np.array([1.0, 0.0])).convergence.converged
    with pytest.raises(ValueError, match="one class for each row"):
        statistics(np.zeros((2, 1)), np.array([0, 5]), np.zeros((1, 2)))
    with pytest.raises(ValueError, match="shape"):
        statistics(np.zeros((2, 1)), np.array([0, 1]), np.zeros((1, 5)))
