"""The ledger: a keyed digest of every row learned, kept beside the counts.

Counts alone cannot tell whether a row was learned: "win money" and "free prize" have the words of "win prize". A ledger
can. It is a sum over rows like all statistics: it adds up, is merged, and gives back what is forgotten.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

import discern._native as _native
from discern.data.batch import Batch
from discern.data.roles import Feature, levels_of, numbers_of
from discern.data.strings import Strings

if TYPE_CHECKING:
    from numpy.typing import NDArray

SALT_BYTES = 16
DIGEST_BYTES = 16
MISSING = b"\0"
PRESENT = b"\1"


def as_salt(given: bool | str) -> bytes | None:
    """Return the salt of a ledger: None without one, a random one for True, or 32 hexadecimal digits as given.

    Examples
    --------
    >>> as_salt(False), as_salt("00112233445566778899aabbccddeeff").hex()
    (None, '00112233445566778899aabbccddeeff')
    """
    if given is False:
        return None
    if given is True:
        return secrets.token_bytes(SALT_BYTES)
    try:
        salt = bytes.fromhex(given)
    except (TypeError, ValueError):
        salt = b""
    if len(salt) != SALT_BYTES:
        raise ValueError(f"ledger must be True, False or {2 * SALT_BYTES} hexadecimal digits, not {given!r}")
    return salt


@dataclass(frozen=True)
class Ledger:
    """How often each row was learned: sorted digests as pairs of integers, and the number of rows of each.

    ``origins`` tells where the first row of each digest came from, for error messages. It is not saved.
    """

    salt: bytes
    digests: NDArray[np.uint64]
    counts: NDArray[np.int64]
    origins: Mapping[bytes, str] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def empty(cls, salt: bytes) -> Ledger:
        """Return the ledger of no rows."""
        return cls(salt, np.zeros((0, 2), np.uint64), np.zeros(0, np.int64))

    @classmethod
    def of(cls, batch: Batch, features: Sequence[Feature], label: str, salt: bytes) -> Ledger:
        """Return the ledger of the rows of a batch.

        Examples
        --------
        >>> batch = Batch({"label": ["a", "a"], "text": ["x1", "x1"]}, 2)
        >>> Ledger.of(batch, [Feature("text", "text")], "label", bytes(16)).counts.tolist()
        [2]
        """
        numbers, names = batch.labels(label)
        labels = [_field(name.encode("utf-8", "surrogatepass")) for name in names]
        columns = [_fields(batch, feature) for feature in features]
        rows = zip((labels[number] for number in numbers.tolist()), *columns, strict=True)
        digests = [hashlib.blake2b(b"".join(row), digest_size=DIGEST_BYTES, key=salt).digest() for row in rows]
        origins: dict[bytes, str] = {}
        for place, digest in enumerate(digests):
            origins.setdefault(digest, f"row {batch.start + place} of {batch.source}")
        packed = np.frombuffer(b"".join(digests), ">u8").astype(np.uint64).reshape(-1, 2)
        return cls(salt, *_summed(packed, np.ones(len(packed), np.int64)), origins)

    def __add__(self, other: Ledger) -> Ledger:
        return self._combined(other, 1)

    def __sub__(self, other: Ledger) -> Ledger:
        """Subtract; raises ValueError naming the first row that was never learned."""
        left = self._combined(other, -1)
        short = np.flatnonzero(left.counts < 0)
        if len(short):
            digest = left.digests[short[0]].astype(">u8").tobytes()
            row = other.origins.get(digest, "one of these rows")
            raise ValueError(
                f"{row} cannot be forgotten: it is not in the ledger, so it was not learned or is forgotten already"
            )
        kept = left.counts > 0
        return Ledger(self.salt, left.digests[kept], left.counts[kept])

    def _combined(self, other: Ledger, sign: int) -> Ledger:
        if self.salt != other.salt:
            raise ValueError(
                "the ledgers have different salts, so their rows cannot be compared; fit both models with the same salt"
            )
        digests = np.concatenate([self.digests, other.digests])
        counts = np.concatenate([self.counts, sign * other.counts])
        return Ledger(self.salt, *_summed(digests, counts), {**other.origins, **self.origins})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ledger):
            return NotImplemented
        same = self.salt == other.salt and np.array_equal(self.digests, other.digests)
        return same and np.array_equal(self.counts, other.counts)

    __hash__ = None  # type: ignore[assignment]

    @property
    def rows(self) -> int:
        """The number of rows in the ledger."""
        return int(self.counts.sum())

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the ledger as arrays, for the model file."""
        return {
            "ledger.salt": np.frombuffer(self.salt, np.uint8),
            "ledger.digests": self.digests.ravel(),
            "ledger.counts": self.counts,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], rows: int) -> Ledger | None:
        """Read what :meth:`arrays` returned, if it is there; raises ValueError if it does not fit ``rows`` rows."""
        if "ledger.salt" not in arrays:
            return None
        salt, digests, counts = (arrays[f"ledger.{name}"] for name in ("salt", "digests", "counts"))
        if any(array.dtype.kind not in "iu" or array.ndim != 1 for array in (salt, digests, counts)):
            raise ValueError("the ledger is not made of whole numbers")
        if salt.dtype != np.uint8 or len(salt) != SALT_BYTES or len(digests) != 2 * len(counts):
            raise ValueError("the parts of the ledger do not match each other")
        made = cls(salt.tobytes(), digests.astype(np.uint64).reshape(-1, 2), counts.astype(np.int64))
        if bool(np.any(made.counts < 1)) or made.rows != rows:
            raise ValueError("the ledger does not match the number of rows")
        if not np.array_equal(_summed(made.digests, made.counts)[0], made.digests):
            raise ValueError("the ledger is not sorted")
        return made


def _summed(digests: NDArray[np.uint64], counts: NDArray[np.int64]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Sort digests and add up the counts of equal ones; what adds up to zero is gone."""
    if not len(digests):
        return digests.reshape(0, 2), counts
    order = np.lexsort((digests[:, 1], digests[:, 0]))
    digests, counts = digests[order], counts[order]
    first = np.concatenate([[True], np.any(digests[1:] != digests[:-1], axis=1)])
    sums = np.add.reduceat(counts, np.flatnonzero(first))
    kept = sums != 0
    return np.ascontiguousarray(digests[first][kept]), sums[kept]


def _fields(batch: Batch, feature: Feature) -> Iterator[bytes]:
    """Return what the digest of each row reads of one column."""
    if feature.role == "number":
        values = numbers_of(batch, feature.name) + 0.0  # −0 is 0
        return (MISSING if value != value else _field(value.tobytes()) for value in values)
    if feature.role == "vector":
        vectors = batch.vectors(feature.name)
        rows = zip(vectors.values + np.float32(0.0), vectors.present.tolist(), strict=True)
        return (_field(row.tobytes()) if there else MISSING for row, there in rows)
    if feature.role == "text":
        numbers, offsets, data = _native.distinct(batch.texts(feature.name))
        texts = Strings(offsets, data)
        known = [_field(texts.bytes_at(place)) for place in range(len(texts))]
        return (known[number] for number in numbers.tolist())
    places, levels = levels_of(batch, feature)
    named = [*(_field(level.encode("utf-8", "surrogatepass")) for level in levels), MISSING]
    return (named[place] for place in places.tolist())


def _field(value: bytes) -> bytes:
    return PRESENT + len(value).to_bytes(8, "little") + value
