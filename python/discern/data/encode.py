"""Labels as numbers: which classes there are, and the place of each row's among them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import discern._native as _native

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Numbered(NamedTuple):
    """The labels of rows: the distinct ones in order, the number of each row's, and how many rows have each."""

    distinct: NDArray[Any]
    numbers: NDArray[np.int32]
    counts: NDArray[np.int64]

    def places(self, classes: NDArray[Any]) -> NDArray[np.intp]:
        """Return the place of each distinct label among sorted classes that hold them all."""
        return np.searchsorted(classes, self.distinct)

    def within(self, classes: NDArray[Any]) -> NDArray[np.int32]:
        """Return the number of each row's label among sorted classes that hold them all."""
        places = self.places(classes)
        if np.array_equal(places, np.arange(len(places))):
            return self.numbers
        return places.astype(np.int32)[self.numbers]

    def class_counts(self, classes: NDArray[Any], weights: NDArray[Any] | None) -> NDArray[np.float64]:
        """Return how many rows each of sorted classes has, or the sum of their weights."""
        if weights is not None:
            return np.asarray(np.bincount(self.within(classes), weights, len(classes)), np.float64)
        counts = np.zeros(len(classes))
        counts[self.places(classes)] = self.counts
        return counts


def number(labels: NDArray[Any]) -> Numbered:
    """Number labels in their order; whole numbers and truth values that lie near each other are not sorted for it.

    Examples
    --------
    >>> number(np.array([7, 3, 7]))
    Numbered(distinct=array([3, 7]), numbers=array([1, 0, 1], dtype=int32), counts=array([1, 2]))
    >>> number(np.array(["spam", "ham"])).distinct.tolist()
    ['ham', 'spam']
    """
    if labels.dtype.kind in "bi" or (labels.dtype.kind == "u" and labels.dtype.itemsize < 8):
        near = _native.number_labels(np.ascontiguousarray(labels, np.int64))
        if near is not None:
            return Numbered(near[0].astype(labels.dtype), near[1], near[2])
    distinct, numbers, counts = np.unique(labels, return_inverse=True, return_counts=True)
    return Numbered(distinct, numbers.astype(np.int32), counts)
