# SPDX-License-Identifier: Apache-2.0
"""The manifest and the curator's record beside a release: every figure in them that can be worked out again.

A figure is checked where this module knows how to compute it, and a key it does not know is left alone.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kepsilon.auditing.attacks import expected_links
from kepsilon.auditing.classes import NOWHERE, Classes
from kepsilon.auditing.findings import Findings, quoted
from kepsilon.auditing.linkage import Linkage
from kepsilon.auditing.noise import n_taken_out_with_class
from kepsilon.auditing.noise_law import ClaimedNoise
from kepsilon.auditing.tables import Original, Released
from kepsilon.errors import DataError, Problem
from kepsilon.policy.policy import Policy

NOT_IN_THE_MANIFEST = ("path", "levels")
"""Inside a hierarchy: what the manifest leaves out of the policy."""

Figures = dict[str, Any]


def check_beside(
    path: Path,
    original: Original,
    released: Released,
    classes: Classes,
    noise: ClaimedNoise,
    policy: Policy,
    findings: Findings,
    *,
    linkage: Linkage | None,
) -> None:
    """The files beside a release, if they are there."""
    known = recomputed(original, released, classes, noise, policy, linkage=linkage)
    known["digest"] = _digest(path)
    known["reidentification"] = findings.figures["reidentification"]
    attacks = findings.figures.get("attacks", {})
    if "linking_risk" in known and attacks.get("records_attacked") == released.n_records:
        known["linking_risk"]["realised"] = attacks["realised"]["nearest neighbour"]
        known["linking_risk"]["realised_paper_ties"] = attacks["realised_paper_ties"]
    for kind, what in (("manifest", "the manifest"), ("curator", "the curator's record")):
        beside = path.with_name(f"{path.name}.{kind}.json")
        if not beside.exists():
            if kind == "manifest":
                findings.note(
                    "manifest", "there is no manifest beside the release, so that nothing it says was checked."
                )
            continue
        document = _read(beside)
        if document.get("seeded"):
            findings.warning(
                kind, f"{what} says that the noise was seeded: whoever knows the seed can undo it. Do not publish it."
            )
        wrong = list(_disagreements(document, known, policy, is_rounded=kind == "manifest"))
        findings.require(
            not wrong,
            kind,
            right=f"{what} holds: policy, digest and every figure that can be worked out again.",
            wrong=f"{what} is wrong about {', '.join(map(quoted, wrong))}.",
        )


def check_digest_only(path: Path, findings: Findings) -> None:
    """What is left to check where the classes could not be found."""
    beside = path.with_name(f"{path.name}.manifest.json")
    if beside.exists() and _read(beside).get("digest") != _digest(path):
        findings.broken("manifest", "the manifest is wrong about digest: it is not that of this file.")


def _read(path: Path) -> Figures:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        document = None
    if not isinstance(document, dict):
        raise DataError(Problem(where=str(path), what="is not a manifest: it cannot be read as JSON."))
    return document


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()


def recomputed(
    original: Original,
    released: Released,
    classes: Classes,
    noise: ClaimedNoise,
    policy: Policy,
    *,
    linkage: Linkage | None,
) -> Figures:
    """Every figure this module can work out, under the names of the record; alternatives as a tuple."""
    n_released, sizes = released.n_records, classes.released
    by_k = 0 if classes.n_suppressed is None else classes.n_suppressed
    known: Figures = {
        "guarantee": {"k": policy.k, "epsilon": policy.epsilon, "confidence": policy.confidence},
        "records": {
            "read": original.n_records,
            "released": n_released,
            "suppressed_by_k": by_k,
            "suppressed_by_confidence": original.n_staying - by_k - n_released,
            "suppressed_missing": original.n_missing,
            "suppressed_unlisted": original.n_unlisted,
        },
        "classes": {
            "count": classes.n_classes,
            "smallest": int(sizes.min()),
            "largest": int(sizes.max()),
            "mean": round(n_released / classes.n_classes, 2),
        },
        "loss": {},
    }
    # Confident k may have taken out whole classes; what was computed before it then rests on more than is known here.
    is_complete = classes.all_known and n_taken_out_with_class(original, classes, policy) == 0
    if classes.dm_star is not None:
        known["loss"]["dm*"] = classes.dm_star
    elif is_complete:
        known["loss"]["dm*"] = int(np.sum(classes.originals.astype(object) ** 2))
    if classes.nodes is not None:
        by_attribute = zip(original.domains, zip(*classes.nodes, strict=True), strict=True) if original.domains else ()
        known["levels"] = {name: tuple(dict.fromkeys(levels)) for name, levels in by_attribute}
    is_unambiguous = is_complete if classes.nodes is None else len(classes.nodes) == 1
    if policy.confidence is None and classes.nodes is None:
        is_unambiguous = True  # every record of a class is released, so that labels say it all
    if is_unambiguous and not np.isnan(classes.losses).any():
        mean = sum(classes.losses) / len(classes.losses) if classes.losses else 0.0
        known["loss"]["precision"] = {**dict(zip(original.domains, classes.losses, strict=True)), "overall": mean}
    if is_complete:
        known |= _figures_of_noise(original, released, classes, noise, policy, linkage=linkage)
    return known


def _figures_of_noise(
    original: Original,
    released: Released,
    classes: Classes,
    noise: ClaimedNoise,
    policy: Policy,
    *,
    linkage: Linkage | None,
) -> Figures:
    belongs = np.flatnonzero(classes.of_original != NOWHERE)
    ids = classes.of_original[belongs]
    size = (noise.n_active + 1) / 2 / float(policy.exact_epsilon)
    errors: Figures = {}
    for j, name in enumerate(policy.epsilon_quasis):
        own = original.numbers[name][belongs]
        present = ~np.isnan(own)
        expected = (noise.ranges[:, j] * size)[ids]
        figures: Figures = {"zeros_left_out": int(np.count_nonzero(own[present] == 0))}
        counted = present & (own != 0)
        with np.errstate(over="ignore"):
            figures["expected_relative"] = _mean(expected[counted] / np.abs(own[counted]))
        width = float(own[present].max() - own[present].min()) if present.any() else 0.0
        figures["range_relative"] = _mean(expected[present] / width) if width > 0 else None
        if linkage is not None:
            before, after = original.numbers[name][linkage.original_row], released.numbers[name]
            moved = np.abs(after - before)
            counted = ~np.isnan(before) & (before != 0)
            with np.errstate(over="ignore"):
                figures["realised_relative"] = _mean(moved[counted] / np.abs(before[counted]))
            present = ~np.isnan(before)
            figures["realised_range_relative"] = _mean(moved[present] / width) if width > 0 else None
        errors[name] = figures
    known: Figures = {
        "error": errors,
        "clipped": noise.n_clipped,
        "constant_classes": {
            name: int(np.count_nonzero(noise.ranges[:, j] == 0)) for j, name in enumerate(policy.epsilon_quasis)
        },
    }
    if len(policy.epsilon_quasis) == 1:
        links, paper = expected_links(classes, noise, policy)
        n = int(classes.originals.sum())  # expected figures are of the records that get noise
        known["linking_risk"] = {
            "expected": links / n,
            "expected_paper_ties": paper / n,
            "per_original": {"expected": links / original.n_records},
        }
    return known


def _mean(values: np.ndarray) -> float | None:
    if not values.size:
        return None
    mean = float(np.mean(values))
    return mean if math.isfinite(mean) else None


def _disagreements(document: Figures, known: Figures, policy: Policy, *, is_rounded: bool) -> list[str]:
    wrong = []
    stated = document.get("policy")
    if isinstance(stated, dict):
        wrong += _other_policy(stated, policy.model_dump(mode="json", exclude_none=True))
    for key in ("loss", "error", "linking_risk"):
        if key in known and key in document:
            wrong += _different(document[key], known[key], key, digits=2 if is_rounded else 9)
    for key in (
        "digest",
        "guarantee",
        "records",
        "classes",
        "levels",
        "clipped",
        "constant_classes",
        "reidentification",
    ):
        if key in known and key in document:
            wrong += _different(document[key], known[key], key, digits=9)
    records = document.get("records")
    if isinstance(records, dict) and all(isinstance(value, int) for value in records.values()):
        parts = sum(value for key, value in records.items() if key != "read")
        if parts != records.get("read"):
            wrong.append("records (they do not add up)")
    return wrong


def _different(stated: Any, known: Any, where: str, *, digits: int) -> list[str]:
    if isinstance(known, Mapping):
        if not isinstance(stated, Mapping):
            return [where]
        return [
            wrong
            for key in known
            if key in stated
            for wrong in _different(stated[key], known[key], f"{where}.{key}", digits=digits)
        ]
    if isinstance(known, tuple):
        return [] if stated in known else [where]
    return [] if _agree(stated, known, digits=digits) else [where]


def _agree(stated: Any, known: Any, *, digits: int) -> bool:
    """The same to so many significant digits, half a unit of the last one included."""
    is_number = isinstance(stated, int | float) and not isinstance(stated, bool)
    if not is_number or not isinstance(known, int | float) or isinstance(known, bool):
        return bool(stated == known)
    if known == 0 or not math.isfinite(known):
        return bool(abs(stated - known) < 1e-12) if math.isfinite(known) else bool(stated == known)
    unit = 10.0 ** (math.floor(math.log10(abs(known))) + 1 - digits)
    return bool(abs(stated - known) <= 0.5 * unit * (1 + 1e-6))


def _other_policy(stated: Figures, own: Figures) -> list[str]:
    """Keys on which the policy that was stated differs from the one given here."""
    wrong = [f"policy.{key}" for key in stated if key != "attributes" and key in own and stated[key] != own[key]]
    theirs = stated.get("attributes")
    if not isinstance(theirs, dict):
        return wrong
    for name, attribute in own["attributes"].items():
        other = theirs.get(name)
        if not isinstance(other, dict) or _public(other) != _public(attribute):
            wrong.append(f"policy.attributes.{name}")
    return wrong


def _public(attribute: Figures) -> Figures:
    hierarchy = attribute.get("hierarchy")
    if not isinstance(hierarchy, dict):
        return attribute
    return {**attribute, "hierarchy": {k: v for k, v in hierarchy.items() if k not in NOT_IN_THE_MANIFEST}}
