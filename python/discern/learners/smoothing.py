"""Smoothing: what a count that is zero, or small, becomes in a probability."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Laplace:
    """Add ``alpha`` to every count: (T_kt + α) / (Σ T_kt + αV).

    Examples
    --------
    >>> Laplace(1)
    Laplace(alpha=1.0)
    """

    alpha: float = 1.0

    def __post_init__(self) -> None:
        if not np.all(np.isfinite(self.alpha)) or np.any(np.asarray(self.alpha) < 0):
            raise ValueError(f"alpha must be a number of at least 0, not {self.alpha!r}")
        if np.ndim(self.alpha) == 0:
            object.__setattr__(self, "alpha", float(self.alpha))  # 1 and 1.0 are the same in a model file


@dataclass(frozen=True)
class JelinekMercer:
    """Mix the class with the corpus: λ P(t|k) + (1−λ) P(t).

    Examples
    --------
    >>> JelinekMercer(0.3)
    JelinekMercer(weight=0.3)
    """

    weight: float = 0.5

    def __post_init__(self) -> None:
        if not 0 <= self.weight < 1:
            raise ValueError(f"the weight λ must be at least 0 and below 1, not {self.weight!r}")
        object.__setattr__(self, "weight", float(self.weight))


@dataclass(frozen=True)
class Dirichlet:
    """Add ``mass`` occurrences spread as in the corpus: (T_kt + μ P(t)) / (Σ T_kt + μ).

    Examples
    --------
    >>> Dirichlet(500)
    Dirichlet(mass=500)
    """

    mass: float = 1000.0

    def __post_init__(self) -> None:
        if not 1e-100 <= self.mass <= 1e100:
            raise ValueError(f"the mass μ must be above 0 (and from 1e-100 to 1e100), not {self.mass!r}")


Smoothing = Laplace | JelinekMercer | Dirichlet


def as_smoothing(value: Any) -> Smoothing:
    """Take a number for Laplace smoothing.

    Examples
    --------
    >>> as_smoothing(0.5)
    Laplace(alpha=0.5)
    """
    if isinstance(value, Laplace | JelinekMercer | Dirichlet):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Laplace(float(value))
    raise ValueError(f"smoothing must be a number, Laplace, JelinekMercer or Dirichlet, not {value!r}")


def smoothing_to_json(smoothing: Smoothing) -> dict[str, Any]:
    """Return a smoothing as plain values."""
    return {"kind": type(smoothing).__name__, **asdict(smoothing)}


def smoothing_from_json(values: Mapping[str, Any]) -> Smoothing:
    """Make a smoothing of what :func:`smoothing_to_json` gave."""
    kinds = {kind.__name__: kind for kind in (Laplace, JelinekMercer, Dirichlet)}
    values = dict(values)
    kind = kinds[values.pop("kind")]
    return kind(**{name: float(value) for name, value in values.items()})
