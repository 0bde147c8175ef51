# SPDX-License-Identifier: Apache-2.0
"""How much longer a search takes that counts persons instead of records, on made-up encounters of made-up patients.

Run: python benchmarks/persons.py [--records 100000 1000000] [--k 5 10] [--repeat 5]

A patient has 1 to 40 encounters, most have few. Sex is constant, race nearly, the home changes now and then; age rises
from encounter to encounter, and each is an admission of its own kind. The lattice has 80 nodes: ZIP 5 levels, age 4,
admission 2, race 2, sex 1. Both searches run on one table, in one process, by turns; a time is the shortest of the
repeats, with the longest beside it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

import kepsilon
from kepsilon.kanonymise.algorithms import KAnonymised, k_anonymise
from kepsilon.table.codes import Domain, code_domain
from kepsilon.table.frequency import FrequencyTable, count_combinations
from kepsilon.table.number_line import number_line
from kepsilon.table.persons import count_persons

MOST_ENCOUNTERS = 40
N_ZIPS = 300
ADMISSIONS = ("emergency", "urgent", "elective", "newborn", "trauma", "other")
ADMISSION_SHARES = (0.53, 0.19, 0.19, 0.03, 0.02, 0.04)
RACES = ("Caucasian", "African American", "Hispanic", "Asian", "Other", "unknown")
RACE_SHARES = (0.74, 0.19, 0.02, 0.007, 0.015, 0.028)


@dataclass(frozen=True)
class Encounters:
    """One entry per encounter in every array."""

    patient: np.ndarray
    columns: dict[str, np.ndarray]
    """Positions in the values of each k-quasi."""


def encounters(n_records: int, *, seed: int = 15) -> Encounters:
    """Made-up encounters in random order."""
    rng = np.random.default_rng(seed)
    n_of_patient = np.minimum(rng.zipf(1.9, n_records), MOST_ENCOUNTERS)
    n_patients = int(np.searchsorted(np.cumsum(n_of_patient), n_records)) + 1
    patient = np.repeat(np.arange(n_patients), n_of_patient[:n_patients])[:n_records]
    place = np.arange(n_records) - np.searchsorted(patient, patient)
    homes = rng.gamma(1.1, size=N_ZIPS) + 0.01
    home = rng.choice(N_ZIPS, n_patients, p=homes / homes.sum())
    moved = rng.random(n_records) < 0.03
    age = np.clip(rng.normal(58, 18, n_patients), 0, 95).astype(int)
    race = rng.choice(len(RACES), n_patients, p=np.array(RACE_SHARES) / sum(RACE_SHARES))
    misread = rng.random(n_records) < 0.01
    columns = {
        "zip": np.where(moved, rng.integers(0, N_ZIPS, n_records), home[patient]),
        "age": np.minimum(age[patient] + place // 4, 99),
        "admission": rng.choice(len(ADMISSIONS), n_records, p=ADMISSION_SHARES),
        "race": np.where(misread, rng.integers(0, len(RACES), n_records), race[patient]),
        "sex": (rng.random(n_patients) < 0.54).astype(int)[patient],
    }
    order = rng.permutation(n_records)
    return Encounters(patient[order], {name: column[order] for name, column in columns.items()})


def labels() -> dict[str, list[list[str]]]:
    """Values of each k-quasi, and their labels by level: 5 × 4 × 2 × 2 × 1 = 80 nodes."""
    zips = [f"{3000 + 7 * i}" for i in range(N_ZIPS)]
    ages = list(range(100))
    return {
        "zip": [[code[: 4 - level] + "*" * level for code in zips] for level in range(5)],
        "age": [[str(a) for a in ages], *([f"{a // w * w}+{w}" for a in ages] for w in (5, 20)), ["*"] * len(ages)],
        "admission": [list(ADMISSIONS), ["*"] * len(ADMISSIONS)],
        "race": [list(RACES), ["*"] * len(RACES)],
        "sex": [["f", "m"]],
    }


def counted(made_up: Encounters) -> FrequencyTable:
    """The frequency table of the encounters, with their patients."""
    domains, codes = [], []
    for name, by_level in labels().items():
        domain, code_of_value = _domain(name, by_level)
        domains.append(domain)
        codes.append(code_of_value[made_up.columns[name]])
    table, combination_of = count_combinations(codes, domains, n_records=len(made_up.patient))
    persons = count_persons(combination_of, made_up.patient, n_combinations=table.n_combinations)
    return replace(table, persons=persons)


def _domain(name: str, by_level: list[list[str]]) -> tuple[Domain, np.ndarray]:
    if name != "age":
        return code_domain(name, by_level)
    domain, code_of_value = code_domain(name, by_level, positions=np.arange(len(by_level[0]), dtype=float))
    numbers = [Fraction(value or "") for value in domain.levels[0]]
    return replace(domain, line=number_line(numbers, step=Fraction(1))), code_of_value


def policy_of(algorithm: str, *, k: int, counts_persons: bool) -> kepsilon.Policy:
    quasis = {name: {"role": "k-quasi", "hierarchy": {"type": "mask"}} for name in labels()}
    stated = {"person": "patient"} if counts_persons else {}
    return kepsilon.Policy.from_dict(
        {
            "k": k,
            "epsilon": 1,
            "algorithm": algorithm,
            "max_suppression": 0.05,
            **stated,
            "attributes": {"patient": {"role": "identifier"}, **quasis},
        }
    )


def by_turns(
    functions: Sequence[Callable[[], KAnonymised]], *, repeat: int
) -> tuple[list[KAnonymised], list[list[float]]]:
    """The last result of each function, and all its times."""
    results: list[KAnonymised] = []
    times: list[list[float]] = [[] for _ in functions]
    for _ in range(repeat):
        results = []
        for function, own in zip(functions, times, strict=True):
            start = time.perf_counter()
            results.append(function())
            own.append(time.perf_counter() - start)
    return results, times


def line(table: FrequencyTable, *, algorithm: str, k: int, repeat: int) -> list[str]:
    """One line of the table."""
    policies = [policy_of(algorithm, k=k, counts_persons=counts) for counts in (False, True)]
    assert table.persons is not None
    persons = table.persons

    def searched(policy: kepsilon.Policy) -> KAnonymised:
        """Classes of a table that no search has prepared anything for."""
        return k_anonymise(replace(table, persons=replace(persons)), policy)

    results, times = by_turns([lambda own=own: searched(own) for own in policies], repeat=repeat)
    cells = [f"{table.n_records:,}", f"{table.n_combinations:,}", f"{len(persons.persons):,}", algorithm, str(k)]
    for result, own in zip(results, times, strict=True):
        recoding = result.recoding
        in_classes = persons.in_classes(recoding.class_of, n_classes=recoding.n_classes)
        how = "" if result.nodes_counted is None else f", {result.nodes_counted} nodes"
        cells.append(
            f"{_seconds(min(own))} ({_seconds(max(own))}){how}, {recoding.n_classes:,} classes, fewest persons {in_classes.min()}"
        )
    return [*cells, f"{min(times[1]) / min(times[0]):.2f}"]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--k", type=int, nargs="+", default=[5, 10])
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args(arguments)
    heads = ["records", "combinations", "pairs", "algorithm", "k", "by records", "by persons", "ratio"]
    print("| " + " | ".join(heads) + " |")
    print("|" + "---|" * len(heads))
    for n_records in options.records:
        table = counted(encounters(n_records))
        for algorithm in ("ola", "mondrian"):
            for k in options.k:
                cells = line(table, algorithm=algorithm, k=k, repeat=options.repeat)
                print("| " + " | ".join(cells) + " |", flush=True)


def _seconds(seconds: float) -> str:
    return f"{1000 * seconds:.0f} ms" if seconds < 1 else f"{seconds:.2f} s"


if __name__ == "__main__":
    main()
