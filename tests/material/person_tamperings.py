# SPDX-License-Identifier: Apache-2.0
"""Releases of persons with several records, and what is done to them to see whether the audit notices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import kepsilon as ke
from material.audited_releases import NUMERIC_QUASIS, Case, Columns, classes_of, patients_policy, released, rounded

PERSONS: dict[str, Any] = {"person": "name", "epsilon_per": "record", "k": 4, "max_suppression": 0.3}
ONCE: dict[str, Any] = {**PERSONS, "epsilon_per": "person"}
DECLARED = {"role": "epsilon-quasi", "precision": 0.1, "range": [120, 220]}


def illness(**asked: Any) -> dict[str, Any]:
    return {"illness": {"role": "sensitive", **asked}}


SETTINGS: dict[str, dict[str, Any]] = {
    "persons": PERSONS,
    "cap": {**PERSONS, "max_records_per_person": 3},
    "shared": {**PERSONS, "epsilon_per": "person", "max_records_per_person": 3},
    "once": {**ONCE, "attributes": {"height": DECLARED}},
    "distinct": {**PERSONS, "attributes": illness(l_diversity={"distinct": 3})},
    "entropy": {**PERSONS, "attributes": illness(l_diversity={"entropy": 2.5})},
    "recursive": {**PERSONS, "attributes": illness(l_diversity={"recursive": [2, 3]})},
    "close": {**PERSONS, "attributes": {"score": {"role": "sensitive", "t_closeness": 0.25}}},
    "close illness": {**PERSONS, "attributes": illness(t_closeness=0.7)},
    "close cap": {
        **PERSONS,
        "max_records_per_person": 3,
        "attributes": {"score": {"role": "sensitive", "t_closeness": 0.25}},
    },
    "all": {
        **PERSONS,
        "max_records_per_person": 4,
        "confidence": 0.6,
        "attributes": {"score": {"role": "sensitive", "t_closeness": 0.3}, **illness(l_diversity={"distinct": 2})},
    },
    "confident": {**PERSONS, "confidence": 0.8},
    "confident once": {**ONCE, "confidence": 0.6, "attributes": {"height": DECLARED}},
}
"""What the policy of each setting has that the patients' policy has not."""


def encounters(n: int, *, seed: int = 7) -> Columns:
    """Records of persons with one to many each; some do not say whom they are about. Heights are those of persons."""
    rng = np.random.default_rng(seed)
    n_persons = n // 3
    persons = (rng.random(n) ** 2 * n_persons).astype(int)
    heights = rng.normal(170, 10, n_persons).round(1)
    blanks = rng.choice(["", " ", "  "], n)
    named = [f"{blank}CANARY-{person:05}{blank}" for person, blank in zip(persons, blanks, strict=True)]
    return {
        "name": [None if gone else name for name, gone in zip(named, rng.random(n) < 0.01, strict=True)],
        "zip": [f"1{a}{b}" for a, b in zip(rng.integers(0, 3, n), rng.integers(0, 4, n), strict=True)],
        "year": [str(year) for year in rng.integers(1950, 1965, n)],
        "height": heights[persons].tolist(),
        "illness": [f"CANARY-illness-{i}" for i in rng.integers(0, 12, n)],
        "score": [None if i == 30 else i for i in rng.integers(0, 31, n).tolist()],
    }


def policy_of(setting: str, algorithm: str = "ola") -> ke.Policy:
    changes = dict(SETTINGS[setting])
    attributes = {"score": {"role": "sensitive"}, **changes.pop("attributes", {})}
    if algorithm == "mondrian":
        attributes |= NUMERIC_QUASIS
    return patients_policy(**changes, algorithm=algorithm, attributes=attributes)


def sound_release(setting: str, algorithm: str = "ola", n: int = 900, *, seed: int = 1) -> Case:
    """A release that nobody tampered with."""
    original = encounters(n, seed=seed + 6)
    return released(original, policy_of(setting, algorithm), seed=seed)


def persons_of(case: Case) -> list[str]:
    """Whom each released record is about."""
    return [(name or "").strip() for name in case.own("name")]


def one_person_as_k(case: Case) -> Case:
    """All originals of one class are records of one person, and so the class passes for one of k persons.

    The original is changed and not the release: the release is that of a table whose records were persons.
    """
    records = classes_of(case)[0]
    rows = {case.linkage["original_row"][record] for record in records}
    names = ["CANARY-99999" if row in rows else name for row, name in enumerate(case.original["name"])]
    return replace(case, original={**case.original, "name": names})


def one_too_few(case: Case) -> Case:
    """All records of one class are those of k − 1 persons."""
    records = classes_of(case)[0]
    names = list(case.original["name"])
    for place, record in enumerate(records):
        names[case.linkage["original_row"][record]] = f"CANARY-9999{place % (case.policy.k - 1)}"
    return replace(case, original={**case.original, "name": names})


def beyond_cap(case: Case) -> Case:
    """One person has a released record more than the cap allows: two persons of the original are one."""
    most = case.policy.max_records_per_person
    persons = persons_of(case)
    full = next(person for person, n in Counter(persons).items() if n == most)
    classes = [
        [i for i in records if persons[i] != full and Counter(persons)[persons[i]] == 1] for records in classes_of(case)
    ]
    [other, *_] = max(classes, key=len)
    names = list(case.original["name"])
    names[case.linkage["original_row"][other]] = full
    return replace(case, original={**case.original, "name": names})


def nobody_released(case: Case) -> Case:
    """A released record does not say whom it is about."""
    names = list(case.original["name"])
    names[case.linkage["original_row"][max(classes_of(case), key=len)[0]]] = "  "
    return replace(case, original={**case.original, "name": names})


def one_illness(case: Case, column: str = "illness") -> Case:
    """The values of one class are exchanged with those of others, until all but one of the class are alike.

    Originals are exchanged too, so that nothing but the class is wrong.
    """
    values, own = list(case.released[column]), list(case.original[column])
    records = min(classes_of(case), key=len)
    wanted = Counter(values).most_common(1)[0][0]
    if column == "score":
        wanted = max(value for value in values if value is not None)
    others = [i for i in range(len(values)) if i not in set(records) and values[i] == wanted]
    for record, other in zip([i for i in records[1:] if values[i] != wanted], others, strict=False):
        values[record], values[other] = values[other], values[record]
        first, second = (case.linkage["original_row"][i] for i in (record, other))
        own[first], own[second] = own[second], own[first]
    return replace(case.change(**{column: values}), original={**case.original, column: own})


def different_draws(case: Case) -> Case:
    """One record of a person with several has a draw of its own."""
    persons = persons_of(case)
    person = Counter(persons).most_common(1)[0][0]
    heights = list(case.released["height"])
    heights[persons.index(person)] = rounded(heights[persons.index(person)] + 7.3)
    return case.change(height=heights)


def draws_scaled(case: Case, factor: float = 0.4) -> Case:
    """Every person has one draw, but it is smaller than claimed."""
    own, now = np.array(case.own("height")), np.array(case.released["height"])
    return case.change(height=[rounded(float(value)) for value in own + factor * (now - own)])


def draws_by_record(case: Case) -> Case:
    """Every record has a draw of its own, of the claimed size."""
    own = np.array(case.own("height"))
    drawn = np.random.default_rng(3).laplace(size=len(own)) * 100 / float(case.policy.epsilon)
    return case.change(height=[rounded(float(value)) for value in own + drawn])


@dataclass(frozen=True, kw_only=True)
class PersonTampering:
    """One way to tamper, and what the audit has to say about it."""

    change: Callable[[Case], Case]
    setting: str
    check: str
    """The check that has to call it broken."""
    without: bool = False
    """Whether it is noticed without a linkage too."""
    needs: str
    """The function that notices it; without this one, nothing does."""


TAMPERINGS: dict[str, PersonTampering] = {
    "class of one person passed off as k": PersonTampering(
        change=one_person_as_k, setting="persons", check="k persons", needs="check_persons"
    ),
    "class of k-1 persons": PersonTampering(
        change=one_too_few, setting="persons", check="k persons", needs="check_persons"
    ),
    "record beyond the cap": PersonTampering(change=beyond_cap, setting="cap", check="cap", needs="check_cap"),
    "values less varied (distinct)": PersonTampering(
        change=one_illness, setting="distinct", check="l-diversity", without=True, needs="check_sensitive_values"
    ),
    "values less varied (entropy)": PersonTampering(
        change=one_illness, setting="entropy", check="l-diversity", without=True, needs="check_sensitive_values"
    ),
    "values less varied (recursive)": PersonTampering(
        change=one_illness, setting="recursive", check="l-diversity", without=True, needs="check_sensitive_values"
    ),
    "numbers far from all others": PersonTampering(
        change=lambda case: one_illness(case, "score"),
        setting="close",
        check="t-closeness",
        without=True,
        needs="check_sensitive_values",
    ),
    "categories far from all others": PersonTampering(
        change=one_illness, setting="close illness", check="t-closeness", without=True, needs="check_sensitive_values"
    ),
    "different draws of one person": PersonTampering(
        change=different_draws, setting="once", check="one draw", needs="check_one_draw"
    ),
}
