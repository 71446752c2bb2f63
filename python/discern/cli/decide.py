"""The command decide, and the options that name a decision rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discern.cli.options import Input, ModelFile, Output, argument, command, option
from discern.cli.output import loaded, percent, print_json, refuse_bad_place, saved
from discern.cli.several import chosen_thresholds, has_several, refuse_for_several, thresholds_of, with_threshold
from discern.data.lock import locked

if TYPE_CHECKING:
    from discern.classifier import Classifier
    from discern.evaluation.decisions import ChosenThreshold, Decision, Rule
    from discern.evaluation.several.thresholds import Thresholds

Positive = Annotated[
    str | None, typer.Option(metavar="LABEL", help="The label that counts as positive.", show_default="the last")
]


@dataclass(frozen=True)
class DecisionRule:
    """A threshold or costs, as they are written on the command line."""

    positive: Positive = None
    threshold: float | None = option(
        None,
        "Predict the positive label from this probability on; where a row may have several labels, each of them.",
        min=0,
        metavar="P",
        show_default="the most probable",
    )
    cost: list[str] | None = option(
        None,
        "The cost of a mistake, such as spam:ham=1; unsure=N allows that answer. May be given more than once.",
        metavar="TRUE:PREDICTED=N",
        show_default="every mistake 1",
    )
    max_false_alarms: float | None = option(
        None,
        'Predict "unsure" for rows more unusual than all but this share of rows like those learned.',
        metavar="SHARE",
        show_default="never",
    )

    @property
    def is_given(self) -> bool:
        """Whether any option was given that makes a decision."""
        return self.threshold is not None or bool(self.cost) or self.max_false_alarms is not None

    def thresholds(self, classifier: Classifier) -> Thresholds | None:
        """Return the thresholds of a model of several labels a row; None if no option was given."""
        why = "with several labels a row, each has a threshold"
        named = {"--cost": self.cost, "--max-false-alarms": self.max_false_alarms}
        refuse_for_several([name for name, value in named.items() if value], why)
        if self.positive is not None and self.positive not in classifier.labels:
            from discern.data.batch import did_you_mean

            raise typer.BadParameter(f"unknown label {self.positive!r}{did_you_mean(self.positive, classifier.labels)}")
        return None if self.threshold is None else with_threshold(classifier, self.threshold, self.positive)

    def decision(self, labels: Sequence[str]) -> Decision | None:
        """Return the decision rule for these labels; None if no option was given.

        Examples
        --------
        >>> DecisionRule(threshold=0.2).decision(["ham", "spam"]).positive
        'spam'
        >>> DecisionRule(cost=["bad:good=5", "unsure=0.5"]).decision(["bad", "good"]).costs
        ((0.0, 5.0), (1.0, 0.0))
        """
        from discern.evaluation.decisions import Decision

        if self.threshold is not None and self.cost:
            raise typer.BadParameter("pass either --threshold or --cost")
        if self.positive is not None and self.positive not in labels:
            from discern.data.batch import did_you_mean

            raise typer.BadParameter(f"unknown label {self.positive!r}{did_you_mean(self.positive, labels)}")
        found = None
        if self.threshold is not None:
            found = Decision.at(self.threshold, self.positive or labels[-1])
        elif self.cost:
            found = _of_costs(labels, self.cost)
        return found if self.max_false_alarms is None else _with_alarms(found, self.max_false_alarms, labels)


def _with_alarms(decision: Decision | None, share: float, labels: Sequence[str]) -> Decision:
    from discern.evaluation.decisions import Decision

    try:
        return replace(decision or Decision.argmax(), max_false_alarms=share).for_labels(labels) or Decision.argmax()
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def _of_costs(labels: Sequence[str], costs: Sequence[str]) -> Decision:
    from discern.evaluation.decisions import Decision

    table = [[float(true != given) for given in labels] for true in labels]
    pairs = {f"{true}:{given}": (row, column) for row, true in enumerate(labels) for column, given in enumerate(labels)}
    unsure = None
    for written in costs:
        pair, value = _number(written, f"a cost such as {labels[-1]}:{labels[0]}=5")
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


def _number(written: str, what: str) -> tuple[str, float]:
    """Read NAME=NUMBER; ``what`` names the expected form in the error."""
    name, _, number = written.rpartition("=")
    try:
        return name, float(number)
    except ValueError:
        raise typer.BadParameter(f"{written!r} is not {what}") from None


@dataclass(frozen=True)
class Goal:
    """What a threshold chosen on rows must reach."""

    max_false_positive_rate: float | None = option(
        None, "Choose the threshold of highest recall with at most this rate.", min=0, max=1, metavar="SHARE"
    )
    min_precision: float | None = option(
        None, "Choose the threshold of highest recall with at least this precision.", min=0, max=1, metavar="SHARE"
    )
    least_cost: str | None = option(
        None, "Choose the threshold of least cost for these costs of a false positive and a negative.", metavar="FP,FN"
    )
    min_recall: float | None = option(
        None, "Choose the threshold of highest precision with at least this recall.", min=0, max=1, metavar="SHARE"
    )
    max_f1: bool = option(False, "Choose the threshold of highest F1.")

    @property
    def given(self) -> list[str]:
        """The options that were given."""
        return [f"--{name.replace('_', '-')}" for name, value in vars(self).items() if value not in (None, False)]

    def rule(self) -> Rule | None:
        """Return the rule for choosing a threshold; None if no option was given."""
        from discern.evaluation.decisions import LeastCost, MostRecall
        from discern.evaluation.several.choosing import MostF1, MostPrecision

        if len(self.given) > 1:
            raise typer.BadParameter(f"pass only one of {' and '.join(self.given)}")
        if self.max_f1:
            return MostF1()
        if self.min_recall is not None:
            return _checked(MostPrecision, self.min_recall)
        if self.least_cost is not None:
            try:
                false_positive, false_negative = map(float, self.least_cost.split(","))
            except ValueError:
                raise typer.BadParameter(
                    f"--least-cost takes two numbers such as 5,1, not {self.least_cost!r}"
                ) from None
            return LeastCost(false_positive, false_negative)
        return MostRecall(self.max_false_positive_rate, self.min_precision) if self.given else None


def _checked(rule: Callable[[float], Rule], value: float) -> Rule:
    try:
        return rule(value)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


@dataclass(frozen=True)
class LabelsPerRow:
    """How many labels a row may have, where it may have several."""

    at_least_one: bool | None = option(
        None, "Predict at least one label a row: the most probable.", show_default="as in the model"
    )
    at_most: int | None = option(
        None, "Predict at most this number of labels a row.", min=1, metavar="N", show_default="as in the model"
    )

    @property
    def given(self) -> dict[str, Any]:
        """The values that were given."""
        return {name: value for name, value in vars(self).items() if value is not None}


@command(
    "discern decide messages.discern messages.csv --positive spam --max-false-positive-rate 0.001",
    "discern decide credit.discern --cost bad:good=5 --cost unsure=0.5",
    "discern decide tickets.discern --max-false-alarms 0.05",
    "discern decide topics.discern topics.csv --min-precision 0.9 --at-least-one",
    "discern decide messages.discern --clear",
)
def decide(
    *,
    model: ModelFile,
    data: str | None = argument(None, "[DATA]", "The rows learned, to choose a threshold."),
    decision_rule: DecisionRule,
    goal: Goal,
    per_row: LabelsPerRow,
    held_out: bool = option(False, "DATA was not learned: predict it with the model as it is."),
    share: list[str] | None = option(
        None, "The share of a label among future rows; needed for every label.", metavar="LABEL=SHARE"
    ),
    clear: bool = option(False, "Predict the most probable label again, or by the thresholds of the training."),
    rows: Input,
    out: Output,
) -> None:
    """Set the decision rule: a threshold, misclassification costs, or new class priors. It is saved with the model.

    A threshold can be chosen on the rows learned, each predicted by a model that has not seen it, or on other rows
    (--held-out). Where a row may have several labels, each label has a threshold.
    """
    rule = goal.rule()
    asked = [decision_rule.is_given, rule is not None, clear]
    if sum(asked) > 1 or not (any(asked) or share or per_row.given):
        raise typer.BadParameter(
            "pass one of --threshold, --cost, --max-false-alarms, a rule for a threshold, --share or --clear"
        )
    if rule is not None and data is None:
        raise typer.BadParameter(f"{goal.given[0]} needs labeled DATA to choose the threshold.")
    if rule is None and data is not None:
        raise typer.BadParameter(
            "DATA is used only with a rule for a threshold, such as --min-precision or --least-cost; leave it out"
        )
    refuse_bad_place(model)
    asking = Asking(decision_rule, rule, per_row, data, held_out, clear, share, rows, out)
    with locked(model):
        classifier = loaded(model, embed=rows.embed)
        decided = (_decided_for_several if has_several(classifier) else _decided)(classifier, asking)
        file = saved(classifier.decide_by(decided.decision), model)
    if out.json:
        described = None if decided.decision is None else decided.decision.to_json()
        print_json({**file, "decision": described, **decided.facts})
        return
    by_default = (
        "the labels of the thresholds of the training" if has_several(classifier) else "the most probable label"
    )
    out.say(f"{model} predicts {decided.decision or by_default}")
    for line in decided.lines:
        out.say(f"  {line}")


@dataclass(frozen=True)
class Asking:
    """What was asked of decide."""

    decision_rule: DecisionRule
    rule: Rule | None
    per_row: LabelsPerRow
    data: str | None
    held_out: bool
    clear: bool
    share: list[str] | None
    rows: Input
    out: Output


@dataclass(frozen=True)
class Decided:
    """A decision, and how good it is on the rows that it was chosen on."""

    decision: Any
    facts: dict[str, Any] = field(default_factory=dict)
    lines: tuple[str, ...] = ()


def _decided(classifier: Classifier, asking: Asking) -> Decided:
    """Return the decision of a model of one label a row."""
    if asking.per_row.given:
        raise typer.BadParameter("--at-least-one and --at-most are for models of several labels a row")
    if asking.rule is None or asking.data is None:
        decision = asking.decision_rule.decision(classifier.labels)
        return Decided(_for_shares(classifier, decision, asking.share))
    from discern.analysis.crossvalidation import choose_decision

    positive = asking.decision_rule.positive or classifier.labels[-1]
    with asking.rows.reading([asking.data], asking.out.quiet) as how:
        chosen = choose_decision(classifier, asking.data, positive, asking.rule, held_out=asking.held_out, reading=how)
    lines = (
        f"threshold {chosen.threshold:.4f} {chosen.interval or ''}".rstrip(),
        f"recall {percent(chosen.recall)}, precision {percent(chosen.precision)}",
        f"false positive rate {percent(chosen.false_positive_rate)}",
    )
    return Decided(_for_shares(classifier, chosen.decision, asking.share), _facts(chosen), lines)


def _decided_for_several(classifier: Classifier, asking: Asking) -> Decided:
    """Return the thresholds of a model of several labels a row."""
    refuse_for_several(["--share"] if asking.share else [], "its labels are independent of each other")
    if asking.clear and not asking.per_row.given:
        return Decided(None)
    given = asking.decision_rule.thresholds(classifier)
    if asking.clear:
        classifier.decide_by(None)
    if asking.rule is None or asking.data is None:
        return Decided(replace(given or thresholds_of(classifier), **asking.per_row.given))
    before = replace(thresholds_of(classifier), **asking.per_row.given)
    with asking.rows.reading([asking.data], asking.out.quiet) as how:
        thresholds, evaluation = chosen_thresholds(classifier, asking.data, asking.rule, before, asking.held_out, how)
    figures = {name: getattr(evaluation, name)() for name in ("precision", "recall", "f1")}
    line = ", ".join(f"{name.replace('f1', 'micro F1')} {percent(value)}" for name, value in figures.items())
    return Decided(thresholds, figures, (line,))


def _for_shares(classifier: Classifier, decision: Decision | None, shares: list[str] | None) -> Decision | None:
    """Return the decision for other shares of the labels, if they are given."""
    if not shares:
        return decision
    from discern.evaluation.decisions import Decision

    new = dict(_number(written, f"a share such as {classifier.labels[-1]}=0.1") for written in shares)
    if abs(sum(new.values()) - 1) > 1e-6 or set(new) != set(classifier.labels):
        raise typer.BadParameter(f"pass a share for each of {', '.join(classifier.labels)}; they sum to 1")
    return (decision or Decision.argmax()).with_priors(classifier.info()["priors"], new)


def _facts(chosen: ChosenThreshold) -> dict[str, Any]:
    return {
        "threshold": chosen.threshold,
        "interval": None if chosen.interval is None else [chosen.interval.low, chosen.interval.high],
        "recall": chosen.recall,
        "precision": chosen.precision,
        "false_positive_rate": chosen.false_positive_rate,
    }
