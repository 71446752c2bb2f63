"""Request bodies to rows: strict JSON, and values that fit the columns of the model."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from discern.data.batch import Batch
from discern.data.roles import MOST_NUMBER, Feature
from discern.data.strings import Strings
from discern.data.values import label_text, written
from discern.data.vectors.column import MOST_SINGLE, Vectors
from discern.service.problems import Problem
from discern.service.settings import Limits
from discern.service.state import State

Row = dict[str, Any]

LONGEST_LABEL = 200
"""Characters of a label."""
MOST_LABELS = 1000
"""Labels of a row, where it may have several."""
LONGEST_VALUE = 1000
"""Characters of the value of a category or flag."""


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite)


def parse(body: bytes) -> Any:
    """Read JSON as RFC 8259 has it, in UTF-8; refuses NaN, numbers beyond floats, lone surrogates and deep nesting."""
    try:
        text = body.decode("utf-8")
        value = _DECODER.decode(text)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        raise Problem(400, "bad-json", "a text contains half of a surrogate pair; send whole characters") from error
    except UnicodeDecodeError as error:
        raise Problem(400, "bad-json", f"the body is not UTF-8 at byte {error.start}; send UTF-8") from error
    except RecursionError as error:
        raise Problem(400, "bad-json", "the JSON is nested too deeply; send a flat object") from error
    except json.JSONDecodeError as error:
        raise Problem(400, "bad-json", f"the body is not JSON: {error.msg} at character {error.pos}") from error
    except ValueError as error:
        raise Problem(400, "bad-json", "a number is not valid JSON, or is too large; send finite numbers") from error
    return value


def _is(value: Any, feature: Feature) -> bool:
    """Return whether a value fits a column."""
    if value is None:
        return True
    if feature.role == "text":
        return isinstance(value, str)
    if feature.role == "number":
        return isinstance(value, int | float) and abs(value) <= MOST_NUMBER
    if feature.role == "vector":
        return isinstance(value, list) and len(value) == feature.n_axes and all(map(_fits_vector, value))
    return _is_short(value, LONGEST_VALUE)


def _fits_vector(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= MOST_SINGLE


def _is_short(value: Any, longest: int) -> bool:
    """Return whether a value is a text without NUL, a number or a boolean, and not too long."""
    if not isinstance(value, str | int | float):
        return False
    text = str(written(value))
    return len(text) <= longest and "\0" not in text


WANTED = {
    "text": "a text",
    "number": f"a number up to {MOST_NUMBER:g}",
    "category": f"a text of up to {LONGEST_VALUE:,} characters, a number, true or false",
    "flag": "true or false",
}


def _wanted(feature: Feature) -> str:
    """Return in words what the value of a column must be."""
    return f"a list of {feature.n_axes:,} numbers" if feature.role == "vector" else WANTED[feature.role]


class Reader:
    """Checks rows against the columns of the model."""

    def __init__(self, state: State, limits: Limits) -> None:
        self._state, self.limits = state, limits
        self._features = {feature.name: feature for feature in state.classifier.features}
        self._words = replace(state.classifier.resolved.text, ngrams=(1, 1))

    def row(self, value: Any, place: str = "the row", labeled: bool = False) -> Row:
        """Return one row; refuses unknown columns and values that do not fit."""
        if not isinstance(value, dict) or not value:
            raise Problem(
                422, "bad-rows", f"{place} must be a JSON object of column names and values, such as {self._example()}"
            )
        if labeled:
            value = {**value, self._state.label: self.label(value.get(self._state.label), place)}
        if labeled and len(value) == 1:
            raise Problem(422, "bad-rows", f"{place} has only a label; add values such as {self._example()}")
        for name, one in value.items():
            if not labeled or name != self._state.label:
                self._check(name, one, place)
        return dict(value)

    def batch(self, batch: Batch) -> None:
        """Refuse values of CSV or JSON lines that do not fit the columns of the model. Other columns are allowed."""
        for name, feature in self._features.items():
            column = batch.columns.get(name, [])
            if isinstance(column, Vectors) and feature.role == "vector":
                self._check(name, column.values[0].tolist(), f"row {batch.start}") if len(column) else None
            elif not isinstance(column, Strings):
                for number, value in enumerate(column, batch.start):
                    self._check(name, value, f"row {number}")
            elif feature.role == "text":
                for place in np.flatnonzero(column.lengths > self.limits.tokens).tolist():
                    self._refuse_long(column[place], name, f"row {batch.start + place}")
        for column in batch.columns.values():
            if isinstance(column, list):
                _refuse_invalid_json(column)

    def refuse_many(self, rows: int) -> None:
        """Refuse more rows than one body may have."""
        if rows > self.limits.rows:
            raise Problem(
                422, "too-many-rows", f"more than {self.limits.rows:,} rows; send fewer at once, or stream them"
            )

    def _check(self, name: str, value: Any, place: str) -> None:
        feature = self._features.get(name)
        if feature is None:
            listed = ", ".join(map(repr, list(self._features)[:12]))
            raise Problem(
                422, "bad-rows", f"{place} has a column that the model does not have; its columns are {listed}"
            )
        if not _is(value, feature):
            raise Problem(422, "bad-rows", f"{place}, column {name!r}: the value must be {_wanted(feature)}, or null")
        if feature.role == "text" and value is not None:
            self._refuse_long(value, name, place)

    def _refuse_long(self, text: str, name: str, place: str) -> None:
        most = self.limits.tokens
        if len(text) > most and len(self._words.terms(text)) > most:
            raise Problem(422, "bad-rows", f"{place}, column {name!r}: more than {most:,} words; shorten the text")

    def label(self, value: Any, place: str) -> str | list[str]:
        """Return a label as the text that the model uses; or a list of them, if a row may have several."""
        if not self._state.has_several:
            return self._one_label(value, place)
        if not isinstance(value, list) or len(value) > MOST_LABELS:
            raise Problem(
                422,
                "bad-rows",
                f"{place} needs a list of labels in {self._state.label!r}: up to {MOST_LABELS:,} of them, or none",
            )
        return sorted({self._one_label(one, place) for one in value})

    def _one_label(self, value: Any, place: str) -> str:
        if not _is_short(value, LONGEST_LABEL) or value == "":
            raise Problem(
                422,
                "bad-rows",
                f"{place} needs a label in {self._state.label!r}: a text of 1 to {LONGEST_LABEL} characters without "
                "NUL, a number, true or false",
            )
        return label_text(value)

    def rows(self, value: Any, labeled: bool = False) -> list[Row]:
        """Return the rows of a list."""
        if not isinstance(value, list) or not value:
            raise Problem(
                422, "bad-rows", "'rows' must be a list of at least one row: a JSON object of column names and values"
            )
        self.refuse_many(len(value))
        return [self.row(one, f"row {number}", labeled) for number, one in enumerate(value, 1)]

    def _example(self) -> str:
        values = {"text": "…", "vector": [0.5]}
        return json.dumps({name: values.get(feature.role) for name, feature in self._features.items()})[:200]


def _refuse_invalid_json(column: list[Any]) -> None:
    if not all(math.isfinite(value) for value in column if isinstance(value, float)):
        raise Problem(400, "bad-json", "a number is not valid JSON, or is too large; send finite numbers")
    try:
        "".join(value for value in column if isinstance(value, str)).encode("utf-8")
    except UnicodeEncodeError as error:
        raise Problem(400, "bad-json", "a text contains half of a surrogate pair; send whole characters") from error


def fields(body: Any, needed: Sequence[str]) -> list[Any]:
    """Return the fields of an object, which has no others."""
    if not isinstance(body, dict) or set(body) != set(needed):
        raise Problem(
            422, "bad-rows", f"the body must be an object with {', '.join(map(repr, needed))} and no other keys"
        )
    return [body[name] for name in needed]
