"""The estimators of tables, with peers, data and tolerances. One that is not here has its namesake as the peer.

An estimator enters the sweep by being public: with scikit-learn's class of the same name, or with an entry here.
"""

from collections.abc import Iterator

import discern
from benchmarks.sweep.agreement import Agreement, least_squares, logistic, squared_hinge
from benchmarks.sweep.cases.entry import Entry, namesakes
from benchmarks.sweep.cases.shapes import LEVELS
from benchmarks.sweep.public import estimators

LINEAR_ROWS = 100_000
CONVERGED = Agreement(0.99, 5e-2, objective=logistic, why="scikit-learn stops farther from the optimum")
MARGINS = Agreement(0.98, None, objective=squared_hinge, excess=1e-3, why="both stop near the optimum")
COUNTED, CLOSE = Agreement(0.9999, 1e-8), Agreement(0.9999, 1e-6)
DIVIDED = Agreement(0.98, 5e-2, why="ours divides by n − K")
WIDER = Agreement(None, None, accuracy=0.05, values=None, why="ours shrinks where columns outnumber rows")
CALIBRATED = Agreement(0.9, None, why="each calibrates in its own way")
TIES = Agreement(0.995, 1e-5, why="ties are broken in another way")
NEAREST = Agreement(0.85, None, distances=1e-6, why="rows of counts are often equally near: other ones of them vote")
VALUES = Agreement(None, None, values=1e-9)
ONLINE = "each shuffles in its own way"

ENTRIES = (
    Entry("MultinomialNB", "counts", data=("counts", "sparse", "streams"), agreement=COUNTED),
    Entry("BernoulliNB", "counts", data=("counts", "sparse", "streams"), agreement=COUNTED),
    Entry("ComplementNB", "counts", data=("counts", "sparse", "streams"), agreement=COUNTED),
    Entry("CategoricalNB", "counts", options={"min_categories": LEVELS}, data=("categories",), agreement=COUNTED),
    Entry("GaussianNB", "gaussian", data=("numbers", "number streams", "huge"), agreement=CLOSE),
    Entry("LinearDiscriminantAnalysis", "gaussian", data=("numbers", "huge"), agreement=DIVIDED),
    Entry(
        "LinearDiscriminantAnalysis",
        "gaussian",
        options={"solver": "lsqr", "shrinkage": "auto"},
        data=("some numbers", "wide"),
        agreement=DIVIDED,
        leave_out=("transform",),
    ),
    Entry("LinearDiscriminantAnalysis", "gaussian", data=("wide",), agreement=WIDER),
    Entry(
        "LinearDiscriminantAnalysis",
        "gaussian",
        our_options={"divisor": "likelihood"},
        data=("few numbers",),
        agreement=CLOSE,
    ),
    Entry(
        "QuadraticDiscriminantAnalysis",
        "gaussian",
        our_options={"divisor": "likelihood"},
        data=("few numbers",),
        agreement=CLOSE,
    ),
    Entry("QuadraticDiscriminantAnalysis", "gaussian", data=("numbers",), agreement=DIVIDED, most_classes=20),
    Entry(
        "LogisticRegression",
        "logistic",
        data=("numbers", "sparse", "wide"),
        agreement=CONVERGED,
        most_rows=LINEAR_ROWS,
        most_classes=100,
    ),
    Entry(
        "LogisticRegression",
        "logistic",
        options={"C": 100.0},
        data=("some numbers",),
        agreement=CONVERGED,
        most_classes=20,
    ),
    Entry(
        "LogisticRegression",
        "logistic",
        options={"C": float("inf")},
        data=("some numbers",),
        agreement=Agreement(0.995, None, objective=logistic, why="scikit-learn stops farther from the optimum"),
        most_classes=20,
    ),
    Entry(
        "LogisticRegression",
        "logistic",
        options={"C": float("inf")},
        data=("separated",),
        agreement=Agreement(0.995, None, why="without a penalty separated classes have no optimum"),
    ),
    Entry(
        "LogisticRegressionCV",
        "logistic",
        options={"Cs": 5, "l1_ratios": (0.0,), "scoring": "neg_log_loss", "use_legacy_attributes": False},
        data=("some numbers",),
        agreement=Agreement(0.98, None, why="scikit-learn stops farther from the optimum, and may choose another C"),
        most_classes=10,
        most_rows=20_000,
    ),
    Entry(
        "BayesianLogisticRegression",
        "logistic",
        "benchmarks.sweep.cases.peers:laplace_logistic",
        our_options={"prior_scale": 1.0},
        data=("some numbers",),
        agreement=Agreement(0.98, 5e-2, why="scikit-learn stops farther from the mode"),
        most_classes=10,
        most_rows=20_000,
    ),
    Entry(
        "RidgeClassifier",
        "ridge",
        data=("numbers", "sparse", "huge", "wide"),
        agreement=Agreement(0.995, None, objective=least_squares, excess=1e-3),
        most_classes=100,
    ),
    Entry(
        "BasicLinearClassifier",
        "ridge",
        "sklearn.neighbors:NearestCentroid",
        data=("numbers",),
        agreement=Agreement(0.9999, None),
        leave_out=("predict_proba",),
    ),
    Entry(
        "LinearSVC", "margins", data=("numbers", "sparse", "wide"), agreement=MARGINS, most_rows=30_000, most_classes=20
    ),
    Entry(
        "LinearSVC",
        "margins",
        options={"C": 0.01},
        data=("some numbers",),
        agreement=MARGINS,
        most_rows=30_000,
        most_classes=20,
    ),
    Entry(
        "NBSVM",
        "margins",
        "benchmarks.sweep.cases.peers:paper_nbsvm",
        data=("two classes",),
        agreement=Agreement(0.98, None, why="both stop near the optimum"),
    ),
    Entry(
        "Perceptron",
        "online",
        data=("numbers", "sparse", "streams"),
        agreement=Agreement(None, None, accuracy=0.1, why=ONLINE),
        most_classes=20,
    ),
    Entry(
        "SGDClassifier",
        "online",
        data=("numbers", "sparse"),
        agreement=Agreement(None, None, accuracy=0.1, why=ONLINE),
        most_classes=20,
    ),
    Entry(
        "Winnow",
        "online",
        "benchmarks.sweep.cases.peers:perceptron_of_presence",
        data=("two classes",),
        agreement=Agreement(None, None, accuracy=0.5, why="another rule"),
        most_rows=20_000,
    ),
    Entry(
        "BalancedWinnow",
        "online",
        "benchmarks.sweep.cases.peers:perceptron_of_presence",
        data=("two classes",),
        agreement=Agreement(None, None, accuracy=0.5, why="another rule"),
        most_rows=20_000,
    ),
    Entry(
        "SVC",
        "kernels",
        data=("numbers", "kernel sparse"),
        agreement=Agreement(0.99, None),
        most_rows=3_000,
        most_classes=10,
        queries=3_000,
    ),
    Entry(
        "SVC",
        "kernels",
        options={"kernel": "linear"},
        data=("some numbers",),
        agreement=Agreement(0.98, None),
        most_rows=1_000,
        most_classes=10,
    ),
    Entry(
        "SVC",
        "kernels",
        options={"kernel": "poly"},
        data=("some numbers",),
        agreement=Agreement(0.98, None),
        most_rows=1_500,
        most_classes=10,
    ),
    Entry(
        "SVC",
        "kernels",
        options={"probability": True},
        data=("few numbers",),
        agreement=CALIBRATED,
        most_rows=1_000,
        most_classes=10,
    ),
    Entry("KNeighborsClassifier", "neighbors", data=("numbers", "low", "kernel sparse"), agreement=TIES, queries=1_000),
    Entry(
        "KNeighborsClassifier",
        "neighbors",
        options={"n_neighbors": 15, "weights": "distance"},
        data=("some numbers",),
        agreement=TIES,
        queries=500,
    ),
    Entry(
        "KNeighborsClassifier",
        "neighbors",
        options={"metric": "cosine"},
        data=("few numbers", "kernel sparse"),
        agreement=NEAREST,
        queries=500,
    ),
    Entry(
        "KNeighborsClassifier",
        "neighbors",
        options={"metric": "manhattan"},
        data=("few numbers",),
        agreement=TIES,
        queries=500,
    ),
    Entry(
        "CalibratedClassifier",
        "wrappers",
        "benchmarks.sweep.cases.peers:calibrated",
        data=("few numbers",),
        agreement=CALIBRATED,
        most_rows=20_000,
        most_classes=10,
    ),
    Entry(
        "DecisionClassifier",
        "wrappers",
        "benchmarks.sweep.cases.peers:decided",
        our_options={"estimator": discern.GaussianNB},
        data=("two numbers",),
        agreement=CLOSE,
        most_rows=LINEAR_ROWS,
    ),
    Entry(
        "NaiveBayes",
        "wrappers",
        "sklearn.naive_bayes:GaussianNB",
        our_options={"numbers": "gaussian", "smoothing": 1.0, "calibrate": False},
        data=("numbers",),
        agreement=Agreement(0.99, 0.02, why="variances are smoothed in another way"),
        most_classes=100,
    ),
    Entry(
        "Discretizer",
        "transformers",
        "sklearn.preprocessing:KBinsDiscretizer",
        peer_options={"quantile_method": "linear"},
        data=("numbers",),
        agreement=VALUES,
        leave_out=("inverse_transform",),
    ),
    Entry(
        "Discretizer",
        "transformers",
        "sklearn.preprocessing:KBinsDiscretizer",
        options={"strategy": "uniform", "encode": "ordinal"},
        data=("some numbers",),
        agreement=VALUES,
    ),
    Entry(
        "QuadraticFeatures",
        "transformers",
        "benchmarks.sweep.cases.peers:polynomial",
        data=("numbers",),
        agreement=Agreement(None, None, values=None, why="the order of the columns differs; their sum is compared"),
        most_columns=50,
        most_rows=50_000,
    ),
    Entry(
        "GaussianBasis",
        "transformers",
        "benchmarks.sweep.cases.peers:gaussian_bumps",
        our_options={"random_state": 0},
        data=("some numbers",),
        agreement=Agreement(None, None, values=None, why="k-means begins elsewhere"),
        most_rows=50_000,
    ),
    Entry("SelectKBest", "transformers", data=("numbers", "sparse"), agreement=VALUES),
)


def entries() -> Iterator[Entry]:
    """Return the entries of all public estimators of tables; those of no entry and no namesake are not there."""
    known = {entry.name for entry in ENTRIES}
    yield from ENTRIES
    for name in estimators():
        if name not in known and name not in ELSEWHERE and name in namesakes():
            yield Entry(name, "others", agreement=Agreement(0.98, None))


ELSEWHERE = (
    "Classifier",
    "CountVectorizer",
    "HashingVectorizer",
    "OnlineTextClassifier",
    "TfidfTransformer",
    "TfidfVectorizer",
    "UnigramLanguageModel",
)
"""Estimators of texts and of files: ``text.py`` and ``classifier.py``."""
