"""What the naive Bayes classifiers share: joint log probabilities to decisions, and rows that are forgotten."""

from __future__ import annotations

from typing import Any

import numpy as np

from discern.data.encode import EncodedLabels
from discern.estimators.base import BELOW_ZERO, NOTHING_LEFT, Array, BaseClassifier
from discern.estimators.checks import numbered
from discern.learners.bayes import posterior
from discern.learners.linear import best_of_rows


class NaiveBayesClassifier(BaseClassifier):
    """A classifier that adds up log probabilities."""

    class_count_: Array

    def predict_joint_log_proba(self, X: Any) -> Array:
        """Return log P(k) + log P(x|k)."""
        return self._joint(self._rows(X))

    def predict(self, X: Any) -> Array:
        """Return the class of each row."""
        best = self._best(self._rows(X))
        return np.asarray(self.classes_[best])

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class for each row."""
        return self._posterior(self._rows(X))

    def predict_log_proba(self, X: Any) -> Array:
        """Return the log probability of each class for each row."""
        from scipy.special import logsumexp

        joint = self.predict_joint_log_proba(X)
        return np.asarray(joint - logsumexp(joint, axis=1, keepdims=True))

    def _rows(self, X: Any) -> Any:
        """Return rows to decide about, checked."""
        raise TypeError("each event model has its own")

    def _joint(self, X: Any) -> Array:
        """Return log P(k) + log P(x|k) of rows that were checked."""
        raise TypeError("each event model has its own")

    def _best(self, X: Any) -> Array:
        """Return the number of the most probable class of rows that were checked."""
        return best_of_rows(self._joint(X))

    def _posterior(self, X: Any) -> Array:
        return posterior(self._joint(X), in_place=True)

    def _known(self, y: Array) -> EncodedLabels:
        """Number the labels of rows to forget, all of which the model must know."""
        labels = numbered(y)
        self._check_known(labels.distinct)
        return labels


def remaining(largest: float, left: Array, *counts: Array) -> Array:
    """Return which classes are left when rows have been forgotten; refuses rows that were never learned.

    ``left`` is how many rows each class has then, ``counts`` what else must not go below zero, ``largest`` the largest
    of all these before: sums of weights are exact only to rounding.
    """
    if any(count.min(initial=0.0) < -1e-9 * (1 + largest) for count in (left, *counts)):
        raise ValueError(BELOW_ZERO)
    present = left > 1e-9
    if not present.any():
        raise ValueError(NOTHING_LEFT)
    return np.asarray(present)
