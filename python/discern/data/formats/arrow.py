"""Parquet and Arrow."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from discern.data.batch import Batch, named_columns, without_index
from discern.data.formats import FORMATS, Format
from discern.data.source import Reading
from discern.data.strings import DataError

ROWS_AT_ONCE = 1 << 15


def read_parquet(path: Path, source: str, reading: Reading) -> Iterator[Batch]:
    """Return the rows of a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        yield from _arrow_batches(pq.ParquetFile(path).iter_batches(batch_size=ROWS_AT_ONCE), source, reading)
    except (pa.ArrowException, UnicodeDecodeError, OSError) as error:
        raise DataError(f"cannot read {source!r} as Parquet: {error}") from error


def read_arrow(path: Path, source: str, reading: Reading) -> Iterator[Batch]:
    """Return the rows of an Arrow file, stream or Feather file."""
    import pyarrow as pa

    try:
        with closing(pa.memory_map(str(path))) as file:
            yield from _arrow_batches(_record_batches(file), source, reading)
    except (pa.ArrowException, UnicodeDecodeError, OSError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"cannot read {source!r} as Arrow: {error}") from error


def _record_batches(file: Any) -> Iterator[Any]:
    """Return the batches of an Arrow file or stream, cut into parts of at most ``ROWS_AT_ONCE`` rows."""
    import pyarrow as pa

    start = file.read(6)
    file.seek(0)
    if start == b"ARROW1":
        reader = pa.ipc.open_file(file)
        found = (reader.get_batch(place) for place in range(reader.num_record_batches))
    else:
        found = iter(pa.ipc.open_stream(file))
    for batch in found:
        batch.validate(full=True)
        for first in range(0, batch.num_rows, ROWS_AT_ONCE):
            yield batch.slice(first, ROWS_AT_ONCE)


def _arrow_batches(found: Iterator[Any], source: str, reading: Reading) -> Iterator[Batch]:
    row = 1
    for batch in found:
        reading.advance(batch.nbytes)
        batch = without_index(batch, only_unnamed=True)
        yield Batch(named_columns(batch.schema.names, batch.columns, source), batch.num_rows, source, row)
        row += batch.num_rows


FORMATS.add(
    Format(
        name="parquet",
        position=3,
        title="Parquet",
        suffixes=(".parquet",),
        about="As in the file.",
        read=read_parquet,
        needs_path=True,
        compresses=True,
        spark={"format": "parquet"},
    )
)
FORMATS.add(
    Format(
        name="arrow",
        position=4,
        title="Arrow",
        suffixes=(".arrow", ".feather", ".ipc"),
        about="Arrow files and streams, Feather version 2.",
        read=read_arrow,
        needs_path=True,
        compresses=True,
    )
)
