"""The commands that say why: explain shows the evidence of a decision, similar the nearest rows."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discern.cli.options import Embed, Input, ModelFile, Output, Top, argument, command, option
from discern.cli.output import loaded, print_json, to_json, visible

if TYPE_CHECKING:
    from discern.classifier import Classifier

LONGEST_VALUE = 60
Values = Annotated[
    list[str] | None, typer.Option(metavar="COLUMN=VALUE", help="The value of a column; may be given more than once.")
]


@command('discern explain messages.discern "Claim your free prize now"')
def explain(
    *,
    model: ModelFile,
    text: str | None = argument(None, "[TEXT]", "The text to classify; - is stdin."),
    value: Values = None,
    top: Top = 20,
    embed: Embed = None,
    out: Output,
) -> None:
    """Explain the prediction for a text or a row: how much each of its words and values contributes, in nats.

    A column without a value is treated as missing.
    """
    classifier, row = _model_and_row(model, sys.stdin.read() if text == "-" else text, value, embed)
    message = "\n".join(row[feature.name] or "" for feature in classifier.features if feature.role == "text").strip()
    evidence = classifier.explain(row)
    if out.json:
        print_json(evidence.to_dict())
        return
    from discern.cli.show import console, show_evidence

    show_evidence(console(), classifier, message, evidence, top, legend=not out.quiet)


def _model_and_row(
    model: ModelFile, text: str | None, values: list[str] | None, embed: Path | None
) -> tuple[Classifier, dict[str, str | None]]:
    """Load a model, and fill a row with values; the text goes to the only text column."""
    from discern.data.batch import did_you_mean

    if text is None and not values:
        raise typer.BadParameter("pass TEXT, or --value COLUMN=VALUE, or both")
    classifier = loaded(model, embed=embed)
    row: dict[str, str | None] = {feature.name: None for feature in classifier.features}
    texts = [feature.name for feature in classifier.features if feature.role == "text"]
    if text is not None and len(texts) != 1:
        has = f"several text columns, {', '.join(map(repr, texts))}" if texts else "no text column"
        raise typer.BadParameter(f"This model has {has}. Pass values with --value COLUMN=VALUE.")
    if text is not None:
        row[texts[0]] = text
    for given in values or ():
        name, equals, value = given.partition("=")
        if not equals:
            raise typer.BadParameter(f"{given!r} is not COLUMN=VALUE")
        if name not in row:
            raise typer.BadParameter(f"the model has no column {name!r}{did_you_mean(name, row)}")
        row[name] = value
    return classifier, row


@command(
    'discern similar articles.discern "interest rates rise"',
    'discern similar articles.discern "interest rates rise" --data articles.csv --top 3',
)
def similar(
    *,
    model: ModelFile,
    text: str | None = argument(None, "[TEXT]", "The text to compare with."),
    value: Values = None,
    top: int = option(10, "How many rows to show.", min=1),
    data: list[str] | None = option(
        None, "The training data, to show the rows; may be given more than once.", metavar="DATA"
    ),
    rows: Input,
    out: Output,
) -> None:
    """Find the rows most similar to a text or a row, in a model that keeps its rows (fit --model knn).

    Rows are numbered as they were learned, from 1. A model does not keep the texts themselves: give --data to see them.
    """
    from discern.analysis.similarity import similar as find

    classifier, row = _model_and_row(model, text, value, rows.embed)
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
    from discern.cli.show import console, plain_table, show

    table = plain_table("row", "similarity", "label", *(names if data else ()), left=0)
    for column in table.columns[2:]:
        column.justify = "left"
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
        raise DataError(f"the data have {start - 1:,} rows, but the model learned {learned:,}: these are not its data")
    return found
