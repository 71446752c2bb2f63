"""What scripts do with scikit-learn's ``SVC`` beside fitting rows: kernels of their own, odd settings, attributes."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse
import sklearn.svm as theirs
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import discern

X, Y = make_classification(60, 5, n_informative=4, n_redundant=0, n_classes=3, random_state=1)
FEW = np.array([[-2, -1], [-1, -1], [-1, -2], [1, 1], [1, 2], [2, 1.0]])


@pytest.mark.parametrize("container", [scipy.sparse.csr_matrix, scipy.sparse.csr_array])
@pytest.mark.parametrize("y", [Y, Y > 0], ids=["three", "two"])
def test_weights_for_sparse_rows_are_sparse(container, y) -> None:
    sparse, dense = discern.SVC(kernel="linear").fit(container(X), y), discern.SVC(kernel="linear").fit(X, y)
    assert scipy.sparse.issparse(sparse.coef_)
    np.testing.assert_allclose(sparse.coef_.toarray(), dense.coef_, atol=1e-9)
    for weights in (sparse.coef_.data, dense.coef_):
        with pytest.raises(ValueError, match="read-only"):
            weights[0] = 1.0


@pytest.mark.parametrize("container", [scipy.sparse.csr_matrix, scipy.sparse.lil_matrix, scipy.sparse.coo_array])
def test_a_kernel_may_return_a_sparse_matrix(container) -> None:
    rows = container(X)
    model = discern.SVC(kernel=lambda one, other: one @ other.T, probability=True).fit(rows, Y)
    plain = discern.SVC(kernel="linear", probability=True).fit(X, Y)
    assert model.predict(rows).tolist() == plain.predict(X).tolist()
    np.testing.assert_allclose(model.decision_function(rows), plain.decision_function(X), atol=1e-6)
    np.testing.assert_allclose(model.predict_proba(rows), plain.predict_proba(X), atol=1e-4)


def test_a_kernel_may_compare_anything() -> None:
    texts, labels = ["A A", "A", "B", "B B", "A B"], [1, 1, 2, 2, 1]

    def shared(one, other):
        return np.array([[sum(left.count(c) * right.count(c) for c in "AB") for right in other] for left in one])

    model, peer = (make(kernel=shared).fit(texts, labels) for make in (discern.SVC, theirs.SVC))
    np.testing.assert_allclose(model.decision_function(texts[:2]), peer.decision_function(texts[:2]), atol=1e-6)
    assert model.predict(texts).tolist() == labels
    with pytest.raises(ValueError, match=r"the kernel returned \(1, 1\) values, not \(2, 5\)"):
        model.set_params(kernel=lambda one, other: np.ones((1, 1))).predict(texts[:2])
    with pytest.raises(ValueError, match="the kernel's values contains NaN"):
        discern.SVC(kernel=lambda one, other: np.full((5, 5), np.nan)).fit(texts, labels)


@pytest.mark.parametrize("cost", [np.inf, float("inf")])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_an_infinite_cost_is_that_of_a_hard_margin(cost, kernel) -> None:
    y = [0, 0, 0, 1, 1, 1]
    model, peer = (make(kernel=kernel, C=cost).fit(FEW, y) for make in (discern.SVC, theirs.SVC))
    np.testing.assert_allclose(model.decision_function(FEW), peer.decision_function(FEW), atol=2e-3)


@pytest.mark.parametrize("labels", [[0, 1, 1, 1, 1, 1], [0, 1, 2, 2, 2, 2], [0, 1, 2, 3, 4, 5]])
def test_probabilities_with_a_class_of_one_row(labels) -> None:
    model = discern.SVC(probability=True).fit(FEW, labels)
    chances = model.predict_proba(FEW)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert chances[0, 0] > chances[3:, 0].mean()
    assert model.predict(FEW).tolist() == discern.SVC().fit(FEW, labels).predict(FEW).tolist()


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("y", [Y, Y > 0], ids=["three", "two"])
def test_no_steps_leave_an_empty_machine(kernel, y) -> None:
    with pytest.warns(ConvergenceWarning, match=r"Solver terminated early \(max_iter=0\)"):
        model = discern.SVC(kernel=kernel, max_iter=0).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = theirs.SVC(kernel=kernel, max_iter=0).fit(X, y)
    assert model.predict(X).tolist() == peer.predict(X).tolist()
    assert (model.dual_coef_.shape, model.fit_status_) == (peer.dual_coef_.shape, 1)
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X), atol=1e-12)


def test_settings_of_the_peer_are_taken_as_they_are() -> None:
    model = discern.SVC(**theirs.SVC().get_params()).fit(X, Y)
    assert model.predict(X).tolist() == theirs.SVC().fit(X, Y).predict(X).tolist()
    assert not hasattr(model, "predict_proba")


def test_probabilities_that_were_not_asked_for_before() -> None:
    model = discern.SVC().fit(X, Y).set_params(probability=True)
    assert hasattr(model, "predict_proba")
    with pytest.raises(NotFittedError, match="predict_proba is not available when fitted with probability=False"):
        model.predict_proba(X)
    for name in ("probA_", "probB_"):
        with pytest.warns(FutureWarning, match=f"Attribute `{name}` was deprecated"):
            assert getattr(model, name).shape == (0,)


def test_balanced_classes_count_rows_whatever_they_weigh() -> None:
    weights = np.random.default_rng(0).integers(0, 4, len(Y)).astype(float)
    model, peer = (
        make(gamma=0.3, class_weight="balanced", tol=1e-6).fit(X, Y, weights) for make in (discern.SVC, theirs.SVC)
    )
    np.testing.assert_allclose(model.class_weight_, peer.class_weight_)
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X), atol=1e-3)


def test_weights_that_leave_one_class_or_none() -> None:
    with pytest.raises(ValueError, match="all samples with positive weights belong to the same class"):
        discern.SVC().fit(X, Y, sample_weight=(Y == 1).astype(float))
    with pytest.raises(ValueError, match="all samples have zero or negative weights"):
        discern.SVC().fit(X, Y, sample_weight=np.zeros(len(Y)))
