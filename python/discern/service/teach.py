"""Writing feedback: one thread commits the requests that are waiting, many at once.

Every entry is tried before it is acknowledged. Writers take turns, so the trial starts from the same entries as every
worker and every restart: they can apply whatever the trial could.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field

from discern.service.log import Change, Entry, Log, Receipt
from discern.service.problems import Problem
from discern.service.replay import REFUSALS, label_of, objection, try_to_sum
from discern.service.state import LiveModel, State
from discern.service.store import Store, StoreError

MOST_AT_ONCE = 256
"""Requests in one commit."""
RETRIES = 8
"""The number of times that a commit is tried again because the log was truncated meanwhile."""


@dataclass(frozen=True)
class FeedbackRequest:
    """A change to write, or an entry to undo; ``digest`` is that of the whole request."""

    change: Change | None
    undo: int | None = None
    key: str | None = None
    digest: str = ""
    answer: Future[Receipt] = field(default_factory=Future)


class _TruncatedError(Exception):
    """The log was truncated beyond the state of the trial."""


class _RefusedError(Exception):
    """The model cannot apply an entry."""

    def __init__(self, entry: Entry, reason: str) -> None:
        super().__init__(reason)
        self.problem = (
            Problem(409, "never-learned", reason) if entry.change.forget else Problem(409, "cannot-apply", reason)
        )


class FeedbackWriter:
    """Writes feedback to the log; a receipt means that it is durable."""

    def __init__(self, store: Store, live: LiveModel) -> None:
        self._store, self._live = store, live
        self._requests: queue.SimpleQueue[FeedbackRequest | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write, name="feedback", daemon=True)
        self._trial: Trial | None = None
        self.commits = 0

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def stop(self) -> None:
        """Write what is waiting, and end."""
        self._requests.put(None)
        self._thread.join()

    def submit(self, request: FeedbackRequest) -> Future[Receipt]:
        """Queue a request; the future has the receipt once it is durable, or a :class:`Problem`."""
        self._requests.put(request)
        return request.answer

    def _write(self) -> None:
        while True:
            first = self._requests.get()
            if first is None:
                return
            group, more = [first], True
            while more and len(group) < MOST_AT_ONCE and not self._requests.empty():
                following = self._requests.get()
                more = following is not None
                group += [following] if following is not None else []
            self._answer(group)
            if not more:
                return

    def _answer(self, group: Sequence[FeedbackRequest]) -> None:
        try:
            outcomes = self._commit(group)
            self.commits += 1
        except StoreError as error:
            retry = {"Retry-After": "1"}
            outcomes = [
                Problem(503, "not-durable", f"{error}; send it again with the same Idempotency-Key", retry)
            ] * len(group)
        except Exception as error:
            for request in group:
                request.answer.set_exception(error)
            return
        self._live.wake()
        for request, outcome in zip(group, outcomes, strict=True):
            if isinstance(outcome, Problem):
                request.answer.set_exception(outcome)
            else:
                request.answer.set_result(outcome)

    def _commit(self, group: Sequence[FeedbackRequest]) -> list[Receipt | Problem]:
        for _ in range(RETRIES):
            if not self._live.is_current:
                with suppress(
                    ValueError, OSError
                ):  # a file that cannot be served is refused, and the old model goes on
                    self._live.reload()
            try:
                with self._store.writing() as log:
                    writing = _Commit(log, self._continued())
                    outcomes = writing.outcomes(group)
            except _TruncatedError:
                self._live.refresh()
                continue
            self._trial = writing.trial
            return outcomes
        raise StoreError("the log is truncated again and again")

    def _continued(self) -> Trial:
        """Return the trial of the last commit, if it is still ahead of the state that answers."""
        state, known = self._live.state, self._trial
        return Trial(state) if known is None else known.continued(state)


@dataclass(frozen=True)
class Trial:
    """The model after entries that are being written: a state, and entries after it that it can certainly learn.

    Adding up all counts of a large model takes longer than a commit. It is only done for entries that the model might
    refuse: those that forget rows or bring a new label.
    """

    state: State
    pending: tuple[Entry, ...] = ()

    @property
    def sequence(self) -> int:
        """The number of the last entry."""
        return self.pending[-1].sequence if self.pending else self.state.sequence

    def continued(self, state: State) -> Trial:
        """Return the trial on top of the state that answers now."""
        if state.identity != self.state.identity or state.sequence > self.sequence:
            return Trial(state)
        if state.sequence < self.state.sequence:
            return self
        return Trial(state, tuple(entry for entry in self.pending if entry.sequence > state.sequence))

    def after(self, entries: Sequence[Entry]) -> Trial:
        """Return the trial after more entries."""
        if all(self._can_surely_learn(entry.change) for entry in entries):
            with suppress(*REFUSALS):
                try_to_sum(self.state.classifier, [row for entry in entries for row in entry.change.learn])
                return Trial(self.state, (*self.pending, *entries))
        return Trial(self.state.after([*self.pending, *entries]))

    def _can_surely_learn(self, change: Change) -> bool:
        if change.forget or change.undoes is not None or objection(change, self.state.classifier, {}) is not None:
            return False
        return {label_of(row, change) for row in change.learn} <= {*self.state.classifier.statistics.labels}


class _Commit:
    """One commit: requests in order, each tried on the model after those before it."""

    def __init__(self, log: Log, trial: Trial) -> None:
        self._log = log
        floor, entries = log.after(trial.sequence, 1 << 62)
        if floor > trial.sequence:
            raise _TruncatedError
        self.trial = trial.after(entries) if entries else trial

    def outcomes(self, requests: Sequence[FeedbackRequest]) -> list[Receipt | Problem]:
        """Write the requests that the model can apply; the others are found by bisection."""
        try:
            with self._log.savepoint():
                outcomes = [self._outcome(request) for request in requests]
                self.trial = self._tried()
                return outcomes
        except _RefusedError as refused:
            if len(requests) == 1:
                return [refused.problem]
        middle = len(requests) // 2
        return [*self.outcomes(requests[:middle]), *self.outcomes(requests[middle:])]

    def _tried(self) -> Trial:
        """Apply what has just been written, as every worker will read it."""
        entries = self._log.after(self.trial.sequence, 1 << 62)[1]
        if not entries:
            return self.trial
        trial = self.trial.after(entries)
        for entry in entries:
            reason = trial.state.unapplied.get(entry.sequence)
            if reason is not None:
                raise _RefusedError(entry, reason)
        return trial

    def _outcome(self, request: FeedbackRequest) -> Receipt | Problem:
        try:
            return self._repeated(request) or self._written(request)
        except Problem as problem:
            return problem

    def _repeated(self, request: FeedbackRequest) -> Receipt | None:
        known = self._log.receipt_of(request.key) if request.key is not None else None
        if known is None:
            return None
        if known[0] != request.digest:
            raise Problem(422, "key-reused", "this Idempotency-Key was used for another request; use a new one")
        return known[1]

    def _written(self, request: FeedbackRequest) -> Receipt:
        receipt = self._log.append(request.change or self._undoing(request.undo or 0))
        if request.undo is not None:
            self._log.mark_undone(request.undo, receipt.sequence)
        if request.key is not None:
            self._log.remember(request.key, request.digest, receipt)
        return receipt

    def _undoing(self, sequence: int) -> Change:
        entry = self._log.entry(sequence)
        if entry is None:
            raise Problem(
                404, "gone", f"the log has no entry {sequence}, or no longer has it; send its rows to forget or relabel"
            )
        if entry.undone_by is not None:
            raise Problem(409, "undone", f"entry {sequence} has been undone by entry {entry.undone_by}")
        if sequence not in self.trial.state.unapplied:
            return entry.change.reversed(sequence)
        self._log.withdraw(sequence)  # the model does not hold its rows, so they only leave the log
        return Change("undo", undoes=sequence)
