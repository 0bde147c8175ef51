# SPDX-License-Identifier: Apache-2.0
"""`kepsilon check`: everything wrong with data and policy at once, and what the policy can achieve."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import click

import kepsilon
from kepsilon.cli.screen import progress, show_lines


@click.command()
@click.argument("input_path", metavar="INPUT", type=click.Path(path_type=Path))
@click.option(
    "-p", "--policy", "policy_path", required=True, type=click.Path(path_type=Path), help="The policy file (TOML)."
)
@click.option(
    "--show-values",
    metavar="COLUMN",
    help="Show the values of COLUMN that the policy cannot place. They are values of records: for your eyes only.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def check(input_path: Path, policy_path: Path, show_values: str | None, as_json: bool) -> None:
    """Check INPUT against a policy without releasing anything.

    Says everything that is wrong at once (exit code 2), that the policy cannot be met (3), or what it would achieve.
    """
    policy = kepsilon.Policy.from_file(policy_path)
    if show_values is not None:
        for value, n_records in kepsilon.offending_values(input_path, policy, show_values):
            click.echo(f"{n_records:>9,}  {value}")
        return
    with progress() as on_step:
        finding = kepsilon.check(input_path, policy, on_step=on_step)
    if as_json:
        click.echo(json.dumps(dataclasses.asdict(finding), indent=2, ensure_ascii=False))
        return
    show_lines(_lines(finding))
    for note in finding.notes:
        click.echo(f"\nnote: {note}")
    click.echo("\nThe policy can be met. Nothing was written.")


def _lines(finding: kepsilon.Finding) -> list[tuple[str, str]]:
    of = " of the counted" if finding.n_missing or finding.n_unlisted else ""
    lines = [("records", f"{finding.n_records:,}")]
    if finding.n_missing:
        lines.append(("left out, value missing", f"{finding.n_missing:,}"))
    if finding.n_unlisted:
        lines.append(("left out, value unlisted", f"{finding.n_unlisted:,}"))
    lines += [
        ("combinations of k-quasis", f"{finding.n_combinations:,}"),
        ("left out for k", f"{finding.n_suppressed:,}  ({finding.suppression:.2%}{of})"),
        ("classes", f"{finding.n_classes:,} of {finding.smallest_class:,} to {finding.largest_class:,} records"),
    ]
    if finding.levels:
        lines.append(("levels", ", ".join(f"{name} {level}" for name, level in finding.levels.items())))
    if finding.precision_loss:
        shown = ", ".join(f"{name} {loss:.2f}" for name, loss in finding.precision_loss.items())
        lines.append(("precision loss", shown))
    for name, error in finding.error.items():
        if error["expected_relative"] is not None:
            lines.append((f"error of {name}", f"{error['expected_relative']:.1%} expected, relative to the value"))
    lines.append(("linking risk", f"{finding.linking_risk['expected']:.2%} of released records, expected"))
    if finding.confident_k:
        share, total = finding.confident_k["expected"], finding.confident_k["total_expected"]
        lines.append(
            ("left out for confidence", f"{share:.2%} of the rest, expected; {total:.2%}{of} with those for k")
        )
    return lines
