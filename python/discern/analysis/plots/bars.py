"""Displays of words, evidence, training and errors: bars, lines and boxes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from discern.analysis.plots.style import (
    BLACK,
    BLUE,
    COLORS,
    GRAY,
    ORANGE,
    PURPLE,
    VERMILLION,
    Display,
    grid,
    legend_below,
    legend_beside,
    shown,
)
from discern.models.evidence import CALIBRATION_OF_PRIOR


@dataclass
class WordWeightsDisplay(Display):
    """The strongest words of labels, as bars; a mapping of label to (word, weight)."""

    weights: Mapping[str, Sequence[tuple[str, float]]]

    @classmethod
    def from_estimator(cls, model: Any, *, labels: Sequence[str] | None = None, top: int = 10, ax: Any = None) -> Self:
        """Draw the strongest words of a :class:`discern.Classifier`."""
        chosen = labels or list(model.labels)[:4]
        return cls({label: model.weights(label, top) for label in chosen}).plot(ax=ax)

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
        if getattr(evidence, "prior_calibration", 0.0):
            steps.append((CALIBRATION_OF_PRIOR, float(evidence.prior_calibration)))
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
            ax.plot([end, end], [place + 0.35, place + 0.65], color=GRAY, linewidth=0.8)
        ax.set_yticks(range(len(weights) + 1), [*(shown(name, 30) for name, _ in self.steps), "log odds"])
        ax.invert_yaxis()
        ax.axvline(0, color=BLACK, linewidth=0.8)
        ax.set(xlabel=f"nats: ← {shown(self.against)}     {shown(self.label)} →")
        ax.use_sticky_edges = False
        ax.margins(x=0.06)


def _times(term: Any) -> str:
    count = getattr(term, "count", 1)
    shown = str(getattr(term, "described", term.term))
    return f"{shown} ×{count}" if count > 1 else shown


@dataclass
class PerceptronDisplay(Display):
    """Updates of a perceptron over its epochs, against Novikoff's bound (R/γ)²."""

    updates: Sequence[int]
    bound: float | None = None

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw a fitted perceptron of two classes: all its updates, and the bound if it found a separator."""
        if len(estimator.n_updates_) > 1:
            raise ValueError("this plot needs two classes, because more have a curve each; fit two of them")
        bound = float(estimator.update_bound_[0])
        return cls(estimator.n_updates_.tolist(), bound if np.isfinite(bound) else None).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        """Draw; logarithmic where the bound is far away."""
        total = np.cumsum(self.updates)
        ax.plot(np.arange(1, len(total) + 1), total, "o-", color=BLUE, label=f"updates ({int(total[-1]):,} in all)")
        if self.bound is not None:
            ax.axhline(self.bound, color=VERMILLION, linestyle="--", label=f"Novikoff's bound ({self.bound:,.0f})")
            if self.bound > 20 * max(int(total[-1]), 1):
                ax.set_yscale("log")
        ax.set(xlabel="epoch", ylabel="updates so far")
        ax.xaxis.get_major_locator().set_params(integer=True)
        grid(ax)
        legend_below(ax, 2)


@dataclass
class BoxPlotDisplay(Display):
    """Errors of several methods over folds or samples, and the Bayes rate as a line (ISLR Figures 4.10 and 4.11)."""

    values: Mapping[str, Any]
    figure: str = "error"
    bayes_rate: float | None = None

    def _draw(self, ax: Any) -> None:
        names = list(self.values)
        style = {"medianprops": {"color": BLACK, "linewidth": 1.6}, "flierprops": {"marker": ".", "markersize": 4}}
        boxes = ax.boxplot([np.asarray(self.values[name]) for name in names], patch_artist=True, widths=0.6, **style)
        for place, box in enumerate(boxes["boxes"]):
            box.set(facecolor=COLORS[place % 7], alpha=0.55, edgecolor=BLACK)
        titles = [shown(name) for name in names]
        crowded = sum(map(len, titles)) > 30
        ax.set_xticks(
            range(1, len(names) + 1), titles, rotation=30 if crowded else 0, ha="right" if crowded else "center"
        )
        if self.bayes_rate is not None:
            ax.axhline(self.bayes_rate, color=PURPLE, linestyle="--", label=f"Bayes rate {self.bayes_rate:.3f}")
            legend_beside(ax)
        ax.set(ylabel=self.figure)
        grid(ax, "y")
        ax.set_axisbelow(True)
