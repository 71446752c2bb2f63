"""The support vector machine with a kernel: scores that are sums over support rows.

Its kernel, the cost of an error and the reach of the kernel (gamma) are chosen by held-out rows
(:mod:`discern.models.vector_space.kernel_choice`). Of many rows, landmarks stand for all
(:mod:`discern.learners.kernels.expansions`). Axes may have scales by how much they matter
(:mod:`discern.learners.kernels.relevance`).

What an axis contributes to a decision is its Shapley value: the mean change of the scores when the axis is set from
zero, its typical value, to its own, over the orders in which axes can be set. The contributions add up exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse

from discern.data.encode import is_sparse
from discern.learners.kernels.expansions import expansions, functions_of, is_exact, kernel_values
from discern.learners.kernels.machines import KERNELS, Kernel
from discern.learners.kernels.relevance import scales, scales_of_columns, unit_of
from discern.models.columns.arrays import float_array
from discern.models.vector_space.deciders import Contribution, Decider, Linear, learn_margins

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discern.models.vector_space.deciders import Regularization, Table

    Array = NDArray[np.float64]

DEGREE = 3
"""The degree of polynomials."""
MOST_GAMMA, FARTHEST = 1e12, 1e9
"""The largest gamma, and the largest number of a support row."""
DENSE = 0.1
"""From this share of numbers that are not zero on, rows are dense."""
FEW_AXES = 4
"""With at most this many axes, the mean is over all orders of them; with more, over some of them and their reverses."""
MOST_ORDERS, MOST_SCORED = 16, 4096
"""The orders of axes, and the rows that may be scored for them."""
SCORED_AT_ONCE = 512
NEAR = 3
"""The number of nearest support rows that are shown."""


def by_class(values: Array, n_classes: int) -> Array:
    """Return a column for each class from one for each function."""
    return np.hstack([-values / 2, values / 2]) if n_classes == 2 else values


@dataclass(frozen=True)
class Kernels:
    """Scores Σ_s a_s κ(x, s) + b; one function for two classes, half for the second and half against the first."""

    kernel: Kernel
    support: Any
    rows: NDArray[np.int64]
    """The place of each support row among the rows learned."""
    owners: NDArray[np.int64]
    """The class of each support row."""
    coefficients: Array
    intercepts: Array
    classes: int
    at_landmarks: bool = False
    """Whether the support rows are landmarks, which stand for all rows."""
    scales: Array | None = None
    """The scale of each axis, by how much it matters; the support rows have it already."""

    def _suited(self, matrix: Any) -> Any:
        """Return rows as the kernel takes them."""
        table = matrix if is_sparse(self.support) else matrix.toarray()
        return table if self.scales is None else table * self.scales

    def scores(self, matrix: Any) -> Array:
        """Score rows."""
        table = self._suited(matrix)
        return by_class(self.kernel.sums(table, self.support, self.coefficients) + self.intercepts, self.classes)

    def contribution(self, row: Any, label: int, against: int) -> Contribution:
        """Return the Shapley value of each axis for the only row of a matrix, and the nearest support rows."""

        def odds(rows: Any) -> Array:
            scores = self.scores(rows)
            return np.asarray(scores[:, label] - scores[:, against])

        prior, shares = shapley_values(odds, row)
        axes = dict(zip(row.indices.tolist(), shares.tolist(), strict=True))
        return Contribution(prior, 0.0, axes, near=self.nearest(row))

    def nearest(self, row: Any) -> tuple[tuple[int, int, float], ...]:
        """Return the place, the class and the similarity of the support rows most similar to the only row."""
        table = self._suited(row)
        values = kernel_values(table, self.support, self.kernel)[0]
        size = np.sqrt(np.maximum(self.kernel.diagonal(table) * self.kernel.diagonal(self.support), 1e-300))
        similar = np.minimum(values / size, 1.0)
        order = np.lexsort((self.rows, -similar))[:NEAR]
        return tuple((int(self.rows[i]), int(self.owners[i]), float(similar[i])) for i in order)

    def odds(self, label: int) -> Array | None:
        """Return None: what a unit contributes depends on all other axes."""
        return None

    @property
    def facts(self) -> dict[str, Any]:
        """What ``info`` shows beside the kernel."""
        return {
            "support_rows": len(self.rows), "landmarks": self.at_landmarks, "scaled_axes": self.scales is not None
        }  # fmt: skip

    @property
    def parameters(self) -> int:
        """The number of parameters: coefficients, and what is kept of the support rows."""
        kept = self.support.nnz if is_sparse(self.support) else self.support.size
        return int(self.coefficients.size + self.intercepts.size + kept)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything as arrays, for the model file."""
        kernel = self.kernel
        numbers = [KERNELS.index(kernel.name), kernel.gamma, kernel.offset, kernel.degree, self.at_landmarks]
        found = {"kernel": np.array(numbers, np.float64), "rows": self.rows, "owners": self.owners}
        found |= {"coefficients": self.coefficients, "intercepts": self.intercepts}
        found |= {} if self.scales is None else {"scales": self.scales}
        if not is_sparse(self.support):
            return {**found, "support": self.support}
        terms, starts = self.support.indices.astype(np.int64), self.support.indptr.astype(np.int64)
        return {**found, "support.values": self.support.data, "support.terms": terms, "support.starts": starts}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], n_axes: int, classes: int) -> Kernels | Linear:
        """Make one of what :meth:`arrays` gave; raises ValueError if it does not fit together."""
        if "kernel" not in arrays:
            return Linear.from_arrays(arrays, n_axes, classes)
        kernel, at_landmarks = _kernel_from(float_array(arrays["kernel"]))
        rows, owners = _places(arrays["rows"], 1 << 53), _places(arrays["owners"], classes)
        coefficients, intercepts = float_array(arrays["coefficients"]), float_array(arrays["intercepts"])
        functions = functions_of(classes)
        if coefficients.shape != (functions, len(rows)) or (intercepts.shape, len(owners)) != ((functions,), len(rows)):
            raise ValueError("the coefficients do not match the support rows and labels")
        support = _support_from(arrays, len(rows), n_axes)
        scaled = _scales_from(arrays, n_axes) if "scales" in arrays and not is_sparse(support) else None
        return cls(kernel, support, rows, owners, coefficients, intercepts, classes, at_landmarks, scaled)


def _kernel_from(numbers: Array) -> tuple[Kernel, bool]:
    if numbers.shape != (5,) or numbers[0] not in (KERNELS.index("poly"), KERNELS.index("rbf")):
        raise ValueError("the kernel is not known")
    if not 0 < numbers[1] <= MOST_GAMMA or not 0 <= numbers[2] <= 1 or numbers[3] != DEGREE or numbers[4] not in (0, 1):
        raise ValueError("the numbers of the kernel are out of range")
    return Kernel(KERNELS[int(numbers[0])], float(numbers[1]), float(numbers[2]), DEGREE), bool(numbers[4])


def _places(array: NDArray[Any], end: int) -> NDArray[np.int64]:
    if array.dtype.kind not in "iu" or array.ndim != 1 or not len(array):
        raise ValueError("the support rows have no places")
    if int(array.min()) < 0 or int(array.max()) >= end:
        raise ValueError("the place of a support row is out of range")
    return array.astype(np.int64)


def _support_from(arrays: Mapping[str, NDArray[Any]], rows: int, n_axes: int) -> Any:
    if "support" in arrays:
        support = _not_far(arrays["support"])
        if support.shape != (rows, n_axes):
            raise ValueError("the support rows do not match the terms and values")
        return support
    values, terms, starts = (arrays[f"support.{name}"] for name in ("values", "terms", "starts"))
    if terms.dtype.kind not in "iu" or starts.dtype.kind not in "iu" or starts.shape != (rows + 1,):
        raise ValueError("the support rows do not match their terms")
    terms, starts = terms.astype(np.int64), starts.astype(np.int64)
    if terms.ndim != 1 or starts[0] != 0 or np.any(np.diff(starts) < 0) or starts[-1] != len(terms):
        raise ValueError("the support rows do not match their terms")
    if values.shape != terms.shape or (len(terms) and not 0 <= int(terms.min()) <= int(terms.max()) < n_axes):
        raise ValueError("a support row has an unknown term")
    found: Any = scipy.sparse.csr_array((_not_far(values), terms, starts), shape=(rows, n_axes))
    if not found.has_canonical_format:
        raise ValueError("the terms of a support row are not sorted")
    return found


def _scales_from(arrays: Mapping[str, NDArray[Any]], n_axes: int) -> Array:
    found = _not_far(arrays["scales"])
    if found.shape != (n_axes,) or not bool(np.all(found > 0)):
        raise ValueError("the scales do not match the terms and values")
    return found


def _not_far(array: NDArray[Any]) -> Array:
    values = float_array(array)
    if bool(np.any(np.abs(values) > FARTHEST)):
        raise ValueError("a support row is too far from the others")
    return values


# ------------------------------------------------------------------------------------------------- evidence


def shapley_values(function: Callable[[Any], Array], row: Any) -> tuple[float, Array]:
    """Return a function of a row of zeros, and the share of each axis that is not zero in the difference of the row.

    Examples
    --------
    >>> row = scipy.sparse.csr_array([[2.0, 0.0, 3.0]])
    >>> shapley_values(lambda rows: rows[:, [0]].toarray()[:, 0] * rows[:, [2]].toarray()[:, 0], row)
    (0.0, array([3., 3.]))
    """
    orders = _orders(len(row.indices))
    shares, start = np.zeros(len(row.indices)), 0.0
    for order in orders:
        values = np.concatenate([function(rows) for rows in _filled(row, order)])
        shares[order] += np.diff(values) / len(orders)
        start = float(values[0])
    return start, shares


def _filled(row: Any, order: NDArray[np.int64]) -> Iterator[Any]:
    """Yield rows with none of the axes of a row, the first in an order, the first two, and so on."""
    ranks = order.argsort()
    for start in range(0, len(order) + 1, SCORED_AT_ONCE):
        counts = np.arange(start, min(start + SCORED_AT_ONCE, len(order) + 1))
        which = np.nonzero(ranks < counts[:, None])[1]
        ends = np.cumsum([0, *counts])
        yield scipy.sparse.csr_array((row.data[which], row.indices[which], ends), shape=(len(counts), row.shape[1]))


def _orders(n_axes: int) -> list[NDArray[np.int64]]:
    """Return orders of axes: all of them if they are few, else random ones and their reverses, always the same."""
    if n_axes <= FEW_AXES:
        return [np.array(order, np.int64) for order in permutations(range(n_axes))]
    random = np.random.default_rng(n_axes)
    pairs = int(np.clip(MOST_SCORED // (2 * n_axes), 1, MOST_ORDERS // 2))
    some = [random.permutation(n_axes) for _ in range(pairs)]
    return [order for one in some for order in (one, one[::-1])]


# ------------------------------------------------------------------------------------------------- learning


def learn_svm(table: Table, regularization: Regularization) -> Decider:
    """Learn the machine of each class against the rest."""
    n_classes = table.n_classes
    if n_classes < 2 or not table.matrix.shape[1]:
        return Linear.constant(table.priors, table.matrix.shape[1])
    exact = is_exact(table.matrix.shape[0], n_classes)
    is_linear = regularization.kernel is not None and regularization.kernel.name == "linear"
    if is_linear and (regularization.is_scaled or not exact):
        return learn_linear(table, regularization)
    matrix, found_scales = suited(table.matrix), None
    if regularization.is_scaled and not is_sparse(matrix):
        found_scales = scales(matrix, table.classes, n_classes)
        matrix = matrix * found_scales
    kernel = regularization.kernel or Kernel("rbf", gamma=unit_of(matrix))
    [found] = expansions(matrix, table.classes, n_classes, kernel, [regularization.cost], table.threads)
    support = matrix[found.places]
    if kernel.name == "linear":
        weights = np.ascontiguousarray(support.T @ found.coefficients.T)
        return Linear(weights, found.intercepts, n_classes)
    owners = table.classes[found.places].astype(np.int64)
    return Kernels(
        kernel,
        support,
        found.places,
        owners,
        found.coefficients,
        found.intercepts,
        n_classes,
        at_landmarks=not exact,
        scales=found_scales,
    )


def learn_linear(table: Table, regularization: Regularization) -> Linear:
    """Learn a linear machine; scaled, learn it again with axes scaled by how much their column contributes."""
    found = learn_margins(table, regularization)
    if not regularization.is_scaled:
        return found
    by_column = scales_of_columns(table.matrix, found.weights, table.blocks or (1,) * table.matrix.shape[1])
    scaled = replace(table, matrix=table.matrix @ scipy.sparse.diags_array(by_column, format="csr"))
    found = learn_margins(scaled, regularization)
    return replace(found, weights=np.ascontiguousarray(found.weights * by_column[:, None]))


def suited(matrix: Any) -> Any:
    """Return rows as they are, sparse, if most numbers are zero: terms of texts, or many levels; else dense ones."""
    return matrix if matrix.nnz < DENSE * matrix.shape[0] * matrix.shape[1] else matrix.toarray()
