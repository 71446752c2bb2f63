"""Formulas as MathML, which browsers draw by themselves: no script, no font and no network is needed to read them."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert


def setup(app: Any) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def converted(formula: str, display: str = "inline") -> str:
    """Give a formula as MathML. Double bars are fences that stay as high as a letter, as single ones do."""
    return convert(formula, display=display).replace("<mo>&#x02016;</mo>", '<mo stretchy="false">&#x02016;</mo>')


def visit_inline(writer: Any, node: nodes.Element) -> None:
    writer.body.append(converted(node.astext()))
    raise nodes.SkipNode


def visit_block(writer: Any, node: nodes.Element) -> None:
    writer.body.append(f'<div class="formula">{converted(node.astext(), "block")}</div>')
    raise nodes.SkipNode
