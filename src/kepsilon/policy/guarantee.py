# SPDX-License-Identifier: Apache-2.0
"""The statement of what a release promises, worded so that it is true for the chosen ranges.

It is a function of the policy alone, and both who makes a release and who audits it use this one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kepsilon.policy.choices import MECHANISMS
from kepsilon.policy.policy import Policy
from kepsilon.policy.roles import CoarseSpecification, EpsilonQuasi, written


def range_in_words(attribute: EpsilonQuasi) -> str:
    """The range of an ε-quasi, as the manifest names it."""
    if attribute.range == "class":
        return "class"
    if isinstance(attribute.range, CoarseSpecification):
        return f"coarse, step {written(attribute.range.coarse)}"
    low, high = attribute.range
    return f"declared [{written(low)}, {written(high)}]"


def statement(policy: Policy) -> str:
    """What a release under the policy promises, one promise a line."""
    sentences = []
    if policy.k_quasis:
        sentences.append(
            f"Every combination of published values of {_listed(policy.k_quasis)} occurs at least {policy.k} times."
        )
    else:
        parts = any(attribute.missing == "class" for attribute in policy.epsilon_quasis.values())
        sentences.append(
            "There is no k-quasi: all records "
            + ("with the same values missing form one class." if parts else "form one class.")
        )
    quasis = policy.epsilon_quasis
    if not quasis:
        return "\n".join([*sentences, "There is no epsilon-quasi, so no noise was drawn.", *_kept_columns(policy)])
    if len(quasis) > 1:
        sentences.append(
            f"ε = {written(policy.epsilon)} covers {_listed(quasis)} of a record together: the record is the unit, "
            "not the attribute."
        )
    for name, attribute in quasis.items():
        promise = MECHANISMS[attribute.mechanism].promise
        sentences.append(promise(shown_name(name), attribute, policy))
    in_class = [name for name, attribute in quasis.items() if attribute.missing == "class"]
    if in_class:
        sentences.append(f"Whether {_listed(in_class)} is missing is visible and is part of the class.")
    if policy.confidence is not None:
        sentences.append(_confidence(policy))
    sentences.append(
        "The promise is for one release: fresh releases of the same records add up, and averaging them takes the noise away."
    )
    return "\n".join([*sentences, *_kept_columns(policy)])


def _kept_columns(policy: Policy) -> Iterator[str]:
    """Whom the promise is not about, because other columns are published as they are; and leaks that were accepted."""
    if policy.kept:
        yield (
            f"The promise is about an attacker who uses the quasi-identifiers alone. {_listed(policy.kept)} are published as "
            "they are: whoever knows them of a person, or can work them out from the quasi-identifiers, is not held up by "
            "it."
            if len(policy.kept) > 1
            else f"The promise is about an attacker who uses the quasi-identifiers alone. {_listed(policy.kept)} is published "
            "as it is: whoever knows it of a person, or can work it out from the quasi-identifiers, is not held up by it."
        )
    for name, reason in policy.accepted_leaks.items():
        yield f"{shown_name(name)} is published although it may give people away. The curator's reason: {reason}"


def attacker_in_words(policy: Policy) -> str:
    """Whom the bound on the linking risk in a manifest is about."""
    knows = "knows every true value of the quasi-identifiers, guesses the original of one released record at a time"
    rest = (
        "; for noise as drawn, if confident k had left nobody out of these classes"
        if policy.confidence is not None
        else ""
    )
    return f"an attacker who {knows} and uses no other column{rest}"


def matcher_in_words(quasis: Iterable[str]) -> str:
    """Whom the largest single risk is about, as the subject of a sentence; whoever shows it makes the names visible."""
    known = ", ".join(quasis)
    return f"whoever knows {known} of everybody and matches a whole class one to one, without the help of kept columns,"


def single_risk_in_words(quasis: Iterable[str]) -> str:
    """What the largest single risk says, and of which attacker, in one sentence."""
    return f"The largest single risk is how sure {matcher_in_words(quasis)} can be of any one record, at most."


def _confidence(policy: Policy) -> str:
    """What confident k promises: it counts the originals of the class that could be a published record's own."""
    beyond = {
        "text": "Records that noise moved away from every original of their class were kept.",
        "strict": f"Records that noise moved away from every original of their class were kept where {policy.k} others stay.",
        "suppress_zero": "Records that noise moved away from every original of their class were left out too.",
    }
    return (
        f"Confident k: a record was left out if, at confidence {written(policy.confidence or 0)}, its published "
        f"{_listed(policy.epsilon_quasis)} could be those of fewer than k = {policy.k} records of its class, and then its class if "
        f"fewer than {policy.k} stayed. {beyond[policy.confidence_rule]} "
        "Who was left out depends on the true values of the class: it tells nothing beyond the noise of its records to an "
        "attacker who knows all of them, but may tell something about them to one who does not."
    )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(shown_name, names))


def shown_name(name: str) -> str:
    """A column's name with control characters as escapes: after a line break, the rest would look like another promise."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)
