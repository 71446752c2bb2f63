"""Where the CPU time of counting on Spark goes.

``DISCERN_DATA=... python -m benchmarks.speed.spark_parts [NAME=VALUE...]`` runs four jobs in turn in one warm session,
on a few rows and on many. Spark reads Parquet and drops the rows; it hands them to Python, which drops them; it hands
them to the counter; workers read them for the counter. The few rows show the price of a job and its tasks, the rest is
the price of bytes. The arguments are settings of the session, to see what they change.
"""

import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import psutil

from benchmarks.harness.data import REVIEWS, write
from benchmarks.harness.measure import Sample
from benchmarks.speed.spark_jobs import MANY, Inputs, away, count, merely_read, repeated
from discern.spark.parquet import SWITCH

WARMING, ROUNDS = 4, 4
FEW_ROWS = 20


@dataclass(frozen=True)
class Seconds:
    """CPU time of the parts of a local cluster; a thread that has ended is counted with those that work on tasks."""

    tasks: float
    compiler: float
    collector: float
    python: float
    counter: float = 0.0

    @property
    def total(self) -> float:
        return self.tasks + self.compiler + self.collector + self.python - self.counter

    def __sub__(self, other: "Seconds") -> "Seconds":
        return Seconds(*(getattr(self, each.name) - getattr(other, each.name) for each in fields(self)))


def so_far() -> Seconds:
    """Return the CPU time of all processes until now."""
    here = psutil.Process()
    python, java = sum(here.cpu_times()[:2]), None
    for process in here.children(recursive=True):
        if process.name() == "java":
            java = process
        else:
            python += sum(process.cpu_times()[:2])
    assert java is not None
    compiler = collector = 0.0
    for thread in java.threads():
        try:
            name = Path(f"/proc/{java.pid}/task/{thread.id}/comm").read_text()
        except OSError:
            continue  # it has ended meanwhile
        seconds = thread.user_time + thread.system_time
        compiler += seconds if "Compiler" in name else 0.0
        collector += seconds if name.startswith(("G1", "GC", "VM ")) else 0.0
    whole = sum(java.cpu_times()[:2])
    return Seconds(whole - compiler - collector, compiler, collector, python)


def hand_over(inputs: Inputs) -> None:
    """Let Python have all rows, which it drops."""
    from discern.spark.frames import map_partitions

    away(map_partitions(inputs.learned.select("label", "text"), drop, "nothing int"))


def drop(batches: Iterator[Any]) -> Iterator[Any]:
    for _ in batches:
        pass
    return iter(())


def count_as(read_by_workers: str) -> Callable[[Inputs], Any]:
    def run(inputs: Inputs) -> Any:
        inputs.spark.conf.set(SWITCH, read_by_workers)
        return count(inputs)

    return run


WORK: dict[str, Callable[[Inputs], Any]] = {
    "Spark reads": merely_read,
    "Python drops": hand_over,
    "Python counts": count_as("false"),
    "Python reads and counts": count_as("true"),
}


def measured(inputs: Inputs) -> dict[str, Seconds]:
    """Return the least that each kind of work took; they take turns."""
    least: dict[str, Seconds] = {}
    for number in range(WARMING + ROUNDS):
        for name, work in WORK.items():
            start = so_far()
            outcome = work(inputs)
            taken = so_far() - start
            if isinstance(outcome, Sample):
                taken = Seconds(*list(vars(taken).values())[:4], counter=taken.total - outcome.value)
            if number >= WARMING and (name not in least or taken.total < least[name].total):
                least[name] = taken
    return least


def few_of(inputs: Inputs, folder: Path) -> Inputs:
    """Return as many partitions of a few rows each: what jobs and tasks cost whatever they read."""
    import pyarrow.parquet as parquet

    few = folder / "few"
    few.mkdir()
    for number in range(inputs.learned.rdd.getNumPartitions()):
        rows = inputs.rows.slice(number * FEW_ROWS, FEW_ROWS)
        parquet.write_table(rows, few / f"{number}.parquet")
    inputs.spark.conf.set("spark.sql.files.openCostInBytes", "128m")  # a partition for each file
    return Inputs(spark=inputs.spark, learned=inputs.spark.read.parquet(str(few)))


HEAD = ("rows", "work", "JVM: tasks", "compiling", "garbage", "Python", "the counter", "but the counter", "to reading")


def report(rows: str, inputs: Inputs) -> None:
    """Measure, and print rows of the table."""
    least = measured(inputs)
    for work, seconds in least.items():
        share = seconds.total / least["Spark reads"].total
        figures = (f"{value:.2f}" for value in (*vars(seconds).values(), seconds.total, share))
        print("|", " | ".join((rows, work, *figures)), "|", flush=True)


def main(*given: str) -> None:
    settings = dict(one.split("=", 1) for one in given)
    with tempfile.TemporaryDirectory(prefix="discern-benchmarks-") as name:
        folder = Path(name)
        write(REVIEWS, folder, False)
        inputs = repeated(folder, MANY, settings)
        megabytes, partitions = inputs.rows.column("text").nbytes / 1e6, inputs.learned.rdd.getNumPartitions()
        print(f"{megabytes:.0f} MB of text, {partitions} partitions; CPU seconds", flush=True)
        print("|", " | ".join(HEAD), "|")
        print("|", " | ".join("---" for _ in HEAD), "|")
        report("all", inputs)
        report("few", few_of(inputs, folder))


if __name__ == "__main__":
    main(*sys.argv[1:])
