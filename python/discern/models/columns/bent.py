"""Axes of numbers that bend: normal quantiles, and an axis for each bin.

A standardized number gives a linear model straight boundaries, and one far value a long lever. As a normal quantile a
number counts by its rank. As bins it has a weight for each interval, so that its contribution is any step function.
Both maps come from intervals whose edges are rounded: no value of a row is in the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.data.bins import assign, knots, spread_edges
from discern.data.roles import Feature, numbers_of, rounded_range
from discern.models.columns.arrays import sparse
from discern.models.columns.kind import Axes
from discern.models.columns.number import (
    MISSING,
    NumberAxes,
    NumberRows,
    dense_with_missing,
    flag_from_array,
)
from discern.statistics.points import Block

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    from discern.data.batch import Batch
    from discern.data.text import TextSettings
    from discern.models.columns.kind import Array, Arrays, Mask
    from discern.models.vector_space.axes import Layout

FEWEST_BINS, MOST_BINS, BINS_BY_ROWS = 16, 128, 0.6
"""The number of bins where each has an axis: this many times the square root of the rows, within these bounds. There
are more than for naive Bayes, because a penalty holds their weights back."""


@dataclass(frozen=True)
class NormalAxes(Axes):
    """One axis: the normal quantile of a number's rank; and one for a missing number, if there are such rows."""

    knots: Array
    """Rows of a number and its place on the axis; between them the map is linear, beyond them constant."""
    has_missing: bool = False
    is_joined = True
    is_measured = True

    @classmethod
    def of(cls, feature: Feature, column: NumberRows, mask: Mask, text: TextSettings | None, layout: Layout) -> Self:
        """Lay out the axis by the ranks of the numbers."""
        return cls(feature, knots(column.values), column.has_missing)

    def __len__(self) -> int:
        return 1 + self.has_missing

    def of_rows(self, rows: NumberRows, mask: Mask) -> Any:
        return self._of_numbers(rows.values)

    def of_batch(self, batch: Batch, threads: int) -> tuple[Any, NDArray[np.int64], NDArray[np.int64]]:
        values = numbers_of(batch, self.feature.name)
        return self._of_numbers(values), np.isfinite(values).astype(np.int64), np.zeros(len(values), np.int64)

    def _of_numbers(self, values: Array) -> Any:
        placed = np.where(np.isfinite(values), self._placed(values), 0.0)
        return dense_with_missing(placed, values, self.has_missing)

    def _placed(self, values: Array) -> Array:
        known = np.isfinite(values)
        if not len(self.knots):
            return np.zeros(len(values))
        placed = np.interp(np.where(known, values, 0.0), self.knots[:, 0], self.knots[:, 1])
        return np.where(known, placed, 0.0)

    def block_of_batch(self, batch: Batch, threads: int) -> Block:
        return self._block(numbers_of(batch, self.feature.name))

    def block_of_rows(self, rows: NumberRows, mask: Mask) -> Block:
        return self._block(rows.values)

    def _block(self, values: Array) -> Block:
        return Block(dense_with_missing(self._placed(values), values, self.has_missing), self.grid, self.units)

    def choices(self) -> dict[str, Any]:
        return {"range": rounded_range(*self.knots[[0, -1], 0].tolist())} if len(self.knots) else {}

    def name(self, place: int) -> str:
        return f"{self.feature.name}={MISSING}" if place else self.feature.name

    def value(self, place: int, batch: Batch) -> str:
        return MISSING if place else f"{numbers_of(batch, self.feature.name)[0]:.6g}"

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"knots": self.knots, "missing": np.array([self.has_missing], np.int64)}

    @classmethod
    def from_arrays(cls, feature: Feature, arrays: Arrays, text: TextSettings | None, layout: Layout) -> Self:
        found = arrays["knots"]
        if found.dtype != np.float64 or found.ndim != 2 or found.shape[1] != 2 or not np.isfinite(found).all():
            raise ValueError("the map of a number is not made of numbers")
        if not bool(np.all(np.diff(found[:, 0]) > 0)):
            raise ValueError("the map of a number does not rise")
        return cls(feature, np.require(found, np.float64, ["C", "A"]), flag_from_array(arrays["missing"]))


@dataclass(frozen=True)
class BinAxes(Axes):
    """An axis for each bin of a number; and one for a missing number, if there are such rows."""

    edges: tuple[float, ...]
    has_missing: bool = False
    is_joined = True
    is_measured = True

    @classmethod
    def of(cls, feature: Feature, column: NumberRows, mask: Mask, text: TextSettings | None, layout: Layout) -> Self:
        """Lay out an axis for each of the bins, which are about equally full."""
        return cls(feature, tuple(spread_edges(column.values, n_bins(len(column.values))).tolist()), column.has_missing)

    def __len__(self) -> int:
        return len(self.edges) - 1 + self.has_missing

    @cached_property
    def _cut(self) -> Feature:
        return Feature(self.feature.name, "number", self.edges)

    @cached_property
    def _names(self) -> list[str]:
        return [*self._cut.bins(), MISSING]

    def of_rows(self, rows: NumberRows, mask: Mask) -> Any:
        return self._of_numbers(rows.values)

    def of_batch(self, batch: Batch, threads: int) -> tuple[Any, NDArray[np.int64], NDArray[np.int64]]:
        values = numbers_of(batch, self.feature.name)
        return self._of_numbers(values), np.isfinite(values).astype(np.int64), np.zeros(len(values), np.int64)

    def _of_numbers(self, values: Array) -> Any:
        bins = assign(np.where(np.isfinite(values), values, np.nan), np.asarray(self.edges))
        if self.has_missing:
            bins = np.where(bins < 0, len(self.edges) - 1, bins)
        known = bins >= 0
        ends = np.concatenate([[0], np.cumsum(known)])
        return sparse((np.ones(int(known.sum())), bins[known], ends), (len(values), len(self)))

    def choices(self) -> dict[str, Any]:
        usual = self._cut.usual_range()
        return {} if usual is None else {"range": usual}

    def name(self, place: int) -> str:
        return f"{self.feature.name}={self._names[place]}"

    def value(self, place: int, batch: Batch) -> str:
        return self._names[place]

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"edges": np.array(self.edges), "missing": np.array([self.has_missing], np.int64)}

    @classmethod
    def from_arrays(cls, feature: Feature, arrays: Arrays, text: TextSettings | None, layout: Layout) -> Self:
        edges = arrays["edges"]
        if edges.dtype != np.float64 or edges.ndim != 1 or np.isnan(edges).any():
            raise ValueError("the edges of a number are not numbers")
        made = cls(feature, tuple(edges.tolist()), flag_from_array(arrays["missing"]))
        _ = made._cut  # refuses edges that do not rise
        return made


def n_bins(rows: int) -> int:
    """Return the number of bins of a number with this many rows.

    Examples
    --------
    >>> [n_bins(rows) for rows in (10, 1000, 10_000, 100_000)]
    [16, 18, 60, 128]
    """
    return int(min(max(BINS_BY_ROWS * rows**0.5, FEWEST_BINS), MOST_BINS))


NUMBER_AXES: dict[str, type[Axes]] = {"standard": NumberAxes, "common": NumberAxes, "bins": BinAxes}
"""The axes of a number in each basis; in the others they are normal quantiles."""
