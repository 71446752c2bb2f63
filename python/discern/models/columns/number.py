"""Columns of numbers: exact sums, normal densities, and an axis of standard deviations from the mean."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.data.roles import Feature, numbers_of, rounded_range
from discern.data.vectors.grid import COARSE, Grid
from discern.models.columns.kind import Axes, Column, ColumnRows, ColumnSettings, ColumnSum, Kind, Scores
from discern.statistics.exact import ExactMoments, ExactTotal, moments_without
from discern.statistics.points import Block

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    from discern.data.batch import Batch
    from discern.data.text import TextSettings
    from discern.learners.bayes import NaiveBayesSettings
    from discern.models.columns.kind import Array, Arrays, Mask, NativeNumbers
    from discern.models.validation.rows import Folds, Sample
    from discern.models.vector_space.axes import Layout
    from discern.statistics.counts import Seen


MOST_REMEMBERED = 1 << 18
"""Of scores with more bytes only the last are remembered."""
VARIANCE_FLOOR = 1e-9
"""The share of a column's variance that is added to that of each class."""
NARROWEST, WIDEST = float(np.nextafter(0, 1)), float(np.finfo(np.float64).max)
"""Standard deviations are kept between these: the smallest and the greatest double."""
LEAST_LIKELY = 1e150
"""Squared distances in standard deviations are cut here."""
FARTHEST = 1e6
"""The most standard deviations that a number is taken to be from the mean."""
MISSING = "missing"
"""The value of a missing number on its axis."""
USUAL = 2.0
"""Most numbers are within this many standard deviations of the mean of a class."""


class NumberSum(ColumnSum):
    """Adds up numbers and their squares."""

    summed = ExactMoments

    def __init__(self, feature: Feature, text: TextSettings, threads: int | None, seen: Seen) -> None:
        super().__init__(feature, text, threads, seen)
        self._numbers = ExactTotal()

    def add(self, batch: Batch, classes: NDArray[np.int32], labels: list[str]) -> None:
        self._numbers.add(numbers_of(batch, self.feature.name), classes, len(labels))

    def statistic(self, order: NDArray[np.int64]) -> ExactMoments:
        return self._numbers.moments().of_classes(order)


@dataclass(frozen=True)
class NumberRows(ColumnRows):
    """Kept numbers, NaN where one is missing."""

    values: Array
    classes: NDArray[np.int32]
    n_classes: int

    @classmethod
    def of(cls, sample: Sample, feature: Feature, text: TextSettings) -> NumberRows:
        """Take a column of a sample."""
        return cls(sample.numbers(feature.name), sample.classes, len(sample.labels))

    def take(self, rows: NDArray[np.int64]) -> NumberRows:
        return NumberRows(self.values[rows], np.ascontiguousarray(self.classes[rows]), self.n_classes)

    def sums(self) -> ExactMoments:
        """Return the sums of the rows."""
        return self._sums

    @cached_property
    def _sums(self) -> ExactMoments:
        return ExactMoments.of(self.values, self.classes, self.n_classes)

    @property
    def has_missing(self) -> bool:
        """Whether a number is missing."""
        return not bool(np.isfinite(self.values).all())

    def location(self) -> tuple[float, float, float]:
        """Return the mean, the standard deviation and the largest magnitude of the numbers."""
        known = self.values[np.isfinite(self.values)]
        largest = float(np.abs(known).max(initial=0.0))
        if not largest:
            return 0.0, 0.0, 0.0
        shares = known / largest
        return float(shares.mean()) * largest, float(shares.std()) * largest, largest

    def grid(self) -> Grid:
        """Lay a grid by the quartiles of the numbers."""
        known = np.sort(self.values[np.isfinite(self.values)])
        return Grid.fit(known[:, None], COARSE)

    def sizes(self, presence: bool) -> NDArray[np.int64]:
        return np.isfinite(self.values).astype(np.int64)

    def scores(
        self, settings: NaiveBayesSettings, folds: Folds, min_df: int, threads: int
    ) -> tuple[Array, NDArray[Any]]:
        known = next((found for scored, found in self._scored if scored is folds), None)
        if known is None:  # they depend on no setting
            known = self._scores(folds)
            if folds.are_single:
                kept = self._scored[-1:] if known[0].nbytes <= MOST_REMEMBERED else []
                self._scored[:] = [*kept, (folds, known)]
        return known

    @cached_property
    def _scored(self) -> list[tuple[Folds, tuple[Array, NDArray[Any]]]]:
        """The folds that were scored last, and their scores."""
        return []

    def _scores(self, folds: Folds) -> tuple[Array, NDArray[Any]]:
        means, deviations = self._parameters_without(folds)
        values = self.values[folds.order][:, None]
        known = np.isfinite(values)
        scores = log_normal(np.where(known, values, 0.0), means[:, folds.numbers].T, deviations[:, folds.numbers].T)
        return np.where(known, scores, 0.0), known.ravel()

    def _parameters_without(self, folds: Folds) -> tuple[Array, Array]:
        """Return the parameters of the normal densities of classes × folds, of all rows but the fold's.

        Most folds have rows of few classes: only the sums of these are subtracted, exactly.
        """
        total = self.sums()
        classes, numbers, *of_cells, every_mean, every_deviation = moments_without(
            self.values, self.classes, self.n_classes, folds.order, folds.numbers, len(folds.ends)
        )
        means, deviations = (np.tile(one[:, None], len(folds.ends)) for one in (total.means(), total.deviations()))
        means[classes, numbers], deviations[classes, numbers] = of_cells
        return normal_parameters(means, deviations, every_mean, every_deviation)


@dataclass(frozen=True, eq=False)
class NumberColumn(Column):
    """Numbers with a normal density in each class; a missing number scores zero."""

    means: Array
    deviations: Array

    @classmethod
    def solve(
        cls, feature: Feature, statistic: ExactMoments, labels: tuple[str, ...], settings: ColumnSettings
    ) -> Self:
        every = statistic.pooled()
        parameters = normal_parameters(statistic.means(), statistic.deviations(), every.means(), every.deviations())
        return cls(feature, labels, *parameters)

    def of_batch(self, batch: Batch, threads: int) -> Scores:
        scores, known = self._of_numbers(numbers_of(batch, self.feature.name))
        return Scores(scores, known.astype(np.int64), np.zeros(len(known), np.int64))

    def of_rows(self, rows: NumberRows) -> tuple[Array, NDArray[Any]]:
        return self._of_numbers(rows.values)

    def numbers(self) -> NativeNumbers:
        return self.means, self.deviations, np.log(self.deviations)

    def _of_numbers(self, values: Array) -> tuple[Array, NDArray[np.bool_]]:
        known = np.isfinite(values)
        scores = log_normal(np.where(known, values, 0.0)[:, None], self.means, self.deviations)
        return np.where(known[:, None], scores, 0.0), known

    def value(self, batch: Batch) -> str:
        return f"{numbers_of(batch, self.feature.name)[0]:.6g}"

    def choices(self) -> dict[str, Any]:
        with np.errstate(over="ignore"):
            reach = USUAL * self.deviations
            return {"range": rounded_range(float((self.means - reach).min()), float((self.means + reach).max()))}

    @property
    def parameters(self) -> int:
        return 2

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"means": self.means, "deviations": self.deviations}

    @classmethod
    def from_arrays(cls, feature: Feature, labels: tuple[str, ...], arrays: Arrays, settings: ColumnSettings) -> Self:
        found = [arrays[name] for name in ("means", "deviations")]
        if any(one.dtype != np.float64 or one.shape != (len(labels),) or not np.isfinite(one).all() for one in found):
            raise ValueError("the densities do not match the labels")
        means, deviations = (np.require(one, np.float64, ["C", "A"]) for one in found)
        if bool(np.any(deviations <= 0)):
            raise ValueError("a standard deviation is not above zero")
        return cls(feature, labels, means, deviations)


def normal_parameters(means: Array, deviations: Array, mean: Array, deviation: Array) -> tuple[Array, Array]:
    """Return the means and standard deviations of classes (maximum likelihood, with a floor).

    A class without numbers, where they are NaN, gets those of all: ``mean`` and ``deviation``, of one model or of
    several, which are the last axis of the other two.
    """
    mean, deviation = np.nan_to_num(mean), np.nan_to_num(deviation)
    floor = np.where(deviation > 0, np.sqrt(VARIANCE_FLOOR) * deviation, 1.0)
    with np.errstate(over="ignore"):
        deviations = np.hypot(np.where(np.isnan(deviations), deviation, deviations), floor)
    return np.where(np.isnan(means), mean, means), np.clip(deviations, NARROWEST, WIDEST)


def log_normal(values: Array, means: Array, deviations: Array) -> Array:
    """Return log N(x; μ, σ²); it stays finite however far x is."""
    with np.errstate(over="ignore"):
        distances = values - means
        if not np.isfinite(distances).all():  # the difference of two doubles may be none
            far = (values / 2 - means / 2) / (deviations / 2)
            distances = np.where(np.isfinite(distances), distances / deviations, far)
        else:
            distances = distances / deviations
        squares = np.minimum(distances**2, LEAST_LIKELY)
    return np.asarray(-0.5 * (np.log(2 * np.pi) + squares) - np.log(deviations))


@dataclass(frozen=True)
class NumberAxes(Axes):
    """One axis: standard deviations from the mean; and one for a missing number, if there are such rows."""

    mean: float
    scale: float
    has_missing: bool = False
    is_joined = True
    is_measured = True

    @classmethod
    def of(
        cls, feature: Feature, column: ExactMoments | NumberRows, mask: Mask, text: TextSettings | None, layout: Layout
    ) -> Self:
        """Lay out the axis; numbers that are all alike are measured by their magnitude.

        Where the space lasts, mean and scale are coarse, so that no number of a row can be read from them.
        """
        missing = isinstance(column, NumberRows) and column.has_missing
        if layout.is_lasting:
            grid = column.grid() if isinstance(column, NumberRows) else _grid_of(column)
            return cls(feature, float(grid.origin[0]), float(grid.scale[0]), missing)
        mean, deviation, magnitude = column.location()
        return cls(feature, mean, deviation if deviation > 1e-12 * abs(mean) else magnitude or 1.0, missing)

    def __len__(self) -> int:
        return 1 + self.has_missing

    @property
    def grid(self) -> Grid:
        """The origin and the scale, if this is a power of two."""
        mantissa, exponent = np.frexp(self.scale)
        if mantissa != 0.5:
            raise ValueError("the scale of a number is no power of two")
        flag = ((0.0,), (COARSE,)) if self.has_missing else ((), ())
        return Grid((self.mean, *flag[0]), (int(exponent) - 1, *flag[1]), COARSE)

    def block_of_batch(self, batch: Batch, threads: int) -> Block:
        return self._block(numbers_of(batch, self.feature.name))

    def block_of_rows(self, rows: NumberRows, mask: Mask) -> Block:
        return self._block(rows.values)

    @property
    def units(self) -> Array:
        """The scale; a flag is one."""
        return np.array([self.scale, 1.0][: len(self)])

    def _block(self, values: Array) -> Block:
        known = np.where(np.isfinite(values), values, self.mean)
        return Block(dense_with_missing(known, values, self.has_missing), self.grid, self.units)

    def of_rows(self, rows: NumberRows, mask: Mask) -> Any:
        return self._of_numbers(rows.values)

    def of_batch(self, batch: Batch, threads: int) -> tuple[Any, NDArray[np.int64], NDArray[np.int64]]:
        values = numbers_of(batch, self.feature.name)
        return self._of_numbers(values), np.isfinite(values).astype(np.int64), np.zeros(len(values), np.int64)

    def _of_numbers(self, values: Array) -> Array:
        """Return a dense column: numbers are seldom the mean, and many columns are made sparse at once."""
        with np.errstate(over="ignore", invalid="ignore"):
            far = np.clip((values - self.mean) / self.scale, -FARTHEST, FARTHEST)
        return dense_with_missing(np.where(np.isfinite(values), far, 0.0), values, self.has_missing)

    def choices(self) -> dict[str, Any]:
        return {"range": rounded_range(self.mean - USUAL * self.scale, self.mean + USUAL * self.scale)}

    def name(self, place: int) -> str:
        return f"{self.feature.name}={MISSING}" if place else self.feature.name

    def value(self, place: int, batch: Batch) -> str:
        return MISSING if place else f"{numbers_of(batch, self.feature.name)[0]:.6g}"

    def arrays(self) -> dict[str, NDArray[Any]]:
        flag = {"missing": np.array([1], np.int64)} if self.has_missing else {}
        return {"place": np.array([self.mean, self.scale]), **flag}

    @classmethod
    def from_arrays(cls, feature: Feature, arrays: Arrays, text: TextSettings | None, layout: Layout) -> Self:
        place = arrays["place"]
        if place.dtype != np.float64 or place.shape != (2,) or not np.isfinite(place).all() or not place[1] > 0:
            raise ValueError("a number has no scale")
        return cls(
            feature, float(place[0]), float(place[1]), "missing" in arrays and flag_from_array(arrays["missing"])
        )


def dense_with_missing(placed: Array, values: Array, has_missing: bool) -> Array:
    """Return numbers as a column; with ``has_missing`` a second one is 1 where one is missing."""
    return np.stack([placed, ~np.isfinite(values)], axis=1) if has_missing else placed[:, None]


def flag_from_array(array: NDArray[Any]) -> bool:
    """Read from the arrays of a file whether numbers were missing; refuse what is neither yes nor no."""
    if array.dtype.kind not in "iu" or array.shape != (1,) or int(array[0]) not in (0, 1):
        raise ValueError("a column of missing numbers is neither there nor not")
    return bool(array[0])


def _grid_of(moments: ExactMoments) -> Grid:
    """Lay a grid by the mean and the standard deviation of numbers."""
    mean, deviation, _ = moments.location()
    return Grid.of(np.array([mean]), np.array([deviation]), COARSE)


KIND = Kind(NumberSum, NumberRows, NumberColumn, NumberAxes)
