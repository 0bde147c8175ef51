# SPDX-License-Identifier: Apache-2.0
"""An attacker who holds a register of everybody by name, for the demo: small, and of no other code's making."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

Texts = Mapping[str, npt.NDArray[np.str_]]
"""A table by column, every value as it is written."""
_INTERVAL = re.compile(r"\[(-?[\d.]+), (-?[\d.]+)\)")


def linked_share(
    records: Texts,
    register: Texts,
    *,
    labelled: Sequence[str],
    measured: Sequence[str],
    groups: Mapping[str, Mapping[str, Sequence[str]]],
    truth: npt.NDArray[np.int64],
) -> float:
    """The share of the records that are linked rightly to a line of the register.

    The attacker takes the lines that fit the record in the `labelled` columns, and of these the one whose `measured` columns
    are nearest, in units of their standard deviation; of lines that are equally near, one at random. `groups` says by column
    what the labels of groups stand for, and `truth` is the line of each record.
    """
    spread = [float(np.std(register[name].astype(np.float64))) or 1.0 for name in measured]
    theirs = _scaled(register, measured, spread)
    own = _scaled(records, measured, spread)
    fitting: dict[tuple[str, str], npt.NDArray[np.bool_]] = {}
    combinations, class_of = np.unique(
        np.column_stack([records[name] for name in labelled]), axis=0, return_inverse=True
    )
    links = 0.0
    for number, labels in enumerate(combinations):
        fits = np.ones(len(theirs), dtype=np.bool_)
        for name, label in zip(labelled, labels.tolist(), strict=True):
            if (name, label) not in fitting:
                fitting[name, label] = _fitting(label, register[name], groups.get(name, {}))
            fits &= fitting[name, label]
        candidates, members = np.flatnonzero(fits), np.flatnonzero(class_of.ravel() == number)
        distances = np.linalg.norm(own[members, np.newaxis] - theirs[candidates], axis=2)
        nearest = distances <= distances.min(axis=1, keepdims=True) + 1e-9
        right = candidates == truth[members, np.newaxis]
        links += float(((nearest & right).sum(axis=1) / nearest.sum(axis=1)).sum())
    return links / len(truth)


def _scaled(table: Texts, names: Sequence[str], spread: Sequence[float]) -> npt.NDArray[np.float64]:
    return np.column_stack([table[name].astype(np.float64) / own for name, own in zip(names, spread, strict=True)])


def _fitting(label: str, values: npt.NDArray[np.str_], groups: Mapping[str, Sequence[str]]) -> npt.NDArray[np.bool_]:
    """Which values a label can stand for: itself, a group, an interval, a mask such as 237**, or anything."""
    interval = _INTERVAL.fullmatch(label)
    if label in groups:
        return np.isin(values, groups[label])
    if interval is not None:
        numbers = values.astype(np.float64)
        return (float(interval[1]) <= numbers) & (numbers < float(interval[2]))
    if label.endswith("*"):
        return np.strings.startswith(values, label.rstrip("*"))
    same = values == label
    return same if same.any() else np.ones(len(values), dtype=np.bool_)
