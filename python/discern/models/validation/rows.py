"""Rows kept in memory for validation: which, in what order, and the folds that are held out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.data.batch import Batch, Column, row_sizes
from discern.data.hashes import MISSING_HASH, value_hashes
from discern.data.roles import LENGTH, Feature, numbers_of
from discern.data.strings import Strings
from discern.data.text import TextSettings
from discern.models.columns import kind_of
from discern.models.columns.kind import ColumnRows
from discern.models.columns.text import TextRows
from discern.statistics.counts import Seen
from discern.statistics.sums import Sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discern.statistics.statistic import Statistic

    Array = NDArray[np.float64]

MOST_KEPT = 1 << 26
"""Bytes of rows kept to validate by; of more, a random part."""
MOST_SPOOLED = 1 << 27
"""Bytes of a table that is kept whole while rows are chosen to validate by: more is read twice."""
LEAST_VALIDATED, MOST_VALIDATED = 100, 4000
"""With fewer rows nothing is chosen and nothing calibrated: the choice would be chance. At most this many are left out
one by one."""
MOST_CELLS, MOST_COMPARED_CELLS = 1 << 20, 1 << 19
"""Scores of held-out rows × labels at most; the second where dozens of settings are compared by them."""


@dataclass(frozen=True)
class Folds:
    """Which rows are held out together: the rows in ``order``, cut at ``ends``."""

    order: NDArray[np.int64]
    ends: NDArray[np.int64]

    @classmethod
    def one_by_one(cls, rows: NDArray[np.int64]) -> Folds:
        """Leave out each of some rows alone."""
        return cls(rows, np.arange(1, len(rows) + 1))

    @classmethod
    def of(cls, numbers: NDArray[Any]) -> Folds:
        """Leave out together the rows with the same number, from 0."""
        order = np.argsort(numbers, kind="stable").astype(np.int64)
        return cls(order, np.cumsum(np.bincount(numbers)).astype(np.int64))

    def holding(self, rows: int) -> Folds:
        """Return the first folds, as many as hold the given number of rows; all if there are fewer.

        Examples
        --------
        >>> Folds.of(np.array([0, 1, 2, 0, 1, 2])).holding(3).ends.tolist()
        [2, 4]
        """
        ends = self.ends[: int(np.searchsorted(self.ends, rows)) + 1]
        return Folds(self.order[: ends[-1]], ends)

    @property
    def are_single(self) -> bool:
        """Whether each row is a fold of its own."""
        return len(self.ends) == len(self.order)

    def __iter__(self) -> Iterator[NDArray[np.int64]]:
        return iter(np.split(self.order, self.ends[:-1]))

    @cached_property
    def numbers(self) -> NDArray[np.int64]:
        """The number of the fold of each row in ``order``."""
        return np.repeat(np.arange(len(self.ends)), np.diff(self.ends, prepend=0))


def stratified(classes: NDArray[Any], keys: NDArray[np.uint64], folds: int) -> Folds:
    """Deal the rows of each class into folds in turn; rows with the same key stay together.

    The keys decide the order, so that the folds do not depend on the order of the rows.
    """
    if not 2 <= folds <= len(classes):
        raise ValueError(f"there must be from 2 to {len(classes)} folds, as many as rows, not {folds}")
    order = np.argsort(keys, kind="stable")
    order = order[_places(classes[order])]
    sorted_keys, sorted_classes = keys[order], classes[order]
    new = (sorted_keys[1:] != sorted_keys[:-1]) | (sorted_classes[1:] != sorted_classes[:-1])
    numbers = np.concatenate([[0], np.cumsum(new)]) % folds
    ends = np.cumsum(np.bincount(numbers)).astype(np.int64)
    return Folds(order[_places(numbers)].astype(np.int64), ends)


def _places(numbers: NDArray[Any]) -> NDArray[np.int64]:
    """Return the places of numbers from 0 in their order, equal ones as they stand; narrow ones sorted by digits."""
    narrow = numbers.astype(np.uint16) if numbers.max(initial=0) < 1 << 16 else numbers
    return np.argsort(narrow, kind="stable")


# ------------------------------------------------------------------------------------------------- a sample


@dataclass
class Sample:
    """Rows kept to validate by, with their classes; in the order of their keys, so that no other order matters."""

    batches: list[Batch]
    label: str
    keys: NDArray[np.uint64]
    classes: NDArray[np.int32]
    labels: tuple[str, ...]
    threads: int | None = None
    _texts: dict[tuple[str, TextSettings], TextRows] = field(default_factory=dict)
    _numbers: dict[str, Array] = field(default_factory=dict)
    _left_out: dict[int, Folds] = field(default_factory=dict)
    _columns: dict[tuple[str, str, TextSettings | None], tuple[Feature, ColumnRows]] = field(default_factory=dict)

    @classmethod
    def of(cls, batches: list[Batch], label: str, names: Sequence[str], threads: int | None) -> Sample:
        """Take batches whose columns ``names`` tell rows apart."""
        keys, numbers, places = [], [], dict[str, int]()
        for batch in batches:
            own, labels = batch.labels(label)
            mapping = np.array([places.setdefault(name, len(places)) for name in labels], np.int32)
            numbers.append(mapping[own] if len(mapping) else own)
            keys.append(row_keys(batch, [label, *names]))
        order = sorted(places)
        rank = np.empty(len(order), np.int32)
        rank[[places[name] for name in order]] = np.arange(len(order), dtype=np.int32)
        classes = rank[np.concatenate(numbers)] if numbers else np.zeros(0, np.int32)
        return cls(batches, label, np.concatenate(keys), np.ascontiguousarray(classes), tuple(order), threads)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.classes)

    def part(self, rows: int) -> Sample:
        """Return a random sample of rows: those with the smallest keys."""
        if rows >= self.rows:
            return self
        keep = np.zeros(self.rows, bool)
        keep[np.argsort(self.keys, kind="stable")[:rows]] = True
        return self._taken(keep)

    def _taken(self, keep: NDArray[np.bool_]) -> Sample:
        starts = np.cumsum([0, *(batch.rows for batch in self.batches)])
        taken = [
            batch.take(keep[start : start + batch.rows])
            for batch, start in zip(self.batches, starts[:-1].tolist(), strict=True)
        ]
        present, classes = np.unique(self.classes[keep], return_inverse=True)
        labels = tuple(self.labels[place] for place in present)
        return Sample(taken, self.label, self.keys[keep], classes.astype(np.int32), labels, self.threads)

    def with_labels(self, most: int) -> Sample:
        """Return the rows of a limited number of labels, evenly spread over all of them."""
        if len(self.labels) <= most:
            return self
        chosen = np.zeros(len(self.labels), bool)
        chosen[np.linspace(0, len(self.labels) - 1, most).astype(np.int64)] = True
        return self._taken(chosen[self.classes])

    def left_out(self, most: int = MOST_VALIDATED, cells: int = MOST_CELLS) -> Folds:
        """Return rows for leave-one-out: all, or a random part of them, in the order of their keys."""
        rows = self._scored(most, cells)
        if rows not in self._left_out:  # the same folds are known again by what is scored with them
            self._left_out[rows] = Folds.one_by_one(np.argsort(self.keys, kind="stable")[:rows].astype(np.int64))
        return self._left_out[rows]

    def folds(self, folds: int, most: int, cells: int = MOST_CELLS) -> Folds:
        """Deal the rows into folds, and return as many folds as hold ``most`` rows; the more labels, the fewer rows."""
        most = self._scored(most, cells)
        return stratified(self.classes, self.keys, min(max(folds, -(-self.rows // most)), self.rows)).holding(most)

    def _scored(self, most: int, cells: int) -> int:
        """Return how many rows may be scored: each has a score for every label."""
        return min(most, max(cells // max(len(self.labels), 1), 2))

    def text(self, name: str, settings: TextSettings) -> TextRows:
        """Return a text column with the terms of its rows counted, once for each of the settings."""
        key = (name, settings)
        if key not in self._texts:
            longer = (name, replace(settings, ngrams=(1, 2)))
            if settings.ngrams == (1, 1) and longer in self._texts and settings.analyzer == "word":
                self._texts[key] = self._texts[longer].single_words()
            else:
                parts = [(batch.texts(name), batch.rows) for batch in self.batches]
                self._texts[key] = TextRows.counted(parts, settings, self.classes, self.labels)
        return self._texts[key]

    def keep_only(self, settings: Sequence[TextSettings]) -> None:
        """Let go of the rows counted with other settings."""
        self._texts = {key: kept for key, kept in self._texts.items() if key[1] in settings}

    def numbers(self, name: str) -> Array:
        """Return a column of numbers, which are read once."""
        if name not in self._numbers:
            self._numbers[name] = np.concatenate([numbers_of(batch, name) for batch in self.batches])
        return self._numbers[name]

    def column(self, feature: Feature, text: TextSettings) -> ColumnRows:
        """Return a column as its kind keeps it. It is kept, if not as text, until it is asked for in other bins."""
        if feature.role == "text":
            return kind_of(feature).rows.of(self, feature, text.view(feature.view))
        key = (feature.name, feature.role, text.words if feature.role == LENGTH else None)
        known = self._columns.get(key)
        if known is None or known[0] != feature:
            self._columns.pop(key, None)  # first, for the memory
            known = self._columns[key] = (feature, kind_of(feature).rows.of(self, feature, text))
        return known[1]

    def sums(self, features: Sequence[Feature], text: TextSettings) -> Sums:
        """Return the sums of all rows."""
        class_rows = np.bincount(self.classes, minlength=len(self.labels)).astype(np.int64)
        return Sums(self.labels, class_rows, tuple(self._summed(feature, text) for feature in features))

    def _summed(self, feature: Feature, text: TextSettings) -> Statistic:
        """Return the sums of a column: of texts as they were counted, or counted now without keeping their rows."""
        if feature.role != "text" or (feature.name, text.view(feature.view)) in self._texts:
            return self.column(feature, text).sums()
        seen, place = Seen(), 0
        summed = kind_of(feature).sum(feature, text.view(feature.view), self.threads, seen)
        for batch in self.batches:
            classes = np.ascontiguousarray(self.classes[place : place + batch.rows])
            summed.add(batch, seen.add(classes, self.labels), list(seen.labels))
            place += batch.rows
        return summed.statistic(seen.sorted()[1])


def row_keys(batch: Batch, names: Sequence[str]) -> NDArray[np.uint64]:
    """Return a number for each row by which rows that differ are told apart, the same wherever the row stands.

    It is also the same in every container: a column that is not there counts as one without values.
    """
    keys = np.zeros(batch.rows, np.uint64)
    for name in names:
        hashes = value_hashes(batch, name) if name in batch.columns else MISSING_HASH
        keys = keys * np.uint64(0x9E3779B97F4A7C15) + hashes
    return keys


def keep(stream: Iterator[Batch], *, thin: bool) -> tuple[list[Batch], bool]:
    """Keep batches up to a number of bytes, and say whether that is all.

    If there is more, either the rest is left in the stream, or, with ``thin``, it is read too and of all rows those
    are kept whose keys are small: a random part that does not depend on the order of the rows.
    """
    kept: list[Batch] = []
    size, share = 0, 0
    for batch in stream:
        if share:
            batch = batch.take(_in_share(row_keys(batch, list(batch.columns)), share))
        kept.append(batch)
        size += batch.size
        if size > MOST_KEPT and not thin:
            return kept, False
        if size > MOST_KEPT:
            kept, size, share = _thinned(kept, share)
    return [batch for batch in kept if batch.rows], not share


def _in_share(keys: NDArray[np.uint64], share: int) -> NDArray[np.bool_]:
    """Return which keys begin with a number of zeros."""
    return np.asarray(keys >> np.uint64(64 - share) == 0)


def _thinned(kept: list[Batch], share: int) -> tuple[list[Batch], int, int]:
    """Halve batches until they are small enough, copying once; return them, their size and the zeros of keys."""
    keys = [row_keys(batch, list(batch.columns)) for batch in kept]
    sizes = [row_sizes(batch) for batch in kept]
    size = MOST_KEPT + 1
    while size > MOST_KEPT:
        share += 1
        size = sum(int(own[_in_share(key, share)].sum()) for key, own in zip(keys, sizes, strict=True))
    return [batch.take(_in_share(key, share)) for batch, key in zip(kept, keys, strict=True)], size, share


class Spool:
    """The rows of a table, kept in memory so that they need not be read twice; nothing if they are too many."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._batches: list[Batch] = []
        self._size = 0

    def passed(self, stream: Iterator[Batch]) -> Iterator[Batch]:
        """Yield batches and keep them."""
        for batch in stream:
            if self._size <= MOST_SPOOLED:
                self._add(batch)
            yield batch

    def _add(self, batch: Batch) -> None:
        # A batch that lacks a column is read again, for its message.
        columns = [batch.columns.get(name) for name in self._names]
        packed = [column.packed() if isinstance(column, Strings) else column for column in columns]
        self._size += sum(_bytes(column) for column in packed)
        if self._size <= MOST_SPOOLED:
            self._batches.append(replace(batch, columns=dict(zip(self._names, packed, strict=True))))
        else:
            self._batches.clear()

    def batches(self) -> list[Batch] | None:
        """Return all batches; None if they were too many."""
        return self._batches if self._size <= MOST_SPOOLED else None


def _bytes(column: Column) -> int:
    if isinstance(column, Strings):
        return int(column.offsets.nbytes + column.data.nbytes)
    return int(getattr(column, "nbytes", MOST_SPOOLED + 1))
