"""The commands that describe files: info shows a model or data, drift what has changed between two models."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from discern.cli.options import Input, Label, Output, Top, argument, command
from discern.cli.output import loaded, print_json, visible, warn

if TYPE_CHECKING:
    from discern.data.batch import Batch

MOST_LABELS = 20
"""The strongest words are shown for the most frequent labels only."""
MOST_COUNTED = 100_000
"""The number of different labels that are counted."""
LONGEST_EXAMPLE = 60


@command("discern info messages.discern", "discern info messages.csv --json")
def info(
    *,
    file: str = argument(..., "FILE", "A model file, or rows in any format."),
    top: Top = 8,
    label: Label = None,
    rows: Input,
    out: Output,
) -> None:
    """Describe a model or a data file.

    For a model: settings, labels, sizes, and the strongest words of each label. For data: format, rows, missing values,
    labels, and columns with the roles that fit would infer.
    """
    from discern.data.readers import batches, refuse_spreadsheet
    from discern.data.roles import leading_rows
    from discern.models.columns.labels import guess_label

    if not _is_data(file, rows.format):
        refuse_spreadsheet(Path(file))
        _show_model(Path(file), top, out)
        return
    with rows.reading([file], out.quiet) as how:
        first, stream = leading_rows(batches(file, how))
        if label is None and first is not None:
            label = guess_label(first).name
        seen = Seen(label or "label", roles=_roles(first, label or "label") if first is not None else {})
        for batch in stream:
            seen.add(batch)
    _show_data(file, seen, sum(how.faults.values()), rows.format, out)


def _is_data(file: str, given: str | None) -> bool:
    from discern.data.readers import format_of

    return given is not None or file == "-" or Path(file).is_dir() or format_of(file) is not None


def _show_model(path: Path, top: int, out: Output) -> None:
    import discern.models.file as files

    classifier = loaded(path)
    described = classifier.info()
    frequent = sorted(classifier.labels, key=lambda label: (-described["priors"][label], label))[:MOST_LABELS]
    strongest = {label: classifier.strongest(label, top) for label in frequent}
    _, metadata = files.load(path)
    about = {"file": str(path), "bytes": path.stat().st_size, "checksum": metadata["checksum"], **described}
    if out.json:
        words = {label: [term.to_dict() for term in strongest[label]] for label in frequent}
        print_json({**about, "strongest": words})
        return
    from discern.cli.screen.show import show_info
    from discern.cli.screen.tables import console

    show_info(console(), about, strongest, len(classifier.labels))


@dataclass
class Seen:
    """What is counted while data are read."""

    label: str
    rows: int = 0
    roles: dict[str, str] = field(default_factory=dict)
    missing: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    labels: Counter[str] = field(default_factory=Counter)

    def add(self, batch: Batch) -> None:
        """Count more rows."""
        from discern.data.batch import values_of
        from discern.data.roles import MISSING
        from discern.data.values import canonical, written

        for name, column in batch.columns.items():
            self.missing[name] += self.rows if name not in self.missing and self.rows else 0
            texts = [written(value) or "" for value in values_of(column)]
            means_nothing = MISSING if self.roles.get(name) in ("number", "category", "flag") else ("",)
            self.missing[name] += sum(text.strip() in means_nothing for text in texts)
            self.examples[name] = self.examples.get(name) or next(filter(None, texts), "")
            if name == self.label and len(self.labels) < MOST_COUNTED:
                self.labels.update(map(canonical, filter(None, texts)))
        for name in self.missing.keys() - batch.columns.keys():
            self.missing[name] += batch.rows
        self.rows += batch.rows


def _roles(batch: Batch, label: str) -> dict[str, str]:
    """Return the roles that fit would infer, or why a column would be ignored."""
    from discern.data.roles import infer

    features, left_out = infer(batch, label)
    roles = {feature.name: feature.role for feature in features}
    roles.update({name: f"left out: {reason}" for name, reason in left_out.items()})
    return {name: "label" if name == label else roles.get(name, "") for name in batch.columns}


def _show_data(file: str, seen: Seen, bad: int, given: str | None, out: Output) -> None:
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
    if out.json:
        print_json({**about, "columns": columns, "labels": labels})
        return
    from discern.cli.screen.show import show_data
    from discern.models.columns.labels import doubts_about_labels, doubts_about_values

    show_data(about, columns, labels, MOST_LABELS)
    values = [label for label, rows in labels.items() for _ in range(rows)] if len(labels) > seen.rows / 2 else []
    for doubt in [
        *doubts_about_values(seen.label, values),
        *(doubts_about_labels(seen.label, labels) if labels else []),
    ]:
        warn(doubt, out.quiet)


@command("discern drift january.discern june.discern")
def drift(
    *,
    old: Path = argument(..., "OLD", "The earlier model file."),
    new: Path = argument(..., "NEW", "The later model file."),
    top: Top = 20,
    out: Output,
) -> None:
    """Show what has changed between two models: the words whose log odds moved most, in nats."""
    from discern.analysis.drift import drift as compare

    before, after = loaded(old), loaded(new)
    labels = sorted({*before.labels} & {*after.labels})
    moved = compare(before, after, 2 * top)
    if len(labels) == 2:  # evidence for one is evidence against the other
        moved = [one for one in moved if one.label == labels[1]]
    moved = moved[:top]
    if out.json:
        print_json([{**asdict(one), "change": one.change} for one in moved])
        return
    from discern.cli.screen.tables import console, plain_table, show

    table = plain_table("term", "label", "before", "now", "change", left=2)
    for one in moved:
        figures = (f"{one.before:+.2f}", f"{one.after:+.2f}", f"{one.change:+.2f}")
        table.add_row(visible(one.term), visible(one.label), *figures)
    show(console(), table)
