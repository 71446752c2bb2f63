"""Learning, predicting and judging on Spark: the extra ``discern[spark]``.

Spark only has to count and add; what comes of the sums is the model that one machine would have made.
"""

from typing import TYPE_CHECKING, Any

from discern.spark.judging import cross_validate, evaluate, predict
from discern.spark.learning import fit

if TYPE_CHECKING:
    from discern.spark.ml import SparkClassifier, SparkClassifierModel

__all__ = ["SparkClassifier", "SparkClassifierModel", "cross_validate", "evaluate", "fit", "predict"]


def __getattr__(name: str) -> Any:
    if name in ("SparkClassifier", "SparkClassifierModel"):
        import discern.spark.ml as ml

        return getattr(ml, name)
    raise AttributeError(f"module 'discern.spark' has no attribute {name!r}")
