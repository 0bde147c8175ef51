# SPDX-License-Identifier: Apache-2.0
"""Checks records against their originals: classes of the linkage, labels, kept columns, and values without noise."""

from __future__ import annotations

import numpy as np

from kepsilon.auditing.case import AuditCase
from kepsilon.auditing.classes import NOWHERE
from kepsilon.auditing.findings import counted
from kepsilon.auditing.labels import label_of_values, label_reader
from kepsilon.auditing.noise_law import Rounding
from kepsilon.auditing.stated_laws import is_bounded
from kepsilon.auditing.tables import codes_of_both
from kepsilon.table.arrays import BoolArray, IntArray
from kepsilon.table.keys import number


def check_linked_classes(case: AuditCase) -> None:
    """With a linkage, checks that its class ids divide the records as their labels do."""
    if case.linkage is None:
        return
    by_label, by_id = case.classes.of_released, case.linkage.class_id
    n_pairs = np.unique(np.stack([by_label, by_id]), axis=1).shape[1]
    case.findings.require(
        n_pairs == len(np.unique(by_label)) == len(np.unique(by_id)),
        "linkage",
        right="one line for every released record, each original named once, classes as the labels have them.",
        wrong="the classes of the linkage are not those of the labels.",
    )


def check_linked_labels(case: AuditCase) -> None:
    """With a linkage, checks that labels contain the values of their originals and that the same values are missing."""
    original, released, linkage, findings = case.original, case.released, case.linkage, case.findings
    if linkage is None:
        return
    outside = ~original.stays[linkage.original_row]
    n_left_out = int(np.count_nonzero(outside))
    if n_left_out:
        findings.broken(
            "labels",
            f"{counted(n_left_out, 'record is', 'records are')} released though a value is missing or unlisted.",
        )
    for name in original.domains:
        contains = _contains(case, name, linkage.original_row)
        n_wrong = int(np.count_nonzero(~contains & ~outside))
        findings.require(
            n_wrong == 0,
            "labels",
            right=f"every label of {name} contains its record.",
            wrong=f"{counted(n_wrong, 'label', 'labels')} of {name} without the value of the record.",
        )
    for name, attribute in case.policy.epsilon_quasis.items():
        differs = np.isnan(original.numbers[name][linkage.original_row]) != np.isnan(released.numbers[name])
        if attribute.missing == "class" and differs.any():
            findings.broken(
                "missing values", f"{name} is missing on one side only in {int(np.count_nonzero(differs)):,} records."
            )


def _contains(case: AuditCase, name: str, original_row: IntArray) -> BoolArray:
    """Whether the label of each released record contains the value of the original in `original_row`, shape (n_released,)."""
    domain = case.original.domains[name]
    texts, codes = case.released.labels[name]
    own = case.original.codes[name][original_row]
    contains: BoolArray
    if case.classes.node is not None:
        level = case.classes.node[list(case.original.domains).index(name)]
        contains = label_of_values(domain, level, texts)[own] == codes
    else:
        reader = label_reader(case.original, case.policy, name)
        readings = [reader.read(text) for text in texts]
        covers = np.array([np.zeros(domain.n_values, dtype=np.bool_) if r is None else r.covers for r in readings])
        contains = covers[codes, own]
    return contains


def share_contradicted(case: AuditCase, original_row: IntArray) -> float:
    """Share of released records that cannot have come from the original in `original_row`.

    The label of such a record does not contain the original; where there are no k-quasis, its kept values differ.
    """
    agrees = np.ones(case.released.n_records, dtype=np.bool_)
    for name in case.original.domains:
        agrees &= _contains(case, name, original_row)
    if not case.original.domains:
        for name in case.policy.kept:
            theirs, ours, _ = codes_of_both(case.original, case.released, name)
            agrees &= theirs[original_row] == ours
    return 1 - float(np.count_nonzero(agrees)) / case.released.n_records


def check_kept_columns(case: AuditCase) -> None:
    """Checks kept values: with a linkage record by record, otherwise how often each class shows each value."""
    policy, classes, linkage, findings = case.policy, case.classes, case.linkage, case.findings
    for name in policy.kept:
        theirs, ours, n_values = codes_of_both(case.original, case.released, name)
        if linkage is not None:
            n_wrong = int(np.count_nonzero(theirs[linkage.original_row] != ours))
            findings.require(
                n_wrong == 0,
                "kept columns",
                right=f"{name} is what it was in every record.",
                wrong=f"{counted(n_wrong, 'value of', 'values of')} {name} not that of the record's original.",
            )
            continue
        n_wrong = _n_too_often(case, theirs, ours, n_values=n_values)
        findings.require(
            n_wrong == 0,
            "kept columns",
            right=f"no class shows a value of {name} more often than its originals hold it."
            if classes.all_known
            else f"no known class shows a value of {name} more often than its originals hold it, nor do the "
            f"{np.count_nonzero(~classes.is_known):,} others together more often than all originals left.",
            wrong=f"{counted(n_wrong, 'value', 'values')} of {name} shown by classes whose originals do not hold "
            f"{'it' if n_wrong == 1 else 'them'}, or not so often.",
        )
    if policy.kept and linkage is None and policy.confidence is None and classes.all_known:
        findings.note("kept columns", "without a linkage, values exchanged inside a class would not be seen.")


def _n_too_often(case: AuditCase, theirs: IntArray, ours: IntArray, *, n_values: int) -> int:
    """Released values of a kept column for which no original is left.

    `theirs` are the codes of the originals, `ours` those of the released records. Values are counted class by class where
    the originals of a class are known; all other classes are counted as one, against all originals left.
    """
    classes, stays = case.classes, case.original.stays
    unknown = classes.n_classes
    group = np.where(classes.is_known, np.arange(classes.n_classes), unknown)
    in_known = (classes.of_original != NOWHERE) & np.append(classes.is_known, False)[classes.of_original]
    of_original = np.where(in_known, classes.of_original, unknown)[stays]
    of_released = group[classes.of_released]
    both = [np.concatenate([of_original, of_released]), np.concatenate([theirs[stays], ours])]
    numbers, n_pairs = number(both, sizes=[unknown + 1, n_values], length=len(both[0]))
    n_first = len(of_original)
    held = np.bincount(numbers[:n_first], minlength=n_pairs)
    shown = np.bincount(numbers[n_first:], minlength=n_pairs)
    return int(np.maximum(shown - held, 0).sum())


def check_constant_classes(case: AuditCase) -> None:
    """Checks classes whose records agree on an ε-quasi: they get no noise, so they publish that value, rounded.

    Averages are checked by themselves.
    """
    classes, noise, findings = case.classes, case.noise, case.findings
    if case.policy.averages is not None:
        return
    for j, (name, attribute) in enumerate(case.policy.epsilon_quasis.items()):
        constant = classes.is_known & (noise.ranges[:, j] == 0)
        n_constant = int(np.count_nonzero(constant))
        if not n_constant:
            continue
        rounding = Rounding.of(attribute)
        here = constant[classes.of_released]
        expected = np.clip(noise.low[classes.of_released[here], j], rounding.low, rounding.high)
        distance = np.abs(case.released.numbers[name][here] - expected)
        n_wrong = int(np.count_nonzero(~(distance <= rounding.step * (0.5 + 1e-6))))
        findings.require(
            n_wrong == 0,
            "ranges",
            right=f"{counted(n_constant, 'class', 'classes')} with one {name} throughout, which is what is published.",
            wrong=f"{counted(n_wrong, 'value of', 'values of')} {name} other than what all records of their class agree on.",
        )
        findings.warning(
            "ranges",
            f"{counted(n_constant, 'class agrees', 'classes agree')} on {name}, so that its exact value is "
            "published; a coarse or declared range "
            "would hide it.",
        )


def check_inside_ranges(case: AuditCase) -> None:
    """Checks that draws of a mechanism that stays inside the range did so, in classes whose range is known."""
    if not is_bounded(case.policy):
        return
    classes, noise = case.classes, case.noise
    for j, (name, attribute) in enumerate(case.policy.epsilon_quasis.items()):
        rounding = Rounding.of(attribute)
        ids = classes.of_released
        start, width = noise.starts[ids, j], noise.ranges[ids, j]
        lowest, highest = (np.clip(end, rounding.low, rounding.high) for end in (start, start + width))
        published, slack = case.released.numbers[name], rounding.step * (0.5 + 1e-6)
        is_outside = (published < lowest - slack) | (published > highest + slack)
        n_outside = int(np.count_nonzero(is_outside & (width > 0)))
        case.findings.require(
            n_outside == 0,
            "ranges",
            right=f"no {name} is published outside the range of its class, where that is known.",
            wrong=f"{counted(n_outside, 'value', 'values')} of {name} published outside the range of the class.",
        )
