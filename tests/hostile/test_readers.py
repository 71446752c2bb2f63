"""Files that are empty, cut off, misspelled or malicious: right rows, or an error that says where."""

from __future__ import annotations

import bz2
import csv
import gzip
import json
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from discern.classifier import Classifier
from discern.cli.main import app
from discern.data import buffer
from discern.data.batch import Batch
from discern.data.readers import batches
from discern.data.source import COMPRESSIONS, Reading
from discern.data.strings import DataError, Strings
from tests.hostile.reader_cases import AWKWARD, CASES, PARAGRAPH, Case, Row, rows

BLOCKS = [1, 2, 3, 5, 7, 16, 64, 1000, 1 << 22]
TABLES = ["csv", "tsv", "jsonl", "parquet"]


@pytest.fixture(params=BLOCKS)
def block(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Run a test with files read in blocks of this size."""
    monkeypatch.setattr(buffer, "BLOCK", request.param)
    return request.param


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "m.discern"
    Classifier(smoothing=1.0, text="text").fit([{"label": "a", "text": "a1"}, {"label": "b", "text": "b1"}]).save(path)
    return path


def values(column: Any) -> list[Any]:
    if isinstance(column, Strings):
        return column.to_list()
    return column.to_pylist() if isinstance(column, pa.Array) else list(column)


def texts_of(batch: Batch) -> list[str]:
    """The texts of a batch as the native code takes them."""
    texts = batch.texts("text")
    return texts if isinstance(texts, list) else Strings(texts[1], texts[3], texts[2]).to_list()


def numbered(path: Any, reading: Reading | None = None) -> dict[int, Row]:
    """The rows of a file, by their number."""
    found: dict[int, Row] = {}
    for batch in batches(path, reading):
        columns = {name: values(column) for name, column in batch.columns.items()}
        assert all(len(column) == batch.rows for column in columns.values())
        for place in range(batch.rows):
            assert batch.start + place not in found
            found[batch.start + place] = {name: column[place] for name, column in columns.items()}
    return found


def read(path: Any, **reading: Any) -> list[Row]:
    """All rows of a file, checked to be numbered one after the other."""
    found = numbered(path, Reading(**reading))
    assert list(found) == list(range(1, len(found) + 1))
    return list(found.values())


def consume(path: Any, reading: Reading) -> None:
    """Read the texts and labels of a file, as learning does."""
    for batch in batches(path, reading):
        if "label" in batch.columns:
            batch.labels("label")
        if set(batch.columns) != {"label"} and not any(name.isdigit() for name in batch.columns):
            batch.texts("text")


def refusal(path: Any, **reading: Any) -> str:
    """What the error says when a file is to be read."""
    with pytest.raises(DataError) as caught:
        consume(path, Reading(**reading))
    return str(caught.value)


def run(*arguments: Any) -> Any:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def put(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def write(path: Path, found: list[Row]) -> Path:
    """Write labels and texts in the format that the name of the file tells."""
    if path.suffix == ".parquet":
        columns = {name: pa.array([row[name] for row in found], pa.string()) for name in ("label", "text")}
        pq.write_table(pa.table(columns), path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in found), encoding="utf-8")
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",", lineterminator="\r\n")
            writer.writerow(["label", "text"])
            writer.writerows([row["label"] or "", row["text"] or ""] for row in found)
    return path


def pack(content: bytes, suffix: str) -> bytes:
    by_suffix: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
    return by_suffix[suffix](content) if suffix in by_suffix else pa.compress(content, codec="zstd", asbytes=True)


# ------------------------------------------------------------------------------------------- the table of cases


def cases(chosen: Callable[[str, Case], bool] = lambda *_: True) -> Any:
    named = [(kind, name, case) for kind, some in CASES.items() for name, case in some.items() if chosen(kind, case)]
    ids = [f"{kind}: {name}" for kind, name, _ in named]
    return pytest.mark.parametrize(("kind", "name", "case"), named, ids=ids)


@cases()
def test_a_file_in_blocks_of_any_size(
    tmp_path: Path, kind: str, name: str, case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = put(tmp_path / f"rows.{kind}", case.content)
    for size in BLOCKS if len(case.content) < 1000 else BLOCKS[-1:]:
        monkeypatch.setattr(buffer, "BLOCK", size)
        reading = {"encoding": case.encoding}
        if isinstance(case.expected, tuple):
            message = refusal(path, **reading)
            assert [part for part in (path.name, *case.expected) if part not in message] == [], message
        elif case.expected and isinstance(case.expected[0], str):
            assert [text for batch in batches(path, Reading(**reading)) for text in texts_of(batch)] == case.expected
        else:
            assert read(path, **reading) == case.expected


def has_only_texts(kind: str, case: Case) -> bool:
    return kind != "svm" and case.encoding is None and b"label" not in case.content


@cases(has_only_texts)
def test_a_file_on_the_command_line(tmp_path: Path, model: Path, kind: str, name: str, case: Case) -> None:
    result = run("predict", model, put(tmp_path / f"rows.{kind}", case.content), "--json")
    if isinstance(case.expected, list):
        assert result.exit_code == 0, result.stderr
        assert result.stdout.count("\n") == len(case.expected)
        return
    assert result.exit_code == 1, result.stdout
    assert result.stdout.count("\n") <= 1  # a row before the bad one may be out already
    assert result.stderr.startswith("discern: ")
    assert all(part in result.stderr for part in case.expected)
    assert result.stderr.count("\n") == 1


NOT_LEARNED = {
    ("csv", "header only, CRLF"): "no rows to learn from",
    ("csv", "blank lines of one column"): "no predictor column",
    ("svm", "empty"): "no rows to learn from",
    ("svm", "comments only"): "no rows to learn from",
    ("svm", "infinite"): "row 2 of",
}
"""What can be read, but not learned from, and why."""


@cases(lambda kind, case: kind == "svm" or b"label" in case.content)
def test_a_file_to_learn(tmp_path: Path, kind: str, name: str, case: Case) -> None:
    path = put(tmp_path / f"rows.{kind}", case.content)
    encoding = () if case.encoding is None else ("--encoding", case.encoding)
    how = ("--json", "--smoothing", "1", "--numbers", "gaussian", *encoding)
    result = run("fit", path, "-o", tmp_path / "m.discern", *how)
    if isinstance(case.expected, list) and (kind, name) not in NOT_LEARNED:
        assert result.exit_code == 0, result.stderr
        assert json.loads(result.stdout)["rows"] == len(case.expected)
        return
    assert result.exit_code == 1
    assert result.stderr.startswith("discern: ")
    parts = case.expected if isinstance(case.expected, tuple) else [NOT_LEARNED[kind, name]]
    assert all(part in result.stderr for part in parts)


def has_bad_rows(kind: str, case: Case) -> bool:
    names_row = any(part.startswith("row ") for part in case.expected if isinstance(case.expected, tuple))
    return has_only_texts(kind, case) and names_row and "never closed" not in case.expected


@cases(has_bad_rows)
def test_bad_rows_are_skipped_or_kept_and_counted(
    tmp_path: Path, model: Path, kind: str, name: str, case: Case
) -> None:
    path = put(tmp_path / f"rows.{kind}", case.content)
    bad = int(str(case.expected[0]).split()[1])
    out = {}
    for on_error in ("skip", "keep"):
        reading = Reading(on_error=on_error)
        out[on_error] = numbered(path, reading)
        assert reading.first_fault.startswith(f"row {bad} of {path}")
        result = run("predict", model, path, "--json", "--on-error", on_error)
        assert result.exit_code == 0, result.stderr
        assert result.stdout.count("\n") == len(out[on_error])
        assert f"{reading.faults[str(path)]} bad row" in result.stderr
    assert list(out["keep"]) == list(range(1, len(out["keep"]) + 1))
    assert len(out["keep"]) - len(out["skip"]) == reading.faults[str(path)]
    assert bad in out["keep"]
    assert bad not in out["skip"]


# ---------------------------------------------------------------------------------------- every kind of table


@pytest.mark.parametrize("kind", TABLES)
def test_awkward_values_come_back(tmp_path: Path, kind: str, block: int) -> None:
    assert read(write(tmp_path / f"rows.{kind}", AWKWARD)) == AWKWARD


@pytest.mark.parametrize("kind", TABLES)
def test_a_field_of_five_megabytes(tmp_path: Path, kind: str) -> None:
    long = 'word, "quoted"\n' * 360_000
    assert len(long) > 5_000_000
    found = rows(("a", "before"), ("b", long), ("c", "after"))
    assert read(write(tmp_path / f"rows.{kind}", found)) == found


@pytest.mark.parametrize("kind", TABLES)
def test_many_rows_in_many_out(tmp_path: Path, kind: str) -> None:
    found = rows(*((f"l{i % 3}", f'row {i}, with\ta "quote" é') for i in range(70_000)))
    assert read(write(tmp_path / f"rows.{kind}", found)) == found


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("label", ["", None])
@pytest.mark.parametrize("row", [1, 23])
def test_a_missing_label_is_named(tmp_path: Path, kind: str, label: str | None, row: int, block: int) -> None:
    found = rows(*(("a", f"text {i}") for i in range(40)))
    found[row - 1]["label"] = label
    path = write(tmp_path / f"rows.{kind}", found)
    with pytest.raises(DataError) as caught:
        Classifier(text="text").fit(path)
    said = str(caught.value)
    assert [part for part in (f"row {row} of", path.name, "no label", "'label'") if part not in said] == [], said


@pytest.mark.parametrize("kind", TABLES)
def test_a_missing_text_is_an_empty_one(tmp_path: Path, kind: str, block: int) -> None:
    path = write(tmp_path / f"rows.{kind}", rows(("a", None), ("b", "win"), ("b", None), ("b", "lunch win")))
    found = Classifier(text="text").fit(path).statistics
    assert found == Classifier(text="text").fit(rows(("a", ""), ("b", "win"), ("b", ""), ("b", "lunch win"))).statistics
    assert found.rows == 4


def test_json_lines_may_lack_columns(tmp_path: Path, block: int) -> None:
    lines = (
        b'{"label": "a", "text": "win"}\n{"label": "b"}\n{"label": "b", "text": null}\n{"label": "b", "text": "x1"}\n'
    )
    found = Classifier(text="text").fit(put(tmp_path / "rows.jsonl", lines)).statistics
    assert found == Classifier(text="text").fit(rows(("a", "win"), ("b", ""), ("b", ""), ("b", "x1"))).statistics


@pytest.mark.parametrize("kind", TABLES)
def test_a_wrong_column_is_named(tmp_path: Path, kind: str) -> None:
    path = write(tmp_path / f"rows.{kind}", rows(("a", "text")))
    with pytest.raises(DataError, match="no column 'labell'; did you mean 'label'"):
        Classifier("labell", text="text").fit(path)
    with pytest.raises(DataError, match="no column 'body'"):
        Classifier(text="body").fit(path)


@pytest.mark.parametrize("kind", TABLES)
def test_rows_without_any(tmp_path: Path, kind: str, block: int) -> None:
    path = write(tmp_path / f"rows.{kind}", [])
    assert read(path) == []
    with pytest.raises(DataError, match="no rows"):
        Classifier(text="text").fit(path)
    classifier = Classifier().fit([{"label": "a", "text": "win"}])
    assert classifier.predict(path).tolist() == []
    assert classifier.learn(path).rows == 1
    with pytest.raises(DataError, match="no rows"):
        classifier.evaluate(path)
    with pytest.raises(DataError, match="no rows to learn from"):
        Classifier().learn(path)


@pytest.mark.parametrize("kind", TABLES)
def test_files_that_are_not_there(tmp_path: Path, kind: str) -> None:
    write(tmp_path / f"rows.{kind}", rows(("a", "text")))
    assert "did you mean" in refusal(tmp_path / f"row.{kind}")
    with pytest.raises(DataError, match=r"no such file: .*row\..*did you mean .*rows\."):
        list(batches(tmp_path / f"row.{kind}"))
    with pytest.raises(DataError, match="no such file"):
        list(batches(tmp_path / "nowhere" / f"rows.{kind}"))
    with pytest.raises(DataError, match="no such file: 'win a prize'; if it is a text, pass it in a list"):
        list(batches("win a prize"))
    folder = tmp_path / f"folder.{kind}"
    folder.mkdir()
    with pytest.raises(DataError, match="is a folder"):
        list(batches(folder))


def test_the_format_must_be_known(tmp_path: Path) -> None:
    path = put(tmp_path / "rows.log", b"label,text\na,b\n")
    with pytest.raises(DataError, match="cannot tell the format"):
        list(batches(path))
    told: list[int] = []
    assert read(path, format="csv", progress=told.append) == rows(("a", "b"))
    assert sum(told) == path.stat().st_size


def test_predictions_of_awkward_texts_can_be_read_again(tmp_path: Path, model: Path) -> None:
    """What comes out of one command goes into the next."""
    texts = ["a\0b", f"a{PARAGRAPH}b", "line\nbreak", "car\rriage", 'quo"te', ",", "", " ", "\t", "\ufeff"]
    given = write(tmp_path / "in.csv", rows(*((str(number), text) for number, text in enumerate(texts))))
    for ending in TABLES:
        out, again = tmp_path / f"out.{ending}", tmp_path / f"again.{ending}"
        assert run("predict", model, given, "--append", "-o", out).exit_code == 0
        assert run("predict", model, out, "--append", "-o", again).exit_code == 0
        assert [row["text"] for row in read(again)] == texts


# ------------------------------------------------------------------------------------- compressed and encoded

PACKED = {
    "csv": CASES["csv"]["line breaks in quotes"],
    "tsv": CASES["tsv"]["quotes"],
    "jsonl": CASES["jsonl"]["blank lines"],
    "txt": CASES["txt"]["other scripts"],
    "svm": CASES["svm"]["rows"],
    "mbox": CASES["mbox"]["three mails"],
}


@pytest.mark.parametrize("kind", PACKED)
@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_compressed_files(tmp_path: Path, kind: str, suffix: str, block: int) -> None:
    content = PACKED[kind].content
    if kind in TABLES:
        content = write(tmp_path / f"rows.{kind}", AWKWARD).read_bytes()
    plain, packed = (
        put(tmp_path / f"rows.{kind}", content),
        put(tmp_path / f"rows.{kind}{suffix}", pack(content, suffix)),
    )
    assert read(packed) == read(plain)


@pytest.mark.parametrize("suffix", COMPRESSIONS)
@pytest.mark.parametrize("damage", ["cut", "changed", "other", "empty", "cut text"])
def test_damaged_compressed_files(tmp_path: Path, suffix: str, damage: str) -> None:
    plain = ("label,text\n" + "".join(f"a,text {i} {i * i}\n" for i in range(5000))).encode()
    packed = pack(plain, suffix)
    half = len(packed) // 2 if suffix != ".zst" else 4  # a zstd file need not have a checksum: break its header
    changed = packed[:half] + bytes(255 - byte for byte in packed[half : half + 20]) + packed[half + 20 :]
    cut = packed[: len(packed) // 2]
    content = {"cut": cut, "changed": changed, "other": plain, "empty": b"", "cut text": cut}[damage]
    path = put(tmp_path / f"rows.{'txt' if damage == 'cut text' else 'csv'}{suffix}", content)
    assert path.name in refusal(path)


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "utf-16-le", "utf-16-be", "utf-16"])
def test_encodings_that_are_guessed_are_told(tmp_path: Path, encoding: str) -> None:
    path = put(tmp_path / "d.csv", "text,n\ncafé – “menu”,1\n".encode(encoding))
    reading = Reading(encoding="auto")
    assert numbered(path, reading)[1]["text"] == "café – “menu”"
    assert reading.guessed == ({} if encoding in ("utf-8", "utf-16") else {str(path): encoding})


@pytest.mark.parametrize("encoding", ["klingon", "hex", "", "utf-8\0", "../etc"])
def test_encodings_that_are_none(encoding: str) -> None:
    with pytest.raises(DataError, match="unknown encoding"):
        Reading(encoding=encoding)
