"""Where the command begins: what is needed often is not kept waiting by what is needed seldom."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and exit."""
    if sys.argv[1:2] == ["filter"]:
        from discern.cli.client import filtered

        code = filtered(sys.argv[2:])
        if code is not None:
            sys.exit(code)
    from discern.cli.entry import run

    run()
