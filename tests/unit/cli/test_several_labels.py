"""The command line where a row may have several labels: fit, predict, evaluate, explain, change, decide, report."""

from __future__ import annotations

import csv
import io
import json
import random
import warnings
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from discern.classifier import Classifier
from discern.cli.main import app

WORDS = {
    "corn": ["corn", "maize", "bushel", "silo"],
    "oil": ["oil", "barrel", "crude", "opec"],
    "ship": ["vessel", "cargo", "port", "tonnage"],
}
COMMON = ["the", "price", "rose", "today", "market", "said"]


def rows(count: int, seed: int = 0) -> list[dict[str, str]]:
    draw = random.Random(seed)
    made = []
    for _ in range(count):
        labels = sorted(label for label in WORDS if draw.random() < 0.4)
        words = [draw.choice(WORDS[label]) for label in labels for _ in range(3)]
        words += [draw.choice(COMMON) for _ in range(4)]
        draw.shuffle(words)
        made.append({"label": "|".join(labels), "text": " ".join(words)})
    return made


def in_process(*arguments: Any, given: str | None = None) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=given)


def well(*arguments: Any, given: str | None = None) -> str:
    result = in_process(*arguments, given=given)
    assert result.exit_code == 0, (result.output, result.exception)
    return str(result.stdout)


def badly(*arguments: Any) -> str:
    result = in_process(*arguments)
    assert result.exit_code != 0
    return " ".join(result.output.replace("│", " ").split())


def write(path: Path, content: list[dict[str, Any]], columns: list[str] | None = None) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns or list(content[0]))
        writer.writeheader()
        writer.writerows(content)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("several")
    write(place / "train.csv", rows(240))
    write(place / "test.csv", rows(60, 1))
    well("fit", place / "train.csv", "-o", place / "topics.discern", "--label-separator", "|", "--quiet")
    return place


@pytest.fixture
def model(folder: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "topics.discern"
    copy.write_bytes((folder / "topics.discern").read_bytes())
    return copy


def test_fit_tells_the_labels_and_how_many_a_row(folder: Path, tmp_path: Path) -> None:
    result = in_process("fit", folder / "train.csv", "-o", tmp_path / "m", "--label-separator", "|")
    assert "learned 240 rows of 3 labels, 1." in result.output
    assert Classifier.load(tmp_path / "m").labels == ("corn", "oil", "ship")
    told = json.loads(well("fit", folder / "train.csv", "-o", tmp_path / "m", "--label-separator", "|", "--json", "-q"))
    assert set(told["rows_per_label"]) == {*WORDS}
    assert told["several"] is not None
    shown = well("fit", folder / "train.csv", "-o", tmp_path / "n", "--label-separator", "|", "--dry-run", "--json")
    assert json.loads(shown)["rows_per_label"] == told["rows_per_label"]
    assert not (tmp_path / "n").exists()


def test_columns_of_flags_and_lists_are_the_same_model(folder: Path, tmp_path: Path) -> None:
    content = rows(240)
    flags = [
        {**{label: int(label in row["label"].split("|")) for label in WORDS}, "text": row["text"]} for row in content
    ]
    write(tmp_path / "flags.csv", flags)
    well("fit", tmp_path / "flags.csv", "-o", tmp_path / "flags", "--labels-from", "corn,oil,ship", "-q")
    lines = [json.dumps({**row, "label": [one for one in row["label"].split("|") if one]}) for row in content]
    (tmp_path / "lists.jsonl").write_text("\n".join(lines), "utf-8")
    well("fit", tmp_path / "lists.jsonl", "-o", tmp_path / "lists", "-q")
    shares = [
        json.loads(well("predict", place, "corn maize silo, vessel cargo port", "--json", "--proba"))
        for place in (folder / "topics.discern", tmp_path / "flags", tmp_path / "lists")
    ]
    assert shares[0] == shares[1] == shares[2]
    assert shares[0]["label"] == ["corn", "ship"]


def test_predictions_have_a_probability_for_each_label(folder: Path, tmp_path: Path) -> None:
    model, data = folder / "topics.discern", folder / "test.csv"
    found = list(csv.DictReader(io.StringIO(well("predict", model, data, "--proba"))))
    lines = [json.loads(line) for line in well("predict", model, data, "--json").splitlines()]
    well("predict", model, data, "-o", tmp_path / "found.parquet", "-q")
    table = pq.read_table(tmp_path / "found.parquet").to_pylist()
    expected = Classifier.load(model).predict([row["text"] for row in rows(60, 1)]).tolist()
    assert [row["label"].split("|") if row["label"] else [] for row in found] == expected
    assert [row["label"] for row in lines] == [row["label"] for row in table] == expected
    assert [len(row["probability"]) for row in lines] == [len(row["label"]) for row in lines]
    assert [row["probability"] for row in table] == [row["probability"] for row in lines]
    assert [row["probability"].split("|") for row in found if row["label"]] == [
        [row[label] for label in row["label"].split("|")] for row in found if row["label"]
    ]
    appended = list(csv.DictReader(io.StringIO(well("predict", model, data, "--append"))))
    assert "predicted label" in appended[0]
    assert "several labels" in badly("predict", model, data, "--unsure", "0.9") or "one label a row" in badly(
        "predict", model, data, "--unsure", "0.9"
    )


def test_parquet_of_rows_without_labels(folder: Path, tmp_path: Path) -> None:
    well("predict", folder / "topics.discern", "market price today", "-o", tmp_path / "none.parquet", "-q")
    assert pq.read_table(tmp_path / "none.parquet").to_pylist() == [{"label": [], "probability": []}]
    write(tmp_path / "empty.csv", [], ["text"])
    well("predict", folder / "topics.discern", tmp_path / "empty.csv", "-o", tmp_path / "empty.parquet", "-q")
    assert str(pq.read_table(tmp_path / "empty.parquet").schema.field("label").type) in (
        "list<item: string>", "list<element: string>"
    )  # fmt: skip


def test_a_label_with_the_separator_is_refused_in_csv(tmp_path: Path) -> None:
    lines = [{"label": ["a|b"], "text": "winter wheat"}, {"label": ["c"], "text": "barrel price"}] * 10
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")
    well("fit", tmp_path / "rows.jsonl", "-o", tmp_path / "m", "-q")
    assert "write JSON lines" in badly("predict", tmp_path / "m", "winter wheat")
    assert json.loads(well("predict", tmp_path / "m", "winter wheat", "--json"))["label"] == ["a|b"]


def test_evaluation_of_sets(folder: Path) -> None:
    shown = well("evaluate", folder / "topics.discern", folder / "test.csv")
    assert "micro F1" in shown
    assert "exact match" in shown
    found = json.loads(well("evaluate", folder / "topics.discern", folder / "test.csv", "--json"))
    assert found["f1"]["micro"] > 0.9
    rarely = json.loads(
        well("evaluate", folder / "topics.discern", folder / "test.csv", "--json", "--threshold", "0.999999")
    )
    assert rarely["recall"]["micro"] < found["recall"]["micro"]
    one = ("--threshold", "1", "--positive", "corn", "--json")
    without = json.loads(well("evaluate", folder / "topics.discern", folder / "test.csv", *one))
    assert without["per_label"]["corn"]["predicted"] < found["per_label"]["corn"]["predicted"]
    assert without["per_label"]["oil"] == found["per_label"]["oil"]
    assert "one label a row" in badly(
        "evaluate", folder / "topics.discern", folder / "test.csv", "--cost", "corn:oil=2"
    )
    assert "unknown label 'con'" in badly(
        "evaluate", folder / "topics.discern", folder / "test.csv", "--threshold", "0.5", "--positive", "con"
    )


def test_one_label_is_explained(folder: Path) -> None:
    model = folder / "topics.discern"
    why = json.loads(well("explain", model, "corn maize silo, vessel cargo port", "--for-label", "ship", "--json"))
    assert why["label"] == "ship"
    assert why["terms"][0]["term"] == "vessel"
    assert "vessel" in well("explain", model, "corn maize silo, vessel cargo port", "--for-label", "ship")
    assert "oi" in badly("explain", model, "the corn vessel", "--for-label", "oi")


def test_learning_forgetting_and_relabeling(folder: Path, model: Path, tmp_path: Path) -> None:
    before = Classifier.load(model).predict_proba(["maize harvest"])
    new = write(tmp_path / "new.csv", [{"label": "corn|harvest", "text": "maize harvest"}])
    result = in_process("learn", model, new)
    assert "labels new: harvest" in result.output
    unlabeled = write(tmp_path / "plain.csv", [{"text": "maize harvest"}])
    well("relabel", model, unlabeled, "--from", "corn|harvest", "--to", "harvest")
    assert Classifier.load(model).info()["rows_per_label"]["harvest"] == 1
    assert "no label 'oli'" in badly("relabel", model, unlabeled, "--from", "oli|corn", "--to", "corn")
    well("forget", model, unlabeled, "--label", "harvest")
    assert Classifier.load(model).labels == ("corn", "oil", "ship")
    assert (Classifier.load(model).predict_proba(["maize harvest"]) == before).all()
    well("learn", model, unlabeled, "--label", "")
    well("forget", model, unlabeled, "--label", "")


def test_labels_are_added_and_removed(model: Path, tmp_path: Path) -> None:
    known = write(
        tmp_path / "known.csv", [{"label": "corn|oil", "text": "silo barrel"}, {"label": "", "text": "price"}]
    )
    well("learn", model, known)
    before = Classifier.load(model).info()["rows_per_label"]
    told = json.loads(well("relabel", model, known, "--add", "ship", "--json", "-q"))
    assert told["moved"] == 2
    assert Classifier.load(model).info()["rows_per_label"] == {**before, "ship": before["ship"] + 2}
    again = write(
        tmp_path / "again.csv", [{"label": "corn|oil|ship", "text": "silo barrel"}, {"label": "ship", "text": "price"}]
    )
    well("relabel", model, again, "--remove", "ship")
    assert Classifier.load(model).info()["rows_per_label"] == before
    assert "or else --add" in badly("relabel", model, known, "--add", "ship", "--to", "corn")
    assert "or else --add" in badly("relabel", model, known, "--to", "corn")
    assert badly("relabel", model, known, "--remove", "ship")
    assert Classifier.load(model).info()["rows_per_label"] == before


def test_thresholds_are_set_and_saved(folder: Path, model: Path) -> None:
    def predicted() -> list[list[str]]:
        return [
            json.loads(line)["label"] for line in well("predict", model, folder / "test.csv", "--json").splitlines()
        ]

    first = predicted()
    well("decide", model, "--at-least-one", "--at-most", "1")
    assert {len(labels) for labels in predicted()} == {1}
    assert [labels[0] in before for labels, before in zip(predicted(), first, strict=True) if before]
    well("decide", model, "--clear")
    assert predicted() == first
    told = json.loads(well("decide", model, folder / "train.csv", "--min-recall", "0.99", "--json", "-q"))
    assert told["recall"] >= 0.98
    assert told["decision"]["common"] <= 1
    told = json.loads(
        well("decide", model, folder / "test.csv", "--held-out", "--max-f1", "--at-most", "2", "--json", "-q")
    )
    assert max(map(len, predicted())) <= 2
    assert told["f1"] > 0.9
    assert told["decision"]["at_most"] == 2
    assert "one label a row" in badly("decide", model, "--share", "corn=0.5")
    assert "only one of" in badly("decide", model, folder / "test.csv", "--max-f1", "--min-recall", "0.5")


def test_the_report_of_sets(folder: Path, tmp_path: Path) -> None:
    told = json.loads(
        well("report", folder / "topics.discern", folder / "test.csv", "-o", tmp_path / "r.html", "--json", "-q")
    )
    page = (tmp_path / "r.html").read_text("utf-8")
    assert told["evaluation"]["f1"]["micro"] > 0.9
    for part in ("micro F1", "exact match", "Threshold explorer", "By label", "Strongest words", "ROC curve of "):
        assert part in page


def test_info_of_sets(folder: Path) -> None:
    told = json.loads(well("info", folder / "topics.discern", "--json"))
    assert set(told["strongest"]) == {*WORDS}
    assert "corn" in well("info", folder / "topics.discern")


def test_models_are_compared_on_sets(folder: Path) -> None:
    options = ("--label-separator", "|", "--folds", "3", "--model", "multinomial", "--model", "bernoulli")
    told = json.loads(well("compare", folder / "train.csv", *options, "--json", "-q"))
    assert {method["method"] for method in told["methods"]} == {"multinomial", "bernoulli"}
    assert all(method["f1"] > 0.8 and 0 <= method["error"] < 0.5 for method in told["methods"])
    shown = well("compare", folder / "train.csv", *options)
    assert "micro F1" in shown
    assert "not exact" in shown


def test_labels_with_a_separator_are_told_of(folder: Path, tmp_path: Path) -> None:
    """A row without labels is an error, which names the option; without such rows, each text is one label."""
    told = badly("fit", folder / "train.csv", "-o", tmp_path / "m")
    assert "has no label in column 'label'; add one or remove the row; labels seem to be separated by '|'" in told
    assert "pass --label-separator '|'" in told
    some = write(tmp_path / "some.csv", [row for row in rows(240) if row["label"]])
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        result = in_process("fit", some, "-o", tmp_path / "m")
    assert result.exit_code == 0
    assert (
        "discern: labels have '|' between other labels; if rows have several, pass --label-separator '|'"
        in result.output
    )
    plain = write(tmp_path / "plain.csv", [{"label": "a", "text": "win"}, {"label": "", "text": "lunch"}])
    assert badly("fit", plain, "-o", tmp_path / "m").endswith("add one or remove the row")
    assert "--label-separator must be a mark" in badly("fit", some, "-o", tmp_path / "m", "--label-separator", "a")


def test_bad_labels_are_sentences(tmp_path: Path) -> None:
    lines = [{"label": ["a"], "text": "win"}, {"label": ["b", "b"], "text": "lunch"}, {"label": ["c|d"], "text": "tea"}]
    for name, content in {
        "mixed": [*lines, {"label": "c", "text": "noon"}],
        "lists": lines,
        "null": [*lines, {"label": None, "text": "noon"}],
        "empty": [*lines, {"label": [""], "text": "noon"}],
        "nested": [*lines, {"label": [["a"]], "text": "noon"}],
    }.items():
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, content)), "utf-8")
    assert "mixed.jsonl, column 'label'" in badly("fit", tmp_path / "mixed.jsonl", "-o", tmp_path / "m")
    assert "'c' is not a list of labels" in badly("fit", tmp_path / "mixed.jsonl", "-o", tmp_path / "m")
    assert "the labels are missing" in badly("fit", tmp_path / "null.jsonl", "-o", tmp_path / "m")
    for name in ("empty", "nested"):
        assert "row 4 of" in badly("fit", tmp_path / f"{name}.jsonl", "-o", tmp_path / "m")
    told = badly("fit", tmp_path / "lists.jsonl", "-o", tmp_path / "m", "--label-separator", "|")
    assert "the label 'c|d' contains the separator '|'" in told
    well("fit", tmp_path / "lists.jsonl", "-o", tmp_path / "m", "-q")
    assert Classifier.load(tmp_path / "m").labels == ("a", "b", "c|d")


def test_novelty_is_refused(model: Path, folder: Path) -> None:
    for words in (
        ("predict", model, folder / "test.csv", "--novelty"),
        ("evaluate", model, folder / "test.csv", "--novelty", "0.05"),
    ):
        assert "several labels a row and no novelty" in badly(*words)
