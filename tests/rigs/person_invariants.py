# SPDX-License-Identifier: Apache-2.0
"""What has to hold of persons and of sensitive values in every release, counted slowly by its linkage.

Nothing here is the package's: whom a record is about and which values are equal is read from the documentation.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from oracles.requirements import is_distinct, is_entropy_diverse, is_recursive
from rigs.cases import Case
from rigs.label_meaning import as_text, number_of

Pairs = Sequence[tuple[int, int]]
"""The rows of an original and of its released record."""


def persons_of(case: Case) -> list[str | None] | None:
    """Whom each record is about, None where it does not say; None altogether where the policy names no persons."""
    if "person" not in case.document:
        return None
    (column,) = (own for own in case.columns if own.name == case.document["person"])
    return [(as_text(value) or "").strip() or None for value in column.values]


def n_above_cap(case: Case, left_before: Collection[int]) -> int:
    """How many records the cap leaves out, of those that are not left out for another reason."""
    persons, most = persons_of(case), case.document.get("max_records_per_person")
    if persons is None or most is None:
        return 0
    found = Counter(person for i, person in enumerate(persons) if i not in left_before)
    return sum(max(0, n - most) for n in found.values())


def broken_persons(
    case: Case,
    shown: Mapping[str, Sequence[Any]],
    classes: Sequence[Sequence[Hashable]],
    pairs: Pairs,
    record: Mapping[str, Any],
    *,
    left_before: Collection[int],
) -> Iterator[str]:
    """Promises about persons that a release breaks.

    `shown` are the published ε-quasis by name, `classes` the class of each released record: by labels alone, and with
    what is missing.
    """
    persons = persons_of(case)
    if persons is None:
        if "persons" in record:
            yield "persons: the record counts persons although the policy names none"
        return
    if any(persons[original] is None for original, _ in pairs):
        yield "persons: a record is released that does not say whom it is about"
    fewest = [_fewest(own, persons, pairs) for own in classes]
    if min(fewest) < case.document["k"]:
        yield f"persons: a class of {min(fewest)} persons where k is {case.document['k']}"
    released = Counter(persons[original] for original, _ in pairs)
    most = case.document.get("max_records_per_person")
    if most is not None and max(released.values(), default=0) > most:
        yield "persons: somebody has more records than max_records_per_person"
    if case.document.get("epsilon_per") == "person" and most is None and "averages" not in case.document:
        for column in shown.values():
            if len({(persons[o], column[r]) for o, r in pairs}) > len(released):
                yield "persons: released values of one person differ, though they should be drawn once"
    yield from _person_figures(persons, record["persons"], fewest[-1], most, left_before)


def broken_groups(case: Case, classes: Sequence[Hashable], groups: Sequence[Hashable], pairs: Pairs) -> Iterator[str]:
    """What averages promise about persons: g of them share one, or all of the class, and nobody is in two groups of a class."""
    persons, asked = persons_of(case), case.document["averages"]["group"]
    if persons is None:
        return
    of_class: dict[Hashable, set[str | None]] = defaultdict(set)
    of_group: dict[tuple[Hashable, Hashable], set[str | None]] = defaultdict(set)
    groups_of: dict[tuple[Hashable, str | None], set[Hashable]] = defaultdict(set)
    for original, released in pairs:
        own, group, person = classes[released], groups[released], persons[original]
        of_class[own].add(person)
        of_group[own, group].add(person)
        groups_of[own, person].add(group)
    if any(len(own) < min(asked, len(of_class[key])) for (key, _), own in of_group.items()):
        yield "averages: one is shared by fewer persons than are asked for"
    if any(len(own) > 1 for own in groups_of.values()):
        yield "averages: the records of a person in a class publish different ones"


def _fewest(keys: Sequence[Hashable], persons: Sequence[str | None], pairs: Pairs) -> int:
    found: dict[Hashable, set[str | None]] = defaultdict(set)
    for original, released in pairs:
        found[keys[released]].add(persons[original])
    return min(map(len, found.values()), default=0)


def _person_figures(
    persons: Sequence[str | None],
    stated: Mapping[str, Any],
    fewest: int,
    most: int | None,
    left_before: Collection[int],
) -> Iterator[str]:
    """The curator's record against counts of our own."""
    counted = Counter(person for i, person in enumerate(persons) if i not in left_before)
    sizes = [min(n, most or n) for n in counted.values()]
    each = stated["records_per_person"]
    if stated["count"] != len(sizes) or each["largest"] != max(sizes):
        yield "persons: the record counts other persons, or other records of them"
    if abs(each["mean"] - sum(sizes) / len(sizes)) > 0.0051:
        yield "persons: the record has another mean of records per person"
    if stated["fewest_in_a_class"] != fewest:
        yield "persons: the record has another fewest persons of a class"


def broken_diversity(
    case: Case, keys: Sequence[Hashable], pairs: Pairs, *, left_before: Collection[int], is_capped: bool
) -> Iterator[str]:
    """Requirements on sensitive values that a class breaks, by the values of its originals.

    Which records a cap leaves out cannot be told from the release, and with it what t-closeness compares with; it is then
    not looked at.
    """
    for column in case.of_role("sensitive"):
        attribute = case.document["attributes"][column.name]
        values = sensitive_values(column.values)
        members: dict[Hashable, list[Any]] = defaultdict(list)
        for original, released in pairs:
            members[keys[released]].append(values[original])
        asked = attribute.get("l_diversity", {})
        for own in members.values():
            met = [
                "distinct" not in asked or is_distinct(own, asked["distinct"]),
                "entropy" not in asked or is_entropy_diverse(own, asked["entropy"]),
                "recursive" not in asked or is_recursive(own, *asked["recursive"]),
            ]
            if not all(met):
                yield f"diversity: a class does not meet l_diversity ({next(iter(asked))})"
                break
        if "t_closeness" in attribute and not is_capped:
            everyone = [value for i, value in enumerate(values) if i not in left_before]
            if any(_distance(own, everyone) > Fraction(str(attribute["t_closeness"])) for own in members.values()):
                yield "closeness: a class is further from all records than t_closeness"


def sensitive_values(values: Sequence[Any]) -> list[Any]:
    """Values without blanks around them, None where there is none; numbers, if there is nothing else."""
    texts = [(as_text(value) or "").strip() or None for value in values]
    numbers = {text: number_of(text) for text in set(texts) - {None}}
    if numbers and all(number is not None for number in numbers.values()):
        return [None if text is None else float(numbers[text]) for text in texts]
    return texts


def _distance(values: Sequence[Any], everyone: Sequence[Any]) -> Fraction:
    """Earth mover's distance between the values of a class and those of all records; steps between neighbouring numbers."""
    own, all_of_them = (Counter(v for v in listed if v is not None) for listed in (values, everyone))
    n, n_all = own.total(), all_of_them.total()
    domain = sorted(all_of_them)
    if not n or len(domain) == 1:
        return Fraction(0)
    # Whole numbers, n · n_all times as large as the shares.
    surplus = [own[value] * n_all - all_of_them[value] * n for value in domain]
    if isinstance(domain[0], str):
        return Fraction(sum(map(abs, surplus)), 2 * n * n_all)
    carried = work = 0
    for step in surplus:
        carried += step
        work += abs(carried)
    return Fraction(work, n * n_all * (len(domain) - 1))
