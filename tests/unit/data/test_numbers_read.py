"""Numbers are read natively, with the values, the missing markers and the faults that Python's float has."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discern._native as native
from discern.data.batch import Batch
from discern.data.hashes import value_hashes
from discern.data.readers import batches
from discern.data.roles import MISSING, TRUTH, Feature, infer, leading_rows, numbers_of, with_values_read
from discern.data.strings import DataError, Strings
from discern.data.values import canonical

SPELLINGS = [
    *("0", "-0", "00", "1.", ".5", "+1", "-1.50", "1e5", "1E-5", "1e+05", "123456789012345678901234567890", "1e-400"),
    *("9007199254740993", "4.9e-324", "2.2250738585072011e-308", "0.1", " 7 ", "\t7\n", "\x1c7", "\xa07", "٣", "true"),
    *("FALSE", "True", *MISSING, " NA ", "1.0", "-0.0", "0." + "0" * 50 + "1", "1e0000000000005"),
]
NO_NUMBERS = [
    "x",
    "1_0",
    "1,5",
    "1 2",
    "0x1",
    "--1",
    "1e",
    ".",
    "---",
    "e5",
    "1.2.3",
    "yes",
    "nan(1)",
    "1e5.0",
    "\0",
    "1\0",
]
HUGE = ["1e309", "-1e999", "inf", "-Infinity", "1" * 310]
FORMS: list[Callable[[list[str]], Any]] = [Strings.of, list, lambda values: pd.Series(values, dtype="str").array]


def expected(text: str) -> float:
    text = canonical(text.strip())
    return math.nan if text in MISSING else TRUTH[text] if text in TRUTH else float(text)


@pytest.mark.parametrize("form", FORMS)
def test_every_spelling_has_the_value_that_python_gives_it(form: Callable[[list[str]], Any]) -> None:
    found = numbers_of(Batch({"x": form(SPELLINGS)}, len(SPELLINGS)), "x")
    np.testing.assert_array_equal(found, [expected(text) for text in SPELLINGS])
    for text in SPELLINGS:  # whatever stands beside it
        np.testing.assert_array_equal(numbers_of(Batch({"x": form([text])}, 1), "x"), [expected(text)])


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(["r", ".17g", ".3f", "e", ".25e", "g"]))
def test_any_double_comes_back(number: float, form: str) -> None:
    text = repr(number) if form == "r" else format(number, form)
    found = numbers_of(Batch({"x": Strings.of([text])}, 1), "x")
    assert found.view(np.int64)[0] == np.float64(text).view(np.int64)


@given(st.text("0123456789+-.eE_ \t", max_size=12))
def test_what_is_refused_is_what_python_refuses(text: str) -> None:
    try:
        value = math.inf if "_" in text else expected(text)
    except ValueError:
        value = math.inf
    if math.isinf(value):
        with pytest.raises(DataError, match="row 1 of the rows, column 'x'"):
            numbers_of(Batch({"x": Strings.of([text])}, 1), "x")
    else:
        np.testing.assert_array_equal(numbers_of(Batch({"x": Strings.of([text])}, 1), "x"), [value])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("bad", NO_NUMBERS + HUGE)
def test_a_fault_tells_its_row_and_column(bad: str, form: Callable[[list[str]], Any]) -> None:
    fault = "is too large a number" if bad in HUGE else "is not a number"
    with pytest.raises(DataError, match=rf"^row 7 of x\.csv, column 'x': .*{fault}"):
        numbers_of(Batch({"x": form(["1", "", bad, bad])}, 4, "x.csv", 5), "x")


@pytest.mark.parametrize("text", [*SPELLINGS, *NO_NUMBERS, *HUGE, "2024-01-02", "T", "F", "-", "007", "é", "spam"])
def test_a_text_is_hashed_as_its_value_or_its_canonical_text(text: str) -> None:
    """What rows are chosen by does not depend on the way that hashes are computed."""
    plain = text.removeprefix("-")[:1] in set("0123456789.") and text[-1:] in set("0123456789.")
    [found] = value_hashes(Batch({"x": Strings.of([text])}, 1), "x")
    try:
        number = float(text) if plain and "_" not in text and len(text) <= 40 else None
    except ValueError:
        number = None
    if number is None:
        assert found == native.row_hashes([canonical(text) if len(text) <= 40 else text])[0]
    else:
        assert (
            found == native.row_hashes(Strings(np.array([0, 8]), np.array([number + 0.0]).view(np.uint8)).native())[0]
        )
        assert found == value_hashes(Batch({"x": np.array([number])}, 1), "x")[0]


@pytest.mark.parametrize(
    "texts", [["1.5", ""], ["-0", "1e3"], ["1", " 1"], ["NA", "1"], ["-", "1"], ["+1"], ["1" * 33], ["inf"], ["true"]]
)
def test_texts_are_replaced_by_numbers_only_where_nothing_can_tell(texts: list[str]) -> None:
    batch = Batch({"x": Strings.of(texts), "other": Strings.of(texts)}, len(texts))
    read = with_values_read(batch, [Feature("x", "number"), Feature("other", "category")])
    assert isinstance(read.columns["other"], Strings)
    assert isinstance(read.columns["x"], np.ndarray) == (texts in (["1.5", ""], ["-0", "1e3"]))
    assert value_hashes(read, "x").tolist() == value_hashes(batch, "x").tolist()
    assert read.size == batch.size


@pytest.mark.parametrize(
    ("values", "role"),
    [
        ([f"{i}" for i in range(200)], None),
        ([f"{i:03}" for i in range(200)], None),
        ([f"{i}.0" for i in range(200)], None),
        ([f"{i * 2}" for i in range(200)], "number"),
        ([f"{i % 7}" for i in range(200)], "number"),
        (["0", "1"] * 100, "flag"),
        (["1.0", "0"] * 100, "flag"),
        (["1", "1", "1", "0"] * 50 + ["5"], "number"),
        ([""] * 200, None),
        (["NA"] * 150 + ["1", "2", "4"], "number"),
        (["1"] * 150 + ["x"] * 50, "category"),
    ],
)
def test_roles_of_numbers(values: list[str], role: str | None, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("\n".join(["label,value", *(f"a,{value}" for value in values)]))
    first, _ = leading_rows(batches(tmp_path / "x.csv"))
    assert first is not None
    assert [feature.role for feature in infer(first, "label")[0]] == ([] if role is None else [role])
    assert infer(Batch({"label": ["a"] * len(values), "value": values}, len(values)), "label") == infer(first, "label")


def texts_of(batch: Batch, name: str) -> list[str]:
    return Strings(*native.packed(batch.texts(name))).to_list()


FRAMES = {
    "floats": pd.DataFrame({"a": [1.5, np.nan], "b": [2.0, 3.0]}),
    "single": pd.DataFrame({"a": [0.1, np.nan], "b": [2.0, 3.0]}, dtype=np.float32),
    "integers": pd.DataFrame({"a": [1, 2], "b": [3, 2**60]}),
    "truth": pd.DataFrame({"a": [True, False], "b": [False, True]}),
    "made column by column": pd.DataFrame({"a": [1.0, 2.0]}).assign(b=[0.5, 0.25]),
    "every second row": pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0]})[::2],
    "an index with a name": pd.DataFrame({"a": [1.0, 2.0]}, index=pd.Index([5.0, 6.0], name="i")),
    "names that are numbers": pd.DataFrame(np.eye(2)),
}


@pytest.mark.parametrize("name", FRAMES)
def test_a_frame_of_numbers_is_read_as_by_arrow(name: str) -> None:
    import pyarrow as pa

    frame = FRAMES[name]
    [plain], [arrow] = batches(frame), batches(pa.table(frame.reset_index(drop=True)))
    assert list(plain.columns) == list(arrow.columns)
    assert (plain.source, plain.start, plain.rows) == (arrow.source, arrow.start, arrow.rows)
    for column in plain.columns:
        np.testing.assert_array_equal(numbers_of(plain, column), numbers_of(arrow, column))
        assert texts_of(plain, column) == texts_of(arrow, column)
        assert value_hashes(plain, column).tolist() == value_hashes(arrow, column).tolist()


def test_a_frame_with_a_column_twice_is_refused() -> None:
    with pytest.raises(DataError, match="'a' twice"):
        list(batches(pd.DataFrame(np.eye(2), columns=["a", "a"])))


def test_records_become_arrays_only_if_their_types_are_the_same() -> None:
    rows = [
        {"f": 0.5 * i, "i": i, "b": i % 2 == 0, "s": str(i), "m": i if i % 2 else 0.5, "n": None if i else 1}
        for i in range(150)
    ]
    [batch] = batches(rows)
    kinds = {name: getattr(column, "dtype", list) for name, column in batch.columns.items()}
    assert kinds == {"f": np.float64, "i": np.int64, "b": np.bool_, "s": list, "m": list, "n": list}
    assert [batch.row(place) for place in range(150)] == rows
    [mixed] = batches([*rows, {"i": 2**70, 5: "x"}])
    assert mixed.columns["i"] == [*range(150), 2**70]
    assert json.dumps(mixed.row(150)["f"]) == "null"
