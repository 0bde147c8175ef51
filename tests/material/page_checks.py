# SPDX-License-Identifier: Apache-2.0
"""What every page must be: closed tags, nothing from elsewhere, nothing that runs, drawings that are good XML."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from html import escape
from html.parser import HTMLParser

LARGEST_PAGE = 300_000
VOID = {"meta", "br", "hr", "img", "input", "link", "wbr"}
MAY_BE = {
    *("html", "head", "meta", "title", "style", "body", "header", "main", "footer", "section", "div", "span", "p"),
    *("h1", "h2", "h3", "strong", "figure", "figcaption", "details", "summary", "dl", "dt", "dd"),
    *("a", "ul", "li", "table", "thead", "tbody", "tr", "th", "td", "svg", "g", "path", "rect", "circle", "text"),
}


class ClosedTags(HTMLParser):
    """Every tag is one that pages use, is closed by its own, and has no attribute that loads or runs."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.seen, self.words = [], [], []
        self.links, self.ids = [], []

    def handle_starttag(self, tag, attrs):
        assert tag in MAY_BE, tag
        for name, value in attrs:
            assert not name.startswith("on"), (tag, name)
            if (tag, name) == ("a", "href"):
                self.links.append(value)
                continue
            if name == "id":
                self.ids.append(value)
            assert name not in {"src", "href", "srcset", "action", "data", "poster", "xlink:href", "style"}, (tag, name)
        self.seen.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def drawings(page):
    return re.findall(r"<svg\b.*?</svg>", page, flags=re.DOTALL)


def check_page(page, *, said=(), beside=(), largest=LARGEST_PAGE):
    """All that must hold of any page; what was parsed comes back. Names in `said` may say anything, once escaped.

    Links lead to the page itself, or to files `beside` it.
    """
    parsed = ClosedTags()
    parsed.feed(page)
    parsed.close()
    assert parsed.open == []
    assert len(set(parsed.ids)) == len(parsed.ids)
    for link in parsed.links:
        assert link in beside or (link.startswith("#") and link[1:] in parsed.ids), link
    assert page.startswith("<!DOCTYPE html>")
    rest = page.lower()
    for name in sorted(said, key=len, reverse=True):
        rest = rest.replace(escape(name).lower(), "").replace(escape(name).replace("&quot;", "&#34;").lower(), "")
    for loads in ("<script", "http:", "https:", "src=", "url(", "@import", "<link", "<iframe", "javascript:"):
        assert loads not in rest, loads
    assert len(page.encode()) < largest
    for drawing in drawings(page):
        check_drawing(drawing)
    figures = re.findall(r"<figure>.*?</figure>", page, flags=re.DOTALL)
    assert len(figures) == page.count("<figure")
    for figure in figures:
        assert re.search(r"<table>.*<td", figure, flags=re.DOTALL), "a figure has no table"
    return parsed


def check_drawing(markup):
    """Good XML with a name; every coordinate is short and on the paper."""
    root = ET.fromstring(markup)
    assert root.get("role") == "img"
    title = next(child for child in root if child.tag.endswith("title"))
    assert title.text == root.get("aria-label") != ""
    assert "width" not in root.attrib
    _, _, width, height = (float(number) for number in root.get("viewBox").split())
    for element in root.iter():
        assert set(element.attrib) <= {
            *("class", "viewBox", "role", "aria-label", "x", "y", "width", "height", "rx", "cx", "cy", "r", "d"),
            *("transform", "stroke-dasharray", "font-family"),
        }
        for name in ("x", "cx"):
            assert -1 <= float(element.get(name, 0)) <= width + 1
        for name in ("y", "cy"):
            assert -10 <= float(element.get(name, 0)) <= height + 1
        for number in re.findall(r"\d+\.\d+", element.get("d", "")):
            assert len(number.split(".")[1]) == 1
    return root


def luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    """Of two colours, by WCAG: 1 to 21."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)
