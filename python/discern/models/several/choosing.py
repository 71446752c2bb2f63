"""Choosing the settings of naive Bayes where rows may have several labels, by the log loss of held-out rows.

Smoothing, event model, n-grams and what else of a text is counted are chosen for all labels together. The calibration
is that of all labels, then a little for each; the thresholds are those of the most F1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from discern.data.label_sets.sets import Membership
from discern.data.roles import LENGTH, Feature
from discern.data.text import VIEWS
from discern.evaluation.several.choosing import choose_thresholds
from discern.learners.smoothing import Laplace
from discern.models.several.held_out import HeldOutLabels, Rows, held_out, log_loss
from discern.models.several.record import Several
from discern.models.several.scaling import LabelScaling, probabilities
from discern.models.validation.choosing import (
    AS_GOOD,
    CLEARLY_LESS,
    MOST_CALIBRATED,
    MOST_FINALISTS,
    MOST_VIEWED_LABELS,
    SMOOTHINGS,
    language_in,
    with_numbers,
)
from discern.models.validation.rows import LEAST_VALIDATED, MOST_CELLS, MOST_COMPARED_CELLS, MOST_VALIDATED, stratified
from discern.models.validation.views import LENGTH_COST, VIEW_COST, part_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from discern.evaluation.several.thresholds import Thresholds
    from discern.learners.smoothing import Smoothing
    from discern.models.resolved import Resolved
    from discern.models.settings import Settings
    from discern.models.validation.rows import Folds, Sample

    Array = NDArray[np.float64]

MOST_VIEWED = 1 << 21
"""Bytes of rows that views are tried on; of more, a random part."""
FOLDS = 5
FEW = 1000
"""The number of held-out rows that all candidates are evaluated on."""
LEAST_ROWS = 20
"""Of many labels fewer rows are held out, but no fewer than these."""


def folds_of(sample: Sample, n_labels: int, most: int, cells: int = MOST_COMPARED_CELLS) -> Folds:
    """Deal rows into folds and return as many folds as hold ``most`` rows, or fewer where there are many labels."""
    most = min(most, max(cells // max(n_labels, 1), LEAST_ROWS))
    folds = min(max(FOLDS, -(-sample.rows // most)), sample.rows)
    dealt = stratified(sample.classes, sample.keys, folds)
    return dealt.holding(int(dealt.ends[min(max(round(most * folds / sample.rows), 1), len(dealt.ends)) - 1]))


def choose(settings: Settings, sample: Sample, features: Sequence[Feature], start: Resolved) -> Resolved:
    """Choose by validation what was not given."""
    members = Membership.of(sample.labels)
    numbers = settings.numbers
    if sample.rows < LEAST_VALIDATED or not members.labels:
        way = numbers if numbers != "auto" else "gaussian"
        return replace(start, features=with_numbers(sample, features, way))
    trial = _Trial(settings, sample, members, start)
    found = trial.finished(trial.chosen())
    return found if settings.calibrate is not False else without_calibration(found)


def without_calibration(found: Resolved) -> Resolved:
    """Return a choice whose probabilities are not calibrated, and labels predicted from one half on."""
    return replace(found, calibration=None, several=Several())


@dataclass
class _Trial:
    """Tries settings on rows; the fewest rows first."""

    settings: Settings
    sample: Sample
    members: Membership
    start: Resolved

    def __post_init__(self) -> None:
        n_labels = len(self.members.labels)
        self.few = Rows(self.sample, self.members, folds_of(self.sample, n_labels, FEW))
        self.many = Rows(self.sample, self.members, folds_of(self.sample, n_labels, MOST_VALIDATED), self.few.last)
        self.has_text = any(feature.role == "text" for feature in self.start.features)
        self.min_df = self.start.min_df
        self.parameters: Array | None = None
        self._part: _Trial | None = None
        self._has_words = self.settings.text.analyzer in ("word", "pattern")
        self.free = self.settings.auto_smoothing and self.settings.model == "naive-bayes"

    def scored(self, choice: Resolved, rows: Rows) -> HeldOutLabels:
        return held_out(rows, choice.features, choice.naive_bayes, choice.text, self.min_df)

    def tried(self, choices: Sequence[Resolved], rows: Rows) -> list[Resolved]:
        """Return choices with their log loss, the least first."""
        found = [replace(one, log_loss=self.loss_of(self.scored(one, rows))) for one in choices]
        return sorted(found, key=lambda one: one.log_loss)

    def loss_of(self, scored: HeldOutLabels) -> float:
        """Return the log loss; the fit of the calibration starts from the last one, which is nearly the same."""
        loss, self.parameters = scored.loss(self.parameters)
        return loss

    # -------------------------------------------------------------------------------------------- one by one

    def chosen(self) -> Resolved:
        """Choose one thing after the other."""
        found = self._with_numbers(self.start)
        if self.settings.auto_smoothing:
            found = self._with_smoothing(found)
        if self.has_text and self.free and self.settings.auto_stem and self._has_words:
            found = self._on_part()._with_stem(found)
        found = self._with_priors(found)
        return self._with_views(found) if self.has_text and self.free else found

    def _with_numbers(self, found: Resolved) -> Resolved:
        numbers = self.settings.numbers
        ways = [numbers] if numbers != "auto" else ["gaussian", "quantile"]
        choices = [replace(found, features=with_numbers(self.sample, found.features, way)) for way in ways]
        is_open = len(choices) > 1 and any(feature.role == "number" for feature in found.features)
        return self.tried(choices, self.few)[0] if is_open else choices[0]

    def _with_smoothing(self, found: Resolved) -> Resolved:
        is_open = self.has_text and self.free and self.settings.ngrams is None and self._has_words
        spans = [(1, 2), (1, 1)] if is_open else []
        if spans:
            found = replace(found, text=replace(found.text, ngrams=spans[0]))
        events = ["multinomial", "binary"] if self.free and self.has_text else [found.naive_bayes.event]
        candidates = self._smoothings()
        found = self.tried(self._finalists(found, events, candidates), self.many)[0]
        for span in spans[1:]:
            other = replace(found, text=replace(found.text, ngrams=span))
            near = [self._changed(other, other.naive_bayes.event, one) for one in self._near(found, candidates)]
            best = self.tried(near, self.many)[0]
            found = best if best.log_loss * AS_GOOD < found.log_loss else found
        return found

    def _finalists(self, found: Resolved, events: Sequence[str], smoothings: Sequence[Smoothing]) -> list[Resolved]:
        """Return the best choices on few rows; further events are tried with what suits the first one best."""
        tried: list[Resolved] = []
        for event in events:
            choices = [self._changed(found, event, one) for one in smoothings]
            best = self.tried(choices, self.few)[:MOST_FINALISTS]
            smoothings = [one.naive_bayes.smoothing for one in best]
            tried += best
        return sorted(tried, key=lambda one: one.log_loss)[:MOST_FINALISTS]

    def _smoothings(self) -> list[Smoothing]:
        only = self.settings.naive_bayes.event_model.laplace_only or not self.has_text
        return [one for one in SMOOTHINGS if not only or isinstance(one, Laplace)]

    def _near(self, found: Resolved, candidates: Sequence[Smoothing]) -> list[Smoothing]:
        kind = [one for one in candidates if type(one) is type(found.naive_bayes.smoothing)]
        place = kind.index(found.naive_bayes.smoothing)
        return kind[max(place - 1, 0) : place + 2]

    def _changed(self, found: Resolved, event: str, smoothing: Smoothing) -> Resolved:
        return replace(found, naive_bayes=replace(found.naive_bayes, event=event, smoothing=smoothing))

    def _with_priors(self, found: Resolved) -> Resolved:
        if not self.settings.auto_priors:
            return found
        both = [replace(found, naive_bayes=replace(found.naive_bayes, priors=one)) for one in ("data", "uniform")]
        return self.tried(both, self.many)[0]

    # ------------------------------------------------------------------------------------------------- views

    def _with_views(self, found: Resolved) -> Resolved:
        """Add views and the length of texts, one after the other, as far as they lower the log loss enough.

        Views, which take time to count, are tried on some of the rows.
        """
        wanted = self.settings.views_to_try
        views = [one for one in VIEWS if one in wanted and found.text.view(one) != found.text]
        if views and len(self.members.labels) <= MOST_VIEWED_LABELS:
            for view in views:
                found = self._on_part()._with_view(found, view)
        if LENGTH in wanted:
            texts = [feature for feature in found.features if feature.role == "text" and not feature.view]
            added = replace(found, features=(*found.features, *(Feature(one.name, LENGTH) for one in texts)))
            found = added if self._lowers(added, found, LENGTH_COST) else found
        return found

    def _on_part(self) -> _Trial:
        """Return the trial on some of the rows, for what takes time to count."""
        if self._part is None:
            part = part_of(self.sample, MOST_VIEWED)
            other = _Trial(self.settings, part, Membership.of(part.labels), self.start)
            self._part = self if part is self.sample else other
        return self._part

    def _with_stem(self, found: Resolved) -> Resolved:
        """Stem words if that clearly lowers the log loss: stems depend on a language and are not readable."""
        language = language_in(self.sample, found)
        stemmed = replace(found, text=replace(found.text, stem=language))
        return stemmed if language and self._lowers(stemmed, found, CLEARLY_LESS) else found

    def _with_view(self, found: Resolved, view: str) -> Resolved:
        """Add a view if it lowers the log loss enough."""
        added = self._viewed(found, [(view, self._smoothing_of(found, view))])
        return added if self._lowers(added, found, VIEW_COST) else found

    def _lowers(self, choice: Resolved, other: Resolved, cost: float) -> bool:
        """Whether a choice has a lower log loss than another by a factor; half of that on few rows is tried on more."""
        for rows, least in ((self.few, math.sqrt(cost)), (self.many, cost)):
            less, loss = (self.loss_of(self.scored(one, rows)) for one in (choice, other))
            if less * least >= loss:
                return False
        return True

    def _smoothing_of(self, found: Resolved, view: str) -> Smoothing:
        """Return the smoothing, of the kind that words have, with which a view alone has the least log loss.

        The log loss of stronger and stronger smoothing falls and then rises.
        """
        kind = type(found.naive_bayes.smoothing)

        def loss(smoothing: Smoothing) -> float:
            viewed = self._viewed(found, [(view, smoothing)])
            alone = replace(viewed, features=tuple(one for one in viewed.features if one.view == view))
            return self.loss_of(self.scored(alone, self.few))

        return lowest([one for one in self._smoothings() if type(one) is kind], loss)

    def _viewed(self, found: Resolved, added: list[tuple[str, Smoothing]]) -> Resolved:
        texts = [feature for feature in found.features if feature.role == "text" and not feature.view]
        features = [replace(text, view=view) for text in texts for view, _ in added]
        naive_bayes = replace(found.naive_bayes, views=(*found.naive_bayes.views, *added))
        return replace(found, naive_bayes=naive_bayes, features=(*found.features, *features))

    # ---------------------------------------------------------------------------------- calibration, thresholds

    def finished(self, found: Resolved) -> Resolved:
        """Return a choice with its calibration, the scaling of each label, and the thresholds."""
        folds = folds_of(self.sample, len(self.members.labels), MOST_CALIBRATED, MOST_CELLS)
        rows = Rows(self.sample, self.members, folds, self.few.last)
        scored = self.scored(found, rows)
        calibration, _ = scored.calibration()
        odds = scored.calibrated(calibration)
        several = several_of(odds, scored.truth, self.members.labels, rows.folds)
        scaled = several.scaling(odds, self.members.labels)
        right = several.thresholds(probabilities(scaled), self.members.labels) == scored.truth
        return replace(
            found,
            calibration=calibration,
            several=several,
            log_loss=log_loss(scaled, scored.truth),
            accuracy=float(right.all(axis=1).mean()),
            rows=len(scaled),
        )


def lowest(choices: Sequence[Smoothing], loss: Callable[[Smoothing], float]) -> Smoothing:
    """Return the choice of the least loss, which falls up to it and then rises: downhill from the middle.

    Examples
    --------
    >>> tried = []
    >>> lowest([8, 4, 2, 1, 0], lambda choice: tried.append(choice) or abs(choice - 4)), tried
    (4, [2, 4, 8])
    """
    place = len(choices) // 2
    least = loss(choices[place])
    for step in (-1, 1):
        start = place
        while 0 <= place + step < len(choices) and (other := loss(choices[place + step])) < least:
            place, least = place + step, other
        if place != start:
            break
    return choices[place]


def several_of(
    scores: Array, truth: NDArray[np.bool_], labels: Sequence[str], folds: Folds, common: bool = False
) -> Several:
    """Fit the scaling of each label and choose its threshold, by scores of held-out rows.

    These are calibrated log odds; or with ``common``, numbers that grow with them.
    """
    scaling = LabelScaling.fit(scores, truth, labels, common)
    shares = probabilities(scaling(scores, labels))
    return Several(scaling, thresholds_of(shares, truth, labels, folds))


def thresholds_of(shares: Array, truth: NDArray[np.bool_], labels: Sequence[str], folds: Folds) -> Thresholds:
    """Choose the thresholds of the most F1; at least one label is predicted if all rows have one."""
    some = bool(truth.any(axis=1).all())
    return choose_thresholds(shares, truth, labels, folds=folds.numbers, at_least_one=some)
