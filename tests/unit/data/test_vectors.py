"""Columns of vectors: the same vectors from every container, and one sentence for what is no vector."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discern import Classifier, DataError, with_vectors
from discern.data.batch import Batch, row_sizes
from discern.data.hashes import value_hashes
from discern.data.readers import batches, can_be_read_again
from discern.data.roles import infer, with_grid
from discern.data.source import Reading
from discern.data.vectors.column import MOST_AXES, Vectors, lengths_of, packed, seems_vectors

ROWS: list[list[float] | None] = [[0.1, -0.0, 3.0], None, [4.0, 5e-20, -6.5]]
WANTED = [[0.1, 0.0, 3.0], [0.0, 0.0, 0.0], [4.0, 5e-20, -6.5]]
ARRAYS = [None if row is None else np.array(row, np.float32) for row in ROWS]

COLUMNS: dict[str, Callable[[], Any]] = {
    "lists": lambda: ROWS,
    "tuples": lambda: [None if row is None else tuple(row) for row in ROWS],
    "arrays": lambda: ARRAYS,
    "arrow list": lambda: pa.array(ROWS, pa.list_(pa.float32())),
    "arrow large list": lambda: pa.array(ROWS, pa.large_list(pa.float64())),
    "arrow fixed": lambda: pa.array(ROWS, pa.list_(pa.float32(), 3)),
    "arrow chunks": lambda: pa.chunked_array([pa.array(ROWS[:1], pa.list_(pa.float64())), pa.array(ROWS[1:])]),
    "arrow slice": lambda: pa.array([[9.0, 9.0, 9.0], *ROWS], pa.list_(pa.float32(), 3))[1:],
    "polars list": lambda: pl.Series(ROWS),
    "polars array": lambda: pl.Series(ROWS, dtype=pl.Array(pl.Float32, 3)),
    "pandas arrays": lambda: pd.Series(ARRAYS, dtype=object).to_numpy(),
    "pandas lists": lambda: pd.Series(ROWS, dtype=object).to_numpy(),
    "texts": lambda: ["[0.1, -0.0, 3]", "", "[4.0, 5e-20, -6.5]"],
    "vectors": lambda: Vectors.of(ROWS),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_every_container_has_the_same_vectors(name: str) -> None:
    found = Vectors.of(COLUMNS[name]())
    assert found.values.dtype == np.float32
    assert np.array_equal(found.values, np.array(WANTED, np.float32))
    assert found.present.tolist() == [True, False, True]
    assert seems_vectors(COLUMNS[name]())


@pytest.mark.parametrize("name", [name for name in COLUMNS if name != "texts"])
def test_hashes_and_sizes_are_those_of_the_vectors(name: str) -> None:
    batch, plain = (Batch({"e": column}, 3) for column in (COLUMNS[name](), ROWS))
    assert np.array_equal(value_hashes(batch, "e"), value_hashes(plain, "e"))
    assert row_sizes(batch).tolist() == [20, 8, 20]
    lengths = lengths_of(batch.columns["e"])
    assert lengths is not None
    assert lengths.tolist() == [3, 0, 3]


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.int8, np.uint16, np.int64])
def test_arrays_of_two_dimensions(kind: Any) -> None:
    table = np.array([[1, 2], [3, 4], [5, 6]], kind)
    found = Vectors.of(table)
    assert found.values.tolist() == [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    assert np.shares_memory(found.values, table) == (kind is np.float32)
    batch = Batch({"e": table}, 3)
    assert batch.take(np.array([True, False, True])).vectors("e").values.tolist() == [[1.0, 2.0], [5.0, 6.0]]
    assert batch.first(1).vectors("e").values.tolist() == [[1.0, 2.0]]


FAULTS: dict[str, tuple[Any, str]] = {
    "nan": ([[1, 2], [1, float("nan")]], "row 2: number 2 of the vector is nan; correct it, or leave the whole vector"),
    "inf": (np.array([[1, -np.inf]]), "row 1: number 2 of the vector is -inf"),
    "too large": ([[1e300, 0.0]], "row 1: 1e+300 is too large for a vector"),
    "text inside": ([None, [1, "a"]], "row 2: number 2 of the vector is 'a', not a number"),
    "truth inside": ([[1, 2], [True, 0.5]], ""),
    "null inside": (pa.array([[1.0, None]]), "row 1: number 2 of the vector is missing"),
    "none inside": ([[1.0, 2.0], [1.0, None]], "row 2: number 2 of the vector is missing"),
    "lengths": ([[1, 2], None, [1, 2, 3]], "row 3: the vector has 3 numbers and that of row 1 has 2"),
    "arrow lengths": (pa.array([[1.0], [1.0, 2.0]]), "row 2: the vector has 2 numbers and that of row 1 has 1"),
    "array lengths": ([np.zeros(2), np.zeros(3)], "row 2: the vector has 3 numbers"),
    "texts": (["[1, 2]", "win a prize"], "row 2: 'win a prize' is not a vector; write [0.1, 0.2, …]"),
    "broken text": (["[1, 2"], "row 1: '[1, 2' is not a vector"),
    "numbers": ([[1.0, 2.0], 3.0], "row 2: '3.0' is not a vector; pass a list of numbers"),
    "one dimension": (np.zeros(3), "row 1: a vector is missing; the array must have two dimensions"),
    "empty": ([[], []], "row 1: the vector has 0 numbers; a vector has from 1 to 4,096"),
    "long": (np.zeros((1, MOST_AXES + 1)), "row 1: the vector has 4097 numbers"),
    "nested": ([[[1.0], [2.0]]], "row 1: number 1 of the vector is '[1.0]', not a number"),
    "huge integer": ([[10**400, 1]], "row 1: number 1 of the vector is inf"),
    "strings of arrow": (pa.array([["a", "b"]]), "row 1: number 1 of the vector is 'a'"),
    "table of texts": (np.array([["a", "b"]]), "row 1: the vector does not hold numbers"),
}


@pytest.mark.parametrize("name", [name for name, (_, message) in FAULTS.items() if message])
def test_faults_name_the_row(name: str) -> None:
    column, message = FAULTS[name]
    with pytest.raises(DataError) as raised:
        Vectors.of(column)
    assert str(raised.value).startswith(message)
    assert not seems_vectors(column) or name == "empty"


def test_faults_name_the_column_and_the_length_that_was_learned() -> None:
    batch = Batch({"e": [[1.0, 2.0], [3.0, 4.0]]}, 2, "x.jsonl", 11)
    with pytest.raises(DataError, match=r"^row 11 of x.jsonl, column 'e': the vector has 2 numbers and .* have 3;"):
        batch.vectors("e", 3)
    assert batch.vectors("e", 2).n_axes == 2
    none = Batch({"e": [None, None]}, 2)
    assert none.vectors("e", 3).values.shape == (2, 3)


def test_roles() -> None:
    columns = {
        "label": ["a", "b"],
        "array": np.zeros((2, 3)),
        "list": [[1.0, 2.0], None],
        "text list": ["[1, 2]", "[3, 4]"],
        "short": [[1.0], [2.0]],
        "ragged": [[1.0, 2.0], [2.0]],
        "tags": [["a", "b"], ["c", "d"]],
    }
    roles = {feature.name: feature.role for feature in infer(Batch(columns, 2), "label")[0]}
    assert [name for name, role in roles.items() if role == "vector"] == ["array", "list", "text list"]


def test_packed() -> None:
    assert isinstance(packed([None, [1.0, 2.0]]), Vectors)
    for values in [[1.0], [2.0]], [["a", "b"]], [None], [[1.0, 2.0], "x"], [[1.0, 2.0], [1.0]], []:
        assert packed(list(values)) == list(values)


# ------------------------------------------------------------------------------------------------ whole tables

LABELS, POINTS = ["a", "a", "b", "b"], [[0.0, 1.0], [0.5, 1.0], [1.0, 0.0], [1.0, 0.25]]


def to_parquet(folder: Path) -> Any:
    pq.write_table(pa.table({"label": LABELS, "e": pa.array(POINTS, pa.list_(pa.float32(), 2))}), folder / "x.parquet")
    return folder / "x.parquet"


def to_arrow(folder: Path) -> Any:
    table = pa.table({"label": LABELS, "e": pa.array(POINTS, pa.list_(pa.float64()))})
    with pa.ipc.new_file(str(folder / "x.arrow"), table.schema) as file:
        file.write_table(table)
    return folder / "x.arrow"


def to_jsonl(folder: Path) -> Any:
    lines = (f'{{"label": "{label}", "e": {point}}}' for label, point in zip(LABELS, POINTS, strict=True))
    (folder / "x.jsonl").write_text("\n".join(lines))
    return folder / "x.jsonl"


def to_csv(folder: Path) -> Any:
    lines = [f'{label},"{point}"' for label, point in zip(LABELS, POINTS, strict=True)]
    (folder / "x.csv").write_text("\n".join(["label,e", *lines]))
    return folder / "x.csv"


def to_file_beside(folder: Path) -> Any:
    (folder / "y.csv").write_text("\n".join(["label", *LABELS]))
    np.save(folder / "e.npy", np.array(POINTS, np.float32))
    return with_vectors(folder / "y.csv", e=folder / "e.npy")


TABLES: dict[str, Callable[[Path], Any]] = {
    "parquet": to_parquet,
    "arrow": to_arrow,
    "jsonl": to_jsonl,
    "csv": to_csv,
    "file beside a file": to_file_beside,
    "mapping": lambda _: {"label": LABELS, "e": np.array(POINTS)},
    "rows": lambda _: [{"label": label, "e": point} for label, point in zip(LABELS, POINTS, strict=True)],
    "rows of arrays": lambda _: [{"label": one, "e": np.array(x)} for one, x in zip(LABELS, POINTS, strict=True)],
    "pandas": lambda _: pd.DataFrame({"label": LABELS, "e": [np.array(point) for point in POINTS]}),
    "pandas lists": lambda _: pd.DataFrame({"label": LABELS, "e": POINTS}),
    "polars": lambda _: pl.DataFrame({"label": LABELS, "e": POINTS}),
    "polars array": lambda _: pl.DataFrame({"label": LABELS, "e": np.array(POINTS)}),
    "array beside a frame": lambda _: with_vectors(pd.DataFrame({"label": LABELS}), e=np.array(POINTS)),
    "array beside rows": lambda _: with_vectors([{"label": label} for label in LABELS], e=np.array(POINTS)),
    "frame as a mapping": lambda _: {**pd.DataFrame({"label": LABELS}), "e": np.array(POINTS, np.float16)},
}


@pytest.mark.parametrize("name", TABLES)
def test_every_table_makes_the_same_model(name: str, tmp_path: Path) -> None:
    expected = Classifier().fit({"label": LABELS, "e": POINTS})
    source = TABLES[name](tmp_path)
    model = Classifier().fit(source)
    assert [feature.role for feature in model.features] == ["vector"]
    assert model.checksum() == expected.checksum()
    assert model.predict(source).tolist() == LABELS
    assert model.predict(np.array(POINTS)).tolist() == LABELS
    assert can_be_read_again(source)


@pytest.mark.parametrize("settings", [{}, {"ledger": "00" * 16}, {"model": "lda"}])
def test_vectors_written_as_text_are_held_out_as_numbers_are(settings: dict[str, Any], tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    labels = ["a", "b"] * 2_100  # more than the grid is laid by
    points = draw.normal(size=(4_200, 2)).astype(np.float32) + np.array([label == "b" for label in labels])[:, None]
    lines = [f'{label},"{point.tolist()}"' for label, point in zip(labels, points, strict=True)]
    (tmp_path / "x.csv").write_text("\n".join(["label,e", *lines]))
    model = Classifier(**settings).fit({"label": labels, "e": points})
    assert Classifier(**settings).fit(tmp_path / "x.csv").checksum() == model.checksum()
    assert model.forget([{"label": "a", "e": str(points[0].tolist())}]).rows == 4_199


def test_grid_does_not_depend_on_the_order_of_rows() -> None:
    points = np.random.default_rng(0).normal(size=(5000, 2)).astype(np.float32)
    [feature], _ = infer(Batch({"e": points}, 5000), "label")
    one, other = (with_grid(feature, Batch({"e": rows}, 5000)) for rows in (points, points[::-1]))
    assert one == other
    assert one.n_axes == 2


def test_vectors_of_several_files_go_on(tmp_path: Path) -> None:
    for number, labels in enumerate([LABELS[:1], LABELS[1:]]):
        (tmp_path / f"{number}.csv").write_text("\n".join(["label", *labels]))
    source = with_vectors([tmp_path / "0.csv", tmp_path / "1.csv"].__iter__(), e=np.array(POINTS))
    assert np.concatenate([batch.columns["e"] for batch in batches(source)]).tolist() == POINTS


def test_a_row_that_is_left_out_leaves_out_its_vector(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"label": "a"}\nnonsense\n{"label": "b"}\n{"label": "b"}\n')
    reading = Reading(on_error="skip", vectors={"e": np.array(POINTS)})
    found = [batch.columns["e"].tolist() for batch in batches(tmp_path / "x.jsonl", reading)]
    assert found == [POINTS[:1], POINTS[2:]]


@pytest.mark.parametrize("rows", [3, 5])
def test_there_must_be_a_vector_for_each_row(rows: int) -> None:
    with pytest.raises(DataError, match="pass one for each row"):
        Classifier().fit(with_vectors([{"label": "a"}] * rows, e=np.array(POINTS)))


def test_bad_files_beside(tmp_path: Path) -> None:
    np.save(tmp_path / "flat.npy", np.zeros(4))
    np.save(tmp_path / "objects.npy", np.array([[None]]), allow_pickle=True)
    (tmp_path / "text.npy").write_text("label\na\n")
    for name, message in (
        ("flat.npy", "holds float64 in 1 dimensions"),
        ("objects.npy", "as a NumPy file"),
        ("text.npy", "as a NumPy file"),
        ("none.npy", "as a NumPy file"),
    ):
        with pytest.raises(DataError, match=message):
            with_vectors(["x"], e=tmp_path / name)
    with pytest.raises(DataError, match="have a column 'e' already"):
        Classifier().fit(with_vectors({"label": LABELS, "e": POINTS}, e=np.array(POINTS)))
