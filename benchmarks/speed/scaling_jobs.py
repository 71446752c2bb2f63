"""Jobs about growth: time and memory against documents, vocabulary, classes and features; and a second core.

A slope is that of the straight line through the logarithms: 1 is proportional, below 1 is better. Each job prints the
sizes with what they took.
"""

import hashlib
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv

import discern
from benchmarks.harness.data import REVIEWS, read, vocabulary
from benchmarks.harness.job import Goal, Inputs, Job, Peer, nothing_to_check
from benchmarks.harness.measure import LeftOutError, Sample, Side, cpu, require, task, wall, with_threads
from benchmarks.speed.text_jobs import same_counts, same_matrix
from discern.data.batch import as_texts
from discern.data.text import TextSettings
from discern.statistics.counts import Counts

SHARES = (0.125, 0.25, 0.5, 1.0)
MANY_TERMS, MANY_CLASSES = 1_000_000, 10_000
TRIES = 3


def slope(sizes: Sequence[float], values: Sequence[float]) -> float:
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def growth(name: str, sizes: Callable[[Inputs], Sequence[Any]], work: Side, tries: int = TRIES) -> Side:
    """Return the slope of what the work takes, the least of some tries at each size, and print it all."""

    def side(inputs: Inputs) -> Sample:
        taken = []
        for size in sizes(inputs):
            inputs.size = size
            taken.append(min(work(inputs).value for _ in range(tries)))
        found = slope(sizes(inputs), taken)
        shown = ", ".join(f"{size:,}: {value:.4g}" for size, value in zip(sizes(inputs), taken, strict=True))
        print(f"{name}: {shown}; slope {found:.3f}", flush=True)
        return Sample(found, taken)

    return side


# ------------------------------------------------------------------------------------------------------- documents


def prepare_documents(folder: Path, quick: bool) -> Inputs:
    table = read(REVIEWS, folder)
    table = table.take(np.random.default_rng(1).permutation(len(table))).combine_chunks()
    return Inputs(table=table, folder=folder, sizes=[int(len(table) * share) for share in SHARES])


def fit_some(inputs: Inputs) -> Any:
    return discern.Classifier(smoothing=1.0, threads=1).fit(inputs.table[: inputs.size])


def prepare_files(folder: Path, quick: bool) -> Inputs:
    """Write ever more reviews; those beyond all that there are come again, with no new word."""
    inputs = prepare_documents(folder, quick)
    inputs.sizes = [*inputs.sizes, *(len(inputs.table) * times for times in (2, 4))]
    inputs.table = pa.concat_tables([inputs.table] * 4)
    for size in inputs.sizes:
        pyarrow.csv.write_csv(inputs.table[:size], folder / f"documents-{size}.csv")
    return inputs


def file_of(inputs: Inputs) -> str:
    return str(inputs.folder / f"documents-{inputs.size}.csv")


def vocabulary_of(inputs: Inputs) -> Sample:
    texts = as_texts(inputs.table["text"][: inputs.size], "the reviews")
    return Sample(len(Counts.of(texts, [""] * inputs.size, TextSettings(), threads=1).terms), None)


# ------------------------------------------------------------------------------------------ vocabulary and classes


def prepare_vocabulary(folder: Path, quick: bool) -> Inputs:
    """Make texts of the same length from ever more words, each as frequent as any other: the worst case."""
    random = np.random.default_rng(0)
    sizes = [1_000, 10_000, 100_000] if quick else [1_000, 10_000, 100_000, 1_000_000]
    words = np.array(vocabulary(sizes[-1]), dtype=object)
    rows, length = (200, 100) if quick else (20_000, 200)
    tables = {}
    for size in sizes:
        drawn = words[random.integers(0, size, (rows, length))]
        labels = np.where(np.arange(rows) % 2, "ham", "spam")
        tables[size] = pa.table({"label": labels.tolist(), "text": [" ".join(row) for row in drawn]})
    return Inputs(tables=tables, sizes=sizes)


def fit_vocabulary(inputs: Inputs) -> Any:
    return discern.Classifier(smoothing=1.0, threads=1).fit(inputs.tables[inputs.size])


def prepare_classes(folder: Path, quick: bool) -> Inputs:
    table = read(REVIEWS, folder)
    texts = as_texts(table["text"], "the reviews")
    random = np.random.default_rng(0)
    sizes = [2, 20, 200, 2_000]
    labels = {size: [f"class {number}" for number in random.integers(0, size, len(table))] for size in sizes}
    return Inputs(texts=table["text"], columns=texts, labels=labels, sizes=sizes)


def fit_classes(size: int | None = None) -> Callable[[Inputs], Any]:
    def fit(inputs: Inputs) -> Any:
        table = pa.table({"label": inputs.labels[size or inputs.size], "text": inputs.texts})
        return discern.Classifier(smoothing=1.0, threads=1).fit(table)

    return fit


def learned_each_class(inputs: Inputs, ours: Any, theirs: Any) -> None:
    require((len(ours.labels), len(theirs.labels)) == (20, 2), "classes are missing")
    require(ours.rows == theirs.rows, "rows are missing")


def prepare_many_classes(folder: Path, quick: bool) -> Inputs:
    """Write texts of 10,000 classes that hold 1,000,000 words, each class having some of its own."""
    terms, classes = (MANY_TERMS // 100, MANY_CLASSES // 100) if quick else (MANY_TERMS, MANY_CLASSES)
    random = np.random.default_rng(0)
    words = np.array([word for word in vocabulary(int(terms * 1.01) + 2_000) if len(word) > 1][:terms], dtype=object)
    rows, length = 10 * classes, 100
    drawn = (random.pareto(0.7, (rows, length)) * 20).astype(np.int64) % terms
    drawn[:, 0] = np.arange(rows) % terms
    drawn[:, 1:11] = (np.arange(rows)[:, None] * 10 + np.arange(10)) % terms  # so that every word occurs
    texts = [" ".join(row) for row in words[drawn]]
    table = pa.table({"label": [f"class {row % classes}" for row in range(rows)], "text": texts})
    path = folder / "classes.csv"
    pyarrow.csv.write_csv(table, path)
    return Inputs(path=str(path), terms=terms, classes=classes)


def has_all_classes_and_terms(inputs: Inputs, ours: dict[str, Any], theirs: None) -> None:
    require(ours["labels"] == inputs.classes, f"it learned {ours['labels']} classes")
    require(ours["terms"] >= 0.99 * inputs.terms, f"it learned {ours['terms']} terms")


# --------------------------------------------------------------------------------------------------------- features


def prepare_features(folder: Path, quick: bool) -> Inputs:
    rows = 2_000 if quick else 100_000
    sizes = [8, 16, 32, 64, 128]
    random = np.random.default_rng(0)
    X = random.standard_normal((rows, sizes[-1]))
    tables = {size: np.ascontiguousarray(X[:, :size]) for size in sizes}
    return Inputs(tables=tables, y=random.integers(0, 2, rows), sizes=sizes)


def fit_columns(name: str) -> Callable[[Inputs], Any]:
    def fit(inputs: Inputs) -> Any:
        return getattr(discern, name)().fit(inputs.tables[inputs.size], inputs.y)

    return fit


# -------------------------------------------------------------------------------------------------------- two cores


TAKEN_IN_TURN = 45
"""Runs of each side: what a second core is worth changes from second to second where the machine is shared."""


def prepare_large(folder: Path, quick: bool) -> Inputs:
    """Return 500 MB of reviews, the same again and again."""
    if cores() < 2:
        raise LeftOutError("there is only one core")
    table = read(REVIEWS, folder)
    size = pa.compute.sum(pa.compute.binary_length(table["text"])).as_py()
    times = 1 if quick else max(1, round(500e6 / size))
    large = pa.concat_tables([table] * times)
    parts = [large["text"].cast(pa.large_string()).combine_chunks()]
    column = pa.chunked_array(parts)
    model = discern.Classifier(smoothing=1.0).fit(table)
    labels = large["label"].to_pylist()
    return Inputs(column=column, texts=as_texts(column, "the reviews"), labels=labels, model=model)


def count(inputs: Inputs) -> Counts:
    return Counts.of(inputs.texts, inputs.labels, TextSettings())


def prepare_list(folder: Path, quick: bool) -> Inputs:
    inputs = prepare_large(folder, quick)
    return Inputs(list=inputs.column.to_pylist())


def vectorize(inputs: Inputs) -> tuple[Any, Any]:
    vectorizer = discern.CountVectorizer()
    return vectorizer, vectorizer.fit_transform(inputs.list)


def predict(inputs: Inputs) -> Any:
    return inputs.model.predict(pa.table({"text": inputs.column}))


def same_labels(inputs: Inputs, ours: Any, theirs: Any) -> None:
    require(np.array_equal(ours, theirs), "the labels differ")


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def prepare_hashing(folder: Path, quick: bool) -> Inputs:
    if cores() < 2:
        raise LeftOutError("there is only one core")
    return Inputs(block=bytes(1 << 16), times=300 if quick else 3_000)


def hash_twice(threads: int) -> Callable[[Inputs], Any]:
    def digest(inputs: Inputs) -> str:
        found = hashlib.blake2b()
        for _ in range(inputs.times):
            found.update(inputs.block)  # other threads may run meanwhile
        return found.hexdigest()

    def run(inputs: Inputs) -> Any:
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(digest, [inputs, inputs]))

    return run


def two_cores(name: str, about: str, prepare: Any, work: Any, check: Any) -> Job:
    peer = Peer("one thread", Goal("faster", 1.8), check, wall(with_threads(work, 1)))
    ours = wall(with_threads(work, 2))
    about = f"{about} of 500 MB of text with two threads; the peer is ours with one (wall time)"
    return Job(f"two-cores/{name}", about, REVIEWS, prepare, ours, (peer,), unit="seconds", repeats=TAKEN_IN_TURN)


def sloped(name: str, about: str, prepare: Any, work: Side, goal: Goal, texts: Any = None) -> Job:
    side = growth(f"scaling/{name}", lambda inputs: inputs.sizes, work)
    peers = (Peer("", goal, nothing_to_check),)
    return Job(f"scaling/{name}", about, texts, prepare, side, peers, unit="slope", repeats=3, quick_repeats=1)


JOBS = (
    sloped(
        "documents",
        "slope of training time against documents",
        prepare_documents,
        cpu(fit_some),
        Goal("limit", 1.05),
        REVIEWS,
    ),
    Job(
        "scaling/memory",
        "slope of a process's peak memory against documents, read from a file; the peer: slope of the vocabulary",
        REVIEWS,
        prepare_files,
        growth("scaling/memory", lambda inputs: inputs.sizes, task("memory-ours", file_of), tries=1),
        (
            Peer(
                "vocabulary",
                Goal("share", 1.0),
                nothing_to_check,
                growth("vocabulary", lambda inputs: inputs.sizes, vocabulary_of, tries=1),
            ),
        ),
        unit="slope",
        repeats=1,
        quick_repeats=1,
    ),
    sloped(
        "vocabulary",
        "slope of training time against the vocabulary, 4,000,000 words in texts",
        prepare_vocabulary,
        cpu(fit_vocabulary),
        Goal("limit", 0.5, informative=True),
    ),
    sloped(
        "classes",
        "slope of training time against classes, 2 to 2,000",
        prepare_classes,
        cpu(fit_classes()),
        Goal("limit", 0.5, informative=True),
        REVIEWS,
    ),
    Job(
        "scaling/twenty-classes",
        "training on texts of 20 classes; the peer is ours with 2",
        REVIEWS,
        prepare_classes,
        cpu(fit_classes(20)),
        (Peer("two classes", Goal("share", 2.0), learned_each_class, cpu(fit_classes(2))),),
    ),
    Job(
        "scaling/many-classes",
        "peak memory of training with 10,000 classes × 1,000,000 terms from a CSV file, and predicting a row",
        None,
        prepare_many_classes,
        task("many-classes", lambda inputs: inputs.path),
        (Peer("", Goal("limit", 4e9), has_all_classes_and_terms),),
        unit="bytes",
        repeats=1,
        quick_repeats=1,
    ),
    *(
        sloped(
            f"features/{name}",
            f"slope of the time of {name}.fit against columns, 8 to 128",
            prepare_features,
            cpu(fit_columns(name)),
            Goal("limit", most, informative=True),
        )
        for name, most in (("GaussianNB", 1.05), ("LinearDiscriminantAnalysis", 2.0), ("LogisticRegression", 2.0))
    ),
    Job(
        "two-cores/machine",
        "what the machine gives: hashing in two threads that share nothing; the peer is one thread, neither is ours",
        None,
        prepare_hashing,
        wall(hash_twice(2)),
        (Peer("one thread", Goal("faster", 1.8, informative=True), same_labels, wall(hash_twice(1))),),
        unit="seconds",
        repeats=TAKEN_IN_TURN,
    ),
    two_cores("counting", "counting", prepare_large, count, same_counts),
    two_cores("vectorizing", "CountVectorizer", prepare_list, vectorize, same_matrix),
    two_cores("predicting", "predicting", prepare_large, predict, same_labels),
)
