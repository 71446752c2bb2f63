"""The search for the best model where rows may have several labels.

Candidates are compared by the mean over rows of F1 of their labels, and by the log loss of all labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.data.label_sets.sets import Membership
from discern.evaluation.calibration import Temperature
from discern.models.search import Search
from discern.models.several import space
from discern.models.several.held_out import Rows, held_out
from discern.models.several.scaling import line_of_all, softplus
from discern.models.validation.results import Result

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discern.models.candidates import Candidate
    from discern.models.resolved import Resolved
    from discern.models.validation.rows import Folds, Sample
    from discern.models.vector_space.model import Pipeline

    Array = NDArray[np.float64]

MOST_SCORES = 1 << 25
"""Rows × labels: with more, naive Bayes is learned without a search."""
THRESHOLD = float(np.log(0.4 / 0.6))
"""The log odds from which labels are predicted while candidates are compared: F1 is best below one half."""


@dataclass
class LabelsSearch(Search):
    """A search among candidates on rows that may have several labels."""

    def held_out(self, part: Sample, pipeline: Pipeline, folds: Folds) -> Array:
        return space.held_out(part, self.features, pipeline, folds, Membership.of(part.labels))

    def naive_bayes_scores(self, part: Sample, resolved: Resolved, folds: Folds) -> Array:
        rows = Rows(part, Membership.of(part.labels), folds)
        scored = held_out(rows, resolved.features, resolved.naive_bayes, resolved.text, self.min_df)
        return scored.calibrated(resolved.calibration)  # type: ignore[arg-type]

    def classes_of(self, part: Sample, folds: Folds) -> NDArray[Any]:
        return Membership.of(part.labels).truth(part.classes[folds.order])

    def result_of(
        self, candidate: Candidate, rows: int, seconds: float, scores: Array, classes: NDArray[Any]
    ) -> Result:
        slope, offset = line_of_all(scores, classes)
        odds = scores * slope + offset
        right = f1_of_rows(odds > THRESHOLD, classes)
        calibration = Temperature(1.0 / slope)
        return Result(candidate, rows, seconds, odds, classes, self.losses_of(odds, classes), right, calibration)

    def losses_of(self, scores: Array, classes: NDArray[Any]) -> Array:
        return np.asarray(softplus(np.where(classes, -scores, scores)).mean(axis=1))

    def shrunken(self, part: Sample, pipeline: Pipeline) -> Pipeline:
        return space.validated(part, self.features, pipeline, choose_cost=True)[0]


def f1_of_rows(decided: NDArray[np.bool_], truth: NDArray[np.bool_]) -> Array:
    """Return F1 of the labels of each row; one where there is none to find and none is predicted.

    Examples
    --------
    >>> truth = np.array([[True, False], [False, False]])
    >>> f1_of_rows(np.array([[True, True], [False, False]]), truth).round(3).tolist()
    [0.667, 1.0]
    """
    found, total = (decided & truth).sum(axis=1), decided.sum(axis=1) + truth.sum(axis=1)
    return np.where(total > 0, 2.0 * found / np.maximum(total, 1), 1.0)
