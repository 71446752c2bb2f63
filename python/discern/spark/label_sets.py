"""Spark frames whose rows may have several labels: their sets become texts, each of which is a class of its own."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from discern.spark.frames import batch_of, map_partitions, partition_batches

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from discern.data.label_sets.reading import LabelSets
    from discern.models.settings import Settings


def has_label_sets(frame: DataFrame, settings: Settings) -> bool:
    """Return whether rows may have several labels: by the settings, or by the type of the column of labels."""
    if settings.label_separator or settings.labels_from:
        return True
    kinds = {field.name: field.dataType.typeName() for field in frame.schema.fields}
    return kinds.get(settings.label) == "array"


def with_label_sets(frame: DataFrame, settings: Settings) -> DataFrame:
    """Return a frame with the texts of the sets of labels in the column of labels."""
    import pyspark.sql.types as types

    gone = (*settings.labels_from, settings.label)
    fields = [field for field in frame.schema.fields if field.name not in gone]
    schema = types.StructType([*fields, types.StructField(settings.label, types.StringType())])
    names = [field.name for field in fields]
    work = partial(sets_of_partition, settings.label_sets, settings.label, names)
    return map_partitions(frame, work, schema)


def sets_of_partition(
    sets: LabelSets, label: str, names: list[str], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Return the rows of a partition with the texts of their sets of labels."""
    import pyarrow as pa

    for batch in partition_batches(batches):
        found = sets.of_batch(batch, label)
        columns = [batch.columns[name] for name in names]
        texts = pa.array(found.columns[label], pa.string())
        yield pa.RecordBatch.from_arrays([*columns, texts], names=[*names, label])


def predict_partition(model: Any, batch: pa.RecordBatch) -> list[Any]:
    """Return the labels of the rows of a batch, the probability of the likeliest, and those of all labels."""
    import pyarrow as pa

    parts = list(model.predictions(batch_of(batch, "the frame"))) if batch.num_rows else []
    labels = [one for part in parts for one in part.labels.tolist()]
    shares = [row for part in parts for row in part.probabilities.tolist()]
    most = pa.array([max(row, default=None) for row in shares], pa.float64())
    return [pa.array(labels, pa.list_(pa.string())), most, pa.array(shares, pa.list_(pa.float64()))]
