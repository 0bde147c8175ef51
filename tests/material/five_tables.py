# SPDX-License-Identifier: Apache-2.0
"""Five tables made after kinds of real ones, with traps for whoever proposes a policy. Nobody in them exists.

Each function takes the number of records and a seed, and lists its traps beside the columns that hold them. A trap is a
column that would give people away, spoil a release or stop it, if `init` took it for what it looks like.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

SENTENCES = (
    "came in with pain since the morning",
    "slept badly and asked for something",
    "was seen by the ward doctor at noon",
    "has no complaints and may go home soon",
    "was given fluids and is feeling better",
)
JOBS = (
    "nurse",
    "teacher",
    "driver",
    "clerk",
    "cook",
    "welder",
    "farmer",
    "seller",
    "carer",
    "guard",
    "baker",
    "painter",
)
PLACES = ("in a school", "in a clinic", "for the town", "at home", "in a shop", "on a farm", "in a mill", "by the sea")


@dataclass(frozen=True)
class MadeTable:
    """A table, and its traps by column."""

    table: pa.Table
    dropped: Mapping[str, str]
    """Columns that must not be published, each with words that the proposal has to say about it."""
    nominal: frozenset[str] = frozenset()
    """Whole numbers that are categories: neither intervals nor noise nor averages make sense."""
    missing: Mapping[str, tuple[str, ...]] | None = None
    """Numbers that mean "missing", by column."""
    leaks: Mapping[str, str] | None = None
    """Columns that follow from others; the proposal has to say so in these words, and may not keep them as they are."""
    never: Mapping[str, frozenset[str]] | None = None
    """Roles that a column must not get."""
    person: str | None = None
    """The column that says whom a record is about."""


def encounters(n: int = 3_000, seed: int = 1) -> MadeTable:
    """Stays in a hospital: a third as many patients as stays, and what was noted, coded and charged."""
    rng = np.random.default_rng(seed)
    patient = np.minimum(rng.zipf(1.6, n), n // 3) * 7 + rng.integers(0, n // 3, n)
    _, patient = np.unique(patient % (n // 3), return_inverse=True)
    n_patients = int(patient.max()) + 1
    born = rng.integers(1930, 2005, n_patients)[patient]
    sex = rng.choice(["F", "M"], n_patients)[patient]
    zip_code = np.array([f"0{4000 + 10 * z + z % 7}" for z in rng.zipf(1.4, n_patients) % 60])[patient]
    day = rng.integers(0, 365, n)
    stay = np.minimum(np.ceil(rng.lognormal(1.2, 0.8, n)), 90).astype(int)
    weight = np.round(rng.normal(72, 13, n_patients)[patient] + 8 * (sex == "M"), 1)
    diagnosis = rng.choice(
        ["I10", "E11", "J45", "M54", "F32", "S52", "K35", "C50"], n, p=[0.2, 0.18, 0.15, 0.13, 0.12, 0.1, 0.07, 0.05]
    )
    names = [f"Canary{i % 53} Surname{i % 97}" for i in patient]
    return MadeTable(
        table=as_text(
            encounter_id=200_000 + np.arange(n),
            patient_nbr=8_000_000 + 37 * rng.permutation(n_patients)[patient],
            patient_name=names,
            phone=[f"0351 {400_000 + i}" for i in patient],
            admitted=[str(dt.date(2023, 1, 1) + dt.timedelta(days=int(d))) for d in day],
            birth_year=born,
            age=2023 - born,
            sex=sex,
            zip=zip_code,
            insurance_code=rng.choice([1, 2, 3, 4, 5, 6], n_patients, p=[0.4, 0.25, 0.15, 0.1, 0.06, 0.04])[patient],
            admission_type=rng.choice([1, 2, 3, 5, 6], n, p=[0.5, 0.2, 0.15, 0.1, 0.05]),
            days_in_hospital=stay,
            weight_kg=weight,
            weight_lb=np.round(weight * 2.20462, 1),
            diagnosis=diagnosis,
            lab_tests=rng.poisson(40, n),
            charges=np.round(800 * stay * rng.lognormal(0, 0.5, n), 2),
            open_debt=rng.integers(1000, 9999, n),
            readmitted=rng.choice(["no", "within 30 days", "later"], n, p=[0.6, 0.15, 0.25]),
            notes=[f"{SENTENCES[i % 5]}; {name} {SENTENCES[(i + 2) % 5]}" for i, name in enumerate(names)],
        ),
        dropped={
            "encounter_id": "numbers something|of its own",
            "patient_nbr": "tells persons apart",
            "patient_name": "names",
            "phone": "phone|leads to a person",
            "notes": "Free text|unique",
        },
        nominal=frozenset({"insurance_code", "admission_type"}),
        leaks={"birth_year|age": "age|birth_year", "weight_kg|weight_lb": "weight_kg|weight_lb"},
        never={"insurance_code": frozenset({"identifier"}), "patient_nbr": frozenset({"epsilon-quasi", "k-quasi"})},
        person="patient_nbr",
    )


def health_survey(n: int = 3_000, seed: int = 1) -> MadeTable:
    """A health survey with body measures: codes for refused and unknown, sampling weights, and BMI beside its parts."""
    rng = np.random.default_rng(seed)
    sex = rng.choice([1, 2], n)
    age = np.minimum(rng.integers(18, 95, n), 80)
    height = np.round(rng.normal(162, 7, n) + 13 * (sex == 1), 1)
    weight = np.round(np.exp(rng.normal(4.25, 0.2, n)) + 9 * (sex == 1), 1)
    waist = np.round(0.7 * weight + rng.normal(42, 5, n), 1)
    return MadeTable(
        table=as_text(
            seqn=109_000 + np.arange(n),
            gender=sex,
            age_years=age,
            race=rng.choice([1, 2, 3, 4, 6, 7], n, p=[0.12, 0.08, 0.35, 0.25, 0.13, 0.07]),
            education=with_codes(rng, rng.choice([1, 2, 3, 4, 5], n), {7: 0.01, 9: 0.02}),
            marital=with_codes(rng, rng.choice([1, 2, 3], n, p=[0.6, 0.2, 0.2]), {77: 0.01, 99: 0.015}),
            household_income=with_codes(rng, rng.integers(1, 13, n), {77: 0.03, 99: 0.03}),
            weight_kg=weight,
            height_cm=height,
            height_in=np.round(height / 2.54, 1),
            bmi=np.round(weight / (height / 100) ** 2, 1),
            waist_cm=with_codes(rng, waist, {999: 0.02}),
            systolic=np.round(100 + 0.4 * age + rng.normal(0, 14, n)).astype(int),
            cholesterol=np.round(rng.normal(190, 38, n)).astype(int),
            smoked_100=with_codes(rng, rng.choice([1, 2], n, p=[0.4, 0.6]), {7: 0.01, 9: 0.01}),
            drinks_per_week=with_codes(rng, np.minimum(rng.geometric(0.25, n) - 1, 40), {777: 0.01, 999: 0.02}),
            wtmec2yr=np.round(rng.lognormal(10, 0.8, n), 2),
        ),
        dropped={"seqn": "of its own|numbers", "wtmec2yr": "[Ss]ampling weight"},
        nominal=frozenset({"gender", "race", "marital", "smoked_100"}),
        missing={
            "education": ("7", "9"),
            "marital": ("77", "99"),
            "household_income": ("77", "99"),
            "waist_cm": ("999",),
            "smoked_100": ("7", "9"),
            "drinks_per_week": ("777", "999"),
        },
        leaks={"bmi": "bmi", "height_in|height_cm": "height_in|height_cm"},
        never={"wtmec2yr": frozenset({"epsilon-quasi", "k-quasi"})},
    )


def household_survey(n: int = 3_000, seed: int = 1) -> MadeTable:
    """A household survey: persons within households, codes throughout, rent in four digits, −9 for not stated."""
    rng = np.random.default_rng(seed)
    sizes = rng.choice([1, 2, 3, 4, 5], n, p=[0.3, 0.3, 0.17, 0.15, 0.08])
    household = np.repeat(np.arange(n), sizes)[:n]
    size = sizes[household]
    member = np.arange(n) - np.searchsorted(household, household)
    n_homes = int(household.max()) + 1
    rent = np.round(rng.lognormal(7.4, 0.3, n_homes), -1).astype(int).clip(1000, 9990)[household]
    income = np.round(rng.lognormal(7.6, 0.7, n), -1).astype(int)
    age = np.where(member == 0, rng.integers(20, 90, n), rng.integers(0, 90, n))
    return MadeTable(
        table=as_text(
            hhid=[f"H{100_000 + 13 * h}" for h in household],
            person_no=member + 1,
            region=rng.choice(np.arange(1, 17), n_homes)[household],
            urban=rng.choice([1, 2], n_homes, p=[0.7, 0.3])[household],
            tenure=rng.choice([1, 2, 3, 4], n_homes, p=[0.4, 0.4, 0.15, 0.05])[household],
            household_size=size,
            relationship=np.where(member == 0, 1, rng.choice([2, 3, 4, 9], n, p=[0.45, 0.45, 0.07, 0.03])),
            sex=rng.choice([1, 2], n),
            age=age,
            birth_year=2022 - age,
            marital_status=with_codes(rng, rng.choice([1, 2, 3, 4], n, p=[0.4, 0.4, 0.1, 0.1]), {99: 0.02}),
            school_code=with_codes(rng, rng.choice([1, 2, 3, 4, 5, 6], n), {-9: 0.03}),
            occupation=rng.choice([111, 232, 341, 412, 522, 613, 713, 832, 913], n),
            income=with_codes(rng, income, {-9: 0.06}),
            rent=rent,
            interviewer_remark=[f"{SENTENCES[i % 5]} and {SENTENCES[(i * 7) % 5]}, page {i % 211}" for i in range(n)],
            hhweight=np.round(rng.lognormal(6, 0.5, n_homes), 3)[household],
        ),
        dropped={
            "hhid": "household|tells persons apart|numbers something",
            "interviewer_remark": "Free text|unique",
            "hhweight": "[Ss]ampling weight",
        },
        nominal=frozenset({"region", "urban", "tenure", "relationship", "sex", "marital_status", "occupation"}),
        missing={"marital_status": ("99",), "school_code": ("-9",)},
        leaks={"age|birth_year": "age|birth_year"},
        never={"hhweight": frozenset({"epsilon-quasi", "k-quasi"})},
        person="hhid",
    )


def labour_survey(n: int = 3_000, seed: int = 1) -> MadeTable:
    """A labour survey of 34 columns: codes and yes-or-no questions, hours and wages, two weights, a serial number."""
    rng = np.random.default_rng(seed)
    age = rng.integers(15, 75, n)
    employed = rng.random(n) < 0.7
    hours = np.where(employed, np.clip(np.round(rng.normal(37, 9, n)), 4, 80), 0).astype(int)
    wage = np.round(np.where(employed, rng.lognormal(6.3, 0.5, n), 0), 0).astype(int)
    questions = {
        name: with_codes(rng, rng.choice([1, 2], n, p=[share, 1 - share]), {9: 0.01})
        for name, share in {
            "looked_for_work": 0.2,
            "second_job": 0.07,
            "shift_work": 0.15,
            "works_at_home": 0.3,
            "union_member": 0.18,
            "in_training": 0.12,
            "disability": 0.09,
            "permanent_contract": 0.8,
            "supervises": 0.25,
            "wants_more_hours": 0.14,
        }.items()
    }
    return MadeTable(
        table=as_text(
            serial=1 + np.arange(n),
            interview_date=[str(dt.date(2024, 1, 8) + dt.timedelta(days=int(d))) for d in rng.integers(0, 90, n)],
            interviewer_id=rng.integers(1, 40, n),
            region=rng.choice(np.arange(1, 13), n),
            urban_rural=rng.choice([1, 2, 3], n, p=[0.5, 0.3, 0.2]),
            sex=rng.choice([1, 2], n),
            age=age,
            year_of_birth=2024 - age,
            nationality=rng.choice([1, 2, 3, 4], n, p=[0.85, 0.08, 0.05, 0.02]),
            country_of_birth=rng.choice([1, 2, 3, 4, 5], n, p=[0.8, 0.08, 0.06, 0.04, 0.02]),
            marital_status=with_codes(rng, rng.choice([1, 2, 3, 4], n, p=[0.35, 0.5, 0.05, 0.1]), {99: 0.01}),
            household_size=rng.choice([1, 2, 3, 4, 5, 6], n),
            children_under_15=rng.choice([0, 1, 2, 3], n, p=[0.6, 0.2, 0.15, 0.05]),
            education_level=with_codes(rng, rng.choice([1, 2, 3, 4, 5, 6, 7, 8], n), {99: 0.01}),
            work_status=np.where(employed, 1, rng.choice([2, 3], n)),
            occupation=rng.choice([111, 122, 231, 322, 411, 422, 512, 611, 721, 833, 932], n),
            industry=rng.choice([1, 10, 25, 41, 47, 49, 55, 62, 84, 85, 86], n),
            job_title=[f"{JOBS[a]} {PLACES[b]}, {2 + c} years" for a, b, c in rng.integers(0, (12, 8, 9), (n, 3))],
            hours_usual=hours,
            minutes_usual=60 * hours,
            overtime_hours=with_codes(rng, np.where(employed, rng.poisson(1.5, n), 0), {99: 0.02}),
            weekly_wage=wage,
            yearly_wage=52 * wage,
            commute_minutes=np.round(rng.gamma(2, 14, n)).astype(int),
            **questions,
            final_weight=np.round(rng.lognormal(6.5, 0.4, n), 3),
            replicate_weight_1=np.round(rng.lognormal(6.5, 0.6, n), 3),
        ).drop_columns(["in_training", "supervises"]),
        dropped={
            "serial": "of its own|numbers",
            "job_title": "Free text|free text|unique",
            "final_weight": "[Ss]ampling weight",
            "replicate_weight_1": "[Ss]ampling weight",
        },
        nominal=frozenset(
            {
                "region",
                "urban_rural",
                "sex",
                "nationality",
                "country_of_birth",
                "marital_status",
                "work_status",
                "occupation",
            }
        ),
        missing={
            "marital_status": ("99",),
            "education_level": ("99",),
            "overtime_hours": ("99",),
            "looked_for_work": ("9",),
        },
        leaks={
            "age|year_of_birth": "age|year_of_birth",
            "hours_usual|minutes_usual": "hours_usual|minutes_usual",
            "weekly_wage|yearly_wage": "weekly_wage|yearly_wage",
        },
        never={"final_weight": frozenset({"epsilon-quasi", "k-quasi"})},
    )


def sales(n: int = 3_000, seed: int = 1) -> MadeTable:
    """Orders of customers with heavy tails: few buy for thousands; the total follows from quantity and price."""
    rng = np.random.default_rng(seed)
    n_customers = n // 4
    customer = np.minimum(rng.zipf(1.5, n) * 3 + rng.integers(0, n_customers, n), 10 * n) % n_customers
    quantity = np.minimum(rng.zipf(2.0, n), 500)
    price = np.round(rng.lognormal(2.5, 1.1, n), 2)
    total = np.round(quantity * price, 2)
    return MadeTable(
        table=as_text(
            order_no=5_000_000 + np.arange(n),
            customer_id=[f"C{10_000 + 7 * c}" for c in customer],
            email=[f"canary{c}@example.org" for c in customer],
            postcode=np.array([f"{10_000 + 97 * p}" for p in rng.zipf(1.5, n_customers) % 80])[customer],
            country=rng.choice(["DE", "FR", "AT", "NL", "PL"], n_customers, p=[0.5, 0.2, 0.15, 0.1, 0.05])[customer],
            ordered=[f"{1 + int(d) % 28:02}.{1 + int(d) // 28 % 12:02}.2024" for d in rng.integers(0, 336, n)],
            category=rng.choice(["books", "garden", "kitchen", "toys", "tools", "sport"], n),
            channel_code=rng.choice([1, 2, 3, 4], n, p=[0.5, 0.3, 0.15, 0.05]),
            quantity=quantity,
            unit_price=price,
            total=total,
            total_usd=np.round(1.1 * total, 2),
            credit_limit=rng.choice(np.arange(1000, 9999, 50), n_customers)[customer],
            returned=rng.choice(["yes", "no"], n, p=[0.08, 0.92]),
            delivery_note=[f"leave it {PLACES[i % 8]}, ring at {JOBS[i % 12]} {i % 301}, thanks" for i in range(n)],
        ),
        dropped={
            "order_no": "numbers something|of its own",
            "customer_id": "tells persons apart",
            "email": "e-mail",
            "delivery_note": "Free text|free text|unique",
        },
        nominal=frozenset({"channel_code"}),
        leaks={"total|total_usd": "total|total_usd", "total|total_usd|quantity|unit_price": "total"},
        never={"credit_limit": frozenset({"identifier"})},
        person="customer_id",
    )


FIVE_TABLES: Mapping[str, Callable[..., MadeTable]] = {
    own.__name__: own for own in (encounters, health_survey, household_survey, labour_survey, sales)
}


def as_text(**columns: object) -> pa.Table:
    """All columns as text, as a CSV file has them."""
    return pa.table({name: [str(value) for value in values] for name, values in columns.items()})  # type: ignore[attr-defined]


def with_codes(rng: np.random.Generator, values: np.ndarray, codes: Mapping[int, float]) -> list[str]:
    """The values as text, some of them replaced by codes that mean "missing", each with its share."""
    drawn = rng.random(len(values))
    texts = [str(value) for value in values]
    above = 0.0
    for code, share in codes.items():
        for i in np.flatnonzero((drawn >= above) & (drawn < above + share)).tolist():
            texts[i] = str(code)
        above += share
    return texts
