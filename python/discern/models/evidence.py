"""Evidence: the terms of the sum that decided."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discern.data.batch import Batch
    from discern.data.text import TextSettings


@dataclass(frozen=True)
class TermEvidence:
    """The contribution of one term: ``weight`` nats for the label, against the runner-up, from all its occurrences.

    In a text column the term is a word; in another column it is the value. ``written`` is how a stem
    stands in the text.
    """

    term: str
    count: int
    weight: float
    column: str = "text"
    written: str = ""

    @property
    def shown(self) -> str:
        """The term for people: as it is written."""
        return self.written or self.term

    @property
    def odds(self) -> float:
        """By what factor the term changes the odds of the label."""
        return math.exp(min(self.weight, 700.0))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "term": self.term,
            "shown": self.shown,
            "count": self.count,
            "weight": self.weight,
            "odds": self.odds,
            "column": self.column,
        }


@dataclass(frozen=True)
class Evidence:
    """Why a row was given its label: the terms of the sum that decided it.

    ``prior + absent + sum(term.weight for term in terms)`` is ``log_odds``, the log odds of ``label`` over ``against``.
    ``absent`` is the contribution of the words that do not occur; only the Bernoulli model uses them. If the
    probabilities are calibrated, so is the evidence: it adds up to the log odds of the probabilities shown.

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

    @property
    def probability(self) -> float:
        """The probability of the label."""
        return self.probabilities[self.label]

    @property
    def log_odds(self) -> float:
        """The log odds of the label over the runner-up."""
        return self.prior + self.absent + sum(term.weight for term in self.terms)

    @property
    def flip(self) -> tuple[TermEvidence, ...] | None:
        """The least change that would flip the decision: the fewest terms without which the runner-up wins.

        None if it would take more than leaving out terms.

        Examples
        --------
        >>> terms = (TermEvidence("free", 1, 2.0), TermEvidence("win", 1, 0.5), TermEvidence("lunch", 1, -0.9))
        >>> seen = Evidence("spam", "ham", {"spam": 0.8, "ham": 0.2}, -0.2, 0.0, terms, 0)
        >>> [term.term for term in seen.flip]
        ['free']
        """
        left, removed = self.log_odds, []
        for term in sorted(self.terms, key=lambda term: -term.weight):
            if left < 0 or term.weight <= 0:
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
            "absent": self.absent,
            "terms": [term.to_dict() for term in self.terms],
            "unknown_terms": self.unknown,
            "flip": None if self.flip is None else [term.term for term in self.flip],
            "probabilities": self.probabilities,
        }

    def __str__(self) -> str:
        lines = [f"{self.label} ({self.probability:.1%}), against {self.against}", f"  {self.prior:+8.3f}  prior"]
        if self.absent:
            lines.append(f"  {self.absent:+8.3f}  words that are absent")
        several = len({term.column for term in self.terms}) > 1
        for term in self.terms:
            place = f"{term.column}: " if several else ""
            repeats = f" ×{term.count}" if term.count > 1 else ""
            lines.append(f"  {term.weight:+8.3f}  {place}{term.shown}{repeats}")
        if self.unknown:
            lines.append(f"  {self.unknown} unknown, skipped")
        return "\n".join(lines)


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
