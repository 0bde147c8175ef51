# SPDX-License-Identifier: Apache-2.0
"""A file of any kind, whose columns a function reads, and the errors of reading, worded for the user."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kepsilon.errors import DataError, EngineError, Problem
from kepsilon.special_files import special_kind

if TYPE_CHECKING:
    import pyarrow as pa


def _nothing() -> tuple[str, ...]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedFile:
    """A `Source` that is one file, whose columns a function reads; enough for most kinds of file."""

    path: Path
    column_names: tuple[str, ...]
    read: Callable[[Sequence[str]], pa.Table]
    """Reads the named columns, in the order asked for."""
    by_column: bool = False
    tells_null_from_empty: bool = True
    notes: tuple[Problem, ...] = ()
    beside: Callable[[], tuple[str, ...]] = _nothing

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def inputs(self) -> tuple[Path, ...]:
        return (self.path,)

    def arrow_table(self, columns: Sequence[str], *, coded: Sequence[str] = ()) -> pa.Table:
        del coded  # text is read as the file holds it
        with readable(self.path):
            return self.read(columns)

    def like(self, table: pa.Table) -> pa.Table:
        return table


@contextmanager
def readable(path: Path, *, damaged: str = "is damaged, and cannot be read.") -> Iterator[None]:
    """Words the errors of reading a file: those of the system, and all of Arrow's, which quote what they stumble over."""
    import pyarrow as pa

    try:
        yield
    except MemoryError:
        raise
    except OSError as error:
        if error.errno is None:  # Arrow's word for a file that is not as it should be
            raise DataError(Problem(where=str(path), what=damaged)) from None
        raise unreadable(path, error) from None
    except UnicodeEncodeError:
        raise DataError(
            Problem(where=str(path), what="its name is not UTF-8 text, and cannot be opened.", fix="Rename it.")
        ) from None
    except (pa.ArrowException, UnicodeDecodeError, KeyError, IndexError) as error:
        if type(error) is pa.ArrowException and "thread" in str(error):  # no room for the stack of another thread
            raise MemoryError from None
        raise DataError(Problem(where=str(path), what=damaged)) from None


def unreadable(path: Path, error: OSError) -> EngineError:
    """The error for a file that the system cannot read."""
    return EngineError(Problem(where=str(path), what=f"cannot be read: {error.strerror or 'input/output error'}."))


def refuse_special(path: Path) -> None:
    """Refuses a pipe, a socket or a device, which might never end, or never begin."""
    kind = special_kind(path)
    if kind not in (None, "a folder"):
        raise DataError(
            Problem(
                where=str(path),
                what=f"is {kind}, not a file.",
                fix="A table is read more than once: write it to a file first.",
            )
        )


def missing(path: Path) -> DataError:
    """The error for a file that does not exist."""
    return DataError(Problem(where=str(path), what="there is no such file."))


def changed(source: Path | str) -> EngineError:
    """The error for a table that was changed while it was read; `source` is a path, or the name of a frame."""
    return EngineError(
        Problem(
            where=str(source),
            what="was changed while it was being read; nothing was released.",
            fix="Start again once nobody writes to it any more.",
        )
    )
