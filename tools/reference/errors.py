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
IN_POLICY, REPRODUCTION, REFUSALS = "In the policy", "reproduce", "Policies that cannot be met"
BY_MESSAGE = {
    "a column has a name that is not UTF-8 text.": "Rename the column.",
    "a task failed (…); nothing was released.": "Look into the logs of the cluster, and run the command again.",
    "cannot be read: ….": "Check the path, and that you may read the file.",
    "has a header, but no records.": "Is this the right file? Give one that has records.",
    "has columns, but no records.": "Is this the right table? Give one that has records.",
    "holds a character that no name can have.": "Write the name without control characters.",
    "holds lists or structures, not single values.": "Write one value per cell first, or leave the column out.",
    "holds values that are not text or numbers.": "Make them text or numbers first, or leave the column out.",
    "is not an Arrow or Feather file.": "Check the file, or give it the suffix of its real kind.",
    "its header line cannot be read as CSV.": "Look at the first line: quotes have to match.",
    "nothing is known of a DataFrame before it is counted.": "Leave `needs` out for a DataFrame, or write it to Parquet first.",
    "should hold whole numbers, one for every record.": "Give the linkage file as `kepsilon anonymise --linkage` wrote it.",
    "some combinations were counted twice; nothing was released.": "Report it: nothing is wrong with your policy. Without Spark, `--memory` may do.",
    "some tasks never answered; nothing was released.": "Look into the logs of the cluster, and run the command again.",
    "there is no such file.": "Check the path.",
    "was not asked for before the records were read.": "Ask for the linkage when you anonymise: `--linkage`, or `with_linkage=True` in Python.",
    "the … needs a name of its own.": "Choose another path for one of the two.",
    "… of … values lie outside the declared bounds and would be clipped to them.": "Nothing, if the bounds are what you mean. Otherwise declare wider ones, without looking at the data.",
    "does not hold different numbers that both intervals and noise can handle, so it keeps its role in every split.": "Nothing: a note.",
    "k = …, but only … records are there to be released.": "Choose a smaller k, or give more records.",
    "no quasi is numeric: there is no epsilon-quasi, and no k-quasi with a step or intervals.": "Leave out `--split`, or give a number a `step` or `intervals`.",
    "no value is given to explore.": "Give at least one value of what the message begins with, or leave it out to take the policy's.",
    "should be a whole number.": "Write one, such as 10.",
    "the records that are there are not those that were measured; nothing was released.": "Something changed the table during the run: copy it, and run the command on the copy.",
    'there is no column "…" with a role to look into.': "Name a column that the policy gives a role.",
    "there is no epsilon-quasi to average.": "Leave out `--group`, or make a number an ε-quasi.",
    "a grid is written as …, by its suffix.": "Choose one of these suffixes.",
    "is not a key of the policy.": "The message names the nearest key. Correct the name, or take it out.",
    "is UTF-16 text.": "Save it as UTF-8; the message says how.",
    'the policy has a role for "…", but there is no such column.': "The message names the nearest column. Correct the name in the policy, or take the section out.",
    "gives people away, which the policy accepts: … (…).": "Nothing, if the reason in `accept_leak` still holds. The message says what would help.",
    "is published though it may give people away, which the policy accepts: … (…).": "Nothing, if the reason in `accept_leak` still holds. The message says what would help.",
    "its name begins like a formula (…).": "The message says what a spreadsheet would make of it. Rename the column.",
    "… cells begin like a formula (…).": "Open the release as text, not in a spreadsheet, or clean the column first.",
    "a spread needs two runs at least.": "Ask for two runs or more.",
    "epsilon and group cannot be given together: splits are compared with noise or with averages, not with both.": "Leave one of them out.",
    "no cell qualifies.": "Explore other k, epsilon, groups to average or algorithms, or allow more. The message says which limit no cell keeps.",
    "records of a DataFrame have no position, so nothing can say which they were.": "Write the DataFrame to Parquet first, and give its path.",
    "should be a number, 0 or more.": "Write one, such as 0.1.",
    "should be a share, 0 to 1.": "Write one, such as 0.05 for 5 %.",
    "… numeric quasis have 2^… splits: only those are compared that change one attribute.": "Nothing: a note.",
    "… of its labels begin like a formula (…).": "Open the release as text, not in a spreadsheet, or word the labels otherwise.",
}  # fmt: skip
"""What to do where the code words no advice, because the message is the advice or cannot know it."""
FOLDERS = {
    "policy": IN_POLICY,
    "classify": "Data that does not fit the policy",
    "count": "Data that does not fit the policy",
    "table": "Data that does not fit the policy",
    "encodings": "Data that does not fit the policy",
    "sources": "Reading and writing tables",
    "special_files": "Reading and writing tables",
    "engines": "Reading and writing tables",
    "files": "Reading and writing tables",
    "publish": "Outputs",
    "kanonymise": REFUSALS,
    "predict": f"{REFUSALS}, and notes before a release",
    "perturb": "Noise and averages",
    "pipeline": "Running a command",
    "cli": "Running a command",
    "propose": "Proposing a policy",
    "grid": "explore",
    "auditing": "audit",
    "reproduce": REPRODUCTION,
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
        lines += [
            f"| {cell(what)} | {cell(_advice(what, title) if _says_nothing(fix) else fix)} |" for what, fix in found
        ]
    return "\n".join(lines) + "\n"


def _says_nothing(fix: str) -> bool:
    """Whether the advice is made of what the data is like, so that nothing of it can be shown here."""
    return not re.sub(r"What would work(, or may)?:", "", fix).strip("… .")


def _advice(what: str, title: str) -> str:
    """What to do about a message that the code gives no advice with."""
    if what in BY_MESSAGE:
        return BY_MESSAGE[what]
    if title.startswith(REFUSALS):
        return "The message lists what would work on this data. [Why was my release refused](../how-to/refused.md) says why."
    if title == IN_POLICY:
        return "Change it, at the place in the policy that the message begins with."
    if title == REPRODUCTION:
        return "`--data` has to name the folder that holds UCI's `adult.data`, as it was downloaded."
    raise LookupError(f"tools/reference/errors.py: say in BY_MESSAGE what to do about {what!r}")


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
    return {title: sorted(_with_advice(own)) for title, own in found.items() if own}


def _with_advice(found: dict[tuple[str, str], None]) -> list[tuple[str, str]]:
    """Messages and advice; a message that has advice somewhere needs no row without."""
    advised = {what for what, fix in found if not _says_nothing(fix)}
    return [(what, fix) for what, fix in found if not _says_nothing(fix) or what not in advised]


def _messages(file: Path) -> Iterator[tuple[str, str]]:
    """What and fix of every `Problem` that a module words, and the text of every `PydanticCustomError`.

    Words that were given a name before are looked up in the same function, and so are the words that a function of the
    module is handed which makes a `Problem` of them.
    """
    tree = ast.parse(file.read_text(encoding="utf-8"))
    functions = [own for own in ast.walk(tree) if isinstance(own, ast.FunctionDef)]
    makers = {own.name: own for own in functions if _made_of_arguments(own)}
    for scope in (tree, *functions):
        named: dict[str, list[ast.expr]] = {}
        is_used: set[str] = set()
        for node in _in_order(scope):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                name = node.targets[0].id
                named[name] = [*([] if name in is_used else named.get(name, [])), node.value]
                is_used.discard(name)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                for what, fix in _worded_by(node, makers):
                    is_used |= {own.id for own in (what, fix) if isinstance(own, ast.Name)}
                    fixes = [""] if fix is None else _texts(fix, named)
                    whats = [words for words in _texts(what, named) if words.strip("… .")]
                    # Several of both belong together in an order that is not known here: the message says which.
                    yield from ((words, fixes[0] if len(fixes) == 1 else "") for words in whats)


def _in_order(scope: ast.AST) -> list[ast.AST]:
    """What stands in a function, as it is read, without the functions inside it."""
    found: list[ast.AST] = []
    for own in ast.iter_child_nodes(scope):
        if not isinstance(own, ast.FunctionDef):
            found += [*_in_order(own), own]
    return found


def _made_of_arguments(function: ast.FunctionDef) -> tuple[int, int | None] | None:
    """Which arguments of a function are what and fix of the `Problem` that it makes; None if it makes none of them."""
    names = [own.arg for own in (*function.args.posonlyargs, *function.args.args)]
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Problem":
            words = {own.arg: own.value.id for own in node.keywords if isinstance(own.value, ast.Name)}
            if words.get("what") in names:
                return names.index(words["what"]), names.index(words["fix"]) if words.get("fix") in names else None
    return None


def _worded_by(call: ast.Call, makers: dict[str, ast.FunctionDef]) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    """What and fix that a call words, if it makes a problem."""
    assert isinstance(call.func, ast.Name)
    if call.func.id == "Problem":
        words = {own.arg: own.value for own in call.keywords}
        if "what" in words:
            yield words["what"], words.get("fix")
    elif call.func.id == "PydanticCustomError" and len(call.args) > 1:
        yield call.args[1], None
    elif call.func.id in makers:
        what, fix = _made_of_arguments(makers[call.func.id]) or (0, None)
        if len(call.args) > what:
            yield call.args[what], call.args[fix] if fix is not None and len(call.args) > fix else None


def _texts(node: ast.expr, named: dict[str, list[ast.expr]]) -> list[str]:
    """The texts that an expression can be: those that a name was given, or each of several that are chosen from."""
    if isinstance(node, ast.Name):
        others = {name: own for name, own in named.items() if name != node.id}
        return [words for own in named.get(node.id, []) for words in _texts(own, others)] or ["…"]
    if isinstance(node, ast.BoolOp):
        return [words for own in node.values for words in _texts(own, named)]
    if isinstance(node, ast.IfExp):
        return [*_texts(node.body, named), *_texts(node.orelse, named)]
    return [re.sub(r"\{\w+\}", "…", _text(node))] if isinstance(node, ast.Constant) else [_text(node)]


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
