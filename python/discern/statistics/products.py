"""Sums over rows of vectors and of their products, by class, as whole numbers on a grid.

Discriminants, least squares and centroids depend on the rows through these sums alone. They are exact
(:mod:`discern.statistics.integers`), so rows can be added in any order and subtracted again, and equal rows always give
equal bytes.

Doubles add up whole numbers exactly below 2⁵³, which is how BLAS computes the products: the units of a row are split
into digits of 21 bits, unless they are small enough, and the sums are moved to integers before they could round. Some
processors multiply pairs of 16-bit numbers much faster; there the native code computes the same sums.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

import discern._native as _native
from discern.data.threads import default_threads
from discern.data.vectors.grid import Grid
from discern.statistics.integers import added, as_floats, as_objects, carried, checked, from_floats, subtracted
from discern.statistics.points import DIGIT, EXACT, ROOM, SMALL, Points, PointSums, digits
from discern.statistics.statistic import Statistic, whole_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discern.statistics.integers import Limbs

    Array = NDArray[np.float64]
    Classes = NDArray[np.int32]

BLOCK_ROWS = 512
"""Rows are summed in blocks that stay in the processor's cache."""
MANY_AXES = 48
"""From this number of axes the native code multiplies, where the processor has the instructions."""
THREAD_ROWS = 8192
"""The least rows for which a thread pays."""
FEW_DIFFERENCES = 50_000
"""The most differences, of classes times products, that are taken of integers and rounded once."""
NEVER_LEARNED = "cannot forget these rows: {}"


@dataclass(frozen=True, eq=False)
class Products(Statistic):
    """The rows of each class that have a vector, Σq by class, and Σqqᵀ over all classes.

    Examples
    --------
    >>> rows, classes = np.array([[0.5, 1.0], [1.5, 1.0], [9.0, 3.0]]), np.array([0, 0, 1], np.int32)
    >>> grid = Grid.fit(rows, 40)
    >>> sums = Products.of(rows, classes, 2, grid)
    >>> (grid.origin + sums.means() * grid.scale).tolist()
    [[1.0, 1.0], [9.0, 3.0]]
    >>> sums.minus(Products.of(rows[2:], classes[2:], 2, grid)).counts.tolist()
    [2, 0]
    """

    counts: NDArray[np.int64]
    """The rows of each class."""
    first: Limbs
    """Limbs × classes × axes."""
    second: Limbs
    """Limbs × matrices × the upper triangle of axes × axes, row by row."""
    bits: int = 0
    """The bits of a unit below the scale of the grid; 0 before any row."""

    by_class: ClassVar[bool] = False
    """Whether each class has its own matrix of products."""
    has_products: ClassVar[bool] = True

    @classmethod
    def of(cls, values: NDArray[Any], classes: NDArray[Any], n_classes: int, grid: Grid) -> Self:
        """Sum rows × axes, the class of each row given as a number below ``n_classes``; raises ValueError for NaN."""
        numbers = np.ascontiguousarray(classes, np.int32)
        threads = min(default_threads(), len(values) // THREAD_ROWS) if is_native(len(grid)) else 1
        if threads < 2:
            return cls._of_rows(values, numbers, n_classes, grid)
        parts = [slice(ends[0], ends[-1] + 1) for ends in np.array_split(np.arange(len(values)), threads)]
        with ThreadPoolExecutor(threads) as pool:
            found = pool.map(lambda part: cls._of_rows(values[part], numbers[part], n_classes, grid), parts)
            return cls.total(list(found))

    @classmethod
    def _of_rows(cls, values: NDArray[Any], numbers: Classes, n_classes: int, grid: Grid) -> Self:
        sums = _Summing(grid, n_classes, cls.has_products)
        if not cls.by_class:
            sums.add(values, numbers)
            second = sums.products()[:, None] if cls.has_products else np.zeros((1, 1, 0), np.int64)
        else:
            second = _stacked([sums.of_class(values, numbers, place) for place in range(n_classes)], len(grid))
        return cls(np.bincount(numbers, minlength=n_classes).astype(np.int64), sums.first(), second, grid.bits)

    @classmethod
    def of_points(cls, points: Points, classes: NDArray[Any], n_classes: int) -> Self:
        """Sum points, the class of each given as a number below ``n_classes``."""
        numbers = np.ascontiguousarray(classes, np.int32)
        if len(points.blocks) == 1 and points.blocks[0].is_dense:
            return cls.of(points.blocks[0].values, numbers, n_classes, points.grid)
        n_axes, whole = points.shape[1], PointSums(points.shape[1], n_classes, cls.has_products and not cls.by_class)
        whole.add(points, numbers)
        second = _joined(whole.second)[:, None] if cls.has_products else np.zeros((1, 1, 0), np.int64)
        if cls.by_class:
            second = _stacked([_products_of(points, numbers, place) for place in range(n_classes)], n_axes)
        counts = np.bincount(numbers, minlength=n_classes).astype(np.int64)
        return cls(counts, _joined(whole.first), second, points.grid.bits)

    @classmethod
    def empty(cls) -> Self:
        """Return the sums of no rows, of no classes and no axes."""
        return cls(np.zeros(0, np.int64), np.zeros((1, 0, 0), np.int64), np.zeros((1, 0, 0), np.int64))

    @classmethod
    def total(cls, parts: Sequence[Self]) -> Self:
        """Add the sums of one part or more, of the same classes."""
        parts = [part for part in parts if part.bits] or list(parts[:1])
        counts = np.sum([part.counts for part in parts], axis=0)
        first, second = (added([getattr(part, name) for part in parts]) for name in ("first", "second"))
        return cls(counts, first, second, parts[0].bits)

    @property
    def n_axes(self) -> int:
        """The number of axes."""
        return int(self.first.shape[2])

    def __add__(self, other: Self) -> Self:
        return type(self).total([self, other])

    def minus(self, other: Self) -> Self:
        """Subtract; raises ValueError if something was never summed, as far as sums can tell."""
        if not other.bits:
            return self
        counts = self.counts - other.counts
        if bool(np.any(counts < 0)):
            raise ValueError(NEVER_LEARNED.format("the model has fewer rows with a vector"))
        first, second = subtracted(self.first, other.first), subtracted(self.second, other.second)
        rest = type(self)(counts, first, second, self.bits)
        if not rest._is_possible():
            raise ValueError(NEVER_LEARNED.format("their numbers are not among those learned"))
        return rest

    def _is_possible(self) -> bool:
        """Return whether some rows can have these sums: without rows all are zero, and (Σq)² ≤ n Σq²."""
        counts, first = self.counts, as_floats(self.first)
        if bool(np.any(first[counts == 0])):
            return False
        if not self.has_products or not self.n_axes:
            return True
        squares = as_floats(self.second)[:, _diagonal(self.n_axes)]
        least = first**2 / np.maximum(counts, 1)[:, None]
        if not self.by_class:
            least, counts = least.sum(axis=0, keepdims=True), counts.sum(keepdims=True)
        if bool(np.any(as_floats(self.second)[counts == 0])):
            return False
        return bool(np.all(least <= squares * (1 + 1e-9)))

    def decayed(self, factor: float) -> Self:
        """Return the sums times a factor, rounded; rows are counted in whole numbers, and means stay the same."""
        counts = np.rint(self.counts * factor).astype(np.int64)
        shares = counts / np.maximum(self.counts, 1)
        first, second = as_floats(self.first), as_floats(self.second)
        if self.by_class:
            second = second * shares[:, None]
        elif second.size:  # the products about the means shrink as all rows do, those of the means as their class does
            share = counts.sum() / max(self.counts.sum(), 1)
            rows, columns = np.triu_indices(self.n_axes)
            of_means = first.T @ ((shares - share)[:, None] * self._unit_means())
            second = second * share + of_means[rows, columns]
        second[:, _diagonal(self.n_axes) if second.size else []] += self.n_axes + 1  # rounding must not make less of it
        return type(self)(
            counts, from_floats(np.trunc(first * shares[:, None])), from_floats(np.rint(second)), self.bits
        )

    def with_classes(self, places: NDArray[Any], n_classes: int) -> Self:
        """Return the sums of ``n_classes`` classes, those here at ``places``, the others empty."""

        def spread(limbs: Limbs) -> Limbs:
            wide = np.zeros((len(limbs), n_classes, limbs.shape[2]), np.int64)
            wide[:, places] = limbs
            return wide

        counts = np.zeros(n_classes, np.int64)
        counts[places] = self.counts
        second = spread(self.second) if self.by_class else self.second
        return type(self)(counts, spread(self.first), second, self.bits)

    def of_classes(self, keep: NDArray[Any]) -> Self:
        """Return the sums of some classes, in this order; those left out must be empty."""
        second = carried(self.second[:, keep]) if self.by_class else self.second
        return type(self)(self.counts[keep], carried(self.first[:, keep]), second, self.bits)

    def grouped(self, places: NDArray[Any], n_classes: int) -> Self:
        """Return the sums of classes put together: each class goes to the place given for it."""

        def joined(limbs: Limbs) -> Limbs:
            total = np.zeros((len(limbs), n_classes, limbs.shape[2]), np.int64)
            for place, limb in zip(places.tolist(), np.swapaxes(limbs, 0, 1), strict=True):
                total[:, place] += limb
            return carried(total)

        counts = np.zeros(n_classes, np.int64)
        np.add.at(counts, places, self.counts)
        return type(self)(counts, joined(self.first), joined(self.second) if self.by_class else self.second, self.bits)

    def of_rows(self, class_rows: NDArray[np.int64]) -> Self:
        """Return the sums of the classes that have rows; refuse more vectors than rows."""
        if bool(np.any(self.counts > class_rows)):
            raise ValueError(NEVER_LEARNED.format("the model has fewer rows without a vector"))
        return self.of_classes(class_rows > 0)

    def arrays(self, labels: Sequence[str] = ()) -> dict[str, NDArray[Any]]:
        """Return the sums as arrays, for the model file."""
        found = {"counts": self.counts, "first": self.first, "bits": np.array([self.bits], np.int64)}
        return {**found, "second": self.second} if self.has_products else found

    @classmethod
    def from_arrays(
        cls, labels: Sequence[str], arrays: Mapping[str, NDArray[Any]], class_rows: NDArray[np.int64]
    ) -> Self:
        """Make the sums from what :meth:`arrays` returned; raises ValueError if they do not fit together."""
        counts, first, bits = whole_numbers(arrays["counts"]), arrays["first"], whole_numbers(arrays["bits"])
        if counts.shape != (len(labels),) or bool(np.any((counts < 0) | (counts > class_rows))):
            raise ValueError("the rows of the sums do not match the labels")
        if first.ndim != 3 or bits.shape != (1,) or not 0 <= bits[0] < 64:
            raise ValueError("the sums do not match the labels and axes")
        axes = first.shape[2]
        shape = (len(labels) if cls.by_class else 1, axes * (axes + 1) // 2)
        none = np.zeros((1, 1, 0), np.int64)
        second = checked(arrays["second"], shape) if cls.has_products else none
        sums = cls(counts, checked(first, (len(labels), axes)), second, int(bits[0]))
        if not sums._is_possible():
            raise ValueError("the sums do not match each other")
        return sums

    # ------------------------------------------------------------------------------------------------ results

    def means(self) -> Array:
        """Return the mean of each class from the origin, in scales of the grid; NaN for a class without rows."""
        with np.errstate(invalid="ignore"):
            return np.asarray(np.ldexp(as_floats(self.first), -self.bits) / self.counts[:, None])

    def within(self) -> Array:
        """Return Σ(z − μ)(z − μ)ᵀ about the means of the classes, over all of them, in squared scales of the grid."""
        return np.asarray(self._centered().sum(axis=0))

    def within_classes(self) -> Array:
        """Return the same for each class."""
        if not self.by_class:
            raise ValueError("the products of all classes were summed in one matrix")
        return self._centered()

    def _centered(self) -> Array:
        """Return the products about the means of the classes: matrices × axes × axes."""
        size, axes = len(self.second[0]), self.n_axes
        upper = np.zeros((size, axes, axes))
        rows, columns = np.triu_indices(axes)
        few = len(self.counts) * len(rows) <= FEW_DIFFERENCES
        upper[:, rows, columns] = (self._differences if few else self._rounded)(rows, columns)
        lower = np.swapaxes(np.triu(upper, 1), 1, 2)
        return np.asarray(upper + lower)

    def _rounded(self, rows: NDArray[Any], columns: NDArray[Any]) -> Array:
        first = np.ldexp(as_floats(self.first), -self.bits)
        means = np.ldexp(self._unit_means(), -self.bits)
        second = np.ldexp(as_floats(self.second), -2 * self.bits)
        if self.by_class:
            return np.asarray(second - first[:, rows] * means[:, columns])
        return np.asarray(second - (first.T @ means)[rows, columns])

    def _unit_means(self) -> Array:
        """Return the mean of each class in units; zero for a class without rows."""
        return np.asarray(as_floats(self.first) / np.maximum(self.counts, 1)[:, None])

    def _differences(self, rows: NDArray[Any], columns: NDArray[Any]) -> Array:
        """Return the products, rounded once: the differences are taken of integers."""
        first, second, counts = as_objects(self.first), as_objects(self.second), np.maximum(self.counts, 1)
        by_class = second if self.by_class else [second[0]]
        found = []
        for place, products in enumerate(by_class):
            classes = [place] if self.by_class else np.flatnonzero(self.counts)
            total = products << 12  # quotients are rounded to 2⁻¹² of a squared unit
            for one in classes:
                total = total - (first[one][rows] * first[one][columns] << 12) // int(counts[one])
            found.append(total)
        unit = 1 << (2 * self.bits + 12)
        return np.array([[value / unit for value in line] for line in found], np.float64).reshape(len(by_class), -1)


class ClassProducts(Products):
    """Products of each class apart, for a covariance of each."""

    by_class = True


class Means(Products):
    """No products: the rows and the sums of each class."""

    has_products = False


# ------------------------------------------------------------------------------------------------------- summing


def is_native(n_axes: int) -> bool:
    """Return whether the native code multiplies; it uses one thread, and BLAS as many as it likes."""
    return n_axes >= MANY_AXES and _native.has_fast_products()


class _Summing:
    """Adds up rows on a grid: the sums of each class, and the products of all rows added so far."""

    def __init__(self, grid: Grid, n_classes: int, with_products: bool) -> None:
        axes = len(grid)
        self._grid, self._n_classes, self._with_products = grid, n_classes, with_products
        self._first = [np.zeros((n_classes, axes), np.int64)]  # in steps of a digit
        self._open_first = np.zeros((n_classes, axes))  # doubles: exact for 2³¹ rows of small units
        self._units = np.empty((BLOCK_ROWS, axes))
        self._largest = np.empty(BLOCK_ROWS)
        self._is_native = is_native(axes)
        self._most = int(ROOM if self._is_native else EXACT)  # whole: no small sum is lost in it
        self._clear()

    def _clear(self) -> None:
        axes = len(self._grid)
        self._open: Any = None  # products of doubles, still exact, or of 64-bit integers
        self._room = self._most
        self._limbs = [np.zeros((axes, axes), np.int64)]  # in steps of a digit

    def add(self, values: NDArray[Any], classes: Classes) -> None:
        """Add rows."""
        if not values.shape[1]:
            return
        for start in range(0, len(values), BLOCK_ROWS):
            part = values[start : start + BLOCK_ROWS]
            if part.dtype != np.float32:
                part = part.astype(np.float32 if part.dtype == np.float16 else np.float64, copy=False)
            self._add_block(np.ascontiguousarray(part), classes[start : start + BLOCK_ROWS])
        self._first = _in_steps(self._first, 0, self._open_first)
        self._open_first[...] = 0
        self._flush()

    def of_class(self, values: NDArray[Any], classes: Classes, place: int) -> Limbs:
        """Add the rows of a class and return their products."""
        rows = np.flatnonzero(classes == place)
        for start in range(0, len(rows), 8 * BLOCK_ROWS):
            chosen = rows[start : start + 8 * BLOCK_ROWS]
            self.add(values[chosen], classes[chosen])
        found = self.products()
        self._clear()
        return found

    def _add_block(self, block: NDArray[Any], classes: Classes) -> None:
        units, largest = self._units[: len(block)], self._largest[: len(block)]
        grid, first = self._grid, self._open_first
        _native.place_on_grid(block, classes, grid.origin, grid.per_unit, SMALL, first, units, largest)
        far = np.isinf(largest)
        if far.any():
            self._add_far(block[far], classes[far])
        if self._with_products:
            self._multiply(units, int(np.square(np.rint(largest[~far])).sum()))

    def _multiply(self, units: Array, largest: int) -> None:
        """Add the products of rows whose largest squares have this sum, by which no sum of products is exceeded."""
        if largest > self._room:
            self._flush()
        if self._open is None:
            kind = np.int64 if self._is_native else np.float64
            self._open = np.zeros((units.shape[1],) * 2, kind, order="C" if self._is_native else "F")
        # Half of the products are enough.
        if self._is_native:
            _native.add_products(units, self._open)
        else:
            from scipy.linalg.blas import dsyrk

            # The transpose of rows in memory is columns to BLAS: nothing is copied.
            self._open = dsyrk(1.0, units.T, beta=1.0, c=self._open, overwrite_c=1)
        self._room -= largest

    def _flush(self) -> None:
        """Move the open products to integers."""
        if self._open is not None and self._room < self._most:
            self._limbs = _in_steps(self._limbs, 0, self._open)
            self._open[...] = 0
        self._room = self._most

    def _add_far(self, values: NDArray[Any], classes: Classes) -> None:
        """Add rows with large units, digit by digit."""
        if not np.isfinite(values).all():
            raise ValueError("a vector has a number that is not finite")
        parts = list(digits(self._grid.units(values)))
        for place, digit in enumerate(parts):
            self._first = _in_steps(self._first, place, _by_class(digit, classes, self._n_classes))
        for place, digit in enumerate(parts) if self._with_products else ():
            for other in range(place, len(parts)):
                products = digit.T @ parts[other]
                both = products if other == place else products + products.T
                self._limbs = _in_steps(self._limbs, place + other, both)

    def first(self) -> Limbs:
        """Return the sums of the classes."""
        return _joined(self._first)

    def products(self) -> Limbs:
        """Return the products of all rows added: limbs × the upper triangle."""
        rows, columns = np.triu_indices(len(self._grid))
        return _joined([limb[rows, columns] for limb in self._limbs])


def _products_of(points: Points, classes: Classes, place: int) -> Limbs:
    """Return the products of the rows of a class."""
    own = points.take(np.flatnonzero(classes == place))
    sums = PointSums(points.shape[1], 1, with_products=True)
    sums.add(own, np.zeros(own.shape[0], np.int32))
    return _joined(sums.second)


def _by_class(rows: Array, classes: Classes, n_classes: int) -> Array:
    import scipy.sparse

    chooser = scipy.sparse.csc_array((np.ones(len(rows)), classes, np.arange(len(rows) + 1)), (n_classes, len(rows)))
    return np.asarray(chooser @ rows)


def _in_steps(limbs: list[NDArray[np.int64]], place: int, values: NDArray[Any]) -> list[NDArray[np.int64]]:
    """Add whole numbers to the limb at a place; what is there in steps of a digit stays far below 2⁶³."""
    limbs += [np.zeros_like(limbs[0]) for _ in range(len(limbs), place + 1)]
    limbs[place] += values.astype(np.int64)
    if np.abs(limbs[place]).max(initial=0) < 1 << 61:
        return limbs
    return list(carried(limbs, DIGIT))


def _joined(steps: Sequence[NDArray[np.int64]]) -> Limbs:
    """Return limbs of 42 bits of those of a digit each."""
    digits = carried(steps, DIGIT)
    if len(digits) % 2:
        digits = np.concatenate([digits, np.zeros_like(digits[:1])])
    return carried(digits[::2] + (digits[1::2] << DIGIT))


def _stacked(matrices: Sequence[Limbs], axes: int) -> Limbs:
    """Return the triangles of all classes as one array."""
    most = max(map(len, matrices), default=1)
    found = np.zeros((most, len(matrices), axes * (axes + 1) // 2), np.int64)
    for place, limbs in enumerate(matrices):
        found[: len(limbs), place] = limbs
    return found


def _diagonal(axes: int) -> NDArray[np.int64]:
    """Return the places of the diagonal in the upper triangle."""
    steps = np.arange(axes)
    return np.asarray(steps * axes - steps * (steps - 1) // 2, np.int64)
