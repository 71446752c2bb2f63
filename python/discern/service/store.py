"""The feedback log: durable before it is acknowledged, never applied twice.

Writers take turns: on SQLite by a file lock that also covers opening, checkpoints and closing (before version 3.51.3
its write-ahead log can be corrupted by two connections that write or checkpoint at the same time); on PostgreSQL by an
advisory lock. The log of a running service is one file. If it is removed or replaced, nothing more is acknowledged.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import sqlalchemy as sql
from sqlalchemy import event

from discern.data.lock import locked
from discern.service.log import BASES, FACTS, LOG, TABLES, Entry, Log

P = ParamSpec("P")
T = TypeVar("T")

SOUND_SQLITE = (3, 51, 3)
"""From this version on several connections may write and checkpoint a write-ahead log at the same time."""
ADVISORY = 0x64697363
"""The number of our lock in PostgreSQL."""
WAIT = 30.0
"""Seconds to wait for a lock of the database."""
Identity = tuple[tuple[int, int], ...]
"""The device and the inode of each file of a log."""


class StoreError(Exception):
    """The log could not be read or written; nothing was acknowledged."""


class LogGoneError(StoreError):
    """The file of the log was removed or replaced while the service runs."""

    def __init__(self, place: str) -> None:
        super().__init__(
            f"the feedback log {place!r} was removed or replaced while the service runs; nothing more can be "
            "acknowledged until the service is restarted"
        )


class Store:
    """The log, in a file or on a PostgreSQL server; open it after forking.

    ``same`` is the identity of the file that the service began with: another one is refused, and none is made.

    Examples
    --------
    >>> import tempfile
    >>> from discern.service.log import Change
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/m.feedback") as store:
    ...     with store.writing() as log:
    ...         number = log.append(Change("learn", [{"label": "spam", "text": "win"}])).sequence
    ...     [entry.change.learn for entry in store.after(0)[1]], number
    ([[{'label': 'spam', 'text': 'win'}]], 1)
    """

    def __init__(self, place: str, synchronous: str = "FULL", same: Identity | None = None) -> None:
        self.place, self.synchronous = place, synchronous
        self.is_file = "://" not in place
        self._lock = threading.RLock()
        self._identity: Identity = ()
        with self._exclusive(), _store_errors(place):
            if self.is_file:
                _prepare(Path(place), same)
            self._writer = self._engine("BEGIN IMMEDIATE")
            self._reader = self._engine("BEGIN", query_only=True)
            with self._writer.begin() as connection:
                if not self.is_file:
                    _lock_server(connection)
                TABLES.create_all(connection)
                self._secret = Log(connection).secret()
            # The connections are made now, under our lock, and stay in their pools.
            with self._reader.begin() as connection:
                connection.execute(sql.select(FACTS.c.value).limit(1))
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
        with self._exclusive():
            self._reader.dispose()
            self._writer.dispose()

    def _engine(self, begin: str, query_only: bool = False) -> sql.Engine:
        if not self.is_file:
            address = "postgresql+psycopg://" + self.place.split("://", 1)[1]
            options = {"connect_timeout": 10, "options": "-c synchronous_commit=on"}
            return sql.create_engine(address, pool_size=1, max_overflow=2, pool_pre_ping=True, connect_args=options)
        # The file is there: SQLite must not make another one if it is removed just now.
        database = Path(self.place).absolute().as_uri()
        engine = sql.create_engine(
            sql.URL.create("sqlite", database=database, query={"mode": "rw", "uri": "true"}),
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
    def _exclusive(self) -> Iterator[None]:
        """Keep other threads and, with a file, other processes from writing meanwhile."""
        with ExitStack() as stack:
            stack.enter_context(self._lock)
            if self.is_file:
                stack.enter_context(locked(Path(self.place)))
            yield

    # --------------------------------------------------------------------------------------------- writing

    @contextmanager
    def writing(self) -> Iterator[Log]:
        """Write entries: all of them are durable when this ends without an error, or none is there."""
        with self._exclusive(), _store_errors(self.place), self._writer.connect() as connection:
            self._refuse_if_gone()
            try:
                with connection.begin():
                    if not self.is_file:
                        _lock_server(connection)
                    yield Log(connection)
            except (sql.exc.DBAPIError, OSError):
                connection.invalidate()  # what it holds may differ from what is on the disk
                raise
            self._refuse_if_gone()

    def truncate(self, sequence: int) -> None:
        """Delete the entries that a base holds; those with a reason why they were not applied stay."""
        with self.writing() as log:
            log.truncate(sequence)

    def erase(self) -> None:
        """Remove deleted text from the files of the database, outside of a transaction."""
        with self._exclusive(), _store_errors(self.place), self._writer.connect() as connection:
            if self.is_file:
                raw = connection.connection.driver_connection
                assert raw is not None
                [(is_busy, *_)] = raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                if is_busy:
                    raise StoreError(f"the feedback log ({self.place}) is being read for too long to be emptied")
                return
            own = connection.execution_options(isolation_level="AUTOCOMMIT")
            own.exec_driver_sql(f"SET lock_timeout = '{int(WAIT)}s'")
            for table in (LOG, BASES):  # a model kept in the database holds words too
                own.exec_driver_sql(f"VACUUM (FULL) {table.name}")
            own.exec_driver_sql("RESET lock_timeout")

    # --------------------------------------------------------------------------------------------- reading

    def read(self, query: Callable[Concatenate[Log, P], T], *arguments: P.args, **options: P.kwargs) -> T:
        """Return what a method of :class:`Log` finds, in a transaction of its own: ``store.read(Log.recent, 10)``."""
        with _store_errors(self.place), self._reader.begin() as connection:
            return query(Log(connection), *arguments, **options)

    def after(self, sequence: int, most: int = 10_000) -> tuple[int, list[Entry]]:
        """Return the number up to which the log has been truncated, and the entries after a number, in order."""
        self._refuse_if_gone()
        return self.read(Log.after, sequence, most)


def _lock_server(connection: sql.Connection) -> None:
    connection.execute(sql.text("SELECT pg_advisory_xact_lock(:number)"), {"number": ADVISORY})


def _prepare(path: Path, same: Identity | None) -> None:
    """Make the file, for its owner only, and its name durable; or refuse another than the one that was there."""
    if not path.parent.is_dir():
        raise StoreError(f"the feedback log cannot be in {str(path.parent)!r}: no such folder")
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
def _store_errors(place: str) -> Iterator[None]:
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
