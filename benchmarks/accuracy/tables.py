"""The tables of the accuracy table: where their rows come from, how they are split, and the peers made of trees."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.accuracy.accuracy_jobs import numeric_columns, read_table
from discern.learners.simulate import scenario

REAL = {
    "adult": ("income", "train"),
    "german_credit": ("risk", "all"),
    "mushroom": ("class", "all"),
    "default": ("default", "Default"),
}
"""The label of each table of ``DISCERN_DATA``, and the file that holds its rows."""
BUILT_IN = {"breast cancer": "load_breast_cancer", "digits": "load_digits", "wine": "load_wine", "iris": "load_iris"}
"""Tables that scikit-learn brings, by the function that loads them."""
GENERATED = {"scenario 4": 4, "scenario 5": 5, "scenario 6": 6}
"""Problems with a known best error, by their number (:func:`discern.learners.simulate.scenario`)."""
GENERATED_ROWS = 3000
NAMES = (*REAL, *BUILT_IN, *GENERATED)
FEW, SPLITS, HELD_OUT = 2000, 5, 0.3
"""A table with fewer than FEW rows has SPLITS random splits, with seeds from 0; the figures are means over them."""
BARS = {"adult": 0.868, "digits": 0.983, "breast cancer": 0.974, "german_credit": 0.765}
"""The accuracy that the best of our models must reach."""
MOST_MISCALIBRATED, MOST_MISCALIBRATED_QDA = 0.04, 0.05
"""The mean calibration error that each of our models may have over all tables."""


def label_of(name: str) -> str:
    """Return the name of the column with the labels."""
    return REAL[name][0] if name in REAL else "label"


def splits(name: str) -> list[tuple[pa.Table, pa.Table]]:
    """Return pairs of training rows and test rows: the official split, or random ones."""
    from sklearn.model_selection import train_test_split

    if name == "adult":
        return [(read_table(name, "train"), read_table(name, "test"))]
    table = whole(name)
    labels = table[label_of(name)].to_pylist()
    parts = (
        train_test_split(np.arange(len(table)), test_size=HELD_OUT, random_state=seed, stratify=labels)
        for seed in range(SPLITS if len(table) < FEW else 1)
    )
    return [(table.take(train), table.take(test)) for train, test in parts]


def whole(name: str) -> pa.Table:
    """Return all rows of a table without an official split."""
    if name in REAL:
        return read_table(name, REAL[name][1])
    if name in BUILT_IN:
        import sklearn.datasets

        rows, classes = getattr(sklearn.datasets, BUILT_IN[name])(return_X_y=True)
    else:
        rows, classes = scenario(GENERATED[name]).sample(GENERATED_ROWS, random_state=0)
    columns = {f"x{place}": pa.array(column) for place, column in enumerate(np.asarray(rows, np.float64).T)}
    return pa.table({"label": [f"class {label}" for label in classes], **columns})


def bayes_accuracy(name: str) -> float | None:
    """Return the best accuracy there can be, where it is known."""
    return 1.0 - float(scenario(GENERATED[name]).bayes_rate().rate) if name in GENERATED else None


# ----------------------------------------------------------------------------------------------------------- trees


class Typed:
    """A model of trees on a frame: numbers as numbers, all else as categories or as columns of zeros and ones."""

    def __init__(self, make: Callable[[], Any], one_hot: bool) -> None:
        self.make, self.one_hot = make, one_hot

    def fit(self, frame: Any, labels: Sequence[str]) -> "Typed":
        self.numeric = numeric_columns(frame)
        self.levels = {name: sorted(set(frame[name].dropna())) for name in frame.columns if name not in self.numeric}
        self.model = self.make().fit(self._typed(frame), np.asarray(labels))
        self.classes_ = self.model.classes_
        return self

    def predict_proba(self, frame: Any) -> Any:
        return self.model.predict_proba(self._typed(frame))

    def _typed(self, frame: Any) -> Any:
        import pandas as pd

        columns: dict[str, Any] = {}
        for name in frame.columns:
            if name in self.numeric:
                columns[name] = frame[name].astype(float)
            elif self.one_hot:
                columns |= {f"{name} {place}": frame[name] == one for place, one in enumerate(self.levels[name])}
            else:
                places = {level: place for place, level in enumerate(self.levels[name])}
                codes = [places.get(level, -1) for level in frame[name]]
                columns[name] = pd.Categorical.from_codes(codes, categories=range(len(places)))
        return pd.DataFrame(columns)


def lightgbm(frame: Any) -> Typed:
    from lightgbm import LGBMClassifier

    return Typed(lambda: LGBMClassifier(n_jobs=1, random_state=0, verbose=-1), one_hot=False)


def boosting(frame: Any) -> Typed:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return Typed(lambda: HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=0), False)


def forest(frame: Any) -> Typed:
    from sklearn.ensemble import RandomForestClassifier

    return Typed(lambda: RandomForestClassifier(n_jobs=1, random_state=0), one_hot=True)
