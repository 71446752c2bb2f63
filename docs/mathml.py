"""Formulas as MathML, which browsers draw by themselves: no script, no font and no network is needed to read them."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.util import logging

logger = logging.getLogger(__name__)
REWRITTEN = {
    r"\\arg(?=\\m)": r"\\mathrm{arg}\\,",
}
"""Commands that the converter does not know."""
REFINED = {
    # Bars are fences: as high as a letter and close to what they enclose.
    r'<mo(?: stretchy="false")?>&#x(02016|0007C);</mo>': r'<mo stretchy="false" lspace="0" rspace="0">&#x\1;</mo>',
    # A function and its argument have a little space between them, unless there is a parenthesis.
    r'(?<!<msub>)<mi>(log|exp|ln|tanh)</mi>(?!<mo stretchy="false">&#x00028;)': r'<mi>\1</mi><mspace width="0.17em"/>',
}


def setup(app: Any) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def converted(formula: str, display: str = "inline") -> str:
    """Return a formula as MathML."""
    result = convert(replaced(formula, REWRITTEN), display=display)
    if "\\" in result:
        logger.warning("a command of this formula is not known: %s", formula)
    return replaced(result, REFINED)


def replaced(text: str, patterns: dict[str, str]) -> str:
    for pattern, replacement in patterns.items():
        text = re.sub(pattern, replacement, text)
    return text


def pieces(formula: str) -> list[str]:
    """Cut a formula at its wide spaces, so that its parts can stand below each other on a narrow page."""
    parts = formula.split(r"\qquad")
    return parts if all(part.count("{") == part.count("}") for part in parts) else [formula]


def visit_inline(writer: Any, node: nodes.Element) -> None:
    writer.body.append(converted(node.astext()))
    raise nodes.SkipNode


def visit_block(writer: Any, node: nodes.Element) -> None:
    drawn = "".join(f"<div>{converted(piece, 'block')}</div>" for piece in pieces(node.astext()))
    writer.body.append(f'<div class="formula">{drawn}</div>')
    raise nodes.SkipNode
