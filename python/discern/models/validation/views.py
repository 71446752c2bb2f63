"""Choosing what else of a text is counted, beside its words: other views of it, and its length.

A view cuts the same text into other terms. Its naive Bayes model is added to that of the words, with a scale of its
own, so that the model is still a sum over rows. Adding models gains more than choosing one of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from discern.data.roles import LENGTH, Feature
from discern.data.text import VIEWS
from discern.models.validation.held_out import HeldOut, held_out
from discern.models.validation.rows import MOST_COMPARED_CELLS, MOST_VALIDATED, Folds, Sample

if TYPE_CHECKING:
    from discern.learners.smoothing import Smoothing
    from discern.models.resolved import Resolved

MOST_VIEWED = 1 << 23
"""Bytes of rows that views are tried on; of more, a random part."""
VIEW_COST, LENGTH_COST = 1.01, 1.005
"""By what factor the log loss must fall for each view, which takes time to count, and for the length."""
VIEW_FOLDS = 5
FEW_VIEWED = 1000
"""The number of held-out rows by which the smoothing of a view is chosen."""


def add_views(
    sample: Sample, found: Resolved, views: Sequence[str], smoothings: Sequence[Smoothing], min_df: int
) -> Resolved:
    """Return a choice with the views and the length of its texts, as far as they lower the log loss enough.

    ``views`` are those that may be added, among them perhaps ``"length"``.
    """
    trial = _Trial(part_of(sample), found, min_df)
    allowed = [view for view in VIEWS if view in views and found.text.view(view) != found.text]
    smoothed = [(view, trial.smoothing_of(view, smoothings)) for view in allowed] if smoothings else []
    subsets = itertools.chain.from_iterable(itertools.combinations(smoothed, size) for size in range(len(smoothed) + 1))
    choices = [trial.viewed(kept) for kept in subsets]
    chosen = min(choices, key=lambda one: trial.loss(one) * VIEW_COST ** len(one.naive_bayes.views))
    if LENGTH not in views:
        return chosen
    lengths = [Feature(one.name, LENGTH) for one in trial.texts]
    measured = replace(chosen, features=(*chosen.features, *lengths))
    return measured if trial.loss(measured) * LENGTH_COST < trial.loss(chosen) else chosen


@dataclass
class _Trial:
    """Tries views of the texts of some rows; each column is scored once."""

    sample: Sample
    found: Resolved
    min_df: int

    def __post_init__(self) -> None:
        self.texts = [feature for feature in self.found.features if feature.role == "text"]
        self.folds = self.sample.folds(VIEW_FOLDS, MOST_VALIDATED, MOST_COMPARED_CELLS)
        self._words = self._scored(self.found, self.folds)
        self._columns = dict(zip(self._words.features, self._words.columns, strict=True))

    def _scored(self, choice: Resolved, folds: Folds) -> HeldOut:
        return held_out(self.sample, choice.features, choice.naive_bayes, choice.text, folds, self.min_df)

    def viewed(self, smoothed: Sequence[tuple[str, Smoothing]]) -> Resolved:
        """Return the choice with views of all its texts."""
        added = [replace(text, view=view) for text in self.texts for view, _ in smoothed]
        naive_bayes = replace(self.found.naive_bayes, views=tuple(smoothed))
        return replace(self.found, naive_bayes=naive_bayes, features=(*self.found.features, *added))

    def smoothing_of(self, view: str, smoothings: Sequence[Smoothing]) -> Smoothing:
        """Return the smoothing with which a view alone has the least log loss on few rows."""
        few = self.folds.holding(FEW_VIEWED)

        def loss(smoothing: Smoothing) -> float:
            viewed = self.viewed([(view, smoothing)])
            alone = replace(viewed, features=tuple(one for one in viewed.features if one.view == view))
            return self._scored(alone, few).loss()

        return min(smoothings, key=loss)

    def loss(self, choice: Resolved) -> float:
        """Return the log loss of a choice on held-out rows."""
        missing = tuple(feature for feature in choice.features if feature not in self._columns)
        if missing:
            scored = self._scored(replace(choice, features=missing), self.folds)
            self._columns |= zip(missing, scored.columns, strict=True)
        columns = tuple(self._columns[feature] for feature in choice.features)
        return replace(self._words, features=choice.features, columns=columns).loss()


def part_of(sample: Sample, most: int = MOST_VIEWED) -> Sample:
    """Return as many rows as do not take too many bytes."""
    size = sum(batch.size for batch in sample.batches)
    return sample.part(int(sample.rows * most / size)) if size > most else sample
