# SPDX-License-Identifier: Apache-2.0
"""Works out again how much of the k-quasis is lost: the shares that labels leave open, and bits.

It starts from the published labels and from which values of the original each of them covers. A record of the original
that was counted and is in no class was left out for k, and has lost everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kepsilon.auditing.case import AuditCase
from kepsilon.auditing.comparison import Between
from kepsilon.auditing.labels import label_reader
from kepsilon.json_values import Json
from kepsilon.policy.numbers import parse_number
from kepsilon.table.arrays import BoolArray
from kepsilon.table.codes import Domain, Label

ROUNDING = 1e-10
"""More than rounding adds to the difference of two sums of bits, as a share of them."""

UNIT_OF_RANGE = 2.0**-32
"""The shares of a range that labels leave open are rounded to this unit when they are added up for the curator's record."""


@dataclass(frozen=True, slots=True)
class _LabelSums:
    """What the labels of the released classes of one k-quasi cover, each as often as it has records."""

    n_records: Sequence[int]
    covers: Sequence[BoolArray]
    """Whether each label covers each value, by code."""


def losses_of_labels(case: AuditCase) -> Json:
    """`ncp` and `entropy_share` by k-quasi and overall; empty where a label can be read in several ways.

    All originals of every class have to be known.
    """
    classes, original = case.classes, case.original
    n_counted = original.n_staying
    n_left_out = n_counted - int(classes.n_originals.sum())
    ncp: dict[str, float] = {}
    entropy: dict[str, float] = {}
    for position, (name, domain) in enumerate(original.domains.items()):
        sums = _label_sums(case, name, position)
        if sums is None:
            return {}
        codes = original.codes[name][original.stays]
        holders = np.bincount(codes, minlength=domain.n_values)
        has_numbers = case.policy.k_quasis[name].reads_numbers
        lost, kept_bits = float(n_left_out), 0.0
        for n_records, covers in zip(sums.n_records, sums.covers, strict=True):
            lost += n_records * (_open_range(domain, covers) if has_numbers else _open_values(domain, covers))
            kept_bits += n_records * float(np.log2(n_counted / holders[covers].sum()))
        all_bits = float(np.sum(np.log2(n_counted / holders[codes])))
        ncp[name] = lost / n_counted
        entropy[name] = 1 - kept_bits / all_bits if len(holders) > 1 else n_left_out / n_counted
    without = n_left_out / n_counted
    shares = _with_mean(entropy, without=without)
    return {
        "ncp": _about(_with_mean(ncp, without=without), UNIT_OF_RANGE),
        "entropy_share": _about(shares, ROUNDING),
    }


def _about(figures: dict[str, float], rounding: float) -> Json:
    return {name: Between(own - rounding, own + rounding) for name, own in figures.items()}


def _with_mean(by_name: dict[str, float], *, without: float) -> dict[str, float]:
    """The figures with their mean; `without` is that of no figure."""
    return {**by_name, "overall": sum(by_name.values()) / len(by_name) if by_name else without}


def _label_sums(case: AuditCase, name: str, position: int) -> _LabelSums | None:
    """Records by label of one k-quasi, and what each label covers; None if a label can be read in several ways."""
    texts, of_record = case.released.labels[name]
    classes, domain = case.classes, case.original.domains[name]
    of_class = np.zeros(len(classes.n_originals), dtype=np.int64)
    of_class[classes.of_released] = of_record
    n_records = np.bincount(of_class, weights=classes.n_originals, minlength=len(texts)).astype(np.int64)
    used = np.flatnonzero(n_records).tolist()
    if classes.levels is not None:
        (level,) = classes.levels[position]
        covers = [_at_level(domain, level, texts[i]) for i in used]
    else:
        reader = label_reader(case.original, case.policy, name)
        readings = [reader.read(texts[i]) for i in used]
        covers = [own.covers for own in readings if own is not None and not np.isnan(own.loss)]
        if len(covers) < len(used):
            return None
    return _LabelSums(n_records[used].tolist(), covers)


def _at_level(domain: Domain, level: int, label: Label) -> BoolArray:
    """Which values have the label at the level, by code."""
    is_it = np.array([own == label for own in domain.levels[level]], dtype=np.bool_)
    covers: BoolArray = is_it[domain.at_level(level)]
    return covers


def _open_values(domain: Domain, covers: BoolArray) -> float:
    """(values covered − 1)/(values − 1)."""
    return (int(covers.sum()) - 1) / (domain.n_values - 1) if domain.n_values > 1 else 0.0


def _open_range(domain: Domain, covers: BoolArray) -> float:
    """The range of the numbers covered over the range of all; a missing value lies where the smallest number does."""
    numbers = {code: parse_number(value) for code, value in enumerate(domain.levels[0]) if value is not None}
    known = [number for number in numbers.values() if number is not None]
    if not known or max(known) == min(known):
        return 0.0
    own = [numbers.get(code) for code in np.flatnonzero(covers).tolist()]
    places = [min(known) if number is None else number for number in own]
    return float((max(places) - min(places)) / (max(known) - min(known)))
