# SPDX-License-Identifier: Apache-2.0
"""Hypothesis strategies: made-up records with their hierarchies, and the frequency tables they give.

`Sample` holds records as a person would write them down, so that an oracle can work on them without any code of the
package; `Sample.table` is the same as the package sees it.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from kepsilon.table.codes import code_domain
from kepsilon.table.frequency import FrequencyTable, count_combinations
from kepsilon.table.number_line import number_line
from kepsilon.table.persons import count_persons
from kepsilon.table.sensitive import count_sensitive

Value = str | None


@dataclass(frozen=True)
class Attribute:
    """One k-quasi: the labels of every value by level, and its number and step where it is published as an interval."""

    name: str
    labels: dict[Value, list[Value]]
    numbers: dict[Value, float] | None = None
    generalises: bool = True
    step: Fraction | None = Fraction(1)
    """None where there are numbers in a hierarchy of intervals, which are published as its nodes."""

    @property
    def n_levels(self) -> int:
        return len(next(iter(self.labels.values())))


@dataclass(frozen=True)
class Sample:
    """Records, one value per attribute each."""

    attributes: list[Attribute]
    records: list[tuple[Value, ...]]
    table: FrequencyTable = field(init=False, repr=False, compare=False)
    combination_of: np.ndarray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        domains, columns = [], []
        for i, attribute in enumerate(self.attributes):
            values = list(dict.fromkeys(record[i] for record in self.records))
            positions = None
            if attribute.numbers is not None:
                positions = np.array([np.nan if v is None else attribute.numbers[v] for v in values], dtype=float)
            domain, code_of_value = code_domain(
                attribute.name,
                [[attribute.labels[v][level] for v in values] for level in range(attribute.n_levels)],
                positions=positions,
                generalises=attribute.generalises,
            )
            code = dict(zip(values, code_of_value.tolist(), strict=True))
            if attribute.numbers is not None:
                by_code = [None if v is None else Fraction(attribute.numbers[v]) for v in domain.levels[0]]
                if attribute.step is None:
                    floats = [np.nan if number is None else float(number) for number in by_code]
                    domain = replace(domain, of_intervals=np.array(floats, dtype=float))
                else:
                    domain = replace(domain, line=number_line(by_code, step=attribute.step))
            domains.append(domain)
            columns.append(np.array([code[record[i]] for record in self.records], dtype=np.int64))
        table, combination_of = count_combinations(columns, domains, n_records=len(self.records))
        object.__setattr__(self, "table", table)
        object.__setattr__(self, "combination_of", combination_of)

    @property
    def n_records(self) -> int:
        return len(self.records)

    def reordered(self, order: Sequence[int]) -> Sample:
        return Sample(attributes=self.attributes, records=[self.records[i] for i in order])

    def renamed(self) -> Sample:
        """These records under other value names, whose alphabetical order is the reverse."""
        names = [
            {
                v: v if v is None else f"v{99 - i:02d}"
                for i, v in enumerate(sorted(a.labels, key=lambda v: (v is None, v)))
            }
            for a in self.attributes
        ]
        attributes = [
            Attribute(
                name=a.name,
                labels={new[v]: [new[v], *labels[1:]] for v, labels in a.labels.items()},
                generalises=a.generalises,
            )
            for a, new in zip(self.attributes, names, strict=True)
        ]
        records = [tuple(new[v] for new, v in zip(names, record, strict=True)) for record in self.records]
        return Sample(attributes=attributes, records=records)


@st.composite
def hierarchies(
    draw: st.DrawFn, values: Sequence[Value], *, single_top: bool | None = None, max_levels: int = 4
) -> dict[Value, list[Value]]:
    """Nested labels of every value; each level merges some groups of the one below, sometimes none."""
    n_levels = draw(st.integers(1, max_levels))
    group = {value: number for number, value in enumerate(values)}
    labels: dict[Value, list[Value]] = {value: [value] for value in values}
    for level in range(1, n_levels):
        numbers = sorted(set(group.values()))
        parents = {number: draw(st.integers(0, max(0, len(numbers) - 1))) for number in numbers}
        group = {value: parents[number] for value, number in group.items()}
        for value in values:
            labels[value].append(f"L{level}g{group[value]}")
    if draw(st.booleans()) if single_top is None else single_top:
        for value in values:
            labels[value].append("*")
    return labels


@st.composite
def categorical(draw: st.DrawFn, *, name: str = "c", single_top: bool | None = None) -> Attribute:
    """An attribute with a hierarchy, whose values may include null and awkward text."""
    values: list[Value] = draw(
        st.lists(
            st.sampled_from(["A", "B", "C", "D", "{A, B}", "F", "G", "H", None]), min_size=1, max_size=9, unique=True
        )
    )
    return Attribute(name=name, labels=draw(hierarchies(values, single_top=single_top)))


@st.composite
def flat(draw: st.DrawFn, *, name: str = "f") -> Attribute:
    """An attribute without a hierarchy, which Mondrian publishes as sets."""
    awkward = ["A", "B", "C, D", "{E}", "*", "{A, B}", ' "quoted"', "null", "", None]
    values: list[Value] = draw(st.lists(st.sampled_from(awkward), min_size=1, max_size=7, unique=True))
    return Attribute(name=name, labels={v: [v] for v in values}, generalises=False)


@st.composite
def numeric(draw: st.DrawFn, *, name: str = "n") -> Attribute:
    """Whole numbers, perhaps with null, on a step, and in a hierarchy that may group numbers that are not neighbours."""
    numbers = draw(st.lists(st.integers(-5, 30), min_size=0, max_size=14, unique=True))
    values: list[Value] = [str(n) for n in numbers]
    if not values or draw(st.booleans()):
        values.append(None)
    positions: dict[Value, float] = {v: float(v) for v in values if v is not None}
    if draw(st.booleans()):
        labels = draw(hierarchies(values))
    else:
        labels = {v: [v, *("null" if v is None else f"{int(v) // w * w}+{w}" for w in (2, 8)), "*"] for v in values}
    step = draw(st.sampled_from([Fraction(1, 2), Fraction(1), Fraction(2), Fraction(5), Fraction(12)]))
    return Attribute(name=name, labels=labels, numbers=positions, step=step)


@st.composite
def of_intervals(draw: st.DrawFn, *, name: str = "i") -> Attribute:
    """Whole numbers, perhaps with null, in a hierarchy of intervals."""
    values: list[Value] = [str(n) for n in draw(st.lists(st.integers(0, 40), min_size=1, max_size=14, unique=True))]
    if draw(st.booleans()):
        values.append(None)
    widths = draw(st.sampled_from([(2, 8), (3,), (1, 12, 24)]))
    labels = {v: [v, *(None if v is None else f"{int(v) // w * w}+{w}" for w in widths), "*"] for v in values}
    positions: dict[Value, float] = {v: float(v) for v in values if v is not None}
    return Attribute(name=name, labels=labels, numbers=positions, step=None)


@st.composite
def two_level_samples(draw: st.DrawFn) -> Sample:
    """Many values under one top and few records of each, so that parts of several values end with one label."""
    attributes = [
        Attribute(name=name, labels={v: [v, "*"] for v in values}) for name, values in (("a", "ABCDEFGH"), ("b", "xyz"))
    ]
    combination = st.tuples(*(st.sampled_from(list(attribute.labels)) for attribute in attributes))
    return Sample(attributes=attributes, records=draw(st.lists(combination, min_size=12, max_size=40)))


chances = st.integers(0, 2**32 - 1).map(random.Random)
"""For many draws with nothing to choose between them: Hypothesis takes longer for each than a test does for a record."""


@st.composite
def samples(
    draw: st.DrawFn,
    *,
    kinds: Sequence[str] = ("categorical", "flat", "numeric"),
    max_attributes: int = 3,
    max_records: int = 40,
    single_top: bool | None = None,
) -> Sample:
    """Records drawn with repeats, so that classes of every size occur."""
    make = {"categorical": lambda n: categorical(name=n, single_top=single_top), "flat": lambda n: flat(name=n)}
    make["numeric"] = lambda n: numeric(name=n)
    make["intervals"] = lambda n: of_intervals(name=n)
    chosen = draw(st.lists(st.sampled_from(list(kinds)), max_size=max_attributes))
    attributes = [draw(make[kind](f"{kind}{i}")) for i, kind in enumerate(chosen)]
    combination = st.tuples(*(st.sampled_from(list(a.labels)) for a in attributes))
    combinations = draw(st.lists(combination, min_size=1, max_size=20))
    # Rare combinations leave classes of several values, whose labels may coincide; frequent ones classes of one.
    most = draw(st.sampled_from([1, 2, 6]))
    chance = draw(chances)
    records = [c for c in combinations for _ in range(chance.randint(1, most))][:max_records]
    chance.shuffle(records)
    return Sample(attributes=attributes, records=records)


@dataclass(frozen=True)
class Encounters:
    """Records with the person and the sensitive value of each; a missing value is None."""

    sample: Sample
    persons: list[int]
    values: list[int | None]
    ordered: bool
    """Whether the values are numbers."""

    @property
    def table(self) -> FrequencyTable:
        domain = sorted({value for value in self.values if value is not None})
        codes = np.array([-1 if value is None else domain.index(value) for value in self.values], dtype=np.int64)
        combination_of = self.sample.combination_of
        n_combinations = self.sample.table.n_combinations
        return replace(
            self.sample.table,
            persons=count_persons(combination_of, np.array(self.persons), n_combinations=n_combinations),
            sensitive={
                "illness": count_sensitive(combination_of, codes, n_values=len(domain), is_ordered=self.ordered)
            },
        )


@st.composite
def encounters(draw: st.DrawFn, **settings: object) -> Encounters:
    """A sample whose records are about few or many persons, with few or many values; in the extreme all have one."""
    sample = draw(samples(**settings))
    n = sample.n_records
    last_person, last_value = draw(st.sampled_from([0, 3, 12, 40])), draw(st.sampled_from([0, 1, 2, 5]))
    missing, chance = draw(st.sampled_from([0.0, 0.5])), draw(chances)
    return Encounters(
        sample=sample,
        persons=[chance.randint(0, last_person) for _ in range(n)],
        values=[None if chance.random() < missing else chance.randint(0, last_value) for _ in range(n)],
        ordered=draw(st.booleans()),
    )
