"""What is measured in a process of its own: ``python -m benchmarks.speed.tasks NAME PATH`` prints one line of JSON.

Each task imports only what it needs.
"""

import json
import resource
import sys
import time
from pathlib import Path
from typing import Any


def peak_memory() -> int:
    """Return the most memory this process has held, in bytes."""
    # Linux counts into ru_maxrss what the parent held when it started this process, into VmHWM not.
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def describe(terms: list[str], weights: Any) -> dict[str, Any]:
    """Return little that tells models apart; ``weights`` has a row for each class."""
    import hashlib

    digest = hashlib.sha256("\n".join(terms).encode("utf-8", "surrogatepass")).hexdigest()
    return {"terms": len(terms), "digest": digest, "sums": weights.sum(axis=1).tolist()}


def memory_ours(path: str) -> dict[str, Any]:
    from discern import Classifier

    model = Classifier(tokenizer="sklearn", smoothing=1.0).fit(path).solved.only_text
    peak = peak_memory()
    return {"value": peak, "outcome": describe(model.terms.to_list(), model.scores.weights.T)}


def memory_scikit_learn(path: str) -> dict[str, Any]:
    import pandas
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.naive_bayes import MultinomialNB

    frame = pandas.read_csv(path)
    vectorizer = CountVectorizer()
    model = MultinomialNB().fit(vectorizer.fit_transform(frame["text"]), frame["label"])
    peak = peak_memory()
    return {
        "value": peak,
        "outcome": describe(vectorizer.get_feature_names_out().tolist(), model.feature_log_prob_),
    }


def learn_ours(path: str) -> dict[str, Any]:
    from discern import Classifier

    start = time.process_time()
    model = Classifier(smoothing=1.0).fit(path)
    seconds = time.process_time() - start
    return {"value": seconds, "outcome": {"rows": model.rows}}


def learn_vowpal_wabbit(path: str) -> dict[str, Any]:
    from vowpalwabbit import Workspace

    start = time.process_time()
    # Given a file, it learns one pass over it at once, with a thread that parses; process_time counts both.
    workspace = Workspace(arg_list=["--data", path, "--loss_function", "logistic", "--quiet"])
    seconds = time.process_time() - start
    rows = int(workspace.get_weighted_examples())
    workspace.finish()
    return {"value": seconds, "outcome": {"rows": rows}}


def many_classes(path: str) -> dict[str, Any]:
    from discern import Classifier

    model = Classifier(smoothing=1.0).fit(path)
    model.predict([{"text": "some words"}])
    peak = peak_memory()
    return {"value": peak, "outcome": {"labels": len(model.labels), "terms": model.solved.terms}}


def fit_linear_ours(folder: str) -> dict[str, Any]:
    import numpy as np

    from discern import OnlineTextClassifier
    from discern.data.readers import batches

    model, rows, right = OnlineTextClassifier(), 0, 0
    train, test = (Path(folder) / name for name in ("train.csv", "test.csv"))
    start = time.process_time()
    model.fit_rows(train)
    seconds = time.process_time() - start
    for batch in batches(test):
        answers = model.predict(batch.columns["text"])
        right += int((answers == np.array(batch.columns["label"].to_list())).sum())
        rows += batch.rows
    return {"value": seconds, "outcome": {"accuracy": right / rows}}


def fit_linear_vowpal_wabbit(folder: str) -> dict[str, Any]:
    from vowpalwabbit import Workspace

    model, answers = str(Path(folder) / "model.vw"), Path(folder) / "answers.txt"
    train, test = (str(Path(folder) / name) for name in ("train.vw", "test.vw"))
    start = time.process_time()
    workspace = Workspace(arg_list=["--data", train, "--loss_function", "logistic", "--quiet", "-f", model])
    seconds = time.process_time() - start
    workspace.finish()
    Workspace(arg_list=["--data", test, "-i", model, "-t", "--quiet", "-p", str(answers)]).finish()
    scores = [float(line) for line in answers.read_text().split()]
    with open(test, encoding="utf-8") as file:
        right = [(score > 0) == line.startswith("1 ") for score, line in zip(scores, file, strict=True)]
    return {"value": seconds, "outcome": {"accuracy": sum(right) / len(right)}}


TASKS = {
    "many-classes": many_classes,
    "memory-ours": memory_ours,
    "memory-scikit-learn": memory_scikit_learn,
    "learn-ours": learn_ours,
    "learn-vowpal-wabbit": learn_vowpal_wabbit,
    "fit-linear-ours": fit_linear_ours,
    "fit-linear-vowpal-wabbit": fit_linear_vowpal_wabbit,
}


if __name__ == "__main__":
    print(json.dumps(TASKS[sys.argv[1]](sys.argv[2])))
