"""The penalized loss of logistic regression, with its Hessian written out or by products with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discern.learners.logistic.rows import LabeledRows
from discern.learners.logistic.sums import losses, probabilities, sums_of
from discern.learners.newton import DenseObjective, Expansion, Objective, conjugate_step

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
        norm = self.known_scale or float(np.linalg.norm(_gradient_at_zero(self.rows)))
        return norm if norm > 0 else 1.0

    def at(self, point: Array, hessian: bool = True) -> Expansion:
        """Return value, gradient and Hessian, the penalty included."""
        sums = sums_of(self.rows, point, hessian)
        value = sums.loss + 0.5 * float(np.sum(self.penalty * point**2))
        curved = sums.hessian
        if curved is not None:
            curved = curved.copy()
            curved[np.diag_indices_from(curved)] += np.tile(self.penalty, self.rows.outputs)
        return Expansion(point, value, sums.gradient + self.penalty * point, curved, sums.weight)


def _gradient_at_zero(rows: LabeledRows) -> Array:
    share = 0.5 if rows.outputs == 1 else 1.0 / rows.n_classes
    residual = share - rows.targets()
    return rows.sums(residual if rows.weights is None else residual * rows.weights[:, None])


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
        return conjugate_step(state.product, state.gradient, self.relative_norm(state.gradient))

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

    @cached_property
    def loss(self) -> float:
        """The penalized loss."""
        single, weights = losses(self.scores, self.objective.rows.classes), self.objective.rows.weights
        loss = single.sum() if weights is None else weights @ single
        return float(loss + 0.5 * np.sum(self.objective.penalty * self.point**2))

    @cached_property
    def gradient(self) -> Array:
        """Its gradient."""
        rows = self.objective.rows
        residual = self._weights * (self._shares - rows.targets())
        return np.asarray(rows.sums(residual) + self.objective.penalty * self.point)

    def product(self, direction: Array) -> Array:
        """Return the product of the Hessian with a matrix of the coefficients' shape."""
        rows, shares = self.objective.rows, self._shares
        moved = rows.scores(direction)
        common = (shares * moved).sum(axis=1, keepdims=True)
        change = shares * (1 - shares) * moved if rows.outputs == 1 else shares * (moved - common)
        return np.asarray(rows.sums(self._weights * change) + self.objective.penalty * direction)

    @cached_property
    def _shares(self) -> Array:
        return probabilities(self.scores)[:, -self.objective.rows.outputs :]

    @property
    def _weights(self) -> Any:
        weights = self.objective.rows.weights
        return 1.0 if weights is None else weights[:, None]


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
