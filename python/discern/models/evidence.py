"""Evidence: the terms of the sum that decided."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discern.data.batch import Batch
    from discern.data.text import TextSettings

NOTHING_KNOWN = "The model knows none of the words and values of this row."
CALIBRATION_OF_PRIOR = "calibration of the prior"
OTHER_CHARACTERS = "other characters"
MOST_FLIPPED = 3
"""Leaving out more terms than these is no small change."""


@dataclass(frozen=True)
class TermEvidence:
    """The contribution of one term: ``weight`` nats for the label, against the runner-up, from all its occurrences.

    In a text column the term is a word; in another column it is the value. ``written`` is how a stem
    stands in the text. ``view`` is the role of the column, ``"length"`` for the number of words of a text, or
    ``"symbols"`` or ``"characters"`` for what only these views of a text know.
    """

    term: str
    count: int
    weight: float
    column: str = "text"
    written: str = ""
    view: str = "text"

    @property
    def shown(self) -> str:
        """The term for people: as it is written."""
        return self.written or self.term

    @property
    def described(self) -> str:
        """The term in a list: a word of which the model knows only character n-grams is marked."""
        is_new = self.view == "characters" and self.term != OTHER_CHARACTERS
        return f"{self.shown} (its characters)" if is_new else self.shown

    @property
    def odds(self) -> float:
        """By what factor the term changes the odds of the label."""
        return math.exp(min(self.weight, 700.0))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "term": self.term,
            "shown": self.shown,
            "described": self.described,
            "count": self.count,
            "weight": self.weight,
            "odds": self.odds,
            "column": self.column,
            "view": self.view,
        }


@dataclass(frozen=True)
class NearRow:
    """A row learned that is similar to the one explained: its number from 1, its label, and its similarity up to 1."""

    row: int
    label: str
    similarity: float


@dataclass(frozen=True)
class Evidence:
    """Why a row was given its label: the terms of the sum that decided it.

    The log odds of ``label`` over ``against`` are the sum ``prior + prior_calibration + absent`` and the weights of the
    terms. ``prior`` is the same for every row. ``prior_calibration`` is what calibration adds to it: the more known
    terms a row has, the less the prior counts. ``absent`` is the contribution of the words that do not occur; only the
    Bernoulli model uses them. If the probabilities are calibrated, so is the evidence: it adds up to the log odds of
    the probabilities. ``known`` and ``unknown`` are the numbers of terms that the model knows and does not know.
    ``near`` has the support rows nearest to this one, for a support vector machine with a kernel; they are no part of
    the sum.

    Examples
    --------
    >>> terms = (TermEvidence("free", 1, 2.0), TermEvidence("lunch", 1, -0.5))
    >>> print(Evidence("spam", "ham", {"spam": 0.79, "ham": 0.21}, -0.2, 0.0, terms, 0))
    spam (79.0%), against ham
        -0.200  prior
        +2.000  free
        -0.500  lunch
    """

    label: str
    against: str
    probabilities: dict[str, float]
    prior: float
    absent: float
    terms: tuple[TermEvidence, ...]
    unknown: int
    known: int = 1
    prior_calibration: float = 0.0
    near: tuple[NearRow, ...] = ()

    @property
    def probability(self) -> float:
        """The probability of the label."""
        return self.probabilities[self.label]

    @property
    def log_odds(self) -> float:
        """The log odds of the label over the runner-up."""
        return self.prior + self.prior_calibration + self.absent + sum(term.weight for term in self.terms)

    @property
    def is_unknown(self) -> bool:
        """Whether nothing in the row is known to the model; its length may be."""
        return not self.known

    @property
    def flip(self) -> tuple[TermEvidence, ...] | None:
        """The least change that would flip the decision: up to three terms without which the runner-up wins.

        None if nothing so short would: if it takes more terms, or more than leaving out terms.

        Examples
        --------
        >>> terms = (TermEvidence("free", 1, 2.0), TermEvidence("win", 1, 0.5), TermEvidence("lunch", 1, -0.9))
        >>> seen = Evidence("spam", "ham", {"spam": 0.8, "ham": 0.2}, -0.2, 0.0, terms, 0)
        >>> [term.term for term in seen.flip]
        ['free']
        """
        left, removed = self.log_odds, list[TermEvidence]()
        for term in sorted(self.terms, key=lambda term: -term.weight):
            if left < 0 or term.weight <= 0 or len(removed) == MOST_FLIPPED:
                break
            left -= term.weight
            removed.append(term)
        return tuple(removed) if removed and left < 0 else None

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "label": self.label,
            "probability": self.probability,
            "against": self.against,
            "log_odds": self.log_odds,
            "prior": self.prior,
            "prior_calibration": self.prior_calibration,
            "absent": self.absent,
            "terms": [term.to_dict() for term in self.terms],
            "known_terms": self.known,
            "unknown_terms": self.unknown,
            "flip": None if self.flip is None else [term.term for term in self.flip],
            "probabilities": self.probabilities,
            **({"near": [asdict(one) for one in self.near]} if self.near else {}),
        }

    def __str__(self) -> str:
        lines = [f"{self.label} ({self.probability:.1%}), against {self.against}", f"  {self.prior:+8.3f}  prior"]
        if self.prior_calibration:
            lines.append(f"  {self.prior_calibration:+8.3f}  {CALIBRATION_OF_PRIOR}")
        if self.absent:
            lines.append(f"  {self.absent:+8.3f}  absent words")
        several = len({term.column for term in self.terms}) > 1
        for term in self.terms:
            place = f"{term.column}: " if several else ""
            repeats = f" ×{term.count}" if term.count > 1 else ""
            lines.append(f"  {term.weight:+8.3f}  {place}{term.described}{repeats}")
        if self.unknown:
            lines.append(f"  {self.unknown} unknown, skipped")
        if self.is_unknown:
            lines.append(f"  {NOTHING_KNOWN}")
        lines += [f"  near row {one.row:,}: {one.label} (similarity {one.similarity:.2f})" for one in self.near]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Show the evidence in a notebook: the label, and a table of the terms with their nats and odds."""
        from discern.evaluation.markup import record_table, section

        rows = [("prior", self.prior), (CALIBRATION_OF_PRIOR, self.prior_calibration), ("absent words", self.absent)]
        shown = [(name, "", f"{weight:+.2f}", "") for name, weight in rows if weight]
        several = len({term.column for term in self.terms}) > 1
        for term in self.terms:
            name = f"{term.column}: {term.described}" if several else term.described
            shown.append((name, f"×{term.count}" if term.count > 1 else "", f"{term.weight:+.2f}", f"{term.odds:.3g}"))
        if self.unknown:
            shown.append((f"{self.unknown} unknown, skipped", "", "", ""))
        if self.is_unknown:
            shown.append((NOTHING_KNOWN, "", "", ""))
        title = f"{self.label} ({self.probability:.1%}), against {self.against}"
        return section(title, record_table(("term", "", "nats", "odds"), shown))


def by_words(
    terms: Sequence[TermEvidence], texts: Iterable[tuple[str, str, TextSettings, TextSettings]]
) -> list[TermEvidence]:
    """Add what the views of a text contribute to the words that people see.

    A term that two views have becomes one. The evidence of character n-grams goes to the words that they are part of.
    ``texts`` are those seen as characters: the column, its text, and the settings of its words and of its characters.
    """
    found: dict[tuple[str, str], TermEvidence] = {}
    for one in terms:
        if one.view != "characters":
            before = found.get((one.column, one.term))
            found[one.column, one.term] = one if before is None else replace(before, weight=before.weight + one.weight)
    for column, text, words, characters in texts:
        grams = {one.term: one.weight for one in terms if one.column == column and one.view == "characters"}
        for term, weight in _of_characters(grams, text, words, characters):
            before = found.get((column, term), TermEvidence(term, 1, 0.0, column, view="characters"))
            found[column, term] = replace(before, weight=before.weight + weight)
    return list(found.values())


def _of_characters(
    grams: Mapping[str, float], text: str, words: TextSettings, characters: TextSettings
) -> Iterator[tuple[str, float]]:
    """Yield words with the share of the evidence of character n-grams that falls to them, by their occurrences."""
    parts = [(part, [gram for gram in characters.terms(part) if gram in grams]) for part in text.split()]
    occurrences = Counter(gram for _, inside in parts for gram in inside)
    for part, inside in parts:
        if inside:
            weight = sum(grams[gram] / occurrences[gram] for gram in inside)
            names = words.terms(part) or [part]
            yield from ((name, weight / len(names)) for name in names)
    rest = sum(weight for gram, weight in grams.items() if gram not in occurrences)
    if rest:
        yield OTHER_CHARACTERS, rest


def in_order(
    terms: Iterable[TermEvidence], batch: Batch, texts: Iterable[tuple[str, TextSettings]]
) -> tuple[TermEvidence, ...]:
    """Return the evidence of terms, the strongest first, each with how it is written in the only row of a batch.

    ``texts`` are the text columns with the settings they are read with.
    """
    row, written = batch.row(0), dict[tuple[str, str], str]()
    for column, settings in texts:
        if isinstance(text := row.get(column), str):
            written |= {(column, term): words for term, words in settings.written(text).items()}
    named = [replace(term, written=written.get((term.column, term.term), "")) for term in terms]
    return tuple(sorted(named, key=lambda term: (-round(abs(term.weight), 9), term.column, term.term)))
