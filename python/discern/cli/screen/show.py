"""Results for people: tables, colored text and bars; plain text where there is no terminal."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from discern.analysis.highlight import word_weights
from discern.cli.output import in_bytes, percent, visible
from discern.cli.screen.tables import INDENT, NO_BREAK, FittedTable, console, plain_table, show
from discern.data.roles import Feature
from discern.models.evidence import CALIBRATION_OF_PRIOR, MOST_FLIPPED, NOTHING_KNOWN

if TYPE_CHECKING:
    from discern.classifier import Classifier
    from discern.evaluation.evaluation import Evaluation
    from discern.evaluation.novelty import NoveltyEvaluation
    from discern.models.evidence import Evidence
    from discern.models.strongest import StrongTerm

BAR, NARROW_BAR, ROOMY = 16, 10, 100
"""The longest bar, that of a narrow terminal, and the columns from which a terminal is not narrow."""
NO_EVIDENCE = "No evidence: nothing in this row counts for or against a label, and the labels have equal priors."
CLEAR, STRONG = 0.5, 1.5
"""The nats from which a word is colored, and colored strongly."""


# ------------------------------------------------------------------------------------------- evaluations


def show_evaluation(screen: Console, evaluation: Evaluation) -> None:
    """Print accuracy, log loss, the confusion matrix and a table of the labels."""
    summary = Table.grid(padding=(0, 2))
    for name, value, note in evaluation.summary():
        summary.add_row(name, Text(value, "bold"), visible(note))
    matrix = confusion_table(evaluation)
    screen.print()
    if matrix.needs(screen) + INDENT <= screen.width:
        show(screen, summary, matrix, label_table(evaluation))
        return
    mistakes = mistakes_table(evaluation)
    listed = [Text("the most frequent mistakes", "dim"), mistakes] if mistakes.row_count else []
    show(screen, summary, *listed, label_table(evaluation))


def show_novelty(screen: Console, found: NoveltyEvaluation) -> None:
    """Print how well novelty finds rows of unknown labels."""
    table = Table.grid(padding=(0, 2))
    table.add_row("AUROC", Text(_share(found.auroc, 4), "bold"), f"{found.unknown:,} unknown of {_rows_of(found)} rows")
    table.add_row("found", Text(_share(found.found), "bold"), "of the rows whose label the model does not know")
    table.add_row("false alarms", Text(_share(found.false_alarms), "bold"), f"of the others; allowed {found.level:.2%}")
    screen.print()
    show(screen, table)


def _rows_of(found: NoveltyEvaluation) -> str:
    return f"{found.known + found.unknown:,}"


def _share(value: float, digits: int = 0) -> str:
    return "no such rows" if value != value else f"{value:.{digits}f}" if digits else f"{value:.2%}"


def confusion_table(evaluation: Evaluation) -> FittedTable:
    """Return the confusion matrix: predicted in rows, true in columns."""
    table = plain_table("predicted ↓  true →", *map(visible, evaluation.labels), cut_heads=True)
    for row, label in enumerate(evaluation.labels):
        cells = [_count(int(rows), row == column) for column, rows in enumerate(evaluation.confusion[row])]
        table.add_row(visible(label), *cells)
    return table


def _count(rows: int, correct: bool) -> Text:
    return Text(f"{rows:,}", "dim" if not rows else "bold green" if correct else "bold red")


def mistakes_table(evaluation: Evaluation, most: int = 20) -> FittedTable:
    """Return the most frequent mistakes, where the confusion matrix is too wide to show."""
    labels, confusion = evaluation.labels, evaluation.confusion
    mistakes = [
        (int(confusion[row, column]), labels[row], labels[column])
        for row, column in zip(*confusion.nonzero(), strict=True)
        if row != column
    ]
    table = plain_table("predicted", "true", "rows", left=2)
    for rows, predicted, true in sorted(mistakes, key=lambda mistake: (-mistake[0], *mistake[1:]))[:most]:
        table.add_row(visible(predicted), visible(true), _count(rows, False))
    return table


def label_table(evaluation: Evaluation) -> FittedTable:
    """Return precision, recall, F1 and the number of rows of each label; F1 is dropped first, then precision."""
    table = plain_table("label", "precision", "recall", "F1", "rows", drop=("F1", "precision"))
    for label, row in evaluation.per_label().items():
        shares = [f"{row[name]:.2%}" for name in ("precision", "recall", "f1")]
        table.add_row(visible(label), *shares, f"{row['rows']:,}")
    return table


# ---------------------------------------------------------------------------------------------- evidence


def show_evidence(
    screen: Console, classifier: Classifier, message: str, evidence: Evidence, top: int, legend: bool = True
) -> None:
    """Print a message with its words colored by their evidence, and a table of the strongest."""
    verdict = Text.assemble(
        (visible(evidence.label), "bold green"), f"  {percent(evidence.probability)}", (_runner_up(evidence), "dim")
    )
    screen.print()
    shown = [colored_message(classifier, message, evidence, marked=not has_color(screen))] if message else []
    show(screen, verdict, *([Text(NOTHING_KNOWN, "bold")] if evidence.is_unknown else []), *shown)
    table = evidence_table(evidence, top, BAR if screen.width >= ROOMY else NARROW_BAR)
    show(screen, table if table.row_count else Text(NO_EVIDENCE, "dim"))
    if legend and evidence.label != evidence.against:
        show(screen, *_what_would_flip(evidence), *_near(evidence), _legend(screen, evidence))


def has_color(screen: Console) -> bool:
    """Return whether colors are shown: on a terminal that has them, unless NO_COLOR is set."""
    return screen.is_terminal and not screen.no_color and screen.color_system is not None


def _runner_up(evidence: Evidence) -> str:
    if evidence.label == evidence.against:
        return "  the only label"
    return f"  against {visible(evidence.against)}: log odds {evidence.log_odds:+.2f} nats"


def _what_would_flip(evidence: Evidence) -> list[Text]:
    """Return without which words or values the runner-up would win."""
    if not evidence.terms or evidence.log_odds < 0:  # of several labels, one may be explained that is not predicted
        return []
    if evidence.flip is None:
        against = visible(evidence.against)
        return [Text(f"removing up to {MOST_FLIPPED} words or values would not make it {against}", "dim")]
    listed = ", ".join(f"“{visible(term.shown)}”" for term in evidence.flip)
    return [Text(f"without {listed} it would be {visible(evidence.against)}", "dim")]


def _near(evidence: Evidence) -> list[Text]:
    """Return the rows learned that are most similar, where a model tells them."""
    listed = ", ".join(f"row {one.row:,} {visible(one.label)} ({one.similarity:.2f})" for one in evidence.near)
    return [Text(f"nearest support rows, with their similarity: {listed}", "dim")] if listed else []


def _legend(screen: Console, evidence: Evidence) -> Text:
    label, against = visible(evidence.label), visible(evidence.against)
    if not has_color(screen):
        return Text(f"+ is evidence for {label}, - for {against}. One nat multiplies the odds by 2.72.")
    return Text.assemble(
        ("green", "bold green"),
        f" and + are evidence for {label}, ",
        ("red", "bold red"),
        f" and - for {against}. One nat multiplies the odds by 2.72.",
        style="dim",
    )


def colored_message(classifier: Classifier, message: str, evidence: Evidence, marked: bool = False) -> Text:
    """Return a message with its words colored, or ``marked`` with numbers where there are no colors."""
    known = {term.term: term.weight / term.count for term in evidence.terms}
    shown, end = Text(), 0
    safe = visible(message)
    for start, stop, weight in word_weights(classifier.resolved.text, message, known):
        shown.append(safe[end:start], "dim")
        shown.append(safe[start:stop], _style(weight))
        if marked and abs(weight) >= CLEAR:
            shown.append(f"({weight:+.1f})")
        end = stop
    return shown.append(safe[end:], "dim")


def _style(weight: float) -> str:
    color = "green" if weight > 0 else "red"
    if abs(weight) >= STRONG:
        return f"bold {color}"
    return color if abs(weight) >= CLEAR else "dim"


def evidence_table(evidence: Evidence, top: int, bar: int = BAR) -> FittedTable:
    """Return the terms of the sum that decided, the strongest first; the bars are dropped first."""
    shown = evidence.terms[:top]
    rows = [("prior", "", evidence.prior)] if evidence.prior else []
    if evidence.prior_calibration:
        rows.append((CALIBRATION_OF_PRIOR, "", evidence.prior_calibration))
    if evidence.absent:
        rows.append(("absent words", "", evidence.absent))
    several = len({term.column for term in evidence.terms}) > 1
    for term in shown:
        place = f"{visible(term.column)}: " if several else ""
        rows.append((place + visible(term.described), f"×{term.count}" if term.count > 1 else "", term.weight))
    table = _bars(rows, bar)
    rest = evidence.terms[len(shown) :]
    if rest:
        table.add_row(Text(f"{len(rest)} more", "dim"), "", Text(f"{sum(term.weight for term in rest):+.2f}", "dim"))
    if evidence.unknown:
        table.add_row(Text(f"{evidence.unknown} unknown, skipped", "dim"))
    return table


def _bars(rows: Sequence[tuple[str, str, float]], bar: int) -> FittedTable:
    longest = max((abs(weight) for _, _, weight in rows), default=1.0) or 1.0
    table = plain_table("term", "", "nats", "", "")
    table.columns[-1].justify = "left"
    table.drop = (len(table.columns) - 1, len(table.columns) - 2)
    for term, count, weight in rows:
        drawn = Text("█" * round(bar * abs(weight) / longest), "green" if weight > 0 else "red")
        table.add_row(term, Text(count, "dim"), f"{weight:+.2f}", *(("", drawn) if weight > 0 else (drawn, "")))
    return table


# ------------------------------------------------------------------------------------------ which is best


def leaderboard_table(results: Sequence[Mapping[str, Any]]) -> FittedTable:
    """Return the models that were compared, the best first; status, seconds and rows are dropped, in this order."""
    heads = ("model", "terms", "rows", "accuracy", "log loss", "seconds", "status")
    table = plain_table(*heads, left=2, names=("status",), drop=("status", "seconds", "rows"))
    for one in results:
        figures = (f"{one['rows']:,}", f"{one['accuracy']:.2%}", f"{one['log_loss']:.4f}", f"{one['seconds']:.1f}")
        table.add_row(one["model"], Text(one["terms"], "dim"), *figures, Text(one["status"], "dim"))
    return table


@contextmanager
def leaderboard_shown(quiet: bool) -> Iterator[Callable[[Sequence[Mapping[str, Any]]], None] | None]:
    """Return a function that shows a changing leaderboard on stderr, if that is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.live import Live

    with Live(console=console(stderr=True), transient=True) as live:
        yield lambda results: live.update(leaderboard_table(results))


def show_leaderboard(results: Sequence[Mapping[str, Any]]) -> None:
    """Print the models that were compared, on stderr."""
    show(console(stderr=True), leaderboard_table(results))


# ----------------------------------------------------------------------------------------- what a model is


def show_info(
    screen: Console, about: Mapping[str, Any], strongest: Mapping[str, list[StrongTerm]], labels: int
) -> None:
    """Print the facts about a model."""
    table = Table.grid(padding=(0, 2))
    for name, value in _facts(about):
        table.add_row(Text(name, "dim"), Text(visible(value)))
    screen.print()
    show(screen, table, _labels_table(about, strongest))
    if labels > len(strongest):
        show(screen, Text(f"and {labels - len(strongest):,} more labels", "dim"))


def _facts(about: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "file", f"{about['file']} ({in_bytes(about['bytes'])})"
    yield "checksum", about["checksum"]
    if about["pipeline"]:
        yield "model", about["model"] + ("" if about["can_learn"] else ": cannot learn, forget or merge")
        for other in about["pipeline"].get("others", ()):
            yield "", f"and {other['model']}, whose scores are added times {other['factor']:.3g}"
    else:
        yield (
            "model",
            f"{about['model']}, {about['naive_bayes']['event']}, {_smoothing(about['naive_bayes']['smoothing'])}",
        )
    yield from _kernel(about)
    if about["leaderboard"]:
        best = about["leaderboard"][0]
        yield "", f"the best of {len(about['leaderboard'])}: held-out accuracy {best['accuracy']:.2%}"
    if about["chosen"]:
        loss, accuracy = about["chosen"]["log_loss"], about["chosen"]["accuracy"]
        yield "", f"chosen by validation: held-out accuracy {accuracy:.2%}, log loss {loss:.4f}"
    yield from _calibration(about["calibration"], about["calibrated_groups"])
    yield "label", repr(about["label"])
    yield "columns", ", ".join(Feature.from_json(one).described for one in about["features"])
    if about["added_features"]:
        yield "", f"added because validation favors it: {', '.join(about['added_features'])}"
    yield "terms", f"{about['terms']:,} ({_text_settings(about)})"
    yield "parameters", f"{about['parameters']:,}"
    yield "rows", "not kept: slim, cannot learn or forget" if about["slim"] else f"{about['rows']:,}"


def _kernel(about: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    kernel = (about["pipeline"] or {}).get("kernel")
    if kernel is None:
        return
    gamma = "" if kernel["name"] == "linear" else f", gamma {kernel['gamma']:.3g}"
    scaled = ", columns scaled by how much they matter" if about["pipeline"].get("is_scaled") else ""
    yield "kernel", f"{kernel['name']}{gamma}, cost {about['pipeline']['cost']:.3g}{scaled}"
    if about.get("landmarks"):
        yield (
            "",
            f"{about['support_rows']:,} landmark rows stand for all: least squares, in time in proportion to the rows",
        )
    elif "support_rows" in about:
        yield "", f"{about['support_rows']:,} support rows"


def _calibration(calibration: Mapping[str, Any] | None, groups: Sequence[str]) -> Iterator[tuple[str, str]]:
    if calibration is None:
        return
    if calibration["kind"] != "evidence":
        yield "calibration", f"scores divided by {calibration['temperature']:.3g}"
        return
    scales = (f"{one['temperature']:.3g} · n^{one['power']:.2f}" for one in calibration["scales"])
    named = (f"{name} by {scale}" for name, scale in zip(groups, scales, strict=True))
    yield "calibration", f"evidence of n known terms is divided: {', '.join(named)}"


def show_data(
    about: Mapping[str, Any], columns: Sequence[Mapping[str, Any]], labels: Mapping[str, int], most: int
) -> None:
    """Print the facts about a data file."""
    facts, screen = Table.grid(padding=(0, 2)), console()
    size = "" if about["bytes"] is None else f" ({in_bytes(about['bytes'])})"
    facts.add_row(Text("file", "dim"), Text(visible(about["file"]) + size))
    facts.add_row(Text("format", "dim"), Text(about["format"]))
    bad = f", {about['bad_rows']:,} bad ones" if about["bad_rows"] else ""
    facts.add_row(Text("rows", "dim"), Text(f"{about['rows']:,}{bad}"))
    table = plain_table("column", "role", "missing", "example", wraps=("role",), names=("example",), drop=("example",))
    for column in columns:
        example = visible(" ".join(column["example"].split()))
        table.add_row(visible(column["name"]), column["role"], f"{column['missing']:,}", Text(example, "dim"))
    screen.print()
    show(screen, facts, table)
    if labels:
        counts = plain_table("label", "rows", "share")
        for label, rows in list(labels.items())[:most]:
            counts.add_row(visible(label), f"{rows:,}", f"{rows / sum(labels.values()):.2%}")
        show(screen, counts)
        if len(labels) > most:
            show(screen, Text(f"and {len(labels) - most:,} more labels", "dim"))


def _smoothing(smoothing: Mapping[str, Any]) -> str:
    values = ", ".join(f"{name} {value}" for name, value in smoothing.items() if name != "kind")
    return f"smoothing {smoothing['kind']} ({values})"


def _text_settings(about: Mapping[str, Any]) -> str:
    settings = about["text_settings"]
    shortest, longest = settings["ngrams"]
    layout = about["pipeline"]["layout"] if about["pipeline"] else {"text": [], "max_terms": None}
    parts = [
        f"analyzer {settings['analyzer']}",
        f"tokenizer {settings['tokenizer']}",
        f"n-grams {shortest} to {longest}",
    ]
    if not settings["lowercase"]:
        parts.append("case kept")
    if settings["stem"]:
        parts.append(f"stem {settings['stem']}")
    if settings["stop_words"]:
        parts.append(f"{len(settings['stop_words'])} stop words")
    if settings["pattern"]:
        parts.append(f"pattern {settings['pattern']}")
    for other in layout["text"][1:]:
        parts.append("and {} n-grams {} to {}".format(other["analyzer"], *other["ngrams"]))
    if layout["max_terms"]:
        parts.append(f"the best {layout['max_terms']:,} by {layout['select']}")
    if about["min_df"] > 1:
        parts.append(f"in at least {about['min_df']} rows")
    return ", ".join(parts)


def _labels_table(about: Mapping[str, Any], strongest: Mapping[str, list[StrongTerm]]) -> FittedTable:
    counted = "" if about["slim"] or about["pipeline"] else " (rows of the label : of others)"
    head = f"strongest words, in nats{counted}"
    table = plain_table("label", "prior", "rows", head, wraps=(head,), drop=("prior",))
    for label, words in strongest.items():
        rows = "" if about["slim"] else f"{about['rows_per_label'][label]:,}"
        listed = Text("  ").join(map(_strong_term, words, itertools.repeat(label)))
        table.add_row(visible(label), f"{about['priors'][label]:.2%}", rows, listed)
    return table


def _strong_term(term: StrongTerm, label: str) -> Text:
    """Return a term with its weight and the rows it was seen in, which stay on one line."""
    seen = f" ({term.seen(label)})" if term.rows is not None else ""
    figures = f" {term.weight:+.2f}{seen}".replace(" ", NO_BREAK)
    return Text.assemble(visible(term.term).replace(" ", NO_BREAK), (figures, "dim"))
