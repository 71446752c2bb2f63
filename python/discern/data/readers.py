"""The entry to all data: files, frames and rows as batches of named columns."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.data.batch import Batch, Column, as_column, is_guessed, named_columns, part_of, without_index
from discern.data.formats import FORMATS, Format
from discern.data.source import COMPRESSIONS, Reading, compression_of, open_file, refuse_missing, refuse_pipe
from discern.data.strings import DataError
from discern.data.vectors.beside import Beside, placed_beside

if TYPE_CHECKING:
    from pathlib import Path


MANY_ROWS = 100
"""The least number of records whose columns become arrays."""
MANY_NUMBERS = 8
"""The least number of columns of numbers that are read apart from the other columns of a frame."""
ROWS_AT_ONCE = 1 << 15
"""The rows of a batch that holds vectors."""
SPREADSHEETS = frozenset([".xlsx", ".xls", ".xlsm", ".xlsb", ".ods", ".numbers"])
"""The suffixes of files that people pass in place of a CSV file."""


@dataclass(frozen=True)
class Sources:
    """Several sources, to be read one after the other."""

    parts: tuple[Any, ...]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.parts)


def can_be_read_again(source: Any) -> bool:
    """Return whether :func:`batches` returns the same rows when called again."""
    if isinstance(source, str | os.PathLike):
        return str(source) != "-" and (os.path.isfile(source) or os.path.isdir(source) or _is_pattern(_path(source)))
    if isinstance(source, Sources):
        return all(can_be_read_again(part) for part in source)
    if isinstance(source, Beside):
        return can_be_read_again(source.source)
    # A frame has a length; a stream has none.
    return isinstance(source, Batch | Mapping | Sequence) or hasattr(source, "__len__")


def batches(source: Any, reading: Reading | None = None) -> Iterator[Batch]:
    """Return the rows of a path, frame, Arrow table, list of rows or iterable of batches, batch by batch.

    Examples
    --------
    >>> [batch] = batches([{"label": "spam", "text": "win"}, {"label": "ham", "text": "hello"}])
    >>> batch.rows, list(batch.columns)
    (2, ['label', 'text'])
    """
    reading = reading or Reading()
    found = _batches(source, reading)
    return placed_beside(found, reading.vectors) if reading.vectors else found


def _batches(source: Any, reading: Reading) -> Iterator[Batch]:
    if isinstance(source, Batch):
        yield source
    elif isinstance(source, Beside):
        yield from placed_beside(_batches(source.source, reading), source.columns)
    elif isinstance(source, str | os.PathLike):
        yield from _files(_path(source), reading)
    elif isinstance(source, Mapping):
        yield from _from_mapping(source)
    elif isinstance(source, np.ndarray) and source.ndim == 2:
        yield from _from_mapping({"vector": source})
    elif isinstance(source, np.ndarray) and source.ndim == 1 and source.dtype.kind in "OUT":
        yield from _from_rows(source.tolist())
    elif hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__"):
        yield from _from_arrow(source)
    elif isinstance(source, Sequence):
        yield from _from_rows(source)
    elif isinstance(source, Iterable):
        for part in source:
            yield from _batches(part, reading)
    else:
        kind = type(source).__name__
        raise DataError(f"cannot read rows from a value of type {kind!r}; pass a path, a data frame, or a list of rows")


def _from_mapping(source: Mapping[Any, Any]) -> Iterator[Batch]:
    columns = {str(name): as_column(column) for name, column in source.items()}
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise DataError(f"the columns have different lengths: {lengths}")
    if not any(lengths.values()):
        return
    whole = Batch(columns, next(iter(lengths.values())))
    if not any(getattr(column, "ndim", 1) == 2 for column in columns.values()):
        yield whole
        return
    for start in range(0, whole.rows, ROWS_AT_ONCE):  # arrays may be mapped files, or of another precision
        part = {name: part_of(column, start, start + ROWS_AT_ONCE) for name, column in columns.items()}
        yield Batch(part, min(ROWS_AT_ONCE, whole.rows - start), start=start + 1)


def _from_rows(rows: Sequence[Any]) -> Iterator[Batch]:
    if all(isinstance(row, str) for row in rows):
        if rows:
            yield Batch({"text": list(rows)}, len(rows))
        return
    for index, row in enumerate(rows):
        if type(row) is not dict and not isinstance(row, Mapping):  # the first is quick to tell
            kind = type(row).__name__
            raise DataError(f"row {index + 1} is a {kind}; each row must be a string or a mapping of column to value")
    first = rows[0].keys()
    if all(type(name) is str for name in first) and all(row.keys() == first for row in rows):
        columns = {name: list(map(itemgetter(name), rows)) for name in first}
    else:
        names = list(dict.fromkeys(str(name) for row in rows for name in row))
        columns = {name: [row.get(name) for row in rows] for name in names}
    if len(rows) >= MANY_ROWS:
        columns = {name: _typed(column) for name, column in columns.items()}
    yield Batch(columns, len(rows), is_partial=True)


def _typed(column: list[Any]) -> Column:
    """Return values of one type as an array, which is faster to work with and means the same."""
    kinds = {*map(type, column)}
    kind = {float: np.float64, bool: np.bool_, int: np.int64}.get(kinds.pop()) if len(kinds) == 1 else None
    try:
        return column if kind is None else np.array(column, kind)
    except OverflowError:
        return column


def _from_arrow(source: Any) -> Iterator[Batch]:
    if _is_pandas(source):
        numbers = _plain_numbers(source)
        if numbers is not None:
            yield from numbers
            return
        places = _number_places(source)
        if places:
            yield from _with_numbers(source, places)
            return
    import pyarrow as pa

    try:
        table = without_index(pa.table(source))
        kinds = dict(zip(table.schema.names, table.schema.types, strict=True))
        if _is_pandas(source) and any(is_guessed(column, kinds.get(str(name))) for name, column in source.items()):
            raise TypeError("a column has values of several types")
    except (TypeError, ValueError) as fault:
        if _is_pandas(source):
            names, columns = zip(*source.items(), strict=True)
            yield from _from_mapping(named_columns(list(map(str, names)), columns, "the table"))
            return
        try:
            array = pa.chunked_array(source) if hasattr(source, "__arrow_c_stream__") else pa.array(source)
        except (TypeError, ValueError):
            raise DataError(f"cannot read rows from a value of type {type(source).__name__!r}: {fault}") from fault
        yield Batch({"text": array}, len(array))
        return
    start = 1
    for part in table.to_batches():  # in chunks, as they lie in memory
        yield Batch(named_columns(table.column_names, part.columns, "the table"), part.num_rows, "the table", start)
        start += part.num_rows


def _plain_numbers(source: Any) -> Iterator[Batch] | None:
    """Return the rows of a pandas frame whose columns are all numbers of one type of NumPy; None for another frame.

    Arrow would copy them, column by column.
    """
    kinds = {*getattr(source, "dtypes", ())} if len(source) and len(source.columns) else set()
    kind = kinds.pop() if len(kinds) == 1 else None
    if not _is_plain(kind):
        return None
    values = source.to_numpy()
    columns = named_columns([str(name) for name in source.columns], [*values.T], "the table")
    return iter([Batch(columns, len(source), "the table")])


def _number_places(source: Any) -> list[int]:
    """Return the places of the columns of a pandas frame that are numbers of NumPy, if there are many beside others."""
    places = [place for place, kind in enumerate(getattr(source, "dtypes", ())) if _is_plain(kind)]
    is_mixed = MANY_NUMBERS <= len(places) < len(source.columns) and len(source) > 0
    return places if is_mixed and len({str(name) for name in source.columns}) == len(source.columns) else []


def _with_numbers(source: Any, places: list[int]) -> Iterator[Batch]:
    """Return the rows of a pandas frame whose numbers do not pass through Arrow, column by column."""
    names, kinds = [str(name) for name in source.columns], list(source.dtypes)
    numbers = dict[str, Column]()
    for kind in {kinds[place] for place in places}:
        own = [place for place in places if kinds[place] == kind]
        numbers |= zip((names[place] for place in own), source.iloc[:, own].to_numpy().T, strict=True)
    others = source.iloc[:, [place for place, name in enumerate(names) if name not in numbers]]
    for batch in _from_arrow(others):
        ends = batch.start - 1, batch.start - 1 + batch.rows
        columns = {**batch.columns, **{name: part_of(column, *ends) for name, column in numbers.items()}}
        yield replace(batch, columns={name: columns[name] for name in names})


def _is_plain(kind: Any) -> bool:
    """Return whether a column is of numbers of NumPy that are read as they lie."""
    return isinstance(kind, np.dtype) and kind.kind in "biuf" and kind.itemsize <= 8


def _is_pandas(source: Any) -> bool:
    return hasattr(source, "columns") and hasattr(source, "items")


def _path(name: str | os.PathLike[str]) -> Path:
    from pathlib import Path  # not above: it takes a fifth of the time that importing discern takes

    return Path(name)


def _is_pattern(path: Path) -> bool:
    return any(character in str(path) for character in "*?[") and not path.exists()


def _files(path: Path, reading: Reading) -> Iterator[Batch]:
    """Return the rows of a file, of a folder, or of the files that a pattern matches, in order of names."""
    if not _is_pattern(path):
        yield from read_path(path, reading)
        return
    from glob import glob

    found = sorted(glob(str(path), recursive=True))
    if not found:
        raise DataError(f"no file matches {str(path)!r}; check the folder and the pattern")
    for one in found:
        yield from read_path(_path(one), reading)


def read_path(path: Path, reading: Reading) -> Iterator[Batch]:
    """Return the rows of a file or folder, by its format."""
    if path.is_dir():
        from discern.data.folders import read_folder

        yield from read_folder(path, reading)
        return
    form = _format_of(path, reading)
    source = "standard input" if str(path) == "-" else str(path)
    reading.start(source)
    if form.needs_path:
        refuse_pipe(path, form.title)
        yield from form.read(path, source, reading)
        return
    with open_file(path, compression_of(path)) as stream:
        yield from form.read(stream, source, reading)


def format_of(path: str | os.PathLike[str]) -> str | None:
    """Return the name of the format that the suffix of a file tells, or None.

    Examples
    --------
    >>> format_of("a.csv.gz"), format_of("model.discern")
    ('csv', None)
    """
    return _by_suffix().get(suffix_of(path))


def suffix_of(path: str | os.PathLike[str]) -> str:
    """Return the last suffix of a name in lower case, without that of a compression.

    Examples
    --------
    >>> suffix_of("a.b.CSV.gz"), suffix_of("README")
    ('.csv', '')
    """
    suffixes = [suffix.lower() for suffix in _path(path).suffixes]
    if suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def _by_suffix() -> dict[str, str]:
    return {suffix: form.name for form in FORMATS for suffix in form.suffixes}


def _format_of(path: Path, reading: Reading) -> Format:
    name = reading.format or format_of(path) or ("csv" if str(path) == "-" else None)
    if name is None:
        refuse_missing(path)  # a mistyped name tells no format either
        refuse_spreadsheet(path)
        raise DataError(
            f"cannot tell the format of {str(path)!r}; name it {', '.join(sorted(_by_suffix()))} "
            f"(also {', '.join(COMPRESSIONS)}) or pass the format"
        )
    return FORMATS[name]


def refuse_spreadsheet(path: Path) -> None:
    """Raise ``DataError`` for a file of a spreadsheet program."""
    if suffix_of(path) in SPREADSHEETS:
        raise DataError(f"{str(path)!r} is a spreadsheet; save it as CSV, and pass the CSV file")


def size_of(source: Any) -> int | None:
    """Return the size of an uncompressed file in bytes, or None if it is unknown."""
    if isinstance(source, str | os.PathLike) and os.path.isfile(source) and _path(source).suffix not in COMPRESSIONS:
        return os.path.getsize(source)
    return None


def total_size(sources: Sequence[str], format_name: str | None = None) -> int | None:
    """Return how many bytes it takes to read all sources, or None if that is unknown before they are read."""
    names = {format_name or format_of(source) for source in sources}
    sizes = [size_of(source) for source in sources]
    if any(FORMATS[name].compresses for name in names if name is not None):
        return None
    return sum(size for size in sizes if size is not None) if None not in sizes else None
