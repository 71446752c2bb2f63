"""Spark frames as discern sees them: their rows in batches, errors in one sentence, files on every executor."""

from __future__ import annotations

import gc
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from discern.data.batch import Batch, did_you_mean
from discern.data.roles import LOOKED_AT, leading_rows
from discern.data.strings import DataError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from discern.classifier import Classifier

    T = TypeVar("T")
    Work = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

_PLACE = b"discern.place"


def session_of(frame: DataFrame) -> Any:
    """Return the session of a frame, classic or Connect."""
    return frame.sparkSession


def refuse_embedder(classifier: Classifier) -> None:
    """Refuse a classifier that embeds texts: an embedder is not sent to the executors."""
    if classifier.embedder is not None or (classifier.is_fitted and classifier.resolved.embedder is not None):
        raise DataError(
            "Spark does not embed texts: add their vectors to the frame as a column of arrays, and train without embed"
        )


def columns_of(frame: DataFrame, names: list[str]) -> DataFrame:
    """Return some columns of a frame; refuses names it does not have."""
    for name in names:
        if name not in frame.columns:
            raise DataError(f"the frame has no column {name!r}{did_you_mean(name, frame.columns)}")
    return frame.select(*(f"`{name.replace('`', '``')}`" for name in names))


def first_rows(frame: DataFrame) -> Batch:
    """Return the rows of a frame to infer the roles of columns from."""
    batch = batch_of(frame.limit(LOOKED_AT).toArrow(), "the frame")
    first, _ = leading_rows(iter([batch]))
    return first or batch


def map_partitions(frame: DataFrame, work: Work, schema: Any) -> DataFrame:
    """Return what ``work`` makes of the batches of each partition."""
    return frame.mapInArrow(partial(in_worker, work), schema)


def batch_of(table: Any, source: str, start: int = 1) -> Batch:
    """Return the rows of an Arrow table or batch."""
    return Batch(dict(zip(table.schema.names, table.columns, strict=True)), table.num_rows, source, start)


# ------------------------------------------------------------------------------------------- within a partition


def in_worker(work: Work, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Work on a partition in one of Spark's processes."""
    yield from work(batches)
    pass_over_imports(len(sys.modules))


@lru_cache(maxsize=1)
def pass_over_imports(modules: int) -> None:
    """Let the garbage collector pass over what is there already; again when a task has imported more.

    PySpark collects after every task. With all that PySpark, pandas and discern import, a collection takes 40 ms and
    finds nothing, in which time Spark reads some 15 MB of Parquet.
    """
    gc.collect()
    gc.freeze()


def partition_number() -> int:
    """Return the number of the partition that is being worked on."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return 0 if context is None else int(context.partitionId())


def partition_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[Batch]:
    """Return the rows of a partition."""
    source, start = f"partition {partition_number()} of the frame", 1
    for batch in batches:
        place = (batch.schema.metadata or {}).get(_PLACE)
        if place:
            row, _, source = place.decode().partition(" ")
            start = int(row)
        if batch.num_rows:
            yield batch_of(batch, source, start)
        start += int(batch.num_rows)


def located(batch: pa.RecordBatch, source: str, row: int) -> pa.RecordBatch:
    """Note where the rows of a batch stand, for error messages."""
    return batch.replace_schema_metadata({_PLACE: f"{row} {source}"})


def record(**columns: Any) -> pa.RecordBatch:
    """Make an Arrow batch of lists and arrays."""
    import pyarrow as pa

    arrays = [column if isinstance(column, pa.Array) else pa.array(column) for column in columns.values()]
    return pa.RecordBatch.from_arrays(arrays, names=list(columns))


# ------------------------------------------------------------------------------------------------------- errors


@contextmanager
def one_sentence() -> Iterator[None]:
    """Raise the data error of a partition again in one sentence, without the tracebacks of Python and Java."""
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as error:
        found = re.findall(r"DataError: (.*)", str(error))
        if not found:
            raise
        raise DataError(found[-1].strip()) from None


# -------------------------------------------------------------------------------------------------- model files


def distribute(session: Any, model: Classifier) -> Callable[[], Classifier]:
    """Put a model on every executor, once; returns what loads it there."""
    return ship(session, partial(model.save, slim=True), read_classifier)


def ship(session: Any, write: Callable[[Path], str], read: Callable[[str], T]) -> Callable[[], T]:
    """Put a file on every executor, once; returns what reads it there.

    ``write`` writes the file and returns its checksum, ``read`` is a function of a module that takes its path.
    """
    written = Path(_folder().name, "model.part")
    name = f"discern-{write(written)}.model"
    path = written.replace(written.with_name(name))
    if hasattr(session, "addArtifacts") and not hasattr(session, "_sc"):
        session.addArtifacts(str(path), file=True)
    else:
        session.sparkContext.addFile(str(path))
    return partial(read_shipped, name, read)


@lru_cache(maxsize=1)
def _folder() -> tempfile.TemporaryDirectory[str]:
    """Return the folder that executors fetch models from, as long as this process lives."""
    return tempfile.TemporaryDirectory(prefix="discern-")


@lru_cache(maxsize=32)
def read_shipped(name: str, read: Callable[[str], T]) -> T:
    """Read a file that was shipped; a process reads it once. Its name is all that goes with a task."""
    from pyspark import SparkFiles

    return read(SparkFiles.get(name))


def read_classifier(path: str) -> Classifier:
    """Load a classifier that works on one core."""
    from discern.classifier import Classifier

    model = Classifier.load(path)
    model.threads = 1  # Spark has a task for every core
    return model
