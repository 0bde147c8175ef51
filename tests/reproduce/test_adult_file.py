# SPDX-License-Identifier: Apache-2.0
"""Adult as UCI ships it, with and without header, and what is said of a file that is not Adult."""

from __future__ import annotations

import numpy as np
import pytest

import kepsilon
from kepsilon.reproduce.data import data_sets
from kepsilon.reproduce.data.adult_file import COLUMNS, read_adult
from oracles.noise import SEED

PEOPLE = [
    ("39", "Never-married", "White", "Male"),
    ("17", "Never-married", "Black", "Female"),
    ("79", "Widowed", "White", "Female"),
    ("80", "Married-civ-spouse", "White", "Male"),
    ("90", "Widowed", "Other", "Female"),
    ("28", "Married-AF-spouse", "Black", "Female"),
    ("37", "Married-spouse-absent", "Asian-Pac-Islander", "Female"),
    ("49", "Divorced", "Amer-Indian-Eskimo", "Male"),
    ("52", "Separated", "White", "Male"),
    ("31", "Never-married", "White", "Female"),
]
CANARY = "Zanzibarian"


def line(age, marital, race, sex):
    return [age, "?", "77516", "HS-grad", "9", marital, "?", "Husband", race, sex, "0", "0", "40", "?", "<=50K"]


def raw(people=PEOPLE, separator=", "):
    return "".join(separator.join(line(*person)) + "\n" for person in people) + "\n\n"


def with_header(names=COLUMNS):
    return ",".join(names) + "\n" + raw(separator=",")


def refusal(folder):
    with pytest.raises(kepsilon.DataError) as caught:
        data_sets.adult(folder, seed=SEED)
    assert caught.value.exit_code == 2
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("adult.data", raw()),
        ("adult.data.csv", with_header()),
        ("adult.csv", "\ufeff" + with_header([name.upper().replace("-", "_") for name in COLUMNS])),
        ("adult.data", raw().replace("\n", "\r\n")),
    ],
    ids=["as UCI ships it", "with a header", "with another header", "Windows line ends"],
)
def test_every_form_gives_the_same_records(tmp_path, name, text):
    """Those under 80, in their order, born in 1994 less their age."""
    (tmp_path / name).write_bytes(text.encode())
    for place in (tmp_path, tmp_path / name):
        adult = data_sets.adult(place, seed=SEED)
        kept = [person for person in PEOPLE if int(person[0]) < 80]
        assert adult.n_records == len(kept) == 8
        assert adult.columns["birth_year"].tolist() == [1994 - int(age) for age, *_ in kept]
        for i, column in enumerate(("marital_status", "race", "gender"), start=1):
            assert adult.columns[column].tolist() == [person[i] for person in kept]
        assert "8 records (the paper has 32,440)" in adult.note
        assert not adult.is_stand_in


def test_columns_are_found_by_name_wherever_they_stand(tmp_path):
    """A header decides, not the order."""
    (tmp_path / "adult.csv").write_text("sex,race,extra,marital-status,age\nMale,White,,Divorced,40\n")
    assert read_adult(tmp_path) == {"age": ["40"], "marital-status": ["Divorced"], "race": ["White"], "sex": ["Male"]}


def test_an_absent_file_is_asked_for_with_its_source(tmp_path):
    """What to get and how to name its folder."""
    assert "holds none of adult.data.csv, adult.data, adult.csv." in refusal(tmp_path)
    message = refusal(tmp_path / "nowhere")
    assert "is not there." in message
    assert "KEPSILON_DATA" in message
    assert "UCI" in message


def test_broken_lines_are_told_by_number_and_never_by_value(tmp_path):
    """All kinds at once, each with its count and its first line."""
    broken = [
        ", ".join(line("41", "Divorced", CANARY, "Male")),
        ", ".join(line("41", "Divorced", "White", CANARY)),
        ", ".join(line("41", CANARY, "White", "Male")),
        ", ".join(line(CANARY, "Divorced", "White", "Male")),
        ", ".join(line("-4", "?", "White", "Male")),
        f"41, {CANARY}",
        f"{CANARY}, 41",
    ]
    (tmp_path / "adult.data").write_text(raw().rstrip() + "\n" + "\n".join(broken) + "\n")
    message = refusal(tmp_path)
    assert CANARY not in message
    assert "2 lines, the first of them line 16, do not have 15 cells." in message
    for column, number in {"race": "1 line, the first of them line 11, does", "sex": "1 line, the first of them line 12,",
                           "marital-status": "2 lines, the first of them line 13, do", "age": "2 lines, the first of them line 14,"}.items():  # fmt: skip
        assert f'column "{column}": {number}' in message


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "is empty."),
        (b"\n\n \n", "is empty."),
        (b"\xff\xfe4\x001\x00", "is not text separated by commas."),
        (f"{CANARY},race,sex\n1,2,3\n".encode(), "it lacks age, marital-status."),
        # Refused as no CSV or as another table, as the process's limit on the length of a cell has it.
        (f'"39, {CANARY}\n'.encode() + b"c" * 200_000, "UCI"),
    ],
    ids=["empty", "blank", "UTF-16", "another table", "an open quote"],
)
def test_other_files_are_refused(tmp_path, content, what):
    """And nothing of them is shown."""
    (tmp_path / "adult.data").write_bytes(content)
    message = refusal(tmp_path)
    assert what in message
    assert CANARY not in message


def test_a_file_without_anybody_under_80_is_refused(tmp_path):
    """There would be nothing to anonymise."""
    (tmp_path / "adult.data").write_text(raw([person for person in PEOPLE if int(person[0]) >= 80]))
    assert "nobody under 80" in refusal(tmp_path)


def test_heights_and_identifiers_are_the_same_for_the_same_seed(tmp_path):
    """And others for another."""
    (tmp_path / "adult.data").write_text(raw())
    once, again, other = (data_sets.adult(tmp_path, seed=seed).columns for seed in (1, 1, 2))
    for name in ("height", "patient_id", "name", "email"):
        np.testing.assert_array_equal(once[name], again[name])
        assert once[name].tolist() != other[name].tolist()
