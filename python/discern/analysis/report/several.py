"""The sections of the report that differ where a row may have several labels: metrics, labels, mistakes."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from discern.analysis.highlight import evidence_html
from discern.analysis.report.sections import KEY, LONGEST, SHOWN, cards, longest_value, percent, table
from discern.analysis.report.subject import Subject
from discern.evaluation.several.evaluation import FIGURES
from discern.evaluation.several.sums import cell_rows, own_probabilities

MOST_LISTED = 100
"""The most labels in the table of labels; those that most rows have."""


def verdict(subject: Subject) -> str:
    """Return in a sentence how good the model is on these rows."""
    evaluation = subject.evaluation
    reach = evaluation.intervals()["f1"]
    return (
        f'<p class="verdict">The model finds <b>{evaluation.recall():.1%}</b> of the labels of the {evaluation.rows:,} '
        f"rows, and <b>{evaluation.precision():.1%}</b> of the labels that it predicts are correct: micro F1 "
        f"{evaluation.f1():.1%} (95% interval {reach.low:.1%} to {reach.high:.1%}). For "
        f"<b>{evaluation.exact_match:.1%}</b> of the rows it predicts exactly the true labels.</p>"
    )


def metrics(subject: Subject) -> str:
    """Return the metrics with their intervals, as cards."""
    evaluation, intervals = subject.evaluation, subject.evaluation.intervals()
    shares = {"micro F1": "f1", "precision": "precision", "recall": "recall", "exact match": "exact_match"}
    shown = [
        (name, percent(_value(evaluation, key)), f"[{intervals[key].low:.2%}, {intervals[key].high:.2%}]")
        for name, key in shares.items()
    ]
    shown.append(("macro F1", percent(evaluation.f1("macro")), f"over {len(evaluation.labels):,} labels"))
    for name, key in (("Hamming loss", "hamming_loss"), ("log loss", "log_loss")):
        shown.append((name, f"{_value(evaluation, key):.4f}", f"[{intervals[key].low:.4f}, {intervals[key].high:.4f}]"))
    shown.append(("ranking precision", f"{evaluation.ranking_precision:.4f}", ""))
    shown.append(("coverage", f"{evaluation.coverage:.2f}", f"{evaluation.labels_per_row:.2f} labels a row"))
    shown.append(("calibration error", f"{evaluation.calibration_error:.4f}", "15 bins, mean over labels"))
    unseen = evaluation.by_row.unseen
    missed = f"<p>{unseen:,} true labels are not known to the model, and count as not found.</p>" if unseen else ""
    note = '<p class="soft">In brackets: 95% intervals (Wilson; by the variance over rows).</p>'
    return f"{cards(shown)}{note}{missed}"


def _value(evaluation: Any, key: str) -> float:
    value = getattr(evaluation, key)
    return float(value() if callable(value) else value)


def labels(subject: Subject) -> str:
    """Return the figures of each label, those first that most rows have."""
    rows = [
        (label, *(f"{figures[name]:.2%}" for name in FIGURES), f"{figures['predicted']:,}", f"{figures['rows']:,}")
        for label, figures in subject.evaluation.most_frequent(MOST_LISTED)
    ]
    others = len(subject.evaluation.labels) - len(rows)
    more = f'<p class="soft">{others:,} more labels have fewer rows.</p>' if others else ""
    return table(("label", "precision", "recall", "F1", "predicted", "rows"), rows) + more


def mistakes(subject: Subject) -> str:
    """Return the most confident mistakes: labels that a row does not have, and labels that were not found."""
    rows, places, shares, wrong = _mistaken(subject)
    if not len(rows):
        return "<p>None: every label is predicted correctly.</p>"
    count = int(wrong.sum())
    intro = (
        f"<p>{count:,} predicted labels are wrong, and {len(rows) - count:,} labels were not found; these are the "
        "mistakes that the model was most confident of.</p>"
    )
    order = np.argsort(-np.where(wrong, shares, 1.0 - shares), kind="stable")[:SHOWN]
    names = subject.evaluation.labels
    return (
        intro + KEY + "".join(_explained(subject, int(rows[k]), names[places[k]], shares[k], wrong[k]) for k in order)
    )


def _mistaken(subject: Subject) -> tuple[Any, Any, Any, Any]:
    """Return rows, labels, probabilities, and whether the label was predicted, of all mistakes."""
    evaluated = subject.rows
    differing = (evaluated.true != evaluated.predicted).tocsr().sorted_indices()
    shares = own_probabilities(evaluated.named_probabilities, differing)
    predicted = own_probabilities(evaluated.predicted.astype(np.float64), differing) > 0
    return cell_rows(differing), differing.indices, shares, predicted


def _explained(subject: Subject, number: int, label: str, share: float, wrong: bool) -> str:
    row = subject.row(number)
    text = longest_value(row)
    true = ", ".join(sorted(np.array(subject.evaluation.labels)[subject.rows.true[[number]].indices])) or "none"
    what = f"{label} is predicted ({percent(share)})" if wrong else f"{label} is not found ({percent(share)})"
    shown = escape(text[:LONGEST])
    if label in subject.labels:
        evidence = subject.model.explain(row, label=label)
        shown = evidence_html(text[:LONGEST], evidence, subject.model.resolved.text)
    more = "…" if len(text) > LONGEST else ""
    return f"<article><b>row {number + 1:,}</b> {escape(what)}; labels: {escape(true)}<p>{shown}{more}</p></article>"
