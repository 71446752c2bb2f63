"""Basis expansion: the right columns with the right names, in a pipeline."""

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils.estimator_checks import parametrize_with_checks

import discern
from discern.learners import simulate
from discern.learners.basis import gaussian_features, kmeans_centers, squared_distances


def test_quadratic_features_are_those_of_the_reference():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 4)), columns=["a", "b", "c", "d"])
    ours, theirs = discern.QuadraticFeatures().fit(X), PolynomialFeatures(2, include_bias=False).fit(X)
    mine = dict(zip(ours.get_feature_names_out(), ours.transform(X).T, strict=True))
    other = dict(zip(theirs.get_feature_names_out(), theirs.transform(X).T, strict=True))
    assert mine.keys() == other.keys()
    for name, column in mine.items():
        np.testing.assert_allclose(column, other[name])
    assert len(discern.QuadraticFeatures(products=False).fit(X).get_feature_names_out()) == 8
    assert discern.QuadraticFeatures(squares=False).fit_transform(X).shape == (20, 10)


def test_names_go_through_a_pipeline():
    X = pd.DataFrame({"age": [1.0, 2.0, 3.0, 5.0], "pay": [3.0, 4.0, 1.0, 2.0]})
    steps = make_pipeline(discern.QuadraticFeatures(), discern.GaussianBasis(2, random_state=0)).fit(X)
    assert steps.get_feature_names_out().tolist() == ["gaussianbasis0", "gaussianbasis1"]
    frame = discern.QuadraticFeatures().set_output(transform="pandas").fit_transform(X)
    assert frame.columns.tolist() == ["age", "pay", "age pay", "age^2", "pay^2"]


@pytest.mark.parametrize(
    ("problem", "basis"),
    [(simulate.xor(), discern.QuadraticFeatures()), (simulate.ring(), discern.GaussianBasis(30, random_state=0))],
    ids=lambda value: getattr(value, "name", type(value).__name__),
)
def test_a_linear_classifier_learns_curved_boundaries(problem, basis):
    X, y = problem.sample(20_000, 0)
    tests, truth = problem.sample(20_000, 1)
    plain = discern.LinearDiscriminantAnalysis().fit(X, y).score(tests, truth)
    bent = make_pipeline(basis, discern.LinearDiscriminantAnalysis()).fit(X, y).score(tests, truth)
    assert plain < 0.7
    assert 1 - bent < problem.bayes_rate().rate + 0.01


@pytest.mark.parametrize("centers", ["k-means", "sample"])
def test_centers_are_placed_with_weight_and_seed(centers):
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 2)) + 1e6
    basis = discern.GaussianBasis(10, centers=centers, random_state=3).fit(X)
    again = discern.GaussianBasis(10, centers=centers, random_state=3).fit(X)
    np.testing.assert_array_equal(basis.centers_, again.centers_)
    assert basis.centers_.shape == (10, 2)
    weights = (np.arange(200) < 5).astype(float)
    few = discern.GaussianBasis(10, centers=centers, random_state=3).fit(X, sample_weight=weights)
    assert len(few.centers_) == 5
    assert {tuple(row) for row in few.centers_} <= {tuple(row) for row in X[:5]} or centers == "k-means"


def test_kmeans_ends_where_no_row_is_nearer_to_another_center():
    rows = np.random.default_rng(1).normal(size=(300, 3))
    centers = kmeans_centers(rows, np.ones(300), 7, np.random.default_rng(2))
    nearest = squared_distances(rows, centers).argmin(axis=1)
    for number, center in enumerate(centers):
        np.testing.assert_allclose(rows[nearest == number].mean(axis=0), center, atol=1e-9)


@pytest.mark.parametrize("ties", [False, True])
def test_centers_do_not_depend_on_the_order_of_the_rows_nor_on_how_repetitions_are_told(ties):
    random = np.random.default_rng(3)
    rows = random.normal(size=(60, 3))
    if ties:
        rows[::2, 0] = 1.0
    counts, order = random.integers(0, 4, 60), random.permutation(60)
    weighted = kmeans_centers(rows[order], counts[order] * 1.0, 5, np.random.default_rng(4))
    repeated = np.repeat(rows, counts, axis=0)
    np.testing.assert_allclose(
        weighted, kmeans_centers(repeated, np.ones(len(repeated)), 5, np.random.default_rng(4)), atol=1e-12
    )


def test_rows_that_differ_by_less_than_rounding_have_centers_of_their_own():
    rows = np.array([[1e-5, 1.0], [0.0, 1.0], [-1e-5, 1.0], [5.0, 9.0], [9.0, 5.0]])
    centers = kmeans_centers(rows, np.ones(5), 5, np.random.default_rng(0))
    np.testing.assert_allclose(np.sort(centers[:, 0]), [-1e-5, 0.0, 1e-5, 5.0, 9.0], atol=1e-12)


def test_bumps_of_many_rows_are_those_of_each_row():
    random = np.random.default_rng(5)
    rows, centers = random.normal(size=(9_000, 7)) + 1e3, random.normal(size=(40, 7)) + 1e3
    found = gaussian_features(rows, centers, 2.0)
    squares = ((rows[:, None] - centers) ** 2).sum(axis=2)
    np.testing.assert_allclose(found, np.exp(-squares / 8.0), rtol=1e-10)


def test_rows_that_do_not_fit_the_centers_are_refused():
    with pytest.raises(ValueError, match="3 columns and the rows 2"):
        discern.GaussianBasis(centers=np.zeros((2, 3))).fit(np.zeros((4, 2)))


@parametrize_with_checks(
    [
        discern.GaussianBasis(centers="sample", random_state=0),
    ]
)
@pytest.mark.filterwarnings("ignore")
def test_conformance(estimator, check):
    check(estimator)
