"""The same table is the same table in every container: the same model to the byte, the same predictions."""

import csv
import io
import json
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discern import Classifier
from discern.data.batch import Batch
from discern.data.readers import batches
from discern.data.roles import infer, leading_rows
from discern.data.values import written
from discern.service.rows import Reader, parse
from discern.service.settings import Limits
from discern.service.state import State

Columns = dict[str, list[Any]]
FOUR = timezone(timedelta(hours=4))

KINDS: dict[str, list[Any]] = {
    "bool": [True, False, True],
    "int": [3, 1, -20, 2**53],
    "whole float": [1.0, 0.0, -3.0, 1e15],
    "fraction": [0.1, 2.5, -1e-7, 1e22],
    "float32": [np.float32(0.1), np.float32(16777216.0), np.float32(1e-5)],
    "numpy int": [np.int16(7), np.int16(-1)],
    "numpy bool": [np.bool_(True), np.bool_(False)],
    "missing": ["red", None, "blue"],
    "empty": ["red", "", "blue"],
    "date": [date(2024, 1, 2), date(1999, 12, 31)],
    "datetime": [datetime(2024, 1, 2), datetime(2024, 1, 2, 3, 4, 5), datetime(2024, 1, 2, 3, 4, 5, 120000)],
    "zoned": [datetime(2024, 1, 2, tzinfo=UTC), datetime(2024, 1, 2, 3, tzinfo=FOUR)],
    "categorical": ["red", "blue", "1.0", "True"],
    "bytes": [b"red", "né".encode(), b"False"],
    "decimal": [Decimal("1.10"), Decimal("-2.00"), Decimal("3.14")],
    "string": ["007", "né 你好", "1e5", "1.10", "True", "FALSE", "spam"],
    "written time": ["2024-01-02T00:00:00", "2024-01-02 03:04:05.500000"],
}
NUMBERS = ("bool", "int", "whole float", "fraction", "float32", "numpy int", "numpy bool", "decimal")
LABELS = [kind for kind in KINDS if kind not in ("missing", "empty")]
ROLES = {
    "label": LABELS,
    "category": list(KINDS),
    "flag": ["bool", "numpy bool", "int", "whole float", "categorical", "missing", "string"],
    "number": NUMBERS,
    "text": list(KINDS),
}


# ---------------------------------------------------------------------------------------------------- containers


def to_csv(columns: Columns, folder: Path) -> Path:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([written(value) or "" for value in row] for row in zip(*columns.values(), strict=True))
    (folder / "rows.csv").write_text(text.getvalue(), encoding="utf-8")
    return folder / "rows.csv"


def json_value(value: Any) -> Any:
    if isinstance(value, bool | int | float | str) or value is None:
        return value
    plain = value.item() if isinstance(value, np.bool_ | np.integer) else value
    return (
        plain
        if isinstance(plain, bool | int)
        else float(str(value))
        if isinstance(value, np.floating)
        else written(value)
    )


def to_json_lines(columns: Columns, folder: Path) -> Path:
    rows = ({name: json_value(value) for name, value in row.items()} for row in to_dicts(columns))
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder / "rows.jsonl"


def is_of(values: list[Any], kind: Any) -> bool:
    return any(isinstance(value, kind) for value in values)


def arrow_column(values: list[Any]) -> Any:
    if values == KINDS["categorical"] * (len(values) // 4) or set(map(str, values)) == set(KINDS["categorical"]):
        return pa.array(values).dictionary_encode()
    if is_of(values, np.float32):
        return pa.array(values, pa.float32())
    return pa.array([value.item() if isinstance(value, np.generic) else value for value in values])


def to_arrow(columns: Columns, _: Path | None = None) -> Any:
    return pa.table({name: arrow_column(values) for name, values in columns.items()})


def to_chunks(columns: Columns, _: Path) -> Any:
    table = to_arrow(columns)
    return pa.concat_tables([table.slice(0, 1), table.slice(1, 3), table.slice(4)])


def to_parquet(columns: Columns, folder: Path) -> Path:
    pq.write_table(to_arrow(columns), folder / "rows.parquet", row_group_size=5)
    return folder / "rows.parquet"


def to_pandas(columns: Columns, _: Path) -> Any:
    frame = pd.DataFrame({name: pd.Series(values) for name, values in columns.items()})
    for name, values in columns.items():
        if is_of(values, np.float32):
            frame[name] = np.array(values, np.float32)
        elif set(map(str, values)) == set(KINDS["categorical"]):
            frame[name] = frame[name].astype("category")
    return frame


def to_polars(columns: Columns, _: Path) -> Any:
    return pl.from_arrow(to_arrow(columns))


def to_dicts(columns: Columns, _: Path | None = None) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def to_arrays(columns: Columns, _: Path) -> dict[str, Any]:
    def array(values: list[Any]) -> Any:
        if is_of(values, datetime) and not any(value.tzinfo for value in values):
            return np.array(values, "datetime64[ms]")
        if is_of(values, date) and not is_of(values, datetime):
            return np.array(values, "datetime64[D]")
        return np.array(values) if is_of(values, bool | np.generic | float | bytes) else np.array(values, object)

    return {name: array(values) for name, values in columns.items()}


CONTAINERS: dict[str, Callable[[Columns, Path], Any]] = {
    "dicts": to_dicts,
    "csv": to_csv,
    "jsonl": to_json_lines,
    "parquet": to_parquet,
    "arrow": to_arrow,
    "chunks": to_chunks,
    "pandas": to_pandas,
    "polars": to_polars,
    "arrays": to_arrays,
}


def in_all(columns: Columns, folder: Path) -> dict[str, Any]:
    return {name: make(columns, folder) for name, make in CONTAINERS.items()}


def cycled(values: Sequence[Any], rows: int) -> list[Any]:
    return [values[place % len(values)] for place in range(rows)]


# --------------------------------------------------------------------------------------------------------- laws


def check(columns: Columns, folder: Path, **how: Any) -> Classifier:
    """Require the same model and predictions of all containers, and the same evaluation of one on another."""
    found = in_all(columns, folder)
    models = {name: Classifier(**how).fit(data) for name, data in found.items()}
    first = models["dicts"]
    checksums = {name: model.checksum() for name, model in models.items()}
    assert set(checksums.values()) == {first.checksum()}, (checksums, {n: m.labels for n, m in models.items()})
    data = found["dicts"]
    labels, expected, accuracy = first.predict(data), first.predict_proba(data), first.evaluate(data).accuracy
    for name, data in found.items():
        assert np.array_equal(first.predict(data), labels), name
        # Only the last bit depends on how many rows come at once.
        assert first.predict_proba(data) == pytest.approx(expected, rel=1e-12), name
        assert first.evaluate(data).accuracy == accuracy, name
    return first


@pytest.mark.parametrize(("role", "kind"), [(role, kind) for role, kinds in ROLES.items() for kind in kinds])
def test_every_kind_of_value_in_every_role(tmp_path: Path, role: str, kind: str) -> None:
    values = cycled(KINDS[kind], 24)
    words = cycled(["win a prize", "lunch at noon", "hello"], 24)
    if role == "label":
        model = check({"label": values, "text": words}, tmp_path, smoothing=1.0, text="text")
        assert len(model.labels) <= len(set(KINDS[kind]))
    else:
        columns = {"label": cycled(["a", "b", "a", "b", "b"], 24), "value": values, "words": words}
        check(columns, tmp_path, smoothing=1.0, text=["words"] + ["value"] * (role == "text"), **given_role(role))


def given_role(role: str) -> dict[str, Any]:
    return {} if role == "text" else {role: "value"}


@pytest.mark.parametrize("kind", KINDS)
def test_roles_are_inferred_alike(tmp_path: Path, kind: str) -> None:
    columns = {"label": cycled(["a", "b"], 24), "value": cycled(KINDS[kind], 24)}
    roles = set()
    for data in in_all(columns, tmp_path).values():
        first, _ = leading_rows(batches(data))
        assert first is not None
        roles.add(str(infer(first, "label")))
    assert len(roles) == 1


@pytest.mark.parametrize("kind", LABELS)
def test_automatic(tmp_path: Path, kind: str) -> None:
    """What validation chooses, and how rows are dealt into folds, depends on the values alone."""
    random = np.random.default_rng(len(kind))
    labels = [KINDS[kind][int(place)] for place in random.integers(0, 2, 150)]
    rows = range(150)
    columns = {
        "label": labels,
        "text": [
            " ".join(random.choice(list("abcdefghijkl"), 6)) * 2 + f" {label}" * (i % 3 == 0)
            for i, label in zip(rows, labels, strict=True)
        ],
        "size": [float(value) for value in random.normal(size=150).round(2)],
        "count": [float(value) for value in random.integers(0, 9, 150)],
        "narrow": [np.float32(value) for value in random.normal(size=150)],
        "paid": [bool(value) for value in random.integers(0, 2, 150)],
        "day": [date(2024, 1, 1 + int(value)) for value in random.integers(0, 5, 150)],
        "color": [KINDS["missing"][int(value)] for value in random.integers(0, 3, 150)],
    }
    model = check(columns, tmp_path)
    assert model.resolved.chosen is not None
    assert [feature.role for feature in model.features] == [
        "text",
        "number",
        "number",
        "number",
        "flag",
        "category",
        "category",
    ]


def test_a_file_and_what_pandas_reads_of_it(tmp_path: Path) -> None:
    """Numbers that are written otherwise are the same numbers, in an automatic fit, too."""
    random = np.random.default_rng(5)
    lines = ["label,price,text"]
    for label in random.integers(0, 2, 200):
        lines.append(f"{bool(label)},{random.normal(2.0 * label):.2f}0,{' '.join(random.choice(list('abcdef'), 4))} x")
    (tmp_path / "rows.csv").write_text("\n".join(lines))
    model = Classifier().fit(tmp_path / "rows.csv")
    assert model.checksum() == Classifier().fit(pd.read_csv(tmp_path / "rows.csv")).checksum()
    assert model.labels == ("false", "true")


def test_roles_do_not_depend_on_batches(tmp_path: Path) -> None:
    """The first batch of a container may be all numbers where the next one is not."""
    columns = {
        "label": cycled(["a", "b"], 3000),
        "text": ["x " * 500 + "y"] * 3000,
        "code": ["1", "2"] * 1450 + ["c"] * 100,
    }
    table = to_arrow(columns)
    for data in (to_csv(columns, tmp_path), table, pa.concat_tables([table.slice(0, 10), table.slice(10)])):
        model = Classifier(smoothing=1.0).fit(data)
        assert [feature.role for feature in model.features] == ["text", "category"]


scalars = st.one_of(
    st.booleans(),
    st.integers(-(2**40), 2**40),
    st.floats(-1e9, 1e9),
    st.dates(date(1000, 1, 1)),
    st.datetimes(datetime(1700, 1, 1), datetime(2200, 1, 1)),
    st.text("ab01.-TrueFalse é", min_size=1).filter(str.strip),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(scalars, min_size=2, max_size=12))
def test_any_values(tmp_path_factory: pytest.TempPathFactory, values: list[Any]) -> None:
    """Columns of several types, in the containers that can hold them."""
    folder = tmp_path_factory.mktemp("rows")
    columns = {"label": values, "kind": values[::-1]}
    found = [make(columns, folder) for make in (to_dicts, to_csv, to_json_lines, to_pandas)]
    assert len({Classifier(smoothing=1.0, category="kind").fit(data).checksum() for data in found}) == 1


# ------------------------------------------------------------------------------------------------------ service


@pytest.mark.parametrize("kind", LABELS)
def test_the_service(tmp_path: Path, kind: str) -> None:
    """Rows in JSON are learned, forgotten and predicted as those of a table."""
    values = cycled(KINDS[kind], 12)
    columns = {"label": values, "level": values, "text": cycled(["win", "lunch", "hello"], 12)}
    model = Classifier(smoothing=1.0, text="text", category="level").fit(to_dicts(columns))
    state = State(Classifier(smoothing=1.0, text="text", category="level").fit(to_dicts(columns)), "", 0)
    rows = [{name: json_value(value) for name, value in row.items()} for row in to_dicts(columns)]
    read = Reader(state, Limits()).rows(parse(json.dumps(rows).encode()), labeled=True)
    assert state.classifier.learn(state.batch(read, label=True)).checksum() == model.learn(to_arrow(columns)).checksum()
    [found] = state.classifier.predictions(state.batch(read))
    assert found.probabilities.tolist() == model.predict_proba(to_csv(columns, tmp_path)).tolist()
    assert state.classifier.forget(state.batch(read, label=True)) == model.forget(to_polars(columns, tmp_path))


# ------------------------------------------------------------------------------------------------------ nothing


@pytest.mark.parametrize("nothing", [[], {}, {"label": [], "text": []}, pa.table({"label": pa.array([], pa.string())})])
def test_no_rows_change_nothing(nothing: Any) -> None:
    model = Classifier(smoothing=1.0).fit([{"label": "a", "text": "x1"}, {"label": "b", "text": "y1"}])
    before = model.checksum()
    assert model.learn(nothing).checksum() == before
    assert model.forget(nothing) == before
    assert (model.checksum(), len(model.predict(nothing)), model.predict_proba(nothing).shape) == (before, 0, (0, 2))
    with pytest.raises(ValueError, match="there are no rows to learn from"):
        Classifier().fit(nothing)


def test_a_label_that_is_not_there_is_missing_in_every_container(tmp_path: Path) -> None:
    for missing in (None, float("nan"), np.float32("nan"), pd.NA, pd.NaT, np.datetime64("NaT"), Decimal("NaN"), ""):
        with pytest.raises(ValueError, match=r"row 2 of .* has no label"):
            Batch({"label": ["a", missing]}, 2).labels("label")
    for column in (pa.array([1.0, float("nan")]), np.array([1.0, np.nan]), pa.array([1, None])):
        with pytest.raises(ValueError, match=r"row 2 of .* has no label"):
            Batch({"label": column}, 2).labels("label")
