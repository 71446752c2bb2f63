"""Calibration of a sum of evidence: how much the prior and each group of columns count, by how much evidence there is.

Naive Bayes adds the log prior and the log likelihoods of all columns as if they were independent. They are not, so that
the evidence of a row is worth less than its sum, the less the more of it there is. The prior must not be divided with
the evidence: a row of which nothing is known has the base rates as its probabilities.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

import discern._native as _native
from discern.evaluation.calibration import Temperature, check_calibrated, least
from discern.learners.bayes import posterior

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

USUAL = (0.0, 0.0, -4.0)
"""Where the fit starts: a temperature of 1, a power of ½, and a prior that has half its weight beside 55 terms."""
PARAMETERS = len(USUAL)
ENOUGH = 1e-7
"""The smallest decrease of the log loss for which a step is taken."""
FURTHEST = 20.0
"""The limit on the logarithms of temperatures and fadings."""


@dataclass(frozen=True)
class Scale:
    """How the evidence of a group of columns counts when ``n`` of its terms are known.

    The evidence is divided by ``temperature · n^power``, and the log prior by ``1 + fading · n``.
    """

    temperature: float = 1.0
    power: float = 0.0
    fading: float = 0.0

    def __post_init__(self) -> None:
        if not (1e-131 <= self.temperature <= 1e131 and 0 <= self.power <= 1 and 0 <= self.fading <= 1e131):
            raise ValueError(
                "a temperature must be above 0 (and from 1e-131 to 1e131), its power from 0 to 1 and the fading at "
                f"least 0, not {self.temperature!r}, {self.power!r} and {self.fading!r}"
            )

    def factors(self, lengths: NDArray[Any]) -> Array:
        """Return what the evidence of each row is multiplied by."""
        return np.asarray(1.0 / (self.temperature * np.maximum(lengths, 1.0) ** self.power))


@dataclass(frozen=True)
class EvidenceScaling:
    """Log odds of rows: prior / (1 + Σ fading·n) + Σ evidence / (temperature · n^power), summed over groups of columns.

    Examples
    --------
    >>> scaling = EvidenceScaling((Scale(temperature=2.0, power=0.5, fading=0.1),))
    >>> prior, evidence = np.log([0.9, 0.1]), np.array([[[0.0, 0.0], [-8.0, 0.0]]])
    >>> scores = scaling(prior, evidence, np.array([[0, 4]]))
    >>> (np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)).round(2).tolist()
    [[0.9, 0.1], [0.39, 0.61]]
    """

    scales: tuple[Scale, ...]

    @classmethod
    def fit(
        cls,
        prior: Array,
        evidence: Sequence[Array],
        lengths: Sequence[NDArray[Any]],
        classes: NDArray[Any],
        weights: Array | None = None,
    ) -> EvidenceScaling:
        """Minimize the log loss of held-out rows, given their log priors and the evidence of each group of columns.

        ``lengths`` are the numbers of known terms. One row in as many as there are is counted as wrong, so that
        evidence that is always right does not become certainty.
        """
        problem = _Problem.of(prior, evidence, lengths, np.asarray(classes, np.int64), weights)
        found = least(problem.loss, np.array(USUAL * len(evidence)), ENOUGH)
        return cls(tuple(scale_of(part) for part in np.split(found, len(evidence))))

    @classmethod
    def robust(
        cls, prior: Array, evidence: Sequence[Array], lengths: Sequence[NDArray[Any]], classes: NDArray[Any]
    ) -> EvidenceScaling:
        """Fit to evidence that may be far out, as that of numbers is: few such rows do not decide alone.

        The fit by log loss is compared with one temperature (:meth:`discern.evaluation.calibration.Temperature.robust`)
        by the log loss where one row in as many as there are may have any class, which is bounded.
        """
        classes = np.asarray(classes, np.int64)
        usual = cls.fit(prior, evidence, lengths, classes)
        evident = np.sum(evidence, axis=0)
        temperature = Temperature.robust(prior + evident, classes).temperature
        plain = cls((Scale(temperature),) * len(evidence))
        losses = [_bounded_loss(one(prior, evidence, lengths), classes) for one in (usual, plain)]
        return plain if losses[1] < losses[0] else usual

    def __call__(self, prior: Array, evidence: Sequence[Array], lengths: Sequence[NDArray[Any]]) -> Array:
        """Return the log odds of rows × classes, but for a constant of each row."""
        scores = prior * self.weights_of_prior(lengths)[:, None]
        for scale, own, known in zip(self.scales, evidence, lengths, strict=True):
            scores += own * scale.factors(known)[:, None]
        return np.asarray(scores)

    def weights_of_prior(self, lengths: Sequence[NDArray[Any]]) -> Array:
        """Return how much of the log prior still counts beside the evidence of each row."""
        faded = np.ones(len(lengths[0]))
        for scale, known in zip(self.scales, lengths, strict=True):
            faded += scale.fading * known
        return np.asarray(1.0 / faded)

    def to_json(self) -> dict[str, Any]:
        """Return the scaling as plain values."""
        return {"kind": "evidence", "scales": [asdict(scale) for scale in self.scales]}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> EvidenceScaling:
        """Return the scaling that :meth:`to_json` returned as plain values; raises ValueError if it is invalid."""
        return cls(
            tuple(
                Scale(float(one["temperature"]), float(one["power"]), float(one["fading"])) for one in values["scales"]
            )
        )


def _bounded_loss(scores: Array, classes: NDArray[np.int64]) -> float:
    """Return the mean log loss where one row in as many as there are may have any class."""
    rows, n_classes = scores.shape
    wrong, shares = 1.0 / (rows + 2.0), posterior(scores)
    return float(-np.log((1 - wrong) * shares[np.arange(rows), classes] + wrong / n_classes).mean())


def scale_of(parameters: Array) -> Scale:
    """Return the scale of the logarithm of a temperature, the log odds of a power, and the logarithm of a fading."""
    level, power, fading = parameters.tolist()
    return Scale(_bounded(level), float(_sigmoid(power)), _bounded(fading))


def _bounded(logarithm: float) -> float:
    return float(np.exp(np.clip(logarithm, -FURTHEST, FURTHEST)))


def _sigmoid(value: float) -> float:
    return float(0.5 + 0.5 * np.tanh(0.5 * value))


def factors_of(parameters: Array, lengths: Array, logs: Array) -> tuple[list[Array], list[Array]]:
    """Return the factor of each part in each row, and the derivatives of factors by the parameters, in order.

    ``lengths`` are groups × rows, and ``logs`` their logarithms. Of the parameters of a group, temperature and power
    are of the factor of its evidence, and the fading is of that of the prior.
    """
    factors, slopes, faded = [], [], np.ones(lengths.shape[1])
    for (level, power, fading), known, log in zip(parameters.reshape(-1, PARAMETERS), lengths, logs, strict=True):
        share = _sigmoid(power)
        scale = np.exp(np.clip(-level - share * log, -300.0, 300.0))
        counted = float(np.exp(np.clip(fading, -FURTHEST, FURTHEST))) * known
        faded += counted
        factors.append(scale)
        slopes += [-scale, -scale * log * (share * (1.0 - share)), -counted]
    factors.insert(0, 1.0 / faded)
    slopes[2::PARAMETERS] = [slope / faded**2 for slope in slopes[2::PARAMETERS]]
    return factors, slopes


@dataclass(frozen=True)
class _Problem:
    """Log priors and evidence of rows × classes, below the row's best; those of the target; and logs of lengths."""

    parts: tuple[Array, ...]
    """The log prior, then the evidence of each group."""
    targets: tuple[Array, ...]
    """The mean of each part over the classes as they are taken to be, in each row."""
    lengths: Array
    """The number of known terms: groups × rows."""
    shares: Array

    @classmethod
    def of(
        cls,
        prior: Array,
        evidence: Sequence[Array],
        lengths: Sequence[NDArray[Any]],
        classes: NDArray[np.int64],
        weights: Array | None,
    ) -> _Problem:
        prior = np.broadcast_to(prior, evidence[0].shape)
        finite = np.where(np.isneginf(prior), prior[np.isfinite(prior)].min(initial=0.0), prior)
        weights = check_calibrated(finite, classes, weights)
        wrong = 1.0 / (float(weights.sum()) + 2.0)
        parts, targets = [], []
        for part in (finite, *evidence):
            below = part - part.max(axis=1, keepdims=True)
            own = below[np.arange(len(below)), classes]
            others = (below.sum(axis=1) - own) / max(below.shape[1] - 1, 1)
            parts.append(np.ascontiguousarray(below))
            targets.append((1.0 - wrong) * own + wrong * others)
        return cls(tuple(parts), tuple(targets), np.array(lengths, np.float64), weights / weights.sum())

    @cached_property
    def _logs(self) -> Array:
        return np.log(np.maximum(self.lengths, 1.0))

    def loss(self, parameters: Array) -> tuple[float, Array, Array]:
        """Return the log loss, its gradient and its curvature but for that of the factors, which keeps it convex.

        A row's loss is log Σₖ exp(Σⱼ fⱼ zⱼₖ) − Σⱼ fⱼ tⱼ with factors f, parts z and targets t: its gradient in f is
        E[z] − t and its Hessian Cov[z], over the classes by their probabilities.
        """
        factors, slopes = factors_of(parameters, self.lengths, self._logs)
        totals, means, products = _native.expectations(self.parts, factors)
        value = self.shares @ totals
        value -= sum(
            float(self.shares @ (factor * target)) for factor, target in zip(factors, self.targets, strict=True)
        )
        owners = [part for group in range(len(self.lengths)) for part in (group + 1, group + 1, 0)]
        shared = [self.shares * slope for slope in slopes]
        pulls = [mean - target for mean, target in zip(means, self.targets, strict=True)]
        gradient = np.array([own @ pulls[part] for own, part in zip(shared, owners, strict=True)])
        pairs = list(itertools.combinations_with_replacement(range(len(self.parts)), 2))
        covariances = {
            (one, other): product - means[one] * means[other]
            for (one, other), product in zip(pairs, products, strict=True)
        }
        curvature = np.zeros((len(slopes), len(slopes)))
        for one, other in itertools.combinations_with_replacement(range(len(slopes)), 2):
            covariance = covariances[min(owners[one], owners[other]), max(owners[one], owners[other])]
            curvature[one, other] = curvature[other, one] = (shared[one] * slopes[other]) @ covariance
        distance, weight = parameters - np.array(USUAL * len(self.lengths)), 1.0 / len(self.shares)
        return (
            float(value + 0.5 * weight * distance @ distance),
            gradient + weight * distance,
            curvature + weight * np.eye(len(parameters)),
        )
