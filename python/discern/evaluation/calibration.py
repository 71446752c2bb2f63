"""From scores to probabilities: a Gaussian a class, logistic, isotonic, temperature.

A classifier's score ranks classes, but is not the probability that a prediction is correct. Each map here learns that
probability from scores of rows whose class is known. These must be held-out rows: on its own training rows a classifier
is overconfident (use scores from cross-validation).

Three maps take one score, which is larger for the positive class; more classes are done one against the rest, and
their probabilities are divided by their sum. The temperature takes all scores at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from discern.learners.bayes import posterior
from discern.learners.newton import Expansion, Objective, minimize

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

METHODS = ("gaussian", "logistic", "isotonic", "temperature")
ENOUGH = 1e-16
"""The smallest decrease of the loss for which a Newton step is taken."""
MOST_ROBUST = 20_000
"""Of more rows than these, some evenly spread fit the robust temperature."""
SCANNED = (-5.0, 2.5, 16)
"""Logarithms of temperatures, relative to the middle spread of scores, that are tried first: from, to, and how many."""
LEAST_SHARE = 1e-9
"""A class whose scores are all alike gets this share of the variance of all scores instead of none."""


class BinaryMap(Protocol):
    """A map from scores to the probability of the positive class."""

    def __call__(self, scores: Array) -> Array:
        """Return the probability of the positive class for each score."""
        ...

    def to_json(self) -> dict[str, Any]:
        """Return the map as plain values."""
        ...


# ------------------------------------------------------------------------------------------------ one score


@dataclass(frozen=True)
class GaussianMap:
    """A normal density for each class on the score, then Bayes' rule.

    The score may be the distance d(x) = (w·x − t)/‖w‖ or any multiple of it: the densities scale with it. When the two
    variances differ, the class with the larger one wins far out on both sides, so that the map need not rise
    everywhere.

    Examples
    --------
    >>> fitted = GaussianMap.fit(np.array([-3.0, -1.0, 1.0, 3.0]), np.array([False, False, True, True]))
    >>> fitted.means, fitted.deviations
    ((-2.0, 2.0), (1.0, 1.0))
    >>> fitted(np.array([0.0, 0.5])).round(3).tolist()
    [0.5, 0.881]
    """

    means: tuple[float, float]
    deviations: tuple[float, float]
    priors: tuple[float, float]

    @classmethod
    def fit(cls, scores: Array, positive: NDArray[np.bool_], weights: Array | None = None) -> GaussianMap:
        """Take means, variances (by maximum likelihood) and priors of the two classes."""
        weights = check_calibrated(scores, positive, weights)
        overall = float(np.average(scores, weights=weights))
        floor = LEAST_SHARE * float(np.average((scores - overall) ** 2, weights=weights))
        means, deviations, priors = [], [], []
        for of_class in (~positive, positive):
            mass = float(weights[of_class].sum())
            mean = float(weights[of_class] @ scores[of_class] / mass) if mass else overall
            variance = float(weights[of_class] @ (scores[of_class] - mean) ** 2 / mass) if mass else 0.0
            means.append(mean)
            deviations.append(float(np.sqrt(max(variance, floor))) or 1.0)
            priors.append(mass / float(weights.sum()))
        return cls((means[0], means[1]), (deviations[0], deviations[1]), (priors[0], priors[1]))

    def __call__(self, scores: Array) -> Array:
        """Return π₁f₁(s) / (π₀f₀(s) + π₁f₁(s))."""
        scores = np.asarray(scores, np.float64)
        with np.errstate(divide="ignore"):  # a class without rows has the prior 0
            logs = [
                np.log(prior) - np.log(deviation) - 0.5 * ((scores - mean) / deviation) ** 2
                for mean, deviation, prior in zip(self.means, self.deviations, self.priors, strict=True)
            ]
        return posterior(np.column_stack(logs))[:, 1]

    def to_json(self) -> dict[str, Any]:
        """Return the map as plain values."""
        return {"kind": "gaussian", **asdict(self)}


@dataclass(frozen=True)
class LogisticMap:
    """P(positive|s) = 1 / (1 + exp(−(slope·s + offset))), after Platt (1999).

    The targets are not 1 and 0 but (N₊+1)/(N₊+2) and 1/(N₋+2), so that separable scores have a finite fit; the maximum
    is found by Newton's method with backtracking (Lin, Lin and Weng 2007).

    Examples
    --------
    >>> fitted = LogisticMap.fit(np.array([-2.0, -1.0, 1.0, 2.0]), np.array([False, False, True, True]))
    >>> fitted(np.array([-2.0, 0.0, 2.0])).round(3).tolist()
    [0.206, 0.5, 0.794]
    """

    slope: float
    offset: float

    @classmethod
    def fit(cls, scores: Array, positive: NDArray[np.bool_], weights: Array | None = None) -> LogisticMap:
        """Minimize the cross-entropy with Platt's targets."""
        weights = check_calibrated(scores, positive, weights)
        positives, negatives = float(weights[positive].sum()), float(weights[~positive].sum())
        targets = np.where(positive, (positives + 1) / (positives + 2), 1 / (negatives + 2))
        unit = float(np.abs(scores).max(initial=0.0)) or 1.0  # Newton's steps then do not depend on the scores' scale
        scaled = scores / unit
        shares = weights / weights.sum()

        def objective(parameters: Array) -> tuple[float, Array, Array]:
            logit = parameters[0] * scaled + parameters[1]
            value = shares @ (np.logaddexp(0.0, logit) - targets * logit)
            chance = _sigmoid(logit)
            design = np.column_stack([scaled, np.ones_like(scaled)])
            curved = design * (shares * chance * (1 - chance))[:, None]
            return float(value), design.T @ (shares * (chance - targets)), design.T @ curved

        start = np.array([0.0, np.log((positives + 1) / (negatives + 1))])
        slope, offset = least(objective, start)
        return cls(float(slope / unit), float(offset))

    def __call__(self, scores: Array) -> Array:
        """Return the probability of the positive class for each score."""
        return _sigmoid(self.slope * np.asarray(scores, np.float64) + self.offset)

    def to_json(self) -> dict[str, Any]:
        """Return the map as plain values."""
        return {"kind": "logistic", **asdict(self)}


@dataclass(frozen=True)
class IsotonicMap:
    """The rising step function nearest to the classes in squares, by pooling adjacent violators; linear in between.

    Examples
    --------
    >>> fitted = IsotonicMap.fit(np.array([1.0, 2.0, 3.0, 4.0]), np.array([False, True, False, True]))
    >>> fitted(np.array([0.0, 2.0, 3.0, 3.5])).tolist()
    [0.0, 0.5, 0.5, 0.75]
    """

    scores: tuple[float, ...]
    probabilities: tuple[float, ...]

    @classmethod
    def fit(cls, scores: Array, positive: NDArray[np.bool_], weights: Array | None = None) -> IsotonicMap:
        """Pool equal scores first, then neighbors whose shares fall."""
        from scipy.optimize import isotonic_regression

        weights = check_calibrated(scores, positive, weights)
        counted = weights > 0
        places, inverse = np.unique(scores[counted], return_inverse=True)
        mass = np.bincount(inverse, weights[counted])
        shares = np.bincount(inverse, weights[counted] * positive[counted]) / mass
        levels = np.clip(isotonic_regression(shares, weights=mass).x, 0.0, 1.0)
        # Within a level only its two ends matter.
        inner = np.zeros(len(levels), bool)
        inner[1:-1] = (levels[1:-1] == levels[:-2]) & (levels[1:-1] == levels[2:])
        return cls(tuple(places[~inner].tolist()), tuple(levels[~inner].tolist()))

    def __call__(self, scores: Array) -> Array:
        """Return the probability of the positive class for each score; beyond the scores seen, that of the nearest."""
        return np.asarray(np.interp(scores, self.scores, self.probabilities))

    def to_json(self) -> dict[str, Any]:
        """Return the map as plain values."""
        return {"kind": "isotonic", **asdict(self)}


BINARY: dict[str, type[GaussianMap] | type[LogisticMap] | type[IsotonicMap]] = {
    "gaussian": GaussianMap,
    "logistic": LogisticMap,
    "isotonic": IsotonicMap,
}


@dataclass(frozen=True)
class OneAgainstRest:
    """A map for each class, its probabilities divided by their sum; with two classes one map is enough.

    Where every class gets 0, all get the same.

    Examples
    --------
    >>> scores = np.array([[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.0]])
    >>> fitted = OneAgainstRest.fit("logistic", scores, np.array([0, 1, 2]))
    >>> fitted(scores[:1]).round(2).tolist()
    [[0.57, 0.21, 0.21]]
    """

    maps: tuple[BinaryMap, ...]

    @classmethod
    def fit(cls, method: str, scores: Array, classes: NDArray[Any], weights: Array | None = None) -> OneAgainstRest:
        """Fit a map for each column of ``scores``; ``classes`` are numbers of columns."""
        kind = BINARY[method]
        scores, classes = _columns(scores), np.asarray(classes)
        if scores.shape[1] == 2:
            return cls((kind.fit(scores[:, 1] - scores[:, 0], classes == 1, weights),))
        return cls(tuple(kind.fit(scores[:, k], classes == k, weights) for k in range(scores.shape[1])))

    def __call__(self, scores: Array) -> Array:
        """Return the probability of each class for each row."""
        scores = _columns(scores)
        if len(self.maps) == 1:
            positive = self.maps[0](scores[:, 1] - scores[:, 0])
            return np.column_stack([1.0 - positive, positive])
        if scores.shape[1] != len(self.maps):
            raise ValueError(f"there are {scores.shape[1]} scores a row and {len(self.maps)} classes")
        shares = np.column_stack([fitted(scores[:, k]) for k, fitted in enumerate(self.maps)])
        total = shares.sum(axis=1, keepdims=True)
        return np.asarray(np.where(total > 0, shares / np.where(total > 0, total, 1.0), 1.0 / shares.shape[1]))

    def to_json(self) -> dict[str, Any]:
        """Return the maps as plain values."""
        return {"kind": "one-against-rest", "maps": [fitted.to_json() for fitted in self.maps]}


# ------------------------------------------------------------------------------------------------ all scores


@dataclass(frozen=True)
class Temperature:
    """Softmax of scores / temperature: the decision stays the same, only its confidence changes.

    It is found by minimizing the log loss. One row in as many as there are is counted as wrong (each true class counts
    1 − 1/(N+2), the others share the rest), so that scores that are always correct do not become certainty.

    Examples
    --------
    >>> scores = np.log([[0.9, 0.1], [0.9, 0.1], [0.9, 0.1], [0.9, 0.1]]) * 3  # three times too confident
    >>> fitted = Temperature.fit(np.repeat(scores, 250, axis=0), np.arange(1000) % 10 == 0)
    >>> round(fitted.temperature, 1)
    3.0
    >>> fitted(scores[:1]).round(2).tolist()
    [[0.9, 0.1]]
    """

    temperature: float = 1.0

    def __post_init__(self) -> None:
        if not 1e-131 <= self.temperature <= 1e131:
            raise ValueError(f"a temperature must be from 1e-131 to 1e131, not {self.temperature!r}")

    @classmethod
    def fit(cls, scores: Array, classes: NDArray[Any], weights: Array | None = None) -> Temperature:
        """Fit to scores of rows × classes; ``classes`` are numbers of columns."""
        scores = _columns(scores)
        rows = _Targets.of(scores, np.asarray(classes, np.int64), weights)
        (level,) = least(rows.loss, np.log([1.0 / (rows.spread() or 1.0)]))
        return cls(_bounded(-level))

    @classmethod
    def robust(cls, scores: Array, classes: NDArray[Any]) -> Temperature:
        """Fit to scores of which few may be far out, as those of discriminants are.

        The log loss grows with the distance of a score, so that a few rows far on the wrong side, or one in as many as
        there are counted as wrong among scores that are all far out, would decide alone. Here instead one row in as
        many as there are may have any class: −log((1 − w) p + w/K) with w = 1/(N+2) is bounded. One row's worth of
        evidence counts for scores that are log probabilities as they are. Where all scores are correct, they are not
        raised so far that half of the rows would be surer than log odds of log(N + 2), which N rows cannot support.

        Examples
        --------
        >>> scores = np.array([[0.0, -2.0]] * 50 + [[0.0, -2e4]] * 50)
        >>> classes = np.array([0] * 44 + [1] * 6 + [0] * 49 + [1])
        >>> round(Temperature.fit(scores, classes).temperature), round(Temperature.robust(scores, classes).temperature)
        (5718, 1)
        """
        scores, classes = _columns(scores), np.asarray(classes, np.int64)
        check_calibrated(scores, classes, None)
        possible = np.flatnonzero(scores[np.arange(len(scores)), classes] > -np.inf)
        if not len(possible):  # no temperature makes an impossible class possible
            return cls()
        if len(possible) > MOST_ROBUST:
            possible = possible[np.linspace(0, len(possible) - 1, MOST_ROBUST).astype(np.int64)]
        chosen = scores[possible] - scores[possible].max(axis=1, keepdims=True)
        return cls(_bounded(max(_least_robust(chosen, classes[possible]), _sharpest(chosen))))

    def __call__(self, scores: Array) -> Array:
        """Return the probability of each class for each row."""
        return posterior(_columns(scores) / self.temperature)

    def to_json(self) -> dict[str, Any]:
        """Return the map as plain values."""
        return {"kind": "temperature", **asdict(self)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Temperature:
        """Return the temperature that :meth:`to_json` returned as plain values; raises ValueError if it is invalid."""
        if {*values} - {"kind"} != {"temperature"}:
            raise ValueError("a temperature is one number")
        return cls(float(values["temperature"]))


def _least_robust(below: Array, classes: NDArray[np.int64]) -> float:
    """Return the logarithm of the temperature with the least robust loss: the best of a scan, then refined."""
    from scipy.optimize import minimize_scalar

    rows, n_classes = below.shape
    wrong, every = 1.0 / (rows + 2.0), np.arange(rows)

    def loss(level: float) -> float:
        shares = posterior(below * np.exp(-level))[every, classes]
        return float(-np.log((1 - wrong) * shares + wrong / n_classes).sum() + np.log1p(level**2))

    middle = -np.mean(below, axis=1, where=np.isfinite(below))
    spread = float(np.median(middle)) or 1.0
    scan = np.append(np.log(spread) + np.linspace(*SCANNED), 0.0)
    start = float(scan[int(np.argmin([loss(level) for level in scan]))])
    step = (SCANNED[1] - SCANNED[0]) / (SCANNED[2] - 1)
    return float(minimize_scalar(loss, bounds=(start - step, start + step), method="bounded").x)


def _sharpest(below: Array) -> float:
    """Return the logarithm of the lowest temperature that as many rows can support, at most that of one."""
    gaps = -np.partition(below, -2, axis=1)[:, -2] if below.shape[1] > 1 else np.zeros(len(below))
    middle = float(np.median(gaps))
    return min(0.0, float(np.log(middle / np.log(len(below) + 2.0)))) if 0 < middle < np.inf else -np.inf


@dataclass(frozen=True)
class _Targets:
    """Scores below the row's best, the mean score of the target, and each row's share of the loss."""

    scores: Array
    target: Array
    shares: Array

    @classmethod
    def of(cls, scores: Array, classes: NDArray[np.int64], weights: Array | None) -> _Targets:
        weights = check_calibrated(scores, classes, weights)
        if classes.min() < 0 or classes.max() >= scores.shape[1]:
            raise ValueError(f"the class numbers must be from 0 to {scores.shape[1] - 1}, a column of the scores each")
        finite = scores[np.isfinite(scores)]
        # The logarithm of 0 counts as the lowest score there is, so that the loss stays finite.
        scores = np.where(np.isneginf(scores), finite.min(initial=0.0), scores)
        scores = scores - scores.max(axis=1, keepdims=True)
        wrong = 1.0 / (float(weights.sum()) + 2.0)
        own = scores[np.arange(len(scores)), classes]
        others = (scores.sum(axis=1) - own) / max(scores.shape[1] - 1, 1)
        return cls(scores, (1.0 - wrong) * own + wrong * others, weights / weights.sum())

    def spread(self) -> float:
        """Return the mean distance of the scores from the best: what a temperature may be like."""
        return float(self.shares @ np.abs(self.scores).mean(axis=1))

    def loss(self, parameters: Array) -> tuple[float, Array, Array]:
        """Return the log loss of scores · exp(parameter), its gradient and its curvature.

        With s the factor, z the scores of a row and p their softmax: ℓ = log Σ exp(sz) − s·target, so that
        ℓ′ = E_p[z] − target and ℓ″ = Var_p[z]; in log s the derivatives are sℓ′ and s²ℓ″ + sℓ′.
        """
        factor = float(np.exp(np.clip(parameters[0], -300.0, 300.0)))
        powers = np.exp(factor * self.scores)
        totals = powers.sum(axis=1)
        means = (powers * self.scores).sum(axis=1) / totals
        variances = np.maximum((powers * self.scores**2).sum(axis=1) / totals - means**2, 0.0)
        value = float(self.shares @ (np.log(totals) - factor * self.target))
        slope = factor * float(self.shares @ (means - self.target))
        convex = factor**2 * float(self.shares @ variances)
        # Far from the minimum only the first part is sure to be convex.
        curvature = convex + slope if convex + slope > 0 else convex
        return value, np.array([slope]), np.array([[curvature]])


# ---------------------------------------------------------------------------------------------- any of them

Calibration = OneAgainstRest | Temperature


def calibrate(method: str, scores: Array, classes: NDArray[Any], weights: Array | None = None) -> Calibration:
    """Fit the map of that name to scores of rows × classes, or of rows for two classes.

    Examples
    --------
    >>> calibrate("isotonic", np.array([-1.0, 1.0]), np.array([0, 1]))(np.array([0.5])).tolist()
    [[0.25, 0.75]]
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, not {method!r}")
    if method == "temperature":
        return Temperature.fit(scores, classes, weights=weights)
    return OneAgainstRest.fit(method, scores, classes, weights)


def calibration_from_json(values: Mapping[str, Any]) -> Calibration:
    """Return the calibration that ``to_json`` gave as plain values; raises ValueError if it is invalid.

    Examples
    --------
    >>> fitted = calibrate("logistic", np.array([-1.0, 1.0]), np.array([0, 1]))
    >>> calibration_from_json(fitted.to_json()) == fitted
    True
    """
    if values["kind"] == "temperature":
        return Temperature.from_json(values)
    if values["kind"] != "one-against-rest":
        raise ValueError(f"unknown calibration {values['kind']!r}")
    return OneAgainstRest(tuple(_binary_from_json(part) for part in values["maps"]))


def _binary_from_json(values: Mapping[str, Any]) -> BinaryMap:
    kind = BINARY.get(values["kind"])
    if kind is None:
        raise ValueError(f"unknown calibration {values['kind']!r}")
    numbers = {name: value for name, value in values.items() if name != "kind"}
    make: Callable[..., BinaryMap] = kind
    if kind is LogisticMap:
        return make(**{name: float(value) for name, value in numbers.items()})
    return make(**{name: tuple(float(number) for number in value) for name, value in numbers.items()})


# -------------------------------------------------------------------------------------------------- numbers


@dataclass(frozen=True)
class _Loss(Objective[Expansion]):
    """A smooth function of few parameters, with its value, gradient and Hessian."""

    function: Callable[[Array], tuple[float, Array, Array]]
    enough: float
    scale = 1.0

    def at(self, point: Array) -> Expansion:
        return Expansion(point, *self.function(point))

    def step(self, state: Expansion) -> Array:
        step = self._whole_step(state)
        return step * min(1.0, 5.0 / float(np.abs(step).max(initial=0.0) or 1.0))  # no further than it can be trusted

    def is_stationary(self, state: Expansion, tol: float) -> bool:
        flat = np.abs(state.gradient).max() < tol
        return bool(flat or -float(state.gradient @ self._whole_step(state)) < self.enough)

    def _whole_step(self, state: Expansion) -> Array:
        assert state.hessian is not None
        ridge = 1e-12 * (np.trace(state.hessian) + 1e-12) * np.eye(len(state.point))
        return -np.linalg.solve(state.hessian + ridge, state.gradient)


def least(function: Callable[[Array], tuple[float, Array, Array]], start: Array, enough: float = ENOUGH) -> Array:
    """Return the parameters for which a function is least, given its value, gradient and curvature.

    ``enough`` is the smallest decrease for which a step is taken.
    """
    return minimize(_Loss(function, enough), start, tol=1e-12, max_iter=100, rounding=0.0).state.point


def _bounded(log_temperature: float) -> float:
    """Return a temperature that is a number above 0, whatever the scores."""
    return float(np.exp(np.clip(log_temperature, -300.0, 300.0)))


def _sigmoid(values: Array) -> Array:
    half = 0.5 * np.tanh(0.5 * values)
    return np.asarray(0.5 + half)


def _columns(scores: Array) -> Array:
    """Return a column for each class; one score for two classes becomes (−s/2, s/2), whose difference it is."""
    scores = np.asarray(scores, np.float64)
    if scores.ndim == 1:
        scores = scores[:, None]
    return np.hstack([-scores / 2, scores / 2]) if scores.shape[1] == 1 else scores


def check_calibrated(scores: Array, classes: NDArray[Any], weights: Array | None) -> Array:
    """Return the weights, 1 where none are given; refuses what does not fit together."""
    if len(scores) == 0 or len(scores) != len(classes):
        raise ValueError(f"calibration needs scores with a class each, not {len(scores)} and {len(classes)}")
    if np.isnan(scores).any() or np.isposinf(scores).any():
        raise ValueError("a score is not a number: look for missing values in the rows it came from")
    weights = np.ones(len(scores)) if weights is None else np.asarray(weights, np.float64)
    if len(weights) != len(scores) or not np.isfinite(weights).all() or weights.min() < 0 or weights.sum() <= 0:
        raise ValueError("weights must be numbers of at least 0, one a row, and not all 0")
    return weights
