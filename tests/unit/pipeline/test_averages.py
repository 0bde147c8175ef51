# SPDX-License-Identifier: Apache-2.0
"""Averages from policy to release: what is promised holds in the release, and what is predicted is what happens."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import kepsilon as ke
from kepsilon.evaluate.group_sums import GroupSums
from oracles import averages as oracle

N = 1_500


def people(seed=0, n=N) -> dict[str, list]:
    rng = np.random.default_rng(seed)
    return {
        "patient": [f"P{i:05}" for i in rng.integers(0, n // 3, n)],
        "zip": [f"{z:02}" for z in rng.integers(0, 12, n)],
        "height": np.round(rng.normal(170, 9, n), 1).tolist(),
        "weight": np.round(rng.lognormal(4.3, 0.2, n), 1).tolist(),
        "illness": [f"illness {i}" for i in rng.integers(0, 9, n)],
    }


def policy(averages, *, attributes=None, **more) -> ke.Policy:
    document = {
        "k": 4,
        "algorithm": "ola",
        "max_suppression": 0.1,
        "averages": averages,
        "attributes": {
            "patient": {"role": "identifier"},
            "zip": {"role": "k-quasi", "hierarchy": {"type": "mask"}},
            "height": {"role": "epsilon-quasi", "precision": 0.1},
            "weight": {"role": "epsilon-quasi", "precision": 0.1},
            "illness": {"role": "sensitive"},
        },
        **more,
    }
    if "person" not in more:
        document["records_are_persons"] = True
    for name, own in (attributes or {}).items():
        changed = {**document["attributes"][name], **own}
        document["attributes"][name] = {key: value for key, value in changed.items() if value is not None}
    return ke.Policy.from_dict({key: own for key, own in document.items() if own is not None})


RANGES = {"height": {"range": [100, 250]}, "weight": {"range": [0, 300]}}


def groups_in(release, original, names=("height", "weight")):
    """Rows of the original by class and published tuple."""
    table = release.frame.to_pydict()
    rows = {link["released_row"]: link for link in release.linkage.to_pylist()}
    found = defaultdict(list)
    for i in range(release.frame.num_rows):
        found[(rows[i]["class_id"], *(table[name][i] for name in names))].append(rows[i]["original_row"])
    return found


def test_every_tuple_is_the_average_of_at_least_g_records_of_its_class():
    original = people()
    release = ke.anonymise(pa.table(original), policy({"group": 8}), unsafe_seed=1)
    found = groups_in(release, original)
    sizes = Counter()
    for (class_id, *_), rows in found.items():
        sizes[class_id] += len(rows)
    for (class_id, *published), rows in found.items():
        assert len(rows) >= min(8, sizes[class_id])
        for name, value in zip(("height", "weight"), published, strict=True):
            assert value == oracle.rounded_average([original[name][i] for i in rows], Fraction(1, 10))
    record = release.record.to_json()
    assert record["groups"]["count"] == len(found)
    assert record["linking_risk"]["realised"] == pytest.approx(len(found) / release.frame.num_rows)
    assert record["linking_risk"]["largest"] == 1 / min(map(len, found.values()))


def test_what_is_predicted_is_what_happens():
    """Nothing is drawn, so figures are exact before anything is released."""
    original = pa.table(people())
    prediction = ke.check(original, policy({"group": 8}))
    record = ke.anonymise(original, policy({"group": 8})).record.to_json()
    assert record["linking_risk"]["realised"] == prediction.linking_risk.fair.total
    for name, own in prediction.error.items():
        assert record["error"][name]["realised_relative"] == own.expected_relative
        assert record["error"][name]["realised_range_relative"] == pytest.approx(own.range_relative)
    assert prediction.groups is not None
    assert record["groups"] == prediction.groups.to_json()
    assert prediction.epsilon is None
    assert record["guarantee"]["epsilon"] is None


def test_class_means_are_those_of_the_original():
    original = people()
    release = ke.anonymise(pa.table(original), policy({"group": 8}), unsafe_seed=2)
    table, rows = release.frame.to_pydict(), {own["released_row"]: own for own in release.linkage.to_pylist()}
    sums = defaultdict(lambda: [0.0, 0.0, 0])
    for i in range(release.frame.num_rows):
        own = sums[rows[i]["class_id"]]
        own[0] += table["height"][i]
        own[1] += original["height"][rows[i]["original_row"]]
        own[2] += 1
    assert all(abs(after - before) <= n * 0.05 + 1e-9 for after, before, n in sums.values())


def test_variance_is_that_of_the_release_and_w():
    original = people()
    release = ke.anonymise(pa.table(original), policy({"group": 8}), unsafe_seed=2)
    rows = [own["original_row"] for own in release.linkage.to_pylist()]
    before = np.var([original["height"][i] for i in rows])
    after = np.var(release.frame["height"].to_numpy())
    assert before == pytest.approx(after + release.record.to_json()["groups"]["within"]["height"], rel=0.01)


def test_spread_restores_the_variance_and_leaves_the_risk():
    original = people(n=6_000)
    plain = ke.anonymise(pa.table(original), policy({"group": 100}), unsafe_seed=3)
    spread = ke.anonymise(pa.table(original), policy({"group": 100, "spread": True}), unsafe_seed=3)
    truth = np.var(original["height"])
    assert np.var(plain.frame["height"].to_numpy()) < 0.9 * truth
    assert np.var(spread.frame["height"].to_numpy()) == pytest.approx(truth, rel=0.05)
    assert spread.record.to_json()["linking_risk"]["realised"] == plain.record.to_json()["linking_risk"]["realised"]
    error = spread.record.to_json()["error"]["height"]
    assert error["realised_relative"] == pytest.approx(error["expected_relative"], rel=0.05)
    assert (
        len(set(map(tuple, zip(*spread.frame.select(["height", "weight"]).to_pydict().values(), strict=True)))) > 4_000
    )


def test_noise_on_sums_has_the_error_that_is_expected():
    """Realised over 1,500 records of 150 groups: within five standard errors of its expectation."""
    asked = policy({"group": 10, "noise": True}, attributes=RANGES, epsilon=3)
    original = people()
    errors = [
        ke.anonymise(pa.table(original), asked, unsafe_seed=seed).record.to_json()["error"]["weight"]
        for seed in range(30)
    ]
    realised = np.array([own["realised_range_relative"] for own in errors])
    assert abs(realised.mean() - errors[0]["range_relative"]) < 5 * realised.std() / np.sqrt(30)


def test_persons():
    """All records of a patient in a class publish one tuple, and a group has at least eight patients."""
    original = people()
    release = ke.anonymise(pa.table(original), policy({"group": 8}, person="patient"), unsafe_seed=1)
    found = groups_in(release, original)
    patients = defaultdict(set)
    for (class_id, *_), rows in found.items():
        patients[class_id] |= {original["patient"][i] for i in rows}
    where = defaultdict(set)
    links = 0
    for key, rows in found.items():
        who = Counter(original["patient"][i] for i in rows)
        assert len(who) >= min(8, len(patients[key[0]]))
        links += max(who.values())
        for patient in who:
            where[key[0], patient].add(key)
    assert all(len(own) == 1 for own in where.values())
    record = release.record.to_json()
    assert record["linking_risk"]["realised"] == pytest.approx(links / release.frame.num_rows)
    assert record["linking_risk"]["expected"] == pytest.approx(links / release.frame.num_rows)
    assert record["groups"]["smallest"] >= 4


@pytest.mark.parametrize(
    "asked", [{"l_diversity": {"distinct": 5}}, {"l_diversity": {"entropy": 3.5}}, {"t_closeness": 0.35}]
)
def test_groups_meet_what_classes_have_to(asked):
    """A published tuple is what an attacker sees, so ℓ and t hold for it; groups that fail join their nearest."""
    original = people()
    loose = policy({"group": 8})
    strict = policy({"group": 8}, attributes={"illness": asked})
    before = ke.anonymise(pa.table(original), loose, unsafe_seed=1).record.to_json()["groups"]
    release = ke.anonymise(pa.table(original), strict, unsafe_seed=1)
    after = release.record.to_json()["groups"]
    assert after["count"] < before["count"]
    shares = {name: n / N for name, n in Counter(original["illness"]).items()}
    for rows in groups_in(release, original).values():
        counts = Counter(original["illness"][i] for i in rows)
        n = sum(counts.values())
        if "t_closeness" in asked:
            assert sum(abs(counts[name] / n - share) for name, share in shares.items()) / 2 <= 0.35 + 1e-9
        elif "distinct" in asked["l_diversity"]:
            assert len(counts) >= 5
        else:
            assert np.exp(-sum(c / n * np.log(c / n) for c in counts.values())) >= 3.5 - 1e-9


def test_values_are_clipped_to_the_domain_before_they_are_averaged():
    original = people()
    original["height"][7] = 999.0
    release = ke.anonymise(
        pa.table(original), policy({"group": 8}, attributes={"height": {"domain": [120, 220]}}), unsafe_seed=1
    )
    record = release.record.to_json()
    assert record["clipped"] == {"height": 1}
    assert max(release.frame["height"].to_pylist()) < 220
    clipped = [min(own, 220.0) for own in original["height"]]
    for (_, height, _), rows in groups_in(release, original).items():
        assert height == oracle.rounded_average([clipped[i] for i in rows], Fraction(1, 10))


def test_the_promise_names_attackers_and_says_what_is_not_hidden():
    plain = ke.anonymise(pa.table(people()), policy({"group": 8})).manifest.to_json()["guarantee"]
    assert "shared by at least 8 records or by the whole class" in plain["statement"]
    assert "An attacker who knows every true value of zip, height, weight" in plain["statement"]
    assert "can work out the last one" in plain["statement"]
    assert "can be subtracted" in plain["statement"]
    assert "ε" not in plain["statement"]
    assert plain["epsilon"] is None
    assert plain["ranges"] == {}
    noisy = policy({"group": 8, "noise": True}, attributes=RANGES, epsilon=2)
    said = ke.anonymise(pa.table(people()), noisy).manifest.to_json()["guarantee"]
    assert "that lead to the same groups are ε-indistinguishable (ε = 2)" in said["statement"]
    assert "Which records were averaged together is not hidden" in said["statement"]
    assert "whether they lead to the same groups or not" not in said["statement"]


@pytest.mark.parametrize(
    ("attributes", "is_said"),
    [
        ({}, True),
        ({"illness": {"role": "sensitive"}}, False),
        ({"weight": {"role": "epsilon-quasi", "precision": 0.1, "range": [0, 300]}}, False),
    ],
)
def test_the_stronger_sentence_is_printed_only_where_it_is_true(attributes, is_said):
    """One ε-quasi in sorted blocks, and no other column that could tell rows apart."""
    document = {
        "k": 4, "algorithm": "ola", "max_suppression": 0.1, "epsilon": 2, "unlisted_columns": "drop",
        "averages": {"group": 8, "noise": True},
        "attributes": {
            "zip": {"role": "k-quasi", "hierarchy": {"type": "mask"}},
            "height": {"role": "epsilon-quasi", "precision": 0.1, "range": [100, 250]},
            **attributes,
        },
    }  # fmt: skip
    said = ke.anonymise(pa.table(people()), ke.Policy.from_dict(document)).manifest.to_json()["guarantee"]["statement"]
    assert ("whether they lead to the same groups or not" in said) is is_said


def test_the_bound_of_the_manifest_holds_and_follows_from_the_release_alone():
    release = ke.anonymise(pa.table(people()), policy({"group": 8}))
    manifest = release.manifest.to_json()
    assert manifest["bounds"]["linking_risk"] >= release.record.to_json()["linking_risk"]["expected"]
    assert manifest["bounds"]["noise"] == {}
    sizes = Counter(own["class_id"] for own in release.linkage.to_pylist()).values()
    groups = sum(max(1, m // 8) for m in sizes)
    assert manifest["bounds"]["linking_risk"] == pytest.approx(groups / release.frame.num_rows, abs=1e-6)
    assert "makes the same groups" in manifest["bounds"]["attacker"]


def test_missing_values_that_are_part_of_the_class():
    original = people()
    original["height"] = [None if i % 5 == 0 else own for i, own in enumerate(original["height"])]
    release = ke.anonymise(pa.table(original), policy({"group": 8}, attributes={"height": {"missing": "class"}}))
    rows = {own["released_row"]: own["original_row"] for own in release.linkage.to_pylist()}
    heights = release.frame["height"].to_pylist()
    assert all((heights[i] is None) == (original["height"][rows[i]] is None) for i in range(len(heights)))


def test_explore_sets_averages_beside_noise_and_the_choice_can_be_released():
    original = pa.table(people())
    base = policy(None, attributes=RANGES, epsilon=2)
    grid = ke.explore(original, base, k=[5], epsilon=[1, 4], group=[8, 20], algorithm=["ola"])
    assert [(cell.epsilon, cell.group) for cell in grid.cells] == [(1, None), (4, None), (None, 8), (None, 20)]
    best = grid.best(max_risk=0.06)
    assert best.averages is not None
    assert best.averages.group == 20
    assert best.epsilon is None
    cell = grid.cells[3]
    record = ke.anonymise(original, best).record.to_json()
    assert record["linking_risk"]["realised"] == cell.prediction.linking_risk.fair.total
    kept = ke.explore(original, policy({"group": 8}), k=[5], algorithm=["ola"])
    assert [(cell.epsilon, cell.group) for cell in kept.cells] == [(None, group) for group in (8, 10, 20, 50)]


@pytest.mark.parametrize("seed", range(3))
def test_kept_columns_are_looked_at_in_groups(seed):
    """A kept column that tells the height: whoever works it out links within the group, where one alone would guess."""
    original = people(seed)
    original["in inches"] = [round(own / 2.54, 1) for own in original["height"]]
    asked = policy({"group": 8})
    document = asked.model_dump(mode="json", exclude_none=True)
    document["attributes"]["in inches"] = {"role": "insensitive"}
    with pytest.raises(ke.AnonymisationError, match="in inches"):
        ke.anonymise(pa.table(original), ke.Policy.from_dict(document))


def test_a_limit_on_single_risk_says_how_large_groups_have_to_be():
    original = pa.table(people())
    with pytest.raises(ke.AnonymisationError, match=r"k and averages\.group of at least 20") as refused:
        ke.anonymise(original, policy({"group": 8}, max_individual_risk=0.05))
    assert "epsilon" not in str(refused.value)
    assert "Nothing was released" in str(refused.value)
    release = ke.anonymise(original, policy({"group": 20}, k=20, max_individual_risk=0.05))
    assert release.record.to_json()["linking_risk"]["largest"] <= 0.05


def test_what_is_required_of_classes_is_promised_of_groups():
    asked = policy({"group": 8}, attributes={"illness": {"l_diversity": {"distinct": 5}, "t_closeness": 0.5}})
    said = ke.anonymise(pa.table(people()), asked).manifest.to_json()["guarantee"]["statement"]
    assert "Every class, and every group of it that is averaged, holds at least 5 distinct values of illness." in said
    assert "In every class, and in every group of it that is averaged, the values of illness are at most 0.5" in said


def test_w_can_be_drawn_from_where_some_lack_a_value():
    """Mean products with different numbers of records have no negative eigenvalue, and draws have these variances."""
    rng = np.random.default_rng(1)
    distances = rng.normal(size=(100, 3)) @ np.array([[1.0, 0.99, 0.98], [0, 0.1, 0.1], [0, 0, 0.1]])
    distances[:95, 2] = 0.0  # most lack the third
    sums = GroupSums(n_groups=1, n_values=(100, 100, 5), squares=distances.T @ distances)
    assert np.linalg.eigvalsh(sums.within).min() > -1e-12
    assert sums.within[0, 0] == pytest.approx(np.mean(distances[:, 0] ** 2))
    assert sums.within[2, 2] == pytest.approx(np.mean(distances[95:, 2] ** 2))


@pytest.mark.parametrize("noise", [False, True])
def test_the_manifest_states_epsilon_and_ranges_only_where_noise_follows_them(noise):
    """Without noise values are not even clipped to the range, and a reader would take both for a promise."""
    own = policy({"group": 8, "noise": noise}, epsilon=2, attributes=RANGES)
    public = ke.anonymise(pa.table(people(n=300)), own).manifest.to_json()["policy"]
    assert public.get("epsilon") == (2 if noise else None)
    for name, attribute in RANGES.items():
        assert public["attributes"][name].get("range") == (attribute["range"] if noise else None)


def test_groups_that_publish_equal_averages_are_one_set_to_an_attacker():
    """Many zeros: the attacker sees tuples, and guesses among all records that publish the same one."""
    rng = np.random.default_rng(5)
    original = people(n=1_000)
    original["zip"] = ["00"] * 1_000
    original["height"] = np.where(rng.random(1_000) < 0.6, 0, rng.integers(0, 200, 1_000)).astype(float).tolist()
    asked = policy(
        {"group": 10}, attributes={"weight": {"role": "insensitive", "precision": None}, "height": {"precision": 1}}
    )
    release = ke.anonymise(pa.table(original), asked, unsafe_seed=1)
    tuples = Counter(release.frame["height"].to_pylist())
    record = release.record.to_json()
    assert record["groups"]["count"] == 100 > len(tuples)
    assert record["linking_risk"]["realised"] == record["linking_risk"]["expected"] == len(tuples) / 1_000
    assert record["linking_risk"]["largest"] == 1 / min(tuples.values())
    assert not ke.audit(pa.table(original), release.frame, asked, linkage=release.linkage).broken


def test_joined_groups_are_said_to_show_something():
    asked = policy({"group": 8}, attributes={"illness": {"l_diversity": {"distinct": 5}}})
    said = ke.anonymise(pa.table(people()), asked).manifest.to_json()["guarantee"]["statement"]
    assert "A group of 16 or more may show an attacker that a part of it failed what is required of illness." in said


def test_a_range_outside_the_domain_is_refused():
    with pytest.raises(ke.PolicyError, match="nothing in common"):
        policy({"group": 8}, attributes={"height": {"range": [0, 10], "domain": [20, 30]}})


def test_sizes_of_groups_may_be_an_array():
    grid = ke.explore(pa.table(people()), policy({"group": 8}), k=[5], group=np.array([8, 20]), algorithm=["ola"])
    assert grid.groups == [8, 20]


def ties(n=24) -> dict[str, list]:
    """One class in which nearly all are equally tall, so that chance decides who is in which group.

    In the order of the table itself, all but one group of four have one illness.
    """
    return {
        "patient": [f"P{max(0, i - 2):02}" for i in range(n)],
        "height": [180.0 if i == n - 1 else 170.0 for i in range(n)],
        "illness": [f"illness {max(0, i - n + 6)}" for i in range(n)],
    }


def diverse(averages, **more) -> ke.Policy:
    return ke.Policy.from_dict(
        {
            "k": 4,
            "algorithm": "mondrian",
            "averages": averages,
            "attributes": {
                "patient": {"role": "identifier"},
                "height": {"role": "epsilon-quasi", "precision": 1, "range": [100, 250], "accept_useless": "a test"},
                "illness": {"role": "sensitive", "l_diversity": {"distinct": 3}, "accept_leak": "a test"},
            },
            **more,
        }
    )


@pytest.mark.parametrize("who", [{"records_are_persons": True}, {"person": "patient"}])
@pytest.mark.parametrize("averages", [{"group": 4}, {"group": 4, "noise": True}])
def test_no_draw_shows_smaller_groups_than_were_foreseen(averages, who):
    """Which of some equal records are in which group is chance, and so are the groups that have to be joined."""
    noise = {"epsilon": 8} if averages.get("noise") else {}
    if noise and "person" in who:
        noise |= {"epsilon_per": "record"}
    asked = diverse(averages, **who, **noise)
    foreseen = ke.check(pa.table(ties()), asked).to_json()["linking_risk"]["largest_possible_by_matching"]
    drawn = [
        ke.anonymise(pa.table(ties()), asked, unsafe_seed=seed).record.to_json()["linking_risk"]["largest"]
        for seed in range(30)
    ]
    assert len(set(drawn)) > 1, "the table has to leave something to chance"
    assert max(drawn) <= foreseen <= (1 / 2 if "person" in who else 1 / 4)


def test_a_limit_on_single_risk_holds_whatever_is_drawn():
    """Refused before the draw where some draw could be above it, also if the groups of most draws are larger."""
    asked = diverse({"group": 4}, records_are_persons=True, max_individual_risk=0.13)
    with pytest.raises(ke.AnonymisationError, match="max_individual_risk"):
        ke.anonymise(pa.table(ties()), asked)
    asked = diverse({"group": 4}, records_are_persons=True, max_individual_risk=0.25)
    assert ke.anonymise(pa.table(ties()), asked).record.to_json()["linking_risk"]["largest"] <= 0.25


def test_groups_without_ties_are_foreseen_exactly():
    """Joined groups follow from the values where no two records are equal: the limit is held against these."""
    original = {**ties(), "height": [150.0 + i for i in range(24)]}
    asked = diverse({"group": 4}, records_are_persons=True)
    risk = ke.anonymise(pa.table(original), asked).record.to_json()["linking_risk"]
    assert risk["largest_possible"] == risk["largest"] < 1 / 4
