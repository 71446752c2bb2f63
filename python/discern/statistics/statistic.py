"""What every statistic can do: it is the sum over the rows of one column, by label."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

MOST_COUNTED = float(1 << 62)
"""Sums beyond this are no counts."""


class Statistic(ABC):
    """A sum over rows that can be added, subtracted, merged and saved.

    It has a place for each label, in the order of the labels; or it knows its own labels, as counts do, and needs
    nothing done when others come or go.
    """

    @classmethod
    @abstractmethod
    def empty(cls) -> Self:
        """Return the sum over no rows, of no labels."""

    @classmethod
    @abstractmethod
    def total(cls, parts: Sequence[Any]) -> Self:
        """Add the sums of any number of parts."""

    @abstractmethod
    def __add__(self, other: Any) -> Self: ...

    @abstractmethod
    def minus(self, other: Any) -> Self:
        """Subtract; raises ValueError if something was never summed."""

    @abstractmethod
    def decayed(self, factor: float) -> Self:
        """Return the sum times a factor, counts rounded to whole numbers."""

    def sums(self) -> Self:
        """Return the statistic itself, as rows return theirs."""
        return self

    def with_classes(self, places: NDArray[Any], n_classes: int) -> Self:
        """Return the sums of ``n_classes`` labels, those here at ``places``, the others empty."""
        return self

    def of_classes(self, keep: NDArray[Any]) -> Self:
        """Return the sums of some labels, in this order."""
        return self

    def of_rows(self, class_rows: NDArray[np.int64]) -> Self:
        """Return the sums of the labels that have rows; raises ValueError if there is more than the rows can hold."""
        return self

    def renamed(self, new: Mapping[str, str]) -> Self:
        """Return the sums with other names of the labels, in the same order."""
        return self

    @abstractmethod
    def arrays(self, labels: Sequence[str]) -> dict[str, NDArray[Any]]:
        """Return everything but the names of the labels as arrays, for the model file."""

    @classmethod
    @abstractmethod
    def from_arrays(
        cls, labels: Sequence[str], arrays: Mapping[str, NDArray[Any]], class_rows: NDArray[np.int64]
    ) -> Self:
        """Make the sums from what :meth:`arrays` returned; raises ValueError if they do not fit together.

        ``class_rows`` are the rows of each label, of which a column may lack some.
        """


def whole_numbers(array: NDArray[Any]) -> NDArray[np.int64]:
    """Return a list of whole numbers from a file; refuses anything else."""
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise ValueError("the counts are not lists of whole numbers")
    return array.astype(np.int64)


def arrays_of(arrays: Mapping[str, NDArray[Any]], part: object) -> dict[str, NDArray[Any]]:
    """Return the arrays of one part by their own names: those that begin with the part and a dot.

    Examples
    --------
    >>> arrays_of({"0.pivot": np.zeros(1), "1.pivot": np.ones(1), "labels": np.ones(2)}, 1)
    {'pivot': array([1.])}
    """
    start = f"{part}."
    return {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}
