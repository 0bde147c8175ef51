# SPDX-License-Identifier: Apache-2.0
"""Results are typed values; a dictionary of anything is only what JSON is read from and written to, under one name."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import kepsilon

PACKAGE = Path(kepsilon.__file__).parent
HOME = "json_values.py"
TREES = {str(path.relative_to(PACKAGE)): ast.parse(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py")}
ANYTHING = ("dict[str, Any]", "Dict[str, Any]")


def faults(tree):
    """Lines that speak of a dictionary of anything, name one, or take the alias from elsewhere."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and ast.unparse(node) in ANYTHING:
            yield node.lineno, "a dictionary of anything"
        named = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        if named is not None and ast.unparse(named) in (*ANYTHING, "Mapping[str, Any]"):
            yield node.lineno, "another alias"
        if isinstance(node, ast.ImportFrom) and "Json" in imported(node) and node.module != "kepsilon.json_values":
            yield node.lineno, "an alias from elsewhere"


def imported(node):
    return {alias.name for alias in node.names}


def test_json_has_one_name_and_one_home():
    """`kepsilon.json_values.Json`; everything else says what it holds."""
    found = {name: [*faults(tree)] for name, tree in TREES.items() if name != HOME}
    assert {name: own for name, own in found.items() if own} == {}
    assert "another alias" in {what for _, what in faults(TREES[HOME])}


@pytest.mark.parametrize(
    "line",
    [
        "def figures() -> dict[str, Any]: ...",
        "Json = Mapping[str, Any]",
        "Figures = dict[str, Any]",
        "known: dict[str, Any] = {}",
        "from kepsilon.publish.manifest import Json",
    ],
)
def test_a_second_alias_would_be_seen(line):
    """The test above can fail."""
    assert [*faults(ast.parse(line))]


AT_THE_EDGE = {
    "auditing": "reads manifests that somebody else wrote, and compares them key by key",
    "evaluate": "writes the attackers of a release, which record and audit share",
    "grid": "writes grids",
    "pipeline": "changes keys of policies, to compare how attributes could be split",
    "policy": "gives the schema of policies",
    "predict": "writes predictions",
    "propose": "proposes keys of policies",
    "publish": "writes records and manifests",
    "reproduce": "keeps what was measured in files, and reads it back",
}
"""Parts of the package that read or write JSON."""


def test_json_stays_at_the_edges():
    """Kernels, engines and the steps between them pass typed values."""
    users = {
        name.split("/")[0]
        for name, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and "Json" in imported(node)
    }
    assert users == {*AT_THE_EDGE}
