"""Colors, marks and legends, and the base of all displays.

The colors are Okabe and Ito's, which color-blind people can tell apart. Lines and marks differ in form too, so that a
gray print can be read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

BLACK, GRAY = "#000000", "#767676"
BLUE, ORANGE, GREEN, VERMILLION, PURPLE, SKY, YELLOW = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#56B4E9",
    "#F0E442",
)
COLORS = (BLUE, ORANGE, GREEN, VERMILLION, PURPLE, SKY, YELLOW)
MARKS = ("o", "s", "^", "D", "v", "P", "X")
LINES: tuple[Any, ...] = ("-", "--", ":", "-.", (0, (5, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)))


MOST_POINTS = 2000
"""The maximum number of points of a curve: more cannot be seen."""


def fewer(points: int) -> Any:
    """Choose points of a long curve, evenly, the ends among them."""
    return slice(None) if points <= MOST_POINTS else np.linspace(0, points - 1, MOST_POINTS).astype(int)


class Display:
    """The base of all displays; after ``plot`` they have ``ax_`` and ``figure_``."""

    ax_: Any
    figure_: Any
    size: ClassVar[tuple[float, float]] = (5.6, 4.2)

    def plot(self, ax: Any = None) -> Self:
        """Draw on axes; by default on those of a new figure."""
        if ax is None:
            try:
                import matplotlib.pyplot as plt
            except ImportError as error:
                raise ImportError("plots need matplotlib; install it with: pip install 'discern[plot]'") from error
            _, ax = plt.subplots(figsize=self.size, layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        self._draw(ax)
        return self

    def _draw(self, ax: Any) -> None:
        raise TypeError("each display draws itself")


def mark(place: int) -> dict[str, Any]:
    """Return the color and the mark of a class."""
    return {"color": COLORS[place % 7], "marker": MARKS[place % 7]}


def grid(ax: Any, axis: str = "both") -> None:
    """Draw a light grid."""
    ax.grid(True, axis=axis, color="#DDDDDD", linewidth=0.6)


def shown(name: Any, most: int = 24) -> str:
    """Return a name as it can stand in a picture: short, one line, and no formula."""
    text = "".join(character if character.isprintable() else "\ufffd" for character in str(name))
    return (text if len(text) <= most else text[: most - 1] + "…").replace("$", r"\$")


def legend_beside(ax: Any) -> None:
    """Put the legend where it cannot cover anything."""
    ax.legend(loc="upper left", bbox_to_anchor=(1.02, 1.0), borderaxespad=0.0, frameon=False)


def legend_below(ax: Any, columns: int = 3) -> None:
    """Put the legend below the axes."""
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=columns, frameon=False)


def unit_square(ax: Any, x: str, y: str) -> None:
    """Label axes that go from 0 to 1."""
    ax.set(xlabel=x, ylabel=y, xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    grid(ax)
    ax.set_axisbelow(True)


def labels_of(estimator: Any) -> list[Any]:
    """Return the labels of a Classifier, a BayesClassifier or a scikit-learn classifier."""
    return list(
        next(getattr(estimator, name) for name in ("labels", "classes", "classes_") if hasattr(estimator, name))
    )


def scores_of(estimator: Any, X: Any, positive: Any) -> tuple[Floats, Any]:
    """Return the scores of the positive label, the last by default, and that label."""
    labels = labels_of(estimator)
    label = labels[-1] if positive is None else positive
    if label not in labels:
        raise ValueError(f"unknown label {label!r}; choose one of: {labels}")
    if hasattr(estimator, "predict_proba"):
        return np.asarray(estimator.predict_proba(X))[:, labels.index(label)], label
    scores = np.asarray(estimator.decision_function(X), np.float64)
    if scores.ndim > 1:
        return scores[:, labels.index(label)], label
    return scores if labels.index(label) == 1 else -scores, label
