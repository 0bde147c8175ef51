# SPDX-License-Identifier: Apache-2.0
"""A manifest or a curator's record against the policy and against figures worked out again."""

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

NOT_IN_THE_MANIFEST = ("path", "levels")
"""Inside a hierarchy: what the manifest leaves out of the policy."""

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
"""What every manifest and every record has."""

EXACT = ("digest", "guarantee", "records", "classes", "levels", "clipped", "constant_classes", "reidentification")
ROUNDED = ("loss", "error", "linking_risk")
"""Of these the manifest shows two digits."""


@dataclass(slots=True)
class Comparison:
    """What was compared, by its first key, and what is wrong, by its path; no text of the document is in either."""

    wrong: list[str] = field(default_factory=list)
    compared: dict[str, None] = field(default_factory=dict)

    def look_at(self, is_right: bool, where: str) -> None:
        self.compared.setdefault(where.partition(".")[0])
        if not is_right:
            self.wrong.append(where)


def compare(document: Json, known: Json, policy: Policy, *, is_rounded: bool) -> Comparison:
    """Every key that is promised, the policy both ways, and each figure of `known` that the document states."""
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
    for keys, digits in ((EXACT, 9), (ROUNDED, 2 if is_rounded else 9)):
        for key in keys:
            if key in known and key in document:
                _compare_figures(document[key], known[key], key, found, digits=digits)
    records = document.get("records")
    if isinstance(records, Mapping) and all(isinstance(value, int) for value in records.values()):
        parts_sum = sum(value for key, value in records.items() if key != "read")
        if parts_sum != records.get("read"):
            found.wrong.append("records (they do not add up)")
    found.wrong = list(dict.fromkeys(found.wrong))
    return found


def _compare_policies(stated: Mapping[str, Any], own: Json, found: Comparison) -> None:
    for key, value in own.items():
        if key != "attributes":
            found.look_at(key in stated and stated[key] == value, f"policy.{key}")
    if any(key not in own for key in stated):
        found.look_at(False, "policy (extra keys)")
    theirs = stated.get("attributes")
    if not isinstance(theirs, Mapping):
        found.look_at(False, "policy.attributes")
        return
    for name, attribute in own["attributes"].items():
        other = theirs.get(name)
        found.look_at(isinstance(other, Mapping) and _public(other) == _public(attribute), f"policy.attributes.{name}")
    if any(name not in own["attributes"] for name in theirs):
        found.look_at(False, "policy.attributes (extra ones)")


def _public(attribute: Mapping[str, Any]) -> Json:
    hierarchy = attribute.get("hierarchy")
    if not isinstance(hierarchy, Mapping):
        return dict(attribute)
    return {**attribute, "hierarchy": {k: v for k, v in hierarchy.items() if k not in NOT_IN_THE_MANIFEST}}


def _compare_ranges(stated: Any, policy: Policy, found: Comparison) -> None:
    if not isinstance(stated, Mapping) or set(stated) != set(policy.epsilon_quasis):
        found.look_at(False, "guarantee.ranges")
        return
    for name, attribute in policy.epsilon_quasis.items():
        found.look_at(_says_range(stated[name], attribute), f"guarantee.ranges.{name}")


def _says_range(stated: Any, attribute: EpsilonQuasi) -> bool:
    """Words such as "class", "coarse, step 5" and "declared [130, 210]", whichever way numbers are written."""
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
    if not re.fullmatch(r"[-−]?[0-9]{1,400}(\.[0-9]{1,400})?(e[-+]?[0-9]{1,3})?", text):
        return None
    return Fraction(text.replace("−", "-"))


def _compare_figures(stated: Any, known: Any, where: str, found: Comparison, *, digits: int) -> None:
    if isinstance(known, Mapping):
        if not isinstance(stated, Mapping):
            found.look_at(False, where)
            return
        for key in known:
            if key in stated:
                _compare_figures(stated[key], known[key], f"{where}.{key}", found, digits=digits)
    elif isinstance(known, tuple):
        found.look_at(stated in known, where)
    elif stated is None and where.startswith("error."):
        pass  # an error of too few records is not stated
    else:
        found.look_at(_agree(stated, known, digits=digits), where)


def _agree(stated: Any, known: Any, *, digits: int) -> bool:
    """The same to so many significant digits, half a unit of the last one included."""
    is_number = isinstance(stated, int | float) and not isinstance(stated, bool)
    if not is_number or not isinstance(known, int | float) or isinstance(known, bool):
        return bool(stated == known)
    if isinstance(stated, int) and isinstance(known, int) and digits >= 9:
        return stated == known
    if abs(stated) > 1e300 or not math.isfinite(known):
        return bool(stated == known)
    if known == 0:
        return bool(abs(stated) < 1e-12)
    unit = 10.0 ** (math.floor(math.log10(abs(known))) + 1 - digits)
    return bool(abs(stated - known) <= 0.5 * unit * (1 + 1e-6))
