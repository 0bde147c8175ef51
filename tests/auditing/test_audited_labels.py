# SPDX-License-Identifier: Apache-2.0
"""The audit reads labels by code of its own: what they cover, what they lose, and whether they show too much."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import kepsilon as ke
from kepsilon.auditing.labels import LabelReader, LabelRules
from kepsilon.kanonymise.algorithms import mondrian
from kepsilon.table.codes import code_domain
from strategies import Attribute, Sample, samples

NUMBERS = [None, "3", "7", "10", "-2"]


def rules(counts, **changes):
    return LabelRules(**{"shows_regions": False, "step": None, "k": 2, "counts": np.array(counts), **changes})


def number_reader(step="1", **changes):
    labels = {v: [v] for v in NUMBERS}
    attribute = Attribute(name="n", labels=labels, numbers={v: float(v) for v in NUMBERS[1:]}, generalises=False)
    sample = Sample(attributes=[replace(attribute, step=Fraction(step))], records=[(v,) for v in NUMBERS])
    return sample.table.domains[0], LabelReader(sample.table.domains[0], rules([1] * 5, step=Fraction(step), **changes))


@pytest.mark.parametrize(
    ("label", "covered"),
    [
        ("[3, 4)", {"3"}),
        ("[3, 10)", {"3", "7"}),
        ("[3, 11)", {"3", "7", "10"}),
        ("[-2, 4)", {"-2", "3"}),
        ("null or [7, 11)", {None, "7", "10"}),
        ("*", {None, "3", "7", "10", "-2"}),
        (None, {None}),
    ],
)
def test_intervals_cover_what_they_say(label, covered):
    """Each label covers the values that docs/reference/policy.md says it covers."""
    domain, reader = number_reader()
    reading = reader.read(label)
    assert reading is not None
    assert reading.too_much is None
    assert {value for value, is_in in zip(domain.levels[0], reading.covers, strict=True) if is_in} == covered


@pytest.mark.parametrize(
    "label",
    ["3", "[3, 8]", "(3, 8)", "{3, 7}", "[10, 3)", "[3, 3)", "", "null or ", "CANARY", "[1e3, 1e4)", "[20, 30)"],
)
def test_labels_that_mean_nothing_are_not_understood(label):
    """A label is refused if it has no known form, or covers no value of the data."""
    assert number_reader()[1].read(label) is None


@pytest.mark.parametrize(
    ("label", "step", "regions", "said"),
    [
        ("[3, 10)", "1", False, None),
        ("[3, 10)", "2", False, "no multiple of the step"),
        ("[2, 7)", "2", False, "no multiple of the step"),
        ("[3, 7.5)", "1", False, "no multiple of the step"),
        ("[0, 8)", "1", True, None),
        ("[2, 4)", "1", True, None),
        ("[3, 4)", "1", True, None),
        ("[-2, -1)", "1", True, None),
        ("[2, 5)", "1", True, "no regions"),
        ("[2, 6)", "1", True, "no regions"),
        ("[-2, 4)", "1", True, "no regions"),
    ],
)
def test_bounds_off_the_public_grid_show_too_much(label, step, regions, said):
    """A bound inside a cell comes from the data."""
    reading = number_reader(step, shows_regions=regions)[1].read(label)
    assert reading is not None
    assert (reading.too_much is None) if said is None else said in reading.too_much


def test_sets_and_ancestors_cover_what_they_say():
    """A set covers its members, and a text that stands at two levels covers what either level covers."""
    values = ["a", "b, c", "null", None, "{a}"]
    domain, codes = code_domain("t", [values], generalises=False)
    reader = LabelReader(domain, rules([2] * 5))
    reading = reader.read('{a, "b, c", "null", null, "{a}"}')
    assert reading is not None
    assert reading.covers.all()
    narrow = reader.read('{"null", a}')
    assert narrow is not None
    assert [bool(narrow.covers[codes[i]]) for i in range(5)] == [True, False, True, False, False]
    one = reader.read('{"{a}"}')
    assert one is not None
    assert [bool(one.covers[codes[i]]) for i in range(5)] == [False] * 4 + [True]
    for label in ("{a, d}", '{"a', "{a}", "{}"):
        assert reader.read(label) is None
    tree, at = code_domain("t", [["a", "b", "c"], ["a", "a", "c"], ["*", "*", "*"]])
    reading = LabelReader(tree, rules([1, 1, 1])).read("a")
    assert reading is not None
    assert [bool(reading.covers[at[i]]) for i in range(3)] == [True, True, False]
    assert math.isnan(reading.loss)


def test_sets_that_show_too_much_are_seen():
    """Five siblings, cousins, a value that fewer than k records hold, and any set where regions are asked for."""
    columns = [list("ABCDEF"), ["P"] * 5 + ["Q"], ["*"] * 6]
    tree, _ = code_domain("t", columns)
    siblings, regions = (LabelReader(tree, rules([1] * 6, shows_regions=shows)) for shows in (False, True))
    assert siblings.read("{A, B, C, D}").too_much is None
    assert siblings.read("{P, Q}").too_much is None
    assert "more than 4" in siblings.read("{A, B, C, D, E}").too_much
    assert "no siblings" in siblings.read("{A, F}").too_much
    assert "ancestor" in regions.read("{A, B}").too_much
    assert regions.read("P").too_much is None
    flat, codes = code_domain("t", [list("ABC")], generalises=False)
    counts = np.zeros(3, dtype=int)
    counts[codes] = [5, 2, 1]
    reader = LabelReader(flat, rules(counts))
    assert reader.read("{A, B}").too_much is None
    assert "fewer than k" in reader.read("{A, C}").too_much
    assert reader.read("*").covers.all()


@pytest.mark.parametrize("style", ["siblings", "ancestor"])
@settings(max_examples=300)
@given(sample=samples(), k=st.integers(1, 6))
def test_the_audit_accuses_no_label_of_mondrian(style, sample, k):
    """Every label covers its records, shows no more than it may, and loses what the release says it loses."""
    assume(sample.n_records >= k)
    recoding = mondrian.anonymise(sample.table, k=k, labels=style)
    for position, (attribute, domain) in enumerate(zip(sample.attributes, sample.table.domains, strict=True)):
        codes = sample.table.codes[position][sample.combination_of]
        reader = LabelReader(
            domain,
            LabelRules(
                shows_regions=style == "ancestor",
                step=None if attribute.numbers is None else attribute.step,
                k=k,
                counts=np.bincount(codes, minlength=domain.n_values),
            ),
        )
        labelled = recoding.attributes[position]
        for code, class_id in zip(codes.tolist(), recoding.class_of[sample.combination_of].tolist(), strict=True):
            reading = reader.read(labelled.labels[labelled.of_class[class_id]])
            assert reading is not None
            assert reading.covers[code]
            assert reading.too_much is None
            assert math.isnan(reading.loss) or reading.loss == pytest.approx(labelled.loss[class_id])
            if not math.isnan(reading.loss):
                assert labelled.ncp[class_id] == pytest.approx(reading.loss)
                assert labelled.covered[class_id] == np.count_nonzero(reading.covers[codes])


def people(n=400):
    """Made-up people whose ages are whole years; five wards, one of them rare; ten towns of two counties."""
    rng = np.random.default_rng(5)
    return pa.table(
        {
            "age": pa.array(rng.integers(20, 70, n)),
            "town": pa.array([f"t{i}" for i in rng.integers(0, 10, n)]),
            "ward": pa.array(["w9" if i == 0 else f"w{i % 3}" for i in range(n)]),
        }
    )


GROUPS = [{"North": [f"t{i}" for i in range(6)], "South": [f"t{i}" for i in range(6, 10)]}]
DOCUMENT = {
    "k": 10,
    "epsilon": 1,
    "algorithm": "mondrian",
    "max_suppression": 0,
    "attributes": {
        "age": {"role": "k-quasi", "step": 5},
        "town": {"role": "k-quasi", "hierarchy": {"type": "groups", "levels": GROUPS}},
        "ward": {"role": "k-quasi"},
    },
}


@pytest.mark.parametrize(
    ("column", "find", "forge", "said"),
    [
        ("age", lambda label: True, lambda label: label[:-2] + "9)", "step"),
        ("ward", lambda label: label == "*", lambda label: "{w0, w1, w2, w9}", "fewer than k"),
        ("town", lambda label: label == "North", lambda label: "{t0, t1, t2, t3, t4, t5}", "more than 4"),
    ],
)  # fmt: skip
def test_a_release_whose_labels_show_too_much_is_broken(column, find, forge, said):
    """Labels are forged so that they still cover their records, in every record of the class."""
    original, policy = people(), ke.Policy.from_dict(DOCUMENT)
    release = ke.anonymise(original, policy)
    for linkage in (release.linkage, None):
        assert not ke.audit(original, release.frame, policy, linkage=linkage).broken
    labels = release.frame.column(column).to_pylist()
    chosen = [label for label in labels if find(label)]
    assert chosen
    forged = [forge(label) if label == chosen[0] else label for label in labels]
    at = release.frame.schema.get_field_index(column)
    frame = release.frame.set_column(at, column, pa.array(forged))
    for linkage in (release.linkage, None):
        broken = [str(f) for f in ke.audit(original, frame, policy, linkage=linkage).broken if f.check == "labels"]
        assert any(said in text for text in broken), broken
