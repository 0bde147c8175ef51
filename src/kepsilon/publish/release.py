# SPDX-License-Identifier: Apache-2.0
"""The result: released records, the public manifest and the curator's record, and how they are written."""

from __future__ import annotations

import contextlib
import dataclasses
import html
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from kepsilon.engines.protocol import Merged
from kepsilon.errors import AnonymisationError, EngineError, Problem
from kepsilon.evaluate.pictures import Pictures
from kepsilon.private_folders import require_folder
from kepsilon.publish.atomic import Staging, refuse_existing, refuse_input
from kepsilon.publish.digests import digest
from kepsilon.publish.manifest import Manifest, manifest_of
from kepsilon.publish.record import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What was written, and where."""

    path: Path
    """The released records: a file, or a folder of Parquet files."""
    manifest_path: Path
    record_path: Path
    linkage_path: Path | None
    report_path: Path | None
    digest: str
    """Of the released records."""
    manifest: Manifest
    record: Record


class Release:
    """A release that was drawn once and is kept; nothing here can draw again, or change what will be written."""

    def __init__(self, merged: Merged, record: Record, pictures: Pictures | None = None) -> None:
        self._merged = merged
        self._record = record
        self._pictures = pictures

    @property
    def frame(self) -> Any:
        """The released records, as the kind of table that was read (Arrow for a file)."""
        return self._merged.frame()

    @property
    def record(self) -> Record:
        """Everything known about the release, with the digest of what was last written: for the curator only."""
        return self._record

    @property
    def manifest(self) -> Manifest:
        """What may be given away with the release."""
        return manifest_of(self._record)

    @property
    def linkage(self) -> Any:
        """Which original record each released record was: for the curator only."""
        return self._merged.linkage()

    def write(
        self,
        path: str | Path,
        *,
        linkage: str | Path | None = None,
        report: str | Path | None = None,
        overwrite: bool = False,
    ) -> Written:
        """Writes the release, PATH.manifest.json and the owner-only PATH.curator.json; whole, or not at all.

        A path without a suffix becomes a folder of Parquet files.
        """
        output = Path(path)
        linkage_path = None if linkage is None else Path(linkage)
        report_path = None if report is None else Path(report)
        check_outputs(output, linkage_path, report=report_path, overwrite=overwrite, inputs=self._merged.inputs)
        paths = [path for path in (output, linkage_path, report_path) if path is not None]
        with Staging(path.parent for path in paths) as staging:
            new = staging.new_folder(output) if is_folder(output) else staging.new_file(output, owner_only=False)
            with new as temporary:
                self._merged.write(temporary, final_name=output)
                found = f"sha256:{digest(temporary)}"
            record = dataclasses.replace(self._record, digest=found)
            manifest = manifest_of(record)
            for final, content, owner_only in (
                (manifest_path(output), manifest, False),
                (curator_path(output), record, True),
            ):
                with staging.new_file(final, owner_only=owner_only) as temporary:
                    temporary.write_text(
                        json.dumps(content.to_json(), indent=2, ensure_ascii=False, allow_nan=False) + "\n",
                        encoding="utf-8",
                    )
            if linkage_path is not None:
                with staging.new_file(linkage_path, owner_only=True) as temporary:
                    self._merged.write_linkage(temporary, final_name=linkage_path)
            if report_path is not None:
                with staging.new_file(report_path, owner_only=True) as temporary:
                    temporary.write_text(self._page(record), encoding="utf-8")
            staging.publish(overwrite=overwrite)
        self._record = record
        return Written(
            path=output,
            manifest_path=manifest_path(output),
            record_path=curator_path(output),
            linkage_path=linkage_path,
            report_path=report_path,
            digest=found,
            manifest=manifest,
            record=record,
        )

    def report(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Writes the report, one HTML page with pictures: for the curator only."""
        target = Path(path)
        check_report_output(target, overwrite=overwrite)
        with Staging([target.parent]) as staging:
            with staging.new_file(target, owner_only=True) as temporary:
                temporary.write_text(self._page(self._record), encoding="utf-8")
            staging.publish(overwrite=overwrite)

    def close(self) -> None:
        """Removes what a release that was larger than memory keeps on disk; it cannot be written any more."""
        self._merged.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _page(self, record: Record) -> str:
        from kepsilon.publish.report import release_page

        return release_page(record, self._pictures)

    def _repr_html_(self) -> str:
        """Figures, never records."""
        counts = self._record.records.to_json()
        cells = "".join(f"<tr><th>{html.escape(key)}</th><td>{value:,}</td></tr>" for key, value in counts.items())
        promises = "".join(f"<p>{html.escape(line)}</p>" for line in self._record.guarantee.statement.split("\n"))
        return f"{promises}<table>{cells}</table>"

    def __repr__(self) -> str:
        records, classes = self._record.records, self._record.classes
        return f"<Release of {records.released:,} of {records.read:,} records in {classes.count:,} classes>"


def is_folder(output: Path) -> bool:
    """Whether a release of that name is a folder of Parquet files."""
    return not output.suffix


def manifest_path(output: Path) -> Path:
    return output.with_name(output.name + ".manifest.json")


def curator_path(output: Path) -> Path:
    return output.with_name(output.name + ".curator.json")


def check_outputs(
    output: Path,
    linkage: Path | None,
    *,
    report: Path | None = None,
    overwrite: bool,
    inputs: Iterable[Path] = (),
) -> None:
    """Everything about the places to write to that can be refused before any work is done."""
    from kepsilon.sources.kinds import writer_for

    inputs = _all_inputs(inputs)
    beside = [output, manifest_path(output), curator_path(output)]
    for path in (output, linkage):
        if path is not None:
            if path is linkage or not is_folder(path):
                writer_for(path)  # refuses a suffix that nobody writes
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
    """Folders and patterns with the files that they stand for; if there are none, reading will say so."""
    from kepsilon.sources.folders import files_of, is_many

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
