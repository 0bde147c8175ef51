# SPDX-License-Identifier: Apache-2.0
"""H10: masks without a length, formula cells, noise lost by rounding, and an earlier draw that is replaced."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kepsilon as ke
from material.people import POLICY, WITHOUT_NOTES, people, write_csv

LONG = "1234567890"


@pytest.fixture
def with_a_long_code(tmp_path):
    """A hundred and twenty people, one of them with a code of ten characters where the others have five."""
    table = people()
    table[5]["zip"] = LONG
    write_csv(tmp_path / "people.csv", table)
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    return tmp_path


def cells(path):
    """The cells of a CSV file, line by line."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def change(folder, old, new):
    policy = folder / "policy.toml"
    policy.write_text(policy.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")


@pytest.mark.parametrize("unlisted", ["", '\nunlisted = "suppress"'], ids=["error", "suppress"])
def test_h10_one_long_code_does_not_set_the_length_of_a_mask(with_a_long_code, kepsilon_command, unlisted):
    """Refused, and told with everything else that is wrong; no code is shown."""
    folder = with_a_long_code
    change(folder, '{ type = "mask" }', f'{{ type = "mask" }}{unlisted}')
    change(folder, "widths = [5, 10]", "widths = [5, 10], origin = 0 }\n# ")
    records = people()
    records[5]["zip"], records[6]["year"] = LONG, "not a year"
    write_csv(folder / "people.csv", records)
    for command in (("check",), ("anonymise", "-o", folder / "out.csv")):
        told = kepsilon_command(command[0], folder / "people.csv", "-p", folder / "policy.toml", *command[1:])
        assert told.code == 2
        assert "length" in told.err
        assert 'column "zip"' in told.err
        assert 'column "year"' in told.err, "everything at once"
        assert LONG not in told.err
    shown = kepsilon_command("check", folder / "people.csv", "-p", folder / "policy.toml", "--show-values", "zip")
    assert shown.out.split() == ["1", LONG]


def test_h10_a_stated_length_pads_short_codes_and_leaves_long_ones_out(with_a_long_code, kepsilon_command):
    """With a length the release is the same whatever the longest code is."""
    folder = with_a_long_code
    change(folder, '{ type = "mask" }', '{ type = "mask", length = 7 }\nunlisted = "suppress"')
    told = kepsilon_command(
        "anonymise", folder / "people.csv", "-p", folder / "policy.toml", "-o", folder / "out.csv", "--json"
    )
    assert told.code == 0, told.err
    assert json.loads(told.out)["records"]["suppressed_unlisted"] == 1
    labels = {row[0] for row in cells(folder / "out.csv")[1:]}
    assert all(len(label) in (5, 7) for label in labels), "values as they are, or padded to the length"


def test_h10_a_mask_over_codes_of_one_length_needs_no_length(tmp_path, kepsilon_command):
    """The mirror: policies of 0.1 over such codes work as before."""
    write_csv(tmp_path / "people.csv", people())
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    assert kepsilon_command("check", tmp_path / "people.csv", "-p", tmp_path / "policy.toml").code == 0


FORMULAS = [
    "=1+1",
    "+cmd|' /C calc'!A0",
    "-2+3+cmd|' /C calc'!A0",
    "@SUM(1)",
    "\tx",
    "\rx",
    "\nx",
    " =1+1",
    '"=1+1',
    "\uff1d1+1",
    "\uff0bcmd",
    "\uff0dcmd",
    "\uff20SUM(1)",
    "\u00a0=1+1",
]
PLAIN = [
    "-5",
    "+5.2",
    "-1,234.5",
    "-1e-5",
    "+49 170 1234567",
    "plain",
    "",
    "-",
    "--",
    "a=b",
    "5-3",
    "x@y.z",
    " 5",
    "-5 %",
    "-.5",
]


def n_warned(tmp_path, kepsilon_command, column: pa.Array) -> int:
    """How many cells of a kept column `check` calls formulas."""
    names = pa.array(["a", "b"] * (len(column) // 2) + ["a"] * (len(column) % 2))
    # Twenty records more, so that every class has k records whatever the column holds.
    table = pa.table({"q": pa.concat_arrays([names, pa.array(["a"] * 10 + ["b"] * 10)])})
    table = table.append_column("note", pa.concat_arrays([column, pa.nulls(20, column.type)]))
    pq.write_table(table, tmp_path / "d.parquet")
    (tmp_path / "p.toml").write_text(
        'k = 2\nepsilon = 1\nalgorithm = "ola"\nmax_suppression = 0\n[attributes.q]\nrole = "k-quasi"\n'
        'hierarchy = { type = "suppress" }\n[attributes.note]\nrole = "sensitive"\n',
        encoding="utf-8",
    )
    told = kepsilon_command("check", tmp_path / "d.parquet", "-p", tmp_path / "p.toml")
    assert told.code == 0, told.err
    words = " ".join(told.out.split())
    before, found, _ = words.partition(" cells begin like a formula")
    return int(before.split()[-1]) if found else 0


@pytest.mark.parametrize("cell", FORMULAS, ids=[ascii(cell) for cell in FORMULAS])
def test_h10_every_way_a_formula_begins_is_warned_of(tmp_path, kepsilon_command, cell):
    """Each by itself, so that none hides behind another."""
    assert n_warned(tmp_path, kepsilon_command, pa.array([cell, "plain"])) == 1


def test_h10_numbers_and_text_are_no_formulas(tmp_path, kepsilon_command):
    """A warning that is always there is read by nobody."""
    assert n_warned(tmp_path, kepsilon_command, pa.array(PLAIN)) == 0


@pytest.mark.parametrize(
    "column",
    [
        pytest.param(pa.array(["=1", "x"], pa.large_string()), id="large text"),
        pytest.param(pa.array(["=1", "x"]).dictionary_encode(), id="categories"),
        pytest.param(pa.array([["x", "=1"], None]), id="list"),
        pytest.param(pa.array([{"a": "=1", "b": 2}, None]), id="struct"),
        pytest.param(pa.array([[("k", "=1")], []], pa.map_(pa.string(), pa.string())), id="map"),
        pytest.param(pa.array([[{"a": ["=1"]}], []]), id="nested"),
    ],
)
def test_h10_formulas_are_found_in_every_kind_of_kept_column(tmp_path, kepsilon_command, column):
    """In whatever type the text is kept."""
    assert n_warned(tmp_path, kepsilon_command, column) == 1


def test_h10_formulas_are_found_in_labels_and_column_names(tmp_path, kepsilon_command):
    """A k-quasi publishes values and labels of a hierarchy; a spreadsheet runs a header too."""
    data, policy = tmp_path / "d.csv", tmp_path / "p.toml"
    data.write_text("=q,+n\n" + "=A1,1\nb,2\n" * 20, encoding="utf-8")
    policy.write_text(
        'k = 2\nepsilon = 1\nalgorithm = "ola"\nmax_suppression = 0\n[attributes."=q"]\nrole = "k-quasi"\n'
        'hierarchy = { type = "suppress" }\n[attributes."+n"]\nrole = "sensitive"\n',
        encoding="utf-8",
    )
    told = kepsilon_command("check", data, "-p", policy)
    words = " ".join(told.out.split())
    assert 'column "=q": 1 of its labels begin like a formula' in words
    for name in ("=q", "+n"):
        assert f'column "{name}": its name begins like a formula' in words
    out = tmp_path / "out.csv"
    assert kepsilon_command("anonymise", data, "-p", policy, "-o", out).code == 0
    assert cells(out)[0] == ["=q", "+n"], "warned of, never altered"


NARROW = """
k = 10
epsilon = {epsilon}
algorithm = "ola"
max_suppression = 0
[attributes.q]
role = "k-quasi"
hierarchy = {{ type = "suppress" }}
[attributes.v]
role = "epsilon-quasi"
precision = 1
range = {range}
"""


def narrow(tmp_path, **settings):
    """Classes one unit of precision wide, and one that is wide."""
    data, policy = tmp_path / "d.csv", tmp_path / "p.toml"
    lines = [f"q{i % 4},{(i // 4) % 2 if i % 4 else i}" for i in range(400)]
    data.write_text("\n".join(["q,v", *lines]) + "\n", encoding="utf-8")
    policy.write_text(NARROW.format(**{"epsilon": 8, "range": '"class"', **settings}), encoding="utf-8")
    return data, policy


def test_h10_noise_smaller_than_the_precision_is_warned_of(tmp_path, kepsilon_command):
    """Three of four classes publish exact values 98 times in 100, as a release shows, and `check` says so."""
    data, policy = narrow(tmp_path)
    told = kepsilon_command("check", data, "-p", policy)
    assert told.code == 0, told.err
    words = " ".join(told.out.split())
    assert "in 3 of 4 classes the noise of v is small beside its precision, 1" in words
    assert re.search(r"\(300 records; in the worst class 98\.?\d* % of the values\)", words)
    release = ke.anonymise(data, ke.Policy.from_file(policy), unsafe_seed=1)
    release.write(tmp_path / "out.csv", linkage=tmp_path / "linkage.csv")
    rows = np.loadtxt(tmp_path / "linkage.csv", delimiter=",", skiprows=1, usecols=(0, 1), dtype=np.int64)
    after, before = cells(tmp_path / "out.csv")[1:], cells(data)[1:]
    same = [float(before[row][1]) == float(after[place][1]) for row, place in rows.tolist() if after[place][0] != "q0"]
    assert abs(np.mean(same) - 0.98) < 5 * np.sqrt(0.98 * 0.02 / len(same))


@pytest.mark.parametrize(
    "settings",
    [{"epsilon": 0.5}, {"range": "{ coarse = 20 }"}, {"range": "[0, 400]"}],
    ids=["small ε", "coarse", "declared"],
)
def test_h10_enough_noise_is_not_warned_of(tmp_path, kepsilon_command, settings):
    """The cures that the warning names."""
    data, policy = narrow(tmp_path, **settings)
    told = kepsilon_command("check", data, "-p", policy)
    assert told.code == 0
    assert "small beside its precision" not in " ".join(told.out.split())


@pytest.mark.parametrize("extra", [(), ("--json",)], ids=["screen", "json"])
def test_h10_overwriting_says_that_an_earlier_draw_may_be_out(tmp_path, kepsilon_command, extra):
    """On stderr, once, and only if something is replaced."""
    write_csv(tmp_path / "people.csv", people())
    (tmp_path / "policy.toml").write_text(WITHOUT_NOTES, encoding="utf-8")
    command = ("anonymise", tmp_path / "people.csv", "-p", tmp_path / "policy.toml", "-o", tmp_path / "out.csv")
    first = kepsilon_command(*command, "--overwrite", *extra)
    assert first.code == 0
    assert first.err == ""
    second = kepsilon_command(*command, "--overwrite", *extra)
    assert second.code == 0
    assert second.err.count("note:") == 1
    words = " ".join(second.err.split())
    assert "an earlier release is there" in words
    assert "average" in words
    if extra:
        json.loads(second.out)


def test_h10_overwriting_in_python_warns_of_another_draw_only(tmp_path):
    """To write the same draw again is harmless; to write another one is not."""
    rows = people()
    write_csv(tmp_path / "people.csv", rows)
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    policy = ke.Policy.from_file(tmp_path / "policy.toml")
    release = ke.anonymise(tmp_path / "people.csv", policy)
    release.write(tmp_path / "out.csv")
    release.write(tmp_path / "out.csv", overwrite=True)
    with pytest.warns(UserWarning, match="average the noise of both"):
        ke.anonymise(tmp_path / "people.csv", policy).write(tmp_path / "out.csv", overwrite=True)


def test_h10_overwriting_speaks_of_noise_only_where_something_is_drawn(tmp_path, kepsilon_command):
    """Without an ε-quasi there is nothing to average; two releases still tell more than one."""
    write_csv(tmp_path / "people.csv", people())
    policy = {
        "k": 3,
        "algorithm": "ola",
        "max_suppression": 0,
        "attributes": {name: {"role": "identifier"} for name in people()[0]}
        | {"zip": {"role": "k-quasi", "hierarchy": {"type": "suppress"}}},
        "records_are_persons": True,
    }
    release = ke.anonymise(tmp_path / "people.csv", ke.Policy.from_dict(policy))
    release.write(tmp_path / "out.csv")
    with pytest.warns(UserWarning, match="side by side") as told:
        ke.anonymise(tmp_path / "people.csv", ke.Policy.from_dict(policy | {"k": 4})).write(
            tmp_path / "out.csv", overwrite=True
        )
    assert "noise" not in str(told[0].message)
    assert "noise" in str(ke.earlier_draw(tmp_path / "out.csv"))


def test_h10_the_promise_says_that_choosing_on_the_data_is_a_choice_made_on_the_data():
    """With the commands that people choose by, the attacker who learns from the choice, and what to do about it."""
    page = (Path(__file__).parents[2] / "docs" / "explanation" / "promise.md").read_text(encoding="utf-8")
    said = " ".join(page.partition("**Choosing on the data.**")[2].partition("\n- **")[0].split())
    for words in (
        "`explore`",
        "makes a choice that depends on the data",
        "An attacker who knows",
        "choose on other data",
    ):
        assert words in said
