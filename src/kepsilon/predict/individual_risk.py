# SPDX-License-Identifier: Apache-2.0
"""Says why one record is at more risk than the curator allows, and which ε or k would keep the limit.

The attacker knows every true value of the quasi-identifiers, uses no kept column, and matches all records of a class to its
originals at once. How sure this attacker can be of any one record is at most the largest posterior at 2ε
(`evaluate.linking.largest_posterior`). It grows with ε, and in a class of m originals is 1/(1 + (m − 1)·e^(−2ε)) at most,
whatever their values are. Where a person may have several records, the attacker names persons
(`evaluate.linking.largest_person_posterior`), and there is no such bound before the data is seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from kepsilon.errors import Problem
from kepsilon.policy.exact_bounds import SMALLEST_EPSILON
from kepsilon.policy.guarantee import matcher_in_words
from kepsilon.policy.names import shown_name
from kepsilon.policy.policy import Policy
from kepsilon.policy.roles import fraction, written
from kepsilon.predict.prediction import Prediction
from kepsilon.rounding import percent_at_most

Risks = Callable[[Sequence[float]], Sequence[float]]
"""The largest posterior of any record, to an attacker of single records, for each of several ε."""

_AT_ONCE = 40
"""Values of ε that are tried in one pass over the classes."""


def above_individual_risk(prediction: Prediction, policy: Policy, *, risks: Risks) -> Problem | None:
    """The problem that one record is at more risk than `max_individual_risk`; None if the limit is kept, or not stated.

    `risks` goes through the classes once more for several ε, and is called only to word a refusal.
    """
    limit, risk = policy.max_individual_risk, prediction.linking_risk
    if limit is None or risk.largest_possible_by_matching <= limit:
        return None
    quasis = [*policy.k_quasis, *policy.epsilon_quasis]
    who = matcher_in_words(
        map(shown_name, quasis), averaged=policy.averages is not None, noisy=bool(policy.epsilon_quasis)
    )
    share = percent_at_most(risk.largest_possible_by_matching)
    changes = (
        [*_smaller_epsilons(prediction, policy, limit, risks=risks), *_larger_k(prediction, policy, limit)]
        if policy.averages is None
        else _larger_groups(prediction, policy, limit)
    )
    ways = [
        *changes,
        f"max_individual_risk = {min(1.0, math.ceil(1000 * risk.largest_possible_by_matching) / 1000):g}",
    ]
    return Problem(
        where="",
        what=f"{who} could be up to {share} sure of one record, above max_individual_risk = {written(limit)}. "
        "Nothing was released.",
        fix=f"What would work, or may: {'; or '.join(ways)}.",
    )


def epsilon_whatever_the_data(limit: float, *, class_size: int) -> float:
    """The largest ε at which no record of a class of so many originals can be above the limit; 0 or less if there is none."""
    return math.log((class_size - 1) * limit / (1 - limit)) / 2 if limit < 1 else math.inf


def k_whatever_the_data(limit: float, *, epsilon: float) -> float:
    """How large k has to be for no record to be above the limit, at this ε; infinite where that is beyond a double."""
    return 1 + math.exp(2 * epsilon) * ((1 - limit) / limit)


def _smaller_epsilons(prediction: Prediction, policy: Policy, limit: float, *, risks: Risks) -> list[str]:
    """The largest ε of three digits that keeps the limit on these classes, and one that does whatever the data is."""
    smallest = prediction.classes.smallest
    if not policy.epsilon_quasis:
        return []
    shared_by = float(policy.exact_epsilon / policy.record_epsilon)  # records of a person that share ε
    last = three_digits_up_to(math.nextafter(float(policy.exact_epsilon), 0))
    if policy.person is not None:
        # One person may have most records of a class, so there is no ε that is small enough whatever the data is.
        first = three_digits_up_to(shared_by * float(SMALLEST_EPSILON)) + 1
        found = _largest_within(limit, first, last, risks=risks)
        return [] if found is None else [_on_this_data(found)]
    if 1 / smallest > limit:
        return []  # even without the ε-quasis a record is one of its class
    known = shared_by * epsilon_whatever_the_data(limit, class_size=smallest)
    first = three_digits_up_to(max(known, float(SMALLEST_EPSILON)))
    found = _largest_within(limit, first, last, risks=risks)
    if found is None:
        return []
    ways = [_on_this_data(found)]
    always = shared_by * epsilon_whatever_the_data(limit, class_size=policy.k)
    if always >= SMALLEST_EPSILON and three_digits_up_to(always) < found:
        ways.append(
            f"epsilon = {three_digits(three_digits_up_to(always)):g}, which keeps it at k = {policy.k} whatever the data is"
        )
    return ways


def _on_this_data(number: int) -> str:
    """The way to state an ε that is known to keep the limit on these classes."""
    return f"epsilon = {three_digits(number):g}, the largest of three digits that keeps the limit on this data"


def _largest_within(limit: float, first: int, last: int, *, risks: Risks) -> int | None:
    """The number of the largest ε from `first` to `last` whose risk, to a matcher of classes, is within the limit."""
    found = None
    while first <= last:
        step = math.ceil((last - first + 1) / _AT_ONCE)
        asked = range(first, last + 1, step)
        within = [
            i for i, risk in zip(asked, risks([2 * three_digits(i) for i in asked]), strict=True) if risk <= limit
        ]
        if not within:
            break
        found = within[-1]
        first, last = found + 1, min(found + step - 1, last)
    return found


def three_digits(number: int) -> float:
    """The decimals of three digits in rising order: 0 is 1, 1 is 1.01, 900 is 10, and −1 is 0.999."""
    return float(f"{100 + number % 900}e{number // 900 - 2}")


def three_digits_up_to(value: float) -> int:
    """The number of the largest decimal of three digits that is not above a positive value."""
    exponent = math.floor(math.log10(value))
    number = 900 * exponent + int(value / 10**exponent * 100) - 100
    while three_digits(number) > value:  # the logarithm and the division are rounded
        number -= 1
    while three_digits(number + 1) <= value:
        number += 1
    return number


def three_digits_from(value: float) -> float:
    """The smallest decimal of three digits that is not below a value; 0 for 0."""
    if value <= 0:
        return 0.0
    number = three_digits_up_to(value)
    return three_digits(number) if three_digits(number) >= value else three_digits(number + 1)


def _larger_groups(prediction: Prediction, policy: Policy, limit: float) -> list[str]:
    """How large groups have to be: a record is one of its group, and a class of fewer records is one group."""
    if policy.person is not None:
        return ["larger groups and a larger k"]
    least = math.ceil(1 / fraction(limit))
    if least > prediction.records.counted:
        return []
    return [f"k and averages.group of at least {least:,}, which keep it whatever the data is"]


def _larger_k(prediction: Prediction, policy: Policy, limit: float) -> list[str]:
    """What k would have to be: enough for one record to be one of so many, or enough for this ε whatever the data is."""
    n, smallest = prediction.records.counted, prediction.classes.smallest
    if policy.person is not None:
        return ["a larger k"]
    if 1 / smallest > limit:
        least = math.ceil(1 / fraction(limit))
        one_of = f"whatever epsilon is, a record of the smallest class is one of {smallest:,}"
        return [f"k, which has to be at least {least:,} for this limit ({one_of})"] if least <= n else []
    enough = k_whatever_the_data(limit, epsilon=float(policy.record_epsilon))
    if enough > n:
        return ["a larger k"]
    return [
        f"k = {math.ceil(enough):,}, which keeps it at epsilon = {written(policy.stated_epsilon)} whatever the data is"
    ]
