# SPDX-License-Identifier: Apache-2.0
"""The type of arguments and options that are paths."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

import kepsilon


class AnyPath(click.Path):
    """Reads a path; one that the system could not even ask for is refused in the words of the package.

    Click would ask the system for it, and let through the ValueError that Python raises for a NUL.
    """

    def __init__(self, *, file_okay: bool = True) -> None:
        super().__init__(path_type=Path, file_okay=file_okay)

    def convert(self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = os.fspath(value)
        if "\0" in path:
            where = path.replace("\0", "\\0")
            raise kepsilon.EngineError(kepsilon.Problem(where=where, what="holds a character that no name can have."))
        return super().convert(value, param, ctx)
