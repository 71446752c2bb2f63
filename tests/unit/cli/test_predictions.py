"""What predict writes: formats, kept columns, evidence, unsure, a line at once."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from discern.classifier import Classifier
from discern.cli.main import app

ROWS = [
    {"label": "spam", "text": "win a free prize now"},
    {"label": "spam", "text": "free cash, claim your prize"},
    {"label": "ham", "text": "lunch at noon tomorrow"},
    {"label": "ham", "text": "see you at the meeting"},
]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "m.discern"
    Classifier(smoothing=1.0).fit(ROWS).save(path)
    return path


def run(*arguments: Any, given: bytes | None = None) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=given)


def well(*arguments: Any, given: bytes | None = None) -> Any:
    result = run(*arguments, given=given)
    assert result.exit_code == 0, (result.output, result.exception)
    return result


def table(text: str, delimiter: str = ",") -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter))


AWKWARD = 'id,text,label\n1,"free, ""prize""\nnow",spam\n2,"lunch\r at noon",\n3,,ham\n4,\u2028\0free,ham\n'


def test_append_keeps_all_columns_and_their_order(tmp_path: Path, model: Path) -> None:
    (tmp_path / "in.csv").write_bytes(AWKWARD.encode())
    out = table(well("predict", model, tmp_path / "in.csv", "--append").stdout_bytes.decode())
    given = table(AWKWARD)
    assert [list(row)[:3] for row in out] == [["id", "text", "label"]] * 4
    assert [{name: row[name] for name in given[0]} for row in out] == given
    assert [row["predicted label"] for row in out][:2] == ["spam", "ham"]
    assert all(0 < float(row["probability"]) <= 1 for row in out)


def test_names_that_are_taken(tmp_path: Path, model: Path) -> None:
    (tmp_path / "in.csv").write_text("text,label,predicted label,probability,ham\nfree,a,b,c,d\n")
    [row] = table(well("predict", model, tmp_path / "in.csv", "--append", "--proba").stdout)
    assert list(row) == [
        *("text", "label", "predicted label", "probability", "ham"),
        *("predicted predicted label", "predicted probability", "probability of ham", "spam"),
    ]
    assert (row["label"], row["predicted label"], row["predicted predicted label"]) == ("a", "b", "spam")


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_every_format_says_the_same(tmp_path: Path, model: Path, ending: str) -> None:
    (tmp_path / "in.csv").write_bytes(AWKWARD.encode())
    out, options = tmp_path / f"out.{ending}", ["--append", "--proba", "--evidence", "2", "--unsure", "0.7"]
    well("predict", model, tmp_path / "in.csv", "-o", out, *options)
    expected = table(well("predict", model, tmp_path / "in.csv", *options).stdout_bytes.decode())
    assert {row["predicted label"] for row in expected} == {"spam", "ham", "unsure"}
    if ending == "jsonl":
        found = [json.loads(line) for line in out.read_text("utf-8").split("\n") if line]
        assert [row["predicted label"] for row in found] == [row["predicted label"] for row in expected]
        assert [str(row["probabilities"]["ham"]) for row in found] == [row["ham"] for row in expected]
        shown = [", ".join(f"{term['shown']} {term['weight']:+.2f}" for term in row["evidence"]) for row in found]
        assert shown == [row["evidence"] for row in expected]
        return
    if ending == "parquet":
        found = pq.read_table(out).to_pylist()
    else:
        with out.open(newline="", encoding="utf-8") as stream:
            found = list(csv.DictReader(stream, delimiter="\t" if ending == "tsv" else ","))
    assert [{name: str(value) for name, value in row.items()} for row in found] == expected


def test_values_of_a_table_keep_their_types(tmp_path: Path, model: Path) -> None:
    given = pa.table(
        {"text": ["free", None], "size": [1, None], "tags": [["a"], []], "when": pa.array([0, 1], pa.timestamp("s"))}
    )
    pq.write_table(given, tmp_path / "in.parquet")
    well("predict", model, tmp_path / "in.parquet", "--append", "-o", tmp_path / "out.parquet")
    out = pq.read_table(tmp_path / "out.parquet")
    assert out.select(given.column_names).equals(pq.read_table(tmp_path / "in.parquet"))
    shown = table(well("predict", model, tmp_path / "in.parquet", "--append", "--to", "csv").stdout)
    assert [row["tags"] for row in shown] == ['["a"]', "[]"]


def test_json_lines_keep_what_each_row_has(tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discern.data.buffer.BLOCK", 64)
    rows = [{"text": "free prize", "a": 1}, {"text": "lunch", "b": {"c": [True, None]}}, {"text": "noon", "a": "x"}]
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, rows)))
    found = [
        json.loads(line)
        for line in well("predict", model, tmp_path / "in.jsonl", "--append", "--json").stdout.splitlines()
    ]
    for row, out in zip(rows, found, strict=True):
        assert {name: value for name, value in out.items() if value is not None and name in ("text", "a", "b")} == row
    refused = run("predict", model, tmp_path / "in.jsonl", "--append")
    assert refused.exit_code == 1
    assert "'b'" in refused.stderr
    assert "--json" in refused.stderr


def test_several_files_and_patterns_in_order(tmp_path: Path, model: Path) -> None:
    for name, text in (("b", "lunch"), ("a", "free")):
        (tmp_path / f"{name}.csv").write_text(f"text\n{text}\n")
    assert [row["label"] for row in table(well("predict", model, tmp_path / "b.csv", tmp_path / "a.csv").stdout)] == [
        "ham",
        "spam",
    ]
    assert [row["label"] for row in table(well("predict", model, tmp_path / "*.csv").stdout)] == ["spam", "ham"]


def test_unsure(tmp_path: Path, model: Path) -> None:
    well("predict", model, "--message", "free prize", "--message", "zebra", "--unsure", "0.6")
    lines = well("predict", model, "--message", "free prize", "--message", "zebra", "--unsure", "0.6", "--json").stdout
    assert [json.loads(line)["label"] for line in lines.splitlines()] == ["spam", "unsure"]
    Classifier(smoothing=1.0).fit([{"label": "unsure", "text": "xx"}, {"label": "b", "text": "yy"}]).save(
        tmp_path / "u.discern"
    )
    assert run("predict", tmp_path / "u.discern", "--message", "a", "--unsure", "0.6").exit_code == 2


def test_evidence_of_mails_and_of_tables(tmp_path: Path, model: Path) -> None:
    (tmp_path / "a.eml").write_bytes(b"Subject: free prize\n\nclaim now\n")
    [row] = table(well("predict", model, tmp_path / "a.eml", "--evidence", "1", "--append").stdout)
    assert row["evidence"].startswith(("free +", "prize +"))
    assert row["subject"] == "free prize"
    Classifier(smoothing=1.0, number=["size"], category=["kind"], numbers="gaussian").fit(
        [{"label": "a", "size": 1 + place, "kind": "x", "other": "q"} for place in range(3)]
        + [{"label": "b", "size": 8 + place, "kind": "y", "other": "q"} for place in range(3)]
    ).save(tmp_path / "t.discern")
    (tmp_path / "t.csv").write_text("other,kind,size\nq,x,2\n")
    [row] = table(well("predict", tmp_path / "t.discern", tmp_path / "t.csv", "--evidence", "5").stdout)
    assert row["label"] == "a"
    assert row["evidence"]


def test_wrong_wishes(tmp_path: Path, model: Path) -> None:
    assert "use --output" in run("predict", model, "--message", "a", "--to", "parquet").output
    assert run("predict", model, "--message", "a", "--to", "csv", "--json").exit_code == 2
    assert run("predict", model, "--message", "a", "--unsure", "2").exit_code == 2


def test_no_rows(tmp_path: Path, model: Path) -> None:
    (tmp_path / "in.csv").write_text("text,a\n")
    assert (
        well("predict", model, tmp_path / "in.csv", "--evidence", "1", "--append").stdout
        == "label,probability,evidence\n"
    )
    well("predict", model, tmp_path / "in.csv", "-o", tmp_path / "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet").num_rows == 0


# ---------------------------------------------------------------------------------------------- as it comes

LINES = {
    "text": (b"free prize\n", b"lunch at noon\n"),
    "jsonl": (b'{"text": "free prize"}\n', b'{"text": "lunch at noon"}\n'),
    "csv": (b"text,id\nfree prize,1\n", b'"lunch at\nnoon",2\n'),
}


@pytest.mark.parametrize("kind", LINES)
def test_a_line_in_gives_a_line_out_at_once(model: Path, kind: str) -> None:
    arguments = [
        sys.executable,
        "-m",
        "discern.cli",
        "predict",
        str(model),
        "-",
        "--format",
        kind,
        "--line-buffered",
        "--json",
    ]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        for sent, label in zip(LINES[kind], ("spam", "ham"), strict=True):
            running.stdin.write(sent)
            running.stdin.flush()
            assert json.loads(running.stdout.readline())["label"] == label  # would wait for ever
        running.stdin.close()
        assert running.stdout.read() == b""
        assert running.wait(30) == 0


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_ctrl_c_leaves_no_half_written_predictions(tmp_path: Path, model: Path, ending: str) -> None:
    restore = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)  # noqa: E731
    out = tmp_path / f"out.{ending}"
    arguments = [sys.executable, "-m", "discern.cli", "predict", str(model), "-", "--line-buffered", "-o", str(out)]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=restore) as running:
        assert running.stdin is not None
        assert running.stderr is not None
        running.stdin.write(b"text\nfree\n")
        running.stdin.flush()
        while not [name for name in os.listdir(tmp_path) if name.endswith(".part")]:
            assert running.poll() is None
            time.sleep(0.01)
        running.send_signal(signal.SIGINT)
        assert running.wait(30) == 130
        assert b"Traceback" not in running.stderr.read()
        running.stdin.close()
    assert os.listdir(tmp_path) == []
