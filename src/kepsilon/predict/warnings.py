# SPDX-License-Identifier: Apache-2.0
"""Warnings: facts that do not stop a release, but are worth knowing before it is published.

What endangers people comes first: how k counts, values that noise does not hide, labels that tell a single value. How the
files were read and what a spreadsheet or a type does to cells comes after.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kepsilon.count import Counted
from kepsilon.errors import Problem
from kepsilon.evaluate.homogeneity import Homogeneity
from kepsilon.evaluate.label_bounds import telling_bounds
from kepsilon.policy.policy import Policy
from kepsilon.policy.roles import written
from kepsilon.predict.averages_warnings import warnings_about_groups
from kepsilon.predict.group_summary import GroupSummary
from kepsilon.predict.outlook import Outlook
from kepsilon.predict.prediction import Losses, OutlierRecovery, SmallNoise
from kepsilon.predict.verdicts import USELESS, AttributeVerdict
from kepsilon.rounding import percent
from kepsilon.table.classes import Recoding
from kepsilon.table.formulas import is_formula
from kepsilon.table.frequency import FrequencyTable

_STARTS = "=, +, -, @, a tab or a line end"
_AS_TEXT = "It is published as it is. Whoever opens the release in a spreadsheet should import it as text."


def warnings_about_classes(
    outlook: Outlook,
    recoding: Recoding,
    *,
    small_noise: Mapping[str, SmallNoise],
    outliers: Mapping[str, OutlierRecovery],
    policy: Policy,
) -> tuple[Problem, ...]:
    """Warnings about the classes of one partition: constant classes, too little noise, outliers and clipped values.

    Where averages are published, they are about the groups instead.
    """
    clipped = _clipped(outlook.clipped, int(recoding.sizes.sum()), "range" if policy.draws_noise else "domain")
    if outlook.groups is not None:
        groups = GroupSummary.of(outlook.groups, policy)
        return (*warnings_about_groups(groups, policy, n_classes=recoding.n_classes), *clipped)
    return (
        *_constant(outlook.constant_classes, recoding.n_classes),
        *_small_noise(small_noise, recoding.n_classes, policy),
        *_outliers(outliers, policy),
        *clipped,
    )


def warnings_about_search(loss: Losses) -> tuple[Problem, ...]:
    """Says that OLA did not prove that its node is the best, with what it proved."""
    if loss.not_proven is None:
        return ()
    fix = 'algorithm = "local-recoding" mostly loses less; or give hierarchies fewer levels, or state max_level.'
    return (Problem(where="attributes", what=loss.not_proven.in_words, fix=fix),)


def warnings_about_reading(counted: Counted, policy: Policy) -> tuple[Problem, ...]:
    """Warnings about how the files were read and which types change; none of them takes another look at the records."""
    return (*counted.source.notes, *policy.notes, *_types(counted))


def warnings_about_namesakes(counted: Counted) -> tuple[Problem, ...]:
    """A warning for each identifier of names that some records share."""
    return tuple(
        Problem(
            where=f'column "{name}"',
            what=f"{own.n_records:,} records hold only {'about ' * own.is_estimate}{own.n_distinct:,} different values.",
            fix="Where these are names or texts that several persons share, nothing is wrong, and records_are_persons = true "
            "says so. Otherwise some persons have several records, and a class of k records can hold fewer than k persons: "
            "state person in the policy, with the column that says whom a record is about.",
        )
        for name, own in counted.namesakes.items()
    )


def warnings_about_agreement(found: Mapping[str, Homogeneity], *, of: str) -> tuple[Problem, ...]:
    """A warning for each sensitive column on whose values classes, or groups, agree far more than chance would let them."""
    return tuple(
        Problem(
            where=f'column "{name}"',
            what=f"{own.in_words(name, of=of)}.",
            fix=f"A requirement on its values keeps {'classes' if of == 'class' else 'groups'} mixed: l_diversity or "
            "t_closeness.",
        )
        for name, own in found.items()
        if own.is_notable
    )


def warnings_about_useless_attributes(verdicts: Mapping[str, AttributeVerdict], policy: Policy) -> Iterator[Problem]:
    """Warnings of attributes that are useless, which the policy accepts, and of reasons that are not needed."""
    for name, reason in policy.accepted_useless.items():
        own = verdicts[name]
        if own.verdict == USELESS:
            yield Problem(
                where=f"attributes.{name}",
                what=f"is useless, which the policy accepts: {own.reason}.",
                fix=f"The reason that the policy states: {reason}",
            )
        else:
            yield Problem(
                where=f"attributes.{name}.accept_useless",
                what=f"is stated, but the attribute is {own.verdict}: {own.reason}.",
                fix="The manifest prints the reason all the same; take it out if it is not needed.",
            )


def warnings_about_formulas(counted: Counted) -> tuple[Problem, ...]:
    """Warnings about column names and kept cells that are formulas; all kept columns are read for this purpose."""
    return tuple(_formulas(counted))


def _formulas(counted: Counted) -> Iterator[Problem]:
    """Warnings of column names and kept values that a spreadsheet would run as formulas."""
    for name in counted.roles.published:
        if is_formula(name):
            yield Problem(where=f'column "{name}"', what=f"its name begins like a formula ({_STARTS}).", fix=_AS_TEXT)
    for name in counted.roles.kept:
        n = counted.columns.n_formulas(name)
        if n:
            yield Problem(
                where=f'column "{name}"',
                what=f"{n:,} cells begin like a formula ({_STARTS}).",
                fix=_AS_TEXT,
            )


def warnings_about_labels(recoding: Recoding, table: FrequencyTable, policy: Policy) -> tuple[Problem, ...]:
    """Warnings about the labels of one partition: bounds that tell a single record's value, and labels that are formulas."""
    return (*_telling_bounds(recoding, table, policy), *_formula_labels(recoding, policy))


def _formula_labels(recoding: Recoding, policy: Policy) -> Iterator[Problem]:
    """A warning for each k-quasi with labels that a spreadsheet would run as formulas."""
    for name, attribute in zip(policy.k_quasis, recoding.attributes, strict=False):
        n = sum(is_formula(label) for label in attribute.labels if label is not None)
        if n:
            what = f"{n:,} of its labels begin like a formula ({_STARTS})."
            yield Problem(where=f'column "{name}"', what=what, fix=_AS_TEXT)


def _types(counted: Counted) -> Iterator[Problem]:
    """A warning for each kept column that cannot keep its type."""
    for change in counted.columns.type_changes:
        yield Problem(
            where=f'column "{change.column}"',
            what=f"is {change.before}, and is released as {change.after}.",
            fix="Its values stay. The first type cannot be released, or stores what could be of records that are left out.",
        )


def _constant(constant: Mapping[str, int], n_classes: int) -> Iterator[Problem]:
    """A warning for each ε-quasi that gets no noise in some classes."""
    for name, n in constant.items():
        if n:
            yield Problem(
                where=f"attributes.{name}.range",
                what=f"in {n:,} of {n_classes:,} classes all records agree on {name}, so it gets no noise: anybody who sees "
                "the release, and knows that a person is in such a class, knows the person's value.",
                fix="A coarse range, { coarse = step }, or declared bounds, [low, high], would hide it.",
            )


def _small_noise(small: Mapping[str, SmallNoise], n_classes: int, policy: Policy) -> Iterator[Problem]:
    """A warning for each ε-quasi whose noise is lost by rounding in some classes."""
    for name, found in small.items():
        if found.classes:
            precision = written(policy.epsilon_quasis[name].precision)
            yield Problem(
                where=f"attributes.{name}.range",
                what=f"in {found.classes:,} of {n_classes:,} classes the noise of {name} is small beside its precision, "
                f"{precision}: for anybody who sees the release, at least every second value is as it was "
                f"({found.records:,} records; in the worst class {percent(found.likeliest)} of the values).",
                fix="A smaller epsilon, a wider range ({ coarse = step } or declared bounds, [low, high]), or a finer "
                "precision keeps the noise.",
            )


def _outliers(outliers: Mapping[str, OutlierRecovery], policy: Policy) -> Iterator[Problem]:
    """A warning for each ε-quasi whose noise gives extreme records away."""
    for name, found in outliers.items():
        if found.recoverable:
            is_coarse = policy.epsilon_quasis[name].range_kind == "coarse"
            widened = ", widened to the step" * is_coarse
            is_by_record = policy.person is None
            who, others = ("record", "all other records") if is_by_record else ("person", "the records of all others")
            yield Problem(
                where=f"attributes.{name}.range",
                what=f"in {found.recoverable:,} of {found.classes:,} classes one {who}'s {name} stands out and can be worked "
                f"out within {found.within:.0%}, with a probability of ½ or more, by an attacker who knows {others} "
                f"of the class and which published values are theirs; the likeliest: {percent(found.likeliest or 0)}. "
                f"The size of the noise shows the range of the class{widened}, whatever epsilon is.",
                fix="Declared bounds, [low, high], do not depend on the data"
                + (
                    ", and a coarser step hides more."
                    if is_coarse
                    else "; a coarse range, { coarse = step }, hides what is smaller than its step."
                ),
            )


def _clipped(clipped: Mapping[str, int], n_released: int, key: str) -> Iterator[Problem]:
    """A warning for each ε-quasi with values outside the bounds that its `key` declares."""
    for name, n in clipped.items():
        if n:
            yield Problem(
                where=f"attributes.{name}.{key}",
                what=f"{n:,} of {n_released:,} values lie outside the declared bounds and would be clipped to them.",
            )


def _telling_bounds(recoding: Recoding, table: FrequencyTable, policy: Policy) -> Iterator[Problem]:
    """A warning for each k-quasi of numbers whose labels have bounds that end at the cell of a single record."""
    if recoding.levels is not None:
        return  # labels are those of a hierarchy, not intervals on a step
    for domain, codes in list(zip(table.domains, table.codes, strict=True))[: len(policy.k_quasis)]:
        name, step = domain.name, policy.k_quasis[domain.name].step
        if domain.line is None or step is None:
            continue
        found = telling_bounds(
            domain.line,
            codes,
            table.counts,
            recoding.class_of,
            n_classes=recoding.n_classes,
            shows_regions=policy.labels == "ancestor",
            persons=table.persons,
        )
        if found.n_telling:
            yield Problem(
                where=f"attributes.{name}.step",
                what=f"{found.n_telling:,} of {found.n_shown:,} bounds that labels of {name} show end at the cell of a single "
                f"{'record' if table.persons is None else 'person'}, a cell of the step {written(step)} in which the data has no "
                "other value. Whoever knows who is in such a class, and who of them has its smallest or largest value, learns "
                "that cell, and the value itself if no other is possible there.",
                fix="Choose a coarser round step, one that several values of the data share.",
            )
