"""Which terms tell the classes apart: χ² and mutual information, from the class–term counts alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.data.encode import is_sparse
from discern.statistics.by_class import add_by_class
from discern.statistics.counts import Counts

if TYPE_CHECKING:
    from numpy.typing import NDArray

SCORES = ("chi2", "mutual_information")
_CELLS = 1 << 18
"""Numbers of a dense table whose presence is looked at at once."""


@dataclass(frozen=True)
class Contingency:
    """The amount of each term in each class: sparse, sorted by term and then by class, without zeros.

    ``sizes`` are the documents of each class. With ``presence``, ``values`` are documents, too, else occurrences.

    Examples
    --------
    >>> table = Contingency.of_counts(Counts.of(["win win", "hello"], ["spam", "ham"]))
    >>> table.values.tolist(), table.sizes.tolist()
    ([1.0, 2.0], [1.0, 1.0])
    """

    terms: NDArray[np.int64]
    classes: NDArray[np.int64]
    values: NDArray[np.float64]
    sizes: NDArray[np.float64]
    n_terms: int
    presence: bool

    @classmethod
    def of_counts(cls, counts: Counts, presence: bool = False) -> Contingency:
        """Take occurrences, or documents, from counts."""
        values = (counts.documents if presence else counts.occurrences).astype(np.float64)
        sizes = counts.class_documents.astype(np.float64)
        return cls(counts.entry_terms, counts.entry_classes, values, sizes, len(counts.terms), presence)

    @classmethod
    def of_matrix(cls, matrix: Any, classes: NDArray[Any], labels: int, presence: bool = False) -> Contingency:
        """Sum the rows of a matrix, dense or sparse, by the class of each; ``presence`` counts nonzero values."""
        import scipy.sparse

        if not is_sparse(matrix):
            return cls._of_table(np.asarray(matrix), classes, labels, presence)
        matrix = scipy.sparse.csr_array(matrix)
        if presence and not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        n_terms = matrix.shape[1]
        sizes = np.bincount(classes, minlength=labels).astype(np.float64)
        weights = (matrix.data != 0) if presence else matrix.data
        weights = weights.astype(np.float64, copy=False)
        if n_terms * labels <= 4 * max(matrix.nnz, 1 << 20):
            sums = np.zeros((labels, n_terms))
            counted = scipy.sparse.csr_array((weights, matrix.indices, matrix.indptr), matrix.shape)
            add_by_class(counted, np.ascontiguousarray(classes, np.int32), None, sums)
            terms, found = np.nonzero(sums.T)
            return cls(terms, found, sums.T[terms, found], sizes, n_terms, presence)
        member = scipy.sparse.csr_array(
            (np.ones(len(classes)), (classes, np.arange(len(classes)))), (labels, len(classes))
        )
        table = (member @ scipy.sparse.csr_array((weights, matrix.indices, matrix.indptr), matrix.shape)).T.tocsr()
        table.sum_duplicates()
        table.eliminate_zeros()
        terms = np.repeat(np.arange(n_terms), np.diff(table.indptr))
        return cls(terms, table.indices.astype(np.int64), table.data, sizes, n_terms, presence)

    @classmethod
    def _of_table(cls, table: Any, classes: NDArray[Any], labels: int, presence: bool) -> Contingency:
        """Sum the rows of a dense table by class."""
        sums = np.zeros((labels, table.shape[1]))
        numbers = np.asarray(classes, np.int32)
        step = max(_CELLS // max(table.shape[1], 1), 1) if presence else max(len(table), 1)
        for start in range(0, len(table), step):
            part = slice(start, start + step)
            add_by_class(table[part] != 0 if presence else table[part], numbers[part], None, sums)
        terms, found = np.nonzero(sums.T)
        sizes = np.bincount(classes, minlength=labels).astype(np.float64)
        return cls(terms, found, sums.T[terms, found], sizes, table.shape[1], presence)

    @property
    def totals(self) -> NDArray[np.float64]:
        """The amount of each term in all classes."""
        return _sums(self.terms, self.values, self.n_terms)

    @property
    def shares(self) -> NDArray[np.float64]:
        """The share of the documents in each class."""
        return np.asarray(self.sizes / self.sizes.sum())

    def sums(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum a value of each entry by term."""
        return _sums(self.terms, values, self.n_terms)

    def complete(self) -> NDArray[np.bool_]:
        """Return which terms occur in every class."""
        return np.asarray(np.bincount(self.terms, minlength=self.n_terms) == len(self.sizes))

    def against_rest(self, label: int) -> Contingency:
        """Return the table of one class against all others."""
        mine = self.classes == label
        own = _sums(self.terms[mine], self.values[mine], self.n_terms)
        rest = _sums(self.terms[~mine], self.values[~mine], self.n_terms)
        both = np.stack([rest, own], axis=1)
        terms, classes = np.nonzero(both)
        sizes = np.array([self.sizes.sum() - self.sizes[label], self.sizes[label]])
        return Contingency(terms, classes, both[terms, classes], sizes, self.n_terms, self.presence)


def _sums(places: NDArray[Any], values: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    return np.asarray(np.bincount(places, values, size), np.float64)


# ---------------------------------------------------------------------------------------------------- scores


def chi2_scores(table: Contingency) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return χ² of each term, Σ (observed − expected)² / expected over the classes, and its p value.

    Expected is the total of the term times the share of the class; p has one degree of freedom less than classes. A
    term that does not occur has NaN for both.

    Examples
    --------
    >>> table = Contingency.of_counts(Counts.of(["win win", "hello"], ["spam", "ham"]))
    >>> [column.tolist() for column in chi2_scores(table)]
    [[1.0, 2.0], [0.317311, 0.157299]]
    """
    scores = _chi2(table)
    return scores, _p_values(scores, table)


def chi2_of_sets(matrix: Any, sets: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return χ² and p value of each column where a row has a set of labels: a row of zeros and ones in ``sets``.

    Examples
    --------
    >>> scores, p_values = chi2_of_sets(np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([[1, 1], [0, 1]]))
    >>> scores.tolist(), p_values.tolist()
    ([0.5, 1.0], [0.479500, 0.317311])
    """
    from scipy.special import chdtrc

    observed = sets.T @ matrix
    observed = np.asarray(observed.toarray() if hasattr(observed, "toarray") else observed, np.float64)
    shares = np.asarray(sets.mean(axis=0), np.float64).reshape(-1, 1)
    expected = shares * np.asarray(matrix.sum(axis=0), np.float64).reshape(1, -1)
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = ((observed - expected) ** 2 / expected).sum(axis=0)
    return scores, np.asarray(chdtrc(len(shares) - 1, scores))


def _p_values(statistic: NDArray[np.float64], table: Contingency) -> NDArray[np.float64]:
    from scipy.special import chdtrc

    return np.asarray(chdtrc(len(table.sizes) - 1, statistic))


def _chi2(table: Contingency) -> NDArray[np.float64]:
    totals, shares = table.totals, table.shares
    expected = totals[table.terms] * shares[table.classes]
    scores = table.sums((table.values - expected) ** 2 / expected)
    # Where a term is absent from a class, (0 − e)² / e = e.
    absent = totals - table.sums(expected)
    scores += np.where(table.complete(), 0.0, np.maximum(absent, 0.0))
    scores[totals == 0] = np.nan
    return scores


def mutual_information_scores(table: Contingency) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mutual information, in nats, of the class and the presence of each term, and its p value.

    I = Σ P(c, t) ln P(c, t) / P(c)P(t) over classes c and t in {present, absent}. Under independence 2NI is about χ²
    distributed (the G test), which gives the p value.

    Examples
    --------
    >>> table = Contingency.of_counts(Counts.of(["win", "win", "lunch"], ["spam", "spam", "ham"]), presence=True)
    >>> mutual_information_scores(table)[0].tolist()
    [0.636514, 0.636514]
    """
    scores = _mutual_information(table)
    return scores, _p_values(2.0 * table.sizes.sum() * scores, table)


def _mutual_information(table: Contingency) -> NDArray[np.float64]:
    from scipy.special import xlogy

    if not table.presence:
        raise ValueError("mutual information is of the presence of terms; count documents, not occurrences")
    rows = table.sizes.sum()
    present, sizes = table.totals, table.sizes[table.classes]
    here, there = present[table.terms], rows - present[table.terms]
    missing = sizes - table.values
    with np.errstate(divide="ignore", invalid="ignore"):
        entries = xlogy(table.values, table.values * rows / (here * sizes))
        entries += xlogy(missing, np.where(missing > 0, missing * rows / (there * sizes), 1.0))
        # Classes without the term: all their documents are without it.
        untouched = np.where(table.complete(), 0.0, rows - table.sums(sizes))
        totals = table.sums(entries) + xlogy(untouched, rows / (rows - present))
    return np.asarray(np.maximum(totals / rows, 0.0))


def scores_of(table: Contingency, score: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return scores and p values by the name of the score."""
    if score not in SCORES:
        raise ValueError(f"score must be one of {', '.join(SCORES)}, not {score!r}")
    return chi2_scores(table) if score == "chi2" else mutual_information_scores(table)


def scores_alone(table: Contingency, score: str) -> NDArray[np.float64]:
    """Return scores by the name of the score, without their p values, which take most of the time."""
    if score not in SCORES:
        raise ValueError(f"score must be one of {', '.join(SCORES)}, not {score!r}")
    return _chi2(table) if score == "chi2" else _mutual_information(table)


def scores_by_class(table: Contingency, score: str) -> NDArray[np.float64]:
    """Return the scores of each term for each class against all others, terms × classes."""
    return np.stack([scores_alone(table.against_rest(label), score) for label in range(len(table.sizes))], axis=1)


def table_for(counts: Counts, score: str) -> Contingency:
    """Return the table that a score is computed from: occurrences for χ², documents for mutual information."""
    return Contingency.of_counts(counts, presence=score == "mutual_information")


# ------------------------------------------------------------------------------------------------- selection


def best(scores: NDArray[np.float64], most: int) -> NDArray[np.bool_]:
    """Return which scores are the ``most`` best; of equal ones the later, as in scikit-learn, NaN last.

    Examples
    --------
    >>> best(np.array([1.0, 3.0, 3.0, np.nan]), 1).tolist()
    [False, False, True, False]
    """
    known = np.where(np.isnan(scores), np.finfo(np.float64).min, scores)
    keep = np.zeros(len(scores), bool)
    keep[np.argsort(known, kind="stable")[max(len(scores) - most, 0) :]] = True
    return keep


def best_terms(counts: Counts, most: int, score: str = "chi2", per_class: bool = False) -> NDArray[np.bool_]:
    """Return which terms are the ``most`` best, overall or for each class against all others.

    Pass the result to ``counts.with_terms``.

    Examples
    --------
    >>> counts = Counts.of(["win the prize", "the lunch", "win the lunch"], ["spam", "ham", "spam"])
    >>> counts.with_terms(best_terms(counts, 1)).terms.to_list()
    ['win']
    """
    table = table_for(counts, score)
    if not per_class:
        return best(scores_alone(table, score), most)
    columns = scores_by_class(table, score).T
    return np.asarray(np.any([best(column, most) for column in columns], axis=0))


def indicated_classes(table: Contingency) -> NDArray[np.int64]:
    """Return the class that each term indicates: where it exceeds the expected amount most, in units of its √."""
    expected = table.totals[table.terms] * table.shares[table.classes]
    residuals = (table.values - expected) / np.sqrt(expected)
    order = np.lexsort((-table.classes, residuals, table.terms))
    chosen = np.zeros(table.n_terms, np.int64)
    chosen[table.terms[order]] = table.classes[order]  # the last of each term stays: the largest, the first class
    return chosen


@dataclass(frozen=True)
class Ranking:
    """Terms, the best first, each with its score, its p value and the label that it indicates."""

    terms: list[str]
    scores: NDArray[np.float64]
    p_values: NDArray[np.float64]
    labels: list[str]

    def __len__(self) -> int:
        return len(self.terms)

    def __iter__(self) -> Iterator[tuple[str, float, float, str]]:
        return iter(zip(self.terms, self.scores.tolist(), self.p_values.tolist(), self.labels, strict=True))

    def __str__(self) -> str:
        wide = max([4, *map(len, self.terms)])
        rows = [f"{'term':<{wide}}  {'score':>10}  {'p value':>9}  label"]
        rows += [f"{term:<{wide}}  {score:>10.4g}  {p:>9.3g}  {label}" for term, score, p, label in self]
        return "\n".join(rows)


def rank_terms(counts: Counts, score: str = "chi2", most: int | None = None, label: str | None = None) -> Ranking:
    """Rank terms by how well they tell the classes apart, or one label from all others.

    Examples
    --------
    >>> counts = Counts.of(["win the prize", "the lunch", "win the lunch"], ["spam", "ham", "spam"])
    >>> print(rank_terms(counts, most=2))
    term        score    p value  label
    win             1      0.317  spam
    prize         0.5       0.48  spam
    """
    table = table_for(counts, score)
    if label is not None and label not in counts.labels:
        raise ValueError(f"unknown label {label!r}; choose one of: {', '.join(map(repr, counts.labels))}")
    compared = table if label is None else table.against_rest(counts.labels.index(label))
    scores, p_values = scores_of(compared, score)
    order = np.argsort(-scores, kind="stable")[:most]
    indicated = indicated_classes(table)
    return Ranking(
        counts.terms.take(order).to_list(), scores[order], p_values[order], [counts.labels[indicated[i]] for i in order]
    )
