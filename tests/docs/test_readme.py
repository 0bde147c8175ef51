# SPDX-License-Identifier: Apache-2.0
"""What the README shows works as it stands there, and every key, command and file it speaks of exists."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest

import kepsilon
from kepsilon.cli.main import commands
from kepsilon.policy.hierarchies import (
    DatesHierarchy,
    FileHierarchy,
    GroupsHierarchy,
    IntervalsHierarchy,
    MaskHierarchy,
    SuppressHierarchy,
)
from kepsilon.policy.policy import Policy
from kepsilon.policy.roles import EpsilonQuasi, KQuasi
from material.machine import ROOT
from material.markdown import anchors_of, links_of

README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").glob("*.md")])


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_the_two_commands_are_make_targets():
    """`make demo` and `make test` do everything on a fresh machine."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in ("demo", "test", "lint", "bench", "reproduce"):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE)
    assert "make demo" in blocks("sh")[0]
    assert "make test" in blocks("sh")[0]
    assert "make test" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_the_policy_in_the_readme_is_accepted():
    """Letter by letter."""
    policy = kepsilon.Policy.from_dict(tomllib.loads(blocks("toml")[1]))
    assert (policy.k, policy.epsilon) == (10, 2.0)


def test_shell_and_python_examples_run(tmp_path, kepsilon_command, monkeypatch, refuses_useless):
    """On the demo's patients, with k and limits as the README writes them; what it prints of a screen stands there."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    assert kepsilon_command("demo", "-o", "demo").code == 0
    (tmp_path / "patients.csv").write_bytes((tmp_path / "demo" / "patients.csv").read_bytes())
    codes, screens = {}, {}
    for line in blocks("sh")[1].splitlines():
        command = line.partition("#")[0].split()
        if command[0] == "$EDITOR":
            policy = Path("policy.toml")
            text = policy.read_text(encoding="utf-8")
            for decided in blocks("toml")[0].splitlines():
                assert f"\n# {decided} " in text
                text = text.replace(f"\n# {decided} ", f"\n{decided} ")
            policy.write_text(text, encoding="utf-8")
        else:
            outcome = kepsilon_command(*command[1:])
            codes[command[1]], screens[command[1]] = outcome.code, outcome.out
    assert codes == {"init": 0, "check": 0, "explore": 0, "anonymise": 0, "audit": 0, "manifest": 0}
    of_explore, of_verdict = blocks("text")
    assert screens["explore"].startswith(of_explore)
    assert of_verdict in screens["check"]
    assert of_verdict in screens["anonymise"]
    exec(blocks("python")[0], {})
    assert Path("release.parquet").exists()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_resolve(page):
    """Within the repository: the file is there, and the heading."""
    for target, anchor in links_of(page.read_text(encoding="utf-8")):
        file = page.parent / target if target else page
        assert file.exists(), target
        if anchor and file.suffix == ".md":
            assert anchor in anchors_of(file.read_text(encoding="utf-8")), f"{target}#{anchor}"


def test_every_policy_key_has_its_place_in_the_docs():
    """A key without a page would be a secret."""
    page = (ROOT / "docs" / "reference" / "policy.md").read_text(encoding="utf-8")
    models = (Policy, KQuasi, EpsilonQuasi, MaskHierarchy, IntervalsHierarchy, GroupsHierarchy, SuppressHierarchy)
    for model in (*models, DatesHierarchy, FileHierarchy):
        for key in model.model_fields:
            assert key in ("role", "type") or f"`{key}`" in page or f"`{key} =" in page, key


def test_every_command_and_option_has_help():
    """`--help` is the first thing a newcomer reads."""
    for name, command in commands.commands.items():
        assert command.help, name
        assert f"kepsilon {name}" in README or name in ("demo", "schema"), name
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.help, (name, parameter.name)


def test_every_public_name_has_a_docstring():
    """The API lists itself."""
    for name in kepsilon.__all__:
        found = getattr(kepsilon, name)
        assert name.isupper() or name == "__version__" or found.__doc__, name


def test_every_public_name_is_documented_once():
    """`docs/reference/api.md` leaves no name out, and says a sentence about each."""
    page = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^### `(\w+)`$", page, flags=re.MULTILINE)) == sorted(kepsilon.__all__)
    entries = re.split(r"^### `\w+`$", page, flags=re.MULTILINE)[1:]
    assert all(re.search(r"^[A-Z].*\.$", own, flags=re.MULTILINE) for own in entries), "a name without a sentence"


def test_every_place_that_the_architecture_page_names_exists():
    """A page about the house is worth nothing once the rooms have moved."""
    page = (ROOT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:[a-z_*]+/)*[a-z_*]+(?:\.py|/))`", page))
    tests = {path.name for path in (ROOT / "tests").rglob("test_*.py")}
    assert len(named) > 30
    for place in named:
        relative = place.removeprefix("src/kepsilon/")
        found = [ROOT / place, *(ROOT / "src" / "kepsilon").rglob(relative.rstrip("/"))]
        assert any(path.exists() for path in found) or place in tests, place


def test_help_imports_no_slow_library():
    """`kepsilon --help` under 0.3 s: what it would wait for is Arrow, NumPy and pydantic."""
    program = (
        "import sys; from kepsilon.cli.main import run; run(['--help']); "
        "print(*sorted({m.split('.')[0] for m in sys.modules} & {'numpy', 'pyarrow', 'pydantic', 'rich', 'pandas'}), file=sys.stderr)"
    )
    outcome = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert outcome.stderr.strip() == ""
    assert "Start here" in outcome.stdout


def test_no_page_promises_too_much():
    """Never "a differentially private dataset"."""
    for page in PAGES:
        text = " ".join(page.read_text(encoding="utf-8").split()).lower()
        assert "differentially private dataset" not in text, page.name
        assert "differentially private data set" not in text, page.name
