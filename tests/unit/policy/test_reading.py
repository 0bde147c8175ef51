# SPDX-License-Identifier: Apache-2.0
"""One rule says which cells of a quasi mean missing and which texts are numbers; a policy states it, a manifest does not."""

from __future__ import annotations

import json
import pickle
import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import kepsilon as ke
from kepsilon.engines.arrow.coding import is_number_or_missing, read_doubles
from kepsilon.policy.numbers import parse_double
from kepsilon.policy.reading import PLAIN, Reading, read_values

TOP = {"k": 2, "epsilon": 2, "algorithm": "ola", "max_suppression": 0}
SEX = {"role": "k-quasi", "hierarchy": {"type": "suppress"}}
SIZE = {"role": "epsilon-quasi", "precision": 1, "range": "class"}


def policy(*, sex: Any = None, size: Any = None, kept: Any = None, **top: Any) -> ke.Policy:
    attributes = {
        "sex": {**SEX, **(sex or {})},
        "size": {**SIZE, **(size or {})},
        "kept": {"role": "sensitive", **(kept or {})},
    }
    return ke.Policy.from_dict({**TOP, **top, "attributes": attributes})


def by_hand(text: str, codes: list[str], sign: str) -> float | str | None:
    """A cell of an ε-quasi as the documentation says: a number, None where it is missing, "wrong" where it is text."""
    bare = text.strip()
    if not bare or bare in [code.strip() for code in codes]:
        return None
    if sign == ",":
        bare = "wrong" if "." in bare else bare.replace(",", ".")
    number = parse_double(bare)
    if number is None:
        return "wrong"
    listed = [parse_double(code if sign == "." else code.replace(".", "x").replace(",", ".")) for code in codes]
    return None if number in [own for own in listed if own is not None] else number


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("sign", [".", ","])
def test_text_is_read_as_the_documentation_says(sign, seed):
    """Random texts of what numbers and codes are made of: Arrow's way and Python's way agree with reading by hand."""
    rng = random.Random(f"{seed} {sign}")

    def any_text() -> str:
        return "".join(rng.choices(["9", "99", "1", ".", ",", "-", "?", " ", "e", "NA", "0"], k=rng.randint(0, 4)))

    codes = [any_text() for _ in range(rng.randint(0, 4))]
    reading = Reading(missing_values=tuple(codes), decimal=sign)
    texts = dict.fromkeys([any_text() for _ in range(300)] + codes + [f" {code} " for code in codes])
    expected = {text: by_hand(text, codes, sign) for text in texts}
    for text in texts:
        assert is_number_or_missing(text, reading, is_typed=False) is (expected[text] != "wrong")
    # One column of all that can be read, and one of all that cannot: none of them may be taken for a number.
    numbers = {text: own for text, own in expected.items() if own != "wrong"}
    values, wrong = read_doubles(pa.chunked_array([list(numbers)], pa.string()), "a", "b", reading)
    assert not wrong.n_texts
    assert np.array_equal(values, [np.nan if own is None else own for own in numbers.values()], equal_nan=True)
    no_numbers = [text for text, own in expected.items() if own == "wrong"]
    _, wrong = read_doubles(pa.chunked_array([no_numbers], pa.string()), "a", "b", reading)
    assert wrong.n_texts == len(no_numbers)


def test_a_plain_reading_changes_nothing():
    """Without the settings, values are what they were; the empty text alone counts as null."""
    values = ["?", " ", "1,5", "1.5", "99", None, "nan"]
    for typed in (False, True):
        assert read_values(values, PLAIN, is_typed=typed, wants_numbers=True) == (values, [False] * 7)
    assert read_values(["", "a"], PLAIN, is_typed=False, wants_numbers=False)[0] == [None, "a"]


@pytest.mark.parametrize(
    ("is_typed", "wants_numbers", "expected"),
    [
        pytest.param(False, False, ["099", None, "99,0", "1,5", "1.5", None], id="text, as it is written"),
        pytest.param(False, True, [None, None, None, "1.5", "1.5", None], id="text that is read as numbers"),
        pytest.param(True, False, [None, None, "99,0", "1,5", "1.5", None], id="a column of numbers"),
    ],
)
def test_numbers_are_compared_as_numbers_and_text_as_text(is_typed, wants_numbers, expected):
    """The text 099 may be a code of its own; the number 099 is 99."""
    reading = Reading(missing_values=("99", "?"), decimal=",")
    values = ["099", " 99 ", "99,0", "1,5", "1.5", "?"]
    read, is_wrong = read_values(values, reading, is_typed=is_typed, wants_numbers=wants_numbers)
    assert read == expected
    assert is_wrong == [False, False, False, False, wants_numbers, False]


def test_a_reading_travels():
    """Workers of a cluster are sent it."""
    reading = Reading(missing_values=("?", "99"), decimal=",")
    again = pickle.loads(pickle.dumps(reading))
    assert (again, again.texts, again.numbers) == (reading, reading.texts, reading.numbers)


def test_the_list_of_an_attribute_stands_instead_of_the_list_of_all():
    """Not beside it: an attribute for which "?" is a value could not say so otherwise."""
    own = policy(missing_values=["?"], size={"missing_values": ["99"]}, decimal=",").readings
    assert own["sex"] == Reading(missing_values=("?",), decimal=",")
    assert own["size"] == Reading(missing_values=("99",), decimal=",")
    assert "kept" not in own
    assert policy().readings["sex"] == PLAIN


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        pytest.param({"missing_values": [99]}, 'missing_values: should be a list of texts in quotes, such as ["?", "99"]'),
        pytest.param({"missing_values": "?"}, "missing_values: should be a list of texts in quotes"),
        pytest.param({"size": {"missing_values": [True]}}, "attributes.size.missing_values: should be a list of texts"),
        pytest.param({"kept": {"missing_values": ["?"]}}, "attributes.kept.missing_values: is for k-quasis and epsilon-quasis only"),
        pytest.param({"decimal": ";"}, "decimal: should be '.' or ','"),
        pytest.param({"size": {"decimal": ","}}, "attributes.size.decimal: is a key of the whole policy"),
    ],
)  # fmt: skip
def test_what_is_no_list_of_texts_is_refused(changes, said):
    """In words that say what to write."""
    with pytest.raises(ke.PolicyError) as caught:
        policy(**changes)
    assert said in str(caught.value)


def test_the_public_policy_has_neither():
    """Lists of values stay with the curator, and a release has decimal points whatever its input had."""
    chosen = policy(missing_values=["?"], size={"missing_values": ["99"]}, decimal=",")
    table = pa.table({"sex": ["F", "?"] * 9, "size": ["1,0", "99"] * 9, "kept": ["?"] * 18})
    release = ke.anonymise(table, chosen)
    public = json.dumps(release.manifest["policy"], default=dict)
    assert "missing_values" not in public
    assert "decimal" not in public
    assert release.record["policy"]["missing_values"] == ["?"]
    assert release.record["policy"]["decimal"] == ","


def test_a_decimal_comma_is_noted_once():
    """Who opens the release in a spreadsheet that expects commas should know beforehand that it has points."""
    table = pa.table({"sex": ["F", "M"] * 9, "size": ["1,0", "2"] * 9, "kept": ["1,5"] * 18})
    notes = [note for note in ke.check(table, policy(decimal=",")).warnings if note.where == "decimal"]
    assert len(notes) == 1
    assert "The release has decimal points" in notes[0].what


def test_a_date_that_is_listed_stands_for_its_midnight():
    """The codebook says 1900-01-01; a column of moments writes 1900-01-01 00:00:00.000."""
    reading = Reading(missing_values=("1900-01-01", "9999-12-31 23:59:59"))
    for text in (
        "1900-01-01",
        "1900-01-01 00:00",
        "1900-01-01T00:00:00",
        "1900-01-01 00:00:00.000",
        "9999-12-31 23:59:59.0",
    ):
        assert reading.means_missing(text)
    for text in ("1900-01-02", "1900-01-01 00:00:01", "1900-01-01 00:00:00.001", "9999-12-31", "1900-01-01Z"):
        assert not reading.means_missing(text)


def test_numbers_with_commas_need_a_step_as_other_numbers_do():
    """Without hierarchy and step their labels would show values of single records, whatever the decimal sign."""
    chosen = policy(algorithm="mondrian", sex={"hierarchy": None}, decimal=",", missing_values=["?"])
    numbers = {"sex": ["1,5", "2,5", "?"] * 6, "size": ["1"] * 18, "kept": ["x"] * 18}
    with pytest.raises(ke.DataError, match="has neither a step nor a hierarchy"):
        ke.check(pa.table(numbers), chosen)
    ke.check(pa.table({**numbers, "sex": ["1.5", "2.5", "?"] * 6}), chosen)
