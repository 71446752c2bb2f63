"""Calls every native function that can take long and rings an alarm in the middle: run as a program.

Prints a line for each: its name and how long the answer took.
"""

import signal
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse

import discern
from discern import _native
from discern.data.text import TextSettings
from discern.learners.kernels.machines import Kernel
from discern.statistics.by_class import add_by_class, scores_of_rows

AFTER, LATE = 0.15, 0.5
"""Seconds until the alarm."""
SHORT = {
    "Text": "settings",
    "Rows": "a record",
    "Drained": "a record",
    "Parsed": "a record",
    "Margins": "a record",
    "Counter": "begins empty",
    "Vocabulary": "keeps what it is given; its table is built by the first use, as by Scorer",
    "Screen": "begins empty",
    "TextLearner": "begins empty",
    "TextLearner.__len__": "a number",
    "Texts.__len__": "a number",
    "Text.terms": "one document",
    "Vocabulary.__len__": "a number",
    "TextScorer": "takes scorers that are there",
    "TextScorer.__call__": "one document",
    "TextScorer.scores": "one document",
    "place_on_grid": "a block of 512 rows",
    "add_products": "a block of 512 rows",
    "has_fast_products": "yes or no",
    "logistic_residuals": "a block of rows whose scores are a megabyte or two",
    "NumberScorer": "keeps what it is given",
    "ExactTotal": "begins empty",
    "ExactTotal.sums": "an integer for each class",
    "JsonColumn": "a record",
    "JsonColumn.row_kinds": "copies a column of a block of a megabyte",
    "JsonColumn.numbers": "copies a column of a block of a megabyte",
    "JsonColumn.spans": "copies a column of a block of a megabyte",
    "JsonColumn.arrays": "copies a column of a block of a megabyte",
    "HeldOut.entries": "copies four arrays: 0.1 s for five million entries",
    "HeldOut.rows": "copies three arrays, of rows that are no more than 64 MB of text",
    "edges_without_values": "a few texts for each edge",
    "is_sorted": "0.1 s for five million terms",
    "layout": "the header of a file alone",
    "code_path": "a name",
    "fail_on_purpose": "for tests",
}
"""What is not tested, and why it does not take long."""


def documents(count: int, length: int, words: int) -> list[str]:
    numbers = np.random.default_rng(3).integers(0, words, (count, length))
    return [" ".join(f"w{number:x}" for number in row) for row in numbers.tolist()]


def calls(scale: float) -> dict[str, Callable[[], Any]]:
    """Return each function with an input that keeps it busy; some are used up by a call."""
    source = np.random.default_rng(5)
    many = int(scale * 1_000_000)
    texts = documents(many // 100, 100, many)
    zeros = np.zeros(len(texts), np.int32)
    words = [word for text in texts for word in text.split()]
    pairs = TextSettings(ngrams=(1, 2)).native

    def counted(threads: int = 1) -> Any:
        counter = _native.Counter(pairs, keep_rows=True)
        counter.add(texts, zeros, 1, threads)
        return counter

    def learned() -> Any:
        learner = _native.TextLearner(pairs, 1.0)
        learner.learn(texts, zeros, 2, 2)
        return learner

    learner = learned()
    learned_state = learner.state()
    counters = [counted() for _ in range(2)]
    drained = counters[0].drain()
    starts, terms, counts = drained.rows.starts, drained.rows.terms, drained.rows.counts
    width = len(drained.offsets) - 1
    rows = len(texts)
    classes = (np.arange(rows) % 2).astype(np.int32)
    ordered = np.concatenate([np.sort(row) for row in np.split(terms, starts[1:-1])]).astype(np.int32)
    weights = np.full(len(terms), 0.1)
    sparse = (starts, ordered, weights, width)
    dense = source.random((int(scale * 4000), 60))
    tall = source.random((many * 2, 8))
    tall_classes = (np.arange(len(tall)) % 2).astype(np.int32)
    some = (np.arange(len(dense)) % 2).astype(np.int32)
    triple = (np.arange(len(dense)) % 3).astype(np.int32)
    table = source.integers(0, 9, (many * 2, 8))
    vocabulary = _native.Vocabulary(pairs, drained.offsets, drained.bytes)
    scorer = _native.Scorer(vocabulary, np.zeros((width, 2)), [0.0, 0.0], False)
    every = np.arange(rows)
    ends = np.linspace(0, rows, 11).astype(np.int64)[1:]
    held = _native.HeldOut(starts, terms, counts, width, classes, 2)
    index = _native.InvertedIndex(*sparse)
    screen_values = source.random((1000, 2000)).astype(np.float32)
    bits = source.integers(0, 1 << 62, (many // 10, 16), dtype=np.uint64)
    file = np.zeros(int(scale * 2_000_000_000), np.uint8)
    csv = np.frombuffer(bytearray(b'ham,"a text, of words"\n') * many * 3, np.uint8)
    json_lines = np.frombuffer(bytearray(b'{"label": "ham", "text": "a text", "size": 1.5}\n') * many * 2, np.uint8)
    words_of_digits = [str(number) for number in source.random(many).tolist()] * 4
    normal = np.zeros(2), np.ones(2), np.zeros(2)
    number_scorer, number_scores = _native.NumberScorer([normal] * 2, 2, 1e150), np.zeros((tall.size, 2))
    machine = discern.SVC(gamma=9.0).fit(dense, some)
    tree, csr = _native.Tree(tall), scipy.sparse.csr_array((weights, ordered, starts), (rows, width))
    csc = csr.tocsc()
    by_term = csc.indptr.astype(np.int64), csc.indices.astype(np.int32), csc.data
    one_label = np.arange(rows + 1, dtype=np.int32), classes, np.ones(rows, np.int64)
    label_counts = (
        (by_term[0].astype(np.int32), by_term[1], np.ones(len(terms), np.int64)),
        one_label,
        np.arange(rows, dtype=np.int32) % 5,
        np.arange(rows, dtype=np.int32) // 5,
    )
    both_labels = (
        np.arange(0, 2 * width + 1, 2),
        np.tile(np.arange(2, dtype=np.int32), width),
        np.ones(2 * width),
    )
    wide, kept = source.random((many // 10, 60)), np.zeros(many // 10 * (60 + 59 * 30 + 60)).reshape(many // 10, -1)
    small_csr = (starts.astype(np.int32), ordered, weights)

    def screened() -> None:
        screen = _native.Screen(5, np.zeros(1000, np.float32), None)
        for first in range(0, 40_000, 2000):
            screen.add(screen_values, first)

    def nearest_dense() -> None:
        screen = _native.Screen(500, np.full(1000, 1e9, np.float32), None)
        screen.add(screen_values, 0)
        screen.nearest(tall[:2000], tall[:1000], 500, False, 1)

    return {
        "checksum": lambda: _native.checksum(file, 0, 64),
        "parse_csv": lambda: _native.parse_csv(csv, [True, True]),
        "distinct": lambda: _native.distinct(words),
        "packed": lambda: _native.packed(words),
        "row_hashes": lambda: _native.row_hashes(words),
        "Counter.add": counted,
        "Counter.add on two threads": lambda: counted(2),
        "Counter.drain": lambda: (counters.pop() if counters else counted()).drain(),
        "Counter.held_out": lambda: counted().held_out(classes, 2),
        "Counter.hashed": lambda: counted().hashed((1, 2), 1 << 20, True),
        "Texts": lambda: _native.Texts(words * 10),
        "TextLearner.learn": learned,
        "TextLearner.scores": lambda: learner.scores(texts * 4, 1),
        "TextLearner.state": learner.state,
        "TextLearner.restored": lambda: _native.TextLearner.restored(pairs, 1.0, 2, *learned_state),
        "merge_terms": lambda: _native.merge_terms([(drained.offsets, drained.bytes)] * 4),
        "Scorer": lambda: _native.Scorer(
            _native.Vocabulary(pairs, drained.offsets, drained.bytes), np.zeros((width, 2)), [0.0, 0.0], False
        ),
        "Scorer.score": lambda: scorer.score(texts * 4, 1),
        "Text.lengths": lambda: pairs.lengths(texts * 10, 1),
        "Vocabulary.rows": lambda: vocabulary.rows(texts * 4, 1),
        "HeldOut": lambda: _native.HeldOut(starts, terms, counts, width, classes, 2),
        "HeldOut.scores": lambda: held.scores("Laplace", 1.0, False, 1, every, ends, 1),
        "InvertedIndex": lambda: _native.InvertedIndex(*sparse),
        "InvertedIndex.nearest": lambda: index.nearest(*sparse[:3], 5, None, 1),
        "Screen.add": screened,
        "Screen.nearest": nearest_dense,
        "Tree": lambda: _native.Tree(tall),
        "Tree.nearest": lambda: tree.nearest(tall, 5, None, 1),
        "hamming_neighbors": lambda: _native.hamming_neighbors(bits, bits, 1024, 5, None, 1),
        "weigh": lambda: _native.weigh(starts, terms, np.ones(len(terms)), True, None, True, "l2", 1),
        "term_rows": lambda: _native.term_rows(terms, width),
        "moments": lambda: _native.moments(tall, tall_classes, 2, np.zeros(8), None, 1),
        "ExactTotal.add": lambda: _native.ExactTotal(1).add(tall.ravel(), np.zeros(tall.size, np.int32), 1),
        "moments_without": lambda: _native.moments_without(
            tall.ravel(), np.zeros(tall.size, np.int32), 1, np.arange(tall.size), np.arange(tall.size), tall.size
        ),
        "NumberScorer.add": lambda: number_scorer.add([tall.ravel()] * 2, number_scores, 1),
        "number_hashes": lambda: _native.number_hashes(tall.ravel()),
        "numbers": lambda: _native.numbers(words_of_digits),
        "value_hashes": lambda: _native.value_hashes(words_of_digits),
        "parse_json_lines": lambda: _native.parse_json_lines(json_lines),
        "normal_scores": lambda: _native.normal_scores(
            tall, np.zeros((2, 8)), np.ones((2, 8)), np.zeros((2, 8)), np.zeros(2), 1
        ),
        "add_dense_by_class": lambda: add_by_class(np.tile(tall, (4, 1)), np.tile(tall_classes, 4), None, np.zeros((2, 8))),
        "add_sparse_by_class": lambda: add_by_class(csr, classes, None, np.zeros((2, width))),
        "add_products_of_rows": lambda: scores_of_rows(csr, np.ones((width, 20)), np.zeros(20)),
        "quadratic": lambda: _native.quadratic(wide, True, True, kept),
        "category_counts": lambda: _native.category_counts(table, tall_classes, 2, None, 1),
        "category_scores": lambda: _native.category_scores(table, [9] * 8, np.zeros(144), np.zeros(2), 1),
        "bin_codes": lambda: _native.bin_codes(tall, [np.linspace(0, 1, 50).tolist()] * 8, 1),
        "number_labels": lambda: _native.number_labels(table[:, 0].copy()),
        "entropy_cuts": lambda: _native.entropy_cuts(tall.ravel(), np.arange(tall.size) % 9, None),
        "expectations": lambda: _native.expectations((tall, tall), [tall[:, 0].copy()] * 2),
        "widened": lambda: _native.widened(np.tile(tall.ravel(), 4).astype(np.float32)),
        "linear_scores": lambda: _native.linear_scores(np.tile(tall, (4, 1)), np.zeros((8, 9)), 1),
        "linear_choices": lambda: _native.linear_choices(np.tile(tall, (4, 1)), np.zeros((8, 9)), False, False, 1),
        "best_scores": lambda: _native.best_scores(np.tile(tall, (4, 1)), 1),
        "hold_out_label_counts": lambda: _native.hold_out_label_counts(*label_counts, 5, 2, False, 1),
        "add_products_of_terms": lambda: _native.add_products_of_terms(
            by_term, both_labels, np.zeros(width), np.zeros((rows, 2))
        ),
        "to_probabilities": lambda: _native.to_probabilities(tall, 1),
        "repeats_columns": lambda: _native.repeats_columns(starts, terms, width),
        "class_sums": lambda: _native.class_sums(tall, tall_classes, 2, None),
        "fit_machines": lambda: discern.SVC(C=1e6, tol=1e-9, max_iter=-1, gamma=9.0).fit(dense, some),
        "decide_machines": lambda: machine.predict(np.tile(dense, (10, 1))),
        "kernel_sums": lambda: Kernel("rbf", 1.0).sums(np.tile(dense, (4, 1)), dense, np.ones((1, len(dense)))),
        "learn_online": lambda: discern.Perceptron(max_iter=100_000, tol=None).fit(dense, some),
        "learn_online on many rows": lambda: discern.Perceptron(max_iter=1, tol=None).fit(tall, tall_classes),
        "fit_margins": lambda: discern.LinearSVC(C=1e4, tol=1e-12, max_iter=100_000, loss="hinge").fit(dense, some),
        "logistic_sums": lambda: _native.logistic_sums(tall, tall_classes, np.zeros(9), None, True, 1),
        "logistic_probabilities": lambda: _native.logistic_probabilities(tall, np.zeros(9), 1),
        "lasso_minimum": lambda: discern.LogisticRegression(penalty="l1", C=1e4, tol=1e-9).fit(dense, some),
        "lasso_step": lambda: discern.LogisticRegression(penalty="l1", C=1e4, tol=1e-9).fit(dense, triple),
        "descend": lambda: discern.SGDClassifier(max_iter=100_000, tol=None, random_state=0).fit(dense, some),
        "logistic_dual": lambda: _native.logistic_dual(
            *small_csr, classes, np.full(rows, 1e3), np.zeros(width), True, 1000, 0.0, 1
        ),
        "work_for": lambda: _native.work_for(20.0),
    }  # fmt: skip


def ring(call: Callable[[], Any], after: float = AFTER) -> float:
    """Call until the alarm; give how long its answer took."""
    start = time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, after)
    try:
        while True:
            call()
    except KeyboardInterrupt:
        return time.monotonic() - start - after


def answered(call: Callable[[], Any]) -> float:
    """Return how long the answer took; what is late because others use the machine is not late three times."""
    for _ in range(2):
        if (seconds := ring(call)) <= LATE:
            return seconds
    return ring(call)


def main(scale: float) -> None:
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    # Calls that end before the alarm are made again, though some have not converged.
    warnings.filterwarnings("ignore", message="Maximum number of iteration")
    for name, call in calls(scale).items():
        seconds = answered(call)
        print(name, round(max(seconds, 0.0), 3), sep="\t", flush=True)


if __name__ == "__main__":
    main(float(sys.argv[1]))
