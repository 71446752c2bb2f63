"""Naive Bayes of counts on matrices in every layout, against scikit-learn; streams of small batches; χ² of dense tables."""

import itertools
import pickle

import numpy as np
import pytest
import scipy.sparse
import sklearn.naive_bayes as reference
from sklearn import feature_selection as reference_selection

import discern
from discern.statistics.by_class import add_by_class, scores_of_rows

KINDS = ("MultinomialNB", "BernoulliNB", "ComplementNB")
DTYPES = ("float64", "float32", "int64", "int32", "int16", "uint8", "uint64", "bool", ">f8", ">i4")


def counts(rows=60, columns=7, seed=0):
    random = np.random.default_rng(seed)
    return random.integers(0, 4, (rows, columns)) * (random.random((rows, columns)) < 0.4)


def wide_indices(matrix):
    matrix = matrix.copy()
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return matrix


def twice(matrix):
    """Hold each number in two halves, the columns of a row in falling order."""
    rows = scipy.sparse.csr_matrix(matrix)
    order = np.concatenate([np.arange(b - 1, a - 1, -1) for a, b in itertools.pairwise(rows.indptr)])
    data, indices = np.repeat(rows.data[order.astype(int)] / 2, 2), np.repeat(rows.indices[order.astype(int)], 2)
    return scipy.sparse.csr_matrix((data, indices, rows.indptr * 2), shape=rows.shape)


LAYOUTS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=0)[::2],
    "reversed": lambda X: np.ascontiguousarray(X[::-1])[::-1],
    "csr": scipy.sparse.csr_matrix,
    "csr array": scipy.sparse.csr_array,
    "csc": scipy.sparse.csc_matrix,
    "coo": scipy.sparse.coo_matrix,
    "wide": lambda X: wide_indices(scipy.sparse.csr_matrix(X)),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("classes", [1, 2, 3, 20])
def test_sums_by_class_are_those_of_a_product(layout, dtype, classes):
    X = counts().astype(dtype)
    if not X.dtype.isnative and layout in ("csr", "csr array", "csc", "coo", "wide"):
        return  # SciPy has no such matrices
    table = LAYOUTS[layout](X)
    if layout == "coo":
        table = table.tocsr()
    numbers = np.random.default_rng(1).integers(0, classes, len(X)).astype(np.int32)
    for weights in (None, np.random.default_rng(2).random(len(X))):
        for above in (None, 0.0, 1.5):
            sums = np.zeros((classes, X.shape[1]))
            add_by_class(table, numbers, weights, sums, above)
            member = (numbers == np.arange(classes)[:, None]) * (1.0 if weights is None else weights)
            counted = X.astype(float) if above is None else (X.astype(float) > above).astype(float)
            np.testing.assert_allclose(sums, member @ counted, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("scores", [1, 2, 3, 4, 5, 17])
@pytest.mark.parametrize("layout", ["C", "F", "csr", "csc", "wide"])
def test_scores_of_rows_are_those_of_a_product(layout, scores):
    X = counts().astype(float)
    weights = np.random.default_rng(1).normal(size=(X.shape[1], scores))
    offsets = np.arange(scores, dtype=float)
    np.testing.assert_allclose(scores_of_rows(LAYOUTS[layout](X), weights, offsets), X @ weights + offsets, atol=1e-12)


def test_tables_that_do_not_match_are_refused():
    broken = scipy.sparse.csr_matrix(counts())
    broken.indices = broken.indices.copy()
    broken.indices[0] = 99
    sums = np.zeros((1, 7))
    with pytest.raises(ValueError, match="do not match"):
        add_by_class(broken, np.zeros(60, np.int32), None, sums)
    assert not sums.any()
    with pytest.raises(ValueError, match="do not match"):
        add_by_class(counts(), np.zeros(59, np.int32), None, sums)
    with pytest.raises(ValueError, match="do not match"):
        add_by_class(counts(), np.ones(60, np.int32), None, sums)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("classes", [2, 5])
def test_fit_and_predict_equal_the_reference_in_every_layout(name, layout, classes):
    X = counts(80, 9)
    y = np.random.default_rng(3).integers(0, classes, len(X))
    weights = np.random.default_rng(4).random(len(X))
    for dtype in ("float64", "float32", "int64"):
        table = LAYOUTS[layout](X.astype(dtype))
        for sample_weight in (None, weights):
            ours = getattr(discern, name)().fit(table, y, sample_weight)
            theirs = getattr(reference, name)().fit(X.astype(float), y, sample_weight)
            np.testing.assert_allclose(ours.feature_count_, theirs.feature_count_, rtol=1e-12)
            np.testing.assert_allclose(ours.feature_log_prob_, theirs.feature_log_prob_, rtol=1e-12)
            np.testing.assert_allclose(ours.predict_proba(table), theirs.predict_proba(X.astype(float)), atol=1e-12)
            one = LAYOUTS[layout](X[:1].astype(dtype))
            np.testing.assert_array_equal(ours.predict(one), theirs.predict(X[:1].astype(float)))


@pytest.mark.parametrize("name", KINDS)
def test_duplicates_are_summed(name):
    X, y = counts(), np.arange(60) % 3
    ours, theirs = getattr(discern, name)().fit(twice(X), y), getattr(discern, name)().fit(X, y)
    if name == "BernoulliNB":  # which counts each number, as the reference does
        np.testing.assert_allclose(ours.feature_count_, 2 * theirs.feature_count_)
    else:
        np.testing.assert_array_equal(ours.feature_count_, theirs.feature_count_)
        np.testing.assert_allclose(ours.predict_proba(twice(X)), theirs.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize("binarize", [0.0, 1.0, 2.5, None])
def test_bernoulli_compares_with_its_threshold(binarize):
    X, y = counts().astype(float), np.arange(60) % 3
    X = (X > 0).astype(float) if binarize is None else X
    theirs = reference.BernoulliNB(binarize=binarize).fit(X, y)
    for table in (X, np.asfortranarray(X), scipy.sparse.csr_matrix(X), scipy.sparse.csc_matrix(X)):
        ours = discern.BernoulliNB(binarize=binarize).fit(table, y)
        np.testing.assert_allclose(ours.predict_log_proba(table), theirs.predict_log_proba(X), atol=1e-12)
    wide = np.repeat(X, 2000, axis=1)
    ours, theirs = (kind(binarize=binarize).fit(wide, y) for kind in (discern.BernoulliNB, reference.BernoulliNB))
    np.testing.assert_allclose(ours.predict_joint_log_proba(wide), theirs.predict_joint_log_proba(wide), rtol=1e-12)


# --------------------------------------------------------------------------------------------- small batches


@pytest.mark.parametrize("name", KINDS)
def test_many_small_batches_are_solved_once_and_equal_one_fit(name):
    X, y = scipy.sparse.csr_matrix(counts(100, 50)), np.arange(100) % 4
    whole, stream = getattr(discern, name)().fit(X, y), getattr(discern, name)()
    for start in range(0, 100, 10):
        stream.partial_fit(X[start : start + 10], y[start : start + 10])
        assert "feature_log_prob_" not in vars(stream)  # not before it is asked for
    copy = pickle.loads(pickle.dumps(stream))
    np.testing.assert_array_equal(copy.predict_proba(X), whole.predict_proba(X))
    np.testing.assert_array_equal(stream.feature_log_prob_, whole.feature_log_prob_)
    np.testing.assert_array_equal(stream.class_log_prior_, whole.class_log_prior_)
    assert "feature_log_prob_" in vars(stream)
    stream.partial_fit(X[:10], y[:10])
    both = scipy.sparse.vstack([X, X[:10]])
    again = getattr(discern, name)().fit(both, np.concatenate([y, y[:10]]))
    np.testing.assert_array_equal(stream.predict_proba(X), again.predict_proba(X))


def test_the_settings_of_a_batch_are_those_when_it_was_learned():
    X, y = counts(), np.arange(60) % 2
    model = discern.MultinomialNB(alpha=0.5).partial_fit(X, y)
    model.set_params(alpha=7.0)
    np.testing.assert_array_equal(model.feature_log_prob_, discern.MultinomialNB(alpha=0.5).fit(X, y).feature_log_prob_)


@pytest.mark.parametrize("name", KINDS)
def test_a_batch_that_fails_changes_nothing(name):
    X, y = scipy.sparse.csr_matrix(counts()).astype(float), np.arange(60) % 2
    model = getattr(discern, name)(alpha=np.ones(7)).partial_fit(X, y)
    before = model.feature_count_.copy(), model.class_count_.copy(), model.predict_proba(X)
    with pytest.raises(ValueError, match="weight"):
        model.partial_fit(X, y, sample_weight=np.full(60, 1e200))
    model.set_params(alpha=np.ones(3))
    with pytest.raises(ValueError, match="alpha"):
        model.partial_fit(X, y)
    model.set_params(alpha=1.0, class_prior=[1.0])
    with pytest.raises(ValueError, match="priors"):
        model.partial_fit(X, y)
    np.testing.assert_array_equal(model.feature_count_, before[0])
    np.testing.assert_array_equal(model.class_count_, before[1])
    np.testing.assert_array_equal(model.predict_proba(X), before[2])


def test_numbers_too_large_to_be_summed_are_refused_and_change_nothing():
    y = [0, 1]
    model = discern.MultinomialNB().partial_fit([[1.0, 2.0], [3.0, 4.0]], y)
    model.partial_fit([[1e100, 0.0], [0.0, 1.0]], y)  # large, but a sum
    before = model.feature_count_.copy()
    with pytest.raises(ValueError, match="scale its columns"):
        model.partial_fit(np.full((2, 2), 1.7e308), [0, 0])
    np.testing.assert_array_equal(model.feature_count_, before)


def test_a_model_has_no_solution_before_it_is_fitted():
    for name in KINDS:
        assert not hasattr(getattr(discern, name)(), "feature_log_prob_")
        with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
            _ = getattr(discern, name)().fit([[1, 0], [0, 1]], [0, 1]).nothing


# ------------------------------------------------------------------------------------------------ selection


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "uint8", "bool"])
@pytest.mark.parametrize("layout", ["C", "F", "strided", "csr", "csc"])
def test_chi2_of_dense_and_sparse_tables_equals_the_reference(layout, dtype):
    X, y = counts(90, 12).astype(dtype), np.arange(90) % 4
    table = LAYOUTS[layout](X)
    for ours, theirs in zip(discern.chi2(table, y), reference_selection.chi2(X, y), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10)
    chosen = discern.SelectKBest(discern.chi2, k=5).fit(table, y)
    np.testing.assert_array_equal(
        chosen.get_support(), reference_selection.SelectKBest(reference_selection.chi2, k=5).fit(X, y).get_support()
    )
    np.testing.assert_allclose(
        discern.mutual_information(table, y), discern.mutual_information(scipy.sparse.csr_matrix(X), y), rtol=1e-12
    )
