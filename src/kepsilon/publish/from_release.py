# SPDX-License-Identifier: Apache-2.0
"""Works the public manifest out from a release alone, without its original."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np

from kepsilon.engines.arrow.audited import AuditedTable, empty_as_null
from kepsilon.errors import DataError, Problem, guarded
from kepsilon.files.digests import digest
from kepsilon.policy.policy import Policy
from kepsilon.policy.roles import EpsilonQuasi, fraction
from kepsilon.publish.manifest import Making, Manifest, ReleasedClasses, manifest_of
from kepsilon.publish.outputs import manifest_path
from kepsilon.stopwatch import ignore_step
from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.codes import Label
from kepsilon.table.keys import number
from kepsilon.version import __version__

A_VERSION = re.compile(r"[0-9]+(\.[0-9]+){1,3}((a|b|rc|\.dev|\.post)[0-9]+)?")


def ignore_note(note: str) -> None:
    """Does nothing."""


@guarded
def manifest(
    released: object,
    policy: Policy,
    *,
    on_step: Callable[[str], None] = ignore_step,
    on_note: Callable[[str], None] = ignore_note,
) -> Manifest:
    """The public manifest of a release, worked out from the release and its policy alone.

    `released` is a path or a frame; a frame has no digest. The day, the version and whether there was a seed cannot be
    seen in a release: they are taken from the manifest beside it. Without one they are today, this version and no seed,
    and `on_note` is told so. DataError if the table cannot be a release under the policy.
    """
    on_step("read")
    table = AuditedTable(released, is_release=True)
    problems = list(_wrong_columns(table.column_names, policy, table.name))
    if problems:
        raise DataError(problems)
    if table.n_records == 0:
        raise DataError(Problem(where=table.name, what="has a header, but no records."))
    labels = {name: empty_as_null(*table.texts(name)) for name in policy.k_quasis}
    numbers = {name: table.numbers(name) for name in policy.epsilon_quasis}
    on_step("count")
    problems = [
        problem
        for name, attribute in policy.epsilon_quasis.items()
        for problem in _wrong_numbers(numbers[name], attribute, where=f'{table.name}: column "{name}"')
    ]
    counted = _counted(labels, numbers, policy, n_records=table.n_records)
    n_small = int(np.count_nonzero(counted.sizes < policy.k)) if policy.k_quasis else 0
    if n_small:
        problems.append(
            _not_a_release(table.name, f"{n_small:,} combinations of its k-quasis occur fewer than {policy.k} times")
        )
    if problems:
        raise DataError(problems)
    on_step("manifest")
    path = table.path
    own_digest = None if path is None else f"sha256:{digest(path)}"
    making = _making(path, own_digest, on_note)
    try:
        return manifest_of(policy, counted, making, digest=own_digest)
    except DataError as error:
        raise DataError(
            [Problem(where=f"{table.name}: {p.where}", what=p.what, fix=p.fix) for p in error.problems]
        ) from None


def _wrong_columns(names: tuple[str, ...], policy: Policy, source: str) -> Iterator[Problem]:
    """What is wrong with the names of the columns; a name that is not the policy's is never repeated, it may be a value."""
    published = [*policy.k_quasis, *policy.epsilon_quasis, *policy.kept]
    if not any(name in published for name in names):
        yield Problem(
            where=source,
            what="none of the columns to publish is among its column names.",
            fix="Is this the right file, and does it have a header line?",
        )
        return
    for name in published:
        times = names.count(name)
        if times != 1:
            how = f'has no column "{name}"' if not times else f'has {times} columns named "{name}"'
            yield _not_a_release(source, how)
    for name in policy.identifiers:
        if name in names:
            yield Problem(
                where=source,
                what=f'has a column "{name}", which is an identifier: this is no release.',
                fix="Give the released table, not the original.",
            )
    n_others = sum(name not in policy.attributes for name in names)
    if n_others:
        columns = "columns that are" if n_others > 1 else "column that is"
        yield _not_a_release(source, f"has {n_others} {columns} no attribute of the policy")


def _wrong_numbers(values: FloatArray, attribute: EpsilonQuasi, *, where: str) -> Iterator[Problem]:
    """What keeps numbers from being published values of an ε-quasi."""
    is_missing = np.isnan(values)
    if attribute.missing != "class" and is_missing.any():
        yield _not_a_release(where, f"{int(np.count_nonzero(is_missing)):,} values are missing")
    present = values[~is_missing]
    step = fraction(attribute.precision)
    with np.errstate(all="ignore"):
        nearest = np.rint(present * step.denominator / step.numerator) * float(step.numerator) / float(step.denominator)
    n_off = int(np.count_nonzero(nearest != present))
    if n_off:
        yield _not_a_release(where, f"{n_off:,} values are no multiples of its precision")
    if attribute.domain is not None:
        low, high = (float(fraction(bound)) for bound in attribute.domain)
        n_beyond = int(np.count_nonzero((present < low) | (present > high)))
        if n_beyond:
            yield _not_a_release(where, f"{n_beyond:,} values are outside its domain")


def _not_a_release(where: str, what: str) -> Problem:
    return Problem(
        where=where,
        what=f"{what}, so this is no release under the policy.",
        fix="Use the policy that the release was made with.",
    )


def _counted(
    labels: dict[str, tuple[tuple[Label, ...], IntArray]],
    numbers: dict[str, FloatArray],
    policy: Policy,
    *,
    n_records: int,
) -> ReleasedClasses:
    """The classes of a release: records that show the same labels and lack the same ε-values.

    `labels` gives, by k-quasi, the distinct labels and the position of every record's label among them.
    """
    columns, sizes, distinct = [], [], {}
    for name, (texts, codes) in labels.items():
        columns.append(codes)
        sizes.append(len(texts))
        distinct[name] = texts
    for name, attribute in policy.epsilon_quasis.items():
        if attribute.missing == "class":
            columns.append(np.isnan(numbers[name]).astype(np.int64))
            sizes.append(2)
    class_of, n_classes = number(columns, sizes=sizes, length=n_records)
    return ReleasedClasses(sizes=np.bincount(class_of, minlength=n_classes), labels=distinct)


def _making(path: Path | None, own_digest: str | None, on_note: Callable[[str], None]) -> Making:
    """What the manifest beside a release says about how it was made, or what is said where there is none."""
    stated = None if path is None else _stated(manifest_path(path))
    if stated is None:
        on_note(
            "no manifest beside the release says when and how it was made: `created` is today, `kepsilon_version` is this "
            "version, and `seeded` is false. If a seed was used, that is wrong."
        )
        return Making(kepsilon_version=__version__, created=datetime.now(UTC).date().isoformat(), seeded=False)
    making, its_digest = stated
    if its_digest != own_digest:
        on_note(
            "`created`, `kepsilon_version` and `seeded` are those of the manifest beside the release, whose digest is that "
            "of another file."
        )
    return making


def _stated(path: Path) -> tuple[Making, object] | None:
    """What a manifest says about the making of its release, and its digest; None if it cannot be read."""
    try:
        document: Any = json.loads(path.read_text(encoding="utf-8"))
        created = date.fromisoformat(str(document["created"])[: len("2026-11-16")]).isoformat()
        version, seeded = document["kepsilon_version"], document["seeded"]
    except (OSError, ValueError, RecursionError, LookupError, TypeError):
        return None
    if not isinstance(version, str) or not A_VERSION.fullmatch(version) or not isinstance(seeded, bool):
        return None
    return Making(kepsilon_version=version, created=created, seeded=seeded), document.get("digest")
