"""The command line on Spark, and on machines without Spark: the same model file."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as parquet
import pytest
from typer.testing import CliRunner

from discern.cli.main import app

COLUMNS = ("--text", "text", "--category", "country", "--flag", "paid")


def run(*arguments: Any, code: int = 0) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    return result.stderr


@pytest.fixture
def parts(rows: pa.Table, tmp_path: Path) -> list[Path]:
    """Rows in three files; some values have line breaks, quotes and commas."""
    texts = [f'{text}, "q"\nw{i % 7}' for i, text in enumerate(rows.column("text").to_pylist())]
    table = rows.set_column(1, "text", pa.array(texts))
    paths = [tmp_path / f"part-{number}.csv" for number in range(3)]
    for number, path in enumerate(paths):
        csv.write_csv(table.slice(1000 * number, 1000), path)
    return paths


def test_fit_on_spark_and_alone(spark, parts, rows, tmp_path) -> None:
    settings = (*COLUMNS, "--smoothing", "0.5", "--min-df", "2")
    run("fit", *parts, "-o", tmp_path / "alone.discern", *settings)
    run("fit", *parts, "-o", tmp_path / "spark.discern", *settings, "--spark", "local")
    assert (tmp_path / "spark.discern").read_bytes() == (tmp_path / "alone.discern").read_bytes()


def test_a_model_of_each_part_merged(parts, tmp_path) -> None:
    settings = (*COLUMNS, "--smoothing", "0.5")
    run("fit", *parts, "-o", tmp_path / "whole.discern", *settings)
    models = [path.with_suffix(".discern") for path in parts]
    for path, model in zip(parts, models, strict=True):
        run("fit", path, "-o", model, *settings)
    run("merge", *models, "-o", tmp_path / "merged.discern")
    assert (tmp_path / "merged.discern").read_bytes() == (tmp_path / "whole.discern").read_bytes()


def test_what_spark_reads(spark, rows, tmp_path) -> None:
    parquet.write_table(rows, tmp_path / "rows.parquet")
    spark.createDataFrame(rows).write.json(f"{tmp_path}/rows.jsonl")
    settings = ("-o", tmp_path / "m.discern", "--smoothing", "1", *COLUMNS, "--spark", "local")
    run("fit", tmp_path / "rows.parquet", *settings)
    first = (tmp_path / "m.discern").read_bytes()
    run("fit", tmp_path / "rows.jsonl", *settings)
    assert (tmp_path / "m.discern").read_bytes() == first


def test_one_sentence_when_it_cannot(spark, tmp_path) -> None:
    said = run("fit", tmp_path / "none.parquet", "-o", tmp_path / "m.discern", "--spark", "local", code=1)
    assert "Spark reports: [PATH_NOT_FOUND]" in said
    said = run("fit", "x.mbox", "-o", tmp_path / "m.discern", "--spark", "local", "--format", "mbox", code=2)
    assert "with --spark the format" in said


def test_one_sentence_without_java(tmp_path) -> None:
    command = ("-m", "discern.cli", "fit", "rows.parquet", "-o", tmp_path / "m.discern", "--spark", "local")
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        env={**os.environ, "JAVA_HOME": str(tmp_path), "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1
    assert "Java did not start, and Spark needs Java 17 or 21: install it" in done.stderr.decode()
