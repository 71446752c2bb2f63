"""Columns as one vector space: the terms of texts weighed, levels as zeros and ones, numbers standardized.

A missing value, and a term or level that was never learned, is zero on all its axes. A space is solved from the
statistics of the columns (:meth:`Space.of`), or from kept rows that stand for them (:class:`Columns`), so that a fold's
space comes from the rows outside the fold without counting again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.data.batch import Batch
from discern.data.roles import Feature
from discern.data.text import TextSettings
from discern.data.threads import default_threads
from discern.data.vectors.grid import LEAST_EXPONENT, MOST_EXPONENT, Grid
from discern.models.columns import axes_of
from discern.models.columns.arrays import joined
from discern.models.columns.kind import Axes, ColumnRows
from discern.models.columns.number import NumberAxes
from discern.models.validation.rows import Sample
from discern.models.vector_space.expansions import EXPANSIONS, MOST_PRODUCTS, Expansion, joined_axes, n_products
from discern.statistics.points import Points, joined_grid
from discern.statistics.selection import best, scores_alone, table_for
from discern.statistics.statistic import arrays_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Masks = list[NDArray[np.bool_] | None]


# ------------------------------------------------------------------------------------------------- the space


@dataclass(frozen=True, eq=False)
class Space:
    """The axes of all columns, one after the other: immutable, shared by threads."""

    axes: tuple[Axes, ...]

    @classmethod
    def of(
        cls,
        layout: Layout,
        features: Sequence[Feature],
        columns: Sequence[Any],
        labels: tuple[str, ...],
        some: Sequence[ColumnRows | None] = (),
    ) -> tuple[Space, Masks]:
        """Solve the space of all columns, in the order of ``layout.parts``, from their statistics.

        Kept rows may stand for their statistic. Where they do not, what statistics of numbers lack (ranks, whether
        some are missing, landmarks) is taken from ``some`` of the rows. Also returns which terms of each column have
        an axis.
        """
        parts = list(layout.parts(features))
        kinds = [axes_of(feature, layout) for feature, _ in parts]
        masks = [kind.candidates(column, layout.min_df) for kind, column in zip(kinds, columns, strict=True)]
        if layout.max_terms is not None:
            _keep_best(layout.max_terms, layout.select, columns, masks, labels)
        rows = [own or column for own, column in zip(some, columns, strict=True)] if some else columns
        laid_out = [
            _axes_by(kind, feature, (column, own), mask, text, layout)
            for kind, (feature, text), column, own, mask in zip(kinds, parts, columns, rows, masks, strict=True)
        ]
        if layout.basis == "common":
            laid_out = _in_common_scale(laid_out, layout.is_lasting)
        if layout.basis in EXPANSIONS and joined_axes(laid_out):
            read = zip(laid_out, rows, masks, strict=True)
            inputs = joined([axes.of_rows(column, mask) for axes, column, mask in read if axes.is_joined])
            laid_out.append(EXPANSIONS[layout.basis].over(laid_out, inputs))
        return cls(tuple(laid_out)), masks

    @property
    def n_axes(self) -> int:
        """The number of axes."""
        return sum(map(len, self.axes))

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of axes of each column."""
        return tuple(map(len, self.axes))

    @property
    def blocks(self) -> tuple[tuple[int, float], ...]:
        """The number of axes of each column, and how many times more than others they are shrunken."""
        return tuple((len(axes), axes.shrinkage) for axes in self.axes)

    @cached_property
    def grid(self) -> Grid:
        """What points are rounded to where sums over rows are taken."""
        return joined_grid([axes.grid for axes in self.axes])

    @cached_property
    def units(self) -> NDArray[np.float64]:
        """What one is on each axis, as values are measured."""
        return np.concatenate([axes.units for axes in self.axes])

    @property
    def terms(self) -> int:
        """The number of axes that are terms."""
        return sum(len(axes) for axes in self.axes if axes.text_settings is not None)

    @property
    def has_text(self) -> bool:
        """Whether there is a text column."""
        return bool(self.texts)

    @property
    def texts(self) -> list[tuple[str, TextSettings]]:
        """The names of the text columns, each with the settings that it is read with."""
        return [(axes.feature.name, axes.text_settings) for axes in self.axes if axes.text_settings is not None]

    @property
    def features(self) -> tuple[Feature, ...]:
        """The columns."""
        return tuple(dict.fromkeys(axes.feature for axes in self.columns))

    @property
    def columns(self) -> tuple[Axes, ...]:
        """The axes of single columns."""
        return tuple(axes for axes in self.axes if not isinstance(axes, Expansion))

    @property
    def expansions(self) -> Iterator[tuple[int, NDArray[np.int64], Expansion]]:
        """Axes over several columns, with the place of the first, and the places of the axes they read."""
        starts = list(self.starts())
        for number, (start, axes) in enumerate(starts):
            if isinstance(axes, Expansion):
                read = (range(at, at + len(one)) for at, one in starts[number - axes.span : number] if one.is_joined)
                yield start, np.array([place for places in read for place in places], np.int64), axes

    def starts(self) -> Iterator[tuple[int, Axes]]:
        """Return the axes of each column with the place of the first."""
        place = 0
        for axes in self.axes:
            yield place, axes
            place += len(axes)

    def of_batch(self, batch: Batch, threads: int | None) -> tuple[Any, NDArray[np.int64], NDArray[np.int64]]:
        """Return the rows of a batch as a matrix, and how many terms and values of each are known and unknown."""
        parts = [axes.of_batch(batch, threads or default_threads()) for axes in self.columns]
        known, unknown = (np.sum([part[which] for part in parts], axis=0) for which in (1, 2))
        return joined(self._with_expansions([part[0] for part in parts])), known, unknown

    def _with_expansions(self, parts: Sequence[Any]) -> list[Any]:
        """Return the values on the axes of single columns with those on axes over several in their places."""
        found, given = list[Any](), iter(parts)
        for axes in self.axes:
            if isinstance(axes, Expansion):
                read = range(len(found) - axes.span, len(found))
                found.append(axes.of_parts([found[place] for place in read if self.axes[place].is_joined]))
            else:
                found.append(next(given))
        return found

    def of_rows(self, columns: Sequence[ColumnRows], masks: Masks) -> Any:
        """Return kept rows as a matrix; ``masks`` are those of their terms that have an axis."""
        parts = zip(self.columns, columns, masks, strict=True)
        return joined(self._with_expansions([axes.of_rows(column, mask) for axes, column, mask in parts]))

    def of_learned_rows(self, columns: Sequence[ColumnRows], masks: Masks) -> Any:
        """Return the rows that the space comes from as a matrix to learn from."""
        parts = zip(self.columns, columns, masks, strict=True)
        return joined(self._with_expansions([axes.of_learned_rows(column, mask) for axes, column, mask in parts]))

    def points_of_batch(self, batch: Batch, threads: int | None) -> Points:
        """Return the rows of a batch as points that can be summed."""
        blocks = [axes.block_of_batch(batch, threads or default_threads()) for axes in self.columns]
        return Points.of(self._with_expansions(blocks))

    def points_of_rows(self, columns: Sequence[ColumnRows], masks: Masks) -> Points:
        """Return kept rows as points that can be summed; ``masks`` are those of their terms that have an axis."""
        parts = zip(self.columns, columns, masks, strict=True)
        return Points.of(self._with_expansions([axes.block_of_rows(column, mask) for axes, column, mask in parts]))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Space):
            return NotImplemented
        mine, theirs = self.arrays(), other.arrays()
        same = mine.keys() == theirs.keys() and all(np.array_equal(mine[name], theirs[name]) for name in mine)
        return same and self.features == other.features

    __hash__ = None  # type: ignore[assignment]

    def counts(self, batch: Batch) -> dict[int, int]:
        """Return how often each term occurs in the only row of a batch, by the place of its axis."""
        own = ((start, axes) for start, axes in self.starts() if not isinstance(axes, Expansion))
        return {start + place: count for start, axes in own for place, count in axes.counts(batch).items()}

    def axis(self, place: int) -> tuple[Axes, int]:
        """Return the axes of the column that an axis belongs to, and its place among them."""
        for start, axes in self.starts():
            if place < start + len(axes):
                return axes, place - start
        raise IndexError(f"there is no axis {place}")

    def renamed(self, rename: Callable[[Feature], Feature]) -> Space:
        """Return the space of columns with other names."""
        keeps = (
            axes if isinstance(axes, Expansion) else replace(axes, feature=rename(axes.feature)) for axes in self.axes
        )
        return Space(tuple(keeps))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the space as arrays, for the model file."""
        return {
            f"{number}.{name}": array for number, axes in enumerate(self.axes) for name, array in axes.arrays().items()
        }

    @classmethod
    def from_arrays(
        cls, layouts: Sequence[Layout], features: Sequence[Feature], arrays: Mapping[str, NDArray[Any]]
    ) -> Space:
        """Make a space of what :meth:`arrays` gave; raises ValueError if it does not fit together."""
        found = list[Axes]()
        for layout in layouts:
            own = list[Axes]()
            for feature, text in layout.parts(features):
                stored = arrays_of(arrays, len(found) + len(own))
                own.append(axes_of(feature, layout).from_arrays(feature, stored, text, layout))
            if layout.basis in EXPANSIONS and joined_axes(own):
                stored = arrays_of(arrays, len(found) + len(own))
                own.append(EXPANSIONS[layout.basis].from_axes(own, stored))
            found += own
        return cls(tuple(found))

    def ready(self) -> None:
        """Make now what the first answer would wait for."""
        for axes in self.axes:
            axes.ready()


def _in_common_scale(laid_out: Sequence[Axes], is_power: bool) -> list[Axes]:
    """Return the axes with one scale for all numbers: the root of the mean square of their own."""
    scales = np.array([axes.scale for axes in laid_out if isinstance(axes, NumberAxes)])
    if not len(scales):
        return list(laid_out)
    largest = float(scales.max())
    common = float(np.sqrt(np.square(scales / largest).mean())) * largest
    if is_power:
        common = float(2.0 ** np.clip(np.rint(np.log2(common)), LEAST_EXPONENT, MOST_EXPONENT))
    return [replace(axes, scale=common) if isinstance(axes, NumberAxes) else axes for axes in laid_out]


def _axes_by(
    kind: type[Axes], feature: Feature, known: tuple[Any, Any], mask: Any, text: TextSettings | None, layout: Layout
) -> Axes:
    """Lay out the axes of a column by its statistic, or what that lacks by some of its rows."""
    column, rows = known
    if not kind.is_measured or column is rows:
        return kind.of(feature, column, mask, text, layout)
    if kind is not NumberAxes:
        return kind.of(feature, rows, mask, text, layout)
    return replace(NumberAxes.of(feature, column, mask, text, layout), has_missing=rows.has_missing)


def _keep_best(most: int, score: str, columns: Sequence[Any], masks: Masks, labels: tuple[str, ...]) -> None:
    """Leave only the best of the candidates of all columns in the masks."""
    texts = [(column, mask) for column, mask in zip(columns, masks, strict=True) if mask is not None]
    tables = (table_for(column.with_terms(mask).sums().with_labels(labels), score) for column, mask in texts)
    scores = [scores_alone(table, score) for table in tables]
    chosen = best(np.concatenate([*scores, np.zeros(0)]), most)
    for (_, mask), own in zip(texts, np.split(chosen, np.cumsum([len(one) for one in scores])), strict=False):
        mask[mask] = own


# --------------------------------------------------------------------------------------------- rows to a space


@dataclass(frozen=True)
class Layout:
    """How columns become axes.

    ``text`` are the settings that each text column is counted with, one after the other. Terms that fewer than
    ``min_df`` rows hold have no axis (if that leaves any), and of the others only the ``max_terms`` best by ``select``.
    """

    text: tuple[TextSettings, ...]
    presence: bool = False
    min_df: int = 2
    max_terms: int | None = None
    select: str = "chi2"
    unit: bool = False
    """Whether the ones of ``presence`` are divided by the square root of their number."""
    is_lasting: bool = False
    """Whether the space stays as it is when rows come and go: then no number of a row can be read from it."""
    basis: str = "standard"
    """How numbers become axes: one of ``BASES``."""
    levels: str = "one-hot"
    """How categories become axes: one of ``LEVELS``."""

    def parts(self, features: Sequence[Feature]) -> Iterator[tuple[Feature, TextSettings | None]]:
        """Return each column with the settings it is counted with, if it is text.

        Where a term is either there or not, vectors have no axes.
        """
        for feature in features:
            if feature.role == "text":
                yield from ((feature, text) for text in self.text)
            elif not (self.presence and feature.role == "vector"):
                yield feature, None

    def to_json(self) -> dict[str, Any]:
        """Return the layout as plain values."""
        return {
            "text": [text.to_json() for text in self.text],
            "presence": self.presence,
            "min_df": self.min_df,
            "max_terms": self.max_terms,
            "select": self.select,
            **({"unit": True} if self.unit else {}),
            **({"is_lasting": True} if self.is_lasting else {}),
            **({} if self.basis == "standard" else {"basis": self.basis}),
            **({} if self.levels == "one-hot" else {"levels": self.levels}),
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Layout:
        """Make a layout from what :meth:`to_json` returned."""
        max_terms = values["max_terms"]
        return cls(
            tuple(TextSettings.from_json(text) for text in values["text"]),
            bool(values["presence"]),
            int(values["min_df"]),
            None if max_terms is None else int(max_terms),
            str(values["select"]),
            bool(values.get("unit", False)),
            bool(values.get("is_lasting", False)),
            str(values.get("basis", "standard")),
            str(values.get("levels", "one-hot")),
        )


@dataclass(frozen=True)
class Fitted:
    """A space, the matrix of the rows it was made from, and which of the terms that are kept have an axis."""

    space: Space
    matrix: Any
    masks: Masks


@dataclass(frozen=True)
class Columns:
    """The columns of a sample, each row kept."""

    sample: Sample
    features: tuple[Feature, ...]
    layout: Layout

    @cached_property
    def rows(self) -> list[ColumnRows]:
        """The columns, each as its kind keeps it."""
        parts = self.layout.parts(self.features)
        return [self.sample.column(feature, text or self.layout.text[0]) for feature, text in parts]

    @property
    def selects_by_labels(self) -> bool:
        """Whether there are more terms than may have an axis, so that the labels of rows decide which have one."""
        if self.layout.max_terms is None:
            return False
        parts = zip(self.layout.parts(self.features), self.rows, strict=True)
        masks = (axes_of(feature, self.layout).candidates(rows, self.layout.min_df) for (feature, _), rows in parts)
        return sum(int(mask.sum()) for mask in masks if mask is not None) > self.layout.max_terms

    @property
    def can_be_laid_out(self) -> bool:
        """Whether there are no more products of two axes than there may be."""
        if self.layout.basis != "quadratic":
            return True
        space, _ = Space.of(replace(self.layout, basis="normal"), self.features, self.rows, self.sample.labels)
        return n_products(space.axes)[0] <= MOST_PRODUCTS

    def laid_out(self, rows: NDArray[np.int64] | None = None) -> tuple[Space, Points]:
        """Solve the space of all rows, or of some; also return all rows as points in it."""
        taken = self.rows if rows is None else [column.take(rows) for column in self.rows]
        space, masks = Space.of(self.layout, self.features, taken, self.sample.labels)
        return space, space.points_of_rows(self.rows, masks)

    def fitted(self, rows: NDArray[np.int64] | None = None) -> Fitted:
        """Solve the space of all rows, or of some, by what is known of these rows alone."""
        taken = self.rows if rows is None else [column.take(rows) for column in self.rows]
        space, masks = Space.of(self.layout, self.features, taken, self.sample.labels)
        return Fitted(space, space.of_learned_rows(taken, masks), masks)

    def seen_by(self, fitted: Fitted, rows: NDArray[np.int64]) -> Any:
        """Return some rows as a matrix in a space made from others."""
        return fitted.space.of_rows([column.take(rows) for column in self.rows], fitted.masks)
