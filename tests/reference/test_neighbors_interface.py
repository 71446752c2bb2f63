"""What scripts do with scikit-learn's ``KNeighborsClassifier`` that its own code answers."""

import numpy as np
import pytest
import scipy.sparse
from sklearn import neighbors as theirs
from sklearn.datasets import load_iris

import discern

X, Y = load_iris(return_X_y=True)


def test_missing_numbers_have_a_distance_of_their_own() -> None:
    holed = X.copy()
    holed[::7, 1] = np.nan
    ours, peer = (library.KNeighborsClassifier(metric="nan_euclidean").fit(holed, Y) for library in (discern, theirs))
    np.testing.assert_array_equal(ours.predict_proba(holed), peer.predict_proba(holed))
    with pytest.raises(ValueError, match="NaN"):
        discern.KNeighborsClassifier().fit(holed, Y)


@pytest.mark.parametrize("kept", [theirs.KDTree, theirs.BallTree, lambda rows: theirs.NearestNeighbors().fit(rows)])
def test_rows_that_a_tree_keeps(kept) -> None:
    assert discern.KNeighborsClassifier(1).fit(kept(X), Y).predict(X[:3]).tolist() == Y[:3].tolist()


def test_neighbors_without_any_weight_are_refused() -> None:
    model = discern.KNeighborsClassifier(weights=np.zeros_like).fit(X, Y)
    with pytest.raises(ValueError, match="All neighbors of some sample is getting zero weights"):
        model.predict(X[:2])


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "hamming"])
def test_sparse_queries_are_compared_with_dense_rows(metric: str) -> None:
    random = np.random.default_rng(0)
    X, y = random.normal(size=(80, 6)), random.integers(0, 3, 80)
    X = (X > 0).astype(float) if metric == "hamming" else np.where(np.abs(X) > 0.3, X, 0.0)
    model = discern.KNeighborsClassifier(n_neighbors=5, metric=metric).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(scipy.sparse.csr_array(X)), model.predict_proba(X))
