"""Every reader meets every kind of bad input, a test a case: a defined result, or a sentence; never a traceback."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from discern.classifier import Classifier
from discern.cli.main import app

PARAGRAPH = "\u2028"
ENVELOPE = b"From a@example.org Thu Aug 22 12:36:23 2002\n"
MAIL = b"Subject: s\nContent-Type: text/plain; charset=utf-8\n\n"

Rows = list[str]
Case = tuple[bytes, Rows | str]
"""What a file holds; the texts that are read, or a part of what is said."""


def parquet(**columns: Any) -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.table(columns), stream)
    return stream.getvalue()


def arrow(**columns: Any) -> bytes:
    stream = io.BytesIO()
    feather.write_feather(pa.table(columns), stream, "uncompressed")
    return stream.getvalue()


def twice(write: Any) -> bytes:
    stream = io.BytesIO()
    write(pa.Table.from_arrays([pa.array(["a1"]), pa.array(["b1"])], names=["text", "text"]), stream)
    return stream.getvalue()


def bad_utf8() -> Any:
    return pa.Array.from_buffers(pa.string(), 1, [None, pa.array(["ab"]).buffers()[1], pa.py_buffer(b"\xff\xfe")])


CASES: dict[tuple[str, str], Case] = {
    # -------------------------------------------------------------------------------------------------- CSV, TSV
    ("csv", "empty"): (b"", "is empty"),
    ("csv", "header only"): (b"text,n\n", []),
    ("csv", "header without an end"): (b"text,n", []),
    ("csv", "duplicate columns"): (b"text,text\na1,b1\n", "'text' twice"),
    ("csv", "blank header"): (b"\nxx\n", "blank"),
    ("csv", "embedded newlines"): (b'text,n\n"a1\nb1",1\n"c1\r\nd1",2\n', ["a1\nb1", "c1\r\nd1"]),
    ("csv", "CRLF"): (b"text,n\r\na1,1\r\nb1,2\r\n", ["a1", "b1"]),
    ("csv", "lone CR"): (b"text,n\ra1,1\rb1,2\r", "carriage return"),
    ("csv", "BOM"): (b"\xef\xbb\xbftext,n\na1,1\n", ["a1"]),
    ("csv", "UTF-16"): ("text,n\nä1,1\n".encode("utf-16"), ["ä1"]),
    ("csv", "NUL"): (b"text,n\na\0b,1\n", ["a\0b"]),
    ("csv", "U+2028"): (f"text,n\na1{PARAGRAPH}b1,1\n".encode(), [f"a1{PARAGRAPH}b1"]),
    ("csv", "form feed"): (b"text,n\na1\x0c\x0b\x1c\x85b1,1\n".replace(b"\x85", b"\xc2\x85"), ["a1\x0c\x0b\x1c\x85b1"]),
    ("csv", "no final newline"): (b"text,n\na1,1\nb1,2", ["a1", "b1"]),
    ("csv", "ragged, short"): (b"text,n\na1,1\nb1\n", "row 2 of"),
    ("csv", "ragged, long"): (b"text,n\na1,1\nb1,2,3\n", "row 2 of"),
    ("csv", "invalid UTF-8"): (b"text,n\na1,1\n\xff\xfe,2\n", "row 2 of"),
    ("csv", "surrogates"): (b"text,n\n\xed\xa0\x80,1\n", "row 1 of"),
    ("csv", "open quote"): (b'text,n\n"a1,1\nb1,2\n', "never closed"),
    ("csv", "quote inside"): (b'text,n\na"1,1\n', ['a"1']),
    ("csv", "semicolons"): (b"text;n\na1;1\n", ["a1"]),
    ("csv", "wrong column"): (b"txt,n\na1,1\n", "did you mean 'txt'"),
    ("tsv", "empty"): (b"", "is empty"),
    ("tsv", "header only"): (b"text\tn\n", []),
    ("tsv", "duplicate columns"): (b"text\ttext\na\tb\n", "'text' twice"),
    ("tsv", "commas"): (b"text\tn\na,b\t1\n", ["a,b"]),
    ("tsv", "ragged"): (b"text\tn\na\n", "row 1 of"),
    ("tsv", "invalid UTF-8"): (b"text\tn\n\xff\t1\n", "row 1 of"),
    ("tsv", "U+2028"): (f"text\tn\na{PARAGRAPH}b\t1".encode(), [f"a{PARAGRAPH}b"]),
    # ------------------------------------------------------------------------------------------------ JSON lines
    ("jsonl", "empty"): (b"", []),
    ("jsonl", "blank lines"): (b'\n{"text": "a1"}\n\n  \n', ["a1"]),
    ("jsonl", "no final newline"): (b'{"text": "a1"}\n{"text": "b1"}', ["a1", "b1"]),
    ("jsonl", "CRLF"): (b'{"text": "a1"}\r\n{"text": "b1"}\r\n', ["a1", "b1"]),
    ("jsonl", "BOM"): (b'\xef\xbb\xbf{"text": "a1"}\n', ["a1"]),
    ("jsonl", "U+2028"): (f'{{"text": "a{PARAGRAPH}b"}}\n'.encode(), [f"a{PARAGRAPH}b"]),
    ("jsonl", "NUL"): (b'{"text": "a\\u0000b"}\n', ["a\0b"]),
    ("jsonl", "lone surrogate"): (b'{"text": "a\\ud800b"}\n', ["a\ud800b"]),
    ("jsonl", "duplicate keys"): (b'{"text": "a1", "text": "b1"}\n', ["b1"]),
    ("jsonl", "no object"): (b'{"text": "a1"}\n[1]\n', "row 2 of"),
    ("jsonl", "cut off"): (b'{"text": "a1"}\n{"text": "b', "row 2 of"),
    ("jsonl", "invalid UTF-8"): (b'{"text": "\xff"}\n', "row 1 of"),
    ("jsonl", "very deep"): (b'{"text": "a1"}\n{"text": ' + b"[" * 100_000 + b"\n", "row 2 of"),
    ("jsonl", "missing value"): (b'{"text": null}\n{"n": 1}\n', ["", ""]),
    ("jsonl", "infinite"): (b'{"text": 1e999}\n', ["inf"]),
    # ------------------------------------------------------------------------------------------- Parquet, Arrow
    ("parquet", "empty"): (b"", "Parquet"),
    ("parquet", "no rows"): (parquet(text=pa.array([], pa.string())), []),
    ("parquet", "no such thing"): (b"text,n\na,1\n", "Parquet"),
    ("parquet", "cut off"): (parquet(text=["a1"])[:-10], "Parquet"),
    ("parquet", "duplicate columns"): (twice(pq.write_table), "twice"),
    ("parquet", "awkward texts"): (
        parquet(text=["a\0b", f"a{PARAGRAPH}\r\nb", None]),
        ["a\0b", f"a{PARAGRAPH}\r\nb", ""],
    ),
    ("parquet", "numbers"): (parquet(text=[1, 2]), ["1", "2"]),
    ("parquet", "lists"): (parquet(text=[[1], [2]]), "cannot be read as text"),
    ("arrow", "empty"): (b"", "Arrow"),
    ("arrow", "no rows"): (arrow(text=pa.array([], pa.string())), []),
    ("arrow", "no such thing"): (b"text,n\na,1\n", "Arrow"),
    ("arrow", "cut off"): (arrow(text=["a1"])[:-20], "Arrow"),
    ("arrow", "awkward texts"): (arrow(text=["a\0b", f"{PARAGRAPH}\r\nb", None]), ["a\0b", f"{PARAGRAPH}\r\nb", ""]),
    ("arrow", "invalid UTF-8"): (arrow(text=bad_utf8()), "UTF"),
    # ----------------------------------------------------------------------------------------------- plain text
    ("txt", "empty"): (b"", []),
    ("txt", "blank lines"): (b"\n\na1\n", ["", "", "a1"]),
    ("txt", "CRLF"): (b"a1\r\n\r\nb1", ["a1", "", "b1"]),
    ("txt", "BOM"): (b"\xef\xbb\xbfa1\n", ["a1"]),
    ("txt", "UTF-16"): ("ä1\nb1".encode("utf-16"), ["ä1", "b1"]),
    ("txt", "U+2028 and the like"): (f"a{PARAGRAPH}b\x0c\x0b\x1c\x85\n".encode(), [f"a{PARAGRAPH}b\x0c\x0b\x1c\x85"]),
    ("txt", "NUL"): (b"a\0b\n\0\n", ["a\0b", "\0"]),
    ("txt", "invalid UTF-8"): (b"a1\n\xff\n", "row 2 of"),
    ("txt", "surrogates"): (b"\xed\xa0\x80\n", "row 1 of"),
    # ------------------------------------------------------------------------------------------------------ mail
    ("eml", "empty"): (b"", []),
    ("eml", "no headers"): (b"\nbody", ["body"]),
    ("eml", "no body"): (b"Subject: s\n", ["s"]),
    ("eml", "CRLF"): (b"Subject: s\r\n\r\nline\r\n", ["s\nline\r\n"]),
    ("eml", "NUL"): (MAIL + b"a\0b", ["s\na\0b"]),
    ("eml", "U+2028"): (MAIL + f"a{PARAGRAPH}b".encode(), [f"s\na{PARAGRAPH}b"]),
    ("eml", "invalid UTF-8"): (MAIL + b"caf\xe9", ["s\ncaf\ufffd"]),
    ("eml", "unknown charset"): (MAIL.replace(b"utf-8", b"klingon") + b"caf\xe9", ["s\ncaf\xe9"]),
    ("eml", "idna as charset"): (MAIL.replace(b"utf-8", b"idna") + b"xn--a", ["s\nxn--a"]),
    ("eml", "nothing but NUL"): (b"\0" * 100, [""]),
    ("mbox", "empty"): (b"", []),
    ("mbox", "no mbox"): (b"Subject: s\n\nbody\n", "not an mbox"),
    ("mbox", "one mail"): (ENVELOPE + MAIL + b"a1\n", ["s\na1\n"]),
    ("mbox", "From in a body"): (ENVELOPE + MAIL + b"a1\n\nFrom here on\n", ["s\na1\n\nFrom here on\n"]),
    ("mbox", "two mails"): (ENVELOPE + MAIL + b"a1\n\n" + ENVELOPE + MAIL + b"b1\n", ["s\na1\n", "s\nb1\n"]),
    ("mbox", "CRLF"): ((ENVELOPE + MAIL + b"a1\n").replace(b"\n", b"\r\n"), ["s\na1\r\n"]),
    ("mbox", "nothing but an envelope"): (ENVELOPE, [""]),
}
"""By format and by what is odd about the file."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "m.discern"
    Classifier(smoothing=1.0, text="text").fit([{"label": "a", "text": "a1"}, {"label": "b", "text": "b1"}]).save(path)
    return path


def run(*arguments: Any) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.mark.parametrize(("kind", "name"), CASES, ids=[f"{kind}: {name}" for kind, name in CASES])
def test_a_file(tmp_path: Path, model: Path, kind: str, name: str) -> None:
    content, expected = CASES[kind, name]
    path = tmp_path / f"file.{kind}"
    path.write_bytes(content)
    result = run("predict", model, path, "--json")
    assert result.exception is None or isinstance(result.exception, SystemExit)
    if isinstance(expected, str):
        assert result.exit_code == 1, result.stdout
        assert result.stdout.count("\n") <= 1  # a row before the bad one may be out already
        assert result.stderr.startswith("discern: ")
        assert expected in result.stderr
        assert result.stderr.count("\n") == 1
        return
    assert result.exit_code == 0, result.stderr
    assert result.stdout.count("\n") == len(expected)
    from discern.data.batch import as_texts
    from discern.data.readers import batches

    texts = [text for batch in batches(path) for text in _texts(as_texts(batch.column("text"), "it"))]
    assert texts == expected


def _texts(column: Any) -> list[str]:
    if isinstance(column, list):
        return column
    from discern.data.strings import Strings

    kind, starts, ends, data = column
    assert kind == "spans"
    return Strings(starts, data, ends).to_list()


@pytest.mark.parametrize("on_error", ["skip", "keep"])
@pytest.mark.parametrize(
    ("kind", "name"),
    [key for key, (_, expected) in CASES.items() if isinstance(expected, str) and "row " in expected],
    ids=lambda value: str(value),
)
def test_bad_rows_are_skipped_or_kept_and_counted(
    tmp_path: Path, model: Path, kind: str, name: str, on_error: str
) -> None:
    path = tmp_path / f"file.{kind}"
    path.write_bytes(CASES[kind, name][0])
    result = run("predict", model, path, "--json", "--on-error", on_error)
    assert result.exit_code == 0, result.stderr
    assert "1 bad row" in result.stderr
    bad = int(CASES[kind, name][1].split("row ")[1].split()[0])
    assert result.stdout.count("\n") == (bad - 1 if on_error == "skip" else bad)


SVMLIGHT: dict[str, tuple[bytes, int | str]] = {
    "empty": (b"", "no column"),
    "comments only": (b"# nothing\n\n", "no column"),
    "no final newline": (b"1 1:1\n-1 2:1", 2),
    "CRLF": (b"1 1:1\r\n-1 2:1\r\n", 2),
    "BOM": (b"\xef\xbb\xbf1 1:1\n-1 1:2\n", 2),
    "no pair": (b"1 1:1\n1 x\n", "row 2 of"),
    "no number": (b"1 1:1\n1 1:x\n", "row 2 of"),
    "infinite": (b"1 1:1\n-1 1:1e999\n", "too large"),
    "huge index": (b"1 99999999999999999999:1\n", "row 1 of"),
    "NUL": (b"1 1:1\0\n", "row 1 of"),
    "invalid UTF-8": (b"\xff 1:1\n1 1:2\n", 2),
}


@pytest.mark.parametrize("name", SVMLIGHT)
def test_svmlight(tmp_path: Path, name: str) -> None:
    content, expected = SVMLIGHT[name]
    path = tmp_path / "file.svm"
    path.write_bytes(content)
    result = run("fit", path, "-o", tmp_path / "m.discern", "--json", "--numbers", "gaussian", "--smoothing", "1")
    assert result.exception is None or isinstance(result.exception, SystemExit)
    if isinstance(expected, int):
        assert result.exit_code == 0, result.stderr
        assert json.loads(result.stdout)["rows"] == expected
    else:
        assert result.exit_code == 1
        assert result.stderr.startswith("discern: ")


FOLDERS: dict[str, tuple[dict[str, bytes], int | str]] = {
    "empty": ({}, "without files"),
    "empty files": ({"a/1.txt": b"", "b/1.txt": b""}, 2),
    "invalid UTF-8": ({"a/1.txt": b"\xff", "b/1.txt": b"x"}, "1.txt"),
    "files beside folders": ({"a/1.txt": b"x", "2.txt": b"x"}, "beside"),
    "mails and others": ({"a/1.eml": b"Subject: s\n\n", "a/2.txt": b"x"}, "--format"),
    "NUL and U+2028": ({"a/1.txt": f"a\0{PARAGRAPH}b\r\n".encode(), "b/1.txt": b"x"}, 2),
    "Maildirs": ({"a/cur/1": MAIL, "a/new/2": MAIL, "b/cur/.hidden": b"", "b/new/1": b""}, 3),
}


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder(tmp_path: Path, model: Path, name: str) -> None:
    contents, expected = FOLDERS[name]
    (tmp_path / "in").mkdir()
    for place, content in contents.items():
        (tmp_path / "in" / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / place).write_bytes(content)
    result = run("predict", model, tmp_path / "in", "--json")
    assert result.exception is None or isinstance(result.exception, SystemExit)
    if isinstance(expected, int):
        assert result.exit_code == 0, result.stderr
        assert result.stdout.count("\n") == expected
    else:
        assert result.exit_code == 1
        assert expected in result.stderr


# ------------------------------------------------------------------------------------------- one very long line

LONG = {
    "csv": (b"text,n\n", b"word ", b",1\n"),
    "tsv": (b"text\tn\n", b"word ", b"\t1\n"),
    "jsonl": (b'{"text": "', b"word ", b'"}\n'),
    "txt": (b"", b"word ", b"\n"),
    "eml": (b"Subject: s\n\n", b"word ", b"\n"),
    "mbox": (ENVELOPE + b"Subject: s\n\n", b"word ", b"\n"),
}
LIMITED = """
import resource, sys, time
most, model, kind, path = int(sys.argv[1]), *sys.argv[2:]
resource.setrlimit(resource.RLIMIT_AS, (most, most))
from discern.cli.main import app
start = time.process_time()
try:
    app(["predict", model, path, "--json", "--threads", "1"], standalone_mode=False)
except SystemExit as ended:
    print("code", ended.code)
print("seconds", time.process_time() - start)
"""


def long_line(tmp_path: Path, model: Path, kind: str, size: int, most: int) -> None:
    path = tmp_path / f"long.{kind}"
    begin, unit, end = LONG[kind]
    with path.open("wb") as file:
        file.write(begin)
        for _ in range(size // (len(unit) * 200_000)):
            file.write(unit * 200_000)
        file.write(end)
    arguments = [sys.executable, "-c", LIMITED, str(most), str(model), kind, str(path)]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    ran = subprocess.run(arguments, capture_output=True, text=True, env=environment, timeout=600)
    path.unlink()
    assert "Traceback" not in ran.stderr
    assert ran.returncode == 0, ran.stderr
    told = ran.stdout.splitlines()
    assert json.loads(told[0])["label"] in ("a", "b") or "not enough memory" in ran.stderr
    assert float(told[-1].split()[1]) < 2 + size / 10e6


@pytest.mark.parametrize("kind", LONG)
def test_a_line_of_twenty_megabytes(tmp_path: Path, model: Path, kind: str) -> None:
    long_line(tmp_path, model, kind, 20_000_000, 2_000_000_000)


@pytest.mark.soak
@pytest.mark.parametrize("kind", LONG)
def test_a_line_of_a_gigabyte(tmp_path: Path, model: Path, kind: str) -> None:
    long_line(tmp_path, model, kind, 1_000_000_000, 8_000_000_000)


def test_predictions_of_awkward_texts_can_be_read_again(tmp_path: Path, model: Path) -> None:
    """What comes out of one command goes into the next."""
    texts = ["a\0b", f"a{PARAGRAPH}b", "line\nbreak", "car\rriage", 'quo"te', ",", "", " ", "\t", "\ufeff"]
    with (tmp_path / "in.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\r\n")
        writer.writerows([["text", "n"], *([text, str(number)] for number, text in enumerate(texts))])
    for ending in ("csv", "tsv", "jsonl", "parquet"):
        out, again = tmp_path / f"out.{ending}", tmp_path / f"again.{ending}"
        assert run("predict", model, tmp_path / "in.csv", "--append", "-o", out).exit_code == 0
        assert run("predict", model, out, "--append", "-o", again).exit_code == 0
        from discern.data.readers import batches

        found = (
            [text for batch in batches(again) for text in batch.column("text").to_pylist()]
            if ending == "parquet"
            else [text for batch in batches(again) for text in _texts(batch.texts("text"))]
        )
        assert found == texts
