"""Linear large-margin classifiers: the problem, and a certificate of its solution.

    min over w, b   ½‖w‖² + Σ cᵢ ℓ(1 − yᵢ(w·xᵢ + b))

with the hinge ℓ(ξ) = max(0, ξ) or its square, one decision function for two classes, one against the rest for each of
more, or all at once (Crammer and Singer). The solvers are in Rust (``rust/src/margin``); this module chooses one, and
solves the hard margin (C = ∞): it proves that no separator exists, or returns the widest one.

The result does not depend on the order of the rows, and a row of weight 2 equals that row twice, to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

import discern._native as _native
from discern.data.encode import native_table
from discern.data.threads import default_threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

PRIMAL_RATIO = 20
"""With this many times more sparse rows than columns, or more dense ones, Newton's method on the primal is faster."""
HARD_PASSES = 200
"""If a hard margin is not found after this many passes, we test whether there is one."""
MOST_POLISHED = 2000
"""A hard margin with at most this many rows on it is solved exactly, as a system of equations."""
FEW = 5
"""Rows named in a message."""


class NotSeparableError(ValueError):
    """There is no separator: a mixture of rows of one class equals a mixture of rows of the other.

    ``mixture`` holds the share of each row, above 0 for those in the mixtures: the proof.

    Examples
    --------
    >>> settings = MarginSettings(cost=float("inf"), intercept="free")
    >>> try:
    ...     fit_margins(np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 0]), 2, settings)
    ... except NotSeparableError as error:
    ...     print(error.mixture.round(2).tolist())  # half of 0 and half of 2 are 1
    [0.25, 0.5, 0.25]
    """

    def __init__(self, message: str, mixture: Array) -> None:
        super().__init__(message)
        self.mixture = mixture


@dataclass(frozen=True)
class Certificate:
    """How good a solution is: for each decision function, ``dual`` ≤ optimum ≤ ``primal``.

    Parameters
    ----------
    primal, dual : arrays
        The values of the two problems at what was found.
    violation : array
        The largest violation of the conditions of optimality.
    passes : array
        The work done, in passes over all rows.
    tolerance : float
        The relative gap to reach.
    """

    primal: Array
    dual: Array
    violation: Array
    passes: Array
    tolerance: float

    @property
    def gap(self) -> Array:
        """(primal − dual) / primal: the most that can still be gained, relatively."""
        with np.errstate(invalid="ignore", divide="ignore"):
            gap = np.where(np.isfinite(self.primal), (self.primal - self.dual) / self.primal, np.inf)
        return np.maximum(np.where(self.primal == self.dual, 0.0, gap), 0.0)

    @property
    def converged(self) -> bool:
        """Whether every gap is within the tolerance."""
        return bool((self.gap <= self.tolerance).all())


@dataclass(frozen=True)
class MarginSettings:
    """Settings of the problem and its solver.

    Parameters
    ----------
    loss : {"squared_hinge", "hinge"}
    cost : float
        C; infinite for the hard margin.
    solver : {"auto", "dual", "primal"}
        The primal is for the squared hinge only.
    multiclass : {"ovr", "crammer_singer"}
    intercept : {"penalized", "free", "none"}
        The weight of a constant feature of ``scaling``, as LIBLINEAR has it; without a penalty; or none.
    tolerance : float
        The relative duality gap to reach.
    passes : int
        The most work, in passes over all rows.
    """

    loss: str = "squared_hinge"
    cost: float = 1.0
    solver: str = "auto"
    multiclass: str = "ovr"
    intercept: str = "penalized"
    scaling: float = 1.0
    tolerance: float = 1e-4
    passes: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        if self.solver == "primal" and self.loss == "hinge":
            raise ValueError("the primal solver is for loss='squared_hinge' only: use dual=True, or 'auto'")
        if self.intercept == "free" and self.multiclass == "crammer_singer":
            raise ValueError(
                "multi_class='crammer_singer' has no intercept without a penalty: penalize it, or use 'ovr'"
            )
        if self.cost == np.inf and self.multiclass == "crammer_singer":
            raise ValueError("a hard margin (C=inf) is for two classes or one against the rest: use multi_class='ovr'")
        if not self.cost > 0:
            raise ValueError(f"C must be above 0, not {self.cost!r}")

    def chosen_solver(self, rows: int, columns: int, sparse: bool = True) -> str:
        """Return the solver for a problem of this size."""
        if self.multiclass == "crammer_singer":
            return "crammer_singer"
        if self.loss == "hinge" or self.cost == np.inf:
            return "dual"
        if self.solver != "auto":
            return self.solver
        return "primal" if rows > (PRIMAL_RATIO if sparse else 1) * columns else "dual"


@dataclass(frozen=True)
class LinearMargins:
    """Decision functions, a row each: coef · x + intercept; one for two classes, positive for the second."""

    coef: Array
    intercept: Array
    certificate: Certificate
    duals: Array | None = field(default=None, repr=False)


def fit_margins(
    X: Any,
    classes: Array,
    count: int,
    settings: MarginSettings,
    *,
    weights: Array | None = None,
    class_weights: Array | None = None,
    scales: Array | None = None,
    labels: Sequence[Any] | None = None,
    members: Array | None = None,
    threads: int | None = None,
    duals: bool = False,
) -> LinearMargins:
    """Fit to rows, a table or a SciPy CSR matrix, whose classes are numbers below ``count``.

    Parameters
    ----------
    weights : array, optional
        The weight of each row, multiplying C.
    class_weights : array, optional
        The weight of each class. With one function for each class, those of the other classes are not used, as in
        LIBLINEAR.
    scales : array of (functions, columns), optional
        Factors by which each function multiplies the columns first; its ``coef`` belong to the scaled columns.
    labels : sequence, optional
        The names of the classes, for messages.
    members : array of bool, optional
        Functions × classes: each function takes the rows of its classes as positive and all others as negative. So
        classes can be sets of labels, and functions labels. Not with a hard margin or class weights.
    duals : bool
        Also return αᵢ of each row, a column for each function.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
    >>> settings = MarginSettings(cost=np.inf, intercept="free")
    >>> found = fit_margins(X, np.array([1, 0, 1]), 2, settings)
    >>> found.coef.round(8).tolist(), found.intercept.round(8).tolist()
    ([[2.0, 2.0]], [-1.0])
    """
    if settings.cost == np.inf:
        if scales is not None or members is not None:
            raise ValueError("a hard margin (C=inf) takes no scales of the columns: scale X itself, and no members")
        return _fit_hard(X, classes, count, settings, weights, labels, threads)
    costs = costs_of(count, settings, class_weights) if members is None else np.full((len(members), 2), settings.cost)
    return _solve(X, classes, costs, settings, weights, scales, threads, duals, members)


def costs_of(count: int, settings: MarginSettings, class_weights: Array | None) -> Array:
    """Return the cost of the positive and of the negative rows of each decision function."""
    own = np.full(count, settings.cost) * (1.0 if class_weights is None else class_weights)
    if settings.multiclass == "ovr" and count == 2:
        return np.array([[own[1], own[0]]])
    return np.column_stack([own, np.full(count, settings.cost)])


def _solve(
    X: Any,
    classes: Array,
    costs: Array,
    settings: MarginSettings,
    weights: Array | None,
    scales: Array | None,
    threads: int | None,
    duals: bool,
    members: Array | None = None,
) -> LinearMargins:
    table = as_table(X)
    sparse = isinstance(table, tuple)
    solver = settings.chosen_solver(len(classes), table[3] if sparse else table.shape[1], sparse)
    found = _native.fit_margins(
        table,
        np.ascontiguousarray(classes, np.int32),
        None if weights is None else np.ascontiguousarray(weights, np.float64),
        np.ascontiguousarray(costs),
        None if scales is None else np.ascontiguousarray(scales, np.float64),
        None if members is None else np.ascontiguousarray(members, np.bool_),
        solver=solver,
        loss=settings.loss,
        intercept=None if settings.intercept == "none" else settings.scaling,
        free=settings.intercept == "free",
        tolerance=settings.tolerance,
        passes=settings.passes,
        seed=settings.seed,
        threads=threads or default_threads(),
        duals=duals,
    )
    certificate = Certificate(
        np.array(found.primal),
        np.array(found.dual),
        np.array(found.violation),
        np.array(found.passes),
        settings.tolerance,
    )
    return LinearMargins(found.weights, found.intercepts, certificate, found.duals)


def as_table(X: Any) -> Any:
    """Return a table as the native code takes it, if it is not that already."""
    return X if isinstance(X, tuple) else native_table(X, any_order=True)


# ------------------------------------------------------------------------------------- sums of the squared hinge


def squared_hinge(table: Any, classes: Array, coefficients: Array, direction: Array | None = None) -> dict[str, Array]:
    """Return Σ max(0, 1 − y f(x))² of each function f and its gradient: sums over rows, so those of shards add up.

    ``coefficients`` has a row for each function (one for two classes, else one for each class against the rest) and the
    intercept last. With a ``direction``, instead, the product of the generalized Hessian with it (Mangasarian 2002).

    Examples
    --------
    >>> sums = squared_hinge(np.array([[2.0]]), np.array([1]), np.zeros((1, 2)))
    >>> sums["loss"].tolist(), sums["gradient"].tolist()
    ([1.0], [[-4.0, -2.0]])
    """
    targets = np.where(classes[:, None] == np.arange(2 if len(coefficients) == 1 else len(coefficients)), 1.0, -1.0)
    targets = targets[:, -len(coefficients) :]
    slack = np.maximum(0.0, 1.0 - targets * (np.asarray(table @ coefficients[:, :-1].T) + coefficients[:, -1]))
    if direction is None:
        return {"loss": (slack**2).sum(axis=0), "gradient": _weighed_rows(table, -2.0 * targets * slack)}
    moved = np.asarray(table @ direction[:, :-1].T) + direction[:, -1]
    return {"product": _weighed_rows(table, 2.0 * (slack > 0) * moved)}


def _weighed_rows(table: Any, factors: Array) -> Array:
    """Return Σ factor · (x, 1), a function a row."""
    return np.hstack([np.asarray((table.T @ factors).T), factors.sum(axis=0)[:, None]])


# --------------------------------------------------------------------------------------------- the hard margin


def _fit_hard(
    X: Any,
    classes: Array,
    count: int,
    settings: MarginSettings,
    weights: Array | None,
    labels: Sequence[Any] | None,
    threads: int | None,
) -> LinearMargins:
    """Find the widest margin of each function, or prove that there is none."""
    kept = np.ones(len(classes), bool) if weights is None else weights > 0
    X, classes = X[kept], classes[kept]
    early, costs = replace(settings, passes=min(HARD_PASSES, settings.passes)), costs_of(count, settings, None)
    found = _solve(X, classes, costs, early, None, None, threads, True)
    missing = np.flatnonzero(found.certificate.gap > settings.tolerance).tolist()
    for function in missing:
        _refuse_inseparable(X, _signs(classes, count, function), settings, function, count, labels)
    if missing and early != settings:
        found = _solve(X, classes, costs, settings, None, None, threads, True)
    for function in range(len(found.coef)):
        found = _polished(X, _signs(classes, count, function), settings, found, function)
    assert found.duals is not None
    spread = np.zeros((len(kept), found.duals.shape[1]))
    spread[kept] = found.duals
    return replace(found, duals=spread)


def _signs(classes: Array, count: int, function: int) -> Array:
    return np.where(classes == (1 if count == 2 else function), 1.0, -1.0)


def _refuse_inseparable(
    X: Any, signs: Array, settings: MarginSettings, function: int, count: int, labels: Sequence[Any] | None
) -> None:
    mixture = common_mixture(X, signs, settings.intercept != "none")
    if mixture is None:
        return
    rows = np.flatnonzero(mixture)
    name = labels[1 if count == 2 else function] if labels is not None else function
    named = ", ".join(map(str, rows[:FEW])) + (", …" if len(rows) > FEW else "")
    raise NotSeparableError(
        f"no hyperplane separates class {name!r} from the rest: a mixture of its rows equals a mixture of the others "
        f"(rows {named}); use a finite C",
        mixture,
    )


def common_mixture(X: Any, signs: Array, intercept: bool) -> Array | None:
    """Return shares λ ≥ 0 of rows with Σ λᵢyᵢxᵢ = 0 (and Σ λᵢyᵢ = 0), which sum to 1; None if there are none.

    By the theorem of Gordan (1873) such shares exist if and only if no w, b has yᵢ(w·xᵢ + b) > 0 for every row. With
    an intercept they are a point that the convex hulls of the two classes have in common.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    >>> common_mixture(X, np.array([1, 1, -1, -1]), intercept=True).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    import scipy.optimize
    import scipy.sparse

    signed: Any = scipy.sparse.csr_array(X).multiply(signs[:, None]).T
    largest = max(float(abs(signed.data).max(initial=0.0)), 1e-300)
    balance = [signs] if intercept else []
    ends = scipy.sparse.csr_array(np.array([*balance, np.ones(len(signs))]))
    conditions: Any = scipy.sparse.vstack([signed / largest, ends], format="csr")
    goal = np.zeros(conditions.shape[0])
    goal[-1] = 1.0
    answer: Any = scipy.optimize.linprog(np.zeros(len(signs)), A_eq=conditions, b_eq=goal, method="highs")
    if answer.status == 2:  # infeasible
        return None
    if answer.status != 0 or np.abs(conditions @ answer.x - goal).max() > 1e-6:
        return None
    return np.where(answer.x > 1e-12, answer.x, 0.0)


def _polished(X: Any, signs: Array, settings: MarginSettings, found: LinearMargins, function: int) -> LinearMargins:
    """Solve exactly for the margin through the rows that the descent found on it; return the better solution."""
    assert found.duals is not None
    before = found.certificate
    alpha = found.duals[:, function]
    on_margin = np.flatnonzero(alpha > 1e-9 * alpha.max(initial=0.0))
    if not 0 < len(on_margin) <= MOST_POLISHED:
        return found
    solved = _through(X, signs, settings, on_margin)
    if solved is None:
        return found
    alpha, coef, intercept = solved
    penalty = coef @ coef
    if settings.intercept == "penalized":
        penalty += (intercept / settings.scaling) ** 2
    margins = signs * (X @ coef + intercept)
    least = margins.min()
    if not least > 0 or 0.5 * penalty / least**2 > before.primal[function] * (1 + 1e-12):
        return found
    violation = max(1 - least, float(np.abs(alpha * (margins - 1)).max()))
    duals = [found.coef, found.intercept, found.duals, before.primal, before.dual, before.violation]
    coefs, intercepts, all_duals, primal, dual, violations = (array.copy() for array in duals)
    coefs[function], intercepts[function], all_duals[:, function] = coef / least, intercept / least, alpha
    primal[function], dual[function] = 0.5 * penalty / least**2, alpha.sum() - 0.5 * penalty
    violations[function] = violation
    certificate = replace(before, primal=primal, dual=dual, violation=violations)
    return LinearMargins(coefs, intercepts, certificate, all_duals)


def _through(X: Any, signs: Array, settings: MarginSettings, rows: Array) -> tuple[Array, Array, float] | None:
    """Return α, w and b of the smallest w with a margin of 1 at the given rows, without those whose α would be < 0."""
    free = settings.intercept == "free"
    lift = settings.scaling**2 if settings.intercept == "penalized" else 0.0
    while len(rows):
        part, sign = X[rows], signs[rows]
        products = part @ part.T
        products = products if isinstance(products, np.ndarray) else products.toarray()
        system = (products + lift) * np.outer(sign, sign)
        goal = np.ones(len(rows))
        if free:
            system = np.block([[system, sign[:, None]], [sign[None, :], np.zeros((1, 1))]])
            goal = np.append(goal, 0.0)
        solution = np.linalg.lstsq(system, goal)[0]
        alpha = solution[: len(rows)]
        if alpha.min() >= 0:
            every = np.zeros(len(signs))
            every[rows] = alpha
            intercept = float(solution[-1]) if free else lift * float(alpha @ sign)
            return every, np.asarray(part.T @ (alpha * sign)).ravel(), intercept
        rows = rows[alpha > max(alpha.min(), -1e-9 * abs(alpha).max())]
    return None
