"""Fit the same dense rows with several ridges at once: the rows are multiplied with all coefficients together.

A product of a matrix with ten vectors reads the matrix once, and costs a fraction of ten products.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

import discern._native as _native
from discern.learners.logistic.quasi import MEMORY, Solve, quasi_newton_step
from discern.learners.logistic.rows import LabeledRows
from discern.learners.logistic.solvers import Convergence, Fit

Array = NDArray[Any]

MOST_STEPS = 20
"""A fit that takes more steps is left to a line search."""
MOST_GROWTH = 2.0
"""So is one whose gradient is more than this many times the least that it was."""
SURE = 0.25
"""Steps that bring the gradient down to this share converge."""


@dataclass
class _Search:
    """The fit of one ridge: its coefficients, and how to step from them."""

    point: Array
    ridge: Array
    solve: Solve
    steps: list[tuple[Array, Array]] = field(default_factory=list)
    norms: list[float] = field(default_factory=list)
    gradient: Array | None = None
    step: Array | None = None
    loss: float = np.nan
    state: str = "open"

    def look(self, loss: float, gradient: Array, scale: float, tol: float) -> None:
        """Take note of the gradient, and choose the next step."""
        gradient = gradient + self.ridge * self.point
        self.loss = loss + 0.5 * float(np.sum(self.ridge * self.point**2))
        if self.step is not None and self.gradient is not None:
            change = gradient - self.gradient
            if np.vdot(self.step, change) > 0:
                self.steps = [*self.steps[-MEMORY:], (self.step, change)]
        self.gradient = gradient
        self.norms.append(float(np.linalg.norm(gradient)) / scale)
        if self.norms[-1] <= tol:
            self.state = "met"
        elif len(self.norms) > MOST_STEPS or not self.norms[-1] <= MOST_GROWTH * min(self.norms):
            self.state = "left"
        else:
            self.step = quasi_newton_step(gradient, self.solve, self.steps)
            self.point = self.point + self.step
            self.state = "met" if self._is_last(tol) else "open"

    def _is_last(self, tol: float) -> bool:
        """Whether a step as good as the last one surely leads to the goal: nobody looks at the gradient there."""
        if len(self.norms) < 2:
            return False
        share = self.norms[-1] / self.norms[-2]
        return share <= SURE and share * self.norms[-1] <= tol

    def fit(self) -> Fit:
        ended = Convergence("quasi-newton", len(self.norms) - 1, self.loss, self.norms[-1], self.state == "met")
        return Fit(self.point, ended)


def fit_together(
    rows: LabeledRows,
    ridges: Sequence[Array],
    starts: Sequence[Array],
    solves: Sequence[Solve],
    scale: float,
    tol: float,
) -> list[Fit]:
    """Fit dense rows with each ridge, from starts near the optimum; fits that do not get there have not converged.

    Parameters
    ----------
    solves : sequence of callable
        Each solves with a matrix near the Hessian, penalty included.
    scale : float
        The norm of the gradient at zero coefficients: ``tol`` is relative to it.

    Examples
    --------
    >>> rows = LabeledRows(np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 1, 0, 1], np.int32), 2)
    >>> found = fit_together(rows, [np.ones(2)], [np.zeros((1, 2))], [lambda right: 0.3 * right], 1.0, 1e-6)
    >>> found[0].coefficients.round(4).tolist(), found[0].convergence.converged
    ([[0.301, -0.2221]], True)
    """
    searches = [_Search(*given) for given in zip(starts, ridges, solves, strict=True)]
    while going := [search for search in searches if search.state == "open"]:
        losses, gradients = sums_together(rows, np.array([search.point for search in going]))
        for search, loss, gradient in zip(going, losses, gradients, strict=True):
            search.look(float(loss), gradient, scale, tol)
    return [search.fit() for search in searches]


def sums_together(rows: LabeledRows, points: Array) -> tuple[Array, Array]:
    """Return losses and gradients of dense rows at several coefficients, by point, output and column.

    Examples
    --------
    >>> rows = LabeledRows(np.array([[2.0]]), np.array([1], np.int32), 2)
    >>> sums_together(rows, np.zeros((2, 1, 2)))[1].tolist()
    [[[-1.0, -0.5]], [[-1.0, -0.5]]]
    """
    count, outputs, columns = points.shape
    features = rows.table.shape[1]
    weights = np.ascontiguousarray(points[:, :, :features]).reshape(count * outputs, features)
    intercepts = points[:, :, features] if rows.intercept else np.zeros((count, outputs))
    losses, gradients = np.zeros(count), np.zeros((count, outputs, columns))
    for block, table in rows.dense_blocks(max(rows.block_rows, 256)):
        scores = np.ascontiguousarray(weights @ table.T).reshape(count, outputs, len(table))
        classes = np.ascontiguousarray(rows.classes[block])
        own = None if rows.weights is None else np.ascontiguousarray(rows.weights[block], np.float64)
        for place in range(count):
            losses[place] += _native.logistic_residuals(scores[place], intercepts[place].copy(), classes, own)
        sums = scores.reshape(count * outputs, -1) @ table
        gradients[:, :, :features] += sums.reshape(count, outputs, features)
        if rows.intercept:
            gradients[:, :, features] += scores.sum(axis=2)
    return losses, gradients
