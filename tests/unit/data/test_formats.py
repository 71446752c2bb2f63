"""A file format is one file: it adds a row to the registry, and nothing else in the package lists formats."""

from __future__ import annotations

import ast
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from discern.data.formats import FORMATS, Format
from discern.data.readers import batches, format_of, total_size
from discern.data.source import Reading

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "python" / "discern"
TOY = """
import numpy as np

from discern.data.formats import FORMATS, Format
from discern.data.formats.lines import read_lines
from discern.data.source import without_gaps


def read_toy(stream, source, reading):
    for batch in read_lines(stream, source, reading):
        rows, numbers = [], []
        for number, line in enumerate(batch.column("text").to_list(), batch.start):
            label, separator, text = line.partition("|")
            if not separator:
                reading.report_fault(source, f"row {number} of {source} has no '|'; write label|text")
            if separator or reading.keeps_bad_rows:
                rows.append((label, text))
                numbers.append(number)
        columns = {"label": [label for label, _ in rows], "text": [text for _, text in rows]}
        yield from without_gaps(columns, np.array(numbers, np.int64), source)


FORMATS.add(Format("toy", "toy", (".toy",), "`label` and `text`, with a `|` between them.", read_toy))
"""
ROWS = b"spam|win a free prize\nham|see you at noon\nspam|free cash for you\nham|lunch tomorrow at noon\n"


@pytest.fixture
def toy(tmp_path: Path) -> dict[str, str]:
    """A module with a new format in a folder with a file of it, and the environment that makes it known."""
    (tmp_path / "toy_formats.py").write_text(TOY)
    (tmp_path / "x.toy").write_bytes(ROWS)
    return {**os.environ, "PYTHONPATH": str(tmp_path), "DISCERN_EXTENSIONS": " toy_formats,"}


def discern(toy: dict[str, str], *arguments: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "discern.cli", *arguments]
    return subprocess.run(command, input=given, capture_output=True, env=toy, cwd=toy["PYTHONPATH"], timeout=60)


def test_a_new_format_is_one_file_on_the_command_line(toy: dict[str, str], tmp_path: Path) -> None:
    fitted = discern(toy, "fit", "x.toy", "-o", "m.discern")
    assert fitted.returncode == 0, fitted.stderr
    for arguments in (["x.toy"], ["*.toy"], ["-", "--format", "toy"]):
        predicted = discern(toy, "predict", "m.discern", *arguments, given=ROWS)
        assert [line.split(b",")[0] for line in predicted.stdout.splitlines()[1:]] == [b"spam", b"ham"] * 2
    assert b'"format": "toy"' in discern(toy, "info", "x.toy", "--json").stdout
    assert b", toy." in discern(toy, "predict", "--help").stdout
    assert b"'toy'" in discern(toy, "predict", "m.discern", "x.toy", "--format", "tox").stderr
    (tmp_path / "x.log").write_bytes(ROWS)
    assert b".toy" in discern(toy, "fit", "x.log", "-o", "m.discern").stderr
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "x.toy").write_bytes(ROWS)
    assert b"folder/*.toy" in discern(toy, "fit", "folder", "-o", "m.discern").stderr
    bad = discern(toy, "predict", "m.discern", "-", "--format", "toy", given=ROWS + b"bad\n")
    assert b"row 5 of standard input has no '|'" in bad.stderr


def test_a_new_format_is_one_file_in_python(toy: dict[str, str], run_python: Any) -> None:
    program = """
import discern, sys
model = discern.Classifier(text="text").fit(sys.argv[1])
model.save(sys.argv[1] + ".discern")
print(model.rows, discern.load(sys.argv[1] + ".discern").predict(sys.argv[1]).tolist())
"""
    path = Path(toy["PYTHONPATH"]) / "x.toy"
    assert run_python(program, path, environment=toy) == "4 ['spam', 'ham', 'spam', 'ham']\n"


def test_an_extension_that_cannot_be_imported_is_named(toy: dict[str, str]) -> None:
    said = discern({**toy, "DISCERN_EXTENSIONS": "toy_formats,nowhere"}, "fit", "x.toy", "-o", "m.discern").stderr
    assert said == b"discern: cannot import 'nowhere', which DISCERN_EXTENSIONS names: No module named 'nowhere'\n"


def strings(node: ast.AST) -> set[str]:
    return {one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str)}


def test_nothing_else_lists_formats() -> None:
    known = set(FORMATS.names()) | {suffix for form in FORMATS for suffix in form.suffixes}
    found = {
        f"{path.relative_to(PACKAGE)}, line {node.lineno}": names
        for path in PACKAGE.rglob("*.py")
        if path.parent != PACKAGE / "data" / "formats"
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.List | ast.Tuple | ast.Set | ast.Dict)
        if len(names := strings(node) & (known - {"text", "csv"})) > 1
    }
    assert found == {}


def test_every_module_of_formats_adds_a_row() -> None:
    homes = {getattr(form.read, "func", form.read).__module__ for form in FORMATS}
    modules = {path.stem for path in (PACKAGE / "data" / "formats").glob("*.py")} - {"__init__"}
    assert homes == {f"discern.data.formats.{name}" for name in modules}


def test_rows_of_the_registry_are_whole() -> None:
    suffixes = [suffix for form in FORMATS for suffix in form.suffixes]
    assert len(suffixes) == len(set(suffixes))
    assert all(suffix.startswith(".") and suffix == suffix.lower() for suffix in suffixes)
    assert all(form.about.endswith(".") and form.title for form in FORMATS)
    for form in FORMATS:
        assert [format_of(f"x{suffix}.gz") for suffix in form.suffixes] == [form.name] * len(form.suffixes)


def test_the_format_that_was_added_last_gets_a_suffix(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {**FORMATS._rows, "other": Format("other", "other", (".csv",), "", lambda *_: iter(()))}
    monkeypatch.setattr(FORMATS, "_rows", rows)
    assert format_of("x.csv") == "other"
    with pytest.raises(ValueError, match="There is already a format 'csv'"):
        FORMATS.add(FORMATS["csv"])


def test_an_unknown_format_names_the_closest(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("label,text\na,b\n")
    with pytest.raises(ValueError, match="unknown format 'jsnl'; did you mean 'jsonl'"):
        list(batches(tmp_path / "x.csv", Reading("jsnl")))


def test_total_size(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv", "c.parquet", "d.csv.gz"):
        (tmp_path / name).write_bytes(b"12345")
    paths = {path.name: str(path) for path in tmp_path.iterdir()}
    assert total_size([paths["a.csv"], paths["b.csv"]]) == 10
    assert total_size([paths["a.csv"]], "parquet") is None
    for other in (paths["c.parquet"], paths["d.csv.gz"], "-"):
        assert total_size([paths["a.csv"], other]) is None


def test_looking_up_a_format_imports_nothing_heavy(run_python: Any) -> None:
    program = "import sys; from discern.data.formats import FORMATS; FORMATS['csv']; print(*sys.modules)"
    assert not {"pyarrow", "email.message", "scipy", "pandas"} & set(run_python(program).split())
    at_first = run_python("import discern, sys; print(*sys.modules)").split()
    assert not {"numpy", "discern.data.formats"} & set(at_first)


def test_the_page_of_data_has_all_formats() -> None:
    spec = importlib.util.spec_from_file_location("docs_build", ROOT / "docs" / "build.py")
    assert spec is not None
    assert spec.loader is not None
    build = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = build
    spec.loader.exec_module(build)
    page = build.DATA.read_text("utf-8")
    assert page == build.with_formats(page), "run: make docs"
    assert all(f"| `{name}` |" in page for name in FORMATS.names())
