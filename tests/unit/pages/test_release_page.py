# SPDX-License-Identifier: Apache-2.0
"""The release report: self-contained, complete, true for whatever is missing, and silent about rare values."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from importlib import resources
from types import NoneType
from typing import get_args, get_type_hints

import numpy as np
import pyarrow as pa
import pytest

import kepsilon
from kepsilon.evaluate.pictures import ClassSizePicture
from kepsilon.json_values import FrozenMapping
from kepsilon.pages.render import release_page
from kepsilon.pages.wording import out_of, percent
from kepsilon.predict.prediction import SmallNoise
from kepsilon.publish.policy_document import PolicyDocument
from material.made_up_results import (
    K,
    fates,
    made_up_error,
    made_up_kept_column,
    made_up_outliers,
    made_up_pictures,
    made_up_record,
    made_up_suppression,
)
from material.page_checks import check_page, drawings
from oracles.noise import SEED


def words_of(page):
    return re.sub(r"\s+", " ", " ".join(check_page(page).words))


def full_page(**changes):
    return release_page(made_up_record(**changes), made_up_pictures())


def test_a_release_page_shows_everything_asked_for():
    """Promise, levels, distributions, class sizes, errors, risk, suppression: each with its picture and its table."""
    page = full_page()
    words = words_of(page)
    for title in (
        *(
            "What is promised",
            "Generalised attributes",
            "Labels of place 0",
            "height",
            "Class sizes",
            "Error of height",
        ),
        *("What analyses survive", "Statistics of height", "Single risks", "What is not covered"),
        *("Who could link how many records", "What kept columns give away"),
        *("Linking by known values", "Finding somebody by generalised attributes", "Released and left out"),
        *("Attribute by attribute", "How it was made"),
    ):
        assert title in words
    assert page.count("<figure>") == page.count("<details>") == 14
    n_small = page.count('<div class="small">')
    assert n_small == 3, "two generalised attributes, and one with noise"
    assert len(drawings(page)) == 14 + n_small
    assert "For the curator only: do not publish" in words
    assert "attacker who knows everybody's true height links 2.3 in 100 records to the right person" in words
    assert "± 0.1 %, estimated by simulation), without the help of kept columns" in words
    assert (
        "linked to the right person, on average, by whoever knows place 0, place 1 and height, and takes the nearest original"
        in words
    )


def test_a_page_is_for_light_dark_and_paper():
    """Printed pages have their folded parts open."""
    page = full_page()
    assert page.count("@media screen and (prefers-color-scheme: dark)") == 2
    printed = page[page.index("@media print") :]
    assert "details::details-content { content-visibility: visible" in printed
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in page


@pytest.mark.parametrize("names", [("height",), ("height", "weight", "income")], ids=["one", "three"])
@pytest.mark.parametrize("levels", [(0, 2), (None, None), ()], ids=["ola", "mondrian", "no k-quasi"])
def test_every_kind_of_release_has_a_page(names, levels):
    """By number of ε-quasis, and by levels known or not."""
    record = made_up_record(names=names, k_quasis=[f"place {i}" for i in range(len(levels))])
    if None in levels:
        record = replace(record, levels=None)
    page = release_page(record, made_up_pictures(names=names, levels=levels))
    check_page(page)
    assert ("Generalised attributes" in page) is bool(levels)
    assert ("Detail lost by attribute" in page) is (None in levels)
    for name in names:
        assert f"Error of {name}" in page


def test_a_release_without_noise_has_a_page():
    """It has nothing to say of noise, and says nothing."""
    page = release_page(made_up_record(names=()), made_up_pictures(names=()))
    check_page(page)
    assert "What got noise" not in page
    assert "Linking risk against ε" not in page


def test_without_noise_the_attacker_knows_the_generalised_attributes():
    """Then there is no true value to link by, and the page must not speak of one."""
    pictures = replace(made_up_pictures(names=()), risk_by_epsilon=())
    words = words_of(release_page(made_up_record(names=(), confident_k=None), pictures))
    assert "an attacker who knows everybody's generalised attributes links 2.3 in 100 records" in words
    assert "everybody's true" not in words


@pytest.mark.parametrize(
    ("levels", "said"),
    [
        ((0, 0), "None of them had to be made coarser: place 0 and place 1 are published as they are."),
        ((0, 2), "place 0 is published as it is; the others were replaced by coarser labels"),
        ((1, 2), "Each of them was replaced by a coarser label"),
    ],
)
def test_a_column_published_exactly_is_not_called_generalised(levels, said):
    """Level 0 is the value itself, which the curator has to know."""
    record = made_up_record(levels={f"place {i}": level for i, level in enumerate(levels)})
    words = words_of(release_page(record, made_up_pictures(levels=levels)))
    assert said in words
    assert words.count("published as it is (level 0 of 4)") == levels.count(0)
    assert "generalised to level 0" not in words


def test_mondrians_labels_do_not_read_as_refining():
    """Labels of classes overlap: 508 of them for 78 values is no finer."""
    pictures = made_up_pictures(levels=(None,))
    quasi = replace(pictures.k_quasis[0], n_values_before=78, n_labels_after=508)
    pictures = replace(pictures, k_quasis=(quasi,))
    words = words_of(release_page(made_up_record(k_quasis=("place 0",), levels=None), pictures))
    assert "508 different labels" in words
    assert "78 →" not in words
    assert "values before" not in words


def test_an_error_of_too_few_records_is_said_not_to_be_given():
    """A mean over fewer than k records would tell their values; that it is missing is said once."""
    error = made_up_error(expected=None, realised=None)
    said = f"The mean error of height is not given: fewer than {K} records have a relative error."
    for pictures in (made_up_pictures(), None):
        words = words_of(release_page(made_up_record(error={"height": error}), pictures))
        assert words.count(said) == 1


def table_of_attributes(page):
    return re.search(r'<section id="attributes">.*?</section>', page, flags=re.DOTALL).group()


def test_every_attribute_has_a_line_of_its_own():
    """An average over attributes would hide that one column is gone and three are untouched."""
    names = ("height", "weight", "income", "age")
    table = table_of_attributes(release_page(made_up_record(names=names), made_up_pictures(names=names)))
    for name in ("name", "place 0", "place 1", *names, "diagnosis"):
        assert table.count(f'<th scope="row" class="w">{name}<') == 1
    assert table.count("<tr") == 1 + 8
    assert table.count('class="small"') == 6


def test_bars_of_class_sizes_tell_records_and_classes():
    """With the singular where there is one class."""
    sizes = (ClassSizePicture(smallest=10, largest=19, n_classes=1, n_records=12),)
    assert "12 in 1 class" in words_of(release_page(made_up_record(), replace(made_up_pictures(), class_sizes=sizes)))


def may_be_missing(value, path=()):
    """Paths of everything that its type allows to be None or empty."""
    if isinstance(value, Mapping) and not is_dataclass(value):
        for name, own in value.items():
            yield from may_be_missing(own, (*path, name))
    elif is_dataclass(value):
        types = get_type_hints(type(value))
        for part in fields(value):
            own = getattr(value, part.name)
            if NoneType in get_args(types[part.name]) or (isinstance(own, Mapping) and part.name not in NEEDED):
                yield (*path, part.name)
            yield from may_be_missing(own, (*path, part.name))


NEEDED = ("policy", "document", "ranges", "error")
"""Mappings that name every ε-quasi, or every attribute."""


def without(value, path):
    """The value with None, or nothing by attribute, at the end of the path."""
    first, *rest = path
    if not rest:
        return replace(value, **{first: None if NoneType in get_args(get_type_hints(type(value))[first]) else {}})
    if isinstance(value, FrozenMapping):
        return FrozenMapping({**value, first: without(value[first], rest)})
    return replace(value, **{first: without(getattr(value, first), rest)})


@pytest.mark.parametrize("path", [*may_be_missing(made_up_record())], ids=".".join)
def test_any_figure_may_be_undefined(path):
    """The page leaves out what it does not know."""
    page = release_page(without(made_up_record(), path), made_up_pictures())
    check_page(page)
    assert "None" not in page
    assert ">nan" not in page


def test_without_pictures_the_record_alone_makes_a_page():
    """A record read back from its file has no pictures, and `check_page` finds nothing wrong without them."""
    check_page(release_page(made_up_record(), None))


def test_a_seeded_release_warns_first():
    """Before any figure, and in words that nobody can take for praise."""
    words = words_of(full_page(seeded=True))
    assert words.index("1 warning") < words.index("Attribute by attribute")
    assert "the promise is not kept" in words
    assert "Whoever knows or guesses the seed can take the noise away" in words
    assert "No warnings." in words_of(full_page())


def test_constant_classes_are_warned_of():
    """A class whose records agree gets no noise, and so gives its value away."""
    assert "In 3 classes all records agree on height" in words_of(full_page(constant_classes={"height": 3}))


def test_noise_that_rounding_takes_away_is_warned_of():
    """Like constant classes: values are published as they are."""
    small = {"height": SmallNoise(classes=2, records=31, likeliest=0.982)}
    words = words_of(full_page(small_noise=small))
    assert "In 2 classes the noise of height is small beside its precision" in words
    assert "in the worst class 98.2 % of them" in words
    assert "small beside" not in words_of(full_page())


def test_outliers_are_warned_of_with_their_attacker():
    """The size of the noise gives them away, whatever ε is."""
    found = {"height": made_up_outliers(recoverable=2, likeliest=0.98)}
    words = words_of(full_page(outliers=found))
    assert "In 2 classes one record's height stands out" in words
    assert "to an attacker who knows all other records of the class and which published values are theirs" in words
    assert "at most 98 %" in words
    quiet = words_of(full_page())
    assert "one record's height stands out" not in quiet
    assert "in no class with a chance of one half or more" in quiet, "the figure is there even so"
    assert "Extreme values" not in words_of(full_page(outliers={})), "declared bounds show nothing"


def left_out_card(page):
    return re.search(r"<h3>Released and left out</h3>.*?</figure>", page, flags=re.DOTALL).group()


def rows_of(card):
    lines = re.findall(r"<tr>(.*?)</tr>", card, flags=re.DOTALL)
    return [re.findall(r"<td[^>]*>([^<]*)</td>", line) for line in lines[1:]]


@pytest.mark.parametrize("few", range(1, K))
def test_records_left_out_are_counted_out_by_cause(few):
    """The curator's record has the counts, and sums on the page would tell them anyway; no cause is joined with another."""
    counts = {"suppressed_by_k": 80, "suppressed_by_confidence": 0, "suppressed_missing": few, "suppressed_unlisted": 0}
    card = left_out_card(release_page(made_up_record(records=fates(read=2000, released=1920 - few, **counts)), None))
    told = {row[0]: row[1] for row in rows_of(card)}
    assert told["left out to reach k"] == "80"
    assert told["a value that needs noise is missing"] == f"{few}"
    assert told["released"] == f"{1920 - few:,}"
    assert "fewer than" not in card


@pytest.mark.parametrize(("few", "n_segments"), [(1, 2), (K - 1, 2), (K, 3)])
def test_a_segment_of_fewer_than_k_records_is_not_drawn(few, n_segments):
    """One for the released, one for k; each has a sample in the legend. Shares stay shares of all that were read."""
    counts = {"suppressed_by_k": 80, "suppressed_by_confidence": 0, "suppressed_missing": few, "suppressed_unlisted": 0}
    page = release_page(made_up_record(records=fates(read=2000, released=1920 - few, **counts)), None)
    chart = drawings(left_out_card(page))[0]
    assert chart.count("<rect") == 2 * n_segments
    assert f">{percent(80 / 2000)}<" in chart


def test_every_share_left_out_says_of_which_records():
    """100 read, 50 of them missing a value, 5 left out for k, 9 of the other 45 for confidence: 14 of 50 is not 14 of 100."""
    counts = {"suppressed_by_k": 5, "suppressed_by_confidence": 9, "suppressed_missing": 50, "suppressed_unlisted": 0}
    confident = made_up_suppression(expected=0.22, realised=9 / 45, total_expected=0.3, total_realised=14 / 50)
    page = release_page(
        made_up_record(records=fates(read=100, released=36, **counts), confident_k=confident, k=5), None
    )
    bases = {row[0]: row[1:] for row in rows_of(left_out_card(page))}
    counted = "the 50 with no value missing or unlisted"
    assert bases["released"] == ["36", percent(0.36), "those read"]
    assert bases["left out to hold k with confidence"] == ["9", percent(0.09), "those read"]
    assert bases["left out for confidence, as drawn"][1:] == [percent(0.2), "those that got noise"]
    assert bases["left out for k and confidence, as drawn"][1:] == [percent(0.28), counted]
    assert bases["left out for k and confidence, expected"][1:] == [percent(0.3), counted]
    words = words_of(page)
    assert f"At most 5 % of {counted} could be left out to reach k" in words
    assert "22 % of the records that got noise were expected to go, and 20 % went" in words


def test_the_footer_claims_what_the_page_does():
    """A footer that claims to hide counts would be false of the counts that are shown."""
    footer = words_of(full_page())
    assert "How many records were left out is given exactly" in footer
    assert "counts of fewer than k records are not shown" not in footer


def test_one_record_is_singular():
    """A page that says `1 records` looks as if nobody had read it."""
    words = words_of(release_page(made_up_record(records=fates(read=1, released=1), k=2), None))
    assert "1 of 1 record read is released" in words
    assert "1 records" not in words


def test_hidden_cells_are_not_said_to_be_small():
    """One more than the small ones may be hidden, and holds k or more."""
    pictures = made_up_pictures()
    card = re.search(r"<h3>height</h3>.*?</figure>", release_page(made_up_record(), pictures), flags=re.DOTALL).group()
    hidden = sum(n is None for counts in (pictures.values[0].before, pictures.values[0].after) for n in counts)
    assert card.count("<td>not shown</td>") == hidden > 0
    assert (
        f"Cells of fewer than {K} records, and sometimes one more so that they cannot be worked out, are not shown"
        in card
    )
    assert card.count("fewer than") == 1


def test_a_large_sample_does_not_tell_how_many_values_are_zero():
    """A count below k would tell of single records, and so would the exact number of the others."""
    pictures = made_up_pictures()
    error = replace(pictures.errors[0], n_sampled=100_000, n_records=9_876_543, n_zeros=3)
    pictures = replace(pictures, errors=(error,))
    words = words_of(release_page(made_up_record(), pictures))
    assert "Drawn from 100,000 of about 9,900,000 records" in words
    assert "fewer than 10 records are not in the curves" in words


def test_clipped_values_and_zeros_below_k_are_not_counted_out():
    """A count of fewer than k values is not shown."""
    words = words_of(full_page(clipped={"height": 7}))
    assert "fewer than 10 values outside the bounds were clipped" in words


def test_rare_values_are_nowhere_on_the_page():
    """Four people stand out by far; neither their values nor bins with them alone can be read off."""
    rng = np.random.default_rng(SEED)
    values = rng.normal(170, 8, 600).round(1)
    values[[5, 105, 205, 305]] = 271.3, 31.7, 231.9, 61.9
    page = release_page(made_up_record(), made_up_pictures(values=values[:, None]))
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
    """People understand 2.3 in 100 better than 0.023."""
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
    """0 % and 100 % are claims about everybody."""
    assert percent(share) == words.replace(" %", "\N{NO-BREAK SPACE}%")


def test_templates_are_loaded_only_when_a_page_is_made():
    """`--help` must stay fast, and a release without a report needs no templates."""
    code = "import sys, kepsilon.pages.render; sys.exit('jinja2' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_templates_are_in_the_package():
    """An installation without them would fail at the first report."""
    names = {entry.name for entry in (resources.files("kepsilon.pages") / "templates").iterdir()}
    assert names >= {"page.html", "page.css", "parts.html", "release.html", "explore.html"}


def test_attackers_can_be_told_apart_beside_their_bars():
    """Charts shorten long names, so that bars of two attackers must not begin alike."""
    quasis = [f"an attribute with a long name {i}" for i in range(4)]
    record = made_up_record(k_quasis=quasis)
    more = replace(record.attackers[1], name="working out", how="works out what weight must be", column="weight")
    page = release_page(replace(record, attackers=(*record.attackers, more)), made_up_pictures())
    chart = next(one for one in drawings(page) if "each attacker is expected to link" in one)
    names = re.findall(r'class="ink e">(.*?)<', chart)
    assert names == ["guesses in the class", "knows the quasis", "and a kept column", "works out a column"]
    assert not any("…" in name for name in names)


def test_attackers_whom_the_limit_is_about_are_told_from_the_others():
    """A limit of 5 % beside a bar of 90 % would look broken, or kept, to whoever does not know whom it is about."""
    record = made_up_record()
    limited = PolicyDocument(document={**record.policy.document, "max_risk": 0.05})
    page = full_page(policy=limited)
    chart = next(one for one in drawings(page) if "each attacker is expected to link" in one)
    assert "knows only the quasi-identifiers" in chart
    assert "knows other columns" in chart
    words = words_of(page)
    assert "The limit of 5 % is on the largest share of those who need to know nothing but quasi-identifiers" in words
    assert "(grey) know kept columns, or any three attributes, of a person, and no limit holds them." in words


def test_promises_that_are_alike_are_said_once():
    """Of thirty columns the same sentence thirty times is not read."""
    names = ("height", "weight")
    record = made_up_record(names=names)
    lines = [f"{name}, as drawn: any two values are ε-indistinguishable within a class." for name in names]
    lines += [f"{name} is published although it may give people away. The curator's reason: fun" for name in names]
    page = release_page(
        replace(record, guarantee=replace(record.guarantee, statement="\n".join(lines))), made_up_pictures()
    )
    words = words_of(page)
    assert "height and weight, as drawn: any two values" in words
    assert "height and weight are published although they may give people away. The curator's reason: fun" in words
    assert words.count("any two values are") == 1


def test_an_accepted_leak_is_told_with_the_reason_for_it():
    """Whoever reads the report learns what a column gives away, to whom, and why it was published all the same."""
    said = (
        "whoever knows height works out what weight must be, and links 96 % of the records through it (9 % without it)"
    )
    weight = made_up_kept_column(verdict="alarm", share_linked=0.96, reasons=("links",), in_words=(said,))
    record = made_up_record()
    roles = {
        **record.policy.document["attributes"],
        "weight": {"role": "sensitive", "accept_leak": "Weights are public."},
    }
    policy = PolicyDocument(document={**record.policy.document, "attributes": roles})
    kept = {**record.kept_columns, "weight": weight}
    words = words_of(release_page(replace(record, policy=policy, kept_columns=kept), made_up_pictures()))
    assert (
        "Of 2 kept columns, 1 gives people away to an attacker, which the policy accepts; no other was noted." in words
    )
    assert words.count(f"W{said[1:]}.") == 2  # a warning at the top, and the figure
    assert "although it gives people away, which the policy accepts: Weights are public." in words
    assert "weight is published all the same. The curator's reason: Weights are public." in words
    assert "Of 1 kept column, none was found to give people away; none was noted." in words_of(full_page())


def test_single_risks_follow_from_the_sizes_of_classes_where_nothing_is_drawn():
    """One bar for all records up to a half would tell nothing of a release that keeps its limit."""
    sizes = (
        ClassSizePicture(smallest=25, largest=49, n_classes=3, n_records=90),
        ClassSizePicture(smallest=50, largest=99, n_classes=1, n_records=60),
    )
    pictures = replace(made_up_pictures(names=()), class_sizes=sizes)
    words = words_of(release_page(made_up_record(names=(), confident_k=None), pictures))
    assert "1 % to 2 % 40 %" in words
    assert "2 % to 4 % 60 %" in words
    assert "up to 50 %" not in words
    assert "as the values were drawn" not in words
    noisy = words_of(release_page(made_up_record(), replace(made_up_pictures(), class_sizes=sizes)))
    assert "up to 50 %" in noisy
