"""Jobs about trust: what good words and lying labels cost a spam filter, with and without the defenses.

The attacker knows the filter: the words are those that speak most for ham in the attacked model itself.
"""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy.accuracy_jobs import read_table
from benchmarks.harness.job import Goal, Inputs, Job, Peer
from benchmarks.harness.measure import Sample, Side, require
from benchmarks.speed.mail_jobs import prepare_mails
from discern.analysis.defense import Guard, doubtful
from discern.classifier import Classifier
from discern.data.message import columns_of

Inputs = Inputs
Row = dict[str, str]
POISONED = 0.01
DRAWS = 5


def messages(folder: Path, quick: bool) -> list[Row]:
    table = read_table("sms_spam", "all")
    return [{"label": row["label"], "text": row["text"]} for row in table.to_pylist()]


def mails(folder: Path, quick: bool) -> list[Row]:
    prepared = prepare_mails(folder, quick)
    columns = [columns_of(mail) for mail in prepared.mails]
    texts = [" ".join([one["subject"], one["body"], one["html"]]) for one in columns]
    return [{"label": label, "text": text} for label, text in zip(prepared.labels, texts, strict=True)]


def split(read: Callable[[Path, bool], list[Row]]) -> Callable[[Path, bool], Inputs]:
    """Return each distinct row once, in a random order, one half for training and one for testing."""

    def prepare(folder: Path, quick: bool) -> Inputs:
        rows = list({(row["label"], row["text"]): row for row in read(folder, quick)}.values())
        random.Random(1).shuffle(rows)
        rows = rows[:2000] if quick else rows
        half = len(rows) // 2
        return Inputs(train=rows[:half], test=rows[half:])

    return prepare


def texts_of(rows: list[Row], label: str) -> list[str]:
    return [row["text"] for row in rows if row["label"] == label]


# ------------------------------------------------------------------------------------------------- good words


def caught(model: Classifier, guard: Guard | None, texts: list[str]) -> float:
    """The share of texts that are called spam."""
    found = model.predict(texts) == "spam"
    return float(np.mean(found | guard.catches(texts) if guard else found))


def lost_to_good_words(words: int, guarded: bool) -> Side:
    """How much less spam is caught when words are added to it."""

    def measured(inputs: Inputs) -> Sample:
        model = Classifier(text="text", ignore="*").fit(inputs.train)
        guard = Guard.fit(inputs.train, "spam") if guarded else None
        good = [term for term, _ in model.weights("ham", 20 * words) if " " not in term][:words]
        spam = texts_of(inputs.test, "spam")
        before, after = caught(model, guard, spam), caught(model, guard, [f"{text} {' '.join(good)}" for text in spam])
        blocked = caught(model, guard, texts_of(inputs.test, "ham"))
        return Sample(before - after, {"before": before, "after": after, "ham blocked": blocked})

    return measured


def still_a_filter(inputs: Inputs, ours: dict[str, float], theirs: dict[str, float]) -> None:
    """The defense may cost a little ham, and no spam."""
    require(ours["before"] >= theirs["before"], f"less spam is caught with the guard: {ours} against {theirs}")
    require(ours["ham blocked"] <= theirs["ham blocked"] + 0.01, f"too much ham is blocked: {ours} against {theirs}")


# ----------------------------------------------------------------------------------------------- lying labels


def lost_to_lies(defended: bool) -> Side:
    """How many more errors there are when one label in a hundred lies, the mean of several draws."""

    def errors(inputs: Inputs, train: list[Row]) -> float:
        if defended:
            out = doubtful(train)
            train = [row for row, dropped in zip(train, out.tolist(), strict=True) if not dropped]
        model = Classifier(text="text", ignore="*").fit(train)
        return 1.0 - model.evaluate(inputs.test).accuracy

    def measured(inputs: Inputs) -> Sample:
        clean, other = errors(inputs, inputs.train), {"ham": "spam", "spam": "ham"}
        lied = []
        for seed in range(DRAWS):
            chosen = set(random.Random(seed).sample(range(len(inputs.train)), int(POISONED * len(inputs.train))))
            rows = [
                {**row, "label": other[row["label"]]} if place in chosen else row
                for place, row in enumerate(inputs.train)
            ]
            lied.append(errors(inputs, rows))
        return Sample(max(float(np.mean(lied)) - clean, 0.0), {"clean": clean, "lied": float(np.mean(lied))})

    return measured


def still_right(inputs: Inputs, ours: dict[str, float], theirs: dict[str, float]) -> None:
    """Leaving out doubtful rows must not cost more than it saves when no label lies."""
    require(ours["clean"] <= theirs["clean"] + 0.005, f"more errors with true labels: {ours} against {theirs}")


def jobs(name: str, read: Callable[[Path, bool], list[Row]]) -> list[Job]:
    prepare: Any = split(read)
    found = [
        Job(
            f"trust/{name}/good-words-{words}",
            f"the share of spam of {name} that is lost when {words} good words are added to it",
            None,
            prepare,
            lost_to_good_words(words, True),
            (Peer("without the guard", Goal("share", 0.5), still_a_filter, lost_to_good_words(words, False)),),
            unit="share of spam",
            repeats=1,
            quick_repeats=1,
        )
        for words in (30, 150)
    ]
    lies = Job(
        f"trust/{name}/lying-labels",
        f"the errors added when 1% of the labels of {name} lie",
        None,
        prepare,
        lost_to_lies(True),
        (Peer("with all rows", Goal("share", 0.5), still_right, lost_to_lies(False)),),
        unit="share of rows",
        repeats=1,
        quick_repeats=1,
    )
    return [*found, lies]


JOBS = (*jobs("sms_spam", messages), *jobs("spamassassin", mails))
