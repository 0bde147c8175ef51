# SPDX-License-Identifier: Apache-2.0
"""Says which attributes would be useless in a release, why, and what would leave more of them."""

from __future__ import annotations

import math
from collections.abc import Iterator

from kepsilon.errors import Problem
from kepsilon.evaluate.error.relative_error import epsilon_for_error
from kepsilon.policy.choices import ALGORITHMS
from kepsilon.policy.exact_bounds import LARGEST_EPSILON
from kepsilon.policy.names import shown_name
from kepsilon.policy.policy import Policy
from kepsilon.predict.expected_error import goes_as_inverse
from kepsilon.predict.individual_risk import three_digits, three_digits_up_to
from kepsilon.predict.prediction import Prediction
from kepsilon.predict.verdicts import AS_BAD_AS_A_CONSTANT


def useless_attributes(prediction: Prediction, policy: Policy) -> Iterator[Problem]:
    """A problem for each useless attribute whose publication the policy does not accept."""
    for name, own in prediction.verdicts.items():
        if own.is_refused:
            changes = _for_labels(policy) if name in policy.k_quasis else _for_values(prediction, name, policy)
            ways = [
                *changes,
                'to drop it (role = "identifier")',
                f'accept_useless = "reason" at attributes.{name}, which the manifest and the report print',
            ]
            yield Problem(
                where=f"attributes.{name}",
                what=f"{shown_name(name)} would be useless: {own.reason}. Nothing was released.",
                fix=f"What would work, or may: {'; or '.join(ways)}.",
            )


def _for_labels(policy: Policy) -> Iterator[str]:
    """What would leave more than one label of a k-quasi."""
    yield "a smaller k"
    if ALGORITHMS[policy.algorithm].has_levels:
        yield 'algorithm = "local-recoding", which mostly loses less'
    if len(policy.k_quasis) > 1:
        yield "a larger importance, or fewer other k-quasis"


def _for_values(prediction: Prediction, name: str, policy: Policy) -> Iterator[str]:
    """What would make the values of an ε-quasi tell more than their class does."""
    if policy.averages is not None:
        yield "smaller groups"
    if policy.draws_noise:
        enough = _enough_epsilon(prediction, name, policy)
        yield "a larger epsilon" if enough is None else f"epsilon = {enough:g} or more"
        if policy.averages is None:
            yield "averages of near neighbours ([averages])"
        if policy.epsilon_quasis[name].range_kind != "class":
            yield "a narrower range"
    yield "a smaller k"
    yield 'role = "k-quasi"'


def _enough_epsilon(prediction: Prediction, name: str, policy: Policy) -> float | None:
    """The smallest ε of three digits at which the ε-quasi is not useless on these classes; None where it is not known."""
    found = prediction.survives[name]
    error, of_constant = found.error.expected, found.error_of_best_constant.absolute
    if not error or not of_constant or not goes_as_inverse(policy, name, n_clipped=prediction.clipped.get(name, 0)):
        return None
    needed = epsilon_for_error(AS_BAD_AS_A_CONSTANT * of_constant, error=error, epsilon=float(policy.stated_epsilon))
    if not math.isfinite(needed) or needed >= LARGEST_EPSILON:
        return None
    # The next one but for rounding: an error of exactly 0.8 would still be useless.
    enough = three_digits(three_digits_up_to(needed * (1 + 1e-8)) + 1)
    return enough if enough <= LARGEST_EPSILON else None
