"""The penalized loss of logistic regression, with its Hessian written out or by products with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discern.learners.logistic.rows import LabeledRows
from discern.learners.logistic.sums import probabilities, residuals_of, sums_of
from discern.learners.newton import DenseObjective, Expansion, Objective, conjugate_step, positive

Array = NDArray[Any]


@dataclass(frozen=True)
class PenalizedLoss(DenseObjective):
    """The penalized loss of rows; ``penalty`` has a number for each column of the coefficients."""

    rows: LabeledRows
    penalty: Array
    known_scale: float | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the coefficients."""
        return self.rows.outputs, self.rows.columns

    @cached_property
    def scale(self) -> float:
        """The norm of the gradient at zero coefficients."""
        norm = self.known_scale or float(np.linalg.norm(sums_of(self.rows, np.zeros(self.shape), False).gradient))
        return norm if norm > 0 else 1.0

    @cached_property
    def squares(self) -> Any:
        """The squares of the numbers of the table."""
        return self.rows.table**2 if not self.rows.sparse else self.rows.table.power(2)

    @cached_property
    def _least_loss(self) -> float:
        """Where classes are separated, no loss is below this while a row is not on its side."""
        if self.penalty[: self.rows.table.shape[1]].any():
            return 0.0
        weights = self.rows.weights
        return float(np.log(2.0) * (1.0 if weights is None else weights[weights > 0].min(initial=1.0)))

    def separates(self, state: Expansion) -> bool:
        """Whether a point separates the classes, so that without a penalty there is no optimum to look for.

        A row that is not on its side has a loss of at least ln 2.
        """
        return self.is_separating(state.loss)

    def is_separating(self, loss: float) -> bool:
        """Whether the loss at a point tells that it separates the classes."""
        return bool(loss < 0.5 * self._least_loss)

    def is_stationary(self, state: Expansion, tol: float) -> bool:
        """Whether to stop: the gradient is small, or the classes are separated."""
        return self.separates(state) or super().is_stationary(state, tol)

    def at(self, point: Array, hessian: bool = True) -> Expansion:
        """Return value, gradient and Hessian, the penalty included."""
        sums = sums_of(self.rows, point, hessian)
        value = sums.loss + 0.5 * float(np.sum(self.penalty * point**2))
        curved = sums.hessian
        if curved is not None:
            curved = curved.copy()
            curved[np.diag_indices_from(curved)] += np.tile(self.penalty, self.rows.outputs)
        return Expansion(point, value, sums.gradient + self.penalty * point, curved, sums.weight)


@dataclass(frozen=True)
class ScoredLoss(Objective["ScoredState"]):
    """The same function without its Hessian written out: each product with it is two products with the table.

    Scores are linear in the coefficients, so trying a shorter step costs no product (Hsia, Zhu and Lin 2017).
    """

    whole: PenalizedLoss

    @property
    def scale(self) -> float:
        """The norm of the gradient at zero coefficients."""
        return self.whole.scale

    def at(self, point: Array) -> ScoredState:
        """Score the rows."""
        return ScoredState(self.whole, point, self.whole.rows.scores(point))

    def step(self, state: ScoredState) -> Array:
        """Return the Newton step by conjugate gradients."""
        diagonal = state.diagonal()
        return conjugate_step(
            state.product, state.gradient, self.relative_norm(state.gradient), lambda right: right / diagonal
        )

    def along(self, state: ScoredState, step: Array) -> Callable[[float], ScoredState]:
        """Move the scores with the coefficients."""
        moved = self.whole.rows.scores(step)
        return lambda share: ScoredState(self.whole, state.point + share * step, state.scores + share * moved)


@dataclass(frozen=True)
class ScoredState:
    """Coefficients and the scores of all rows; what follows from these is computed when it is needed."""

    objective: PenalizedLoss
    point: Array
    scores: Array

    @property
    def loss(self) -> float:
        """The penalized loss."""
        return float(self._parts[0] + 0.5 * np.sum(self.objective.penalty * self.point**2))

    @cached_property
    def gradient(self) -> Array:
        """Its gradient."""
        return np.asarray(self.objective.rows.sums(self._parts[1]) + self.objective.penalty * self.point)

    @cached_property
    def _parts(self) -> tuple[float, Array]:
        """The loss without the penalty, and the residuals."""
        return residuals_of(self.objective.rows, self.scores)

    def product(self, direction: Array) -> Array:
        """Return the product of the Hessian with a matrix of the coefficients' shape."""
        rows, shares = self.objective.rows, self._shares
        change = rows.scores(direction)
        if rows.outputs == 1:
            change *= 1 - shares
        else:
            change -= np.einsum("ij,ij->i", shares, change)[:, None]
        change *= shares
        if rows.weights is not None:
            change *= rows.weights[:, None]
        return np.asarray(rows.sums(change) + self.objective.penalty * direction)

    def diagonal(self) -> Array:
        """Return the diagonal of the Hessian: columns differ in how often they are there by orders of magnitude."""
        rows, shares = self.objective.rows, self._shares
        factors = (shares * (1 - shares)).mean(axis=1)
        if rows.weights is not None:
            factors = factors * rows.weights
        sums = np.asarray(self.objective.squares.T @ factors)
        return positive((np.append(sums, factors.sum()) if rows.intercept else sums) + self.objective.penalty)

    @cached_property
    def _shares(self) -> Array:
        return probabilities(self.scores)[:, -self.objective.rows.outputs :]


def hessian_product(table: Any, classes: Any, coefficients: Array, direction: Array) -> Array:
    """Return the product of the Hessian of rows at given coefficients with a direction: a sum over rows, too.

    Examples
    --------
    >>> from discern.learners.logistic.sums import statistics
    >>> X, y, w = np.array([[1.0], [2.0]]), np.array([0, 1]), np.array([[0.5, -1.0]])
    >>> product = hessian_product(X, y, w, np.array([[1.0, 0.0]]))
    >>> np.allclose(product.ravel(), statistics(X, y, w).hessian[:, 0])
    True
    """
    rows = LabeledRows(table, np.asarray(classes, np.int32), 2 if len(coefficients) == 1 else len(coefficients))
    return ScoredLoss(PenalizedLoss(rows, np.zeros(rows.columns))).at(coefficients).product(direction)
