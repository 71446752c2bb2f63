"""What is resolved where rows may have several labels: the calibration and the threshold of each label."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from discern.evaluation.several.thresholds import Thresholds
from discern.models.several.scaling import LabelScaling


@dataclass(frozen=True)
class Several:
    """How log odds become probabilities and decisions, label by label.

    Examples
    --------
    >>> Several.from_json(Several().to_json()) == Several()
    True
    """

    scaling: LabelScaling = field(default_factory=LabelScaling)
    thresholds: Thresholds = field(default_factory=Thresholds)

    def without_labels(self, gone: Container[str]) -> Several:
        """Return the same without a trace of some labels."""
        return replace(self, scaling=self.scaling.without(gone), thresholds=self.thresholds.for_labels((), gone))

    def renamed(self, new: Mapping[str, str]) -> Several:
        """Return the same for labels with other names."""
        return replace(self, scaling=self.scaling.renamed(new), thresholds=self.thresholds.renamed(new))

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {"scaling": self.scaling.to_json(), "thresholds": self.thresholds.to_json()}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Several:
        """Return what :meth:`to_json` returned as plain values; raises ValueError if it is invalid."""
        return cls(LabelScaling.from_json(values["scaling"]), Thresholds.from_json(values["thresholds"]))
