"""Naive Bayes on numbers and categories gives what scikit-learn gives, and adds up."""

import numpy as np
import pytest
import sklearn.naive_bayes as reference
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.utils.estimator_checks import parametrize_with_checks

import discern
from discern.statistics import Moments

DATA = [load_iris, load_wine, load_breast_cancer, load_digits]


@pytest.mark.parametrize("load", DATA)
@pytest.mark.parametrize("options", [{}, {"var_smoothing": 1e-3}], ids=str)
def test_gaussian_equals_the_reference(load, options):
    X, y = load(return_X_y=True)
    ours, theirs = discern.GaussianNB(**options).fit(X, y), reference.GaussianNB(**options).fit(X, y)
    for attribute in ("theta_", "var_", "class_prior_", "epsilon_"):
        np.testing.assert_allclose(getattr(ours, attribute), getattr(theirs, attribute), rtol=1e-10, atol=1e-12)
    joint = theirs.predict_joint_log_proba(X)
    np.testing.assert_allclose(ours.predict_joint_log_proba(X), joint, rtol=1e-10)
    assert (ours.predict(X) == theirs.predict(X)).all()


@pytest.mark.parametrize("load", DATA)
@pytest.mark.parametrize("options", [{}, {"alpha": 0.1, "fit_prior": False}, {"min_categories": 20}], ids=str)
def test_categorical_equals_the_reference(load, options):
    X, y = load(return_X_y=True)
    X = np.floor(X / X.max(axis=0, initial=1e-9) * 9).astype(int).clip(0)
    ours, theirs = discern.CategoricalNB(**options).fit(X, y), reference.CategoricalNB(**options).fit(X, y)
    assert ours.n_categories_.tolist() == theirs.n_categories_.tolist()
    for mine, other in zip(ours.feature_log_prob_, theirs.feature_log_prob_, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(ours.predict_joint_log_proba(X), theirs.predict_joint_log_proba(X), rtol=1e-10)


@pytest.mark.parametrize("kind", [discern.GaussianNB, discern.CategoricalNB])
@pytest.mark.parametrize("parts", [1, 2, 7, 64])
def test_batches_merging_and_forgetting_give_what_fit_gives(kind, parts):
    random = np.random.default_rng(5)
    X, y = random.integers(0, 6, (400, 5)), random.choice(["a", "b", "c"], 400)
    whole, stream = kind().fit(X, y), kind()
    for part in np.array_split(random.permutation(400), parts):
        stream.partial_fit(X[part], y[part])
    merged = kind().fit(X[:150], y[:150]).merge(kind().fit(X[150:], y[150:]))
    longer = kind().fit(np.vstack([X, X[:40] + 3]), [*y, *["new"] * 40]).forget(X[:40] + 3, ["new"] * 40)
    for other in (stream, merged, longer):
        assert other.classes_.tolist() == whole.classes_.tolist()
        np.testing.assert_allclose(other.predict_proba(X), whole.predict_proba(X), rtol=1e-9, atol=1e-12)


def test_variance_far_from_zero_survives_forgetting():
    random = np.random.default_rng(6)
    X = 1e9 + random.standard_normal((100_000, 2))
    y = random.integers(0, 2, 100_000)
    model = discern.GaussianNB(var_smoothing=0.0).fit(X, y).forget(X[:10_000], y[:10_000])
    for label in (0, 1):
        rest = X[10_000:][y[10_000:] == label] - 1e9
        np.testing.assert_allclose(model.var_[label], rest.var(axis=0), rtol=1e-9)


@given(st.integers(0, 2**32 - 1), st.floats(-1e6, 1e6))
def test_moments_do_not_depend_on_the_pivot(seed, pivot):
    random = np.random.default_rng(seed)
    table, classes = random.normal(3.0, 2.0, (50, 3)), random.integers(0, 2, 50)
    moments = Moments.of(table, classes, 2)
    moved = moments.about(np.full(3, pivot)).about(moments.pivot)
    np.testing.assert_allclose(moved.means(), moments.means(), rtol=1e-6, atol=1e-6)
    split = Moments.of(table[:20], classes[:20], 2) + Moments.of(table[20:], classes[20:], 2)
    np.testing.assert_allclose(split.variances(), moments.variances(), rtol=1e-9)


def test_missing_numbers_are_left_out():
    table = np.array([[1.0, np.nan], [3.0, 4.0], [np.nan, 6.0]])
    moments = Moments.of(table, np.zeros(3, int), 1)
    assert moments.counts.tolist() == [[2, 2]]
    assert moments.means().tolist() == [[2.0, 5.0]]


def test_categories_never_seen_are_left_out_and_new_ones_grow_the_model():
    model = discern.CategoricalNB().fit([[0, 1], [1, 0]], ["a", "b"])
    np.testing.assert_array_equal(
        model.predict_joint_log_proba([[0, 9]])[0], model.class_log_prior_ + model.feature_log_prob_[0][:, 0]
    )
    model.partial_fit([[4, 0]], ["c"])
    assert model.n_categories_.tolist() == [5, 2]
    assert model.classes_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("kind", [discern.GaussianNB, discern.CategoricalNB])
def test_rows_never_learned_are_refused(kind):
    model = kind().fit([[1, 0], [0, 1], [1, 1]], ["a", "b", "b"])
    for X, y in [([[1, 0]] * 2, ["a"] * 2), ([[1, 0]], ["z"]), ([[1, 0], [0, 1], [1, 1]], ["a", "b", "b"])]:
        with pytest.raises(ValueError, match=r"never learned|nothing would be left"):
            model.forget(X, y)
    assert model.class_count_.tolist() == [1, 2]


@parametrize_with_checks([discern.GaussianNB(), discern.CategoricalNB()])
@pytest.mark.filterwarnings("ignore")
def test_conformance(estimator, check):
    check(estimator)
