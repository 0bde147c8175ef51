# SPDX-License-Identifier: Apache-2.0
"""Writes tests/oracles/pycanon_answers.json: released tables, and what pycanon says of their k, ℓ and t.

pycanon pins a NumPy and a pandas of its own, which contradict constraints.txt. So it runs in an environment of its own,
here and not in the tests, and the tests compare with its answers.
Run: python tools/write_pycanon_answers.py [--python PATH], with the Python of an environment that has pycanon; without it,
one is made in a temporary folder.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ANSWERS = ROOT / "tests" / "oracles" / "pycanon_answers.json"
PYCANON = "pycanon==1.3.6"

ASK = """
import json, sys
from importlib import metadata
import pandas as pd
from pycanon import anonymity

columns, quasis, tables = json.load(sys.stdin)
answers = {}
for name, rows in tables.items():
    frame = pd.DataFrame(rows, columns=columns)
    one_per_person = frame.drop_duplicates([*quasis, "person"]).reset_index(drop=True)
    answers[name] = {
        "k": int(anonymity.k_anonymity(frame, quasis)),
        "k persons": int(anonymity.k_anonymity(one_per_person, quasis)),
    }
    for column in ("illness", "cost"):
        c, least = anonymity.recursive_c_l_diversity(frame, quasis, [column])
        answers[name][column] = {
            "distinct": int(anonymity.l_diversity(frame, quasis, [column])),
            "entropy": int(anonymity.entropy_l_diversity(frame, quasis, [column])),
            "recursive": None if c != c else [int(c), int(least)],
            "t": float(anonymity.t_closeness(frame, quasis, [column])),
        }
json.dump({"pycanon": metadata.version("pycanon"), "answers": answers}, sys.stdout)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", type=Path)
    options = parser.parse_args()
    path = os.pathsep.join(str(ROOT / folder) for folder in ("src", "tests"))
    printed = _run([sys.executable, "-m", "material.released_labels"], path=path)
    tables = json.loads(printed)
    columns, quasis = json.loads(
        _run(
            [
                sys.executable,
                "-c",
                "import json; from material import released_labels as r; print(json.dumps([r.COLUMNS, r.QUASIS]))",
            ],
            path=path,
        )
    )
    with tempfile.TemporaryDirectory() as folder:
        python = options.python or _environment(Path(folder))
        answered = json.loads(_run([str(python), "-c", ASK], asked=json.dumps([columns, quasis, tables])))
    cases = {name: {"answers": answered["answers"][name], "rows": rows} for name, rows in tables.items()}
    heads = {"written by": "tools/write_pycanon_answers.py", "pycanon": answered["pycanon"], "columns": columns}
    ANSWERS.write_text(_one_row_a_line({**heads, "cases": cases}), encoding="utf-8")
    print(f"{ANSWERS.relative_to(ROOT)} is written")


def _environment(folder: Path) -> Path:
    """The Python of a new environment that has pycanon."""
    _run([sys.executable, "-m", "venv", str(folder)])
    python = folder / "bin" / "python"
    _run([str(python), "-m", "pip", "install", "-q", PYCANON])
    return python


def _run(command: list[str], *, path: str | None = None, asked: str | None = None) -> str:
    surroundings = {**os.environ, **({} if path is None else {"PYTHONPATH": path})}
    return subprocess.run(command, check=True, env=surroundings, input=asked, stdout=subprocess.PIPE, text=True).stdout


def _one_row_a_line(document: dict[str, object]) -> str:
    """JSON in which a record takes one line, so that a change shows in a diff."""
    text = json.dumps(document, ensure_ascii=False, indent=1)
    lines: list[str] = []
    depth = 0
    for line in text.splitlines():
        stripped = line.strip()
        if depth:
            lines[-1] += (" " if lines[-1].endswith(",") else "") + stripped
        else:
            lines.append(line)
        depth += stripped.endswith("[") and (depth > 0 or stripped == "[")
        depth -= depth > 0 and stripped in ("]", "],")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
