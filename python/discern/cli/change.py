"""The commands that change a model: learn, forget, relabel, merge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from discern.cli.fit import report_fit
from discern.cli.options import ModelFile, NewModelFile, Output, Rows, argument, command, option
from discern.cli.output import counted, in_bytes, loaded, print_json, refuse_bad_place, saved
from discern.cli.several import labels_as_written
from discern.data.lock import locked

if TYPE_CHECKING:
    from discern.classifier import Classifier
    from discern.data.batch import Batch


@dataclass(frozen=True, kw_only=True)
class ChangedRows(Rows):
    """Rows to learn or forget, their label, and where the changed model goes."""

    label: str | None = option(
        None,
        "The label of all rows, for data without labels such as mail.",
        "--label",
        "--label-as",
        metavar="LABEL",
        show_default="as in the data",
    )
    output: Path | None = option(
        None, "Write here and leave MODEL unchanged.", "--output", "-o", metavar="MODEL", show_default="MODEL itself"
    )


@command(
    "discern learn messages.discern monday.csv tuesday.csv",
    "discern learn mail.discern --label spam junk.mbox ~/Maildir/.Junk",
)
def learn(model: ModelFile, rows: ChangedRows, out: Output) -> None:
    """Learn more rows. The result is identical to training on all rows at once.

    Concurrent writers wait for the lock.
    """
    _change("learned", model, rows, out)


@command("discern forget messages.discern withdrawn.csv")
def forget(model: ModelFile, rows: ChangedRows, out: Output) -> None:
    """Forget rows. The result is identical to a model that never saw them. Rows never learned are refused."""
    _change("forgot", model, rows, out)


def _change(done: str, model: Path, rows: ChangedRows, out: Output) -> None:
    """Learn or forget rows, and report how the model has changed."""
    from discern.data.readers import batches

    output = rows.output or model
    refuse_bad_place(output)
    with locked(output):
        classifier = loaded(model, threads=rows.threads, embed=rows.embed)
        before, labels, default = _sizes(classifier), set(classifier.labels), _labels_by_default(classifier)
        with rows.reading(rows.data, out.quiet) as how:
            read: Iterable[Batch] = batches(iter(rows.data), how)
            if rows.label is not None:
                read = labeled(read, classifier.label, labels_as_written(classifier, rows.label), "--label")
            receipt = classifier.learn(read) if done == "learned" else classifier.forget(read)
        file = saved(classifier, output)
    after = _sizes(classifier)
    added, removed = sorted({*classifier.labels} - labels), sorted(labels - {*classifier.labels})
    unset = [name for name in _labels_by_default(classifier) if name not in default]
    proven = getattr(receipt, "proven", None)
    if out.json:
        changes = {"before": before, "after": after, "labels_added": added, "labels_removed": removed}
        proof = {} if proven is None else {"proven": proven}
        print_json({**file, "action": done, **changes, "labels_by_default": unset, **proof})
        return
    out.say(f"{done} {counted(abs(after['rows'] - before['rows']), 'row')}")
    for name in before:
        out.say(f"  {name:6} {before[name]:,} → {after[name]:,}")
    for verb, changed in (("new", added), ("gone", removed)):
        if changed:
            out.say(f"  labels {verb}: {', '.join(changed)}")
    for name in unset:
        out.say(f"  {name!r} has no cost or prior of its own: a mistake costs 1, its prior is its share of the rows")
    if proven is not None:
        out.say(f"  {_proof(proven)}")
    _doubt(added, labels, out)
    out.say(f"wrote {output} ({in_bytes(file['bytes'])})")


def _sizes(classifier: Any) -> dict[str, int]:
    return {"rows": classifier.rows, "terms": classifier.solved.terms}


def _labels_by_default(classifier: Any) -> list[str]:
    names: list[str] = classifier.info()["labels_by_default"]
    return names


def _proof(proven: bool) -> str:
    if proven:
        return "the ledger proves that these rows had been learned"
    return "the counts are consistent with these rows; only a ledger (fit --ledger) proves that they had been learned"


def _doubt(added: list[str], known: set[str], out: Output) -> None:
    """Ask whether a new label is another one, mistyped."""
    from difflib import get_close_matches

    for label in added:
        close = get_close_matches(label, sorted(known), n=1, cutoff=0.7)
        if close:
            out.say(f"  {label!r} is a new label; did you mean {close[0]!r}? discern relabel moves rows")


@command(
    "discern relabel mail.discern message.eml --from spam --to ham",
    "discern relabel mail.discern - --format eml --from ham --to spam < message",
    "discern relabel tickets.discern labeled.csv --add urgent --remove billing",
)
def relabel(
    *,
    model: ModelFile,
    old: str | None = option(
        None, "The label the rows were learned with.", "--from", metavar="LABEL", show_default=False
    ),
    new: str | None = option(None, "The correct label.", "--to", metavar="LABEL", show_default=False),
    add: list[str] | None = option(
        None, "Where a row may have several labels: a label to add to those in DATA.", metavar="LABEL"
    ),
    remove: list[str] | None = option(
        None, "Where a row may have several labels: a label to remove from those in DATA.", metavar="LABEL"
    ),
    rows: Rows,
    out: Output,
) -> None:
    """Fix mislabeled rows or messages: forget them with one label and learn them with another, or change nothing.

    Rows that were never learned with the old label are refused. Where a row may have several labels, pass all of them,
    such as --from 'corn|oil' --to corn; or --add and --remove with rows that have their present labels in DATA.
    """
    from discern.data.readers import batches

    tags = bool(add or remove)
    if tags == (old is not None or new is not None) or (not tags and (old is None or new is None)):
        raise typer.BadParameter("pass --from and --to, or else --add or --remove")
    if not tags and old == new:
        raise typer.BadParameter("--from and --to must be different labels")
    refuse_bad_place(model)
    with rows.reading(rows.data, out.quiet) as how:
        read = list(batches(iter(rows.data), how))  # once: it may be stdin
    with locked(model):
        classifier = loaded(model, threads=rows.threads, embed=rows.embed)
        if tags:
            moved, done = classifier.tag(iter(read), add=add or (), remove=remove or ()), "relabeled"
        else:
            moved, done = _moved(classifier, read, old or "", new or ""), "moved"
        file = saved(classifier, model)
    if out.json:
        print_json({**file, "moved": moved})
        return
    way = "" if tags else f" from {old} to {new}"
    out.say(f"{done} {counted(moved, 'row')}{way}; wrote {model} ({in_bytes(file['bytes'])})")


def _moved(classifier: Classifier, read: list[Batch], old: str, new: str) -> int:
    """Move rows from one label, or set of labels, to another; return how many there were."""
    from discern.data.batch import did_you_mean

    before, after = (labels_as_written(classifier, one) for one in (old, new))
    for label in [before] if isinstance(before, str) else before:
        if label not in classifier.labels:
            raise ValueError(
                f"the model has no label {label!r}{did_you_mean(label, classifier.labels)}; nothing was changed"
            )
    return classifier.relabel(*(labeled(read, classifier.label, one, "relabel") for one in (before, after)))


def labeled(rows: Iterable[Batch], column: str, label: str | list[str], what: str) -> Iterator[Batch]:
    """Label all rows, as ``what`` asks for; raises DataError if rows have labels already."""
    from discern.data.strings import DataError

    for batch in rows:
        if column in batch.columns:
            raise DataError(f"{batch.source} already has a {column!r} column; {what} applies only to unlabeled files.")
        columns: dict[str, Any] = {**batch.columns, column: [label] * batch.rows}
        yield replace(batch, columns=columns)


@command("discern merge north.discern south.discern -o all.discern")
def merge(
    *, models: list[Path] = argument(..., "MODEL", "The model files, two or more."), output: NewModelFile, out: Output
) -> None:
    """Merge models with the same settings. The result is identical to training on the rows of all of them."""
    if len(models) < 2:
        raise typer.BadParameter("pass two or more models")
    refuse_bad_place(output)
    merged = loaded(models[0])
    for path in models[1:]:
        merged = merged.merge(loaded(path))
    report_fit(merged, saved(merged, output), out, f"merged {len(models)} models:")
