"""The commands that measure how good models are: evaluate, report, compare."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from discern.cli.decide import DecisionRule, Positive
from discern.cli.options import (
    DATA_HELP,
    MODELS,
    Input,
    Label,
    ModelFile,
    OtherText,
    Output,
    Rows,
    Text,
    argument,
    command,
    option,
)
from discern.cli.output import counted, in_bytes, loaded, print_json, refuse_bad_place, visible
from discern.cli.several import Sets, has_several

if TYPE_CHECKING:
    from discern.classifier import Classifier


@command(
    "discern evaluate messages.discern held-out.csv",
    "discern evaluate messages.discern held-out.csv --json",
    "discern evaluate credit.discern held-out.csv --cost bad:good=5 --cost unsure=0.5",
    "discern evaluate messages.discern held-out.csv --threshold 0.99 --positive spam",
    "discern evaluate tickets.discern with-new-topics.csv --novelty 0.05",
)
def evaluate(
    *,
    model: ModelFile,
    label: str | None = option(
        None, "The column with the true labels.", metavar="COLUMN", show_default="as in the model"
    ),
    text: OtherText = None,
    rule: DecisionRule,
    novelty: float | None = option(
        None,
        "Evaluate instead how well novelty finds rows of labels that the model does not know, at this share of false "
        "alarms.",
        metavar="SHARE",
        min=0,
        max=1,
        show_default="no",
    ),
    rows: Rows,
    out: Output,
) -> None:
    """Evaluate a model on rows with labels: accuracy, log loss, the confusion matrix, and a table of the labels.

    Where a row may have several labels: F1, exact matches, Hamming loss, and a table of the labels.
    """
    classifier = loaded(model, text, rows.threads, label, rows.embed)
    if novelty is not None:
        _evaluate_novelty(classifier, novelty, rows, out)
        return
    several = has_several(classifier)
    decision = None if several else rule.decision(classifier.labels)
    thresholds = rule.thresholds(classifier) if several else None
    from discern.data.readers import Sources

    if decision is not None or thresholds is not None:
        classifier.decide_by(decision or thresholds)
    with rows.reading(rows.data, out.quiet) as how:
        evaluation: Any = classifier.evaluate(Sources(tuple(rows.data)), reading=how)
    if out.json:
        costs = {"cost": evaluation.cost_of(decision)} if decision is not None and rule.cost else {}
        print_json({**(evaluation.to_dict() if several else evaluation.to_dict(rule.positive)), **costs})
        return
    from discern.cli.screen.several import show_multilabel
    from discern.cli.screen.show import show_evaluation
    from discern.cli.screen.tables import console

    (show_multilabel if several else show_evaluation)(console(), evaluation)


def _evaluate_novelty(classifier: Classifier, level: float, rows: Rows, out: Output) -> None:
    from discern.data.readers import Sources

    with rows.reading(rows.data, out.quiet) as how:
        found = classifier.evaluate_novelty(Sources(tuple(rows.data)), level=level, reading=how)
    if out.json:
        print_json(found.to_dict())
        return
    from discern.cli.screen.show import show_novelty
    from discern.cli.screen.tables import console

    show_novelty(console(), found)


@command("discern report messages.discern held-out.csv -o report.html")
def report(
    *,
    model: ModelFile,
    data: str = argument(..., "DATA", DATA_HELP),
    output: Path = option(Path("report.html"), "The page to write.", "--output", "-o", metavar="FILE"),
    positive: Positive = None,
    rows: Input,
    out: Output,
) -> None:
    """Write a page that shows how good a model is, where it errs and why: metrics, plots, thresholds, mistakes.

    The page is one file and opens without a network. Writing it needs matplotlib (pip install 'discern[plot]').
    """
    from discern.analysis.report.page import report as write_report
    from discern.data.source import refuse_missing

    refuse_bad_place(output)
    refuse_missing(model)
    with rows.reading([data], out.quiet) as how:
        evaluation = write_report(model, data, output, positive=positive, reading=how, embed=rows.embed)
    size = output.stat().st_size
    if out.json:
        print_json({"file": str(output), "bytes": size, "evaluation": evaluation.to_dict()})
        return
    out.say(f"wrote {output}: evaluated on {counted(evaluation.rows, 'row')}, {in_bytes(size)}")


@command(
    "discern compare messages.csv",
    "discern compare messages.csv --model multinomial --model bernoulli --folds 5 --plot boxes.svg",
    "discern compare tickets.csv --label tags --label-separator '|' --model naive-bayes --model linear-svm",
)
def compare(
    *,
    data: str = argument(..., "DATA", DATA_HELP),
    model: list[str] | None = option(
        None, "A model to compare; may be given more than once.", click_type=MODELS, show_default="all"
    ),
    folds: int = option(10, "The number of folds.", min=2),
    label: Label = None,
    sets: Sets,
    text: Text = None,
    plot: Path | None = option(
        None, "Draw a box plot of the error in each fold (.svg, .png, .pdf).", metavar="FILE", show_default="none"
    ),
    rows: Input,
    out: Output,
) -> None:
    """Compare models on rows with labels by cross-validation: log loss, error, intervals and time, the best first."""
    from discern.analysis.comparison import LESS
    from discern.analysis.comparison import compare as compare_methods
    from discern.cli.training.label_column import label_and_data

    if plot is not None:
        refuse_bad_place(plot)
    with rows.reading([data], out.quiet) as how:
        name, source = label_and_data(label, [data], how, out, sets.reader())
        chosen: Any = model or "all"
        given = {"text": text, "embed": rows.embed, **vars(sets)}
        compared = compare_methods(chosen, source, folds=folds, label=name, reading=how, **given)
    if plot is not None:
        compared.plot().figure_.savefig(plot)
    if out.json:
        print_json(compared.to_dict())
        return
    from discern.cli.screen.tables import console, plain_table, show

    table = plain_table(*compared.head, drop=LESS)
    for row in compared.rows():
        table.add_row(*map(visible, row))
    screen = console()
    screen.print()
    show(screen, table)
    out.say("p: p-value of the difference from the best model (corrected resampled t test)")
