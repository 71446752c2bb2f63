"""Find the best model for some rows within a time: try all candidates on few rows, the better ones on more.

Every round cross-validates the candidates that are left on a random part of the rows, three times as many as in the
round before, up to all of them. Rows are taken in the order of their keys, so that nothing depends on the order of the
data. The cost of an error of each model is tuned while there are few rows. A candidate that is clearly behind drops
out; one that would not be ready in time is not tried on more rows. In the time that is left, the terms of the winner
are changed one thing at a time, and what makes it better is kept. At last models that were evaluated on the same rows
are added to the winner as long as their sum is better (R. Caruana and others, "Ensemble selection from libraries of
models", ICML 2004). Linear models are added, so the sum is one linear model.

Time is predicted from counts of rows, labels, cells and bytes (:mod:`discern.models.validation.work`), not measured:
the same rows and budget give the same model on a busy machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

import discern.models.validation.work as work
import discern.models.vector_space.model as spatial
from discern.data.registry import imported
from discern.data.roles import Feature
from discern.models.candidates import Candidate, Change
from discern.models.registry import MODELS
from discern.models.resolved import Resolved
from discern.models.validation.held_out import held_out
from discern.models.validation.results import (
    PROBED,
    Result,
    candidates_of,
    combination,
    each_once,
    is_above,
    losses_of,
    result_of,
    sum_of,
)
from discern.models.validation.rows import Folds, Sample, stratified
from discern.models.validation.work import Size

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discern.evaluation.scaling import EvidenceScaling
    from discern.models.vector_space.model import Pipeline

    Array = NDArray[np.float64]

FIRST, GROWTH = 2000, 3
"""Round sizes: a probe, then 2,000 rows, then three times as many each."""
FOLDS, ENOUGH = 4, 8000
"""The number of folds. With many rows only the first folds are evaluated, until they hold enough rows."""
CLEAR, MUCH = 3.0, 0.02
"""A model drops out that is behind the leader by this many standard errors of the difference, and by this share of
the rows: with more rows the order may change."""
SUM_BETTER = 0.1
"""A model is added if it improves the sum by this many: sums of models err less than those they are made of, so that
less evidence is required for them than for a change."""
STEP, CHEAP = 0.4, 0.01
"""The cost of an error changes by this factor or its inverse: in every round where that takes at most this share of the
whole time, and at last for the winner."""
AGAIN, AGAIN_FOLDS, MOST_AGAIN = 0.3, 10, 6
"""On up to ``ENOUGH`` rows luck helps the winner. If it takes at most this share of the time left, it, this many others
and the best of each model are evaluated again on other folds before they are added."""
MOST_DEALS = 3
"""On tables, the most times that rows are dealt into other folds."""
ANOTHER_DEAL = np.uint64(0xD1342543DE82EF95)
"""An odd number that keys are multiplied with: equal ones stay equal, the order is another."""
MOST_ADDED = 5
"""The most models added to the winner, some perhaps twice."""
SPARE = 0.85
"""The share of the budget that is planned with."""
LATE = 3.0
"""Nothing more is tried when the process has used this many times its budget, on a machine much slower than usual."""
Watch = Callable[[list[dict[str, Any]]], None]


def folds_evaluated(rows: int) -> int:
    """Return how many of the folds are evaluated by.

    Examples
    --------
    >>> [folds_evaluated(rows) for rows in (100, 8000, 12_000, 20_000, 10**6)]
    [4, 4, 3, 2, 1]
    """
    return min(FOLDS, -(-FOLDS * ENOUGH // max(rows, 1)))


def folds_of(part: Sample) -> Folds:
    """Deal rows into folds, and give those to evaluate on."""
    dealt = stratified(part.classes, part.keys, min(FOLDS, part.rows))
    ends = dealt.ends[: folds_evaluated(part.rows)]
    return Folds(dealt.order[: ends[-1]], ends)


def another_deal(sample: Sample, folds: int, number: int = 0) -> Folds:
    """Deal rows into other folds, each row alone; each number is another deal.

    Rows to come repeat those learned about as often as these repeat each other. Where equal rows stay together, as in
    the folds of the rounds, none is ever known, and an error on one that is there five times counts five times.
    """
    places = np.empty(sample.rows, np.uint64)
    places[np.argsort(sample.keys * (ANOTHER_DEAL + np.uint64(2 * number * 0x51ED270B)), kind="stable")] = np.arange(
        sample.rows, dtype=np.uint64
    )
    return stratified(sample.classes, places, folds)


@dataclass
class Search:
    """A search among candidates on rows; ``choose`` returns what naive Bayes would learn them with."""

    sample: Sample
    features: Sequence[Feature]
    candidates: Sequence[Candidate]
    choose: Callable[[Sample], Resolved]
    budget: float
    """The seconds of one core that comparing and learning may take."""
    min_df: int = 1
    changes: Sequence[Change] = ()
    watch: Watch | None = None
    evaluated: list[Result] = field(default_factory=list)
    """All results, in the order in which they came."""
    spent: float = 0.0
    """The seconds that what has been done takes, as predicted."""
    started: float = field(default_factory=lambda: time.process_time())

    @cached_property
    def has_text(self) -> bool:
        """Whether there is a text column."""
        return any(feature.role == "text" for feature in self.features)

    @cached_property
    def size(self) -> Size:
        """How much there is to learn from."""
        return Size.of(self.sample, self.features)

    def run(self) -> list[Result]:
        """Hold all rounds that there is time for; gives the results, the winner first."""
        results: list[Result] = []
        left = [one for one in self.candidates if self._is_possible(one)] or list(self.candidates)
        sizes = [rows for rows in (PROBED, FIRST) if rows < self.sample.rows]
        while GROWTH * sizes[-1] < self.sample.rows if sizes else False:
            sizes.append(GROWTH * sizes[-1])
        for rows in [*sizes, self.sample.rows]:
            known = {result.candidate: result for result in results}
            evaluated = self._round(rows, left, known)
            results = sorted({**known, **evaluated}.values(), key=lambda result: result.rank)
            if not evaluated:
                break
            if rows != PROBED or self.sample.rows <= GROWTH * PROBED:
                results = [self._status(result, results[0]) for result in results]
            left = [one.candidate for one in results if one.rows == rows and not one.status]
            if len(left) < 2:
                break
        results = self._combined(self._refined(results))
        return [replace(one, status="won" if place == 0 else one.status) for place, one in enumerate(results)]

    def _round(
        self, rows: int, candidates: Sequence[Candidate], known: dict[Candidate, Result]
    ) -> dict[Candidate, Result]:
        """Evaluate candidates, the best first, while there is time; ``known`` loses those whose cost is changed."""
        part, found = self.sample.part(rows), dict[Candidate, Result]()
        folds = folds_of(part)
        for candidate in candidates:
            before = known.get(candidate)
            is_first = not found and not known
            if is_first or self._is_time(self._evaluating(candidate, rows), candidate):
                evaluated = self._evaluate(part, self._chosen(part, candidate, before), folds)
                if rows > PROBED and self._evaluating(candidate, rows) < CHEAP * self.budget:
                    evaluated = self._tuned(part, folds, evaluated)
                known.pop(candidate, None)
                found[evaluated.candidate] = evaluated
                self._show([*{**known, **found}.values()])
        return found

    def _is_possible(self, candidate: Candidate) -> bool:
        pipeline = candidate.pipeline
        return pipeline is None or spatial.columns_of(self.sample, self.features, pipeline).can_be_laid_out

    def _chosen(self, part: Sample, candidate: Candidate, before: Result | None) -> Candidate:
        """Choose a kernel, or how far a model that is a sum in a vector space is shrunken.

        Not while there are few rows, which only decide what is tried first, nor again with more than enough.
        """
        is_probe = part.rows == PROBED < self.sample.rows
        is_late = before is not None and before.rows >= FIRST
        if candidate.pipeline is None or is_probe or is_late:
            return candidate
        if chosen := MODELS[candidate.model].choose:
            self.spent += work.choosing(self.size, candidate, part.rows)
            return replace(candidate, pipeline=imported(chosen)(part, self.features, candidate.pipeline))
        if not candidate.pipeline.is_sum:
            return candidate
        return replace(candidate, pipeline=self.shrunken(part, candidate.pipeline))

    def _evaluating(self, candidate: Candidate, rows: int) -> float:
        """Return the seconds that evaluating a candidate on some rows takes, as predicted."""
        return work.evaluating(self.size, candidate, rows, folds_evaluated(rows))

    def _is_time(self, seconds: float, *candidates: Candidate, slower: float = 1.0) -> bool:
        """Return whether there is time to do something, and then to learn candidates from all rows."""
        learning = slower * sum(work.learning(self.size, one) for one in candidates)
        is_late = time.process_time() - self.started > LATE * self.budget
        return self.spent + seconds + learning < SPARE * self.budget and not is_late

    def _show(self, results: list[Result]) -> None:
        if self.watch is not None:
            self.watch([one.to_json() for one in sorted(results, key=lambda result: result.rank)])

    def _tuned(self, part: Sample, folds: Folds, start: Result) -> Result:
        """Change the cost of an error, down or up, as long as that makes the candidate better."""
        best = start
        for factor in (STEP, 1 / STEP):
            candidate = best.candidate.with_cost(factor)
            while candidate is not None and self._is_time(
                self._evaluating(candidate, part.rows), candidate, slower=2.0
            ):
                tried = self._evaluate(part, candidate, folds)
                if not tried.beats(best):
                    break
                best, candidate = tried, candidate.with_cost(factor)
            if best is not start:
                break
        return best

    # -------------------------------------------------------------------------------------------- the winner

    def _refined(self, results: list[Result]) -> list[Result]:
        """Change the cost of the winner, and its terms one thing at a time, while there is time."""
        winner = results[0]
        part = self.sample.part(self._rows_to_refine(winner))
        folds = folds_of(part)
        if part.rows > winner.rows:
            winner = self._evaluate(part, winner.candidate, folds)
            results = [winner, *results[1:]]
        results, winner = self._with_tuned(part, folds, results, winner)
        changed = winner
        for change in self.changes:
            candidate = change.of(winner.candidate)
            if candidate is None:
                continue
            seconds = change.slower * self._evaluating(winner.candidate, part.rows)
            # Twice, because others may be added.
            if not self._is_time(seconds, winner.candidate, slower=2.0 * change.slower):
                continue
            tried = self._evaluate(part, candidate, folds)
            part.keep_only(candidate.pipeline.layout.text if candidate.pipeline is not None else ())
            if tried.beats(winner):
                winner = tried
            results = [*results, tried]
            self._show(results)
        if winner is not changed:
            results, winner = self._with_tuned(part, folds, results, winner)
        # One that is ahead by less than what a change must bring stays behind what was changed.
        others = sorted((one for one in results if one is not winner), key=lambda result: result.rank)
        return [winner, *others]

    def _with_tuned(
        self, part: Sample, folds: Folds, results: list[Result], winner: Result
    ) -> tuple[list[Result], Result]:
        """Change the cost of the winner; gives the results with the changed one in its place."""
        tuned = self._tuned(part, folds, winner)
        return [tuned if one is winner else one for one in results], tuned

    def _rows_to_refine(self, winner: Result) -> int:
        """Return on how many rows there is time to evaluate the winner again and with each change."""
        times = 1.0 + sum(change.slower for change in self.changes if change.of(winner.candidate) is not None)
        slowest, rows = max([1.0, *(change.slower for change in self.changes)]), self.sample.rows
        while rows > winner.rows:
            if self._is_time(times * self._evaluating(winner.candidate, rows), winner.candidate, slower=slowest):
                return rows
            rows //= GROWTH
        return winner.rows

    # ------------------------------------------------------------------------------------------ several models

    def _combined(self, results: list[Result]) -> list[Result]:
        """Add models to the best that can be added, each time the one that makes the log loss least.

        It goes on as long as the sum is better. Of the sums on that way, the one that is right most often is kept; of
        equals the last, which is most sure. It wins unless the best of those that stand alone is clearly better.
        """
        again = self._evaluated_again(results)
        winner = again[0]
        left = [one for one in again if self._can_join(one, one)]
        if not left or left[0].rows != winner.rows:
            return _in_order([winner, *results])
        first = left[0]
        left = [one for one in left if self._can_join(first, one)]
        chosen, losses, best = [first], first.losses, first
        while left and len(chosen) <= MOST_ADDED:
            tried = [self.losses_of(sum_of([*chosen, one]) / (len(chosen) + 1), first.classes) for one in left]
            place = int(np.argmin([one.mean() for one in tried]))
            is_better = is_above(losses - tried[place], SUM_BETTER)
            if not is_better or not self._is_time(0.0, *candidates_of([*chosen, left[place]])):
                break
            losses = tried[place]
            chosen.append(left[place])
            candidate, scores = combination(chosen)
            seconds = sum(one.seconds for one in each_once(chosen))
            found = self.result_of(candidate, first.rows, seconds, scores, first.classes)
            best = found if found.accuracy >= best.accuracy else best
        if winner is not first and winner.beats(best):
            best = winner
        return _in_order([best, winner, *results])

    def _evaluated_again(self, results: list[Result]) -> list[Result]:
        """Evaluate the winner, which is the first, and the best of the others on other folds, if there is time.

        On tables there are up to three deals of folds, and what is best there comes first: of a few hundred rows,
        one deal has a winner by luck. Without time for it, all are given as they are.
        """
        first = results[0]
        same = [one for one in results[1:] if one.rows == first.rows and one.candidate.pipeline is not None]
        same = [one for one in same if self._can_join(first, one)]
        joining = [first, *same]
        others = sorted(same, key=lambda result: result.log_loss)
        of_each = {one.candidate.model: one for one in reversed(others)}
        chosen = each_once([first, *others[:MOST_AGAIN], *of_each.values()])
        sample, folds_more = self.sample, 1.25 * AGAIN_FOLDS / FOLDS
        seconds = folds_more * sum(self._evaluating(one.candidate, sample.rows) for one in chosen)
        if len(chosen) < 2 or not first.rows == sample.rows <= ENOUGH:
            return joining
        if not self._is_time(seconds / AGAIN, *candidates_of(chosen)):
            return joining
        more = () if self.has_text else range(2, MOST_DEALS + 1)
        deals = 1 + sum(self._is_time(times * seconds / AGAIN, *candidates_of(chosen)) for times in more)
        folds = [another_deal(sample, min(AGAIN_FOLDS, sample.rows), n) for n in range(deals)]
        again = [
            replace(self._evaluate(sample, one.candidate, *folds), seconds=one.seconds, status=one.status)
            for one in chosen
        ]
        return again if self.has_text else sorted(again, key=lambda one: one.rank)

    def _can_join(self, winner: Result, other: Result) -> bool:
        """Return whether a candidate can be added to the winner: linear, with the same rows and bins."""
        tuned = MODELS[winner.candidate.model].is_tuned and MODELS[other.candidate.model].is_tuned
        if not tuned or winner.rows != other.rows:
            return False
        assert winner.candidate.pipeline is not None
        assert other.candidate.pipeline is not None
        has_numbers = any(feature.role == "number" for feature in self.features)
        return not has_numbers or winner.candidate.pipeline.numbers == other.candidate.pipeline.numbers

    # -------------------------------------------------------------------------------------------- evaluating

    def _evaluate(self, part: Sample, candidate: Candidate, *deals: Folds) -> Result:
        resolved, seconds = None, sum(work.evaluating(self.size, candidate, part.rows, len(one.ends)) for one in deals)
        self.spent += seconds
        if candidate.pipeline is not None:
            scores = np.concatenate([self.held_out(part, candidate.pipeline, folds) for folds in deals])
        else:
            resolved = self.choose(part)
            scores = np.concatenate([self.naive_bayes_scores(part, resolved, folds) for folds in deals])
        classes = np.concatenate([self.classes_of(part, folds) for folds in deals])
        found = self.result_of(candidate, part.rows, seconds, scores, classes)
        self.evaluated.append(replace(found, resolved=resolved))
        return self.evaluated[-1]

    def held_out(self, part: Sample, pipeline: Pipeline, folds: Folds) -> Array:
        """Score rows under the model in a vector space that never saw them."""
        return spatial.held_out(part, self.features, pipeline, folds)

    def naive_bayes_scores(self, part: Sample, resolved: Resolved, folds: Folds) -> Array:
        """Do the same for naive Bayes."""
        scored = held_out(part, resolved.features, resolved.naive_bayes, resolved.text, folds, self.min_df)
        return scored.calibrated(cast("EvidenceScaling | None", resolved.calibration))

    def classes_of(self, part: Sample, folds: Folds) -> NDArray[Any]:
        """Return what held-out rows are."""
        return part.classes[folds.order]

    def result_of(
        self, candidate: Candidate, rows: int, seconds: float, scores: Array, classes: NDArray[Any]
    ) -> Result:
        """Return how a candidate did, by its scores of held-out rows."""
        return result_of(candidate, rows, seconds, scores, classes)

    def losses_of(self, scores: Array, classes: NDArray[Any]) -> Array:
        """Return the log loss of each row."""
        return losses_of(scores, classes)

    def shrunken(self, part: Sample, pipeline: Pipeline) -> Pipeline:
        """Choose how far a model that is a sum in a vector space is shrunken."""
        from discern.models.vector_space.additive import validated

        return validated(part, self.features, pipeline, choose_cost=True)[0]

    def _status(self, result: Result, leader: Result) -> Result:
        """Return whether a result is out, and why."""
        if result.status or result is leader:
            return result
        if result.rows < leader.rows:
            return replace(result, status="no time for more rows")
        behind = leader.right.astype(np.float64) - result.right
        error = float(behind.std()) / max(len(behind), 1) ** 0.5
        is_out = behind.mean() > max(CLEAR * error, MUCH)
        return replace(result, status="behind" if is_out else "")


def _in_order(results: list[Result]) -> list[Result]:
    """Return the first result of each candidate."""
    found: dict[Candidate, Result] = {}
    for one in results:
        found.setdefault(one.candidate, one)
    return list(found.values())
