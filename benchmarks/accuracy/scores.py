"""The accuracy table as it was recorded: means, goals, and the page ``ACCURACY.md``."""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.accuracy import tables
from benchmarks.harness.report import HERE

BEST = "discern best"
DEFAULT = "discern default"
BUDGET = 60.0
MOSTLY = 0.8
"""A method is in the means if it has figures of this share of the sets; they are over sets that all of these have."""
INTRODUCTION = """\
# Accuracy

Written by `python -m benchmarks --accuracy`. Every method and peer is trained on the same rows, in one thread, and
tested on the same: the official test rows, or 30% drawn with seed 0; on tables of less than 2,000 rows, the figures are
means over five such splits. CPU seconds are of training from raw text,
without imports and, for fastText and Vowpal Wabbit, without writing their own formats. "{best}" is
`Classifier(model="best")`: on texts with a budget of 60 s, taken from the jobs `best/…`, and its calibration is not
measured there; on tables with 10 s. Scenarios are generated, and the best accuracy there can be is known.
Peers as their documentation suggests: scikit-learn with default settings on counts or tf–idf, with pairs of words
("pairs") or characters; fastText by default and with the settings of its tutorial ("tuned": 25 epochs, rate 0.5,
pairs); Vowpal Wabbit with five passes and pairs; river and NLTK only on small sets."""

SEVERAL = ", several labels"
"""How methods end that learn several labels a row."""
BARS = {
    "reuters_modapte": (
        (f"discern default{SEVERAL}", "micro F1", 0.82),
        (f"discern linear SVM{SEVERAL}", "micro F1", 0.875),
        (f"discern linear SVM{SEVERAL}", "macro F1", 0.5),
        (f"discern best{SEVERAL}", "micro F1", 0.885),
    )
}
"""Figures that are wanted of our methods."""


@dataclass(frozen=True)
class Point:
    """A method in the picture: its mean training time and accuracy."""

    method: str
    peer: str
    seconds: float
    accuracy: float


@dataclass(frozen=True)
class Scores:
    """The cells of the table, and the results of the jobs about the best of our models."""

    machine: dict[str, Any]
    sets: dict[str, dict[str, Any]]
    cells: list[dict[str, Any]]

    @classmethod
    def recorded(cls) -> "Scores":
        recorded = json.loads((HERE / "accuracy.json").read_text(encoding="utf-8"))
        rows = json.loads((HERE / "results.json").read_text(encoding="utf-8"))["rows"]
        best = {cell["set"]: cell for row in rows if (cell := _best_cell(row)) and cell["set"] in recorded["sets"]}
        return cls(recorded["machine"], recorded["sets"], [*best.values(), *recorded["cells"]])

    def of(self, method: str, name: str) -> dict[str, Any] | None:
        found = (cell for cell in self.cells if cell["method"] == method and cell["set"] == name)
        return next((cell for cell in found if "accuracy" in cell), None)

    @property
    def methods(self) -> list[str]:
        return list(dict.fromkeys(cell["method"] for cell in self.cells))

    def texts(self, texts: bool = True) -> list[str]:
        return [name for name, about in self.sets.items() if about["texts"] == texts]

    def peer(self, method: str) -> str:
        return next(cell["peer"] for cell in self.cells if cell["method"] == method)

    # --------------------------------------------------------------------------------------------------------- means

    def compared(self) -> tuple[list[str], list[str]]:
        """Return the methods that have nearly all sets of texts, and the sets that all of these have."""
        names = self.texts()
        having = {method: [name for name in names if self.of(method, name)] for method in self.methods}
        methods = [method for method in self.methods if len(having[method]) >= MOSTLY * len(names)]
        return methods, [name for name in names if all(name in having[method] for method in methods)]

    def mean(self, method: str, figure: str, names: list[str]) -> float | None:
        values = [cell.get(figure) if (cell := self.of(method, name)) else None for name in names]
        known = [value for value in values if value is not None]
        return sum(known) / len(known) if names and len(known) == len(names) else None

    def points(self) -> list[Point]:
        """Return the methods that are compared, with the geometric mean of their training times."""
        methods, names = self.compared()
        return [
            Point(
                method,
                self.peer(method),
                math.exp(sum(math.log(max(self.of(method, name)["seconds"], 1e-3)) for name in names) / len(names)),
                self.mean(method, "accuracy", names) or 0.0,
            )
            for method in methods
        ]

    # --------------------------------------------------------------------------------------------------------- goals

    def goals(self) -> list[tuple[str, str, bool]]:
        """Return what is wanted, what came out, and whether it is reached."""
        several = [*self._leads_of_sets(DEFAULT, True), *self._leads_of_sets("discern linear SVM", False)]
        return [
            *self._leads(BEST, None),
            *self._leads(DEFAULT, True),
            *several,
            *self._bars_of_sets(),
            *self._calibrated(),
            *self._on_tables(),
        ]

    def _leads_of_sets(self, method: str, bayes: bool) -> list[tuple[str, str, bool]]:
        """Return whether a method is at or above every peer, or naive Bayes of a peer, with several labels a row."""
        found = []
        cells = [cell for cell in self.cells if "micro F1" in cell]
        for name in dict.fromkeys(cell["set"] for cell in cells):
            own = [cell for cell in cells if cell["set"] == name and cell["method"] == f"{method}{SEVERAL}"]
            rivals = [cell for cell in cells if cell["set"] == name and cell["peer"] and (cell["bayes"] or not bayes)]
            for figure in ("micro F1", "macro F1") if own and rivals else ():
                rival = max(rivals, key=lambda cell: cell[figure])
                kind = "naive Bayes of a peer" if bayes else "peer"
                shown = f"{100 * own[0][figure]:.2f} against {100 * rival[figure]:.2f} ({rival['method']})"
                wanted = f"{name}: {figure} of {method} at or above every {kind}"
                found.append((wanted, shown, own[0][figure] >= rival[figure]))
        return found

    def _bars_of_sets(self) -> list[tuple[str, str, bool]]:
        """Return whether our methods reach the figures that are wanted with several labels a row."""
        found = []
        for name, bars in BARS.items():
            for method, figure, least in bars:
                cell = next((one for one in self.cells if (one["set"], one["method"]) == (name, method)), {})
                if figure in cell:
                    wanted = f"{name}: {figure} of {method.removesuffix(SEVERAL)} at least {100 * least:g}"
                    found.append((wanted, f"{100 * cell[figure]:.2f}", cell[figure] >= least))
        return found

    def _leads(self, method: str, bayes: bool | None) -> list[tuple[str, str, bool]]:
        found = []
        for name in self.texts():
            rivals = [
                cell
                for cell in self.cells
                if cell["set"] == name and cell["peer"] and "accuracy" in cell and (not bayes or cell["bayes"])
            ]
            own = self.of(method, name)
            if own and rivals:
                rival = max(rivals, key=lambda cell: cell["accuracy"])
                kind = "naive Bayes of a peer" if bayes else "peer"
                shown = f"{100 * own['accuracy']:.2f} against {100 * rival['accuracy']:.2f} ({rival['method']})"
                wanted = f"{name}: {method} at or above every {kind}"
                found.append((wanted, shown, own["accuracy"] >= rival["accuracy"]))
        return found

    def _calibrated(self) -> list[tuple[str, str, bool]]:
        methods, names = self.compared()
        errors = {method: self.mean(method, "calibration error", names) for method in methods}
        known = {method: error for method, error in errors.items() if error is not None}
        peers = [method for method in known if self.peer(method)]
        bayes = [method for method in peers if any(cell["bayes"] for cell in self.cells if cell["method"] == method)]
        own = min((method for method in known if not self.peer(method)), key=known.__getitem__)
        compared = (
            (DEFAULT, bayes, f"mean calibration error of {DEFAULT} below every naive Bayes of a peer"),
            (DEFAULT, peers, f"mean calibration error of {DEFAULT} below every peer's"),
            (own, peers, "the least mean calibration error of all is ours"),
        )
        found = []
        for method, rivals, wanted in compared:
            least = min(rivals, key=known.__getitem__)
            shown = f"{method} {known[method]:.4f} against {known[least]:.4f} ({least})"
            found.append((wanted, shown, known[method] < known[least]))
        return found

    def _on_tables(self) -> list[tuple[str, str, bool]]:
        """Return the goals over the tables, as far as all of them were measured."""
        names, found = self.texts(False), list[tuple[str, str, bool]]()
        for name, bar in tables.BARS.items():
            if own := self.of(BEST, name):
                shown = f"{_percent(own['accuracy'])}"
                found.append((f"{name}: {BEST} at least {_percent(bar)}", shown, own["accuracy"] >= bar))
        means = {method: self.mean(method, "accuracy", names) for method in self.methods}
        peers = {method: mean for method, mean in means.items() if mean is not None and self.peer(method)}
        best = means.get(BEST)
        if best is not None and peers:
            leader = max(peers, key=peers.__getitem__)
            shown = f"{_percent(best)} against {_percent(peers[leader])} ({leader})"
            found.append((f"tables: mean accuracy of {BEST} at or above every peer's", shown, best >= peers[leader]))
        losses = [self.mean(method, "log loss", names) for method in (BEST, "LightGBM")]
        if losses[0] is not None and losses[1] is not None:
            shown = f"{losses[0]:.3f} against {losses[1]:.3f}"
            found.append((f"tables: mean log loss of {BEST} at or below LightGBM's", shown, losses[0] <= losses[1]))
        for method in (method for method in self.methods if not self.peer(method)):
            error = self.mean(method, "calibration error", names)
            most = tables.MOST_MISCALIBRATED_QDA if method == "discern QDA" else tables.MOST_MISCALIBRATED
            if error is not None:
                wanted = f"tables: mean calibration error of {method} at most {most}"
                found.append((wanted, f"{error:.3f}", error <= most))
        return found

    def tables_summary(self) -> str:
        """Return the means over all tables, the most accurate first."""
        names = self.texts(False)
        known = {method: self.mean(method, "accuracy", names) for method in self.methods}
        means = {method: mean for method, mean in known.items() if mean is not None}
        lines = [
            "| method | mean accuracy | mean log loss | mean calibration error | CPU seconds, all tables |",
            "| --- | --- | --- | --- | --- |",
        ]
        for method in sorted(means, key=lambda method: -means[method]):
            loss, error = (self.mean(method, figure, names) for figure in ("log loss", "calibration error"))
            seconds = _seconds((self.mean(method, "seconds", names) or 0) * len(names))
            shown = f"**{method}**" if not self.peer(method) else f"{method}{self._by(method)}"
            figures = f"{_percent(means[method])} | {_error(loss)} | {_error(error)} | {seconds}"
            lines.append(f"| {shown} | {figures} |")
        return "\n".join([*lines, "", f"Means over {len(names)} tables: {', '.join(names)}."])

    # --------------------------------------------------------------------------------------------------------- pages

    def summary(self) -> str:
        """Return the means of the methods that are compared, the most accurate first."""
        methods, names = self.compared()
        methods.sort(key=lambda method: -(self.mean(method, "accuracy", names) or 0))
        lines = [
            "| method | mean accuracy | mean calibration error | CPU seconds, all sets |",
            "| --- | --- | --- | --- |",
        ]
        for method in methods:
            accuracy, error = (self.mean(method, figure, names) for figure in ("accuracy", "calibration error"))
            seconds = (self.mean(method, "seconds", names) or 0) * len(names)
            shown = f"**{method}**" if not self.peer(method) else f"{method}{self._by(method)}"
            lines.append(f"| {shown} | {_percent(accuracy)} | {_error(error)} | {_budgeted(method, seconds)} |")
        return "\n".join([*lines, "", f"Means over {len(names)} sets of texts: {', '.join(names)}."])

    def _by(self, method: str) -> str:
        return "" if self.peer(method) in method else f" ({self.peer(method)})"

    def page(self) -> str:
        parts = [INTRODUCTION.format(best=BEST), "", "## Goals", "", *self._goal_lines()]
        shown: dict[str, tuple[str, Callable[[float | None], str]]] = {
            "Accuracy, in percent": ("accuracy", _percent),
            "Training, in CPU seconds": ("seconds", _seconds),
            "Expected calibration error, 15 bins": ("calibration error", _error),
        }
        for title, (figure, write) in shown.items():
            parts += ["", f"## {title}", "", *self._table(self.texts(), figure, write)]
            parts += ["", *self._table(self.texts(False), figure, write)]
        parts += ["", "## Log loss on tables", "", *self._table(self.texts(False), "log loss", _error)]
        parts += self._several_labels()
        return "\n".join([*parts, "", *self._left_out(), *self._machines(), ""])

    def _machines(self) -> list[str]:
        """Return where the sets were measured, most of them first."""
        others: dict[str, list[str]] = {}
        for name, about in self.sets.items():
            if "machine" in about:
                others.setdefault(_facts(about["machine"]), []).append(name)
        lines = [f"Machine: {_facts(self.machine)}."]
        for facts, names in others.items():
            lines += [
                "",
                f"Measured later, with other versions or on another machine: {', '.join(names)}. Machine: {facts}.",
            ]
        return lines

    def _several_labels(self) -> list[str]:
        """Return the sets with several labels a row, a table each."""
        parts: list[str] = []
        for name, about in self.sets.items():
            if about.get("several"):
                size = f"{about['train']:,} training rows, {about['test']:,} test rows, {about['labels']} labels"
                head = [
                    "| method | micro F1 | macro F1 | exact match | CPU seconds |",
                    "| --- | --- | --- | --- | --- |",
                ]
                parts += ["", f"## Several labels a row: {name}", "", size + ", in percent.", "", *head]
                parts += [self._line_of_sets(cell) for cell in self.cells if cell["set"] == name and "micro F1" in cell]
        return parts

    def _line_of_sets(self, cell: dict[str, Any]) -> str:
        shares = " | ".join(_percent(cell[figure]) for figure in ("micro F1", "macro F1", "exact match"))
        title = cell["method"].removesuffix(SEVERAL)
        by = f" ({cell['peer']})" if cell["peer"] else ""
        return f"| {title}{by} | {shares} | {_seconds(cell['seconds'])} |"

    def _goal_lines(self) -> list[str]:
        lines = [f"| {wanted} | {shown} | {'pass' if reached else 'miss'} |" for wanted, shown, reached in self.goals()]
        return ["| goal | measured | result |", "| --- | --- | --- |", *lines]

    def _table(self, names: list[str], figure: str, write: Callable[[float | None], str]) -> list[str]:
        methods = [method for method in self.methods if any(self.of(method, name) for name in names)]
        head = ["method", *names]
        lines = [f"| {' | '.join(head)} |", "|" + " --- |" * len(head)]
        for method in methods:
            cells = [cell.get(figure) if (cell := self.of(method, name)) else None for name in names]
            lines.append(
                f"| {method}{self._by(method) if self.peer(method) else ''} | {' | '.join(map(write, cells))} |"
            )
        return lines

    def _left_out(self) -> list[str]:
        cells = [f"{cell['method']} on {cell['set']} ({cell['left out']})" for cell in self.cells if "left out" in cell]
        return [f"Left out: {', '.join(cells)}.", ""] if cells else []


def _best_cell(row: dict[str, Any]) -> dict[str, Any] | None:
    group, _, name = row["job"].partition("/")
    if group != "best" or "ours" not in row:
        return None
    about = {"set": name, "method": BEST, "peer": "", "bayes": False}
    return {**about, "accuracy": 1 - row["ours"]["median"], "seconds": BUDGET, "calibration error": None}


def _percent(value: float | None) -> str:
    return "—" if value is None else f"{100 * value:.1f}"


def _error(value: float | None) -> str:
    return "—" if value is None else f"{value:.3f}"


def _seconds(value: float | None) -> str:
    return "—" if value is None else f"{value:.2f}" if value < 9.995 else f"{value:.0f}"


def _budgeted(method: str, seconds: float) -> str:
    return f"≤ {seconds:.0f}" if method == BEST else _seconds(seconds)


def _facts(machine: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in machine.items() if value is not None)
