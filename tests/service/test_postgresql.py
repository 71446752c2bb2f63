"""The log on a real PostgreSQL: two machines, one model."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from discern.service.log import Change
from discern.service.settings import Settings
from discern.service.store import Store, StoreError
from tests.service.running import Client, expected_file, in_process, saved


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


def holds(folder: Path, text: str) -> list[str]:
    """Return the files of the tables, not of the write-ahead log, that hold a text."""
    return [str(path) for path in folder.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


def test_compaction_removes_forgotten_text_from_the_tables(server: str, tmp_path: Path) -> None:
    import sqlalchemy as sql

    engine = sql.create_engine(server.replace("postgresql://", "postgresql+psycopg://"), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        tables = Path(str(connection.exec_driver_sql("SHOW data_directory").scalar_one())) / "base"
        # A log of its own: other tests have left entries that are of other models.
        connection.exec_driver_sql("DROP TABLE IF EXISTS discern_log, discern_keys, discern_bases, discern_facts")
        model, canary = saved(tmp_path), "zanzibarcanary"
        secret = {"label": "ham", "text": f"hello {canary}"}
        with in_process(Settings(model, store=server)) as (client, _):
            client.post("/v1/learn", {"rows": [secret]})
            client.post("/v1/compact", None)  # the model in the database holds the word
            client.post("/v1/learn", {"rows": [secret]})
            client.post("/v1/forget", {"rows": [secret, secret]})
            connection.exec_driver_sql("CHECKPOINT")
            assert holds(tables, canary)
            client.post("/v1/compact", None)
            connection.exec_driver_sql("CHECKPOINT")
            assert holds(tables, canary) == []
            assert client.get("/v1/model")["log"]["entries"] == 0
    engine.dispose()
