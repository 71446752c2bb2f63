"""The accuracy table: every data set × every method and peer, with training cost and calibration error.

``python -m benchmarks --accuracy`` runs it and writes ``accuracy.json`` and ``ACCURACY.md``. Each cell is a forked
process of its own with a limit of CPU time, on one thread; all cells of a set are trained on the same rows.
"""

import contextlib
import importlib
import json
import multiprocessing
import resource
import signal
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import benchmarks.accuracy.several as several
from benchmarks.accuracy import tables
from benchmarks.accuracy.best_jobs import BEST, parts
from benchmarks.accuracy.methods import METHODS, Answers, Method, Split
from benchmarks.harness.measure import LeftOutError
from discern.evaluation.evaluation import Evaluation

LIMIT = 60
"""CPU seconds that a cell may take, training and answers together."""
SEVERAL_LIMIT = 180
"""CPU seconds of a cell with several labels a row, which the best of our models needs."""
SETS = (*BEST, *tables.NAMES, *several.SETS)
GROUPS = {"texts": tuple(BEST), "tables": tables.NAMES, "several": tuple(several.SETS)}
"""Sets that can be measured together, by the name of the group."""
IMPORTED = (
    "discern.classifier", "discern.models.resolving", "discern.models.search", "discern.analysis.crossvalidation",
    "discern.models.vector_space.model",
    "lightgbm", "sklearn.ensemble",
    "pandas", "sklearn.compose", "sklearn.feature_extraction.text", "sklearn.linear_model", "sklearn.naive_bayes",
    "sklearn.pipeline", "sklearn.preprocessing", "sklearn.svm",
    "fasttext", "vowpalwabbit", "river.feature_extraction", "river.naive_bayes", "nltk.classify.naivebayes",
)  # fmt: skip
"""What the cells would otherwise import while they are timed."""


# ------------------------------------------------------------------------------------------------------------ data


def splits_of(name: str, quick: bool) -> list[Split]:
    """Return a data set, split officially or else 70/30; rows to learn from are shuffled. Small tables have several."""
    if name in tables.NAMES:
        found = [Split(name, tables.label_of(name), *pair) for pair in tables.splits(name)[: 1 if quick else None]]
    else:
        found = [Split(name, "label", *(table.select(["label", "text"]) for table in parts(name)))]
    return [shuffled(one, 500 if quick else None) for one in found]


def shuffled(split: Split, most: int | None) -> Split:
    """Shuffle the rows to learn from: files are sorted by class, and some peers learn in the order of the rows."""
    order = np.random.default_rng(0).permutation(len(split.train))[:most]
    return replace(split, train=split.train.take(order).combine_chunks(), test=split.test[:most])


# ----------------------------------------------------------------------------------------------------------- cells


def figures(split: Split, answers: Answers) -> dict[str, float | None]:
    true = split.test[split.label].to_pylist()
    accuracy = float(np.mean(np.asarray(answers.decided) == np.asarray(true)))
    if answers.probabilities is None:
        return {"accuracy": accuracy, "calibration error": None, "log loss": None}
    rows = np.clip(np.asarray(answers.probabilities, dtype=float), 0, 1)
    rows /= rows.sum(axis=1, keepdims=True)
    evaluation = Evaluation.of(true, list(answers.decided), rows, list(answers.labels))
    log_loss = evaluation.log_loss
    return {"accuracy": accuracy, "calibration error": evaluation.calibration_error, "log loss": log_loss}


def cell(method: Method, split: Split) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="discern-accuracy-") as folder:
        prepared = method.prepare(split, Path(folder))
        start = time.process_time()
        model = method.fit(split, prepared)
        trained = time.process_time()
        answers = method.ask(split, model)
        seconds = {"seconds": trained - start, "answering": time.process_time() - trained}
        return {**figures(split, answers), **seconds}


def mean_cell(method: Method, splits: list[Split]) -> dict[str, Any]:
    """Return the means of the figures over all splits."""
    found = [cell(method, split) for split in splits]
    known = {name: [one[name] for one in found] for name in found[0]}
    return {name: None if None in values else float(np.mean(values)) for name, values in known.items()}


def apart(work: Callable[[], dict[str, Any]], limit: int) -> dict[str, Any]:
    """Run in a forked process, which shares the rows, and which the system ends when its time is over."""
    context = multiprocessing.get_context("fork")
    receiving, sending = context.Pipe(duplex=False)

    def child() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
        try:
            sending.send(work())
        except Exception as error:
            traceback.print_exception(error)
            sending.send({"left out": type(error).__name__})

    process = context.Process(target=child)
    process.start()
    sending.close()
    try:
        result = receiving.recv()
    except EOFError:
        result = None
    process.join()
    if result is None and process.exitcode in (-signal.SIGXCPU, -signal.SIGKILL):
        return {"left out": f"more than {limit} s"}
    return result or {"left out": f"its process ended with {process.exitcode}"}


def named(name: str) -> tuple[str, ...]:
    """Return the sets of a group, or the one set of this name."""
    if name in GROUPS:
        return GROUPS[name]
    if name not in SETS:
        raise SystemExit(f"there is no set {name!r}; there are {', '.join((*GROUPS, *SETS))}")
    return (name,)


def run(names: tuple[str, ...], quick: bool, only: str | None = None) -> dict[str, Any]:
    """Fill the table for these sets, for all methods or one."""
    known = [method.name for method in (*METHODS, *several.METHODS)]
    if only not in (None, *known):
        raise SystemExit(f"there is no method {only!r}; there are {', '.join(known)}")
    methods = [method for method in METHODS if only in (None, method.name)]
    for module in IMPORTED:
        with contextlib.suppress(ImportError):  # the cells of a peer that is not installed are left out
            importlib.import_module(module)
    sets: dict[str, Any] = {}
    cells: list[dict[str, Any]] = []
    for name in names:
        if name in several.SETS:
            run_several(name, quick, only, sets, cells)
            continue
        try:
            splits = splits_of(name, quick)
        except LeftOutError as error:
            print(f"{name}: left out, {error}", flush=True)
            continue
        split = splits[0]
        sizes = {"train": len(split.train), "test": len(split.test), "labels": len(split.labels)}
        if name in tables.GENERATED:
            sizes["best"] = tables.bayes_accuracy(name)
        sets[name] = {**sizes, "texts": split.is_text}
        for method in (method for method in methods if method.suits(split)):
            found = apart(lambda method=method, splits=splits: mean_cell(method, splits), LIMIT * len(splits))
            cells.append({"set": name, "method": method.name, "peer": method.peer, "bayes": method.bayes, **found})
            print(f"{name}, {method.name}: {json.dumps(found)}", flush=True)
    return {"sets": sets, "cells": cells}


def run_several(name: str, quick: bool, only: str | None, sets: dict[str, Any], cells: list[dict[str, Any]]) -> None:
    """Fill the cells of a set with several labels a row."""
    try:
        split = several.Split.read(name, quick)
    except LeftOutError as error:
        print(f"{name}: left out, {error}", flush=True)
        return
    sizes = {"train": len(split.train[0]), "test": len(split.test[0]), "labels": len(split.labels)}
    sets[name] = {**sizes, "texts": None, "several": True}
    for method in (method for method in several.METHODS if only in (None, method.name)):
        found = apart(lambda method=method: several.cell(method, split), SEVERAL_LIMIT)  # type: ignore[misc]
        cells.append({"set": name, "method": method.name, "peer": method.peer, "bayes": method.bayes, **found})
        print(f"{name}, {method.name}: {json.dumps(found)}", flush=True)
