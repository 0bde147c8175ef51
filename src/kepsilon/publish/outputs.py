# SPDX-License-Identifier: Apache-2.0
"""Paths that a release is written to, and checks that refuse a path before any work is done."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

from kepsilon.errors import AnonymisationError, EngineError, Problem, guarded
from kepsilon.files.atomic import refuse_existing
from kepsilon.files.private_folders import require_folder
from kepsilon.sources.folders import files_of, is_many, would_match


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
    inputs: Iterable[Path] = (),
) -> None:
    """Refuses paths that cannot be written to, before any work is done."""
    from kepsilon.sources.kinds import writer_for

    inputs = _all_inputs(inputs)
    beside = [output, manifest_path(output), curator_path(output)]
    for path in (output, linkage):
        if path is not None:
            if path is linkage or not is_folder(path):
                writer_for(path)  # refuses a suffix that no kind of table has
            require_folder(path.parent)
            refuse_input(path, inputs)
    for path in beside:
        refuse_existing(path, overwrite=overwrite)
    taken = {path.resolve() for path in beside}
    if linkage is not None:
        refuse_existing(linkage, overwrite=overwrite)
        _refuse_taken(linkage, taken, "linkage file")
        taken.add(linkage.resolve())
    if report is not None:
        check_report_output(report, overwrite=overwrite, inputs=inputs)
        _refuse_taken(report, taken, "report")


def _all_inputs(inputs: Iterable[Path]) -> tuple[Path, ...]:
    """The inputs, and also the files that folders and patterns among them stand for.

    An input for which no file is found is reported when it is read.
    """
    found: dict[Path, None] = {}
    for path in inputs:
        found[path] = None
        if is_many(path):
            with contextlib.suppress(AnonymisationError):
                found |= dict.fromkeys(files_of(path))
    return tuple(found)


def check_report_output(path: Path, *, overwrite: bool, inputs: Iterable[Path] = ()) -> None:
    if path.suffix.lower() not in (".html", ".htm"):
        raise EngineError(
            Problem(where=str(path), what="the report is a page.", fix="Give it a name that ends in .html.")
        )
    require_folder(path.parent)
    refuse_input(path, inputs)
    refuse_existing(path, overwrite=overwrite)


def _refuse_taken(path: Path, taken: set[Path], what: str) -> None:
    if path.resolve() in taken:
        raise EngineError(Problem(where=str(path), what=f"the {what} needs a name of its own."))


def refuse_input(path: Path, inputs: Iterable[Path]) -> None:
    """Refuses a path that is an input, or that a later run would read as a part of an input."""
    inputs = tuple(inputs)
    if any(_is_read_by(source, path) for source in inputs if is_many(source) and not source.is_dir()):
        raise EngineError(
            Problem(
                where=str(path),
                what="is where the pattern finds the files that are read, and might be read as one of them.",
                fix="Choose another folder.",
            )
        )
    if any(source.is_dir() and source.resolve() in path.resolve().parents for source in inputs):
        raise EngineError(
            Problem(
                where=str(path),
                what="is inside the folder that is read, and would be read as a part of it.",
                fix="Choose another folder.",
            )
        )
    if any(path.exists() and source.exists() and path.samefile(source) for source in inputs):
        raise EngineError(
            Problem(where=str(path), what="is an input, which is never overwritten.", fix="Choose another name.")
        )


def _is_read_by(pattern: Path, output: Path) -> bool:
    folder = output.parent.resolve()
    with contextlib.suppress(AnonymisationError):  # what is wrong with inputs is reported when they are read
        if any(file.parent.resolve() == folder for file in files_of(pattern)):
            return True
    return would_match(pattern, output)
