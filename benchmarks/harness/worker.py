"""One job in a process of its own: ``python -m benchmarks.harness.worker JOB FOLDER QUICK OUTPUT``."""

import json
import os
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import psutil

import discern
from benchmarks.harness.job import Goal, Inputs, Job, Peer
from benchmarks.harness.jobs import JOBS
from benchmarks.harness.measure import LeftOutError, WrongAnswerError, alternate, summary


def run(job: Job, folder: Path, quick: bool) -> list[dict[str, Any]]:
    """Run a job against each of its peers, and report the outcome of each."""
    about = {"job": job.name, "about": job.about, "unit": job.unit}
    try:
        inputs = job.prepare(folder, quick)
    except Exception as error:
        return [{**about, "peer": peer.name, **_trouble(error)} for peer in job.peers]
    rows = []
    for peer in job.peers:
        try:
            row = compare(job, peer, inputs, job.quick_repeats if quick else job.repeats)
        except Exception as error:
            row = _trouble(error)
        rows.append({**about, "peer": peer.name, **row})
    return rows


def compare(job: Job, peer: Peer, inputs: Inputs, repeats: int) -> dict[str, Any]:
    # The runs whose results are compared are not measured: they also warm both sides up.
    our_outcome = job.ours(inputs).outcome
    peer_outcome = peer.side(inputs).outcome if peer.side else None
    peer.check(inputs, our_outcome, peer_outcome)
    del our_outcome, peer_outcome
    ours, theirs = (summary(values) for values in alternate(job.ours, peer.side, inputs, repeats))
    assert ours is not None
    figure = _figure(peer.goal, ours["median"], theirs["median"] if theirs else None)
    wanted = peer.goal.value_on(discern.code_path())
    reached = figure >= wanted if peer.goal.kind in ("faster", "lead") else figure <= wanted
    return {
        "status": "pass" if reached else "miss",
        "informative": peer.goal.informative,
        "ours": ours,
        "theirs": theirs,
        "kind": peer.goal.kind,
        "figure": figure,
        "goal": wanted,
    }


def _figure(goal: Goal, ours: float, theirs: float | None) -> float:
    """Return the number that the goal is about."""
    if theirs is None or goal.kind == "limit":
        return ours
    if goal.kind == "lead":
        return theirs - ours
    return theirs / ours if goal.kind == "faster" else ours / theirs


def _trouble(error: Exception) -> dict[str, Any]:
    if isinstance(error, LeftOutError):
        return {"status": "left out", "reason": str(error)}
    if isinstance(error, WrongAnswerError):
        return {"status": "wrong", "reason": str(error)}
    traceback.print_exception(error)
    # Not the message: it may hold paths of this machine.
    return {"status": "failed", "reason": type(error).__name__}


def busy_seconds() -> tuple[float, float]:
    """Return the CPU time of the whole machine so far, and the part of this process and its children."""
    everything = psutil.cpu_times()
    return sum(everything) - everything.idle - getattr(everything, "iowait", 0), sum(os.times()[:4])


def main(name: str, folder: str, quick: str, output: str) -> None:
    [job] = [job for job in JOBS if job.name == name]
    start, (all_before, own_before) = time.perf_counter(), busy_seconds()
    rows = run(job, Path(folder), quick == "quick")
    elapsed, (all_after, own_after) = time.perf_counter() - start, busy_seconds()
    others = ((all_after - all_before) - (own_after - own_before)) / elapsed
    described = [{**row, "others": round(max(others, 0), 2)} for row in rows]
    Path(output).write_text(json.dumps(described), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
