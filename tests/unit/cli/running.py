"""Commands run by tests, in this process and as a real one, and the rows they read."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from discern.cli.main import app

ROOT = Path(__file__).resolve().parents[3]
ROWS = [
    {"label": "spam", "text": "win a free prize, call now"},
    {"label": "spam", "text": 'free "cash" prize today'},
    {"label": "spam", "text": "claim the free ticket now"},
    {"label": "ham", "text": "lunch at noon, or at one?"},
    {"label": "ham", "text": "see you tomorrow at lunch"},
    {"label": "ham", "text": "the meeting is\nat noon tomorrow"},
    {"label": "ham", "text": "naïve café, 東京 today"},
]
TEXT_FORMATS = ("csv", "tsv", "jsonl")
SUFFIXES = [f".{name}{packed}" for name in TEXT_FORMATS for packed in ("", ".gz", ".bz2", ".zst")] + [".parquet"]
HEAVY = ("sklearn", "matplotlib", "fastapi", "scipy", "pyarrow", "pandas")
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "NO_COLOR", "COLUMNS")}


def in_process(*arguments: Any, given: str | bytes | None = None) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=given)


def well(*arguments: Any, given: str | bytes | None = None) -> str:
    result = in_process(*arguments, given=given)
    assert result.exit_code == 0, (result.output, result.exception)
    return str(result.stdout)


def refused(*arguments: Any, code: int = 1, given: str | bytes | None = None) -> str:
    result = in_process(*arguments, given=given)
    assert result.exit_code == code, (result.output, result.exception)
    assert not result.stdout
    assert "Traceback" not in result.stderr
    if code == 1:
        assert result.stderr.startswith("discern: ")
        assert result.stderr.count("\n") == 1
    return str(result.stderr)


def command(*arguments: Any) -> list[str]:
    return [sys.executable, "-m", "discern.cli", *map(str, arguments)]


def process(*arguments: Any, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*arguments), capture_output=True, text=True, timeout=60, env=ENVIRONMENT, **more)


def as_text(rows: list[dict[str, str]], name: str) -> str:
    if name == "jsonl":
        return "".join(json.dumps(row) + "\n" for row in rows)
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(rows[0]), delimiter="\t" if name == "tsv" else ",")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def write(path: Path, rows: list[dict[str, str]] = ROWS) -> Path:
    """Write rows as the name of the file says."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    suffixes = path.suffixes
    if suffixes[0] == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
        return path
    content = as_text(rows, suffixes[0][1:]).encode()
    packed = {
        ".gz": gzip.compress,
        ".bz2": bz2.compress,
        ".zst": lambda plain: pa.compress(plain, "zstd", asbytes=True),
    }
    path.write_bytes(packed[suffixes[1]](content) if len(suffixes) > 1 else content)
    return path
