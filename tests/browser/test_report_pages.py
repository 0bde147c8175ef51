# SPDX-License-Identifier: Apache-2.0
"""The pages as Chromium lays them out: at several widths, in light, in dark and on paper.

A page has no script, so a wrapper holds it in frames of each width and looks into them from outside.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import pytest

from kepsilon.errors import Problem
from kepsilon.grid.choice import Choice, Limits
from kepsilon.pages.render import explore_page, release_page
from kepsilon.reproduce.pages.page import page as reproduce_page
from material.averaged_pages import averaged_grid, averaged_pictures, averaged_record
from material.browser import MOST_PRINTED, WIDTHS, Browser, check_fits, serious
from material.made_up_results import made_up_grid, made_up_outliers, made_up_pictures, made_up_record
from material.made_up_splits import made_up_splits
from material.measurements import made_up_claims, made_up_measurements, made_up_run

LONG = "a_column_with_a_name_that_somebody_has_made_far_too_long_for_any_table_or_chart_" * 2
RIGHT = "גובה\nבס\u202eמ"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    return Browser(tmp_path_factory.mktemp("browser"))


@pytest.fixture(scope="module")
def seen_in_light(browser):
    """What is seen of every page, in one start of Chromium, which takes longer than it looks at a page."""
    return dict(zip(PAGES, browser.look_at(*map(page_of, PAGES)), strict=True))


@pytest.fixture(scope="module", params=[False, True], ids=["light", "dark"])
def faults(browser, request):
    return dict(zip(TRIED, browser.faults_of(*map(page_of, TRIED), dark=request.param), strict=True))


def much_distortion(grid, choice):
    """The last words of the axis are wide, and half of them stand beyond it."""
    cells = tuple(
        replace(cell, prediction=replace(cell.prediction, distortion=2e4 * cell.prediction.distortion))
        if cell.prediction
        else cell
        for cell in grid.cells
    )
    return replace(grid, cells=cells), replace(choice, cell=cells[grid.cells.index(choice.cell)])


def thirty_attributes():
    """A wide table, with a warning about each attribute, and a promise for each."""
    names, quasis = [f"measure {i}" for i in range(10)], [f"quasi {i}" for i in range(20)]
    record = made_up_record(
        names=names, k_quasis=quasis, outliers={name: made_up_outliers(recoverable=2, likeliest=0.9) for name in names}
    )
    promises = "\n".join(
        f"{name}, as drawn: within its class, and for an attacker who knows the class and its range, any two values are "
        "ε-indistinguishable (ε = 8). This is not differential privacy: an extreme record moves the range itself."
        for name in names
    )
    record = replace(record, guarantee=replace(record.guarantee, statement=promises))
    problems = [
        Problem(
            where=f"attributes.{name}.accept_useless",
            what="is stated, but the attribute is kept: labels leave 1 % of what occurs open.",
            fix="Take it out.",
        )
        for name in quasis
    ]
    return release_page(record, made_up_pictures(names=names, levels=(0, 2) * 10), problems=problems)


NAMES = ("height", "weight")
MANY = tuple(f"attribute {i}" for i in range(10))
PAGES = {
    "release": lambda: release_page(made_up_record(), made_up_pictures()),
    "two": lambda: release_page(made_up_record(names=NAMES, seeded=True), made_up_pictures(names=NAMES)),
    "mondrian": lambda: release_page(made_up_record(), made_up_pictures(levels=(None, None), epsilon=0.5)),
    "long names": lambda: release_page(
        made_up_record(names=(LONG,), k_quasis=(LONG,)), made_up_pictures(names=(LONG,))
    ),
    "twelve attributes": lambda: release_page(
        made_up_record(names=MANY[:4], k_quasis=MANY[4:10]), made_up_pictures(names=MANY[:4], levels=(0, 2) * 3)
    ),
    "thirty attributes": thirty_attributes,
    "explore": lambda: explore_page(*made_up_grid()),
    "explore, long names": lambda: explore_page(*made_up_grid(names=(LONG, "b"))),
    "explore, no limits": lambda: explore_page(made_up_grid()[0], Choice(limits=Limits(), cell=None, why=None)),
    "explore, one k": lambda: explore_page(*made_up_grid(ks=(5,))),
    "explore, much distortion": lambda: explore_page(*much_distortion(*made_up_grid())),
    "from the right": lambda: release_page(made_up_record(names=(RIGHT,)), made_up_pictures(names=(RIGHT,))),
    "reproduce": lambda: reproduce_page(made_up_measurements(), made_up_claims(), made_up_run()),
    "reproduce, Adult alone": lambda: reproduce_page(made_up_measurements(("adult",)), made_up_claims(("adult",)), {}),
    "averages": lambda: release_page(averaged_record(names=NAMES), averaged_pictures(names=NAMES)),
    "averages, long names": lambda: release_page(
        averaged_record(names=(LONG,), noise=True), averaged_pictures(names=(LONG,))
    ),
    "explore, averages": lambda: explore_page(*averaged_grid(names=NAMES)),
    "explore, averages alone": lambda: explore_page(*averaged_grid(with_noise=False, names=(LONG,))),
    "splits": lambda: explore_page(*made_up_splits(NAMES)),
    "splits, long names": lambda: explore_page(*made_up_splits((LONG, RIGHT, "c"))),
    "explore, many k": lambda: explore_page(*made_up_grid(ks=range(2, 22), epsilons=(0.1, 1, 10))),
}


@cache
def page_of(kind):
    return PAGES[kind]()


@pytest.mark.parametrize("kind", PAGES)
def test_a_page_fits_every_width(seen_in_light, kind):
    """Nothing wider than the window, no words cut off or on top of one another, letters that can be read."""
    for seen in seen_in_light[kind]:
        check_fits(seen)


TRIED = (
    "release",
    "averages",
    "thirty attributes",
    "explore, one k",
    "explore, averages",
    "splits",
    "reproduce, Adult alone",
)
"""One page of each make, and small: axe-core looks at every letter of a page."""


@pytest.mark.parametrize("kind", TRIED)
def test_axe_finds_nothing_serious(faults, kind):
    """Contrast, names, order of headings: whoever uses a screen reader, or sees little, reads the same page."""
    assert serious(faults[kind]) == []


FIRST = ("sentence", "promise-verdict", "headline", "limit", "largest-risk", "useless", "coarser", "warnings")


@pytest.mark.parametrize("kind", ["release", "two", "long names", "twelve attributes", "thirty attributes", "averages"])
def test_the_first_screen_is_one_screen(seen_in_light, kind):
    """Whoever opens the report sees every part of the verdict without scrolling, on a laptop."""
    seen = seen_in_light[kind][WIDTHS.index(1280)]
    assert {name: seen["named"][name] < 720 for name in FIRST} == dict.fromkeys(FIRST, True)


@pytest.mark.parametrize("kind", ["release", "twelve attributes", "thirty attributes", "averages"])
def test_every_verdict_is_on_the_screen_of_a_telephone(seen_in_light, kind):
    """Verdicts that have to be scrolled to are not read."""
    for seen in seen_in_light[kind]:
        assert 0 < seen["verdicts"] <= seen["width"], seen["width"]


SPOILT = {
    "over": ("</svg>", '<text x="50" y="50">one label</text><text x="52" y="51">another label</text></svg>'),
    "beyond": ("<main>", '<main><p style="width:1500px">wide</p>'),
    "cut": ("</svg>", '<text x="1" y="900">below the chart</text></svg>'),
}


@pytest.mark.parametrize("fault", SPOILT)
def test_what_is_wrong_is_seen(browser, fault):
    """A check that finds nothing on a spoilt page would find nothing on any."""
    [[seen]] = browser.look_at(page_of("release").replace(*SPOILT[fault], 1), widths=(400,))
    assert seen[fault] != []


def test_axe_would_find_something(browser):
    """Grey on grey, and a picture without a name."""
    spoilt = page_of("release").replace(
        "<main>", '<main><p style="color:#999;background:#aaa">faint</p><img src="x">', 1
    )
    assert {"color-contrast", "image-alt"} <= {one["rule"] for one in serious(browser.faults_of(spoilt)[0])}


def brightness(colour):
    return sum(int(number) for number in re.findall(r"\d+", colour)[:3]) / 3


def test_a_page_is_dark_where_the_reader_wants_it_dark(browser, seen_in_light):
    """A browser set to dark shows light ink on a dark ground, and one set to light the reverse."""
    light, dark = seen_in_light["release"][0], browser.look_at(page_of("release"), dark=True)[0][0]
    assert brightness(light["ground"]) > 240 > 60 > brightness(light["ink"])
    assert brightness(dark["ground"]) < 40 < 200 < brightness(dark["ink"])


@pytest.mark.parametrize("kind", ["twelve attributes", "thirty attributes", "averages", "two"])
def test_a_report_prints_on_four_pages_at_most(browser, kind):
    """An officer gets it on paper: verdict, attributes, risk."""
    assert browser.printed(page_of(kind)) <= MOST_PRINTED


@pytest.mark.parametrize("kind", ["explore", "explore, averages", "explore, many k"])
def test_an_explore_page_prints_on_four_pages_at_most(browser, kind):
    """The choice, the chart and the front: hundreds of lines are for the screen."""
    assert browser.printed(page_of(kind)) <= MOST_PRINTED


def test_a_printed_report_leaves_its_folds_out(browser):
    """With the folded parts it would be longer."""
    page = page_of("twelve attributes")
    folded = ".report figure details, .report details.more { display: none }"
    opened = page.replace(folded, "").replace("<details", "<details open")
    assert opened.count("<details open") == page.count("<details")
    assert browser.printed(opened) > MOST_PRINTED


def test_a_screenshot_is_not_blank(browser):
    """A page of one colour compresses to next to nothing."""
    assert len(browser.picture(page_of("release"), width=800)) > 30_000
