"""Which model is best for some rows, found within a time: all are judged on few rows, the better ones on more.

Every round judges the models that are left by cross-validation on a random part of the rows, three times as many as in
the round before, up to all of them. Rows are taken in the order of their keys, so that nothing depends on the order of
the data but how far the time reaches. A model that is clearly behind drops out; one that would not be ready in time is
not tried on more rows. In the time that is left, the terms of the winner are changed one thing at a time, and what
makes it better is kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

import discern.spatial as spatial
from discern.calibrate import Temperature
from discern.choice import Choice
from discern.columns import Feature
from discern.samples import Folds, Sample, stratified
from discern.space import Plan
from discern.spatial import Recipe
from discern.text import CHARACTERS, TextSettings
from discern.validate import held_out

if TYPE_CHECKING:
    from numpy.typing import NDArray

PROBED, FIRST, GROWTH = 500, 2000, 3
"""The rows of a round that only shows how long it takes, of the first round, and how many times more the next has."""
FOLDS = 4
GROWTH_POWER = 1.15
"""Time grows with the rows to this power: a little more than in proportion, as the vocabulary grows too."""
CLEAR, MUCH = 3.0, 0.01
"""A model drops out that is behind the leader by so many standard errors of the difference, and by so large a share of
the rows: with more rows the order may change."""
BETTER = 0.5
"""A change of the terms is kept that makes the winner better by so many standard errors of the difference."""
LEARNING = 0.5
"""Learning takes at most this share of the time of judging by as many rows: they are counted once for all folds."""
SPARE = 0.85
"""The share of the time left that is planned with."""
Watch = Callable[[list[dict[str, Any]]], None]


@dataclass(frozen=True)
class Entry:
    """A model that takes part: its name, its terms in words, and its recipe; naive Bayes has none."""

    model: str
    terms: str
    recipe: Recipe | None = None


@dataclass(frozen=True)
class Change:
    """A change of the terms: its name, what it may take (times what the entry took), and the text settings it gives."""

    name: str
    slower: float
    plan: Callable[[Plan], Plan]

    def of(self, entry: Entry) -> Entry | None:
        """Give the changed entry; None if there is nothing to change."""
        if entry.recipe is None:
            return None
        plan = self.plan(entry.recipe.plan)
        if plan == entry.recipe.plan:
            return None
        return Entry(entry.model, f"{entry.terms}, {self.name}", replace(entry.recipe, plan=plan))


def with_characters(plan: Plan) -> Plan:
    """Count character n-grams within words too."""
    first = plan.text[0]
    if len(plan.text) > 1 or first.analyzer != "word":
        return plan
    return replace(plan, text=(first, TextSettings("char_wb", lowercase=first.lowercase, ngrams=CHARACTERS)))


def with_case(plan: Plan) -> Plan:
    """Tell upper from lower case."""
    return replace(plan, text=tuple(replace(text, lowercase=False) for text in plan.text))


def with_triples(plan: Plan) -> Plan:
    """Count three words in a row too."""
    return _with_words(plan, ngrams=(1, 3)) if plan.text[0].ngrams == (1, 2) else plan


def with_letters(plan: Plan) -> Plan:
    """Count words of a single letter too."""
    return _with_words(plan, shortest=1)


def with_rare(plan: Plan) -> Plan:
    """Count terms of a single row too."""
    return replace(plan, min_df=1)


def _with_words(plan: Plan, **settings: Any) -> Plan:
    first = plan.text[0]
    return replace(plan, text=(replace(first, **settings), *plan.text[1:])) if first.analyzer == "word" else plan


CHANGES = (
    Change("characters", 10.0, with_characters),
    Change("single letters", 1.5, with_letters),
    Change("case kept", 1.5, with_case),
    Change("triples", 3.0, with_triples),
    Change("rare terms", 2.0, with_rare),
)


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
    changes: Sequence[Change] = ()
    watch: Watch | None = None

    def run(self) -> list[Standing]:
        """Hold all rounds that there is time for; gives the standings, the winner first."""
        standings: list[Standing] = []
        left = list(self.entries)
        sizes = [rows for rows in (PROBED, FIRST) if rows < self.sample.rows]
        while GROWTH * sizes[-1] < self.sample.rows if sizes else False:
            sizes.append(GROWTH * sizes[-1])
        for rows in [*sizes, self.sample.rows]:
            known = {standing.entry: standing for standing in standings}
            judged = self._round(rows, left, known)
            standings = sorted({**known, **judged}.values(), key=lambda standing: standing.rank)
            if not judged:
                break
            if rows != PROBED or rows == self.sample.rows:
                standings = [self._status(standing, standings[0]) for standing in standings]
            left = [one.entry for one in standings if one.rows == rows and not one.status]
            if len(left) < 2:
                break
        standings = self._refined(standings)
        return [replace(one, status="won" if place == 0 else one.status) for place, one in enumerate(standings)]

    def _round(self, rows: int, entries: Sequence[Entry], known: dict[Entry, Standing]) -> dict[Entry, Standing]:
        """Judge entries, the best first, those that there is time for."""
        part, found = self.sample.part(rows), dict[Entry, Standing]()
        folds = stratified(part.classes, part.keys, min(FOLDS, part.rows))
        for entry in entries:
            before = known.get(entry)
            if before is None:
                expected = max([one.seconds for one in found.values()], default=0.0)
                is_time = (not found and not known) or self._is_time(expected, LEARNING * expected)
            else:
                is_time = self._is_time(before.expected(rows), LEARNING * before.expected(self.sample.rows))
            if is_time:
                found[entry] = self._judge(part, entry, folds)
                self._show([*{**known, **found}.values()])
        return found

    def _is_time(self, judging: float, learning: float) -> bool:
        """Say whether an entry can be judged, and then learned from all rows."""
        return judging + learning < SPARE * (self.deadline - time.monotonic())

    def _show(self, standings: list[Standing]) -> None:
        if self.watch is not None:
            self.watch([one.to_json() for one in sorted(standings, key=lambda standing: standing.rank)])

    def _refined(self, standings: list[Standing]) -> list[Standing]:
        """Change the terms of the winner one thing at a time while there is time."""
        winner = standings[0]
        part = self.sample.part(self._rows_to_refine(winner))
        folds = stratified(part.classes, part.keys, min(FOLDS, part.rows))
        if part.rows > winner.rows:
            winner = self._judge(part, winner.entry, folds)
            standings = [winner, *standings[1:]]
        for change in self.changes:
            entry = change.of(winner.entry)
            learning = LEARNING * winner.expected(self.sample.rows)
            if entry is None or not self._is_time(change.slower * winner.seconds, change.slower * learning):
                continue
            tried = self._judge(part, entry, folds)
            part.keep_only(entry.recipe.plan.text if entry.recipe is not None else ())
            gain = tried.right.astype(np.float64) - winner.right
            if gain.mean() > BETTER * float(gain.std()) / len(gain) ** 0.5:
                winner = tried
            standings = [*standings, tried]
            self._show(standings)
        # One that is ahead by less than what a change must bring stays behind what was changed.
        others = sorted((one for one in standings if one is not winner), key=lambda standing: standing.rank)
        return [winner, *others]

    def _rows_to_refine(self, winner: Standing) -> int:
        """Give on how many rows there is time to judge the winner again and with each change."""
        work = 1.0 + sum(change.slower for change in self.changes if change.of(winner.entry) is not None)
        rows = self.sample.rows
        while rows > winner.rows:
            slowest = max([1.0, *(change.slower for change in self.changes)])
            learning = slowest * LEARNING * winner.expected(self.sample.rows)
            if self._is_time(work * winner.expected(rows), learning):
                return rows
            rows //= GROWTH
        return winner.rows

    def _judge(self, part: Sample, entry: Entry, folds: Folds) -> Standing:
        start, choice, lengths = time.monotonic(), None, None
        if entry.recipe is not None:
            scores = spatial.held_out(part, self.features, entry.recipe, folds)
        else:
            choice = self.choose(part)
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
        if other.entry.recipe is None and other.rows >= min(FIRST, winner.rows):
            gain = f"; naive Bayes, which can, is right on {_figures(other)}, the winner on {_figures(winner)}"
    return f"{winner.entry.model} cannot learn more rows, forget or merge{gain}"


def _figures(standing: Standing) -> str:
    return f"{standing.accuracy:.1%} of {standing.rows:,} rows left out"
