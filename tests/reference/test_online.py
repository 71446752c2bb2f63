"""Perceptron, Winnow and centers: what others give, what does not depend on the order, and the bounds."""

import time
import warnings

import numpy as np
import pytest
import scipy.sparse
import sklearn.linear_model as reference
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.neighbors import NearestCentroid
from sklearn.utils.estimator_checks import parametrize_with_checks

import discern

pytestmark = pytest.mark.filterwarnings("ignore:Maximum number of iteration")
LEARNERS = [
    discern.Perceptron(),
    discern.Perceptron(average=True),
    discern.Perceptron(kernel="rbf"),
    discern.Winnow(),
    discern.BalancedWinnow(),
]


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"eta0": 0.1},
        {"fit_intercept": False},
        {"penalty": "l2", "alpha": 1e-3},
        {"penalty": "l1", "alpha": 1e-3},
        {"penalty": "elasticnet", "alpha": 1e-3},
        {"class_weight": "balanced"},
    ],
    ids=str,
)
@pytest.mark.parametrize("sparse", [False, True])
def test_without_shuffling_it_is_the_reference(load, options, sparse):
    X, y = load(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = scipy.sparse.csr_matrix(X[order]) if sparse else X[order], y[order]
    shared = {"shuffle": False, "max_iter": 7, "tol": None, **options}
    ours, theirs = discern.Perceptron(**shared).fit(X, y), reference.Perceptron(**shared).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-9, atol=1e-9)
    assert (ours.predict(X) == theirs.predict(X)).all()


def separable(seed, rows=200, columns=5, gap=0.1):
    """Rows with a unit separator through the folded bias, none nearer than ``gap``."""
    random = np.random.default_rng(seed)
    w = random.normal(size=columns + 1)
    w /= np.linalg.norm(w)
    X = random.normal(size=(4 * rows, columns)) * 10.0 ** random.integers(-1, 2)
    distances = X @ w[:-1] + w[-1]
    kept = np.flatnonzero(np.abs(distances) > gap)[:rows]
    return X[kept], (distances[kept] > 0).astype(int), np.abs(distances[kept]).min(initial=np.inf)


@given(st.integers(0, 2**32 - 1), st.floats(0.01, 1.0), st.sampled_from([0.1, 1.0, 7.0]))
def test_updates_never_exceed_novikoffs_bound(seed, gap, rate):
    X, y, margin = separable(seed, gap=gap)
    assume(len(np.unique(y)) == 2)
    model = discern.Perceptron(tol=None, max_iter=100_000, eta0=rate, random_state=seed % 1000).fit(X, y)
    longest = np.sqrt((X**2).sum(axis=1).max() + 1)
    assert model.error_share_[0] == 0.0
    assert model.n_updates_[0] <= (longest / margin) ** 2
    assert model.n_updates_[0] <= model.update_bound_[0]
    signs = np.where(y == 1, 1, -1)
    unit = np.hypot(np.linalg.norm(model.coef_), model.intercept_[0])
    assert model.margin_[0] == pytest.approx((signs * model.decision_function(X)).min() / unit)


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
@pytest.mark.parametrize("sparse", [False, True])
def test_with_shuffling_the_order_of_rows_means_nothing(learner, sparse):
    X, y = load_wine(return_X_y=True)
    X = np.round((X - X.mean(axis=0)) / X.std(axis=0), 1)
    table = scipy.sparse.csr_array(X) if sparse else X
    order = np.random.default_rng(1).permutation(len(y))
    one = learner.__class__(**learner.get_params()).fit(table, y)
    other = learner.__class__(**learner.get_params()).fit(table[order], y[order])
    np.testing.assert_allclose(one.decision_function(table), other.decision_function(table), rtol=1e-9, atol=1e-9)
    assert one.n_updates_.tolist() == other.n_updates_.tolist()


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_batches_go_on_from_what_was_learned(learner):
    X, y = load_iris(return_X_y=True)
    X = X - X.mean(axis=0)
    model = learner.__class__(**learner.get_params())
    for epoch in range(30):
        order = np.random.default_rng(epoch).permutation(len(y))
        for part in np.array_split(order, 3):
            model.partial_fit(X[part], y[part], classes=[0, 1, 2])
    assert (model.predict(X) == y).mean() > 0.6
    assert model.n_iter_ == 90
    with pytest.raises(ValueError, match="is new"):
        model.partial_fit(X[:1], [7])


def test_the_threads_change_nothing():
    from discern.learners.perceptron import Lesson, OnlineSettings, PerceptronRule, learn

    X, y = load_wine(return_X_y=True)
    lesson, rule = Lesson(X, y, None, [0, 1, 2], [(1.0, 1.0)] * 3), PerceptronRule()
    states = [rule.start(X.shape[1])] * 3
    runs = [learn(lesson, rule, states, OnlineSettings(epochs=20), threads=threads) for threads in (1, 2, 5)]
    for other in runs[1:]:
        for (one, _), (two, _) in zip(runs[0], other, strict=True):
            np.testing.assert_array_equal(one.weights, two.weights)


def test_stopping_rules():
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    some = discern.Perceptron(error_share=0.05, tol=None).fit(X, y)
    assert some.error_share_[0] <= 0.05
    assert some.converged_.all()
    early = discern.Perceptron(early_stopping=True).fit(X, y)
    assert early.n_iter_ < 100
    assert early.score(X, y) > 0.9
    warm = discern.Perceptron(warm_start=True, max_iter=1, tol=None)
    for _ in range(3):
        warm.fit(X, y)
    again = discern.Perceptron(max_iter=1, tol=None).fit(X, y, coef_init=warm.coef_, intercept_init=warm.intercept_)
    np.testing.assert_array_equal(again.coef_, warm.fit(X, y).coef_)


def test_what_does_not_go_together_is_refused():
    X, y = [[0.0], [1.0]], [0, 1]
    for options in ({"average": True, "penalty": "l2"}, {"kernel": "rbf", "average": True}):
        with pytest.raises(ValueError, match="cannot be combined"):
            discern.Perceptron(**options).fit(X, y)
    with pytest.raises(ValueError, match="0 or 1"):
        discern.Winnow(binarize=None).fit([[0.5], [1.0]], y)
    with pytest.raises(ValueError, match="a million"):
        discern.Perceptron().fit(X, y, sample_weight=[1e9, 1.0])


@pytest.mark.alone
@pytest.mark.parametrize("kind", [discern.Perceptron, discern.Winnow])
def test_time_grows_with_the_rows(kind):
    random = np.random.default_rng(0)

    def rows_of(number):
        X = scipy.sparse.random_array((number, 5000), density=0.01, rng=random, format="csr")
        y = X @ random.normal(size=5000) > 0  # to be learned, as texts can be: guesses are half mistakes to the end
        return X, y

    def seconds(X, y):
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kind(max_iter=5, tol=None).fit(X, y)
        return time.process_time() - start

    # Both are larger than most caches: rows that fit into one take half the time. The least of several turns, since a
    # busy machine shares its memory.
    few, many = rows_of(50_000), rows_of(200_000)
    short, long = np.min([(seconds(*few), seconds(*many)) for _ in range(6)], axis=0)
    assert long < 7 * short


# -------------------------------------------------------------------------------------------------- centers


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
def test_centers_equal_the_reference(load):
    X, y = load(return_X_y=True)
    ours, theirs = discern.BasicLinearClassifier().fit(X, y), NearestCentroid().fit(X, y)
    np.testing.assert_allclose(ours.centroids_, theirs.centroids_, rtol=1e-12)
    assert (ours.predict(X) == theirs.predict(X)).all()
    linear = discern.BasicLinearClassifier(kernel="linear").fit(X, y)
    np.testing.assert_allclose(linear.decision_function(X), ours.decision_function(X), rtol=1e-9, atol=1e-6)


@pytest.mark.parametrize("kernel", [None, "rbf"])
@pytest.mark.parametrize("sparse", [False, True])
def test_centers_add_up(kernel, sparse):
    random = np.random.default_rng(5)
    X, y = random.integers(0, 6, (200, 5)).astype(float), random.choice(["a", "b", "c"], 200)
    X = scipy.sparse.csr_array(X) if sparse else X
    whole, stream = discern.BasicLinearClassifier(kernel=kernel).fit(X, y), discern.BasicLinearClassifier(kernel=kernel)
    for part in np.array_split(random.permutation(200), 7):
        stream.partial_fit(X[part], y[part])
    parts = [
        discern.BasicLinearClassifier(kernel=kernel).fit(X[rows], y[rows]) for rows in (slice(90), slice(90, None))
    ]
    merged = parts[0].merge(parts[1])
    more = discern.BasicLinearClassifier(kernel=kernel).fit(X, y).partial_fit(X[:40] * 2, ["new"] * 40)
    longer = more.forget(X[:40] * 2, ["new"] * 40)
    for other in (stream, merged, longer):
        assert other.classes_.tolist() == whole.classes_.tolist()
        np.testing.assert_allclose(other.decision_function(X), whole.decision_function(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kernel", [None, "rbf"])
def test_rows_never_learned_are_refused(kernel):
    model = discern.BasicLinearClassifier(kernel=kernel).fit([[1.0, 0], [0, 1], [1, 1]], ["a", "b", "b"])
    for X, y in [([[1, 0]] * 2, ["a"] * 2), ([[1, 0]], ["z"]), ([[1, 0], [0, 1], [1, 1]], ["a", "b", "b"])]:
        with pytest.raises(ValueError, match=r"cannot forget|cannot forget all rows"):
            model.forget(X, y)
    assert model.class_count_.tolist() == [1, 2]


@parametrize_with_checks([*LEARNERS, discern.BasicLinearClassifier(), discern.BasicLinearClassifier(kernel="rbf")])
@pytest.mark.filterwarnings("ignore")
def test_conformance(estimator, check):
    check(estimator)


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("rows", [40, 700])
@pytest.mark.parametrize(
    ("value", "message"), [(np.nan, "contains NaN"), (np.inf, "infinity"), (1e80, r"as large as 1e\+80")]
)
def test_sparse_numbers_that_cannot_be_summed_are_refused(shuffle: bool, rows: int, value: float, message: str) -> None:
    X = scipy.sparse.random_array((rows, 50), density=0.2, rng=np.random.default_rng(3), format="csr")
    y = np.arange(rows) % 3
    X.data[X.nnz // 2] = value
    for learner in (
        discern.Perceptron(shuffle=shuffle),
        discern.Perceptron(shuffle=shuffle, penalty="l2"),
        discern.Winnow(shuffle=shuffle),
    ):
        with pytest.raises(ValueError, match=message):
            learner.fit(X, y)
        with pytest.raises(ValueError, match=message):
            learner.partial_fit(X, y, classes=[0, 1, 2])
        with pytest.raises(ValueError, match=message):
            learner.fit(X, y, sample_weight=np.isfinite(X.sum(axis=1)).astype(float))  # also in rows without weight
