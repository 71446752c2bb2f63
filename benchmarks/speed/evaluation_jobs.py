"""Jobs about evaluation and decisions: a million scored rows, and the cost of decisions on german_credit."""

import bz2
import csv
import io
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.data import real_folder
from benchmarks.harness.job import SCIKIT_LEARN, Goal, Inputs, Job, Peer
from benchmarks.harness.measure import LeftOutError, Sample, Side, cpu, require
from discern.evaluation.evaluation import Evaluation

ROWS = 1_000_000
SPLITS = 20
COSTS = [[0, 5], [1, 0]]
"""Bad called good costs 5, good called bad 1; in the order of the labels "bad", "good"."""


def prepare_scores(folder: Path, quick: bool) -> Inputs:
    random = np.random.default_rng(0)
    scores = random.beta(0.4, 1.2, ROWS // 100 if quick else ROWS)
    true = (random.random(len(scores)) < scores).astype(np.int64)
    return Inputs(
        true=true, decided=(scores >= 0.5).astype(np.int64), probabilities=np.column_stack([1 - scores, scores])
    )


def evaluate(inputs: Inputs) -> dict[str, Any]:
    evaluation = Evaluation.of(inputs.true, inputs.decided, inputs.probabilities, [0, 1])
    return {**evaluation.to_dict(), "roc": evaluation.roc()}


def evaluate_scikit_learn(inputs: Inputs) -> dict[str, Any]:
    from sklearn.metrics import classification_report, log_loss, roc_curve

    table = classification_report(inputs.true, inputs.decided, output_dict=True)
    curve = roc_curve(inputs.true, inputs.probabilities[:, 1])
    return {"table": table, "roc": curve, "log_loss": log_loss(inputs.true, inputs.probabilities)}


def same_evaluation(inputs: Inputs, ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    require(abs(ours["log_loss"] - theirs["log_loss"]) < 1e-9, "log loss differs")
    require(abs(ours["accuracy"] - theirs["table"]["accuracy"]) < 1e-12, "accuracy differs")
    for label in ("0", "1"):
        require(abs(ours["per_label"][label]["f1"] - theirs["table"][label]["f1-score"]) < 1e-12, "F1 differs")
    x, y, _ = theirs["roc"]
    require(abs(np.trapezoid(y, x) - ours["auc"]) < 1e-9, "the area differs")


# ------------------------------------------------------------------------------------------------ german_credit


def read_rows(name: str) -> list[dict[str, str]]:
    real = real_folder()
    path = real / name if real else None
    if path is None or not path.exists():
        raise LeftOutError(f"{name} is not there")
    return list(csv.DictReader(io.StringIO(bz2.decompress(path.read_bytes()).decode("utf-8"))))


def prepare_credit(folder: Path, quick: bool) -> Inputs:
    rows = read_rows("german_credit/all.csv.bz2")
    y = np.array([row.pop("risk") for row in rows])
    numeric = [name for name in rows[0] if all(_is_number(row[name]) for row in rows)]
    table = {name: [float(row[name]) if name in numeric else row[name] for row in rows] for name in rows[0]}
    import pandas

    return Inputs(X=pandas.DataFrame(table), y=y, numeric=numeric, splits=2 if quick else SPLITS)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def pipeline(inputs: Inputs) -> Any:
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    others = [name for name in inputs.X.columns if name not in inputs.numeric]
    columns = make_column_transformer(
        (StandardScaler(), inputs.numeric), (OneHotEncoder(handle_unknown="ignore"), others)
    )
    return make_pipeline(columns, LogisticRegression(max_iter=1000))


def held_out_cost(model: Any) -> Side:
    """Return the mean cost of a model's decisions on held-out rows, over the splits."""

    def side(inputs: Inputs) -> Sample:
        from sklearn.model_selection import StratifiedShuffleSplit

        costs = []
        for train, test in StratifiedShuffleSplit(inputs.splits, test_size=0.3, random_state=0).split(
            inputs.X, inputs.y
        ):
            fitted = model(inputs).fit(inputs.X.iloc[train], inputs.y[train])
            decided, true = fitted.predict(inputs.X.iloc[test]), inputs.y[test]
            costs.append(
                5 * np.mean((true == "bad") & (decided == "good")) + np.mean((true == "good") & (decided == "bad"))
            )
        return Sample(float(np.mean(costs)), costs)

    return side


def decided_by_cost(inputs: Inputs) -> Any:
    from discern import DecisionClassifier

    return DecisionClassifier(pipeline(inputs), costs=COSTS)


def tuned_by_scikit_learn(inputs: Inputs) -> Any:
    from sklearn.metrics import make_scorer
    from sklearn.model_selection import TunedThresholdClassifierCV

    def cost(true: Any, decided: Any) -> float:
        return -float(
            5 * np.mean((true == "bad") & (decided == "good")) + np.mean((true == "good") & (decided == "bad"))
        )

    return TunedThresholdClassifierCV(pipeline(inputs), scoring=make_scorer(cost), random_state=0)


def most_probable(inputs: Inputs) -> Any:
    return pipeline(inputs)


def nothing_more(inputs: Inputs, ours: Any, theirs: Any) -> None:
    """Costs are compared by the goal."""
    require(len(ours) == len(theirs), "not as many splits")


# ------------------------------------------------------------------------------- the tables of the textbook


TABLES = {0.5: [[9644, 252], [23, 81]], 0.2: [[9432, 138], [235, 195]]}
"""ISLR Tables 4.4 and 4.5: predicted in rows, true in columns, "No" first."""
AREA = 0.9496


def prepare_default(folder: Path, quick: bool) -> Inputs:
    rows = read_rows("default/Default.csv.bz2")
    X = np.array([[float(row["balance"]), float(row["student"] == "Yes")] for row in rows])
    return Inputs(X=X, y=np.array([row["default"] for row in rows]))


def discriminant_probabilities(X: Any, y: Any, labels: list[str]) -> Any:
    """Linear discriminant analysis with the covariance divided by N − K; divided by N it gives 236, not 235, at 0.2."""
    means = np.array([X[y == label].mean(axis=0) for label in labels])
    rest = X - means[np.searchsorted(labels, y)]
    directions = np.linalg.solve(rest.T @ rest / (len(X) - len(labels)), means.T)
    shares = np.array([np.mean(y == label) for label in labels])
    scores = X @ directions - 0.5 * np.einsum("kj,jk->k", means, directions) + np.log(shares)
    joint = np.exp(scores - scores.max(axis=1, keepdims=True))
    return joint / joint.sum(axis=1, keepdims=True)


def area_is_off(inputs: Inputs) -> Sample:
    labels = ["No", "Yes"]
    probabilities = discriminant_probabilities(inputs.X, inputs.y, labels)
    evaluation = Evaluation.of(inputs.y, inputs.y, probabilities, labels)
    return Sample(abs(evaluation.auc() - AREA), evaluation)


def same_tables(inputs: Inputs, ours: Evaluation, theirs: None) -> None:
    for threshold, table in TABLES.items():
        require(ours.at(threshold, "Yes").confusion.tolist() == table, f"the table at {threshold} differs")


JOBS = (
    Job(
        "evaluate",
        "1,000,000 scored rows: all figures, ROC, intervals; the peer: classification_report, roc_curve, log_loss",
        None,
        prepare_scores,
        cpu(evaluate),
        (Peer(SCIKIT_LEARN, Goal("faster", 1), same_evaluation, cpu(evaluate_scikit_learn)),),
    ),
    Job(
        "evaluate/default",
        "how far the area under ROC is from the textbook's 0.9496; both its tables are checked",
        None,
        prepare_default,
        area_is_off,
        (Peer("", Goal("limit", 5e-5), same_tables),),
        unit="difference",
        repeats=1,
        quick_repeats=1,
    ),
    Job(
        "decide",
        "german_credit, bad called good costs 5: mean cost of the decisions on held-out rows, 20 splits",
        None,
        prepare_credit,
        held_out_cost(decided_by_cost),
        (
            Peer("argmax", Goal("share", 1), nothing_more, held_out_cost(most_probable)),
            Peer(
                "TunedThresholdClassifierCV",
                Goal("share", 1),
                nothing_more,
                held_out_cost(tuned_by_scikit_learn),
            ),
        ),
        unit="cost a row",
        repeats=1,
        quick_repeats=1,
    ),
)
