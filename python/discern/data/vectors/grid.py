"""A grid of powers of two: numbers become whole numbers of small units, whose sums are exact.

On each axis a number x becomes q = round((x − origin) · 2^(bits − exponent)), where 2^exponent is the axis's scale.
Origin and exponent come from the rows of the first fit and are kept with the settings. Both are coarse, so that no
number of a row can be read from them: the origin is a multiple of a quarter of the scale.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

COARSE, FINE = 19, 40
"""Bits below the scale of an axis: where speed counts, as for vectors, and elsewhere."""
FARTHEST = 2.0**62
"""A number farther from the origin, in units, is taken to be here: 2⁴³ or 2²² scales away."""
LEAST_EXPONENT, MOST_EXPONENT = -1020, 1010
"""Scales beyond these powers of two are taken to be here."""
ORIGIN_BITS = 30
"""An origin has no more binary digits."""
SINGLE_SPREAD = 2.0**-8
"""The least spread of numbers in single precision, as a share of their median: units are still finer than they are."""
SAMPLE_ROWS = 4096
"""A grid is laid by the quartiles of this many rows."""
NORMAL_QUARTILES = 1.349
"""Standard deviations between the quartiles of a normal distribution."""


@dataclass(frozen=True)
class Grid:
    """The origin and the scale of each axis, and the bits below the scale.

    Examples
    --------
    >>> grid = Grid.of(np.array([9.7, 0.02]), np.array([3.0, 0.001]), COARSE)
    >>> grid.origins, grid.exponents
    ((10.0, 0.02001953125), (2, -9))
    >>> grid.standardized(np.array([[14.0, 0.02001953125]])).tolist()
    [[1.0, 0.0]]
    """

    origins: tuple[float, ...]
    exponents: tuple[int, ...]
    bits: int = COARSE

    def __post_init__(self) -> None:
        if len(self.origins) != len(self.exponents) or self.bits not in (COARSE, FINE):
            raise ValueError("the grid does not match its axes")
        if not np.isfinite(self.origin).all() or not all(
            LEAST_EXPONENT <= one <= MOST_EXPONENT for one in self.exponents
        ):
            raise ValueError("the grid has an axis without a scale")

    @classmethod
    def of(cls, means: Array, deviations: Array, bits: int) -> Grid:
        """Lay a grid over axes with these means and standard deviations; a constant axis has the scale of its mean."""
        with np.errstate(invalid="ignore"):
            spread = np.where(deviations > 1e-12 * np.abs(means), deviations, np.abs(means))
        spread = np.where(np.isfinite(spread) & (spread > 0), spread, 1.0)
        exponents = np.clip(np.frexp(spread)[1], LEAST_EXPONENT, MOST_EXPONENT)
        with np.errstate(over="ignore", invalid="ignore"):
            origins = np.ldexp(np.rint(np.ldexp(means, 2 - exponents)), exponents - 2)
        origins = np.nan_to_num(_leading(origins))  # a mean far from zero for its spread has more digits
        return cls(tuple(origins.tolist()), tuple(exponents.tolist()), bits)

    @classmethod
    def fit(cls, values: NDArray[Any], bits: int) -> Grid:
        """Lay a grid by the quartiles of rows × axes, which no outlier moves; without rows it has unit scales.

        Of numbers in single precision, the origin has fewer digits than they have, however near they are to each other.
        """
        step = max(1, -(-len(values) // SAMPLE_ROWS))
        sample = np.asarray(values[::step], np.float64)
        if not len(sample):
            return cls((0.0,) * values.shape[1], (0,) * values.shape[1], bits)
        low, middle, high = np.quantile(sample, [0.25, 0.5, 0.75], axis=0, method="lower")
        with np.errstate(over="ignore", invalid="ignore"):
            spread = (high - low) / NORMAL_QUARTILES
            mostly_alike = np.abs(sample - middle).mean(axis=0)
        spread = np.where(spread > 0, spread, mostly_alike)
        if values.dtype == np.float32:
            spread = np.maximum(spread, SINGLE_SPREAD * np.abs(middle))
        return cls.of(middle, spread, bits)

    def __len__(self) -> int:
        return len(self.origins)

    @cached_property
    def origin(self) -> Array:
        """The origins as an array."""
        return np.array(self.origins, np.float64)

    @cached_property
    def scale(self) -> Array:
        """The scales, powers of two."""
        return np.ldexp(1.0, np.array(self.exponents, np.int64))

    @cached_property
    def per_unit(self) -> Array:
        """Units in one; infinite for the smallest scales."""
        with np.errstate(over="ignore"):
            return np.ldexp(1.0, self._shift)

    @cached_property
    def _shift(self) -> NDArray[np.int64]:
        return self.bits - np.array(self.exponents, np.int64)

    def units(self, values: NDArray[Any]) -> Array:
        """Return numbers, rows × axes, in whole units."""
        with np.errstate(over="ignore"):
            steps = np.ldexp(values.astype(np.float64) - self.origin, self._shift)
        return np.asarray(np.rint(np.clip(steps, -FARTHEST, FARTHEST)))

    def standardized(self, values: NDArray[Any]) -> Array:
        """Return numbers, rows × axes, as distances from the origin in scales."""
        with np.errstate(over="ignore"):
            steps = (values.astype(np.float64) - self.origin) / self.scale
        most = np.ldexp(FARTHEST, -self.bits)
        return np.asarray(np.clip(steps, -most, most))

    def to_json(self) -> dict[str, Any]:
        """Return the grid as plain values."""
        return {"origins": list(self.origins), "exponents": list(self.exponents), "bits": self.bits}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Grid:
        """Make a grid from what :meth:`to_json` returned."""
        origins, exponents = values["origins"], values["exponents"]
        return cls(tuple(map(float, origins)), tuple(map(int, exponents)), int(values["bits"]))


def _leading(values: Array) -> Array:
    """Return numbers rounded to their first binary digits."""
    mantissas, exponents = np.frexp(values)
    return np.asarray(np.ldexp(np.rint(np.ldexp(mantissas, ORIGIN_BITS)), exponents - ORIGIN_BITS))
