"""The commands for mail: filter a message on its way, and move messages from one label to another."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discern.cli import options
from discern.cli.output import counted, in_bytes, reading, refuse_bad_place, say, to_json
from discern.lock import locked

if TYPE_CHECKING:
    from discern.data import Batch

UNSURE = "unsure"
SPAM, HAM, NOT_SURE, ERROR = range(4)
"""What --exit-code answers, as bogofilter does."""

SpamCutoff = Annotated[
    float, typer.Option("--spam-cutoff", min=0, max=1, metavar="P", help="From this probability on it is spam.")
]
HamCutoff = Annotated[
    float, typer.Option("--ham-cutoff", min=0, max=1, metavar="P", help="Up to this probability of spam it is not.")
]


@dataclass(frozen=True)
class Verdict:
    """What was decided on a message."""

    label: str
    """The label, or "unsure"."""
    probability: float
    """Of the label that counts as spam."""
    code: int


def filter(
    model: options.ModelFile,
    spam: Annotated[str, typer.Option(metavar="LABEL", help="The label that counts as spam.")] = "spam",
    spam_cutoff: SpamCutoff = 0.9,
    ham_cutoff: HamCutoff = 0.1,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="Write nothing and answer by the exit code, as bogofilter does.")
    ] = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Judge one message from stdin, and write it to stdout with X-Discern headers; its body stays as it is.

    X-Discern holds the label or "unsure", X-Discern-Probability the probability of spam. Such headers that the message
    brings along are taken out. With --exit-code the answer is the exit code: 0 spam, 1 not spam, 2 unsure, 3 error.
    Without it, an error (exit code 3, a sentence on stderr) still writes the message, unchanged: no mail is lost.
    """
    if ham_cutoff > spam_cutoff:
        raise typer.BadParameter("--ham-cutoff must not be above --spam-cutoff")
    content = sys.stdin.buffer.read()
    try:
        verdict = _judge(content, model, spam, spam_cutoff, ham_cutoff)
    except (ValueError, OSError, MemoryError) as error:
        if not exit_code and not json:
            _write(content)
        say(f"discern: {' '.join(str(error).split()) or type(error).__name__}", quiet)
        raise typer.Exit(ERROR) from error
    if json:
        typer.echo(to_json({"label": verdict.label, "probability": verdict.probability}))
    elif not exit_code:
        _write(marked(content, verdict))
    if exit_code:
        raise typer.Exit(verdict.code)


def _judge(content: bytes, path: Path, spam: str, spam_cutoff: float, ham_cutoff: float) -> Verdict:
    from discern.classifier import Classifier
    from discern.data import did_you_mean
    from discern.data.mailboxes import of_messages

    classifier = Classifier.load(path)
    if spam not in classifier.labels:
        raise ValueError(f"the model has no label {spam!r}{did_you_mean(spam, classifier.labels)}; see --spam")
    shares = classifier.predict_proba(of_messages([content], "the message"))[0].tolist()
    by_label = dict(zip(classifier.labels, shares, strict=True))
    probability = by_label.pop(spam)
    if probability >= spam_cutoff:
        return Verdict(spam, probability, SPAM)
    if probability <= ham_cutoff and by_label:
        return Verdict(max(by_label, key=lambda label: by_label[label]), probability, HAM)
    return Verdict(UNSURE, probability, NOT_SURE)


def marked(content: bytes, verdict: Verdict) -> bytes:
    """Give the message with what was decided in its headers."""
    from discern.mail import with_headers

    # A label may hold anything; a header may not.
    label = "".join(character if " " <= character <= "~" else "?" for character in verdict.label)
    lines = {"X-Discern": label, "X-Discern-Probability": f"{verdict.probability:.6f}"}
    return with_headers(content, lines, "X-Discern")


def _write(content: bytes) -> None:
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


# ----------------------------------------------------------------------------------------------------- relabel


def relabel(
    model: options.ModelFile,
    data: options.Sources,
    old: Annotated[str, typer.Option("--from", metavar="LABEL", help="The label they were learned with.")],
    new: Annotated[str, typer.Option("--to", metavar="LABEL", help="The label they are to have.")],
    given: options.Given = None,
    encoding: options.Encoding = None,
    on_error: options.OnErrorName = options.OnError.stop,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Move rows or mails from one label to another: forget them there and learn them here, or change nothing.

    Rows that were never learned with the old label are refused.
    """
    from discern.classifier import Classifier
    from discern.data import batches

    if old == new:
        raise typer.BadParameter("--from and --to must be different labels")
    refuse_bad_place(model)
    with reading(data, given, quiet, encoding=encoding, on_error=on_error) as how:
        rows = list(batches(iter(data), how))  # once: it may be stdin
    with locked(model):
        classifier = Classifier.load(model)
        # In this order something is always left; the sums are the same.
        classifier.learn(labelled(rows, classifier.label, new))
        moved = classifier.take_back(labelled(rows, classifier.label, old))
        checksum = classifier.save(model)
    size = model.stat().st_size
    if json:
        typer.echo(to_json({"file": str(model), "bytes": size, "checksum": checksum, "moved": moved}))
        return
    say(f"moved {counted(moved, 'row')} from {old} to {new}; wrote {model} ({in_bytes(size)})", quiet)


def labelled(rows: Iterable[Batch], column: str, label: str) -> Iterator[Batch]:
    """Give all rows a label; refuses rows that have one of their own."""
    from discern.data import DataError

    for batch in rows:
        if column in batch.columns:
            raise DataError(f"{batch.source} has labels of its own, in the column {column!r}; take it out")
        columns: dict[str, Any] = {**batch.columns, column: [label] * batch.rows}
        yield replace(batch, columns=columns)
