"""Predictions: the labels and probabilities of a batch of rows, and how good they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

import discern.models.unusual as unusual
from discern.data.batch import Batch, did_you_mean, part_of
from discern.data.label_sets.sets import labels_in
from discern.data.strings import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discern.evaluation.decisions import Decision
    from discern.evaluation.evaluation import Evaluation
    from discern.evaluation.novelty import NoveltyEvaluation
    from discern.evaluation.several.evaluation import MultilabelEvaluation
    from discern.evaluation.several.thresholds import Thresholds
    from discern.models.fitted import Fitted

MOST_CELLS = 1 << 22
"""Rows × labels that are scored at once, where rows may have several labels."""


@dataclass(frozen=True, eq=False)
class Predictions:
    """The predictions for a batch of rows.

    ``labels`` has the label of each row; or the list of its labels, if the model has several labels a row.
    ``probabilities`` has a row for each row of the batch and a column for each label of the model. ``known`` is the
    number of terms and values of each row that the model knows: where it is 0, the probabilities are the base rates.
    ``novelty`` is how unusual each row is, from 0 to 1; None unless it was asked for.
    """

    batch: Batch
    labels: NDArray[Any]
    probabilities: NDArray[np.float64]
    known: NDArray[np.int64]
    novelty: NDArray[np.float64] | None = None


def predicted(
    fitted: Fitted, stream: Iterable[Batch], threads: int | None, novelty: bool = False
) -> Iterator[Predictions]:
    """Yield the predictions of each batch, with ``novelty`` if it is asked for or the decision needs it."""
    decision = fitted.decision
    novelty = novelty or getattr(decision, "max_false_alarms", None) is not None
    for batch, scored in fitted.scored(stream, threads):
        shares = fitted.model.shares(scored.scores)
        found = unusual.novelty(fitted, batch, shares, threads) if novelty else None
        yield Predictions(batch, _decided(fitted, scored.scores, shares, found), shares, scored.known, found)


def _decided(
    fitted: Fitted, scores: NDArray[np.float64], shares: NDArray[np.float64], novelty: NDArray[np.float64] | None
) -> NDArray[Any]:
    labels, decision = fitted.model.label_array, fitted.decision
    if fitted.resolved.several is not None:
        thresholds: Any = decision or fitted.resolved.several.thresholds
        return lists_of(thresholds(shares, fitted.model.labels), fitted.model.labels)
    if decision is None:
        return np.asarray(labels[scores.argmax(axis=1)])
    decided: NDArray[np.str_] = cast("Decision", decision)(shares, labels, novelty).astype(np.str_)
    return decided


def lists_of(chosen: NDArray[np.bool_], labels: Sequence[str]) -> NDArray[Any]:
    """Return the labels that are chosen in each row, as an array of lists.

    Examples
    --------
    >>> lists_of(np.array([[True, True], [False, False]]), ["corn", "oil"]).tolist()
    [['corn', 'oil'], []]
    """
    rows, places = np.nonzero(chosen)
    names = [labels[place] for place in places.tolist()]
    ends = np.searchsorted(rows, np.arange(len(chosen) + 1)).tolist()
    found = np.empty(len(chosen), object)
    for row in range(len(chosen)):
        found[row] = names[ends[row] : ends[row + 1]]
    return found


def in_parts(stream: Iterable[Batch], n_labels: int) -> Iterator[Batch]:
    """Yield batches in parts that have few enough rows for a table of rows × labels."""
    most = max(MOST_CELLS // max(n_labels, 1), 1)
    for batch in stream:
        if batch.rows <= most:
            yield batch
            continue
        for start in range(0, batch.rows, most):
            columns = {name: part_of(column, start, start + most) for name, column in batch.columns.items()}
            yield replace(batch, columns=columns, rows=min(most, batch.rows - start), start=batch.start + start)


# --------------------------------------------------------------------------------------------------- evaluating


def evaluated(fitted: Fitted, stream: Iterable[Batch], threads: int | None) -> Evaluation | MultilabelEvaluation:
    """Evaluate a model on rows with labels."""
    total: Any = None
    for found in predicted(fitted, fitted.labeled(stream), threads):
        part = (_evaluation if fitted.resolved.several is None else _evaluation_of_sets)(fitted, found)
        total = part if total is None else total + part
    if total is None:
        raise DataError("there are no rows to evaluate on")
    return total  # type: ignore[no-any-return]


def _evaluation(fitted: Fitted, found: Predictions) -> Evaluation:
    from discern.evaluation.evaluation import Evaluation

    numbers, labels = found.batch.labels(fitted.settings.label)
    true = np.array(labels, dtype=np.str_)[numbers].tolist()
    return Evaluation.of(true, found.labels.tolist(), found.probabilities, fitted.model.labels)


def _evaluation_of_sets(fitted: Fitted, found: Predictions) -> MultilabelEvaluation:
    from discern.evaluation.several.evaluation import MultilabelEvaluation

    numbers, sets = found.batch.labels(fitted.settings.label)
    listed = list(map(labels_in, sets))
    true = [listed[number] for number in numbers.tolist()]
    return MultilabelEvaluation.of(true, found.labels.tolist(), found.probabilities, fitted.model.labels)


def evaluated_novelty(fitted: Fitted, stream: Iterable[Batch], level: float, threads: int | None) -> NoveltyEvaluation:
    """Evaluate the novelty of rows, of which those with labels that the model does not know are unknown."""
    from discern.evaluation.novelty import NoveltyEvaluation

    found, unknown, known = [np.zeros(0)], [np.zeros(0, bool)], {*fitted.labels}
    for part in predicted(fitted, stream, threads, novelty=True):
        numbers, labels = part.batch.labels(fitted.settings.label)
        found.append(cast("NDArray[np.float64]", part.novelty))
        unknown.append(np.array([label not in known for label in labels], bool)[numbers])
    return NoveltyEvaluation.of(np.concatenate(found), np.concatenate(unknown), level)


# ---------------------------------------------------------------------------------------------------- decisions


def checked(decision: Decision | Thresholds, fitted: Fitted) -> Decision | Thresholds:
    """Return a decision with the labels as texts; raises ValueError if it is not for the labels of a model."""
    from discern.data.values import label_text
    from discern.evaluation.decisions import Decision
    from discern.evaluation.several.thresholds import Thresholds

    several = fitted.resolved.several is not None
    if not isinstance(decision, Thresholds if several else Decision):
        wanted = "Thresholds: the model has several labels" if several else "a Decision: the model has one label"
        raise ValueError(f"pass {wanted} a row")
    decision = decision.renamed({label: label_text(label) for label in decision.named})
    strange = [label for label in decision.named if label not in fitted.labels]
    if isinstance(decision, Decision):
        _refuse_other_labels(decision, fitted.labels)
        if decision.max_false_alarms is not None and not fitted.has_novelty:
            raise ValueError(unusual.NO_NOVELTY)
    elif strange:
        raise ValueError(f"the model has no label {strange[0]!r}{did_you_mean(strange[0], fitted.labels)}")
    return decision


def _refuse_other_labels(decision: Decision, labels: Sequence[str]) -> None:
    """Refuse a decision that is not for the labels of a model; those that come later have defaults."""
    decision(np.zeros((1, len(labels))), labels)
    _ = decision.for_labels(labels)
    strange = [label for label in decision.labels if label not in labels]
    if strange:
        raise ValueError(f"the model has no label {strange[0]!r}{did_you_mean(str(strange[0]), labels)}")
    if missing := decision.defaults(labels):
        raise ValueError(f"the decision rule lacks the label {missing[0]!r}; it covers {list(decision.labels)}")


def decision_of(described: Any, labels: Sequence[str], several: bool) -> Decision | Thresholds | None:
    """Return the decision that a model file describes; raises ValueError if it could not decide."""
    if described is None:
        return None
    if several:
        from discern.evaluation.several.thresholds import Thresholds

        return Thresholds.from_json(described)
    from discern.evaluation.decisions import Decision

    decision = Decision.from_json(described)
    decision(np.full((1, len(labels)), 1 / len(labels)), labels)  # refuse now what could not decide
    _ = decision.for_labels(labels)
    return decision
