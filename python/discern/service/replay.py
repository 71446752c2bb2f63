"""Replay: the model after entries of the log, and the entries that it could not apply.

The result does not depend on how entries are grouped, so every worker and every restart arrives at the same model. An
entry that the model cannot apply, for example after the model file was replaced, stays in the log with the reason.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from discern.classifier import Classifier
from discern.data.batch import Batch
from discern.data.label_sets.sets import set_text
from discern.service.log import Change, Entry, Row

REFUSALS = (ValueError, ArithmeticError, LookupError, TypeError)
"""Errors of a model that cannot apply a change."""


def batch_of(classifier: Classifier, rows: Sequence[Row], label: bool = False) -> Batch:
    """Return rows as the columns of a model; values that a row lacks are missing."""
    names = [feature.name for feature in classifier.features] + ([classifier.label] if label else [])
    return Batch({name: [row.get(name) for row in rows] for name in names}, len(rows))


def try_to_sum(classifier: Classifier, rows: Sequence[Row]) -> None:
    """Raise DataError for rows that cannot be counted."""
    classifier.fitted.summed([batch_of(classifier, rows, label=True)], 1)


def replayed(
    classifier: Classifier, unapplied: Mapping[int, str], entries: Sequence[Entry]
) -> tuple[Classifier, dict[int, str]]:
    """Return the model after entries, and the reasons of the entries that were not applied."""
    try:
        return _together(classifier, unapplied, entries)
    except REFUSALS:  # at least one of them cannot be applied
        return _one_by_one(classifier, unapplied, entries)


def _one_by_one(
    classifier: Classifier, unapplied: Mapping[int, str], entries: Sequence[Entry]
) -> tuple[Classifier, dict[int, str]]:
    left = dict(unapplied)
    for entry in entries:
        reason = objection(entry.change, classifier, left)
        if reason is None:
            try:
                classifier = _changed(classifier, entry.change.forget, entry.change.learn)
            except REFUSALS as error:
                reason = str(error)
        _note(left, entry, reason)
    return classifier, left


def _together(
    classifier: Classifier, unapplied: Mapping[int, str], entries: Sequence[Entry]
) -> tuple[Classifier, dict[int, str]]:
    """Apply entries in one step; raises if applying them one by one might give another model.

    If the model can forget all these rows before it learns any, it could do so after every entry. Labels must not
    vanish meanwhile: the settings for a label, such as its cost, go with it.
    """
    left, fitting = dict(unapplied), []
    for entry in entries:
        reason = objection(entry.change, classifier, left)
        fitting += [entry.change] if reason is None else []
        _note(left, entry, reason)
    labels = {*classifier.statistics.labels}
    forget, learn = _net(fitting, labels)
    rest = _changed(classifier, forget, ())
    if {*rest.statistics.labels} != labels:
        raise ValueError("a label vanishes")
    return _changed(rest, (), learn), left


def _note(unapplied: dict[int, str], entry: Entry, reason: str | None) -> None:
    if reason is not None:
        unapplied[entry.sequence] = reason
    elif entry.change.undoes is not None:
        unapplied.pop(entry.change.undoes, None)


def objection(change: Change, classifier: Classifier, unapplied: Mapping[int, str]) -> str | None:
    """Return why a change is not for this model; None if it can be tried."""
    if not change.rows:
        return None
    if change.undoes in unapplied:
        return f"it undoes entry {change.undoes}, which is not applied"
    if change.label != classifier.label:
        return f"its labels are in the column {change.label!r}, those of the model in {classifier.label!r}"
    roles = {feature.name: feature.role for feature in classifier.features}
    for name in sorted({name for row in (*change.learn, *change.forget) for name in row} - {change.label}):
        if name not in roles:
            return f"the model has no column {name!r}"
        written = change.roles.get(name, roles[name])
        if any((written == role) != (roles[name] == role) for role in ("number", "vector")):
            return f"the column {name!r} was a {written} column when the entry was written, and is a {roles[name]} now"
    return None


def _net(changes: Sequence[Change], labels: set[str]) -> tuple[list[Row], list[Row]]:
    """Return the rows to forget and to learn, without those that are learned and later forgotten again.

    Rows of other labels than ``labels`` are not paired: their label would vanish.
    """
    if not any(change.forget for change in changes):
        return [], [row for change in changes for row in change.learn]
    learned: dict[str, list[Row]] = {}
    forget: list[Row] = []
    for change in changes:
        for row in change.forget:
            same = learned.get(json.dumps(row, sort_keys=True))
            if same and label_of(row, change) in labels:
                same.pop()
            else:
                forget.append(row)
        for row in change.learn:
            learned.setdefault(json.dumps(row, sort_keys=True), []).append(row)
    return forget, [row for rows in learned.values() for row in rows]


def label_of(row: Row, change: Change) -> Any:
    """Return the label of a row as the statistics know it: the text of a set, if it has several."""
    label = row.get(change.label)
    return set_text(label) if isinstance(label, list) else label


def _changed(classifier: Classifier, forget: Sequence[Row], learn: Sequence[Row]) -> Classifier:
    """Return a model that shares everything with another and has forgotten and learned rows."""
    if not forget and not learn:
        return classifier
    old, new = (batch_of(classifier, rows, label=True) for rows in (forget, learn))
    return classifier.changed(old, new)
