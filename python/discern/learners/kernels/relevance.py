"""How much each axis matters to a machine, and the scale of each axis that follows from it.

A Gaussian kernel sees distances over all axes, so that axes that do not matter drown those that do. Scales are found
in rounds: learn functions at landmarks of rows in the present scales, and scale each axis by the root of its mean
squared derivative over the rows (A. Radhakrishnan and others, "Mechanism for feature learning in neural networks and
backpropagation-free machine learning models", Science 2024; here for the axes alone). An axis that the functions do
not depend on shrinks from round to round, whether it matters alone or only together with others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.learners.kernels.expansions import at_landmarks, kernel_values
from discern.learners.kernels.machines import Kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

ROUNDS = 5
MOST_ROWS = 4000
"""The most rows that scales are found by."""
REACH, COST = 0.5, 10.0
"""The gamma of the kernel in units of one over the median squared distance, and the cost of an error."""
MEASURED = 500
"""The rows whose distances are measured."""
LEAST = 1e-3
"""The smallest scale, as a share of the largest."""


def unit_of(table: Any) -> float:
    """Return one over the median squared distance of some rows.

    Examples
    --------
    >>> unit_of(np.array([[0.0], [2.0], [4.0]]))
    0.25
    """
    places = np.linspace(0, table.shape[0] - 1, min(MEASURED, table.shape[0])).astype(np.int64)
    some = table[places]
    inner = some @ some.T
    inner = np.asarray(inner.toarray() if hasattr(inner, "toarray") else inner)
    squares = np.diag(inner)[:, None] + np.diag(inner) - 2.0 * inner
    apart = squares[squares > 1e-9 * max(float(squares.max(initial=0.0)), 1e-300)]
    return 1.0 / float(np.median(apart)) if len(apart) else 1.0


def scales(table: Array, classes: NDArray[Any], n_classes: int) -> Array:
    """Return the scale of each axis, so that the median squared distance of rows stays as it is.

    Examples
    --------
    >>> table = np.random.default_rng(0).standard_normal((1000, 6))
    >>> found = scales(table, (table[:, 0] * table[:, 1] > 0).astype(int), 2)
    >>> bool(found[:2].min() > 4 * found[2:].max())
    True
    """
    places = np.linspace(0, len(table) - 1, min(MOST_ROWS, len(table))).astype(np.int64)
    rows, own = np.asarray(table[places], np.float64), classes[places]
    found, unit = np.ones(rows.shape[1]), unit_of(rows)
    for _ in range(ROUNDS):
        derivatives = found * _mean_derivatives(rows * found, own, n_classes)
        if not (np.isfinite(derivatives).all() and derivatives.any()):
            return np.ones(rows.shape[1])
        found = np.maximum(derivatives / derivatives.max(), LEAST)
        found = found * (unit_of(rows * found) / unit) ** 0.5
    return np.asarray(found, np.float64)


def _mean_derivatives(rows: Array, classes: NDArray[Any], n_classes: int) -> Array:
    """Return the root of the mean squared derivative of the functions along each axis."""
    kernel = Kernel("rbf", gamma=REACH * unit_of(rows))
    [learned] = at_landmarks(rows, classes, n_classes, kernel, [COST])
    landmarks = rows[learned.places]
    values, total = kernel_values(rows, landmarks, kernel), np.zeros(rows.shape[1])
    for own in learned.coefficients:
        slopes = rows * (values @ own)[:, None] - values @ (own[:, None] * landmarks)
        total += np.square(2.0 * kernel.gamma * slopes).mean(axis=0)
    return np.sqrt(total)


def scales_of_columns(table: Any, weights: Array, sizes: Sequence[int]) -> Array:
    """Return the scale of each axis by how much its column contributes to linear functions: at most one.

    ``sizes`` are the numbers of axes of the columns, ``weights`` axes × functions. What a column contributes to a
    function is measured by its standard deviation over the rows, as if its axes were never above zero together.

    Examples
    --------
    >>> table = np.array([[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]])
    >>> scales_of_columns(table, np.array([[2.0], [-2.0], [1.0], [0.0]]), [2, 2]).tolist()
    [1.0, 1.0, 0.25, 0.25]
    """
    column = np.repeat(np.arange(len(sizes)), sizes)
    sums, squares = (np.asarray(one.sum(axis=0)).ravel() for one in (table, table * table))
    rows, strength = table.shape[0], np.zeros(len(sizes))
    for own in weights.T:
        means = np.bincount(column, sums * own, len(sizes)) / rows
        strength += np.maximum(np.bincount(column, squares * own**2, len(sizes)) / rows - means**2, 0.0)
    strength = np.sqrt(strength)
    if not strength.any():
        return np.ones(len(column))
    return np.asarray(np.maximum(strength / strength.max(), LEAST)[column])
