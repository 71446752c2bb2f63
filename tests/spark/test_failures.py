"""Processes that die, tasks that run twice: the same bytes."""

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest

import discern.spark
from discern.classifier import Classifier
from tests.spark.cluster import SETTINGS
from tests.spark.processes import LOOPBACK, dies_once, listening

ROOT = Path(__file__).parents[2]


def test_a_killed_worker(spark, frame, rows, model_bytes, tmp_path) -> None:
    assert spark.conf.get("spark.speculation") == "true"
    marker = tmp_path / "died"
    deadly = frame.repartition(4).mapInArrow(partial(dies_once, str(marker), False), frame.schema)
    found = discern.spark.fit(deadly, Classifier(**SETTINGS))
    assert marker.exists()
    assert model_bytes(found) == model_bytes(Classifier(**SETTINGS).fit(rows))


def test_only_the_loopback_is_bound(spark, frame) -> None:
    frame.count()
    found = listening(os.getpid())
    assert found
    assert found <= LOOPBACK


def program(*arguments: Any) -> dict[str, Any]:
    """Run a program of this folder and give what it says."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_HOSTNAME": "localhost",
    }
    command = [sys.executable, "-W", "ignore", *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    return dict(json.loads(done.stdout.decode().splitlines()[-1]))


@pytest.mark.timeout(660)  # starts three machines of Java; seconds where nothing else runs
def test_a_killed_executor_of_a_cluster(rows, tmp_path) -> None:
    parquet.write_table(rows, tmp_path / "rows.parquet", row_group_size=500)
    paths = [tmp_path / name for name in ("rows.parquet", "died", "cluster.discern", "alone.discern")]
    alone = Classifier(**SETTINGS).fit(rows).save(paths[3])
    said = program("-m", "tests.spark.cluster", *paths[:3], 7, 1, 2, 64, 0)
    assert said["killed"]
    assert said["checksums"] == [alone] * 5
    assert set(said["listening"]) <= LOOPBACK
    assert paths[2].read_bytes() == paths[3].read_bytes()
