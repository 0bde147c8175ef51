# SPDX-License-Identifier: Apache-2.0
"""The verdict on a release is one value: on screens, in JSON, in the record, in the report and in the cells of `explore`."""

from __future__ import annotations

import html
import json
import re

import pytest

import kepsilon as ke
from material.people import POLICY

MIXED = POLICY.replace("epsilon = 2\n", "epsilon = 100\nmax_risk = 1\n")
"""Labels that are coarser or useless, and values that are kept or coarser."""
USELESS = POLICY.replace('range = "class"\n', 'range = "class"\naccept_useless = "only its mean is used"\n')
AVERAGED = POLICY.replace("epsilon = 2\n", "averages = { group = 5 }\n").replace('range = "class"\n', "")


def words(text: str) -> str:
    """A text without what lays it out: columns of tables are wrapped, so that their words are mixed up with others."""
    return " ".join(text.split())


def verdicts_of(found: dict) -> dict:
    return {"verdict": found["verdict"], "verdicts": found["verdicts"]}


def marks_on(screen: str) -> dict[str, str]:
    """The three marks at the end of a screen: their sentences, put together from the lines of their cells."""
    part = screen[screen.rindex("\nVerdict") :]
    marks: dict[str, list[str]] = {}
    last = ""
    for line in part.splitlines()[2:]:
        begins = re.match(
            r"(promise|risk|usefulness) +(kept|coarser|useless|within|above|no limit) +(.*)", line.strip()
        )
        if begins:
            last = begins[1]
            marks[last] = [begins[2], begins[3]]
        elif line.startswith("  ") and last:
            marks[last].append(line.strip())
        elif line.strip():
            last = ""
    return {name: " ".join(own) for name, own in marks.items()}


@pytest.mark.parametrize("policy", [MIXED, USELESS, AVERAGED], ids=["mixed", "useless", "averages"])
def test_the_verdict_is_one_value_everywhere(policy, case, kepsilon_command, monkeypatch):
    monkeypatch.chdir(case)
    monkeypatch.setenv("COLUMNS", "100")
    (case / "policy.toml").write_text(policy, encoding="utf-8")
    base = ["people.csv", "-p", "policy.toml"]
    checked = kepsilon_command("check", *base)
    assert checked.code == 0, checked.err
    predicted = verdicts_of(json.loads(kepsilon_command("check", *base, "--json").out))
    released = kepsilon_command("anonymise", *base, "-o", "out.csv", "--report", "out.html")
    assert released.code == 0, released.err
    record = json.loads((case / "out.csv.curator.json").read_text(encoding="utf-8"))
    assert verdicts_of(record) == predicted
    printed = json.loads(kepsilon_command("anonymise", *base, "-o", "two.csv", "--json").out)
    assert verdicts_of(printed) == predicted

    sentences = {name: f"{own['state']} {own['sentence']}" for name, own in predicted["verdict"].items()}
    assert marks_on(checked.out) == marks_on(released.out) == sentences

    page = words(html.unescape(re.sub(r"<[^>]+>", " ", (case / "out.html").read_text(encoding="utf-8"))))
    for own in predicted["verdicts"].values():
        assert f"{own['verdict']} {own['reason']}" in page

    cells = ke.explore("people.csv", ke.Policy.from_file("policy.toml"), k=[3], algorithm=["ola"]).cells
    explored = [cell.prediction.to_json() for cell in cells if cell.prediction is not None]
    assert predicted in [verdicts_of(found) for found in explored]

    manifest = (case / "out.csv.manifest.json").read_text(encoding="utf-8")
    for key in ("verdict", "max_risk", '"share"', "coarser"):
        assert key not in manifest
