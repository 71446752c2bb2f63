"""The rows of the report: mistakes and probable label errors."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np

from discern.analysis.highlight import AGAINST, FOR, evidence_html
from discern.analysis.report.subject import FOLDS, Subject
from discern.analysis.report.tables import percent, shortened
from discern.data.text import TextSettings
from discern.evaluation.decisions import best_labels

SHOWN = 10
"""Mistakes and probable label errors shown."""
LONGEST = 600
"""Characters of a text shown."""
SURE = 0.9
"""A label is probably wrong where a model that has not learned the row predicts another with this probability."""


def mistakes_section(subject: Subject) -> str:
    """Return the most confident mistakes, with the words that drove them."""
    wrong = np.flatnonzero(subject.true != subject.predicted)
    if not len(wrong):
        return "<p>None: every row is predicted correctly.</p>"
    confidence = best_labels(subject.rows.probabilities)[1]
    order = wrong[np.argsort(-confidence[wrong], kind="stable")][:SHOWN]
    parts = [
        _explained(
            subject,
            int(row),
            f"predicted {subject.predicted[row]} ({percent(confidence[row])}), labeled {subject.true[row]}",
        )
        for row in order
    ]
    count = f"<p>{len(wrong):,} rows are predicted wrongly; these are the {len(order)} most confident mistakes.</p>"
    return count + _KEY + "".join(parts)


_KEY = (
    f'<p class="soft key">Words: <mark style="background:rgba({FOR},.6)">for</mark> the predicted label, '
    f'<mark style="background:rgba({AGAINST},.6);border-bottom:2px dotted">against</mark> it; darker is stronger.</p>'
)


def _explained(subject: Subject, number: int, verdict: str) -> str:
    row = subject.row(number)
    evidence = subject.model.explain(row)
    text = _longest(row)
    shown = evidence_html(text[:LONGEST], evidence, _settings(subject.model)) + ("…" if len(text) > LONGEST else "")
    others = [
        term for term in evidence.terms if getattr(term, "column", "text") not in ("text", _text_column(subject.model))
    ]
    values = ", ".join(f"{term.column} = {term.term} ({term.weight:+.1f})" for term in others[:6])
    more = f'<p class="soft">{escape(values)}</p>' if values else ""
    return f"<article><b>row {number + 1:,}</b> {escape(verdict)}<p>{shown}</p>{more}</article>"


def _settings(model: Any) -> TextSettings | None:
    settings = getattr(model, "settings", None)
    return settings if isinstance(settings, TextSettings) else None


def _text_column(model: Any) -> str:
    return str(getattr(model, "text", None) or "text")


def _longest(row: Mapping[str, Any]) -> str:
    """Return the text of a row: its longest value."""
    return max((str(value) for value in row.values() if value is not None), key=len, default="")


def label_errors_section(subject: Subject) -> str:
    """Return the rows whose labels a model without them contradicts most."""
    shares, learned = subject.held_out
    places, confidence = best_labels(shares)
    suggested = np.array(subject.labels, np.str_)[places]
    doubtful = np.flatnonzero((suggested != subject.true) & (confidence >= SURE))
    order = doubtful[np.argsort(-confidence[doubtful], kind="stable")][:SHOWN]
    how = (
        f"Each row is predicted by a model that has forgotten it ({FOLDS} folds)."
        if learned
        else "The model has not learned these rows, so its own predictions are used."
    )
    intro = f"<p>{how} {len(doubtful):,} labels disagree with a prediction of at least {SURE:.0%}.</p>"
    if not len(order):
        return intro
    parts = [
        f"<article><b>row {row + 1:,}</b> labeled {escape(subject.true[row])}, probably {escape(suggested[row])} "
        f"({percent(confidence[row])})<p>{escape(shortened(_longest(subject.row(int(row))), LONGEST))}</p></article>"
        for row in order
    ]
    return intro + "".join(parts)
