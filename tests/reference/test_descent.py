"""Stochastic gradient descent against scikit-learn's, which takes the rows in the same order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
import sklearn.linear_model as theirs
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

import discern

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
LOSSES = ["hinge", "squared_hinge", "log_loss", "modified_huber", "perceptron"]


def rows(classes: int = 2, sparse: bool = False, count: int = 120) -> tuple[Any, Any]:
    X, y = make_classification(
        count, 9, n_informative=5, n_classes=classes, class_sep=0.6, flip_y=0.1, random_state=classes
    )
    return (scipy.sparse.csr_matrix(np.where(np.abs(X) > 0.8, X, 0.0)) if sparse else X), y


def both(X: Any, y: Any, weights: Any = None, **options: Any) -> tuple[Any, Any]:
    made = [
        make(random_state=3, **options).fit(X, y, sample_weight=weights)
        for make in (discern.SGDClassifier, theirs.SGDClassifier)
    ]
    return made[0], made[1]


def same(model: Any, peer: Any, X: Any) -> None:
    scale = max(1.0, float(np.abs(peer.coef_).max()))
    np.testing.assert_allclose(model.coef_, peer.coef_, rtol=1e-6, atol=1e-9 * scale)
    np.testing.assert_allclose(model.intercept_, peer.intercept_, rtol=1e-6, atol=1e-9 * scale)
    assert (model.n_iter_, model.t_) == (peer.n_iter_, peer.t_)
    assert model.predict(X).tolist() == peer.predict(X).tolist()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("penalty", ["l2", "l1", "elasticnet", None])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("average", [False, True, 200])
def test_the_same_steps(loss: str, penalty: str | None, classes: int, sparse: bool, average: Any) -> None:
    X, y = rows(classes, sparse)
    # With the optimal rate these two overshoot again and again here, and rounding grows with it.
    rate = {"learning_rate": "invscaling", "eta0": 0.01} if loss in ("squared_hinge", "modified_huber") else {}
    model, peer = both(X, y, loss=loss, penalty=penalty, average=average, alpha=1e-2, max_iter=7, tol=None, **rate)
    same(model, peer, X)


RATES = ("optimal", "constant", "invscaling", "adaptive")
OVERSHOOTING = ("squared_hinge", "modified_huber")
"""With the optimal rate these overshoot again and again here, and rounding grows with it."""


@pytest.mark.parametrize(
    ("loss", "rate"),
    [(loss, rate) for loss in LOSSES for rate in RATES if rate != "optimal" or loss not in OVERSHOOTING],
)
@pytest.mark.parametrize("penalty", ["l2", None])
def test_the_same_end_on_dense_rows(loss: str, penalty: str | None, rate: str) -> None:
    X, y = rows()
    model, peer = both(X, y, loss=loss, penalty=penalty, learning_rate=rate, eta0=0.01, alpha=1e-2, max_iter=300)
    same(model, peer, X)


@pytest.mark.parametrize("options", [
    {"class_weight": "balanced"}, {"class_weight": {0: 3.0}}, {"shuffle": False}, {"fit_intercept": False},
    {"warm_start": True}, {"alpha": 10.0, "learning_rate": "constant", "eta0": 5.0},
], ids=str)  # fmt: skip
def test_the_same_settings(options: dict[str, Any]) -> None:
    X, y = rows(3)
    weights = np.random.default_rng(0).uniform(0.0, 2.0, len(y)).round(1)
    model, peer = both(X, y, weights, max_iter=5, tol=None, **options)
    same(model, peer, X)
    if options.get("warm_start"):
        same(model.fit(X, y), peer.fit(X, y), X)


@pytest.mark.parametrize("classes", [2, 3])
def test_parts_are_the_same(classes: int) -> None:
    X, y = rows(classes)
    models = [make(random_state=3, alpha=1e-2) for make in (discern.SGDClassifier, theirs.SGDClassifier)]
    for part in np.array_split(np.arange(len(y)), 4):
        for model in models:
            model.partial_fit(X[part], y[part], classes=np.unique(y))
        same(models[0], models[1], X)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("average", [False, True, 50])
def test_parts_in_order_are_the_whole(classes: int, average: Any) -> None:
    """Also with an average: scikit-learn forgets the intercept between the parts then."""
    X, y = rows(classes)
    made = [discern.SGDClassifier(shuffle=False, average=average, alpha=1e-2, max_iter=1, tol=None) for _ in range(2)]
    for part in np.array_split(np.arange(len(y)), 4):
        made[0].partial_fit(X[part], y[part], classes=np.unique(y))
    same(made[0], made[1].fit(X, y), X)


@pytest.mark.parametrize("options", [
    {"early_stopping": True}, {"loss": "huber"}, {"dtype": np.float32}, {"verbose": 0, "n_jobs": 2},
], ids=str)  # fmt: skip
def test_what_is_left_to_scikit_learn_is_the_same(options: dict[str, Any]) -> None:
    X, y = rows(3)
    X = X.astype(options.pop("dtype", np.float64))
    same(*both(X, y, max_iter=20, **options), X)


def test_sparse_rows_stop_by_the_penalty_of_all_weights() -> None:
    X, y = rows(2, sparse=True)
    model = discern.SGDClassifier(random_state=3, alpha=1e-2, max_iter=500).fit(X, y)
    dense = discern.SGDClassifier(random_state=3, alpha=1e-2, max_iter=500).fit(X.toarray(), y)
    assert 5 < model.n_iter_ < 500
    assert abs(model.score(X, y) - dense.score(X.toarray(), y)) < 0.05


def test_probabilities_and_refusals() -> None:
    X, y = rows()
    model, peer = both(X, y, loss="log_loss", alpha=0.1, max_iter=20, tol=None)
    np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(X), rtol=1e-6)
    with pytest.raises(ValueError, match="Floating-point under-/overflow occurred at epoch #1"):
        discern.SGDClassifier(loss="squared_hinge", learning_rate="constant", eta0=1e300).fit(X * 1e200, y)
    with pytest.raises(ValueError, match="number of classes has to be greater than one"):
        discern.SGDClassifier().fit(X, np.zeros(len(y)))
    with pytest.warns(ConvergenceWarning, match="Maximum number of iteration"):
        discern.SGDClassifier(max_iter=1).fit(X, y)


def test_sparse_rows_in_any_order_of_columns_are_learned_alike():
    random = np.random.default_rng(0)
    X = scipy.sparse.random(2000, 300, 0.15, format="csr", rng=random)  # more numbers than are always sorted
    y = random.integers(0, 3, 2000)
    turned = X.copy()
    for start, end in zip(turned.indptr[:-1], turned.indptr[1:], strict=True):
        order = random.permutation(end - start) + start
        turned.indices[start:end], turned.data[start:end] = turned.indices[order], turned.data[order]
    turned.has_sorted_indices = turned.has_canonical_format = False
    twice = scipy.sparse.csr_matrix(
        (np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), X.indptr * 2), shape=X.shape
    )  # each number in two halves
    expected = discern.SGDClassifier(random_state=0, max_iter=5, tol=None).fit(X, y)
    for table in (turned, twice):
        found = discern.SGDClassifier(random_state=0, max_iter=5, tol=None).fit(table, y)
        np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-9)
