# SPDX-License-Identifier: Apache-2.0
"""Numbers on a public step: their cells, what is refused, and which bounds tell a single record's value."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kepsilon.evaluate.label_bounds import telling_bounds
from kepsilon.kanonymise.algorithms import mondrian
from kepsilon.policy.roles import KQuasi
from kepsilon.table.domains import domain_of, place_values, refused_values, unplaceable
from kepsilon.table.number_line import number_line
from oracles.read_label import interval_bounds
from strategies import Sample, numeric

INTERVALS = {"type": "intervals", "widths": [10]}


def quasi(**keys):
    return KQuasi.model_validate({"role": "k-quasi", **keys})


@given(
    st.lists(st.one_of(st.none(), st.decimals(-1000, 1000, places=2)), min_size=1, max_size=12, unique=True),
    st.sampled_from(["0.1", "0.25", "1", "5", "30"]),
)
def test_every_number_lies_in_its_cell(numbers, step):
    """Exact: 0.3 is in cell 3 of step 0.1, though floating point floors 0.3 / 0.1 to 2. Null stands first."""
    given_step = Fraction(step)
    line = number_line([None if n is None else Fraction(n) for n in numbers], step=given_step)
    shown = [None, *line.cells] if line.has_null else list(line.cells)
    assert shown == sorted(set(shown), key=lambda c: (c is not None, c))
    for number, place in zip(numbers, line.places.tolist(), strict=True):
        if number is None:
            assert place == 0
        else:
            cell = shown[place]
            assert cell * given_step <= Fraction(number) < (cell + 1) * given_step
            assert interval_bounds(line.interval(cell, cell)) == (cell * given_step, (cell + 1) * given_step)


def test_equal_widths_are_equal_shares():
    """Mondrian takes the first of equally wide attributes, so a rounding error must not decide."""
    line = number_line([Fraction(i, 10) for i in range(8)], step=Fraction(1, 10))
    widths = line.relative_width()(np.arange(7), np.arange(1, 8))
    assert len(set(widths.tolist())) == 1


@pytest.mark.parametrize(
    ("values", "keys", "said"),
    [
        (["1", "2.5", None], {}, True),
        (["1e3", " -4 "], {}, True),
        (["1e3", " -4 ", "nan"], {}, False),
        (["123456789012345678901", "1"], {}, False),
        (["1", "x"], {}, False),
        (["01234", "12345"], {}, False),
        (["3e41592653", "12"], {}, False),
        ([None], {}, False),
        (["1", "2"], {"step": 1}, False),
        (["1", "2"], {"hierarchy": INTERVALS}, False),
    ],
)
def test_numbers_without_hierarchy_need_a_step(values, keys, said):
    """Codes with leading zeros are text; a numeric column's own way of writing numbers is not."""
    problems = unplaceable(place_values("age", quasi(**keys), values))
    assert bool(problems) is said
    if said:
        assert "step" in str(problems[0])
        assert "not from the data" in str(problems[0])


def test_what_is_no_number_is_counted_and_not_shown():
    """Also where a hierarchy lists it; a value that the hierarchy does not list either is counted once."""
    counts = np.array([5, 3, 4, 2])
    (problem,) = refused_values(place_values("age", quasi(step=5), ["1", "CANARY-1", "CANARY-2", None]), counts)
    assert "7 records hold 2 values that are no finite numbers" in str(problem)
    assert "CANARY" not in str(problem)
    both = quasi(step=5, hierarchy=INTERVALS)
    (problem,) = refused_values(place_values("age", both, ["1", "CANARY-1", "CANARY-2", None]), counts)
    assert "its hierarchy does not list" in str(problem)
    listed = quasi(step=5, hierarchy={"type": "suppress"})
    assert len(refused_values(place_values("age", listed, ["1", "CANARY-1", "1e300", None]), counts)) == 1


def test_a_hierarchy_and_a_step_stand_side_by_side():
    """OLA reads the levels, Mondrian the number line; both are of one domain."""
    placed = place_values("age", quasi(step=5, hierarchy=INTERVALS), ["23", "4", None, "7"])
    domain, codes = domain_of(placed)
    assert [domain.levels[0][c] for c in codes] == ["23", "4", None, "7"]
    assert [domain.levels[1][domain.at_level(1)[c]] for c in codes] == ["[20, 30)", "[0, 10)", None, "[0, 10)"]
    assert domain.line.cells == (0, 1, 4)
    assert domain.line.places[codes].tolist() == [3, 1, 0, 2]


@pytest.mark.parametrize("style", ["siblings", "ancestor"])
@settings(max_examples=200)
@given(attribute=numeric(), data=st.data(), k=st.integers(1, 5))
def test_telling_bounds_are_those_that_one_record_and_one_value_explain(style, attribute, data, k):
    """Counted record by record, from the published bounds."""
    records = data.draw(st.lists(st.tuples(st.sampled_from(list(attribute.labels))), min_size=k, max_size=25))
    sample = Sample(attributes=[attribute], records=records)
    recoding = mondrian.anonymise(sample.table, k=k, labels=style)
    found = telling_bounds(
        sample.table.domains[0].line,
        sample.table.codes[0],
        sample.table.counts,
        recoding.class_of,
        n_classes=recoding.n_classes,
        shows_regions=style == "ancestor",
    )
    step = attribute.step
    cell_of = [None if v is None else Fraction(v) // step for (v,) in records]
    class_of = recoding.class_of[sample.combination_of].tolist()
    labels = recoding.attributes[0]
    n_telling = n_shown = 0
    for class_id in range(recoding.n_classes):
        inside = [c for c, own in zip(cell_of, class_of, strict=True) if own == class_id and c is not None]
        if not inside:
            continue
        n_shown += 2
        label = labels.labels[labels.of_class[class_id]]
        if label == "*":
            continue
        low, high = interval_bounds(label)
        if style == "ancestor" and (high - low) / step > 2:
            continue  # which cells of a wide region hold records is not shown
        for end in (low / step, high / step - 1):
            values = {v for (v,), c in zip(records, cell_of, strict=True) if c == end}
            n_telling += inside.count(end) == 1 and len(values) == 1
    assert (found.n_telling, found.n_shown) == (n_telling, n_shown)


def test_a_coarse_step_leaves_no_telling_bound():
    """Two values in every cell: whoever holds the end of an interval may have either."""
    numbers = [Fraction(i) for i in range(20)]
    fine, coarse = (number_line(numbers, step=Fraction(step)) for step in (1, 2))
    codes, ones, one_class = np.arange(20), np.ones(20, dtype=np.int64), np.zeros(20, dtype=np.int64)
    assert telling_bounds(fine, codes, ones, one_class, n_classes=1).n_telling == 2
    assert telling_bounds(coarse, codes, ones, one_class, n_classes=1).n_telling == 0
