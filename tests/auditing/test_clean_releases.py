# SPDX-License-Identifier: Apache-2.0
"""A sound release is not called broken, whatever the policy, with a linkage and without."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from dataclasses import replace

import pytest

import kepsilon as ke
from material.audited_releases import NUMERIC_QUASIS, OTHER_QUASI, arrow, patients, patients_policy, released

LIMITED = {
    "zip": {"role": "k-quasi", "hierarchy": {"type": "mask"}, "max_level": 1},
    "year": {"role": "k-quasi", "step": 1, "max_level": 2},
}
"""Some of the parts that these levels keep apart have fewer than 12 records."""
SETTINGS = {
    "ola": {},
    "mondrian with hierarchies": {"algorithm": "mondrian"},
    "mondrian with intervals": {"algorithm": "mondrian", "attributes": NUMERIC_QUASIS},
    "mondrian with regions": {"algorithm": "mondrian", "labels": "ancestor", "attributes": NUMERIC_QUASIS},
    "mondrian with a coarse step": {"algorithm": "mondrian", "attributes": {"year": {"role": "k-quasi", "step": 4}}},
    "mondrian with ancestors": {"algorithm": "mondrian", "labels": "ancestor"},
    "mondrian with sets": {"algorithm": "mondrian", "attributes": {"illness": {"role": "k-quasi"}}},
    "mondrian with values or everything": {
        "algorithm": "mondrian",
        "labels": "ancestor",
        "attributes": {"illness": {"role": "k-quasi"}},
    },
    "local recoding with hierarchies": {"algorithm": "local-recoding"},
    "local recoding with intervals": {"algorithm": "local-recoding", "attributes": NUMERIC_QUASIS},
    "local recoding with regions": {"algorithm": "local-recoding", "labels": "ancestor", "attributes": NUMERIC_QUASIS},
    "local recoding with sets": {"algorithm": "local-recoding", "attributes": {"illness": {"role": "k-quasi"}}},
    **{
        f"{algorithm} up to a level": {"algorithm": algorithm, "k": 12, "max_suppression": 0.5, "attributes": LIMITED}
        for algorithm in ("mondrian", "local-recoding")
    },
    "coarse range": {"attributes": {"height": {**OTHER_QUASI, "precision": 0.5}}},
    "declared range": {"attributes": {"height": {**OTHER_QUASI, "range": [155, 185]}}},
    "domain": {"epsilon": 0.5, "attributes": {"height": {**OTHER_QUASI, "domain": [150, 190]}}},
    "small classes": {"k": 2, "epsilon": 16, "algorithm": "mondrian", "attributes": NUMERIC_QUASIS},
    "coarse precision": {"epsilon": 16, "attributes": {"height": {**OTHER_QUASI, "precision": 5}}},
    "no epsilon-quasi": {"attributes": {"height": {"role": "sensitive"}}},
    "no k-quasi": {"attributes": {"zip": {"role": "sensitive"}, "year": {"role": "insensitive"}}},
    "no kept column": {"attributes": {"illness": {"role": "identifier"}}, "records_are_persons": True},
}


def findings(audit: ke.Audit) -> str:
    return "\n".join(map(str, audit.findings))


@pytest.mark.parametrize("seed", [None, 1, 2])
@pytest.mark.parametrize("changes", SETTINGS.values(), ids=SETTINGS)
def test_a_sound_release_passes(changes, seed):
    """False alarms would teach people to ignore the audit; each run has less than one chance in 1e9."""
    case = released(patients(600), patients_policy(**changes), seed=seed)
    for with_linkage in (True, False):
        audit = case.audit(with_linkage=with_linkage)
        assert not audit.broken, findings(audit)
        assert audit.of("passed")
        assert "CANARY" not in findings(audit) + str(audit.to_json()) + repr(audit)


@pytest.mark.parametrize("algorithm", ["ola", "mondrian", "local-recoding"])
@pytest.mark.parametrize("seed", [None, 3])
def test_two_epsilon_quasis_pass(algorithm, seed):
    """The noises of a record on two attributes follow their joint law."""
    original = patients(900)
    original["weight"] = [round(40 + (i * 7919) % 600 / 10, 1) for i in range(900)]
    under = patients_policy(algorithm=algorithm, attributes={"weight": OTHER_QUASI})
    case = released(original, under, seed=seed)
    for with_linkage in (True, False):
        audit = case.audit(with_linkage=with_linkage)
        assert not audit.broken, findings(audit)


@pytest.mark.parametrize("missing", ["suppress", "class"])
@pytest.mark.parametrize("algorithm", ["ola", "mondrian", "local-recoding"])
def test_missing_values_pass_as_the_policy_treats_them(missing, algorithm):
    """Records with missing values are left out before counting, or form classes of their own."""
    height = {"role": "epsilon-quasi", "precision": 0.1, "range": "class", "missing": missing}
    case = released(
        patients(800, with_missing=True), patients_policy(algorithm=algorithm, attributes={"height": height})
    )
    for with_linkage in (True, False):
        audit = case.audit(with_linkage=with_linkage)
        assert not audit.broken, findings(audit)


def test_nulls_and_unlisted_values_among_k_quasis_pass():
    """Null counts as a value of its own; records with unlisted values are left out before counting."""
    original = patients(800)
    original["zip"] = [None if i % 11 == 0 else value for i, value in enumerate(original["zip"])]
    original["year"] = ["unknown" if i % 13 == 0 else value for i, value in enumerate(original["year"])]
    year = {"role": "k-quasi", "hierarchy": {"type": "intervals", "widths": [5]}, "unlisted": "suppress"}
    for algorithm in ("ola", "mondrian", "local-recoding"):
        case = released(original, patients_policy(algorithm=algorithm, attributes={"year": year}))
        for with_linkage in (True, False):
            audit = case.audit(with_linkage=with_linkage)
            assert not audit.broken, findings(audit)


@pytest.mark.parametrize("library", ["polars", "pandas"])
def test_frames_of_other_libraries_are_read(library):
    """The audit reads every kind of frame that anonymise takes and gives."""
    frames = importlib.import_module(library)
    original = patients(300)
    frame = frames.DataFrame(original)
    release = ke.anonymise(frame, patients_policy())
    audit = ke.audit(frame, release.frame, patients_policy(), linkage=release.linkage)
    assert not audit.broken, findings(audit)


def test_attackers_score_what_an_exhaustive_attacker_scores():
    """The shares agree with a count over every pair of record and original; the headline states the largest."""
    case = released(patients(400), patients_policy(k=2, epsilon=16, algorithm="mondrian", attributes=NUMERIC_QUASIS))
    audit = case.audit()
    own, published, class_ids = case.own("height"), case.released["height"], case.linkage["class_id"]
    links = 0.0
    for i, x in enumerate(published):
        distances = [round(abs(x - v), 6) for v, c in zip(own, class_ids, strict=True) if c == class_ids[i]]
        nearest = min(distances)
        links += (round(abs(x - own[i]), 6) == nearest) / distances.count(nearest)
    realised = audit.figures["attacks"]["realised"]
    assert realised["nearest neighbour"] == pytest.approx(links / len(published))
    assert len(realised) == 3, "the classes are small enough for the stronger attackers"
    assert audit.figures["attacks"]["strongest"]["share"] == max(realised.values())
    shown = float(re.search(r"links ([0-9.]+) % of", audit.headline)[1])
    assert shown == pytest.approx(100 * max(realised.values()), abs=0.06)
    bayes = next(share for name, share in realised.items() if name.startswith("exact Bayes"))
    assert bayes > realised["nearest neighbour"] - 0.05


def test_risks_of_k_quasis_alone_are_those_of_the_class_sizes():
    """Prosecutor, journalist and marketer risk are worked out from class sizes, as other tools do."""
    case = released(patients(600), patients_policy())
    sizes: dict[int, int] = {}
    for class_id in case.linkage["class_id"]:
        sizes[class_id] = sizes.get(class_id, 0) + 1
    risk = case.audit(with_linkage=False).figures["reidentification"]
    n, smallest = sum(sizes.values()), min(sizes.values())
    assert risk["prosecutor"]["highest"] == pytest.approx(1 / smallest)
    assert risk["prosecutor"]["average"] == risk["marketer"] == pytest.approx(len(sizes) / n)
    at_highest = sum(size for size in sizes.values() if size == smallest)
    assert risk["prosecutor"]["share_at_highest"] == pytest.approx(at_highest / n)
    assert risk["journalist"] == pytest.approx(risk["prosecutor"]), "every original of a released class is released"


def test_the_audit_loads_nothing_that_makes_releases():
    """The audit is independent: it imports no code that makes releases."""
    case = released(patients(200), patients_policy())
    program = (
        "import sys, json, pyarrow as pa, kepsilon as ke\n"
        "original, released, linkage, policy = json.load(sys.stdin)\n"
        "audit = ke.audit(pa.table(original), pa.table(released), ke.Policy.from_dict(policy), linkage=pa.table(linkage))\n"
        "assert not audit.broken, audit.findings\n"
        "loaded = [n for n in sys.modules if n.startswith(('kepsilon.kanonymise', 'kepsilon.perturb', 'kepsilon.pipeline.anonymise',"
        " 'kepsilon.publish'))]\n"
        "sys.exit(f'loaded {loaded}' if loaded else 0)\n"
    )
    import json

    from material.audited_releases import POLICY

    sent = json.dumps([case.original, case.released, case.linkage, POLICY])
    done = subprocess.run([sys.executable, "-c", program], input=sent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_same_audit_twice_finds_the_same():
    """The audit's own draws are seeded, so that somebody else gets the same findings."""
    case = released(patients(300), patients_policy())
    assert case.audit().to_json() == case.audit().to_json()
    assert case.audit().to_json() == replace(case).audit().to_json()
    assert callable(ke.audit)
    assert arrow(case.released).num_rows == len(case.linkage["class_id"])
