"""Running the service: one listening socket, and workers that are forked after the model has been read.

The workers share what was read, and one that dies is replaced. No thread and no database connection is there before a
worker is forked.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, NoReturn

import uvicorn

from discern.classifier import embedder_of
from discern.service.app import create
from discern.service.gate import Connection
from discern.service.log import Base
from discern.service.settings import Settings
from discern.service.state import LiveModel, State, read_base
from discern.service.store import Store
from discern.service.telemetry import Figures, Journal, JournalHandler

GRACE = 10
"""Seconds for requests to finish when the service is stopped."""
ORPHANED = 0.5
"""Seconds between two checks of a worker that the supervisor is alive."""
SOON = 5.0
"""Seconds of life below which a dead worker is replaced with a growing delay."""
ENDINGS = (signal.SIGTERM, signal.SIGINT)
"""Signals that end the service."""
PAUSES = (0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.0)
"""Seconds before a dead worker is replaced: a model that cannot be served must not occupy a core."""


def serve(
    settings: Settings, log_requests: bool = True, announce: Callable[[dict[str, Any]], None] | None = None
) -> int:
    """Serve until a signal comes; return the exit code. ``announce`` is called with the address of the service."""
    journal = Journal(log_requests)
    base = _with_feedback(settings, read_base(settings.model, embedder_of(settings.embed)), journal)
    if settings.workers > 1:
        base.make_ready()
    listening = listen(settings)
    figures = Figures(settings.workers)
    host, port = listening.getsockname()[:2]
    journal.write("listening", host=host, port=port, workers=settings.workers, model=settings.model.name)
    if announce is not None:
        announce({"host": host, "port": port, "process": os.getpid()})
    if settings.workers == 1:
        return _work(settings, base, listening, figures, journal)
    return _Supervisor(settings, base, listening, figures, journal).run()


def _with_feedback(settings: Settings, base: State, journal: Journal) -> State:
    """Apply the log to the model, and fail now if it does not fit; nothing of it stays open."""
    if not base.can_learn:
        journal.write("cannot-learn", model=base.classifier.winner)
        return base
    with Store(settings.log_place, settings.synchronous) as store:
        if settings.accept_file:
            with store.writing() as log:
                log.note_base(base.checksum, Base(log.floor(), fresh=True))
        state = LiveModel(settings.model, store, base, journal.write).state
        if not store.is_sound_with_several_writers:
            journal.write(
                "sqlite-takes-turns",
                engine=store.engine,
                reason="before 3.51.3 only one connection may write at a time",
            )
        journal.write("log", engine=store.engine, sequence=state.sequence)
    return state


def listen(settings: Settings) -> socket.socket:
    """Open the socket that the workers share."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
    except OSError as error:
        listening.close()
        raise OSError(f"cannot listen on {settings.host}:{settings.port}: {error.strerror}") from error
    listening.listen(2048)
    listening.set_inheritable(True)
    return listening


def configured(settings: Settings, base: State, figures: Figures, journal: Journal) -> uvicorn.Config:
    """Return the server of one worker, with its application."""
    limits = settings.limits
    protocol = type("Connection", (Connection,), {"limits": limits, "dropped": lambda: figures.add("slow_connections")})
    return uvicorn.Config(
        create(settings, base, figures, journal),
        http=protocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=settings.behind_proxy,
        forwarded_allow_ips="127.0.0.1,::1",
        timeout_keep_alive=max(1, round(limits.idle_seconds)),
        timeout_graceful_shutdown=GRACE,
    )


def _work(settings: Settings, base: State, listening: socket.socket, figures: Figures, journal: Journal) -> int:
    """Serve in this process."""
    logging.getLogger().handlers = [JournalHandler(journal)]
    logging.captureWarnings(True)
    server = uvicorn.Server(configured(settings, base, figures, journal))

    def stop(_: int, __: FrameType | None) -> None:
        server.should_exit = True

    # uvicorn takes signals over when it runs, and gives them back when it has stopped; one that comes before counts.
    for number in ENDINGS:
        signal.signal(number, stop)
    gc.collect()
    gc.freeze()  # what is there now stays, and need not be looked at again and again
    try:
        server.run(sockets=[listening])
    except SystemExit as stopped:  # uvicorn leaves this way if it cannot start
        return int(stopped.code or 0)
    journal.write("stopped")
    return 0


def _end_with(parent: int) -> None:
    """End this worker when the supervisor is gone: no one would replace or stop it."""
    while os.getppid() == parent:
        time.sleep(ORPHANED)
    os.kill(os.getpid(), signal.SIGTERM)


class _Supervisor:
    """Keeps the workers alive."""

    def __init__(
        self, settings: Settings, base: State, listening: socket.socket, figures: Figures, journal: Journal
    ) -> None:
        self._settings, self._base, self._listening = settings, base, listening
        self._figures, self._journal = figures, journal
        self._workers: dict[int, tuple[int, float]] = {}
        self._ending, self._early = False, 0

    def run(self) -> int:
        """Start the workers, replace those that die, and stop them when a signal comes."""
        for number in ENDINGS:
            signal.signal(number, self._end)
        gc.collect()
        gc.freeze()  # what the workers share is not touched by their collectors
        for worker in range(self._settings.workers):
            self._fork(worker)
        while self._workers:
            process, status = os.wait()
            worker, started = self._workers.pop(process)
            if not self._ending:
                self._replace(worker, started, status)
        self._journal.write("stopped")
        return 0

    def _replace(self, worker: int, started: float, status: int) -> None:
        self._journal.write("worker-died", worker=worker, status=os.waitstatus_to_exitcode(status))
        self._early = self._early + 1 if time.monotonic() - started < SOON else 0
        if self._early:
            time.sleep(PAUSES[min(self._early, len(PAUSES)) - 1])
        if not self._ending:
            self._fork(worker)

    def _fork(self, worker: int) -> None:
        """Start a worker; a signal that comes meanwhile reaches it afterwards, when it can be told."""
        parent = os.getpid()
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDINGS)
        process = os.fork()
        if not process:
            self._serve_and_exit(worker, parent)
        self._workers[process] = worker, time.monotonic()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDINGS)
        if self._ending:  # the signal came before it was forked
            os.kill(process, signal.SIGTERM)

    def _serve_and_exit(self, worker: int, parent: int) -> NoReturn:
        code = 1
        try:
            for number in ENDINGS:
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDINGS)
            self._figures.worker = self._journal.worker = worker
            threading.Thread(target=_end_with, args=(parent,), name="parent", daemon=True).start()
            code = _work(self._settings, self._base, self._listening, self._figures, self._journal)
        except Exception as error:
            self._journal.write("worker-failed", error)
        finally:
            sys.stderr.flush()
            os._exit(code)

    def _end(self, _: int, __: FrameType | None) -> None:
        self._ending = True
        for process in self._workers:
            with contextlib.suppress(ProcessLookupError):  # the signal came when it had just died
                os.kill(process, signal.SIGTERM)
