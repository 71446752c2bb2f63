"""HTML for notebooks and the report: small tables that carry their own style."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

CELL = "padding:.2em .7em;border-bottom:1px solid #8884;text-align:"
BLUE = "0,114,178"


def section(title: str, content: str) -> str:
    """Return content under a title."""
    return f'<div class="discern"><strong>{escape(title)}</strong>{content}</div>'


def cell(value: Any, kind: str = "td", align: str = "right", style: str = "") -> str:
    """Return a cell of a table; its content is escaped."""
    return f'<{kind} style="{CELL}{align};{style}">{escape(str(value))}</{kind}>'


def record_table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table whose first column holds names.

    Examples
    --------
    >>> "<th" in record_table(("label", "rows"), [("<spam>", 3)]), "&lt;spam&gt;" in record_table((), [("<spam>",)])
    (True, True)
    """
    top = "".join(cell(name, "th", "left" if not index else "right") for index, name in enumerate(head))
    body = "".join(
        "<tr>"
        + "".join(cell(value, align="left" if not index else "right") for index, value in enumerate(row))
        + "</tr>"
        for row in rows
    )
    return f'<table style="border-collapse:collapse"><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>'


def matrix_table(labels: Sequence[str], confusion: NDArray[Any]) -> str:
    """Return a confusion matrix, predicted in rows, shaded by the share of each true label."""
    totals = confusion.sum(axis=0)
    head = cell("predicted ↓ true →", "th", "left") + "".join(cell(label, "th") for label in labels)
    body = ""
    for row, label in enumerate(labels):
        cells = (_shaded(int(count), int(totals[column])) for column, count in enumerate(confusion[row]))
        body += f"<tr>{cell(label, 'th', 'left')}{''.join(cells)}</tr>"
    return f'<table style="border-collapse:collapse"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def classifier_html(model: Any, top: int = 8) -> str:
    """Describe a fitted :class:`discern.Classifier`: its settings and the strongest words of its labels.

    Examples
    --------
    >>> from discern.classifier import Classifier
    >>> model = Classifier().fit([{"label": "a", "text": "x1 x2"}, {"label": "b", "text": "y1 <y2>"}])
    >>> shown = classifier_html(model)
    >>> "x1" in shown, "<y2>" in shown
    (True, False)
    """
    about = model.info()
    facts = [(name.replace("_", " "), value) for name, value in about.items() if isinstance(value, int | float | str)]
    shares = about.get("priors") or {}
    frequent = sorted(model.labels, key=lambda label: (-shares.get(label, 0.0), label))[:20]
    words = [
        (
            label,
            f"{shares[label]:.2%}" if label in shares else "",
            ", ".join(
                f"{term.term} ({term.seen(label)})" if term.rows else term.term for term in model.strongest(label, top)
            ),
        )
        for label in frequent
        if hasattr(model, "strongest")
    ]
    strongest = (
        record_table(("label", "share", "strongest words (rows of the label : of others)"), words) if words else ""
    )
    return section(repr(model).strip("<>"), record_table(("", ""), facts) + strongest)


def _shaded(count: int, total: int) -> str:
    share = count / total if total else 0.0
    return cell(f"{count:,}", style=f"background:rgba({BLUE},{0.35 * share:.3f})")
