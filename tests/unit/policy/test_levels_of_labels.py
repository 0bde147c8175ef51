# SPDX-License-Identifier: Apache-2.0
"""At which levels published labels can be: every kind of hierarchy reads what it wrote, and so does the audit by itself."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kepsilon as ke
from kepsilon.auditing.label_levels import lowest_level
from kepsilon.table.domains import domain_of, place_values

LEVELS = [{"a": ["x", "y"], "b": ["z", "b"]}, {"both": ["a", "b"]}]


def attribute(hierarchy: dict[str, Any], folder: Path | str = ".") -> Any:
    document = {
        "k": 2, "epsilon": 1, "algorithm": "ola", "max_suppression": 0,
        "attributes": {"q": {"role": "k-quasi", "hierarchy": hierarchy}},
    }  # fmt: skip
    return ke.Policy.from_dict(document, folder=folder).k_quasis["q"]


def labels_by_level(own: Any, values: list[str | None]) -> list[set[str | None]]:
    """The labels that the values have at each level, as a release shows them."""
    domain, _ = domain_of(place_values("q", own, values))
    return [set(labels) for labels in domain.levels]


numbers = st.one_of(st.integers(-500, 500).map(str), st.decimals(-99, 99, places=2).map(str))
codes = st.text("0129*", min_size=1, max_size=5)
dates = st.dates(dt.date(1, 1, 1)).map(str)
KINDS: dict[str, tuple[dict[str, Any], st.SearchStrategy[str]]] = {
    "mask": ({"type": "mask"}, st.text("0129", min_size=4, max_size=4)),
    "mask with length": ({"type": "mask", "length": 6}, codes),
    "mask from the left": ({"type": "mask", "length": 5, "side": "left", "char": "x", "label": "any"}, codes),
    "intervals": ({"type": "intervals", "widths": [0.5, 2, 10], "origin": 1}, numbers),
    "intervals, label 0": ({"type": "intervals", "widths": [5], "label": "0"}, numbers),
    "suppress": ({"type": "suppress", "label": "Person"}, st.sampled_from(["F", "M", "Person", "x"])),
    "groups": ({"type": "groups", "levels": LEVELS}, st.sampled_from(["x", "y", "z", "b"])),
    "days": ({"type": "dates", "units": ["day", "month", "quarter", "year", "decade"]}, dates),
    "weeks": ({"type": "dates", "units": ["day", "week"]}, dates),
    "times": (
        {"type": "dates", "units": ["month"], "format": "%d.%m.%Y", "label": ""},
        st.dates(dt.date(1000, 1, 1)).map(lambda own: own.strftime("%d.%m.%Y")),
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60)
@given(data=st.data())
def test_labels_are_read_at_one_level_by_both(kind, data):
    """No honest release is refused for its labels, and manifest and audit agree on the level."""
    specification, strategy = KINDS[kind]
    own = attribute(specification)
    values = data.draw(st.lists(st.one_of(strategy, st.none(), st.just("")), min_size=1, max_size=6, unique=True))
    for level, labels in enumerate(labels_by_level(own, values)):
        shown = data.draw(st.sets(st.sampled_from(sorted(labels, key=str)), min_size=1))
        possible = own.hierarchy.levels_of(shown)
        assert possible
        assert lowest_level(own.hierarchy, shown) == min(possible)
        if not kind.startswith("mask") and len(shown - {None}) > 1:
            assert level in possible


@pytest.mark.parametrize(
    ("hierarchy", "labels", "level"),
    [
        ({"type": "mask"}, {"2374*", "2375*", None}, 1),
        ({"type": "mask"}, {"*****"}, 5),
        ({"type": "mask"}, {"23740", "2374*"}, 0),
        ({"type": "mask", "length": 5}, {"237**", "24***"}, 2),
        ({"type": "mask", "length": 5}, {"237", "24"}, 0),
        ({"type": "mask", "length": 5, "label": "any"}, {"any"}, 5),
        ({"type": "mask", "length": 5, "label": "any"}, {"*****"}, 4),
        ({"type": "mask", "side": "left"}, {"**40", "**41"}, 2),
        ({"type": "mask", "label": "any"}, {"any"}, 1),
        ({"type": "intervals", "widths": [5, 10]}, {"[10, 20)", None}, 2),
        ({"type": "intervals", "widths": [5, 10]}, {"[10, 15)"}, 1),
        ({"type": "intervals", "widths": [5, 10]}, {"7", "1e1"}, 0),
        ({"type": "intervals", "widths": [5, 10]}, {"*"}, 3),
        ({"type": "intervals", "widths": [5, 10]}, {None}, 0),
        ({"type": "suppress"}, {"*"}, 1),
        ({"type": "suppress"}, {"*", "F"}, 0),
        ({"type": "groups", "levels": LEVELS}, {"b"}, 0),
        ({"type": "groups", "levels": LEVELS}, {"a", "b", None}, 1),
        ({"type": "groups", "levels": LEVELS}, {"both"}, 2),
        ({"type": "groups", "levels": LEVELS}, {"*"}, 3),
        ({"type": "dates", "units": ["day", "month"]}, {"2024-02-29"}, 0),
        ({"type": "dates", "units": ["month", "year"]}, {"2024-02", None}, 1),
        ({"type": "dates", "units": ["month", "year"]}, {"2024"}, 2),
        ({"type": "dates", "units": ["month", "year"]}, {"*"}, 3),
    ],
)
def test_the_lowest_level_that_labels_can_be_of(hierarchy, labels, level):
    """Worked out by hand."""
    own = attribute(hierarchy)
    assert min(own.hierarchy.levels_of(labels)) == lowest_level(own.hierarchy, labels) == level


@pytest.mark.parametrize(
    ("hierarchy", "labels"),
    [
        ({"type": "mask", "length": 3}, {"1234"}),
        ({"type": "intervals", "widths": [5, 10]}, {"[10, 20)", "[10, 15)"}),
        ({"type": "intervals", "widths": [5, 10]}, {"[11, 16)"}),
        ({"type": "intervals", "widths": [5, 10]}, {"[10, 15]"}),
        ({"type": "intervals", "widths": [5, 10]}, {"[10.0, 15)"}),
        ({"type": "intervals", "widths": [5, 10]}, {"*", "[10, 15)"}),
        ({"type": "groups", "levels": LEVELS}, {"x", "a"}),
        ({"type": "groups", "levels": LEVELS}, {"nobody"}),
        ({"type": "groups", "levels": LEVELS}, {"*", None}),
        ({"type": "dates", "units": ["month", "year"]}, {"2024-13"}),
        ({"type": "dates", "units": ["month", "year"]}, {"2024-02", "2024"}),
        ({"type": "dates", "units": ["week"]}, {"2023-W53", "x"}),
        ({"type": "dates", "units": ["quarter"]}, {"2024-Q5"}),
    ],
)
def test_labels_of_no_level(hierarchy, labels):
    """Such a table is no release under the policy."""
    own = attribute(hierarchy)
    assert own.hierarchy.levels_of(labels) == ()
    assert lowest_level(own.hierarchy, labels) is None


@pytest.mark.parametrize(
    ("rows", "labels", "level"),
    [
        (["a;A;*", "b;B;*"], {"A", None}, 1),
        (["a;A;*", "b;B;*"], {"a", "b"}, 0),
        (["a;A;*", "b;B;*"], {"*"}, 2),
        (["a;A;*", "b;B;*"], {"*", None}, None),
        (["a;A;*", "b;B;*", ";none;*"], {"A", "none"}, 1),
        (["a;A;*", "b;B;*", ";none;*"], {"A", None}, None),
        (["a;A;*", "b;B;*", ";none;*"], {"a", None}, 0),
        (["a;a;X", "b;b;Y"], {"a", "b"}, 0),
        (["a;a;X", "b;b;Y"], {"X", None}, 2),
        (["a;;X", "b;B;X"], {"B", None}, 1),
        (["a", "b"], {"a", None}, 0),
    ],
)
def test_levels_of_a_hierarchy_file(tmp_path, rows, labels, level):
    """The empty value of a file is null; where none is listed, null is null below one top label."""
    (tmp_path / "h.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    own = attribute({"type": "file", "path": "h.csv"}, tmp_path)
    assert min(own.hierarchy.levels_of(labels), default=None) == lowest_level(own.hierarchy, labels) == level
