"""The commands for mail: filter a message on its way, and move messages from one label to another."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discern.cli import options
from discern.cli.client import HAM_CUTOFF, SPAM_CUTOFF
from discern.cli.output import counted, in_bytes, reading, refuse_bad_place, say, to_json
from discern.data.lock import locked

if TYPE_CHECKING:
    from discern.classifier import Classifier
    from discern.data.batch import Batch

UNSURE = "unsure"
SPAM, HAM, NOT_SURE, ERROR = range(4)
"""What --exit-code answers, as bogofilter does."""

SpamCutoff = Annotated[
    float | None,
    typer.Option(
        min=0,
        max=1,
        metavar="P",
        help="From this probability on it is spam.",
        show_default=f"as the model decides; else {SPAM_CUTOFF}",
    ),
]
HamCutoff = Annotated[
    float | None,
    typer.Option(
        min=0,
        max=1,
        metavar="P",
        help="Up to this probability of spam it is not.",
        show_default=f"as the model decides; else {HAM_CUTOFF}",
    ),
]


@dataclass(frozen=True)
class Verdict:
    """What was decided on a message."""

    label: str
    """The label, or "unsure"."""
    probability: float
    """Of the label that counts as spam."""
    code: int

    def to_json(self) -> str:
        """Return the verdict as a line of JSON."""
        return to_json({"label": self.label, "probability": self.probability})


def filter(
    model: options.ModelFile,
    spam: Annotated[str, typer.Option(metavar="LABEL", help="The label that counts as spam.")] = "spam",
    spam_cutoff: SpamCutoff = None,
    ham_cutoff: HamCutoff = None,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="Write nothing and answer by the exit code, as bogofilter does.")
    ] = False,
    daemon: Annotated[
        bool, typer.Option("--daemon", help="Stay, and answer at the socket until told to stop (SIGTERM, Ctrl-C).")
    ] = False,
    place: Annotated[
        Path | None,
        typer.Option("--socket", metavar="FILE", help="Where a daemon answers.", show_default="MODEL.socket"),
    ] = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Judge one message from stdin, and write it to stdout with X-Discern headers; its body stays as it is.

    X-Discern holds the label or "unsure", X-Discern-Probability the probability of spam. Such headers that the message
    brings along are taken out. With --exit-code the answer is the exit code: 0 spam, 1 not spam, 2 unsure, 3 error.
    Without it, an error (exit code 3, a sentence on stderr) still writes the message, unchanged: no mail is lost.
    What `discern decide` has saved with the model decides, unless cutoffs are given.
    If a daemon answers at the socket, it is asked, and nothing has to be loaded; if none does, all goes on without.
    """
    try:
        cutoffs = Cutoffs(spam, spam_cutoff, ham_cutoff)
    except ValueError as error:
        raise typer.BadParameter("--ham-cutoff must not be above --spam-cutoff") from error
    if daemon:
        _serve(model, place or Path(f"{model}.socket"), cutoffs, json, quiet)
        return
    from discern.cli.commands import loaded

    content = sys.stdin.buffer.read()
    try:
        verdict = judged(loaded(model), content, cutoffs)
    except (ValueError, OSError, MemoryError) as error:
        if not exit_code and not json:
            _write(content)
        say(f"discern: {' '.join(str(error).split()) or type(error).__name__}", quiet)
        raise typer.Exit(ERROR) from error
    if json:
        typer.echo(verdict.to_json())
    elif not exit_code:
        _write(marked(content, verdict))
    if exit_code:
        raise typer.Exit(verdict.code)


@dataclass(frozen=True)
class Cutoffs:
    """From which probability on a message is spam, and up to which it is not; None: not given."""

    spam: str
    spam_cutoff: float | None = None
    ham_cutoff: float | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.low <= self.high <= 1:
            raise ValueError("the cutoffs must be probabilities, that of spam not below the other")

    @property
    def are_given(self) -> bool:
        """Whether any was given."""
        return self.spam_cutoff is not None or self.ham_cutoff is not None

    @property
    def high(self) -> float:
        """From this probability on it is spam."""
        return SPAM_CUTOFF if self.spam_cutoff is None else float(self.spam_cutoff)

    @property
    def low(self) -> float:
        """Up to this probability of spam it is not."""
        return min(HAM_CUTOFF, self.high) if self.ham_cutoff is None else float(self.ham_cutoff)


def judged(classifier: Classifier, content: bytes, cutoffs: Cutoffs) -> Verdict:
    """Decide on a message."""
    from discern.data.batch import did_you_mean
    from discern.data.message import as_mails

    spam = cutoffs.spam
    if spam not in classifier.labels:
        raise ValueError(f"the model has no label {spam!r}{did_you_mean(spam, classifier.labels)}; see --spam")
    [(decided, shares)] = classifier.predict_batches(as_mails([content], "the message"))
    by_label = dict(zip(classifier.labels, shares[0].tolist(), strict=True))
    probability = by_label.pop(spam)
    if classifier.decision is not None and not cutoffs.are_given:
        label = str(decided[0])
        return Verdict(label, probability, SPAM if label == spam else HAM if label in by_label else NOT_SURE)
    if probability >= cutoffs.high:
        return Verdict(spam, probability, SPAM)
    if probability <= cutoffs.low and by_label:
        return Verdict(max(by_label, key=lambda label: by_label[label]), probability, HAM)
    return Verdict(UNSURE, probability, NOT_SURE)


def _serve(model: Path, place: Path, cutoffs: Cutoffs, json: bool, quiet: bool) -> None:
    import discern.cli.daemon as daemon
    from discern.data.source import refuse_missing

    if not daemon.can_be_served():
        raise ValueError("this system has no unix sockets: use discern filter without --daemon")
    refuse_bad_place(place)
    refuse_missing(model)

    def judge(classifier: Classifier, content: bytes, settings: dict[str, Any]) -> tuple[Verdict, bytes]:
        verdict = judged(classifier, content, replace(cutoffs, **settings))
        return verdict, marked(content, verdict)

    def ready() -> None:
        if json:
            typer.echo(to_json({"socket": str(place), "process": os.getpid()}))
            sys.stdout.flush()
        say(f"answering at {place}; stop with Ctrl-C", quiet or json)

    daemon.serve(daemon.Current(model, lambda message: say(f"discern: {message}", quiet)), place, judge, ready)


def marked(content: bytes, verdict: Verdict) -> bytes:
    """Return the message with what was decided in its headers."""
    from discern.data.message import with_headers

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
    from discern.cli.commands import loaded
    from discern.data.batch import did_you_mean
    from discern.data.readers import batches

    if old == new:
        raise typer.BadParameter("--from and --to must be different labels")
    refuse_bad_place(model)
    with reading(data, given, quiet, encoding=encoding, on_error=on_error) as how:
        rows = list(batches(iter(data), how))  # once: it may be stdin
    with locked(model):
        classifier = loaded(model)
        if old not in classifier.labels:
            raise ValueError(
                f"the model has no label {old!r}{did_you_mean(old, classifier.labels)}; nothing was changed"
            )
        moved = classifier.relabel(*(labelled(rows, classifier.label, label) for label in (old, new)))
        checksum = classifier.save(model)
    size = model.stat().st_size
    if json:
        typer.echo(to_json({"file": str(model), "bytes": size, "checksum": checksum, "moved": moved}))
        return
    say(f"moved {counted(moved, 'row')} from {old} to {new}; wrote {model} ({in_bytes(size)})", quiet)


def labelled(rows: Iterable[Batch], column: str, label: str) -> Iterator[Batch]:
    """Label all rows; refuses rows that have one of their own."""
    from discern.data.strings import DataError

    for batch in rows:
        if column in batch.columns:
            raise DataError(f"{batch.source} has labels of its own, in the column {column!r}; take it out")
        columns: dict[str, Any] = {**batch.columns, column: [label] * batch.rows}
        yield replace(batch, columns=columns)
