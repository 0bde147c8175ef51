# SPDX-License-Identifier: Apache-2.0
"""The page on refusals has a row for every refusal, found by words that the message really says, and its exit code."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest

import kepsilon
from material.machine import ROOT

PAGE = (ROOT / "docs" / "how-to" / "refused.md").read_text(encoding="utf-8")
N = 600


@pytest.fixture(autouse=True)
def refused_where_useless(refuses_useless):
    """As they are for whoever types a command."""


def rows() -> dict[str, int]:
    """The words in italics that a row is found by, and the exit code of its table."""
    refusals, others = PAGE.partition("## See it happen")[0].split("A message with exit code 2")
    return {
        words: code
        for text, code in ((refusals, 3), (others, 2))
        for row in re.findall(r"^\| (.*?) \|", text, flags=re.MULTILINE)
        for words in re.findall(r"\*(.+?)\*", row)
    }


def patients(n=N, **columns):
    return pa.table({**kepsilon.made_up_patients(n), **columns})


def policy(*, confidence=None, attributes=None, **settings):
    document = {
        "k": 10,
        "algorithm": "ola",
        "max_suppression": 0.0,
        "unlisted_columns": "drop",
        **settings,
        "attributes": {
            "zip_code": {"role": "k-quasi", "hierarchy": {"type": "mask", "length": 5}, "accept_useless": "a test"},
            "gender": {"role": "k-quasi", "hierarchy": {"type": "suppress"}, "accept_useless": "a test"},
            **(attributes or {}),
        },
    }
    if confidence is not None:
        document["confidence"] = confidence
    return kepsilon.Policy.from_dict(document)


def weight(**settings):
    return {"weight": {"role": "epsilon-quasi", "precision": 0.1, "range": {"coarse": 5}, "accept_useless": "a test", **settings}}  # fmt: skip


def no_level():
    return {"zip_code": {"role": "k-quasi", "hierarchy": {"type": "mask", "length": 5}, "max_level": 0}}


def of_persons(**settings):
    table = patients(patient=[str(i % 200) for i in range(N)])
    return table, {"attributes": {"patient": {"role": "identifier"}, **settings.pop("attributes", {})}, **settings}


def body_mass_index():
    table = patients(2_000)
    index = [
        round(w / (h / 100) ** 2, 2)
        for w, h in zip(table["weight"].to_pylist(), table["height"].to_pylist(), strict=True)
    ]
    return table.append_column("bmi", [index])


def asked(name):
    """A table and the settings of a policy that it cannot have."""
    if name == "one person's":
        return of_persons()
    if name == "one draw":
        wide = {"role": "epsilon-quasi", "precision": 0.1, "range": [30, 200], "accept_useless": "a test"}
        return of_persons(person="patient", epsilon=2, epsilon_per="person", attributes={"weight": wide})
    if name == "leak":
        height = weight()["weight"]
        return body_mass_index(), {
            "epsilon": 16,
            "attributes": {**weight(), "height": height, "bmi": {"role": "sensitive"}},
        }
    if name == "missing":
        table = patients()
        known = [None if i % 5 == 0 else v for i, v in enumerate(table["weight"].to_pylist())]
        table = table.set_column(table.column_names.index("weight"), "weight", [known])
        return table, {"epsilon": 16, "max_total_suppression": 0.1, "attributes": weight()}
    settings = {
        "k": {"attributes": no_level()},
        "l-diversity": {"attributes": {"diagnosis": {"role": "sensitive", "l_diversity": {"distinct": 300}}}},
        "local": {"attributes": no_level(), "algorithm": "local-recoding"},
        "nobody": {"attributes": no_level(), "max_suppression": 1.0, "k": 500},
        "useless": {"epsilon": 1, "attributes": weight(accept_useless=None)},
        "risk": {"epsilon": 16, "max_risk": 0.001, "attributes": weight()},
        "single": {"epsilon": 16, "max_individual_risk": 0.2, "attributes": weight()},
        "few": {"k": N + 1},
    }
    return patients(), settings[name]


CASES = {
    "k": "cannot be met",
    "l-diversity": "cannot be met",
    "local": "cannot be met",
    "nobody": "would leave out every record",
    "one person's": "some persons have several records",
    "leak": "gives people away",
    "useless": "would be useless",
    "risk": "above max_risk",
    "single": "above max_individual_risk",
    "missing": "above max_total_suppression",
    "few": "records are there to be released",
    "one draw": "differs between the records of",
}


@pytest.mark.parametrize("name", CASES)
def test_a_refusal_is_found_by_the_words_of_its_message(name):
    """Whoever searches the page for what the screen says finds the row, under the exit code that the command had."""
    table, settings = asked(name)
    with pytest.raises(kepsilon.AnonymisationError) as refused:
        kepsilon.check(table, policy(**settings))
    found = {words: code for words, code in rows().items() if words in str(refused.value)}
    assert found == {CASES[name]: refused.value.exit_code}


def test_confidence_may_leave_out_everybody():
    """Known only after the draw, so that check cannot say it."""
    with pytest.raises(kepsilon.UnsatisfiableError) as refused:
        kepsilon.anonymise(patients(40), policy(k=39, epsilon=16, confidence=0.1, attributes=weight()))
    assert "leaves out every record" in str(refused.value)
    assert "leaves out every record" in rows()


def test_a_grid_may_hold_no_cell():
    """One limit that no cell keeps, and attributes that every cell leaves useless."""
    with pytest.raises(kepsilon.UnsatisfiableError, match="no cell"):
        kepsilon.explore(patients(), policy(epsilon=8, attributes=weight()), k=[10], epsilon=[8]).best(max_risk=0.0001)
    with pytest.raises(kepsilon.UnsatisfiableError, match="every cell"):
        kepsilon.explore(
            patients(), policy(epsilon=1, attributes=weight(accept_useless=None)), k=[10], epsilon=[1]
        ).best(max_risk=0.5)
    assert {"no cell", "every cell"} < rows().keys()


def test_every_row_is_tried():
    """No row is for a message that is gone; what the audit calls broken is tested with the audit."""
    tried = {*CASES.values(), "leaves out every record", "no cell", "every cell", "broken"}
    assert rows().keys() == tried
