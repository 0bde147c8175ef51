# SPDX-License-Identifier: Apache-2.0
"""`init` proposes local recoding with its reason, and at most as many k-quasis as make sense; the rest is explained."""

from __future__ import annotations

import math
import re
import tomllib

import numpy as np
import pyarrow as pa
import pytest

import kepsilon as ke
from kepsilon.propose.enough_k_quasis import ALWAYS, GUESSED_TIMES, TYPICAL_K

N = 400
KEPT_BITS = math.log2(N / TYPICAL_K)


def column(n_values, seed=0):
    """Categories of equal frequency, unrelated to those of other seeds."""
    return [f"v{i}" for i in np.random.default_rng(seed).permutation(np.arange(N) % n_values)]


def decided(text, *, keys=("k", "epsilon")):
    return tomllib.loads(re.sub(rf"^# (?=({'|'.join(keys)}) = )", "", text, flags=re.MULTILINE))


def roles(text):
    return {name: own["role"] for name, own in tomllib.loads(text)["attributes"].items()}


def test_local_recoding_is_proposed_with_its_reason_and_ola_where_it_is_right():
    """A curator who knows no algorithm reads which is proposed, why, and when the other is the right one."""
    text = ke.propose_policy(pa.table({"sex": column(2)}))
    assert tomllib.loads(text)["algorithm"] == "local-recoding"
    assert "so it loses least, and leaves nobody out" in text
    words = re.sub(r"\n# ", " ", text)
    assert 'Choose "ola" instead where one level for everybody is wanted' in words
    assert "tables of several files or years can be compared label by label" in words


def test_ola_can_be_chosen_by_changing_two_lines():
    """Every k-quasi has the hierarchy that OLA needs, and its limit stands there to be taken."""
    table = pa.table(
        {"sex": column(2), "age": [20 + i % 60 for i in range(N)], "zip": [f"{i % 90:05}" for i in range(N)]}
    )
    document = decided(ke.propose_policy(table), keys=("k", "epsilon", "max_suppression"))
    assert document["max_suppression"] == 0.05
    ke.check(table, ke.Policy.from_dict({**document, "algorithm": "ola"}))


@pytest.mark.parametrize("n_columns", [1, ALWAYS])
def test_few_k_quasis_all_stay(n_columns):
    """Six columns stay k-quasis however many values they have: nobody should wonder where a column went."""
    text = ke.propose_policy(pa.table({f"c{j}": column(40, j) for j in range(n_columns)}))
    assert set(roles(text).values()) == {"k-quasi"}
    assert "unlisted_columns" not in text
    assert "bits of detail" not in text


def test_many_columns_of_little_detail_all_stay():
    """What counts is how much the columns hold together, not how many there are."""
    n = int(GUESSED_TIMES * KEPT_BITS)
    text = ke.propose_policy(pa.table({f"c{j}": column(2, j) for j in range(n)}))
    assert len(roles(text)) == n
    assert "bits of detail" not in text


def test_of_too_many_the_rest_is_left_out_and_explained():
    """Not published as they are, which would give people away, and not dropped without a word."""
    columns = {f"c{j}": column(8, j) for j in range(12)}
    text = ke.propose_policy(pa.table(columns))
    staying = roles(text)
    assert len(staying) == max(ALWAYS, int(GUESSED_TIMES * KEPT_BITS / 3))
    assert set(staying.values()) == {"k-quasi"}
    left_out = sorted(set(columns) - set(staying))
    words = re.sub(r"\n# ", " ", text)
    assert "ATTENTION: 12 columns look like k-quasis, and hold 36 bits of detail about a record together." in words
    assert f"{N} records in classes of at least {TYPICAL_K} can keep {KEPT_BITS:.0f} bits" in words
    assert 'unlisted_columns = "drop"' in text
    for name in left_out:
        assert f'"{name}"' in words
        assert f"# [attributes.{name}]" in text
    policy = ke.Policy.from_dict(decided(text))
    release = ke.anonymise(pa.table(columns), policy, unsafe_seed=1)
    assert set(release.frame.column_names) == set(staying)


def test_a_column_that_was_left_out_comes_back_without_its_number_signs():
    """As its comment says."""
    text = ke.propose_policy(pa.table({f"c{j}": column(8, j) for j in range(12)}))
    name = re.search(r"^# \[attributes\.(c\d+)\]", text, flags=re.MULTILINE).group(1)
    start = text.index(f"# [attributes.{name}]")
    end = text.index("\n\n", start) if "\n\n" in text[start:] else len(text)
    lines = [
        line
        for line in text[start:end].splitlines()
        if line.startswith(("# [", "# role", '# hierarchy = { type = "suppress"'))
    ]
    back = text[:start] + "\n".join(line[2:] for line in lines) + text[end:]
    assert tomllib.loads(back)["attributes"][name] == {"role": "k-quasi", "hierarchy": {"type": "suppress"}}


def test_what_others_know_stays_before_what_is_only_guessed():
    """Columns whose names say what they are come first, then those of less detail."""
    columns = {f"c{j}": column(8, j) for j in range(10)} | {
        "sex": column(2),
        "race": column(5),
        "zip": [f"{i % 90:05}" for i in range(N)],
    }
    staying = roles(ke.propose_policy(pa.table(columns)))
    assert {"sex", "race", "zip"} <= set(staying)
    assert len(staying) < len(columns)


@pytest.mark.parametrize(("n_columns", "role"), [(1, "epsilon-quasi"), (4, "k-quasi"), (17, None)])
def test_numbers_are_epsilon_quasis_while_classes_are_large(n_columns, role):
    """In small classes noise and averages say no more than the class does, so intervals are better; beyond the room, nothing."""
    columns = {f"region_{j}": column(2, j) if n_columns == 1 else column(8, j) for j in range(n_columns)}
    numbers = np.random.default_rng(3).integers(0, 99, N).tolist()
    text = ke.propose_policy(pa.table({**columns, "amplitude": numbers}))
    attribute = tomllib.loads(text)["attributes"].get("amplitude", {})
    assert attribute.get("role") == role
    if role == "epsilon-quasi":
        assert {"precision", "range", "domain"} <= set(attribute)
        assert "# epsilon = 2.0" in text
    else:
        assert "# epsilon = " not in text
        assert "noise or averages would tell little more" in re.sub(r"\n# ", " ", text)
    ke.Policy.from_dict(decided(text))


def test_age_stays_whatever_else_there_is():
    """Everybody knows it, and every analyst asks for it."""
    columns = {f"region_{j}": column(8, 20 + j) for j in range(12)}
    ages = np.random.default_rng(3).integers(0, 99, N).tolist()
    assert roles(ke.propose_policy(pa.table({**columns, "age": ages})))["age"] == "k-quasi"


def test_no_quasi_is_ever_proposed_to_be_kept():
    """Whatever the number of columns: what looks like a quasi is generalised, gets noise, or is not published."""
    for n in (3, 9, 15):
        columns = {f"c{j}": column(8, j) for j in range(n)}
        assert not {"sensitive", "insensitive"} & set(roles(ke.propose_policy(pa.table(columns))).values())


def test_no_value_of_a_record_is_in_the_explanation():
    """Only counts and names of columns."""
    columns = {f"c{j}": [f"CANARY{v}" for v in column(30, j)] for j in range(12)}
    assert "CANARY" not in ke.propose_policy(pa.table(columns))


@pytest.mark.parametrize("high", [3, 9, 17, 40, 99, 350, 12_345])
@pytest.mark.parametrize("scale", [1, 0.1, 0.01])
def test_bounds_of_intervals_and_steps_are_round(high, scale):
    """1, 2, 4 or 5 times a power of ten for intervals, which nest, and 1, 2 or 5 for the step that labels begin and end on."""
    values = [round(i * scale, 4) for i in np.linspace(0, high, 25).round().astype(int).tolist()] * 16
    attribute = tomllib.loads(ke.propose_policy(pa.table({"level": values})))["attributes"]["level"]
    leading = [f"{width:e}"[:8] for width in attribute["hierarchy"]["widths"]]
    assert {digit.rstrip("0").rstrip(".") for digit in leading} <= {"1", "2", "4", "5", "8"}
    assert f"{attribute['step']:e}".rstrip("0").split("e")[0].rstrip("0").rstrip(".") in {"1", "2", "5"}
    assert attribute["step"] >= attribute["hierarchy"]["widths"][0]
