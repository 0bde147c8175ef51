# SPDX-License-Identifier: Apache-2.0
"""Keeps the directions of imports, the sizes of modules and the licence line; run by `make lint`."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "kepsilon"
LARGEST_MODULE = 600
EXPLAIN_FROM = 400

MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "version": set(),
    "private_folders": {"errors"},
    "policy": {"errors", "json_values"},
    "table": {"errors", "policy"},
    "classify": {"errors", "policy", "table"},
    "kanonymise": {"errors", "policy", "table"},
    "perturb": {"errors", "policy", "table"},
    "evaluate": {"errors", "json_values", "policy", "table"},
    "sources": {"errors", "json_values", "private_folders", "policy", "table"},
    "engines": {"errors", "private_folders", "policy", "table", "sources"},
    "publish": {
        "errors", "version", "private_folders", "policy", "table", "sources", "engines", "evaluate", "json_values", "perturb",
        "predict", "grid",
    },
    "stopwatch": set(),
    "counting": {"errors", "private_folders", "policy", "table", "classify", "perturb", "engines", "stopwatch"},
    "foresight": {"errors", "policy", "classify", "engines", "counting"},
    "json_values": set(),
    "predict": {
        "errors", "json_values", "policy", "table", "kanonymise", "perturb", "evaluate", "engines", "counting",
    },
    "draw": {"errors", "policy", "table", "perturb", "evaluate", "engines", "predict", "stopwatch"},
    "auditing": {"errors", "json_values", "policy", "table", "classify", "engines", "evaluate"},
    "demo": set(),
    "propose": {"errors", "engines"},
    "pipeline": {
        "errors", "policy", "table", "kanonymise", "perturb", "evaluate", "engines", "publish",
        "counting", "predict", "draw", "stopwatch", "json_values",
    },
    "feasibility": {
        "errors", "policy", "table", "kanonymise", "evaluate", "engines", "publish",
        "counting", "predict", "stopwatch", "json_values",
    },
    "grid": {
        "errors", "version", "private_folders", "policy", "table", "kanonymise", "evaluate", "engines", "publish",
        "counting", "predict", "stopwatch", "json_values",
    },
    "reproduce": {
        "kepsilon", "errors", "version", "policy", "table", "kanonymise", "perturb", "evaluate", "engines", "publish",
        "counting", "predict", "private_folders", "stopwatch", "json_values",
    },
    "cli": {"kepsilon"},
    "__main__": {"cli"},
}  # fmt: skip
"""Which parts each part may import; `kepsilon` stands for the names of the top `__init__` alone."""

MAY_IMPORT_FRAMES = ("sources", "engines")
FRAMES = {"pyarrow", "duckdb", "polars", "pandas", "pyspark"}


def main() -> int:
    problems = [problem for path in sorted(PACKAGE.rglob("*.py")) for problem in check(path)]
    print(*problems, sep="\n") if problems else print(
        f"imports: {len(list(PACKAGE.rglob('*.py')))} modules keep the directions"
    )
    return 1 if problems else 0


def check(path: Path) -> Iterator[str]:
    relative = path.relative_to(PACKAGE)
    part = relative.parts[0].removesuffix(".py")
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    if not text.startswith("# SPDX-License-Identifier: Apache-2.0\n"):
        yield f"{relative}: the first line must be the licence"
    n_lines = text.count("\n")
    docstring = ast.get_docstring(tree)
    if docstring is None:
        yield f"{relative}: a module opens with one sentence of purpose"
    if n_lines > LARGEST_MODULE:
        yield f"{relative}: {n_lines} lines; split it by concept"
    elif n_lines > EXPLAIN_FROM and "lines" not in (docstring or ""):
        yield f"{relative}: {n_lines} lines; its docstring must say why it is so long"
    if part == "__init__":
        return
    if part not in MAY_IMPORT:
        yield f"{relative}: {part} has no entry in tools/check_imports.py"
        return
    for name in imported(tree):
        top = name.split(".")[0]
        if top in FRAMES and part not in MAY_IMPORT_FRAMES:
            yield f"{relative}: imports {name}; only sources/ and engines/ may"
        if top == "kepsilon":
            target = name.split(".")[1] if "." in name else "kepsilon"
            if target not in (part, *MAY_IMPORT[part]):
                yield f"{relative}: imports {name}; {part} may import {', '.join(sorted(MAY_IMPORT[part])) or 'nothing'}"


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


if __name__ == "__main__":
    sys.exit(main())
