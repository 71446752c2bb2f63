"""The command line: ``discern fit``, ``predict``, ``evaluate``, ``explain`` and the others."""

from typing import TYPE_CHECKING, Any

from discern.cli.start import main

if TYPE_CHECKING:
    from discern.cli.entry import app

__all__ = ["app", "main"]


def __getattr__(name: str) -> Any:
    if name == "app":  # when it is asked for: to ask the daemon nothing of it is needed
        from discern.cli.entry import app

        return app
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
