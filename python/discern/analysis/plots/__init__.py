"""Plots, in scikit-learn's Display convention: ``from_estimator``, ``from_predictions``, ``plot(ax=…)``.

They need matplotlib: ``pip install 'discern[plot]'``.
"""

from discern.analysis.plots.bars import BoxPlotDisplay, EvidenceDisplay, PerceptronDisplay, WordWeightsDisplay
from discern.analysis.plots.planes import (
    DecisionBoundaryDisplay,
    DensityContourDisplay,
    DiscriminantPlaneDisplay,
    MarginDisplay,
)
from discern.analysis.plots.predictions import (
    ConfusionMatrixDisplay,
    CostCurveDisplay,
    DetectionErrorDisplay,
    PrecisionRecallDisplay,
    ReliabilityDisplay,
    RocDisplay,
    ThresholdErrorDisplay,
)

__all__ = [
    "BoxPlotDisplay", "ConfusionMatrixDisplay", "CostCurveDisplay", "DecisionBoundaryDisplay", "DensityContourDisplay",
    "DetectionErrorDisplay", "DiscriminantPlaneDisplay", "EvidenceDisplay", "MarginDisplay", "PerceptronDisplay",
    "PrecisionRecallDisplay", "ReliabilityDisplay", "RocDisplay", "ThresholdErrorDisplay", "WordWeightsDisplay",
]  # fmt: skip
