"""The command predict: rows in, predictions out, as CSV, JSON lines or Parquet."""

from __future__ import annotations

import csv
import itertools
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TextIO

import typer

from discern.cli.inputs import Inputs, known_columns
from discern.cli.options import ModelFile, OtherText, Output, command, option
from discern.cli.output import counted, loaded, percent, refuse_bad_place, to_json, visible, whole_or_not, writing
from discern.cli.several import has_several, joined, separator_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discern.classifier import Classifier
    from discern.data.batch import Batch
    from discern.data.source import Reading

NOVELTY = ("novelty", "known terms")
"""The columns that --novelty adds."""
UNSURE = "unsure"
UNKNOWN = "  (no known words)"
NO_LABEL = "(no label)"


class Written(StrEnum):
    """How predictions are written."""

    csv = "csv"
    tsv = "tsv"
    jsonl = "jsonl"
    parquet = "parquet"


@dataclass(frozen=True)
class Columns:
    """The columns of the result, beside label and probability."""

    panel: ClassVar[str] = "Columns of the result"
    append: bool = option(False, "Keep the columns of DATA, before those of the result.")
    proba: bool = option(False, "Add a column for each label: its probability.")
    unsure: float | None = option(
        None, 'Predict "unsure" where the probability is below this.', min=0, max=1, metavar="P", show_default="never"
    )
    max_false_alarms: float | None = option(
        None,
        'Predict "unsure" for rows that are more unusual than all but this share of rows like those learned.',
        min=0,
        max=1,
        metavar="SHARE",
        show_default="never",
    )
    novelty: bool = option(
        False, "Add columns for how unusual the row is, from 0 to 1, and for how many of its terms are known."
    )
    evidence: int = option(0, "Add a column with the N most influential words.", min=0, metavar="N")

    @property
    def may_be_unsure(self) -> bool:
        """Whether "unsure" may be predicted."""
        return self.unsure is not None or self.max_false_alarms is not None


@command(
    "discern predict messages.discern new.csv > labels.csv",
    "discern predict messages.discern new.parquet -o labeled.parquet --append --unsure 0.9 --evidence 3",
    "tail -f log.txt | discern predict messages.discern - --format text --line-buffered --append",
    'discern predict messages.discern "Claim your free prize now"',
    "discern predict houses.discern --value rooms=3 --value city=Bergen",
)
def predict(
    *,
    model: ModelFile,
    inputs: Inputs,
    output: Path | None = option(None, "Where to write.", "--output", "-o", metavar="FILE", show_default="stdout"),
    to: Written | None = option(None, "The format of the result.", show_default="by the name of FILE; csv for stdout"),
    columns: Columns,
    line_buffered: bool = option(False, "Write each prediction as soon as its row is read."),
    text: OtherText = None,
    out: Output,
) -> None:
    """Predict the label of a text, a row or each row of files, with its probability, in the order of the rows.

    The result is CSV, TSV, JSON lines (also with --json) or Parquet. Its columns are label and probability, and those
    that options add. With --append, a column whose name is already in DATA is called "predicted label" and so on.
    """
    kind = _kind(output, to, out.json)
    classifier = loaded(model, text, inputs.threads, embed=inputs.embed)
    if columns.may_be_unsure and has_several(classifier):
        raise typer.BadParameter('"unsure" is for models of one label a row; set thresholds with discern decide')
    if columns.may_be_unsure and UNSURE in classifier.labels:
        raise typer.BadParameter("the model already has a label 'unsure'; leave --unsure and --max-false-alarms out")
    on_terminal = output is None and sys.stdout.isatty()
    with inputs.source(classifier, out.quiet, on_terminal, line_buffered) as (source, how):
        found = _started(predictions(classifier, source, how, columns))
        if on_terminal and not inputs.files and to is None and kind == "csv" and columns == Columns():
            _print_messages(found, has_several(classifier))
            return
        count = _write(found, kind, output, Layout(classifier.labels, columns, separator_of(classifier)), line_buffered)
    if output is not None:
        out.say(f"wrote {output}: {counted(count, 'row')}")


def _print_messages(found: Iterator[Predictions], several: bool) -> None:
    for part in found:
        for label, probability, known in zip(part.labels, part.probabilities, part.known, strict=True):
            pairs = zip(label, probability, strict=True) if several else [(label, probability)]
            shown = ", ".join(f"{visible(one)}  {percent(share)}" for one, share in pairs)
            typer.echo(f"{shown or NO_LABEL}{'' if known else UNKNOWN}")


def _kind(output: Path | None, to: Written | None, json: bool) -> str:
    """Return the format in which the result is written."""
    if json and to not in (None, Written.jsonl):
        raise typer.BadParameter("pass either --json or --to")
    named = (output.suffix.lower().lstrip(".") if output is not None else "").replace("ndjson", "jsonl")
    kind = "jsonl" if json else to.value if to is not None else named if named in list(Written) else "csv"
    if kind == "parquet" and (output is None or str(output) == "-"):
        raise typer.BadParameter("Parquet cannot be written to stdout; use --output")
    return kind


# -------------------------------------------------------------------------------------------------- predicting


@dataclass(frozen=True)
class Predictions:
    """The predictions for a batch of rows."""

    batch: Batch
    labels: list[Any]
    """The label of each row; or the list of its labels, if it may have several."""
    probabilities: list[Any]
    """The probability of the label, or of each of the labels."""
    shares: NDArray[Any]
    """The probability of every label, a row each."""
    known: list[int]
    """The number of terms and values of each row that the model knows."""
    novelty: list[float]
    """How unusual each row is; empty if not asked for."""
    evidence: list[list[dict[str, Any]]]
    """The most influential terms of each row, the strongest first; empty if not asked for."""


def predictions(classifier: Classifier, data: Any, how: Reading | None, columns: Columns) -> Iterator[Predictions]:
    """Predict all rows, with one batch in memory at a time."""
    from discern.data.readers import batches
    from discern.evaluation.decisions import probability_given
    from discern.evaluation.several.thresholds import probabilities_given

    novelty, highest = columns.novelty or columns.max_false_alarms is not None, 1.0 - (columns.max_false_alarms or 0.0)
    for batch in batches(data, how):
        [found] = classifier.predictions(batch, novelty=novelty)
        unusual = [] if found.novelty is None else found.novelty.tolist()
        if has_several(classifier):
            own: list[Any] = probabilities_given(found.labels, found.probabilities, classifier.labels)
        else:
            own = probability_given(found.labels, found.probabilities, classifier.labels)
        labels = found.labels.tolist()
        if columns.unsure is not None:
            labels = [label if share >= columns.unsure else UNSURE for label, share in zip(labels, own, strict=True)]
        if columns.max_false_alarms is not None:
            labels = [label if one <= highest else UNSURE for label, one in zip(labels, unusual, strict=True)]
        evidence = _evidence(classifier, batch, columns.evidence)
        yield Predictions(batch, labels, own, found.probabilities, found.known.tolist(), unusual, evidence)


def _evidence(classifier: Classifier, batch: Batch, most: int) -> list[list[dict[str, Any]]]:
    if not most:
        return []
    batch = known_columns(batch, classifier)
    rows = (classifier.explain(batch.row(place)) for place in range(batch.rows))
    return [
        [
            {"term": term.term, "shown": term.shown, "column": term.column, "weight": float(term.weight)}
            for term in one.terms[:most]
        ]
        for one in rows
    ]


def _started(found: Iterator[Predictions]) -> Iterator[Predictions]:
    """Predict the first batch now, so that bad data is refused before anything is written."""
    first = list(itertools.islice(found, 1))
    return itertools.chain(first, found)


# ----------------------------------------------------------------------------------------------------- writing


@dataclass
class Layout:
    """The columns of the result and their values."""

    labels: Sequence[str]
    columns: Columns
    separator: str | None = None
    """What stands between labels in CSV, if a row may have several."""
    kept: tuple[str, ...] | None = None
    """The columns of the data that are kept, known from the first rows."""

    def begin(self, batch: Batch | None) -> None:
        """Take the columns of the first rows."""
        self.kept = tuple(batch.columns) if batch is not None and self.columns.append else ()

    def own(self, name: str) -> str:
        """Return the name of a column of the result: another one if the data have it."""
        while name in (self.kept or ()):
            name = f"predicted {name}"
        return name

    @property
    def asked(self) -> list[str]:
        """The names of the columns that were asked for, beside the probabilities of labels."""
        columns = self.columns
        return [*(NOVELTY if columns.novelty else ()), *(["evidence"] if columns.evidence else ())]

    @property
    def names(self) -> list[str]:
        """The names of all columns, in order."""
        first = ["label", "probability", *self.asked]
        own = [self.own(name) for name in first]
        taken = {*(self.kept or ()), *own}
        shares = [f"probability of {label}" if label in taken else label for label in self.labels]
        return [*(self.kept or ()), *own, *(map(self.own, shares) if self.columns.proba else ())]

    def values(self, rows: Predictions) -> list[Any]:
        """Return the values of all columns."""
        evidence = [[f"{term['shown']} {term['weight']:+.2f}" for term in terms] for terms in rows.evidence]
        first = [rows.labels, rows.probabilities, *([rows.novelty, rows.known] if self.columns.novelty else ())]
        first += [list(map(", ".join, evidence))] if self.columns.evidence else []
        return [*self.input(rows.batch), *first, *(rows.shares.T.tolist() if self.columns.proba else ())]

    def input(self, batch: Batch) -> list[Any]:
        """Return the values of the kept columns."""
        if not self.columns.append:
            return []
        surplus = next((name for name in batch.columns if name not in (self.kept or ())), None)
        if surplus is not None:
            from discern.data.strings import DataError

            raise DataError(
                f"{batch.source} has a column {surplus!r} that the rows before {batch.start} do not have, so it has no "
                "place in the result; use --json"
            )
        empty = [None] * batch.rows
        return [batch.columns.get(name, empty) for name in self.kept or ()]


def _write(found: Iterator[Predictions], kind: str, output: Path | None, layout: Layout, at_once: bool) -> int:
    if kind == "parquet":
        assert output is not None
        return _write_parquet(found, output, layout)
    write: Callable[..., Iterator[int]] = _json_lines if kind == "jsonl" else _separated
    rows = 0
    with writing(output) as stream:
        for count in write(stream, found, layout, **({"delimiter": "\t"} if kind == "tsv" else {})):
            rows += count
            if at_once:
                stream.flush()
    return rows


def plain(column: Any) -> list[Any]:
    """Return the values of a column as Python objects."""
    for way in ("to_list", "to_pylist", "tolist"):
        if hasattr(column, way):
            return list(getattr(column, way)())
    return list(column)


@dataclass(frozen=True)
class _Lines:
    r"""Ends rows with \n, though the writer ends them with \r\n: only then it puts a value with \r in quotes."""

    stream: TextIO

    def write(self, row: str) -> int:
        """Write a row, which comes whole."""
        return self.stream.write(row[:-2] + "\n")


def _separated(stream: TextIO, found: Iterator[Predictions], layout: Layout, delimiter: str = ",") -> Iterator[int]:
    writer = csv.writer(_Lines(stream), lineterminator="\r\n", delimiter=delimiter)
    for number, rows in enumerate(_joined(found, layout.separator)):
        if not number:
            layout.begin(rows.batch)
            writer.writerow(layout.names)
        writer.writerows(zip(*(map(_cell, plain(column)) for column in layout.values(rows)), strict=True))
        yield len(rows.labels)
    if layout.kept is None:
        layout.begin(None)
        writer.writerow(layout.names)


def _joined(found: Iterator[Predictions], separator: str | None) -> Iterator[Predictions]:
    """Write several labels and their probabilities as one text each."""
    for rows in found:
        if separator is None:
            yield rows
            continue
        labels = [joined(labels, separator) for labels in rows.labels]
        yield replace(rows, labels=labels, probabilities=[separator.join(map(repr, own)) for own in rows.probabilities])


def _cell(value: Any) -> Any:
    return to_json(value) if isinstance(value, dict | list | bool) else value


def _json_lines(stream: TextIO, found: Iterator[Predictions], layout: Layout) -> Iterator[int]:
    for rows in found:
        layout.begin(rows.batch)  # each row has the columns it has
        kept = [plain(column) for column in layout.input(rows.batch)]
        for place, (label, probability) in enumerate(zip(rows.labels, rows.probabilities, strict=True)):
            row = dict(zip(layout.kept or (), (column[place] for column in kept), strict=True))
            row |= {layout.own("label"): label, layout.own("probability"): probability}
            if layout.columns.proba:
                row[layout.own("probabilities")] = dict(zip(layout.labels, rows.shares[place].tolist(), strict=True))
            if layout.columns.novelty:
                row |= zip(map(layout.own, NOVELTY), (rows.novelty[place], rows.known[place]), strict=True)
            if layout.columns.evidence:
                row[layout.own("evidence")] = rows.evidence[place]
            stream.write(to_json(row) + "\n")
        yield len(rows.labels)


def _write_parquet(found: Iterator[Predictions], output: Path, layout: Layout) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from discern.data.strings import DataError

    refuse_bad_place(output)
    rows, schema, writer = 0, None, None
    with whole_or_not(output) as place:
        try:
            for part in found:
                if schema is None:
                    layout.begin(part.batch)
                arrays = [_arrow(column) for column in layout.values(part)]
                table = pa.table(dict(zip(layout.names, arrays, strict=True)))
                schema = schema or _without_nulls(table.schema)
                writer = writer or pq.ParquetWriter(place, schema)
                writer.write_table(table.cast(schema))
                rows += len(part.labels)
            if writer is None:
                layout.begin(None)
                empty = {name: pa.array([], _arrow_type(name, layout)) for name in layout.names}
                pq.write_table(pa.table(empty), place)
        except (pa.ArrowException, ValueError) as error:
            raise (
                error
                if isinstance(error, DataError)
                else DataError(f"the result cannot be written as Parquet: {error}; use --json")
            ) from error
        finally:
            if writer is not None:
                writer.close()
    return rows


def _arrow_type(name: str, layout: Layout) -> Any:
    """Return the type of a column of the result that has no rows."""
    import pyarrow as pa

    kind = pa.string() if name in ("label", "evidence") else pa.float64()
    return pa.list_(kind) if layout.separator is not None and name in ("label", "probability") else kind


def _arrow(column: Any) -> Any:
    """Convert a column to Arrow; values of different kinds become texts."""
    import pyarrow as pa

    if isinstance(column, pa.Array | pa.ChunkedArray):
        return column
    values = [
        value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value
        for value in plain(column)
    ]
    try:
        return pa.array(values)
    except pa.ArrowException:
        return pa.array(
            [None if value is None else value if isinstance(value, str) else to_json(value) for value in values]
        )


def _without_nulls(schema: Any) -> Any:
    """Make texts of columns that have no values so far, and lists of texts or numbers of lists without any."""
    import pyarrow as pa

    def known(field: Any) -> Any:
        if pa.types.is_null(field.type):
            return field.with_type(pa.string())
        if pa.types.is_list(field.type) and pa.types.is_null(field.type.value_type):
            return field.with_type(pa.list_(pa.float64() if field.name.endswith("probability") else pa.string()))
        return field

    return pa.schema(list(map(known, schema)))
