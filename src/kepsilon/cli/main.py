# SPDX-License-Identifier: Apache-2.0
"""The `kepsilon` command: its sub-commands and exit codes; all errors become messages here."""

from __future__ import annotations

import io
import signal
import sys
from types import FrameType
from typing import Any

import click

import kepsilon
from kepsilon.cli.anonymise import anonymise
from kepsilon.cli.audit import audit
from kepsilon.cli.check import check
from kepsilon.cli.demo import demo
from kepsilon.cli.explore import explore
from kepsilon.cli.init import init
from kepsilon.cli.manifest import manifest
from kepsilon.cli.reproduce import reproduce
from kepsilon.cli.schema import schema

DONE, BUG, WRONG, INTERRUPTED = 0, 1, 2, 130


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
    signal.signal(signal.SIGTERM, _interrupt)
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # nohup has it ignored
        signal.signal(signal.SIGHUP, _interrupt)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that cannot show ε is no reason to stop
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Runs one command and returns its exit code; however it ends, it prints at most one message and no traceback."""
    try:
        result: Any = commands.main(arguments, prog_name="kepsilon", standalone_mode=False)
    except kepsilon.AnonymisationError as error:
        click.echo(f"kepsilon: {error}", err=True)
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return WRONG
    except (KeyboardInterrupt, click.Abort):
        click.echo("kepsilon: interrupted; nothing was released.", err=True)
        return INTERRUPTED
    except SystemExit:  # click raises it when nobody reads the output any more, as in `kepsilon … | head`
        return DONE
    except OSError as error:
        click.echo(f"kepsilon: {error.strerror or 'input/output error'}; nothing was released.", err=True)
        return WRONG
    except MemoryError:
        click.echo("kepsilon: out of memory; nothing was released.", err=True)
        return WRONG
    except Exception as error:  # noqa: BLE001 (its text is not shown, because it might hold a record)
        found = kepsilon.UnexpectedError.of(error)
        click.echo(f"kepsilon: a bug of ours ({found.kind} {found.place}); nothing was released.", err=True)
        click.echo("  The details are not shown, because they might hold records. Please report this line.", err=True)
        return BUG
    return result if isinstance(result, int) else DONE


def _interrupt(_number: int, frame: FrameType | None) -> None:
    """Interrupts the command as Ctrl-C does; this also makes Spark stop its jobs, which would be waited for otherwise."""
    on_ctrl_c = signal.getsignal(signal.SIGINT)
    if callable(on_ctrl_c):
        on_ctrl_c(signal.SIGINT, frame)
    raise KeyboardInterrupt
