# SPDX-License-Identifier: Apache-2.0
"""The page of commands, from what click knows of them: the text of `--help`, as tables."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

from kepsilon.cli.main import commands
from reference.field_texts import cell


def page() -> str:
    lines = [
        "# Commands",
        "",
        "Every command with all its arguments and options, as `kepsilon COMMAND --help` has them. "
        "[How a command ends](endings.md) has the exit codes.",
        "",
        "Every risk on this page is that of an attacker who knows the quasis of everybody, unless another is named.",
    ]
    for name, command in commands.commands.items():
        lines += ["", f"## kepsilon {name}", "", *_command(name, command)]
    return "\n".join(lines) + "\n"


def _command(name: str, command: click.Command) -> Iterator[str]:
    with click.Context(command, info_name=f"kepsilon {name}") as context:
        usage = command.get_usage(context).removeprefix("Usage: ")
    yield from ("```sh", re.sub(r"\s+", " ", usage), "```", "", *_paragraphs(command.help or ""))
    options = [own for own in command.params if isinstance(own, click.Option)]
    if options:
        yield from ("", "| option | meaning |", "|---|---|")
    for option in options:
        yield f"| {_spelled(option)} | {cell(option.help or '')}{_default(option)} |"


def _paragraphs(text: str) -> Iterator[str]:
    """The paragraphs of a help text; those that click must not wrap are code."""
    for index, paragraph in enumerate(re.split(r"\n\s*\n", text.strip())):
        if index:
            yield ""
        if "\b" in paragraph:
            body = [line.rstrip() for line in paragraph.replace("\b", "").strip("\n").split("\n")]
            yield from ("```text", *body, "```")
        else:
            yield re.sub(r"\s+", " ", paragraph).strip()


def _spelled(option: click.Option) -> str:
    names = ", ".join(f"`{own}`" for own in [*option.opts, *option.secondary_opts])
    if option.is_flag:
        return names
    kind = (
        "\\|".join(option.type.choices)
        if isinstance(option.type, click.Choice)
        else option.metavar or option.type.name.upper()
    )
    return f"{names} {kind}"


def _default(option: click.Option) -> str:
    if option.required:
        return " *Required.*"
    return f" *Default: {option.default}.*" if option.show_default else ""
