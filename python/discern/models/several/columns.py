"""Columns as naive Bayes sees them where a row may have several labels: the log odds of each label against the rest.

A label has the rows of all sets that it is in, and the rest is the total without them. For each label it is the model
of two classes, the label and the rest: texts are solved for all labels at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.data.label_sets.sets import Membership
from discern.learners.against_rest import solve_against_rest
from discern.models.columns import kind_of
from discern.models.columns.arrays import sparse
from discern.models.columns.kind import Column, ColumnSettings, Scores
from discern.models.columns.level import LevelColumn
from discern.models.columns.number import NumberColumn
from discern.models.columns.text import TextColumn, selected
from discern.models.columns.vector import VectorColumn
from discern.statistics.counts import Counts
from discern.statistics.exact import ExactMoments
from discern.statistics.statistic import arrays_of

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    from discern.data.batch import Batch
    from discern.data.roles import Feature
    from discern.statistics.products import Products

    Array = NDArray[np.float64]

REST_AND_LABEL = ("0", "1")
"""The two classes of the model of a label: the rows without it, and those that have it."""


def solve_column(
    feature: Feature, statistic: Any, sets: tuple[str, ...], members: Membership, settings: ColumnSettings
) -> Column:
    """Derive the log odds of each label from the statistic of a column by sets of labels."""
    kind = kind_of(feature).column
    if issubclass(kind, TextColumn):
        return _solve_text(feature, statistic.with_labels(sets), members, settings)
    if issubclass(kind, LevelColumn):
        return _solve_levels(kind, feature, statistic.with_labels(sets), members, settings)
    if issubclass(kind, NumberColumn):
        return NumbersAgainstRest.solve(feature, _moments_by_label(statistic, members), members.labels, settings)
    return VectorsAgainstRest.solve(feature, _products_by_label(statistic, members), members.labels, settings)


def column_class(feature: Feature) -> type[Column]:
    """Return the class of what :func:`solve_column` derives."""
    kind = kind_of(feature).column
    pairs: dict[type[Column], type[Column]] = {NumberColumn: NumbersAgainstRest, VectorColumn: VectorsAgainstRest}
    return pairs.get(kind, kind)


# ------------------------------------------------------------------------------------------------ texts and levels


def by_label(counts: Counts, members: Membership, presence: bool | None = None) -> Counts:
    """Return the counts of labels, which may share rows, from those of sets.

    If all that is needed are documents (``presence``) or occurrences (without), the others are left equal to these.

    Examples
    --------
    >>> counts = Counts.of(["win win", "win"], ["a", "a\\x1fb"])
    >>> found = by_label(counts, Membership.of(counts.labels))
    >>> found.labels, found.occurrences.tolist(), found.class_documents.tolist()
    (('a', 'b'), [3, 1], [2, 1])
    """
    ends = np.searchsorted(counts.entry_terms, np.arange(len(counts.terms) + 1))
    shape = (len(counts.terms), len(counts.labels))
    parts = [
        (sparse((values, counts.entry_classes, ends), shape) @ members.matrix).tocsr()
        for name, values in ((False, counts.occurrences), (True, counts.documents))
        if presence in (None, name)
    ]
    for part in parts:
        part.sort_indices()
    occurrences, documents = parts[0], parts[-1]
    terms = np.repeat(np.arange(len(counts.terms)), np.diff(occurrences.indptr))
    return Counts(
        members.labels,
        members.sums(counts.class_documents).astype(np.int64),
        counts.terms,
        terms.astype(np.int64),
        occurrences.indices.astype(np.int64),
        occurrences.data.astype(np.int64),
        documents.data.astype(np.int64),
    )


def _solve_text(feature: Feature, statistic: Counts, members: Membership, settings: ColumnSettings) -> TextColumn:
    counts = selected(statistic.with_min_documents(settings.min_df), settings.learner)
    scores = solve_against_rest(by_label(counts, members, settings.learner.presence), counts, settings.learner)
    return TextColumn(feature, members.labels, counts.terms, scores, settings.text)


def _solve_levels(
    kind: type[LevelColumn], feature: Feature, counts: Counts, members: Membership, settings: ColumnSettings
) -> LevelColumn:
    own, levels = by_label(counts, members, presence=True), counts.terms.to_list()
    table = np.zeros((len(levels), len(members.labels)), np.int64)
    table[own.entry_terms, own.entry_classes] = own.documents
    every = counts.term_documents
    whole = kind.solve(feature, Counts.of_table(every[:, None], levels, ["0"]), ("0",), settings)
    weights = np.zeros((len(whole.levels), len(members.labels)))
    has_both = (own.class_documents > 0) & (own.class_documents < counts.rows)
    for place in np.flatnonzero(has_both).tolist():
        pair = Counts.of_table(np.stack([every - table[:, place], table[:, place]], axis=1), levels, REST_AND_LABEL)
        solved = kind.solve(feature, pair, REST_AND_LABEL, settings)
        weights[:, place] = solved.weights[:, 1] - solved.weights[:, 0]
    return replace(whole, labels=members.labels, weights=weights)


# --------------------------------------------------------------------------------------------- numbers and vectors


def _moments_by_label(moments: ExactMoments, members: Membership) -> list[ExactMoments | None]:
    """Return, for each label, the sums of the rest and of the label; None where one of them has no rows."""
    numbers, ends = members.grouped()
    every, found = moments.pooled(), []
    for start, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        own = moments.of_classes(numbers[start:end]).pooled()
        rest = every - own
        found.append(_both(rest, own))
    return found


def _both(rest: ExactMoments, own: ExactMoments) -> ExactMoments | None:
    if not rest.counts.sum() or not own.counts.sum():
        return None
    return rest.with_classes(np.array([0]), 2) + own.with_classes(np.array([1]), 2)


def _products_by_label(products: Products, members: Membership) -> list[Products | None]:
    numbers, ends = members.grouped()
    place = np.zeros(len(products.counts), np.int64)
    found: list[Products | None] = []
    for start, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        place[:] = 0
        place[numbers[start:end]] = 1
        pair = products.grouped(place, 2)
        found.append(pair if pair.counts.all() else None)
    return found


@dataclass(frozen=True, eq=False)
class NumbersAgainstRest(Column):
    """Numbers with two normal densities for each label: of its rows, and of the rest."""

    own: NumberColumn
    rest: NumberColumn

    @classmethod
    def solve(
        cls,
        feature: Feature,
        statistic: Sequence[ExactMoments | None],
        labels: tuple[str, ...],
        settings: ColumnSettings,
    ) -> Self:
        means, deviations = np.zeros((2, len(labels))), np.ones((2, len(labels)))
        for place, pair in enumerate(statistic):
            if pair is not None:  # else both densities are alike
                solved = NumberColumn.solve(feature, pair, REST_AND_LABEL, settings)
                means[:, place], deviations[:, place] = solved.means, solved.deviations
        rest, own = (NumberColumn(feature, labels, *part) for part in zip(means, deviations, strict=True))
        return cls(feature, labels, own, rest)

    def of_batch(self, batch: Batch, threads: int) -> Scores:
        mine, theirs = (column.of_batch(self._named(batch), threads) for column in (self.own, self.rest))
        return Scores(mine.scores - theirs.scores, mine.known, mine.unknown)

    def _named(self, batch: Batch) -> Batch:
        """Return the batch with the column as the two densities know it, which keep their name."""
        if self.own.feature.name == self.feature.name:
            return batch
        return replace(batch, columns={self.own.feature.name: batch.column(self.feature.name)})

    def of_rows(self, rows: Any) -> tuple[Array, NDArray[Any]]:
        (mine, known), (theirs, _) = self.own.of_rows(rows), self.rest.of_rows(rows)
        return mine - theirs, known

    def value(self, batch: Batch) -> str:
        return self.own.value(self._named(batch))

    def choices(self) -> dict[str, Any]:
        return self.own.choices() if self.labels else {}

    @property
    def parameters(self) -> int:
        return 4

    def arrays(self) -> dict[str, NDArray[Any]]:
        sides = {"own": self.own.arrays(), "rest": self.rest.arrays()}
        return {f"{side}.{name}": array for side, arrays in sides.items() for name, array in arrays.items()}

    @classmethod
    def from_arrays(
        cls, feature: Feature, labels: tuple[str, ...], arrays: Mapping[str, NDArray[Any]], settings: ColumnSettings
    ) -> Self:
        own, rest = (
            NumberColumn.from_arrays(feature, labels, arrays_of(arrays, side), settings) for side in ("own", "rest")
        )
        return cls(feature, labels, own, rest)


@dataclass(frozen=True, eq=False)
class VectorsAgainstRest(Column):
    """Vectors with two normal densities of one covariance for each label; None where a label has all rows or none."""

    parts: tuple[VectorColumn | None, ...]

    @classmethod
    def solve(
        cls, feature: Feature, statistic: Sequence[Products | None], labels: tuple[str, ...], settings: ColumnSettings
    ) -> Self:
        parts = (
            None if pair is None else VectorColumn.solve(feature, pair, REST_AND_LABEL, settings) for pair in statistic
        )
        return cls(feature, labels, tuple(parts))

    def of_batch(self, batch: Batch, threads: int) -> Scores:
        first = next((part for part in self.parts if part is not None), None)
        known = np.zeros(batch.rows, np.int64)
        if first is not None:
            named = replace(batch, columns={first.feature.name: batch.column(self.feature.name)})
            known = first.of_batch(named, threads).known
            batch = named
        scores = self._scored(batch.rows, lambda part: part.of_batch(batch, threads).scores)
        return Scores(scores, known, np.zeros(batch.rows, np.int64))

    def of_rows(self, rows: Any) -> tuple[Array, NDArray[Any]]:
        return self._scored(len(rows.present), lambda part: part.of_rows(rows)[0]), rows.present

    def _scored(self, rows: int, score: Callable[[VectorColumn], Array]) -> Array:
        found = np.zeros((rows, len(self.labels)))
        for place, part in enumerate(self.parts):
            if part is not None:
                both = score(part)
                found[:, place] = both[:, 1] - both[:, 0]
        return found

    def value(self, batch: Batch) -> str:
        return self.feature.view or "vector"

    @property
    def parameters(self) -> int:
        return 2 * next((part.parameters for part in self.parts if part is not None), 0)

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {
            f"{place}.{name}": array
            for place, part in enumerate(self.parts)
            if part is not None
            for name, array in part.arrays().items()
        }

    @classmethod
    def from_arrays(
        cls, feature: Feature, labels: tuple[str, ...], arrays: Mapping[str, NDArray[Any]], settings: ColumnSettings
    ) -> Self:
        own = (arrays_of(arrays, place) for place in range(len(labels)))
        parts = (VectorColumn.from_arrays(feature, REST_AND_LABEL, part, settings) if part else None for part in own)
        return cls(feature, labels, tuple(parts))
