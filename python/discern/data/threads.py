"""The number of threads of native code."""

import os


def default_threads() -> int:
    """Return the number of threads: ``DISCERN_THREADS``, or the cores this process may use."""
    given = os.environ.get("DISCERN_THREADS", "")
    if given.isdigit() and int(given) > 0:
        return int(given)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
