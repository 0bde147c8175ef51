# SPDX-License-Identifier: Apache-2.0
"""`Prediction`, a frozen value that says what a release will be, and its parts.

`check` shows it, `explore` compares many of them, `anonymise` decides by it and writes it into the curator's record.
Shares are 0 to 1.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kepsilon.errors import Problem
from kepsilon.evaluate.estimate import Estimate
from kepsilon.evaluate.homogeneity import Homogeneity
from kepsilon.evaluate.linking.attackers import Attacker, Headline, risk_in_words
from kepsilon.evaluate.survival.figures import ForeseenSurvival
from kepsilon.json_values import FrozenMapping, Json, JsonValue, inline, left_out_if_none, written_as
from kepsilon.policy.guarantee import matcher_in_words
from kepsilon.predict.group_summary import GroupSummary
from kepsilon.predict.kept_columns import KeptColumn
from kepsilon.predict.verdicts import AttributeVerdict, ReleaseVerdict
from kepsilon.rounding import percent, percent_at_most


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictedRecords(JsonValue):
    """How many records were read, and how many of them are suppressed before any noise is drawn."""

    read: int
    suppressed_by_k: int
    suppressed_missing: int
    suppressed_unlisted: int
    suppressed_by_cap: int = 0
    """Records of persons who have more than `max_records_per_person`, beyond that number."""

    @property
    def counted(self) -> int:
        """Records that are left after those with missing or unlisted values, or above the cap, were suppressed."""
        return self.read - self.suppressed_missing - self.suppressed_unlisted - self.suppressed_by_cap

    @property
    def entering(self) -> int:
        """Records in a class, which get noise."""
        return self.counted - self.suppressed_by_k


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassSummary(JsonValue):
    """The number of classes, and their sizes in records."""

    count: int
    smallest: int
    largest: int
    mean: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsPerPerson(JsonValue):
    """How many of the counted records one person has."""

    mean: float
    largest: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Persons(JsonValue):
    """The persons whom the counted records are about."""

    count: int
    """Distinct persons."""
    fewest_in_a_class: int
    """Distinct persons of the class that has fewest; of a release, after confident k."""
    records_per_person: RecordsPerPerson

    @property
    def in_words(self) -> str:
        """Whom the records are about, in a line."""
        each = self.records_per_person
        return (
            f"{self.count:,}, with {each.mean:g} records each on average and {each.largest:,} at most; "
            f"at least {self.fewest_in_a_class:,} in every class"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeLosses(JsonValue):
    """The loss of every k-quasi, and the mean of all."""

    by_attribute: Mapping[str, float] = field(metadata=inline())
    overall: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_attribute", FrozenMapping(self.by_attribute))


@dataclass(frozen=True, slots=True, kw_only=True)
class NotProven(JsonValue):
    """How good the node is that OLA found in a lattice too large to be searched; it may not be the best."""

    minimised: str
    """The loss that the policy names."""
    found: float
    """What the node loses."""
    bound: float
    """What every node that keeps k within the limit loses at least."""

    @property
    def in_words(self) -> str:
        return (
            "the hierarchies have too many levels together for OLA to look at every node. It went down from the top and found "
            f"a node that is not proven to be the best: it loses {self.found:.4g} ({self.minimised}), and no node that keeps "
            f"k loses less than {self.bound:.4g}."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Losses(JsonValue):
    """The loss by generalising, in four measures."""

    dm_star: int = field(metadata=written_as("dm*"))
    """Sum of squared class sizes over all classes, also those that were suppressed."""
    ncp: AttributeLosses
    """Share of what occurs that labels leave open; mean over records, and a record that is left out for k costs 1."""
    entropy_share: AttributeLosses
    """Share of the bits of the values that is lost; a record that is left out for k loses all of its bits."""
    precision: AttributeLosses
    """Level over height, as in the paper, or for local algorithms ncp of categories; mean over records that are released."""
    not_proven: NotProven | None = field(default=None, metadata=left_out_if_none())
    """Where OLA did not prove that no node loses less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedError(JsonValue):
    """The expected error of one ε-quasi; None where it would be a mean over fewer than k records."""

    expected_relative: float | None
    range_relative: float | None
    uniform_equivalent: float | None
    epsilon_for_uniform_5_percent: float | None
    largest_share: float | None
    zeros_left_out: int
    share_of_spread: float | None = None
    """Mean distance over the spread, the mean distance of the true values from their median; None where there is none."""
    median_relative: float | None = None
    """Median over records of the expected distance relative to the value; values near 0 hardly matter to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedRisk(JsonValue):
    """Correct links per record that gets noise, by an attacker who knows every true value and uses no kept column.

    The headline alone may be about an attacker who also works kept columns out from what is known.
    """

    headline: Headline
    fair: Estimate
    """A tie of t originals is worth 1/t."""
    paper_ties: Estimate
    """Every tie is worth 1."""
    largest_possible: float
    """The most that any published value can make a record's own original probable, whatever is drawn.

    To an attacker who considers one record at a time, with all originals of its class equally likely before.
    """
    largest_possible_by_matching: float
    """A bound on the same for an attacker who matches all records of a class to its originals at once, one to one.

    It is `largest_possible` at 2ε. This attacker knows that no two records come from one original, and so can be surer.
    """

    def to_json(self) -> Json:
        return {
            "headline": self.headline.to_json(),
            "expected": self.fair.total,
            "expected_paper_ties": self.paper_ties.total,
            "standard_error": self.fair.standard_error,
            "standard_error_paper_ties": self.paper_ties.standard_error,
            "largest_possible": self.largest_possible,
            "largest_possible_by_matching": self.largest_possible_by_matching,
        }

    def by_matching_in_words(self, quasis: Iterable[str], *, averaged: bool = False, noisy: bool = True) -> str:
        """How sure a matcher of whole classes, or of groups, can be of any one record, as a sentence without its full stop."""
        share = percent_at_most(self.largest_possible_by_matching)
        return f"{matcher_in_words(quasis, averaged=averaged, noisy=noisy)} is at most {share} sure of any one record"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedSuppression(JsonValue):
    """Shares of records that confident k is expected to suppress."""

    of_entering: Estimate
    """Share of the records that get noise."""
    of_counted: Estimate
    """Share of the counted records."""
    total_expected: float
    """Share of the counted records that is expected to be suppressed, for k and confident k together."""

    def to_json(self) -> Json:
        return {
            "expected": self.of_entering.total,
            "expected_standard_error": self.of_entering.standard_error,
            "total_expected": self.total_expected,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class OutlierRecovery(JsonValue):
    """How well the size of the noise gives away the extreme records of classes, for an ε-quasi whose values set the range.

    To an attacker who knows all other records of the class, and which published values are theirs. It does not depend on
    ε. Rounding, clamping to a domain and what confident k suppresses are not taken into account.
    """

    within: float
    """A value counts as worked out if the estimate is within this share of it."""
    classes: int
    """Classes that have noise."""
    standing_out: int
    """Classes whose smallest or largest value is farther than `within` of itself from every other value of the class."""
    recoverable: int
    """Classes of these in which that value is worked out with a probability of at least ½."""
    likeliest: float | None
    """The largest of these probabilities; None where no value stands out."""

    def in_words(self) -> str:
        """The figures in one line, for a screen."""
        if self.likeliest is None:
            return f"none of {self.classes:,} classes has a value that stands out by {self.within:.0%}"
        return (
            f"in {self.recoverable:,} of {self.classes:,} classes, whoever knows the other records works one out within "
            f"{self.within:.0%}; the likeliest: {percent(self.likeliest)}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallNoise(JsonValue):
    """Classes whose noise is small beside the precision of an ε-quasi, so that rounding often takes it away."""

    classes: int
    """Classes in which a value is published as it is, rounded, with a probability of at least ½. Constant classes, which
    have no noise at all, are counted apart."""
    records: int
    """Records of these classes."""
    likeliest: float
    """The largest such probability of all classes that have noise; 0 where none has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuppressedShares:
    """Everything that leaves, by cause, as shares of the records that were read."""

    records: PredictedRecords
    by_confidence: Estimate | None
    """Expected; None where no confidence is asked for."""

    @property
    def missing(self) -> float:
        return self.records.suppressed_missing / self.records.read

    @property
    def unlisted(self) -> float:
        return self.records.suppressed_unlisted / self.records.read

    @property
    def by_cap(self) -> float:
        return self.records.suppressed_by_cap / self.records.read

    @property
    def by_k(self) -> float:
        return self.records.suppressed_by_k / self.records.read

    @property
    def before_counting(self) -> float:
        """The share that leaves as missing, unlisted or above the cap per person, whatever k, ε and algorithm are."""
        return (self.records.read - self.records.counted) / self.records.read

    @property
    def before_noise(self) -> float:
        """The share that leaves before any noise is drawn.

        Records are added and not shares: 0.1 + 0.2 would be above a limit of 0.3.
        """
        return (self.records.read - self.records.entering) / self.records.read

    @property
    def together(self) -> Estimate:
        """The share that leaves for any cause."""
        return Estimate(total=self.before_noise) + (self.by_confidence or Estimate())


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction(JsonValue):
    """What a release of some records under a policy will be, known before any noise is drawn."""

    verdict: ReleaseVerdict
    """On the release as a whole: promise, risk and usefulness."""
    verdicts: Mapping[str, AttributeVerdict]
    """On every quasi, in the order of the policy."""
    algorithm: str
    k: int
    epsilon: float | None
    """None where nothing is drawn with it."""
    records: PredictedRecords
    n_combinations: int
    """Combinations of k-quasi values that occur."""
    classes: ClassSummary
    levels: Mapping[str, int] | None = field(metadata=left_out_if_none())
    """By k-quasi; None for an algorithm that has no level for a whole column."""
    loss: Losses
    error: Mapping[str, ExpectedError]
    """By ε-quasi."""
    survives: Mapping[str, ForeseenSurvival] = field(default_factory=dict)
    """By ε-quasi: the expected error in its own units, beside that of the best constant per class."""
    linking_risk: ExpectedRisk
    attackers: tuple[Attacker, ...]
    """Who could link how many records; `explore` has only those who need to know nothing but the quasis."""
    kept_columns: Mapping[str, KeptColumn]
    """What each kept column tells about the quasis."""
    confident_k: ExpectedSuppression | None = field(metadata=left_out_if_none())
    """None where no confidence is asked for."""
    homogeneity: Mapping[str, Homogeneity] = field(default_factory=dict)
    """How far classes agree on a value, by sensitive column."""
    persons: Persons | None = field(default=None, metadata=left_out_if_none())
    """None where the policy names no column that says whom a record is about."""
    groups: GroupSummary | None = field(default=None, metadata=left_out_if_none())
    """None where no averages are published."""
    clipped: Mapping[str, int]
    """Values outside declared bounds, by ε-quasi."""
    constant_classes: Mapping[str, int]
    """Classes whose records all agree and whose value is published without noise, by ε-quasi."""
    small_noise: Mapping[str, SmallNoise]
    """Classes whose noise is small beside the precision, by ε-quasi."""
    outliers: Mapping[str, OutlierRecovery]
    """How well extreme records could be worked out, by ε-quasi; those with declared bounds are not in it."""
    distortion: float | None
    """Mean over quasis of ncp and of error over spread; None where one of them is undefined."""
    warnings: tuple[Problem, ...] = ()
    """Facts that do not stop a release, but are worth knowing before it is published."""

    def __post_init__(self) -> None:
        for name in (
            "verdicts", "levels", "error", "survives", "kept_columns", "homogeneity", "clipped", "constant_classes",
            "small_noise", "outliers",
        ):  # fmt: skip
            own = getattr(self, name)
            if own is not None:
                object.__setattr__(self, name, FrozenMapping(own))

    @property
    def refused_useless(self) -> tuple[str, ...]:
        """Attributes that would be useless and that the policy does not accept: such a release is refused."""
        return tuple(name for name, own in self.verdicts.items() if own.is_refused)

    @property
    def risk_in_words(self) -> str:
        """Who links how many records, of those who need to know nothing but the quasis."""
        return risk_in_words(self.attackers)

    def with_warnings(self, *, before: Iterable[Problem] = (), after: Iterable[Problem] = ()) -> Prediction:
        """This prediction with more warnings before and after its own."""
        return dataclasses.replace(self, warnings=(*before, *self.warnings, *after))

    @property
    def suppressed_by_k(self) -> float:
        """Share of the counted records that are suppressed because they are in no class of k records."""
        return self.records.suppressed_by_k / self.records.counted

    @property
    def suppressed(self) -> SuppressedShares:
        """What leaves for k, for confidence, as missing and as unlisted, as shares of the records that were read."""
        records, gone = self.records, self.confident_k
        return SuppressedShares(
            records=records,
            by_confidence=None if gone is None else gone.of_counted.per(records.read / records.counted),
        )

    @property
    def suppression(self) -> Estimate:
        """The expected share of the records read that leaves for any cause: what the curator's limits are compared with."""
        return self.suppressed.together

    @property
    def largest_error(self) -> float | None:
        """The largest expected relative error of an ε-quasi; None where one is undefined."""
        errors = [own.expected_relative for own in self.error.values()]
        defined = [own for own in errors if own is not None]
        return max(defined, default=0.0) if len(defined) == len(errors) else None
