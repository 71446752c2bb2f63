"""Held-out texts where rows may have several labels: their log odds by the counts of all rows minus their fold's."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

import discern._native as _native
from discern.learners.against_rest import against_rest_weight
from discern.learners.bayes import Margins, multinomial_weight
from discern.learners.smoothing import JelinekMercer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discern.learners.smoothing import Smoothing
    from discern.models.validation.rows import Folds

    Array = NDArray[np.float64]

Lines = tuple["NDArray[np.int64]", "NDArray[np.int32]", "NDArray[np.float64]"]
Compressed = tuple["NDArray[np.int32]", "NDArray[np.int32]", "NDArray[np.int64]"]


def compressed(matrix: Any) -> Compressed:
    """Return the starts, places and numbers of compressed rows or columns as the native code takes them."""
    starts, places = (np.ascontiguousarray(array, np.int32) for array in (matrix.indptr, matrix.indices))
    return starts, places, np.ascontiguousarray(matrix.data, np.int64)


@dataclass(frozen=True)
class HeldTexts:
    """Texts of a fold, and the counts of their terms × labels in the rows outside it.

    Terms that only rows of the fold hold are unknown to its model, and of the others those of the fold suffice.
    """

    rows: Lines
    """The texts that have each known term, and how often."""
    labels: Lines
    """The labels of the other rows that have the term, and how often."""
    margins: Margins
    documents: int
    """The number of rows outside the fold."""
    n_rows: int

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """How many known terms each row has."""
        return np.bincount(self.rows[1], self.rows[2], self.n_rows).astype(np.int64)

    @cached_property
    def _of_entries(self) -> tuple[NDArray[np.int64], Array, Array]:
        """The term of each entry, and the counts of its term and of its label in the other rows."""
        terms = np.repeat(np.arange(len(self.margins.terms)), np.diff(self.labels[0]))
        return terms, self.margins.terms[terms], self.margins.classes[self.labels[1]]

    def scores(self, smoothing: Smoothing) -> Array:
        """Return the log odds of the rows; weights are sparse but for a shift of a term and a level of a label."""
        margins = self.margins
        found = np.zeros((self.n_rows, len(margins.classes)))
        if not found.size or not len(margins.terms):
            return found
        weight = against_rest_weight(multinomial_weight(smoothing, margins), margins.overall or 0.0, self.documents)
        starts, labels, counts = self.labels
        terms, of_terms, in_label = self._of_entries
        shift = weight(0, margins.terms, margins.classes[0], 0)
        level = weight(0, margins.terms[0], margins.classes, 0) - shift[0]
        if isinstance(smoothing, JelinekMercer):
            excess = weight(counts, of_terms, in_label, 0) - shift[terms] - level[labels]
        else:  # the excess does not depend on the other terms of the label
            excess = weight(counts, of_terms, margins.classes[0], 0) - shift[terms]
        np.multiply(self.lengths[:, None], level, out=found)
        _native.add_products_of_terms(self.rows, (starts, labels, excess), shift, found)
        found[:, (margins.documents == 0) | (margins.documents == self.documents)] = 0.0
        return found


def without_folds(by_term: Compressed, sets: Any, left: Array, folds: Folds, presence: bool, min_df: int) -> Any:
    """Return each fold of some texts, with the counts of all rows but its own.

    ``by_term`` are the rows that have each term, ``sets`` the labels of all rows, and ``left`` the number of rows of
    each label outside each fold.
    """
    rows, n_labels = sets.shape
    fold, place = np.full(rows, -1, np.int32), np.zeros(rows, np.int32)
    fold[folds.order], place[folds.order] = folds.numbers, places_in(folds)
    found = _native.hold_out_label_counts(
        by_term, compressed(sets), fold, place, len(folds.ends), n_labels, presence, max(min_df, 1)
    )
    sizes = np.diff(folds.ends, prepend=0).tolist()
    return [
        HeldTexts(texts, labels, Margins(of_terms, in_labels, documents, max(size, 1), total), rows - held, held)
        for (texts, labels, of_terms, in_labels, total, size), documents, held in zip(found, left, sizes, strict=True)
    ]


def places_in(folds: Folds) -> NDArray[np.int64]:
    """Return the place of each held-out row in its fold."""
    starts = np.concatenate([[0], folds.ends[:-1]])
    return np.asarray(np.arange(len(folds.order)) - starts[folds.numbers])
