"""Displays of rows in a plane, and of what a classifier decides there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from discern.analysis.plots.style import (
    BLACK,
    COLORS,
    LINES,
    VERMILLION,
    Display,
    labels_of,
    legend_beside,
    mark,
    shown,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discern.analysis.plots.style import Floats


@dataclass
class PlaneDisplay(Display):
    """Rows in a plane, with the values of a classifier on a grid."""

    X: Floats
    y: NDArray[Any]
    labels: Sequence[Any]
    xx: Floats
    yy: Floats
    values: Floats
    """The value of the classifier at each point of the grid."""
    names: Sequence[str] = ("x1", "x2")
    size: ClassVar[tuple[float, float]] = (6.2, 4.4)

    @classmethod
    def _grid(cls, X: Any, resolution: int) -> tuple[Floats, Floats, Floats, Floats]:
        rows = np.asarray(X, np.float64)
        if rows.ndim != 2 or rows.shape[1] != 2:
            raise ValueError(f"this plot needs two columns, not {rows.shape[-1]}")
        low, high = rows.min(axis=0), rows.max(axis=0)
        margin = 0.06 * np.where(high > low, high - low, 1.0)
        axes = (np.linspace(low[k] - margin[k], high[k] + margin[k], resolution) for k in (0, 1))
        xx, yy = np.meshgrid(*axes)
        return rows, xx, yy, np.column_stack([xx.ravel(), yy.ravel()])

    def _points(self, ax: Any, size: float = 22) -> None:
        for place, label in enumerate(self.labels):
            mine = self.y == label
            style = mark(place)
            ax.scatter(*self.X[mine].T, s=size, **style, edgecolor="white", linewidth=0.4, label=shown(label), zorder=3)
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        ax.set(xlim=(self.xx.min(), self.xx.max()), ylim=(self.yy.min(), self.yy.max()))


def _names_of(X: Any) -> Sequence[str]:
    return [str(name) for name in X.columns] if hasattr(X, "columns") else ("x1", "x2")


@dataclass
class DecisionBoundaryDisplay(PlaneDisplay):
    """The label that a classifier predicts at each point, and the Bayes boundary dashed (ISLR Figures 4.6 and 4.9)."""

    bayes: Floats | None = None
    """The optimal label at each point of the grid."""

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, bayes: Any = None, resolution: int = 300, ax: Any = None
    ) -> Self:
        """Draw a fitted classifier; ``bayes`` is a classifier that knows the truth."""
        rows, xx, yy, points = cls._grid(X, resolution)
        labels = np.unique(np.asarray(y))
        values: Any = np.searchsorted(labels, np.asarray(estimator.predict(points))).reshape(xx.shape)
        best: Any = (
            None if bayes is None else np.searchsorted(labels, np.asarray(bayes.predict(points))).reshape(xx.shape)
        )
        return cls(rows, np.asarray(y), labels.tolist(), xx, yy, values, _names_of(X), best).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        levels = np.arange(len(self.labels) + 1) - 0.5
        tints = [COLORS[place % 7] for place in range(len(self.labels))]
        ax.contourf(self.xx, self.yy, self.values, levels=levels, colors=tints, alpha=0.15)
        self._points(ax)
        self._boundary(ax, self.values, "-", BLACK, "boundary")
        if self.bayes is not None:
            self._boundary(ax, self.bayes, "--", VERMILLION, "Bayes boundary")
        legend_beside(ax)

    def _boundary(self, ax: Any, values: Floats, line: str, color: str, name: str) -> None:
        for place in range(len(self.labels) - 1):
            inside = (values <= place).astype(float)
            if 0 < inside.mean() < 1:
                ax.contour(
                    self.xx, self.yy, inside, levels=[0.5], colors=[color], linestyles=[line], linewidths=1.6, zorder=4
                )
        ax.plot([], [], color=color, linestyle=line, label=name)


@dataclass
class DensityContourDisplay(PlaneDisplay):
    """Prior times density of each class as contours, for naive Bayes and for known densities."""

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, resolution: int = 150, ax: Any = None) -> Self:
        """Draw a fitted classifier that gives the joint log probability of rows and labels."""
        rows, xx, yy, points = cls._grid(X, resolution)
        joint = next(
            (
                getattr(estimator, name)
                for name in ("predict_joint_log_proba", "_joint_log_likelihood")
                if hasattr(estimator, name)
            ),
            None,
        )
        if joint is None:
            raise ValueError(f"{type(estimator).__name__} has no densities to draw")
        values = np.exp(np.asarray(joint(points))).T.reshape(-1, *xx.shape)
        return cls(rows, np.asarray(y), labels_of(estimator), xx, yy, values, _names_of(X)).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        """Draw contours at equal steps below each class's highest density."""
        self._points(ax, 14)
        for place, density in enumerate(self.values):
            levels = density.max() * np.array([0.02, 0.1, 0.3, 0.6, 0.9])
            if np.all(np.diff(levels) > 0):
                style = {"colors": [COLORS[place % 7]], "linestyles": [LINES[place % 7]]}
                ax.contour(self.xx, self.yy, density, levels=levels, linewidths=1.4, zorder=4, **style)
        legend_beside(ax)


@dataclass
class MarginDisplay(PlaneDisplay):
    """The separating line, its margin, and the support vectors ringed."""

    support: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, resolution: int = 300, ax: Any = None) -> Self:
        """Draw a fitted support vector machine with two labels; X and y are what it was fitted on."""
        rows, xx, yy, points = cls._grid(X, resolution)
        scores = np.asarray(estimator.decision_function(points), np.float64)
        if scores.ndim > 1:
            raise ValueError("a margin can be drawn for two labels only; fit two of them")
        inner = np.asarray(estimator.decision_function(rows))
        signs = np.where(np.asarray(y) == labels_of(estimator)[1], 1, -1)
        support = np.asarray(getattr(estimator, "support_", np.flatnonzero(signs * inner <= 1 + 1e-6)))
        return cls(
            rows, np.asarray(y), labels_of(estimator), xx, yy, scores.reshape(xx.shape), _names_of(X), support
        ).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        self._points(ax, 30)
        lines = {"colors": BLACK, "zorder": 2}
        ax.contour(self.xx, self.yy, self.values, levels=[-1, 0, 1], linestyles=["--", "-", "--"], **lines)
        ring = {"facecolor": "none", "edgecolor": BLACK, "linewidth": 1.3, "zorder": 4}
        ax.scatter(*self.X[self.support].T, s=110, **ring, label="support vector")
        ax.plot([], [], color=BLACK, label="separator")
        ax.plot([], [], color=BLACK, linestyle="--", label="margin")
        legend_beside(ax)


@dataclass
class DiscriminantPlaneDisplay(Display):
    """Rows in the plane of the first two discriminant directions, with the class centers."""

    projected: Floats
    y: NDArray[Any]
    labels: Sequence[Any]
    size: ClassVar[tuple[float, float]] = (6.2, 4.4)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, ax: Any = None) -> Self:
        """Draw rows as a fitted linear discriminant analysis projects them."""
        projected = np.asarray(estimator.transform(X), np.float64)
        if projected.shape[1] < 2:
            projected = np.column_stack([projected, np.zeros(len(projected))])
        return cls(projected[:, :2], np.asarray(y), labels_of(estimator)).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        for place, label in enumerate(self.labels):
            mine = self.projected[self.y == label]
            style = mark(place)
            ax.scatter(*mine.T, s=22, **style, edgecolor="white", linewidth=0.4, alpha=0.85, label=shown(label))
        for place, label in enumerate(self.labels):
            mine = self.projected[self.y == label]
            style = mark(place)
            ax.scatter(*mine.mean(axis=0), s=150, **style, edgecolor=BLACK, linewidth=1.5, zorder=4)
        ax.set(xlabel="first discriminant", ylabel="second discriminant")
        legend_beside(ax)
