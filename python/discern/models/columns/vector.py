"""Columns of vectors: exact sums of products, normal densities with one covariance, and a block of axes.

In naive Bayes a vector has a normal density in each class, with one shrunken covariance for all of them: linear
discriminant analysis within the column (:mod:`discern.learners.normals.pooled`). In a vector space it is a block of
axes, moved to its mean and divided by one number, so that the distances between vectors stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.learners.normals.pooled import Normals, Spread, left_out
from discern.models.columns.arrays import float_array, sparse
from discern.models.columns.kind import Axes, Column, ColumnRows, ColumnSettings, ColumnSum, Kind, Scores
from discern.statistics.points import Block
from discern.statistics.products import Products

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    from discern.data.batch import Batch
    from discern.data.roles import Feature
    from discern.data.text import TextSettings
    from discern.data.vectors.column import Vectors
    from discern.data.vectors.grid import Grid
    from discern.learners.bayes import NaiveBayesSettings
    from discern.models.columns.kind import Array, Arrays, Mask
    from discern.models.validation.rows import Folds, Sample
    from discern.models.vector_space.axes import Layout

BLOCK = 1 << 12
"""Rows are scored in blocks, for the memory that they take in double precision."""
NEAREST = 3
"""The most classes named for one vector, the nearest first."""
FARTHEST = 1e6
"""A number on an axis is cut here."""


def vectors_of(batch: Batch, feature: Feature) -> Vectors:
    """Return the vectors of a column, of as many numbers as its grid has axes."""
    return batch.vectors(feature.column, len(grid_of(feature)))


def grid_of(feature: Feature) -> Grid:
    """Return the grid of a column of vectors, which is laid when it is first learned."""
    if feature.grid is None:
        raise ValueError(f"the vectors of {feature.name!r} have no grid")
    return feature.grid


class VectorSum(ColumnSum):
    """Adds up vectors and their products."""

    summed = Products

    def of_batch(self, batch: Batch, classes: NDArray[np.int32], labels: list[str]) -> Products:
        found = vectors_of(batch, self.feature)
        return _summed(found.values, found.present, classes, len(labels), grid_of(self.feature))


def _summed(
    values: NDArray[np.float32], present: NDArray[np.bool_], classes: NDArray[np.int32], n_classes: int, grid: Grid
) -> Products:
    if not present.all():
        values, classes = values[present], classes[present]
    return Products.of(values, np.ascontiguousarray(classes), n_classes, grid)


# ---------------------------------------------------------------------------------------------------------- rows


@dataclass(frozen=True)
class VectorRows(ColumnRows):
    """Rows kept for validation: vectors, zeros where there is none."""

    values: NDArray[np.float32]
    present: NDArray[np.bool_]
    classes: NDArray[np.int32]
    n_classes: int
    grid: Grid
    _scored: list[tuple[Folds, Array]] = field(default_factory=list)
    """The scores of folds: they do not change with the settings of naive Bayes."""

    @classmethod
    def of(cls, sample: Sample, feature: Feature, text: TextSettings) -> VectorRows:
        """Take a column of a sample."""
        parts = [vectors_of(batch, feature) for batch in sample.batches]
        values, present = (np.concatenate([getattr(part, name) for part in parts]) for name in ("values", "present"))
        return cls(values, present, sample.classes, len(sample.labels), grid_of(feature))

    def take(self, rows: NDArray[np.int64]) -> VectorRows:
        return VectorRows(
            self.values[rows], self.present[rows], np.ascontiguousarray(self.classes[rows]), self.n_classes, self.grid
        )

    def sums(self) -> Products:
        """Return the sums of the rows."""
        return _summed(self.values, self.present, self.classes, self.n_classes, self.grid)

    def centered(self, places: NDArray[Any] | slice) -> Array:
        """Return some vectors in double precision, from the origin of the grid."""
        return self.values[places].astype(np.float64) - self.grid.origin

    def sizes(self, presence: bool) -> NDArray[np.int64]:
        return self.present.astype(np.int64)

    def scores(
        self, settings: NaiveBayesSettings, folds: Folds, min_df: int, threads: int
    ) -> tuple[Array, NDArray[Any]]:
        known = self.present[folds.order]
        for before, scores in self._scored:
            if before is folds:
                return scores, known
        scores = self._left_out(folds) if folds.are_single else self._without_folds(folds)
        scores[~known] = 0.0
        self._scored.append((folds, scores))
        return scores, known

    def _left_out(self, folds: Folds) -> Array:
        """Score rows, each without itself."""
        spread, scores = spread_of(self.sums(), self.grid), np.zeros((len(folds.order), self.n_classes))
        for start in range(0, len(folds.order), BLOCK):
            places = np.flatnonzero(self.present[folds.order[start : start + BLOCK]]) + start
            rows = folds.order[places]
            scores[places] = left_out(spread, self.centered(rows), self.classes[rows])
        return scores

    def _without_folds(self, folds: Folds) -> Array:
        total = self.sums()
        rests = (total.minus(self.take(fold).sums()) for fold in folds)
        models = (normals_of(rest, self.grid) for rest in rests)
        return np.concatenate([_scored(model, self, fold) for model, fold in zip(models, folds, strict=True)])


def _scored(normals: Normals, rows: VectorRows, places: NDArray[np.int64]) -> Array:
    """Score some of the rows, in blocks."""
    blocks = np.split(places, range(BLOCK, len(places), BLOCK))
    return np.concatenate([normals.scores(rows.centered(block)) for block in blocks])


def spread_of(sums: Products, grid: Grid) -> Spread:
    """Return the covariance and the means of sums on a grid, measured from the origin of the grid."""
    if not sums.n_axes:  # of no rows
        return Spread.of(sums.counts, np.zeros((len(sums.counts), len(grid))), np.zeros((len(grid),) * 2))
    scale = grid.scale
    return Spread.of(sums.counts, sums.means() * scale, sums.within() * scale * scale[:, None])


def normals_of(sums: Products, grid: Grid) -> Normals:
    """Return the densities of the classes, from sums."""
    return spread_of(sums, grid).solved()


# ---------------------------------------------------------------------------------------------------- naive Bayes


@dataclass(frozen=True, eq=False)
class VectorColumn(Column):
    """Vectors with a normal density in each class and one covariance; a missing vector scores zero."""

    origin: Array
    normals: Normals

    @classmethod
    def solve(cls, feature: Feature, statistic: Products, labels: tuple[str, ...], settings: ColumnSettings) -> Self:
        grid = grid_of(feature)
        return cls(feature, labels, grid.origin, normals_of(statistic, grid))

    def of_batch(self, batch: Batch, threads: int) -> Scores:
        scores, known = self._of_vectors(vectors_of(batch, self.feature))
        return Scores(scores, known.astype(np.int64), np.zeros(len(known), np.int64))

    def of_rows(self, rows: VectorRows) -> tuple[Array, NDArray[Any]]:
        return self._of_vectors(rows)

    def _of_vectors(self, rows: Vectors | VectorRows) -> tuple[Array, NDArray[np.bool_]]:
        scores = np.zeros((len(rows.present), len(self.labels)))
        for start in range(0, len(scores), BLOCK):
            block = slice(start, start + BLOCK)
            scores[block] = self.normals.scores(rows.values[block].astype(np.float64) - self.origin)
        scores[~rows.present] = 0.0
        return scores, rows.present

    def value(self, batch: Batch) -> str:
        scores, _ = self._of_vectors(vectors_of(batch, self.feature))
        order = np.argsort(-scores[0], kind="stable")[:NEAREST]
        return f"{self.feature.view or 'vector'} nearest to {', '.join(self.labels[place] for place in order.tolist())}"

    @property
    def parameters(self) -> int:
        return len(self.origin)

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"means": self.normals.means, "precision": self.normals.precision}

    @classmethod
    def from_arrays(cls, feature: Feature, labels: tuple[str, ...], arrays: Arrays, settings: ColumnSettings) -> Self:
        grid = grid_of(feature)
        means, precision = float_array(arrays["means"]), float_array(arrays["precision"])
        if means.shape != (len(labels), len(grid)) or precision.shape != (len(grid), len(grid)):
            raise ValueError("the densities do not match the labels and axes")
        return cls(feature, labels, grid.origin, Normals(means, precision))


# ----------------------------------------------------------------------------------------------------------- axes


@dataclass(frozen=True)
class VectorAxes(Axes):
    """An axis for each number: the distance from the mean, in units of the mean length of what is left of vectors."""

    mean: Array
    scale: float
    is_whole = True

    @classmethod
    def of(
        cls, feature: Feature, column: Products | VectorRows, mask: Mask, text: TextSettings | None, layout: Layout
    ) -> Self:
        """Lay out the axes; vectors from the mean have a length of one, in the mean square.

        Where the space lasts, it has the origin of the grid and a power of two as its scale.
        """
        if layout.is_lasting:
            grid = grid_of(feature)
            return cls(feature, grid.origin, float(2.0 ** np.rint(0.5 * np.log2(np.square(grid.scale).sum()))))
        mean, square = _location(column) if isinstance(column, VectorRows) else _summed_location(column, feature)
        return cls(feature, grid_of(feature).origin + mean, square**0.5 if square > 0 else 1.0)

    def __len__(self) -> int:
        return len(self.mean)

    @property
    def grid(self) -> Grid:
        """The grid of the column."""
        return grid_of(self.feature)

    def block_of_batch(self, batch: Batch, threads: int) -> Block:
        return self._block(vectors_of(batch, self.feature))

    def block_of_rows(self, rows: VectorRows, mask: Mask) -> Block:
        return self._block(rows)

    def _block(self, rows: Vectors | VectorRows) -> Block:
        values: NDArray[Any] = rows.values
        if not rows.present.all():
            values = np.where(rows.present[:, None], values.astype(np.float64), self.grid.origin)
        return Block(values, self.grid, self.units)

    @property
    def units(self) -> Array:
        """The scale, the same on all axes."""
        return np.full(len(self), self.scale)

    def of_rows(self, rows: VectorRows, mask: Mask) -> Any:
        return self._of_vectors(rows)

    def of_batch(self, batch: Batch, threads: int) -> tuple[Any, NDArray[np.int64], NDArray[np.int64]]:
        vectors = vectors_of(batch, self.feature)
        return self._of_vectors(vectors), vectors.present.astype(np.int64), np.zeros(len(vectors), np.int64)

    def _of_vectors(self, rows: Vectors | VectorRows) -> Any:
        values = np.clip((rows.values[rows.present] - self.mean) / self.scale, -FARTHEST, FARTHEST)
        ends = np.concatenate([[0], np.cumsum(len(self) * rows.present)])
        places = np.tile(np.arange(len(self)), len(values))
        return sparse((values.ravel(), places, ends), (len(rows.present), len(self)))

    def name(self, place: int) -> str:
        return f"{self.feature.name}[{place}]"

    def value(self, place: int, batch: Batch) -> str:
        return self.feature.view or "vector"

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"mean": self.mean, "scale": np.array([self.scale])}

    @classmethod
    def from_arrays(cls, feature: Feature, arrays: Arrays, text: TextSettings | None, layout: Layout) -> Self:
        mean, scale = float_array(arrays["mean"]), float_array(arrays["scale"])
        if mean.shape != (len(grid_of(feature)),) or scale.shape != (1,) or not scale[0] > 0:
            raise ValueError("the axes of a vector do not match its sums")
        return cls(feature, mean, float(scale[0]))


def _location(rows: VectorRows) -> tuple[Array, float]:
    """Return the mean of vectors from the origin, and their mean squared distance from it."""
    places = np.flatnonzero(rows.present)
    mean, square = np.zeros(len(rows.grid)), 0.0
    blocks = list(_blocks(places))
    for block in blocks:
        mean += rows.centered(block).sum(axis=0) / len(places)
    for block in blocks:
        square += float(np.square(rows.centered(block) - mean).sum()) / len(places)
    return mean, square


def _blocks(places: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    return (places[start : start + BLOCK] for start in range(0, len(places), BLOCK))


def _summed_location(sums: Products, feature: Feature) -> tuple[Array, float]:
    spread, total = spread_of(sums, grid_of(feature)), max(int(sums.counts.sum()), 1)
    mean = spread.counts @ spread.means / total
    between = float(spread.counts @ np.square(spread.means - mean).sum(axis=1))
    return mean, (float(spread.variances.sum()) * spread.freedom + between) / total


KIND = Kind(VectorSum, VectorRows, VectorColumn, VectorAxes)
