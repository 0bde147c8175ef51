# SPDX-License-Identifier: Apache-2.0
"""`kepsilon explore`: what every k, ε or group, and algorithm would cost, and the least distorted cell within limits."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import click

import kepsilon
from kepsilon.cli.compared_splits import show_splits
from kepsilon.cli.engine_options import engine_arguments, engine_options, refuse_misfits
from kepsilon.cli.listed import Listed
from kepsilon.cli.paths import AnyPath
from kepsilon.cli.screen import estimate, note, percent, progress, show_table, show_wrapped
from kepsilon.cli.surroundings import say, showing


@click.command()
@click.argument("input_path", metavar="INPUT", type=AnyPath())
@click.option("-p", "--policy", "policy_path", required=True, type=AnyPath(), help="The policy file (TOML).")
@click.option("--k", "ks", type=Listed("whole numbers", int), metavar="LIST", help="Compare these k, such as 5,10,20.")
@click.option("--epsilon", "epsilons", type=Listed("numbers"), metavar="LIST", help="Compare these ε, such as 0.5,1,2.")
@click.option(
    "--group",
    "groups",
    type=Listed("whole numbers", int),
    metavar="LIST",
    help="Also compare averages of groups of so many records, such as 10,20,50, with noise or spread as the policy's averages "
    "have them. Averages that the policy asks for are compared anyhow, and noise beside them where epsilon is stated.",
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
@click.option("--max-error", type=float, metavar="SHARE", help="Largest expected relative error of any epsilon-quasi.")
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
    write_policy: Path | None,
    output: Path | None,
    engine: str,
    master: str | None,
    memory: str | None,
    spill_folder: Path | None,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Compare k, ε, averages and algorithms before releasing INPUT.

    A cell is one algorithm with one k, and one ε or one size of averaged groups. The figures of every cell are predicted,
    and nothing is drawn. They are exact, but for linking and confidence of noise with several epsilon-quasis: these are
    simulated, and are within a limit only if they still are with three standard errors added.

    Limits choose the least distorted cell that is within all of them. Distortion is the mean, over quasis, of loss
    (ncp) and of error relative to the data's range. Exit code 3 if no cell is within the limits.

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
        if not limits.stated():
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
            on_step=on_step,
            **engine_arguments(engine, master, memory, spill_folder, on_step),
        )
    for warning in grid.warnings:
        say(f"{note(warning)}\n")
    choice = grid.choose(limits)
    if output is not None:
        grid.write(output, choice, overwrite=overwrite)
    with showing("the grid"):
        if as_json:
            click.echo(json.dumps(grid.to_json(choice), indent=2, ensure_ascii=False))
        elif split:
            show_splits(grid, choice, output)
        else:
            _show(grid, choice, output)
    if not choice.limits.stated():
        return
    cell = choice.required()
    if write_policy is not None:
        kepsilon.write_policy(policy_path, write_policy, grid.changes(cell))
        with showing("the name of the policy"):
            click.echo(f"policy     {write_policy}", err=as_json)


def _show(grid: kepsilon.Grid, choice: kepsilon.Choice, output: Path | None) -> None:
    with_confidence = grid.policy.confidence is not None
    names = [
        "",
        "algorithm",
        "k",
        "ε",
        "averages of",
        "classes",
        "loss",
        "bits lost",
        "error",
        "linking",
        "largest single risk",
        "left out",
        "distortion",
        "front",
        "breaks",
    ]
    if with_confidence:
        names[names.index("distortion") : names.index("distortion")] = ["for confidence"]
    show_table(names, list(_rows(grid, choice, with_confidence=with_confidence)))
    click.echo()
    refusals = {cell.refused: cell for cell in reversed(grid.cells) if cell.refused}
    for cell in refusals.values():
        show_wrapped(f"refused: {cell.name}: {cell.refused}")
    show_wrapped(grid.about_single_risk)
    if grid.about_smaller_k:
        show_wrapped(grid.about_smaller_k)
    for cell in grid.cells:
        if cell.prediction is not None and cell.prediction.loss.not_proven is not None:
            show_wrapped(f"{cell.name}: {cell.prediction.loss.not_proven.in_words}")
    n_left = grid.records.read - grid.records.counted
    if n_left:
        show_wrapped(
            f"In every cell {n_left / grid.records.read:.2%} of the records are left out because "
            f"{grid.records.why_not_counted}. They are included in what is left out."
        )
    for line in choice.in_words():
        show_wrapped(line)
    if not choice.limits.stated():
        show_wrapped("No limit was stated, so nothing is chosen: try --max-risk 0.05 --max-suppression 0.05.")
    if len(grid.policy.epsilon_quasis) > 1 and any(cell.group is None for cell in grid.cells):
        show_wrapped("± is one standard error of a simulated figure; with three added it has to be within a limit.")
    if not grid.policy.epsilon_quasis:
        show_wrapped("There is no epsilon-quasi, so nothing depends on ε.")
    if output is not None:
        click.echo(f"grid       {output}  (for you only)")


def _rows(grid: kepsilon.Grid, choice: kepsilon.Choice, *, with_confidence: bool) -> Iterator[list[str]]:
    for cell in grid.cells:
        epsilon, group = ("" if own is None else str(own) for own in (cell.epsilon, cell.group))
        row = ["→" if cell is choice.cell else "", cell.algorithm, str(cell.k), epsilon, group]
        found = cell.prediction
        if found is None:
            yield [*row, "refused"]
            continue
        row += [
            f"{found.classes.count:,}",
            f"{found.loss.ncp.overall:.3f}",
            f"{found.loss.entropy_share.overall:.3f}",
            percent(found.largest_error),
            estimate(found.linking_risk.headline.risk),
            percent(found.linking_risk.largest_possible_by_matching),
            estimate(found.suppression),
        ]
        if with_confidence:
            by_confidence = found.suppressed.by_confidence
            row.append("" if by_confidence is None else estimate(by_confidence))
        row.append("undefined" if found.distortion is None else f"{found.distortion:.3f}")
        yield [*row, "*" if cell.pareto else "", ", ".join(sorted(choice.limits.broken_by(cell)))]
