# SPDX-License-Identifier: Apache-2.0
"""What has to hold for every release, counted and compared by slow and obvious code that is not the package's."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import stat
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from rigs.cases import Case
from rigs.label_meaning import as_text, covers, moment_of, number_of
from rigs.person_invariants import broken_diversity, broken_groups, broken_persons, n_above_cap, persons_of
from rigs.readings import as_read
from rigs.tables import CSV_KINDS
from rigs.tokens import tokens_in


@dataclass(frozen=True, kw_only=True)
class Published:
    """A release as anybody can read it, and what only the curator has."""

    names: list[str]
    columns: list[list[Any]]
    is_text: bool
    """Whether every value is text, and null empty text, as in CSV."""
    linkage: Mapping[str, Sequence[int]] | None
    record: Mapping[str, Any]
    """The curator's record."""
    manifest: Mapping[str, Any]
    is_pandas: bool = False
    """Whether it was a pandas frame, which does not tell missing text from NaN, nor whole numbers from doubles."""

    @property
    def n_records(self) -> int:
        return len(self.columns[0]) if self.columns else 0

    def column(self, name: str) -> list[Any]:
        return self.columns[self.names.index(name)]


def broken(case: Case, published: Published) -> Iterator[str]:
    """Every promise that a release breaks, in words that hold no value."""
    wanted = [column.name for column in case.columns if column.role not in ("identifier", "")]
    if published.names != wanted:
        yield "columns: the release does not have the columns to publish, in their order"
        return
    yield from _k(case, published)
    yield from _groups(case, published)
    yield from _epsilon_values(case, published)
    yield from _figures(case, published)
    yield from _serial(case, published)
    if published.linkage is None:
        yield from _kept_somewhere(case, published)
        return
    pairs = list(zip(published.linkage["original_row"], published.linkage["released_row"], strict=True))
    rows, positions = [o for o, _ in pairs], [r for _, r in pairs]
    if sorted(positions) != list(range(published.n_records)) or len(set(rows)) != len(rows):
        yield "linkage: not one line for each released record, or one original twice"
        return
    if rows and not 0 <= min(rows) <= max(rows) < case.n_records:
        yield "linkage: an original that is not there"
        return
    yield from _labels(case, published, pairs)
    yield from _kept(case, published, pairs)
    yield from _missing(case, published, pairs)
    yield from _persons_and_values(case, published, pairs)


def class_keys(case: Case, published: Published) -> list[tuple[Any, ...]]:
    """What is shown of each record's class: its labels, and which of its ε-quasis are missing."""
    shown = [published.column(column.name) for column in case.of_role("k-quasi")]
    shown += [[value is None for value in published.column(column.name)] for column in case.of_role("epsilon-quasi")]
    return list(zip(*shown, strict=True)) if shown else [()] * published.n_records


def _k(case: Case, published: Published) -> Iterator[str]:
    labels = [published.column(column.name) for column in case.of_role("k-quasi")]
    by_label = Counter(zip(*labels, strict=True) if labels else [()] * published.n_records)
    by_class = Counter(class_keys(case, published))
    smallest = min([*by_label.values(), *by_class.values()], default=0)
    if smallest < case.document["k"]:
        yield f"k: a class of {smallest} records where k is {case.document['k']}"


def group_keys(case: Case, published: Published) -> list[tuple[Any, ...]]:
    """What is shown of each record's group: its class, and the averages of its ε-quasis."""
    shown = [published.column(column.name) for column in case.of_role("epsilon-quasi")]
    blank = [[None if value is None or value != value else value for value in own] for own in shown]
    return list(zip(class_keys(case, published), *blank, strict=True))


def shows_groups(case: Case) -> bool:
    """Whether records that were averaged together publish the same values."""
    return "averages" in case.document and not case.document["averages"].get("spread")


def _groups(case: Case, published: Published) -> Iterator[str]:
    """Averages are shared by g records, or by all of the class; where there are persons, by so many records at least."""
    if ("groups" in published.record) is not ("averages" in case.document):
        yield "averages: the record counts groups although there are none, or does not count them"
    if not shows_groups(case):
        return
    asked, of_class = case.document["averages"]["group"], Counter(class_keys(case, published))
    for (own, *_), n in Counter(group_keys(case, published)).items():
        if n < min(asked, of_class[own]):
            yield f"averages: one is shared by {n} records where {min(asked, of_class[own])} are asked for"
            return


def _persons_and_values(case: Case, published: Published, pairs: Sequence[tuple[int, int]]) -> Iterator[str]:
    """k persons in every class and what else is promised of them, and sensitive values that are varied enough."""
    left_before = _left_before(case)
    labels = [published.column(column.name) for column in case.of_role("k-quasi")]
    by_label = list(zip(*labels, strict=True)) if labels else [()] * published.n_records
    keys = class_keys(case, published)
    shown = {column.name: published.column(column.name) for column in case.of_role("epsilon-quasi")}
    yield from broken_persons(case, shown, [by_label, keys], pairs, published.record, left_before=left_before)
    if shows_groups(case):
        yield from broken_groups(case, keys, group_keys(case, published), pairs)
    is_capped = n_above_cap(case, left_before) > 0
    keys = group_keys(case, published) if shows_groups(case) else keys
    yield from broken_diversity(case, keys, pairs, left_before=left_before, is_capped=is_capped)


def _serial(case: Case, published: Published) -> Iterator[str]:
    """A serial number tells whose record is whose; ten of them are enough to be sure that it is one."""
    for column in case.of_role("sensitive", "insensitive"):
        numbers = [int(value) for value in column.values if isinstance(value, int) or str(value).isdecimal()]
        is_serial = len(numbers) == len(column.values) and all(a < b for a, b in itertools.pairwise(numbers))
        if is_serial and published.n_records >= 10 and column.name not in published.manifest["accepted_leaks"]:
            yield "kept columns: a serial number is published, and the manifest lists nobody's reason for it"


def _is_missing(value: Any) -> bool:
    """Whether the ε-quasi of an original has no value: null, or blank text."""
    return value is None or (isinstance(value, str) and not value.strip())


def _epsilon_values(case: Case, published: Published) -> Iterator[str]:
    for column in case.of_role("epsilon-quasi"):
        attribute = case.document["attributes"][column.name]
        precision = Fraction(str(attribute["precision"]))
        low, high = map(Fraction, map(str, attribute.get("domain", (-(10**40), 10**40))))
        for value in published.column(column.name):
            if value is None or (published.is_pandas and value != value):
                if attribute.get("missing") != "class":
                    yield "missing: a missing value is published although records that lack it should be left out"
                    break
                continue
            if published.is_text:
                exact = number_of(value)
                is_multiple = exact is not None and (exact / precision).denominator == 1
            else:
                exact = round(Fraction(value) / precision) * precision
                is_multiple = float(exact) == value
            if not is_multiple or exact is None:
                yield "precision: a published value is no multiple of the precision"
                break
            if not low <= exact <= high:
                yield "domain: a published value is outside the domain"
                break


def _figures(case: Case, published: Published) -> Iterator[str]:
    """The curator's record against counts of our own."""
    fates = published.record["records"]
    if fates["read"] != case.n_records or fates["released"] != published.n_records:
        yield "records: read or released is not what was read or released"
    if fates["read"] != sum(value for key, value in fates.items() if key != "read"):
        yield "records: they do not add up"
    left_before = _left_before(case)
    if fates["suppressed_missing"] + fates["suppressed_unlisted"] != len(left_before):
        yield "records: missing and unlisted records are not as many as they are"
    if fates["suppressed_by_cap"] != n_above_cap(case, left_before):
        yield "records: those above the cap per person are not as many as they are"
    entering = case.n_records - len(left_before) - n_above_cap(case, left_before)
    limit = Fraction(str(case.document.get("max_suppression", 0)))
    if case.document["algorithm"] != "ola" and not _keeps_records_apart(case):
        limit = Fraction(0)
    if fates["suppressed_by_k"] > limit * entering:
        yield "suppression: more records than max_suppression allows are left out"
    if "confidence" not in case.document and fates["suppressed_by_confidence"]:
        yield "suppression: records are left out for a confidence that nobody asked for"
    sizes = Counter(class_keys(case, published))
    classes = published.record["classes"]
    counted = (len(sizes), min(sizes.values(), default=0), max(sizes.values(), default=0))
    if (classes["count"], classes["smallest"], classes["largest"]) != counted:
        yield "classes: they are not as many or not as large as counting says"
    if published.manifest["records"]["released"] != published.n_records:
        yield "manifest: released is not what was released"


def _keeps_records_apart(case: Case) -> bool:
    """Whether something in the policy keeps records from being in one class, so that a local algorithm may leave some out."""
    attributes = case.document["attributes"].values()
    return any("max_level" in own or own.get("missing") == "class" for own in attributes)


def _left_before(case: Case) -> set[int]:
    """Rows that do not say whom they are about, lack an ε-quasi that must be there, or whose k-quasi is in no hierarchy."""
    left = {i for i, person in enumerate(persons_of(case) or ()) if person is None}
    for column in case.of_role("epsilon-quasi"):
        if case.document["attributes"][column.name].get("missing", "suppress") == "suppress":
            left |= {i for i, value in enumerate(as_read(column, case.document)) if _is_missing(value)}
    for column in case.of_role("k-quasi"):
        attribute = case.document["attributes"][column.name]
        texts = [as_text(value) for value in as_read(column, case.document)]
        is_listed = {text: text is None or _lists(text, attribute, case) for text in set(texts)}
        left |= {i for i, text in enumerate(texts) if not is_listed[text]}
    return left


def _lists(text: str | None, attribute: Mapping[str, Any], case: Case) -> bool:
    """Whether a k-quasi places a value: its hierarchy lists it, or it is a number where there is a step to cut on."""
    hierarchy = attribute.get("hierarchy", {"type": ""})
    if "step" in attribute and not _can_be_cut(text):
        return False
    if hierarchy["type"] == "mask":
        return len(text or "") <= hierarchy.get("length", math.inf)
    if hierarchy["type"] == "groups":
        return any(text in map(str, members) for members in hierarchy["levels"][0].values())
    if hierarchy["type"] == "file":
        import csv
        import io

        content = case.hierarchy_files[hierarchy["path"]]
        mark = ";" if ";" in content.partition("\n")[0] else ","
        return any(row and row[0] == text for row in csv.reader(io.StringIO(content), delimiter=mark))
    if hierarchy["type"] == "intervals":
        return _can_be_cut(text)
    return moment_of(text, hierarchy) is not None if hierarchy["type"] == "dates" else True


def _can_be_cut(text: str | None) -> bool:
    """Whether a text is a number that intervals can hold; one of 2⁵³ or more is a code."""
    number = number_of(text)
    return number is not None and abs(number) < 2**53


def _labels(case: Case, published: Published, pairs: Sequence[tuple[int, int]]) -> Iterator[str]:
    for column in case.of_role("k-quasi"):
        hierarchy = case.document["attributes"][column.name].get("hierarchy")
        values, labels = as_read(column, case.document), published.column(column.name)
        seen: dict[tuple[Any, Any], bool] = {}
        for original, released in pairs:
            value, label = values[original], labels[released]
            if (value, label) not in seen:
                shown = [label] if label else [None, ""]  # an empty label counts as null
                seen[value, label] = any(covers(own, value, hierarchy, case.hierarchy_files) for own in shown)
            if not seen[value, label]:
                yield f"labels: a label ({(hierarchy or {}).get('type', 'no hierarchy')}) does not cover its record's value"
                break


def _missing(case: Case, published: Published, pairs: Sequence[tuple[int, int]]) -> Iterator[str]:
    for column in case.of_role("epsilon-quasi"):
        own, values = as_read(column, case.document), published.column(column.name)
        for original, released in pairs:
            value = values[released]
            shown_missing = value is None or (published.is_pandas and value != value)
            if shown_missing != _is_missing(own[original]):
                yield "missing: a value is missing in the release and not in the original, or the other way round"
                break


def _kept(case: Case, published: Published, pairs: Sequence[tuple[int, int]]) -> Iterator[str]:
    for column in case.of_role("sensitive", "insensitive"):
        own, shown = column.values, published.column(column.name)
        compare = _comparison(column.array.type, case, published)
        if any(not compare(own[original], shown[released]) for original, released in pairs):
            yield f"kept columns: a cell of a column of {column.array.type} is not that of its original"


def _kept_somewhere(case: Case, published: Published) -> Iterator[str]:
    """Without linkage: no combination of kept values occurs more often than among the originals."""
    kept = case.of_role("sensitive", "insensitive")
    if not kept or published.is_text != (case.kind in CSV_KINDS) or published.is_pandas:
        return
    blank = "" if published.is_text else None
    there = Counter(
        tuple(_frozen(value or blank if published.is_text else value) for value in row)
        for row in zip(*(c.values for c in kept), strict=True)
    )
    shown = Counter(
        tuple(_frozen(value or blank if published.is_text else value) for value in row)
        for row in zip(*(published.column(c.name) for c in kept), strict=True)
    )
    if shown - there:
        yield "kept columns: kept cells that no original has, or more often than originals have them"


def _frozen(value: Any) -> Any:
    """A value that can be counted, with NaN equal to itself and −0 different from 0."""
    if isinstance(value, float):
        return ("float", repr(value))
    if isinstance(value, list | tuple):
        return tuple(map(_frozen, value))
    if isinstance(value, Mapping):
        return tuple((key, _frozen(own)) for key, own in value.items())
    return bytes(value) if isinstance(value, bytearray) else value


def _comparison(kind: pa.DataType, case: Case, published: Published) -> Any:
    """How a kept cell is compared with its original: exactly, or as far as the output can hold it."""
    if case.kind in CSV_KINDS:
        return lambda own, shown: (own or None) == (shown or None)
    if published.is_text:
        return lambda own, shown: _is_written(own, shown, kind)
    if published.is_pandas:
        return lambda own, shown: _loosely(own) == _loosely(shown)
    return lambda own, shown: _frozen(own) == _frozen(shown)


def _loosely(value: Any) -> Any:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return Fraction(value)
    if isinstance(value, Mapping):
        return tuple((key, _loosely(own)) for key, own in value.items())
    return tuple(map(_loosely, value)) if isinstance(value, list | tuple | np.ndarray) else value


def _is_written(own: Any, shown: str | None, kind: pa.DataType) -> bool:
    """Whether text of a CSV cell is what was in the original; null and empty text are both an empty cell."""
    if own is None or own == "":
        return shown is None
    if shown is None:
        return False
    if isinstance(own, bool):
        return shown == str(own).lower()
    if isinstance(own, float):
        if math.isnan(own):
            return shown.lower() == "nan"
        width = {16: np.float16, 32: np.float32}.get(getattr(kind, "bit_width", 64), np.float64)
        return repr(float(width(shown))) == repr(own)
    if isinstance(own, int | Decimal):
        return Decimal(shown) == own
    if isinstance(own, datetime):
        return datetime.fromisoformat(shown) == own if own.tzinfo else moment_of(shown, None) == own
    if isinstance(own, date | time):
        return shown == own.isoformat() or shown.startswith(own.isoformat())
    if isinstance(own, timedelta):
        return Decimal(shown) == Decimal(own.total_seconds())
    return shown == str(own)


def digest_of(path: Path) -> str:
    """SHA-256 of a file; of a folder, that of what `sha256sum *` prints inside it."""
    if path.is_dir():
        lines = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in sorted(path.iterdir())]
        return hashlib.sha256("".join(lines).encode()).hexdigest()
    return hashlib.sha256(path.read_bytes()).hexdigest()


def broken_files(case: Case, output: Path, *, linkage: Path | None, report: Path | None) -> Iterator[str]:
    """What is wrong with the written files themselves: owner-only ones that others can read, a wrong digest."""
    private = [
        output.with_name(output.name + ".curator.json"),
        *(path for path in (linkage, report) if path is not None),
    ]
    if any(stat.S_IMODE(path.stat().st_mode) != 0o600 for path in private):
        yield "files: one that is for the owner only can be read by others"
    for beside in (output.with_name(output.name + ".curator.json"), output.with_name(output.name + ".manifest.json")):
        if json.loads(beside.read_text(encoding="utf-8"))["digest"] != f"sha256:{digest_of(output)}":
            yield "files: the digest is not that of the release"
    files = sorted(output.rglob("*")) if output.is_dir() else [output]
    shown = {name for path in files if path.is_file() for name in tokens_in(path.read_bytes())}
    if hidden := shown & _never_published(case):
        yield f"files: the release holds {len(hidden)} values of columns that are not to be published"


def _never_published(case: Case) -> frozenset[str]:
    """Tokens of identifiers and of columns without a role."""
    return frozenset(
        name for column in case.of_role("identifier", "") for v in column.values for name in tokens_in(str(v))
    )


def has_markup(page: str) -> bool:
    """Whether the name of a column, or a label of the policy, became a part of a page."""
    return any(name in page for name in ("<script>alert", "<b>bold"))


def tokens_of_left_out(case: Case, published: Published) -> frozenset[str]:
    """Tokens of kept columns that only records have which are not in the release."""
    if published.linkage is None:
        return frozenset()
    released = set(published.linkage["original_row"])
    kept, gone = [], []
    for column in case.of_role("sensitive", "insensitive"):
        for i, value in enumerate(column.values):
            (kept if i in released else gone).append(str(value))
    labels = [str(value) for column in case.of_role("k-quasi") for value in column.pool]
    return tokens_in("\0".join(gone)) - tokens_in("\0".join(kept)) - tokens_in("\0".join(labels))
