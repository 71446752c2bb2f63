"""Why a message is spam: the waterfall begins at the prior, and ends at the log odds."""

import sys

from discern import Classifier
from discern.cli.demo import NEW_MESSAGE, sample
from discern.plots import EvidenceDisplay


def draw() -> EvidenceDisplay:
    return EvidenceDisplay.from_estimator(Classifier().fit(sample()), NEW_MESSAGE)


if __name__ == "__main__":
    draw().figure_.savefig(sys.argv[1] if len(sys.argv) > 1 else "evidence.png", dpi=150)
