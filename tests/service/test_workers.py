"""Several workers: one model, whoever answers; and memory that they share."""

from __future__ import annotations

import json
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from discern.classifier import Classifier
from discern.service.run import _Supervisor
from discern.service.settings import Settings
from discern.service.state import State, read_base
from discern.service.telemetry import Figures
from tests.service.running import HELD_OUT, STARTED, Client, Process, Telling, expected_file, saved

CLIENTS = 16


def mixed_load(port: int, seconds: float, learned: list[dict[str, str]], answers: Counter[int]) -> None:
    """Predict and learn from many clients at once; some rows are taken back, relabeled, or sent twice."""
    ending, turn = time.monotonic() + seconds, threading.Lock()

    def work(number: int) -> None:
        client, chance, count = Client(port), random.Random(number), 0
        while time.monotonic() < ending:
            count += 1
            mine = {
                "label": chance.choice(("ham", "spam")),
                "text": f"client{number} row{count} {chance.choice(HELD_OUT)['text']}",
            }
            key = f"{number}-{count}"
            statuses, kept = act(client, chance.random(), mine, key)
            with turn:
                answers.update(statuses)
                learned.extend(kept)
        client.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def act(client: Client, dice: float, mine: dict[str, str], key: str) -> tuple[list[int], list[dict[str, str]]]:
    if dice < 0.5:
        return [client.send("POST", "/v1/predict", {"text": mine["text"]})[0]], []
    statuses = [client.send("POST", "/v1/learn", {"rows": [mine]}, idempotency_key=key)[0]]
    if dice < 0.85:
        return statuses, [mine]
    if dice < 0.9:
        return [*statuses, client.send("POST", "/v1/learn", {"rows": [mine]}, idempotency_key=key)[0]], [mine]
    if dice < 0.95:
        return [*statuses, client.send("POST", "/v1/forget", {"rows": [mine]})[0]], []
    other = "ham" if mine["label"] == "spam" else "spam"
    body = {"rows": [{"text": mine["text"]}], "from": mine["label"], "to": other}
    return [*statuses, client.send("POST", "/v1/relabel", body)[0]], [{**mine, "label": other}]


def both_agree(folder: Path, seconds: float) -> None:
    model = saved(folder)
    original = saved(folder, "original.discern")
    service = Process(model, workers=2)
    learned: list[dict[str, str]] = []
    answers: Counter[int] = Counter()
    mixed_load(service.port, seconds, learned, answers)
    rows = Classifier.load(original).rows + len(learned)
    client = service.client()
    gauges: dict[str, str] = {}
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and (len(gauges) < 2 or set(gauges.values()) != {str(rows)}):
        other = service.client()  # a new connection, which either of them may take
        gauges = dict(
            re.findall(r'discern_model_rows\{worker="(\d)"\} (\d+)', other.send("GET", "/metrics")[2].decode())
        )
        other.close()
        time.sleep(0.05)
    checksum = client.post("/v1/compact", None)["checksum"]
    assert service.stop() == 0
    print(f"{sum(answers.values()):,} requests, {len(learned):,} rows learned: {dict(answers)}, {gauges}")
    assert set(answers) == {200}, answers
    assert sum(answers.values()) > 100
    assert gauges == {"0": str(rows), "1": str(rows)}
    assert checksum == expected_file(original, learned)


def test_two_workers_arrive_at_the_same_model(tmp_path: Path) -> None:
    both_agree(tmp_path, 4.0)


@pytest.mark.soak
def test_two_workers_for_a_minute(tmp_path: Path) -> None:
    both_agree(tmp_path, 60.0)


def test_a_stopped_service_ends_what_it_has_begun(tmp_path: Path) -> None:
    model = saved(tmp_path)
    service = Process(model, workers=2)
    client, done = service.client(), []

    def teach() -> None:
        done.append(
            client.send("POST", "/v1/learn", {"rows": [{"label": "ham", "text": f"w{i}"} for i in range(9_000)]})[0]
        )

    thread = threading.Thread(target=teach)
    thread.start()
    time.sleep(0.02)
    assert service.stop() == 0
    thread.join()
    assert done == [200]
    assert [event for event in service.events if event["event"] in ("failed", "worker-died", "worker-failed")] == []


def many_terms(path: Path, rows: int) -> Path:
    """Learn rows of 50 words each that no other row has."""
    texts = (" ".join(f"w{number * 50 + term:07d}" for term in range(50)) for number in range(rows))
    Classifier(smoothing=1.0).fit([{"label": "ab"[n % 2], "text": text} for n, text in enumerate(texts)]).save(path)
    return path


def memory_in_use(service: Process) -> list[Any]:
    """Return the memory of the workers after both have predicted and explained often enough to have built their tables."""
    for number in range(60):
        client = service.client()  # a new connection, which either of them may take
        client.post(("/v1/predict", "/v1/explain")[number % 5 == 0], {"text": "w0000001 w0000077"})
        client.close()
    return [worker.memory_full_info() for worker in psutil.Process(service.process.pid).children()]


def answered(state: State, text: str) -> list[float]:
    answer = state.answer_to_text(text) or state.predicted([{"text": text}])[0]
    return list(json.loads(answer)["probabilities"].values())


def test_no_request_waits_for_the_table_of_a_large_model(tmp_path: Path) -> None:
    texts = [" ".join(f"w{(number * 50 + term) * 7 % 25_000:07d}" for term in range(50)) for number in range(20)]
    for rows, waits in ((500, True), (300, False)):
        state = read_base(many_terms(tmp_path / "terms.discern", rows))
        first = [answered(state, text) for text in texts]
        assert ("_scorer" in state.__dict__) is not waits
        state.build_if_used()
        assert "_scorer" in state.__dict__
        np.testing.assert_allclose([answered(state, text) for text in texts], first, rtol=1e-12)


def test_workers_share_the_model_and_the_log(tmp_path: Path) -> None:
    model = many_terms(tmp_path / "terms.discern", 4000)
    for _ in range(2):  # the second time with feedback on top
        service = Process(model, workers=2)
        memory = memory_in_use(service)
        service.client().post("/v1/learn", {"rows": [{"label": "a", "text": "w0000001 something new"}]})
        assert service.stop() == 0
        assert len(memory) == 2
        assert all(one.uss < 0.35 * one.rss for one in memory), memory


@pytest.mark.soak
def test_a_model_of_a_million_terms_starts_soon_and_is_shared(tmp_path: Path) -> None:
    model, took = many_terms(tmp_path / "large.discern", 20_000), []
    for _ in range(3):
        began = time.monotonic()
        service = Process(model, workers=2)
        service.client().post("/v1/predict", {"text": "w0000001"})
        took.append(time.monotonic() - began)
        memory = memory_in_use(service)
        service.stop()
    print(
        f"first prediction after {min(took):.2f} s; "
        + ", ".join(f"PSS {one.pss >> 20}, alone {one.uss >> 20}, of RSS {one.rss >> 20} MiB" for one in memory)
    )
    assert all(one.pss < 0.5 * one.rss and one.uss < 0.2 * one.rss for one in memory)
    assert min(took) < 2


def test_workers_do_not_outlive_the_supervisor(tmp_path: Path) -> None:
    service = Process(saved(tmp_path), workers=2)
    workers = psutil.Process(service.process.pid).children()
    assert len(workers) == 2
    service.process.kill()
    gone, alive = psutil.wait_procs(workers, 20)
    service.kill()
    assert (len(gone), alive) == (2, [])


def test_a_worker_that_dies_again_and_again_is_replaced_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    replaced: list[int] = []
    supervisor: Any = _Supervisor(Settings(Path("m")), None, None, Figures(1), Telling())  # type: ignore[arg-type]
    supervisor._fork = replaced.append
    monkeypatch.setattr("discern.service.run.time.sleep", pauses.append)
    for _ in range(2000):
        supervisor._replace(0, time.monotonic(), signal.SIGKILL)
    assert replaced == [0] * 2000
    assert (pauses[0], max(pauses)) == (0.02, 1.0)
    supervisor._replace(0, time.monotonic() - 60, signal.SIGKILL)
    assert len(pauses) == 2000  # one that has lived for long is replaced at once


def test_a_signal_that_comes_when_a_worker_has_just_died_ends_the_service() -> None:
    died = subprocess.Popen(["true"])
    died.wait()
    supervisor: Any = _Supervisor(Settings(Path("m")), None, None, Figures(1), Telling())  # type: ignore[arg-type]
    supervisor._workers[died.pid] = 0, time.monotonic()
    supervisor._end(signal.SIGTERM, None)
    assert supervisor._ending


def test_the_command_says_where_it_listens(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "discern.cli", "serve", str(saved(tmp_path)), "--port", "0", "--json", "--quiet"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    STARTED.append(process)
    assert process.stdout is not None
    client = Client(json.loads(process.stdout.readline())["port"])
    assert client.post("/v1/predict", {"text": "win a free prize"})["label"] == "spam"
    client.close()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 0
    assert '"request"' not in errors


EARLY = """
import gc, signal, sys
from pathlib import Path
from discern.service.run import serve
from discern.service.settings import Settings

freeze = gc.freeze

def interrupted() -> None:
    freeze()
    signal.raise_signal(getattr(signal, sys.argv[2]))

gc.freeze = interrupted
print("ended with", serve(Settings(Path(sys.argv[1]), port=0)))
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_that_comes_just_before_the_service_runs_ends_it(
    tmp_path: Path, run_python: Callable[..., str], name: str
) -> None:
    assert "ended with 0" in run_python(EARLY, saved(tmp_path), name)


FORKING = """
import os, signal, sys, threading, time
from pathlib import Path
from discern.service.run import serve
from discern.service.settings import Settings

fork, parent = os.fork, os.getpid()

def told_while_forking() -> int:
    os.kill(parent, signal.SIGTERM)  # the supervisor hears of it while it forks, and tells the new worker at once
    process = fork()
    if not process:
        time.sleep(0.2)  # the worker has not come to its own handlers
    return process

os.fork = told_while_forking
print("ended with", serve(Settings(Path(sys.argv[1]), port=0, workers=2)))
"""


def test_a_signal_that_comes_while_a_worker_is_forked_ends_it(tmp_path: Path, run_python: Callable[..., str]) -> None:
    assert "ended with 0" in run_python(FORKING, saved(tmp_path))
