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

BASE = {"errors", "version", "json_values", "stopwatch", "special_files", "encodings", "rounding", "threads"}
"""What everybody may import: nothing here imports anything of the package."""

MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "version": set(),
    "json_values": set(),
    "stopwatch": set(),
    "special_files": set(),
    "encodings": set(),
    "rounding": set(),
    "threads": set(),
    "policy": set(),
    "files": set(),
    "table": {"policy"},
    "randomness": {"table"},
    "classify": {"policy", "table"},
    "kanonymise": {"policy", "table"},
    "perturb": {"policy", "table", "randomness"},
    "evaluate": {"policy", "table"},
    "sources": {"policy", "table", "files"},
    "engines": {"policy", "table", "files", "sources"},
    "count": {"policy", "table", "classify", "perturb", "engines"},
    "predict": {"policy", "table", "kanonymise", "perturb", "evaluate", "engines", "count"},
    "measured": {"table", "evaluate", "engines"},
    "average": {"policy", "table", "perturb", "evaluate", "engines", "predict", "measured"},
    "draw": {"policy", "table", "perturb", "evaluate", "engines", "predict", "measured", "average"},
    "publish": {"policy", "table", "perturb", "evaluate", "sources", "engines", "predict", "files"},
    "grid": {"policy", "table", "evaluate", "predict", "publish", "files"},
    "pages": {"policy", "table", "perturb", "evaluate", "predict", "publish", "grid"},
    "pipeline": {
        "policy", "table", "classify", "randomness", "kanonymise", "perturb", "evaluate", "engines", "count", "predict",
        "measured", "draw", "publish", "grid", "pages", "propose",
    },
    "auditing": {"policy", "table", "classify", "engines", "evaluate"},
    "propose": {"policy", "table", "evaluate", "engines", "predict"},
    "reproduce": {
        "kepsilon", "policy", "table", "kanonymise", "perturb", "evaluate", "engines", "count", "predict", "publish",
        "pages", "files", "randomness", "grid",
    },
    "cli": {"kepsilon", "rounding"},
    "__main__": {"cli"},
}  # fmt: skip
"""Which parts each part may import; `kepsilon` stands for the names of the top `__init__` alone."""

MAY_IMPORT_FRAMES = ("sources", "engines")
FRAMES = {"pyarrow", "duckdb", "polars", "pandas", "pyspark"}


def main() -> int:
    paths = sorted(PACKAGE.rglob("*.py"))
    problems = [problem for path in paths for problem in check(path)]
    problems += cycles({module_name(path): set(modules_imported(path)) for path in paths})
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
    for node in ast.walk(tree):
        documented = node if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) else None
        if documented is not None and (ast.get_docstring(documented) or "").startswith("The same"):
            yield f"{relative}: a docstring begins with “The same”; say what it is"
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
            allowed = MAY_IMPORT[part] | (BASE if part != "cli" else set())
            if target not in (part, *allowed):
                yield f"{relative}: imports {name}; {part} may import {', '.join(sorted(allowed)) or 'nothing'}"


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def modules_imported(path: Path) -> Iterator[str]:
    """The modules of the package that one imports anywhere, for its types too; the top `__init__` has no part in this."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("kepsilon."):
            target = PACKAGE.parent.joinpath(*node.module.split("."))
            for alias in node.names:
                is_module = target.is_dir() and (target / f"{alias.name}.py").exists()
                yield f"{node.module}.{alias.name}" if is_module else node.module


def cycles(imports: dict[str, set[str]]) -> Iterator[str]:
    """Ways from a module, or from a package at the top, back to itself."""
    imports = {name: targets for name, targets in imports.items() if name != "kepsilon"}
    yield from rounds("module", imports)
    parts: dict[str, set[str]] = {}
    for name, targets in imports.items():
        part = name.split(".")[1]
        parts.setdefault(part, set()).update(found for t in targets if (found := t.split(".")[1]) != part)
    yield from rounds("package", parts)


def rounds(kind: str, imports: dict[str, set[str]]) -> Iterator[str]:
    """Takes away what imports nothing that is left, or is imported by nothing: what stays are cycles."""
    left = {name: targets & imports.keys() for name, targets in imports.items()}
    while left:
        used = set().union(*left.values())
        free = [name for name, targets in left.items() if name not in used or not targets & left.keys()]
        if not free:
            yield f"{kind} cycle among {', '.join(sorted(left))}"
            return
        left = {name: targets - set(free) for name, targets in left.items() if name not in free}


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


if __name__ == "__main__":
    sys.exit(main())
