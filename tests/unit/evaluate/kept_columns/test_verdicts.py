# SPDX-License-Identifier: Apache-2.0
"""What is an alarm and what a note, at and beside every threshold."""

from __future__ import annotations

import pytest

from kepsilon.evaluate.kept_columns.findings import KeptPair
from kepsilon.evaluate.kept_columns.verdicts import Linked, by_the_best, reasons_of

NOTHING = {
    "best": None, "n_records": 1_000, "bits": 0.0, "told": 0.0, "pairs": (), "identifiers_inside": 0.0, "is_serial": False, "is_sorted": False,
    "joined": 0.0, "joining_tells": False, "unique": 0.0, "is_date": False, "is_free_text": False,
}  # fmt: skip


def linked(links, *, classes=100, n_records=1_000, by="bins"):
    """Every record shows a value."""
    return Linked(links=links, by_chance=classes, n_shown=n_records, by=by, of=None)


def pair(gain, *, is_alarm):
    return KeptPair(columns=("a", "b"), of="weight", kind="sum", r_squared=0.9, gain=gain, is_alarm=is_alarm)


def test_links_are_counted_per_class():
    """λ and z as the model has them."""
    own = linked(250)
    assert own.per_class == 2.5
    assert own.z == pytest.approx((2.5 - 1) * 100**0.5)


@pytest.mark.parametrize(
    ("own", "n_records", "is_alarm", "is_note"),
    [
        pytest.param(linked(281), 1_000, True, False, id="a fifth of a perfect leak"),
        pytest.param(linked(279, n_records=2_000), 2_000, True, False, id="twice chance, 14 % linked"),
        pytest.param(linked(199, n_records=2_000), 2_000, False, True, id="less than twice chance, less than a fifth"),
        pytest.param(linked(350, n_records=100_000), 100_000, False, True, id="a weak correlation in classes of 1,000"),
        pytest.param(linked(2_001, n_records=100_000), 100_000, True, False, id="2 % linked in classes of 1,000"),
        pytest.param(linked(8, classes=4, n_records=12), 12, False, False, id="could be chance"),
        pytest.param(
            linked(11_000, classes=10_000, n_records=100_000), 100_000, False, False, id="sure, but a tenth more"
        ),
        pytest.param(linked(100, classes=100, n_records=100), 100, False, False, id="classes of one"),
    ],
)
def test_links_alarm_at_the_thresholds_of_the_model(own, n_records, is_alarm, is_note):
    """z ≥ 5, and a fifth of what a perfect leak gives, or twice chance with 2 % of all records."""
    alarms, notes = reasons_of(**{**NOTHING, "best": own, "n_records": n_records})
    assert ("links" in alarms, "links" in notes) == (is_alarm, is_note)


@pytest.mark.parametrize(
    ("found", "alarms", "notes"),
    [
        pytest.param({}, (), (), id="nothing"),
        pytest.param({"joined": 0.9, "joining_tells": True}, ("persons",), (), id="a pseudonym"),
        pytest.param({"joined": 0.89, "joining_tells": True}, (), ("persons",), id="joins many"),
        pytest.param({"joined": 1.0}, (), ("persons",), id="a pseudonym where records share ε"),
        pytest.param({"joined": 0.3, "joining_tells": True}, (), (), id="joins some"),
        pytest.param({"bits": 0.2}, ("bits",), (), id="a fifth of the bits"),
        pytest.param({"bits": 0.19}, (), ("bits",), id="fewer bits"),
        pytest.param({"told": 0.9}, ("alone",), (), id="an ε-quasi"),
        pytest.param({"told": 0.89}, (), ("alone",), id="less of an ε-quasi"),
        pytest.param({"told": 0.49}, (), (), id="little of an ε-quasi"),
        pytest.param({"pairs": (pair(0.3, is_alarm=True),)}, ("pair",), (), id="a pair"),
        pytest.param({"pairs": (pair(0.1, is_alarm=False),)}, (), ("pair",), id="a weaker pair"),
        pytest.param({"identifiers_inside": 0.001}, ("identifiers",), (), id="names in notes"),
        pytest.param(
            {"is_serial": True, "is_sorted": True, "unique": 1.0}, ("serial",), ("unique",), id="serial number"
        ),
        pytest.param({"is_sorted": True}, (), ("serial",), id="the input is sorted by it"),
        pytest.param({"unique": 0.34}, (), ("unique",), id="a third unique"),
        pytest.param({"unique": 0.33}, (), (), id="fewer unique"),
        pytest.param({"is_date": True}, (), ("date",), id="exact dates"),
        pytest.param({"is_free_text": True}, (), ("free text",), id="free text"),
    ],
)
def test_every_other_reason_is_an_alarm_or_a_note(found, alarms, notes):
    """Never both."""
    assert reasons_of(**{**NOTHING, **found}) == (alarms, notes)


def test_the_attacker_that_alarms_comes_before_the_one_with_the_larger_z():
    """Missing values make links by chance differ, and with them what is an alarm."""
    frequent = linked(1_900, classes=1_000, n_records=10_000)
    rare = Linked(links=90, by_chance=10.0, n_shown=100, by="formula", of=None)
    assert frequent.z > rare.z
    assert not frequent.is_alarming(10_000)
    assert by_the_best([frequent, rare], 10_000) is rare
    assert by_the_best([], 10) is None


def test_one_lucky_link_of_a_rare_value_is_no_proof():
    """Two records of a class of a thousand show a number, and one of them is linked."""
    own = Linked(links=1.0, by_chance=0.002, n_shown=2, by="formula", of=None)
    assert own.z < 5
    assert not own.is_alarming(1_000)
