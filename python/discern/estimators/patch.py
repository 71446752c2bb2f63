"""Run an unchanged scikit-learn script on discern's classes, where results are equal.

    python -m discern.patch script.py arguments…

When the script ends, stderr tells which of its names discern replaced, and which it left alone and why: a class is
replaced only if scikit-learn's own tests prove its results equal.
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
    from discern.estimators.compat import left_alone, patch, replaced  # takes as long as importing scikit-learn

    patch()
    try:
        _run(given)
    finally:
        sys.stderr.write(report(replaced(), left_alone()))
    return 0


def _run(given: list[str]) -> None:
    """Run a script as Python would: its folder first on the path, its arguments in ``sys.argv``."""
    sys.argv = given
    sys.path.insert(0, str(Path(given[0]).resolve().parent))
    runpy.run_path(given[0], run_name="__main__")


def report(names: list[str], left: dict[str, str] | None = None) -> str:
    """Describe what was replaced, and what was left alone and why.

    Examples
    --------
    >>> report(["sklearn.naive_bayes.MultinomialNB"])
    'discern.patch: replaced sklearn.naive_bayes.MultinomialNB\\n'
    >>> report([])
    'discern.patch: nothing was replaced\\n'
    >>> report(["a.B"], {"c.D": "it differs"})
    'discern.patch: left alone c.D: it differs\\ndiscern.patch: replaced a.B\\n'
    """
    lines = [f"discern.patch: left alone {name}: {why}\n" for name, why in (left or {}).items()]
    lines.append(f"discern.patch: replaced {', '.join(names)}\n" if names else "discern.patch: nothing was replaced\n")
    return "".join(lines)
