# SPDX-License-Identifier: Apache-2.0
"""Voters who do not exist: age, sex and race as on a register, and ZIP areas that differ as real ones do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kepsilon.reproduce.data import stand_in_figures as figures
from kepsilon.reproduce.data.draws import Draws, FloatArray, IntArray, TextArray

REGISTER_YEAR = 2016
"""Voters' year of birth is this minus their age; the last year before the paper."""
FLORIDA, MICHIGAN = 12, 26
"""The census's numbers of the states; they keep the draws of one apart from the other's."""
GEOGRAPHY = 2010
"""Key of the draws that lay out the ZIP areas, so that a seed draws other voters of the same state."""
AGES = np.arange(figures.AGE_KNOTS[0], figures.AGE_KNOTS[-1])
CENSUS_RACE = {
    "White": "white",
    "Black": "black",
    "Hispanic": "hispanic",
    "Asian": "api",
    "Native": "native",
    "Other": "multiple",
    "Unknown": None,
}
"""The race on the register, and the one of the census that says where such voters live; Unknown live as all do."""
N_FITTING_STEPS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Voters:
    """Voters by age, sex and ZIP code; one entry per voter in every array."""

    age: IntArray
    is_female: NDArray[np.bool_]
    zip_code: TextArray


@dataclass(frozen=True, slots=True, kw_only=True)
class ZipAreas:
    """The ZIP areas of a state, one entry each."""

    codes: TextArray
    residents: FloatArray
    """Shares of the state's residents."""
    years_older: FloatArray
    """Median age of an area less the state's."""
    common: FloatArray
    """What the shares of all races but white have in common, with mean 0 and deviation 1."""


def florida_voters(n: int, *, seed: int) -> tuple[Voters, TextArray]:
    """The voters and their race: race and age are drawn together, sex by age, the ZIP area by race and age."""
    draws = Draws(FLORIDA, seed)
    rates = register_rates()
    cell = draws.index("race and age", rates.reshape(1, -1), np.zeros(n, dtype=np.int64))
    race, age = np.divmod(cell, len(AGES))
    areas = zip_areas(figures.FLORIDA, state=FLORIDA)
    shares = dict(zip(figures.CENSUS_RACES, race_shares(areas, figures.FLORIDA, state=FLORIDA).T, strict=True))
    everyone = np.ones(len(areas.codes))
    living = areas.residents * np.array([shares[name] if name else everyone for name in CENSUS_RACE.values()])
    ageing = relative_ages(areas, rates.sum(axis=0), variance=figures.AGE_VARIANCE["FL"])
    weights = (living[:, None, :] * ageing[None, :, :]).reshape(-1, len(areas.codes))
    voters = Voters(
        age=AGES[age],
        is_female=draws.uniform("sex", n) < share_of_women()[age],
        zip_code=areas.codes[draws.index("zip", weights, cell)],
    )
    return voters, np.array(list(CENSUS_RACE))[race]


def michigan_voters(n: int, *, seed: int) -> Voters:
    """As many of each age and sex as Michigan would have if its residents registered as Florida's do."""
    draws = Draws(MICHIGAN, seed)
    rates = michigan_rates()
    cell = draws.index("sex and age", rates.reshape(1, -1), np.zeros(n, dtype=np.int64))
    sex, age = np.divmod(cell, len(AGES))
    areas = zip_areas(figures.MICHIGAN, state=MICHIGAN)
    weights = areas.residents * relative_ages(areas, rates.sum(axis=0), variance=figures.AGE_VARIANCE["MI"])
    return Voters(age=AGES[age], is_female=sex == 0, zip_code=areas.codes[draws.index("zip", weights, age)])


def register_rates() -> FloatArray:
    """Florida's voters by race (as in CENSUS_RACE) and year of age, shape (7, n_ages); only their ratios matter."""
    curves = {name: np.interp(AGES, figures.AGE_KNOTS, heights) for name, heights in figures.VOTERS.items()}
    few = {name: share * curves["few"] for name, share in figures.FEW.items()}
    return np.array([(curves | few)[name.lower()] for name in CENSUS_RACE])


def share_of_women() -> FloatArray:
    """Share of women among voters by year of age, shape (n_ages,)."""
    return np.interp(AGES, figures.WOMEN_KNOTS, figures.WOMEN)


def michigan_rates() -> FloatArray:
    """Michigan's voters by sex, women first, and year of age, shape (2, n_ages): Florida's, times Michigan's residents
    for each of Florida's."""
    everyone, women = register_rates().sum(axis=0), share_of_women()
    ratio = [np.interp(AGES, figures.RATIO_KNOTS, figures.MICHIGAN_TO_FLORIDA[sex]) for sex in ("F", "M")]
    return np.array([everyone * women * ratio[0], everyone * (1 - women) * ratio[1]])


def zip_areas(state_figures: Mapping[str, Any], *, state: int) -> ZipAreas:
    """Codes, sizes, ages and races of a state's ZIP areas: prefixes as they are, the areas within them drawn.

    Sizes are the fitted curve at evenly spaced quantiles, dealt out at random: no two prefixes differ by luck.
    """
    draws = Draws(state, GEOGRAPHY)
    codes, residents, older = [], [], []
    for prefix, (n, n_tens, people, median_age, kind) in state_figures["prefixes"].items():
        codes += [f"{prefix}{ending:02d}" for ending in _endings(draws, prefix, n, n_tens)]
        sizes = np.interp((np.arange(n) + 0.5) / n, figures.SIZE_KNOTS, state_figures["sizes"][kind])
        residents.append(people * sizes[draws.order(f"sizes {prefix}", n)] / sizes.sum())
        older.append(np.full(n, median_age))
    size = np.concatenate(residents)
    size /= size.sum()
    common, own = draws.normal("common", len(codes)), draws.normal("median age", len(codes))
    shared = state_figures.get("age_correlation", 0.0)
    varied = shared * common + np.sqrt(1 - shared**2) * own
    median = np.concatenate(older) + state_figures["age_deviation"] * varied
    return ZipAreas(
        codes=np.array(codes), residents=size, years_older=median - np.average(median, weights=size), common=common
    )


def _endings(draws: Draws, prefix: str, n: int, n_tens: int) -> list[int]:
    """n of the numbers below 100, with n_tens different first digits: post offices number in runs."""
    tens = draws.order(f"tens {prefix}", 10)[:n_tens]
    order = draws.order(f"endings {prefix}", 10 * n_tens)
    endings = (10 * tens[:, None] + np.arange(10)).ravel()[order]
    _, first_of_ten = np.unique(endings // 10, return_index=True)
    rest = np.delete(endings, first_of_ten)[: n - n_tens]
    return sorted([*endings[first_of_ten].tolist(), *rest.tolist()])


def race_shares(areas: ZipAreas, state_figures: Mapping[str, Any], *, state: int) -> FloatArray:
    """Shares of the census's races by ZIP area, shape (n_areas, 6).

    Log-ratios to white vary about their prefix's, and a prefix's total is as counted.
    """
    draws = Draws(state, GEOGRAPHY)
    names, prefix = np.unique([code[:3] for code in areas.codes.tolist()], return_inverse=True)
    targets = np.array([state_figures["races"][name] for name in names.tolist()])
    correlation = state_figures["race_correlation"]
    size, shares = areas.residents, targets[prefix]
    for position, race in enumerate(figures.CENSUS_RACES[1:], start=1):
        own = draws.normal(f"race {race}", len(size))
        varied = np.sqrt(correlation) * areas.common + np.sqrt(1 - correlation) * own
        shares[:, position] *= np.exp(state_figures["race_deviations"][race] * varied)
    for _ in range(N_FITTING_STEPS):
        shares /= shares.sum(axis=1, keepdims=True)
        totals = np.array([np.bincount(prefix, size * share) for share in shares.T]).T
        shares *= (targets * np.bincount(prefix, size)[:, None] / totals)[prefix]
    shares /= shares.sum(axis=1, keepdims=True)
    return shares


def relative_ages(areas: ZipAreas, by_age: FloatArray, *, variance: float) -> FloatArray:
    """How much likelier each age is in each ZIP area than in the state, shape (n_ages, n_areas).

    An exponential tilt, which moves the mean of a bell of that variance by `years_older`; an area keeps its size.
    """
    years = AGES - np.average(AGES, weights=by_age)
    tilt = np.exp(years[:, None] * (areas.years_older / variance))
    relative: FloatArray = tilt / np.average(tilt, axis=0, weights=by_age)
    return relative
