"""Firth's logistic regression, whose coefficients are finite even for separated classes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from discern.learners.logistic.rows import LabeledRows, dense_table
from discern.learners.logistic.solvers import Convergence, Fit
from discern.learners.logistic.sums import sums_of
from discern.learners.newton import DenseObjective, Expansion, Inverse, Objective, minimize

Array = NDArray[Any]

FARTHEST = 5.0
"""A step is shortened until it moves no score by more."""
ROUNDING = 1e-13
"""The relative rounding error of the loss, which the determinant dominates."""


def fit_firth(rows: LabeledRows, *, tol: float = 1e-8, max_iter: int = 100) -> Fit:
    """Maximize the likelihood times Jeffreys' prior |I(w)|^½, which exists even for separated data. Two classes only.

    Firth (1993), "Bias reduction of maximum likelihood estimates"; Heinze and Schemper (2002), "A solution to the
    problem of separation in logistic regression": the score becomes Σ x (y − p + h (½ − p)), h being the leverages.

    Examples
    --------
    >>> rows = LabeledRows(np.array([[-1.0], [1.0]]), np.array([0, 1], np.int32), 2, intercept=False)
    >>> fit_firth(rows).coefficients.round(4).tolist()
    [[1.6094]]
    """
    if rows.outputs > 1:
        raise ValueError(
            "Only binary classification is supported by Firth's penalty; for more classes use a ridge (a finite C)"
        )
    found = minimize(FirthLoss(rows), np.zeros((1, rows.columns)), tol, max_iter, ROUNDING)
    state, norm = found.state, found.gradient_norm
    ended = Convergence("firth", found.iterations, state.loss, norm, norm <= np.sqrt(tol))
    return Fit(state.point, ended, state.hessian, sums_of(rows, state.point, hessian=False).loss)


@dataclass(frozen=True)
class FirthLoss(DenseObjective):
    """Firth's penalized loss. In the place of its Hessian stands the information matrix."""

    rows: LabeledRows

    @cached_property
    def scale(self) -> float:
        """The norm of the gradient at zero coefficients."""
        return max(float(np.linalg.norm(self.at(np.zeros((1, self.rows.columns))).gradient)), 1e-300)

    def at(self, point: Array) -> Expansion:
        """Return the penalized loss, its gradient and the information matrix."""
        plain = sums_of(self.rows, point)
        assert plain.hessian is not None
        inverse, gradient = Inverse.of(plain.hessian), plain.gradient.copy()
        for block in self.rows.blocks():
            shares = expit(block.scores(point)[:, 0])
            weights = 1.0 if block.weights is None else block.weights
            leverages = weights * shares * (1 - shares) * inverse.lengths(dense_table(block))
            gradient -= block.sums((leverages * (0.5 - shares))[:, None])
        loss = plain.loss - 0.5 * inverse.log_determinant()
        return Expansion(point, loss, gradient, plain.hessian, plain.weight)

    def step(self, state: Expansion) -> Array:
        """Return the step of Fisher's scoring, shortened if it goes far."""
        step = super().step(state)
        return step * min(1.0, FARTHEST / max(float(np.abs(self.rows.scores(step)).max(initial=0.0)), 1e-300))

    def is_stationary(self, state: Expansion, tol: float) -> bool:
        """Whether the gradient is small enough to stop."""
        return Objective.is_stationary(self, state, tol)
