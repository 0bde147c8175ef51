# SPDX-License-Identifier: Apache-2.0
"""What small tables look like after OLA and Mondrian, for pycanon to judge; nobody in them exists.

`python -m material.released_labels` prints them as JSON, for tools/write_pycanon_answers.py.
"""

from __future__ import annotations

import json

import numpy as np

import kepsilon
from kepsilon.kanonymise.algorithms import k_anonymise
from kepsilon.table.classes import SUPPRESSED
from strategies import Attribute, Encounters, Sample

QUASIS = ("zip", "sex")
COLUMNS = (*QUASIS, "person", "illness", "cost")
ILLNESSES = ("asthma", "cancer", "fracture", "migraine", "none")
CASES = {
    "ola, some left out": {"algorithm": "ola", "loss": "dm*", "k": 4, "max_suppression": 0.1},
    "ola, nobody left out": {
        "algorithm": "ola",
        "loss": "dm*",
        "k": 3,
        "max_suppression": 0,
        "illness": {"t_closeness": 0.35},
    },
    "ola, distinct": {
        "algorithm": "ola",
        "loss": "dm*",
        "k": 3,
        "max_suppression": 0.1,
        "illness": {"l_diversity": {"distinct": 3}},
    },
    "ola, entropy": {
        "algorithm": "ola",
        "loss": "dm*",
        "k": 2,
        "max_suppression": 0.1,
        "cost": {"l_diversity": {"entropy": 2}},
    },
    "mondrian": {"algorithm": "mondrian", "k": 3, "max_suppression": 0},
    "mondrian, recursive": {
        "algorithm": "mondrian",
        "k": 2,
        "max_suppression": 0,
        "illness": {"l_diversity": {"recursive": [2, 2]}, "t_closeness": 0.5},
    },
}
"""What each case asks for, top-level keys of a policy and what is asked of a sensitive column."""


def made_up(n: int = 240, *, seed: int = 15) -> tuple[Encounters, Encounters]:
    """Records with the illness, and with the cost, of each."""
    rng = np.random.default_rng(seed)
    zips = [f"{23 + i // 4}{i % 4}" for i in range(12)]
    attributes = [
        Attribute(name="zip", labels={z: [z, z[:2] + "*", "*"] for z in zips}),
        Attribute(name="sex", labels={s: [s, "*"] for s in "fm"}),
    ]
    n_persons = n // 2
    home = rng.choice(zips, n_persons, p=rng.dirichlet(np.full(12, 2.0)))
    sex = rng.choice(list("fm"), n_persons)
    person = rng.integers(0, n_persons, n)
    # Now and then a record has another place, so that a person is in several classes.
    place = np.where(rng.random(n) < 0.2, rng.choice(zips, n), home[person])
    sample = Sample(attributes=attributes, records=list(zip(place.tolist(), sex[person].tolist(), strict=True)))
    illness = rng.choice(len(ILLNESSES), n, p=[0.3, 0.1, 0.2, 0.15, 0.25]).tolist()
    cost = (100 * rng.integers(1, 9, n)).tolist()
    persons = person.tolist()
    return (
        Encounters(sample=sample, persons=persons, values=illness, ordered=False),
        Encounters(sample=sample, persons=persons, values=cost, ordered=True),
    )


def released(name: str) -> list[list[object]]:
    """The released records of one case, with a column for each of COLUMNS."""
    asked = dict(CASES[name])
    sensitive = {column: {"role": "sensitive", **asked.pop(column, {})} for column in ("illness", "cost")}
    by_illness, by_cost = made_up()
    table = by_illness.table
    table = type(table)(
        domains=table.domains,
        codes=table.codes,
        counts=table.counts,
        persons=table.persons,
        sensitive={"illness": table.sensitive["illness"], "cost": by_cost.table.sensitive["illness"]},
    )
    mask = {"role": "k-quasi", "hierarchy": {"type": "mask"}}
    attributes = {"person": {"role": "identifier"}, "zip": mask, "sex": mask, **sensitive}
    policy = kepsilon.Policy.from_dict({"epsilon": 1, "person": "person", **asked, "attributes": attributes})
    recoding = k_anonymise(table, policy).recoding
    rows: list[list[object]] = []
    for i, class_id in enumerate(recoding.class_of[by_illness.sample.combination_of].tolist()):
        if class_id != SUPPRESSED:
            labels = [str(own.labels[own.of_class[class_id]]) for own in recoding.attributes]
            rows.append([*labels, by_illness.persons[i], ILLNESSES[by_illness.values[i]], by_cost.values[i]])
    return rows


if __name__ == "__main__":
    print(json.dumps({name: released(name) for name in CASES}))
