"""Nothing acknowledged is lost or applied twice: processes that are killed, power that is cut, disks that fail."""

from __future__ import annotations

import concurrent.futures
import contextlib
import http.client
import os
import random
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from discern.service.log import Change, Log
from discern.service.state import LiveModel, State, read_base
from discern.service.store import Store
from tests.service.powercut import Disk, compiled, environment, records
from tests.service.running import Client, Process, expected_file, kill_all_of, kill_one_of, saved

CLIENTS = 8


def row(number: int, padding: int = 0) -> dict[str, str]:
    return {"label": ("ham", "spam")[number % 2], "text": f"feedback unique{number} {'x' * padding}"}


class Load:
    """Clients that teach one row after the other and repeat each, under its key, until it is acknowledged."""

    def __init__(self, port: int, journal: Path | None = None, padding: int = 0) -> None:
        self.port, self._journal, self._padding = port, journal, padding
        self.acknowledged: dict[int, int] = {}
        self.surprises: list[int] = []
        self._next, self._turn, self._ending = 0, threading.Lock(), threading.Event()
        self._threads = [threading.Thread(target=self._teach, daemon=True) for _ in range(CLIENTS)]
        for thread in self._threads:
            thread.start()

    def _teach(self) -> None:
        client = Client(self.port, 5)
        while not self._ending.is_set():
            with self._turn:
                number, self._next = self._next, self._next + 1
            while not self._send(client, number):
                time.sleep(0.01)
                if client.port != self.port:
                    client.close()
                    client = Client(self.port, 5)
        client.close()

    def _send(self, client: Client, number: int) -> bool:
        body = {"rows": [row(number, self._padding)]}
        try:
            status, _, _ = client.send("POST", "/v1/learn", body, idempotency_key=f"row-{number}")
        except (OSError, http.client.HTTPException):
            return False
        if status != 200:
            self.surprises.append(status)
            return False
        self.acknowledged[number] = self._journal.stat().st_size if self._journal else 0
        return True

    def wait_for_more(self) -> None:
        """Wait until something is acknowledged."""
        before, deadline = len(self.acknowledged), time.monotonic() + 30
        while len(self.acknowledged) == before:
            assert time.monotonic() < deadline, "nothing is acknowledged any more"
            time.sleep(0.002)

    def end(self) -> None:
        """Let every client have its last row acknowledged."""
        self._ending.set()
        for thread in self._threads:
            thread.join(30)
            assert not thread.is_alive()


def kill_again_and_again(folder: Path, kills: int, whole: float) -> None:
    """Kill workers, or with a share of ``whole`` the whole service, at random moments under load."""
    model, chance = saved(folder), random.Random(kills)
    before = expected_file(model, [])
    original = folder / "original.discern"
    original.write_bytes(model.read_bytes())
    service, killed = Process(model, workers=2), {"workers": 0, "services": 0}
    load = Load(service.port)
    while sum(killed.values()) < kills:
        load.wait_for_more()  # else it would be a kill of what no one uses
        time.sleep(chance.uniform(0.0, 0.25))
        if chance.random() < whole:
            kill_all_of(service)
            service = Process(model, workers=2)
            load.port = service.port
            killed["services"] += 1
        else:
            killed["workers"] += kill_one_of(service, chance)
    load.end()
    checksum = service.client().post("/v1/compact", None)["checksum"]
    assert service.stop() == 0
    print(f"killed {killed}; {len(load.acknowledged):,} rows acknowledged")
    assert len(load.acknowledged) > kills
    assert load.surprises == []
    assert before != checksum == expected_file(original, [row(number) for number in load.acknowledged])


def test_killed_twenty_times(tmp_path: Path) -> None:
    kill_again_and_again(tmp_path, 20, 0.1)


@pytest.mark.soak
def test_killed_two_hundred_times(tmp_path: Path) -> None:
    kill_again_and_again(tmp_path, 200, 0.3)


# ------------------------------------------------------------------------------------------------- power cuts


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("powercut"))


def recorded(folder: Path, library: Path, synchronous: str, seconds: float) -> tuple[bytes, dict[int, int], bytes]:
    """Run a service under load, with two compactions; give its journal, what was acknowledged when, and the first model."""
    served = folder / "served"
    served.mkdir()
    model = saved(served)
    journal = folder / "journal"
    first = model.read_bytes()
    service = Process(model, environment(library, served, journal), synchronous=synchronous)
    load = Load(service.port, journal, padding=6_000)
    client = service.client()
    for _ in range(2):
        time.sleep(seconds / 3)
        client.post("/v1/compact", None)
    time.sleep(seconds / 3)
    load.end()
    service.kill()
    assert load.surprises == []
    return journal.read_bytes(), load.acknowledged, first


def documents(state: State) -> dict[str, int]:
    """Return the number of documents that hold each word that marks a row of feedback."""
    counts = state.classifier.statistics.columns[0]
    names: list[str] = counts.terms.to_list()  # type: ignore[union-attr]
    found: dict[str, int] = {}
    for term, count in zip(counts.entry_terms.tolist(), counts.documents.tolist(), strict=True):  # type: ignore[union-attr]
        if names[term].startswith("unique") and " " not in names[term]:
            found[names[term]] = found.get(names[term], 0) + count
    return found


def fault(folder: Path, needed: set[int]) -> str | None:
    """Open what a power cut has left, and say what is wrong with it."""
    try:
        with Store(str(folder / "messages.discern.feedback"), "OFF") as store:  # only to look at it
            model = folder / "messages.discern"
            state = LiveModel(model, store, read_base(model), lambda *_, **__: None).state
    except Exception as error:
        return f"it does not open: {error}"
    found = documents(state)
    lost = [number for number in needed if f"unique{number}" not in found]
    twice = [name for name, count in found.items() if count != 1]
    return f"lost {lost[:5]}, twice {twice[:5]}" if lost or twice else None


def faults(folder: Path, run: tuple[bytes, dict[int, int], bytes], cuts: int) -> list[str]:
    """Cut the power at random moments; give what went wrong."""
    journal, acknowledged, first = run
    chance = random.Random(cuts)
    after = [place for place, _ in records(journal)]
    start = min(acknowledged.values())
    moments = sorted(chance.sample([place for place in after if place >= start], cuts))
    disk, wrong = Disk(), []
    served = folder / "served"
    disk.files[str((served / "messages.discern").resolve())] = bytearray(first)
    for place, record in records(journal):
        disk.happen(record)
        while moments and moments[0] <= place:
            moment = moments.pop(0)
            remains = folder / f"cut-{len(moments)}"
            remains.mkdir()
            disk.cut(remains, chance)
            needed = {number for number, size in acknowledged.items() if size <= moment}
            found = fault(remains, needed)
            wrong += [found] if found else []
            shutil.rmtree(remains)
    return wrong


def test_two_hundred_power_cuts(tmp_path: Path, library: Path) -> None:
    run = recorded(tmp_path, library, "FULL", 2.4)
    assert len(run[1]) > 100
    assert faults(tmp_path, run, 200) == []


@pytest.mark.parametrize("synchronous", ["NORMAL", "OFF"])
def test_the_power_cuts_would_be_noticed(tmp_path: Path, library: Path, synchronous: str) -> None:
    assert faults(tmp_path, recorded(tmp_path, library, synchronous, 0.9), 20)


def test_a_disk_that_fails_acknowledges_nothing(tmp_path: Path, library: Path) -> None:
    served, failing = tmp_path / "served", tmp_path / "failing"
    served.mkdir()
    model = saved(served)
    original = model.read_bytes()
    service = Process(model, environment(library, served, tmp_path / "journal", failing))
    client = service.client()

    def teach(number: int) -> int:
        own = service.client()
        try:
            return own.send("POST", "/v1/learn", {"rows": [row(number)]}, idempotency_key=f"row-{number}")[0]
        finally:
            own.close()

    assert teach(0) == 200
    failing.touch()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert {*pool.map(teach, range(1, 17))} == {503}
    others: dict[str, Any] = {
        "/v1/forget": {"rows": [row(0)]},
        "/v1/relabel": {"rows": [{"text": row(0)["text"]}], "from": "ham", "to": "spam"},
        "/v1/undo": {"sequence": 1},
        "/v1/compact": None,
    }
    for path, body in others.items():
        client.post(path, body, 503)
    assert client.send("POST", "/v1/predict", {"text": "win a prize"})[0] == 200
    failing.unlink()
    assert [teach(number) for number in range(17)] == [200] * 17
    checksum = client.post("/v1/compact", None)["checksum"]
    assert service.stop() == 0
    (tmp_path / "original.discern").write_bytes(original)
    assert checksum == expected_file(tmp_path / "original.discern", [row(number) for number in range(17)])


def test_a_worker_that_begins_with_an_old_state_arrives_at_the_same_model(tmp_path: Path) -> None:
    """Workers are forked with the model as it was when the service was started, however long ago that was."""
    model = saved(tmp_path)
    whole = read_base(model).checksum
    with Store(f"{model}.feedback") as store:
        live = LiveModel(model, store, read_base(model), lambda *_, **__: None)
        change = Change("learn", [row(0)])
        with store.writing() as log:
            log.append(change)
        live.refresh()
        old = live.state
        assert LiveModel(model, store, old, lambda *_, **__: None).state.sequence == old.sequence == 1
        with store.writing() as log:
            log.append(change.reversed())
        assert live.compact() == 2
        assert read_base(model).checksum == whole  # the same file again, which now holds two entries
        again = LiveModel(model, store, old, lambda *_, **__: None).state
        assert (again.sequence, again.classifier.checksum()) == (2, whole)


def test_a_killed_compaction_leaves_no_gap(tmp_path: Path) -> None:
    """Whatever step of a compaction is the last one, file and log together are the model."""
    original = saved(tmp_path, "original.discern")
    whole = expected_file(original, [row(number) for number in range(6)])
    for step in range(4):
        folder = tmp_path / str(step)
        folder.mkdir()
        model = folder / "m.discern"
        model.write_bytes(original.read_bytes())
        _teach_and_stop_compacting(model, step)
        with Store(f"{model}.feedback") as store:
            live = LiveModel(model, store, read_base(model), lambda *_, **__: None)
            assert live.state.classifier.checksum() == whole
            assert live.compact() == 6
            assert store.read(Log.size) == (0, 0)
        assert read_base(model).checksum == whole


def _teach_and_stop_compacting(model: Path, step: int) -> None:
    class StoppedError(Exception):
        pass

    def stop(*_: Any) -> Any:
        raise StoppedError

    with Store(f"{model}.feedback") as store:
        live = LiveModel(model, store, read_base(model), lambda *_, **__: None)
        with store.writing() as log:
            for number in range(6):
                log.append(Change("learn", [row(number)]))
        with pytest.MonkeyPatch.context() as patch:
            if step == 0:
                patch.setattr(Log, "note_base", stop)
            elif step == 1:
                patch.setattr(
                    os, "replace", lambda source, target: stop() if target == model else Path(source).rename(target)
                )
            elif step == 2:
                patch.setattr(Store, "truncate", stop)
            with contextlib.suppress(StoppedError):
                live.compact()
