"""Pictures: what is drawn is what was measured, and nothing covers it."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.svm import SVC

import discern
from discern.analysis import plots
from discern.analysis.highlight import evidence_html
from discern.analysis.plots.style import MOST_POINTS
from discern.cli.demo import sample, split


@pytest.fixture(autouse=True)
def closed() -> Any:
    yield
    plt.close("all")


X, y = load_breast_cancer(return_X_y=True)
X, y = X[:, :4], np.array(["malignant", "benign"])[y]
MODEL = discern.GaussianNB().fit(X[::2], y[::2])
WINE, KINDS = load_wine(return_X_y=True)
PLANE = WINE[:, [0, 6]]
CURVES = [
    plots.RocDisplay, plots.PrecisionRecallDisplay, plots.ThresholdErrorDisplay,
    plots.DetectionErrorDisplay, plots.CostCurveDisplay,
]  # fmt: skip


def legend_covers_data(display: Any) -> bool:
    """Return whether any drawn point lies under the legend."""
    figure, ax = display.figure_, display.ax_
    figure.canvas.draw()
    box = ax.get_legend().get_window_extent()
    lines = [line.get_transform().transform(line.get_xydata()) for line in ax.lines if len(line.get_xydata())]
    dots = [ax.transData.transform(part.get_offsets()) for part in ax.collections if len(part.get_offsets()) > 1]
    return any(box.contains(*point) for points in lines + dots for point in points)


@pytest.mark.parametrize("kind", CURVES, ids=lambda kind: kind.__name__)
def test_curves_by_every_way_are_the_same(kind: Any) -> None:
    shares = MODEL.predict_proba(X)
    evaluation = discern.Evaluation.of(y, MODEL.predict(X), shares, MODEL.classes_)
    ways = [
        kind.from_estimator(MODEL, X, y),
        kind.from_predictions(y, shares[:, 1]),
        kind.from_evaluation(evaluation),
    ]
    first = [line.get_xydata() for line in ways[0].ax_.lines]
    for way in ways[1:]:
        for mine, theirs in zip(first, [line.get_xydata() for line in way.ax_.lines], strict=True):
            np.testing.assert_allclose(mine, theirs)
    assert not legend_covers_data(ways[0])
    figure, ax = plt.subplots()
    assert kind.from_estimator(MODEL, X, y, ax=ax).ax_ is ax
    assert ways[0].figure_ is not figure


def test_the_chosen_point_is_on_the_curve() -> None:
    display = plots.RocDisplay.from_estimator(MODEL, X, y, positive="malignant", chosen=0.3)
    called = MODEL.predict_proba(X)[:, 1] >= 0.3
    expected = [called[y == "benign"].mean(), called[y == "malignant"].mean()]
    marked = next(line for line in display.ax_.lines if line.get_marker() == "o")
    np.testing.assert_allclose(marked.get_xydata()[0], expected)
    curve = next(line for line in display.ax_.lines if line.get_gid() == "curve")
    assert np.trapezoid(curve.get_ydata(), curve.get_xdata()) == pytest.approx(display.ranking.auc)


def test_long_curves_are_thinned() -> None:
    random = np.random.default_rng(0)
    scores = random.random(50_000)
    display = plots.PrecisionRecallDisplay.from_predictions(random.random(50_000) < scores, scores)
    assert max(len(line.get_xdata()) for line in display.ax_.lines) <= MOST_POINTS


def test_confusion_matrix_shows_its_counts() -> None:
    display = plots.ConfusionMatrixDisplay.from_estimator(MODEL, X, y)
    texts = [text.get_text() for text in display.ax_.texts]
    evaluation = discern.Evaluation.of(y, MODEL.predict(X), MODEL.predict_proba(X), MODEL.classes_)
    assert texts == [f"{count:,}" for count in evaluation.confusion.ravel()]
    assert display.ax_.get_ylabel() == "predicted"
    turned = plots.ConfusionMatrixDisplay.from_evaluation(evaluation, orientation="true-predicted")
    assert [text.get_text() for text in turned.ax_.texts] == [f"{count:,}" for count in evaluation.confusion.T.ravel()]
    assert turned.ax_.get_ylabel() == "true"


def test_reliability() -> None:
    display = plots.ReliabilityDisplay.from_estimator(MODEL, X, y)
    other = plots.ReliabilityDisplay.from_predictions(y, MODEL.predict_proba(X), MODEL.classes_)
    assert display.calibration.error == other.calibration.error
    assert f"{display.calibration.error:.4f}" in display.ax_.get_legend().get_texts()[-1].get_text()


def test_planes() -> None:
    model = discern.GaussianNB().fit(PLANE, KINDS)
    boundary = plots.DecisionBoundaryDisplay.from_estimator(model, PLANE, KINDS, bayes=model, resolution=60)
    assert boundary.values.shape == (60, 60)
    assert (boundary.values == boundary.bayes).all()
    assert not legend_covers_data(boundary)
    contours = plots.DensityContourDisplay.from_estimator(model, PLANE, KINDS, resolution=60)
    assert contours.values.shape == (3, 60, 60)
    assert not legend_covers_data(contours)
    plane = plots.DiscriminantPlaneDisplay.from_estimator(LinearDiscriminantAnalysis().fit(WINE, KINDS), WINE, KINDS)
    assert plane.projected.shape == (178, 2)
    assert not legend_covers_data(plane)
    with pytest.raises(ValueError, match="two columns"):
        plots.DecisionBoundaryDisplay.from_estimator(model, WINE, KINDS)
    with pytest.raises(ValueError, match="no densities"):
        plots.DensityContourDisplay.from_estimator(SVC().fit(PLANE, KINDS), PLANE, KINDS)


def test_margin_rings_the_support_vectors() -> None:
    two = KINDS < 2
    machine = SVC(kernel="linear").fit(PLANE[two], KINDS[two])
    display = plots.MarginDisplay.from_estimator(machine, PLANE[two], KINDS[two], resolution=60)
    assert display.support.tolist() == machine.support_.tolist()
    assert not legend_covers_data(display)


def test_words_and_evidence() -> None:
    learned, held_out = split(sample())
    model = discern.Classifier().fit(learned)
    words = plots.WordWeightsDisplay.from_estimator(model, top=5)
    assert [tick.get_text() for tick in words.ax_.get_yticklabels()] == [
        word for label in model.labels for word, _ in model.weights(label, 5)
    ]
    text = max((row["text"] for row in held_out), key=len)
    evidence = model.explain(text)
    waterfall = plots.EvidenceDisplay.from_evidence(evidence, top=5)
    assert sum(weight for _, weight in waterfall.steps) == pytest.approx(evidence.log_odds)
    assert waterfall.ax_.get_yticklabels()[-1].get_text() == "log odds"
    shown = evidence_html(text, evidence, model.resolved.text)
    assert "<mark" in shown


def test_comparisons() -> None:
    boxes = plots.BoxPlotDisplay({"one": [0.1, 0.2, 0.3], "two": [0.2, 0.3]}, "error", 0.05).plot()
    assert [tick.get_text() for tick in boxes.ax_.get_xticklabels()] == ["one", "two"]
    assert not legend_covers_data(boxes)
    updates = plots.PerceptronDisplay([5, 2, 0], 9000.0).plot()
    assert updates.ax_.get_yscale() == "log"
    assert updates.ax_.lines[0].get_ydata().tolist() == [5, 7, 7]

    learned = discern.Perceptron(tol=None).fit([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 1])
    drawn = plots.PerceptronDisplay.from_estimator(learned)
    assert (drawn.updates, drawn.bound) == (learned.n_updates_.tolist(), learned.update_bound_[0])
    assert drawn.updates[0] <= drawn.bound
    with pytest.raises(ValueError, match="two classes"):
        plots.PerceptronDisplay.from_estimator(discern.Perceptron().fit([[0, 0], [4, 0], [0, 4]], [0, 1, 2]))
