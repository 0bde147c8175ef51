# SPDX-License-Identifier: Apache-2.0
"""`kepsilon anonymise`: makes a release of a file as a policy says."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import click

import kepsilon
from kepsilon.cli.engine_options import engine_arguments, engine_options, refuse_misfits
from kepsilon.cli.next_command import show_next
from kepsilon.cli.paths import AnyPath
from kepsilon.cli.progress import progress
from kepsilon.cli.screen import show_heading, show_paths, show_wrapped
from kepsilon.cli.summary import figures_of_record, show_attackers, show_figures, show_promise
from kepsilon.cli.surroundings import RunState, say, showing
from kepsilon.cli.verdict import show_verdict
from kepsilon.cli.wrapping import note


@click.command()
@click.argument("input_path", metavar="INPUT", type=AnyPath())
@click.option("-p", "--policy", "policy_path", required=True, type=AnyPath(), help="The policy file (TOML).")
@click.option(
    "-o",
    "--output",
    required=True,
    type=AnyPath(),
    help="Where to write the release. The suffix chooses CSV, Parquet or Arrow; without suffix it is a folder of Parquet "
    "files.",
)
@click.option(
    "--linkage",
    type=AnyPath(),
    help="Also write which original record (counted from 0, without blank lines) each released record was. For you only; "
    "never give it away.",
)
@click.option(
    "--report",
    type=AnyPath(),
    metavar="R.html",
    help="Also write a page with charts of what changed, what it cost and what risk is left. For you only.",
)
@engine_options("beside the output")
@click.option(
    "--overwrite",
    is_flag=True,
    help="Replace an existing release. Whoever has the earlier one too knows more than from one: noise can be averaged.",
)
@click.option(
    "--unsafe-seed",
    type=click.IntRange(min=0),
    metavar="N",
    help="Draw noise that can be repeated, for tests only: whoever knows the seed can undo it. The manifest says so.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the curator's record as JSON.")
@click.pass_obj
def anonymise(
    state: RunState,
    input_path: Path,
    policy_path: Path,
    output: Path,
    linkage: Path | None,
    report: Path | None,
    engine: str,
    master: str | None,
    memory: str | None,
    spill_folder: Path | None,
    overwrite: bool,
    unsafe_seed: int | None,
    as_json: bool,
) -> None:
    """Make a release of INPUT as a policy says.

    Writes OUTPUT, OUTPUT.manifest.json (its public description, to be given away with it) and OUTPUT.curator.json (all
    that is known about it, for you only). The release appears whole or not at all. `kepsilon anonymize` works too.
    """
    refuse_misfits(engine, master, memory, spill_folder)
    policy = kepsilon.Policy.from_file(policy_path)
    inputs = kepsilon.inputs_of(input_path, policy=policy)
    kepsilon.check_outputs(output, linkage, report=report, overwrite=overwrite, inputs=inputs)
    replaced = kepsilon.earlier_draw(output, is_drawn=policy.is_drawn) if overwrite else None
    if replaced is not None:
        say(note(replaced))
    place = output.parent if spill_folder is None else spill_folder
    if (memory is not None or engine == "spark") and sys.stderr.isatty():
        needs = kepsilon.estimate_needs(
            input_path,
            policy,
            memory=memory or "4GB",
            spill_folder=place,
            with_linkage=linkage is not None,
            on_spark=engine == "spark",
        )
        click.echo(f"{needs}.", err=True)
    try:
        with progress() as on_step:
            with_linkage = linkage is not None
            state.release = kepsilon.anonymise(
                input_path,
                policy,
                with_linkage=with_linkage,
                unsafe_seed=unsafe_seed,
                on_step=on_step,
                **engine_arguments(engine, master, memory, place, on_step, with_linkage=with_linkage),
            )
            with state.release as release:
                on_step("write")
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of an earlier draw, which was said before this one
                    release.write(output, linkage=linkage, report=report, overwrite=overwrite)
    except KeyboardInterrupt:
        if not state.released:
            raise
        # The release is out. If the message denied it, the curator would draw a second one of the same records.
        say(f"kepsilon: {state.released} was released before the interrupt.")
    if release.written is not None:
        if release.written.warnings:
            say("\n\n".join(note(warning) for warning in release.written.warnings))
        with showing("its summary"):
            if as_json:
                click.echo(json.dumps(release.written.record.to_json(), indent=2, ensure_ascii=False))
            else:
                show_record(release.written)
                beside = () if linkage is None else ("--linkage", linkage)
                show_next("audit", input_path, output, "-p", policy_path, *beside, why="Next: let other code check it")


def show_record(written: kepsilon.Written) -> None:
    """Prints figures, attackers, the promise and what analysts may use, then where the files are, and last the verdict."""
    record = written.record
    show_figures(figures_of_record(record))
    show_attackers(record.attackers)
    show_promise(record.guarantee.statement)
    if record.survival_in_words is not None:
        show_heading("What analysts may use")
        show_wrapped(record.survival_in_words)
    show_heading("Files")
    show_paths(_files(written))
    show_verdict(record)


def _files(written: kepsilon.Written) -> Iterator[tuple[str, Path, str]]:
    """What was written: its name, its path, and whom it is for."""
    yield "release", written.path, ""
    yield "manifest", written.manifest_path, "give it away with the release"
    yield "record", written.record_path, "for you only"
    if written.report_path is not None:
        yield "report", written.report_path, "for you only: open it in a browser"
    if written.linkage_path is not None:
        yield "linkage", written.linkage_path, "for you only: it undoes the release"
