"""sample_weight together with class_weight, against scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn import linear_model, naive_bayes, svm

from discern.estimators.kernel import SVC
from discern.estimators.linear.logistic import LogisticRegression
from discern.estimators.linear.margins import LinearSVC
from discern.estimators.linear.ridge import RidgeClassifier
from discern.estimators.naive_bayes.categorical import CategoricalNB
from discern.estimators.naive_bayes.counts import BernoulliNB, ComplementNB, MultinomialNB
from discern.estimators.naive_bayes.gaussian import GaussianNB

CLASS_WEIGHTS = [None, "balanced", {0: 3.0, 1: 0.5, 2: 1.0}]
LINEAR = [
    (LogisticRegression, linear_model.LogisticRegression, {"tol": 1e-10}, {"tol": 1e-10, "max_iter": 10_000}),
    (LinearSVC, svm.LinearSVC, {"tol": 1e-9, "max_iter": 10**6}, {"tol": 1e-10, "max_iter": 10**6}),
    (RidgeClassifier, linear_model.RidgeClassifier, {}, {}),
    (RidgeClassifier, linear_model.RidgeClassifier, {"fit_intercept": False}, {"fit_intercept": False}),
]


def problem(seed: int, classes: int = 3) -> tuple[Any, Any, Any]:
    """Unequal classes and weights, some of them 0."""
    random = np.random.default_rng(seed)
    y = np.sort(random.integers(0, classes, 90) * random.integers(0, 2, 90))
    y[:classes] = np.arange(classes)
    X = random.normal(size=(90, 4)) + y[:, None] * [1.0, -0.5, 0.0, 0.3]
    weights = random.uniform(0.2, 4.0, 90) * (1 + 3 * (y == 1))
    weights[-3:] = 0.0
    return X, y, weights


@pytest.mark.parametrize("class_weight", CLASS_WEIGHTS, ids=str)
@pytest.mark.parametrize(("ours", "theirs", "mine", "other"), LINEAR)
def test_weights_of_rows_and_classes_give_the_same_coefficients(
    ours: Any, theirs: Any, mine: Any, other: Any, class_weight: Any
) -> None:
    for seed in range(3):
        X, y, weights = problem(seed)
        one = ours(class_weight=class_weight, **mine).fit(X, y, sample_weight=weights)
        two = theirs(class_weight=class_weight, **other).fit(X, y, sample_weight=weights)
        np.testing.assert_allclose(one.coef_, two.coef_, rtol=2e-3, atol=1e-4)
        np.testing.assert_allclose(one.intercept_, two.intercept_, rtol=2e-3, atol=1e-4)


@pytest.mark.parametrize("class_weight", [None, {0: 3.0, 1: 0.5, 2: 1.0}], ids=str)
def test_weights_of_rows_and_classes_give_the_same_support(class_weight: Any) -> None:
    X, y, weights = problem(4)
    weights = np.maximum(weights, 0.1)
    one = SVC(gamma=0.3, class_weight=class_weight, tol=1e-6).fit(X, y, sample_weight=weights)
    two = svm.SVC(gamma=0.3, class_weight=class_weight, tol=1e-8, decision_function_shape="ovr").fit(X, y, weights)
    np.testing.assert_allclose(one.decision_function(X), two.decision_function(X), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("smoothing", [1e-9, 0.1])
def test_gaussian_variances_with_weights(smoothing: float) -> None:
    one, two = GaussianNB(var_smoothing=0.1), naive_bayes.GaussianNB(var_smoothing=0.1)
    rows, labels, heavy = [[0.0], [1.0], [10.0]], [0, 0, 1], [1, 1, 9]
    np.testing.assert_allclose(
        one.fit(rows, labels, heavy).predict_proba([[5.0]]), two.fit(rows, labels, heavy).predict_proba([[5.0]])
    )
    X, y, weights = problem(5)
    one = GaussianNB(var_smoothing=smoothing).fit(X, y, weights)
    two = naive_bayes.GaussianNB(var_smoothing=smoothing).fit(X, y, weights)
    np.testing.assert_allclose(one.epsilon_, two.epsilon_, rtol=1e-12)
    np.testing.assert_allclose(one.var_, two.var_, rtol=1e-9)
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("first_weighted", [True, False])
def test_gaussian_sums_with_weights_add_up(first_weighted: bool) -> None:
    X, y, weights = problem(6)
    if not first_weighted:
        weights[:40] = 1.0
    first = weights[:40] if first_weighted else None
    whole = GaussianNB(var_smoothing=0.1).fit(X, y, weights)
    stream = GaussianNB(var_smoothing=0.1).partial_fit(X[:40], y[:40], [0, 1, 2], first)
    stream.partial_fit(X[40:], y[40:], sample_weight=weights[40:])
    merged = (
        GaussianNB(var_smoothing=0.1)
        .fit(X[:40], y[:40], first)
        .merge(GaussianNB(var_smoothing=0.1).fit(X[40:], y[40:], weights[40:]))
    )
    more = X[:20] * 9
    longer = GaussianNB(var_smoothing=0.1).fit(X, y, weights).partial_fit(more, y[:20], sample_weight=weights[:20])
    longer.forget(more, y[:20], weights[:20])
    again = GaussianNB(var_smoothing=0.1).fit(X * 5, y).fit(X, y, weights)
    for other in (stream, merged, longer, again):
        np.testing.assert_allclose(other.epsilon_, whole.epsilon_, rtol=1e-9)
        np.testing.assert_allclose(other.var_, whole.var_, rtol=1e-9)


def test_ridge_sums_with_weights_add_up() -> None:
    X, y, weights = problem(7)
    whole = RidgeClassifier(class_weight="balanced").fit(X, y, weights)
    stream = RidgeClassifier(class_weight="balanced").partial_fit(X[:40], y[:40], sample_weight=weights[:40])
    stream.partial_fit(X[40:], y[40:], sample_weight=weights[40:])
    unit = np.where(np.arange(90) < 40, 1.0, weights)
    mixed = RidgeClassifier(class_weight="balanced").fit(X[:40], y[:40])
    mixed = mixed.merge(RidgeClassifier(class_weight="balanced").fit(X[40:], y[40:], weights[40:]))
    longer = RidgeClassifier(class_weight="balanced").fit(np.vstack([X, X]), [*y, *y], [*weights, *unit])
    longer.forget(X, y, unit)
    np.testing.assert_allclose(stream.coef_, whole.coef_, rtol=1e-8)
    np.testing.assert_allclose(longer.coef_, whole.coef_, rtol=1e-8)
    expected = linear_model.RidgeClassifier(class_weight="balanced").fit(X, y, unit)
    np.testing.assert_allclose(mixed.coef_, expected.coef_, rtol=1e-8)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (MultinomialNB, naive_bayes.MultinomialNB),
        (BernoulliNB, naive_bayes.BernoulliNB),
        (ComplementNB, naive_bayes.ComplementNB),
        (CategoricalNB, naive_bayes.CategoricalNB),
    ],
)
def test_counts_with_weights(ours: Any, theirs: Any) -> None:
    _, y, weights = problem(8)
    X = np.random.default_rng(8).integers(0, 3, (90, 5))
    one, two = ours().fit(X, y, weights), theirs().fit(X, y, weights)
    np.testing.assert_allclose(one.predict_log_proba(X), two.predict_log_proba(X), rtol=1e-9, atol=1e-12)
    one, two = ours(), theirs(**({"min_categories": 3} if theirs is naive_bayes.CategoricalNB else {}))
    for part in (slice(0, 45), slice(45, 90)):
        one.partial_fit(X[part], y[part], [0, 1, 2], weights[part])
        two.partial_fit(X[part], y[part], [0, 1, 2], weights[part])
    np.testing.assert_allclose(one.predict_log_proba(X), two.predict_log_proba(X), rtol=1e-9, atol=1e-12)
