# SPDX-License-Identifier: Apache-2.0
"""`kepsilon reproduce`: the paper's tables and figures, and which of its claims hold."""

from __future__ import annotations

import shutil
from pathlib import Path
from textwrap import shorten

import click

import kepsilon
from kepsilon.cli.listed import Listed
from kepsilon.cli.screen import progress_bar, show_table, show_wrapped

HELD, NOT_HELD, SILENT = "held", "NOT held", "–"
INTERRUPTED = 130


@click.command()
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=Path("reproduction"),
    show_default=True,
    help="The folder to write to; an interrupted run goes on in it.",
)
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    envvar="KEPSILON_DATA",
    help="The folder (or file) with UCI's Adult; also KEPSILON_DATA.",
)
@click.option("--runs", type=click.IntRange(min=2), help="How often noise is drawn for each cell (30; 3 with --quick).")
@click.option("--quick", is_flag=True, help="Fewer cells and 3 runs: to see it work, too few to judge the claims by.")
@click.option(
    "--data-sets",
    type=Listed("names", str),
    metavar="LIST",
    help="Some of adult,florida,michigan (default: all); the last two need no file.",
)
@click.option("--overwrite", is_flag=True, help="Replace another reproduction in the folder.")
def reproduce(
    output: Path, data: Path | None, runs: int | None, quick: bool, data_sets: list[str] | None, overwrite: bool
) -> int | None:
    """Reproduce the paper's evaluation: every table and figure, and claim by claim what held.

    Adult is read from a file of yours; Florida and Michigan are made-up stand-ins, because the paper's voter lists name
    real people. The whole takes some minutes. Exit code 0 whatever holds.
    """
    given = {} if data_sets is None else {"data_sets": data_sets}
    try:
        with progress_bar() as on_task:
            found = kepsilon.reproduce_paper(
                output, data=data, runs=runs, quick=quick, overwrite=overwrite, on_task=on_task, **given
            )
    except KeyboardInterrupt:
        click.echo(
            f"kepsilon: interrupted; what was measured is kept in {output}, and the same command goes on.", err=True
        )
        return INTERRUPTED
    _show(found)
    return None


def _show(found: kepsilon.Reproduction) -> None:
    titles = {claim["data_set"]: claim["title"] for claim in found.claims}
    sentences = {claim["id"]: claim["sentence"] for claim in found.claims}
    verdicts = {(claim["id"], claim["data_set"]): claim["held"] for claim in found.claims}
    headers = ["claim", *titles.values(), "what the paper says"]
    room = max(30, shutil.get_terminal_size().columns - sum(len(word) + 2 for word in headers[:-1]))
    rows = [
        [
            str(number),
            *(_word(verdicts.get((number, name))) for name in titles),
            shorten(sentence, room, placeholder=" …"),
        ]
        for number, sentence in sentences.items()
    ]
    show_table(headers, rows)
    click.echo()
    for answer in found.answers.values():
        show_wrapped(answer)
    n_held = sum(claim["held"] for claim in found.claims)
    for note in found.notes:
        show_wrapped(note)
    show_wrapped(
        f"Held: {n_held} of {len(found.claims)}, each claim counted once per data set. "
        f"Why the others did not, and every figure: {found.page}"
    )


def _word(held: bool | None) -> str:
    return SILENT if held is None else HELD if held else NOT_HELD
