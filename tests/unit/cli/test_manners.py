"""Defaults, completion, dry runs, what files hold, similar rows, drift, did you mean."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from discern.analysis.drift import drift
from discern.analysis.similarity import similar
from discern.classifier import Classifier
from discern.cli import defaults
from discern.cli.main import app

ROWS = [
    {"label": "spam", "text": "win a free prize now"},
    {"label": "spam", "text": "free cash, claim your prize"},
    {"label": "ham", "text": "lunch at noon tomorrow"},
    {"label": "ham", "text": "see you at the meeting"},
]


def run(*arguments: Any, given: bytes | None = None) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=given)


def well(*arguments: Any, given: bytes | None = None) -> Any:
    result = run(*arguments, given=given)
    assert result.exit_code == 0, (result.output, result.exception)
    return result


@pytest.fixture(autouse=True)
def nothing_around(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No configuration but that of the test."""
    for name in [name for name in os.environ if name.startswith("DISCERN_")]:
        monkeypatch.delenv(name)
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.csv"
    path.write_text("label,text\n" + "".join(f'{row["label"]},"{row["text"]}"\n' for row in ROWS))
    return path


def smoothing(path: Path) -> float:
    return float(Classifier.load(path).info()["naive_bayes"]["smoothing"]["alpha"])


# ---------------------------------------------------------------------------------------------------- defaults


def test_a_file_gives_defaults_and_the_command_line_is_stronger(tmp_path: Path, data: Path) -> None:
    (tmp_path / "discern.toml").write_text(
        'quiet = true\n[fit]\nsmoothing = 0.5\nstop-words = "free"\ntext = ["text"]\n'
    )
    assert well("fit", data, "-o", tmp_path / "m.discern").stderr == ""
    assert smoothing(tmp_path / "m.discern") == 0.5
    assert Classifier.load(tmp_path / "m.discern").resolved.text.stop_words == ("free",)
    well("fit", data, "-o", tmp_path / "m.discern", "--smoothing", "0.25")
    assert smoothing(tmp_path / "m.discern") == 0.25


def test_which_file_counts(tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "home" / ".config" / "discern" / "config.toml"
    own.parent.mkdir(parents=True)
    own.write_text("[fit]\nsmoothing = 0.1\n")
    well("fit", data, "-o", tmp_path / "m.discern")
    assert smoothing(tmp_path / "m.discern") == 0.1
    (tmp_path / "discern.toml").write_text("[fit]\nsmoothing = 0.2\n")
    well("fit", data, "-o", tmp_path / "m.discern")
    assert smoothing(tmp_path / "m.discern") == 0.2
    (tmp_path / "named.toml").write_text("[fit]\nsmoothing = 0.3\n")
    monkeypatch.setenv("DISCERN_CONFIG", str(tmp_path / "named.toml"))
    well("fit", data, "-o", tmp_path / "m.discern")
    assert smoothing(tmp_path / "m.discern") == 0.3
    monkeypatch.setenv("DISCERN_CONFIG", "")
    well("fit", data, "-o", tmp_path / "m.discern")
    assert smoothing(tmp_path / "m.discern") == 1.0


def test_the_environment_is_stronger_than_the_file(tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "discern.toml").write_text("smoothing = 0.2\n")
    monkeypatch.setenv("DISCERN_SMOOTHING", "0.3")
    well("fit", data, "-o", tmp_path / "m.discern")
    assert smoothing(tmp_path / "m.discern") == 0.3
    monkeypatch.setenv("DISCERN_FIT_SMOOTHING", "0.4")
    monkeypatch.setenv("DISCERN_JSON", "1")
    monkeypatch.setenv("DISCERN_FIT_TEXT", "text")
    assert json.loads(well("fit", data, "-o", tmp_path / "m.discern").stdout)["text"] == "text"
    assert smoothing(tmp_path / "m.discern") == 0.4
    monkeypatch.setenv("DISCERN_FIT_FORMAT", "klingon")
    assert run("fit", data, "-o", tmp_path / "m.discern").exit_code == 2


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("quite = true", "'quiet'"),
        ("[ft]\nsmoothing = 1", "'fit'"),
        ("[fit]\nsmothing = 1", "'smoothing'"),
        ("[fit]\noutput = 'x'", "'output'"),
        ("quiet = ", "not TOML"),
        ("[filter]\nsmoothing = 1", "'smoothing'"),
    ],
)
def test_a_file_that_says_nonsense(tmp_path: Path, data: Path, content: str, said: str) -> None:
    (tmp_path / "discern.toml").write_text(content)
    result = run("info", data)
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.replace("│", " ").split())


def test_a_named_file_that_is_not_there(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCERN_CONFIG", "nowhere.toml")
    assert "cannot read" in run("info", data).stderr


# -------------------------------------------------------------------------------------------------- completion

QUESTIONS = {
    "bash": {"COMP_WORDS": "discern pre", "COMP_CWORD": "1"},
    "zsh": {"_TYPER_COMPLETE_ARGS": "discern pre"},
    "fish": {"_TYPER_COMPLETE_ARGS": "discern pre", "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
}


@pytest.mark.parametrize("shell", QUESTIONS)
def test_completion(shell: str, tmp_path: Path) -> None:
    program = [sys.executable, "-c", "from discern.cli.__main__ import main; main()"]
    source = {**os.environ, "_DISCERN_COMPLETE": f"source_{shell}"}
    script = subprocess.run(program, capture_output=True, text=True, env=source, check=True).stdout
    assert "discern" in script
    assert f"complete_{shell}" in script
    environment = {**os.environ, **QUESTIONS[shell], "_DISCERN_COMPLETE": f"complete_{shell}"}
    answer = subprocess.run(program, capture_output=True, text=True, env=environment, check=True).stdout
    assert "predict" in answer
    assert "fit" not in answer


def test_completion_in_a_real_bash(tmp_path: Path) -> None:
    shell = shutil.which("bash")
    assert shell
    (tmp_path / "discern").write_text(f'#!/bin/sh\nexec {sys.executable} -m discern.cli "$@"\n')
    (tmp_path / "discern").chmod(0o755)
    script = (
        "source <(_DISCERN_COMPLETE=source_bash discern); COMP_WORDS=(discern fit --smoo); COMP_CWORD=2; "
        '_discern_completion discern; echo "${COMPREPLY[@]}"'
    )
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    ran = subprocess.run([shell, "-c", script], capture_output=True, text=True, env=environment, check=True)
    assert ran.stdout.split() == ["--smoothing"]


# ----------------------------------------------------------------------------------------------------- dry run


def test_a_dry_run_says_what_would_be_done_and_writes_nothing(tmp_path: Path, data: Path) -> None:
    before = sorted(tmp_path.iterdir())
    result = well("fit", data, "-o", tmp_path / "m.discern", "--dry-run")
    assert "2 labels in 'label': ham 2, spam 2" in result.stderr
    assert "text 'text'" in result.stderr
    assert "4 rows" in result.stdout
    assert "nothing was written" in result.stdout
    told = json.loads(well("fit", data, "-o", tmp_path / "m.discern", "--dry-run", "--json").stdout)
    assert told["rows_per_label"] == {"ham": 2, "spam": 2}
    assert (told["rows"], told["exact"], told["bytes"]) == (4, True, data.stat().st_size)
    assert 0 < told["seconds"] < 10
    assert 1e7 < told["memory"] < 1e9
    assert sorted(tmp_path.iterdir()) == before
    for model in ("linear-svm", "best"):
        well("fit", data, "-o", tmp_path / "m.discern", "--dry-run", "--model", model)
    assert "no column" in run("fit", data, "-o", tmp_path / "m.discern", "--dry-run", "--label", "lable").stderr


def test_a_dry_run_of_a_long_file_that_is_sorted_by_label(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = tmp_path / "long.csv"
    words = ["alpha beta gamma", "delta epsilon zeta"]
    long.write_text(
        "label,text\n"
        + "".join(
            f"{label},{text} w{row}\n" * 1 for label, text in zip("ab", words, strict=True) for row in range(60_000)
        )
    )
    told = json.loads(well("fit", long, "-o", tmp_path / "m.discern", "--dry-run", "--json").stdout)
    assert told["rows_per_label"] == {"a": 60_000, "b": 60_000}
    assert told["exact"]
    monkeypatch.setattr("discern.cli.training.estimate.TIME_LIMIT", 0.0)
    told = json.loads(well("fit", long, "-o", tmp_path / "m.discern", "--dry-run", "--json").stdout)
    assert not told["exact"]
    assert abs(told["rows"] - 120_000) < 6_000
    assert abs(told["bytes"] - long.stat().st_size) < 10
    unknown = json.loads(
        well("fit", "-", "-o", tmp_path / "m.discern", "--dry-run", "--json", given=long.read_bytes()).stdout
    )
    assert unknown["rows"] is None


def test_fit_tells_what_the_work_took(tmp_path: Path, data: Path) -> None:
    told = json.loads(well("fit", data, "-o", tmp_path / "m.discern", "--json").stdout)
    assert told["bytes_read"] == data.stat().st_size
    assert told["seconds"] > 0
    assert told["bytes_per_second"] == pytest.approx(told["bytes_read"] / told["seconds"])
    assert told["memory"] > 1e7


# ------------------------------------------------------------------------------------------- info, similar, drift


def test_info_on_data(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("id,label,text,size\n1,ham,hello there you,3\n2,spam,,4\n3,,free prize now,\n4,ham,lunch,5\n")
    told = json.loads(well("info", path, "--json").stdout)
    assert (told["format"], told["rows"], told["bytes"]) == ("csv", 4, path.stat().st_size)
    assert told["labels"] == {"ham": 2, "spam": 1}
    assert {one["name"]: one["missing"] for one in told["columns"]} == {"id": 0, "label": 1, "text": 1, "size": 1}
    shown = well("info", path).stdout
    assert "left out: it numbers the rows" in shown
    assert "spam" in shown
    told = json.loads(well("info", path, "--json", "--label", "size").stdout)
    assert told["labels"] == {"3": 1, "4": 1, "5": 1}
    path.write_bytes(b"label,text\nham\nham,x\n")
    assert "row 1" in run("info", path).stderr
    assert json.loads(well("info", path, "--json", "--on-error", "skip").stdout)["bad_rows"] == 1


def test_info_on_rows_that_lack_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discern.data.buffer.BLOCK", 32)
    path = tmp_path / "d.jsonl"
    path.write_text('{"label": "a", "x": 1}\n{"label": "a", "y": null}\n{"label": "b", "y": "t"}\n')
    told = json.loads(well("info", path, "--json").stdout)
    assert {one["name"]: one["missing"] for one in told["columns"]} == {"label": 0, "x": 2, "y": 2}


def test_info_on_nothing_that_is_there(tmp_path: Path, data: Path) -> None:
    assert "did you mean" in run("info", tmp_path / "dta.csv").stderr
    assert "no such file" in run("info", tmp_path / "m.discern").stderr


def test_similar_rows(tmp_path: Path, data: Path) -> None:
    well("fit", data, "-o", tmp_path / "k.discern", "--model", "knn", "--min-df", "1")
    found = [
        json.loads(line)
        for line in well("similar", tmp_path / "k.discern", "noon tomorrow", "--json").stdout.splitlines()
    ]
    assert (found[0]["row"], found[0]["label"]) == (3, "ham")
    assert len(found) == 4
    similarity = [one["similarity"] for one in found]
    assert similarity == sorted(similarity, reverse=True)
    model = Classifier.load(tmp_path / "k.discern")
    for number, row in enumerate(ROWS, 1):
        [best] = similar(model, row["text"], top=1)
        assert (best.row, best.label, best.similarity) == (number, row["label"], pytest.approx(1.0))
    shown = well("similar", tmp_path / "k.discern", "noon tomorrow", "--data", data, "--top", "1").stdout
    assert "lunch at noon tomorrow" in shown
    assert (
        "pass the training data"
        in run("similar", tmp_path / "k.discern", "noon", "--data", data, "--data", data).stderr
    )
    well("fit", data, "-o", tmp_path / "m.discern")
    assert "fit the model 'knn'" in run("similar", tmp_path / "m.discern", "noon").stderr


def test_similar_rows_of_numbers(tmp_path: Path) -> None:
    rows = [{"label": "a" if size < 5 else "b", "size": size, "width": -size} for size in range(10)]
    model = Classifier(model="knn", number=["size", "width"]).fit(rows)
    assert [one.row for one in similar(model, {"size": 7.2, "width": -7.2}, top=2)] == [8, 9]
    with pytest.raises(ValueError, match="no column 'weight'"):
        similar(model, {"weight": 1})


def test_drift_between_models(tmp_path: Path, data: Path) -> None:
    well("fit", data, "-o", tmp_path / "old.discern", "--smoothing", "1")
    Classifier(smoothing=1.0).fit([*ROWS, *[{"label": "ham", "text": "free free free"}] * 3]).save(
        tmp_path / "new.discern"
    )
    told = json.loads(well("drift", tmp_path / "old.discern", tmp_path / "new.discern", "--json", "--top", "3").stdout)
    assert (told[0]["term"], told[0]["label"]) == ("free", "spam")
    assert told[0]["change"] == pytest.approx(told[0]["after"] - told[0]["before"])
    assert told[0]["change"] < -1
    moved = drift(Classifier.load(tmp_path / "old.discern"), Classifier.load(tmp_path / "new.discern"), 6)
    assert [one["term"] for one in told] == [one.term for one in moved if one.label == "spam"]
    assert "free" in well("drift", tmp_path / "old.discern", tmp_path / "new.discern").stdout


# ---------------------------------------------------------------------------------------------------- did you mean


def test_did_you_mean(tmp_path: Path, data: Path) -> None:
    model = tmp_path / "m.discern"
    well("fit", data, "-o", model)
    (tmp_path / "a.eml").write_bytes(b"Subject: a\n\nb\n")
    for arguments, said in (
        (["predict", tmp_path / "n.discern", data], "/m.discern'?"),
        (["predict", model, tmp_path / "dat.csv"], "/data.csv'?"),
        (["predict", model, tmp_path / "data.cvs"], "/data.csv'?"),
        (["fit", data, "-o", model, "--label", "lable"], "'label'?"),
        (["evaluate", model, data, "--positive", "spma", "--threshold", "0.5"], "'spam'?"),
        (["relabel", model, tmp_path / "a.eml", "--from", "spma", "--to", "ham"], "'spam'?"),
        (["filter", model, "--spam", "spma"], "'spam'?"),
        (["explain", model, "--value", "txt=a"], "'text'?"),
        (["prdict", model], "'predict'?"),
        (["datasets", "fetch", "imbd"], "'imdb'?"),
    ):
        result = run(*arguments, given=b"a")
        assert result.exit_code in (1, 2, 3)
        told = " ".join(result.stderr.replace("│", " ").split()).replace("Did", "did")
        assert said in told.partition("did you mean ")[2], arguments


def test_learning_a_label_that_looks_like_another(tmp_path: Path, data: Path) -> None:
    model = tmp_path / "m.discern"
    well("fit", data, "-o", model)
    (tmp_path / "a.txt").write_text("free\n")
    assert "did you mean 'spam'?" in well("learn", model, tmp_path / "a.txt", "--label", "spma").stderr
    assert "labels new: news" in well("learn", model, tmp_path / "a.txt", "--label", "news").stderr


def test_the_folder_of_data_sets_is_no_default_of_an_option(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCERN_DATA", "/a/folder/of/data/sets")
    assert defaults.of_command("similar", ["data"], {}) == {}
    monkeypatch.setenv("DISCERN_SIMILAR_DATA", "texts.csv")
    assert defaults.of_command("similar", ["data"], {}) == {"data": "texts.csv"}


# ------------------------------------------------------------------------------------------- errors in plain words


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("fit", "book.xlsx", "-o", "m"), "'book.xlsx' is a spreadsheet; save it as CSV, and pass the CSV file"),
        (("info", "book.ods"), "'book.ods' is a spreadsheet"),
        (("fit", "data.csv", "-o", "m", "--stem", "klingon"), "unknown stem 'klingon'; choose a language: arabic, "),
        (("fit", "data.csv", "-o", "m", "--threads", "0"), "'--threads': 0 is less than 1"),
        (("fit", "data.csv", "-o", "m", "--min-df", "x"), "'--min-df': 'x' is not a whole number"),
        (("predict", "data.csv", "x y", "--unsure", "2"), "'--unsure': 2.0 is not from 0 to 1"),
        (("predict", "data.csv", "x y"), "'data.csv' is not a discern model; pass a file that"),
        (("serve", "nope.discern"), "no such file: 'nope.discern'"),
        (("compare", "head.csv"), "cross-validation needs at least two rows, not 0"),
        (("compare", "one.csv"), "cross-validation needs at least two rows, not 1"),
        (("compare", "data.csv"), "4 rows cannot be split into 10 folds; use from 2 to 4"),
    ],
)
def test_errors_name_the_remedy(data: Path, arguments: tuple[str, ...], sentence: str) -> None:
    for name, content in {
        "book.xlsx": "PK",
        "book.ods": "PK",
        "head.csv": "label,text\n",
        "one.csv": "label,text\na,b\n",
    }.items():
        data.with_name(name).write_text(content)
    result = run(*arguments)
    assert result.exit_code in (1, 2)
    assert sentence in " ".join(result.output.split())


def test_a_model_that_is_a_sum_is_not_described_as_fixed(data: Path, tmp_path: Path) -> None:
    for model, fixed in (("lda", False), ("centroids", False), ("naive-bayes", False), ("nbsvm", True)):
        well("fit", data, "-o", tmp_path / "m", "--model", model)
        described = well("info", tmp_path / "m").stdout
        assert ("cannot learn, forget or merge" in described) == fixed, model
        assert json.loads(well("info", tmp_path / "m", "--json").stdout)["can_learn"] != fixed


def test_merge_reports_what_it_merged(data: Path, tmp_path: Path) -> None:
    well("fit", data, "-o", tmp_path / "m")
    assert (
        "merged 2 models: 8 rows of 2 labels (ham 4, spam 4)" in well("merge", *[tmp_path / "m"] * 2, "-o", "n").stderr
    )
