# SPDX-License-Identifier: Apache-2.0
"""Mondrian's labels singled people out: most bounds were the value of one record, sets named values that nobody shared.

Every test runs against version 0.1 too. Where 0.1 does not know a key, it is given what it knows instead.
"""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pytest

import kepsilon as ke

K = 10
OLD_LABELS = {"siblings": "tight", "ancestor": "cut"}
STYLES = pytest.mark.parametrize("style", OLD_LABELS)
STEPS = {"birth_day": 30, "zip": 100}


def policy(attributes, *, style="siblings", k=K):
    """The policy of these attributes; for version 0.1 without steps, and with the style that it had."""
    document = {"k": k, "epsilon": 1, "algorithm": "mondrian", "max_suppression": 0, "attributes": attributes}
    try:
        return ke.Policy.from_dict({**document, "labels": style})
    except ke.PolicyError:
        old = {name: {key: value for key, value in keys.items() if key != "step"} for name, keys in attributes.items()}
        return ke.Policy.from_dict({**document, "labels": OLD_LABELS[style], "attributes": old})


def on_steps(steps):
    return {name: {"role": "k-quasi", "step": step} for name, step in steps.items()}


def people(n=6_000, *, seed=13):
    """Made-up people: the day of birth, counted from the first day of 1930, and a ZIP code without leading zero."""
    rng = np.random.default_rng(seed)
    return {"birth_day": rng.integers(0, 25_000, n), "zip": 10_000 + rng.integers(0, 900, n) ** 2 // 100}


def released_classes(columns, under):
    """By class: the labels, and the rows of its originals."""
    release = ke.anonymise(pa.table(columns), under)
    labels = list(zip(*(release.frame.column(name).to_pylist() for name in columns), strict=True))
    rows = defaultdict(list)
    for released, original in zip(release.linkage["released_row"], release.linkage["original_row"], strict=True):
        rows[labels[int(released)]].append(int(original))
    return rows


def bounds(label):
    """The numbers that a label of 0.1 or of today shows."""
    return (
        [float(part) for part in label.removeprefix("null or ").strip("[]()<=> ").split(", ")] if label != "*" else []
    )


@STYLES
def test_h7_bounds_are_not_the_value_of_exactly_one_record(style):
    """On 0.1 about five of six bounds are; with a step some are by chance, as often as any other number of the cell."""
    columns = people()
    shown = held_by_one = 0
    for labels, rows in released_classes(columns, policy(on_steps(STEPS), style=style)).items():
        for name, label in zip(columns, labels, strict=True):
            counts = Counter(columns[name][rows].tolist())
            for bound in bounds(label):
                shown += 1
                held_by_one += counts[bound] == 1
    assert shown > 200
    assert held_by_one / shown < 0.05


@STYLES
def test_h7_labels_depend_on_cells_alone(style):
    """Every value is moved inside its cell of the public step; not one published label changes."""
    columns = people(2_000)
    rng = np.random.default_rng(2)
    moved = {
        name: values // STEPS[name] * STEPS[name] + rng.integers(0, STEPS[name], len(values))
        for name, values in columns.items()
    }
    under = policy(on_steps(STEPS), style=style)
    one, other = (
        {labels: sorted(rows) for labels, rows in released_classes(c, under).items()} for c in (columns, moved)
    )
    assert one == other


@STYLES
def test_h7_every_bound_is_a_multiple_of_the_step_and_every_label_contains_its_records(style):
    """Cuts inside a cell, and hulls that are not widened, would show here."""
    columns = people(2_000, seed=3)
    for labels, rows in released_classes(columns, policy(on_steps(STEPS), style=style)).items():
        assert len(rows) >= K
        for name, label in zip(columns, labels, strict=True):
            if label == "*":
                continue
            low, high = bounds(label)
            assert low % STEPS[name] == high % STEPS[name] == 0
            assert (label[0], label[-1]) == ("[", ")")
            assert all(low <= value < high for value in columns[name][rows].tolist())


def test_h7_the_form_of_a_label_does_not_depend_on_the_data():
    """A class of one value shows the cell, as every other class does."""
    columns = {"age": np.array([20] * 30), "zip": np.array([10_000] * 30)}
    under = policy(on_steps({"age": 1, "zip": 100}))
    assert list(released_classes(columns, under)) == [("[20, 21)", "[10000, 10100)")]


def test_h7_check_counts_the_bounds_of_a_step_as_fine_as_the_data():
    """And is silent where the step is coarser."""
    table = pa.table(people(2_000))
    for steps, is_said in (({"birth_day": 1, "zip": 100}, True), ({"birth_day": 1_000, "zip": 100}, False)):
        found = ke.check(table, policy(on_steps(steps)))
        warnings = getattr(found, "warnings", None) or getattr(found, "notes", ())
        about = [str(one) for one in warnings if "attributes.birth_day.step" in str(one)]
        assert bool(about) is is_said
        for text in about:
            assert "bounds that labels of birth_day show end at the cell of a single record" in text
            assert "knows who is in such a class" in text


def test_h7_numbers_without_a_public_step_are_refused():
    """Whatever the type of the column; codes with leading zeros are text."""
    for column in (
        pa.array(range(100)),
        pa.array([float(i) for i in range(100)]),
        pa.array([str(i) for i in range(100)]),
    ):
        with pytest.raises(ke.DataError, match="step") as caught:
            ke.check(pa.table({"age": column}), policy({"age": {"role": "k-quasi"}}))
        assert "not from the data" in str(caught.value)


@pytest.mark.parametrize(("old", "new"), [("tight", "siblings"), ("cut", "ancestor")])
def test_h7_the_labels_of_0_1_are_refused_with_what_to_write(old, new):
    """A policy of 0.1 does not silently publish something else."""
    document = {"k": K, "epsilon": 1, "algorithm": "mondrian", "max_suppression": 0, "labels": old}
    with pytest.raises(ke.PolicyError, match=f'labels = "{new}"'):
        ke.Policy.from_dict({**document, "attributes": {"ward": {"role": "k-quasi"}}})


def wards(n=1_200, *, n_rare=40):
    """Most people are in one of six wards; some are in a ward of their own."""
    rng = np.random.default_rng(9)
    ward = np.array([f"ward {i}" for i in rng.integers(0, 6, n)], dtype=object)
    ward[rng.choice(n, n_rare, replace=False)] = [f"private {i}" for i in range(n_rare)]
    return {"ward": ward, "illness": np.array([f"ill {i}" for i in rng.integers(0, 8, n)], dtype=object)}


@STYLES
def test_h7_sets_without_hierarchy_name_no_rare_value(style):
    """A value that fewer than k records hold points at them, in whatever class it is named."""
    columns = wards()
    under = policy({name: {"role": "k-quasi"} for name in columns}, style=style)
    counts = {name: Counter(column.tolist()) for name, column in columns.items()}
    some_are_shown = False
    for labels, rows in released_classes(columns, under).items():
        for name, label in zip(columns, labels, strict=True):
            named = label.strip("{}").split(", ") if label != "*" else []
            assert all(counts[name][value] >= K for value in named)
            assert label == "*" or set(columns[name][rows]) <= set(named)
            some_are_shown |= bool(named)
    assert some_are_shown


RACES = {"White": 2_000, "Black": 240, "Asian": 30, "Native": 12, "Other": 8}


def races():
    race = np.repeat(list(RACES), list(RACES.values())).astype(object)
    rng = np.random.default_rng(4)
    return {"race": race, "sex": rng.choice(["F", "M"], len(race)).astype(object)}


SUPPRESS = {"role": "k-quasi", "hierarchy": {"type": "suppress"}}


def test_h7_the_top_of_a_hierarchy_does_not_mark_the_rare():
    """On 0.1 `*` meant "not White" in every case; now the set says who is there, and no more than four are named."""
    columns = races()
    for labels, rows in released_classes(columns, policy({"race": SUPPRESS, "sex": SUPPRESS})).items():
        occurring = set(columns["race"][rows])
        label = labels[0]
        if len(occurring) == 1:
            assert {label} == occurring
        elif len(occurring) <= 4:
            assert set(label.strip("{}").split(", ")) == occurring
        else:
            assert label == "*"


def test_h7_five_siblings_are_not_named():
    """Then the ancestor stands for all of them."""
    columns = {"race": np.array(list(RACES) * 2, dtype=object)}
    assert list(released_classes(columns, policy({"race": SUPPRESS}))) == [("*",)]
    four = {"race": np.array(list(RACES)[:4] * 3, dtype=object)}
    (labels,) = released_classes(four, policy({"race": SUPPRESS}, k=12))
    assert set(labels[0].strip("{}").split(", ")) == set(list(RACES)[:4])


@STYLES
def test_h7_the_order_of_records_changes_no_label(style):
    """Two exports of one table show the same; numbers, a hierarchy and values without one together."""
    columns = {**people(1_000), **{name: column[:1_000] for name, column in races().items()}}
    columns["ward"] = wards()["ward"][:1_000]
    attributes = {**on_steps(STEPS), "race": SUPPRESS, "sex": SUPPRESS, "ward": {"role": "k-quasi"}}
    order = np.random.default_rng(1).permutation(1_000)
    under = policy(attributes, style=style)
    one = released_classes(columns, under)
    other = released_classes({name: column[order] for name, column in columns.items()}, under)
    assert {labels: sorted(rows) for labels, rows in one.items()} == {
        labels: sorted(order[rows].tolist()) for labels, rows in other.items()
    }
    assert not any("private" in label for labels in one for label in labels)


def test_h7_a_lone_value_inside_a_coarse_cell_is_not_called_the_bound():
    """The label ends at 100 and the value is 97: who reads it learns the cell [95, 100), and the warning says no more."""
    ages = [str(20 + i % 40) for i in range(200)] + ["97"]
    settings = {"k": 5, "algorithm": "mondrian", "max_suppression": 0}
    policy = ke.Policy.from_dict({**settings, "attributes": {"age": {"role": "k-quasi", "step": 5}}})
    said = [str(warning) for warning in ke.check(pa.table({"age": ages}), policy).warnings]
    assert len(said) == 1
    assert "learns that cell, and the value itself if no other is possible there" in said[0]
    assert "value of a single record" not in said[0]
