# SPDX-License-Identifier: Apache-2.0
"""Charts: good XML whatever they are given, axes that round, and nothing drawn that must not be."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kepsilon.pages.charts import (
    STYLE,
    Bar,
    Dot,
    Ladder,
    Limit,
    Mark,
    Segment,
    Series,
    Spread,
    Style,
    bar_chart,
    histogram_pair,
    level_ladders,
    line_chart,
    scatter_chart,
    share_bar,
    sheet,
    standalone,
    style_of_k,
    styles_of,
    styles_of_epsilon,
)
from kepsilon.pages.charts.axes import Axis, fitted
from kepsilon.table.round_numbers import nice_step
from material.page_checks import check_drawing, contrast

HOSTILE = ["<img src=x onerror=alert(1)>", '"><script>', "'&amp;", "身長 ε ✓", "a" * 400, "", "</svg>", "]]>"]
WORDS = {"title": "t", "x_label": "x", "y_label": "y"}


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_names_are_escaped_everywhere(name):
    """Attribute names come from a file's header, which anybody may have written."""
    title = name or "untitled"
    charts = [
        line_chart(
            [Series(name, [(1, 0.1), (2, 0.2)], Style(1)), Series("b", [(1, 0.1)], Style(2))],
            title=title,
            x_label=name,
            y_label=name,
            mark=Mark(1, 0.1, name[:20]),
            limit=Limit(0.1, name[:20]),
        ),
        histogram_pair([0, 1, 2], [5, 6, 7, 8], [5, 6, 7, None], title=title, x_label=name, names=(name, name)),
        bar_chart([Bar(name, [Segment(name, 3, 1), Segment("b", 2, 2)], "5")], title=title, label=name),
        share_bar([Segment(name, 3, 1), Segment("b", 2, 2)], title=title),
        level_ladders([Ladder(name, 4, 2, 0.5, "3 → 2"), Ladder(name, 4, None, 0.5, "3 → 2")], title=title),
        scatter_chart(
            [Dot(1, 2, 1, "circle", is_chosen=True)],
            title=title,
            x_label=name,
            y_label=name,
            colours=[(name, 1)],
            shapes=[(name, "circle")],
            chosen_words=name,
        ),
    ]
    for chart in charts:
        root = check_drawing(chart)
        assert {element.tag for element in root.iter()} <= {"svg", "title", "g", "text", "path", "rect", "circle"}
        assert "onerror=alert" not in re.sub(r">[^<]*<|\"[^\"]*\"", "", chart)


numbers = st.floats(1e-6, 1e9)


@given(st.lists(st.tuples(numbers, st.none() | numbers), min_size=1, max_size=30), st.booleans(), st.booleans())
def test_lines_stay_on_the_paper(points, x_log, y_log):
    """Whatever the points: `check_drawing` looks at every coordinate."""
    points = sorted(points, key=lambda point: point[0])
    check_drawing(line_chart([Series("a", points, Style(1), has_dots=True)], x_log=x_log, y_log=y_log, **WORDS))


@given(st.lists(st.none() | st.integers(2, 10**7), min_size=3, max_size=60))
def test_cells_of_none_are_not_drawn(counts):
    """One bar for every bin that may be shown, besides the one in the legend."""
    edges = list(range(len(counts) - 1))
    root = check_drawing(histogram_pair(edges, counts, counts, title="t", x_label="x"))
    bars = root.findall("rect")
    assert len(bars) == sum(count is not None for count in counts)
    outline = next(path.get("d") for path in root.findall("path") if path.get("class") == "outline")
    assert outline.count("H") == len(bars)


def test_the_outline_falls_to_the_axis_where_a_cell_is_missing():
    """A line across a hidden bin would draw it after all."""
    with_gap = histogram_pair([0, 1, 2, 3], [9, 9, None, 9, 9], [9] * 5, title="t", x_label="x")
    outline = re.search(r'<path d="([^"]+)" class="outline"', with_gap).group(1)
    assert outline.count("M") == 4  # the open bins at the ends stand apart as well


def test_hidden_bins_narrower_than_a_line_are_not_drawn_across_either():
    """A line across a hidden bin would tell its height."""
    counts = [9, None] * 400
    narrow = histogram_pair(list(range(799)), counts, counts, title="t", x_label="x")
    assert re.search(r'<path d="([^"]+)" class="outline"', narrow).group(1).count("M") == 400


@given(st.floats(1e-6, 1e9), st.floats(1.001, 1e6), st.booleans())
def test_ticks_are_few_round_and_inside(low, ratio, is_log):
    """An axis with odd or crowded numbers cannot be read off."""
    axis = fitted([low, low * ratio], start=0, end=100, is_log=is_log)
    ticks = axis.ticks()
    assert 1 <= len(ticks) <= 12
    assert all(axis.low * 0.99 <= tick <= axis.high * 1.01 for tick in ticks)
    assert axis.low <= low * (1 + 1e-9)
    assert axis.high >= low * ratio * (1 - 1e-9)
    if is_log:
        assert all(float(f"{tick:.1g}") == pytest.approx(tick) for tick in ticks)
    else:
        step = ticks[1] - ticks[0] if len(ticks) > 1 else 1
        assert step == pytest.approx(nice_step(step), rel=1e-6)


@given(st.floats(1e-12, 1e12))
def test_a_nice_step_is_the_next_of_1_2_and_5(target):
    """People count in these."""
    step = nice_step(target)
    mantissa = step / 10 ** math.floor(math.log10(step) + 1e-9)
    assert min(abs(mantissa - m) for m in (1, 2, 5)) < 1e-6
    assert target * (1 - 1e-8) <= step <= 2.5 * target * (1 + 1e-8)


def test_an_axis_by_ratio_puts_equal_ratios_apart_equally():
    """That is what a log axis is for; what lies beyond its end is drawn at the end."""
    axis = Axis(low=0.1, high=10, start=0, end=100, is_log=True)
    assert [round(axis.place(x)) for x in (0.1, 1, 10, 99)] == [0, 50, 100, 100]


def test_points_at_zero_are_left_out_by_ratio():
    """Zero has no place on a log axis."""
    chart = line_chart([Series("a", [(1, 0.0), (2, 0.5), (3, 0.7)], Style(1), has_dots=True)], y_log=True, **WORDS)
    dots = re.search(r'<path d="([^"]+)" class="dots', chart).group(1)
    assert dots.count("M") == 2


def test_the_papers_six_always_look_the_same():
    """A reader compares charts by colour; the dash tells them apart without."""
    six = (2, 5, 10, 20, 50, 100)
    looks = styles_of(six)
    assert len({look.colour for look in looks.values()}) == 6
    assert {k: look for k, look in styles_of((3, 100, 50, 25, 20, 10, 7, 5, 2)).items() if k in six} == looks
    assert [style_of_k(k) for k in six] == [*looks.values()]


@given(st.lists(st.integers(2, 10**6), min_size=1, max_size=120, unique=True))
def test_no_two_k_of_a_grid_look_the_same(ks):
    """Not 2 and 25, and not among a hundred; up to eight differ in colour, too."""
    looks = styles_of(ks)
    assert [*looks] == ks
    assert len(set(looks.values())) == len(ks)
    assert all(f"--c{look.colour}:" in STYLE for look in looks.values())
    assert len({look.colour for look in looks.values()}) == min(len(ks), 8)


def test_names_at_the_ends_of_lines_do_not_touch():
    """Six lines that end in the same point."""
    chart = line_chart(
        [Series(f"k = {k}", [(1, 0.1), (2, 0.2)], style_of_k(k)) for k in (2, 5, 10, 20, 50, 100)], **WORDS
    )
    places = sorted(float(y) for y in re.findall(r'y="([\d.]+)" class="strong t\d"', chart))
    assert len(places) == 6
    assert all(b - a >= 12.9 for a, b in pairwise(places))


def test_many_lines_get_a_legend():
    """More names than fit beside the paper stand below it."""
    chart = line_chart(
        [Series(f"k = {k}", [(1, 0.1), (2, 0.2)], style_of_k(k, range(2, 40))) for k in range(2, 40)], **WORDS
    )
    assert "strong" not in chart
    check_drawing(chart)


def test_the_chosen_level_is_filled_and_the_others_are_hollow():
    """The chosen level is told by shape, not by colour alone."""
    root = check_drawing(level_ladders([Ladder("zip", 5, 2, 0.5, "90 → 9")], title="t"))
    assert [circle.get("class") for circle in root.iter("circle")] == ["hollow", "hollow", "f1", "hollow", "hollow"]


def test_a_chart_of_its_own_is_a_whole_file():
    """For figures outside a page: with a namespace and its style."""
    chart = share_bar([Segment("a", 3, 1), Segment("b", 1, 2)], title="t")
    root = ET.fromstring(standalone(chart))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "prefers-color-scheme: dark" in standalone(chart)


def test_bars_are_as_long_as_their_amounts():
    """Twice the amount is twice the length."""
    root = check_drawing(
        bar_chart([Bar("a", [Segment("p", 2, 1)], "2"), Bar("b", [Segment("p", 1, 1)], "1")], title="t", label="l")
    )
    widths = [float(rect.get("width")) for rect in root.iter("rect")]
    assert widths[0] == pytest.approx(2 * widths[1], rel=0.02)


def test_words_of_a_limit_are_where_no_curve_is():
    """Above the paper, on the same height as the name of the axis."""
    for chart in (
        line_chart([Series("a", [(1, 0.1), (2, 0.2)], Style(1))], limit=Limit(0.15, "limit 15 %"), **WORDS),
        scatter_chart([Dot(1, 0.2, 1, "circle")], colours=[], shapes=[], limit=Limit(0.15, "limit 15 %"), **WORDS),
    ):
        assert re.search(r'<text x="360" y="12" class="ink e">limit 15 %<', chart)
        assert chart.count('class="limit"') == 2


def test_a_limit_does_not_cross_the_words_of_a_bar():
    """A bar of 2 with long words and a limit of 3: the words go beyond it; those of a short bar stay where they fit."""
    bars = [
        Bar("a", [Segment("p", 2, 1)], "two, at length"),
        Bar("b", [Segment("p", 0.1, 1)], "1"),
        Bar("c", [Segment("p", 4, 1)], "4"),
    ]
    chart = bar_chart(bars, title="t", label="l", limit=Limit(3, "limit"))
    limit = float(re.search(r'd="M([\d.]+) [^"]*" class="limit"', chart).group(1))
    starts = [float(x) for x in re.findall(r'<text x="([\d.]+)" y="[\d.]+" class="halo"', chart)]
    assert starts[0] > limit
    assert starts[1] < limit - 20
    assert starts[2] > limit


@given(st.floats(1e-3, 1e7))
def test_the_last_words_of_an_axis_fit(largest):
    """Centred below the last tick, half of them stand beyond it."""
    chart = scatter_chart(
        [Dot(largest / 1000, 1, 1, "circle"), Dot(largest, 2, 1, "circle")], colours=[], shapes=[], **WORDS
    )
    bottom = max(float(y) for y in re.findall(r'y="([\d.]+)" class="m"', chart))
    for x, words in re.findall(rf'<text x="([\d.]+)" y="{bottom:g}" class="m">([^<]*)<', chart):
        assert float(x) + 6.7 * len(words) / 2 <= 360


def test_a_share_of_more_than_is_drawn_leaves_the_rest_empty():
    """Segments that do not add up to the total must not be stretched to fill it."""
    root = check_drawing(share_bar([Segment("a", 60, 1), Segment("b", 20, 2)], title="t", total=100))
    bar = [rect for rect in root.iter("rect") if rect.get("height") == "30"]
    assert sum(float(rect.get("width")) for rect in bar) == pytest.approx(0.8 * 360, abs=2)
    assert [text.text for text in root.iter("text")][1::2] == ["60 %", "20 %"]


def test_the_style_needs_no_escaping():
    """Templates escape everything, and the style goes through them."""
    assert not set("<>&\"'") & set(STYLE)


def whiskers(chart):
    return re.findall(r'd="([^"]*)" class="whisker', chart)


def test_runs_are_dots_with_whiskers_where_they_show():
    """A whisker shorter than the dot would be a smudge, and would look like precision."""
    runs = [Spread(1, 0.5, 0.2), Spread(2, 0.5, 0.0001)]
    chart = line_chart([Series("a", [(1, 0.5), (2, 0.5)], Style(1), runs=runs)], y_holds=[1.0], **WORDS)
    check_drawing(chart)
    (drawn,) = whiskers(chart)
    assert drawn.count("V") == 1
    (dots,) = re.findall(r'd="([^"]*)" class="dots', chart)
    assert dots.count("h0") == 2


def test_a_whisker_is_as_long_as_the_spread():
    """From one deviation below to one above, by the scale of the axis."""
    chart = line_chart([Series("a", [(1, 0.5)], Style(1), runs=[Spread(1, 0.5, 0.25)])], y_holds=[1.0], **WORDS)
    low, high = map(float, re.match(r"M[\d.]+ ([\d.]+)V([\d.]+)", whiskers(chart)[0]).groups())
    bottom, top = 232 - 42, 24  # 0 and 1
    assert low - high == pytest.approx((bottom - top) / 2, abs=0.1)


def test_a_whisker_that_runs_off_the_paper_has_no_foot_there():
    """An arrow tells that it goes on; a foot would tell that it ends."""
    runs = [Spread(1, 0.01, 0.02)]
    chart = line_chart([Series("a", [(1, 0.01), (2, 1)], Style(1), runs=runs)], y_log=True, **WORDS)
    check_drawing(chart)
    assert whiskers(chart)[0].count("h5") == 1
    assert whiskers(chart)[0].count("l3 5l3 -5") == 1


def test_a_whisker_that_is_whole_has_no_arrow():
    """An arrow where the whisker ends would claim a larger spread."""
    runs = [Spread(1, 0.5, 0.2), Spread(2, 0.1, 0.2)]
    chart = line_chart([Series("a", [(1, 0.5), (2, 0.1)], Style(1), runs=runs)], y_holds=[1.0], **WORDS)
    assert "l3" not in whiskers(chart)[0]


def test_an_axis_by_ratio_says_how_high_it_goes():
    """Four decades and a half, with room for powers of ten only, and for the end."""
    axis = fitted([0.002, 40], start=200, end=20, is_log=True)
    assert axis.ticks()[-1] == axis.high == 50


def test_a_file_of_its_own_needs_no_variables():
    """librsvg and others do not know them, and would draw every line black."""
    chart = standalone(line_chart([Series("a", [(1, 0.5), (2, 0.7)], Style(1))], **WORDS))
    assert "var(" not in chart
    assert "--c1" not in chart
    light, dark = chart.split("@media")
    for part, colours in zip((light, dark), STYLE.split("@media")[:2], strict=True):
        first = re.search(r"--c1:(#[0-9a-f]{6})", colours).group(1)
        assert f".s1{{stroke:{first}}}" in part


def test_a_limit_can_be_several_lines():
    """The paper's 5 % and 10 % are drawn as one limit with two lines."""
    series = [Series("a", [(1, 0.01), (2, 0.2)], Style(1))]
    chart = line_chart(series, limit=Limit(0.05, "5 % and 10 %", (0.1,)), y_log=True, **WORDS)
    across = [drawn for drawn in re.findall(r'd="([^"]*)" class="limit"', chart) if drawn.count("M") == 2]
    assert len(across) == 1


def test_the_papers_seven_epsilons_always_look_the_same_and_like_no_k():
    """Pages of different grids can be laid side by side."""
    seven = (0.05, 0.5, 1, 2, 4, 8, 16)
    looks = styles_of_epsilon(seven)
    assert [looks[epsilon].colour for epsilon in seven] == sorted({look.colour for look in looks.values()})
    assert styles_of_epsilon((16, 1)) == {1: looks[1], 16: looks[16]}
    of_k = {look.colour for look in styles_of((2, 5, 10, 20, 50, 100)).values()}
    assert not of_k & {look.colour for look in looks.values()}


@given(st.sets(st.floats(min_value=0.01, max_value=100), min_size=1, max_size=7))
def test_any_epsilons_have_looks_that_grow_paler(epsilons):
    """Their order can be seen, whichever they are, and every colour has a style."""
    looks = styles_of_epsilon(sorted(epsilons))
    colours = [look.colour for look in looks.values()]
    assert colours == sorted(set(colours))
    assert all(f"--c{colour}:" in STYLE for colour in colours)


@pytest.mark.parametrize("which", [0, 1], ids=["light", "dark"])
def test_lines_and_words_can_be_told_from_the_ground(which):
    """3 to 1 for lines, 4.5 to 1 for words and for names at lines: what WCAG asks for."""
    variables = dict(re.findall(r"--(\w+):(#[0-9a-f]{6})", STYLE.split("@media")[which]))
    ground = variables.pop("ground")
    for name, colour in variables.items():
        if name != "line":
            assert contrast(colour, ground) >= (4.5 if name in ("ink", "muted") or name.startswith("t") else 3), name


def test_a_sheet_holds_every_chart_under_its_name():
    """A figure saved as one file keeps its panels, their titles and its note."""
    chart = line_chart([Series("a", [(1, 0.5), (2, 0.7)], Style(1))], **WORDS)
    charts = [("one", chart), ("<two>", chart), ("three", chart)]
    paper = sheet(charts, title="all", columns=2, note="Lines are closed forms. " * 8)
    root = check_drawing(paper)
    assert len([child for child in root if child.tag == "g"]) == 3
    assert [child.text for child in root if child.get("class") == "strong"] == ["all", "one", "<two>", "three"]
    notes = [child.text for child in root if child.tag == "text" and child.get("class") is None]
    assert " ".join(notes) == ("Lines are closed forms. " * 8).strip()
    _, _, width, height = map(float, root.get("viewBox").split())
    assert width > 2 * 360
    assert height > 2 * 232


def test_bars_side_by_side_can_share_an_axis():
    """Otherwise the longest bar of each chart would look the same."""
    short, long = (
        bar_chart([Bar("a", [Segment("p", amount, 1)], "w")], title="t", label="l", holds=8) for amount in (2, 8)
    )
    widths = [float(re.search(r'width="([\d.]+)" height="16"', chart).group(1)) for chart in (short, long)]
    assert widths[1] == pytest.approx(4 * widths[0], abs=0.5)
