"""Frames that carry more than their columns, or worse."""

from pathlib import Path
from typing import Any

import pandas
import pyarrow
import pyarrow.parquet
import pytest

from discern.classifier import Classifier
from discern.data.readers import batches
from discern.data.strings import DataError

FRAME = pandas.DataFrame(
    {"label": ["a", "b"] * 4, "text": ["win prize", "lunch noon"] * 4, "size": [3, 1, 4, 1, 5, 9, 2, 6]}
)
INDEXES = {
    "filtered": FRAME[FRAME["size"] != 5],
    "shuffled": FRAME.sample(frac=1.0, random_state=1),
    "named": FRAME.set_index(pandas.Index([5, 1, 7, 3, 9, 8, 2, 4], name="number")),
    "of texts": FRAME.set_index(pandas.Index([f"secret{i}" for i in range(8)])),
    "of two levels": FRAME.set_index(pandas.MultiIndex.from_product([range(4), range(2)])),
}


@pytest.mark.parametrize("frame", INDEXES.values(), ids=INDEXES)
def test_the_index_of_a_frame_is_no_column(frame: pandas.DataFrame) -> None:
    [batch] = batches(frame)
    assert list(batch.columns) == ["label", "text", "size"]
    assert [feature.name for feature in Classifier().fit(frame).features] == ["text", "size"]


def test_an_index_without_a_name_is_no_column_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    INDEXES["shuffled"].to_parquet(path)
    assert [list(batch.columns) for batch in batches(path)] == [["label", "text", "size"]]
    INDEXES["named"].to_parquet(path)
    assert [list(batch.columns) for batch in batches(path)] == [["label", "text", "size", "number"]]


@pytest.mark.parametrize(
    "described", [b"{", b"[]", b"3", b'{"index_columns": 3}', b'{"index_columns": ["nowhere", 5]}', b"\xff"]
)
def test_what_a_file_says_of_pandas_may_be_anything(tmp_path: Path, described: bytes) -> None:
    table = pyarrow.table({"label": ["a"], "text": ["x"]}).replace_schema_metadata({b"pandas": described})
    pyarrow.parquet.write_table(table, tmp_path / "rows.parquet")
    [batch] = batches(tmp_path / "rows.parquet")
    assert list(batch.columns) == ["label", "text"]


# ------------------------------------------------------------------------------- Arrow's texts that are not UTF-8


def arrow_texts(values: list[bytes], kind: pyarrow.DataType) -> pyarrow.Array:
    """Return an Arrow array of texts without a look at them."""
    if kind == pyarrow.string_view():
        return pyarrow.array(values, pyarrow.binary_view()).view(kind)
    return pyarrow.array(values, pyarrow.binary() if kind == pyarrow.string() else pyarrow.large_binary()).view(kind)


BAD_TEXTS = {
    "a single byte": b"win \xff now",
    "inside a word": b"wi\xc3n now",
    "cut off": "näi".encode()[:-2],
    "a lone surrogate": b"win \xed\xa0\x80 now",
    "in a word without end": b"x" * 70_000 + b"\xff",
    "behind a long text": b"win now " * 10_000 + b"\xff",
    "beside a sigma": "ΣΑΣ ".encode() + b"\xff",
}


@pytest.mark.parametrize("kind", [pyarrow.string(), pyarrow.large_string(), pyarrow.string_view()], ids=str)
@pytest.mark.parametrize("settings", [{}, {"tokenizer": "sklearn"}, {"analyzer": "char_wb", "ngrams": (2, 3)}], ids=str)
@pytest.mark.parametrize("bad", BAD_TEXTS.values(), ids=BAD_TEXTS)
def test_arrow_text_that_is_not_utf8_is_refused_with_its_row(
    bad: bytes, settings: dict[str, Any], kind: pyarrow.DataType
) -> None:
    good = [b"win money now", "schön".encode()] * 40
    labels = ["spam", "ham"] * 40
    model = Classifier(smoothing=1.0, **settings).fit(pyarrow.table({"label": labels, "text": arrow_texts(good, kind)}))
    spoilt = arrow_texts([*good[:57], bad, *good[58:]], kind)
    with pytest.raises(DataError, match=r"row 58 of .*not UTF-8"):
        Classifier(smoothing=1.0, **settings).fit(pyarrow.table({"label": labels, "text": spoilt}))
    with pytest.raises(DataError, match=r"row 58 of .*not UTF-8"):
        model.predict(pyarrow.table({"text": spoilt}))
    assert model.predict(pyarrow.table({"text": arrow_texts(good, kind)})).tolist() == labels


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (5, "cannot read rows from a value of type 'int'"),
        (None, "cannot read rows from a value of type 'NoneType'"),
        ([1, 2], "row 1 is a int"),
        ([{"label": "a", "text": "b"}, "c"], "row 2 is a str"),
        ({"label": ["a"], "text": ["b", "c"]}, "different lengths"),
        ([], "no rows to learn from"),
        ({}, "no rows to learn from"),
        ({"label": [], "text": []}, "no rows to learn from"),
        (pandas.DataFrame({"label": [], "text": []}), "no rows to learn from"),
        ([{"text": "b"}], "the rows have no column 'label'"),
        ([{"label": "a"}], "no predictor column"),
        ([{"label": "a", "text": "b"}, {"label": None, "text": "b"}], "row 2 of"),
        ([{"label": "a", "text": "b"}, {"label": float("nan"), "text": "b"}], "row 2 of"),
        ([{"label": "a", "text": "b"}, {"label": pandas.NA, "text": "b"}], "row 2 of"),
        (pandas.DataFrame({"label": ["a", None], "text": ["b", "c"]}), "row 2 of"),
    ],
)
def test_bad_rows_in_memory(source: Any, message: str) -> None:
    with pytest.raises(DataError) as caught:
        Classifier().fit(source)
    assert message in str(caught.value)


def test_two_columns_of_the_same_name() -> None:
    names = ["label", "text", "label"]
    with pytest.raises(DataError, match="'label' twice"):
        Classifier().fit(pyarrow.table([pyarrow.array(["a"])] * 3, names=names))
    with pytest.raises(DataError, match="label"):
        Classifier().fit(pandas.DataFrame([["a", "b", "c"]], columns=names))
