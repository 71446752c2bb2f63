"""A server that loads and uses a model, and then forks its workers: each of them answers."""

import http.client
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

APPLICATION = """
import os
from discern.classifier import Classifier

rows = [{"label": f"l{i % 3}", "text": " ".join(f"word{i * j % 97}" for j in range(30))} for i in range(400)]
texts = [row["text"] for row in rows] * 3
model = Classifier(text="text", smoothing=1.0, threads=2).fit(rows)
expected = model.predict(texts).tolist()  # threads were at work before the fork


def application(environ, start_response):
    answer = "right" if model.predict(texts).tolist() == expected else "wrong"
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [f"{answer} {os.getpid()}".encode()]
"""
FORKS = 100


class Connection(http.client.HTTPConnection):
    """A connection to a socket that is a file."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=30)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(30)
        self.sock.connect(self.path)


def asked(path: str) -> str:
    connection = Connection(path)
    try:
        connection.request("GET", "/")
        return connection.getresponse().read().decode()
    finally:
        connection.close()


def wait_for(path: Path, server: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 60
    while not path.exists():
        assert server.poll() is None, "the server ended"
        assert time.monotonic() < end, "the server did not start"
        time.sleep(0.05)


def test_a_hundred_workers_forked_by_gunicorn_after_use(tmp_path: Path) -> None:
    """Each worker is replaced by a new fork after one answer; none hangs."""
    (tmp_path / "served.py").write_text(APPLICATION, encoding="utf-8")
    path = tmp_path / "s"
    command = ["-m", "gunicorn", "--preload", "--workers=2", "--max-requests=1", "--timeout=20", f"--bind=unix:{path}"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    log = (tmp_path / "log").open("wb")
    server = subprocess.Popen(
        [sys.executable, *command, "--no-control-socket", "served:application"],
        cwd=tmp_path,
        env=environment,
        stderr=log,
    )
    try:
        wait_for(path, server)
        answers = [asked(str(path)).split() for _ in range(FORKS)]
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(30)
        log.close()
    assert {answer for answer, _ in answers} == {"right"}
    assert len({worker for _, worker in answers}) == FORKS
    assert b"WORKER TIMEOUT" not in (tmp_path / "log").read_bytes()
