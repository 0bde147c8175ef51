# SPDX-License-Identifier: Apache-2.0
"""The data sets of the paper's evaluation: Adult as it is, and stand-ins for the voter lists of Florida and Michigan.

The lists name real people and are not used. The stand-ins are drawn from a few fitted figures, so that no table is
needed to make them, and are the same on every machine for the same seed.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kepsilon import DataError, Problem
from kepsilon.json_values import Json
from kepsilon.reproduce.data import bodies, made_up_identifiers
from kepsilon.reproduce.data.adult_file import ALONE, GET_IT, IN_MARRIAGE, read_adult
from kepsilon.reproduce.data.draws import Draws
from kepsilon.reproduce.data.voters import FLORIDA, MICHIGAN, REGISTER_YEAR, Voters, florida_voters, michigan_voters

N_ADULT, N_FLORIDA, N_MICHIGAN = 32_440, 134_791, 72_825
"""Records of the paper's table of data sets."""
CENSUS_YEAR = 1994
"""Adult was taken from that year's census survey; it holds ages, and the paper years of birth."""
OLDEST = 79
"""Leaving out those of 80 and more is what gives the paper's number of records."""
MAX_SUPPRESSION = 0.05

ZIP = {"role": "k-quasi", "hierarchy": {"type": "mask", "length": 5}}
GENDER = {"role": "k-quasi", "hierarchy": {"type": "suppress", "label": "Person"}}
BIRTH_YEAR = {"role": "k-quasi", "hierarchy": {"type": "intervals", "widths": [2, 4, 8]}}
RACE = {"role": "k-quasi", "hierarchy": {"type": "suppress"}}
MARITAL = {
    "role": "k-quasi",
    "hierarchy": {"type": "groups", "levels": [{"In marriage": list(IN_MARRIAGE), "Alone": list(ALONE)}]},
}
MEASURED = {"role": "epsilon-quasi", "precision": 0.1, "range": "class"}
IDENTIFIER = {"role": "identifier"}
AS_K_QUASI = {"type": "intervals", "widths": [1, 2, 4, 8, 16, 32]}


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSet:
    """One data set of the paper, and what the paper does with its attributes."""

    name: str
    title: str
    """What is shown; of a stand-in it says so."""
    is_stand_in: bool
    columns: Mapping[str, NDArray[Any]]
    """One array per attribute, all of one length."""
    policy: Mapping[str, Any]
    """A policy document without k, epsilon and algorithm, which the experiments vary."""
    extra: Mapping[str, Any]
    """The hierarchy of the ε-quasi where it is made a k-quasi instead: 8 levels."""
    note: str
    """Where it comes from and what of it is made up."""

    def __post_init__(self) -> None:
        if len({len(column) for column in self.columns.values()}) != 1:
            raise ValueError("every column has one value per record")
        for column in self.columns.values():
            column.setflags(write=False)

    @property
    def n_records(self) -> int:
        return len(next(iter(self.columns.values())))

    @property
    def epsilon_quasi(self) -> str:
        """The attribute that gets noise; the paper has one in each data set."""
        attributes: Mapping[str, Mapping[str, Any]] = self.policy["attributes"]
        return next(name for name, attribute in attributes.items() if attribute["role"] == "epsilon-quasi")


def adult(folder: Path, *, seed: int) -> DataSet:
    """UCI's Adult, read from a folder (or a file) as UCI ships it, with drawn heights and made-up identifiers."""
    read = read_adult(folder)
    all_ages = np.array(read["age"], dtype=np.int64)
    kept = all_ages <= OLDEST
    if not kept.any():
        raise DataError(Problem(where=str(folder), what=f"nobody under {OLDEST + 1} is in Adult's file.", fix=GET_IT))
    age, gender = all_ages[kept], np.array(read["sex"])[kept]
    is_female, n = gender == "Female", int(kept.sum())
    draws = Draws(CENSUS_YEAR, seed)
    name = made_up_identifiers.names(draws, is_female)
    count = f"its {n:,} records" if n == N_ADULT else f"{n:,} records (the paper has {N_ADULT:,})"
    return DataSet(
        name="adult",
        title="Adult",
        is_stand_in=False,
        columns={
            "patient_id": made_up_identifiers.patient_ids(draws, n),
            "name": name,
            "email": made_up_identifiers.e_mails(draws, name),
            "birth_year": CENSUS_YEAR - age,
            "gender": gender,
            "race": np.array(read["race"])[kept],
            "marital_status": np.array(read["marital-status"])[kept],
            "height": bodies.heights(draws, age, is_female),
        },
        policy=_policy(
            identifiers=("patient_id", "name", "email"),
            k_quasis={"birth_year": BIRTH_YEAR, "gender": GENDER, "race": RACE, "marital_status": MARITAL},
            epsilon_quasi="height",
        ),
        extra=deepcopy(AS_K_QUASI),
        note=f"UCI Adult, training set: {count} of persons under 80, born in {CENSUS_YEAR} less their age. Heights are "
        "drawn, normal by age and sex as in NHANES 2007-2010; identifiers are made up.",
    )


def florida(*, seed: int) -> DataSet:
    """A stand-in for the paper's sample of Florida's voter list."""
    voters, race = florida_voters(N_FLORIDA, seed=seed)
    draws = Draws(FLORIDA, seed)
    columns = _who(voters, draws)
    columns["email"] = made_up_identifiers.e_mails(draws, columns["name"])
    columns["phone"] = made_up_identifiers.telephone_numbers(draws, N_FLORIDA)
    return DataSet(
        name="florida",
        title="Florida (stand-in)",
        is_stand_in=True,
        columns={
            **columns,
            "zip": voters.zip_code,
            "gender": _genders(voters),
            "birth_year": REGISTER_YEAR - voters.age,
            "race": race,
            "height": bodies.heights(draws, voters.age, voters.is_female),
        },
        policy=_policy(
            identifiers=tuple(columns),
            k_quasis={"zip": ZIP, "gender": GENDER, "birth_year": BIRTH_YEAR, "race": RACE},
            epsilon_quasi="height",
        ),
        extra=deepcopy(AS_K_QUASI),
        note="A stand-in for the paper's sample of Florida's voter list, which names real people: nobody in it exists. "
        "Age, sex and race follow a published sample of the register, ZIP areas the 2010 census; heights are normal by "
        "age and sex as in NHANES 2007-2010.",
    )


def michigan(*, seed: int) -> DataSet:
    """A stand-in for the paper's sample of Michigan's voter list."""
    voters = michigan_voters(N_MICHIGAN, seed=seed)
    draws = Draws(MICHIGAN, seed)
    columns = _who(voters, draws)
    return DataSet(
        name="michigan",
        title="Michigan (stand-in)",
        is_stand_in=True,
        columns={
            **columns,
            "zip": voters.zip_code,
            "gender": _genders(voters),
            "birth_year": REGISTER_YEAR - voters.age,
            "weight": bodies.weights(draws, voters.age, voters.is_female),
        },
        policy=_policy(
            identifiers=tuple(columns),
            k_quasis={"zip": ZIP, "gender": GENDER, "birth_year": BIRTH_YEAR},
            epsilon_quasi="weight",
        ),
        extra=deepcopy(AS_K_QUASI),
        note="A stand-in for the paper's sample of Michigan's voter list, which names real people: nobody in it exists. "
        "Age and sex are Michigan's residents registered as Florida's are, ZIP areas follow the 2010 census; weights "
        "are log-normal by age and sex as in NHANES 2007-2010.",
    )


def with_both_measures(data: DataSet, *, seed: int) -> DataSet:
    """The same people with a weight beside their height, or a height beside their weight: a second ε-quasi.

    Drawn by age and sex as the first was, and independent of it given these: the survey's table has no correlation.
    """
    draws, this_year, women = {
        "adult": (Draws(CENSUS_YEAR, seed), CENSUS_YEAR, "Female"),
        "florida": (Draws(FLORIDA, seed), REGISTER_YEAR, "F"),
        "michigan": (Draws(MICHIGAN, seed), REGISTER_YEAR, "F"),
    }[data.name]
    age, is_female = this_year - data.columns["birth_year"], data.columns["gender"] == women
    second, draw = ("weight", bodies.weights) if data.epsilon_quasi == "height" else ("height", bodies.heights)
    attributes = {**data.policy["attributes"], second: deepcopy(MEASURED)}
    return replace(
        data,
        columns={**data.columns, second: draw(draws, age, is_female)},
        policy={**data.policy, "attributes": attributes},
        note=f"{data.note} A {second} is drawn as well, independent of the {data.epsilon_quasi} given age and sex.",
    )


def _who(voters: Voters, draws: Draws) -> dict[str, NDArray[Any]]:
    n = len(voters.age)
    return {
        "name": made_up_identifiers.names(draws, voters.is_female),
        "surname": made_up_identifiers.surnames(draws, n),
        "address": made_up_identifiers.addresses(draws, n),
    }


def _genders(voters: Voters) -> NDArray[Any]:
    return np.where(voters.is_female, "F", "M")


def _policy(*, identifiers: tuple[str, ...], k_quasis: Mapping[str, Mapping[str, Any]], epsilon_quasi: str) -> Json:
    roles = dict.fromkeys(identifiers, IDENTIFIER) | {**k_quasis, epsilon_quasi: MEASURED}
    # Copies, so that a changed document changes no other data set's.
    return {"max_suppression": MAX_SUPPRESSION, "attributes": {name: deepcopy(role) for name, role in roles.items()}}
