# SPDX-License-Identifier: Apache-2.0
"""The audit's table of attackers and its warnings of leaks: against the record, slow oracles, and tampered files."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import kepsilon as ke
from kepsilon.auditing import stated_attackers, whole_records
from kepsilon.evaluate.linking.attackers import EVERYTHING
from kepsilon.rounding import percent
from material.audited_releases import NUMERIC_QUASIS, arrow, classes_of, patients_policy, released
from material.file_tamperings import FILE_TAMPERINGS, NEAREST, REASON, leaky_patients, leaky_policy, write_leaky_release

WEIGHT = {"role": "epsilon-quasi", "precision": 0.5, "range": "class"}
CASES = {
    "one": {},
    "two": {"attributes": {"weight": WEIGHT}},
    "none": {"attributes": {"height": {"role": "k-quasi", "hierarchy": {"type": "intervals", "widths": [10, 40]}}}},
    "confident": {"confidence": 0.9},
    "mondrian": {"algorithm": "mondrian", "attributes": NUMERIC_QUASIS},
    "classes of missing": {"attributes": {"height": {**WEIGHT, "missing": "class"}}},
}


def columns_of(case: str) -> dict[str, list]:
    columns = leaky_patients(500)
    if case == "two":
        columns["weight"] = np.random.default_rng(5).normal(70, 9, 500).round(0).tolist()
    if case == "classes of missing":
        columns["height"] = [None if i % 9 == 0 else value for i, value in enumerate(columns["height"])]
    return columns


@pytest.mark.parametrize("case", CASES)
def test_the_table_is_that_of_the_curators_record(case, tmp_path):
    """Same attackers, and the same figure wherever both have one; the audit has its own code for all of them."""
    original, policy = arrow(columns_of(case)), leaky_policy(**CASES[case])
    release = ke.anonymise(original, policy, unsafe_seed=1)
    release.write(tmp_path / "release.csv")
    audited = ke.audit(original, tmp_path / "release.csv", policy, linkage=release.linkage)
    assert not audited.broken, audited.broken
    stated, found = release.record.attackers, audited.figures.attackers
    assert [(own.knows, own.how) for own in found] == [(own.knows, own.how) for own in stated]
    is_whole = policy.confidence is None  # otherwise some classes may be gone, which the audit does not know
    for own, other in zip(found, stated, strict=True):
        assert own.needs_only_quasis is other.needs_only_quasis
        if is_whole and own.risk is not None and "works out" not in own.how:
            assert own.risk.total == pytest.approx(other.risk.total, rel=1e-9)
        if is_whole and own.largest is not None:
            assert own.largest == pytest.approx(other.largest, rel=1e-9)
        if other.realised is not None and own.realised is not None and "works out" not in own.how:
            assert own.realised == pytest.approx(other.realised, rel=1e-9)
    assert all(own.realised is not None for own in found if "matches" not in own.how and "works out" not in own.how)


def slow_links(case, names, among):
    """Share of released records linked by comparing each with every record of `among(row)` that agrees on `names`.

    That a height is missing is known too: only those come into question whose height is missing as well.
    """
    heights, own = case.released["height"], case.own("height")
    links = 0.0
    for row in range(len(heights)):
        fits = [other for other in among(row) if all(case.released[n][other] == case.released[n][row] for n in names)]
        fits = [other for other in fits if (own[other] is None) is (own[row] is None)]
        away = {other: 0.0 if own[row] is None else abs(own[other] - heights[row]) for other in fits}
        tied = [other for other in fits if away[other] <= min(away.values()) + 1e-9]
        links += (row in tied) / len(tied)
    return links / len(heights)


@pytest.mark.parametrize("case", ["one", "classes of missing"])
def test_realised_links_are_those_of_a_slow_attacker(case):
    """Every released record against every candidate, in plain Python: with one kept column, three attributes, and all."""
    columns = {name: values[:250] for name, values in columns_of(case).items()}
    case = released(columns, leaky_policy(**CASES[case]))
    members = {row: records for records in classes_of(case) for row in records}
    everybody = list(range(len(case.released["height"])))
    table = case.audit().figures.attackers
    (beside,) = [own for own in table if own.column is not None and not own.needs_only_quasis]
    assert beside.realised == pytest.approx(slow_links(case, [beside.column], members.get), rel=1e-12)
    (whole,) = [own for own in table if own.knows == EVERYTHING]
    assert whole.realised == pytest.approx(slow_links(case, ["illness", "inches"], members.get), rel=1e-12)
    exact = ["zip", "year", "illness", "inches"]

    def alike(row, names):
        return sum(all(case.released[name][other] == case.released[name][row] for name in names) for other in everybody)

    counted = {names: np.mean([1 / alike(row, names) for row in everybody]) for names in combinations(exact, 3)}
    shares = [*counted.values(), *(slow_links(case, two, lambda _: everybody) for two in combinations(exact, 2))]
    mean, worst = [own for own in table if "sets of 3" in own.how]
    assert "of 10 sets" in mean.how, "all sets were tried"
    assert mean.realised == pytest.approx(np.mean(shares), rel=1e-12)
    names = worst.knows.replace(" and ", ", ").split(", ")
    exact_names = [name for name in names if name != "height"]
    again = counted[tuple(names)] if len(exact_names) == 3 else slow_links(case, exact_names, lambda _: everybody)
    assert worst.realised == pytest.approx(again, rel=1e-12)


def test_without_a_linkage_only_what_can_be_worked_out_is_listed():
    """Expected shares, largest risks, and what needs no linkage: sizes of classes, and a column that is worked out."""
    audited = released(leaky_patients(), leaky_policy()).audit(with_linkage=False)
    for own in audited.figures.attackers:
        needs_none = own.how.startswith(("guesses among its records", "works out"))
        assert (own.realised is not None) is needs_none, own
        assert own.risk is not None or own.largest is not None


def test_a_column_that_gives_people_away_is_a_warning_that_names_who_links_how_many():
    """Never broken: the release may have been judged by another sample. An accepted leak is a note with its reason."""
    case = released(leaky_patients(), leaky_policy())
    strict = patients_policy(attributes={"inches": {"role": "insensitive"}})
    for linkage in (arrow(case.linkage), None):
        audited = ke.audit(arrow(case.original), arrow(case.released), strict, linkage=linkage)
        assert not audited.broken
        (said,) = [finding for finding in audited.findings if finding.check == "leaks"]
        assert said.severity == "warning"
        assert "inches gives people away" in said.what
        assert "whoever knows zip, year and height works out what inches must be" in said.what
    (said,) = [finding for finding in case.audit().findings if finding.check == "leaks"]
    assert said.severity == "note"
    assert said.what.endswith(f"Its reason: {REASON}")
    assert "CANARY" not in said.what
    assert "and works out what inches must be, links" in case.audit().headline


def test_without_a_linkage_the_headline_of_averages_says_what_it_lacks():
    """Who was averaged with whom is not known then, so that fewer are linked through a kept column than `check` says."""
    policy = leaky_policy().with_changes(epsilon=None, averages={"group": 5})
    release = ke.anonymise(arrow(leaky_patients()), policy, unsafe_seed=1)
    stated = next(own for own in release.record.attackers if own.how.startswith("works out"))
    found = {}
    for linkage in (release.linkage, None):
        audited = ke.audit(arrow(leaky_patients()), release.frame, policy, linkage=linkage)
        found[linkage is None] = next(own for own in audited.figures.attackers if own.how.startswith("works out"))
        assert ("does not know who was averaged with whom" in audited.headline) is (linkage is None)
        assert ("without making the groups" in audited.headline) is (linkage is None)
    assert found[False].how == stated.how
    assert found[False].risk.total == pytest.approx(stated.risk.total, abs=0.05)
    assert found[True].risk.total < stated.risk.total


def test_columns_that_tell_nothing_pass():
    """Illnesses were drawn apart from everything else."""
    columns = {name: values for name, values in leaky_patients().items() if name != "inches"}
    audited = released(columns, patients_policy()).audit()
    assert [finding.severity for finding in audited.findings if finding.check == "leaks"] == ["passed"]
    assert not any(own.how.startswith("works out") for own in audited.figures.attackers)


def test_a_sample_is_said_and_not_compared(tmp_path, monkeypatch):
    """Of a table that is too large to be looked at as a whole, figures of kept columns may differ from the record's."""
    monkeypatch.setattr(whole_records, "MOST_RECORDS", 100)
    monkeypatch.setattr(stated_attackers, "MOST_RECORDS", 100)
    original = write_leaky_release(tmp_path)
    audited = ke.audit(original, tmp_path / "release.csv", leaky_policy(), linkage=tmp_path / "linkage.csv")
    assert not audited.broken
    (said,) = [finding.what for finding in audited.of("note") if finding.check == "attackers"]
    assert "of 600 records, in whole classes" in said
    looked_at = int(said.split("tried on ")[1].split(" of ")[0])
    assert 30 * 5 <= looked_at < 600, "at least 30 classes"
    rows = [own for own in audited.figures.attackers if own.column is not None or own.name == EVERYTHING]
    assert {own.measured_on for own in rows} == {f"measured on {said.split('tried on ')[1].rstrip('.')}"}


def test_classes_of_which_only_some_records_were_looked_at_are_not_said_to_be_whole(tmp_path, monkeypatch):
    """Of a very large class a part is looked at. Its records had too few candidates, so that shares are bounds."""
    monkeypatch.setattr(whole_records, "LARGEST_CLASS", 5)
    monkeypatch.setattr(stated_attackers, "MOST_RECORDS", 100)
    original = write_leaky_release(tmp_path)
    audited = ke.audit(original, tmp_path / "release.csv", leaky_policy(), linkage=tmp_path / "linkage.csv")
    (said,) = [finding.what for finding in audited.of("note") if finding.check == "attackers"]
    assert "whole classes" not in said
    assert "of a class above 5 records only some, so that shares are at most these" in said
    assert "so that shares are at most these" in audited.figures.attackers[-1].figures_in_words


@pytest.fixture
def folder(tmp_path):
    return tmp_path, write_leaky_release(tmp_path)


@pytest.mark.parametrize("name", FILE_TAMPERINGS)
def test_a_tampered_file_is_broken_and_said(name, folder):
    """With the linkage always, without it unless only a linkage tells; the finding names what is wrong."""
    (where, original), tampering = folder, FILE_TAMPERINGS[name]
    tampering.apply(where)
    for linkage in (where / "linkage.csv", None):
        audited = ke.audit(original, where / "release.csv", leaky_policy(), linkage=linkage)
        if linkage is None and tampering.needs_linkage:
            assert not audited.broken
        else:
            assert {finding.check for finding in audited.broken} == {tampering.kind}
            assert any(tampering.named in finding.what for finding in audited.broken), audited.broken


def test_a_record_that_names_a_harmless_column_as_the_worst_is_broken(folder):
    """The row is right about the column that it names, but another column helps more."""
    where, original = folder
    path = where / "release.csv.curator.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    (place,) = [i for i, row in enumerate(record["attackers"]) if row["how"].startswith(f"{NEAREST} with")]
    dropped = record["attackers"][place]["column"]
    other = ke.anonymise(
        original, leaky_policy(records_are_persons=True, attributes={dropped: {"role": "identifier"}}), unsafe_seed=1
    )
    (harmless,) = [own for own in other.record.attackers if own.how.startswith(f"{NEAREST} with")]
    record["attackers"][place] = harmless.to_json()
    path.write_text(json.dumps(record), encoding="utf-8")
    audited = ke.audit(original, where / "release.csv", leaky_policy())
    (said,) = audited.broken
    assert said.what == f'the curator\'s record is wrong about "attackers.{place}.column".'


def test_a_share_above_one_is_wrong_wherever_it_stands(folder):
    """Also in rows whose figures are not worked out again, such as those about three attributes."""
    where, original = folder
    path = where / "release.csv.curator.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    record["attackers"][5]["expected"] = 1.5
    path.write_text(json.dumps(record), encoding="utf-8")
    audited = ke.audit(original, where / "release.csv", leaky_policy())
    assert '"attackers.5.expected"' in audited.broken[0].what


def test_a_record_that_hides_who_works_out_a_column_is_warned_about(folder):
    """All that states the figure is changed together, so that it agrees; what the audit finds is statistical, so it warns."""
    where, original = folder
    path = where / "release.csv.curator.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    stated = percent(record["linking_risk"]["headline"]["share"])
    record["attackers"] = [row for row in record["attackers"] if not row["how"].startswith("works out")]
    nearest = record["attackers"][1]
    who = f"whoever knows {nearest['knows']}, and {nearest['how']}"
    record["linking_risk"]["headline"] = {"share": nearest["expected"], "attacker": who, "standard_error": 0}
    mark = record["verdict"]["risk"]
    assert f"links {stated} of" in mark["sentence"]
    mark["sentence"] = mark["sentence"].replace(f"links {stated} of", f"links {percent(nearest['expected'])} of")
    path.write_text(json.dumps(record), encoding="utf-8")
    audited = ke.audit(original, where / "release.csv", leaky_policy())
    assert not audited.broken
    (said,) = [
        finding.what for finding in audited.of("warning") if finding.check == "curator" and "headline" in finding.what
    ]
    assert "works out what inches must be, links" in said


@pytest.mark.parametrize("forged", [10**400, float("nan"), -1, 2, "CANARY", True, [], {}])
@pytest.mark.parametrize("where", ["expected", "realised", "largest", "column", "knows", "headline", "row", "rows"])
def test_forged_tables_do_not_stop_the_audit(forged, where, folder):
    """Whatever stands there is called wrong, and not repeated."""
    at, original = folder
    path = at / "release.csv.curator.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    if where == "headline":
        record["linking_risk"]["headline"] = forged
    elif where == "rows":
        record["attackers"] = forged
    elif where == "row":
        record["attackers"][4] = forged
    else:
        record["attackers"][4][where] = forged
    path.write_text(json.dumps(record), encoding="utf-8")
    audited = ke.audit(original, at / "release.csv", leaky_policy(), linkage=at / "linkage.csv")
    assert [finding.check for finding in audited.broken] == ["curator"]
    assert "CANARY" not in str(audited.to_json())


def test_a_record_of_version_0_1_has_no_table_and_is_not_accused(folder):
    where, original = folder
    path = where / "release.csv.curator.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    del record["attackers"], record["linking_risk"]["headline"], record["kept_columns"]
    path.write_text(json.dumps(record), encoding="utf-8")
    assert not ke.audit(original, where / "release.csv", leaky_policy()).broken


def test_screen_and_json_have_the_whole_table(tmp_path, kepsilon_command):
    """Who knows what, expected, as drawn and at most; JSON has the keys of the curator's record."""
    import pyarrow.csv

    original = write_leaky_release(tmp_path)
    pyarrow.csv.write_csv(original, tmp_path / "original.csv")
    policy = leaky_policy()
    lines = [f"{key} = {json.dumps(getattr(policy, key))}" for key in ("k", "epsilon", "algorithm", "max_suppression")]
    for name, attribute in policy.model_dump(mode="json", exclude_none=True)["attributes"].items():
        hierarchy = {"zip": '{ type = "mask" }', "year": '{ type = "intervals", widths = [5, 10] }'}.get(name)
        stated = {key: attribute[key] for key in ("role", "precision", "range", "accept_leak") if key in attribute}
        lines += [f"[attributes.{name}]", *(f"{key} = {json.dumps(value)}" for key, value in stated.items())]
        lines += [f"hierarchy = {hierarchy}"] * (hierarchy is not None)
    (tmp_path / "policy.toml").write_text("\n".join(lines), encoding="utf-8")
    arguments = ["audit", tmp_path / "original.csv", tmp_path / "release.csv", "-p", tmp_path / "policy.toml",
                 "--linkage", tmp_path / "linkage.csv"]  # fmt: skip
    shown = kepsilon_command(*arguments)
    assert shown.code == 0, shown.out + shown.err
    out = " ".join(shown.out.split())
    assert "Who could link how many records" in out
    assert "the class of a person" in out
    for who in ("matches a whole class", "works out what inches must be", "the same", "3 attributes", "everything"):
        assert who in out
    document = json.loads(kepsilon_command(*arguments, "--json").out)
    rows = document["figures"]["attackers"]
    assert all({"knows", "how", "expected", "realised", "largest"} <= row.keys() for row in rows)
    record = json.loads((tmp_path / "release.csv.curator.json").read_text(encoding="utf-8"))
    assert [row["how"] for row in rows] == [row["how"] for row in record["attackers"]]


def visits(folder: Path, **settings: Any) -> ke.Audit:
    """The audit of a release of visits, up to nine of a person, with a linkage."""
    persons = [i % 10 if i < 60 else 10 + i // 4 for i in range(120)]
    table = pa.table(
        {
            "person": [f"p{own}" for own in persons],
            "ward": [f"w{i % 3}" for i in range(120)],
            "age": [20 + own * 7 % 60 for own in persons],
        }
    )
    attributes = {
        "person": {"role": "identifier"},
        "ward": {"role": "k-quasi", "hierarchy": {"type": "suppress"}},
        "age": {"role": "epsilon-quasi", "precision": 1, "range": [0, 100]},
    }
    document = {"k": 3, "epsilon": 4, "algorithm": "ola", "max_suppression": 0.5, "person": "person"}
    under = ke.Policy.from_dict(document | settings | {"attributes": attributes})
    release = ke.anonymise(table, under, unsafe_seed=1)
    release.write(folder / "released.csv")
    return ke.audit(table, folder / "released.csv", under, linkage=release.linkage)


@pytest.mark.parametrize("covered", ["record", "person"])
def test_figures_of_records_are_not_called_those_of_persons(tmp_path, covered):
    """The audit's attackers link records: their rows said that they name persons, who are easier to find."""
    audit = visits(tmp_path, epsilon_per=covered)
    assert not audit.broken
    first, *others = audit.figures.attackers
    assert "names the person" in first.how
    assert first.realised == first.risk.total
    assert others
    for own in others:
        assert "names the" not in own.how
        assert "by record" in own.how
    assert "Links to the right person" in audit.headline


def test_a_bound_without_joined_records_is_not_stated_where_they_can_be_joined(tmp_path):
    """Three equal values in a class are those of whoever has three records there, whatever the noise is."""
    audit = visits(tmp_path, epsilon_per="person")
    assert audit.figures.largest_risks.by_matching is None
    assert "matching" not in {own.name for own in audit.figures.attackers}
    assert any("joins records" in str(own) for own in audit.findings)


def test_nobody_is_0_percent_sure_where_no_original_is_known(tmp_path):
    audit = visits(tmp_path, epsilon_per="person", max_records_per_person=1, confidence=0.9)
    assert audit.figures.largest_risks is None
    assert all(own.figures_in_words for own in audit.figures.attackers)
