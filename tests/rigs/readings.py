# SPDX-License-Identifier: Apache-2.0
"""The cells of a quasi as its policy reads them: read from the documentation, cell by cell, with code that is not the package's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from rigs.columns import Column
from rigs.label_meaning import as_text, number_of

WRONG = "\0wrong sign"
"""Added to a number that has the other decimal sign, so that nothing takes it for a number."""


def as_read(column: Column, document: Mapping[str, Any]) -> list[Any]:
    """The values of a quasi: None where one means missing, and numbers that are text with a decimal point."""
    attribute = document["attributes"][column.name]
    codes = attribute.get("missing_values", document.get("missing_values", [""]))
    kind = column.array.type
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    is_typed = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    is_noisy = attribute["role"] == "epsilon-quasi"
    reads_numbers = is_noisy or "step" in attribute or attribute.get("hierarchy", {}).get("type") == "intervals"
    comma = document.get("decimal") == ","
    listed = [number_of(_pointed(code, comma=comma and not is_typed)) for code in codes]

    def read(value: Any) -> Any:
        text = as_text(value)
        if not text or (is_noisy and not text.strip()):
            return None  # empty texts are missing, whether or not they are listed
        if text in codes or (text.strip() and text.strip() in [code.strip() for code in codes]):
            return None
        own = _pointed(text, comma=comma and not is_typed) if reads_numbers else text
        number = number_of(own) if is_typed or reads_numbers else None
        if number is not None and number in listed:
            return None
        return own if own != text else value

    return [read(value) for value in column.values]


def _pointed(text: str, *, comma: bool) -> str:
    """A text with its decimal comma as a point; a text with a point is then no number."""
    if not comma:
        return text
    if "." in text:
        return text + WRONG if number_of(text) is not None else text
    return text.replace(",", ".") if number_of(text.replace(",", ".")) is not None else text
