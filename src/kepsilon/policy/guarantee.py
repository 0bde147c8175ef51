# SPDX-License-Identifier: Apache-2.0
"""The statement of what a release promises, worded so that it is true for the chosen ranges.

It is a function of the policy alone, and both who makes a release and who audits it use this one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from kepsilon.policy.averaged_promise import averages_in_words
from kepsilon.policy.choices import MECHANISMS
from kepsilon.policy.names import listed_names as _listed
from kepsilon.policy.names import shown_name
from kepsilon.policy.policy import Policy
from kepsilon.policy.roles import CoarseSpecification, EpsilonQuasi, Kept, written


def range_in_words(attribute: EpsilonQuasi) -> str:
    """The range of an ε-quasi, as the manifest names it."""
    if attribute.range is None or attribute.range == "class":
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
            f"Every combination of published values of {_listed(policy.k_quasis)} occurs {_often(policy)}."
        )
    else:
        parts = any(attribute.missing == "class" for attribute in policy.epsilon_quasis.values())
        sentences.append(
            "There is no k-quasi: all records "
            + ("with the same values missing form one class." if parts else "form one class.")
        )
        if policy.person is not None:
            sentences[-1] += f" Every class holds records of at least {policy.k} persons."
    sentences += _sensitive_values(policy)
    quasis = policy.epsilon_quasis
    if not quasis:
        return "\n".join([*sentences, "There is no epsilon-quasi, so no noise was drawn.", *_kept_columns(policy)])
    if policy.averages is not None:
        return "\n".join([*sentences, *averages_in_words(policy, policy.averages), *_kept_columns(policy)])
    if len(quasis) > 1:
        sentences.append(
            f"ε = {written(policy.stated_epsilon)} covers {_listed(quasis)} of a record together: the record is the unit, "
            "not the attribute."
        )
    if policy.person is not None:
        sentences.append(_epsilon_of_a_person(policy))
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


def _often(policy: Policy) -> str:
    """How often every published combination occurs."""
    if policy.person is None:
        return f"at least {policy.k} times"
    return f"in records of at least {policy.k} different persons, told apart by {shown_name(policy.person)}"


def _epsilon_of_a_person(policy: Policy) -> str:
    """What ε covers where a person may have several records."""
    epsilon, most = written(policy.stated_epsilon), policy.max_records_per_person
    if policy.epsilon_per == "record":
        capped = f" A person has at most {most:,} records here." if most is not None else ""
        return (
            f"ε = {epsilon} is for one record. The noise of each record is drawn by itself, so that a person of r records "
            "spends r·ε: an attacker who knows which records are one person's can average them, and the noise of the mean "
            f"is smaller by about √r.{capped}"
        )
    if most is None:
        return (
            f"ε = {epsilon} covers a person, with however many records: all of them carry one draw, so that averaging them "
            "gains nothing. Equal noisy values show an attacker which records are one person's, and so in which classes "
            "that person is."
        )
    share = written(float(policy.record_epsilon))
    return (
        f"ε = {epsilon} covers a person: at most {most:,} records of each are here, and each spends ε/{most} = {share}."
        if most > 1
        else f"ε = {epsilon} covers a person: one record of each, at most, is here."
    )


def _sensitive_values(policy: Policy) -> Iterator[str]:
    """What every class promises about the values of sensitive columns, to an attacker who knows a person's class."""
    whole = "class" if policy.averages is None else "class, and in every group of it that is averaged,"
    holds = "class" if policy.averages is None else "class, and every group of it that is averaged,"
    for name, attribute in policy.attributes.items():
        if not isinstance(attribute, Kept):
            continue
        shown, asked = shown_name(name), attribute.l_diversity
        if asked is not None and asked.distinct is not None:
            yield f"Every {holds} holds at least {asked.distinct:,} distinct values of {shown}."
        if asked is not None and asked.entropy is not None:
            yield (
                f"In every {whole} the values of {shown} are mixed at least as evenly as {written(asked.entropy)} equally "
                "frequent ones (entropy)."
            )
        if asked is not None and asked.recursive is not None:
            factor, place = asked.recursive
            yield (
                f"In every {whole} the most frequent value of {shown} is rarer than {written(factor)} times all values "
                f"together from the one that is number {place} by frequency on."
            )
        if attribute.t_closeness is not None:
            yield (
                f"In every {whole} the values of {shown} are at most {written(attribute.t_closeness)} away from those of all "
                "records that were counted (earth mover's distance)."
            )


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
    guesses = "guesses the original of" if policy.person is None else "names the person behind"
    knows = f"knows every true value of the quasi-identifiers, {guesses} one released record at a time"
    if policy.averages is not None:
        knows = f"knows every true value of the quasi-identifiers, makes the same groups, {guesses} one released record at a time"
    rest = (
        "; for noise as drawn, if confident k had left nobody out of these classes"
        if policy.confidence is not None
        else ""
    )
    joins = ", and does not join records with equal noisy values" if policy.draws_once_per_person else ""
    return f"an attacker who {knows} and uses no other column{joins}{rest}"


def matching_in_words(*, averaged: bool, noisy: bool) -> str:
    """What the attacker of the largest single risk does.

    Records of a group publish one average, and without noise records of a class publish the same: there is nothing to match.
    """
    if averaged:
        return "makes the same groups"
    return "matches a whole class one to one" if noisy else "guesses within the class"


def matcher_in_words(quasis: Iterable[str], *, averaged: bool = False, noisy: bool = True) -> str:
    """Whom the largest single risk is about, as the subject of a sentence; whoever shows it makes the names visible."""
    return _who_knows(quasis, matching_in_words(averaged=averaged, noisy=noisy))


def single_risk_in_words(quasis: Iterable[str], *, noisy: bool = True, averaged: Collection[bool] = (False,)) -> str:
    """What the largest single risk says, and of which attacker, in one sentence.

    `averaged` says of all settings that the sentence is about whether averages are published.
    """
    does = " or, with averages, ".join(matching_in_words(averaged=own, noisy=noisy) for own in sorted(set(averaged)))
    return f"The largest single risk is how sure {_who_knows(quasis, does)} can be of any one record, at most."


def _who_knows(quasis: Iterable[str], does: str) -> str:
    return f"whoever knows {', '.join(quasis)} of everybody and {does}, without the help of kept columns,"


def _confidence(policy: Policy) -> str:
    """What confident k promises: it counts the originals of the class that could be a published record's own."""
    beyond = {
        "text": "Records that noise moved away from every original of their class were kept.",
        "strict": f"Records that noise moved away from every original of their class were kept where {policy.k} others stay.",
        "suppress_zero": "Records that noise moved away from every original of their class were left out too.",
    }
    counted = "records" if policy.person is None else "persons"
    others = ", or if what stayed kept another promise about classes no more" if policy.diverse else ""
    return (
        f"Confident k: a record was left out if, at confidence {written(policy.confidence or 0)}, its published "
        f"{_listed(policy.epsilon_quasis)} could be those of fewer than k = {policy.k} {counted} of its class, and then its "
        f"class if fewer than {policy.k} {counted} stayed{others}. {beyond[policy.confidence_rule]} "
        "Who was left out depends on the true values of the class: it tells nothing beyond the noise of its records to an "
        "attacker who knows all of them, but may tell something about them to one who does not."
    )
