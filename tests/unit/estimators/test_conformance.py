"""What every public estimator must do: scikit-learn's own checks, counted, and what they do not look at.

The estimators are read from the package itself, so that a new one cannot be forgotten. Those that take texts have a suite
of their own in ``test_text_conformance.py``, and the checks of the second half here.
"""

import pickle
from collections import Counter
from inspect import signature
from unittest import SkipTest

import joblib
import numpy as np
import pandas
import pytest
import sklearn
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

import discern

GIVEN = {
    "LogisticRegressionCV": {"l1_ratios": (0.0,), "scoring": "accuracy", "use_legacy_attributes": False, "cv": 3},
}
"""Parameters whose defaults scikit-learn is about to change, so that leaving them out warns."""


def make(kind):
    """Some estimators stand around another one."""
    return (
        kind(discern.GaussianNB())
        if "estimator" in signature(kind).parameters
        else kind(**GIVEN.get(kind.__name__, {}))
    )


def is_ours(kind):
    """Whether a public name is an estimator, and not one of scikit-learn's own that is only handed on."""
    return isinstance(kind, type) and issubclass(kind, BaseEstimator) and kind.__module__.startswith("discern.")


def public_estimators():
    kinds = [getattr(discern, name) for name in sorted(discern._HOMES)]
    return [make(kind) for kind in kinds if is_ours(kind)]


def takes_matrix(estimator):
    return get_tags(estimator).input_tags.two_d_array


def name_of(estimator):
    return type(estimator).__name__


EVERY = public_estimators()
OTHER_SETTINGS = [
    discern.ComplementNB(norm=True),
    discern.QuadraticFeatures(squares=False),
    discern.SelectKBest(k=1),
    discern.TfidfTransformer(norm="l1", use_idf=False, sublinear_tf=True),
]
"""Checked once more: they do something else. Of most transformers scikit-learn has fewer than 50 checks."""
MATRIX = [*filter(takes_matrix, EVERY), *OTHER_SETTINGS]

SKIPPED = {
    "KNeighborsClassifier": {"check_classifiers_multilabel_output_format_decision_function"},
    "RidgeClassifier": {"check_classifiers_multilabel_output_format_predict_proba"},
    "RidgeClassifierCV": {"check_classifiers_multilabel_output_format_predict_proba"},
}
"""Checks that scikit-learn skips for its own estimator of the name, too. No others may be skipped."""

# ------------------------------------------------------------------------------------- scikit-learn's own checks


NOT_EQUIVALENT = "sample_weight is not equivalent to removing/repeating samples, as scikit-learn says of its own"


def expected_to_fail(estimator):
    """Stochastic gradient descent draws rows: a row of weight two is not one that is drawn twice."""
    checks = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
    return dict.fromkeys(checks, NOT_EQUIVALENT) if isinstance(estimator, discern.SGDClassifier) else {}


@parametrize_with_checks(MATRIX, expected_failed_checks=expected_to_fail, xfail_strict=True)
@pytest.mark.filterwarnings("ignore")
def test_conformance(estimator, check):
    try:
        check(estimator)
    except SkipTest:
        assert check.func.__name__ in SKIPPED.get(name_of(estimator), ())


@pytest.mark.filterwarnings("ignore")
def test_at_least_fifty_checks_of_each_are_executed():
    executed = Counter()
    for estimator in MATRIX:
        names = [check.func.__name__ for _, check in estimator_checks_generator(estimator)]
        executed[name_of(estimator)] += sum(name not in SKIPPED.get(name_of(estimator), ()) for name in names)
    assert len(executed) == sum(map(takes_matrix, EVERY))
    assert {name: number for name, number in executed.items() if number < 50} == {}


def test_no_estimator_is_forgotten():
    from tests.unit.estimators.test_text_conformance import ESTIMATORS

    checked = {name_of(estimator) for estimator in (*MATRIX, *ESTIMATORS)}
    assert {name_of(estimator) for estimator in EVERY} == checked
    assert len(checked) >= 30


# ---------------------------------------------------------------------------------------- data that all can take

GRIDS = {
    "BalancedWinnow": {"factor": [1.5, 2.0]},
    "BasicLinearClassifier": {"kernel": ["linear", "rbf"]},
    "BayesianLogisticRegression": {"prior_scale": [1.0, 2.5]},
    "CalibratedClassifier": {"estimator__var_smoothing": [1e-9, 1e-3]},
    "CountVectorizer": {"ngram_range": [(1, 1), (1, 2)]},
    "DecisionClassifier": {"estimator__var_smoothing": [1e-9, 1e-3]},
    "Discretizer": {"n_bins": [2, 3]},
    "GaussianBasis": {"n_centers": [2, 3]},
    "GaussianNB": {"var_smoothing": [1e-9, 1e-3]},
    "HashingVectorizer": {"norm": ["l1", "l2"]},
    "KNeighborsClassifier": {"n_neighbors": [1, 3]},
    "LinearDiscriminantAnalysis": {"shrinkage": [None, 0.5], "solver": ["lsqr"]},
    "LinearSVC": {"C": [0.1, 1.0]},
    "LogisticRegression": {"C": [0.1, 1.0]},
    "LogisticRegressionCV": {"Cs": [[0.1, 1.0], [1.0]]},
    "NBSVM": {"C": [0.1, 1.0]},
    "NaiveBayes": {"smoothing": [0.5, 1.0]},
    "OnlineTextClassifier": {"learning_rate": [1.0, 2.0]},
    "Perceptron": {"max_iter": [50, 100]},
    "QuadraticDiscriminantAnalysis": {"reg_param": [0.0, 0.1]},
    "QuadraticFeatures": {"squares": [True, False]},
    "RidgeClassifier": {"alpha": [0.1, 1.0]},
    "RidgeClassifierCV": {"fit_intercept": [True, False]},
    "SVC": {"C": [0.1, 1.0]},
    "SelectKBest": {"k": [1, 2]},
    "TfidfTransformer": {"norm": ["l1", "l2"]},
    "TfidfVectorizer": {"sublinear_tf": [True, False]},
    "UnigramLanguageModel": {"smoothing": [0.1, 1.0]},
    "Winnow": {"factor": [1.5, 2.0]},
}
"""What is searched over; by default the smoothing of naive Bayes."""
NAMES = ["first", "second", "third"]
SEEDED = np.random.default_rng(7)
CLASSES = np.array(["ham", "spam"])[np.arange(40) % 2]
NUMBERS = (SEEDED.poisson(2.0, (40, 3)) + 3 * (np.arange(40) % 2)[:, None] * [1, 0, 1]).astype(float)
FRAME = pandas.DataFrame(NUMBERS, columns=NAMES)
TEXTS = [f"{'lunch noon' if label == 'ham' else 'win prize'} word{i % 5}" for i, label in enumerate(CLASSES)]


SETTINGS = {
    "GaussianBasis": {"n_centers": 3, "random_state": 0},
    "BalancedWinnow": {"binarize": 3.0},
    "HashingVectorizer": {"n_features": 512, "key": 7},
    "SGDClassifier": {"random_state": 0},
    "SelectKBest": {"k": 2},
}
"""What suits these data, where the defaults do not."""
EVERY = [clone(one).set_params(**SETTINGS.get(name_of(one), {})) for one in EVERY]


def data_of(estimator):
    return FRAME if takes_matrix(estimator) else TEXTS


def fitted(estimator, data=None):
    return clone(estimator).fit(data_of(estimator) if data is None else data, CLASSES)


def result(estimator, data):
    """What an estimator says of rows, as an array."""
    for method in ("predict_proba", "decision_function", "predict", "transform"):
        if hasattr(estimator, method):
            found = getattr(estimator, method)(data)
            return found.toarray() if hasattr(found, "toarray") else np.asarray(found)
    raise AssertionError("it says nothing")


def classifying(estimator):
    """A pipeline that ends with a classifier; the estimator is its step ``tested``."""
    steps = [("tested", clone(estimator))]
    if not is_classifier(estimator):
        steps.append(("decide", discern.LinearSVC()))
    return Pipeline(steps)


every = pytest.mark.parametrize("estimator", EVERY, ids=name_of)
of_matrix = pytest.mark.parametrize("estimator", [one for one in EVERY if takes_matrix(one)], ids=name_of)
transforming = pytest.mark.parametrize(
    "estimator", [one for one in EVERY if hasattr(one, "transform") and takes_matrix(one)], ids=name_of
)

# ------------------------------------------------------------------------------------------ copies and processes


@every
def test_a_clone_has_the_parameters_and_nothing_learned(estimator):
    model = fitted(estimator)
    copied = clone(model)
    assert repr(copied.get_params()) == repr(estimator.get_params())
    assert not [name for name in vars(copied) if name.endswith("_") and not name.startswith("_")]
    np.testing.assert_array_equal(result(fitted(copied), data_of(estimator)), result(model, data_of(estimator)))


@every
def test_pickling_for_other_processes(estimator):
    model = fitted(estimator)
    expected = result(model, data_of(estimator))
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        copied = pickle.loads(pickle.dumps(model, protocol))
        np.testing.assert_array_equal(result(copied, data_of(estimator)), expected)
        assert repr(copied.get_params()) == repr(model.get_params())


def test_joblib_carries_every_estimator_to_another_process():
    models = [fitted(estimator) for estimator in EVERY]
    found = joblib.Parallel(n_jobs=2)(joblib.delayed(result)(model, data_of(model)) for model in models)
    for model, array in zip(models, found, strict=True):
        np.testing.assert_array_equal(array, result(model, data_of(model)), err_msg=name_of(model))


@pytest.mark.parametrize("kind", [discern.LinearDiscriminantAnalysis, discern.QuadraticDiscriminantAnalysis])
def test_priors_are_copied(kind):
    priors = np.array([0.3, 0.7])
    model = kind(priors=priors).fit([[0.0], [1.0], [4.0], [6.0]], [0, 0, 1, 1])
    priors[0] = 0.9
    assert model.priors_.tolist() == [0.3, 0.7]


# -------------------------------------------------------------------------------------------- names and frames


@of_matrix
def test_names_of_columns_are_kept_and_watched(estimator):
    model = fitted(estimator)
    assert model.feature_names_in_.tolist() == NAMES
    assert model.n_features_in_ == len(NAMES)
    with pytest.raises(ValueError, match="feature names should match"):
        result(model, FRAME[NAMES[::-1]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        result(model, NUMBERS)
    assert not hasattr(fitted(estimator, NUMBERS), "feature_names_in_")


@transforming
def test_set_output_gives_frames_with_names(estimator):
    model = clone(estimator)
    if isinstance(model, discern.Discretizer):
        model.set_params(encode="ordinal")
    if isinstance(model, discern.TfidfTransformer):
        assert not hasattr(model, "set_output")  # as in scikit-learn: a sparse matrix cannot be a frame
        return
    plain = model.fit(FRAME, CLASSES).transform(FRAME)
    for library in ("pandas", "polars"):
        frame = clone(model).set_output(transform=library).fit(FRAME, CLASSES).transform(FRAME)
        assert type(frame).__module__.split(".")[0] == library
        assert list(frame.columns) == model.get_feature_names_out().tolist()
        np.testing.assert_array_equal(frame.to_numpy(), plain)


# ------------------------------------------------------------------------------------- with the rest of scikit-learn


@every
def test_in_a_pipeline(estimator):
    data = data_of(estimator)
    model = classifying(estimator).fit(data, CLASSES)
    assert model.predict(data).shape == CLASSES.shape
    assert model.score(data, CLASSES) > 0.6
    if takes_matrix(estimator):
        scaled = make_pipeline(sklearn.preprocessing.MinMaxScaler(), classifying(estimator)).fit(data, CLASSES)
        assert set(scaled.predict(data)) <= set(CLASSES)


@every
def test_in_a_grid_search(estimator):
    searched = GRIDS.get(name_of(estimator), {"alpha": [0.1, 1.0]})
    grid = {f"tested__{name}": values for name, values in searched.items()}
    search = GridSearchCV(classifying(estimator), grid, cv=3, error_score="raise")
    search.fit(data_of(estimator), CLASSES)
    assert search.best_params_.keys() == grid.keys()
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_score_ > 0.55


# --------------------------------------------------------------------------------------------- metadata routing

WEIGHED = [one for one in EVERY if is_classifier(one) and "sample_weight" in signature(type(one).fit).parameters]
weighed = pytest.mark.parametrize("estimator", WEIGHED, ids=name_of)
WEIGHTS = np.where(CLASSES == "spam", 3.0, 1.0)


@weighed
def test_weights_are_routed_through_pipelines_and_searches(estimator):
    with sklearn.config_context(enable_metadata_routing=True):
        asking = clone(estimator)
        if "estimator" in asking.get_params(deep=False):
            asking.set_params(estimator=discern.GaussianNB().set_fit_request(sample_weight=True))
        asking.set_fit_request(sample_weight=True)
        if name_of(asking) == "LogisticRegressionCV":  # the scorer asks, for scores too
            asking.set_params(scoring=get_scorer("accuracy").set_score_request(sample_weight=True))
            scored = asking
        else:
            scored = clone(asking).set_score_request(sample_weight=True)
        expected = clone(asking).fit(FRAME, CLASSES, sample_weight=WEIGHTS)
        routed = Pipeline([("tested", clone(asking))]).fit(FRAME, CLASSES, sample_weight=WEIGHTS)
        np.testing.assert_array_equal(result(routed, FRAME), result(expected, FRAME))
        scores = cross_validate(Pipeline([("tested", scored)]), FRAME,
            CLASSES, cv=2, params={"sample_weight": WEIGHTS}, error_score="raise")  # fmt: skip
        assert np.isfinite(scores["test_score"]).all()


@weighed
def test_weights_that_nobody_asked_for_are_refused(estimator):
    with sklearn.config_context(enable_metadata_routing=True):
        silent = Pipeline([("tested", clone(estimator))])
        with pytest.raises((UnsetMetadataPassedError, TypeError)):
            silent.fit(FRAME, CLASSES, sample_weight=WEIGHTS)
