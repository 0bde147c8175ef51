# SPDX-License-Identifier: Apache-2.0
"""A release: the released records, the public manifest and the curator's record, and how they are written."""

from __future__ import annotations

import dataclasses
import html
import warnings as python_warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from kepsilon.engines.protocol import Merged
from kepsilon.errors import EarlierDrawWarning, InterruptedAfterRelease, Problem, guarded
from kepsilon.evaluate.pictures import Pictures
from kepsilon.files.atomic import Staging
from kepsilon.files.digests import digest
from kepsilon.policy.policy import Policy
from kepsilon.publish.earlier_draws import earlier_draw
from kepsilon.publish.inputs import Input
from kepsilon.publish.manifest import Making, Manifest, ReleasedClasses, json_text, manifest_of
from kepsilon.publish.outputs import check_outputs, check_report_output, curator_path, is_folder, manifest_path
from kepsilon.publish.record import Record
from kepsilon.sources.kinds import lost_types

Page = Callable[[Record, Pictures, str | None, tuple[Problem, ...]], str]
"""Makes the report from the record, the pictures, the name of the released file once it is written, and the warnings."""


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
    warnings: tuple[Problem, ...] = ()
    """Those of the release, and the kept columns whose type the format of the file does not have."""


class Release:
    """A release whose noise was drawn once; no method draws again or changes what will be written."""

    def __init__(
        self,
        merged: Merged,
        record: Record,
        pictures: Pictures,
        *,
        policy: Policy,
        released: ReleasedClasses,
        page: Page,
        inputs: tuple[Input, ...],
        warnings: tuple[Problem, ...] = (),
    ) -> None:
        """`released` is what counting `merged` tells; `page` makes the report, one HTML page.

        `inputs` is what was read, none of which is ever overwritten; `warnings` are those that are known before it is
        written.
        """
        self._merged = merged
        self._record = record
        making = Making(
            kepsilon_version=record.kepsilon_version, created=record.created[: len("2026-11-16")], seeded=record.seeded
        )
        self._manifest = manifest_of(policy, released, making, digest=None)
        self._pictures = pictures
        self._page = page
        self._inputs = inputs
        self._is_drawn = policy.is_drawn
        self._written: Written | None = None
        self._warnings = warnings

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
        return self._manifest

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """Facts that are worth knowing before the release is published, as `check` finds them.

        Those for which `check` looks at the records once more are not among them: repeated identifiers, and cells that are
        formulas.
        """
        return self._warnings

    @property
    @guarded
    def linkage(self) -> Any:
        """Which original record each released record was: for the curator only."""
        return self._merged.linkage()

    @property
    def written(self) -> Written | None:
        """What was last written, and where; None as long as nothing is out."""
        return self._written

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

        A path without a suffix becomes a folder of Parquet files. If `overwrite` replaces an
        earlier draw, Python warns with `EarlierDrawWarning`.

        Interrupted (by Ctrl-C, or a signal whose handler raises) before the data file has its name, it leaves nothing and
        the release is not out. An interrupt after that waits until all is in place, and is then raised as
        `InterruptedAfterRelease`, which is a KeyboardInterrupt. `written` says at any time whether the release is out.
        """
        output = Path(path)
        linkage_path = None if linkage is None else Path(linkage)
        report_path = None if report is None else Path(report)
        check_outputs(output, linkage_path, report=report_path, overwrite=overwrite, inputs=self._inputs)
        replaced = earlier_draw(output, digest=self._record.digest, is_drawn=self._is_drawn) if overwrite else None
        if replaced is not None:
            python_warnings.warn(replaced, EarlierDrawWarning, stacklevel=3)
        before = self._written
        try:
            self._write(output, linkage_path, report_path, overwrite=overwrite)
        except KeyboardInterrupt:
            if self._written is before:
                raise
            raise InterruptedAfterRelease(f"{output} was released before the interrupt.") from None
        if self._written is None:
            raise RuntimeError("a release that was written is not known")
        return self._written

    def _write(self, output: Path, linkage_path: Path | None, report_path: Path | None, *, overwrite: bool) -> None:
        paths = [path for path in (output, linkage_path, report_path) if path is not None]
        with Staging(path.parent for path in paths) as staging:
            new = staging.new_folder(output) if is_folder(output) else staging.new_file(output, owner_only=False)
            with new as temporary:
                self._merged.write(temporary, final_name=output)
                of_data = digest(temporary)
                found = f"sha256:{of_data}"
                lost = lost_types(temporary, self._merged.input_types, final_name=output)
            record = dataclasses.replace(self._record, digest=found)
            manifest = dataclasses.replace(self._manifest, digest=found)
            contents: tuple[tuple[Path, Manifest | Record, bool], ...] = (
                (manifest_path(output), manifest, False),
                (curator_path(output), record, True),
            )
            for final, content, owner_only in contents:
                with staging.new_file(final, owner_only=owner_only) as temporary:
                    temporary.write_text(json_text(content.to_json()), encoding="utf-8")
            if linkage_path is not None:
                with staging.new_file(linkage_path, owner_only=True) as temporary:
                    self._merged.write_linkage(temporary, final_name=linkage_path)
            if report_path is not None:
                with staging.new_file(report_path, owner_only=True) as temporary:
                    temporary.write_text(
                        self._page(record, self._pictures, output.name, (*self._warnings, *lost)), encoding="utf-8"
                    )
            written = Written(
                path=output,
                manifest_path=manifest_path(output),
                record_path=curator_path(output),
                linkage_path=linkage_path,
                report_path=report_path,
                digest=found,
                manifest=manifest,
                record=record,
                warnings=(*self._warnings, *lost),
            )
            staging.publish(overwrite=overwrite, content=of_data)
            self._record, self._manifest, self._written = record, manifest, written  # no interrupt can come between

    @guarded
    def report(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Writes the report, one HTML page with pictures: for the curator only."""
        target = Path(path)
        check_report_output(target, overwrite=overwrite, inputs=self._inputs)
        file_name = None if self._written is None else self._written.path.name
        warnings = self._warnings if self._written is None else self._written.warnings
        page = self._page(self._record, self._pictures, file_name, warnings)
        with Staging([target.parent]) as staging:
            with staging.new_file(target, owner_only=True) as temporary:
                temporary.write_text(page, encoding="utf-8")
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
