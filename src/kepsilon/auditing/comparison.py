# SPDX-License-Identifier: Apache-2.0
"""Compares a curator's record with the policy and with figures worked out again."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from kepsilon.json_values import Json
from kepsilon.policy.policy import Policy
from kepsilon.policy.roles import CoarseSpecification, EpsilonQuasi, fraction

NOT_COMPARED = ("path", "levels")
"""Keys of a hierarchy in the policy that are not compared: where its file is, and its lists of values."""

PROMISED = {
    "kepsilon_version": (),
    "policy": ("attributes",),
    "guarantee": ("statement", "k", "epsilon", "confidence", "ranges"),
    "digest": (),
    "records": (
        "read",
        "released",
        "suppressed_by_k",
        "suppressed_by_confidence",
        "suppressed_missing",
        "suppressed_unlisted",
    ),
    "classes": ("count", "smallest", "largest", "mean"),
}
"""Keys that every curator's record has, with the keys inside each."""

FIGURES = (
    "digest", "guarantee", "records", "classes", "levels", "clipped", "constant_classes", "reidentification", "loss",
    "error", "linking_risk", "persons", "groups",
)  # fmt: skip
"""Keys whose figures are compared, to nine digits."""


@dataclass(frozen=True, slots=True)
class Between:
    """Stands for a figure of which only bounds are known."""

    least: float
    most: float

    def __mul__(self, factor: float) -> Between:
        return Between(self.least * factor, self.most * factor)


@dataclass(slots=True)
class Comparison:
    """What was compared and what is wrong; neither quotes a value of the document."""

    wrong: list[str] = field(default_factory=list)
    """Paths of wrong values, such as `records.read`."""
    compared: dict[str, None] = field(default_factory=dict)
    """First keys of the paths that were compared, in order."""

    def require(self, is_right: bool, where: str) -> None:
        """Notes that the value at the path `where` was compared, and whether it is right."""
        self.compared.setdefault(where.partition(".")[0])
        if not is_right:
            self.wrong.append(where)


def compare(document: Json, known: Json, policy: Policy) -> Comparison:
    """Compares a document with the keys it must have, with the policy, and with each figure of `known` that it states."""
    found = Comparison()
    for key, parts in PROMISED.items():
        if key not in document:
            found.wrong.append(f"{key} (not there)")
        elif parts and not isinstance(document[key], Mapping):
            found.wrong.append(key)
        else:
            found.wrong += [f"{key}.{part} (not there)" for part in parts if part not in document[key]]
    if isinstance(document.get("policy"), Mapping):
        _compare_policies(document["policy"], policy.model_dump(mode="json", exclude_none=True), found)
    guarantee = document.get("guarantee")
    if isinstance(guarantee, Mapping) and "ranges" in guarantee:
        _compare_ranges(guarantee["ranges"], policy, found)
    for key in FIGURES:
        if key in known and key in document:
            compare_figures(document[key], known[key], key, found)
    records = document.get("records")
    if isinstance(records, Mapping) and all(isinstance(value, int) for value in records.values()):
        parts_sum = sum(value for key, value in records.items() if key != "read")
        if parts_sum != records.get("read"):
            found.wrong.append("records (they do not add up)")
    found.wrong = list(dict.fromkeys(found.wrong))
    return found


def _compare_policies(stated: Mapping[str, Any], own: Json, found: Comparison) -> None:
    """Compares the policy that the document states with the audit's own; neither may have keys that the other lacks."""
    for key, value in own.items():
        if key != "attributes":
            found.require(key in stated and stated[key] == value, f"policy.{key}")
    if any(key not in own for key in stated):
        found.require(False, "policy (extra keys)")
    theirs = stated.get("attributes")
    if not isinstance(theirs, Mapping):
        found.require(False, "policy.attributes")
        return
    for name, attribute in own["attributes"].items():
        other = theirs.get(name)
        found.require(
            isinstance(other, Mapping) and _comparable(other) == _comparable(attribute), f"policy.attributes.{name}"
        )
    if any(name not in own["attributes"] for name in theirs):
        found.require(False, "policy.attributes (extra ones)")


def _comparable(attribute: Mapping[str, Any]) -> Json:
    """An attribute of the policy without what is not compared."""
    hierarchy = attribute.get("hierarchy")
    if not isinstance(hierarchy, Mapping):
        return dict(attribute)
    return {**attribute, "hierarchy": {k: v for k, v in hierarchy.items() if k not in NOT_COMPARED}}


def _compare_ranges(stated: Any, policy: Policy, found: Comparison) -> None:
    """Compares the ranges that the guarantee states in words with those of the policy; none where nothing is drawn."""
    ranged = policy.epsilon_quasis if policy.draws_noise else {}
    if not isinstance(stated, Mapping) or set(stated) != set(ranged):
        found.require(False, "guarantee.ranges")
        return
    for name, attribute in ranged.items():
        found.require(_says_range(stated[name], attribute), f"guarantee.ranges.{name}")


def _says_range(stated: Any, attribute: EpsilonQuasi) -> bool:
    """Whether the words, such as "class", "coarse, step 5" or "declared [130, 210]", state the attribute's range.

    Numbers are compared by value, so that 5 and 5.0 agree.
    """
    if not isinstance(stated, str) or len(stated) > 2000:
        return False
    if isinstance(attribute.range, CoarseSpecification):
        kind, numbers = r"coarse, step (\S+)", [fraction(attribute.range.coarse)]
    elif isinstance(attribute.range, tuple):
        kind, numbers = r"declared \[(\S+), (\S+)\]", [fraction(bound) for bound in attribute.range]
    else:
        return stated == "class"
    words = re.fullmatch(kind, stated)
    return words is not None and [_number(text) for text in words.groups()] == numbers


def _number(text: str) -> Fraction | None:
    """The decimal number that a text states, with either minus sign; None if it is none, or far too long."""
    if not re.fullmatch(r"[-−]?[0-9]{1,400}(\.[0-9]{1,400})?(e[-+]?[0-9]{1,3})?", text):
        return None
    return Fraction(text.replace("−", "-"))


def compare_figures(stated: Any, known: Any, where: str, found: Comparison) -> None:
    """Compares each known figure that the document states; a tuple lists all values that are right."""
    if isinstance(known, Mapping):
        if not isinstance(stated, Mapping):
            found.require(False, where)
            return
        for key in known:
            if key in stated:
                compare_figures(stated[key], known[key], f"{where}.{key}", found)
    elif isinstance(known, tuple):
        found.require(stated in known, where)
    elif isinstance(known, Between):
        is_number = isinstance(stated, int | float) and not isinstance(stated, bool)
        is_inside = is_number and known.least <= stated <= known.most
        found.require(is_inside or agree(stated, known.least) or agree(stated, known.most), where)
    elif stated is None and where.startswith("error."):
        pass  # the error of an attribute with too few records is not stated
    else:
        found.require(agree(stated, known), where)


def agree(stated: Any, known: Any) -> bool:
    """Whether two values agree; numbers agree if they differ by half a unit of the ninth significant digit at most."""
    is_number = isinstance(stated, int | float) and not isinstance(stated, bool)
    if not is_number or not isinstance(known, int | float) or isinstance(known, bool):
        return isinstance(stated, bool) == isinstance(known, bool) and bool(stated == known)
    if isinstance(stated, int) and isinstance(known, int):
        return stated == known
    if not math.isfinite(known) or (isinstance(stated, float) and not math.isfinite(stated)):
        return bool(stated == known)
    if known == 0:
        return bool(abs(stated) < 1e-12)
    # Exact, because a forged whole number may be too large for a double, and honest errors come close to its end.
    unit = Fraction(10) ** (math.floor(math.log10(abs(known))) - 8)
    return abs(Fraction(stated) - Fraction(known)) <= unit / 2 * (1 + Fraction(1, 10**6))
