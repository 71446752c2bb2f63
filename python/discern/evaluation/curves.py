"""Curves of a classifier's scores: ROC, precision and recall, detection error, cost; areas and their intervals.

All of them depend on the scored rows only through a :class:`Ranking`: the positive and negative rows of each score.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.evaluation.significance import Interval, normal_quantile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Curve:
    """Points of a curve, with the threshold of each: rows that score at least as much are predicted positive."""

    x: Floats
    y: Floats
    thresholds: Floats

    def thinned(self) -> Curve:
        """Leave out the points that lie on a straight line with their neighbors: the picture is the same."""
        if len(self.x) < 3:
            return self
        dx, dy = np.diff(self.x), np.diff(self.y)
        bends = dx[:-1] * dy[1:] != dx[1:] * dy[:-1]
        keep = np.concatenate([[True], bends, [True]])
        return Curve(self.x[keep], self.y[keep], self.thresholds[keep])


@dataclass(frozen=True)
class Ranking:
    """How many positive and negative rows have each score, from the highest score to the lowest.

    Examples
    --------
    >>> ranking = Ranking.of([0.9, 0.8, 0.8, 0.1], [True, True, False, False])
    >>> ranking.positives.tolist(), ranking.negatives.tolist(), ranking.auc
    ([1, 1, 0], [0, 1, 1], 0.875)
    """

    scores: Floats
    positives: Integers
    negatives: Integers

    @classmethod
    def of(cls, scores: Any, positive: Any) -> Ranking:
        """Rank rows by score; ``positive`` marks the positive ones."""
        values, truth = np.asarray(scores, np.float64).ravel() + 0.0, np.asarray(positive, bool).ravel()
        if values.shape != truth.shape:
            raise ValueError(f"there are {len(values)} scores for {len(truth)} rows; pass one for each")
        if np.isnan(values).any():
            raise ValueError("a score is NaN; remove such rows, or score them")
        if len(values) and values.min() >= 0:
            return cls(*_ranked_packed(values, truth))
        distinct, places = np.unique(-values, return_inverse=True)
        all_rows = np.bincount(places, minlength=len(distinct))
        positives = np.bincount(places[truth], minlength=len(distinct))
        return cls(-distinct, positives, all_rows - positives)

    @cached_property
    def true_positives(self) -> Integers:
        """The number of positive rows that reach each score."""
        return np.cumsum(self.positives)

    @cached_property
    def false_positives(self) -> Integers:
        """The number of negative rows that reach each score."""
        return np.cumsum(self.negatives)

    @property
    def positive_rows(self) -> int:
        """The number of positive rows."""
        return int(self.true_positives[-1]) if len(self.scores) else 0

    @property
    def negative_rows(self) -> int:
        """The number of negative rows."""
        return int(self.false_positives[-1]) if len(self.scores) else 0

    def at(self, thresholds: Any) -> tuple[Integers, Integers]:
        """Return the true and the false positives when rows are predicted positive from each threshold on."""
        places = np.searchsorted(-self.scores, -np.asarray(thresholds, np.float64), side="right")
        totals = (np.concatenate([[0], counts]) for counts in (self.true_positives, self.false_positives))
        caught, alarms = (total[places] for total in totals)
        return caught, alarms

    def _require_both(self) -> None:
        if not self.positive_rows or not self.negative_rows:
            raise ValueError("a curve needs rows of the label and rows of others; one kind is missing")

    # ------------------------------------------------------------------------------------------------ areas

    @cached_property
    def _below(self) -> Integers:
        """Twice the number of negative rows below each score, a tie counting half."""
        return 2 * (self.negative_rows - self.false_positives) + self.negatives

    @property
    def auc(self) -> float:
        """The area under the ROC curve: the share of pairs in which the positive row scores higher; a tie is half."""
        self._require_both()
        return int(self.positives @ self._below) / (2 * self.positive_rows * self.negative_rows)

    @property
    def auc_variance(self) -> float:
        """The variance of the area by DeLong, DeLong and Clarke-Pearson (1988), from sums over distinct scores."""
        positive, negative, area = self.positive_rows, self.negative_rows, self.auc
        if min(positive, negative) < 2:
            return float("nan")
        won = self._below / (2 * negative)
        lost = (2 * self.true_positives - self.positives) / (2 * positive)
        spread_positive = self.positives @ (won - area) ** 2 / (positive - 1)
        spread_negative = self.negatives @ (lost - area) ** 2 / (negative - 1)
        return float(spread_positive / positive + spread_negative / negative)

    def auc_interval(self, level: float = 0.95) -> Interval:
        """Return DeLong's interval of the area."""
        reach = normal_quantile(level) * self.auc_variance**0.5
        return Interval(max(self.auc - reach, 0.0), min(self.auc + reach, 1.0), level)

    @property
    def average_precision(self) -> float:
        """The mean of the precision over the positive rows, each at its own score."""
        self._require_both()
        called = self.true_positives + self.false_positives
        return float(self.positives @ (self.true_positives / called) / self.positive_rows)

    # ----------------------------------------------------------------------------------------------- curves

    def roc(self) -> Curve:
        """Return the true positive rate against the false positive rate."""
        self._require_both()
        x = np.concatenate([[0.0], self.false_positives / self.negative_rows])
        y = np.concatenate([[0.0], self.true_positives / self.positive_rows])
        return Curve(x, y, np.concatenate([[np.inf], self.scores]))

    def precision_recall(self) -> Curve:
        """Return precision (y) against recall (x)."""
        self._require_both()
        precision = self.true_positives / (self.true_positives + self.false_positives)
        return Curve(self.true_positives / self.positive_rows, precision, self.scores)

    def detection_error(self) -> Curve:
        """Return the false negative rate against the false positive rate, to be drawn on normal quantiles."""
        roc = self.roc()
        return Curve(roc.x, 1 - roc.y, roc.thresholds)

    def errors(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Return thresholds, and the overall error, the error of the positive and of the negative rows at each."""
        roc = self.roc()
        missed, alarms = 1 - roc.y, roc.x
        overall = (missed * self.positive_rows + alarms * self.negative_rows) / (
            self.positive_rows + self.negative_rows
        )
        return roc.thresholds, overall, missed, alarms

    def cost_curve(self, points: int = 101) -> Curve:
        """Return the least normalized expected cost against the probability cost of the positive rows.

        Drummond and Holte (2006): x = p(+)C(−|+) / (p(+)C(−|+) + p(−)C(+|−)); cost = FNR·x + FPR·(1−x).
        """
        hull = self.hull()
        x = np.linspace(0, 1, points)
        costs = (1 - hull.y) * x[:, None] + hull.x * (1 - x[:, None])
        best = costs.argmin(axis=1)
        return Curve(x, costs[np.arange(points), best], hull.thresholds[best])

    def hull(self) -> Curve:
        """Return the points of the ROC curve that are best for some costs: its upper convex hull."""
        roc = self.roc().thinned()
        kept: list[int] = []
        for index in range(len(roc.x)):
            while len(kept) > 1 and not _turns_right(roc, kept[-2], kept[-1], index):
                kept.pop()
            kept.append(index)
        return Curve(roc.x[kept], roc.y[kept], roc.thresholds[kept])


def _turns_right(curve: Curve, first: int, second: int, third: int) -> bool:
    ahead = (curve.x[second] - curve.x[first]) * (curve.y[third] - curve.y[first])
    across = (curve.y[second] - curve.y[first]) * (curve.x[third] - curve.x[first])
    return bool(ahead < across)


def _ranked_packed(values: Floats, truth: NDArray[np.bool_]) -> tuple[Floats, Integers, Integers]:
    """Rank scores of at least 0.

    Their bits, read as whole numbers, are in the same order and have the first one free: the truth is packed beside
    them, and one sort of whole numbers does what an indirect sort would.
    """
    keys = values.view(np.uint64) << np.uint64(1)
    keys |= truth
    keys.sort()
    last = np.flatnonzero(np.append(keys[1:] ^ keys[:-1] > 1, True))
    seen = np.cumsum((keys & np.uint64(1)).astype(np.int64))[last]
    positives = np.diff(seen, prepend=0)
    scores = (keys[last] >> np.uint64(1)).view(np.float64)
    all_rows = np.diff(last, prepend=-1)
    return scores[::-1], positives[::-1], (all_rows - positives)[::-1]


def hand_till(probabilities: Floats, true: Integers) -> float:
    """Return the mean area over pairs of classes (Hand and Till 2001); ``true`` has the columns of the true labels."""
    classes = np.unique(true)
    if len(classes) < 2:
        raise ValueError("a curve needs rows of at least two labels")
    areas = []
    for place, first in enumerate(classes):
        for second in classes[place + 1 :]:
            pair = (true == first) | (true == second)
            truth = true[pair]
            areas.append(Ranking.of(probabilities[pair, first], truth == first).auc)
            areas.append(Ranking.of(probabilities[pair, second], truth == second).auc)
    return float(np.mean(areas))
