"""The live model: a base file plus the entries of the log after it.

Every worker follows the log by itself. Counts are sums, so all of them arrive at the same model. A state never changes:
learning makes a new one, and whoever is predicting keeps the one it has.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import discern._native as _native
import discern.files as files
from discern.classifier import Classifier
from discern.data import Batch, DataError
from discern.decide import Decision, probability_given
from discern.lock import locked
from discern.mixed import FEW, Model
from discern.service.store import Change, Entry, Store

if TYPE_CHECKING:
    from numpy.typing import NDArray

POLL = 0.05
"""Seconds between two looks at the log."""
FILE_POLL = 1.0
"""Seconds between two looks at the model file."""
SIZE_POLL = 5.0
"""Seconds between two looks at the length of the log."""
SOON_BUILT = 20_000
"""Terms of a model whose table for single texts is built within milliseconds."""
REST = 3.0
"""After applying entries, rest so many times as long: a large model must not take all of a core."""


class BaseError(ValueError):
    """The model file and the log do not belong together."""


@dataclass(frozen=True)
class State:
    """A model that never changes, and what it is made of: a base file and the entries up to a number.

    ``through`` is the last entry that the base file itself holds.
    """

    classifier: Classifier
    checksum: str
    sequence: int
    identity: tuple[int, ...] = ()
    through: int = 0

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The labels."""
        return self.classifier.labels

    @cached_property
    def opening(self) -> tuple[bytes, ...]:
        """Each label as an answer begins with it."""
        return tuple(b'{"label":' + json.dumps(label).encode() + b',"probability":' for label in self.labels)

    @cached_property
    def naming(self) -> tuple[bytes, ...]:
        """Each label as it stands before its probability."""
        return tuple(json.dumps(label).encode() + b":" for label in self.labels)

    def answer(self, shares: Sequence[float]) -> bytes:
        """Give the prediction for a row as JSON."""
        if self.classifier.decision is not None:
            [label], [share] = self.decided(np.array([shares]))
            head = b'{"label":' + json.dumps(label).encode() + b',"probability":' + repr(share).encode()
        else:
            best = max(range(len(shares)), key=shares.__getitem__)
            head = self.opening[best] + repr(shares[best]).encode()
        listed = b",".join([name + repr(share).encode() for name, share in zip(self.naming, shares, strict=True)])
        return head + b',"probabilities":{' + listed + b"}}"

    def decided(self, shares: NDArray[np.float64]) -> tuple[list[str], list[float]]:
        """Give the label of each row, and its probability."""
        decision = self.classifier.decision or Decision.argmax()
        labels = decision(shares, self.labels)
        return labels.tolist(), probability_given(labels, shares, self.labels)

    def shares_of_text(self, text: str) -> list[float]:
        """Give the probabilities of one text, if the model decides by nothing else."""
        scorer = self.__dict__.get("_scorer")
        if scorer is None:
            return self._shares_without_table(text)
        # What the model's posterior does, for one row and without looking for threads.
        scores, known, _ = scorer.score([text], 1)
        calibration = self.classifier.calibration
        if calibration is not None:
            scores = scores / calibration.divisors(known)[:, None]
        _native.to_probabilities(scores, 1)
        return scores[0].tolist()  # type: ignore[no-any-return]

    def _shares_without_table(self, text: str) -> list[float]:
        self._uses.append(None)
        if self.classifier.solved.terms <= SOON_BUILT:
            self.build_if_used()
        return self.shares([{self.classifier.text or "text": text}])[0]

    def build_if_used(self) -> None:
        """Build the table for single texts, if some have come: of a large model in a thread that no one waits for."""
        if len(self._uses) > FEW:
            _ = self._scorer

    @cached_property
    def _uses(self) -> deque[None]:
        return deque(maxlen=FEW + 1)

    @cached_property
    def _scorer(self) -> Any:
        """The fast way from one text to its scores, if there is one."""
        model = self.classifier.solved
        column = model.only_text if isinstance(model, Model) else None
        return None if column is None or column.scores.weights is None else column.scorer

    def make_ready(self) -> State:
        """Build now what would be built for the first predictions; processes that are forked then share it."""
        nothing = self.batch([{}])
        for work in (lambda: self._scorer, lambda: self.classifier.solved.explain(nothing)):
            with contextlib.suppress(ValueError):  # whoever asks for what this model cannot do is told then
                work()
        return self

    def shares(self, rows: Sequence[dict[str, Any]]) -> list[list[float]]:
        """Give the probabilities of rows."""
        return self.classifier.predict_proba(self.batch(rows)).tolist()  # type: ignore[no-any-return]

    def batch(self, rows: Sequence[dict[str, Any]], label: bool = False) -> Batch:
        """Give rows as columns; what a row lacks is missing."""
        names = [feature.name for feature in self.classifier.features]
        return Batch(
            {name: [row.get(name) for row in rows] for name in [*names, *([self.label] if label else ())]}, len(rows)
        )

    @property
    def label(self) -> str:
        """The column that holds the labels."""
        return self.classifier.label

    def changed(self, changes: Sequence[Change], sequence: int) -> State:
        """Give the state after changes; raises DataError if a row that was never learned is to be forgotten."""
        fresh = _twin(self.classifier)
        for group in _groups(changes, fresh.min_df):
            learn = [row for change in group for row in change.learn]
            forget = [row for change in group for row in change.forget]
            fresh.exchange(self.batch(forget, label=True), self.batch(learn, label=True))
        return State(fresh, self.checksum, sequence, self.identity, self.through)


def _groups(changes: Sequence[Change], min_df: int) -> list[list[Change]]:
    """Give the changes in groups that are applied at once.

    Sums do not depend on the order, so all changes may be one group. Where rare terms are left out of files, what is
    forgotten depends on which terms are known: then changes that forget are applied one by one, in their order.
    """
    if min_df == 1:
        return [list(changes)] if changes else []
    groups: list[list[Change]] = []
    for change in changes:
        if groups and not change.forget and not groups[-1][-1].forget:
            groups[-1].append(change)
        else:
            groups.append([change])
    return groups


def _twin(classifier: Classifier) -> Classifier:
    """Give a classifier that shares all arrays with another, and learns on its own."""
    twin = Classifier.__new__(Classifier)
    twin.__dict__.update(classifier.__dict__)
    twin._lock = threading.RLock()
    return twin


def identity_of(path: Path) -> tuple[int, ...]:
    """Give what changes when a file is replaced."""
    status = path.stat()
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size


def read_base(path: Path) -> State:
    """Read a model file, together with what it is known by."""
    while True:
        identity = identity_of(path)
        classifier, checksum = Classifier.load(path), str(files.load(path)[1]["checksum"])
        if identity_of(path) == identity:  # else it was replaced meanwhile
            return State(classifier, checksum, 0, identity)


class Live:
    """The state that answers, and the thread that keeps it up to date.

    ``tell`` is called with the name of what happened and plain facts, for the log of the service.
    """

    def __init__(
        self, path: Path, store: Store | None, base: State, tell: Callable[..., None], compact_after: int = 0
    ) -> None:
        self.path, self.store, self._tell, self._compact_after = path, store, tell, compact_after
        self._changing = threading.RLock()
        self._wake, self._ending = threading.Event(), False
        self._looked = self._measured = 0.0
        self._refused: tuple[int, ...] | None = None
        self.failed: str | None = None
        self.state = base if store is None else self._load(base)
        self._thread = threading.Thread(target=self._follow, name="follower", daemon=True)

    def start(self) -> None:
        """Begin to follow the log and the file."""
        self._thread.start()

    def stop(self) -> None:
        """Follow no longer."""
        self._ending = True
        self._wake.set()
        self._thread.join()

    @property
    def can_learn(self) -> bool:
        """Whether the model is a sum of its rows."""
        return self.store is not None

    def wake(self) -> None:
        """Look at the log now."""
        self._wake.set()

    def catch_up(self, sequence: int) -> None:
        """Take in the log up to an entry; what was acknowledged is there, and other numbers are of no matter."""
        with self._changing:
            while self.state.sequence < sequence and self.refresh():
                pass

    # ------------------------------------------------------------------------------------------- following

    def _follow(self) -> None:
        while not self._ending:
            began = time.monotonic()
            try:
                worked = self.refresh()
                self.state.build_if_used()
                self._compact_if_long()
                self.failed = None
            except Exception as error:  # the next look may go well; until then the old state answers
                if self.failed is None:
                    self._tell("follow-failed", error=error)
                self.failed, worked = type(error).__name__, False
            took = time.monotonic() - began
            self._wake.wait(POLL)
            self._wake.clear()
            if worked and not self._ending:
                time.sleep(min(REST * took, 5.0))

    def refresh(self) -> bool:
        """Take in what is new in the file and in the log; say whether there was anything."""
        with self._changing:
            reloaded = self._look_at_file()
            if self.store is None:
                return reloaded
            floor, entries = self.store.after(self.state.sequence)
            # Others have put entries into a new file; that of another machine is in the database.
            if floor > self.state.sequence or (floor > self.state.through and not self.store.is_file):
                self._publish(self._load(read_base(self.path)))
                return True
            if entries:
                self._publish(self._applied(self.state, entries))
            return bool(entries) or reloaded

    def _applied(self, state: State, entries: Sequence[Entry]) -> State:
        return state.changed([entry.change for entry in entries], entries[-1].sequence)

    def _publish(self, state: State) -> None:
        self.state = state

    def _look_at_file(self) -> bool:
        """Now and then, see whether the file was replaced, and whether the log is long enough to write a new one."""
        now = time.monotonic()
        if now - self._looked < FILE_POLL:
            return False
        self._looked = now
        return self.reload()

    def _compact_if_long(self) -> None:
        now = time.monotonic()
        if self.store is None or not self._compact_after or now - self._measured < SIZE_POLL:
            return
        self._measured = now
        if self.store.size()[1] >= self._compact_after:
            self.compact()

    def reload(self) -> bool:
        """Serve the model file that is there now, with the log on top; say whether it is another one.

        A file that cannot be served is refused, and the old model goes on.
        """
        with self._changing:
            try:
                identity = identity_of(self.path)
            except OSError:
                return False  # it is being replaced; the model in memory goes on
            if identity in (self.state.identity, self._refused):
                return False
            try:
                self._publish(self._load(read_base(self.path)))
            except (ValueError, OSError) as error:
                self._refused = identity
                self._tell("reload-refused", error=error)
                raise
            self._refused = None
            self._tell("reloaded", checksum=self.state.checksum, rows=self.state.classifier.info()["rows"])
            return True

    # --------------------------------------------------------------------------------------------- loading

    def _load(self, base: State, tries: int = 5) -> State:
        """Put the log on top of a base, which may hold the first of its entries already."""
        if self.store is None:
            return base
        through = self._known(base.checksum)
        if base.sequence and base.through != through:  # a compaction has written the same file again, for later entries
            return self._load(read_base(self.path), tries)
        start = max(through, base.sequence)
        floor, entries = self.store.after(start, most=1 << 62)
        if floor <= start:
            known = replace(base, sequence=start, through=through)
            return self._applied(known, entries) if entries else known
        if tries and identity_of(self.path) != base.identity:  # replaced while it was read
            return self._load(read_base(self.path), tries - 1)
        content = self.store.newest_content()
        if tries and content is not None:
            _write_file(self.path, content)
            return self._load(read_base(self.path), tries - 1)
        raise BaseError(
            f"{str(self.path)!r} holds the feedback up to number {through} only; the log no longer has what came up to "
            f"{floor}: put the newer file back, or use --accept-file to go on without that feedback"
        )

    def _known(self, checksum: str) -> int:
        """Give the entries that a file holds; one that is new here begins where the log does."""
        assert self.store is not None
        with self.store.writing() as log:
            through = log.through(checksum)
            if through is None:
                through = log.floor()
                log.note_base(checksum, through)
            return through

    # ------------------------------------------------------------------------------------------- compacting

    def compact(self) -> int:
        """Write a new base with all of the log in it, then cut the log off; give the number of the last entry in it.

        At every moment the file that is there and the log after it make up the model: first it is noted which entries
        the new file holds, then it takes the place of the old one, then these entries leave the log.
        """
        assert self.store is not None
        with self._changing, locked(self.path):
            self._looked = 0.0
            while self.refresh():
                pass
            state = self.state
            if state.sequence > self.store.after(state.sequence)[0]:
                self._write_base(state)
                self._publish(self._load(read_base(self.path)))
            return state.sequence

    def _write_base(self, state: State) -> None:
        assert self.store is not None
        beside = self.path.with_name(f".{self.path.name}.compacting")
        checksum = state.classifier.save(beside)
        os.chmod(beside, self.path.stat().st_mode & 0o777)
        # Other machines do not have this file: they find it in the database.
        content = None if self.store.is_file else beside.read_bytes()
        with self.store.writing() as log:
            log.note_base(checksum, state.sequence, content)
        _rename(beside, self.path)
        self.store.forget_through(state.sequence)
        self._tell("compacted", through=state.sequence, checksum=checksum)


def _write_file(path: Path, content: bytes) -> None:
    """Put a file in the place of another, whole or not at all."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    _rename(Path(temporary), path)


def _rename(source: Path, target: Path) -> None:
    os.replace(source, target)
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def trial(state: State, changes: Sequence[Change]) -> State:
    """Give the state after changes that are not in the log yet; raises DataError if they cannot be made."""
    try:
        return state.changed(changes, state.sequence)
    except ValueError as error:
        raise DataError(str(error)) from error
