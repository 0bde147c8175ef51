# SPDX-License-Identifier: Apache-2.0
"""`kepsilon demo`: made-up patients are attacked, released and attacked again."""

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
from kepsilon.cli.progress import progress
from kepsilon.cli.surroundings import RunState, showing

KS, EPSILONS, GROUPS = (10,), (4, 16), (10, 25, 50)
"""What `explore` compares, at the policy's algorithm. Few settings, so that nobody waits."""


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
    """Attack 20,000 made-up patients, release them, and attack again.

    An attacker with a register of names finds the patients in the raw file. Then explore chooses a setting within limits,
    the patients are released with it, and the same attacker tries again. It takes some seconds.

    Writes patients.csv, policy.toml, chosen.toml (the policy with the limit and the setting that explore chose),
    release.csv with its manifest and record, and report.html. A second run replaces these files, but no file that the
    demo did not write.
    """
    from kepsilon.cli.demo_story import LIMITS, Story, show_story

    data, policy_path, chosen = folder / "patients.csv", folder / "policy.toml", folder / "chosen.toml"
    output, report = folder / "release.csv", folder / "report.html"
    with progress() as on_step:
        on_step("making up patients")
        patients = kepsilon.made_up_patients()
        beside = [output.with_name(output.name + suffix) for suffix in (".manifest.json", ".curator.json")]
        _write_own({data: _as_csv(patients), policy_path: kepsilon.DEMO_POLICY}, [chosen, output, *beside, report])
        policy = kepsilon.Policy.from_file(policy_path)
        grid = kepsilon.explore(
            data, policy, k=KS, epsilon=EPSILONS, group=GROUPS, algorithm=policy.algorithm, on_step=on_step
        )
        choice = grid.choose(kepsilon.Limits(**LIMITS))
        chosen.unlink(missing_ok=True)
        limit = {"max_risk": LIMITS["max_risk"]}
        kepsilon.write_policy(policy_path, chosen, {**grid.changes(choice.required()), **limit})
        state.release = kepsilon.anonymise(data, kepsilon.Policy.from_file(chosen), on_step=on_step)
        on_step("write")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of an earlier draw: these patients are made up
            written = state.release.write(output, report=report, overwrite=True)
        on_step("attacking the raw file, and the release")
        story = Story.of(data, output, state.release)
    with showing("its summary"):
        show_story(story, written, grid, choice)


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
