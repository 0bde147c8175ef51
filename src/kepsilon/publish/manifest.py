# SPDX-License-Identifier: Apache-2.0
"""The public manifest: a function of the policy and of the released table, and of nothing else.

So it tells nothing that the release does not tell: whoever has the release and the policy can work it out again. That is
why it holds no expected figure, no number of records that were left out, and no key whose presence depends on the data.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kepsilon.errors import DataError, EngineError, Problem, guarded
from kepsilon.files.atomic import Staging
from kepsilon.json_values import FrozenMapping, Json, JsonMapping, JsonValue, left_out_if_none
from kepsilon.policy.choices import ALGORITHMS
from kepsilon.policy.policy import Policy
from kepsilon.predict.prediction import ClassSummary
from kepsilon.publish.bounds import Bounds, bounds_of
from kepsilon.publish.inputs import Input
from kepsilon.publish.outputs import check_output
from kepsilon.publish.policy_document import PolicyDocument
from kepsilon.publish.record import Guarantee
from kepsilon.table.arrays import IntArray
from kepsilon.table.classes import Recoding
from kepsilon.table.codes import Label


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedClasses:
    """What counting a release tells: the sizes of its classes, and the labels that it shows."""

    sizes: IntArray
    """Released records of every class, each at least one, in any order, shape (n_classes,)."""
    labels: Mapping[str, tuple[Label, ...]]
    """The distinct labels of each k-quasi, in any order."""

    @classmethod
    def of(cls, recoding: Recoding, policy: Policy) -> ReleasedClasses:
        """The classes of a recoding that has only those with released records."""
        labels = [attribute.labels for attribute in recoding.attributes]
        return cls(sizes=recoding.sizes, labels=dict(zip(policy.k_quasis, labels, strict=True)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Making:
    """What a manifest says about how its release was made; neither the policy nor the release tells."""

    kepsilon_version: str
    created: str
    """The day, such as 2026-11-16."""
    seeded: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedRecords(JsonValue):
    """How many records were released; how many were left out is for the curator only."""

    released: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest(JsonMapping):
    """What may be given away with a release: it follows from the policy and the release alone."""

    kepsilon_version: str
    created: str
    """The day on which the release was made."""
    policy: PolicyDocument
    guarantee: Guarantee
    seeded: bool
    """Whether somebody who knows a seed can undo the noise."""
    digest: str | None
    """Digest of the file that was written; None before it is written, and for a frame."""
    records: ReleasedRecords
    classes: ClassSummary
    levels: Mapping[str, int] | None = field(metadata=left_out_if_none())
    """By k-quasi: the lowest level that its labels can be of; None for an algorithm without one level for a column."""
    bounds: Bounds
    accepted_leaks: Mapping[str, str]
    """Kept columns that are published though they may give people away, each with the curator's reason."""
    accepted_useless: Mapping[str, str]
    """Quasis that are published though next to nothing may be left of them, each with the curator's reason."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "accepted_leaks", FrozenMapping(self.accepted_leaks))
        object.__setattr__(self, "accepted_useless", FrozenMapping(self.accepted_useless))
        if self.levels is not None:
            object.__setattr__(self, "levels", FrozenMapping(self.levels))

    def to_text(self) -> str:
        """The JSON text, as it is written beside a release."""
        return json_text(self.to_json())

    @guarded
    def write(self, path: str | Path, *, overwrite: bool = False, inputs: Iterable[Input] = ()) -> None:
        """Writes the manifest as a JSON file; a path among `inputs` is refused.

        `overwrite` replaces a manifest, and no other file: neither the curator's record nor a table.
        """
        target = Path(path)
        check_output(target, overwrite=overwrite, inputs=inputs)
        if target.exists() and not _is_manifest(target):
            raise EngineError(
                Problem(
                    where=str(target),
                    what="is no manifest; only an earlier manifest is replaced.",
                    fix="Choose another name, or move that file away.",
                )
            )
        with Staging([target.parent]) as staging:
            with staging.new_file(target, owner_only=False) as temporary:
                temporary.write_text(self.to_text(), encoding="utf-8")
            staging.publish(overwrite=overwrite)


def _is_manifest(path: Path) -> bool:
    """Whether a file is a manifest, of this version or an earlier one, and not the curator's record, which has seconds."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return (
        isinstance(document, dict)
        and {"kepsilon_version", "guarantee"} <= document.keys()
        and "seconds" not in document
    )


def json_text(document: Json) -> str:
    """A document as it is written to a file."""
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def manifest_of(policy: Policy, released: ReleasedClasses, making: Making, *, digest: str | None) -> Manifest:
    """The manifest of a release; DataError if its labels cannot be those of a release under the policy."""
    sizes = released.sizes
    n_records = int(sizes.sum())
    return Manifest(
        kepsilon_version=making.kepsilon_version,
        created=making.created,
        policy=PolicyDocument.public(policy),
        guarantee=Guarantee.of(policy),
        seeded=making.seeded,
        digest=digest,
        records=ReleasedRecords(released=n_records),
        classes=ClassSummary(
            count=len(sizes),
            smallest=int(sizes.min()),
            largest=int(sizes.max()),
            mean=round(n_records / len(sizes), 2),
        ),
        levels=_levels(policy, released) if ALGORITHMS[policy.algorithm].has_levels else None,
        bounds=bounds_of(policy, sizes),
        accepted_leaks=policy.accepted_leaks,
        accepted_useless=policy.accepted_useless,
    )


def _levels(policy: Policy, released: ReleasedClasses) -> dict[str, int]:
    """By k-quasi, the lowest level that its labels can be of; it need not be the level that the algorithm chose."""
    levels: dict[str, int] = {}
    for name, attribute in policy.k_quasis.items():
        possible = (0,) if attribute.hierarchy is None else attribute.hierarchy.levels_of(released.labels[name])
        if not possible:
            raise DataError(
                Problem(
                    where=f'column "{name}"',
                    what="its labels are not of one level of its hierarchy, so this is no release under the policy.",
                    fix="Use the policy, and the hierarchy files, that the release was made with.",
                )
            )
        levels[name] = min(possible)
    return levels
