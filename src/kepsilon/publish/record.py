# SPDX-License-Identifier: Apache-2.0
"""The curator's record: everything known about a release, as JSON. Shares are 0 to 1."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime

from kepsilon.errors import EngineError, Problem
from kepsilon.evaluate.reidentification import reidentification
from kepsilon.evaluate.relative_error import ErrorSums, epsilon_for_error, uniform_equivalent
from kepsilon.evaluate.tally import Expected, Tally
from kepsilon.perturb.mechanisms import mechanism_of
from kepsilon.policy.policy import Policy
from kepsilon.publish.guarantee import range_in_words, statement
from kepsilon.publish.manifest import Json, normalised
from kepsilon.version import __version__

YARDSTICK = 0.05
"""The paper measures errors against uniform noise of ±5 %."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fates:
    """What became of the records that were read; the parts add up."""

    read: int
    released: int
    by_k: int
    by_confidence: int
    missing: int
    unlisted: int

    def __post_init__(self) -> None:
        parts = (self.released, self.by_k, self.by_confidence, self.missing, self.unlisted)
        if min(parts) < 0 or sum(parts) != self.read:
            raise EngineError(
                Problem(
                    where="",
                    what="a bug of ours: what became of the records does not add up to those that were read. Nothing was "
                    "released.",
                    fix="Please report it.",
                )
            )

    @property
    def counted(self) -> int:
        return self.read - self.missing - self.unlisted

    @property
    def entering(self) -> int:
        """Records in a class of at least k, which get noise."""
        return self.counted - self.by_k


def opening(policy: Policy, *, seeded: bool, engine: str) -> Json:
    return {
        "kepsilon_version": __version__,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "policy": normalised(policy),
        "guarantee": {
            "statement": statement(policy),
            "k": policy.k,
            "epsilon": policy.epsilon,
            "confidence": policy.confidence,
            "ranges": {name: range_in_words(attribute) for name, attribute in policy.epsilon_quasis.items()},
        },
        "seeded": seeded,
        "engine": engine,
        "digest": None,
    }


def records_json(fates: Fates) -> Json:
    return {
        "read": fates.read,
        "released": fates.released,
        "suppressed_by_k": fates.by_k,
        "suppressed_by_confidence": fates.by_confidence,
        "suppressed_missing": fates.missing,
        "suppressed_unlisted": fates.unlisted,
    }


def figures(tally: Tally, fates: Fates, policy: Policy) -> Json:
    """Classes, error, risk and confident k, expected and realised."""
    sizes = tally.realised.sizes
    found: Json = {
        "classes": {
            "count": sizes.n_classes,
            "smallest": 0 if sizes.smallest is None else sizes.smallest.size,
            "largest": sizes.largest,
            "mean": round(sizes.n_records / sizes.n_classes, 2),
        },
        "error": _errors(tally, policy),
        "linking_risk": _linking_risk(tally, n_read=fates.read),
        "reidentification": reidentification(sizes),
    }
    if policy.confidence is not None:
        found["confident_k"] = {
            "confidence": policy.confidence,
            "rule": policy.confidence_rule,
            **expected_suppression(tally.expected, n_counted=fates.counted),
            "realised": fates.by_confidence / fates.entering,
            "total_realised": (fates.by_k + fates.by_confidence) / fates.counted,
        }
    return found


def expected_error(sums: ErrorSums, policy: Policy, *, epsilon: float) -> Json:
    """What is known of one ε-quasi's error before any noise is drawn; no mean over fewer than k records is given."""
    relative = sums.relative_of(policy.k)
    # Only where the size of noise goes as 1/ε can be said which ε would do.
    goes_as_inverse = mechanism_of(policy).exponential is not None
    enough = epsilon_for_error(YARDSTICK / 2, error=relative, epsilon=epsilon) if relative and goes_as_inverse else None
    return {
        "expected_relative": relative,
        "range_relative": sums.range_relative,
        "uniform_equivalent": None if relative is None else _finite(uniform_equivalent(relative)),
        "epsilon_for_uniform_5_percent": None if enough is None else _finite(enough),
        "largest_share": None if relative is None else sums.largest_share,
        "zeros_left_out": sums.n_zeros,
    }


def _finite(figure: float) -> float | None:
    """A figure that is no number is no figure."""
    return figure if math.isfinite(figure) else None


def expected_risk(expected: Expected) -> Json:
    """Links per record that gets noise."""
    n, links = expected.n_records, expected.links
    return {
        "expected": links.fair.total / n,
        "expected_paper_ties": links.paper.total / n,
        "standard_error": links.fair.standard_error / n,
        "standard_error_paper_ties": links.paper.standard_error / n,
    }


def expected_suppression(expected: Expected, *, n_counted: int) -> Json:
    """By confidence: of the records that get noise, and with OLA's of all counted records."""
    if expected.suppressed is None:
        raise ValueError("confident k was not asked for")
    n = expected.n_records
    return {
        "expected": expected.suppressed.total / n,
        "expected_standard_error": expected.suppressed.standard_error / n,
        "total_expected": (n_counted - n + expected.suppressed.total) / n_counted,
    }


def _errors(tally: Tally, policy: Policy) -> Json:
    errors = zip(policy.epsilon_quasis, tally.expected.errors, tally.realised.errors, strict=True)
    return {
        name: {
            **expected_error(before, policy, epsilon=policy.epsilon),
            "realised_relative": after.relative_of(policy.k),
            "realised_range_relative": after.relative_to(before.low, before.high),
        }
        for name, before, after in errors
    }


def _linking_risk(tally: Tally, *, n_read: int) -> Json:
    """Expected figures are of the records that get noise, realised ones of the released."""
    links, n = tally.realised.links, tally.realised.sizes.n_records
    return {
        **expected_risk(tally.expected),
        "realised": links.fair / n,
        "realised_paper_ties": links.paper / n,
        "largest": links.largest,
        "over_half": links.n_over_half / n,
        "over_nine_tenths": links.n_over_nine_tenths / n,
        "per_original": {"expected": tally.expected.links.fair.total / n_read, "realised": links.fair / n_read},
    }
