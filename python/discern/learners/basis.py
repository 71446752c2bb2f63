"""Basis expansion: additional columns that give a linear classifier curved boundaries."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

import discern._native as _native
from discern.learners.linear import best_functions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

MOST_ROUNDS = 100
"""K-means stops after this many rounds, even if its centers still move."""
BLOCK_NUMBERS = 1 << 16
"""The numbers of a block of rows, which stays in the cache."""
FEW_MEMBERS = 1 << 14
"""Up to this many pairs of a group and a row, a dense product adds up groups faster than a sparse one is set up."""
ROUNDING = 1e-9
"""Squared distances below this share of the squares of the rows are computed again, from the difference of the rows."""
MOST_PLACED = 10_000
"""With more rows than this (and than 50 for each center), a sample places the centers."""


# ------------------------------------------------------------------------------------------------- quadratic


def pairs(columns: int) -> tuple[Array, Array]:
    """Return the columns of each product x_i·x_j with i < j, in order."""
    return np.triu_indices(columns, 1)


def quadratic_features(rows: Array, products: bool = True, squares: bool = True) -> Array:
    """Return the columns, their products by two, and their squares.

    Examples
    --------
    >>> quadratic_features(np.array([[2.0, 3.0]])).tolist()
    [[2.0, 3.0, 6.0, 4.0, 9.0]]
    """
    n_columns = rows.shape[1]
    n_products = n_columns * (n_columns - 1) // 2 if products else 0
    found = np.empty((len(rows), n_columns + n_products + (n_columns if squares else 0)))
    _native.quadratic(np.ascontiguousarray(rows, np.float64), products, squares, found)
    return found


def quadratic_names(names: Array, products: bool = True, squares: bool = True) -> Array:
    """Name the columns of :func:`quadratic_features`.

    Examples
    --------
    >>> quadratic_names(np.array(["age", "income"])).tolist()
    ['age', 'income', 'age income', 'age^2', 'income^2']
    """
    names = np.array([str(name) for name in names], object)
    first, second = pairs(len(names))
    mixed = [f"{names[one]} {names[other]}" for one, other in zip(first, second, strict=True)]
    return np.array(
        [*names, *(mixed if products else []), *([f"{name}^2" for name in names] if squares else [])], object
    )


# ---------------------------------------------------------------------------------------------- Gaussian bumps


def squared_distances(rows: Array, centers: Array) -> Array:
    """Return ‖x − c‖² of each row and center; about the centers' mean, so that no digits are lost far from zero."""
    origin = centers.mean(axis=0)
    moved, places = rows - origin, centers - origin
    squares = (moved**2).sum(axis=1)[:, None] + (places**2).sum(axis=1) - 2 * moved @ places.T
    return np.asarray(np.maximum(squares, 0.0))


def gaussian_features(rows: Array, centers: Array, width: float) -> Array:
    """Return exp(−‖x − c‖² / 2s²) of each row and center.

    Examples
    --------
    >>> gaussian_features(np.array([[0.0], [1.0]]), np.array([[0.0]]), 1.0).round(4).tolist()
    [[1.0], [0.6065]]
    """
    found = np.empty((len(rows), len(centers)))
    origin = centers.mean(axis=0)
    places = centers - origin
    twice, squares = -2.0 * places.T, np.einsum("ij,ij->i", places, places)
    step = max(BLOCK_NUMBERS // max(sum(centers.shape), 1), 16)
    for start in range(0, len(rows), step):  # blocks stay in the cache
        moved, part = rows[start : start + step] - origin, found[start : start + step]
        np.matmul(moved, twice, out=part)
        part += squares
        part += np.einsum("ij,ij->i", moved, moved)[:, None]
        np.maximum(part, 0.0, out=part)
        part *= -0.5 / width**2
        np.exp(part, out=part)
    return found


def sampled_centers(rows: Array, weights: Array, count: int, random: Any) -> Array:
    """Draw distinct rows as centers, by their weights; fewer if there are fewer."""
    distinct, shares = _distinct(rows, weights, count, random)
    chosen = random.choice(len(distinct), min(count, len(distinct)), replace=False, p=shares / shares.sum())
    return np.asarray(distinct[chosen])


def _distinct(rows: Array, weights: Array, count: int, random: Any) -> tuple[Array, Array]:
    """Return the distinct rows that have weight, in order, and their weights; of very many rows, those of a sample."""
    most = max(MOST_PLACED, 50 * count)
    if len(rows) > most:
        rows = rows[random.choice(len(rows), most, p=weights / weights.sum())]
        weights = np.ones(len(rows))
    order = np.argsort(rows[:, 0], kind="stable")
    first = rows[order, 0]
    if (first[1:] != first[:-1]).all():  # as numbers that were measured are: no two rows begin alike
        order = order[weights[order] > 0]
        return rows[order], weights[order]
    distinct, inverse = np.unique(rows, axis=0, return_inverse=True)
    totals = np.bincount(inverse.ravel(), weights, len(distinct))
    return distinct[totals > 0], totals[totals > 0]


def kmeans_centers(rows: Array, weights: Array, count: int, random: Any) -> Array:
    """Place centers by k-means (Lloyd), begun by k-means++ (Arthur and Vassilvitskii 2007).

    Examples
    --------
    >>> rows = np.array([[0.0], [0.2], [9.0], [9.2]])
    >>> np.sort(kmeans_centers(rows, np.ones(4), 2, np.random.default_rng(0)).ravel()).round(9).tolist()
    [0.1, 9.1]
    """
    rows, weights = _distinct(rows, weights, count, random)
    origin = rows.mean(axis=0)  # moved there, no digits are lost far from zero
    moved = rows - origin
    centers = moved[_spread(weights, min(count, len(rows)), random, _squared_from(rows, moved))]
    nearest = np.full(len(rows), -1)
    sums = np.zeros_like(centers)
    scale = float(np.abs(moved).max()) or 1.0
    rounded, precise = (moved / scale).astype(np.float32), False
    for _ in range(MOST_ROUNDS):
        before = nearest
        nearest = _nearest(moved, centers) if precise else _nearest(rounded, (centers / scale).astype(np.float32))
        changed = np.flatnonzero(before != nearest)
        if not len(changed):
            if precise:
                break
            precise = True  # the last rounds tell apart what 32 bits do not
            continue
        if 4 * len(changed) > len(rows):
            sums = _sums(moved, weights, nearest, len(centers))
        else:
            some = moved[changed], weights[changed]
            sums += _sums(*some, nearest[changed], len(centers)) - _sums(*some, before[changed], len(centers))
        totals = np.bincount(nearest, weights, len(centers))[:, None]
        centers = np.where(totals > 0, sums / np.maximum(totals, 1e-300), centers)
    totals = np.bincount(nearest, weights, len(centers))[:, None]
    means = _sums(moved, weights, nearest, len(centers)) / np.maximum(totals, 1e-300)
    return np.asarray(np.where(totals > 0, means, centers) + origin)


def _nearest(rows: Array, centers: Array) -> Array:
    """Return the number of the nearest center of each row, the first of equally near ones."""
    if len(centers) == 1:
        return np.zeros(len(rows), np.int64)
    best = best_functions(rows, centers, np.einsum("ij,ij->i", centers, centers) / -2.0)
    return np.asarray(squared_distances(rows, centers).argmin(axis=1) if best is None else best)


def _sums(rows: Array, weights: Array, groups: Array, count: int) -> Array:
    """Return the weighted sum of the rows of each group."""
    if count * len(rows) <= FEW_MEMBERS:
        dense = np.zeros((count, len(rows)))
        dense[groups, np.arange(len(rows))] = weights
        return np.asarray(dense @ rows)
    import scipy.sparse

    members = scipy.sparse.csc_array((weights, groups, np.arange(len(rows) + 1)), shape=(count, len(rows)))
    return np.asarray(members @ rows)


def _squared_from(rows: Array, moved: Array) -> Callable[[int], Array]:
    """Return a function that returns the squared distances of all rows from one of them.

    They come from the products of ``moved``, the rows moved towards zero; those that are lost in rounding are computed
    again from the rows themselves, so that only rows that are the same have no distance.
    """
    squares = np.einsum("ij,ij->i", moved, moved)

    def distances(place: int) -> Array:
        sizes = squares + squares[place]
        found = sizes - 2.0 * (moved @ moved[place])
        near = np.flatnonzero(found <= ROUNDING * sizes)
        found[near] = ((rows[near] - rows[place]) ** 2).sum(axis=1)
        return np.asarray(found)

    return distances


def _spread(weights: Array, count: int, random: Any, distances: Callable[[int], Array]) -> list[int]:
    """Draw rows, each by its squared distance from those drawn before (k-means++)."""
    chosen = [int(random.choice(len(weights), p=weights / weights.sum()))]
    far = np.full(len(weights), np.inf)
    while len(chosen) < count:
        far = np.minimum(far, distances(chosen[-1]))
        far[chosen] = 0.0
        if not far.any():  # all other rows are the same, but for rounding
            break
        chosen.append(int(random.choice(len(weights), p=far * weights / (far @ weights))))
    return chosen


WIDTH = 0.5
"""The squared distance at which a bump has fallen to 1/e is this share of the middle one between landmarks: for
standardized columns about the default of support vector machines."""
MIXER = np.uint64(0x9E3779B97F4A7C15)


def landmarks(rows: Array, count: int, step: int, seed: int = 0) -> tuple[Array, float]:
    """Choose rows of whole numbers as landmarks, far from each other (k-means++), and a width for bumps at them.

    Landmarks are rounded to multiples of ``step``. The order of the rows does not matter. Also returns the squared
    distance at which a bump falls to 1/e.

    Examples
    --------
    >>> rows = np.array([[0.0], [100.0], [0.0], [10.0], [100.0]])
    >>> found, width = landmarks(rows, 2, 10)
    >>> sorted(found.ravel().tolist()), width
    ([10.0, 100.0], 4050.0)
    """
    if len(rows) > MOST_PLACED:
        rows = rows[np.argsort(_row_keys(rows), kind="stable")[:MOST_PLACED]]
    random = np.random.default_rng(seed)
    distinct = np.unique(np.rint(rows / step) * step + 0.0, axis=0)  # + 0.0: no zero is negative
    if not min(count, len(distinct)):
        return np.zeros((0, rows.shape[1])), 1.0
    count = min(count, len(distinct))
    chosen = _spread(
        np.ones(len(distinct)),
        count,
        random,
        lambda place: squared_distances(distinct, distinct[place : place + 1])[:, 0],
    )
    found = distinct[chosen]
    apart = squared_distances(found, found)[np.triu_indices(len(found), 1)]
    middle = float(np.median(apart)) if len(apart) else 0.0
    return np.ascontiguousarray(found), WIDTH * (middle or float(step) ** 2)


def _row_keys(rows: Array) -> Array:
    """Return a number for each row of whole numbers, the same wherever it stands."""
    keys = np.zeros(len(rows), np.uint64)
    for column in rows.T.astype(np.int64).view(np.uint64):
        keys = (keys ^ column) * MIXER
        keys ^= keys >> np.uint64(29)
    return keys


def fitting_width(centers: Array, rows: Array, weights: Array) -> float:
    """Return a width at which neighboring bumps overlap: the mean distance of a center from its nearest."""
    if len(centers) > 1:
        apart = squared_distances(centers, centers)
        np.fill_diagonal(apart, np.inf)
        width = float(np.sqrt(apart.min(axis=1)).mean())
    else:
        width = float(np.sqrt(np.average(squared_distances(rows, centers)[:, 0], weights=weights)))
    return width or 1.0
