"""Jobs of exact sums of products: embeddings of a million rows against a matrix product, and forgetting one of them."""

from pathlib import Path
from typing import Any

import numpy as np

import discern
from benchmarks.harness.job import Goal, Inputs, Job, Peer
from benchmarks.harness.measure import cpu, require
from discern.data.vectors.grid import COARSE, Grid
from discern.statistics.products import Products

ROWS, AXES, CLASSES = 1_000_000, 384, 10
FEW_ROWS = 10_000


def prepare_vectors(folder: Path, quick: bool, rows: int = ROWS) -> Inputs:
    random = np.random.default_rng(0)
    vectors = random.standard_normal((rows // 50 if quick else rows, AXES), dtype=np.float32)
    classes = random.integers(0, CLASSES, len(vectors)).astype(np.int32)
    return Inputs(vectors=vectors, classes=classes, grid=Grid.fit(vectors, COARSE))


def exact_sums(inputs: Inputs) -> Any:
    return Products.of(inputs.vectors, inputs.classes, CLASSES, inputs.grid)


def matrix_product(inputs: Inputs) -> Any:
    return inputs.vectors.T @ inputs.vectors


def same_products(inputs: Inputs, ours: Any, theirs: Any) -> None:
    scale = inputs.grid.scale
    means = ours.means() * scale + inputs.grid.origin
    products = ours.within() * scale * scale[:, None] + (ours.counts[:, None] * means).T @ means
    apart = float(np.abs(products - theirs).max()) / len(inputs.vectors)
    require(apart < 1e-4, f"the mean products differ by {apart:g}")


def prepare_fitted(folder: Path, quick: bool) -> Inputs:
    inputs = prepare_vectors(folder, quick, FEW_ROWS)
    rows = {"label": inputs.classes.astype(str), "vector": inputs.vectors}
    model = discern.Classifier(model="lda", vector="vector").fit(rows)
    return Inputs(model=model, row={name: column[:1] for name, column in rows.items()})


def forget_and_solve(inputs: Inputs) -> Any:
    left = inputs.model.changed(inputs.row, iter(()))
    _ = left.solved
    return left


def one_row_less(inputs: Inputs, ours: Any, theirs: None) -> None:
    require(ours.rows == inputs.model.rows - 1, "the row was not forgotten")


JOBS = (
    Job(
        "exact-products",
        "exact sums of products of 1,000,000 vectors of 384 numbers, 10 classes",
        None,
        prepare_vectors,
        cpu(exact_sums),
        (Peer("X.T @ X in float32", Goal("faster", 0.5), same_products, cpu(matrix_product)),),
    ),
    Job(
        "forget-lda",
        "forgetting one of 10,000 rows of a linear discriminant of 384 axes, and solving again",
        None,
        prepare_fitted,
        cpu(forget_and_solve),
        (Peer("", Goal("limit", 0.05), one_row_less),),
    ),
)
