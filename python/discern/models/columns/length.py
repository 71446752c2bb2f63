"""The length of a text as a column of its own: bins of its number of words, counted like levels.

The likelihood of a whole document has the probability of its length as a factor. A text without words has no length, as
if it were missing: nothing is known of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.data.text import TextSettings
from discern.data.threads import default_threads
from discern.models.columns.kind import ColumnSettings, ColumnSum, Kind
from discern.models.columns.level import LevelAxes, LevelColumn, LevelRows
from discern.statistics.counts import Counts

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    from discern.data.batch import Batch
    from discern.data.roles import Feature
    from discern.learners.bayes import NaiveBayesSettings
    from discern.models.columns.kind import Array, Arrays
    from discern.models.validation.rows import Folds, Sample

BOUNDS = (1, 2, 3, *(step for power in range(2, 31) for step in (1 << power, 3 << (power - 1))))
"""The shortest length of each bin: every length up to 3, then two bins for each doubling."""
PLAIN = TextSettings()
ADDED = 1.0
"""The number of rows added to the counts of a length in a class."""


@cache
def bin_names() -> tuple[str, ...]:
    """Return the names of the bins in order.

    Examples
    --------
    >>> bin_names()[:5]
    ('1 word', '2 words', '3 words', '4 to 5 words', '6 to 7 words')
    """
    spans = [(low, high - 1) for low, high in pairwise(BOUNDS)]
    names = [f"{low} word{'s' * (low > 1)}" if low == high else f"{low} to {high} words" for low, high in spans]
    return (*names, f"{BOUNDS[-1]} words or more")


def bins_of(batch: Batch, name: str, text: TextSettings, threads: int | None = None) -> NDArray[np.int64]:
    """Return the bin of each text, −1 where there is no word."""
    lengths = text.words.native.lengths(batch.texts(name), threads or default_threads())
    return np.asarray(np.searchsorted(BOUNDS, lengths, side="right") - 1, np.int64)


class LengthSum(ColumnSum):
    """Adds up the counts of lengths."""

    summed = Counts

    def __init__(self, feature: Feature, text: TextSettings, threads: int | None, seen: Any) -> None:
        super().__init__(feature, text, threads, seen)
        self._text, self._threads = text, threads

    def of_batch(self, batch: Batch, classes: NDArray[np.int32], labels: list[str]) -> Counts:
        numbers = bins_of(batch, self.feature.name, self._text, self._threads)
        return Counts.of_levels(numbers, bin_names(), classes, labels)


@dataclass(frozen=True)
class LengthRows(LevelRows):
    """Kept lengths: the bin of each row."""

    @classmethod
    def of(cls, sample: Sample, feature: Feature, text: TextSettings) -> LengthRows:
        parts = [bins_of(batch, feature.name, text, sample.threads) for batch in sample.batches]
        return cls(np.concatenate(parts), bin_names(), sample.classes, sample.labels)

    def take(self, rows: NDArray[np.int64]) -> LengthRows:
        return LengthRows(self.numbers[rows], self.levels, self.classes[rows], self.labels)

    def scores(
        self, settings: NaiveBayesSettings, folds: Folds, min_df: int, threads: int
    ) -> tuple[Array, NDArray[Any]]:
        total = self.counts
        numbers, classes = self.numbers[folds.order], self.classes[folds.order]
        if folds.are_single:
            own = np.zeros((len(numbers), len(self.labels)))
            own[np.arange(len(numbers)), classes] = numbers >= 0
            in_bin, in_class = total[numbers] - own, total.sum(axis=0) - own
            scores = log_share(in_bin, in_class, in_bin.sum(axis=1, keepdims=True))
            known = (numbers >= 0) & (in_bin.sum(axis=1) > 0)
            return np.where(known[:, None], scores, 0.0), known
        parts = []
        for fold in folds:
            left, mine = total.copy(), fold[self.numbers[fold] >= 0]
            np.subtract.at(left, (self.numbers[mine], self.classes[mine]), 1.0)
            parts.append(_looked_up(left, self.numbers[fold]))
        scored, knowns = zip(*parts, strict=True)
        return np.concatenate(scored), np.concatenate(knowns)


def _looked_up(table: Array, numbers: NDArray[np.int64]) -> tuple[Array, NDArray[np.bool_]]:
    seen = table.sum(axis=1) > 0
    known = (numbers >= 0) & seen[numbers]
    weights = log_share(table, table.sum(axis=0), table.sum(axis=1, keepdims=True))
    return np.where(known[:, None], weights[numbers], 0.0), known


def log_share(in_bin: Any, in_class: Any, of_bin: Any) -> Array:
    """Return the logarithm of how much more often rows of a class have a length than if all classes had the same.

    One row is added to both counts, so that lengths of few rows say little.

    Examples
    --------
    >>> log_share(np.array([[30.0, 10.0]]), np.array([40.0, 40.0]), np.array([[40.0]])).round(2).tolist()
    [[0.39, -0.65]]
    """
    expected = of_bin * in_class / np.maximum(np.sum(in_class, axis=-1, keepdims=True), 1.0)
    return np.asarray(np.log((in_bin + ADDED) / (expected + ADDED)))


@dataclass(frozen=True, eq=False)
class LengthColumn(LevelColumn):
    """Lengths, each with how much more often a class has it than the others.

    A text without words, or of a length never seen, scores zero.
    """

    text: TextSettings = PLAIN

    @classmethod
    def solve(cls, feature: Feature, statistic: Counts, labels: tuple[str, ...], settings: ColumnSettings) -> Self:
        counts = statistic.with_labels(labels)
        names = counts.terms.to_list()
        table = np.zeros((len(names), len(labels)))
        table[counts.entry_terms, counts.entry_classes] = counts.documents
        weights = log_share(table, table.sum(axis=0), table.sum(axis=1, keepdims=True))
        return cls(feature, labels, tuple(names), weights, settings.text)

    def levels_of(self, batch: Batch) -> tuple[NDArray[np.int64], list[str]]:
        return bins_of(batch, self.feature.name, self.text), list(bin_names())

    def native(self) -> tuple[Any, list[int], list[float], list[bool]]:
        """Return how lengths are counted, their bins, the weights of each bin, and which bins are known."""
        table, known = np.zeros((len(BOUNDS), len(self.labels))), np.zeros(len(BOUNDS), bool)
        places = [bin_names().index(name) for name in self.levels]
        table[places], known[places] = self.weights, True
        return self.text.words.native, list(BOUNDS), table.ravel().tolist(), known.tolist()

    def value(self, batch: Batch) -> str:
        return f"length: {super().value(batch)}"

    def names(self, terms: NDArray[Any]) -> list[str]:
        return [f"length: {self.levels[int(term)]}" for term in terms]

    @classmethod
    def from_arrays(cls, feature: Feature, labels: tuple[str, ...], arrays: Arrays, settings: ColumnSettings) -> Self:
        found = LevelColumn.from_arrays(feature, labels, arrays, settings)
        return cls(feature, labels, found.levels, found.weights, settings.text)


KIND = Kind(LengthSum, LengthRows, LengthColumn, LevelAxes)
