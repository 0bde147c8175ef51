# SPDX-License-Identifier: Apache-2.0
"""Small SVG charts as strings, shared by the report, the explore page and the paper's figures."""

from kepsilon.pages.charts.bars import Bar, Segment, bar_chart, share_bar
from kepsilon.pages.charts.before_after import Box, SlopePanel, before_after
from kepsilon.pages.charts.drawing import Drawing, sheet, standalone
from kepsilon.pages.charts.histogram import histogram_pair
from kepsilon.pages.charts.ladder import Ladder, level_ladders
from kepsilon.pages.charts.lines import Limit, Mark, Series, Spread, line_chart
from kepsilon.pages.charts.palette import STYLE, Style, style_of_k, styles_of, styles_of_epsilon
from kepsilon.pages.charts.scatter import Dot, scatter_chart
from kepsilon.pages.charts.small import small_distributions, small_labels

__all__ = [
    "STYLE",
    "Bar",
    "Box",
    "Dot",
    "Drawing",
    "Ladder",
    "Limit",
    "Mark",
    "Segment",
    "Series",
    "SlopePanel",
    "Spread",
    "Style",
    "bar_chart",
    "before_after",
    "histogram_pair",
    "level_ladders",
    "line_chart",
    "scatter_chart",
    "share_bar",
    "sheet",
    "small_distributions",
    "small_labels",
    "standalone",
    "style_of_k",
    "styles_of",
    "styles_of_epsilon",
]
