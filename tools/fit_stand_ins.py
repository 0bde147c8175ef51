# SPDX-License-Identifier: Apache-2.0
"""Fits the few figures that the stand-ins for the voter lists are drawn from to census and survey tables.

Writes `src/kepsilon/reproduce/data/stand_in_figures.py`; with `--check`, tells where a fresh fit would differ and exits 1.
The tables are looked for in `KEPSILON_DATA`, or else in `shared/data` beside the project; no part of them is copied.
"""

from __future__ import annotations

import ast
import csv
import os
import sys
import textwrap
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parent.parent
MODULE = ROOT / "src" / "kepsilon" / "reproduce" / "data" / "stand_in_figures.py"
FloatArray = NDArray[np.float64]

AGE_KNOTS = (19, 20, 30, 40, 50, 60, 70, 80, 90, 100)
WOMEN_KNOTS = (20, 40, 60, 80, 90)
RATIO_KNOTS = (19, 23, 30, 40, 50, 60, 70, 85)
SIZE_KNOTS = (0.0, 0.02, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 1.0)
FEW = ("asian", "native", "other")
CENSUS_RACES = ("white", "black", "hispanic", "api", "native", "multiple")
SCALED = ("black", "hispanic", "api", "native", "multiple")
DENSE = 15_000
BODY_AGES = (17, 18, 19, 20, 30, 40, 50, 60, 70, 80)
POPULATION = "pop_2016"
OLDEST_SINGLE_AGE = 84
N_STEPS = 5_000
ROUNDING = 1.01


def main() -> int:
    folder = Path(os.environ.get("KEPSILON_DATA") or ROOT.parent / "shared" / "data")
    if not (folder / "zcta_fl.csv").is_file():
        print(f"the tables are not in {folder}; set KEPSILON_DATA to their folder")
        return 2
    figures = fitted(folder)
    if "--check" in sys.argv[1:]:
        problems = list(differences(read_figures(MODULE), figures))
        print(*problems or [f"{MODULE.name} holds what the tables give"], sep="\n")
        return 1 if problems else 0
    MODULE.write_text(as_source(figures), encoding="utf-8")
    print(f"wrote {MODULE.relative_to(ROOT)}; format it with ruff")
    return 0


def fitted(folder: Path) -> dict[str, tuple[Any, str]]:
    """Each figure's value and what it is, by name."""
    voters = register_by_age(_rows(folder, "fl_voters_age_sex_race.csv"))
    body = _rows(folder, "anthropometry.csv")
    return {
        "AGE_KNOTS": (AGE_KNOTS, "Ages at which the register's curves are given; linear in between."),
        **voters,
        "RATIO_KNOTS": (RATIO_KNOTS, "Ages at which Michigan is compared with Florida; linear in between."),
        "MICHIGAN_TO_FLORIDA": (
            state_ratio(_rows(folder, "age_sex_state.csv")),
            f"Persons in Michigan for one in Florida by sex at RATIO_KNOTS; age_sex_state.csv ({POPULATION}).",
        ),
        "AGE_VARIANCE": (
            age_variance(_rows(folder, "age_sex_state.csv")),
            f"Variance of the age of all residents, in years squared; age_sex_state.csv ({POPULATION}).",
        ),
        "SIZE_KNOTS": (SIZE_KNOTS, "Quantiles at which the sizes of ZIP areas are given; linear in between."),
        "FLORIDA": (zip_areas(_rows(folder, "zcta_fl.csv"), by_race=True), _ZIP_MEANING + " zcta_fl.csv."),
        "MICHIGAN": (zip_areas(_rows(folder, "zcta_mi.csv"), by_race=False), _ZIP_MEANING + " zcta_mi.csv."),
        "BODY_AGES": (BODY_AGES, "First ages of the bands of HEIGHT_CM and LN_WEIGHT_KG; the last has no end."),
        "HEIGHT_CM": (
            body_figures(body, "height_cm", "mean", "sd_or_se"),
            "Mean and deviation of height by sex and band; anthropometry.csv, NHANES 2007-2010, kind sd.",
        ),
        "LN_WEIGHT_KG": (
            body_figures(body, "weight_kg", "ln_mean", "ln_sd"),
            "Mean and deviation of the logarithm of weight by sex and band; the same source.",
        ),
    }


_ZIP_MEANING = (
    "Three-digit prefixes with their numbers of ZIP areas and of four-digit beginnings, residents per 10,000 of the "
    f"state, median age, and whether a ZIP area has {DENSE:,} residents on average; sizes of ZIP areas at SIZE_KNOTS "
    "relative to their prefix's mean; shares of CENSUS_RACES where race is used; and what varies between the ZIP areas "
    "of a prefix: deviation of the median age, deviations of log(race share / white share), the common correlation of "
    "these, and that of the median age with what they have in common."
)


def register_by_age(rows: list[dict[str, str]]) -> dict[str, tuple[Any, str]]:
    """Voters by age: one curve per race, those with few voters sharing theirs, and the share of women."""
    low, high, counts = [], [], defaultdict[tuple[str, str], dict[int, int]](dict)
    for row in rows:
        first, last = int(row["age_min"]), int(row["age_max"])
        if first not in low:
            low.append(first)
            high.append(last)
        counts[row["sex"], row["race"]][first] = int(row["n"])
    bands = np.array([[first <= age <= last for age in _ages()] for first, last in zip(low, high, strict=True)], float)
    in_band = {key: np.array([by_band.get(first, 0) for first in low], float) for key, by_band in counts.items()}
    races = list(dict.fromkeys(row["race"] for row in rows))
    both = {race: in_band["F", race] + in_band["M", race] for race in races}
    total = sum(float(count.sum()) for count in both.values())
    # Nobody is 100, so that the last band needs one height only.
    hats = _hats(_ages(), AGE_KNOTS)[:, :-1]
    curves = {race: _positive_fit(bands @ hats, count) for race, count in both.items() if race not in FEW}
    curves["few"] = _positive_fit(bands @ hats, np.sum([both[race] for race in FEW], axis=0))
    everyone = hats @ np.sum(list(curves.values()), axis=0)
    women = _positive_fit(
        bands @ (everyone[:, None] * _hats(_ages(), WOMEN_KNOTS)),
        np.sum([in_band["F", race] for race in races], axis=0),
    )
    few = sum(float(both[race].sum()) for race in FEW)
    source = "fl_voters_age_sex_race.csv (9,984 registered voters)."
    return {
        "VOTERS": (
            {race: (*(round(float(v) / total * 1e4, 2) for v in curve), 0.0) for race, curve in curves.items()},
            f"Voters of one year of age at AGE_KNOTS by race, per 10,000 of all; {source}",
        ),
        "FEW": (
            {race: round(float(both[race].sum()) / few, 4) for race in FEW},
            f'Who "few" are: races with few voters, taken to be as old as each other; {source}',
        ),
        "WOMEN_KNOTS": (WOMEN_KNOTS, "Ages at which the share of women is given; linear in between, level outside."),
        "WOMEN": (
            tuple(round(float(v), 4) for v in women),
            f"Share of women among voters at WOMEN_KNOTS, taken to be the same for every race; {source}",
        ),
    }


def state_ratio(rows: list[dict[str, str]]) -> dict[str, tuple[float, ...]]:
    ages = [age for age in _ages() if age <= OLDEST_SINGLE_AGE + 1]
    hats = _hats(ages, RATIO_KNOTS)
    ratios = {}
    for sex in ("F", "M"):
        florida, michigan = (_population(rows, state, sex) for state in ("FL", "MI"))
        exposed = hats * np.array([florida[age] for age in ages])[:, None]
        fit = _positive_fit(exposed, np.array([michigan[age] for age in ages], float))
        ratios[sex] = tuple(round(float(v), 4) for v in fit)
    return ratios


def age_variance(rows: list[dict[str, str]]) -> dict[str, int]:
    found = {}
    for state in ("FL", "MI"):
        people = np.sum([[_population(rows, state, sex)[age] for age in range(86)] for sex in ("F", "M")], axis=0)
        mean = np.average(np.arange(86), weights=people)
        found[state] = round(float(np.average((np.arange(86) - mean) ** 2, weights=people)))
    return found


def zip_areas(rows: list[dict[str, str]], *, by_race: bool) -> dict[str, Any]:
    """Sizes, median ages and race shares of ZIP areas: between prefixes as counted, within them as laws."""
    rows = [row for row in rows if int(row["pop2010"]) > 0]
    people = np.array([int(row["pop2010"]) for row in rows], float)
    prefixes, prefix = np.unique([row["zip"][:3] for row in rows], return_inverse=True)
    n_areas, residents = np.bincount(prefix), np.bincount(prefix, people)
    tens = [len({row["zip"][:4] for row in rows if row["zip"][:3] == name}) for name in prefixes]
    mean_size = residents / n_areas
    relative, is_dense = people / mean_size[prefix], (mean_size >= DENSE)[prefix]
    aged = np.array([bool(row["median_age_acs2013"]) for row in rows])
    median_age = np.array([float(row["median_age_acs2013"] or 0) for row in rows])
    mean_age = np.bincount(prefix, people * aged * median_age) / np.bincount(prefix, people * aged)
    age_off = np.where(aged, median_age - mean_age[prefix], 0)
    result: dict[str, Any] = {
        "prefixes": {
            str(name): (
                int(n_areas[i]),
                tens[i],
                round(float(residents[i] / residents.sum() * 1e4)),
                round(float(mean_age[i]), 1),
                "dense" if mean_size[i] >= DENSE else "sparse",
            )
            for i, name in enumerate(prefixes)
        },
        "sizes": {
            kind: tuple(round(float(v), 3) for v in np.quantile(relative[chosen], SIZE_KNOTS))
            for kind, chosen in (("dense", is_dense), ("sparse", ~is_dense))
        },
        "age_deviation": round(float(np.sqrt(np.average(age_off[aged] ** 2, weights=people[aged]))), 2),
    }
    if by_race:
        shares = np.array([[float(row[f"share_{race}"]) for race in CENSUS_RACES] for row in rows])
        in_prefix = np.array([np.bincount(prefix, people * share) / residents for share in shares.T]).T
        result["races"] = {
            str(name): tuple(round(float(v), 4) for v in in_prefix[i]) for i, name in enumerate(prefixes)
        }
        result |= _race_spread(shares, age_off, people, prefix)
    return result


def _race_spread(
    shares: FloatArray, age_off: FloatArray, people: FloatArray, prefix: NDArray[np.intp]
) -> dict[str, Any]:
    """Log-ratios to white, off their prefix's mean, as one common factor and one of each race's own.

    A thousandth is added to each share: in an area of few people a race may have no one, and its logarithm no value.
    """
    ratios = np.log((shares[:, 1:] + 1e-3) / (shares[:, :1] + 1e-3))
    off = ratios - np.array([np.bincount(prefix, people * r) / np.bincount(prefix, people) for r in ratios.T]).T[prefix]
    deviations = np.sqrt(np.average(off**2, axis=0, weights=people))
    scaled = off / deviations
    between = np.cov(scaled.T, aweights=people)
    n = len(SCALED)
    common = (between.sum() - np.trace(between)) / (n * (n - 1))
    factor = scaled.mean(axis=1)
    with_age = np.average(factor * age_off, weights=people) / np.sqrt(np.average(age_off**2, weights=people))
    return {
        "race_deviations": {race: round(float(v), 3) for race, v in zip(SCALED, deviations, strict=True)},
        "race_correlation": round(float(common), 3),
        "age_correlation": round(float(with_age / np.sqrt(common)), 3),
    }


def body_figures(
    rows: list[dict[str, str]], measure: str, mean: str, deviation: str
) -> dict[str, tuple[tuple[float, float], ...]]:
    found: dict[str, tuple[tuple[float, float], ...]] = {}
    for sex in ("F", "M"):
        # "20 and over" comes last and would otherwise stand for 20 to 29.
        by_age = {
            int(row["age_min"]): (float(row[mean]), float(row[deviation]))
            for row in rows
            if row["kind"] == "sd" and (row["measure"], row["sex"]) == (measure, sex)
            and (row["age_max"] or row["age_min"] == "80")
        }  # fmt: skip
        found[sex] = tuple(by_age[age] for age in BODY_AGES)
    return found


def _positive_fit(basis: FloatArray, counts: FloatArray) -> FloatArray:
    """The most likely non-negative heights of the knots for Poisson counts, by expectation-maximisation."""
    heights = np.full(basis.shape[1], counts.sum() / basis.sum())
    weight = basis.sum(axis=0)
    for _ in range(N_STEPS):
        heights = heights * (basis.T @ (counts / (basis @ heights))) / weight
    return heights


def _hats(ages: list[int], knots: tuple[int, ...]) -> FloatArray:
    """One column per knot: 1 there, 0 at the others, linear in between."""
    return np.column_stack([np.interp(ages, knots, unit) for unit in np.eye(len(knots))])


def _ages() -> list[int]:
    return list(range(AGE_KNOTS[0], AGE_KNOTS[-1]))


def _population(rows: list[dict[str, str]], state: str, sex: str) -> dict[int, int]:
    return {int(row["age"]): int(row[POPULATION]) for row in rows if (row["state"], row["sex"]) == (state, sex)}


def _rows(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def as_source(figures: Mapping[str, tuple[Any, str]]) -> str:
    purpose = (
        "The figures that the stand-ins are drawn from; written by `tools/fit_stand_ins.py`, not by hand.\n\n"
        "Each names the table it was fitted to; where those come from is told in `docs/explanation/data-sets.md`.\n"
    )
    parts = [
        f'# SPDX-License-Identifier: Apache-2.0\n"""{purpose}"""\n\nfrom __future__ import annotations\n',
        f"CENSUS_RACES = {CENSUS_RACES!r}",
    ]
    for name, (value, meaning) in figures.items():
        parts.append(f'{name} = {_literal(value)}\n"""{_wrapped(meaning)}"""')
    return "\n".join(parts) + "\n"


def _literal(value: Any) -> str:
    """One line for each part of a mapping, with the comma that makes the formatter leave it so."""
    if isinstance(value, dict):
        return "{" + "".join(f"\n{key!r}: {_literal(part)}," for key, part in value.items()) + "\n}"
    return repr(value)


def _wrapped(meaning: str) -> str:
    return "\n".join(textwrap.wrap(meaning, 116))


def read_figures(module: Path) -> dict[str, Any]:
    """What the committed module assigns, without running it."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    return {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }


def differences(committed: Mapping[str, Any], figures: Mapping[str, tuple[Any, str]]) -> Iterator[str]:
    """Where two sets of figures part by more than one unit of the last digit, which another processor may round apart."""
    for name, (value, _) in figures.items():
        if name not in committed:
            yield f"{name}: missing"
        else:
            yield from _parted(name, committed[name], value)
    for name in committed.keys() - figures.keys() - {"CENSUS_RACES"}:
        yield f"{name}: nothing fits it"


def _parted(path: str, ours: Any, fresh: Any) -> Iterator[str]:
    if isinstance(fresh, dict) and isinstance(ours, dict) and list(ours) == list(fresh):
        for key in fresh:
            yield from _parted(f"{path}.{key}", ours[key], fresh[key])
    elif isinstance(fresh, tuple) and isinstance(ours, tuple) and len(ours) == len(fresh):
        for i, part in enumerate(fresh):
            yield from _parted(f"{path}.{i}", ours[i], part)
    elif isinstance(fresh, float | int) and isinstance(ours, float | int):
        digits = max(len(repr(float(number)).partition(".")[2]) for number in (ours, fresh))
        if abs(ours - fresh) > ROUNDING * 10.0**-digits:
            yield f"{path}: {ours} is committed, {fresh} is fitted"
    elif ours != fresh:
        yield f"{path}: has another shape"


if __name__ == "__main__":
    sys.exit(main())
