"""Columns of strings in UTF-8, and the error for bad input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import discern._native as _native

if TYPE_CHECKING:
    from numpy.typing import NDArray


class DataError(ValueError):
    """An error in the input data. The message states the fault, its place, and the remedy.

    Examples
    --------
    >>> from discern import Classifier
    >>> try:
    ...     Classifier().fit([{"label": "ham", "text": "lunch at noon"}, {"text": "win a prize"}])
    ... except DataError as error:
    ...     print(error)
    row 2 of column 'label' of the rows has no label; add one or remove the row
    """


@dataclass(frozen=True)
class Strings:
    """A column of strings in the layout of Arrow: value i is ``data[offsets[i]:offsets[i + 1]]``, in UTF-8.

    With ``ends``, there may be other bytes between the strings: value i is ``data[offsets[i]:ends[i]]``.

    Examples
    --------
    >>> strings = Strings.of(["spam", "ham"])
    >>> len(strings), strings[1], strings.to_list()
    (2, 'ham', ['spam', 'ham'])
    """

    offsets: NDArray[np.int64]
    data: NDArray[np.uint8]
    ends: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, values: Sequence[str]) -> Strings:
        """Pack strings, also with lone surrogates."""
        return cls.of_bytes([value.encode("utf-8", "surrogatepass") for value in values])

    @classmethod
    def of_bytes(cls, values: Sequence[bytes]) -> Strings:
        """Pack values that are bytes."""
        offsets = np.zeros(len(values) + 1, np.int64)
        np.cumsum([len(value) for value in values], out=offsets[1:])
        return cls(offsets, np.frombuffer(b"".join(values), np.uint8))

    def __len__(self) -> int:
        return len(self.offsets) - 1 if self.ends is None else len(self.offsets)

    def __getitem__(self, index: int) -> str:
        return self.bytes_at(index).decode("utf-8", "surrogatepass")

    @property
    def spans(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The start and the end of each value in ``data``."""
        return (self.offsets[:-1], self.offsets[1:]) if self.ends is None else (self.offsets, self.ends)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The length of each value in bytes."""
        starts, ends = self.spans
        return ends - starts

    def bytes_at(self, index: int) -> bytes:
        """Return a value as bytes."""
        starts, ends = self.spans
        return self.data[int(starts[index]) : int(ends[index])].tobytes()

    @classmethod
    def total(cls, columns: Sequence[Strings]) -> Strings:
        """Return the values of one column or more, one after the other.

        Examples
        --------
        >>> Strings.total([Strings.of(["spam"]), Strings.of([]), Strings.of(["ham", ""])]).to_list()
        ['spam', 'ham', '']
        """
        parts = [column.packed() for column in columns]
        starts = np.cumsum([0, *(len(part.data) for part in parts)]).tolist()
        ends = [part.offsets[1:] + start for part, start in zip(parts, starts, strict=False)]
        return cls(np.concatenate([[0], *ends]), np.concatenate([part.data for part in parts]))

    def rows(self, start: int, end: int | None = None) -> Strings:
        """Return the values from ``start`` to ``end``, without a copy."""
        if self.ends is None:
            return Strings(self.offsets[start : len(self) + 1 if end is None else end + 1], self.data)
        return Strings(self.offsets[start:end], self.data, self.ends[start:end])

    def take(self, keep: NDArray[Any]) -> Strings:
        """Return the values where ``keep`` is true, or at the places it lists."""
        places = np.flatnonzero(keep) if keep.dtype == bool else keep
        starts, ends = self.spans
        return Strings(starts[places], self.data, ends[places]).packed()

    def packed(self) -> Strings:
        """Return the same values without other bytes before, between or after them."""
        return Strings(*_native.packed(self.native()))

    def to_list(self) -> list[str]:
        """Return all values as Python strings."""
        starts, ends = self.spans
        data = self.data.tobytes()
        pairs = zip(starts.tolist(), ends.tolist(), strict=True)
        return [data[start:end].decode("utf-8", "surrogatepass") for start, end in pairs]

    def native(self) -> tuple[str, NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8]]:
        """Return the column as the native code takes it."""
        starts, ends = self.spans
        return ("spans", np.ascontiguousarray(starts), np.ascontiguousarray(ends), self.data)
