"""Whether classes are separated by a hyperplane, with the direction that proves it.

The likelihood of a logistic regression has a maximum unless some direction β ≠ 0 never contradicts the data: β·x ≥ 0
for every row of the one class and ≤ 0 for every row of the other, not all of them zero (Albert and Anderson 1984, "On
the existence of maximum likelihood estimates in logistic regression models"). Such directions are found by linear
programming (Konis 2007, "Linear programming algorithms for detecting separated data in binary logistic regression
models"). If every row can be strictly on its side the separation is complete, else quasi-complete.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

Array = NDArray[Any]

CONTRADICTION = 1e-8
"""A row this far on the wrong side contradicts a direction (rows and columns are scaled to at most 1)."""
STRICT = 1e-6
"""A row this far on its side is separated."""
ACTIVE_ROWS = 4000
"""Larger problems are solved for some rows, and those that contradict the solution are added."""
SMALL = 2_000_000
"""Up to so many numbers a direction with few columns is looked for."""
MOST_TRIED = 30
"""So many columns are tried to be done without."""


class SeparationWarning(UserWarning):
    """The classes are separated: without a penalty the coefficients have no finite best values.

    Examples
    --------
    >>> import warnings
    >>> from discern.estimators.linear.logistic import LogisticRegression
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = LogisticRegression(penalty=None).fit([[1.0], [2.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> any(issubclass(one.category, SeparationWarning) for one in caught)
    True
    """


@dataclass(frozen=True)
class Separation:
    """A direction that separates classes, wholly or in part.

    Attributes
    ----------
    complete : whether every row is strictly on its side; if not, some lie on the hyperplane (quasi-complete)
    direction : (1, columns) for two classes, (classes, columns) for more, the intercept last if there is one
    columns : numbers of the features that separate: with no penalty their coefficients grow without limit
    rows : how many rows are strictly on their side

    Examples
    --------
    >>> found = find_separation(np.array([[1.0], [2.0], [2.0], [4.0]]), np.array([0, 0, 1, 1]))
    >>> found.kind, found.rows, found.columns
    ('quasi-complete', 2, (0,))
    """

    complete: bool
    direction: Array
    columns: tuple[int, ...]
    rows: int

    @property
    def kind(self) -> str:
        """``"complete"`` or ``"quasi-complete"``."""
        return "complete" if self.complete else "quasi-complete"

    def describe(self, names: Any = None) -> str:
        """Describe in one sentence which columns separate the classes."""
        shown = [str(names[place]) if names is not None else f"column {place}" for place in self.columns[:8]]
        more = len(self.columns) - len(shown)
        listed = ", ".join(shown) + (f" and {more} more" if more > 0 else "") or "the intercept alone"
        return f"{self.kind} separation: {self.rows} rows are set apart from the other classes by {listed}"


def find_separation(
    table: Any,
    classes: Any,
    width: int = 2,
    intercept: bool = True,
    weights: Array | None = None,
    candidate: Array | None = None,
) -> Separation | None:
    """Look for a direction that separates classes; None if there is none, so that the likelihood has a maximum.

    Parameters
    ----------
    table : array or CSR matrix of shape (rows, features)
    classes : number of each row's class, below ``width``
    candidate : coefficients to try first, such as those of a fit that did not converge

    Examples
    --------
    >>> find_separation(np.array([[1.0], [2.0], [3.0], [4.0]]), np.array([0, 0, 1, 1])).kind
    'complete'
    >>> find_separation(np.array([[1.0], [2.0], [2.0], [4.0]]), np.array([0, 0, 1, 1])).kind
    'quasi-complete'
    >>> find_separation(np.array([[1.0], [3.0], [2.0], [4.0]]), np.array([0, 0, 1, 1])) is None
    True
    """
    numbers = np.asarray(classes)
    if weights is not None:
        kept = np.flatnonzero(np.asarray(weights) > 0)
        table, numbers = table[kept], numbers[kept]
    scaled = _Scaled.of(table, intercept)
    sides = _sides(scaled.table, numbers, width)
    first = None if candidate is None else scaled.scaled_direction(candidate, width)
    direction, apart = _directions(sides, first)
    if not apart.any():
        return None
    direction = _sparsest(sides, direction, apart, scaled.table.shape[1])
    given = scaled.direction(direction, width)
    used = np.abs(direction).reshape(-1, scaled.table.shape[1])[:, : table.shape[1]].max(axis=0)
    columns = np.flatnonzero(used > 1e-7 * max(float(np.abs(direction).max()), 1e-300))
    by_row = apart.reshape(len(numbers), -1)
    return Separation(bool(apart.all()), given, tuple(columns.tolist()), int(by_row.any(axis=1).sum()))


@dataclass(frozen=True)
class _Scaled:
    """A table whose columns are centred (if dense, with an intercept) and of size 1, the intercept appended."""

    table: Any
    centres: Array
    sizes: Array
    intercept: bool

    @classmethod
    def of(cls, table: Any, intercept: bool) -> _Scaled:
        sparse = not isinstance(table, np.ndarray)
        features = table.shape[1]
        centred = intercept and not sparse and len(table)
        centres = table.mean(axis=0) if centred else np.zeros(features)
        moved = table if sparse else table - centres
        sizes = _largest(moved, 0)
        moved = moved @ scipy.sparse.diags_array(1.0 / sizes) if sparse else moved / sizes
        wide = _side_by_side(moved, np.ones((table.shape[0], 1))) if intercept else moved
        return cls(wide, centres, sizes, intercept)

    def direction(self, scaled: Array, width: int) -> Array:
        """Return a direction in terms of the columns as they were, a row an output."""
        outputs = scaled.reshape(-1, self.table.shape[1])
        features = outputs[:, : len(self.sizes)] / self.sizes
        given = features
        if self.intercept:
            given = np.hstack([features, outputs[:, -1:] - (features @ self.centres)[:, None]])
        return given if width == 2 else np.vstack([np.zeros(given.shape[1]), given])

    def scaled_direction(self, given: Array, width: int) -> Array:
        """Return coefficients in terms of the scaled columns, flat, those of the first class being zero."""
        outputs = given if width == 2 else given[1:] - given[0]
        features = outputs[:, : len(self.sizes)]
        parts = [features * self.sizes]
        if self.intercept:
            parts.append(outputs[:, -1:] + (features @ self.centres)[:, None])
        return np.hstack(parts).ravel()


def _largest(matrix: Any, axis: int) -> Array:
    """Return the largest absolute number of each column or row, 1 where all are 0."""
    sizes = abs(matrix).max(axis=axis)
    sizes = sizes if isinstance(sizes, np.ndarray) else sizes.toarray().ravel()
    return np.asarray(np.where(sizes > 0, sizes, 1.0))


def _side_by_side(left: Any, right: Any) -> Any:
    if isinstance(left, np.ndarray):
        return np.hstack([left, right])
    return scipy.sparse.csr_array(scipy.sparse.hstack([left, right]))


def _sides(table: Any, numbers: Array, width: int) -> Any:
    """Return the rows a of which a·β ≥ 0 is asked: ±x, or for more classes x on the own class and −x on another's."""
    if width > 2:
        table = _pairs(table, numbers, width)
    signs = np.where(numbers == 1, 1.0, -1.0) if width == 2 else np.ones(table.shape[0])
    factors = signs / _largest(table, 1)
    if isinstance(table, np.ndarray):
        return table * factors[:, None]
    return scipy.sparse.csr_array(scipy.sparse.diags_array(factors) @ table)


def _pairs(table: Any, numbers: Array, width: int) -> Any:
    """Return x ⊗ (e_own − e_other) for each row and other class; e of the first class is left out."""
    contrast = np.vstack([np.zeros(width - 1), np.eye(width - 1)])
    others = np.array([[k for k in range(width) if k != own] for own in range(width)])[numbers]
    differences = (contrast[numbers][:, None, :] - contrast[others]).reshape(-1, width - 1)
    repeated = scipy.sparse.csr_array(table)[np.repeat(np.arange(len(numbers)), width - 1)]
    blocks = [scipy.sparse.diags_array(differences[:, k]) @ repeated for k in range(width - 1)]
    return scipy.sparse.csr_array(scipy.sparse.hstack(blocks))


def _directions(sides: Any, candidate: Array | None) -> tuple[Array, NDArray[np.bool_]]:
    """Return a direction that sets apart as many rows as any does, and which these are.

    Directions that never contradict the data form a cone: the sum of two sets apart what either does. Each round looks
    for one that sets apart a row that none has yet.
    """
    total, apart = np.zeros(sides.shape[1]), np.zeros(sides.shape[0], bool)
    if candidate is not None and np.abs(candidate).max(initial=0.0) > 0:
        trial = candidate / np.abs(candidate).max()
        if (sides @ trial).min(initial=1.0) > STRICT:
            return trial, np.ones(sides.shape[0], bool)
    for _ in range(sides.shape[1]):
        if apart.all():
            break
        gain = np.asarray(sides[np.flatnonzero(~apart)].sum(axis=0)).ravel()
        found = _program(-gain, sides, np.zeros(sides.shape[0]), [(-1.0, 1.0)] * sides.shape[1])
        margins = None if found is None else sides @ found
        if found is None or margins is None or margins.min() < -CONTRADICTION or not np.any(margins[~apart] > STRICT):
            break
        total, apart = total + found, apart | (margins > STRICT)
    return total, apart


def _sparsest(sides: Any, direction: Array, apart: Array, columns: int) -> Array:
    """Return a direction that sets apart the same rows and needs every one of its columns.

    The least Σ|β| gives few columns; then each is tried to be done without.
    """
    if sides.shape[0] * sides.shape[1] > SMALL:
        return direction
    left_out: set[int] = set()
    best = _least(sides, apart, columns, left_out)
    if best is None:
        return direction
    sizes = np.abs(best).reshape(-1, columns).max(axis=0)
    for column in [place for place in np.argsort(sizes).tolist() if sizes[place] > 0][:MOST_TRIED]:
        fewer = _least(sides, apart, columns, left_out | {column})
        if fewer is not None:
            best, left_out = fewer, left_out | {column}
    return best


def _least(sides: Any, apart: Array, columns: int, left_out: set[int]) -> Array | None:
    """Return the direction of least Σ|β| that sets these rows apart without some columns; None if there is none."""
    width = sides.shape[1]
    free = [(0.0, 0.0 if place % columns in left_out else None) for place in range(width)]
    found = _program(np.ones(2 * width), _side_by_side(sides, -sides), apart.astype(np.float64), [*free, *free])
    if found is None:
        return None
    direction = found[:width] - found[width:]
    margins, size = sides @ direction, max(float(np.abs(direction).max()), 1.0)
    sound = bool(np.all(margins[apart] > 0.5)) and margins.min() >= -CONTRADICTION * size
    return direction if sound else None


def _program(cost: Array, sides: Any, least: Array, bounds: Any) -> Array | None:
    """Minimise cost·β with sides·β ≥ least, for ever more of the rows until none contradicts; None if it fails."""
    from scipy.optimize import linprog

    rows = sides.shape[0]
    active = np.unique(np.linspace(0, rows - 1, min(rows, ACTIVE_ROWS)).astype(int))
    while True:
        # An unbounded cost·β cannot be: β is in a box, or the cost is its size.
        answer = linprog(cost, A_ub=-sides[active], b_ub=-least[active], bounds=bounds, method="highs")
        if answer.x is None:
            return None
        short = sides @ answer.x - least
        short[active] = 0.0
        worst = np.argsort(short)[:ACTIVE_ROWS]
        worst = worst[short[worst] < -CONTRADICTION]
        if not len(worst):
            return np.asarray(answer.x)
        active = np.concatenate([active, worst])
