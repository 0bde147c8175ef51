# SPDX-License-Identifier: Apache-2.0
"""The findings of an audit, in words and counts; none of them holds a value of a record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from kepsilon.evaluate.linking.attackers import Attacker
from kepsilon.evaluate.linking.reidentification import Reidentification
from kepsilon.json_values import FrozenMapping, Json, JsonMapping, JsonValue, left_out_if_none
from kepsilon.rounding import percent

Severity = Literal["broken", "warning", "note", "passed"]
SEVERITIES: tuple[Severity, ...] = ("broken", "warning", "note", "passed")


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFinding(JsonValue):
    """The outcome of one check, in words."""

    severity: Severity
    check: str
    what: str

    def __str__(self) -> str:
        return f"{self.severity}: {self.check}: {self.what}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StrongestAttack(JsonValue):
    """The attacker with most right links, and the share of records linked."""

    attacker: str
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LinksInDoubt(JsonValue):
    """Shares of right links of the nearest-neighbour attacker, where some values differ by less than doubles can tell.

    Which of two such values is nearer to a published one depends on how a difference was rounded.
    """

    least: float
    most: float
    least_paper_ties: float
    most_paper_ties: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackFigures(JsonMapping):
    """What attackers who know every original achieved, as shares of the records attacked."""

    records_attacked: int
    realised: Mapping[str, float]
    """Right links, by attacker."""
    strongest: StrongestAttack
    realised_paper_ties: float
    """Right links of the nearest-neighbour attacker, every tie worth 1, as in the paper."""
    largest_posterior: float
    """Largest probability that an attacker of single records gives a record's own original."""
    largest_by_matching: float | None = field(metadata=left_out_if_none())
    """The same to an attacker who weighs every assignment of a class; None where no class is small enough for that."""
    over_half: float
    """Share of records whose own original has a probability above 1/2."""
    over_nine_tenths: float
    in_doubt: LinksInDoubt | None = field(default=None, metadata=left_out_if_none())
    """None where doubles decide every link."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "realised", FrozenMapping(self.realised))


@dataclass(frozen=True, slots=True, kw_only=True)
class LargestRisks(JsonValue):
    """The largest probability that any published value can give a record's own original, in classes that are known.

    To attackers who know every true value of the quasi-identifiers and use no kept column.
    """

    of_one: float
    """To an attacker who considers one record at a time."""
    by_matching: float | None = field(metadata=left_out_if_none())
    """To an attacker who matches a whole class one to one, at most; None where records can be joined, because all records
    of a person carry one draw."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFigures(JsonMapping):
    """Figures of risk that the audit worked out; None, and not written, where that was not possible."""

    confident_k_expected: float | None = field(default=None, metadata=left_out_if_none())
    """Expected share of records taken out by confident k, of those in classes of k and more."""
    reidentification: Reidentification | None = field(default=None, metadata=left_out_if_none())
    one_over_k: float | None = field(default=None, metadata=left_out_if_none())
    expected_nearest_neighbour: float | None = field(default=None, metadata=left_out_if_none())
    """Right links per record that a nearest-neighbour attacker is expected to make."""
    largest_risks: LargestRisks | None = field(default=None, metadata=left_out_if_none())
    """How sure attackers could have been of any one record, whatever noise was drawn; None where it was not worked out."""
    attacks: AttackFigures | None = field(default=None, metadata=left_out_if_none())
    """None where no attack could be scored."""
    attackers: tuple[Attacker, ...] | None = field(default=None, metadata=left_out_if_none())
    """Who could link how many records, those who know least first; None where that was not worked out."""
    false_alarm: float | None = field(default=None, metadata=left_out_if_none())
    """The chance, at most, that the statistical tests that were made call a sound release broken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit(JsonValue):
    """The findings of an audit, its headline, and the figures of risk that it worked out."""

    findings: tuple[AuditFinding, ...]
    headline: str
    figures: AuditFigures

    def of(self, severity: Severity) -> tuple[AuditFinding, ...]:
        """Findings of one severity, in the order of the checks."""
        return tuple(finding for finding in self.findings if finding.severity == severity)

    @property
    def broken(self) -> tuple[AuditFinding, ...]:
        """The promises that the release does not keep."""
        return self.of("broken")

    @property
    def keeps_its_promises(self) -> bool:
        """Whether no promise was found broken."""
        return not self.broken

    def to_json(self) -> Json:
        """What `kepsilon audit --json` prints, the worst findings first."""
        return {
            "broken": len(self.broken),
            "headline": self.headline,
            "findings": [finding.to_json() for severity in SEVERITIES for finding in self.of(severity)],
            "figures": self.figures.to_json(),
        }

    def __repr__(self) -> str:
        return (
            f"<Audit: {len(self.broken)} broken, {len(self.of('warning'))} warnings, {len(self.of('passed'))} passed>"
        )


@dataclass(slots=True)
class Findings:
    """Collects findings in the order of the checks."""

    headline: str = ""
    found: list[AuditFinding] = field(default_factory=list)
    figures: AuditFigures = field(default_factory=AuditFigures)

    @property
    def has_broken(self) -> bool:
        """Whether some promise was found broken so far."""
        return any(finding.severity == "broken" for finding in self.found)

    def add(self, severity: Severity, check: str, what: str) -> None:
        self.found.append(AuditFinding(severity=severity, check=check, what=what))

    def broken(self, check: str, what: str) -> None:
        self.add("broken", check, what)

    def warning(self, check: str, what: str) -> None:
        self.add("warning", check, what)

    def note(self, check: str, what: str) -> None:
        self.add("note", check, what)

    def passed(self, check: str, what: str) -> None:
        self.add("passed", check, what)

    def require(self, holds: bool, check: str, *, right: str, wrong: str) -> None:
        """Adds `right` as passed if the claim holds, and otherwise `wrong` as broken."""
        self.add("passed" if holds else "broken", check, right if holds else wrong)


def quoted(name: str, *, most: int = 40) -> str:
    """A name from an untrusted file, in quotation marks: printable characters only, and at most `most` of them."""
    shown = "".join(character if character.isprintable() else "?" for character in name)
    return '"' + (shown if len(shown) <= most else shown[:most] + "…").replace('"', "'") + '"'


def share(part: float, whole: float) -> str:
    """The part in percent of the whole; "none" where the whole is 0."""
    return percent(part / whole) if whole else "none"


def counted(n: int, one: str, many: str) -> str:
    """The number with the words that fit it, such as `1 record is` or `2 records are`."""
    return f"{n:,} {one if n == 1 else many}"
