"""Speed and memory against other libraries: ``python -m benchmarks``, or ``make bench``."""
