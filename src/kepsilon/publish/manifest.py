# SPDX-License-Identifier: Apache-2.0
"""The public manifest, made from the curator's record by naming what may be told without endangering a record."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from kepsilon.json_values import FrozenMapping, Json, JsonMapping, JsonValue, left_out_if_none
from kepsilon.predict.prediction import AttributeLosses, ClassSummary, Losses
from kepsilon.publish.policy_document import PolicyDocument
from kepsilon.publish.record import ConfidentSuppression, ErrorOfNoise, Fates, Guarantee, LinkingRisk, Record

MOST_OF_ONE_RECORD = 0.02
"""Largest share that one record may have in a mean that is published to two digits. Rounding leaves at least half a per
cent of the mean open, which is a quarter of such a record's share."""

CURATORS_POLICY_KEYS = ("path", "levels")
"""Keys of a hierarchy that are not made public: the path of its file, and lists that may be copied from the data."""

Number = TypeVar("Number", int, float)


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicError(JsonValue):
    """The expected error of one ε-quasi, to two digits."""

    expected_relative: float | None
    range_relative: float | None
    has_dominant_record: bool
    """Whether one record's share of the mean is so large that its value could be solved for; the mean is then left out."""

    def to_json(self) -> Json:
        told = {} if self.has_dominant_record else {"expected_relative": self.expected_relative}
        return {**told, "range_relative": self.range_relative}


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicSuppression(JsonValue):
    """Shares of records that confident k was expected to leave out, to two digits."""

    expected: float
    total_expected: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicLinksPerOriginal(JsonValue):
    """Expected right links per record that was read, to two digits."""

    expected: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicRisk(JsonValue):
    """Expected right links per record that gets noise, to two digits."""

    expected: float
    expected_paper_ties: float
    per_original: PublicLinksPerOriginal


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest(JsonMapping):
    """What may be given away with a release.

    Its figures were known before any noise was drawn. A realised figure depends on which original each released record
    was, and can betray it.
    """

    kepsilon_version: str
    created: str
    policy: PolicyDocument
    guarantee: Guarantee
    seeded: bool
    engine: str
    digest: str | None
    """Digest of the file that was written; None before it is written."""
    records: Fates
    classes: ClassSummary
    levels: Mapping[str, int] | None = field(metadata=left_out_if_none())
    loss: Losses
    error: Mapping[str, PublicError] | None = field(metadata=left_out_if_none())
    """Error by ε-quasi, of those with the range of the class; None if there are none."""
    confident_k: PublicSuppression | None = field(metadata=left_out_if_none())
    linking_risk: PublicRisk | None = field(metadata=left_out_if_none())

    def __post_init__(self) -> None:
        for name in ("levels", "error"):
            own = getattr(self, name)
            if own is not None:
                object.__setattr__(self, name, FrozenMapping(own))


def manifest_of(record: Record) -> Manifest:
    """The part of the curator's record that may be given away with the release, named field by field.

    Declared bounds promise that nothing exact about a record's value is told, and their width is public: a mean error
    could be solved for the smallest value, or for one that was clipped. So error, risk and the number of clipped values
    are left out, and likewise error and risk of coarse ranges.
    Figures that were computed from all records, the suppressed ones included, are rounded to two digits: from an exact
    figure, whoever knows every value but one could solve for that one.
    """
    attributes = record.policy.attributes
    in_class = {name: error for name, error in record.error.items() if attributes[name].get("range") == "class"}
    all_in_class = len(in_class) == len(record.error) > 0
    return Manifest(
        kepsilon_version=record.kepsilon_version,
        created=record.created,
        policy=record.policy.without_in_hierarchies(CURATORS_POLICY_KEYS),
        guarantee=record.guarantee,
        seeded=record.seeded,
        engine=record.engine,
        digest=record.digest,
        records=record.records,
        classes=record.classes,
        levels=record.levels,
        loss=_public_loss(record.loss),
        error={name: _public_error(error) for name, error in in_class.items()} or None,
        confident_k=_public_suppression(record.confident_k) if all_in_class and record.confident_k else None,
        linking_risk=_public_risk(record.linking_risk) if all_in_class else None,
    )


def _public_loss(loss: Losses) -> Losses:
    return Losses(
        dm_star=_rounded(loss.dm_star),
        precision=AttributeLosses(
            by_attribute={name: _rounded(own) for name, own in loss.precision.by_attribute.items()},
            overall=_rounded(loss.precision.overall),
        ),
    )


def _public_error(error: ErrorOfNoise) -> PublicError:
    """The expected error of one ε-quasi without what one record dominates.

    The mean is of E|Z|/|v|, so a value v next to 0 can dominate it; rounding would not hide that value.
    """
    relative, over_range = error.predicted.expected_relative, error.predicted.range_relative
    is_dominated = (error.predicted.largest_share or 0.0) > MOST_OF_ONE_RECORD
    return PublicError(
        expected_relative=None if relative is None or is_dominated else _rounded(relative),
        range_relative=None if over_range is None else _rounded(over_range),
        has_dominant_record=is_dominated,
    )


def _public_suppression(confident: ConfidentSuppression) -> PublicSuppression:
    return PublicSuppression(
        expected=_rounded(confident.predicted.of_entering.total),
        total_expected=_rounded(confident.predicted.total_expected),
    )


def _public_risk(risk: LinkingRisk) -> PublicRisk:
    return PublicRisk(
        expected=_rounded(risk.predicted.fair.total),
        expected_paper_ties=_rounded(risk.predicted.paper_ties.total),
        per_original=PublicLinksPerOriginal(expected=_rounded(risk.per_original.expected)),
    )


def _rounded(figure: Number) -> Number:
    """The figure rounded to two significant digits."""
    return round(figure, 1 - math.floor(math.log10(abs(figure)))) if figure else figure
