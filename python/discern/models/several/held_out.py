"""Held-out rows with several labels each, under the model that never saw them: the sums of all rows minus the fold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from discern.data.label_sets.sets import Membership
from discern.data.text import TextSettings
from discern.evaluation.scaling import EvidenceScaling
from discern.learners.against_rest import against_rest_weight
from discern.learners.bayes import Margins, NaiveBayesSettings, multinomial_weight
from discern.models.columns.arrays import sparse
from discern.models.columns.kind import ColumnSettings
from discern.models.naive_bayes import groups_of
from discern.models.several.columns import solve_column
from discern.models.several.naive_bayes import log_odds_of
from discern.statistics.by_class import scores_of_rows
from discern.statistics.sums import Sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discern.data.roles import Feature
    from discern.learners.smoothing import Smoothing
    from discern.models.columns.text import TextRows
    from discern.models.validation.rows import Folds, Sample

    Array = NDArray[np.float64]

MOST_LIKELY = 16
"""A calibration is fitted to the labels of each row, and to this many of the likeliest others."""
MOST_DENSE = 1 << 24
"""Weights of terms × labels of a fold are dense up to this many."""


@dataclass(frozen=True, eq=False)
class HeldOutLabels:
    """Held-out rows: which labels they have, and without their fold the prior log odds and those of each column."""

    features: tuple[Feature, ...]
    truth: NDArray[np.bool_]
    prior: Array
    columns: tuple[tuple[Array, NDArray[np.int64]], ...]
    """The log odds of each column, and how many of its terms are known in each row."""
    has_prior: bool = True

    @cached_property
    def _grouped(self) -> tuple[list[Array], list[NDArray[np.int64]]]:
        groups = groups_of(self.features)
        evidence = [np.sum([self.columns[place][0] for place in places], axis=0) for places in groups]
        return evidence, [np.sum([self.columns[place][1] for place in places], axis=0) for places in groups]

    @property
    def scores(self) -> Array:
        """The log odds without calibration."""
        return np.asarray(sum((own for own, _ in self.columns), start=self.prior * self.has_prior))

    def calibration(self) -> EvidenceScaling:
        """Fit a calibration of all labels: to those of each row, and to the likeliest of the others."""
        rows, labels = np.nonzero(self._compared())
        evidence, lengths = self._grouped
        pairs = [np.stack([np.zeros(len(rows)), part[rows, labels]], axis=1) for part in (self.prior, *evidence)]
        of_pairs = [known[rows] for known in lengths]
        return EvidenceScaling.fit(pairs[0], pairs[1:], of_pairs, self.truth[rows, labels].astype(np.int64))

    def _compared(self) -> NDArray[np.bool_]:
        """Return which labels of each row the calibration is fitted to."""
        n_labels = self.truth.shape[1]
        if n_labels <= MOST_LIKELY:
            return np.ones_like(self.truth)
        places = np.argpartition(-self.scores, MOST_LIKELY - 1, axis=1)[:, :MOST_LIKELY]
        chosen = self.truth.copy()
        np.put_along_axis(chosen, places, True, axis=1)
        return chosen

    def calibrated(self, calibration: EvidenceScaling | None) -> Array:
        """Return the calibrated log odds."""
        return self.scores if calibration is None else calibration(self.prior, *self._grouped)

    def loss(self) -> float:
        """Return the log loss after calibration: the mean over rows and labels."""
        return log_loss(self.calibrated(self.calibration()), self.truth)


def log_loss(log_odds: Array, truth: NDArray[np.bool_]) -> float:
    """Return the mean log loss of rows × labels.

    Examples
    --------
    >>> round(log_loss(np.array([[0.0, 1000.0]]), np.array([[True, True]])), 4)
    0.3466
    """
    return float(np.logaddexp(0.0, np.where(truth, -log_odds, log_odds)).mean()) if truth.size else 0.0


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a sample, the labels that each has, and the folds that are held out."""

    sample: Sample
    members: Membership
    folds: Folds
    _left: dict[tuple[int, bool, int], tuple[Any, list[_Left]]] = field(default_factory=dict)

    def without_folds(self, column: TextRows, presence: bool, min_df: int) -> list[_Left]:
        """Return the counts of a text without each fold; those of the last text are remembered."""
        key = id(column), presence, min_df
        if key not in self._left:
            matrix = column.matrix
            if presence:
                matrix = sparse((np.ones_like(matrix.data), matrix.indices, matrix.indptr), matrix.shape)
            self._left.clear()
            self._left[key] = column, list(_without_folds(self, matrix, min_df))
        return self._left[key][1]

    @cached_property
    def sets(self) -> Any:
        """The labels of each row: a sparse matrix of ones."""
        return self.members.matrix[self.sample.classes]

    @cached_property
    def truth(self) -> NDArray[np.bool_]:
        """The labels of each held-out row."""
        return self.members.truth(self.sample.classes[self.folds.order])

    @cached_property
    def left(self) -> Array:
        """The number of rows of each label outside each fold: folds × labels."""
        total = np.asarray(self.sets.sum(axis=0)).ravel()
        return np.array([total - np.asarray(self.sets[fold].sum(axis=0)).ravel() for fold in self.folds], np.float64)

    def priors(self, settings: NaiveBayesSettings) -> Array:
        """Return the prior log odds of each held-out row."""
        rows = self.sample.rows - np.diff(self.folds.ends, prepend=0)[:, None]
        odds = np.zeros_like(self.left) if settings.priors == "uniform" else log_odds_of(self.left, rows)
        return np.asarray(odds[self.folds.numbers])


def held_out(
    rows: Rows, features: Sequence[Feature], settings: NaiveBayesSettings, text: TextSettings, min_df: int = 1
) -> HeldOutLabels:
    """Score rows under the model of all rows but their fold's."""
    columns = tuple(_column(rows, feature, settings, text, min_df) for feature in features)
    has_text = any(feature.role == "text" for feature in features)
    has_prior = settings.event_model.has_prior or not has_text
    return HeldOutLabels(tuple(features), rows.truth, rows.priors(settings), columns, has_prior)


def _column(
    rows: Rows, feature: Feature, settings: NaiveBayesSettings, text: TextSettings, min_df: int
) -> tuple[Array, NDArray[np.int64]]:
    own = settings.of_view(feature.view)
    is_quick = own.event_model.absence is None and own.most_terms is None
    column = rows.sample.column(feature, text)
    if feature.role == "text" and is_quick:
        return text_scores(rows, cast("TextRows", column), own.smoothing, own.presence, min_df)
    return _solved_again(rows, feature, ColumnSettings(own, text.view(feature.view), min_df), column)


def _solved_again(
    rows: Rows, feature: Feature, settings: ColumnSettings, column: Any
) -> tuple[Array, NDArray[np.int64]]:
    """Score a column by solving the sums without each fold."""
    sample = rows.sample
    parts: list[Array] = []
    lengths: list[NDArray[np.int64]] = []
    every = np.bincount(sample.classes, minlength=len(sample.labels)).astype(np.int64)
    for fold, statistic in zip(rows.folds, column.without(rows.folds), strict=True):
        left = every - np.bincount(sample.classes[fold], minlength=len(sample.labels))
        sums = Sums(sample.labels, left, (statistic,)).without_zeros()
        members = Membership.of(sums.labels)
        solved = solve_column(feature, sums.columns[0], sums.labels, members, settings)
        scores, known = solved.of_rows(column.take(fold))
        whole = np.zeros((len(fold), len(rows.members.labels)))
        whole[:, np.searchsorted(rows.members.labels, members.labels)] = scores
        parts.append(whole)
        lengths.append(np.asarray(known).astype(np.int64))
    return np.concatenate(parts), np.concatenate(lengths)


# ----------------------------------------------------------------------------------------------------------- texts


def text_scores(
    rows: Rows, column: TextRows, smoothing: Smoothing, presence: bool, min_df: int
) -> tuple[Array, NDArray[np.int64]]:
    """Return the log odds of held-out texts, and how many of their terms are known.

    Terms that only rows of the fold hold are unknown to its model, and of the others those of the fold suffice.
    """
    found = rows.without_folds(column, presence, max(min_df, 1))
    lengths = [np.asarray(left.rows.sum(axis=1)).ravel().astype(np.int64) for left in found]
    return np.concatenate([left.scores(smoothing) for left in found]), np.concatenate(lengths)


def _without_folds(rows: Rows, matrix: Any, min_df: int) -> Iterator[_Left]:
    n_terms, sets = matrix.shape[1], rows.sets
    by_label = (matrix.T.tocsr() @ sets).tocsr()
    of_terms, present = np.asarray(matrix.sum(axis=0)).ravel(), np.bincount(matrix.indices, minlength=n_terms)
    for fold, left in zip(rows.folds, rows.left, strict=True):
        held = matrix[fold]
        gone = (held.T.tocsr() @ sets[fold]).tocsr()
        frequent = present - np.bincount(held.indices, minlength=n_terms) >= min_df
        used = np.zeros(n_terms, bool)
        used[held.indices] = True
        terms = np.flatnonzero(used & frequent)
        counts = (by_label[terms] - gone[terms]).tocsr()
        counts.eliminate_zeros()
        mask = frequent.astype(np.int64)
        in_label = np.asarray(mask @ by_label - mask @ gone, np.float64).ravel()
        rest = (of_terms - np.asarray(held.sum(axis=0)).ravel())[frequent]
        margins = Margins(
            of_terms[terms] - np.asarray(held.sum(axis=0)).ravel()[terms],
            in_label,
            left,
            max(int(frequent.sum()), 1),
            float(rest.sum()),
        )
        yield _Left(held[:, terms].astype(np.float64), counts, margins, rows.sample.rows - len(fold))


@dataclass(frozen=True)
class _Left:
    """Rows of a fold, and the counts of their terms × labels in the rows outside it."""

    rows: Any
    counts: Any
    margins: Margins
    documents: int

    def scores(self, smoothing: Smoothing) -> Array:
        """Return the log odds of the rows; weights are sparse but for a shift of a term and a level of a label."""
        margins, counts = self.margins, self.counts
        shape = counts.shape
        if not shape[0] or not shape[1]:
            return np.zeros((self.rows.shape[0], shape[1]))
        total = margins.overall or 0.0
        weight = against_rest_weight(multinomial_weight(smoothing, margins), total, self.documents)
        terms = np.repeat(np.arange(shape[0]), np.diff(counts.indptr))
        of_terms, in_label = margins.terms.astype(np.float64), margins.classes
        excess = weight(counts.data, of_terms[terms], in_label[counts.indices], 0)
        excess = excess - weight(0, of_terms[terms], in_label[counts.indices], 0)
        shift = weight(0, of_terms, in_label[0], 0)
        level = weight(0, of_terms[0], in_label, 0) - shift[0]
        lengths = np.asarray(self.rows.sum(axis=1)).reshape(-1, 1)
        found = self._product(sparse((excess, counts.indices, counts.indptr), shape))
        found += np.asarray(self.rows @ shift).reshape(-1, 1) + lengths * level
        found[:, (margins.documents == 0) | (margins.documents == self.documents)] = 0.0
        return found

    def _product(self, excess: Any) -> Array:
        if excess.shape[0] * excess.shape[1] > MOST_DENSE:
            return np.asarray((self.rows @ excess).toarray(), np.float64)
        return scores_of_rows(self.rows, excess.toarray(), np.zeros(excess.shape[1]))
