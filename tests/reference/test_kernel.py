"""Support vector machines: proofs of optimality that do not trust the solver, and LIBSVM's results."""

import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
import scipy.sparse
import sklearn.svm as reference
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_iris, load_wine, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils.estimator_checks import parametrize_with_checks

import discern
from discern.evaluation.calibration import calibrate
from discern.evaluation.coupling import class_pairs, coupled
from discern.learners.kernels.machines import Kernel, SupportVectorSettings, fit_machines

OPTIONS = [
    {"kernel": "linear"},
    {"kernel": "rbf"},
    {"kernel": "rbf", "C": 100.0, "gamma": 0.5},
    {"kernel": "poly", "degree": 2, "coef0": 1.0},
    {"kernel": "poly", "degree": 3, "gamma": "auto", "C": 0.1},
    {"kernel": "sigmoid", "gamma": 0.01},
]


def overlapping(rows, columns=6, seed=0):
    X, y = make_classification(rows, columns, n_informative=4, flip_y=0.1, class_sep=0.7, random_state=seed)
    return X, y


def proof(model, gram, y, costs):
    """Return primal and dual objective and the worst violation of the optimality conditions, from the kernel alone."""
    signs = np.where(y == model.classes_[1], 1.0, -1.0)
    beta = np.zeros(len(y))
    beta[model.support_] = np.asarray(model.dual_coef_).ravel()
    alpha = beta * signs
    assert (alpha >= 0).all()
    assert (alpha <= costs).all()
    assert abs(beta.sum()) <= 1e-12 * costs.sum()
    outputs = gram @ beta + model.intercept_[0]
    slack = np.maximum(0.0, 1.0 - signs * outputs)
    half = 0.5 * beta @ gram @ beta
    margins = signs * outputs - 1.0
    violation = np.where(alpha == 0, -margins, np.where(alpha == costs, margins, np.abs(margins)))
    return half + costs @ slack, alpha.sum() - half, max(0.0, violation.max())


@pytest.mark.parametrize("options", OPTIONS[:5], ids=str)
@pytest.mark.parametrize(("tol", "gap"), [(1e-3, 1e-4), (1e-7, 1e-8)])
@pytest.mark.parametrize("rows", [150, 1500])
def test_the_gap_is_small_and_every_row_is_optimal(options, tol, gap, rows):
    X, y = overlapping(rows)
    model = discern.SVC(tol=tol, **options).fit(X, y)
    kernel = options["kernel"]
    numbers = {"gamma": model._gamma, "coef0": model.coef0, "degree": model.degree}
    wanted = {"linear": (), "rbf": ("gamma",), "poly": ("gamma", "coef0", "degree")}[kernel]
    gram = pairwise_kernels(X, metric=kernel, **{name: numbers[name] for name in wanted})
    primal, dual, violation = proof(model, gram, y, np.full(rows, model.C))
    assert primal - dual <= gap * primal
    assert violation <= tol
    assert model.objective_[0] == pytest.approx(primal, rel=max(1e-10, gap / 100))
    assert model.duality_gap_[0] == pytest.approx((primal - dual) / primal, abs=gap / 10)


def objective(model, X, y, costs):
    """Return the primal objective of a machine for two classes, of ours or of LIBSVM's."""
    beta = np.asarray(model.dual_coef_.todense() if scipy.sparse.issparse(model.dual_coef_) else model.dual_coef_)
    signs = np.where(y == model.classes_[1], 1.0, -1.0)
    support = np.zeros(len(y))
    support[model.support_] = beta.ravel()
    outputs = model.decision_function(X)
    return 0.5 * support @ (outputs - model.intercept_[0]) + costs @ np.maximum(0.0, 1.0 - signs * outputs)


@pytest.mark.parametrize("options", OPTIONS[:5], ids=str)
@pytest.mark.parametrize("sparse", [False, True])
def test_the_optimum_is_libsvms(options, sparse):
    X, y = overlapping(300)
    X = scipy.sparse.csr_array(np.where(np.abs(X) > 0.5, X, 0.0)) if sparse else X
    weights = np.random.default_rng(1).random(300) + 0.5
    # With weights, "scale" means the weighted variance here: both get one number.
    # With large costs LIBSVM's single precision shows in the sixth digit.
    shared = {"class_weight": {0: 2.0, 1: 0.7}, **options, "gamma": 0.2, "C": min(options.get("C", 1.0), 5.0)}
    ours = discern.SVC(tol=1e-7, **shared).fit(X, y, sample_weight=weights)
    theirs = reference.SVC(tol=1e-6, max_iter=300_000, **shared).fit(X, y, sample_weight=weights)
    costs = shared.get("C", 1.0) * weights * np.where(y == 0, 2.0, 0.7)
    mine, other = objective(ours, X, y, costs), objective(theirs, X, y, costs)
    assert mine == pytest.approx(other, rel=1e-6)
    assert mine <= other * (1 + 1e-9)
    scale = np.abs(theirs.decision_function(X)).max()
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4 * scale)
    assert ours.objective_[0] == pytest.approx(mine, rel=1e-9)
    if options["kernel"] == "linear":
        line = np.asarray(theirs.coef_.todense() if sparse else theirs.coef_)
        found = np.asarray(ours.coef_.todense() if sparse else ours.coef_)
        np.testing.assert_allclose(found, line, atol=1e-4)


def test_a_kernel_that_is_not_positive_definite_ends_too():
    X, y = overlapping(300)
    ours = discern.SVC(kernel="sigmoid", gamma=0.01).fit(X, y)
    theirs = reference.SVC(kernel="sigmoid", gamma=0.01).fit(X, y)
    assert (ours.predict(X) == theirs.predict(X)).mean() > 0.99


@pytest.mark.parametrize("load", [load_iris, load_wine, load_digits])
@pytest.mark.parametrize("shape", ["ovr", "ovo"])
def test_many_classes_equal_the_reference(load, shape):
    X, y = load(return_X_y=True)
    X, y = X[::2], y[::2]
    ours = discern.SVC(tol=1e-8, decision_function_shape=shape).fit(X, y)
    theirs = reference.SVC(tol=1e-8, decision_function_shape=shape).fit(X, y)
    assert ours.dual_coef_.shape == theirs.dual_coef_.shape
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-6)
    assert (ours.predict(X) == theirs.predict(X)).all()
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    np.testing.assert_array_equal(ours.n_support_, theirs.n_support_)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-5)
    np.testing.assert_allclose(ours.support_vectors_, theirs.support_vectors_)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-6)
    assert len(ours.n_iter_) == len(ours.margin_) == len(ours.duality_gap_) == len(ours.intercept_)
    X = (X - X.mean(axis=0)) / (X.std(axis=0) + 1e-9)
    linear = discern.SVC(kernel="linear", tol=1e-8).fit(X[:, ::3], y)
    other = reference.SVC(kernel="linear", tol=1e-8).fit(X[:, ::3], y)
    np.testing.assert_allclose(linear.coef_, other.coef_, atol=1e-4)


@pytest.mark.parametrize("tol", [1e-3, 1e-6])
def test_columns_of_very_different_sizes_do_not_spoil_the_proof(tol):
    X, y = load_wine(return_X_y=True)  # LIBSVM's single precision misses the optimum here by six per cent
    X, y = X[y < 2][::2, ::3], y[y < 2][::2]
    model = discern.SVC(kernel="linear", tol=tol).fit(X, y)
    primal, dual, _ = proof(model, X @ X.T, y, np.ones(len(y)))
    assert primal - dual <= 0.1 * tol * primal
    assert model.objective_[0] == pytest.approx(primal, rel=1e-8)


@pytest.mark.parametrize("kernel", ["precomputed", "callable"])
def test_given_kernels_are_the_same(kernel):
    X, y = overlapping(200)
    gram = pairwise_kernels(X, metric="rbf", gamma=0.3)
    plain = discern.SVC(gamma=0.3).fit(X, y)
    if kernel == "precomputed":
        model, rows = discern.SVC(kernel="precomputed").fit(gram, y), gram
    else:
        model, rows = discern.SVC(kernel=lambda A, B: pairwise_kernels(A, B, metric="rbf", gamma=0.3)).fit(X, y), X
    np.testing.assert_allclose(model.decision_function(rows), plain.decision_function(X), atol=1e-8)
    weights = np.arange(200) % 3  # rows of weight 0 are left out, columns too
    plain.fit(X, y, sample_weight=weights)
    model.fit(rows, y, sample_weight=weights)
    np.testing.assert_allclose(model.decision_function(rows), plain.decision_function(X), atol=1e-8)


@given(st.integers(0, 2**32 - 1), st.integers(2, 60), st.sampled_from(["linear", "rbf", "poly"]))
def test_any_small_problem_is_solved_to_rounding(seed, rows, kernel):
    random = np.random.default_rng(seed)
    X, y = random.normal(size=(rows, 3)), random.integers(0, 2, rows)
    y[:2] = 0, 1
    model = discern.SVC(kernel=kernel, gamma=0.4, C=10.0 ** random.integers(-3, 3)).fit(X, y)
    numbers = {"linear": {}, "rbf": {"gamma": 0.4}, "poly": {"gamma": 0.4, "degree": 3, "coef0": 0.0}}[kernel]
    gram = pairwise_kernels(X, metric=kernel, **numbers)
    primal, dual, violation = proof(model, gram, y, np.full(rows, model.C))
    assert primal - dual <= 1e-4 * primal + 1e-12
    assert violation <= 1e-3


@pytest.mark.parametrize("shrinking", [True, False])
@pytest.mark.parametrize("cache_size", [0.01, 200])
def test_cache_and_shrinking_do_not_change_the_result(shrinking, cache_size):
    X, y = overlapping(1200, seed=3)
    model = discern.SVC(tol=1e-6, shrinking=shrinking, cache_size=cache_size, C=5.0).fit(X, y)
    expected = discern.SVC(tol=1e-6, C=5.0).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), expected.decision_function(X), atol=1e-4)
    assert model.objective_[0] == pytest.approx(expected.objective_[0], rel=1e-7)


def test_the_number_of_threads_changes_nothing():
    X, y = load_wine(return_X_y=True)
    fitted = [
        fit_machines(X, y, 3, np.ones(len(y)), Kernel("rbf", 0.01), SupportVectorSettings(), threads=threads)
        for threads in (1, 2, 7)
    ]
    for other in fitted[1:]:
        np.testing.assert_array_equal(other.coefficients, fitted[0].coefficients)
        np.testing.assert_array_equal(other.decide(X, X[other.support], Kernel("rbf", 0.01), threads=3), fitted[0].decide(X, X[other.support], Kernel("rbf", 0.01), threads=1))  # fmt: skip


def test_a_single_machine_says_what_it_found():
    X, y = overlapping(300)
    model = discern.SVC(C=0.1).fit(X, y)
    at_bound = np.abs(model.dual_coef_.ravel()) == 0.1
    assert model.bound_share_[0] == pytest.approx(at_bound.mean())
    weights = discern.SVC(kernel="linear").fit(X, y)
    assert weights.margin_[0] == pytest.approx(2 / np.linalg.norm(weights.coef_))


@pytest.mark.parametrize("calibration", ["gaussian", "logistic", "isotonic", "temperature"])
def test_probabilities_do_not_change_predictions(calibration):
    X, y = load_wine(return_X_y=True)
    plain = discern.SVC().fit(X, y)
    model = discern.SVC(probability=True, calibration=calibration).fit(X, y)
    assert (model.predict(X) == plain.predict(X)).all()
    chances = model.predict_proba(X)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert (chances.argmax(axis=1) == y).mean() > 0.6
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), chances)
    assert not hasattr(plain, "predict_proba")


@pytest.mark.parametrize("classes", [3, 10])
def test_probabilities_of_many_classes_are_as_good_as_the_reference(classes):
    X, y = make_classification(900, 20, n_informative=10, n_classes=classes, n_clusters_per_class=1, random_state=0)
    losses = []
    for kind in (discern.SVC, reference.SVC):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            model = kind(probability=True, random_state=0).fit(X[:500], y[:500])
        losses.append(log_loss(y[500:], model.predict_proba(X[500:])))
    assert losses[0] < losses[1] * 1.03


def test_coupled_probabilities_are_those_that_agree_with_all_pairs():
    random = np.random.default_rng(5)
    for classes in (2, 3, 10):
        chances = random.dirichlet(np.ones(classes), 50)
        first, second = np.array(class_pairs(classes)).T
        shares = chances[:, first] / (chances[:, first] + chances[:, second])
        np.testing.assert_allclose(coupled(shares, classes), chances, atol=1e-9)
    extreme = coupled(np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0], [1.0, 0.0, 1.0]]), 3)
    assert np.isfinite(extreme).all()
    assert (extreme >= 0).all()
    np.testing.assert_allclose(extreme.sum(axis=1), 1.0)
    assert coupled(np.zeros((0, 3)), 3).shape == (0, 3)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_kernel_rows_in_batches_give_a_proven_optimum(kernel):
    X, y = make_classification(200, 120, n_informative=10, flip_y=0.1, random_state=1)
    model = discern.SVC(kernel=kernel, gamma=0.01).fit(X, y)
    gram = pairwise_kernels(X, metric=kernel, **({} if kernel == "linear" else {"gamma": 0.01}))
    gram = (0.01 * X @ X.T) ** 3 if kernel == "poly" else gram
    primal, dual, violation = proof(model, gram, y, np.full(200, 1.0))
    assert primal - dual <= 1e-4 * primal + 1e-12
    assert violation <= 1e-3


def test_calibrated_probabilities_are_honest_where_training_scores_are_not():
    random = np.random.default_rng(4)
    X = random.normal(size=(900, 30))
    y = (X[:, 0] + 1.5 * random.normal(size=900) > 0).astype(int)
    model = discern.CalibratedClassifier(discern.SVC(C=100.0), method="logistic").fit(X[:500], y[:500])
    chances = model.predict_proba(X[500:])[:, 1]
    loss = -np.log(np.where(y[500:] == 1, chances, 1 - chances)).mean()
    scores = discern.SVC(C=100.0).fit(X[:500], y[:500])
    cheated = calibrate("logistic", scores.decision_function(X[:500]), y[:500])
    sure = cheated(scores.decision_function(X[500:]))[:, 1]
    assert loss < 0.693
    assert loss < 0.7 * -np.log(np.where(y[500:] == 1, sure, 1 - sure)).mean()


def test_early_stop_warns():
    X, y = overlapping(300)
    with pytest.warns(ConvergenceWarning, match="terminated early"):
        model = discern.SVC(max_iter=3).fit(X, y)
    assert model.fit_status_ == 1
    assert model.n_iter_.tolist() == [3]


def test_what_cannot_be_solved_is_refused():
    with pytest.raises(ValueError, match="square"):
        discern.SVC(kernel="precomputed").fit(np.zeros((3, 2)), [0, 1, 1])
    with pytest.raises(ValueError, match="not finite"):
        discern.SVC(kernel="poly", degree=9, gamma=1e30).fit(np.eye(3) * 1e20, [0, 1, 1])
    with pytest.raises(ValueError, match="greater than one"):
        discern.SVC().fit(np.eye(3), [0, 1, 1], sample_weight=[0, 1, 1])
    with pytest.raises(ValueError, match="the kernel returned"):
        discern.SVC(kernel=lambda A, B: np.zeros((1, 1))).fit(np.eye(3), [0, 1, 1])
    with pytest.raises(ValueError, match="break_ties"):
        discern.SVC(break_ties=True, decision_function_shape="ovo").fit(np.eye(3), [0, 1, 2]).predict(np.eye(3))


MEMORY = """
import sys
from pathlib import Path
import numpy as np
from discern.learners.kernels.machines import Kernel, SupportVectorSettings, fit_machines
random = np.random.default_rng(0)
X = random.normal(size=(6000, 5))
y = (X[:, 0] + 2 * random.normal(size=6000) > 0).astype(int)
def peak():
    return next(int(line.split()[1]) for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line)
before = peak()
fit_machines(X, y, 2, np.ones(6000), Kernel("rbf", 0.5), SupportVectorSettings(cache=int(sys.argv[1]) << 20))
print(peak() - before)
"""


def test_memory_stays_within_the_cache(run_python):
    small, large = (int(run_python(MEMORY, size)) / 1024 for size in (8, 200))
    assert small < 8 + 8  # the rows themselves, laid out, and a few numbers a row
    assert large > 40  # else the first line would prove nothing


def test_ctrl_c_is_answered():
    program = (
        "import signal, numpy as np, discern\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # shells let it be ignored in the background
        "X = np.random.default_rng(0).normal(size=(20000, 30)); y = (X[:, 0] > 0).astype(int); y[::2] = 1 - y[::2]\n"
        "print('ready', flush=True)\n"
        "discern.SVC(C=1000.0).fit(X, y)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ)  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(1.0)
    process.send_signal(2)
    _, errors = process.communicate(timeout=20)
    assert b"KeyboardInterrupt" in errors


@parametrize_with_checks([discern.SVC(kernel="linear"), discern.CalibratedClassifier(discern.SVC(), method="isotonic")])  # fmt: skip
@pytest.mark.filterwarnings("ignore")
def test_conformance(estimator, check):
    check(estimator)
