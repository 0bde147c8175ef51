# SPDX-License-Identifier: Apache-2.0
"""The report's figures of labels: what the release holds, by label, and nothing rarer than k."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pyarrow as pa
import pytest

import kepsilon as ke
from kepsilon.evaluate.label_counts import LabelCounts
from kepsilon.pages.render import release_page
from material.made_up_results import made_up_pictures, made_up_record
from material.page_checks import check_page


def words_of(page):
    return re.sub(r"\s+", " ", " ".join(check_page(page).words))


def test_a_long_list_says_how_many_more_there_are():
    """Twenty bars are enough to look at; the rest is one sentence and one line of the table."""
    words = words_of(release_page(made_up_record(), made_up_pictures()))
    assert "Labels of place 0" in words
    assert "These are the most frequent; there are 12 more labels for 340 records." in words
    assert "(missing)" in words
    assert "<b>place</b> 3" in words


def test_no_figure_is_drawn_where_no_label_was_counted():
    """A release without k-quasis, or a record alone, has none."""
    pictures = made_up_pictures()
    without = replace(pictures, k_quasis=tuple(replace(quasi, labels=LabelCounts()) for quasi in pictures.k_quasis))
    assert "Labels of place" not in words_of(release_page(made_up_record(), without))


@pytest.mark.parametrize("algorithm", ke.json_schema()["properties"]["algorithm"]["enum"])
def test_the_report_counts_what_the_release_holds(tmp_path, algorithm):
    """Each line of the table is the label's count in the released file, and none is below k."""
    n, k = 240, 6
    table = pa.table(
        {"age": [20 + (i * 7) % 60 for i in range(n)], "town": ["abcdefgh"[(i * i) % 8] for i in range(n)]}
    )
    attributes = {
        "age": {"role": "k-quasi", "hierarchy": {"type": "intervals", "widths": [10, 20]}, "step": 10},
        "town": {"role": "k-quasi", "hierarchy": {"type": "suppress"}},
    }
    policy = ke.Policy.from_dict({"k": k, "algorithm": algorithm, "max_suppression": 0.1, "attributes": attributes})
    release = ke.anonymise(table, policy, unsafe_seed=1)
    release.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    starts = [found.start() for found in re.finditer("<h3>", page)] + [len(page)]
    for name in ("age", "town"):
        figure = next(page[a:b] for a, b in pairwise(starts) if page[a:b].startswith(f"<h3>Labels of {name}<"))
        rows = re.findall(r"<tr>.*?>([^<]*)</t[dh]>\s*<td[^>]*>([\d,]+)</td>", figure)
        counts = Counter(release.frame.column(name).to_pylist())
        shown = {label: int(count.replace(",", "")) for label, count in rows if "more label" not in label}
        assert shown == {label: count for label, count in counts.most_common() if label in shown}
        assert len(shown) == min(20, len(counts))
        assert min(shown.values()) >= k
