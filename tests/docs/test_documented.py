"""Nothing public is without documentation: names with examples that run, methods, options, and every method's formula."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
from pathlib import Path
from typing import Any

import pytest
import typer.main

import discern
from discern.cli.main import app

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
METHODS = DOCS / "methods"


def loaded(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


names = loaded("names")


def of_path(name: str) -> Any:
    home, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(home), attribute)


def executed() -> str:
    """Return the code of all pages that is run: examples of pages, and the course."""
    pages = [path.read_text("utf-8") for path in DOCS.rglob("*.md")]
    examples = [line for page in pages for line in page.splitlines() if line.strip().startswith(("... ", ">>> "))]
    return "\n".join([*examples, *(path.read_text("utf-8") for path in (ROOT / "examples").glob("*.py"))])


def test_every_name_has_a_docstring_and_an_example_that_runs() -> None:
    code = executed()
    without = []
    for name in discern._HOMES:
        text = inspect.getdoc(getattr(discern, name)) or ""
        if not text or not (">>>" in text or re.search(rf"\bdiscern\.{name}\b|\b{name}\(", code)):
            without.append(name)
    assert without == []


def test_every_name_has_a_page() -> None:
    listed = re.findall(r"^   (discern\.\S+)$", names.page(), re.MULTILINE)
    assert sorted(set(listed)) == sorted(listed)
    elsewhere = {f"discern.{name}" for name in re.findall(r"^\| `(\w+)` \|", names.reexports(), re.MULTILINE)}
    assert {f"discern.{name}" for name in discern._HOMES} <= set(listed) | elsewhere
    assert elsewhere == {f"discern.{name}" for name, home in discern._HOMES.items() if home == names.REEXPORTS}
    assert [name for name in listed if not inspect.getdoc(of_path(name))] == []


def test_every_picture_is_drawn_somewhere() -> None:
    code = executed() + (ROOT / "tests" / "unit" / "analysis" / "test_plots.py").read_text("utf-8")
    assert [name for name in names.members("analysis.plots") if name.rpartition(".")[2] not in code] == []


def test_every_method_has_a_docstring() -> None:
    without = []
    for name in discern._HOMES:
        value = getattr(discern, name)
        for member, item in vars(value).items() if inspect.isclass(value) else ():
            function = getattr(item, "__func__", item)
            if not member.startswith("_") and (inspect.isfunction(function) or isinstance(item, property)):
                without += [f"{name}.{member}"] if not inspect.getdoc(function) else []
    assert without == []


def test_the_pages_of_the_command_line_are_those_of_the_commands() -> None:
    written = {path.stem: path.read_text("utf-8") for path in (DOCS / "cli").glob("*.md")}
    assert written == loaded("build").pages(), "run: python docs/build.py"


def test_every_parameter_of_a_command_has_help_and_stands_on_its_page() -> None:
    group: Any = typer.main.get_command(app)
    without, missing = [], []
    for command in group.commands.values():
        assert command.help, command.name
        section = (DOCS / "cli" / f"{command.name}.md").read_text("utf-8")
        for parameter in command.params:
            is_option = parameter.opts[0].startswith("-")
            written = max(parameter.opts, key=len) if is_option else (parameter.metavar or parameter.name.upper())
            if written == "--help":
                continue
            without += [f"{command.name} {written}"] if not parameter.help else []
            missing += [f"{command.name} {written}"] if written not in section else []
    assert (without, missing) == ([], [])


# ----------------------------------------------------------------------------------------------------- methods

SECTIONS = ("Model", "Statistic", "ost", "What can go wrong", "When", "Reference")
"""What a page of a method tells; cost may share a heading with the statistic."""
ROWS = {
    # Naive Bayes
    "prior": "prior", "multinomial event model": "multinomial", "Bernoulli event model": "bernoulli",
    "Bernoulli, normalized over the vocabulary": "bernoulli#vocabulary-normalized",
    "Gaussian": "gaussian-naive-bayes", "categorical": "categorical", "mixed columns": "mixed",
    "numbers in bins": "discretization", "Laplace, Lidstone, Jelinek–Mercer, Dirichlet": "smoothing",
    "unknown words": "prior#unknown-words", "log space": "prior#log-space",
    "full multinomial likelihood": "multinomial#full-likelihood", "the linear view": "multinomial#linear-view",
    "unigram language model": "language-model", "cost": "multinomial#cost",
    # Gaussian discriminants and the Bayes classifier
    "LDA": "lda", "QDA": "qda", "singular covariance": "lda#singular", "Bayes classifier": "bayes-classifier",
    "general loss": "bayes-classifier#general-loss", "basis expansion": "basis", "least squares": "ridge",
    # Logistic regression
    "Newton's method": "logistic", "separated classes": "logistic#separation", "Bayesian": "bayesian-logistic",
    # Linear and kernel classifiers
    "basic linear classifier": "basic-linear", "the same with a kernel": "basic-linear#kernelized",
    "perceptron and its bound": "perceptron", "averaged and kernel perceptron": "perceptron#averaged-and-kernel",
    "Winnow": "winnow", "balanced Winnow": "winnow#balanced", "hard-margin SVM": "linear-svm",
    "soft-margin SVM": "linear-svm#soft-margin", "linear SVM in linear time": "linear-svm#linear-time",
    "kernels": "svm#kernels", "more than two classes": "linear-svm#one-against-rest", "NB-SVM": "nbsvm",
    "probabilities from distances": "calibration",
    # Vector space, neighbors, features
    "term–document matrix": "vector-space", "cosine, Euclidean, Hamming": "vector-space#distances",
    "k nearest neighbors": "neighbors", "χ² and mutual information": "selection",
    # Judging
    "confusion matrix": "evaluation", "threshold, ROC, area": "evaluation#threshold",
    "training error against held-out error": "evaluation#validation", "intervals and tests": "evaluation#intervals",
}  # fmt: skip
"""What the library can do, and the page or section that tells it."""


@pytest.mark.parametrize("row", ROWS)
def test_a_capability_is_on_the_index_and_has_its_formula(row: str) -> None:
    page, _, section = ROWS[row].partition("#")
    target = f"{page}.md" + (f"#{section}" if section else "")
    index = (METHODS / "index.md").read_text("utf-8")
    assert re.search(rf"^\| {re.escape(row)}[^|]*\|.*\({re.escape(target)}\)", index, re.MULTILINE), target
    text = (METHODS / f"{page}.md").read_text("utf-8")
    if section:
        found = re.search(
            rf"^(?:\({section}\)=|## {section.capitalize()})\n(.*?)(?=^\([a-z-]+\)=$|^## |\Z)", text, re.M | re.S
        )
        assert found, target
        text = found[1]
    assert "$" in text, target


PAGES = sorted(path for path in METHODS.glob("*.md") if path.stem != "index")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_of_a_method_is_complete(page: Path) -> None:
    text = page.read_text("utf-8")
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert [part for part in SECTIONS if not any(part in heading for heading in headings)] == []
    assert "$$" in text or "| formula |" in text
    assert "```pycon" in text
    assert f"({page.name}" in (METHODS / "index.md").read_text("utf-8")
