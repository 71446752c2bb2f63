"""Small examples by hand: centers with a kernel, logical functions, bounds on mistakes."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import discern

INPUTS = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], float)
FUNCTIONS = {"or": [0, 1, 1, 1], "and": [0, 0, 0, 1], "nand": [1, 1, 1, 0], "nor": [1, 0, 0, 0]}
XOR = [0, 1, 1, 0]


def test_centers_in_the_space_of_a_kernel():
    rows, classes = np.array([[-1.0, 1.0], [1.0, 1.0], [0.0, 0.0]]), [1, 1, 0]
    model = discern.BasicLinearClassifier(kernel="poly", gamma=1.0, degree=2).fit(rows, classes)
    random = np.random.default_rng(0)
    points = random.normal(0.0, 2.0, (50, 2))
    np.testing.assert_allclose(model.decision_function(points), (points**2).sum(axis=1) - 1.0, rtol=1e-12, atol=1e-12)
    assert model.predict([[1.0, 0.0], [0.9, 0.0]]).tolist() == [1, 0]


def test_centers_without_a_kernel():
    model = discern.BasicLinearClassifier().fit([[0, 0], [2, 0], [4, 3]], [0, 0, 1])
    assert model.coef_.tolist() == [[3.0, 3.0]]  # p − n
    assert model.intercept_.tolist() == [-12.0]  # −(‖p‖² − ‖n‖²)/2 = −(25 − 1)/2


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("options", [{}, {"eta0": 0.1}, {"average": True}, {"kernel": "rbf"}], ids=str)
def test_the_perceptron_learns_logical_functions(name, options):
    model = discern.Perceptron(tol=None, **options).fit(INPUTS, FUNCTIONS[name])
    assert model.converged_.all()
    assert model.error_share_.tolist() == [0.0]
    if "average" not in options:
        assert model.predict(INPUTS).tolist() == FUNCTIONS[name]
        assert model.n_updates_[0] <= model.update_bound_[0]


def test_the_perceptron_does_not_learn_xor_and_says_so():
    with pytest.warns(ConvergenceWarning, match="Maximum number of iteration"):
        model = discern.Perceptron(tol=None, max_iter=200).fit(INPUTS, XOR)
    assert (model.n_iter_, model.converged_.tolist()) == (200, [False])
    assert model.error_share_[0] > 0
    assert np.isnan(model.margin_[0])
    assert np.isnan(model.update_bound_[0])


@pytest.mark.parametrize("options", [{"kernel": "rbf", "gamma": 1.0}, {"kernel": "poly", "degree": 2, "coef0": 1.0}])
def test_a_kernel_learns_xor(options):
    model = discern.Perceptron(tol=None, **options).fit(INPUTS, XOR)
    assert model.predict(INPUTS).tolist() == XOR
    assert model.n_updates_[0] <= model.update_bound_[0]
    assert discern.SVC(C=100.0, **options).fit(INPUTS, XOR).predict(INPUTS).tolist() == XOR


@pytest.mark.parametrize("name", FUNCTIONS)
def test_balanced_winnow_learns_logical_functions(name):
    model = discern.BalancedWinnow(tol=None).fit(INPUTS, FUNCTIONS[name])
    assert model.predict(INPUTS).tolist() == FUNCTIONS[name]


def test_one_step_of_winnow():
    model = discern.Winnow(shuffle=False, max_iter=1, threshold=1.0, tol=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit([[1, 1, 0], [0, 1, 1]], [0, 1])
    # Row 1 scores 2 − 1: demoted to (½, ½, 1). Row 2 scores 1.5 − 1: right.
    assert model.coef_.tolist() == [[0.5, 0.5, 1.0]]
    assert (model.n_promotions_.tolist(), model.n_demotions_.tolist()) == ([0], [1])


@pytest.mark.parametrize(("k", "seed"), [(1, 0), (4, 1), (16, 2), (16, 3)])
def test_winnow_learns_disjunctions_within_its_bound(k, seed):
    random = np.random.default_rng(seed)
    features = 10_000
    literals = random.choice(features, k, replace=False)
    rows = (random.random((400, features)) < 0.01).astype(float)
    # Half of the rows hold no literal: then both kinds of mistakes occur.
    rows[::2, literals] = 0
    labels = rows[:, literals].any(axis=1).astype(int)
    assert 0 < labels.sum() < 400
    model = discern.Winnow(tol=None).fit(rows, labels)
    assert model.converged_.all()
    assert model.predict(rows).tolist() == labels.tolist()
    assert model.n_promotions_[0] <= k * (1 + np.log2(features / 2))
    assert model.n_updates_[0] <= 4 + 3 * k * (1 + np.log2(features / 2))


@pytest.mark.parametrize("average", [False, True])
def test_an_averaged_perceptron_by_hand(average):
    model = discern.Perceptron(shuffle=False, max_iter=2, tol=None, average=average, fit_intercept=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit([[1.0, 0.0], [1.0, 1.0]], [1, 0])
    # Mistakes on all four: w = (1,0), (0,−1), (1,−1), (0,−2); their mean is (½, −1).
    assert model.coef_.tolist() == ([[0.5, -1.0]] if average else [[0.0, -2.0]])
