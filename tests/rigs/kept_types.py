# SPDX-License-Identifier: Apache-2.0
"""Kept columns keep their type, or the change is said: types before and after, as others read them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import ipc, parquet

from rigs.cases import Case
from rigs.tables import CSV_KINDS

TEXTS = (pa.string(), pa.large_string(), pa.string_view())


def types_of_frame(frame: Any) -> dict[str, Any]:
    """Types of the columns of a frame, as its own library names them."""
    if isinstance(frame, pa.Table):
        return {field.name: field.type for field in frame.schema}
    library = type(frame).__module__.partition(".")[0]
    if library == "pandas":
        return dict(zip(frame.columns, frame.dtypes, strict=True))
    if library == "polars":
        return dict(frame.collect_schema())
    return dict(zip(frame.columns, frame.types, strict=True))


def types_of_input(source: Path, kind: str, names: list[str]) -> dict[str, Any]:
    """Types of the columns of an input file; CSV has text only."""
    if kind in CSV_KINDS:
        return dict.fromkeys(names, pa.string())
    return types_of_file(next(source.parent.glob(source.name)) if kind == "pattern" else source)


def types_of_file(path: Path) -> dict[str, Any]:
    """Types of the columns of a Parquet or Arrow file, or of a folder with such files."""
    if path.is_dir():
        return types_of_file(min(path.iterdir()))
    if path.suffix == ".parquet":
        schema = parquet.read_schema(path)
    else:
        with pa.OSFile(str(path)) as file:
            is_file = file.read(6) == b"ARROW1"
            file.seek(0)
            schema = (ipc.open_file if is_file else ipc.open_stream)(file).schema
    return {field.name: field.type for field in schema}


def changes_unsaid(case: Case, before: Mapping[str, Any], after: Mapping[str, Any] | None, said: str) -> Iterator[str]:
    """Kept columns whose type changed without a word, and words about a change that there is not.

    `after` is None where everything is text, as in CSV.
    Notes are wrapped to the width of a screen, so blanks do not count.
    """
    heard = re.sub(r"\s", "", said)
    for column in case.of_role("sensitive", "insensitive"):
        own = before[column.name]
        new = after[column.name] if after is not None else own if own in TEXTS else "text"
        name = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in column.name)
        quoted = re.sub(r"\s", "", f'"{name}"')
        is_said = f"{quoted}was" in heard or re.search(rf"column{re.escape(quoted)}:is[^.]*isreleasedas", heard)
        # Maps are equal whatever their fields are called, and categories of pandas whatever they list.
        is_changed = new != own and str(new) != str(own)
        if is_changed and not is_said:
            yield f"types: a kept column of {own} becomes {new}, and nobody says so"
        if not is_changed and f"{quoted}was" in heard:
            yield f"types: a kept column of {own} stays, and somebody says that it changes"
