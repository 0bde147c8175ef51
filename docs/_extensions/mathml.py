# SPDX-License-Identifier: Apache-2.0
"""Writes formulas as MathML, which browsers show by themselves: no script and no font is loaded from elsewhere."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx

BAR = '<mo stretchy="false">&#x0007C;</mo>'


def written(formula: str, *, display: str = "inline") -> str:
    """MathML of a formula. Bars of |z| stand close to what they are around, as `\\mid` between two things does not."""
    return convert(formula, display=display).replace(BAR, BAR.replace(">", ' lspace="0" rspace="0">', 1))


def _inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(written(node.astext()))
    raise nodes.SkipNode


def _block(writer: Any, node: nodes.math_block) -> None:
    writer.body.append(f'<div class="formula">{written(node.astext(), display="block")}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", inline_renderers=(_inline, None), block_renderers=(_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
