"""A program: learns, predicts and judges through Spark Connect, and says what it saw.

python -m tests.spark.remote ROWS MODEL
"""

import json
import os
import sys

from pyspark.sql import SparkSession

import discern.spark
from discern.classifier import Classifier
from tests.spark.cluster import SETTINGS
from tests.spark.conftest import LOOPBACK
from tests.spark.processes import listening


def main(rows: str, model: str) -> None:
    builder = SparkSession.builder.remote("local[2]").config("spark.connect.grpc.binding.address", "127.0.0.1")
    for name, value in LOOPBACK.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    frame = session.read.parquet(rows)
    found = discern.spark.fit(frame, Classifier(**SETTINGS))
    found.save(model)
    by_spark = discern.spark.fit(frame, Classifier(**SETTINGS), most_on_driver=0)
    predicted = discern.spark.predict(frame, found).select("prediction").toArrow().column("prediction").to_pylist()
    stage = discern.spark.SparkClassifier(**{**SETTINGS, "smoothing": "auto"}).fit(frame)
    said = {
        "kind": type(frame).__module__,
        "checksums": [found.checksum(), by_spark.checksum()],
        "auto": stage.classifier.checksum(),
        "columns": stage.transform(frame).columns,
        "predicted": predicted,
        "accuracy": discern.spark.evaluate(frame, found).accuracy,
        "rounds": discern.spark.fit(
            frame, Classifier(**{**SETTINGS, "smoothing": "auto"}, model="lda", max_terms=9)
        ).rows,
        "listening": sorted(listening(os.getpid())),
    }
    print(json.dumps(said))
    session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
