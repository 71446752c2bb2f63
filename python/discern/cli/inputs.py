"""What predict and explain take: messages, a row, JSON rows, or files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import typer

from discern.cli.options import Input, Threads, argument, option

if TYPE_CHECKING:
    from discern.classifier import Classifier
    from discern.data.batch import Batch

HELP = "A text in quotes, or files with rows: CSV or another --format, plain or compressed; - for rows from stdin."


@dataclass(frozen=True, kw_only=True)
class Inputs(Input):
    """Rows to predict: texts, one row by its values, rows as JSON, or files."""

    panel: ClassVar[str] = "Rows to predict"
    data: list[str] | None = argument(None, "[TEXT|DATA]", HELP)
    message: list[str] | None = option(None, "A text. May be given more than once.", metavar="TEXT")
    value: list[str] | None = option(
        None, "The value of a column. May be given more than once; other columns are missing.", metavar="COLUMN=VALUE"
    )
    row: list[str] | None = option(
        None, "A row as a JSON object of column and value. May be given more than once.", metavar="JSON"
    )
    threads: Threads = None

    def __post_init__(self) -> None:
        given = [bool(self.data), bool(self.message), bool(self.value), bool(self.row)]
        if sum(given) != 1:
            raise ValueError("pass a text or files, or else one of --message, --value and --row")
        texts = [one for one in self.data or () if is_text(one)]
        if texts and len(texts) < len(self.data or ()):
            raise ValueError(f"pass either texts or files: {texts[0]!r} is not a file")
        for one in self.data or ():
            if not texts and " " not in one and "." not in one and not is_source(one):
                raise ValueError(f"no such file: {one!r}; if it is a text, write --message {one!r}")

    @property
    def texts(self) -> list[str]:
        """The texts that were given."""
        return list(self.message or [one for one in self.data or () if is_text(one)])

    @property
    def files(self) -> list[str]:
        """The files that were given."""
        return [] if self.texts else list(self.data or ())

    def rows(self, classifier: Classifier) -> list[dict[str, Any]] | None:
        """Return the rows that were written on the command line; None if they are in files."""
        if self.files:
            return None
        if self.row:
            return [row_of_json(classifier, one) for one in self.row]
        if self.value:
            return [row_of_values(classifier, self.value)]
        column = text_column(classifier)
        return [{**empty_row(classifier), column: text} for text in self.texts]

    @contextmanager
    def source(self, classifier: Classifier, quiet: bool, busy: bool = False, at_once: bool = False) -> Iterator[Any]:
        """Return the rows, or the files to read with their ``Reading``."""
        from discern.data.readers import Sources

        rows = self.rows(classifier)
        with self.reading(self.files, quiet, busy, at_once) as how:
            yield (rows if rows is not None else Sources(tuple(self.files))), how


def is_source(name: str) -> bool:
    """Return whether a name is a file, a folder, a pattern or stdin."""
    return name == "-" or os.path.exists(name) or any(character in name for character in "*?[")


def is_text(given: str) -> bool:
    """Return whether an argument is a text: it has spaces and is neither a file nor named like one.

    Examples
    --------
    >>> is_text("win a prize"), is_text("new.csv"), is_text("my new.csv"), is_text("-")
    (True, False, False, False)
    """
    from discern.data.readers import format_of

    return any(character.isspace() for character in given) and not os.path.exists(given) and format_of(given) is None


def empty_row(classifier: Classifier) -> dict[str, Any]:
    """Return a row in which the value of every column is missing."""
    return {feature.name: None for feature in classifier.features}


def text_column(classifier: Classifier) -> str:
    """Return the only text column of a model."""
    texts = [feature.name for feature in classifier.features if feature.role == "text" and not feature.is_derived]
    if len(texts) != 1:
        has = f"several text columns, {', '.join(map(repr, texts))}" if texts else "no text column"
        raise typer.BadParameter(f"This model has {has}. Pass values with --value COLUMN=VALUE.")
    return texts[0]


def row_of_values(classifier: Classifier, values: Iterable[str]) -> dict[str, Any]:
    """Return a row of values that are written COLUMN=VALUE."""
    from discern.data.batch import did_you_mean

    row = empty_row(classifier)
    for given in values:
        name, equals, value = given.partition("=")
        if not equals:
            raise typer.BadParameter(f"{given!r} is not COLUMN=VALUE")
        if name not in row:
            raise typer.BadParameter(f"the model has no column {name!r}{did_you_mean(name, row)}")
        row[name] = value
    return row


def row_of_json(classifier: Classifier, written: str) -> dict[str, Any]:
    """Return a row that is written as JSON; columns that it does not name are missing."""
    from discern.data.batch import did_you_mean

    try:
        row = json.loads(written)
    except ValueError as error:
        raise typer.BadParameter(f"--row is not JSON: {error}") from error
    if not isinstance(row, dict):
        raise typer.BadParameter("--row must be a JSON object of column names and values")
    known = empty_row(classifier)
    for name in row.keys() - {*known, classifier.label}:
        raise typer.BadParameter(f"the model has no column {name!r}{did_you_mean(name, known)}")
    return row


def message_of(classifier: Classifier, row: Any) -> str:
    """Return the texts of a row, to show them with their evidence."""
    columns = [feature.name for feature in classifier.features if feature.role == "text" and not feature.is_derived]
    only = list(row) if len(row) == 1 and len(columns) == 1 else columns  # the only column is meant, whatever its name
    texts: Sequence[Any] = [row.get(name) for name in dict.fromkeys(only)]
    return "\n".join(text for text in texts if isinstance(text, str)).strip()


def known_columns(batch: Batch, classifier: Classifier) -> Batch:
    """Return rows with the columns that the model decides by; raises ``DataError`` if one is not there."""
    if len(batch.columns) == 1 or batch.is_partial:  # the only column is meant, whatever its name
        return batch
    names = dict.fromkeys(feature.name for feature in classifier.features)
    return replace(batch, columns={name: batch.column(name) for name in names})
