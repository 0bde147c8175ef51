# SPDX-License-Identifier: Apache-2.0
"""The page of a reproduction: whole by itself, every claim marked by words, and reasons wherever one did not hold."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from kepsilon.pages.charts import STYLE
from kepsilon.reproduce.pages.beyond_figures import one_of
from kepsilon.reproduce.pages.judged import claims_of, in_short, scores
from kepsilon.reproduce.pages.page import figure_files, glued, page, write_pages
from kepsilon.reproduce.pages.page_tables import hierarchies
from kepsilon.reproduce.pages.paper_figures import paper_figures
from material.measurements import FAILS, SENTENCES, made_up_claims, made_up_measurements, made_up_run, releases
from material.page_checks import check_page, contrast, drawings

LARGEST = 700_000
"""Bytes; 70 drawings and their tables."""
ALL_FILES = {
    f"figures/{name}.{kind}"
    for name in (
        *("dimensions", "error-distributions", "uniform-noise", "suppression-by-ola", "error-by-k", "error-by-epsilon"),
        *("risk-by-epsilon", "confident-k", "times-mondrian", "times-ola"),
        *("additions-error", "additions-risk", "additions-confident-k"),
    )
    for kind in ("svg", "csv")
}


@pytest.fixture(scope="module")
def whole():
    return page(made_up_measurements(), made_up_claims(), made_up_run())


def check(text, **more):
    return check_page(text, beside=ALL_FILES, largest=LARGEST, **more)


def words_of(parsed):
    return " ".join(" ".join(parsed.words).replace("\N{NO-BREAK SPACE}", " ").split())


def test_the_page_is_whole_by_itself(whole):
    """It opens on a machine without network, and its links lead to files that were written beside it."""
    parsed = check(whole)
    assert len(drawings(whole)) == 3 * 3 + 10 * 6
    assert set(parsed.links) >= ALL_FILES


@pytest.mark.parametrize("data_sets", [("adult",), ("florida",), ("adult", "michigan"), ()])
def test_any_part_of_the_data_sets_makes_a_page(data_sets):
    """Whoever has Adult alone gets its page, and is told what is missing."""
    text = page(made_up_measurements(data_sets), made_up_claims(data_sets), {})
    words = words_of(check(text))
    if "florida" not in data_sets:
        assert "Not measured in this run" in words
    assert ("Florida and Michigan here are" in words) is bool({"florida", "michigan"} & set(data_sets))


@pytest.mark.parametrize(
    ("ks", "epsilons", "confidences"),
    [
        ((2, 5, 20, 100), (0.05, 1, 8, 16), ("0.7", "0.99", "0.99999")),
        ((2,), (1,), ("0.9",)),
        ((3, 7), (0.3, 30), ("0.99",)),
    ],
    ids=["quick", "one cell", "not the paper's"],
)
def test_any_grid_makes_a_page(ks, epsilons, confidences):
    """A quick run with few k and ε makes a page as well as the paper's grid."""
    found = made_up_measurements()
    for name in found:
        if name.startswith("releases"):
            _, data_set, algorithm = name.split("-")
            found[name] = releases(data_set, algorithm, ks=ks, epsilons=epsilons, confidences=confidences, runs=3)
    check(page(found, made_up_claims(), {}))


def test_the_headline_counts_the_claims_that_held(whole):
    """The first sentence is the result, and is counted by data set."""
    heading = re.search("<h1>(.*?)</h1>", whole).group(1)
    n_failed = {name: len([one for one in FAILS if one[1] == name]) for name in ("adult", "florida", "michigan")}
    assert f"{18 - n_failed['adult']} of 18 held on Adult" in heading
    assert f"{19 - n_failed['florida']} of 19 on Florida" in heading
    assert f"{19 - n_failed['michigan']} of 19 on Michigan" in heading


def test_what_did_not_hold_always_says_why(whole):
    """Beside its mark, its bound and what was measured; not only in a table elsewhere."""
    words = words_of(check(whole))
    for entry in made_up_claims()["claims"]:
        assert entry["sentence"] in words
        assert entry["measured"] in words
        if not entry["held"]:
            assert entry["why"] in words
            block = re.search(rf'<details class="claim" id="claim-{entry["id"]}" open>.*?</details>', whole, re.DOTALL)
            assert "✗ not held" in block.group()
            assert "spread of the class ranges" in block.group()


def test_a_claim_without_a_reason_is_seen_to_have_none():
    """A reason that is owed is not passed over in silence."""
    claims = made_up_claims()
    claims["claims"][2]["why"] = None
    assert "No reason was recorded." in page(made_up_measurements(), claims, {})


def test_every_mark_says_held_or_not_in_words(whole):
    """Colour alone tells nothing to some readers, and nothing on paper."""
    marks = re.findall(r'<span class="mark ([a-z-]+)">([^<]+)<', whole)
    said = {"held": {"✓ held"}, "not-held": {"✗ not held"}, "not-judged": {"– not judged"}}
    assert {look for look, _ in marks} == {"held", "not-held", "not-judged"}
    for look, words in marks:
        assert words in said[look]


def test_each_line_of_the_paper_stands_beside_what_was_measured(whole):
    """Every sentence of the paper has its verdicts next to it, one per data set."""
    by_id = {claim.id: claim for claim in claims_of(made_up_claims())}
    sections = dict(re.findall(r'<section id="([a-z-]+)">(.*?)</section>', whole, re.DOTALL))
    for figure in paper_figures(made_up_measurements()):
        lines = re.findall(r'<div class="line">(.*?)</div>\s*</div>', sections[figure.id], re.DOTALL)
        assert len(lines) == len(figure.says)
        for line, said in zip(lines, figure.says, strict=True):
            judged = sum(len(by_id[one].judgements) for one in said.claims)
            assert line.count('class="mark') == max(judged + bool(said.seen), 1)


def test_stand_ins_are_marked_wherever_they_are_named(whole):
    """The two places that speak of both, and of the paper's own lists, say so in words."""
    text = re.sub(r"<(style|title)>.*?</\1>", "", whole, flags=re.DOTALL)
    text = text.replace('<span class="whole">(stand-in)</span>', "(stand-in)").replace("\N{NO-BREAK SPACE}", " ")
    own_words = [said.words for figure in paper_figures(made_up_measurements()) for said in figure.says]
    for words in (
        *own_words,
        *SENTENCES.values(),
        "Florida and Michigan here are",
        "Florida and Michigan are stand-ins",
    ):
        text = text.replace(words.replace("'", "&#39;"), "")
    for name in ("Florida", "Michigan"):
        assert re.findall(rf"{name}(?! \(stand-in\))", text) == []
        assert f"{name} (stand-in)" in text


HOSTILE = "<img src=x onerror=alert(1)> & </svg>"


def test_titles_are_escaped():
    """Titles and reasons come from files, which somebody may have edited."""
    measurements, claims = made_up_measurements(), made_up_claims()
    for name, one in measurements.items():
        if "adult" in name:
            one["title"] = HOSTILE
    for entry in claims["claims"]:
        if entry["data_set"] == "adult":
            entry |= {"title": HOSTILE, "sentence": HOSTILE, "measured": HOSTILE, "bound": HOSTILE}
            entry |= {"why": HOSTILE, "held": False, "experiment": [{"words": HOSTILE, "value": 1.5, "unit": HOSTILE}]}
    run = {"versions": {"python": HOSTILE, HOSTILE: 1}, "seconds": {HOSTILE: 1.0}}
    text = page(measurements, claims, run)
    parsed = check(text, said=[HOSTILE])
    assert "img" not in parsed.seen
    assert "<img" not in text
    written = dict(figure_files(paper_figures(measurements)))
    assert all("<img" not in content for name, content in written.items() if name.endswith("svg"))


def test_numbers_stay_with_their_signs():
    """A percent sign alone on the next line is misread."""
    assert glued("5 % at k = 2 on <Florida (stand-in)>") == (
        '5\N{NO-BREAK SPACE}% at k\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}2 on &lt;Florida <span class="whole">(stand-in)</span>&gt;'
    )


@pytest.mark.parametrize("which", [0, 1], ids=["light", "dark"])
def test_marks_and_links_can_be_told_from_the_ground(which):
    """4.5 to 1, what WCAG asks for words."""
    css = files("kepsilon.pages").joinpath("templates/page.css").read_text(encoding="utf-8")
    own = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", css.splitlines()[which]))
    ground = dict(re.findall(r"--(\w+):(#[0-9a-f]{6})", STYLE.split("@media")[which]))["ground"]
    for name in ("accent", "alarm", "held"):
        assert contrast(own[name], ground) >= 4.5
        assert contrast(own[name], own["soft"]) >= 4.5


def test_the_run_is_told(whole):
    """Versions, seed and times belong to the result."""
    words = words_of(check(whole))
    for told in (
        "python 3.11.9",
        "numpy 2.0.1",
        "seed 1",
        "runs per cell 30",
        "releases-adult-ola 1.5",
        "wall time 5 min 12 s",
    ):
        assert told in words


def test_a_claim_of_two_parts_holds_where_both_do():
    """One half that fails is enough for the claim to fail, on that data set alone."""
    claims = made_up_claims()
    entries = [entry for entry in claims["claims"] if entry["id"] == 2 and entry["data_set"] == "adult"]
    claims["claims"].append({**entries[0], "held": False, "why": "The second half does not hold."})
    found = {claim.id: claim for claim in claims_of(claims)}
    assert found[2].held_on("adult") is False
    assert found[2].held_on("florida") is True
    assert found[7].held_on("adult") is None
    score = scores([*found.values()])[0]
    assert (score.n_held, score.n_judged) == (15, 18)


def test_a_claim_that_was_not_judged_does_not_count():
    """Neither as held nor as failed."""
    claims = made_up_claims(("adult",))
    for entry in claims["claims"]:
        if entry["id"] in (2, 4):
            entry["held"] = None
    score = scores(claims_of(claims))[0]
    assert (score.n_held, score.n_judged) == (14, 16)
    assert "– not judged" in page({}, claims, {})


def test_everything_is_written_and_nothing_is_left_over(tmp_path):
    """Writing twice gives the same files, byte for byte."""
    write_pages(tmp_path, made_up_measurements(), made_up_claims(), made_up_run())
    first = {path.relative_to(tmp_path).as_posix(): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert set(first) == {"index.html", *ALL_FILES}
    write_pages(tmp_path, made_up_measurements(), made_up_claims(), made_up_run())
    again = {path.relative_to(tmp_path).as_posix(): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert again == first


def test_a_figure_that_is_no_longer_measured_leaves_no_file_behind(tmp_path):
    """A file of an earlier run beside a page that does not speak of it would be taken for this run's."""
    write_pages(tmp_path, made_up_measurements(), made_up_claims(), {})
    partial = {name: one for name, one in made_up_measurements().items() if not name.startswith("times")}
    write_pages(tmp_path, partial, made_up_claims(), {})
    assert not list((tmp_path / "figures").glob("times-*"))


def test_the_page_opens_with_what_held_where(whole):
    """Before any figure: claims by where they held, and a sign for each."""
    start = whole.index('<section id="marks">')
    assert start < whole.index("<svg")
    section = whole[start : whole.index("</section>", start)]
    said = dict(re.findall(r"<li><strong>(.*?)</strong>: (.*?) \(", section))
    numbers = {name: [int(one) for one in re.findall(r">(\d+)</a>", links)] for name, links in said.items()}
    assert numbers["Held on none"] == [20]
    assert numbers["Failed on stand-ins only"] == [1, 3, 9, 15]
    assert numbers["Failed on Adult, and held elsewhere"] == [14]
    assert numbers["Failed on Adult and on a stand-in, and held on the other"] == [16]
    assert sorted(number for found in numbers.values() for number in found) == [*SENTENCES]
    signs = re.findall(r'<span class="sign ([a-z-]+)">(.)</span>', section)
    assert {("held", "✓"), ("not-held", "✗")} == set(signs)
    assert "✓ held, ✗ not held" in section


def test_a_claim_about_stand_ins_alone_can_fail_on_these_only():
    """It says nothing about Adult, and so cannot fail there."""
    claims = made_up_claims()
    for entry in claims["claims"]:
        if entry["id"] == 7:
            entry["held"] = False
    assert 7 in [claim.id for claim in dict(in_short(claims_of(claims)))["Failed on stand-ins only"]]


def test_parts_of_a_claim_have_marks_of_their_own():
    """The page tells which half of a claim held."""
    claims = made_up_claims()
    entry = next(one for one in claims["claims"] if (one["id"], one["data_set"]) == (16, "adult"))
    entry["measured"] = "OLA: 8 times as long; Mondrian: 5 times"
    entry["parts"] = [{"words": "OLA: at least 14 times", "held": False}, {"words": "Mondrian: slower", "held": True}]
    text = page(made_up_measurements(), claims, {})
    block = re.search(r'<details class="claim" id="claim-16".*?</details>', text, re.DOTALL).group()
    assert '<li><span class="mark held">✓ held</span> Mondrian: slower</li>' in block
    assert '<li><span class="mark not-held">✗ not held</span> OLA: at least 14 times</li>' in block
    sections = dict(re.findall(r'<section id="([a-z-]+)">(.*?)</section>', text, re.DOTALL))
    assert "5 times" in sections["times-mondrian"]
    assert "8 times as long" not in sections["times-mondrian"]
    assert '<span class="mark held">✓ held</span> <strong>Adult</strong>' in sections["times-mondrian"]
    assert "5 times" not in sections["times-ola"]


def test_what_was_tried_for_several_k_is_a_table():
    """Figures by k are compared in a table, and the rest stays in words."""
    claims = made_up_claims(("adult",))
    entry = next(one for one in claims["claims"] if not one["held"])
    entry["experiment"] = [
        {"words": f"error with half the records, k = {k}", "value": k / 100, "unit": "share"} for k in (2, 5)
    ] + [{"words": "slope, at -0.5", "value": 3, "unit": "times"}]
    (found,) = [one for claim in claims_of(claims) for one in claim.failed if claim.id == entry["id"]]
    assert found.experiment.table.headers == ["k", "error with half the records"]
    assert [[*row] for row in found.experiment.table.rows] == [
        ["2", "2.00\N{NO-BREAK SPACE}%"],
        ["5", "5.00\N{NO-BREAK SPACE}%"],
    ]
    assert found.experiment.lines == ["slope, at \N{MINUS SIGN}0.5: 3.00\N{NO-BREAK SPACE}times"]


def test_hierarchies_have_as_many_levels_as_the_lattices(whole):
    """Adult's lattice has 60 nodes and Florida's 120; with the extra attribute eight times as many."""
    levels = {row[0]: int(row[2]) for row in hierarchies().rows}
    adult = levels["birth year"] * levels["gender"] * levels["race"] * levels["marital status"]
    florida = levels["ZIP code"] * levels["gender"] * levels["birth year"] * levels["race"]
    assert (adult, florida) == (60, 120)
    assert levels["height, weight as one more k-quasi"] == 8
    words = words_of(check(whole))
    assert "ours; the paper's is not shown" in words
    assert " zip" not in words


def test_a_difference_in_units_is_said_once():
    """Centimetres here and kilograms there are one variant, not two."""
    assert (
        one_of(["widened to multiples of 5 cm", "widened to multiples of 5 kg"])
        == "widened to multiples of 5 cm or 5 kg"
    )
    assert one_of(["bounds, 1 to 2 cm", "bounds, 3 to 4 kg"]) == "bounds, 1 to 2 cm or 3 to 4 kg"
    assert one_of(["the same"]) == "the same"
