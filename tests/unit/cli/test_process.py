"""Errors, the demo, and the command line as a real process."""

from __future__ import annotations

import inspect
import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
import typing
from pathlib import Path
from typing import Any

import pytest

from discern.cli import demo, options
from discern.cli.main import app
from tests.unit.cli.running import ENVIRONMENT, HEAVY, command, in_process, process, refused, well, write

# ------------------------------------------------------------------------------------------ bad input, usage


def test_a_wrong_column_says_did_you_mean(tmp_path: Path, data: Path) -> None:
    assert "did you mean 'label'?" in refused("fit", data, "-o", tmp_path / "m.discern", "--label", "lable")


def test_bad_files_are_one_sentence(tmp_path: Path, data: Path, model: Path) -> None:
    cut = tmp_path / "cut.discern"
    for size in (0, 5, 100, model.stat().st_size - 1):
        cut.write_bytes(model.read_bytes()[:size])
        assert "cut.discern" in refused("info", cut)
    assert "did you mean" in refused("predict", model, tmp_path / "rows.cvs", "--format", "csv")
    assert "not a discern model" in refused("predict", data, data)
    assert "no-such-model" in refused("info", tmp_path / "no-such-model")
    assert "is empty" in refused("fit", "-", "-o", tmp_path / "m.discern", given="")


def test_a_place_that_cannot_be_written_is_refused_before_reading(tmp_path: Path, data: Path, model: Path) -> None:
    assert "no such folder" in refused("fit", data, "-o", tmp_path / "none" / "m.discern")
    assert "is a folder" in refused("fit", data, "-o", tmp_path)
    assert "is a folder" in refused("predict", model, data, "-o", tmp_path)


@pytest.mark.parametrize(
    "wrong",
    [
        ["--smoothing", "much"],
        ["--smoothing", "kneser-ney:1"],
        ["--smoothing", "0"],
        ["--smoothing", "dirichlet:-1"],
        ["--ngrams", "2,1"],
        ["--ngrams", "one"],
        ["--ngrams", "0"],
        ["--model", "forest"],
        ["--stem", "klingon"],
        ["--min-df", "0"],
        ["--threads", "0"],
        ["--analyzer", "pattern", "--pattern", "("],
        ["--color"],
    ],
)
def test_wrong_options_are_wrong_usage(tmp_path: Path, data: Path, wrong: list[str]) -> None:
    refused("fit", data, "-o", tmp_path / "m.discern", *wrong, code=2)
    assert not (tmp_path / "m.discern").exists()


def test_wrong_usage(data: Path) -> None:
    refused("fit", data, code=2)
    refused("fitt", code=2)


def test_every_command_has_json(tmp_path: Path, data: Path, model: Path) -> None:
    out = ["-o", tmp_path / "out.discern"]
    calls: dict[str, list[Any]] = {
        "demo": ["-o", tmp_path / "demo.discern"],
        "datasets": ["list"],
        "info": [model],
        "fit": [data, *out],
        "learn": [model, data, *out],
        "forget": [tmp_path / "out.discern", data, "-o", tmp_path / "less.discern"],
        "relabel": [tmp_path / "moving.discern", tmp_path / "moved.txt", "--from", "spam", "--to", "ham"],
        "merge": [model, model, *out],
        "predict": [model, "--message", "free"],
        "explain": [model, "free prize"],
        "similar": [tmp_path / "near.discern", "free", "--top", "1"],
        "evaluate": [model, data],
        "compare": [data, "--folds", "2", "--model", "multinomial", "--model", "knn"],
        "report": [model, data, "-o", tmp_path / "report.html"],
        "decide": [tmp_path / "moving.discern", "--threshold", "0.6"],
        "drift": [model, model, "--top", "2"],
        "filter": [model],
    }
    (tmp_path / "moved.txt").write_text("win a free prize, call now\n")
    well("fit", data, data, "-o", tmp_path / "moving.discern")
    well("fit", data, "-o", tmp_path / "near.discern", "--model", "knn")
    commands = [info.callback.__name__ for info in app.registered_commands if info.callback]
    commands.remove("serve")  # it runs until it is stopped: see tests/service
    assert list(calls) == commands
    for name, arguments in calls.items():
        result = in_process(name, *arguments, "--json")
        assert (result.exit_code, result.stderr) == (0, ""), (name, result.output)
        assert json.loads(result.stdout)
        assert in_process(name, *arguments, "--quiet").stderr == ""


# ------------------------------------------------------------------------------------------------ the demo


def test_demo_and_the_commands_it_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shown = well("demo")
    assert "\x1b" not in shown
    assert max(map(len, shown.splitlines())) < 250
    named = [line.strip() for line in shown.splitlines() if re.match(r"  (discern|printf) ", line)]
    assert named == demo.next_commands(Path("messages.discern"))
    assert {line.split("discern ")[1].split()[0] for line in named} == {"predict", "explain", "info", "learn"}
    for line in named:
        real = re.sub(r"(^|\| )discern ", rf"\1{sys.executable} -m discern.cli ", line)
        ran = subprocess.run(real, shell=True, capture_output=True, text=True, cwd=tmp_path, timeout=60)
        assert ran.returncode == 0, ran.stderr
    assert (
        "spam"
        in subprocess.run(
            command("predict", "messages.discern", "--message", demo.NEW_MESSAGE),
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=60,
        ).stdout
    )


def test_demo_is_good_and_always_the_same(tmp_path: Path) -> None:
    first = json.loads(well("demo", "--json", "-o", tmp_path / "m.discern"))
    assert first == json.loads(well("demo", "--json", "-o", tmp_path / "m.discern"))
    assert first["evaluation"]["accuracy"] > 0.9
    assert first["evaluation"]["rows"] + first["rows_learned"] == len(demo.sample())
    for label, explained in first["explained"].items():
        assert explained["label"] == label
        assert any(term["weight"] < 0 for term in explained["terms"])


def test_demo_goes_to_a_temporary_folder_if_it_must(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr(os, "access", lambda *_: False)
    place = Path(json.loads(well("demo", "--json"))["file"])
    assert place.is_file()
    assert place.parent != tmp_path


# --------------------------------------------------------------------------------------- as a real process


def test_start_up_is_light(model: Path) -> None:
    program = f"""
import json, runpy, sys
heavy = {HEAVY!r}
import discern.cli.__main__
import discern.cli.main
assert not {{"rich", "numpy", *heavy}} & set(sys.modules), "import"
for arguments in (["--help"], ["predict", {str(model)!r}, "--message", "free prize"]):
    sys.argv = ["discern", *arguments]
    try:
        discern.cli.__main__.main()
    except SystemExit as end:
        assert end.code == 0, arguments
    assert not set(heavy) & set(sys.modules), (arguments, set(heavy) & set(sys.modules))
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=ENVIRONMENT, timeout=60)
    assert ran.returncode == 0, ran.stderr
    assert "Exit codes" in ran.stdout
    assert "130" in ran.stdout
    assert "spam,0.9" in ran.stdout


def test_version() -> None:
    from discern import __version__

    assert process("--version").stdout == f"discern {__version__}\n"


def test_exit_codes_of_a_real_process(tmp_path: Path, data: Path, model: Path) -> None:
    assert process("predict", model, data).returncode == 0
    bad = process("predict", data, data)
    assert (bad.returncode, bad.stdout) == (1, "")
    assert bad.stderr.startswith("discern: ")
    assert process("predict").returncode == 2
    assert process("predict", model, "--message", b"\xff free prize".decode("utf-8", "surrogateescape")).returncode == 0


def test_a_broken_pipe_ends_silently(tmp_path: Path, model: Path) -> None:
    long = tmp_path / "long.csv"
    long.write_text("text\n" + "free\n" * 100_000)
    for rows in (long, write(tmp_path / "short.csv")):
        with subprocess.Popen(
            command("predict", model, rows), stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as running:
            assert running.stdout is not None
            assert running.stderr is not None
            if rows == long:
                assert running.stdout.readline() == b"label,probability\n"
            running.stdout.close()
            assert running.stderr.read() == b""
            assert running.wait(30) == 0


def test_ctrl_c_during_a_long_fit_leaves_nothing(tmp_path: Path) -> None:
    # A shell may have started the tests with Ctrl-C ignored, which processes inherit.
    restore = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)  # noqa: E731
    arguments = command("fit", "-", "-o", tmp_path / "m.discern")
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=restore) as running:
        assert running.stdin is not None
        assert running.stderr is not None
        running.stdin.write(b"label,text\n")
        rows = b"ham,one two three\n" * 10_000
        for _ in range(100):  # the pipe is short: when these are through, they have been read
            running.stdin.write(rows)
        feeding = threading.Thread(target=_feed, args=(running.stdin, rows))
        feeding.start()
        running.send_signal(signal.SIGINT)
        assert running.wait(30) == 130
        assert b"Traceback" not in running.stderr.read()
        feeding.join()
    assert list(tmp_path.iterdir()) == []


def _feed(stream: typing.IO[bytes], rows: bytes) -> None:
    try:
        while True:
            stream.write(rows)
    except (BrokenPipeError, ValueError):
        return


def test_a_progress_bar_with_speed_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch, data: Path) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(options, "SMALL", 0)
    shown = {}
    for name, stream, quiet in (
        ("terminal", Terminal(), False),
        ("quiet", Terminal(), True),
        ("pipe", io.StringIO(), False),
    ):
        monkeypatch.setattr(sys, "stderr", stream)
        with options.Input().reading([str(data)], quiet) as how:
            for _ in range(3):
                how.progress(5_000_000)
        shown[name] = stream.getvalue()
    assert "B/s" in shown["terminal"]
    assert shown["quiet"] == shown["pipe"] == ""


# --------------------------------------------------------------------------------------------------- docs


def test_every_command_and_option_has_help() -> None:
    for info in app.registered_commands:
        assert info.callback is not None
        assert info.callback.__doc__, info.callback.__name__
        for name, parameter in inspect.signature(info.callback, eval_str=True).parameters.items():
            _, about = typing.get_args(parameter.annotation)
            assert about.help, (info.callback.__name__, name)
        assert {"json", "quiet"} <= set(inspect.signature(info.callback).parameters)
