# SPDX-License-Identifier: Apache-2.0
"""Works out again, from policy and release alone, all that the public manifest may say, and compares it key by key."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from kepsilon.auditing.digests import digest_of
from kepsilon.auditing.findings import Findings, counted
from kepsilon.auditing.label_levels import lowest_level
from kepsilon.auditing.public_bounds import Form, bounds_of
from kepsilon.auditing.tables import Released
from kepsilon.json_values import Json
from kepsilon.policy.choices import ALGORITHMS
from kepsilon.policy.guarantee import range_in_words, statement
from kepsilon.policy.policy import Policy
from kepsilon.special_files import special_kind
from kepsilon.table.arrays import IntArray

MOST_NAMED = 12
"""Wrong keys that a finding names one by one."""

OF_THE_CURATOR = frozenset(
    {
        "engine", "clipped", "constant_classes", "loss", "error", "linking_risk", "reidentification", "confident_k",
        "seconds", "attackers", "kept_columns", "persons", "groups", "homogeneity", "population_risk", "verdicts", "verdict",
        "records.read", "records.suppressed_by_k", "records.suppressed_by_confidence", "records.suppressed_missing",
        "records.suppressed_unlisted", "records.suppressed_by_cap", "policy.max_total_suppression",
        "policy.max_individual_risk", "policy.max_risk", "policy.missing_values", "policy.decimal",
    }
)  # fmt: skip
"""Keys that stand in the curator's record and never in a manifest."""

OF_THE_CURATORS_HIERARCHIES = ("path", "levels")
"""Keys of a hierarchy in the policy that never stand in a manifest."""

OF_THE_CURATORS_ATTRIBUTES = ("missing_values",)
"""Keys of an attribute in the policy that never stand in a manifest."""


class StatedTwiceError(ValueError):
    """A JSON object has one key twice, so that readers disagree on what it says."""


def check_manifest(path: Path, policy: Policy, findings: Findings, *, released: Released | None) -> None:
    """Compares the manifest beside a release with what policy and release give.

    `released` is None for a release that could not be read as one; then only what follows from policy and file is compared.
    """
    beside = path.with_name(f"{path.name}.manifest.json")
    if not beside.exists():
        findings.note("manifest", "there is no manifest beside the release, so that nothing it says was checked.")
        return
    try:
        text = _text_of(beside)
        document = json.loads(text, object_pairs_hook=_each_key_once)
    except StatedTwiceError:
        findings.broken("manifest", "the manifest states a key twice, so that it does not say one thing.")
        return
    except (OSError, ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        findings.broken("manifest", "the manifest cannot be read.")
        return
    if document.get("seeded") is True:
        findings.warning(
            "manifest",
            "the manifest says that the noise was seeded: whoever knows the seed can undo it. Do not publish it.",
        )
    expected = worked_out(path, policy, released)
    sound = True
    for what in _faults(document, expected):
        findings.broken("manifest", what)
        sound = False
    if sound and released is not None:
        findings.passed(
            "manifest",
            "the manifest holds: every key of it follows from policy and release, apart from created, kepsilon_version and "
            "seeded, which have the form they should.",
        )
    if sound and (_written(document) != text or not _in_order(document, expected)):
        findings.warning(
            "manifest",
            "the manifest is written in another way than kepsilon writes it; the order of keys, blanks and digits can tell "
            "something. `kepsilon manifest` writes it as it should be.",
        )


def stated_levels(path: Path) -> dict[str, int]:
    """Levels of k-quasis that the files beside a release state; empty where there is none that can be read.

    The curator's record has those that were chosen, the manifest the lowest that the labels can be of.
    """
    for kind in ("curator", "manifest"):
        try:
            document = json.loads(_text_of(path.with_name(f"{path.name}.{kind}.json")))
        except (OSError, ValueError, RecursionError):
            continue
        levels = document.get("levels") if isinstance(document, dict) else None
        if isinstance(levels, dict):
            return {str(name): level for name, level in levels.items() if isinstance(level, int)}
    return {}


def _text_of(path: Path) -> str:
    """The text of a file; OSError for what is no file, such as a pipe, which would never end."""
    if special_kind(path) is not None:
        raise OSError
    return path.read_text(encoding="utf-8")


def worked_out(path: Path, policy: Policy, released: Released | None) -> Json:
    """The whole manifest; a `Form` where only the form of a value is known, or anything will do."""
    known: Json = {
        "kepsilon_version": Form(_is_version),
        "created": Form(_is_day),
        "policy": _public_policy(policy),
        "guarantee": {
            "statement": statement(policy),
            "k": policy.k,
            "epsilon": policy.epsilon if policy.draws_noise else None,
            "confidence": policy.confidence,
            "ranges": {name: range_in_words(attribute) for name, attribute in policy.epsilon_quasis.items()}
            if policy.draws_noise
            else {},
        },
        "seeded": Form(lambda stated: isinstance(stated, bool)),
        "digest": digest_of(path),
    }
    if released is None:
        rest = ["records", "classes", *(["levels"] if ALGORITHMS[policy.algorithm].has_levels else []), "bounds"]
        known |= dict.fromkeys(rest, Form(lambda stated: isinstance(stated, Mapping)))
        return known | {"accepted_leaks": policy.accepted_leaks, "accepted_useless": policy.accepted_useless}
    sizes = _class_sizes(released, policy)
    known["records"] = {"released": released.n_records}
    known["classes"] = {
        "count": len(sizes),
        "smallest": int(sizes.min()),
        "largest": int(sizes.max()),
        "mean": round(released.n_records / len(sizes), 2),
    }
    if ALGORITHMS[policy.algorithm].has_levels:
        known["levels"] = {
            name: lowest_level(attribute.hierarchy, released.labels[name][0])
            for name, attribute in policy.k_quasis.items()
        }
    known["bounds"] = bounds_of(policy, sizes)
    known["accepted_leaks"] = policy.accepted_leaks
    known["accepted_useless"] = policy.accepted_useless
    return known


def _public_policy(policy: Policy) -> Json:
    """The policy without what only the curator may know, and without ε and ranges that no noise follows."""
    document = policy.model_dump(mode="json", exclude_none=True)
    if not policy.draws_noise:
        document.pop("epsilon", None)
        for name in policy.epsilon_quasis:
            document["attributes"][name].pop("range", None)
    attributes = {}
    for name, attribute in document["attributes"].items():
        own = {key: value for key, value in attribute.items() if key not in OF_THE_CURATORS_ATTRIBUTES}
        if "hierarchy" in own:
            pairs = own["hierarchy"].items()
            own["hierarchy"] = {key: value for key, value in pairs if key not in OF_THE_CURATORS_HIERARCHIES}
        attributes[name] = own
    rest = {key: value for key, value in document.items() if f"policy.{key}" not in OF_THE_CURATOR}
    return {**rest, "attributes": attributes}


def _class_sizes(released: Released, policy: Policy) -> IntArray:
    """Records of every class, by sorting: those that show the same labels and lack the same values."""
    columns = [released.labels[name][1] for name in policy.k_quasis]
    columns += [
        np.isnan(released.numbers[name]).astype(np.int64)
        for name, attribute in policy.epsilon_quasis.items()
        if attribute.missing == "class"
    ]
    if not columns:
        return np.array([released.n_records])
    order = np.lexsort(columns)
    is_new = np.zeros(released.n_records, dtype=np.bool_)
    is_new[0] = True
    for column in columns:
        is_new[1:] |= np.diff(column[order]) != 0
    sizes: IntArray = np.diff(np.append(np.flatnonzero(is_new), released.n_records))
    return sizes


def _faults(document: Json, expected: Json) -> Iterator[str]:
    """What is wrong with a manifest, in sentences that repeat none of its values and no key that is not known."""
    compared = list(_differences(document, expected, ""))
    private = [found.where for found in compared if found.kind == "extra" and _is_the_curators(found.where)]
    if private:
        yield (
            f"the manifest tells what only the curator may know, under {_listed(private)}. "
            "Such figures depend on the true values of everybody. Is it the curator's record? Do not give it away; "
            "`kepsilon manifest` writes the manifest anew."
        )
    n_unknown = sum(found.kind == "extra" for found in compared) - len(private)
    if n_unknown:
        yield (
            f"the manifest has {counted(n_unknown, 'key', 'keys')} that no manifest has; they are not shown, because they "
            "may hold a value of a record."
        )
    wrong = [found.where + " (not there)" * (found.kind == "absent") for found in compared if found.kind != "extra"]
    if wrong:
        yield f"the manifest is wrong about {_listed(wrong)}."


@dataclass(frozen=True, slots=True)
class _Difference:
    """One key that is not as it should be."""

    kind: str
    """`extra`, `absent` or `wrong`."""
    where: str
    """The path of the key, such as `records.released`."""


def _differences(stated: Any, expected: Any, where: str) -> Iterator[_Difference]:
    """Every difference between a document and what is expected of it, by path."""
    if isinstance(expected, Form):
        if not expected.fits(stated):
            yield _Difference("wrong", where)
    elif isinstance(expected, Mapping):
        if not isinstance(stated, Mapping):
            yield _Difference("wrong", where)
            return
        for key in stated:
            if key not in expected:
                yield _Difference("extra", _joined(where, key))
        for key, own in expected.items():
            if key not in stated:
                yield _Difference("absent", _joined(where, key))
            else:
                yield from _differences(stated[key], own, _joined(where, key))
    elif not _same(stated, expected):
        yield _Difference("wrong", where)


def _joined(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key


def _same(stated: Any, expected: Any) -> bool:
    """Whether two JSON values are the same; numbers by value, to the last digit."""
    if isinstance(expected, list | tuple):
        return (
            isinstance(stated, list)
            and len(stated) == len(expected)
            and all(_same(one, other) for one, other in zip(stated, expected, strict=True))
        )
    if isinstance(expected, Mapping):
        return isinstance(stated, Mapping) and not list(_differences(stated, expected, ""))
    if isinstance(expected, bool) or isinstance(stated, bool) or expected is None:
        return stated is expected
    return type(stated) in (int, float, str) and bool(stated == expected)


def _is_the_curators(where: str) -> bool:
    keys = where.split(".")
    is_of_attribute = where.startswith("policy.attributes.") and keys[-1] in OF_THE_CURATORS_ATTRIBUTES
    is_of_hierarchy = keys[-2:] in [["hierarchy", key] for key in OF_THE_CURATORS_HIERARCHIES]
    return where in OF_THE_CURATOR or is_of_attribute or is_of_hierarchy


def _listed(paths: list[str]) -> str:
    """Paths for a finding, some of them if there are many."""
    named = ", ".join(paths[:MOST_NAMED])
    return named if len(paths) <= MOST_NAMED else f"{named} and {len(paths) - MOST_NAMED:,} more"


def _is_version(stated: Any) -> bool:
    return isinstance(stated, str) and bool(
        re.fullmatch(r"[0-9]{1,4}(\.[0-9]{1,4}){1,3}((a|b|rc|\.dev|\.post)[0-9]{1,4})?", stated)
    )


def _is_day(stated: Any) -> bool:
    if not isinstance(stated, str) or not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", stated):
        return False
    try:
        date.fromisoformat(stated)
    except ValueError:
        return False
    return True


def _each_key_once(pairs: list[tuple[str, Any]]) -> Json:
    """A JSON object; refused if it has a key twice, of which readers see only one."""
    if len({key for key, _ in pairs}) < len(pairs):
        raise StatedTwiceError
    return dict(pairs)


def _written(document: Json) -> str:
    """A document as kepsilon writes it."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _in_order(stated: Any, expected: Any) -> bool:
    """Whether the keys of two documents with the same keys come in the same order."""
    if not isinstance(stated, Mapping) or not isinstance(expected, Mapping):
        return True
    return list(stated) == list(expected) and all(_in_order(stated[key], expected[key]) for key in expected)
