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
SMALL = 4_000
"""Up to this many numbers in the constraints, a direction with few columns is searched for by linear programs."""
MOST_TRIED = 30
"""The search tries to drop at most this many columns."""


class SeparationWarning(UserWarning):
    """The classes are separated: without a penalty the coefficients have no finite best values.

    Examples
    --------
    >>> import warnings
    >>> from discern.estimators.linear.logistic import LogisticRegression
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = LogisticRegression(penalty=None).fit([[1.0], [2.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> print(caught[0].message)  # doctest: +ELLIPSIS
    complete separation: 4 rows are set apart from the other classes by column 0. ...
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
    n_classes: int = 2,
    intercept: bool = True,
    weights: Array | None = None,
    candidate: Array | None = None,
) -> Separation | None:
    """Find a direction that separates classes; None if there is none, so that the likelihood has a maximum.

    Parameters
    ----------
    table : array or CSR matrix of shape (rows, features)
    classes : number of each row's class, below ``n_classes``
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
    if intercept:
        alone = _single_column(scaled, numbers, n_classes)
        if alone is not None:
            return alone
    first = None if candidate is None else scaled.scaled_direction(candidate, n_classes)
    wide = scaled.table.shape[1] * (n_classes - 1)
    if first is not None and len(numbers) * wide * (n_classes - 1) > SMALL and _is_complete(scaled, numbers, first):
        return _separation(scaled, first, n_classes, np.ones((len(numbers), 1), bool))
    sides = _sides(scaled.table, numbers, n_classes)
    direction, apart = _directions(sides, first)
    if not apart.any():
        return None
    direction = _sparsest(sides, direction, apart, scaled.table.shape[1])
    return _separation(scaled, direction, n_classes, apart.reshape(len(numbers), -1))


def _separation(scaled: _Scaled, direction: Array, n_classes: int, apart: NDArray[np.bool_]) -> Separation:
    """Describe a flat direction of the scaled columns that sets rows apart from other classes."""
    given = scaled.direction(direction, n_classes)
    used = np.abs(direction).reshape(-1, scaled.table.shape[1])[:, : len(scaled.sizes)].max(axis=0)
    columns = np.flatnonzero(used > 1e-7 * max(float(np.abs(direction).max()), 1e-300))
    return Separation(bool(apart.all()), given, tuple(columns.tolist()), int(apart.any(axis=1).sum()))


def _is_complete(scaled: _Scaled, numbers: Array, direction: Array) -> bool:
    """Whether a flat direction has every row strictly on its side, row for row as :func:`_sides` scales them."""
    largest = float(np.abs(direction).max(initial=0.0))
    if largest == 0 or not np.isfinite(largest):
        return False
    outputs = (direction / largest).reshape(-1, scaled.table.shape[1])
    scores = np.asarray(scaled.table @ outputs.T)
    if len(outputs) == 1:
        margins = np.where(numbers == 1, scores[:, 0], -scores[:, 0])
    else:
        scores, every = np.hstack([np.zeros((len(scores), 1)), scores]), np.arange(len(scores))
        own = scores[every, numbers]
        scores[every, numbers] = -np.inf
        margins = own - scores.max(axis=1)
    return bool(np.all(margins > STRICT * _largest(scaled.table, 1)))


def _single_column(scaled: _Scaled, numbers: Array, n_classes: int) -> Separation | None:
    """Return the direction along the one column that separates all classes, by the widest gap; None if none does.

    Classes whose ranges of a column do not overlap are in order along it. Their scores are lines, each steeper than
    the one before, that cross in the middle of the gaps.
    """
    features = len(scaled.sizes)
    counts = np.bincount(numbers, minlength=n_classes)
    if not features or np.count_nonzero(counts) < max(n_classes, 2):
        return None
    ends = _ranges(scaled.table[:, :features], numbers, n_classes)
    order = np.argsort(ends[0], axis=0)
    least, most = (np.take_along_axis(end, order, axis=0) for end in ends)
    gaps = (least[1:] - most[:-1]).min(axis=0)
    best = int(np.argmax(gaps))
    if gaps[best] <= STRICT:
        return None
    middles = 0.5 * (least[1:, best] + most[:-1, best])
    lines = np.zeros((n_classes, scaled.table.shape[1]))
    lines[order[:, best], best] = np.arange(n_classes)
    lines[order[:, best], -1] = -np.concatenate([[0.0], np.cumsum(middles)])
    given = scaled.direction((lines[1:] - lines[0]).ravel(), n_classes)
    return Separation(True, given, (best,), len(numbers))


def _ranges(table: Any, numbers: Array, n_classes: int) -> tuple[Array, Array]:
    """Return the least and the largest number of each column by class."""
    parts = [table[numbers == place] for place in range(n_classes)]
    ends = [[part.min(axis=0), part.max(axis=0)] for part in parts]
    dense = [[end if isinstance(end, np.ndarray) else end.toarray().ravel() for end in pair] for pair in ends]
    return np.array([pair[0] for pair in dense]), np.array([pair[1] for pair in dense])


@dataclass(frozen=True)
class _Scaled:
    """A table whose columns are centered (if dense, with an intercept) and of size 1, the intercept appended."""

    table: Any
    centers: Array
    sizes: Array
    intercept: bool

    @classmethod
    def of(cls, table: Any, intercept: bool) -> _Scaled:
        sparse = not isinstance(table, np.ndarray)
        features = table.shape[1]
        centered = intercept and not sparse and len(table)
        centers = table.mean(axis=0) if centered else np.zeros(features)
        moved = table if sparse else table - centers
        sizes = _largest(moved, 0)
        moved = moved @ scipy.sparse.diags_array(1.0 / sizes) if sparse else moved / sizes
        wide = _side_by_side(moved, np.ones((table.shape[0], 1))) if intercept else moved
        return cls(wide, centers, sizes, intercept)

    def direction(self, scaled: Array, n_classes: int) -> Array:
        """Return a direction in terms of the columns as they were, a row an output."""
        outputs = scaled.reshape(-1, self.table.shape[1])
        features = outputs[:, : len(self.sizes)] / self.sizes
        given = features
        if self.intercept:
            given = np.hstack([features, outputs[:, -1:] - (features @ self.centers)[:, None]])
        return given if n_classes == 2 else np.vstack([np.zeros(given.shape[1]), given])

    def scaled_direction(self, given: Array, n_classes: int) -> Array:
        """Return coefficients in terms of the scaled columns, flat, those of the first class being zero."""
        outputs = given if n_classes == 2 else given[1:] - given[0]
        features = outputs[:, : len(self.sizes)]
        parts = [features * self.sizes]
        if self.intercept:
            parts.append(outputs[:, -1:] + (features @ self.centers)[:, None])
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


def _sides(table: Any, numbers: Array, n_classes: int) -> Any:
    """Return the rows a of the constraints a·β ≥ 0: ±x, or for more classes x at the own class and −x at another."""
    if n_classes > 2:
        table = _pairs(table, numbers, n_classes)
    signs = np.where(numbers == 1, 1.0, -1.0) if n_classes == 2 else np.ones(table.shape[0])
    factors = signs / _largest(table, 1)
    if isinstance(table, np.ndarray):
        return table * factors[:, None]
    return scipy.sparse.csr_array(scipy.sparse.diags_array(factors) @ table)


def _pairs(table: Any, numbers: Array, n_classes: int) -> Any:
    """Return x ⊗ (e_own − e_other) for each row and other class; e of the first class is left out."""
    contrast = np.vstack([np.zeros(n_classes - 1), np.eye(n_classes - 1)])
    others = np.array([[k for k in range(n_classes) if k != own] for own in range(n_classes)])[numbers]
    differences = (contrast[numbers][:, None, :] - contrast[others]).reshape(-1, n_classes - 1)
    repeated = scipy.sparse.csr_array(table)[np.repeat(np.arange(len(numbers)), n_classes - 1)]
    blocks = [scipy.sparse.diags_array(differences[:, k]) @ repeated for k in range(n_classes - 1)]
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

    The least Σ|β| gives few columns. Then each of them is dropped if the others suffice.
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
    size = sides.shape[1]
    free = [(0.0, 0.0 if place % columns in left_out else None) for place in range(size)]
    found = _program(np.ones(2 * size), _side_by_side(sides, -sides), apart.astype(np.float64), [*free, *free])
    if found is None:
        return None
    direction = found[:size] - found[size:]
    margins, size = sides @ direction, max(float(np.abs(direction).max()), 1.0)
    sound = bool(np.all(margins[apart] > 0.5)) and margins.min() >= -CONTRADICTION * size
    return direction if sound else None


def _program(cost: Array, sides: Any, least: Array, bounds: Any) -> Array | None:
    """Minimize cost·β with sides·β ≥ least, on growing subsets of the rows until none contradicts; None if it fails."""
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
