"""``fit --spark``: the Spark session and its readers."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import reduce
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from discern.classifier import Classifier
    from discern.cli.options import Rows

LOOPBACK = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1", "spark.ui.enabled": "false"}
HANDING_OVER = {
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "500",
    "spark.sql.execution.arrow.maxBytesPerBatch": "2147483647",
    "spark.sql.execution.arrow.useLargeVarTypes": "true",
    "spark.driver.extraJavaOptions": "-Darrow.enable_unsafe_memory_access=true -Darrow.enable_null_check_for_get=false",
}
"""Settings that make it cheaper to pass rows to Python: batches that fit the caches, a socket without TCP, and no
checks of sizes and bounds for every value. Large types have room for any 500 rows, so bytes are not limited."""


def fit_on_spark(
    classifier_for: Callable[[str], Classifier], label: str | None, url: str, rows: Rows, slim: bool
) -> Classifier:
    """Learn on Spark from paths of any file system that Spark can read, and return the trained classifier."""
    from discern.data.formats import FORMATS

    readable = [form.name for form in FORMATS if form.spark is not None]
    if rows.format is not None and rows.format not in readable:
        raise typer.BadParameter(f"with --spark the format is one of {', '.join(readable)}, not {rows.format}")
    try:
        from pyspark.errors import PySparkException
    except ImportError as error:
        raise ValueError("Spark is not installed: pip install 'discern[spark]'; it needs Java 17") from error
    import discern.spark

    try:
        with _session(url) as session:
            frames = [_read(session, path, rows.format, rows.encoding) for path in rows.data]
            whole = reduce(lambda one, other: one.unionByName(other), frames)
            classifier = classifier_for(label or _label_of(whole))
            fitted: Classifier = discern.spark.fit(whole, classifier, slim=slim)
            return fitted
    except PySparkException as error:
        raise ValueError(_sentence(error)) from error


def _label_of(frame: Any) -> str:
    """Return the label column of a frame: the usual one, or else the one that its first rows make obvious."""
    if "label" in frame.columns:
        return "label"
    from discern.models.columns.labels import guess_label
    from discern.spark.frames import first_rows

    return guess_label(first_rows(frame)).name or "label"


def _sentence(error: Exception) -> str:
    first = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
    if "JAVA_GATEWAY_EXITED" in first:
        return "Java did not start, and Spark needs Java 17 or 21: install it, or set JAVA_HOME to where it is"
    return f"Spark reports: {first}"


@contextmanager
def _session(url: str) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:  # not ours: leave it as it is
        yield running
        return
    builder = SparkSession.builder.appName("discern")
    if url.startswith("sc://"):
        session = builder.remote(url).getOrCreate()
    else:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        quiet = {"spark.log.level": "ERROR", "spark.ui.showConsoleProgress": "false"}
        if url.startswith("local"):
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        settings = {**quiet, **({**LOOPBACK, **HANDING_OVER} if url.startswith("local") else {})}
        for name, value in settings.items():
            builder = builder.config(name, value)
        session = builder.master("local[*,4]" if url == "local" else url).getOrCreate()
    try:
        yield session
    finally:
        session.stop()


def _read(session: Any, path: str, given: str | None, encoding: str | None) -> Any:
    """Read a path by the given format or by its suffix; the default is Parquet, as in Spark."""
    from discern.data.formats import FORMATS
    from discern.data.readers import format_of, suffix_of

    name = given or format_of(path)
    only_spark = {".json": FORMATS["jsonl"].spark, ".orc": {"format": "orc"}}
    how = FORMATS[name].spark if name is not None else only_spark.get(suffix_of(path))
    options = dict(how or {"format": "parquet"})
    if encoding is not None and "encoding" in options:
        options["encoding"] = encoding
    rows = session.read.load(path, **options)
    return _in_order_of_first_row(session, path, rows) if options["format"] == "json" else rows


def _in_order_of_first_row(session: Any, path: str, rows: Any) -> Any:
    """Return rows with their columns as the first line has them: Spark sorts those of JSON by name."""
    import json

    with suppress(ValueError, AttributeError):
        known = json.loads(session.read.text(path).first().value)
        names = [name for name in known if name in rows.columns]
        names += [name for name in rows.columns if name not in names]
        return rows.select(["`" + name.replace("`", "``") + "`" for name in names])
    return rows
