"""Displays of training and of several methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from discern.analysis.plots.style import (
    BLACK,
    BLUE,
    COLORS,
    PURPLE,
    VERMILLION,
    Display,
    grid,
    legend_below,
    legend_beside,
    shown,
)  # fmt: skip


@dataclass
class PerceptronDisplay(Display):
    """Updates of a perceptron over its epochs, against Novikoff's bound (R/γ)²."""

    updates: Sequence[int]
    bound: float | None = None

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw a fitted perceptron of two classes: all its updates, and the bound if it found a separator."""
        if len(estimator.n_updates_) > 1:
            raise ValueError("this picture is of one learner; with more than two classes there are several")
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
        shown = [shown(name) for name in names]
        crowded = sum(map(len, shown)) > 30
        ax.set_xticks(
            range(1, len(names) + 1), shown, rotation=30 if crowded else 0, ha="right" if crowded else "center"
        )
        if self.bayes_rate is not None:
            ax.axhline(self.bayes_rate, color=PURPLE, linestyle="--", label=f"Bayes rate {self.bayes_rate:.3f}")
            legend_beside(ax)
        ax.set(ylabel=self.figure)
        grid(ax, "y")
        ax.set_axisbelow(True)
