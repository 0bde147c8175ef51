# SPDX-License-Identifier: Apache-2.0
"""Each check of the audit is needed: switched off, it lets a tampering pass that nothing else notices."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

import kepsilon as ke
from kepsilon.auditing import attacks, audit, noise
from material.audited_releases import arrow, patients, patients_policy, released
from material.person_tamperings import TAMPERINGS as OF_PERSONS
from material.person_tamperings import sound_release as sound_release_of_persons
from material.tamperings import TAMPERINGS, sound_release

sound = cache(sound_release)
sound_of_persons = cache(sound_release_of_persons)

NEEDED_FOR: dict[str, tuple[str, str, bool]] = {
    "check_counts": ("class cut to k-1", "ola", False),
    "check_linked_classes": ("linkage divides a class", "ola", True),
    "check_linked_labels": ("labels and classes of the linkage exchanged", "ola", True),
    "check_label_tightness": ("label wider than its class", "mondrian", True),
    "check_kept_columns": ("kept values exchanged in a class", "ola", True),
    "check_inside_ranges": ("drawn outside the range", "ola", True),
    "check_constant_classes": ("value of a constant class moved", "ola", True),
    "check_linked_noise": ("noise that only adds", "ola", True),
    "check_patterns": ("antithetic pairs", "ola", True),
    "check_noise_of_records": ("direction copied to another attribute", "ola", True),
    "check_exact_values": ("1 in 100 without noise", "ola", True),
    "check_unlinked_noise": ("half the noise", "ola", False),
    "check_published_values": ("last digit tells a bit of a kept column", "ola", False),
    "check_confident_k": ("record with too few in reach", "ola", True),
    "check_taken_out": ("more left out than confident k asks for", "ola", False),
    "check_order": ("not shuffled", "ola", True),
    "check_links": ("noise handed out so that an attacker links more", "ola", True),
    "check_published_numbers": ("off precision", "ola", True),
}
"""For each check a tampering that only it notices, the algorithm of the release, and whether there is a linkage."""

WITH_OTHERS = {"check_identifiers": ("identifier renamed", "ola", True)}
"""Checks that say what is wrong where others notice that something is.

An identifier in a release is also a column too many, or a kept value that is not the original's.
"""

ONLY_WARN = ("check_repeated_codes",)
"""Checks that call nothing broken."""

FILES: dict[str, Callable[[Path], None]] = {}
"""For each check of files a function that tampers with a release in a folder; filled below."""

TOGETHER = ("check_noise", "check_averages", "check_attacks")
"""Not checks themselves: they call checks, or set the figures that others need; test_audited_averages has those of averages."""


def switched_off(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets one check of the audit, by the name of its function, do nothing."""

    def off(*_: object, **__: object) -> None:
        return None

    for module in (audit, noise, attacks):
        if hasattr(module, name):
            monkeypatch.setattr(module, name, off)
    for listed in ("CHECKS_OF_CLASSES", "CHECKS_OF_NOISE"):
        rest = tuple(check for check in getattr(audit, listed) if check.__name__ != name)
        monkeypatch.setattr(audit, listed, rest)
    later = {
        step: tuple(check for check in checks if check.__name__ != name) for step, checks in audit.LATER_CHECKS.items()
    }
    monkeypatch.setattr(audit, "LATER_CHECKS", later)


def audited(name: str, algorithm: str, with_linkage: bool) -> ke.Audit:
    """The audit of a release that was tampered with in the named way."""
    tampering = TAMPERINGS[name]
    n = tampering.n if with_linkage else tampering.n_without
    assert n is not None
    return tampering.change(sound(tampering.setting, algorithm, n)).audit(with_linkage=with_linkage)


@pytest.mark.parametrize("check", NEEDED_FOR)
def test_without_a_check_a_tampering_goes_unnoticed(check, monkeypatch):
    """With the check the tampering is broken, without it nothing is: what the check notices, nothing else does."""
    name, algorithm, with_linkage = NEEDED_FOR[check]
    found = {finding.check for finding in audited(name, algorithm, with_linkage).broken}
    assert TAMPERINGS[name].check in found
    switched_off(check, monkeypatch)
    assert not audited(name, algorithm, with_linkage).broken


@pytest.mark.parametrize("check", WITH_OTHERS)
def test_without_a_check_nobody_says_what_is_wrong(check, monkeypatch):
    """Other checks notice, but none calls it by its name."""
    name, algorithm, with_linkage = WITH_OTHERS[check]
    said = TAMPERINGS[name].check
    assert said in {finding.check for finding in audited(name, algorithm, with_linkage).broken}
    switched_off(check, monkeypatch)
    assert said not in {finding.check for finding in audited(name, algorithm, with_linkage).broken}


def test_every_check_is_in_the_tables():
    """A check that is added to the audit needs a tampering that it is for."""
    listed = [*audit.CHECKS_OF_CLASSES, *audit.CHECKS_OF_NOISE]
    listed += [check for checks in audit.LATER_CHECKS.values() for check in checks]
    names = {check.__name__ for check in listed} | {name for name in vars(audit) if name.startswith("check_")}
    of_persons = {tampering.needs for tampering in OF_PERSONS.values()}
    assert names - set(TOGETHER) <= {*NEEDED_FOR, *WITH_OTHERS, *ONLY_WARN, *FILES, *of_persons}


@pytest.mark.parametrize("name", OF_PERSONS)
def test_without_a_check_of_persons_or_values_a_tampering_goes_unnoticed(name, monkeypatch):
    tampering = OF_PERSONS[name]
    case = tampering.change(sound_of_persons(tampering.setting))
    assert {finding.check for finding in case.audit().broken} == {tampering.check}
    switched_off(tampering.needs, monkeypatch)
    assert not case.audit().broken


def test_without_the_check_of_repeated_codes_nobody_warns(monkeypatch):
    case = released(patients(300), patients_policy())
    repeated = arrow({**case.original, "name": [f"CANARY-{i // 2}" for i in range(300)]})

    def warned() -> bool:
        audit = ke.audit(repeated, arrow(case.released), case.policy)
        return any(finding.check == "persons" for finding in audit.of("warning"))

    assert warned()
    switched_off("check_repeated_codes", monkeypatch)
    assert not warned()


def quoted_cell(folder: Path) -> None:
    """One number of the release is in quotation marks, and no other."""
    path = folder / "release.csv"
    changed = re.sub(r",([0-9.]+),", r',"\1",', path.read_text(encoding="utf-8"), count=1)
    path.write_text(changed, encoding="utf-8")
    same_digest(folder)


def same_digest(folder: Path) -> None:
    """The files beside the release state its digest anew, as somebody who tampers would have them do."""
    from kepsilon.auditing.digests import digest_of

    for kind in ("manifest", "curator"):
        change_document(folder, kind, lambda document: document.update(digest=digest_of(folder / "release.csv")))


def change_document(folder: Path, kind: str, change: Callable[[dict], object]) -> None:
    """Changes the JSON file of a kind beside the release."""
    path = folder / f"release.csv.{kind}.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    change(document)
    path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def lower_bound(document: dict) -> None:
    document["bounds"]["linking_risk"] = round(document["bounds"]["linking_risk"] - 1e-6, 6)


def lower_risk(document: dict) -> None:
    document["linking_risk"]["expected"] *= 1 - 1e-6


def lower_largest_risk(document: dict) -> None:
    document["linking_risk"]["largest_possible_by_matching"] *= 1 - 1e-6


def lower_error(document: dict) -> None:
    document["error"]["height"]["realised_relative"] *= 1 - 1e-6


FILES |= {
    "check_bytes": quoted_cell,
    "check_manifest": lambda folder: change_document(folder, "manifest", lower_bound),
    "check_single_risk": lambda folder: change_document(folder, "curator", lower_largest_risk),
    "check_record": lambda folder: change_document(folder, "curator", lower_risk),
}


@pytest.fixture
def folder(tmp_path):
    case = sound("plain", "ola", 300)
    release = ke.anonymise(arrow(case.original), case.policy, unsafe_seed=1)
    release.write(tmp_path / "release.csv", linkage=tmp_path / "linkage.csv")
    return tmp_path


def audited_files(folder: Path) -> ke.Audit:
    case = sound("plain", "ola", 300)
    return ke.audit(arrow(case.original), folder / "release.csv", case.policy, linkage=folder / "linkage.csv")


@pytest.mark.parametrize("check", FILES)
def test_without_a_check_of_files_a_tampering_goes_unnoticed(check, folder, monkeypatch):
    """A cell written in another way, a bound lowered by a millionth, and figures of the curator lowered as little."""
    assert not audited_files(folder).broken
    FILES[check](folder)
    assert audited_files(folder).broken
    switched_off(check, monkeypatch)
    assert not audited_files(folder).broken


@pytest.mark.parametrize("change", [lower_risk, lower_error])
def test_a_figure_of_the_curators_record_that_was_changed_is_noticed(change, folder):
    change_document(folder, "curator", change)
    assert [finding.check for finding in audited_files(folder).broken] == ["curator"]
