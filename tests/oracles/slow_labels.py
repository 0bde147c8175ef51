# SPDX-License-Identifier: Apache-2.0
"""What a class should show, worked out one class at a time from the sentences of docs/reference/policy.md, without any code.

Values are texts, None is null. A hierarchy is a list of labels for each value, from the value itself to the top.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

Value = str | None
Label = str | None


def numbers(values: Sequence[Value], *, step: Fraction, style: str) -> Label:
    """The smallest interval that covers all numbers and whose bounds are multiples of the step; or the dyadic one."""
    known = [Fraction(value) for value in values if value is not None]
    if not known:
        return None
    low, high = step * math.floor(min(known) / step), step * (math.floor(max(known) / step) + 1)
    if style == "ancestor":
        width = step
        while low // width != (max(known)) // width:  # not yet in one interval of this width
            width *= 2
            if width > 4 * (abs(low) + abs(high) + step):
                return "*"  # numbers below 0 and from 0 on never share an interval that is aligned at 0
        low = width * (low // width)
        high = low + width
    text = f"[{written(low)}, {written(high)})"
    return f"null or {text}" if None in values else text


def written(number: Fraction) -> str:
    """A number with finitely many decimals, without trailing zeros."""
    text = f"{float(number):.6f}".rstrip("0").rstrip(".")
    assert Fraction(text) == number
    return "0" if text == "-0" else text


def category(values: Sequence[Value], hierarchy: Mapping[Value, Sequence[Label]], *, style: str) -> Label:
    """The children of the lowest common ancestor that occur, up to four of them, in the order of the hierarchy."""
    in_order = [value for value in hierarchy if value in values]
    n_levels = len(next(iter(hierarchy.values())))
    for level in range(n_levels + 1):
        above = {hierarchy[value][level] for value in in_order} if level < n_levels else {"*"}
        if len(above) > 1:
            continue
        children = list(dict.fromkeys(hierarchy[value][level - 1] for value in in_order)) if level else []
        if style == "siblings" and 2 <= len(children) <= 4:
            return as_set(children)
        (label,) = above
        is_everything = level == n_levels
        return label if is_everything else alone(label)
    raise AssertionError("everything is under *")


def without_hierarchy(values: Sequence[Value], column: Sequence[Value], *, k: int, style: str) -> Label:
    """The values, if at least k records of the whole column hold each of them; a single value is its own label."""
    distinct = sorted(set(values), key=lambda value: (value is not None, value or ""))
    if len(distinct) == 1:
        return as_set(distinct) if distinct[0] == "*" else alone(distinct[0])
    is_safe = all(sum(other == value for other in column) >= k for value in distinct)
    return as_set(distinct) if is_safe and style == "siblings" else "*"


def as_set(members: Sequence[Label]) -> str:
    """Members that could be taken for something else are in quotes."""
    texts = []
    for member in members:
        if member is None:
            texts.append("null")
        elif member != member.strip() or member in ("", "null") or set(member) & set(',{}"'):
            texts.append(json.dumps(member, ensure_ascii=False))
        else:
            texts.append(member)
    return "{" + ", ".join(texts) + "}"


def alone(label: Label) -> Label:
    """A single value; one that looks like a set is shown as a set of one."""
    return as_set([label]) if label is not None and label[:1] == "{" and label[-1:] == "}" else label


def loss_of_numbers(label: Label, column: Sequence[Value], covers: Sequence[bool]) -> Fraction:
    """Largest minus smallest number covered over the range of what occurs; null stands at the smallest."""
    known = [Fraction(value) for value in column if value is not None]
    inside = [Fraction(value) for value, is_in in zip(column, covers, strict=True) if is_in and value is not None]
    if label is None or not known or max(known) == min(known):
        return Fraction(0)
    low = min(known) if None in [v for v, is_in in zip(column, covers, strict=True) if is_in] else min(inside)
    return (max(inside) - low) / (max(known) - min(known))


def loss_of_categories(column: Sequence[Value], covers: Sequence[bool]) -> Fraction:
    """(values covered − 1)/(values − 1), of the values that occur."""
    n_covered = len({value for value, is_in in zip(column, covers, strict=True) if is_in})
    return Fraction(n_covered - 1, max(1, len(set(column)) - 1))
