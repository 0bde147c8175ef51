# SPDX-License-Identifier: Apache-2.0
"""`kepsilon audit`: checks a release against its original and its policy with code of its own."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import click

import kepsilon
from kepsilon.cli.paths import AnyPath
from kepsilon.cli.screen import progress, show_attackers
from kepsilon.cli.surroundings import showing

BROKEN = 3
COLOURS = {"broken": "red", "warning": "yellow", "note": "cyan", "passed": "green"}


@click.command()
@click.argument("original_path", metavar="ORIGINAL", type=AnyPath())
@click.argument("release_path", metavar="RELEASE", type=AnyPath())
@click.option("-p", "--policy", "policy_path", required=True, type=AnyPath(), help="The policy file (TOML).")
@click.option(
    "--linkage",
    type=AnyPath(),
    help="The file that `anonymise --linkage` wrote: which original record each released one was. It allows more checks.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def audit(original_path: Path, release_path: Path, policy_path: Path, linkage: Path | None, as_json: bool) -> int:
    """Check whether RELEASE keeps the promises of a policy.

    ORIGINAL is the table that RELEASE was made from. The audit uses none of the code that makes classes, noise and
    releases. Exit code 0: no promise was found broken; 3: a promise is broken; 2: something cannot be read.
    """
    policy = kepsilon.Policy.from_file(policy_path)
    with progress() as on_step:
        found = kepsilon.audit(original_path, release_path, policy, linkage=linkage, on_step=on_step)
    with showing("the findings"):
        if as_json:
            click.echo(json.dumps(found.to_json(), indent=2, ensure_ascii=False))
        else:
            _show(found)
    return BROKEN if found.broken else 0


def _show(found: kepsilon.Audit) -> None:
    width = max(40, min(110, shutil.get_terminal_size().columns))
    click.echo(click.wrap_text(found.headline, width=width))
    click.echo()
    for severity, colour in COLOURS.items():
        for finding in found.findings:
            if finding.severity == severity:
                text = f"{finding.check}: {finding.what}"
                lines = click.wrap_text(text, width=width - 9).splitlines()
                click.echo(click.style(severity.ljust(9), fg=colour, bold=True) + lines[0])
                for line in lines[1:]:
                    click.echo(" " * 9 + line)
    click.echo()
    if found.figures.attackers is not None:
        show_attackers(found.figures.attackers)
        click.echo()
    n_broken = len(found.broken)
    if n_broken and all(finding.check == "linkage" for finding in found.broken):
        click.echo("The linkage contradicts the release; of the release itself no promise was found broken.")
    elif n_broken:
        click.echo(
            f"{n_broken} {'promise is' if n_broken == 1 else 'promises are'} broken: do not give this release away."
        )
    else:
        click.echo("No promise was found broken. The findings are for you only, because the audit read the originals.")
