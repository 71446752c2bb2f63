"""Displays of the words that drive predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from discern.analysis.plots.style import BLACK, BLUE, COLORS, GREY, ORANGE, Display, legend_beside, shown


@dataclass
class WordWeightsDisplay(Display):
    """The strongest words of labels, as bars; a mapping of label to (word, weight)."""

    weights: Mapping[str, Sequence[tuple[str, float]]]

    @classmethod
    def from_estimator(cls, model: Any, *, labels: Sequence[str] | None = None, top: int = 10, ax: Any = None) -> Self:
        """Draw the strongest words of a :class:`discern.Classifier`."""
        shown = labels or list(model.labels)[:4]
        return cls({label: model.weights(label, top) for label in shown}).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        """Draw one group of bars below the other."""
        names, place = [], 0.0
        for number, (label, words) in enumerate(self.weights.items()):
            places = place + np.arange(len(words))
            style = {"color": COLORS[number % 7], "hatch": ("", "//", "..", "xx")[number % 4], "edgecolor": "white"}
            ax.barh(places, [weight for _, weight in words], 0.8, label=shown(label), **style)
            names += [(y, word) for y, (word, _) in zip(places, words, strict=True)]
            place += len(words) + 1
        ax.set_yticks([y for y, _ in names], [shown(word) for _, word in names])
        ax.invert_yaxis()
        ax.set(xlabel="nats for the label, against the others")
        if len(ax.figure.axes) == 1:
            ax.figure.set_figheight(max(2.5, 0.24 * place + 1))
        legend_beside(ax)


@dataclass
class EvidenceDisplay(Display):
    """Why one text got its label, as a waterfall: each bar begins where the one above it ends."""

    steps: Sequence[tuple[str, float]]
    label: str
    against: str

    @classmethod
    def from_evidence(cls, evidence: Any, *, top: int = 12, ax: Any = None) -> Self:
        """Draw what :meth:`discern.Classifier.explain` returns; the weaker terms are added up in one bar."""
        steps = [("prior", float(evidence.prior))]
        if getattr(evidence, "absent", 0.0):
            steps.append(("absent words", float(evidence.absent)))
        steps += [(_times(term), float(term.weight)) for term in evidence.terms[:top]]
        rest = sum(float(term.weight) for term in evidence.terms[top:])
        if len(evidence.terms) > top:
            steps.append((f"{len(evidence.terms) - top} more", rest))
        return cls(steps, evidence.label, evidence.against).plot(ax=ax)

    @classmethod
    def from_estimator(cls, model: Any, row: Any, *, top: int = 12, ax: Any = None) -> Self:
        """Draw why a classifier gives a row its label."""
        return cls.from_evidence(model.explain(row), top=top, ax=ax)

    def _draw(self, ax: Any) -> None:
        weights = np.array([weight for _, weight in self.steps])
        ends = np.cumsum(weights)
        starts = ends - weights
        for place, (start, weight) in enumerate(zip(starts, weights, strict=True)):
            style = {"color": BLUE} if weight >= 0 else {"color": ORANGE, "hatch": "//"}
            ax.barh(place, weight, 0.7, left=start, edgecolor="white", **style)
        ax.barh(len(weights), ends[-1], 0.7, color=BLACK)
        for place, end in enumerate(ends):
            ax.plot([end, end], [place + 0.35, place + 0.65], color=GREY, linewidth=0.8)
        ax.set_yticks(range(len(weights) + 1), [*(shown(name, 30) for name, _ in self.steps), "log odds"])
        ax.invert_yaxis()
        ax.axvline(0, color=BLACK, linewidth=0.8)
        ax.set(xlabel=f"nats: ← {shown(self.against)}     {shown(self.label)} →")
        ax.use_sticky_edges = False
        ax.margins(x=0.06)


def _times(term: Any) -> str:
    count = getattr(term, "count", 1)
    shown = str(getattr(term, "shown", term.term))
    return f"{shown} ×{count}" if count > 1 else shown
