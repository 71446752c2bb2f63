"""The feedback log: durable before it is acknowledged, never applied twice.

An entry says which rows were learned and which forgotten; relabelling is both at once, and undoing an entry is the
entry the other way round. Entries have consecutive numbers in the order of their commits, because writers take turns:
on SQLite by a file lock that also covers opening, checkpoints and closing (before version 3.51.3 its write-ahead log
can be corrupted by two connections that write or checkpoint at the same time); on PostgreSQL by an advisory lock.

A model file and the log belong together by the table of bases: a file with checksum C holds the entries up to number T.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sql
from sqlalchemy import event

from discern.lock import locked

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
)
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
    sql.Column("content", sql.LargeBinary),
)
_FACTS = sql.Table(
    "discern_facts",
    _TABLES,
    sql.Column("name", sql.String(32), primary_key=True),
    sql.Column("value", sql.BigInteger, nullable=False),
)


class StoreError(Exception):
    """The log could not be read or written; nothing was acknowledged."""


@dataclass(frozen=True)
class Change:
    """What a request wants of the model: rows to learn and rows to forget, with their labels."""

    action: str
    learn: Sequence[Row] = ()
    forget: Sequence[Row] = ()

    @property
    def rows(self) -> int:
        """The number of rows that it is about."""
        return max(len(self.learn), len(self.forget))

    def reversed(self) -> Change:
        """Give the change that takes this one back."""
        return Change("undo", self.forget, self.learn)

    def to_text(self) -> str:
        """Give the rows as JSON in ASCII: a NUL or a surrogate does not reach the database."""
        return json.dumps({"learn": list(self.learn), "forget": list(self.forget)}, separators=(",", ":"))


@dataclass(frozen=True)
class Entry:
    """A change that is in the log for good."""

    sequence: int
    change: Change
    created: float
    undone_by: int | None = None


@dataclass(frozen=True)
class Receipt:
    """What is acknowledged: the number of the entry; ``repeated`` if it was there before under the same key."""

    sequence: int
    rows: int
    repeated: bool = False


class Store:
    """The log, in a file or on a PostgreSQL server; open it after forking.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/m.feedback") as store:
    ...     with store.writing() as log:
    ...         number = log.append(Change("learn", [{"label": "spam", "text": "win"}])).sequence
    ...     [entry.change.learn for entry in store.after(0)[1]], number
    ([[{'label': 'spam', 'text': 'win'}]], 1)
    """

    def __init__(self, place: str, synchronous: str = "FULL") -> None:
        self.place, self.synchronous = place, synchronous
        self.is_file = "://" not in place
        self._turn = threading.RLock()
        with self._alone(), _told(place):
            if self.is_file:
                _prepare(Path(place))
            self._writer = self._engine("BEGIN IMMEDIATE")
            self._reader = self._engine("BEGIN", query_only=True)
            with self._writer.begin() as connection:
                if not self.is_file:
                    _take_turns(connection)
                _TABLES.create_all(connection)
                _BY_AGE.create(connection, checkfirst=True)  # for tables that were made without it
            # The connections are made now, in our turn, and stay in their pools.
            with self._reader.begin() as connection:
                connection.execute(sql.select(_FACTS.c.value).limit(1))

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
            try:
                with connection.begin():
                    if not self.is_file:
                        _take_turns(connection)
                    yield Log(connection)
            except (sql.exc.DBAPIError, OSError):
                connection.invalidate()  # what it holds may differ from what is on the disk
                raise

    def forget_through(self, sequence: int) -> None:
        """Take entries that a base holds out of the log, for good."""
        with self.writing() as log:
            log.truncate(sequence)
        if self.is_file:
            with self._alone(), _told(self.place), self._writer.connect() as connection:
                # Outside of a transaction; also what was overwritten is then nowhere on the disk.
                raw = connection.connection.driver_connection
                assert raw is not None
                raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    # --------------------------------------------------------------------------------------------- reading

    def after(self, sequence: int, most: int = 10_000) -> tuple[int, list[Entry]]:
        """Give the number up to which the log has been cut off, and the entries after a number, in order."""
        with _told(self.place), self._reader.begin() as connection:
            return Log(connection).after(sequence, most)

    def recent(self, most: int) -> list[Entry]:
        """Give the latest entries, the last first."""
        query = sql.select(_LOG).order_by(_LOG.c.sequence.desc()).limit(most)
        with _told(self.place), self._reader.begin() as connection:
            return [_entry(row) for row in connection.execute(query)]

    def size(self) -> tuple[int, int]:
        """Give the number of entries and of rows in the log."""
        query = sql.select(sql.func.count(), sql.func.coalesce(sql.func.sum(_LOG.c.rows), 0)).select_from(_LOG)
        with _told(self.place), self._reader.begin() as connection:
            entries, rows = connection.execute(query).one()
            return int(entries), int(rows)

    def newest_content(self) -> bytes | None:
        """Give the newest model file that is kept in the database."""
        query = sql.select(_BASES.c.content).where(_BASES.c.content.is_not(None)).order_by(_BASES.c.through.desc())
        with _told(self.place), self._reader.begin() as connection:
            content = connection.execute(query.limit(1)).scalar_one_or_none()
            return None if content is None else bytes(content)


class Log:
    """The log within a transaction."""

    def __init__(self, connection: sql.Connection) -> None:
        self._connection = connection

    def floor(self) -> int:
        """Give the number up to which the log has been cut off."""
        query = sql.select(_FACTS.c.value).where(_FACTS.c.name == "floor")
        return int(self._connection.execute(query).scalar_one_or_none() or 0)

    def head(self) -> int:
        """Give the number of the last entry."""
        last = self._connection.execute(sql.select(sql.func.max(_LOG.c.sequence))).scalar_one_or_none()
        return max(int(last or 0), self.floor())

    def after(self, sequence: int, most: int = 10_000) -> tuple[int, list[Entry]]:
        """Give the floor, and the entries after a number, in order."""
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
        """Give an entry, if it is still there."""
        row = self._connection.execute(sql.select(_LOG).where(_LOG.c.sequence == sequence)).one_or_none()
        return None if row is None else _entry(row)

    def mark_undone(self, sequence: int, by: int) -> None:
        """Note that an entry has been taken back."""
        self._connection.execute(_LOG.update().where(_LOG.c.sequence == sequence).values(undone_by=by))

    def answered(self, key: str) -> tuple[str, Receipt] | None:
        """Give the digest of the request that had a key, and what it was answered."""
        row = self._connection.execute(sql.select(_KEYS).where(_KEYS.c.key == key)).one_or_none()
        return None if row is None else (row.digest, Receipt(row.sequence, row.rows, repeated=True))

    def remember(self, key: str, digest: str, receipt: Receipt) -> None:
        """Note what the request with a key was answered, and let go of what is old."""
        now = time.time()
        self._connection.execute(_KEYS.delete().where(_KEYS.c.created < now - KEYS_KEPT))
        self._connection.execute(
            _KEYS.insert().values(key=key, digest=digest, sequence=receipt.sequence, rows=receipt.rows, created=now)
        )

    def through(self, checksum: str) -> int | None:
        """Give the number of the last entry that a model file holds; None for an unknown file."""
        query = sql.select(_BASES.c.through).where(_BASES.c.checksum == checksum)
        found = self._connection.execute(query).scalar_one_or_none()
        return None if found is None else int(found)

    def note_base(self, checksum: str, through: int, content: bytes | None = None) -> None:
        """Note that a model file holds the entries up to a number; of contents the newest is kept."""
        self._connection.execute(_BASES.delete().where(_BASES.c.checksum == checksum))
        if content is not None:
            self._connection.execute(_BASES.update().values(content=None))
        self._connection.execute(_BASES.insert().values(checksum=checksum, through=through, content=content))

    def truncate(self, sequence: int) -> None:
        """Cut the log off up to a number."""
        if sequence <= self.floor():
            return
        self._connection.execute(_LOG.delete().where(_LOG.c.sequence <= sequence))
        self._connection.execute(_FACTS.delete().where(_FACTS.c.name == "floor"))
        self._connection.execute(_FACTS.insert().values(name="floor", value=sequence))


def _entry(row: Any) -> Entry:
    content = json.loads(row.content)
    return Entry(row.sequence, Change(row.action, content["learn"], content["forget"]), row.created, row.undone_by)


def _take_turns(connection: sql.Connection) -> None:
    connection.execute(sql.text("SELECT pg_advisory_xact_lock(:number)"), {"number": ADVISORY})


def _prepare(path: Path) -> None:
    """Make the file, for its owner only, and its name durable."""
    if not path.parent.is_dir():
        raise StoreError(f"the feedback log cannot be in {str(path.parent)!r}: there is no such folder")
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
