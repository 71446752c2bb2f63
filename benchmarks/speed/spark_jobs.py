"""Jobs on Spark: the CPU time of the driver, the JVM and the Python workers together, in one local session."""

import atexit
import os
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import psutil

import discern
from benchmarks.harness.data import REVIEWS, read
from benchmarks.harness.job import Goal, Job, Peer
from benchmarks.harness.measure import LeftOutError, Sample, Side, require
from discern.cli.training.spark import HANDING_OVER
from discern.spark.parquet import SWITCH

Inputs = SimpleNamespace

REPEATED = 4
"""Half of the reviews, so many times, are about 130 MB of text; the other half is the test set."""
MANY = 16
"""Of so many times, about 530 MB, it is seen what a byte costs rather than what a job costs."""
MEMORY = "4g"
SMALL_PARTITIONS = {"spark.sql.files.maxPartitionBytes": "16m"}


def cluster_seconds() -> float:
    """Return the CPU time so far of this process, the JVM and the Python workers, those that have ended included."""
    here = psutil.Process()
    total = sum(here.cpu_times()[:2])
    for process in here.children(recursive=True):
        try:
            total += sum(process.cpu_times()[:4])
        except psutil.Error:
            continue  # it has ended meanwhile: its parent counts it
    return total


def on_cluster(work: Callable[[Inputs], Any]) -> Side:
    def side(inputs: Inputs) -> Sample:
        start = cluster_seconds()
        outcome = work(inputs)
        return Sample(cluster_seconds() - start, outcome)

    return side


def session(more: dict[str, str]) -> Any:
    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise LeftOutError("pyspark is not installed") from error
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": MEMORY,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        SWITCH: "true",
        **more,
    }
    builder = SparkSession.builder.master("local[2,4]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    started = builder.getOrCreate()
    atexit.register(started.stop)
    return started


def prepare(folder: Path, quick: bool) -> Inputs:
    return repeated(folder, REPEATED, SMALL_PARTITIONS)


def repeated(folder: Path, times: int, settings: dict[str, str]) -> Inputs:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as parquet

    table = read(REVIEWS, folder)
    labels = sorted(set(table["label"].to_pylist()))
    numbers = pa.array([float(labels.index(label)) for label in table["label"].to_pylist()])
    table = table.append_column("number", numbers)
    half = len(table) // 2
    order = np.arange(len(table)) if half == 25_000 else np.random.default_rng(0).permutation(len(table))
    train, test = table.take(order[:half]), table.take(order[half:])
    spark = session(settings)
    frames = []
    for name, part in (("train", pa.concat_tables([train] * times)), ("test", test)):
        parquet.write_table(part, folder / f"{name}.parquet", row_group_size=5000)
        frames.append(spark.read.parquet(str(folder / f"{name}.parquet")))
    rows = pa.concat_tables([train] * times)
    return Inputs(spark=spark, train=frames[0], test=frames[1], rows=rows, test_rows=test)


def prepare_models(folder: Path, quick: bool) -> Inputs:
    inputs = prepare(folder, quick)
    inputs.ours = fit(inputs)
    inputs.theirs = {"CountVectorizer": fit_counted(inputs), "HashingTF": fit_hashed(inputs)}
    return inputs


# ---------------------------------------------------------------------------------------------------- learning


def classifier() -> Any:
    return discern.Classifier(text="text", model="binary", smoothing=1.0)


def fit(inputs: Inputs) -> Any:
    import discern.spark

    return discern.spark.fit(inputs.train.select("label", "text"), classifier())


def fit_counted(inputs: Inputs) -> Any:
    from pyspark.ml.feature import CountVectorizer, RegexTokenizer

    tokens = RegexTokenizer(inputCol="text", outputCol="words", pattern=r"\W+", minTokenLength=2)
    return _fit_mllib(inputs, tokens, CountVectorizer(inputCol="words", outputCol="features"))


def fit_hashed(inputs: Inputs) -> Any:
    from pyspark.ml.feature import HashingTF, Tokenizer

    return _fit_mllib(
        inputs, Tokenizer(inputCol="text", outputCol="words"), HashingTF(inputCol="words", outputCol="features")
    )


def _fit_mllib(inputs: Inputs, *stages: Any) -> Any:
    from pyspark.ml import Pipeline
    from pyspark.ml.classification import NaiveBayes

    return Pipeline(stages=[*stages, NaiveBayes(labelCol="number")]).fit(inputs.train.select("number", "text"))


def accuracy_of(inputs: Inputs, theirs: Any) -> float:
    import pyspark.sql.functions as sql

    found = theirs.transform(inputs.test.select("number", "text"))
    return float(found.select(sql.avg((sql.col("prediction") == sql.col("number")).cast("double"))).first()[0])


def same_and_as_accurate(inputs: Inputs, ours: Any, theirs: Any) -> None:
    alone = classifier().fit(inputs.rows.select(["label", "text"]))
    require(ours.checksum() == alone.checksum(), "the model is not that of one machine")
    as_accurate(inputs, ours, theirs)


def as_accurate(inputs: Inputs, ours: Any, theirs: Any) -> None:
    mine, other = ours.evaluate(inputs.test_rows).accuracy, accuracy_of(inputs, theirs)
    print(f"accuracy {mine:.4f}, MLlib {other:.4f}", flush=True)
    require(mine >= other, f"the accuracy is {mine:.4f}, MLlib's is {other:.4f}")


# -------------------------------------------------------------------------------------------------- predicting


def away(frame: Any) -> None:
    """Compute all rows and keep none."""
    frame.write.format("noop").mode("overwrite").save()


def predict(inputs: Inputs) -> Any:
    import discern.spark

    away(discern.spark.predict(inputs.test.select("text"), inputs.ours).select("prediction"))
    return inputs.ours


def predict_mllib(name: str) -> Callable[[Inputs], Any]:
    def run(inputs: Inputs) -> Any:
        away(inputs.theirs[name].transform(inputs.test.select("text")).select("prediction"))
        return inputs.theirs[name]

    return run


# ---------------------------------------------------------------------------------------------------- overhead


def prepare_overhead(settings: dict[str, str]) -> Callable[[Path, bool], Inputs]:
    """Both sides with the same settings."""
    return lambda folder, quick: warm(folder, quick, settings)


def warm(folder: Path, quick: bool, settings: dict[str, str]) -> Inputs:
    """Many rows, in partitions as Spark makes them, and code that the JVM has compiled: as where terabytes are read."""
    inputs = repeated(folder, REPEATED if quick else MANY, settings)
    for _ in range(1 if quick else 6):
        merely_read(inputs)
        count(inputs)
    return inputs


def count_partition_timed(described: str, counter: Any, batches: Iterator[Any]) -> Iterator[Any]:
    """Count a partition as :func:`discern.spark.fit` does, and add the CPU time that the counter itself took."""
    import discern.spark.sums as sums

    class Timed(sums.Summing):
        def add(self, *arguments: Any) -> None:
            start = time.process_time()
            super().add(*arguments)
            counter.add(time.process_time() - start)

        def sums(self) -> Any:
            start = time.process_time()
            outcome = super().sums()
            counter.add(time.process_time() - start)
            return outcome

    with mock.patch.object(sums, "Summing", Timed):
        yield from sums.count_partition(described, batches)


def count(inputs: Inputs) -> Sample:
    """Count, less what the counter took, which it measures in the workers, on their rows."""
    from discern.data.roles import Feature
    from discern.data.text import TextSettings
    from discern.spark.parquet import map_rows
    from discern.spark.sums import PARTS, Counting

    described = Counting("label", (Feature("text", "text"),), TextSettings()).to_json()
    counter = inputs.spark.sparkContext.accumulator(0.0)
    start = cluster_seconds()
    away(map_rows(inputs.train.select("label", "text"), partial(count_partition_timed, described, counter), PARTS))
    seconds = cluster_seconds() - start
    require(0 < counter.value < seconds, "the counter's time was not measured")
    return Sample(seconds - counter.value, 0)


def merely_read(inputs: Inputs) -> int:
    away(inputs.train.select("label", "text"))
    return 0


def nothing(inputs: Inputs, ours: Any, theirs: Any) -> None:
    require(ours == theirs, "there is nothing to compare")


OVERHEAD = (
    "counting 530 MB on Spark less the counter itself, measured in the workers, against Spark merely reading the "
    "Parquet: every row of both columns decoded and handed to a sink that drops it; all CPU time of the cluster, "
    "default sizes of partitions, a warm JVM"
)
OVERHEADS = {
    "": (HANDING_OVER, "as discern.spark.fit does, whose workers read Parquet files themselves"),
    "-by-default": ({}, "the same, with the settings that Spark comes with"),
    "-handed-over": (
        {**HANDING_OVER, SWITCH: "false"},
        "rows read by Spark and handed over, as frames that are more than files have to be; "
        "python -m benchmarks.speed.spark_parts says where it goes",
    ),
}
COUNTED, HASHED = "RegexTokenizer + CountVectorizer + NaiveBayes", "Tokenizer + HashingTF + NaiveBayes"
JOBS = (
    Job(
        "spark-fit",
        "Parquet to fitted naive Bayes on Spark, 130 MB of reviews: all CPU time of the cluster; the peers are MLlib's",
        REVIEWS,
        prepare,
        on_cluster(fit),
        (
            Peer(COUNTED, Goal("faster", 5), same_and_as_accurate, on_cluster(fit_counted)),
            Peer(HASHED, Goal("faster", 3), same_and_as_accurate, on_cluster(fit_hashed)),
        ),
        repeats=2,
        quick_repeats=1,
    ),
    Job(
        "spark-predict",
        "labels of 25,000 reviews on Spark: all CPU time of the cluster; the peers are MLlib's transform",
        REVIEWS,
        prepare_models,
        on_cluster(predict),
        (
            Peer(COUNTED, Goal("faster", 4), as_accurate, on_cluster(predict_mllib("CountVectorizer"))),
            Peer(HASHED, Goal("faster", 4), as_accurate, on_cluster(predict_mllib("HashingTF"))),
        ),
        repeats=5,
        quick_repeats=1,
    ),
    *(
        Job(
            f"spark-overhead{name}",
            f"{OVERHEAD}; {about}",
            REVIEWS,
            prepare_overhead(settings),
            count,
            (Peer("reading Parquet", Goal("share", 1.3), nothing, on_cluster(merely_read)),),
            repeats=8,
            quick_repeats=1,
        )
        for name, (settings, about) in OVERHEADS.items()
    ),
)
