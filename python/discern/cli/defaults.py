"""Defaults of options: from the environment, and from a configuration file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

PREFIX = "DISCERN_"
FILE = "DISCERN_CONFIG"
"""The environment variable that names the configuration file; empty: there is none."""
TAKEN = frozenset([FILE, "DISCERN_DATA"])
"""Variables with another meaning: ``DISCERN_DATA`` is the folder of data sets, not the default of ``--data``."""
NEVER = frozenset(["output", "help", "version"])
"""Options that are only set on the command line."""


def found() -> Path | None:
    """Return the configuration file: the one the environment names, or ./discern.toml, or that of the user."""
    named = os.environ.get(FILE)
    if named is not None:
        return Path(named) if named else None
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    places = (Path("discern.toml"), Path(home) / "discern" / "config.toml")
    return next((place for place in places if place.is_file()), None)


def contents() -> dict[str, Any]:
    """Return the contents of the configuration file."""
    path = found()
    if path is None:
        return {}
    import tomllib

    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ValueError(f"cannot read the configuration {str(path)!r}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"the configuration {str(path)!r} is not TOML: {error}") from error


def of_command(command: str, options: Iterable[str], written: Mapping[str, Any]) -> dict[str, Any]:
    """Return the defaults of the options of a command, by name; ``written`` is the content of the configuration file.

    A section overrides what stands above all sections, the environment overrides the file, and
    ``DISCERN_FIT_THREADS`` overrides ``DISCERN_THREADS``.
    """
    section = written.get(command, {})
    given: dict[str, Any] = {}
    for name in options:
        for holder in (written, section if isinstance(section, dict) else {}):
            for key in (name, name.replace("_", "-")):
                if key in holder and not isinstance(holder[key], dict):
                    given[name] = holder[key]
        for variable in (PREFIX + name.upper(), f"{PREFIX}{command.upper()}_{name.upper()}"):
            if variable in os.environ and variable not in TAKEN:
                given[name] = os.environ[variable]
    return given


def unknown(written: Mapping[str, Any], known: Mapping[str, Iterable[str]]) -> str | None:
    """Return a complaint about what is not an option; ``known`` are the options of each command."""
    everywhere = {name for options in known.values() for name in options}
    for key, value in written.items():
        section = isinstance(value, dict)
        if section and key not in known:
            return _complaint(f"the section [{key}]", key, known)
        names = value if section else [key]
        for name in names:
            allowed = set(known[key]) if section else everywhere
            if name.replace("-", "_") not in allowed:
                return _complaint(f"{name!r} in [{key}]" if section else repr(name), name, allowed)
    return None


def _complaint(what: str, name: str, known: Iterable[str]) -> str:
    from discern.data.batch import did_you_mean

    return f"the configuration {str(found())!r} has {what}, which is unknown{did_you_mean(name, sorted(known))}"
