"""A program: learns on a cluster of two executors, one of which is killed, and says what it saw.

python cluster.py ROWS MARKER MODEL PARTITIONS...; with 0 the file is read by the workers, as it is
"""

import json
import os
import sys
from functools import partial

from pyspark.sql import SparkSession

import discern.spark
from discern.classifier import Classifier
from tests.spark.conftest import LOOPBACK, QUICK_START
from tests.spark.processes import dies_once, listening

SETTINGS = {"text": "text", "category": "country", "flag": "paid", "smoothing": 0.5, "min_df": 2}


def main(rows: str, marker: str, model: str, *partitions: str) -> None:
    builder = SparkSession.builder.master("local-cluster[2,1,2048]").config("spark.speculation", "true")
    quick = {"spark.shuffle.io.retryWait": "100ms", "spark.executor.extraJavaOptions": QUICK_START}
    for name, value in {**LOOPBACK, **quick}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    frame = session.read.parquet(rows)
    checksums = []
    for number in partitions:
        rows = frame.repartition(int(number)) if int(number) else frame
        if not os.path.exists(marker):
            rows = rows.mapInArrow(partial(dies_once, marker, True), frame.schema)
        checksums.append(discern.spark.fit(rows, Classifier(**SETTINGS)).save(model))
    seen = sorted(listening(os.getpid()))
    print(json.dumps({"checksums": checksums, "killed": os.path.exists(marker), "listening": seen}))
    session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
