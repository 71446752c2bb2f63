"""Pictures, in scikit-learn's Display convention: ``from_estimator``, ``from_predictions``, ``plot(ax=…)``.

Colours are Okabe and Ito's, which colour-blind people can tell apart; lines and marks differ in form too, so that a
grey print can be read. Needs matplotlib: ``pip install 'discern[plot]'``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from discern.evaluation.curves import Ranking
from discern.evaluation.evaluation import BINS, Calibration, Evaluation
from discern.evaluation.significance import wilson

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

BLACK, GREY = "#000000", "#767676"
BLUE, ORANGE, GREEN, VERMILLION, PURPLE, SKY, YELLOW = (
    "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442",
)  # fmt: skip
COLOURS = (BLUE, ORANGE, GREEN, VERMILLION, PURPLE, SKY, YELLOW)
MARKS = ("o", "s", "^", "D", "v", "P", "X")
LINES: tuple[Any, ...] = ("-", "--", ":", "-.", (0, (5, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)))


MOST_POINTS = 2000
"""Curves are drawn with so many points at most: more cannot be seen."""


def _fewer(points: int) -> Any:
    """Choose points of a long curve, evenly, the ends among them."""
    return slice(None) if points <= MOST_POINTS else np.linspace(0, points - 1, MOST_POINTS).astype(int)


class _Display:
    """What every picture has after ``plot``: ``ax_`` and ``figure_``."""

    ax_: Any
    figure_: Any
    size: ClassVar[tuple[float, float]] = (5.6, 4.2)

    def _begin(self, ax: Any) -> Any:
        if ax is None:
            try:
                import matplotlib.pyplot as plt
            except ImportError as error:
                raise ImportError("pictures need matplotlib; install it with: pip install 'discern[plot]'") from error
            _, ax = plt.subplots(figsize=self.size, layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        return ax


def _shown(name: Any, most: int = 24) -> str:
    """Return a name as it can stand in a picture: short, one line, and no formula."""
    text = "".join(character if character.isprintable() else "\ufffd" for character in str(name))
    return (text if len(text) <= most else text[: most - 1] + "…").replace("$", r"\$")


def _legend_beside(ax: Any) -> None:
    """Put the legend where it cannot cover anything."""
    ax.legend(loc="upper left", bbox_to_anchor=(1.02, 1.0), borderaxespad=0.0, frameon=False)


def _legend_below(ax: Any, columns: int = 3) -> None:
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=columns, frameon=False)


def _unit_square(ax: Any, x: str, y: str) -> None:
    ax.set(xlabel=x, ylabel=y, xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    ax.grid(True, color="#DDDDDD", linewidth=0.6)
    ax.set_axisbelow(True)


def _labels_of(estimator: Any) -> list[Any]:
    # Classifier, BayesClassifier, and whatever follows scikit-learn.
    return list(
        next(getattr(estimator, name) for name in ("labels", "classes", "classes_") if hasattr(estimator, name))
    )


def _scores_of(estimator: Any, X: Any, positive: Any) -> tuple[Floats, Any]:
    """Return the scores of the positive label, the last by default, and that label."""
    labels = _labels_of(estimator)
    label = labels[-1] if positive is None else positive
    if label not in labels:
        raise ValueError(f"there is no label {label!r}; there are {labels}")
    if hasattr(estimator, "predict_proba"):
        return np.asarray(estimator.predict_proba(X))[:, labels.index(label)], label
    scores = np.asarray(estimator.decision_function(X), np.float64)
    if scores.ndim > 1:
        return scores[:, labels.index(label)], label
    return scores if labels.index(label) == 1 else -scores, label


# ------------------------------------------------------------------------------------------- confusion matrix


@dataclass
class ConfusionMatrixDisplay(_Display):
    """A confusion matrix, predicted in rows and true in columns as in the textbooks, or the other way round."""

    confusion: NDArray[np.int64]
    labels: Sequence[str]
    orientation: str = "predicted-true"

    @classmethod
    def from_evaluation(cls, evaluation: Evaluation, *, ax: Any = None, orientation: str = "predicted-true") -> Self:
        """Draw the matrix of an evaluation."""
        return cls(evaluation.matrix(orientation), evaluation.labels, orientation).plot(ax=ax)

    @classmethod
    def from_predictions(cls, y_true: Any, y_pred: Any, *, ax: Any = None, orientation: str = "predicted-true") -> Self:
        """Draw the matrix of true and decided labels."""
        labels = sorted({*map(str, y_true), *map(str, y_pred)})
        evaluation = Evaluation.of(y_true, y_pred, np.zeros((len(y_true), len(labels))), labels)
        return cls.from_evaluation(evaluation, ax=ax, orientation=orientation)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, ax: Any = None, orientation: str = "predicted-true"
    ) -> Self:
        """Draw the matrix of a classifier's decisions."""
        return cls.from_predictions(y, estimator.predict(X), ax=ax, orientation=orientation)

    def plot(self, ax: Any = None) -> Self:
        """Draw; a cell is the darker, the larger its share of the true label."""
        ax = self._begin(ax)
        axis = 0 if self.orientation == "predicted-true" else 1
        shares = self.confusion / np.maximum(self.confusion.sum(axis=axis, keepdims=True), 1)
        ax.imshow(shares, cmap="Blues", vmin=0, vmax=1.15, aspect="auto")
        if len(self.labels) <= 12:
            for (row, column), count in np.ndenumerate(self.confusion):
                colour = "white" if shares[row, column] > 0.6 else BLACK
                ax.text(column, row, f"{count:,}", ha="center", va="center", color=colour)
        places = range(len(self.labels))
        names = [_shown(label) for label in self.labels]
        crowded = len(names) > 6 or max(map(len, names), default=0) > 9
        ax.set_xticks(places, names, rotation=45 if crowded else 0, ha="right" if crowded else "center")
        ax.set_yticks(places, names)
        sides = ("true", "predicted") if axis == 0 else ("predicted", "true")
        ax.set(xlabel=sides[0], ylabel=sides[1])
        return self


# --------------------------------------------------------------------------------------- curves of the scores


@dataclass
class _RankingDisplay(_Display):
    ranking: Ranking
    positive: Any = ""
    name: str | None = None
    chosen: float | None = None
    """The threshold that was chosen, to be marked."""

    @classmethod
    def from_evaluation(
        cls, evaluation: Evaluation, *, positive: str | None = None, chosen: float | None = None, ax: Any = None
    ) -> Self:
        """Draw the curve of an evaluation's label, by default the last, against the rest."""
        return cls(evaluation.ranking(positive), evaluation.positive(positive), chosen=chosen).plot(ax=ax)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_score: Any,
        *,
        positive: Any = None,
        name: str | None = None,
        chosen: float | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the curve of scores; ``positive`` is by default the last label."""
        true = np.asarray(y_true)
        label = np.unique(true)[-1] if positive is None else positive
        return cls(Ranking.of(y_score, true == label), label, name, chosen).plot(ax=ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        positive: Any = None,
        name: str | None = None,
        chosen: float | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the curve of a classifier's probabilities, or of its scores if it has none."""
        scores, label = _scores_of(estimator, X, positive)
        title = name or type(estimator).__name__
        return cls.from_predictions(y, scores, positive=label, name=title, chosen=chosen, ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw."""
        ax = self._begin(ax)
        self._draw(ax)
        return self

    def _draw(self, ax: Any) -> None:
        raise TypeError("each curve draws itself")

    def _called(self, figure: str) -> str:
        return f"{self.name} ({figure})" if self.name else figure


class RocDisplay(_RankingDisplay):
    """The ROC curve with its area, and the point of the chosen threshold (ISLR Figure 4.8)."""

    size = (5.2, 4.9)

    def _draw(self, ax: Any) -> None:
        curve = self.ranking.roc().thinned()
        number = len([line for line in ax.lines if line.get_gid() == "curve"])
        style = {"color": COLOURS[number % 7], "linestyle": LINES[number % 7]}
        some = _fewer(len(curve.x))
        ax.plot(curve.x[some], curve.y[some], **style, gid="curve", label=self._called(f"AUC {self.ranking.auc:.4f}"))
        if not number:
            ax.plot([0, 1], [0, 1], color=GREY, linestyle=":", linewidth=1, label="chance")
        if self.chosen is not None:
            caught, alarms = self.ranking.at(self.chosen)
            x, y = alarms / self.ranking.negative_rows, caught / self.ranking.positive_rows
            ax.plot([x], [y], "o", color=VERMILLION, markersize=8, label=f"threshold {self.chosen:.3g}", clip_on=False)
        _unit_square(ax, "false positive rate", "true positive rate")
        _legend_below(ax, 1)


class PrecisionRecallDisplay(_RankingDisplay):
    """Precision against recall."""

    size = (5.2, 4.9)

    def _draw(self, ax: Any) -> None:
        curve = self.ranking.precision_recall()
        base = self.ranking.positive_rows / (self.ranking.positive_rows + self.ranking.negative_rows)
        label = self._called(f"average precision {self.ranking.average_precision:.4f}")
        x, y = np.append(0, curve.x), np.append(curve.y[0], curve.y)
        some = _fewer(len(x))
        ax.plot(x[some], y[some], color=BLUE, drawstyle="steps-pre", label=label)
        ax.axhline(base, color=GREY, linestyle=":", linewidth=1, label=f"share of {_shown(self.positive)} ({base:.3f})")
        if self.chosen is not None:
            caught, alarms = (int(count) for count in self.ranking.at(self.chosen))
            precision = caught / (caught + alarms) if caught + alarms else 1.0
            place = [caught / self.ranking.positive_rows], [precision]
            ax.plot(*place, "o", color=VERMILLION, markersize=8, label=f"threshold {self.chosen:.3g}", clip_on=False)
        _unit_square(ax, "recall", "precision")
        _legend_below(ax, 1)


class ThresholdErrorDisplay(_RankingDisplay):
    """Error rates against the threshold: overall, of the positive and of the negative rows (ISLR Figure 4.7)."""

    def _draw(self, ax: Any) -> None:
        thresholds, *rates = self.ranking.errors()
        order = np.argsort(thresholds)[_fewer(len(thresholds))]
        x = np.minimum(thresholds[order], max(1.0, float(self.ranking.scores[0])))
        positive = _shown(self.positive)
        names = ("all rows", f"{positive} missed", f"others called {positive}")
        for rate, name, colour, line in zip(rates, names, (BLACK, BLUE, ORANGE), ("-", "--", ":"), strict=True):
            width = 2.4 if line == ":" else 1.6
            ax.plot(x, rate[order], color=colour, linestyle=line, linewidth=width, label=name, drawstyle="steps-pre")
        if self.chosen is not None:
            ax.axvline(self.chosen, color=VERMILLION, linewidth=1, label=f"threshold {self.chosen:.3g}")
        ax.set(xlabel="threshold", ylabel="error rate", ylim=(-0.02, 1.02))
        ax.grid(True, color="#DDDDDD", linewidth=0.6)
        _legend_below(ax, 2 if len(positive) <= 12 else 1)


class DetectionErrorDisplay(_RankingDisplay):
    """Misses against false alarms, both on normal quantiles, where good classifiers can be told apart."""

    def _draw(self, ax: Any) -> None:
        from statistics import NormalDist

        curve = self.ranking.detection_error().thinned()
        inside = (curve.x > 0) & (curve.x < 1) & (curve.y > 0) & (curve.y < 1)
        quantile = np.vectorize(NormalDist().inv_cdf, otypes=[float])
        if inside.any():
            ax.plot(
                quantile(curve.x[inside]),
                quantile(curve.y[inside]),
                color=BLUE,
                label=self.name or _shown(self.positive),
            )
            _legend_below(ax)
        ticks = np.array([0.001, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99])
        ax.set_xticks(quantile(ticks), [f"{tick:g}" for tick in ticks])
        ax.set_yticks(quantile(ticks), [f"{tick:g}" for tick in ticks])
        ax.set(xlabel="false positive rate", ylabel="false negative rate")
        ax.grid(True, color="#DDDDDD", linewidth=0.6)


class CostCurveDisplay(_RankingDisplay):
    """The least expected cost for every ratio of costs (Drummond and Holte 2006)."""

    def _draw(self, ax: Any) -> None:
        curve = self.ranking.cost_curve()
        ax.plot(curve.x, curve.y, color=BLUE, label=self.name or "best threshold")
        ax.plot([0, 0.5, 1], [0, 0.5, 0], color=GREY, linestyle=":", label="always the same label")
        ax.set(xlabel=f"share of the cost that {_shown(self.positive)} carries", ylabel="normalised expected cost")
        ax.set(xlim=(0, 1), ylim=(0, 0.52))
        ax.grid(True, color="#DDDDDD", linewidth=0.6)
        _legend_below(ax, 2)


@dataclass
class ReliabilityDisplay(_Display):
    """How often the most probable label is right, against how sure the classifier was, and how many rows there are."""

    calibration: Calibration
    name: str | None = None
    size: ClassVar[tuple[float, float]] = (5.2, 4.9)

    @classmethod
    def from_evaluation(cls, evaluation: Evaluation, *, bins: int = BINS, ax: Any = None) -> Self:
        """Draw the calibration of an evaluation."""
        return cls(evaluation.calibration(bins)).plot(ax=ax)

    @classmethod
    def from_predictions(
        cls, y_true: Any, probabilities: Any, labels: Sequence[Any], *, bins: int = BINS, ax: Any = None
    ) -> Self:
        """Draw the calibration of probabilities, a column for each label."""
        evaluation = Evaluation.of(y_true, y_true, probabilities, labels)
        return cls(evaluation.calibration(bins)).plot(ax=ax)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, bins: int = BINS, ax: Any = None) -> Self:
        """Draw the calibration of a classifier."""
        labels = _labels_of(estimator)
        evaluation = Evaluation.of(y, y, estimator.predict_proba(X), labels)
        return cls(evaluation.calibration(bins), type(estimator).__name__).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw."""
        ax, table = self._begin(ax), self.calibration
        used, bins = table.rows > 0, len(table.rows)
        edges = (np.arange(bins) + 0.5) / bins
        crowd = ax.twinx()
        crowd.bar(edges, table.rows, 0.9 / bins, color="#D9D9D9", zorder=0)
        crowd.set(ylabel="rows (grey bars)", ylim=(0, max(3.2 * table.rows.max(initial=1), 1)))
        ax.set_zorder(crowd.get_zorder() + 1)
        ax.patch.set_visible(False)
        confidence = table.confidence[used] / table.rows[used]
        label = f"{self.name + ' ' if self.name else ''}calibration error {table.error:.4f}"
        ax.plot([0, 1], [0, 1], color=GREY, linestyle=":", label="perfect")
        bounds = [wilson(right, rows) for right, rows in zip(table.right[used], table.rows[used], strict=True)]
        reach = [table.share[used] - [each.low for each in bounds], [each.high for each in bounds] - table.share[used]]
        ax.errorbar(confidence, table.share[used], np.maximum(reach, 0), fmt="o-", color=BLUE, capsize=2, label=label)
        _unit_square(ax, "probability of the most probable label", "share that was right")
        _legend_below(ax, 2)
        return self


# ------------------------------------------------------------------------------------------- two dimensions


@dataclass
class _PlaneDisplay(_Display):
    """Rows in a plane, with what a classifier says everywhere in it."""

    X: Floats
    y: NDArray[Any]
    labels: Sequence[Any]
    xx: Floats
    yy: Floats
    values: Floats
    """What the classifier says at each point of the grid."""
    names: Sequence[str] = ("x1", "x2")
    size: ClassVar[tuple[float, float]] = (6.2, 4.4)

    @classmethod
    def _grid(cls, X: Any, resolution: int) -> tuple[Floats, Floats, Floats, Floats]:
        rows = np.asarray(X, np.float64)
        if rows.ndim != 2 or rows.shape[1] != 2:
            raise ValueError(f"this picture needs two columns; there are {rows.shape[-1]}")
        low, high = rows.min(axis=0), rows.max(axis=0)
        margin = 0.06 * np.where(high > low, high - low, 1.0)
        axes = (np.linspace(low[k] - margin[k], high[k] + margin[k], resolution) for k in (0, 1))
        xx, yy = np.meshgrid(*axes)
        return rows, xx, yy, np.column_stack([xx.ravel(), yy.ravel()])

    def _points(self, ax: Any, size: float = 22) -> None:
        for place, label in enumerate(self.labels):
            mine = self.y == label
            style = {"color": COLOURS[place % 7], "marker": MARKS[place % 7]}
            ax.scatter(
                *self.X[mine].T, s=size, **style, edgecolor="white", linewidth=0.4, label=_shown(label), zorder=3
            )
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        ax.set(xlim=(self.xx.min(), self.xx.max()), ylim=(self.yy.min(), self.yy.max()))


def _names_of(X: Any) -> Sequence[str]:
    return [str(name) for name in X.columns] if hasattr(X, "columns") else ("x1", "x2")


@dataclass
class DecisionBoundaryDisplay(_PlaneDisplay):
    """Where a classifier decides for which label, and the Bayes boundary dashed (ISLR Figures 4.6 and 4.9)."""

    bayes: Floats | None = None
    """The best decision at each point of the grid."""

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

    def plot(self, ax: Any = None) -> Self:
        """Draw."""
        ax = self._begin(ax)
        levels = np.arange(len(self.labels) + 1) - 0.5
        tints = [COLOURS[place % 7] for place in range(len(self.labels))]
        ax.contourf(self.xx, self.yy, self.values, levels=levels, colors=tints, alpha=0.15)
        self._points(ax)
        self._boundary(ax, self.values, "-", BLACK, "boundary")
        if self.bayes is not None:
            self._boundary(ax, self.bayes, "--", VERMILLION, "Bayes boundary")
        _legend_beside(ax)
        return self

    def _boundary(self, ax: Any, values: Floats, line: str, colour: str, name: str) -> None:
        for place in range(len(self.labels) - 1):
            inside = (values <= place).astype(float)
            if 0 < inside.mean() < 1:
                ax.contour(
                    self.xx, self.yy, inside, levels=[0.5], colors=[colour], linestyles=[line], linewidths=1.6, zorder=4
                )
        ax.plot([], [], color=colour, linestyle=line, label=name)


@dataclass
class DensityContourDisplay(_PlaneDisplay):
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
        return cls(rows, np.asarray(y), _labels_of(estimator), xx, yy, values, _names_of(X)).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw contours at equal steps below each class's highest density."""
        ax = self._begin(ax)
        self._points(ax, 14)
        for place, density in enumerate(self.values):
            levels = density.max() * np.array([0.02, 0.1, 0.3, 0.6, 0.9])
            if np.all(np.diff(levels) > 0):
                style = {"colors": [COLOURS[place % 7]], "linestyles": [LINES[place % 7]]}
                ax.contour(self.xx, self.yy, density, levels=levels, linewidths=1.4, zorder=4, **style)
        _legend_beside(ax)
        return self


@dataclass
class MarginDisplay(_PlaneDisplay):
    """The separating line, its margin, and the support vectors ringed."""

    support: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, resolution: int = 300, ax: Any = None) -> Self:
        """Draw a fitted support vector machine with two labels; X and y are what it was fitted on."""
        rows, xx, yy, points = cls._grid(X, resolution)
        scores = np.asarray(estimator.decision_function(points), np.float64)
        if scores.ndim > 1:
            raise ValueError("a margin is drawn between two labels; there are more")
        inner = np.asarray(estimator.decision_function(rows))
        signs = np.where(np.asarray(y) == _labels_of(estimator)[1], 1, -1)
        support = np.asarray(getattr(estimator, "support_", np.flatnonzero(signs * inner <= 1 + 1e-6)))
        return cls(
            rows, np.asarray(y), _labels_of(estimator), xx, yy, scores.reshape(xx.shape), _names_of(X), support
        ).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw."""
        ax = self._begin(ax)
        self._points(ax, 30)
        lines = {"colors": BLACK, "zorder": 2}
        ax.contour(self.xx, self.yy, self.values, levels=[-1, 0, 1], linestyles=["--", "-", "--"], **lines)
        ring = {"facecolor": "none", "edgecolor": BLACK, "linewidth": 1.3, "zorder": 4}
        ax.scatter(*self.X[self.support].T, s=110, **ring, label="support vector")
        ax.plot([], [], color=BLACK, label="separator")
        ax.plot([], [], color=BLACK, linestyle="--", label="margin")
        _legend_beside(ax)
        return self


@dataclass
class DiscriminantPlaneDisplay(_Display):
    """Rows in the plane of the first two discriminant directions, with the class centres."""

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
        return cls(projected[:, :2], np.asarray(y), _labels_of(estimator)).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw."""
        ax = self._begin(ax)
        for place, label in enumerate(self.labels):
            mine = self.projected[self.y == label]
            style = {"color": COLOURS[place % 7], "marker": MARKS[place % 7]}
            ax.scatter(*mine.T, s=22, **style, edgecolor="white", linewidth=0.4, alpha=0.85, label=_shown(label))
        for place, label in enumerate(self.labels):
            mine = self.projected[self.y == label]
            style = {"color": COLOURS[place % 7], "marker": MARKS[place % 7]}
            ax.scatter(*mine.mean(axis=0), s=150, **style, edgecolor=BLACK, linewidth=1.5, zorder=4)
        ax.set(xlabel="first discriminant", ylabel="second discriminant")
        _legend_beside(ax)
        return self


# -------------------------------------------------------------------------------------------- words and terms


@dataclass
class WordWeightsDisplay(_Display):
    """The words that speak most for labels, as bars; a mapping of label to (word, weight)."""

    weights: Mapping[str, Sequence[tuple[str, float]]]

    @classmethod
    def from_estimator(cls, model: Any, *, labels: Sequence[str] | None = None, top: int = 10, ax: Any = None) -> Self:
        """Draw the strongest words of a :class:`discern.Classifier`."""
        shown = labels or list(model.labels)[:4]
        return cls({label: model.weights(label, top) for label in shown}).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw one group of bars below the other."""
        ax = self._begin(ax)
        names, place = [], 0.0
        for number, (label, words) in enumerate(self.weights.items()):
            places = place + np.arange(len(words))
            style = {"color": COLOURS[number % 7], "hatch": ("", "//", "..", "xx")[number % 4], "edgecolor": "white"}
            ax.barh(places, [weight for _, weight in words], 0.8, label=_shown(label), **style)
            names += [(y, word) for y, (word, _) in zip(places, words, strict=True)]
            place += len(words) + 1
        ax.set_yticks([y for y, _ in names], [_shown(word) for _, word in names])
        ax.invert_yaxis()
        ax.set(xlabel="nats for the label, against the others")
        if len(ax.figure.axes) == 1:
            ax.figure.set_figheight(max(2.5, 0.24 * place + 1))
        _legend_beside(ax)
        return self


@dataclass
class EvidenceDisplay(_Display):
    """Why one text got its label, as a waterfall: each bar begins where the one above it ends."""

    steps: Sequence[tuple[str, float]]
    label: str
    against: str

    @classmethod
    def from_evidence(cls, evidence: Any, *, top: int = 12, ax: Any = None) -> Self:
        """Draw what :meth:`discern.Classifier.explain` gives; the weaker terms are added up in one bar."""
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

    def plot(self, ax: Any = None) -> Self:
        """Draw."""
        ax = self._begin(ax)
        weights = np.array([weight for _, weight in self.steps])
        ends = np.cumsum(weights)
        starts = ends - weights
        for place, (start, weight) in enumerate(zip(starts, weights, strict=True)):
            style = {"color": BLUE} if weight >= 0 else {"color": ORANGE, "hatch": "//"}
            ax.barh(place, weight, 0.7, left=start, edgecolor="white", **style)
        ax.barh(len(weights), ends[-1], 0.7, color=BLACK)
        for place, end in enumerate(ends):
            ax.plot([end, end], [place + 0.35, place + 0.65], color=GREY, linewidth=0.8)
        ax.set_yticks(range(len(weights) + 1), [*(_shown(name, 30) for name, _ in self.steps), "log odds"])
        ax.invert_yaxis()
        ax.axvline(0, color=BLACK, linewidth=0.8)
        ax.set(xlabel=f"nats: ← {_shown(self.against)}     {_shown(self.label)} →")
        ax.use_sticky_edges = False
        ax.margins(x=0.06)
        return self


def _times(term: Any) -> str:
    count = getattr(term, "count", 1)
    shown = str(getattr(term, "shown", term.term))
    return f"{shown} ×{count}" if count > 1 else shown


# ------------------------------------------------------------------------------------------------ comparisons


@dataclass
class PerceptronDisplay(_Display):
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

    def plot(self, ax: Any = None) -> Self:
        """Draw; logarithmic where the bound is far away."""
        ax = self._begin(ax)
        total = np.cumsum(self.updates)
        ax.plot(np.arange(1, len(total) + 1), total, "o-", color=BLUE, label=f"updates ({int(total[-1]):,} in all)")
        if self.bound is not None:
            ax.axhline(self.bound, color=VERMILLION, linestyle="--", label=f"Novikoff's bound ({self.bound:,.0f})")
            if self.bound > 20 * max(int(total[-1]), 1):
                ax.set_yscale("log")
        ax.set(xlabel="epoch", ylabel="updates so far")
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.grid(True, color="#DDDDDD", linewidth=0.6)
        _legend_below(ax, 2)
        return self


@dataclass
class BoxPlotDisplay(_Display):
    """Errors of several methods over folds or samples, and the Bayes rate as a line (ISLR Figures 4.10 and 4.11)."""

    values: Mapping[str, Any]
    figure: str = "error"
    bayes_rate: float | None = None

    def plot(self, ax: Any = None) -> Self:
        """Draw."""
        ax = self._begin(ax)
        names = list(self.values)
        style = {"medianprops": {"color": BLACK, "linewidth": 1.6}, "flierprops": {"marker": ".", "markersize": 4}}
        boxes = ax.boxplot([np.asarray(self.values[name]) for name in names], patch_artist=True, widths=0.6, **style)
        for place, box in enumerate(boxes["boxes"]):
            box.set(facecolor=COLOURS[place % 7], alpha=0.55, edgecolor=BLACK)
        shown = [_shown(name) for name in names]
        crowded = sum(map(len, shown)) > 30
        ax.set_xticks(
            range(1, len(names) + 1), shown, rotation=30 if crowded else 0, ha="right" if crowded else "center"
        )
        if self.bayes_rate is not None:
            ax.axhline(self.bayes_rate, color=PURPLE, linestyle="--", label=f"Bayes rate {self.bayes_rate:.3f}")
            _legend_beside(ax)
        ax.set(ylabel=self.figure)
        ax.grid(True, axis="y", color="#DDDDDD", linewidth=0.6)
        ax.set_axisbelow(True)
        return self
