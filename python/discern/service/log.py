"""The tables of the feedback log, its records, and what can be read and written within a transaction.

An entry holds the rows that were learned and those that were forgotten. Relabeling is both at once, and undoing an
entry is the entry reversed. Entries have consecutive numbers in the order of their commits.

A model file and the log belong together by the table of bases: a file with checksum C contains the entries up to number
T, except those that are still in the log with a reason why they were not applied.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import sqlalchemy as sql
from sqlalchemy import event

Row = dict[str, Any]

KEYS_KEPT = 30 * 86400.0
"""Seconds for which an Idempotency-Key is remembered."""

TABLES = sql.MetaData()
LOG = sql.Table(
    "discern_log",
    TABLES,
    sql.Column("sequence", sql.BigInteger, primary_key=True, autoincrement=False),
    sql.Column("action", sql.String(16), nullable=False),
    sql.Column("content", sql.Text, nullable=False),
    sql.Column("rows", sql.BigInteger, nullable=False),
    sql.Column("created", sql.Float, nullable=False),
    sql.Column("undone_by", sql.BigInteger),
    sql.Column("reason", sql.Text),
)
"""``reason`` is why an entry that a compaction has left in the log is not applied."""
KEYS = sql.Table(
    "discern_keys",
    TABLES,
    sql.Column("key", sql.String(255), primary_key=True),
    sql.Column("digest", sql.String(64), nullable=False),
    sql.Column("sequence", sql.BigInteger, nullable=False),
    sql.Column("rows", sql.BigInteger, nullable=False),
    sql.Column("created", sql.Float, nullable=False),
)
_BY_AGE = sql.Index("discern_keys_created", KEYS.c.created)
"""Every new key looks for old ones: without the index that would read all of them."""
BASES = sql.Table(
    "discern_bases",
    TABLES,
    sql.Column("checksum", sql.String(64), primary_key=True),
    sql.Column("through", sql.BigInteger, nullable=False),
    sql.Column("fresh", sql.Boolean, nullable=False),
    sql.Column("content", sql.LargeBinary),
)
"""A ``fresh`` file was not written by a compaction: entries not applied before are tried on it again."""
FACTS = sql.Table(
    "discern_facts",
    TABLES,
    sql.Column("name", sql.String(32), primary_key=True),
    sql.Column("value", sql.String(64), nullable=False),
)
for _table, _column in ((LOG, "content"), (LOG, "reason"), (BASES, "content")):
    # The statistics that PostgreSQL gathers are samples of the values, which would outlive them.
    _statement = f"ALTER TABLE {_table.name} ALTER COLUMN {_column} SET STATISTICS 0"
    _unsampled = sql.DDL(_statement).execute_if(dialect="postgresql")  # type: ignore[no-untyped-call]
    event.listen(_table, "after_create", _unsampled)


@dataclass(frozen=True)
class Change:
    """Rows to learn and rows to forget, with their labels.

    ``label`` is the column of the labels and ``roles`` are the roles of the other columns in the model that the rows
    were written for. ``undoes`` is the entry that this change undoes.
    """

    action: str
    learn: Sequence[Row] = ()
    forget: Sequence[Row] = ()
    label: str = "label"
    roles: Mapping[str, str] = field(default_factory=dict)
    undoes: int | None = None

    @property
    def rows(self) -> int:
        """The number of rows that change."""
        return max(len(self.learn), len(self.forget))

    def reversed(self, sequence: int | None = None) -> Change:
        """Return the change that undoes this one, the entry with a number."""
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
    """A change that is durable in the log."""

    sequence: int
    change: Change
    created: float
    undone_by: int | None = None
    reason: str | None = None


@dataclass(frozen=True)
class Base:
    """The record of a model file: the last entry that it holds; ``fresh`` unless a compaction has written it."""

    through: int
    fresh: bool


@dataclass(frozen=True)
class Receipt:
    """An acknowledgement: the number of the entry; ``repeated`` if the same key had it before."""

    sequence: int
    rows: int
    repeated: bool = False


class Log:
    """The log within a transaction."""

    def __init__(self, connection: sql.Connection) -> None:
        self._connection = connection

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """Write; everything written is rolled back if this ends with an error."""
        with self._connection.begin_nested():
            yield

    def _fact(self, name: str) -> str | None:
        value = self._connection.execute(sql.select(FACTS.c.value).where(FACTS.c.name == name)).scalar_one_or_none()
        return None if value is None else str(value)

    def _note_fact(self, name: str, value: str) -> None:
        self._connection.execute(FACTS.delete().where(FACTS.c.name == name))
        self._connection.execute(FACTS.insert().values(name=name, value=value))

    def secret(self) -> bytes:
        """Return the key of the digests; it is made once for each log."""
        known = self._fact("secret")
        if known is None:
            known = secrets.token_hex(32)
            self._note_fact("secret", known)
        return bytes.fromhex(known)

    def floor(self) -> int:
        """Return the number up to which the log has been truncated."""
        return int(self._fact("floor") or 0)

    def head(self) -> int:
        """Return the number of the last entry."""
        last = self._connection.execute(sql.select(sql.func.max(LOG.c.sequence))).scalar_one_or_none()
        return max(int(last or 0), self.floor())

    def after(self, sequence: int, most: int = 10_000) -> tuple[int, list[Entry]]:
        """Return the floor, and the entries after a number, in order."""
        query = sql.select(LOG).where(LOG.c.sequence > sequence).order_by(LOG.c.sequence).limit(most)
        return self.floor(), [_entry(row) for row in self._connection.execute(query)]

    def recent(self, most: int) -> list[Entry]:
        """Return the latest entries, the last first."""
        query = sql.select(LOG).order_by(LOG.c.sequence.desc()).limit(most)
        return [_entry(row) for row in self._connection.execute(query)]

    def reasons(self, through: int) -> dict[int, str]:
        """Return the entries up to a number that compactions have left in the log, with the reasons."""
        query = sql.select(LOG.c.sequence, LOG.c.reason).where(LOG.c.sequence <= through, LOG.c.reason.is_not(None))
        return {row.sequence: row.reason for row in self._connection.execute(query)}

    def numbers(self, through: int) -> list[int]:
        """Return the numbers of the entries in the log, up to a number."""
        query = sql.select(LOG.c.sequence).where(LOG.c.sequence <= through).order_by(LOG.c.sequence)
        return [int(row.sequence) for row in self._connection.execute(query)]

    def size(self) -> tuple[int, int]:
        """Return the numbers of entries and of rows that the next compaction may remove from the log."""
        query = sql.select(sql.func.count(), sql.func.coalesce(sql.func.sum(LOG.c.rows), 0))
        entries, rows = self._connection.execute(query.select_from(LOG).where(LOG.c.reason.is_(None))).one()
        return int(entries), int(rows)

    def newest_content(self) -> bytes | None:
        """Return the newest model file that is kept in the database."""
        query = sql.select(BASES.c.content).where(BASES.c.content.is_not(None)).order_by(BASES.c.through.desc())
        content = self._connection.execute(query.limit(1)).scalar_one_or_none()
        return None if content is None else bytes(content)

    def append(self, change: Change) -> Receipt:
        """Add an entry."""
        number = self.head() + 1
        self._connection.execute(
            LOG.insert().values(
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
        row = self._connection.execute(sql.select(LOG).where(LOG.c.sequence == sequence)).one_or_none()
        return None if row is None else _entry(row)

    def mark_undone(self, sequence: int, by: int) -> None:
        """Note that an entry has been undone."""
        self._connection.execute(LOG.update().where(LOG.c.sequence == sequence).values(undone_by=by))

    def withdraw(self, sequence: int) -> None:
        """Remove the rows of an entry that was not applied."""
        empty = Change("learn").to_text()
        self._connection.execute(
            LOG.update().where(LOG.c.sequence == sequence).values(content=empty, rows=0, reason=None)
        )

    def receipt_of(self, key: str) -> tuple[str, Receipt] | None:
        """Return the digest of the request that had a key, and its receipt."""
        row = self._connection.execute(sql.select(KEYS).where(KEYS.c.key == key)).one_or_none()
        return None if row is None else (row.digest, Receipt(row.sequence, row.rows, repeated=True))

    def remember(self, key: str, digest: str, receipt: Receipt) -> None:
        """Note the receipt of the request with a key, and delete old keys."""
        now = time.time()
        self._connection.execute(KEYS.delete().where(KEYS.c.created < now - KEYS_KEPT))
        self._connection.execute(
            KEYS.insert().values(key=key, digest=digest, sequence=receipt.sequence, rows=receipt.rows, created=now)
        )

    def base(self, checksum: str) -> Base | None:
        """Return the record of a model file; None for an unknown file."""
        row = self._connection.execute(sql.select(BASES).where(BASES.c.checksum == checksum)).one_or_none()
        return None if row is None else Base(int(row.through), bool(row.fresh))

    def note_base(self, checksum: str, base: Base, content: bytes | None = None) -> None:
        """Record a model file; of contents only the newest is kept."""
        self._connection.execute(BASES.delete().where(BASES.c.checksum == checksum))
        if content is not None:
            self._connection.execute(BASES.update().values(content=None))
        self._connection.execute(
            BASES.insert().values(checksum=checksum, through=base.through, fresh=base.fresh, content=content)
        )

    def note_unapplied(self, sequence: int, unapplied: Mapping[int, str]) -> None:
        """Note which of the entries up to a number were not applied, and why."""
        self._connection.execute(LOG.update().where(LOG.c.sequence <= sequence).values(reason=None))
        for number, reason in unapplied.items():
            self._connection.execute(LOG.update().where(LOG.c.sequence == number).values(reason=reason))

    def truncate(self, sequence: int) -> None:
        """Delete the entries up to a number, except those with a reason why they were not applied."""
        self._connection.execute(LOG.delete().where(LOG.c.sequence <= sequence, LOG.c.reason.is_(None)))
        if sequence > self.floor():
            self._note_fact("floor", str(sequence))


def _entry(row: Any) -> Entry:
    change = Change(row.action, **json.loads(row.content))
    return Entry(row.sequence, change, row.created, row.undone_by, row.reason)
