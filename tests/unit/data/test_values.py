"""What a value means, one by one."""

from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discern.data.batch import Batch, as_texts, row_sizes, values_of
from discern.data.hashes import value_hashes
from discern.data.roles import Feature, levels_of, numbers_of
from discern.data.strings import DataError
from discern.data.values import canonical, doubles, is_missing, label_text, written
from discern.evaluation.evaluation import Evaluation

WRITTEN: list[tuple[Any, str]] = [
    ("007 ", "007 "),
    (np.str_("x"), "x"),
    (b"n\xc3\xa9", "né"),
    (bytearray(b"x"), "x"),
    (True, "true"),
    (np.bool_(False), "false"),
    (12, "12"),
    (np.uint8(200), "200"),
    (2**70, str(2**70)),
    (1.0, "1.0"),
    (1e22, "1e+22"),
    (float("inf"), "inf"),
    (np.float64(0.1), "0.1"),
    (np.float32(0.1), "0.1"),
    (np.float32(6.2922348e07), "62922348.0"),
    (np.float16(0.1), "0.1"),
    (Decimal("1.10"), "1.10"),
    (Decimal("1E+3"), "1000"),
    (date(2024, 1, 2), "2024-01-02"),
    (datetime(2024, 1, 2), "2024-01-02"),
    (datetime(2024, 1, 2, 3, 4, 5, 500000), "2024-01-02 03:04:05.5"),
    (datetime(2024, 1, 2, tzinfo=UTC), "2024-01-02 00:00:00Z"),
    (datetime(2024, 1, 2, tzinfo=timezone(timedelta(hours=-1))), "2024-01-02 01:00:00Z"),
    (datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1))), "0001-01-01T00:00:00+01:00"),
    (pd.Timestamp("2024-01-02 00:00:00.000000001"), "2024-01-02 00:00:00.000000001"),
    (np.datetime64("2024-01-02"), "2024-01-02"),
    (np.datetime64("2024-01"), "2024-01-01"),
    (np.datetime64("2024-01-02T03"), "2024-01-02 03:00:00"),
    (np.datetime64("2024-01-02T00:00:00", "ns"), "2024-01-02"),
    (time(1, 2), "01:02:00"),
    (timedelta(1), "1 day, 0:00:00"),
    (pd.Timedelta(1, "D"), "1 day, 0:00:00"),
    (np.timedelta64(1, "D"), "1 day, 0:00:00"),
    ([1], "[1]"),
]


@pytest.mark.parametrize(("value", "text"), WRITTEN)
def test_written(value: Any, text: str) -> None:
    assert written(value) == text
    assert type(written(value)) is str


@pytest.mark.parametrize(
    "value", [None, float("nan"), np.float32("nan"), pd.NA, pd.NaT, np.datetime64("NaT"), Decimal("sNaN")]
)
def test_missing(value: Any) -> None:
    assert is_missing(value)
    assert written(value) is None


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("True", "true"),
        ("FALSE", "false"),
        ("1.0", "1"),
        ("-3.00", "-3"),
        ("-0", "0"),
        ("-0.0", "0"),
        ("0.000", "0"),
        ("2024-01-02T00:00:00", "2024-01-02"),
        ("2024-01-02 00:00:00.000", "2024-01-02"),
        ("2024-01-02T03:04:05.500000+00:00", "2024-01-02 03:04:05.5Z"),
        ("2024-01-02T03:04:05-0130", "2024-01-02 04:34:05Z"),
    ],
)
def test_canonical(text: str, folded: str) -> None:
    assert canonical(text) == folded
    assert canonical(folded) == folded


@pytest.mark.parametrize(
    "text",
    [
        *["", "007", "007.0", "1.10", "1.", ".0", "1e5", "+1.0", "spam ", " 1.0", "tRUE", "Trueish", "1.0.0", "１.0"],
        *["2024-13-02T00:00:00", "2024-01-02 10:30", "0001-01-01T00:00:00+01:00", "2024-01-02", "T", "-"],
    ],
)
def test_other_texts_stay(text: str) -> None:
    assert canonical(text) == text


@given(st.text("0123456789.-TFrueals:+Z "))
def test_folding_twice_changes_nothing(text: str) -> None:
    assert canonical(canonical(text)) == canonical(text)


@given(st.floats(width=32, allow_nan=False))
def test_narrow_floats(number: float) -> None:
    [wide] = doubles(np.array([number], np.float32))
    assert repr(float(wide)) == written(np.float32(number))
    assert np.float32(wide) == np.float32(number)


def test_half_floats_with_missing_ones() -> None:
    assert str(doubles(np.array([0.1, np.nan, -2], np.float16)).tolist()) == "[0.1, nan, -2.0]"
    assert str(doubles(np.array([0.1, np.nan, np.inf], np.float32)).tolist()) == "[0.1, nan, inf]"


def test_label_text() -> None:
    assert [label_text(value) for value in (True, np.int64(3), 2.0, "x", b"True")] == ["true", "3", "2", "x", "true"]
    for missing in (None, "", float("nan")):
        with pytest.raises(ValueError, match="is not a label"):
            label_text(missing)


@pytest.mark.parametrize("column", [[b"a", b"\xff"], pa.array([b"a", b"\xff"]), np.array([b"a", b"\xff"])])
def test_bytes_that_are_not_utf_8(column: Any) -> None:
    for read in (lambda batch: batch.labels("x"), lambda batch: levels_of(batch, Feature("x", "category"))):
        with pytest.raises(DataError, match=r"^row 8 of column 'x' of here is not UTF-8; convert the column first$"):
            read(Batch({"x": column}, 2, "here", 7))


def test_labels_and_levels_that_mean_the_same_are_one() -> None:
    values = ["1.0", 1, True, "true", "1", "TRUE", 1.0]
    numbers, labels = Batch({"x": values}, 7).labels("x")
    assert (numbers.tolist(), labels) == ([0, 0, 1, 1, 0, 1, 0], ["1", "true"])
    assert levels_of(Batch({"x": [" 1.0", *values]}, 8), Feature("x", "flag"))[1] == ["yes"]


@pytest.mark.parametrize(
    "column",
    [
        ["true", "False", " 2.5", "", "?"],
        [True, np.bool_(False), Decimal("2.50"), None, float("nan")],
        np.array([1, 0, 2.5, np.nan, np.nan], np.float32),
        pa.array([1, 0, Decimal("2.5"), None, None], pa.decimal128(9, 3)),
        pa.array(["TRUE", "0", "2.5", None, "nan"]).dictionary_encode(),
        pa.array([b"1", b"false", b"2.5e0", b"", None]),
        pa.chunked_array([pa.array([1, 0], pa.float16()), pa.array([2.5, None, np.nan], pa.float16())]),
    ],
)
def test_numbers(column: Any) -> None:
    assert str(numbers_of(Batch({"x": column}, 5), "x").tolist()) == "[1.0, 0.0, 2.5, nan, nan]"


def test_integers_beyond_floats() -> None:
    column = [2**60 + 1, -(2**62)]
    for data in (column, pa.array(column), np.array(column), [str(value) for value in column]):
        assert numbers_of(Batch({"x": data}, 2), "x").tolist() == [float(2**60), -float(2**62)]


def test_a_row_that_holds_no_number_is_named() -> None:
    for column in (["1", "x", "x"], pa.array(["1", "x", "x"]), [1, date(2024, 1, 1), "x"]):
        with pytest.raises(DataError, match=r"^row 8 of here, column 'x': '(x|2024-01-01)' is not a number"):
            numbers_of(Batch({"x": column}, 3, "here", 7), "x")


def test_hashes() -> None:
    values = [1.5, 2, True, None, "né", "x" * 50, date(2024, 1, 2), "-inf", "12:30"]
    texts = ["1.50", "2.0", "TRUE", "", "né", "x" * 50, "2024-01-02T00:00:00", "-inf", "12:30"]
    rows = len(values)
    expected = value_hashes(Batch({"x": values}, rows), "x")
    assert len(set(expected.tolist())) == rows
    for column in (texts, pa.array(texts), pa.array(texts, pa.string_view()), pa.array(texts).dictionary_encode()):
        assert value_hashes(Batch({"x": column}, rows), "x").tolist() == expected.tolist()
    for column in ([1.5, 2, None], np.array([1.5, 2, np.nan], np.float32), pa.array(["1.5", "2", None])):
        assert value_hashes(Batch({"x": column}, 3), "x").tolist() == [*expected[:2].tolist(), expected[3]]


def test_sizes() -> None:
    texts = ["x" * 33, "é" * 20, "", "1"]
    arrays = [np.array(texts), np.array(texts, object), np.array([text.encode() for text in texts])]
    arrow = [pa.array(texts), pa.array(texts, pa.string_view())]
    for column in (texts, *arrays, *arrow, [text.encode() for text in texts]):
        assert row_sizes(Batch({"x": column, "y": np.zeros(4)}, 4)).tolist() == [57, 64, 32, 32]
        assert Batch({"x": column}, 4).size == 41 + 48 + 32


def test_columns_of_pandas_with_several_types() -> None:
    for values in ([date(2024, 1, 1), 5], [1, 2.5], [True, "x"]):
        series = pd.Series(values, dtype=object)
        [batch] = [*batches_of(pd.DataFrame({"x": series}))]
        assert as_texts(batch.columns["x"], "x") == [written(value) for value in values]
        assert values_of(batch.columns["x"]) == values


def batches_of(source: Any) -> Any:
    from discern.data.readers import batches

    return batches(source)


def test_evaluations_know_labels_as_models_do() -> None:
    shares = np.array([[0.9, 0.1], [0.2, 0.8]])
    judged = Evaluation.of([False, True], ["false", "true"], shares, ("false", "true"))
    assert judged.accuracy == 1
    assert Evaluation.of(np.array([0.0, 1.0]), ["0", "1"], shares, (0, 1)).accuracy == 1
