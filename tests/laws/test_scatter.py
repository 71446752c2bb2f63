"""Scatter: parts add up to the whole, pivots do not matter, and what is taken off was never there."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from discern.statistics.scatter import Scatter

KINDS = [{}, {"pooled": True}, {"fourth": True}]


def drawn(seed, rows=60, columns=3, classes=3):
    random = np.random.default_rng(seed)
    table = random.normal(random.normal(0, 100), random.uniform(0.1, 10), (rows, columns))
    return table, random.integers(0, classes, rows), random.uniform(0.1, 3, rows)


def close(one, other, scale=1.0):
    for name in ("counts", "first", "second", "third", "fourth"):
        mine, theirs = getattr(one, name), getattr(other, name)
        assert (mine is None) == (theirs is None)
        if mine is not None:
            np.testing.assert_allclose(mine, theirs, rtol=1e-7, atol=1e-9 * scale * max(1.0, np.abs(theirs).max()))


@given(st.integers(0, 2**32 - 1), st.sampled_from(KINDS), st.booleans())
def test_sums_are_what_they_say(seed, kind, weighted):
    table, classes, weights = drawn(seed)
    sums = Scatter.of(table, classes, 4, weights if weighted else None, **kind)
    assert sums.counts[3] == 0
    second = 0
    for number in range(3):
        chosen = classes == number
        apart = table[chosen] - sums.pivot[number]
        weight = (weights if weighted else np.ones(60))[chosen]
        np.testing.assert_allclose(sums.counts[number], weight.sum())
        np.testing.assert_allclose(sums.first[number], weight @ apart, atol=1e-9)
        products = (weight[:, None] * apart).T @ apart
        second = second + products
        if not sums.pooled:
            np.testing.assert_allclose(sums.second[number], products, rtol=1e-9, atol=1e-9)
        if sums.fourth is not None:
            np.testing.assert_allclose(sums.third[number], (weight[:, None] * apart**2).T @ apart, rtol=1e-9, atol=1e-7)
            np.testing.assert_allclose(sums.fourth[number], (weight[:, None] * apart**2).T @ apart**2, rtol=1e-9)
    if sums.pooled:
        np.testing.assert_allclose(sums.second[0], second, rtol=1e-9, atol=1e-9)


@given(st.integers(0, 2**32 - 1), st.sampled_from(KINDS), st.integers(1, 59))
def test_parts_add_up_and_are_taken_off(seed, kind, cut):
    table, classes, weights = drawn(seed)
    whole = Scatter.of(table, classes, 3, weights, **kind).about_means()
    left = Scatter.of(table[:cut], classes[:cut], 3, weights[:cut], **kind)
    right = Scatter.of(table[cut:], classes[cut:], 3, weights[cut:], **kind)
    close((left + right).about(whole.pivot), whole)
    close((right + left).about(whole.pivot), whole)
    rest, wanted = whole - left, right.about(whole.pivot)
    close(rest, wanted, scale=np.abs(whole.second).max())


@given(st.integers(0, 2**32 - 1), st.sampled_from(KINDS))
def test_pivots_do_not_matter(seed, kind):
    table, classes, weights = drawn(seed)
    sums = Scatter.of(table, classes, 3, weights, **kind)
    there = sums.about(sums.pivot + np.random.default_rng(seed).normal(0, 10, (3, 3)))
    close(there.about(sums.pivot), sums, scale=100.0)
    np.testing.assert_allclose(there.means(), sums.means(), rtol=1e-9)
    np.testing.assert_allclose(there.within(), sums.within(), rtol=1e-7, atol=1e-7)


@given(st.integers(0, 2**32 - 1))
def test_within_and_between_are_all_there_is(seed):
    table, classes, _ = drawn(seed)
    sums = Scatter.of(table, classes, 3, pooled=True)
    sums = sums.take(sums.counts > 0)
    total = np.cov(table.T, bias=True) * len(table)
    np.testing.assert_allclose(sums.within() + sums.between(), total, rtol=1e-7, atol=1e-6)
    np.testing.assert_allclose(sums.mean(), table.mean(axis=0))


@pytest.mark.parametrize("pooled", [False, True])
def test_sparse_rows_are_as_dense_ones(pooled):
    table, classes, weights = drawn(1)
    table[table < table.mean()] = 0
    sparse = Scatter.of(scipy.sparse.csr_array(table), classes, 3, weights, pooled=pooled)
    dense = Scatter.of(table, classes, 3, weights, pooled=pooled)
    np.testing.assert_allclose(sparse.within(), dense.within(), rtol=1e-9)
    np.testing.assert_allclose(sparse.means(), dense.means())


def test_many_rows_go_by_in_blocks():
    random = np.random.default_rng(2)
    table, classes = random.normal(1e6, 1, (50_000, 7)), random.integers(0, 300, 50_000)
    sums = Scatter.of(table.astype(np.float32), classes, 300)
    chosen = table.astype(np.float32)[classes == 299].astype(np.float64)
    np.testing.assert_allclose(sums.by_class()[299], np.cov(chosen.T, bias=True) * len(chosen), rtol=1e-9, atol=1e-9)


def test_classes_are_spread_and_taken():
    table, classes, _ = drawn(3)
    sums = Scatter.of(table, classes, 3, fourth=True)
    wide = sums.with_classes(np.array([4, 0, 2]), 5)
    assert wide.counts.tolist() == [sums.counts[1], 0, sums.counts[2], 0, sums.counts[0]]
    close(wide.take(np.array([4, 0, 2])), sums)
    empty = Scatter.empty(3, 3, fourth=True)
    close(empty + sums, sums)


def test_sums_that_do_not_fit_are_refused():
    table, classes, _ = drawn(4)
    with pytest.raises(ValueError, match="do not add up"):
        Scatter.of(table, classes, 3) + Scatter.of(table, classes, 3, pooled=True)
    with pytest.raises(ValueError, match="in one matrix"):
        Scatter.of(table, classes, 3, pooled=True).by_class()
    with pytest.raises(ValueError, match="pooled must be False"):
        Scatter.of(table, classes, 3, pooled=True, fourth=True)
