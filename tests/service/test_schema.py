"""The OpenAPI document is kept: schemathesis tries what it allows and what it forbids."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from discern.classifier import Classifier
from discern.service.settings import Settings
from tests.service.running import LEARNED, in_process, saved

TOKEN = "teach-" + "t" * 20
CONFIG = f"""
[auth.openapi.token]
bearer = "{TOKEN}"
[checks.positive_data_acceptance]
expected-statuses = ["2xx", 401, 403, 404, 409, 413]
[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 409, 413, 415, 422]
# Any text is a text; not any text is a table.
[[operations]]
include-path-regex = "^/v1/(predict/csv|predict/stream|evaluate)$"
checks.positive_data_acceptance.expected-statuses = ["2xx", 400, 401, 403, 404, 409, 413, 422]
"""


def mixed(folder: Path) -> Path:
    rows = [
        {
            "label": "ab"[n % 2],
            "note": f"common word{n % 7} rare{n}",
            "size": n / 3,
            "kind": "xy"[n % 3 == 0],
            "paid": n % 4 == 0,
        }
        for n in range(120)
    ]
    path = folder / "mixed.discern"
    Classifier(text="note", number="size", category="kind", flag="paid", smoothing=1.0).fit(rows).save(path)
    return path


def tried(folder: Path, model: Path, examples: int) -> int:
    """Run schemathesis with all checks; give the number of cases."""
    (folder / "schemathesis.toml").write_text(CONFIG)
    held_out = folder / "held-out.jsonl"
    held_out.write_text("".join(json.dumps(row) + "\n" for row in LEARNED[:20]))
    settings = Settings(
        model, teach_token=TOKEN.encode(), held_out=str(held_out) if model.name == "messages.discern" else None
    )
    with in_process(settings) as (client, journal):
        document = folder / "openapi.json"
        document.write_text(json.dumps(client.get("/openapi.json", authorization=f"Bearer {TOKEN}")))
        command = [Path(sys.executable).with_name("schemathesis"), "--config-file", folder / "schemathesis.toml", "run"]
        options = ["--checks", "all", "-n", str(examples), "--no-color", "--seed", "7"]
        done = subprocess.run(
            [*command, document, "--url", f"http://127.0.0.1:{client.port}", *options],
            cwd=folder,
            env={
                **os.environ,
                "SCHEMATHESIS_HOOKS": "tests.service.hooks",
                "PYTHONPATH": str(Path(__file__).parents[2]),
            },
            capture_output=True,
            text=True,
            check=False,
        )
    shown = "\n".join(line[:400] for line in done.stdout.splitlines())
    failed = [line for line in journal.lines if '"failed"' in line]
    assert done.returncode == 0, (shown[-6000:] + done.stderr[-1000:], failed[:3])
    assert not failed
    found = re.search(r"(\d[\d,]*) generated", done.stdout)
    assert found, shown[-3000:]
    print(found.group())
    return int(found.group(1).replace(",", ""))


def test_schemathesis_finds_nothing(tmp_path: Path) -> None:
    assert tried(tmp_path, mixed(tmp_path), 3) > 200


@pytest.mark.fuzz
@pytest.mark.parametrize("kind", ["mixed", "text"])
def test_schemathesis_finds_nothing_in_ten_thousand_cases(tmp_path: Path, kind: str) -> None:
    model = mixed(tmp_path) if kind == "mixed" else saved(tmp_path)
    assert tried(tmp_path, model, 620) >= 10_000


def test_the_document_names_the_columns_of_the_model(tmp_path: Path) -> None:
    with in_process(Settings(mixed(tmp_path))) as (client, _):
        document = client.get("/openapi.json")
    row = document["components"]["schemas"]["Row"]
    assert set(row["properties"]) == {"note", "size", "kind", "paid"}
    assert document["openapi"].startswith("3.1")
    assert all(path.startswith("/v1/") or path in ("/metrics", "/health", "/ready") for path in document["paths"])


def test_schemathesis_finds_nothing_with_several_labels(tmp_path: Path) -> None:
    rows = [{"label": ["ab"[n % 2], "c"][: n % 3], "note": f"common word{n % 7} rare{n}"} for n in range(120)]
    path = tmp_path / "several.discern"
    Classifier(smoothing=1.0, label_separator="|").fit(rows).save(path)
    assert tried(tmp_path, path, 3) > 200
