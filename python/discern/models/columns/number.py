"""Columns of numbers: moments, normal densities, and an axis of standard deviations from the mean."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.data.roles import Feature, numbers_of
from discern.models.columns.arrays import float_array, sparse
from discern.models.columns.kind import Axes, Column, ColumnRows, ColumnSettings, ColumnSum, Kind, Scores
from discern.statistics.moments import Moments

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    from discern.data.batch import Batch
    from discern.data.text import TextSettings
    from discern.learners.bayes import NaiveBayesSettings
    from discern.models.columns.kind import Array, Arrays, Mask
    from discern.models.validation.rows import Folds, Sample
    from discern.models.vector_space.axes import Layout


VARIANCE_FLOOR = 1e-9
"""The share of a column's variance that is added to that of each class."""
LEAST_LIKELY = 1e150
"""Squared distances in standard deviations are cut here."""
FARTHEST = 1e6
"""The most standard deviations that a number is taken to be from the mean."""


class NumberSum(ColumnSum):
    """Adds up moments."""

    summed = Moments

    def of_batch(self, batch: Batch, classes: NDArray[np.int32], labels: list[str]) -> Moments:
        return Moments.of(numbers_of(batch, self.feature.name)[:, None], classes, len(labels), None, 1)


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

    def sums(self) -> Moments:
        """Return the moments of the rows."""
        return Moments.of(self.values[:, None], self.classes, self.n_classes, None, 1)

    def location(self) -> tuple[float, float, float]:
        """Return the mean, the standard deviation and the largest magnitude of the numbers.

        They are more exact than from the moments: the deviations are squared, not the numbers.
        """
        known = self.values[np.isfinite(self.values)]
        largest = float(np.abs(known).max(initial=0.0))
        if not largest:
            return 0.0, 0.0, 0.0
        shares = known / largest
        return float(shares.mean()) * largest, float(shares.std()) * largest, largest

    def sizes(self, presence: bool) -> NDArray[np.int64]:
        return np.isfinite(self.values).astype(np.int64)

    def scores(
        self, settings: NaiveBayesSettings, folds: Folds, min_df: int, threads: int
    ) -> tuple[Array, NDArray[Any]]:
        means, variances = normal_parameters(self._without(folds))
        values = self.values[folds.order][:, None]
        known = np.isfinite(values)
        scores = log_normal(np.where(known, values, 0.0), means[:, folds.numbers].T, variances[:, folds.numbers].T)
        return np.where(known, scores, 0.0), known.ravel()

    def without(self, folds: Folds) -> Iterator[Moments]:
        moments = self._without(folds)
        return (moments.of_column(place) for place in range(len(folds.ends)))

    def _without(self, folds: Folds) -> Moments:
        """Return the moments of all rows but a fold's, a column a fold.

        They are not subtracted but added, those before a fold to those behind it: what little variance is left of a
        class without its outlier would drown in the rounding of a difference.
        """
        pivot = self.sums().pivot
        order, numbers = folds.order, folds.numbers
        rest = np.setdiff1d(np.arange(len(self.values)), order)
        steps = np.where(np.isnan(self.values), 0.0, self.values - pivot)
        sums = []
        for values in (~np.isnan(self.values)).astype(np.float64), steps, steps**2:
            within = np.zeros((self.n_classes, len(folds.ends)))
            np.add.at(within, (self.classes[order], numbers), values[order])
            others = np.bincount(self.classes[rest], values[rest], self.n_classes)[:, None]
            before, behind = np.zeros_like(within), np.zeros_like(within)
            np.cumsum(within[:, :-1], axis=1, out=before[:, 1:])
            np.cumsum(within[:, :0:-1], axis=1, out=behind[:, -2::-1])
            sums.append(others + before + behind)
        return Moments(np.repeat(pivot, len(folds.ends)), *sums)


@dataclass(frozen=True, eq=False)
class NumberColumn(Column):
    """Numbers with a normal density in each class; a missing number scores zero."""

    means: Array
    variances: Array

    @classmethod
    def solve(cls, feature: Feature, statistic: Moments, labels: tuple[str, ...], settings: ColumnSettings) -> Self:
        means, variances = normal_parameters(statistic)
        return cls(feature, labels, means[:, 0], variances[:, 0])

    def of_batch(self, batch: Batch, threads: int) -> Scores:
        scores, known = self._of_numbers(numbers_of(batch, self.feature.name))
        return Scores(scores, known.astype(np.int64), np.zeros(len(known), np.int64))

    def of_rows(self, rows: NumberRows) -> tuple[Array, NDArray[Any]]:
        return self._of_numbers(rows.values)

    def _of_numbers(self, values: Array) -> tuple[Array, NDArray[np.bool_]]:
        known = np.isfinite(values)
        scores = log_normal(np.where(known, values, 0.0)[:, None], self.means, self.variances)
        return np.where(known[:, None], scores, 0.0), known

    def value(self, batch: Batch) -> str:
        return f"{numbers_of(batch, self.feature.name)[0]:.6g}"

    @property
    def parameters(self) -> int:
        return 2

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"means": self.means, "variances": self.variances}

    @classmethod
    def from_arrays(cls, feature: Feature, labels: tuple[str, ...], arrays: Arrays, settings: ColumnSettings) -> Self:
        means, variances = float_array(arrays["means"]), float_array(arrays["variances"])
        if means.shape != (len(labels),) or variances.shape != means.shape or bool(np.any(variances <= 0)):
            raise ValueError("the densities do not match the labels")
        return cls(feature, labels, means, variances)


def normal_parameters(moments: Moments) -> tuple[Array, Array]:
    """Return means and variances (maximum likelihood, with a floor); a class without numbers gets those of all.

    They have the shape of the moments, which have one column, or one for each of several models.
    """
    total = moments.pooled()
    variance, mean = np.nan_to_num(total.variances()), np.nan_to_num(total.means())
    floor = np.where(variance > 0, VARIANCE_FLOOR * variance, 1.0)
    means, variances = moments.means(), moments.variances()
    return np.where(np.isnan(means), mean, means), np.where(np.isnan(variances), variance, variances) + floor


def log_normal(values: Array, means: Array, variances: Array) -> Array:
    """Return log N(x; μ, σ²); it stays finite however far x is."""
    with np.errstate(over="ignore"):
        squares = np.minimum((values - means) ** 2 / variances, LEAST_LIKELY)
    return np.asarray(-0.5 * (np.log(2 * np.pi * variances) + squares))


@dataclass(frozen=True)
class NumberAxes(Axes):
    """One axis: standard deviations from the mean."""

    mean: float
    scale: float

    @classmethod
    def of(
        cls, feature: Feature, column: Moments | NumberRows, mask: Mask, text: TextSettings | None, layout: Layout
    ) -> Self:
        """Lay out the axis; numbers that are all alike are measured by their magnitude."""
        mean, deviation, magnitude = column.location()
        return cls(feature, mean, deviation if deviation > 1e-12 * abs(mean) else magnitude or 1.0)

    def __len__(self) -> int:
        return 1

    def of_rows(self, rows: NumberRows, mask: Mask) -> Any:
        return self._of_numbers(rows.values)

    def of_batch(self, batch: Batch, threads: int) -> tuple[Any, NDArray[np.int64], NDArray[np.int64]]:
        values = numbers_of(batch, self.feature.name)
        return self._of_numbers(values), np.isfinite(values).astype(np.int64), np.zeros(len(values), np.int64)

    def _of_numbers(self, values: Array) -> Any:
        with np.errstate(over="ignore", invalid="ignore"):
            far = np.clip((values - self.mean) / self.scale, -FARTHEST, FARTHEST)
        known = np.isfinite(values) & (far != 0)
        ends = np.concatenate([[0], np.cumsum(known)])
        return sparse((far[known], np.zeros(int(known.sum()), np.int64), ends), (len(values), 1))

    def name(self, place: int) -> str:
        return self.feature.name

    def value(self, place: int, batch: Batch) -> str:
        return f"{numbers_of(batch, self.feature.name)[0]:.6g}"

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"place": np.array([self.mean, self.scale])}

    @classmethod
    def from_arrays(cls, feature: Feature, arrays: Arrays, text: TextSettings | None, layout: Layout) -> Self:
        place = arrays["place"]
        if place.dtype != np.float64 or place.shape != (2,) or not np.isfinite(place).all() or not place[1] > 0:
            raise ValueError("a number has no scale")
        return cls(feature, float(place[0]), float(place[1]))


KIND = Kind(NumberSum, NumberRows, NumberColumn, NumberAxes)
