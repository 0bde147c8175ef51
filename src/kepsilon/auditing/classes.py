# SPDX-License-Identifier: Apache-2.0
"""Which class each released record and each original is in, found again from labels alone.

Where every attribute has one level (OLA), an original's labels follow from its values. Otherwise (Mondrian) the originals
of a class are those its labels cover, as long as no other class covers them too.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np

from kepsilon.auditing.covering import resolve
from kepsilon.auditing.findings import Findings
from kepsilon.auditing.labels import ReadLabel, levels_of, read_label
from kepsilon.auditing.linkage import Linkage
from kepsilon.auditing.tables import Original, Released
from kepsilon.policy.choices import ALGORITHMS
from kepsilon.policy.policy import Policy
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.keys import number

NOWHERE = -1
"""The class of an original that no released class is known to hold."""

MOST_NODES = 64
"""How many readings of ambiguous labels are tried."""

CACHE_BYTES = 1 << 28


@dataclass(frozen=True, slots=True, kw_only=True)
class Cover:
    """What the labels of classes say about the originals."""

    of_original: IntArray
    covered: IntArray
    originals: IntArray
    is_known: BoolArray
    stays: IntArray
    """Originals that stay, by row."""
    combination_of: IntArray
    """Which combination of values each of them has."""
    combinations: tuple[IntArray, ...]
    """Those that each class covers."""

    def smallest_ranges(self, values: FloatArray, sizes: IntArray) -> FloatArray:
        """What the range of every class of such a size is at least, whichever of the originals it covers are its own."""
        order = np.argsort(self.combination_of, kind="stable")
        ends = np.cumsum(np.bincount(self.combination_of))
        by_combination = np.split(values[self.stays][order], ends[:-1])
        least = np.zeros(len(sizes))
        for c, (inside, size) in enumerate(zip(self.combinations, sizes.tolist(), strict=True)):
            ordered = np.sort(np.concatenate([by_combination[i] for i in inside.tolist()])) if inside.size else inside
            if 1 < size <= len(ordered):
                least[c] = float(np.min(ordered[size - 1 :] - ordered[: len(ordered) - size + 1]))
        return np.nan_to_num(least)


@dataclass(frozen=True, slots=True, kw_only=True)
class Classes:
    """Equivalence classes of the release, and the originals behind them."""

    of_released: IntArray
    """Class of every released record, shape (n_released,)."""
    of_original: IntArray
    """Class of every original, or NOWHERE, shape (n_originals,)."""
    released: IntArray
    """Released records of every class, shape (n_classes,)."""
    covered: IntArray
    """Originals that the labels of every class cover, also those of other classes."""
    originals: IntArray
    """Originals of every class; for one that is not known, as many as it releases."""
    is_known: BoolArray
    """Whether exactly the originals of the class are known."""
    n_suppressed: int | None
    """Originals in classes too small for k, where that is known (OLA)."""
    absent: IntArray
    """Sizes of the classes of k originals or more that are not in the release, where that is known (OLA)."""
    dm_star: int | None
    nodes: tuple[tuple[int, ...], ...] | None
    """Levels that explain the labels (OLA); usually one node."""
    losses: tuple[float, ...]
    """Mean precision loss by k-quasi over originals of the classes; NaN where it cannot be told."""

    of_node: IntArray | None = None
    """Class of every original at the levels of the release, also of those that are not in it (OLA), or NOWHERE."""
    cover: Cover | None = None
    """Where classes are told by what their labels cover (Mondrian)."""

    @property
    def n_classes(self) -> int:
        return len(self.released)

    @property
    def all_known(self) -> bool:
        return bool(self.is_known.all())


def find_classes(
    original: Original, released: Released, policy: Policy, findings: Findings, *, linkage: Linkage | None
) -> Classes | None:
    """The classes; None if labels cannot be understood, which is then among the findings."""
    flags = [name for name, attribute in policy.epsilon_quasis.items() if attribute.missing == "class"]
    if ALGORITHMS[policy.algorithm].has_levels:
        return _by_level(original, released, policy, findings, flags)
    return _by_cover(original, released, policy, findings, flags, linkage)


def releases_all(policy: Policy) -> bool:
    """Whether every record that stays is released: neither the algorithm nor confident k leaves any out."""
    return policy.confidence is None and not ALGORITHMS[policy.algorithm].may_suppress


def as_one_class(original: Original, classes: Classes) -> Classes:
    """All records that stay as one class, for what does not depend on who is in which."""
    n = np.array([original.n_staying])
    return replace(
        classes,
        of_released=np.zeros_like(classes.of_released),
        of_original=np.where(original.stays, 0, NOWHERE),
        released=np.array([len(classes.of_released)]),
        covered=n,
        originals=n,
        is_known=np.ones(1, dtype=np.bool_),
    )


def _missing(numbers: dict[str, np.ndarray], flags: list[str]) -> list[IntArray]:
    return [np.isnan(numbers[name]).astype(np.int64) for name in flags]


def _by_level(
    original: Original, released: Released, policy: Policy, findings: Findings, flags: list[str]
) -> Classes | None:
    """One level for everybody, as OLA has it."""
    candidates = {}
    for name, domain in original.domains.items():
        candidates[name] = levels_of(domain, released.labels[name][0])
        if not candidates[name]:
            known = {label for level in domain.levels for label in level}
            n_foreign = sum(label not in known for label in released.labels[name][0])
            how = (
                f"{n_foreign:,} labels are none of its hierarchy's" if n_foreign else "its labels are of several levels"
            )
            findings.broken("labels", f"{name} is not at one level of its hierarchy: {how}.")
    if not all(candidates.values()):
        return None
    nodes = list(itertools.islice(itertools.product(*candidates.values()), MOST_NODES))
    tried = [_at_node(node, original, released, policy, flags) for node in nodes]
    mismatches = [int(np.abs(classes.released - classes.originals).sum()) for classes in tried]
    best = min(mismatches)
    fitting = tuple(node for node, n in zip(nodes, mismatches, strict=True) if n == best)
    return replace(tried[mismatches.index(best)], nodes=fitting)


def _at_node(
    node: tuple[int, ...], original: Original, released: Released, policy: Policy, flags: list[str]
) -> Classes:
    stays = np.flatnonzero(original.stays)
    columns, sizes = [], []
    for level, (name, domain) in zip(node, original.domains.items(), strict=True):
        texts, codes = released.labels[name]
        position = {label: i for i, label in enumerate(domain.levels[level])}
        of_text = np.array([position[text] for text in texts], dtype=np.int64)
        columns.append(np.concatenate([of_text[codes], domain.at_level(level)[original.codes[name][stays]]]))
        sizes.append(len(position))
    for rel, orig in zip(_missing(released.numbers, flags), _missing(original.numbers, flags), strict=True):
        columns.append(np.concatenate([rel, orig[stays]]))
        sizes.append(2)
    n_released = released.n_records
    numbers, n_found = number(columns, sizes=sizes, length=n_released + len(stays))
    in_release = np.bincount(numbers[:n_released], minlength=n_found)
    in_original = np.bincount(numbers[n_released:], minlength=n_found)
    shown = in_release > 0
    new = np.full(n_found, NOWHERE, dtype=np.int64)
    new[shown] = np.arange(np.count_nonzero(shown))
    of_original = np.full(original.n_records, NOWHERE, dtype=np.int64)
    of_original[stays] = new[numbers[n_released:]]
    of_node = np.full(original.n_records, NOWHERE, dtype=np.int64)
    of_node[stays] = numbers[n_released:]
    not_shown = in_original[~shown]
    return Classes(
        of_released=new[numbers[:n_released]],
        of_original=of_original,
        released=in_release[shown],
        covered=in_original[shown],
        originals=in_original[shown],
        is_known=in_original[shown] >= in_release[shown],
        n_suppressed=int(not_shown[not_shown < policy.k].sum()),
        absent=not_shown[not_shown >= policy.k],
        dm_star=int(np.sum(in_original.astype(object) ** 2)) if len(in_original) else 0,
        nodes=(node,),
        of_node=of_node,
        losses=tuple(
            level / max(1, domain.n_levels - 1) for level, domain in zip(node, original.domains.values(), strict=True)
        ),
    )


def _by_cover(
    original: Original,
    released: Released,
    policy: Policy,
    findings: Findings,
    flags: list[str],
    linkage: Linkage | None,
) -> Classes | None:
    """Every class has labels of its own, as with Mondrian."""
    readings: dict[str, list[ReadLabel]] = {}
    for name, domain in original.domains.items():
        texts = released.labels[name][0]
        found = [read_label(domain, text) for text in texts]
        readings[name] = [reading for reading in found if reading is not None]
        n_foreign = len(texts) - len(readings[name])
        if n_foreign:
            findings.broken(
                "labels", f"{name}: {n_foreign:,} labels cover no value of the original, or cannot be understood."
            )
    if any(len(readings[name]) < len(released.labels[name][0]) for name in readings):
        return None
    columns = [released.labels[name][1] for name in readings] + _missing(released.numbers, flags)
    sizes = [len(released.labels[name][0]) for name in readings] + [2] * len(flags)
    of_released, n_classes = number(columns, sizes=sizes, length=released.n_records)
    of_released = of_released.astype(np.int64)
    in_release = np.bincount(of_released, minlength=n_classes)
    example = np.zeros(n_classes, dtype=np.int64)
    example[of_released] = np.arange(released.n_records)
    keys = [column[example] for column in columns]
    is_narrow = _is_narrow(original, readings, keys, n_classes)
    by_labels = _cover(
        original, readings, keys, flags, sizes=in_release if releases_all(policy) else None, is_narrow=is_narrow
    )
    of_original: IntArray = by_labels.of_original
    originals, is_known = by_labels.originals, by_labels.is_known
    if linkage is not None and policy.confidence is None:
        # Classes are released whole, so the linkage says it all; that labels cover it is checked apart.
        of_original = np.full(original.n_records, NOWHERE, dtype=np.int64)
        of_original[linkage.original_row] = of_released[linkage.released_row]
        originals = in_release
        is_known = np.ones(n_classes, dtype=np.bool_)
    weights = np.where(is_known, originals, in_release)
    losses = []
    for name, key in zip(readings, keys, strict=False):
        by_label = np.array([reading.loss for reading in readings[name]])
        losses.append(float(np.dot(by_label[key], weights) / weights.sum()))
    return Classes(
        of_released=of_released,
        of_original=of_original,
        released=in_release,
        covered=by_labels.covered,
        originals=np.where(is_known, originals, in_release),
        is_known=is_known,
        n_suppressed=None,
        absent=np.zeros(0, dtype=np.int64),
        dm_star=int(np.sum(in_release.astype(object) ** 2)) if releases_all(policy) else None,
        nodes=None,
        losses=tuple(losses),
        cover=by_labels,
    )


def _is_narrow(
    original: Original, readings: dict[str, list[ReadLabel]], keys: list[IntArray], n_classes: int
) -> BoolArray:
    """Classes whose labels cover no more than Mondrian's cuts gave them.

    Intervals and sets never reach beyond the cuts; a label of a hierarchy may, unless it covers one value only.
    """
    narrow = np.ones(n_classes, dtype=np.bool_)
    for name, key in zip(readings, keys, strict=False):
        domain = original.domains[name]
        if domain.positions is None and domain.generalises:
            narrow &= np.array([np.count_nonzero(reading.covers) == 1 for reading in readings[name]])[key]
    return narrow


def _cover(
    original: Original,
    readings: dict[str, list[ReadLabel]],
    keys: list[IntArray],
    flags: list[str],
    *,
    sizes: IntArray | None,
    is_narrow: BoolArray,
) -> Cover:
    """Which class takes which original. `sizes` are the records of every class, or None if some were left out of it.

    Whole classes may also have been left out, whose originals a wide label of a class that is there can cover. So
    without `sizes` only narrow classes, which cover nobody else's originals, are known.
    """
    # One bit per combination of values and label; a class is where all its labels have a bit.
    stays = np.flatnonzero(original.stays)
    columns = [original.codes[name][stays] for name in readings]
    columns += [column[stays] for column in _missing(original.numbers, flags)]
    n_values = [original.domains[name].n_values for name in readings] + [2] * len(flags)
    combination_of, n_combinations = number(columns, sizes=n_values, length=len(stays))
    counts = np.bincount(combination_of, minlength=n_combinations)
    example = np.zeros(n_combinations, dtype=np.int64)
    example[combination_of] = np.arange(len(stays))
    covers = [np.array([reading.covers for reading in found]) for found in readings.values()]
    covers += [np.eye(2, dtype=np.bool_) for _ in flags]
    codes = [column[example] for column in columns]
    cache: dict[tuple[int, int], IntArray] = {}
    most_cached = max(1, CACHE_BYTES // max(1, n_combinations // 8))

    def bits(attribute: int, label: int) -> IntArray:
        if (attribute, label) not in cache:
            if len(cache) >= most_cached:
                cache.clear()
            cache[attribute, label] = np.packbits(covers[attribute][label][codes[attribute]])
        return cache[attribute, label]

    n_classes = len(keys[0]) if keys else 1
    inside_of: list[IntArray] = []
    for c in range(n_classes):
        found = np.full((n_combinations + 7) // 8, 255, dtype=np.uint8)
        for attribute, key in enumerate(keys):
            found &= bits(attribute, int(key[c])).astype(np.uint8, copy=False)
        some = np.flatnonzero(found)
        inside = (some[:, np.newaxis] * 8 + np.arange(8))[
            np.unpackbits(found[some, np.newaxis], axis=1).astype(np.bool_)
        ]
        inside_of.append(inside[inside < n_combinations])
    covered = np.array([counts[inside].sum() for inside in inside_of], dtype=np.int64)
    class_of: IntArray
    originals: IntArray
    if sizes is None:
        times = np.zeros(n_combinations, dtype=np.int64)
        class_of = np.full(n_combinations, NOWHERE, dtype=np.int64)
        for c in np.flatnonzero(is_narrow).tolist():
            times[inside_of[c]] += 1
            class_of[inside_of[c]] = c
        class_of[times != 1] = NOWHERE
        originals = covered
        is_known = np.array(
            [narrow and bool((times[own] == 1).all()) for narrow, own in zip(is_narrow, inside_of, strict=True)],
            dtype=np.bool_,
        )
    else:
        class_of = resolve(inside_of, counts, sizes)
        taken = class_of != NOWHERE
        originals = np.bincount(class_of[taken], weights=counts[taken], minlength=n_classes).astype(np.int64)
        is_known = originals == sizes
    of_original = np.full(original.n_records, NOWHERE, dtype=np.int64)
    of_original[stays] = class_of[combination_of]
    return Cover(
        of_original=of_original,
        covered=covered,
        originals=originals,
        is_known=is_known,
        stays=stays,
        combination_of=combination_of,
        combinations=tuple(inside_of),
    )
