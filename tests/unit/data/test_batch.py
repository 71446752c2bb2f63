"""Columns of strings, batches and what they say of missing columns."""

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discern.data.batch import Batch, as_texts, did_you_mean
from discern.data.readers import batches, size_of
from discern.data.strings import DataError, Strings
from discern.data.values import canonical

strings = st.lists(st.text(st.characters(exclude_categories=()), max_size=10), max_size=10)


@given(strings)
def test_strings_come_back(values: list[str]) -> None:
    packed = Strings.of(values)
    assert len(packed) == len(values)
    assert packed.to_list() == values
    assert [packed[index] for index in range(len(values))] == values


def apart(values: list[str]) -> Strings:
    """Return strings with other bytes before, between and behind them."""
    packed = Strings.of([text for value in values for text in ("\xff", value)] + ["\xff"])
    starts, ends = packed.spans
    return Strings(starts[1::2], packed.data, ends[1::2])


@pytest.mark.parametrize("make", [Strings.of, apart])
@given(values=strings, data=st.data())
def test_parts_of_strings(make: Callable[[list[str]], Strings], values: list[str], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(values)))
    end = data.draw(st.integers(start, len(values)))
    part = make(values).rows(start, end)
    assert part.to_list() == part.packed().to_list() == values[start:end]
    assert part.lengths.tolist() == [len(value.encode("utf-8", "surrogatepass")) for value in values[start:end]]
    assert len(part.packed().data) == part.lengths.sum()
    assert make(values).rows(start).to_list() == values[start:]
    assert Strings.total([part, make(values)]).to_list() == values[start:end] + values
    assert len(part) == end - start
    keep = np.array(data.draw(st.lists(st.booleans(), min_size=len(part), max_size=len(part))), bool)
    assert part.take(keep).to_list() == [value for value, kept in zip(part.to_list(), keep, strict=True) if kept]
    if len(part):
        places = np.array(data.draw(st.lists(st.integers(0, len(part) - 1), max_size=8)), np.int64)
        assert part.take(places).to_list() == [part[int(place)] for place in places]


@given(strings)
def test_labels_are_numbered(values: list[str]) -> None:
    labels = [value.replace("\0", "") or "x" for value in values]
    for column in (labels, Strings.of(labels)):
        numbers, distinct = Batch({"label": column}, len(labels)).labels("label")
        assert [distinct[number] for number in numbers] == [canonical(label) for label in labels]
        assert distinct == list(dict.fromkeys(map(canonical, labels)))


def test_values_of_other_types_become_texts() -> None:
    assert as_texts([1, 2.5, True, None, float("nan"), "x", np.float32("nan")], "here") == [
        "1",
        "2.5",
        "true",
        "",
        "",
        "x",
        "",
    ]
    with pytest.raises(DataError, match="row 12 of here has no label"):
        as_texts(["a", "b", None], "here", start=10, missing="label")


def test_sources() -> None:
    [batch] = batches(["one", "two"])
    assert (batch.rows, list(batch.columns), batch.start) == (2, ["text"], 1)
    [batch] = batches([{"a": 1}, {"b": 2}])
    assert batch.columns == {"a": [1, None], "b": [None, 2]}
    again = batches(batch)
    assert next(again) is batch
    assert [part.rows for part in batches(part for part in (["a"], {"text": ["b", "c"]}))] == [1, 2]
    assert list(batches(iter([]))) == []


def test_a_missing_column_names_the_closest() -> None:
    batch = Batch({"label": [], "text": []}, 0, "rows.csv")
    with pytest.raises(DataError, match=r"rows\.csv has no column 'lable'; did you mean 'label'\?"):
        batch.column("lable")
    assert did_you_mean("zzz", ["label", "text"]) == "; choose one of: 'label', 'text'"
    assert did_you_mean("a", [f"column{number}" for number in range(20)]).endswith("…")


def test_size_of(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_bytes(b"12345")
    (tmp_path / "rows.csv.gz").write_bytes(b"12345")
    assert size_of(tmp_path / "rows.csv") == 5
    assert size_of(str(tmp_path / "rows.csv")) == 5
    assert size_of(tmp_path / "rows.csv.gz") is None
    assert size_of(tmp_path / "none.csv") is None
    assert size_of(["rows"]) is None


@pytest.mark.parametrize("kept", [0, 1, 2, 5, 1000])
def test_what_was_read_stays_while_anybody_looks_at_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: int
) -> None:
    monkeypatch.setattr("discern.data.buffer.BLOCK", 64)
    texts = [f'row {row} says "{"x" * (row % 50)}"' for row in range(200)]
    with open(tmp_path / "rows.csv", "w", newline="") as file:
        csv.writer(file).writerows([("label", "text"), *(("a", text) for text in texts)])
    held: list[Batch] = []
    found: list[str] = []
    for batch in batches(tmp_path / "rows.csv"):
        held.append(batch)
        if len(held) > kept:
            found += held.pop(0).column("text").to_list()
    assert found + [text for batch in held for text in batch.column("text").to_list()] == texts


def test_a_pipe_is_read_in_whatever_pieces_it_gives(tmp_path: Path, run_python) -> None:
    # A pipe gives less than asked for: the header may come in pieces.
    program = """
import os, sys, threading, time
from discern.data.readers import batches
path = sys.argv[1]
os.mkfifo(path)

def write():
    with open(path, "wb", buffering=0) as file:
        for piece in (b"\\xef", b"\\xbb\\xbfla", b"bel,te", b"xt\\na,b", b"c\\nd", b",e"):
            file.write(piece)
            time.sleep(0.05)

thread = threading.Thread(target=write)
thread.start()
print([(batch.columns["label"].to_list(), batch.columns["text"].to_list()) for batch in batches(path)])
thread.join()
"""
    found = run_python(program, tmp_path / "rows.csv")
    assert found.replace("), (", "+").count("'a'") == 1
    assert eval(found) in (
        [(["a", "d"], ["bc", "e"])],
        [(["a"], ["bc"]), (["d"], ["e"])],
    )
