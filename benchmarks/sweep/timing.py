"""How a cell is timed: both sides alternate, few times if they take long, and each counts with its best run."""

import gc
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.harness.measure import WrongAnswerError
from benchmarks.sweep.cells import StopCellError, Work

LEAST_SECONDS, MOST_LOOPS = 0.004, 2_000
"""A sample of a fast call is a loop of about this long, and of at most this many calls."""
ROUNDS, QUICK_ROUNDS = 3, 7
"""How many samples of each side at most: of calls that take long, and of fast ones."""
QUICK = 0.02
ALONE = 2.0
"""A side that takes this long is not run again: its first run counts."""
FAR = 20.0
"""A side this many times slower than the other is stopped, and is not run again."""
LEAST_LIMIT = 10.0
NEAR = 1.0
"""A cell below this ratio is measured once more: the machine may have been disturbed."""


@dataclass(frozen=True)
class Pace:
    """How much time a cell gets."""

    seconds: float = 0.6
    rounds: int = ROUNDS
    quick_rounds: int = QUICK_ROUNDS
    again: bool = True


FULL, BRIEF = Pace(), Pace(0.0, 1, 1, again=False)


class TooSlowError(Exception):
    """A side took more than its limit."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Stop what takes more CPU time, in Python and in native code that looks for signals."""
    on_main = threading.current_thread() is threading.main_thread()
    if seconds == float("inf") or not on_main or not hasattr(signal, "setitimer"):
        yield
        return

    start = time.process_time()

    def stop(number: int, frame: Any) -> None:
        # A timer of CPU time would make the clock coarse: this one asks again if others have used the time.
        left = seconds - (time.process_time() - start)
        if left <= 0:
            raise TooSlowError
        signal.setitimer(signal.ITIMER_REAL, max(left, 0.01))

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Stopwatch:
    """Times calls by one clock: CPU time of the process, or the wall where there are more threads."""

    def __init__(self, threads: int) -> None:
        self.clock: Callable[[], float] = time.process_time if threads == 1 else time.perf_counter

    def once(self, work: Work) -> tuple[float, Any]:
        start = self.clock()
        outcome = work()
        return self.clock() - start, outcome

    def sample(self, work: Work, loops: int) -> float:
        """Return the mean of a loop of calls."""
        start = self.clock()
        for _ in range(loops):
            work()
        return (self.clock() - start) / loops


@dataclass
class Best:
    """The best times of both sides so far, and how many runs they are of."""

    ours: float
    theirs: float
    runs: int = 0

    @property
    def ratio(self) -> float:
        return self.theirs / max(self.ours, 1e-9)


def alternated(watch: Stopwatch, ours: Work, theirs: Work, first: Best, pace: Pace) -> Best:
    """Alternate both sides until the time is used up; ``first`` has the runs that warmed them up."""
    if max(first.ours, first.theirs) > ALONE:
        best = Best(first.ours, first.theirs, 1)
        return _other_side_again(watch, ours, theirs, best)
    total = first.ours + first.theirs
    rounds = pace.quick_rounds if total < QUICK else pace.rounds
    found = _rounds(watch, ours, theirs, first, rounds, pace.seconds)
    if pace.again and found.ratio < NEAR:
        more = _rounds(watch, ours, theirs, first, rounds, pace.seconds)
        found = Best(min(found.ours, more.ours), min(found.theirs, more.theirs), found.runs + more.runs)
    return found


def _rounds(watch: Stopwatch, ours: Work, theirs: Work, first: Best, rounds: int, seconds: float) -> Best:
    loops = [max(1, round(min(LEAST_SECONDS / max(value, 1e-9), MOST_LOOPS))) for value in (first.ours, first.theirs)]
    best, spent = Best(float("inf"), float("inf")), 0.0
    while best.runs == 0 or (best.runs < rounds and spent < seconds):
        start = time.perf_counter()
        best.ours = min(best.ours, watch.sample(ours, loops[0]))
        best.theirs = min(best.theirs, watch.sample(theirs, loops[1]))
        best.runs += 1
        spent += time.perf_counter() - start
    return best


def _other_side_again(watch: Stopwatch, ours: Work, theirs: Work, best: Best) -> Best:
    """Run again the side that is far from taking long: its first run has the cost of warming up."""
    if best.ours < ALONE / 4:
        best.ours = min(best.ours, watch.sample(ours, 1))
    if best.theirs < ALONE / 4:
        best.theirs = min(best.theirs, watch.sample(theirs, 1))
    return best


class TimingBench:
    """Times the cells of a case and hands a row of each to ``report``."""

    def __init__(
        self,
        folder: Path,
        threads: int,
        report: Callable[[str, dict[str, Any]], None],
        wanted: Callable[[str], bool] = lambda operation: True,
        pace: Pace = FULL,
    ) -> None:
        self.folder, self.threads = folder, threads
        self._report, self._wanted, self._pace = report, wanted, pace
        self._watch = Stopwatch(threads)

    def measure(self, operation: str, ours: Work, theirs: Work, check: Callable[[Any, Any], None]) -> tuple[Any, Any]:
        """Time a cell; a cell that is not wanted runs once, for the models that others need."""
        gc.collect()
        gc.disable()
        try:
            return self._measured(operation, ours, theirs, check)
        finally:
            gc.enable()

    def _measured(self, operation: str, ours: Work, theirs: Work, check: Callable[[Any, Any], None]) -> tuple[Any, Any]:
        their_seconds, other = self._first(operation, "the peer", theirs, float("inf"))
        our_seconds, mine = self._first(operation, "ours", ours, max(LEAST_LIMIT, 1.5 * FAR * their_seconds))
        if not self._wanted(operation):
            return mine, other
        row: dict[str, Any] = {"status": "measured"}
        try:
            check(mine, other)
        except WrongAnswerError as error:
            row = {"status": "wrong", "reason": str(error)}
        best = alternated(self._watch, ours, theirs, Best(our_seconds, their_seconds), self._pace)
        figures = {"ours": best.ours, "theirs": best.theirs, "ratio": best.ratio, "runs": best.runs}
        self._report(operation, {**row, **figures})
        return mine, other

    def _first(self, operation: str, side: str, work: Work, limit: float) -> tuple[float, Any]:
        """Run a side once; what goes wrong is the result of the cell."""
        try:
            with limited(limit * self.threads):
                return self._watch.once(work)
        except TooSlowError:
            reason = f"stopped after {limit:.0f} s, more than {FAR:.0f} times what the peer needs"
            self._report(operation, {"status": "slow", "ratio": 1 / FAR, "reason": reason})
        except Exception as error:
            traceback.print_exception(error)
            first_line = (str(error).splitlines() or [""])[0]
            self._report(operation, {"status": "failed", "reason": f"{side}: {type(error).__name__}: {first_line}"})
        raise StopCellError
