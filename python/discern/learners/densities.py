"""Densities of rows: given by SciPy's distributions, by functions, or as mixtures of these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

LEVELS = np.linspace(-34.0, 34.0, 1201)
"""The log odds of the quantiles between which densities are integrated on the line."""
NODES = 4
"""How many nodes each panel of a side of a plane has."""
AT_ONCE = 1 << 14
"""Rows that are drawn at once, of which some are kept."""


@dataclass(frozen=True)
class Density:
    """A density of rows.

    Parameters
    ----------
    log : callable
        Returns the log density of each row of a table.
    dimension : int
    draw : callable, optional
        ``draw(rows, generator)`` returns random rows; needed for Monte Carlo.
    bounds : array of shape (dimension, 2), optional
        Where the density is not zero.
    normal : (mean, covariance), optional
        Set if it is a normal density.
    edges : callable, optional
        On the line, returns points to integrate between: quantiles, and where the density jumps.
    discrete : bool
        Whether these are probabilities of whole numbers.

    Examples
    --------
    >>> wedge = Density.of_function(lambda rows: 2 * rows[:, 0], 1, bounds=[[0, 1]])
    >>> flat = Density.of_function(lambda rows: np.ones(len(rows)), 1, bounds=[[0, 1]])
    >>> from discern.learners.bayes_rate import BayesClassifier
    >>> round(BayesClassifier([wedge, flat]).bayes_rate().rate, 9)
    0.375
    """

    log: Callable[[Array], Array]
    dimension: int
    draw: Callable[[int, np.random.Generator], Array] | None = None
    bounds: Array | None = None
    normal: tuple[Array, Array] | None = None
    edges: Callable[[], Array] | None = None
    discrete: bool = False

    @classmethod
    def of_function(
        cls,
        function: Callable[[Array], Array],
        dimension: int,
        draw: Callable[[int, np.random.Generator], Array] | None = None,
        bounds: Any = None,
    ) -> Density:
        """Make a density from a function that returns densities, not their logs."""
        limits = None if bounds is None else np.asarray(bounds, np.float64).reshape(dimension, 2)

        def log(rows: Array) -> Array:
            inside = _inside(rows, limits)
            values = np.zeros(len(rows))
            values[inside] = np.asarray(function(rows[inside]), np.float64).reshape(-1)
            if not np.all(values >= 0):
                raise ValueError("a density function returned a negative number or NaN; correct the function")
            with np.errstate(divide="ignore"):
                return np.log(values)

        return cls(log, dimension, draw, limits)


def _inside(rows: Array, bounds: Array | None) -> Array:
    if bounds is None:
        return np.ones(len(rows), bool)
    return np.asarray(np.all((rows >= bounds[:, 0]) & (rows <= bounds[:, 1]), axis=1))


def as_density(value: Any, dimension: int | None = None) -> Density:
    """Take a frozen SciPy distribution, a list of them (independent columns), a function, or a density.

    Examples
    --------
    >>> from scipy import stats
    >>> as_density([stats.norm(0, 1), stats.t(4)]).dimension
    2
    """
    if isinstance(value, Density):
        return value
    if isinstance(value, Sequence):
        return _independent([as_density(part) for part in value])
    if hasattr(value, "rvs") and (hasattr(value, "pdf") or hasattr(value, "pmf")):
        return _frozen(value)
    if callable(value):
        if dimension is None:
            raise ValueError("how many columns a density function takes is not known; pass dimension=")
        return Density.of_function(value, dimension)
    raise ValueError(f"a density is a frozen scipy.stats distribution, a list of them or a function, not {value!r}")


def _frozen(frozen: Any) -> Density:
    """Take a distribution of scipy.stats, on the line or of several columns."""
    if not hasattr(frozen, "ppf"):
        return _frozen_vector(frozen)
    family = getattr(frozen, "dist", frozen)  # a distribution that is not frozen stands for its standard form
    discrete = hasattr(family, "pmf")
    log = frozen.logpmf if discrete else frozen.logpdf
    normal = None
    if family.name == "norm":
        normal = (np.array([frozen.mean()]), np.array([[frozen.var()]]))

    def edges() -> Array:
        levels = 1.0 / (1.0 + np.exp(-LEVELS[LEVELS <= 0]))
        points = np.concatenate([frozen.ppf(levels), frozen.isf(levels), frozen.support()])
        return np.asarray(points[np.isfinite(points)])

    return Density(
        lambda rows: np.asarray(log(rows[:, 0])),
        1,
        lambda rows, random: np.asarray(frozen.rvs(size=rows, random_state=random), np.float64).reshape(-1, 1),
        normal=normal,
        edges=edges,
        discrete=discrete,
    )


def _frozen_vector(frozen: Any) -> Density:
    some = np.asarray(frozen.rvs(size=2, random_state=np.random.default_rng(0)))
    if some.ndim > 2:
        raise ValueError("a density of matrices cannot classify rows; pass one of numbers or of rows")
    dimension = 1 if some.ndim == 1 else some.shape[1]
    discrete = not hasattr(frozen, "logpdf")
    log = frozen.logpmf if discrete else frozen.logpdf
    is_normal = type(frozen).__name__ == "multivariate_normal_frozen"
    covariance = frozen.cov_object.covariance if is_normal else None

    def draw(rows: int, random: np.random.Generator) -> Array:
        return np.asarray(frozen.rvs(size=rows, random_state=random), np.float64).reshape(rows, dimension)

    return Density(
        lambda rows: np.asarray(log(rows)).reshape(-1),
        dimension,
        draw,
        normal=None if covariance is None else (np.atleast_1d(frozen.mean), np.atleast_2d(covariance)),
        discrete=discrete,
    )


def _independent(parts: list[Density]) -> Density:
    starts = np.cumsum([0, *(part.dimension for part in parts)])
    places = [slice(start, end) for start, end in pairwise(starts)]

    def draw(rows: int, random: np.random.Generator) -> Array:
        return np.hstack([draw_rows(part, rows, random) for part in parts])

    normal = None
    normals = [part.normal for part in parts if part.normal is not None]
    if len(normals) == len(parts):
        import scipy.linalg

        normal = (
            np.concatenate([mean for mean, _ in normals]),
            scipy.linalg.block_diag(*(spread for _, spread in normals)),
        )
    return Density(
        lambda rows: np.sum([part.log(rows[:, place]) for part, place in zip(parts, places, strict=True)], axis=0),
        int(starts[-1]),
        draw,
        normal=normal,
        edges=parts[0].edges if len(parts) == 1 else None,
        discrete=any(part.discrete for part in parts),
    )


def mixture(components: Sequence[Any], weights: Sequence[float] | None = None) -> Density:
    """Mix densities, all alike if no weights are given.

    Examples
    --------
    >>> from scipy import stats
    >>> both = mixture([stats.norm(-2), stats.norm(2)], [0.25, 0.75])
    >>> np.exp(both.log(np.array([[2.0]]))).round(3).tolist()
    [0.299]
    """
    parts = [as_density(component) for component in components]
    shares = np.full(len(parts), 1 / max(len(parts), 1)) if weights is None else np.asarray(weights, np.float64)
    if len(shares) != len(parts) or not parts or not np.all(shares > 0) or abs(shares.sum() - 1) > 1e-9:
        raise ValueError("a mixture needs a weight above 0 for each of its components, and they must sum to 1")
    if len({(part.dimension, part.discrete) for part in parts}) > 1:
        raise ValueError("the components of a mixture must have the same columns")

    def draw(rows: int, random: np.random.Generator) -> Array:
        counts = random.multinomial(rows, shares)
        drawn = np.vstack([draw_rows(part, int(count), random) for part, count in zip(parts, counts, strict=True)])
        return np.asarray(random.permutation(drawn))

    def edges() -> Array:
        return np.concatenate([line_edges(part) for part in parts])

    return Density(
        lambda rows: np.logaddexp.reduce(
            [np.log(share) + part.log(rows) for share, part in zip(shares, parts, strict=True)], axis=0
        ),
        parts[0].dimension,
        draw,
        edges=edges if parts[0].dimension == 1 else None,
        discrete=parts[0].discrete,
    )


def draw_rows(density: Density, rows: int, random: np.random.Generator) -> Array:
    """Draw rows from a density; refuse one that cannot be drawn from."""
    if density.draw is None:
        raise ValueError("a density given as a function cannot be drawn from; pass Density(..., draw=...)")
    return density.draw(rows, random)


def tilted(marginal: Density, share: Callable[[Array], Array], prior: float) -> Density:
    """Return the density of the rows of a class that has the probability ``share(x)`` at x, and ``prior`` overall."""

    def log(rows: Array) -> Array:
        with np.errstate(divide="ignore"):
            return np.asarray(marginal.log(rows) + np.log(share(rows)) - np.log(prior))

    def draw(rows: int, random: np.random.Generator) -> Array:
        kept = [np.empty((0, marginal.dimension))]
        while sum(map(len, kept)) < rows:  # take rows of the marginal by their share
            some = draw_rows(marginal, AT_ONCE, random)
            kept.append(some[random.random(len(some)) < share(some)])
        return np.vstack(kept)[:rows]

    return replace(marginal, log=log, draw=draw, normal=None)


# ------------------------------------------------------------------------------------------------ quadrature


@dataclass(frozen=True)
class Axis:
    """A column in a coordinate t from ``low`` to ``high``: x = center + scale · sinh(t), or t itself if no scale."""

    center: float
    scale: float | None
    low: float
    high: float

    @classmethod
    def of(cls, column: Array) -> Axis:
        """Fit it to a sample: even in the middle, and long where the tails are."""
        lower, center, upper = np.quantile(column, [0.25, 0.5, 0.75])
        scale = float(upper - lower) / 1.35 or 1.0
        far = 1.5 * float(np.abs(np.arcsinh((column - center) / scale)).max())
        return cls(float(center), scale, -far, far)

    def nodes(self, panels: int) -> tuple[Array, Array]:
        """Return points and weights in x."""
        points, weights = gauss_legendre(np.linspace(self.low, self.high, panels + 1), NODES)
        if self.scale is None:
            return points, weights
        return self.center + self.scale * np.sinh(points), weights * self.scale * np.cosh(points)


def gauss_legendre(edges: Array, nodes: int) -> tuple[Array, Array]:
    """Return the points and weights of Gauss and Legendre's rule on each panel between edges."""
    places, weights = np.polynomial.legendre.leggauss(nodes)
    half = np.diff(edges)[:, None] / 2
    return (edges[:-1, None] + half * (1 + places)).ravel(), (half * weights).ravel()


def line_edges(density: Density) -> Array:
    """Return points on the line between which a density is smooth."""
    if density.edges is not None:
        return np.asarray(density.edges())
    if density.bounds is not None:
        return np.linspace(density.bounds[0, 0], density.bounds[0, 1], 2001)
    if density.draw is not None:
        axis = Axis.of(density.draw(20_000, np.random.default_rng(0))[:, 0])
        return np.asarray(axis.center + (axis.scale or 1.0) * np.sinh(np.linspace(axis.low, axis.high, 2001)))
    # Nothing is known: a part of the line that holds what a double can tell apart from zero.
    return np.asarray(np.sinh(np.linspace(-18.0, 18.0, 8001)))
