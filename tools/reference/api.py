# SPDX-License-Identifier: Apache-2.0
"""The page of public names, from their signatures and docstrings."""

from __future__ import annotations

import inspect
import re

import kepsilon

PARTS = {
    "What a curator does": [
        "propose_policy", "propose_with_reasons", "check", "explore", "anonymise", "audit", "manifest", "offending_values",
        "estimate_needs", "spark_engine",
    ],
    "What comes back": [
        "ProposedPolicy", "ProposedColumn", "Prediction", "Grid", "Cell", "Choice", "Release", "Written", "Manifest", "Record", "Audit", "AuditFinding", "Needs",
        "Estimate", "Attacker",
    ],
    "What is wanted": ["Policy", "Limits", "json_schema", "write_policy", "write_new_policy", "policy_difference"],
    "Before any work is done": [
        "check_outputs", "earlier_draw", "check_grid_output", "check_new_policy", "Input", "inputs_of", "refuse_input",
    ],
    "What can go wrong": [
        "AnonymisationError", "PolicyError", "DataError", "UnsatisfiableError", "EngineError", "Problem",
        "UnexpectedError", "InterruptedAfterRelease", "EarlierDrawWarning",
    ],
    "The paper, and something to try": [
        "reproduce_paper", "Reproduction", "DEMO_POLICY", "made_up_patients", "__version__",
    ],
}  # fmt: skip
CONSTANTS = {
    "DEMO_POLICY": "The text of a policy file for the patients of `made_up_patients`.",
    "__version__": "The version of the package.",
}


def page() -> str:
    forgotten = {own for part in PARTS.values() for own in part} ^ set(kepsilon.__all__)
    if forgotten:
        raise LookupError(f"tools/reference/api.py: say in PARTS where {', '.join(sorted(forgotten))} stands")
    lines = [
        "# Python names",
        "",
        "Everything that `import kepsilon` offers; whatever is not listed here may change without notice.",
        "`make docs-reference` writes this page. [policy.md](policy.md) explains policies, [record.md](record.md) records.",
        "",
        "Every risk on this page is that of an attacker who knows the quasis of everybody, unless another is named.",
    ]
    for title, names in PARTS.items():
        lines += ["", f"## {title}"]
        for name in names:
            lines += ["", f"### `{name}`", "", *entry(name)]
    return "\n".join(lines) + "\n"


def entry(name: str) -> list[str]:
    """The signature of a function, and what its docstring says; the public properties and methods of a class."""
    if name in CONSTANTS:
        return [CONSTANTS[name]]
    found = getattr(kepsilon, name)
    text = (inspect.getdoc(found) or "").strip()
    if not inspect.isclass(found):
        return [f"`{name}{signature(found)}`", "", text]
    members = [
        f"- `{own}`: {first_sentence(value)}"
        for own, value in vars(found).items()
        if not own.startswith("_") and first_sentence(value)
    ]
    return [text, "", *members] if members else [text]


def signature(function: object) -> str:
    found = inspect.signature(function)  # type: ignore[arg-type]
    plain = [parameter.replace(annotation=parameter.empty) for parameter in found.parameters.values()]
    shown = str(found.replace(parameters=plain, return_annotation=found.empty))
    return re.sub(r"<function (\S+) at 0x\w+>", lambda own: own[1].replace("<lambda>", "…"), shown)


def first_sentence(member: object) -> str:
    """Of a method or property; nothing for what is neither, or has no docstring."""
    function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
    is_ours = inspect.isfunction(function) and function.__module__.startswith("kepsilon")
    return (inspect.getdoc(function) or "").split("\n")[0] if is_ours else ""
