"""Columns of levels: a category, a flag, or a number cut into bins; each level counts, and has an axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.data.bins import assign
from discern.data.roles import Feature, levels_of
from discern.data.strings import Strings
from discern.learners.bayes import NaiveBayesSettings
from discern.learners.smoothing import Laplace
from discern.models.columns.arrays import float_array, sparse, strings_from_arrays, strings_to_arrays
from discern.models.columns.kind import Axes, Column, ColumnRows, ColumnSettings, ColumnSum, Kind, Scores
from discern.statistics.counts import Counts

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    from discern.data.batch import Batch
    from discern.data.text import TextSettings
    from discern.models.columns.kind import Array, Arrays, Mask, NativeNumbers
    from discern.models.validation.rows import Folds, Sample
    from discern.models.vector_space.axes import Layout


class LevelSum(ColumnSum):
    """Adds up the counts of levels."""

    summed = Counts

    def of_batch(self, batch: Batch, classes: NDArray[np.int32], labels: list[str]) -> Counts:
        numbers, levels = levels_of(batch, self.feature)
        return Counts.of_levels(numbers, levels, classes, labels)


@dataclass(frozen=True)
class LevelRows(ColumnRows):
    """Kept levels: the level of each row as a number, −1 where it is missing."""

    numbers: NDArray[np.int64]
    levels: tuple[str, ...]
    classes: NDArray[np.int32]
    labels: tuple[str, ...]
    least: int = 0
    """The least number of levels there are, whether seen or not."""
    lasting: bool = False
    """Whether a level that no row has left is still a level, as a bin is."""

    @classmethod
    def of(cls, sample: Sample, feature: Feature, text: TextSettings) -> LevelRows:
        """Take a column of a sample."""
        if feature.edges is not None:
            bins = tuple(feature.bins())
            numbers = assign(sample.numbers(feature.name), np.asarray(feature.edges))
            return cls(numbers, bins, sample.classes, sample.labels, len(bins), lasting=True)
        places: dict[str, int] = {}
        parts = []
        for batch in sample.batches:
            own, levels = levels_of(batch, feature)
            parts.append(np.array([*(places.setdefault(level, len(places)) for level in levels), -1], np.int64)[own])
        least = 2 if feature.role == "flag" else 0
        return cls(np.concatenate(parts), tuple(places), sample.classes, sample.labels, least)

    def take(self, rows: NDArray[np.int64]) -> LevelRows:
        return LevelRows(self.numbers[rows], self.levels, self.classes[rows], self.labels, self.least, self.lasting)

    @property
    def terms(self) -> Strings:
        """The levels that a row has."""
        seen = np.unique(self.numbers[self.numbers >= 0])
        return Strings.of([self.levels[number] for number in seen])

    @property
    def term_documents(self) -> NDArray[np.int64]:
        """How many rows have each of these levels."""
        found = np.bincount(self.numbers[self.numbers >= 0])
        return found[found > 0]

    def sums(self) -> Counts:
        """Return the counts of the rows."""
        return Counts.of_levels(self.numbers, self.levels, self.classes, self.labels)

    def sizes(self, presence: bool) -> NDArray[np.int64]:
        return (self.numbers >= 0).astype(np.int64)

    def scores(
        self, settings: NaiveBayesSettings, folds: Folds, min_df: int, threads: int
    ) -> tuple[Array, NDArray[Any]]:
        alpha, total = level_alpha(settings), self.counts
        if folds.are_single:
            return self._one_by_one(total, alpha, folds.order)
        parts = []
        for fold in folds:
            left = total.copy()
            mine = fold[self.numbers[fold] >= 0]
            np.subtract.at(left, (self.numbers[mine], self.classes[mine]), 1.0)
            seen = left.sum(axis=1) > 0
            weights = log_level(left, left.sum(axis=0), max(int(seen.sum()), self.least), alpha)
            known = self._known(self.numbers[fold], seen[self.numbers[fold]])
            parts.append((np.where(known[:, None], weights[self.numbers[fold]], 0.0), known))
        scores, knowns = zip(*parts, strict=True)
        return np.concatenate(scores), np.concatenate(knowns)

    @cached_property
    def counts(self) -> Array:
        """The number of rows by level and class; the last level, which none has, is the place of what is missing."""
        shape, present = (len(self.levels) + 1, len(self.labels)), self.numbers >= 0
        cells = self.numbers[present] * len(self.labels) + self.classes[present]
        return np.bincount(cells, minlength=shape[0] * shape[1]).astype(np.float64).reshape(shape)

    def _known(self, numbers: NDArray[np.int64], seen: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return (numbers >= 0) & (seen | self.lasting)

    def _one_by_one(self, total: Array, alpha: float, rows: NDArray[np.int64]) -> tuple[Array, NDArray[np.bool_]]:
        numbers, classes = self.numbers[rows], self.classes[rows]
        own = np.zeros((len(rows), total.shape[1]))
        own[np.arange(len(rows)), classes] = numbers >= 0
        of_level = total.sum(axis=1)
        gone = of_level[numbers] == 1
        size = np.maximum((of_level > 0).sum() - gone, self.least)
        scores = log_level(total[numbers] - own, total.sum(axis=0) - own, size[:, None], alpha)
        known = self._known(numbers, ~gone)
        return np.where(known[:, None], scores, 0.0), known


class Levels:
    """Levels that values are looked up among."""

    feature: Feature
    levels: tuple[str, ...]

    def choices(self) -> dict[str, Any]:
        """Return the levels; of a number in bins the range."""
        if self.feature.is_binned:
            usual = self.feature.usual_range()
            return {} if usual is None else {"range": usual}
        return {"levels": sorted(self.levels)}

    @cached_property
    def _index(self) -> dict[str, int]:
        return {level: place for place, level in enumerate(self.levels)}

    def places(self, numbers: NDArray[Any], levels: Sequence[str]) -> NDArray[np.int64]:
        """Return the places of ``levels[numbers]``, −1 where one is missing (a number of −1) or unknown."""
        return np.asarray(np.array([*(self._index.get(level, -1) for level in levels), -1], np.int64)[numbers])


@dataclass(frozen=True, eq=False)
class LevelColumn(Levels, Column):
    """Levels with log P(level|class); a missing or unknown level scores zero."""

    levels: tuple[str, ...]
    weights: Array

    @classmethod
    def solve(cls, feature: Feature, statistic: Counts, labels: tuple[str, ...], settings: ColumnSettings) -> Self:
        counts = statistic.with_labels(labels)
        names = feature.bins() if feature.is_binned else counts.terms.to_list()
        place = {name: number for number, name in enumerate(names)}
        table = np.zeros((len(names), len(labels)))
        rows = np.array([place[name] for name in counts.terms.to_list()], np.int64)
        table[rows[counts.entry_terms], counts.entry_classes] = counts.documents
        size = max(len(names), 2) if feature.role == "flag" else len(names)
        return cls(
            feature, labels, tuple(names), log_level(table, table.sum(axis=0), size, level_alpha(settings.learner))
        )

    def ready(self) -> None:
        _ = self._index

    def levels_of(self, batch: Batch) -> tuple[NDArray[np.int64], list[str]]:
        """Return the level of each row as a number, −1 where it is missing, and the levels."""
        return levels_of(batch, self.feature)

    def of_batch(self, batch: Batch, threads: int) -> Scores:
        numbers, levels = self.levels_of(batch)
        scores, known = self._of_levels(numbers, levels)
        return Scores(scores, known.astype(np.int64), ((numbers >= 0) & ~known).astype(np.int64))

    def of_rows(self, rows: LevelRows) -> tuple[Array, NDArray[Any]]:
        return self._of_levels(rows.numbers, rows.levels)

    def _of_levels(self, numbers: NDArray[Any], levels: Sequence[str]) -> tuple[Array, NDArray[np.bool_]]:
        places = self.places(numbers, levels)
        table = np.vstack([self.weights, np.zeros((1, len(self.labels)))])  # the last row is for place −1
        return table[places], places >= 0

    def numbers(self) -> NativeNumbers | None:
        if self.feature.edges is None:
            return None
        names = self.feature.bins()
        weights, known = self._of_levels(np.arange(len(names)), names)
        return list(self.feature.edges[1:-1]), weights, known.tolist()

    def value(self, batch: Batch) -> str:
        numbers, levels = self.levels_of(batch)
        return levels[int(numbers[0])]

    def weights_of(self, place: int) -> tuple[Array, Array]:
        return self.weights[:, place], self.weights.sum(axis=1)

    def documents(self, statistic: Counts) -> Any:
        counts = statistic.with_labels(self.labels)
        places = self.places(np.arange(len(counts.terms)), counts.terms.to_list())
        table = np.zeros((len(self.levels), len(self.labels)), np.int64)
        table[places[counts.entry_terms], counts.entry_classes] = counts.documents
        rows, labels = np.nonzero(table)
        ends = np.searchsorted(rows, np.arange(len(self.levels) + 1))
        return sparse((table[rows, labels], labels, ends), table.shape)

    def names(self, terms: NDArray[Any]) -> list[str]:
        return [f"{self.feature.name}={self.levels[int(term)]}" for term in terms]

    @property
    def parameters(self) -> int:
        return len(self.levels)

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {**strings_to_arrays("levels", Strings.of(self.levels)), "weights": self.weights}

    @classmethod
    def from_arrays(cls, feature: Feature, labels: tuple[str, ...], arrays: Arrays, settings: ColumnSettings) -> Self:
        levels = tuple(strings_from_arrays("levels", arrays, is_sorted=False).to_list())
        weights = float_array(arrays["weights"])
        if weights.shape != (len(levels), len(labels)) or len(set(levels)) < len(levels):
            raise ValueError("the weights do not match the levels and labels")
        return cls(feature, labels, levels, weights)


def level_alpha(settings: NaiveBayesSettings) -> float:
    """Return the α for levels: that of the words if they have one, else 1."""
    if settings.level_smoothing is not None:
        return settings.level_smoothing
    return float(settings.smoothing.alpha) if isinstance(settings.smoothing, Laplace) else 1.0


def log_level(count: Any, in_class: Any, size: Any, alpha: float) -> Array:
    """Return log P(l|k) = log (count + α) − log (N_k + αL); without any level there is nothing to divide among."""
    return np.asarray(np.log(count + alpha) - np.log(in_class + alpha * np.maximum(size, 1)))


MANY, RARE = 30, 3
"""A category with more than MANY levels has one axis for all levels of fewer than RARE rows each."""


@dataclass(frozen=True)
class LevelAxes(Levels, Axes):
    """An axis for each level: one for the row's level, zero for the others.

    Of many levels, rare ones share an axis, and a level that no row had is then taken for a rare one.
    """

    levels: tuple[str, ...]
    has_rare: bool = False
    is_joined = True

    @classmethod
    def of(
        cls, feature: Feature, column: Counts | LevelRows, mask: Mask, text: TextSettings | None, layout: Layout
    ) -> Self:
        """Lay out an axis for each level that a row has, sorted; bins in their order.

        Where the space lasts, as many rows must have a level as a term, so that no level of a single row stays.
        """
        if feature.is_binned and layout.is_lasting:
            return cls(feature, tuple(feature.bins()))
        levels, rows = column.terms.to_list(), column.term_documents
        if feature.is_binned:
            return cls(feature, tuple(name for name in feature.bins() if name in levels))
        least = layout.min_df if layout.is_lasting and (rows >= layout.min_df).any() else 1
        if feature.role == "category" and len(levels) > MANY and (rows < RARE).sum() > 1 and (rows >= RARE).any():
            often = [level for level, held in zip(levels, rows, strict=True) if held >= RARE]
            return cls(feature, tuple(sorted(often)), has_rare=True)
        return cls(feature, tuple(sorted(level for level, held in zip(levels, rows, strict=True) if held >= least)))

    def __len__(self) -> int:
        return len(self.levels) + self.has_rare

    def of_rows(self, rows: LevelRows, mask: Mask) -> Any:
        return self._of_levels(rows.numbers, rows.levels)

    def of_batch(self, batch: Batch, threads: int) -> tuple[Any, NDArray[np.int64], NDArray[np.int64]]:
        numbers, levels = levels_of(batch, self.feature)
        matrix = self._of_levels(numbers, levels)
        known = np.diff(matrix.indptr)
        return matrix, known, (numbers >= 0) - known

    def _of_levels(self, numbers: NDArray[np.int64], levels: Sequence[str]) -> Any:
        places = self.places(numbers, levels)
        if self.has_rare:
            places = np.where((numbers >= 0) & (places < 0), len(self.levels), places)
        known = places >= 0
        ends = np.concatenate([[0], np.cumsum(known)])
        return sparse((np.ones(int(known.sum())), places[known], ends), (len(places), len(self)))

    def name(self, place: int) -> str:
        return f"{self.feature.name}={self.levels[place] if place < len(self.levels) else '(rare)'}"

    def value(self, place: int, batch: Batch) -> str:
        if place < len(self.levels):
            return self.levels[place]
        numbers, levels = levels_of(batch, self.feature)
        return f"{levels[int(numbers[0])]} (rare)"

    def arrays(self) -> dict[str, NDArray[Any]]:
        rare = {"rare": np.ones(1, np.int64)} if self.has_rare else {}
        return {**strings_to_arrays("levels", Strings.of(self.levels)), **rare}

    @classmethod
    def from_arrays(cls, feature: Feature, arrays: Arrays, text: TextSettings | None, layout: Layout) -> Self:
        levels = tuple(strings_from_arrays("levels", arrays, is_sorted=False).to_list())
        if len(set(levels)) < len(levels):
            raise ValueError("a level is there twice")
        return cls(feature, levels, "rare" in arrays)


KIND = Kind(LevelSum, LevelRows, LevelColumn, LevelAxes)
