"""The time that models take, predicted from counts alone: a plan then does not depend on how busy a machine is.

Counts are rows, labels, cells of a table, bytes of texts and axes. What each of them costs a model is in its row of the
registry (:class:`discern.models.registry.Work`), in nanoseconds of one core, rounded up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discern.data.batch import Batch, row_sizes
from discern.models.columns.bent import n_bins
from discern.models.columns.vector import grid_of
from discern.models.registry import MODELS
from discern.models.vector_space.expansions import MOST_BUMPS, MOST_CELLS, MOST_PRODUCTS, ROWS_A_BUMP

if TYPE_CHECKING:
    from discern.data.roles import Feature
    from discern.data.text import TextSettings
    from discern.models.candidates import Candidate
    from discern.models.validation.rows import Sample

COUNTED = 40.0
"""What counting a byte of a text once costs, for each n-gram that begins there."""
FEWEST = 0.001
"""No step takes less."""
AXES_OF_BYTES = 0.2
"""Distinct terms for each byte of all texts, at most; fewer the more texts there are."""


@dataclass(frozen=True)
class Size:
    """How much there is to learn from: numbers of rows, labels, cells that are not text, and bytes of texts."""

    rows: int
    labels: int
    cells: int
    text_bytes: int

    @classmethod
    def of(cls, sample: Sample, features: Sequence[Feature]) -> Size:
        """Measure the rows of a sample."""
        own = [feature for feature in features if not feature.is_derived]
        texts = [feature.name for feature in own if feature.role == "text"]
        cells = sum(_cells(feature) for feature in own if feature.role != "text")
        parts = (
            Batch({name: batch.columns[name] for name in texts}, batch.rows)
            for batch in sample.batches
            if texts and batch.columns.keys() >= {*texts}
        )
        text_bytes = sum(int(row_sizes(part).sum()) for part in parts)
        return cls(sample.rows, len(sample.labels), cells * sample.rows, text_bytes)

    @property
    def functions(self) -> int:
        """The number of functions that part the labels: one for two."""
        return 1 if self.labels <= 2 else self.labels

    @property
    def slower(self) -> float:
        """How many times longer a model with a function for each label takes: most functions have few rows."""
        return 1.0 if self.functions == 1 else 1.0 + 0.2 * self.functions


def _cells(feature: Feature) -> int:
    return len(grid_of(feature)) if feature.role == "vector" else 1


def terms_a_byte(text: TextSettings) -> float:
    """Return how many terms begin at a byte of a text, on the mean; a text repeats most of its character n-grams.

    Examples
    --------
    >>> from discern.data.text import TextSettings
    >>> terms_a_byte(TextSettings(ngrams=(1, 2))), terms_a_byte(TextSettings("char_wb", ngrams=(2, 5)))
    (0.33, 1.0)
    """
    lengths = text.ngrams[1] - text.ngrams[0] + 1
    return lengths / 6 if text.analyzer in ("word", "pattern") else lengths / 4


def evaluating(size: Size, candidate: Candidate, rows: int, folds: int) -> float:
    """Return the seconds that evaluating a candidate by folds of some of the rows takes: a fold in four is held out.

    Examples
    --------
    >>> from discern.models.candidates import Candidate
    >>> some = Size(4000, 2, 80_000, 0)
    >>> evaluating(some, Candidate("naive-bayes", ""), 4000, 4) > evaluating(some, Candidate("naive-bayes", ""), 500, 4)
    True
    """
    share = rows / size.rows
    return (
        share * _counting(size, candidate) + choosing(size, candidate, rows) + folds * _fitting(size, candidate, rows)
    )


def learning(size: Size, candidate: Candidate) -> float:
    """Return the seconds that learning a candidate from all rows takes."""
    return sum(_counting(size, one) + 4 / 3 * _fitting(size, one, size.rows) for one in _each(candidate))


def choosing(size: Size, candidate: Candidate, rows: int) -> float:
    """Return the seconds that choosing what a model leaves open takes, the first time that it is evaluated."""
    kind = MODELS[candidate.model]
    known = candidate.pipeline is not None and candidate.pipeline.regularization.kernel is not None
    return 0.0 if known else kind.work.choosing * min(1.0, rows / 2000)


def _each(candidate: Candidate) -> list[Candidate]:
    """Return the candidates whose scores are added."""
    from discern.models.candidates import Candidate

    if candidate.pipeline is None:
        return [candidate]
    return [Candidate(part.model, candidate.terms, part) for _, part in candidate.pipeline.parts]


def _counting(size: Size, candidate: Candidate) -> float:
    """Return the seconds that counting the terms of all rows takes."""
    return 1e-9 * COUNTED * size.text_bytes * max(1.0, _terms(candidate))


def _terms(candidate: Candidate) -> float:
    """Return how many terms begin at a byte; of naive Bayes, whose validation counts words, pairs and characters."""
    return 2.0 if candidate.pipeline is None else sum(map(terms_a_byte, candidate.pipeline.layout.text))


def _fitting(size: Size, candidate: Candidate, rows: int) -> float:
    """Return the seconds that learning from three in four of the rows takes, and scoring the rest."""
    kind, share = MODELS[candidate.model], rows / size.rows
    work = kind.work
    values = share * (size.cells + _terms(candidate) * size.text_bytes)
    axes = size.cells / max(size.rows, 1) + AXES_OF_BYTES * share * size.text_bytes
    if candidate.pipeline is not None and candidate.pipeline.layout.max_terms is not None:
        axes = min(axes, size.cells / max(size.rows, 1) + candidate.pipeline.layout.max_terms)
    if candidate.pipeline is not None:
        axes, more = bent(size, candidate.pipeline.layout.basis, axes, rows)
        values += rows * more
    slower = size.slower if work.by_class else 1.0
    nanoseconds = slower * values * (work.value + work.pair * rows)
    is_dense = not size.text_bytes or kind.is_sum
    dense = work.product * axes**2 * (size.functions if work.by_class else 1) * (rows + axes) if is_dense else 0.0
    return max(1e-9 * (nanoseconds + dense), FEWEST)


def bent(size: Size, basis: str, axes: float, rows: int) -> tuple[float, float]:
    """Return how many axes there are in a basis, of those of cells and terms, and how many values a row has more.

    Examples
    --------
    >>> bent(Size(2000, 2, 20_000, 0), "bumps", 10.0, 2000), bent(Size(2000, 2, 20_000, 0), "quadratic", 10.0, 2000)
    ((522.0, 512.0), (65.0, 55.0))
    """
    cells = size.cells / max(size.rows, 1)
    if not cells:
        return axes, 0.0
    if basis == "bins":
        return axes + cells * (n_bins(rows) - 1), 0.0
    more = 0.0
    if basis == "quadratic":
        more = min(cells * (cells + 1) / 2, MOST_PRODUCTS)
    elif basis == "bumps":
        more = float(min(MOST_BUMPS, -(-rows // ROWS_A_BUMP), MOST_CELLS // max(rows, 1)))
    return axes + more, more
