"""The machines can fail: faults that were once in the library are put back, and a walk finds each."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from discern.classifier import Classifier
from discern.evaluation.decisions import Decision
from discern.learners.bayes import NaiveBayesSettings
from discern.models import file as files
from discern.models import fitted
from discern.models.fitted import Fitted
from discern.statistics.counts import Counts
from discern.statistics.ledger import Ledger
from discern.statistics.sums import Sums
from tests.machines import commands, library

MOST_STEPS = 2_000
Patch = pytest.MonkeyPatch


def decisions_ignore_labels(patch: Patch) -> None:
    table = Decision._cost_table

    def refusing(self: Decision, names: list[Any]) -> Any:
        if {*names} != {*self.labels}:
            raise ValueError("the costs are for other labels")
        return table(self, names)

    patch.setattr(Decision, "for_labels", lambda self, labels, gone=(): self)
    patch.setattr(Decision, "_cost_table", refusing)


def rare_terms_are_not_saved(patch: Patch) -> None:
    content = Fitted.content

    def without_rare(self: Fitted, slim: bool = False) -> Any:
        if self.sums is None or slim:
            return content(self, slim)
        columns = tuple(
            column.with_terms(column.term_documents >= self.resolved.min_df)
            if isinstance(column, Counts) and feature.role == "text"
            else column
            for column, feature in zip(self.sums.columns, self.resolved.features, strict=True)
        )
        return content(replace(self, sums=Sums(self.sums.labels, self.sums.class_rows, columns)), slim)

    patch.setattr(Fitted, "content", without_rare)


def priors_refuse_new_labels(patch: Patch) -> None:
    solve = fitted.solve_columns

    def refusing(sums: Sums, features: Any, settings: NaiveBayesSettings, *others: Any) -> Any:
        priors = settings.priors
        if not isinstance(priors, str) and {*sums.labels} - {*dict(priors)}:
            raise ValueError("there is a label without a prior")
        return solve(sums, features, settings, *others)

    patch.setattr(fitted, "solve_columns", refusing)


def files_are_not_read_back(patch: Patch) -> None:
    decisions_ignore_labels(patch)
    patch.setattr(files, "_read_back", lambda temporary, target, check: None)


def learning_takes_no_turns(patch: Patch) -> None:
    patch.setattr(Classifier, "learn", Classifier.learn.__wrapped__)  # type: ignore[attr-defined]


def ledgers_allow_everything(patch: Patch) -> None:
    def lenient(self: Ledger, other: Ledger) -> Ledger:
        left = self._combined(other, -1)
        kept = left.counts > 0
        return Ledger(self.salt, left.digests[kept], left.counts[kept])

    patch.setattr(Ledger, "__sub__", lenient)


def merging_keeps_the_left_settings(patch: Patch) -> None:
    patch.setattr("discern.classifier._precedence", lambda described: 0)  # max returns the first of equal ones


def links_are_replaced(patch: Patch) -> None:
    patch.setattr(files, "place_of", lambda path: Path(path).absolute())


FAULTS: list[Callable[[Patch], None]] = [
    decisions_ignore_labels,
    rare_terms_are_not_saved,
    priors_refuse_new_labels,
    files_are_not_read_back,
    learning_takes_no_turns,
    ledgers_allow_everything,
    merging_keeps_the_left_settings,
]
IN_FILES = [
    decisions_ignore_labels,
    rare_terms_are_not_saved,
    files_are_not_read_back,
    links_are_replaced,
]
"""Faults that the command line has, too, where every command saves and loads."""


def found(fault: Callable[[Patch], None], walk: Callable[[int], Any], length: int) -> None:
    """Require that one of some walks fails."""
    for seed in range(MOST_STEPS // length):
        failure = walk(seed)
        if failure is not None:
            print(f"{fault.__name__}: found within {(seed + 1) * length} steps\n{failure}")
            return
    raise AssertionError(f"{MOST_STEPS} steps did not find it")


@pytest.mark.soak
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_the_library_machine_finds(fault: Callable[[Patch], None], monkeypatch: Patch) -> None:
    fault(monkeypatch)
    found(fault, library.Machine.walk, library.Machine.length)


@pytest.mark.soak
@pytest.mark.parametrize("fault", IN_FILES, ids=lambda fault: fault.__name__)
def test_the_machine_of_commands_finds(fault: Callable[[Patch], None], monkeypatch: Patch) -> None:
    fault(monkeypatch)
    found(fault, commands.Machine.walk, commands.Machine.length)
