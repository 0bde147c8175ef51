# SPDX-License-Identifier: Apache-2.0
"""A requirement is one class in one place: from the table of requirements into every release."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import kepsilon
from kepsilon.kanonymise.requirements import REQUIREMENTS
from kepsilon.kanonymise.requirements.protocol import class_sums
from material.people import OPENLY, people

DOCUMENT = {
    "k": 3, "epsilon": 2, "algorithm": "ola", "max_suppression": 0.3, "records_are_persons": True,
    "attributes": {
        "name": {"role": "identifier"},
        "zip": {"role": "k-quasi", "hierarchy": {"type": "mask"}},
        "year": {"role": "k-quasi", "hierarchy": {"type": "intervals", "widths": [5, 10]}},
        "sex": {"role": "k-quasi", "hierarchy": {"type": "suppress"}},
        "height": {"role": "epsilon-quasi", "precision": 0.1, "range": "class"},
        "illness": OPENLY,
    },
}  # fmt: skip
K_QUASIS = ("zip", "year", "sex")


class FourCombinations:
    """Every class has at least four distinct combinations of values; asked for by every policy while it is there."""

    name = "four combinations"
    claim = "four combinations in every class"
    unmet = "classes of fewer than four combinations"
    remedy = "give more varied records"
    is_monotone_under_suppression = True
    holds_for_unions = True

    @classmethod
    def asked_by(cls, policy, *, k):
        return (cls(),)

    def bound_to(self, table):
        return self

    def met_by(self, table, class_of, *, n_classes):
        return class_sums(np.ones(table.n_combinations), class_of, n_classes=n_classes) >= 4

    def met_by_records(self, members):
        """Records alone do not tell; no release of this test leaves out single records."""
        return np.ones(members.n_classes, dtype=bool)


def records(n=300):
    # Some combinations are frequent, so that classes of one combination would have k records.
    frequent = people(n)
    return pa.Table.from_pylist([person for i, person in enumerate(frequent) for _ in range(4 if i % 5 == 0 else 1)])


def fewest_combinations(release, table):
    """Of the classes of a release, by the originals of their records."""
    linkage = release.linkage.to_pydict()
    originals = table.to_pylist()
    found = {}
    for row, class_id in zip(linkage["original_row"], linkage["class_id"], strict=True):
        found.setdefault(class_id, set()).add(tuple(originals[row][name] for name in K_QUASIS))
    return min(map(len, found.values()))


@pytest.mark.parametrize("algorithm", ["ola", "mondrian", "local-recoding"])
def test_one_class_and_one_line_reach_check_explore_anonymise_and_the_report(algorithm, tmp_path):
    """What every class has to satisfy is counted in the release, and was not so without the requirement."""
    table, policy = records(), kepsilon.Policy.from_dict({**DOCUMENT, "algorithm": algorithm})
    without = kepsilon.anonymise(table, policy, unsafe_seed=1)
    assert fewest_combinations(without, table) < 4
    with REQUIREMENTS.having(FourCombinations):
        prediction = kepsilon.check(table, policy)
        grid = kepsilon.explore(table, policy, k=[3, 10], epsilon=[1, 2])
        release = kepsilon.anonymise(table, policy, unsafe_seed=1)
        release.report(tmp_path / "report.html")
    assert fewest_combinations(release, table) >= 4
    n_classes = release.record["classes"]["count"]
    assert n_classes == prediction.classes.count < without.record["classes"]["count"]
    assert release.record["records"]["suppressed_by_k"] <= policy.most_suppressed(table.num_rows)
    assert f"{n_classes:,}" in (tmp_path / "report.html").read_text(encoding="utf-8")
    shown = {(cell.algorithm, cell.k): cell.prediction.classes.count for cell in grid.cells if cell.epsilon == 2}
    assert shown[algorithm, 3] == n_classes
    assert len(shown) == 6


@pytest.mark.parametrize(
    ("algorithm", "said"),
    [("ola", "cannot be met"), ("mondrian", "before any cut"), ("local-recoding", "before any cut")],
)
def test_what_cannot_be_met_is_refused_in_its_words(algorithm, said):
    """Three kinds of people cannot make a class of four combinations."""
    table = pa.Table.from_pylist([person for person in people(3) for _ in range(10)])
    policy = kepsilon.Policy.from_dict({**DOCUMENT, "algorithm": algorithm})
    with REQUIREMENTS.having(FourCombinations):
        with pytest.raises(kepsilon.UnsatisfiableError, match=said) as caught:
            kepsilon.check(table, policy)
        assert "four combinations in every class" in str(caught.value)
        assert "classes of fewer than four combinations" in str(caught.value)
        assert "give more varied records" in str(caught.value)
        refused = kepsilon.explore(table, policy, k=3, epsilon=2, algorithm=algorithm).cells[0].refused
    assert "four combinations in every class" in refused
    assert kepsilon.check(table, policy).classes.count >= 1
