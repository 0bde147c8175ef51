# SPDX-License-Identifier: Apache-2.0
"""Sets in labels stand in the order that the curator wrote, and numbers in labels read as people write them."""

from __future__ import annotations

import csv
import itertools
import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

import kepsilon as ke
from kepsilon.policy.hierarchies import FileHierarchy
from kepsilon.policy.hierarchies.mask import MaskHierarchy
from kepsilon.policy.roles import KQuasi
from kepsilon.table.codes import code_domain
from kepsilon.table.domains import domain_of, place_values

SIZES = ("small", "middle", "large", "huge")
"""An order that is not the alphabet's."""


def labels_of(values, hierarchy, *, folder=".", **settings):
    """The labels of a column whose values all end up in one class with a set, or in several."""
    table = pa.table({"x": values})
    policy = ke.Policy.from_dict(
        {
            "k": len(values),
            "algorithm": "mondrian",
            "max_suppression": 0,
            "attributes": {"x": {"role": "k-quasi", **({"hierarchy": hierarchy} if hierarchy else {}), **settings}},
        },
        folder=folder,
    )
    return set(ke.anonymise(table, policy, unsafe_seed=1).frame.column("x").to_pylist())


def test_groups_stand_in_the_order_of_the_policy():
    """Members of a group as it lists them; groups as their level lists them, not by the alphabet."""
    one = {"type": "groups", "levels": [{"any": list(SIZES)}]}
    assert labels_of([*SIZES, *SIZES], one) == {"{small, middle, large, huge}"}
    two = {"type": "groups", "levels": [{"little": ["small", "middle"], "big": ["large", "huge"]}]}
    assert labels_of([*SIZES, *SIZES], two) == {"{little, big}"}


def test_a_coarser_level_decides_the_order_of_what_it_lists():
    """Groups of groups are read from the top down: the order of their own level is the one the curator sees there."""
    levels = [{"a": ["1x"], "b": ["2x"], "c": ["3x"]}, {"late": ["c"], "early": ["b", "a"]}]
    assert labels_of(["1x", "2x", "3x"], {"type": "groups", "levels": levels}) == {"{late, early}"}
    assert labels_of(["1x", "2x"], {"type": "groups", "levels": levels}) == {"{b, a}"}


def test_a_file_decides_the_order_by_its_rows(tmp_path):
    """The curator's file is where such orders are mostly written down."""
    with (tmp_path / "sizes.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=";").writerows([size, "*"] for size in SIZES)
    found = labels_of([*SIZES, *SIZES], {"type": "file", "path": "sizes.csv"}, folder=tmp_path)
    assert found == {"{small, middle, large, huge}"}


def test_numbers_stand_by_size_and_before_texts():
    """“9” comes before “10” for people, though not for the alphabet; a text among numbers comes last."""
    assert labels_of(["10", "9", "n/a"], {"type": "suppress"}) == {"{9, 10, n/a}"}
    assert labels_of(["10", "9", None, "-2"], {"type": "suppress"}) == {"{null, -2, 9, 10}"}


@given(
    st.lists(st.one_of(st.integers(-50, 50).map(str), st.text("ab1.", max_size=3)), min_size=2, max_size=7, unique=True)
)
def test_which_of_two_values_comes_first_depends_on_these_two_alone(values):
    """Or the order inside a published set would tell whether some other record holds a text."""
    domain, _ = code_domain("x", [values, ["*"] * len(values)])
    place = {value: i for i, value in enumerate(domain.levels[0])}
    for one, other in itertools.combinations(values, 2):
        pair, _ = code_domain("x", [[one, other], ["*", "*"]])
        assert (pair.levels[0][0] == one) is (place[one] < place[other])


@pytest.mark.parametrize(
    ("values", "step", "label"),
    [
        ([20, 29], 10, "[20, 30)"),
        ([0.1, 0.2], 0.1, "[0.1, 0.3)"),
        ([-7, 3], 5, "[-10, 5)"),
        ([1000000, 3000000], 500000, "[1000000, 3500000)"),
        ([0.001, 0.0029], 0.001, "[0.001, 0.003)"),
        ([1.25, 2.5], 1.25, "[1.25, 3.75)"),
        ([-0.5, -0.1], 0.5, "[-0.5, 0)"),
    ],
)
def test_bounds_of_intervals_are_written_as_people_write_them(values, step, label):
    """Multiples of the step, exactly: no 0.30000000000000004, no exponent, no needless zeros, no minus zero."""
    assert labels_of(values, None, step=step) == {label}


@pytest.mark.parametrize(
    ("values", "widths", "label"),
    [([0.1, 0.25], [0.3], "[0, 0.3)"), ([-3, -1], [5], "[-5, 0)"), ([1990, 1993], [5], "[1990, 1995)")],
)
def test_intervals_of_hierarchies_are_written_alike(values, widths, label):
    """OLA's intervals read as Mondrian's do."""
    table = pa.table({"x": values})
    hierarchy = {"type": "intervals", "widths": widths}
    document = {"k": 2, "algorithm": "ola", "max_suppression": 0}
    policy = ke.Policy.from_dict({**document, "attributes": {"x": {"role": "k-quasi", "hierarchy": hierarchy}}})
    assert set(ke.anonymise(table, policy, unsafe_seed=1).frame.column("x").to_pylist()) == {label}


def test_the_audit_notices_a_set_in_another_order():
    """A release whose sets are turned around says the same, and more: the order could carry something."""
    values = [*SIZES, *SIZES]
    table = pa.table({"x": values})
    hierarchy = {"type": "groups", "levels": [{"any": list(SIZES)}]}
    document = {"k": 8, "algorithm": "mondrian", "max_suppression": 0}
    policy = ke.Policy.from_dict({**document, "attributes": {"x": {"role": "k-quasi", "hierarchy": hierarchy}}})
    release = ke.anonymise(table, policy, unsafe_seed=1)
    assert ke.audit(table, release.frame, policy).keeps_its_promises
    turned = pa.table({"x": ["{huge, large, middle, small}"] * 8})
    found = ke.audit(table, turned, policy)
    assert "another order than that of the hierarchy" in json.dumps(found.to_json(), ensure_ascii=False)


def order_of_labels(hierarchy, values):
    """Labels of every level in the order of sets, when these values occur."""
    placed = place_values("x", KQuasi(role="k-quasi", hierarchy=hierarchy), values)
    return domain_of(placed)[0].levels


def assert_order_depends_on_the_policy_alone(hierarchy, values, n_occurring):
    """Of two labels the same one comes first, whichever of the values occur."""
    everywhere = order_of_labels(hierarchy, values)
    for occurring in itertools.combinations(values, n_occurring):
        for level, labels in zip(everywhere, order_of_labels(hierarchy, occurring), strict=True):
            assert list(labels) == [label for label in level if label in labels]


def test_which_of_two_labels_comes_first_does_not_tell_which_values_occur(tmp_path):
    """A file may list values of one group apart from each other: the group still stands where the file has it first."""
    rows = ["a;A;1;*", "b;B;2;*", "c;C;1;*", "d;A;1;*", "e;B;2;*", "f;D;2;*"]
    (tmp_path / "groups.csv").write_text("\n".join(rows), encoding="utf-8")
    document = {"type": "file", "path": "groups.csv"}
    hierarchy = TypeAdapter(FileHierarchy).validate_python(document, context={"folder": tmp_path})
    assert order_of_labels(hierarchy, "abcdef") == (tuple("adcbef"), tuple("ACBD"), ("1", "2"), ("*",))
    for n_occurring in (2, 3, 5):
        assert_order_depends_on_the_policy_alone(hierarchy, tuple("abcdef"), n_occurring)


@pytest.mark.parametrize("side", ["left", "right"])
def test_masked_codes_stand_in_the_order_of_what_is_shown(side):
    """“12” comes before “21”, but “*1” before “*2”, also where no “11” occurs; “9” is “9*”, and not below “10”."""
    hierarchy = MaskHierarchy(type="mask", side=side, length=2)
    for n_occurring in (2, 3, 5):
        assert_order_depends_on_the_policy_alone(hierarchy, ("9", "1", "11", "12", "21", "90", "22"), n_occurring)


NULL_IS_LISTED = 'b;B;*\na;A;*\nc;A;*\n"";A;*\n'
NULL_HAS_A_LABEL = "b;B;*\na;;*\nc;C;*\n"


def domain_of_file(tmp_path, text, values):
    """The domain of some values of a hierarchy file."""
    (tmp_path / "listed.csv").write_text(text, encoding="utf-8")
    hierarchy = TypeAdapter(FileHierarchy).validate_python(
        {"type": "file", "path": "listed.csv"}, context={"folder": tmp_path}
    )
    return domain_of(place_values("x", KQuasi(role="k-quasi", hierarchy=hierarchy), values))[0]


@pytest.mark.parametrize("text", [NULL_IS_LISTED, NULL_HAS_A_LABEL], ids=["null is listed", "a label is null"])
def test_missing_values_elsewhere_do_not_change_the_order_of_a_set(tmp_path, text):
    """Or {A, B} instead of {B, A} would tell that somebody's value is missing."""
    for size in (1, 2, 3, 4):
        for values in itertools.combinations(["a", "b", "c", None], size):
            domain = domain_of_file(tmp_path, text, values)
            whole = domain_of_file(tmp_path, text, ["a", "b", "c", None])
            for own, other in zip(domain.levels, whole.levels, strict=True):
                assert list(own) == [label for label in other if label in own]


def test_missing_values_come_first_among_their_siblings(tmp_path):
    """Their parent stands where the file lists its first row."""
    domain = domain_of_file(tmp_path, NULL_IS_LISTED, ["a", "b", "c", None])
    assert domain.levels == (("b", None, "a", "c"), ("B", "A"), ("*",))
