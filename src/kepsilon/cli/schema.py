# SPDX-License-Identifier: Apache-2.0
"""`kepsilon schema`: the JSON Schema of the policy file."""

from __future__ import annotations

import json

import click

import kepsilon
from kepsilon.cli.surroundings import showing


@click.command()
def schema() -> None:
    """Print the JSON Schema of the policy file.

    Editors can use it to check and complete policy files.
    """
    with showing("the schema"):
        click.echo(json.dumps(kepsilon.json_schema(), indent=2, ensure_ascii=False))
