"""Naive Bayes of each class against the rows that are not in it, where classes may share rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.learners.bayes import (
    MOST_DENSE,
    LinearScores,
    Margins,
    NaiveBayesSettings,
    WeightFunction,
    bernoulli_weight,
    multinomial_weight,
    presence_probability,
    tabulate,
)
from discern.statistics.counts import Counts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


FEW_CELLS, SPARSE = 1 << 20, 8
"""Weights of more terms × labels than this are sparse, if fewer than one in 8 is of a label that has the term."""


def against_rest_weight(weight: WeightFunction, total: float, documents: float) -> WeightFunction:
    """Return the weight of a term for a class, less that for all rows that are not in the class.

    ``total`` and ``documents`` are those of all rows; classes may share rows.
    """

    def difference(count: Any, of_term: Any, in_class: Any, in_documents: Any) -> Any:
        rest = weight(of_term - count, of_term, total - in_class, documents - in_documents)
        return weight(count, of_term, in_class, in_documents) - rest

    return difference


def solve_against_rest(own: Counts, whole: Counts, settings: NaiveBayesSettings) -> LinearScores:
    """Derive the log odds of each class against the rows that are not in it, without the prior.

    Classes may share rows: ``own`` has the rows of each class, and ``whole`` each row once, with the same terms. For
    each class it is the model of two classes, that one and the rest. A class of all rows, or of none, has no evidence.

    Examples
    --------
    >>> whole = Counts.of(["win win", "hello"], ["spam", "ham"])
    >>> np.exp(solve_against_rest(whole, whole, NaiveBayesSettings()).weights).round(3).tolist()
    [[2.667, 0.375], [0.444, 2.25]]
    """
    presence, bernoulli = settings.presence, settings.event_model.absence is not None
    values = own.documents if presence else own.occurrences
    of_terms = whole.term_documents if presence else whole.term_occurrences
    in_classes = own.class_presences if presence else own.class_occurrences
    total, rows = float(of_terms.sum()), whole.rows
    margins = Margins(of_terms, in_classes, own.class_documents, len(own.terms), total)
    bias = np.zeros(len(own.labels))
    if bernoulli:
        if len(own.terms) * len(own.labels) > MOST_DENSE:
            raise ValueError(
                f"the Bernoulli model of {len(own.labels):,} labels and {len(own.terms):,} terms would need too "
                "much memory; pass max_terms, or another model"
            )
        weight, bias = bernoulli_weight(settings, margins), _absence_against_rest(own, whole, settings, margins)
    else:
        weight = multinomial_weight(settings.smoothing, margins)
    against_rest = against_rest_weight(weight, total, rows)
    if bernoulli or not len(own.terms) or not own.labels:
        scores = tabulate(own, values, margins, against_rest, bias, presence)
    else:
        scores = _of_entries(own, values, margins, against_rest, presence)
    silent = (own.class_documents == 0) | (own.class_documents == rows)
    return _without_evidence(scores, own, silent) if silent.any() else scores


def _of_entries(own: Counts, values: Array, margins: Margins, weight: WeightFunction, presence: bool) -> LinearScores:
    """Return the scores of a table of counts: where a count is zero, a weight is a shift of its term plus a level.

    So logarithms are taken only for the entries that are there, and the dense table is filled by sums.
    """
    terms, classes, of_terms = own.entry_terms, own.entry_classes, margins.terms.astype(np.float64)
    shift = weight(0, of_terms, margins.classes[0], 0)
    level = weight(0, of_terms[0], margins.classes, 0) - shift[0]
    excess = weight(values, of_terms[terms], margins.classes[classes], 0) - shift[terms] - level[classes]
    bias, shape = np.zeros(len(own.labels)), (len(own.terms), len(own.labels))
    cells = shape[0] * shape[1]
    if cells <= FEW_CELLS or (cells <= MOST_DENSE and cells <= SPARSE * len(terms)):
        weights = shift[:, None] + level
        weights[terms, classes] += excess
        return LinearScores(bias, weights, presence)
    import scipy.sparse

    matrix = scipy.sparse.csr_matrix((excess, (terms, classes)), shape=shape)
    return LinearScores(bias, None, presence, shift, level, matrix)


def _absence_against_rest(own: Counts, whole: Counts, settings: NaiveBayesSettings, margins: Margins) -> Array:
    """Return the log odds of a document that holds nothing."""
    counts = np.zeros((len(own.terms), len(own.labels)))
    counts[own.entry_terms, own.entry_classes] = own.documents
    probability, rest = presence_probability(settings, margins), whole.rows - own.class_documents
    of_rest = margins.terms[:, None] - counts
    here = np.log1p(-probability(counts, 0, margins.classes, own.class_documents))
    there = np.log1p(-probability(of_rest, 0, margins.terms.sum() - margins.classes, rest))
    return np.asarray((here - there).sum(axis=0))


def _without_evidence(scores: LinearScores, own: Counts, silent: Array) -> LinearScores:
    """Return scores that are zero for some classes, of which each has all terms or none."""
    bias = np.where(silent, 0.0, scores.bias)
    if scores.weights is not None:
        return replace(scores, bias=bias, weights=np.where(silent, 0.0, scores.weights))
    import scipy.sparse

    assert scores.shift is not None
    assert scores.level is not None
    full = np.flatnonzero(silent & (own.class_documents > 0))
    terms, classes = np.tile(np.arange(len(own.terms)), len(full)), np.repeat(full, len(own.terms))
    kept = scores.excess.tocoo()
    keep = ~silent[kept.col]
    none = np.flatnonzero(silent & (own.class_documents == 0))
    terms = np.concatenate([terms, np.tile(np.arange(len(own.terms)), len(none))])
    classes = np.concatenate([classes, np.repeat(none, len(own.terms))])
    rows, columns = np.concatenate([kept.row[keep], terms]), np.concatenate([kept.col[keep], classes])
    data = np.concatenate([kept.data[keep], -scores.shift[terms]])
    excess = scipy.sparse.csr_matrix((data, (rows, columns)), shape=scores.excess.shape)
    return replace(scores, bias=bias, level=np.where(silent, 0.0, scores.level), excess=excess)
