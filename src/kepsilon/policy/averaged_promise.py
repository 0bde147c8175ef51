# SPDX-License-Identifier: Apache-2.0
"""What averages promise, in words, and what they do not."""

from __future__ import annotations

from collections.abc import Iterator

from kepsilon.policy.averages import Averages
from kepsilon.policy.names import listed_names, shown_name
from kepsilon.policy.policy import Policy
from kepsilon.policy.roles import written


def averages_in_words(policy: Policy, averages: Averages) -> Iterator[str]:
    """What the averages of a policy promise, one promise a line, each with the attacker whom it is about."""
    quasis = listed_names(policy.epsilon_quasis)
    yield _what_is_averaged(policy, averages, quasis)
    yield (
        f"An attacker who knows every true value of {listed_names([*policy.k_quasis, *policy.epsilon_quasis])}, and so can "
        f"make the same groups, {_places(policy)}; approximate knowledge does no better."
    )
    yield from _noise(policy, quasis) if averages.noise else _no_noise()
    in_class = [name for name, attribute in policy.epsilon_quasis.items() if attribute.missing == "class"]
    if in_class:
        yield f"Whether {listed_names(in_class)} is missing is visible and is part of the class."
    if policy.diverse:
        yield (
            f"A group of {2 * averages.group:,} or more may show an attacker that a part of it failed what is required of "
            f"{listed_names(policy.diverse)}."
        )
    yield (
        "The promise is for one release: averages of two releases with other groups can be subtracted"
        + (", and averaging fresh releases takes the noise away." if averages.noise else ".")
    )


def _what_is_averaged(policy: Policy, averages: Averages, quasis: str) -> str:
    """Who shares a published value."""
    if policy.person is None:
        size, who = f"{averages.group:,} records", "records"
    else:
        size = f"{averages.group:,} persons, told apart by {shown_name(policy.person)},"
        who = "all records of persons"
    together = " together" if len(policy.epsilon_quasis) > 1 else ""
    if averages.spread:
        return (
            f"{quasis}: the average of a group of near neighbours{together}, at least {size} of a class or the whole class, "
            "with a normal draw of each record's own around it, whose size is that of all groups together. The draw makes "
            "variances about right and protects nobody; no record's own distance from its average is used."
        )
    noise = " with noise" if averages.noise else ""
    return (
        f"{quasis}: {who} of a class publish the average{noise} of a group of near neighbours{together}, so that every "
        f"published combination of the quasi-identifiers is shared by at least {size} or by the whole class."
    )


def _places(policy: Policy) -> str:
    """How well whoever can make the same groups places a record."""
    if policy.person is None:
        return "places a record with a probability of at most one in the size of its group"
    return "names the person behind a record with the probability that the person's share of the group's records is"


def _no_noise() -> Iterator[str]:
    """What averages alone do not hide."""
    yield (
        "Averages carry no noise: an attacker who knows all other values of a group can work out the last one, who roughly "
        "knows them roughly knows it, and so an extreme value shows in its group's average."
    )


def _noise(policy: Policy, quasis: str) -> Iterator[str]:
    """What noise on the sums of groups promises."""
    epsilon = f"ε = {written(policy.stated_epsilon)}"
    most = policy.max_records_per_person
    if policy.epsilon_per == "person" and most is not None and most > 1:
        epsilon += f"/{most} for each of at most {most:,} records of a person"
    elif policy.epsilon_per == "record":
        epsilon += " for one record; a person of r records spends r times that"
    ranges = ", ".join(
        f"[{written(own.range[0])}, {written(own.range[1])}]"
        for own in policy.epsilon_quasis.values()
        if isinstance(own.range, tuple)
    )
    yield (
        f"{quasis}: noise is added to the sum of a group before it is divided. Any two values of a record in {ranges}, bounds "
        "that were declared and not read from the data, that lead to the same groups are ε-indistinguishable "
        f"({epsilon}): an attacker who knows the rest of the group is left with the value plus noise of the size of the range "
        "over ε. Which records were averaged together is not hidden. Values outside the bounds were clipped first."
    )
    if is_unconditional(policy):
        yield (
            f"Given the classes, the list of averages of {quasis} is ε-indistinguishable for any two values of one record, "
            "whether they lead to the same groups or not: blocks of sorted values, whose sizes depend on the size of the "
            "class alone, and no other column is published that could tell rows apart."
        )


def is_unconditional(policy: Policy) -> bool:
    """Whether noise on averages promises ε for any two values of a record, whatever groups they lead to.

    One ε-quasi in sorted blocks whose sizes depend on the number of records alone: order statistics move the same way,
    and their moves add up to the record's. Other columns would tell which rows came together, and requirements on
    sensitive values, persons with several records, or values that are missing would make sizes depend on more.
    """
    return (
        policy.averages is not None
        and policy.averages.noise
        and len(policy.epsilon_quasis) == 1
        and not policy.kept
        and policy.person is None
    )
