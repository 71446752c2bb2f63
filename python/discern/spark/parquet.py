"""Frames that are Parquet files and nothing else: workers read these themselves.

To hand a row from Spark to a worker costs a third to a half of what Spark needs to read it. Where a frame is some
columns of whole files that every worker can open, Spark hands out row groups, and the workers read them with Arrow.
What is read is checked beforehand, by the footers of the files; any other frame takes the usual way.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit
from urllib.request import url2pathname

from discern.spark.frames import located, map_partitions, record, session_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from discern.spark.frames import Work

SWITCH = "spark.discern.workersReadParquet"
"""The setting for whether workers read files themselves, ``true`` or ``false``."""
FEW_FILES = 64
"""The most files whose footers are read here; Spark's workers read those of more."""
BATCH = 1 << 20
"""About how many bytes are read at once: they stay in the caches while they are counted."""
LEAST_SPLIT = 1 << 22
"""Fewer bytes are not worth a task."""
DESCRIBED = "path string, number long, size long, before long, at_once long"
_SOURCES = "org.apache.spark.sql.execution.datasources."
_FORBIDDEN = ("spark.sql.files.ignoreCorruptFiles", "spark.sql.files.ignoreMissingFiles")
_TYPES = {
    "string": ("string", "large_string"),
    "double": ("double",),
    "float": ("float",),
    "bigint": ("int64",),
    "int": ("int32",),
    "smallint": ("int16",),
    "tinyint": ("int8",),
    "boolean": ("bool",),
}
"""Types of Spark that Arrow reads as the same values, with Arrow's names."""


class Groups(NamedTuple):
    """Neighboring row groups of a file: how many rows are before them in the file, and how many to read at once."""

    path: str
    numbers: list[int]
    before: int
    at_once: int


Split = list[Groups]


def map_rows(frame: DataFrame, work: Work, schema: Any) -> DataFrame:
    """Return what ``work`` makes of all rows, of whichever partition: read by Spark, or by the workers if they can."""
    splits = splits_of(frame)
    if splits is None:
        return map_partitions(frame, work, schema)
    numbers = session_of(frame).range(0, len(splits), 1, len(splits))
    return map_partitions(numbers, partial(read_splits, splits, frame.columns, work), schema)


def splits_of(frame: DataFrame) -> list[Split] | None:
    """Return the row groups of a frame for each task, or none if Spark has to read it."""
    columns = {field.name: _TYPES.get(field.dataType.simpleString()) for field in frame.schema.fields}
    paths = None if None in columns.values() or len(columns) < len(frame.columns) else local_files(frame)
    if not paths:
        return None
    groups = _groups(session_of(frame), paths, columns)
    return None if groups is None else _packed(groups, _split_size(session_of(frame), groups))


# ----------------------------------------------------------------------------------------------------- on the driver


def local_files(frame: DataFrame) -> list[str] | None:
    """Return the paths of the files that a frame consists of, if it is columns of whole local Parquet files."""
    # Asked anew: a plan that was made before the frame was cached does not know of it.
    session, java = session_of(frame), getattr(frame.select("*"), "_jdf", None)
    if java is None or session.conf.get(SWITCH, "true") != "true":  # Spark Connect does not show its plans
        return None
    if any(session.conf.get(name, "false") == "true" for name in _FORBIDDEN):
        return None
    plan = java.queryExecution().optimizedPlan()
    while _class(plan) == "org.apache.spark.sql.catalyst.plans.logical.Project" and _only_columns(plan):
        plan = plan.child()
    if _class(plan) != f"{_SOURCES}LogicalRelation" or not _is_plain(plan.relation()):
        return None
    addresses = [urlsplit(address) for address in plan.relation().location().inputFiles()]
    if any(address.scheme != "file" or address.netloc for address in addresses):
        return None
    return sorted(url2pathname(address.path) for address in addresses)


def _class(java: Any) -> str:
    return str(java.getClass().getName())


def _only_columns(plan: Any) -> bool:
    listed = plan.projectList()
    names = {_class(listed.apply(place)) for place in range(listed.size())}
    return names <= {"org.apache.spark.sql.catalyst.expressions.AttributeReference"}


def _is_plain(relation: Any) -> bool:
    """Whether a relation is Parquet files as they are, without partitions, buckets or options of reading."""
    if _class(relation) != f"{_SOURCES}HadoopFsRelation":
        return False
    return (
        _class(relation.fileFormat()) == f"{_SOURCES}parquet.ParquetFileFormat"
        and _class(relation.location()) == f"{_SOURCES}InMemoryFileIndex"
        and relation.partitionSchema().length() == 0
        and relation.bucketSpec().isEmpty()
        and relation.options().removed("path").isEmpty()
    )


def _groups(session: Any, paths: list[str], columns: dict[str, Any]) -> list[tuple[int, Groups]] | None:
    """Return every row group with its size in bytes, or none if a file is not what Spark takes it for."""
    if len(paths) <= FEW_FILES:
        found = [described for path in paths for described in row_groups(path, columns)]
    else:
        tasks = min(len(paths), 4 * session.sparkContext.defaultParallelism)
        numbers = session.range(0, len(paths), 1, tasks)
        rows = map_partitions(numbers, partial(describe_files, paths, columns), DESCRIBED).toArrow().to_pylist()
        found = [
            (row["size"], Groups(row["path"], [row["number"]], row["before"], row["at_once"])) if row["path"] else None
            for row in rows
        ]
    return None if None in found else [group for group in found if group is not None]


def _split_size(session: Any, groups: list[tuple[int, Groups]]) -> int:
    """Return how many bytes a task reads: what Spark would choose."""
    most = session.sparkContext._jvm.org.apache.spark.network.util.JavaUtils.byteStringAsBytes(
        session.conf.get("spark.sql.files.maxPartitionBytes", "128MB")
    )
    total = sum(size for size, _ in groups)
    return int(min(most, max(LEAST_SPLIT, total // session.sparkContext.defaultParallelism)))


def _packed(groups: list[tuple[int, Groups]], size: int) -> list[Split]:
    splits: list[Split] = [[]]
    filled = 0
    for bytes_of_group, group in groups:
        if filled and filled + bytes_of_group > size:
            splits.append([])
            filled = 0
        last = splits[-1][-1] if splits[-1] else None
        if last is not None and last.path == group.path:
            last.numbers.extend(group.numbers)
        else:
            splits[-1].append(group)
        filled += bytes_of_group
    return splits


# -------------------------------------------------------------------------------------------------------- in workers


def describe_files(paths: list[str], columns: dict[str, Any], batches: Iterator[pa.RecordBatch]) -> Iterator[Any]:
    """Return the row groups of some files; without a path where a file is not what Spark takes it for."""
    for batch in batches:
        for place in batch.column(0).to_pylist():
            for group in row_groups(paths[place], columns):
                size, (path, [number], before, at_once) = group or (0, Groups("", [0], 0, 0))
                yield record(path=[path], number=[number], size=[size], before=[before], at_once=[at_once])


def row_groups(path: str, columns: dict[str, Any]) -> list[tuple[int, Groups] | None]:
    """Return the row groups of a file with their sizes in bytes; none if its columns differ from Spark's schema."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    try:
        with parquet.ParquetFile(path) as file:
            schema, metadata = file.schema_arrow, file.metadata
    except (OSError, pa.ArrowException):
        return [None]  # Spark reports the error
    if any(schema.names.count(name) != 1 or str(schema.field(name).type) not in columns[name] for name in columns):
        return [None]
    found: list[tuple[int, Groups] | None] = []
    before = 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        chunks = [group.column(place) for place in range(group.num_columns)]
        chunks = [chunk for chunk in chunks if chunk.path_in_schema in columns]
        if not all(_can_unpack(chunk.compression) for chunk in chunks):
            return [None]
        bytes_a_row = sum(chunk.total_uncompressed_size for chunk in chunks) / max(group.num_rows, 1)
        at_once = min(max(int(BATCH / max(bytes_a_row, 1)), 256), 1 << 16)
        found.append((sum(chunk.total_compressed_size for chunk in chunks), Groups(path, [number], before, at_once)))
        before += group.num_rows
    return found


def _can_unpack(compression: str) -> bool:
    import pyarrow as pa

    try:
        return compression == "UNCOMPRESSED" or bool(pa.Codec.is_available(compression))
    except ValueError:  # Arrow does not know it, such as LZO
        return False


def read_splits(
    splits: list[Split], columns: list[str], work: Work, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Work on the rows of the splits whose numbers come."""
    mine = (splits[number] for batch in batches for number in batch.column(0).to_pylist())
    yield from work(batch for split in mine for groups in split for batch in _read(groups, columns))


def _read(groups: Groups, columns: list[str]) -> Iterator[pa.RecordBatch]:
    import pyarrow.parquet as parquet

    with parquet.ParquetFile(groups.path, memory_map=True) as file:
        row = groups.before + 1
        for batch in file.iter_batches(groups.at_once, groups.numbers, columns, use_threads=False):
            yield located(batch.select(columns), groups.path, row)
            row += batch.num_rows
