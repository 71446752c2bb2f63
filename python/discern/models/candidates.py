"""Candidates of a search, and the changes of terms that it tries on the winner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from discern.data.text import CHARACTERS, TextSettings
from discern.models.registry import MODELS

if TYPE_CHECKING:
    from discern.models.space import Plan
    from discern.models.space_model import Recipe


@dataclass(frozen=True)
class Candidate:
    """A model that takes part: its name, its terms in words, and its recipe; naive Bayes has none."""

    model: str
    terms: str
    recipe: Recipe | None = None

    def with_cost(self, factor: float) -> Candidate | None:
        """Return the candidate with another cost of an error, or None if it has none."""
        if self.recipe is None or not MODELS[self.model].is_tuned:
            return None
        regularization = replace(
            self.recipe.regularization, cost=float(f"{factor * self.recipe.regularization.cost:.2g}")
        )
        return replace(self, recipe=replace(self.recipe, regularization=regularization))


@dataclass(frozen=True)
class Change:
    """A change of the terms: its name, what it may take (times what the candidate took), and the plan it gives."""

    name: str
    slower: float
    plan: Callable[[Plan], Plan]

    def of(self, candidate: Candidate) -> Candidate | None:
        """Return the changed candidate; None if there is nothing to change."""
        if candidate.recipe is None:
            return None
        plan = self.plan(candidate.recipe.plan)
        if plan == candidate.recipe.plan:
            return None
        return Candidate(candidate.model, f"{candidate.terms}, {self.name}", replace(candidate.recipe, plan=plan))


def with_characters(plan: Plan) -> Plan:
    """Count character n-grams within words too."""
    first = plan.text[0]
    if len(plan.text) > 1 or first.analyzer != "word":
        return plan
    return replace(plan, text=(first, TextSettings("char_wb", lowercase=first.lowercase, ngrams=CHARACTERS)))


def with_case(plan: Plan) -> Plan:
    """Tell upper from lower case."""
    return replace(plan, text=tuple(replace(text, lowercase=False) for text in plan.text))


def with_punctuation(plan: Plan) -> Plan:
    """Count punctuation marks as words, and words of a single letter too."""
    first = plan.text[0]
    if first.analyzer != "word" or first.tokenizer != "words":
        return plan
    return replace(plan, text=(replace(first, analyzer="pattern", pattern=PUNCTUATION), *plan.text[1:]))


def across_words(plan: Plan) -> Plan:
    """Count character n-grams across words, not only within."""
    return _with_characters(plan, analyzer="char")


def with_short(plan: Plan) -> Plan:
    """Count shorter character n-grams, single characters too: these are words in some scripts."""
    return _with_characters(plan, ngrams=SHORT_CHARACTERS)


def _with_characters(plan: Plan, **settings: Any) -> Plan:
    if len(plan.text) < 2 or plan.text[1].analyzer != "char_wb":
        return plan
    return replace(plan, text=(plan.text[0], replace(plan.text[1], **settings)))


def with_triples(plan: Plan) -> Plan:
    """Count three words in a row too."""
    first = plan.text[0]
    if first.analyzer not in ("word", "pattern") or first.ngrams != (1, 2):
        return plan
    return replace(plan, text=(replace(first, ngrams=(1, 3)), *plan.text[1:]))


def with_letters(plan: Plan) -> Plan:
    """Count words of a single letter too."""
    first = plan.text[0]
    return replace(plan, text=(replace(first, min_word_length=1), *plan.text[1:])) if first.analyzer == "word" else plan


def with_rare(plan: Plan) -> Plan:
    """Count terms of a single row too."""
    return replace(plan, min_df=1)


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
PUNCTUATION = r"\w+|[^\w\s]"
"""Words, and punctuation marks one by one."""
SHORT_CHARACTERS = (1, 4)
