# SPDX-License-Identifier: Apache-2.0
"""A release: the released records, the public manifest and the curator's record, and how they are written."""

from __future__ import annotations

import dataclasses
import html
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from kepsilon.engines.protocol import Merged
from kepsilon.errors import Problem, guarded
from kepsilon.evaluate.pictures import Pictures
from kepsilon.files.atomic import Staging
from kepsilon.files.digests import digest
from kepsilon.publish.manifest import Manifest, manifest_of
from kepsilon.publish.outputs import check_outputs, check_report_output, curator_path, is_folder, manifest_path
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
    """Digest of the released records."""
    manifest: Manifest
    record: Record


class Release:
    """A release whose noise was drawn once; no method draws again or changes what will be written."""

    def __init__(
        self,
        merged: Merged,
        record: Record,
        pictures: Pictures,
        *,
        page: Callable[[Record, Pictures], str],
        notes: tuple[Problem, ...] = (),
    ) -> None:
        """`page` makes the report, one HTML page."""
        self._merged = merged
        self._record = record
        self._pictures = pictures
        self._page = page
        self.notes = notes
        """What the curator should know of how the input was read, such as an encoding that had to be guessed."""

    @property
    @guarded
    def frame(self) -> Any:
        """The released records, as the kind of table that was read (Arrow for a file)."""
        return self._merged.frame()

    @property
    def record(self) -> Record:
        """The curator's record: everything known about the release, with the digest of what was last written."""
        return self._record

    @property
    def manifest(self) -> Manifest:
        """The public description of the release, which may be given away with it."""
        return manifest_of(self._record)

    @property
    @guarded
    def linkage(self) -> Any:
        """Which original record each released record was: for the curator only."""
        return self._merged.linkage()

    @guarded
    def write(
        self,
        path: str | Path,
        *,
        linkage: str | Path | None = None,
        report: str | Path | None = None,
        overwrite: bool = False,
    ) -> Written:
        """Writes the release, PATH.manifest.json and the owner-only PATH.curator.json: all of them, or none.

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
                    temporary.write_text(self._page(record, self._pictures), encoding="utf-8")
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

    @guarded
    def report(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Writes the report, one HTML page with pictures: for the curator only."""
        target = Path(path)
        check_report_output(target, overwrite=overwrite)
        with Staging([target.parent]) as staging:
            with staging.new_file(target, owner_only=True) as temporary:
                temporary.write_text(self._page(self._record, self._pictures), encoding="utf-8")
            staging.publish(overwrite=overwrite)

    def close(self) -> None:
        """Removes the records that a release larger than memory stores on disk; it cannot be written any more."""
        self._merged.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _repr_html_(self) -> str:
        """The numbers of records and the promises as HTML; it holds no record."""
        counts = self._record.records.to_json()
        rows = "".join(f"<tr><th>{html.escape(key)}</th><td>{value:,}</td></tr>" for key, value in counts.items())
        promises = "".join(f"<p>{html.escape(line)}</p>" for line in self._record.guarantee.statement.split("\n"))
        return f"{promises}<table>{rows}</table>"

    def __repr__(self) -> str:
        records, classes = self._record.records, self._record.classes
        return f"<Release of {records.released:,} of {records.read:,} records in {classes.count:,} classes>"
