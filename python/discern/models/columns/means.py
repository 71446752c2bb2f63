"""Levels as means of labels: a category has an axis for each class (one for two), however many levels there are.

The value of a level is the share of the class among its rows less the share among all rows, drawn towards zero where
rows are few (D. Micci-Barreca, 2001). A row to learn from does not count itself, or rare levels would reveal its label.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.data.roles import Feature, levels_of
from discern.data.strings import Strings
from discern.models.columns.arrays import float_array, sparse, strings_from_arrays, strings_to_arrays
from discern.models.columns.kind import Axes
from discern.models.columns.level import LevelRows, Levels

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    from discern.data.batch import Batch
    from discern.data.text import TextSettings
    from discern.models.columns.kind import Array, Arrays, Mask
    from discern.models.vector_space.axes import Layout

MASS = 10.0
"""The number of rows with the shares of all rows that are added to those of each level."""


@dataclass(frozen=True, eq=False)
class MeanAxes(Levels, Axes):
    """An axis for each class: the mean of the row's level; zero for a missing or unknown level."""

    levels: tuple[str, ...]
    means: Array
    """Levels × axes, in units of their root mean square over the rows."""
    scale: Array
    """That unit of each axis."""
    is_joined = True
    is_whole = True

    @classmethod
    def of(cls, feature: Feature, column: LevelRows, mask: Mask, text: TextSettings | None, layout: Layout) -> Self:
        """Lay out the axes by the labels of rows."""
        counts = column.counts[:-1]
        rows = counts.sum(axis=1)
        means = _means(counts, counts.sum(axis=0))
        scale = np.sqrt((rows[:, None] * means**2).sum(axis=0) / max(float(rows.sum()), 1.0))
        scale = np.where(scale > 0, scale, 1.0)
        order = sorted(np.flatnonzero(rows > 0).tolist(), key=lambda place: column.levels[place])
        return cls(feature, tuple(column.levels[place] for place in order), means[order] / scale, scale)

    def __len__(self) -> int:
        return int(self.means.shape[1])

    def of_rows(self, rows: LevelRows, mask: Mask) -> Any:
        return self._of_levels(self.places(rows.numbers, rows.levels))

    def of_learned_rows(self, rows: LevelRows, mask: Mask) -> Any:
        """Return the values of the rows that the axes come from, each without its own label."""
        counts, known = rows.counts, rows.numbers >= 0
        own = np.zeros((len(rows.numbers), counts.shape[1]))
        own[np.flatnonzero(known), rows.classes[known]] = 1.0
        others = counts[rows.numbers] - own
        values = _means(others, counts.sum(axis=0) - own) / self.scale
        return sparse_of(np.where(known[:, None], values, 0.0))

    def of_batch(self, batch: Batch, threads: int) -> tuple[Any, NDArray[np.int64], NDArray[np.int64]]:
        numbers, levels = levels_of(batch, self.feature)
        places = self.places(numbers, levels)
        known = (places >= 0).astype(np.int64)
        return self._of_levels(places), known, (numbers >= 0) - known

    def _of_levels(self, places: NDArray[np.int64]) -> Any:
        return sparse_of(np.vstack([self.means, np.zeros((1, len(self)))])[places])

    def name(self, place: int) -> str:
        return f"{self.feature.name}: mean of class {place + 1}"

    def value(self, place: int, batch: Batch) -> str:
        numbers, levels = levels_of(batch, self.feature)
        return levels[int(numbers[0])]

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {**strings_to_arrays("levels", Strings.of(self.levels)), "means": self.means, "scale": self.scale}

    @classmethod
    def from_arrays(cls, feature: Feature, arrays: Arrays, text: TextSettings | None, layout: Layout) -> Self:
        levels = tuple(strings_from_arrays("levels", arrays, is_sorted=False).to_list())
        means, scale = float_array(arrays["means"]), float_array(arrays["scale"])
        if len(set(levels)) < len(levels):
            raise ValueError("a level is there twice")
        if (
            means.ndim != 2
            or len(means) != len(levels)
            or scale.shape != means.shape[1:]
            or not bool(np.all(scale > 0))
        ):
            raise ValueError("the means do not match the levels")
        return cls(feature, levels, means, scale)


def _means(counts: Array, total: Array) -> Array:
    """Return the share of each class among rows of a level less that among all, drawn towards zero; one for two."""
    shares = total / np.maximum(total.sum(axis=-1, keepdims=True), 1.0)
    means = (counts + MASS * shares) / (counts.sum(axis=1, keepdims=True) + MASS) - shares
    return np.asarray(means[:, 1:] if means.shape[1] == 2 else means)


def sparse_of(values: Array) -> Any:
    """Return a dense array as a sparse matrix without zeros."""
    rows, columns = np.nonzero(values)
    ends = np.searchsorted(rows, np.arange(len(values) + 1))
    return sparse((values[rows, columns], columns, ends), values.shape)
