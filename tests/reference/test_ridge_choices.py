"""Ridge classification against scikit-learn's where it chooses the penalty, and on sets of labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
import sklearn.linear_model as theirs
from sklearn.base import clone
from sklearn.datasets import make_classification, make_multilabel_classification
from sklearn.feature_selection import chi2 as their_chi2
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.estimator_checks import parametrize_with_checks

import discern

ALPHAS = [0.01, 1.0, 30.0, 1000.0]


def rows(classes: int, count: int = 90, columns: int = 8) -> tuple[Any, Any]:
    return make_classification(
        count, columns, n_informative=5, n_classes=classes, flip_y=0.2, class_sep=0.5, random_state=3
    )


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("shape", [(90, 8), (40, 70)], ids=["tall", "wide"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
@pytest.mark.parametrize("intercept", [True, False])
def test_leave_one_out(classes: int, shape: Any, weighted: bool, class_weight: Any, intercept: bool) -> None:
    X, y = rows(classes, *shape)
    weights = np.random.default_rng(0).uniform(0.5, 3.0, len(y)) if weighted else None
    options = {"class_weight": class_weight, "fit_intercept": intercept, "store_cv_results": True}
    model, peer = (library.RidgeClassifierCV(ALPHAS, **options).fit(X, y, weights) for library in (discern, theirs))
    assert model.alpha_ == peer.alpha_
    np.testing.assert_allclose(model.best_score_, peer.best_score_, rtol=1e-7)
    np.testing.assert_allclose(model.cv_results_, peer.cv_results_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(np.ravel(model.coef_), np.ravel(peer.coef_), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X), rtol=1e-6, atol=1e-9)
    assert model.predict(X).tolist() == peer.predict(X).tolist()
    np.testing.assert_allclose(
        discern.RidgeClassifierCV(ALPHAS, **options).fit(scipy.sparse.csr_matrix(X), y, weights).coef_, model.coef_,
        rtol=1e-6, atol=1e-9,
    )  # fmt: skip


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("scoring", [None, "accuracy", "balanced_accuracy"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 3.0}])
def test_folds(classes: int, scoring: Any, weighted: bool, class_weight: Any) -> None:
    X, y = rows(classes)
    weights = np.random.default_rng(0).uniform(0.5, 3.0, len(y)) if weighted else None
    folds = StratifiedKFold(4, shuffle=True, random_state=0)
    model, peer = (
        library.RidgeClassifierCV(ALPHAS, cv=folds, scoring=scoring, class_weight=class_weight).fit(X, y, weights)
        for library in (discern, theirs)
    )
    assert (model.alpha_, model.predict(X).tolist()) == (peer.alpha_, peer.predict(X).tolist())
    np.testing.assert_allclose(model.best_score_, peer.best_score_)
    np.testing.assert_allclose(np.ravel(model.coef_), np.ravel(peer.coef_), rtol=1e-6, atol=1e-9)


def test_a_score_of_rows_that_are_left_out() -> None:
    X, y = rows(3)
    model = discern.RidgeClassifierCV(ALPHAS, scoring="accuracy").fit(X, y)
    found = []
    for alpha in ALPHAS:
        right = 0
        for left in range(len(y)):
            others = np.arange(len(y)) != left
            right += int(theirs.RidgeClassifier(alpha=alpha).fit(X[others], y[others]).predict(X[[left]])[0] == y[left])
        found.append(right / len(y))
    assert model.best_score_ == pytest.approx(max(found))
    assert model.alpha_ == ALPHAS[int(np.argmax(found))]


def test_what_cannot_be_chosen_is_refused() -> None:
    X, y = rows(2)
    with pytest.raises(ValueError, match="store_cv_results=True are incompatible"):
        discern.RidgeClassifierCV(cv=3, store_cv_results=True).fit(X, y)
    for alphas in ([], [np.inf], [[1.0]]):
        with pytest.raises(ValueError, match="alphas must be a flat list of finite numbers"):
            discern.RidgeClassifierCV(alphas).fit(X, y)
    for alphas in ([0.0], [1.0, -1.0]):
        with pytest.raises(ValueError, match=rf"alphas\[{len(alphas) - 1}\] == {alphas[-1]}, must be > 0"):
            discern.RidgeClassifierCV(alphas).fit(X, y)
    assert discern.RidgeClassifierCV([0.0], cv=3).fit(X, y).alpha_ == 0.0


@parametrize_with_checks([discern.RidgeClassifierCV(cv=3)])
def test_conventions(estimator: Any, check: Any) -> None:
    check(estimator)


# ----------------------------------------------------------------------------------------------------- sets of labels


@pytest.mark.parametrize("labels", [2, 4])
@pytest.mark.parametrize("alpha", [1.0, "each", "auto"])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_sets_of_labels(labels: int, alpha: Any, class_weight: Any) -> None:
    X, sets = make_multilabel_classification(80, 10, n_classes=labels, random_state=1)
    penalties: Any = list(np.arange(1.0, labels + 1)) if alpha == "each" else alpha
    model = discern.RidgeClassifier(alpha=penalties, class_weight=class_weight).fit(X, sets)
    found = model.alpha_ if alpha == "auto" else np.asarray(penalties) if alpha == "each" else penalties
    peer = theirs.RidgeClassifier(alpha=found, class_weight=class_weight).fit(X, sets)
    np.testing.assert_allclose(model.coef_, peer.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X), rtol=1e-6, atol=1e-9)
    assert model.predict(X).tolist() == peer.predict(X).tolist()
    assert model.score(X, sets) == peer.score(X, sets)
    assert model.classes_.tolist() == list(range(labels))
    with pytest.raises(ValueError, match="sets of labels has no sums to add to"):
        model.partial_fit(X, np.arange(80) % 2)
    again = model.set_params(alpha=1.0).fit(X, sets[:, 0])
    assert again.predict(X).shape == (80,)
    chosen = discern.RidgeClassifierCV(ALPHAS).fit(X, sets)
    assert chosen.alpha_ == theirs.RidgeClassifierCV(ALPHAS).fit(X, sets).alpha_
    assert chosen.predict(X).shape == sets.shape


def test_a_penalty_for_each_class() -> None:
    X, y = rows(3)
    model = discern.RidgeClassifier(alpha=[1.0, 10.0, 100.0]).fit(X, y)
    peer = theirs.RidgeClassifier(alpha=np.array([1.0, 10.0, 100.0])).fit(X, y)
    np.testing.assert_allclose(model.coef_, peer.coef_, rtol=1e-7)
    with pytest.raises(ValueError, match="penalty below 0"):
        clone(model).set_params(alpha=[1.0, -1.0, 1.0]).fit(X, y)
    with pytest.raises(ValueError, match="2 penalties for 3 targets"):
        clone(model).set_params(alpha=[1.0, 1.0]).fit(X, y)


@pytest.mark.parametrize("container", [np.asarray, scipy.sparse.csr_matrix, scipy.sparse.csr_array])
def test_chi2_of_sets_of_labels(container: Any) -> None:
    X, sets = make_multilabel_classification(80, 10, n_classes=3, random_state=1)
    X[:, 4] = 0.0
    for found, expected in zip(discern.chi2(container(X), sets), their_chi2(container(X), sets), strict=True):
        np.testing.assert_allclose(found, expected)
    kept = discern.SelectKBest(discern.chi2, k=3).fit(X[:, :4], sets).get_support()
    assert kept.sum() == 3
