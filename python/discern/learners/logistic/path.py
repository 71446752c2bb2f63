"""Paths of logistic regression: several penalties, for all rows and for the training rows of each fold.

All rows are fitted first, each penalty from the last one. A fold begins where all rows ended, and its steps are those
of the Hessian of all rows, which is nearly its own. Dense rows of a fold are fitted with all penalties together;
otherwise it begins moved by as much as it was moved at the last penalty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discern.learners.logistic.fitting import far_offsets, fit_lasso, fit_logistic, shifted
from discern.learners.logistic.lasso import Penalties, native_columns
from discern.learners.logistic.objective import PenalizedLoss
from discern.learners.logistic.quasi import Estimate, Sample
from discern.learners.logistic.rows import LabeledRows
from discern.learners.logistic.solvers import SOLVERS, Fit, choose_solver, quasi_newton
from discern.learners.logistic.together import fit_together

Array = NDArray[Any]

FOLD_TOLERANCE = 1e-6
"""Folds begin so near their optimum that a greater tolerance could leave them at the coefficients of all rows."""
PATH_TOLERANCE = 1e-3
"""All rows are fitted to this along the path, where folds go on from there."""
FEWER_DIGITS = 100.0
"""Scores need two digits fewer than coefficients."""
ESTIMATE_PASSES = 4.0
"""The Hessian that folds share may cost as much as this many passes over all rows."""


@dataclass(frozen=True)
class Rule:
    """How to fit: the relative norm of the gradient to reach, the most iterations, and the solver for a ridge."""

    tol: float = 1e-8
    max_iter: int = 100
    solver: str = "auto"

    def for_scores(self) -> Rule:
        """Return the rule of fits that are only scored."""
        return replace(self, tol=min(FEWER_DIGITS * self.tol, FOLD_TOLERANCE))

    def solver_for(self, rows: LabeledRows, ridge: Array) -> str:
        """Return the solver: the one that was asked for, or the best."""
        return choose_solver(rows, ridge) if self.solver == "auto" else self.solver


@dataclass(frozen=True)
class PathPoint:
    """The fit of all rows for one penalty; ``estimate`` is the Hessian of the loss there, if folds use it."""

    fit: Fit
    estimate: Estimate | None = None


@dataclass(frozen=True)
class _Part:
    """Rows that are fitted with several penalties, and what all these fits share."""

    rows: LabeledRows
    rule: Rule

    @cached_property
    def columns(self) -> Any:
        return native_columns(self.rows.table)

    @cached_property
    def scale(self) -> float:
        return PenalizedLoss(self.rows, np.zeros(self.rows.columns)).scale

    def objective(self, ridge: Array) -> PenalizedLoss:
        return PenalizedLoss(self.rows, ridge, self.scale)

    def fit(self, penalties: Penalties, start: Array | None) -> Fit:
        if penalties.lasso.any():
            return self.sparsest(penalties, start)
        rule = self.rule
        options: dict[str, Any] = {"solver": rule.solver, "tol": rule.tol, "max_iter": rule.max_iter}
        return fit_logistic(self.rows, penalties.ridge, start=start, **options)

    def sparsest(self, penalties: Penalties, start: Array | None) -> Fit:
        return fit_lasso(self.rows, penalties, self.rule.tol, self.rule.max_iter, start, columns=self.columns)


@dataclass(frozen=True)
class Paths:
    """The fits of all rows, a path for each sequence of penalties; of folds, as exactly as scores need them.

    Examples
    --------
    >>> rows = LabeledRows(np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 1, 0, 1], np.int32), 2)
    >>> paths = Paths.of(rows, [[Penalties(np.zeros(2), np.array([1.0, 0.0]))]], Rule())
    >>> paths.points[0][0].fit.coefficients.round(4).tolist()
    [[0.4529, -0.6793]]
    >>> paths.fold(np.array([0, 1, 3]))[0][0].coefficients.round(4).tolist()
    [[0.708, -0.11]]
    """

    rows: LabeledRows
    penalties: Sequence[Sequence[Penalties]]
    rule: Rule
    points: list[list[PathPoint]]
    offsets: Array | None

    @classmethod
    def of(cls, rows: LabeledRows, penalties: Sequence[Sequence[Penalties]], rule: Rule) -> Paths:
        """Fit all rows, each penalty of a path from the last one."""
        offsets = far_offsets(rows, penalties[0][0].ridge + penalties[0][0].lasso)
        if offsets is not None:
            rows = replace(rows, table=rows.table - offsets)
        part = _Part(rows, rule.for_scores())
        return cls(rows, penalties, rule, [_path(part, path) for path in penalties], offsets)

    def whole(self, path: int, place: int) -> Fit:
        """Return the fit of all rows for one penalty, to the last digit that was asked for."""
        part, start = _Part(self.rows, self.rule), self.points[path][place].fit.coefficients
        return self._back(part.fit(self.penalties[path][place], start))

    def fold(self, train: Any) -> list[list[Fit]]:
        """Fit some of the rows, all paths."""
        part = _Part(self.rows.take(train), self.rule.for_scores())
        share = part.rows.total / max(self.rows.total, 1e-300)
        return [
            [self._back(fit) for fit in _fold_path(part, penalties, points, share)]
            for penalties, points in zip(self.penalties, self.points, strict=True)
        ]

    def _back(self, fit: Fit) -> Fit:
        return fit if self.offsets is None else replace(fit, coefficients=shifted(fit.coefficients, -self.offsets))


def _path(part: _Part, path: Sequence[Penalties]) -> list[PathPoint]:
    points: list[PathPoint] = []
    for penalties in path:
        fit = _next_fit(part, penalties, points[-1] if points else None)
        estimate = None if penalties.lasso.any() else _estimate(part, penalties.ridge, fit.coefficients)
        points.append(PathPoint(fit, estimate))
    return points


def _next_fit(part: _Part, penalties: Penalties, last: PathPoint | None) -> Fit:
    """Fit all rows from the last penalty; few digits do where folds, which only begin there, share its Hessian."""
    if last is None:
        return part.fit(penalties, None)
    start = last.fit.coefficients
    if last.estimate is None or penalties.lasso.any():
        return part.fit(penalties, start)
    near, _ = last.estimate.with_penalty(penalties.ridge)
    tolerance = max(PATH_TOLERANCE, part.rule.tol)
    return quasi_newton(part.objective(penalties.ridge), start, tolerance, part.rule.max_iter, near=near)


def _estimate(part: _Part, ridge: Array, point: Array) -> Estimate | None:
    """Return the Hessian that folds share, where they take quasi-Newton steps."""
    if part.rule.solver_for(part.rows, ridge) != "quasi-newton":
        return None
    return Sample.of(part.objective(ridge), ESTIMATE_PASSES).estimate(point)


def _fold_path(part: _Part, path: Sequence[Penalties], points: list[PathPoint], share: float) -> list[Fit]:
    at_once = _fold_fits_together(part, path, points, share)
    if at_once is not None:
        return at_once
    moved, found = 0.0 * points[0].fit.coefficients, []
    for penalties, point in zip(path, points, strict=True):
        if penalties.lasso.any():  # a moved start would not be sparse
            found.append(part.sparsest(penalties, point.fit.coefficients))
        else:
            found.append(_fold_fit(part, penalties.ridge, point, moved, share))
        moved = found[-1].coefficients - point.fit.coefficients
    return found


def _fold_fits_together(
    part: _Part, path: Sequence[Penalties], points: list[PathPoint], share: float
) -> list[Fit] | None:
    """Fit a fold with all penalties at once, where the Hessians of all rows are known."""
    estimates = [point.estimate for point in points if point.estimate is not None]
    if len(estimates) < len(points) or part.rows.sparse:
        return None
    starts = [point.fit.coefficients for point in points]
    ridges = [penalties.ridge for penalties in path]
    nearby = [estimate.with_penalty(ridge, share)[0] for estimate, ridge in zip(estimates, ridges, strict=True)]
    found = fit_together(part.rows, ridges, starts, nearby, part.scale, part.rule.tol)
    return [
        fit if fit.convergence.converged else _fold_fit(part, ridge, point, 0.0 * start, share)
        for fit, ridge, point, start in zip(found, ridges, points, starts, strict=True)
    ]


def _fold_fit(part: _Part, ridge: Array, point: PathPoint, moved: Array, share: float) -> Fit:
    start, rule = point.fit.coefficients + moved, part.rule
    if point.estimate is not None:
        near, _ = point.estimate.with_penalty(ridge, share)
        return quasi_newton(part.objective(ridge), start, rule.tol, rule.max_iter, near=near)
    name = rule.solver_for(part.rows, ridge)
    return SOLVERS["truncated newton" if name == "dual descent" else name](
        part.objective(ridge), start, rule.tol, rule.max_iter
    )
