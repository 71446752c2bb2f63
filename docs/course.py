"""The order of the course: which page of the gallery comes when."""

from __future__ import annotations

CHAPTERS = {
    "What can be reached": ["bayes_classifier"],
    "Counting words": [
        "china",
        "two_event_models",
        "smoothing",
        "language_models",
        "email_table",
        "evidence",
        "feature_selection",
        "language_identification",
    ],
    "Densities": ["density_contours", "lda_boundary", "qda_boundary"],
    "Evaluation and decisions": ["confusion_matrices", "threshold_errors", "roc_curve", "several_labels"],
    "Beyond the line": ["basis_functions", "logistic_regression", "nearest_neighbors"],
    "Six problems": ["linear_problems", "curved_problems"],
    "Lines from mistakes": ["perceptron", "winnow"],
    "Margins and kernels": ["margins", "kernel_trick"],
    "Everything together": ["calibration", "spam"],
}
DATA = ("defaults", "problems")
"""Scripts that hold data for others, and are no pages."""
IGNORED = rf"(^|[\\/])({'|'.join(DATA)})\.py$"
PAGES = [name for names in CHAPTERS.values() for name in names]


def place(filename: str) -> int:
    """Return the place of a script in the course; new ones come last."""
    name = filename.removesuffix(".py")
    return PAGES.index(name) if name in PAGES else len(PAGES)
