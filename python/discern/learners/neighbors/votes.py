"""Nearest neighbors: labeled rows, and the votes of those nearest to a query.

The rows are the statistics: they can be added, and removed by id.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.learners.neighbors.rows import METRICS, check_n_features, whole_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discern.learners.neighbors.rows import Nearest

MOST_NEIGHBORS = 50
"""The largest number of neighbors that :func:`choose_count` tries."""


def distance_weights(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weigh neighbors by 1 / distance; those at distance zero, if there are some, alone.

    Examples
    --------
    >>> distance_weights(np.array([[0.5, 2.0], [0.0, 1.0]])).tolist()
    [[2.0, 0.5], [1.0, 0.0]]
    """
    at_zero = distances == 0
    with np.errstate(divide="ignore"):
        weights = 1.0 / distances
    return np.where(at_zero.any(axis=1, keepdims=True), at_zero, weights)


def vote_shares(
    classes: NDArray[np.int64], n_classes: int, weights: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return the share of the votes of each of ``n_classes`` classes, from the classes of each query's neighbors.

    The decision is the class with the largest share; of equal shares, the first class.

    Examples
    --------
    >>> vote_shares(np.array([[0, 1, 1], [2, 2, 2]]), 3).tolist()
    [[0.333333, 0.666667, 0.0], [0.0, 0.0, 1.0]]
    """
    places = classes + np.arange(len(classes))[:, None] * n_classes
    given = None if weights is None else weights.ravel()
    votes = np.bincount(places.ravel(), given, len(classes) * n_classes).reshape(len(classes), n_classes)
    return np.asarray(votes / votes.sum(axis=1, keepdims=True))


def output_shares(
    sets: NDArray[np.int64], outputs: NDArray[np.int64], sizes: list[int], weights: NDArray[np.float64] | None = None
) -> list[NDArray[np.float64]]:
    """Return the shares of the votes for each of several outputs, as :func:`vote_shares` does for one.

    ``sets`` are the rows of ``outputs`` that each query's neighbors have: a class number for each output. ``sizes`` are
    the numbers of classes of each output.

    Examples
    --------
    >>> first, second = output_shares(np.array([[0, 1]]), np.array([[0, 1], [0, 0]]), [1, 2])
    >>> first.tolist(), second.tolist()
    ([[1.0]], [[0.5, 0.5]])
    """
    import scipy.sparse

    n_queries, n_neighbors = sets.shape
    votes = np.ones(sets.shape) if weights is None else np.asarray(weights, np.float64)
    first = np.cumsum([0, *sizes])
    chosen = (outputs + first[:-1]).ravel()
    n_sets, n_outputs = outputs.shape
    shape = (n_sets, int(first[-1]))
    has = scipy.sparse.csr_array((np.ones(chosen.size), chosen, np.arange(n_sets + 1) * n_outputs), shape)
    starts = np.arange(n_queries + 1) * n_neighbors
    table = (scipy.sparse.csr_array((votes.ravel(), sets.ravel(), starts), (n_queries, n_sets)) @ has).toarray()
    parts = [table[:, start:end] for start, end in pairwise(first)]
    return [part / part.sum(axis=1, keepdims=True) for part in parts]


def choose_count(
    neighbor_classes: NDArray[np.int64],
    classes: NDArray[np.int64],
    n_classes: int,
    weights: NDArray[np.float64] | None = None,
) -> tuple[int, NDArray[np.float64]]:
    """Choose the number of neighbors that decides the rows best, each by its neighbors among the others.

    One pass over the neighbors of each row, nearest first, gives the accuracy of every number of them. Of equally
    good numbers the smallest is chosen.

    Examples
    --------
    >>> choose_count(np.array([[1, 0, 0], [0, 0, 1], [0, 0, 0]]), np.array([0, 0, 0]), 2)
    (2, array([0.66666667, 1. , 1. ]))
    """
    votes = np.zeros((len(classes), n_classes))
    every = np.arange(len(classes))
    accuracies = np.zeros(neighbor_classes.shape[1])
    for place in range(neighbor_classes.shape[1]):
        votes[every, neighbor_classes[:, place]] += 1.0 if weights is None else weights[:, place]
        accuracies[place] = np.mean(votes.argmax(axis=1) == classes)
    return int(accuracies.argmax()) + 1, accuracies


@dataclass(frozen=True, eq=False)
class Neighbors:
    """Rows with a class number and an id each: the statistics of a neighbor classifier.

    Adding and removing rows make new objects. Nothing is left of rows that were removed.

    Examples
    --------
    >>> table = np.array([[0.0], [1.0], [5.0]])
    >>> known = Neighbors.of("euclidean", table, np.array([0, 0, 1]))
    >>> known.without([1]).ids.tolist()
    [0, 2]
    >>> known.with_rows(np.array([[4.0]]), np.array([1])).ids.tolist()
    [0, 1, 2, 3]
    """

    rows: Any
    classes: NDArray[np.int64]
    ids: NDArray[np.int64]

    @classmethod
    def of(cls, metric: str, table: Any, classes: NDArray[Any], ids: Any = None) -> Neighbors:
        """Take the rows of a matrix, each with its class number; ids are 0, 1, … if not given."""
        rows = METRICS[metric].of(table)
        known = cls(rows, np.asarray(classes, np.int64), np.arange(len(rows)))
        return known if ids is None else known.with_ids(ids)

    def __len__(self) -> int:
        return len(self.ids)

    def with_rows(self, table: Any, classes: NDArray[Any], ids: Any = None) -> Neighbors:
        """Return these rows and more; new ids go on from the largest if not given."""
        return self._joined(type(self.rows).of(table), classes, ids)

    def _joined(self, rows: Any, classes: NDArray[Any], ids: Any) -> Neighbors:
        first = int(self.ids.max(initial=-1)) + 1
        added = np.arange(first, first + len(rows)) if ids is None else np.asarray(ids)
        if added.shape != (len(rows),) or len(classes) != len(rows) or added.dtype.kind not in "iu":
            raise ValueError(f"{len(rows)} rows need as many classes and whole numbers as ids")
        every = np.concatenate([self.ids, added.astype(np.int64)])
        if len(np.unique(every)) < len(every):
            values, counts = np.unique(every, return_counts=True)
            raise ValueError(f"the id {values[counts > 1][0]} is given twice; each row needs its own")
        return Neighbors(self.rows + rows, np.concatenate([self.classes, np.asarray(classes, np.int64)]), every)

    def with_ids(self, ids: Any) -> Neighbors:
        """Return the same rows with other ids."""
        return replace(self.without(self.ids)._joined(self.rows, self.classes, ids), rows=self.rows)

    def without(self, ids: Any) -> Neighbors:
        """Return these rows without those of some ids; raises ValueError for an id that is not there."""
        given = np.atleast_1d(np.asarray(ids))
        unknown = given[~np.isin(given, self.ids)]
        if len(unknown):
            raise ValueError(f"unknown row id {unknown[0]}; nothing was changed")
        kept = np.flatnonzero(~np.isin(self.ids, given))
        return Neighbors(self.rows.take(kept), self.classes[kept], self.ids[kept])

    def nearest(self, table: Any, count: int) -> Nearest:
        """Return distances and places of the nearest rows to each row of a matrix."""
        queries = type(self.rows).of(table)
        check_n_features(self.rows.n_features, queries.n_features)
        found: Nearest = self.rows.nearest(queries, count)
        return found

    def nearest_others(self, count: int) -> Nearest:
        """Return distances and places of the nearest other rows to each of the rows here."""
        others = np.arange(len(self))
        found: Nearest = self.rows.nearest(self.rows, count, others)
        return found

    def best_count(self, n_classes: int, weighted: bool = False) -> int:
        """Choose the number of neighbors by leaving each row out, in one pass; up to ``MOST_NEIGHBORS``."""
        if len(self) < 2:
            return 1
        distances, places = self.nearest_others(min(MOST_NEIGHBORS, len(self) - 1))
        weights = distance_weights(distances) if weighted else None
        return choose_count(self.classes[places], self.classes, n_classes, weights)[0]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything as arrays, for the model file."""
        return {"classes": self.classes, "ids": self.ids, **self.rows.arrays()}

    @classmethod
    def from_arrays(cls, metric: str, n_features: int, arrays: Mapping[str, NDArray[Any]], classes: int) -> Neighbors:
        """Make neighbors of what :meth:`arrays` gave; raises ValueError if they do not fit together."""
        if metric not in METRICS:
            raise ValueError(f"{metric!r} is not a distance; choose one of: {', '.join(METRICS)}")
        rows = METRICS[metric].from_arrays(arrays, n_features)
        found = cls(rows, whole_numbers(arrays["classes"], np.int64), whole_numbers(arrays["ids"], np.int64))
        if not len(found.classes) == len(found.ids) == len(rows) or int(found.classes.max(initial=-1)) >= classes:
            raise ValueError("the rows, classes and ids do not match each other")
        return found
