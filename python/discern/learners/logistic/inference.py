"""Inference from a logistic regression: standard errors, tests, and the posterior under a Gaussian prior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky

from discern.learners.logistic.objective import PenalizedLoss
from discern.learners.logistic.rows import LabeledRows, dense_table
from discern.learners.logistic.solvers import SOLVERS, Convergence, Fit, choose_solver, newton
from discern.learners.logistic.sums import MOST_NATIVE, probabilities
from discern.learners.newton import Inverse, minimize

Array = NDArray[Any]

NEARER = 1e-3
"""How much nearer to the mode the last steps lead: the Hessian there is then that of Newton's method."""


@dataclass(frozen=True)
class Summary:
    """Coefficients with standard errors, tests and intervals, as a table for people (``print``, notebooks).

    ``names`` has a name for each number; for more than two classes it begins with the class, whose coefficients are
    relative to the first class.
    """

    names: tuple[str, ...]
    coefficients: Array
    standard_errors: Array
    z_values: Array
    p_values: Array
    lower: Array
    upper: Array
    facts: tuple[tuple[str, str], ...]
    notes: tuple[str, ...] = ()
    level: float = 0.95

    @classmethod
    def of(
        cls,
        names: tuple[str, ...],
        coefficients: Array,
        covariances: Array,
        facts: tuple[tuple[str, str], ...],
        notes: tuple[str, ...] = (),
        level: float = 0.95,
    ) -> Summary:
        """Compute Wald's tests and intervals."""
        from scipy.special import ndtr, ndtri

        errors = np.sqrt(np.maximum(np.diag(covariances), 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            z = coefficients / errors
        margin = float(ndtri(0.5 + level / 2)) * errors
        return cls(
            names,
            coefficients,
            errors,
            z,
            2 * ndtr(-np.abs(z)),
            coefficients - margin,
            coefficients + margin,
            facts,
            notes,
            level,
        )

    @property
    def heading(self) -> tuple[str, ...]:
        """The titles of the columns."""
        tail = (1 - self.level) / 2
        return ("", "coef", "std err", "z", "P>|z|", f"[{tail:.3g}", f"{1 - tail:.3g}]")

    def cells(self) -> list[tuple[str, ...]]:
        """Return the rows of the table as texts."""
        parts = (self.coefficients, self.standard_errors, self.z_values, self.p_values, self.lower, self.upper)
        shown = (_number, _number, _fixed, _fixed, _number, _number)
        return [
            (name, *(show(number) for show, number in zip(shown, numbers, strict=True)))
            for name, *numbers in zip(self.names, *parts, strict=True)
        ]

    def __str__(self) -> str:
        table = [self.heading, *self.cells()]
        widths = [max(len(row[place]) for row in table) for place in range(len(self.heading))]
        lines = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in table]
        facts = self._fact_lines()
        rule = max(map(len, [*lines, *facts]))
        title = "Logistic regression".center(rule).rstrip()
        parts = [title, "=" * rule, *facts, "=" * rule, lines[0], "-" * rule, *lines[1:], "=" * rule, *self.notes]
        return "\n".join(parts)

    __repr__ = __str__

    def _fact_lines(self) -> list[str]:
        """Return the facts in two columns."""
        texts = [f"{name + ':':<21}{value}" for name, value in self.facts]
        half = (len(texts) + 1) // 2
        width = max(map(len, texts[:half])) + 3
        right = [*texts[half:], *[""] * half][:half]
        return [f"{one:<{width}}{other}".rstrip() for one, other in zip(texts[:half], right, strict=True)]

    def _repr_html_(self) -> str:
        from html import escape

        facts = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in self.facts)
        head = "".join(f"<th>{escape(title)}</th>" for title in self.heading)
        body = "".join(
            f"<tr><th>{escape(name)}</th>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
            for name, *cells in self.cells()
        )
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return f"<table>{facts}</table><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{notes}"


def _fixed(number: float) -> str:
    return f"{number:.3f}"


def _number(number: float) -> str:
    """Format a number with four decimals, or in powers of ten where four decimals would show little of it."""
    plain = number == 0 or not np.isfinite(number) or 1e-2 <= abs(number) < 1e6
    return f"{number:.4f}" if plain else f"{number:.3e}"


# ------------------------------------------------------------------------------------------------------ Laplace


@dataclass(frozen=True)
class Posterior:
    """A Gaussian approximation to the posterior of the coefficients (Laplace's), under a Gaussian prior.

    ``covariance`` is of the flat coefficients; ``log_evidence`` approximates log p(y|X, prior), the flat prior of the
    intercept left out.
    """

    mean: Array
    covariance: Array
    prior_scale: float
    log_evidence: float
    convergence: Convergence


def laplace(rows: LabeledRows, prior_scale: float, *, tol: float = 1e-8, max_iter: int = 100) -> Posterior:
    """Approximate the posterior under independent priors N(0, prior_scale²); the intercept's is flat.

    log p(y|X) ≈ log p(y|ŵ) + log p(ŵ) + (d/2) log 2π − ½ log|H|, with H the Hessian of −log p(y, w) at its mode ŵ
    (MacKay 1992, "The evidence framework applied to classification networks").
    """
    features = rows.table.shape[1]
    penalty = np.zeros(rows.columns)
    penalty[:features] = prior_scale**-2
    found = _mode(PenalizedLoss(rows, penalty), tol, max_iter)
    assert found.hessian is not None
    inverse = Inverse.of(found.hessian + _intercept_lift(rows))
    log_evidence = -found.convergence.objective - 0.5 * inverse.log_determinant()
    log_evidence -= features * rows.outputs * np.log(prior_scale)
    if rows.intercept:
        log_evidence += 0.5 * np.log(2 * np.pi) * max(rows.outputs - 1, 1)
    spread = inverse.solve(np.eye(len(found.hessian)))
    return Posterior(found.coefficients, spread, prior_scale, float(log_evidence), found.convergence)


def _mode(objective: PenalizedLoss, tol: float, max_iter: int) -> Fit:
    """Find the mode of the posterior, and the Hessian there: where it is dear, it is written out last."""
    start, name = np.zeros(objective.shape), choose_solver(objective.rows, objective.penalty)
    is_cheap = objective.rows.outputs == 1 and objective.rows.columns <= MOST_NATIVE
    if name == "newton" or is_cheap:
        return newton(objective, start, tol, max_iter)
    near = SOLVERS[name](objective, start, tol, max_iter)
    first = near.convergence.iterations
    found = minimize(objective, near.coefficients, NEARER * tol, max(max_iter - first, 0))
    met, steps = found.converged or found.gradient_norm <= tol, first + found.iterations
    ended = Convergence(name, steps, found.state.loss, found.gradient_norm, met)
    return Fit(found.state.point, ended, found.state.hessian)


def _intercept_lift(rows: LabeledRows) -> Array:
    """Return a term that makes the Hessian definite along equal changes of all intercepts."""
    lift = np.zeros((rows.outputs * rows.columns,) * 2)
    if rows.intercept and rows.outputs > 1:
        places = np.arange(rows.outputs) * rows.columns + rows.columns - 1
        lift[np.ix_(places, places)] = max(rows.total, 1.0) / rows.outputs**2
    return lift


def best_prior_scale(rows: LabeledRows, *, tol: float = 1e-8, max_iter: int = 100) -> float:
    """Return the standard deviation of the prior with the greatest evidence, between 1e-3 and 1e3."""
    from scipy.optimize import minimize_scalar

    def short(exponent: float) -> float:
        return -laplace(rows, float(np.exp(exponent)), tol=tol, max_iter=max_iter).log_evidence

    found = minimize_scalar(short, bounds=(np.log(1e-3), np.log(1e3)), method="bounded", options={"xatol": 1e-3})
    return float(np.exp(found.x))


def score_covariances(rows: LabeledRows, posterior: Posterior) -> Array:
    """Return the covariance of each row's scores under the posterior, of shape (rows, outputs, outputs)."""
    table, (outputs, columns) = dense_table(rows), posterior.mean.shape
    blocks = posterior.covariance.reshape(outputs, columns, outputs, columns)
    spread = np.empty((len(table), outputs, outputs))
    for k in range(outputs):
        for j in range(k + 1):
            spread[:, k, j] = spread[:, j, k] = np.einsum("ij,ij->i", table @ blocks[k, :, j, :], table)
    return spread


def probit_probabilities(scores: Array, covariances: Array) -> Array:
    """Average the probability over Gaussian scores, by MacKay's probit approximation σ(s / √(1 + πv/8)).

    For more classes it is applied to each difference of two scores, p_k ∝ 1 / Σ_j exp(−(s_k − s_j) / √(1 + πv_kj/8)).

    Examples
    --------
    >>> probit_probabilities(np.array([[2.0]]), np.array([[[4.0]]])).round(4).tolist()
    [[0.2232, 0.7768]]
    """
    if scores.shape[1] == 1:
        return probabilities(scores / np.sqrt(1.0 + np.pi / 8.0 * covariances[:, 0]))
    own = np.diagonal(covariances, axis1=1, axis2=2)
    variances = np.maximum(own[:, :, None] + own[:, None, :] - 2 * covariances, 0.0)
    differences = (scores[:, :, None] - scores[:, None, :]) / np.sqrt(1.0 + np.pi / 8.0 * variances)
    with np.errstate(over="ignore"):  # of a class that is that unlikely the share is 0
        shares = 1.0 / np.exp(-differences).sum(axis=2)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def sampled_probabilities(rows: LabeledRows, posterior: Posterior, samples: int, random: np.random.Generator) -> Array:
    """Average the probability over coefficients drawn from the posterior."""
    root = cholesky(posterior.covariance, lower=True)
    total = np.zeros((rows.table.shape[0], rows.n_classes))
    for _ in range(samples):
        drawn = posterior.mean + (root @ random.standard_normal(root.shape[1])).reshape(posterior.mean.shape)
        total += probabilities(rows.scores(drawn))
    return total / samples
