"""The meaning of values: this module alone decides which texts, labels and numbers are equal in all containers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

import discern._native as _native

if TYPE_CHECKING:
    from numpy.typing import NDArray

_TRUTH = {"True": "true", "TRUE": "true", "False": "false", "FALSE": "false"}
_WHOLE = re.compile(r"(-?(?:0|[1-9][0-9]*))\.0+")
_MOMENT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,9}))?(Z|[+-][0-9]{2}:?[0-9]{2})?"
)
_DATE = re.compile(
    r"(?:[0-9]{4}([-/.])([0-9]{1,2})\1([0-9]{1,2})|([0-9]{1,2})[-/.]([0-9]{1,2})[-/.](?:[0-9]{4}|[0-9]{2}))"
    r"(?:[T ]+[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?(?: ?[AaPp][Mm])?(?: ?(?:Z|UTC|[+-][0-9]{2}:?[0-9]{2}))?)?"
)
_FOLDED_STARTS = frozenset("0123456789-TF")
_DAYS_OR_MORE, _MINUTES_OR_MORE, _FINE = ("Y", "M", "W"), ("h", "m"), ("ps", "fs", "as")


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, NaT or pandas' NA.

    Examples
    --------
    >>> [is_missing(value) for value in (None, float("nan"), "", 0)]
    [True, True, False, False]
    """
    if value is None:
        return True
    if isinstance(value, float | np.floating | np.datetime64 | np.timedelta64):
        return bool(value != value)
    if isinstance(value, Decimal):
        return value.is_nan()
    return type(value).__name__ in ("NAType", "NaTType")


def written(value: Any) -> str | None:
    """Return a value as a CSV file holds it; None if it is missing.

    Raises ``UnicodeDecodeError`` for bytes that are not UTF-8.

    Examples
    --------
    >>> [written(value) for value in (True, 1, 1.0, np.float32(0.1), b"spam", date(2024, 1, 2), None)]
    ['true', '1', '1.0', '0.1', 'spam', '2024-01-02', None]
    """
    if isinstance(value, str):
        return str(value)
    if is_missing(value):
        return None
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).decode("utf-8")
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, int | np.integer) and not isinstance(value, np.timedelta64):
        return str(int(value))
    if isinstance(value, float | np.floating):
        return repr(_double(value))
    if isinstance(value, Decimal):
        return format(value, "f")
    return _written_time(value)


def _written_time(value: Any) -> str:
    if isinstance(value, datetime):
        return folded_moment(value.isoformat())
    if isinstance(value, np.datetime64):
        return folded_moment(np.datetime_as_string(_in_common_unit(value)).item())
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, np.timedelta64):
        value = value.astype("timedelta64[us]").item()
    if isinstance(value, timedelta):  # pandas' own kind is written otherwise
        return str(timedelta(value.days, value.seconds, value.microseconds))
    return str(value)


def _in_common_unit(value: np.datetime64) -> np.datetime64:
    """Return a time in a unit that NumPy writes as a date, or with hours, minutes and seconds."""
    unit = np.datetime_data(value.dtype)[0]
    common = "D" if unit in _DAYS_OR_MORE else "s" if unit in _MINUTES_OR_MORE else "ns" if unit in _FINE else None
    return value if common is None else value.astype(f"datetime64[{common}]")


def canonical(text: str) -> str:
    """Fold texts that mean the same label or level: truth values, whole numbers, dates and times.

    Everything else is unchanged, such as postal codes, versions and spaces.

    Examples
    --------
    >>> [canonical(text) for text in ("True", "1.0", "-0.0", "2024-01-02T00:00:00", "007", "1.10", "spam ")]
    ['true', '1', '0', '2024-01-02', '007', '1.10', 'spam ']
    """
    if text[:1] not in _FOLDED_STARTS:
        return text
    whole = _WHOLE.fullmatch(text)
    if whole:
        text = whole[1]
    return "0" if text == "-0" else _TRUTH.get(text) or folded_moment(text)


def folded_moment(text: str) -> str:
    """Write an ISO 8601 date and time in the shortest way, in UTC if it has an offset; other texts are unchanged.

    Examples
    --------
    >>> folded_moment("2024-01-02T03:04:05.500"), folded_moment("2024-01-02 00:00:00+01:00")
    ('2024-01-02 03:04:05.5', '2024-01-01 23:00:00Z')
    """
    found = _MOMENT.fullmatch(text)
    if not found:
        return text
    day, clock, fraction, zone = found.groups(default="")
    try:
        moment = datetime.fromisoformat(f"{day} {clock}") - _offset(zone)
    except (ValueError, OverflowError):  # no such day, or before the year 1
        return text
    shown, fraction = str(moment), fraction.rstrip("0")
    if not (zone or fraction):
        return shown.removesuffix(" 00:00:00")
    return shown + (f".{fraction}" if fraction else "") + ("Z" if zone else "")


def is_moment(text: str) -> bool:
    """Return whether a text is a date, or a date and time: as ISO 8601 has it, or with day and month in any order.

    Examples
    --------
    >>> [is_moment(text) for text in ("2024-01-02", "2024-01-02 03:04:05Z", "31/12/2024", "12.31.24 9:05", "1.10")]
    [True, True, True, True, False]
    """
    found = _DATE.fullmatch(text)
    if not found:
        return False
    day, month = int(found[2] or found[4]), int(found[3] or found[5])
    return 1 <= min(day, month) <= 12 and max(day, month) <= 31


def _offset(zone: str) -> timedelta:
    if zone in ("", "Z"):
        return timedelta()
    minutes = int(zone[1:3]) * 60 + int(zone[-2:])
    return timedelta(minutes=-minutes if zone[0] == "-" else minutes)


def label_text(value: Any) -> str:
    """Return the text by which a model knows a label.

    Examples
    --------
    >>> label_text(True), label_text(1.0), label_text("spam")
    ('true', '1', 'spam')
    """
    text = written(value)
    if not text:
        raise ValueError(f"{value!r} is not a label; pass a text, a number or a truth value")
    return canonical(text)


def merged(numbers: NDArray[np.int32], names: Iterable[str]) -> tuple[NDArray[np.int32], list[str]]:
    """Assign one number to equal names; ``numbers`` are the indices of rows into ``names``.

    Examples
    --------
    >>> merged(np.array([0, 1, 2], np.int32), ["yes", "no", "yes"])
    (array([0, 1, 0], dtype=int32), ['yes', 'no'])
    """
    places: dict[str, int] = {}
    new = [places.setdefault(name, len(places)) for name in names]
    if len(places) == len(new):
        return numbers, list(places)
    return np.array(new, numbers.dtype)[numbers], list(places)


# ------------------------------------------------------------------------------------------------------- numbers


def doubles(numbers: NDArray[Any]) -> NDArray[np.float64]:
    """Return integers, truth values or floats as 64-bit floats.

    A 16-bit or 32-bit float becomes the value of its shortest decimal text, so that 0.1 is 0.1 at any precision.

    Examples
    --------
    >>> doubles(np.array([0.1, 1e10], np.float32)).tolist()
    [0.1, 10000000000.0]
    """
    if numbers.dtype == np.float32:
        return _native.widened(np.ascontiguousarray(numbers, np.float32))
    if numbers.dtype == np.float16:
        distinct, places = np.unique(numbers, return_inverse=True)
        return np.array([_double(number) for number in distinct], np.float64)[places]
    return numbers.astype(np.float64, copy=False)


def _double(number: float | np.floating[Any]) -> float:
    narrow = isinstance(number, np.float32 | np.float16)
    return float(str(number)) if narrow else float(number)


# ---------------------------------------------------------------------------------------------- labels with marks

LIKELY = ("|", ";", ",")
"""Separators that a column of labels may have."""
OFTEN = 0.05
"""A separator is frequent if this share of the rows has it."""
KNOWN = 0.5
"""What stands between separators are labels if this share of it also stands alone in other rows."""


def likely_separator(rows: Mapping[str, int]) -> str | None:
    """Return the separator that labels seem to have, such as ``|`` between labels that other rows have alone.

    ``rows`` are the numbers of rows of each label.

    Examples
    --------
    >>> likely_separator({"oil": 9, "corn|oil": 5, "corn": 5, "tea|oil": 2}), likely_separator({"a": 5, "b": 7})
    ('|', None)
    """
    total = sum(rows.values())
    for mark in LIKELY:
        joined = [label for label in rows if mark in label]
        parts = {part.strip() for label in joined for part in label.split(mark)}
        if (
            joined
            and sum(rows[label] for label in joined) >= OFTEN * total
            and len(parts & {*rows}) >= KNOWN * len(parts)
        ):
            return mark
    return None


def separator_hint(labels: Sequence[str], numbers: NDArray[Any]) -> str:
    """Return what to do if labels seem to have a separator between them, as the end of a message; else nothing.

    ``numbers`` are the number of each row's label.

    Examples
    --------
    >>> separator_hint(["oil", "corn|oil", ""], np.array([0, 1, 1, 2]))
    "; labels seem to be separated by '|': for rows of several labels, or none, pass label_separator='|'"
    >>> separator_hint(["oil", ""], np.array([0, 1]))
    ''
    """
    mark = likely_separator(dict(zip(labels, np.bincount(numbers, minlength=len(labels)).tolist(), strict=True)))
    told = (
        f"labels seem to be separated by {mark!r}: for rows of several labels, or none, pass label_separator={mark!r}"
    )
    return f"; {told}" if mark else ""
