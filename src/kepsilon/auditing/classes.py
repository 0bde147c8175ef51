# SPDX-License-Identifier: Apache-2.0
"""Reconstructs the equivalence classes: which class each released record and each original is in, from labels alone.

Where every attribute has one level (OLA), the labels of an original follow from its values. Otherwise (local algorithms) the
originals of a class are those that its labels cover and that cannot belong to another class.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from kepsilon.auditing.covering import assign_classes
from kepsilon.auditing.findings import Findings
from kepsilon.auditing.grouped import order_of
from kepsilon.auditing.labels import ReadLabel, label_reader
from kepsilon.auditing.linkage import Linkage
from kepsilon.auditing.tables import Original, Released
from kepsilon.policy.choices import ALGORITHMS
from kepsilon.policy.policy import Policy
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.keys import number

NOWHERE = -1
"""The class of an original that no released class is known to hold."""

CACHE_BYTES = 1 << 28
"""Memory, at most, for the bits of labels that are used again by other classes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cover:
    """Which originals the labels of each class cover, and which of them are sure to be in the class."""

    of_original: IntArray
    """Class of every original, or NOWHERE where labels leave it open, shape (n_originals,)."""
    n_covered: IntArray
    """Originals that the labels of each class cover, shape (n_classes,)."""
    n_originals: IntArray
    """Originals found for each class, shape (n_classes,)."""
    is_known: BoolArray
    """Whether these are all the originals of the class and no others, shape (n_classes,)."""
    stays: IntArray
    """Row numbers of the originals that stay, shape (n_staying,)."""
    combination_of: IntArray
    """Combination of k-quasi values of each original that stays, shape (n_staying,)."""
    combinations: tuple[IntArray, ...]
    """Combinations that each class covers, one array per class."""

    def smallest_ranges(self, values: FloatArray, sizes: IntArray) -> FloatArray:
        """Smallest range that each class can have, shape (n_classes,).

        Class c holds `sizes[c]` of the originals that its labels cover; the minimum is over every such choice.
        """
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
class ReconstructedClasses:
    """Equivalence classes of the release and the originals in them, as far as labels tell."""

    of_released: IntArray
    """Class of every released record, shape (n_released,)."""
    of_original: IntArray
    """Class of every original, or NOWHERE, shape (n_originals,)."""
    n_released: IntArray
    """Released records of each class, shape (n_classes,)."""
    n_covered: IntArray
    """Originals that the labels of each class cover, whether or not they are in it, shape (n_classes,)."""
    n_originals: IntArray
    """Originals of each class, shape (n_classes,); with local algorithms, as many as it releases where they are not known."""
    is_known: BoolArray
    """Whether it is known which originals are in the class, shape (n_classes,)."""
    n_suppressed: int | None
    """Originals in classes of fewer than k, or that fail else what is asked of classes; None where not known (local algorithms)."""
    absent: IntArray
    """Sizes of the other classes that are not in the release; empty where not known (local algorithms)."""
    dm_star: int | None
    """DM*, from the sizes of all classes before any record is left out; None where they are not known."""
    node: tuple[int, ...] | None
    """A level of each k-quasi that gives these classes (OLA); None for local algorithms."""
    levels: tuple[tuple[int, ...], ...] | None
    """All levels of each k-quasi that have the labels shown, usually one (OLA); None for local algorithms."""
    losses: tuple[float, ...]
    """Mean precision loss of each k-quasi over the originals of the classes; NaN where a label can be read in two ways."""

    of_node: IntArray | None = None
    """Class of every original at the levels of the release, released or not (OLA), or NOWHERE; shape (n_originals,).

    None where it is not known which records were counted.
    """
    cover: Cover | None = None
    """What the labels cover (local algorithms); None for OLA."""

    @property
    def n_classes(self) -> int:
        return len(self.n_released)

    @property
    def all_known(self) -> bool:
        """Whether the originals of every class are known."""
        return bool(self.is_known.all())

    @property
    def known_originals(self) -> IntArray:
        """Row numbers of the originals that are in a released class whose originals are known."""
        return np.flatnonzero((self.of_original != NOWHERE) & self.is_known[self.of_original])

    def members(self) -> Iterator[tuple[int, IntArray, IntArray]]:
        """Number, rows of released records and rows of originals of each class whose originals are known."""
        originals = self.known_originals
        originals = originals[order_of(self.of_original[originals])]
        records = order_of(self.of_released)
        places = np.arange(self.n_classes + 1)
        first_original = np.searchsorted(self.of_original[originals], places)
        first_record = np.searchsorted(self.of_released[records], places)
        for c in np.flatnonzero(self.is_known).tolist():
            yield (
                c,
                records[first_record[c] : first_record[c + 1]],
                originals[first_original[c] : first_original[c + 1]],
            )


def releases_all(policy: Policy) -> bool:
    """Whether every record that stays is released: neither the algorithm nor confident k leaves any out."""
    return policy.confidence is None and not policy.may_suppress


def as_one_class(original: Original, classes: ReconstructedClasses) -> ReconstructedClasses:
    """One class of all records that stay, for tests that need not know who is in which class."""
    n = np.array([original.n_staying])
    return replace(
        classes,
        of_released=np.zeros_like(classes.of_released),
        of_original=np.where(original.stays, 0, NOWHERE),
        n_released=np.array([len(classes.of_released)]),
        n_covered=n,
        n_originals=n,
        is_known=np.ones(1, dtype=np.bool_),
    )


def missing_flags(numbers: dict[str, FloatArray], policy: Policy) -> list[IntArray]:
    """1 where a value is missing, for each ε-quasi whose missing values make classes of their own."""
    attributes = policy.epsilon_quasis.items()
    return [np.isnan(numbers[name]).astype(np.int64) for name, attribute in attributes if attribute.missing == "class"]


def classes_by_cover(
    original: Original,
    released: Released,
    policy: Policy,
    findings: Findings,
    linkage: Linkage | None,
) -> ReconstructedClasses | None:
    """Classes where each class has labels of its own, as local algorithms publish them."""
    readings: dict[str, list[ReadLabel]] = {}
    for name in original.domains:
        texts = released.labels[name][0]
        reader = label_reader(original, policy, name)
        found = [reader.read(text) for text in texts]
        readings[name] = [reading for reading in found if reading is not None]
        n_foreign = len(texts) - len(readings[name])
        if n_foreign:
            findings.broken(
                "labels", f"{name}: {n_foreign:,} labels cover no value of the original, or cannot be understood."
            )
        for what, n in Counter(reading.too_much for reading in readings[name] if reading.too_much is not None).items():
            findings.broken("labels", f"{name}: {n:,} labels {what}.")
    if any(len(readings[name]) < len(released.labels[name][0]) for name in readings):
        return None
    missing = missing_flags(released.numbers, policy)
    columns = [released.labels[name][1] for name in readings] + missing
    sizes = [len(released.labels[name][0]) for name in readings] + [2] * len(missing)
    of_released, n_classes = number(columns, sizes=sizes, length=released.n_records)
    of_released = of_released.astype(np.int64)
    in_release = np.bincount(of_released, minlength=n_classes)
    example = np.zeros(n_classes, dtype=np.int64)
    example[of_released] = np.arange(released.n_records)
    keys = [column[example] for column in columns]
    is_narrow = _is_narrow(readings, keys, n_classes)
    is_apart = ALGORITHMS[policy.algorithm].cuts_apart
    has_all = releases_all(policy) and original.is_exact
    by_labels = _cover(
        original,
        readings,
        keys,
        policy,
        sizes=in_release if has_all else None,
        is_narrow=is_narrow,
        is_apart=is_apart,
    )
    of_original: IntArray = by_labels.of_original
    originals, is_known = by_labels.n_originals, by_labels.is_known
    if linkage is not None and policy.confidence is None:
        # Every class is released whole, so the linkage names all its originals. Whether labels cover them is checked
        # elsewhere.
        of_original = np.full(original.n_records, NOWHERE, dtype=np.int64)
        of_original[linkage.original_row] = of_released[linkage.released_row]
        originals = in_release
        is_known = np.ones(n_classes, dtype=np.bool_)
    weights = np.where(is_known, originals, in_release)
    losses = []
    for name, key in zip(readings, keys, strict=False):
        by_label = np.array([reading.loss for reading in readings[name]])
        losses.append(float(np.dot(by_label[key], weights) / weights.sum()))
    return ReconstructedClasses(
        of_released=of_released,
        of_original=of_original,
        n_released=in_release,
        n_covered=by_labels.n_covered,
        n_originals=weights,
        is_known=is_known,
        n_suppressed=None,
        absent=np.zeros(0, dtype=np.int64),
        dm_star=int(np.sum(in_release.astype(object) ** 2)) if releases_all(policy) else None,
        node=None,
        levels=None,
        losses=tuple(losses),
        cover=by_labels,
    )


def _is_narrow(readings: dict[str, list[ReadLabel]], keys: list[IntArray], n_classes: int) -> BoolArray:
    """Whether the labels of each class cover only what cuts gave the class, shape (n_classes,).

    A label that names what occurs never reaches beyond the cuts; one that stands for a whole region or node may.
    """
    narrow = np.ones(n_classes, dtype=np.bool_)
    for name, key in zip(readings, keys, strict=False):
        narrow &= np.array([reading.is_narrow for reading in readings[name]], dtype=np.bool_)[key]
    return narrow


def _cover(
    original: Original,
    readings: dict[str, list[ReadLabel]],
    keys: list[IntArray],
    policy: Policy,
    *,
    sizes: IntArray | None,
    is_narrow: BoolArray,
    is_apart: bool,
) -> Cover:
    """Which originals the labels of each class cover, and which of them are sure to be in it.

    `keys` holds the label of each class, one array per k-quasi and per ε-quasi with classes of missing values. `sizes`
    is the number of records of each class, or None if some records were left out. Then whole classes may be left out
    too, and a wide label of a released class can cover their originals; so only narrow classes, whose labels cover no
    originals of other classes, are known. If classes are not cut apart (`is_apart`), only those of a single combination
    are sure to be narrow.
    """
    # Each label has one bit per combination of values; a class covers the combinations whose bit all its labels have.
    stays = np.flatnonzero(original.stays)
    columns = [original.codes[name][stays] for name in readings]
    missing = [column[stays] for column in missing_flags(original.numbers, policy)]
    columns += missing
    n_values = [original.domains[name].n_values for name in readings] + [2] * len(missing)
    combination_of, n_combinations = number(columns, sizes=n_values, length=len(stays))
    counts = np.bincount(combination_of, minlength=n_combinations)
    example = np.zeros(n_combinations, dtype=np.int64)
    example[combination_of] = np.arange(len(stays))
    covers = [np.array([reading.covers for reading in found]) for found in readings.values()]
    covers += [np.eye(2, dtype=np.bool_) for _ in missing]
    codes = [column[example] for column in columns]
    cache: dict[tuple[int, int], IntArray] = {}
    most_cached = max(1, CACHE_BYTES // max(1, n_combinations // 8))

    n_words = -(-n_combinations // 64)

    def bits(attribute: int, label: int) -> IntArray:
        """Combinations that a label covers, 64 to a word, because most words are 0 and are passed over."""
        if (attribute, label) not in cache:
            if len(cache) >= most_cached:
                cache.clear()
            own = np.zeros(8 * n_words, dtype=np.uint8)
            packed = np.packbits(covers[attribute][label][codes[attribute]])
            own[: len(packed)] = packed
            cache[attribute, label] = own.view(np.uint64)
        return cache[attribute, label]

    n_classes = len(keys[0]) if keys else 1
    inside_of: list[IntArray] = []
    for c in range(n_classes):
        found = np.full(n_words, ~np.uint64(0))
        for attribute, key in enumerate(keys):
            found &= bits(attribute, int(key[c])).astype(np.uint64, copy=False)
        some = np.flatnonzero(found)
        is_inside = np.unpackbits(found[some].view(np.uint8)).astype(np.bool_).reshape(-1, 64)
        inside = (some[:, np.newaxis] * 64 + np.arange(64))[is_inside]
        inside_of.append(inside[inside < n_combinations])
    covered = np.array([counts[inside].sum() for inside in inside_of], dtype=np.int64)
    if not is_apart:
        is_narrow = is_narrow & np.array([len(inside) == 1 for inside in inside_of], dtype=np.bool_)
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
        n_open = np.bincount(combination_of, weights=~original.is_sure[stays], minlength=n_combinations)
        is_sure = (times == 1) & (n_open == 0)
        is_known = np.array(
            [narrow and bool(is_sure[own].all()) for narrow, own in zip(is_narrow, inside_of, strict=True)],
            dtype=np.bool_,
        )
    else:
        class_of = assign_classes(inside_of, counts, sizes)
        taken = class_of != NOWHERE
        originals = np.bincount(class_of[taken], weights=counts[taken], minlength=n_classes).astype(np.int64)
        is_known = originals == sizes
    of_original = np.full(original.n_records, NOWHERE, dtype=np.int64)
    of_original[stays] = class_of[combination_of]
    return Cover(
        of_original=of_original,
        n_covered=covered,
        n_originals=originals,
        is_known=is_known,
        stays=stays,
        combination_of=combination_of,
        combinations=tuple(inside_of),
    )
