"""Choose kernel, gamma and cost of a support vector machine by the log loss of held-out rows.

Each kernel and gamma is tried along a path of costs, each solution starting from the one before. The best gamma of a
Gaussian kernel is then tried with axes scaled by how much they matter, which each fold finds by its own rows, and the
gammas around it. Where nothing was given, a linear machine on bins of numbers is tried too: steps along single columns
are its easiest case and the hardest of a kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.data.encode import is_sparse
from discern.evaluation.calibration import Temperature
from discern.learners.kernels.expansions import Expansion, at_landmarks, functions_of, is_exact, machines
from discern.learners.kernels.machines import Kernel
from discern.learners.kernels.relevance import scales, unit_of
from discern.models.validation.rows import LEAST_VALIDATED, stratified
from discern.models.vector_space.deciders import Regularization, Table
from discern.models.vector_space.kernels import DEGREE, MOST_GAMMA, by_class, learn_linear, suited

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discern.data.roles import Feature
    from discern.models.settings import Settings
    from discern.models.validation.rows import Folds, Sample
    from discern.models.vector_space.axes import Columns, Fitted
    from discern.models.vector_space.model import Pipeline

    Array = NDArray[np.float64]

FOLDS = 3
COSTS = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
"""The costs of an error to choose from."""
COSTS_ON_BINS = (0.01, 0.03, 0.1, 0.3, 1.0)
"""The same of a linear machine on bins."""
REACHES = (0.125, 0.5, 2.0)
"""The gammas to choose from, in units of one over the median squared distance of rows; then twice and half the best."""
MOST_CHOSEN, LEAST_CHOSEN, WORK_CHOSEN = 2000, 600, 1e7
"""The most rows that choose; fewer for many labels, as long as rows² times functions is more than the last."""
MOST_CHOSEN_AT_LANDMARKS = 6000
"""The most rows that choose where landmarks stand for the rows."""
CLEARLY = 0.5
"""Scaled axes and bins are taken where their log loss is less by this many standard errors of the difference."""


@dataclass(frozen=True)
class Tried:
    """A kernel and a cost that were tried, and the log loss of each held-out row."""

    kernel: Kernel
    cost: float
    losses: Array
    is_scaled: bool = False
    basis: str = ""
    """A basis that takes the place of the one of the pipeline."""

    @property
    def loss(self) -> float:
        """The mean log loss."""
        return float(self.losses.mean())

    def beats(self, other: Tried) -> bool:
        """Return whether its log loss is clearly less."""
        gain = other.losses - self.losses
        return bool(gain.mean() > CLEARLY * gain.std() / len(gain) ** 0.5)


@dataclass(frozen=True)
class Fold:
    """The rows to learn from and those that are held out, with the labels that the first have."""

    rows: Any
    classes: NDArray[Any]
    present: NDArray[Any]
    asked: Any
    true: NDArray[np.int32]
    sizes: tuple[int, ...]
    """The number of axes of each column."""
    learn: Callable[..., list[Expansion]]
    """What learns: exactly, or at landmarks if the whole sample is large."""

    def scaled(self) -> Fold:
        """Return the fold with axes scaled by how much they matter to the rows to learn from."""
        found = scales(self.rows, self.classes, len(self.present))
        return replace(self, rows=self.rows * found, asked=self.asked * found)


def choose(
    sample: Sample, features: Sequence[Feature], pipeline: Pipeline, settings: Settings | None = None
) -> Pipeline:
    """Choose kernel, gamma, cost and scales by the log loss of held-out rows, but for those that were given."""
    from discern.models.vector_space.model import columns_of

    part = sample.part(_rows_to_choose(sample.rows, len(sample.labels)))
    columns = columns_of(part, features, pipeline)
    fitted = columns.fitted()
    matrix = suited(fitted.matrix)
    name, gamma, cost = ("auto", None, None) if settings is None else (settings.kernel, settings.gamma, settings.cost)
    names = ("rbf", "poly", "linear") if name == "auto" else (name,)
    kernels = [one for name in names for one in _kernels(name, gamma, unit_of(matrix))]
    dealt = _dealt(part)
    if dealt is None or not matrix.shape[1]:
        usual = kernels[len(kernels) // 2 if len(names) == 1 else 1]
        return _with(pipeline, Tried(usual, cost or pipeline.regularization.cost, np.zeros(1)))
    learn = machines if is_exact(sample.rows, len(sample.labels)) else at_landmarks
    folds = _folds(columns, fitted, dealt, learn)
    best = _best_kernel(folds, kernels, COSTS if cost is None else (cost,), len(part.labels), is_free=gamma is None)
    if settings is not None and settings.basis == "auto" and (name, gamma) == ("auto", None):
        has_numbers = any(feature.role == "number" for feature in features)
        if has_numbers and pipeline.numbers == "gaussian":
            bins = replace(pipeline, layout=replace(pipeline.layout, basis="bins"))
            columns = columns_of(part, features, bins)
            on_bins = _folds(columns, columns.fitted(), dealt, learn)
            costs = COSTS_ON_BINS if cost is None else (cost,)
            linear = min(_linear_path(on_bins, costs, len(part.labels)), key=_loss)
            best = linear if linear.beats(best) else best
    return _with(pipeline, best)


def _best_kernel(
    folds: Sequence[Fold], kernels: Sequence[Kernel], costs: Sequence[float], n_labels: int, *, is_free: bool
) -> Tried:
    """Return the best of some kernels, with axes as they are or scaled; ``is_free`` if gamma was not given."""
    tried = [one for kernel in kernels for one in _path(folds, kernel, costs, n_labels)]
    best = min(tried, key=lambda one: one.loss)
    best = _around(best, folds, costs, n_labels) if is_free else best
    gaussian = [one for one in tried if one.kernel.name == "rbf"]
    if not gaussian or is_sparse(folds[0].rows) or folds[0].rows.shape[1] < 2:
        return best
    scaled_folds = [fold.scaled() for fold in folds]
    reaches = {one.kernel for one in gaussian}
    scaled = [one for kernel in reaches for one in _path(scaled_folds, kernel, costs, n_labels)]
    found = min(scaled, key=lambda one: (one.loss, one.kernel.gamma, one.cost))
    found = replace(_around(found, scaled_folds, costs, n_labels) if is_free else found, is_scaled=True)
    return found if found.beats(best) else best


def _around(best: Tried, folds: Sequence[Fold], costs: Sequence[float], n_labels: int) -> Tried:
    """Return the best of a kernel and those of half and twice its gamma."""
    if best.kernel.name == "linear":
        return best
    nearby = [_kernel(best.kernel.name, factor * best.kernel.gamma) for factor in (0.5, 2.0)]
    return min([best, *(one for kernel in nearby for one in _path(folds, kernel, costs, n_labels))], key=_loss)


def _loss(tried: Tried) -> float:
    return tried.loss


def _rows_to_choose(rows: int, labels: int) -> int:
    if not is_exact(rows, labels):
        return MOST_CHOSEN_AT_LANDMARKS
    return int(np.clip((WORK_CHOSEN / functions_of(labels)) ** 0.5, LEAST_CHOSEN, MOST_CHOSEN))


def _dealt(part: Sample) -> Folds | None:
    """Deal rows into folds; None if they are too few or all the same, so that a choice would be chance."""
    if part.rows < LEAST_VALIDATED or len(part.labels) < 2:
        return None
    folds = stratified(part.classes, part.keys, FOLDS)
    return folds if len(folds.ends) > 1 else None


def _folds(columns: Columns, fitted: Fitted, dealt: Folds, learn: Callable[..., list[Expansion]]) -> list[Fold]:
    """Return the rows of each fold in the space of all; in one of its own where labels decide what the space is."""
    sample, matrix, found = columns.sample, suited(fitted.matrix), []
    for fold in dealt:
        rest = np.setdiff1d(np.arange(sample.rows), fold)
        space, rows, asked = fitted.space, matrix[rest], matrix[fold]
        if columns.layout.levels == "means":
            own = columns.fitted(rest)
            space, rows, asked = own.space, suited(own.matrix), columns.seen_by(own, fold)
            asked = asked if is_sparse(rows) else asked.toarray()
        present, classes = np.unique(sample.classes[rest], return_inverse=True)
        found.append(Fold(rows, classes, present, asked, sample.classes[fold], space.sizes, learn))
    return found


def _with(pipeline: Pipeline, best: Tried) -> Pipeline:
    chosen = replace(pipeline.regularization, kernel=best.kernel, cost=best.cost, is_scaled=best.is_scaled)
    layout = replace(pipeline.layout, basis=best.basis) if best.basis else pipeline.layout
    return replace(pipeline, regularization=chosen, layout=layout)


def _kernels(name: str, gamma: float | None, unit: float) -> list[Kernel]:
    """Return the kernels of a name to choose from."""
    if name == "linear":
        return [Kernel("linear")]
    reaches = REACHES if name == "rbf" else (1.0,)
    return [_kernel(name, reach * unit) for reach in reaches] if gamma is None else [_kernel(name, gamma)]


def _kernel(name: str, gamma: float) -> Kernel:
    return Kernel(name, min(float(f"{gamma:.3g}"), MOST_GAMMA), 1.0 if name == "poly" else 0.0, DEGREE)


def _path(folds: Sequence[Fold], kernel: Kernel, costs: Sequence[float], n_labels: int) -> list[Tried]:
    """Return the log loss of held-out rows for each cost."""
    parts = [_values(fold, kernel, costs) for fold in folds]
    return [
        Tried(kernel, cost, _losses([part[place] for part in parts], folds, n_labels))
        for place, cost in enumerate(costs)
    ]


def _values(fold: Fold, kernel: Kernel, costs: Sequence[float]) -> list[Array]:
    """Return the scores of the rows that are held out, learned from the others, for each cost."""
    n_classes = len(fold.present)
    if n_classes < 2:
        return [np.zeros((fold.asked.shape[0], n_classes)) for _ in costs]
    found = fold.learn(fold.rows, fold.classes, n_classes, kernel, costs)
    return [by_class(one.scores(fold.asked, fold.rows[one.places], kernel), n_classes) for one in found]


def _linear_path(folds: Sequence[Fold], costs: Sequence[float], n_labels: int) -> list[Tried]:
    """Return the log loss of held-out rows of a linear machine on bins for each cost."""
    found = []
    for cost in costs:
        parts = []
        for fold in folds:
            counts = np.bincount(fold.classes, minlength=len(fold.present))
            table = Table(fold.rows, fold.classes.astype(np.int32), counts / counts.sum(), False, blocks=fold.sizes)
            parts.append(learn_linear(table, Regularization(cost, is_scaled=True)).scores(fold.asked))
        found.append(Tried(Kernel("linear"), cost, _losses(parts, folds, n_labels), is_scaled=True, basis="bins"))
    return found


def _losses(parts: Sequence[Array], folds: Sequence[Fold], n_labels: int) -> Array:
    """Return the log loss of each held-out row by the scores of the labels that each fold has."""
    true = np.concatenate([fold.true for fold in folds])
    scores, start = np.full((len(true), n_labels), -np.inf), 0
    for own, fold in zip(parts, folds, strict=True):
        scores[np.ix_(np.arange(start, start + len(own)), fold.present)] = own
        start += len(own)
    shares = Temperature.fit(scores, true)(scores)
    return np.asarray(-np.log(np.maximum(shares[np.arange(len(true)), true], 1e-12)))
