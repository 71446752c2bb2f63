"""The command filter: classify a message on its way, or run the daemon that does so."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from discern.cli.filter.client import HAM_CUTOFF, SPAM_CUTOFF
from discern.cli.options import Embed, ModelFile, Output, command, option
from discern.cli.output import loaded, print_json, refuse_bad_place, to_json

if TYPE_CHECKING:
    from discern.classifier import Classifier

UNSURE = "unsure"
SPAM, HAM, NOT_SURE, ERROR = range(4)
"""The exit codes of --exit-code, as in bogofilter."""


@dataclass(frozen=True)
class Cutoffs:
    """The probabilities from which a message is spam and up to which it is not; None: not given."""

    spam: str = option("spam", "The label that counts as spam.", metavar="LABEL")
    spam_cutoff: float | None = option(
        None,
        "The message is spam from this probability on.",
        min=0,
        max=1,
        metavar="P",
        show_default=f"the decision rule of the model, or {SPAM_CUTOFF}",
    )
    ham_cutoff: float | None = option(
        None,
        "The message is not spam up to this probability of spam.",
        min=0,
        max=1,
        metavar="P",
        show_default=f"the decision rule of the model, or {HAM_CUTOFF}",
    )

    def __post_init__(self) -> None:
        if not 0 <= self.low <= self.high <= 1:
            raise ValueError("--ham-cutoff must not be above --spam-cutoff")

    @property
    def are_given(self) -> bool:
        """Whether any was given."""
        return self.spam_cutoff is not None or self.ham_cutoff is not None

    @property
    def high(self) -> float:
        """The lowest probability of spam."""
        return SPAM_CUTOFF if self.spam_cutoff is None else float(self.spam_cutoff)

    @property
    def low(self) -> float:
        """The highest probability of what is not spam."""
        return min(HAM_CUTOFF, self.high) if self.ham_cutoff is None else float(self.ham_cutoff)


@dataclass(frozen=True)
class Verdict:
    """The decision on a message."""

    label: str
    """The label, or "unsure"."""
    probability: float
    """Of the label that counts as spam."""
    code: int

    def to_json(self) -> str:
        """Return the verdict as a line of JSON."""
        return to_json({"label": self.label, "probability": self.probability})


@command(
    "discern filter mail.discern < message > marked",
    "discern filter mail.discern --exit-code --spam-cutoff 0.99 < message",
)
def filter(
    *,
    model: ModelFile,
    cutoffs: Cutoffs,
    exit_code: bool = option(False, "Write nothing and answer by the exit code, as bogofilter does."),
    daemon: bool = option(False, "Keep running and answer at the socket until SIGTERM or Ctrl-C."),
    socket: Path | None = option(
        None, "The socket at which a daemon answers.", metavar="FILE", show_default="MODEL.socket"
    ),
    embed: Embed = None,
    out: Output,
) -> None:
    """Classify one message from stdin, and write it to stdout with X-Discern headers. Its body is unchanged.

    X-Discern holds the label or "unsure", X-Discern-Probability the probability of spam. Such headers that are already
    in the message are removed. With --exit-code the answer is the exit code: 0 spam, 1 not spam, 2 unsure, 3 error.
    Without it, an error (exit code 3, a sentence on stderr) still writes the message, unchanged: no mail is lost.
    The decision rule that `discern decide` has saved with the model applies, unless cutoffs are given.
    If a daemon answers at the socket, it classifies the message and no model is loaded here.
    """
    if daemon:
        _run_daemon(model, socket or Path(f"{model}.socket"), cutoffs, embed, out)
        return
    content = sys.stdin.buffer.read()
    try:
        verdict = verdict_on(loaded(model, embed=embed), content, cutoffs)
    except (ValueError, OSError, MemoryError) as error:
        if not exit_code and not out.json:
            _write(content)
        out.say(f"discern: {' '.join(str(error).split()) or type(error).__name__}")
        raise typer.Exit(ERROR) from error
    if out.json:
        typer.echo(verdict.to_json())
    elif not exit_code:
        _write(marked(content, verdict))
    if exit_code:
        raise typer.Exit(verdict.code)


def verdict_on(classifier: Classifier, content: bytes, cutoffs: Cutoffs) -> Verdict:
    """Decide on a message."""
    from discern.data.batch import did_you_mean
    from discern.data.message import as_mails

    spam = cutoffs.spam
    if spam not in classifier.labels:
        raise ValueError(f"the model has no label {spam!r}{did_you_mean(spam, classifier.labels)}; see --spam")
    [found] = classifier.predictions(as_mails([content], "the message"))
    by_label = dict(zip(classifier.labels, found.probabilities[0].tolist(), strict=True))
    probability = by_label.pop(spam)
    if classifier.decision is not None and not cutoffs.are_given:
        label = str(found.labels[0])
        return Verdict(label, probability, SPAM if label == spam else HAM if label in by_label else NOT_SURE)
    if probability >= cutoffs.high:
        return Verdict(spam, probability, SPAM)
    if probability <= cutoffs.low and by_label:
        return Verdict(max(by_label, key=lambda label: by_label[label]), probability, HAM)
    return Verdict(UNSURE, probability, NOT_SURE)


def marked(content: bytes, verdict: Verdict) -> bytes:
    """Return the message with the verdict in its headers."""
    from discern.data.message import with_headers

    # A label may hold anything; a header may not.
    label = "".join(character if " " <= character <= "~" else "?" for character in verdict.label)
    lines = {"X-Discern": label, "X-Discern-Probability": f"{verdict.probability:.6f}"}
    return with_headers(content, lines, "X-Discern")


def _run_daemon(model: Path, place: Path, cutoffs: Cutoffs, embed: Path | None, out: Output) -> None:
    import discern.cli.filter.daemon as daemon
    from discern.classifier import embedder_of
    from discern.data.source import refuse_missing

    if not daemon.is_available():
        raise ValueError("this system has no unix sockets: use discern filter without --daemon")
    refuse_bad_place(place)
    refuse_missing(model)

    def classify(classifier: Classifier, content: bytes, settings: dict[str, Any]) -> tuple[Verdict, bytes]:
        verdict = verdict_on(classifier, content, replace(cutoffs, **settings))
        return verdict, marked(content, verdict)

    def ready() -> None:
        if out.json:
            print_json({"socket": str(place), "process": os.getpid()})
            sys.stdout.flush()
        else:
            out.say(f"answering at {place}; stop with Ctrl-C")

    def warn(message: str) -> None:
        out.say(f"discern: {message}")

    daemon.serve(daemon.CurrentModel(model, warn, embedder_of(embed)), place, classify, ready)


def _write(content: bytes) -> None:
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()
