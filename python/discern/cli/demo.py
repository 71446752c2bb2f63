"""The command demo: train, evaluate, explain and save a model, on messages that come with the package."""

from __future__ import annotations

import csv
import io
import os
import random
import shlex
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from discern.cli.options import Output, command, option
from discern.cli.output import in_bytes, print_json, refuse_bad_place

if TYPE_CHECKING:
    from rich.console import Console

    from discern.classifier import Classifier
    from discern.evaluation.evaluation import Evaluation
    from discern.models.evidence import Evidence

Row = dict[str, str]
SEED = 7
HELD_OUT = 0.3
LONGEST = 120
"""The most characters of a message that is shown."""
MODEL = "messages.discern"
NEW_MESSAGE = "You have won a free holiday, call now to claim your prize"


@command("discern demo", "discern demo -o /tmp/messages.discern")
def demo(
    *,
    output: Path | None = option(
        None, "Where to write the model.", "--output", "-o", metavar="MODEL", show_default=MODEL
    ),
    out: Output,
) -> None:
    """Train a model on 766 short messages, ham and spam; evaluate it, explain two predictions, and save it."""
    from discern.classifier import Classifier

    place = _place(output)
    learned, held_out = split(sample())
    model = Classifier().fit(learned)
    evaluation = model.evaluate(held_out)
    chosen = {label: choose(model, held_out, label) for label in reversed(model.labels)}
    model.save(place)
    if out.json:
        explained = {label: {"text": text, **evidence.to_dict()} for label, (text, evidence) in chosen.items()}
        result = {"file": str(place), "rows_learned": len(learned), "evaluation": evaluation.to_dict()}
        print_json({**result, "explained": explained})
        return
    _show(model, evaluation, chosen, place, out.quiet)


def sample() -> list[Row]:
    """Return the messages that come with the package, each with its label."""
    content = (resources.files("discern") / "sample" / "messages.csv").read_text("utf-8")
    return list(csv.DictReader(io.StringIO(content, newline="")))


def split(rows: list[Row]) -> tuple[list[Row], list[Row]]:
    """Hold out the same share of every label; always the same rows."""
    chance = random.Random(SEED)
    learned: list[Row] = []
    held_out: list[Row] = []
    for label in sorted({row["label"] for row in rows}):
        mine = [row for row in rows if row["label"] == label]
        chance.shuffle(mine)
        count = round(HELD_OUT * len(mine))
        held_out += mine[:count]
        learned += mine[count:]
    return learned, held_out


def choose(model: Classifier, rows: list[Row], label: str) -> tuple[str, Evidence]:
    """Choose the best example: a correct prediction with many clear words, for and against."""
    texts = [row["text"] for row in rows if row["label"] == label and len(row["text"]) <= LONGEST]
    explained = [(text, model.explain(text)) for text in texts]
    correct = [(text, evidence) for text, evidence in explained if evidence.label == label]
    return max(correct, key=_clear_words)


def _clear_words(explained: tuple[str, Evidence]) -> tuple[int, int]:
    weights = [term.weight for term in explained[1].terms]
    return min(sum(weight <= -1 for weight in weights), 2), sum(abs(weight) >= 1 for weight in weights)


def _place(output: Path | None) -> Path:
    if output is not None:
        refuse_bad_place(output)
        return output
    if os.access(os.curdir, os.W_OK):
        return Path(MODEL)
    import tempfile

    return Path(tempfile.mkdtemp(prefix="discern-")) / MODEL


def _show(
    model: Classifier, evaluation: Evaluation, chosen: dict[str, tuple[str, Evidence]], place: Path, quiet: bool
) -> None:
    from discern.cli.screen.show import show_evaluation, show_evidence
    from discern.cli.screen.tables import console

    screen = console()
    _title(screen, f"Learned {model.rows} messages, evaluated on {evaluation.rows} others", quiet)
    show_evaluation(screen, evaluation)
    for label, (text, evidence) in chosen.items():
        _title(screen, f"Why this message is {label}", quiet)
        show_evidence(screen, model, text, evidence, top=8, legend=not quiet)
    size = in_bytes(place.stat().st_size)
    _title(screen, f"Saved as {place} ({size}, {model.solved.terms:,} terms). Now try", quiet)
    if not quiet:
        screen.print()
        for command in next_commands(place):
            screen.print(f"  {command}", style="bold", markup=False, soft_wrap=True)


def next_commands(place: Path) -> list[str]:
    """Return commands that work on the model of the demo."""
    model, message = shlex.quote(str(place)), shlex.quote(NEW_MESSAGE)
    return [
        f"discern predict {model} --message {message}",
        f"discern explain {model} {message}",
        f"discern info {model}",
        rf"printf 'label,text\nham,Are you free for lunch?\n' | discern learn {model} -",
    ]


def _title(screen: Console, text: str, quiet: bool) -> None:
    if not quiet:
        from rich.rule import Rule
        from rich.text import Text

        width = screen.width if screen.is_terminal else 100
        screen.print(Rule(Text(text, "bold"), align="left", style="cyan"), width=min(width, 100))
