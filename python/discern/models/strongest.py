"""The strongest terms of a label, ranked by the least evidence that their counts support."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.data.batch import did_you_mean

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discern.models.columns.kind import Column
    from discern.models.naive_bayes import Model
    from discern.statistics.sums import Sums

    Array = NDArray[np.float64]

CONFIDENCE = 1.959963984540054
"""Standard deviations to each side of a 95% interval."""


@dataclass(frozen=True)
class StrongTerm:
    """A term with its mean log odds for a label against the other labels, in nats.

    Terms are ranked by ``bound``: the lower end of the 95% interval of the log odds, or the upper end of terms against
    the label. ``rows`` is the number of training rows of each label that have the term. A slim model and a model in a
    vector space know neither.
    """

    term: str
    weight: float
    bound: float | None = None
    rows: Mapping[str, int] | None = None

    def seen(self, label: str) -> str:
        """Return in how many rows of a label the term was seen, and in how many others, in words.

        Examples
        --------
        >>> StrongTerm("prize", 4.1, 2.3, {"spam": 37}).seen("spam")
        '37 : 0'
        """
        if self.rows is None:
            return ""
        own = self.rows.get(label, 0)
        return f"{own:,} : {sum(self.rows.values()) - own:,}"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return asdict(self)


def strongest(model: Model, sums: Sums | None, label: str, top: int) -> list[StrongTerm]:
    """Return the strongest terms for a label; with a negative ``top``, those against it.

    Without sums they are ranked by their weights alone.
    """
    if label not in model.labels:
        raise ValueError(f"unknown label {label!r}{did_you_mean(label, model.labels)}")
    place, found = model.labels.index(label), []
    for number, column in enumerate(model.columns):
        if not column.feature.view:
            statistic = None if sums is None else sums.columns[number]
            found += list(_of_column(model, column, statistic, place, top))
    found.sort(key=lambda pair: (-pair[0], pair[1].term))
    return [term for _, term in found[: abs(top)]]


def _of_column(
    model: Model, column: Column, statistic: Any, place: int, top: int
) -> Iterator[tuple[float, StrongTerm]]:
    """Yield the strongest terms of a column, each with the strength that they are ranked by."""
    mine, every = column.weights_of(place)
    sign = 1.0 if top >= 0 else -1.0
    odds = mine if model.is_against_rest else mine - (every - mine) / max(len(model.labels) - 1, 1)
    table = None if statistic is None or model.is_against_rest else column.documents(statistic)
    bounds = odds if table is None else _bounds(odds, table, place, sign)
    start = f"{column.feature.name}: " if model.has_several_texts and column.text_settings is not None else ""
    for term in np.lexsort((-sign * odds, -sign * bounds))[: abs(top)].tolist():
        name = start + column.names(np.array([term]))[0]
        found = StrongTerm(name, float(odds[term]))
        if table is not None:
            found = replace(found, bound=float(bounds[term]), rows=_rows(table, model.labels, term))
        yield sign * float(bounds[term]), found


def _bounds(odds: Array, table: Any, place: int, sign: float) -> Array:
    """Return the lower ends of the intervals of the log odds, the upper ends where ``sign`` is negative.

    The interval is Wilson's for the share of a term's rows that have the label, against the share of all terms; the
    model's own odds, which are smoothed, limit it.
    """
    total = np.asarray(table.sum(axis=1), np.float64).ravel()
    own = np.asarray(table[:, [place]].toarray(), np.float64).ravel()
    low, high = wilson(own, total)
    base = _logit(own.sum() / max(total.sum(), 1.0))
    return np.minimum(_logit(low) - base, odds) if sign > 0 else np.maximum(_logit(high) - base, odds)


def wilson(successes: Array, trials: Array) -> tuple[Array, Array]:
    """Return the ends of Wilson's 95% interval of a share; of no trials, 0 and 1.

    Examples
    --------
    >>> low, high = wilson(np.array([37.0, 1.0]), np.array([37.0, 1.0]))
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.906, 0.207], [1.0, 1.0])
    """
    square, failures = CONFIDENCE**2, trials - successes
    middle, whole = successes + square / 2, trials + square
    spread = CONFIDENCE * np.sqrt(successes * failures / np.maximum(trials, 1.0) + square / 4)
    return np.asarray((middle - spread) / whole), np.asarray((middle + spread) / whole)


def _logit(share: Any) -> Array:
    inside = np.clip(share, 1e-12, 1 - 1e-12)
    return np.asarray(np.log(inside) - np.log1p(-inside))


def _rows(table: Any, labels: tuple[str, ...], term: int) -> dict[str, int]:
    start, end = table.indptr[term : term + 2]
    return {
        labels[int(place)]: int(count)
        for place, count in zip(table.indices[start:end], table.data[start:end], strict=True)
    }
