"""Nearest neighbors through a tree and by dense cosines, against a comparison with every row and scikit-learn."""

import pickle

import numpy as np
import pytest
import scipy.sparse
from sklearn import neighbors as reference

import discern
from discern.learners.neighbors import rows as rows_module
from discern.learners.neighbors.rows import CosineRows, EuclideanRows

KINDS = {
    "normal": lambda random, shape: random.normal(size=shape),
    "few numbers": lambda random, shape: random.integers(0, 3, shape).astype(float),
    "equal": lambda random, shape: np.ones(shape),
    "far from zero": lambda random, shape: 1e9 + random.normal(size=shape),
    "huge": lambda random, shape: random.normal(size=shape) * 1e160,
    "tiny": lambda random, shape: random.normal(size=shape) * 1e-160,
    "one far away": lambda random, shape: np.vstack([np.full(shape[1], 1e30), random.normal(size=shape)[1:]]),
}


def compared(table, queries, count, without=None):
    """Compare each query with every row, column by column; rank by distance, then by row."""
    squares = np.zeros((len(queries), len(table)))
    with np.errstate(over="ignore"):
        for column in range(table.shape[1]):
            difference = table[:, column] - queries[:, column : column + 1]
            squares += difference * difference
    distances = np.sqrt(squares)
    if without is not None:
        distances[np.arange(len(queries)), without] = np.inf
    places = np.argsort(distances, axis=1, kind="stable")[:, :count]
    return np.take_along_axis(distances, places, axis=1), places


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("columns", [1, 2, 3, 5, 8, 9])
def test_the_tree_finds_what_a_comparison_with_every_row_finds(kind, columns, monkeypatch):
    monkeypatch.setattr(rows_module, "_TREE_ROWS", 1)
    random = np.random.default_rng(columns)
    table = KINDS[kind](random, (900, columns))
    queries = np.vstack([KINDS[kind](random, (40, columns)), table[:5]])
    rows, asked = EuclideanRows.of(table), EuclideanRows.of(queries)
    extreme = kind in ("huge", "tiny")  # squares overflow, or have few digits: blocks of products rank by more digits
    if extreme and columns > 8:
        return
    for count in (1, 5, 40, 56) if extreme else (1, 5, 40, 56, 57, 900):
        distances, places = rows.nearest(asked, count)
        expected = compared(table, queries, count)
        np.testing.assert_array_equal(places, expected[1])
        np.testing.assert_array_equal(distances, expected[0])
    if kind != "huge":  # a row at an infinite distance is no longer told from one that is left out
        distances, places = rows.nearest(EuclideanRows.of(table[:50]), 3, np.arange(50))
        np.testing.assert_array_equal(places, compared(table, table[:50], 3, np.arange(50))[1])


@pytest.mark.parametrize(
    "prepare", [np.asfortranarray, lambda X: X.astype(np.float32), lambda X: np.repeat(X, 2, 0)[::2]]
)
@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_classes_equal_the_reference(prepare, weights):
    random = np.random.default_rng(0)
    X, y = prepare(random.normal(size=(2000, 3))), random.choice(["a", "b", "c"], 2000)
    ours = discern.KNeighborsClassifier(7, weights=weights).fit(X, y)
    theirs = reference.KNeighborsClassifier(7, weights=weights).fit(X, y)
    queries = prepare(random.normal(size=(100, 3)))
    np.testing.assert_allclose(ours.predict_proba(queries), theirs.predict_proba(queries), atol=1e-6)
    np.testing.assert_array_equal(ours.kneighbors(queries)[1], theirs.kneighbors(queries)[1])
    np.testing.assert_array_equal(ours.predict(queries[:1]), theirs.predict(queries[:1]))
    copy = pickle.loads(pickle.dumps(ours))
    np.testing.assert_array_equal(copy.predict(queries), ours.predict(queries))


def test_growing_and_forgetting_rebuild_the_tree():
    random = np.random.default_rng(1)
    X, y = random.normal(size=(1500, 2)), random.integers(0, 2, 1500)
    model = discern.KNeighborsClassifier(3).fit(X[:600], y[:600])
    model.predict(X[:5])
    model.partial_fit(X[600:], y[600:])
    whole = discern.KNeighborsClassifier(3).fit(X, y)
    np.testing.assert_array_equal(model.kneighbors(X[:50])[1], whole.kneighbors(X[:50])[1])
    model.forget(np.arange(100))
    rest = discern.KNeighborsClassifier(3).fit(X[100:], y[100:])
    np.testing.assert_array_equal(model.kneighbors(X[:50])[1], rest.kneighbors(X[:50])[1])
    np.testing.assert_array_equal(model.kneighbors()[1], rest.kneighbors()[1])


def test_queries_of_another_number_of_columns_are_refused():
    rows = EuclideanRows.of(np.random.default_rng(2).normal(size=(600, 3)))
    with pytest.raises(ValueError, match="columns"):
        rows.nearest(EuclideanRows.of(np.zeros((1, 2))), 1)


@pytest.mark.parametrize("kind", ["normal", "few numbers", "equal"])
@pytest.mark.parametrize("columns", [1, 3, 40])
def test_dense_cosines_are_those_of_the_inverted_index(kind, columns, monkeypatch):
    random = np.random.default_rng(columns)
    table = KINDS[kind](random, (700, columns))
    table[3] = 0.0
    asked = CosineRows.of(np.vstack([KINDS[kind](random, (20, columns)), table[:5]]))
    dense, listed = CosineRows.of(table), CosineRows.of(scipy.sparse.csr_array(table))
    assert dense._table is not None
    monkeypatch.setattr(rows_module, "_DENSE_SHARE", 2.0)
    assert listed._table is None
    for count in (1, 5, 300):
        for ours, theirs in zip(dense.nearest(asked, count), listed.nearest(asked, count), strict=True):
            np.testing.assert_array_equal(ours, theirs)
    own = CosineRows.of(table[:30])
    for ours, theirs in zip(dense.nearest(own, 4, np.arange(30)), listed.nearest(own, 4, np.arange(30)), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_dense_cosine_equals_the_reference():
    random = np.random.default_rng(3)
    X, y = random.normal(size=(800, 25)), random.integers(0, 3, 800)
    ours = discern.KNeighborsClassifier(9, metric="cosine").fit(X, y)
    theirs = reference.KNeighborsClassifier(9, metric="cosine").fit(X, y)
    queries = random.normal(size=(60, 25))
    np.testing.assert_array_equal(ours.kneighbors(queries)[1], theirs.kneighbors(queries)[1])
    np.testing.assert_array_equal(ours.predict(scipy.sparse.csr_array(queries)), theirs.predict(queries))


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_cosines_that_were_never_asked_for_survive_pickling_forgetting_and_learning(kind):
    X = np.random.default_rng(0).random((12, 4)) + 0.1
    given = scipy.sparse.csr_array(X) if kind == "sparse" else X
    y = np.arange(12) % 3

    def fit(*rows):
        return discern.KNeighborsClassifier(3, metric="cosine").fit(*rows)

    expected, places = fit(given, y).kneighbors(given)
    for model in (
        pickle.loads(pickle.dumps(fit(given, y))),
        fit(given, y).partial_fit(given[:2], y[:2]).forget([12, 13]),
        fit(given[:5], y[:5]).partial_fit(given[5:], y[5:]),
    ):
        distances, found = model.kneighbors(given)
        np.testing.assert_array_equal(found, places)
        np.testing.assert_array_equal(distances, expected)
        np.testing.assert_allclose(model._fit_X.toarray(), X / np.linalg.norm(X, axis=1, keepdims=True))
