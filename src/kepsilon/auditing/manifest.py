# SPDX-License-Identifier: Apache-2.0
"""Checks the manifest and the curator's record beside a release: every figure in them that can be worked out again.

Keys that this module does not know are not checked.
"""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path

import numpy as np

from kepsilon.auditing.attacks import NEAREST, expected_links
from kepsilon.auditing.case import AuditCase
from kepsilon.auditing.classes import NOWHERE
from kepsilon.auditing.comparison import compare
from kepsilon.auditing.findings import Findings, quoted
from kepsilon.auditing.noise import n_taken_out_with_class
from kepsilon.auditing.stated_laws import why_not_judged
from kepsilon.json_values import Json, json_of
from kepsilon.policy.choices import ALGORITHMS
from kepsilon.special_files import special_kind
from kepsilon.table.arrays import FloatArray

MOST_NAMED = 12
"""Wrong figures that a finding names one by one."""


def check_files_beside(case: AuditCase, path: Path) -> None:
    """Compares the manifest and the curator's record beside the file of the release, if they are there.

    This check comes after the attacks, because it compares their figures.
    """
    released, findings = case.released, case.findings
    known = _recomputed(case)
    known["digest"] = _digest(path)
    known["reidentification"] = json_of(findings.figures.reidentification)
    attacks = findings.figures.attacks
    if "linking_risk" in known and attacks is not None and attacks.records_attacked == released.n_records:
        nearest = attacks.realised[NEAREST]
        known["linking_risk"] |= {
            "realised": nearest,
            "realised_paper_ties": attacks.realised_paper_ties,
            "largest": attacks.largest_posterior,
            "over_half": attacks.over_half,
            "over_nine_tenths": attacks.over_nine_tenths,
        }
        known["linking_risk"]["per_original"]["realised"] = nearest * released.n_records / case.original.n_records
    for kind, what in (("manifest", "the manifest"), ("curator", "the curator's record")):
        beside = path.with_name(f"{path.name}.{kind}.json")
        if not beside.exists():
            if kind == "manifest":
                findings.note(
                    "manifest", "there is no manifest beside the release, so that nothing it says was checked."
                )
            continue
        document = _read(beside)
        if document is None:
            findings.broken(kind, f"{what} cannot be read.")
            continue
        if document.get("seeded"):
            findings.warning(
                kind, f"{what} says that the noise was seeded: whoever knows the seed can undo it. Do not publish it."
            )
        found = compare(document, known, case.policy, is_rounded=kind == "manifest")
        named = ", ".join(quoted(path, most=80) for path in found.wrong[:MOST_NAMED])
        if len(found.wrong) > MOST_NAMED:
            named += f" and {len(found.wrong) - MOST_NAMED:,} more"
        findings.require(
            not found.wrong,
            kind,
            right=f"{what} holds as far as it was compared: {', '.join(found.compared)}.",
            wrong=f"{what} is wrong about {named}.",
        )


def check_digest_only(path: Path, findings: Findings) -> None:
    """Checks the manifest's digest alone, for a release whose classes could not be found."""
    beside = path.with_name(f"{path.name}.manifest.json")
    if not beside.exists():
        return
    document = _read(beside)
    if document is None:
        findings.broken("manifest", "the manifest cannot be read.")
    elif document.get("digest") != _digest(path):
        findings.broken("manifest", "the manifest is wrong about digest: it is not that of this file.")


def _read(path: Path) -> Json | None:
    """A JSON object; None if the file holds none, or one nested too deep to read."""
    if special_kind(path) is not None:
        return None
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _digest(path: Path) -> str:
    """SHA-256 of a file; of a folder, SHA-256 of what `sha256sum *` prints inside it."""
    if path.is_dir():
        files = sorted(file.name for file in path.iterdir())
        listed = "".join(f"{_digest(path / name).removeprefix('sha256:')}  {name}\n" for name in files)
        return "sha256:" + hashlib.sha256(listed.encode()).hexdigest()
    with path.open("rb") as file:
        return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()


def _recomputed(case: AuditCase) -> Json:
    """Every figure that can be worked out again, under the keys of the record; a tuple where several values are right."""
    policy, original, classes = case.policy, case.original, case.classes
    n_released, sizes = case.released.n_records, classes.n_released
    known: Json = {
        "guarantee": {"k": policy.k, "epsilon": policy.epsilon, "confidence": policy.confidence},
        "records": {
            "read": original.n_records,
            "released": n_released,
            **_suppressed(case),
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
    # Figures computed before confident k include classes that it took out as a whole, which are not known here.
    is_complete = classes.all_known and n_taken_out_with_class(case) == 0
    if classes.dm_star is not None:
        known["loss"]["dm*"] = classes.dm_star
    elif is_complete and not ALGORITHMS[policy.algorithm].may_suppress:
        known["loss"]["dm*"] = int(np.sum(classes.n_originals.astype(object) ** 2))
    if classes.nodes is not None:
        by_attribute = zip(original.domains, zip(*classes.nodes, strict=True), strict=True) if original.domains else ()
        known["levels"] = {name: tuple(dict.fromkeys(levels)) for name, levels in by_attribute}
    is_unambiguous = is_complete if classes.nodes is None else len(classes.nodes) == 1
    if policy.confidence is None and classes.nodes is None:
        is_unambiguous = True  # classes are released whole, so that labels tell all
    if is_unambiguous and not np.isnan(classes.losses).any():
        mean = sum(classes.losses) / len(classes.losses) if classes.losses else 0.0
        known["loss"]["precision"] = {**dict(zip(original.domains, classes.losses, strict=True)), "overall": mean}
    if is_complete:
        known |= _figures_of_noise(case)
    return known


def _suppressed(case: AuditCase) -> Json:
    """Numbers of records suppressed by k and by confident k; empty where these cannot be told apart."""
    n_left_out = case.original.n_staying - case.released.n_records
    if case.classes.n_suppressed is not None:
        by_k = case.classes.n_suppressed
    elif not ALGORITHMS[case.policy.algorithm].may_suppress:
        by_k = 0
    elif case.policy.confidence is None:
        by_k = n_left_out
    else:
        return {}
    return {"suppressed_by_k": by_k, "suppressed_by_confidence": n_left_out - by_k}


def _figures_of_noise(case: AuditCase) -> Json:
    """Errors, clipped values, constant classes and linking risk; realised figures only with a linkage."""
    policy, original, classes, noise, linkage = case.policy, case.original, case.classes, case.noise, case.linkage
    belongs = np.flatnonzero(classes.of_original != NOWHERE)
    ids = classes.of_original[belongs]
    size = (noise.n_active + 1) / 2 / case.epsilon
    is_stated = why_not_judged(policy) is None
    errors: Json = {}
    for j, name in enumerate(policy.epsilon_quasis):
        own = original.numbers[name][belongs]
        present = ~np.isnan(own)
        expected = (noise.ranges[:, j] * size)[ids]
        figures: Json = {"zeros_left_out": int(np.count_nonzero(own[present] == 0))}
        counted = present & (own != 0)
        width = float(own[present].max() - own[present].min()) if present.any() else 0.0
        if is_stated:
            with np.errstate(over="ignore"):
                relative = _mean(expected[counted] / np.abs(own[counted]))
            figures["expected_relative"] = relative
            if relative is not None:
                figures["uniform_equivalent"] = 2 * relative
                figures["epsilon_for_uniform_5_percent"] = relative * case.epsilon / 0.025
            figures["range_relative"] = _mean(expected[present] / width) if width > 0 else None
        if linkage is not None:
            before, after = original.numbers[name][linkage.original_row], case.released.numbers[name]
            moved = np.abs(after - before)
            counted = ~np.isnan(before) & (before != 0)
            with np.errstate(over="ignore"):
                figures["realised_relative"] = _mean(moved[counted] / np.abs(before[counted]))
            present = ~np.isnan(before)
            figures["realised_range_relative"] = _mean(moved[present] / width) if width > 0 else None
        errors[name] = figures
    known: Json = {
        "error": errors,
        "clipped": noise.n_clipped,
        "constant_classes": {
            name: int(np.count_nonzero(noise.ranges[:, j] == 0)) for j, name in enumerate(policy.epsilon_quasis)
        },
    }
    if len(policy.epsilon_quasis) == 1 and is_stated:
        links, paper = expected_links(case)
        n = int(classes.n_originals.sum())  # expected figures are means over the records that get noise
        known["linking_risk"] = {
            "expected": links / n,
            "expected_paper_ties": paper / n,
            "per_original": {"expected": links / original.n_records},
        }
    return known


def _mean(values: FloatArray) -> float | None:
    """The mean; None where there is no value or the mean is not finite."""
    if not values.size:
        return None
    mean = float(np.mean(values))
    return mean if math.isfinite(mean) else None
