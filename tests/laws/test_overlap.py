"""Classes are proved to overlap only where no direction separates them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discern.learners.logistic.fitting import fit_logistic
from discern.learners.logistic.overlap import classes_overlap
from discern.learners.logistic.rows import LabeledRows
from discern.learners.logistic.separation import find_separation


@given(st.integers(0, 10_000), st.integers(2, 4), st.booleans(), st.booleans())
def test_overlap_is_proved_only_where_nothing_separates(seed, count, intercept, weighted):
    random = np.random.default_rng(seed)
    X = random.standard_normal((random.integers(6, 60), random.integers(1, 4)))
    y = (X @ random.standard_normal((X.shape[1], count)) + random.gumbel(size=(len(X), count))).argmax(axis=1)
    weights = random.integers(0, 3, len(X)).astype(float) if weighted else None
    rows = LabeledRows(X, y.astype(np.int32), count, weights, intercept)
    for coefficients in (
        fit_logistic(rows, np.zeros(rows.columns), tol=1e-8, max_iter=40).coefficients,
        random.standard_normal((rows.outputs, rows.columns)) * 20,
    ):
        if classes_overlap(rows, coefficients):
            assert find_separation(X, rows.classes, count, intercept, weights, coefficients) is None


@pytest.mark.parametrize("count", [2, 3, 5])
def test_overlap_is_proved_at_a_maximum_of_many_rows(count):
    random = np.random.default_rng(count)
    X, y = random.standard_normal((3000, 6)), random.integers(0, count, 3000).astype(np.int32)
    rows = LabeledRows(X, y, count)
    assert classes_overlap(rows, fit_logistic(rows, np.zeros(7)).coefficients)
    assert not classes_overlap(rows, random.standard_normal((rows.outputs, 7)))


def test_a_class_without_rows_and_equal_columns_are_no_proof():
    random = np.random.default_rng(0)
    X, y = random.standard_normal((300, 3)), random.integers(0, 2, 300).astype(np.int32)
    assert not classes_overlap(LabeledRows(X, y, 3), np.zeros((3, 4)))
    twice = LabeledRows(np.hstack([X, X]), y, 2)
    assert not classes_overlap(twice, fit_logistic(twice, np.zeros(7)).coefficients)
