# SPDX-License-Identifier: Apache-2.0
"""`kepsilon demo`: a complete release of made-up patients."""

from __future__ import annotations

import csv
import io
import secrets
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

import kepsilon
from kepsilon.cli.paths import AnyPath
from kepsilon.cli.screen import progress, show_record
from kepsilon.cli.surroundings import RunState, showing

N_SHOWN = 3


@click.command()
@click.option(
    "-o",
    "--output",
    "folder",
    type=AnyPath(file_okay=False),
    default=Path("kepsilon-demo"),
    show_default=True,
    help="The folder to write to; it is created if it does not exist.",
)
@click.pass_obj
def demo(state: RunState, folder: Path) -> None:
    """Release 20,000 made-up patients and show what happened.

    Writes patients.csv, policy.toml, release.csv with its manifest and record, and report.html. A second run replaces
    these files, but no file that the demo did not write.
    """
    data, policy, output = folder / "patients.csv", folder / "policy.toml", folder / "release.csv"
    report = folder / "report.html"
    with progress() as on_step:
        on_step("make up patients")
        patients = _as_csv(kepsilon.made_up_patients())
        beside = [output.with_name(output.name + suffix) for suffix in (".manifest.json", ".curator.json")]
        _write_own({data: patients, policy: kepsilon.DEMO_POLICY}, [output, *beside, report])
        state.release = kepsilon.anonymise(data, kepsilon.Policy.from_file(policy), on_step=on_step)
        on_step("write")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of an earlier draw: these patients are made up
            written = state.release.write(output, report=report, overwrite=True)
    with showing("its summary"):
        _show(written, data=data, policy=policy, report=report)


def _show(written: kepsilon.Written, *, data: Path, policy: Path, report: Path) -> None:
    output = written.path
    click.echo(f"Before: the first {N_SHOWN} of 20,000 patients. They are made up.\n")
    _show_head(data)
    click.echo(f"\nAfter: the first {N_SHOWN} released records. Not the same persons: the order is shuffled.\n")
    _show_head(output)
    click.echo("\nWhat happened\n")
    show_record(
        written.record,
        where=f"data       {data}\npolicy     {policy}  (read it, change it, try again)\n"
        f"release    {output}\nmanifest   {output}.manifest.json  (to be given away with the release)\n"
        f"record     {output}.curator.json  (for the owner of the data only)\n"
        f"report     {report}  (open it in a browser: pictures of what changed and what risk is left)",
    )
    click.echo("\nYour own data next:  kepsilon init YOUR.csv -o policy.toml")


def _as_csv(columns: Mapping[str, Any]) -> str:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))
    return text.getvalue()


def _write_own(content: dict[Path, str], results: list[Path]) -> None:
    """Writes the files of `content` that do not exist yet.

    Refuses to go on if one that exists has other content, or if `results` exist without the files that they came from.
    """
    strange = [path for path, text in content.items() if path.exists() and not _holds(path, text)]
    if not all(path.exists() for path in content):
        strange += [path for path in results if path.exists()]
    if strange:
        raise kepsilon.EngineError(
            [
                kepsilon.Problem(
                    where=str(path),
                    what="exists already, and is not as the demo writes it.",
                    fix="It was left alone. Choose another folder with -o, or remove it first.",
                )
                for path in strange
            ]
        )
    for path, text in content.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            _write_whole(path, text)


def _write_whole(path: Path, text: str) -> None:
    """Writes under another name first, so that an interrupted demo leaves no file that a later one would refuse."""
    unfinished = path.with_name(f".kepsilon-demo-{secrets.token_hex(8)}")
    try:
        with unfinished.open("xb") as file:
            file.write(text.encode())
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def _holds(path: Path, text: str) -> bool:
    return path.is_file() and path.read_bytes() == text.encode()


def _show_head(path: Path) -> None:
    """Prints the first records as columns beside the attributes' names, so that they fit a narrow window."""
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.reader(file)
        lines = [next(reader) for _ in range(N_SHOWN + 1)]
    widths = [max(map(len, line)) for line in lines]
    for fields in zip(*lines, strict=True):
        click.echo("  " + "   ".join(field.ljust(width) for field, width in zip(fields, widths, strict=True)).rstrip())
