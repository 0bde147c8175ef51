# SPDX-License-Identifier: Apache-2.0
"""Averages under audit: honest ones are not accused, every tampering is called broken, and each check is needed."""

from __future__ import annotations

import itertools
import json
import math
from functools import cache

import numpy as np
import pytest

import kepsilon as ke
from kepsilon.auditing import audit, averages
from kepsilon.auditing.published_groups import published_groups
from kepsilon.auditing.sums_of_classes import noisy_sum_bound, normal_sum_bound, sum_beyond
from material.audited_releases import arrow
from material.averaged_releases import SETTINGS, TAMPERINGS, averaged_policy, averaged_table, sound_averages

sound = cache(sound_averages)
ALGORITHMS = ("ola", "mondrian")


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("setting", SETTINGS)
def test_honest_averages_are_not_accused(setting, algorithm):
    """With a linkage and without, whatever the averages are of and whatever is drawn on them."""
    for n, with_linkage in itertools.product((150, 900), (True, False)):
        found = sound(setting, algorithm, n).audit(with_linkage=with_linkage)
        assert not found.broken, "\n".join(map(str, found.findings))
        assert "CANARY" not in "\n".join([*map(str, found.findings), found.headline, str(found.to_json())])


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("setting", SETTINGS)
def test_files_of_honest_averages_are_not_accused(setting, kind, tmp_path):
    """The record and the manifest beside a release hold, and every figure of groups is compared."""
    original, policy = averaged_table(setting, 700), averaged_policy(setting)
    release = ke.anonymise(arrow(original), policy, unsafe_seed=4)
    release.write(tmp_path / f"out.{kind}", linkage=tmp_path / "linkage.csv")
    for linkage in (tmp_path / "linkage.csv", None):
        found = ke.audit(arrow(original), tmp_path / f"out.{kind}", policy, linkage=linkage)
        assert not found.broken, "\n".join(map(str, found.findings))
        assert any("manifest holds" in own.what for own in found.of("passed"))
        assert any("groups" in own.what for own in found.of("passed") if own.check == "curator")


def runs() -> list[pytest.ParameterSet]:
    """Every tampering, with a linkage and, where that is enough, without."""
    return [
        pytest.param(name, with_linkage, id=f"{name}, {'with' if with_linkage else 'without'}")
        for name, tampering in TAMPERINGS.items()
        for with_linkage in (True, False)
        if with_linkage or tampering.n_without is not None
    ]


@pytest.mark.parametrize(("name", "with_linkage"), runs())
def test_tampering_with_averages_is_noticed(name, with_linkage, monkeypatch):
    """The check meant for each tampering speaks of it; switched off, nothing does, where the table names it."""
    tampering = TAMPERINGS[name]
    case = tampering.change(sound(tampering.setting, "ola", tampering.n if with_linkage else tampering.n_without))
    found = case.audit(with_linkage=with_linkage)
    shown = "\n".join(map(str, found.findings))
    assert tampering.check in {own.check for own in found.of(tampering.severity)}, shown
    assert "CANARY" not in shown
    needed = tampering.needs if with_linkage else tampering.needs_without
    if needed is not None:
        switch_off(needed, monkeypatch)
        again = case.audit(with_linkage=with_linkage)
        assert tampering.check not in {own.check for own in again.of(tampering.severity)}
        assert not again.broken


def switch_off(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets one check of the audit do nothing."""
    if hasattr(averages, name):
        monkeypatch.setattr(averages, name, lambda *_: None)
    else:
        rest = tuple(check for check in audit.CHECKS_OF_CLASSES if check.__name__ != name)
        assert len(rest) < len(audit.CHECKS_OF_CLASSES)
        monkeypatch.setattr(audit, "CHECKS_OF_CLASSES", rest)


def test_every_check_of_averages_is_needed_for_a_tampering():
    """A check that is added needs a tampering that it is for."""
    checks = {name for name in vars(averages) if name.startswith("check_")} - {"check_averages"}
    named = {own.needs for own in TAMPERINGS.values()} | {own.needs_without for own in TAMPERINGS.values()}
    assert checks <= named


def test_groups_that_publish_the_same_accuse_nobody():
    """With a coarse precision many groups of a class publish one average; bounds are compared, and nothing is broken."""
    policy = averaged_policy("coarse").with_changes(k=3, averages={"group": 3})
    case_of = {"height": [float(h) for h in np.random.default_rng(2).integers(168, 172, 400)]}
    original = averaged_table("coarse", 400) | case_of
    release = ke.anonymise(arrow(original), policy, unsafe_seed=1)
    for linkage in (release.linkage, None):
        found = ke.audit(arrow(original), release.frame, policy, linkage=linkage)
        assert not found.broken, "\n".join(map(str, found.findings))
    assert release.record.groups.count > len({tuple(row.values()) for row in release.frame.select(
        ["zip", "year", "height"]).to_pylist()})  # fmt: skip


@pytest.fixture(scope="module", params=["plain", "two", "persons", "noise"])
def written(request, tmp_path_factory):
    """A release as files, with its original, policy and folder."""
    folder = tmp_path_factory.mktemp("written")
    original, policy = averaged_table(request.param, 900), averaged_policy(request.param)
    ke.anonymise(arrow(original), policy, unsafe_seed=2).write(folder / "out.csv", linkage=folder / "linkage.csv")
    return original, policy, folder


def falsified(written, kind: str, where: tuple[str, ...], change) -> ke.Audit:
    """The audit of a release beside which one figure of a file is changed; the file is put back."""
    original, policy, folder = written
    path = folder / f"out.csv.{kind}.json"
    text = path.read_text(encoding="utf-8")
    document = json.loads(text)
    table = document
    for key in where[:-1]:
        table = table[key]
    table[where[-1]] = change(table[where[-1]])
    path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    try:
        return ke.audit(arrow(original), folder / "out.csv", policy, linkage=folder / "linkage.csv")
    finally:
        path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    "where",
    [
        ("groups", "asked"),
        ("groups", "count"),
        ("groups", "smallest"),
        ("groups", "largest"),
        ("groups", "within", "height"),
        ("error", "height", "realised_relative"),
        ("error", "height", "realised_range_relative"),
        ("linking_risk", "expected"),
        ("linking_risk", "realised"),
        ("linking_risk", "expected_paper_ties"),
        ("linking_risk", "realised_paper_ties"),
        ("linking_risk", "largest"),
        ("linking_risk", "largest_possible"),
        ("linking_risk", "per_original", "expected"),
        ("constant_classes", "height"),
    ],
    ids=".".join,
)
def test_a_falsified_figure_of_averages_is_broken(written, where):
    """Each is changed by as little as its kind allows: by one where it counts, else by a ten-thousandth."""
    found = falsified(written, "curator", where, lambda own: own + 1 if isinstance(own, int) else own * 1.0001)
    assert {own.check for own in found.broken} == {"curator"}, "\n".join(map(str, found.findings))


def test_a_record_without_groups_is_broken(written):
    found = falsified(written, "curator", ("groups",), lambda _: None)
    assert {own.check for own in found.broken} == {"curator"}


@pytest.mark.parametrize("where", [("bounds", "linking_risk"), ("guarantee", "epsilon"), ("guarantee", "ranges")])
def test_a_falsified_manifest_of_averages_is_broken(written, where):
    """A bound that is lower by a millionth, another ε, and ranges that are not those of the policy."""
    changes = {"linking_risk": lambda own: round(own - 1e-6, 6), "epsilon": lambda own: 3 if own is None else own + 1,
               "ranges": lambda own: {} if own else {"height": "class"}}  # fmt: skip
    found = falsified(written, "manifest", where, changes[where[-1]])
    assert {own.check for own in found.broken} == {"manifest"}


def test_the_sum_of_noises_has_the_law_it_is_tested_by():
    """Against noise drawn with NumPy: 200,000 sums of 1, 3 and 20 draws are within 5 standard errors of the law."""
    rng, n = np.random.default_rng(1), 200_000
    for n_groups in (1, 3, 20):
        sums = np.abs(rng.laplace(size=(n, n_groups)).sum(axis=1))
        at = np.array([0.1, 1.0, 4.0, 9.0])
        expected = sum_beyond(at, n_groups)
        found = (sums[:, np.newaxis] > at).mean(axis=0)
        assert (np.abs(found - expected) <= 5 * np.sqrt(expected * (1 - expected) / n) + 1e-5).all()
        for size, share in zip(at.tolist(), expected.tolist(), strict=True):
            assert noisy_sum_bound(size, n_groups, 1) >= share
    assert sum_beyond(np.array([2.0]), 1)[0] == pytest.approx(math.exp(-2))


def test_bounds_on_sums_hold_for_several_columns():
    """One of d coordinates is uniform up to a gamma variable; sums of 8 of them stay below the bound."""
    rng, n = np.random.default_rng(2), 100_000
    for d in (2, 3):
        draws = rng.uniform(-1, 1, (n, 8)) * rng.gamma(d + 1, size=(n, 8))
        for size in (5.0, 10.0, 20.0):
            assert (np.abs(draws.sum(axis=1)) >= size).mean() <= noisy_sum_bound(size, 8, d)
    assert (np.abs(rng.normal(size=n)) >= 2).mean() <= normal_sum_bound(2.0, 1.0) <= 1


def test_groups_are_counted_by_persons_where_these_are_known(monkeypatch):
    """Compared with a count by hand: a group of many records may be one of few persons."""
    case, seen = sound("persons", "ola", 900), []
    by_hand: dict[tuple[int, float], set[str]] = {}
    for row, name in enumerate(case.own("name")):
        by_hand.setdefault((case.linkage["class_id"][row], case.released["height"][row]), set()).add(name.strip())
    monkeypatch.setattr(averages, "published_groups", lambda own: seen.append(published_groups(own)) or seen[-1])
    case.audit()
    assert sorted(seen[0].n_members.tolist()) == sorted(map(len, by_hand.values()))
