"""Learning, predicting and judging on Spark: the extra ``discern[spark]``.

Spark only has to count and add; what comes of the sums is the model that one machine would have made.
"""

from discern.spark.judging import cross_validate, evaluate, predict
from discern.spark.learning import fit

__all__ = ["cross_validate", "evaluate", "fit", "predict"]
