"""Lines, folders, Arrow, svmlight, mailboxes, encodings and rows that cannot be read: right rows, or an error that says where."""

import bz2
import gzip
import lzma
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discern.classifier import Classifier
from discern.data import source as window
from discern.data.readers import Sources, batches, can_be_read_again
from discern.data.source import Reading
from discern.data.strings import DataError, Strings

BLOCKS = [1, 2, 3, 7, 64, 1 << 20]
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


def numbered(path: Any, reading: Reading | None = None) -> dict[int, Row]:
    """The rows of a file, by their number."""
    rows: dict[int, Row] = {}
    for batch in batches(path, reading):
        columns = {name: values(column) for name, column in batch.columns.items()}
        for place in range(batch.rows):
            assert batch.start + place not in rows
            rows[batch.start + place] = {name: column[place] for name, column in columns.items()}
    return rows


def read(path: Any, **reading: Any) -> list[Row]:
    rows = numbered(path, Reading(**reading))
    assert list(rows) == list(range(1, len(rows) + 1))
    return list(rows.values())


def texts(path: Any, **reading: Any) -> list[str]:
    return [row["text"] for row in read(path, **reading)]


def refusal(path: Any, **reading: Any) -> str:
    with pytest.raises(DataError) as caught:
        numbered(path, Reading(**reading))
    return str(caught.value)


def write(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


# ---------------------------------------------------------------------------------------- a document a line


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", []),
        (b"one", ["one"]),
        (b"one\n", ["one"]),
        (b"one\ntwo", ["one", "two"]),
        (b"one\r\ntwo\r\n", ["one", "two"]),
        (b"\n", [""]),
        (b"\n\nthree\n", ["", "", "three"]),
        (b"\xef\xbb\xbfone\n", ["one"]),
        (b"a\rb\n", ["a\rb"]),
        (b"a\r\r\nb\r", ["a\r", "b\r"]),
        (b"nul \0 in\n", ["nul \0 in"]),
        ("a\u2028b\u2029c\x85d\x0b\x0c\x1ce\n".encode(), ["a\u2028b\u2029c\x85d\x0b\x0c\x1ce"]),
        ("né\n你好\n🎉".encode(), ["né", "你好", "🎉"]),
    ],
)
def test_lines(tmp_path: Path, content: bytes, expected: list[str], block: int) -> None:
    assert texts(write(tmp_path / "rows.txt", content)) == expected


@given(st.lists(st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\n\r"), max_size=9), max_size=9))
def test_as_many_lines_out_as_in(tmp_path: Path, lines: list[str]) -> None:
    path = tmp_path / "rows.txt"
    for ending in ("\n", "\r\n"):
        write(path, "".join(f"{line}{ending}" for line in lines).encode())
        assert texts(path) == [line.removeprefix("\ufeff") if not place else line for place, line in enumerate(lines)]


def test_a_line_of_fifty_megabytes_through_a_pipe_is_not_searched_again_and_again(tmp_path: Path) -> None:
    program = "from discern.data.readers import batches; from discern.data.source import Reading\nprint([len(t) for b in batches('-', Reading('text')) for t in b.columns['text'].to_list()])"
    ran = subprocess.run(
        [sys.executable, "-c", program], input=b"x" * 50_000_000 + b"\ny", capture_output=True, timeout=20, check=True
    )
    assert ran.stdout == b"[50000000, 1]\n"


def test_lines_that_are_not_utf8_are_named(tmp_path: Path, block: int) -> None:
    path = write(tmp_path / "rows.txt", b"one\ntwo\nn\xe9\nfour\n")
    message = refusal(path)
    assert f"row 3 of {path}, column 'text'," in message
    assert "not UTF-8" in message
    assert "--encoding" in message


def test_two_halves_of_one_character_on_two_lines(tmp_path: Path, block: int) -> None:
    assert "row 1 of" in refusal(write(tmp_path / "rows.txt", b"a\xc3\n\xa9b\n"))


@pytest.mark.parametrize("packed", [".gz", ".bz2", ".xz", ".zst"])
def test_compressed_lines(tmp_path: Path, packed: str) -> None:
    content = "eins\nzwölf\n".encode()
    pack = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
    squeezed = pack[packed](content) if packed in pack else pa.compress(content, "zstd", asbytes=True)
    path = write(tmp_path / f"rows.txt{packed}", squeezed)
    assert texts(path) == ["eins", "zwölf"]
    write(path, squeezed[: len(squeezed) // 2])
    assert "cannot read" in refusal(path)


# ------------------------------------------------------------------------------------------------ encodings


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig"])
def test_marked_encodings_are_detected(tmp_path: Path, encoding: str, block: int) -> None:
    mark = "" if encoding in ("utf-16", "utf-32", "utf-8-sig") else "\ufeff"
    path = write(tmp_path / "rows.txt", (mark + "né\r\n🎉\n").encode(encoding))
    assert texts(path) == ["né", "🎉"]


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "shift_jis", "utf-16-le", "koi8-r"])
def test_given_encodings(tmp_path: Path, encoding: str, block: int) -> None:
    text = {"shift_jis": "東京", "koi8-r": "привет"}.get(encoding, "né")
    path = write(tmp_path / "rows.csv", f"label,text\na,{text}\n".encode(encoding))
    assert read(path, encoding=encoding) == [{"label": "a", "text": text}]


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "utf-16-le", "utf-16-be", "utf-16"])
def test_encodings_that_are_guessed_are_told(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "d.csv"
    path.write_bytes("text,n\ncafé – “menu”,1\n".encode(encoding))
    reading = Reading(encoding="auto")
    assert [text for batch in batches(path, reading) for text in batch.column("text").to_list()] == ["café – “menu”"]
    assert reading.guessed == ({} if encoding in ("utf-8", "utf-16") else {str(path): encoding})


def test_bytes_outside_a_given_encoding_are_named(tmp_path: Path, block: int) -> None:
    path = write(tmp_path / "rows.csv", b"label,text\na,b\nc,\x81d\n")
    message = refusal(path, encoding="cp1252")
    assert "row 2 of" in message
    assert "'text'" in message
    assert "CP1252" in message


def test_an_odd_number_of_bytes_of_utf_16(tmp_path: Path, block: int) -> None:
    assert "UTF-16" in refusal(write(tmp_path / "rows.txt", "né".encode("utf-16") + b"x"))


@pytest.mark.parametrize("encoding", ["klingon", "hex", "", "utf-8\0", "../etc"])
def test_encodings_that_are_none(encoding: str) -> None:
    with pytest.raises(DataError, match="there is no encoding"):
        Reading(encoding=encoding)


# --------------------------------------------------------------------------------- rows that cannot be read

BAD_CSV = b"label,text\na,one\nb\nc,three\nd,four,more,4\ne,f\xffve\nf,six\n"


def test_bad_rows_are_left_out_and_counted(tmp_path: Path, block: int) -> None:
    path, reading = write(tmp_path / "rows.csv", BAD_CSV), Reading(on_error="skip")
    assert numbered(path, reading) == {
        1: {"label": "a", "text": "one"},
        3: {"label": "c", "text": "three"},
        6: {"label": "f", "text": "six"},
    }
    assert reading.faults == {str(path): 3}
    assert reading.first_fault.startswith(f"row 2 of {path} has 1 fields")


def test_bad_rows_are_kept_and_counted(tmp_path: Path, block: int) -> None:
    path, reading = write(tmp_path / "rows.csv", BAD_CSV), Reading(on_error="keep")
    assert list(numbered(path, reading).values()) == [
        {"label": "a", "text": "one"},
        {"label": "b", "text": ""},
        {"label": "c", "text": "three"},
        {"label": "d", "text": "four"},
        {"label": "e", "text": "f\ufffdve"},
        {"label": "f", "text": "six"},
    ]
    assert reading.faults == {str(path): 3}
    numbered(path, reading)
    assert reading.faults == {str(path): 3}  # read again, not counted again


def test_blank_lines_are_no_rows_that_are_kept(tmp_path: Path, block: int) -> None:
    path = write(tmp_path / "rows.csv", b"label,text\n\nx\n\na,b\n\ny\n")
    kept = numbered(path, Reading(on_error="keep"))
    assert [(row["label"], row["text"]) for row in kept.values()] == [("x", ""), ("a", "b"), ("y", "")]


def test_a_bad_row_stops_by_default(tmp_path: Path, block: int) -> None:
    assert "row 2 of" in refusal(write(tmp_path / "rows.csv", BAD_CSV))


@pytest.mark.parametrize("on_error", ["stop", "skip", "keep"])
def test_a_quote_that_is_never_closed_always_stops(tmp_path: Path, on_error: str, block: int) -> None:
    path = write(tmp_path / "rows.csv", b'label,text\na,b\nc,"d\ne,f\n')
    assert "never closed" in refusal(path, on_error=on_error)


def test_bad_json_lines(tmp_path: Path, block: int) -> None:
    path = write(tmp_path / "rows.jsonl", b'{"text": "a"}\n{"text": \n[1]\n{"text": "\xff"}\n{"text": "e"}\n')
    skipping, keeping = Reading(on_error="skip"), Reading(on_error="keep")
    assert numbered(path, skipping) == {1: {"text": "a"}, 5: {"text": "e"}}
    assert [row["text"] for row in numbered(path, keeping).values()] == ["a", None, None, "\ufffd", "e"]
    assert skipping.faults == keeping.faults == {str(path): 3}


def test_bad_lines(tmp_path: Path, block: int) -> None:
    path = write(tmp_path / "rows.txt", b"one\ntw\xff\nthree\n")
    assert numbered(path, Reading(on_error="skip")) == {1: {"text": "one"}, 3: {"text": "three"}}
    assert texts(path, on_error="keep") == ["one", "tw\ufffd", "three"]


def test_what_to_do_with_errors_must_be_known() -> None:
    with pytest.raises(ValueError, match="on_error must be one of"):
        Reading(on_error="ignore")


# --------------------------------------------------------------------------------------- folders and patterns


def labelled(folder: Path) -> Path:
    write(folder / "spam" / "1.txt", b"free prize")
    write(folder / "spam" / "deeper" / "2.txt", b"free\ncash")
    write(folder / "ham" / "1", "café at noon".encode())
    write(folder / "ham" / ".hidden", b"\xff")
    return folder


def test_a_folder_whose_sub_folders_are_the_labels(tmp_path: Path, block: int) -> None:
    folder = labelled(tmp_path / "data")
    assert read(folder) == [
        {"label": "ham", "text": "café at noon"},
        {"label": "spam", "text": "free prize"},
        {"label": "spam", "text": "free\ncash"},
    ]
    assert can_be_read_again(folder)
    assert Classifier().fit(folder).rows == 3


def test_a_document_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    folder = labelled(tmp_path / "data")
    bad = write(folder / "spam" / "last" / "9.txt", b"n\xe9")
    assert str(bad) in refusal(folder)
    assert len(read(folder, on_error="skip")) == 3
    assert texts(folder, on_error="keep")[-1] == "n\ufffd"
    assert texts(folder, encoding="latin-1")[-1] == "né"


def test_a_folder_without_labels(tmp_path: Path) -> None:
    write(tmp_path / "b.txt", b"two")
    write(tmp_path / "a.txt", b"one")
    assert read(tmp_path) == [{"text": "one"}, {"text": "two"}]


def test_folders_that_cannot_be_meant(tmp_path: Path) -> None:
    assert "without files" in refusal(tmp_path)
    folder = labelled(tmp_path / "data")
    assert "give the files in it" in refusal(folder, format="csv")
    write(folder / "README", b"about")
    assert "beside its sub-folders, such as 'README'" in refusal(folder)
    tables = write(tmp_path / "tables" / "a.csv", b"text\na\n").parent
    assert "with tables" in refusal(tables)
    write(tmp_path / "mixed" / "a" / "1.eml", b"Subject: x\n\ny")
    write(tmp_path / "mixed" / "b" / "1.txt", b"y")
    assert "mails and other documents" in refusal(tmp_path / "mixed")


def test_patterns(tmp_path: Path) -> None:
    write(tmp_path / "part-2.csv", b"text\nthree\n")
    write(tmp_path / "part-1.csv", b"text\none\ntwo\n")
    found = [text for batch in batches(str(tmp_path / "part-*.csv")) for text in values(batch.columns["text"])]
    assert found == ["one", "two", "three"]
    assert can_be_read_again(Sources((str(tmp_path / "part-?.csv"),)))
    assert "none that matches" in refusal(tmp_path / "other-*.csv")
    write(tmp_path / "odd[1].csv", b"text\nfour\n")
    assert texts(tmp_path / "odd[1].csv") == ["four"]


# ------------------------------------------------------------------------------------------ Arrow, svmlight


@pytest.mark.parametrize("kind", ["file", "stream", "feather"])
def test_arrow(tmp_path: Path, kind: str) -> None:
    table = pa.table({"label": ["a", "b"] * 30_000, "text": [f"text {row}" for row in range(60_000)]})
    path = tmp_path / ("rows.feather" if kind == "feather" else "rows.arrow")
    if kind == "feather":
        pyarrow.feather.write_feather(table, path)
    else:
        new = pa.ipc.new_file if kind == "file" else pa.ipc.new_stream
        with pa.OSFile(str(path), "wb") as file, new(file, table.schema) as writer:
            writer.write_table(table)
    assert read(path) == table.to_pylist()


@pytest.mark.parametrize("content", [b"", b"ARROW1", b"ARROW1\0\0" + b"\xff" * 100, b"nothing", b"FEA1", b"\xff" * 64])
def test_arrow_that_is_none(tmp_path: Path, content: bytes) -> None:
    assert "as Arrow" in refusal(write(tmp_path / "rows.arrow", content))


def test_arrow_cut_off_anywhere_is_refused_or_ends_early(tmp_path: Path) -> None:
    path = tmp_path / "rows.arrow"
    pyarrow.feather.write_feather(pa.table({"text": ["one", "two"]}), path)
    content = path.read_bytes()
    for size in range(0, len(content), 7):
        assert "as Arrow" in refusal(write(path, content[:size]))


def test_svmlight(tmp_path: Path, block: int) -> None:
    content = b"# made by hand\n+1 1:0.5 3:-2 # a comment\n\n-1 qid:4 2:1e3\n1\r\n"
    expected = [
        {"label": "1", "1": 0.5, "2": 0.0, "3": -2.0},
        {"label": "-1", "1": 0.0, "2": 1000.0, "3": 0.0},
        {"label": "1", "1": 0.0, "2": 0.0, "3": 0.0},
    ]
    assert read(write(tmp_path / "rows.svm", content)) == expected
    assert read(write(tmp_path / "rows.svmlight.gz", gzip.compress(content))) == expected


def test_svmlight_batches_have_the_same_columns(tmp_path: Path) -> None:
    path = tmp_path / "rows.svm"
    path.write_text("".join(f"{row % 2} {row % 1000 + 1}:1\n" for row in range(5000)))
    found = list(batches(path))
    assert len(found) > 1
    assert len({tuple(batch.columns) for batch in found}) == 1
    assert sum(batch.rows for batch in found) == 5000
    assert sum(np.sum(batch.columns["1"]) for batch in found) == 5


@pytest.mark.parametrize(
    ("line", "message"),
    [(b"1 x:1", "row 2 of"), (b"1 5", "no pair"), (b"1 7:x", "column '7'"), (b"1 -3:1", "no pair"), (b"1 9" + b"9" * 30 + b":1", "no pair")],
)  # fmt: skip
def test_bad_svmlight(tmp_path: Path, line: bytes, message: str) -> None:
    path = write(tmp_path / "rows.svm", b"1 1:1\n" + line + b"\n-1 1:2\n")
    assert message in refusal(path)
    assert list(numbered(path, Reading(on_error="skip"))) == [1, 3]
    assert len(read(path, on_error="keep")) == 3


def test_svmlight_with_too_many_indices(tmp_path: Path) -> None:
    path = tmp_path / "rows.svm"
    path.write_text("".join(f"1 {row}:1\n" for row in range(1, 5000)))
    assert "load_svmlight_file" in refusal(path)
    assert "standard input" in refusal("-", format="svmlight")


# ------------------------------------------------------------------------------------------------- mailboxes

ENVELOPE = b"From ann@example.org Thu Aug 22 12:36:23 2002\n"


def test_mbox(tmp_path: Path, block: int) -> None:
    one, two, three = (
        b"Subject: one\n\nbody\n\nFrom here on it is\n\n>From quoted\n",
        b"Subject: two\r\n\r\nb\r\n",
        b"Subject: three\n",
    )
    content = b"\n" + ENVELOPE + one + b"\n" + ENVELOPE + two + b"\r\n" + ENVELOPE + three
    rows = read(write(tmp_path / "mail.mbox", content))
    assert [row["subject"] for row in rows] == ["one", "two", "three"]
    assert "From here on" in rows[0]["body"]
    assert read(write(tmp_path / "mail.mbox.gz", gzip.compress(content))) == rows


@pytest.mark.parametrize(("content", "rows"), [(b"", 0), (b"\n\n", 0), (ENVELOPE, 1), (ENVELOPE[:-1], 1)])
def test_mboxes_with_little_in_them(tmp_path: Path, content: bytes, rows: int, block: int) -> None:
    assert len(read(write(tmp_path / "mail.mbox", content))) == rows


def test_an_mbox_that_is_none(tmp_path: Path, block: int) -> None:
    assert "not an mbox" in refusal(write(tmp_path / "mail.mbox", b"label,text\na,b\n"))


def test_a_very_long_message_in_an_mbox_is_one_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discern.data.message.MAX_BYTES", 10_000)
    long = ENVELOPE + b"Subject: long\n\n" + b"word word word\n" * 200_000
    rows = read(write(tmp_path / "mail.mbox", long + b"\n" + ENVELOPE + b"Subject: next\n" + long))
    assert [row["subject"] for row in rows] == ["long", "next"]


def test_maildir_and_eml(tmp_path: Path) -> None:
    for place in ("new", "cur", "tmp"):
        write(tmp_path / "box" / place / f"1.{place}:2,S", f"Subject: {place}\n\nbody".encode())
    assert [row["subject"] for row in read(tmp_path / "box")] == ["cur", "new"]
    for label in ("ham", "spam"):
        (tmp_path / "boxes").mkdir(exist_ok=True)
        write(tmp_path / "boxes" / label / "cur" / "1", f"Subject: {label}\n\n".encode())
        (tmp_path / "boxes" / label / "new").mkdir()
    assert [(row["label"], row["subject"]) for row in read(tmp_path / "boxes")] == [("ham", "ham"), ("spam", "spam")]
    [row] = read(write(tmp_path / "one.eml", b"Subject: n\xe9\n\n\x81 body"))
    assert (row["subject"], row["body"]) == ("né", "\x81 body")
    assert read(write(tmp_path / "none.eml", b"")) == []


def test_a_model_of_one_text_reads_mails(tmp_path: Path) -> None:
    model = Classifier(smoothing=1.0).fit([{"label": "spam", "text": "free prize"}, {"label": "ham", "text": "noon"}])
    path = write(tmp_path / "one.eml", b"Subject: free\n\nprize\n")
    assert model.predict(path).tolist() == ["spam"]
    with pytest.raises(DataError, match="did you mean 'subject'"):
        Classifier(label="subjec").fit(path)
