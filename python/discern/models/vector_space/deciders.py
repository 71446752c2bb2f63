"""Decisions in a vector space: linear, quadratic, or by the nearest rows; each with the contribution of every axis.

A decider is learned from a matrix and the number of each row's class, and gives scores of rows × classes. The
contributions of the axes (of a linear or quadratic one) or of the near rows to one class against another add up to the
difference of their scores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from discern.data.registry import imported
from discern.learners.kernels.machines import Kernel
from discern.learners.logistic.fitting import fit_logistic
from discern.learners.logistic.rows import LabeledRows
from discern.learners.margins import MarginSettings, fit_margins
from discern.learners.nbsvm import ADD_ONE, fit_nbsvm, log_count_ratios
from discern.learners.neighbors.votes import Neighbors
from discern.learners.smoothing import Laplace, Smoothing
from discern.models.columns.arrays import float_array
from discern.models.registry import MODELS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

MOST_JOINT = 1 << 18
"""With more coefficients the logistic regression of each class against the rest is learned alone: much faster."""
NEAR_CHOSEN = 2000
"""The number of rows that choose the number of neighbors."""


@dataclass(frozen=True)
class Contribution:
    """Contributions to one class against another: of the prior, of axes that are zero, of axes and of near rows."""

    prior: float
    absent: float
    axes: dict[int, float]
    rows: tuple[tuple[int, int, float], ...] = ()
    """The place, the class and the weight of each near row."""
    near: tuple[tuple[int, int, float], ...] = ()
    """The place, the class and the similarity of rows that are no part of the sum."""


@dataclass(frozen=True)
class Linear:
    """Scores x·w + b; one function for two classes, half of it for the second and half against the first."""

    weights: Array
    bias: Array
    classes: int

    @classmethod
    def of_classes(cls, weights: Array, bias: Array) -> Linear:
        """Return the decider of a row of weights and a bias for each class; two classes become one function.

        Examples
        --------
        >>> Linear.of_classes(np.array([[1.0], [3.0]]), np.array([0.0, 1.0])).weights.tolist()
        [[2.0]]
        """
        classes = len(bias)
        if classes == 2:
            weights, bias = weights[1:] - weights[:1], bias[1:] - bias[:1]
        return cls(np.ascontiguousarray(weights.T), bias, classes)

    def of_functions(self, values: Array) -> Array:
        """Return a column for each class from one for each function."""
        return np.hstack([-values / 2, values / 2]) if self.classes == 2 else values

    def scores(self, matrix: Any) -> Array:
        """Score rows."""
        return self.of_functions(np.asarray(matrix @ self.weights) + self.bias)

    def contribution(self, row: Any, label: int, against: int) -> Contribution:
        """Return what each axis contributes for the only row of a matrix."""
        weights = self.of_functions(self.weights[row.indices])
        contributed = row.data * (weights[:, label] - weights[:, against])
        bias = self.of_functions(self.bias[None, :])[0]
        axes = dict(zip(row.indices.tolist(), contributed.tolist(), strict=True))
        return Contribution(float(bias[label] - bias[against]), 0.0, axes)

    @classmethod
    def constant(cls, priors: Array, n_axes: int) -> Linear:
        """Return a decider with the score of each class for every row: the logarithm of its prior."""
        with np.errstate(divide="ignore"):
            bias = np.log(priors)
        bias = np.array([bias[1] - bias[0]]) if len(priors) == 2 else bias
        return cls(np.zeros((n_axes, len(bias))), bias, len(priors))

    def odds(self, label: int) -> Array | None:
        """Return what a unit on each axis contributes for a class, against the mean of the others."""
        weights = self.of_functions(self.weights)
        return np.asarray(weights[:, label] - (weights.sum(axis=1) - weights[:, label]) / max(self.classes - 1, 1))

    @property
    def parameters(self) -> int:
        """The number of parameters."""
        return int(self.weights.size + self.bias.size)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything as arrays, for the model file."""
        return {"weights": self.weights, "bias": self.bias}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], n_axes: int, classes: int) -> Linear:
        """Make one of what :meth:`arrays` gave; raises ValueError if it does not fit together."""
        weights, bias = float_array(arrays["weights"]), float_array(arrays["bias"])
        functions = 1 if classes == 2 else classes
        if weights.shape != (n_axes, functions) or bias.shape != (functions,):
            raise ValueError("the weights do not match the terms and labels")
        return cls(weights, bias, classes)


def added(parts: Sequence[tuple[float, Decider]]) -> Linear:
    """Return the linear decider, on the axes of all, whose scores are the sum of others', each times a factor.

    Examples
    --------
    >>> one = Linear(np.array([[1.0]]), np.array([2.0]), 2)
    >>> found = added([(1.0, one), (3.0, one)])
    >>> found.weights.tolist(), found.bias.tolist()
    ([[1.0], [3.0]], [8.0])
    """
    linear = [(factor, part) for factor, part in parts if isinstance(part, Linear)]
    weights = np.vstack([factor * part.weights for factor, part in linear])
    return Linear(weights, np.sum([factor * part.bias for factor, part in linear], axis=0), linear[0][1].classes)


@dataclass(frozen=True)
class Quadratic:
    """Scores level − ½‖(x − mean) W‖², with its own W of each class."""

    means: Array
    matrices: Array
    levels: Array

    def scores(self, matrix: Any) -> Array:
        """Score rows."""
        rows = matrix.toarray()
        parts = [((rows - mean) @ white) for mean, white in zip(self.means, self.matrices, strict=True)]
        return np.stack([-0.5 * (part**2).sum(axis=1) for part in parts], axis=1) + self.levels

    def contribution(self, row: Any, label: int, against: int) -> Contribution:
        """Return what each axis contributes for the only row of a matrix: its share of the two quadratic forms."""
        values, contributed = row.toarray()[0], np.zeros(row.shape[1])
        for place, sign in ((label, -0.5), (against, 0.5)):
            apart = values - self.means[place]
            contributed += sign * apart * ((apart @ self.matrices[place]) @ self.matrices[place].T)
        there = np.zeros(len(contributed), bool)
        there[row.indices] = True
        axes = {place: float(contributed[place]) for place in row.indices.tolist()}
        return Contribution(float(self.levels[label] - self.levels[against]), float(contributed[~there].sum()), axes)

    @classmethod
    def constant(cls, priors: Array, n_axes: int) -> Quadratic:
        """Return a decider with the score of each class for every row: the logarithm of its prior."""
        linear, shape = Linear.constant(priors, n_axes), (len(priors), n_axes)
        return cls(np.zeros(shape), np.zeros((*shape, 1)), linear.of_functions(linear.bias[None, :])[0])

    def odds(self, label: int) -> Array | None:
        """Return None: what a unit contributes depends on where it starts from."""
        return None

    @property
    def parameters(self) -> int:
        """The number of parameters: means, covariances and priors."""
        classes, n_axes = self.means.shape
        return int(classes * (n_axes + n_axes * (n_axes + 1) // 2 + 1) - 1)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything as arrays, for the model file."""
        return {"means": self.means, "matrices": self.matrices, "levels": self.levels}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], n_axes: int, classes: int) -> Quadratic:
        """Make one of what :meth:`arrays` gave; raises ValueError if it does not fit together."""
        means, matrices, levels = (float_array(arrays[name]) for name in ("means", "matrices", "levels"))
        if (means.shape, matrices.shape[:2], matrices.ndim, levels.shape) != (
            (classes, n_axes),
            (classes, n_axes),
            3,
            (classes,),
        ):
            raise ValueError("the densities do not match the terms and labels")
        return cls(means, matrices, levels)


@dataclass(frozen=True)
class Nearest:
    """Scores log (votes of the nearest rows + share of the class); by cosine each vote weighs its similarity."""

    known: Neighbors
    count: int
    shares: Array

    @property
    def is_cosine(self) -> bool:
        """Whether rows are compared by the angle between them."""
        return bool(self.known.rows.metric == "cosine")

    def _votes(self, matrix: Any) -> tuple[NDArray[np.int64], Array]:
        distances, places = self.known.nearest(matrix if self.is_cosine else matrix.toarray(), self.count)
        return places, np.maximum(1.0 - distances, 0.0) if self.is_cosine else np.ones_like(distances)

    def scores(self, matrix: Any) -> Array:
        """Score rows."""
        places, votes = self._votes(matrix)
        sums = np.zeros((matrix.shape[0], len(self.shares)))
        np.add.at(sums, (np.arange(len(sums))[:, None], self.known.classes[places]), votes)
        return np.log(sums + self.shares)

    def contribution(self, row: Any, label: int, against: int) -> Contribution:
        """Return what each near row contributes: its part in the votes of its class."""
        places, votes = (found[0] for found in self._votes(row))
        classes, contributed = self.known.classes[places], np.zeros(len(places))
        for place, sign in ((label, 1.0), (against, -1.0)) if label != against else ():
            own = classes == place
            total = float(votes[own].sum())
            if total > 0:
                contributed[own] = sign * votes[own] / total * np.log1p(total / self.shares[place])
        voting = np.flatnonzero(contributed)
        rows = tuple((int(self.known.ids[places[i]]), int(classes[i]), float(contributed[i])) for i in voting)
        return Contribution(float(np.log(self.shares[label] / self.shares[against])), 0.0, {}, rows)

    def odds(self, label: int) -> Array | None:
        """Return None: rows vote, not axes."""
        return None

    @property
    def parameters(self) -> int:
        """The number of numbers that are kept of the rows."""
        kept = self.known.rows.arrays()
        return int(max(array.size for array in kept.values()))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything as arrays, for the model file."""
        return {**self.known.arrays(), "count": np.array([self.count, self.is_cosine]), "shares": self.shares}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], n_axes: int, classes: int) -> Nearest:
        """Make one of what :meth:`arrays` gave; raises ValueError if it does not fit together."""
        count, cosine = (int(number) for number in arrays["count"])
        known = Neighbors.from_arrays("cosine" if cosine else "euclidean", n_axes, arrays, classes)
        shares = float_array(arrays["shares"])
        if not 1 <= count <= len(known) or shares.shape != (classes,) or not bool(np.all(shares > 0)):
            raise ValueError("the neighbors do not match the labels")
        if int(known.classes.min(initial=0)) < 0 or known.rows.n_features != n_axes:
            raise ValueError("the rows do not match the terms and labels")
        return cls(known, count, shares)


class Decider(Protocol):
    """What decides in a vector space: scores of rows × classes, and what led to them."""

    def scores(self, matrix: Any) -> Array:
        """Score rows."""

    def contribution(self, row: Any, label: int, against: int) -> Contribution:
        """Return what each axis or near row contributes for one class against another, for the only row."""

    def odds(self, label: int) -> Array | None:
        """Return what a unit on each axis contributes for a class against the mean of the others, if it always does."""

    @property
    def parameters(self) -> int:
        """The number of parameters."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything as arrays, for the model file."""


# ------------------------------------------------------------------------------------------------- learning


@dataclass(frozen=True)
class Table:
    """What to learn from: a sparse matrix, the number of each row's class, and the prior of each class."""

    matrix: Any
    classes: NDArray[np.int32]
    priors: Array
    has_text: bool
    threads: int | None = None
    blocks: tuple[int, ...] = ()
    """The number of axes of each column, where it matters which axes belong together."""

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.priors)

    def dense(self) -> Array:
        """Return the matrix with its zeros."""
        return np.asarray(self.matrix.toarray())


@dataclass(frozen=True)
class Regularization:
    """How closely a model follows its rows: the cost of an error, the smoothing of log count ratios, the kernel."""

    cost: float = 1.0
    smoothing: Smoothing = ADD_ONE
    kernel: Kernel | None = None
    is_scaled: bool = False
    """Whether the axes of a kernel are scaled by how much they matter."""


def learn(model: str, table: Table, regularization: Regularization) -> Decider:
    """Learn the decider of a model of that name.

    Examples
    --------
    >>> import scipy.sparse
    >>> matrix = scipy.sparse.csr_array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [0.0, 2.0]])
    >>> table = Table(matrix, np.array([0, 0, 1, 1], np.int32), np.array([0.5, 0.5]), has_text=False)
    >>> learn("linear-svm", table, Regularization()).scores(matrix).argmax(axis=1).tolist()
    [0, 0, 1, 1]
    """
    kind = MODELS[model]
    learner: Callable[[Table, Regularization], Decider] = imported(kind.learn)
    if kind.is_linear and (table.n_classes < 2 or not table.matrix.shape[1]):
        return Linear.constant(table.priors, table.matrix.shape[1])  # nothing to tell apart, or nothing to tell by
    return learner(table, regularization)


def learn_margins(table: Table, regularization: Regularization) -> Linear:
    """Learn a linear support vector machine."""
    settings = MarginSettings(cost=regularization.cost)
    found = fit_margins(table.matrix, table.classes, table.n_classes, settings, threads=table.threads)
    return Linear(np.ascontiguousarray(found.coef.T), np.asarray(found.intercept), table.n_classes)


def learn_nbsvm(table: Table, regularization: Regularization) -> Decider:
    """Learn a linear support vector machine on log count ratios."""
    settings = MarginSettings(cost=regularization.cost)
    found, _ = fit_nbsvm(
        table.matrix,
        table.classes,
        table.n_classes,
        settings,
        smoothing=regularization.smoothing,
        threads=table.threads,
    )
    return Linear(np.ascontiguousarray(found.coef.T), np.asarray(found.intercept), table.n_classes)


def learn_unit_bayes(table: Table, regularization: Regularization) -> Decider:
    """Solve naive Bayes of terms that are there, each class against the rest, as a linear decider.

    On rows of unit length its scores are divided by √(terms): words that depend on each other contribute less together,
    and with that its probabilities are good enough to be added to those of others. The more an error costs, the less
    the counts are smoothed.
    """
    there = table.matrix.copy()
    there.data = np.ones_like(there.data)
    smoothing = regularization.smoothing
    if isinstance(smoothing, Laplace):
        smoothing = Laplace(smoothing.alpha / regularization.cost)
    ratios = log_count_ratios(there, table.classes, table.n_classes, smoothing)
    sizes = np.diff(table.matrix.indptr)
    short = float(np.mean(1.0 / np.sqrt(np.maximum(sizes, 1))))
    own = table.priors[1:] if table.n_classes == 2 else table.priors
    return Linear(np.ascontiguousarray(ratios.T), short * np.log(own / (1.0 - own)), table.n_classes)


def learn_logistic(table: Table, regularization: Regularization) -> Decider:
    """Learn a logistic regression."""
    penalty = np.append(np.full(table.matrix.shape[1], 1.0 / regularization.cost), 0.0)

    def coefficients(classes: NDArray[np.int32], n_axes: int) -> Array:
        return fit_logistic(LabeledRows(table.matrix, classes, n_axes), penalty, tol=1e-3).coefficients

    if table.n_classes == 2 or table.n_classes * table.matrix.shape[1] <= MOST_JOINT:
        found = coefficients(table.classes, table.n_classes)
    else:
        alone = ((table.classes == place).astype(np.int32) for place in range(table.n_classes))
        found = np.vstack([coefficients(classes, 2) for classes in alone])
    return Linear(np.ascontiguousarray(found[:, :-1].T), np.ascontiguousarray(found[:, -1]), table.n_classes)


def learn_neighbors(table: Table, regularization: Regularization) -> Nearest:
    """Keep the rows, and choose how many neighbors vote."""
    rows = table.matrix if table.has_text else table.dense()
    known = Neighbors.of("cosine" if table.has_text else "euclidean", rows, table.classes)
    counts = np.bincount(table.classes, minlength=table.n_classes)
    return Nearest(known, _neighbors(known, table.n_classes), counts / counts.sum())


def _neighbors(known: Neighbors, classes: int) -> int:
    """Choose how many neighbors vote, by leaving out rows spread evenly over all."""
    if len(known) <= NEAR_CHOSEN:
        return known.best_count(classes)
    from discern.learners.neighbors.votes import MOST_NEIGHBORS, choose_count

    some = np.linspace(0, len(known) - 1, NEAR_CHOSEN).astype(np.int64)
    _, places = known.rows.nearest(known.rows.take(some), MOST_NEIGHBORS, some)
    return choose_count(known.classes[places], known.classes[some], classes)[0]
