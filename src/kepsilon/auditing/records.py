# SPDX-License-Identifier: Apache-2.0
"""Records against their originals: labels contain them, kept values are theirs, and without noise nothing has moved."""

from __future__ import annotations

import numpy as np

from kepsilon.auditing.classes import NOWHERE, Classes
from kepsilon.auditing.findings import Findings, counted
from kepsilon.auditing.labels import read_label
from kepsilon.auditing.linkage import Linkage
from kepsilon.auditing.noise_law import ClaimedNoise, Grid
from kepsilon.auditing.tables import Original, Released
from kepsilon.policy.policy import Policy
from kepsilon.table.arrays import BoolArray, IntArray
from kepsilon.table.keys import number


def check_linked_labels(
    original: Original, released: Released, classes: Classes, linkage: Linkage, policy: Policy, findings: Findings
) -> None:
    """Every label contains the value of the record's own original, and nothing is missing that was not."""
    outside = ~original.stays[linkage.original_row]
    n_left_out = int(np.count_nonzero(outside))
    if n_left_out:
        findings.broken(
            "labels",
            f"{counted(n_left_out, 'record is', 'records are')} released though a value is missing or unlisted.",
        )
    for name in original.domains:
        contains = _contains(original, released, classes, name, linkage.original_row)
        n_wrong = int(np.count_nonzero(~contains & ~outside))
        findings.require(
            n_wrong == 0,
            "labels",
            right=f"every label of {name} contains its record.",
            wrong=f"{counted(n_wrong, 'label', 'labels')} of {name} without the value of the record.",
        )
    for name, attribute in policy.epsilon_quasis.items():
        differs = np.isnan(original.numbers[name][linkage.original_row]) != np.isnan(released.numbers[name])
        if attribute.missing == "class" and differs.any():
            findings.broken(
                "missing values", f"{name} is missing on one side only in {int(np.count_nonzero(differs)):,} records."
            )


def _contains(original: Original, released: Released, classes: Classes, name: str, original_row: IntArray) -> BoolArray:
    """Whether the label of every released record contains the value of the original named for it."""
    domain = original.domains[name]
    texts, codes = released.labels[name]
    own = original.codes[name][original_row]
    contains: BoolArray
    if classes.nodes is not None:
        level = classes.nodes[0][list(original.domains).index(name)]
        position = {label: i for i, label in enumerate(domain.levels[level])}
        of_text = np.array([position[text] for text in texts], dtype=np.int64)
        contains = domain.at_level(level)[own] == of_text[codes]
    else:
        readings = [read_label(domain, text) for text in texts]
        covers = np.array([np.zeros(domain.n_values, dtype=np.bool_) if r is None else r.covers for r in readings])
        contains = covers[codes, own]
    return contains


def share_contradicted(
    original: Original, released: Released, classes: Classes, policy: Policy, original_row: IntArray
) -> float:
    """Of the lines of a linkage those whose labels do not contain the original; without labels, whose kept values differ."""
    agrees = np.ones(released.n_records, dtype=np.bool_)
    for name in original.domains:
        agrees &= _contains(original, released, classes, name, original_row)
    if not original.domains:
        for name in policy.kept:
            theirs, ours, _ = _on_one_scale(original, released, name)
            agrees &= theirs[original_row] == ours
    return 1 - float(np.count_nonzero(agrees)) / released.n_records


def _on_one_scale(original: Original, released: Released, name: str) -> tuple[IntArray, IntArray, int]:
    """A kept column of both tables as codes of the same values, and how many of these there are."""
    texts, codes = original.table.texts(name)
    own_texts, own = released.table.texts(name)
    positions = {text: i for i, text in enumerate(texts)}
    ours = np.array([positions.setdefault(text, len(positions)) for text in own_texts], dtype=np.int64)[own]
    return codes, ours, len(positions)


def check_kept(
    original: Original,
    released: Released,
    classes: Classes,
    policy: Policy,
    findings: Findings,
    *,
    linkage: Linkage | None,
) -> None:
    """Kept values, record by record with a linkage, and otherwise as often in each class as among its originals."""
    for name in policy.kept:
        codes, ours, n_values = _on_one_scale(original, released, name)
        if linkage is not None:
            n_wrong = int(np.count_nonzero(codes[linkage.original_row] != ours))
            findings.require(
                n_wrong == 0,
                "kept columns",
                right=f"{name} is what it was in every record.",
                wrong=f"{counted(n_wrong, 'value of', 'values of')} {name} not that of the record's original.",
            )
            continue
        n_wrong = _n_too_often(codes, ours, original, classes, n_values=n_values)
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


def _n_too_often(codes: IntArray, ours: IntArray, original: Original, classes: Classes, *, n_values: int) -> int:
    """Cells of the release for which no original is left: by class where its originals are known, else over the whole."""
    unknown = classes.n_classes
    group = np.where(classes.is_known, np.arange(classes.n_classes), unknown)
    in_known = (classes.of_original != NOWHERE) & np.append(classes.is_known, False)[classes.of_original]
    of_original = np.where(in_known, classes.of_original, unknown)[original.stays]
    of_released = group[classes.of_released]
    both = [np.concatenate([of_original, of_released]), np.concatenate([codes[original.stays], ours])]
    numbers, n_pairs = number(both, sizes=[unknown + 1, n_values], length=len(both[0]))
    n_first = len(of_original)
    held = np.bincount(numbers[:n_first], minlength=n_pairs)
    shown = np.bincount(numbers[n_first:], minlength=n_pairs)
    return int(np.maximum(shown - held, 0).sum())


def check_without_noise(
    released: Released, classes: Classes, noise: ClaimedNoise, policy: Policy, findings: Findings
) -> None:
    """A class whose records agree gets no noise, so that the value they agree on, rounded, is what it publishes."""
    for j, (name, attribute) in enumerate(policy.epsilon_quasis.items()):
        constant = classes.is_known & (noise.ranges[:, j] == 0)
        n_constant = int(np.count_nonzero(constant))
        if not n_constant:
            continue
        grid = Grid.of(attribute)
        here = constant[classes.of_released]
        expected = np.clip(noise.low[classes.of_released[here], j], grid.low, grid.high)
        distance = np.abs(released.numbers[name][here] - expected)
        n_wrong = int(np.count_nonzero(~(distance <= grid.step * (0.5 + 1e-6))))
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
