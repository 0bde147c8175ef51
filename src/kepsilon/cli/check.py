# SPDX-License-Identifier: Apache-2.0
"""`kepsilon check`: everything that is wrong with data and policy, or what a release would be like."""

from __future__ import annotations

import json
from pathlib import Path

import click

import kepsilon
from kepsilon.cli.engine_options import engine_arguments, engine_options, refuse_misfits
from kepsilon.cli.next_command import free_name, place_options, release_name, show_next
from kepsilon.cli.paths import AnyPath
from kepsilon.cli.progress import progress
from kepsilon.cli.summary import figures_of_prediction, show_attackers, show_figures
from kepsilon.cli.surroundings import showing
from kepsilon.cli.verdict import show_verdict
from kepsilon.cli.wrapping import note


@click.command()
@click.argument("input_path", metavar="INPUT", type=AnyPath())
@click.option("-p", "--policy", "policy_path", required=True, type=AnyPath(), help="The policy file (TOML).")
@click.option(
    "--show-values",
    metavar="COLUMN",
    help="Only show the values of COLUMN that the policy does not cover. They come from records: for your eyes only.",
)
@engine_options("in the system's folder for temporary files")
@click.option("--json", "as_json", is_flag=True, help="Print the prediction as JSON.")
def check(
    input_path: Path,
    policy_path: Path,
    show_values: str | None,
    engine: str,
    master: str | None,
    memory: str | None,
    spill_folder: Path | None,
    as_json: bool,
) -> None:
    """Check INPUT against a policy without releasing anything.

    Reports every mistake in data and policy at once (exit code 2), or that the policy cannot be met (exit code 3), or what
    a release would be like (exit code 0).
    """
    refuse_misfits(engine, master, memory, spill_folder)
    policy = kepsilon.Policy.from_file(policy_path)
    if show_values is not None:
        found = kepsilon.offending_values(input_path, policy, show_values)
        with showing("the values"):
            for value, n_records in found:
                click.echo(f"{n_records:>9,}  {value}")
        return
    with progress() as on_step:
        arguments = engine_arguments(engine, master, memory, spill_folder, on_step)
        prediction = kepsilon.check(input_path, policy, on_step=on_step, **arguments)
    with showing("the prediction"):
        if as_json:
            click.echo(json.dumps(prediction.to_json(), indent=2, ensure_ascii=False))
        else:
            _show(prediction)
            output = release_name(input_path)
            report = free_name(output.with_suffix(".html"))
            place = place_options(engine, master, memory, spill_folder)
            show_next("anonymise", input_path, "-p", policy_path, *place, "-o", output, "--report", report)


def _show(prediction: kepsilon.Prediction) -> None:
    """Prints warnings, figures and attackers, then the verdict."""
    if prediction.warnings:
        click.echo("\n\n".join(note(warning) for warning in prediction.warnings))
    show_figures(figures_of_prediction(prediction))
    show_attackers(prediction.attackers)
    show_verdict(prediction)
    click.echo("\nThe policy can be met. Nothing was written.")
