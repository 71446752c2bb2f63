"""Parts of ``discern fit``: the label column, estimates of time and memory, Spark."""
