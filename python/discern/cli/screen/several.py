"""Evaluations of several labels a row, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from discern.cli.output import visible
from discern.cli.screen.tables import FittedTable, plain_table, show

if TYPE_CHECKING:
    from discern.evaluation.several.evaluation import MultilabelEvaluation


def show_multilabel(screen: Console, evaluation: MultilabelEvaluation) -> None:
    """Print F1, exact matches and the other figures, and a table of the labels that most rows have."""
    summary = Table.grid(padding=(0, 2))
    for name, value, note in evaluation.summary():
        summary.add_row(name, Text(value, "bold"), visible(note))
    table = label_table(evaluation)
    others = len(evaluation.labels) - table.row_count
    more = [Text(f"and {others:,} more labels, which fewer rows have", "dim")] if others else []
    screen.print()
    show(screen, summary, table, *more)


def label_table(evaluation: MultilabelEvaluation) -> FittedTable:
    """Return the figures of the labels that most rows have; the predicted rows are dropped first, then F1."""
    table = plain_table(
        "label", "precision", "recall", "F1", "predicted", "rows", drop=("predicted", "F1", "precision")
    )
    for label, row in evaluation.most_frequent():
        shares = [f"{row[name]:.2%}" for name in ("precision", "recall", "f1")]
        table.add_row(visible(label), *shares, f"{row['predicted']:,}", f"{row['rows']:,}")
    return table
