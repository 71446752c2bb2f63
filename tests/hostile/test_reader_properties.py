"""What holds of any file: rows come back from every format, in blocks of any size; searches for counterexamples."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discern.data import source
from discern.data.strings import DataError
from tests.hostile.reader_cases import rows
from tests.hostile.test_readers import TABLES, put, read, write

characters = st.characters(exclude_categories=("Cs",))
texts = st.text(characters, max_size=30)
lines = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\n\r"), max_size=9)


@pytest.mark.parametrize("kind", TABLES)
@given(found=st.lists(st.tuples(texts, texts), max_size=8), size=st.integers(1, 40))
def test_any_rows_come_back(tmp_path: Path, kind: str, found: list, size: int) -> None:
    path = write(tmp_path / f"rows.{kind}", rows(*found))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "BLOCK", size)
        assert read(path) == rows(*found)


@given(st.lists(lines, max_size=9), st.sampled_from(["\n", "\r\n"]))
def test_as_many_lines_out_as_in(tmp_path: Path, given: list[str], ending: str) -> None:
    path = put(tmp_path / "rows.txt", "".join(f"{line}{ending}" for line in given).encode())
    expected = [line.removeprefix("\ufeff") if not place else line for place, line in enumerate(given)]
    assert [row["text"] for row in read(path)] == expected


@pytest.mark.fuzz
@given(st.binary(max_size=300), st.integers(1, 50))
def test_search_for_bytes_read_otherwise_in_blocks(tmp_path: Path, content: bytes, size: int) -> None:
    results = []
    for block_size in (size, 1 << 22):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(source, "BLOCK", block_size)
            for name in ("rows.csv", "rows.tsv", "rows.jsonl"):
                try:
                    results.append(read(put(tmp_path / name, content)))
                except DataError as error:
                    results.append([{"error": str(error).partition(" of ")[0]}])
    half = len(results) // 2
    assert results[:half] == results[half:]


@pytest.mark.fuzz
@given(st.text(st.sampled_from('a,"\n\r;\t|é \\'), max_size=60), st.integers(1, 20))
def test_search_for_csv_read_otherwise_than_by_python(tmp_path: Path, text: str, size: int) -> None:
    content = "x,y\n" + text
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "BLOCK", size)
        try:
            found = [list(row.values()) for row in read(put(tmp_path / "rows.csv", content.encode()))]
        except DataError:
            return
    if "\r" not in content:
        expected = [row for row in csv.reader(io.StringIO(content, newline="")) if row][1:]
        assert found == expected
