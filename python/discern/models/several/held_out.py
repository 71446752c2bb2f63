"""Held-out rows with several labels each, under the model that never saw them: the sums of all rows minus the fold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from discern.data.label_sets.sets import Membership
from discern.data.text import TextSettings
from discern.evaluation.several.evidence import Pairs, started
from discern.learners.bayes import NaiveBayesSettings
from discern.models.columns.kind import ColumnSettings
from discern.models.naive_bayes import groups_of
from discern.models.several.columns import solve_column
from discern.models.several.naive_bayes import log_odds_of
from discern.models.several.scaling import softplus
from discern.models.several.texts import Compressed, HeldTexts, compressed, without_folds
from discern.statistics.sums import Sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discern.data.roles import Feature
    from discern.evaluation.scaling import EvidenceScaling
    from discern.learners.smoothing import Smoothing
    from discern.models.columns.text import TextRows
    from discern.models.validation.rows import Folds, Sample

    Array = NDArray[np.float64]

MOST_LIKELY = 16
"""A calibration is fitted to the labels of each row, and to this many of the likeliest others."""
MOST_SCORED, MOST_TEXTS = 8, 2
"""The number of columns that are kept as they were scored, and of texts whose counts without each fold are kept."""


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

    def calibration(self, start: Array | None = None) -> tuple[EvidenceScaling, Array]:
        """Fit a calibration of all labels: to those of each row, and to the likeliest of the others.

        Return also its parameters: the fit of a similar choice may start from them.
        """
        compared = self._compared()
        evidence, lengths = self._grouped
        parts = [part[compared] for part in (self.prior, *evidence)]
        pairs = Pairs.of(compared.sum(axis=1), parts, lengths, self.truth[compared])
        return pairs.fitted(started(start, len(evidence)))

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

    def loss(self, start: Array | None = None) -> tuple[float, Array]:
        """Return the log loss after calibration, the mean over rows and labels; and the parameters of the fit."""
        calibration, parameters = self.calibration(start)
        return log_loss(self.calibrated(calibration), self.truth), parameters


def log_loss(log_odds: Array, truth: NDArray[np.bool_]) -> float:
    """Return the mean log loss of rows × labels.

    Examples
    --------
    >>> round(log_loss(np.array([[0.0, 1000.0]]), np.array([[True, True]])), 4)
    0.3466
    """
    return float(softplus(np.where(truth, -log_odds, log_odds)).mean()) if truth.size else 0.0


class LastTexts:
    """The last texts whose terms were asked for, with the rows that have each term."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[TextRows, Compressed]] = {}

    def by_term(self, column: TextRows) -> Compressed:
        """Return the rows that have each term, and how often."""
        if id(column) not in self._known:
            _make_room(self._known, MOST_TEXTS)
            self._known[id(column)] = column, compressed(column.matrix.tocsc())
        return self._known[id(column)][1]


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a sample, the labels that each has, and the folds that are held out."""

    sample: Sample
    members: Membership
    folds: Folds
    last: LastTexts = field(default_factory=LastTexts)
    """The last texts by their terms, for other folds of the same rows."""
    _scored: dict[Any, tuple[Array, NDArray[np.int64]]] = field(default_factory=dict)
    _texts: dict[tuple[int, bool, int], tuple[TextRows, list[HeldTexts]]] = field(default_factory=dict)

    def scored(self, feature: Feature, settings: NaiveBayesSettings, text: TextSettings, min_df: int) -> Any:
        """Return the log odds of a column, and how many of its terms are known; the last few are remembered."""
        own = replace(settings.of_view(feature.view), priors="data")  # these do not matter to a column
        key = feature, own, text.view(feature.view), min_df
        if key not in self._scored:
            _make_room(self._scored, MOST_SCORED)
            self._scored[key] = _column(self, feature, own, text, min_df)
        return self._scored[key]

    def without_folds(self, column: TextRows, presence: bool, min_df: int) -> list[HeldTexts]:
        """Return the counts of a text without each fold; those of the last few texts are remembered."""
        key = id(column), presence, min_df
        if key not in self._texts:
            _make_room(self._texts, MOST_TEXTS)
            by_term = self.last.by_term(column)
            held = without_folds(by_term, self.sets, self.left, self.folds, presence, min_df)
            self._texts[key] = column, held
        return self._texts[key][1]

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


def _make_room(kept: dict[Any, Any], most: int) -> None:
    """Forget the first of what is kept, if there are many."""
    while len(kept) >= most:
        kept.pop(next(iter(kept)))


def held_out(
    rows: Rows, features: Sequence[Feature], settings: NaiveBayesSettings, text: TextSettings, min_df: int = 1
) -> HeldOutLabels:
    """Score rows under the model of all rows but their fold's."""
    columns = tuple(rows.scored(feature, settings, text, min_df) for feature in features)
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
    """Return the log odds of held-out texts, and how many of their terms are known."""
    found = rows.without_folds(column, presence, max(min_df, 1))
    return np.concatenate([fold.scores(smoothing) for fold in found]), np.concatenate([fold.lengths for fold in found])
