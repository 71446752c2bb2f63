"""Makes the golden model files: those that are missing, and never again those that are there.

    python tests/golden/make.py

Each file keeps what a version of discern wrote. Every later version must read it and give the same predictions as
``expected.json`` has them: to the bit on a processor of the same kind, and to twelve digits on another, where NumPy's
logarithm and OpenBLAS's sums differ in the last bit. Files are added when a new kind of model appears, and are never
changed or removed.
"""

import json
import platform
from pathlib import Path
from typing import Any

import numpy as np
import threadpoolctl

from discern.classifier import Classifier, load
from discern.estimators.neighbors import KNeighborsClassifier
from discern.evaluation.decisions import Decision

FOLDER = Path(__file__).parent
SPACE = ("logistic", "linear-svm", "nbsvm", "unit-bayes", "ridge", "lda", "qda", "centroids", "knn", "svm")
BENT = ("common", "normal", "bins", "quadratic", "bumps")
SUMS_IN_SPACE = ("ridge", "lda", "qda", "centroids")
TEXT = {"text": "text", "ignore": "*"}
ROLES = {"text": "text", "category": "country", "flag": "paid", "number": ["age", "size"]}


DECISIONS = {
    "decided-threshold": Decision.at(0.4, "news"),
    "decided-costs": Decision.of_costs([[0, 5, 1], [1, 0, 1], [2, 1, 0]], ["ham", "news", "spam"], unsure=0.4),
}
"""Models that do not give the most probable label."""


def rows() -> list[dict[str, Any]]:
    """Return rows of every kind of column, with missing values; enough of them to choose and calibrate by."""
    words = ["lunch", "noon", "meeting", "née", "你好", "win", "prize", "free", "cash", "now"]
    return [
        {
            "label": ("ham", "spam", "news")[i % 3],
            "text": " ".join(words[(i * i + j * (1 + i % 3)) % (6 + 2 * (i % 3))] for j in range(1 + i % 5)),
            "country": ["fr", "de", "né", None][i * i % 4],
            "paid": ["yes", "no"][i % 3 % 2],
            "age": None if i % 7 == 0 else i % 11 + 5 * (i % 3),
            "size": 0.25 * (i % 13) - i % 3,
        }
        for i in range(120)
    ]


ASKED = [
    *rows()[:6],
    {"text": "", "country": None, "paid": None, "age": None, "size": None},
    {"text": "win win win 你好 never seen", "country": "atlantis", "paid": "?", "age": -1e9, "size": 1e99},
]


def kinds() -> dict[str, tuple[dict[str, Any], bool]]:
    """Return the settings of each file by its name, and whether it is slim."""
    found: dict[str, tuple[dict[str, Any], bool]] = {}
    for name in ("naive-bayes", "multinomial", "binary", "bernoulli", "complement"):
        for slim in (False, True):
            end = "-slim" if slim else ""
            found[f"{name}-text{end}"] = ({"model": name, **TEXT, "ngrams": (1, 2)}, slim)
            found[f"{name}-mixed{end}"] = ({"model": name, **ROLES}, slim)
    vocabulary = {"model": "bernoulli", "normalization": "vocabulary", **TEXT, "smoothing": 0.5}
    found["bernoulli-vocabulary"] = (vocabulary, False)
    found["gaussian-numbers"] = (
        {"number": ["age", "size"], "ignore": "*", "numbers": "gaussian", "smoothing": 1.0},
        False,
    )
    binned = {"number": ["age", "size"], "category": "country", "ignore": "*", "numbers": "mdl"}
    found["binned-numbers"] = (binned, False)
    found["characters"] = ({**TEXT, "analyzer": "char_wb", "ngrams": (2, 3), "min_df": 2}, False)
    found["stems"] = ({**TEXT, "stem": "english", "stop_words": ["now"], "priors": "uniform"}, False)
    for name in SPACE:
        found[f"{name}-text"] = ({"model": name, **TEXT}, False)
        found[f"{name}-mixed"] = ({"model": name, **ROLES}, False)
    for name in SUMS_IN_SPACE:
        found[f"{name}-mixed-slim"] = ({"model": name, **ROLES}, True)
    for basis in BENT:
        found[f"logistic-{basis}"] = ({"model": "logistic", **ROLES, "basis": basis}, False)
        found[f"lda-{basis}"] = ({"model": "lda", **ROLES, "basis": basis}, False)
    found["linear-svm-characters"] = ({"model": "linear-svm", **TEXT, "characters": (2, 3)}, False)
    found["linear-svm-selected"] = ({"model": "linear-svm", **TEXT, "max_terms": 5}, False)
    found["multinomial-selected"] = ({"model": "multinomial", **TEXT, "max_terms": 5}, False)
    found["calibrated"] = ({**TEXT, "smoothing": 1.0, "calibrate": True}, False)
    for name in DECISIONS:
        found[name] = ({**TEXT, "smoothing": 1.0}, False)
    return found


def predictions(model: Classifier) -> dict[str, Any]:
    """Return the predictions of a model for the rows of `ASKED`, numbers to the bit."""
    known = {feature.name for feature in model.features}
    asked = [{name: value for name, value in row.items() if name in known} for row in ASKED]
    return {
        "labels": list(model.labels),
        "decisions": model.predict(asked).tolist(),
        "probabilities": [[number.hex() for number in row] for row in model.predict_proba(asked).tolist()],
        "raw": [[number.hex() for number in row] for row in model.predict_proba(asked, raw=True).tolist()],
        "log_odds": [model.explain(row).log_odds.hex() for row in asked],
    }


def neighbors() -> dict[str, tuple[dict[str, Any], list[Any]]]:
    """Return the settings and the classes of each file of the estimator that writes its own, by name."""
    words = [("ham", "spam", "news")[place % 3] for place in range(40)]
    return {
        "neighbors-euclidean": ({"metric": "euclidean", "weights": "distance"}, words),
        "neighbors-cosine": ({"metric": "cosine", "n_neighbors": "auto"}, [place % 2 for place in range(40)]),
        "neighbors-hamming": ({"metric": "hamming", "n_neighbors": 3}, [place % 2 == 0 for place in range(40)]),
    }


def table() -> np.ndarray:
    """Return zeros and ones, which every distance takes."""
    return np.array([[place * place // (1 + column) % 2 for column in range(7)] for place in range(45)], np.float64)


def neighbor_predictions(model: KNeighborsClassifier) -> dict[str, Any]:
    """Return the neighbors, shares and classes of rows, numbers to the bit."""
    distances, places = model.kneighbors(table()[35:])
    return {
        "classes": model.predict(table()[35:]).tolist(),
        "places": places.tolist(),
        "distances": [[number.hex() for number in row] for row in distances.tolist()],
        "shares": [[number.hex() for number in row] for row in model.predict_proba(table()[35:]).tolist()],
    }


def processor() -> list[str]:
    """Describe what the last bits of logarithms and matrix products depend on."""
    found = [platform.machine(), np.__version__.split(".")[0]]
    features = np._core._multiarray_umath.__cpu_features__
    found += [name for name in ("X86_V3", "X86_V4", "AVX512_SKX", "SVE", "ASIMDHP") if features.get(name)]
    products = [part for part in threadpoolctl.threadpool_info() if part.get("user_api") == "blas"]
    return [*found, *sorted({str(part.get("architecture")) for part in products})]


def main() -> None:
    expected = FOLDER / "expected.json"
    known = json.loads(expected.read_text(encoding="utf-8")) if expected.exists() else {}
    for name, (settings, slim) in kinds().items():
        path = FOLDER / f"{name}.discern"
        if not path.exists():
            model = Classifier(threads=1, **settings).fit(rows())
            model.decide_by(DECISIONS.get(name)).save(path, slim=slim)
            known[name] = {**predictions(load(path)), "processor": processor()}
    for name, (settings, classes) in neighbors().items():
        path = FOLDER / f"{name}.discern"
        if not path.exists():
            KNeighborsClassifier(**settings).fit(table()[:40], classes).save(path)
            known[name] = {**neighbor_predictions(KNeighborsClassifier.load(path)), "processor": processor()}
    expected.write_text(json.dumps(known, indent=0, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
