# SPDX-License-Identifier: Apache-2.0
"""What the source says about the fields of a class: the text under each field, and where a text is missing."""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
import re
import textwrap


class NotDescribedError(Exception):
    """A field without a text, which the reference would have to leave out."""


@functools.cache
def field_texts(cls: type) -> dict[str, str]:
    """By field, the string that stands under it in the source of the class or of a class that it inherits from."""
    found: dict[str, str] = {}
    for own in reversed(cls.__mro__):
        if not own.__module__.startswith("kepsilon"):
            continue
        body = ast.parse(textwrap.dedent(inspect.getsource(own))).body[0]
        statements = body.body if isinstance(body, ast.ClassDef) else []
        for field, text in itertools.pairwise(statements):
            is_text = isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and is_text:
                found[field.target.id] = one_line(str(text.value.value))  # type: ignore[attr-defined]
    return found


def described(cls: type, field: str, plain: dict[str, str], fallback: type | None = None) -> str:
    """The text of a field: its own, or that of `plain`, or what its value's class says of itself."""
    name = f"{cls.__name__}.{field}"
    text = field_texts(cls).get(field) or plain.get(name, "")
    if not text and fallback is not None and (fallback.__doc__ or "").strip():
        text = first_sentences(inspect.getdoc(fallback) or "")
    if not text:
        raise NotDescribedError(
            f"{cls.__module__}.{name} has no description.\n"
            f"  Write a string under the field, as the fields around it have, or a line in tools/reference/plain_keys.py."
        )
    return text


def one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def first_sentences(docstring: str) -> str:
    """The first paragraph of a docstring, in one line; a dataclass's made-up signature is no text."""
    text = one_line(docstring.split("\n\n", maxsplit=1)[0])
    return "" if re.match(r"\w+\(", text) else text


def cell(text: str) -> str:
    """A text as a cell of a table."""
    return one_line(text).replace("|", "\\|")
