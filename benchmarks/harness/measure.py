"""How things are measured: each side of a comparison returns samples, and the sides alternate."""

import gc
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


class LeftOutError(Exception):
    """A job that cannot run here: the message says why."""


class WrongAnswerError(Exception):
    """Ours and the peer's results differ: the times then mean nothing."""


@dataclass(frozen=True)
class Sample:
    """One run: what was measured (seconds or bytes), and what came out."""

    value: float
    outcome: Any


Side = Callable[[Any], Sample]
"""Takes the inputs of a job, runs once, returns a sample."""


def require(condition: Any, message: str) -> None:
    if not condition:
        raise WrongAnswerError(message)


def _timed(clock: Callable[[], float], work: Callable[..., Any], fresh: Callable[[Any], Any] | None) -> Side:
    def side(inputs: Any) -> Sample:
        arguments = (inputs,) if fresh is None else (inputs, fresh(inputs))
        gc.collect()
        start = clock()
        outcome = work(*arguments)
        return Sample(clock() - start, outcome)

    return side


def cpu(work: Callable[..., Any], fresh: Callable[[Any], Any] | None = None) -> Side:
    """Measure the CPU time of this process; what ``fresh`` makes before each run is not counted."""
    return _timed(time.process_time, work, fresh)


def wall(work: Callable[..., Any], fresh: Callable[[Any], Any] | None = None) -> Side:
    return _timed(time.perf_counter, work, fresh)


def with_threads(work: Callable[[Any], Any], threads: int) -> Callable[[Any], Any]:
    """Run a piece of work with this number of threads."""

    def run(inputs: Any) -> Any:
        before = os.environ.get("DISCERN_THREADS", "")
        os.environ["DISCERN_THREADS"] = str(threads)
        try:
            return work(inputs)
        finally:
            os.environ["DISCERN_THREADS"] = before

    return run


def each(side: Side) -> Side:
    """Divide by the number of outcomes: the time for one."""

    def divided(inputs: Any) -> Sample:
        sample = side(inputs)
        return Sample(sample.value / len(sample.outcome), sample.outcome)

    return divided


def _children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def command(arguments: Callable[[Any], Sequence[str]], environment: dict[str, str] | None = None) -> Side:
    """Measure the CPU time of a whole command; its output is the outcome."""

    def run(inputs: Any) -> str:
        call = list(arguments(inputs))
        return subprocess.run(call, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout

    return _timed(_children_seconds, run, None)


def task(name: str, path: Callable[[Any], str]) -> Side:
    """Run a task of ``benchmarks.speed.tasks`` in a fresh process, which measures itself."""

    def run(inputs: Any) -> Sample:
        call = [sys.executable, "-m", "benchmarks.speed.tasks", name, path(inputs)]
        printed = subprocess.run(call, check=True, stdout=subprocess.PIPE, text=True).stdout
        return Sample(**json.loads(printed.splitlines()[-1]))

    return run


def alternate(ours: Side, peer: Side | None, inputs: Any, repeats: int) -> tuple[list[float], list[float]]:
    """Alternate the sides, so that a change of the machine's speed affects both."""
    our_values, peer_values = [], []
    for _ in range(repeats):
        our_values.append(ours(inputs).value)
        if peer is not None:
            peer_values.append(peer(inputs).value)
    return our_values, peer_values


def summary(values: list[float]) -> dict[str, Any] | None:
    if not values:
        return None
    middle = statistics.median(values)
    return {"median": middle, "least": min(values), "most": max(values), "runs": len(values)}
