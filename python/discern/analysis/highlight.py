"""The weight of each word of a text: for colored texts on the terminal, in notebooks and in the report."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from html import escape
from typing import Any

from discern.data.text import TextSettings

FOR, AGAINST = "0,114,178", "230,159,0"
"""Blue is for the label, orange against it: Okabe and Ito's, told apart by color-blind people and in gray."""
STRONG = 3.0
"""Nats from which a word has its full color."""


def word_weights(settings: TextSettings, message: str, known: Mapping[str, float]) -> Iterator[tuple[int, int, float]]:
    """Return start, end and weight of each word of a message; the words of an n-gram share its weight."""
    if settings.analyzer != "word":
        for match in re.finditer(r"\S+", message):
            weights = [known.get(term, 0.0) for term in settings.terms(match.group())]
            yield match.start(), match.end(), sum(weights)
        return
    single = replace(settings, ngrams=(1, 1))
    places = list(_places(replace(single, stem=None, stop_words=(), lowercase=False), message))
    terms = [(index, term) for index, place in enumerate(places) for term in single.terms(message[slice(*place)])]
    weights = [0.0] * len(places)
    for length in range(settings.ngrams[0], settings.ngrams[1] + 1):
        for start in range(len(terms) - length + 1):
            window = terms[start : start + length]
            weight = known.get(" ".join(term for _, term in window), 0.0)
            for index, _ in window:
                weights[index] += weight / length
    for (start, end), weight in zip(places, weights, strict=True):
        yield start, end, weight


def _places(surface: TextSettings, message: str) -> Iterator[tuple[int, int]]:
    """Return start and end of each word of a message."""
    position = 0
    for word in surface.terms(message):
        start = message.find(word, position)
        if start >= 0:
            position = start + len(word)
            yield start, position


def evidence_html(message: str, evidence: Any, settings: TextSettings | None = None) -> str:
    """Return a text as HTML: the background of a word shows its weight, its title the nats.

    ``evidence`` is what :meth:`discern.Classifier.explain` returns for it.

    Examples
    --------
    >>> from discern.classifier import Classifier
    >>> model = Classifier().fit([{"label": "a", "text": "x1 x2"}, {"label": "b", "text": "y1 <y2>"}])
    >>> evidence_html("see <y2>", model.explain("see <y2>"))
    'see &lt;<mark style="background:rgba(0,114,178,0.23)" title="+0.69 nats for b">y2</mark>&gt;'
    """
    known = {term.term: term.weight / max(term.count, 1) for term in evidence.terms}
    parts, end = [], 0
    for start, stop, weight in word_weights(settings or TextSettings(), message, known):
        parts.append(escape(message[end:start]))
        parts.append(_marked(message[start:stop], weight, evidence.label if weight > 0 else evidence.against))
        end = stop
    return "".join([*parts, escape(message[end:])])


def _marked(word: str, weight: float, label: str) -> str:
    if abs(weight) < 0.05:
        return escape(word)
    color, depth = FOR if weight > 0 else AGAINST, min(abs(weight) / STRONG, 1.0)
    under = ";border-bottom:2px dotted" if weight < 0 else ""
    title = f"{abs(weight):+.2f} nats for {label}"
    return f'<mark style="background:rgba({color},{depth:.2f}){under}" title="{escape(title)}">{escape(word)}</mark>'
