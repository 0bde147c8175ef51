# SPDX-License-Identifier: Apache-2.0
"""Classes of encounters in memory that say whom they are about, as an engine hands them out, a few classes at a time."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field

import numpy as np

import kepsilon
from kepsilon.engines.protocol import Batch
from oracles.noise import SEED


def policy_of(*names, epsilon=2.0, **settings):
    """A policy with persons; ε-quasis have declared ranges."""
    quasi = {"role": "epsilon-quasi", "precision": 0.1, "range": [0, 100]}
    attributes = {
        "patient": {"role": "identifier"},
        "ward": {"role": "k-quasi", "hierarchy": {"type": "suppress"}},
        **dict.fromkeys(names, quasi),
    }
    stated = {"person": "patient", "epsilon_per": "person", **settings}
    return kepsilon.Policy.from_dict(
        {
            "k": 2,
            "epsilon": epsilon,
            "algorithm": "ola",
            "max_suppression": 0,
            "attributes": attributes,
            **{key: value for key, value in stated.items() if value is not None},
        }
    )


@dataclass
class PersonClasses:
    """A `Classes` of records in memory; looks and draws travel as to a worker, and what is stored can be looked at."""

    values: np.ndarray
    class_ids: np.ndarray
    persons: np.ndarray
    sensitive: np.ndarray | None = None
    at_once: int = 3
    """Classes of a batch."""
    published: dict = field(default_factory=dict)
    """What was published of each record that stays, by its position."""

    @property
    def sizes(self):
        return np.bincount(self.class_ids)

    def batches(self):
        n_classes = len(self.sizes)
        for first in range(0, n_classes, self.at_once):
            last = min(first + self.at_once, n_classes)
            own = np.flatnonzero((self.class_ids >= first) & (self.class_ids < last))
            yield (
                own,
                Batch(
                    classes=slice(first, last),
                    class_ids=(self.class_ids[own] - first).astype(np.int32),
                    values=self.values[own],
                    persons=self.persons[own],
                    sensitive=None if self.sensitive is None else self.sensitive[own],
                ),
            )

    def each(self, look):
        for _, batch in self.batches():
            yield pickle.loads(pickle.dumps(look))(batch)

    def draw(self, draw, *, random):
        for own, batch in self.batches():

            def store(part, published, stays, own=own):
                assert len(part.class_ids) == len(published) == len(stays) == len(own)
                self.published |= {int(i): x for i, x, stay in zip(own, published, stays, strict=True) if stay}

            yield pickle.loads(pickle.dumps(draw))(batch, random, store)


def encounters(n_patients=60, n_wards=8, most=40, d=1):
    """Patients with 1 to `most` encounters in a few of the wards, mixed; a patient's values are the same in all of them."""
    rng = np.random.default_rng([SEED, n_patients])
    n_own = np.minimum(rng.geometric(0.25, n_patients), most)
    n_own[0] = most
    persons = np.repeat(rng.permutation(n_patients) * 2**50 - 2**56, n_own)
    wards = rng.integers(0, n_wards, len(persons))
    wards[: n_patients // 3] = 0
    _, wards = np.unique(wards, return_inverse=True)
    heights = rng.uniform(5, 95, (n_patients, d)).round(1)
    values = np.repeat(heights, n_own, axis=0)
    mixed = rng.permutation(len(persons))
    return PersonClasses(values=values[mixed], class_ids=wards[mixed], persons=persons[mixed])
