# SPDX-License-Identifier: Apache-2.0
"""Refuses a step on which local algorithms would label numbers beyond the `max_level` of their hierarchy.

Local algorithms cut and label numbers on the step; `max_level` beside a hierarchy is a level of the hierarchy. Labels keep
to a node of that level only if its bounds are on the step, and with `labels = "ancestor"`, whose intervals are 1, 2, 4, …
steps aligned at 0, only if the node is such an interval itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from pydantic_core import PydanticCustomError

from kepsilon.policy.hierarchies.intervals import IntervalsHierarchy, exact, plain
from kepsilon.policy.roles import KQuasi, fraction


def refuse_steps_beyond_levels(k_quasis: Mapping[str, KQuasi], *, shows_regions: bool) -> None:
    """Raises PydanticCustomError for the first step that does not fit; for policies with a local algorithm.

    `shows_regions` says that labels are those of `labels = "ancestor"`.
    """
    for name, own in k_quasis.items():
        level, hierarchy = own.max_level, own.hierarchy
        if level is None or own.step is None or hierarchy is None:
            continue
        if hierarchy.height is not None and level >= hierarchy.height and hierarchy.place(()).top is not None:
            continue  # one label for all, which limits nothing
        if not level:
            what = "max_level = 0 keeps the values themselves, and local algorithms publish intervals on the step"
            raise _unfit(name, f"{what}; take one of them out, or the hierarchy: level 0 is then one step")
        if not isinstance(hierarchy, IntervalsHierarchy):
            what = "intervals on the step can hold numbers that max_level of this hierarchy keeps apart"
            raise _unfit(name, f"{what}; take the step out, or max_level, or use a hierarchy of intervals")
        step, width, origin = fraction(own.step), exact(hierarchy.widths[level - 1]), exact(hierarchy.origin)
        nodes = f"max_level = {level}, intervals of {plain(width)} from {plain(origin)}"
        if width % step or origin % step:
            what = f"intervals on a step of {plain(step)} would reach beyond {nodes}"
            raise _unfit(name, f"{what}; choose a step that divides these numbers, or another max_level")
        if shows_regions and (not _is_power_of_two(width / step) or origin % width):
            what = f'with labels = "ancestor", intervals of 1, 2, 4, … steps from 0 would reach beyond {nodes}'
            fix = 'a step that the width is 1, 2, 4, … times of, where the origin allows it, or labels = "siblings"'
            raise _unfit(name, f"{what}; choose {fix}")


def _unfit(name: str, what: str) -> PydanticCustomError:
    return PydanticCustomError("max_level", "attributes.{name}.max_level: {what}", {"name": name, "what": what})


def _is_power_of_two(number: Fraction) -> bool:
    return number.denominator == 1 and number.numerator.bit_count() == 1
