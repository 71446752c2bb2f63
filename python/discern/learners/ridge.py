"""Least squares on targets of ±1, from the sums that linear discriminants use.

With A = Σ(x−x̄)(x−x̄)ᵀ and b = Σ(x−x̄)(y−ȳ), the weights are w = (A + αI)⁻¹ b. Both are sums over rows, and those of
the targets follow from the number of rows and the sums of each class.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.learners.newton import conjugate_gradients, positive
from discern.statistics.scatter import Scatter

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

PENALTIES = 10.0 ** np.arange(-6.0, 3.01, 0.25)
"""The penalties to try, as shares of the mean eigenvalue of A."""
MOST_COLUMNS = 1 << 14
"""The products of more columns than this (2 GB) are not summed: see :func:`solve_rows`."""
DEAR_FACTOR = 2e4
"""The products of sparse columns are not factored where the cube of their number is this many times their entries."""
NEARLY = 1e-9
"""The accuracy of conjugate gradients in the place of that factor."""
STEP = 150
"""A factor of the products of rows costs as much as this many times fewer steps than their number cubed has entries."""
FEW_ENTRIES = 3
"""Where sparse rows have fewer entries than this a column, steps are taken in the dual, whose vectors are short."""
BLOCK_ROWS = 1 << 10
"""Leverages are computed for this many rows at once."""


@dataclass(frozen=True)
class Normal:
    """The normal equations: A and b about the means of rows and targets, and the means, squares and number of rows."""

    products: Array
    cross: Array
    mean: Array
    target: Array
    squares: Array
    rows: float
    intercept: bool

    def intercepts(self, weights: Array) -> Array:
        """Return ȳ − x̄·w for each target."""
        return np.asarray(self.target - self.mean @ weights) if self.intercept else np.zeros(weights.shape[1])


def targets(classes: int) -> Array:
    """Return the targets of each class, a row a class: one of ±1 for two classes, else 1 for its own and −1 else."""
    return np.array([[-1.0], [1.0]])[:classes] if classes <= 2 else 2.0 * np.eye(classes) - 1.0


@dataclass(frozen=True)
class TargetRows:
    """Rows with their targets and weights; ``units`` is the part of a row's weight that is left out to test it."""

    table: Any
    aims: Array
    weights: Array
    units: Array

    @classmethod
    def of(cls, table: Any, numbers: Array, weights: Array | None = None, factors: Array | None = None) -> TargetRows:
        """Take rows by the number of their class; a weight counts as repetitions, of which one is left out."""
        given = np.ones(len(numbers)) if weights is None else weights
        factor = 1.0 if factors is None else factors[numbers]
        classes = int(numbers.max()) + 1 if factors is None else len(factors)
        return cls(table, targets(classes)[numbers], given * factor, np.minimum(given, 1.0) * factor)


def normal_equations(
    scatter: Scatter, factors: Array | None = None, intercept: bool = True, aims: Array | None = None
) -> Normal:
    """Derive the normal equations from the sums; ``factors`` multiply the weights of the classes' rows.

    ``aims`` are the targets of each class, a row a class; by default those of :func:`targets`.
    """
    aims = targets(len(scatter.counts)) if aims is None else aims
    counts = scatter.counts if factors is None else scatter.counts * factors
    rows = float(counts.sum())
    means = scatter.means()
    mean = counts @ means / rows if intercept else np.zeros(means.shape[1])
    target = counts @ aims / rows if intercept else np.zeros(aims.shape[1])
    within = scatter.within() if factors is None else np.tensordot(factors, scatter.by_class(), 1)
    apart, aside = means - mean, aims - target
    products = within + (counts[:, None] * apart).T @ apart
    return Normal(products, (counts[:, None] * apart).T @ aside, mean, target, counts @ aside**2, rows, intercept)


def solve(normal: Normal, penalty: Any) -> Array:
    """Return the weights, a column a target, for a penalty or one for each target; without any, the shortest.

    Examples
    --------
    >>> sums = Scatter.of(np.array([[0.0], [1.0], [3.0], [4.0]]), np.array([0, 0, 1, 1]), 2)
    >>> solve(normal_equations(sums), 0.0).tolist()
    [[0.6]]
    """
    import scipy.linalg

    penalties = np.broadcast_to(np.asarray(penalty, np.float64), normal.cross.shape[1:])
    weights = np.empty_like(normal.cross)
    for value in np.unique(penalties):
        chosen = penalties == value
        shifted = normal.products + value * np.eye(len(normal.products))
        try:
            factor = scipy.linalg.cho_factor(shifted, check_finite=False)
            # The part of each column that those before it do not explain, as a share of it.
            sound = bool(np.all(np.diagonal(factor[0]) ** 2 > 1e-13 * np.diagonal(shifted)))
        except np.linalg.LinAlgError:
            sound = False
        if sound:
            weights[:, chosen] = scipy.linalg.cho_solve(factor, normal.cross[:, chosen], check_finite=False)
        else:
            weights[:, chosen] = scipy.linalg.pinvh(shifted) @ normal.cross[:, chosen]
    return weights


def solve_positive(normal: Normal, penalty: Any) -> Array:
    """Return the weights, none of them below zero: least squares in the coordinates of a root of A + αI."""
    import scipy.linalg
    import scipy.optimize

    penalties = np.broadcast_to(np.asarray(penalty, np.float64), normal.cross.shape[1:])
    columns = []
    for value, cross in zip(penalties, normal.cross.T, strict=True):
        values, vectors = np.linalg.eigh(normal.products + value * np.eye(len(cross)))
        kept = values > 1e-13 * values[-1]
        root = np.sqrt(values[kept])[:, None] * vectors[:, kept].T
        columns.append(scipy.optimize.nnls(root, (vectors[:, kept].T @ cross) / np.sqrt(values[kept]))[0])
    return np.stack(columns, axis=1)


# ----------------------------------------------------------------------------------------- choosing the penalty


@dataclass(frozen=True)
class Choice:
    """A penalty, and the mean squared error that was least with it."""

    penalty: Any
    error: float


def choose_penalty(normal: Normal, rows: TargetRows | None = None) -> Choice:
    """Choose the penalty by leave-one-out, in closed form, among multiples of the mean eigenvalue of A.

    When it is left out, a row has the residual r/(1−h), with h its leverage: 1/N + zᵀ(Λ+α)⁻¹z in the coordinates
    A = VΛVᵀ, z = Vᵀ(x−x̄). Where the rows are not available, the mean leverage stands for that of each row: generalized
    cross-validation (Golub, Heath and Wahba 1979), which needs the sums alone.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> rows, classes = random.standard_normal((60, 20)), np.arange(60) % 2
    >>> normal = normal_equations(Scatter.of(rows + classes[:, None] * 0.3, classes, 2))
    >>> bool(choose_penalty(normal).penalty > 1)
    True
    """
    penalties = PENALTIES * (float(np.trace(normal.products)) / len(normal.products) or 1.0)
    errors = errors_left_out(normal, penalties, rows).mean(axis=0)
    best = int(np.argmin(errors))
    return Choice(float(penalties[best]), float(errors[best]))


def errors_left_out(normal: Normal, penalties: Array, rows: TargetRows | None = None) -> Array:
    """Return the mean squared error of rows when each is left out: of each target (a row), for each penalty."""
    values, vectors = np.linalg.eigh(normal.products)
    values = np.maximum(values, 0.0)
    rotated = vectors.T @ normal.cross
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.nan_to_num(1.0 / (values[:, None] + penalties), posinf=0.0)
    if rows is None:
        return _by_sums(normal, values, rotated, shares)
    return _by_rows(normal, vectors, rotated, shares, rows)


def _by_sums(normal: Normal, values: Array, rotated: Array, shares: Array) -> Array:
    residual = normal.squares[:, None] + rotated.T**2 @ (values[:, None] * shares**2 - 2 * shares)
    freedom = normal.rows - int(normal.intercept) - values @ shares
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = normal.rows * np.maximum(residual, 0.0) / freedom**2
    return np.where(freedom > 0, errors, np.inf)


def _by_rows(normal: Normal, vectors: Array, rotated: Array, shares: Array, rows: TargetRows) -> Array:
    errors = np.zeros((rotated.shape[1], shares.shape[1]))
    for block, left in _residuals(normal, vectors, rotated, shares, rows):
        left *= left
        errors += np.tensordot(rows.weights[block], left, 1).T
    return np.asarray(errors / normal.rows)


def residuals_left_out(normal: Normal, penalties: Array, rows: TargetRows) -> Array:
    """Return the residual of each row when it is left out: rows × targets × penalties."""
    found = np.empty((len(rows.aims), normal.cross.shape[1], len(penalties)))
    for block, left in _left_out(normal, penalties, rows):
        found[block] = left.transpose(0, 2, 1)
    return found


def squares_left_out(normal: Normal, penalties: Array, rows: TargetRows, weights: Array) -> Array:
    """Return the mean weighted square of the residuals of rows that are left out, over all targets, of each penalty."""
    total = np.zeros(len(penalties))
    for block, left in _left_out(normal, penalties, rows):
        left *= left
        total += weights[block] @ left.sum(axis=2)
    return np.asarray(total / (len(rows.aims) * normal.cross.shape[1]))


def _left_out(normal: Normal, penalties: Array, rows: TargetRows) -> Iterator[tuple[slice, Array]]:
    values, vectors = np.linalg.eigh(normal.products)
    with np.errstate(divide="ignore"):
        shares = np.nan_to_num(1.0 / (np.maximum(values, 0.0)[:, None] + penalties), posinf=0.0)
    return _residuals(normal, vectors, vectors.T @ normal.cross, shares, rows)


def _residuals(
    normal: Normal, vectors: Array, rotated: Array, shares: Array, rows: TargetRows
) -> Iterator[tuple[slice, Array]]:
    """Yield the residuals of blocks of rows, each row left out, r/(1−h): rows × penalties × targets."""
    size, count = rotated.shape[1], shares.shape[1]
    weighted = (shares[:, :, None] * rotated[:, None, :]).reshape(len(rotated), size * count)
    for block, parts in _rotated_blocks(rows.table, vectors, normal.mean):
        leverages = rows.units[block, None] * (int(normal.intercept) / normal.rows + parts**2 @ shares)
        left = (parts @ weighted).reshape(-1, count, size)
        np.subtract((rows.aims[block] - normal.target)[:, None, :], left, out=left)
        left /= np.maximum(1 - leverages, 1e-12)[:, :, None]
        yield block, left


def compressed(table: Any) -> tuple[Array, Any]:
    """Return fewer columns in which rows have the same products, and what turns weights for them into weights for all.

    Examples
    --------
    >>> short, back = compressed(np.array([[3.0, 4.0, 0.0]]))
    >>> np.abs(short).tolist(), np.abs(back(np.array([[5.0]]))).tolist()
    ([[5.0]], [[3.0], [4.0], [0.0]])
    """
    products = table @ table.T
    values, vectors = np.linalg.eigh(np.asarray(products.toarray() if hasattr(products, "toarray") else products))
    kept = values > 1e-13 * max(float(values[-1]), 0.0)
    roots, vectors = np.sqrt(values[kept]), vectors[:, kept]
    return vectors * roots, lambda weights: np.asarray(table.T @ (vectors @ (weights / roots[:, None])))


def _rotated_blocks(table: Any, vectors: Array, mean: Array) -> Iterator[tuple[slice, Array]]:
    shift = mean @ vectors
    for start in range(0, table.shape[0], BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        yield block, np.asarray(table[block] @ vectors) - shift


# -------------------------------------------------------------------------------------------- too many columns


def is_iterated(table: Any, targets: int) -> bool:
    """Whether conjugate gradients solve sparse rows faster than a factor of the products of their columns."""
    return bool(hasattr(table, "tocsr") and min(table.shape) ** 3 > DEAR_FACTOR * table.nnz * targets)


def steps_of_a_factor(table: Any, targets: int) -> int:
    """Return how many steps of conjugate gradients for each target take the time of a factor of the rows' products."""
    return int(table.shape[0] ** 3 / (STEP * max(table.nnz, 1) * targets)) if hasattr(table, "tocsr") else 0


def solve_rows(
    rows: TargetRows, penalty: float, intercept: bool, tolerance: float, most: int | None
) -> tuple[Array, Array, Array]:
    """Solve by conjugate gradients on the rows, where there are too many columns for sums.

    Return the weights, a column a target, the intercepts and the number of steps for each target.
    """
    table, aims, weights = rows.table, rows.aims, rows.weights
    mean = np.asarray(weights @ table) / weights.sum() if intercept else np.zeros(table.shape[1])
    target = weights @ aims / weights.sum() if intercept else np.zeros(aims.shape[1])
    if penalty > 0 and hasattr(table, "tocsr") and table.nnz < FEW_ENTRIES * (table.shape[1] - table.shape[0]):
        found, steps = _solve_duals(rows, mean, target, penalty, tolerance, most or 10 * table.shape[1])
        return found, target - mean @ found, steps

    def back(residual: Array) -> Array:
        weighted = weights * residual
        return np.asarray(np.asarray(table.T @ weighted) - mean * weighted.sum())

    def product(vector: Array) -> Array:
        return back(np.asarray(table @ vector) - mean @ vector) + penalty * vector

    squares = table.power(2) if hasattr(table, "tocsr") else np.square(table)
    diagonal = positive(np.asarray(weights @ squares) - weights.sum() * mean**2 + penalty)
    solved = [
        conjugate_gradients(
            product, back(aim - middle), tolerance, lambda right: right / diagonal, most or 10 * table.shape[1]
        )
        for aim, middle in zip(aims.T, target, strict=True)
    ]
    found = np.stack([column for column, _ in solved], axis=1)
    return found, target - mean @ found, np.array([steps for _, steps in solved])


def _solve_duals(
    rows: TargetRows, mean: Array, target: Array, penalty: float, tolerance: float, most: int
) -> tuple[Array, Array]:
    """Solve (AAᵀ + αI) a = y for the rows A less their mean, of which the weights are Aᵀa: vectors are short."""
    table, transposed, roots = rows.table, rows.table.T, np.sqrt(rows.weights)
    along, square = np.asarray(table @ mean), float(mean @ mean)

    def product(vector: Array) -> Array:
        rooted = roots * vector
        total = float(rooted.sum())
        back = np.asarray(table @ np.asarray(transposed @ rooted)) - along * total
        return np.asarray(roots * (back - (along @ rooted - square * total)) + penalty * vector)

    columns, every = [], []
    for aim, middle in zip(rows.aims.T, target, strict=True):
        dual, steps = conjugate_gradients(product, roots * (aim - middle), tolerance, None, most)
        rooted = roots * dual
        every.append(steps)
        columns.append(np.asarray(transposed @ rooted) - mean * rooted.sum())
    return np.stack(columns, axis=1), np.array(every)
