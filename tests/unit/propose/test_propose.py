# SPDX-License-Identifier: Apache-2.0
"""The policy that `init` proposes: each rule, what it must never say, and that it fits what the policy reader takes."""

from __future__ import annotations

import re
import tomllib
import uuid
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kepsilon as ke

N = 400
TO_DECIDE = ("k", "epsilon")
ABOUT_PERSONS = ("epsilon_per", "records_are_persons")
"""To be decided where identifiers repeat."""


def decided(text: str) -> str:
    """The proposal as a curator leaves it who takes every suggestion."""
    return re.sub(rf"^# (?=({'|'.join(TO_DECIDE + ABOUT_PERSONS)}) = )", "", text, flags=re.MULTILINE)


def proposed(**columns: list[Any] | pa.Array) -> dict[str, dict[str, Any]]:
    """Proposed attributes of some columns."""
    return tomllib.loads(ke.propose_policy(pa.table(columns)))["attributes"]


def section(text: str, name: str) -> str:
    """Comments and keys of one attribute."""
    return next(part for part in text.split("\n\n") if f"[attributes.{name}]" in part)


def cycle(*values: Any) -> list[Any]:
    return [values[i % len(values)] for i in range(N)]


def spread(low: int, high: int) -> list[int]:
    """Whole numbers with repeats, in no order, both ends among them."""
    return [low, high, *np.random.default_rng(7).integers(low, high + 1, N - 2).tolist()]


EMAILS = [f"someone{i % 90}@example.org" for i in range(N)]
CODES = [f"{i % 60:05}" for i in range(N)]
DAYS = [str(date(1990, 1, 1) + timedelta(days=i % 350)) for i in range(N)]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        pytest.param("a", [f"record {i}" for i in range(N)], id="unique text"),
        pytest.param("a", [f"record {max(i, 9)}" for i in range(N)], id="nearly unique text"),
        pytest.param("a", EMAILS, id="e-mail addresses"),
        pytest.param("a", [f"+49 30 {1000 + i % 99}-{i % 99:03}" for i in range(N)], id="phone numbers"),
        pytest.param(
            "a", [f"{100 + i % 99}-{i % 9:02}-{1000 + i % 99}" for i in range(N)], id="social security numbers"
        ),
        pytest.param("a", [str(uuid.UUID(int=i % 50)) for i in range(N)], id="UUIDs"),
        pytest.param("a", list(range(1000, 1000 + N)), id="a counter"),
        pytest.param("a", [str(i) for i in range(N)], id="a counter as text"),
        pytest.param("a", [600_000_000 + 7919 * i for i in range(N)], id="register numbers"),
        pytest.param("Patient ID", spread(1, 99), id="named patient id"),
        pytest.param("patientID", spread(1, 99), id="named in camel case"),
        pytest.param("mrn", spread(1, 99), id="named mrn"),
        pytest.param("visit_no", spread(1, 99), id="numbers something"),
        pytest.param("PtName", [f"X{i % 90}" for i in range(N)], id="ends in name"),
        pytest.param("SERIALNO", [f"2021HU{i % 90:07}" for i in range(N)], id="a survey's number of households"),
        pytest.param("a", [f"2021HU{i % 90:07}" for i in range(N)], id="codes with letters among digits"),
        pytest.param("Surname", cycle("A", "B", "C"), id="named surname"),
        pytest.param("last_name", cycle("A", "B", "C"), id="named last name"),
        pytest.param("home address", cycle("A", "B", "C"), id="named address"),
        pytest.param("phone", spread(1, 99), id="named phone"),
        pytest.param("notes", [f"note {i % 90}" for i in range(N)], id="free text by its name"),
        pytest.param("a", [f"{'a long story ' * 5}{i % 90}" for i in range(N)], id="free text by its length"),
    ],
)
def test_what_tells_persons_apart_is_an_identifier(name: str, values: list[Any]) -> None:
    """An identifier that is missed is published."""
    assert proposed(**{name: values})[name] == {"role": "identifier"}


def test_a_person_s_number_is_one_also_where_each_has_very_many_records() -> None:
    """Customers buy again and again: 40 of them in 2,000 records are still persons."""
    table = pa.table({"CustomerID": [10_000 + 7 * (i % 40) for i in range(2_000)], "sex": ["M", "F"] * 1_000})
    document = tomllib.loads(ke.propose_policy(table))
    assert document["attributes"]["CustomerID"] == {"role": "identifier"}
    assert document["person"] == "CustomerID"


def test_text_that_nothing_is_known_of_is_not_published_where_it_could_be_names() -> None:
    """All that could be generalised is the whole text, so hardly anything would be left of it anyway."""
    texts = [f"{'abcdefgh'[i % 8]}{'ijklmno'[i % 7]}{'pqrst'[i % 5]} x" for i in range(N)]
    text = ke.propose_policy(pa.table({"whose": texts, "sex": cycle("M", "F")}))
    assert set(tomllib.loads(text)["attributes"]) == {"sex"}
    assert "could be names of persons" in " ".join(section(text, "whose").replace("\n# ", " ").split())


def test_codes_that_are_nearly_unique_and_repeat_are_left_to_the_curator() -> None:
    """A release would refuse them, so the proposal has to say what is to be decided."""
    table = pa.table({"a": [f"r{max(i, 9)}x" for i in range(N)], "sex": cycle("M", "F")})
    text = ke.propose_policy(table)
    assert "# records_are_persons = true" in text
    ke.check(table, ke.Policy.from_dict(tomllib.loads(decided(text))))


@pytest.mark.parametrize("name", ["WTINT2YR", "wtmec2yr", "hochrechnungsfaktor", "LLCPWT", "final_weight", "Gewicht"])
def test_sampling_weights_are_found_whatever_they_are_called(name: str) -> None:
    """Capitals with digits among them are one word; a weight beyond a thousand is not that of a body."""
    weights = [1500.25 + 7 * (i % 90) for i in range(N)]
    text = ke.propose_policy(pa.table({name: weights, "sex": cycle("M", "F")}))
    assert set(tomllib.loads(text)["attributes"]) == {"sex"}
    assert "Sampling weights have no role yet" in section(text, name)


@pytest.mark.parametrize("name", ["birth_weight", "birthweight", "bwt", "Geburtsgewicht"])
def test_weights_of_newborns_are_no_sampling_weights(name: str) -> None:
    """They are in grams; the proposal said of them that they say how many people a record stands for, and dropped them."""
    weights = [1500 + 37 * (i % 90) for i in range(N)]
    text = ke.propose_policy(pa.table({name: weights, "sex": cycle("M", "F")}))
    assert set(tomllib.loads(text)["attributes"]) == {name, "sex"}
    assert "Sampling weights" not in text


def test_the_age_stays_where_another_column_says_the_same() -> None:
    """Nearly everybody knows it; the other one would be the first to go if there are too many k-quasis."""
    ages = spread(18, 90)
    assert set(proposed(points=[3 * a for a in ages], age=ages, sex=cycle("M", "F"))) == {"age", "sex"}


INTERVALS = {"type": "intervals"}


@pytest.mark.parametrize(
    ("name", "values", "step"),
    [
        pytest.param("yob", spread(1930, 2005), 2, id="years"),
        pytest.param("age", spread(0, 99), 5, id="ages"),
        pytest.param("a", cycle(0.5, 1.0, 1.5, 2.0, 2.5), 1, id="steps of a half"),
        pytest.param("children", cycle(0, 10, 20, 30, 40), 20, id="steps of ten"),
        pytest.param("sex", cycle("M", "F"), None, id="categories"),
        pytest.param("a", CODES, None, id="codes"),
    ],
)
def test_numbers_get_a_round_step_coarser_than_they_are(name: str, values: list[Any], step: float | None) -> None:
    """So that no bound of a label is the value of a single record; the comment says that the step is public."""
    text = ke.propose_policy(pa.table({name: values}))
    assert proposed(**{name: values})[name].get("step") == step
    assert ("must not come from the data" in text) is (step is not None)


@pytest.mark.parametrize(
    ("name", "values", "hierarchy"),
    [
        pytest.param("a", CODES, {"type": "mask"}, id="codes with leading zeros"),
        pytest.param("a", [str(20_000 + i % 77) for i in range(N)], {"type": "mask"}, id="codes of five digits"),
        pytest.param("zip", [f"AB{i % 9} {i % 7}XY" for i in range(N)], {"type": "mask"}, id="postcodes with letters"),
        pytest.param("PLZ", spread(1000, 99_999), {"type": "mask"}, id="postcodes as numbers"),
        pytest.param("a", spread(1930, 2005), {**INTERVALS, "widths": [2, 4, 8]}, id="years"),
        pytest.param(
            "yob", [f"{y}.0" for y in spread(1930, 2005)], {**INTERVALS, "widths": [2, 4, 8]}, id="years as text"
        ),
        pytest.param("age", spread(0, 99), {**INTERVALS, "widths": [5, 10, 20]}, id="ages"),
        pytest.param("age", [str(a) for a in spread(0, 99)], {**INTERVALS, "widths": [5, 10, 20]}, id="ages as text"),
        pytest.param("a", DAYS, {"type": "dates", "units": ["month", "quarter", "year"]}, id="dates as text"),
        pytest.param("a", pa.array([date(1990, 1, 1 + i % 28) for i in range(N)]), {"type": "dates"}, id="typed dates"),
        pytest.param(
            "a", [f"{1 + i % 28}.{1 + i % 12}.1990" for i in range(N)], {"format": "%d.%m.%Y"}, id="dates with dots"
        ),
        pytest.param(
            "a", [f"{1 + i % 12}/{1 + i % 28}/1990" for i in range(N)], {"format": "%m/%d/%Y"}, id="month first"
        ),
        pytest.param(
            "a", [f"{1 + i % 28}/{1 + i % 12}/1990" for i in range(N)], {"format": "%d/%m/%Y"}, id="day first"
        ),
        pytest.param(
            "a",
            [f"{1 + i % 12}/{13 + i % 9}/1990 {i % 24}:00" for i in range(N)],
            {"format": "%m/%d/%Y %H:%M"},
            id="dates with a time",
        ),
        pytest.param("AgeAtAdmission", spread(0, 99), {**INTERVALS, "widths": [5, 10, 20]}, id="ages at something"),
        pytest.param("RIDAGEYR", spread(0, 80), {**INTERVALS, "widths": [5, 10, 20]}, id="ages of a known survey"),
        pytest.param("Zip5", spread(10_000, 99_999), {"type": "mask"}, id="postcodes with their length in the name"),
        pytest.param("a", cycle(1, 2, 3, 6, 11, 18, 25), {"type": "suppress"}, id="kinds with gaps"),
        pytest.param("a", cycle(0, 5, 10, 25, 100), INTERVALS, id="round amounts"),
        pytest.param("sex", cycle("M", "F"), {"type": "suppress"}, id="sex"),
        pytest.param("married", pa.array(cycle(True, False, None)), {"type": "suppress"}, id="booleans"),
        pytest.param(
            "native-country", [f"c{i % 42}" for i in range(N)], {"type": "suppress"}, id="many values, demographic"
        ),
        pytest.param("children", spread(0, 9), {**INTERVALS, "widths": [2, 4, 8]}, id="few numbers"),
        pytest.param("a", cycle(0.5, 1.0, 1.5, 2.0, 2.5), {**INTERVALS, "widths": [0.5, 1, 2]}, id="few decimals"),
        pytest.param("a", cycle("x", "y", "z"), {"type": "suppress"}, id="unknown, the safe side"),
        pytest.param("has_phone", cycle("yes", "no"), {"type": "suppress"}, id="yes or no is no phone number"),
        pytest.param("hospital_id", cycle(1, 2, 3), {"type": "suppress"}, id="an id of few things"),
        pytest.param(
            "family income group", cycle("low", "high"), {"type": "suppress"}, id="both meanings, the safe side"
        ),
    ],
)
def test_what_others_may_know_is_a_k_quasi_with_a_fitting_hierarchy(
    name: str, values: list[Any], hierarchy: dict[str, Any]
) -> None:
    """The hierarchy decides how much of the column is left."""
    attribute = proposed(**{name: values})[name]
    assert attribute["role"] == "k-quasi"
    assert attribute["hierarchy"].items() >= hierarchy.items()


@pytest.mark.parametrize(
    ("values", "precision"),
    [
        pytest.param(spread(0, 300), 1, id="whole numbers"),
        pytest.param([v / 10 for v in spread(0, 3000)], 0.1, id="one decimal"),
        pytest.param([f"{v / 100:.2f}" for v in spread(0, 3000)], 0.01, id="two decimals as text"),
        pytest.param([f"{v}.0" for v in spread(0, 300)], 1, id="zeros at the end are no decimals"),
        pytest.param([Decimal(v) / 1000 for v in spread(0, 3000)], 0.001, id="typed decimals"),
        pytest.param([f"{v}e-2" for v in spread(1, 999)], 0.01, id="exponents"),
        pytest.param([v / 7 for v in spread(0, 3000)], 0.01, id="computed numbers have more decimals than they mean"),
        pytest.param(spread(0, 900_000_000), 100, id="a range that would show the grid of the noise"),
    ],
)
def test_numbers_of_many_values_are_epsilon_quasis_with_a_precision_read_off_their_decimals(
    values: list[Any], precision: float
) -> None:
    """Too fine a precision is refused later; too coarse a one costs use."""
    attribute = proposed(amplitude=values)["amplitude"]
    assert (attribute["role"], attribute["precision"]) == ("epsilon-quasi", precision)
    step, (low, high) = Decimal(str(attribute["range"]["coarse"])), attribute["domain"]
    assert step % Decimal(str(precision)) == 0
    assert low == 0
    assert Decimal(str(high)) % Decimal(str(precision)) == 0
    for number in (step, Decimal(str(high))):
        assert number.normalize().as_tuple().digits in ((1,), (2,), (5,)), "a round number tells little"
    assert high >= 2 * max(map(float, values))


@pytest.mark.parametrize(
    ("name", "values", "domain"),
    [
        pytest.param("amplitude", spread(-5, 300), None, id="some are negative"),
        pytest.param("amplitude", spread(0, 300), [0, 1000], id="none is negative"),
        pytest.param("amplitude", [v / 10 for v in spread(0, 990)], [0, 200], id="decimals"),
        pytest.param("fat_percent", [v / 10 for v in spread(0, 990)], [0, 100], id="per cent"),
        pytest.param("fat_percent", spread(0, 300), [0, 1000], id="not really per cent"),
        pytest.param("level", [1_050_000_000_000_000 + v for v in spread(0, 900)], None, id="too large for bounds"),
    ],
)
def test_a_domain_is_proposed_where_no_number_is_negative(name: str, values: list[Any], domain: Any) -> None:
    """Noise would otherwise publish negative weights; and the proposal has to be a valid policy."""
    table = pa.table({name: values, "x": cycle("a", "b")[:1] * len(values)})
    text = ke.propose_policy(table)
    assert tomllib.loads(text)["attributes"][name].get("domain") == domain
    for key in TO_DECIDE:
        text = text.replace(f"# {key} = ", f"{key} = ", 1)
    ke.Policy.from_dict(tomllib.loads(text))


@pytest.mark.parametrize(
    ("codes", "hierarchy"),
    [
        pytest.param(["23740", "01234", "99999"], {"type": "mask"}, id="one length"),
        pytest.param(["23740", "2374", "999991234"], {"type": "mask", "length": 9}, id="unequal lengths"),
    ],
)
def test_a_mask_states_its_length_where_codes_have_unequal_lengths(codes: list[str], hierarchy: Any) -> None:
    """One long code must not set the labels of all, so the curator states a public length."""
    table = pa.table({"zip": cycle(*codes)})
    text = ke.propose_policy(table)
    assert tomllib.loads(text)["attributes"]["zip"]["hierarchy"] == hierarchy
    (line,) = (line for line in text.splitlines() if line.startswith("hierarchy = "))
    assert ("edit me: must not come from the data" in line) is ("length" in hierarchy)


def test_the_range_is_a_choice_that_names_its_alternatives() -> None:
    """The range decides the promise and has no default, so the file must say what else there is."""
    text = ke.propose_policy(pa.table({"amplitude": spread(0, 300)}))
    assert "range = { coarse = 100 }   # edit me: must not come from the data; or [low, high]: see above" in text
    for words in (
        "as in the paper",
        "gives an\n#                       extreme value away",
        "smaller than the step",
        "bounds you know without looking",
        "it tells roughly how far the values reach, outliers included",
    ):
        assert words in text


@pytest.mark.parametrize("name", ["diagnosis", "income", "blood pressure", "BloodPressure", "test_result", "Salary"])
@pytest.mark.parametrize("values", [spread(80, 200), cycle("a", "b", "c")], ids=["numbers", "text"])
def test_what_looks_clinical_or_financial_is_sensitive(name: str, values: list[Any]) -> None:
    """It is what the data is about; noise or generalisation would spoil it."""
    assert proposed(**{name: values})[name] == {"role": "sensitive"}


@pytest.mark.parametrize("values", [cycle("x"), cycle(None), cycle("")], ids=["one value", "nulls", "blanks"])
def test_constant_columns_are_insensitive(values: list[Any]) -> None:
    """What is the same for all tells nobody apart."""
    table = pa.table({"a": pa.array(values, pa.string()), "sex": cycle("M", "F")})
    assert tomllib.loads(ke.propose_policy(table))["attributes"]["a"] == {"role": "insensitive"}


def test_present_or_missing_is_not_constant() -> None:
    """Whether somebody has a value at all can be known by others."""
    assert proposed(a=cycle("x", None))["a"]["role"] == "k-quasi"


def test_kinds_that_cannot_be_judged_are_left_to_the_curator() -> None:
    """A column without a role is refused later, so that it cannot slip through."""
    table = pa.table({"scan": pa.array([[1, 2]] * N), "bytes": pa.array([b"\xff\xfe"] * N), "sex": cycle("M", "F")})
    text = ke.propose_policy(table)
    assert "DECIDE" in section(text, "scan")
    assert set(tomllib.loads(text)["attributes"]) == {"sex"}
    with pytest.raises(ke.DataError, match='no role in the policy for columns "scan", "bytes"'):
        ke.check(table, ke.Policy.from_dict(tomllib.loads(decided(text))))


def test_an_unedited_proposal_is_refused_naming_what_must_be_decided() -> None:
    """k and epsilon are never guessed; all that is open is said at once."""
    columns = {"sex": cycle("M", "F"), "height": [150.5 + i % 90 / 2 for i in range(N)]}
    with pytest.raises(ke.PolicyError) as refused:
        ke.Policy.from_dict(tomllib.loads(ke.propose_policy(pa.table(columns))))
    assert {problem.where.split(": ")[1] for problem in refused.value.problems} == set(TO_DECIDE)


def test_without_an_epsilon_quasi_nothing_is_said_about_noise_or_averages() -> None:
    """An epsilon that nothing is drawn with would promise nothing."""
    text = ke.propose_policy(pa.table({"sex": cycle("M", "F")}))
    assert "epsilon = " not in text
    assert "averages" not in text.replace("published with noise, or averaged", "")
    assert "loses least" in text
    policy = ke.Policy.from_dict(tomllib.loads(decided(text)))
    assert (policy.epsilon, policy.notes) == (None, ())


def test_averages_are_offered_in_place_of_epsilon_and_can_be_taken_as_they_stand() -> None:
    """A curator who removes that # instead of the one before epsilon has a policy with averages."""
    text = ke.propose_policy(pa.table({"sex": cycle("M", "F"), "height": [150.5 + i % 90 / 2 for i in range(N)]}))
    text = re.sub(r"^# (?=(k|averages) = )", "", text, flags=re.MULTILINE)
    policy = ke.Policy.from_dict(tomllib.loads(text))
    assert (policy.epsilon, policy.draws_noise, policy.averages.group) == (None, False, 25)
    assert policy.notes == ()


def test_a_table_of_identifiers_is_said_to_have_nothing_to_protect() -> None:
    """The policy would be refused anyway; the file says why before the curator wonders."""
    text = ke.propose_policy(pa.table({"name": cycle("A", "B", "C")}))
    assert "no column looks like a k-quasi or an epsilon-quasi" in text


def test_persons_with_several_records_are_counted_at_the_top() -> None:
    """k counts records: a class of k records can hold fewer than k persons."""
    text = ke.propose_policy(pa.table({"patient_id": [*range(300), *range(100)], "sex": cycle("M", "F")}))
    top = text.partition("[attributes")[0]
    told = " ".join(top.replace("\n# ", " ").split())
    assert (
        'ATTENTION: 100 persons have several records, going by column "patient_id": 300 persons, 400 records.' in told
    )
    assert "With person, k counts persons, not records" in told
    assert tomllib.loads(text)["person"] == "patient_id"
    assert "epsilon_per" not in text  # there is no noise


def test_what_epsilon_covers_is_left_to_be_decided_where_there_is_noise() -> None:
    """As k and epsilon are; both answers are explained, and the policy is not complete without one of them."""
    table = pa.table({"patient_id": [*range(300), *range(100)], "sex": cycle("M", "F"), "amplitude": spread(0, 99)})
    text = ke.propose_policy(table)
    assert "a person of r records spends r times epsilon" in text
    assert "max_records_per_person" in text
    assert "epsilon_per" not in tomllib.loads(text)
    document = tomllib.loads(decided(text))
    assert document["epsilon_per"] == "record"
    assert ke.check(table, ke.Policy.from_dict(document)).persons.count == 300
    shared = {**document, "epsilon_per": "person", "max_records_per_person": 1}
    assert ke.check(table, ke.Policy.from_dict(shared)).records.suppressed_by_cap == 100


ONCE = list(range(1000, 1000 + N))
TWICE = [f"P{i // 2:04}" for i in range(N)]


@pytest.mark.parametrize(
    ("columns", "person"),
    [
        pytest.param({"patient_id": TWICE}, "patient_id", id="a number of persons"),
        pytest.param({"patient_nbr": TWICE, "encounter_id": ONCE}, "patient_nbr", id="beside a number of records"),
        pytest.param({"visit_no": TWICE, "patient_id": TWICE[::-1]}, "patient_id", id="beside one of something"),
        pytest.param({"email": [f"p{i // 2}@example.org" for i in range(N)]}, "email", id="addresses"),
        pytest.param({"id": [None, " ", *TWICE[2:]]}, "id", id="an id that some lack"),
    ],
)
def test_a_number_of_persons_that_repeats_is_proposed_as_person(columns: dict[str, Any], person: str) -> None:
    """So that k counts persons without anybody having to know the key."""
    table = pa.table({**columns, "sex": cycle("M", "F")})
    text = ke.propose_policy(table)
    document = tomllib.loads(decided(text))
    assert document["person"] == person
    n_lacking = sum(not str(value or "").strip() for value in columns[person])
    assert ("do not say whom they are about" in text.replace("\n# ", " ")) is (n_lacking > 0)
    found = ke.check(table, ke.Policy.from_dict(document))
    assert found.records.read - found.records.counted == n_lacking


def test_records_are_persons_where_a_number_of_persons_never_repeats() -> None:
    """A repeated surname is then no reason to refuse the table, and the policy says why."""
    table = pa.table({"surname": cycle("A", "B", "C"), "patient_id": ONCE, "sex": cycle("M", "F")})
    text = ke.propose_policy(table)
    document = tomllib.loads(decided(text))
    assert document["records_are_persons"] is True
    assert tomllib.loads(text)["records_are_persons"] is True
    assert 'Every record has its own value of "patient_id"' in text
    ke.check(table, ke.Policy.from_dict(document))


@pytest.mark.parametrize("beside", [{}, {"encounter_id": ONCE}], ids=["alone", "beside a number of records"])
def test_repeated_surnames_are_left_to_be_decided(beside: dict[str, Any]) -> None:
    """Nobody but the curator knows whether they are namesakes; a number of records does not tell."""
    table = pa.table({"surname": cycle("A", "B", "C"), **beside, "sex": cycle("M", "F")})
    text = ke.propose_policy(table)
    assert "records_are_persons" not in tomllib.loads(text)
    assert 'or person = "surname"' in text
    document = tomllib.loads(decided(text))
    ke.check(table, ke.Policy.from_dict(document))
    with pytest.raises(ke.UnsatisfiableError):
        ke.check(table, ke.Policy.from_dict({**document, "records_are_persons": False}))


def test_repeated_full_names_are_only_pointed_out() -> None:
    """A release warns of them too, and is not refused."""
    table = pa.table({"name": cycle("Ann A", "Bea B", "Cora C"), "sex": cycle("M", "F")})
    text = ke.propose_policy(table)
    assert 'ATTENTION: 3 values of column "name" occur in several records: namesakes' in text
    assert "State person" in text
    document = tomllib.loads(decided(text))
    assert not document.keys() & {"person", "records_are_persons"}
    first, *_ = ke.check(table, ke.Policy.from_dict(document)).warnings
    assert first.where == 'column "name"'


def test_sensitive_columns_say_what_classes_can_be_asked_for() -> None:
    """The lines are comments: most policies do without."""
    text = ke.propose_policy(pa.table({"diagnosis": cycle(*"ABCDE"), "sex": cycle("M", "F", "F")}))
    offered = section(text, "diagnosis")
    assert "l_diversity = { distinct = 3 }" in offered
    assert "t_closeness = 0.3" in offered
    asked = ke.Policy.from_dict(tomllib.loads(decided(text).replace("# l_diversity", "l_diversity")))
    assert asked.diverse == ("diagnosis",)


def test_names_that_repeat_are_spoken_of_only_where_no_number_tells_persons_apart() -> None:
    """Namesakes are no alarm when a social security number shows that they are two persons."""
    columns = {"name": cycle("A", "B", "C"), "sex": cycle("M", "F")}
    assert "namesakes" in ke.propose_policy(pa.table(columns))
    assert "ATTENTION" not in ke.propose_policy(pa.table({**columns, "patient_id": list(range(N))}))


def test_values_appear_only_in_lists_of_groups_and_only_if_many_records_share_them() -> None:
    """A policy is shown around; a value that few records hold could name somebody."""
    rare = ["Zebra-keeper"] * 3 + ["Yodeller"]
    jobs = [*cycle("Nurse-day", "Nurse-night", "Baker", "Miller", "Cooper")[: N - 4], *rare]
    heights = [f"{1717 + 0.5 * (i % 80):.1f}" for i in range(N)]
    text = ke.propose_policy(
        pa.table({"job": jobs, "income": cycle("11111", "22222", "33333", "44444"), "city": [f"Xyz{i % 44}" for i in range(N)],
                  "amplitude": heights, "email": EMAILS, "zip": [f"9{v}" for v in CODES]})
    )  # fmt: skip
    for hidden in ("Zebra", "Yodeller", "22222", "Xyz", "1717", "1756", "someone", "example.org", "900"):
        assert hidden not in text
    listed = [line for line in text.splitlines() if "Baker" in line]
    assert listed == ['#     "Baker", "Cooper", "Miller"']
    assert "add the 2 that fewer than 20 records hold" in text.replace("\n# ", " ")


def test_groups_offered_as_a_comment_can_take_the_place_of_suppress() -> None:
    """Values with a first word in common belong together; the curator moves the rest."""
    table = pa.table({"job": cycle("Nurse-day", "Nurse-night", 'Ba"ker', "Mil\\ler", "Coop\ner", "Others")})
    text = ke.propose_policy(table)
    assert text.count("copied from the data") == 2
    assert "left out of the public manifest" in text
    before, after = decided(text).split('hierarchy = { type = "suppress" }\n')
    offered = re.sub(r"^# ", "", after.partition("\n")[2], flags=re.MULTILINE)
    policy = ke.Policy.from_dict(tomllib.loads(before + offered))
    (levels,) = policy.model_dump()["attributes"]["job"]["hierarchy"]["levels"]
    assert levels["Nurse"] == ("Nurse-day", "Nurse-night")
    assert set(levels) == {"Nurse", "Others…"}
    assert ke.check(table, policy).records.suppressed_unlisted == 0


def test_text_among_numbers_is_counted() -> None:
    """A text that nobody knows for a mark of missing values is left to the curator."""
    text = ke.propose_policy(pa.table({"amplitude": [*["none given"] * 30, *(str(v) for v in spread(1, 99)[30:])]}))
    assert "370 records hold numbers, 30 hold text" in text
    assert "missing_values = " not in text


@pytest.mark.parametrize("name", ["amplitude", "age", "year of birth", "zip"])
@pytest.mark.parametrize(
    "marks",
    [["NA"], ["nan"], ["?"], [" ? "], ["."], ["-"], ["N/A", "unknown"]],
    ids=lambda marks: " ".join(marks).strip(),
)
def test_marks_of_missing_values_among_numbers_are_proposed(name: str, marks: list[str]) -> None:
    """Such a column is one of numbers: it gets the role that it has without the marks, and the reason says how many."""
    numbers = [
        str(v)
        for v in (spread(1930, 2005) if "year" in name else spread(10_000, 10_090) if name == "zip" else spread(1, 99))
    ]
    dirty = [marks[i % len(marks)] if i < 30 else value for i, value in enumerate(numbers)]
    clean = [None if i < 30 else value for i, value in enumerate(numbers)]
    table = pa.table({name: dirty, "sex": cycle("F", "M")})
    text = ke.propose_policy(table)
    attribute = tomllib.loads(text)["attributes"][name]
    assert attribute.pop("missing_values") == sorted({mark.strip() for mark in marks})
    assert attribute == proposed(**{name: clean, "sex": cycle("F", "M")})[name]
    assert "30 records hold" in text
    found = ke.check(table, ke.Policy.from_dict(tomllib.loads(decided(text))))
    assert found.records.suppressed_unlisted == 0
    assert found.records.suppressed_missing == (30 if attribute["role"] == "epsilon-quasi" else 0)


@pytest.mark.parametrize("mark", ["?", " ? ", "-", "N/A"])
def test_signs_of_missing_values_among_words_and_dates_are_proposed(mark: str) -> None:
    """A sign is no answer: it is not put into groups with answers, and dates with some signs among them are dates."""
    races = cycle("Asian", "Black", "Other", "White")
    dates = [f"{1940 + i % 60}-0{1 + i % 9}-1{i % 10}" for i in range(400)]
    columns = {name: [mark if i < 30 else own for i, own in enumerate(values)] for name, values in
               {"race": races, "born": dates}.items()}  # fmt: skip
    table = pa.table({**columns, "sex": cycle("F", "M")})
    found = ke.propose_with_reasons(table)
    attributes = tomllib.loads(found.text)["attributes"]
    for name in columns:
        assert attributes[name]["missing_values"] == [mark.strip()], name
    assert attributes["born"]["hierarchy"]["type"] == "dates"
    offered = found.text.partition("# hierarchy = ")[2].partition("] } ] }")[0]
    assert "Asian" in offered
    assert f'"{mark}"' not in offered
    assert any(f'race ("{mark.strip()}": 30 records)' in told for told in found.warnings)
    checked = ke.check(table, ke.Policy.from_dict(tomllib.loads(decided(found.text))))
    assert checked.records.suppressed_unlisted == 0


@pytest.mark.parametrize("word", ["none", "unknown", "NA", "77"])
def test_words_that_may_be_answers_are_not_taken_for_missing_values(word: str) -> None:
    """NA is a country, and "none" answers which treatment somebody had."""
    values = [word if i < 30 else own for i, own in enumerate(cycle("DE", "FR", "one", "two"))]
    assert (
        "missing_values" not in tomllib.loads(ke.propose_policy(pa.table({"answer": values})))["attributes"]["answer"]
    )


def test_an_age_beside_a_date_of_birth_is_enough() -> None:
    """Both say the same; the age stays, because its labels are finer. Dates of admission and discharge both stay."""
    rng = np.random.default_rng(1)
    day = np.datetime64("1935-01-01")
    born = day + rng.integers(0, 25_000, 400)
    admitted = np.datetime64("2023-01-01") + rng.integers(0, 365, 400)
    table = pa.table(
        {
            "date_of_birth": born.astype(str).tolist(),
            "age": ((np.datetime64("2024-01-01") - born).astype(int) // 365).tolist(),
            "admitted": admitted.astype(str).tolist(),
            "discharged": (admitted + rng.integers(1, 4, 400)).astype(str).tolist(),
        }
    )
    roles = {own.name: (own.role, own.reason) for own in ke.propose_with_reasons(table).columns}
    assert roles["date_of_birth"] == ("not published", 'It follows from "age".')
    assert [roles[name][0] for name in ("age", "admitted", "discharged")] == ["k-quasi"] * 3


def test_a_kept_column_of_nearly_unique_values_is_to_be_looked_at_first() -> None:
    """It is published as it is, and whoever knows a debt finds the record: a note in the file alone is easily missed."""
    rng = np.random.default_rng(1)
    table = pa.table({"age": rng.integers(18, 90, 2_000), "debt": rng.integers(0, 10**6, 2_000)})
    (debt,) = [own for own in ke.propose_with_reasons(table).columns if own.name == "debt"]
    assert debt.role == "sensitive"
    assert any("occur once among the records looked at" in told for told in debt.warnings)


def test_no_missing_values_are_proposed_for_what_is_kept() -> None:
    """Kept columns are published unchanged, and a policy refuses the key there."""
    values = [*["?"] * 30, *(str(v) for v in spread(100, 999)[30:])]
    text = ke.propose_policy(pa.table({"blood pressure": values, "sex": cycle("F", "M")}))
    attribute = tomllib.loads(text)["attributes"]["blood pressure"]
    assert attribute == {"role": "sensitive"}
    ke.Policy.from_dict(tomllib.loads(decided(text)))


WITH_COMMAS = [f"{v // 10},{v % 10}" for v in spread(100, 999)]


def test_decimal_commas_throughout_are_proposed() -> None:
    """Half of Europe writes them; marks of missing values and whole numbers may be among them."""
    values = ["?", "7", *WITH_COMMAS[2:]]
    table = pa.table({"amplitude": values, "sex": cycle("F", "M")})
    text = ke.propose_policy(table)
    document = tomllib.loads(decided(text))
    assert document["decimal"] == ","
    assert document["attributes"]["amplitude"]["role"] == "epsilon-quasi"
    assert document["attributes"]["amplitude"]["precision"] == 0.1
    assert document["attributes"]["amplitude"]["missing_values"] == ["?"]
    assert ke.check(table, ke.Policy.from_dict(document)).records.suppressed_missing == 1


@pytest.mark.parametrize(
    "columns",
    [
        pytest.param({"a": WITH_COMMAS, "b": [f"{v / 10}" for v in spread(100, 999)]}, id="points in another column"),
        pytest.param({"a": [f"{v},{v + 100:03}" for v in spread(1, 800)]}, id="thousands"),
        pytest.param({"a": [*WITH_COMMAS[1:], "1.5"]}, id="points in the same column"),
        pytest.param({"a": [*WITH_COMMAS[1:], "1,5,1"]}, id="two commas"),
        pytest.param({"a": [float(v.replace(",", ".")) for v in WITH_COMMAS]}, id="numbers"),
    ],
)
def test_what_may_be_no_decimal_comma_is_not_guessed(columns: dict[str, Any]) -> None:
    """A wrong sign would make 1,500 of 1.5."""
    text = ke.propose_policy(pa.table({**columns, "sex": cycle("F", "M")}))
    assert "decimal" not in tomllib.loads(text)


def test_missing_numbers_are_counted_and_both_ways_are_named() -> None:
    """Records that lack an ε-quasi leave by default, which the curator should know beforehand."""
    text = ke.propose_policy(pa.table({"amplitude": [None, None, *spread(0, 99)[2:]]}))
    assert "2 records lack it" in text
    assert 'missing = "class"' in text


def test_a_few_addresses_among_other_text_are_pointed_out() -> None:
    """An e-mail address typed into a comment is easily missed."""
    text = ke.propose_policy(pa.table({"a": [*EMAILS[:5], *cycle("x", "y", *"abcdefghijklm")[5:]]}))
    assert "CAREFUL: some of its values look like e-mail addresses." in text


@pytest.mark.parametrize(
    "name",
    ["two words", "a.b", 'say "hi"', "back\\slash", "Größe", "身長", "line\nbreak = 1", "# no comment", "", "]", "tab\t", "rtl\u202e", "\x7f"],
)  # fmt: skip
def test_hostile_column_names_are_quoted(name: str) -> None:
    """A column name must neither break the file nor end a comment."""
    text = ke.propose_policy(pa.table({name: cycle("x", "y"), "email": EMAILS}))
    policy = ke.Policy.from_dict(tomllib.loads(decided(text)))
    assert set(policy.attributes) == {name, "email"}


@pytest.mark.parametrize(
    "store", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())], ids=str
)
def test_roles_do_not_depend_on_how_text_is_stored(store: pa.DataType) -> None:
    """Polars hands over string views and categories, pandas large strings; nulls stay nulls in each."""
    columns = {"sex": cycle("M", "F", None), "amplitude": [None, *map(str, spread(0, 99)[1:])], "email": EMAILS}
    plain = ke.propose_policy(pa.table(columns))
    assert (
        ke.propose_policy(pa.table({name: pa.array(values).cast(store) for name, values in columns.items()})) == plain
    )


numbers = st.one_of(st.integers(-(10**20), 10**20), st.floats(), st.integers(0, 9), st.integers(1900, 2050))
fields = st.one_of(
    st.text(max_size=6),
    numbers.map(str),
    st.dates().map(str),
    st.sampled_from(["M", "F", "", " ", "NA", "007", "1e400", "1e-300"]),
)
names = st.one_of(
    st.text(max_size=12), st.sampled_from(["age", "zip", "sex", "income", "year", "patient id", "dob", "notes"])
)


@st.composite
def tables(draw: st.DrawFn, n_columns: tuple[int, int] = (1, 4)) -> pa.Table:
    """Any columns under any names, typed and as text; few distinct values, so that they repeat."""
    n_records = draw(st.integers(1, 60))
    columns = {}
    for name in draw(st.lists(names, min_size=n_columns[0], max_size=n_columns[1], unique=True)):
        kind = draw(
            st.sampled_from(
                [st.one_of(st.none(), fields), numbers.map(str), st.dates().map(str), st.integers(0, 99), st.floats()]
            )
        )
        pool = draw(st.lists(kind, min_size=1, max_size=50))
        values = [pool[i % len(pool)] for i in range(n_records)]
        columns[name] = (
            pa.array(values, pa.string()) if any(isinstance(v, str | None) for v in values) else pa.array(values)
        )
    return pa.table(columns)


@given(tables())
@settings(max_examples=300, deadline=None)
def test_every_proposal_is_accepted_once_it_is_decided(table: pa.Table) -> None:
    """Whatever the data: a proposal that is refused would leave the curator alone with our mistake."""
    accept(table)


@given(tables((7, 12)))
@settings(max_examples=60, deadline=None)
def test_a_proposal_with_more_k_quasis_than_make_sense_is_accepted_too(table: pa.Table) -> None:
    """Columns that are left out are dropped by the policy, which says so."""
    accept(table)


def accept(table: pa.Table) -> None:
    """Fails unless the proposal for a table is a policy that the table can be checked with."""
    text = ke.propose_policy(table)
    document = tomllib.loads(decided(text))
    if "ATTENTION: no column looks like" in text:
        return
    policy = ke.Policy.from_dict(document)
    left_out = set(table.column_names) - set(policy.attributes)
    assert not left_out or policy.unlisted_columns == "drop" or "DECIDE" in text
    if table.num_rows >= 2 and "DECIDE" not in text:
        # Columns drawn at random may follow from each other, which is for the curator to accept.
        for attribute in document["attributes"].values():
            if attribute["role"] in ("sensitive", "insensitive"):
                attribute["accept_leak"] = "made-up records"
        if "person" not in document or n_persons_with_whole_records(table, document["person"]) >= 2:
            ke.check(table, ke.Policy.from_dict({**document, "k": 2, "max_suppression": 0}))


def n_persons_with_whole_records(table: pa.Table, person: str) -> int:
    """How many persons have a record that lacks nothing; one person alone cannot be hidden."""
    lacking = {"", "nan", "none", "na"}
    rows = [{name: str(value).strip() for name, value in row.items()} for row in table.to_pylist()]
    return len({row[person] for row in rows if not any(text.lower() in lacking for text in row.values())})
