"""Learning, predicting and judging on Spark: the extra ``discern[spark]``.

Spark only has to count and add; what comes of the sums is the model that one machine would have made.
"""

from discern.spark.learning import fit

__all__ = ["fit"]
