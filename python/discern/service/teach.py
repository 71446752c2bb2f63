"""Teaching: one thread writes what many requests ask for, as many of them in a commit as are waiting."""

from __future__ import annotations

import queue
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from discern.data import DataError
from discern.service.live import Live, State, trial
from discern.service.problems import Problem
from discern.service.store import Change, Log, Receipt, Store, StoreError

MOST_AT_ONCE = 256
"""Requests in one commit."""
RETRIES = 8
"""How often a commit is tried again because the log was cut off meanwhile."""


@dataclass(frozen=True)
class Ask:
    """What a request wants written: a change, or the undoing of an entry; ``digest`` is that of the whole request."""

    change: Change | None
    undo: int | None = None
    key: str | None = None
    digest: str = ""
    answer: Future[Receipt] = field(default_factory=Future)


class _CutOffError(Exception):
    """The log was cut off after the state that was to be judged by."""


class Teacher:
    """Writes to the log; what it answers is durable."""

    def __init__(self, store: Store, live: Live) -> None:
        self._store, self._live = store, live
        self._asks: queue.SimpleQueue[Ask | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write, name="teacher", daemon=True)
        self.commits = 0

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def stop(self) -> None:
        """Write what is waiting, and end."""
        self._asks.put(None)
        self._thread.join()

    def ask(self, ask: Ask) -> Future[Receipt]:
        """Have something written; the future has the receipt once it is durable, or a :class:`Problem`."""
        self._asks.put(ask)
        return ask.answer

    def _write(self) -> None:
        while True:
            first = self._asks.get()
            if first is None:
                return
            group, more = [first], True
            while more and len(group) < MOST_AT_ONCE and not self._asks.empty():
                following = self._asks.get()
                more = following is not None
                group += [following] if following is not None else []
            self._answer(group)
            if not more:
                return

    def _answer(self, group: Sequence[Ask]) -> None:
        try:
            outcomes = self._commit(group)
            self.commits += 1
        except StoreError as error:
            retry = {"Retry-After": "1"}
            outcomes = [
                Problem(503, "not-durable", f"{error}; send it again with the same Idempotency-Key", retry)
            ] * len(group)
        except Exception as error:
            for ask in group:
                ask.answer.set_exception(error)
            return
        self._live.wake()
        for ask, outcome in zip(group, outcomes, strict=True):
            if isinstance(outcome, Problem):
                ask.answer.set_exception(outcome)
            else:
                ask.answer.set_result(outcome)

    def _commit(self, group: Sequence[Ask]) -> list[Receipt | Problem]:
        judged = any(ask.change is None or ask.change.forget for ask in group)
        for _ in range(RETRIES):
            if judged:
                self._live.refresh()
            try:
                with self._store.writing() as log:
                    writing = _Writing(log, self._live.state)
                    return [writing.outcome(ask) for ask in group]
            except _CutOffError:
                continue
        raise StoreError("the log is being cut off again and again")


class _Writing:
    """One commit: requests in order, each judged by the model as it is after those before it."""

    def __init__(self, log: Log, state: State) -> None:
        self._log, self._state = log, state
        self._pending: list[Change] = []
        self._current = False

    def outcome(self, ask: Ask) -> Receipt | Problem:
        """Write what is asked for, or say why not."""
        try:
            return self._repeated(ask) or self._written(ask)
        except Problem as problem:
            return problem

    def _repeated(self, ask: Ask) -> Receipt | None:
        known = self._log.answered(ask.key) if ask.key is not None else None
        if known is None:
            return None
        if known[0] != ask.digest:
            raise Problem(422, "key-reused", "this Idempotency-Key was used for another request; use a new one")
        return known[1]

    def _written(self, ask: Ask) -> Receipt:
        change = ask.change or self._undoing(ask.undo or 0)
        self._judge(change)
        receipt = self._log.append(change)
        if ask.undo is not None:
            self._log.mark_undone(ask.undo, receipt.sequence)
        if ask.key is not None:
            self._log.remember(ask.key, ask.digest, receipt)
        return receipt

    def _undoing(self, sequence: int) -> Change:
        entry = self._log.entry(sequence)
        if entry is None:
            raise Problem(
                404, "gone", f"the log has no entry {sequence} (any more); send its rows to forget or relabel"
            )
        if entry.undone_by is not None:
            raise Problem(409, "undone", f"entry {sequence} has been undone by entry {entry.undone_by}")
        return entry.change.reversed()

    def _judge(self, change: Change) -> None:
        """Refuse to forget rows that were never learned: every worker must be able to follow."""
        if not change.forget:
            if self._current:
                self._pending.append(change)
            return
        self._catch_up()
        try:
            self._state = trial(self._state, [*self._pending, change])
        except DataError as error:
            raise Problem(409, "never-learned", str(error)) from error
        self._pending = []

    def _catch_up(self) -> None:
        """Take in what others, or this commit, have written since the state."""
        if self._current:
            return
        floor, entries = self._log.after(self._state.sequence, 1 << 62)
        if floor > self._state.sequence:
            raise _CutOffError
        self._pending, self._current = [entry.change for entry in entries], True
