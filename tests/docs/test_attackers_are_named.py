# SPDX-License-Identifier: Apache-2.0
"""Every sentence about risk names the attacker it is about: on screens, on pages, in manifests and in the docs.

A risk without an attacker is true for nobody in particular, and is read as if it were for everybody.
"""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

import kepsilon
from material.people import POLICY, columns_of, people, write_csv

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", *sorted(own.relative_to(ROOT).as_posix() for own in (ROOT / "docs").rglob("*.md")))

ABOUT_RISK = re.compile(
    r"\b(linked|links|linking|risks?|riskiest|re-?identif\w*|gives? (people|somebody) away)\b", re.IGNORECASE
)
ATTACKER = re.compile(
    r"\b(attackers?|whoever|who (knows?|sees|could|can)|anybody|somebody|nobody|prosecutor|journalist|marketer|matcher)\b",
    re.IGNORECASE,
)
FOR_THE_PAGE = re.compile(r"Every risk on this page is that of (an attacker|somebody) who\b")
"""How a page about one attacker names them once for all its tables."""
MEASURED = re.compile(r"\d|share|chance|probab|largest|smaller|larger|most|many|more|fewer|less", re.IGNORECASE)
"""A sentence states a risk, and does not only mention the word, if it also speaks of how much."""


def sentences(text: str) -> list[str]:
    """Sentences of plain text; a line of a table, or a list item, is never joined to the next."""
    text = re.sub(r"\s+", " ", text)
    return [own.strip() for own in re.split(r"(?<=[.!?])\s+(?=[A-ZÄÖÜ`*“])", text) if own.strip()]


def unnamed(texts: list[str]) -> list[str]:
    """Sentences that state a risk and name nobody whose risk it is.

    A sentence may rest on the one before it in the same text, as in “… an attacker who …. It is rounded up.”
    """
    found = []
    for text in texts:
        named = False
        for sentence in sentences(text):
            is_named = bool(ATTACKER.search(sentence))
            if ABOUT_RISK.search(sentence) and MEASURED.search(sentence) and not (is_named or named):
                found.append(sentence)
            named = named or is_named
    return found


def paragraphs(markdown: str) -> list[str]:
    """Paragraphs, list items and table rows of a page, without code."""
    without_code = re.sub(r"```.*?```", "", markdown, flags=re.DOTALL)
    without_names = re.sub(r"`[^`]*`", "", without_code)
    without_links = re.sub(r"\]\([^)]*\)", "]", without_names)
    blocks = re.split(r"\n\s*\n|\n(?=\s*[-|#])", without_links)
    return [own for own in blocks if own.strip() and not own.lstrip().startswith("#")]


@pytest.mark.parametrize("name", PAGES)
def test_pages_name_the_attacker(name):
    """A paragraph that states a risk names whose it is, or the page says at its head whose all its risks are."""
    blocks = paragraphs((ROOT / name).read_text(encoding="utf-8"))
    if not any(FOR_THE_PAGE.search(block) for block in blocks[:4]):
        assert unnamed(blocks) == []


HIDING = re.compile(r"\b(hides?|hidden)\b", re.IGNORECASE)
GENERATED = ("errors.md", "api.md", "policy-keys.md", "record-keys.md", "manifest-keys.md", "commands.md")
WORDED_BY_CODE = tuple(f"docs/reference/{own}" for own in GENERATED)


def hidden_from_nobody_named(texts: list[str]) -> list[str]:
    """Sentences that say something is hidden, and do not say from whom, in a text that has not said it before."""
    found = []
    for text in texts:
        named = False
        for sentence in sentences(text):
            named = named or bool(ATTACKER.search(sentence))
            if HIDING.search(sentence) and not named:
                found.append(sentence)
    return found


@pytest.mark.parametrize("name", [own for own in PAGES if own not in WORDED_BY_CODE])
def test_pages_say_from_whom_something_is_hidden(name):
    """What is hidden from a neighbour may be plain to whoever holds a register."""
    blocks = paragraphs((ROOT / name).read_text(encoding="utf-8"))
    if not any(FOR_THE_PAGE.search(block) for block in blocks[:4]):
        assert hidden_from_nobody_named(blocks) == []


def test_something_hidden_from_nobody_is_noticed():
    """The test above can fail."""
    assert hidden_from_nobody_named(
        ["k hides whose record it is. Noise hides a value from whoever knows the class."]
    ) == ["k hides whose record it is."]


def chosen() -> kepsilon.Policy:
    import tomllib

    return kepsilon.Policy.from_dict(tomllib.loads(POLICY))


def test_screens_name_the_attacker(tmp_path, kepsilon_command):
    """Those of check, explore and anonymise; a row of a table counts with the sentence under it."""
    write_csv(tmp_path / "people.csv", people(300))
    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY, encoding="utf-8")
    data = tmp_path / "people.csv"
    for arguments in (
        ("check", data, "-p", policy),
        ("anonymise", data, "-p", policy, "-o", tmp_path / "r.csv"),
    ):
        ended = kepsilon_command(*arguments)
        assert ended.code == 0
        lines = re.split(r"\n(?=\S)", ended.out) + re.split(r"\n(?=\S)", ended.err)
        assert unnamed(lines) == []


def test_the_report_and_the_manifest_name_the_attacker(tmp_path):
    """Every paragraph of the page, every promise of the manifest, every sentence of the record."""
    release = kepsilon.anonymise(columns_of_table(), chosen())
    release.report(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    shown = [html.unescape(re.sub("<[^>]+>", "", own)) for own in re.findall(r"<p[^>]*>(.*?)</p>", page, re.DOTALL)]
    assert len(shown) > 10
    assert unnamed(shown) == []
    assert unnamed(release.manifest["guarantee"]["statement"].split("\n")) == []
    assert unnamed([release.manifest["bounds"]["attacker"]]) == []
    assert unnamed([words for own in release.record.kept_columns.values() for words in own.in_words]) == []


def columns_of_table():
    import pyarrow as pa

    return pa.table(columns_of(people(300)))


@pytest.mark.parametrize(
    "text",
    [
        "9.9 % of the records are linked.",
        "The linking risk is 5 %.",
        "At most 3 in 100 records are linked to the right person.",
    ],
)
def test_a_risk_without_an_attacker_is_noticed(text):
    """The test can fail."""
    assert unnamed([text]) == [text]


@pytest.mark.parametrize(
    "text",
    [
        "Whoever knows zip links 9.9 % of the records.",
        "An attacker who knows zip links 5 %. The risk rises with ε, more with k.",
    ],
)
def test_a_risk_with_an_attacker_is_not(text):
    """Nor one whose paragraph named the attacker before."""
    assert unnamed([text]) == []
