"""Rows to decide about are taken at once where scikit-learn's checks would not change them, and as before elsewhere."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas
import pytest
import scipy.sparse
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import linear_model
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.svm import LinearSVC as SklearnLinearSVC

import discern
from discern.estimators import rows
from discern.estimators.linear import prediction
from discern.learners.linear import MOST_FUNCTIONS, best_functions, linear_scores

NAN, INF = np.nan, np.inf
TABLE = np.abs(np.random.default_rng(0).normal(size=(60, 4))).round(2) + 0.5


class Labeled(np.ndarray):
    """A subclass of arrays."""


def _sparse(indices: Any, values: Any, starts: Any, index: Any = np.int32) -> Any:
    parts = (np.array(values, float), np.array(indices, index), np.array(starts, index))
    rows = scipy.sparse.csr_matrix((len(starts) - 1, 4))
    rows.data, rows.indices, rows.indptr = parts
    return rows


def _read_only(table: Any) -> Any:
    table = table.copy()
    table.flags.writeable = False
    return table


INPUTS: dict[str, Callable[[], Any]] = {
    "doubles": lambda: TABLE[:7],
    "one row": lambda: TABLE[:1],
    "by column": lambda: np.asfortranarray(TABLE[:7]),
    "strided": lambda: TABLE[::3],
    "backwards": lambda: TABLE[::-1, ::-1],
    "singles": lambda: TABLE[:7].astype(np.float32),
    "halves": lambda: TABLE[:7].astype(np.float16),
    "longs": lambda: TABLE[:7].astype(np.int64),
    "bytes": lambda: TABLE[:7].astype(np.uint8),
    "shorts": lambda: TABLE[:7].astype(np.int16),
    "flags": lambda: TABLE[:7] > 1,
    "other order of bytes": lambda: TABLE[:7].astype(">f8"),
    "complex": lambda: TABLE[:7] + 1j,
    "objects": lambda: TABLE[:7].astype(object),
    "strings": lambda: TABLE[:7].astype(str),
    "read-only": lambda: _read_only(TABLE[:7]),
    "subclass": lambda: TABLE[:7].view(Labeled),
    "matrix": lambda: np.asmatrix(TABLE[:7]),
    "list": lambda: TABLE[:7].tolist(),
    "frame": lambda: pandas.DataFrame(TABLE[:7], columns=list("abcd")),
    "frame of other names": lambda: pandas.DataFrame(TABLE[:7], columns=list("abce")),
    "no number": lambda: np.where(TABLE[:7] > 2, NAN, TABLE[:7]),
    "infinite": lambda: np.where(TABLE[:7] > 2, INF, TABLE[:7]),
    "both infinities": lambda: np.array([[INF, -INF, 0.0, 0.0]]),
    "single no number": lambda: np.array([[NAN, 1, 2, 3]], np.float32),
    "narrow": lambda: TABLE[:7, :3],
    "wide": lambda: np.hstack([TABLE[:7], TABLE[:7]]),
    "flat": lambda: TABLE[0],
    "scalar": lambda: np.float64(1.0),
    "cube": lambda: TABLE[:8].reshape(2, 4, 4),
    "no rows": lambda: TABLE[:0],
    "no columns": lambda: TABLE[:7, :0],
    "sparse": lambda: scipy.sparse.csr_matrix(TABLE[:7]),
    "sparse array": lambda: scipy.sparse.csr_array(TABLE[:7]),
    "sparse longs": lambda: scipy.sparse.csr_array(TABLE[:7].astype(np.int64)),
    "sparse singles": lambda: scipy.sparse.csr_array(TABLE[:7].astype(np.float32)),
    "sparse columns": lambda: scipy.sparse.csc_array(TABLE[:7]),
    "sparse, unsorted": lambda: _sparse([3, 0, 2], [1, 2, 3], [0, 2, 2, 3]),
    "sparse, duplicate": lambda: _sparse([1, 1, 2], [1, 2, 3], [0, 2, 2, 3]),
    "sparse, long places": lambda: _sparse([0, 3, 2], [1, 2, 3], [0, 2, 2, 3], np.int64),
    "sparse, no number": lambda: _sparse([0, 3], [1, NAN], [0, 2]),
    "sparse, infinite": lambda: _sparse([0, 3], [1, -INF], [0, 2]),
    "sparse, empty": lambda: _sparse([], [], [0, 0, 0]),
    "sparse, no rows": lambda: scipy.sparse.csr_array((0, 4)),
    "sparse, narrow": lambda: scipy.sparse.csr_array(TABLE[:7, :3]),
    "sparse, flat": lambda: scipy.sparse.csr_array(TABLE[0]),
}
MODELS = {
    "logistic": discern.LogisticRegression,
    "svm": discern.LinearSVC,
    "sgd": discern.SGDClassifier,
    "nbsvm": discern.NBSVM,
    "ridge": discern.RidgeClassifier,
    "ridge cv": discern.RidgeClassifierCV,
    "lda": discern.LinearDiscriminantAnalysis,
    "qda": discern.QuadraticDiscriminantAnalysis,
    "normal": discern.GaussianNB,
    "multinomial": discern.MultinomialNB,
    "bernoulli": discern.BernoulliNB,
    "complement": discern.ComplementNB,
    "categorical": discern.CategoricalNB,
    "perceptron": discern.Perceptron,
    "winnow": discern.Winnow,
    "centroids": discern.NearestCentroid,
    "neighbors": discern.KNeighborsClassifier,
    "svc": discern.SVC,
    "calibrated": lambda: discern.CalibratedClassifier(discern.GaussianNB(), cv=2),
}


def _outcome(method: Callable[[Any], Any], X: Any) -> tuple[Any, list[str]]:
    """Return what a method returns or raises, and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found: Any = method(X)
        except (ValueError, TypeError) as error:
            found = f"{type(error).__name__}: {error}"
    # While a warning is given, what comes after is not certain to come once: those of numpy's arithmetic are not ours.
    told = [str(warning.message) for warning in caught if not issubclass(warning.category, RuntimeWarning)]
    return found, sorted(set(told))


def _fitted(name: str, classes: int, named: bool) -> Any:
    y = np.arange(len(TABLE)) % classes
    X = TABLE + y[:, None] * [[1.0, 0.5, 0.0, 2.0]]
    if name == "categorical":
        X = X.round()
    X = pandas.DataFrame(X, columns=list("abcd")) if named else X
    return MODELS[name]().fit(X, np.array(["p", "q", "r"])[y])


def _as_before(patch: pytest.MonkeyPatch) -> None:
    """Leave all rows to scikit-learn's checks."""
    patch.setattr(rows, "_plain_rows", lambda *_: None)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", MODELS)
def test_rows_taken_at_once_give_what_checked_rows_give(
    name: str, classes: int, named: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = _fitted(name, classes, named)
    methods = [method for method in ("predict", "decision_function", "predict_proba") if hasattr(model, method)]
    for kind, make in INPUTS.items():
        for method in methods:
            found = _outcome(getattr(model, method), make())
            with monkeypatch.context() as patch:
                _as_before(patch)
                expected = _outcome(getattr(model, method), make())
            assert type(found[0]) is type(expected[0]), (kind, method, found[0], expected[0])
            assert found[1] == expected[1], (kind, method)
            if isinstance(found[0], str):
                assert found[0] == expected[0], (kind, method)
            else:
                assert found[0].dtype == expected[0].dtype, (kind, method)
                assert_array_equal(found[0], expected[0], err_msg=f"{kind} {method}")


LINEAR = {
    "logistic": (discern.LogisticRegression, linear_model.LogisticRegression),
    "svm": (discern.LinearSVC, SklearnLinearSVC),
    "sgd": (discern.SGDClassifier, linear_model.SGDClassifier),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", LINEAR)
def test_linear_decisions_errors_and_warnings_are_those_of_scikit_learn(name: str, classes: int, kind: str) -> None:
    ours = _fitted(name, classes, named=False)
    theirs = LINEAR[name][1]()
    for attribute in ("coef_", "intercept_", "classes_", "n_features_in_"):
        setattr(theirs, attribute, getattr(ours, attribute))
    for method in ("decision_function", "predict"):
        found, told = _outcome(getattr(ours, method), INPUTS[kind]())
        expected, wanted = _outcome(getattr(theirs, method), INPUTS[kind]())
        assert told == wanted
        if isinstance(expected, str):
            assert found == expected
        else:
            assert found.dtype == expected.dtype
            assert found.shape == expected.shape
            if method == "predict":
                assert_array_equal(found, expected)
            else:
                assert_allclose(found, expected, rtol=1e-12 if found.dtype == np.float64 else 1e-4, atol=1e-12)


def test_what_is_not_fitted_is_refused() -> None:
    for name in MODELS:
        with pytest.raises(NotFittedError, match="not fitted yet"):
            MODELS[name]().predict(TABLE)


def test_the_configuration_of_scikit_learn_is_respected() -> None:
    model = _fitted("normal", 2, named=False)
    bad = np.array([[NAN, 1.0, 2.0, 3.0]])
    with pytest.raises(ValueError, match="NaN"):
        rows.checked_rows(model, bad)
    with sklearn.config_context(assume_finite=True):
        assert rows.checked_rows(model, bad) is bad
        logistic = _fitted("logistic", 2, named=False)
        assert np.isnan(logistic.decision_function(bad)).all()


def test_usual_rows_are_not_looked_at_by_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("scikit-learn was asked")

    model = _fitted("logistic", 3, named=False)
    monkeypatch.setattr(rows, "validate_data", refuse)
    monkeypatch.setattr(rows, "check_is_fitted", refuse)
    for make in ("doubles", "one row", "by column", "strided", "singles", "longs", "sparse", "sparse array"):
        model.predict(INPUTS[make]())
    with pytest.raises(AssertionError, match="was asked"):
        model.predict(INPUTS["list"]())


def test_a_subclass_with_scores_of_its_own_decides_by_them() -> None:
    class Reversed(discern.LogisticRegression):
        def decision_function(self, X: Any) -> Any:
            return -super().decision_function(X)

    y = np.arange(len(TABLE)) % 2
    plain, reverse = discern.LogisticRegression().fit(TABLE, y), Reversed().fit(TABLE, y)
    assert_array_equal(reverse.predict(TABLE), 1 - plain.predict(TABLE))


@pytest.mark.parametrize("functions", [1, 2, 3, MOST_FUNCTIONS, MOST_FUNCTIONS + 1, 40])
@pytest.mark.parametrize("columns", [1, 2, 7, 8, 9, 40])
@pytest.mark.parametrize("n_rows", [1, 63, 64, 65, 513, 40_000])
def test_scores_and_best_functions_of_any_shape(functions: int, columns: int, n_rows: int) -> None:
    generator = np.random.default_rng(functions * columns)
    whole = generator.integers(-3, 4, size=(n_rows, columns))  # sums of products are exact: ties are, too
    coefficients = generator.integers(-2, 3, size=(functions, columns)).astype(float)
    intercepts = generator.integers(-2, 3, size=functions).astype(float)
    expected = whole @ coefficients.T + intercepts
    for make in (
        lambda table: table.astype(np.float64),
        lambda table: np.asfortranarray(table, np.float64),
        lambda table: table.astype(np.float32),
        lambda table: np.asfortranarray(table, np.int32),
        lambda table: np.repeat(table, 2, axis=0)[::2],
        lambda table: np.repeat(np.repeat(table, 2, axis=1), 3, axis=0)[::3, ::2],
        lambda table: table.astype(np.int16),
        scipy.sparse.csr_array,
    ):
        scores = linear_scores(make(whole), coefficients, intercepts)
        assert_array_equal(scores, expected)
        for at_zero in (False, True):
            best = best_functions(make(whole), coefficients, intercepts, at_zero)
            one = expected[:, 0] >= 0 if at_zero else expected[:, 0] > 0
            assert_array_equal(best, one if functions == 1 else expected.argmax(axis=1))


@pytest.mark.parametrize("functions", [1, 3, 40])
def test_a_score_that_is_not_finite_is_found_wherever_it_is(functions: int) -> None:
    for place in (0, 70, 600, 39_999):
        for bad in (NAN, INF, -INF):
            table = np.ones((40_000, 3))
            table[place, 1] = bad
            for made in (table, np.asfortranarray(table), table.astype(np.float32)):
                assert linear_scores(made, np.ones((functions, 3)), 0.0) is None
                assert best_functions(made, np.ones((functions, 3)), 0.0) is None


def test_coefficients_that_are_not_usual_are_left_to_scikit_learn() -> None:
    assert linear_scores(TABLE, scipy.sparse.csr_array(np.ones((1, 4))), 0.0) is None
    assert best_functions(TABLE, np.ones(4), 0.0) is None
    y = np.arange(len(TABLE)) % 3
    model = discern.LogisticRegression().fit(TABLE, y)
    dense = model.predict(TABLE)
    assert_array_equal(model.sparsify().predict(TABLE), dense)
    assert issubclass(discern.LogisticRegression, prediction.LinearClassifierMixin)


@pytest.mark.parametrize("classes", [2, 3])
def test_rows_of_one_number_are_scored_as_by_scikit_learn(classes: int) -> None:
    y = np.arange(len(TABLE)) % classes
    X = TABLE[:, :1] + y[:, None]
    for ours, theirs in (
        (discern.GaussianNB(var_smoothing=0.0), GaussianNB(var_smoothing=0.0)),
        (discern.QuadraticDiscriminantAnalysis(divisor="likelihood"), QuadraticDiscriminantAnalysis()),
        (discern.LinearDiscriminantAnalysis(divisor="likelihood"), LinearDiscriminantAnalysis()),
    ):
        ours.fit(X, y), theirs.fit(X, y)
        assert_array_equal(ours.predict(X), theirs.predict(X))
        assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-9)
        assert_allclose(ours.predict_proba(X)[:1], ours.predict_proba(X[:1]), rtol=1e-12)


@pytest.mark.parametrize("make", [np.asarray, np.asfortranarray, scipy.sparse.csr_array, scipy.sparse.csc_array])
@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, np.uint8, np.bool_])
@pytest.mark.parametrize("threshold", [None, 0.0, 0.5, 2.0])
@pytest.mark.parametrize("alpha", [1.0, 0.0])
def test_bernoulli_decides_as_its_probabilities_do(alpha: float, threshold: Any, kind: Any, make: Any) -> None:
    X = make(np.random.default_rng(3).integers(0, 4, (50, 6)).astype(kind))
    y = np.arange(50) % 3
    options: dict[str, Any] = {
        "alpha": alpha,
        "binarize": threshold if threshold is not None or kind is np.bool_ else 0.0,
    }
    with np.errstate(all="ignore"):
        ours, theirs = discern.BernoulliNB(**options).fit(X, y), BernoulliNB(**options).fit(X, y)
        if alpha:
            assert_allclose(ours.predict_joint_log_proba(X), theirs.predict_joint_log_proba(X), rtol=1e-9)
            assert_array_equal(ours.predict(X), theirs.predict(X))
        assert_array_equal(ours.predict(X), ours.classes_[ours.predict_joint_log_proba(X).argmax(axis=1)])


@pytest.mark.parametrize("solver", ["svd", "eigen"])
def test_variates_refuse_what_is_not_finite(solver: str) -> None:
    model = discern.LinearDiscriminantAnalysis(solver=solver).fit(TABLE, np.arange(len(TABLE)) % 3)
    expected = (TABLE - (0.0 if solver == "eigen" else model.xbar_)) @ model.scalings_[:, :2]
    assert_allclose(model.transform(TABLE), expected, rtol=1e-9, atol=1e-12)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        model.transform(np.full((3, 4), NAN))
