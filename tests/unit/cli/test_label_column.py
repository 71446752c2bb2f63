"""The label column on the command line: guessed, named in the error, and doubted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from discern.classifier import Classifier
from discern.cli.main import app
from discern.data.batch import Batch
from discern.data.roles import MISSING, Feature, infer, levels_of, numbers_of
from discern.data.strings import DataError
from discern.models.columns.labels import doubts_about_labels, doubts_about_values, guess_label

TEXTS = ["win a free prize", "lunch at noon today", "claim your free cash", "see you at the meeting"]


def run(*arguments: Any, given: str | None = None) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=given)


def table(head: str, *rows: str) -> str:
    return "\n".join([head, *rows, ""])


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"label": ["x", "y"], "class": ["a", "b"]}, "label"),
        ({"Label": ["x", "y"], "note": TEXTS[:2]}, "Label"),
        ({"target": ["x", "y"], "note": TEXTS[:2]}, "target"),
        ({"class": ["x", "y"] * 2, "category": ["a", "b"] * 2}, None),
        ({"body": TEXTS, "stars": ["1", "5", "1", "5"]}, "stars"),
        ({"body": TEXTS, "spam": ["yes", "no", "yes", "no"]}, "spam"),
        ({"body": TEXTS, "price": ["1.5", "2.5", "1.5", "2.5"]}, None),
        ({"body": TEXTS, "who": ["a", "b", "c", "d"]}, None),
        ({"body": TEXTS, "one": ["a"] * 4}, None),
        ({"color": ["r", "g"] * 2, "size": ["s", "l"] * 2}, None),
    ],
)
def test_the_obvious_column(columns: dict[str, list[str]], expected: str | None) -> None:
    assert guess_label(Batch(columns, len(next(iter(columns.values()))))).name == expected


@pytest.mark.parametrize("piped", [False, True])
def test_fit_without_label(tmp_path: Path, piped: bool) -> None:
    content = table("spam,note", *(f'{"yes" if "free" in text else "no"},"{text}"' for text in TEXTS))
    path, model = tmp_path / "mail.csv", tmp_path / "m.discern"
    path.write_text(content)
    found = run("fit", "-", "-o", model, given=content) if piped else run("fit", path, "-o", model)
    assert found.exit_code == 0, found.output
    assert "label column: 'spam'" in found.stderr
    rows = [{"spam": "yes" if "free" in text else "no", "note": text} for text in TEXTS]
    assert Classifier.load(model).checksum() == Classifier("spam").fit(rows).checksum()


def test_no_obvious_column_names_the_candidates(tmp_path: Path) -> None:
    path = tmp_path / "cars.csv"
    path.write_text(table("color,size,note", *["red,small,x", "blue,large,y"] * 3))
    found = run("fit", path, "-o", tmp_path / "m.discern")
    shown = " ".join(found.stderr.replace("│", " ").split())
    assert found.exit_code == 2
    assert "--label COLUMN" in shown
    assert "'color' (2 values)" in shown
    with pytest.raises(DataError, match="such as 'color'"):
        Classifier().fit(str(path))


def test_doubts_are_warnings(tmp_path: Path) -> None:
    def warnings(*labels: str) -> str:
        path = tmp_path / "d.csv"
        path.write_text(table("label,text", *(f"{label},word number {n}" for n, label in enumerate(labels))))
        found = run("fit", path, "-o", tmp_path / "m.discern", "--smoothing", "1")
        assert found.exit_code == 0, found.output
        assert "warning:" not in run("fit", path, "-o", tmp_path / "m.discern", "--smoothing", "1", "-q").stderr
        return str(found.stderr)

    assert "needs at least two labels" in warnings("ham", "ham")
    assert "40 different labels in 40 rows" in warnings(*(f"row{n}" for n in range(40)))
    assert "decimal numbers" in warnings(*(f"{n}.5" for n in range(40)))
    assert "differ only in case or spaces" in warnings("Spam", "spam ", "ham", "ham")
    assert "warning:" not in warnings("spam", "ham", "spam", "ham")


def test_doubts() -> None:
    assert doubts_about_values("x", ["a", "b"] * 50) == []
    assert doubts_about_values("x", [str(n) for n in range(10)]) == []
    assert doubts_about_labels("x", {"a": 1, "b": 2}) == []


# ------------------------------------------------------------------------------------------ missing values, dates


@pytest.mark.parametrize("written", MISSING)
def test_missing_values_are_missing_in_numbers_and_categories(written: str) -> None:
    batch = Batch({"size": ["1.5", written, f" {written} "], "kind": ["a", written, f" {written} "]}, 3)
    assert [number == number for number in numbers_of(batch, "size").tolist()] == [True, False, False]
    assert levels_of(batch, Feature("kind", "category"))[0].tolist() == [0, -1, -1]


def test_missing_values_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text(table("label,age,kind", "a,3,x", "b,N/A,y", "a,5,-", "b,7,x"))
    shown = run("fit", path, "-o", tmp_path / "m.discern").stderr
    assert "missing values among the first 4 rows: 'age' ('N/A' in 1 rows), 'kind' ('-' in 1 rows)" in shown


@pytest.mark.parametrize(
    "when", ["2024-01-{:02}", "2024-01-{:02}T03:04:05Z", "{:02}/03/2024", "3.{}.24 9:05", "{}-12-1999 11:05 PM"]
)
def test_dates_are_left_out_with_the_reason(when: str) -> None:
    values = [when.format(n) for n in range(1, 13)]
    rows = Batch({"label": ["a", "b"] * 6, "when": values, "text": ["some words"] * 12}, 12)
    features, left_out = infer(rows, "label")
    assert [one.name for one in features] == ["text"]
    assert left_out["when"].startswith("it holds dates")
