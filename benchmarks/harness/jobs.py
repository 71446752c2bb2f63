"""All jobs: those of each file in ``speed`` and ``accuracy`` whose name ends in ``_jobs``."""

import importlib
from pathlib import Path

from benchmarks.harness.job import Job

FIRST = "text_jobs"
"""What the project is about comes first."""


def collected() -> tuple[Job, ...]:
    found = sorted(Path(__file__).parents[1].glob("*/*_jobs.py"), key=lambda path: (path.stem != FIRST, path.stem))
    modules = (importlib.import_module(f"benchmarks.{path.parent.name}.{path.stem}") for path in found)
    return tuple(job for module in modules for job in module.JOBS)


JOBS = collected()


def selected(name: str | None) -> list[str]:
    """Return the names of the jobs that are meant: all, one, or one with its parts."""
    names = [job.name for job in JOBS]
    chosen = [job for job in names if name is None or job == name or job.startswith(f"{name}/")]
    if not chosen:
        raise SystemExit(f"there is no job {name!r}; there are {', '.join(names)}")
    return chosen
