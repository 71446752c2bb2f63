"""How several workers of pytest share the machine: tests marked ``alone`` run first, with no other test beside them.

A worker holds a lock while it runs a test: exclusively for a test marked ``alone``, otherwise together with the others.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):  # read when NumPy is imported
    os.environ.setdefault(name, "1")  # each worker has a core; threads that wait for one another only spin

ROOT = Path(__file__).parent
START_EARLY = ("tests/spark", "tests/service", "tests/docs")
"""Folders that run before the others: they have the longest tests, and fixtures that only one worker should set up."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Order the tests for several workers: each begins with its part of the list, then takes from others."""
    if is_worker(config):
        items.sort(key=place)


def is_worker(config: pytest.Config) -> bool:
    """Return whether this process is one of several that run tests."""
    return hasattr(config, "workerinput")


def is_alone(item: pytest.Item) -> bool:
    """Return whether a test needs the machine to itself."""
    return item.get_closest_marker("alone") is not None


def place(item: pytest.Item) -> int:
    """Return the place of a test's kind in the order: alone, then one folder after the other, then the rest."""
    if is_alone(item):
        return -1
    folders = enumerate(START_EARLY)
    return next((number for number, folder in folders if item.nodeid.startswith(folder)), len(START_EARLY))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Run a test when the machine is free for it."""
    with machine(is_alone(item)) if is_worker(item.config) else contextlib.nullcontext():
        return (yield)


@contextlib.contextmanager
def machine(alone: bool) -> Iterator[None]:
    """Hold the machine, alone or with others. A worker that waits at the door to be alone holds up those behind it."""
    import fcntl

    with Path(__file__).open() as room, (ROOT / "tests" / "conftest.py").open() as door:
        fcntl.flock(door, fcntl.LOCK_EX)
        fcntl.flock(room, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        fcntl.flock(door, fcntl.LOCK_UN)
        try:
            yield
        finally:  # closing alone would not do: processes that the test forked have the file open, too
            fcntl.flock(room, fcntl.LOCK_UN)
