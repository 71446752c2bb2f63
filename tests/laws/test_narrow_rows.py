"""Learners that copy rows, or read them without their ones, learn the same as from the rows as given."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import discern._native as native
from discern.data.encode import native_table
from discern.learners.margins import MarginSettings, fit_margins
from discern.learners.perceptron import BalancedWinnowRule, OnlineSettings, PerceptronRule, Rule, WinnowRule


def learned(X: Any, classes: Any, rule: Rule) -> tuple[Any, Any]:
    settings = OnlineSettings(epochs=8, tolerance=None)
    arguments = (np.ones(len(classes)), classes, [1], [(1.0, 1.0)], rule.native, None, settings.native)
    found = native.learn_online(native_table(X), *arguments, [rule.start(X.shape[1]).native], 1)
    assert found is not None
    (((weights, *_), counts),) = found
    return weights, counts


@pytest.mark.parametrize("rule", [PerceptronRule(), PerceptronRule(average=True), WinnowRule(2.0, 30.0)], ids=str)
def test_sparse_rows_which_are_copied_teach_the_same_as_dense_ones(rule: Rule) -> None:
    random = np.random.default_rng(0)
    X: Any = scipy.sparse.random_array((700, 60), density=0.2, rng=random, format="csr", dtype=np.float64)
    X.data[:] = random.integers(1, 9, X.nnz)  # sums of whole numbers are exact in any order
    classes = (X @ random.normal(size=60) > 0).astype(np.int32)
    (sparse, updates), (dense, expected) = learned(X, classes, rule), learned(X.toarray(), classes, rule)
    assert updates == expected
    assert np.array_equal(sparse, dense)


def binary_problem(seed: int) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    X: Any = scipy.sparse.random_array((700, 60), density=0.2, rng=random, format="csr", dtype=np.float64)
    X.data[:] = 1.0
    return X, (X @ random.normal(size=60) > 0.5 * random.normal(size=700)).astype(np.int32)


@pytest.mark.parametrize("rule", [WinnowRule(2.0, 30.0), WinnowRule(1.3, 5.0), BalancedWinnowRule(1.5, 1.0)], ids=str)
def test_winnow_needs_no_ones(rule: WinnowRule | BalancedWinnowRule) -> None:
    X, classes = binary_problem(0)
    others = X.copy()
    others.data[:] = 2.0  # there as well, but read as numbers
    (ones, updates), (numbers, expected) = learned(X, classes, rule), learned(others, classes, rule)
    assert updates == expected
    assert updates[0] > 0
    assert np.array_equal(ones, numbers)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("intercept", ["none", "penalised", "free"])
@pytest.mark.parametrize("count", [2, 3])
def test_rows_of_ones_with_scales_are_the_rows_multiplied_out(loss: str, intercept: str, count: int) -> None:
    X, classes = binary_problem(1)
    classes[:200] *= count - 1
    functions = 1 if count == 2 else count
    scales = np.random.default_rng(2).normal(size=(functions, 60))
    scales[:, 7] = 0.0
    settings = MarginSettings(loss=loss, intercept=intercept, solver="dual", tolerance=1e-9, passes=100_000)
    found = fit_margins(X, classes, count, settings, scales=scales, duals=True)
    for function in range(functions):
        positive = classes == (1 if count == 2 else function)
        single = fit_margins(X.multiply(scales[function]).tocsr(), positive.astype(np.int32), 2, settings)
        assert found.certificate.gap[function] <= 1e-9
        assert np.allclose(found.certificate.primal[function], single.certificate.primal[0], rtol=3e-9)
        assert np.allclose(found.coef[function], single.coef[0], atol=1e-3)
        assert found.coef[function, 7] == 0
        signs = np.where(positive, 1.0, -1.0)
        pulled = X.multiply(scales[function]).T @ (signs * found.duals[:, function])
        assert np.allclose(found.coef[function], pulled, atol=1e-9)
