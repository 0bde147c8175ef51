# SPDX-License-Identifier: Apache-2.0
"""The verdict on every quasi and on a release as a whole, the same wherever it is shown.

An attribute is *useless* if one label is left of it, or if what is published is off by at least 0.8 of what the best
constant per class would be off by; *coarser* if ncp, or its error over its spread, is at least 0.1; otherwise *kept*.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kepsilon.evaluate.error.relative_error import ErrorSums
from kepsilon.evaluate.linking.attackers import Headline, names_in_words
from kepsilon.json_values import JsonValue
from kepsilon.policy.guarantee import matching_in_words
from kepsilon.policy.names import shown_name
from kepsilon.policy.policy import Policy
from kepsilon.policy.roles import written
from kepsilon.rounding import percent, percent_above, percent_at_most, told_apart

KEPT, COARSER, USELESS = "kept", "coarser", "useless"
"""The verdicts on an attribute, the best first."""
NOT_KEPT = "not kept"
"""What the promise of a seeded release is; any other release keeps it."""
WITHIN, ABOVE, NO_LIMIT = "within", "above", "no limit"
"""What the risk of a release is, held against `max_risk`."""

AS_BAD_AS_A_CONSTANT = 0.8
"""Values are useless from this share of the error of the best constant per class on."""
NOTICEABLE = 0.1
"""An attribute is coarser from this ncp, or this error over its spread, on."""
_DIGITS = 9
"""Digits of a figure that count, so that engines that add up in another order come to the same verdict and words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeVerdict(JsonValue):
    """What is left of one quasi."""

    role: str
    """`k-quasi` or `epsilon-quasi`."""
    verdict: str
    """`kept`, `coarser` or `useless`."""
    reason: str
    """Why, in words and in the units of the attribute."""
    share: float | None
    """ncp, or the expected error over the spread; None where there is no spread."""
    accepted: str | None = None
    """The curator's reason for publishing it although it is useless, where the policy states one."""

    @property
    def is_refused(self) -> bool:
        """Whether a release with it is refused: it is useless, and the policy gives no reason to publish it."""
        return self.verdict == USELESS and self.accepted is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark(JsonValue):
    """One of three marks on a release."""

    state: str
    """The mark in a word or two."""
    sentence: str
    """What it says, with its figures; one sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseVerdict(JsonValue):
    """The verdict on a release, in three marks."""

    promise: Mark
    """What k and ε hide, and from whom; `kept`, or `not kept` where the draws can be repeated with a seed."""
    risk: Mark
    """The headline and the largest single risk; `within` or `above` the policy's `max_risk`, or `no limit`."""
    usefulness: Mark
    """The worst verdict on an attribute."""


def share_of_spread(errors: ErrorSums, spread: float | None) -> float | None:
    """The expected error over the spread: 0 for what is published as it is, None where it is undefined."""
    if errors.n_values and errors.distance_sum == 0:
        return 0.0
    distance = errors.mean_distance
    return distance / spread if distance is not None and spread else None


def verdict_on_labels(
    *, ncp: float, n_labels: int, n_values: int, leaves_out: bool, accepted: str | None
) -> AttributeVerdict:
    """The verdict on a k-quasi with `n_labels` distinct labels in classes, of `n_values` distinct values in the data.

    A column that had one value before has lost nothing. `leaves_out` says that some records are left out for k.
    """
    counted = ", where a record that is left out counts as all of it" if leaves_out else ""
    verdict = COARSER if round(ncp, _DIGITS) >= NOTICEABLE else KEPT
    reason = f"labels leave {percent(ncp)} of what occurs open{counted}" if ncp > 0 else "published as it is"
    if n_labels < 2 <= n_values:
        verdict, reason = USELESS, f"one label is left of {n_values:,} values"
    return AttributeVerdict(role="k-quasi", verdict=verdict, reason=reason, share=ncp, accepted=accepted)


def verdict_on_values(
    *, error: float | None, of_constant: float | None, share: float | None, accepted: str | None
) -> AttributeVerdict:
    """The verdict on an ε-quasi, from its mean error, that of the best constant per class, and its error over its spread.

    Errors are None where no record holds a value: then nothing is lost. A column that is published as it is has no error
    and is kept, also where all classes are constant; one that held a single value and is changed is useless.
    """
    if error is None or of_constant is None:
        verdict, reason = KEPT, "no record holds a value"
    elif error == 0:
        verdict, reason = KEPT, "published as it is"
    else:
        off, constant = told_apart(float(f"{error:.{_DIGITS}g}"), float(f"{of_constant:.{_DIGITS}g}"))
        reason = f"off by {off} on average; a constant per class would be off by {constant}"
        verdict = KEPT
        if is_as_bad_as_a_constant(error, of_constant):
            verdict = USELESS
        elif share is not None and round(share, _DIGITS) >= NOTICEABLE:
            verdict = COARSER
    return AttributeVerdict(role="epsilon-quasi", verdict=verdict, reason=reason, share=share, accepted=accepted)


def is_as_bad_as_a_constant(error: float, of_constant: float) -> bool:
    """Whether an error above 0 is at least 0.8 of that of the best constant per class."""
    return of_constant == 0 or round(error / of_constant, _DIGITS) >= AS_BAD_AS_A_CONSTANT


def usefulness_of(verdicts: Mapping[str, AttributeVerdict]) -> Mark:
    """The worst verdict on an attribute, and which attributes have it."""
    by_verdict = {
        own: [shown_name(name) for name, found in verdicts.items() if found.verdict == own]
        for own in (COARSER, USELESS)
    }
    n, coarser, useless = len(verdicts), by_verdict[COARSER], by_verdict[USELESS]
    if not coarser and not useless:
        return Mark(state=KEPT, sentence=f"{_all(n)} kept: none is coarser, and none is useless.")
    parts = []
    if useless:
        accepted = [name for name, own in verdicts.items() if own.verdict == USELESS and own.accepted is not None]
        said = ", which the policy accepts" if len(accepted) == len(useless) else ""
        parts.append(f"{_some(useless, n)} useless: {names_in_words(useless)}{said}")
    if coarser:
        parts.append(f"{_some(coarser, n)} coarser: {names_in_words(coarser)}")
    parts.append("none is useless" if not useless else "" if coarser else "none is coarser")
    return Mark(state=USELESS if useless else COARSER, sentence="; ".join(filter(None, parts)) + ".")


def _all(n: int) -> str:
    return "The only attribute is" if n == 1 else f"All {n} attributes are"


def _some(names: Sequence[str], n: int) -> str:
    if n == 1:
        return "The only attribute is"
    return f"{len(names)} of {n} attributes {'is' if len(names) == 1 else 'are'}"


def risk_of(headline: Headline, *, largest: float, policy: Policy) -> Mark:
    """The headline with its attacker against `max_risk`, and how sure an attacker can be of any one record."""
    limit, share = policy.max_risk, percent(headline.risk.total)
    if limit is None:
        state, held = NO_LIMIT, "no limit stated"
    elif headline.risk.at_most <= limit:
        state, held = WITHIN, f"within max_risk = {written(limit)}"
    else:
        share = percent_above(headline.risk.total, limit)
        state, held = ABOVE, f"above max_risk = {written(limit)}"
    who = headline.attacker[:1].upper() + headline.attacker[1:]
    return Mark(
        state=state,
        sentence=f"{who}, links {share} of the records on average ({held}); {_surest(policy)} is at "
        f"most {percent_at_most(largest)} sure of any one record.",
    )


def _surest(policy: Policy) -> str:
    """Whom the largest single risk is about."""
    does = matching_in_words(averaged=policy.averages is not None, noisy=bool(policy.epsilon_quasis))
    return f"whoever knows the quasis of everybody, uses no kept column and {does}"


def promise_of(policy: Policy, *, fewest: int, smallest_group: int | None) -> Mark:
    """What k and ε hide. `fewest` is the size of the smallest class, in persons where the policy says what a person is.

    `smallest_group` is that of the averaged groups, None where nothing is averaged.
    """
    counted = "records" if policy.person is None else "persons"
    if policy.k_quasis:
        known = names_in_words([shown_name(name) for name in policy.k_quasis])
        first = f"Whoever knows {known} of a person finds at least {fewest:,} {counted} that fit (k = {policy.k})"
    else:
        first = f"Every class holds at least {fewest:,} {counted} (k = {policy.k})"
    return Mark(state=KEPT, sentence=f"{first}{_of_values(policy, smallest_group)}.")


def seeded_promise(promise: Mark) -> Mark:
    """The promise of a release whose draws can be repeated."""
    return Mark(
        state=NOT_KEPT,
        sentence=f"To whoever knows or guesses the seed, which repeats every draw, this does not hold: {promise.sentence}",
    )


def _of_values(policy: Policy, smallest_group: int | None) -> str:
    """What hides the values of ε-quasis, as the end of a sentence."""
    if not policy.epsilon_quasis:
        return ""
    names = names_in_words([shown_name(name) for name in policy.epsilon_quasis])
    verb = "is" if len(policy.epsilon_quasis) == 1 else "are"
    noise = f"noise with ε = {written(policy.stated_epsilon)}"
    if policy.person is not None and policy.epsilon_per is not None:
        noise += " for all records of a person" if policy.epsilon_per == "person" else " for each record"
    if smallest_group is None:
        return f", and {names} {verb} published with {noise} inside the class"
    counted = "records" if policy.person is None else "persons"
    averages = f", and {names} {verb} published as {'an average' if verb == 'is' else 'averages'} of at least "
    return f"{averages}{smallest_group:,} {counted}{f' with {noise}' if policy.draws_noise else ''}"
