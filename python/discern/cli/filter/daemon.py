"""The daemon: classifies messages that come through a unix socket, with a model that stays in memory."""

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

from discern.cli.filter.client import BLOCK, MARK, TIMEOUT
from discern.data.lock import held

if TYPE_CHECKING:
    from discern.classifier import Classifier
    from discern.cli.filter.command import Verdict
    from discern.data.embedding.embedder import Embedder

MOST_AT_ONCE = 32
"""Messages that are classified at the same time; others wait."""
MOST_BYTES = 1 << 27
"""A longer message is sent back unchanged, without being kept in memory."""
LONGEST_SETTINGS = 1 << 16


@dataclass
class CurrentModel:
    """The model in a file, loaded again when the file has been replaced."""

    path: Path
    warn: Callable[[str], None]
    embedder: Embedder | None = None
    _loaded: Classifier | None = None
    _known: tuple[int, ...] = ()
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def model(self) -> Classifier:
        """Return the model in the file, or the last good one if the file is gone or damaged."""
        with self._lock:
            try:
                self._reload()
            except (ValueError, OSError) as error:
                if self._loaded is None:
                    raise
                self.warn(f"still using the previous model: {error}")
            assert self._loaded is not None
            return self._loaded

    def _reload(self) -> None:
        from discern.classifier import Classifier

        now = os.stat(self.path)
        known = (now.st_dev, now.st_ino, now.st_mtime_ns, now.st_size)
        if known != self._known:
            loaded = Classifier.load(self.path, embed=self.embedder)
            loaded.threads = 1
            self._loaded, self._known = loaded, known


Classify = Callable[["Classifier", bytes, dict[str, Any]], tuple["Verdict", bytes]]
"""From a model, a message and settings to the verdict, and the message with the verdict in its headers."""


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """Answers each connection in a thread of its own."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, place: str, current: CurrentModel, classify: Classify) -> None:
        self.current, self.classify = current, classify
        self._free = threading.BoundedSemaphore(MOST_AT_ONCE)
        mask = os.umask(0o177)  # nobody else may use it, not even for a moment
        try:
            super().__init__(place, Connection)
        finally:
            os.umask(mask)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Wait until fewer than ``MOST_AT_ONCE`` messages are being classified."""
        self._free.acquire()
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer one connection."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a client that goes away; other errors have been answered."""


class Connection(socketserver.BaseRequestHandler):
    """Answers one message: with a line of JSON and the marked message, or with the marked message alone."""

    server: Server

    def handle(self) -> None:
        """Read a whole message, and answer."""
        self.request.settimeout(TIMEOUT)
        content = bytearray()
        while block := self.request.recv(BLOCK):
            content += block
            if len(content) > MOST_BYTES:
                self._send_back(content)
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
            verdict, marked = self.server.classify(self.server.current.model(), message, json.loads(settings))
        except (ValueError, OSError, MemoryError, KeyError, TypeError, RecursionError) as error:
            return json.dumps({"error": str(error)}).encode() + b"\n"
        head = {"json": verdict.to_json(), "code": verdict.code, "bytes": len(marked)}
        return json.dumps(head).encode() + b"\n" + marked

    def _marked(self, message: bytes) -> bytes:
        try:
            return self.server.classify(self.server.current.model(), message, {})[1]
        except (ValueError, OSError, MemoryError) as error:
            self.server.current.warn(str(error))
            return message  # no mail is lost

    def _send_back(self, content: bytearray) -> None:
        """Send the rest back unchanged. A client that sent settings classifies the message itself."""
        if content.startswith(MARK):
            return
        self.server.current.warn("a message is too long to be classified")
        self.request.sendall(content)
        while block := self.request.recv(BLOCK):
            self.request.sendall(block)


def serve(current: CurrentModel, place: Path, classify: Classify, ready: Callable[[], None]) -> None:
    """Answer until SIGTERM or Ctrl-C, and then remove the socket."""
    current.model()  # raises now if it is bad
    with _only_daemon(place), Server(str(place), current, classify) as server, _stopped_by_signals(server):
        ready()
        try:
            server.serve_forever(poll_interval=0.2)
        finally:
            place.unlink(missing_ok=True)


@contextmanager
def _only_daemon(place: Path) -> Iterator[None]:
    """Make sure that no other daemon answers here, and remove the socket of one that was killed."""
    if len(os.fsencode(str(place))) > 100:
        raise ValueError(f"the name of the socket is too long for the system: {str(place)!r}; use a shorter --socket")
    with held(place) as free:
        if not free:
            raise ValueError(f"another daemon is already answering at {str(place)!r}")
        if place.exists() and not place.is_socket():
            raise ValueError(f"{str(place)!r} is not a socket; use another --socket")
        place.unlink(missing_ok=True)
        yield


@contextmanager
def _stopped_by_signals(server: Server) -> Iterator[None]:
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


def is_available() -> bool:
    """Return whether this system has unix sockets."""
    return hasattr(socket, "AF_UNIX")
