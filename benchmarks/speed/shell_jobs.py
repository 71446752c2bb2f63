"""Jobs about the command line: a cold start on one message, asking the daemon, and a file of gigabytes."""

import atexit
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.harness.data import REVIEWS, path_of
from benchmarks.harness.job import Goal, Inputs, Job, Peer
from benchmarks.harness.measure import LeftOutError, Sample, command, require
from discern.classifier import Classifier

LARGE = 5_000_000_000
SPARE = 3_000_000_000
"""Bytes of the disc that are left alone."""
MOST_MEMORY = 1_000_000_000
MESSAGE = "Claim your free prize now"
RUN = (sys.executable, "-m", "discern.cli")


def is_classified(inputs: Inputs, ours: Any, theirs: Any) -> None:
    """One side classifies, the other merely starts."""
    require(ours.startswith("label,probability\nspam,0."), "the message was not classified")


def prepare_small(folder: Path, quick: bool) -> Inputs:
    rows = [{"label": "spam", "text": "free cash prize claim now"}, {"label": "ham", "text": "lunch at noon tomorrow"}]
    Classifier(smoothing=1.0).fit(rows * 100).save(folder / "small.discern")
    return Inputs(model=str(folder / "small.discern"))


def prepare_daemon(folder: Path, quick: bool) -> Inputs:
    inputs = prepare_small(folder, quick)
    daemon = subprocess.Popen([*RUN, "filter", inputs.model, "--daemon", "--json"], stdout=subprocess.PIPE)
    assert daemon.stdout is not None
    daemon.stdout.readline()
    atexit.register(daemon.terminate)
    return Inputs(**vars(inputs), daemon=daemon, message=f"Subject: hello\n\n{MESSAGE}\n")


def ask(inputs: Inputs) -> Sample:
    """Return the CPU seconds of the client; those of the daemon do not count before it ends."""
    before = _seconds_of_children()
    ran = subprocess.run([*RUN, "filter", inputs.model], input=inputs.message, stdout=subprocess.PIPE, text=True)
    return Sample(_seconds_of_children() - before, ran.stdout)


def _seconds_of_children() -> float:
    used = os.times()
    return used.children_user + used.children_system


def is_marked(inputs: Inputs, ours: str, theirs: Any) -> None:
    require(ours.startswith("X-Discern: spam\n") and ours.endswith(inputs.message), "the message was not marked")
    require(inputs.daemon.poll() is None, "the daemon is gone")


# --------------------------------------------------------------------------------------------------- gigabytes


def prepare_large(folder: Path, quick: bool) -> Inputs:
    """Write a file of 5 GB, the reviews again and again, or as much as the disc has room for."""
    wanted = 50_000_000 if quick else int(os.environ.get("DISCERN_LARGE", LARGE))
    size = min(wanted, shutil.disk_usage(folder).free - SPARE)
    if size < min(wanted, 1_000_000_000):
        raise LeftOutError("the disc has no room for a file of 1 GB")
    path = folder / "large.csv"
    head, rows = path_of(REVIEWS, folder).read_bytes().split(b"\n", 1)
    with path.open("wb") as file:
        for part in _parts(head + b"\n", rows, size):
            file.write(part)
    print(f"large-file: {path.stat().st_size:,} bytes", flush=True)
    return Inputs(path=path, bytes=path.stat().st_size, model=folder / "large.discern")


def _parts(head: bytes, rows: bytes, size: int) -> Iterator[bytes]:
    yield head
    for _ in range(max(1, size // len(rows))):
        yield rows


def fit_large(inputs: Inputs) -> Sample:
    """Return the CPU seconds for a gigabyte."""
    before = _seconds_of_children()
    call = [*RUN, "fit", str(inputs.path), "-o", str(inputs.model), "--smoothing", "1", "--threads", "1", "--json"]
    printed = json.loads(subprocess.run(call, check=True, stdout=subprocess.PIPE, text=True).stdout)
    return Sample((_seconds_of_children() - before) / inputs.bytes * 1e9, printed)


def is_whole_and_small(inputs: Inputs, ours: dict[str, Any], theirs: Any) -> None:
    require(ours["bytes_read"] == inputs.bytes, "not all was read")
    require(ours["memory"] <= MOST_MEMORY + 100 * ours["terms"], f"it took {ours['memory']:,} bytes of memory")


JOBS = (
    Job(
        "cold-start",
        "discern predict on one message, a whole process",
        None,
        prepare_small,
        command(lambda inputs: [*RUN, "predict", inputs.model, "--message", MESSAGE]),
        (
            Peer(
                "import sklearn.naive_bayes",
                Goal("share", 0.4),
                is_classified,
                command(lambda inputs: [sys.executable, "-c", "import sklearn.naive_bayes"]),
            ),
        ),
        repeats=20,
        quick_repeats=2,
    ),
    Job(
        "daemon",
        "discern filter on one message, a whole process, when a daemon answers",
        None,
        prepare_daemon,
        ask,
        (Peer("", Goal("limit", 0.1), is_marked),),
        repeats=20,
        quick_repeats=2,
    ),
    Job(
        "large-file",
        "discern fit of 5 GB of CSV (reviews, repeated), one thread: for a gigabyte, in at most 1 GB above the terms",
        REVIEWS,
        prepare_large,
        fit_large,
        (Peer("", Goal("limit", 5.0), is_whole_and_small),),
        repeats=1,
        quick_repeats=1,
    ),
)
