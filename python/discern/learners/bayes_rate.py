"""The Bayes classifier of known densities: no classifier that sees the same columns errs less often.

Given priors π_k and densities f_k, the posterior is P(k|x) ∝ π_k f_k(x), and the best decision is the one of the least
expected loss, argmin_d Σ_k L(k, d) P(k|x); with a loss of 1 for each error, the most probable class. Its error rate is
the Bayes rate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.learners.bayes import posterior
from discern.learners.densities import Axis, Density, as_density, draw_rows, gauss_legendre, line_edges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

PANELS = 300
"""The number of panels on each side of a plane."""
DRAWS = 200_000
CHUNK = 1 << 17
"""Rows whose densities are computed at once."""


@dataclass(frozen=True)
class BayesRate:
    """The least error rate, or expected loss, with its standard error and the method.

    ``standard_error`` is that of the Monte Carlo sample; of a quadrature it is the difference of two grids.

    Examples
    --------
    >>> from scipy import stats
    >>> rate = BayesClassifier([stats.norm(0), stats.norm(2)]).bayes_rate()
    >>> round(float(rate), 4), rate.method
    (0.1587, 'closed form')
    """

    rate: float
    standard_error: float
    method: str

    def __float__(self) -> float:
        return self.rate


class BayesClassifier:
    """Decides by known densities and priors.

    Parameters
    ----------
    densities : mapping of class to density, or sequence of densities
        Each a frozen ``scipy.stats`` distribution, a list of them (independent columns), a :class:`Density`, the
        result of :func:`mixture`, or a function of a table that returns the density of each row.
    priors : sequence, optional
        In the order of the densities; all alike if not given.
    classes : sequence, optional
        Their names; by default the keys of a mapping, else 0, 1, 2, ….
    loss : array of shape (classes, decisions), optional
        ``loss[k, d]`` is what decision d costs when k is true; 1 for each error if not given.
    decisions : sequence, optional
        The names of the decisions; the classes if not given.
    dimension : int, optional
        The number of columns, for densities that are functions.

    Examples
    --------
    >>> from scipy import stats
    >>> model = BayesClassifier({"low": stats.norm(0), "high": stats.norm(2)})
    >>> model.predict([[0.9], [1.1]]).tolist()
    ['low', 'high']
    >>> model.bayes_rate()
    BayesRate(rate=0.1586552539..., standard_error=0.0, method='closed form')
    >>> model.predict([[0.9]], loss=[[0, 1], [5, 0]]).tolist()  # to miss a high one costs five times as much
    ['high']
    """

    def __init__(
        self,
        densities: Mapping[Any, Any] | Sequence[Any],
        priors: Any = None,
        classes: Any = None,
        loss: Any = None,
        decisions: Any = None,
        dimension: int | None = None,
    ) -> None:
        named = isinstance(densities, Mapping)
        given = list(densities.values()) if isinstance(densities, Mapping) else list(densities)
        names = list(densities) if named else list(range(len(given)))
        self.densities = _same_columns([as_density(density, dimension) for density in given])
        self.classes = np.array(names if classes is None else classes)
        self.priors = _checked_priors(priors, len(given))
        if self.classes.shape != self.priors.shape:
            raise ValueError(f"there are {len(given)} densities and {len(self.classes)} classes; name each once")
        self.loss, self.decisions = loss, decisions

    @property
    def dimension(self) -> int:
        """The number of columns."""
        return self.densities[0].dimension

    def predict_joint_log_proba(self, X: Any) -> Array:
        """Return log π_k f_k(x) for each row and class."""
        rows = self._rows(X)
        with np.errstate(divide="ignore"):
            levels = np.log(self.priors)
        return np.stack([density.log(rows) + level for density, level in zip(self.densities, levels, strict=True)], 1)

    def predict_proba(self, X: Any) -> Array:
        """Return the posterior P(k|x); where no class can have made a row, all are alike."""
        return posterior(self.predict_joint_log_proba(X))

    def predict(self, X: Any, loss: Any = None) -> Array:
        """Return the decision of the least expected loss for each row; without a loss, the most probable class."""
        costs, names = self._costs(loss)
        return np.asarray(names[np.argmin(self.predict_proba(X) @ costs, axis=1)])

    def risk(self, X: Any, loss: Any = None) -> Array:
        """Return the expected loss of each decision for each row."""
        return np.asarray(self.predict_proba(X) @ self._costs(loss)[0])

    def sample(self, rows: int | Sequence[int], random_state: Any = None) -> tuple[Array, Array]:
        """Draw rows and their classes: a number in all, by the priors, or a number for each class."""
        random = np.random.default_rng(random_state)
        counts = random.multinomial(rows, self.priors) if isinstance(rows, int | np.integer) else np.asarray(rows)
        parts = [draw_rows(density, int(count), random) for density, count in zip(self.densities, counts, strict=True)]
        order = random.permutation(int(counts.sum()))
        return np.vstack(parts)[order], np.repeat(self.classes, counts)[order]

    def bayes_rate(self, loss: Any = None, *, draws: int = DRAWS, random_state: Any = 0) -> BayesRate:
        """Return the least error rate that any classifier can have here, or the least expected loss.

        In closed form for two normal densities with the same covariance, by quadrature in one or two columns, else by
        Monte Carlo, with its standard error.
        """
        costs, _ = self._costs(loss)
        closed = self._closed_form() if loss is None and self.loss is None else None
        if closed is not None:
            return BayesRate(closed, 0.0, "closed form")
        if any(density.discrete for density in self.densities):
            if self.dimension == 1:
                return BayesRate(self._summed(costs), 0.0, "sum")
        elif self.dimension == 1:
            return self._on_line(costs)
        elif self.dimension == 2:
            return self._on_plane(costs, random_state)
        return self._monte_carlo(costs, draws, random_state)

    # -------------------------------------------------------------------------------------------- the rate

    def _closed_form(self) -> float | None:
        """With Δ the Mahalanobis distance of the means: Σ_k π_k Φ(−Δ/2 ± log(π_1/π_0)/Δ)."""
        from scipy.special import ndtr

        normals = [density.normal for density in self.densities]
        if len(normals) != 2 or normals[0] is None or normals[1] is None or not np.all(self.priors > 0):
            return None
        first, covariance = normals[0]
        second, other = normals[1]
        if not np.allclose(covariance, other, rtol=1e-12, atol=0):
            return None
        apart = second - first
        distance = float(np.sqrt(apart @ np.linalg.pinv(covariance, hermitian=True) @ apart))
        if distance == 0:
            return float(self.priors.min())
        tilt = float(np.log(self.priors[1] / self.priors[0])) / distance
        return float(self.priors @ ndtr(-distance / 2 + np.array([tilt, -tilt])))

    def _least_loss(self, rows: Array, costs: Array) -> Array:
        """Return min_d Σ_k L(k, d) π_k f_k(x): what is integrated."""
        return np.asarray((np.exp(self.predict_joint_log_proba(rows)) @ costs).min(axis=1))

    def _summed(self, costs: Array) -> float:
        edges = np.concatenate([line_edges(density) for density in self.densities])
        whole = np.arange(np.floor(edges.min()), np.ceil(edges.max()) + 1)
        return float(self._least_loss(whole[:, None], costs).sum())

    def _on_line(self, costs: Array) -> BayesRate:
        edges = np.unique(np.concatenate([line_edges(density) for density in self.densities]))
        edges = np.unique(np.concatenate([edges, self._boundaries(edges, costs)]))
        fine, coarse = (self._line_sum(edges, costs, nodes) for nodes in (10, 7))
        return BayesRate(fine, abs(fine - coarse), "quadrature")

    def _line_sum(self, edges: Array, costs: Array, nodes: int) -> float:
        points, weights = gauss_legendre(edges, nodes)
        return float(weights @ self._least_loss(points[:, None], costs))

    def _boundaries(self, edges: Array, costs: Array) -> Array:
        """Find where the decision changes between two edges, by bisection: there the integrand has a kink."""

        def decisions(points: Array) -> Array:
            joint = self.predict_joint_log_proba(points[:, None])
            return np.asarray((np.exp(joint - joint.max(axis=1, keepdims=True)) @ costs).argmin(axis=1))

        with np.errstate(invalid="ignore"):  # where all densities are 0 there is nothing to find
            chosen = decisions(edges)
            changes = np.flatnonzero(chosen[1:] != chosen[:-1])
            low, high = edges[changes], edges[changes + 1]
            for _ in range(60):
                middle = (low + high) / 2
                same = decisions(middle) == chosen[changes] if len(changes) else np.zeros(0, bool)
                low, high = np.where(same, middle, low), np.where(same, high, middle)
        return np.asarray((low + high) / 2)

    def _on_plane(self, costs: Array, random_state: Any) -> BayesRate:
        axes = self._axes(np.random.default_rng(random_state))
        fine, coarse = (self._plane_sum(axes, costs, panels) for panels in (PANELS, PANELS * 2 // 3))
        return BayesRate(fine, abs(fine - coarse), "quadrature")

    def _axes(self, random: np.random.Generator) -> list[Axis]:
        """Assign each column a coordinate in which its densities are spread evenly and end."""
        bounds = [density.bounds for density in self.densities]
        if all(limits is not None for limits in bounds):
            joined = np.array(bounds)
            return [Axis(0.0, None, joined[:, side, 0].min(), joined[:, side, 1].max()) for side in (0, 1)]
        rows = np.vstack([draw_rows(density, 20_000, random) for density in self.densities])
        return [Axis.of(column) for column in rows.T]

    def _plane_sum(self, axes: list[Axis], costs: Array, panels: int) -> float:
        (across, across_weights), (along, along_weights) = (axis.nodes(panels) for axis in axes)
        step, total = max(CHUNK // len(along), 1), 0.0
        for start in range(0, len(across), step):
            some = across[start : start + step]
            rows = np.column_stack([some.repeat(len(along)), np.tile(along, len(some))])
            losses = self._least_loss(rows, costs).reshape(len(some), len(along))
            total += float(across_weights[start : start + step] @ losses @ along_weights)
        return total

    def _monte_carlo(self, costs: Array, draws: int, random_state: Any) -> BayesRate:
        """Average the least expected loss given x over draws from each class by its prior."""
        random = np.random.default_rng(random_state)
        rate, variance = 0.0, 0.0
        for density, prior in zip(self.densities, self.priors, strict=True):
            if prior > 0:
                losses = self._losses_of(density, max(int(draws * prior), 100), costs, random)
                rate += prior * losses.mean()
                variance += prior**2 * losses.var(ddof=1) / len(losses)
        return BayesRate(float(rate), float(np.sqrt(variance)), "Monte Carlo")

    def _losses_of(self, density: Density, draws: int, costs: Array, random: np.random.Generator) -> Array:
        parts = [(self.predict_proba(draw_rows(density, size, random)) @ costs).min(axis=1) for size in _chunks(draws)]
        return np.concatenate(parts)

    # --------------------------------------------------------------------------------------------- checking

    def _rows(self, X: Any) -> Array:
        rows = np.asarray(X, np.float64)
        if rows.ndim == 1 and self.dimension == 1:
            rows = rows[:, None]
        if rows.ndim != 2 or rows.shape[1] != self.dimension:
            raise ValueError(f"the rows must be a table of {self.dimension} columns, not of shape {rows.shape}")
        return rows

    def _costs(self, loss: Any) -> tuple[Array, Array]:
        given = self.loss if loss is None else loss
        if given is None:
            return 1.0 - np.eye(len(self.classes)), self.classes
        costs = np.asarray(given, np.float64)
        if costs.ndim != 2 or len(costs) != len(self.classes) or not np.all(np.isfinite(costs)):
            raise ValueError(f"the loss must be a table of numbers with a row for each of {len(self.classes)} classes")
        names = self.classes if self.decisions is None else np.asarray(self.decisions)
        if len(names) != costs.shape[1]:
            raise ValueError(f"the loss has {costs.shape[1]} decisions and {len(names)} are named; pass decisions=")
        return costs, names


def _same_columns(densities: list[Density]) -> list[Density]:
    if not densities:
        raise ValueError("there are no densities; pass one for each class")
    sizes = {density.dimension for density in densities}
    if len(sizes) > 1:
        raise ValueError(f"the densities have {' and '.join(map(str, sorted(sizes)))} columns; they must have the same")
    return densities


def _checked_priors(priors: Any, classes: int) -> Array:
    if priors is None:
        return np.full(classes, 1.0 / classes)
    values = np.asarray(priors, np.float64)
    if values.shape != (classes,) or not np.all(values >= 0) or abs(values.sum() - 1) > 1e-9:
        raise ValueError(f"pass {classes} priors of at least 0 that sum to 1, not {values.tolist()}")
    return values


def _chunks(rows: int) -> Iterator[int]:
    return (min(CHUNK, rows - start) for start in range(0, rows, CHUNK))
