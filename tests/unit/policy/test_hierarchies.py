# SPDX-License-Identifier: Apache-2.0
"""Hierarchies give the labels their page promises, and refuse what would let a coarser level divide."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kepsilon import Policy, PolicyError
from kepsilon.policy.hierarchies.dates import LABELS
from kepsilon.policy.roles import KQuasi
from kepsilon.table.domains import domain_of, place_values, refused_values


def labels(hierarchy: dict, values: list[str | None], **attribute) -> dict[str | None, list[str | None]]:
    """Each value's labels from level 0 up, through the domain that the algorithms see."""
    quasi = KQuasi.model_validate({"role": "k-quasi", "hierarchy": hierarchy, **attribute})
    placed = place_values("a", quasi, values)
    assert placed.is_covered.all()
    domain, codes = domain_of(placed)
    return {
        value: [domain.levels[level][domain.at_level(level)[code]] for level in range(domain.n_levels)]
        for value, code in zip(values, codes, strict=True)
    }


def test_mask_hides_one_character_a_level():
    """The paper's ZIP has six levels: value, XXXX*, … *****."""
    assert labels({"type": "mask"}, ["23740"])["23740"] == ["23740", "2374*", "237**", "23***", "2****", "*****"]


def test_mask_can_start_at_the_left_with_another_character():
    """Some codes say most in their last characters."""
    assert labels({"type": "mask", "side": "left", "char": "#"}, ["abc"])["abc"] == ["abc", "#bc", "##c", "###"]


def test_mask_pads_shorter_values():
    """Values of unequal length still meet at the top."""
    found = labels({"type": "mask", "length": 5}, ["123", "12345"])
    assert found["123"] == ["123", "123**", "123**", "12***", "1****", "*****"]
    assert found["12345"] == ["12345", "1234*", "123**", "12***", "1****", "*****"]


def test_intervals_are_aligned_at_the_origin():
    """Alignment does not depend on the data, or two releases would not compare."""
    found = labels({"type": "intervals", "widths": [2, 4], "origin": 1}, ["1951", "1952", "-3"])
    assert found["1951"] == ["1951", "[1951, 1953)", "[1949, 1953)", "*"]
    assert found["1952"] == ["1952", "[1951, 1953)", "[1949, 1953)", "*"]
    assert found["-3"] == ["-3", "[-3, -1)", "[-3, 1)", "*"]


def test_decimal_intervals_are_exact():
    """0.3 is the start of [0.3, 0.4), though 0.3 / 0.1 floors to 2 in floating point."""
    assert labels({"type": "intervals", "widths": [0.1]}, ["0.3"])["0.3"][1] == "[0.3, 0.4)"


@given(st.decimals(-1000, 1000, places=2), st.sampled_from([[0.1, 0.5], [2, 4, 8], [0.25, 1]]))
def test_intervals_contain_their_value(value, widths):
    """Containment, checked by reading the label back."""
    found = labels({"type": "intervals", "widths": widths}, [str(value)])[str(value)]
    for label in found[1:-1]:
        low, high = (Decimal(end) for end in label[1:-1].split(", "))
        assert low <= value < high


def test_groups_have_levels_of_groups():
    """One or more listed levels, then the top."""
    levels = [{"a": ["x", "y"], "b": ["z"]}, {"all of them": ["a", "b"]}]
    assert labels({"type": "groups", "levels": levels}, ["x", "z"])["x"] == ["x", "a", "all of them", "*"]


def test_dates_given_as_text_work():
    """Month, quarter, year; ISO by default, any other way of writing by `format`."""
    hierarchy = {"type": "dates", "units": ["day", "month", "quarter", "year", "decade"]}
    assert labels(hierarchy, ["2026-11-16T08:30:00"])["2026-11-16T08:30:00"][1:] == [
        "2026-11-16", "2026-11", "2026-Q4", "2026", "2020s", "*",
    ]  # fmt: skip
    german = {"type": "dates", "units": ["month"], "format": "%d.%m.%Y"}
    assert labels(german, ["16.11.2026"])["16.11.2026"] == ["16.11.2026", "2026-11", "*"]


def test_null_is_a_value_until_the_top():
    """A missing value among k-quasis is a value of its own; where everything has one label, so has it."""
    assert labels({"type": "mask"}, [None, "ab"])[None] == [None, None, "**"]
    assert labels({"type": "suppress", "label": "Person"}, [None, "F"])[None] == [None, "Person"]


def write(tmp_path, text: str, encoding: str = "utf-8") -> dict:
    (tmp_path / "h.csv").write_bytes(text.encode(encoding))
    return {"type": "file", "path": str(tmp_path / "h.csv")}


@pytest.mark.parametrize(
    "text",
    [
        "x;a;*\ny;a;*\nz;b;*\n",
        "x,a,*\ny,a,*\nz,b,*\n",
        '"x";"a";"*"\n\n"y";"a";"*"\n"z";"b";"*"',
        "\ufeffx;a;*\r\ny;a;*\r\nz;b;*\r\n",
    ],
    ids=["semicolon", "comma", "quotes and blank line", "BOM and CRLF"],
)
def test_arx_files_are_read_as_they_come(tmp_path, text):
    """People coming from ARX bring their files."""
    assert labels(write(tmp_path, text), ["x", "z", None]) == {
        "x": ["x", "a", "*"],
        "z": ["z", "b", "*"],
        None: [None, None, "*"],
    }


def test_a_file_may_be_latin_1(tmp_path):
    """Old files are not UTF-8."""
    assert labels(write(tmp_path, "Zürich;CH;*\n", "latin-1"), ["Zürich"])["Zürich"] == ["Zürich", "CH", "*"]


def test_a_file_without_a_single_top_is_taken_as_given(tmp_path):
    """Null then stays apart at every level, because nothing says where it would belong."""
    assert labels(write(tmp_path, "x;a\ny;b\n"), ["x", None]) == {"x": ["x", "a"], None: [None, None]}


def test_a_file_may_say_where_null_belongs(tmp_path):
    """A row with an empty first field is the row of null."""
    assert labels(write(tmp_path, "x;a\n;unknown\n"), ["x", None])[None] == [None, "unknown"]


def problems_of(hierarchy: dict) -> str:
    document = {
        "k": 2, "epsilon": 1, "algorithm": "ola", "max_suppression": 0,
        "attributes": {"a": {"role": "k-quasi", "hierarchy": hierarchy}},
    }  # fmt: skip
    with pytest.raises(PolicyError) as caught:
        Policy.from_dict(document)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x;a;*\ny;a;#\n", 'level 2 gives "a" two parents, "*" and "#"'),
        ("x;a;*\nx;b;*\n", "rows 1 and 2 of"),
        ("x;a;*\ny;a\n", "row 2 of"),
        ("x;y;*\ny;x;*\n", "cyclic"),
        ("", "empty"),
    ],
    ids=["not nested", "duplicate", "unequal lengths", "cyclic", "empty"],
)  # fmt: skip
def test_wrong_files_are_refused_with_their_rows(tmp_path, text, said):
    """A coarser level that divides would make OLA's shortcuts wrong, and with them the classes."""
    assert said in problems_of(write(tmp_path, text))


@pytest.mark.parametrize(
    ("hierarchy", "said"),
    [
        ({"type": "intervals", "widths": [2, 3]}, "not a larger multiple"),
        ({"type": "intervals", "widths": [4, 4]}, "not a larger multiple"),
        ({"type": "intervals", "widths": [0]}, "greater than 0"),
        ({"type": "groups", "levels": [{"a": ["x"], "b": ["x"]}]}, 'gives "x" two parents'),
        ({"type": "groups", "levels": [{"a": ["x"], "b": ["y"]}, {"c": ["a"]}]}, 'does not place "b"'),
        ({"type": "groups", "levels": [{"a": ["x"]}, {"c": ["a", "q"]}]}, "not a label of level 1"),
        ({"type": "groups", "levels": [{"a": ["b"], "b": ["a"]}]}, "cyclic"),
        ({"type": "dates", "units": ["week", "month"]}, "not made of whole weeks"),
        ({"type": "dates", "units": ["year", "month"]}, "cannot be followed"),
        ({"type": "mask", "char": "**"}, "at most 1 character"),
        ({"type": "nonsense"}, "unknown type"),
    ],
)
def test_wrong_hierarchies_are_refused_at_birth(hierarchy, said):
    """The policy is refused before any data is read."""
    assert said in problems_of(hierarchy)


def test_uncovered_values_are_counted_and_not_shown():
    """The message goes to logs; the values are records'."""
    quasi = KQuasi.model_validate({"role": "k-quasi", "hierarchy": {"type": "groups", "levels": [{"a": ["x"]}]}})
    placed = place_values("colour", quasi, ["x", "CANARY-1", "CANARY-2", None])
    (problem,) = refused_values(placed, np.array([5, 3, 4, 2]))
    assert "7 records hold 2 values" in str(problem)
    assert "CANARY" not in str(problem)


def test_years_before_1000_have_four_digits_in_every_unit():
    """strftime leaves zeros out on some systems, so that days sorted and read otherwise than years."""
    day = datetime(987, 1, 3)
    shown = {unit: LABELS[unit](day) for unit in LABELS}
    assert shown == {
        "day": "0987-01-03",
        "week": "0987-W01",
        "month": "0987-01",
        "quarter": "0987-Q1",
        "year": "0987",
        "decade": "0980s",
    }
