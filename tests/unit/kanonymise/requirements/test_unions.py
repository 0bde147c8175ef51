# SPDX-License-Identifier: Apache-2.0
"""Classes that meet a requirement meet it together: algorithms merge classes, and do not ask what that breaks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from kepsilon.kanonymise.requirements import REQUIREMENTS
from kepsilon.kanonymise.requirements.k_persons import KPersons
from kepsilon.kanonymise.requirements.k_records import KRecords
from kepsilon.kanonymise.requirements.l_diversity import DistinctDiversity, EntropyDiversity, RecursiveDiversity
from kepsilon.kanonymise.requirements.t_closeness import TCloseness
from unit.kanonymise.requirements.test_persons_and_values import table_of

N_CASES, N_CLASSES = 150, 4
BY_KIND = {
    "KRecords": [KRecords(k=4)],
    "KPersons": [KPersons(k=4)],
    "LDiversity": [
        *(DistinctDiversity(column="illness", least=least) for least in (2, 3)),
        *(EntropyDiversity(column="illness", least=least) for least in (1.5, 2.5)),
        *(RecursiveDiversity(column="illness", c=c, least=least) for c, least in ((1, 2), (1.5, 2), (3, 3))),
    ],
    "TCloseness": [TCloseness(column="illness", t=t) for t in (0.2, 0.3)],
}
"""Requirements of every kind, each strict enough to fail often and lax enough to be met often."""


@dataclass(frozen=True)
class AtMost:
    """The mutant: a class may have so many records and no more, which a union need not keep."""

    most: int

    def met_by(self, table, class_of, *, n_classes):
        sizes = np.bincount(class_of[class_of >= 0], weights=table.counts[class_of >= 0], minlength=n_classes)
        return sizes <= self.most


def unions(requirement, *, ordered):
    """Of random tables, whether all classes that meet the requirement meet it as one, where there are at least two."""
    rng = np.random.default_rng(1994)
    found = []
    for _ in range(N_CASES):
        n = int(rng.integers(20, 60))
        values = [None if v == 4 else int(v) for v in rng.choice(5, size=n, p=rng.dirichlet([1.5] * 4 + [0.3]))]
        records = list(zip(rng.integers(0, 8, n).tolist(), rng.integers(0, 30, n).tolist(), values, strict=True))
        records += [(c, 0, None) for c in range(8)]
        table, class_of = table_of(records, ordered=ordered), np.arange(8, dtype=np.int32) % N_CLASSES
        meets = requirement.met_by(table, class_of, n_classes=N_CLASSES)
        if np.count_nonzero(meets) > 1:
            as_one = np.where(meets[class_of], 0, -1).astype(np.int32)
            found.append(bool(requirement.met_by(table, as_one, n_classes=1)[0]))
    return found


@pytest.mark.parametrize("ordered", [False, True], ids=["categories", "numbers"])
@pytest.mark.parametrize("requirement", [own for kind in BY_KIND.values() for own in kind], ids=str)
def test_a_union_of_classes_that_meet_a_requirement_meets_it(requirement, ordered):
    """Otherwise joining parts with equal labels, or a coarser node, would break what every part had kept."""
    found = unions(requirement, ordered=ordered)
    assert len(found) > N_CASES / 10
    assert all(found)


def test_a_requirement_that_unions_break_is_noticed():
    """The test above can fail."""
    assert not all(unions(AtMost(most=20), ordered=False))


def test_every_requirement_is_tried():
    """A new kind is missing here until somebody adds it."""
    assert [kind.__name__ for kind in REQUIREMENTS] == list(BY_KIND)
