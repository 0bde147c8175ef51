# SPDX-License-Identifier: Apache-2.0
"""`kepsilon manifest`: the public manifest of a release, worked out from the release alone."""

from __future__ import annotations

from pathlib import Path

import click

import kepsilon
from kepsilon.cli.paths import AnyPath
from kepsilon.cli.screen import note, progress
from kepsilon.cli.surroundings import say, showing


@click.command()
@click.argument("release_path", metavar="RELEASE", type=AnyPath())
@click.option("-p", "--policy", "policy_path", required=True, type=AnyPath(), help="The policy file (TOML).")
@click.option("-o", "--output", type=AnyPath(), help="Write the manifest to this file instead.")
@click.option("--overwrite", is_flag=True, help="Replace an existing manifest; no other file is replaced.")
def manifest(release_path: Path, policy_path: Path, output: Path | None, overwrite: bool) -> None:
    """Print the public manifest of RELEASE as JSON.

    It is worked out from the released table and the policy, without the original. So anybody who has both can see that a
    manifest tells nothing else. The day, the version and whether a seed was used are copied from the manifest beside
    RELEASE. Exit code 2 if RELEASE cannot be a release under the policy.
    """
    policy = kepsilon.Policy.from_file(policy_path)
    notes: list[str] = []
    with progress() as on_step:
        found = kepsilon.manifest(release_path, policy, on_step=on_step, on_note=notes.append)
    for found_note in notes:
        say(note(found_note))
    if output is None:
        with showing("the manifest"):
            click.echo(found.to_text(), nl=False)
        return
    release = kepsilon.Input(path=release_path.absolute(), role="the release")
    found.write(output, overwrite=overwrite, inputs=(release, *kepsilon.inputs_of(policy=policy)))
    say(f"Wrote {output}.")
