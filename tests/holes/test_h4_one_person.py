# SPDX-License-Identifier: Apache-2.0
"""H4: several records of one person hide nobody, in what a release shows and in what is measured before it."""

from __future__ import annotations

import hashlib
import re
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kepsilon
from kepsilon.evaluate.outliers import extremes_of
from kepsilon.propose.column_names import Meaning, meanings_of


def policy(attributes: dict[str, Any], **settings: Any) -> kepsilon.Policy:
    """A policy of Mondrian at k = 5 in which `name` says whom a record is about."""
    top = {"k": 5, "epsilon": 2.0, "algorithm": "mondrian", "max_suppression": 0.0, "person": "name", **settings}
    return kepsilon.Policy.from_dict(top | {"attributes": {"name": {"role": "identifier"}, **attributes}})


def table(n_of_zoe: int, **columns: tuple[list[Any], Any]) -> pa.Table:
    """Ten persons with one record each, and Zoe with several; of each column the values of the ten, and Zoe's."""
    own = {name: [*values, *[zoes] * n_of_zoe] for name, (values, zoes) in columns.items()}
    return pa.table({"name": [*(f"P{i}" for i in range(10)), *["Zoe"] * n_of_zoe], **own})


@pytest.mark.parametrize("n_of_zoe", [1, 4, 5, 12])
def test_h4_no_label_names_a_value_that_one_person_holds(n_of_zoe):
    """Whatever number of records she has; with hers as another five persons', the value is named."""
    town = {"town": {"role": "k-quasi"}}
    people = table(n_of_zoe, town=(["A"] * 10, "Z"))
    released = kepsilon.anonymise(people, policy(town))
    assert set(released.frame.column("town").to_pylist()) == {"*"}
    audit = kepsilon.audit(people, released.frame, policy(town))
    assert audit.keeps_its_promises
    named = released.frame.set_column(0, "town", pa.array(["{A, Z}"] * len(people)))
    assert any("fewer than k persons" in own.what for own in kepsilon.audit(people, named, policy(town)).broken)


@pytest.mark.parametrize("n_of_zoe", [1, 2, 7])
def test_h4_a_bound_at_one_persons_value_is_counted(n_of_zoe):
    age = {"age": {"role": "k-quasi", "step": 1}}
    found = kepsilon.check(table(n_of_zoe, age=([30] * 5 + [31] * 5, 95)), policy(age, k=6))
    (warning,) = (own for own in found.warnings if own.where == "attributes.age.step")
    assert warning.what.startswith("1 of 2 bounds")
    assert "the cell of a single person" in warning.what


@pytest.mark.parametrize("n_of_zoe", [1, 2, 7])
def test_h4_an_outlier_stands_out_from_the_records_of_others(n_of_zoe):
    """An income that one person has in several records is worked out as well as in one."""
    income = {"income": {"role": "epsilon-quasi", "precision": 1, "range": "class"}}
    rich = table(n_of_zoe, income=([20_000.0 + 100 * i for i in range(10)], 1e6))
    found = kepsilon.check(rich, policy(income, epsilon_per="record"))
    assert found.outliers["income"].recoverable == 1
    # Whoever knows the ten others measures the noise of ten records.
    one = kepsilon.check(
        table(1, income=(rich.column("income").to_pylist()[:10], 1e6)), policy(income, epsilon_per="record")
    )
    assert found.outliers["income"].likeliest == pytest.approx(one.outliers["income"].likeliest)


rows = st.lists(st.tuples(st.integers(0, 3), st.integers(-2, 3), st.integers(0, 3)), max_size=25)


@given(rows)
def test_h4_extremes_are_those_of_two_persons(listed):
    """Against going through the persons of each class; whose value it is does not matter where several hold it."""
    ids, values, persons = (np.array([own[i] for own in listed], dtype=np.int64) for i in range(3))
    found = extremes_of(values.astype(float), ids, n_classes=4, persons=persons)
    for c in range(4):
        own = [(value, person) for i, value, person in listed if i == c]
        if not own:
            assert np.isnan([found.largest[c], found.smallest[c]]).all()
            continue
        for end, second, n_own, outermost in (
            (found.largest, found.second_largest, found.n_largest, max),
            (found.smallest, found.second_smallest, found.n_smallest, min),
        ):
            largest = outermost(value for value, _ in own)
            assert end[c] == largest
            possible = []
            for holder in {person for value, person in own if value == largest}:
                others = [value for value, person in own if person != holder]
                possible.append((outermost(others) if others else None, len(own) - len(others)))
            shown = None if np.isnan(second[c]) else second[c]
            assert (shown, np.asarray(n_own)[c]) in possible


def test_h4_one_record_of_many_that_names_its_person_is_found():
    """Each of thirty persons is named in one of forty notes: one note of each would hold too few names."""
    records = [(f"P{i:05}", j) for i in range(30) for j in range(40)]
    notes = [
        f"patient {name} was seen on ward {i}" if j == 7 else f"was seen on ward {i}"
        for i, (name, j) in enumerate(records)
    ]
    people = pa.table({"name": [name for name, _ in records], "sex": ["F"] * len(notes), "note": notes})
    sex = {"sex": {"role": "k-quasi"}}
    asked = policy({**sex, "note": {"role": "insensitive"}})
    with pytest.raises(kepsilon.UnsatisfiableError, match="hold an identifier of the same record"):
        kepsilon.anonymise(people, asked)
    accepted = policy({**sex, "note": {"role": "insensitive", "accept_leak": "made-up records"}})
    released = kepsilon.anonymise(people, accepted)
    found = kepsilon.audit(people, released.frame, asked, linkage=released.linkage).findings
    assert any(own.check == "leaks" and "hold an identifier" in own.what for own in found)


def test_h4_an_audit_says_that_noise_was_not_tried():
    """With a cap and without a linkage nothing is known record by record: values without noise are not passed over."""
    height = {"height": {"role": "epsilon-quasi", "precision": 0.1, "range": [140, 200]}}
    people = table(6, height=([160.0 + i for i in range(10)], 180.0))
    asked = policy(height, epsilon_per="person", max_records_per_person=2)
    released = pa.table({"height": [*(160.0 + i for i in range(10)), 180.0, 180.0]})
    found = [own for own in kepsilon.audit(people, released, asked).findings if own.check == "noise"]
    assert [own.severity for own in found] == ["warning"]
    assert "not tried without a linkage" in found[0].what


def test_h4_whoever_knows_kept_columns_is_said_not_to_join():
    """Where all records of a person carry one draw, joining them links more than the rows of kept columns say."""
    height = {"height": {"role": "epsilon-quasi", "precision": 1, "range": [140, 200]}}
    kept = {"ward": {"role": "sensitive"}}
    people = table(3, height=([160.0 + i for i in range(10)], 180.0), ward=(["A", "B"] * 5, "A"))
    for settings, says_so in (({}, True), ({"max_records_per_person": 2}, False)):
        found = kepsilon.anonymise(
            people, policy({**height, **kept}, epsilon_per="person", **settings)
        ).record.attackers
        rows = [own.how for own in found if own.name in ("one column", "everything")]
        assert len(rows) == 2
        assert all(("without joining" in how) is says_so for how in rows)


@pytest.mark.parametrize("name", ["persons", "patients", "participants", "respondents"])
def test_h4_a_number_of_persons_names_nobody(name):
    """Surveys count the persons of a household under such a name."""
    assert Meaning.PERSON_ID not in meanings_of(name)
    assert Meaning.PERSON_ID in meanings_of(name.removesuffix("s"))


def patients(n_persons: int, n_records: int, *, seed: int = 1) -> pa.Table:
    """Visits at which weight and height are measured anew, with columns that follow from them and others that do not."""
    rng = np.random.default_rng(seed)
    n = n_persons * n_records
    weight, height = rng.normal(80, 15, n).round(1), rng.normal(170, 10, n).round(0)
    return pa.table(
        {
            "name": np.repeat([f"P{i}" for i in range(n_persons)], n_records),
            "age": np.repeat(rng.integers(2, 6, n_persons) * 10, n_records),
            "weight": weight,
            "height": height,
            "bmi": (weight / (height / 100) ** 2).round(2),
            "inches": (height / 2.54).round(1),
            "sum": weight + height,
            "blood": np.repeat(rng.choice(list("ABCD"), n_persons), n_records),
            "town": np.repeat(rng.integers(0, 9, n_persons).astype(str), n_records),
            "income": np.repeat(rng.normal(30_000, 5_000, n_persons).round(-3), n_records),
            "pulse": rng.normal(70, 8, n).round(),
            "ward": rng.choice(list("ABCDEF"), n),
        }
    )


MEASURED = {
    "age": {"role": "k-quasi", "hierarchy": {"type": "suppress"}},
    "weight": {"role": "epsilon-quasi", "precision": 0.1, "range": [30, 150]},
    "height": {"role": "epsilon-quasi", "precision": 1, "range": [120, 220]},
}
CLEAN = ("blood", "town", "income", "pulse", "ward")


def of_patients(*kept: str, **accepted: Any) -> kepsilon.Policy:
    attributes = {**MEASURED, **{name: {"role": "sensitive", **accepted} for name in kept}}
    return policy(attributes, k=3, algorithm="ola", max_suppression=0.5, epsilon_per="record", unlisted_columns="drop")


@pytest.mark.parametrize("leak", ["bmi", "inches", "sum"])
@pytest.mark.parametrize(("n_persons", "n_records"), [(20, 60), (10, 100), (300, 4)])
def test_h4_a_leak_in_many_records_of_few_persons_is_found(n_persons, n_records, leak):
    """One record of each of twenty persons proves nothing; twelve hundred records do. Other columns are left alone."""
    people = patients(n_persons, n_records)
    with pytest.raises(kepsilon.UnsatisfiableError) as refused:
        kepsilon.check(people, of_patients(leak, *CLEAN))
    assert {problem.where for problem in refused.value.problems} == {f"attributes.{leak}"}
    (n_looked_at,) = re.findall(r"measured on all ([\d,]+) records", refused.value.problems[0].what)
    assert int(n_looked_at.replace(",", "")) in {n * n_records for n in range(n_persons // 2, n_persons + 1)}


def test_h4_an_audit_finds_such_a_leak():
    people = patients(20, 60)
    released = kepsilon.anonymise(people, of_patients("bmi", *CLEAN, accept_leak="made-up records"))
    found = kepsilon.audit(people, released.frame, of_patients("bmi", *CLEAN), linkage=released.linkage).findings
    (leak,) = (own for own in found if own.check == "leaks" and own.severity == "warning")
    assert leak.what.startswith("bmi gives people away")
    assert "looked at all 1,200 records" in leak.what


def test_h4_what_is_the_same_in_all_records_of_a_person_leaks_too():
    """Links to the very record are few, because a person's are alike; links to the person are many."""
    people = patients(60, 20)
    tall = np.repeat(np.random.default_rng(5).normal(170, 10, 60).round(1), 20)
    people = people.set_column(3, "height", pa.array(tall)).set_column(5, "inches", pa.array((tall / 2.54).round(2)))
    with pytest.raises(kepsilon.UnsatisfiableError, match="inches gives people away"):
        kepsilon.check(people, of_patients("inches"))


def hashed(people: pa.Table) -> pa.Table:
    names = people.column("name").to_pylist()
    return people.append_column("hash", pa.array([hashlib.md5(name.encode()).hexdigest()[:8] for name in names]))


@pytest.mark.parametrize(
    ("settings", "is_refused"),
    [
        pytest.param({"epsilon_per": "record"}, True, id="ε for a record"),
        pytest.param({"epsilon_per": "person"}, True, id="one draw"),
        pytest.param({"epsilon_per": "person", "max_records_per_person": 4}, False, id="records share ε"),
    ],
)
def test_h4_a_pseudonym_joins_a_persons_records(settings, is_refused):
    people = hashed(patients(300, 4))
    height = np.repeat(np.random.default_rng(5).normal(170, 10, 300).round(0), 4)
    people = people.set_column(3, "height", pa.array(height))
    attributes = {"age": MEASURED["age"], "height": MEASURED["height"], "hash": {"role": "insensitive"}}
    attributes |= {name: {"role": "insensitive"} for name in ("blood", "town", "income")}
    asked = policy(attributes, unlisted_columns="drop", algorithm="ola", **settings)
    said = (
        "hash is the same in all records of a person and differs between persons, for 100 % of those who have several"
    )
    if is_refused:
        with pytest.raises(kepsilon.UnsatisfiableError, match=said) as refused:
            kepsilon.check(people, asked)
        assert {problem.where for problem in refused.value.problems} == {"attributes.hash"}
        assert "occur once" not in str(refused.value)
        assert "are those of one person alone" in str(refused.value)
    else:
        (note,) = (own for own in kepsilon.check(people, asked).warnings if own.where == 'column "hash"')
        assert said in note.what


NOBODY_IS_NAMED_TWICE = {
    "NaN": [float("nan"), float("nan"), *map(float, range(10))],
    "blanks of Unicode": ["\u00a0", "\u00a0", "\u2003", *(f"P{i}" for i in range(9))],
}


@pytest.mark.parametrize("names", NOBODY_IS_NAMED_TWICE.values(), ids=NOBODY_IS_NAMED_TWICE)
def test_h4_what_names_nobody_does_not_repeat(names):
    """Of an identifier that does not say whom a record is about; one that names somebody twice is refused."""
    town = {"town": {"role": "k-quasi"}}
    asked = policy(town, person=None)
    kepsilon.anonymise(pa.table({"name": names, "town": ["A"] * 12}), asked)
    with pytest.raises(kepsilon.UnsatisfiableError, match="some persons have several records"):
        kepsilon.anonymise(pa.table({"name": [*names[2:], *names[-2:]], "town": ["A"] * 12}), asked)


def test_h4_an_audit_of_one_draw_says_the_most_first():
    """Whoever names the person with most records of a class links more than whoever takes the nearest original."""
    height = {"height": {"role": "epsilon-quasi", "precision": 1, "range": [140, 200]}}
    people = table(30, height=([160.0 + i for i in range(10)], 165.0))
    asked = policy(height, epsilon_per="person")
    released = kepsilon.anonymise(people, asked)
    audit = kepsilon.audit(people, released.frame, asked, linkage=released.linkage)
    rows = [own.realised for own in audit.figures.attackers if own.needs_only_quasis and own.realised is not None]
    assert max(rows) >= 0.75
    first = audit.headline.partition(". ")[0]
    assert "names the person" in first
    assert "links 75 % of the records, most of those who need to know nothing but the quasis" in first
