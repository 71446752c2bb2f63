"""Bins are where scikit-learn puts them, and where the classes part."""

import warnings

import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer
from sklearn.utils.estimator_checks import parametrize_with_checks

import discern
from discern.data.bins import STRATEGIES, assign, assign_columns, edges, entropy_cuts

nan, inf = np.nan, np.inf


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
@pytest.mark.parametrize("strategy", ["quantile", "uniform"])
@pytest.mark.parametrize("encode", ["ordinal", "onehot", "onehot-dense"])
@pytest.mark.parametrize("bins", [2, 5, 40])
def test_bins_equal_the_reference(load, strategy, encode, bins):
    X = load().data
    options = {"n_bins": bins, "strategy": strategy, "encode": encode}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of edges that coincide
        theirs = KBinsDiscretizer(**options, quantile_method="averaged_inverted_cdf", subsample=None).fit(X)
    ours = discern.Discretizer(**options).fit(X)
    for mine, other in zip(ours.bin_edges_, theirs.bin_edges_, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-12)
    assert ours.n_bins_.tolist() == theirs.n_bins_.tolist()
    mine, other = ours.transform(X), theirs.transform(X)
    if encode == "onehot":
        mine, other = mine.toarray(), other.toarray()
    np.testing.assert_array_equal(mine, other)
    np.testing.assert_allclose(ours.inverse_transform(mine), theirs.inverse_transform(mine), rtol=1e-12)
    if encode != "ordinal":
        assert len(ours.get_feature_names_out()) == mine.shape[1]


def best_cuts(values, classes):
    """Fayyad and Irani's partitioning as it is written, slowly."""

    def entropy(some):
        shares = np.unique(some, return_counts=True)[1] / len(some)
        return -np.sum(shares * np.log2(shares))

    found = []
    for cut in (np.unique(values)[1:] + np.unique(values)[:-1]) / 2:
        left, right = classes[values < cut], classes[values >= cut]
        found.append((len(left) * entropy(left) + len(right) * entropy(right), cut))
    if not found:
        return []
    cost, cut = min(found)
    parts = [classes, classes[values < cut], classes[values >= cut]]
    (k, k1, k2), (e, e1, e2) = ([len(set(part)) for part in parts], [entropy(part) for part in parts])
    delta = np.log2(3.0**k - 2) - (k * e - k1 * e1 - k2 * e2)
    if e - cost / len(classes) <= (np.log2(len(classes) - 1) + delta) / len(classes):
        return []
    lower = values < cut
    return [*best_cuts(values[lower], classes[lower]), cut, *best_cuts(values[~lower], classes[~lower])]


@pytest.mark.parametrize("column", range(4))
def test_entropy_cuts_are_fayyad_and_iranis(column):
    X, y = load_iris(return_X_y=True)
    found = entropy_cuts(X[:, column], y)
    np.testing.assert_allclose(found, best_cuts(X[:, column], y), rtol=1e-12)
    assert len(found) > 0


@pytest.mark.parametrize("seed", range(20))
def test_entropy_cuts_on_random_steps(seed):
    random = np.random.default_rng(seed)
    values = random.permutation(400) / 4.0
    classes = (np.searchsorted([20, 55, 80], values) + (random.random(400) < 0.1)) % 3
    np.testing.assert_allclose(entropy_cuts(values, classes), best_cuts(values, classes), rtol=1e-12)


def test_noise_is_not_cut():
    random = np.random.default_rng(1)
    assert len(entropy_cuts(random.random(500), random.integers(0, 2, 500))) == 0
    found = edges(random.random(500), random.integers(0, 2, 500), "mdl")
    assert len(found) == 2


def test_one_class_has_one_bin():
    assert edges(np.arange(9.0), np.zeros(9, int), "mdl").tolist() == [0.0, 8.0]


numbers = st.lists(st.floats(width=64, allow_nan=True, allow_infinity=True), min_size=1, max_size=60)


@given(numbers, st.sampled_from(STRATEGIES), st.integers(2, 40))
def test_every_number_has_a_bin(values, strategy, bins):
    values = np.array(values)
    classes = np.arange(len(values)) % 3
    found = edges(values, classes, strategy, bins)
    assert (found[1:] > found[:-1]).all()  # no difference: it may be beyond the largest number
    codes = assign(values, found)
    assert (codes[np.isnan(values)] == -1).all()
    known = codes[~np.isnan(values)]
    assert ((known >= 0) & (known < len(found) - 1)).all()
    order = np.argsort(values[~np.isnan(values)], kind="stable")
    assert (np.diff(known[order]) >= 0).all()
    np.testing.assert_array_equal(known, np.searchsorted(found[1:-1], values[~np.isnan(values)], side="right"))


@pytest.mark.parametrize("bins", [1, 2, 5, 33, 34, 500])
@pytest.mark.parametrize("columns", [1, 3, 20])
def test_bins_are_where_a_search_finds_them(bins, columns, monkeypatch):
    random = np.random.default_rng(bins)
    table = random.choice([*random.random(50), nan, inf, -inf], (40_000, columns))
    found = [np.r_[0.0, np.sort(random.choice(table[:, 0], random.integers(0, bins))), 1.0] for _ in range(columns)]
    found = [np.unique(np.nan_to_num(column, posinf=2.0, neginf=-1.0)) for column in found]
    expected = [np.searchsorted(edge[1:-1], table[:, place], side="right") for place, edge in enumerate(found)]
    expected = np.where(np.isnan(table), -1, np.stack(expected, axis=1))
    for threads in ("1", "3"):
        monkeypatch.setenv("DISCERN_THREADS", threads)
        np.testing.assert_array_equal(assign_columns(table, found), expected)
    np.testing.assert_array_equal(assign(table[:, 0], found[0]), expected[:, 0])


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("seed", range(5))
def test_a_weight_is_a_number_of_rows(strategy, seed):
    random = np.random.default_rng(seed)
    values, weights = random.integers(0, 60, 300) / 4.0, random.integers(0, 4, 300)
    classes = (values > 7).astype(int) + random.integers(0, 2, 300) * (values > 11)
    repeated = edges(values.repeat(weights), classes.repeat(weights), strategy, 7)
    np.testing.assert_allclose(edges(values, classes, strategy, 7, weights.astype(float)), repeated, rtol=1e-12)
    assert len(repeated) > 2


def test_weighted_quantiles_equal_the_reference():
    random = np.random.default_rng(3)
    X, weights = random.integers(0, 100, (200, 2)).astype(float), random.integers(1, 5, 200)
    theirs = KBinsDiscretizer(6, quantile_method="averaged_inverted_cdf", subsample=None).fit(X, sample_weight=weights)
    ours = discern.Discretizer(6).fit(X, sample_weight=weights)
    for mine, other in zip(ours.bin_edges_, theirs.bin_edges_, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-12)


def test_neighboring_floats_are_cut_between():
    low = 1.0
    high = np.nextafter(low, 2)
    cuts = entropy_cuts(np.array([low, high] * 50), np.array([0, 1] * 50))
    assert cuts.tolist() == [high]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_constant_missing_and_infinite_columns(strategy):
    X = np.array([[1.0, nan, nan, -inf], [1.0, nan, 2.0, 1.0], [1.0, nan, 3.0, 2.0], [1.0, nan, 9.0, inf]] * 9)
    y = [0, 0, 1, 1] * 9
    ordinal = discern.Discretizer(2, encode="ordinal", strategy=strategy).fit(X, y)
    assert ordinal.n_bins_.tolist() == [1, 1, 2, 2]
    codes = ordinal.transform(X)
    assert codes[:4, 0].tolist() == [0, 0, 0, 0]
    assert np.isnan(codes[:, 1]).all()
    assert np.isnan(codes[0, 2])
    assert codes[:4, 3].tolist() == [0, 0, 1, 1]
    coded = discern.Discretizer(2, encode="ordinal", strategy=strategy, missing="code").fit(X, y).transform(X)
    assert (coded[:, 1] == 1).all()
    assert coded[0, 2] == 2
    sparse = discern.Discretizer(2, strategy=strategy).fit(X, y)
    assert sparse.transform(X).sum(axis=1).A1.tolist()[:2] == [2, 3]
    back = sparse.inverse_transform(sparse.transform(X))
    assert np.isnan(back[:, 1]).all()
    assert np.isnan(back[0, 2])
    wide = discern.Discretizer(2, strategy=strategy, missing="code").fit(X, y)
    assert wide.transform(X).shape == (36, 10)
    assert wide.get_feature_names_out().tolist()[:4] == ["x0_0", "x0_missing", "x1_0", "x1_missing"]


def test_names_and_frames():
    frame = pandas.DataFrame({"age": [1.0, 2.0, 3.0], "size": [3.0, 2.0, 1.0]})
    binned = discern.Discretizer(2, encode="onehot-dense").set_output(transform="pandas").fit_transform(frame)
    assert list(binned.columns) == ["age_0", "age_1", "size_0", "size_1"]


def test_bins_of_each_column():
    model = discern.Discretizer([2, 3], encode="ordinal").fit(np.random.default_rng(0).random((50, 2)))
    assert model.n_bins_.tolist() == [2, 3]


@pytest.mark.parametrize(
    ("options", "y", "message"),
    [
        ({"n_bins": 1}, None, "n_bins"),
        ({"n_bins": [2, 2, 2]}, None, "one for each of the 2 columns"),
        ({"n_bins": [2, 1]}, None, "at least 2"),
        ({"n_bins": [2.5, 3]}, None, "whole numbers"),
        ({"strategy": "kmeans"}, None, "strategy"),
        ({"strategy": "mdl"}, None, "requires y"),
    ],
)
def test_bad_parameters_are_one_sentence(options, y, message):
    with pytest.raises(ValueError, match=message):
        discern.Discretizer(**options).fit([[1.0, 2.0], [3.0, 4.0]], y)


def test_codes_that_no_bin_has_are_refused():
    model = discern.Discretizer(2, encode="ordinal").fit([[1.0], [2.0]])
    with pytest.raises(ValueError, match="no bin has"):
        model.inverse_transform([[5.0]])
    with pytest.raises(ValueError, match="returns 1"):
        model.inverse_transform([[0.0, 0.0]])
    with pytest.raises(ValueError, match="needs the class of each number"):
        edges(np.array([1.0, 2.0]), None, "mdl")
    with pytest.raises(ValueError, match="must be one of"):
        edges(np.array([1.0, 2.0]), None, "tertiles")


def test_binned_numbers_feed_categories():
    X, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(discern.Discretizer(encode="ordinal", strategy="mdl"), discern.CategoricalNB())
    assert model.fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.93


@parametrize_with_checks(
    [
        discern.Discretizer(encode="ordinal", strategy="uniform"),
        discern.Discretizer(encode="onehot-dense", strategy="mdl", missing="code"),
    ]
)
@pytest.mark.filterwarnings("ignore")
def test_conformance(estimator, check):
    check(estimator)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("kind", ["plain", "constant", "missing", "infinite", "tiny", "fortran", "single"])
def test_columns_of_a_table_are_cut_as_each_alone(strategy, kind):
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 1_000)) if kind == "plain" else random.normal(size=(50, 4))
    y = random.integers(0, 2, len(X))
    odd = {"constant": 3.0, "missing": np.nan, "infinite": np.inf}
    X[: None if kind == "constant" else 3, 1] = odd.get(kind, X[0, 1])
    X[:, 2] *= 1e-300 if kind == "tiny" else 1.0
    X = np.asfortranarray(X) if kind == "fortran" else X.astype(np.float32) if kind == "single" else X
    found = discern.Discretizer(4, strategy=strategy).fit(X, y)
    for column, cut in zip(X.T, found.bin_edges_, strict=True):
        alone = edges(np.array(column, np.float64), y, strategy, 4)
        np.testing.assert_array_equal(cut, alone)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_fitting_leaves_the_rows_as_they_are(strategy):
    X = np.random.default_rng(0).normal(size=(50, 4))
    for table in (X.copy(), np.asfortranarray(X)):
        discern.Discretizer(4, strategy=strategy).fit(table, np.arange(50) % 2)
        np.testing.assert_array_equal(table, X)
