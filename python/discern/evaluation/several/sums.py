"""Sums over evaluated rows with several labels each: whole numbers, which do not depend on the order of the rows."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.data.encode import is_sparse
from discern.evaluation.predictions import UNIT, exact_sum

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from discern.evaluation.several.rows import Floats, Integers, MultilabelRows

TINY = 1e-300
"""Smaller probabilities count as this one in the log loss, which stays finite."""
BINS = 15
"""Bins of the expected calibration error."""
MOST_CELLS = 1 << 22
"""The number of probabilities that are compared at once."""
MANY_LABELS = 16
"""With more true labels a row, probabilities are ranked by sorting them."""
LOSS_UNIT = 20
"""Losses have a part in units of 2⁻²⁰ and the rest in units of 2⁻⁵²."""
UNSEEN_LOSS = exact_sum(np.array([-np.log(TINY)]))


@dataclass(frozen=True)
class RowSums:
    """Sums over rows that no label has for itself. They add up."""

    rows: int = 0
    exact: int = 0
    """Rows whose labels are all predicted, and no others."""
    ranked: int = 0
    """The ranking precision of the true labels above probability 0, mean over the labels of a row; units of 2⁻⁵²."""
    bottom: int = 0
    """True labels of probability 0; each is ranked last."""
    depth: int = 0
    """How many labels must be looked at to find all true ones, of rows whose true labels are above probability 0."""
    whole: int = 0
    """Rows with a true label of probability 0, for which all labels must be looked at."""
    squares: int = 0
    """The squares of the losses of rows, in units of 2⁻⁴⁰."""
    unseen: int = 0
    """True labels that have no probability, because the model does not know them."""
    products: tuple[int, int, int, int, int, int] = (0, 0, 0, 0, 0, 0)
    """Sums of products over rows of h, c and t, the labels found, predicted and true: hh, hc, ht, cc, ct, tt."""

    def __add__(self, other: RowSums) -> RowSums:
        mine, theirs = self.__dict__, other.__dict__
        products = tuple(one + two for one, two in zip(self.products, other.products, strict=True))
        sums = {each.name: mine[each.name] + theirs[each.name] for each in fields(self) if each.name != "products"}
        return RowSums(**sums, products=products)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class LabelSums:
    """Sums over rows for each label."""

    counts: Integers
    """Rows in which the label is found (true and predicted), predicted, true; a row of the table each."""
    losses: Integers
    """The log loss of the label against the rest, in two parts."""
    bins: Integers
    """Rows, true rows, and the two halves of the sum of probabilities, by bin of the probability, for each label."""

    def __add__(self, other: LabelSums) -> LabelSums:
        return LabelSums(self.counts + other.counts, self.losses + other.losses, self.bins + other.bins)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LabelSums):
            return NotImplemented
        return all(np.array_equal(mine, other.__dict__[name]) for name, mine in self.__dict__.items())

    __hash__ = None  # type: ignore[assignment]

    def among(self, places: Integers, n_labels: int, rows: int) -> LabelSums:
        """Return the sums for more labels, of which these have the ``places``; the others had the probability 0."""
        wide = [np.zeros((*table.shape[:-1], n_labels), np.int64) for table in self.__dict__.values()]
        for mine, table in zip(self.__dict__.values(), wide, strict=True):
            table[..., places] = mine
        others = np.ones(n_labels, bool)
        others[places] = False
        wide[2][0, 0, others] = rows
        return LabelSums(*wide)


# -------------------------------------------------------------------------------------------------- making sums


def sums_of(rows: MultilabelRows) -> tuple[LabelSums, RowSums]:
    """Return the sums over rows: those of each label, and those of rows."""
    shares = rows.named_probabilities
    hits = _hits(rows)
    own, places = own_probabilities(shares, rows.true), cell_rows(rows.true)
    losses = _Losses.of(shares, rows.true, own)
    called, true = (np.diff(table.indptr).astype(np.int64) for table in (rows.predicted, rows.true))
    found = np.bincount(places[hits], minlength=len(rows)).astype(np.int64)
    labels = LabelSums(
        np.array([_by_label(rows.true, hits), _by_label(rows.predicted), _by_label(rows.true)]),
        losses.by_label(),
        _bins(shares, rows.true, own),
    )
    columns = np.isin(np.array(rows.names, object), np.array(rows.columns, object))
    return labels, RowSums(
        rows=len(rows),
        exact=int(((found == called) & (found == true)).sum()),
        **_ranking_sums(shares, rows.true, own, places),
        squares=sum(loss * loss for loss in losses.by_row().tolist()),
        unseen=int((~columns[rows.true.indices]).sum()),
        products=tuple(int(one @ two) for one, two in _pairs(found, called, true)),  # type: ignore[arg-type]
    )


def _pairs(found: Integers, called: Integers, true: Integers) -> Iterator[tuple[Integers, Integers]]:
    three = (found, called, true)
    return ((three[first], three[second]) for first in range(3) for second in range(first, 3))


def cell_rows(table: Any) -> Integers:
    """Return the row of each stored cell."""
    return np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))


def _by_label(table: Any, chosen: Any = slice(None)) -> Integers:
    return np.bincount(table.indices[chosen], minlength=table.shape[1]).astype(np.int64)


def _keys(table: Any) -> Integers:
    """Return a number for each stored cell, rising."""
    return np.asarray(cell_rows(table) * table.shape[1] + table.indices)


def _hits(rows: MultilabelRows) -> NDArray[np.bool_]:
    """Return whether each true label of each row is predicted."""
    return _found(_keys(rows.true), _keys(rows.predicted))[1]


def _found(wanted: Integers, among: Integers) -> tuple[Integers, NDArray[np.bool_]]:
    """Return the place of each of the wanted keys among rising ones, and whether it is there."""
    places = np.searchsorted(among, wanted)
    there = places < len(among)
    there[there] = among[places[there]] == wanted[there]
    return np.where(there, places, 0), there


def own_probabilities(shares: Any, true: Any) -> Floats:
    """Return the probability of each true label of each row."""
    if not is_sparse(shares):
        return np.asarray(np.minimum(shares[cell_rows(true), true.indices], 1.0))
    places, there = _found(_keys(true), _keys(shares))
    own = np.zeros(len(places))
    own[there] = shares.data[places[there]]
    return np.minimum(own, 1.0)


# ---------------------------------------------------------------------------------------------------- log loss


@dataclass(frozen=True)
class _Losses:
    """Losses as whole numbers: of all cells as if the label were not true, and what the true ones add to that."""

    cells: tuple[Any, Any]
    true: Any
    more: tuple[Integers, Integers]

    @classmethod
    def of(cls, shares: Any, true: Any, own: Floats) -> _Losses:
        against = _in_units(-np.log(np.maximum(own, TINY))), _in_units(_loss_if_absent(own))
        more = tuple(one - two for one, two in zip(*against, strict=True))
        values = shares.data if is_sparse(shares) else shares
        parts = _in_units(_loss_if_absent(values))
        return cls(tuple(_like(shares, part) for part in parts), true, more)  # type: ignore[arg-type]

    def by_label(self) -> Integers:
        """Return the sums of both parts for each label."""
        both = []
        for cells, more in zip(self.cells, self.more, strict=True):
            added = _whole_sums(self.true.indices, more, self.true.shape[1])
            both.append(np.asarray(cells.sum(axis=0), np.int64) + added)
        return np.array(both)

    def by_row(self) -> Integers:
        """Return the loss of each row, over all labels, in units of 2⁻²⁰."""
        added = _whole_sums(cell_rows(self.true), self.more[0], self.true.shape[0])
        return np.asarray(self.cells[0].sum(axis=1), np.int64) + added


def _loss_if_absent(shares: Floats) -> Floats:
    """Return −log(1 − p)."""
    return -np.log(np.maximum(1.0 - np.minimum(shares, 1.0), TINY))


def _in_units(losses: Floats) -> tuple[Integers, Integers]:
    """Return losses as whole numbers of 2⁻²⁰, and the rest in units of 2⁻⁵²."""
    scaled = losses * 2.0**LOSS_UNIT
    whole = np.rint(scaled)
    return whole.astype(np.int64), np.rint((scaled - whole) * 2.0 ** (UNIT - LOSS_UNIT)).astype(np.int64)


def _whole_sums(places: Integers, values: Integers, size: int) -> Integers:
    """Sum whole numbers by place; both halves of each are small enough to be summed exactly as floats."""
    high, low = values >> 20, values & ((1 << 20) - 1)
    parts = (np.bincount(places, part, size) for part in (high, low))
    first, second = (part.astype(np.int64) for part in parts)
    return (first << 20) + second


def _like(shares: Any, values: Any) -> Any:
    """Return values as a table of the same shape; those that are not stored are 0."""
    if not is_sparse(shares):
        return values
    import scipy.sparse

    return scipy.sparse.csr_array((values, shares.indices, shares.indptr), shares.shape)


# ------------------------------------------------------------------------------------------------------ ranking


def _ranking_sums(shares: Any, true: Any, own: Floats, places: Integers) -> dict[str, int]:
    """Return the sums for the precision of rankings and for coverage."""
    rows = true.shape[0]
    sizes = np.bincount(places, minlength=rows)
    above = own > 0
    ranks = np.zeros(len(own), np.int64)
    ranks[above] = _reaching(shares, places[above], own[above])
    own_table = _like(true, own)
    fellows = _reaching(own_table, places[above], own[above])
    precision = np.bincount(places[above], fellows / np.maximum(ranks[above], 1), rows)
    at_zero = np.bincount(places[~above], minlength=rows)
    deepest = np.zeros(rows, np.int64)
    np.maximum.at(deepest, places, ranks)
    return {
        "ranked": exact_sum(np.where(sizes > 0, precision / np.maximum(sizes, 1), 1.0)),
        "bottom": int(at_zero.sum()),
        "depth": int(deepest[at_zero == 0].sum()),
        "whole": int((at_zero > 0).sum()),
    }


def _reaching(table: Any, rows: Integers, least: Floats) -> Integers:
    """Return how many probabilities of each given row are at least as high as the given one; rows are in order."""
    if len(rows) > MANY_LABELS * table.shape[0]:
        return _reaching_sorted(table, rows, least)
    if is_sparse(table):
        return _reaching_sparse(table, rows, least)
    step = max(MOST_CELLS // max(table.shape[1], 1), 1)
    parts = [
        np.count_nonzero(table[rows[start : start + step]] >= least[start : start + step, None], axis=1)
        for start in range(0, len(rows), step)
    ]
    return np.concatenate([np.zeros(0, np.int64), *parts])


def _reaching_sorted(table: Any, rows: Integers, least: Floats) -> Integers:
    starts = np.searchsorted(rows, np.arange(table.shape[0] + 1))
    found = np.zeros(len(rows), np.int64)
    for row in range(table.shape[0]):
        own = slice(starts[row], starts[row + 1])
        values = table.data[table.indptr[row] : table.indptr[row + 1]] if is_sparse(table) else table[row]
        found[own] = len(values) - np.searchsorted(np.sort(values), least[own])
    return found


def _reaching_sparse(table: Any, rows: Integers, least: Floats) -> Integers:
    starts = table.indptr.astype(np.int64)
    ends = np.cumsum(starts[rows + 1] - starts[rows])
    found, first = np.zeros(len(rows), np.int64), 0
    while first < len(rows):  # as many rows at once as have about that many cells
        before = int(ends[first - 1]) if first else 0
        last = max(int(np.searchsorted(ends, before + MOST_CELLS, side="right")), first + 1)
        part = slice(first, last)
        found[part] = _reaching_block(table.data, starts, rows[part], least[part])
        first = last
    return found


def _reaching_block(values: Floats, starts: Integers, rows: Integers, least: Floats) -> Integers:
    sizes = starts[rows + 1] - starts[rows]
    ends = np.cumsum(sizes)
    cells = np.arange(int(sizes.sum())) + np.repeat(starts[rows] - (ends - sizes), sizes)
    reached = np.concatenate([[0], np.cumsum(values[cells] >= np.repeat(least, sizes))])
    return np.asarray(reached[ends] - reached[ends - sizes])


# -------------------------------------------------------------------------------------------------- calibration


def _bins(shares: Any, true: Any, own: Floats) -> Integers:
    """Return rows, true rows and probabilities (in units of 2⁻²⁶ and 2⁻⁵²) by bin and label."""
    n_rows, n_labels = shares.shape
    found = np.zeros((4, BINS * n_labels), np.int64)
    for labels, values in _blocks(shares):
        cells = _bin(values) * n_labels + labels
        scaled = values * 2.0**26
        whole = np.rint(scaled)
        for row, weights in ((0, None), (2, whole), (3, np.rint((scaled - whole) * 2.0**26))):
            found[row] += np.bincount(cells, weights, BINS * n_labels).astype(np.int64)
    found[1] = np.bincount(_bin(own) * n_labels + true.indices, minlength=BINS * n_labels)
    table = found.reshape(4, BINS, n_labels)
    table[0, 0] += n_rows - table[0].sum(axis=0)  # a probability that is not stored is 0
    return table


def _blocks(shares: Any) -> Iterator[tuple[Integers, Floats]]:
    """Return labels and probabilities, a block of rows at a time."""
    if is_sparse(shares):
        for start in range(0, len(shares.data), MOST_CELLS):
            part = slice(start, start + MOST_CELLS)
            yield shares.indices[part].astype(np.int64), shares.data[part]
        return
    n_rows, n_labels = shares.shape
    step = max(MOST_CELLS // max(n_labels, 1), 1)
    for start in range(0, n_rows, step):
        block = shares[start : start + step]
        yield np.tile(np.arange(n_labels), len(block)), block.ravel()


def _bin(values: Floats) -> Integers:
    return np.clip((values * BINS).astype(np.int64), 0, BINS - 1)
