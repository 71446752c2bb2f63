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


def wanted(estimator):
    """At least 50 checks, unless scikit-learn has fewer for its own estimator of the same name."""
    theirs = dict(all_estimators()).get(type(estimator).__name__)
    return 50 if theirs is None else min(50, len(list(estimator_checks_generator(theirs()))))


@pytest.mark.parametrize("estimator", matrix_estimators(), ids=lambda estimator: type(estimator).__name__)
@pytest.mark.filterwarnings("ignore")
def test_enough_checks_run_and_all_hold(estimator):
    results = check_estimator(estimator, on_skip=None, on_fail="raise")
    assert {result["status"] for result in results} == {"passed"}
    assert len(results) >= wanted(estimator)
