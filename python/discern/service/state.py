"""The live model: a model file plus the entries of the log after it.

Every worker follows the log by itself. Counts are sums, so all of them arrive at the same model. A state never changes:
learning makes a new one, and a request keeps the one it has. Entries that the model cannot apply are kept and reported;
they never stop a worker (see :mod:`discern.service.replay`).
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import discern._native as _native
import discern.models.file as files
from discern.classifier import Classifier
from discern.data.batch import Batch
from discern.data.lock import locked
from discern.evaluation.decisions import probability_given
from discern.evaluation.several.thresholds import probabilities_given
from discern.models.columns.text import FirstUses
from discern.models.naive_bayes import Model
from discern.service.log import Base, Change, Entry, Log, Row
from discern.service.replay import batch_of, replayed
from discern.service.store import Identity, Store

if TYPE_CHECKING:
    from discern.data.embedding.embedder import Embedder
    from discern.models.predictions import Predictions

POLL = 0.05
"""Seconds between two checks of the log."""
FILE_POLL = 1.0
"""Seconds between two checks of the model file."""
SIZE_POLL = 5.0
"""Seconds between two checks of the length of the log."""
AFTER_FAILURE = 60.0
"""Seconds until a failed compaction is tried again."""
SOON_BUILT = 20_000
"""Terms of a model whose table for single texts is built within milliseconds."""
PAUSE_FACTOR = 3.0
"""The pause after applying entries, in multiples of the time it took: a large model must not occupy a core."""


class BaseError(ValueError):
    """The model file and the log do not belong together."""


@dataclass(frozen=True)
class State:
    """A model that never changes: a base file and the entries up to a number.

    ``through`` is the last entry that the base file itself holds, ``floor`` that up to which the log was truncated when
    the file was read. ``unapplied`` are the entries that the model could not apply, with the reasons. ``log`` is the
    file of the log.
    """

    classifier: Classifier
    checksum: str
    sequence: int
    identity: tuple[int, ...] = ()
    through: int = 0
    floor: int = 0
    unapplied: Mapping[int, str] = field(default_factory=dict)
    log: Identity | None = None

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The labels."""
        return self.classifier.labels

    @property
    def has_several(self) -> bool:
        """Whether a row may have several labels."""
        return self.classifier.resolved.several is not None

    @cached_property
    def opening(self) -> tuple[bytes, ...]:
        """The beginning of an answer, for each label."""
        return tuple(b'{"label":' + json.dumps(label).encode() + b',"probability":' for label in self.labels)

    @cached_property
    def naming(self) -> tuple[bytes, ...]:
        """Each label as JSON, before its probability."""
        return tuple(json.dumps(label).encode() + b":" for label in self.labels)

    def answers(self, found: Predictions) -> list[bytes]:
        """Return the prediction for each row as JSON, with its novelty if that was asked for."""
        given, own = found.labels.tolist(), self.probabilities_of(found)
        rows = zip(given, own, found.probabilities.tolist(), found.known.tolist(), strict=True)
        parts = [
            self._head(label, share) + self._listed(shares) + b',"known_terms":%d' % known
            for label, share, shares, known in rows
        ]
        if found.novelty is None:
            return [part + b"}" for part in parts]
        return [
            part + b',"novelty":' + repr(novelty).encode() + b"}"
            for part, novelty in zip(parts, found.novelty.tolist(), strict=True)
        ]

    def probabilities_of(self, found: Predictions) -> list[Any]:
        """Return the probability of the label of each row, or of each of its labels."""
        given: Any = probabilities_given if self.has_several else probability_given
        return given(found.labels, found.probabilities, self.labels)  # type: ignore[no-any-return]

    def _head(self, label: Any, share: Any) -> bytes:
        return b'{"label":' + json.dumps(label).encode() + b',"probability":' + repr(share).encode()

    def _listed(self, shares: Sequence[float]) -> bytes:
        listed = b",".join([name + repr(share).encode() for name, share in zip(self.naming, shares, strict=True)])
        return b',"probabilities":{' + listed + b"}"

    def answer_to_text(self, text: str) -> bytes | None:
        """Return the prediction for one text as JSON, in the fast way; None if there is none for this model."""
        scorer = self.__dict__.get("_scorer")
        if scorer is None or self.classifier.decision is not None:
            self._uses.count()
            if self.classifier.solved.terms <= SOON_BUILT:
                self.build_if_used()
            return None
        scores, known = scorer.scores(text)
        _native.to_probabilities(scores[None], 1)
        shares = scores.tolist()
        best = max(range(len(shares)), key=shares.__getitem__)
        head = self.opening[best] + repr(shares[best]).encode()
        return head + self._listed(shares) + b',"known_terms":%d}' % known

    def predicted(self, rows: Sequence[dict[str, Any]], novelty: bool = False) -> list[bytes]:
        """Return the prediction for each row as JSON."""
        [found] = self.classifier.predictions(self.batch(rows), novelty=novelty)
        return self.answers(found)

    def predicted_labels(self, rows: Sequence[dict[str, Any]]) -> list[list[str]]:
        """Return the labels of each row; a list of one, unless it may have several."""
        found = self.classifier.predict(self.batch(rows)).tolist()
        return found if self.has_several else [[str(label)] for label in found]

    def build_if_used(self) -> None:
        """Build the table for single texts if some have come; for a large model in a background thread."""
        if self._uses.are_over:
            _ = self._scorer

    @cached_property
    def _uses(self) -> FirstUses:
        return FirstUses()

    @cached_property
    def _scorer(self) -> Any:
        """The fast way from one text to its scores, if there is one."""
        model = self.classifier.solved
        return model.text_scorer if isinstance(model, Model) and not self.has_several else None

    def make_ready(self) -> State:
        """Build the tables of the first predictions now, so that forked processes share them."""
        nothing = self.batch([{}])
        for work in (lambda: self._scorer, lambda: self.classifier.fitted.explained(nothing)):
            with contextlib.suppress(ValueError):  # a request for what this model cannot do is refused then
                work()
        return self

    def batch(self, rows: Sequence[dict[str, Any]], label: bool = False) -> Batch:
        """Return rows as columns; values that a row lacks are missing."""
        return batch_of(self.classifier, rows, label)

    @property
    def can_learn(self) -> bool:
        """Whether the model is naive Bayes and was not saved slim."""
        return self.classifier.fitted.can_learn

    @property
    def label(self) -> str:
        """The column that holds the labels."""
        return self.classifier.label

    def change(self, action: str, learn: Sequence[Row], forget: Sequence[Row]) -> Change:
        """Return a change to this model, with the roles of its columns."""
        used = {name for row in (*learn, *forget) for name in row}
        roles = {feature.name: feature.role for feature in self.classifier.features if feature.name in used}
        return Change(action, learn, forget, self.label, roles)

    def after(self, entries: Sequence[Entry]) -> State:
        """Return the state after entries; those that the model cannot apply are listed in ``unapplied``."""
        if not entries:
            return self
        classifier, unapplied = replayed(self.classifier, self.unapplied, entries)
        sequence = max(self.sequence, entries[-1].sequence)
        return replace(self, classifier=classifier, sequence=sequence, unapplied=unapplied)


def identity_of(path: Path) -> tuple[int, ...]:
    """Return the identity of a file, which changes when it is replaced."""
    status = path.stat()
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size


def read_base(path: Path, embedder: Embedder | None = None) -> State:
    """Read a model file and its identity."""
    while True:
        identity = identity_of(path)
        classifier, checksum = Classifier.load(path, embed=embedder), str(files.load(path)[1]["checksum"])
        if identity_of(path) == identity:  # else it was replaced meanwhile
            return State(classifier, checksum, 0, identity)


class LiveModel:
    """The state that answers, and the thread that keeps it up to date.

    ``log_event`` is called with the name of an event and plain facts, for the journal of the service.
    """

    def __init__(
        self, path: Path, store: Store | None, base: State, log_event: Callable[..., None], compact_after: int = 0
    ) -> None:
        self.path, self.store, self._log_event, self._compact_after = path, store, log_event, compact_after
        self._embedder = base.classifier.embedder
        self._changing = threading.RLock()
        self._wake, self._ending = threading.Event(), False
        self._file_checked = self._size_checked = 0.0
        self._refused: tuple[int, ...] | None = None
        self.failed: str | None = None
        self._reported: set[int] = set()
        self.state = base if store is None else self._load(base)
        self._report(self.state)
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
        """Whether the model can learn."""
        return self.store is not None

    @property
    def is_current(self) -> bool:
        """Whether the model file is the one that is served, or one that was refused."""
        try:
            return identity_of(self.path) in (self.state.identity, self._refused)
        except OSError:
            return True  # it is being replaced; the model in memory goes on

    def wake(self) -> None:
        """Look at the log now."""
        self._wake.set()

    def catch_up(self, sequence: int) -> None:
        """Apply the log up to an entry; numbers beyond its end are ignored."""
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
                    self._log_event("follow-failed", error=error)
                self.failed, worked = type(error).__name__, False
            took = time.monotonic() - began
            self._wake.wait(POLL)
            self._wake.clear()
            if worked and not self._ending:
                time.sleep(min(PAUSE_FACTOR * took, 5.0))

    def refresh(self) -> bool:
        """Apply changes of the file and of the log; return whether there were any."""
        with self._changing:
            reloaded = self._check_file()
            if self.store is None:
                return reloaded
            floor, entries = self.store.after(self.state.sequence)
            # Others have put entries into a new file; that of another machine is in the database.
            if floor > self.state.sequence or (floor > self.state.floor and not self.store.is_file):
                self._publish(self._load(read_base(self.path, self._embedder)))
                return True
            if entries:
                self._publish(self.state.after(entries))
            return bool(entries) or reloaded

    def _publish(self, state: State) -> None:
        _ = state.classifier.solved  # now, not when the first request comes
        self._report(state)
        self.state = state

    def _report(self, state: State) -> None:
        """Write a log line about entries that are not applied, once for each."""
        new = sorted(state.unapplied.keys() - self._reported)
        if new:
            self._log_event("entries-not-applied", entries=new[:100], number=len(new))
        self._reported = set(state.unapplied)

    def _check_file(self) -> bool:
        """Check once a second whether the file was replaced."""
        now = time.monotonic()
        if now - self._file_checked < FILE_POLL:
            return False
        self._file_checked = now
        return self.reload()

    def _compact_if_long(self) -> None:
        now = time.monotonic()
        if self.store is None or not self._compact_after or now - self._size_checked < SIZE_POLL:
            return
        self._size_checked = now
        if self.store.read(Log.size)[1] < self._compact_after:
            return
        try:
            self.compact()
        except (OSError, ValueError) as error:  # the old file and the log go on
            self._log_event("compaction-failed", error=error)
            self._size_checked = now + AFTER_FAILURE

    def reload(self) -> bool:
        """Serve the present model file, with the log on top; return whether it is another one.

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
                self._publish(self._load(read_base(self.path, self._embedder)))
            except (ValueError, OSError) as error:
                self._refused = identity
                self._log_event("reload-refused", error=error)
                raise
            self._refused = None
            self._log_event("reloaded", checksum=self.state.checksum, rows=self.state.classifier.info()["rows"])
            return True

    # --------------------------------------------------------------------------------------------- loading

    def _load(self, base: State, tries: int = 5) -> State:
        """Apply the log to a base, which may hold the first of its entries already."""
        if self.store is None:
            return base
        noted = self._base_of(base.checksum)
        if base.sequence and base.through != noted.through:  # a compaction has written the same file for later entries
            return self._load(read_base(self.path, self._embedder), tries)
        start = max(noted.through, base.sequence)
        again = noted.fresh and not base.sequence  # entries that were not applied to another file are tried on this one
        floor, entries = self.store.after(0 if again else start, most=1 << 62)
        if floor - start <= sum(start < entry.sequence <= floor for entry in entries):  # none of them has left the log
            unapplied = base.unapplied if base.sequence else {} if again else self.store.read(Log.reasons, start)
            known = replace(base, sequence=start, through=noted.through, floor=floor, unapplied=unapplied)
            return replace(known, log=self.store.identity).after(entries)
        if tries and identity_of(self.path) != base.identity:  # replaced while it was read
            return self._load(read_base(self.path, self._embedder), tries - 1)
        content = self.store.read(Log.newest_content)
        if tries and content is not None:
            _write_file(self.path, content)
            return self._load(read_base(self.path, self._embedder), tries - 1)
        raise BaseError(
            f"{str(self.path)!r} holds the feedback up to entry {noted.through} only, and the log no longer has the "
            f"entries up to {floor}: put the newer file back, or use --accept-file to go on without that feedback"
        )

    def _base_of(self, checksum: str) -> Base:
        """Return the base of a file; an unknown file begins where the log does."""
        assert self.store is not None
        with self.store.writing() as log:
            base = log.base(checksum)
            if base is None:
                base = Base(log.floor(), fresh=True)
                log.note_base(checksum, base)
            return base

    # ------------------------------------------------------------------------------------------- compacting

    def compact(self) -> int:
        """Write a new base with all entries of the log, then truncate the log; return the number of the last entry.

        At every moment the file and the log after it make up the model. The new file is read again and
        compared with the model in memory. Then its entries are recorded, it replaces the old file, and these
        entries leave the log. Entries that are not applied stay.
        """
        assert self.store is not None
        with self._changing, locked(self.path):
            _remove_leftovers(Path(os.path.realpath(self.path)))
            self._file_checked = 0.0
            while self.refresh():
                pass
            state = self.state
            if self._is_ahead(state):
                self._write_base(state)
                self._publish(self._load(read_base(self.path, self._embedder)))
            self.store.erase()
            return state.sequence

    def _is_ahead(self, state: State) -> bool:
        """Whether the log has entries for the file to take in."""
        assert self.store is not None
        floor = self.store.after(state.sequence)[0]
        return floor < state.sequence or any(
            number not in state.unapplied for number in self.store.read(Log.numbers, floor)
        )

    def _write_base(self, state: State) -> None:
        """Write a file, read it again, and only then put it in place and truncate the log."""
        assert self.store is not None
        target = Path(os.path.realpath(self.path))  # a link stays
        beside = target.with_name(f".{target.name}.compacting")
        try:
            checksum = state.classifier.save(beside)
            os.chmod(beside, target.stat().st_mode & 0o777)
            _verify(beside, checksum, state)
            # Other machines do not have this file: they find it in the database.
            content = None if self.store.is_file else beside.read_bytes()
            with self.store.writing() as log:
                log.note_base(checksum, Base(state.sequence, fresh=False), content)
                log.note_unapplied(state.sequence, state.unapplied)
            _rename(beside, target)
        finally:
            beside.unlink(missing_ok=True)
        self.store.truncate(state.sequence)
        self._log_event("compacted", through=state.sequence, checksum=checksum)


def _remove_leftovers(target: Path) -> None:
    """Remove files of a compaction that was killed: they may hold what is forgotten later."""
    starts = (f".{target.name}.compacting", f"..{target.name}.compacting.")
    for path in target.parent.iterdir():
        if path.name.startswith(starts):
            path.unlink(missing_ok=True)


def _verify(path: Path, checksum: str, state: State) -> None:
    """Read a new file from the disk, and refuse one that is not the model in memory."""
    written = read_base(path)
    if written.checksum != checksum or written.classifier.statistics != state.classifier.statistics:
        raise BaseError("the new model file differs from the model in memory; the old file and the log stay in use")
    _ = written.classifier.solved


def _write_file(path: Path, content: bytes) -> None:
    """Put a file in the place of another, whole or not at all."""
    path = Path(os.path.realpath(path))
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.compacting.", suffix=".part")
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
