"""Confidence intervals of figures, and tests of whether one classifier is better than another."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Interval:
    """Where a figure lies, at a level of confidence."""

    low: float
    high: float
    level: float = 0.95

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def __str__(self) -> str:
        return f"[{self.low:.4f}, {self.high:.4f}]"


@dataclass(frozen=True)
class Verdict:
    """The result of a test; ``p_value`` is the probability of such a difference between equally good classifiers."""

    statistic: float
    p_value: float
    difference: float


def normal_quantile(level: float) -> float:
    """Return how many standard errors an interval reaches to each side.

    Examples
    --------
    >>> round(normal_quantile(0.95), 4)
    1.96
    """
    if not 0 < level < 1:
        raise ValueError(f"the level must be between 0 and 1, not {level!r}")
    from statistics import NormalDist  # with what it imports it would slow down every start

    return NormalDist().inv_cdf((1 + level) / 2)


def wilson(part: float, whole: float, level: float = 0.95) -> Interval:
    """Return Wilson's interval (1927) of a share; it holds for shares near 0 and 1, and for few rows.

    Examples
    --------
    >>> print(wilson(9, 10))
    [0.5958, 0.9821]
    """
    if not whole:
        return Interval(0.0, 1.0, level)
    z = normal_quantile(level)
    share, slack = part / whole, z * z / whole
    middle = (share + slack / 2) / (1 + slack)
    reach = z * math.sqrt(share * (1 - share) / whole + slack / (4 * whole)) / (1 + slack)
    return Interval(middle - reach if part else 0.0, middle + reach if part < whole else 1.0, level)


def mean_interval(values: Any, level: float = 0.95) -> Interval:
    """Return the normal interval of a mean."""
    numbers = np.asarray(values, np.float64)
    if len(numbers) < 2:
        return Interval(float("-inf"), float("inf"), level)
    reach = normal_quantile(level) * numbers.std(ddof=1) / math.sqrt(len(numbers))
    return Interval(float(numbers.mean() - reach), float(numbers.mean() + reach), level)


def bootstrap(
    rows: int,
    figure: Callable[[NDArray[np.int64]], float],
    samples: int = 1000,
    level: float = 0.95,
    random_state: int = 0,
) -> Interval:
    """Return the percentile interval of a figure over rows drawn with replacement.

    Examples
    --------
    >>> values = np.arange(100.0)
    >>> 49.5 in bootstrap(100, lambda chosen: values[chosen].mean(), samples=200)
    True
    """
    random = np.random.default_rng(random_state)
    figures = [figure(random.integers(0, rows, rows)) for _ in range(samples)]
    low, high = np.nanquantile(figures, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high), level)


def mcnemar(true: Sequence[Any], first: Sequence[Any], second: Sequence[Any], exact: bool = True) -> Verdict:
    """Test whether two classifiers have the same error rate on the same rows (McNemar 1947).

    Only rows that exactly one of them predicts correctly count. ``difference`` is the accuracy of the first minus
    that of the second. ``exact`` uses the binomial distribution, else χ² with the correction for continuity.

    Examples
    --------
    >>> verdict = mcnemar("aaaaaaaa", "aaaaaaaa", "bbbbbbaa")
    >>> verdict.p_value, verdict.difference
    (0.03125, 0.75)
    """
    truth, one, other = (np.asarray(list(values)) for values in (true, first, second))
    if not len(truth) == len(one) == len(other):
        raise ValueError("true, first and second must have the same length")
    only_first = int(((one == truth) & (other != truth)).sum())
    only_second = int(((one != truth) & (other == truth)).sum())
    differing, difference = only_first + only_second, (only_first - only_second) / max(len(truth), 1)
    if not differing:
        return Verdict(0.0, 1.0, difference)
    if exact:
        return Verdict(float(min(only_first, only_second)), _binomial_p(only_first, only_second), difference)
    statistic = max(abs(only_first - only_second) - 1, 0) ** 2 / differing
    return Verdict(statistic, math.erfc(math.sqrt(statistic / 2)), difference)


def _binomial_p(first: int, second: int) -> float:
    """Return the two-sided probability of so unequal a split of fair tosses."""
    total = first + second
    logs = [
        math.lgamma(total + 1) - math.lgamma(k + 1) - math.lgamma(total - k + 1) for k in range(min(first, second) + 1)
    ]
    return min(1.0, 2 * math.fsum(math.exp(log - total * math.log(2)) for log in logs))


def corrected_resampled_t(differences: Sequence[float], train_rows: int, test_rows: int) -> Verdict:
    """Test whether the mean difference over repeated splits or folds is zero (Nadeau and Bengio 2003).

    Training sets overlap, so the plain t test finds differences that do not exist; the variance is multiplied by
    1/J + test/train in place of 1/J.

    Examples
    --------
    >>> round(corrected_resampled_t([0.02, 0.03, 0.01, 0.02, 0.02], 90, 10).p_value, 4)
    0.0071
    """
    from scipy.special import stdtr

    values = np.asarray(differences, np.float64)
    if len(values) < 2:
        raise ValueError("the test needs at least two differences, one for each split")
    mean, variance = float(values.mean()), float(values.var(ddof=1))
    if variance == 0:
        return Verdict(math.copysign(math.inf, mean) if mean else 0.0, 1.0 if mean == 0 else 0.0, mean)
    statistic = mean / math.sqrt((1 / len(values) + test_rows / train_rows) * variance)
    return Verdict(statistic, float(2 * stdtr(len(values) - 1, -abs(statistic))), mean)
