"""What scripts of scikit-learn's logistic regression see: warnings, refusals, penalties, callbacks, and the patch."""

import warnings
from importlib.util import find_spec

import numpy as np
import pytest
import scipy.sparse
from sklearn.exceptions import ConvergenceWarning

from discern import LogisticRegression, SeparationWarning
from discern.estimators import compat

RANDOM = np.random.default_rng(5)
X = RANDOM.normal(size=(90, 4))
Y = (X @ RANDOM.normal(size=(4, 3)) + RANDOM.gumbel(size=(90, 3))).argmax(axis=1)
BINARY = (Y > 0).astype(int)


@pytest.mark.parametrize(
    ("solver", "beginning"),
    [
        ("auto", "newton did NOT converge"),
        ("lbfgs", "lbfgs failed to converge after 1 iterations"),
        ("newton-cg", "newton-cg failed to converge"),
        ("newton-cholesky", "Newton solver did not converge after 1 iterations"),
        ("liblinear", "Liblinear failed to converge"),
        ("sag", "The max_iter was reached"),
        ("saga", "The max_iter was reached"),
    ],
)
def test_a_warning_begins_as_that_of_the_solver(solver, beginning):
    with pytest.warns(ConvergenceWarning, match=f"^{beginning}"):
        LogisticRegression(solver=solver, max_iter=1).fit(X, BINARY)


def test_filters_of_convergence_warnings_apply_to_separated_classes():
    with pytest.warns(SeparationWarning) as found:
        LogisticRegression(C=np.inf).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    assert issubclass(found[0].category, ConvergenceWarning)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"penalty": "l2", "l1_ratio": 1.0}, "Inconsistent values: penalty=l2 with l1_ratio=1.0"),
        ({"penalty": "l1", "l1_ratio": 0.5}, "only used when penalty is 'elasticnet'"),
        ({"penalty": None, "C": 2.0}, "will ignore the C"),
        ({"n_jobs": 2}, "'n_jobs' has no effect"),
        ({"l1_ratio": None}, "'l1_ratio=None' was deprecated"),
    ],
    ids=str,
)
def test_parameters_without_effect_warn(options, message):
    with pytest.warns((UserWarning, FutureWarning), match=message):
        LogisticRegression(**options).fit(X, BINARY)


def test_a_penalty_that_is_named_wins_over_l1_ratio():
    with pytest.warns(UserWarning, match="Inconsistent"):
        named = LogisticRegression(penalty="l2", l1_ratio=1.0, C=0.05).fit(X, BINARY)
    np.testing.assert_array_equal(named.coef_, LogisticRegression(C=0.05).fit(X, BINARY).coef_)
    by_ratio = LogisticRegression(l1_ratio=1.0, C=0.05).fit(X, BINARY).coef_
    np.testing.assert_array_equal(by_ratio, LogisticRegression(penalty="l1", C=0.05).fit(X, BINARY).coef_)
    assert (by_ratio == 0).any()
    assert (named.coef_ != 0).all()


@pytest.mark.parametrize(
    ("options", "table", "labels", "message"),
    [
        ({}, X, Y, "does not support multiclass"),
        ({"C": np.inf}, X, BINARY, "not supported for the liblinear"),
        ({"l1_ratio": 0.5}, X, BINARY, "elasticnet"),
        ({}, X * 1e40, BINARY, "maximum value > 1e30"),
        ({}, scipy.sparse.csr_array(X * 1e40), BINARY, "maximum value > 1e30"),
    ],
    ids=str,
)
def test_liblinear_takes_what_liblinear_takes(options, table, labels, message):
    with pytest.raises(ValueError, match=message):
        LogisticRegression(solver="liblinear", **options).fit(table, labels)


def test_liblinear_computes_64_bit_numbers():
    narrow = X.astype(np.float32)
    assert LogisticRegression(solver="liblinear").fit(narrow, BINARY).coef_.dtype == np.float64
    assert LogisticRegression().fit(narrow, BINARY).coef_.dtype == np.float32


def test_a_warm_start_from_what_is_no_number_is_refused():
    model = LogisticRegression(warm_start=True).fit(X, BINARY)
    model.coef_[:] = np.nan
    with pytest.raises(ValueError, match="warm_start begins, is not finite"):
        model.fit(X, BINARY)


# ---------------------------------------------------------------------------------------------------------- callbacks


class Seen:
    """A callback that keeps the coefficients at the end of each task."""

    def __init__(self):
        self.ended, self.calls = [], []

    def setup(self, estimator, context):
        self.calls.append("setup")

    def teardown(self, estimator, context):
        self.calls.append("teardown")

    def on_fit_task_begin(self, estimator, context, *, fitted_estimator=None):
        self.calls.append("begin")

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        self.calls.append("end")
        if context.task_name == "iteration" and fitted_estimator is not None:
            self.ended.append(fitted_estimator.coef_.copy())


CALLBACKS = pytest.mark.skipif(find_spec("sklearn.callback") is None, reason="this scikit-learn has no callbacks")


@CALLBACKS
@pytest.mark.parametrize(
    ("table", "labels", "options"),
    [
        (X, BINARY, {}),
        (X, Y, {"fit_intercept": False}),
        (X + 1e4, BINARY, {}),
        (X, BINARY, {"l1_ratio": 1.0}),
        (scipy.sparse.csr_array(np.tile(X, (1, 120))), BINARY, {}),
        (np.tile(X, (4_000, 1)), np.tile(Y, 4_000), {}),
    ],
    ids=["newton", "classes", "far", "lasso", "sparse", "many"],
)
def test_callbacks_see_every_iteration(table, labels, options):
    seen = Seen()
    model = LogisticRegression(**options).set_callbacks(seen).fit(table, labels)
    steps = int(model.n_iter_[0])
    assert seen.calls.count("setup") == seen.calls.count("teardown") == 1
    assert seen.calls.count("begin") == seen.calls.count("end") == steps + 2
    assert len(seen.ended) == steps
    np.testing.assert_allclose(seen.ended[-1], model.coef_, rtol=1e-5, atol=1e-8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = LogisticRegression(**options).fit(table, labels)
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-4, atol=1e-6)


@CALLBACKS
def test_callbacks_of_other_solvers_warn():
    with pytest.warns(UserWarning, match="only supported in LogisticRegression for solver='lbfgs'"):
        LogisticRegression(solver="newton-cg").set_callbacks(Seen())


# ---------------------------------------------------------------------------------------------------------- the patch


@pytest.mark.parametrize("made", [compat.LinearDiscriminantAnalysis, compat.QuadraticDiscriminantAnalysis])
def test_discriminants_of_the_patch_refuse_what_scikit_learn_refuses(made):
    with pytest.raises(NotImplementedError, match="shrinkage not supported"):
        made(shrinkage=0.5).fit(X, Y)
    with pytest.raises(ValueError, match="is not supported with"):
        made(covariance_estimator=compat.LinearDiscriminantAnalysis()).fit(X, Y)
    assert not hasattr(made().fit(X, Y), "covariance_")
    assert hasattr(made(store_covariance=True).fit(X, Y), "covariance_")


def test_only_the_linear_discriminant_of_lsqr_does_not_transform():
    with pytest.raises(NotImplementedError, match="lsqr"):
        compat.LinearDiscriminantAnalysis(solver="lsqr").fit(X, Y).transform(X)
    assert compat.LinearDiscriminantAnalysis().fit(X, Y).transform(X).shape == (90, 2)
