"""Jobs about unusual rows: of which few columns are known, of labels never seen, and of very many labels."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.accuracy.accuracy_jobs import read_table
from benchmarks.harness.job import Goal, Inputs, Job, Peer
from benchmarks.harness.measure import Sample, Side, cpu, require
from discern.classifier import Classifier

KNOWN_COLUMNS = (1, 2, 4, 8)
DRAWS, UNKNOWN_LABELS, ALARMS = 3, 20, 0.05
LABELS, ROWS_A_LABEL = 20_000, 5


# ---------------------------------------------------------------------------------------------- few columns known


def adult(folder: Path, quick: bool) -> Inputs:
    train, test = read_table("adult", "train"), read_table("adult", "test")
    return Inputs(train=train.slice(0, 4000) if quick else train, test=test.slice(0, 2000) if quick else test)


def losses(inputs: Inputs) -> dict[str, float]:
    """Return the log loss with only some columns known, drawn for each row, and that of the base rates."""
    model, test = Classifier(label="income", threads=1).fit(inputs.train), inputs.test
    true = np.array([model.labels.index(label) for label in test["income"].to_pylist()])
    names = [name for name in test.column_names if name != "income"]
    draw, each = np.random.default_rng(0), np.arange(len(true))
    found = {"base rates": float(-np.log(np.exp(model.solved.prior))[true].mean())}
    for known in KNOWN_COLUMNS:
        kept = draw.random((len(true), len(names))).argsort(axis=1) < known
        columns = {
            name: pa.array([value if own else None for value, own in zip(test[name].to_pylist(), mask, strict=True)])
            for name, mask in zip(names, kept.T.tolist(), strict=True)
        }
        shares = model.predict_proba(pa.table(columns))
        found[f"{known} known"] = float(-np.log(shares[each, true]).mean())
    return found


def worst_share(inputs: Inputs) -> Sample:
    found = losses(inputs)
    return Sample(max(found[f"{known} known"] for known in KNOWN_COLUMNS) / found["base rates"], found)


# ------------------------------------------------------------------------------------------------ unknown labels


def intents(folder: Path, quick: bool) -> Inputs:
    train, test = (read_table("banking77", part).to_pylist() for part in ("train", "test"))
    return Inputs(train=train, test=test, draws=1 if quick else DRAWS)


def novelty(inputs: Inputs) -> Sample:
    """Measure 1 − AUROC of rows of removed intents against the others, the mean of several draws."""
    labels, found = sorted({row["label"] for row in inputs.train}), []
    for seed in range(inputs.draws):
        gone = set(np.random.default_rng(seed).permutation(labels)[:UNKNOWN_LABELS].tolist())
        model = Classifier(threads=1).fit([row for row in inputs.train if row["label"] not in gone])
        found.append(model.evaluate_novelty(inputs.test, level=ALARMS))
    alarms = [one.false_alarms for one in found]
    outcome = {"auroc": [one.auroc for one in found], "false alarms": alarms, "known": [one.known for one in found]}
    return Sample(1.0 - float(np.mean(outcome["auroc"])), outcome)


def alarms_as_promised(inputs: Inputs, ours: dict[str, Any], theirs: Any) -> None:
    for alarms, known in zip(ours["false alarms"], ours["known"], strict=True):
        error = (ALARMS * (1 - ALARMS) / known) ** 0.5
        require(abs(alarms - ALARMS) < 2 * error, f"{alarms:.2%} false alarms, {ALARMS:.0%} were promised")


# --------------------------------------------------------------------------------------------------- many labels


def many_labels(folder: Path, quick: bool) -> Inputs:
    draw, rows = np.random.default_rng(0), []
    for label in range(2000 if quick else LABELS):
        own = draw.integers(0, 30_000, 4)
        for _ in range(ROWS_A_LABEL):
            words = [*draw.choice(own, 3), *draw.integers(0, 30_000, 5)]
            rows.append({"label": f"label {label}", "text": " ".join(f"w{word}" for word in words)})
    return Inputs(rows=rows)


def fit(**settings: Any) -> Side:
    return cpu(lambda inputs: len(Classifier(threads=1, **settings).fit(inputs.rows).labels))


def same_labels(inputs: Inputs, ours: int, theirs: int) -> None:
    require(ours == theirs, "other labels were learned")


JOBS = (
    Job(
        "believable/few-columns",
        "the worst log loss on adult with 1, 2, 4 or 8 of 14 columns known, as a share of the base rates'",
        None,
        adult,
        worst_share,
        (Peer("base rates", Goal("limit", 1.0), lambda inputs, ours, theirs: None),),
        unit="share of log loss",
        repeats=1,
        quick_repeats=1,
    ),
    Job(
        "believable/novelty",
        "1 − AUROC of test rows of 20 intents of banking77 that were removed from training, against the others",
        None,
        intents,
        novelty,
        (Peer("", Goal("limit", 0.13), alarms_as_promised),),
        unit="1 − AUROC",
        repeats=1,
        quick_repeats=1,
    ),
    Job(
        "believable/many-labels",
        "fitting 20,000 labels of 5 rows chosen by validation, as a share of fitting with smoothing=1",
        None,
        many_labels,
        fit(),
        (Peer("smoothing=1", Goal("share", 10.0), same_labels, fit(smoothing=1)),),
        repeats=1,
        quick_repeats=1,
    ),
)
