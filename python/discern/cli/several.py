"""What commands need where a row may have several labels: labels as they are written, and thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import typer

from discern.cli.options import option

if TYPE_CHECKING:
    from discern.classifier import Classifier
    from discern.data.label_sets.reading import LabelSets
    from discern.evaluation.decisions import Rule
    from discern.evaluation.several.thresholds import Thresholds


def parse_names(value: str) -> tuple[str, ...]:
    """Read names of columns with commas between them.

    Examples
    --------
    >>> parse_names("corn, oil")
    ('corn', 'oil')
    """
    return tuple(filter(None, (name.strip() for name in value.split(","))))


@dataclass(frozen=True)
class Sets:
    """How the labels of rows that may have several are read."""

    panel: ClassVar[str] = "Columns"
    label_separator: str | None = option(
        None,
        "A row may have several labels: what stands between them in the label column, such as '|'.",
        metavar="MARK",
        show_default="one label a row; lists are recognized",
    )
    labels_from: Any = option(
        None,
        "Several labels a row, from columns of 0 and 1 that are named after the labels, with commas between them.",
        parser=parse_names,
        metavar="COLUMNS",
        show_default="none",
    )

    def reader(self) -> LabelSets:
        """Return what reads the labels."""
        from discern.data.label_sets.reading import LabelSets

        return LabelSets(self.label_separator or "", self.labels_from or ())


USUAL_SEPARATOR = "|"
"""What stands between labels that are written, where the model was not given a separator."""


def has_several(classifier: Classifier) -> bool:
    """Return whether a row may have several labels."""
    return classifier.resolved.several is not None


def separator_of(classifier: Classifier) -> str | None:
    """Return what stands between the labels of a row; None if a row has one label."""
    return (classifier.settings.label_separator or USUAL_SEPARATOR) if has_several(classifier) else None


def labels_as_written(classifier: Classifier, written: str) -> str | list[str]:
    """Return the label of a row as it was written; or the list of its labels, if it may have several.

    The empty text is the empty list.
    """
    separator = separator_of(classifier)
    if separator is None:
        return written
    return [label for label in (part.strip() for part in written.split(separator)) if label]


def joined(labels: Sequence[str], separator: str) -> str:
    """Return labels as one text; raises ValueError if one of them contains the separator.

    Examples
    --------
    >>> joined(["corn", "oil"], "|")
    'corn|oil'
    """
    for label in labels:
        if separator in label:
            raise ValueError(f"the label {label!r} contains {separator!r}, which separates labels; write JSON lines")
    return separator.join(labels)


def thresholds_of(classifier: Classifier) -> Thresholds:
    """Return the thresholds that a model decides by now."""
    several = classifier.resolved.several
    decision: Any = classifier.decision or (several and several.thresholds)
    assert decision is not None
    return decision  # type: ignore[no-any-return]


def with_threshold(classifier: Classifier, threshold: float, label: str | None) -> Thresholds:
    """Return the thresholds of a model, with another one for a label, or with this one for all labels."""
    from discern.evaluation.several.thresholds import Thresholds

    before = thresholds_of(classifier)
    if label is None:
        return Thresholds(common=threshold, at_least_one=before.at_least_one, at_most=before.at_most)
    own = {**dict(zip(before.labels, before.thresholds, strict=True)), label: threshold}
    return replace(before, labels=tuple(own), thresholds=tuple(own.values()))


def chosen_thresholds(
    classifier: Classifier, data: Any, goal: Rule, before: Thresholds, held_out: bool, reading: Any
) -> tuple[Thresholds, Any]:
    """Return thresholds chosen on rows, and the evaluation of these rows by them.

    Each row is predicted by a model that has not learned it; ``held_out`` rows were not learned by this one. All other
    rules are those of ``before``.
    """
    from discern.analysis.several import cross_validated
    from discern.evaluation.several.choosing import choose_thresholds

    evaluation: Any = (
        classifier.evaluate(data, reading=reading) if held_out else cross_validated(classifier, data, reading=reading)
    )
    rows = evaluation.predictions
    truth = rows.true[:, [rows.names.index(label) for label in rows.columns]]
    thresholds = choose_thresholds(
        rows.probabilities, truth, rows.columns, goal, at_least_one=before.at_least_one, at_most=before.at_most
    )
    return thresholds, evaluation.decided_by(thresholds)


def refuse_for_several(given: Sequence[str], why: str) -> None:
    """Refuse options that need one label a row."""
    if given:
        raise typer.BadParameter(f"{given[0]} is for models of one label a row: {why}")
