# SPDX-License-Identifier: Apache-2.0
"""The site: every page is reached, nothing is loaded from elsewhere, search works, and newcomers find their answers."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from html.parser import HTMLParser
from urllib.parse import unquote

import pytest

from material.browser import Browser
from material.machine import ROOT
from material.markdown import links_of

DOCS = ROOT / "docs"
LONGEST = 120
"""Seconds that building the site may take."""
LOADING = {("script", "src"), ("link", "href"), ("img", "src"), ("iframe", "src"), ("object", "data"), ("source", "src"), ("embed", "src")}  # fmt: skip
"""Tags and attributes by which a browser loads something without being asked."""
SEARCHED = {"canonical", "next", "prev", "author", "index", "search", "copyright"}
"""Links that a browser does not load."""


class Page(HTMLParser):
    """What a page loads, where its links lead, and the places on it that links can lead to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        own = {name: value or "" for name, value in attrs}
        self.places.add(own.get("id", ""))
        if tag == "a" and "href" in own:
            self.links.append(own["href"])
        for name, value in own.items():
            if (tag, name) in LOADING and own.get("rel") not in SEARCHED:
                self.loaded.append(value)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Built as `make docs` builds it."""
    pytest.importorskip("furo", reason="the docs extra is not installed; `make docs` builds the site in CI")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-d", str(folder / "doctrees")]
    started = time.monotonic()
    ended = subprocess.run([*command, str(DOCS), str(folder / "html")], check=False, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert time.monotonic() - started < LONGEST
    return folder / "html"


@pytest.fixture(scope="module")
def pages(site):
    return {file.relative_to(site).as_posix(): Page(file.read_text(encoding="utf-8")) for file in site.rglob("*.html")}


def test_nothing_is_loaded_from_elsewhere(site, pages):
    """No script, font, picture or style comes over a network: the site is read where data may not leave the machine."""
    assert len(pages) > 50
    for name, page in pages.items():
        assert [own for own in page.loaded if "//" in own] == [], name
    for style in site.rglob("*.css"):
        addresses = re.findall(r"(?:url\(|@import)\s*[\"']?([^\"')\s]+)", style.read_text(encoding="utf-8"))
        assert [own for own in addresses if own.startswith(("http:", "https:", "//"))] == [], style.name


def test_what_is_loaded_is_there(site, pages):
    """From the file system, without a server."""
    for name, page in pages.items():
        for own in page.loaded:
            target = own.partition("?")[0].partition("#")[0]
            assert target.startswith("data:") or (site / name).parent.joinpath(target).exists(), (name, own)


def test_every_link_of_the_site_leads_somewhere(site, pages):
    """To a page of the site, and to a place that is on it."""
    for name, page in pages.items():
        for own in page.links:
            target, _, place = unquote(own).partition("#")
            if "//" in target or target.startswith("mailto:"):
                continue
            file = (site / name).parent.joinpath(target).resolve() if target else (site / name).resolve()
            assert file.exists(), (name, own)
            found = pages.get(file.relative_to(site.resolve()).as_posix())
            assert found is None or not place or place in found.places, (name, own)


def test_search_finds_words(site):
    """Its index is a file beside the pages."""
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    for word in ("slope", "manifest", "mondrian"):
        assert word in index
    assert (site / "search.html").exists()


def test_search_answers_from_the_file_system(site, tmp_path):
    """In a browser, without a server: the page that has the word is among what is found."""
    shown = Browser(tmp_path).run(
        "--virtual-time-budget=20000", "--dump-dom", f"{(site / 'search.html').as_uri()}?q=slope"
    )
    found = shown.partition('id="search-results"')[2]
    assert 'href="how-to/analyse.html' in found
    assert "Analyse a release" in found


def test_every_page_is_within_two_clicks():
    """From the first page, over the lists of each kind."""
    near = {"index.md"}
    for _ in range(2):
        near |= {
            (DOCS / page).parent.joinpath(target).resolve().relative_to(DOCS.resolve()).as_posix()
            for page in near
            for target, _ in links_of((DOCS / page).read_text(encoding="utf-8"))
            if target.endswith(".md") and (DOCS / page).parent.joinpath(target).resolve().is_relative_to(DOCS.resolve())
        }
    assert {own.relative_to(DOCS).as_posix() for own in DOCS.rglob("*.md")} - near == set()


ANSWERS = {
    "May I publish this file?": ("how-to/officer.md", "Go through this list"),
    "Why was my release refused?": ("how-to/refused.md", "what you can do"),
    "How sure can somebody be who knows a person's age and weight?": ("how-to/choose.md", "largest single risk"),
    "How do I get the true slope from averaged columns?": ("how-to/analyse.md", "needs no correction"),
    "How do I run it on 100 million rows?": ("how-to/scale.md", "--memory 2GB"),
}


@pytest.mark.parametrize("question", ANSWERS)
def test_a_newcomer_finds_the_answer(question):
    """The first page asks the question and links to the page that answers it."""
    page, words = ANSWERS[question]
    lines = [own for own in (DOCS / "index.md").read_text(encoding="utf-8").splitlines() if question in own]
    assert len(lines) == 1
    assert page in [target for target, _ in links_of(lines[0])]
    assert words in (DOCS / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("picture", sorted((DOCS / "pictures").glob("*.svg")), ids=lambda own: own.name)
def test_pictures_are_readable_in_light_and_dark(picture):
    """Each has colours for both, a title for those who do not see it, and loads nothing."""
    text = picture.read_text(encoding="utf-8")
    assert "prefers-color-scheme: dark" in text
    assert "<title" in text
    assert re.findall(r"(?:href|src)=\"(?!#)", text) == []
