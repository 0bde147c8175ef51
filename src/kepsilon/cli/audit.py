# SPDX-License-Identifier: Apache-2.0
"""`kepsilon audit`: checks a release against its original and its policy with code of its own."""

from __future__ import annotations

import json
from pathlib import Path

import click

import kepsilon
from kepsilon.cli.colours import coloured
from kepsilon.cli.paths import AnyPath
from kepsilon.cli.progress import progress
from kepsilon.cli.screen import show_wrapped
from kepsilon.cli.summary import show_attackers
from kepsilon.cli.surroundings import showing
from kepsilon.cli.wrapping import width, wrapped

BROKEN = 3
SEVERITIES = ("broken", "warning", "note", "passed")


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
    show_wrapped(found.headline)
    click.echo()
    for severity in SEVERITIES:
        for finding in found.findings:
            if finding.severity == severity:
                lines = wrapped(f"{finding.check}: {finding.what}", room=width() - 9)
                click.echo(coloured(severity.ljust(9), bold=True) + lines[0])
                for line in lines[1:]:
                    click.echo(" " * 9 + line)
    if found.figures.attackers is not None:
        show_attackers(found.figures.attackers)
    click.echo()
    n_broken = len(found.broken)
    if n_broken and all(finding.check == "linkage" for finding in found.broken):
        show_wrapped("The linkage contradicts the release; of the release itself no promise was found broken.")
    elif n_broken:
        show_wrapped(
            f"{n_broken} {'promise is' if n_broken == 1 else 'promises are'} broken: do not give this release away."
        )
    else:
        show_wrapped(
            "No promise was found broken. The findings are for you only, because the audit read the originals."
        )
