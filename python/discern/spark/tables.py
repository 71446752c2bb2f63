"""Estimators on tables of numbers, learned on Spark in one reduce: discriminants, and the basic linear classifier.

What they need of their rows are sums, which every partition makes of its own; they are added up in the order of the
partitions, so that the same partitions give the same bits.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.data.batch import Batch
from discern.data.roles import numbers_of
from discern.data.strings import DataError
from discern.estimators.base import ScatterClassifier
from discern.estimators.checks import refuse_huge
from discern.estimators.linear.centroids import BasicLinearClassifier
from discern.estimators.linear.discriminants import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from discern.learners.centers import Centers
from discern.spark.frames import columns_of, one_sentence, partition_batches, partition_number, record
from discern.spark.parquet import map_rows
from discern.statistics.scatter import Scatter

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame

    Array = NDArray[Any]

LEARNED = (LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis, BasicLinearClassifier)
PARTS = "partition int, classes string, sums binary"
NUMBERS = ("double", "float", "decimal", "int", "bigint", "smallint", "tinyint", "boolean")


def fit_estimator(frame: DataFrame, estimator: Any, label: str, features: list[str] | None) -> Any:
    """Learn from the columns of numbers of a frame; gives a new estimator that has learned."""
    if not isinstance(estimator, LEARNED) or getattr(estimator, "kernel", None) is not None:
        known = ", ".join(kind.__name__ for kind in LEARNED)
        raise ValueError(f"on Spark a discern.Classifier can learn, and without a kernel {known}")
    kinds = {name: kind.partition("(")[0] for name, kind in frame.dtypes}
    names = features or [name for name, kind in kinds.items() if kind in NUMBERS and name != label]
    if not names:
        raise DataError("the frame has no column of numbers beside the label")
    task = partial(sums_of_partition, estimator, label, names)
    with one_sentence():
        table = map_rows(columns_of(frame, [label, *names]), task, PARTS).toArrow().sort_by("partition")
    parts = [
        (np.array(json.loads(classes)), _decoded(estimator, content))
        for classes, content in zip(table.column("classes").to_pylist(), table.column("sums"), strict=True)
    ]
    if not parts:
        raise DataError("there are no rows to learn from")
    return _solved(estimator, names, *_total(parts))


def sums_of_partition(
    estimator: Any, label: str, names: list[str], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Add up the rows of a partition."""
    import pyarrow as pa
    import safetensors.numpy

    parts = [_sums(estimator, batch, label, names) for batch in partition_batches(batches)]
    if not parts:
        return
    classes, sums = _total(parts)
    arrays = {name: np.ascontiguousarray(array) for name, array in vars(sums).items() if isinstance(array, np.ndarray)}
    yield record(
        partition=pa.array([partition_number()], pa.int32()),
        classes=[json.dumps(classes.tolist())],
        sums=pa.array([safetensors.numpy.save(arrays)], pa.binary()),
    )


def _sums(estimator: Any, batch: Batch, label: str, names: list[str]) -> tuple[Array, Any]:
    column = batch.column(label)
    if column.null_count:
        batch.labels(label)  # raises, naming the row that has none
    classes, numbers = np.unique(column.to_numpy(zero_copy_only=False), return_inverse=True)
    table = np.column_stack([numbers_of(batch, name) for name in names])
    missing = np.argwhere(np.isnan(table))
    if len(missing):
        row, place = missing[0].tolist()
        raise DataError(f"row {batch.start + row} of {batch.source} has no number in column {names[place]!r}; fill it")
    refuse_huge(table, "the frame")
    if isinstance(estimator, ScatterClassifier):
        return classes, estimator._sums(table, numbers, len(classes), None)
    return classes, Centers.of(table, numbers, len(classes))


def _total(parts: list[tuple[Array, Any]]) -> tuple[Array, Any]:
    """Add up sums of different classes."""
    every = np.unique(np.concatenate([classes for classes, _ in parts]))
    total = None
    for classes, sums in parts:
        wide = sums.with_classes(np.searchsorted(every, classes), len(every))
        total = wide if total is None else total + wide
    return every, total


def _decoded(estimator: Any, content: Any) -> Scatter | Centers:
    import safetensors.numpy

    arrays: Mapping[str, Array] = safetensors.numpy.load(bytes(content.as_buffer()))
    if isinstance(estimator, ScatterClassifier):
        return Scatter(**arrays, pooled=bool(estimator._summed().get("pooled", False)))
    return Centers(**arrays)


def _solved(estimator: Any, names: list[str], classes: Array, sums: Any) -> Any:
    learned = type(estimator)(**estimator.get_params())
    learned._validate_params()
    learned.n_features_in_ = len(names)
    learned.feature_names_in_ = np.array(names, dtype=object)
    if isinstance(estimator, ScatterClassifier):
        learned._become(classes, sums)
    else:
        learned._solve(sums, classes)
    return learned
