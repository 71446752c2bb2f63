"""Files that are empty, cut off, misspelled or malicious: right rows, or an error that says where."""

import bz2
import csv
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discern.classifier import Classifier
from discern.data import source as window
from discern.data.readers import batches
from discern.data.source import Reading
from discern.data.strings import DataError, Strings

BLOCKS = [1, 2, 3, 5, 7, 16, 64, 1000, 1 << 22]
FORMATS = ["csv", "tsv", "jsonl", "parquet"]
Row = dict[str, Any]


@pytest.fixture(params=BLOCKS)
def block(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Run a test with files read in blocks of this size."""
    monkeypatch.setattr(window, "BLOCK", request.param)
    return request.param


def values(column: Any) -> list[Any]:
    if isinstance(column, Strings):
        return column.to_list()
    return column.to_pylist() if isinstance(column, pa.Array) else list(column)


def read(path: Path, **reading: Any) -> list[Row]:
    """All rows of a file, checked to be numbered one after the other."""
    rows: list[Row] = []
    for batch in batches(path, Reading(**reading)):
        assert batch.start == len(rows) + 1
        columns = {name: values(column) for name, column in batch.columns.items()}
        assert all(len(column) == batch.rows for column in columns.values())
        rows += [{name: column[row] for name, column in columns.items()} for row in range(batch.rows)]
    return rows


def refusal(path: Path, label: str = "label") -> str:
    """What the error says when a classifier is to learn a file."""
    with pytest.raises(DataError) as caught:
        Classifier(label, text="text").fit(path)
    message = str(caught.value)
    assert path.name in message or "no rows" in message
    return message


def write(path: Path, rows: list[tuple[str | None, str | None]]) -> Path:
    """Write labels and texts in the format that the name of the file tells."""
    kind = path.suffix
    if kind == ".parquet":
        labels, texts = [row[0] for row in rows], [row[1] for row in rows]
        pq.write_table(pa.table({"label": pa.array(labels, pa.string()), "text": pa.array(texts, pa.string())}), path)
    elif kind == ".jsonl":
        lines = [json.dumps({"label": label, "text": text}) + "\n" for label, text in rows]
        path.write_text("".join(lines), encoding="utf-8")
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, delimiter="\t" if kind == ".tsv" else ",", lineterminator="\r\n")
            writer.writerow(["label", "text"])
            writer.writerows([label or "", text or ""] for label, text in rows)
    return path


# ------------------------------------------------------------------------------------------ every format

AWKWARD = [
    ("a", "plain"),
    ("b", 'quotes "and" more ""'),
    ("c", "comma, tab\t semicolon;"),
    ("d", "two\nlines\nand\r\nmore"),
    ("e", "a lone \r return"),
    ("f", "nul \0 inside"),
    ("g", "separator \u2028 and \u2029 and \x85 and \x0b\x0c\x1c"),
    ("h", "你好 née 🎉 \ufeff"),
    ("i", ""),
    ("j", " spaces "),
    ("é", "\ufeff"),
]


@pytest.mark.parametrize("kind", FORMATS)
def test_awkward_values_come_back(tmp_path: Path, kind: str, block: int) -> None:
    path = write(tmp_path / f"rows.{kind}", AWKWARD)
    assert read(path) == [{"label": label, "text": text} for label, text in AWKWARD]


texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=30)


@pytest.mark.parametrize("kind", FORMATS)
@given(rows=st.lists(st.tuples(texts, texts), max_size=8), size=st.integers(1, 40))
def test_any_rows_come_back(tmp_path: Path, kind: str, rows: list, size: int) -> None:
    path = write(tmp_path / f"rows.{kind}", rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(window, "BLOCK", size)
        assert read(path) == [{"label": label, "text": text} for label, text in rows]


@pytest.mark.parametrize("kind", FORMATS)
def test_a_field_of_five_megabytes(tmp_path: Path, kind: str) -> None:
    long = 'word, "quoted"\n' * 360_000
    assert len(long) > 5_000_000
    path = write(tmp_path / f"rows.{kind}", [("a", "before"), ("b", long), ("c", "after")])
    assert [row["text"] for row in read(path)] == ["before", long, "after"]


@pytest.mark.parametrize("kind", FORMATS)
def test_many_rows_in_many_out(tmp_path: Path, kind: str) -> None:
    rows = [(f"l{i % 3}", f'row {i}, with\ta "quote" é') for i in range(70_000)]
    path = write(tmp_path / f"rows.{kind}", rows)
    found = read(path)
    assert len(found) == len(rows)
    assert [(row["label"], row["text"]) for row in found] == rows


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("label", ["", None])
def test_a_missing_label_is_named(tmp_path: Path, kind: str, label: str | None, block: int) -> None:
    rows: list = [("a", f"text {i}") for i in range(40)]
    rows[22] = (label, "no label")
    message = refusal(write(tmp_path / f"rows.{kind}", rows))
    assert "row 23 " in message
    assert "'label'" in message
    assert "no label" in message


@pytest.mark.parametrize("kind", FORMATS)
def test_the_first_row_is_row_one(tmp_path: Path, kind: str) -> None:
    assert "row 1 " in refusal(write(tmp_path / f"rows.{kind}", [("", "no label"), ("a", "text")]))


@pytest.mark.parametrize("kind", FORMATS)
def test_a_missing_text_is_an_empty_one(tmp_path: Path, kind: str, block: int) -> None:
    rows = [("a", None), ("b", "win"), ("b", None), ("b", "lunch win")]
    found = Classifier(text="text").fit(write(tmp_path / f"rows.{kind}", rows)).statistics
    assert found == Classifier(text="text").fit([{"label": a, "text": b or ""} for a, b in rows]).statistics
    assert found.rows == 4


@pytest.mark.parametrize("kind", FORMATS)
def test_a_wrong_column_is_named(tmp_path: Path, kind: str) -> None:
    path = write(tmp_path / f"rows.{kind}", [("a", "text")])
    message = refusal(path, label="labell")
    assert "no column 'labell'" in message
    assert "did you mean 'label'" in message
    with pytest.raises(DataError, match="no column 'body'"):
        Classifier(text="body").fit(path)


@pytest.mark.parametrize("kind", FORMATS)
def test_rows_without_any(tmp_path: Path, kind: str, block: int) -> None:
    path = write(tmp_path / f"rows.{kind}", [])
    assert read(path) == []
    assert "no rows" in refusal(path)
    classifier = Classifier().fit([{"label": "a", "text": "win"}])
    assert classifier.predict(path).tolist() == []
    assert classifier.learn(path).rows == 1
    with pytest.raises(DataError, match="no rows"):
        classifier.evaluate(path)
    with pytest.raises(DataError, match="no rows to learn from"):
        Classifier().learn(path)


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet"])
def test_an_empty_file(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"rows.{kind}"
    path.write_bytes(b"")
    assert path.name in refusal(path)


def test_an_empty_file_of_json_lines_has_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    for content in (b"", b"\n", b"\xef\xbb\xbf", b"\n \r\n\t\n"):
        path.write_bytes(content)
        assert read(path) == []
        assert "no rows" in refusal(path)


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl"])
@pytest.mark.parametrize(("ending", "open_file"), [("gz", gzip.open), ("bz2", bz2.open), ("zst", None)])
def test_compressed_files(tmp_path: Path, kind: str, ending: str, open_file: Callable | None, block: int) -> None:
    plain = write(tmp_path / f"rows.{kind}", AWKWARD)
    path = tmp_path / f"rows.{kind}.{ending}"
    if open_file is None:
        path.write_bytes(pa.compress(plain.read_bytes(), codec="zstd", asbytes=True))
    else:
        with open_file(path, "wb") as file:
            file.write(plain.read_bytes())
    assert read(path) == read(plain)


@pytest.mark.parametrize("ending", ["gz", "bz2", "zst"])
@pytest.mark.parametrize("damage", ["cut", "changed", "other", "empty"])
def test_damaged_compressed_files(tmp_path: Path, ending: str, damage: str) -> None:
    plain = ("label,text\n" + "".join(f"a,text {i} {i * i}\n" for i in range(5000))).encode()
    packed = {
        "gz": gzip.compress(plain, mtime=0),
        "bz2": bz2.compress(plain),
        "zst": pa.compress(plain, codec="zstd", asbytes=True),
    }[ending]
    half = len(packed) // 2 if ending != "zst" else 4  # a zstd file need not have a checksum: break its header
    changed = packed[:half] + bytes(255 - byte for byte in packed[half : half + 20]) + packed[half + 20 :]
    content = {"cut": packed[: len(packed) // 2], "changed": changed, "other": plain, "empty": b""}[damage]
    path = tmp_path / f"rows.csv.{ending}"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"rows\.csv"):
        read(path)


@pytest.mark.parametrize("kind", FORMATS)
def test_files_that_are_not_there(tmp_path: Path, kind: str) -> None:
    write(tmp_path / f"rows.{kind}", [("a", "text")])
    with pytest.raises(DataError, match=r"there is no file .*row\..*did you mean .*rows\."):
        list(batches(tmp_path / f"row.{kind}"))
    with pytest.raises(DataError, match="there is no file"):
        list(batches(tmp_path / "nowhere" / f"rows.{kind}"))
    folder = tmp_path / f"folder.{kind}"
    folder.mkdir()
    with pytest.raises(DataError, match="is a folder"):
        list(batches(folder))


def test_the_format_must_be_known(tmp_path: Path) -> None:
    path = tmp_path / "rows.log"
    path.write_text("label,text\na,b\n")
    with pytest.raises(DataError, match="cannot tell the format"):
        list(batches(path))
    assert read(path, format="csv") == [{"label": "a", "text": "b"}]
    told: list[int] = []
    assert read(path, format="csv", progress=told.append)
    assert sum(told) == path.stat().st_size


# ---------------------------------------------------------------------------------------- CSV and TSV


def csv_rows(tmp_path: Path, content: bytes, name: str = "rows.csv") -> list[Row]:
    path = tmp_path / name
    path.write_bytes(content)
    return read(path)


def csv_error(tmp_path: Path, content: bytes, name: str = "rows.csv") -> str:
    path = tmp_path / name
    path.write_bytes(content)
    return refusal(path)


EXPECTED = [{"label": "a", "text": "b"}, {"label": "c", "text": "d"}]


@pytest.mark.parametrize(
    "content",
    [
        b"label,text\na,b\nc,d\n",
        b"label,text\na,b\nc,d",  # no line break at the end
        b"label,text\r\na,b\r\nc,d\r\n",
        b"label,text\r\na,b\nc,d",
        b"\xef\xbb\xbflabel,text\na,b\nc,d\n",
        b'\xef\xbb\xbf"label","text"\r\n"a","b"\r\n"c","d"\r\n',
        b"label,text\n\n\na,b\n\nc,d\n\n\n",  # blank lines
        b"label,text\r\n\r\na,b\r\n\r\nc,d",
        b"label;text\na;b\nc;d\n",
        b"label|text\na|b\nc|d\n",
        b"label\ttext\na\tb\nc\td\n",
        b'label,text\n"a",b\nc,"d"',
    ],
)
def test_two_rows_in_many_spellings(tmp_path: Path, content: bytes, block: int) -> None:
    assert csv_rows(tmp_path, content) == EXPECTED


@pytest.mark.parametrize(
    "content",
    [b"label\ttext\na\tb\nc\td\n", b'"label"\t"text"\r\n"a"\tb\r\nc\t"d"', b"\xef\xbb\xbflabel\ttext\na\tb\n\nc\td"],
)
def test_two_rows_in_a_tsv_file(tmp_path: Path, content: bytes, block: int) -> None:
    assert csv_rows(tmp_path, content, "rows.tsv") == EXPECTED


def test_a_tsv_file_may_have_commas_in_its_header(tmp_path: Path, block: int) -> None:
    found = csv_rows(tmp_path, b"label\ttext, all of it\na\tb, c\n", "rows.tsv")
    assert found == [{"label": "a", "text, all of it": "b, c"}]


def test_header_only_and_missing_line_break(tmp_path: Path, block: int) -> None:
    assert csv_rows(tmp_path, b"label,text") == []
    assert csv_rows(tmp_path, b"label,text\r\n") == []
    assert csv_rows(tmp_path, b"label,text\na,") == [{"label": "a", "text": ""}]
    assert csv_rows(tmp_path, b"label\na\n\nb") == [{"label": "a"}, {"label": ""}, {"label": "b"}]


@pytest.mark.parametrize(
    ("row", "content"),
    [
        (1, b"label,text\na\nb,c\n"),
        (2, b"label,text\na,b\nc,d,e\nf\n"),
        (3, b"label,text\n\na,b\n\nc,d\ne,f,g"),
        (2, b'label,text\na,"b\nstill b"\nc'),
        (2, b"label,text\na,b\n,\n,,\n".replace(b",\n,,", b",,")),
    ],
)
def test_ragged_rows_are_named(tmp_path: Path, row: int, content: bytes, block: int) -> None:
    message = csv_error(tmp_path, content)
    assert f"row {row} of" in message
    assert "2 columns" in message
    assert "fields" in message


@pytest.mark.parametrize(
    ("row", "content"),
    [
        (1, b'label,text\na,"b\nc,d\ne,f\n'),
        (2, b'label,text\na,b\nc,"d\n'),
        (2, b'label,text\na,b\n"c,d\ne,f'),
        (3, b'label,text\n\na,b\nc,"d\n"\ne,"""\n'),
        (0, b'"label,text\na,b\n'),
    ],
)
def test_a_quote_that_is_never_closed_is_named(tmp_path: Path, row: int, content: bytes, block: int) -> None:
    message = csv_error(tmp_path, content)
    assert f"row {row} of" in message
    assert "never closed" in message


def test_quotes_in_the_middle_are_ordinary(tmp_path: Path, block: int) -> None:
    found = csv_rows(tmp_path, b'label,text\na,5" disk\nb,"x"y\nc,""\nd,""""\n')
    assert [row["text"] for row in found] == ['5" disk', "xy", "", '"']


@pytest.mark.parametrize(
    ("row", "column", "content"),
    [
        (1, "text", b"label,text\na,\xff\n"),
        (2, "label", b"label,text\na,b\n\xe9t\xe9,d\n"),
        (2, "text", "label,text\na,né\nb,né\n".encode("latin1").replace(b"a,n\xe9", b"a,ne")),
        (1, "text", b"label,text\na,\xed\xa0\x80\n"),  # a lone surrogate
        (1, "text", b"label,text\na,\xc3\nb,\xa9\n"),  # two halves of one character
        (1, "label", b"label,text\n\xc3,\xa9\n"),
        (1, "text", b"label,text\na,\xf4\x90\x80\x80\n"),  # beyond Unicode
        (1, "text", b"label,text\na,\xc0\x80\n"),  # overlong
    ],
)
def test_bytes_that_are_not_utf8_are_named(tmp_path: Path, row: int, column: str, content: bytes, block: int) -> None:
    message = csv_error(tmp_path, content)
    assert f"row {row} of" in message
    assert f"{column!r}" in message
    assert "not UTF-8" in message


@pytest.mark.parametrize("name", ["rows.csv", "rows.tsv", "rows.jsonl"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_other_encodings_are_read_if_they_are_marked_and_refused_otherwise(
    tmp_path: Path, name: str, encoding: str, block: int
) -> None:
    text = {"rows.csv": "label,text\na,é\n", "rows.tsv": "label\ttext\na\té\n"}
    content = text.get(name, '{"label": "a", "text": "é"}\n').encode(encoding)
    if encoding in ("utf-16", "utf-32"):
        (tmp_path / name).write_bytes(content)
        assert read(tmp_path / name) == [{"label": "a", "text": "é"}]
    else:
        csv_error(tmp_path, content, name)
        assert read(tmp_path / name, encoding=encoding) == [{"label": "a", "text": "é"}]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\nlabel,text\na,b\n", "blank"),
        (b"label,text,label\na,b,c\n", "'label' twice"),
        (b"label,text\ra,b\rc,d\r", "carriage return"),
        (b"la\xffbel,text\na,b\n", "not UTF-8"),
        (b"x" * 3_000_000, "does not end"),
    ],
)
def test_bad_headers(tmp_path: Path, content: bytes, message: str) -> None:
    assert message in csv_error(tmp_path, content)


def test_a_header_with_a_line_break_in_quotes(tmp_path: Path, block: int) -> None:
    assert csv_rows(tmp_path, b'label,"te\nxt, ""all"""\na,b\n') == [{"label": "a", 'te\nxt, "all"': "b"}]


def test_a_wide_file(tmp_path: Path) -> None:
    names = [f"column{i}" for i in range(20_000)]
    content = ",".join(names) + "\n" + ",".join(map(str, range(20_000))) + "\n"
    [row] = csv_rows(tmp_path, content.encode())
    assert list(row) == names
    assert row["column19999"] == "19999"


def test_a_label_with_a_nul_is_named(tmp_path: Path) -> None:
    # NumPy drops NULs at the end of strings: two labels would become one.
    message = csv_error(tmp_path, b"label,text\na,b\na\0,c\n")
    assert "row 2 " in message
    assert "NUL" in message


@pytest.mark.fuzz
@given(st.binary(max_size=300), st.integers(1, 50))
def test_search_for_bytes_read_otherwise_in_blocks(tmp_path: Path, content: bytes, size: int) -> None:
    results = []
    for block_size in (size, 1 << 22):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(window, "BLOCK", block_size)
            for name in ("rows.csv", "rows.tsv", "rows.jsonl"):
                (tmp_path / name).write_bytes(content)
                try:
                    results.append(read(tmp_path / name))
                except DataError as error:
                    results.append([{"error": str(error).partition(" of ")[0]}])
    half = len(results) // 2
    assert results[:half] == results[half:]


@pytest.mark.fuzz
@given(st.text(st.sampled_from('a,"\n\r;\t|é \\'), max_size=60), st.integers(1, 20))
def test_search_for_csv_read_otherwise_than_by_python(tmp_path: Path, text: str, size: int) -> None:
    content = "x,y\n" + text
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(window, "BLOCK", size)
        path = tmp_path / "rows.csv"
        path.write_bytes(content.encode())
        try:
            found = [list(row.values()) for row in read(path)]
        except DataError:
            return
    if "\r" not in content:
        expected = [row for row in csv.reader(io.StringIO(content, newline="")) if row][1:]
        assert found == expected


# ------------------------------------------------------------------------------------------------ JSON


@pytest.mark.parametrize(
    ("row", "line", "message"),
    [
        (2, b'{"label": "a", "text": ', "not JSON"),
        (2, b"nonsense", "not JSON"),
        (2, b'["a", "b"]', "JSON list"),
        (2, b'"a"', "JSON str"),
        (2, b"null", "JSON NoneType"),
        (2, b'{"label": "a"} {"label": "b"}', "not JSON"),
        (2, b"[" * 100_000, "not JSON"),
        (2, b'{"label": ' + b"[" * 100_000, "not JSON"),
        (2, b'{"label": ' + b"1" * 5000 + b"}", "not JSON"),
        (2, b'{"label": "\xff"}', "not UTF-8"),
        (2, b'{"label": "\xed\xa0\x80"}', "not UTF-8"),
        (2, b'\x00{"label": "a"}', "not JSON"),
        (2, b"{'label': 'a'}", "not JSON"),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, row: int, line: bytes, message: str) -> None:
    for size in (7, 1 << 22) if len(line) < 1000 else (1 << 22,):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(window, "BLOCK", size)
            content = b'\n\n{"label": "a", "text": "b"}\n\n' + line + b"\n"
            found = csv_error(tmp_path, content, "rows.jsonl")
        assert f"row {row} of" in found
        assert message in found


def test_json_lines_in_many_spellings(tmp_path: Path, block: int) -> None:
    content = b'\xef\xbb\xbf{"label": "a", "text": "b"}\r\n\r\n  {"text": "d", "label": "c"}  \n\n'
    assert csv_rows(tmp_path, content, "rows.jsonl") == EXPECTED


def test_json_lines_may_lack_columns(tmp_path: Path, block: int) -> None:
    content = (
        b'{"label": "a", "text": "win"}\n{"label": "b"}\n{"label": "b", "text": null}\n{"label": "b", "text": "x1"}\n'
    )
    (tmp_path / "rows.jsonl").write_bytes(content)
    found = Classifier(text="text").fit(tmp_path / "rows.jsonl").statistics
    texts_learned = [("a", "win"), ("b", ""), ("b", ""), ("b", "x1")]
    assert found == Classifier(text="text").fit([{"label": a, "text": b} for a, b in texts_learned]).statistics


def test_a_missing_label_in_json_lines(tmp_path: Path, block: int) -> None:
    message = csv_error(tmp_path, b'{"label": "a", "text": "b"}\n\n{"text": "b"}\n', "rows.jsonl")
    assert "row 2 " in message
    assert "'label'" in message


def test_the_last_of_two_equal_keys_counts(tmp_path: Path) -> None:
    content = b'{"label": "a", "label": "b", "text": "c"}\n'
    assert csv_rows(tmp_path, content, "rows.jsonl") == [{"label": "b", "text": "c"}]


def test_lone_surrogates_in_json(tmp_path: Path, block: int) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(
        b'{"label": "\\ud800", "text": "win \\udfff lunch\\ud83d"}\n{"label": "b", "text": "\\ud83d\\ude00 noon"}\n'
    )
    assert read(path)[1]["text"] == "😀 noon"
    model = Classifier(text="text").fit(path)
    assert model.labels == ("b", "\ud800")
    assert model.statistics.columns[0].terms.to_list() == ["lunch", "noon", "win"]
    assert model.predict_one("win \udfff") == "\ud800"
    model.save(tmp_path / "m.discern")
    loaded = Classifier.load(tmp_path / "m.discern")
    assert loaded.labels == model.labels
    assert loaded.predict(["win"] * 20).tolist() == ["\ud800"] * 20
    characters = Classifier(text="text", analyzer="char").fit(path)
    characters.save(tmp_path / "c.discern")
    loaded = Classifier.load(tmp_path / "c.discern")
    assert "\udfff" in loaded.statistics.columns[0].terms.to_list()
    assert loaded.explain("\udfff").terms[0].term == "\udfff"


# --------------------------------------------------------------------------------------------- Parquet


def test_a_parquet_file_that_is_none(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.parquet", [("a", "b")] * 1000)
    whole = path.read_bytes()
    for content in (b"", b"PAR1", b"label,text\na,b\n", whole[:-1], whole[: len(whole) // 2], whole[4:]):
        path.write_bytes(content)
        assert "rows.parquet" in refusal(path)


def test_damaged_parquet_files(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.parquet", [("a", f"text {i}") for i in range(100)])
    whole = bytearray(path.read_bytes())
    for place in range(0, len(whole), 7):
        changed = whole.copy()
        changed[place] ^= 0xFF
        path.write_bytes(changed)
        try:
            Classifier(text="text").fit(path)
        except DataError:
            continue


def test_equal_columns_in_parquet_and_frames(tmp_path: Path) -> None:
    table = pa.table([pa.array(["a"]), pa.array(["b"]), pa.array(["c"])], names=["label", "text", "label"])
    pq.write_table(table, tmp_path / "rows.parquet")
    assert "'label' twice" in refusal(tmp_path / "rows.parquet")
    with pytest.raises(DataError, match="'label' twice"):
        Classifier().fit(table)
    frame = pd.DataFrame([["a", "b", "c"]], columns=["label", "text", "label"])
    with pytest.raises(DataError, match="label"):
        Classifier().fit(frame)


def test_bytes_that_are_not_utf8_in_parquet(tmp_path: Path) -> None:
    good, bad = ["aa", "bb", "cc", "dd"], pa.py_buffer(b"aabb\xff\xfedd")
    offsets = pa.py_buffer(b"".join(number.to_bytes(4, "little") for number in (0, 2, 4, 6, 8)))
    strings = pa.StringArray.from_buffers(4, offsets, bad)
    for name, labels, texts_given in (("label", strings, pa.array(good)), ("text", pa.array(good), strings)):
        pq.write_table(pa.table({"label": labels, "text": texts_given}), tmp_path / "rows.parquet")
        message = refusal(tmp_path / "rows.parquet")
        assert "row 3 of" in message
        assert f"{name!r}" in message
        assert "not UTF-8" in message


@pytest.mark.parametrize("column", [pa.array([["a"], ["b"]]), pa.array([{"x": 1}, None]), pa.array([[b"a"], None])])
def test_columns_that_are_no_text(tmp_path: Path, column: pa.Array) -> None:
    pq.write_table(pa.table({"label": ["a", "b"], "text": column}), tmp_path / "rows.parquet")
    message = refusal(tmp_path / "rows.parquet")
    assert "'text'" in message
    assert "cannot be read as text" in message


def test_parquet_columns_of_other_types(tmp_path: Path) -> None:
    table = pa.table({"label": pa.array([1, 2, 1]), "text": pa.array(["win", "lunch", "win"]).dictionary_encode()})
    pq.write_table(table, tmp_path / "rows.parquet")
    model = Classifier(text="text").fit(tmp_path / "rows.parquet")
    assert model.labels == ("1", "2")
    assert model.predict_one("lunch lunch lunch") == "2"


# ------------------------------------------------------------------------------------- frames and rows


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (5, "cannot read rows from a int"),
        (None, "cannot read rows from a NoneType"),
        ([1, 2], "row 1 is a int"),
        ([{"label": "a", "text": "b"}, "c"], "row 2 is a str"),
        ({"label": ["a"], "text": ["b", "c"]}, "different lengths"),
        ([], "no rows to learn from"),
        ({}, "no rows to learn from"),
        ({"label": [], "text": []}, "no rows to learn from"),
        (pd.DataFrame({"label": [], "text": []}), "no rows to learn from"),
        ([{"text": "b"}], "the rows have no column 'label'"),
        ([{"label": "a"}], "no column to decide by"),
        ([{"label": "a", "text": "b"}, {"label": None, "text": "b"}], "row 2 of"),
        ([{"label": "a", "text": "b"}, {"label": float("nan"), "text": "b"}], "row 2 of"),
        ([{"label": "a", "text": "b"}, {"label": pd.NA, "text": "b"}], "row 2 of"),
        (pd.DataFrame({"label": ["a", None], "text": ["b", "c"]}), "row 2 of"),
    ],
)
def test_bad_rows_in_memory(source: Any, message: str) -> None:
    with pytest.raises(DataError) as caught:
        Classifier().fit(source)
    assert message in str(caught.value)
