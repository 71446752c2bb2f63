"""The commands that judge at length: report and compare; and how decisions are written on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discern.cli import options
from discern.cli.output import counted, in_bytes, reading, refuse_bad_place, say, to_json, visible

if TYPE_CHECKING:
    from discern.evaluation.decisions import Decision

Threshold = Annotated[
    float | None,
    typer.Option(
        min=0, metavar="P", help="Give the positive label from this probability on.", show_default="the most probable"
    ),
]
Positive = Annotated[
    str | None, typer.Option(metavar="LABEL", help="The label that counts as positive.", show_default="the last")
]
Costs = Annotated[
    list[str] | None,
    typer.Option(
        "--cost",
        metavar="TRUE:GIVEN=N",
        help="What a mistake costs, such as spam:ham=1; unsure=N allows that answer. May be given more than once.",
        show_default="every mistake 1",
    ),
]


def decision_of(
    labels: Sequence[str],
    threshold: float | None = None,
    positive: str | None = None,
    costs: Sequence[str] | None = None,
) -> Decision | None:
    """Make the decision that options ask for; None if they ask for nothing.

    Examples
    --------
    >>> decision_of(["ham", "spam"], threshold=0.2).positive
    'spam'
    >>> decision_of(["bad", "good"], costs=["bad:good=5", "unsure=0.5"]).costs
    ((0.0, 5.0), (1.0, 0.0))
    """
    from discern.evaluation.decisions import Decision

    if threshold is not None and costs:
        raise typer.BadParameter("give either --threshold or --cost")
    if positive is not None and positive not in labels:
        from discern.data.batch import did_you_mean

        raise typer.BadParameter(f"there is no label {positive!r}{did_you_mean(positive, labels)}")
    if threshold is not None:
        return Decision.at(threshold, positive or labels[-1])
    return _of_costs(labels, costs) if costs else None


def _of_costs(labels: Sequence[str], costs: Sequence[str]) -> Decision:
    from discern.evaluation.decisions import Decision

    table = [[float(true != given) for given in labels] for true in labels]
    pairs = {f"{true}:{given}": (row, column) for row, true in enumerate(labels) for column, given in enumerate(labels)}
    unsure = None
    for written in costs:
        pair, _, number = written.rpartition("=")
        try:
            value = float(number)
        except ValueError:
            raise typer.BadParameter(f"{written!r} is not a cost such as {labels[-1]}:{labels[0]}=5") from None
        if pair in pairs:
            row, column = pairs[pair]
            table[row][column] = value
        elif pair == "unsure":
            unsure = value
        else:
            raise typer.BadParameter(f"{pair!r} is not a pair of labels such as {labels[-1]}:{labels[0]}")
    try:
        return Decision.of_costs(table, labels, unsure)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def report(
    model: options.ModelFile,
    data: options.Source,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The page to write.")] = Path(
        "report.html"
    ),
    positive: Positive = None,
    given: options.Given = None,
    encoding: options.Encoding = None,
    on_error: options.OnErrorName = options.OnError.stop,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Write a page that says how good a model is, where it errs and why: figures, pictures, thresholds, mistakes.

    The page is one file, opens without a network, and needs matplotlib to be made (pip install 'discern[plot]').
    """
    from discern.analysis.report.page import report as write_report
    from discern.data.source import refuse_missing

    refuse_bad_place(output)
    refuse_missing(model)
    with reading([data], given, quiet, encoding=encoding, on_error=on_error) as how:
        evaluation = write_report(model, data, output, positive=positive, reading=how)
    size = output.stat().st_size
    if json:
        typer.echo(to_json({"file": str(output), "bytes": size, "evaluation": evaluation.to_dict()}))
        return
    say(f"wrote {output}: {counted(evaluation.rows, 'row')} evaluated, {in_bytes(size)}", quiet)


def compare(
    data: options.Source,
    model: Annotated[
        list[options.Model] | None,
        typer.Option("--model", help="A method to compare; may be given more than once.", show_default="all"),
    ] = None,
    folds: Annotated[int, typer.Option(min=2, help="Into how many parts the rows are split.")] = 10,
    label: options.Label = "label",
    text: options.Text = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Draw the errors of the folds as boxes (.svg, .png, .pdf).", show_default="none"
        ),
    ] = None,
    given: options.Given = None,
    encoding: options.Encoding = None,
    on_error: options.OnErrorName = options.OnError.stop,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Compare methods on rows with labels, by the same folds: log loss, error, intervals and time, the best first."""
    from discern.analysis.comparison import HEAD
    from discern.analysis.comparison import compare as compare_methods
    from discern.classifier import Classifier

    if plot is not None:
        refuse_bad_place(plot)
    chosen = list(dict.fromkeys(model or (one for one in options.Model if one != options.Model.best)))
    methods = {one.value: Classifier(label, model=one.value, text=text) for one in chosen}
    with reading([data], given, quiet, encoding=encoding, on_error=on_error) as how:
        compared = compare_methods(methods, data, folds=folds, reading=how)
    if plot is not None:
        compared.plot().figure_.savefig(plot)
    if json:
        typer.echo(to_json(compared.to_dict()))
        return
    from discern.cli.show import console, plain_table, show

    table = plain_table(*HEAD)
    for row in compared.rows():
        table.add_row(*map(visible, row))
    screen = console()
    screen.print()
    show(screen, table)
    say("p: how likely so great a distance from the best is by chance (corrected resampled t test)", quiet)
