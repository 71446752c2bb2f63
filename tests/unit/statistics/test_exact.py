"""Exact sums of numbers: against fractions, at the ends of the range, and what is refused."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discern.statistics.exact import GREATEST, LOWEST, ExactMoments

ANY = st.floats(allow_infinity=False, allow_nan=True, allow_subnormal=True)
MODERATE = st.one_of(st.integers(-1000, 1000).map(float), st.floats(-1e3, 1e3))
ROWS = st.lists(st.tuples(st.integers(0, 2), st.one_of(MODERATE, ANY)), max_size=30)


def exact(rows: list[tuple[int, float]], n_classes: int = 3) -> ExactMoments:
    values, classes = np.array([value for _, value in rows]), np.array([place for place, _ in rows], np.int32)
    return ExactMoments.of(values, classes, n_classes)


def same(one: ExactMoments, other: ExactMoments) -> bool:
    mine, theirs = one.arrays(), other.arrays()
    return all(mine[name].shape == theirs[name].shape and (mine[name] == theirs[name]).all() for name in mine)


def fractions(rows: list[tuple[int, float]], place: int) -> list[Fraction]:
    return [Fraction(value) for own, value in rows if own == place and value == value]


@given(ROWS)
def test_sums_are_those_of_fractions(rows: list) -> None:
    sums = exact(rows)
    for place in range(3):
        values = fractions(rows, place)
        assert sums.counts[place] == len(values)
        assert sums.first[place] * Fraction(2) ** sums.unit == sum(values)
        assert sums.second[place] * Fraction(4) ** sums.unit == sum(value**2 for value in values)


@given(ROWS)
def test_means_and_variances_are_rounded_once(rows: list) -> None:
    sums = exact(rows)
    for place, (mean, deviation) in enumerate(zip(sums.means(), sums.deviations(), strict=True)):
        values = fractions(rows, place)
        if not values:
            assert np.isnan([mean, deviation]).all()
            continue
        true = sum(values) / len(values)
        variance = sum((value - true) ** 2 for value in values) / len(values)
        assert mean == float(true)
        # The root of a ratio that was rounded once: at most a unit in the last place beside the true root.
        steps = [
            Fraction(float(np.nextafter(deviation, end)))
            for end in (0.0, np.inf)
            if np.isfinite(np.nextafter(deviation, end))
        ]
        assert steps[0] ** 2 <= variance
        assert len(steps) < 2 or variance <= steps[1] ** 2


@given(ROWS, st.randoms(), st.integers(1, 7))
def test_any_order_and_parts_give_the_same_arrays(rows: list, random, parts: int) -> None:
    shuffled = random.sample(rows, len(rows))
    total = ExactMoments.total([exact(shuffled[part::parts]) for part in range(parts)])
    assert same(total, exact(rows))
    assert same(ExactMoments.from_arrays("abc", exact(rows).arrays(), total.counts), total)


@given(ROWS, ROWS)
def test_what_was_learned_is_never_refused_and_leaves_nothing(rows: list, more: list) -> None:
    assert same(exact(rows + more).minus(exact(more)), exact(rows))
    assert same(exact(rows + more) - exact(rows), exact(more))


@given(ROWS, st.floats(0.01, 1.0))
def test_decay_keeps_means_and_deviations(rows: list, factor: float) -> None:
    whole = exact(rows)
    faded = whole.decayed(factor)
    assert faded.counts.tolist() == np.rint(whole.counts * factor).tolist()
    left = faded.counts > 0
    assert same(ExactMoments.from_arrays("abc", faded.arrays(), faded.counts), faded)
    size = np.abs([value for _, value in rows if value == value]).max(initial=0)
    for mine, theirs in ((faded.means(), whole.means()), (faded.deviations(), whole.deviations())):
        assert np.isnan(mine[~left]).all()
        np.testing.assert_allclose(mine[left], theirs[left], rtol=1e-12, atol=max(size * 1e-9, 5e-324))
    assert faded.decayed(0.5).unit >= LOWEST


def test_numbers_far_from_zero_have_no_cancellation() -> None:
    sums = exact([(0, 1e15), (0, 1e15 + 1), (0, 1e15 + 2), (1, 0.1), (1, 0.1), (1, 0.1)])
    assert sums.deviations()[:2].tolist() == [np.sqrt(2 / 3), 0.0]
    assert sums.means()[:2].tolist() == [1e15 + 1, 0.1]


def test_the_ends_of_the_range() -> None:
    most, least = float(np.finfo(np.float64).max), 5e-324
    assert exact([(0, most), (0, most)]).means()[0] == most
    assert exact([(0, most), (0, -most)]).deviations()[0] == most
    assert exact([(0, least), (0, 3 * least)]).means()[0] == 2 * least
    assert exact([(0, least), (0, 3 * least)]).deviations()[0] == least
    sums = exact([(0, most), (0, least), (0, -most)])
    assert (int(sums.first[0]) << (sums.unit - LOWEST), sums.means()[0]) == (1, 0.0)
    assert exact([(0, most)]).first[0] << (exact([(0, most)]).unit - LOWEST) == GREATEST
    assert ExactMoments.from_arrays("abc", sums.arrays(), sums.counts).arrays()["second"].shape == (3, 525)


@pytest.mark.parametrize("n_classes", [1, 5, 3000])
def test_many_numbers_of_few_and_of_many_classes(n_classes: int) -> None:
    random = np.random.default_rng(n_classes)
    values = np.round(random.normal(size=200_000) * 1e6) * 2.0 ** random.integers(-6, 7, 200_000)
    values[random.random(len(values)) < 0.1] = np.nan
    classes = random.integers(0, n_classes, len(values)).astype(np.int32)
    sums, whole = ExactMoments.of(values, classes, n_classes), np.nan_to_num(values) * 64
    first = np.zeros(n_classes, np.int64)
    np.add.at(first, classes, whole.astype(np.int64))
    assert sums.counts.tolist() == np.bincount(classes[~np.isnan(values)], minlength=n_classes).tolist()
    assert [
        value << (sums.unit + 6) if sums.unit > -6 else value >> (-6 - sums.unit) for value in sums.first
    ] == first.tolist()
    parts = [ExactMoments.of(values[part::3], classes[part::3], n_classes) for part in range(3)]
    assert same(ExactMoments.total(parts), sums)


def test_what_was_never_summed_is_refused() -> None:
    whole = exact([(0, 2.0), (0, 4.0), (1, 1e9), (1, 1e9 + 1)])
    for wrong, message in (
        ([(0, 2.0)] * 3, "more numbers than"),
        ([(2, 1.0)], "more numbers than"),
        ([(0, 4.2)], "not among those learned"),  # one number cannot have a negative variance
        ([(0, 200.0)], "not among those learned"),
        ([(0, 2.0), (0, 3.0)], "not among those learned"),
        ([(1, 1e9), (1, 1e9 + 1.0000001)], "not among those learned"),
    ):
        with pytest.raises(ValueError, match=message):
            whole.minus(exact(wrong))


def test_classes_are_chosen_joined_and_pooled() -> None:
    sums = exact([(0, 1.0), (0, 3.0), (1, 8.0)])
    assert sums.of_classes(np.array([1, 0, 0])).means().tolist() == [8, 2, 2]
    assert sums.with_classes(np.array([2, 0, 1]), 4).counts.tolist() == [1, 0, 2, 0]
    assert sums.pooled().means().tolist() == [4]
    assert sums.location() == (4.0, np.std([1, 3, 8]), 4.0)
    assert sums.of_rows(np.array([2, 2, 0])).counts.tolist() == [2, 1]
    with pytest.raises(ValueError, match="lack a number"):
        sums.of_rows(np.array([2, 0, 0]))
    empty = ExactMoments.empty()
    assert (empty + empty).means().tolist() == empty.deviations().tolist() == []
    assert empty.location() == (0.0, 0.0, 0.0)
    assert same(ExactMoments.from_arrays((), empty.arrays(), empty.counts), empty)
