# SPDX-License-Identifier: Apache-2.0
"""A table of made-up patients with the attributes of the paper's example, and a policy for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Column = npt.NDArray[Any]

THIS_YEAR = 2024
N_POSTCODES = 240
MARITAL = ("Single", "Married", "Divorced", "Separated", "Widowed")
MARITAL_BY_AGE = {
    18: (0.90, 0.08, 0.01, 0.01, 0.00),
    30: (0.45, 0.47, 0.05, 0.03, 0.00),
    45: (0.20, 0.60, 0.14, 0.04, 0.02),
    60: (0.11, 0.61, 0.18, 0.03, 0.07),
    75: (0.06, 0.54, 0.11, 0.02, 0.27),
    90: (0.06, 0.27, 0.07, 0.01, 0.59),
}
"""By age: share of each marital status; between these ages shares are interpolated."""
DIAGNOSES = ("Healthy", "Hypertension", "Diabetes", "Asthma", "Depression", "Arthritis", "Cancer", "HIV")
DIAGNOSES_WHEN_YOUNG = (0.62, 0.05, 0.03, 0.12, 0.14, 0.02, 0.01, 0.01)
DIAGNOSES_WHEN_OLD = (0.12, 0.33, 0.18, 0.05, 0.08, 0.15, 0.085, 0.005)

FIRST = {
    "Female": (
        ("An", "El", "Ma", "So", "Li", "Ro", "Ka", "Vi", "Ju", "Ne"),
        ("na", "sa", "ria", "phie", "lia", "mina", "ta", "vka"),
    ),
    "Male": (
        ("Al", "Ben", "Da", "Ed", "Har", "Jo", "Le", "Mar", "Pe", "To"),
        ("ric", "jamin", "vid", "win", "old", "nas", "on", "bert"),
    ),
}
LAST = (
    ("Ash", "Brook", "Carl", "Dun", "Elm", "Fair", "Gold", "Hart", "Ing", "Kirk", "Lang", "Mor", "Nor", "Oak"),
    ("by", "croft", "dale", "field", "gate", "ham", "ley", "man", "sen", "stone", "ton", "well", "wick", "worth"),
)

DEMO_POLICY = """\
# What to do with the made-up patients of `kepsilon demo`, before `explore` chose a setting (see chosen.toml).

k = 10                     # every published combination of k-quasis is shared by at least 10 patients
epsilon = 8                # where noise is drawn: smaller hides more and costs more
algorithm = "ola"          # one level for a whole column; "local-recoding" has labels for each class
max_suppression = 0.05     # at most 5 % of the patients may be left out, so that the others keep their detail

# Identifiers say who it is. They are dropped before anything else happens.
[attributes.name]
role = "identifier"

[attributes.ssn]
role = "identifier"

# k-quasis: a neighbour or a voter list knows them. They are generalised, level by level, until k patients share them.
[attributes.gender]
role = "k-quasi"
hierarchy = { type = "suppress", label = "Person" }      # Female, Person

[attributes.year_of_birth]
role = "k-quasi"
hierarchy = { type = "intervals", widths = [5, 10, 20] } # 1994, [1990, 1995), [1990, 2000), [1980, 2000), *
step = 5                                                 # "local-recoding" cuts and labels years on this public step

[attributes.zip_code]
role = "k-quasi"
hierarchy = { type = "mask" }                            # 23740, 2374*, 237**, 23***, 2****, *****

[attributes.marital_status]
role = "k-quasi"
hierarchy = { type = "groups", levels = [                # Widowed, Alone, *
    { "In marriage" = ["Married", "Separated"], "Alone" = ["Single", "Divorced", "Widowed"] },
] }

# epsilon-quasis: numbers that others can guess roughly. They keep their scale, and get noise or are averaged.
[attributes.height]
role = "epsilon-quasi"
precision = 0.1            # centimetres, published with one decimal
range = "class"            # noise for the range of heights within each class, as in the paper
domain = [50, 250]         # what a height can be: noise that goes beyond is cut back

[attributes.weight]
role = "epsilon-quasi"
precision = 0.1            # kilograms
range = { coarse = 5 }     # the range of the class in steps of 5 kg, so that nobody's exact weight sets the noise
domain = [20, 300]

# Sensitive: what the data is about. Published as it is, but no longer with a name to it.
[attributes.blood_pressure]
role = "sensitive"

[attributes.diagnosis]
role = "sensitive"
"""


def made_up_patients(n: int = 20_000, seed: int = 1994) -> dict[str, Column]:
    """Columns of n patients that do not exist; equal seeds give equal patients.

    Their values are related as those of real patients are: few postcodes hold most people, the old are more often
    widowed, women are shorter and older, weight follows height and age, blood pressure follows age and weight.
    """
    rng = np.random.default_rng(seed)
    is_female = rng.random(n) < 0.54
    age = _ages(rng, is_female)
    height = rng.normal(np.where(is_female, 162.5, 176.0), np.where(is_female, 6.6, 7.2)) - 0.08 * np.maximum(
        age - 45, 0
    )
    bmi = np.exp(np.log(25.5) + 0.004 * np.minimum(age - 18, 45) + rng.normal(0, 0.17, n))
    weight = bmi * (height / 100) ** 2
    pressure = 108 + 0.42 * (age - 18) + 0.6 * (bmi - 26) + rng.normal(0, 11, n)
    return {
        "name": _names(rng, is_female),
        "ssn": _social_security_numbers(rng, n),
        "gender": np.where(is_female, "Female", "Male"),
        "year_of_birth": THIS_YEAR - age,
        "zip_code": _postcodes(rng, n),
        "marital_status": _marital_status(rng, age),
        "height": height.round(1),
        "weight": weight.round(1),
        "blood_pressure": np.clip(pressure, 80, 220).round().astype(np.int64),
        "diagnosis": _diagnoses(rng, age),
    }


def _ages(rng: np.random.Generator, is_female: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Ages of adults, with more old people than in the population, as in a hospital."""
    share_of_range = rng.beta(1.5, np.where(is_female, 1.35, 1.5))
    return (18 + 78 * share_of_range).astype(np.int64)


def _names(rng: np.random.Generator, is_female: npt.NDArray[np.bool_]) -> Column:
    n = len(is_female)
    first = np.where(is_female, _joined(rng, *FIRST["Female"], n), _joined(rng, *FIRST["Male"], n))
    return np.strings.add(np.strings.add(first, " "), _joined(rng, *LAST, n))


def _joined(rng: np.random.Generator, heads: tuple[str, ...], tails: tuple[str, ...], n: int) -> Column:
    return np.strings.add(rng.choice(np.array(heads), size=n), rng.choice(np.array(tails), size=n))


def _social_security_numbers(rng: np.random.Generator, n: int) -> Column:
    """Numbers that nobody has: no social security number has an area of 900 to 999, and no tax number a group up to 49."""
    numbers = rng.choice(100 * 49 * 9999, size=n, replace=False)
    area, rest = np.divmod(numbers, 49 * 9999)
    group, serial = np.divmod(rest, 9999)
    parts = zip((900 + area).tolist(), (1 + group).tolist(), (1 + serial).tolist(), strict=True)
    return np.array([f"{a}-{g:02}-{s:04}" for a, g, s in parts])


def _postcodes(rng: np.random.Generator, n: int) -> Column:
    """Postcodes of which some hold many times as many people as others; a few begin with 0, which must not get lost."""
    regions = np.array([23700, 23800, 24000, 1200])
    region_of = rng.choice(len(regions), p=[0.45, 0.3, 0.2, 0.05], size=N_POSTCODES)
    codes = np.unique(regions[region_of] + rng.integers(100, size=N_POSTCODES))
    sizes = 1 / (1 + rng.permutation(len(codes))) ** 0.8
    chosen = rng.choice(codes, p=sizes / sizes.sum(), size=n)
    return np.strings.zfill(chosen.astype(np.str_), 5)


def _marital_status(rng: np.random.Generator, age: npt.NDArray[np.int64]) -> Column:
    known = np.array(list(MARITAL_BY_AGE))
    shares = np.array(list(MARITAL_BY_AGE.values()))
    at_age = np.column_stack([np.interp(age, known, shares[:, i]) for i in range(len(MARITAL))])
    return np.array(MARITAL)[_drawn(rng, at_age)]


def _diagnoses(rng: np.random.Generator, age: npt.NDArray[np.int64]) -> Column:
    old = np.clip((age - 20) / 60, 0, 1)[:, None]
    shares = (1 - old) * np.array(DIAGNOSES_WHEN_YOUNG) + old * np.array(DIAGNOSES_WHEN_OLD)
    return np.array(DIAGNOSES)[_drawn(rng, shares)]


def _drawn(rng: np.random.Generator, shares: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """One choice per record; `shares`, shape (n, n_choices), are the probabilities of each record's choices."""
    limits = np.cumsum(shares, axis=1)
    drawn: npt.NDArray[np.int64] = (rng.random((len(shares), 1)) * limits[:, -1:] > limits).sum(axis=1)
    return drawn
