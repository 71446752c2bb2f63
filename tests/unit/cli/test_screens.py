"""What is printed at 80 columns: every number can be read back from every table."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer.main
from rich.console import Console
from typer.testing import CliRunner

from discern.analysis.comparison import HEAD, LESS
from discern.classifier import Classifier
from discern.cli.main import COMMANDS, EXTRAS, GROUPS, app
from discern.cli.options import EXAMPLES
from discern.cli.screen import show, tables
from discern.cli.screen.help import meaning, written
from discern.cli.screen.tables import NO_BREAK, FittedTable, plain_table
from discern.evaluation.evaluation import Evaluation
from discern.models.evidence import Evidence, TermEvidence
from discern.models.registry import public_models

LONG = "balance not updated after cheque or cash deposit at the counter of another branch"
NUMBER = re.compile(r"[-+]?[0-9][0-9,]*(?:\.[0-9]+)?%?")


def screen(width: int, **how: Any) -> Console:
    return Console(file=io.StringIO(), width=width, highlight=False, emoji=False, **how)


def printed(part: Any, width: int = 80) -> str:
    made = screen(width)
    show.show(made, part)
    return made.file.getvalue()  # type: ignore[attr-defined,no-any-return]


def evaluation(names: int = 2) -> Evaluation:
    labels = [f"{LONG} {number:02}" for number in range(names)]
    random = np.random.default_rng(0)
    true, shares = random.choice(labels, 20_000), random.dirichlet(np.ones(names), 20_000)
    return Evaluation.of(true, np.array(labels)[shares.argmax(axis=1)], shares, labels)


def evidence() -> Evidence:
    terms = tuple(TermEvidence(f"{LONG} {n}", n + 1, (-1) ** n * (1234.5 - n), column="a column") for n in range(9))
    return Evidence("spam", "ham", {"spam": 0.8, "ham": 0.2}, -0.25, 0.125, (*terms, TermEvidence("x", 1, 0.5)), 3)


def results() -> list[dict[str, Any]]:
    one = {"model": LONG, "terms": LONG, "rows": 1234567, "accuracy": 0.91234, "log_loss": 12.3456, "seconds": 123.4}
    return [{**one, "status": LONG}] * 2


def compared() -> FittedTable:
    table = plain_table(*HEAD, drop=LESS)
    table.add_row(LONG, "0.1234", "[0.1000, 0.1500]", "12.34%", "[10.00%, 15.00%]", "0.045", "123.45 s", "12.34 s")
    return table


def datasets() -> FittedTable:
    table = plain_table("row", "similarity", "label", left=0, names=("label",))
    table.add_row("1,234,567", "0.9876", LONG)
    return table


TABLES: dict[str, Callable[[], FittedTable]] = {
    "labels": lambda: show.label_table(evaluation()),
    "confusion": lambda: show.confusion_table(evaluation(3)),
    "mistakes": lambda: show.mistakes_table(evaluation(9)),
    "evidence": lambda: show.evidence_table(evidence(), 6),
    "leaderboard": lambda: show.leaderboard_table(results()),
    "compare": compared,
    "similar": datasets,
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_numbers_are_never_cut(name: str, width: int) -> None:
    table, made = TABLES[name](), screen(width)
    dropped = table.dropped(made, width - 2)
    lines = printed(table, width).splitlines()
    head = next(place for place, line in enumerate(lines) if "──" in line)
    words = table.names | table.wraps
    kept = [place for place in range(len(table.columns)) if place not in dropped and place not in words]
    body = lines[head + 1 : head + 1 + table.row_count]
    for row, line in enumerate(body):
        cells = [str(list(table.columns[place].cells)[row]) for place in kept]
        expected = [number for cell in cells for number in NUMBER.findall(cell)]
        found = NUMBER.findall(line)
        assert found[len(found) - len(expected) :] == expected, (line, expected)
    if width >= 80:
        assert max(map(len, lines)) <= width
    heads = [str(table.columns[place].header) for place in dropped if str(table.columns[place].header)]
    told = " ".join(line.strip() for line in lines[head + 1 + table.row_count :])
    assert all(one in told for one in heads)


def test_what_is_dropped_and_in_which_order() -> None:
    table = compared()
    assert [len(table.dropped(screen(width), width - 2)) for width in (200, 100, 80, 50)] == [0, 1, 2, 4]
    assert [table.columns[place].header for place in table.dropped(screen(50), 48)] == [
        name for name in LESS if name in HEAD
    ]


def test_a_wide_confusion_matrix_becomes_mistakes() -> None:
    made = screen(80)
    show.show_evaluation(made, evaluation(30))
    shown = made.file.getvalue()  # type: ignore[attr-defined]
    assert "the most frequent mistakes" in shown
    assert "…%" not in shown


def test_unseen_labels_do_not_hide_in_the_log_loss() -> None:
    shares = np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]])
    found = Evaluation.of(["ham", "spam", "news"], ["ham", "spam", "ham"], shares, ["ham", "spam"])
    assert found.log_loss > 200
    assert found.known_log_loss == pytest.approx(-(np.log(0.9) + np.log(0.8)) / 2, rel=1e-12)
    known = Evaluation.of(["ham", "spam"], ["ham", "spam"], shares[:2], ["ham", "spam"])
    assert found.known_log_loss == known.log_loss == known.known_log_loss
    shown = str(found)
    assert "over the 2 rows whose label the model knows" in shown
    assert "'news'" in shown
    assert "230." not in shown
    nobody = Evaluation.of(["news"], ["ham"], shares[:1], ["ham", "spam"])
    assert nobody.known_log_loss != nobody.known_log_loss
    assert "–" in str(nobody)
    assert nobody.to_dict()["known_log_loss"] is None


def test_an_evaluation_is_printed_as_a_table() -> None:
    shown = str(evaluation())
    assert re.search(r"accuracy +\d\d\.\d\d% +[\d,]+ of 20,000 rows", shown)
    assert re.search(r"label +precision +recall +F1 +rows", shown)
    assert len(shown.splitlines()) == 3 + 1 + 1 + 2


def test_evidence_without_color_has_signs(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"label": "spam", "text": "win prize"}, {"label": "ham", "text": "lunch noon"}]
    model = Classifier(smoothing=0.1).fit(rows)
    seen: dict[str, str] = {}
    for name, how in {"color": {"force_terminal": True, "color_system": "truecolor"}, "none": {}}.items():
        made = screen(80, no_color=name == "none", **how)
        show.show_evidence(made, model, "win lunch lunch", model.explain("win lunch lunch"), 5)
        seen[name] = made.file.getvalue()  # type: ignore[attr-defined]
    assert "win(-" in seen["none"]
    assert "lunch(+" in seen["none"]
    assert "+ is evidence for ham, - for spam" in seen["none"]
    assert "win(" not in seen["color"]
    monkeypatch.setenv("NO_COLOR", "1")
    made = screen(80, force_terminal=True, color_system="truecolor")
    show.show_evidence(made, model, "win", model.explain("win"), 5)
    assert "(+2.4)" in made.file.getvalue()  # type: ignore[attr-defined]


def test_empty_evidence_is_told() -> None:
    rows = [{"label": "a", "text": "x1"}, {"label": "b", "text": "y1"}]
    model = Classifier(smoothing=1.0).fit(rows)
    made = screen(80)
    show.show_evidence(made, model, "", model.explain(""), 5)
    assert "No evidence" in made.file.getvalue()  # type: ignore[attr-defined]


# -------------------------------------------------------------------------------------------------------- help


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_every_command_has_help(flag: str) -> None:
    every = CliRunner().invoke(app, [flag])
    assert every.exit_code == 0
    for one in COMMANDS:
        found = CliRunner().invoke(app, [one.__name__, flag])
        assert found.exit_code == 0, one.__name__
        assert "\nExamples:\n" in found.output
        assert re.search(rf"^  {one.__name__} ", every.output, re.MULTILINE)
    for extra in EXTRAS.values():
        assert f"discern[{extra}]" in " ".join(every.output.split())
    for task in GROUPS:
        assert f"\n{task}:\n" in every.output


def examples(page: str, width: int) -> list[str]:
    """Return the examples at the end of a help page, as a shell reads them."""
    lines = page.partition("\nExamples:\n")[2]
    assert all(len(line) <= width for line in lines.splitlines())
    return [" ".join(one.split()) for one in lines.replace(" \\\n", " ").splitlines()]


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("one", COMMANDS, ids=lambda one: one.__name__)
def test_help_shows_every_name_whole(one: Any, width: int) -> None:
    page = CliRunner().invoke(app, [one.__name__, "-h"], terminal_width=width).output
    words = " ".join(page.split())
    command: Any = typer.main.get_command(app)
    for parameter in command.commands[one.__name__].params:
        assert re.search(rf"^  {re.escape(written(parameter))}(  |$)", page, re.MULTILINE), parameter.name
        assert " ".join(meaning(parameter).split()) in words
    assert "…" not in page.replace("postgresql://…", "")
    assert examples(page, width) == [" ".join(example.split()) for example in EXAMPLES[one]]


def test_help_of_model_names_the_models_that_are_sums() -> None:
    words = " ".join(CliRunner().invoke(app, ["fit", "-h"]).output.split())
    (named,) = re.findall(r"Of these, (.*?) can learn more rows, forget and merge\.", words)
    rows = [{"label": label, "x": x} for label, x in zip("aabbab", (1.0, 2.0, 3.0, 4.5, 1.5, 4.0), strict=True)]
    for model in set(public_models()) - {"best"}:
        classifier = Classifier(model=model).fit(rows)
        with nullcontext() if model in re.split(r", | and ", named) else pytest.raises(ValueError, match="learn"):
            classifier.learn(rows[:1])


# --------------------------------------------------------------------------------- the tables of all commands


WITH_TABLES = {
    "info model": ("info", "m.discern"),
    "info data": ("info", "rows.csv"),
    "datasets": ("datasets", "list"),
    "demo": ("demo", "-o", "demo.discern"),
    "evaluate": ("evaluate", "m.discern", "rows.csv"),
    "explain": ("explain", "m.discern", f"{LONG} free prize1"),
    "similar": ("similar", "near.discern", LONG, "--data", "rows.csv"),
    "compare": ("compare", "rows.csv", "--folds", "2", "--model", "multinomial", "--model", "knn"),
    "drift": ("drift", "m.discern", "later.discern"),
    "fit": ("fit", "rows.csv", "-o", "best.discern", "--model", "best", "--budget", "5s"),
}
"""Every command that prints a table, with its arguments."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with rows whose labels and words are long, and models of them."""
    made = tmp_path_factory.mktemp("tables")
    lines = [f'{LONG} {n % 2},"{LONG} {n} free prize{n % 2}"\n' for n in range(200)]
    made.joinpath("rows.csv").write_text("label,text\n" + "".join(lines))
    made.joinpath("later.csv").write_text("label,text\n" + "".join(lines[:100]))
    for name, data, *more in (
        ("m", "rows"),
        ("later", "later"),
        ("near", "rows", "--model", "knn"),
    ):
        arguments = ["fit", str(made / f"{data}.csv"), "-o", str(made / f"{name}.discern"), *more]
        assert CliRunner().invoke(app, arguments).exit_code == 0
    return made


def numbers_of(cell: Any) -> list[str]:
    return NUMBER.findall(str(cell).replace(NO_BREAK, " "))


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", WITH_TABLES)
def test_every_number_of_every_table_can_be_read_back(
    name: str, width: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr(tables, "PIPE_WIDTH", width)
    shown: list[tuple[FittedTable, list[int]]] = []
    render = FittedTable.__rich_console__

    def recorded(self: FittedTable, made: Console, options: Any) -> Any:
        shown.append((self, self.dropped(made, options.max_width)))
        return render(self, made, options)

    monkeypatch.setattr(FittedTable, "__rich_console__", recorded)
    result = CliRunner().invoke(app, list(WITH_TABLES[name]))
    assert result.exit_code == 0, result.output
    assert shown
    printed_numbers = Counter(NUMBER.findall(result.output))
    for table, dropped in shown:
        kept = [place for place in range(len(table.columns)) if place not in {*dropped, *(table.names - table.wraps)}]
        cells = [cell for place in kept for cell in table.columns[place].cells]
        expected = Counter(number for cell in cells for number in numbers_of(cell))
        assert expected <= printed_numbers
        assert all(str(table.columns[place].header) in result.output for place in dropped)


def test_no_command_that_prints_tables_is_forgotten() -> None:
    sources = Path(tables.__file__).parents[1].rglob("*.py")
    makers = {path.stem for path in sources if re.search(r"plain_table\(|screen\.show import", path.read_text("utf-8"))}
    named = {arguments[0] for arguments in WITH_TABLES.values()}
    assert makers - {"show", "tables", "several"} == {*named - {"similar", "compare", "drift"}}
