"""Decisions in a vector space where rows may have several labels: a function for each label, or votes for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.learners.neighbors.votes import Neighbors
from discern.models.columns.arrays import float_array
from discern.models.vector_space.deciders import Contribution, Linear

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


@dataclass(frozen=True)
class LabelLinear(Linear):
    """Scores x·w + b, one function for each label: above zero for rows that have it.

    Examples
    --------
    >>> import scipy.sparse
    >>> found = LabelLinear(np.array([[1.0, -1.0]]), np.array([0.0, 0.5]), 2)
    >>> found.scores(scipy.sparse.csr_array([[2.0]])).tolist()
    [[2.0, -1.5]]
    """

    def of_functions(self, values: Array) -> Array:
        return values

    def for_label(self, row: Any, label: int) -> Contribution:
        """Return what each axis contributes to a label for the only row of a matrix."""
        contributed = row.data * self.weights[row.indices, label]
        axes = dict(zip(row.indices.tolist(), contributed.tolist(), strict=True))
        return Contribution(float(self.bias[label]), 0.0, axes)

    def odds(self, label: int) -> Array:
        return self.weights[:, label]

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], n_axes: int, classes: int) -> LabelLinear:
        weights, bias = float_array(arrays["weights"]), float_array(arrays["bias"])
        if weights.shape != (n_axes, classes) or bias.shape != (classes,):
            raise ValueError("the weights do not match the terms and labels")
        return cls(weights, bias, classes)


@dataclass(frozen=True)
class LabelVotes:
    """Scores log (votes for a label + its share) − log (votes against it + the share of the rest).

    The nearest rows vote for all labels of their set, which is their class among ``members``, sets × labels. By cosine
    each vote weighs its similarity.
    """

    known: Neighbors
    count: int
    shares: Array
    members: NDArray[np.bool_]

    def scores(self, matrix: Any) -> Array:
        """Score rows."""
        places, votes = self._votes(matrix)
        return self._scores(places, votes)

    def _votes(self, matrix: Any) -> tuple[NDArray[np.int64], Array]:
        is_cosine = self.known.rows.metric == "cosine"
        distances, places = self.known.nearest(matrix if is_cosine else matrix.toarray(), self.count)
        return places, np.maximum(1.0 - distances, 0.0) if is_cosine else np.ones_like(distances)

    def _scores(self, places: NDArray[np.int64], votes: Array) -> Array:
        found = np.zeros((len(places), len(self.shares)))
        for near in range(places.shape[1]):
            found += votes[:, [near]] * self.members[self.known.classes[places[:, near]]]
        return np.asarray(odds_of_votes(found, votes.sum(axis=1, keepdims=True), self.shares))

    def for_label(self, row: Any, label: int) -> Contribution:
        """Return what each near row contributes to a label: its part in the votes for it or against it."""
        places, votes = (found[0] for found in self._votes(row))
        classes, share = self.known.classes[places], float(self.shares[label])
        has_label, contributed = self.members[classes, label], np.zeros(len(places))
        for own, prior, sign in ((has_label, share, 1.0), (~has_label, 1.0 - share, -1.0)):
            total = float(votes[own].sum())
            if total > 0:
                contributed[own] = sign * votes[own] / total * np.log1p(total / max(prior, SMALLEST))
        voting = np.flatnonzero(contributed)
        rows = tuple((int(self.known.ids[places[i]]), int(classes[i]), float(contributed[i])) for i in voting)
        none = odds_of_votes(np.zeros(1), np.zeros(1), np.array([share]))
        return Contribution(float(none[0]), 0.0, {}, rows)

    def odds(self, label: int) -> Array | None:
        """Return None: rows vote, not axes."""
        return None

    @property
    def parameters(self) -> int:
        """The number of numbers that are kept of the rows."""
        return int(max(array.size for array in self.known.rows.arrays().values()))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything as arrays, for the model file."""
        is_cosine = self.known.rows.metric == "cosine"
        own = {"count": np.array([self.count, is_cosine]), "shares": self.shares}
        return {**self.known.arrays(), **own, "members": self.members.astype(np.uint8)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], n_axes: int, classes: int) -> LabelVotes:
        """Make one of what :meth:`arrays` gave; raises ValueError if it does not fit together."""
        count, cosine = (int(number) for number in arrays["count"])
        members, shares = arrays["members"], float_array(arrays["shares"])
        if members.ndim != 2 or members.shape[1] != classes or shares.shape != (classes,) or members.max(initial=0) > 1:
            raise ValueError("the sets do not match the labels")
        if not bool(np.all((shares >= 0) & (shares <= 1))):
            raise ValueError("the shares of the labels are not from 0 to 1")
        known = Neighbors.from_arrays("cosine" if cosine else "euclidean", n_axes, arrays, len(members))
        if not 1 <= count <= len(known) or known.rows.n_features != n_axes:
            raise ValueError("the neighbors do not match the labels")
        if int(known.classes.min(initial=0)) < 0 or int(known.classes.max(initial=0)) >= len(members):
            raise ValueError("the neighbors do not match the sets of labels")
        return cls(known, count, shares, members.astype(np.bool_))


SMALLEST = 1e-9
"""The least share of rows with or without a label."""


def odds_of_votes(own: Array, total: Array, shares: Array) -> Array:
    """Return log (votes for a label + its share) − log (votes against it + the share of the rest)."""
    rest = np.log(np.maximum(total - own, 0.0) + np.maximum(1.0 - shares, SMALLEST))
    return np.asarray(np.log(own + np.maximum(shares, SMALLEST)) - rest)
