# SPDX-License-Identifier: Apache-2.0
"""What each mechanism promises, in words.

The words stand here and not beside the mechanisms, because an audit compares them with what a manifest states, and must
not load the code that it checks.
"""

from __future__ import annotations

from kepsilon.policy.policy import Policy
from kepsilon.policy.roles import CoarseSpecification, EpsilonQuasi, written


def laplace(name: str, attribute: EpsilonQuasi, policy: Policy) -> str:
    """What `laplace` promises for one ε-quasi, in a sentence that is true for the chosen range."""
    # With confidence only the noise itself keeps the promise: which records are left out depends on all true values.
    drawn = ", as drawn" if policy.confidence is not None else ""
    epsilon = f"ε-indistinguishable (ε = {_epsilon_in_words(policy)})"
    if attribute.range == "class":
        return (
            f"{name}{drawn}: within its class, and for an attacker who knows the class and its range, any two values are "
            f"{epsilon}. This is not differential privacy: an extreme record moves the range itself, and the size of the "
            "noise shows the range, whatever ε is. "
            "A class whose records all agree publishes the value they agree on, rounded."
        )
    if isinstance(attribute.range, CoarseSpecification):
        return (
            f"{name}{drawn}: within its class, and for an attacker who knows the class and its range widened to steps of "
            f"{written(attribute.range.coarse)}, any two values are {epsilon}. "
            "This is not differential privacy: an extreme record can still move the widened range, and the size of the "
            "noise shows it, whatever ε is."
        )
    if attribute.range is None:
        raise ValueError("noise has no range")
    low, high = attribute.range
    local = "" if drawn else f": {_whatever_the_others_hold(policy)}"
    return (
        f"{name}{drawn}: given the partition into classes, any two values in [{written(low)}, {written(high)}], bounds "
        f"that were declared and not read from the data, are {epsilon}{local}. Values outside the bounds were clipped first."
    )


def bounded_laplace(name: str, attribute: EpsilonQuasi, policy: Policy) -> str:
    """What `bounded-laplace` promises for one ε-quasi: the words of `laplace`, and where its values lie."""
    d = len(policy.epsilon_quasis)
    fewer = any(own.missing == "class" for own in policy.epsilon_quasis.values())
    share = (
        f" Each of the {d} epsilon-quasis of a record is drawn by itself and spends 1/{d} of ε"
        + (", or an equal part where some of them are missing." if fewer else ".")
        if d > 1
        else ""
    )
    ends = (
        "the widened range of its class, so that the values themselves show that range"
        if isinstance(attribute.range, CoarseSpecification)
        else "the bounds"
    )
    return f"{laplace(name, attribute, policy)} Apart from rounding, what is published lies inside {ends}.{share}"


def _epsilon_in_words(policy: Policy) -> str:
    """ε, and what one record spends of it where a person's records share it."""
    most = policy.max_records_per_person
    if policy.epsilon_per == "person" and most is not None and most > 1:
        return f"{written(policy.stated_epsilon)}/{most} for each record of a person"
    return written(policy.stated_epsilon)


def _whatever_the_others_hold(policy: Policy) -> str:
    """How far the promise of declared bounds reaches, when no record is left out afterwards.

    An ε-quasi whose range comes from the records lets a record move that range, and so the noise, by its value there.
    """
    if all(isinstance(own.range, tuple) for own in policy.epsilon_quasis.values()):
        of = "person" if policy.draws_once_per_person else "record"
        return f"a local promise for each {of}, whatever the others hold"
    return (
        "a promise about this attribute of each record, whatever the others hold, its values of the attributes whose range "
        "is not declared being what they are"
    )
