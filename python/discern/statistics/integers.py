"""Arrays of whole numbers without a limit: sums that are exact, and equal to the byte however they were made.

An array has limbs l₀, l₁, … and stands for l₀ + 2⁴² l₁ + 2⁸⁴ l₂ + …. Each limb is from −2⁴¹ to 2⁴¹ − 1 and the last one
is not all zero (unless it is the only one), so equal numbers have equal limbs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Limbs = NDArray[np.int64]
    """Limbs × the shape of the array."""

BITS = 42
"""The bits of a limb."""
MOST_LIMBS = 8
"""No sum over rows has more limbs: their numbers have two at most, products of them four, and rows are below 2⁶²."""


def carried(limbs: Sequence[NDArray[Any]] | Limbs, bits: int = BITS) -> Limbs:
    """Return limbs in their only form; limbs given may be any 64-bit integers below 2⁶² in magnitude.

    Examples
    --------
    >>> carried(np.array([[2**42 + 5, -1], [0, 0]])).tolist()
    [[5, -1], [1, 0]]
    """
    half, mask = 1 << (bits - 1), (1 << bits) - 1
    found, carry = [], np.zeros(np.shape(limbs[0]), np.int64)
    place = 0
    while place < len(limbs) or carry.any():
        total = carry + limbs[place] if place < len(limbs) else carry
        low = ((total + half) & mask) - half
        found.append(low)
        carry = (total - low) >> bits
        place += 1
    while len(found) > 1 and not found[-1].any():
        found.pop()
    return np.array(found, np.int64)


def added(parts: Sequence[Limbs]) -> Limbs:
    """Add arrays of the same shape.

    Examples
    --------
    >>> added([np.array([[2**40]])] * 3 + [np.array([[0], [-1]])]).tolist()
    [[-1099511627776]]
    """
    if len(parts) == 1:
        return parts[0]
    total = np.zeros((max(map(len, parts)), *parts[0].shape[1:]), np.int64)
    for part in parts:
        total[: len(part)] += part
    return carried(total)


def subtracted(left: Limbs, right: Limbs) -> Limbs:
    """Subtract one array from another."""
    return added([left, -right])


def as_floats(limbs: Limbs) -> NDArray[np.float64]:
    """Return the nearest doubles, to a last bit.

    Examples
    --------
    >>> as_floats(np.array([[-1], [1]])) == 2.0**42 - 1
    array([ True])
    """
    total = np.zeros(limbs.shape[1:])
    for limb in limbs[::-1]:
        total = total * 2.0**BITS + limb
    return total


def as_objects(limbs: Limbs) -> NDArray[np.object_]:
    """Return Python's integers, exactly."""
    total = np.zeros(limbs.shape[1:], object)
    for limb in limbs[::-1]:
        total = total * (1 << BITS) + limb.astype(object)
    return total


def from_floats(values: NDArray[np.float64]) -> Limbs:
    """Return doubles that are whole numbers as limbs.

    Examples
    --------
    >>> from_floats(np.array([2.0**42 + 5, -1.0])).tolist()
    [[5, -1], [1, 0]]
    """
    limbs = []
    while True:
        high = np.rint(values / 2.0**BITS)
        limbs.append((values - high * 2.0**BITS).astype(np.int64))
        if not high.any():
            return carried(limbs)
        values = high


def checked(limbs: NDArray[Any], shape: tuple[int, ...]) -> Limbs:
    """Return limbs from a file; raises ValueError if they are not what :func:`carried` returns."""
    if limbs.dtype.kind not in "iu" or limbs.ndim != len(shape) + 1 or limbs.shape[1:] != shape:
        raise ValueError("the sums do not match the labels and axes")
    fits = 0 < len(limbs) <= MOST_LIMBS and bool(np.all((limbs >= -(1 << (BITS - 1))) & (limbs < 1 << (BITS - 1))))
    if not fits or (len(limbs) > 1 and not limbs[-1].any()):
        raise ValueError("the sums are not whole numbers in their only form")
    return np.require(limbs.astype(np.int64), np.int64, ["C", "A"])
