"""Novelty: how unusual a row is among held-out training rows, and how well that finds unknown rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

QUANTILES, DIGITS = 256, 5
"""The number of quantiles that stand for the training rows, and how many digits of each are kept."""


@dataclass(frozen=True)
class Novelty:
    """The share of held-out training rows that are less unusual than a row.

    A row is unusual if its terms are (``surprise``: the negative log likelihood per term), or if the model cannot tell
    its label (``doubt``: the entropy of its probabilities). Both are ranked among those of the left-out rows, and so is
    the sum of their ranks as normal scores. Of rows like those in training, a share of α has a novelty above 1 − α.

    Examples
    --------
    >>> draw = np.random.default_rng(0)
    >>> novelty = Novelty.fit(draw.normal(5.0, 1.0, 1000), draw.uniform(0.0, 0.3, 1000))
    >>> novelty(np.array([4.0, 9.0]), np.array([0.05, 0.3])).round(1).tolist()
    [0.1, 1.0]
    """

    surprise: tuple[float, ...]
    doubt: tuple[float, ...]
    both: tuple[float, ...]

    def __post_init__(self) -> None:
        for values in (self.surprise, self.doubt, self.both):
            if not values or not np.isfinite(values).all() or bool(np.any(np.diff(values) < 0)):
                raise ValueError("the quantiles of novelty must be numbers that rise")

    @classmethod
    def fit(cls, surprise: Array, doubt: Array) -> Novelty:
        """Take the figures of held-out rows."""
        one, other = _quantiles(surprise), _quantiles(doubt)
        return cls(one, other, _quantiles(_normal_score(one, surprise) + _normal_score(other, doubt)))

    def __call__(self, surprise: Array, doubt: Array) -> Array:
        """Return the novelty of rows: from 0, like all others, to 1, unlike any."""
        return rank(self.both, _normal_score(self.surprise, surprise) + _normal_score(self.doubt, doubt))

    def to_json(self) -> dict[str, Any]:
        """Return the quantiles as plain values."""
        return {name: list(values) for name, values in asdict(self).items()}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Novelty:
        """Make a novelty of what :meth:`to_json` returned; raises ValueError if it is invalid."""
        return cls(*(tuple(map(float, values[name])) for name in ("surprise", "doubt", "both")))


def _quantiles(values: Array) -> tuple[float, ...]:
    found = np.quantile(values, (np.arange(QUANTILES) + 0.5) / QUANTILES)
    return tuple(float(f"{value:.{DIGITS}g}") for value in found.tolist())


def rank(quantiles: tuple[float, ...], values: Array) -> Array:
    """Return the share of rows, given by quantiles, that have less; of those that have as much, half.

    Examples
    --------
    >>> rank((1.0, 2.0, 2.0, 3.0), np.array([0.0, 1.5, 2.0, 9.0])).tolist()
    [0.0, 0.25, 0.5, 1.0]
    """
    below, most = (np.searchsorted(quantiles, values, side=side) for side in ("left", "right"))
    return np.asarray((below + most) / (2.0 * len(quantiles)))


def _normal_score(quantiles: tuple[float, ...], values: Array) -> Array:
    from scipy.special import ndtri

    least = 0.5 / len(quantiles)
    return np.asarray(ndtri(np.clip(rank(quantiles, values), least, 1.0 - least)))


def entropy(probabilities: Array) -> Array:
    """Return the entropy of the probabilities of each row, in nats.

    Examples
    --------
    >>> entropy(np.array([[0.5, 0.5], [1.0, 0.0]])).round(3).tolist()
    [0.693, 0.0]
    """
    logs = np.log(np.where(probabilities > 0, probabilities, 1.0))
    return np.asarray(np.maximum(-(probabilities * logs).sum(axis=1), 0.0))


@dataclass(frozen=True)
class NoveltyEvaluation:
    """How well novelty tells rows of labels that the model does not know from rows of labels that it knows.

    Examples
    --------
    >>> found = NoveltyEvaluation.of(np.array([0.2, 0.9, 0.99, 0.97]), np.array([False, False, True, True]), 0.05)
    >>> found.auroc, found.false_alarms, found.found
    (1.0, 0.0, 1.0)
    """

    known: int
    unknown: int
    auroc: float
    """The probability that a row of an unknown label has a higher novelty than one of a known label."""
    level: float
    """The share of known rows that may be taken for unknown."""
    false_alarms: float
    """The share of known rows whose novelty is above 1 − ``level``."""
    found: float
    """The share of unknown rows whose novelty is above 1 − ``level``."""

    @classmethod
    def of(cls, novelty: Array, unknown: NDArray[np.bool_], level: float) -> NoveltyEvaluation:
        """Evaluate the novelty of rows, some of which have unknown labels; a figure without rows is NaN."""
        from scipy.stats import rankdata

        count, above = int(unknown.sum()), novelty > 1.0 - level
        known = len(novelty) - count
        ranks = rankdata(novelty)[unknown].sum()
        auroc = (ranks - count * (count + 1) / 2) / (count * known) if count and known else float("nan")
        shares = (float(above[part].mean()) if part.any() else float("nan") for part in (~unknown, unknown))
        return cls(known, count, float(auroc), level, *shares)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain values, None where there are no rows for one."""
        return {name: None if value != value else value for name, value in asdict(self).items()}
