"""The commands that explain: explain shows the evidence of a decision, similar the nearest rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer

from discern.cli.inputs import Inputs, empty_row, known_columns, message_of, row_of_values, text_column
from discern.cli.options import Input, ModelFile, OtherText, Output, Top, argument, command, option
from discern.cli.output import loaded, print_json, to_json, visible

if TYPE_CHECKING:
    from discern.classifier import Classifier
    from discern.models.evidence import Evidence

LONGEST_VALUE = 60


@command(
    'discern explain messages.discern "Claim your free prize now"',
    "discern explain messages.discern new.csv --top 5",
    "discern explain houses.discern --value rooms=3 --value city=Bergen",
    """discern explain houses.discern --row '{"rooms": 3, "city": "Bergen"}' --json""",
    'discern explain tickets.discern "The invoice is wrong" --for-label billing',
)
def explain(
    *,
    model: ModelFile,
    inputs: Inputs,
    top: Top = 20,
    for_label: str | None = option(
        None,
        "Where a row may have several labels: the label to explain, against not having it.",
        metavar="LABEL",
        show_default="the most probable",
    ),
    text: OtherText = None,
    out: Output,
) -> None:
    """Explain the prediction for a text, a row or each row of files: how much each word and value contributes, in nats.

    A column without a value is treated as missing. With --json each row is a line.
    """
    classifier = loaded(model, text, inputs.threads, embed=inputs.embed)
    with inputs.source(classifier, out.quiet, busy=True) as (source, how):
        rows = _explained(classifier, source, how, for_label)
        if out.json:
            for _, _, evidence in rows:
                print_json(evidence.to_dict())
            return
        _show(classifier, rows, top, out.quiet, numbered=bool(inputs.files))


def _explained(classifier: Classifier, source: Any, how: Any, label: str | None) -> Iterator[tuple[int, str, Evidence]]:
    """Explain rows one by one: yield the number of a row, its texts and its evidence."""
    from discern.data.readers import batches

    for batch in batches(source, how):
        known = known_columns(batch, classifier)
        for place in range(batch.rows):
            row = known.row(place)
            yield batch.start + place, message_of(classifier, row), classifier.explain(row, label)


def _show(
    classifier: Classifier, rows: Iterator[tuple[int, str, Evidence]], top: int, quiet: bool, numbered: bool
) -> None:
    from discern.cli.screen.show import show_evidence
    from discern.cli.screen.tables import console

    screen = console()
    for number, message, evidence in rows:
        if numbered:
            screen.print(f"\n  row {number:,}", style="bold", markup=False)
        show_evidence(screen, classifier, message, evidence, top, legend=not quiet and not numbered)


@command(
    'discern similar articles.discern "interest rates rise"',
    'discern similar articles.discern "interest rates rise" --data articles.csv --top 3',
)
def similar(
    *,
    model: ModelFile,
    text: str | None = argument(None, "[TEXT]", "The text to compare with."),
    value: list[str] | None = option(
        None, "The value of a column to compare with. May be given more than once.", metavar="COLUMN=VALUE"
    ),
    top: int = option(10, "How many rows to show.", min=1),
    data: list[str] | None = option(
        None, "The training data, to show the rows; may be given more than once.", metavar="DATA"
    ),
    rows: Input,
    out: Output,
) -> None:
    """Find the rows most similar to a text or a row, in a model that keeps its rows (fit --model knn).

    Rows are numbered as they were learned, from 1. A model does not keep the texts themselves: pass --data to see them.
    """
    from discern.analysis.similarity import similar as find

    if (text is None) == (not value):
        raise typer.BadParameter("pass either TEXT or --value COLUMN=VALUE")
    classifier = loaded(model, embed=rows.embed)
    if text is not None:
        row: dict[str, Any] = {**empty_row(classifier), text_column(classifier): text}
    else:
        row = row_of_values(classifier, value or ())
    found = find(classifier, row, top)
    shown: dict[int, Any] = {}
    if data:
        with rows.reading(data, out.quiet) as how:
            shown = _rows(data, how, {one.row for one in found}, classifier.rows)
    if out.json:
        for one in found:
            typer.echo(to_json({**asdict(one), **({"values": shown[one.row]} if data else {})}))
        return
    names = [feature.name for feature in classifier.features]
    from discern.cli.screen.tables import console, plain_table, show

    columns = list(range(2, 3 + (len(names) if data else 0)))
    table = plain_table("row", "similarity", "label", *(names if data else ()), left=0)
    for place in columns:
        table.columns[place].justify = "left"
    table.names, table.drop = frozenset(columns), tuple(reversed(columns[1:]))  # the last column is dropped first
    for one in found:
        values = [_short(shown[one.row].get(name)) for name in names] if data else []
        table.add_row(f"{one.row:,}", f"{one.similarity:.4f}", visible(one.label), *values)
    show(console(), table)


def _short(value: Any) -> str:
    words = " ".join(visible("" if value is None else str(value)).split())
    return words if len(words) <= LONGEST_VALUE else words[: LONGEST_VALUE - 1] + "…"


def _rows(data: Sequence[str], how: Any, wanted: set[int], learned: int) -> dict[int, dict[str, Any]]:
    """Return some rows of the training data, by number."""
    from discern.data.readers import batches
    from discern.data.strings import DataError

    found, start = {}, 1
    for batch in batches(iter(data), how):
        found.update({row: batch.row(row - start) for row in wanted if start <= row < start + batch.rows})
        start += batch.rows
    if start - 1 != learned:
        raise DataError(
            f"--data has {start - 1:,} rows, but the model was trained on {learned:,}; pass the training data"
        )
    return found
