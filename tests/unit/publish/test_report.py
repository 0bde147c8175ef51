# SPDX-License-Identifier: Apache-2.0
"""The pages: self-contained, complete, true for whatever is missing, and silent about fewer than k records."""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
import tomllib
from importlib import resources

import numpy as np
import pyarrow as pa
import pytest

import kepsilon
from kepsilon.publish.figures import grid as grid_figures
from kepsilon.publish.report import explore_page, release_page
from kepsilon.publish.wording import out_of, percent
from oracles.noise import SEED
from page_checks import check_page, drawings
from report_material import K, made_up_grid, made_up_pictures, made_up_record

HOSTILE = ["<img src=x onerror=alert(1)>", '"><script>alert(1)</script>', "{{ 7 * 7 }}", "身長 'ε' & Größe", "w" * 300]


def words_of(page):
    return re.sub(r"\s+", " ", " ".join(check_page(page).words))


def full_page(**changes):
    return release_page(made_up_record(**changes), made_up_pictures().as_json())


def test_a_release_page_shows_everything_asked_for():
    """Promise, levels, distributions, class sizes, errors, risk, suppression: each with its picture and its table."""
    page = full_page()
    words = words_of(page)
    for title in (
        *("What is promised", "Generalised attributes", "height", "Class sizes", "Error of height"),
        *("Linking by known values", "Finding somebody by generalised attributes", "Released and left out"),
        *("Attribute by attribute", "How it was made"),
    ):
        assert title in words
    assert len(drawings(page)) == page.count("<figure>") == page.count("<details>") == 7
    assert "For the curator only: do not publish" in words
    assert "attacker who knows everybody's true height links 2.3 in 100 published records" in words
    assert "± 0.1 %, estimated by simulation" in words


def test_a_page_is_for_light_dark_and_paper():
    page = full_page()
    assert page.count("@media screen and (prefers-color-scheme: dark)") == 2
    printed = page[page.index("@media print") :]
    assert "details::details-content { content-visibility: visible" in printed
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in page


@pytest.mark.parametrize("names", [("height",), ("height", "weight", "income")], ids=["one", "three"])
@pytest.mark.parametrize("levels", [(0, 2), (None, None), ()], ids=["ola", "mondrian", "no k-quasi"])
def test_every_kind_of_release_has_a_page(names, levels):
    record = made_up_record(names=names, k_quasis=[f"place {i}" for i in range(len(levels))])
    if None in levels:
        del record["levels"]
    pictures = made_up_pictures(names=names, levels=levels)
    page = release_page(record, json.loads(json.dumps(pictures.as_json())))
    check_page(page)
    assert ("Generalised attributes" in page) is bool(levels)
    assert ("Detail lost by attribute" in page) is (None in levels)
    for name in names:
        assert f"Error of {name}" in page


def test_a_release_without_noise_has_a_page():
    record = made_up_record(names=())
    del record["linking_risk"]
    record["error"] = {}
    page = release_page(record, made_up_pictures(names=()).as_json())
    check_page(page)
    assert "Linking by known values" not in page


def paths_of(record, path=()):
    for key, value in record.items():
        yield (*path, key)
        if isinstance(value, dict):
            yield from paths_of(value, (*path, key))


NEEDED = {
    ("guarantee",),
    ("guarantee", "k"),
    ("guarantee", "epsilon"),
    ("records",),
    ("records", "read"),
    ("records", "released"),
}


@pytest.mark.parametrize("path", [p for p in paths_of(made_up_record()) if p not in NEEDED], ids=".".join)
@pytest.mark.parametrize("how", ["absent", "None"])
def test_any_figure_may_be_absent_or_undefined(path, how):
    """Records of other versions, undefined figures: the page leaves out what it does not know."""
    record = copy.deepcopy(made_up_record())
    part = record
    for key in path[:-1]:
        part = part[key]
    if how == "absent":
        del part[path[-1]]
    else:
        part[path[-1]] = None
    page = release_page(record, made_up_pictures().as_json())
    check_page(page)
    assert "None" not in page
    assert ">nan" not in page


def test_without_pictures_the_record_alone_makes_a_page():
    check_page(release_page(made_up_record(), None))


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_are_only_ever_words(name):
    """In every place where an attribute's name is written, on both pages."""
    record = made_up_record(names=(name,), k_quasis=(name + "2",))
    pictures = made_up_pictures(names=(name,), levels=(1,)).as_json()
    pictures["k_quasis"][0]["name"] = name + "2"
    for page in (release_page(record, pictures), explore_page(made_up_grid(names=(name,)))):
        assert name in "".join(check_page(page, said=[name, name[:12]]).words)


def test_a_seeded_release_warns_first():
    """Before any figure, and in words that nobody can take for praise."""
    words = words_of(full_page(seeded=True))
    assert words.index("Warning.") < words.index("What is promised")
    assert "Whoever knows or guesses the seed can take the noise away" in words
    assert "Warning." not in words_of(full_page())


def test_constant_classes_are_warned_of():
    assert "In 3 classes all records agree on height" in words_of(full_page(constant_classes={"height": 3}))


@pytest.mark.parametrize("few", range(1, K))
def test_fewer_than_k_left_out_are_not_counted_out(few):
    """Alone they are fewer than k; beside others they are joined with them, so that no subtraction tells them."""
    nothing = dict.fromkeys(
        ("suppressed_by_k", "suppressed_by_confidence", "suppressed_missing", "suppressed_unlisted"), 0
    )
    alone = made_up_record(records={"read": 2000, "released": 2000 - few, **nothing, "suppressed_missing": few})
    words = words_of(release_page(alone, None))
    assert "all but fewer than 10 of 2,000" in words
    assert f"{2000 - few:,}" not in words
    others = {**nothing, "suppressed_by_k": 80, "suppressed_missing": few}
    beside = made_up_record(records={"read": 2000, "released": 1920 - few, **others})
    table = re.search(r"Released and left out.*?</figure>", release_page(beside, None), flags=re.DOTALL).group()
    cells = re.findall(r"<td>([\d,]+)</td>", table)
    assert cells == ["2,000", f"{1920 - few:,}", f"{80 + few}"]


def test_shares_that_stand_for_fewer_than_k_records_are_not_written():
    """1 in 1,000 of 1,850 records is two people."""
    page = full_page(linking_risk={**made_up_record()["linking_risk"], "standard_error": 0.0})
    assert "<td>fewer than 10 records</td>" in page
    assert f"<td>{percent(0.001)}</td>" not in re.search(r"Linking by known.*?</figure>", page, flags=re.DOTALL).group()


def test_confident_suppression_below_k_is_not_counted_out():
    """Four of 1,854 went, and the share would tell it."""
    records = {**made_up_record()["records"], "suppressed_by_confidence": 4, "released": 1876}
    confident = {**made_up_record()["confident_k"], "realised": 4 / 1880}
    words = words_of(full_page(records=records, confident_k=confident))
    assert "fewer than 10 records went" in words
    assert percent(4 / 1880).replace("\N{NO-BREAK SPACE}", " ") not in words


def test_a_large_sample_does_not_tell_how_many_values_are_zero():
    pictures = made_up_pictures().as_json()
    pictures["errors"][0].update(n_sampled=100_000, n_records=9_876_543, n_zeros=3)
    words = words_of(release_page(made_up_record(), pictures))
    assert "Drawn from 100,000 of about 9,900,000 records" in words
    assert "fewer than 10 records are not in the curves" in words


def test_clipped_values_and_zeros_below_k_are_not_counted_out():
    words = words_of(full_page(clipped={"height": 7}))
    assert "fewer than 10 values outside the bounds were clipped" in words


def test_rare_values_are_nowhere_on_the_page():
    """Four people stand out by far; neither their values nor cells with them alone can be read off."""
    rng = np.random.default_rng(SEED)
    values = rng.normal(170, 8, 600).round(1)
    values[[5, 105, 205, 305]] = 271.3, 31.7, 231.9, 61.9
    page = release_page(made_up_record(), made_up_pictures(values=values[:, None]).as_json())
    words = words_of(page)
    for rare in ("271.3", "31.7", "231.9", "61.9"):
        assert rare not in words
    table = re.search(r"<h3>height</h3>.*?</figure>", page, flags=re.DOTALL).group()
    counts = [int(cell.replace(",", "")) for cell in re.findall(r"<td>([\d,]+)</td>", table)]
    assert len(counts) > 10
    assert min(counts) >= K


def test_a_real_release_has_a_page():
    """The record as `anonymise` writes it today."""
    frame = pa.table({name: pa.array(column) for name, column in kepsilon.made_up_patients(3000).items()})
    policy = kepsilon.Policy.from_dict(tomllib.loads(kepsilon.DEMO_POLICY))
    check_page(release_page(kepsilon.anonymise(frame, policy).record, None))


def test_the_explore_page_tells_the_choice_first():
    grid = made_up_grid()
    chosen = grid["cells"][grid["chosen"]]
    words = words_of(explore_page(grid))
    told = f"k = {chosen['k']}, ε = {chosen['epsilon']}, {chosen['algorithm']}"
    assert words.index(told) < words.index("Every choice")
    assert words.index("linking risk at most 5 %") < words.index("Every choice")
    assert "For the curator only: do not publish" in words


def test_the_explore_page_has_a_line_for_every_cell():
    """Front, choice, limits and refusals are told in words, not by colour alone."""
    grid = made_up_grid()
    page = explore_page(grid)
    check_page(page)
    body = page[page.index('class="choices"') :]
    lines = re.findall(r"<tr.*?</tr>", body, flags=re.DOTALL)[1:]
    assert len(lines) == len(grid["cells"]) == 84
    for line, cell in zip(lines, grid["cells"], strict=True):
        assert ("refused" in line) is bool(cell["refused"])
        if not cell["refused"]:
            assert ("front" in line) is cell["pareto"]
            assert ("outside limits" in line) is not cell["within_limits"]
    assert sum(">chosen" in line for line in lines) == 1
    assert "in &lt;b&gt;every&lt;/b&gt; hierarchy" in body


def test_the_explore_page_does_not_count_out_fewer_than_k_left_out():
    """Three of 32,440 records, and k is 5 or more."""
    page = explore_page(without(made_up_grid(confidence=None), suppressed_by_k=3 / 32440, suppression=3 / 32440))
    lines = re.findall(r"<tr.*?</tr>", page[page.index('class="choices"') :], flags=re.DOTALL)[1:]
    assert sum(f"<td>{percent(3 / 32440)}</td>" in line for line in lines) == 14  # k = 2: three are enough
    assert sum("<td>fewer than 100 records</td>" in line for line in lines) == 13


def test_four_hundred_cells_stay_under_the_limit():
    ks = (2, 3, 4, 5, 7, 10, 15, 20, 30, 40, 50, 70, 100, 150, 200, 300, 400, 500, 700, 1000)
    grid = made_up_grid(ks=ks, epsilons=(0.05, 0.1, 0.5, 1, 2, 3, 4, 8, 16, 32), names=("height", "weight", "income"))
    assert len(grid["cells"]) == 400
    check_page(explore_page(grid))


def without(grid, **changes):
    return {**grid, "cells": [{**cell, **({} if cell["refused"] else changes)} for cell in grid["cells"]]}


@pytest.mark.parametrize(
    "grid",
    [
        {**made_up_grid(), "chosen": None, "why": "No cell keeps max_risk."},
        {**made_up_grid(), "limits": {}, "why": None},
        made_up_grid(confidence=None),
        without(made_up_grid(), linking_risk=None, distortion=None),
        without(made_up_grid(names=()), linking_risk=None),
        without(made_up_grid(), linking_risk_standard_error=0.001),
        made_up_grid(ks=(5,), epsilons=(1, 2), algorithms=("ola",)),
        made_up_grid(ks=(5, 10), epsilons=(1,), algorithms=("mondrian",)),
        made_up_grid(ks=(5,), epsilons=(1,), algorithms=("ola",)),
    ],
    ids=[
        "nothing chosen",
        "no limits",
        "no confidence",
        "no risk",
        "no noise",
        "simulated",
        "one k",
        "one ε",
        "refused",
    ],
)
def test_every_kind_of_grid_has_a_page(grid):
    page = explore_page(grid)
    check_page(page)
    assert ">None<" not in page
    if grid["chosen"] is None:
        assert "No choice keeps the limits" in page


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0.0234, "2.3 in 100"),
        (0.5, "50 in 100"),
        (0.1, "10 in 100"),
        (0.0996, "10 in 100"),
        (0.01, "1 in 100"),
        (0.0021, "2.1 in 1,000"),
        (0.00003, "3 in 100,000"),
        (1e-9, "fewer than 1 in 1,000,000"),
        (0.0, "none"),
        (1.0, "100 in 100"),
    ],
)
def test_shares_are_told_as_so_many_in_so_many(share, words):
    assert out_of(share) == words


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (None, "–"),
        (0.0, "0 %"),
        (1.0, "100 %"),
        (0.99999, "99.99 %"),
        (0.957, "95.7 %"),
        (0.05, "5 %"),
        (0.0041, "0.41 %"),
        (1e-7, "under 0.001 %"),
        (12.5, "1,250 %"),
    ],
)
def test_percentages_never_round_to_none_or_all(share, words):
    assert percent(share) == words.replace(" %", "\N{NO-BREAK SPACE}%")


def test_templates_are_loaded_only_when_a_page_is_made():
    """`--help` must stay fast, and a release without a report needs no templates."""
    code = "import sys, kepsilon.publish.report; sys.exit('jinja2' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_templates_are_in_the_package():
    names = {entry.name for entry in (resources.files("kepsilon.publish") / "templates").iterdir()}
    assert names >= {"page.html", "page.css", "parts.html", "release.html", "explore.html"}


def test_the_line_joins_what_nothing_beats_in_both():
    """A cell that leaves out fewer is on the front of three aims, but not on the line of two."""
    found = grid_figures._unbeaten(
        [{"distortion": d, "linking_risk": r} for d, r in ((0.1, 0.5), (0.2, 0.6), (0.3, 0.2), (0.3, 0.1), (0.4, 0.1))]
    )
    assert [(cell["distortion"], cell["linking_risk"]) for cell in found] == [(0.1, 0.5), (0.3, 0.1)]
