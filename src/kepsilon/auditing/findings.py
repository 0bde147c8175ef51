# SPDX-License-Identifier: Apache-2.0
"""What an audit found, in words and counts that hold no value of a record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Severity = Literal["broken", "warning", "note", "passed"]
SEVERITIES: tuple[Severity, ...] = ("broken", "warning", "note", "passed")

FALSE_ALARM = 1e-9
"""The chance, at most, that a statistical check calls a sound release broken: of all such checks together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFinding:
    """One thing that was looked at, and what came of it."""

    severity: Severity
    check: str
    what: str

    def __str__(self) -> str:
        return f"{self.severity}: {self.check}: {self.what}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """All findings, and the figures of risk that were worked out on the way."""

    findings: tuple[AuditFinding, ...]
    headline: str
    figures: Mapping[str, Any]

    def of(self, severity: Severity) -> tuple[AuditFinding, ...]:
        return tuple(finding for finding in self.findings if finding.severity == severity)

    @property
    def broken(self) -> tuple[AuditFinding, ...]:
        """The promises that the release does not keep."""
        return self.of("broken")

    @property
    def keeps_its_promises(self) -> bool:
        return not self.broken

    def as_dict(self) -> dict[str, Any]:
        """What `kepsilon audit --json` prints."""
        return {
            "broken": len(self.broken),
            "headline": self.headline,
            "findings": [
                {"severity": finding.severity, "check": finding.check, "what": finding.what}
                for severity in SEVERITIES
                for finding in self.of(severity)
            ],
            "figures": dict(self.figures),
        }

    def __repr__(self) -> str:
        return (
            f"<Audit: {len(self.broken)} broken, {len(self.of('warning'))} warnings, {len(self.of('passed'))} passed>"
        )


@dataclass(slots=True)
class Findings:
    """Findings as they come up, in the order of the checks."""

    found: list[AuditFinding] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)

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
        """Passed if it holds, and otherwise a broken promise."""
        self.add("passed" if holds else "broken", check, right if holds else wrong)


def quoted(name: str, *, most: int = 40) -> str:
    """A column name from a file nobody vouches for: printable characters only, and not many of them."""
    shown = "".join(character if character.isprintable() else "?" for character in name)
    return '"' + (shown if len(shown) <= most else shown[:most] + "…").replace('"', "'") + '"'


def share(part: float, whole: float) -> str:
    return f"{part / whole:.2%}" if whole else "none"


def counted(n: int, one: str, many: str) -> str:
    """`1 record is`, `2 records are`."""
    return f"{n:,} {one if n == 1 else many}"
