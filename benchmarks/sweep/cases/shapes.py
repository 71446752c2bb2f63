"""Tables of numbers, counts, weights and categories in many shapes, synthetic and the same each time."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import sparse

LEVELS = 8
"""How many categories a column has."""


@dataclass(frozen=True)
class Shape:
    """A table: how large it is, what is in it, and in what it comes."""

    rows: int
    columns: int
    classes: int = 2
    kind: str = "numbers"
    """``numbers``, ``counts``, ``weights`` (rows of unit length) or ``categories``."""
    nonzeros: int | None = None
    """Draws a row of a sparse table; None for a dense one."""
    dtype: str = "float64"
    order: str = "C"
    """``C``, ``F`` or ``strided`` (every second row of a larger table)."""
    container: str = "numpy"
    """``numpy``, ``list``, ``pandas``, ``polars``, ``arrow``; of sparse tables ``csr``, ``csc`` or ``coo``."""
    labels: str = "int"
    separated: bool = False
    main: bool = False
    memory: bool = False
    batch: int | None = None
    """Rows of a call of ``partial_fit``; None if rows do not come in batches."""

    @property
    def name(self) -> str:
        parts = [f"{self.rows}x{self.columns}", f"{self.classes}classes"]
        if self.nonzeros is not None:
            parts.append(f"{self.nonzeros}{self.kind}")
        defaults = {field: Shape.__dataclass_fields__[field].default for field in ("dtype", "order", "labels")}
        parts += [str(getattr(self, field)) for field, usual in defaults.items() if getattr(self, field) != usual]
        if self.container not in ("numpy", "csr"):
            parts.append(self.container)
        if self.separated:
            parts.append("separated")
        if self.batch:
            parts.append(f"batches{self.batch}")
        return "-".join(parts)

    def within(self, most_rows: int) -> "Shape":
        """Return the shape with at most this many rows."""
        return self if self.rows <= most_rows else replace(self, rows=most_rows)

    def small(self) -> "Shape":
        """Return a shape of the same kind with little in it."""
        rows = max(40, 2 * min(self.classes, 20))
        return replace(self, rows=rows, columns=min(self.columns, 12), classes=min(self.classes, 20))


@dataclass(frozen=True)
class Data:
    """Rows and labels as both sides take them, and numbers that checks can use."""

    X: Any
    y: Any
    plain: Any
    """The rows as a C-ordered or CSR matrix."""

    def head(self, rows: int) -> Any:
        """Return the first rows in the same container."""
        if len(self.y) <= rows:
            return self.X
        if hasattr(self.X, "iloc"):
            return self.X.iloc[:rows]
        if type(self.X).__module__.startswith("pyarrow"):
            return self.X.slice(0, rows)
        return self.X.tocsr()[:rows] if sparse.issparse(self.X) else self.X[:rows]


@lru_cache(maxsize=2)
def table(shape: Shape) -> Data:
    """Make the table of a shape."""
    random = np.random.default_rng(shape.rows + 7 * shape.columns + 31 * shape.classes)
    if shape.nonzeros is not None:
        X, y = _sparse(shape, random)
    else:
        X, y = {"numbers": _numbers, "counts": _counts, "categories": _categories}[shape.kind](shape, random)
    y[: shape.classes] = np.arange(shape.classes)  # each has a row
    names = np.array([f"class {number:04d}" for number in range(shape.classes)])
    return Data(_contained(X, shape), names[y] if shape.labels == "string" else y, X)


def _numbers(shape: Shape, random: np.random.Generator) -> tuple[Any, Any]:
    """Draw normal columns, and labels by a logistic model of a few of them: classes overlap."""
    X = random.standard_normal((shape.rows, shape.columns))
    told = min(shape.columns, 20)
    weights = random.standard_normal((told, shape.classes)) * 2 / np.sqrt(told)
    scores = X[:, :told] @ weights
    if not shape.separated:
        scores += random.gumbel(size=scores.shape)
    X *= random.uniform(0.5, 2, shape.columns)
    if shape.dtype.startswith("int"):
        X = np.round(X * 10)
    return X.astype(shape.dtype), scores.argmax(axis=1)


def _counts(shape: Shape, random: np.random.Generator) -> tuple[Any, Any]:
    y = random.integers(0, shape.classes, shape.rows)
    rates = random.gamma(0.7, 1.5, (shape.classes, shape.columns))
    return random.poisson(rates[y]).astype(shape.dtype), y


def _categories(shape: Shape, random: np.random.Generator) -> tuple[Any, Any]:
    """Draw whole numbers below the number of levels; each class prefers some."""
    y = random.integers(0, shape.classes, shape.rows)
    favorites = random.integers(0, LEVELS, (shape.classes, shape.columns))
    X = random.integers(0, LEVELS, (shape.rows, shape.columns))
    agrees = random.random(X.shape) < 0.15
    X = np.where(agrees, favorites[y], X)
    X[:LEVELS] = np.arange(LEVELS)[: len(X), None]  # each level is there
    return X.astype("int64" if shape.dtype == "float64" else shape.dtype), y


def _sparse(shape: Shape, random: np.random.Generator) -> tuple[Any, Any]:
    """Draw terms of rows, the first columns more often, and some from the columns of the class."""
    assert shape.nonzeros is not None
    y = random.integers(0, shape.classes, shape.rows)
    drawn = random.random((shape.rows, shape.nonzeros))
    terms = (shape.columns * drawn**3).astype(np.int64)
    block = max(shape.columns // (4 * shape.classes), 4)
    own = (y[:, None] * block + (block * random.random(drawn.shape)).astype(np.int64)) % shape.columns
    terms = np.where(random.random(drawn.shape) < 0.15, own, terms)
    starts = np.arange(0, drawn.size + 1, shape.nonzeros)
    X = sparse.csr_matrix((np.ones(drawn.size), terms.ravel().astype(np.int32), starts.astype(np.int32)))
    X.resize(shape.rows, shape.columns)
    X.sum_duplicates()
    if shape.kind == "weights":
        lengths = np.sqrt(X.multiply(X).sum(axis=1)).A1
        X.data /= np.repeat(lengths, np.diff(X.indptr))
    return X.astype(shape.dtype), y


def _contained(X: Any, shape: Shape) -> Any:
    """Return the table in the order and the container of the shape."""
    if shape.nonzeros is not None:
        return X if shape.container in ("numpy", "csr") else getattr(X, f"to{shape.container}")()
    if shape.order == "F":
        return np.asfortranarray(X)
    if shape.order == "strided":
        return np.repeat(X, 2, axis=0)[::2]
    if shape.container == "list":
        return X.tolist()
    if shape.container == "numpy":
        return X
    names = [f"x{number}" for number in range(shape.columns)]
    columns = {name: np.ascontiguousarray(X[:, number]) for number, name in enumerate(names)}
    return _frame(shape.container, columns, X, names)


def _frame(container: str, columns: dict[str, Any], X: Any, names: list[str]) -> Any:
    if container == "pandas":
        import pandas

        return pandas.DataFrame(X, columns=names)
    if container == "polars":
        import polars

        return polars.DataFrame(columns)
    import pyarrow

    return pyarrow.table(columns)
