"""No service outlives its test."""

from collections.abc import Iterator

import psutil
import pytest

from tests.service.postgresql import running_server
from tests.service.running import STARTED


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Run a PostgreSQL server; the fixture is its address."""
    with running_server() as address:
        yield address


@pytest.fixture(autouse=True)
def no_service_is_left() -> Iterator[None]:
    """End what a failed test has left running."""
    yield
    while STARTED:
        process = STARTED.pop()
        if process.poll() is None:
            for child in psutil.Process(process.pid).children(recursive=True):
                child.kill()
            process.kill()
            process.wait()
        if process.stderr is not None:
            process.stderr.close()
