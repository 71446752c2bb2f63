"""Learning deciders where rows may have several labels: each label against the rest, over one matrix."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.data.label_sets.sets import Membership
from discern.learners.logistic.fitting import fit_logistic
from discern.learners.logistic.rows import LabeledRows
from discern.learners.margins import MarginSettings, fit_margins
from discern.learners.nbsvm import interpolated, ratios_of
from discern.learners.neighbors.votes import MOST_NEIGHBORS, Neighbors
from discern.learners.smoothing import Laplace
from discern.models.several.deciders import LabelLinear, LabelVotes, odds_of_votes
from discern.models.several.held_out import log_loss
from discern.models.several.naive_bayes import log_odds_of
from discern.models.vector_space.deciders import NEAR_CHOSEN

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discern.learners.margins import LinearMargins
    from discern.models.vector_space.deciders import Regularization

    Array = NDArray[np.float64]

MOST_WEIGHTS = 1 << 29
"""The most weights, of labels times axes, that fit in memory."""
HELD_OUT = 1e-2
"""The duality gap for scores of held-out rows, to which a line and thresholds are fitted."""


@dataclass(frozen=True)
class LabelTable:
    """What to learn from: a sparse matrix, and the number of each row's set of labels."""

    matrix: Any
    classes: NDArray[np.int32]
    members: Membership
    has_text: bool
    threads: int | None = None
    tolerance: float = 1e-4
    """The relative duality gap at which large margins are good enough."""

    @property
    def n_labels(self) -> int:
        """The number of labels."""
        return len(self.members.labels)

    @cached_property
    def sets(self) -> Any:
        """The labels of each row: a sparse matrix of ones."""
        return self.members.matrix[self.classes]

    @cached_property
    def by_set(self) -> NDArray[np.bool_]:
        """The sets that have each label: labels × sets."""
        return np.asarray(self.members.matrix.T.toarray() > 0)

    @cached_property
    def prior(self) -> Array:
        """The log odds of each label."""
        own = np.asarray(self.sets.sum(axis=0), np.float64).ravel()
        return log_odds_of(own, len(self.classes))

    @cached_property
    def is_silent(self) -> NDArray[np.bool_]:
        """Which labels all rows have, or none."""
        own = np.asarray(self.sets.sum(axis=0)).ravel()
        return np.asarray((own == 0) | (own == len(self.classes)))

    def each(self, learned: Callable[[NDArray[np.int32]], tuple[Array, float]]) -> LabelLinear:
        """Return the decider of functions that are learned one by one, from which rows have a label."""
        by_label = self.sets.tocsc()
        weights, bias = np.zeros((self.n_labels, self.matrix.shape[1])), np.zeros(self.n_labels)
        for place in np.flatnonzero(~self.is_silent).tolist():
            classes = np.zeros(len(self.classes), np.int32)
            classes[by_label.indices[by_label.indptr[place] : by_label.indptr[place + 1]]] = 1
            weights[place], bias[place] = learned(classes)
        return self.linear(weights.T, bias)

    def fitted(self, cost: float, scales: Array | None = None) -> LinearMargins:
        """Fit a large margin to each label that some rows have, but not all."""
        members, settings = self.by_set[~self.is_silent], MarginSettings(cost=cost, tolerance=self.tolerance)
        rows = (self.matrix, self.classes, members.shape[1], settings)
        return fit_margins(*rows, scales=scales, members=members, threads=self.threads)

    def with_silent(self, found: LinearMargins) -> LabelLinear:
        """Return the decider of the functions of :meth:`fitted`."""
        weights, bias = np.zeros((self.matrix.shape[1], self.n_labels)), self.prior.copy()
        weights[:, ~self.is_silent], bias[~self.is_silent] = found.coef.T, found.intercept
        return LabelLinear(weights, bias, self.n_labels)

    def linear(self, weights: Array, bias: Array) -> LabelLinear:
        """Return the decider of weights, axes × labels; labels that all rows have or none keep their prior."""
        weights = np.where(self.is_silent, 0.0, weights)
        return LabelLinear(np.ascontiguousarray(weights), np.where(self.is_silent, self.prior, bias), self.n_labels)

    def refuse_too_many(self) -> None:
        """Refuse what would not fit in memory."""
        if self.n_labels * self.matrix.shape[1] > MOST_WEIGHTS:
            raise ValueError(
                f"{self.n_labels:,} labels times {self.matrix.shape[1]:,} axes are more weights than fit in memory; "
                "pass max_terms or min_df, or use model='naive-bayes', whose weights are sparse"
            )


def learn(learner: Any, table: LabelTable, regularization: Regularization) -> Any:
    """Learn a decider; where there is nothing to tell apart or to tell by, it is the prior of each label."""
    table.refuse_too_many()
    if not table.n_labels or not table.matrix.shape[1]:
        return LabelLinear(np.zeros((table.matrix.shape[1], table.n_labels)), table.prior, table.n_labels)
    return learner(table, regularization)


def margins(table: LabelTable, regularization: Regularization) -> LabelLinear:
    """Learn a linear support vector machine for each label."""
    return table.with_silent(table.fitted(regularization.cost))


def nbsvm(table: LabelTable, regularization: Regularization) -> LabelLinear:
    """Learn a linear support vector machine for each label on log count ratios."""
    ratios = _ratios(table.matrix, table, regularization.smoothing)[~table.is_silent]
    return table.with_silent(interpolated(table.fitted(regularization.cost, ratios), ratios))


def _ratios(matrix: Any, table: LabelTable, smoothing: Any) -> Array:
    own = np.asarray((table.sets.T.astype(np.float64) @ matrix).toarray())
    return ratios_of(own, np.asarray(matrix.sum(axis=0)).ravel(), smoothing)


def unit_bayes(table: LabelTable, regularization: Regularization) -> LabelLinear:
    """Solve naive Bayes of terms that are there, as a linear decider, for rows of unit length."""
    there = table.matrix.copy()
    there.data = np.ones_like(there.data)
    smoothing = regularization.smoothing
    if isinstance(smoothing, Laplace):
        smoothing = Laplace(smoothing.alpha / regularization.cost)
    sizes = np.diff(table.matrix.indptr)
    short = float(np.mean(1.0 / np.sqrt(np.maximum(sizes, 1))))
    return table.linear(_ratios(there, table, smoothing).T, short * table.prior)


def logistic(table: LabelTable, regularization: Regularization) -> LabelLinear:
    """Learn a logistic regression for each label."""
    penalty = np.append(np.full(table.matrix.shape[1], 1.0 / regularization.cost), 0.0)

    def learned(classes: NDArray[np.int32]) -> tuple[Array, float]:
        found = fit_logistic(LabeledRows(table.matrix, classes, 2), penalty, tol=1e-3).coefficients
        return found[0, :-1], found[0, -1]

    return table.each(learned)


def neighbors(table: LabelTable, regularization: Regularization) -> LabelVotes:
    """Keep the rows, and choose how many neighbors vote."""
    rows = table.matrix if table.has_text else np.asarray(table.matrix.toarray())
    known = Neighbors.of("cosine" if table.has_text else "euclidean", rows, table.classes)
    shares = np.asarray(table.sets.mean(axis=0), np.float64).ravel()
    return LabelVotes(known, _count(known, table, shares), shares, table.by_set.T)


def _count(known: Neighbors, table: LabelTable, shares: Array) -> int:
    """Choose how many neighbors vote, by the log loss of rows spread evenly over all, each among the others."""
    some = np.linspace(0, len(known) - 1, min(len(known), NEAR_CHOSEN)).astype(np.int64)
    most = min(MOST_NEIGHBORS, len(known) - 1)
    if most < 1:
        return 1
    distances, places = known.rows.nearest(known.rows.take(some), most, some)
    votes = np.maximum(1.0 - distances, 0.0) if table.has_text else np.ones_like(distances)
    by_set, truth = table.by_set.T, table.members.truth(table.classes[some])
    own, total, losses = np.zeros(truth.shape), np.zeros((len(some), 1)), []
    for near in range(places.shape[1]):
        own += votes[:, [near]] * by_set[known.classes[places[:, near]]]
        total += votes[:, [near]]
        losses.append(log_loss(odds_of_votes(own, total, shares), truth))
    return int(np.argmin(losses)) + 1
