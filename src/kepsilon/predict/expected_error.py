# SPDX-License-Identifier: Apache-2.0
"""The expected error of an ε-quasi as a prediction states it, and the distortion of all quasis."""

from __future__ import annotations

import math
from collections.abc import Sequence

from kepsilon.evaluate.error.relative_error import ErrorSums, epsilon_for_error, uniform_equivalent
from kepsilon.perturb.mechanisms import mechanism_of
from kepsilon.policy.policy import Policy
from kepsilon.predict.prediction import ExpectedError

YARDSTICK = 0.05
"""The paper measures errors against uniform noise of ±5 %."""


def goes_as_inverse(policy: Policy, name: str, *, n_clipped: int) -> bool:
    """Whether the expected error of an ε-quasi is proportional to 1/ε: values are neither clipped, averaged nor clamped."""
    is_noise_alone = policy.epsilon_quasis[name].domain is None and not n_clipped and policy.averages is None
    return is_noise_alone and mechanism_of(policy).exponential is not None


def expected_error_of(
    sums: ErrorSums, policy: Policy, *, epsilon: float, is_noise_alone: bool, share: float | None
) -> ExpectedError:
    """The expected error of one ε-quasi, and the ε that would make it that of uniform noise of ±5 %.

    `is_noise_alone` is what `goes_as_inverse` says of it; `share` is the error over the spread.
    """
    relative = sums.relative_of(policy.k)
    # Which ε would do is known only where the error is proportional to 1/ε.
    enough = epsilon_for_error(YARDSTICK / 2, error=relative, epsilon=epsilon) if relative and is_noise_alone else None
    return ExpectedError(
        expected_relative=relative,
        range_relative=sums.range_relative,
        uniform_equivalent=None if relative is None else _finite(uniform_equivalent(relative)),
        epsilon_for_uniform_5_percent=None if enough is None else _finite(enough),
        largest_share=None if relative is None else sums.largest_share,
        zeros_left_out=sums.n_zeros,
        share_of_spread=share,
        median_relative=sums.median_relative_of(policy.k),
    )


def _finite(figure: float) -> float | None:
    """The figure, or None if it is infinite or no number."""
    return figure if math.isfinite(figure) else None


def distortion_of(losses: Sequence[float], shares: Sequence[float | None]) -> float | None:
    """Mean over all quasis of ncp and of error over spread; None where one is undefined."""
    defined = [share for share in shares if share is not None]
    if len(defined) < len(shares):
        return None
    figures = [*losses, *defined]
    return sum(figures) / len(figures) if figures else 0.0
