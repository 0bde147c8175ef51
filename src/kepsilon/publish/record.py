# SPDX-License-Identifier: Apache-2.0
"""The curator's record: everything known about a release, expected and realised. Shares are between 0 and 1."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from kepsilon.errors import EngineError, Problem
from kepsilon.evaluate.group_sums import GroupSums
from kepsilon.evaluate.homogeneity import Homogeneity
from kepsilon.evaluate.linking.attackers import Attacker, risk_in_words
from kepsilon.evaluate.linking.reidentification import ClassSizes, Reidentification, reidentification
from kepsilon.evaluate.survival.figures import Survival
from kepsilon.evaluate.survival.words import survival_in_words
from kepsilon.evaluate.tally import Tally
from kepsilon.json_values import FrozenMapping, JsonMapping, JsonValue, inline, left_out_if_none
from kepsilon.policy.guarantee import range_in_words, statement
from kepsilon.policy.policy import Policy
from kepsilon.predict.group_summary import GroupSummary
from kepsilon.predict.kept_columns import KeptColumn
from kepsilon.predict.prediction import (
    ClassSummary,
    ExpectedError,
    ExpectedRisk,
    ExpectedSuppression,
    Losses,
    OutlierRecovery,
    Persons,
    Prediction,
    SmallNoise,
)
from kepsilon.predict.verdicts import AttributeVerdict, ReleaseVerdict, promise_of, seeded_promise
from kepsilon.publish.policy_document import PolicyDocument
from kepsilon.version import __version__


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarantee(JsonValue):
    """What a release promises: a statement with one promise a line, and the numbers in it."""

    statement: str
    k: int
    epsilon: float | None
    """None where nothing is drawn with it."""
    confidence: float | None
    ranges: Mapping[str, str]
    """By ε-quasi: the range that the size of the noise follows, in words."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "ranges", FrozenMapping(self.ranges))

    @classmethod
    def of(cls, policy: Policy) -> Guarantee:
        return cls(
            statement=statement(policy),
            k=policy.k,
            epsilon=policy.epsilon if policy.draws_noise else None,
            confidence=policy.confidence,
            ranges={name: range_in_words(attribute) for name, attribute in policy.epsilon_quasis.items()}
            if policy.draws_noise
            else {},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Fates(JsonValue):
    """Numbers of records by what became of them; released and suppressed ones add up to those read."""

    read: int
    released: int
    suppressed_by_k: int
    suppressed_by_confidence: int
    suppressed_missing: int
    suppressed_unlisted: int
    suppressed_by_cap: int = 0

    def __post_init__(self) -> None:
        left_out = (self.suppressed_by_k, self.suppressed_by_confidence, self.left_before)
        before = (self.suppressed_missing, self.suppressed_unlisted, self.suppressed_by_cap)
        parts = (self.released, *before, *left_out)
        if min(parts) < 0 or self.released + sum(left_out) != self.read:
            raise EngineError(
                Problem(
                    where="",
                    what="a bug of ours: what became of the records does not add up to those that were read. Nothing was "
                    "released.",
                    fix="Please report it.",
                )
            )

    @property
    def left_before(self) -> int:
        """Number of records with a value missing or unlisted, or above the cap per person: they are never counted."""
        return self.suppressed_missing + self.suppressed_unlisted + self.suppressed_by_cap

    @property
    def counted(self) -> int:
        return self.read - self.left_before

    @property
    def entering(self) -> int:
        """Number of records in classes of at least k records; these get noise."""
        return self.counted - self.suppressed_by_k


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorOfNoise(JsonValue):
    """The error of one ε-quasi; a mean over fewer than k records is None."""

    predicted: ExpectedError = field(metadata=inline())
    realised_relative: float | None
    realised_range_relative: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LinksPerOriginal(JsonValue):
    """Right links per record that was read."""

    expected: float
    realised: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkingRisk(JsonValue):
    """Right links: expected ones per record that gets noise, realised ones per released record."""

    predicted: ExpectedRisk = field(metadata=inline())
    realised: float
    realised_paper_ties: float
    largest: float
    """Largest probability that a released record is linked rightly, given its published values."""
    over_half: float
    over_nine_tenths: float
    per_original: LinksPerOriginal


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidentSuppression(JsonValue):
    """What confident k left out, and what it was expected to leave out."""

    confidence: float
    rule: str
    predicted: ExpectedSuppression = field(metadata=inline())
    realised: float
    """Share of the records that got noise."""
    total_realised: float
    """Records left out for k or for confidence, as a share of the counted records."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record(JsonMapping):
    """Everything known about a release: for the curator only."""

    kepsilon_version: str
    created: str
    policy: PolicyDocument
    guarantee: Guarantee
    seeded: bool
    engine: str
    digest: str | None
    """Digest of the file that was written; None before it is written."""
    records: Fates
    clipped: Mapping[str, int]
    """By ε-quasi: number of values outside declared bounds."""
    constant_classes: Mapping[str, int]
    """By ε-quasi: number of classes whose records all agree, so that their value is published without noise."""
    small_noise: Mapping[str, SmallNoise]
    """By ε-quasi: classes whose noise is small beside the precision."""
    outliers: Mapping[str, OutlierRecovery]
    """By ε-quasi: how well extreme records could be worked out; those with declared bounds are not in it."""
    verdict: ReleaseVerdict
    """On the release as a whole: promise, risk and usefulness."""
    verdicts: Mapping[str, AttributeVerdict]
    """By quasi: what is left of it, as expected before noise was drawn."""
    levels: Mapping[str, int] | None = field(metadata=left_out_if_none())
    """Level by k-quasi; None for an algorithm without one level for a whole column."""
    loss: Losses
    classes: ClassSummary
    """The released classes."""
    error: Mapping[str, ErrorOfNoise]
    """Error by ε-quasi."""
    survives: Mapping[str, Survival] = field(default_factory=dict)
    """By ε-quasi: which statistics are what they were, and may be used."""
    linking_risk: LinkingRisk
    attackers: tuple[Attacker, ...]
    """Who could link how many records, those who know least first."""
    kept_columns: Mapping[str, KeptColumn]
    """What each kept column tells about the quasis."""
    homogeneity: Mapping[str, Homogeneity] = field(default_factory=dict)
    """By sensitive column: how far classes agree on a value, before confident k."""
    persons: Persons | None = field(default=None, metadata=left_out_if_none())
    """None where the policy names no column that says whom a record is about."""
    groups: GroupSummary | None = field(default=None, metadata=left_out_if_none())
    """The groups whose averages are published; None where there are none."""
    reidentification: Reidentification
    confident_k: ConfidentSuppression | None = field(metadata=left_out_if_none())
    """None if the policy states no confidence."""
    seconds: Mapping[str, float]
    """Seconds that each step took."""

    def __post_init__(self) -> None:
        for name in (
            "verdicts", "clipped", "constant_classes", "small_noise", "outliers", "levels", "error", "survives", "kept_columns",
            "homogeneity", "seconds",
        ):  # fmt: skip
            own = getattr(self, name)
            if own is not None:
                object.__setattr__(self, name, FrozenMapping(own))

    @property
    def survival_in_words(self) -> str | None:
        """Which statistics of the ε-quasis an analyst may use, and which not; None where there are none."""
        return survival_in_words(self.survives)

    @property
    def risk_in_words(self) -> str:
        """Who was expected to link how many records, of those who need to know nothing but the quasis."""
        return risk_in_words(self.attackers)


def record_of(
    prediction: Prediction,
    tally: Tally,
    policy: Policy,
    *,
    attackers: Sequence[Attacker],
    groups: GroupSums | None,
    survives: Mapping[str, Survival],
    seeded: bool,
    engine: str,
    seconds: Mapping[str, float],
) -> Record:
    """The record of a release, from what was predicted and what was drawn.

    `attackers` are those of the prediction, with what those who know kept columns linked in the release.
    """
    before, after = prediction.records, tally.realised
    fates = Fates(
        read=before.read,
        released=after.sizes.n_records,
        suppressed_by_k=before.suppressed_by_k,
        suppressed_by_confidence=tally.expected.n_records - after.sizes.n_records,
        suppressed_missing=before.suppressed_missing,
        suppressed_unlisted=before.suppressed_unlisted,
        suppressed_by_cap=before.suppressed_by_cap,
    )
    return Record(
        kepsilon_version=__version__,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        policy=PolicyDocument.of(policy),
        guarantee=Guarantee.of(policy),
        seeded=seeded,
        engine=engine,
        digest=None,
        records=fates,
        clipped=prediction.clipped,
        constant_classes=prediction.constant_classes,
        small_noise=prediction.small_noise,
        outliers=prediction.outliers,
        verdict=_verdict(prediction, tally, policy, is_seeded=seeded),
        verdicts=prediction.verdicts,
        levels=prediction.levels,
        loss=prediction.loss,
        classes=_classes(after.sizes),
        error=_errors(prediction, tally),
        survives=survives,
        linking_risk=_linking_risk(prediction, tally),
        attackers=tuple(_attackers(attackers, tally)),
        kept_columns=prediction.kept_columns,
        homogeneity=prediction.homogeneity,
        persons=_persons(prediction, tally),
        groups=None if groups is None else GroupSummary.of(groups, policy),
        reidentification=reidentification(after.sizes, after.persons),
        confident_k=_confident_k(prediction, fates, policy),
        seconds=seconds,
    )


def _verdict(prediction: Prediction, tally: Tally, policy: Policy, *, is_seeded: bool) -> ReleaseVerdict:
    """The verdict of the prediction; after confident k the promise is that of the classes that are left."""
    promise = prediction.verdict.promise
    if policy.confidence is not None:
        persons = _persons(prediction, tally)
        fewest = _classes(tally.realised.sizes).smallest if persons is None else persons.fewest_in_a_class
        promise = promise_of(policy, fewest=fewest, smallest_group=None)
    return replace(prediction.verdict, promise=seeded_promise(promise) if is_seeded else promise)


def _persons(prediction: Prediction, tally: Tally) -> Persons | None:
    """The persons of the prediction, with the fewest of a released class, which confident k may have made fewer."""
    released = tally.realised.persons
    if prediction.persons is None or released is None or released.fewest is None:
        return prediction.persons
    return replace(prediction.persons, fewest_in_a_class=released.fewest)


def _classes(sizes: ClassSizes) -> ClassSummary:
    return ClassSummary(
        count=sizes.n_classes,
        smallest=0 if sizes.smallest is None else sizes.smallest.size,
        largest=sizes.largest,
        mean=round(sizes.n_records / sizes.n_classes, 2),
    )


def _errors(prediction: Prediction, tally: Tally) -> dict[str, ErrorOfNoise]:
    """Errors by ε-quasi; realised ones are relative to the range of all records that got noise, as expected ones are."""
    pairs = zip(prediction.error.items(), tally.expected.errors, tally.realised.errors, strict=True)
    return {
        name: ErrorOfNoise(
            predicted=predicted,
            realised_relative=after.relative_of(prediction.k),
            realised_range_relative=after.relative_to(before.low, before.high),
        )
        for (name, predicted), before, after in pairs
    }


def _linking_risk(prediction: Prediction, tally: Tally) -> LinkingRisk:
    links, n, n_read = tally.realised.links, tally.realised.sizes.n_records, prediction.records.read
    return LinkingRisk(
        predicted=prediction.linking_risk,
        realised=links.fair / n,
        realised_paper_ties=links.paper / n,
        largest=links.largest,
        over_half=links.n_over_half / n,
        over_nine_tenths=links.n_over_nine_tenths / n,
        per_original=LinksPerOriginal(expected=tally.expected.links.fair.total / n_read, realised=links.fair / n_read),
    )


def _attackers(attackers: Sequence[Attacker], tally: Tally) -> Iterator[Attacker]:
    """The attackers with their realised links; the first two are known by class and by quasis."""
    sizes, links, persons = tally.realised.sizes, tally.realised.links, tally.realised.persons
    by_class, by_quasis, *others = attackers
    yield replace(by_class, realised=(sizes.n_classes if persons is None else persons.n_most) / sizes.n_records)
    yield replace(by_quasis, realised=links.fair / sizes.n_records)
    yield from others


def _confident_k(prediction: Prediction, fates: Fates, policy: Policy) -> ConfidentSuppression | None:
    if policy.confidence is None or prediction.confident_k is None:
        return None
    return ConfidentSuppression(
        confidence=policy.confidence,
        rule=policy.confidence_rule,
        predicted=prediction.confident_k,
        realised=fates.suppressed_by_confidence / fates.entering,
        total_realised=(fates.suppressed_by_k + fates.suppressed_by_confidence) / fates.counted,
    )
