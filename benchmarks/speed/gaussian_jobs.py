"""Jobs of the Gaussian discriminants: a million rows against scikit-learn, and the textbook's credit card data."""

import bz2
from pathlib import Path
from typing import Any

import numpy as np

import discern
from benchmarks.harness.data import real_folder
from benchmarks.harness.job import SCIKIT_LEARN, Goal, Inputs, Job, Peer, close
from benchmarks.harness.measure import LeftOutError, cpu, require

ROWS, COLUMNS, CLASSES = 1_000_000, 20, 3


def prepare_table(folder: Path, quick: bool) -> Inputs:
    random = np.random.default_rng(0)
    rows = ROWS // 50 if quick else ROWS
    classes = random.integers(0, CLASSES, rows)
    shapes = np.eye(COLUMNS) + 0.15 * random.standard_normal((CLASSES, COLUMNS, COLUMNS))
    means = random.normal(0, 0.5, (CLASSES, COLUMNS))
    table = random.standard_normal((rows, COLUMNS))
    for number in range(CLASSES):
        chosen = classes == number
        table[chosen] = table[chosen] @ shapes[number] + means[number]
    return Inputs(table=table, classes=classes)


def prepare_two_classes(folder: Path, quick: bool) -> Inputs:
    inputs = prepare_table(folder, quick)
    return Inputs(table=inputs.table, classes=np.minimum(inputs.classes, 1))


def linear(inputs: Inputs) -> Any:
    return discern.LinearDiscriminantAnalysis(divisor="likelihood").fit(inputs.table, inputs.classes)


def quadratic(inputs: Inputs) -> Any:
    return discern.QuadraticDiscriminantAnalysis(divisor="likelihood").fit(inputs.table, inputs.classes)


def linear_scikit_learn(inputs: Inputs, solver: str = "lsqr") -> Any:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    return LinearDiscriminantAnalysis(solver).fit(inputs.table, inputs.classes)


def linear_scikit_learn_svd(inputs: Inputs) -> Any:
    return linear_scikit_learn(inputs, "svd")


def quadratic_scikit_learn(inputs: Inputs) -> Any:
    from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis

    return QuadraticDiscriminantAnalysis().fit(inputs.table, inputs.classes)


def same_posterior(inputs: Inputs, ours: Any, theirs: Any) -> None:
    rows = inputs.table[:10_000]
    close(ours.predict_log_proba(rows), theirs.predict_log_proba(rows), 1e-8, "the log posterior")


def same_probabilities(inputs: Inputs, ours: Any, theirs: Any) -> None:
    close(ours, theirs, 1e-8, "the posterior")


def prepare_linear(folder: Path, quick: bool) -> Inputs:
    inputs = prepare_table(folder, quick)
    inputs.ours, inputs.theirs = linear(inputs), linear_scikit_learn(inputs)
    return inputs


def prepare_linear_of_two(folder: Path, quick: bool) -> Inputs:
    inputs = prepare_two_classes(folder, quick)
    inputs.ours, inputs.theirs = linear(inputs), linear_scikit_learn(inputs)
    return inputs


def prepare_quadratic(folder: Path, quick: bool) -> Inputs:
    inputs = prepare_table(folder, quick)
    inputs.ours, inputs.theirs = quadratic(inputs), quadratic_scikit_learn(inputs)
    return inputs


def our_probabilities(inputs: Inputs) -> Any:
    return inputs.ours.predict_proba(inputs.table)


def their_probabilities(inputs: Inputs) -> Any:
    return inputs.theirs.predict_proba(inputs.table)


# ------------------------------------------------------------------------------------ the textbook's credit cards


def prepare_default(folder: Path, quick: bool) -> Inputs:
    real = real_folder()
    path = real / "default" / "Default.csv.bz2" if real else None
    if path is None or not path.exists():
        raise LeftOutError("there is no default/Default.csv.bz2")
    lines = bz2.decompress(path.read_bytes()).decode().split("\n")[1:]
    rows = [line.split(",") for line in lines if line]
    table = np.array([[float(balance), float(student == "Yes")] for _, student, balance, _ in rows])
    income = np.array([float(row[3]) / 1000 for row in rows])
    return Inputs(table=table, income=income, classes=np.array([row[0] for row in rows]))


def default_coefficients(inputs: Inputs) -> Any:
    """Fit the textbook's two logistic regressions: on balance, and on balance, income (in thousands) and student."""
    balance, student = inputs.table.T
    one = discern.LogisticRegression(penalty=None).fit(balance[:, None], inputs.classes)
    three = discern.LogisticRegression(penalty=None).fit(
        np.column_stack([balance, inputs.income, student]), inputs.classes
    )
    return [*one.intercept_, *one.coef_[0], *three.intercept_, *three.coef_[0]]


def published(inputs: Inputs, ours: Any, theirs: Any) -> None:
    """Tables 4.1 and 4.3 of ISLR, to the digits printed there."""
    printed = ((-10.6513, 4), (0.0055, 4), (-10.8690, 4), (0.0057, 4), (0.0030, 4), (-0.6468, 4))
    for found, (value, digits) in zip(ours, printed, strict=True):
        require(round(float(found), digits) == value, f"{found} is printed as {value}")


def default_probabilities(inputs: Inputs) -> Any:
    model = discern.LinearDiscriminantAnalysis().fit(inputs.table, inputs.classes)
    return model.predict_proba(inputs.table)[:, 1]


def same_as_the_textbook(inputs: Inputs, ours: Any, theirs: None) -> None:
    """Tables 4.4 and 4.5 of An Introduction to Statistical Learning, predicted by true, and the area of Figure 4.8."""
    from sklearn.metrics import roc_auc_score

    truth = inputs.classes == "Yes"
    for threshold, expected in ((0.5, [9644, 252, 23, 81]), (0.2, [9432, 138, 235, 195])):
        called = ours > threshold
        counts = [int(np.sum((called == row) & (truth == column))) for row in (False, True) for column in (False, True)]
        require(counts == expected, f"at {threshold} the confusion matrix is {counts}, not {expected}")
    area = roc_auc_score(truth, ours)
    require(round(area, 4) == 0.9496, f"the area under the curve is {area:.6f}, not 0.9496")


JOBS = (
    Job(
        "lda-fit",
        "LinearDiscriminantAnalysis on 1,000,000 rows of 20 columns, 3 classes",
        None,
        prepare_table,
        cpu(linear),
        (
            Peer(f"{SCIKIT_LEARN}, svd", Goal("faster", 10), same_posterior, cpu(linear_scikit_learn_svd)),
            Peer(f"{SCIKIT_LEARN}, lsqr", Goal("faster", 3), same_posterior, cpu(linear_scikit_learn)),
        ),
    ),
    Job(
        "qda-fit",
        "QuadraticDiscriminantAnalysis on the same rows",
        None,
        prepare_table,
        cpu(quadratic),
        (Peer(SCIKIT_LEARN, Goal("faster", 8), same_posterior, cpu(quadratic_scikit_learn)),),
    ),
    Job(
        "lda-probabilities",
        "LinearDiscriminantAnalysis.predict_proba on the same rows",
        None,
        prepare_linear,
        cpu(our_probabilities),
        (Peer(SCIKIT_LEARN, Goal("faster", 1.3), same_probabilities, cpu(their_probabilities)),),
    ),
    Job(
        "lda-probabilities/two-classes",
        "the same with two classes",
        None,
        prepare_linear_of_two,
        cpu(our_probabilities),
        (Peer(SCIKIT_LEARN, Goal("faster", 1.3), same_probabilities, cpu(their_probabilities)),),
    ),
    Job(
        "qda-probabilities",
        "QuadraticDiscriminantAnalysis.predict_proba on the same rows",
        None,
        prepare_quadratic,
        cpu(our_probabilities),
        (Peer(SCIKIT_LEARN, Goal("faster", 2), same_probabilities, cpu(their_probabilities)),),
    ),
    Job(
        "credit-cards",
        "LinearDiscriminantAnalysis gives Tables 4.4 and 4.5 of ISLR to the last digit, and the area 0.9496",
        None,
        prepare_default,
        cpu(default_probabilities),
        (Peer("", Goal("limit", 0.05, informative=True), same_as_the_textbook),),
    ),
    Job(
        "credit-cards/logistic",
        "LogisticRegression without penalty gives Tables 4.1 and 4.3 of ISLR",
        None,
        prepare_default,
        cpu(default_coefficients),
        (Peer("", Goal("limit", 0.5, informative=True), published),),
    ),
)
