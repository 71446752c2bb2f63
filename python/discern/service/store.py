"""The feedback log: durable before it is acknowledged, never applied twice.

An entry says which rows were learned and which forgotten; relabelling is both at once, and undoing an entry is the
entry the other way round. Entries have consecutive numbers in the order of their commits, because writers take turns:
on SQLite by a file lock that also covers opening, checkpoints and closing (before version 3.51.3 its write-ahead log
can be corrupted by two connections that write or checkpoint at the same time); on PostgreSQL by an advisory lock.

A model file and the log belong together by the table of bases: a file with checksum C holds the entries up to number T,
except those that are still in the log with a reason why they were not applied.

The log of a running service is one file. If it is removed or replaced, nothing more is acknowledged.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import sqlalchemy as sql
from sqlalchemy import event

from discern.data.lock import locked

Row = dict[str, Any]

SOUND_SQLITE = (3, 51, 3)
"""From this version on several connections may write and checkpoint a write-ahead log at the same time."""
KEYS_KEPT = 30 * 86400.0
"""Seconds for which an Idempotency-Key is remembered."""
ADVISORY = 0x64697363
"""The number of our lock in PostgreSQL."""
WAIT = 30.0
"""Seconds to wait for a lock of the database."""

_TABLES = sql.MetaData()
_LOG = sql.Table(
    "discern_log",
    _TABLES,
    sql.Column("sequence", sql.BigInteger, primary_key=True, autoincrement=False),
    sql.Column("action", sql.String(16), nullable=False),
    sql.Column("content", sql.Text, nullable=False),
    sql.Column("rows", sql.BigInteger, nullable=False),
    sql.Column("created", sql.Float, nullable=False),
    sql.Column("undone_by", sql.BigInteger),
    sql.Column("reason", sql.Text),
)
"""``reason`` says why an entry that a compaction has left in the log is not applied."""
_KEYS = sql.Table(
    "discern_keys",
    _TABLES,
    sql.Column("key", sql.String(255), primary_key=True),
    sql.Column("digest", sql.String(64), nullable=False),
    sql.Column("sequence", sql.BigInteger, nullable=False),
    sql.Column("rows", sql.BigInteger, nullable=False),
    sql.Column("created", sql.Float, nullable=False),
)
_BY_AGE = sql.Index("discern_keys_created", _KEYS.c.created)
"""Old keys are looked for with every new one: without this that would read all of them."""
_BASES = sql.Table(
    "discern_bases",
    _TABLES,
    sql.Column("checksum", sql.String(64), primary_key=True),
    sql.Column("through", sql.BigInteger, nullable=False),
    sql.Column("fresh", sql.Boolean, nullable=False),
    sql.Column("content", sql.LargeBinary),
)
"""A ``fresh`` file is not a compaction's: entries that were not applied before are tried on it again."""
_FACTS = sql.Table(
    "discern_facts",
    _TABLES,
    sql.Column("name", sql.String(32), primary_key=True),
    sql.Column("value", sql.String(64), nullable=False),
)
for _table, _column in ((_LOG, "content"), (_LOG, "reason"), (_BASES, "content")):
    # The statistics that PostgreSQL gathers are samples of the values, which would outlive them.
    _statement = f"ALTER TABLE {_table.name} ALTER COLUMN {_column} SET STATISTICS 0"
    _unsampled = sql.DDL(_statement).execute_if(dialect="postgresql")  # type: ignore[no-untyped-call]
    event.listen(_table, "after_create", _unsampled)
Identity = tuple[tuple[int, int], ...]
"""The device and number of each file of a log."""


class StoreError(Exception):
    """The log could not be read or written; nothing was acknowledged."""


class LogGoneError(StoreError):
    """The file of the log was removed or replaced while the service runs."""

    def __init__(self, place: str) -> None:
        super().__init__(
            f"the feedback log {place!r} was removed or replaced while the service runs; nothing more can be "
            "acknowledged until the service is restarted"
        )


@dataclass(frozen=True)
class Change:
    """Rows to learn and rows to forget, with their labels.

    ``label`` is the column of the labels and ``roles`` are the roles of the other columns in the model that the rows
    were written for. ``undoes`` is the entry that this change takes back.
    """

    action: str
    learn: Sequence[Row] = ()
    forget: Sequence[Row] = ()
    label: str = "label"
    roles: Mapping[str, str] = field(default_factory=dict)
    undoes: int | None = None

    @property
    def rows(self) -> int:
        """The number of rows that it is about."""
        return max(len(self.learn), len(self.forget))

    def reversed(self, sequence: int | None = None) -> Change:
        """Return the change that takes this one, the entry with a number, back."""
        return replace(self, action="undo", learn=self.forget, forget=self.learn, undoes=sequence)

    def to_text(self) -> str:
        """Return the content as JSON in ASCII: a NUL or a surrogate does not reach the database."""
        content = {
            "learn": list(self.learn),
            "forget": list(self.forget),
            "label": self.label,
            "roles": dict(self.roles),
            "undoes": self.undoes,
        }
        return json.dumps(content, separators=(",", ":"))


@dataclass(frozen=True)
class Entry:
    """A change that is in the log for good."""

    sequence: int
    change: Change
    created: float
    undone_by: int | None = None
    reason: str | None = None


@dataclass(frozen=True)
class Base:
    """What is known of a model file: the last entry that it holds, and whether a compaction has written it."""

    through: int
    fresh: bool


@dataclass(frozen=True)
class Receipt:
    """What is acknowledged: the number of the entry; ``repeated`` if it was there before under the same key."""

    sequence: int
    rows: int
    repeated: bool = False


class Store:
    """The log, in a file or on a PostgreSQL server; open it after forking.

    ``same`` is the identity of the file that the service began with: another one is refused, and none is made.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/m.feedback") as store:
    ...     with store.writing() as log:
    ...         number = log.append(Change("learn", [{"label": "spam", "text": "win"}])).sequence
    ...     [entry.change.learn for entry in store.after(0)[1]], number
    ([[{'label': 'spam', 'text': 'win'}]], 1)
    """

    def __init__(self, place: str, synchronous: str = "FULL", same: Identity | None = None) -> None:
        self.place, self.synchronous = place, synchronous
        self.is_file = "://" not in place
        self._turn = threading.RLock()
        self._identity: Identity = ()
        with self._alone(), _told(place):
            if self.is_file:
                _prepare(Path(place), same)
            self._writer = self._engine("BEGIN IMMEDIATE")
            self._reader = self._engine("BEGIN", query_only=True)
            with self._writer.begin() as connection:
                if not self.is_file:
                    _take_turns(connection)
                _TABLES.create_all(connection)
                self._secret = Log(connection).secret()
            # The connections are made now, in our turn, and stay in their pools.
            with self._reader.begin() as connection:
                connection.execute(sql.select(_FACTS.c.value).limit(1))
            self._identity = self._identity_now()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def engine(self) -> str:
        """The name and version of the database engine."""
        if self.is_file:
            return f"SQLite {sqlite3.sqlite_version}"
        return f"PostgreSQL {'.'.join(map(str, self._writer.dialect.server_version_info or ()))}"

    @property
    def is_sound_with_several_writers(self) -> bool:
        """Whether the database engine itself keeps several writers apart; else only our lock does."""
        return not self.is_file or sqlite3.sqlite_version_info >= SOUND_SQLITE

    @property
    def identity(self) -> Identity:
        """The file that is open; of a server nothing."""
        return self._identity[:1]

    def _identity_now(self) -> Identity:
        """Return the identities of the database, its write-ahead log and the index of that, as they are on the disk."""
        if not self.is_file:
            return ()
        try:
            found = [os.stat(self.place + end) for end in ("", "-wal", "-shm")]
        except FileNotFoundError:
            return ()
        return tuple((one.st_dev, one.st_ino) for one in found)

    def _refuse_if_gone(self) -> None:
        """Refuse to go on if the open files no longer have their names: whoever opens the log would not see them."""
        if self._identity_now() != self._identity:
            raise LogGoneError(self.place)

    def digest(self, action: str, body: bytes) -> str:
        """Return a digest of a request, keyed: without the log's secret it does not tell which text was sent."""
        return hashlib.blake2b(action.encode() + b"\0" + body, key=self._secret, digest_size=32).hexdigest()

    def close(self) -> None:
        """Close the connections; the last one to go empties the write-ahead log into the file."""
        with self._alone():
            self._reader.dispose()
            self._writer.dispose()

    def _engine(self, begin: str, query_only: bool = False) -> sql.Engine:
        if not self.is_file:
            address = "postgresql+psycopg://" + self.place.split("://", 1)[1]
            options = {"connect_timeout": 10, "options": "-c synchronous_commit=on"}
            return sql.create_engine(address, pool_size=1, max_overflow=2, pool_pre_ping=True, connect_args=options)
        engine = sql.create_engine(
            sql.URL.create("sqlite", database=os.path.abspath(self.place)),
            pool_size=1,
            max_overflow=0,
            pool_timeout=WAIT,
            connect_args={"timeout": WAIT, "isolation_level": None, "check_same_thread": False},
        )

        @event.listens_for(engine, "connect")
        def prepare(connection: sqlite3.Connection, _: object) -> None:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute(f"PRAGMA synchronous={self.synchronous}")
            connection.execute("PRAGMA secure_delete=ON")  # what was compacted away is overwritten
            if query_only:
                connection.execute("PRAGMA wal_autocheckpoint=0")
                connection.execute("PRAGMA query_only=ON")

        @event.listens_for(engine, "begin")
        def start(connection: sql.Connection) -> None:
            connection.exec_driver_sql(begin)

        return engine

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other threads and, with a file, other processes from writing meanwhile."""
        with ExitStack() as stack:
            stack.enter_context(self._turn)
            if self.is_file:
                stack.enter_context(locked(Path(self.place)))
            yield

    # --------------------------------------------------------------------------------------------- writing

    @contextmanager
    def writing(self) -> Iterator[Log]:
        """Write entries: all of them are durable when this ends without an error, or none is there."""
        with self._alone(), _told(self.place), self._writer.connect() as connection:
            self._refuse_if_gone()
            try:
                with connection.begin():
                    if not self.is_file:
                        _take_turns(connection)
                    yield Log(connection)
            except (sql.exc.DBAPIError, OSError):
                connection.invalidate()  # what it holds may differ from what is on the disk
                raise
            self._refuse_if_gone()

    def forget_through(self, sequence: int) -> None:
        """Delete the entries that a base holds; those with a reason why they were not applied stay."""
        with self.writing() as log:
            log.truncate(sequence)

    def erase(self) -> None:
        """Remove deleted text from the files of the database, outside of a transaction."""
        with self._alone(), _told(self.place), self._writer.connect() as connection:
            if self.is_file:
                raw = connection.connection.driver_connection
                assert raw is not None
                [(is_busy, *_)] = raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                if is_busy:
                    raise StoreError(f"the feedback log ({self.place}) is being read for too long to be emptied")
                return
            own = connection.execution_options(isolation_level="AUTOCOMMIT")
            own.exec_driver_sql(f"SET lock_timeout = '{int(WAIT)}s'")
            for table in (_LOG, _BASES):  # a model kept in the database holds words too
                own.exec_driver_sql(f"VACUUM (FULL) {table.name}")
            own.exec_driver_sql("RESET lock_timeout")

    # --------------------------------------------------------------------------------------------- reading

    def after(self, sequence: int, most: int = 10_000) -> tuple[int, list[Entry]]:
        """Return the number up to which the log has been cut off, and the entries after a number, in order."""
        self._refuse_if_gone()
        with _told(self.place), self._reader.begin() as connection:
            return Log(connection).after(sequence, most)

    def recent(self, most: int) -> list[Entry]:
        """Return the latest entries, the last first."""
        query = sql.select(_LOG).order_by(_LOG.c.sequence.desc()).limit(most)
        with _told(self.place), self._reader.begin() as connection:
            return [_entry(row) for row in connection.execute(query)]

    def kept(self, through: int) -> dict[int, str]:
        """Return the entries up to a number that compactions have left in the log, with the reasons."""
        query = sql.select(_LOG.c.sequence, _LOG.c.reason).where(_LOG.c.sequence <= through, _LOG.c.reason.is_not(None))
        with _told(self.place), self._reader.begin() as connection:
            return {row.sequence: row.reason for row in connection.execute(query)}

    def numbers(self, through: int) -> list[int]:
        """Return the numbers of the entries in the log, up to a number."""
        query = sql.select(_LOG.c.sequence).where(_LOG.c.sequence <= through).order_by(_LOG.c.sequence)
        with _told(self.place), self._reader.begin() as connection:
            return [int(row.sequence) for row in connection.execute(query)]

    def size(self) -> tuple[int, int]:
        """Return the number of entries and of rows that the next compaction may take out of the log."""
        query = sql.select(sql.func.count(), sql.func.coalesce(sql.func.sum(_LOG.c.rows), 0))
        query = query.select_from(_LOG).where(_LOG.c.reason.is_(None))
        with _told(self.place), self._reader.begin() as connection:
            entries, rows = connection.execute(query).one()
            return int(entries), int(rows)

    def newest_content(self) -> bytes | None:
        """Return the newest model file that is kept in the database."""
        query = sql.select(_BASES.c.content).where(_BASES.c.content.is_not(None)).order_by(_BASES.c.through.desc())
        with _told(self.place), self._reader.begin() as connection:
            content = connection.execute(query.limit(1)).scalar_one_or_none()
            return None if content is None else bytes(content)


class Log:
    """The log within a transaction."""

    def __init__(self, connection: sql.Connection) -> None:
        self._connection = connection

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Write; whatever is written is taken back if this ends with an error."""
        with self._connection.begin_nested():
            yield

    def _fact(self, name: str) -> str | None:
        value = self._connection.execute(sql.select(_FACTS.c.value).where(_FACTS.c.name == name)).scalar_one_or_none()
        return None if value is None else str(value)

    def _note_fact(self, name: str, value: str) -> None:
        self._connection.execute(_FACTS.delete().where(_FACTS.c.name == name))
        self._connection.execute(_FACTS.insert().values(name=name, value=value))

    def secret(self) -> bytes:
        """Return the key of the digests; it is made once for each log."""
        known = self._fact("secret")
        if known is None:
            known = secrets.token_hex(32)
            self._note_fact("secret", known)
        return bytes.fromhex(known)

    def floor(self) -> int:
        """Return the number up to which the log has been cut off."""
        return int(self._fact("floor") or 0)

    def head(self) -> int:
        """Return the number of the last entry."""
        last = self._connection.execute(sql.select(sql.func.max(_LOG.c.sequence))).scalar_one_or_none()
        return max(int(last or 0), self.floor())

    def after(self, sequence: int, most: int = 10_000) -> tuple[int, list[Entry]]:
        """Return the floor, and the entries after a number, in order."""
        query = sql.select(_LOG).where(_LOG.c.sequence > sequence).order_by(_LOG.c.sequence).limit(most)
        return self.floor(), [_entry(row) for row in self._connection.execute(query)]

    def append(self, change: Change) -> Receipt:
        """Add an entry."""
        number = self.head() + 1
        self._connection.execute(
            _LOG.insert().values(
                sequence=number,
                action=change.action,
                content=change.to_text(),
                rows=change.rows,
                created=time.time(),
            )
        )
        return Receipt(number, change.rows)

    def entry(self, sequence: int) -> Entry | None:
        """Return an entry, if it is still there."""
        row = self._connection.execute(sql.select(_LOG).where(_LOG.c.sequence == sequence)).one_or_none()
        return None if row is None else _entry(row)

    def mark_undone(self, sequence: int, by: int) -> None:
        """Note that an entry has been taken back."""
        self._connection.execute(_LOG.update().where(_LOG.c.sequence == sequence).values(undone_by=by))

    def withdraw(self, sequence: int) -> None:
        """Remove the rows of an entry that was not applied."""
        empty = Change("learn").to_text()
        self._connection.execute(
            _LOG.update().where(_LOG.c.sequence == sequence).values(content=empty, rows=0, reason=None)
        )

    def answered(self, key: str) -> tuple[str, Receipt] | None:
        """Return the digest of the request that had a key, and what it was answered."""
        row = self._connection.execute(sql.select(_KEYS).where(_KEYS.c.key == key)).one_or_none()
        return None if row is None else (row.digest, Receipt(row.sequence, row.rows, repeated=True))

    def remember(self, key: str, digest: str, receipt: Receipt) -> None:
        """Note what the request with a key was answered, and let go of what is old."""
        now = time.time()
        self._connection.execute(_KEYS.delete().where(_KEYS.c.created < now - KEYS_KEPT))
        self._connection.execute(
            _KEYS.insert().values(key=key, digest=digest, sequence=receipt.sequence, rows=receipt.rows, created=now)
        )

    def base(self, checksum: str) -> Base | None:
        """Return what is known of a model file; None for an unknown file."""
        row = self._connection.execute(sql.select(_BASES).where(_BASES.c.checksum == checksum)).one_or_none()
        return None if row is None else Base(int(row.through), bool(row.fresh))

    def note_base(self, checksum: str, base: Base, content: bytes | None = None) -> None:
        """Note what a model file holds; of contents the newest is kept."""
        self._connection.execute(_BASES.delete().where(_BASES.c.checksum == checksum))
        if content is not None:
            self._connection.execute(_BASES.update().values(content=None))
        self._connection.execute(
            _BASES.insert().values(checksum=checksum, through=base.through, fresh=base.fresh, content=content)
        )

    def note_unapplied(self, sequence: int, unapplied: Mapping[int, str]) -> None:
        """Note which of the entries up to a number were not applied, and why."""
        self._connection.execute(_LOG.update().where(_LOG.c.sequence <= sequence).values(reason=None))
        for number, reason in unapplied.items():
            self._connection.execute(_LOG.update().where(_LOG.c.sequence == number).values(reason=reason))

    def truncate(self, sequence: int) -> None:
        """Delete the entries up to a number, except those with a reason why they were not applied."""
        self._connection.execute(_LOG.delete().where(_LOG.c.sequence <= sequence, _LOG.c.reason.is_(None)))
        if sequence > self.floor():
            self._note_fact("floor", str(sequence))


def _entry(row: Any) -> Entry:
    change = Change(row.action, **json.loads(row.content))
    return Entry(row.sequence, change, row.created, row.undone_by, row.reason)


def _take_turns(connection: sql.Connection) -> None:
    connection.execute(sql.text("SELECT pg_advisory_xact_lock(:number)"), {"number": ADVISORY})


def _prepare(path: Path, same: Identity | None) -> None:
    """Make the file, for its owner only, and its name durable; or refuse another than the one that was there."""
    if not path.parent.is_dir():
        raise StoreError(f"the feedback log cannot be in {str(path.parent)!r}: there is no such folder")
    if same is not None:
        try:
            found = path.stat()
        except FileNotFoundError:
            raise LogGoneError(str(path)) from None
        if ((found.st_dev, found.st_ino),) != same:
            raise LogGoneError(str(path))
        return
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


@contextmanager
def _told(place: str) -> Iterator[None]:
    """Turn errors of the database into one kind, without the rows that the driver's messages quote."""
    try:
        yield
    except (sql.exc.SQLAlchemyError, sqlite3.Error, OSError) as error:
        original = getattr(error, "orig", None) or error
        reason = (
            str(original).split("\n")[0] if isinstance(original, sqlite3.Error | OSError) else type(original).__name__
        )
        shown = place if "://" not in place else place.split("://")[0]
        raise StoreError(f"the feedback log ({shown}) failed: {reason}") from error
