"""Texts scored by naive Bayes that compares a class with the rest, a fold held out: the counts without the fold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.learners.bayes import Margins, multinomial_weight
from discern.learners.smoothing import Smoothing
from discern.models.columns.arrays import sparse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


@dataclass(frozen=True)
class Table:
    """The counts of rows × terms, and those of all rows as terms × classes; ``present`` are the documents of terms."""

    rows: Any
    classes: NDArray[np.int32]
    counts: Any
    present: NDArray[np.int64]

    @classmethod
    def of(cls, rows: Any, classes: NDArray[np.int32], n_classes: int, presence: bool) -> Table:
        """Take rows of counts; with ``presence`` a term counts once a row."""
        if presence:
            rows = sparse((np.ones_like(rows.data), rows.indices, rows.indptr), rows.shape)
        present = np.bincount(rows.indices, minlength=rows.shape[1])
        return cls(rows, classes, _by_class(rows, classes, n_classes), present)

    def without(self, fold: NDArray[np.int64], min_df: int) -> Left:
        """Return what is left of the counts without a fold, of the terms that rows of the fold hold."""
        rows, classes = self.rows[fold], self.classes[fold]
        gone = _by_class(rows, classes, self.counts.shape[1])
        frequent = self.present - np.bincount(rows.indices, minlength=rows.shape[1]) >= min_df
        used = np.zeros_like(frequent)
        used[rows.indices] = True
        terms = np.flatnonzero(used & frequent)
        in_class = frequent @ self.counts - frequent @ gone
        table = (self.counts[terms] - gone[terms]).toarray().astype(np.float64)
        left = np.bincount(self.classes, minlength=len(in_class)) - np.bincount(classes, minlength=len(in_class))
        return Left(rows[:, terms].astype(np.float64), table, in_class.astype(np.float64), int(frequent.sum()), left)


@dataclass(frozen=True)
class Left:
    """Rows of a fold, and the counts of their terms × classes in the rows outside it."""

    rows: Any
    table: Array
    in_class: Array
    size: int
    class_rows: NDArray[np.int64]

    def contrasts(self, smoothings: Sequence[Smoothing]) -> tuple[list[tuple[Array, Array]], Array]:
        """Score the rows by each smoothing, for a class and for the rest, and return their lengths."""
        of_term, total = self.table.sum(axis=1, keepdims=True), self.in_class.sum()
        margins, found = Margins(of_term, self.in_class, self.class_rows, max(self.size, 1)), []
        for smoothing in smoothings:
            weight = multinomial_weight(smoothing, margins)
            own = self.rows @ weight(self.table, of_term, self.in_class, 0)
            rest = -(self.rows @ weight(of_term - self.table, of_term, total - self.in_class, 0))
            own[:, self.class_rows == 0] = rest[:, self.class_rows == 0] = -np.inf
            found.append((own, rest))
        return found, np.asarray(self.rows.sum(axis=1)).ravel()


def _by_class(rows: Any, classes: NDArray[np.int32], n_classes: int) -> Any:
    """Add up the rows of each class: terms × classes."""
    places = (np.arange(len(classes)), classes)
    return (rows.T @ sparse((np.ones(len(classes), np.int64), places), (len(classes), n_classes))).tocsr()
