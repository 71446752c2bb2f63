"""One Spark session for the suite, on the loopback only."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
LOOPBACK = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.extraJavaOptions": QUICK_START,
    "spark.ui.showConsoleProgress": "false",
}


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2,4]").config("spark.speculation", "true")
    folder = tmp_path_factory.mktemp("spark")
    builder = builder.config("spark.local.dir", str(folder)).config("spark.sql.warehouse.dir", str(folder / "tables"))
    for name, value in LOOPBACK.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


def messages(count: int = 3000) -> pa.Table:
    """Rows with a text, a number, a category and a flag."""
    rows = [
        {
            "label": ("ham", "spam", "ünsure")[i * i % 7 % 3],
            "text": " ".join(f"w{(i * j + i * i % 7 % 3 * 5) % 211}" for j in range(1, 3 + i % 9)),
            "size": float(i % 97) + i * i % 7 % 3 * 30,
            "country": ("fr", "de", None, "zz")[(i + i * i % 7 % 3) % 4],
            "paid": ("yes", "no")[i % 5 % 2],
        }
        for i in range(count)
    ]
    return pa.Table.from_pylist(rows)


@pytest.fixture(scope="session")
def rows() -> pa.Table:
    return messages()


@pytest.fixture(scope="session")
def frame(spark: Any, rows: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Any:
    import pyarrow.parquet as parquet

    path = Path(tmp_path_factory.mktemp("rows"), "rows.parquet")
    parquet.write_table(rows, path, row_group_size=500)
    return spark.read.parquet(str(path)).persist()
