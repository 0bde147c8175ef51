# SPDX-License-Identifier: Apache-2.0
"""Every hole and fault that was found in version 0.1 has tests that are named after it and fail on that version.

Other tests of these files say what stays as it was, or hold faults that were found later. Those that are listed here were
run against the code as it was before the holes were closed, and failed there.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

FOUND = {
    "h1: tokens of records left out, in nested columns of every kind": [
        "test_h1_the_columns_that_the_review_found",
        "test_h1_no_buffer_of_a_released_table_holds_a_value_of_a_record_that_was_left_out",
        "test_h1_no_file_holds_a_value_of_a_record_that_was_left_out",
        "test_h1_no_frame_of_any_kind_holds_a_value_of_a_record_that_was_left_out",
        "test_h1_nothing_is_left_where_records_are_spilt",
        "test_h1_nothing_is_left_on_spark",
    ],
    "h1: the order of the input": [
        "test_h1_buffers_hold_what_the_released_values_alone_would_make",
        "test_h1_dictionaries_are_sorted_or_as_declared",
        "test_h1_an_order_that_nothing_states_is_not_that_of_the_input",
    ],
    "h1: unknown types": ["test_h1_other_types_are_refused_by_name"],
    "h1: the audit is silent": ["test_h8_values_that_no_record_shows_are_found_inside_lists"],
    "h2: one class of ten": ["test_h2_one_class_of_ten_at_epsilon_one_hundredth"],
    "h2: random tables": ["test_h2_random_tables_of_fifty_records_exclude_no_candidate"],
    "h2: two data sets, one release": ["test_h2_one_value_changed_and_the_same_table_released_gives_the_same_manifest"],
    "h2: missing records": ["test_h2_records_that_are_not_in_the_release_are_not_in_the_manifest"],
    "h2: a figure that is there or not": ["test_h2_no_key_is_there_or_not_because_of_a_value"],
    "h6: an outlier is recovered": [
        "test_h6_check_says_how_well_an_outlier_is_recovered",
        "test_h6_words_name_the_attacker_and_the_figures",
    ],
    "h6: init proposes class": ["test_h6_init_proposes_public_ranges_and_domains"],
    "h7: tight and cut labels": [
        "test_h7_bounds_are_not_the_value_of_exactly_one_record",
        "test_h7_the_labels_of_0_1_are_refused_with_what_to_write",
    ],
    "h7: sets of values": ["test_h7_sets_without_hierarchy_name_no_rare_value"],
    "h8: noise": ["test_h8_noise_that_is_not_drawn_anew_is_noticed"],
    "h8: the curator's record": ["test_h8_the_curators_record_given_away_as_the_manifest_is_broken"],
    "h8: unknown keys": ["test_h8_a_name_in_an_unknown_key_is_broken"],
    "h8: another promise": ["test_h8_another_promise_in_the_statement_is_broken"],
    "h8: digits, blanks, quotes, line ends": ["test_h8_row_numbers_hidden_in_a_csv_file_are_found"],
    "h9: masks over codes of unequal length": ["test_h9_masks_over_codes_of_unequal_length_with_confident_k"],
    "h9: times in seconds": ["test_h9_times_in_seconds_written_to_parquet"],
    "h9: an empty cell in a CSV of one column": ["test_h9_an_empty_cell_in_a_csv_of_one_column"],
    "h9: k-quasis of bytes": ["test_h9_k_quasis_of_bytes"],
    "h10: mask": ["test_h10_one_long_code_does_not_set_the_length_of_a_mask"],
    "h10: formulas": ["test_h10_every_way_a_formula_begins_is_warned_of"],
    "h10: noise below the precision": ["test_h10_noise_smaller_than_the_precision_is_warned_of"],
    "h10: choosing on the data": [
        "test_h10_the_promise_says_that_choosing_on_the_data_is_a_choice_made_on_the_data",
    ],
    "h10: overwriting": ["test_h10_overwriting_says_that_an_earlier_draw_may_be_out"],
    "f1: signals while publishing": [
        "test_f1_a_signal_at_any_file_operation_ends_with_the_truth",
        "test_f1_a_signal_that_ends_a_python_program_leaves_nothing_half_done",
    ],
    "f2: inputs are replaced": [
        "test_f2_no_output_of_a_release_takes_the_place_of_an_input",
        "test_f2_a_policy_called_like_a_file_beside_the_output",
    ],
    "f3: huge exponents": [
        "test_f3_a_k_quasi_with_such_a_code_is_a_category",
        "test_f3_intervals_refuse_such_a_code_by_column_and_count",
        "test_f3_init_does_not_propose_numbers_for_such_codes",
    ],
    "f4: values in exceptions": ["test_f4_a_table_that_fails_while_it_is_read_is_refused_without_its_text"],
    "f4: Polars objects": ["test_f4_polars_objects_are_refused"],
    "f5: outputs": ["test_f5_outputs_that_name_no_file"],
    "f5: policies": ["test_f5_policies_that_cannot_be_read"],
    "f5: memory": ["test_f5_sizes_of_memory_with_many_digits", "test_f5_little_address_space"],
    "f5: column names": ["test_f5_a_column_name_that_is_not_text"],
    "f5: kept types": ["test_h1_other_types_are_refused_by_name"],
    "f5: streams": ["test_f5_streams_that_are_closed_or_full"],
    "f6: mixed encodings": ["test_f6_mixed_encodings_are_refused_with_the_line"],
    "f6: pipes": ["test_f6_a_named_pipe_is_refused_in_every_role"],
    "f6: quoted empty cells": [
        "test_f6_a_quoted_empty_cell_is_missing_like_an_unquoted_one",
        "test_f6_the_proposal_of_init_fits_a_file_that_quotes_every_cell",
    ],
    "f7: types": [
        "test_f7_kept_columns_of_arrow_tables_and_files_keep_their_type",
        "test_f7_what_parquet_cannot_hold_is_said",
        "test_f7_a_polars_enum_stays_one_in_its_order",
    ],
    "f8: passes": ["test_f8_a_refusal_by_the_cap_makes_at_most_two_passes"],
    "f8: mistakes": ["test_f8_a_groups_hierarchy_tells_all_its_mistakes"],
    "f9: domain": ["test_f9_the_expected_error_is_that_of_values_clamped_to_the_domain"],
    "f9: missing records": [
        "test_f9_max_suppression_counts_missing_and_unlisted_records",
        "test_f9_max_total_suppression_counts_missing_and_unlisted_records",
    ],
}
"""What was found, line by line, and the tests of it."""


SAID = {
    "h1": "kept columns of nested types",
    "h2": "the public manifest of 0.1 told more than its release",
    "h3": "the headline was true only for an attacker who uses no kept column",
    "h4": "k of 0.1 counted records, not persons",
    "h5": "all records of a class could share one diagnosis",
    "h6": "the size of the noise gives an outlier away",
    "h7": "labels of Mondrian singled people out",
    "h8": "`audit` with a linkage let noise pass",
    "h8: bytes": "`audit` of 0.1 did not see row numbers",
    "h8: manifests": "did not look at keys of a manifest that it did not know",
    "h9": "`audit` called honest releases broken",
    "h10: mask": "one long code set the length of all labels",
    "h10: formulas": "cells that a spreadsheet runs as formulas",
    "h10: noise below the precision": "noise is small beside the precision",
    "h10: choosing on the data": "is a choice made on the data",
    "h10: overwriting": "drew new noise without a word",
    "f1": "at the moment of publishing ended 0.1",
    "f2": "replaced an input that had the name of a file beside the output",
    "f3": "numbers with a huge exponent",
    "f4": "could quote values of records",
    "f5": "ended 0.1 with exit code 1",
    "f6: encodings": "written in two encodings",
    "f6: pipes": "named pipes, sockets and devices are refused",
    "f6: quoted empty cells": "A quoted empty cell of a CSV file is missing",
    "f7": "Kept columns keep their type",
    "f8: passes": "goes through the classes twice, not up to 15 times",
    "f8: mistakes": "tell all their mistakes at once",
    "f9: domain": "The expected error honours `domain`",
    "f9: missing records": "ignored records left out for missing and unlisted values",
}
"""Words of the changelog that name each hole and fault."""


@pytest.fixture(scope="module")
def changelog():
    """The changelog with one blank between words."""
    path = Path(__file__).parents[2] / "CHANGELOG.md"
    return " ".join(path.read_text(encoding="utf-8").split())


@pytest.mark.parametrize("line", SAID)
def test_the_changelog_names_it(changelog, line):
    assert changelog.count(SAID[line]) == 1, "every hole is named, and once"


@pytest.fixture(scope="module")
def named():
    """The names of all tests in this folder."""
    texts = [path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*.py")]
    return {name for text in texts for name in re.findall(r"^def (test_\w+)\(", text, flags=re.MULTILINE)}


@pytest.mark.parametrize("what", FOUND)
def test_what_was_found_has_tests(named, what):
    """By the names that it is listed with."""
    assert FOUND[what]
    assert set(FOUND[what]) <= named


@pytest.mark.parametrize("line", ["h1", "h2", "h4", "h6", "h7", "h8", "h9", "h10", *(f"f{i}" for i in range(1, 10))])
def test_a_line_has_a_test_that_is_named_after_it(named, line):
    """Lines that later work closed are among them."""
    assert any(name.startswith(f"test_{line}_") for name in named)
