"""What a job is: its inputs, our side, its peers, the check that both return the same, and the goal."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from benchmarks.harness.data import Texts
from benchmarks.harness.measure import Side, require

Inputs = SimpleNamespace
SCIKIT_LEARN = "scikit-learn"


@dataclass(frozen=True)
class Goal:
    """What to reach: ``faster`` by a factor, a ``share`` of what the peer needs, a ``lead``, or a ``limit``."""

    kind: str
    value: float
    with_avx2: float | None = None
    informative: bool = False

    def value_on(self, code_path: str) -> float:
        return self.with_avx2 if self.with_avx2 is not None and code_path != "avx512" else self.value


@dataclass(frozen=True)
class Peer:
    """What we are measured against; without a side, only against the goal's limit."""

    name: str
    goal: Goal
    check: Callable[[Inputs, Any, Any], None]
    side: Side | None = None


@dataclass(frozen=True)
class Job:
    """A piece of work; ``prepare`` makes the inputs of both sides and is not measured."""

    name: str
    about: str
    texts: Texts | None
    prepare: Callable[[Path, bool], Inputs]
    ours: Side
    peers: tuple[Peer, ...]
    unit: str = "CPU seconds"
    repeats: int = 7
    quick_repeats: int = 2


def close(ours: Any, theirs: Any, tolerance: float, name: str) -> None:
    require(ours.shape == theirs.shape, f"{name} has another shape")
    most = float(np.max(np.abs(ours - theirs), initial=0))
    require(most <= tolerance, f"{name} differs by {most:.1e}")


def relatively_close(ours: Any, theirs: Any, tolerance: float, name: str) -> None:
    # For sums of thousands of numbers, which differ by rounding with the order of the summands: the log joint
    # probability of a long review is near -20,000, where the last bit of a float is 4e-12.
    close(ours / theirs, np.ones_like(theirs), tolerance, f"{name}, as a share,")


def nothing_to_check(inputs: Inputs, ours: Any, theirs: Any) -> None:
    pass
