"""Frames that carry more than their columns."""

from pathlib import Path

import pandas
import pyarrow
import pyarrow.parquet
import pytest

from discern.classifier import Classifier
from discern.data import batches

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
