"""Spark Connect: the same model through a server that the program starts."""

import pyarrow.parquet as parquet
import pytest

from discern.classifier import Classifier
from tests.spark.cluster import SETTINGS
from tests.spark.processes import LOOPBACK
from tests.spark.test_failures import program


@pytest.mark.timeout(660)
def test_through_spark_connect(rows, tmp_path) -> None:
    parquet.write_table(rows, tmp_path / "rows.parquet")
    said = program("-m", "tests.spark.remote", tmp_path / "rows.parquet", tmp_path / "remote.discern")
    alone = Classifier(**SETTINGS).fit(rows)
    checksum = alone.save(tmp_path / "alone.discern")
    assert said["kind"] == "pyspark.sql.connect.dataframe"
    assert said["checksums"] == [checksum, checksum]
    assert (tmp_path / "remote.discern").read_bytes() == (tmp_path / "alone.discern").read_bytes()
    assert said["auto"] == Classifier(**{**SETTINGS, "smoothing": "auto"}).fit(rows).checksum()
    assert said["predicted"] == alone.predict(rows).tolist()
    assert said["accuracy"] == alone.evaluate(rows).accuracy
    assert said["columns"] == [*rows.column_names, "prediction", "probability"]
    assert said["rounds"] == rows.num_rows
    assert set(said["listening"]) <= LOOPBACK
