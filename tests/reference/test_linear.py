"""The linear classifiers of large margin give what LIBLINEAR and LIBSVM give, and prove how good it is."""

import warnings

import numpy as np
import pytest
import scipy.sparse
import sklearn.svm as reference
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import discern
from discern.learners.margins import MarginSettings, fit_margins
from discern.learners.nbsvm import fit_nbsvm, indicators
from discern.learners.smoothing import JelinekMercer, Laplace


def test_the_checks_of_weights_are_among_them():
    names = [str(check) for _, check in parametrize_with_checks([discern.LinearSVC()]).args[1]]
    assert sum("check_sample_weight_equivalence" in name for name in names) == 2


# ---------------------------------------------------------------------------------------- the same optimum


def random_problem(seed, classes=2, rows=150, columns=20, sparse=False):
    random = np.random.default_rng(seed)
    X = random.standard_normal((rows, columns)) * (random.random((rows, columns)) < (0.3 if sparse else 1.0))
    y = np.argmax(X[:, :classes] + random.standard_normal((rows, classes)), axis=1)
    return (scipy.sparse.csr_array(X) if sparse else X), y


def primal_value(X, signs, costs, coef, intercept, loss, scaling=1.0):
    slack = np.maximum(0, 1 - signs * (X @ coef + intercept))
    penalty = coef @ coef + ((intercept / scaling) ** 2 if scaling else 0.0)
    return 0.5 * penalty + costs @ (slack if loss == "hinge" else slack**2)


def dual_value(X, signs, costs, alpha, loss, scaling=1.0):
    weights = X.T @ (alpha * signs)
    norm = weights @ weights + (scaling * (alpha @ signs)) ** 2
    return alpha.sum() - 0.5 * norm - (0 if loss == "hinge" else 0.25 * (alpha**2 / costs).sum())


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("options", [{}, {"C": 0.01}, {"C": 30.0, "intercept_scaling": 3.0}, {"fit_intercept": False}])
@pytest.mark.parametrize("classes", [2, 4])
def test_objective_equals_liblinear(loss, sparse, options, classes):
    X, y = random_problem(1, classes, sparse=sparse)
    ours = discern.LinearSVC(loss=loss, tol=1e-9, max_iter=200_000, **options).fit(X, y)
    theirs = reference.LinearSVC(loss=loss, tol=1e-9, max_iter=2_000_000, dual=True, **options).fit(X, y)
    costs, scaling = np.full(len(y), options.get("C", 1.0)), options.get("intercept_scaling", 1.0)
    for function in range(len(ours.coef_)):
        signs = np.where(y == (1 if classes == 2 else function), 1.0, -1.0)
        values = [
            primal_value(
                X,
                signs,
                costs,
                model.coef_[function],
                np.broadcast_to(model.intercept_, classes)[function],
                loss,
                scaling,
            )
            for model in (ours, theirs)
        ]
        assert values[0] == pytest.approx(values[1], rel=1e-6)
        assert values[0] == pytest.approx(ours.certificate_.primal[function], rel=1e-9)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("dual", [True, False])
def test_both_solvers_weights_and_class_weights(dual):
    X, y = random_problem(2, 3)
    weights = np.random.default_rng(3).integers(1, 5, len(y)).astype(float)
    for class_weight in (None, "balanced", {0: 3.0, 1: 0.5}):
        options = {"class_weight": class_weight, "dual": dual}
        ours = discern.LinearSVC(tol=1e-10, max_iter=100_000, **options).fit(X, y, weights)
        theirs = reference.LinearSVC(tol=1e-10, max_iter=1_000_000, **options).fit(X, y, weights)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=3e-5)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=3e-5)


@pytest.mark.parametrize("classes", [2, 3, 6])
@pytest.mark.parametrize("sparse", [False, True])
def test_crammer_singer_equals_liblinear(classes, sparse):
    X, y = random_problem(4, classes, sparse=sparse)
    options = {"multi_class": "crammer_singer", "C": 0.5}
    ours = discern.LinearSVC(tol=1e-9, max_iter=100_000, **options).fit(X, y)
    theirs = reference.LinearSVC(tol=1e-9, max_iter=1_000_000, **options).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-3)
    assert ours.certificate_.gap.max() <= 1e-9


@pytest.mark.parametrize("load", [load_iris, load_breast_cancer, load_digits])
def test_known_data_are_decided_as_by_liblinear(load):
    X, y = load(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    ours = discern.LinearSVC(tol=1e-11, max_iter=100_000).fit(X, y)
    theirs = reference.LinearSVC(tol=1e-10, max_iter=100_000, dual=False).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=2e-3)


def test_a_free_intercept_equals_libsvm():
    for seed in range(3):
        X, y = random_problem(seed)
        ours = discern.LinearSVC(loss="hinge", penalize_intercept=False, tol=1e-9, max_iter=1_000_000).fit(X, y)
        theirs = reference.SVC(kernel="linear", tol=1e-10).fit(X, y)
        signs, costs = np.where(y == 1, 1.0, -1.0), np.ones(len(y))
        values = [
            primal_value(X, signs, costs, model.coef_[0], model.intercept_[0], "hinge", scaling=None)
            for model in (ours, theirs)
        ]
        assert values[0] == pytest.approx(values[1], rel=1e-6)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)


def test_a_free_squared_hinge_is_the_same_in_primal_and_dual():
    X, y = random_problem(5, 3)
    settings = {"penalize_intercept": False, "tol": 1e-10, "max_iter": 1_000_000}
    primal, dual = (discern.LinearSVC(dual=dual, **settings).fit(X, y) for dual in (False, True))
    np.testing.assert_allclose(primal.coef_, dual.coef_, atol=1e-4)
    np.testing.assert_allclose(primal.intercept_, dual.intercept_, atol=1e-4)


# ------------------------------------------------------------------------------------------ the certificate


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("solver", ["dual", "primal"])
@pytest.mark.parametrize("tolerance", [1e-4, 1e-8])
@pytest.mark.parametrize("sparse", [False, True])
def test_gap_and_conditions_of_every_row(loss, solver, tolerance, sparse):
    if loss == "hinge" and solver == "primal":
        with pytest.raises(ValueError, match="squared_hinge"):
            MarginSettings(loss=loss, solver=solver)
        return
    X, y = random_problem(6, 3, sparse=sparse)
    weights = np.random.default_rng(7).random(len(y)) + 0.1
    settings = MarginSettings(loss=loss, solver=solver, tolerance=tolerance, cost=2.0, passes=100_000)
    found = fit_margins(X, y, 3, settings, weights=weights, duals=True)
    for function in range(3):
        signs, costs = np.where(y == function, 1.0, -1.0), 2.0 * weights
        alpha, coef, intercept = found.duals[:, function], found.coef[function], found.intercept[function]
        primal = primal_value(X, signs, costs, coef, intercept, loss)
        dual = dual_value(X, signs, costs, alpha, loss)
        assert dual <= primal * (1 + 1e-12)
        assert primal - dual <= tolerance * primal * (1 + 1e-3)
        assert primal == pytest.approx(found.certificate.primal[function], rel=1e-6)
        assert dual == pytest.approx(found.certificate.dual[function], rel=1e-6)
        # Conditions of Karush, Kuhn and Tucker: α = 0 beyond the margin, α at its bound (or 2cξ) within.
        slack, allowed = 1 - signs * (X @ coef + intercept), 30 * np.sqrt(tolerance)
        assert (alpha >= 0).all()
        if loss == "hinge":
            assert (alpha <= costs).all()
            assert (np.minimum(slack, 0) * alpha >= -allowed).all()
            assert (np.maximum(slack, 0) * (costs - alpha) <= allowed).all()
        else:
            np.testing.assert_allclose(alpha, 2 * costs * np.maximum(slack, 0), atol=allowed * 5)


def test_a_fit_that_stops_early_says_so():
    X, y = random_problem(8)
    with pytest.warns(ConvergenceWarning, match="relative duality gap"):
        model = discern.LinearSVC(dual=True, max_iter=2, tol=1e-12).fit(X, y)
    assert model.n_iter_ == 2
    assert model.certificate_.gap.max() > 1e-12
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert discern.LinearSVC().fit(X, y).certificate_.converged


# ---------------------------------------------------------------------------------- order, weights, threads


@pytest.mark.parametrize(
    "options", [{}, {"loss": "hinge"}, {"dual": False}, {"multi_class": "crammer_singer"}], ids=str
)
@pytest.mark.parametrize("sparse", [False, True])
def test_weights_repetition_and_order_give_the_same_bits(options, sparse):
    X, y = random_problem(9, 3, sparse=sparse)
    random = np.random.default_rng(10)
    counts = random.integers(0, 4, len(y))
    options = {"max_iter": 10_000, **options}
    whole = discern.LinearSVC(**options).fit(X, y, counts)
    repeated = random.permutation(np.repeat(np.arange(len(y)), counts))
    again = discern.LinearSVC(**options).fit(X[repeated], y[repeated])
    assert np.array_equal(whole.coef_, again.coef_)
    assert np.array_equal(whole.intercept_, again.intercept_)


def test_threads_do_not_change_the_result(monkeypatch):
    X, y = random_problem(11, 5)
    results = []
    for threads in ("1", "2", "7"):
        monkeypatch.setenv("DISCERN_THREADS", threads)
        results.append(discern.LinearSVC().fit(X, y).coef_)
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0], results[2])


def test_another_seed_finds_the_same_optimum():
    X, y = random_problem(12)
    first, second = (discern.LinearSVC(tol=1e-10, max_iter=100_000, random_state=seed).fit(X, y) for seed in (1, 2))
    assert not np.array_equal(first.coef_, second.coef_)
    np.testing.assert_allclose(first.coef_, second.coef_, atol=1e-4)


# ------------------------------------------------------------------------------------------------- NB-SVM


def wang_and_manning(X, y, C=1.0, alpha=1.0, beta=0.25, loss="squared_hinge", binarize=True, fit_intercept=True):
    """The model of the paper, for two classes, with LIBLINEAR: its coefficients and its intercept."""
    X = (X > 0).astype(float) if binarize else X
    p, q = (alpha + X[y == label].sum(axis=0) for label in (1, 0))
    ratio = np.log(p / p.sum()) - np.log(q / q.sum())
    machine = reference.LinearSVC(
        C=C, loss=loss, fit_intercept=fit_intercept, intercept_scaling=1, tol=1e-10, max_iter=1_000_000, dual=True
    ).fit(X * ratio, y)
    weights = machine.coef_[0]
    coef = ((1 - beta) * np.abs(weights).mean() + beta * weights) * ratio
    return coef, beta * machine.intercept_[0] if fit_intercept else 0.0


def documents(seed, shares, rows=80, columns=30, common=0.3, own=0.4):
    """Return counts of terms, some more frequent in a class, and the classes in these shares."""
    random = np.random.default_rng(seed)
    y = random.choice(len(shares), rows, p=shares)
    belongs = np.arange(columns) % (len(shares) + 1) == y[:, None]
    return random.poisson(common + own * belongs), y


OPTIONS = [
    {},
    {"fit_intercept": False},
    {"C": 0.1},
    {"alpha": 0.5, "beta": 0.7},
    {"beta": 0.0},
    {"beta": 1.0},
    {"loss": "hinge"},
    {"binarize": False},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("share", [0.5, 0.1])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("shape", [(80, 30), (300, 8)], ids=["dual", "primal"])
def test_nbsvm_is_the_model_of_the_paper(options, share, sparse, shape):
    X, y = documents(13, [1 - share, share], *shape)
    given = scipy.sparse.csr_array(X) if sparse else X
    model = discern.NBSVM(tol=1e-10, max_iter=100_000, **options).fit(given, y)
    coef, intercept = wang_and_manning(X, y, **options)
    np.testing.assert_allclose(model.coef_[0], coef, atol=1e-4)
    np.testing.assert_allclose(model.intercept_, [intercept], atol=1e-4)
    rows = (X > 0) if options.get("binarize", True) else X
    np.testing.assert_allclose(model.decision_function(given), rows @ coef + intercept, atol=1e-3)
    has_intercept = options.get("fit_intercept", True) and options.get("beta") != 0.0
    assert bool(model.intercept_.any()) == has_intercept


def test_nbsvm_of_more_classes_is_one_against_the_rest():
    X, y = documents(14, [0.7, 0.2, 0.1], rows=120, columns=12)
    model = discern.NBSVM(tol=1e-9, max_iter=100_000).fit(X, y)
    for label in range(3):
        alone = discern.NBSVM(tol=1e-9, max_iter=100_000).fit(X, y == label)
        np.testing.assert_allclose(model.coef_[label], alone.coef_[0], atol=1e-4)
        np.testing.assert_allclose(model.intercept_[label], alone.intercept_[0], atol=1e-4)
        np.testing.assert_allclose(model.log_count_ratio_[label], alone.log_count_ratio_[0], rtol=1e-12)
        coef, intercept = wang_and_manning(X, (y == label).astype(int))
        np.testing.assert_allclose(model.coef_[label], coef, atol=1e-4)
        assert model.intercept_[label] == pytest.approx(intercept, abs=1e-4)


@pytest.mark.parametrize("shares", [[0.1, 0.9], [0.9, 0.1], [0.2, 0.8], [0.05, 0.15, 0.8]], ids=str)
def test_with_uneven_labels_the_intercept_of_nbsvm_is_worth_points(shares):
    X, y = documents(16, shares, rows=1000, columns=20, common=0.1, own=0.2)
    rows, true = documents(17, shares, rows=1000, columns=20, common=0.1, own=0.2)
    without, model = (discern.NBSVM(fit_intercept=fit_intercept).fit(X, y) for fit_intercept in (False, True))
    assert model.score(rows, true) > without.score(rows, true) + 0.01
    assert model.predict(np.zeros((1, 20), int)).tolist() == [np.argmax(shares)]


def test_nbsvm_takes_other_smoothings_and_weights():
    random = np.random.default_rng(15)
    X, y, weights = random.poisson(0.5, (60, 9)), random.integers(0, 3, 60), random.integers(0, 3, 60)
    mixed = discern.NBSVM(smoothing=JelinekMercer(0.5)).fit(X, y, weights)
    repeated = np.repeat(np.arange(60), weights)
    again = discern.NBSVM(smoothing=JelinekMercer(0.5)).fit(X[repeated], y[repeated])
    assert np.array_equal(mixed.coef_, again.coef_)
    assert np.array_equal(mixed.intercept_, again.intercept_)
    counts = (X[repeated] > 0)[y[repeated] == 1].sum(axis=0)
    total = (X[repeated] > 0).sum(axis=0)
    own = 0.5 * counts / counts.sum() + 0.5 * total / total.sum()
    rest = 0.5 * (total - counts) / (total - counts).sum() + 0.5 * total / total.sum()
    np.testing.assert_allclose(mixed.log_count_ratio_[1], np.log(own / rest), rtol=1e-9)


def test_nbsvm_composes_with_the_vectorizer():
    texts = ["good fun", "a good and funny film", "bad", "so bad and dull", "dull, bad, long"]
    model = make_pipeline(discern.CountVectorizer(ngram_range=(1, 2)), discern.NBSVM()).fit(texts, list("ppnnn"))
    assert model.predict(["good film", "dull film"]).tolist() == ["p", "n"]
    found, ratios = fit_nbsvm(indicators(np.eye(2)), np.array([0, 1]), 2, MarginSettings(), smoothing=Laplace(1.0))
    assert found.coef.shape == ratios.shape == (1, 2)
