# SPDX-License-Identifier: Apache-2.0
"""Runs the tutorial and writes what its commands printed into the page: python tools/write_tutorial.py (make docs-tutorial).

A shell block is run line by line, in one folder. A text block after it is what it printed. The lines of a diff block are
changed in policy.toml: a line that begins like the one after `-` is replaced by those after `+`. A line may say which exit
code it has, after `# exit code`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "tutorial" / "index.md"
BLOCK = re.compile(r"^```(sh|text|diff)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
START = "#!{python}\nimport sys\nfrom kepsilon.__main__ import main\nsys.exit(main())\n"


class TutorialError(Exception):
    """A command ended otherwise than the page says, or a line to change is not in the policy."""


def run(page: str) -> str:
    """The page with what its commands print now."""
    printed = ""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        surroundings = _surroundings(folder)

        def block(found: re.Match[str]) -> str:
            nonlocal printed
            kind, text = found[1], found[2]
            if kind == "sh":
                printed = "".join(_command(line, folder, surroundings) for line in text.splitlines())
            elif kind == "diff":
                _change(folder / "policy.toml", text)
            else:
                return f"```text\n{printed}```"
            return found[0]

        return BLOCK.sub(block, page)


def _surroundings(folder: Path) -> dict[str, str]:
    """A screen of 80 columns, and a kepsilon that is found by that name."""
    commands = folder / "bin"
    commands.mkdir()
    start = commands / "kepsilon"
    start.write_text(START.format(python=sys.executable), encoding="utf-8")
    start.chmod(0o755)
    path = f"{commands}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "COLUMNS": "80", "PYTHONPATH": str(ROOT / "src"), "NO_COLOR": "1"}


def _command(line: str, folder: Path, surroundings: dict[str, str]) -> str:
    """What a line prints on both streams, in the order in which a terminal shows them."""
    ended = subprocess.run(
        line,
        check=False,
        shell=True,
        cwd=folder,
        env=surroundings,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    expected = int(line.partition("# exit code ")[2] or 0)
    if ended.returncode != expected:
        raise TutorialError(f"{line}: exit code {ended.returncode}, not {expected}\n{ended.stdout}")
    return _without_times(ended.stdout)


def _without_times(text: str) -> str:
    """Seconds differ from run to run."""
    return re.sub(r"^(seconds +)[\d.]+$", r"\1…", text, flags=re.MULTILINE)


def _change(policy: Path, text: str) -> None:
    lines = policy.read_text(encoding="utf-8").splitlines()
    place = -1
    for change in text.splitlines():
        if change.startswith("-"):
            found = [index for index, line in enumerate(lines) if line.startswith(change[1:])]
            if not found:
                raise TutorialError(f"no line of the proposed policy begins with {change[1:]!r}")
            place = found[0]
            del lines[place]
        else:
            lines.insert(place, change[1:])
            place += 1
    policy.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    PAGE.write_text(run(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print("written: docs/tutorial/index.md")
