# SPDX-License-Identifier: Apache-2.0
"""Checks the curator's record beside a release: every figure in it that can be worked out again.

Keys that this module does not know are not checked; the public manifest is checked in `public_manifest`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from kepsilon.auditing.attacks import NEAREST
from kepsilon.auditing.case import AuditCase
from kepsilon.auditing.classes import NOWHERE
from kepsilon.auditing.comparison import Between, Comparison, compare
from kepsilon.auditing.digests import digest_of
from kepsilon.auditing.expected_links import expected_links
from kepsilon.auditing.findings import quoted
from kepsilon.auditing.group_figures import compare_form_of_groups, figures_of_groups
from kepsilon.auditing.label_losses import losses_of_labels
from kepsilon.auditing.person_figures import compare_homogeneity, known_persons
from kepsilon.auditing.person_links import realised_links
from kepsilon.auditing.residuals import n_taken_out_with_class
from kepsilon.auditing.single_risk import ROUNDING
from kepsilon.auditing.stated_attackers import compare_attackers
from kepsilon.auditing.stated_laws import why_not_judged
from kepsilon.auditing.stated_verdicts import compare_verdicts
from kepsilon.auditing.survival import compare_survival
from kepsilon.json_values import Json, json_of
from kepsilon.policy.guarantee import statement
from kepsilon.special_files import special_kind
from kepsilon.table.arrays import FloatArray

SMALLEST_RANGE = 1e-290
"""Ranges below this, divided by ε and by values, may leave too few binary digits to compare nine decimal ones."""

MOST_NAMED = 12
"""Wrong figures that a finding names one by one."""

LARGEST_EXACT = 1_024
"""Records of a class, at most, for which the record has the largest possible risks exactly, with several ε-quasis."""


def check_record(case: AuditCase, path: Path) -> None:
    """Compares the curator's record beside the file of the release, if it is there.

    This check comes after the attacks, because it compares their figures.
    """
    beside = path.with_name(f"{path.name}.curator.json")
    if not beside.exists():
        return
    released, findings = case.released, case.findings
    document = _read(beside)
    if document is None:
        findings.broken("curator", "the curator's record cannot be read.")
        return
    if document.get("seeded"):
        findings.warning(
            "curator",
            "the curator's record says that the noise was seeded: whoever knows the seed can undo it. Do not publish the "
            "release.",
        )
    known = _recomputed(case)
    known["digest"] = digest_of(path)
    if findings.figures.reidentification is not None:
        known["reidentification"] = json_of(findings.figures.reidentification)
    attacks = findings.figures.attacks
    if (
        "expected" in known.get("linking_risk", {})
        and attacks is not None
        and NEAREST in attacks.realised
        and attacks.records_attacked == released.n_records
    ):
        nearest: float | Between = attacks.realised[NEAREST]
        paper_ties: float | Between = attacks.realised_paper_ties
        per_original = released.n_records / case.original.n_records
        if attacks.in_doubt is not None:
            nearest = Between(attacks.in_doubt.least, attacks.in_doubt.most)
            paper_ties = Between(attacks.in_doubt.least_paper_ties, attacks.in_doubt.most_paper_ties)
        known["linking_risk"] |= {
            "realised": nearest,
            "realised_paper_ties": paper_ties,
        }
        if _has_digits(case, 0):
            known["linking_risk"] |= {
                "largest": attacks.largest_posterior,
                "over_half": attacks.over_half,
                "over_nine_tenths": attacks.over_nine_tenths,
            }
        known["linking_risk"]["per_original"]["realised"] = nearest * per_original
    if case.policy.person is not None and case.policy.averages is None:
        known.setdefault("linking_risk", {}).update(realised_links(case))
    found = compare(document, known, case.policy)
    _compare_form_of_persons(case, document, found)
    compare_form_of_groups(case, document, found)
    compare_homogeneity(case, document, found)
    compare_survival(case, document, found)
    compare_attackers(case, document, known, found)
    compare_verdicts(case, document, known, found)
    _hold_against_largest(case, document, found)
    named = ", ".join(quoted(path, most=80) for path in found.wrong[:MOST_NAMED])
    if len(found.wrong) > MOST_NAMED:
        named += f" and {len(found.wrong) - MOST_NAMED:,} more"
    findings.require(
        not found.wrong,
        "curator",
        right=f"the curator's record holds as far as it was compared: {', '.join(found.compared)}.",
        wrong=f"the curator's record is wrong about {named}.",
    )


def _compare_form_of_persons(case: AuditCase, document: Json, found: Comparison) -> None:
    """Requires figures of persons where the policy names them, and none where it does not."""
    stated = document.get("persons")
    if case.policy.person is None:
        found.require(stated is None, "persons")
        return
    found.require(
        isinstance(stated, Mapping) and {"count", "fewest_in_a_class", "records_per_person"} <= set(stated), "persons"
    )
    expected = "how many links to persons were expected, and " if case.policy.averages is None else ""
    case.findings.note(
        "curator",
        f"not tried: {expected}the links to persons of whoever knows kept columns or joins equal values. Whoever knows more "
        "than the quasis links a record to its original in the audit's own table.",
    )


def _hold_against_largest(case: AuditCase, document: Json, found: Comparison) -> None:
    """Compares what the record calls the largest possible risks with the release, and where it is a bound, with our own.

    No probability of this release may be above what the record says was possible, for any noise. With several ε-quasis the
    record has bounds for large classes, so that they may be above the figures that were worked out again, and not below.
    """
    stated = document.get("linking_risk")
    if not isinstance(stated, Mapping):
        return
    figures = case.findings.figures
    attacks, largest = figures.attacks, figures.largest_risks
    for key, realised, least in (
        (
            "largest_possible",
            None if attacks is None else attacks.largest_posterior,
            None if largest is None else largest.of_one,
        ),
        (
            "largest_possible_by_matching",
            None if attacks is None else attacks.largest_by_matching,
            None if largest is None else largest.by_matching,
        ),
    ):
        possible = stated.get(key)
        if not isinstance(possible, int | float) or isinstance(possible, bool):
            continue  # a record of version 0.1 has none, and what else stands there is compared where it is known
        at_most = float(max(0, min(possible, 2))) * ROUNDING  # a forged number may be too large for a double
        if least is not None:
            found.require(least <= at_most, f"linking_risk.{key}")
        if realised is not None and not realised <= at_most:
            case.findings.broken(
                "curator",
                f"a record of this release has its own original more probable than the curator's record says any noise can "
                f"make it (linking_risk.{key}).",
            )


def _read(path: Path) -> Json | None:
    """A JSON object; None if the file holds none, or one nested too deep to read."""
    if special_kind(path) is not None:
        return None
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _recomputed(case: AuditCase) -> Json:
    """Every figure that can be worked out again, under the keys of the record; a tuple where several values are right."""
    policy, original, classes = case.policy, case.original, case.classes
    n_released, sizes = case.released.n_records, classes.n_released
    known: Json = {
        "guarantee": {
            "statement": statement(policy),
            "k": policy.k,
            "epsilon": policy.epsilon if policy.draws_noise else None,
            "confidence": policy.confidence,
        },
        "records": {
            "read": original.n_records,
            "released": n_released,
            **_suppressed(case),
            "suppressed_missing": original.n_missing,
            "suppressed_unlisted": original.n_unlisted,
            "suppressed_by_cap": original.n_by_cap,
        },
        "persons": known_persons(case),
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
    elif is_complete and not policy.may_suppress:
        known["loss"]["dm*"] = int(np.sum(classes.n_originals.astype(object) ** 2))
    if classes.levels is not None:
        known["levels"] = dict(zip(original.domains, classes.levels, strict=True))
    is_unambiguous = is_complete if classes.levels is None else all(len(levels) == 1 for levels in classes.levels)
    if not original.is_exact and (classes.levels is None or original.has_open_labels):
        is_unambiguous = False  # how much a label loses depends on which values were counted
    if policy.confidence is None and classes.levels is None and original.is_exact:
        is_unambiguous = True  # classes are released whole, so that labels tell all
    if is_unambiguous and not np.isnan(classes.losses).any():
        mean = sum(classes.losses) / len(classes.losses) if classes.losses else 0.0
        known["loss"]["precision"] = {**dict(zip(original.domains, classes.losses, strict=True)), "overall": mean}
        if original.is_exact and (is_complete or classes.levels is None):
            known["loss"] |= losses_of_labels(case)
    if is_complete:
        known |= _figures_of_noise(case) if policy.averages is None else figures_of_groups(case)
    return known


def _suppressed(case: AuditCase) -> Json:
    """Numbers of records suppressed by k and by confident k; empty where these cannot be told apart."""
    n_left_out = case.original.n_staying - case.released.n_records
    if case.classes.n_suppressed is not None:
        by_k = case.classes.n_suppressed
    elif not case.policy.may_suppress:
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
    for j, (name, attribute) in enumerate(policy.epsilon_quasis.items()):
        own = original.numbers[name][belongs]
        present = ~np.isnan(own)
        expected = (noise.ranges[:, j] * size)[ids]
        figures: Json = {"zeros_left_out": int(np.count_nonzero(own[present] == 0))}
        counted = present & (own != 0)
        width = float(own[present].max() - own[present].min()) if present.any() else 0.0
        # Where values are clamped to a domain, or were clipped, the mean error is not that of noise alone.
        has_digits = _has_digits(case, j)
        if is_stated and has_digits and attribute.domain is None and not noise.n_clipped.get(name):
            with np.errstate(over="ignore"):
                relative = _mean(expected[counted] / np.abs(own[counted]))
            figures["expected_relative"] = relative
            if relative is not None:
                figures["uniform_equivalent"] = 2 * relative
                figures["epsilon_for_uniform_5_percent"] = relative * policy.stated_epsilon / 0.025
            figures["range_relative"] = _over(_mean(expected[present]), width)
        if linkage is not None and has_digits:
            before, after = original.numbers[name][linkage.original_row], case.released.numbers[name]
            moved = np.abs(after - before)
            counted = ~np.isnan(before) & (before != 0)
            with np.errstate(over="ignore"):
                figures["realised_relative"] = _mean(moved[counted] / np.abs(before[counted]))
            present = ~np.isnan(before)
            figures["realised_range_relative"] = _over(_mean(moved[present]), width)
        errors[name] = figures
    known: Json = {
        "error": errors,
        "clipped": noise.n_clipped,
        "constant_classes": {
            name: int(np.count_nonzero(noise.ranges[:, j] == 0)) for j, name in enumerate(policy.epsilon_quasis)
        },
    }
    if len(policy.epsilon_quasis) == 1 and is_stated and policy.person is None:  # otherwise links are to persons
        links, paper = expected_links(case)
        n = int(classes.n_originals.sum())  # expected figures are means over the records that get noise
        known["linking_risk"] = {
            "expected": links / n,
            "expected_paper_ties": paper / n,
            "per_original": {"expected": links / original.n_records},
        }
    largest = case.findings.figures.largest_risks
    is_exact = policy.person is None and int(classes.n_originals.max()) <= LARGEST_EXACT
    if policy.draws_once_per_person:
        return known  # joined records may give a person away more than any one record does
    if largest is not None and (len(policy.epsilon_quasis) < 2 or is_exact):
        known.setdefault("linking_risk", {}).update(
            largest_possible=largest.of_one, largest_possible_by_matching=largest.by_matching
        )
    return known


def _has_digits(case: AuditCase, j: int) -> bool:
    """Whether no range of the j-th ε-quasi is so small that figures in its units have too few digits to be compared."""
    ranges = case.noise.ranges[:, j]
    return not ((ranges > 0) & (ranges < SMALLEST_RANGE)).any()


def _over(mean: float | None, width: float) -> float | None:
    """The mean in units of a range; None where there is none, or where the quotient is not finite."""
    if mean is None or not width > 0:
        return None
    share = mean / width
    return share if math.isfinite(share) else None


def _mean(values: FloatArray) -> float | None:
    """The mean; None where there is no value or the mean is not finite."""
    if not values.size:
        return None
    mean = float(np.mean(values))
    return mean if math.isfinite(mean) else None
