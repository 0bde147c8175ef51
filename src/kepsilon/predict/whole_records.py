# SPDX-License-Identifier: Apache-2.0
"""Looks at whole records of some classes: what kept columns tell about the quasis, and who could link how many records.

Kept columns are published as they are, so an attacker can use them too. All records of some classes are looked at: all
classes of a small table, a random choice of classes of a large one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from kepsilon.count import Counted
from kepsilon.evaluate.estimate import Estimate
from kepsilon.evaluate.homogeneity import Homogeneity, homogeneity
from kepsilon.evaluate.kept_columns.findings import KeptColumns
from kepsilon.evaluate.kept_columns.look import FittedAttackers, fit_attackers, look_at_kept_columns
from kepsilon.evaluate.linking.attackers import (
    REAL,
    Attacker,
    known_by_everything,
    known_by_joining_with_kept,
    known_by_three,
    known_by_working_out,
    known_with_column,
)
from kepsilon.evaluate.linking.joined_records import expected_joined_links, signatures_of_records
from kepsilon.evaluate.linking.known_columns import (
    Attack,
    NoisyClasses,
    attack_with_known,
    attack_with_three,
    groups_of_known,
    variance_of_classes,
)
from kepsilon.evaluate.survival.measure import LeftOut
from kepsilon.perturb.mechanisms import mechanism_of
from kepsilon.policy.policy import Policy
from kepsilon.predict.averaged import groups_of_records
from kepsilon.predict.noise_ranges import clip, declared_ends
from kepsilon.predict.outlook import Outlook
from kepsilon.predict.recheck import recheck_of
from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.chosen_classes import choose_classes, in_classes
from kepsilon.table.classes import SUPPRESSED, Recoding
from kepsilon.table.sensitive import MISSING, code_values_in_order
from kepsilon.table.steps import steps_of
from kepsilon.table.whole_records import WholeColumn, WholeRecords

MOST_VALUES = 1_000_000
"""Values of kept columns that are looked at, about; more take seconds longer and show little more."""
FEWEST_RECORDS, MOST_RECORDS = 20_000, 50_000
"""Bounds on the records that are looked at, however few or many kept columns there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeTable:
    """All records of a table that is small enough, with attackers that are fitted once for all partitions."""

    whole: WholeRecords
    fitted: FittedAttackers


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeLook:
    """The whole records of some classes of one partition, and what their kept columns tell."""

    class_ids: IntArray
    """Class of each record, 0 … n_classes − 1, shape (n_records,)."""
    classes: IntArray
    """Ids in the partition of these classes, shape (n_classes,)."""
    values: FloatArray
    """ε-quasis as they are in the data, shape (n_records, n_epsilon_quasis)."""
    labels: Mapping[str, IntArray]
    """By k-quasi, the number of the label that each record shows."""
    kept: Mapping[str, IntArray]
    """By kept column, the code of each record's value."""
    sensitive: Mapping[str, IntArray]
    """By sensitive column, the code of each record's value: blanks around a text do not matter, as in requirements."""
    persons: IntArray | None
    """Whom each record is about, shape (n_records,); None where the policy does not say what a person is."""
    found: KeptColumns
    """What the kept columns tell."""
    n_all: int
    """Records of all classes of the partition."""
    left_out: LeftOut
    """Records that are in no class, with the kept columns that hold numbers."""
    numeric: tuple[str, ...]
    """Kept columns that hold numbers."""
    groups: IntArray | None = None
    """The group whose average each record publishes, 0 … n_groups − 1, shape (n_records,); None where there are none.

    Whoever knows the quasis can tell the group, so that for attackers groups are what classes are otherwise.
    """
    is_thinned: bool
    """Whether only some records of a very large class were looked at, so that its records had too few candidates."""

    @property
    def is_sample(self) -> bool:
        """Whether some classes, or some records of a very large class, were not looked at."""
        return len(self.class_ids) < self.n_all

    @property
    def in_words(self) -> str:
        """How many records were looked at."""
        n = len(self.class_ids)
        if not self.is_sample:
            return f"measured on all {n:,} records"
        words = f"measured on {n:,} of {self.n_all:,} records, in {len(self.classes):,} classes"
        if self.is_thinned:
            words += f"; of a class above {MOST_RECORDS:,} records only on some, so that shares are at most these"
        return words

    @property
    def sample_in_words(self) -> str | None:
        """How many records were looked at; None where all were."""
        return self.in_words if self.is_sample else None


def fit_whole_table(counted: Counted, policy: Policy) -> WholeTable | None:
    """All records of a table, with attackers that serve every partition of it; None where it has too many records.

    Attackers are fitted to all counted records, also those that a partition suppresses: whoever attacks could not do
    better.
    """
    if counted.n_staying > _most_records(policy):
        return None
    everybody = Recoding(
        class_of=np.zeros(counted.table.n_combinations, dtype=np.int64),
        sizes=np.array([counted.n_staying]),
        attributes=(),
    )
    whole = counted.columns.whole_records(np.ones(counted.table.n_combinations), identifiers=_identifiers(policy))
    records = in_classes(whole, everybody, counted.table, counted.roles, persons=_persons(whole, policy))
    return WholeTable(whole=whole, fitted=fit_attackers(records, joining_tells=policy.joining_tells))


def look_at_whole_records(
    recoding: Recoding, counted: Counted, policy: Policy, *, table: WholeTable | None = None
) -> WholeLook:
    """Whole records of some classes of a partition, and what their kept columns tell.

    `table` holds all records, if they were fitted before, as `explore` does for all its partitions.
    """
    table = table or fit_whole_table(counted, policy)
    if table is not None:
        whole = table.whole
        groups = _groups(whole, recoding, counted, policy)
        found = table.fitted.in_classes(recoding.class_of[whole.combinations] if groups is None else groups)
    else:
        shares = choose_classes(recoding, most=_most_records(policy), largest=MOST_RECORDS)
        is_left_out = recoding.class_of == SUPPRESSED
        if policy.epsilon_quasis and is_left_out.any():
            shares[is_left_out] = min(1.0, _most_records(policy) / int(counted.table.counts[is_left_out].sum()))
        whole = counted.columns.whole_records(shares, identifiers=_identifiers(policy))
        groups = _groups(whole, recoding, counted, policy)
        looked_at = in_classes(whole, recoding, counted.table, counted.roles, persons=_persons(whole, policy))
        if groups is not None:
            looked_at = replace(looked_at, class_ids=groups[recoding.class_of[whole.combinations] != SUPPRESSED])
        found = look_at_kept_columns(looked_at, joining_tells=policy.joining_tells)
    class_of_record = recoding.class_of[whole.combinations]
    stays = np.flatnonzero(class_of_record != SUPPRESSED)
    persons = _persons(whole, policy)
    classes, class_ids = np.unique(class_of_record[stays], return_inverse=True)
    left_out = np.flatnonzero(class_of_record == SUPPRESSED)
    numeric = tuple(name for name, own in whole.kept.items() if own.numbers is not None and not own.is_date)
    return WholeLook(
        class_ids=class_ids,
        classes=classes,
        values=whole.values[stays],
        labels={
            name: attribute.of_class[classes][class_ids]
            for name, attribute in zip(policy.k_quasis, recoding.attributes, strict=False)
        },
        kept={name: own.codes[stays] for name, own in whole.kept.items()},
        sensitive={name: _sensitive_codes(whole.kept[name].of(stays)) for name in policy.sensitive},
        persons=None if persons is None else persons[stays],
        found=found,
        groups=None if groups is None else np.unique(groups[stays], return_inverse=True)[1],
        n_all=int(recoding.sizes.sum()),
        left_out=LeftOut(
            values=whole.values[left_out],
            kept={name: whole.kept[name].of(left_out) for name in numeric},
            n_all=int(counted.table.counts[recoding.class_of == SUPPRESSED].sum()),
        ),
        numeric=numeric,
        is_thinned=bool(np.any(np.bincount(class_ids, minlength=len(classes)) < recoding.sizes[classes])),
    )


def _sensitive_codes(column: WholeColumn) -> IntArray:
    """Codes of values, or MISSING: texts that differ in blanks around them, or write one number, are one value."""
    if not column.texts:
        return column.codes
    of_code, _, _ = code_values_in_order(column.texts)
    return np.append(of_code, MISSING)[column.codes]


def _most_records(policy: Policy) -> int:
    """How many records are looked at, about."""
    return min(MOST_RECORDS, max(FEWEST_RECORDS, MOST_VALUES // max(1, len(policy.kept))))


def _identifiers(policy: Policy) -> tuple[str, ...]:
    """Identifiers that are read for the records looked at, to see whether a kept text repeats them, and whose they are."""
    if policy.kept:
        return policy.identifiers
    return () if policy.person is None else (policy.person,)


def _persons(whole: WholeRecords, policy: Policy) -> IntArray | None:
    """Whom each record is about, as a number: texts that differ in blanks around them alone name one person.

    None where the policy does not say what a person is.
    """
    if policy.person is None:
        return None
    column = whole.identifiers[policy.person]
    if not column.texts:
        return column.codes
    number: dict[str, int] = {}
    person_of_code = [number.setdefault(text.strip(), len(number)) for text in column.texts]
    persons: IntArray = np.array(person_of_code, dtype=np.int64)[column.codes]
    return persons


def _groups(whole: WholeRecords, recoding: Recoding, counted: Counted, policy: Policy) -> IntArray | None:
    """The group whose average each record publishes, −1 for suppressed records; None where no averages are asked for.

    Of a sample it is not known which values requirements speak of. Groups that they join stay apart then: attackers have
    fewer candidates, and figures are at most too large.
    """
    if policy.averages is None:
        return None
    classes = recoding.class_of[whole.combinations]
    again, sensitive = recheck_of(policy, counted.table), _coded_as_counted(whole, counted, policy)
    return groups_of_records(
        whole.values,
        classes,
        policy,
        persons=_persons(whole, policy),
        again=again if sensitive is not None else None,
        sensitive=sensitive,
    )


def _coded_as_counted(whole: WholeRecords, counted: Counted, policy: Policy) -> IntArray | None:
    """The codes that values of `policy.diverse` have in the frequency table, shape (n_records, n_diverse).

    Codes are the ranks of the values of all records, so they are known where all records are; None elsewhere.
    """
    found = np.column_stack([_sensitive_codes(whole.kept[name]) for name in policy.diverse]) if policy.diverse else None
    if found is None or len(found) != counted.n_staying:
        return None
    for j, name in enumerate(policy.diverse):
        counts = counted.table.sensitive[name].overall
        if not np.array_equal(np.bincount(found[found[:, j] != MISSING, j], minlength=len(counts)), counts):
            return None
    return found


def noisy_classes(look: WholeLook, outlook: Outlook, policy: Policy) -> NoisyClasses:
    """The classes that were looked at, with the ranges that set their noise; or the groups, whose records look alike."""
    if look.groups is not None:
        no_ends = np.zeros((int(look.groups.max(initial=-1)) + 1, 0))
        return NoisyClasses(
            class_ids=look.groups,
            values=np.zeros((len(look.groups), 0)),
            low=no_ends,
            high=no_ends,
            mechanism=mechanism_of(policy),
            steps=(),
            is_sample=look.is_sample,
            persons=look.persons,
        )
    return NoisyClasses(
        class_ids=look.class_ids,
        values=clip(look.values, policy)[0],
        low=outlook.low[look.classes],
        high=outlook.high[look.classes],
        mechanism=mechanism_of(policy),
        steps=steps_of(policy),
        is_sample=look.is_sample,
        persons=look.persons,
    )


def homogeneity_of(look: WholeLook, policy: Policy) -> dict[str, Homogeneity]:
    """How far the classes that were looked at agree on a value, by sensitive column."""
    return {
        name: homogeneity(
            look.class_ids if look.groups is None else look.groups,
            look.sensitive[name],
            measured_on=look.sample_in_words,
        )
        for name in policy.sensitive
    }


def who_works_out(look: WholeLook, policy: Policy) -> Attacker | None:
    """Whoever works out a kept column from the quasis; None where no column can be, beyond what chance would do."""
    found = [own for own in look.found.columns if own.z >= REAL]
    if not found:
        return None
    worst = max(found, key=lambda own: own.share_linked)
    variance = variance_of_classes(worst.share_linked, np.bincount(look.class_ids)) if look.is_sample else 0.0
    found_out = known_by_working_out(
        policy,
        column=worst.column,
        risk=Estimate(total=worst.share_linked, variance=variance),
        largest=worst.largest,
    )
    return replace(found_out, measured_on=look.sample_in_words)


def who_knows_more(look: WholeLook, outlook: Outlook, policy: Policy, *, epsilon: float) -> Iterator[Attacker]:
    """Whoever knows kept columns of everybody: one, three attributes of any kind, or all of them."""
    classes, kept = noisy_classes(look, outlook, policy), look.kept
    if kept:
        name, attack = _worst_column(classes, kept, epsilon=epsilon)
        own = known_with_column(policy, column=name, risk=attack.share, largest=attack.largest)
        yield replace(own, measured_on=look.sample_in_words)
    averages = _averages(look, policy)
    noisy = [] if averages else list(policy.epsilon_quasis)
    three = attack_with_three(classes, {**look.labels, **averages, **kept}, noisy, epsilon=epsilon)
    if three is not None:
        n_sampled = len(look.class_ids) if look.is_sample else None
        names_persons = look.persons is not None
        yield from known_by_three(three, n_sampled=n_sampled, names_persons=names_persons, are_averages=bool(averages))
    (attack,) = attack_with_known(classes, list(kept.values()), epsilons=[epsilon])
    everything = known_by_everything(
        risk=attack.share,
        largest=attack.largest,
        names_persons=look.persons is not None,
        could_join=policy.draws_once_per_person,
    )
    yield replace(everything, measured_on=look.sample_in_words)
    if policy.draws_once_per_person and not look.is_sample:
        yield from _who_joins(look, policy, column=None if not kept else name, epsilon=epsilon)


def _who_joins(look: WholeLook, policy: Policy, *, column: str | None, epsilon: float) -> Iterator[Attacker]:
    """Whoever knows kept columns and joins records with equal noisy values: the worst column, if there is one, or all.

    Joined records show in which classes a person is, and with which kept values. All records have to be there: of a person
    with records elsewhere, the attacker would know more.
    """
    if look.persons is None:
        return
    for one in () if column is None else (column, None):
        known = list(look.kept.values()) if one is None else [look.kept[one]]
        persons, signatures = signatures_of_records(look.persons, groups_of_known(look.class_ids, known)[0])
        first = np.zeros(len(persons), dtype=np.int64)
        first[np.searchsorted(persons, look.persons)] = np.arange(len(look.persons))  # any record: values are constant
        low, high = declared_ends(policy)
        (found,) = expected_joined_links(
            signatures,
            clip(look.values[first], policy)[0],
            low=low,
            high=high,
            epsilons=[epsilon],
            mechanism=mechanism_of(policy),
            steps=steps_of(policy),
        )
        yield known_by_joining_with_kept(policy, column=one, risk=found.share, largest=found.largest)


def _averages(look: WholeLook, policy: Policy) -> dict[str, IntArray]:
    """By ε-quasi, the code of the average that each record publishes; empty where no averages are published."""
    if look.groups is None:
        return {}
    values = clip(look.values, policy)[0]
    sizes = np.bincount(look.groups)
    found: dict[str, IntArray] = {}
    for j, name in enumerate(policy.epsilon_quasis):
        averages = np.bincount(look.groups, weights=values[:, j]) / sizes  # NaN where a class has no values
        found[name] = np.unique(averages, return_inverse=True)[1][look.groups]
    return found


def _worst_column(classes: NoisyClasses, kept: Mapping[str, IntArray], *, epsilon: float) -> tuple[str, Attack]:
    """The kept column that helps most, if it is known, and what it helps to.

    With several ε-quasis links are simulated, which takes long; then the column is the one that divides classes into most
    groups, which decides the share unless ε is very large.
    """
    names = list(kept)
    if classes.values.shape[1] > 1:
        groups = [len(np.unique(classes.class_ids * (int(kept[name].max()) + 2) + kept[name])) for name in names]
        names = [names[int(np.argmax(groups))]]
    attacks = {name: attack_with_known(classes, [kept[name]], epsilons=[epsilon])[0] for name in names}
    worst = max(attacks, key=lambda name: attacks[name].share.total)
    return worst, attacks[worst]
