"""What tells one embedder from another: its dimension, and its vectors for a few texts or a checksum of its files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

PROBES = (
    "The parcel with your order of 12 May arrives tomorrow before noon.",
    "win a free prize now!!! call this number or reply YES",
    "naïve café, мир, 和平, سلام, 🙂",
)
"""The texts whose vectors tell embedders apart."""
DIRECTIONS = 8
TOLERANCE = 0.02
"""How far projections of unit vectors may differ: 16-bit numbers of another processor differ by less."""


@dataclass(frozen=True)
class EmbedderIdentity:
    """The name, dimension and checksum of an embedder, and a sketch of its vectors.

    The sketch has, for each of three texts, the length of its vector and eight sums of its numbers with given signs.
    Vectors that another machine or a 16-bit processor computes a little differently have nearly the same sketch.
    """

    name: str
    dimension: int
    checksum: str
    sketch: tuple[float, ...]
    has_files: bool = False
    """Whether the checksum is that of files, which must then be the same."""

    @classmethod
    def of(cls, name: str, vectors: NDArray[np.float32], checksum: str | None = None) -> EmbedderIdentity:
        """Return the identity of an embedder by its vectors of :data:`PROBES`; ``checksum`` is that of its files."""
        sketch = sketch_of(vectors)
        coarse = json.dumps([vectors.shape[1], *(round(number, 1) + 0.0 for number in sketch)])
        found = checksum or hashlib.blake2b(coarse.encode(), digest_size=16).hexdigest()
        return cls(name, vectors.shape[1], found, sketch, checksum is not None)

    def matches(self, other: EmbedderIdentity) -> bool:
        """Return whether two embedders return the same vectors, as far as can be told."""
        if self.dimension != other.dimension:
            return False
        if self.has_files and other.has_files:
            return self.checksum == other.checksum
        mine, theirs = (np.reshape(one.sketch, (len(PROBES), 1 + DIRECTIONS)) for one in (self, other))
        lengths = np.allclose(mine[:, 0], theirs[:, 0], rtol=TOLERANCE, atol=1e-6)
        return bool(lengths and np.allclose(mine[:, 1:], theirs[:, 1:], rtol=0.0, atol=TOLERANCE))

    @property
    def described(self) -> str:
        """The embedder in words.

        Examples
        --------
        >>> EmbedderIdentity.of("potion", np.ones((3, 4), np.float32)).described
        "'potion' (4 numbers)"
        """
        return f"{self.name!r} ({self.dimension} number{'s' * (self.dimension != 1)})"

    def to_json(self) -> dict[str, Any]:
        """Return the identity as plain values."""
        return {
            "name": self.name,
            "dimension": self.dimension,
            "checksum": self.checksum,
            "sketch": list(self.sketch),
            "has_files": self.has_files,
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> EmbedderIdentity:
        """Make an identity of what :meth:`to_json` returned; raises ValueError if it makes no sense."""
        sketch = tuple(map(float, values["sketch"]))
        dimension = int(values["dimension"])
        if dimension < 1 or len(sketch) != len(PROBES) * (1 + DIRECTIONS) or not np.isfinite(sketch).all():
            raise ValueError("the embedder is not described as it should be")
        return cls(str(values["name"]), dimension, str(values["checksum"]), sketch, bool(values["has_files"]))


def sketch_of(vectors: NDArray[np.float32]) -> tuple[float, ...]:
    """Return a few numbers that hardly any two embedders share, rounded.

    Examples
    --------
    >>> sketch_of(np.array([[3.0, 4.0]], np.float32))[0]
    5.0
    """
    wide = np.asarray(vectors, np.float64)
    lengths = np.sqrt((wide**2).sum(axis=1))
    units = wide / np.maximum(lengths, 1e-30)[:, None]
    projections = units @ _signs(wide.shape[1])
    rows = [
        [float(f"{length:.4g}"), *(round(float(one), 3) + 0.0 for one in row)]
        for length, row in zip(lengths, projections, strict=True)
    ]
    return tuple(number for row in rows for number in row)


def _signs(dimension: int) -> NDArray[np.float64]:
    """Return dimension × 8 signs, always the same."""
    drawn = hashlib.shake_128(b"discern embedder").digest(dimension * DIRECTIONS // 8)
    bits = np.unpackbits(np.frombuffer(drawn, np.uint8)).reshape(dimension, DIRECTIONS)
    return np.where(bits > 0, 1.0, -1.0)
