"""Frames that are Parquet files: workers read them, and the model has the same bytes."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import discern.spark
from discern.classifier import Classifier
from discern.data.strings import DataError
from discern.estimators.linear.discriminants import LinearDiscriminantAnalysis
from discern.spark import parquet as reading
from discern.spark.parquet import local_files, splits_of
from tests.spark.processes import reads_after_dying_once

SETTINGS: dict[str, Any] = {"text": "text", "category": "country", "flag": "paid", "smoothing": 0.5, "min_df": 2}


@pytest.fixture(scope="module")
def folder(rows, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three files of several row groups; spaces, percents and umlauts in the name."""
    folder = Path(tmp_path_factory.mktemp("files"), "a b%20ü")
    folder.mkdir()
    for number in range(3):
        part = rows[number * 1000 : (number + 1) * 1000]
        parquet.write_table(part, folder / f"part {number}.parquet", row_group_size=300, compression="zstd")
    return folder


@pytest.fixture
def files(spark, folder) -> Any:
    return spark.read.parquet(str(folder))


def read_by_spark(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Note the frames that Spark reads and hands over."""
    handed: list[Any] = []

    def map_partitions(frame: Any, work: Any, schema: Any) -> Any:
        if frame.columns != ["id"]:  # numbers of splits
            handed.append(frame)
        return discern.spark.frames.map_partitions(frame, work, schema)

    monkeypatch.setattr(reading, "map_partitions", map_partitions)
    return handed


@pytest.mark.parametrize("size", [1, 20_000, 1 << 30])
def test_same_bytes_however_split(spark, files, rows, model_bytes, monkeypatch, size) -> None:
    handed = read_by_spark(monkeypatch)
    monkeypatch.setattr(reading, "_split_size", lambda *_: size)
    splits = splits_of(files.select("label", "text"))
    assert splits is not None
    assert len(splits) == 12 if size == 1 else 1 < len(splits) < 12 if size == 20_000 else len(splits) == 1
    alone = model_bytes(Classifier(**SETTINGS).fit(rows))
    assert model_bytes(discern.spark.fit(files, Classifier(**SETTINGS))) == alone
    assert not handed
    spark.conf.set(reading.SWITCH, "false")
    try:
        assert model_bytes(discern.spark.fit(files, Classifier(**SETTINGS))) == alone
    finally:
        spark.conf.unset(reading.SWITCH)
    assert handed


def space(files: Any) -> Any:
    model = discern.spark.fit(files, Classifier(text="text", model="logistic", max_terms=20, calibrate=False))
    return model.solved.decider.weights


def discriminant(files: Any) -> Any:
    table = files.select("label", "size")
    return discern.spark.fit(table, LinearDiscriminantAnalysis()).coef_


def judgment(files: Any) -> Any:
    model = Classifier(**SETTINGS).fit(files.toArrow())
    return discern.spark.evaluate(files, model).log_loss


def cross_validation(files: Any) -> Any:
    return discern.spark.cross_validate(files, Classifier(**SETTINGS), 3).total.log_loss


@pytest.mark.parametrize("sums", [space, discriminant, judgment, cross_validation])
def test_all_that_adds_up_rows_reads_files(spark, files, monkeypatch, sums) -> None:
    monkeypatch.setattr("discern.models.validation.rows.MOST_KEPT", 30_000)
    handed = read_by_spark(monkeypatch)
    found = sums(files)
    assert not handed
    spark.conf.set(reading.SWITCH, "false")
    try:
        np.testing.assert_allclose(found, sums(files), rtol=1e-6, atol=1e-9)
    finally:
        spark.conf.unset(reading.SWITCH)
    assert handed


def test_a_killed_worker(files, rows, model_bytes, monkeypatch, tmp_path) -> None:
    marker = tmp_path / "died"
    monkeypatch.setattr(reading, "_split_size", lambda *_: 20_000)
    monkeypatch.setattr(reading, "read_splits", partial(reads_after_dying_once, str(marker)))
    found = discern.spark.fit(files, Classifier(**SETTINGS))
    assert marker.exists()
    assert model_bytes(found) == model_bytes(Classifier(**SETTINGS).fit(rows))


def test_footers_of_many_files_are_read_by_workers(files, monkeypatch) -> None:
    here = splits_of(files)
    assert [group.path[-14:] for split in here or [] for group in split] == [f"part {n}.parquet" for n in range(3)]
    monkeypatch.setattr(reading, "FEW_FILES", 2)
    assert splits_of(files) == here
    pruned = files.select("label", "text")
    monkeypatch.setattr(reading, "_TYPES", {"string": ("large_string",)})
    assert splits_of(pruned) is None


def test_tasks_read_as_much_as_spark_would_let_them(files, spark) -> None:
    groups = [(100_000_000, group) for split in splits_of(files) or [] for group in split]
    assert reading._split_size(spark, groups) == 1 << 27
    assert reading._split_size(spark, groups[:1]) == 50_000_000
    assert reading._split_size(spark, [(5, groups[0][1])]) == reading.LEAST_SPLIT


@pytest.mark.parametrize(
    "change",
    [
        "frame.where('size > 3')",
        "frame.limit(5)",
        "frame.withColumnRenamed('text', 'body')",
        "frame.selectExpr('upper(text) text', 'label')",
        "frame.sample(0.5)",
        "frame.union(frame)",
        "frame.repartition(3)",
        "spark.read.option('mergeSchema', 'true').parquet(path)",
        "spark.read.schema('label string, text string, more string').parquet(path)",
        "spark.read.schema('label string, text binary').parquet(path)",
        "spark.createDataFrame(frame.limit(9).toArrow())",
    ],
)
def test_what_spark_has_to_read(spark, files, folder, change) -> None:
    assert splits_of(files.select("label", "text")) is not None
    assert splits_of(eval(change, {"frame": files, "spark": spark, "path": str(folder)})) is None


def test_a_cached_frame_is_read_from_the_cache(files) -> None:
    assert local_files(files) is not None
    files.persist()
    try:
        assert local_files(files) is None
    finally:
        files.unpersist()
    assert local_files(files) is not None


def test_settings_that_only_spark_follows(spark, files) -> None:
    for name, value in (("spark.sql.files.ignoreCorruptFiles", "true"), (reading.SWITCH, "false")):
        spark.conf.set(name, value)
        try:
            assert local_files(files) is None
        finally:
            spark.conf.unset(name)


def test_files_that_are_not_what_spark_takes_them_for(spark, tmp_path) -> None:
    """Spark has looked at one of them only; what comes of the others is for Spark to say."""
    table = pa.table({"label": ["a", "b"], "text": ["cat", "dog"]})
    others = {
        "other type": table.set_column(1, "text", table["text"].cast(pa.binary())),
        "no column": table.drop_columns(["text"]),
        "other case": table.rename_columns(["label", "Text"]),
        "dictionary": table.set_column(1, "text", table["text"].dictionary_encode()),
    }
    for name, other in others.items():
        path = tmp_path / name
        path.mkdir()
        parquet.write_table(table, path / "1.parquet")
        frame = spark.read.schema("label string, text string").parquet(str(path))
        assert splits_of(frame) is not None
        parquet.write_table(other, path / "2.parquet")
        assert splits_of(spark.read.schema("label string, text string").parquet(str(path))) is None, name
    (path / "2.parquet").write_bytes(b"PAR1 this is no Parquet PAR1")
    assert splits_of(spark.read.schema("label string, text string").parquet(str(path))) is None


def test_compressions() -> None:
    assert all(map(reading._can_unpack, ("UNCOMPRESSED", "SNAPPY", "GZIP", "ZSTD")))
    assert not reading._can_unpack("LZO")


def test_partitioned_folders_are_read_by_spark(spark, rows, tmp_path) -> None:
    parquet.write_to_dataset(rows, tmp_path / "by", partition_cols=["paid"])
    frame = spark.read.parquet(str(tmp_path / "by"))
    assert splits_of(frame.select("label", "text")) is None


def test_bad_rows_are_told_by_file_and_row(spark, tmp_path) -> None:
    table = pa.table({"label": ["a"] * 700 + [None, "b"], "text": ["x y"] * 702})
    parquet.write_table(table, tmp_path / "rows.parquet", row_group_size=300)
    frame = spark.read.parquet(str(tmp_path / "rows.parquet"))
    with pytest.raises(
        DataError, match=r"^row 701 of column 'label' of .*rows\.parquet has no label; add one or remove the row"
    ):
        discern.spark.fit(frame, Classifier(text="text", smoothing=1.0))


def test_an_empty_file_has_no_rows(spark, tmp_path) -> None:
    schema = pa.schema({"label": pa.string(), "text": pa.string()})
    parquet.write_table(schema.empty_table(), tmp_path / "none.parquet")
    with pytest.raises(DataError, match="no rows"):
        discern.spark.fit(spark.read.parquet(str(tmp_path / "none.parquet")), Classifier(text="text", smoothing=1.0))
