# SPDX-License-Identifier: Apache-2.0
"""The reference says what the code says: every command, option, key, error, public name and promised sentence is in it."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import click
import pyarrow as pa
import pytest

import kepsilon
from kepsilon.cli.main import commands
from kepsilon.policy.policy import json_schema
from material.machine import ROOT
from material.markdown import anchors_of
from material.people import POLICY, columns_of, people

sys.path.insert(0, str(ROOT / "tools"))

import write_reference
from reference import errors, json_keys
from reference.field_texts import NotDescribedError, described

DOCS = ROOT / "docs"
RERUN = "run: make docs-reference (or python tools/write_reference.py), and look at what it changed"


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", write_reference.PAGES)
def test_generated_pages_are_what_the_code_says(name):
    """A page is written by a script, so that a new option or key is documented by its own words."""
    assert write_reference.PAGES[name]() == page(f"reference/{name}"), RERUN


def test_every_command_and_option_is_documented():
    """Under the name that one types."""
    text = page("reference/commands.md")
    for name, command in commands.commands.items():
        part = re.search(rf"^## kepsilon {name}$.*?(?=^## |\Z)", text, flags=re.MULTILINE | re.DOTALL)
        assert part is not None, name
        for own in command.params:
            if isinstance(own, click.Option):
                assert all(f"`{spelling}`" in part[0] for spelling in own.opts), (name, own.name)


def test_every_policy_key_is_documented():
    """At every place where the schema has it; what role and type are is said by the titles."""
    text = page("reference/policy-keys.md")
    schema = json_schema()
    for part in (schema, *schema["$defs"].values()):
        for key in part["properties"].keys() - {"role", "type"}:
            assert f"| `{key}` |" in text, key


def paths(value, path=""):
    """Every key of a JSON value, with * for names and [] for list items as the pages have them."""
    if isinstance(value, dict):
        for key, own in value.items():
            yield f"{path}{key}"
            yield from paths(own, f"{path}{key}.")
    elif isinstance(value, list):
        for own in value:
            yield from paths(own, path.removesuffix(".") + "[].")


SETTINGS = [
    {},
    {"confidence": 0.9},
    {"algorithm": "mondrian", "epsilon": None, "averages": {"group": 12}},
    {"person": "name", "epsilon_per": "record"},
]


@pytest.mark.parametrize("changes", SETTINGS, ids=str)
def test_every_key_of_a_record_and_manifest_is_documented(changes):
    """Those that are really written, of several kinds of policies."""
    import tomllib

    document = {**tomllib.loads(POLICY), **changes}
    for attribute in document["attributes"].values() if changes.get("algorithm") == "mondrian" else ():
        if attribute.get("hierarchy", {}).get("type") == "intervals":
            attribute["step"] = attribute.pop("hierarchy")["widths"][0]
    policy = kepsilon.Policy.from_dict({key: own for key, own in document.items() if own is not None})
    release = kepsilon.anonymise(pa.table(columns_of(people(300))), policy)
    for name, written in (("record", release.record), ("manifest", release.manifest)):
        rows = re.findall(r"^\| `([^`]+)` \| ([^|]+) \|", page(f"reference/{name}-keys.md"), flags=re.MULTILINE)
        patterns = [
            re.compile(re.escape(own).replace(r"\*", ".+") + (r"(\..+)?" if "by name" in kind else ""))
            for own, kind in rows
        ]
        for path in paths(written.to_json()):
            if path.startswith("policy."):
                continue
            assert any(own.fullmatch(path) for own in patterns), (name, path, RERUN)


def test_the_page_on_record_and_manifest_speaks_of_every_key():
    """The page in words, beside those that are generated: each key that a file begins with has its row there."""
    from kepsilon.publish.manifest import Manifest
    from kepsilon.publish.record import Record

    of_manifest, of_record = page("reference/record.md").split("## The curator's record")
    for written, text in ((Manifest, of_manifest), (Record, of_record)):
        rows = "\n".join(re.findall(r"^\| (.+?) \|", text, flags=re.MULTILINE))
        for own in json_keys.keys_of(written):
            assert f"`{re.split(r'[.[]', own.path)[0]}`" in rows, (written.__name__, own.path)


def test_a_key_without_description_is_refused():
    """The script fails with the name of the field, and says what to write."""
    import dataclasses

    @dataclasses.dataclass
    class Found:
        secret: int

    Found.__module__ = "elsewhere"
    with pytest.raises(NotDescribedError, match=r"Found\.secret has no description"):
        described(Found, "secret", {})


def test_every_error_is_documented():
    """With what to do about it."""
    text = page("reference/errors.md")
    assert len(errors.kinds()) >= 10
    for kind in errors.kinds():
        row = re.search(rf"^\| `{kind.__name__}` \| \S+ \| .+ \| .+ \|$", text, flags=re.MULTILINE)
        assert row is not None, kind.__name__


def test_every_message_says_what_to_do():
    """Also those that the code words without advice."""
    rows = re.findall(
        r"^\| (.+) \| (.*) \|$", page("reference/errors.md").partition("## Messages")[2], flags=re.MULTILINE
    )
    assert len(rows) > 200
    assert [what for what, fix in rows if not fix.strip("… ./")] == []


def test_words_that_were_given_a_name_before_are_found(tmp_path):
    """Messages are worded in several ways in the code; a way that the script does not read would be a message without a row."""
    file = tmp_path / "module.py"
    file.write_text(
        """
def found(n):
    what = f"{n} are left." if n else "none is left."
    yield Problem(what=what, fix="Look again.")
    what = "one more."
    yield Problem(what=what or "nothing.")
    yield _refusal("refused.", "Ask for less.")
    yield Problem(what="plain.")


def _refusal(what, fix):
    return UnsatisfiableError(Problem(where="", what=what, fix=fix))
"""
    )
    assert list(errors._messages(file)) == [
        ("… are left.", "Look again."),
        ("none is left.", "Look again."),
        ("one more.", ""),
        ("nothing.", ""),
        ("refused.", "Ask for less."),
        ("plain.", ""),
    ]


def test_no_advice_is_for_a_message_that_is_gone():
    """Or it would be read by nobody."""
    text = page("reference/errors.md")
    assert [what for what in errors.BY_MESSAGE if f"| {errors.cell(what)} |" not in text] == []


def test_a_message_without_advice_is_refused():
    """The script fails with the message, and says where to write what to do."""
    with pytest.raises(LookupError, match="BY_MESSAGE"):
        errors._advice("something new.", "Outputs")


def test_every_public_name_is_documented():
    """Also errors and constants."""
    text = page("reference/api.md")
    for name in kepsilon.__all__:
        assert f"### `{name}`" in text, name


PROMISES = ("guarantee", "promises", "averaged_promise")


def promised_words() -> list[str]:
    """Every piece of text in the modules that word promises, apart from docstrings and errors."""
    found = []
    for module in PROMISES:
        file = Path(kepsilon.__file__).parent / "policy" / f"{module}.py"
        tree = ast.parse(file.read_text(encoding="utf-8"))
        raised = {id(own) for node in ast.walk(tree) if isinstance(node, ast.Raise) for own in ast.walk(node)}
        docstrings = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.FunctionDef) and isinstance(node.body[0], ast.Expr)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in raised | docstrings:
                found.append(node.value)
    return [own for own in found if len(own.split()) >= 4]


def test_every_promised_sentence_stands_on_the_page_of_the_proofs():
    """Word by word: the page is made by the code, from policies that bring every sentence up."""
    text = page("explanation/guarantee.md")
    words = promised_words()
    assert len(words) > 50
    assert [own for own in words if own.strip() not in text] == []


SAID_BY_BOTH = (
    "an extreme record moves the range itself",
    "the size of the noise shows the range",
    "an extreme record can still move the widened range, and the size of the noise shows it, whatever ε is",
    "values outside the bounds",
    "a person of r records spends r·ε",
    "carry one draw, so that averaging them gains nothing",
    "equal noisy values show an attacker which records are one person's, and so in which classes that person is",
    "left out depends on the true values of the class",
    "is shared by at least",
    "a probability of at most one in the size of its group",
    "averages carry no noise",
    "protects nobody",
    "that lead to the same groups are ε-indistinguishable",
    "which records were averaged together is",
    "published as they are",
)


@pytest.mark.parametrize("words", SAID_BY_BOTH)
def test_the_page_of_promises_says_what_manifests_say(words):
    """Whoever reads a statement finds its words explained; one that is worded anew in the code is so on the page."""
    for name in ("guarantee", "promise"):
        without_links = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", page(f"explanation/{name}.md"))
        text = re.sub(r"[\s>*]+", " ", without_links).lower()
        assert words in text, name


def test_every_proof_that_the_sentences_link_to_exists():
    """A sentence without a proof is a claim."""
    anchors = set(re.findall(r"proofs\.md#([^)]+)\)", page("explanation/guarantee.md")))
    assert len(anchors) > 8
    assert anchors <= set(anchors_of(page("explanation/proofs.md")))
    promised = set(re.findall(r"promise\.md#([^)]+)\)", page("explanation/guarantee.md")))
    assert len(promised) > 6
    assert promised <= set(anchors_of(page("explanation/promise.md")))


def test_keys_of_lists_and_names_are_told_apart():
    """As `attackers[].knows` and `clipped.*`."""
    from kepsilon.publish.record import Record

    found = {own.path: own for own in json_keys.keys_of(Record)}
    assert "attackers[].knows" in found
    assert "error.*.realised_relative" in found
    assert found["records.read"].kind == "whole number"
