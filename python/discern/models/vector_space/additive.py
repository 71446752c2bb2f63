"""Models in a vector space that are sums over rows: discriminants, least squares, centroids.

The space is solved once, from the rows of the first fit, and kept with the settings, as bins are: the terms of texts
and their weights, the levels of categories, the scale of numbers. In that space a row is a point, and the statistic is
the sum of points and of their products, in whole numbers. So these models learn, forget and merge exactly as naive
Bayes does, and the model of a fold is the total minus the fold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

import discern.learners.normals.shrunken as shrunken
from discern.data.registry import imported
from discern.evaluation.calibration import Temperature
from discern.learners.bayes import log_priors
from discern.learners.normals.shrunken import ClassSums
from discern.models.columns.kind import ColumnSum
from discern.models.registry import MODELS
from discern.models.resolved import Resolved
from discern.models.validation.rows import LEAST_VALIDATED
from discern.models.vector_space.deciders import Linear, Quadratic
from discern.models.vector_space.model import Pipeline, SpaceModel, calibration_folds, columns_of
from discern.statistics.sums import Sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discern.data.batch import Batch
    from discern.data.roles import Feature
    from discern.models.settings import Settings
    from discern.models.validation.rows import Folds, Sample
    from discern.models.vector_space.axes import Columns, Space
    from discern.models.vector_space.deciders import Decider
    from discern.statistics.points import Points
    from discern.statistics.products import Products

    Array = NDArray[np.float64]

COSTS = (10.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003, 0.0001)
"""The costs of an error to choose from: inverses of masses."""
MOST_VALIDATED = 20_000
"""The most rows that the cost is chosen and the calibration fitted by."""
MOST_SCORES = 1 << 24
"""The most scores and weights of several costs that are computed together, for the memory."""
MOST_PRODUCTS = 1 << 28
"""The most sums of products: 2 GB."""


# ------------------------------------------------------------------------------------------------- rows to sums


class SpaceSum(ColumnSum):
    """Adds up rows as points in a space."""

    def __init__(self, space: Space, model: str, threads: int | None) -> None:
        self._space, self._threads, self._total, self._n_classes = space, threads, None, 0
        self.summed: type[Products] = MODELS[model].statistic_class  # type: ignore[misc]

    def of_batch(self, batch: Batch, classes: NDArray[np.int32], labels: list[str]) -> Products:
        return self.summed.of_points(self._space.points_of_batch(batch, self._threads), classes, len(labels))


def refuse_too_many(space: Space, pipeline: Pipeline, n_labels: int) -> None:
    """Refuse a space whose sums of products would not fit in memory."""
    statistic, axes = MODELS[pipeline.model].statistic_class, space.n_axes
    products = axes * (axes + 1) // 2 * (n_labels if statistic.by_class else 1)
    if statistic.has_products and products > MOST_PRODUCTS:
        raise ValueError(
            f"{pipeline.model!r} would sum {products:,} products of {axes:,} axes, and {MOST_PRODUCTS:,} is the most; "
            "pass a smaller max_terms, fewer columns, or another model"
        )


# ---------------------------------------------------------------------------------------------- sums to a model


def solve(sums: Sums, space: Space, pipeline: Pipeline, calibration: Temperature | None = None) -> SpaceModel:
    """Derive the model from sums in a space."""
    priors = log_priors(sums.labels, sums.class_rows, pipeline.priors)
    [products] = sums.columns
    decider = _decider(class_sums(products, space), space, pipeline, priors, pipeline.regularization.cost)
    return SpaceModel(sums.labels, sums.class_rows, pipeline, space, decider, calibration)


def class_sums(products: Any, space: Space) -> ClassSums:
    """Return sums in the units of the axes of the space."""
    scale = space.grid.scale / space.units
    means = products.means() * scale
    if not products.has_products:
        return ClassSums.of(products.counts, means, np.zeros((0, 0)), space.blocks)
    within = products.within_classes() if products.by_class else products.within()
    return ClassSums.of(products.counts, means, within * scale * scale[:, None], space.blocks)


def _decider(sums: ClassSums, space: Space, pipeline: Pipeline, priors: Array, cost: float) -> Decider:
    kind = MODELS[pipeline.model]
    if len(priors) < 2 or not space.n_axes:  # there is nothing to tell apart, or nothing to tell by
        return kind.decider_class.constant(np.exp(priors), space.n_axes)  # type: ignore[no-any-return]
    return imported(kind.solve)(sums, priors, 1.0 / cost)  # type: ignore[no-any-return]


def solve_linear_discriminant(sums: ClassSums, priors: Array, mass: float) -> Linear:
    """Solve the linear discriminant."""
    weights, levels = shrunken.linear_discriminant(sums, priors, mass)
    return Linear.of_classes(weights.T, levels)


def solve_quadratic_discriminant(sums: ClassSums, priors: Array, mass: float) -> Quadratic:
    """Solve the quadratic discriminant."""
    return Quadratic(sums.means, *shrunken.quadratic_discriminant(sums, priors, mass))


def solve_ridge(sums: ClassSums, priors: Array, mass: float) -> Linear:
    """Solve least squares on targets of ±1."""
    weights, intercepts = shrunken.least_squares(sums, mass)
    return Linear(np.ascontiguousarray(weights), intercepts, len(priors))


def solve_centroids(sums: ClassSums, priors: Array, mass: float) -> Linear:
    """Solve the nearest centroid."""
    weights, levels = shrunken.nearest_means(sums)
    return Linear.of_classes(weights.T, levels)


# ----------------------------------------------------------------------------------------------------- validation


def resolve(settings: Settings, sample: Sample, features: Sequence[Feature]) -> Resolved:
    """Choose the space from a sample of rows; by held-out rows, the cost of an error and the calibration."""
    from discern.models.resolving import pipeline_of

    pipeline = pipeline_of(settings, settings.model)
    many = sample.rows >= LEAST_VALIDATED and len(sample.labels) > 1
    calibration, rows = None, 0
    if many or (settings.calibrate is True and len(sample.labels) > 1):
        part = sample.part(MOST_VALIDATED)
        pipeline, calibration = validated(part, features, pipeline, choose_cost=many and settings.cost is None)
        rows = part.rows
    calibration = calibration if settings.calibrate is not False else None
    return in_space(settings, sample, features, pipeline, calibration, rows)


def in_space(
    settings: Settings,
    sample: Sample,
    features: Sequence[Feature],
    pipeline: Pipeline,
    calibration: Temperature | None,
    rows: int = 0,
) -> Resolved:
    """Return the settings of a pipeline with the space of a sample of rows."""
    columns = columns_of(sample, features, pipeline)
    space, _ = columns.laid_out()
    refuse_too_many(space, pipeline, len(sample.labels))
    return Resolved(
        settings.naive_bayes,
        pipeline.layout.text[0],
        columns.features,
        calibration,
        rows=rows,
        min_df=pipeline.layout.min_df,
        pipeline=pipeline,
        space=space,
    )


def validated(
    sample: Sample, features: Sequence[Feature], pipeline: Pipeline, *, choose_cost: bool
) -> tuple[Pipeline, Temperature | None]:
    """Choose the cost of an error by the log loss of held-out rows, and fit the calibration to them."""
    folds = calibration_folds(sample)
    if folds is None:
        return pipeline, None
    chooses = choose_cost and MODELS[pipeline.model].statistic_class.has_products
    costs = COSTS if chooses else (pipeline.regularization.cost,)
    classes = sample.classes[folds.order]
    found = []
    for cost, scores in zip(costs, held_out(sample, features, pipeline, folds, costs), strict=True):
        temperature = Temperature.robust(scores, classes)
        found.append((_log_loss(temperature(scores), classes), cost, temperature))
    _, cost, temperature = min(found, key=lambda one: one[0])
    regularization = replace(pipeline.regularization, cost=cost)
    return replace(pipeline, regularization=regularization), temperature


def _log_loss(shares: Array, classes: NDArray[np.int32]) -> float:
    return float(-np.log(np.maximum(shares[np.arange(len(classes)), classes], 1e-12)).mean())


def held_out(
    sample: Sample, features: Sequence[Feature], pipeline: Pipeline, folds: Folds, costs: Sequence[float]
) -> list[Array]:
    """Score rows, in the order of the folds, under the model of all rows but their fold's, for each cost.

    The sums of a fold are subtracted from the total. If labels decide which terms have an axis, each fold has a space
    of its own, of the rows outside it: else held-out rows would look easier than they are.
    """
    columns = columns_of(sample, features, pipeline)
    parts: list[list[Array]] = [[] for _ in costs]
    for fold, space, points, sums in without_folds(columns, pipeline, folds):
        priors = log_priors(sums.labels, sums.class_rows, _known_priors(pipeline.priors, sums.labels))
        own, rows = class_sums(sums.columns[0], space), points.take(fold)
        places = [sample.labels.index(label) for label in sums.labels]
        deciders = (_decider(own, space, pipeline, priors, cost) for cost in costs)
        together = sum(rows.shape) * len(priors) * len(costs) <= MOST_SCORES
        for part, found in zip(parts, _scores(deciders, rows, together=together), strict=True):
            scores = np.full((len(fold), len(sample.labels)), -np.inf)
            scores[:, places] = found
            part.append(scores)
    return [np.concatenate(part) for part in parts]


def _scores(deciders: Iterator[Decider], rows: Points, *, together: bool) -> Iterator[Array]:
    """Score rows by several deciders, one after the other, or linear ones in one pass over the rows."""
    first = next(deciders)
    if not together or not isinstance(first, Linear):
        yield from (one.scores(rows) for one in chain([first], deciders))
        return
    linear = [first, *(one for one in deciders if isinstance(one, Linear))]
    products = np.asarray(rows @ np.hstack([one.weights for one in linear]))
    for one, own in zip(linear, np.split(products, len(linear), axis=1), strict=True):
        yield one.of_functions(own + one.bias)


def without_folds(
    columns: Columns, pipeline: Pipeline, folds: Folds
) -> Iterator[tuple[NDArray[np.int64], Space, Points, Sums]]:
    """Return each fold with the space, all rows as points, and the sums of the rows outside the fold."""
    sample = columns.sample
    if columns.selects_by_labels:
        for fold in folds:
            rest = np.setdiff1d(np.arange(sample.rows), fold, assume_unique=True)
            space, points = columns.laid_out(rest)
            refuse_too_many(space, pipeline, len(sample.labels))
            yield (
                fold,
                space,
                points,
                sums_of(points.take(rest), sample.classes[rest], sample, pipeline).without_zeros(),
            )
        return
    space, points = columns.laid_out()
    refuse_too_many(space, pipeline, len(sample.labels))
    inside = [sums_of(points.take(fold), sample.classes[fold], sample, pipeline) for fold in folds]
    left = np.setdiff1d(np.arange(sample.rows), folds.order)  # of many rows, only some are held out
    total = Sums.total([*inside, sums_of(points.take(left), sample.classes[left], sample, pipeline)])
    for fold, own in zip(folds, inside, strict=True):
        yield fold, space, points, total - own


def sums_of(points: Points, classes: NDArray[np.int32], sample: Sample, pipeline: Pipeline) -> Sums:
    """Return the sums of points, with a place for each label."""
    n_classes = len(sample.labels)
    statistic = MODELS[pipeline.model].statistic_class.of_points(points, classes, n_classes)
    return Sums(sample.labels, np.bincount(classes, minlength=n_classes).astype(np.int64), (statistic,))


def _known_priors(priors: Any, labels: Sequence[str]) -> Any:
    """Return the given priors of the labels that are there."""
    return priors if isinstance(priors, str) else tuple((label, share) for label, share in priors if label in labels)


def learned(sample: Sample, features: Sequence[Feature], pipeline: Pipeline) -> SpaceModel:
    """Learn from all rows of a sample, without calibration."""
    columns = columns_of(sample, features, pipeline)
    space, points = columns.laid_out()
    refuse_too_many(space, pipeline, len(sample.labels))
    return solve(sums_of(points, sample.classes, sample, pipeline), space, pipeline)
