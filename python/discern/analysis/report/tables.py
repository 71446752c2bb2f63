"""Tables and figures of the report as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any


def table(head: Sequence[str], rows: Sequence[Sequence[Any]], text: Sequence[int] = ()) -> str:
    """Return a table; the columns numbered in ``text`` may wrap."""

    def line(cells: Sequence[Any], kind: str) -> str:
        marks = (' class="text"' if place in text else "" for place in range(len(cells)))
        return "".join(f"<{kind}{mark}>{escape(str(cell))}</{kind}>" for mark, cell in zip(marks, cells, strict=True))

    body = "".join(f"<tr>{line(row, 'td')}</tr>" for row in rows)
    top = f"<thead><tr>{line(head, 'th')}</tr></thead>" if any(head) else ""
    return f'<div class="wide"><table>{top}<tbody>{body}</tbody></table></div>'


def percent(share: float) -> str:
    """Return a share; what is below one never looks like one."""
    return ">\u00a099.99%" if 0.9999 < share < 1 else f"{share:.2%}"


def shortened(text: str, most: int = 160) -> str:
    """Return a text on one line, cut after so many characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= most else flat[: most - 1] + "…"
