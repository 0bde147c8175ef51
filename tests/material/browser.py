# SPDX-License-Identifier: Apache-2.0
"""Pages as Chromium lays them out, for the tests of every page: at several widths, in light, in dark and on paper.

A page runs no script, so a wrapper holds it in frames of each width and looks into them from outside.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import escape, unescape
from importlib.util import find_spec
from pathlib import Path

from material.machine import lacking

WIDTHS = (360, 400, 480, 800, 1280, 1400)
MOST_PRINTED = 4
SMALLEST_LETTERS = 9.5
"""Pixels; a telephone shows the charts a little smaller than they were drawn."""
SERIOUS = {"serious", "critical"}
"""What axe-core calls faults that keep people from reading a page."""

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--hide-scrollbars", "--disable-dev-shm-usage"),
)

_LOOK = """
const overlap = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1.5 &&
  Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3;
// Lines of text with their boxes: labels of charts, and every line of every other text that is shown.
const lines = page => {
  const walker = page.createTreeWalker(page.body, NodeFilter.SHOW_TEXT), found = [], range = page.createRange();
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (!node.data.trim() || node.parentElement.closest("title, desc, style")) continue;
    range.selectNodeContents(node);
    const scrolled = node.parentElement.closest(".scroll")?.getBoundingClientRect();
    for (const box of range.getClientRects()) {
      if (box.width < 1 || (scrolled && (box.left > scrolled.right || box.right < scrolled.left))) continue;
      found.push([node.data.trim().slice(0, 40), box]);
    }
  }
  return found.sort((a, b) => a[1].top - b[1].top);
};
// Words of ordinary length in tables that stand on two lines, in letters.
const brokenWords = page => {
  const walker = page.createTreeWalker(page.body, NodeFilter.SHOW_TEXT), found = [], range = page.createRange();
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (!node.parentElement.closest("td, th")) continue;
    for (const word of node.data.matchAll(/[^\\s-]{2,14}(?=[\\s-]|$)/g)) {
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const tops = new Set([...range.getClientRects()].map(box => Math.round(box.top)));
      const isWhole = word.index === 0 || /[\\s-]/.test(node.data[word.index - 1]);
      if (isWhole && tops.size > 1) found.push(word[0]);
    }
  }
  return found;
};
const seenIn = frame => {
  const page = frame.contentDocument, width = frame.clientWidth;
  const found = {width, beyond: [], cut: [], over: [], broken: [], letters: 99, named: {}, verdicts: 0};
  for (const one of page.querySelectorAll("[id]")) found.named[one.id] = one.getBoundingClientRect().top;
  for (const one of page.querySelectorAll(".attributes .verdict")) found.verdicts = Math.max(found.verdicts, one.getBoundingClientRect().right);
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
    for (const text of chart.querySelectorAll("text")) {
      const box = text.getBoundingClientRect();
      if (box.left < paper.left - 2 || box.right > paper.right + 2 || box.top < paper.top - 3 || box.bottom > paper.bottom + 3)
        found.cut.push(text.textContent);
    }
  }
  found.broken = brokenWords(page);
  const texts = lines(page);
  texts.forEach(([words, box], i) => {
    for (let j = i + 1; j < texts.length && texts[j][1].top < box.bottom; j++)
      if (overlap(box, texts[j][1])) found.over.push(words + " | " + texts[j][0]);
  });
  return found;
};
const faultsIn = async frame => {
  const page = frame.contentDocument;
  page.querySelectorAll("details").forEach(details => details.open = true);
  const found = await frame.contentWindow.axe.run(page, {resultTypes: ["violations"], iframes: false});
  return found.violations.map(one => ({
    rule: one.id, impact: one.impact, where: one.nodes.slice(0, 3).map(node => node.html.slice(0, 160)), n: one.nodes.length,
  }));
};
addEventListener("load", async () => {
  const seen = [];
  for (const frame of document.querySelectorAll("iframe")) seen.push(await LOOKED(frame));
  document.body.textContent = "SEEN" + JSON.stringify(seen) + "NEES";
});
"""


def require_chromium() -> str:
    """Where Chromium is; the test is skipped without it, and fails in CI."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        lacking("chromium is not here, which looks at the pages: apt-get install chromium")
    return found


def require_axe() -> Path:
    """Where axe-core's script is; the test is skipped without it, and fails in CI."""
    found = find_spec("axe_core_python")
    if found is None:
        lacking("axe-core-python is not here, which tries whether everybody can read the pages: pip install it")
    return Path(found.submodule_search_locations[0]) / "axe.min.js"


class Browser:
    """One Chromium, with a folder for its profile and for what it is shown."""

    def __init__(self, folder: Path):
        self._chromium, self._folder = require_chromium(), folder

    def run(self, *arguments: str) -> str:
        command = [self._chromium, *FLAGS, f"--user-data-dir={self._folder / 'profile'}", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=240, check=True).stdout

    def look_at(self, *pages: str, dark: bool = False, widths=WIDTHS) -> list[list[dict]]:
        """What is seen of each page in frames of all widths, folds open; text boxes and charts are measured."""
        frames = [self._frame(page, width) for page in pages for width in widths]
        found = self._ask("seenIn", frames, dark=dark)
        return [found[i : i + len(widths)] for i in range(0, len(found), len(widths))]

    def faults_of(self, *pages: str, dark: bool = False) -> list[list[dict]]:
        """What axe-core finds wrong with each page, folds open. Only here the page may run a script: that of axe-core."""
        script = f'<script src="{require_axe().as_uri()}"></script></head>'
        opened = [re.sub(r"<meta http-equiv=\"Content-Security-Policy\"[^>]*>", "", page) for page in pages]
        frames = [self._frame(page.replace("</head>", script, 1), 1280) for page in opened]
        return self._ask("faultsIn", frames, dark=dark)

    def printed(self, page: str) -> int:
        """Number of pages that it takes on paper."""
        source, paper = self._folder / "page.html", self._folder / "page.pdf"
        source.write_text(page, encoding="utf-8")
        self.run("--no-pdf-header-footer", f"--print-to-pdf={paper}", source.as_uri())
        return len(re.findall(rb"/Type\s*/Page\b", paper.read_bytes()))

    def picture(self, page: str, *, width: int = 1280, height: int = 1200) -> bytes:
        """A screenshot."""
        source, picture = self._folder / "page.html", self._folder / "page.png"
        source.write_text(page, encoding="utf-8")
        self.run(f"--screenshot={picture}", f"--window-size={width},{height}", source.as_uri())
        return picture.read_bytes()

    @staticmethod
    def _frame(page: str, width: int) -> str:
        return f'<iframe style="border:0;width:{width}px;height:900px" srcdoc="{escape(page)}"></iframe>'

    def _ask(self, question: str, frames: list[str], *, dark: bool) -> list:
        head = '<!DOCTYPE html><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
        wrapper = self._folder / "wrapper.html"
        asked = _LOOK.replace("LOOKED", question)
        wrapper.write_text(f"{head}<body>{''.join(frames)}<script>{asked}</script></body>", encoding="utf-8")
        scheme = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
        size = ("--window-size=1500,1000", "--virtual-time-budget=60000")
        seen = self.run(scheme, *size, "--allow-file-access-from-files", "--dump-dom", wrapper.as_uri())
        answer = re.search("SEEN(.*)NEES", seen, flags=re.DOTALL)
        assert answer, "the pages were not looked at"
        found = json.loads(unescape(answer.group(1)))
        assert len(found) == len(frames)
        return found


def check_fits(seen: dict, *, charts: int = 3) -> None:
    """Nothing wider than the window, no words cut off, broken or on top of one another, letters that can be read."""
    assert seen["scrolls"] <= seen["width"], seen["width"]
    assert seen["beyond"] == []
    assert seen["height"] > 900
    assert seen["charts"] >= charts
    assert seen["cut"] == []
    assert seen["over"] == []
    assert not seen["broken"], (seen["width"], seen["broken"])
    assert seen["letters"] >= SMALLEST_LETTERS


def serious(faults: list[dict]) -> list[dict]:
    """The faults that keep people from reading a page."""
    return [one for one in faults if one["impact"] in SERIOUS]
