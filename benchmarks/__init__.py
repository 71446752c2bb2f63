"""Speed, memory and accuracy against other libraries: ``python -m benchmarks``, or ``make bench``."""
