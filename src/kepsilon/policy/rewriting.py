# SPDX-License-Identifier: Apache-2.0
"""Writes a policy file with some values changed; comments and order stay, and no existing file is replaced."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kepsilon.errors import EngineError, Problem, guarded
from kepsilon.policy.names import shown_name
from kepsilon.policy.policy import Policy

EDIT_ME = "edit me: must not come from the data"
FROM_THE_DATA = ("range", "domain", "step", "hierarchy")
"""Settings that are published, and that a proposal made from the data."""
EDIT_SWITCHED = (
    "# EDIT the attributes that explore gave another role: their numbers are round ones, proposed from the data. They are\n"
    "# published, so write what you would have written without looking at the data.\n"
)


@guarded
def write_policy(source: Path, target: Path, changes: Mapping[str, Any]) -> None:
    """Writes the policy of `source` to `target` with other values of top-level keys; None takes a key out.

    `changes["attributes"]`, if there is one, gives all settings of attributes that are replaced: they were proposed from the
    data, which the comments say. Paths of hierarchy files are rewritten where needed, so that they still lead to the same files.
    """
    write_new_policy(target, "".join(_rewritten(source, target, changes)))


@guarded
def policy_difference(source: Path, changes: Mapping[str, Any]) -> list[str]:
    """The lines of a policy file that `write_policy` would change, each after "- " as it is or "+ " as it would be."""
    before = source.read_text(encoding="utf-8-sig").splitlines()
    _, after = _rewritten(source, source, changes)
    new = after.splitlines()
    found: list[str] = []
    for kind, start, end, new_start, new_end in difflib.SequenceMatcher(
        None, before, new, autojunk=False
    ).get_opcodes():
        if kind != "equal":
            found += [f"- {line}" for line in before[start:end]] + [f"+ {line}" for line in new[new_start:new_end]]
    return found


def _rewritten(source: Path, target: Path, changes: Mapping[str, Any]) -> tuple[str, str]:
    """A comment that says what changed, and the text of the policy that is written to `target`, if it is a policy."""
    import tomlkit

    text = source.read_text(encoding="utf-8-sig")
    document = tomlkit.parse(text)
    attributes: Mapping[str, Mapping[str, Any]] = changes.get("attributes", {})
    stated = {key: value for key, value in changes.items() if value is not None and key != "attributes"}
    taken_out = [key for key, value in changes.items() if value is None and key in document]
    for key in taken_out:
        document.pop(key)
    lacking = [key for key in stated if key not in document]
    document = tomlkit.parse(_with_new_lines(tomlkit.dumps(document), lacking))
    for key, value in stated.items():
        if isinstance(value, Mapping) and key not in lacking:
            _change_table(document[key], value)
        else:
            document[key] = _inline(value) if isinstance(value, Mapping) else value
    for name, settings in attributes.items():
        _replace_attribute(document["attributes"][name], settings)
    for attribute in document["attributes"].values():
        if "averages" in stated:
            attribute.pop("mechanism", None)
        hierarchy = attribute.get("hierarchy", {})
        if hierarchy.get("type") == "file":
            path = (source.parent / hierarchy["path"]).resolve()
            hierarchy["path"] = Path(os.path.relpath(path, target.parent.resolve())).as_posix()
    gone = f" Taken out: {', '.join(taken_out)}." if taken_out else ""
    chosen = ", ".join([*stated, *(f"attributes.{name}" for name in attributes)])
    head = f"# {shown_name(chosen)}: chosen by kepsilon explore.{gone} Other comments are those of {source.name}.\n"
    head += EDIT_SWITCHED if attributes else ""
    body = tomlkit.dumps(document)
    Policy.from_dict(tomlkit.parse(head + body).unwrap(), folder=target.parent)
    return head, body


@guarded
def write_new_policy(path: Path, text: str) -> None:
    """Writes the text of a policy to a new file: all of it, or nothing; no existing file is replaced."""
    check_new_policy(path)
    try:
        with path.open("x", encoding="utf-8") as file:
            try:
                file.write(text)
                file.flush()
            except BaseException:
                path.unlink(missing_ok=True)
                raise
    except FileExistsError:
        raise _exists(path) from None
    except OSError as error:
        raise EngineError(
            Problem(where=str(path), what=f"cannot write the policy: {error.strerror or 'unknown reason'}.")
        ) from None


@guarded
def check_new_policy(path: Path) -> None:
    """Refuses a path where no new policy can be written, before any data is read; no existing file is replaced."""
    if "\0" in str(path):
        raise EngineError(
            Problem(where=str(path).replace("\0", "\\0"), what="holds a character that no name can have.")
        )
    if os.path.lexists(path):
        raise _exists(path)
    if not path.parent.is_dir():
        raise EngineError(
            Problem(where=str(path), what=f"there is no folder {path.parent} to write to.", fix="Create it first.")
        )
    if not os.access(path.parent, os.W_OK):
        raise EngineError(
            Problem(where=str(path), what="the folder may not be written to.", fix="Choose another folder.")
        )


def _exists(path: Path) -> EngineError:
    return EngineError(
        Problem(
            where=str(path),
            what="exists already, and a policy is never overwritten.",
            fix="Choose another name, or remove it first.",
        )
    )


def _inline(value: Mapping[str, Any]) -> Any:
    """A table of numbers and settings in one line: one with a header would take the keys below it for its own."""
    import tomlkit

    stated = ", ".join(f"{key} = {tomlkit.item(own).as_string()}" for key, own in value.items() if own is not False)
    return tomlkit.parse(f"table = {{ {stated} }}")["table"]


def _replace_attribute(table: Any, settings: Mapping[str, Any]) -> None:
    """Gives an attribute other settings, with a comment where a number was proposed from the data; its own comments stay."""
    import tomlkit
    from tomlkit.items import InlineTable

    for key in [*table]:
        table.pop(key)
    for key, value in settings.items():
        item = _inline(value) if isinstance(value, Mapping) else tomlkit.item(value)
        if key in FROM_THE_DATA and not isinstance(table, InlineTable):
            item.comment(EDIT_ME)
        table.add(key, item)


def _change_table(table: Any, value: Mapping[str, Any]) -> None:
    """Gives the keys of a table other values; comments in it stay, and what is off, and was not stated, is not written."""
    for key, own in value.items():
        if key in table or own is not False:
            table[key] = own


def _with_new_lines(text: str, keys: list[str]) -> str:
    """The text of a policy with lines for new keys below max_suppression, where a reader would look for them."""
    new_lines = "".join(f"{key} = 0\n" for key in keys)
    return re.sub(r"(?m)^(max_suppression\s*=.*\n)", lambda line: line[0] + new_lines, text, count=1)
