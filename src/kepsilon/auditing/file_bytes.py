# SPDX-License-Identifier: Apache-2.0
"""Checks that the bytes of a release are those of its table: nothing is under, between or behind the values it shows."""

from __future__ import annotations

from kepsilon.auditing.csv_layout import CsvLayout, csv_layout
from kepsilon.auditing.false_alarms import FalseAlarms
from kepsilon.auditing.findings import Findings, counted, quoted
from kepsilon.auditing.number_texts import are_written_in_one_way
from kepsilon.auditing.order import trend_probability
from kepsilon.auditing.tables import Original
from kepsilon.engines.arrow.audited import AuditedTable
from kepsilon.engines.arrow.hidden import UNUSED_ENTRY, dictionary_orders, first_rows, hidden_values, leaf_texts
from kepsilon.engines.arrow.raw_columns import RawColumns
from kepsilon.engines.arrow.rendered import render_again
from kepsilon.policy.policy import Policy

FEWEST_ENTRIES = 20
"""Entries that a dictionary needs before their order is judged."""


def check_bytes(
    original: Original, table: AuditedTable, policy: Policy, findings: Findings, false_alarms: FalseAlarms
) -> None:
    """Searches what a reader of the table does not see: the bytes of a file, the buffers of a frame."""
    n_before = len(findings.found)
    names = [name for name in dict.fromkeys(table.column_names) if table.column_names.count(name) == 1]
    level = false_alarms.level("bytes", n_tests=len(names))
    for name in names:
        _check_column(name, original, table, findings, level=level)
    for name in policy.epsilon_quasis:
        if table.column_names.count(name) == 1:
            _check_number_texts(name, table, findings)
    is_sound = len(findings.found) == n_before
    if table.path is None:
        if is_sound:
            findings.passed("bytes", "the buffers hold nothing but the values that the records show.")
    elif table.csv_delimiter is not None:
        _check_csv(csv_layout(table.path, table.csv_delimiter), original, table, findings, is_sound=is_sound)
    else:
        _check_rendered(table, findings, is_sound=is_sound)


def _check_column(name: str, original: Original, table: AuditedTable, findings: Findings, *, level: float) -> None:
    """Reports values that a column holds and does not show, and dictionaries in the order of the input.

    `level` is the chance, at most, that an order that is none is reported.
    """
    if table.csv_delimiter is not None:  # cells, and nothing beside them
        return
    column, under_nulls, is_stored = RawColumns(table).column(name)
    hidden = hidden_values(column, under_nulls=under_nulls)
    orders = [found for found in dictionary_orders(column) if not found[2] and len(found[1]) >= FEWEST_ENTRIES]
    if not hidden and not orders:
        return
    shown = leaf_texts(column)
    theirs: dict[str, list[str]] = {}
    if name in original.table.column_names:
        theirs = leaf_texts(RawColumns(original.table).column(name)[0])
    for values in hidden:
        more = values.texts.difference(shown.get(values.path, ()))
        if values.where == UNUSED_ENTRY and more:
            findings.broken("columns", f"the dictionary of {quoted(name)} holds values that no record shows.")
        n_known = len(more.intersection(theirs.get(values.path, ())))
        if values.where != UNUSED_ENTRY and n_known:
            findings.broken(
                "bytes",
                f"{quoted(name)} holds {counted(n_known, 'value', 'values')} of originals that no released record shows: "
                f"{values.where}.",
            )
    for path, entries, _ in orders if is_stored else ():
        places = first_rows(entries, theirs.get(path, []))
        if len(places) >= FEWEST_ENTRIES and trend_probability(places.astype(float)) < level / len(orders):
            findings.broken("bytes", f"the dictionary of {quoted(name)} lists its values in the order of the input.")


def _check_number_texts(name: str, table: AuditedTable, findings: Findings) -> None:
    """Reports an ε-quasi that is stored as text or decimals with more than one way to write a number."""
    written = table.written_numbers(name)
    if written is not None and not are_written_in_one_way(*written):
        findings.broken(
            "bytes",
            f"the numbers of {quoted(name)} are not all written in one way: digits beyond a double, zeros, signs or blanks "
            "can tell which original they came from.",
        )


def _check_csv(
    layout: CsvLayout, original: Original, table: AuditedTable, findings: Findings, *, is_sound: bool
) -> None:
    """Reports what is irregular in the bytes of a CSV file."""
    faults = list(layout.faults)
    for place in layout.empty_in_two_ways:
        name = table.column_names[place] if place < len(table.column_names) else ""
        if name not in original.published or not original.table.has_null_and_empty(name):
            faults.append(f"empty cells of {quoted(name)} with quotes and without")
    if faults:
        findings.broken(
            "bytes",
            f"the file is not one that the table decides: it has {'; '.join(faults)}. What differs from cell to cell or from "
            "line to line can tell which original a record was.",
        )
    elif not layout.is_own:
        findings.note("bytes", "the file is not written as releases are, but by one rule throughout.")
    elif is_sound:
        findings.passed("bytes", "the file follows one rule for quotes and line ends throughout.")


def _check_rendered(table: AuditedTable, findings: Findings, *, is_sound: bool) -> None:
    """Reports whether a file, written again from its table, comes out the same."""
    verdict = None if table.path is None else render_again(table.path)
    if verdict == "unexplained":
        findings.broken(
            "bytes",
            "the file holds more than its table: written again from the table, by the same writer, it comes out different. "
            "What differs may be values beside the records, metadata, statistics, or bytes between and after the pages.",
        )
    elif verdict == "other layout":
        findings.note("bytes", "the file is the table's, byte for byte, but not in the layout that releases have.")
    elif verdict == "other program":
        findings.note(
            "bytes",
            "another program, or another version of Arrow, wrote the file. Its columns were searched for values that no "
            "record shows; bytes outside its columns were not.",
        )
    elif verdict == "same" and is_sound:
        findings.passed("bytes", "written again from its table the file comes out the same, byte for byte.")
