"""Calibration of evidence where rows may have several labels: one scaling, fitted to pairs of a row and a label.

It is :class:`EvidenceScaling` of two classes, the label and the rest, of which the rest has scores of 0. So a pair has
one number for the prior and one for each group of columns, and what depends on the row only is computed once a row.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.evaluation.calibration import least
from discern.evaluation.scaling import ENOUGH, PARAMETERS, USUAL, EvidenceScaling, factors_of, scale_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


@dataclass(frozen=True)
class Pairs:
    """Pairs of a row and a label: their log odds by the prior and by each group of columns, and whether they are true.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> odds = random.normal(0, 4, 2000)
    >>> true = random.random(2000) < 1 / (1 + np.exp(-odds / 2))
    >>> pairs = Pairs.of(np.ones(2000), [np.zeros(2000), odds], [np.ones(2000)], true)
    >>> round(pairs.fitted()[0].scales[0].temperature, 1)
    1.9
    """

    starts: NDArray[np.int64]
    """The first pair of each row; rows without pairs are left out."""
    sizes: NDArray[np.int64]
    parts: tuple[Array, ...]
    """The log odds by the prior, then those by each group, of each pair."""
    lengths: Array
    """The number of known terms: groups × rows."""
    targets: Array

    @classmethod
    def of(
        cls, sizes: Sequence[int] | NDArray[Any], parts: Sequence[Array], lengths: Sequence[Any], true: Any
    ) -> Pairs:
        """Take pairs by rows, ``sizes`` of each row.

        One pair in as many as there are is counted as wrong, so that evidence that is always right does not become
        certainty.
        """
        sizes = np.asarray(sizes, np.int64)
        some = sizes > 0
        wrong = 1.0 / (len(parts[0]) + 2.0)
        targets = np.where(np.asarray(true, bool), 1.0 - wrong, wrong)
        starts = (np.cumsum(sizes) - sizes)[some]
        return cls(starts, sizes[some], tuple(parts), np.array(lengths, np.float64)[:, some], targets)

    def fitted(self, start: Array | None = None) -> tuple[EvidenceScaling, Array]:
        """Return the scaling of the least log loss, and its parameters, from which another fit may start."""
        groups = len(self.lengths)
        first = np.array(USUAL * groups) if start is None else start
        found = least(self.loss, first, ENOUGH)
        return EvidenceScaling(tuple(scale_of(part) for part in np.split(found, groups))), found

    def loss(self, parameters: Array) -> tuple[float, Array, Array]:
        """Return the log loss, its gradient and its curvature but for that of the factors, which keeps it convex.

        The loss of a pair is log(1 + exp(Σⱼ fⱼ zⱼ)) − t Σⱼ fⱼ zⱼ with factors f, log odds z and a target t.
        """
        factors, slopes = factors_of(parameters, self.lengths, np.log(np.maximum(self.lengths, 1.0)))
        odds = np.zeros(len(self.targets))
        for factor, part in zip(factors, self.parts, strict=True):
            odds += np.repeat(factor, self.sizes) * part
        small = np.exp(-np.abs(odds))
        value = float((np.maximum(odds, 0.0) + np.log(1.0 + small) - self.targets * odds).sum())
        chances = np.where(odds >= 0, 1.0, small) / (1.0 + small)
        away, spread = chances - self.targets, chances * (1.0 - chances)
        pulls = [self._by_row(away * part) for part in self.parts]
        bends = {}
        for one, other in itertools.combinations_with_replacement(range(len(self.parts)), 2):
            bends[one, other] = self._by_row(spread * self.parts[one] * self.parts[other])
        owners = [part for group in range(len(self.lengths)) for part in (group + 1, group + 1, 0)]
        gradient = np.array([slope @ pulls[part] for slope, part in zip(slopes, owners, strict=True)])
        curvature = np.zeros((len(slopes), len(slopes)))
        for one, other in itertools.combinations_with_replacement(range(len(slopes)), 2):
            low, high = sorted((owners[one], owners[other]))
            curvature[one, other] = curvature[other, one] = (slopes[one] * slopes[other]) @ bends[low, high]
        distance, share = parameters - np.array(USUAL * len(self.lengths)), 1.0 / max(len(self.targets), 1)
        return (
            share * (value + 0.5 * float(distance @ distance)),
            share * (gradient + distance),
            share * (curvature + np.eye(len(slopes))),
        )

    def _by_row(self, values: Array) -> Array:
        return np.add.reduceat(values, self.starts) if len(self.starts) else np.zeros(0)


def started(parameters: Array | None, groups: int) -> Array | None:
    """Return parameters for a number of groups: known ones, and the usual ones for groups that are new."""
    if parameters is None or len(parameters) > PARAMETERS * groups:
        return None
    return np.append(parameters, np.array(USUAL * groups)[len(parameters) :])
