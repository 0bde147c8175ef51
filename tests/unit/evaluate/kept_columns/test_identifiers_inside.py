# SPDX-License-Identifier: Apache-2.0
"""Identifier values inside kept columns: whole words of the same record, and more of them than chance would put there."""

from __future__ import annotations

import numpy as np
import pytest

from kepsilon.evaluate.kept_columns import identifiers_inside
from kepsilon.evaluate.kept_columns.identifiers_inside import Identifiers
from kepsilon.table.whole_columns import text_column
from material.whole_columns import whole_column

RNG = np.random.default_rng(17)
N = 600
SURNAMES = [
    f"{head}{tail}" for head in ("Mai", "Wei", "Roth", "Stein", "Gold") for tail in ("er", "mann", "bach", "feld")
]
FIRST = RNG.choice(["Anna", "Bert", "Cleo", "Eva"], N)
SURNAME = RNG.choice(SURNAMES, N)
NAMES = [f"{first} {last}" for first, last in zip(FIRST, SURNAME, strict=True)]
NUMBERS = RNG.permutation(N) + 40_000
SENTENCE = "came with a cough and left without"


def share(kept, **identifiers):
    identifiers = identifiers or {"name": NAMES, "number": NUMBERS.tolist()}
    found = Identifiers({name: whole_column(own) for name, own in identifiers.items()}, n_records=N)
    return found.share_inside(whole_column(kept))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(lambda i: f"Frau {SURNAME[i]} {SENTENCE}", id="surname"),
        pytest.param(lambda i: f"{SENTENCE}, FRAU {SURNAME[i].upper()}.", id="capitals"),
        pytest.param(lambda i: NAMES[i], id="a copy"),
        pytest.param(lambda i: f"see file {NUMBERS[i]}", id="number in a text"),
        pytest.param(lambda i: f"see file 00{NUMBERS[i]}", id="number with zeros"),
        pytest.param(lambda i: f"see MRN{NUMBERS[i]}", id="number after letters"),
        pytest.param(lambda i: f"{NAMES[i].replace(' ', '_').lower()}@home.example", id="name with a low line"),
        pytest.param(lambda i: int(NUMBERS[i]), id="a copy of a number"),
        pytest.param(lambda i: f"{FIRST[i]}!", id="a first name of three or four letters"),
    ],
)
def test_a_value_or_a_word_of_it_is_found(text):
    """In every record that holds its own; half of them here."""
    kept = [text(i) if i % 2 else None for i in range(N)]
    assert share(kept) == 1.0
    if not isinstance(text(1), int):
        assert share([text(i) if i % 2 else SENTENCE for i in range(N)]) == 0.5


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(lambda i: SENTENCE, id="nothing"),
        pytest.param(lambda i: f"moved to {SURNAME[i]}haus", id="part of a longer word"),
        pytest.param(lambda i: f"seen by Dr {RNG.choice(SURNAMES)}", id="names of others"),
        pytest.param(lambda i: f"{FIRST[i][:2]} {str(NUMBERS[i])[:3]}", id="too short to tell"),
        pytest.param(lambda i: float(RNG.integers(40_000, 41_000)), id="numbers of others"),
        pytest.param(lambda i: f"{SURNAME[i]} {SENTENCE}" if i < 2 else SENTENCE, id="two records"),
    ],
)
def test_what_is_nobodys_own_is_not_found(text):
    """Nor what shuffled texts would hold as well."""
    assert share([text(i) for i in range(N)]) == 0.0


def test_three_records_are_enough():
    """A handful of names among hundreds of notes is a handful of people."""
    kept = [f"{NUMBERS[i]} {SENTENCE}" if i < 3 else SENTENCE for i in range(N)]
    assert share(kept) == pytest.approx(3 / N)


def test_words_that_all_identifiers_share_are_not_found():
    """Every e-mail address ends alike."""
    addresses = [f"p{number}@example.org" for number in NUMBERS]
    assert share(["write to info@example.org"] * N, mail=addresses) == 0.0
    assert share([f"mail: {own}" for own in addresses], mail=addresses) == 1.0


def test_without_identifiers_or_values_nothing_is_found():
    """Empty columns, and umlauts written in two ways."""
    assert Identifiers({}, n_records=N).share_inside(whole_column(NAMES)) == 0.0
    assert share([None] * N) == 0.0
    assert share(NAMES, name=[None] * N) == 0.0
    assert share(["Herr Mu\u0308ller kam"] * 5 + [SENTENCE] * (N - 5), name=["Müller"] * 5 + ["Weiss"] * (N - 5)) > 0


def test_names_are_found_in_texts_that_are_last_in_the_alphabet(monkeypatch):
    """Where texts are too long to read them all, those that are read come from everywhere."""
    monkeypatch.setattr(identifiers_inside, "MOST_CHARACTERS", 10_000)
    kept = [f"Patient {NAMES[i]} {SENTENCE}" if i % 3 == 0 else f"Case {i} {SENTENCE}" for i in range(N)]
    assert sum(map(len, kept)) > 20_000
    assert share(kept) == pytest.approx(1 / 3, abs=0.1)


def read(texts):
    """Texts as of a CSV file, in which those that look like numbers are numbers."""
    return text_column(texts, np.arange(len(texts)))


def test_names_are_found_among_numbers():
    """A column of which nearly all texts are numbers is numbers, and yet some of its texts may name people."""
    column = read([f"call {NAMES[i]}" if i % 30 == 0 else str(i % 7) for i in range(N)])
    assert column.numbers is not None
    assert Identifiers({"name": whole_column(NAMES)}, n_records=N).share_inside(column) == pytest.approx(1 / 30)


def test_numbers_that_are_short_without_their_zeros_are_found():
    """P-00123 and 00123 are codes of five digits, not the number 123."""
    codes = [f"{number - 40_000:05d}" for number in NUMBERS.tolist()]
    with_letter = [f"P-{code}" for code in codes]
    for identifier in (codes, with_letter):
        found = Identifiers({"number": read(identifier)}, n_records=N)
        for kept in (codes, with_letter, [f"see {code} there" for code in with_letter]):
            assert found.share_inside(read(kept)) == 1.0
