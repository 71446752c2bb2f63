"""The pages of the public names, written from the package itself so that none can be forgotten."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import discern

CHAPTERS = {
    "Raw rows in, decisions out": ["classifier", "models.evidence", "analysis.crossvalidation", "analysis.comparison",
                                   "analysis.drift", "models.file", "data.strings"],
    "Naive Bayes": ["estimators.naive_bayes.counts", "estimators.naive_bayes.gaussian",
                    "estimators.naive_bayes.categorical", "estimators.naive_bayes.columns",
                    "learners.bayes", "estimators.text.language"],
    "Known densities": ["learners.densities"],
    "Gaussian discriminants and least squares": ["estimators.linear.discriminants", "learners.discriminants",
                                                 "estimators.linear.ridge", "estimators.linear.ridge_cv"],
    "Logistic regression": ["estimators.linear.logistic", "estimators.linear.bayesian", "learners.logistic.separation"],
    "Linear and kernel classifiers": ["estimators.linear.centroids", "estimators.linear.perceptron",
                                      "estimators.linear.descent",
                                      "estimators.linear.winnow", "estimators.linear.margins", "estimators.kernel",
                                      "learners.margins"],
    "Neighbors": ["estimators.neighbors"],
    "Texts to numbers": ["estimators.text.vectorizers", "estimators.text.tfidf", "data.text",
                         "data.embedding.embedder", "data.embedding.static",
                         "statistics.weighting", "statistics.matrix"],
    "Features": ["estimators.transformers.select", "estimators.transformers.basis",
                 "estimators.transformers.discretize"],
    "Decisions and probabilities": ["evaluation.decisions", "evaluation.several.thresholds",
                                    "evaluation.several.choosing", "estimators.decide", "estimators.calibrate"],
    "Evaluation": ["evaluation.evaluation", "evaluation.several.evaluation", "evaluation.significance"],
}  # fmt: skip
REST = "More"
MODULES = {
    "analysis.plots": "Pictures, in scikit-learn's Display convention; they need the extra `plot`.",
    "learners.simulate": "Problems of which the densities are known, and so the best that any classifier can do.",
    "estimators.compat": "scikit-learn's own names served by discern, where results are equal.",
}
"""Modules whose public names are not all in the package itself."""
REEXPORTS = "discern.estimators.reexports"
"""The module of the names that are scikit-learn's own; scikit-learn documents them."""
BESIDE = {
    "Arguments and results of methods": [
        "data.source.Reading",
        "data.readers.batches",
        "statistics.counts.Counts",
        "statistics.moments.Moments",
        "statistics.sums.Sums",
        "statistics.scatter.Scatter",
        "models.evidence.TermEvidence",
        "models.evidence.NearRow",
        "evaluation.predictions.CalibrationBins",
        "evaluation.several.sums.LabelSums",
        "evaluation.several.sums.RowSums",
        "evaluation.several.rows.MultilabelRows",
        "evaluation.curves.Ranking",
        "evaluation.curves.Curve",
        "evaluation.decisions.ChosenThreshold",
        "evaluation.significance.Interval",
        "evaluation.significance.Verdict",
        "analysis.comparison.Compared",
        "analysis.comparison.Comparison",
        "analysis.comparison.SimulatedComparison",
        "analysis.comparison.compare_simulated",
        "learners.logistic.inference.Summary",
        "learners.logistic.sums.Statistics",
        "learners.logistic.sums.statistics",
        "statistics.selection.Ranking",
        "statistics.selection.rank_terms",
        "statistics.selection.best_terms",
        "data.text.stop_words",
        "data.message.columns_of",
        "data.message.with_headers",
        "data.datasets.fetch",
    ],
}
"""Names that are no part of the package's front, but come to hand."""

INNER = {"Classifier.read_text_from"}
"""Methods that the package itself calls, and nobody else should."""

TEMPLATE = """\
# API reference

Every public name, each with an example that runs. `import discern` loads none of them: a name is imported when it is
first used.
"""


def chapters() -> dict[str, list[str]]:
    """Return the public names by chapter; what belongs to none comes last."""
    places = {f"discern.{home}": chapter for chapter, homes in CHAPTERS.items() for home in homes}
    found: dict[str, list[str]] = {chapter: [] for chapter in (*CHAPTERS, REST)}
    for name, home in discern._HOMES.items():
        if home != REEXPORTS:
            found[places.get(home, REST)].append(f"discern.{name}")
    return {chapter: sorted(names) for chapter, names in found.items() if names}


def members(module: str) -> list[str]:
    """Return the public classes and functions that a module defines and the package does not show."""
    home = importlib.import_module(f"discern.{module}")
    return [
        f"discern.{module}.{name}"
        for name, value in sorted(vars(home).items())
        if not name.startswith("_")
        and (inspect.isclass(value) or inspect.isfunction(value))
        and f"{value.__module__}.".startswith(f"{home.__name__}.")
        and discern._HOMES.get(name) != home.__name__
    ]


def page() -> str:
    """Return the page that lists everything."""
    parts = [TEMPLATE]
    for chapter, names in chapters().items():
        parts.append(section(chapter, "", names))
    for chapter, names in BESIDE.items():
        parts.append(section(chapter, "", [f"discern.{name}" for name in names]))
    for module, summary in MODULES.items():
        parts.append(section(f"discern.{module}", summary, members(module)))
    return "\n".join([*parts, reexports()])


def reexports() -> str:
    """Return the section of the names that are scikit-learn's own."""
    home = importlib.import_module(REEXPORTS)
    rows = [f"| `{name}` | {origin(name, getattr(home, name))} |" for name in sorted(home.__all__)]
    opening = (
        "These names of `discern` are scikit-learn's own classes and functions, so that a script needs only one import."
    )
    return "\n".join(["## Names from scikit-learn", "", opening, "", "| name | is |", "| --- | --- |", *rows, ""])


def origin(name: str, value: Any) -> str:
    """Return where scikit-learn documents one of its names."""
    module = getattr(value, "__module__", "sklearn.feature_extraction.text")
    public = ".".join(part for part in module.split(".") if not part.startswith("_"))
    place = f"{public}.{name}"
    if name.isupper():
        return f"`{place}`"
    return f"[`{place}`](https://scikit-learn.org/stable/modules/generated/{place}.html)"


def section(title: str, summary: str, names: list[str]) -> str:
    listed = "\n".join(names)
    return (
        f"## {title}\n\n{summary}\n\n```{{eval-rst}}\n.. autosummary::\n   :toctree: .\n   :nosignatures:\n\n"
        + "".join(f"   {name}\n" for name in listed.splitlines())
        + "```\n"
    )


def write(folder: Path) -> None:
    """Write the list where Sphinx looks for it and makes a page of each name; take out pages of names that are gone."""
    folder.mkdir(exist_ok=True)
    place, text = folder / "index.md", page()
    for old in folder.glob("*.rst"):
        if f"   {old.stem}\n" not in text:
            old.unlink()
    if not place.exists() or place.read_text("utf-8") != text:
        place.write_text(text, "utf-8")


def skip(app: Any, what: str, name: str, item: Any, skipped: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn adds to every estimator."""
    home = getattr(inspect.unwrap(item) if callable(item) else item, "__module__", None) or ""
    if getattr(item, "__qualname__", "") in INNER:
        return True
    if home.startswith("sklearn.") or name in ("get_params", "set_params") or name.endswith("_request"):
        return True
    return None


def resolve(app: Any, env: Any, node: Any, contnode: Any) -> Any:
    """Lead from where a name is defined, as docstrings may say it, to where it is public."""
    for target in candidates(node.get("reftarget", "")):
        found = env.get_domain("py").objects.get(target)
        if found is not None:
            from sphinx.util.nodes import make_refnode

            return make_refnode(app.builder, node["refdoc"], found.docname, found.node_id, contnode, target)
    return None


def candidates(target: str) -> Iterator[str]:
    words = target.split(".")
    for start in range(len(words)):
        if words[start] in discern._HOMES:
            yield ".".join(["discern", *words[start:]])
