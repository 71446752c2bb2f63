"""The journal of the service in JSON lines, and its metrics for Prometheus; neither contains users' texts."""

from __future__ import annotations

import json
import logging
import mmap
import os
import sys
import time
import traceback
from bisect import bisect_left
from collections.abc import Iterator
from typing import Any

import numpy as np

from discern.service.problems import Problem

ROUTES = (
    "/v1/predict",
    "/v1/predict/batch",
    "/v1/predict/stream",
    "/v1/predict/csv",
    "/v1/explain",
    "/v1/learn",
    "/v1/forget",
    "/v1/relabel",
    "/v1/undo",
    "/v1/feedback",
    "/v1/evaluate",
    "/v1/model",
    "/v1/model/form",
    "/v1/model/words",
    "/v1/model/evaluation",
    "/v1/compact",
    "/v1/reload",
    "/metrics",
    "/health",
    "/ready",
    "/openapi.json",
    "page",
    "other",
)
STATUSES = ("2xx", "3xx", "4xx", "5xx")
BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
"""Upper bounds of the histogram of durations, in seconds."""
COUNTERS = {
    "rows_predicted": "Rows predicted.",
    "rows_learned": "Rows acknowledged as learned.",
    "rows_forgotten": "Rows acknowledged as forgotten.",
    "refused": "Requests refused by a limit, a token or the host check.",
    "slow_connections": "Connections dropped: a head that was too slow or too long, an answer that no one read.",
}
GAUGES = {
    "sequence": "The number of the last entry of the log that is part of the model of a worker.",
    "entries_not_applied": "Entries of the log that the model of a worker could not apply.",
    "model_rows": "Rows that the model of a worker has learned.",
    "model_terms": "Terms of the model of a worker.",
}


class Figures:
    """Counters of all workers in shared memory; each writes to its own part, and any can read the sums.

    Examples
    --------
    >>> figures = Figures(2)
    >>> figures.worker = 1
    >>> figures.add("rows_learned", 3)
    >>> figures.total("rows_learned")
    3
    """

    def __init__(self, workers: int) -> None:
        self.worker, self.workers = 0, workers
        self._counter = {name: place for place, name in enumerate(COUNTERS)}
        self._gauge = {name: len(COUNTERS) + place for place, name in enumerate(GAUGES)}
        self._first = len(COUNTERS) + len(GAUGES)
        self._route = {route: place for place, route in enumerate(ROUTES)}
        self._each = len(STATUSES) + len(BOUNDS) + 2
        self._size = self._first + self._each * len(ROUTES)
        shared = mmap.mmap(-1, 8 * self._size * workers)
        self._memory = memoryview(shared).cast("d")  # quicker than an array for one number
        self._cells = np.frombuffer(shared, np.float64).reshape(workers, self._size)

    def add(self, name: str, number: int = 1) -> None:
        """Count."""
        self._memory[self.worker * self._size + self._counter[name]] += number

    def put(self, name: str, value: float) -> None:
        """Set a gauge."""
        self._cells[self.worker, self._gauge[name]] = value

    def total(self, name: str) -> int:
        """Return the sum of a counter over all workers."""
        return int(self._cells[:, self._counter[name]].sum())

    def request(self, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        cells = self._memory
        start = self.worker * self._size + self._first + self._each * self._route.get(route, len(ROUTES) - 1)
        cells[start + status // 100 - 2] += 1
        cells[start + len(STATUSES) + bisect_left(BOUNDS, seconds)] += 1
        cells[start + len(STATUSES) + len(BOUNDS) + 1] += seconds

    def text(self) -> str:
        """Return all figures in the format of Prometheus."""
        return "".join(self._lines())

    def _lines(self) -> Iterator[str]:
        for name, about in COUNTERS.items():
            yield f"# HELP discern_{name}_total {about}\n# TYPE discern_{name}_total counter\n"
            yield f"discern_{name}_total {self.total(name)}\n"
        for name, about in GAUGES.items():
            yield f"# HELP discern_{name} {about}\n# TYPE discern_{name} gauge\n"
            for worker in range(self.workers):
                yield f'discern_{name}{{worker="{worker}"}} {self._cells[worker, self._gauge[name]]:.0f}\n'
        yield "# HELP discern_requests_total Requests by route and status.\n# TYPE discern_requests_total counter\n"
        yield from self._requests()
        yield "# HELP discern_request_seconds Durations of requests.\n# TYPE discern_request_seconds histogram\n"
        yield from self._durations()

    def _of_routes(self) -> Iterator[tuple[str, Any]]:
        sums = self._cells.sum(axis=0)
        for place, route in enumerate(ROUTES):
            start = self._first + self._each * place
            cells = sums[start : start + self._each]
            if cells.any():
                yield route, cells

    def _requests(self) -> Iterator[str]:
        for route, cells in self._of_routes():
            for place, status in enumerate(STATUSES):
                if cells[place]:
                    yield f'discern_requests_total{{route="{route}",status="{status}"}} {cells[place]:.0f}\n'

    def _durations(self) -> Iterator[str]:
        for route, cells in self._of_routes():
            counts = np.cumsum(cells[len(STATUSES) : len(STATUSES) + len(BOUNDS) + 1])
            for bound, count in zip((*map(str, BOUNDS), "+Inf"), counts, strict=True):
                yield f'discern_request_seconds_bucket{{route="{route}",le="{bound}"}} {count:.0f}\n'
            yield f'discern_request_seconds_sum{{route="{route}"}} {cells[-1]:.6f}\n'
            yield f'discern_request_seconds_count{{route="{route}"}} {counts[-1]:.0f}\n'


class Journal:
    """Writes log lines: one JSON object each, on stderr."""

    def __init__(self, requests: bool = True) -> None:
        self.requests = requests
        self.worker = 0

    def write(self, event: str, error: BaseException | None = None, **facts: Any) -> None:
        """Write a line; of an error its type and place, but not its message, which may quote a text."""
        line = {"time": _now(), "event": event, "worker": self.worker, "process": os.getpid(), **facts}
        if error is not None:
            line |= described(error)
        sys.stderr.write(json.dumps(line) + "\n")


def _now() -> str:
    now = time.time()
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now % 1 * 1000):03d}Z"


def described(error: BaseException) -> dict[str, Any]:
    """Return the type and the place of an error, without its message."""
    frames = traceback.extract_tb(error.__traceback__)[-6:]
    where = [f"{os.path.basename(frame.filename)}:{frame.lineno} {frame.name}" for frame in frames]
    kind = f"{type(error).__name__} {error.kind}" if isinstance(error, Problem) else type(error).__name__
    return {"error": kind, "at": where}


class JournalHandler(logging.Handler):
    """Writes the log records of libraries to the journal.

    Only the message templates of the server are written: messages of others may quote users' texts.
    """

    def __init__(self, journal: Journal) -> None:
        super().__init__(logging.WARNING)
        self._journal = journal

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record."""
        error = record.exc_info[1] if record.exc_info else None
        own = {"message": str(record.msg).strip()[:200]} if record.name.startswith("uvicorn") else {}
        self._journal.write("library", error, source=record.name, level=record.levelname.lower(), **own)
