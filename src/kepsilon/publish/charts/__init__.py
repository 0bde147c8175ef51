# SPDX-License-Identifier: Apache-2.0
"""Small SVG charts as strings, shared by the report, the explore page and the paper's figures."""

from kepsilon.publish.charts.bars import Bar, Part, bar_chart, share_bar
from kepsilon.publish.charts.drawing import Drawing, sheet, standalone
from kepsilon.publish.charts.histogram import histogram_pair
from kepsilon.publish.charts.ladder import Ladder, level_ladders
from kepsilon.publish.charts.lines import Limit, Mark, Series, Spread, line_chart
from kepsilon.publish.charts.palette import STYLE, Look, look_of_k, looks_of, looks_of_epsilon
from kepsilon.publish.charts.scatter import Dot, scatter_chart

__all__ = [
    "STYLE",
    "Bar",
    "Dot",
    "Drawing",
    "Ladder",
    "Limit",
    "Look",
    "Mark",
    "Part",
    "Series",
    "Spread",
    "bar_chart",
    "histogram_pair",
    "level_ladders",
    "line_chart",
    "look_of_k",
    "looks_of",
    "looks_of_epsilon",
    "scatter_chart",
    "share_bar",
    "sheet",
    "standalone",
]
