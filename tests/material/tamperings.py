# SPDX-License-Identifier: Apache-2.0
"""Everything that is done to a release to see whether the audit notices: one table of named tamperings.

A tampering takes a sound case and gives the tampered one. A new one is a function and one line in `TAMPERINGS`; the tests
in tests/auditing/test_tamperings.py and the table of powers in docs/audit.md then have it. `make tamper` runs them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from material.audited_releases import Case, classes_of, rounded

Change = Callable[[Case], Case]


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
    in_table: bool = False
    """Whether docs/audit.md has a line of its power."""


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
    """Original heights."""
    widths: np.ndarray
    """Range of each record's class."""
    units: np.ndarray
    """Noise in units of that range; 0 where the range is 0."""
    class_ids: np.ndarray
    rows: np.ndarray
    """Row of each record in the input."""

    @classmethod
    def of(cls, case: Case) -> Noise:
        own = np.array(case.own("height"))
        ids = np.array(case.linkage["class_id"])
        low, high = np.full(ids.max() + 1, np.inf), np.full(ids.max() + 1, -np.inf)
        np.minimum.at(low, ids, own)
        np.maximum.at(high, ids, own)
        widths = (high - low)[ids]
        units = np.divide(before_rounding(case), widths, out=np.zeros(len(own)), where=widths > 0)
        return cls(own, widths, units, ids, np.array(case.linkage["original_row"]))

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
        return case.change(height=[rounded(float(value)) for value in values])


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


TAMPERINGS: dict[str, Tampering] = {
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
    "linkage swapped": Tampering(change=linkage_swapped, check="labels", n_without=None),
    "not shuffled": Tampering(change=unshuffled, check="order", in_table=True),
    "grouped by class": Tampering(change=by_class, check="order", in_table=True),
    "sorted by height": Tampering(change=partial(sorted_by, column="height"), check="order"),
    "sorted by illness": Tampering(change=partial(sorted_by, column="illness"), check="order"),
    "sorted by year": Tampering(change=partial(sorted_by, column="year"), check="order"),
    "half the noise": Tampering(change=partial(scaled_noise, factor=0.5), check="noise", in_table=True),
    "0.8 times the noise": Tampering(
        change=partial(scaled_noise, factor=0.8), check="noise", n=6000, n_without=6000, in_table=True
    ),
    "noise that only adds": Tampering(change=only_up, check="noise", in_table=True),
    "noise of another shape": Tampering(change=bounded_noise, check="noise", n_without=None, in_table=True),
    "noise shared by a class": Tampering(change=shared_noise, check="noise", in_table=True),
    "noise shared by 2": Tampering(change=partial(shared_by, n=2), check="noise", n_without=None, in_table=True),
    "noise shared by 3": Tampering(change=partial(shared_by, n=3), check="noise", n_without=None, in_table=True),
    "noise shared by 4": Tampering(change=partial(shared_by, n=4), check="noise", n_without=6000, in_table=True),
    "noise shared by 6": Tampering(change=partial(shared_by, n=6), check="noise", n_without=3000, in_table=True),
    "antithetic pairs": Tampering(change=antithetic, check="noise", n_without=3000, in_table=True),
    "noise repeated over classes": Tampering(
        change=repeated_over_classes, check="noise", n_without=3000, in_table=True
    ),
    "sign tells a bit of a kept column": Tampering(
        change=telling_illness, check="noise", n_without=3000, in_table=True
    ),
    "sign tells one kept value": Tampering(
        change=telling_one_illness, check="noise", n=6000, n_without=None, in_table=True
    ),
    "noise rises with the row": Tampering(change=rising_with_row, check="noise", n_without=None, in_table=True),
    "size of noise rises with the row": Tampering(
        change=growing_with_row, check="noise", n_without=None, in_table=True
    ),
    "a quarter of the noise for a tenth, at random": Tampering(
        change=partial(thin_for, chosen=a_tenth, factor=0.25), check="noise", n=12_000, n_without=None, in_table=True
    ),
    "a quarter of the noise for the first tenth of the input": Tampering(
        change=partial(thin_for, chosen=first_tenth, factor=0.25), check="noise", n_without=None, in_table=True
    ),
    "a quarter of the noise for a tenth of the illnesses": Tampering(
        change=partial(thin_for, chosen=six_illnesses, factor=0.25),
        check="noise",
        n=3000,
        n_without=None,
        in_table=True,
    ),
    "a quarter of the noise for a tenth of the classes": Tampering(
        change=partial(thin_for, chosen=a_tenth_of_classes, factor=0.25),
        check="noise",
        n=3000,
        n_without=None,
        in_table=True,
    ),
    "largest class without noise": Tampering(change=bare_class, check="noise", n_without=None, in_table=True),
    "1 in 100 without noise": Tampering(
        change=partial(bare_records, share=0.01), check="noise", n=6000, n_without=None, in_table=True
    ),
}
"""Every tampering by its name."""
