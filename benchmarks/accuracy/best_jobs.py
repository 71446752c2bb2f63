"""Jobs about which model is best, found within a minute on one core; and about words of other scripts."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import discern
from benchmarks.accuracy.accuracy_jobs import read_table
from benchmarks.harness.job import SCIKIT_LEARN, Goal, Inputs, Job, Peer, nothing_to_check
from benchmarks.harness.measure import Sample, Side, require

BEST = {
    "trec_qc": 90.8,
    "r8_raw": 97.6,
    "r52_raw": 94.2,
    "ohsumed": 67.7,
    "mr_ptesplit": 78.3,
    "sst2": 82.8,
    "banking77": 91.2,
    "stackoverflow20": 90.0,
    "20newsgroups": 86.3,
    "imdb": 91.4,
    "webkb4_stemmed": 92.8,
    "sms_spam": 99.0,
    "zh_waimai": 89.7,
    "th_wisesight": 72.3,
    "ag_news": 88.5,
}
"""The accuracy to reach: the best of ten recipes of scikit-learn and fastText on the same split, to one decimal."""
MEASURED = ("r8_raw", "sms_spam")
"""Sets whose figure is reached only as it is rounded: here scikit-learn's recipes are measured too."""
WHOLE = ("stackoverflow20", "sms_spam", "zh_waimai")
"""Sets without an official split: 70% of the rows, drawn with seed 0, are the training rows."""
LEARNED = {"ag_news": "train_subset"}
"""What the rows to learn from are called where it is not ``train``."""
BUDGET, QUICK_BUDGET, SLACK = 60.0, 5.0, 1.1
SCRIPTS = {"zh_waimai": 0.05, "th_wisesight": 0.03}
"""By how much words of their script are better than scikit-learn's."""


def parts(name: str) -> tuple[pa.Table, pa.Table]:
    """Return the training rows and the test rows."""
    if name not in WHOLE:
        return read_table(name, LEARNED.get(name, "train")), read_table(name, "test")
    from sklearn.model_selection import train_test_split

    table = read_table(name, "all")
    train, test = train_test_split(np.arange(len(table)), test_size=0.3, random_state=0)
    return table.take(train), table.take(test)


def prepare(name: str) -> Callable[[Path, bool], Inputs]:
    def prepared(folder: Path, quick: bool) -> Inputs:
        train, test = (table.select(["label", "text"]) for table in parts(name))
        if quick:
            train, test = train[:500], test[:500]
        return Inputs(train=train, test=test, budget=QUICK_BUDGET if quick else BUDGET)

    return prepared


def wrong(inputs: Inputs, decided: Any) -> float:
    return float(np.mean(np.asarray(decided) != np.array(inputs.test["label"].to_pylist())))


def best(inputs: Inputs) -> Sample:
    started = time.process_time()
    model = discern.Classifier(model="best", budget=inputs.budget, threads=1).fit(inputs.train)
    seconds = time.process_time() - started
    require(seconds <= SLACK * inputs.budget, f"it took {seconds:.0f} s of {inputs.budget:.0f}")
    return Sample(wrong(inputs, model.predict(inputs.test.select(["text"]))), model.leaderboard)


def default(inputs: Inputs) -> Sample:
    model = discern.Classifier().fit(inputs.train)
    return Sample(wrong(inputs, model.predict(inputs.test.select(["text"]))), model.chosen)


def default_scikit_learn(inputs: Inputs) -> Sample:
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.naive_bayes import MultinomialNB
    from sklearn.pipeline import make_pipeline

    pipeline = make_pipeline(CountVectorizer(), MultinomialNB())
    pipeline.fit(inputs.train["text"].to_pylist(), inputs.train["label"].to_pylist())
    return Sample(wrong(inputs, pipeline.predict(inputs.test["text"].to_pylist())), None)


def best_recipe(inputs: Inputs) -> Sample:
    """Linear SVMs on tf–idf of pairs of words, of characters within words, and of both; the best on the test rows."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_union
    from sklearn.svm import LinearSVC

    def characters(*sizes: int) -> TfidfVectorizer:
        return TfidfVectorizer(analyzer="char_wb", ngram_range=sizes, sublinear_tf=True)

    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
    parts = [characters(1, 4), characters(2, 5), characters(2, 6)]
    train, test = (table["text"].to_pylist() for table in (inputs.train, inputs.test))
    labels, found = inputs.train["label"].to_pylist(), {}
    for number, space in enumerate((words, *parts, *(make_union(words, part) for part in parts))):
        X, X_test = space.fit_transform(train), space.transform(test)
        for cost in (0.5, 1.0):
            found[number, cost] = wrong(inputs, LinearSVC(C=cost).fit(X, labels).predict(X_test))
    return Sample(min(found.values()), found)


def figure_job(name: str, about: str, data: str, ours: Side, *peers: Peer) -> Job:
    return Job(name, about, None, prepare(data), ours, peers, unit="error", repeats=1, quick_repeats=1)


def recipes(name: str) -> tuple[Peer, ...]:
    goal = Goal("lead", 0.0, informative=True)  # the goal is the figure
    peer = Peer("the best of scikit-learn's recipes", goal, nothing_to_check, best_recipe)
    return (peer,) if name in MEASURED else ()


JOBS = (
    *(
        figure_job(
            f"best/{name}",
            f"share of test rows of {name} that model='best' gets wrong, found in 60 s on one core",
            name,
            best,
            # What is rounded to the figure reaches it.
            Peer("", Goal("limit", round(1 - (least - 0.05) / 100, 4)), nothing_to_check),
            *recipes(name),
        )
        for name, least in BEST.items()
    ),
    *(
        figure_job(
            f"scripts/{name}",
            f"share of test rows of {name} that the default Classifier gets wrong; the peer: MultinomialNB",
            name,
            default,
            Peer(SCIKIT_LEARN, Goal("lead", lead), nothing_to_check, default_scikit_learn),
        )
        for name, lead in SCRIPTS.items()
    ),
)
