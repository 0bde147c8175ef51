# SPDX-License-Identifier: Apache-2.0
"""`kepsilon reproduce`: repeats the paper's evaluation, and says which of its claims hold."""

from __future__ import annotations

import shutil
from pathlib import Path
from textwrap import shorten

import click

import kepsilon
from kepsilon.cli.listed import Listed
from kepsilon.cli.paths import AnyPath
from kepsilon.cli.progress import progress_bar
from kepsilon.cli.screen import show_table, show_wrapped
from kepsilon.cli.surroundings import say, showing

HELD, NOT_HELD, SILENT = "held", "NOT held", "–"
INTERRUPTED = 130


@click.command()
@click.option(
    "-o",
    "--output",
    type=AnyPath(),
    default=Path("reproduction"),
    show_default=True,
    help="The folder to write to; an interrupted run is continued there.",
)
@click.option(
    "--data",
    type=AnyPath(),
    envvar="KEPSILON_DATA",
    help="The folder (or file) with the data set Adult of UCI; can also be set as KEPSILON_DATA.",
)
@click.option("--runs", type=click.IntRange(min=2), help="How often to draw noise for each cell (30; 3 with --quick).")
@click.option("--quick", is_flag=True, help="Fewer cells and 3 runs: enough to see it work, too few to judge claims.")
@click.option(
    "--data-sets",
    type=Listed("names", str),
    metavar="LIST",
    help="Which data sets to use, such as florida,michigan (default: adult,florida,michigan); only adult needs a file.",
)
@click.option("--overwrite", is_flag=True, help="Replace another reproduction in the folder.")
def reproduce(
    output: Path, data: Path | None, runs: int | None, quick: bool, data_sets: list[str] | None, overwrite: bool
) -> int | None:
    """Reproduce the paper's evaluation.

    Makes every table and figure, and says of each claim whether it held. Adult is read from a file of yours; Florida and
    Michigan are made-up stand-ins, because the paper's voter lists name real people. All of it takes some minutes. The
    exit code is 0 whichever claims hold.
    """
    given = {} if data_sets is None else {"data_sets": data_sets}
    try:
        with progress_bar() as on_task:
            found = kepsilon.reproduce_paper(
                output, data=data, runs=runs, quick=quick, overwrite=overwrite, on_task=on_task, **given
            )
    except KeyboardInterrupt:
        say(f"kepsilon: interrupted; what was measured is stored in {output}, and the same command goes on.")
        return INTERRUPTED
    with showing("the verdicts"):
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
