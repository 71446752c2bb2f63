"""Which model is best for some rows, found within a time: all are judged on few rows, the better ones on more.

Every round judges the models that are left by cross-validation on a random part of the rows, three times as many as in
the round before, up to all of them. Rows are taken in the order of their keys, so that nothing depends on the order of
the data but how far the time reaches. How closely each model follows its rows (its cost) is chosen while there are few.
A model that is clearly behind drops out; one that would not be ready in time is not tried on more rows. In the time
that is left, the terms of the winner are changed one thing at a time, and what makes it better is kept. At last models
that were judged on the same rows are added to the winner as long as their sum is better (R. Caruana and others,
"Ensemble selection from libraries of models", ICML 2004). Linear models are added, so the sum is one linear model.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

import discern.models.space_model as spatial
from discern.data.roles import Feature
from discern.data.text import CHARACTERS, TextSettings
from discern.evaluation.calibration import Temperature
from discern.learners.bayes import posterior
from discern.models.choice import Choice
from discern.models.rows import Folds, Sample, stratified
from discern.models.space import Plan
from discern.models.space_model import Recipe
from discern.models.validation import held_out

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

PROBED, FIRST, GROWTH = 500, 2000, 3
"""The rows of a round that only shows how long it takes, of the first round, and how many times more the next has."""
FOLDS, ENOUGH = 4, 8000
"""The rows are dealt into so many folds; of many rows only the first folds are judged by, until they hold enough."""
GROWTH_POWER = 1.15
"""Time grows with the rows to this power: a little more than in proportion, as the vocabulary grows too."""
CLEAR, MUCH = 3.0, 0.02
"""A model drops out that is behind the leader by so many standard errors of the difference, and by so large a share of
the rows: with more rows the order may change."""
BETTER = 0.5
"""A change is kept that makes the winner better by so many standard errors of the difference."""
SUM_BETTER = 0.1
"""A model is added that makes the sum better by so many: sums of models err less than those they are made of, so that
less must speak for them than for a change."""
COUNTING = 0.15
"""Counting takes about this share of the time of judging; the rest is learning, of three rows in four for each fold."""
STEP, CHEAP = 0.4, 0.01
"""The cost of an error changes by this factor or its inverse: in every round where judging takes at most this share of
the whole time, and at last of the winner."""
TUNED = ("linear-svm", "nbsvm", "ridge", "logistic", "unit-bayes")
"""The models that have such a cost: linear ones, so they can be added."""
AGAIN, AGAIN_FOLDS, MOST_AGAIN = 0.3, 10, 6
"""Of up to ``ENOUGH`` rows the winner won by luck too. If it takes at most this share of the time left, it and so many
others, and the best of each model, are judged again on other folds before they are added."""
ANOTHER_DEAL = np.uint64(0xD1342543DE82EF95)
"""An odd number that keys are multiplied with: equal ones stay equal, the order is another."""
MOST_ADDED = 5
"""So many models are added to the winner, some perhaps twice."""
SPARE = 0.85
"""The share of the time left that is planned with."""
NEVER = -1e100
"""The score of a label that has none."""
Watch = Callable[[list[dict[str, Any]]], None]


@dataclass(frozen=True)
class Candidate:
    """A model that takes part: its name, its terms in words, and its recipe; naive Bayes has none."""

    model: str
    terms: str
    recipe: Recipe | None = None

    def with_cost(self, factor: float) -> Candidate | None:
        """Return the entry with another cost of an error; None if it has none."""
        if self.recipe is None or self.model not in TUNED:
            return None
        regularization = replace(
            self.recipe.regularization, cost=float(f"{factor * self.recipe.regularization.cost:.2g}")
        )
        return replace(self, recipe=replace(self.recipe, regularization=regularization))


@dataclass(frozen=True)
class Change:
    """A change of the terms: its name, what it may take (times what the entry took), and the plan it gives."""

    name: str
    slower: float
    plan: Callable[[Plan], Plan]

    def of(self, entry: Candidate) -> Candidate | None:
        """Return the changed entry; None if there is nothing to change."""
        if entry.recipe is None:
            return None
        plan = self.plan(entry.recipe.plan)
        if plan == entry.recipe.plan:
            return None
        return Candidate(entry.model, f"{entry.terms}, {self.name}", replace(entry.recipe, plan=plan))


def with_characters(plan: Plan) -> Plan:
    """Count character n-grams within words too."""
    first = plan.text[0]
    if len(plan.text) > 1 or first.analyzer != "word":
        return plan
    return replace(plan, text=(first, TextSettings("char_wb", lowercase=first.lowercase, ngrams=CHARACTERS)))


def with_case(plan: Plan) -> Plan:
    """Tell upper from lower case."""
    return replace(plan, text=tuple(replace(text, lowercase=False) for text in plan.text))


def with_punctuation(plan: Plan) -> Plan:
    """Count punctuation marks as words, and words of a single letter too."""
    first = plan.text[0]
    if first.analyzer != "word" or first.words != "words":
        return plan
    return replace(plan, text=(replace(first, analyzer="pattern", pattern=PUNCTUATION), *plan.text[1:]))


def across_words(plan: Plan) -> Plan:
    """Count character n-grams across words, not only within."""
    return _with_characters(plan, analyzer="char")


def with_short(plan: Plan) -> Plan:
    """Count shorter character n-grams, single characters too: these are words in some scripts."""
    return _with_characters(plan, ngrams=SHORT_CHARACTERS)


def _with_characters(plan: Plan, **settings: Any) -> Plan:
    if len(plan.text) < 2 or plan.text[1].analyzer != "char_wb":
        return plan
    return replace(plan, text=(plan.text[0], replace(plan.text[1], **settings)))


def with_triples(plan: Plan) -> Plan:
    """Count three words in a row too."""
    first = plan.text[0]
    if first.analyzer not in ("word", "pattern") or first.ngrams != (1, 2):
        return plan
    return replace(plan, text=(replace(first, ngrams=(1, 3)), *plan.text[1:]))


def with_letters(plan: Plan) -> Plan:
    """Count words of a single letter too."""
    first = plan.text[0]
    return replace(plan, text=(replace(first, shortest=1), *plan.text[1:])) if first.analyzer == "word" else plan


def with_rare(plan: Plan) -> Plan:
    """Count terms of a single row too."""
    return replace(plan, min_df=1)


CHANGES = (
    Change("characters", 10.0, with_characters),
    Change("punctuation", 1.5, with_punctuation),
    Change("triples", 3.0, with_triples),
    Change("short characters", 1.0, with_short),
    Change("across words", 1.5, across_words),
    Change("single letters", 1.5, with_letters),
    Change("case kept", 1.5, with_case),
    Change("rare terms", 2.0, with_rare),
)
PUNCTUATION = r"\w+|[^\w\s]"
"""Words, and punctuation marks one by one."""
SHORT_CHARACTERS = (1, 4)


@dataclass(frozen=True, eq=False)
class Result:
    """How an entry did in the last round that it took part in; ``scores`` of rows left out, divided by temperature."""

    entry: Candidate
    rows: int
    seconds: float
    scores: Array
    classes: NDArray[np.int32]
    losses: Array
    right: NDArray[np.bool_]
    calibration: Temperature
    choice: Choice | None = None
    status: str = ""

    @property
    def accuracy(self) -> float:
        """The share of rows left out that were called right."""
        return float(self.right.mean())

    @property
    def log_loss(self) -> float:
        """The mean logarithm of what was said for the true label, with its sign changed."""
        return float(self.losses.mean())

    @property
    def rank(self) -> tuple[int, float, float]:
        """What results are sorted by: more rows, then more of them right, then a lower log loss."""
        return -self.rows, -self.accuracy, self.log_loss

    def expected(self, rows: int) -> float:
        """Return the seconds that a round with so many rows would take."""
        parts = folds_judged(rows) / folds_judged(self.rows)
        return float(self.seconds * parts * (rows / self.rows) ** GROWTH_POWER)

    def learning(self, rows: int) -> float:
        """Return the seconds that learning so many rows would take at most."""
        of_a_fold = (1 - COUNTING) / folds_judged(self.rows) * FOLDS / (FOLDS - 1)
        same = self.seconds * (COUNTING + 1.25 * of_a_fold)
        return float(same * (rows / self.rows) ** GROWTH_POWER)

    def beats(self, other: Result) -> bool:
        """Return whether it is better on the same rows: more of them right, or as many and more sure of them."""
        gain, sure = self.right.astype(np.float64) - other.right, other.losses - self.losses
        return _is_above(gain) or (float(gain.mean()) >= 0 and _is_above(sure))

    def to_json(self) -> dict[str, Any]:
        """Return the result in plain values."""
        return {
            "model": self.entry.model,
            "terms": self.entry.terms,
            "rows": self.rows,
            "cost": None if self.entry.recipe is None else self.entry.recipe.regularization.cost,
            "accuracy": self.accuracy,
            "log_loss": self.log_loss,
            "seconds": round(self.seconds, 3),
            "status": self.status,
        }


def _is_above(differences: Array, errors: float = BETTER) -> bool:
    """Return whether the mean of differences is above zero by so many standard errors that it may be no chance."""
    return bool(differences.mean() > errors * differences.std() / len(differences) ** 0.5)


def folds_judged(rows: int) -> int:
    """Return how many of the folds are judged by.

    Examples
    --------
    >>> [folds_judged(rows) for rows in (100, 8000, 12_000, 20_000, 10**6)]
    [4, 4, 3, 2, 1]
    """
    return min(FOLDS, -(-FOLDS * ENOUGH // max(rows, 1)))


def folds_of(part: Sample) -> Folds:
    """Deal rows into folds, and give those to judge by."""
    dealt = stratified(part.classes, part.keys, min(FOLDS, part.rows))
    ends = dealt.ends[: folds_judged(part.rows)]
    return Folds(dealt.order[: ends[-1]], ends)


def another_deal(sample: Sample, folds: int) -> Folds:
    """Deal rows into other folds, each row alone.

    Rows to come repeat those learned about as often as these repeat each other. Where equal rows stay together, as in
    the folds of the rounds, none is ever known, and an error on one that is there five times counts five times.
    """
    places = np.empty(sample.rows, np.uint64)
    places[np.argsort(sample.keys * ANOTHER_DEAL, kind="stable")] = np.arange(sample.rows, dtype=np.uint64)
    return stratified(sample.classes, places, folds)


@dataclass
class Search:
    """A contest of entries on rows; ``choose`` gives what naive Bayes would learn them with."""

    sample: Sample
    features: Sequence[Feature]
    entries: Sequence[Candidate]
    choose: Callable[[Sample], Choice]
    deadline: float
    min_df: int = 1
    changes: Sequence[Change] = ()
    watch: Watch | None = None
    cheap: float = 0.0

    def run(self) -> list[Result]:
        """Hold all rounds that there is time for; gives the results, the winner first."""
        results: list[Result] = []
        left, self.cheap = list(self.entries), CHEAP * (self.deadline - time.monotonic())
        sizes = [rows for rows in (PROBED, FIRST) if rows < self.sample.rows]
        while GROWTH * sizes[-1] < self.sample.rows if sizes else False:
            sizes.append(GROWTH * sizes[-1])
        for rows in [*sizes, self.sample.rows]:
            known = {result.entry: result for result in results}
            judged = self._round(rows, left, known)
            results = sorted({**known, **judged}.values(), key=lambda result: result.rank)
            if not judged:
                break
            if rows != PROBED or rows == self.sample.rows:
                results = [self._status(result, results[0]) for result in results]
            left = [one.entry for one in results if one.rows == rows and not one.status]
            if len(left) < 2:
                break
        results = self._combined(self._refined(results))
        return [replace(one, status="won" if place == 0 else one.status) for place, one in enumerate(results)]

    def _round(
        self, rows: int, entries: Sequence[Candidate], known: dict[Candidate, Result]
    ) -> dict[Candidate, Result]:
        """Judge entries, the best first, those that there is time for; ``known`` loses those whose cost is changed."""
        part, found = self.sample.part(rows), dict[Candidate, Result]()
        folds = folds_of(part)
        for entry in entries:
            before = known.get(entry)
            if before is None:
                expected = max([one.seconds for one in found.values()], default=0.0)
                is_time = (not found and not known) or self._is_time(expected, expected)
            else:
                is_time = self._is_time(before.expected(rows), before.learning(self.sample.rows))
            if is_time:
                judged = self._judge(part, entry, folds)
                if rows > PROBED and judged.seconds < self.cheap:
                    judged = self._tuned(part, folds, judged)
                known.pop(entry, None)
                found[judged.entry] = judged
                self._show([*{**known, **found}.values()])
        return found

    def _is_time(self, judging: float, learning: float) -> bool:
        """Return whether an entry can be judged, and then learned from all rows."""
        return judging + learning < SPARE * (self.deadline - time.monotonic())

    def _show(self, results: list[Result]) -> None:
        if self.watch is not None:
            self.watch([one.to_json() for one in sorted(results, key=lambda result: result.rank)])

    def _tuned(self, part: Sample, folds: Folds, start: Result) -> Result:
        """Change the cost of an error, down or up, as long as that makes the entry better."""
        best = start
        for factor in (STEP, 1 / STEP):
            entry = best.entry.with_cost(factor)
            while entry is not None and self._is_time(2 * best.seconds, 2 * best.learning(self.sample.rows)):
                tried = self._judge(part, entry, folds)
                if not tried.beats(best):
                    break
                best, entry = tried, entry.with_cost(factor)
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
            winner = self._judge(part, winner.entry, folds)
            results = [winner, *results[1:]]
        results, winner = self._with_tuned(part, folds, results, winner)
        changed = winner
        for change in self.changes:
            entry = change.of(winner.entry)
            # Twice, because others may be added.
            learning = 2 * change.slower * winner.learning(self.sample.rows)
            if entry is None or not self._is_time(change.slower * winner.seconds, learning):
                continue
            tried = self._judge(part, entry, folds)
            part.keep_only(entry.recipe.plan.text if entry.recipe is not None else ())
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
        """Return on how many rows there is time to judge the winner again and with each change."""
        work = 1.0 + sum(change.slower for change in self.changes if change.of(winner.entry) is not None)
        rows = self.sample.rows
        while rows > winner.rows:
            slowest = max([1.0, *(change.slower for change in self.changes)])
            if self._is_time(work * winner.expected(rows), slowest * winner.learning(self.sample.rows)):
                return rows
            rows //= GROWTH
        return winner.rows

    # ------------------------------------------------------------------------------------------ several models

    def _combined(self, results: list[Result]) -> list[Result]:
        """Add models to the winner, each time the one that makes the log loss least, as long as the sum is better.

        Of the sums on that way, the one that is right most often is kept; of equals the last, which is most sure.
        """
        left = self._judged_again([one for one in results if self._can_join(results[0], one)])
        winner = left[0] if left else results[0]
        chosen, losses, best = [winner], winner.losses, winner
        while left and len(chosen) <= MOST_ADDED:
            tried = [losses_of(sum_of([*chosen, one]) / (len(chosen) + 1), winner.classes) for one in left]
            place = int(np.argmin([one.mean() for one in tried]))
            is_better = _is_above(losses - tried[place], SUM_BETTER)
            if not is_better or not self._is_time(0.0, self._learning([*chosen, left[place]])):
                break
            losses = tried[place]
            chosen.append(left[place])
            entry, scores = combination(chosen)
            seconds = sum(one.seconds for one in _each_once(chosen))
            found = result_of(entry, winner.rows, seconds, scores, winner.classes)
            best = found if found.accuracy >= best.accuracy else best
        return [*([best] if best is not winner else []), winner, *results[1:]]

    def _judged_again(self, joining: list[Result]) -> list[Result]:
        """Judge the winner, which is the first, and the best of the others on another deal of folds, if there is time.

        Without time for it, all are given as they are.
        """
        others = sorted(joining[1:], key=lambda result: result.log_loss)
        of_each = {one.entry.model: one for one in reversed(others)}
        chosen = _each_once([*joining[:1], *others[:MOST_AGAIN], *of_each.values()])
        judging = 1.25 * AGAIN_FOLDS / FOLDS * sum(one.seconds for one in chosen)
        left = self.deadline - time.monotonic() - self._learning(chosen)
        sample = self.sample
        if len(chosen) < 2 or not chosen[0].rows == sample.rows <= ENOUGH or judging > AGAIN * left:
            return joining
        folds = another_deal(sample, min(AGAIN_FOLDS, sample.rows))
        again = [(one, self._judge(sample, one.entry, folds)) for one in chosen]
        return [replace(new, seconds=old.seconds, status=old.status) for old, new in again]

    def _can_join(self, winner: Result, other: Result) -> bool:
        """Return whether an entry can be added to the winner: both linear, evaluated on the same rows, same bins."""
        if winner.entry.model not in TUNED or other.entry.model not in TUNED or winner.rows != other.rows:
            return False
        assert winner.entry.recipe is not None
        assert other.entry.recipe is not None
        has_numbers = any(feature.role == "number" for feature in self.features)
        return not has_numbers or winner.entry.recipe.numbers == other.entry.recipe.numbers

    def _learning(self, results: list[Result]) -> float:
        return sum(one.learning(self.sample.rows) for one in _each_once(results))

    # ---------------------------------------------------------------------------------------------- judging

    def _judge(self, part: Sample, entry: Candidate, folds: Folds) -> Result:
        start, choice, lengths = time.monotonic(), None, None
        if entry.recipe is not None:
            scores = spatial.held_out(part, self.features, entry.recipe, folds)
        else:
            choice = self.choose(part)
            said = held_out(part, choice.features, choice.settings, choice.text, folds, self.min_df)
            scores, lengths = said.scores, said.known if np.ptp(said.known) else None
        found = result_of(entry, part.rows, 0.0, scores, part.classes[folds.order], lengths)
        return replace(found, seconds=max(time.monotonic() - start, 1e-6), choice=choice)

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


def result_of(
    entry: Candidate,
    rows: int,
    seconds: float,
    scores: Array,
    classes: NDArray[np.int32],
    lengths: NDArray[np.int64] | None = None,
) -> Result:
    """Return how an entry did, by its scores of rows left out."""
    calibration = Temperature.fit(scores, classes, lengths)
    divided = scores / (calibration.temperature if lengths is None else calibration.divisors(lengths)[:, None])
    right = scores.argmax(axis=1) == classes
    return Result(entry, rows, seconds, divided, classes, losses_of(divided, classes), right, calibration)


def losses_of(scores: Array, classes: NDArray[np.int32]) -> Array:
    """Return the log loss of each row, by scores that are log probabilities but for a constant of each row."""
    shares = posterior(np.where(np.isneginf(scores), NEVER, scores))
    return np.asarray(-np.log(np.maximum(shares[np.arange(len(classes)), classes], 1e-12)))


def sum_of(results: Sequence[Result]) -> Array:
    """Return the sum of the scores of rows left out, each divided by its temperature."""
    return np.asarray(np.sum([one.scores for one in results], axis=0))


def combination(chosen: Sequence[Result]) -> tuple[Candidate, Array]:
    """Return the first of some results with the others added, some perhaps twice, and the scores of rows left out.

    Scores are divided by their temperatures and added; in the recipe, all are in units of the first.
    """
    first, unit = chosen[0], chosen[0].calibration.temperature / chosen.count(chosen[0])
    assert first.entry.recipe is not None
    others, terms = [], [first.entry.terms]
    for one in _each_once(chosen)[1:]:
        assert one.entry.recipe is not None
        others.append((unit * chosen.count(one) / one.calibration.temperature, one.entry.recipe))
        terms.append(f"and {one.entry.model}: {one.entry.terms}")
    recipe = replace(first.entry.recipe, others=tuple(others))
    return Candidate(first.entry.model, "; ".join(terms), recipe), unit * sum_of(chosen)


def _each_once(results: Sequence[Result]) -> list[Result]:
    return list({id(one): one for one in results}.values())


def limitation(results: Sequence[Result]) -> str:
    """Describe what a winner that is no sum gives up, and what it gains."""
    winner = results[0]
    if winner.entry.recipe is None:
        return ""
    gain = ""
    for other in results[1:]:
        if other.entry.recipe is None and other.rows >= min(FIRST, winner.rows):
            gain = f"; naive Bayes, which can, is right on {_figures(other)}, the winner on {_figures(winner)}"
    return f"{winner.entry.model} cannot learn more rows, forget or merge{gain}"


def _figures(result: Result) -> str:
    return f"{result.accuracy:.1%} of {result.rows:,} rows left out"
