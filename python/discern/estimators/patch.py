"""Run an unchanged scikit-learn script on discern's classes, where results are equal.

    python -m discern.patch script.py arguments…

Which names the script imported and got from discern is told on stderr when it ends.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

USAGE = "usage: python -m discern.patch SCRIPT [ARGUMENTS]"


def main(arguments: list[str] | None = None) -> int:
    """Run the script that the first argument names, and report.

    Examples
    --------
    >>> main(["--help"])
    usage: python -m discern.patch SCRIPT [ARGUMENTS]
    0
    """
    given = sys.argv[1:] if arguments is None else arguments
    if not given or given[0] in ("-h", "--help"):
        sys.stdout.write(USAGE + "\n")
        return 0 if given else 2
    if not Path(given[0]).is_file():
        sys.stderr.write(f"no such script: {given[0]!r}\n{USAGE}\n")
        return 2
    from discern.estimators.compat import patch, replaced  # takes as long as importing scikit-learn

    patch()
    try:
        _run(given)
    finally:
        sys.stderr.write(report(replaced()))
    return 0


def _run(given: list[str]) -> None:
    """Run a script as Python would: its folder first on the path, its arguments in ``sys.argv``."""
    sys.argv = given
    sys.path.insert(0, str(Path(given[0]).resolve().parent))
    runpy.run_path(given[0], run_name="__main__")


def report(names: list[str]) -> str:
    """Describe what was replaced.

    Examples
    --------
    >>> report(["sklearn.naive_bayes.MultinomialNB"])
    'discern.patch: replaced sklearn.naive_bayes.MultinomialNB\\n'
    >>> report([])
    'discern.patch: nothing was replaced\\n'
    """
    return f"discern.patch: replaced {', '.join(names)}\n" if names else "discern.patch: nothing was replaced\n"
