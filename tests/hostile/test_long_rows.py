"""Long rows that arrive in pieces: linear work, every row as soon as it is whole, a limit on one row."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discern import _native
from discern.classifier import Classifier
from discern.data import source
from discern.data.batch import Batch
from discern.data.formats import jsonl, lines
from discern.data.formats.csv import CsvRowEnds, read_csv
from discern.data.formats.jsonl import read_jsonl
from discern.data.formats.lines import read_lines
from discern.data.formats.mailboxes import read_mbox
from discern.data.source import Reading
from discern.data.strings import DataError
from tests.hostile.reader_cases import ENVELOPE

PIECE = 1 << 14
Read = Callable[[Any, Reading], Iterator[Batch]]


class Pieces(io.RawIOBase):
    """A stream that gives its pieces one at a time, as a pipe or a socket does."""

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces, self.given = [piece for piece in pieces if piece], 0

    @classmethod
    def of(cls, content: bytes, size: int = PIECE) -> Pieces:
        return cls([content[start : start + size] for start in range(0, len(content), size)])

    def readable(self) -> bool:
        return True

    def readinto(self, room: Any) -> int:
        if not self._pieces:
            return 0
        size = min(len(room), len(self._pieces[0]))
        room[:size] = self._pieces[0][:size]
        self._pieces[0] = self._pieces[0][size:]
        if not self._pieces[0]:
            self._pieces.pop(0)
        self.given += size
        return size


def csv_rows(stream: Any, reading: Reading) -> Iterator[Batch]:
    return read_csv(stream, "x", reading)


READERS: dict[str, tuple[Read, Callable[[int], bytes]]] = {
    "csv": (csv_rows, lambda size: b"label,text\nham," + b"win money " * (size // 10) + b"\n"),
    "quoted csv": (csv_rows, lambda size: b'label,text\nham,"' + b'say ""hi""\n' * (size // 11) + b'"\n'),
    "many fields": (csv_rows, lambda size: b"label,text\n" + b"1," * (size // 2) + b"\n"),
    "stray quotes": (csv_rows, lambda size: b"label,text\nham," + b'5" disk\t' * (size // 8) + b"\n"),
    "jsonl": (
        lambda stream, reading: read_jsonl(stream, "x", reading),
        lambda size: b'{"text": "' + b"win money " * (size // 10) + b'"}\n',
    ),
    "lines": (lambda stream, reading: read_lines(stream, "x", reading), lambda size: b"win money " * (size // 10)),
    "mbox": (
        lambda stream, reading: read_mbox(stream, "x", reading),
        lambda size: b"From a@b Mon Jan  1 10:00:00 2024\nSubject: x\n\n" + b"win money " * (size // 10),
    ),
}


class Work:
    """Counts the bytes that are searched, parsed and moved to another buffer."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.bytes = 0
        parse, find, reallocate = _native.parse_csv, CsvRowEnds.find, source.ReadBuffer._reallocate
        line_end, last = source.LineEnds.find, source.last_line_end

        def parse_csv(block: Any, *arguments: Any, **named: Any) -> Any:
            self.bytes += len(block)
            return parse(block, *arguments, **named)

        def csv_find(ends: Any, content: Any) -> int:
            before = ends._position
            found = find(ends, content)
            self.bytes += ends._position - before
            return found

        def line_find(ends: Any, content: Any) -> int:
            before = ends._searched
            found = line_end(ends, content)
            self.bytes += ends._searched - before
            return found

        def last_line_end(content: Any) -> int:
            self.bytes += len(content)
            return last(content)

        def moved(buffer: Any, left: int) -> None:
            self.bytes += left
            reallocate(buffer, left)

        patch.setattr(_native, "parse_csv", parse_csv)
        patch.setattr(CsvRowEnds, "find", csv_find)
        patch.setattr(source.LineEnds, "find", line_find)
        patch.setattr(source.ReadBuffer, "_reallocate", moved)
        for module in (jsonl, lines, source):
            patch.setattr(module, "last_line_end", last_line_end)


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize("at_once", [False, True])
def test_a_long_row_in_pieces_costs_linear_work(kind: str, at_once: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    read, make = READERS[kind]
    work = Work(monkeypatch)
    done = []
    for size in (1 << 21, 1 << 23):
        work.bytes = 0
        reading = Reading(at_once=at_once, on_error="skip")
        rows = sum(batch.rows for batch in read(Pieces.of(make(size)), reading))
        assert rows == (0 if kind == "many fields" else 1)
        assert reading.bytes_read >= size - 16
        done.append(work.bytes / size)
    assert done[1] < 8
    assert done[1] < 1.5 * done[0] + 1


def test_a_header_in_single_bytes_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    work = Work(monkeypatch)
    header = b",".join(b"c%d" % number for number in range(2000))
    content = header + b"\n" + b",".join([b"1"] * 2000) + b"\n"
    [batch] = csv_rows(Pieces.of(content, 1), Reading(at_once=True))
    assert (batch.rows, len(batch.columns)) == (1, 2000)
    assert work.bytes < 16 * len(content)


fields = st.text(st.sampled_from('ab",;\r\n é'), max_size=6)


class Watched(Pieces):
    """Writes down how many rows had been given whenever more bytes are wanted."""

    def __init__(self, pieces: list[bytes]) -> None:
        super().__init__(pieces)
        self.rows, self.seen = 0, [(0, 0)]

    def readinto(self, room: Any) -> int:
        self.seen.append((self.given, self.rows))
        return super().readinto(room)


def whole_rows(content: bytes) -> int:
    """Return how many rows the parser finds in the beginning of a file, without the header."""
    parsed = _native.parse_csv(np.frombuffer(bytearray(content), np.uint8), [True, True], follows=True)
    return max(parsed.rows + len(parsed.ragged) - 1, 0)


@settings(max_examples=500)
@given(st.lists(st.lists(fields, min_size=2, max_size=2), max_size=6), st.lists(st.integers(0, 1000), max_size=20))
def test_a_row_is_there_as_soon_as_it_has_come(rows: list[list[str]], cuts: list[int]) -> None:
    content = "\n".join(",".join(row) for row in [["x", "y"], *rows]).encode() + b"\n"
    edges = sorted({cut % (len(content) + 1) for cut in cuts} | {0, len(content)})
    stream = Watched([content[start:end] for start, end in pairwise(edges)])
    with suppress(DataError):  # a quote may never be closed
        for batch in csv_rows(stream, Reading(at_once=True, on_error="keep")):
            stream.rows += batch.rows
    assert [rows for _, rows in stream.seen] == [whole_rows(content[:given]) for given, _ in stream.seen]


@pytest.mark.parametrize("kind", ["csv", "quoted csv", "many fields", "jsonl", "lines"])
@pytest.mark.parametrize("piece", [100, PIECE, 1 << 22])
def test_a_row_above_the_limit_is_refused_as_soon_as_it_is(kind: str, piece: int) -> None:
    read, make = READERS[kind]
    stream = Pieces.of(make(1 << 21), piece)
    with pytest.raises(DataError, match=r"row 1 of x has more than 100,000 bytes; split it"):
        list(read(stream, Reading(longest_row=100_000, on_error="skip")))
    assert stream.given <= 100_000 + 100_000 + PIECE


@pytest.mark.parametrize("piece", [1, 7, 1000])
def test_the_limit_does_not_depend_on_the_pieces(piece: int) -> None:
    def read(size: int) -> int:
        content = b"a,b\n1,2\n" + b"x" * (size - 2) + b",\n3,4\n"  # the line break counts, too
        return sum(batch.rows for batch in csv_rows(Pieces.of(content, piece), Reading(longest_row=50)))

    assert read(50) == 3
    with pytest.raises(DataError, match="row 2 of x has more than 50 bytes"):
        read(51)


def test_memory_of_a_long_row_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "BLOCK", 1 << 10)
    buffer = source.ReadBuffer(Pieces.of(b"x" * 100_000 + b"\n" + b"y\n" * 5000), "x", Reading())
    assert buffer.fill_row(1)
    largest = len(buffer._buffer)
    assert 100_000 < largest < 300_000
    buffer.consume(100_001)
    while buffer.fill_row(2):
        assert len(buffer._buffer) == 1 << 10
        buffer.consume(len(buffer.content))


def test_a_batch_stays_as_it_is_while_the_next_ones_are_read() -> None:
    content = b"a,b\n" + b"".join(b"%d,%d\n" % (number, -number) for number in range(200_000))
    found = list(csv_rows(Pieces.of(content, 1000), Reading(at_once=True)))
    assert len(found) > 100
    values = [value for batch in found for value in batch.columns["a"].to_list()]
    assert values == [str(number) for number in range(200_000)]


# ------------------------------------------------------------------------------------------- one very long line


def test_a_line_of_fifty_megabytes_through_a_pipe_is_not_searched_again_and_again() -> None:
    program = """
from discern.data.readers import batches
from discern.data.source import Reading
print([len(text) for batch in batches("-", Reading("text")) for text in batch.columns["text"].to_list()])
"""
    ran = subprocess.run(
        [sys.executable, "-c", program], input=b"x" * 50_000_000 + b"\ny", capture_output=True, timeout=20, check=True
    )
    assert ran.stdout == b"[50000000, 1]\n"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "m.discern"
    Classifier(smoothing=1.0, text="text").fit([{"label": "a", "text": "a1"}, {"label": "b", "text": "b1"}]).save(path)
    return path


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
