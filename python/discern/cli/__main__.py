"""Entry point. ``filter`` asks a running daemon before anything heavy is imported."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and exit."""
    if sys.argv[1:2] == ["filter"]:
        from discern.cli.filter.client import filtered

        code = filtered(sys.argv[2:])
        if code is not None:
            sys.exit(code)
    from discern.cli.main import run

    run()


if __name__ == "__main__":
    main()
