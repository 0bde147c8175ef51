# SPDX-License-Identifier: Apache-2.0
"""`kepsilon check`: everything that is wrong with data and policy, or what a release would be like."""

from __future__ import annotations

import json
from pathlib import Path

import click

import kepsilon
from kepsilon.cli.engine_options import engine_arguments, engine_options, refuse_misfits
from kepsilon.cli.losses import losses_in_words
from kepsilon.cli.paths import AnyPath
from kepsilon.cli.screen import agreements, note, progress, show_attackers, show_lines
from kepsilon.cli.surroundings import showing


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


def _show(prediction: kepsilon.Prediction) -> None:
    show_lines(_lines(prediction))
    click.echo()
    show_attackers(prediction.attackers)
    for warning in prediction.warnings:
        click.echo(f"\n{note(warning)}")
    click.echo("\nThe policy can be met. Nothing was written.")


def _lines(found: kepsilon.Prediction) -> list[tuple[str, str]]:
    records, classes = found.records, found.classes
    of = " of the counted" if records.counted < records.read else ""
    lines = [("records", f"{records.read:,}")]
    if records.suppressed_missing:
        lines.append(("left out, value missing", f"{records.suppressed_missing:,}"))
    if records.suppressed_unlisted:
        lines.append(("left out, value unlisted", f"{records.suppressed_unlisted:,}"))
    if records.suppressed_by_cap:
        lines.append(("left out, cap per person", f"{records.suppressed_by_cap:,}"))
    lines += [
        ("combinations of k-quasis", f"{found.n_combinations:,}"),
        ("left out for k", f"{records.suppressed_by_k:,}  ({found.suppressed_by_k:.2%}{of})"),
        ("classes", f"{classes.count:,}, with {classes.smallest:,} to {classes.largest:,} records each"),
    ]
    if found.persons is not None:
        lines.append(("persons", found.persons.in_words))
    if found.groups is not None:
        lines.append(("averages", found.groups.in_words(of="records" if found.persons is None else "persons")))
    if found.levels:
        lines.append(("levels", ", ".join(f"{name} {level}" for name, level in found.levels.items())))
    lines += losses_in_words(found)
    for name, error in found.error.items():
        if error.expected_relative is not None:
            lines.append((f"error of {name}", f"{error.expected_relative:.1%} expected, relative to the value"))
        in_units = found.survives[name].in_words
        if in_units is not None:
            lines.append((f"{name} is off by", in_units))
    for name, outliers in found.outliers.items():
        lines.append((f"outliers of {name}", outliers.in_words()))
    lines.append(("linking risk", found.risk_in_words))
    averaged = found.groups is not None
    largest = found.linking_risk.by_matching_in_words([*found.loss.ncp.by_attribute, *found.error], averaged=averaged)
    lines.append(("largest single risk", largest))
    lines += agreements(found)
    if found.confident_k is not None:
        share = found.confident_k.of_entering.total
        lines.append(("left out for confidence", f"{share:.2%} of the rest, expected"))
    if found.confident_k is not None or of:
        expected = ", expected" if found.confident_k is not None else ""
        lines.append(("left out altogether", f"{found.suppression.total:.2%} of those read{expected}"))
    return lines
