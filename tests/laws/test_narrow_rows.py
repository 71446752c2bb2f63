"""Learners that look at rows with numbers of 32 bits first learn the same as from the numbers themselves."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import discern._native as native
from discern.online import OnlineSettings, PerceptronRule
from discern.vectors import native_table

BEYOND = 2.0**110
"""Beyond the range of 32 bits all numbers are read as given; a power of two changes no decision."""


def learned(X: Any, classes: Any, rule: PerceptronRule) -> tuple[Any, Any]:
    """Show the rows in an order that does not depend on what they hold."""
    rows, settings = np.arange(X.shape[0]), OnlineSettings(epochs=8, tolerance=None)
    arguments = (rows, np.ones(len(rows)), classes, [1], [(1.0, 1.0)], rule.native, None, settings.native)
    (((weights, *_), counts),) = native.learn_online(native_table(X), *arguments, [rule.start(X.shape[1]).native], 1)
    return weights, counts


@pytest.mark.parametrize("seed", range(10))
def test_a_perceptron_decides_by_the_numbers_as_given(seed: int) -> None:
    random = np.random.default_rng(seed)
    X: Any = scipy.sparse.random_array((700, 60), density=0.1, rng=random, format="csr", dtype=np.float64)
    classes = (X @ random.normal(size=60) > 0).astype(np.int32)
    rule = PerceptronRule(bias_rate=0.0)
    (narrow, updates), (given, expected) = learned(X, classes, rule), learned(X * BEYOND, classes, rule)
    assert updates == expected
    assert np.array_equal(narrow * BEYOND, given)
