"""The commands that look at models and data: info, similar, drift."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discern.cli import options
from discern.cli.commands import loaded, row_of
from discern.cli.output import reading, to_json, visible

if TYPE_CHECKING:
    from discern.data.batch import Batch

MOST_LABELS = 20
"""Strongest words are shown for so many labels, the most frequent ones."""
MOST_COUNTED = 100_000
"""So many different labels are counted."""
LONGEST_EXAMPLE = 60


# -------------------------------------------------------------------------------------------------------- info


def info(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A model file, or rows in any format.", show_default=False)
    ],
    top: options.Top = 8,
    label: options.Label = "label",
    given: options.Given = None,
    encoding: options.Encoding = None,
    on_error: options.OnErrorName = options.OnError.stop,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Describe what a file holds.

    Of a model: settings, labels, sizes, and the strongest words of the labels. Of data: format, rows, columns with the
    roles that fit would give them, missing values, and labels.
    """
    if not _is_data(file, given):
        _show_model(Path(file), top, json)
        return
    with reading([file], given, quiet, encoding=encoding, on_error=on_error) as how:
        from discern.data.readers import batches
        from discern.data.roles import leading_rows

        first, stream = leading_rows(batches(file, how))
        seen = Seen(label, roles=_roles(first, label) if first is not None else {})
        for batch in stream:
            seen.add(batch)
    _show_data(file, seen, sum(how.faults.values()), given, json)


def _is_data(file: str, given: str | None) -> bool:
    from discern.data.readers import format_of

    return given is not None or file == "-" or Path(file).is_dir() or format_of(file) is not None


def _show_model(path: Path, top: int, json: bool) -> None:
    import discern.models.file as files

    classifier = loaded(path)
    described = classifier.info()
    frequent = sorted(classifier.labels, key=lambda label: (-described["priors"][label], label))[:MOST_LABELS]
    strongest = {label: classifier.weights(label, top) for label in frequent}
    _, metadata = files.load(path)
    about = {"file": str(path), "bytes": path.stat().st_size, "checksum": metadata["checksum"], **described}
    if json:
        words = {label: [{"term": term, "weight": weight} for term, weight in strongest[label]] for label in frequent}
        typer.echo(to_json({**about, "strongest": words}))
        return
    from discern.cli.show import console, show_info

    show_info(console(), about, strongest, len(classifier.labels))


@dataclass
class Seen:
    """What was seen of data, row by row."""

    label: str
    rows: int = 0
    roles: dict[str, str] = field(default_factory=dict)
    missing: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    labels: Counter[str] = field(default_factory=Counter)

    def add(self, batch: Batch) -> None:
        """Take some more rows."""
        from discern.data.batch import values_of
        from discern.data.values import canonical, written

        for name, column in batch.columns.items():
            self.missing[name] += self.rows if name not in self.missing and self.rows else 0
            texts = [written(value) or "" for value in values_of(column)]
            self.missing[name] += texts.count("")
            self.examples[name] = self.examples.get(name) or next(filter(None, texts), "")
            if name == self.label and len(self.labels) < MOST_COUNTED:
                self.labels.update(map(canonical, filter(None, texts)))
        for name in self.missing.keys() - batch.columns.keys():
            self.missing[name] += batch.rows
        self.rows += batch.rows


def _roles(batch: Batch, label: str) -> dict[str, str]:
    """Return the roles that fit would infer, or why a column would be left out."""
    from discern.data.roles import infer

    features, left_out = infer(batch, label)
    said = {feature.name: feature.role for feature in features}
    said.update({name: f"left out: {reason}" for name, reason in left_out.items()})
    return {name: "label" if name == label else said.get(name, "") for name in batch.columns}


def _show_data(file: str, seen: Seen, bad: int, given: str | None, json: bool) -> None:
    from discern.data.readers import format_of, size_of

    columns = [
        {
            "name": name,
            "role": seen.roles.get(name, ""),
            "missing": missing,
            "example": seen.examples[name][:LONGEST_EXAMPLE],
        }
        for name, missing in seen.missing.items()
    ]
    kind = given or ("folder" if Path(file).is_dir() else format_of(file) or "csv")
    about = {"file": file, "format": kind, "bytes": size_of(file), "rows": seen.rows, "bad_rows": bad}
    labels = dict(sorted(seen.labels.items(), key=lambda one: (-one[1], one[0])))
    if json:
        typer.echo(to_json({**about, "columns": columns, "labels": labels}))
        return
    from discern.cli.show import show_data

    show_data(about, columns, labels, MOST_LABELS)


# ----------------------------------------------------------------------------------------------------- similar


def similar(
    model: options.ModelFile,
    text: Annotated[
        str | None, typer.Argument(metavar="[TEXT]", help="The text to compare with.", show_default=False)
    ] = None,
    value: options.Values = None,
    top: Annotated[int, typer.Option(min=1, help="How many rows to show.")] = 10,
    data: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DATA", help="What the model learned from, to show the rows; may be given more than once."
        ),
    ] = None,
    given: options.Given = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Find the rows that are most like a text or a row, in a model that keeps its rows (fit --model knn).

    Rows are numbered as they were learned, from 1. A model does not keep the texts themselves: give --data to see them.
    """
    if text is None and not value:
        raise typer.BadParameter("give TEXT, or --value COLUMN=VALUE, or both")
    from discern.analysis.similarity import similar as find

    classifier = loaded(model)
    found = find(classifier, row_of(classifier, text, value or []), top)
    shown: dict[int, Any] = {}
    if data:
        with reading(data, given, quiet) as how:
            shown = _rows(data, how, {one.row for one in found}, classifier.rows)
    if json:
        for one in found:
            typer.echo(to_json({**asdict(one), **({"values": shown[one.row]} if data else {})}))
        return
    names = [feature.name for feature in classifier.features]
    from discern.cli.show import console, plain_table, show

    table = plain_table("row", "similarity", "label", *(names if data else ()), left=0)
    for column in table.columns[2:]:
        column.justify = "left"
    for one in found:
        values = [_short(shown[one.row].get(name)) for name in names] if data else []
        table.add_row(f"{one.row:,}", f"{one.similarity:.4f}", visible(one.label), *values)
    show(console(), table)


def _short(value: Any) -> str:
    words = " ".join(visible("" if value is None else str(value)).split())
    return words if len(words) <= LONGEST_EXAMPLE else words[: LONGEST_EXAMPLE - 1] + "…"


def _rows(data: Sequence[str], how: Any, wanted: set[int], learned: int) -> dict[int, dict[str, Any]]:
    """Return some rows of what a model learned from, by number."""
    from discern.data.readers import batches
    from discern.data.strings import DataError

    found, start = {}, 1
    for batch in batches(iter(data), how):
        found.update({row: batch.row(row - start) for row in wanted if start <= row < start + batch.rows})
        start += batch.rows
    if start - 1 != learned:
        raise DataError(f"the data have {start - 1:,} rows, but the model learned {learned:,}: these are not its data")
    return found


# ------------------------------------------------------------------------------------------------------- drift


def drift(
    old: Annotated[Path, typer.Argument(metavar="OLD", help="The model file of before.", show_default=False)],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="The model file of now.", show_default=False)],
    top: options.Top = 20,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Describe what has changed between two models: the words whose log odds moved most, in nats."""
    from discern.analysis.drift import drift as compare

    before, after = loaded(old), loaded(new)
    labels = sorted({*before.labels} & {*after.labels})
    moved = compare(before, after, 2 * top)
    if len(labels) == 2:  # what speaks for one speaks against the other
        moved = [one for one in moved if one.label == labels[1]]
    moved = moved[:top]
    if json:
        typer.echo(to_json([{**asdict(one), "change": one.change} for one in moved]))
        return
    from discern.cli.show import console, plain_table, show

    table = plain_table("term", "label", "before", "now", "change", left=2)
    for one in moved:
        figures = (f"{one.before:+.2f}", f"{one.after:+.2f}", f"{one.change:+.2f}")
        table.add_row(visible(one.term), visible(one.label), *figures)
    show(console(), table)
