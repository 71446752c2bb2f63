"""The cases of estimators of tables: every entry on every shape that it takes."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness.measure import require
from benchmarks.sweep.cases.catalog import SHAPES
from benchmarks.sweep.cases.entries import entries
from benchmarks.sweep.cases.entry import Entry
from benchmarks.sweep.cases.shapes import Data, Shape, table
from benchmarks.sweep.cells import Bench, Case, each

ONE_ROW = 30_000
"""Models of at most this many rows also predict a single row."""


def cases() -> Iterator[Case]:
    for entry in entries():
        for shape in shapes_of(entry):
            operations = operations_of(entry, shape)
            yield Case(
                entry.family,
                entry.subject,
                (entry.name,),
                shape.name,
                operations,
                runner(entry, shape, operations),
                runner(entry, shape.small(), ("fit",)) if shape.memory else None,
                shape.main,
            )


def shapes_of(entry: Entry) -> list[Shape]:
    """Return the shapes of an entry within its limits, each once."""
    listed = [shape for name in entry.data for shape in SHAPES[name]]
    fitting = [shape for shape in listed if shape.classes <= entry.most_classes and shape.columns <= entry.most_columns]
    found = {shape.name: shape for shape in reversed([shape.within(entry.most_rows) for shape in fitting])}
    return list(reversed(found.values()))


def operations_of(entry: Entry, shape: Shape) -> tuple[str, ...]:
    if shape.batch:
        return ("partial_fit",) if entry.has("partial_fit") else ()
    found = ["fit", *(name for name in ("predict", "predict_proba", "transform") if entry.has(name))]
    if shape.rows <= ONE_ROW and shape.container in ("numpy", "pandas", "csr"):
        found += [f"{name}-one-row" for name in found[1:] if name != "transform"]
    return tuple(found)


def runner(entry: Entry, shape: Shape, operations: tuple[str, ...]) -> Callable[[Bench], None]:
    suited = replace(entry, agreement=entry.agreement.of_precision(shape.dtype))

    def run(bench: Bench) -> None:
        data = table(shape)
        if shape.batch:
            stream(bench, suited, data, shape.batch)
            return
        models = fit(bench, suited, data)
        each(partial(use, bench, suited, data, operation, models) for operation in operations[1:])

    return run


def fit(bench: Bench, entry: Entry, data: Data) -> tuple[Any, Any]:
    def check(ours: Any, theirs: Any) -> None:
        if hasattr(ours, "predict"):
            rows = data.head(min(entry.queries, 2_000))
            entry.agreement.of_models(ours, theirs, rows, data.plain, data.y, entry.options)

    return bench.measure(
        "fit",
        lambda: entry.ours(bench.threads).fit(data.X, data.y),
        lambda: entry.theirs(bench.threads).fit(data.X, data.y),
        check,
    )


def use(bench: Bench, entry: Entry, data: Data, operation: str, models: tuple[Any, Any]) -> None:
    """Measure an operation of fitted models, on many rows or on one."""
    name, one = operation.removesuffix("-one-row"), operation.endswith("-one-row")
    rows = data.head(1 if one else entry.queries)
    ours, theirs = (getattr(model, name) for model in models)

    def check(mine: Any, other: Any) -> None:
        if name == "predict":
            entry.agreement.of_labels(mine, other, data.y)
        elif name == "predict_proba":
            entry.agreement.of_probabilities(mine, other)
        else:
            _check_transformed(entry, mine, other)

    if one:
        check = _same_shape  # a single label may lie in the share that may differ
    bench.measure(operation, lambda: ours(rows), lambda: theirs(rows), check)


def _same_shape(ours: Any, theirs: Any) -> None:
    require(np.shape(ours) == np.shape(theirs), f"the shape is {np.shape(ours)}, not {np.shape(theirs)}")


def _check_transformed(entry: Entry, ours: Any, theirs: Any) -> None:
    _same_shape(ours, theirs)
    if entry.name == "QuadraticFeatures":
        ours, theirs = (np.asarray(found).sum(axis=1) for found in (ours, theirs))
        require(np.allclose(ours, theirs, rtol=1e-6), "the sums of the features differ")
    elif entry.name == "LinearDiscriminantAnalysis":
        ours, theirs = _axes(ours), _axes(theirs)
    entry.agreement.of_values(ours, theirs)


def _axes(rows: Any) -> Any:
    """Return coordinates without what axes may choose: their direction, and their scale, which depends on a divisor."""
    found = np.abs(np.asarray(rows, float))
    return found / np.linalg.norm(found, axis=0) * np.sqrt(len(found))


def stream(bench: Bench, entry: Entry, data: Data, batch: int) -> None:
    """Measure ``partial_fit`` on one batch after another, from the first."""
    starts = range(0, len(data.y), batch)
    batches = [(data.X[start : start + batch], data.y[start : start + batch]) for start in starts]
    classes = np.unique(data.y)

    def learn(model: Any) -> Any:
        for X, y in batches:
            model.partial_fit(X, y, classes=classes)
        return model

    def check(ours: Any, theirs: Any) -> None:
        entry.agreement.of_models(ours, theirs, data.head(2_000), data.plain, data.y, entry.options)

    bench.measure("partial_fit", lambda: learn(entry.ours()), lambda: learn(entry.theirs()), check)
