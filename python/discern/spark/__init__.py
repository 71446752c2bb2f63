"""Training, prediction and evaluation on Spark: the extra ``discern[spark]``.

Spark only has to count and add; what comes of the sums is the model that one machine would have made.

What is here is imported when it is first used: a worker that counts imports what counts, and nothing else.
"""

from typing import TYPE_CHECKING

from discern.data.lazy import from_homes

if TYPE_CHECKING:
    from discern.spark.learning import fit
    from discern.spark.ml import SparkClassifier, SparkClassifierModel
    from discern.spark.predicting import cross_validate, evaluate, predict

__all__ = ["SparkClassifier", "SparkClassifierModel", "cross_validate", "evaluate", "fit", "predict"]

_HOMES = {
    "SparkClassifier": "discern.spark.ml",
    "SparkClassifierModel": "discern.spark.ml",
    "cross_validate": "discern.spark.predicting",
    "evaluate": "discern.spark.predicting",
    "fit": "discern.spark.learning",
    "predict": "discern.spark.predicting",
}


__getattr__ = from_homes(__name__, _HOMES)
