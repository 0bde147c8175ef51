# SPDX-License-Identifier: Apache-2.0
"""Releases of averages, and what is done to them to see whether the audit notices: one table of named tamperings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import kepsilon as ke
from material.audited_releases import NUMERIC_QUASIS, Case, Columns, patients, patients_policy, released, rounded
from material.person_tamperings import encounters

AVERAGED = {"role": "epsilon-quasi", "precision": 0.1}
COARSE = {"role": "epsilon-quasi", "precision": 1}
DECLARED = {"role": "epsilon-quasi", "precision": 0.01, "range": [130, 210]}
OF_PERSONS: dict[str, Any] = {"person": "name", "k": 4, "max_suppression": 0.3}

SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {"averages": {"group": 8}, "attributes": {"height": AVERAGED}},
    "coarse": {"averages": {"group": 8}, "attributes": {"height": COARSE}},
    "two": {"averages": {"group": 8}, "attributes": {"height": AVERAGED, "weight": AVERAGED}},
    "clipped": {"averages": {"group": 8}, "attributes": {"height": {**AVERAGED, "domain": [160, 185]}}},
    "persons": {"averages": {"group": 6}, **OF_PERSONS, "attributes": {"height": AVERAGED}},
    "diverse": {
        "averages": {"group": 5},
        "attributes": {"height": AVERAGED, "illness": {"role": "sensitive", "l_diversity": {"distinct": 4}}},
    },
    "missing": {"averages": {"group": 6}, "attributes": {"height": {**AVERAGED, "missing": "class"}}},
    "spread": {"averages": {"group": 8, "spread": True}, "attributes": {"height": AVERAGED}},
    "noise": {"averages": {"group": 8, "noise": True}, "epsilon": 4, "attributes": {"height": DECLARED}},
    "noise on two": {
        "averages": {"group": 8, "noise": True},
        "epsilon": 4,
        "attributes": {"height": DECLARED, "weight": {**DECLARED, "range": [20, 140]}},
    },
    "noise, small classes": {
        "averages": {"group": 400, "noise": True},
        "epsilon": 4,
        "k": 5,
        "attributes": {"height": DECLARED},
    },
    "noise, groups above g": {
        "averages": {"group": 86, "noise": True},
        "epsilon": 4,
        "k": 80,
        "attributes": {"height": DECLARED},
    },
    "noise of persons": {
        "averages": {"group": 6, "noise": True},
        **OF_PERSONS,
        "epsilon": 9,
        "epsilon_per": "person",
        "max_records_per_person": 3,
        "attributes": {"height": {**DECLARED, "range": [120, 220]}},
    },
}
"""What the policy of each setting has that the patients' policy has not."""


MANY_YEARS = ("noise, small classes", "noise, groups above g")
"""Settings in which a class is one group."""


def averaged_policy(setting: str, algorithm: str = "ola") -> ke.Policy:
    changes = {"epsilon": None, **SETTINGS[setting]}
    attributes = dict(changes.pop("attributes"))
    if "person" in changes:
        attributes["score"] = {"role": "sensitive"}
    if algorithm == "mondrian":
        attributes |= NUMERIC_QUASIS
    return patients_policy(**changes, algorithm=algorithm, attributes=attributes)


def averaged_table(setting: str, n: int, *, seed: int = 7) -> Columns:
    """The records that go with a setting; years are few, so that a class has several groups."""
    if "person" in SETTINGS[setting]:
        return encounters(n, seed=seed) | {"year": [str(1950 + i % 2) for i in range(n)]}
    original = patients(n, seed=seed, with_missing=setting == "missing")
    if setting not in MANY_YEARS:
        original["year"] = [str(1950 + i % 2) for i in range(n)]
    if setting == "diverse":
        original["illness"] = [f"CANARY-{i}" for i in np.random.default_rng(seed).choice(12, n, p=[0.45] + [0.05] * 11)]
    if "weight" in SETTINGS[setting]["attributes"]:
        original["weight"] = np.random.default_rng(seed).normal(80, 12, n).round(1).tolist()
    return original


def sound_averages(setting: str, algorithm: str, n: int, *, data_seed: int = 7, seed: int = 1) -> Case:
    """A release that nobody tampered with."""
    return released(averaged_table(setting, n, seed=data_seed), averaged_policy(setting, algorithm), seed=seed)


def quasis_of(case: Case) -> list[str]:
    return list(case.policy.epsilon_quasis)


def groups_of(case: Case) -> list[list[int]]:
    """Released records of each group: those of a class that publish the same averages."""
    found: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for row, class_id in enumerate(case.linkage["class_id"]):
        found[class_id, *(case.released[name][row] for name in quasis_of(case))].append(row)
    return list(found.values())


def with_averages(case: Case, groups: Sequence[Sequence[int]], column: str = "height") -> Case:
    """The averages of other groups in place of those that are published."""
    own, values = case.own(column), list(case.released[column])
    step = float(case.policy.epsilon_quasis[column].precision)
    for rows in groups:
        average = rounded(float(np.mean([own[row] for row in rows])), step)
        for row in rows:
            values[row] = average
    return case.change(**{column: values})


def with_noise(
    case: Case, scale: Callable[[float, int], float], column: str = "height", *, shared: bool = True, seed: int = 5
) -> Case:
    """Averages with other noise: of a scale that depends on R/ε and the size of the group, one draw for it or for each row."""
    rng = np.random.default_rng(seed)
    attribute = case.policy.epsilon_quasis[column]
    low, high = attribute.range
    reach = (high - low) / float(case.policy.record_epsilon)
    own, values = np.clip(case.own(column), low, high), list(case.released[column])
    for rows in groups_of(case):
        average, size = float(own[rows].mean()), len(rows)
        draws = rng.laplace(0, scale(reach, size), 1 if shared else size)
        for row, draw in zip(rows, np.broadcast_to(draws, size), strict=True):
            values[row] = rounded(average + float(draw), float(attribute.precision))
    return case.change(**{column: values})


def short_group(case: Case) -> Case:
    """One record of a group of g is averaged with another group of its class, so that g − 1 are left."""
    by_class: dict[int, list[list[int]]] = defaultdict(list)
    for rows in groups_of(case):
        by_class[case.linkage["class_id"][rows[0]]].append(rows)
    g = case.policy.averages.group
    one, other = next(
        (rows, own[i - 1]) for own in by_class.values() if len(own) > 1 for i, rows in enumerate(own) if len(rows) == g
    )
    changed = case
    for name in quasis_of(case):
        changed = with_averages(changed, [one[1:], [*other, one[0]]], name)
    return changed


def across_classes(case: Case) -> Case:
    """Two groups of different classes are averaged together."""
    first, *rest = groups_of(case)
    ids = case.linkage["class_id"]
    other = next(rows for rows in rest if ids[rows[0]] != ids[first[0]])
    return with_averages(case, [[*first, *other]])


def by_records(case: Case) -> Case:
    """Groups of g records in each class, by their values, whoever they are about."""
    own, by_class = case.own("height"), defaultdict(list)
    for row, class_id in enumerate(case.linkage["class_id"]):
        by_class[class_id].append(row)
    g, groups = case.policy.averages.group, []
    for rows in by_class.values():
        rows.sort(key=lambda row: own[row])
        groups += [part.tolist() for part in np.array_split(rows, max(1, len(rows) // g))]
    return with_averages(case, groups)


def person_divided(case: Case) -> Case:
    """One record of a person is averaged with another group of its class than the person's other records."""
    names, ids = [(name or "").strip() for name in case.own("name")], case.linkage["class_id"]
    groups = groups_of(case)
    for one in groups:
        again = next((row for row in one if [names[i] for i in one].count(names[row]) > 1), None)
        other = next((rows for rows in groups if rows is not one and ids[rows[0]] == ids[one[0]]), None)
        if again is not None and other is not None:
            return with_averages(case, [[row for row in one if row != again], [*other, again]])
    raise ValueError("nobody has several records in a class of several groups")


def class_moved(case: Case, by: float) -> Case:
    """All values of the largest class are moved by as much."""
    ids, values = case.linkage["class_id"], list(case.released["height"])
    largest = max(set(ids), key=ids.count)
    step = float(case.policy.epsilon_quasis["height"].precision)
    return case.change(
        height=[rounded(v + by, step) if own == largest else v for v, own in zip(values, ids, strict=True)]
    )


def rounded_before(case: Case) -> Case:
    """Values are rounded to the precision before they are averaged, and the average is rounded again."""
    step = float(case.policy.epsilon_quasis["height"].precision)
    own, values = case.own("height"), list(case.released["height"])
    for rows in groups_of(case):
        average = rounded(float(np.mean([rounded(own[row], step) for row in rows])), step)
        for row in rows:
            values[row] = average
    return case.change(height=values)


def some_exact(case: Case, share: float = 0.01) -> Case:
    """Some records publish their own value."""
    own, values = case.own("height"), list(case.released["height"])
    step = float(case.policy.epsilon_quasis["height"].precision)
    for row in np.random.default_rng(4).choice(len(own), max(1, int(share * len(own))), replace=False).tolist():
        values[row] = rounded(own[row], step)
    return case.change(height=values)


def one_moved(case: Case, by: float = 5.0) -> Case:
    """The average of one group is another one."""
    values = list(case.released["height"])
    for row in groups_of(case)[0]:
        values[row] = rounded(values[row] + by)
    return case.change(height=values)


def independent_draws(case: Case) -> Case:
    """Every ε-quasi has a draw of its own with the whole ε, so that two of them spend it twice."""
    changed = case
    for i, name in enumerate(quasis_of(case)):
        changed = with_noise(changed, lambda reach, size: reach / size, name, seed=5 + i)
    return changed


def one_value_in_a_group(case: Case) -> Case:
    """The sensitive values of a group are exchanged with those of its class until the group has one."""
    ids, values, own = case.linkage["class_id"], list(case.released["illness"]), list(case.original["illness"])
    for rows in groups_of(case):
        others = [i for i, class_id in enumerate(ids) if class_id == ids[rows[0]] and i not in rows]
        for wanted in sorted(set(values)):
            spare = [i for i in others if values[i] == wanted]
            lacking = [i for i in rows if values[i] != wanted]
            if len(spare) >= len(lacking) > 0:
                for record, other in zip(lacking, spare, strict=False):
                    values[record], values[other] = values[other], values[record]
                    first, second = (case.linkage["original_row"][i] for i in (record, other))
                    own[first], own[second] = own[second], own[first]
                changed = case.change(illness=values)
                return Case({**case.original, "illness": own}, changed.released, case.linkage, case.policy)
    raise ValueError("no class has enough records of one value")


@dataclass(frozen=True, kw_only=True)
class AverageTampering:
    """One way to tamper with averages, and what the audit has to say about it."""

    change: Callable[[Case], Case]
    setting: str
    check: str = "averages"
    """The check that has to call it broken."""
    needs: str | None = None
    """The function that notices it with a linkage, where without this one nothing does."""
    needs_without: str | None = None
    """The function that notices it without a linkage, where without this one nothing does."""
    n: int = 2000
    """Records that are enough to notice it with a linkage."""
    n_without: int | None = None
    """Records that are enough without a linkage; None if it is not noticed then."""
    severity: str = "broken"
    """What the finding is; more noise than claimed protects more, and is only warned of."""


def noise_of_scale(scale: Callable[[float, int], float], **rest: Any) -> Callable[[Case], Case]:
    """A change to noise whose scale depends on R/ε and the size of the group."""
    return lambda case: with_noise(case, scale, **rest)


def noise_as_of_g(case: Case) -> Case:
    """Noise on averages as if every group had g records."""
    return with_noise(case, lambda reach, _: reach / case.policy.averages.group)


SIZES = {"needs": "check_group_sizes", "needs_without": "check_group_sizes", "n_without": 2000}
NOISE = {"check": "noise", "needs": "check_noise_of_groups"}
TAMPERINGS: dict[str, AverageTampering] = {
    "last group of g − 1 records": AverageTampering(change=short_group, setting="plain", **SIZES),
    "last group of g − 1 records, two columns": AverageTampering(change=short_group, setting="two", **SIZES),
    "groups across classes": AverageTampering(
        change=across_classes,
        setting="plain",
        needs="check_exact_averages",
        needs_without="check_exact_sums",
        n_without=2000,
    ),
    "groups of records, not of persons": AverageTampering(change=by_records, setting="persons"),
    "a person's records in two groups": AverageTampering(
        change=person_divided, setting="persons", needs="check_groups_of_persons"
    ),
    "rounded before averaging": AverageTampering(change=rounded_before, setting="coarse", needs="check_exact_averages"),
    "average of one group moved": AverageTampering(
        change=one_moved,
        setting="plain",
        needs="check_exact_averages",
        needs_without="check_exact_sums",
        n_without=2000,
    ),
    "1 in 100 publish their own value": AverageTampering(change=some_exact, setting="plain", n_without=2000),
    "values less varied in a group": AverageTampering(
        change=one_value_in_a_group,
        setting="diverse",
        check="l-diversity",
        needs="check_sensitive_values",
        needs_without="check_sensitive_values",
        n_without=2000,
    ),
    "class moved, spread": AverageTampering(
        change=lambda case: class_moved(case, 12.0),
        setting="spread",
        needs="check_spread_sums",
        needs_without="check_spread_sums",
        n_without=2000,
    ),
    "class moved, noise": AverageTampering(
        change=lambda case: class_moved(case, 15.0),
        setting="noise",
        needs="check_noisy_sums",
        needs_without="check_noisy_sums",
        n_without=2000,
    ),
    "noise for each row": AverageTampering(
        change=noise_of_scale(lambda reach, size: reach / size, shared=False), setting="noise", n_without=2000
    ),
    "1 in 100 publish their own value, noise": AverageTampering(change=some_exact, setting="noise", n_without=2000),
    "noise of scale R/(gε), classes smaller than g": AverageTampering(
        change=noise_as_of_g, setting="noise, small classes", n_without=2000, **NOISE
    ),
    "noise of scale R/(gε), groups larger than g": AverageTampering(
        change=noise_as_of_g, setting="noise, groups above g", n=30_000, severity="warning", **NOISE
    ),
    "noise of scale R/(s²ε)": AverageTampering(
        change=noise_of_scale(lambda reach, size: reach / size**2),
        setting="noise",
        needs_without="check_noisy_sums",
        n_without=2000,
        **NOISE,
    ),
    "averages without noise": AverageTampering(
        change=noise_of_scale(lambda _, __: 0.0),
        setting="noise",
        needs_without="check_noisy_sums",
        n_without=2000,
        **NOISE,
    ),
    "ε doubled": AverageTampering(
        change=noise_of_scale(lambda reach, size: reach / size / 2), setting="noise", **NOISE
    ),
    "draws of each column with the whole ε": AverageTampering(
        change=independent_draws, setting="noise on two", n=4000, **NOISE
    ),
}
"""Everything that is done to averages. A new one is a function and a line; docs/audit.md has the power of each."""
