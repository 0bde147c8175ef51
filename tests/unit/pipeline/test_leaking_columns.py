# SPDX-License-Identifier: Apache-2.0
"""Kept columns that give people away, and who could link how many records: from the table to check, release and grid."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kepsilon
from kepsilon.evaluate.estimate import Estimate
from kepsilon.evaluate.linking.attackers import Attacker, headline_of, risk_in_words
from kepsilon.rounding import percent, percent_at_most
from material.hospital import hospital

N = 3_000
MADE = hospital(N)
ALL = {
    **MADE.identifiers, **MADE.k_quasis, **MADE.epsilon_quasis, **MADE.clean, **MADE.leaky, **MADE.noted, **MADE.paired
}  # fmt: skip
"""Every column of the hospital, by name."""

QUASIS = {
    "age": {"role": "k-quasi", "hierarchy": {"type": "intervals", "widths": [5, 10, 20]}},
    "sex": {"role": "k-quasi", "hierarchy": {"type": "suppress"}},
    "zip": {"role": "k-quasi", "hierarchy": {"type": "mask", "length": 5}},
    "weight": {"role": "epsilon-quasi", "precision": 0.1, "range": {"coarse": 10}},
    "height": {"role": "epsilon-quasi", "precision": 0.1, "range": {"coarse": 10}},
}


def table(*names: str) -> pa.Table:
    """The quasis, the names of the patients, and some other columns."""
    columns = [*MADE.identifiers, *QUASIS, *names]
    return pa.table({name: pa.array(ALL[name].tolist()) for name in columns})


def policy(*kept: str, accepted: dict[str, str] | None = None, without: tuple[str, ...] = (), **changes):
    attributes = {name: {"role": "identifier"} for name in MADE.identifiers}
    attributes |= {name: own for name, own in QUASIS.items() if name not in without}
    attributes |= {name: {"role": "sensitive"} for name in kept}
    for name, reason in (accepted or {}).items():
        attributes[name]["accept_leak"] = reason
    return kepsilon.Policy.from_dict(
        {"k": 10, "epsilon": 2, "algorithm": "mondrian", "max_suppression": 0.05, "unlisted_columns": "drop"}
        | changes
        | {"attributes": attributes}
    )


CLEAN = tuple(MADE.clean)


def refusal(call) -> str:
    with pytest.raises(kepsilon.UnsatisfiableError) as caught:
        call()
    return str(caught.value)


def test_the_hospital_has_the_leaks_that_the_tests_speak_of():
    """The names below are those of the material."""
    assert {"bmi"} <= set(MADE.leaky)
    assert set(QUASIS) == {*MADE.k_quasis, *MADE.epsilon_quasis}


@pytest.mark.parametrize("name", sorted(MADE.leaky))
def test_every_planted_leak_is_refused_by_its_name(name):
    """Before anything is drawn, with what it reveals, how much, and what to do."""
    said = refusal(lambda: kepsilon.check(table(name), policy(name)))
    assert f"{name} gives people away: " in said
    assert f'accept_leak = "reason" at attributes.{name}' in said
    assert "Drop it" in said


@pytest.mark.parametrize("call", [kepsilon.check, kepsilon.anonymise], ids=["check", "anonymise"])
def test_the_refusal_names_attacker_and_shares(call):
    """Whoever knows weight and height works the index out; without it far fewer are linked."""
    said = refusal(lambda: call(table("bmi"), policy("bmi")))
    assert "whoever knows age, sex, zip, weight and height works out what bmi must be" in said
    assert "without it" in said


def test_clean_columns_pass_and_are_listed():
    """Age and sex tell a little about a diagnosis; that is no leak."""
    found = kepsilon.check(table(*CLEAN), policy(*CLEAN))
    assert set(found.kept_columns) == set(CLEAN)
    assert all(own.verdict != "alarm" for own in found.kept_columns.values())


@pytest.mark.parametrize("name", sorted(MADE.noted))
def test_what_only_helps_somebody_who_knows_it_is_noted(name):
    """Exact dates, near-unique values and free text: a warning with the attacker, not a refusal."""
    found = kepsilon.check(table(name), policy(name))
    assert found.kept_columns[name].verdict == "note"
    assert any(name in warning.where and "whoever knows" in warning.what for warning in found.warnings)


def test_columns_that_tell_something_together_are_refused_and_accepted_together():
    """Each alone tells nothing; accepting one of the two accepts the pair."""
    first, second = list(MADE.paired)[:2]
    said = refusal(lambda: kepsilon.check(table(first, second), policy(first, second)))
    assert f"from {first} and {second} together" in said or f"from {second} and {first} together" in said
    found = kepsilon.check(
        table(first, second), policy(first, second, accepted={first: "asked for by the ethics board"})
    )
    assert found.kept_columns[first].verdict == "alarm"


@pytest.fixture(scope="module")
def accepted_release():
    chosen = policy("bmi", "treatment", accepted={"bmi": "the study is about it"})
    with kepsilon.anonymise(table("bmi", "treatment"), chosen) as release:
        yield release, release.frame, release.linkage


def test_an_accepted_leak_is_released_and_said_in_public(accepted_release):
    """The reason stands in manifest, statement and report, and the headline does not hide what it does."""
    release, _, _ = accepted_release
    assert release.manifest["accepted_leaks"] == {"bmi": "the study is about it"}
    assert "The curator's reason: the study is about it" in release.manifest["guarantee"]["statement"]
    headline = release.record["linking_risk"]["headline"]
    assert headline["attacker"] == ("whoever knows age, sex, zip, weight and height, and works out what bmi must be")
    assert headline["share"] > 0.5 > release.record["linking_risk"]["expected"]


def test_the_report_prints_the_reason_and_the_attackers(accepted_release, tmp_path):
    """For the officer who has to sign: who links how many, and why the column is there."""
    release, _, _ = accepted_release
    release.report(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "the study is about it" in page
    assert "works out what bmi must be" in page
    assert "Who could link how many records" in page


def slow_share(original: pa.Table, released: pa.Table, linkage: pa.Table, known: list[str], ranges) -> float:
    """Links of whoever knows the quasis and some kept columns, record by record, from what was written."""
    rows, ids = linkage["original_row"].to_numpy(), linkage["class_id"].to_numpy()
    true = np.column_stack([original[name].to_numpy() for name in ("weight", "height")])[rows]
    shown = np.column_stack([released[name].to_numpy() for name in ("weight", "height")])
    kept = [np.array(original[name].to_pylist())[rows] for name in known]
    links = 0.0
    for i in range(len(rows)):
        same = np.flatnonzero((ids == ids[i]) & np.all([own == own[i] for own in kept], axis=0))
        distances = np.max(np.abs(shown[i] - true[same]) / ranges[ids[i]], axis=1)
        nearest = same[distances <= distances.min() + 1e-12]
        links += (i in nearest) / len(nearest)
    return links / len(rows)


def test_realised_shares_equal_a_slow_attack_on_the_files(accepted_release):
    """Written anew from release, original and linkage; nobody is left out, so all originals of a class are released."""
    release, frame, linkage = accepted_release
    ids = linkage["class_id"].to_numpy()
    original = table("bmi", "treatment")
    true = np.column_stack([original[name].to_numpy() for name in ("weight", "height")])[
        linkage["original_row"].to_numpy()
    ]
    ranges = np.array(
        [
            10
            * (np.floor(true[ids == c].max(axis=0) / 10 + 1e-9) + 1 - np.floor(true[ids == c].min(axis=0) / 10 + 1e-9))
            for c in range(ids.max() + 1)
        ]
    )
    by_name = {own.name: own for own in release.record.attackers}
    one = by_name["one column"]
    assert one.realised == pytest.approx(slow_share(original, frame, linkage, [one.column], ranges), abs=2e-3)
    everything = slow_share(original, frame, linkage, ["bmi", "treatment"], ranges)
    assert by_name["everything"].realised == pytest.approx(everything, abs=2e-3)
    assert by_name["quasis"].realised == release.record["linking_risk"]["realised"]


def test_the_largest_single_risk_stands_beside_every_attacker_who_has_one(accepted_release):
    """Nobody who knows more has less: a class, the quasis, a kept column too, everything."""
    release, _, _ = accepted_release
    largest = {own.name: own.largest for own in release.record.attackers}
    assert largest["class"] <= largest["quasis"] <= largest["matching"] <= 1
    assert largest["quasis"] <= largest["one column"] <= largest["everything"] <= 1


def test_explore_holds_the_headline_and_not_the_closed_form():
    """A limit between the two figures rules a cell out."""
    chosen = policy("bmi", accepted={"bmi": "the study is about it"})
    grid = kepsilon.explore(table("bmi"), chosen, k=[10, 50], epsilon=[1, 2], algorithm="mondrian")
    for cell in grid.cells:
        risk = cell.prediction.linking_risk
        assert risk.headline.risk.total > risk.fair.total
        found = cell.to_json()
        assert found["headline"]["share"] == risk.headline.risk.total
    between = max(cell.prediction.linking_risk.fair.total for cell in grid.cells) * 1.01
    with pytest.raises(kepsilon.UnsatisfiableError, match="max_risk"):
        grid.best(max_risk=between)


def test_explore_says_once_which_leaks_are_accepted_and_why():
    """After its other notes, for all cells together, with who could use the column and the curator's reason."""
    chosen = policy("bmi", "treatment", accepted={"bmi": "the study is about it", "treatment": "asked for"})
    grid = kepsilon.explore(table("bmi", "treatment"), chosen, k=[10, 50], epsilon=[1, 2], algorithm="mondrian")
    bmi, treatment = grid.warnings[-2:]
    assert bmi.where == 'column "bmi"'
    assert "is published though it may give people away, which the policy accepts: whoever knows age, sex" in bmi.what
    shares = {cell.name: cell.prediction.kept_columns["bmi"].share_linked for cell in grid.cells}
    assert bmi.what.endswith(f"({max(shares, key=shares.__getitem__)}).")
    assert bmi.fix == "The reason that the policy states: the study is about it"
    assert treatment.where == "attributes.treatment.accept_leak"
    assert "nothing was found" in treatment.what
    assert grid.to_json()["warnings"][-2]["fix"] == bmi.fix


def test_explore_names_both_columns_of_an_accepted_pair():
    """The reason stands at one of them."""
    first, second = list(MADE.paired)[:2]
    chosen = policy(first, second, accepted={first: "asked for by the ethics board"})
    grid = kepsilon.explore(table(first, second), chosen, k=[10], epsilon=[2], algorithm="mondrian")
    reasons = {own.where: own.fix for own in grid.warnings if "may give people away" in own.what}
    assert reasons == {
        f'column "{first}"': "The reason that the policy states: asked for by the ethics board",
        f'column "{second}"': "The reason that the policy states: that of the other column",
    }


def test_explore_without_an_accepted_leak_says_nothing_of_one():
    """Neither where nothing was found, nor where every cell is refused."""
    for name in (CLEAN[0], "bmi"):
        grid = kepsilon.explore(table(name), policy(name), k=[10], epsilon=[2], algorithm="mondrian")
        assert not any("give people away" in own.what for own in grid.warnings)


def test_explore_refuses_cells_that_anonymise_would_refuse():
    """So that it never chooses what cannot be released; the refusal names the column."""
    grid = kepsilon.explore(table("bmi"), policy("bmi"), k=[10], epsilon=[2], algorithm="mondrian")
    assert all("bmi gives people away" in cell.refused for cell in grid.cells)
    with pytest.raises(kepsilon.UnsatisfiableError, match="bmi gives people away"):
        grid.best(max_risk=0.9)


def test_check_explore_and_anonymise_agree_to_the_last_bit():
    """One function makes all three."""
    chosen = policy("bmi", "diagnosis", accepted={"bmi": "the study is about it"})
    data = table("bmi", "diagnosis")
    checked = kepsilon.check(data, chosen)
    (cell,) = kepsilon.explore(data, chosen, k=[10], epsilon=[2], algorithm="mondrian").cells
    with kepsilon.anonymise(data, chosen) as release:
        released = release.record
    assert cell.prediction.linking_risk == checked.linking_risk == released.linking_risk.predicted
    assert cell.prediction.kept_columns == checked.kept_columns == released.kept_columns


def test_the_order_of_the_records_changes_no_figure():
    """Attackers are fitted in halves of the records, and the halves do not hang on their order."""
    data = table("bmi", "diagnosis")
    chosen = policy("bmi", "diagnosis", accepted={"bmi": "the study is about it"})
    order = np.random.default_rng(3).permutation(N)
    one, other = (kepsilon.check(own, chosen) for own in (data, data.take(order)))
    assert one.kept_columns == other.kept_columns
    assert one.attackers == other.attackers


def test_a_reason_must_be_words_in_one_line():
    """It is printed in public as it is written."""
    for reason in ("", "  ", "two\nlines", "\x1b[31m", "x" * 501):
        with pytest.raises(kepsilon.PolicyError, match="accept_leak"):
            policy("bmi", accepted={"bmi": reason})


def test_a_reason_that_is_not_needed_is_said():
    """The manifest prints it all the same, which would mislead."""
    found = kepsilon.check(table("treatment"), policy("treatment", accepted={"treatment": "why not"}))
    assert any("accept_leak" in warning.where and "nothing was found" in warning.what for warning in found.warnings)


def test_without_kept_columns_there_is_nothing_to_work_out():
    """The statement does not speak of them either."""
    found = kepsilon.check(table(), policy())
    assert found.kept_columns == {}
    assert [own.name for own in found.attackers if own.needs_only_quasis] == ["class", "quasis", "matching"]
    assert found.linking_risk.headline.risk == found.linking_risk.fair


def test_without_an_epsilon_quasi_a_coarse_copy_is_found():
    """A code of the generalised k-quasi tells what was hidden."""
    name = next(own for own in MADE.leaky if "age" in own)
    said = refusal(lambda: kepsilon.check(table(name), policy(name, without=("weight", "height"))))
    assert f"{name} gives people away" in said


def attacker(name: str, share: float | None, *, quasis: bool = True) -> Attacker:
    risk = None if share is None else Estimate(total=share)
    return Attacker(
        name=name, knows="zip", how="guesses", needs_only_quasis=quasis, risk=risk, largest=None, column="bmi"
    )


def test_the_headline_is_the_largest_share_of_those_who_need_only_the_quasis():
    """Whoever knows kept columns of everybody links more, but is not the headline; nor is who has no share."""
    found = headline_of(
        [
            attacker("class", 0.1),
            attacker("quasis", 0.3),
            attacker("matching", None),
            attacker("everything", 0.9, quasis=False),
        ]
    )
    assert found.risk.total == 0.3


def test_the_risk_in_words_names_both_attackers():
    """“Whoever also …” only where that attacker links more."""
    said = risk_in_words([attacker("quasis", 0.099), attacker("working out", 0.96)])
    assert said == "Whoever knows zip links 9.9 % of the records, on average. Whoever also guesses links 96 %."
    fewer = risk_in_words([attacker("quasis", 0.15), attacker("working out", 0.034)])
    assert "instead links fewer, 3.4 %" in fewer
    alike = risk_in_words([attacker("quasis", 0.0341), attacker("working out", 0.0339)])
    assert "instead links as many, 3.4 %" in alike


@pytest.mark.parametrize(
    ("share", "words"),
    [(0, "0 %"), (1, "100 %"), (0.999, "99.9 %"), (0.99999, "99.99 %"), (0.000001, "under 0.001 %"), (0.0991, "9.9 %")],
)
def test_shares_are_never_rounded_to_nothing_or_all(share, words):
    """“0 %” would promise too much."""
    assert percent(share) == words


def test_the_command_ends_with_3_and_names_the_column(tmp_path, kepsilon_command):
    """As for every other refusal; no file is left, and no value of a record is said."""
    pq.write_table(table("bmi"), tmp_path / "h.parquet")
    document = policy("bmi").model_dump(mode="json", exclude_none=True)
    (tmp_path / "p.toml").write_text(_toml(document), encoding="utf-8")
    ended = kepsilon_command("anonymise", tmp_path / "h.parquet", "-p", tmp_path / "p.toml", "-o", tmp_path / "r.csv")
    assert ended.code == 3
    assert "bmi gives people away" in " ".join(ended.err.split())
    assert not list(tmp_path.glob("r.csv*"))


def _toml(document: dict) -> str:
    attributes = document.pop("attributes")
    lines = [f"{key} = {json.dumps(value)}" for key, value in document.items()]
    for name, own in attributes.items():
        lines.append(f"[attributes.{json.dumps(name)}]")
        lines += [f"{key} = {_inline(value)}" for key, value in own.items()]
    return "\n".join(lines)


def _inline(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_inline(own)}" for key, own in value.items()) + " }"
    return json.dumps(value)


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0, "0 %"),
        (1 / 8, "12.5 %"),
        (0.8925, "89.3 %"),
        (1 / 3, "33.4 %"),
        (0.1, "10 %"),
        (0.999, "99.9 %"),
        (0.99991, "100 %"),
        (0.000123, "0.013 %"),
        (1, "100 %"),
    ],
)
def test_bounds_are_rounded_up(share, words):
    """“At most 33.3 %” would be untrue of one in three."""
    assert percent_at_most(share) == words


def test_a_class_that_is_too_large_to_look_at_is_said_to_give_bounds(monkeypatch):
    """Of its records only some are candidates, so that shares are too large; nothing is measured as drawn on them."""
    monkeypatch.setattr("kepsilon.predict.whole_records.FEWEST_RECORDS", 500)
    monkeypatch.setattr("kepsilon.predict.whole_records.MOST_RECORDS", 500)
    chosen = policy("bmi", accepted={"bmi": "the study is about it"}, k=1_400)
    with kepsilon.anonymise(table("bmi"), chosen) as release:
        by_name = {own.name: own for own in release.record.attackers}
    assert "shares are at most these" in by_name["everything"].measured_on
    assert by_name["everything"].realised is None
    assert by_name["quasis"].measured_on is None


def test_a_sample_of_classes_is_said_and_has_a_standard_error(monkeypatch):
    """In the note, in the refusal and beside each figure."""
    monkeypatch.setattr("kepsilon.predict.whole_records.FEWEST_RECORDS", 500)
    monkeypatch.setattr("kepsilon.predict.whole_records.MOST_RECORDS", 500)
    assert "measured on" in refusal(lambda: kepsilon.check(table("bmi"), policy("bmi")))
    found = kepsilon.check(table("bmi"), policy("bmi", accepted={"bmi": "the study is about it"}))
    own = next(one for one in found.attackers if one.name == "working out")
    assert own.risk.standard_error > 0
    assert f"of {found.records.entering:,} records" in own.measured_on
