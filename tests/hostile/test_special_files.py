"""Data that is no plain file: pipes, devices, sockets, folders. An answer or a sentence, and no waiting for ever."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from discern.classifier import Classifier
from discern.cli.main import app
from discern.data.readers import batches
from discern.data.source import Reading
from discern.data.strings import DataError

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
FORMATS = ["csv", "tsv", "jsonl", "text", "mbox", "eml", "parquet", "arrow", "svmlight"]
ROWS = [{"label": "spam", "text": "win money now"}, {"label": "ham", "text": "see you tomorrow"}]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    Classifier().fit(ROWS * 5).save(tmp_path / "m.discern")
    return tmp_path / "m.discern"


def refused(model: Path, data: Any, *more: str) -> str:
    """Predict, and give the sentence by which it was refused within two seconds."""
    began = time.monotonic()
    result = CliRunner().invoke(app, ["predict", str(model), str(data), *more])
    assert time.monotonic() - began < 2
    assert result.exit_code == 1, (result.output, result.exception)
    assert not isinstance(result.exception, MemoryError | OSError)
    return str(result.stderr)


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/full", "/dev/urandom"])
@pytest.mark.parametrize("name", FORMATS)
def test_a_device_without_end_is_refused(model: Path, device: str, name: str) -> None:
    assert f"'{device}' is a device; pass a file, or - to read standard input" in refused(
        model, device, "--format", name
    )


def test_a_terminal_is_refused_as_a_file(model: Path) -> None:
    main, other = os.openpty()
    try:
        assert "is a device; pass a file, or -" in refused(model, os.ttyname(other), "--format", "csv")
    finally:
        os.close(main)
        os.close(other)


def test_the_null_device_is_an_empty_file(model: Path) -> None:
    assert "/dev/null is empty; it should begin" in refused(model, "/dev/null", "--format", "csv")
    assert "not a regular file" in refused(model, "/dev/null", "--format", "parquet")
    assert list(batches("/dev/null", Reading("text"))) == []


@pytest.mark.parametrize("name", FORMATS)
def test_a_socket_is_refused(model: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(model.parent)  # the address of a socket must be short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("s.csv")
        assert "'s.csv' is a socket; pass a file" in refused(model, "s.csv", "--format", name)


@pytest.mark.parametrize("name", FORMATS)
def test_a_folder_is_refused_unless_it_holds_documents(model: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    assert "is a folder" in refused(model, tmp_path / "empty", "--format", name)


@pytest.mark.parametrize("name", ["parquet", "arrow", "svmlight"])
def test_formats_that_need_a_file_refuse_a_pipe(model: Path, tmp_path: Path, name: str) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert "which is not a regular file; pass a file on disk" in refused(model, pipe, "--format", name)


@pytest.mark.parametrize("name", ["parquet", "arrow", "svmlight"])
def test_formats_that_need_a_file_refuse_standard_input(name: str) -> None:
    with pytest.raises(DataError, match="cannot be read from standard input; pass a file"):
        list(batches("-", Reading(name)))


CONTENTS = {
    "csv": b"text\nwin money\nsee you\n",
    "jsonl": b'{"text": "win money"}\n{"text": "see you"}\n',
    "text": b"win money\nsee you\n",
}


@pytest.mark.parametrize("name", CONTENTS)
def test_a_pipe_is_read_when_a_writer_comes(model: Path, tmp_path: Path, name: str) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def write() -> None:
        time.sleep(0.2)
        pipe.write_bytes(CONTENTS[name])

    writer = threading.Thread(target=write)
    writer.start()
    result = CliRunner().invoke(app, ["predict", str(model), str(pipe), "--format", name])
    writer.join()
    assert result.exit_code == 0, result.output
    assert [line.split(",")[0] for line in result.stdout.splitlines()] == ["label", "spam", "ham"]


def test_rows_of_a_pipe_are_answered_as_they_come(model: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    command = [sys.executable, "-m", "discern.cli", "predict", str(model), str(pipe), "--line-buffered"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as answering, pipe.open("wb", buffering=0) as writing:
        assert answering.stdout is not None
        writing.write(b"text\nwin money\nsee ")
        assert answering.stdout.readline() == b"label,probability\n"
        assert answering.stdout.readline().startswith(b"spam,")
        writing.write(b"you\n")
        assert answering.stdout.readline().startswith(b"ham,")
        writing.close()
        assert answering.wait(20) == 0


@pytest.mark.parametrize("name", ["csv", "jsonl", "text"])
def test_input_without_an_end_is_refused(model: Path, name: str) -> None:
    """A line that never ends is refused when it is longer than a row may be."""
    program = (
        "import sys; from discern.data.readers import batches; from discern.data.source import Reading; "
        "list(batches('-', Reading(sys.argv[1], longest_row=1 << 24)))"
    )
    with open("/dev/zero", "rb") as endless:
        done = subprocess.run([sys.executable, "-c", program, name], stdin=endless, capture_output=True, timeout=60)
    expected = b"the first line of standard input does not end" if name == "csv" else b"more than 16,777,216 bytes"
    assert expected in done.stderr
