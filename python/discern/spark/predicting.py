"""Prediction, evaluation and cross-validation on Spark frames."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.classifier import Classifier
from discern.data.strings import DataError
from discern.evaluation.evaluation import Evaluation
from discern.models.validation.rows import row_keys
from discern.spark.frames import (
    batch_of,
    columns_of,
    distribute,
    map_partitions,
    one_sentence,
    partition_batches,
    record,
    refuse_embedder,
    session_of,
)
from discern.spark.label_sets import predict_partition as predict_labels
from discern.spark.parquet import map_rows
from discern.spark.sums import Counting, fold_numbers, sums_of_folds
from discern.statistics.sums import Sums

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from discern.analysis.crossvalidation import CrossValidation

EVALUATIONS = "fold int, evaluation string"


def predict(
    frame: DataFrame,
    model: Classifier,
    *,
    prediction: str = "prediction",
    probability: str = "probability",
    probabilities: str | None = None,
) -> DataFrame:
    """Return a frame with the label of each row and how probable it is.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
    model : Classifier
        It is sent to every executor once, as a file.
    prediction, probability : str
        The names of the new columns. Where rows may have several labels, the first is a list of them, and the second
        the probability of the likeliest.
    probabilities : str, optional
        The name of one more column with the probability of every label, in the order of ``model.labels``.
    """
    import pyspark.sql.types as types

    refuse_embedder(model)
    several = model.resolved.several is not None
    label = types.ArrayType(types.StringType()) if several else types.StringType()
    added: dict[str, Any] = {prediction: label, probability: types.DoubleType()}
    if probabilities is not None:
        added[probabilities] = types.ArrayType(types.DoubleType())
    for name in added:
        if name in frame.columns:
            raise DataError(f"the frame has a column {name!r} already; choose another name for the new one")
    if len(frame.columns) > 1:  # the only column of a frame is taken for the only text
        columns_of(frame, [feature.name for feature in model.features])
    fields = (types.StructField(name, kind) for name, kind in added.items())
    schema = types.StructType([*frame.schema.fields, *fields])
    shipped = distribute(session_of(frame), model)
    return map_partitions(frame, partial(predict_partition, shipped, list(added)), schema)


def predict_partition(
    shipped: Callable[[], Classifier], names: list[str], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Predict the rows of a partition."""
    import pyarrow as pa

    model = shipped()
    labels = pa.array(model.labels, pa.string())
    for batch in batches:
        if model.resolved.several is not None:
            found = predict_labels(model, batch)[: len(names)]
            yield pa.RecordBatch.from_arrays([*batch.columns, *found], names=[*batch.schema.names, *names])
            continue
        shares = model.predict_proba(batch_of(batch, "the frame")) if batch.num_rows else np.zeros((0, len(labels)))
        places = shares.argmax(axis=1)
        most = shares[np.arange(len(places)), places]
        columns = [labels.take(pa.array(places)), pa.array(most)]
        if len(names) > 2:
            offsets = np.arange(len(places) + 1, dtype=np.int32) * shares.shape[1]
            columns.append(pa.ListArray.from_arrays(pa.array(offsets), pa.array(shares.ravel())))
        yield pa.RecordBatch.from_arrays([*batch.columns, *columns], names=[*batch.schema.names, *names])


# --------------------------------------------------------------------------------------------------- evaluation


def evaluate(frame: DataFrame, model: Classifier) -> Evaluation:
    """Evaluate a model on the rows of a frame: the same figures as :meth:`discern.Classifier.evaluate` returns.

    What the rows add up to is kept, not the rows: there are no curves.
    """
    refuse_embedder(model)
    if model.resolved.several is not None:
        raise ValueError("on Spark, models of several labels a row predict; to evaluate one, collect the rows first")
    names = [model.label, *(feature.name for feature in model.features)]
    rows = columns_of(frame, names)
    shipped = [distribute(session_of(frame), model)]
    [evaluation] = _sum_evaluations(map_rows(rows, partial(evaluate_partition, shipped, names), EVALUATIONS), 1)
    return evaluation


def evaluate_partition(
    shipped: list[Callable[[], Classifier]], names: list[str], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Evaluate the rows of a partition, each with the model of its fold."""
    totals: dict[int, Evaluation] = {}
    for batch in partition_batches(batches):
        numbers = fold_numbers(row_keys(batch, names), len(shipped))
        for fold in np.unique(numbers).tolist():
            rows = batch if len(shipped) == 1 else batch.take(numbers == fold)
            part = replace(shipped[fold]().evaluate(rows), parts=None)
            totals[fold] = totals[fold] + part if fold in totals else part
    for fold, evaluation in totals.items():
        yield _evaluation_record(fold, evaluation)


def _evaluation_record(fold: int, evaluation: Evaluation) -> pa.RecordBatch:
    import pyarrow as pa

    written = json.dumps(
        {
            "labels": evaluation.labels,
            "confusion": evaluation.confusion.tolist(),
            "sums": evaluation.sums,
            "bins": evaluation.bins.tolist(),
            "unseen": evaluation.unseen,
            "size": evaluation.size,
        }
    )
    return record(fold=pa.array([fold], pa.int32()), evaluation=[written])


def _read_evaluation(written: str) -> Evaluation:
    read: dict[str, Any] = json.loads(written)
    return Evaluation(
        tuple(read["labels"]),
        np.array(read["confusion"], np.int64),
        tuple(read["sums"]),
        np.array(read["bins"], np.int64),
        int(read["unseen"]),
        None,
        int(read["size"]),
    )


def _sum_evaluations(parts: DataFrame, folds: int) -> list[Evaluation]:
    """Add up the evaluations of all partitions, for each fold."""
    with one_sentence():
        table = parts.toArrow()
    totals: dict[int, Evaluation] = {}
    for fold, written in zip(table.column("fold").to_pylist(), table.column("evaluation").to_pylist(), strict=True):
        part = _read_evaluation(written)
        totals[fold] = totals[fold] + part if fold in totals else part
    if len(totals) < folds:
        raise DataError("there are no rows to evaluate on" if not totals else "a fold has no rows; use fewer folds")
    return [totals[fold] for fold in range(folds)]


# --------------------------------------------------------------------------------------------- cross-validation


def cross_validate(frame: DataFrame, classifier: Classifier, folds: int = 10) -> CrossValidation:
    """Evaluate a classifier on held-out rows of a frame, exactly as if it were trained again without them.

    Few rows, and models in a vector space, are evaluated on the driver as :func:`discern.cross_validate` does. Many
    rows are counted in one pass, each fold apart; a fold's model is the total minus the fold; a second pass evaluates
    each row with the model that never saw it. Folds are then dealt by the keys of rows: rows that are the same stay
    together.
    There are no figures of single rows then.
    """
    # Not above: a worker that predicts or evaluates needs neither.
    import discern.analysis.crossvalidation as single
    from discern.models.fitted import Fitted
    from discern.models.resolving import resolve
    from discern.spark.learning import Rows, features_of

    if folds < 2:
        raise ValueError(f"folds must be a number from 2, not {folds!r}")
    refuse_embedder(classifier)
    features, _ = features_of(frame, classifier)
    rows = Rows(frame, classifier, tuple(features))
    sample = rows.sample()
    if rows.kept is not None:
        return single.cross_validate(classifier, iter(sample.batches), folds)
    if not classifier.settings.is_sum:
        raise ValueError(
            f"there are too many rows to train {classifier.model!r} again for each fold: "
            "cross-validate a part of them, such as frame.sample(0.01)"
        )
    resolved = resolve(classifier.settings, sample, features)
    counting = Counting(classifier.label, resolved, folds)
    sums = sums_of_folds(frame, counting)
    total = Sums.total(sums)
    shipped = []
    for fold in sums:
        model = Classifier.of(classifier.settings, Fitted(classifier.settings, resolved, total - fold))
        shipped.append(distribute(session_of(frame), model))
    work = partial(evaluate_partition, shipped, counting.names)
    parts = map_rows(columns_of(frame, counting.names), work, EVALUATIONS)
    evaluations = _sum_evaluations(parts, folds)
    whole = evaluations[0]
    for part in evaluations[1:]:
        whole = whole + part
    none = np.zeros((0, len(total.labels)))
    return single.CrossValidation(tuple(evaluations), whole, total.labels, none, np.zeros(0, np.str_))
