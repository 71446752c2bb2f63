"""Which model is best for some rows, found within a time: all are judged on few rows, the better ones on more.

Every round judges the models that are left by cross-validation on a random part of the rows, three times as many as in
the round before, up to all of them. Rows are taken in the order of their keys, so that nothing depends on the order of
the data but how far the time reaches. A model that is clearly behind drops out; one that would not be ready in time is
not tried on more rows, and with that the contest ends.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

import discern.spatial as spatial
from discern.calibrate import Temperature
from discern.columns import Feature
from discern.spatial import Recipe
from discern.validate import Choice, Folds, Sample, held_out, stratified

if TYPE_CHECKING:
    from numpy.typing import NDArray

FIRST, GROWTH = 2000, 3
"""The rows of the first round, and how many times more the next one has."""
FOLDS = 4
GROWTH_POWER = 1.15
"""Time grows with the rows to this power: a little more than in proportion, as the vocabulary grows too."""
CLEAR, MUCH = 3.0, 0.01
"""A model drops out that is behind the leader by so many standard errors of the difference, and by so large a share of
the rows: with more rows the order may change."""
Watch = Callable[[list[dict[str, Any]]], None]


@dataclass(frozen=True)
class Entry:
    """A model that takes part: its name, its terms in words, and its recipe; naive Bayes has none."""

    model: str
    terms: str
    recipe: Recipe | None = None


@dataclass(frozen=True)
class Standing:
    """How an entry did in the last round that it took part in."""

    entry: Entry
    rows: int
    seconds: float
    right: NDArray[np.bool_]
    log_loss: float
    calibration: Temperature
    choice: Choice | None = None
    status: str = ""

    @property
    def accuracy(self) -> float:
        """The share of rows left out that were called right."""
        return float(self.right.mean())

    @property
    def rank(self) -> tuple[int, float, float]:
        """What standings are sorted by: more rows, then more of them right, then a lower log loss."""
        return -self.rows, -self.accuracy, self.log_loss

    def expected(self, rows: int) -> float:
        """Give the seconds that a round with so many rows would take."""
        return float(self.seconds * (rows / self.rows) ** GROWTH_POWER)

    def to_json(self) -> dict[str, Any]:
        """Give the standing in plain values."""
        return {
            "model": self.entry.model,
            "terms": self.entry.terms,
            "rows": self.rows,
            "accuracy": self.accuracy,
            "log_loss": self.log_loss,
            "seconds": round(self.seconds, 3),
            "status": self.status,
        }


@dataclass
class Contest:
    """A contest of entries on rows; ``choose`` gives what naive Bayes would learn them with."""

    sample: Sample
    features: Sequence[Feature]
    entries: Sequence[Entry]
    choose: Callable[[Sample], Choice]
    deadline: float
    min_df: int = 1
    watch: Watch | None = None

    def run(self) -> list[Standing]:
        """Hold all rounds that there is time for; gives the standings, the winner first."""
        standings: list[Standing] = []
        rows, left = min(FIRST, self.sample.rows), list(self.entries)
        while left:
            known = {standing.entry: standing for standing in standings}
            judged = self._round(rows, left, known)
            if not judged:
                break
            standings = sorted({**known, **judged}.values(), key=lambda standing: standing.rank)
            standings = [self._status(standing, standings[0]) for standing in standings]
            left = [one.entry for one in standings if one.rows == rows and not one.status]
            if rows == self.sample.rows or len(left) < 2:
                break
            rows = min(GROWTH * rows, self.sample.rows)
        return [replace(one, status="won" if place == 0 else one.status) for place, one in enumerate(standings)]

    def _round(self, rows: int, entries: Sequence[Entry], known: dict[Entry, Standing]) -> dict[Entry, Standing]:
        """Judge entries, the best first, while there is time to learn the best of them from all rows after it."""
        part, found = self.sample.part(rows), dict[Entry, Standing]()
        folds = stratified(part.classes, part.keys, min(FOLDS, part.rows))
        for entry in entries:
            before = known.get(entry)
            if not self._is_time(rows, before, found):
                break
            found[entry] = self._judge(part, entry, folds, before)
            if self.watch is not None:
                listed = sorted({**known, **found}.values(), key=lambda standing: standing.rank)
                self.watch([standing.to_json() for standing in listed])
        return found

    def _is_time(self, rows: int, before: Standing | None, found: dict[Entry, Standing]) -> bool:
        """Say whether an entry can be judged and the slowest so far still be learned from all rows."""
        slowest = max([one.expected(self.sample.rows) / FOLDS for one in found.values()], default=0.0)
        if before is None:
            expected = max([one.seconds for one in found.values()], default=0.0)
        else:
            expected = before.expected(rows)
            slowest = max(slowest, before.expected(self.sample.rows) / FOLDS)
        return (not found and before is None) or time.monotonic() + expected + slowest < self.deadline

    def _judge(self, part: Sample, entry: Entry, folds: Folds, before: Standing | None) -> Standing:
        start, choice = time.monotonic(), None if before is None else before.choice
        lengths = None
        if entry.recipe is not None:
            scores = spatial.held_out(part, self.features, entry.recipe, folds)
        else:
            choice = choice or self.choose(part)
            said = held_out(part, choice.features, choice.settings, choice.text, folds, self.min_df)
            scores, lengths = said.scores, said.known if np.ptp(said.known) else None
        classes = part.classes[folds.order]
        calibration = Temperature.fit(scores, classes, lengths)
        shares = calibration(np.where(np.isneginf(scores), -1e300, scores), lengths)
        loss = -np.log(np.maximum(shares[np.arange(len(classes)), classes], 1e-12)).mean()
        right = scores.argmax(axis=1) == classes
        seconds = max(time.monotonic() - start, 1e-6)
        return Standing(entry, part.rows, seconds, right, float(loss), calibration, choice)

    def _status(self, standing: Standing, leader: Standing) -> Standing:
        """Say of a standing whether it is out, and why."""
        if standing.status or standing is leader:
            return standing
        if standing.rows < leader.rows:
            return replace(standing, status="no time for more rows")
        behind = leader.right.astype(np.float64) - standing.right
        error = float(behind.std()) / max(len(behind), 1) ** 0.5
        is_out = behind.mean() > max(CLEAR * error, MUCH)
        return replace(standing, status="behind" if is_out else "")


def gives_up(standings: Sequence[Standing]) -> str:
    """Say what a winner that is no sum gives up, and what it gains."""
    winner = standings[0]
    if winner.entry.recipe is None:
        return ""
    gain = ""
    for other in standings[1:]:
        if other.entry.recipe is None:
            shares = f"{winner.accuracy:.1%} of rows left out are right"
            on_rows = "" if other.rows == winner.rows else f" of {other.rows:,} rows"
            gain = f"; naive Bayes, which can, has {other.accuracy:.1%}{on_rows} right where it has {shares}"
    return f"{winner.entry.model} cannot learn more rows, forget or merge{gain}"
