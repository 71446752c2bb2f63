"""The facts of the report: strongest words, the data, the model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from discern.analysis.report.subject import Subject
from discern.analysis.report.tables import shortened, table


def words_section(subject: Subject) -> str:
    """Return the strongest words of each label."""
    if not hasattr(subject.model, "weights"):
        return ""
    rows = []
    for label in subject.frequent:
        try:
            words = subject.model.weights(label, 12)
        except (ValueError, TypeError):
            return ""
        rows.append((label, " · ".join(f"{word}\u00a0{weight:+.2f}" for word, weight in words)))
    return '<p class="soft">In nats, against the mean of the other labels.</p>' + table(
        ("label", "words"), rows, text=[1]
    )


def data_section(subject: Subject) -> str:
    """Describe the data: labels and columns."""
    rows, true = subject.table, subject.true.tolist()
    counts = Counter(true)
    shares = [(label, f"{count:,}", f"{count / len(true):.2%}") for label, count in counts.most_common(40)]
    columns = [(name, *_column_summary(values)) for name, values in rows.columns.items()]
    return (
        f"<p>{len(rows):,} rows from {escape(Path(subject.source).name)}, {len(counts)} labels.</p>"
        + table(("label", "rows", "share"), shares)
        + "<h3>Columns</h3>"
        + table(("column", "missing", "distinct", "mean length", "longest"), columns)
    )


def _column_summary(values: Sequence[Any]) -> tuple[str, ...]:
    present = [str(value) for value in values if value is not None and value != ""]
    lengths = list(map(len, present)) or [0]
    missing, distinct = len(values) - len(present), len(set(present))
    return f"{missing:,}", f"{distinct:,}", f"{sum(lengths) / len(lengths):.1f}", f"{max(lengths):,}"


def model_section(subject: Subject) -> str:
    """Describe the model."""
    about = subject.model.info() if hasattr(subject.model, "info") else {}
    rows = [("model file", subject.model_name)]
    if subject.checksum:
        rows.append(("checksum", subject.checksum))
    rows += list(_flat(about))
    return table(("", ""), rows, text=[1])


def _flat(values: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """Return nested settings as lines."""
    for name, value in values.items():
        title = f"{before}{name}".replace("_", " ")
        if isinstance(value, Mapping) and len(value) <= 40:
            yield from _flat(value, f"{title}: ")
        elif isinstance(value, float):
            yield title, f"{value:.6g}"
        elif value is not None and value != () and value != []:
            yield (
                title,
                shortened(f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value), 300),
            )
