"""Displays of predictions: confusion matrix, curves of the scores, reliability."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from discern.analysis.plots.style import (
    BLACK,
    BLUE,
    COLORS,
    GRAY,
    LINES,
    ORANGE,
    VERMILLION,
    Display,
    fewer,
    grid,
    labels_of,
    legend_below,
    scores_of,
    shown,
    unit_square,
)
from discern.evaluation.curves import Ranking
from discern.evaluation.evaluation import BINS, Evaluation
from discern.evaluation.predictions import CalibrationBins
from discern.evaluation.significance import wilson

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass
class ConfusionMatrixDisplay(Display):
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
        """Draw the matrix of true and predicted labels."""
        labels = sorted({*map(str, y_true), *map(str, y_pred)})
        evaluation = Evaluation.of(y_true, y_pred, np.zeros((len(y_true), len(labels))), labels)
        return cls.from_evaluation(evaluation, ax=ax, orientation=orientation)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, ax: Any = None, orientation: str = "predicted-true"
    ) -> Self:
        """Draw the matrix of a classifier's predictions."""
        return cls.from_predictions(y, estimator.predict(X), ax=ax, orientation=orientation)

    def _draw(self, ax: Any) -> None:
        """Draw; a cell is the darker, the larger its share of the true label."""
        axis = 0 if self.orientation == "predicted-true" else 1
        shares = self.confusion / np.maximum(self.confusion.sum(axis=axis, keepdims=True), 1)
        ax.imshow(shares, cmap="Blues", vmin=0, vmax=1.15, aspect="auto")
        if len(self.labels) <= 12:
            for (row, column), count in np.ndenumerate(self.confusion):
                color = "white" if shares[row, column] > 0.6 else BLACK
                ax.text(column, row, f"{count:,}", ha="center", va="center", color=color)
        places = range(len(self.labels))
        names = [shown(label) for label in self.labels]
        crowded = len(names) > 6 or max(map(len, names), default=0) > 9
        ax.set_xticks(places, names, rotation=45 if crowded else 0, ha="right" if crowded else "center")
        ax.set_yticks(places, names)
        sides = ("true", "predicted") if axis == 0 else ("predicted", "true")
        ax.set(xlabel=sides[0], ylabel=sides[1])


# --------------------------------------------------------------------------------------- curves of the scores


@dataclass
class RankingDisplay(Display):
    """The base of the curves of a label's scores."""

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
        scores, label = scores_of(estimator, X, positive)
        title = name or type(estimator).__name__
        return cls.from_predictions(y, scores, positive=label, name=title, chosen=chosen, ax=ax)

    def _called(self, figure: str) -> str:
        return f"{self.name} ({figure})" if self.name else figure


class RocDisplay(RankingDisplay):
    """The ROC curve with its area, and the point of the chosen threshold (ISLR Figure 4.8)."""

    size = (5.2, 4.9)

    def _draw(self, ax: Any) -> None:
        curve = self.ranking.roc().thinned()
        number = len([line for line in ax.lines if line.get_gid() == "curve"])
        style = {"color": COLORS[number % 7], "linestyle": LINES[number % 7]}
        some = fewer(len(curve.x))
        ax.plot(curve.x[some], curve.y[some], **style, gid="curve", label=self._called(f"AUC {self.ranking.auc:.4f}"))
        if not number:
            ax.plot([0, 1], [0, 1], color=GRAY, linestyle=":", linewidth=1, label="chance")
        if self.chosen is not None:
            caught, alarms = self.ranking.at(self.chosen)
            x, y = alarms / self.ranking.negative_rows, caught / self.ranking.positive_rows
            ax.plot([x], [y], "o", color=VERMILLION, markersize=8, label=f"threshold {self.chosen:.3g}", clip_on=False)
        unit_square(ax, "false positive rate", "true positive rate")
        legend_below(ax, 1)


class PrecisionRecallDisplay(RankingDisplay):
    """Precision against recall."""

    size = (5.2, 4.9)

    def _draw(self, ax: Any) -> None:
        curve = self.ranking.precision_recall()
        base = self.ranking.positive_rows / (self.ranking.positive_rows + self.ranking.negative_rows)
        label = self._called(f"average precision {self.ranking.average_precision:.4f}")
        x, y = np.append(0, curve.x), np.append(curve.y[0], curve.y)
        some = fewer(len(x))
        ax.plot(x[some], y[some], color=BLUE, drawstyle="steps-pre", label=label)
        ax.axhline(base, color=GRAY, linestyle=":", linewidth=1, label=f"share of {shown(self.positive)} ({base:.3f})")
        if self.chosen is not None:
            caught, alarms = (int(count) for count in self.ranking.at(self.chosen))
            precision = caught / (caught + alarms) if caught + alarms else 1.0
            place = [caught / self.ranking.positive_rows], [precision]
            ax.plot(*place, "o", color=VERMILLION, markersize=8, label=f"threshold {self.chosen:.3g}", clip_on=False)
        unit_square(ax, "recall", "precision")
        legend_below(ax, 1)


class ThresholdErrorDisplay(RankingDisplay):
    """Error rates against the threshold: overall, of the positive and of the negative rows (ISLR Figure 4.7)."""

    def _draw(self, ax: Any) -> None:
        thresholds, *rates = self.ranking.errors()
        order = np.argsort(thresholds)[fewer(len(thresholds))]
        x = np.minimum(thresholds[order], max(1.0, float(self.ranking.scores[0])))
        positive = shown(self.positive)
        names = ("all rows", f"{positive} missed", f"others predicted as {positive}")
        for rate, name, color, line in zip(rates, names, (BLACK, BLUE, ORANGE), ("-", "--", ":"), strict=True):
            width = 2.4 if line == ":" else 1.6
            ax.plot(x, rate[order], color=color, linestyle=line, linewidth=width, label=name, drawstyle="steps-pre")
        if self.chosen is not None:
            ax.axvline(self.chosen, color=VERMILLION, linewidth=1, label=f"threshold {self.chosen:.3g}")
        ax.set(xlabel="threshold", ylabel="error rate", ylim=(-0.02, 1.02))
        grid(ax)
        legend_below(ax, 2 if len(positive) <= 12 else 1)


class DetectionErrorDisplay(RankingDisplay):
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
                label=self.name or shown(self.positive),
            )
            legend_below(ax)
        ticks = np.array([0.001, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99])
        ax.set_xticks(quantile(ticks), [f"{tick:g}" for tick in ticks])
        ax.set_yticks(quantile(ticks), [f"{tick:g}" for tick in ticks])
        ax.set(xlabel="false positive rate", ylabel="false negative rate")
        grid(ax)


class CostCurveDisplay(RankingDisplay):
    """The least expected cost for every ratio of costs (Drummond and Holte 2006)."""

    def _draw(self, ax: Any) -> None:
        curve = self.ranking.cost_curve()
        ax.plot(curve.x, curve.y, color=BLUE, label=self.name or "best threshold")
        ax.plot([0, 0.5, 1], [0, 0.5, 0], color=GRAY, linestyle=":", label="always the same label")
        ax.set(xlabel=f"share of the cost that {shown(self.positive)} carries", ylabel="normalized expected cost")
        ax.set(xlim=(0, 1), ylim=(0, 0.52))
        grid(ax)
        legend_below(ax, 2)


@dataclass
class ReliabilityDisplay(Display):
    """The accuracy of the most probable label against its probability, and the number of rows."""

    calibration: CalibrationBins
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
        labels = labels_of(estimator)
        evaluation = Evaluation.of(y, y, estimator.predict_proba(X), labels)
        return cls(evaluation.calibration(bins), type(estimator).__name__).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        table = self.calibration
        used, bins = table.rows > 0, len(table.rows)
        edges = (np.arange(bins) + 0.5) / bins
        bars = ax.twinx()
        bars.bar(edges, table.rows, 0.9 / bins, color="#D9D9D9", zorder=0)
        bars.set(ylabel="rows (gray bars)", ylim=(0, max(3.2 * table.rows.max(initial=1), 1)))
        ax.set_zorder(bars.get_zorder() + 1)
        ax.patch.set_visible(False)
        confidence = table.confidence[used] / table.rows[used]
        label = f"{self.name + ' ' if self.name else ''}calibration error {table.error:.4f}"
        ax.plot([0, 1], [0, 1], color=GRAY, linestyle=":", label="perfect")
        accuracy = table.accuracy[used]
        bounds = [wilson(correct, rows) for correct, rows in zip(table.correct[used], table.rows[used], strict=True)]
        reach = [accuracy - [each.low for each in bounds], [each.high for each in bounds] - accuracy]
        ax.errorbar(confidence, accuracy, np.maximum(reach, 0), fmt="o-", color=BLUE, capsize=2, label=label)
        unit_square(ax, "probability of the most probable label", "accuracy")
        legend_below(ax, 2)
