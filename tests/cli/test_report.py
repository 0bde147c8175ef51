# SPDX-License-Identifier: Apache-2.0
"""`--report` and `Release.report`: one owner-only page with the release, or neither."""

from __future__ import annotations

import re
import stat

import pytest

import kepsilon
from material.people import people


def anonymise(kepsilon_command, case, *arguments):
    paths = (case / "people.csv", "-p", case / "policy.toml", "-o", case / "out.csv")
    return kepsilon_command("anonymise", *paths, *arguments)


def test_the_report_is_one_page_for_the_owner_only(kepsilon_command, case):
    """Nothing loaded, nothing that runs, no record in it."""
    outcome = anonymise(kepsilon_command, case, "--report", case / "r.html")
    assert outcome.code == 0, outcome.err
    assert re.search(rf"^report +{re.escape(str(case / 'r.html'))}$", outcome.out, flags=re.MULTILINE)
    page = (case / "r.html").read_text(encoding="utf-8")
    assert stat.S_IMODE((case / "r.html").stat().st_mode) == 0o600
    assert len(page.encode()) < 300_000
    for word in ("<script", "http:", "https:", "CANARY", "illness-"):
        assert word not in page
    assert not {record["height"] for record in people()} & set(page.replace("<", " ").replace(">", " ").split())


def test_the_same_page_from_python(case):
    """After the fact, without the data at hand."""
    release = kepsilon.anonymise(case / "people.csv", kepsilon.Policy.from_file(case / "policy.toml"))
    (case / "people.csv").unlink()
    release.report(case / "r.html")
    assert "For the curator only" in (case / "r.html").read_text(encoding="utf-8")
    with pytest.raises(kepsilon.EngineError, match="exists"):
        release.report(case / "r.html")
    release.report(case / "r.html", overwrite=True)


@pytest.mark.parametrize(
    ("name", "said"),
    [("r.pdf", "ends in .html"), ("no/such/r.html", "folder"), ("old.html", "exists already"), ("people.csv", ".html")],
)
def test_a_report_that_cannot_be_written_is_refused_before_any_work(kepsilon_command, case, name, said):
    """And no release is written without it."""
    (case / "old.html").write_text("mine", encoding="utf-8")
    outcome = anonymise(kepsilon_command, case, "--report", case / name)
    assert outcome.code == 2
    assert said in outcome.err
    assert not (case / "out.csv").exists()
    assert (case / "old.html").read_text(encoding="utf-8") == "mine"


def test_a_page_that_fails_leaves_no_release(kepsilon_command, case, monkeypatch):
    """Whole, or not at all."""

    def broken(*_arguments: object) -> str:
        raise RuntimeError("CANARY-0001")

    monkeypatch.setattr("kepsilon.pages.render.release_page", broken)
    outcome = anonymise(kepsilon_command, case, "--report", case / "r.html")
    assert outcome.code == 1
    assert "CANARY" not in outcome.err
    assert sorted(path.name for path in case.iterdir()) == ["people.csv", "policy.toml"]
