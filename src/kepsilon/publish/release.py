# SPDX-License-Identifier: Apache-2.0
"""The result: released records, the public manifest and the curator's record, and how they are written."""

from __future__ import annotations

import hashlib
import html
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kepsilon.engines.protocol import Merged
from kepsilon.errors import EngineError, Problem
from kepsilon.publish.atomic import Staging, refuse_existing, refuse_input, require_folder
from kepsilon.publish.manifest import Json, public


class Release:
    """A release that was drawn once and is kept; nothing here can draw again."""

    def __init__(self, merged: Merged, record: Json) -> None:
        self._merged = merged
        self._record = record

    @property
    def frame(self) -> Any:
        """The released records, as the kind of table that was read (Arrow for a file)."""
        return self._merged.frame()

    @property
    def record(self) -> Json:
        """Everything known about the release: for the curator only."""
        return self._record

    @property
    def manifest(self) -> Json:
        """What may be given away with the release."""
        return public(self._record)

    @property
    def linkage(self) -> Any:
        """Which original record each released record was: for the curator only."""
        return self._merged.linkage()

    def write(self, path: str | Path, *, linkage: str | Path | None = None, overwrite: bool = False) -> None:
        """Writes the release, PATH.manifest.json and the owner-only PATH.curator.json; whole, or not at all."""
        output = Path(path)
        linkage_path = None if linkage is None else Path(linkage)
        source = self._merged.source_path
        check_outputs(output, linkage_path, overwrite=overwrite, inputs=() if source is None else (source,))
        paths = [output] if linkage_path is None else [output, linkage_path]
        with Staging(path.parent for path in paths) as staging:
            with staging.new_file(output, owner_only=False) as temporary:
                self._merged.write(temporary, final_name=output)
                digest = _digest(temporary)
            self._record["digest"] = digest
            for final, content, owner_only in (
                (manifest_path(output), self.manifest, False),
                (curator_path(output), self._record, True),
            ):
                with staging.new_file(final, owner_only=owner_only) as temporary:
                    temporary.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
            if linkage_path is not None:
                from kepsilon.engines.files import writer_for

                with staging.new_file(linkage_path, owner_only=True) as temporary:
                    writer_for(linkage_path)(self.linkage, temporary)
            staging.publish(overwrite=overwrite)

    def _repr_html_(self) -> str:
        """Figures, never records."""
        records = self._record["records"]
        cells = "".join(f"<tr><th>{html.escape(key)}</th><td>{value:,}</td></tr>" for key, value in records.items())
        promises = "".join(f"<p>{html.escape(line)}</p>" for line in self._record["guarantee"]["statement"].split("\n"))
        return f"{promises}<table>{cells}</table>"

    def __repr__(self) -> str:
        records, classes = self._record["records"], self._record["classes"]
        return f"<Release of {records['released']:,} of {records['read']:,} records in {classes['count']:,} classes>"


def manifest_path(output: Path) -> Path:
    return output.with_name(output.name + ".manifest.json")


def curator_path(output: Path) -> Path:
    return output.with_name(output.name + ".curator.json")


def check_outputs(output: Path, linkage: Path | None, *, overwrite: bool, inputs: Iterable[Path] = ()) -> None:
    """Everything about the places to write to that can be refused before any work is done."""
    from kepsilon.engines.files import require_known_kind

    named = [output] if linkage is None else [output, linkage]
    for path in named:
        require_known_kind(path)
        require_folder(path.parent)
        refuse_input(path, inputs)
    beside = (output, manifest_path(output), curator_path(output))
    for path in (*beside, *named[1:]):
        refuse_existing(path, overwrite=overwrite)
    if linkage is not None and linkage.resolve() in {path.resolve() for path in beside}:
        raise EngineError(Problem(where=str(linkage), what="the linkage file needs a name of its own."))


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()
