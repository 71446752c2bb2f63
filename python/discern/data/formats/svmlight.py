"""svmlight: a label and pairs of index and value on each line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from discern.data.batch import Batch, Column
from discern.data.formats import FORMATS, Format
from discern.data.formats.lines import lines_of
from discern.data.source import Reading, compression_of, in_parts, open_file, without_gaps
from discern.data.strings import DataError

MAX_INDICES = 4096
"""The limit on different indices in a file, because each becomes a column."""
CELLS_AT_ONCE = 1 << 20

Row = tuple[int, str, dict[int, float]]
"""The number of a row, its label, and its values by index."""


def read_svmlight(path: Path, source: str, reading: Reading) -> Iterator[Batch]:
    """Return the rows of an svmlight file: a column ``label``, and a column of numbers for each index.

    The index is the name of the column, which holds 0 where a row does not have it. The file is read twice, because the
    indices are known only at its end.
    """
    indices: set[int] = set()
    for _, _, values in _rows(path, source, Reading(encoding=reading.encoding, on_error="skip")):
        indices.update(values)
        if len(indices) > MAX_INDICES:
            raise DataError(
                f"{source} has more than {MAX_INDICES:,} indices, too many for columns; "
                "read it with sklearn.datasets.load_svmlight_file and use an estimator"
            )
    places = {index: place for place, index in enumerate(sorted(indices))}
    for rows in in_parts(_rows(path, source, reading), lambda _: len(places), CELLS_AT_ONCE, CELLS_AT_ONCE):
        table = np.zeros((len(places), len(rows)))
        for place, (_, _, values) in enumerate(rows):
            for index, value in values.items():
                table[places[index], place] = value
        columns: dict[str, Column] = {"label": [label for _, label, _ in rows]}
        columns.update({str(index): table[place] for index, place in places.items()})
        yield from without_gaps(columns, np.array([number for number, _, _ in rows], np.int64), source)


def _rows(path: Path, source: str, reading: Reading) -> Iterator[Row]:
    number = 0
    with open_file(path, compression_of(path)) as stream:
        for lines in lines_of(stream, source, reading):
            for place in range(len(lines)):
                line = lines.bytes_at(place).split(b"#", 1)[0]
                if not line.strip():
                    continue  # blank, or a comment
                number += 1
                try:
                    row = number, *_label_and_values(line)
                except ValueError as error:
                    fault = f"row {number} of {source}: {error}; it should be a label and index:value pairs"
                    reading.report_fault(source, fault)
                    if not reading.keeps_bad_rows:
                        continue
                    row = number, _label(line.split()[0]), {}
                yield row


def _label_and_values(line: bytes) -> tuple[str, dict[int, float]]:
    label, *pairs = line.split()
    values = {}
    for pair in pairs:
        index, colon, value = pair.partition(b":")
        if index == b"qid" and colon:
            continue  # groups rows for ranking
        if not (index.isdigit() and len(index) <= 18) or not colon:
            raise ValueError(f"{pair.decode('utf-8', 'replace')[:40]!r} is not a pair of index and value")
        try:
            values[int(index)] = float(value)
        except ValueError:
            raise ValueError(f"the value of column {index.decode()!r} is not a number") from None
    return _label(label), values


def _label(written: bytes) -> str:
    return written.decode("utf-8", "replace").removeprefix("+")


FORMATS.add(
    Format(
        name="svmlight",
        position=5,
        title="svmlight",
        suffixes=(".svm", ".svmlight", ".libsvm"),
        about="`label`, and a numeric column for each index, 0 where a row does not have it. At most 4,096 indices. "
        "`qid` and comments are ignored, `+1` is read as `1`.",
        read=read_svmlight,
        needs_path=True,
    )
)
