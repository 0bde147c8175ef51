# SPDX-License-Identifier: Apache-2.0
"""Checks that local labels name no more than their classes hold: a label that is wider than it need be can carry a message.

`labels = "siblings"` promises labels that say what occurs: intervals from the first to the last step in which a record of
the class lies, and sets of which each member occurs. Regions (`labels = "ancestor"`), nodes and `*` may hold more.
"""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np

from kepsilon.auditing.case import AuditCase
from kepsilon.auditing.classes import NOWHERE
from kepsilon.auditing.findings import counted
from kepsilon.auditing.labels import INTERVAL, OR_NULL, members_of
from kepsilon.policy.numbers import parse_number
from kepsilon.policy.roles import fraction
from kepsilon.table.arrays import IntArray
from kepsilon.table.codes import Domain, Label


def check_label_tightness(case: AuditCase) -> None:
    """Counts classes whose label of a k-quasi names more than the originals of the class, where these are known.

    Where confident k takes records out, nothing is checked: which originals a class had is then worked out from its labels.
    """
    policy, classes = case.policy, case.classes
    if classes.cover is None or policy.labels != "siblings" or policy.confidence is not None:
        return
    inside = np.flatnonzero((classes.of_original != NOWHERE) & np.append(classes.is_known, False)[classes.of_original])
    inside = inside[np.argsort(classes.of_original[inside], kind="stable")]
    ids = classes.of_original[inside]
    known, firsts = np.unique(ids, return_index=True)
    example = np.zeros(classes.n_classes, dtype=np.int64)
    example[classes.of_released] = np.arange(case.released.n_records)
    for name, domain in case.original.domains.items():
        texts, of_record = case.released.labels[name]
        by_class = np.split(case.original.codes[name][inside], firsts[1:]) if known.size else []
        step = policy.k_quasis[name].step
        shown = [texts[i] for i in of_record[example[known]].tolist()]
        n_wide = 0
        for label, codes in zip(shown, by_class, strict=True):
            own = np.unique(codes)
            n_wide += (
                _is_wide_interval(domain, label, own, fraction(step))
                if step is not None
                else _is_wide_set(domain, label, own)
            )
        if n_wide:
            case.findings.broken(
                "labels",
                f"{counted(n_wide, 'class has a label', 'classes have labels')} of {name} wider than their records.",
            )


def _is_wide_interval(domain: Domain, label: Label, codes: IntArray, step: Fraction) -> bool:
    """Whether an interval has a first or last step, or a null, that none of the values with these codes is in."""
    values = [domain.levels[0][code] for code in codes.tolist()]
    numbers = [number for value in values if value is not None and (number := parse_number(value)) is not None]
    interval = re.fullmatch(INTERVAL, (label or "").removeprefix(OR_NULL))
    if interval is None or not numbers or label is None:
        return False  # a label of another form is judged elsewhere
    low, high = (Fraction(text) for text in interval.groups())
    if label.startswith(OR_NULL) and None not in values:
        return True
    return low < min(numbers) // step * step or high > (max(numbers) // step + 1) * step


def _is_wide_set(domain: Domain, label: Label, codes: IntArray) -> bool:
    """Whether a set has a member that no value with these codes is or is below, at every level that has all members."""
    if label is None or not (label.startswith("{") and label.endswith("}")):
        return False
    listed = members_of(label)
    members = None if listed is None else set(listed)
    found = []
    for level, known in enumerate(domain.levels if domain.generalises else domain.levels[:1]):
        if members is not None and members <= set(known):
            held = {known[node] for node in domain.at_level(level)[codes].tolist()}
            found.append(members <= held)
    return bool(found) and not any(found)
