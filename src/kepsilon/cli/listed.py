# SPDX-License-Identifier: Apache-2.0
"""The type of options that take several values, separated by commas."""

from __future__ import annotations

from typing import Any

import click


class Listed(click.ParamType[list[Any]]):
    """Reads values separated by commas into a list; `one` is their type, or None for numbers."""

    def __init__(self, name: str, one: type[int | str] | None = None) -> None:
        self.name = name
        self._one = one

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[Any]:
        if isinstance(value, list):
            return value
        try:
            return [self._read(part.strip()) for part in str(value).split(",") if part.strip()]
        except ValueError:
            self.fail(f"{value!r} should be {self.name} separated by commas.", param, ctx)

    def _read(self, text: str) -> Any:
        if self._one is not None:
            return self._one(text)
        return int(text) if text.isdigit() else float(text)
