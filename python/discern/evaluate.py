"""How good a classifier is, from true labels, decisions and probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

TINY = 1e-300
"""Probabilities below this count as this in the log loss, which stays finite."""


@dataclass(frozen=True)
class Evaluation:
    """Sums over judged rows; evaluations of parts add up to the evaluation of the whole.

    ``confusion[i, j]`` is the number of rows of true label ``labels[j]`` that were called ``labels[i]``.

    Examples
    --------
    >>> part = Evaluation.of(["a", "b"], ["a", "a"], np.array([[0.9, 0.1], [0.6, 0.4]]), ["a", "b"])
    >>> part.accuracy, (part + part).rows
    (0.5, 4)
    """

    labels: tuple[str, ...]
    confusion: NDArray[np.int64]
    log_loss_sum: float
    brier_sum: float
    unseen: int

    @classmethod
    def of(
        cls, true: Sequence[str], decided: Sequence[str], probabilities: NDArray[np.float64], labels: Sequence[str]
    ) -> Evaluation:
        """Judge decisions; ``probabilities`` has a column for each of ``labels``."""
        names = tuple(sorted({*labels, *true, *decided}))
        place = {label: index for index, label in enumerate(names)}
        confusion = np.zeros((len(names), len(names)), np.int64)
        np.add.at(confusion, ([place[label] for label in decided], [place[label] for label in true]), 1)
        column = {label: index for index, label in enumerate(labels)}
        columns = np.array([column.get(label, -1) for label in true], np.int64)
        known = columns >= 0
        right = np.where(known, probabilities[np.arange(len(columns)), columns], 0.0) if len(columns) else np.zeros(0)
        brier = (probabilities**2).sum() - 2 * right.sum() + len(columns)
        loss = -np.log(np.maximum(right, TINY)).sum()
        return cls(names, confusion, float(loss), float(brier), int((~known).sum()))

    def __add__(self, other: Evaluation) -> Evaluation:
        labels = tuple(sorted({*self.labels, *other.labels}))
        confusion = np.zeros((len(labels), len(labels)), np.int64)
        for part in (self, other):
            places = [labels.index(label) for label in part.labels]
            confusion[np.ix_(places, places)] += part.confusion
        return Evaluation(
            labels,
            confusion,
            self.log_loss_sum + other.log_loss_sum,
            self.brier_sum + other.brier_sum,
            self.unseen + other.unseen,
        )

    @property
    def rows(self) -> int:
        """The number of rows judged."""
        return int(self.confusion.sum())

    @property
    def accuracy(self) -> float:
        """The share of rows called right."""
        return _ratio(np.trace(self.confusion), self.rows)

    @property
    def log_loss(self) -> float:
        """The mean of −log of the probability given to the true label."""
        return _ratio(self.log_loss_sum, self.rows)

    @property
    def brier(self) -> float:
        """The mean squared distance of the probabilities from the truth."""
        return _ratio(self.brier_sum, self.rows)

    def per_label(self) -> dict[str, dict[str, float]]:
        """Give precision, recall, F1 and the number of rows of each label."""
        table = {}
        for index, label in enumerate(self.labels):
            right = float(self.confusion[index, index])
            called, true = float(self.confusion[index].sum()), float(self.confusion[:, index].sum())
            table[label] = {
                "precision": _ratio(right, called),
                "recall": _ratio(right, true),
                "f1": _ratio(2 * right, called + true),
                "rows": int(true),
            }
        return table

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain values."""
        return {
            "rows": self.rows,
            "accuracy": self.accuracy,
            "error": 1 - self.accuracy,
            "log_loss": self.log_loss,
            "brier": self.brier,
            "labels": list(self.labels),
            "confusion": self.confusion.tolist(),
            "per_label": self.per_label(),
            "rows_with_unseen_label": self.unseen,
        }


def _ratio(part: float, whole: float) -> float:
    return float(part) / float(whole) if whole else 0.0
