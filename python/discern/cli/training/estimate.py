"""What ``fit --dry-run`` shows: roles and sizes, and estimates of time and memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import typer

from discern.cli.output import counted, in_bytes, print_json
from discern.data.readers import Sources

if TYPE_CHECKING:
    from discern.classifier import Classifier
    from discern.cli.options import Output
    from discern.data.batch import Batch
    from discern.data.source import Reading

TIME_LIMIT = 3.0
"""Seconds spent on reading."""
SAMPLE = 1 << 21
"""The most bytes of rows to estimate time and memory from."""
SLICE = 1 << 16
"""Bytes of rows taken from each batch."""
PROGRAM = 120_000_000
"""Bytes of memory that the program needs before it reads rows."""
PER_TERM = 400
"""Bytes of memory per term while a model is solved."""
GROWTH = 0.7
"""The time of validation grows as this power of the rows, since most of it is spent on a fixed number of rows."""
VALIDATION = 1 << 26
"""Bytes of rows that naive Bayes keeps for validation; all other models keep all rows."""


def show(classifier: Classifier, data: Any, how: Reading, out: Output) -> None:
    """Print what fit would do; nothing is written."""
    found = skim(classifier, data, how)
    features, left_out = classifier.settings.features_of(found.first or found.kept[0])
    sources = tuple(data) if isinstance(data, Sources) else ("-",)
    estimate = estimate_of(classifier, found, sources)
    if out.json:
        roles = [feature.to_json() for feature in features]
        facts = {"dry_run": True, "label": classifier.label, "features": roles, "left_out": left_out}
        seen = {"rows_looked_at": found.rows, "rows_per_label": found.labels}
        print_json({**facts, **seen, **asdict(estimate)})
        return

    out.say(_labels_in_words(classifier.label, found))
    out.say("columns: " + ", ".join(feature.described for feature in features))
    for name, reason in left_out.items():
        out.say(f"  {name!r} is left out: {reason}")
    for line in _in_words(estimate):
        typer.echo(line)


def _labels_in_words(column: str, found: Skimmed) -> str:
    shown = sorted(found.labels.items(), key=lambda one: (-one[1], one[0]))[:10]
    listed = ", ".join(f"{name} {rows:,}" for name, rows in shown)
    more = ", …" if len(found.labels) > len(shown) else ""
    seen = "" if found.whole else f" among the first {counted(found.rows, 'row')}"
    return f"{counted(len(found.labels), 'label')} in {column!r}{seen}: {listed}{more}"


def _in_words(estimate: Estimate) -> list[str]:
    if estimate.rows is None or estimate.bytes is None or estimate.seconds is None or estimate.memory is None:
        return ["the size of the data is not known, so neither are time and memory; nothing was written"]
    about = "" if estimate.exact else "about "
    return [
        f"{about}{counted(estimate.rows, 'row')}, {in_bytes(estimate.bytes)}",
        f"about {_time(estimate.seconds)} and {in_bytes(estimate.memory)} of memory; nothing was written",
    ]


def _time(seconds: float) -> str:
    if seconds < 1.5:
        return "a second"
    return f"{seconds:.0f} seconds" if seconds < 120 else f"{seconds / 60:.0f} minutes"


@dataclass(frozen=True)
class Estimate:
    """What fitting is expected to need; None if it is not known."""

    rows: int | None
    bytes: int | None
    seconds: float | None
    memory: float | None
    exact: bool
    """Whether all rows were counted."""


@dataclass
class Skimmed:
    """Rows from all parts of the data, and what was counted while reading them."""

    kept: list[Batch]
    rows: int
    bytes: int
    """Decompressed bytes read so far."""
    labels: dict[str, int]
    whole: bool
    """Whether all of the data was read."""
    first: Batch | None = None
    """The rows to infer the roles of columns from."""

    @property
    def size(self) -> int:
        """The size of the kept rows in bytes, about."""
        return sum(batch.size for batch in self.kept)


def skim(classifier: Classifier, data: Any, how: Reading) -> Skimmed:
    """Read for a few seconds, and keep rows from all parts: files are often sorted by label."""
    from discern.data.readers import batches
    from discern.data.roles import leading_rows
    from discern.data.strings import DataError

    started, found, stride = time.perf_counter(), Skimmed([], 0, 0, {}, True), 1
    found.first, stream = leading_rows(batches(data, how))
    for number, batch in enumerate(stream):
        _count(batch, classifier, found)
        if number % stride == 0 and batch.rows:
            found.kept.append(_first(batch))
        while found.size > SAMPLE and len(found.kept) > 1:
            found.kept, stride = found.kept[::2], 2 * stride
        if time.perf_counter() - started > TIME_LIMIT:
            found.whole = False
            break
    if not found.rows:
        raise DataError("there are no rows to learn from")
    found.bytes = how.bytes_read
    return found


def _count(batch: Batch, classifier: Classifier, found: Skimmed) -> None:
    import numpy as np

    from discern.data.label_sets.sets import labels_in
    from discern.models.fitting import has_label_sets

    settings = classifier.settings
    several = has_label_sets(settings, batch)
    read = settings.label_sets.of_batch(batch, settings.label) if several else batch
    numbers, names = read.labels(settings.label)
    for name, count in zip(names, np.bincount(numbers, minlength=len(names)).tolist(), strict=True):
        for label in labels_in(name) if several else [name]:
            found.labels[label] = found.labels.get(label, 0) + count
    found.rows += batch.rows


def _first(batch: Batch) -> Batch:
    """Return the first rows of a batch, about ``SLICE`` bytes."""
    import numpy as np

    share = min(1.0, SLICE / max(1, batch.size))
    return batch.take(np.arange(batch.rows) < max(1, share * batch.rows))


def estimate_of(classifier: Classifier, found: Skimmed, data: Sequence[str]) -> Estimate:
    """Learn from the kept rows, and extrapolate to all rows."""
    total = found.bytes if found.whole else _total(data, found)
    if total is None:
        return Estimate(None, None, None, None, False)
    rows = found.rows if found.whole else round(found.rows * total / max(1, found.bytes))
    factor = max(1.0, rows / sum(batch.rows for batch in found.kept))
    size, is_sum = found.size * factor, classifier.settings.is_sum
    seconds, terms = _tried(classifier, found.kept, factor, is_sum and size > VALIDATION)
    memory = PROGRAM + PER_TERM * terms + (3 * min(size, VALIDATION) if is_sum else 6 * size)
    return Estimate(rows, total, seconds, memory, found.whole)


def _tried(classifier: Classifier, rows: list[Batch], factor: float, validates_by_part: bool) -> tuple[float, float]:
    """Return the seconds and the terms for ``factor`` times as many rows."""
    if classifier.model == "best":
        return classifier.settings.budget, 1e6
    seconds = _timed(lambda: classifier.fit(iter(rows)))
    if validates_by_part:  # and all rows are counted once more
        part = VALIDATION / sum(batch.size for batch in rows)
        seconds = seconds * part**GROWTH + _timed(lambda: classifier.learn(iter(rows))) * factor
    else:
        seconds *= factor**GROWTH if classifier.settings.is_sum and classifier.settings.auto_smoothing else factor
    # The number of terms grows as a power of the number of rows (Heaps' law).
    return seconds, classifier.solved.terms * factor**0.6


def _timed(work: Callable[[], object]) -> float:
    """Return the seconds of some work: CPU time, if other processes slowed it down."""
    started, used = time.perf_counter(), time.process_time()
    work()
    return min(time.perf_counter() - started, time.process_time() - used)


def _total(data: Sequence[str], found: Skimmed) -> int | None:
    """Return the size of all data in bytes, decompressed (about); None if it is not known."""
    from glob import glob
    from pathlib import Path

    from discern.data.source import COMPRESSIONS

    size = 0.0
    for source in data:
        if source == "-":
            return None
        for path in [Path(one) for one in glob(source, recursive=True)] or [Path(source)]:
            for file in path.rglob("*") if path.is_dir() else [path]:
                packed = _packed(found) if file.suffix in COMPRESSIONS else 1.0
                size += file.stat().st_size * packed if file.is_file() else 0
    return round(size)


def _packed(found: Skimmed) -> float:
    """Return about how many times smaller a compressed file is, from compressing the kept rows."""
    import zlib

    rows = [str(batch.row(place)) for batch in found.kept for place in range(min(batch.rows, 200))]
    texts = "\n".join(rows).encode("utf-8", "replace")
    return len(texts) / max(1, len(zlib.compress(texts)))
