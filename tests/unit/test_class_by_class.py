# SPDX-License-Identifier: Apache-2.0
"""What batches of classes add up to does not depend on how they were cut: positions, class ids and simulations go on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import kepsilon
from kepsilon.draw import Measured, perturb_batch
from kepsilon.engines.protocol import Batch
from kepsilon.evaluate.confident_k.confident_k import ConfidentK
from kepsilon.evaluate.pictures import Spread
from kepsilon.evaluate.simulation import Blocks
from kepsilon.perturb.mechanisms import mechanism_of
from kepsilon.predict.outlook import outlook_of_batch
from oracles.noise import SEED, seeded

SIZES = np.array([7, 5, 40, 9, 6, 8])
"""Records of each class; the third comes in parts."""


def policy(*names: str) -> kepsilon.Policy:
    quasi = {"role": "epsilon-quasi", "precision": 0.1, "range": "class"}
    attributes = {"zip": {"role": "k-quasi", "hierarchy": {"type": "suppress"}}, **dict.fromkeys(names, quasi)}
    return kepsilon.Policy.from_dict(
        {"k": 2, "epsilon": 10, "algorithm": "ola", "max_suppression": 0, "confidence": 0.9, "attributes": attributes}
    )


def batch(classes: slice, class_ids: np.ndarray, values: np.ndarray) -> Batch:
    """Of all records, those in some classes."""
    own = (class_ids >= classes.start) & (class_ids < classes.stop)
    return Batch(classes=classes, class_ids=class_ids[own] - classes.start, values=values[own])


@dataclass(frozen=True)
class InParts:
    """A class that is looked at a few records at a time."""

    class_id: int
    values: np.ndarray
    most_values: int = 1_000

    def parts(self) -> Iterator[Batch]:
        for first in range(0, len(self.values), 11):
            part = self.values[first : first + 11]
            ids = np.zeros(len(part), dtype=np.int64)
            yield Batch(classes=slice(self.class_id, self.class_id + 1), class_ids=ids, values=part)


def test_the_sample_is_of_the_records_at_the_sampled_positions():
    """Whatever batch or part they came in; their class ids count from the first class of all."""
    rng = np.random.default_rng(SEED)
    class_ids = np.repeat(np.arange(len(SIZES)), SIZES)
    n = len(class_ids)
    values = rng.permutation(n)[:, np.newaxis].astype(float)  # all different, so that each tells which record it was
    ends = [(values[class_ids == c].min(axis=0), values[class_ids == c].max(axis=0)) for c in range(len(SIZES))]
    sampled = np.sort(rng.choice(n, n // 2, replace=False))
    published, stays, random = [], [], seeded()

    def keep(part, noisy, staying):
        published.append(noisy[:, 0])
        stays.append(staying)

    measured = Measured(sizes=np.zeros_like(SIZES), spreads=[Spread()])
    batches = [
        batch(slice(0, 2), class_ids, values),
        InParts(2, values[class_ids == 2]),
        batch(slice(3, 5), class_ids, values),
        batch(slice(5, 6), class_ids, values),
    ]
    for own in batches:
        measured.add(
            perturb_batch(
                own,
                random,
                keep,
                low=np.array([low for low, _ in ends]),
                high=np.array([high for _, high in ends]),
                policy=policy("height"),
                mechanism=mechanism_of(policy("height")),
                sampled=sampled,
                n_before=np.concatenate([[0], np.cumsum(SIZES)[:-1]]),
            )
        )
    assert 0 < np.count_nonzero(np.concatenate(stays)[sampled]) < len(sampled), "some stay and some do not"
    sample = measured.sample()
    assert len(published) == 1 + 4 + 1 + 1, "the large class came in four parts"
    assert sample.values.tolist() == values[sampled].tolist()
    assert sample.class_ids.tolist() == class_ids[sampled].tolist()
    assert sample.published[0].tolist() == np.concatenate(published)[sampled].tolist()
    assert sample.stays.tolist() == np.concatenate(stays)[sampled].tolist()
    assert measured.sizes.tolist() == np.bincount(class_ids[np.concatenate(stays)], minlength=len(SIZES)).tolist()


def test_the_same_values_in_other_classes_are_simulated_apart():
    """Or errors of batches that look alike would all go the same way. What is not simulated is the same."""
    rng = np.random.default_rng(SEED)
    wanted = policy("height", "weight")
    class_ids, values = np.repeat(np.arange(3), 30), np.round(rng.normal(100, 10, (90, 2)), 1)
    settings = ((2.0, None), (2.0, ConfidentK.asked_by(wanted)))

    def look(first):
        own = Batch(classes=slice(first, first + 3), class_ids=class_ids, values=values)
        blocks = Blocks.of(np.full(6, 30))
        return outlook_of_batch(
            own, policy=wanted, settings=settings, mechanism=mechanism_of(wanted), blocks=blocks
        ).expected

    one, again, other = look(0), look(0), look(3)
    assert one == again
    for here, there in zip(one, other, strict=True):
        assert here.errors == there.errors
        assert here.links != there.links
    assert one[1].suppressed != other[1].suppressed
