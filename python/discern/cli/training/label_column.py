"""The label column on the command line: guessed if it was not given, and doubted if it looks wrong."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import typer

from discern.cli.output import warn
from discern.data.batch import Batch
from discern.data.label_sets.reading import LabelSets, holds_sets
from discern.data.readers import Sources, batches, can_be_read_again
from discern.data.roles import MISSING, leading_rows, values_as_levels
from discern.models.columns.labels import doubts_about_labels, doubts_about_values, guess_label

if TYPE_CHECKING:
    from discern.classifier import Classifier
    from discern.cli.options import Output
    from discern.data.source import Reading


MOST_COLUMNS = 5
"""The columns with missing values that are listed."""


def label_and_data(
    given: str | None, sources: Sequence[str], how: Reading, out: Output, sets: LabelSets | None = None
) -> tuple[str, Any]:
    """Return the name of the label column, and the data; the first rows are read to guess the name.

    Files are read again from the start. Of a stream, the rows read are kept and come first.
    """
    data = Sources(tuple(sources))
    again = can_be_read_again(data)
    first, stream = leading_rows(batches(data, _quietly(how) if again else how))
    if first is None:
        return given or "label", data
    if sets is not None and sets.columns:  # the labels are the names of columns
        return given or "label", data if again else stream
    name = given or _guessed(first, out)
    separated = holds_sets(first.columns.get(name, [])) or bool(sets and sets.separator)
    if name in first.columns and not separated:
        labels = [value for value in values_as_levels(first, name) if value]
        for doubt in doubts_about_values(name, labels):
            warn(doubt, out.quiet)
    if name in first.columns:
        _report_missing(first, name, out)
    return name, data if again else stream


def _quietly(how: Reading) -> Reading:
    """Return the same way to read, without progress and with counts of its own."""
    return replace(how, progress=lambda _: None, faults={}, guessed={}, first_fault="", bytes_read=0)


def _guessed(first: Batch, out: Output) -> str:
    guess = guess_label(first)
    if guess.name is None:
        likely = f" Columns with few, repeated values: {guess.listed}." if guess.candidates else ""
        names = ", ".join(map(repr, list(first.columns)[:12])) + (", …" if len(first.columns) > 12 else "")
        raise typer.BadParameter(
            f"{first.source} has no column 'label', and no other is obvious. Pass the column that holds the labels "
            f"with --label COLUMN.{likely or f' Columns: {names}.'}"
        )
    if guess.name != "label":
        out.say(f"label column: {guess.name!r} ({guess.reason}; --label chooses another)")
    return guess.name


def _report_missing(first: Batch, label: str, out: Output) -> None:
    """Tell which written values count as missing, from the first rows."""
    from discern.data.roles import infer

    features, _ = infer(first, label)
    found: list[str] = []
    for feature in features:
        if feature.role in ("number", "category", "flag"):
            values = [value for value in values_as_levels(first, feature.name) if value and value in MISSING]
            if values:
                found.append(f"{feature.name!r} ({', '.join(map(repr, sorted(set(values))))} in {len(values):,} rows)")
    if found:
        more = ", …" if len(found) > MOST_COLUMNS else ""
        out.say(f"missing values among the first {first.rows:,} rows: {', '.join(found[:MOST_COLUMNS])}{more}")


def doubt_labels(classifier: Classifier, out: Output) -> list[str]:
    """Warn about what looks wrong in the labels that were learned, and return it."""
    rows = classifier.info()["rows_per_label"] or {}
    doubts = doubts_about_labels(classifier.label, rows) if rows else []
    for doubt in itertools.islice(doubts, 5):
        warn(doubt, out.quiet)
    return doubts
