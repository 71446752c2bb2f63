"""The daemon: judges messages that come through a unix socket, with a model that stays in memory."""

from __future__ import annotations

import json
import os
import signal
import socket
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discern.cli.client import BLOCK, MARK, PATIENCE
from discern.data.lock import held

if TYPE_CHECKING:
    from discern.classifier import Classifier
    from discern.cli.mail import Verdict

MOST_AT_ONCE = 32
"""Messages that are judged at the same time; others wait."""
MOST_BYTES = 1 << 27
"""A longer message is given back as it is, without being kept in memory."""
LONGEST_SETTINGS = 1 << 16


@dataclass
class Current:
    """The model in a file, loaded again when the file has been replaced."""

    path: Path
    tell: Callable[[str], None]
    _loaded: Classifier | None = None
    _known: tuple[int, ...] = ()
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def model(self) -> Classifier:
        """Return the model as it is now; the last good one if the file is gone or damaged."""
        with self._lock:
            try:
                self._look()
            except (ValueError, OSError) as error:
                if self._loaded is None:
                    raise
                self.tell(f"the model of before is used on: {error}")
            assert self._loaded is not None
            return self._loaded

    def _look(self) -> None:
        from discern.classifier import Classifier

        now = os.stat(self.path)
        known = (now.st_dev, now.st_ino, now.st_mtime_ns, now.st_size)
        if known != self._known:
            loaded = Classifier.load(self.path)
            loaded.threads = 1
            self._loaded, self._known = loaded, known


Judge = Callable[["Classifier", bytes, dict[str, Any]], tuple["Verdict", bytes]]
"""Returns the verdict on a message, by settings, and the message with it."""


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """Answers each connection in a thread of its own."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, place: str, current: Current, judge: Judge) -> None:
        self.current, self.judge = current, judge
        self._free = threading.BoundedSemaphore(MOST_AT_ONCE)
        mask = os.umask(0o177)  # from its first moment nobody else may use it
        try:
            super().__init__(place, Connection)
        finally:
            os.umask(mask)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Wait until there is room for one more."""
        self._free.acquire()
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer one connection."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no error; all others have been answered."""


class Connection(socketserver.BaseRequestHandler):
    """A message, and its answer: a line of JSON and the marked message, or just that if nothing else was asked for."""

    server: Server

    def handle(self) -> None:
        """Read a message up to its end, and answer."""
        self.request.settimeout(PATIENCE)
        content = bytearray()
        while block := self.request.recv(BLOCK):
            content += block
            if len(content) > MOST_BYTES:
                self._give_back(content)
                return
        if content.startswith(MARK):
            head, _, message = bytes(content).partition(b"\n")
            self.request.sendall(self._answer(head[len(MARK) :], message))
        else:
            self.request.sendall(self._marked(bytes(content)))

    def _answer(self, settings: bytes, message: bytes) -> bytes:
        try:
            if len(settings) > LONGEST_SETTINGS:
                raise ValueError("the settings are too long")
            verdict, marked = self.server.judge(self.server.current.model(), message, json.loads(settings))
        except (ValueError, OSError, MemoryError, KeyError, TypeError, RecursionError) as error:
            return json.dumps({"error": str(error)}).encode() + b"\n"
        head = {"json": verdict.to_json(), "code": verdict.code, "bytes": len(marked)}
        return json.dumps(head).encode() + b"\n" + marked

    def _marked(self, message: bytes) -> bytes:
        try:
            return self.server.judge(self.server.current.model(), message, {})[1]
        except (ValueError, OSError, MemoryError) as error:
            self.server.current.tell(str(error))
            return message  # no mail is lost

    def _give_back(self, content: bytearray) -> None:
        """Send on what comes; whoever asked with settings judges it themselves."""
        if content.startswith(MARK):
            return
        self.server.current.tell("a message is too long to be judged")
        self.request.sendall(content)
        while block := self.request.recv(BLOCK):
            self.request.sendall(block)


def serve(current: Current, place: Path, judge: Judge, ready: Callable[[], None]) -> None:
    """Answer until SIGTERM or Ctrl-C; then the socket is taken away."""
    current.model()  # complain now about a bad one
    with _alone(place), Server(str(place), current, judge) as server, _until_told(server):
        ready()
        try:
            server.serve_forever(poll_interval=0.2)
        finally:
            place.unlink(missing_ok=True)


@contextmanager
def _alone(place: Path) -> Iterator[None]:
    """Make sure that no other daemon answers here, and take away what a dead one left."""
    if len(os.fsencode(str(place))) > 100:
        raise ValueError(f"the name of the socket is too long for the system: {str(place)!r}; give a shorter --socket")
    with held(place) as free:
        if not free:
            raise ValueError(f"another daemon is already answering at {str(place)!r}")
        if place.exists() and not place.is_socket():
            raise ValueError(f"{str(place)!r} is no socket; give another --socket")
        place.unlink(missing_ok=True)
        yield


@contextmanager
def _until_told(server: Server) -> Iterator[None]:
    def stop(number: int, frame: Any) -> None:
        threading.Thread(target=server.shutdown, daemon=True).start()  # the server must go on to notice

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {which: signal.signal(which, stop) for which in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for which, handler in before.items():
            with suppress(TypeError):
                signal.signal(which, handler)


def can_be_served() -> bool:
    """Return whether this system has such sockets."""
    return hasattr(socket, "AF_UNIX")
