"""What a search knows of a candidate: its scores of held-out rows, how good they are, and sums of several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.evaluation.calibration import Temperature
from discern.learners.bayes import posterior
from discern.models.candidates import Candidate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discern.models.resolved import Resolved

    Array = NDArray[np.float64]

PROBED = 500
"""The rows of the first round, which only decides what is tried first."""
BETTER = 0.5
"""A change is kept if it improves the winner by this many standard errors of the difference."""
NEVER = -1e100
"""The score of a label that has none."""


@dataclass(frozen=True, eq=False)
class Result:
    """How a candidate did in its last round; ``scores`` of held-out rows are divided by the temperature.

    ``seconds`` are those of one core that the round takes, as predicted.
    """

    candidate: Candidate
    rows: int
    seconds: float
    scores: Array
    classes: NDArray[Any]
    """The class of each row; or which labels it has, if it may have several."""
    losses: Array
    right: NDArray[Any]
    """Whether each row is right; or F1 of its labels, if it may have several."""
    calibration: Temperature
    resolved: Resolved | None = None
    status: str = ""

    @property
    def accuracy(self) -> float:
        """The accuracy on held-out rows."""
        return float(self.right.mean())

    @property
    def log_loss(self) -> float:
        """The mean log loss of held-out rows."""
        return float(self.losses.mean())

    @property
    def rank(self) -> tuple[int, float, float]:
        """What results are sorted by: more rows, then more of them right, then a lower log loss."""
        return -self.rows, -self.accuracy, self.log_loss

    def beats(self, other: Result) -> bool:
        """Return whether it is better on the same rows: more of them right, or as many and more sure of them."""
        gain, sure = self.right.astype(np.float64) - other.right, other.losses - self.losses
        return is_above(gain) or (float(gain.mean()) >= 0 and is_above(sure))

    def has_rows_of(self, other: Result) -> bool:
        """Return whether both were evaluated on the same rows, in the same order."""
        return self.rows == other.rows and np.array_equal(self.classes, other.classes)

    def to_json(self) -> dict[str, Any]:
        """Return the result in plain values."""
        return {
            "model": self.candidate.model,
            "terms": self.candidate.terms,
            "rows": self.rows,
            "cost": None if self.candidate.pipeline is None else self.candidate.pipeline.regularization.cost,
            "accuracy": self.accuracy,
            "log_loss": self.log_loss,
            "seconds": round(self.seconds, 3),
            "status": self.status,
        }


def is_above(differences: Array, errors: float = BETTER) -> bool:
    """Return whether the mean of differences is above zero by enough standard errors not to be chance."""
    return bool(differences.mean() > errors * differences.std() / len(differences) ** 0.5)


def result_of(candidate: Candidate, rows: int, seconds: float, scores: Array, classes: NDArray[np.int32]) -> Result:
    """Return how a candidate did, by its scores of held-out rows."""
    calibration = Temperature.robust(scores, classes)
    divided = scores / calibration.temperature
    right = scores.argmax(axis=1) == classes
    return Result(candidate, rows, seconds, divided, classes, losses_of(divided, classes), right, calibration)


def losses_of(scores: Array, classes: NDArray[np.int32]) -> Array:
    """Return the log loss of each row, by scores that are log probabilities but for a constant of each row."""
    shares = posterior(np.where(np.isneginf(scores), NEVER, scores))
    return np.asarray(-np.log(np.maximum(shares[np.arange(len(classes)), classes], 1e-12)))


def sum_of(results: Sequence[Result]) -> Array:
    """Return the sum of the scores of held-out rows, each divided by its temperature."""
    return np.asarray(np.sum([one.scores for one in results], axis=0))


def combination(chosen: Sequence[Result]) -> tuple[Candidate, Array]:
    """Return the first of some results with the others added, some perhaps twice, and the scores of held-out rows.

    Scores are divided by their temperatures and added; in the pipeline, all are in units of the first.
    """
    first, unit = chosen[0], chosen[0].calibration.temperature / chosen.count(chosen[0])
    assert first.candidate.pipeline is not None
    others, terms = [], [first.candidate.terms]
    for one in each_once(chosen)[1:]:
        assert one.candidate.pipeline is not None
        others.append((unit * chosen.count(one) / one.calibration.temperature, one.candidate.pipeline))
        terms.append(f"and {one.candidate.model}: {one.candidate.terms}")
    pipeline = replace(first.candidate.pipeline, others=tuple(others))
    return Candidate(first.candidate.model, "; ".join(terms), pipeline), unit * sum_of(chosen)


def candidates_of(results: Sequence[Result]) -> list[Candidate]:
    """Return the candidates of results, each once."""
    return [one.candidate for one in each_once(results)]


def each_once(results: Sequence[Result]) -> list[Result]:
    """Return results, each once."""
    return list({id(one): one for one in results}.values())


def limitation(winner: Candidate, evaluated: Sequence[Result]) -> str:
    """Describe what a winner that is not additive cannot do, and what it gains on the same rows."""
    if winner.pipeline is None or winner.pipeline.is_sum:
        return ""
    gain, simple = "", [one for one in evaluated if one.candidate.pipeline is None]
    for bayes in sorted(simple, key=lambda one: one.rows):
        own = [one for one in evaluated if one.candidate.model == winner.model and one.has_rows_of(bayes)]
        if own and bayes.rows > PROBED:
            best = max(own, key=lambda one: one.accuracy)
            gain = (
                f"; of the same {len(best.right):,} held-out rows it is right on {best.accuracy:.1%}, and naive Bayes, "
                f"which can, on {bayes.accuracy:.1%}"
            )
    return f"{winner.model} cannot learn more rows, forget or merge{gain}"
