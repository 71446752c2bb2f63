"""A kind of column is one file and one row of this table: what is done with texts, levels, numbers and vectors.

A later kind is one more file and one more row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discern.data.roles import LENGTH
from discern.models.columns import bent, length, level, means, number, text, vector

if TYPE_CHECKING:
    from discern.data.roles import Feature
    from discern.models.columns.kind import Axes, Kind
    from discern.models.vector_space.axes import Layout
    from discern.statistics.statistic import Statistic

KINDS = {
    "text": text.KIND,
    "category": level.KIND,
    "flag": level.KIND,
    "number": number.KIND,
    "vector": vector.KIND,
    LENGTH: length.KIND,
}
"""The kind of each role."""


def kind_of(feature: Feature) -> Kind:
    """Return the kind of a column: that of its role; a number that is cut into bins has levels."""
    return level.KIND if feature.is_binned else KINDS[feature.role]


def axes_of(feature: Feature, layout: Layout) -> type[Axes]:
    """Return the axes of a column: those of its kind, for a number those of the basis, for a category of the levels."""
    kind = kind_of(feature)
    if feature.role == "category" and layout.levels == "means":
        return means.MeanAxes
    return bent.NUMBER_AXES.get(layout.basis, bent.NormalAxes) if kind is number.KIND else kind.axes


def statistics_of(features: Sequence[Feature]) -> list[type[Statistic]]:
    """Return what each column is summed into."""
    return [kind_of(feature).sum.summed for feature in features]
