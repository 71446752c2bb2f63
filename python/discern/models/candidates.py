"""Candidates of a search, and the changes of terms that it tries on the winner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from discern.data.text import CHARACTERS, TextSettings
from discern.models.registry import MODELS

if TYPE_CHECKING:
    from discern.models.vector_space.axes import Layout
    from discern.models.vector_space.model import Pipeline


@dataclass(frozen=True)
class Candidate:
    """A model that takes part: its name, its terms in words, and its pipeline; naive Bayes has none."""

    model: str
    terms: str
    pipeline: Pipeline | None = None

    @property
    def learns_labels(self) -> bool:
        """Whether it can learn rows with several labels."""
        return self.pipeline is None or bool(MODELS[self.model].for_labels)

    def with_cost(self, factor: float) -> Candidate | None:
        """Return the candidate with another cost of an error, or None if it has none."""
        if self.pipeline is None or not MODELS[self.model].is_tuned:
            return None
        regularization = replace(
            self.pipeline.regularization, cost=float(f"{factor * self.pipeline.regularization.cost:.2g}")
        )
        return replace(self, pipeline=replace(self.pipeline, regularization=regularization))


@dataclass(frozen=True)
class Change:
    """A change of the terms: its name, what it may take (times what the candidate took), and the layout it gives."""

    name: str
    slower: float
    layout: Callable[[Layout], Layout]

    def of(self, candidate: Candidate) -> Candidate | None:
        """Return the changed candidate; None if there is nothing to change."""
        if candidate.pipeline is None:
            return None
        layout = self.layout(candidate.pipeline.layout)
        if layout == candidate.pipeline.layout:
            return None
        return Candidate(candidate.model, f"{candidate.terms}, {self.name}", replace(candidate.pipeline, layout=layout))


def with_characters(layout: Layout) -> Layout:
    """Count character n-grams within words too."""
    first = layout.text[0]
    if len(layout.text) > 1 or first.analyzer != "word":
        return layout
    return replace(layout, text=(first, TextSettings("char_wb", lowercase=first.lowercase, ngrams=CHARACTERS)))


def with_case(layout: Layout) -> Layout:
    """Tell upper from lower case."""
    return replace(layout, text=tuple(replace(text, lowercase=False) for text in layout.text))


def with_punctuation(layout: Layout) -> Layout:
    """Count punctuation marks as words, and words of a single letter too."""
    first = layout.text[0]
    if first.analyzer != "word":
        return layout
    return replace(layout, text=(replace(first, symbols=True, min_word_length=1), *layout.text[1:]))


def across_words(layout: Layout) -> Layout:
    """Count character n-grams across words, not only within."""
    return _with_characters(layout, analyzer="char")


def with_short(layout: Layout) -> Layout:
    """Count shorter character n-grams, single characters too: these are words in some scripts."""
    return _with_characters(layout, ngrams=SHORT_CHARACTERS)


def _with_characters(layout: Layout, **settings: Any) -> Layout:
    if len(layout.text) < 2 or layout.text[1].analyzer != "char_wb":
        return layout
    return replace(layout, text=(layout.text[0], replace(layout.text[1], **settings)))


def with_triples(layout: Layout) -> Layout:
    """Count three words in a row too."""
    first = layout.text[0]
    if first.analyzer not in ("word", "pattern") or first.ngrams != (1, 2):
        return layout
    return replace(layout, text=(replace(first, ngrams=(1, 3)), *layout.text[1:]))


def with_letters(layout: Layout) -> Layout:
    """Count words of a single letter too."""
    first = layout.text[0]
    return (
        replace(layout, text=(replace(first, min_word_length=1), *layout.text[1:]))
        if first.analyzer == "word"
        else layout
    )


def with_rare(layout: Layout) -> Layout:
    """Count terms of a single row too."""
    return replace(layout, min_df=1)


CHANGES = (
    Change("characters", 10.0, with_characters),
    Change("punctuation", 1.5, with_punctuation),
    Change("triples", 3.0, with_triples),
    Change("short characters", 1.0, with_short),
    Change("across words", 1.5, across_words),
    Change("single letters", 1.5, with_letters),
    Change("case kept", 1.5, with_case),
    Change("rare terms", 2.0, with_rare),
)
SHORT_CHARACTERS = (1, 4)
