"""Sums over the rows of a frame: each partition counts its own, then they are merged.

A task gives its statistics as rows, never by accumulators: a task that is run twice, by a retry or by speculation, is
still counted once. Where the statistics of all partitions fit on the driver they are merged there. Where they do not,
Spark adds them up by term and label, and drops terms that too few rows hold before anything comes to the driver.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.data.roles import Feature
from discern.data.strings import Strings
from discern.data.text import TextSettings
from discern.learners.bayes import NaiveBayesSettings
from discern.models.file import narrow
from discern.models.resolved import Resolved
from discern.models.validation.rows import row_keys
from discern.spark.frames import (
    columns_of,
    map_partitions,
    one_sentence,
    partition_batches,
    partition_number,
    record,
)
from discern.spark.parquet import map_rows
from discern.statistics.counts import Counts
from discern.statistics.statistic import Statistic
from discern.statistics.sums import Sums

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame

MOST_ON_DRIVER = 1 << 28
"""The most bytes of statistics of all partitions that the driver merges; Spark adds up more."""
FIRST_PARTS = 64
"""The most partitions whose statistics come to the driver at once, if each takes no more than its share."""
PARTS = "partition int, part int, bytes long, rest binary, sums binary"
ENTRIES = "column int, term binary, label string, occurrences long, documents long"


@dataclass(frozen=True)
class Counting:
    """What to count: rows with resolved settings; apart for each of several folds of rows."""

    label: str
    resolved: Resolved
    folds: int = 1

    @classmethod
    def of_columns(cls, label: str, features: tuple[Feature, ...], text: TextSettings) -> Counting:
        """Count columns, each alone."""
        return cls(label, Resolved(NaiveBayesSettings(), text, features))

    @property
    def features(self) -> tuple[Feature, ...]:
        """The columns with their roles."""
        return self.resolved.features

    @property
    def names(self) -> list[str]:
        """The columns that are read."""
        return [self.label, *(feature.name for feature in self.features)]

    @property
    def kinds(self) -> list[type[Statistic]]:
        """What rows are summed into."""
        return self.resolved.statistics

    def to_json(self) -> str:
        """Return everything in plain text, which is what is sent to executors."""
        import safetensors.numpy

        arrays = {name: np.ascontiguousarray(array) for name, array in self.resolved.arrays().items()}
        space = base64.b64encode(safetensors.numpy.save(arrays)).decode()
        return json.dumps([self.label, self.resolved.to_json(), space, self.folds])

    @classmethod
    def from_json(cls, text: str) -> Counting:
        """Read what :meth:`to_json` gave."""
        import safetensors.numpy

        label, resolved, space, folds = json.loads(text)
        arrays = safetensors.numpy.load(base64.b64decode(space))
        return cls(label, Resolved.from_json(resolved).with_space(arrays), folds)


# ------------------------------------------------------------------------------------------- within a partition


def count_partition(described: str, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Count the rows of a partition: its statistics, a row for each fold."""
    counting = Counting.from_json(described)
    summings = [counting.resolved.summing(threads=1) for _ in range(counting.folds)]
    for batch in partition_batches(batches):
        if counting.folds == 1:
            summings[0].add(batch, counting.label)
            continue
        numbers = fold_numbers(row_keys(batch, counting.names), counting.folds)
        for fold, summing in enumerate(summings):
            summing.add(batch.take(numbers == fold), counting.label)
    for fold, summing in enumerate(summings):
        sums = summing.sums()
        if sums.rows:
            yield _part(fold, sums)


def fold_numbers(keys: NDArray[np.uint64], folds: int) -> NDArray[np.int64]:
    """Return the fold of each row by its key: rows that are the same are in the same fold."""
    return ((keys >> np.uint64(11)) % np.uint64(folds)).astype(np.int64)


def _part(fold: int, sums: Sums) -> pa.RecordBatch:
    import pyarrow as pa

    whole = encode(sums)
    return record(
        partition=pa.array([partition_number()], pa.int32()),
        part=pa.array([fold], pa.int32()),
        bytes=[len(whole)],
        rest=pa.array([encode(_without_terms(sums))], pa.binary()),
        sums=pa.array([whole], pa.binary()),
    )


def _without_terms(sums: Sums) -> Sums:
    """Return the sums without the terms of any column: what is small however large the vocabulary is."""
    none = {place: counts.with_terms(np.zeros(len(counts.terms), bool)) for place, counts in sums.counts.items()}
    return sums.with_counts(none)


def entries_of_partition(
    kinds: Sequence[type[Statistic]], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Return the statistics of partitions entry by entry, to be added up by Spark."""
    for batch in batches:
        for blob in batch.column(0):
            for place, counts in decode(blob.as_buffer(), kinds).counts.items():
                if len(counts.entry_terms):
                    yield _entries(place, counts)


def _entries(number: int, counts: Counts) -> pa.RecordBatch:
    import pyarrow as pa

    offsets = pa.py_buffer(counts.terms.offsets.astype(np.int32))
    terms = pa.BinaryArray.from_buffers(
        pa.binary(), len(counts.terms), [None, offsets, pa.py_buffer(np.ascontiguousarray(counts.terms.data))]
    )
    return record(
        column=pa.array(np.full(len(counts.entry_terms), number, np.int32)),
        term=terms.take(pa.array(counts.entry_terms)),
        label=pa.array(counts.labels, pa.string()).take(pa.array(counts.entry_classes)),
        occurrences=pa.array(counts.occurrences),
        documents=pa.array(counts.documents),
    )


# ------------------------------------------------------------------------------------------------------ as bytes


def encode(sums: Sums) -> bytes:
    """Return sums as bytes: numbers and plain text."""
    import safetensors.numpy

    labels = Strings.of(sums.labels)
    arrays = {**sums.arrays(), "labels.offsets": labels.offsets, "labels.bytes": labels.data}
    return bytes(safetensors.numpy.save({name: np.ascontiguousarray(narrow(array)) for name, array in arrays.items()}))


def decode(content: Any, kinds: Sequence[type[Statistic]]) -> Sums:
    """Read what :func:`encode` gave."""
    import safetensors.numpy

    arrays: Mapping[str, NDArray[Any]] = safetensors.numpy.load(bytes(content))
    labels = Strings(arrays["labels.offsets"].astype(np.int64), arrays["labels.bytes"]).to_list()
    return Sums.from_arrays(labels, arrays, kinds)


# ------------------------------------------------------------------------------------------------- on the driver


def sums_of(frame: DataFrame, counting: Counting, min_df: int = 1, most: int | None = None) -> Sums:
    """Count the rows of a frame.

    If the statistics of all partitions take more than ``most`` bytes they are added up by Spark, and terms that fewer
    than ``min_df`` rows hold are gone.
    """
    most = MOST_ON_DRIVER if most is None else most
    with _counted(frame, counting) as parts, one_sentence():
        blobs, total = _first_parts(parts, most)
        if blobs.null_count and total <= most:
            blobs = parts.select("sums").toArrow().column("sums")
        if total > most:
            return _added_by_spark(parts, counting, min_df)
        return Sums.total(decode(blob.as_buffer(), counting.kinds) for blob in blobs)


def sums_of_folds(frame: DataFrame, counting: Counting) -> list[Sums]:
    """Count the rows of a frame, apart for each fold."""
    with _counted(frame, counting) as parts, one_sentence():
        table = parts.select("part", "sums").toArrow()
        folds: list[list[Sums]] = [[] for _ in range(counting.folds)]
        for fold, blob in zip(table.column("part").to_pylist(), table.column("sums"), strict=True):
            folds[fold].append(decode(blob.as_buffer(), counting.kinds))
        return [Sums.total(parts_of_fold) for parts_of_fold in folds]


@contextmanager
def _counted(frame: DataFrame, counting: Counting) -> Iterator[DataFrame]:
    """Return the statistics of each partition, kept by Spark as long as they are needed."""
    rows = columns_of(frame, counting.names)
    parts = map_rows(rows, partial(count_partition, counting.to_json()), PARTS).persist()
    try:
        yield parts
    finally:
        parts.unpersist()


def _first_parts(parts: DataFrame, most: int) -> tuple[Any, int]:
    """Return the bytes that all statistics take, and by the same job those of a few partitions, often of all."""
    import pyspark.sql.functions as sql

    few = (sql.col("partition") < FIRST_PARTS) & (sql.col("bytes") <= most // FIRST_PARTS)
    table = parts.select("bytes", sql.when(few, sql.col("sums")).alias("sums")).toArrow()
    return table.column("sums"), sum(table.column("bytes").to_pylist())


def _added_by_spark(parts: DataFrame, counting: Counting, min_df: int) -> Sums:
    import pyspark.sql.functions as sql

    entries = map_partitions(parts.select("sums"), partial(entries_of_partition, counting.kinds), ENTRIES)
    totals = (
        entries.repartition("column", "term")
        .groupBy("column", "term", "label")
        .agg(sql.sum("occurrences").alias("occurrences"), sql.sum("documents").alias("documents"))
    )
    terms = totals.groupBy("column", "term").agg(
        sql.sum("documents").alias("held"),
        sql.collect_list(sql.struct("label", "occurrences", "documents")).alias("entries"),
    )
    texts = [number for number, feature in enumerate(counting.features) if feature.role == "text"]
    kept = terms.where((sql.col("held") >= min_df) | ~sql.col("column").isin(texts))
    table = kept.select("column", "term", sql.inline("entries")).toArrow()
    blobs = parts.select("rest").toArrow().column("rest")
    rest = Sums.total(decode(blob.as_buffer(), counting.kinds) for blob in blobs)
    whole = {place: _with_entries(own, table.filter(_is_column(table, place))) for place, own in rest.counts.items()}
    return rest.with_counts(whole)


def _is_column(table: pa.Table, number: int) -> Any:
    import pyarrow.compute as pc

    return pc.equal(table.column("column"), number)


def _with_entries(counts: Counts, table: pa.Table) -> Counts:
    """Put entries, in any order, to the documents of each class."""
    import pyarrow as pa
    import pyarrow.compute as pc

    distinct = table.column("term").cast(pa.large_binary()).combine_chunks()
    terms = pc.unique(distinct)
    terms = terms.take(pc.sort_indices(terms))
    places = pc.index_in(distinct, value_set=terms).to_numpy(zero_copy_only=False).astype(np.int64)
    labels = pc.index_in(table.column("label"), value_set=pa.array(counts.labels, pa.string()))
    classes = labels.to_numpy().astype(np.int64)
    order = np.argsort(places * max(len(counts.labels), 1) + classes, kind="stable")
    numbers = [table.column(name).to_numpy()[order] for name in ("occurrences", "documents")]
    lengths = pc.binary_length(terms).to_numpy(zero_copy_only=False)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    data = np.frombuffer(b"".join(terms.to_pylist()), np.uint8)
    return Counts(
        counts.labels, counts.class_documents, Strings(offsets, data), places[order], classes[order], *numbers
    )
