"""All jobs: each file whose name ends in ``_jobs`` brings its own."""

import importlib
from pathlib import Path

from benchmarks.job import Job

FIRST = "text_jobs"
"""What the project is about comes first."""


def collected() -> tuple[Job, ...]:
    found = (path.stem for path in Path(__file__).parent.glob("*_jobs.py"))
    names = sorted(found, key=lambda name: (name != FIRST, name))
    return tuple(job for name in names for job in importlib.import_module(f"benchmarks.{name}").JOBS)


JOBS = collected()


def selected(name: str | None) -> list[str]:
    """Return the names of the jobs that are meant: all, one, or one with its parts."""
    names = [job.name for job in JOBS]
    chosen = [job for job in names if name is None or job == name or job.startswith(f"{name}/")]
    if not chosen:
        raise SystemExit(f"there is no job {name!r}; there are {', '.join(names)}")
    return chosen
