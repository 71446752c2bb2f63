"""Learning on Spark from the command line: the session, and what it reads."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from discern.classifier import Classifier

LOOPBACK = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1", "spark.ui.enabled": "false"}
HANDING_OVER = {
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "500",
    "spark.sql.execution.arrow.maxBytesPerBatch": "2147483647",
    "spark.sql.execution.arrow.useLargeVarTypes": "true",
    "spark.driver.extraJavaOptions": "-Darrow.enable_unsafe_memory_access=true -Darrow.enable_null_check_for_get=false",
}
"""What makes it cheaper to hand rows to Python: batches that stay in the caches, a socket without TCP, and neither
sizes nor bounds looked at for every value. Without a limit of bytes, large types have room for any 500 rows."""


def fit_on_spark(
    classifier: Classifier, url: str, data: Sequence[str], given: str | None, encoding: str | None, slim: bool
) -> Classifier:
    """Learn on Spark from what Spark reads: paths of any file system it knows; return what has learned."""
    from discern.data.formats import FORMATS

    readable = [form.name for form in FORMATS if form.spark is not None]
    if given is not None and given not in readable:
        raise typer.BadParameter(f"with --spark the format is one of {', '.join(readable)}, not {given}")
    try:
        from pyspark.errors import PySparkException
    except ImportError as error:
        raise ValueError("Spark is not installed: pip install 'discern[spark]'; it needs Java 17") from error
    import discern.spark

    try:
        with _session(url) as session:
            frames = [_read(session, path, given, encoding) for path in data]
            whole = reduce(lambda one, other: one.unionByName(other), frames)
            fitted: Classifier = discern.spark.fit(whole, classifier, slim=slim)
            return fitted
    except PySparkException as error:
        raise ValueError(_sentence(error)) from error


def _sentence(error: Exception) -> str:
    first = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
    if "JAVA_GATEWAY_EXITED" in first:
        return "Java did not start, and Spark needs Java 17 or 21: install it, or set JAVA_HOME to where it is"
    return f"Spark says: {first}"


@contextmanager
def _session(url: str) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:  # another's: neither changed nor stopped
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
    """Read by the format that is given or that the name tells; by default Parquet, as Spark does."""
    from discern.data.formats import FORMATS
    from discern.data.readers import format_of, suffix_of

    name = given or format_of(path)
    only_spark = {".json": FORMATS["jsonl"].spark, ".orc": {"format": "orc"}}
    how = FORMATS[name].spark if name is not None else only_spark.get(suffix_of(path))
    options = dict(how or {"format": "parquet"})
    if encoding is not None and "encoding" in options:
        options["encoding"] = encoding
    return session.read.load(path, **options)
