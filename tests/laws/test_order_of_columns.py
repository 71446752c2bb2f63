"""The columns of a sparse row may come in any order: it says the same."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import discern._native as native
import discern.data.encode
from discern import NBSVM, BalancedWinnow, LinearSVC, Perceptron, Winnow

LEARNERS = (
    LinearSVC,
    NBSVM,
    lambda: Perceptron(max_iter=8, tol=None),
    lambda: Perceptron(max_iter=8, tol=None, average=True),
    lambda: Winnow(max_iter=8, tol=None),
    lambda: BalancedWinnow(max_iter=8, tol=None),
)


@pytest.fixture(autouse=True)
def _nothing_is_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discern.data.encode, "ALWAYS_SORTED", 0)


def table(seed: int) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    X: Any = scipy.sparse.random_array((700, 100), density=0.06, rng=random, format="csr", dtype=np.float64)
    return X, (X @ random.normal(size=100) > 0).astype(np.int32)


def mixed(X: Any, seed: int) -> Any:
    """Return the columns of each row in a random order."""
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    order = np.lexsort((np.random.default_rng(seed).random(X.nnz), rows))
    return scipy.sparse.csr_array((X.data[order], X.indices[order], X.indptr), shape=X.shape)


def fitted(make: Callable[[], Any], X: Any, y: Any, weights: Any = None) -> Any:
    before = X.indices.copy()
    model = make().fit(X, y, sample_weight=weights)
    assert np.array_equal(X.indices, before)
    return model.coef_


@pytest.mark.filterwarnings("ignore:Maximum number")
@pytest.mark.parametrize("make", LEARNERS)
def test_the_order_changes_rounding_only(make: Callable[[], Any]) -> None:
    X, y = table(1)
    assert fitted(make, mixed(X, 2), y) == pytest.approx(fitted(make, X, y), rel=1e-9, abs=1e-9)


@pytest.mark.filterwarnings("ignore:Maximum number")
@pytest.mark.parametrize("make", LEARNERS)
def test_equal_rows_in_another_order_are_one_row(make: Callable[[], Any]) -> None:
    """Whichever comes first: the result is the same to the last bit."""
    X, y = table(3)
    both = scipy.sparse.vstack([mixed(X, 4), mixed(X, 5)], format="csr")
    order = np.random.default_rng(6).permutation(both.shape[0])
    twice = np.tile(y, 2)
    found = fitted(make, both, twice)
    assert np.array_equal(found, fitted(make, both[order], twice[order]))
    assert found == pytest.approx(fitted(make, X, y, np.full(len(y), 2.0)), rel=1e-9, abs=1e-9)


@pytest.mark.filterwarnings("ignore:Maximum number")
@pytest.mark.parametrize("make", LEARNERS)
def test_columns_that_come_twice_are_added(make: Callable[[], Any]) -> None:
    X, y = table(7)
    halves = scipy.sparse.csr_array((np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape)
    assert np.array_equal(fitted(make, halves, y), fitted(make, X, y))


@pytest.mark.filterwarnings("ignore:Maximum number")
@pytest.mark.parametrize("make", LEARNERS[2:])  # the others stop near the optimum, wherever they come from
def test_zeros_that_are_written_out_say_nothing(make: Callable[[], Any]) -> None:
    X, y = table(10)
    random = np.random.default_rng(11)
    written = X + scipy.sparse.random_array(X.shape, density=0.05, rng=random, format="csr")
    rows = np.repeat(np.arange(X.shape[0]), np.diff(written.indptr))
    written.data[:] = X.toarray()[rows, written.indices]
    assert written.nnz > X.nnz
    assert np.array_equal(written.toarray(), X.toarray())
    assert fitted(make, written, y) == pytest.approx(fitted(make, X, y), rel=1e-9, abs=1e-9)


@pytest.mark.filterwarnings("ignore:Maximum number")
@pytest.mark.parametrize("make", LEARNERS)
def test_rows_that_hold_the_same_columns_come_in_any_order(make: Callable[[], Any]) -> None:
    X, y = table(12)
    full = scipy.sparse.csr_array(X.toarray()[:, :6] + 1.0)
    order = np.random.default_rng(13).permutation(len(y))
    assert np.array_equal(fitted(make, full, y), fitted(make, full[order], y[order]))


def test_sums_of_classes() -> None:
    X, y = table(8)
    weights = np.random.default_rng(9).random(len(y))
    sums = native.class_sums(discern.data.encode.native_table(mixed(X, 1), any_order=True), y, 2, weights)
    assert sums == pytest.approx(np.array([(weights * (y == k)) @ X for k in (0, 1)]), rel=1e-12)
    with pytest.raises(ValueError, match="do not match"):
        native.repeats_columns(np.array([0, 1]), np.array([3], np.int32), 3)
    with pytest.raises(ValueError, match="do not match"):
        native.class_sums((np.array([0, 1]), np.array([-1], np.int32), np.ones(1), 3), y[:1], 2, None)
