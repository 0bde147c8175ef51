# SPDX-License-Identifier: Apache-2.0
"""Whole classes are chosen at random until there are enough records, and records are put into them."""

from __future__ import annotations

import numpy as np
import pytest

from kepsilon.policy.roles import ColumnRoles
from kepsilon.table.chosen_classes import choose_classes, in_classes
from kepsilon.table.classes import SUPPRESSED, Recoding
from kepsilon.table.codes import code_domain
from kepsilon.table.frequency import FrequencyTable
from kepsilon.table.whole_columns import text_column
from kepsilon.table.whole_records import MISSING, WholeRecords


def partition(sizes: list[int], *, per_class: int = 3) -> Recoding:
    """Classes of some sizes, with a few combinations each, the first of which is suppressed."""
    class_of = np.append(SUPPRESSED, np.repeat(np.arange(len(sizes)), per_class))
    return Recoding(class_of=class_of, sizes=np.array(sizes), attributes=())


def chosen(recoding: Recoding, shares: np.ndarray) -> list[int]:
    """Ids of the classes that are chosen; fails where a class is not taken as a whole, or at one share."""
    assert (shares[recoding.class_of == SUPPRESSED] == 0).all()
    found = []
    for i in range(recoding.n_classes):
        own = set(shares[recoding.class_of == i].tolist())
        assert len(own) == 1
        if own != {0.0}:
            assert own == {min(1.0, 50_000 / recoding.sizes[i])}
            found.append(i)
    return found


def test_a_small_table_is_taken_whole():
    """There is no reason to sample what is small."""
    recoding = partition([700] * 28)
    assert chosen(recoding, choose_classes(recoding)) == list(range(28))


def test_classes_are_taken_until_there_are_enough_records():
    """About 20,000 records, and at most one class more."""
    recoding = partition([10, 50, 300] * 2_000)
    found = chosen(recoding, choose_classes(recoding))
    n_records = recoding.sizes[found].sum()
    assert 20_000 <= n_records < 20_000 + 300
    sizes = np.bincount(np.searchsorted([10, 50, 300], recoding.sizes[found]))
    # 167 classes in the mean, 56 of each size; a fair order has fewer than 20 of one about once in 100 million tables
    assert sizes.min() > 20
    assert found != list(range(len(found)))


def test_thirty_classes_are_taken_where_that_is_not_too_much():
    """Classes of 2,000 would be ten in 20,000 records, too few to tell a leak from chance."""
    recoding = partition([2_000] * 500)
    assert len(chosen(recoding, choose_classes(recoding))) == 30
    huge = partition([30_000] * 500)
    assert len(chosen(huge, choose_classes(huge))) == 2  # 60,000 records; a third class would make 90,000


def test_of_a_huge_class_a_sample_is_taken():
    """A class of millions would not fit into memory."""
    recoding = partition([4_000_000])
    shares = choose_classes(recoding)
    assert chosen(recoding, shares) == [0]
    assert shares.max() == 50_000 / 4_000_000


def test_the_choice_depends_on_the_partition_alone():
    """Check and anonymise, on every engine, look at the same classes; another partition gives others."""
    recoding = partition([37, 41] * 5_000)
    shares = choose_classes(recoding)
    assert (shares == choose_classes(partition([37, 41] * 5_000))).all()
    other = partition([41, 37] * 5_000)
    both = set(chosen(other, choose_classes(other))) & set(chosen(recoding, shares))
    assert len(both) < 100  # of some 510 among 10,000, 26 by chance; 100 would be 14 standard deviations more
    finer = partition([37, 41] * 5_000, per_class=5)
    assert chosen(finer, choose_classes(finer)) == chosen(recoding, shares)


@pytest.mark.parametrize("sizes", [[], [1]])
def test_the_smallest_partitions(sizes):
    """Everything may be suppressed."""
    recoding = partition(sizes)
    assert choose_classes(recoding).tolist() == [0.0] + [1.0] * 3 * len(sizes)


def test_records_are_put_into_classes_with_their_true_values():
    """Suppressed records leave; classes are numbered anew; the true values are those before generalising, as numbers."""
    ages, codes = code_domain(
        "age", [["9", "10", None, "100"], ["*", "*", None, "*"]], positions=np.array([9, 10, np.nan, 100])
    )
    missing, _ = code_domain("height is missing", [["present", "missing"]], generalises=False)
    table = FrequencyTable(
        domains=(ages, missing),
        codes=(codes[[0, 1, 2, 3]], np.array([1, 1, 1, 0])),
        counts=np.array([2, 1, 1, 1]),
    )
    recoding = Recoding(class_of=np.array([4, 7, 7, SUPPRESSED]), sizes=np.array([0] * 8), attributes=())
    whole = WholeRecords(
        combinations=np.array([1, 3, 0, 2, 0]),
        values=np.array([[170.5], [190.0], [160.0], [np.nan], [170.5]]),
        kept={"note": text_column(["z", "only suppressed", "a"], np.array([0, 1, 2, MISSING, 0]))},
        identifiers={},
        rows=np.array([10, 11, 12, 13, 14]),
    )
    roles = ColumnRoles(k_quasis=("age",), epsilon_quasis=("height",), kept=("note",), published=())
    found = in_classes(whole, recoding, table, roles)
    assert found.class_ids.tolist() == [1, 0, 1, 0]
    assert found.n_classes == 2
    assert list(found.k_quasis) == ["age"]
    assert found.k_quasis["age"].codes.tolist() == [1, 0, MISSING, 0]
    np.testing.assert_array_equal(found.k_quasis["age"].numbers, [9, 10])
    assert found.epsilon_quasis["height"].codes.tolist() == [1, 0, MISSING, 1]
    np.testing.assert_array_equal(found.epsilon_quasis["height"].numbers, [160.0, 170.5])
    assert found.kept["note"].codes.tolist() == [1, 0, MISSING, 1]
    assert found.kept["note"].texts == ("a", "z")
    assert found.rows is not None
    assert found.rows.tolist() == [10, 12, 13, 14]
