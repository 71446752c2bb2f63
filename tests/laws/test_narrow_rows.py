"""Learners that read rows in less room, with 32 bits or without their ones, learn the same as from the numbers."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import discern._native as native
from discern.data.encode import native_table
from discern.learners.margins import MarginSettings, fit_margins
from discern.learners.perceptron import BalancedWinnowRule, OnlineSettings, PerceptronRule, Rule, State, WinnowRule

BEYOND = 2.0**110
"""Beyond the range of 32 bits all numbers are read as given; a power of two changes no decision."""


def learned(X: Any, classes: Any, rule: Rule, start: State | None = None) -> tuple[Any, Any]:
    """Show rows of which no two hold the same columns: then the order does not depend on the numbers."""
    assert len({tuple(X.indices[first:last]) for first, last in pairwise(X.indptr)}) == X.shape[0]
    settings = OnlineSettings(epochs=8, tolerance=None)
    arguments = (np.ones(len(classes)), classes, [1], [(1.0, 1.0)], rule.native, None, settings.native)
    found = native.learn_online(native_table(X), *arguments, [(start or rule.start(X.shape[1])).native], 1)
    assert found is not None
    (((weights, *_), counts),) = found
    return weights, counts


@pytest.mark.parametrize("seed", range(10))
def test_a_perceptron_decides_by_the_numbers_as_given(seed: int) -> None:
    random = np.random.default_rng(seed)
    X: Any = scipy.sparse.random_array((700, 60), density=0.2, rng=random, format="csr", dtype=np.float64)
    classes = (X @ random.normal(size=60) > 0).astype(np.int32)
    rule = PerceptronRule(bias_rate=0.0)
    (narrow, updates), (given, expected) = learned(X, classes, rule), learned(X * BEYOND, classes, rule)
    assert updates == expected
    assert np.array_equal(narrow * BEYOND, given)


@pytest.mark.parametrize("begun", [False, True], ids=["from nothing", "from weights"])
@pytest.mark.parametrize("seed", range(3))
def test_more_columns_than_16_bits_can_name_decide_as_well(begun: bool, seed: int) -> None:
    random = np.random.default_rng(seed)
    width = 100_000
    X: Any = scipy.sparse.random_array((700, width), density=0.004, rng=random, format="csr", dtype=np.float64)
    X.data -= 0.5
    rows_of = np.bincount(X.indices, minlength=width)
    assert np.sum(rows_of >= 2) > 2**16  # so that some that are not named are in several rows, and some in one
    assert np.sum(rows_of == 1) > 10_000
    classes = random.integers(0, 2, 700).astype(np.int32)
    rule, weights = PerceptronRule(bias_rate=0.0), begun * (rows_of == 1) * random.normal(0, 10, width)
    narrow, updates = learned(X, classes, rule, State(weights, 0.0, np.zeros(0)))
    given, expected = learned(X * BEYOND, classes, rule, State(weights * BEYOND, 0.0, np.zeros(0)))
    assert updates == expected
    assert np.array_equal(narrow * BEYOND, given)


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
@pytest.mark.parametrize("intercept", ["none", "penalized", "free"])
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
