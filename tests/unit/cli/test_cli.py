"""The command line: reading data, fit, predict, evaluate, explain, info, and changes of a model."""

from __future__ import annotations

import csv
import inspect
import io
import itertools
import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from discern.analysis.highlight import word_weights
from discern.classifier import Classifier
from discern.cli import options
from discern.cli.fit import parse_smoothing
from discern.cli.main import app
from discern.cli.screen import tables
from discern.data.text import TextSettings
from discern.learners.smoothing import Dirichlet, JelinekMercer, Laplace
from tests.unit.cli.running import (
    ENVIRONMENT,
    ROWS,
    SUFFIXES,
    TEXT_FORMATS,
    as_text,
    command,
    in_process,
    refused,
    well,
    write,
)

# ------------------------------------------------------------------------------------------- reading data


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_format_gives_the_same_model_and_as_many_rows(tmp_path: Path, model: Path, suffix: str) -> None:
    path, other = write(tmp_path / f"other{suffix}"), tmp_path / "other.discern"
    well("fit", path, "-o", other)
    assert other.read_bytes() == model.read_bytes()
    assert len(list(csv.reader(io.StringIO(well("predict", model, path))))) == len(ROWS) + 1


@pytest.mark.parametrize("name", TEXT_FORMATS)
def test_stdin(tmp_path: Path, model: Path, name: str) -> None:
    given, other = as_text(ROWS, name), tmp_path / "other.discern"
    well("fit", "-", "--format", name, "-o", other, given=given)
    assert other.read_bytes() == model.read_bytes()
    assert json.loads(well("evaluate", model, "-", "--format", name, "--json", given=given))["rows"] == len(ROWS)


def test_stdin_is_csv_unless_said_otherwise_and_never_parquet(model: Path) -> None:
    assert len(well("predict", model, "-", given="text\nfree\n").splitlines()) == 2
    assert "stdin" in refused("predict", model, "-", "--format", "parquet", code=2)


def test_a_format_overrides_the_name(tmp_path: Path, model: Path) -> None:
    odd = write(tmp_path / "rows.jsonl").rename(tmp_path / "rows.log")
    assert "cannot tell the format" in refused("predict", model, odd)
    assert len(well("predict", model, odd, "--format", "jsonl").splitlines()) == len(ROWS) + 1


# --------------------------------------------------------------------------------------------------- fit


def test_fit_says_what_it_did(tmp_path: Path, data: Path) -> None:
    result = in_process("fit", data, "-o", tmp_path / "m.discern")
    assert not result.stdout
    assert "learned 7 rows of 2 labels (ham 4, spam 3)" in result.stderr


def test_fit_takes_several_files(tmp_path: Path, model: Path) -> None:
    parts = [write(tmp_path / "one.csv", ROWS[:3]), write(tmp_path / "two.jsonl.gz", ROWS[3:])]
    report = json.loads(well("fit", *parts, "-o", tmp_path / "m.discern", "--json"))
    assert report["rows_per_label"] == {"ham": 4, "spam": 3}
    assert (tmp_path / "m.discern").read_bytes() == model.read_bytes()


@pytest.mark.parametrize(
    ("given", "settings"),
    [
        (["--model", "bernoulli", "--priors", "uniform"], {"model": "bernoulli", "priors": "uniform"}),
        (["--smoothing", "jelinek-mercer:0.3"], {"smoothing": JelinekMercer(0.3)}),
        (["--smoothing", "dirichlet:50", "--min-df", "2"], {"smoothing": Dirichlet(50.0), "min_df": 2}),
        (["--ngrams", "1,2", "--stop-words", "the,at", "--stem", "english"], {"ngrams": (1, 2), "stop_words": ("the", "at"), "stem": "english"}),
        (["--analyzer", "char_wb", "--ngrams", "3"], {"analyzer": "char_wb", "ngrams": (3, 3)}),
        (["--analyzer", "pattern", "--pattern", "[a-z]+"], {"analyzer": "pattern", "pattern": "[a-z]+"}),
        (["--tokenizer", "sklearn", "--no-lowercase", "--min-word-length", "1"], {"tokenizer": "sklearn", "lowercase": False, "min_word_length": 1}),
        (["--threads", "1", "--smoothing", "0.5"], {"smoothing": 0.5}),
        (["--stem", "none"], {"stem": None}),
        (["--model", "bernoulli", "--normalization", "vocabulary"], {"model": "bernoulli", "normalization": "vocabulary"}),
    ],
)  # fmt: skip
def test_options_of_fit_are_those_of_the_classifier(
    tmp_path: Path, data: Path, given: list[str], settings: Any
) -> None:
    path, expected = tmp_path / "m.discern", tmp_path / "expected.discern"
    well("fit", data, "-o", path, *given)
    Classifier(**settings).fit(str(data)).save(expected)
    assert path.read_bytes() == expected.read_bytes()


def test_other_columns_and_stop_words_from_a_file(tmp_path: Path) -> None:
    rows = [{"topic": row["label"], "body": row["text"], "id": "x"} for row in ROWS]
    path, words = write(tmp_path / "rows.csv", rows), tmp_path / "words.txt"
    words.write_text("the\nat, now")
    well(
        "fit",
        path,
        "-o",
        tmp_path / "m.discern",
        "--label",
        "topic",
        "--text",
        "body",
        "--stop-words",
        f"@{words}",
    )
    about = json.loads(well("info", tmp_path / "m.discern", "--json"))
    assert (about["label"], about["text"], about["text_settings"]["stop_words"]) == (
        "topic",
        "body",
        ["the", "at", "now"],
    )


def test_every_setting_of_the_classifier_is_an_option_of_fit() -> None:
    fit = inspect.signature(next(info.callback for info in app.registered_commands if info.callback.__name__ == "fit"))
    apart = {"class_weight"}  # only where labels are passed apart from the rows
    assert set(inspect.signature(Classifier).parameters) - apart <= set(fit.parameters)


@dataclass(frozen=True)
class Group:
    first: int = options.option(..., "A number.", metavar="N")
    second: bool = options.option(False, "A switch.")

    def __post_init__(self) -> None:
        if self.first < 0:
            raise ValueError("too small")


def test_a_group_is_one_object_for_the_command_and_many_options_on_the_command_line() -> None:
    found: list[Any] = []

    @options.command("an example")
    def run(
        *,
        group: Group,
        third: str = options.option("x", "A choice.", click_type=options.OneOf("discern.data.text", "ANALYZERS", "x")),
    ) -> None:
        """Do it."""
        found.append((group, third))

    small = typer.Typer()
    small.command()(run)
    assert CliRunner().invoke(small, ["--first", "3", "--second"]).exit_code == 0
    assert found == [(Group(3, True), "x")]
    for wrong in (["--first", "-1"], [], ["--first", "1", "--no-second"], ["--first", "1", "--third", "y"]):
        assert CliRunner().invoke(small, wrong).exit_code == 2, wrong
    assert options.EXAMPLES[run] == ("an example",)


def test_smoothing_is_read() -> None:
    assert parse_smoothing("2") == Laplace(2.0)
    assert parse_smoothing("laplace:0.1") == Laplace(0.1)


# ----------------------------------------------------------------------------------------------- predict


def test_predict_gives_label_and_probability_in_order(data: Path, model: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(well("predict", model, data, "--proba"))))
    classifier = Classifier.load(model)
    assert list(rows[0]) == ["label", "probability", "ham", "spam"]
    assert [row["label"] for row in rows] == classifier.predict(str(data)).tolist()
    expected = classifier.predict_proba(str(data))
    assert [[float(row["ham"]), float(row["spam"])] for row in rows] == expected.tolist()
    assert [float(row["probability"]) for row in rows] == expected.max(axis=1).tolist()


def test_predict_gives_json_lines(data: Path, model: Path) -> None:
    rows = [json.loads(line) for line in well("predict", model, data, "--json", "--proba").splitlines()]
    assert len(rows) == len(ROWS)
    assert all(row["probabilities"][row["label"]] == row["probability"] for row in rows)


def test_predict_writes_a_file(tmp_path: Path, data: Path, model: Path) -> None:
    result = in_process("predict", model, data, "--output", tmp_path / "labels.csv")
    assert not result.stdout
    assert "7 rows" in result.stderr
    assert (tmp_path / "labels.csv").read_text() == well("predict", model, data)
    assert not in_process("predict", model, data, "-o", tmp_path / "labels.csv", "--quiet").stderr


def test_a_bad_row_leaves_no_half_written_file(tmp_path: Path, model: Path) -> None:
    bad = tmp_path / "bad.csv"
    bad.write_text("text\n" + "free\n" * 500_000 + "one,two\n")
    before = sorted(tmp_path.iterdir())
    assert "has 2 fields" in refused("predict", model, bad, "-o", tmp_path / "labels.csv")
    assert sorted(tmp_path.iterdir()) == before


def test_predict_message(model: Path) -> None:
    assert well("predict", model, "--message", "free prize").splitlines()[1].startswith("spam,0.9")
    lines = well("predict", model, "--message", "free", "--message", "lunch", "--json").splitlines()
    assert [json.loads(line)["label"] for line in lines] == ["spam", "ham"]
    for given in ([], ["x.csv", "--message", "free"], ["--message", "free", "--value", "text=free"]):
        assert "one of --message" in refused("predict", model, *given, code=2), given


@pytest.mark.parametrize("verb", ["predict", "explain"])
def test_predict_and_explain_take_the_same_rows(verb: str, model: Path, tmp_path: Path) -> None:
    path = write(tmp_path / "new.csv", [{"text": "free prize"}])
    ways: list[list[Any]] = [
        ["free prize"],
        ["--message", "free prize"],
        ["--value", "text=free prize"],
        ["--row", '{"text": "free prize"}'],
        [path],
    ]
    shown = [well(verb, model, *way, "--json") for way in ways]
    shown.append(well(verb, model, "-", "--json", given="text\nfree prize\n"))
    shown.append(well(verb, model, "-", "--format", "text", "--json", given="free prize\n"))
    assert len(set(shown)) == 1
    assert json.loads(shown[0])["label"] == "spam"
    assert len(well(verb, model, path, path, "--json").splitlines()) == 2
    assert "no such file: 'prize'" in refused(verb, model, "prize", code=2)
    assert "--message" in refused(verb, model, "prize", code=2)
    assert "did you mean 'text'" in refused(verb, model, "--row", '{"txt": "free"}', code=2)
    assert "not JSON" in refused(verb, model, "--row", "free", code=2)
    assert "JSON object" in refused(verb, model, "--row", "[1]", code=2)
    assert "either texts or files" in refused(verb, model, "free prize", path, code=2)


def test_predict_no_rows_gives_the_header_only(model: Path) -> None:
    assert well("predict", model, "-", given="text\n") == "label,probability\n"


def test_labels_that_are_called_like_columns(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.csv", [{"label": "label", "text": "one"}, {"label": "other", "text": "two"}])
    well("fit", path, "-o", tmp_path / "m.discern")
    header = well("predict", tmp_path / "m.discern", path, "--proba").splitlines()[0]
    assert header == "label,probability,probability of label,other"


# -------------------------------------------------------------------------------------------- evaluate


def test_evaluate(data: Path, model: Path) -> None:
    shown = well("evaluate", model, data)
    assert "accuracy" in shown
    assert "log loss" in shown
    assert re.search(r"predicted ↓  true → +ham +spam", shown)
    assert re.search(r"ham +4 +0\n +spam +0 +3", shown)
    assert re.search(r"spam +100.00% +100.00% +100.00% +3", shown)
    assert json.loads(well("evaluate", model, data, "--json"))["accuracy"] == 1.0


def test_evaluate_other_columns_and_unseen_labels(tmp_path: Path, model: Path) -> None:
    rows = [{"truth": "spam", "body": "free"}, {"truth": "news", "body": "lunch"}]
    path = write(tmp_path / "rows.jsonl", rows)
    shown = well("evaluate", model, path, "--label", "truth", "--text", "body")
    assert "rows have a label that the model does not know" in shown


def test_a_confusion_matrix_that_is_too_wide_becomes_a_list_of_mistakes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "PIPE_WIDTH", 80)
    rows = [{"label": f"label {number}", "text": f"word{number // 2}"} for number in range(20)]
    path, model = write(tmp_path / "rows.csv", rows), tmp_path / "m.discern"
    well("fit", path, "-o", model)
    shown = well("evaluate", model, path)
    assert "most frequent mistakes" in shown
    assert re.search(r"label 0 +label 1 +1", shown)


# ------------------------------------------------------------------------------------------------ explain


def test_explain_in_a_pipe_is_plain(model: Path) -> None:
    shown = well("explain", model, "Free lunch, zebra")
    assert "\x1b" not in shown
    assert re.search(r"Free\(\+\d\.\d\) lunch\(-\d\.\d\), zebra|Free\(-\d\.\d\) lunch\(\+\d\.\d\), zebra", shown)
    assert "1 unknown, skipped" in shown
    assert "█" in shown


def test_explain_on_a_terminal_has_colors(model: Path) -> None:
    environment = {**ENVIRONMENT, "FORCE_COLOR": "1", "TERM": "xterm"}
    shown = subprocess.run(
        command("explain", model, "free prize lunch"),
        capture_output=True,
        text=True,
        env=environment,
        timeout=60,
    )
    assert re.search("\x1b\\[[0-9;]*32m" + "free", shown.stdout)
    assert re.search("\x1b\\[[0-9;]*31m" + "lunch", shown.stdout)


def test_explain_as_json_and_from_stdin(model: Path) -> None:
    evidence = json.loads(well("explain", model, "-", "--format", "text", "--json", given="free prize\n"))
    assert evidence == Classifier.load(model).explain("free prize").to_dict()


def test_explain_shows_the_top_terms(model: Path) -> None:
    assert "2 more" in well("explain", model, "free prize lunch", "--top", "1")


def test_explain_never_lets_a_message_rule_the_terminal(model: Path) -> None:
    assert "\x1b" not in well("explain", model, "free \x1b[2J prize")


@pytest.mark.parametrize(
    "settings",
    [
        TextSettings(),
        TextSettings(ngrams=(1, 3)),
        TextSettings(ngrams=(2, 2), stem="english", stop_words=("the", "at")),
        TextSettings(tokenizer="sklearn"),
        TextSettings(analyzer="char_wb", ngrams=(2, 3)),
    ],
)
def test_colored_words_share_all_that_was_said(settings: TextSettings) -> None:
    message = "The meeting at NOON, the naïve İstanbul café; 東京に行く meetings at noon - don't!"
    terms = settings.terms(message)
    known = {term: float(place + 1) for place, term in enumerate(dict.fromkeys(terms))}
    words = list(word_weights(settings, message, known))
    assert sum(weight for _, _, weight in words) == pytest.approx(sum(known[term] for term in terms))
    assert all(start < end for start, end, _ in words)
    assert all(one[1] <= other[0] for one, other in itertools.pairwise(words))


# --------------------------------------------------------------------------------- info, learn, forget, merge


def test_info(model: Path) -> None:
    shown = well("info", model)
    about = json.loads(well("info", model, "--json", "--top", "2"))
    assert about["checksum"] in shown
    assert about["bytes"] == model.stat().st_size
    assert about["rows"] == 7
    assert about["priors"]["spam"] == pytest.approx(3 / 7)
    assert [word["term"] for word in about["strongest"]["spam"]] == [
        term for term, _ in Classifier.load(model).weights("spam", 2)
    ]
    assert all(word in shown for word in ("parameters", "57.14%", "free +", "Laplace"))


def test_learn_and_forget_undo_each_other(tmp_path: Path, model: Path) -> None:
    more, before = (
        write(tmp_path / "more.csv", [{"label": "news", "text": "election today"}]),
        model.read_bytes(),
    )
    result = in_process("learn", model, more)
    assert "learned 1 row\n" in result.stderr
    assert "7 → 8" in result.stderr
    assert "labels new: news" in result.stderr
    assert model.read_bytes() != before
    report = json.loads(well("forget", model, more, "--json"))
    assert (report["before"]["rows"], report["after"]["rows"], report["labels_removed"]) == (8, 7, ["news"])
    assert model.read_bytes() == before


def test_learn_can_write_elsewhere(tmp_path: Path, data: Path, model: Path) -> None:
    before = model.read_bytes()
    well("learn", model, data, data, "-o", tmp_path / "other.discern", "--quiet")
    assert model.read_bytes() == before
    assert Classifier.load(tmp_path / "other.discern").rows == 21


def test_forgetting_what_was_never_learned_is_refused(tmp_path: Path, model: Path) -> None:
    before = model.read_bytes()
    never = write(tmp_path / "never.csv", [{"label": "ham", "text": "never heard"}])
    assert "cannot forget" in refused("forget", model, never)
    assert model.read_bytes() == before


def test_a_slim_model_predicts_but_does_not_learn(tmp_path: Path, data: Path, model: Path) -> None:
    slim = tmp_path / "slim.discern"
    well("fit", data, "-o", slim, "--slim")
    assert well("predict", slim, data) == well("predict", model, data)
    assert "slim" in refused("learn", slim, data)
    assert "slim" in well("info", slim)


def test_merge_is_fit_of_all(tmp_path: Path, model: Path) -> None:
    parts = []
    for name, rows in (("one", ROWS[:2]), ("two", ROWS[2:5]), ("three", ROWS[5:])):
        parts.append(tmp_path / f"{name}.discern")
        well("fit", write(tmp_path / f"{name}.csv", rows), "-o", parts[-1])
    well("merge", *parts, "-o", tmp_path / "all.discern")
    assert (tmp_path / "all.discern").read_bytes() == model.read_bytes()


def test_merge_of_different_settings_is_refused(tmp_path: Path, data: Path, model: Path) -> None:
    other = tmp_path / "other.discern"
    well("fit", data, "-o", other, "--ngrams", "1,2")
    assert "different ngrams" in refused("merge", model, other, "-o", tmp_path / "all.discern")
    assert not (tmp_path / "all.discern").exists()
    assert "two or more" in refused("merge", model, "-o", tmp_path / "all.discern", code=2)
