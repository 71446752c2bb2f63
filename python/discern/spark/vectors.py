"""Models in a vector space that are no sums, learned on Spark: one reduce for the space, then one a round.

The space comes from the sums of all columns, which are exact. Rows become vectors once and are kept by Spark. Logistic
regression and the squared hinge are minimized by Newton's method, whose every look at the rows (loss and gradient,
Hessian, or a product with the Hessian) is one reduce.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.data.roles import Feature
from discern.learners.bayes import log_priors
from discern.learners.logistic.fitting import fit_logistic
from discern.learners.logistic.objective import hessian_product
from discern.learners.logistic.rows import LabeledRows
from discern.learners.logistic.solvers import MOST_NEWTON
from discern.learners.logistic.sums import statistics
from discern.learners.margins import MarginSettings, fit_margins, squared_hinge
from discern.learners.newton import DenseObjective, Expansion, Objective, conjugate_gradients, conjugate_step, minimize
from discern.models.columns.arrays import sparse
from discern.models.file import load, save
from discern.models.validation.rows import Sample
from discern.models.vector_space.axes import Layout, Space
from discern.models.vector_space.deciders import (
    MOST_JOINT,
    Decider,
    Linear,
    Table,
    learn,
)
from discern.models.vector_space.model import Pipeline, SpaceModel
from discern.spark.frames import (
    columns_of,
    map_partitions,
    one_sentence,
    partition_batches,
    partition_number,
    record,
    session_of,
    ship,
)
from discern.spark.parquet import map_rows
from discern.spark.sums import Counting, sums_of
from discern.statistics.statistic import Statistic

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame

    from discern.models.columns.kind import ColumnRows

    Array = NDArray[Any]
    Blocks = Iterator[tuple[Any, NDArray[np.int32]]]

FEW_PARTS = 64
"""The sums of more partitions are added up by executors first."""
NEARLY = 0.03
"""Equations with the Hessian of the sample are solved to this relative accuracy."""
TOLERANCE, MOST_ROUNDS = 1e-7, 100
"""Where the gradient is so small relative to that at zero, the optimum is reached."""
VECTORS = "partition int, classes binary, starts binary, columns binary, data binary"
PARTS = "partition int, sums binary"


def fit_space(
    frame: DataFrame, features: Sequence[Feature], pipeline: Pipeline, label: str, sample: Sample | None = None
) -> SpaceModel:
    """Learn a model in a vector space, without calibration; what is minimized starts at the optimum of a sample."""
    labels, class_rows, columns = _statistics(frame, features, pipeline.layout, label)
    space, _ = Space.of(pipeline.layout, features, columns, labels, _some(sample, features, pipeline.layout))
    priors = np.exp(log_priors(labels, class_rows, pipeline.priors))
    if len(labels) < 2 or not space.n_axes:  # there is nothing to tell apart, or nothing to tell by
        nothing = Table(sparse(([], [], [0]), (0, space.n_axes)), np.zeros(0, np.int32), priors, space.has_text)
        return SpaceModel(labels, class_rows, pipeline, space, learn(pipeline.model, nothing, pipeline.regularization))
    with Vectors(frame, label, labels, class_rows, pipeline.layout, space) as vectors:
        decider = _decider(vectors, pipeline, sample)
    return SpaceModel(labels, class_rows, pipeline, space, decider)


def _some(sample: Sample | None, features: Sequence[Feature], layout: Layout) -> list[ColumnRows | None]:
    """Return the numbers and levels of a sample of rows; texts and vectors are known by their sums."""
    if sample is None:
        return []
    text = layout.text[0]
    parts = layout.parts(features)
    return [sample.column(one, text) if one.role in ("number", "category", "flag") else None for one, _ in parts]


def _statistics(
    frame: DataFrame, features: Sequence[Feature], layout: Layout, label: str
) -> tuple[tuple[str, ...], NDArray[np.int64], list[Statistic]]:
    """Count all columns; for each further setting of texts, the texts again. Return labels, their rows, and columns."""
    texts = tuple(feature for feature in features if feature.role == "text")
    counted = [tuple(features), *(texts for _ in layout.text[1:] if texts)]
    sums = [
        sums_of(frame, Counting.of_columns(label, columns, text), layout.min_df)
        for columns, text in zip(counted, layout.text, strict=False)
    ]
    found = {
        (feature, text if feature in texts else None): statistic
        for columns, text, part in zip(counted, layout.text, sums, strict=False)
        for feature, statistic in zip(columns, part.columns, strict=True)
    }
    return sums[0].labels, sums[0].class_rows, [found[part] for part in layout.parts(features)]


# ----------------------------------------------------------------------------------------------- rows as vectors


class Vectors:
    """The rows of a frame as vectors in a space, kept by Spark in blocks, and sums over them."""

    def __init__(
        self,
        frame: DataFrame,
        label: str,
        labels: tuple[str, ...],
        class_rows: NDArray[np.int64],
        layout: Layout,
        space: Space,
    ) -> None:
        self.labels, self.space, self.rows = labels, space, int(class_rows.sum())
        metadata = {"layout": layout.to_json(), "features": [feature.to_json() for feature in space.features]}
        shipped = ship(session_of(frame), partial(save, arrays=space.arrays(), metadata=metadata), read_space)
        names = [label, *(feature.name for feature in space.features)]
        task = partial(vectors_of_partition, shipped, label, labels)
        self._frame = map_rows(columns_of(frame, names), task, VECTORS)
        self._parts = 0

    def __enter__(self) -> Vectors:
        self._frame = self._frame.persist()
        with one_sentence():
            self._parts = len(set(self._frame.select("partition").toArrow().column("partition").to_pylist()))
        return self

    def __exit__(self, *error: object) -> None:
        self._frame.unpersist()

    def total(self, work: Callable[..., Mapping[str, Array]], *arguments: Any) -> dict[str, Array]:
        """Add up what ``work`` gives for each block of rows: one reduce."""
        task = partial(reduce_partition, self.space.n_axes, partial(work, *arguments))
        parts = map_partitions(self._frame, task, PARTS)
        if self._parts > FEW_PARTS:
            import pyspark.sql.functions as sql

            grouped = parts.groupBy(sql.pmod(sql.col("partition"), sql.lit(FEW_PARTS // 2)))
            parts = grouped.applyInArrow(add_parts, PARTS)
        with one_sentence():
            table = parts.toArrow()
        return _decode_sums(add_parts(table).column("sums")[0].as_buffer())


def read_space(path: str) -> Space:
    """Read a space that was written to a file."""
    arrays, metadata = load(path)
    features = [Feature.from_json(feature) for feature in metadata["features"]]
    return Space.from_arrays([Layout.from_json(metadata["layout"])], features, arrays)


def vectors_of_partition(
    shipped: Callable[[], Space], label: str, names: tuple[str, ...], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Turn the rows of a partition into sparse vectors, a block for each batch."""
    import pyarrow as pa

    space, place = shipped(), {name: number for number, name in enumerate(names)}
    for batch in partition_batches(batches):
        matrix, _, _ = space.of_batch(batch, 1)
        numbers, labels = batch.labels(label)
        classes = np.array([place[name] for name in labels], np.int32)[numbers]
        arrays = (classes, matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32), matrix.data)
        blocks = [pa.array([array.tobytes()], pa.binary()) for array in arrays]
        columns = dict(zip(("classes", "starts", "columns", "data"), blocks, strict=True))
        yield record(partition=pa.array([partition_number()], pa.int32()), **columns)


def reduce_partition(
    n_axes: int, work: Callable[[Any, Array], Mapping[str, Array]], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Add up what ``work`` gives for the blocks of a partition."""
    total: dict[str, Array] = {}
    for matrix, classes in _blocks(n_axes, batches):
        for name, array in work(matrix, classes).items():
            total[name] = total[name] + array if name in total else np.asarray(array, np.float64)
    if total:
        yield _sums_record(partition_number(), total)


def _blocks(n_axes: int, batches: Iterator[pa.RecordBatch]) -> Blocks:
    for batch in batches:
        for row in range(batch.num_rows):
            classes, starts, columns = (
                np.frombuffer(batch.column(name)[row].as_buffer(), np.int32)
                for name in ("classes", "starts", "columns")
            )
            data = np.frombuffer(batch.column("data")[row].as_buffer(), np.float64)
            yield sparse((data, columns, starts), (len(classes), n_axes)), classes


def add_parts(table: pa.Table) -> pa.Table:
    """Add up the sums of several partitions, in the order of their numbers."""
    import pyarrow as pa

    order = np.argsort(table.column("partition").to_numpy(), kind="stable")
    total: dict[str, Array] = {}
    for row in order.tolist():
        for name, array in _decode_sums(table.column("sums")[row].as_buffer()).items():
            total[name] = total[name] + array if name in total else array
    first = int(table.column("partition")[int(order[0])].as_py())
    return pa.Table.from_batches([_sums_record(first, total)])


def _sums_record(partition: int, sums: Mapping[str, Array]) -> pa.RecordBatch:
    import pyarrow as pa
    import safetensors.numpy

    content = safetensors.numpy.save({name: np.ascontiguousarray(array) for name, array in sums.items()})
    return record(partition=pa.array([partition], pa.int32()), sums=pa.array([content], pa.binary()))


def _decode_sums(content: Any) -> dict[str, Array]:
    import safetensors.numpy

    return dict(safetensors.numpy.load(bytes(content)))


# ------------------------------------------------------------------------------------------------------ learning


def _decider(vectors: Vectors, pipeline: Pipeline, sample: Sample | None) -> Decider:
    n_axes, count = vectors.space.n_axes, len(vectors.labels)
    joint = pipeline.model == "linear-svm" or count == 2 or count * n_axes <= MOST_JOINT
    alone: list[int | None] = [None] if joint else list(range(count))
    table = None if sample is None or sample.labels != vectors.labels else _table(vectors.space, sample)
    found = np.vstack([_minimum(vectors, pipeline, one, sample, table) for one in alone])
    return Linear(np.ascontiguousarray(found[:, :-1].T), np.ascontiguousarray(found[:, -1]), count)


def _table(space: Space, sample: Sample) -> Any:
    import scipy.sparse

    return scipy.sparse.vstack([space.of_batch(batch, sample.threads)[0] for batch in sample.batches], format="csr")


def _minimum(vectors: Vectors, pipeline: Pipeline, alone: int | None, sample: Sample | None, table: Any) -> Array:
    """Minimize, from the optimum of the sample, errors costing as much as if it were all rows: few rounds are left."""
    hinge, cost = pipeline.model == "linear-svm", pipeline.regularization.cost
    objective = (_hinge if hinge else _logistic)(vectors, cost, alone)
    if sample is None or table is None:
        return minimum(objective, np.zeros(objective.shape))
    classes, share = _targets(alone, sample.classes), sample.rows / vectors.rows
    objective = replace(objective, sample=(table, sample.classes))
    if hinge:
        settings = MarginSettings(cost=cost / share, tolerance=TOLERANCE)
        found = fit_margins(table, classes, len(vectors.labels), settings, threads=sample.threads)
        return minimum(objective, np.hstack([found.coef, found.intercept[:, None]]))
    rows = LabeledRows(table, classes, len(vectors.labels) if alone is None else 2)
    return minimum(objective, fit_logistic(rows, objective.penalty * share, tol=TOLERANCE).coefficients)


@dataclass(frozen=True)
class ReducedLoss(DenseObjective):
    """A penalized loss of all rows, a function of a matrix of coefficients. Each evaluation is one reduce."""

    vectors: Vectors
    shape: tuple[int, int]
    penalty: Array
    sums: Callable[..., Mapping[str, Array]]
    product_sums: Callable[..., Mapping[str, Array]]
    cost: float = 1.0
    dense: bool = False
    """Whether the Hessian is written out."""
    sample: tuple[Any, Array] | None = None
    """Some of the rows and their classes, on the driver: their Hessian preconditions conjugate gradients."""

    @cached_property
    def scale(self) -> float:
        """The norm of the gradient at zero coefficients."""
        norm = float(np.linalg.norm(self.at(np.zeros(self.shape), hessian=False).gradient))
        return norm if norm > 0 else 1.0

    def at(self, point: Array, hessian: bool | None = None) -> Expansion:
        """Return value and gradient at a point, and the Hessian if it is written out."""
        sums = self.vectors.total(self.sums, point, self.dense if hessian is None else hessian)
        value = self.cost * float(sums["loss"].sum()) + 0.5 * float(np.sum(self.penalty * point**2))
        curved = sums.get("hessian")
        if curved is not None:
            curved = self.cost * curved + np.diag(np.tile(self.penalty, self.shape[0]))
        gradient = self.cost * sums["gradient"] + self.penalty * point
        return Expansion(point, value, gradient, curved, float(self.vectors.rows))

    def step(self, state: Expansion) -> Array:
        """Return the Newton step; without a Hessian each product with it is one reduce."""
        if self.dense:
            return super().step(state)
        product = partial(self._product, self.vectors.total, self.cost, state.point)
        return conjugate_step(product, state.gradient, self.relative_norm(state.gradient), self._precondition(state))

    def is_stationary(self, state: Expansion, tol: float) -> bool:
        """Whether the gradient is small enough to stop."""
        return super().is_stationary(state, tol) if self.dense else Objective.is_stationary(self, state, tol)

    def _precondition(self, state: Expansion) -> Callable[[Array], Array] | None:
        """Solve nearly by the Hessian of the sample, which costs no reduce."""
        if self.sample is None:
            return None
        table, classes = self.sample
        cost = self.cost * self.vectors.rows / max(len(classes), 1)
        product = partial(self._product, lambda work, *given: work(*given, table, classes), cost, state.point)
        return lambda right: conjugate_gradients(product, right, NEARLY)[0]

    def _product(self, total: Callable[..., Mapping[str, Array]], cost: float, point: Array, direction: Array) -> Array:
        """Return the product of the Hessian at a point with a direction."""
        sums = total(self.product_sums, point, direction)
        return np.asarray(cost * sums["product"] + self.penalty * direction)


def _logistic(vectors: Vectors, cost: float, alone: int | None) -> ReducedLoss:
    outputs = 1 if len(vectors.labels) == 2 or alone is not None else len(vectors.labels)
    shape = (outputs, vectors.space.n_axes + 1)
    penalty = np.append(np.full(vectors.space.n_axes, 1.0 / cost), 0.0)
    sums, products = partial(logistic_sums, alone), partial(logistic_product, alone)
    return ReducedLoss(vectors, shape, penalty, sums, products, dense=outputs * shape[1] <= MOST_NEWTON)


def logistic_sums(alone: int | None, point: Array, hessian: bool, matrix: Any, classes: Array) -> dict[str, Array]:
    """Return loss, gradient and perhaps Hessian of a block of rows."""
    sums = statistics(matrix, _targets(alone, classes), point, hessian=hessian)
    curved = {} if sums.hessian is None else {"hessian": sums.hessian}
    return {"loss": np.array([sums.loss]), "gradient": sums.gradient, **curved}


def logistic_product(
    alone: int | None, point: Array, direction: Array, matrix: Any, classes: Array
) -> dict[str, Array]:
    """Return the product of the Hessian of a block of rows with a direction."""
    return {"product": hessian_product(matrix, _targets(alone, classes), point, direction)}


def _targets(alone: int | None, classes: Array) -> Array:
    return classes if alone is None else (classes == alone).astype(np.int32)


def _hinge(vectors: Vectors, cost: float, alone: int | None) -> ReducedLoss:
    outputs = 1 if len(vectors.labels) == 2 else len(vectors.labels)
    penalty = np.ones(vectors.space.n_axes + 1)
    return ReducedLoss(vectors, (outputs, len(penalty)), penalty, hinge_sums, hinge_product, cost)


def hinge_sums(point: Array, hessian: bool, matrix: Any, classes: Array) -> dict[str, Array]:
    """Return loss and gradient of a block of rows."""
    return squared_hinge(matrix, classes, point)


def hinge_product(point: Array, direction: Array, matrix: Any, classes: Array) -> dict[str, Array]:
    """Return the product of the Hessian of a block of rows with a direction."""
    return squared_hinge(matrix, classes, point, direction)


def minimum(objective: ReducedLoss, start: Array) -> Array:
    """Return the coefficients where an objective is least."""
    found = minimize(objective, start, TOLERANCE, MOST_ROUNDS)
    return objective.polished(found) if objective.dense else found.state.point
