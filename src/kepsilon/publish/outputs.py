# SPDX-License-Identifier: Apache-2.0
"""Paths that a release is written to, and checks that refuse a path before any work is done."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from pathlib import Path

from kepsilon.errors import EngineError, Problem, guarded
from kepsilon.files.atomic import refuse_existing, refuse_nameless
from kepsilon.files.private_folders import require_folder
from kepsilon.publish.inputs import Input, refuse_input


def is_folder(output: Path) -> bool:
    """Whether a release at this path is a folder of Parquet files."""
    return not output.suffix


def manifest_path(output: Path) -> Path:
    return output.with_name(output.name + ".manifest.json")


def curator_path(output: Path) -> Path:
    return output.with_name(output.name + ".curator.json")


@guarded
def check_outputs(
    output: Path,
    linkage: Path | None,
    *,
    report: Path | None = None,
    overwrite: bool,
    inputs: Iterable[Input] = (),
) -> None:
    """Refuses paths that cannot be written to, before any work is done.

    `inputs` is what is read (`inputs_of`); none of it is overwritten, also not by the files beside the output.
    """
    from kepsilon.sources.kinds import writer_for

    inputs = tuple(inputs)
    named = {"output": output} | ({} if linkage is None else {"linkage file": linkage})
    for path in named.values():
        refuse_nameless(path)
        if path is linkage or not is_folder(path):
            writer_for(path)  # refuses a suffix that no kind of table has
    written = {
        **named,
        "manifest": manifest_path(output),
        "curator's record": curator_path(output),
    }
    for path in written.values():
        check_output(path, overwrite=overwrite, inputs=inputs)
    if report is not None:
        check_report_output(report, overwrite=overwrite, inputs=inputs)
        written["report"] = report
    taken: set[str] = set()
    for what in ("output", "manifest", "curator's record", "linkage file", "report"):
        if what in written:
            _refuse_taken(written[what], taken, what)


def check_output(path: Path, *, overwrite: bool, inputs: Iterable[Input] = ()) -> None:
    """Refuses a path that no file can be written to, that exists already, or that is an input."""
    refuse_nameless(path)
    require_folder(path.parent)
    refuse_input(path, inputs)
    refuse_existing(path, overwrite=overwrite)


def check_report_output(path: Path, *, overwrite: bool, inputs: Iterable[Input] = ()) -> None:
    refuse_nameless(path)
    if path.suffix.lower() not in (".html", ".htm"):
        raise EngineError(
            Problem(where=str(path), what="the report is a page.", fix="Give it a name that ends in .html.")
        )
    check_output(path, overwrite=overwrite, inputs=inputs)


def _refuse_taken(path: Path, taken: set[str], what: str) -> None:
    """Refuses a second output of the same name; some file systems do not tell upper from lower case."""
    name = unicodedata.normalize("NFC", str(path.resolve())).casefold()
    if name in taken:
        raise EngineError(Problem(where=str(path), what=f"the {what} needs a name of its own."))
    taken.add(name)
