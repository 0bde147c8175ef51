# SPDX-License-Identifier: Apache-2.0
"""Reads the release and checks its columns: those of the policy, no identifier's values, and well-formed numbers."""

from __future__ import annotations

from collections import Counter

import numpy as np

from kepsilon.auditing.findings import Findings, counted, quoted
from kepsilon.auditing.tables import Original, Released
from kepsilon.auditing.tail_bounds import chernoff_bound
from kepsilon.engines.arrow.audited import AuditedTable, empty_as_null
from kepsilon.errors import DataError, Problem
from kepsilon.policy.policy import Policy
from kepsilon.policy.roles import fraction

HARMLESS_METADATA = ("ARROW:schema", "PARQUET:field_id")
"""Metadata that Arrow and Parquet write themselves."""
HARMLESS_PREFIX = "_PL_CATEGORICAL"
"""Start of the metadata by which Polars recognises a column of categories; it does not hold the categories."""
COINCIDENCE = 1e-9
"""How improbable by chance it must be that two columns of the original agree, before the audit warns of it."""


def require_not_exchanged(original: AuditedTable, released: AuditedTable, policy: Policy) -> None:
    """Raises a DataError if the release has identifiers and the original has none: the two were likely exchanged."""
    left_in = [name for name in policy.identifiers if name in released.column_names]
    if left_in and not any(name in original.column_names for name in policy.identifiers):
        raise DataError(
            Problem(
                where=released.name,
                what="has columns that the policy calls identifiers, and the original has none of them.",
                fix="Are the two exchanged? The original comes first, then the release.",
            )
        )


def read_release(table: AuditedTable, original: Original, policy: Policy, findings: Findings) -> Released | None:
    """The release as arrays; None, with findings, if a column that other checks need is absent or cannot be read.

    A table without records, or with none of the columns to publish, raises a DataError.
    """
    names = table.column_names
    if not any(name in original.published for name in names):
        # In a file without a header the column names are the first record, so the message repeats none of them.
        raise DataError(
            Problem(
                where=table.name,
                what="none of the columns to publish is among its column names.",
                fix="Is this the right file, and does it have a header line?",
            )
        )
    if table.n_records == 0:
        raise DataError(Problem(where=table.name, what="has a header, but no records."))
    is_whole = _check_columns(names, original, policy, findings)
    _check_metadata(table, findings)
    numbers = {}
    labels = {}
    for name in (name for name in original.published if names.count(name) == 1):
        if name in policy.epsilon_quasis:
            try:
                numbers[name] = table.numbers(name)
            except DataError:
                findings.broken(
                    "columns", f"{name} is an epsilon-quasi, but not all of it can be read as finite numbers."
                )
                is_whole = False
        elif name in policy.k_quasis:
            labels[name] = empty_as_null(*table.labels(name))
    if not is_whole:
        return None
    return Released(table=table, n_records=table.n_records, labels=labels, numbers=numbers)


def _check_columns(names: tuple[str, ...], original: Original, policy: Policy, findings: Findings) -> bool:
    """Whether every column to publish is there exactly once; other faults of the column names become findings."""
    expected = original.published
    identifiers = {name.strip().casefold() for name in policy.identifiers} - {name.casefold() for name in expected}
    left_in = [name for name in dict.fromkeys(names) if name.strip().casefold() in identifiers]
    for name in left_in:
        findings.broken("identifiers", f"column {quoted(name)} is an identifier, and is in the release.")
    extra = [name for name in dict.fromkeys(names) if name not in expected and name not in left_in]
    if extra:
        findings.broken("columns", f"the release has columns nobody asked for: {', '.join(map(quoted, extra))}.")
    lacking = [name for name in expected if name not in names]
    if lacking:
        findings.broken("columns", f"the release lacks {', '.join(map(quoted, lacking))}.")
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        findings.broken("columns", f"several columns are named {', '.join(map(quoted, twice))}.")
    if not (extra or lacking or twice or left_in):
        if names == expected:
            findings.passed(
                "columns", f"the {len(names)} columns of the policy, in the order of the input, and no other."
            )
        else:
            findings.warning("columns", "the columns are those of the policy, but not in the order of the input.")
    return not lacking and not twice


def _check_metadata(table: AuditedTable, findings: Findings) -> None:
    """Reports the metadata that a file holds beside its records."""
    extra = [name for name in table.metadata if name not in HARMLESS_METADATA]
    extra = [name for name in extra if not name.startswith(HARMLESS_PREFIX)]
    if extra:
        findings.warning(
            "metadata",
            f"the release says more than its columns do, under {', '.join(map(quoted, extra))}: such metadata can hold an "
            "index or a comment of the original.",
        )


def check_identifiers(original: Original, table: AuditedTable, policy: Policy, findings: Findings) -> None:
    """Checks whether values of an identifier occur in the release, under any column name.

    Two columns with few values (bed numbers, ages) share some by chance. So a kept column is reported for values of
    identifiers that it lacks in the original, and for records that hold their own identifier more often than chance
    explains.
    """
    sound = True
    readable = [name for name in dict.fromkeys(table.column_names) if table.column_names.count(name) == 1]
    foreign = [name for name in readable if name not in original.published]
    released = {name: table.texts(name) for name in (*foreign, *(n for n in policy.kept if n in readable))}
    kept = {name: original.table.texts(name) for name in policy.kept if name in released}
    for identifier in policy.identifiers:
        values, codes = original.table.texts(identifier)
        known = {value for value in values if value is not None and len(value.strip()) > 1}
        for column, (texts, of_record) in released.items():
            own = set(kept[column][0]) if column in kept else set()
            found = np.array([text in known and text not in own for text in texts], dtype=np.bool_)
            n_found = int(np.count_nonzero(found[of_record]))
            if not n_found:
                continue
            holds = counted(n_found, "cell", "cells") + f" of column {quoted(column)}"
            what = f"{holds} with a value of the identifier {identifier}"
            if column in kept or n_found * 2 >= len(of_record):
                findings.broken("identifiers", what + ".")
                sound = False
            else:
                findings.warning("identifiers", what + "; in a small domain that can be chance.")
                sound = False
        for column, (texts, of_record) in kept.items():
            n_same = _n_own_identifier(values, codes, texts, of_record)
            if n_same:
                sound = False
                findings.warning(
                    "identifiers",
                    f"{column} is published as it is, and in {n_same:,} records of the original it equals the record's own "
                    f"{identifier}.",
                )
    if sound and policy.identifiers and not any(name in table.column_names for name in policy.identifiers):
        findings.passed(
            "identifiers", f"{', '.join(policy.identifiers)} gone, and none of their values found elsewhere."
        )


def _n_own_identifier(
    values: tuple[str | None, ...], codes: np.ndarray, texts: tuple[str | None, ...], of_record: np.ndarray
) -> int:
    """Number of records whose text in another column is their own identifier; 0 if chance explains so many.

    `values[codes]` are the identifiers and `texts[of_record]` the texts of the other column, record by record.
    """
    position = {text: i for i, text in enumerate(texts) if text is not None}
    as_text = np.array([-1 if value is None else position.get(value, -1) for value in values], dtype=np.int64)
    n_same = int(np.count_nonzero(as_text[codes] == of_record))
    if not n_same:
        return 0
    n_of_text = np.bincount(of_record, minlength=len(texts))
    n_of_value = np.bincount(codes, minlength=len(values))
    listed = as_text >= 0
    by_chance = float(np.dot(n_of_value[listed], n_of_text[as_text[listed]])) / len(codes)
    return n_same if chernoff_bound(n_same, by_chance) < COINCIDENCE else 0


def check_published_numbers(released: Released, policy: Policy, findings: Findings) -> None:
    """Checks published ε-quasis: exact multiples of the precision, inside the domain, missing only where allowed.

    An exact multiple is the double nearest to it, and zero has no sign; other digits could tell the original.
    """
    for name, attribute in policy.epsilon_quasis.items():
        values = released.numbers[name]
        present = values[~np.isnan(values)]
        step = fraction(attribute.precision)
        units = np.rint(present * step.denominator / step.numerator)
        nearest = units * float(step.numerator) / float(step.denominator)
        n_off = int(np.count_nonzero((nearest != present) | (np.signbit(present) & (present == 0))))
        findings.require(
            n_off == 0,
            "precision",
            right=f"every value of {name} is a multiple of {attribute.precision}, written in the one way there is.",
            wrong=f"{n_off:,} values of {name} are not multiples of {attribute.precision}: the digits left over can tell "
            "which original they came from.",
        )
        if attribute.domain is not None:
            low, high = (float(fraction(bound)) for bound in attribute.domain)
            n_beyond = int(np.count_nonzero((present < low) | (present > high)))
            findings.require(
                n_beyond == 0,
                "domain",
                right=f"every value of {name} lies in its public domain.",
                wrong=f"{n_beyond:,} values of {name} lie outside the public domain.",
            )
        n_missing = len(values) - len(present)
        if n_missing and attribute.missing != "class":
            findings.broken(
                "missing values", f"{name} is missing in {n_missing:,} released records, which should be left out."
            )
