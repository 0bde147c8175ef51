# SPDX-License-Identifier: Apache-2.0
"""An algorithm is one class in one place: from the table of algorithms into every release; none of them is trusted."""

from __future__ import annotations

import json
import tomllib

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as parquet
import pytest

import kepsilon
from kepsilon.kanonymise.algorithms import KAnonymised, for_every_k
from kepsilon.policy.algorithms import BuiltInAlgorithm
from kepsilon.policy.choices import ALGORITHMS
from kepsilon.table.classes import SUPPRESSED, AttributeLabels, Recoding
from material.people import OPENLY, POLICY, people
from strategies import Attribute, Sample


class OneClass:
    """Everybody in one class, which shows nothing of any k-quasi."""

    name = "one-class"
    title = "One class"
    needs_hierarchies = False
    may_suppress = False
    suppresses_freely = False
    cuts_apart = True
    has_levels = False

    def find(self, table, request):
        hidden = AttributeLabels(
            labels=("*",),
            of_class=np.zeros(1, dtype=np.int64),
            loss=np.ones(1),
            ncp=np.ones(1),
            covered=np.array([table.n_records]),
        )
        recoding = Recoding(
            class_of=np.zeros(table.n_combinations, dtype=np.int32),
            sizes=np.array([table.n_records]),
            attributes=(hidden,) * len(table.domains),
        )
        return {k: KAnonymised(recoding=recoding, dm_star=table.n_records**2) for k in request.ks}


class AsTheyAre:
    """Values as they are; combinations of fewer than k records are left out, whatever the limit."""

    name = "as-they-are"
    title = "As they are"
    needs_hierarchies = False
    may_suppress = True
    suppresses_freely = True
    cuts_apart = True
    has_levels = False

    def find(self, table, request):
        return {k: self._at(table, self._smallest(k)) for k in request.ks}

    def _smallest(self, k):
        return k

    def _at(self, table, smallest):
        released = table.counts >= smallest
        class_of = np.where(released, np.cumsum(released) - 1, SUPPRESSED).astype(np.int32)
        sizes = table.counts[released]
        labels = tuple(
            AttributeLabels(
                labels=domain.levels[0],
                of_class=codes[released],
                loss=np.zeros(len(sizes)),
                ncp=np.zeros(len(sizes)),
                covered=np.bincount(codes, weights=table.counts, minlength=domain.n_values).astype(int)[
                    codes[released]
                ],
            )
            for domain, codes in zip(table.domains, table.codes, strict=True)
        )
        recoding = Recoding(class_of=class_of, sizes=self._said(sizes), attributes=labels)
        return KAnonymised(recoding=recoding, dm_star=int((table.counts**2).sum()))

    def _said(self, sizes):
        return sizes


class OneTooFew(AsTheyAre):
    """Has the bug that the safety net is there for: classes of k − 1 records."""

    def _smallest(self, k):
        return k - 1


DOCUMENT = {
    "k": 3, "epsilon": 2, "algorithm": "one-class", "max_suppression": 0.1,
    "attributes": {
        "name": {"role": "identifier"},
        "zip": {"role": "k-quasi", "hierarchy": {"type": "suppress"}},
        "year": {"role": "k-quasi"},
        "height": {"role": "epsilon-quasi", "precision": 0.1, "range": "class"},
        "illness": OPENLY,
    },
}  # fmt: skip


def patients(n=400):
    """Few combinations with many records each, and a few that nobody shares."""
    table = [
        {**person, "zip": person["zip"][:2], "year": f"in {1950 + int(person['year']) % 4}"} for person in people(n)
    ]
    for i in range(6):
        table[i]["year"] = f"in {1990 + i}"
    return pa.Table.from_pylist([{name: p[name] for name in DOCUMENT["attributes"]} for p in table])


def test_one_class_and_one_line_reach_check_explore_anonymise_report_and_audit(tmp_path):
    """Nothing else has to know that there is a new algorithm."""
    with ALGORITHMS.having(OneClass()):
        policy = kepsilon.Policy.from_dict(DOCUMENT)
        prediction = kepsilon.check(patients(), policy)
        grid = kepsilon.explore(patients(), policy, k=[3, 50], epsilon=[1, 2])
        release = kepsilon.anonymise(patients(), policy, unsafe_seed=1)
        release.report(tmp_path / "report.html")
        release.write(tmp_path / "released.parquet", linkage=tmp_path / "linkage.csv")
        parquet.write_table(patients(), tmp_path / "original.parquet")
        audits = [
            kepsilon.audit(tmp_path / "original.parquet", tmp_path / "released.parquet", policy, linkage=linkage)
            for linkage in (tmp_path / "linkage.csv", None)
        ]
        schema = json.dumps(kepsilon.json_schema())
    assert prediction.classes.count == release.record["classes"]["count"] == 1
    assert (prediction.records.suppressed_by_k, prediction.levels) == (0, None)
    assert release.frame.num_rows == 400
    assert set(release.frame["zip"].to_pylist()) == set(release.frame["year"].to_pylist()) == {"*"}
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "one-class" in page
    assert "could be left out" not in page
    assert [cell.refused for cell in grid.cells if cell.algorithm == "one-class"] == [None] * 4
    assert {cell.algorithm for cell in grid.cells} == {"ola", "mondrian", "local-recoding", "one-class"}
    for audit in audits:
        assert not audit.broken, audit.findings
    assert '["ola", "mondrian", "local-recoding", "one-class"]' in schema
    with pytest.raises(kepsilon.PolicyError, match="should be 'ola', 'mondrian' or 'local-recoding'"):
        kepsilon.Policy.from_dict(DOCUMENT)


@pytest.mark.parametrize("confidence", [None, 0.9])
def test_an_algorithm_of_no_known_kind_gets_the_checks_that_fit_every_release(confidence, tmp_path):
    """It leaves records out, which OLA does, but has no levels, which OLA has."""
    with ALGORITHMS.having(AsTheyAre()):
        policy = kepsilon.Policy.from_dict({**DOCUMENT, "algorithm": "as-they-are"})
        if confidence:
            policy = policy.with_changes(confidence=confidence, epsilon=16)
        release = kepsilon.anonymise(patients(), policy, unsafe_seed=1)
        release.write(tmp_path / "released.csv", linkage=tmp_path / "linkage.csv", report=tmp_path / "report.html")
        arrow_csv.write_csv(patients(), tmp_path / "original.csv")
        audits = [
            kepsilon.audit(tmp_path / "original.csv", tmp_path / "released.csv", policy, linkage=linkage)
            for linkage in (tmp_path / "linkage.csv", None)
        ]
        for audit in audits:
            assert not audit.broken, audit.findings
        assert release.record["records"]["suppressed_by_k"] == 6
        assert "could be left out to reach k" in (tmp_path / "report.html").read_text(encoding="utf-8")
        fewer = release.frame.slice(0, 340)
        if confidence is None:
            found = kepsilon.audit(patients(), fewer, policy)
            assert "60 records are left out, but at most 40 may be" in str(found.findings)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "made a class that fails “k records”"),
        ({"_smallest": lambda _, k: k}, None),
        ({"_smallest": lambda _, k: 2 * k}, "left out more records than it may"),
        ({"_smallest": lambda _, k: k, "may_suppress": False}, "left out more records than it may"),
        ({"_smallest": lambda _, k: k, "has_levels": True}, "has levels though it says it has none"),
        ({"_smallest": lambda _, k: k, "_said": lambda _, sizes: 10 * sizes}, "more or fewer records than they have"),
    ],
    ids=["k − 1", "sound", "above the limit", "says it leaves none out", "says it has levels", "says wrong sizes"],
)
def test_no_algorithm_is_trusted(changes, said):
    """What it made is checked against every requirement and against what it says of itself."""
    algorithm = type("Changed", (OneTooFew,), changes)()
    labels = {v: [v] for v in "ABC"}
    records = [("A",)] * 5 + [("B",)] * 2 + [("C",)] * 33
    table = Sample(attributes=[Attribute(name="a", labels=labels)], records=records).table
    with ALGORITHMS.having(algorithm):
        attributes = {"a": {"role": "k-quasi"}}
        policy = kepsilon.Policy.from_dict(
            {**DOCUMENT, "algorithm": "as-they-are", "attributes": attributes, "max_suppression": 0.05}
        )
        if said is None:
            assert for_every_k(table, policy, ks=[3])[3].recoding.sizes.tolist() == [5, 33]
            return
        with pytest.raises(RuntimeError, match=f"{said}.*this is a bug, and nothing may be released"):
            for_every_k(table, policy, ks=[3])


def test_the_package_comes_with_three_algorithms_and_their_facts():
    """The facts are in the table, so that a policy is read without loading a search."""
    assert all(isinstance(algorithm, BuiltInAlgorithm) for algorithm in ALGORITHMS)
    facts = {
        a.name: (a.title, a.needs_hierarchies, a.may_suppress, a.suppresses_freely, a.has_levels) for a in ALGORITHMS
    }
    assert facts == {
        "ola": ("OLA", True, True, True, True),
        "mondrian": ("Mondrian", False, True, False, False),
        "local-recoding": ("Local recoding", False, True, False, False),
    }
    schema = kepsilon.json_schema()
    assert schema["properties"]["algorithm"]["enum"] == ["ola", "mondrian", "local-recoding"]


@pytest.mark.parametrize("wrong", ["arx", "OLA", "", 3, ["ola"], None], ids=repr)
def test_what_is_no_name_of_an_algorithm_is_answered_with_the_names(wrong):
    """Whatever its type."""
    with pytest.raises(kepsilon.PolicyError) as caught:
        kepsilon.Policy.from_dict({**tomllib.loads(POLICY), "algorithm": wrong})
    assert [str(problem) for problem in caught.value.problems] == [
        "policy: algorithm: should be 'ola', 'mondrian' or 'local-recoding'."
    ]


def test_a_hierarchy_is_asked_for_by_the_algorithm_that_needs_it():
    """In its own name, also where other mistakes keep the policy from being checked as a whole."""

    class NeedsThem(OneClass):
        name, title, needs_hierarchies = "needs-them", "Needs them", True

    with ALGORITHMS.having(NeedsThem()):
        for k in (3, 1):
            with pytest.raises(kepsilon.PolicyError, match=r"attributes\.year: Needs them needs a hierarchy here"):
                kepsilon.Policy.from_dict({**DOCUMENT, "algorithm": "needs-them", "k": k})
