"""Discriminant analysis gives what scikit-learn gives, adds up, and survives what cannot be inverted."""

import warnings

import numpy as np
import pytest
import sklearn.discriminant_analysis as reference
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.covariance import OAS
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.utils.estimator_checks import parametrize_with_checks

import discern
from discern.learners.covariances import CovarianceSettings, SingularCovarianceWarning
from discern.learners.discriminants import solve_linear

LINEAR, QUADRATIC = discern.LinearDiscriminantAnalysis, discern.QuadraticDiscriminantAnalysis
DATA = [load_iris, load_wine, load_breast_cancer]


def log_posterior(model, X):
    decision = model.decision_function(X)
    scores = np.stack([np.zeros(len(decision)), decision], axis=1) if decision.ndim == 1 else decision
    return scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)


def agree(ours, theirs, X):
    expected = log_posterior(theirs, X)
    np.testing.assert_allclose(ours.predict_log_proba(X), expected, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(ours.predict_proba(X), np.exp(expected), rtol=1e-7, atol=1e-8)
    assert (ours.predict(X) == theirs.predict(X)).all()


def problem(seed, rows=300, columns=4, classes=3):
    random = np.random.default_rng(seed)
    means = random.normal(0, 2, (classes, columns))
    shape = random.normal(0, 1, (classes, columns, columns)) * 0.4 + np.eye(columns)
    y = np.concatenate([np.arange(classes).repeat(20), random.integers(0, classes, rows - 20 * classes)])
    noise = random.standard_normal((rows, columns))
    return means[y] + np.einsum("ij,ijk->ik", noise, shape[y]), np.array(["a", "b", "c", "d", "e"])[y]


# ------------------------------------------------------------------------------------------ scikit-learn's numbers


@pytest.mark.parametrize("load", [*DATA, load_digits])
@pytest.mark.parametrize("solver", ["svd", "lsqr"])
@pytest.mark.parametrize("given", [False, True], ids=["data priors", "given priors"])
def test_linear_equals_the_reference(load, solver, given):
    X, y = load(return_X_y=True)
    classes = len(np.unique(y))
    priors = np.arange(1.0, classes + 1) / (classes * (classes + 1) / 2) if given else None
    ours = LINEAR(solver, priors=priors, divisor="likelihood").fit(X, y)
    theirs = reference.LinearDiscriminantAnalysis(solver, priors=priors).fit(X, y)
    agree(ours, theirs, X)
    for name in ("means_", "priors_", *(["xbar_", "explained_variance_ratio_"] if solver == "svd" else [])):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("load", DATA)
@pytest.mark.parametrize("solver", ["svd", "lsqr", "eigen"])
def test_coefficients_and_variates_equal_the_reference(load, solver):
    X, y = load(return_X_y=True)
    ours, theirs = LINEAR(solver, divisor="likelihood"), reference.LinearDiscriminantAnalysis(solver)
    ours, theirs = ours.fit(X, y), theirs.fit(X, y)
    scale = np.abs(theirs.coef_).max()
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6, atol=1e-8 * scale)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-7)
    if solver != "lsqr":  # where scikit-learn has none
        mine, other = ours.transform(X), theirs.transform(X)
        np.testing.assert_allclose(mine * np.sign(mine[0] * other[0]), other, rtol=1e-6, atol=1e-6)
    else:
        np.testing.assert_allclose(ours.covariance_, theirs.covariance_, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("load", DATA)
@pytest.mark.parametrize("options", [{}, {"reg_param": 0.1}, {"priors": "uniform"}], ids=str)
def test_quadratic_equals_the_reference(load, options):
    X, y = load(return_X_y=True)
    if load is load_breast_cancer:  # scikit-learn's bound for a singular covariance is absolute
        X = X / X.std(axis=0) * 10
    if options.get("priors") == "uniform":
        options = {"priors": np.full(len(np.unique(y)), 1 / len(np.unique(y)))}
    ours = QUADRATIC(divisor="likelihood", **options).fit(X, y)
    theirs = reference.QuadraticDiscriminantAnalysis(store_covariance=True, **options).fit(X, y)
    agree(ours, theirs, X)
    for mine, other in zip(ours.covariance_, theirs.covariance_, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-8, atol=1e-10)
    for mine, other in zip(ours.scalings_, theirs.scalings_, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("load", DATA)
@pytest.mark.parametrize("shrinkage", ["auto", 0.3, 1.0])
def test_shrinkage_equals_the_reference(load, shrinkage):
    X, y = load(return_X_y=True)
    X = X / X.std(axis=0)  # the reference loses digits where columns have very different scales
    ours = LINEAR("lsqr", shrinkage, divisor="likelihood").fit(X, y)
    theirs = reference.LinearDiscriminantAnalysis("lsqr", shrinkage).fit(X, y)
    np.testing.assert_allclose(ours.covariance_, theirs.covariance_, rtol=1e-8, atol=1e-10)
    agree(ours, theirs, X)
    ours = QUADRATIC(solver="eigen", shrinkage=shrinkage, divisor="likelihood").fit(X, y)
    theirs = reference.QuadraticDiscriminantAnalysis(solver="eigen", shrinkage=shrinkage).fit(X, y)
    agree(ours, theirs, X)


def test_a_covariance_estimator_is_used_as_in_the_reference():
    X, y = load_wine(return_X_y=True)
    ours = LINEAR("lsqr", covariance_estimator=OAS()).fit(X, y)
    agree(ours, reference.LinearDiscriminantAnalysis("lsqr", covariance_estimator=OAS()).fit(X, y), X)
    with pytest.raises(ValueError, match="all rows at once"):
        ours.partial_fit(X, y)
    with pytest.raises(ValueError, match="svd solver"):
        LINEAR(covariance_estimator=OAS()).fit(X, y)


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(2, 5), st.floats(-1e3, 1e3))
def test_generated_problems_equal_the_reference(seed, columns, classes, far):
    X, y = problem(seed, 400, columns, classes)
    # What is ill-conditioned is shrunk, which the reference does not do.
    assume(all(np.linalg.cond(np.atleast_2d(np.corrcoef(X[y == label].T))) < 1e5 for label in np.unique(y)))
    X = X + far
    agree(LINEAR(divisor="likelihood").fit(X, y), reference.LinearDiscriminantAnalysis().fit(X, y), X)
    theirs = reference.QuadraticDiscriminantAnalysis(tol=0.0).fit(X, y)
    agree(QUADRATIC(divisor="likelihood").fit(X, y), theirs, X)


def test_the_unbiased_covariances_are_those_of_the_textbooks():
    X, y = problem(1)
    parts = [X[y == label] for label in np.unique(y)]
    pooled = sum((part - part.mean(axis=0)).T @ (part - part.mean(axis=0)) for part in parts) / (len(X) - len(parts))
    linear, quadratic = LINEAR().fit(X, y), QUADRATIC().fit(X, y)
    np.testing.assert_allclose(linear.covariance_, pooled, rtol=1e-12)
    for covariance, part in zip(quadratic.covariance_, parts, strict=True):
        np.testing.assert_allclose(covariance, np.cov(part.T), rtol=1e-12)
    precision, priors = np.linalg.inv(pooled), linear.priors_
    functions = [
        X @ precision @ mean - 0.5 * mean @ precision @ mean + np.log(prior)
        for mean, prior in zip(linear.means_, priors, strict=True)
    ]
    textbook = LINEAR("lsqr").fit(X, y)
    np.testing.assert_allclose(textbook.decision_function(X), np.stack(functions, axis=1), rtol=1e-9, atol=1e-9)


# ---------------------------------------------------------------------------------------------------------- sums


@pytest.mark.parametrize(
    "make", [LINEAR, QUADRATIC, lambda: LINEAR(shrinkage="auto"), lambda: QUADRATIC(shrinkage="auto")]
)
@pytest.mark.parametrize("parts", [1, 2, 5])
def test_batches_merging_and_forgetting_give_what_fit_gives(make, parts):
    random = np.random.default_rng(5)
    X, y = problem(2)
    whole, stream = make().fit(X, y), make()
    for part in np.array_split(random.permutation(len(X)), parts):
        stream.partial_fit(X[part], y[part])
    merged = make().fit(X[:150], y[:150]).merge(make().fit(X[150:], y[150:]))
    more = random.normal(50, 9, (40, 4))
    longer = make().fit(np.vstack([X, more]), [*y, *["new"] * 40]).forget(more, ["new"] * 40)
    for other in (stream, merged, longer):
        assert other.classes_.tolist() == whole.classes_.tolist()
        np.testing.assert_allclose(other.predict_log_proba(X), whole.predict_log_proba(X), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("kind", [LINEAR, QUADRATIC])
def test_weights_count_as_repetitions(kind):
    X, y = problem(3)
    weights = np.random.default_rng(3).integers(0, 4, len(X))
    repeated = kind().fit(X.repeat(weights, axis=0), y.repeat(weights))
    np.testing.assert_allclose(
        kind().fit(X, y, weights).predict_log_proba(X), repeated.predict_log_proba(X), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("kind", [LINEAR, QUADRATIC])
def test_rows_far_from_zero_keep_their_digits(kind):
    X, y = problem(4, 100_000)
    near = kind().fit(X, y).predict_log_proba(X[:1000])
    far = X + np.array([1e9, -1e7, 1e5, 0.0])
    model = kind().fit(far, y).forget(far[:50_000], y[:50_000]).partial_fit(far[:50_000], y[:50_000])
    np.testing.assert_allclose(model.predict_log_proba(far[:1000]), near, rtol=1e-4, atol=1e-5)


def test_single_precision_is_summed_in_double():
    X, y = problem(5)
    single = X.astype(np.float32)
    found, expected = LINEAR().fit(single, y).coef_, LINEAR().fit(single.astype(np.float64), y).coef_
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=2.0**-24)  # rounded once, at the end


@pytest.mark.parametrize("kind", [LINEAR, QUADRATIC])
def test_rows_never_learned_are_refused(kind):
    X, y = problem(6)
    model = kind().fit(X, y)
    before = model.predict_log_proba(X)
    for rows, labels in [(X + 100, y), (X[:1], ["z"]), (X, y), (np.vstack([X, X]), [*y, *y])]:
        with pytest.raises(ValueError, match=r"cannot forget|cannot forget all rows"):
            model.forget(rows, labels)
    assert (model.predict_log_proba(X) == before).all()


def test_models_with_other_parameters_do_not_merge():
    X, y = problem(7)
    with pytest.raises(ValueError, match="same parameters"):
        LINEAR(priors=[0.2, 0.3, 0.5]).fit(X, y).merge(LINEAR(priors=[0.3, 0.3, 0.4]).fit(X, y))
    priors = np.array([0.2, 0.3, 0.5])
    assert LINEAR(priors=priors).fit(X, y).merge(LINEAR(priors=priors.copy()).fit(X, y)).classes_.tolist() == [*"abc"]


# ------------------------------------------------------------------------------------------- what cannot be inverted


def singular_cases():
    X, y = problem(8)
    small, labels = problem(9, 60, 40)
    constant_within = np.column_stack([X, np.unique(y, return_inverse=True)[1]])
    return {
        "a column twice": (np.column_stack([X, X[:, 0]]), y),
        "nearly twice": (np.column_stack([X, X[:, 0] * (1 + 1e-9) + 1e-9]), y),
        "fewer rows than columns": (small[::2], labels[::2]),
        "constant within the classes": (constant_within, y),
        "every class one point": (X[:3].repeat(4, axis=0), np.array(["a", "b", "c"]).repeat(4)),
        "one row a class": (X[:3], np.array(["a", "b", "c"])),
        "a class of one row": (np.vstack([X, X[:1]]), [*y, "z"]),
    }


@pytest.mark.parametrize("case", singular_cases())
@pytest.mark.parametrize("kind", [LINEAR, QUADRATIC])
def test_singular_covariances_are_shrunk_and_told(kind, case):
    X, y = singular_cases()[case]
    y = np.asarray(y)
    if case == "a class of one row" and kind is LINEAR:
        model = kind().fit(X, y)  # nothing is singular
    else:
        with pytest.warns(SingularCovarianceWarning, match=r"singular|only one row"):
            model = kind().fit(X, y)
    proba = model.predict_proba(X)
    assert np.isfinite(proba).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert (model.predict(X) == y).mean() > 0.8


def test_one_column_given_twice_decides_as_given_once():
    X, y = problem(10, 5000)
    once = LINEAR().fit(X, y)
    with pytest.warns(SingularCovarianceWarning):
        twice = LINEAR().fit(np.column_stack([X, X[:, 0]]), y)
    assert (twice.predict(np.column_stack([X, X[:, 0]])) == once.predict(X)).mean() > 0.99


@pytest.mark.parametrize("kind", [LINEAR, QUADRATIC])
def test_a_column_that_never_varies_has_no_weight(kind):
    X, y = problem(11)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = kind().fit(np.column_stack([X, np.full(len(X), 0.1)]), y)
    np.testing.assert_allclose(
        model.predict_log_proba(np.column_stack([X, np.full(len(X), 7.0)])),
        kind().fit(X, y).predict_log_proba(X),
        rtol=1e-9,
        atol=1e-9,
    )


def test_weights_that_sum_to_less_than_the_classes_are_refused():
    X, y = problem(12)
    with pytest.raises(ValueError, match="count as repetitions"):
        LINEAR().fit(X, y, np.full(len(X), 0.5 / len(X)))
    proba = LINEAR(divisor="likelihood").fit(X, y, np.full(len(X), 0.5 / len(X))).predict_proba(X)
    np.testing.assert_allclose(proba, LINEAR(divisor="likelihood").fit(X, y).predict_proba(X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_is_refused(value):
    X, y = problem(13)
    for model in (LINEAR().fit(X, y), QUADRATIC().fit(X, y)):
        broken = X.copy()
        broken[-1, 2] = value
        for method in (model.predict, model.predict_proba, model.decision_function, model.predict_log_proba):
            with pytest.raises(ValueError, match=r"NaN|infinity"):
                method(broken)
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            model.partial_fit(broken, y)


@pytest.mark.parametrize("make", [LINEAR, QUADRATIC, lambda: QUADRATIC(shrinkage="auto"), discern.RidgeClassifier])
def test_numbers_too_large_to_multiply_are_refused(make):
    X, y = problem(16)
    with pytest.raises(ValueError, match="too large"):
        make().fit(X * 1e200, y)


def test_many_classes_are_scored_in_groups():
    X, y = problem(17, 2000, 5, 5)
    y = np.array([f"{label}{number}" for label, number in zip(y, np.arange(2000) % 50, strict=True)])
    model = QUADRATIC(shrinkage=0.5).fit(X, y)
    scores = model.decision_function(X[:7])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("discern.learners.discriminants.QUADRATIC_BYTES", 1)
        np.testing.assert_allclose(model.decision_function(X[:7]), scores, rtol=1e-9)
    assert scores.shape == (7, 250)


def test_labels_outside_classes_are_refused():
    X, y = problem(14)
    with pytest.raises(ValueError, match="not in classes"):
        LINEAR().partial_fit(X, y, classes=["a", "b"])


def test_the_solver_takes_covariances_that_are_given():
    X, y = problem(15)
    scatter = LINEAR().fit(X, y)._scatter
    priors = np.full(3, 1 / 3)
    model = solve_linear(scatter, priors, CovarianceSettings(), given=np.eye(4))
    np.testing.assert_allclose(model.coefficients, scatter.means() - scatter.means().mean(axis=0), atol=1e-12)


@parametrize_with_checks(
    [
        LINEAR("eigen", "auto"),
        LINEAR("lsqr", 0.1, divisor="likelihood"),
        QUADRATIC(shrinkage="auto"),
    ]
)
@pytest.mark.filterwarnings("ignore")
def test_conformance(estimator, check):
    check(estimator)
