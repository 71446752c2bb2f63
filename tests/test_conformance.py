"""scikit-learn's own checks on every public estimator that takes a matrix, counted as they run."""

from inspect import signature

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags
from sklearn.utils.discovery import all_estimators
from sklearn.utils.estimator_checks import check_estimator, estimator_checks_generator

import discern


def make(kind):
    """Some estimators stand around another one."""
    return kind(discern.GaussianNB()) if "estimator" in signature(kind).parameters else kind()


def matrix_estimators():
    kinds = [getattr(discern, name) for name in discern.__all__ if isinstance(getattr(discern, name), type)]
    made = [make(kind) for kind in kinds if issubclass(kind, BaseEstimator)]
    return [estimator for estimator in made if get_tags(estimator).input_tags.two_d_array]


LIKE = {"QuadraticFeatures": "PolynomialFeatures"}
"""Estimators that scikit-learn has under another name."""
SKIPPED = {"KNeighborsClassifier": {"check_classifiers_multilabel_output_format_decision_function"}}
"""Checks that scikit-learn skips for its own estimator of the name, too."""


def wanted(estimator):
    """At least 50 checks, unless scikit-learn has fewer for its own estimator, without those of other array libraries."""
    name = type(estimator).__name__
    theirs = dict(all_estimators()).get(LIKE.get(name, name))
    if theirs is None:
        return 50
    names = [check.func.__name__ for _, check in estimator_checks_generator(theirs())]
    return min(50, sum(not name.startswith("check_array_api") for name in names))


@pytest.mark.parametrize("estimator", matrix_estimators(), ids=lambda estimator: type(estimator).__name__)
@pytest.mark.filterwarnings("ignore")
def test_enough_checks_run_and_all_hold(estimator):
    results = check_estimator(estimator, on_skip=None, on_fail="raise")
    skipped = {result["check_name"] for result in results if result["status"] == "skipped"}
    assert {result["status"] for result in results} <= {"passed", "skipped"}
    assert skipped <= SKIPPED.get(type(estimator).__name__, set())
    assert len(results) - len(skipped) >= wanted(estimator)
