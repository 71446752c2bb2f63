"""Choose a threshold for each label on held-out rows; labels with few rows borrow from all others.

The threshold that is best for a label on the rows at hand is fitted to chance if few rows have the label. So some rows
are borrowed for each label: rows with the probabilities of the label, of which as many have it as have any label at the
same probability. They show where the threshold would be if all labels were calibrated alike. The more rows a label has
itself, the less they count. Their number is chosen by cross-fitting: thresholds from some folds are tried on others.
A label without rows of its own, which the borrowed ones do not help to find, gets the threshold of all labels.

Probabilities are counted in bins, so that thresholds depend on counts only, not on the order of the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.data.encode import is_sparse
from discern.data.values import label_text
from discern.evaluation.curves import Ranking
from discern.evaluation.decisions import LeastCost, Rule
from discern.evaluation.several.rows import probability_table, truth_table
from discern.evaluation.several.sums import MOST_CELLS, cell_rows, own_probabilities
from discern.evaluation.several.thresholds import Thresholds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from discern.evaluation.several.rows import Floats, Integers

BORROWED = (4.0, 8.0, 2.0, 16.0)
"""The numbers of borrowed rows that are tried; the first is used where they cannot be compared on other rows."""
FOLDS = 5
MOST_LABELS = 256
"""The number of labels that are counted at once."""
PART = 1 << 16
"""Borrowed rows are counted in these parts of a row, as whole numbers."""
MOST_BORROWED = 1e6
"""A larger number of borrowed rows counts as this one."""
LEAST_F1 = 0.002
"""A label without rows, of which borrowed ones promise less than twice this F1, gets the threshold of all labels."""
NEVER = float(np.nextafter(1.0, 2.0))
"""A threshold that no probability reaches."""


def _edges() -> Floats:
    """Return the lower ends of the bins: closely spaced log odds in the middle, wider apart farther out."""
    inner, outer = np.arange(-120, 121) / 20, np.arange(25, 121) / 4
    return np.asarray(1 / (1 + np.exp(-np.concatenate([-outer[::-1], inner, outer]))))


EDGES = _edges()


@dataclass(frozen=True)
class MostF1:
    """Maximize F1, the harmonic mean of precision and recall.

    Examples
    --------
    >>> round(MostF1()(Ranking.of([0.9, 0.8, 0.6, 0.2], [True, False, True, False])), 3)
    0.6
    """

    def __call__(self, ranking: Ranking) -> float:
        """Return the threshold: of equally good ones the middle one."""
        called = ranking.true_positives + ranking.false_positives
        values = ranking.true_positives / np.maximum(called + ranking.positive_rows, 1)
        best = np.flatnonzero(values == values.max(initial=0.0))
        return float(ranking.scores[best[len(best) // 2]]) if len(best) else 0.5


@dataclass(frozen=True)
class MostPrecision:
    """Predict a label as rarely as possible, while at least this share of its rows is found.

    Examples
    --------
    >>> round(MostPrecision(recall=0.5)(Ranking.of([0.9, 0.8, 0.6, 0.2], [True, False, True, False])), 3)
    0.9
    """

    recall: float

    def __post_init__(self) -> None:
        if not 0 < self.recall <= 1:
            raise ValueError(f"the recall must be above 0 and at most 1, not {self.recall!r}")

    def __call__(self, ranking: Ranking) -> float:
        """Return the threshold."""
        enough = np.flatnonzero(ranking.true_positives >= self.recall * ranking.positive_rows)
        return float(ranking.scores[enough[0]]) if len(enough) else 0.5


def choose_thresholds(
    probabilities: Any,
    truth: Any,
    labels: Sequence[Any],
    goal: Rule | None = None,
    *,
    folds: Any = None,
    borrowed: float | None = None,
    at_least_one: bool = False,
    at_most: int | None = None,
) -> Thresholds:
    """Choose a threshold for each label on held-out or cross-fitted probabilities.

    Parameters
    ----------
    probabilities, truth : table
        A row for each held-out row and a column for each label, dense or sparse; ``truth`` holds zeros and ones.
    labels : sequence
        The labels of the columns.
    goal : callable, optional
        :class:`MostF1` (the default), :class:`LeastCost`, :class:`MostRecall` with a least precision, or
        :class:`MostPrecision` with a least recall.
    folds : array of int, optional
        The fold of each row, for choosing how many rows are borrowed; by default rows are dealt in turn.
    borrowed : float, optional
        The number of rows of each label that are borrowed. By default it is chosen: for F1 by the mean of micro and
        macro F1, for costs by the total cost.
    at_least_one, at_most
        As in :class:`Thresholds`.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> shares = random.random((1000, 2))
    >>> truth = random.random((1000, 2)) < shares * [1.0, 0.2]
    >>> often, seldom = choose_thresholds(shares, truth, ["often", "seldom"]).of(["often", "seldom"])
    >>> bool(often < seldom)
    True
    """
    names = [label_text(label) for label in labels]
    cells = _Cells.of(probabilities, truth, len(names), folds)
    goal = goal or MostF1()
    if not cells.truth.nnz:
        raise ValueError("no row has any of the labels; thresholds need rows that do")
    if borrowed is None:
        borrowed = _best_borrowed(cells, goal)
    if not borrowed >= 0:
        raise ValueError(f"the number of borrowed rows must be at least 0, not {borrowed!r}")
    pooled = cells.pooled().sum(axis=0)
    common = EDGES_AND_NEVER[_bin_from(goal, pooled)].item()
    chosen = [_bins_from(goal, block.sum(axis=0), pooled, [borrowed])[0] for block in cells.blocks()]
    own = dict(zip(names, EDGES_AND_NEVER[np.concatenate(chosen)].tolist(), strict=True))
    own = {name: threshold for name, threshold in own.items() if threshold != common}
    return Thresholds(tuple(own), tuple(own.values()), common, at_least_one, at_most)


EDGES_AND_NEVER = np.append(EDGES, NEVER)
"""The threshold for each bin from which on rows are predicted."""


@dataclass(frozen=True)
class _Cells:
    """Probabilities and truth by label, with the fold of each row."""

    shares: Any
    truth: Any
    own: Floats
    """The probability of each true label of each row."""
    folds: Integers

    @classmethod
    def of(cls, probabilities: Any, truth: Any, n_labels: int, folds: Any) -> _Cells:
        shares, true = probability_table(probabilities, n_labels), truth_table(truth, n_labels)
        dealt = np.arange(true.shape[0]) % FOLDS if folds is None else np.unique(folds, return_inverse=True)[1].ravel()
        if not shares.shape[0] == true.shape[0] == len(dealt):
            raise ValueError(
                f"{shares.shape[0]} rows of probabilities, {true.shape[0]} of true labels and {len(dealt)} folds do "
                "not match each other"
            )
        return cls(shares, true, own_probabilities(shares, true), dealt)

    @property
    def n_folds(self) -> int:
        return int(self.folds.max(initial=0)) + 1

    def pooled(self) -> Integers:
        """Return the rows without and with a label, over all labels, by fold, kind and bin."""
        return np.asarray(np.sum([block.sum(axis=2) for block in self.blocks()], axis=0))

    def blocks(self) -> Sequence[Integers] | Iterator[Integers]:
        """Return the rows without and with each label, by fold, kind, label and bin, for some labels at a time."""
        few = self.n_folds * self.truth.shape[1] * len(EDGES) <= MOST_CELLS
        return self._all_blocks if few else self._counted_blocks()

    @cached_property
    def _all_blocks(self) -> Sequence[Integers]:
        return list(self._counted_blocks())

    def _counted_blocks(self) -> Iterator[Integers]:
        by_column = self.shares.tocsc() if is_sparse(self.shares) else self.shares
        rows, labels = cell_rows(self.truth), self.truth.indices
        for first in range(0, self.truth.shape[1], MOST_LABELS):
            last = min(first + MOST_LABELS, self.truth.shape[1])
            within = (labels >= first) & (labels < last)
            true = self._counted(rows[within], labels[within] - first, self.own[within], last - first)
            every = self._all_of(by_column[:, first:last])
            yield np.stack([every - true, true], axis=1)

    def _all_of(self, shares: Any) -> Integers:
        n_rows, n_labels = shares.shape
        if not is_sparse(shares):
            rows, labels = np.repeat(np.arange(n_rows), n_labels), np.tile(np.arange(n_labels), n_rows)
            return self._counted(rows, labels, shares.ravel(), n_labels)
        labels = np.repeat(np.arange(n_labels), np.diff(shares.indptr))
        table = self._counted(shares.indices, labels, shares.data, n_labels)
        table[:, :, 0] += np.bincount(self.folds, minlength=self.n_folds)[:, None] - table.sum(axis=2)
        return table

    def _counted(self, rows: Any, labels: Any, shares: Floats, n_labels: int) -> Integers:
        bins = np.searchsorted(EDGES, shares, side="right")
        places = (self.folds[rows] * n_labels + labels) * (len(EDGES) + 1) + bins
        counts = np.bincount(places, minlength=self.n_folds * n_labels * (len(EDGES) + 1))
        return counts.astype(np.int64).reshape(self.n_folds, n_labels, len(EDGES) + 1)


def _bin_from(goal: Rule, counts: Integers) -> int:
    """Return the number of the edge from which on rows are predicted, for rows without and with a label by bin."""
    negatives, positives = counts[:, ::-1]
    scores = np.append(EDGES[::-1], 0.0)
    threshold = goal(Ranking(scores, positives, negatives))
    return max(len(EDGES) - int(np.count_nonzero(scores >= threshold)), 0)


def _bins_from(goal: Rule, counts: Integers, pooled: Integers, borrowed: Sequence[float]) -> Integers:
    """Return the edge for each number of borrowed rows and each label.

    ``counts`` are by kind, label and bin, ``pooled`` by kind and bin.
    """
    blended = _blended(counts, pooled, borrowed)
    some = blended[1].any(axis=1)
    if isinstance(goal, MostF1):  # else it would be predicted of nearly all rows
        some &= np.tile(counts[1].any(axis=1), len(borrowed)) | (_f1_values(blended).max(axis=1) >= LEAST_F1)
    common = len(EDGES) if some.all() else _bin_from(goal, pooled)
    if isinstance(goal, MostF1):
        edges = np.where(some, _f1_bins(blended), common)
    else:
        edges = np.array([_bin_from(goal, blended[:, n]) if some[n] else common for n in range(len(some))], np.int64)
    return np.asarray(edges.reshape(len(borrowed), -1))


def _blended(counts: Integers, pooled: Integers, borrowed: Sequence[float]) -> Integers:
    """Return the rows of each label and borrowed ones, as they would be if all labels were calibrated alike.

    In each bin, the share of borrowed rows that have the label is that of all labels together.
    """
    expected = counts.sum(axis=0) * (pooled / np.maximum(pooled.sum(axis=0), 1))[:, None]
    masses = expected[1].sum(axis=1, keepdims=True)
    expected *= np.divide(PART, masses, where=masses > 0, out=np.zeros_like(masses))
    numbers = np.minimum(borrowed, MOST_BORROWED)[:, None, None]
    rows = np.rint(np.minimum(expected[:, None] * numbers, 2.0**50 / len(EDGES))).astype(np.int64)
    return np.asarray((counts[:, None] * PART + rows).reshape(2, -1, counts.shape[2]))


def _f1_values(counts: Integers) -> Floats:
    """Return half of F1 for each label and each edge from which on it is predicted, the highest first."""
    negatives, positives = np.cumsum(counts[:, :, ::-1], axis=2)
    return np.asarray(positives / np.maximum(positives + negatives + positives[:, -1:], 1))


def _f1_bins(counts: Integers) -> Integers:
    """Return what :func:`_bin_from` does for :class:`MostF1`, for all labels at once."""
    values = _f1_values(counts)
    best = values == values.max(axis=1, keepdims=True)
    middle = np.cumsum(best, axis=1) > best.sum(axis=1, keepdims=True) // 2
    return np.asarray(np.maximum(len(EDGES) - 1 - middle.argmax(axis=1), 0))


# --------------------------------------------------------------------------------------------- cross-fitting


def _best_borrowed(cells: _Cells, goal: Rule) -> float:
    """Return the number of borrowed rows of which thresholds from some folds do best on the others."""
    value = _value_of(goal)
    pooled = cells.pooled()
    if value is None or cells.n_folds < 2 or not (pooled.sum(axis=0)[1] - pooled[:, 1]).sum(axis=1).all():
        return BORROWED[0]
    tried = [_tried(goal, block, pooled) for block in cells.blocks()]
    found = np.concatenate(tried, axis=2)
    values = [value(*of_number) for of_number in found]
    return BORROWED[int(np.argmax(values))]


def _tried(goal: Rule, block: Integers, pooled: Integers) -> Integers:
    """Return rows found, predicted and true for each number of borrowed rows and label, over all folds."""
    result = np.zeros((len(BORROWED), 3, block.shape[2]), np.int64)
    for fold in range(len(block)):
        rest, others = block.sum(axis=0) - block[fold], pooled.sum(axis=0) - pooled[fold]
        result += _outcome(block[fold], _bins_from(goal, rest, others, BORROWED))
    return result


def _outcome(counts: Integers, edges: Integers) -> Integers:
    """Return rows found, predicted and true by number of borrowed rows and label, when predicted from edges on."""
    beyond = np.zeros((*counts.shape[:2], counts.shape[2] + 1), np.int64)
    beyond[:, :, :-1] = np.cumsum(counts[:, :, ::-1], axis=2)[:, :, ::-1]
    alarms, found = beyond[:, np.arange(counts.shape[1]), edges + 1]
    true = np.broadcast_to(counts[1].sum(axis=1), found.shape)
    return np.stack([found, found + alarms, true], axis=1)


Value = Callable[["NDArray[Any]", "NDArray[Any]", "NDArray[Any]"], float]


def _value_of(goal: Rule) -> Value | None:
    """Return how good the numbers of rows found, predicted and true are, where that can be compared."""
    if isinstance(goal, MostF1):
        return _mean_f1
    if isinstance(goal, LeastCost):
        alarm, miss = goal.false_positive, goal.false_negative
        return lambda found, called, true: -float((alarm * (called - found) + miss * (true - found)).sum())
    return None


def _mean_f1(found: NDArray[Any], called: NDArray[Any], true: NDArray[Any]) -> float:
    """Return the mean of micro F1 and macro F1, over the labels that are true or predicted."""
    totals = called + true
    some = totals > 0
    micro = 2 * float(found.sum()) / max(float(totals.sum()), 1.0)
    return micro + float((2 * found[some] / totals[some]).mean()) if some.any() else 0.0
