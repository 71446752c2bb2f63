"""Axes over several columns: products of two axes, and Gaussian bumps at landmark rows.

With them a linear model has a curved boundary, and still learns as a linear model does. They read the axes of the
numbers and categories of their space, which stay beside them. What they contribute is spread over these, so that an
explanation names columns and adds up.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.data.roles import Feature
from discern.learners.basis import landmarks
from discern.models.columns.arrays import joined
from discern.models.columns.kind import Axes
from discern.statistics.points import Block

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    from discern.data.batch import Batch
    from discern.data.text import TextSettings
    from discern.models.columns.kind import Array, Arrays, Mask
    from discern.models.vector_space.axes import Layout

MOST_PRODUCTS = 4096
"""The most products of two axes."""
BLOCK_CELLS = 1 << 22
"""Rows are expanded in blocks of this many numbers."""
MOST_BUMPS, ROWS_A_BUMP, MOST_CELLS = 512, 2, 1 << 25
"""The most landmarks, the least rows for each, and the most rows × landmarks, which are kept in memory."""
UNITS = 1024
"""Bumps see numbers in whole units of this part of a standard deviation, so that their distances are exact."""
FARTHEST = 8.0
"""Bumps see no number farther out."""
PLACES = 4
"""Landmarks stand at multiples of a quarter: no number of a row can be read from them."""
NODES, NODE_WEIGHTS = np.polynomial.legendre.leggauss(32)
"""The path from the origin to a row is walked along these."""
JOINT = Feature("", "number")


@dataclass(frozen=True, eq=False)
class Expansion(Axes):
    """Axes that are functions of other axes of the same space."""

    feature: Feature = field(default=JOINT, init=False)
    span: int
    """The number of groups of axes before these that belong to the same space; it reads those that are joined."""
    n_inputs: int

    @classmethod
    @abstractmethod
    def over(cls, axes: Sequence[Axes], inputs: Any) -> Self:
        """Lay out the axes over groups of others; ``inputs`` are rows on those that are joined."""

    @abstractmethod
    def expanded(self, inputs: Array) -> Array:
        """Return rows on these axes; ``inputs`` are the rows on those they read."""

    @abstractmethod
    def spread(self, inputs: Array, weights: Array) -> tuple[Array, float]:
        """Return what each input of a row contributes through these axes, and what they contribute to every row."""

    def of_inputs(self, inputs: Any) -> Any:
        """Return rows on these axes as a sparse matrix."""
        import scipy.sparse

        step = max(1, BLOCK_CELLS // max(len(self), 1))
        starts = range(0, inputs.shape[0], step) or range(1)
        parts = [scipy.sparse.csr_array(self.expanded(_dense(inputs[start : start + step]))) for start in starts]
        return parts[0] if len(parts) == 1 else scipy.sparse.vstack(parts, format="csr")

    def of_parts(self, parts: Sequence[Any]) -> Any:
        """Return rows on these axes from their parts on those they read: matrices, or blocks of points."""
        if isinstance(parts[0], Block):
            return Block(self.expanded(np.hstack([block.dense() for block in parts])), self.grid, self.units)
        return self.of_inputs(joined(parts))

    @classmethod
    def of(cls, feature: Feature, column: Any, mask: Mask, text: TextSettings | None, layout: Layout) -> Self:
        raise NotImplementedError("axes over several columns are laid out over their axes")

    def of_batch(self, batch: Batch, threads: int) -> tuple[Any, NDArray[np.int64], NDArray[np.int64]]:
        raise NotImplementedError("axes over several columns read their axes")

    def of_rows(self, rows: Any, mask: Mask) -> Any:
        raise NotImplementedError("axes over several columns read their axes")

    @classmethod
    def from_arrays(cls, feature: Feature, arrays: Arrays, text: TextSettings | None, layout: Layout) -> Self:
        raise NotImplementedError("axes over several columns are made over their axes")

    @classmethod
    @abstractmethod
    def from_axes(cls, axes: Sequence[Axes], arrays: Arrays) -> Self:
        """Make the axes from what :meth:`arrays` returned and the axes they read; raises ValueError if these differ."""

    def value(self, place: int, batch: Batch) -> str:
        return self.name(place)


def _dense(matrix: Any) -> Array:
    return np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix, np.float64)


def joined_axes(axes: Sequence[Axes]) -> list[Axes]:
    """Return the groups of axes that an expansion reads: those of numbers and categories."""
    return [one for one in axes if one.is_joined]


# ----------------------------------------------------------------------------------------------------- products


@dataclass(frozen=True, eq=False)
class ProductAxes(Expansion):
    """An axis for the product of each two axes of different columns, and for the square of each number.

    Where that would be too many, only numbers are multiplied.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    names: tuple[str, ...] = ()

    @classmethod
    def over(cls, axes: Sequence[Axes], inputs: Any) -> Self:
        joined = joined_axes(axes)
        count, only_numbers = n_products(joined)
        if count > MOST_PRODUCTS:
            raise ValueError(
                f"basis='quadratic' would make {count:,} products of {sum(map(len, joined)):,} axes, and "
                f"{MOST_PRODUCTS:,} is the most; use basis='normal' or 'bumps', or fewer columns"
            )
        first, second, names = _pairs(joined, only_numbers)
        return cls(len(axes), sum(map(len, joined)), first, second, tuple(names))

    def __len__(self) -> int:
        return len(self.first)

    def expanded(self, inputs: Array) -> Array:
        return inputs[:, self.first] * inputs[:, self.second]

    def spread(self, inputs: Array, weights: Array) -> tuple[Array, float]:
        halves = 0.5 * weights * inputs[self.first] * inputs[self.second]
        first, second = (np.bincount(axes, halves, len(inputs)) for axes in (self.first, self.second))
        return np.asarray(first + second, np.float64), 0.0

    def name(self, place: int) -> str:
        return self.names[place]

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"span": np.array([self.span], np.int64)}

    @classmethod
    def from_axes(cls, axes: Sequence[Axes], arrays: Arrays) -> Self:
        _check_span(axes, arrays)
        return cls.over(axes, None)


def n_products(axes: Sequence[Axes]) -> tuple[int, bool]:
    """Return how many products of two axes there are, and whether only numbers are multiplied, to have fewer."""
    joined = joined_axes(axes)
    sizes, numbers = [len(one) for one in joined], sum(one.is_measured for one in joined)
    count = (sum(sizes) ** 2 - sum(size**2 for size in sizes)) // 2 + numbers
    if count <= MOST_PRODUCTS or not numbers:
        return count, False
    return numbers * (numbers + 1) // 2, True


def _pairs(joined: Sequence[Axes], only_numbers: bool) -> tuple[NDArray[np.int64], NDArray[np.int64], list[str]]:
    """Return both axes of each product, and its name: those of different columns, and squares of numbers."""
    group = np.repeat(np.arange(len(joined)), [len(axes) for axes in joined])
    own = np.concatenate([[0], *(np.arange(len(axes)) for axes in joined)])[1:].astype(np.int64)
    is_square = np.array([axes.is_measured for axes in joined], bool)[group] & (own == 0)  # a flag is its own square
    first, second = (part.astype(np.int64) for part in np.triu_indices(len(group)))
    keep = (group[first] != group[second]) | ((first == second) & is_square[first])
    if only_numbers:
        keep &= is_square[first] & is_square[second]
    first, second = first[keep], second[keep]
    named = [joined[one].name(place) for one, place in zip(group.tolist(), own.tolist(), strict=True)]
    pairs = zip(first.tolist(), second.tolist(), strict=True)
    return first, second, [f"{named[a]}²" if a == b else f"{named[a]} × {named[b]}" for a, b in pairs]


# -------------------------------------------------------------------------------------------------------- bumps


@dataclass(frozen=True, eq=False)
class BumpAxes(Expansion):
    """An axis for each landmark: exp(−d²/w) by the distance of a row, from 1 at the landmark to 0 far away."""

    landmarks: Array
    """Landmarks × inputs, in whole units."""
    reach: float
    """The squared distance, in squared units, at which a bump has fallen to 1/e."""
    is_whole = True

    @classmethod
    def over(cls, axes: Sequence[Axes], inputs: Any) -> Self:
        joined = joined_axes(axes)
        n_inputs = sum(map(len, joined))
        rows = inputs.shape[0]
        count = min(MOST_BUMPS, -(-rows // ROWS_A_BUMP), MOST_CELLS // max(rows, 1)) if n_inputs else 0
        found, reach = landmarks(_rounded(_dense(inputs)), count, UNITS // PLACES)
        return cls(len(axes), n_inputs, found, reach)

    def __len__(self) -> int:
        return len(self.landmarks)

    def expanded(self, inputs: Array) -> Array:
        rows = _rounded(inputs)
        squares = np.square(rows).sum(axis=1)[:, None] + np.square(self.landmarks).sum(axis=1)
        return np.asarray(np.exp((2.0 * rows @ self.landmarks.T - squares) / self.reach))

    def spread(self, inputs: Array, weights: Array) -> tuple[Array, float]:
        """Walk from the origin, a typical row, to the row: each input contributes what it changes on the way.

        The last digits, which the walk in steps misses, are spread in proportion.
        """
        start, end = (float(self.expanded(one)[0] @ weights) for one in (np.zeros((1, len(inputs))), inputs[None, :]))
        row, found = _rounded(inputs), np.zeros(len(inputs))
        for node, share in zip((NODES + 1) / 2, NODE_WEIGHTS / 2, strict=True):
            apart = node * row - self.landmarks
            bumps = weights * np.exp(-np.square(apart).sum(axis=1) / self.reach)
            found += share * row * (-2.0 / self.reach) * (bumps @ apart)
        sizes = np.abs(found).sum()
        missed = end - start - found.sum()
        return (found + missed * np.abs(found) / sizes, start) if sizes else (found, end)

    def name(self, place: int) -> str:
        return f"landmark {place + 1}"

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"span": np.array([self.span], np.int64), "landmarks": self.landmarks, "reach": np.array([self.reach])}

    @classmethod
    def from_axes(cls, axes: Sequence[Axes], arrays: Arrays) -> Self:
        _check_span(axes, arrays)
        n_inputs, found, reach = sum(map(len, joined_axes(axes))), arrays["landmarks"], arrays["reach"]
        fits = found.dtype == np.float64 and found.ndim == 2 and found.shape[1] == n_inputs
        if not fits or not bool(np.all(np.abs(found) <= FARTHEST * UNITS)):
            raise ValueError("the landmarks do not match the axes")
        if reach.dtype != np.float64 or reach.shape != (1,) or not 0 < reach[0] < np.inf:
            raise ValueError("the bumps have no reach")
        return cls(len(axes), n_inputs, np.require(found, np.float64, ["C", "A"]), float(reach[0]))


def _rounded(inputs: Array) -> Array:
    """Return inputs in whole units."""
    return np.asarray(np.rint(np.clip(inputs, -FARTHEST, FARTHEST) * UNITS))


def _check_span(axes: Sequence[Axes], arrays: Arrays) -> None:
    if arrays["span"].tolist() != [len(axes)]:
        raise ValueError("axes over several columns do not match the columns")


EXPANSIONS: dict[str, type[ProductAxes] | type[BumpAxes]] = {"quadratic": ProductAxes, "bumps": BumpAxes}
"""The axes over several columns of each basis that has some."""
