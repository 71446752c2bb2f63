"""The lists of shapes: those that a user may bring, not those that anyone tuned for."""

from dataclasses import replace
from itertools import chain

from benchmarks.sweep.cases.shapes import Shape

PLAIN = (
    Shape(150, 4, 3, main=True),  # tiny
    Shape(30, 5, 2),
    Shape(500, 20, 2),
    Shape(500, 50, 3),
    Shape(3_000, 20, 10),
    Shape(200_000, 20, 2, main=True, memory=True),
    Shape(60_000, 30, 3, main=True),
    Shape(20_000, 100, 2, main=True),
    Shape(5_000, 300, 3),
    Shape(100_000, 1, 2),
    Shape(60_000, 3, 3),
    Shape(10_000, 20, 100),
)
"""Rows, columns and classes; C order, float64, numpy."""

BASE = Shape(30_000, 20, 3)
CONTAINERS = (
    replace(BASE, order="F", main=True),
    replace(BASE, order="strided"),
    replace(BASE, dtype="float32", memory=True),
    replace(BASE, dtype="float32", order="F"),
    replace(BASE, dtype="int64"),
    replace(BASE, labels="string"),
    replace(BASE, container="pandas", main=True),
    replace(BASE, container="pandas", dtype="float32"),
    replace(BASE, container="polars"),
    replace(BASE, container="arrow"),
    replace(BASE, rows=2_000, container="list"),
)
WIDE = (
    Shape(100, 1_000, 2),
    Shape(300, 2_000, 3, memory=True),
    Shape(1_000, 4_000, 2, main=True),
)
COUNTS = (
    Shape(150, 5, 3, "counts", main=True),
    Shape(3_000, 50, 10, "counts"),
    Shape(50_000, 20, 2, "counts", main=True, memory=True),
    Shape(5_000, 500, 20, "counts"),
    Shape(100, 2_000, 3, "counts"),
    Shape(20_000, 20, 3, "counts", order="F"),
    Shape(20_000, 20, 3, "counts", dtype="float32"),
    Shape(20_000, 20, 3, "counts", dtype="int64"),
    Shape(20_000, 20, 3, "counts", container="pandas", dtype="int64"),
    Shape(20_000, 20, 3, "counts", container="polars"),
    Shape(2_000, 20, 3, "counts", container="list"),
)
CATEGORIES = (
    Shape(150, 5, 3, "categories", main=True),
    Shape(3_000, 50, 10, "categories"),
    Shape(100_000, 10, 2, "categories", main=True, memory=True),
    Shape(10_000, 100, 3, "categories"),
    Shape(5_000, 20, 100, "categories"),
    Shape(100, 1_000, 2, "categories"),
    Shape(30_000, 10, 3, "categories", order="F"),
    Shape(30_000, 10, 3, "categories", dtype="int32"),
    Shape(30_000, 10, 3, "categories", container="pandas"),
    Shape(30_000, 10, 3, "categories", container="polars"),
    Shape(2_000, 10, 3, "categories", container="list"),
)
SPARSE = (
    Shape(300, 2_000, 2, "counts", 20, main=True),
    Shape(5_000, 20_000, 2, "counts", 50, main=True),
    Shape(5_000, 20_000, 20, "weights", 50),
    Shape(20_000, 100_000, 2, "weights", 100, main=True, memory=True),
    Shape(20_000, 100_000, 3, "counts", 10),
    Shape(2_000, 200_000, 3, "weights", 200),
    Shape(5_000, 5_000, 3, "counts", 20, container="csc"),
    Shape(5_000, 5_000, 3, "counts", 20, container="coo"),
    Shape(5_000, 5_000, 3, "counts", 20, dtype="float32"),
    Shape(5_000, 5_000, 3, "counts", 20, dtype="int64"),
    Shape(50_000, 300, 2, "counts", 5),
    Shape(5_000, 5_000, 3, "weights", 20, labels="string"),
    Shape(8_000, 5_000, 300, "counts", 20),
)
STREAMS = (
    Shape(200, 50_000, 2, "counts", 50, batch=10, main=True),
    Shape(5_000, 50_000, 20, "counts", 50, batch=500),
    Shape(200, 50, 3, "counts", batch=10),
    Shape(20_000, 50, 3, "counts", batch=2_000),
    Shape(100, 500_000, 2, "counts", 20, batch=10),
)
NUMBER_STREAMS = tuple(
    replace(shape, kind="numbers", nonzeros=None)
    for shape in (STREAMS[2], STREAMS[3], Shape(2_000, 300, 20, batch=100))
)

SHAPES: dict[str, tuple[Shape, ...]] = {
    "numbers": (*PLAIN, *CONTAINERS),
    "some numbers": tuple(shape for shape in PLAIN if shape.rows <= 20_000) + CONTAINERS[:1],
    "few numbers": (PLAIN[0], PLAIN[2], PLAIN[4], replace(PLAIN[7], rows=5_000), CONTAINERS[6]),
    "two numbers": tuple(replace(shape, classes=2) for shape in chain(PLAIN[:3], PLAIN[5:9], CONTAINERS)),
    "two classes": tuple(replace(shape, classes=2) for shape in chain(COUNTS, SPARSE)),
    "huge": (Shape(1_000_000, 10, 2, memory=True),),
    "low": tuple(Shape(100_000, columns, 2, main=columns == 3) for columns in (2, 3, 4, 5, 8)),
    "wide": WIDE,
    "separated": (Shape(500, 50, 3, separated=True), Shape(3_000, 20, 2, separated=True), WIDE[0]),
    "counts": COUNTS,
    "categories": CATEGORIES,
    "sparse": SPARSE,
    "kernel sparse": (SPARSE[0], replace(SPARSE[2], rows=2_000), replace(SPARSE[3], rows=2_000, columns=20_000)),
    "streams": STREAMS,
    "number streams": NUMBER_STREAMS,
}
