"""Services to test: in this process, or in processes of their own that can be killed."""

from __future__ import annotations

import contextlib
import http.client
import json
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import uvicorn

from discern.classifier import Classifier
from discern.cli.demo import sample, split
from discern.service.run import configured, listen
from discern.service.settings import Settings
from discern.service.state import read_base
from discern.service.telemetry import Figures, Journal

PROGRAM = """
import json, sys
from pathlib import Path
from discern.service.run import serve
from discern.service.settings import Limits, Settings
given = json.loads(sys.argv[1])
limits = Limits(**given.pop("limits", {}))
sys.exit(serve(Settings(model=Path(given.pop("model")), limits=limits, **given)))
"""
LEARNED, HELD_OUT = split(sample())
STARTED: list[subprocess.Popen[str]] = []
"""Processes that a test may have left behind: those of a failed test are ended by a fixture."""
Answer = tuple[int, dict[str, str], bytes]


def saved(folder: Path, name: str = "messages.discern", **settings: Any) -> Path:
    """Learn the messages that the package carries."""
    path = folder / name
    Classifier(**settings).fit(LEARNED).save(path)
    return path


class Client:
    """One connection, kept alive."""

    def __init__(self, port: int, seconds: float = 20.0) -> None:
        self.port, self._seconds = port, seconds
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=seconds)

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """Send a request; names of headers have underscores here."""
        content = json.dumps(body).encode() if body is not None and not isinstance(body, bytes) else body
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if content is not None and "content-type" not in named:
            named["content-type"] = "application/json"
        try:
            return self._sent(method, path, content, named)
        except ConnectionError:  # the service closes connections on which nothing happens
            self.close()
            return self._sent(method, path, content, named)

    def _sent(self, method: str, path: str, content: bytes | None, headers: dict[str, str]) -> Answer:
        try:
            self._connection.request(method, path, content, headers)
            answer = self._connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        except (OSError, http.client.HTTPException):
            self.close()
            raise

    def close(self) -> None:
        self._connection.close()

    def get(self, path: str, **headers: str) -> Any:
        """Get JSON; it must be there."""
        status, _, content = self.send("GET", path, **headers)
        assert status == 200, content
        return json.loads(content)

    def post(self, path: str, body: Any, expected: int = 200, **headers: str) -> Any:
        """Post JSON and give JSON."""
        status, kinds, content = self.send("POST", path, body, **headers)
        assert status == expected, (status, content)
        if status >= 400:
            assert kinds["content-type"] == "application/problem+json"
        return json.loads(content)


class Telling(Journal):
    """Keeps the lines of the log."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def write(self, event: str, error: BaseException | None = None, **facts: Any) -> None:
        from discern.service.telemetry import described

        self.lines.append(json.dumps({"event": event, **(described(error) if error else {}), **facts}))


@contextlib.contextmanager
def in_process(settings: Settings) -> Iterator[tuple[Client, Telling]]:
    """Serve in a thread."""
    settings, journal = replace(settings, port=0), Telling()
    listening = listen(settings)
    config = configured(settings, read_base(settings.model), Figures(1), journal)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    deadline = time.monotonic() + 20
    while not server.started and thread.is_alive() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert server.started
    client = Client(listening.getsockname()[1])
    try:
        yield client, journal
    finally:
        client.close()
        server.should_exit = True
        thread.join(20)
        assert not thread.is_alive()


class Process:
    """A service in a process of its own."""

    def __init__(
        self, model: Path, environment: Mapping[str, str] | None = None, prelude: str = "", **settings: Any
    ) -> None:
        given = json.dumps({"model": str(model), "port": 0, **settings})
        command = [sys.executable, "-c", prelude + PROGRAM, given]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
        STARTED.append(self.process)
        self.events: list[dict[str, Any]] = []
        self._clients: list[Client] = []
        self._listening = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        assert self._listening.wait(60), self.events
        self.port = next(line["port"] for line in self.events if line["event"] == "listening")
        self._wait()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            with contextlib.suppress(ValueError):
                self.events.append(json.loads(line))
                if self.events[-1]["event"] == "listening":
                    self._listening.set()
        self._listening.set()

    def _wait(self) -> None:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            client = Client(self.port, 2)
            with contextlib.suppress(OSError, http.client.HTTPException), contextlib.closing(client):
                if client.send("GET", "/ready")[0] == 200:
                    return
            time.sleep(0.02)
        raise AssertionError(self.events)

    def client(self, seconds: float = 20.0) -> Client:
        """Return a client that is closed when the service is stopped."""
        self._clients.append(Client(self.port, seconds))
        return self._clients[-1]

    def stop(self) -> int:
        """FeedbackRequest it to end; give its exit code."""
        self.process.terminate()
        code = self.process.wait(30)
        self._close()
        return code

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self._close()

    def _close(self) -> None:
        for client in self._clients:
            client.close()
        self._reader.join(10)
        assert self.process.stderr is not None
        self.process.stderr.close()


def expected_file(model: Path, rows: list[dict[str, Any]]) -> str:
    """Return the checksum of the model that has learned some more rows, each once."""
    classifier = Classifier.load(model)
    if rows:
        classifier.learn(rows)
    return classifier.checksum()


def is_dead(process: psutil.Process) -> bool:
    """Return whether a process runs no more, be it that no one has asked yet how it ended."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def kill_one_of(service: Process, chance: random.Random) -> bool:
    """Kill a worker; false if none was alive."""
    alive = [worker for worker in psutil.Process(service.process.pid).children() if not is_dead(worker)]
    for worker in chance.sample(alive, min(1, len(alive))):
        with contextlib.suppress(psutil.NoSuchProcess):
            worker.kill()
            return True
    return False


def kill_all_of(service: Process) -> None:
    """Kill the supervisor and its workers; it is stopped first, so that it does not replace one meanwhile."""
    parent = psutil.Process(service.process.pid)
    parent.send_signal(signal.SIGSTOP)
    workers = parent.children()
    for one in (parent, *workers):
        with contextlib.suppress(psutil.NoSuchProcess):
            one.kill()
    deadline = time.monotonic() + 10
    while not all(map(is_dead, workers)):
        assert time.monotonic() < deadline
        time.sleep(0.005)
    service.kill()
