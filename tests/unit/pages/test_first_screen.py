# SPDX-License-Identifier: Apache-2.0
"""The first screen of the report: its named elements, and the verdicts in them, which are those of the record."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape

import pyarrow as pa
import pytest

import kepsilon
from kepsilon.errors import Problem
from kepsilon.pages.render import release_page
from kepsilon.predict.verdicts import AttributeVerdict, Mark, usefulness_of
from kepsilon.publish.policy_document import PolicyDocument
from material.made_up_results import (
    fates,
    made_up_kept_column,
    made_up_outliers,
    made_up_pictures,
    made_up_record,
)
from material.page_checks import check_page

NAMED = (
    *("file", "sentence", "marks", "mark-promise", "promise-verdict", "mark-risk", "headline", "limit", "largest-risk"),
    *("mark-usefulness", "useless", "coarser", "lost", "warnings"),
)
"""What the first screen holds, by the ids of its elements."""
BELOW = ("attributes", "officer", "not-covered", "survives", "left-out", "promise", "making")
"""What comes after it, in this order."""


def report(record, **given):
    page = release_page(record, made_up_pictures(), **given)
    check_page(page)
    return page


def words_in(page, name):
    """Text of the element with an id; elements of the first screen hold no other element of the same kind."""
    found = re.search(rf'<(\w+)[^>]* id="{name}"[^>]*>|<(\w+) id="{name}"[^>]*>', page)
    assert found, f"no element is named {name}"
    tag = found[1] or found[2]
    inside = page[found.end() : page.index(f"</{tag}>", found.end())]
    return re.sub(r"\s+", " ", unescape(re.sub("<[^>]+>", " ", inside))).strip()


def mark_of(page, name):
    return re.search(rf'id="{name}"[^>]* data-mark="(\w+)"', page)[1]


def judged(**verdicts):
    """The made-up record with these verdicts on its attributes, and what follows for the whole."""
    record = made_up_record()
    own = {
        name: AttributeVerdict(role="k-quasi", verdict=verdict, reason=f"because it is {verdict}", share=0.5)
        for name, verdict in verdicts.items()
    }
    return replace(record, verdicts=own, verdict=replace(record.verdict, usefulness=usefulness_of(own)))


def limited(limit, state):
    """The made-up record under a limit on its headline of 2.3 %."""
    record = made_up_record()
    policy = PolicyDocument(document={**record.policy.document, "max_risk": limit})
    return replace(record, policy=policy, verdict=replace(record.verdict, risk=Mark(state=state, sentence="Made up.")))


def test_everything_of_the_first_screen_has_a_name_and_comes_first():
    """Verdict, headline, limit, largest risk, useless and coarser attributes and warnings, before any table or picture."""
    page = report(made_up_record())
    places = [page.index(f'id="{name}"') for name in (*NAMED, *BELOW)]
    assert places == sorted(places)
    assert all(page.count(f'id="{name}"') == 1 for name in (*NAMED, *BELOW))
    assert places[len(NAMED)] < page.index("<svg")
    assert all(words_in(page, name) for name in NAMED)


def test_the_file_is_named():
    """Reports of several releases lie side by side."""
    assert words_in(report(made_up_record(), file_name="ward <3>.csv"), "file") == "ward <3>.csv"
    assert words_in(report(made_up_record()), "file") == "Release (not written yet)"


def test_the_promise_is_the_verdict_of_the_record():
    """Whoever reads the record, the terminal or the page reads the same words."""
    record = made_up_record()
    page = report(record)
    assert words_in(page, "promise-verdict") == record.verdict.promise.sentence
    assert mark_of(page, "mark-promise") == "good"
    seeded = made_up_record(seeded=True)
    page = report(seeded)
    assert words_in(page, "promise-verdict") == seeded.verdict.promise.sentence
    assert mark_of(page, "mark-promise") == "bad"
    assert "the promise is not kept" in words_in(page, "sentence")


def test_the_headline_names_its_attacker_and_the_largest_risk_whose_it_is():
    """A risk without the attacker it is of says nothing."""
    page = report(made_up_record())
    assert words_in(page, "headline").startswith("2.3 % of the records")
    assert "by whoever knows place 0, place 1 and height, and takes the nearest original" in words_in(page, "headline")
    said = "Largest single risk: at most 99 % for whoever matches a whole class one to one"
    assert words_in(page, "largest-risk") == f"{said}."
    record = made_up_record()
    surer = replace(record.attackers[1], name="working out", how="works out what weight must be", largest=1.0)
    page = report(replace(record, attackers=(*record.attackers, surer)))
    also = "at most 100 % for whoever works out what weight must be"
    assert words_in(page, "largest-risk") == f"{said}; {also}.", "a limit on it is about the first alone"


@pytest.mark.parametrize(
    ("limit", "state", "mark", "said"),
    [
        (0.05, "within", "good", "Limit 5 %."),
        (0.01, "above", "bad", "Limit 1 %."),
        (None, "no limit", "open", "No limit"),
    ],
)
def test_the_risk_stands_beside_its_limit(limit, state, mark, said):
    """What is within the limit, above it, and under no limit at all are three things."""
    page = report(made_up_record() if limit is None else limited(limit, state))
    assert mark_of(page, "mark-risk") == mark
    assert words_in(page, "limit").startswith(said)
    assert ("exceeded" in words_in(page, "sentence")) is (state == "above")


def test_attributes_are_judged_as_the_record_judges_them():
    """The page works out no verdict of its own: it says what the record says, whatever the figures beside it are."""
    page = report(judged(**{"place 0": "useless", "place 1": "coarser", "height": "kept"}))
    assert words_in(page, "useless") == "Useless: place 0."
    assert words_in(page, "coarser") == "Coarser: place 1."
    assert mark_of(page, "mark-usefulness") == "bad"
    table = re.search(r'<section id="attributes">.*?</section>', page, flags=re.DOTALL).group()
    for verdict in ("useless", "coarser", "kept"):
        assert f"because it is {verdict}" in table
    assert "1 attribute is useless" in words_in(page, "sentence")


@pytest.mark.parametrize(("worst", "mark"), [("kept", "good"), ("coarser", "fair"), ("useless", "bad")])
def test_usefulness_is_that_of_the_worst_attribute(worst, mark):
    """An average would hide it."""
    page = report(judged(**{"place 0": "kept", "height": worst}))
    assert mark_of(page, "mark-usefulness") == mark
    assert words_in(page, "useless") == ("Useless: height." if worst == "useless" else "Useless: none.")
    assert words_in(page, "coarser") == ("Coarser: height." if worst == "coarser" else "Coarser: none.")


def test_the_reason_for_publishing_a_useless_attribute_is_told():
    """The curator stated it, and whoever reads the report judges it."""
    record = judged(height="useless")
    accepted = {"height": replace(record.verdicts["height"], accepted="A later file needs the column.")}
    assert "Published all the same: A later file needs the column." in report(replace(record, verdicts=accepted))


def test_many_useless_attributes_are_not_all_named_on_the_first_screen():
    """The table below names them all."""
    page = report(judged(**{f"column {i}": "useless" for i in range(9)}))
    assert words_in(page, "useless").endswith("column 4 and 4 more.")


def test_warnings_stand_above_the_figures():
    """Those of the record and those that only the run knew, each counted."""
    words = "whoever knows height works out what weight must be"
    leak = made_up_kept_column(verdict="alarm", reasons=("links",), in_words=(words,))
    problem = Problem(
        where="some/where/people.csv", what="3 columns were renamed. They had no names.", fix="Name them."
    )
    page = report(made_up_record(seeded=True, kept_columns={"weight": leak}), problems=[problem])
    said = words_in(page, "warnings")
    assert said.startswith("3 warnings")
    for part in ("drawn with a seed", words[1:], "people.csv: 3 columns were renamed.", "Name them."):
        assert part in said
    assert "some/where" not in page
    assert words_in(report(made_up_record()), "warnings") == "No warnings."


def test_the_share_left_out_stands_beside_the_usefulness():
    """A release without two thirds of its records is not useful, however well the others are kept."""
    page = report(made_up_record())
    assert words_in(page, "lost") == "7.5 % of the records are left out."
    whole = made_up_record(records=fates(read=1850, released=1850))
    assert words_in(report(whole), "lost") == "No record is left out."


MANY = ("a/b", "<b>", *(f"column {i}" for i in range(20)))


def test_warnings_that_are_alike_are_one_warning():
    """Of thirty columns thirty lines would push the table of attributes away; the fold has each of them."""
    problems = [
        Problem(
            where=f"attributes.{name}.accept_useless",
            what="is stated, but the attribute is kept: labels leave 1 % open.",
            fix="Take it out.",
        )
        for name in MANY
    ]
    problems += [Problem(where="some/where/people.csv", what="Something else.")]
    outliers = {name: made_up_outliers(recoverable=2, likeliest=0.98) for name in MANY[:3]}
    said = words_in(report(made_up_record(outliers=outliers), problems=problems), "warnings")
    assert said.startswith("3 warnings")
    assert (
        "stands out, and the size of the noise gives it away: a/b (2 classes), <b> (2 classes) and column 0 (2 clas"
        in said
    )
    assert "these attributes are not useless: a/b (kept), <b> (kept), column 0 (kept)" in said
    assert "and 10 more" in said
    assert all(f"attributes.{name}.accept_useless: is stated" in said for name in MANY)
    assert said.count("Take it out.") == 1


def test_a_column_is_named_whole_where_it_looks_like_a_path():
    """Of a file its name is enough; a column named a/b is not b."""
    problems = [Problem(where='column "a/b"', what="2 cells begin like a formula.")]
    assert 'column "a/b": 2 cells' in words_in(report(made_up_record(), problems=problems), "warnings")


def test_an_accepted_leak_is_one_warning():
    """The record knows it, and the run tells it too."""
    leak = made_up_kept_column(verdict="alarm", reasons=("links",), in_words=("whoever knows height knows weight",))
    problem = Problem(
        where='column "weight"', what="gives people away, which the policy accepts: whoever knows height knows weight."
    )
    page = report(made_up_record(kept_columns={"weight": leak}), problems=[problem])
    assert words_in(page, "warnings").startswith("1 warning ")


def test_a_release_has_the_verdict_of_its_record_on_its_page(tmp_path):
    """From the data to the page: `anonymise` judges, and the page repeats it."""
    people = {"place": ["abcd"[i % 4] for i in range(400)], "height": [150 + i % 40 for i in range(400)]}
    policy = kepsilon.Policy.from_dict(
        {
            "k": 5,
            "epsilon": 8,
            "algorithm": "mondrian",
            "max_suppression": 0,
            "max_risk": 0.5,
            "attributes": {
                "place": {"role": "k-quasi"},
                "height": {"role": "epsilon-quasi", "range": "class", "precision": 1},
            },
        }
    )
    release = kepsilon.anonymise(pa.table(people), policy)
    release.write(tmp_path / "out.csv")
    release.report(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    verdict = release.record.verdict
    assert words_in(page, "file") == "out.csv"
    assert words_in(page, "promise-verdict") == verdict.promise.sentence
    assert mark_of(page, "mark-risk") == {"within": "good", "above": "bad"}[verdict.risk.state]
    for own in release.record.verdicts.values():
        assert own.reason in unescape(page)
