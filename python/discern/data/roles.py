"""Roles of columns (text, number, category, flag, vector): inferring them, and reading values as numbers or levels."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

import discern._native as _native
from discern.data.batch import Batch, as_texts, row_sizes, typed_numbers, values_of
from discern.data.bins import assign
from discern.data.hashes import vector_hashes
from discern.data.strings import DataError, Strings
from discern.data.text import VIEWS
from discern.data.values import canonical, is_moment
from discern.data.vectors.column import lengths_of, seems_vectors
from discern.data.vectors.grid import COARSE, Grid

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROLES = ("text", "number", "category", "flag", "vector")
LENGTH = "length"
"""The role of the number of words of a text."""
EMBEDDING = "embedding"
"""The view of a text as a vector."""
NUMBERS = ("gaussian", "quantile", "uniform", "mdl")
IGNORED = "ignored"
"""The role of a column that a user has left out."""
OTHERS = "*"
"""In the place of a name: all columns whose role was not given."""
MISSING = (
    "", "?", "-", "--", "NA", "N/A", "n/a", "na", "#N/A", "#NA", "<NA>", "NaN", "nan", "NaT", "NULL", "Null", "null",
    "None",
)  # fmt: skip
"""Values of a number, category or flag that mean a missing one."""
MOST_NUMBER = float(np.finfo(np.float64).max)
"""The greatest number; beyond it is only infinity, which has no sum."""
TRUTH = {"true": 1.0, "false": 0.0}
YES = ("1", "true", "yes", "y", "t")
NO = ("0", "false", "no", "n", "f")
MOST_LEVELS = 1000
"""A column with more distinct values is not a category."""
LAID_BY = 4096
"""The most vectors that a grid is laid by."""
LOOKED_AT, MOST_LOOKED_AT = 10_000, 1 << 24
"""The number of rows for inferring roles, and the limit on their bytes."""


@dataclass(frozen=True)
class Feature:
    """A predictor column: its name, its role, and the edges of its bins if it is a binned number.

    A number without edges has a normal density in each class. Of a text, more can be used than its terms: its length
    (the role ``"length"``), terms of another ``view``, and its embedding (a vector with the view ``"embedding"``).
    These are derived from the column of the same name.
    """

    name: str
    role: str
    edges: tuple[float, ...] | None = None
    view: str = ""
    grid: Grid | None = None
    """What a vector is rounded to, laid when the column is first learned; its axes are the numbers of the vector."""

    def __post_init__(self) -> None:
        if self.view and self.view not in {"text": VIEWS, "vector": (EMBEDDING,)}.get(self.role, ()):
            raise ValueError(f"the column {self.name!r} cannot be viewed as {self.view!r}")
        if self.role not in (*ROLES, LENGTH, IGNORED):
            raise ValueError(f"the role of {self.name!r} must be one of {', '.join(ROLES)}, not {self.role!r}")
        if self.edges is not None and not (
            self.role == "number" and len(self.edges) > 1 and all(low < high for low, high in pairwise(self.edges))
        ):
            raise ValueError(f"the edges of {self.name!r} must rise")

    @property
    def is_derived(self) -> bool:
        """Whether this is derived from a text column that is a predictor itself."""
        return self.role == LENGTH or bool(self.view)

    @property
    def is_chosen(self) -> bool:
        """Whether validation added it: a view of a text or its length."""
        return self.is_derived and self.view != EMBEDDING

    @property
    def column(self) -> str:
        """The column of a batch that holds its values; an embedding stands beside its text."""
        return f"{self.name}\0{EMBEDDING}" if self.view == EMBEDDING else self.name

    @property
    def described(self) -> str:
        """The column in words.

        Examples
        --------
        >>> Feature("size", "number", (0.0, 1.0, 2.0)).described, Feature("text", "text", view="characters").described
        ("number 'size' in 2 bins", "characters of 'text'")
        """
        if self.is_derived:
            return f"{self.view or self.role} of {self.name!r}"
        if self.role == "vector" and self.grid is not None:
            return f"vector {self.name!r} of {len(self.grid)} numbers"
        count = len(self.edges or ()) - 1
        bins = "" if self.edges is None else f" in {count} bin{'s' if count != 1 else ''}"
        return f"{self.role} {self.name!r}{bins}"

    @property
    def is_binned(self) -> bool:
        """Whether this is a number cut into bins."""
        return self.edges is not None

    @property
    def is_normal(self) -> bool:
        """Whether this is a number with a normal density in each class."""
        return self.role == "number" and self.edges is None

    @property
    def n_axes(self) -> int | None:
        """The numbers of a vector, if that is known."""
        return None if self.grid is None else len(self.grid)

    def to_json(self) -> dict[str, Any]:
        """Return the feature as plain values."""
        edges = None if self.edges is None else [_edge_to_json(edge) for edge in self.edges]
        view = {"view": self.view} if self.view else {}
        grid = {} if self.grid is None else {"grid": self.grid.to_json()}
        return {"name": self.name, "role": self.role, "edges": edges, **view, **grid}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Feature:
        """Make a feature from the result of :meth:`to_json`."""
        edges = values["edges"]
        edges = None if edges is None else tuple(float(edge) for edge in edges)
        grid = None if "grid" not in values else Grid.from_json(values["grid"])
        return cls(str(values["name"]), values["role"], edges, values.get("view", ""), grid)

    def usual_range(self) -> list[float] | None:
        """Return the rounded range and step of most numbers of a column in bins; None if there is one bin.

        The outermost edges are infinite: the range goes beyond the others by the mean distance of edges.

        Examples
        --------
        >>> Feature("size", "number", (-np.inf, 10.0, 20.0, np.inf)).usual_range()
        [0.0, 30.0, 0.1]
        """
        inner = [] if self.edges is None else self.edges[1:-1]
        if not inner:
            return None
        reach = (inner[-1] - inner[0]) / (len(inner) - 1) if len(inner) > 1 else abs(inner[0]) or 1.0
        least = 0.0 if inner[0] > 0 else -np.inf
        return rounded_range(max(inner[0] - reach, least), inner[-1] + reach)

    def bins(self) -> list[str]:
        """Return the names of the bins in order; edges have as many digits as needed to tell them apart."""
        edges = [] if self.edges is None else self.edges[1:-1]
        written = ([f"{edge:.{digits}g}" for edge in edges] for digits in (6, 9, 12, 15, 17))
        inner = next(names for names in written if len(set(names)) == len(edges))
        if not inner:
            return ["any"]
        between = [f"{low} to {high}" for low, high in pairwise(inner)]
        return [f"below {inner[0]}", *between, f"{inner[-1]} or more"]


MOST_ROUNDED = 1e307
"""The greatest end of a rounded range."""
RANGE_STEPS = 200
"""The least steps of a rounded range."""


def rounded_range(low: float, high: float) -> list[float]:
    """Return a range moved outward to round numbers, and the step between them: a power of ten.

    Examples
    --------
    >>> rounded_range(2.871, 8.136), rounded_range(-3.0, 1204.0)
    ([2.87, 8.14, 0.01], [-3.0, 1204.0, 1.0])
    """
    low, high = (min(max(end, -MOST_ROUNDED), MOST_ROUNDED) for end in (low, high))
    span = max(high - low, 1e-12 * abs(low), 1e-290)
    power = math.floor(math.log10(span / RANGE_STEPS))
    step = float(f"1e{power}")
    return [round(math.floor(low / step) * step, -power), round(math.ceil(high / step) * step, -power), step]


def _edge_to_json(edge: float) -> float | str:
    return edge if np.isfinite(edge) else str(edge)


# ------------------------------------------------------------------------------------------------- values


def numbers_of(batch: Batch, name: str) -> NDArray[np.float64]:
    """Return a column as numbers, NaN where one is missing; true is 1 and false is 0.

    Raises ``DataError`` for a value that is not a number or is too large.

    Examples
    --------
    >>> numbers_of(Batch({"size": ["1.5", "", 2, True]}, 4), "size").tolist()
    [1.5, nan, 2.0, 1.0]
    """
    numbers = _read_numbers(batch, name)
    is_huge = np.isinf(numbers)
    if is_huge.any():
        huge = np.flatnonzero(is_huge)
        raise DataError(
            f"row {batch.start + int(huge[0])} of {batch.source}, column {name!r}: {numbers[huge[0]]:g} is too large a "
            "number; correct it, leave it empty, or use the column as a category"
        )
    return numbers


def _read_numbers(batch: Batch, name: str) -> NDArray[np.float64]:
    typed = typed_numbers(batch.column(name))
    if typed is not None:
        return typed
    texts = batch.texts(name)
    numbers, odd, _ = _native.numbers(texts)
    if len(odd):
        numbers[odd] = _read_odd_numbers(_strings_at(texts, odd), odd, batch, name)
    return numbers


def with_values_read(batch: Batch, features: Sequence[Feature]) -> Batch:
    """Return a batch in which texts of numbers and of vectors are read already: equal rows then have equal keys.

    Texts of numbers are read where nothing can tell the difference.

    Examples
    --------
    >>> batch = Batch({"size": Strings.of(["1.50", ""]), "other": Strings.of(["NA", "2"])}, 2)
    >>> read = with_values_read(batch, [Feature("size", "number"), Feature("other", "number")])
    >>> read.columns["size"], type(read.columns["other"])
    (array([1.5, nan]), <class 'discern.data.strings.Strings'>)
    """
    columns = dict(batch.columns)
    for feature in features:
        column = columns.get(feature.column)
        if feature.role == "number" and isinstance(column, Strings):
            numbers, _, is_plain = _native.numbers(column.native())
            if is_plain:
                columns[feature.name] = numbers
        elif feature.role == "vector" and column is not None and getattr(column, "ndim", 1) == 1:
            columns[feature.column] = batch.vectors(feature.column, feature.n_axes)
    return replace(batch, columns=columns)


def _strings_at(texts: Any, places: NDArray[np.int64]) -> Strings:
    """Return some texts, given in the form of the native code."""
    if isinstance(texts, list):
        return Strings.of([texts[place] for place in places.tolist()])
    return Strings(*_native.packed(texts)).take(places)


def _read_odd_numbers(texts: Strings, rows: NDArray[np.int64], batch: Batch, name: str) -> NDArray[np.float64]:
    """Read texts that the native code leaves, such as ``inf`` and digits of other scripts."""
    places, offsets, data = _native.distinct(texts.native())
    numbers = np.full(len(offsets) - 1, np.nan)
    for place, text in enumerate(Strings(offsets, data).to_list()):
        number = _number(text)
        if number is None:
            row = batch.start + int(rows[np.flatnonzero(places == place)[0]])
            raise DataError(
                f"row {row} of {batch.source}, column {name!r}: {text[:40]!r} is not a number; "
                "correct it, leave it empty, or use the column as a category"
            )
        numbers[place] = number
    return np.asarray(numbers[places])


def _number(text: str) -> float | None:
    """Return the number that a text holds, NaN for a missing one, None if it holds none."""
    text = canonical(text.strip())
    if text in MISSING:
        return float("nan")
    if text in TRUTH:
        return TRUTH[text]
    try:
        return None if "_" in text else float(text)  # underscores are Python's, not a data file's
    except ValueError:
        return None


def levels_of(batch: Batch, feature: Feature) -> tuple[NDArray[np.int64], list[str]]:
    """Return the level of each row as a number, −1 where it is missing, and the levels.

    Examples
    --------
    >>> levels_of(Batch({"country": ["fr", "?", " de", "fr"]}, 4), Feature("country", "category"))
    (array([ 0, -1,  1,  0]), ['fr', 'de'])
    """
    if feature.edges is not None:
        return assign(numbers_of(batch, feature.name), np.asarray(feature.edges)), feature.bins()
    numbers, offsets, data = _native.distinct(batch.texts(feature.name))
    places: dict[str, int] = {}
    found = np.full(len(offsets) - 1, -1, np.int64)
    for number, value in enumerate(Strings(offsets, data).to_list()):
        level = canonical(value.strip())
        if level in MISSING:
            continue
        if feature.role == "flag":
            level = yes_or_no(level)
        found[number] = places.setdefault(level, len(places))
    return (found[numbers] if len(found) else numbers.astype(np.int64)), list(places)


def yes_or_no(value: str) -> str:
    """Return "yes" or "no" for the usual spellings; other values are unchanged."""
    lowered = value.lower()
    return "yes" if lowered in YES else "no" if lowered in NO else value


def with_grid(feature: Feature, batch: Batch) -> Feature:
    """Return a column of vectors with a grid laid by the first rows, the same in whatever order they come.

    Raises ``DataError`` if none of these rows has a vector.
    """
    if feature.role != "vector" or feature.grid is not None:
        return feature
    vectors = batch.vectors(feature.column)
    if not vectors.present.any():
        raise DataError(
            f"{batch.source_has} no vector in column {feature.name!r} in the first {batch.rows:,} rows; leave the "
            "column out, or put rows first that have one"
        )
    order = np.argsort(vector_hashes(vectors), kind="stable")
    order = order[vectors.present[order]][:LAID_BY]
    return replace(feature, grid=Grid.fit(vectors.values[order], COARSE))


# -------------------------------------------------------------------------------------------------- roles


def leading_rows(stream: Iterator[Batch]) -> tuple[Batch | None, Iterator[Batch]]:
    """Return the rows to infer roles from, and a stream of all rows.

    The rows depend only on the table, and not on its division into batches.
    """
    read, rows, size = list[Batch](), 0, 0
    for batch in stream:
        some = batch.first(LOOKED_AT - rows)
        ends = size + np.cumsum(row_sizes(some))
        within = int(np.searchsorted(ends, MOST_LOOKED_AT)) + 1  # with the row that exceeds the limit
        rows, size = rows + min(within, some.rows), int(ends[-1]) if some.rows else size
        read.append(batch)
        if rows == LOOKED_AT or size >= MOST_LOOKED_AT:
            break
    return _joined(read, rows) if rows else None, _again(read, stream)


def _again(read: list[Batch], stream: Iterator[Batch]) -> Iterator[Batch]:
    while read:
        yield read.pop(0)
    yield from stream


def _joined(read: list[Batch], rows: int) -> Batch:
    """Return the first rows of several batches as one."""
    if len(read) == 1:
        return read[0].first(rows)
    if all(isinstance(column, Strings) for batch in read for column in batch.columns.values()):
        return _joined_strings(read, rows)
    columns: dict[str, list[Any]] = {}
    seen = 0
    for batch in read:
        some = batch.first(rows - seen)
        for name, column in some.columns.items():
            columns.setdefault(name, [None] * seen).extend(values_of(column))
        seen += some.rows
        columns = {name: values + [None] * (seen - len(values)) for name, values in columns.items()}
    return replace(read[0], columns=columns, rows=rows)


def _joined_strings(read: list[Batch], rows: int) -> Batch:
    """Do the same for batches of a file whose columns are all texts, without Python's strings."""
    starts = np.cumsum([0, *(batch.rows for batch in read)])
    some = [batch.first(rows - int(start)) for batch, start in zip(read, starts, strict=False)]
    columns = {name: Strings.total([batch.columns[name] for batch in some]) for name in read[0].columns}
    return replace(read[0], columns=columns, rows=rows)


def infer(
    batch: Batch, label: str, given: Mapping[str, Feature] = MappingProxyType({})
) -> tuple[list[Feature], dict[str, str]]:
    """Infer the role of each column except the label; also return the columns that are left out, with the reason.

    Columns in ``given`` have the role that is given there; if it has ``OTHERS``, all others are left out.

    Examples
    --------
    >>> rows = {"label": ["a", "b"], "text": ["x", "y"], "size": ["1", "2.5"], "paid": ["yes", "no"]}
    >>> [(found.name, found.role) for found in infer(Batch(rows, 2), "label")[0]]
    [('text', 'text'), ('size', 'number'), ('paid', 'flag')]
    """
    features, left_out, some = [], {}, batch.first(LOOKED_AT)
    for name in batch.columns:
        if name == label:
            continue
        if name in given:
            features.append(given[name])
            continue
        if OTHERS in given:
            left_out[name] = BY_USER
            continue
        role = "text" if batch.is_text(name) else _role_of(some, name)
        if role in ROLES:
            features.append(Feature(name, role))
        else:
            left_out[name] = role
    left_out |= {feature.name: BY_USER for feature in features if feature.role == IGNORED}
    features = [feature for feature in features if feature.role != IGNORED]
    strings = [name for name, reason in left_out.items() if reason == DIFFERENT]
    if not features and strings:  # there is no other predictor
        features.append(Feature(strings[0], "text"))
        del left_out[strings[0]]
    return features, left_out


NAMES_OF_IDS = ("id", "index", "row", "")
"""Names of columns that may number the rows."""
FEW_NUMBERS = 100
"""The first numbers of a longer column are looked at to tell it from a flag."""
EMPTY, DIFFERENT, NUMBERED = "it is empty", "nearly every row has a different value", "it numbers the rows"
BY_USER = "you chose to ignore it"
DATES = "it holds dates; add columns such as the year, month or weekday to use them"


def _role_of(batch: Batch, name: str) -> str:
    """Return the role of a column, or the reason why it has none."""
    column = batch.columns[name]
    if not isinstance(column, Strings) and lengths_of(column) is not None and seems_vectors(column):
        return "vector"
    if _is_clearly_number(batch, name):
        return "number"
    return _role(name, values_as_levels(batch, name))


def _is_clearly_number(batch: Batch, name: str) -> bool:
    """Return whether a column holds numbers that are neither a flag nor the numbers of the rows; if in doubt, not."""
    numbers = typed_numbers(batch.columns[name], truth=False)
    if numbers is None:
        numbers, odd, _ = _native.numbers(batch.texts(name))
        if len(odd):
            return False
    known = numbers[~np.isnan(numbers)]
    if name.lower() in NAMES_OF_IDS or len(known) < FEW_NUMBERS or len(np.unique(known[:FEW_NUMBERS])) < 3:
        return False
    with np.errstate(invalid="ignore"):
        return bool(np.any(np.diff(known) != 1))


def _role(name: str, values: list[str]) -> str:
    texts = [text for text in values if text not in MISSING]
    if not texts:
        return EMPTY
    if texts[0].startswith("[") and seems_vectors(texts):
        return "vector"
    distinct = Counter(texts)
    if len(distinct) <= 2 and all(value.lower() in (*YES, *NO) for value in distinct):
        return "flag"
    if all(_number(text) is not None for text in distinct):
        return NUMBERED if _numbers_rows(name, texts) else "number"
    various = len(distinct) > MOST_LEVELS or len(distinct) > len(texts) / 2
    if various and all(map(is_moment, distinct)):
        return DATES
    words = sum(count * len(text.split()) for text, count in distinct.items()) / len(texts)
    if words > 2.5 or (various and words > 1.2):
        return "text"
    if various and len(texts) >= 20:
        return DIFFERENT if all(text.isascii() for text in texts) else "text"
    return "category"


def _numbers_rows(name: str, values: list[str]) -> bool:
    """Return whether a column holds 1, 2, 3, …, or has the name of an id and another value in each row."""
    if len(set(values)) < len(values) or not all(value.isdecimal() for value in values):
        return False
    steps = {int(after) - int(before) for before, after in pairwise(values)}
    return name.lower() in NAMES_OF_IDS or (len(values) > 2 and steps == {1})


def values_as_levels(batch: Batch, name: str) -> list[str]:
    """Return the values of a column as levels are compared."""
    texts = as_texts(batch.columns[name], f"column {name!r} of {batch.source}", batch.start)
    numbers, offsets, data = _native.distinct(texts)
    values = [canonical(value.strip()) for value in Strings(offsets, data).to_list()]
    return [values[number] for number in numbers.tolist()]
