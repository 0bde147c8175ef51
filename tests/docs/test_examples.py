# SPDX-License-Identifier: Apache-2.0
"""Every example on a page runs: Python as it stands, commands of the shell on the demo's patients, policies as they stand.

A block of Python runs by itself, in a folder with `patients.csv`, `policy.toml` and `chosen.toml` as `kepsilon demo` writes
them. The lines of a shell block that begin with `kepsilon` run in order, in one such folder for each page. Useless attributes
are refused, as they are for whoever types an example. A TOML block that holds `[attributes.` is read as a policy; a block
without k is put under a head that has one. What a page must not be asked for says so: a block that begins with a
comment "# not run: reason" is left alone, and the reason has to be there.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import tomllib

import pytest

import kepsilon
from kepsilon.cli import compared_splits, explored_grid
from material.machine import ROOT
from material.markdown import examples_of

PAGES = sorted(own for folder in ("how-to", "explanation") for own in (ROOT / "docs" / folder).glob("*.md"))
HEAD = 'k = 10\nalgorithm = "ola"\nmax_suppression = 0.05\nepsilon = 2\n'


def pages_with(language: str):
    found = [page for page in PAGES if runnable(page, language)]
    return pytest.mark.parametrize("page", found, ids=lambda own: own.relative_to(ROOT).as_posix())


def runnable(page, language: str) -> list[str]:
    blocks = examples_of(page, language)
    for block in blocks:
        assert not block.startswith("# not run:") or block.splitlines()[0].removeprefix("# not run:").strip(), page.name
    return [block for block in blocks if not block.startswith("# not run:")]


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The folder that `kepsilon demo -o demo` makes."""
    folder = tmp_path_factory.mktemp("demo") / "demo"
    command = [sys.executable, "-m", "kepsilon", "demo", "-o", str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    return folder


@pytest.fixture
def demo_folder(demo, tmp_path, monkeypatch, refuses_useless):
    """A folder with the demo's table and policies."""
    monkeypatch.chdir(tmp_path)
    for name in ("patients.csv", "policy.toml", "chosen.toml"):
        (tmp_path / name).write_bytes((demo / name).read_bytes())
    return tmp_path


@pages_with("python")
def test_python_examples_run(page, demo_folder):
    """Each block by itself: what it needs it imports and reads, as somebody does who copies it."""
    for block in runnable(page, "python"):
        exec(compile(block, f"{page.name} (example)", "exec"), {})


@pages_with("sh")
def test_shell_examples_run(page, demo_folder, kepsilon_command, monkeypatch):
    """In the order of the page; a line may say which exit code it has, and what a page shows of a screen was printed."""
    monkeypatch.setenv("COLUMNS", "80")
    printed = ""
    for block in runnable(page, "sh"):
        for line in block.replace("\\\n", " ").splitlines():
            if not line.startswith("kepsilon "):
                continue
            expected = int(line.partition("# exit code ")[2].split(" ")[0]) if "# exit code " in line else 0
            ended = kepsilon_command(*shlex.split(line, comments=True)[1:])
            assert ended.code == expected, (line, ended.err)
            printed += ended.out + ended.err
    assert [own for own in examples_of(page, "text") if own not in printed] == []


@pages_with("toml")
def test_policies_are_accepted(page):
    """Whole ones, and parts of one."""
    for block in runnable(page, "toml"):
        document = tomllib.loads(block)
        if "attributes" not in document:
            continue
        if "k" not in document:
            document = {**tomllib.loads(HEAD), **document}
        kepsilon.Policy.from_dict(document)


def test_the_table_of_largest_risks_is_the_formulas():
    """How sure an attacker who matches whole classes can be, in the smallest class; with averages, one in k."""
    from math import exp

    text = (ROOT / "docs" / "how-to" / "choose.md").read_text(encoding="utf-8")
    rows = [own.strip("| ").split(" | ") for own in text.splitlines() if own.startswith(("| ε = ", "| averages | "))]
    assert len(rows) == 6
    for name, *shares in rows:
        for k, share in zip((5, 10, 50, 100), shares, strict=True):
            odds = exp(-2 * float(name.removeprefix("ε = "))) if name != "averages" else 1
            digits = len(share.removesuffix(" %").partition(".")[2])
            assert round(100 / (1 + (k - 1) * odds), digits) == float(share.removesuffix(" %")), (name, k)


@pytest.mark.parametrize("columns", [explored_grid.NAMES, compared_splits.HEADERS], ids=["grid", "splits"])
def test_every_column_of_explores_tables_is_explained(columns):
    """By the name that the screen has for it; algorithm and k need no words."""
    text = (ROOT / "docs" / "how-to" / "explore.md").read_text(encoding="utf-8")
    assert [own for own in columns if own not in ("", "algorithm", "k") and f"`{own}`" not in text] == []
