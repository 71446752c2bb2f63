"""Rows kept in memory to validate by: which, in what order, their columns as counts, levels and numbers by row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

import discern._native as _native
from discern.data.batch import Batch
from discern.data.bins import assign
from discern.data.hashes import MISSING_HASH, value_hashes
from discern.data.roles import Feature, levels_of, numbers_of
from discern.data.strings import Strings
from discern.data.text import TextSettings, every_stop_word, language_of
from discern.data.threads import default_threads
from discern.learners.bayes import Margins, NaiveBayesSettings, multinomial_weight
from discern.learners.smoothing import Smoothing, smoothing_to_json
from discern.models.naive_bayes import log_level, log_normal, normal_parameters
from discern.statistics.counts import Counts, contained
from discern.statistics.moments import Moments
from discern.statistics.sums import Sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Rows = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]

MOST_KEPT = 1 << 26
"""Bytes of rows kept to validate by; of more, a random part."""
LEAST_VALIDATED, MOST_VALIDATED = 100, 4000
"""With fewer rows nothing is chosen and nothing calibrated: the choice would be chance. At most so many are left out
one by one."""


@dataclass(frozen=True)
class Folds:
    """Which rows are left out together: the rows in ``order``, cut at ``ends``."""

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
        """Return the first folds, as many as hold so many rows; all if there are fewer.

        Examples
        --------
        >>> Folds.of(np.array([0, 1, 2, 0, 1, 2])).holding(3).ends.tolist()
        [2, 4]
        """
        ends = self.ends[: int(np.searchsorted(self.ends, rows)) + 1]
        return Folds(self.order[: ends[-1]], ends)

    @property
    def are_single(self) -> bool:
        """Whether each row is left out alone."""
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


# ------------------------------------------------------------------------------------------ columns kept by row


@dataclass(frozen=True)
class TextRows:
    """A text column, its rows kept as counts of terms."""

    terms: Strings
    held_out: _native.HeldOut
    """The rows and their sums as the native code leaves them out."""
    classes: NDArray[np.int32]
    labels: tuple[str, ...]

    @classmethod
    def of(
        cls, texts: Sequence[Any], text: TextSettings, classes: NDArray[np.int32], labels: tuple[str, ...]
    ) -> TextRows:
        """Count the terms of each row of several batches."""
        counter, place = _native.Counter(text.native, keep_rows=True), 0
        for part, rows in texts:
            own = np.ascontiguousarray(classes[place : place + rows])
            counter.add(part, own, max(len(labels), 1), default_threads())
            place += rows
        offsets, data, held_out = counter.held_out(classes, max(len(labels), 1))
        return cls(Strings(offsets, data), held_out, classes, labels)

    @classmethod
    def of_rows(cls, terms: Strings, rows: Rows, classes: NDArray[np.int32], labels: tuple[str, ...]) -> TextRows:
        """Take rows that were counted."""
        return cls(terms, _native.HeldOut(*rows, len(terms), classes, max(len(labels), 1)), classes, labels)

    @cached_property
    def rows(self) -> Rows:
        """The counts of the rows as the three arrays of a compressed sparse matrix."""
        return self.held_out.rows()

    def matrix(self, rows: NDArray[np.int64], terms: Strings) -> Any:
        """Return some rows as a SciPy sparse matrix with a column for each of ``terms``, which are among its own."""
        return self._matrix[rows][:, contained(self.terms, terms)]

    @property
    def _matrix(self) -> Any:
        import scipy.sparse

        return scipy.sparse.csr_matrix((self.rows[2], self.rows[1], self.rows[0]), (len(self.classes), len(self.terms)))

    def single_words(self) -> TextRows:
        """Return the rows without n-grams of several words."""
        spaces = np.concatenate([[0], np.cumsum(self.terms.data == ord(" "))])
        keep = spaces[self.terms.offsets[1:]] == spaces[self.terms.offsets[:-1]]
        starts, terms, counts = self.rows
        kept = keep[terms]
        ends = np.concatenate([[0], np.cumsum(kept)])
        number = (np.cumsum(keep) - 1).astype(np.int32)
        rows = (ends[starts], number[terms[kept]], counts[kept])
        return TextRows.of_rows(self.terms.take(keep), rows, self.classes, self.labels)

    def language(self) -> str | None:
        """Return the language that the words seem to be of, if there is a stemmer for it."""
        _, terms, counts = self.rows
        said = np.bincount(terms, counts, len(self.terms))
        known = contained(self.terms, Strings.of(every_stop_word()))
        words = zip(self.terms.take(known).to_list(), said[known].tolist(), strict=True)
        return language_of(dict(words), int(said.sum()))

    def sums(self) -> Counts:
        """Return the counts of all rows."""
        terms, classes, occurrences, documents = self.held_out.entries()
        class_documents = np.bincount(self.classes, minlength=len(self.labels)).astype(np.int64)
        used = np.zeros(len(self.terms), bool)
        used[terms] = True
        counts = Counts(self.labels, class_documents, self.terms, terms, classes, occurrences, documents)
        return counts if used.all() else counts.with_terms(used)

    def scores(self, settings: NaiveBayesSettings, folds: Folds, min_df: int, threads: int) -> tuple[Array, Array]:
        """Return the log likelihood of each row without its fold, and its length."""
        described = smoothing_to_json(settings.smoothing)
        kind, (value,) = described.pop("kind"), described.values()
        return self.held_out.scores(kind, value, settings.presence, max(min_df, 1), folds.order, folds.ends, threads)

    def contrasts(
        self, smoothings: Sequence[Smoothing], presence: bool, folds: Folds, min_df: int
    ) -> tuple[list[tuple[Array, Array]], NDArray[np.int64]]:
        """Return log P(row|k) and −log P(row|not k) of each row without its fold, by each smoothing; and its length.

        Terms that only rows of the fold hold are unknown to its model, and of the others those of the fold suffice:
        few, even of pairs of words. A class that only rows of the fold have gets no score: −∞.
        """
        every = _Table.of(self._matrix, self.classes, len(self.labels), presence)
        parts = [every.without(fold, max(min_df, 1)).contrasts(smoothings) for fold in folds]
        found = [[part[0][place] for part in parts] for place in range(len(smoothings))]
        said = [tuple(np.concatenate(sides) for sides in zip(*one, strict=True)) for one in found]
        return said, np.concatenate([part[1] for part in parts]).astype(np.int64)  # type: ignore[return-value]


@dataclass(frozen=True)
class _Table:
    """The counts of rows × terms, and those of all rows as terms × classes; ``present`` are the documents of terms."""

    rows: Any
    classes: NDArray[np.int32]
    counts: Any
    present: NDArray[np.int64]

    @classmethod
    def of(cls, rows: Any, classes: NDArray[np.int32], width: int, presence: bool) -> _Table:
        if presence:
            rows.data = np.ones_like(rows.data)
        present = np.bincount(rows.indices, minlength=rows.shape[1])
        return cls(rows, classes, _by_class(rows, classes, width), present)

    def without(self, fold: NDArray[np.int64], min_df: int) -> _Left:
        """Return what is left of the counts without a fold, of the terms that rows of the fold hold."""
        rows, classes = self.rows[fold], self.classes[fold]
        gone = _by_class(rows, classes, self.counts.shape[1])
        kept = self.present - np.bincount(rows.indices, minlength=rows.shape[1]) >= min_df
        used = np.zeros_like(kept)
        used[rows.indices] = True
        terms = np.flatnonzero(used & kept)
        in_class = kept @ self.counts - kept @ gone
        table = (self.counts[terms] - gone[terms]).toarray().astype(np.float64)
        left = np.bincount(self.classes, minlength=len(in_class)) - np.bincount(classes, minlength=len(in_class))
        return _Left(rows[:, terms].astype(np.float64), table, in_class.astype(np.float64), int(kept.sum()), left)


@dataclass(frozen=True)
class _Left:
    """Rows of a fold, and the counts of their terms × classes in the rows outside it."""

    rows: Any
    table: Array
    in_class: Array
    size: int
    class_rows: NDArray[np.int64]

    def contrasts(self, smoothings: Sequence[Smoothing]) -> tuple[list[tuple[Array, Array]], Array]:
        """Score the rows as :meth:`TextRows.contrasts` has it."""
        of_term, total = self.table.sum(axis=1, keepdims=True), self.in_class.sum()
        margins, found = Margins(of_term, self.in_class, self.class_rows, max(self.size, 1)), []
        for smoothing in smoothings:
            weight = multinomial_weight(smoothing, margins)
            own = self.rows @ weight(self.table, of_term, self.in_class, 0)
            rest = -(self.rows @ weight(of_term - self.table, of_term, total - self.in_class, 0))
            own[:, self.class_rows == 0] = rest[:, self.class_rows == 0] = -np.inf
            found.append((own, rest))
        return found, np.asarray(self.rows.sum(axis=1)).ravel()


def _by_class(rows: Any, classes: NDArray[np.int32], width: int) -> Any:
    """Add up the rows of each class: terms × classes."""
    import scipy.sparse

    ones = np.ones(len(classes), np.int64)
    return (rows.T @ scipy.sparse.csr_matrix((ones, (np.arange(len(classes)), classes)), (len(classes), width))).tocsr()


@dataclass(frozen=True)
class LevelRows:
    """A column of levels, the level of each row kept as a number, −1 where it is missing."""

    numbers: NDArray[np.int64]
    levels: tuple[str, ...]
    classes: NDArray[np.int32]
    labels: tuple[str, ...]
    least: int = 0
    """So many levels there are at least, whether seen or not."""
    lasting: bool = False
    """Whether a level that no row has left is still a level, as a bin is."""

    def sums(self) -> Counts:
        """Return the counts of all rows."""
        return Counts.of_levels(self.numbers, self.levels, self.classes, self.labels)

    def scores(self, alpha: float, folds: Folds) -> tuple[Array, NDArray[np.bool_]]:
        """Return the log likelihood of each row without its fold, and whether its level is neither missing nor new."""
        width = len(self.labels)
        total = np.zeros((len(self.levels) + 1, width))  # the last is the place of what is missing
        present = self.numbers >= 0
        np.add.at(total, (self.numbers[present], self.classes[present]), 1.0)
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

    def _known(self, numbers: NDArray[np.int64], seen: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return (numbers >= 0) & (seen | self.lasting)

    def _one_by_one(self, total: Array, alpha: float, rows: NDArray[np.int64]) -> tuple[Array, NDArray[np.bool_]]:
        numbers, classes = self.numbers[rows], self.classes[rows]
        own = np.zeros((len(rows), total.shape[1]))
        own[np.arange(len(rows)), classes] = numbers >= 0
        of_level = total.sum(axis=1)
        gone = of_level[numbers] == 1
        size = np.maximum((of_level > 0).sum() - gone, self.least)
        said = log_level(total[numbers] - own, total.sum(axis=0) - own, size[:, None], alpha)
        known = self._known(numbers, ~gone)
        return np.where(known[:, None], said, 0.0), known


@dataclass(frozen=True)
class NumberRows:
    """A column of numbers with normal densities, NaN where one is missing."""

    values: Array
    classes: NDArray[np.int32]
    width: int

    def sums(self) -> Moments:
        """Return the moments of all rows."""
        return Moments.of(self.values[:, None], self.classes, self.width, None, 1)

    def scores(self, folds: Folds) -> tuple[Array, NDArray[np.bool_]]:
        """Return the log density of each row without its fold, and whether its number is there."""
        means, variances = normal_parameters(self.without(folds))
        values = self.values[folds.order][:, None]
        known = np.isfinite(values)
        said = log_normal(np.where(known, values, 0.0), means[:, folds.numbers].T, variances[:, folds.numbers].T)
        return np.where(known, said, 0.0), known.ravel()

    def without(self, folds: Folds) -> Moments:
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
            within = np.zeros((self.width, len(folds.ends)))
            np.add.at(within, (self.classes[order], numbers), values[order])
            others = np.bincount(self.classes[rest], values[rest], self.width)[:, None]
            before, behind = np.zeros_like(within), np.zeros_like(within)
            np.cumsum(within[:, :-1], axis=1, out=before[:, 1:])
            np.cumsum(within[:, :0:-1], axis=1, out=behind[:, -2::-1])
            sums.append(others + before + behind)
        return Moments(np.repeat(pivot, len(folds.ends)), *sums)


Kept = TextRows | LevelRows | NumberRows


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
        """Return a random part of so many rows: those with the smallest keys."""
        if rows >= self.rows:
            return self
        keep = np.zeros(self.rows, bool)
        keep[np.argsort(self.keys, kind="stable")[:rows]] = True
        starts = np.cumsum([0, *(batch.rows for batch in self.batches)])
        taken = [
            batch.take(keep[start : start + batch.rows])
            for batch, start in zip(self.batches, starts[:-1].tolist(), strict=True)
        ]
        present, classes = np.unique(self.classes[keep], return_inverse=True)
        labels = tuple(self.labels[place] for place in present)
        return Sample(taken, self.label, self.keys[keep], classes.astype(np.int32), labels, self.threads)

    def left_out(self, most: int = MOST_VALIDATED) -> Folds:
        """Return rows to be left out one by one: all, or a random part of them, in the order of their keys."""
        return Folds.one_by_one(np.argsort(self.keys, kind="stable")[:most].astype(np.int64))

    def text(self, name: str, settings: TextSettings) -> TextRows:
        """Return a text column with the terms of its rows counted, once for each of the settings."""
        key = (name, settings)
        if key not in self._texts:
            longer = (name, replace(settings, ngrams=(1, 2)))
            if settings.ngrams == (1, 1) and longer in self._texts and settings.analyzer == "word":
                self._texts[key] = self._texts[longer].single_words()
            else:
                parts = [(batch.texts(name), batch.rows) for batch in self.batches]
                self._texts[key] = TextRows.of(parts, settings, self.classes, self.labels)
        return self._texts[key]

    def keep_only(self, settings: Sequence[TextSettings]) -> None:
        """Let go of the rows counted with other settings."""
        self._texts = {key: kept for key, kept in self._texts.items() if key[1] in settings}

    def levels(self, feature: Feature) -> LevelRows:
        """Return a column of levels."""
        places: dict[str, int] = {}
        parts = []
        for batch in self.batches:
            numbers, levels = levels_of(batch, feature)
            mapping = np.array([*(places.setdefault(level, len(places)) for level in levels), -1], np.int64)
            parts.append(mapping[numbers])
        least = len(feature.bins()) if feature.is_binned else 2 if feature.role == "flag" else 0
        if feature.is_binned:
            places = {name: place for place, name in enumerate(feature.bins())}
            parts = [assign(self.numbers(feature.name), np.asarray(feature.edges))]
        return LevelRows(np.concatenate(parts), tuple(places), self.classes, self.labels, least, feature.is_binned)

    def numbers(self, name: str) -> Array:
        """Return a column of numbers."""
        return np.concatenate([numbers_of(batch, name) for batch in self.batches])

    def kept(self, feature: Feature, text: TextSettings) -> Kept:
        """Return a column as its role wants it."""
        if feature.role == "text":
            return self.text(feature.name, text)
        if feature.is_normal:
            return NumberRows(self.numbers(feature.name), self.classes, len(self.labels))
        return self.levels(feature)

    def sums(self, features: Sequence[Feature], text: TextSettings) -> Sums:
        """Return the sums of all rows."""
        class_rows = np.bincount(self.classes, minlength=len(self.labels)).astype(np.int64)
        return Sums(self.labels, class_rows, tuple(self.kept(feature, text).sums() for feature in features))


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
            batch = batch.take(row_keys(batch, list(batch.columns)) >> np.uint64(64 - share) == 0)
        kept.append(batch)
        size += batch.size
        while size > MOST_KEPT and thin:
            share += 1
            kept = [one.take(row_keys(one, list(one.columns)) >> np.uint64(64 - share) == 0) for one in kept]
            size = sum(one.size for one in kept)
        if size > MOST_KEPT:
            return kept, False
    return [batch for batch in kept if batch.rows], not share
