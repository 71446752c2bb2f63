"""Held-out rows without training again: a fold's model is the total minus the fold.

From one counting pass come the exact scores of every row under the model that never saw it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.data.roles import Feature
from discern.data.text import TextSettings
from discern.data.threads import default_threads
from discern.evaluation.scaling import EvidenceScaling
from discern.learners.bayes import NaiveBayesSettings, log_priors, posterior
from discern.models.naive_bayes import groups_of, solve_columns
from discern.models.validation.rows import Folds, Sample
from discern.statistics.sums import Sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

NEVER, LEAST_PROBABLE = -1e300, 1e-12
"""The score of a class that has none; the least probability that a log loss is computed with."""
MOST_LIKELY = 32
"""The most classes of each row that a calibration is fitted to; the others have next to no probability."""
UNSCALED = EvidenceScaling(())
"""For models whose columns do not begin with the prior; their scores are not asked for."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Held-out rows under the model that never saw them: the log priors, and the evidence of each column."""

    features: tuple[Feature, ...]
    classes: NDArray[np.int32]
    prior: Array
    columns: tuple[tuple[Array, NDArray[np.int64]], ...]
    """The scores of each column, and how many of its terms are known in each row."""
    has_prior: bool = True

    @property
    def scores(self) -> Array:
        """The scores without calibration; −∞ for a class that only the fold has, the priors where nothing is known."""
        start = self.prior
        if not self.has_prior:
            is_known = _sum([known for _, known in self.columns]) > 0
            start = np.where(np.isneginf(self.prior) | ~is_known[:, None], self.prior, 0.0)
        return np.asarray(sum((own for own, _ in self.columns), start=start))

    @cached_property
    def _grouped(self) -> tuple[list[Array], list[NDArray[np.int64]]]:
        groups = groups_of(self.features)
        evidence = [_sum([self.columns[place][0] for place in places]) for places in groups]
        return evidence, [_sum([self.columns[place][1] for place in places]) for places in groups]

    @property
    def _has_text(self) -> bool:
        return any(feature.role == "text" for feature in self.features)

    def calibration(self) -> EvidenceScaling:
        """Fit a calibration to the rows; of many classes, to the likeliest of each row and its own."""
        evidence, lengths = self._grouped
        if self.prior.shape[1] <= MOST_LIKELY:
            fit = EvidenceScaling.fit if self._has_text else EvidenceScaling.robust
            return fit(self.prior, evidence, lengths, self.classes)
        places = np.argpartition(-self.scores, MOST_LIKELY - 1, axis=1)[:, :MOST_LIKELY]
        own = places == self.classes[:, None]
        own[~own.any(axis=1), -1] = True
        places = np.where(own, self.classes[:, None], places)
        parts = [np.take_along_axis(part, places, axis=1) for part in (self.prior, *evidence)]
        return EvidenceScaling.fit(parts[0], parts[1:], lengths, own.argmax(axis=1))

    def calibrated(self, calibration: EvidenceScaling | None) -> Array:
        """Return the calibrated scores."""
        return self.scores if calibration is None else calibration(self.prior, *self._grouped)

    def surprise(self, sizes: Sequence[NDArray[np.int64]], penalty: float) -> Array:
        """Return the negative log likelihood per term, by the numbers of terms in each column, known or not."""
        known = _sum([known for _, known in self.columns])
        return surprise_of(self.scores, known, np.sum(sizes, axis=0) - known, penalty)

    def loss(self) -> float:
        """Return the log loss after calibration."""
        return float(self.losses(self.calibration()).mean())

    def losses(self, calibration: EvidenceScaling | None) -> Array:
        """Return the log loss of each row."""
        shares = posterior(np.maximum(self.calibrated(calibration), NEVER))
        return np.asarray(-np.log(np.maximum(shares[np.arange(len(self.classes)), self.classes], LEAST_PROBABLE)))

    def with_masks(self) -> HeldOut:
        """Return the rows once more, without some of their columns: any number of them, from one, is as likely.

        Fitted to both, a calibration is right for rows of which only some columns are known.
        """
        names = list(dict.fromkeys(feature.name for feature in self.features))
        if len(names) < 2:
            return self
        draw = np.random.default_rng(0)
        numbers = draw.integers(1, len(names), size=(len(self.classes), 1))
        kept = draw.random((len(self.classes), len(names))).argsort(axis=1) < numbers
        masks = [kept[:, names.index(feature.name)] for feature in self.features]
        columns = tuple(
            (np.concatenate([own, own * mask[:, None]]), np.concatenate([known, known * mask]))
            for (own, known), mask in zip(self.columns, masks, strict=True)
        )
        classes, prior = np.tile(self.classes, 2), np.tile(self.prior, (2, 1))
        return HeldOut(self.features, classes, prior, columns, self.has_prior)


def _sum(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return the sum of arrays, without a copy of all of them."""
    total = parts[0].copy()
    for part in parts[1:]:
        total += part
    return total


def surprise_of(scores: Array, known: NDArray[np.int64], unknown: NDArray[np.int64], penalty: float) -> Array:
    """Return the negative log likelihood of rows per term, by log P(k) + log P(row|k); unknown terms have a penalty."""
    top = scores.max(axis=1)
    likelihood = top + np.log(np.exp(scores - top[:, None]).sum(axis=1))
    return np.asarray((unknown * penalty - likelihood) / np.maximum(known + unknown, 1))


def penalty_of(terms: int) -> float:
    """Return the negative log likelihood that an unknown term is taken to have, by the number of known terms."""
    return math.log(terms + 1.0) + 1.0


def held_out(
    sample: Sample,
    features: Sequence[Feature],
    settings: NaiveBayesSettings,
    text: TextSettings,
    folds: Folds,
    min_df: int = 1,
) -> HeldOut:
    """Score rows under the model of all rows but their fold's: exactly as if trained again."""
    has_text = any(feature.role == "text" for feature in features)
    if has_text and (settings.event_model.held_out == "solve" or settings.most_terms is not None):
        return _trained_again(sample, features, settings, text, folds, min_df)
    if has_text and settings.event_model.held_out == "contrast":
        return next(contrasted(sample, features, [settings], text, folds, min_df))
    columns = _columns(sample, features, settings, text, folds, min_df)
    prior = _priors(sample, settings, folds)
    return HeldOut(tuple(features), sample.classes[folds.order], prior, columns)


def _columns(
    sample: Sample,
    features: Sequence[Feature],
    settings: NaiveBayesSettings,
    text: TextSettings,
    folds: Folds,
    min_df: int,
) -> tuple[tuple[Array, NDArray[np.int64]], ...]:
    """Return the scores of each column, and how many of its terms are known."""
    threads, found = sample.threads or default_threads(), []
    for feature in features:
        column = sample.column(feature, text)
        own, known = column.scores(settings.of_view(feature.view), folds, min_df, threads)
        found.append((own, np.asarray(known).astype(np.int64)))
    return tuple(found)


def contrasted(
    sample: Sample,
    features: Sequence[Feature],
    models: Sequence[NaiveBayesSettings],
    text: TextSettings,
    folds: Folds,
    min_df: int = 1,
) -> Iterator[HeldOut]:
    """Score rows as :func:`held_out` does by models that compare a class with the rest; all count terms alike."""
    texts = [place for place, one in enumerate(features) if one.role == "text" and not one.view]
    others = [place for place in range(len(features)) if place not in texts]
    smoothings = list(dict.fromkeys(one.smoothing for one in models))
    contrasts = {
        place: sample.text(features[place].name, text).contrasts(smoothings, models[0].presence, folds, min_df)
        for place in texts
    }
    classes = sample.classes[folds.order]
    for one in models:
        own = dict(
            zip(others, _columns(sample, [features[place] for place in others], one, text, folds, min_df), strict=True)
        )
        share = one.own if one.contrasts else 0.0
        for place, (scored, known) in contrasts.items():
            mine, rest = scored[smoothings.index(one.smoothing)]
            scores = (share * mine if share else 0.0) + ((1 - share) * rest if share < 1 else 0.0)
            own[place] = np.nan_to_num(scores, neginf=0.0), known  # the prior excludes a class that only the fold has
        columns = tuple(own[place] for place in range(len(features)))
        prior = _priors(sample, one, folds)
        yield HeldOut(tuple(features), classes, prior, columns, has_prior=False)


def _priors(sample: Sample, settings: NaiveBayesSettings, folds: Folds) -> Array:
    """Return the log prior of each row's fold; a class that is wholly left out has none."""
    n_classes = len(sample.labels)
    total = np.bincount(sample.classes, minlength=n_classes)
    removed = np.zeros((len(folds.ends), n_classes), np.int64)
    np.add.at(removed, (folds.numbers, sample.classes[folds.order]), 1)
    left = total - removed
    with np.errstate(divide="ignore"):
        if settings.priors == "data":
            priors = np.log(left) - np.log(np.maximum(left.sum(axis=1, keepdims=True), 1))
        else:
            priors = np.where(left > 0, log_priors(sample.labels, total, settings.priors), -np.inf)
    return np.asarray(priors[folds.numbers])


def _trained_again(
    sample: Sample,
    features: Sequence[Feature],
    settings: NaiveBayesSettings,
    text: TextSettings,
    folds: Folds,
    min_df: int,
) -> HeldOut:
    """Do the same by solving each fold's sums: for event models that change with every row left out."""
    columns = [sample.column(feature, text) for feature in features]
    total = np.bincount(sample.classes, minlength=len(sample.labels)).astype(np.int64)
    parts: list[list[tuple[Array, NDArray[np.int64]]]] = [[] for _ in features]
    for fold, *statistics in zip(folds, *(column.without(folds) for column in columns), strict=True):
        class_rows = total - np.bincount(sample.classes[fold], minlength=len(sample.labels))
        left = Sums(sample.labels, class_rows, tuple(statistics)).without_zeros()
        model = solve_columns(left, features, settings, text, min_df, UNSCALED)
        places = [sample.labels.index(label) for label in model.labels]
        for solved, column, found in zip(model.columns, columns, parts, strict=True):
            scores = np.zeros((len(fold), len(sample.labels)))
            scores[:, places], known = solved.of_rows(column.take(fold))
            found.append((scores, np.asarray(known).astype(np.int64)))
    prior, classes = _priors(sample, settings, folds), sample.classes[folds.order]
    whole = tuple(
        (np.concatenate([own for own, _ in part]), np.concatenate([known for _, known in part])) for part in parts
    )
    has_text = any(feature.role == "text" for feature in features)
    return HeldOut(tuple(features), classes, prior, whole, settings.event_model.has_prior or not has_text)
