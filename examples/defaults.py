"""Credit card defaults: the textbook's 10,000 rows from a file, or rows drawn to resemble them."""

import csv
import os

import numpy as np


def load() -> tuple[np.ndarray, np.ndarray]:
    """Return balance and student (1 or 0), and whether the customer defaulted."""
    path = os.environ.get("DEFAULT_CSV")
    if path is None:
        return drawn()
    with open(path, newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    X = np.array([[float(row["balance"]), float(row["student"] == "Yes")] for row in rows])
    return X, np.array([row["default"] for row in rows])


def drawn(rows: int = 10_000, seed: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Draw customers: students owe more, and default a little less at the same balance."""
    random = np.random.default_rng(seed)
    student = (random.random(rows) < 0.294).astype(float)
    balance = np.maximum(random.normal(np.where(student == 1, 988, 772), 466), 0)
    odds = -10.87 + 0.00574 * balance - 0.647 * student
    defaulted = random.random(rows) < 1 / (1 + np.exp(-odds))
    return np.column_stack([balance, student]), np.where(defaulted, "Yes", "No")
