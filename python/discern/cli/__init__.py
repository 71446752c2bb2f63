"""The command line: ``discern fit``, ``predict``, ``evaluate``, ``explain`` and the others."""

from discern.cli.entry import app, main

__all__ = ["app", "main"]
