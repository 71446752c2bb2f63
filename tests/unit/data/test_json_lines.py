"""JSON lines are read natively, and mean what Python's JSON makes of them."""

import io
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discern.data.formats.jsonl as jsonl
from discern.data.batch import values_of
from discern.data.formats.jsonl import read_jsonl
from discern.data.source import Reading
from discern.data.strings import DataError, Strings
from discern.data.vectors.column import Vectors


def columns_of(content: bytes, reading: Reading | None = None) -> tuple[list[int], dict[str, list[Any]]]:
    """Return the numbers of the rows, and the columns as values."""
    numbers, columns = [], dict[str, list[Any]]()
    for batch in read_jsonl(io.BytesIO(content), "x", reading or Reading()):
        numbers += range(batch.start, batch.start + batch.rows)
        for name in batch.columns:
            columns.setdefault(name, []).extend(map(plain, values_of(batch.columns[name])))
    return numbers, columns


def plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


def line_by_line(content: bytes, monkeypatch: pytest.MonkeyPatch) -> Any:
    with monkeypatch.context() as patch:
        patch.setattr(jsonl, "_read_at_once", lambda block: None)
        return columns_of(content)


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.integers(-5, 5),
    st.floats(allow_nan=False),
    st.text(max_size=5),
)
values = st.one_of(
    scalars,
    st.lists(st.floats(-9, 9, width=32), max_size=3),
    st.lists(scalars, max_size=3),
    st.dictionaries(st.text(max_size=2), scalars, max_size=2),
)
rows_of_values = st.lists(st.dictionaries(st.sampled_from(["a", "b", "é", 'q"\\']), values, max_size=4), max_size=6)
rows_of_a_kind = st.sampled_from(
    [st.integers(-5, 5), st.floats(allow_nan=False), st.text(max_size=4), st.booleans()]
).flatmap(lambda kind: st.lists(st.fixed_dictionaries({}, optional={"a": st.none() | kind, "b": kind}), max_size=6))


@given(rows_of_values | rows_of_a_kind, st.booleans(), st.sampled_from(["\n", "\r\n", "\n \n"]))
def test_any_rows_come_back(rows: list[dict[str, Any]], ascii_only: bool, end: str) -> None:
    content = "".join(json.dumps(row, ensure_ascii=ascii_only) + end for row in rows).encode("utf-8", "surrogatepass")
    try:
        numbers, columns = columns_of(content)
    except DataError:
        assert not ascii_only  # a lone surrogate cannot be written as UTF-8
        assert any("\ud800" <= character <= "\udfff" for character in content.decode("utf-8", "surrogatepass"))
        return
    assert numbers == list(range(1, len(rows) + 1))
    assert list(columns) == list(dict.fromkeys(name for row in rows for name in row))
    for name, found in columns.items():
        expected = [row.get(name) for row in rows]
        if all(isinstance(value, list) for value in expected if value is not None):  # vectors have single precision
            continue
        assert [(type(value), value) for value in found] == [(type(value), value) for value in expected]


@given(st.text('{}[]",:\\/ntu0123456789.eE+-a\t\r \n', max_size=24))
def test_any_text_is_read_or_refused_as_by_python(text: str) -> None:
    content = b'{"a": ' + text.encode() + b"}\n"
    with pytest.MonkeyPatch.context() as monkeypatch:
        try:
            expected = line_by_line(content, monkeypatch)
        except DataError as error:
            expected = str(error)
    try:
        found = columns_of(content)
    except DataError as error:
        found = str(error)
    assert repr(found) == repr(expected)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["x", "y"], Strings),
        (["x", None], pa.LargeStringArray),
        ([1, 2], np.ndarray),
        ([1, None], pa.Int64Array),
        ([1.5, 2.0], np.ndarray),
        ([1.5, None], pa.DoubleArray),
        ([1, 2.5], list),
        ([True, False], np.ndarray),
        ([True, None], pa.BooleanArray),
        ([[1, 2.5], [3, 4]], Vectors),
        ([[1, 2.5], None], Vectors),
        ([[1, 2], [3]], list),
        ([[1], [2]], list),
        ([[1, 1e39], [2, 3]], list),
        ([float("nan"), 1.5], list),
        ([2**53 + 1, 2], list),
        ([{"x": 1}, None], list),
        (["x", 1], list),
        ([None, None], list),
    ],
)
def test_a_column_has_the_form_that_is_quick(values: list[Any], kind: type) -> None:
    content = "".join(json.dumps({"a": value}) + "\n" for value in values).encode()
    [batch] = read_jsonl(io.BytesIO(content), "x", Reading())
    assert isinstance(batch.columns["a"], kind)
    assert repr([plain(value) for value in values_of(batch.columns["a"])]) == repr(
        [list(map(float, value)) if kind is Vectors and value else value for value in values]
    )


def test_a_column_may_lack_in_a_block_and_come_later(monkeypatch: pytest.MonkeyPatch) -> None:
    import discern.data.buffer as buffer

    monkeypatch.setattr(buffer, "BLOCK", 64)
    lines = [json.dumps({"a": i} if i < 20 else {"b": f"é{i}", "a": i}) for i in range(40)]
    numbers, columns = columns_of("\n".join(lines).encode())
    assert numbers == list(range(1, 41))
    assert columns["a"] == list(range(40))
    assert columns["b"][-20:] == [f"é{i}" for i in range(20, 40)]


@pytest.mark.parametrize("odd", ['{"a": "\\ud800"}', '{"a": "b"', "[1]"])
def test_a_block_with_a_rare_row_is_read_line_by_line(odd: str) -> None:
    content = f'{{"a": "x"}}\n\n{odd}\n{{"a": "y"}}\n'.encode()
    reading = Reading(on_error="skip")
    numbers, columns = columns_of(content, reading)
    if "ud800" in odd:
        assert (numbers, columns) == ([1, 2, 3], {"a": ["x", "\ud800", "y"]})
    else:
        assert (numbers, columns, reading.faults) == ([1, 3], {"a": ["x", "y"]}, {"x": 1})
        with pytest.raises(DataError, match=r"^row 2 of x is "):
            columns_of(content)


def test_many_different_names_are_left_to_python() -> None:
    rows = [{f"n{i}": i} for i in range(9000)]
    content = "".join(json.dumps(row) + "\n" for row in rows[:3] + rows[-1:])
    [batch] = read_jsonl(io.BytesIO(content.encode()), "x", Reading())
    assert len(batch.columns) == 4
    wide = json.dumps({f"n{i}": i for i in range(9000)}).encode()
    [batch] = read_jsonl(io.BytesIO(wide), "x", Reading())
    assert (len(batch.columns), batch.columns["n8999"]) == (9000, [8999])
