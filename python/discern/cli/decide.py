"""The command that says how a model decides, and saves that with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from discern.cli import options
from discern.cli.output import percent, reading, refuse_bad_place, say, to_json
from discern.cli.report import Costs, Positive, Threshold, decision_of
from discern.data.lock import locked

if TYPE_CHECKING:
    from discern.classifier import Classifier
    from discern.data.source import Reading
    from discern.evaluation.decisions import ChosenThreshold, Decision, Rule

MostFalsePositives = Annotated[
    float | None,
    typer.Option(
        min=0, max=1, metavar="SHARE", help="Catch as much as can be, with at most this share of false positives."
    ),
]
LeastPrecision = Annotated[
    float | None,
    typer.Option(min=0, max=1, metavar="SHARE", help="Catch as much as can be, with at least this precision."),
]
LeastCost = Annotated[
    str | None,
    typer.Option(metavar="FP,FN", help="The least cost on the rows, if a false positive and a negative cost so much."),
]
HeldOut = Annotated[bool, typer.Option("--held-out", help="DATA was not learned: judge it by the model as it is.")]


def decide(
    model: options.ModelFile,
    data: Annotated[
        str | None,
        typer.Argument(metavar="[DATA]", help="Rows to choose a threshold by: those learned.", show_default=False),
    ] = None,
    positive: Positive = None,
    threshold: Threshold = None,
    cost: Costs = None,
    most_false_positives: MostFalsePositives = None,
    least_precision: LeastPrecision = None,
    least_cost: LeastCost = None,
    held_out: HeldOut = False,
    share: Annotated[
        list[str] | None,
        typer.Option(metavar="LABEL=SHARE", help="The share of a label among rows to come; of every label."),
    ] = None,
    clear: Annotated[bool, typer.Option("--clear", help="Give the most probable label again.")] = False,
    given: options.Given = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Set the decision rule: a threshold, misclassification costs or new class priors. It is saved with the model.

    A threshold can be chosen on rows: those learned, each judged by a model that has not seen it, or others
    (--held-out).
    """
    rule = _rule(most_false_positives, least_precision, least_cost)
    asked = [threshold is not None, bool(cost), rule is not None, clear]
    if sum(asked) > 1 or not (any(asked) or share):
        raise typer.BadParameter("give one of --threshold, --cost, a rule for a threshold, --share or --clear")
    if (rule is None) == (data is not None):
        raise typer.BadParameter("DATA is needed for a rule such as --most-false-positives, and for nothing else")
    refuse_bad_place(model)
    from discern.classifier import Classifier

    with locked(model):
        classifier = Classifier.load(model)
        decision, chosen = decision_of(classifier.labels, threshold, positive, cost), None
        if rule is not None and data is not None:
            with reading([data], given, quiet) as how:
                chosen = _chosen(classifier, data, positive or classifier.labels[-1], rule, held_out, how)
            decision = chosen.decision
        decision = _for_shares(classifier, decision, share)
        checksum = classifier.decide_by(decision).save(model)
    if json:
        described = None if decision is None else decision.to_json()
        typer.echo(to_json({"file": str(model), "checksum": checksum, "decision": described, **_found(chosen)}))
        return
    say(f"{model} gives {decision or 'the most probable label'}", quiet)
    if chosen is not None:
        say(f"  threshold {chosen.threshold:.4f} {chosen.interval or ''}".rstrip(), quiet)
        say(f"  caught {percent(chosen.recall)}, precision {percent(chosen.precision)}", quiet)
        say(f"  false positives {percent(chosen.false_positive_rate)}", quiet)


def _rule(most_false_positives: float | None, least_precision: float | None, least_cost: str | None) -> Rule | None:
    from discern.evaluation.decisions import LeastCost as Cheapest
    from discern.evaluation.decisions import MostRecall

    if [most_false_positives, least_precision, least_cost].count(None) < 2:
        raise typer.BadParameter("give one of --most-false-positives, --least-precision and --least-cost")
    if least_cost is not None:
        try:
            false_positive, false_negative = map(float, least_cost.split(","))
        except ValueError:
            raise typer.BadParameter(f"--least-cost takes two numbers such as 5,1, not {least_cost!r}") from None
        return Cheapest(false_positive, false_negative)
    if most_false_positives is None and least_precision is None:
        return None
    return MostRecall(most_false_positives, least_precision)


def _chosen(
    classifier: Classifier, data: str, positive: str, rule: Rule, held_out: bool, how: Reading
) -> ChosenThreshold:
    from discern.analysis.crossvalidation import choose_decision

    return choose_decision(classifier, data, positive, rule, held_out=held_out, reading=how)


def _for_shares(classifier: Classifier, decision: Decision | None, shares: list[str] | None) -> Decision | None:
    """Return the decision for another mix of labels, if one is given."""
    if not shares:
        return decision
    from discern.evaluation.decisions import Decision

    new = {}
    for written in shares:
        label, _, number = written.rpartition("=")
        try:
            new[label] = float(number)
        except ValueError:
            raise typer.BadParameter(f"{written!r} is not a share such as {classifier.labels[-1]}=0.1") from None
    if abs(sum(new.values()) - 1) > 1e-6 or set(new) != set(classifier.labels):
        raise typer.BadParameter(f"give a share for each of {', '.join(classifier.labels)}; they sum to 1")
    return (decision or Decision.argmax()).with_priors(classifier.info()["priors"], new)


def _found(chosen: ChosenThreshold | None) -> dict[str, Any]:
    if chosen is None:
        return {}
    return {
        "threshold": chosen.threshold,
        "interval": None if chosen.interval is None else [chosen.interval.low, chosen.interval.high],
        "recall": chosen.recall,
        "precision": chosen.precision,
        "false_positive_rate": chosen.false_positive_rate,
    }
