# SPDX-License-Identifier: Apache-2.0
"""The table of kinds of tables: which kind reads a path or an object, and which writes a file, by suffix or type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from kepsilon.errors import DataError, Problem
from kepsilon.sources.arrow_files import ArrowFiles
from kepsilon.sources.csv_files import CsvFile, CsvFiles
from kepsilon.sources.files import missing, readable, refuse_special
from kepsilon.sources.folders import is_many
from kepsilon.sources.frames import Frames, not_a_table
from kepsilon.sources.parquet_files import PARQUET
from kepsilon.sources.protocol import Kind, Sink, Source, Write, Writing
from kepsilon.sources.spark_frames import SPARK_FRAMES


class Kinds:
    """Kinds of tables in the order in which they were added; no two share a name or a suffix."""

    def __init__(self, *kinds: Kind) -> None:
        self._kinds: list[Kind] = []
        for kind in kinds:
            self.add(kind)

    def add(self, kind: Kind) -> None:
        """Adds a kind; ValueError where it shares its name or a suffix with another."""
        for suffix in (*kind.suffixes, *kind.other_suffixes):
            if not suffix or suffix != Path(f"table{suffix}").suffix.lower():
                raise ValueError(f"{suffix!r} is no suffix in lower case")
            if (other := self.by_suffix(suffix)) is not None:
                raise ValueError(f"{suffix} is a suffix of {other.name} already")
        if any(kind.name == other.name for other in self._kinds):
            raise ValueError(f"there is a kind of table called {kind.name} already")
        self._kinds.append(kind)

    @contextmanager
    def having(self, kind: Kind) -> Iterator[None]:
        """Adds a kind while the block runs, such as in a test."""
        self.add(kind)
        try:
            yield
        finally:
            self._kinds.remove(kind)

    def by_suffix(self, suffix: str) -> Kind | None:
        wanted = suffix.lower()
        return next((kind for kind in self._kinds if wanted in (*kind.suffixes, *kind.other_suffixes)), None)

    def taking(self, source: object) -> Kind | None:
        """The kind that takes an object or folder as its own; where several do, the one that was added last."""
        return next((kind for kind in reversed(self._kinds) if kind.takes(source)), None)

    def __iter__(self) -> Iterator[Kind]:
        return iter(self._kinds)


SOURCES = Kinds(CsvFiles(), PARQUET, ArrowFiles(), Frames(), SPARK_FRAMES)


def find_kind(source: object) -> Kind | None:
    """The kind of a path or an object, by its name and type; None if no kind knows it."""
    if not isinstance(source, str | Path):
        return SOURCES.taking(source)
    path = Path(source)
    return SOURCES.taking(path) or SOURCES.by_suffix(path.suffix)


def kind_of(source: object) -> Kind:
    """The kind of a path or an object; refused if no kind knows it."""
    kind = find_kind(source)
    if kind is not None:
        return kind
    if not isinstance(source, str | Path):
        raise not_a_table(source)
    raise _unknown(Path(source), [kind for kind in SOURCES if kind.suffixes])


def open_source(source: object) -> Source:
    """A path or an object as a `Source`, whose columns are known and whose records are not read yet."""
    kind = kind_of(source)
    if not isinstance(source, str | Path):
        return kind.open(source)
    path = Path(source)
    refuse_special(path)
    with readable(path):
        if not (path.exists() or is_many(path)):
            raise missing(path)
        return kind.open(path)


def open_release(source: object) -> Source:
    """A release as a `Source`, in which empty text and null are told apart where kepsilon writes them differently."""
    opened = open_source(source)
    return replace(opened, is_release=True) if isinstance(opened, CsvFile) else opened


def writer_for(path: Path) -> Writing:
    """What writes a file of that name; refused where no kind that can be written has its suffix."""
    kind = SOURCES.by_suffix(path.suffix)
    written = [own for own in SOURCES if own.suffixes and own.writing is not None]
    if kind is None:
        raise _unknown(path, written)
    if kind.writing is None:
        raise DataError(
            Problem(where=str(path), what=f"{kind.name} can be read, but not written.", fix=f"Use {_listed(written)}.")
        )
    return kind.writing


def writing(sink: Sink) -> AbstractContextManager[Write]:
    """Opens a file for writing, of the kind that its final name asks for; leaving the block finishes it."""
    return writer_for(sink.final_name)(sink)


def lost_types(path: Path, input_types: Mapping[str, Any], *, final_name: Path) -> tuple[Problem, ...]:
    """A problem that names the kept columns whose type in the input, by name, is not their type in a released file.

    The file, or folder of Parquet files, is at `path` and will be called `final_name`.
    """
    types_in = getattr(SOURCES.taking(path) or SOURCES.by_suffix(final_name.suffix), "types_in", None)
    if types_in is None:  # a kind of file that does not say
        return ()
    found = types_in(path, input_types)
    changed = {name: kind for name, kind in found.items() if name in input_types and kind != input_types[name]}
    if not changed:
        return ()
    listed = "; ".join(f'"{name}" was {input_types[name]} and is {kind}' for name, kind in changed.items())
    return (
        Problem(
            where=str(final_name),
            what=f"columns have another type than in the input: {listed}.",
            fix="Their values stay. Arrow (.arrow) has most types, Parquet (.parquet) all but a few, CSV none.",
        ),
    )


def _unknown(path: Path, kinds: Sequence[Kind]) -> DataError:
    return DataError(
        Problem(
            where=str(path),
            what="cannot tell what kind of file this is from its suffix.",
            fix=f"Use {_listed(kinds)}.",
        )
    )


def _listed(kinds: Sequence[Kind]) -> str:
    """Kinds with their suffixes for a message: "CSV (.csv, .tsv), Parquet (.parquet) or Arrow (.arrow, .feather)"."""
    named = [f"{kind.name} ({', '.join(kind.suffixes)})" for kind in kinds]
    return " or ".join([", ".join(named[:-1]), named[-1]]) if len(named) > 1 else "".join(named)
