# SPDX-License-Identifier: Apache-2.0
"""A made-up hospital: patients, what was measured, and what was written about them. Nobody in it exists.

Columns are clean if they tell no more about a patient's quasis than age and sex do about most things, and leaky if they
were worked out from the quasis.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

import numpy as np

FIRST = (
    "Anna",
    "Bela",
    "Cora",
    "Dora",
    "Edda",
    "Frida",
    "Gerd",
    "Hanno",
    "Ivo",
    "Jost",
    "Kuno",
    "Lars",
    "Mara",
    "Nele",
)
SURNAME_HEADS = ("Ahl", "Birk", "Dorn", "Eich", "Falk", "Gold", "Hasel", "Kalk", "Linden", "Mohn", "Roth", "Stein")
SURNAME_TAILS = ("bach", "berg", "feld", "hof", "mann", "meier", "rath", "stedt", "wald", "weg")
DIAGNOSES = ("I10", "E11", "J45", "M54", "F32", "S52", "K35", "C50", "N20", "H25")
TREATMENTS = ("A", "B", "C", "D")
SENTENCES = (
    "came in with pain since the morning",
    "slept badly and asked for something",
    "was seen by the ward doctor at noon",
    "has no complaints and may go home soon",
    "was given fluids and is feeling better",
)
ADMITTED_FROM = dt.date(2023, 1, 1)
TODAY = dt.date(2024, 1, 1)


@dataclass(frozen=True)
class Hospital:
    """Columns by what they are; each has one value per patient."""

    identifiers: dict[str, np.ndarray]
    k_quasis: dict[str, np.ndarray]
    epsilon_quasis: dict[str, np.ndarray]
    clean: dict[str, np.ndarray]
    leaky: dict[str, np.ndarray]
    """Each must raise an alarm."""
    noted: dict[str, np.ndarray]
    """Each must at least be noted: exact dates, near-unique laboratory values, free text."""
    paired: dict[str, np.ndarray]
    """Neither alone tells anything; together they tell a weight or a height."""


def hospital(n: int = 12_000, *, seed: int = 14) -> Hospital:
    """`n` patients."""
    rng = np.random.default_rng(seed)
    age = np.clip(rng.gamma(9, 6.2, n), 18, 97).astype(np.int64)
    is_female = rng.random(n) < 0.53
    district = rng.choice(40, n, p=rng.dirichlet(np.full(40, 3.0)))
    zip_code = np.array(
        [f"{23000 + 25 * own + street}" for own, street in zip(district, rng.integers(0, 8, n), strict=True)]
    )
    height = np.round(rng.normal(np.where(is_female, 164.0, 177.5) - 0.05 * (age - 50), 6.8), 1)
    weight = np.round(np.exp(rng.normal(np.log(np.where(is_female, 71.0, 84.0)) + 0.0015 * (age - 50), 0.17)), 1)
    born = np.array([TODAY - dt.timedelta(days=int(own)) for own in age * 365.25 + rng.integers(0, 365, n)])
    name = np.array(
        [
            f"{first} {head}{tail}"
            for first, head, tail in zip(
                rng.choice(FIRST, n), rng.choice(SURNAME_HEADS, n), rng.choice(SURNAME_TAILS, n), strict=True
            )
        ]
    )
    sentences = rng.choice(SENTENCES, (n, 2))
    hours = rng.integers(0, 24, n)
    clean_text = np.array(
        [f"Patient {one}, then {other}, {own} h" for (one, other), own in zip(sentences, hours, strict=True)]
    )
    named_text = np.array(
        [
            f"{'Frau' if woman else 'Herr'} {own.split()[1]} {text}" if told else text
            for own, woman, text, told in zip(name, is_female, clean_text, rng.random(n) < 0.3, strict=True)
        ]
    )
    share = rng.uniform(0.25, 0.75, n)
    factor = np.exp(rng.normal(0, 0.4, n))
    diagnosis = np.clip((age - 18) / 8 + rng.normal(0, 2.5, n), 0, 9).astype(int)
    return Hospital(
        identifiers={"name": name, "patient": np.array([f"P{own:07d}" for own in rng.permutation(n)])},
        k_quasis={"age": age, "sex": np.where(is_female, "F", "M"), "zip": zip_code},
        epsilon_quasis={"weight": weight, "height": height},
        clean={
            "diagnosis": np.array(DIAGNOSES)[diagnosis],
            "treatment": rng.choice(TREATMENTS, n),
            "ward": rng.integers(1, 30, n),
            "days": rng.geometric(0.2, n),
            "sodium": np.round(rng.normal(140, 3, n)),
            "systolic": np.round(rng.normal(115 + 0.35 * age, 16)),
            "cholesterol": np.round(rng.normal(180 + 0.3 * age, 35)),
            "died": rng.random(n) < 0.02 + 0.0005 * age,
            "cost": np.round(np.exp(rng.normal(8, 0.7, n)), -1),
            "referred": np.where(rng.random(n) < 0.4, None, rng.choice(["doctor", "ambulance", "self"], n)),
        },
        leaky={
            "bmi": np.round(weight / (height / 100) ** 2, 1),
            "surface": np.round(np.sqrt(weight * height / 3600), 2),
            "height_in": np.round(height / 2.54, 1),
            "weight_lb": np.round(weight / 0.45359237),
            "weight_some": np.where(
                rng.random(n) < 0.5, np.round(weight * 2.2046, 1), np.round(rng.normal(160, 30, n), 1)
            ),
            "bmi_some": np.where(rng.random(n) < 0.4, np.nan, np.round(weight / (height / 100) ** 2, 1)),
            "ideal_weight": np.round(height - 100 - np.where(is_female, 0.15, 0.1) * (height - 100), 1),
            "sum": weight + height,
            "waist_ratio": np.round(weight / height, 3),
            "born": born,
            "birth_year": np.array([own.year for own in born]),
            "age_group": np.array([f"{own // 5 * 5}+" for own in age]),
            "area": np.array([f"R{(int(own) * 7919) % 9973:04d}" for own in zip_code.astype(int) // 5]),
            "area_number": (zip_code.astype(int) // 5 * 7919) % 9973,
            "case": np.array([f"F{own}" for own in range(n)]),
            "row": np.arange(n) * 3 + rng.integers(0, 3, n),
            "note": named_text,
        },
        noted={
            "admitted": np.array([ADMITTED_FROM + dt.timedelta(days=int(own)) for own in rng.integers(0, 365, n)]),
            "ferritin": np.round(np.exp(rng.normal(4.5, 0.8, n)), 3),
            "remarks": np.array(
                [f"{text} no. {own}" for text, own in zip(clean_text, rng.permutation(n), strict=True)]
            ),
        },
        paired={
            "lean_mass": np.round(weight * share, 2),
            "fat_mass": np.round(weight * (1 - share), 2),
            "stretch": np.round(height * factor, 3),
            "factor": np.round(factor, 5),
        },
    )
