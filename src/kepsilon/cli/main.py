# SPDX-License-Identifier: Apache-2.0
"""The `kepsilon` command: its sub-commands, and how it is started and ended."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click

import kepsilon
from kepsilon.cli.anonymise import anonymise
from kepsilon.cli.audit import audit
from kepsilon.cli.check import check
from kepsilon.cli.demo import demo
from kepsilon.cli.endings import DONE, end
from kepsilon.cli.explore import explore
from kepsilon.cli.init import init
from kepsilon.cli.manifest import manifest
from kepsilon.cli.reproduce import reproduce
from kepsilon.cli.schema import schema
from kepsilon.cli.surroundings import (
    Interrupt,
    RunState,
    ignore_signals,
    interrupt_on_signals,
    leave_pandas_out,
    open_closed_streams,
    refuse_little_address_space,
)


class Commands(click.Group):
    """Sub-commands in the order in which a newcomer needs them; anonymise has two spellings."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's signature)
        return list(self.commands)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return super().get_command(ctx, "anonymise" if cmd_name == "anonymize" else cmd_name)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(kepsilon.__version__, prog_name="kepsilon")
def commands() -> None:
    """Turn a table about people into one that can be given away.

    (k,ε)-anonymity: k-quasis are columns that others may know, such as a postcode. They are generalised until at least k
    records share every published combination; records that share one form a class. epsilon-quasis are numbers that
    others may know, such as a weight. Noise makes them ε-indistinguishable within each class.

    \b
    Start here:
      kepsilon demo                                    a complete release of made-up patients
      kepsilon init data.csv -o policy.toml            a policy to edit, proposed from your data
      kepsilon check data.csv -p policy.toml           what is wrong, or what a release would be like
      kepsilon explore data.csv -p policy.toml         what other k and ε would cost, and which suit your limits
      kepsilon anonymise data.csv -p policy.toml -o release.csv
      kepsilon audit data.csv release.csv -p policy.toml
      kepsilon manifest release.csv -p policy.toml     its public description, worked out again
      kepsilon reproduce --data FOLDER                 the paper's figures, and which of its claims hold
    """


for command in (demo, init, check, explore, anonymise, audit, manifest, reproduce, schema):
    commands.add_command(command)


def main() -> None:
    interrupt = interrupt_on_signals()
    open_closed_streams()
    refuse_little_address_space()
    leave_pandas_out(sys.argv[1:])
    sys.exit(run(sys.argv[1:], before_words=ignore_signals, interrupt=interrupt))


def run(
    arguments: list[str], *, before_words: Callable[[], None] = lambda: None, interrupt: Interrupt | None = None
) -> int:
    """Runs one command and returns its exit code; however it ends, it prints at most one message and no traceback.

    `before_words` is called when the command is over; `interrupt` is what signals call.
    """
    state = RunState(interrupt=interrupt)
    code: Any
    try:
        code = commands.main(arguments, prog_name="kepsilon", standalone_mode=False, obj=state)
        before_words()
    except BaseException as error:  # noqa: BLE001 (its text is not shown, because it might hold a record)
        before_words()
        return end(error, state)
    return code if isinstance(code, int) else DONE
