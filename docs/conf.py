# SPDX-License-Identifier: Apache-2.0
"""How Sphinx builds the site from these pages: `make docs`. Nothing in it is loaded from elsewhere."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))

project = "kepsilon"
author = "the kepsilon authors"
html_title = "kepsilon"
extensions = ["myst_parser", "mathml"]
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {"footer_icons": [], "top_of_page_buttons": []}
html_show_sphinx = False
html_show_copyright = False
html_copy_source = True  # search shows the words around what it found
exclude_patterns = ["_extensions", "pictures/*.py"]
templates_path: list[str] = []
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 4
html_math_renderer = "mathml"
pygments_style = "default"
pygments_dark_style = "monokai"
smartquotes = False  # two dashes of an option stay two dashes
nitpicky = True

OUTSIDE = {
    "../../CHANGELOG.md": "../reference/changelog.md",
    "../../CONTRIBUTING.md": "../reference/contributing.md",
    "../../SECURITY.md": "../reference/security.md",
    "../../benchmarks/RESULTS.md": "../reference/measurements.md",
}
"""Files outside docs/ that pages link to, and the page of the site that includes each."""


def link_to_pages(_app: Sphinx, name: str, source: list[str]) -> None:
    """Points links to files outside docs/ at the pages that include them."""
    text = source[0]
    for file, page in OUTSIDE.items():
        text = text.replace(f"]({file}", f"]({page}")
    source[0] = (
        text if name not in {page.removeprefix("../").removesuffix(".md") for page in OUTSIDE.values()} else source[0]
    )


def setup(app: Sphinx) -> None:
    app.connect("source-read", link_to_pages)
