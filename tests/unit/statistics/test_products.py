"""Sums of vectors and of their products: exact, and the same bytes however they are made."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discern.data.vectors.grid import COARSE, FARTHEST, FINE, Grid
from discern.statistics import integers
from discern.statistics.integers import as_objects
from discern.statistics.points import SMALL
from discern.statistics.products import ClassProducts, Means, Products

KINDS = [Products, ClassProducts, Means]
EXTREMES = [0.0, 1.0, -2.5, 1e300, -1e300, 1e-300, 5e-324, 1e8, 1 / 3]


def same(left: Products, right: Products) -> bool:
    mine, theirs = left.arrays(), right.arrays()
    return all(
        mine[name].tobytes() == theirs[name].tobytes() and mine[name].shape == theirs[name].shape for name in mine
    )


def rows_of(count: int, axes: int, seed: int = 0, dtype: Any = np.float64) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(count, axes)).astype(dtype)
    return rows, rng.integers(0, 3, count).astype(np.int32)


@given(st.data(), st.sampled_from(KINDS), st.sampled_from([COARSE, FINE]))
@settings(max_examples=60, deadline=None)
def test_any_division_gives_the_same_bytes_and_what_is_subtracted_is_gone(data: Any, kind: Any, bits: int) -> None:
    axes, count = data.draw(st.integers(1, 3)), data.draw(st.integers(0, 8))
    numbers = st.one_of(st.sampled_from(EXTREMES), st.floats(allow_nan=False, allow_infinity=False))
    rows = np.array(
        data.draw(st.lists(st.lists(numbers, min_size=axes, max_size=axes), min_size=count, max_size=count))
    )
    rows = rows.reshape(count, axes)
    classes = np.array(data.draw(st.lists(st.integers(0, 2), min_size=count, max_size=count)), np.int32)
    grid = Grid.fit(rows, bits)
    order = np.array(data.draw(st.permutations(range(count))), np.int64)
    cut = data.draw(st.integers(0, count))
    whole = kind.of(rows, classes, 3, grid)
    first, rest = (kind.of(rows[part], classes[part], 3, grid) for part in (order[:cut], order[cut:]))
    assert same(first + rest, whole)
    assert same(whole.minus(rest), first)


@pytest.mark.parametrize("bits", [COARSE, FINE])
def test_sums_are_those_of_whole_numbers(bits: int) -> None:
    rows, classes = rows_of(40, 3)
    rows[7, 1], rows[9, 2] = 1e12, -1e300
    grid = Grid.fit(rows, bits)
    sums = ClassProducts.of(rows, classes, 3, grid)
    units = [[int(unit) for unit in row] for row in grid.units(rows)]
    for place in range(3):
        mine = [row for row, one in zip(units, classes, strict=True) if one == place]
        assert integers.as_objects(sums.first)[place].tolist() == [sum(row[axis] for row in mine) for axis in range(3)]
        pairs = zip(*np.triu_indices(3), strict=True)
        products = [sum(row[left] * row[right] for row in mine) for left, right in pairs]
        assert integers.as_objects(sums.second)[place].tolist() == products


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_means_and_products_about_them(dtype: Any, order: Any) -> None:
    rows, classes = rows_of(5000, 7, dtype=np.float64)
    rows = np.asarray((rows * 3 + 5).astype(dtype), order=order)
    grid = Grid.fit(rows, FINE)
    placed = grid.standardized(rows)
    centered = [placed[classes == place] - placed[classes == place].mean(axis=0) for place in range(3)]
    apart, pooled = ClassProducts.of(rows, classes, 3, grid), Products.of(rows, classes, 3, grid)
    np.testing.assert_allclose(apart.within_classes(), [part.T @ part for part in centered], rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(pooled.within(), apart.within(), rtol=1e-8, atol=1e-8)
    means = grid.origin + pooled.means() * grid.scale
    np.testing.assert_allclose(
        means, [rows[classes == place].mean(axis=0, dtype=float) for place in range(3)], rtol=1e-3
    )


def test_rounding_differences_or_integers_agree() -> None:
    rows, classes = rows_of(900, 5)
    sums = Products.of(rows, classes, 3, Grid.fit(rows, FINE))
    triangle = np.triu_indices(5)
    np.testing.assert_allclose(sums._differences(*triangle), sums._rounded(*triangle), rtol=1e-10)


def test_a_variance_far_from_the_origin_is_right_to_the_last_digits() -> None:
    start = np.array([[0.0], [1.0], [2.0]])
    grid = Grid.fit(start, FINE)
    far = 1e6 + np.array([[0.25], [0.5], [1.0]])
    sums = Products.of(far, np.zeros(3, np.int32), 1, grid)
    exact = [Fraction(1, 4), Fraction(1, 2), Fraction(1)]
    mean = sum(exact) / 3
    variance = sum((one - mean) ** 2 for one in exact) / grid.scale[0].as_integer_ratio()[0] ** 2
    assert sums.within()[0, 0] == pytest.approx(float(variance), rel=1e-11)


@pytest.mark.parametrize("kind", KINDS)
def test_wide_rows_of_many_classes(kind: Any) -> None:
    rows, classes = rows_of(1500, 120, dtype=np.float32)
    rows[3] *= 1e30
    grid = Grid.fit(rows, COARSE)
    whole = kind.of(rows, classes, 3, grid)
    assert same(kind.total([kind.of(rows[at : at + 1], classes[at : at + 1], 3, grid) for at in range(1500)]), whole)


@pytest.mark.parametrize("kind", KINDS)
def test_no_rows_no_axes_and_classes_that_come_and_go(kind: Any) -> None:
    rows, classes = rows_of(10, 2)
    grid = Grid.fit(rows, COARSE)
    empty = kind.of(rows[:0], classes[:0], 3, grid)
    whole = kind.of(rows, classes, 3, grid)
    assert same(whole + empty, whole)
    assert same(kind.total([kind.empty()]), kind.empty())
    narrow = np.zeros((4, 0))
    assert kind.of(narrow, classes[:4], 3, Grid.fit(narrow, COARSE)).n_axes == 0
    only = kind.of(rows, np.zeros(10, np.int32), 1, grid)
    spread = only.with_classes(np.array([1]), 3)
    assert spread.counts.tolist() == [0, 10, 0]
    assert same(spread.of_classes(np.array([1])), only)


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_never_learned_is_refused(kind: Any) -> None:
    rows, classes = np.array([[1.0], [2.0]]), np.array([0, 1], np.int32)
    grid = Grid.fit(rows, FINE)
    sums = kind.of(rows, classes, 2, grid)
    with pytest.raises(ValueError, match="fewer rows"):
        sums.minus(kind.of(rows, np.array([0, 0], np.int32), 2, grid))
    with pytest.raises(ValueError, match="not among those learned"):
        sums.minus(kind.of(rows[1:], classes[:1], 2, grid))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("factor", [0.5, 0.1, 1.0])
def test_decay_keeps_means_and_can_be_saved(kind: Any, factor: float) -> None:
    rows, classes = rows_of(300, 4)
    rows[0, 0] = 1e200
    sums = kind.of(rows, classes, 3, Grid.fit(rows, FINE))
    less = sums.decayed(factor)
    assert less.counts.sum() == pytest.approx(300 * factor, abs=2)
    np.testing.assert_allclose(less.means(), sums.means(), rtol=1e-3, atol=1e-9)
    assert same(kind.from_arrays("abc", less.arrays(), less.counts), less)


@pytest.mark.parametrize("kind", KINDS)
def test_files_that_do_not_fit_are_refused(kind: Any) -> None:
    rows, classes = rows_of(30, 2)
    sums = kind.of(rows, classes, 3, Grid.fit(rows, FINE))
    good = sums.arrays()
    assert same(kind.from_arrays("abc", good, sums.counts), sums)
    wrong = [
        {"counts": good["counts"] + 1},
        {"counts": -good["counts"]},
        {"first": good["first"].astype(float)},
        {"first": good["first"][:, :2]},
        {"first": good["first"] + (1 << 50)},
        {"first": np.concatenate([good["first"], 0 * good["first"][:1]])},
        {"bits": np.array([99])},
        *([{"second": good["second"][:, :, :2]}, {"second": -good["second"]}] if kind.has_products else []),
    ]
    for change in wrong:
        with pytest.raises(ValueError, match=r"sums|counts"):
            kind.from_arrays("abc", {**good, **change}, sums.counts)


def test_a_number_that_is_not_finite_is_refused() -> None:
    rows = np.array([[1.0], [np.nan]])
    with pytest.raises(ValueError, match="not finite"):
        Products.of(rows, np.zeros(2, np.int32), 1, Grid((0.0,), (0,), COARSE))


class TestGrid:
    def test_an_outlier_does_not_move_it(self) -> None:
        rows, _ = rows_of(100, 1)
        with_outlier = np.concatenate([rows, [[1e300]]])
        assert Grid.fit(with_outlier, FINE) == Grid.fit(rows, FINE)

    def test_no_number_of_a_row_is_in_it(self) -> None:
        rows, _ = rows_of(100, 3, seed=5)
        grid = Grid.fit(rows, FINE)
        assert not {*rows.ravel()} & {*grid.origins}

    @pytest.mark.parametrize("value", [0.0, 3.7, -1e300, 5e-324])
    def test_an_axis_of_equal_numbers_has_a_scale(self, value: float) -> None:
        grid = Grid.fit(np.full((4, 1), value), FINE)
        assert np.abs(grid.standardized(np.full((4, 1), value))).max() <= 4

    def test_it_is_saved(self) -> None:
        grid = Grid.fit(rows_of(100, 3)[0], FINE)
        assert Grid.from_json(grid.to_json()) == grid

    @pytest.mark.parametrize(
        "wrong", [{"bits": 7}, {"exponents": [5000]}, {"origins": [float("inf")]}, {"origins": []}]
    )
    def test_what_does_not_fit_is_refused(self, wrong: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match="grid"):
            Grid.from_json({"origins": [0.0], "exponents": [1], "bits": FINE, **wrong})

    def test_far_numbers_are_at_the_edge(self) -> None:
        grid = Grid((0.0,), (0,), COARSE)
        assert grid.units(np.array([[1e308], [-1e308]])).ravel().tolist() == [FARTHEST, -FARTHEST]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("axes", [48, 97])
def test_native_products_are_those_of_blas(monkeypatch: pytest.MonkeyPatch, kind: Any, axes: int) -> None:
    rows, classes = rows_of(1300, axes, dtype=np.float32)
    rows[3], rows[700, 5] = 1e6, 1e30  # far rows are summed digit by digit
    grid = Grid.fit(rows, COARSE)
    native = kind.of(rows, classes, 3, grid)
    monkeypatch.setattr("discern.statistics.products.ROOM", float(1 << 50))  # sums are moved often
    assert same(kind.of(rows, classes, 3, grid), native)
    monkeypatch.setattr("discern.statistics.products.THREAD_ROWS", 100)
    for threads in (2, 7):
        monkeypatch.setattr("discern.statistics.products.default_threads", lambda threads=threads: threads)
        assert same(kind.of(rows, classes, 3, grid), native)
    monkeypatch.setattr("discern._native.has_fast_products", lambda: False)
    assert same(kind.of(rows, classes, 3, grid), native)
    assert same(native.minus(kind.of(rows[:9], classes[:9], 3, grid)), kind.of(rows[9:], classes[9:], 3, grid))


def of_processor(kind: Any, rows: Any, classes: Any, grid: Grid, *, fast: bool) -> Any:
    """Sum as processors with fast products of 16 bits do, or as those without them."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("discern.statistics.products.MANY_AXES", 1)
        if not fast:
            patched.setattr("discern._native.has_fast_products", lambda: False)
        return kind.of(rows, classes, 3, grid)


@given(st.data(), st.sampled_from(KINDS), st.sampled_from([np.float32, np.float64]))
@settings(max_examples=80, deadline=None)
def test_native_products_of_extremes_are_those_of_blas(data: Any, kind: Any, dtype: Any) -> None:
    axes, count = data.draw(st.integers(1, 101)), data.draw(st.sampled_from([0, 1, 2, 3, 193, 385, 600]))
    edge = int(SMALL)
    ends = st.sampled_from([0, 1, -1, 1023, 1024, -1025, edge, -edge, edge - 1025, edge + 1, -edge - 1, 2**30])
    some = data.draw(st.lists(st.one_of(ends, st.integers(-edge, edge)), min_size=1, max_size=40))
    grid = Grid((0.0,) * axes, (COARSE,) * axes)  # units of one
    rows = np.resize(np.array(some, dtype), (count, axes))
    classes = np.resize(np.array(data.draw(st.lists(st.integers(0, 2), min_size=1, max_size=9)), np.int32), count)
    assert same(*(of_processor(kind, rows, classes, grid, fast=fast) for fast in (True, False)))


@pytest.mark.parametrize("fast", [True, False])
def test_the_greatest_units_do_not_overflow(fast: bool) -> None:
    count, axes, unit = 5000, 49, int(SMALL)
    grid = Grid((0.0,) * axes, (COARSE,) * axes)
    for number in (unit, -unit, unit - 1025):
        sums = of_processor(Products, np.full((count, axes), number, np.float32), np.zeros(count), grid, fast=fast)
        assert set(as_objects(sums.second).ravel().tolist()) == {count * number**2}


def test_sums_of_rounded_numbers_stay_within_what_doubles_hold() -> None:
    # Each number is below its unit, by which 1,024 squares exceed 2⁵³ although those of the numbers do not.
    units = [2965821] * 1023 + [2965822]
    rows = np.array(units, np.float64)[:, None] - 0.49
    assert np.square(rows).sum() < 2**53 < sum(unit**2 for unit in units)
    sums = of_processor(Products, rows, np.zeros(len(rows)), Grid((0.0,), (COARSE,)), fast=False)
    assert as_objects(sums.second).ravel().tolist() == [sum(unit**2 for unit in units)]
