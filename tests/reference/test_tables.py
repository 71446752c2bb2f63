"""Naive Bayes on numbers and categories gives what scikit-learn gives, and adds up."""

import numpy as np
import pytest
import sklearn.naive_bayes as reference
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

import discern
from discern.statistics.moments import Moments

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
        with pytest.raises(ValueError, match=r"cannot forget|cannot forget all rows"):
            model.forget(X, y)
    assert model.class_count_.tolist() == [1, 2]


MODELS = {
    "GaussianNB": discern.GaussianNB,
    "CategoricalNB": discern.CategoricalNB,
    "MultinomialNB": discern.MultinomialNB,
}


def table(rows=40_000, columns=7, levels=9):
    random = np.random.default_rng(8)
    return random.integers(0, levels, (rows, columns)), random.integers(0, 3, rows)


@pytest.mark.parametrize("kind", MODELS.values(), ids=MODELS)
def test_the_number_of_threads_does_not_matter(kind, monkeypatch):
    X, y = table()
    found = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("DISCERN_THREADS", threads)
        model = kind().fit(X, y)
        found.append([model.predict_joint_log_proba(X), model.predict_proba(X)])
    for other in found[1:]:
        np.testing.assert_array_equal(other[0], found[0][0])
        np.testing.assert_array_equal(other[1], found[0][1])


@pytest.mark.parametrize("kind", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize(
    "change",
    [
        np.asfortranarray,
        lambda X: X.astype(np.float32),
        lambda X: X.astype(np.int8),
        lambda X: np.repeat(X, 2, axis=1)[:, ::2],
        lambda X: X.tolist(),
    ],
    ids=["columns first", "float32", "int8", "every other", "lists"],
)
def test_the_layout_and_type_of_a_table_do_not_matter(kind, change):
    X, y = table(500)
    expected = kind().fit(X, y)
    np.testing.assert_array_equal(kind().fit(change(X), y).predict_proba(change(X)), expected.predict_proba(X))


@pytest.mark.parametrize("kind", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize(
    "label",
    [
        np.int8,
        np.uint16,
        np.uint64,
        np.float64,
        lambda y: y == 1,
        lambda y: y * 10**12,
        lambda y: np.array(["c", "a", "b"])[y],
    ],
    ids=["int8", "uint16", "uint64", "float", "truth", "far apart", "strings"],
)
def test_labels_of_any_kind_give_what_the_reference_gives(kind, label):
    X, y = table(500)
    labels = label(y)
    ours, theirs = kind().fit(X, labels), getattr(reference, kind.__name__)().fit(X, labels)
    assert ours.classes_.dtype == theirs.classes_.dtype
    assert ours.classes_.tolist() == theirs.classes_.tolist()
    assert (ours.predict(X) == theirs.predict(X)).all()
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("classes", [2, 3, 5, 70])
@pytest.mark.parametrize("columns", [1, 3, 4, 23])
def test_any_number_of_classes_and_columns(classes, columns):
    random = np.random.default_rng(classes * columns)
    X, y = (
        random.normal(size=(3000, columns)) * 5 + 3,
        np.r_[np.arange(classes), random.integers(0, classes, 3000 - classes)],
    )
    ours, theirs = discern.GaussianNB().fit(X, y), reference.GaussianNB().fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-9, atol=1e-12)
    levels = (np.abs(X) * 40).astype(int)
    ours, theirs = discern.CategoricalNB().fit(levels, y), reference.CategoricalNB().fit(levels, y)
    np.testing.assert_allclose(ours.predict_proba(levels), theirs.predict_proba(levels), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("weighted", [False, True])
def test_numbers_that_are_not_finite_are_refused_and_nothing_changes(bad, weighted):
    X, y = table(100)
    broken = X.astype(float)
    broken[57, 3] = bad
    broken[0, 3] = bad
    weights = (np.arange(100) % 57 != 0).astype(float) if weighted else None
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        discern.GaussianNB().fit(broken, y, weights)
    model = discern.GaussianNB().fit(X, y)
    expected = model.predict_proba(X)
    for learn in (model.fit, model.partial_fit, model.forget):
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            learn(broken, y, sample_weight=weights)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        model.predict_proba(broken)
    np.testing.assert_array_equal(model.predict_proba(X), expected)


def test_forgetting_a_class_that_has_a_prior_is_refused_and_nothing_changes():
    for kind, name in [(discern.GaussianNB, "priors"), (discern.CategoricalNB, "class_prior")]:
        model = kind(**{name: [0.5, 0.5]}).fit([[1], [2], [3]], [0, 0, 1])
        expected = model.predict_proba([[2]])
        with pytest.raises(ValueError, match="Number of priors"):
            model.forget([[3]], [1])
        np.testing.assert_array_equal(model.predict_proba([[2]]), expected)


def test_large_numbers_are_not_taken_for_infinite():
    X = np.array([[1e200], [-1e200], [2e200], [3e200]])
    with pytest.raises(ValueError, match="as large as 3e\\+200"):  # its square is no number: that is said, not NaN
        discern.GaussianNB().fit(X, [0, 1, 0, 1])
    assert discern.GaussianNB().fit(X * 1e-130, [0, 1, 0, 1]).classes_.tolist() == [0, 1]


@pytest.mark.parametrize("kind", [discern.CategoricalNB, discern.MultinomialNB])
def test_negative_numbers_are_refused_and_nothing_changes(kind):
    X, y = table(100)
    model = kind().fit(X, y)
    expected = model.predict_proba(X)
    for learn in (model.fit, model.partial_fit, model.forget):
        with pytest.raises(ValueError, match="Negative values"):
            learn(X[:20] - 5, y[:20])
    with pytest.raises(ValueError, match="Negative values"):
        model.partial_fit(X[:2] - 5, [7, 8])
    with pytest.raises(ValueError, match="Negative values"):
        model.predict_proba(X - 5)
    assert model.classes_.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(model.predict_proba(X), expected)


def test_categories_without_room_are_refused():
    with pytest.raises(ValueError, match="number the categories from 0"):
        discern.CategoricalNB().fit([[0], [2**60]], [0, 1])


def test_low_and_high_levels_beside_each_other():
    X, y = table(5000, levels=200)
    X[4000:, 2] += 1000
    ours, theirs = discern.CategoricalNB().fit(X, y), reference.CategoricalNB().fit(X, y)
    for mine, other in zip(ours.category_count_, theirs.category_count_, strict=True):
        np.testing.assert_array_equal(mine, other)


def test_nearly_as_many_classes_as_rows_is_warned_of():
    X = np.arange(60.0).reshape(30, 2)
    with pytest.warns(UserWarning, match="unique classes is greater than 50%"):
        discern.GaussianNB().fit(X, np.arange(30))
    with pytest.raises(ValueError, match="Unknown label type"):
        discern.GaussianNB().fit(X, np.linspace(0, 1, 30))


@pytest.mark.parametrize("classes", [1, 2, 3, 40])
def test_posteriors_equal_those_of_scipy(classes):
    from scipy.special import softmax

    from discern.learners.bayes import posterior

    scores = np.random.default_rng(classes).normal(size=(5000, classes)) * np.logspace(-3, 3, 5000)[:, None] - 1e5
    np.testing.assert_allclose(posterior(scores), softmax(scores, axis=1), rtol=1e-13, atol=1e-300)
    kept = scores.copy()
    posterior(scores)
    np.testing.assert_array_equal(scores, kept)
    assert posterior(scores, in_place=True) is scores
