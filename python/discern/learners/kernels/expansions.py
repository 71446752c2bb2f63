"""Scores that are sums over rows, f_k(x) = Σ_s a_ks κ(x, s) + b_k: a function for each class against the rest.

Two learners give them. The dual solver of :mod:`discern.learners.kernels.machines` is exact, and its time grows with
the square of the rows. For many rows, least squares on the kernel values at landmark rows (the Nyström method: Williams
and Seeger, NIPS 2000) takes time in proportion to the rows:

    min Σ_i (y_ik − f_k(x_i))² + ‖f_k‖² / C    over the functions f_k that are sums over the landmarks

Both are solved for a path of costs C, each from what the one before has computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

import discern._native as _native
from discern.data.encode import is_sparse, native_table
from discern.data.threads import default_threads
from discern.learners.kernels.machines import Kernel, SupportVectorSettings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

MOST_EXACT = 20_000
"""With more rows, landmarks stand for them."""
MOST_WORK = 4e8
"""With more rows² times functions, too."""
LANDMARKS, ROWS_EACH = 1000, 8
"""The most landmarks, and the fewest rows for each."""
BLOCK = 4096
"""Rows whose kernel values are in memory at a time."""
SEED = 20_000
"""Landmarks are drawn the same way each time."""
TINY = 1e-9
"""The share of the largest curvature that is added to all: kernel values of near landmarks are almost the same."""


@dataclass(frozen=True)
class Expansion:
    """Functions that are sums over the rows at ``places``, with a line of ``coefficients`` for each function."""

    places: NDArray[np.int64]
    coefficients: Array
    intercepts: Array

    def scores(self, table: Any, rows: Any, kernel: Kernel, threads: int | None = None) -> Array:
        """Return the value of each function for the rows of a table; ``rows`` are those that it is a sum over."""
        return kernel.sums(table, rows, self.coefficients, threads) + self.intercepts


def is_exact(rows: int, n_classes: int) -> bool:
    """Return whether the exact solution takes a reasonable time.

    Examples
    --------
    >>> is_exact(20_000, 2), is_exact(20_001, 2), is_exact(15_000, 150)
    (True, False, False)
    """
    return rows <= MOST_EXACT and float(rows) ** 2 * functions_of(n_classes) <= MOST_WORK


def functions_of(n_classes: int) -> int:
    """Return the number of functions: one for two classes."""
    return 1 if n_classes == 2 else n_classes


def signs_of(classes: NDArray[Any], n_classes: int) -> Array:
    """Return ±1 for each function and row: whether the row is of the class; with two classes, of the second.

    Examples
    --------
    >>> signs_of(np.array([0, 1]), 2).tolist(), signs_of(np.array([0, 1, 2]), 3)[0].tolist()
    ([[-1.0, 1.0]], [1.0, -1.0, -1.0])
    """
    numbers = np.arange(n_classes)[1 if n_classes == 2 else 0 :]
    return np.where(classes == numbers[:, None], 1.0, -1.0)


def expansions(
    table: Any,
    classes: NDArray[Any],
    n_classes: int,
    kernel: Kernel,
    costs: Sequence[float],
    threads: int | None = None,
) -> list[Expansion]:
    """Learn the functions for each of some costs: exactly, or for many rows at landmarks."""
    if is_exact(len(classes), n_classes):
        return machines(table, classes, n_classes, kernel, costs, threads)
    return at_landmarks(table, classes, n_classes, kernel, costs)


def machines(
    table: Any,
    classes: NDArray[Any],
    n_classes: int,
    kernel: Kernel,
    costs: Sequence[float],
    threads: int | None = None,
) -> list[Expansion]:
    """Learn support vector machines, for each of some costs from the solution before.

    Examples
    --------
    >>> table = np.array([[-1.0], [3.0]])
    >>> [found] = machines(table, np.array([0, 1]), 2, Kernel("linear"), [10.0])
    >>> found.scores(np.array([[1.0], [3.0]]), table, Kernel("linear")).round(9).tolist()
    [[0.0], [1.0]]
    """
    rows, settings = np.arange(len(classes)), SupportVectorSettings().native(len(classes))
    signs = signs_of(classes, n_classes)
    problems = [(rows, own, np.full(len(rows), float(costs[0]))) for own in signs]
    growth = [float(after / before) for before, after in pairwise(costs)]
    found = _native.fit_machines(
        native_table(table), problems, kernel.native, settings, threads or default_threads(), growth
    )
    return [_together(found[place :: len(costs)]) for place in range(len(costs))]


def _together(found: Sequence[Any]) -> Expansion:
    """Put the coefficients of all functions on common rows."""
    coefficients = np.stack([own for own, _ in found])
    places = np.flatnonzero(coefficients.any(axis=0)).astype(np.int64)
    expansion = Expansion(places, np.ascontiguousarray(coefficients[:, places]), np.array([one[0] for _, one in found]))
    if not (np.isfinite(expansion.coefficients).all() and np.isfinite(expansion.intercepts).all()):
        raise ValueError("kernel values are not finite: scale the columns, or lower gamma")
    return expansion


def landmark_places(rows: int) -> NDArray[np.int64]:
    """Return the places of landmarks: rows drawn at random, always the same.

    Examples
    --------
    >>> landmark_places(3), len(landmark_places(4000)), len(landmark_places(100_000))
    (array([0, 1, 2]), 500, 1000)
    """
    count = min(LANDMARKS, max(rows // ROWS_EACH, 100), rows)
    return np.sort(np.random.default_rng(SEED).choice(rows, count, replace=False)).astype(np.int64)


def at_landmarks(
    table: Any, classes: NDArray[Any], n_classes: int, kernel: Kernel, costs: Sequence[float]
) -> list[Expansion]:
    """Learn by least squares on the kernel values at landmarks, whose sums are taken once for all costs.

    Examples
    --------
    >>> table = np.array([[-1.0], [3.0]])
    >>> [found] = at_landmarks(table, np.array([0, 1]), 2, Kernel("linear"), [1e6])
    >>> found.scores(np.array([[1.0], [3.0]]), table, Kernel("linear")).round(4).tolist()
    [[0.0], [1.0]]
    """
    places = landmark_places(len(classes))
    rows = table[places]
    products, targets = _sums(table, signs_of(classes, n_classes), rows, kernel)
    among = np.zeros_like(products)  # the intercept, which is last, costs nothing
    among[:-1, :-1] = kernel_values(rows, rows, kernel)
    return [Expansion(places, *_solved(products + among / cost, targets)) for cost in costs]


def _sums(table: Any, signs: Array, rows: Any, kernel: Kernel) -> tuple[Array, Array]:
    """Return the sums of products of kernel values at landmarks, and of them with the signs; a constant comes last."""
    size = rows.shape[0] + 1
    products, targets = np.zeros((size, size)), np.zeros((size, len(signs)))
    for start in range(0, table.shape[0], BLOCK):
        values = np.ones((min(BLOCK, table.shape[0] - start), size))
        values[:, :-1] = kernel_values(table[start : start + BLOCK], rows, kernel)
        products += values.T @ values
        targets += values.T @ signs[:, start : start + BLOCK].T
    return products, targets


def _solved(curvature: Array, targets: Array) -> tuple[Array, Array]:
    import scipy.linalg

    curvature = curvature + TINY * float(np.trace(curvature)) / len(curvature) * np.eye(len(curvature))
    found = scipy.linalg.solve(curvature, targets, assume_a="pos")
    return np.ascontiguousarray(found[:-1].T), np.ascontiguousarray(found[-1])


def kernel_values(table: Any, rows: Any, kernel: Kernel) -> Array:
    """Return κ(x, s) of each row of a table and each of some rows.

    Examples
    --------
    >>> kernel_values(np.array([[1.0, 2.0]]), np.array([[3.0, 1.0], [1.0, 2.0]]), Kernel("rbf")).round(4).tolist()
    [[0.0067, 1.0]]
    """
    inner = _dense(table @ rows.T)
    if kernel.name == "linear":
        return inner
    if kernel.name == "poly":
        return np.asarray((kernel.gamma * inner + kernel.offset) ** kernel.degree)
    squares = _squares(table)[:, None] + _squares(rows) - 2.0 * inner
    return np.asarray(np.exp(-kernel.gamma * np.maximum(squares, 0.0)))


def _dense(table: Any) -> Array:
    return np.asarray(table.toarray() if is_sparse(table) else table)


def _squares(table: Any) -> Array:
    """Return the squared length of each row."""
    return np.asarray(table.multiply(table).sum(axis=1) if is_sparse(table) else (table**2).sum(axis=1)).ravel()
