"""What a cell must reach, and the short list of cells that may be slower."""

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

LIST = Path(__file__).with_name("accepted.toml")
GOAL = 0.9
"""How fast a cell must be, in times the peer."""
FLOOR = 0.7
"""How fast a cell on the list must be."""
MOST = 10
MEMORY_GOAL = 1.2
"""How much memory a fit may need, in times the peer's."""
MEMORY_ROOM = 8_000_000
"""Bytes that a fit may need beyond that: small fits differ by what libraries keep."""


class ListError(ValueError):
    """The list of accepted cells is wrong; the message says where."""


def accepted(path: Path = LIST) -> dict[str, str]:
    """Read the list: the reason of each cell on it."""
    rows = tomllib.loads(path.read_text("utf-8")).get("cell", [])
    found: dict[str, str] = {}
    for number, row in enumerate(rows, 1):
        name, reason = (str(row.get(key, "")).strip() for key in ("name", "reason"))
        if not name or not reason:
            raise ListError(f"{path.name}, cell {number}: write a name and a reason")
        if name in found:
            raise ListError(f"{path.name}, cell {number}: {name!r} is there twice; remove one")
        found[name] = reason
    if len(found) > MOST:
        raise ListError(f"{path.name} has {len(found)} cells, at most {MOST} are allowed: make some faster")
    return found


def failure(row: dict[str, Any], listed: Iterable[str]) -> str | None:
    """Return why a cell fails, or None if it passes."""
    if row["status"] != "measured":
        return f"{row['status']}: {row.get('reason', '')}"
    least = FLOOR if row["cell"] in set(listed) else GOAL
    if row["ratio"] < least:
        return f"{row['ratio']:.2f} times the peer, at least {least:g} is wanted"
    memory = row.get("memory")
    if memory and memory["ours"] > MEMORY_GOAL * memory["theirs"] + MEMORY_ROOM:
        return f"needs {memory['ours'] / 1e6:.0f} MB, the peer {memory['theirs'] / 1e6:.0f} MB"
    return None


def failures(rows: list[dict[str, Any]], listed: dict[str, str]) -> dict[str, str]:
    """Return the cells that fail, with what is wrong."""
    found = ((row["cell"], failure(row, listed)) for row in rows)
    return {cell: reason for cell, reason in found if reason}


def unneeded(rows: list[dict[str, Any]], listed: dict[str, str]) -> list[str]:
    """Return the cells on the list that are fast by now, to be taken off it."""
    return [row["cell"] for row in rows if row["cell"] in listed and failure(row, ()) is None]


def unknown(names: Iterable[str], listed: dict[str, str]) -> list[str]:
    """Return the cells on the list that the sweep does not have."""
    known = set(names)
    return [name for name in listed if name not in known]
