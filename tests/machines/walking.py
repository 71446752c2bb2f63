"""Random walks that can be repeated by their seed, and are made as short as still shows what is wrong.

A walk is drawn from a seed. Each of its steps has a seed of its own, so that steps can be left out.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, ClassVar, Self, TypeVar

T = TypeVar("T")
Step = tuple[str, int]
"""The name of an operation, and the seed of all that is drawn in it."""


class ViolationError(AssertionError):
    """A promise that does not hold."""


@dataclass(frozen=True)
class Failure:
    """A walk that ended in an error, with all that is needed to see it again."""

    machine: str
    seed: int
    steps: tuple[Step, ...]
    error: BaseException

    def __str__(self) -> str:
        listed = "".join(f"\n    {step!r}," for step in self.steps)
        return f"{self.error!r}\nreplay: {self.machine}.Machine.replay({self.seed}, [{listed}\n])"


class Walker:
    """What machines have in common: a machine is made of a seed and a folder, and has a method for each operation."""

    operations: ClassVar[Mapping[str, int]]
    """The operations, and how often each is drawn."""
    length: ClassVar[int]
    """How many steps a walk has."""

    def __init__(self, seed: int, folder: Path) -> None:
        raise NotImplementedError

    def check(self, random: Random) -> None:
        """Raise an error unless all that must hold does."""
        raise NotImplementedError

    def step(self, name: str, seed: int) -> None:
        """Take one step and check everything."""
        random = Random(seed)
        getattr(self, name)(random)
        self.check(random)

    @classmethod
    def replay(cls, seed: int, steps: Sequence[Step]) -> Self:
        """Repeat steps of a walk."""
        with tempfile.TemporaryDirectory() as folder:
            machine = cls(seed, Path(folder))
            for step in steps:
                machine.step(*step)
        return machine

    @classmethod
    def walk(cls, seed: int, also: Mapping[str, int] | None = None) -> Failure | None:
        """Take random steps, ``also`` those that are seldom wanted; return the failure that ended them, if any."""
        random, weights = Random(seed), {**cls.operations, **(also or {})}
        names = random.choices([*weights], [*weights.values()], k=cls.length)
        steps = [(name, random.randrange(1 << 32)) for name in names]
        done = list[Step]()
        try:
            with tempfile.TemporaryDirectory() as folder:
                machine = cls(seed, Path(folder))
                for step in steps:
                    done.append(step)
                    machine.step(*step)
        except Exception as error:  # whatever it is, it is a failure
            return cls._shortened(Failure(cls.__module__, seed, tuple(done), error))
        return None

    @classmethod
    def _shortened(cls, failure: Failure) -> Failure:
        """Leave out every step without which the walk still fails in the same way."""
        for place in reversed(range(len(failure.steps) - 1)):
            fewer = (*failure.steps[:place], *failure.steps[place + 1 :])
            try:
                cls.replay(failure.seed, fewer)
            except Exception as again:  # the same kind of error is the same failure
                if type(again) is type(failure.error) and str(again)[:20] == str(failure.error)[:20]:
                    failure = Failure(failure.machine, failure.seed, fewer, again)
        return failure


def walked(machine: type[Walker], steps: int, seed: int, also: Mapping[str, int] | None = None) -> list[str]:
    """Take steps in walks of their own seeds; return the failures and print a summary."""
    import time

    started, first = time.perf_counter(), seed * 1_000_000
    walks = [machine.walk(one, also) for one in range(first, first + steps // machine.length)]
    failures = [str(failure) for failure in walks if failure is not None]
    for failure in failures:
        print(failure)
    taken = time.perf_counter() - started
    counted = f"{len(walks) * machine.length:,} steps, {len(failures)} violations"
    print(f"{machine.__module__}: {counted}, seed {seed}, {taken:.0f} s")
    return failures


def require(holds: Any, otherwise: str) -> None:
    """Raise a violation unless something holds."""
    if not holds:
        raise ViolationError(otherwise)


def refuses(action: Callable[[], Any]) -> None:
    """Require that an action is refused with a sentence."""
    try:
        action()
    except ValueError as error:
        require(str(error).strip(), "a refusal without a sentence")
        return
    raise ViolationError("this should have been refused")


def attempt(action: Callable[[], T]) -> T | None:
    """Return what an action returns, or None if it is refused."""
    try:
        return action()
    except ValueError:
        return None


def together(calls: Sequence[Callable[[], Any]]) -> None:
    """Call all at once, each in a thread, and raise the first error."""
    errors, gate = list[BaseException](), threading.Barrier(len(calls))

    def run(call: Callable[[], Any]) -> None:
        try:
            gate.wait()
            call()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=[call]) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
