# SPDX-License-Identifier: Apache-2.0
"""`kepsilon explore`: what every k, ε or group, and algorithm would cost, and the least distorted cell within limits."""

from __future__ import annotations

import json
from pathlib import Path

import click

import kepsilon
from kepsilon.cli.after_exploring import NextCommand
from kepsilon.cli.compared_splits import show_splits
from kepsilon.cli.engine_options import engine_arguments, engine_options, refuse_misfits
from kepsilon.cli.explored_grid import show_grid
from kepsilon.cli.listed import Listed
from kepsilon.cli.paths import AnyPath
from kepsilon.cli.screen import note, progress
from kepsilon.cli.surroundings import say, showing


@click.command()
@click.argument("input_path", metavar="INPUT", type=AnyPath())
@click.option("-p", "--policy", "policy_path", required=True, type=AnyPath(), help="The policy file (TOML).")
@click.option(
    "--k",
    "ks",
    type=Listed("whole numbers", int),
    metavar="LIST",
    help="Compare these k alone, such as 5,10,20; without it k are searched up to a twentieth of the records.",
)
@click.option(
    "--epsilon",
    "epsilons",
    type=Listed("numbers"),
    metavar="LIST",
    help="Compare these ε alone, such as 0.5,1,2; without it the ε at which limits just hold are solved for, up to 100.",
)
@click.option(
    "--group",
    "groups",
    type=Listed("whole numbers", int),
    metavar="LIST",
    help="Compare averages of groups of so many records, such as 10,20,50, with noise or spread as the policy's averages have "
    "them. Without --group and --epsilon the smallest groups that keep the limits are solved for, unless confidence is asked for.",
)
@click.option(
    "--algorithm",
    "algorithms",
    type=Listed("names", str),
    metavar="LIST",
    help="Compare these algorithms, by their names in a policy, such as ola,local-recoding; all of them by default.",
)
@click.option(
    "--confidence", type=float, metavar="C", help="Confidence of confident k, such as 0.99, in place of the policy's."
)
@click.option(
    "--split",
    is_flag=True,
    help="Compare splits instead: each numeric quasi as a k-quasi and as an epsilon-quasi, at the policy's k, ε and algorithm "
    "or at the one given of each.",
)
@click.option(
    "--max-risk",
    type=float,
    metavar="SHARE",
    help="Largest expected share of records that the strongest attacker links who needs to know nothing but the quasis.",
)
@click.option(
    "--max-individual-risk",
    type=float,
    metavar="SHARE",
    help="How sure an attacker who knows every quasi-identifier and matches whole classes one to one may be of any one "
    "record, at most.",
)
@click.option(
    "--max-suppression",
    type=float,
    metavar="SHARE",
    help="Largest expected share of the records read that is left out, for any cause.",
)
@click.option(
    "--max-error",
    type=float,
    metavar="SHARE",
    help="Largest expected relative error of any epsilon-quasi: mean distance from the true value, over that value.",
)
@click.option("--all", "show_all", is_flag=True, help="Show every cell, not only those that no other beats.")
@click.option(
    "--write-policy",
    type=AnyPath(),
    metavar="P.toml",
    help="Write a copy of your policy with the k, epsilon or averages, and algorithm of the chosen cell, or with the chosen "
    "split.",
)
@click.option(
    "-o",
    "--output",
    type=AnyPath(),
    help="Also write the grid as a page (.html), a table (.csv) or JSON (.json).",
)
@engine_options("in the system's folder for temporary files")
@click.option("--overwrite", is_flag=True, help="Replace an existing page or table.")
@click.option("--json", "as_json", is_flag=True, help="Print the grid as JSON.")
def explore(
    input_path: Path,
    policy_path: Path,
    ks: list[int] | None,
    epsilons: list[float] | None,
    groups: list[int] | None,
    algorithms: list[str] | None,
    confidence: float | None,
    split: bool,
    max_risk: float | None,
    max_individual_risk: float | None,
    max_suppression: float | None,
    max_error: float | None,
    show_all: bool,
    write_policy: Path | None,
    output: Path | None,
    engine: str,
    master: str | None,
    memory: str | None,
    spill_folder: Path | None,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Choose k, ε or averages, and algorithm by limits, before releasing INPUT.

    A cell is one algorithm with one k, and one ε or one size of averaged groups. The figures of every cell are predicted,
    and nothing is drawn. They are exact where there is a closed form. Others, such as linking with several epsilon-quasis,
    are simulated, and are within a limit only if they still are with three standard errors added.

    Limits choose the least distorted cell that is within all of them; limits of the policy itself count too. Where only
    --max-error is stated, the cell that links fewest records is chosen. Exit code 3 if no cell is within the limits.

    The answer is printed first: the setting, who links how many records, what is lost, the lines to change in the policy, and
    the command to run next. Then come the cells that no other beats in distortion, linking risk and records left out.

    With --split a cell is one way to divide the numeric quasis among k-quasis and epsilon-quasis. A quasi in its other role
    has the settings that init would propose; edit them before you release anything with such a policy.
    """
    refuse_misfits(engine, master, memory, spill_folder)
    policy = kepsilon.Policy.from_file(policy_path)
    limits = kepsilon.Limits(
        max_risk=max_risk,
        max_individual_risk=max_individual_risk,
        max_suppression=max_suppression,
        max_error=max_error,
    )
    inputs = kepsilon.inputs_of(input_path, policy=policy)
    if output is not None:
        kepsilon.check_grid_output(output, overwrite=overwrite, inputs=inputs)
    if write_policy is not None:
        if not limits.with_those_of(policy).stated():
            raise click.UsageError(
                "--write-policy needs a limit to choose by: --max-risk, --max-individual-risk, --max-suppression or "
                "--max-error."
            )
        if output is not None and output.resolve() == write_policy.resolve():
            raise click.UsageError("--write-policy and -o need names of their own.")
        kepsilon.refuse_input(write_policy, inputs)
        kepsilon.check_new_policy(write_policy)
    with progress() as on_step:
        grid = kepsilon.explore(
            input_path,
            policy,
            k=ks,
            epsilon=epsilons,
            group=groups,
            algorithm=algorithms,
            confidence=confidence,
            split=split,
            limits=limits,
            on_step=on_step,
            **engine_arguments(engine, master, memory, spill_folder, on_step),
        )
    for warning in grid.warnings:
        say(f"{note(warning)}\n")
    choice = grid.choose(limits)
    if output is not None:
        grid.write(output, choice, overwrite=overwrite)
    next_command = NextCommand(
        input_path=input_path,
        policy_path=policy_path,
        written=write_policy,
        limits=limits,
        confidence=confidence,
        engine=engine,
        master=master,
        memory=memory,
        spill_folder=spill_folder,
    )
    with showing("the grid"):
        if as_json:
            click.echo(json.dumps(grid.to_json(choice), indent=2, ensure_ascii=False))
        elif split:
            show_splits(grid, choice, next_command, output)
        else:
            show_grid(grid, choice, next_command, output, show_all=show_all)
    if not choice.limits.stated():
        return
    cell = choice.required()
    if write_policy is not None:
        kepsilon.write_policy(policy_path, write_policy, grid.changes(cell))
        with showing("the name of the policy"):
            click.echo(f"policy     {write_policy}", err=as_json)
