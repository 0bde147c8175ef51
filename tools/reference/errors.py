# SPDX-License-Identifier: Apache-2.0
"""The page of errors: every class of `errors.py` with what to do, and every message that the code words, with its advice."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import kepsilon
from kepsilon import errors
from reference.field_texts import cell, first_sentences

SOURCE = Path(kepsilon.__file__).parent
WHAT_TO_DO = {
    "AnonymisationError": "Catch this one to catch all that follow. `problems` says for each mistake where it is, what is wrong and what to do.",
    "PolicyError": "Change the policy, or the hierarchy file that it names, at the place that the message names. All mistakes are listed at once.",
    "DataError": "Change the data, or the role of the column that the message names. `kepsilon check --show-values COLUMN` shows the values in question.",
    "EngineError": "Look at the disk, the folder, the memory or the cluster that the message names, and run the command again.",
    "MemoryLimitError": "Raise `--memory`, or choose a policy with smaller classes, such as one with `mondrian` or `local-recoding`.",
    "UnsatisfiableError": "Read [why was my release refused](../how-to/refused.md). Nothing was weakened and nothing was written.",
    "UnexpectedError": "Report the first line of the message; it holds no value of a record.",
    "ArgumentError": "Correct the call: the message names the argument.",
    "InterruptedAfterRelease": "Nothing has to be done: the release is out and whole. Do not draw a second one.",
    "EarlierDrawWarning": "Make sure that nobody has the earlier release; whoever has both can average the noise.",
}  # fmt: skip
FOLDERS = {
    "policy": "In the policy",
    "classify": "Data that does not fit the policy",
    "count": "Data that does not fit the policy",
    "table": "Data that does not fit the policy",
    "encodings": "Data that does not fit the policy",
    "sources": "Reading and writing tables",
    "special_files": "Reading and writing tables",
    "engines": "Reading and writing tables",
    "files": "Reading and writing tables",
    "publish": "Outputs",
    "kanonymise": "Policies that cannot be met",
    "predict": "Policies that cannot be met, and notes before a release",
    "perturb": "Noise and averages",
    "pipeline": "Running a command",
    "cli": "Running a command",
    "propose": "Proposing a policy",
    "grid": "explore",
    "auditing": "audit",
    "reproduce": "reproduce",
}


def page() -> str:
    lines = [
        "# Errors, and what to do",
        "",
        "Every error says where it is, what is wrong and what to do. None quotes a value of a record. "
        "[How a command ends](endings.md) has the exit codes.",
        "",
        "## Kinds",
        "",
        "| error | exit code | meaning | what to do |",
        "|---|---|---|---|",
        *_kinds(),
        "",
        "## Messages",
        "",
        "Every message, by where it comes up; `…` stands for a name or a number. Notes are among them.",
        "Every risk on this page is that of an attacker who knows the quasis of everybody, unless another is named.",
    ]
    for title, found in _by_title().items():
        lines += ["", f"### {title}", "", "| what | what to do |", "|---|---|"]
        lines += [f"| {cell(what)} | {cell(fix)} |" for what, fix in found]
    return "\n".join(lines) + "\n"


def kinds() -> list[type[BaseException]]:
    """The public classes of `errors.py`."""
    found = [own for own in vars(errors).values() if inspect.isclass(own) and issubclass(own, BaseException)]
    return [own for own in found if own.__module__ == errors.__name__]


def _kinds() -> Iterator[str]:
    for own in kinds():
        if own.__name__ not in WHAT_TO_DO:
            raise LookupError(f"tools/reference/errors.py: say in WHAT_TO_DO what to do about {own.__name__}")
        code = getattr(
            own,
            "exit_code",
            {"UnexpectedError": 1, "ArgumentError": 2, "InterruptedAfterRelease": 0}.get(own.__name__, "–"),
        )
        yield f"| `{own.__name__}` | {code} | {cell(first_sentences(inspect.getdoc(own) or ''))} | {WHAT_TO_DO[own.__name__]} |"


def _by_title() -> dict[str, list[tuple[str, str]]]:
    found: dict[str, dict[tuple[str, str], None]] = {title: {} for title in FOLDERS.values()}
    for file in sorted(SOURCE.rglob("*.py")):
        first = file.relative_to(SOURCE).parts[0].removesuffix(".py")
        for message in _messages(file):
            found[FOLDERS.get(first, "Running a command")][message] = None
    return {title: sorted(own) for title, own in found.items() if own}


def _messages(file: Path) -> Iterator[tuple[str, str]]:
    """What and fix of every `Problem` that a module words, and the text of every `PydanticCustomError`."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        if node.func.id == "Problem":
            words = {own.arg: _text(own.value) for own in node.keywords}
            if words.get("what", "").strip("… ."):
                yield words["what"], words.get("fix", "")
        elif node.func.id == "PydanticCustomError" and len(node.args) > 1 and _text(node.args[1]).strip("… ."):
            yield re.sub(r"\{\w+\}", "…", _text(node.args[1])), ""


def _text(node: ast.expr) -> str:
    """A text as it is written in the source, with … for what is filled in."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(str(own.value) if isinstance(own, ast.Constant) else "…" for own in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _text(node.left) + _text(node.right)
    if isinstance(node, ast.IfExp):
        return f"{_text(node.body)} / {_text(node.orelse)}"
    return "…"
