"""Columns of text: counts of terms, a weight for each term and class, and tf–idf axes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

import discern._native as _native
from discern.data.roles import Feature
from discern.data.strings import Strings
from discern.data.text import TextSettings, every_stop_word, language_of
from discern.data.threads import default_threads
from discern.learners.bayes import LinearScores, NaiveBayesSettings, log_multinomial_coefficient, solve
from discern.learners.smoothing import Smoothing, smoothing_to_json
from discern.models.columns.arrays import (
    float_array,
    sparse,
    strings_from_arrays,
    strings_to_arrays,
    weights_from_arrays,
    weights_to_arrays,
)
from discern.models.columns.contrast import Table
from discern.models.columns.kind import (
    Axes,
    Column,
    ColumnRows,
    ColumnSettings,
    ColumnSum,
    Contribution,
    Kind,
    Scores,
    difference,
)
from discern.statistics.counts import Counter, Counts, Seen, contained
from discern.statistics.weighting import Weighting

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    from discern.data.batch import Batch
    from discern.models.columns.kind import Array, Arrays, Mask
    from discern.models.validation.rows import Folds, Sample
    from discern.models.vector_space.axes import Layout


FEW = 8
"""The most rows that are scored without building a table for the whole vocabulary."""
TF_IDF = Weighting(sublinear_tf=True)
COARSE_IDF = 64.0
"""Where a space lasts, the weights of terms are multiples of one by this number."""


class TextSum(ColumnSum):
    """Counts the terms of texts, which needs no statistics of batches."""

    summed = Counts

    def __init__(self, feature: Feature, text: TextSettings, threads: int | None, seen: Seen) -> None:
        super().__init__(feature, text, threads, seen)
        self._counter = Counter(text, threads, seen)

    def add(self, batch: Batch, classes: NDArray[np.int32], labels: list[str]) -> None:
        batch.read_texts(self.feature.name, lambda texts, strict: self._counter.add_numbered(texts, classes, strict))

    def statistic(self, order: NDArray[np.int64]) -> Counts:
        return self._counter.counts()


# ------------------------------------------------------------------------------------------------------ rows


class TextRows(ColumnRows):
    """Kept texts as counts of terms: a SciPy sparse matrix, or rows that the native code leaves out."""

    def __init__(
        self,
        terms: Strings,
        classes: NDArray[np.int32],
        labels: tuple[str, ...],
        matrix: Any = None,
        held_out: _native.HeldOut | None = None,
    ) -> None:
        self.terms, self.classes, self.labels = terms, classes, labels
        self._matrix, self._held_out = matrix, held_out

    @classmethod
    def of(cls, sample: Sample, feature: Feature, text: TextSettings) -> TextRows:
        """Take a column of a sample, which remembers it."""
        return sample.text(feature.name, text)

    @classmethod
    def counted(
        cls, texts: Sequence[Any], text: TextSettings, classes: NDArray[np.int32], labels: tuple[str, ...]
    ) -> TextRows:
        """Count the terms of each row of several batches."""
        counter, place = _native.Counter(text.native, keep_rows=True), 0
        for part, rows in texts:
            own = np.ascontiguousarray(classes[place : place + rows])
            counter.add(part, own, max(len(labels), 1), default_threads())
            place += rows
        offsets, data, held_out = counter.held_out(classes, max(len(labels), 1))
        return cls(Strings(offsets, data), classes, labels, held_out=held_out)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.classes)

    @property
    def matrix(self) -> Any:
        """How often each term occurs in each row."""
        if self._matrix is None:
            starts, terms, counts = self.held_out.rows()
            self._matrix = sparse((counts, terms, starts), (self.rows, len(self.terms)))
        return self._matrix

    @property
    def held_out(self) -> _native.HeldOut:
        """The rows and their sums as the native code leaves them out."""
        if self._held_out is None:
            starts, terms = self._matrix.indptr.astype(np.int64), self._matrix.indices.astype(np.int32, copy=False)
            n_classes = max(len(self.labels), 1)
            self._held_out = _native.HeldOut(starts, terms, self._matrix.data, len(self.terms), self.classes, n_classes)
        return self._held_out

    def take(self, rows: NDArray[np.int64]) -> TextRows:
        return TextRows(self.terms, np.ascontiguousarray(self.classes[rows]), self.labels, self.matrix[rows])

    def with_terms(self, keep: NDArray[np.bool_]) -> TextRows:
        """Return the rows with the terms where ``keep`` is true."""
        return TextRows(self.terms.take(keep), self.classes, self.labels, with_columns(self.matrix, keep))

    def single_words(self) -> TextRows:
        """Return the rows without n-grams of several words."""
        spaces = np.concatenate([[0], np.cumsum(self.terms.data == ord(" "))])
        return self.with_terms(spaces[self.terms.offsets[1:]] == spaces[self.terms.offsets[:-1]])

    def language(self) -> str | None:
        """Return the language that the words seem to be of, if there is a stemmer for it."""
        counts = np.bincount(self.matrix.indices, self.matrix.data, len(self.terms))
        known = contained(self.terms, Strings.of(every_stop_word()))
        words = zip(self.terms.take(known).to_list(), counts[known].tolist(), strict=True)
        return language_of(dict(words), int(counts.sum()))

    @cached_property
    def term_documents(self) -> NDArray[np.int64]:
        """The number of rows that hold each term; less work than the sums by class."""
        return TF_IDF.documents(self.matrix.indices, len(self.terms))

    def sums(self) -> Counts:
        """Return the counts of the rows; labels without rows stay."""
        terms, classes, occurrences, documents = self.held_out.entries()
        class_documents = np.bincount(self.classes, minlength=len(self.labels)).astype(np.int64)
        used = np.zeros(len(self.terms), bool)
        used[terms] = True
        counts = Counts(self.labels, class_documents, self.terms, terms, classes, occurrences, documents)
        return counts if used.all() else counts.with_terms(used)

    def sizes(self, presence: bool) -> NDArray[np.int64]:
        if presence:
            return np.asarray(np.diff(self.matrix.indptr), np.int64)
        return np.asarray(self.matrix.sum(axis=1), np.int64).ravel()

    def scores(
        self, settings: NaiveBayesSettings, folds: Folds, min_df: int, threads: int
    ) -> tuple[Array, NDArray[Any]]:
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
        every = Table.of(self.matrix, self.classes, len(self.labels), presence)
        parts = [every.without(fold, max(min_df, 1)).contrasts(smoothings) for fold in folds]
        found = [[part[0][place] for part in parts] for place in range(len(smoothings))]
        scores = [tuple(np.concatenate(sides) for sides in zip(*one, strict=True)) for one in found]
        return scores, np.concatenate([part[1] for part in parts]).astype(np.int64)  # type: ignore[return-value]


def with_columns(counts: Any, mask: NDArray[np.bool_]) -> Any:
    """Return the columns of sparse rows where ``mask`` is true.

    Examples
    --------
    >>> with_columns(sparse(([2, 3], [0, 2], [0, 2]), (1, 3)), np.array([False, True, True])).toarray().tolist()
    [[0, 3]]
    """
    kept = mask[counts.indices]
    ends = np.concatenate([[0], np.cumsum(kept)])
    number = (np.cumsum(mask) - 1).astype(np.int32)
    parts = (counts.data[kept], number[counts.indices[kept]], ends[counts.indptr])
    return sparse(parts, (counts.shape[0], int(mask.sum())))


# ----------------------------------------------------------------------------------------------------- models


class _Terms:
    """Terms that texts are looked up among."""

    terms: Strings
    text: TextSettings

    @cached_property
    def vocabulary(self) -> _native.Vocabulary:
        """The terms as the native code looks them up."""
        return _native.Vocabulary(self.text.native, self.terms.offsets, self.terms.data)

    @property
    def text_settings(self) -> TextSettings | None:
        return self.text

    def ready(self) -> None:
        _ = self.vocabulary


class FirstUses:
    """The first uses of what is slow to build and fast from then on, such as a table for the whole vocabulary.

    Examples
    --------
    >>> uses = FirstUses()
    >>> [uses.count() for _ in range(FEW + 2)].index(True) == FEW
    True
    """

    def __init__(self) -> None:
        self._numbers = itertools.count(1)  # its next number is taken in one step, also among threads
        self.are_over = False

    def count(self) -> bool:
        """Count a use; return whether there were more than a few."""
        self.are_over = self.are_over or next(self._numbers) > FEW
        return self.are_over


@dataclass(frozen=True, eq=False)
class TextColumn(_Terms, Column):
    """Texts with a weight for each term and class."""

    terms: Strings
    scores: LinearScores
    text: TextSettings

    @classmethod
    def solve(cls, feature: Feature, statistic: Counts, labels: tuple[str, ...], settings: ColumnSettings) -> Self:
        counts = selected(statistic.with_labels(labels).with_min_documents(settings.min_df), settings.learner)
        start = np.zeros(len(labels)) if settings.start is None else settings.start
        return cls(feature, labels, counts.terms, solve(counts, settings.learner, start), settings.text)

    @cached_property
    def single_texts(self) -> FirstUses:
        """The single texts that have come."""
        return FirstUses()

    @cached_property
    def scorer(self) -> _native.Scorer:
        """The fast way from texts to scores."""
        weights = np.ascontiguousarray(self.scores.weights)
        return _native.Scorer(self.vocabulary, weights, self.scores.bias.tolist(), self.scores.presence)

    def of_batch(self, batch: Batch, threads: int) -> Scores:
        name, rows = self.feature.name, batch.rows
        if rows > FEW and self.scores.weights is not None and self.labels:
            return batch.read_texts(name, lambda texts, strict: Scores(*self.scorer.score(texts, threads, strict)))
        found, unknown = self.vocabulary.rows(batch.texts(name), 1 if rows <= FEW else threads)
        scores = self._score_few(found, rows) if rows <= FEW else self.scores.of_rows(self.matrix(found, rows))
        return Scores(scores, self._lengths(found), unknown)

    def _score_few(self, found: _native.Rows, rows: int) -> Array:
        weights = self.scores.at(found.terms)
        counts = np.ones_like(found.counts) if self.scores.presence else found.counts
        # Not a matrix product: its last bit depends on where the numbers lie in memory. One after the other, always.
        if rows == 1 and len(counts):
            return np.asarray(np.add.accumulate(counts[:, None] * weights)[-1:] + self.scores.bias)
        sums = np.zeros((rows, len(self.labels)))
        np.add.at(sums, np.repeat(np.arange(rows), np.diff(found.starts)), counts[:, None] * weights)
        return sums + self.scores.bias

    def _lengths(self, found: _native.Rows) -> NDArray[np.int64]:
        if self.scores.presence:
            return np.diff(found.starts)
        ends = np.concatenate([[0], np.cumsum(found.counts)])
        return np.asarray(np.diff(ends[found.starts]))

    def matrix(self, found: _native.Rows, rows: int) -> Any:
        """Return rows as a SciPy sparse matrix."""
        import scipy.sparse

        return scipy.sparse.csr_matrix((found.counts, found.terms, found.starts), shape=(rows, len(self.terms)))

    def of_rows(self, rows: TextRows) -> tuple[Array, NDArray[Any]]:
        matrix = rows.matrix[:, contained(rows.terms, self.terms)]
        lengths = np.diff(matrix.indptr) if self.scores.presence else np.asarray(matrix.sum(axis=1)).ravel()
        return self.scores.of_rows(matrix), lengths

    def evidence(self, batch: Batch, label: int, against: int | None) -> tuple[list[Contribution], int]:
        found, unknown = self.vocabulary.rows(batch.texts(self.feature.name), 1)
        weights = self.scores.at(found.terms)
        counts = np.ones_like(found.counts) if self.scores.presence else found.counts
        contributed = counts * difference(weights, label, against)
        terms = [
            (self.terms[int(term)], int(count), float(weight))
            for term, count, weight in zip(found.terms, found.counts, contributed, strict=True)
        ]
        return terms, int(unknown[0])

    def log_coefficients(self, batch: Batch) -> Array:
        """Return the logarithm of the multinomial coefficient of each text."""
        found, _ = self.vocabulary.rows(batch.texts(self.feature.name), 1)
        return log_multinomial_coefficient(self.matrix(found, batch.rows))

    def weights_of(self, place: int) -> tuple[Array, Array]:
        return self.scores.of_class(place), self.scores.sums()

    def documents(self, statistic: Counts) -> Any:
        counts = statistic.with_labels(self.labels)
        if len(counts.terms) > len(self.terms):
            counts = counts.with_terms(contained(counts.terms, self.terms))
        ends = np.searchsorted(counts.entry_terms, np.arange(len(counts.terms) + 1))
        return sparse((counts.documents, counts.entry_classes, ends), (len(counts.terms), len(self.labels)))

    def names(self, terms: NDArray[Any]) -> list[str]:
        return [self.terms[int(term)] for term in terms]

    @property
    def bias(self) -> Array:
        return self.scores.bias

    @property
    def parameters(self) -> int:
        return len(self.terms)

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {**strings_to_arrays("terms", self.terms), "bias": self.scores.bias, **weights_to_arrays(self.scores)}

    @classmethod
    def from_arrays(cls, feature: Feature, labels: tuple[str, ...], arrays: Arrays, settings: ColumnSettings) -> Self:
        terms = strings_from_arrays("terms", arrays, is_sorted=True)
        whole = ("terms.offsets", "terms.bytes", "excess.indices", "excess.indptr")
        numbers = {name: float_array(array) for name, array in arrays.items() if name not in whole}
        scores = weights_from_arrays({**arrays, **numbers}, settings.learner.presence, len(terms), len(labels))
        return cls(feature, labels, terms, scores, settings.text)


def selected(counts: Counts, settings: NaiveBayesSettings) -> Counts:
    """Keep the best terms only, if their number is limited."""
    if settings.most_terms is None or len(counts.terms) <= settings.most_terms:
        return counts
    from discern.statistics.selection import best_terms

    return counts.with_terms(best_terms(counts, settings.most_terms, settings.select))


# ------------------------------------------------------------------------------------------------------- axes


@dataclass(frozen=True)
class TextAxes(_Terms, Axes):
    """An axis for each term: sublinear tf–idf of unit length, or with ``presence`` one for each term there.

    With ``unit`` these ones are divided by the square root of their number, so that they too have unit length.
    """

    text: TextSettings
    terms: Strings
    idf: Array | None
    presence: bool
    unit: bool = False
    fine_bits = 12
    shrinkage = 100.0  # few rows have a term; chosen on training rows, beside vectors and alone

    @classmethod
    def candidates(cls, column: Counts | TextRows, min_df: int) -> NDArray[np.bool_]:
        """Return which terms at least ``min_df`` rows hold; if none is so frequent, all that a row holds.

        Examples
        --------
        >>> counts = Counts.of(["win win", "win lunch"], ["spam", "ham"])
        >>> TextAxes.candidates(counts, 2).tolist(), TextAxes.candidates(counts, 3).tolist()
        ([False, True], [True, True])
        """
        found = column.term_documents >= min_df
        return np.asarray(found if found.any() else column.term_documents > 0)

    @classmethod
    def of(
        cls, feature: Feature, column: Counts | TextRows, mask: Mask, text: TextSettings | None, layout: Layout
    ) -> Self:
        """Lay out an axis for each of the terms in ``mask``."""
        assert text is not None
        assert mask is not None
        idf = None if layout.presence else TF_IDF.idf(column.term_documents[mask], column.rows)
        if idf is not None and layout.is_lasting:
            idf = np.rint(idf * COARSE_IDF) / COARSE_IDF
        return cls(feature, text, column.terms.take(mask), idf, layout.presence, layout.unit)

    def __len__(self) -> int:
        return len(self.terms)

    def of_rows(self, rows: TextRows, mask: Mask) -> Any:
        assert mask is not None
        return self._weighed(with_columns(rows.matrix, mask))

    def of_batch(self, batch: Batch, threads: int) -> tuple[Any, NDArray[np.int64], NDArray[np.int64]]:
        counts, unknown = self._counted(batch, threads)
        ends = np.concatenate([[0], np.cumsum(counts.data)])
        return self._weighed(counts), np.diff(ends[counts.indptr]), unknown

    def _counted(self, batch: Batch, threads: int) -> tuple[Any, NDArray[np.int64]]:
        found, unknown = self.vocabulary.rows(batch.texts(self.feature.name), threads)
        return sparse((found.counts, found.terms, found.starts), (batch.rows, len(self))), unknown

    def _weighed(self, counts: Any) -> Any:
        if self.presence:
            there = np.diff(counts.indptr)
            values = np.repeat(1.0 / np.sqrt(np.maximum(there, 1)), there) if self.unit else np.ones(counts.nnz)
        else:
            values = TF_IDF.weigh(counts.indptr, counts.indices, counts.data, self.idf)
        return sparse((values, counts.indices, counts.indptr), counts.shape)

    def counts(self, batch: Batch) -> dict[int, int]:
        found, _ = self._counted(batch, 1)
        return dict(zip(found.indices.tolist(), found.data.tolist(), strict=True))

    def name(self, place: int) -> str:
        return self.terms[place]

    def value(self, place: int, batch: Batch) -> str:
        return self.terms[place]

    def arrays(self) -> dict[str, NDArray[Any]]:
        return strings_to_arrays("terms", self.terms) | ({} if self.idf is None else {"idf": self.idf})

    @classmethod
    def from_arrays(cls, feature: Feature, arrays: Arrays, text: TextSettings | None, layout: Layout) -> Self:
        assert text is not None
        terms = strings_from_arrays("terms", arrays, is_sorted=True)
        idf = None if layout.presence else float_array(arrays["idf"])
        if idf is not None and idf.shape != (len(terms),):
            raise ValueError("the weights do not match the terms")
        return cls(feature, text, terms, idf, layout.presence, layout.unit)


KIND = Kind(TextSum, TextRows, TextColumn, TextAxes)
