# SPDX-License-Identifier: Apache-2.0
"""The data sets of the paper's evaluation: Adult as it is, and stand-ins for the voter lists of Florida and Michigan.

The lists name real people and are not used. The stand-ins are drawn from a few fitted figures, so that no table is
needed to make them, and are the same on every machine for the same seed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kepsilon import DataError, Problem
from kepsilon.json_values import Json
from kepsilon.reproduce.data import people
from kepsilon.reproduce.data.adult_file import ALONE, GET_IT, IN_MARRIAGE, read_adult
from kepsilon.reproduce.data.draws import Draws
from kepsilon.reproduce.data.voters import FLORIDA, MICHIGAN, REGISTER_YEAR, Voters, florida_voters, michigan_voters

Columns = dict[str, NDArray[Any]]

N_ADULT, N_FLORIDA, N_MICHIGAN = 32_440, 134_791, 72_825
"""Numbers of records in the paper's table of data sets."""
CENSUS_YEAR = 1994
"""Adult was taken from that year's census survey; it holds ages, and the paper years of birth."""
OLDEST = 79
"""Leaving out those of 80 and more is what gives the paper's number of records."""
MAX_SUPPRESSION = 0.05

ZIP = {"role": "k-quasi", "hierarchy": {"type": "mask", "length": 5}}
GENDER = {"role": "k-quasi", "hierarchy": {"type": "suppress", "label": "Person"}}
BIRTH_YEAR: Json = {"role": "k-quasi", "hierarchy": {"type": "intervals", "widths": [2, 4, 8]}, "step": 1}
RACE = {"role": "k-quasi", "hierarchy": {"type": "suppress"}}
MARITAL = {
    "role": "k-quasi",
    "hierarchy": {"type": "groups", "levels": [{"In marriage": list(IN_MARRIAGE), "Alone": list(ALONE)}]},
}
MEASURED = {"role": "epsilon-quasi", "precision": 0.1, "range": "class"}
IDENTIFIER = {"role": "identifier"}
RESOLUTION = 0.1
"""Heights and weights have one decimal; Mondrian cuts them as finely as the paper's does, and labels them on this step."""
AS_K_QUASI = {"type": "intervals", "widths": [1, 2, 4, 8, 16, 32]}


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSet:
    """One data set of the paper, and what the paper does with its attributes."""

    name: str
    title: str
    """The name that is shown; a stand-in's says that it is one."""
    is_stand_in: bool
    columns: Mapping[str, NDArray[Any]]
    """One array per attribute, all of one length."""
    policy: Mapping[str, Any]
    """A policy document without k, epsilon and algorithm, which the experiments vary."""
    extra: Mapping[str, Any] = field(default_factory=lambda: deepcopy(AS_K_QUASI))
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

    @property
    def year(self) -> int:
        """The year of the register, or of the census."""
        return CENSUS_YEAR if self.name == "adult" else REGISTER_YEAR

    @property
    def is_female(self) -> NDArray[np.bool_]:
        return np.isin(self.columns["gender"], ("F", "Female"))

    def other_measure(self, draws: Draws) -> tuple[str, NDArray[np.float64]]:
        """A weight for those who have a height, or a height for those who have a weight, by age and sex."""
        name, draw = ("weight", people.weights) if self.epsilon_quasi == "height" else ("height", people.heights)
        return name, draw(draws, self.year - np.asarray(self.columns["birth_year"], dtype=np.int64), self.is_female)


def adult(folder: Path, *, seed: int) -> DataSet:
    """UCI's Adult, read from a folder (or a file) as UCI ships it, with drawn heights and made-up identifiers."""
    read = read_adult(folder)
    all_ages = np.array(read["age"], dtype=np.int64)
    is_below_80 = all_ages <= OLDEST
    if not is_below_80.any():
        raise DataError(Problem(where=str(folder), what=f"nobody under {OLDEST + 1} is in Adult's file.", fix=GET_IT))
    age, gender = all_ages[is_below_80], np.array(read["sex"])[is_below_80]
    is_female, n = gender == "Female", int(is_below_80.sum())
    draws = Draws(CENSUS_YEAR, seed)
    name = people.names(draws, is_female)
    count = f"its {n:,} records" if n == N_ADULT else f"{n:,} records (the paper has {N_ADULT:,})"
    return DataSet(
        name="adult",
        title="Adult",
        is_stand_in=False,
        columns={
            "patient_id": people.patient_ids(draws, n),
            "name": name,
            "email": people.e_mails(draws, name),
            "birth_year": CENSUS_YEAR - age,
            "gender": gender,
            "race": np.array(read["race"])[is_below_80],
            "marital_status": np.array(read["marital-status"])[is_below_80],
            "height": people.heights(draws, age, is_female),
        },
        policy=_policy(
            identifiers=("patient_id", "name", "email"),
            k_quasis={"birth_year": BIRTH_YEAR, "gender": GENDER, "race": RACE, "marital_status": MARITAL},
            epsilon_quasi="height",
        ),
        note=f"UCI Adult, training set: {count} of persons under 80, born in {CENSUS_YEAR} less their age. Heights are "
        "drawn, normal by age and sex as in NHANES 2007-2010; identifiers are made up.",
    )


def florida(*, seed: int) -> DataSet:
    """A stand-in for the paper's sample of Florida's voter list."""
    voters, race = florida_voters(N_FLORIDA, seed=seed)
    draws = Draws(FLORIDA, seed)
    identifiers = _who(voters, draws)
    identifiers["email"] = people.e_mails(draws, identifiers["name"])
    identifiers["phone"] = people.telephone_numbers(draws, N_FLORIDA)
    height = people.heights(draws, voters.age, voters.is_female)
    return _stand_in(
        "florida",
        voters,
        identifiers,
        {"race": race, "height": height},
        note="Age, sex and race follow a published sample of the register, ZIP areas the 2010 census; heights are normal by "
        "age and sex as in NHANES 2007-2010.",
    )


def michigan(*, seed: int) -> DataSet:
    """A stand-in for the paper's sample of Michigan's voter list."""
    voters = michigan_voters(N_MICHIGAN, seed=seed)
    draws = Draws(MICHIGAN, seed)
    return _stand_in(
        "michigan",
        voters,
        _who(voters, draws),
        {"weight": people.weights(draws, voters.age, voters.is_female)},
        note="Age and sex are Michigan's residents registered as Florida's are, ZIP areas follow the 2010 census; weights "
        "are log-normal by age and sex as in NHANES 2007-2010.",
    )


def _stand_in(name: str, voters: Voters, identifiers: Columns, more: Columns, *, note: str) -> DataSet:
    """A voter list with these identifiers; `more` ends with the ε-quasi, and may have race before it."""
    state, (*_, epsilon_quasi) = name.title(), more
    known = {"zip": ZIP, "gender": GENDER, "birth_year": BIRTH_YEAR, "race": RACE}
    quasis = {
        "zip": voters.zip_code,
        "gender": np.where(voters.is_female, "F", "M"),
        "birth_year": REGISTER_YEAR - voters.age,
        **more,
    }
    return DataSet(
        name=name,
        title=f"{state} (stand-in)",
        is_stand_in=True,
        columns={**identifiers, **quasis},
        policy=_policy(
            identifiers=tuple(identifiers),
            k_quasis={quasi: known[quasi] for quasi in quasis if quasi != epsilon_quasi},
            epsilon_quasi=epsilon_quasi,
        ),
        note=f"A stand-in for the paper's sample of {state}'s voter list, which names real people: nobody in it exists. {note}",
    )


STAND_INS: Mapping[str, Callable[..., DataSet]] = {"florida": florida, "michigan": michigan}


def with_both_measures(data: DataSet, *, seed: int) -> DataSet:
    """The data set with a weight beside every height, or a height beside every weight: a second ε-quasi.

    The second is drawn by age and sex as the first was, and independent of it given these: the survey has no correlation.
    """
    second, values = data.other_measure(
        Draws({"florida": FLORIDA, "michigan": MICHIGAN}.get(data.name, CENSUS_YEAR), seed)
    )
    attributes = {**data.policy["attributes"], second: deepcopy(MEASURED)}
    return replace(
        data,
        columns={**data.columns, second: values},
        policy={**data.policy, "attributes": attributes},
        note=f"{data.note} A {second} is drawn as well, independent of the {data.epsilon_quasi} given age and sex.",
    )


def _who(voters: Voters, draws: Draws) -> Columns:
    n = len(voters.age)
    return {
        "name": people.names(draws, voters.is_female),
        "surname": people.surnames(draws, n),
        "address": people.addresses(draws, n),
    }


def _policy(*, identifiers: tuple[str, ...], k_quasis: Mapping[str, Mapping[str, Any]], epsilon_quasi: str) -> Json:
    roles = dict.fromkeys(identifiers, IDENTIFIER) | {**k_quasis, epsilon_quasi: MEASURED}
    # Copies, so that a changed document changes no other data set's.
    return {
        "max_suppression": MAX_SUPPRESSION,
        "loss": "dm*",  # the loss of the paper
        "records_are_persons": True,  # made-up e-mails and telephone numbers repeat, voters and respondents do not
        "attributes": {name: deepcopy(role) for name, role in roles.items()},
    }
