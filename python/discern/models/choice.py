"""What a request for naive Bayes left open, settled: by what was given, or by validation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discern.learners.bayes import smoothing_to_json

if TYPE_CHECKING:
    from discern.data.roles import Feature
    from discern.data.text import TextSettings
    from discern.evaluation.calibration import Temperature
    from discern.learners.bayes import NaiveBayesSettings


@dataclass(frozen=True)
class Choice:
    """What validation chose, and how good it is on rows left out."""

    settings: NaiveBayesSettings
    text: TextSettings
    features: tuple[Feature, ...]
    calibration: Temperature | None = None
    log_loss: float = float("nan")
    accuracy: float = float("nan")
    rows: int = 0
    """The number of rows that it was validated on."""

    def to_json(self) -> dict[str, Any]:
        """Return what was chosen in plain values."""
        return {
            "event": self.settings.event,
            **({"own": self.settings.own} if self.settings.contrasts else {}),
            "smoothing": smoothing_to_json(self.settings.smoothing),
            "ngrams": list(self.text.ngrams),
            **({} if self.text.stem is None else {"stem": self.text.stem}),
            **({} if self.settings.most_terms is None else {"features": self.settings.most_terms}),
            **({} if not isinstance(self.settings.priors, str) else {"priors": self.settings.priors}),
            "numbers": {
                feature.name: "gaussian" if feature.is_normal else f"{len(feature.bins())} bins"
                for feature in self.features
                if feature.role == "number"
            },
            "log_loss": self.log_loss,
            "accuracy": self.accuracy,
            "rows": self.rows,
        }
