# SPDX-License-Identifier: Apache-2.0
"""Everything that is done to a release to see whether the audit notices: one table of named tamperings.

A tampering takes a sound case and gives the tampered one. A new one is a function and one line in `TAMPERINGS`; the tests
in tests/auditing/test_tamperings.py and the table of powers in docs/audit.md then have it. `make tamper` runs them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from typing import Any

import numpy as np

from material.audited_releases import (
    NUMERIC_QUASIS,
    Case,
    Columns,
    classes_of,
    patients,
    patients_policy,
    released,
    rounded,
)

Change = Callable[[Case], Case]

QUASI = {"role": "epsilon-quasi", "precision": 0.1, "range": "class"}
BOUNDS = (130, 210)
BOUNDED = {**QUASI, "range": list(BOUNDS), "mechanism": "bounded-laplace"}
SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "two": {"attributes": {"weight": QUASI}},
    "confident": {"confidence": 0.9},
    "constant": {},
    "domain": {"attributes": {"height": {**QUASI, "domain": [150, 190]}}},
    "bounded": {"attributes": {"height": BOUNDED}},
    "two bounded": {"attributes": {"height": BOUNDED, "weight": BOUNDED}},
}
"""What the policy of each setting has that the patients' policy has not."""
ALGORITHMS: dict[str, dict[str, Any]] = {
    "ola": {},
    "mondrian": {"algorithm": "mondrian", "attributes": NUMERIC_QUASIS},
    "local-recoding": {"algorithm": "local-recoding", "attributes": NUMERIC_QUASIS},
}


def sound_release(setting: str, algorithm: str, n: int, *, data_seed: int = 7, seed: int = 1) -> Case:
    """A release that nobody tampered with."""
    original: Columns = patients(n, seed=data_seed)
    if setting.startswith("two"):
        original["weight"] = np.random.default_rng(data_seed).normal(80, 12, n).round(1).tolist()
    if setting == "constant":
        original["height"] = [170.0] * n
    changes = {**SETTINGS[setting], **ALGORITHMS[algorithm]}
    attributes = SETTINGS[setting].get("attributes", {}) | ALGORITHMS[algorithm].get("attributes", {})
    return released(original, patients_policy(**changes | {"attributes": attributes}), seed=seed)


@dataclass(frozen=True, kw_only=True)
class Tampering:
    """One way to tamper, and what the audit has to say about it."""

    change: Change
    check: str
    """The check that has to call it broken."""
    n: int = 2000
    """Records that are enough to notice it with a linkage."""
    n_without: int | None = 2000
    """Records that are enough without a linkage; None if it cannot be noticed then."""
    algorithms: tuple[str, ...] = ("ola", "mondrian")
    """Whose releases can be tampered with in this way."""
    setting: str = "plain"
    """The data and policy of the release that is tampered with, by name in `SETTINGS`."""


def before_rounding(case: Case, column: str = "height", step: float = 0.1) -> np.ndarray:
    """Noise as it may have been before it was rounded; multiples of the precision, scaled, would tell last digits."""
    moved = np.array(case.released[column]) - np.array(case.own(column))
    return moved + np.random.default_rng(2).uniform(-step / 2, step / 2, len(moved))


def scaled_noise(case: Case, factor: float, column: str = "height") -> Case:
    """All noise times a factor."""
    moved = np.array(case.own(column)) + factor * before_rounding(case, column)
    return case.change(**{column: [rounded(value) for value in moved.tolist()]})


def shared_noise(case: Case) -> Case:
    """Every class moves as a whole."""
    heights = list(case.released["height"])
    own = case.own("height")
    for records in classes_of(case):
        noise = heights[records[0]] - own[records[0]]
        for row in records:
            heights[row] = rounded(own[row] + noise)
    return case.change(height=heights)


def cut_class(case: Case) -> Case:
    """One class of the release cut to k − 1 records."""
    records = classes_of(case)[0]
    gone = set(records[case.policy.k - 1 :])
    return case.rows([row for row in range(len(case.released["height"])) if row not in gone])


def unshuffled(case: Case) -> Case:
    return case.rows(sorted(range(len(case.released["height"])), key=lambda row: case.linkage["original_row"][row]))


def by_class(case: Case) -> Case:
    return case.rows([row for records in classes_of(case) for row in records])


def identifier_left_in(case: Case) -> Case:
    return case.change(name=case.own("name"))


def identifier_renamed(case: Case) -> Case:
    return case.change(note=case.own("name"))


def identifier_in_one_field(case: Case) -> Case:
    return case.change(illness=[case.own("name")[0], *case.released["illness"][1:]])


def foreign_label(case: Case) -> Case:
    """Two records of different classes exchange their labels: no count changes, but neither is contained."""
    first, second = classes_of(case)[0][0], classes_of(case)[1][0]
    columns = {name: list(case.released[name]) for name in ("zip", "year")}
    for values in columns.values():
        values[first], values[second] = values[second], values[first]
    return case.change(**columns)


def foreign_label_and_linkage(case: Case) -> Case:
    """Two records of different classes exchange their labels, and their classes in the linkage."""
    first, second = classes_of(case)[0][0], classes_of(case)[1][0]
    ids = list(case.linkage["class_id"])
    ids[first], ids[second] = ids[second], ids[first]
    return replace(foreign_label(case), linkage={**case.linkage, "class_id": ids})


def moved_label(case: Case) -> Case:
    """One record carries the labels of another class."""
    first, second = classes_of(case)[0][0], classes_of(case)[1][0]
    columns = {name: list(case.released[name]) for name in ("zip", "year")}
    for values in columns.values():
        values[first] = values[second]
    return case.change(**columns)


def mixed_levels(case: Case) -> Case:
    """One label at another level than the rest."""
    labels = list(case.released["zip"])
    labels[0] = "1**" if labels[0] != "1**" else "10*"
    return case.change(zip=labels)


def linkage_swapped(case: Case) -> Case:
    first, second = classes_of(case)[0][0], classes_of(case)[1][0]
    rows = list(case.linkage["original_row"])
    rows[first], rows[second] = rows[second], rows[first]
    return replace(case, linkage={**case.linkage, "original_row": rows})


def off_precision(case: Case) -> Case:
    return case.change(height=[case.released["height"][0] + 1e-9, *case.released["height"][1:]])


def dropped_column(case: Case) -> Case:
    return replace(case, released={k: v for k, v in case.released.items() if k != "illness"})


def altered_kept(case: Case) -> Case:
    return case.change(illness=["CANARY-other", *case.released["illness"][1:]])


def duplicate_record(case: Case) -> Case:
    return replace(case, released={name: [*values, values[0]] for name, values in case.released.items()})


# Noise. Each of the following replaces the noise of all or some records, in units of the range of their class.


@dataclass(frozen=True)
class Noise:
    """The noise of a release, record by record in the order of the release."""

    own: np.ndarray
    """Original values."""
    widths: np.ndarray
    """Range of each record's class."""
    units: np.ndarray
    """Noise in units of that range; 0 where the range is 0."""
    class_ids: np.ndarray
    rows: np.ndarray
    """Row of each record in the input."""

    column: str = "height"

    @classmethod
    def of(cls, case: Case, column: str = "height") -> Noise:
        own = np.array(case.own(column))
        ids = np.array(case.linkage["class_id"])
        low, high = np.full(ids.max() + 1, np.inf), np.full(ids.max() + 1, -np.inf)
        np.minimum.at(low, ids, own)
        np.maximum.at(high, ids, own)
        widths = (high - low)[ids]
        units = np.divide(before_rounding(case, column), widths, out=np.zeros(len(own)), where=widths > 0)
        return cls(own, widths, units, ids, np.array(case.linkage["original_row"]), column)

    def places(self) -> np.ndarray:
        """Place of each record in its class, from 0, by its row in the input."""
        order = np.lexsort((self.rows, self.class_ids))
        is_first = np.diff(self.class_ids[order], prepend=-1) != 0
        at = np.arange(len(order))
        places = np.empty(len(order), dtype=np.int64)
        places[order] = at - np.maximum.accumulate(np.where(is_first, at, 0))
        return places

    def replaced(self, case: Case, units: np.ndarray) -> Case:
        values = self.own + units * self.widths
        return case.change(**{self.column: [rounded(float(value)) for value in values]})


def shared_by(case: Case, n: int, *, sign: int = 1) -> Case:
    """Groups of n records of a class share their noise, up to the sign of every second one."""
    noise = Noise.of(case)
    places = noise.places()
    by_place = {(c, p): u for c, p, u in zip(noise.class_ids.tolist(), places.tolist(), noise.units, strict=True)}
    first = [by_place[c, p - p % n] for c, p in zip(noise.class_ids.tolist(), places.tolist(), strict=True)]
    return noise.replaced(case, np.array(first) * np.where(places % n, sign, 1))


def antithetic(case: Case) -> Case:
    """Pairs of records of a class have opposite noise."""
    return shared_by(case, 2, sign=-1)


def repeated_over_classes(case: Case) -> Case:
    """The first, second, … record of every class has the noise of the first, second, … record of all other classes."""
    noise = Noise.of(case)
    places = noise.places()
    drawn = np.random.default_rng(8).laplace(size=places.max() + 1) / float(case.policy.epsilon)
    return noise.replaced(case, drawn[places])


def telling_illness(case: Case) -> Case:
    """The sign of the noise tells one bit of the kept column."""
    noise = Noise.of(case)
    bit = np.array([int(text.rsplit("-", 1)[1]) % 2 for text in case.released["illness"]])
    return noise.replaced(case, np.abs(noise.units) * np.where(bit == 1, 1, -1))


def telling_one_illness(case: Case) -> Case:
    """The sign of the noise tells who has one particular illness."""
    noise = Noise.of(case)
    has_it = np.array([text.endswith("-7") for text in case.released["illness"]])
    return noise.replaced(case, np.where(has_it, np.abs(noise.units), noise.units))


def rising_with_row(case: Case) -> Case:
    """The noise rises with the row of the input: sorted, it is no less Laplace noise."""
    noise = Noise.of(case)
    units = np.empty(len(noise.units))
    units[np.argsort(noise.rows)] = np.sort(noise.units)
    return noise.replaced(case, units)


def growing_with_row(case: Case) -> Case:
    """The size of the noise rises with the row of the input, its sign is random."""
    noise = Noise.of(case)
    units = np.empty(len(noise.units))
    units[np.argsort(noise.rows)] = np.sort(np.abs(noise.units))
    return noise.replaced(case, units * np.sign(noise.units))


def thin_for(case: Case, chosen: Callable[[Noise, Case], np.ndarray], factor: float) -> Case:
    noise = Noise.of(case)
    return noise.replaced(case, np.where(chosen(noise, case), factor, 1.0) * noise.units)


def a_tenth(noise: Noise, case: Case) -> np.ndarray:
    del case
    return np.random.default_rng(9).random(len(noise.own)) < 0.1


def first_tenth(noise: Noise, case: Case) -> np.ndarray:
    return noise.rows < len(case.original["height"]) / 10


def six_illnesses(noise: Noise, case: Case) -> np.ndarray:
    del noise
    return np.array([int(text.rsplit("-", 1)[1]) < 6 for text in case.released["illness"]])


def a_tenth_of_classes(noise: Noise, case: Case) -> np.ndarray:
    del case
    return noise.class_ids % 10 == 0


def bare_class(case: Case) -> Case:
    """The largest class is published without noise."""
    noise = Noise.of(case)
    return noise.replaced(case, np.where(noise.class_ids == np.bincount(noise.class_ids).argmax(), 0.0, noise.units))


def bare_records(case: Case, share: float) -> Case:
    noise = Noise.of(case)
    bare = np.random.default_rng(10).random(len(noise.own)) < share
    return noise.replaced(case, np.where(bare, 0.0, noise.units))


def only_up(case: Case) -> Case:
    """Noise of the right size that only ever adds."""
    noise = Noise.of(case)
    return noise.replaced(case, np.abs(noise.units))


def bounded_noise(case: Case) -> Case:
    """Uniform noise of the claimed mean size, which rules out originals beyond its bound."""
    noise = Noise.of(case)
    drawn = np.random.default_rng(5).uniform(-2, 2, len(noise.own)) / float(case.policy.epsilon)
    return noise.replaced(case, drawn)


def sorted_by(case: Case, column: str) -> Case:
    values = case.released[column]
    return case.rows(sorted(range(len(values)), key=lambda row: values[row]))


def missing_value(case: Case) -> Case:
    return case.change(height=[None, *case.released["height"][1:]])


# The noise of a record with two ε-quasis.


def noises(case: Case) -> dict[str, Noise]:
    return {column: Noise.of(case, column) for column in ("height", "weight")}


def direction_copied(case: Case) -> Case:
    """The noise of the second ε-quasi has the direction of the first: each has its law, both together have not."""
    both = noises(case)
    units = np.abs(both["weight"].units) * np.where(both["height"].units < 0, -1, 1)
    return both["weight"].replaced(case, units)


def drawn_apart(case: Case) -> Case:
    """The noise of the second ε-quasi is that of another record: each has its law, and they are independent."""
    both = noises(case)
    return both["weight"].replaced(case, np.random.default_rng(12).permutation(both["weight"].units))


def one_for_both(case: Case) -> Case:
    """One noise for both ε-quasis, in units of their ranges."""
    both = noises(case)
    return both["weight"].replaced(case, both["height"].units)


# More of what can be wrong with the noise of one ε-quasi.


def gaussian_noise(case: Case) -> Case:
    """Normal noise of the claimed mean size: its tails are too light."""
    noise = Noise.of(case)
    drawn = np.random.default_rng(13).normal(size=len(noise.own)) * np.sqrt(np.pi / 2)
    return noise.replaced(case, drawn / float(case.policy.epsilon))


def cut_off_noise(case: Case) -> Case:
    """Noise drawn again as long as it is among the largest 5 %, which rules out originals beyond that."""
    noise, rng = Noise.of(case), np.random.default_rng(14)
    size = -np.log1p(-0.95 * rng.random(len(noise.own)))
    return noise.replaced(case, size * rng.choice([-1, 1], len(size)) / float(case.policy.epsilon))


def noise_of_few_values(case: Case, n_values: int) -> Case:
    """Noise from a generator with a few outcomes, all equally probable."""
    noise = Noise.of(case)
    u = 2 * (np.random.default_rng(15).integers(0, n_values, len(noise.own)) + 0.5) / n_values - 1
    return noise.replaced(case, -np.sign(u) * np.log1p(-np.abs(u)) / float(case.policy.epsilon))


def largest_class(noise: Noise, case: Case) -> np.ndarray:
    del case
    return noise.class_ids == np.bincount(noise.class_ids).argmax()


def one_class_copied(case: Case) -> Case:
    """The second largest class has the noise of the largest, record by record in the order of the input."""
    noise = Noise.of(case)
    second, first = np.argsort(np.bincount(noise.class_ids), kind="stable")[-2:].tolist()
    places = noise.places()
    theirs = {int(places[row]): noise.units[row] for row in np.flatnonzero(noise.class_ids == first)}
    units = noise.units.copy()
    for row in np.flatnonzero(noise.class_ids == second):
        units[row] = theirs[int(places[row])]
    return noise.replaced(case, units)


def ranks_kept(case: Case) -> Case:
    """Within each class the published values stand in the order of the originals, so that ranks tell who is who."""
    own, heights = np.array(case.own("height")), np.array(case.released["height"])
    for records in map(np.array, classes_of(case)):
        heights[records[np.argsort(own[records], kind="stable")]] = np.sort(heights[records])
    return case.change(height=heights.tolist())


def handed_out_to_link(case: Case) -> Case:
    """The noise of each class is handed out anew, so that more published values are nearest to their own original.

    Records whose original is the smallest or largest of its class keep their noise, and nobody gets less than another
    for where he stands: among the others, each in turn takes the largest noise left that does not lead beyond halfway.
    """
    noise, rng = Noise.of(case), np.random.default_rng(17)
    units = noise.units.copy()
    for records in map(np.array, classes_of(case)):
        order = records[np.argsort(noise.own[records], kind="stable")]
        gaps = np.diff(noise.own[order]) / 2 / max(1e-9, np.ptp(noise.own[order]))
        reach = dict(zip(order[1:-1].tolist(), zip(-gaps[:-1], gaps[1:], strict=True), strict=True))
        left = sorted(noise.units[order[1:-1]].tolist(), key=abs, reverse=True)
        others = []
        for record in rng.permutation(order[1:-1]).tolist():
            low, high = reach[record]
            fitting = next((unit for unit in left if low < unit < high), None)
            if fitting is None:
                others.append(record)
            else:
                units[record] = fitting
                left.remove(fitting)
        units[others] = rng.permutation(left)
    return noise.replaced(case, units)


def telling_row(case: Case) -> Case:
    """The sign of the noise tells whether the row of the input is even."""
    noise = Noise.of(case)
    return noise.replaced(case, np.abs(noise.units) * np.where(noise.rows % 2, 1, -1))


# Published values: original plus noise, but something is done to them afterwards.


def tenths(case: Case) -> np.ndarray:
    """Published heights in units of the precision."""
    return np.rint(10 * np.array(case.released["height"])).astype(int)


def last_digit_tells(case: Case, bit: Callable[[Case], np.ndarray]) -> Case:
    """Published values move up by one step where that makes the last digit tell a bit of the record."""
    units = tenths(case)
    units += units % 2 != bit(case)
    return case.change(height=(units / 10).tolist())


def bit_of_illness(case: Case) -> np.ndarray:
    return np.array([int(text.rsplit("-", 1)[1]) % 2 for text in case.released["illness"]])


def bit_of_row(case: Case) -> np.ndarray:
    return np.array(case.linkage["original_row"]) % 2


def bit_of_own_height(case: Case) -> np.ndarray:
    return np.rint(10 * np.array(case.own("height"))).astype(int) % 2


def some_rounded_to_whole(case: Case, share: float = 0.1) -> Case:
    """Some records, whom anybody can tell by it, are published in whole numbers."""
    heights = np.array(case.released["height"])
    chosen = np.random.default_rng(16).random(len(heights)) < share
    return case.change(height=np.where(chosen, np.rint(heights), heights).round(1).tolist())


def clamped_to_extremes(case: Case) -> Case:
    """Values beyond the smallest and largest original are published as these, which no domain of the policy says."""
    own = np.array(case.original["height"])
    return case.change(height=np.clip(case.released["height"], own.min(), own.max()).tolist())


# Orders.


def sorted_in_blocks(case: Case, column: str, size: int = 50) -> Case:
    values = case.released[column]
    starts = range(0, len(values), size)
    blocks = (range(start, min(len(values), start + size)) for start in starts)
    return case.rows([row for block in blocks for row in sorted(block, key=lambda row: values[row])])


def classes_in_turn(case: Case) -> Case:
    """One record of every class, in the order of the labels, then the next one of every class, and so on."""
    labels = [case.released[name] for name in ("zip", "year")]
    ordered = sorted(classes_of(case), key=lambda records: tuple(column[records[0]] for column in labels))
    return case.rows([row for rows in zip_longest(*ordered) for row in rows if row is not None])


# Records, labels and the linkage.


def suppressed_put_back(case: Case) -> Case:
    """A record that k-anonymity left out stands in the release, and in the linkage, with the labels of a class."""
    [gone, *_] = sorted(set(range(len(case.original["height"]))) - set(case.linkage["original_row"]))
    like = classes_of(case)[0][0]
    released = {
        name: [*values, case.original[name][gone] if name == "illness" else values[like]]
        for name, values in case.released.items()
    }
    more = {
        "original_row": gone,
        "released_row": len(released["height"]) - 1,
        "class_id": case.linkage["class_id"][like],
    }
    return replace(
        case, released=released, linkage={name: [*values, more[name]] for name, values in case.linkage.items()}
    )


def one_in_place_of_another(case: Case) -> Case:
    """A record stands twice in its class, in place of another one with another illness."""
    illness = case.released["illness"]
    for first, *others in classes_of(case):
        for other in others:
            if illness[other] != illness[first]:
                columns = {name: list(values) for name, values in case.released.items()}
                for values in columns.values():
                    values[other] = values[first]
                return case.change(**columns)
    raise AssertionError("every class has one illness")


def kept_exchanged(case: Case) -> Case:
    """Two records of a class exchange their kept values: no class shows any value more often."""
    illness = list(case.released["illness"])
    for first, *others in classes_of(case):
        for other in others:
            if illness[other] != illness[first]:
                illness[first], illness[other] = illness[other], illness[first]
                return case.change(illness=illness)
    raise AssertionError("every class has one illness")


def linkage_turned(case: Case) -> Case:
    """The linkage names, for each record, the original of the next record of its class."""
    rows = list(case.linkage["original_row"])
    for records in classes_of(case):
        for record, row in zip(records, [rows[i] for i in [*records[1:], records[0]]], strict=True):
            rows[record] = row
    return replace(case, linkage={**case.linkage, "original_row": rows})


def linkage_divides(case: Case) -> Case:
    """The linkage has one record of a class in a class of its own."""
    ids = list(case.linkage["class_id"])
    ids[0] = max(ids) + 1
    return replace(case, linkage={**case.linkage, "class_id": ids})


def wider_by(case: Case, more: int) -> Case:
    """The interval of years of one class ends later than it should, or earlier."""
    for records in classes_of(case):
        first, end = (int(bound) for bound in case.released["year"][records[0]].strip("[)").split(", "))
        if end - first > 1:
            years = list(case.released["year"])
            for row in records:
                years[row] = f"[{first}, {end + more})"
            return case.change(year=years)
    raise AssertionError("every interval is one year")


def taken_out_put_back(case: Case) -> Case:
    """A record that confident k left out is published with a value far from all originals of its class but its own."""
    by_class: dict[int, set[float]] = {}
    own = case.own("height")
    for row, class_id in enumerate(case.linkage["class_id"]):
        by_class.setdefault(class_id, set()).add(own[row])
    chosen = max(by_class, key=lambda class_id: max(by_class[class_id]) - min(by_class[class_id]))
    row = next(i for i, class_id in enumerate(case.linkage["class_id"]) if class_id == chosen)
    spread = max(by_class[chosen]) - min(by_class[chosen])
    reach = spread / float(case.policy.epsilon) * -np.log(1 - float(case.policy.confidence))
    heights = list(case.released["height"])
    heights[row] = rounded(max(by_class[chosen]) + reach - 0.3)
    return case.change(height=heights)


def more_left_out(case: Case) -> Case:
    """Every second record of each class is left out, down to k, which confident k does not ask for."""
    keep = {row for records in classes_of(case) for row in records[: max(case.policy.k, len(records) // 2)]}
    return case.rows([row for row in range(len(case.released["height"])) if row in keep])


def constant_moved(case: Case) -> Case:
    """A class that has one height publishes another one."""
    return case.change(height=[171.0, *case.released["height"][1:]])


def beyond_domain(case: Case) -> Case:
    return case.change(height=[200.0, *case.released["height"][1:]])


def drawn_outside(case: Case) -> Case:
    """One value beyond the range that draws stay inside of."""
    return case.change(height=[rounded(BOUNDS[1] + 0.3), *case.released["height"][1:]])


def drawn_anew(case: Case, *, factor: float, clamped: bool = False, columns: tuple[str, ...] = ("height",)) -> Case:
    """Drawn inside the range with this many times ε, or Laplace noise clamped to the range."""
    rng, (low, high) = np.random.default_rng(5), BOUNDS
    scale = (high - low) / (factor * float(case.policy.epsilon))
    changed = {}
    for column in columns:
        own = np.clip(np.array(case.own(column)), low, high)
        drawn = own + rng.laplace(0, scale, len(own))
        while not clamped and (outside := (drawn < low) | (drawn > high)).any():
            drawn[outside] = own[outside] + rng.laplace(0, scale, int(outside.sum()))
        changed[column] = [rounded(float(value)) for value in np.clip(drawn, low, high)]
    return case.change(**changed)


def copied_draws(case: Case) -> Case:
    """The noise of one ε-quasi is that of the other, wherever that stays inside the range."""
    moved = np.array(case.released["height"]) - np.clip(np.array(case.own("height")), *BOUNDS)
    other = np.clip(np.array(case.own("weight")), *BOUNDS) + moved
    kept = np.array(case.released["weight"])
    is_inside = (other >= BOUNDS[0]) & (other <= BOUNDS[1])
    return case.change(weight=[rounded(float(value)) for value in np.where(is_inside, other, kept)])


TAMPERINGS: dict[str, Tampering] = {
    "drawn outside the range": Tampering(change=drawn_outside, check="ranges", setting="bounded"),
    "drawn inside the range with twice epsilon": Tampering(
        change=partial(drawn_anew, factor=2.0), check="noise", setting="bounded", n=3000, n_without=3000
    ),
    "clamped to the range and not drawn inside": Tampering(
        change=partial(drawn_anew, factor=1.0, clamped=True), check="noise", setting="bounded", n=3000, n_without=3000
    ),
    "epsilon not split": Tampering(
        change=partial(drawn_anew, factor=1.0, columns=("height", "weight")),
        check="noise",
        setting="two bounded",
        n=3000,
        n_without=None,
    ),
    "noise inside the range copied to another attribute": Tampering(
        change=copied_draws, check="noise", setting="two bounded", n=3000, n_without=None
    ),
    "class cut to k-1": Tampering(change=cut_class, check="k"),
    "identifier left in": Tampering(change=identifier_left_in, check="identifiers"),
    "identifier renamed": Tampering(change=identifier_renamed, check="identifiers"),
    "identifier in one field": Tampering(change=identifier_in_one_field, check="identifiers"),
    "one label moved": Tampering(change=moved_label, check="counts"),
    "label of another level": Tampering(change=mixed_levels, check="labels", algorithms=("ola",)),
    "off precision": Tampering(change=off_precision, check="precision"),
    "column dropped": Tampering(change=dropped_column, check="columns"),
    "column added": Tampering(change=identifier_renamed, check="columns"),
    "kept value altered": Tampering(change=altered_kept, check="kept columns"),
    "record added twice": Tampering(change=duplicate_record, check="counts"),
    "value missing": Tampering(change=missing_value, check="missing values"),
    "labels exchanged": Tampering(change=foreign_label, check="labels", n_without=None),
    "labels and classes of the linkage exchanged": Tampering(
        change=foreign_label_and_linkage, check="labels", n_without=None
    ),
    "linkage swapped": Tampering(change=linkage_swapped, check="labels", n_without=None),
    "not shuffled": Tampering(change=unshuffled, check="order"),
    "grouped by class": Tampering(change=by_class, check="order"),
    "sorted by height": Tampering(change=partial(sorted_by, column="height"), check="order"),
    "sorted by illness": Tampering(change=partial(sorted_by, column="illness"), check="order"),
    "sorted by year": Tampering(change=partial(sorted_by, column="year"), check="order"),
    "half the noise": Tampering(change=partial(scaled_noise, factor=0.5), check="noise"),
    "0.8 times the noise": Tampering(change=partial(scaled_noise, factor=0.8), check="noise", n=6000, n_without=6000),
    "noise that only adds": Tampering(change=only_up, check="noise"),
    "noise of another shape": Tampering(change=bounded_noise, check="noise", n_without=None),
    "noise shared by a class": Tampering(change=shared_noise, check="noise"),
    "noise shared by 2": Tampering(change=partial(shared_by, n=2), check="noise", n_without=None),
    "noise shared by 3": Tampering(change=partial(shared_by, n=3), check="noise", n_without=None),
    "noise shared by 4": Tampering(change=partial(shared_by, n=4), check="noise", n_without=6000),
    "noise shared by 6": Tampering(change=partial(shared_by, n=6), check="noise", n_without=3000),
    "antithetic pairs": Tampering(change=antithetic, check="noise", n_without=3000),
    "noise repeated over classes": Tampering(change=repeated_over_classes, check="noise", n_without=3000),
    "sign tells a bit of a kept column": Tampering(change=telling_illness, check="noise", n_without=3000),
    "sign tells one kept value": Tampering(change=telling_one_illness, check="noise", n=6000, n_without=None),
    "noise rises with the row": Tampering(change=rising_with_row, check="noise", n_without=None),
    "size of noise rises with the row": Tampering(change=growing_with_row, check="noise", n_without=None),
    "a quarter of the noise for a tenth, at random": Tampering(
        change=partial(thin_for, chosen=a_tenth, factor=0.25), check="noise", n=12_000, n_without=None
    ),
    "a quarter of the noise for the first tenth of the input": Tampering(
        change=partial(thin_for, chosen=first_tenth, factor=0.25), check="noise", n_without=None
    ),
    "a quarter of the noise for a tenth of the illnesses": Tampering(
        change=partial(thin_for, chosen=six_illnesses, factor=0.25),
        check="noise",
        n=3000,
        n_without=None,
    ),
    "a quarter of the noise for a tenth of the classes": Tampering(
        change=partial(thin_for, chosen=a_tenth_of_classes, factor=0.25),
        check="noise",
        n=3000,
        n_without=None,
    ),
    "largest class without noise": Tampering(change=bare_class, check="noise", n_without=None),
    "1 in 100 without noise": Tampering(
        change=partial(bare_records, share=0.01), check="noise", n=6000, n_without=None
    ),
    "Gaussian noise of the claimed size": Tampering(change=gaussian_noise, check="noise", n=6000, n_without=None),
    "noise cut off at its 95 % quantile": Tampering(change=cut_off_noise, check="noise", n=6000, n_without=6000),
    "half the noise in the largest class": Tampering(
        change=partial(thin_for, chosen=largest_class, factor=0.5),
        check="noise",
        n=30_000,
        n_without=None,
        algorithms=("ola",),
    ),
    "one class with the noise of another": Tampering(
        change=one_class_copied, check="noise", n=30_000, n_without=None, algorithms=("ola",)
    ),
    "noise of 50 values": Tampering(change=partial(noise_of_few_values, n_values=50), check="noise", n_without=None),
    "published values in the order of the originals": Tampering(change=ranks_kept, check="noise", n_without=None),
    "noise handed out so that an attacker links more": Tampering(
        change=handed_out_to_link, check="attacks", n_without=None
    ),
    "sign tells whether the row is even": Tampering(change=telling_row, check="noise", n_without=None),
    "last digit tells a bit of a kept column": Tampering(
        change=partial(last_digit_tells, bit=bit_of_illness), check="noise"
    ),
    "last digit tells whether the row is even": Tampering(
        change=partial(last_digit_tells, bit=bit_of_row), check="noise", n_without=None
    ),
    "last digit tells that of the original": Tampering(
        change=partial(last_digit_tells, bit=bit_of_own_height), check="noise", n_without=None
    ),
    "a tenth rounded to whole numbers": Tampering(change=some_rounded_to_whole, check="noise", n=3000, n_without=3000),
    "clamped to the extremes of the data": Tampering(change=clamped_to_extremes, check="noise"),
    "sorted by height in blocks of 50": Tampering(change=partial(sorted_in_blocks, column="height"), check="order"),
    "one record of each class in turn": Tampering(change=classes_in_turn, check="order"),
    "suppressed record put back": Tampering(
        change=suppressed_put_back, check="counts", n=300, n_without=300, algorithms=("ola",)
    ),
    "one record in place of another": Tampering(change=one_in_place_of_another, check="kept columns"),
    "kept values exchanged in a class": Tampering(change=kept_exchanged, check="kept columns", n_without=None),
    "linkage turned within classes": Tampering(change=linkage_turned, check="kept columns", n_without=None),
    "linkage divides a class": Tampering(change=linkage_divides, check="linkage", n_without=None),
    "label wider than its class": Tampering(
        change=partial(wider_by, more=1),
        check="labels",
        n=300,
        n_without=300,
        algorithms=("mondrian", "local-recoding"),
    ),
    "label narrower than its class": Tampering(
        change=partial(wider_by, more=-1),
        check="counts",
        n=300,
        n_without=300,
        algorithms=("mondrian", "local-recoding"),
    ),
    "direction copied to another attribute": Tampering(
        change=direction_copied, check="noise", n_without=None, setting="two"
    ),
    "noises of two attributes drawn apart": Tampering(
        change=drawn_apart, check="noise", n=3000, n_without=None, setting="two"
    ),
    "one noise for two attributes": Tampering(change=one_for_both, check="noise", n_without=None, setting="two"),
    "record with too few in reach": Tampering(change=taken_out_put_back, check="confident k", setting="confident"),
    "more left out than confident k asks for": Tampering(
        change=more_left_out, check="suppression", setting="confident", algorithms=("ola",)
    ),
    "value of a constant class moved": Tampering(
        change=constant_moved, check="ranges", n=300, n_without=300, setting="constant"
    ),
    "value beyond the domain": Tampering(change=beyond_domain, check="domain", setting="domain"),
}
"""Every tampering by its name."""
