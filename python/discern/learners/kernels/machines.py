"""Support vector machines with kernels: the dual problem, which Rust solves, and its solution.

    min ½‖w‖² + Σ C_i ξ_i   with   y_i (w·φ(x_i) + b) ≥ 1 − ξ_i,  ξ_i ≥ 0

For more than two classes there is a machine for each pair of them (one against one).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

import discern._native as _native
from discern.data.encode import native_table
from discern.data.threads import default_threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed")
COARSE = 1e-4
"""From this tolerance on, and with many rows, single precision is enough for the kernel cache."""
FEW_DECIDED = 4
"""Up to this many rows are decided without laying out the support vectors."""
FEW_ROWS = 1000
"""Up to this many rows the kernel cache always has double precision."""


@dataclass(frozen=True)
class Kernel:
    """κ(x, z): ``linear`` x·z, ``poly`` (γ x·z + c)^d, ``rbf`` exp(−γ‖x−z‖²), ``sigmoid`` tanh(γ x·z + c).

    With ``precomputed``, rows are kernel values.

    Examples
    --------
    >>> Kernel("poly", gamma=1.0, degree=2).sums(np.array([[1.0, 2.0]]), np.array([[3.0, 1.0]]), np.ones((1, 1)))
    array([[25.]])
    """

    name: str = "rbf"
    gamma: float = 1.0
    offset: float = 0.0
    degree: int = 3

    def __post_init__(self) -> None:
        if self.name not in KERNELS:
            raise ValueError(f"kernel must be one of {', '.join(KERNELS)}, not {self.name!r}")

    @property
    def native(self) -> tuple[str, float, float, int]:
        """The kernel as the native code takes it."""
        return (self.name, float(self.gamma), float(self.offset), int(self.degree))

    def sums(self, table: Any, support: Any, coefficients: Array, threads: int | None = None) -> Array:
        """Return Σ_s coefficient κ(x, s) for each row x and each line of coefficients."""
        given = native_table(table), native_table(support)
        lines = np.ascontiguousarray(coefficients, np.float64)
        return _native.kernel_sums(*given, self.native, lines, threads or default_threads())

    def diagonal(self, table: Any) -> Array:
        """Return κ(x, x) for each row."""
        if self.name == "rbf":
            return np.ones(table.shape[0])
        squares = np.asarray(table.multiply(table).sum(axis=1)).ravel() if hasattr(table, "multiply") else None
        squares = np.einsum("ij,ij->i", table, table) if squares is None else squares
        return self.of_products(squares)

    def of_products(self, products: Array) -> Array:
        """Return κ(x, z) by x·z, for a kernel that depends on nothing else."""
        if self.name == "linear":
            return products
        inner = self.gamma * products + self.offset
        return np.asarray(inner**self.degree if self.name == "poly" else np.tanh(inner))


@dataclass(frozen=True)
class Certificate:
    """How good the solution of one machine is.

    ``violation`` is the largest difference of two gradients by which a pair of coefficients could still gain,
    ``primal`` and ``dual`` bound the best objective from above and below, ``squared_norm`` is ‖w‖².
    """

    primal: float
    dual: float
    violation: float
    squared_norm: float
    iterations: int
    converged: bool

    @property
    def duality_gap(self) -> float:
        """The gap between the two objectives, relative to the primal one."""
        return (self.primal - self.dual) / abs(self.primal) if self.primal else 0.0

    @property
    def margin(self) -> float:
        """The width 2/‖w‖ of the strip between the two classes."""
        return 2.0 / float(np.sqrt(self.squared_norm)) if self.squared_norm > 0 else float("inf")


@cache
def pairs_of(n_classes: int) -> tuple[Array, Array]:
    """Return the first and the second class of each pair.

    Examples
    --------
    >>> [part.tolist() for part in pairs_of(3)]
    [[0, 0, 1], [1, 2, 2]]
    """
    first, second = np.triu_indices(n_classes, 1)
    return first, second


@dataclass(frozen=True)
class Machines:
    """Machines for all pairs of classes on common support vectors, ordered by class.

    For the pair (i, j), i < j, a positive value means class i. A support vector of class i has its coefficient for this
    pair in line j−1, one of class j in line i. ``bound_shares`` is the share of each machine's support vectors that
    reached their cost C: rows that overlap the other class.
    """

    support: NDArray[np.int64]
    class_sizes: tuple[int, ...]
    coefficients: NDArray[np.float64]
    intercepts: NDArray[np.float64]
    certificates: tuple[Certificate, ...]
    bound_shares: tuple[float, ...]

    def decide(self, table: Any, vectors: Any, kernel: Kernel, threads: int | None = None) -> Array:
        """Return the value of each pair for each row; ``vectors`` are the support vectors.

        With precomputed kernel values, the columns of ``table`` are the training rows.
        """
        given = kernel.name == "precomputed"
        is_dense = type(table) is type(vectors) is np.ndarray
        if not given and is_dense and table.shape[0] <= FEW_DECIDED and min(self.class_sizes) > 0:
            return self._decide_few(table, vectors, kernel)
        places = self.support if given else np.arange(len(self.support))
        return _native.decide_machines(
            native_table(table),
            np.zeros((0, 0)) if given else native_table(vectors),
            places,
            kernel.native,
            list(self.class_sizes),
            self.coefficients,
            self.intercepts,
            threads or default_threads(),
        )

    def _decide_few(self, table: Array, vectors: Array, kernel: Kernel) -> Array:
        """Do the same for a few dense rows, for which the native code would lay out the support vectors each time."""
        products = table @ vectors.T
        if kernel.name == "rbf":
            squares = np.einsum("ij,ij->i", table, table)[:, None] + self._squares(vectors)
            values = np.exp(-kernel.gamma * np.maximum(squares - 2.0 * products, 0.0))
        else:
            values = kernel.of_products(products)
        if len(self.class_sizes) == 2:
            return np.asarray(values @ self.coefficients.T + self.intercepts)
        starts = np.cumsum([0, *self.class_sizes[:-1]])
        sums = np.add.reduceat(values[:, None, :] * self.coefficients, starts, axis=2)
        first, second = pairs_of(len(starts))
        return np.asarray(sums[:, second - 1, first] + sums[:, first, second] + self.intercepts)

    def _squares(self, vectors: Array) -> Array:
        """Return the squared lengths of the support vectors, which are computed once."""
        known = self.__dict__.get("_known_squares")
        if known is None or known[0] is not vectors:
            known = self.__dict__["_known_squares"] = (vectors, np.einsum("ij,ij->i", vectors, vectors))
        return np.asarray(known[1])


@dataclass(frozen=True)
class SupportVectorSettings:
    """Stopping rule: ``tolerance`` of the gradients, a tenth of it for the relative duality gap; ``cache`` in bytes."""

    tolerance: float = 1e-3
    cache: int = 200 << 20
    shrinking: bool = True
    most_steps: int = -1

    def native(self, rows: int) -> tuple[float, int, bool, int, bool]:
        """Return the settings as the native code takes them, for machines of at most ``rows`` rows."""
        steps = self.most_steps if self.most_steps >= 0 else max(10**7, 100 * rows)
        precise = self.tolerance < COARSE or rows <= FEW_ROWS
        return (self.tolerance, self.cache, self.shrinking, steps, precise)


def fit_machines(
    table: Any,
    numbers: NDArray[Any],
    n_classes: int,
    costs: NDArray[np.float64],
    kernel: Kernel,
    settings: SupportVectorSettings,
    threads: int | None = None,
) -> Machines:
    """Fit a machine for each pair of ``n_classes`` classes; rows have class ``numbers`` and ``costs`` above 0.

    Examples
    --------
    >>> table, numbers = np.array([[-1.0], [3.0]]), np.array([0, 1])
    >>> fitted = fit_machines(table, numbers, 2, np.full(2, 10.0), Kernel("linear"), SupportVectorSettings())
    >>> fitted.decide(np.array([[1.0], [0.0]]), table, Kernel("linear")).ravel().tolist()
    [0.0, 0.5]
    """
    by_class = [np.flatnonzero(numbers == number) for number in range(n_classes)]
    pairs = list(combinations(range(n_classes), 2))
    problems = []
    for first, second in pairs:
        rows = np.concatenate([by_class[first], by_class[second]])
        signs = np.where(np.arange(len(rows)) < len(by_class[first]), 1.0, -1.0)
        problems.append((rows, signs, np.ascontiguousarray(costs[rows], np.float64)))
    most = max(len(rows) for rows, _, _ in problems)
    fitted = _native.fit_machines(
        native_table(table), problems, kernel.native, settings.native(most), threads or default_threads()
    )
    # Both classes have rows, so that some coefficients are not zero at the optimum.
    some = settings.most_steps != 0
    if not all(
        (not some or coefficients.any()) and np.isfinite([*coefficients, *proof[:3]]).all()
        for coefficients, proof in fitted
    ):
        raise ValueError("kernel values are not finite: scale the columns, or lower gamma or the degree")
    return _assemble(by_class, pairs, problems, fitted)


def _assemble(by_class: Sequence[Array], pairs: Sequence[tuple[int, int]], problems: Any, fitted: Any) -> Machines:
    """Put the coefficients of all pairs on common support vectors, class by class."""
    wide = np.zeros((len(by_class) - 1, sum(len(members) for members in by_class)))
    for (first, second), (members, _, _), (coefficients, _) in zip(pairs, problems, fitted, strict=True):
        size = len(by_class[first])
        wide[second - 1, members[:size]] = coefficients[:size]
        wide[first, members[size:]] = coefficients[size:]
    used = [members[wide[:, members].any(axis=0)] for members in by_class]
    support = np.concatenate(used).astype(np.int64)
    return Machines(
        support,
        tuple(len(members) for members in used),
        np.ascontiguousarray(wide[:, support]),
        np.array([proof[0] for _, proof in fitted]),
        tuple(Certificate(*proof[1:]) for _, proof in fitted),
        tuple(
            float(np.mean(np.abs(coefficients[coefficients != 0]) == costs[coefficients != 0]))
            if coefficients.any()
            else 0.0
            for (coefficients, _), (_, _, costs) in zip(fitted, problems, strict=True)
        ),
    )
