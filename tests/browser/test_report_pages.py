# SPDX-License-Identifier: Apache-2.0
"""The pages as Chromium lays them out: at several widths, in light, in dark and on paper.

A page has no script, so a wrapper holds it in frames of each width and looks into them from outside.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from functools import cache
from html import escape, unescape

import pytest

from kepsilon.grid.choice import Choice, Limits
from kepsilon.pages.render import explore_page, release_page
from kepsilon.reproduce.pages.page import page as reproduce_page
from material.averaged_pages import averaged_grid, averaged_pictures, averaged_record
from material.machine import lacking
from material.made_up_results import made_up_grid, made_up_pictures, made_up_record
from material.made_up_splits import made_up_splits
from material.measurements import made_up_claims, made_up_measurements, made_up_run

WIDTHS = (360, 480, 800, 1200, 1400)
LONG = "a_column_with_a_name_that_somebody_has_made_far_too_long_for_any_table_or_chart_" * 2
RIGHT = "גובה\nבס\u202eמ"
MOST_PRINTED = 4
SMALLEST_LETTERS = 9.5
"""Pixels; a telephone shows the charts a little smaller than they were drawn."""

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--hide-scrollbars", "--disable-dev-shm-usage"),
)

LOOK = """
<script>
const overlap = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1.5 &&
  Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3;
addEventListener("load", () => {
  const seen = [...document.querySelectorAll("iframe")].map(frame => {
    const page = frame.contentDocument, width = frame.clientWidth, found = {width, beyond: [], cut: [], over: [], letters: 99};
    page.querySelectorAll("details").forEach(details => details.open = true);
    found.scrolls = page.documentElement.scrollWidth;
    found.ground = getComputedStyle(page.body).backgroundColor;
    found.ink = getComputedStyle(page.body).color;
    found.height = page.body.scrollHeight;
    found.charts = page.querySelectorAll("svg").length;
    for (const one of page.querySelectorAll("body *")) {
      const box = one.getBoundingClientRect();
      if (box.right > width + 1 && !one.closest(".scroll")) found.beyond.push(one.tagName + " " + one.className);
    }
    for (const chart of page.querySelectorAll("svg")) {
      const paper = chart.getBoundingClientRect();
      if (!paper.width) continue;
      found.letters = Math.min(found.letters, 11.5 * paper.width / chart.viewBox.baseVal.width);
      const texts = [...chart.querySelectorAll("text")].map(text => [text.textContent, text.getBoundingClientRect()]);
      texts.forEach(([words, box], i) => {
        if (box.left < paper.left - 2 || box.right > paper.right + 2 || box.top < paper.top - 3 || box.bottom > paper.bottom + 3)
          found.cut.push(words);
        for (const [others, other] of texts.slice(i + 1)) if (overlap(box, other)) found.over.push(words + " | " + others);
      });
    }
    return found;
  });
  document.body.textContent = "SEEN" + JSON.stringify(seen) + "NEES";
});
</script>
"""


@pytest.fixture(scope="session")
def chromium():
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        lacking("chromium is not here, which looks at the pages: apt-get install chromium")
    return found


@pytest.fixture(scope="module")
def browse(chromium, tmp_path_factory):
    profile = tmp_path_factory.mktemp("profile")

    def run(*arguments):
        command = [chromium, *FLAGS, f"--user-data-dir={profile}", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=240, check=True).stdout

    return run


@pytest.fixture(scope="module")
def look_at(browse, tmp_path_factory):
    """What Chromium sees of some pages, each in frames of all widths: one list for each page."""
    folder = tmp_path_factory.mktemp("wrapper")

    def look(*pages, dark=False):
        frames = "".join(
            f'<iframe style="border:0;width:{w}px;height:900px" srcdoc="{escape(page)}"></iframe>'
            for page in pages
            for w in WIDTHS
        )
        head = '<!DOCTYPE html><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
        wrapper = folder / "wrapper.html"
        wrapper.write_text(f"{head}<body>{frames}{LOOK}</body>", encoding="utf-8")
        scheme = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
        seen = browse(scheme, "--window-size=1500,1000", "--virtual-time-budget=4000", "--dump-dom", wrapper.as_uri())
        found = json.loads(unescape(re.search("SEEN(.*)NEES", seen, flags=re.DOTALL).group(1)))
        assert len(found) == len(pages) * len(WIDTHS)
        return [found[i : i + len(WIDTHS)] for i in range(0, len(found), len(WIDTHS))]

    return look


@pytest.fixture(scope="module")
def seen_in_light(look_at):
    """What is seen of every page, in one start of Chromium, which takes longer than it looks at a page."""
    return dict(zip(PAGES, look_at(*map(page_of, PAGES)), strict=True))


def much_distortion(grid, choice):
    """The last words of the axis are wide, and half of them stand beyond it."""
    cells = tuple(
        replace(cell, prediction=replace(cell.prediction, distortion=2e4 * cell.prediction.distortion))
        if cell.prediction
        else cell
        for cell in grid.cells
    )
    return replace(grid, cells=cells), replace(choice, cell=cells[grid.cells.index(choice.cell)])


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
        assert seen["scrolls"] <= seen["width"], seen
        assert seen["beyond"] == []
        assert seen["height"] > 900
        assert seen["charts"] >= 3
        assert seen["cut"] == []
        assert seen["over"] == []
        assert seen["letters"] >= SMALLEST_LETTERS


def brightness(colour):
    return sum(int(number) for number in re.findall(r"\d+", colour)[:3]) / 3


def test_a_page_is_dark_where_the_reader_wants_it_dark(look_at, seen_in_light):
    """A browser set to dark shows light ink on a dark ground, and one set to light the reverse."""
    light, dark = seen_in_light["release"][0], look_at(page_of("release"), dark=True)[0][0]
    assert brightness(light["ground"]) > 240 > 60 > brightness(light["ink"])
    assert brightness(dark["ground"]) < 40 < 200 < brightness(dark["ink"])


def pages_on_paper(browse, folder, content):
    """How many pages a page takes, printed."""
    source, paper = folder / "page.html", folder / "page.pdf"
    source.write_text(content, encoding="utf-8")
    browse("--no-pdf-header-footer", f"--print-to-pdf={paper}", source.as_uri())
    return len(re.findall(rb"/Type\s*/Page\b", paper.read_bytes()))


def test_a_report_prints_on_four_pages_and_leaves_its_folds_out(browse, tmp_path):
    """An officer gets it on paper: verdict, attributes, risk. With the folded parts it would be longer."""
    page = page_of("twelve attributes")
    assert pages_on_paper(browse, tmp_path, page) <= MOST_PRINTED
    folded = ".report figure details, .report details.more { display: none }"
    opened = page.replace(folded, "").replace("<details", "<details open")
    assert opened.count("<details open") == page.count("<details")
    assert pages_on_paper(browse, tmp_path, opened) > MOST_PRINTED


def test_a_screenshot_is_not_blank(browse, tmp_path):
    """A page of one colour compresses to next to nothing."""
    source, picture = tmp_path / "page.html", tmp_path / "page.png"
    source.write_text(page_of("release"), encoding="utf-8")
    browse(f"--screenshot={picture}", "--window-size=800,1200", source.as_uri())
    assert len(picture.read_bytes()) > 30_000
