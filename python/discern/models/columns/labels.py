"""The column with the labels: guessing it, and doubts about one that looks wrong."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from discern.data.batch import Batch
from discern.data.roles import infer, values_as_levels

LABEL_NAMES = ("label", "labels", "class", "target", "y", "category", "outcome", "sentiment")
"""Names that a column with labels usually has. ``label`` comes before all others."""
MOST_LISTED = 5
FEW_ROWS = 20
"""With fewer rows, many different labels are no surprise."""
MOST_NUMBERS = 20
"""A column of whole numbers with more distinct values than this is not a candidate."""


@dataclass(frozen=True)
class Guess:
    """The column that holds the labels, or the candidates if none is obvious."""

    name: str | None
    reason: str
    candidates: tuple[tuple[str, int], ...] = ()
    """Columns that may hold labels, with the number of their distinct values, the fewest first."""

    @property
    def listed(self) -> str:
        """The candidates in words; empty if there are none."""
        shown = ", ".join(f"{name!r} ({count} values)" for name, count in self.candidates[:MOST_LISTED])
        return shown + (", …" if len(self.candidates) > MOST_LISTED else "")


def guess_label(batch: Batch) -> Guess:
    """Guess the column with the labels from the first rows: by its name, or as the only one with few, repeated values.

    Examples
    --------
    >>> guess_label(Batch({"body": ["win a prize", "lunch at noon"] * 2, "kind": ["a", "b"] * 2}, 4)).name
    'kind'
    >>> guess = guess_label(Batch({"color": ["red", "blue"] * 2, "kind": ["a", "b"] * 2}, 4))
    >>> guess.name, guess.listed
    (None, "'color' (2 values), 'kind' (2 values)")
    """
    named = [name for name in batch.columns if name.strip().lower() in LABEL_NAMES]
    first = [name for name in named if name.strip().lower() == LABEL_NAMES[0]] or named
    if len(first) == 1:
        return Guess(first[0], "by its name")
    found = tuple(sorted(_candidates(batch), key=lambda one: (one[0] not in first, one[1])))
    if len(found) == 1 and not first:
        return Guess(found[0][0], "the only column with few, repeated values", found)
    return Guess(None, "", found)


def _candidates(batch: Batch) -> Iterable[tuple[str, int]]:
    features, _ = infer(batch, "")
    for feature in features:
        if feature.role in ("category", "flag", "number"):
            values = [value for value in values_as_levels(batch, feature.name) if value]
            count = len(set(values))
            whole = feature.role != "number" or all(value.lstrip("-").isdecimal() for value in set(values))
            few = feature.role != "number" or count <= MOST_NUMBERS
            if 2 <= count <= len(values) / 2 and whole and few:
                yield feature.name, count


def doubts_about_values(name: str, labels: Sequence[str], where: str = "") -> list[str]:
    """Return what makes a column unlikely to hold labels, from the values of some rows.

    Examples
    --------
    >>> doubts_about_values("price", [str(number / 8) for number in range(40)])
    ["the labels in 'price' are 40 different decimal numbers; discern predicts classes, so cut them into ranges first"]
    >>> doubts_about_values("id", [f"row{number}" for number in range(40)])
    ["'id' has 40 different labels in 40 rows; choose a column whose values repeat"]
    """
    distinct = set(labels)
    if len(labels) < FEW_ROWS or len(distinct) <= len(labels) / 2:
        return []
    if all(map(_is_number, distinct)) and any("." in label for label in distinct):
        what = f"the labels in {name!r} are {len(distinct):,} different decimal numbers"
        return [f"{what}; discern predicts classes, so cut them into ranges first"]
    return [
        f"{name!r} has {len(distinct):,} different labels in {len(labels):,} rows{where}; "
        "choose a column whose values repeat"
    ]


def doubts_about_labels(name: str, rows: Mapping[str, int]) -> list[str]:
    """Return what looks wrong about the labels of a column, from their numbers of rows.

    Examples
    --------
    >>> doubts_about_labels("kind", {"Spam": 12, "spam ": 3, "ham": 40})
    ["the labels 'Spam' (12 rows) and 'spam ' (3 rows) in 'kind' differ only in case or spaces; make them equal"]
    >>> doubts_about_labels("kind", {"ham": 40})
    ["all rows have the label 'ham' in 'kind'; a classifier needs at least two labels"]
    """
    if len(rows) == 1:
        return [f"all rows have the label {next(iter(rows))!r} in {name!r}; a classifier needs at least two labels"]
    folded: dict[str, list[str]] = {}
    for label in rows:
        folded.setdefault(" ".join(label.split()).casefold(), []).append(label)
    return [
        f"the labels {_and(f'{label!r} ({_rows(rows[label])})' for label in same)} in {name!r} differ only in case "
        "or spaces; make them equal"
        for same in folded.values()
        if len(same) > 1
    ][:MOST_LISTED]


def _rows(count: int) -> str:
    return f"{count:,} row" if count == 1 else f"{count:,} rows"


def _and(parts: Iterable[str]) -> str:
    *first, last = parts
    return f"{', '.join(first)} and {last}"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
