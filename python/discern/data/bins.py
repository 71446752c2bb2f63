"""Numbers to bins: the edges of equally wide, equally full or class-separating intervals, and the bin of a number.

Edges e₀ < e₁ < … < e_B make B bins. A number belongs to the bin whose lower edge it has reached; numbers below e₁ or
above e_B₋₁, infinities among them, belong to the first and to the last. A missing number (NaN) has the code −1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import discern._native as _native
from discern.data.threads import default_threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

STRATEGIES = ("quantile", "uniform", "mdl")
MISSING = -1
"""The code of a missing number."""
BLOCK_NUMBERS = 1 << 17
"""The numbers of the columns that are copied at a time."""


def edges(
    values: NDArray[Any],
    classes: NDArray[Any] | None = None,
    strategy: str = "quantile",
    bins: int = 5,
    weights: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return the edges of the bins of a column of numbers.

    Parameters
    ----------
    values : ndarray
        The numbers. Missing and infinite ones are ignored.
    classes : ndarray of int, optional
        The class of each number, from 0; for ``"mdl"``.
    strategy : {"quantile", "uniform", "mdl"}
        Bins with equally many numbers, bins of equal width, or bins that separate the classes: cut where the entropy
        of the classes falls most, as long as that pays for its description (Fayyad and Irani 1993).
    bins : int
        The number of bins; fewer if edges coincide. ``"mdl"`` finds its own number.
    weights : ndarray, optional
        The weight of each number: a number of weight 2 counts twice.

    Returns
    -------
    ndarray
        The edges from the smallest number to the greatest; −∞ and ∞ if there are not two different numbers.

    Examples
    --------
    >>> edges(np.array([1.0, 2.0, 3.0, 4.0, np.nan]), bins=2).tolist()
    [1.0, 2.5, 4.0]
    >>> edges(np.array([1.0, 2.0, 3.0, 7.0, 8.0, 9.0]), np.array([0, 0, 0, 1, 1, 1]), "mdl").tolist()
    [1.0, 5.0, 9.0]
    """
    if strategy not in STRATEGIES:
        raise ValueError(f"strategy must be one of {', '.join(STRATEGIES)}, not {strategy!r}")
    values = np.asarray(values, np.float64)
    finite = np.isfinite(values) if weights is None else np.isfinite(values) & (weights > 0)
    if not finite.all():
        values, weights = values[finite], None if weights is None else weights[finite]
        classes = None if classes is None else np.asarray(classes)[finite]
    least, most = values.min(initial=np.inf), values.max(initial=-np.inf)
    if not least < most:
        return np.array([-np.inf, np.inf])
    if strategy == "mdl":
        if classes is None:
            raise ValueError("strategy='mdl' needs the class of each number; pass them too")
        inner = entropy_cuts(values, np.asarray(classes), weights)
    elif strategy == "uniform":
        inner = _evenly(least, most, bins)[1:-1]
    else:
        inner = _quantiles(values, np.linspace(0, 100, bins + 1)[1:-1] / 100, weights)
    return np.unique(np.concatenate([[least], inner, [most]]))


def table_edges(
    table: NDArray[Any],
    classes: NDArray[Any] | None,
    strategy: str,
    bins: Sequence[int],
    weights: NDArray[np.float64] | None = None,
) -> list[NDArray[np.float64]]:
    """Return the edges of the bins of each column of a table; see :func:`edges`.

    Examples
    --------
    >>> [column.tolist() for column in table_edges(np.array([[1.0, 7.0], [3.0, 8.0]]), None, "uniform", [2, 1])]
    [[1.0, 2.0, 3.0], [7.0, 8.0]]
    """
    found = None
    if strategy == "uniform" and weights is None and len(table):
        least, most = (extremes.astype(np.float64) for extremes in (table.min(axis=0), table.max(axis=0)))
        found = _even_edges(least, most, bins)
    if found is None:
        pairs = zip(_columns(table), bins, strict=True)
        found = [edges(column, classes, strategy, count, weights) for column, count in pairs]
    return found


def _even_edges(least: NDArray[Any], most: NDArray[Any], bins: Sequence[int]) -> list[NDArray[np.float64]] | None:
    """Return equally wide bins of columns at once; None if they differ in number, or a column needs a closer look."""
    with np.errstate(all="ignore"):
        even = np.linspace(least, most, bins[0] + 1, axis=1, dtype=np.float64) if len(set(bins)) == 1 else None
        if even is None or not (even[:, 1:] - even[:, :-1] > 0).all() or not np.isfinite(even).all():
            return None
    return list(even)


def _columns(table: NDArray[Any]) -> Iterator[NDArray[np.float64]]:
    """Return one column after another, contiguous and in doubles; each is valid until the next is asked for."""
    if table.flags.f_contiguous and table.dtype == np.float64:
        yield from table.T
        return
    step = max(BLOCK_NUMBERS // max(len(table), 1), 1)
    room = np.empty((min(step, table.shape[1]), len(table)))
    for start in range(0, table.shape[1], step):
        some = table[:, start : start + step].T
        room[: len(some)] = some
        yield from room[: len(some)]


def without_values(edges: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return edges that put all values into the same bins and of which none is a value.

    An inner edge moves a little to a number of few digits, strictly between the values at both of its sides; if there
    is none, the values differ in their last bit, and the edge is left out, as is one of a bin without values that has
    no room. The outermost edges become infinite.

    Examples
    --------
    >>> ages = np.array([20.1375, 31.4159, 31.9273, 64.2741])
    >>> without_values(edges(ages, bins=3), ages).tolist()
    [-inf, 29.0, 31.8, inf]
    """
    return _native.edges_without_values(edges, np.sort(values[np.isfinite(values)]))


def spread_edges(values: NDArray[np.float64], bins: int) -> NDArray[np.float64]:
    """Return the edges of bins that are about equally full; none is a value, and the outermost are infinite.

    A number that fills more than a bin has one of its own, and the other bins share the others: of a column that is
    mostly zero, the rest is still cut.

    Examples
    --------
    >>> spread_edges(np.array([0.0] * 92 + [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]), 4).tolist()
    [-inf, 0.5, 3.5, 6.5, inf]
    """
    return _without_values_at(values, np.arange(1, bins) / bins, bins)


def _without_values_at(values: NDArray[np.float64], shares: NDArray[np.float64], bins: int) -> NDArray[np.float64]:
    """Return edges between numbers where shares of them are reached; no number counts more than a bin holds."""
    known, counts = np.unique(values[np.isfinite(values)], return_counts=True)
    if len(known) < 2:
        return np.array([-np.inf, np.inf])
    reached = np.cumsum(np.minimum(counts, _most_counted(counts, bins)))
    places = np.unique(np.clip(np.searchsorted(reached, shares * reached[-1] * (1 - 1e-9)), 0, len(known) - 2))
    inner = known[places] / 2 + known[places + 1] / 2
    return without_values(np.concatenate([known[:1], inner, known[-1:]]), values)


def _most_counted(counts: NDArray[np.int64], bins: int) -> float:
    """Return what the most frequent numbers count, so that each has a bin of its own and the others share the rest."""
    heavy = np.zeros(len(counts), bool)
    while True:
        most = counts[~heavy].sum() / max(bins - int(heavy.sum()), 1)
        more = ~heavy & (counts > most)
        if not more.any():
            return max(float(most), 1.0)
        heavy |= more


KNOT_BINS = 32
"""The intervals of a map to normal quantiles, beside the tails."""
TAILS = (0.002, 0.005, 0.01, 0.02)
"""In both tails there are more intervals: beyond these shares."""
FINE_QUANTILE = 64
"""Quantiles are rounded to multiples of its inverse."""


def knots(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the map of numbers to standardized normal quantiles of their ranks: rows of a number and its quantile.

    Between two knots the map is linear, and beyond them constant. A knot is the middle of an interval and has the
    quantile of the middle of its numbers. Like edges, knots hold no value of a row, if not by chance.

    Examples
    --------
    >>> knots(np.array([0.0, 1.0, 1.0, 0.0])).tolist()
    [[0.0, -1.0], [1.0, 1.0]]
    >>> knots(np.full(9, 7.0)).shape
    (0, 2)
    """
    from scipy.special import ndtri

    shares = np.array([*TAILS, *(np.arange(1, KNOT_BINS) / KNOT_BINS), *(1 - np.array(TAILS[::-1]))])
    inner = _without_values_at(values, shares, KNOT_BINS)[1:-1]
    if not len(inner):
        return np.zeros((0, 2))
    known = np.sort(values[np.isfinite(values)])
    counts = np.diff(np.searchsorted(known, inner), prepend=0, append=len(known))
    quantiles = ndtri((np.cumsum(counts) - counts / 2) / len(known))
    mean = counts @ quantiles / len(known)
    deviation = np.sqrt(counts @ (quantiles - mean) ** 2 / len(known)) or 1.0
    quantiles = np.rint((quantiles - mean) / deviation * FINE_QUANTILE) / FINE_QUANTILE
    low, high = (
        _reach(np.abs(part / 2 - edge / 2))
        for part, edge in ((known[known < inner[0]], inner[0]), (known[known > inner[-1]], inner[-1]))
    )
    middles = np.concatenate([[inner[0] - low], inner[:-1] / 2 + inner[1:] / 2, [inner[-1] + high]])
    is_above = np.concatenate([[True], np.diff(middles) > 0])
    found = np.stack([middles, quantiles], axis=1)[is_above & np.isfinite(middles)]
    return np.ascontiguousarray(found)


def _reach(halves: NDArray[np.float64]) -> float:
    """Return the power of two nearest to the mean of distances, which are given by their halves."""
    largest = float(halves.max(initial=0.0))
    if not largest:
        return 0.0
    mean = float((halves / largest).mean())
    return float(np.ldexp(1.0, int(np.clip(np.rint(1 + np.log2(largest) + np.log2(mean)), -1070, 1020))))


def _quantiles(
    values: NDArray[np.float64], shares: NDArray[np.float64], weights: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Return quantiles by the second definition of Hyndman and Fan (1996), NumPy's ``averaged_inverted_cdf``."""
    last = len(values) - 1
    if weights is None:
        targets = shares * len(values)
        first = np.ceil(targets).astype(np.int64) - 1
        just = targets == first + 1
        values = np.partition(
            values, np.unique(np.minimum([first, first + 1], last))
        )  # the order of the others is irrelevant
    else:
        order = np.argsort(values)
        values, reached = values[order], np.cumsum(weights[order])
        targets = shares * reached[-1]
        first = np.searchsorted(reached, targets)
        just = reached[first] == targets
    here, there = values[first], values[np.minimum(first + 1, last)]
    return np.asarray(np.where(just, np.clip(here / 2 + there / 2, here, there), here))


def _evenly(least: float, most: float, bins: int) -> NDArray[np.float64]:
    with np.errstate(over="ignore", invalid="ignore"):
        even = np.linspace(least, most, bins + 1)
    return even if np.isfinite(even).all() else np.linspace(least / 2, most / 2, bins + 1) * 2


def assign(values: NDArray[Any], edges: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the bin of each number of a column, from 0; −1 if it is missing.

    Examples
    --------
    >>> assign(np.array([-9.0, 2.4, 2.5, np.inf, np.nan]), np.array([1.0, 2.5, 4.0])).tolist()
    [0, 0, 1, 1, -1]
    """
    return assign_columns(np.asarray(values)[:, None], [edges]).ravel()


def assign_columns(table: NDArray[Any], edges: Sequence[NDArray[np.float64]]) -> NDArray[np.int64]:
    """Return the bins of a table of numbers, with the edges of each of its columns."""
    between = [column[1:-1].tolist() for column in edges]
    return _native.bin_codes(np.ascontiguousarray(table, np.float64), between, default_threads())


# ------------------------------------------------------------------------------------------- entropy and its price


def entropy_cuts(
    values: NDArray[np.float64], classes: NDArray[Any], weights: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return the cuts that separate the classes, sorted: Fayyad and Irani's recursive minimal-entropy partitioning."""
    numbers = np.ascontiguousarray(classes, np.int64)
    return _native.entropy_cuts(np.ascontiguousarray(values), numbers, weights)


# ------------------------------------------------------------------------------------------------------- encoding


def one_hot(codes: NDArray[np.int64], sizes: Sequence[int]) -> Any:
    """Return codes as a sparse one-hot matrix with ``sizes[j]`` columns for column j; a code of −1 has only zeros.

    Examples
    --------
    >>> one_hot(np.array([[0, 1], [1, -1]]), [2, 2]).toarray().tolist()
    [[1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 0.0]]
    """
    import scipy.sparse

    starts = np.concatenate([[0], np.cumsum(sizes)])
    present = codes >= 0
    columns = (codes + starts[:-1])[present]
    ends = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
    return scipy.sparse.csr_matrix((np.ones(len(columns)), columns, ends), shape=(len(codes), int(starts[-1])))


def from_one_hot(matrix: NDArray[Any], sizes: Sequence[int]) -> NDArray[np.int64]:
    """Return the codes of a dense one-hot matrix: the inverse of :func:`one_hot`."""
    parts = np.split(matrix, np.cumsum(sizes)[:-1], axis=1)
    codes = [np.where(part.any(axis=1), part.argmax(axis=1), MISSING) for part in parts]
    return np.asarray(np.stack(codes, axis=1), np.int64)
