"""Rows that cannot be read, folders, and what only one format has."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from discern.classifier import Classifier
from discern.data import buffer
from discern.data.readers import Sources, batches, can_be_read_again
from discern.data.source import Reading
from discern.data.strings import DataError
from tests.hostile.reader_cases import BAD, ENVELOPE, FOLDERS, rows
from tests.hostile.test_readers import BLOCKS, numbered, put, read, refusal, run, values, write


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


# --------------------------------------------------------------------------------- rows that cannot be read


@pytest.mark.parametrize("name", BAD)
def test_bad_rows(tmp_path: Path, name: str, block: int) -> None:
    file, content, skipped, kept = BAD[name]
    path = put(tmp_path / file, content)
    column = "1" if file == "rows.svm" else "text"
    skipping, keeping = Reading(on_error="skip"), Reading(on_error="keep")
    assert {number: row[column] for number, row in numbered(path, skipping).items()} == skipped
    for _ in range(2):  # read again, not counted again
        assert [row[column] for row in numbered(path, keeping).values()] == kept
        assert skipping.faults == keeping.faults == {str(path): len(kept) - len(skipped)}
    first = next(number for number in range(1, 9) if number not in skipped)
    assert skipping.first_fault.startswith(f"row {first} of {path}")
    assert f"row {first} of" in refusal(path)


@pytest.mark.parametrize("on_error", ["stop", "skip", "keep"])
def test_a_quote_that_is_never_closed_always_stops(tmp_path: Path, on_error: str, block: int) -> None:
    path = put(tmp_path / "rows.csv", b'label,text\na,b\nc,"d\ne,f\n')
    assert "never closed" in refusal(path, on_error=on_error)


def test_what_to_do_with_errors_must_be_known() -> None:
    with pytest.raises(ValueError, match="on_error must be one of"):
        Reading(on_error="ignore")


# --------------------------------------------------------------------------------------- folders and patterns


def folder_of(place: Path, contents: dict[str, bytes]) -> Path:
    place.mkdir()
    for name, content in contents.items():
        put(place / name, content)
    return place


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder(tmp_path: Path, model: Path, name: str, block: int) -> None:
    contents, expected = FOLDERS[name]
    folder = folder_of(tmp_path / "in", contents)
    assert can_be_read_again(folder)
    result = run("predict", model, folder, "--json")
    if isinstance(expected, str):
        assert expected in refusal(folder)
        assert expected in result.stderr
        assert result.exit_code == 1
        return
    assert [{column: row[column] for column in expected[0]} for row in read(folder)] == expected
    assert result.exit_code == 0, result.stderr
    assert result.stdout.count("\n") == len(expected)
    if "label" in expected[0]:
        assert Classifier(smoothing=1.0).fit(folder).rows == len(expected)


def test_a_folder_whose_files_have_another_format(tmp_path: Path) -> None:
    assert "pass the files in it" in refusal(folder_of(tmp_path / "data", FOLDERS["labels"][0]), format="csv")


def test_a_document_that_is_not_utf8(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "data", FOLDERS["labels"][0])
    bad = put(folder / "spam" / "last" / "9.txt", b"n\xe9")
    assert str(bad) in refusal(folder)
    assert len(read(folder, on_error="skip")) == 3
    assert read(folder, on_error="keep")[-1]["text"] == "n\ufffd"
    assert read(folder, encoding="latin-1")[-1]["text"] == "né"


def test_patterns(tmp_path: Path) -> None:
    put(tmp_path / "part-2.csv", b"text\nthree\n")
    put(tmp_path / "part-1.csv", b"text\none\ntwo\n")
    found = [text for batch in batches(str(tmp_path / "part-*.csv")) for text in values(batch.columns["text"])]
    assert found == ["one", "two", "three"]
    assert can_be_read_again(Sources((str(tmp_path / "part-?.csv"),)))
    assert "no file matches" in refusal(tmp_path / "other-*.csv")
    assert read(put(tmp_path / "odd[1].csv", b"text\nfour\n")) == [{"text": "four"}]


# ------------------------------------------------------------------------------------------------ one format


def test_a_wide_csv_file(tmp_path: Path) -> None:
    names = [f"column{i}" for i in range(20_000)]
    content = ",".join(names) + "\n" + ",".join(map(str, range(20_000))) + "\n"
    [row] = read(put(tmp_path / "rows.csv", content.encode()))
    assert list(row) == names
    assert row["column19999"] == "19999"


def test_lone_surrogates_in_json(tmp_path: Path, block: int) -> None:
    lines = b'{"label": "\\ud800", "text": "win \\udfff lunch\\ud83d"}\n{"label": "b", "text": "\\ud83d\\ude00 noon"}\n'
    path = put(tmp_path / "rows.jsonl", lines)
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


def test_damaged_parquet_files(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.parquet", rows(*(("a", f"text {i}") for i in range(100))))
    whole = bytearray(path.read_bytes())
    for place in range(0, len(whole), 7):
        changed = whole.copy()
        changed[place] ^= 0xFF
        path.write_bytes(changed)
        with suppress(DataError):
            Classifier(text="text").fit(path)


def test_parquet_columns_of_other_types(tmp_path: Path) -> None:
    table = pa.table({"label": pa.array([1, 2, 1]), "text": pa.array(["win", "lunch", "win"]).dictionary_encode()})
    pq.write_table(table, tmp_path / "rows.parquet")
    model = Classifier(text="text").fit(tmp_path / "rows.parquet")
    assert model.labels == ("1", "2")
    assert model.predict_one("lunch lunch lunch") == "2"


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


def test_arrow_cut_off_anywhere_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.arrow"
    pyarrow.feather.write_feather(pa.table({"text": ["one", "two"]}), path)
    content = path.read_bytes()
    for size in range(0, len(content), 7):
        assert "as Arrow" in refusal(put(path, content[:size]))


def test_svmlight_batches_have_the_same_columns(tmp_path: Path) -> None:
    path = tmp_path / "rows.svm"
    path.write_text("".join(f"{row % 2} {row % 1000 + 1}:1\n" for row in range(5000)))
    found = list(batches(path))
    assert len(found) > 1
    assert len({tuple(batch.columns) for batch in found}) == 1
    assert sum(batch.rows for batch in found) == 5000
    assert sum(np.sum(batch.columns["1"]) for batch in found) == 5


def test_a_very_long_message_in_an_mbox_is_one_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discern.data.message.MAX_BYTES", 10_000)
    long = ENVELOPE + b"Subject: long\n\n" + b"word word word\n" * 200_000
    found = read(put(tmp_path / "mail.mbox", long + b"\n" + ENVELOPE + b"Subject: next\n" + long))
    assert [row["subject"] for row in found] == ["long", "next"]


def test_a_model_of_one_text_reads_mails(tmp_path: Path) -> None:
    model = Classifier(smoothing=1.0).fit(rows(("spam", "free prize"), ("ham", "noon")))
    path = put(tmp_path / "one.eml", b"Subject: free\n\nprize\n")
    assert model.predict(path).tolist() == ["spam"]
    with pytest.raises(DataError, match="did you mean 'subject'"):
        Classifier(label="subjec").fit(path)
