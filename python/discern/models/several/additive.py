"""Sums in a vector space where rows may have several labels: each label against the rest, from the same sums.

The rows of a label are those of all sets that it is in; the scatter of all rows is that of every label and its rest
together. So one matrix is factored for all labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discern.learners.normals.shrunken import ClassSums, solved
from discern.models.registry import MODELS
from discern.models.several.deciders import LabelLinear
from discern.models.several.naive_bayes import log_odds_of
from discern.models.vector_space.additive import class_sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discern.data.label_sets.sets import Membership
    from discern.models.vector_space.axes import Space
    from discern.models.vector_space.model import Pipeline
    from discern.statistics.sums import Sums

    Array = NDArray[np.float64]


@dataclass(frozen=True)
class LabelPairs:
    """Two classes for each label, the label and the rest: rows and means, and the scatter of all rows.

    Labels that all rows have, or none, are not among them.
    """

    own: Array
    """The number of rows of each label."""
    rows: int
    means: Array
    """The mean of the rows of each label, measured from that of all rows."""
    sums: ClassSums
    prior: Array

    @property
    def scatter(self) -> Array:
        """The products of all rows about their mean."""
        return np.asarray(self.sums.pooled + self.sums.between)

    @property
    def apart(self) -> Array:
        """The mean of each label less that of its rest: axes × labels."""
        return np.asarray(self.means.T * (self.rows / (self.rows - self.own)))


def ridge(pairs: LabelPairs, mass: float) -> tuple[Array, Array]:
    """Solve least squares on targets of ±1: weights, axes × labels, and intercepts."""
    target = 2.0 * pairs.own / pairs.rows - 1.0
    cross = 2.0 * pairs.own * pairs.means.T
    weights = solved(pairs.scatter + np.diag(mass * pairs.sums.added), cross)
    return weights, target - pairs.sums.mean @ weights


def linear_discriminant(pairs: LabelPairs, mass: float) -> tuple[Array, Array]:
    """Solve the linear discriminant of each label and its rest.

    Without the products between the two classes, the scatter has one term less for each label: its inverse follows by
    the formula of Sherman and Morrison.
    """
    apart, rest = pairs.apart, pairs.rows - pairs.own
    inverse = solved(pairs.scatter + np.diag(mass * pairs.sums.added), apart)
    taken = 1.0 - pairs.own * rest / pairs.rows * (apart * inverse).sum(axis=0)
    weights = inverse * ((max(pairs.rows - 2, 0) + mass) / np.maximum(taken, 1e-12))
    square = (apart * weights).sum(axis=0)
    levels = pairs.prior - 0.5 * square * (rest - pairs.own) / pairs.rows
    return weights, levels - pairs.sums.mean @ weights


def centroids(pairs: LabelPairs, mass: float) -> tuple[Array, Array]:
    """Solve the nearer of two means."""
    own = pairs.sums.mean[:, None] + pairs.means.T
    rest = own - pairs.apart
    return pairs.apart, -0.5 * (np.square(own).sum(axis=0) - np.square(rest).sum(axis=0))


def decider_of(sums: Sums, members: Membership, space: Space, pipeline: Pipeline, cost: float) -> LabelLinear:
    """Derive the decider of all labels from the sums of sets in a space."""
    solve = MODELS[pipeline.model].labels_learner
    of_sets = class_sums(sums.columns[0], space)
    own, rows = members.sums(of_sets.counts).astype(np.float64), of_sets.rows
    prior = np.zeros(len(own))
    if pipeline.priors != "uniform":
        prior = log_odds_of(members.sums(sums.class_rows).astype(np.float64), sums.rows)
    weights, bias = np.zeros((space.n_axes, len(own))), prior.copy()
    used = np.flatnonzero((own > 0) & (own < rows))
    if len(used) and space.n_axes:
        apart = of_sets.counts[:, None] * (of_sets.means - of_sets.mean)
        means = members.sums(apart)[used] / own[used, None]
        pairs = LabelPairs(own[used], rows, means, of_sets, prior[used])
        weights[:, used], bias[used] = solve(pairs, 1.0 / cost)
    return LabelLinear(np.ascontiguousarray(weights), bias, len(own))
