"""The runner: ``python -m benchmarks [--job NAME] [--quick] [--json FILE]``, ``--accuracy`` or ``--figures``."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.harness import figures
from benchmarks.harness.data import VARIABLE, real_folder, write
from benchmarks.harness.job import Job
from benchmarks.harness.jobs import JOBS, selected
from benchmarks.harness.report import disturbed, machine, plain_table, record, record_accuracy, revision, write_json

THREADS = ("DISCERN_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS")
ROOT = Path(__file__).parent.parent


def run_job(job: Job, folder: Path, quick: bool, environment: dict[str, str]) -> list[dict[str, Any]]:
    """Run a job in a fresh process and return its rows."""
    output = folder / "rows.json"
    output.unlink(missing_ok=True)
    words = [job.name, str(folder), "quick" if quick else "full", str(output)]
    call = [sys.executable, "-m", "benchmarks.harness.worker", *words]
    ended = subprocess.run(call, cwd=ROOT, env=environment)
    if ended.returncode == 0:
        return json.loads(output.read_text(encoding="utf-8"))
    failed = {"status": "failed", "reason": f"its process ended with {ended.returncode}"}
    about = {"job": job.name, "about": job.about, "unit": job.unit, "others": 0.0}
    return [{**about, "peer": peer.name, **failed} for peer in job.peers]


def run_jobs(jobs: list[Job], quick: bool) -> list[dict[str, Any]]:
    environment = {**os.environ, **dict.fromkeys(THREADS, "1"), "PYTHONHASHSEED": "0"}
    stamp = {"date": datetime.now(UTC).date().isoformat(), "revision": revision()}
    rows = []
    with tempfile.TemporaryDirectory(prefix="discern-benchmarks-") as name:
        folder = Path(name)
        origins = {texts: write(texts, folder, quick) for texts in {job.texts for job in jobs} if texts}
        for texts, origin in origins.items():
            print(f"{texts.name}: {origin}", flush=True)
        for job in jobs:
            data = origins[job.texts].split(",")[0] if job.texts else None
            try:
                added = [{**row, "data": data, **stamp} for row in run_job(job, folder, quick, environment)]
            except KeyboardInterrupt:
                print(f"interrupted in {job.name}: the results so far are recorded", flush=True)
                break
            for row in added:
                print(f"{row['job']}: {row['status']}", flush=True)
            rows += added
    return rows


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure speed and memory.")
    parser.add_argument("--job", metavar="NAME", help="only this job: " + ", ".join(job.name for job in JOBS))
    parser.add_argument("--quick", action="store_true", help="little data, few runs: shows only that it works")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the results to this file instead")
    parser.add_argument("--accuracy", action="store_true", help="fill the table of accuracies instead")
    parser.add_argument("--only", metavar="SET", help="with --accuracy: only this data set, or tables: all tables")
    parser.add_argument("--method", metavar="NAME", help="with --accuracy: only this method")
    parser.add_argument("--figures", action="store_true", help="only write figures and pictures from what is recorded")
    return parser.parse_args()


def run_accuracy(only: str | None, method: str | None, quick: bool) -> int:
    """Fill the table of accuracies on one thread, record it, and write what is made from it."""
    os.environ.update(dict.fromkeys(THREADS, "1"))  # before the libraries that look at them are imported
    from benchmarks.accuracy import table

    found = table.run(table.named(only) if only else table.SETS, quick, method)
    if not found["sets"]:
        raise SystemExit(f"no data set was found: let {VARIABLE} name the folder that holds them")
    if quick:
        print("not recorded: these are quick runs")
        return 0
    part = only is not None or method is not None
    print(record_accuracy({"machine": machine(), "revision": revision(), **found}, part, method))
    print(figures.write())
    return 0


def main() -> int:
    given = arguments()
    if given.figures:
        print(figures.write())
        return 0
    if given.accuracy:
        return run_accuracy(given.only, given.method, given.quick)
    chosen = selected(given.job)
    real = real_folder()
    if real is None:
        print(f"{VARIABLE} is not set: the texts are synthetic")
    facts = machine()
    print(", ".join(f"{name} {value}" for name, value in facts.items() if value is not None), flush=True)
    jobs = [job for job in JOBS if job.name in chosen]
    rows = run_jobs(jobs, given.quick)
    print("", plain_table(rows), "", sep="\n")
    if disturbed(rows):
        print(disturbed(rows))
    left_out = [f"{row['job']} ({row['reason']})" for row in rows if row["status"] == "left out"]
    print(f"left out: {', '.join(left_out) or 'nothing'}")
    results = {"machine": facts, "rows": rows}
    if given.json:
        write_json(given.json, results)
    elif given.quick:
        print("not recorded: these are quick runs")
    else:
        part = given.job is not None or len({row["job"] for row in rows}) < len(jobs)
        print(record({**results, "part": part, "order": [job.name for job in JOBS]}))
        print(figures.write())
    return int(any(row["status"] in ("wrong", "failed") for row in rows))


if __name__ == "__main__":
    sys.exit(main())
